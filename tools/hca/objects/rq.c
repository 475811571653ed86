// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues that belong to no queue pair.
 *
 * Theory: a queue is a ring of WQEs of one stride. Each WQE is a list of buffers, which ends at the
 * stride or with an entry that names MKEY_TERM_SCATTER. Software posts WQEs in the order of the
 * ring, and counts them in the doorbell record; it rings no register, so the record is read when a
 * frame arrives. A queue of one WQE of which nothing is ever posted drops all frames.
 *
 *	RST --MODIFY_RQ--> RDY --MODIFY_RQ, or a failure--> ERR
 *	 ^                  |                                |
 *	 +----MODIFY_RQ-----+--------------------------------+
 */
#include <errno.h>
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "mem.h"
#include "mkey.h"
#include "nic_ops.h"
#include "object.h"
#include "qp.h"
#include "queue_mem.h"
#include "rq.h"
#include "ts_format.h"
#include "util.h"

#define WQ_CYCLIC	1
#define DBR_BYTES	8
#define START_PADDING	0x80000000u	/* of byte_count: align the frame in the buffer */
#define END_PAD_ALIGN	1		/* end_padding_mode: up to the cache line */

#define EVENT_QUEUE_RQ	1	/* as MLX5_EVENT_QUEUE_TYPE_RQ in linux/mlx5/device.h */

/**
 * rq_find() - find a receive queue
 * @hca: the HCA
 * @rqn: its number
 *
 * Return: the queue or NULL.
 */
struct rq *rq_find(struct hca *hca, uint32_t rqn)
{
	return (struct rq *)obj_find(hca, OBJ_RQ, rqn);
}

/* ---- receiving ------------------------------------------------------------------------------- */

/**
 * rq_set_state() - change the state of a receive queue
 * @hca: the HCA
 * @rq: the queue
 * @now: the new state
 */
void rq_set_state(struct hca *hca, struct rq *rq, enum rq_state now)
{
	enum rq_state old = rq->state;

	rq->state = now;
	if (now == RQ_RST)
		rq->hw = 0;
	hca_trace(hca, "rq_state", "\"rqn\":%u,\"from\":%u,\"to\":%u", rq->obj.num, old, now);
	if (hca->board->nic)
		hca->board->nic->rq_state(hca, rq, old, now);
}

/**
 * rq_fail() - put a receive queue into error, and raise an event
 * @hca: the HCA
 * @rq: the queue; nothing happens if it is not in RDY
 */
void rq_fail(struct hca *hca, struct rq *rq)
{
	uint8_t data[EQE_DATA_BYTES] = { [20] = EVENT_QUEUE_RQ };

	if (rq->state != RQ_RDY)
		return;
	put_be32(data + 24, rq->obj.num);
	rq_set_state(hca, rq, RQ_ERR);
	eq_post_async(hca, EV_WQ_CATAS_ERROR, 0, data);
}

static void rq_decode(struct rq_wqe *w, const uint8_t *wqe, size_t len)
{
	size_t off;

	w->n = 0;
	w->len = 0;
	for (off = 0; off + RQ_ENTRY_BYTES <= len; off += RQ_ENTRY_BYTES) {
		struct rq_entry *e = &w->entry[w->n];

		e->len = get_be32(wqe + off) & ~START_PADDING;
		e->lkey = get_be32(wqe + off + 4);
		e->addr = get_be64(wqe + off + 8);
		if (!e->len && e->lkey == MKEY_TERM_SCATTER)
			break;
		w->len += e->len;
		w->n++;
	}
}

/**
 * rq_peek() - read the receive WQE that is consumed next
 * @hca: the HCA
 * @rq: the queue, in RDY
 * @w: the WQE
 *
 * Return: 0; -ENOENT if none is posted; -EFAULT if the doorbell record or the WQE is not mapped, or
 * if the record counts more WQEs than the queue has. Then the queue is in error.
 */
int rq_peek(struct hca *hca, struct rq *rq, struct rq_wqe *w)
{
	uint8_t rec[4], wqe[RQ_ENTRIES * RQ_ENTRY_BYTES];
	size_t len = 1u << rq->shift;
	uint16_t posted;

	if (mem_read(hca, rq->dbr.addr + DBR_RCV, rec, sizeof(rec)))
		goto broken;
	posted = get_be32(rec);
	if (posted == rq->hw)
		return -ENOENT;
	if ((uint16_t)(posted - rq->hw) > 1u << rq->log_size)
		goto broken;
	w->index = rq->hw & ((1u << rq->log_size) - 1);
	if (qmem_read(hca, &rq->mem, (size_t)w->index << rq->shift, wqe, len))
		goto broken;
	w->index = rq->hw;
	rq_decode(w, wqe, len);
	return 0;
broken:
	rq_fail(hca, rq);
	return -EFAULT;
}

