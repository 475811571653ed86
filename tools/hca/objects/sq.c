// SPDX-License-Identifier: GPL-2.0
/*
 * Send queues that belong to no queue pair. The NIC executes what is posted to them. On InfiniBand
 * the driver uses them only to post NOPs through BlueFlame, to find out whether stores are
 * combined.
 */
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "nic_ops.h"
#include "object.h"
#include "qp.h"
#include "queue_mem.h"
#include "sq.h"
#include "ts_format.h"
#include "uar_page.h"
#include "util.h"

#define WQEBB		64
#define WQ_CYCLIC	1

#define CAP_INLINE_MODE_L2	0	/* of wqe_inline_mode: every WQE has the Ethernet header */

#define EVENT_QUEUE_SQ	2	/* as MLX5_EVENT_QUEUE_TYPE_SQ in linux/mlx5/device.h */

/**
 * sq_find() - find a send queue
 * @hca: the HCA
 * @sqn: its number
 *
 * Return: the queue or NULL.
 */
struct sq *sq_find(struct hca *hca, uint32_t sqn)
{
	return (struct sq *)obj_find(hca, OBJ_SQ, sqn);
}

static void sq_unref(struct hca *hca, enum obj_kind kind, uint32_t num)
{
	obj_put(hca, obj_find(hca, kind, num));
}

/* Move the reference to an entry of the table of rates. Entry 0 stands for no limit. */
static void sq_name_rate(struct hca *hca, struct sq *sq, uint32_t index)
{
	uint32_t old = IFC_GET(sqc, sq->sqc, packet_pacing_rate_limit_index);

	if (index)
		obj_find(hca, OBJ_RATE, index)->refs++;
	if (old)
		sq_unref(hca, OBJ_RATE, old);
	IFC_SET(sqc, sq->sqc, packet_pacing_rate_limit_index, index);
}

static void sq_release(struct hca *hca, struct sq *sq)
{
	if (hca->board->nic)
		hca->board->nic->sq_gone(hca, sq);
	obj_put(hca, uar_find(hca, sq->uar));
	sq_unref(hca, OBJ_TIS, sq->tisn);
	sq_unref(hca, OBJ_CQ, sq->cqn);
	sq_unref(hca, OBJ_PD, sq->pdn);
	sq_name_rate(hca, sq, 0);
	qmem_free(hca, &sq->mem);
	dbr_free(hca, &sq->dbr);
	obj_free(hca, &sq->obj);
}

static bool sq_drop(struct hca *hca, struct obj *obj, void *arg)
{
	(void)arg;
	obj->refs = 0;
	sq_release(hca, (struct sq *)obj);
	return true;
}

static void sq_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_SQ, sq_drop, NULL);
}

const struct hca_module sq_module = { .name = "sq", .reset = sq_reset };

/* ---- states ---------------------------------------------------------------------------------- */

/**
 * sq_set_state() - change the state of a send queue
 * @hca: the HCA
 * @sq: the queue
 * @now: the new state
 */
void sq_set_state(struct hca *hca, struct sq *sq, enum sq_state now)
{
	enum sq_state old = sq->state;

	sq->state = now;
	if (now == SQ_RST)
		sq->hw = 0;
	hca_trace(hca, "sq_state", "\"sqn\":%u,\"from\":%u,\"to\":%u", sq->obj.num, old, now);
	if (hca->board->nic)
		hca->board->nic->sq_state(hca, sq, old, now);
}

/**
 * sq_fail() - put a send queue into error, and raise an event
 * @hca: the HCA
 * @sq: the queue; nothing happens if it is not in RDY
 *
 * This is for a queue whose doorbell record is not mapped, or announces more than the queue can
 * hold. A WQE that fails completes with an error, and raises no event.
 */
