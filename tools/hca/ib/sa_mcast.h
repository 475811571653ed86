/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast groups of the subnet and their members.
 */
#ifndef BLUEBELL_SA_MCAST_H
#define BLUEBELL_SA_MCAST_H

#include <stdint.h>

#define SA_MCMEMBER_BYTES	52

struct sa_groups;
struct sa_notices;
struct sa_request;
struct switch_node;

struct sa_groups *sa_groups_new(struct switch_node *sw, struct sa_notices *ns);
void sa_groups_free(struct sa_groups *gs);
uint16_t sa_mcmember_get(struct sa_request *rq);
uint16_t sa_mcmember_join(struct sa_request *rq);
uint16_t sa_mcmember_leave(struct sa_request *rq);
void sa_groups_port_gone(struct sa_groups *gs, unsigned int port);

#endif