/**
 * rq_consume() - the WQE that rq_peek() has read is used
 * @rq: the queue
 */
void rq_consume(struct rq *rq)
{
	rq->hw++;
}

/* ---- the context ----------------------------------------------------------------------------- */

#define WQ_FIELD(fld) { IFC_OFF(rqc, wq.fld), IFC_BITS(wq, fld), "wq." #fld }

/* Frames with their FCS, which not all NICs store. */
static const struct ifc_field rqc_fcs[] = { IFC_FIELD(rqc, scatter_fcs) };

/*
 * Fields of features that the HCA does not have: hairpins, delayed drops, shared receive queues,
 * strides, cross channel, signatures, and header-data split.
 */
static const struct ifc_field rqc_not_offered[] = {
	IFC_FIELD(rqc, delay_drop_en), IFC_FIELD(rqc, mem_rq_type),
	IFC_FIELD(rqc, hairpin), IFC_FIELD(rqc, rmpn), IFC_FIELD(rqc, hairpin_peer_sq),
	IFC_FIELD(rqc, hairpin_peer_vhca), IFC_FIELD(rqc, shampo_no_match_alignment_granularity),
	IFC_FIELD(rqc, shampo_match_criteria_type), IFC_FIELD(rqc, reservation_timeout),
	WQ_FIELD(wq_signature), WQ_FIELD(cd_slave), WQ_FIELD(hds_skip_first_sge),
	WQ_FIELD(log2_hds_buf_size), WQ_FIELD(lwm), WQ_FIELD(log_hairpin_num_packets),
	WQ_FIELD(log_hairpin_data_sz), WQ_FIELD(log_wqe_num_of_strides),
	WQ_FIELD(two_byte_shift_en), WQ_FIELD(log_wqe_stride_size), WQ_FIELD(headers_mkey),
	WQ_FIELD(shampo_enable),
};

static uint8_t rq_check_ring(struct hca *hca, struct cmd *cmd, const uint8_t *wq)
{
	unsigned int stride = IFC_GET(wq, wq, log_wq_stride);

	if (IFC_GET(wq, wq, wq_type) != WQ_CYCLIC)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RQ_WQ_TYPE, "wq_type %u is not supported",
				IFC_GET(wq, wq, wq_type));
	if (stride < 4 || stride > 9 || 1u << stride > hca_cap_gen(hca, max_wqe_sz_rq))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RQ_STRIDE,
				"a WQE stride of 2^%u is not supported", stride);
	if (IFC_GET(wq, wq, log_wq_sz) > hca_cap_gen(hca, log_max_wq_sz))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RQ_SIZE, "log_wq_sz %u is too large",
				IFC_GET(wq, wq, log_wq_sz));
	if (IFC_GET(wq, wq, end_padding_mode) > END_PAD_ALIGN)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RQ_PADDING,
				"end_padding_mode %u is not supported",
				IFC_GET(wq, wq, end_padding_mode));
	return ST_OK;
}

static uint8_t rq_check_features(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	uint8_t st = check_offered(cmd, WHY_RQ_FIELD_NOT_OFFERED, "rqc.", c, rqc_not_offered,
				   ARRAY_SIZE(rqc_not_offered));

	if (!st && !hca_cap_eth(hca, scatter_fcs))
		st = check_offered(cmd, WHY_RQ_FIELD_NOT_OFFERED, "rqc.", c, rqc_fcs,
				   ARRAY_SIZE(rqc_fcs));
	if (st)
		return st;
	if (cmd->uid && IFC_GET(rqc, c, rlky))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RQ_PRIVILEGED,
				"DEVX uid %u may not have rlky", cmd->uid);
	if (!ts_format_ok(hca, hca_cap_gen(hca, rq_ts_format), IFC_GET(rqc, c, ts_format)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RQ_TIMESTAMP_FORMAT,
				"ts_format %u is not supported", IFC_GET(rqc, c, ts_format));
	if (IFC_GET(rqc, c, user_index) && !hca_cap_gen(hca, cqe_version))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RQ_USER_INDEX,
				"user_index is 0x%x, but CQEs have version 0",
				IFC_GET(rqc, c, user_index));
	return ST_OK;
}

/* Counter set 0 stands for none. A queue takes no reference, as a queue pair takes none. */
static uint8_t rq_check_counter(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	uint32_t set = IFC_GET(rqc, c, counter_set_id);
	struct obj *o;

	return set ? check_shared(hca, cmd, OBJ_QCOUNTER, set, &o) : ST_OK;
}