void sq_fail(struct hca *hca, struct sq *sq)
{
	uint8_t data[EQE_DATA_BYTES] = { [20] = EVENT_QUEUE_SQ };

	if (sq->state != SQ_RDY)
		return;
	put_be32(data + 24, sq->obj.num);
	sq_set_state(hca, sq, SQ_ERR);
	eq_post_async(hca, EV_WQ_CATAS_ERROR, 0, data);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Entry 0 of the table of rates stands for no limit. */
static uint8_t sq_check_rate(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	uint32_t index = IFC_GET(sqc, c, packet_pacing_rate_limit_index);
	struct obj *rate;

	return index ? check_shared(hca, cmd, OBJ_RATE, index, &rate) : ST_OK;
}

#define WQ_FIELD(fld) { IFC_OFF(sqc, wq.fld), IFC_BITS(wq, fld), "wq." #fld }

/*
 * Fields of features that the HCA does not have: fast registration and UMR by the queue, Ethernet
 * offloads, hairpins, groups of queues, cross channel, signatures, and what only receive queues
 * have.
 */
static const struct ifc_field sqc_not_offered[] = {
	IFC_FIELD(sqc, fre), IFC_FIELD(sqc, reg_umr), IFC_FIELD(sqc, cd_master),
	IFC_FIELD(sqc, allow_swp), IFC_FIELD(sqc, non_wire), IFC_FIELD(sqc, hairpin_peer_rq),
	IFC_FIELD(sqc, hairpin_peer_vhca), IFC_FIELD(sqc, ts_cqe_to_dest_cqn),
	IFC_FIELD(sqc, qos_queue_group_id),
	WQ_FIELD(wq_signature), WQ_FIELD(end_padding_mode), WQ_FIELD(cd_slave),
	WQ_FIELD(hds_skip_first_sge), WQ_FIELD(log2_hds_buf_size), WQ_FIELD(lwm),
	WQ_FIELD(log_hairpin_num_packets), WQ_FIELD(log_hairpin_data_sz),
	WQ_FIELD(log_wqe_num_of_strides), WQ_FIELD(two_byte_shift_en),
	WQ_FIELD(log_wqe_stride_size), WQ_FIELD(headers_mkey), WQ_FIELD(shampo_enable),
};

/* Several packets in a WQE, which not all NICs send. */
static const struct ifc_field sqc_several[] = { IFC_FIELD(sqc, allow_multi_pkt_send_wqe) };

/* Fields that only the send queues of a NIC have. */
static const struct ifc_field sqc_of_nic[] = {
	IFC_FIELD(sqc, min_wqe_inline_mode), IFC_FIELD(sqc, tis_num_0),
};

/* The reserved key gives access to all memory, and UMR can make a key give such access. */
static uint8_t sq_check_user(struct cmd *cmd, const uint8_t *c)
{
	if (cmd->uid && (IFC_GET(sqc, c, rlky) || IFC_GET(sqc, c, fre) || IFC_GET(sqc, c, reg_umr)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SQ_PRIVILEGED,
				"DEVX uid %u may have neither rlky nor fre nor reg_umr",
				cmd->uid);
	return ST_OK;
}

static uint8_t sq_check_features(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	uint8_t st = check_offered(cmd, WHY_SQ_FIELD_NOT_OFFERED, "sqc.", c, sqc_not_offered,
				   ARRAY_SIZE(sqc_not_offered));

	if (!st && !hca_cap_gen(hca, eth_net_offloads))
		st = check_offered(cmd, WHY_SQ_FIELD_NOT_OFFERED, "sqc.", c, sqc_of_nic,
				   ARRAY_SIZE(sqc_of_nic));
	if (!st && !hca_cap_eth(hca, enhanced_multi_pkt_send_wqe))
		st = check_offered(cmd, WHY_SQ_FIELD_NOT_OFFERED, "sqc.", c, sqc_several,
				   ARRAY_SIZE(sqc_several));
	if (st)
		return st;
	if (IFC_GET(sqc, c, min_wqe_inline_mode) > INLINE_TCP_UDP)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SQ_INLINE_MODE,
				"min_wqe_inline_mode %u is not supported",
				IFC_GET(sqc, c, min_wqe_inline_mode));
	if (!ts_format_ok(hca, hca_cap_gen(hca, sq_ts_format), IFC_GET(sqc, c, ts_format)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SQ_TIMESTAMP_FORMAT,
				"ts_format %u is not supported", IFC_GET(sqc, c, ts_format));
	if (IFC_GET(sqc, c, user_index) && !hca_cap_gen(hca, cqe_version))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SQ_USER_INDEX,
				"user_index is 0x%x, but CQEs have version 0",
				IFC_GET(sqc, c, user_index));
	return ST_OK;
}

/*
 * On InfiniBand mlx5_core has no PD of its own, and its test of write combining creates a send
 * queue with PD 0. So the kernel may name PD 0, which does not exist.
 */
static uint8_t sq_check_pd(struct hca *hca, struct cmd *cmd, uint32_t pdn)
{
	struct obj *pd;

	return !pdn && !cmd->uid ? ST_OK : check_obj(hca, cmd, OBJ_PD, pdn, &pd);
}

/* A queue names one TIS or none. Without a NIC it names none. */
static uint8_t sq_check_tis(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	uint32_t n = IFC_GET(sqc, c, tis_lst_sz), tisn = IFC_GET(sqc, c, tis_num_0);
	struct obj *tis;

	if (IFC_GET(sqc, c, hairpin) || (n && !hca_cap_gen(hca, eth_net_offloads)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SQ_TIS_NOT_OFFERED,
				"TIS (eth_net_offloads) or hairpin are not supported");
	if (n > 1 || (!n && tisn))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SQ_TIS_LIST,
				"tis_lst_sz is %u, tis_num_0 0x%x", n, tisn);
	return n ? check_obj(hca, cmd, OBJ_TIS, tisn, &tis) : ST_OK;
}

static uint8_t sq_check_refs(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	const uint8_t *wq = IFC_ADDR(sqc, c, wq);
	struct obj *uar, *cq;
	uint8_t st = sq_check_pd(hca, cmd, IFC_GET(wq, wq, pd));

	if (!st)
		st = check_uar(hca, cmd, IFC_GET(wq, wq, uar_page), &uar);
	if (!st)
		st = check_obj(hca, cmd, OBJ_CQ, IFC_GET(sqc, c, cqn), &cq);
	return st ? st : sq_check_rate(hca, cmd, c);
}

static uint8_t sq_check_context(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	const uint8_t *wq = IFC_ADDR(sqc, c, wq);
	uint8_t st;

	if (!hca_cap_gen(hca, log_max_sq))
		return cmd_fail(cmd, ST_BAD_OP, WHY_SQ_NOT_OFFERED,
				"send queues are not supported (log_max_sq)");
	if (IFC_GET(sqc, c, state) != SQ_RST)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SQ_STATE, "an SQ must be created in RST");
	if (IFC_GET(wq, wq, wq_type) != WQ_CYCLIC)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SQ_WQ_TYPE, "wq_type %u is not supported",
				IFC_GET(wq, wq, wq_type));
	if (IFC_GET(wq, wq, log_wq_stride) != 6)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SQ_STRIDE,
				"log_wq_stride %u is not supported",
				IFC_GET(wq, wq, log_wq_stride));
	if (IFC_GET(wq, wq, log_wq_sz) > hca_cap_gen(hca, log_max_wq_sz))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SQ_SIZE, "log_wq_sz %u is too large",
				IFC_GET(wq, wq, log_wq_sz));
	st = sq_check_user(cmd, c);
	if (!st)
		st = sq_check_features(hca, cmd, c);
	if (!st)
		st = sq_check_tis(hca, cmd, c);
	return st ? st : sq_check_refs(hca, cmd, c);
}

