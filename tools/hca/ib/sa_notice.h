/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Subscriptions to notices, and the reports to their subscribers.
 */
#ifndef BLUEBELL_SA_NOTICE_H
#define BLUEBELL_SA_NOTICE_H

#include <stdint.h>

#define SA_INFORM_BYTES		36
#define SA_INFORM_RECORD_BYTES	60

struct sa_notices;
struct sa_request;
struct switch_node;

/* Traps of subnet administration. */
enum sa_trap {
	TRAP_GID_IN = 64, TRAP_GID_OUT = 65, TRAP_GROUP_NEW = 66, TRAP_GROUP_GONE = 67,
};

struct sa_notices *sa_notices_new(struct switch_node *sw);
void sa_notices_free(struct sa_notices *ns);
uint16_t sa_inform_set(struct sa_request *rq);
uint16_t sa_inform_get(struct sa_request *rq);
void sa_notify(struct sa_notices *ns, enum sa_trap trap, const uint8_t gid[16]);
void sa_notices_port_gone(struct sa_notices *ns, unsigned int port);

#endif
