// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues with tag matching (XRQ): CREATE, DESTROY, QUERY and ARM_XRQ.
 *
 * An XRQ is a shared receive queue with a list of tagged buffers and a completion queue of its own.
 * Messages that match no tag take a WQE from the receive queue. The list is changed by the WQEs of
 * a queue pair that has the XRQ as its SRQ (transport/req_tm.c), and not by commands.
 */
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "qp.h"
#include "srq.h"
#include "tm_list.h"
#include "xrq.h"

#define TM(fld)	tag_matching_topology_context.fld

static uint8_t xrq_check_list(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	unsigned int log = IFC_GET(xrqc, c, TM(log_matching_list_sz));

	if (!log || log > hca_cap_gen(hca, log_tag_matching_list_sz))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_XRQ_LIST_SIZE,
				"a list of 2^%u tags, 2^1 to 2^%u are supported", log,
				hca_cap_gen(hca, log_tag_matching_list_sz));
	if (IFC_GET(xrqc, c, TM(append_next_index)) >> log)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_XRQ_APPEND_INDEX,
				"append_next_index %u, the list has 2^%u entries",
				IFC_GET(xrqc, c, TM(append_next_index)), log);
	if (IFC_GET(xrqc, c, TM(sw_phase_cnt)) || IFC_GET(xrqc, c, TM(hw_phase_cnt)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_XRQ_PHASE,
				"a new XRQ has counted no unexpected messages");
	return ST_OK;
}

static uint8_t xrq_check(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	unsigned int offload = IFC_GET(xrqc, c, offload);

	if (IFC_GET(xrqc, c, state) != MLX5_XRQC_STATE_GOOD)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_XRQ_STATE, "an XRQ must be created in GOOD");
	if (IFC_GET(xrqc, c, rlkey))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_XRQ_FIELD_NOT_OFFERED,
				"xrqc.rlkey is set, which is not supported");
	if (IFC_GET(xrqc, c, topology) != MLX5_XRQC_TOPOLOGY_TAG_MATCHING)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_XRQ_TOPOLOGY,
				"topology %u, only tag matching (1) is supported",
				IFC_GET(xrqc, c, topology));
	if (offload && (offload != MLX5_XRQC_OFFLOAD_RNDV || !hca_cap_gen(hca, rndv_offload_rc)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_XRQ_OFFLOAD, "offload %u is not supported",
				offload);
	if (!hca_cap_gen(hca, cqe_version) && IFC_GET(xrqc, c, user_index) &&
	    IFC_GET(xrqc, c, user_index) != USER_INDEX_NONE)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_XRQ_USER_INDEX,
				"user_index is 0x%x, but CQEs have version 0",
				IFC_GET(xrqc, c, user_index));
	return xrq_check_list(hca, cmd, c);
}

static uint8_t xrq_new(struct hca *hca, struct cmd *cmd, const uint8_t *c, struct tm_list *tm)
{
	const uint8_t *wq = IFC_ADDR(xrqc, c, wq);
	struct srq_params p;
	struct srq *srq;
	uint8_t st;

	st = srq_params_wq(cmd, wq, &p);
	if (st)
		return st;
	p.cqn = IFC_GET(xrqc, c, cqn);
	p.has_cq = true;
	st = srq_new(hca, cmd, &p, &srq);
	if (st)
		return st;
	srq->kind = SRQ_XRQ;
	srq->tm = tm;
	srq->rndv = IFC_GET(xrqc, c, offload) == MLX5_XRQC_OFFLOAD_RNDV;
	srq->cyclic = IFC_GET(wq, wq, wq_type);
	srq->user_index = IFC_GET(xrqc, c, user_index);
	srq->cqe_version1 = hca_cap_gen(hca, cqe_version) && srq->user_index != USER_INDEX_NONE;
	srq->lwm = IFC_GET(wq, wq, lwm);
	memcpy(srq->ctx, wq, sizeof(srq->ctx));
	IFC_SET(create_xrq_out, cmd->out, xrqn, srq->obj.num);
	return ST_OK;
}

static uint8_t create_xrq(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(create_xrq_in, cmd->in, xrq_context);
	struct tm_list *tm;
	uint8_t st = xrq_check(hca, cmd, c);

	if (st)
		return st;
	tm = tm_list_new(IFC_GET(xrqc, c, TM(log_matching_list_sz)),
			 IFC_GET(xrqc, c, TM(append_next_index)));
	if (!tm)
		return cmd_fail(cmd, ST_NO_RES, WHY_NO_MEMORY, "no memory for the list of tags");
	st = xrq_new(hca, cmd, c, tm);
	if (st)
		tm_list_free(tm);
	return st;
}

static uint8_t destroy_xrq(struct hca *hca, struct cmd *cmd)
{
	return srq_destroy(hca, cmd, IFC_GET(destroy_xrq_in, cmd->in, xrqn), SRQ_XRQ);
}

static uint8_t query_xrq(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_xrq_out, cmd->out, xrq_context);
	uint8_t *wq = IFC_ADDR(xrqc, c, wq);
	const struct tm_list *tm;
	struct srq *srq;
	uint8_t st = srq_get(hca, cmd, IFC_GET(query_xrq_in, cmd->in, xrqn), SRQ_XRQ, &srq);

	if (st)
		return st;
	tm = srq->tm;
	IFC_SET(xrqc, c, state, srq->error ? MLX5_XRQC_STATE_ERROR : MLX5_XRQC_STATE_GOOD);
	IFC_SET(xrqc, c, topology, MLX5_XRQC_TOPOLOGY_TAG_MATCHING);
	IFC_SET(xrqc, c, offload, srq->rndv ? MLX5_XRQC_OFFLOAD_RNDV : 0);
	IFC_SET(xrqc, c, user_index, srq->user_index);
	IFC_SET(xrqc, c, cqn, srq->cqn);
	IFC_SET(xrqc, c, TM(log_matching_list_sz), __builtin_ctz(tm->cnt));
	IFC_SET(xrqc, c, TM(append_next_index), tm->append);
	IFC_SET(xrqc, c, TM(sw_phase_cnt), tm->sw_phase);
	IFC_SET(xrqc, c, TM(hw_phase_cnt), tm->hw_phase);
	memcpy(wq, srq->ctx, sizeof(srq->ctx));
	IFC_SET(wq, wq, lwm, srq->lwm);
	IFC_SET(wq, wq, hw_counter, srq->hw);
	return ST_OK;
}

static uint8_t arm_xrq(struct hca *hca, struct cmd *cmd)
{
	struct srq *srq;
	uint8_t st = srq_get(hca, cmd, IFC_GET(arm_xrq_in, cmd->in, xrqn), SRQ_XRQ, &srq);

	return st ? st : srq_arm(hca, cmd, srq, IFC_GET(arm_xrq_in, cmd->in, lwm));
}

const struct cmd_desc xrq_cmds[] = {
	CMD_MIN(CREATE_XRQ, create_xrq, IFC_BYTE(create_xrq_in, xrq_context.wq.pas),
		IFC_SZ(create_xrq_out), create_xrq, .flags = CMD_TM),
	CMD(DESTROY_XRQ, destroy_xrq, destroy_xrq, .flags = CMD_TM),
	CMD_MIN(QUERY_XRQ, query_xrq, IFC_SZ(query_xrq_in),
		IFC_BYTE(query_xrq_out, xrq_context.wq.pas), query_xrq, .flags = CMD_TM),
	CMD(ARM_XRQ, arm_xrq, arm_xrq, .flags = CMD_TM),
	{}
};
