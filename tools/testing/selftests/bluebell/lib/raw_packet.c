// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs for raw packets, and flow rules that send packets to them.
 */
#include <endian.h>

#include "raw_packet.h"

/* Create a queue pair for a few frames. Returns NULL on failure, with errno set. */
struct ibv_qp *raw_packet_create(struct rdma *r)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET, .send_cq = r->cq, .recv_cq = r->cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};

	return ibv_create_qp(r->pd, &init);
}

/* Change the state of a queue pair: such a queue pair needs no attribute but the port. */
int raw_packet_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1 };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0));
}

int raw_packet_to_rts(struct ibv_qp *qp)
{
	return raw_packet_to(qp, IBV_QPS_INIT) ?: raw_packet_to(qp, IBV_QPS_RTR) ?:
	       raw_packet_to(qp, IBV_QPS_RTS);
}

/*
 * A rule for frames of the type @etype; or, for another @type of rule, for all frames that no other
 * rule takes, without specifications.
 */
struct raw_packet_rule raw_packet_rule(enum ibv_flow_attr_type type, uint16_t etype,
				       uint16_t priority)
{
	struct raw_packet_rule rule = {
		.attr = {
			.type = type, .size = sizeof(rule), .priority = priority, .port = 1,
			.num_of_specs = type == IBV_FLOW_ATTR_NORMAL,
		},
		.eth = {
			.type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth),
			.val = { .ether_type = htobe16(etype) },
			.mask = { .ether_type = 0xffff },
		},
	};

	return rule;
}
