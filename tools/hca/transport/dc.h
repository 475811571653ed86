/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The targets of the DC service: their connections, each with a responder.
 */
#ifndef BLUEBELL_DC_H
#define BLUEBELL_DC_H

#include <stdbool.h>

#include "packet.h"

struct hca;
struct hca_module;

/* A packet for a DC target, and not for a queue pair. */
static inline bool dc_is_request(const struct packet *p)
{
	return (p->opcode & BTH_SERVICE_MASK) == BTH_DC && !packet_is_response(p);
}

void dc_receive(struct hca *hca, const struct packet *p);
void dc_drain(struct hca *hca);

extern const struct hca_module dc_module;

#endif