/*
 * mlx5_core names no PD for the queue of one WQE that it never posts, to which it sends what no
 * other queue should get. So the kernel may name PD 0, which does not exist, for such a queue.
 */
static uint8_t rq_check_pd(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	uint32_t pdn = IFC_GET(rqc, c, wq.pd);
	struct obj *pd;

	if (!pdn && !cmd->uid && !IFC_GET(rqc, c, wq.log_wq_sz))
		return ST_OK;
	return check_obj(hca, cmd, OBJ_PD, pdn, &pd);
}

static uint8_t rq_check_refs(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	uint8_t st = rq_check_pd(hca, cmd, c);
	struct obj *cq;

	if (!st)
		st = check_obj(hca, cmd, OBJ_CQ, IFC_GET(rqc, c, cqn), &cq);
	return st ? st : rq_check_counter(hca, cmd, c);
}

static uint8_t rq_check(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	uint8_t st;

	if (IFC_GET(rqc, c, state) != RQ_RST)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RQ_STATE, "an RQ must be created in RST");
	st = rq_check_ring(hca, cmd, IFC_ADDR(rqc, c, wq));
	if (!st)
		st = rq_check_features(hca, cmd, c);
	return st ? st : rq_check_refs(hca, cmd, c);
}

/* Take over the context of a new queue. */
static void rq_fill(struct hca *hca, struct rq *rq, const uint8_t *c)
{
	const uint8_t *wq = IFC_ADDR(rqc, c, wq);

	memcpy(rq->rqc, c, sizeof(rq->rqc));
	rq->log_size = IFC_GET(wq, wq, log_wq_sz);
	rq->shift = IFC_GET(wq, wq, log_wq_stride);
	rq->pdn = IFC_GET(wq, wq, pd);
	rq->cqn = IFC_GET(rqc, c, cqn);
	rq->user_index = IFC_GET(rqc, c, user_index);
	rq->rlky = IFC_GET(rqc, c, rlky);
	rq->vsd = IFC_GET(rqc, c, vsd);
	rq->scatter_fcs = IFC_GET(rqc, c, scatter_fcs);
	rq->flush_in_error = IFC_GET(rqc, c, flush_in_error_en);
	rq->real_time = ts_format_real_time(hca_cap_gen(hca, rq_ts_format),
					    IFC_GET(rqc, c, ts_format));
	rq->counter_set = IFC_GET(rqc, c, counter_set_id);
	if (rq->pdn)
		obj_find(hca, OBJ_PD, rq->pdn)->refs++;
	obj_find(hca, OBJ_CQ, rq->cqn)->refs++;
}

/* ---- commands -------------------------------------------------------------------------------- */

static uint8_t create_rq(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(create_rq_in, cmd->in, ctx);
	const uint8_t *wq = IFC_ADDR(rqc, c, wq);
	const struct qmem_source mem_src = qmem_source_wq(wq);
	const struct dbr_source dbr_src = dbr_source_wq(wq);
	struct doorbell_record dbr = {};
	struct queue_mem mem = {};
	struct rq *rq;
	uint8_t st;

	st = rq_check(hca, cmd, c);
	if (!st)
		st = dbr_init(hca, cmd, &dbr, &dbr_src, DBR_BYTES);
	if (!st)
		st = qmem_init(hca, cmd, &mem, &mem_src,
			       (size_t)1 << (IFC_GET(wq, wq, log_wq_sz) +
					     IFC_GET(wq, wq, log_wq_stride)),
			       1u << IFC_GET(wq, wq, log_wq_stride), UMEM_READ);
	rq = st ? NULL : (struct rq *)obj_new(hca, OBJ_RQ, cmd->uid, sizeof(*rq));
	if (!rq) {
		qmem_free(hca, &mem);
		dbr_free(hca, &dbr);
		return st ? st : cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE,
					  "all RQ numbers are in use");
	}
	rq->mem = mem;
	rq->dbr = dbr;
	rq_fill(hca, rq, c);
	IFC_SET(create_rq_out, cmd->out, rqn, rq->obj.num);
	return ST_OK;
}

/* Bits of modify_bitmask, as MLX5_MODIFY_RQ_IN_MODIFY_BITMASK_* in mlx5_ifc.h. */
#define MODIFY_VSD	(1ull << 1)
#define MODIFY_FCS	(1ull << 2)
#define MODIFY_COUNTER	(1ull << 3)

