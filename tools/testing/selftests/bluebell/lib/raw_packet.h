/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs for raw packets, and flow rules that send packets to them. Functions return 0 or an
 * errno unless they say otherwise.
 */
#ifndef BLUEBELL_RAW_PACKET_H
#define BLUEBELL_RAW_PACKET_H

#include <stdint.h>

#include "rdma.h"

/* A flow rule, for ibv_create_flow(). libibverbs expects no gaps between the parts. */
struct raw_packet_rule {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_eth eth;
	union {
		struct ibv_flow_spec_action_drop drop;
		struct ibv_flow_spec_counter_action count;
	};
} __attribute__((packed, aligned(8)));

struct ibv_qp *raw_packet_create(struct rdma *r);
int raw_packet_to(struct ibv_qp *qp, enum ibv_qp_state state);
int raw_packet_to_rts(struct ibv_qp *qp);
struct raw_packet_rule raw_packet_rule(enum ibv_flow_attr_type type, uint16_t etype,
				       uint16_t priority);

#endif