/* Refer to what a new queue names. */
static void sq_refer(struct hca *hca, struct sq *sq)
{
	uint32_t rate = IFC_GET(sqc, sq->sqc, packet_pacing_rate_limit_index);

	IFC_SET(sqc, sq->sqc, packet_pacing_rate_limit_index, 0);
	sq_name_rate(hca, sq, rate);
	uar_find(hca, sq->uar)->refs++;
	obj_find(hca, OBJ_CQ, sq->cqn)->refs++;
	if (sq->pdn)
		obj_find(hca, OBJ_PD, sq->pdn)->refs++;
	if (sq->tisn)
		obj_find(hca, OBJ_TIS, sq->tisn)->refs++;
}

/* The capability of a NIC can ask for the Ethernet header in each WQE. */
static uint8_t sq_inline_mode(struct hca *hca, const uint8_t *c)
{
	uint8_t mode = IFC_GET(sqc, c, min_wqe_inline_mode);

	if (hca_cap_gen(hca, eth_net_offloads) &&
	    hca_cap_eth(hca, wqe_inline_mode) == CAP_INLINE_MODE_L2 && !mode)
		return INLINE_L2;
	return mode;
}

/* Take over the context of a new queue. */
static void sq_fill(struct hca *hca, struct sq *sq, const uint8_t *c)
{
	const uint8_t *wq = IFC_ADDR(sqc, c, wq);

	memcpy(sq->sqc, c, sizeof(sq->sqc));
	sq->uar = IFC_GET(wq, wq, uar_page);
	sq->cqn = IFC_GET(sqc, c, cqn);
	sq->pdn = IFC_GET(wq, wq, pd);
	sq->tisn = IFC_GET(sqc, c, tis_num_0);
	sq->user_index = IFC_GET(sqc, c, user_index);
	sq->rlky = IFC_GET(sqc, c, rlky);
	sq->flush_in_error = IFC_GET(sqc, c, flush_in_error_en);
	sq->real_time = ts_format_real_time(hca_cap_gen(hca, sq_ts_format),
					    IFC_GET(sqc, c, ts_format));
	sq->inline_mode = sq_inline_mode(hca, c);
	sq->log_size = IFC_GET(wq, wq, log_wq_sz);
}