/* Storing the FCS can change only if the NIC can store it. */
static uint64_t modify_rq_unknown(struct hca *hca, uint64_t mask)
{
	uint64_t known = MODIFY_VSD | MODIFY_COUNTER;

	if (hca_cap_eth(hca, scatter_fcs))
		known |= MODIFY_FCS;
	return mask & ~known;
}

static uint8_t modify_rq_check(struct hca *hca, struct cmd *cmd, const struct rq *rq)
{
	const uint8_t *c = IFC_ADDR(modify_rq_in, cmd->in, ctx);
	uint64_t mask = IFC_GET64(modify_rq_in, cmd->in, modify_bitmask);
	unsigned int from = IFC_GET(modify_rq_in, cmd->in, rq_state), to = IFC_GET(rqc, c, state);

	if (modify_rq_unknown(hca, mask))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RQ_MODIFY_MASK,
				"modify_bitmask has unknown bits 0x%llx",
				(unsigned long long)modify_rq_unknown(hca, mask));
	if (from != rq->state)
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_RQ_STATE,
				"the RQ is in state %u, not %u", rq->state, from);
	if ((to != RQ_RST && to != RQ_RDY && to != RQ_ERR) || (to == RQ_RDY && from == RQ_ERR))
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_RQ_STATE,
				"an RQ cannot move from state %u to %u", from, to);
	return mask & MODIFY_COUNTER ? rq_check_counter(hca, cmd, c) : ST_OK;
}

/* Change the state: to RDY from RST or RDY, to RST or ERR from any; and what the bitmask names. */
static uint8_t modify_rq(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(modify_rq_in, cmd->in, ctx);
	uint64_t mask = IFC_GET64(modify_rq_in, cmd->in, modify_bitmask);
	struct obj *o;
	struct rq *rq;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_RQ, IFC_GET(modify_rq_in, cmd->in, rqn), &o);
	rq = (struct rq *)o;
	if (!st)
		st = modify_rq_check(hca, cmd, rq);
	if (st)
		return st;
	if (mask & MODIFY_VSD)
		rq->vsd = IFC_GET(rqc, c, vsd);
	if (mask & MODIFY_FCS)
		rq->scatter_fcs = IFC_GET(rqc, c, scatter_fcs);
	if (mask & MODIFY_COUNTER)
		rq->counter_set = IFC_GET(rqc, c, counter_set_id);
	if (IFC_GET(rqc, c, state) != rq->state)
		rq_set_state(hca, rq, IFC_GET(rqc, c, state));
	return ST_OK;
}

static void rq_release(struct hca *hca, struct rq *rq)
{
	if (hca->board->nic)
		hca->board->nic->rq_gone(hca, rq);
	obj_put(hca, obj_find(hca, OBJ_CQ, rq->cqn));
	obj_put(hca, obj_find(hca, OBJ_PD, rq->pdn));
	qmem_free(hca, &rq->mem);
	dbr_free(hca, &rq->dbr);
	obj_free(hca, &rq->obj);
}

static uint8_t destroy_rq(struct hca *hca, struct cmd *cmd)
{
	struct obj *o;
	uint8_t st;

	st = check_destroy(hca, cmd, OBJ_RQ, IFC_GET(destroy_rq_in, cmd->in, rqn), &o);
	if (!st)
		rq_release(hca, (struct rq *)o);
	return st;
}

static uint8_t query_rq(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_rq_out, cmd->out, rq_context);
	const struct rq *rq;
	struct obj *o;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_RQ, IFC_GET(query_rq_in, cmd->in, rqn), &o);
	if (st)
		return st;
	rq = (struct rq *)o;
	memcpy(c, rq->rqc, sizeof(rq->rqc));
	IFC_SET(rqc, c, state, rq->state);
	IFC_SET(rqc, c, vsd, rq->vsd);
	IFC_SET(rqc, c, scatter_fcs, rq->scatter_fcs);
	IFC_SET(rqc, c, counter_set_id, rq->counter_set);
	IFC_SET(wq, IFC_ADDR(rqc, c, wq), hw_counter, rq->hw);
	return ST_OK;
}

const struct cmd_desc rq_cmds[] = {
	CMD(CREATE_RQ, create_rq, create_rq, .flags = CMD_ETH),
	CMD(MODIFY_RQ, modify_rq, modify_rq, .flags = CMD_ETH),
	CMD(DESTROY_RQ, destroy_rq, destroy_rq, .flags = CMD_ETH),
	CMD(QUERY_RQ, query_rq, query_rq, .flags = CMD_ETH),
	{}
};

static bool rq_drop(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	rq_release(hca, (struct rq *)o);
	return true;
}

static void rq_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_RQ, rq_drop, NULL);
}

const struct hca_module rq_module = { .name = "rq", .reset = rq_reset };