static uint8_t create_sq(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(create_sq_in, cmd->in, ctx);
	const uint8_t *wq = IFC_ADDR(sqc, c, wq);
	const struct qmem_source mem_src = qmem_source_wq(wq);
	const struct dbr_source dbr_src = dbr_source_wq(wq);
	struct doorbell_record dbr = {};
	struct queue_mem mem = {};
	struct sq *sq;
	uint8_t st;

	st = sq_check_context(hca, cmd, c);
	if (!st)
		st = dbr_init(hca, cmd, &dbr, &dbr_src, 8);
	if (!st)
		st = qmem_init(hca, cmd, &mem, &mem_src,
			       (size_t)WQEBB << IFC_GET(wq, wq, log_wq_sz), WQEBB, UMEM_READ);
	sq = st ? NULL : (struct sq *)obj_new(hca, OBJ_SQ, cmd->uid, sizeof(*sq));
	if (!sq) {
		qmem_free(hca, &mem);
		dbr_free(hca, &dbr);
		return st ? st : cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE,
					  "all SQ numbers are in use");
	}
	sq->mem = mem;
	sq->dbr = dbr;
	sq_fill(hca, sq, c);
	sq_refer(hca, sq);
	IFC_SET(create_sq_out, cmd->out, sqn, sq->obj.num);
	return ST_OK;
}

#define MODIFY_RATE	1ull	/* of modify_bitmask: the index of the rate changes */

/* Change the state: to RDY from RST or RDY, to RST or ERR from any. MODIFY_RATE sets the rate. */
static uint8_t modify_sq(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(modify_sq_in, cmd->in, ctx);
	unsigned int from = IFC_GET(modify_sq_in, cmd->in, sq_state);
	uint64_t mask = IFC_GET64(modify_sq_in, cmd->in, modify_bitmask);
	bool rated = mask & MODIFY_RATE;
	unsigned int to = IFC_GET(sqc, c, state);
	struct obj *o;
	struct sq *sq;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_SQ, IFC_GET(modify_sq_in, cmd->in, sqn), &o);
	if (st)
		return st;
	sq = (struct sq *)o;
	if (mask & ~MODIFY_RATE)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SQ_MODIFY_MASK,
				"modify_bitmask has unknown bits 0x%llx",
				(unsigned long long)(mask & ~MODIFY_RATE));
	if (from != sq->state)
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_SQ_STATE,
				"the SQ is in state %u, not %u", sq->state, from);
	if ((to != SQ_RST && to != SQ_RDY && to != SQ_ERR) || (to == SQ_RDY && from == SQ_ERR))
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_SQ_STATE,
				"an SQ cannot move from state %u to %u", from, to);
	st = rated ? sq_check_rate(hca, cmd, c) : ST_OK;
	if (st)
		return st;
	if (rated)
		sq_name_rate(hca, sq, IFC_GET(sqc, c, packet_pacing_rate_limit_index));
	if (to != from)
		sq_set_state(hca, sq, to);
	return ST_OK;
}

static uint8_t destroy_sq(struct hca *hca, struct cmd *cmd)
{
	struct obj *o;
	uint8_t st;

	st = check_destroy(hca, cmd, OBJ_SQ, IFC_GET(destroy_sq_in, cmd->in, sqn), &o);
	if (!st)
		sq_release(hca, (struct sq *)o);
	return st;
}

static uint8_t query_sq(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_sq_out, cmd->out, sq_context);
	struct obj *o;
	struct sq *sq;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_SQ, IFC_GET(query_sq_in, cmd->in, sqn), &o);
	if (st)
		return st;
	sq = (struct sq *)o;
	memcpy(c, sq->sqc, sizeof(sq->sqc));
	IFC_SET(sqc, c, state, sq->state);
	IFC_SET(wq, IFC_ADDR(sqc, c, wq), hw_counter, sq->hw);
	return ST_OK;
}

const struct cmd_desc sq_cmds[] = {
	CMD(CREATE_SQ, create_sq, create_sq, .flags = CMD_RAW_TX),
	CMD(MODIFY_SQ, modify_sq, modify_sq),
	CMD(DESTROY_SQ, destroy_sq, destroy_sq),
	CMD(QUERY_SQ, query_sq, query_sq),
	{}
};
