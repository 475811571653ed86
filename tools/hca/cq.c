// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: CREATE/MODIFY/QUERY/DESTROY_CQ, writing CQEs, overrun,
 * arming, moderation and completion events.
 */
#include <errno.h>
#include <stdlib.h>
#include <event2/event.h>
#include "check.h"
#include "cq.h"
#include "qp.h"

#define HCA_FILE_ID FILE_CQ

_Static_assert(IFC_SZ(cqc) == CQC_BYTES, "cqc size");

#define CQE_BYTES	64
#define CQE_OP_RESIZE	5	/* MLX5_CQE_RESIZE_CQ */
#define CQE_OP_REQ_ERR	13
#define CQE_OP_RESP_ERR	14
#define CQE_INLINE_32	(1u << 2)
#define CQE_INLINE_64	(2u << 2)
#define CQ_ERR_OVERRUN	1	/* syndrome of the CQ error event */
#define CQ_ERR_ACCESS	2

enum { MODIFY_PERIOD = 1, MODIFY_COUNT = 2, MODIFY_OI = 4, MODIFY_EQN = 8 };
enum { OPMOD_MODIFY = 0, OPMOD_RESIZE = 1 };
enum { RESIZE_SIZE = 1, RESIZE_PG_OFFSET = 2, RESIZE_PG_SIZE = 4 };

/**
 * cq_find() - find a completion queue
 * @hca: the function
 * @cqn: its number
 *
 * Return: the queue or NULL.
 */
struct cq *cq_find(struct hca *hca, uint32_t cqn)
{
	return (struct cq *)obj_find(hca, OBJ_CQ, cqn);
}

/* ---- events ------------------------------------------------------------------- */

static void cq_fire(struct cq *cq)
{
	uint8_t data[28] = {};

	cq->armed = false;
	cq->fired_once = true;
	cq->fired_sn = cq->arm_sn;
	cq->notified = cq->pi;
	cq->held = 0;
	if (cq->timer)
		event_del(cq->timer);
	put_be32(data + 24, cq->obj.num);
	hca_trace(cq->hca, "cq_event", "\"cqn\":%u,\"eqn\":%u,\"sn\":%u", cq->obj.num, cq->eqn,
		  cq->arm_sn);
	eq_post(cq->hca, cq->eqn, 0, 0, data);
}

static void cq_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct cq *cq = arg;

	(void)fd;
	(void)what;
	if (cq->armed && cq->held)
		cq_fire(cq);
}

static bool cq_moderated(const struct cq *cq)
{
	return cq->max_count > 1 && cq->period_us;
}

/* A CQE was written that an armed CQ tells about; now, or when moderation says. */
static void cq_notify(struct cq *cq, bool solicited)
{
	struct timeval tv = { .tv_usec = cq->period_us };

	if (!cq_moderated(cq) || (solicited && cq->sol_breaks_mod) || ++cq->held >= cq->max_count) {
		cq_fire(cq);
		return;
	}
	if (cq->held == 1 && cq->timer)
		event_add(cq->timer, &tv);
}

static void cq_error(struct cq *cq, enum cq_status status, uint8_t syndrome)
{
	uint8_t data[28] = {};

	cq->status = status;
	cq->armed = false;
	put_be32(data, cq->obj.num);
	data[11] = syndrome;
	hca_trace(cq->hca, "cq_error", "\"cqn\":%u,\"syndrome\":%u", cq->obj.num, syndrome);
	eq_post_async(cq->hca, EV_CQ_ERROR, 0, data);
}

static bool fail_one(struct hca *hca, struct obj *o, void *arg)
{
	struct qp *qp = (struct qp *)o;

	(void)arg;
	if (qp->cq_dead)
		qp_to_error(hca, qp, EV_WQ_CATAS_ERROR);
	qp->cq_dead = false;
	return true;
}

static void cq_fail_qps(evutil_socket_t fd, short what, void *arg)
{
	struct cq *cq = arg;

	(void)fd;
	(void)what;
	obj_for_each(cq->hca, OBJ_QP, fail_one, NULL);
}

/*
 * A queue pair whose completion has nowhere to go is in fatal error. It is in the middle of what
 * led to the completion, so it hears of that later.
 */
static void cq_lose(struct cq *cq, const struct completion *c)
{
	struct qp *qp = qp_find(cq->hca, c->qpn);

	if (!qp || qp->state == QPS_ERR || qp->state == QPS_RST)
		return;
	qp->cq_dead = true;
	if (cq->lost)
		event_active(cq->lost, EV_TIMEOUT, 0);
}

/* How far @a is ahead of @b; counters are 24 bits. Behind gives a large number. */
static uint32_t cq_ahead(uint32_t a, uint32_t b)
{
	return (a - b) & CQ_INDEX_MASK;
}

static bool cq_is_ahead(uint32_t a, uint32_t b)
{
	uint32_t d = cq_ahead(a, b);

	return d && d <= CQ_INDEX_MASK / 2;
}

/**
 * cq_arm_doorbell() - the CQ doorbell register was written
 * @hca: the function
 * @uar: page that it was written on
 * @val: arm word (sequence number, command, consumer index) and CQ number
 *
 * Arms the queue for the next completion, or the next solicited one; fires at once if there is one
 * that the consumer index doesn't cover. Dropped when the queue is not of this UAR or in error.
 */
void cq_arm_doorbell(struct hca *hca, uint32_t uar, uint64_t val)
{
	uint32_t cqn = val & 0xffffff;
	uint32_t word = val >> 32;
	uint32_t ci = word & CQ_INDEX_MASK;
	uint8_t sn = word >> 28 & 3;
	bool sol = word & CQ_DB_NOT_SOL;
	struct cq *cq = cq_find(hca, cqn);

	if (!cq) {
		doorbell_drop(hca, DROP_NO_CQ, uar, cqn);
		return;
	}
	if (cq->uar != uar) {
		doorbell_drop(hca, DROP_WRONG_UAR, uar, cqn);
		return;
	}
	if (cq->status != CQ_STATUS_OK) {
		doorbell_drop(hca, DROP_BAD_STATE, uar, cqn);
		return;
	}
	/* An event for this sequence number is already on its way. */
	if (cq->fired_once && sn == cq->fired_sn)
		return;
	/* Armed for any completion already: a request for solicited ones doesn't narrow it. */
	cq->armed_sol = sol && !(cq->armed && !cq->armed_sol && cq->arm_sn == sn);
	cq->armed = true;
	cq->arm_sn = sn;
	if (cq->armed_sol ? cq->sol_seen && cq_is_ahead(cq->sol_pi, ci) : cq_is_ahead(cq->pi, ci))
		cq_fire(cq);
}

/* ---- writing CQEs ---------------------------------------------------------------- */

static bool cqe_is_error(const struct completion *c)
{
	return c->opcode == CQE_OP_REQ_ERR || c->opcode == CQE_OP_RESP_ERR;
}

static void cqe_build(struct hca *hca, uint8_t *cqe, const struct completion *c)
{
	if (cqe_is_error(c)) {
		put_be32(cqe + 32, c->srqn_uidx);
		cqe[54] = c->vendor_syndrome;
		cqe[55] = c->syndrome;
	} else {
		if (c->inline_len && c->inline_len <= 32) {
			memcpy(cqe, c->inline_data, c->inline_len);
		} else {
			cqe[17] = c->ml_path;
			put_be16(cqe + 22, c->slid);
			put_be32(cqe + 24, (uint32_t)c->grh << 28 | (uint32_t)(c->sl & 0xf) << 24 |
				 (c->src_qp & 0xffffff));
		}
		put_be32(cqe + 32, c->srqn_uidx);
		put_be32(cqe + 36, c->imm_inval_pkey);
		put_be32(cqe + 44, c->byte_cnt);
		put_be64(cqe + 48, hca_clock(hca));
	}
	put_be32(cqe + 56, (uint32_t)c->s_wqe_opcode << 24 | (c->qpn & 0xffffff));
	put_be16(cqe + 60, c->wqe_counter);
	cqe[63] = c->opcode << 4;
	if (c->inline_len && !cqe_is_error(c))
		cqe[63] |= c->inline_len <= 32 ? CQE_INLINE_32 : CQE_INLINE_64;
}

/*
 * Write one CQE at the producer index. The byte with the owner bit goes last: it is what hands
 * the entry over. Returns false if the queue's memory is gone.
 */
static bool cqe_write(struct hca *hca, struct cq *cq, const uint8_t *cqe, const uint8_t *inl,
		      size_t inl_len)
{
	uint32_t slot = cq->collapsed ? 0 : cq->pi & (cq->cnt - 1);
	uint8_t owner = cq->pi & cq->cnt ? 1 : 0;
	uint8_t *p = qmem_ptr(hca, &cq->mem, (size_t)slot * cq->cqe_sz, cq->cqe_sz, true);

	if (!p)
		return false;
	if (cq->cqe_sz == 128) {
		if (inl_len)
			memcpy(p, inl, inl_len);
		p += 64;
	}
	memcpy(p, cqe, CQE_BYTES - 1);
	__atomic_store_n(p + CQE_BYTES - 1, (cqe[63] & ~1) | owner, __ATOMIC_RELEASE);
	cq->pi = (cq->pi + 1) & CQ_INDEX_MASK;
	return true;
}

/* Room for one more, looking at the doorbell record only when the last look says full. */
static bool cq_has_room(struct hca *hca, struct cq *cq)
{
	uint8_t rec[4];

	if (cq->overrun_ok || cq->collapsed || cq_ahead(cq->pi, cq->ci) < cq->cnt)
		return true;
	if (mem_read(hca, cq->dbr_addr, rec, sizeof(rec)))
		return false;
	cq->ci = get_be32(rec) & CQ_INDEX_MASK;
	return cq_ahead(cq->pi, cq->ci) < cq->cnt;
}

/**
 * cq_complete_now() - write a CQE, past the injections
 * @hca: the function
 * @cqn: completion queue
 * @c: what it says
 *
 * A queue that is full goes to error with its event, once. CQEs to a queue in error vanish, and the
 * queue pairs that they were about go to error soon.
 */
void cq_complete_now(struct hca *hca, uint32_t cqn, const struct completion *c)
{
	struct cq *cq = cq_find(hca, cqn);
	bool sol = c->solicited || cqe_is_error(c);
	uint8_t cqe[CQE_BYTES] = {};
	size_t upper = c->inline_len > 32 ? c->inline_len : 0;

	if (!cq)
		return;
	if (cq->status == CQ_STATUS_OK && !cq_has_room(hca, cq))
		cq_error(cq, CQ_STATUS_OVERFLOW, CQ_ERR_OVERRUN);
	if (cq->status != CQ_STATUS_OK) {
		cq_lose(cq, c);
		return;
	}
	cqe_build(hca, cqe, c);
	if (!cqe_write(hca, cq, cqe, c->inline_data, upper)) {
		cq_error(cq, CQ_STATUS_WRITE_FAIL, CQ_ERR_ACCESS);
		cq_lose(cq, c);
		return;
	}
	hca->count.cqes++;
	if (cqe_is_error(c))
		hca->count.cqes_err++;
	if (sol) {
		cq->sol_seen = true;
		cq->sol_pi = cq->pi;
	}
	hca_trace(hca, "cqe", "\"cqn\":%u,\"pi\":%u,\"opcode\":%u,\"syndrome\":%u,\"qpn\":%u,"
		  "\"wqe\":%u,\"bytes\":%u", cqn, cq->pi, c->opcode, c->syndrome, c->qpn,
		  c->wqe_counter, c->byte_cnt);
	if (cq->armed && (sol || !cq->armed_sol))
		cq_notify(cq, sol);
}

/**
 * cq_complete() - write a CQE (struct mlx5_cqe64 of linux/mlx5/device.h)
 * @hca: the function
 * @cqn: completion queue
 * @c: what it says
 */
void cq_complete(struct hca *hca, uint32_t cqn, const struct completion *c)
{
	if (!inject_cqe(hca, cqn, c))
		cq_complete_now(hca, cqn, c);
}

/* ---- commands ----------------------------------------------------------------------- */

static const struct ifc_field cqc_reserved[] = {
	IFC_FIELD(cqc, reserved_at_4), IFC_FIELD(cqc, reserved_at_c),
	IFC_FIELD(cqc, reserved_at_18),
	IFC_FIELD(cqc, reserved_at_20), IFC_FIELD(cqc, reserved_at_40),
	IFC_FIELD(cqc, reserved_at_60), IFC_FIELD(cqc, reserved_at_80),
	IFC_FIELD(cqc, reserved_at_c0), IFC_FIELD(cqc, reserved_at_c8),
	IFC_FIELD(cqc, reserved_at_e0), IFC_FIELD(cqc, reserved_at_180),
	IFC_FIELD(cqc, dbr_umem_valid), IFC_FIELD(cqc, apu_cq),
};

static uint8_t cq_check_ctx(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	const char *rsvd = ifc_first_set(c, cqc_reserved, ARRAY_SIZE(cqc_reserved));

	if (rsvd)
		return cmd_fail(cmd, ST_BAD_PARAM, "cqc.%s is not zero", rsvd);
	if (IFC_GET(cqc, c, log_cq_size) > hca_cap_gen(hca, log_max_cq_sz))
		return cmd_fail(cmd, ST_LIM, "2^%u CQEs", IFC_GET(cqc, c, log_cq_size));
	if (IFC_GET(cqc, c, cqe_sz) > 1)
		return cmd_fail(cmd, ST_BAD_PARAM, "cqe_sz %u", IFC_GET(cqc, c, cqe_sz));
	if (IFC_GET(cqc, c, cqe_comp_en) && !hca_cap_gen(hca, cqe_compression))
		return cmd_fail(cmd, ST_BAD_PARAM, "CQE compression is not offered");
	if (IFC_GET(cqc, c, oi) && !hca_cap_gen(hca, cq_oi))
		return cmd_fail(cmd, ST_BAD_PARAM, "overrun ignore is not offered");
	return ST_OK;
}

/* The page list of a CQ context, for CREATE and resize. */
static uint8_t cq_pages(struct hca *hca, struct cmd *cmd, const uint8_t *c, const uint8_t *pas,
			struct queue_mem *m)
{
	unsigned int log_page = IFC_GET(cqc, c, log_page_size) + 12;
	uint32_t offset = qmem_offset(IFC_GET(cqc, c, page_offset), log_page);
	unsigned int cqe_sz = 64u << IFC_GET(cqc, c, cqe_sz);

	if (offset % cqe_sz)
		return cmd_fail(cmd, ST_BAD_PARAM, "a CQE would straddle pages");
	return qmem_init(hca, cmd, m, pas, cmd_left(cmd, pas), log_page, offset,
			 (size_t)cqe_sz << IFC_GET(cqc, c, log_cq_size));
}

static void cq_take_ctx(struct cq *cq, const uint8_t *c)
{
	memcpy(cq->cqc, c, CQC_BYTES);
	cq->uar = IFC_GET(cqc, c, uar_page);
	cq->eqn = IFC_GET(cqc, c, c_eqn_or_apu_element);
	cq->dbr_addr = IFC_GET64(cqc, c, dbr_addr);
	cq->cnt = 1u << IFC_GET(cqc, c, log_cq_size);
	cq->cqe_sz = 64u << IFC_GET(cqc, c, cqe_sz);
	cq->overrun_ok = IFC_GET(cqc, c, oi);
	cq->collapsed = IFC_GET(cqc, c, cc);
	cq->sol_breaks_mod = IFC_GET(cqc, c, scqe_break_moderation_en);
	cq->period_us = IFC_GET(cqc, c, cq_period);
	cq->max_count = IFC_GET(cqc, c, cq_max_count);
	cq->status = CQ_STATUS_OK;
}

static uint8_t create_cq(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(create_cq_in, cmd->in, cq_context);
	struct obj *uar, *eq;
	struct queue_mem mem = {};
	struct cq *cq;
	uint8_t st;

	if (IFC_GET(create_cq_in, cmd->in, cq_umem_valid))
		return cmd_fail(cmd, ST_BAD_PARAM, "umem queues are not offered");
	st = cq_check_ctx(hca, cmd, c);
	if (!st)
		st = check_obj(hca, cmd, OBJ_UAR, IFC_GET(cqc, c, uar_page), &uar);
	if (!st)
		st = check_obj(hca, cmd, OBJ_EQ, IFC_GET(cqc, c, c_eqn_or_apu_element), &eq);
	if (!st)
		st = check_dbr(hca, cmd, IFC_GET64(cqc, c, dbr_addr), 8);
	if (!st)
		st = cq_pages(hca, cmd, c, IFC_ADDR(create_cq_in, cmd->in, pas), &mem);
	if (st)
		return st;
	cq = (struct cq *)obj_new(hca, OBJ_CQ, cmd->uid, sizeof(*cq));
	if (!cq) {
		qmem_free(&mem);
		return cmd_fail(cmd, ST_LIM, "no free CQ");
	}
	cq->hca = hca;
	cq->mem = mem;
	cq_take_ctx(cq, c);
	if (hca->base) {
		cq->timer = evtimer_new(hca->base, cq_timeout, cq);
		cq->lost = evtimer_new(hca->base, cq_fail_qps, cq);
	}
	uar->refs++;
	eq->refs++;
	IFC_SET(create_cq_out, cmd->out, cqn, cq->obj.num);
	return ST_OK;
}

static uint8_t modify_fields(struct hca *hca, struct cmd *cmd, struct cq *cq, const uint8_t *c,
			     uint32_t select)
{
	struct obj *eq = NULL, *old;
	uint8_t st;

	if (select & ~(uint32_t)(MODIFY_PERIOD | MODIFY_COUNT | MODIFY_OI | MODIFY_EQN))
		return cmd_fail(cmd, ST_BAD_PARAM, "modify_field_select 0x%x", select);
	if ((select & (MODIFY_PERIOD | MODIFY_COUNT)) && !hca_cap_gen(hca, cq_moderation))
		return cmd_fail(cmd, ST_BAD_PARAM, "moderation is not offered");
	if ((select & MODIFY_EQN) && !hca_cap_gen(hca, cq_eq_remap))
		return cmd_fail(cmd, ST_BAD_PARAM, "remapping is not offered");
	if (select & MODIFY_EQN) {
		st = check_obj(hca, cmd, OBJ_EQ, IFC_GET(cqc, c, c_eqn_or_apu_element), &eq);
		if (st)
			return st;
		old = obj_find(hca, OBJ_EQ, cq->eqn);
		if (old)
			old->refs--;
		eq->refs++;
		cq->eqn = eq->num;
		IFC_SET(cqc, cq->cqc, c_eqn_or_apu_element, cq->eqn);
	}
	if (select & MODIFY_PERIOD)
		cq->period_us = IFC_GET(cqc, c, cq_period);
	if (select & MODIFY_COUNT)
		cq->max_count = IFC_GET(cqc, c, cq_max_count);
	if (select & MODIFY_OI)
		cq->overrun_ok = IFC_GET(cqc, c, oi);
	/* What moderation held back under the old rules is told now. */
	if (cq->held && cq->armed && !cq_moderated(cq))
		cq_fire(cq);
	return ST_OK;
}

/*
 * A CQE of its own kind ends the old buffer; from the next index on CQEs go to the new one. The
 * driver copies what it had not polled.
 */
static uint8_t resize(struct hca *hca, struct cmd *cmd, struct cq *cq, const uint8_t *c,
		      uint32_t select)
{
	const struct completion last = { .opcode = CQE_OP_RESIZE };
	uint8_t cqe[CQE_BYTES] = {}, rec[4];
	struct queue_mem mem, old = cq->mem;
	uint32_t left;
	uint8_t st;

	if (!hca_cap_gen(hca, cq_resize))
		return cmd_fail(cmd, ST_BAD_PARAM, "resizing is not offered");
	if (!(select & RESIZE_SIZE) ||
	    (select & ~(uint32_t)(RESIZE_SIZE | RESIZE_PG_OFFSET | RESIZE_PG_SIZE)))
		return cmd_fail(cmd, ST_BAD_PARAM, "resize_field_select 0x%x", select);
	if (cq->status != CQ_STATUS_OK)
		return cmd_fail(cmd, ST_BAD_RES_STATE, "CQ 0x%x is in error", cq->obj.num);
	st = cq_check_ctx(hca, cmd, c);
	if (st)
		return st;
	if (mem_read(hca, cq->dbr_addr, rec, sizeof(rec)))
		return cmd_fail(cmd, ST_BAD_RES_STATE, "the doorbell record is gone");
	cq->ci = get_be32(rec) & CQ_INDEX_MASK;
	left = cq_ahead(cq->pi, cq->ci);
	/* One slot of the old queue is for the closing CQE, and one index of the new. */
	if (left + 1 > cq->cnt || left + 1 > 1u << IFC_GET(cqc, c, log_cq_size))
		return cmd_fail(cmd, ST_BAD_SIZE_OUTS_CQES, "%u CQEs are outstanding", left);
	st = cq_pages(hca, cmd, c, IFC_ADDR(modify_cq_in, cmd->in, pas), &mem);
	if (st)
		return st;
	cqe_build(hca, cqe, &last);
	if (!cqe_write(hca, cq, cqe, NULL, 0)) {
		qmem_free(&mem);
		return cmd_fail(cmd, ST_BAD_RES_STATE, "the queue's memory is gone");
	}
	cq->mem = mem;
	cq->cnt = 1u << IFC_GET(cqc, c, log_cq_size);
	cq->cqe_sz = 64u << IFC_GET(cqc, c, cqe_sz);
	IFC_SET(cqc, cq->cqc, log_cq_size, IFC_GET(cqc, c, log_cq_size));
	IFC_SET(cqc, cq->cqc, cqe_sz, IFC_GET(cqc, c, cqe_sz));
	IFC_SET(cqc, cq->cqc, log_page_size, IFC_GET(cqc, c, log_page_size));
	IFC_SET(cqc, cq->cqc, page_offset, IFC_GET(cqc, c, page_offset));
	qmem_free(&old);
	return ST_OK;
}

static uint8_t modify_cq(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(modify_cq_in, cmd->in, cq_context);
	uint32_t select = get_be32(IFC_ADDR(modify_cq_in, cmd->in,
					    modify_field_select_resize_field_select));
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_CQ, IFC_GET(modify_cq_in, cmd->in, cqn), &o);

	if (st)
		return st;
	switch (cmd->op_mod) {
	case OPMOD_MODIFY:
		return modify_fields(hca, cmd, (struct cq *)o, c, select);
	case OPMOD_RESIZE:
		return resize(hca, cmd, (struct cq *)o, c, select);
	default:
		return cmd_fail(cmd, ST_BAD_PARAM, "op_mod %u", cmd->op_mod);
	}
}

static uint8_t query_cq(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_cq_out, cmd->out, cq_context);
	uint8_t rec[4];
	struct cq *cq;
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_CQ, IFC_GET(query_cq_in, cmd->in, cqn), &o);

	if (st)
		return st;
	cq = (struct cq *)o;
	if (!mem_read(hca, cq->dbr_addr, rec, sizeof(rec)))
		cq->ci = get_be32(rec) & CQ_INDEX_MASK;
	memcpy(c, cq->cqc, CQC_BYTES);
	IFC_SET(cqc, c, status, cq->status);
	IFC_SET(cqc, c, st, !cq->armed ? CQ_ST_FIRED : cq->armed_sol ? CQ_ST_SOLICITED_ARMED :
		CQ_ST_ARMED);
	IFC_SET(cqc, c, oi, cq->overrun_ok);
	IFC_SET(cqc, c, cq_period, cq->period_us);
	IFC_SET(cqc, c, cq_max_count, cq->max_count);
	IFC_SET(cqc, c, producer_counter, cq->pi);
	IFC_SET(cqc, c, consumer_counter, cq->ci);
	IFC_SET(cqc, c, last_notified_index, cq->notified);
	IFC_SET(cqc, c, last_solicit_index, cq->sol_pi);
	return ST_OK;
}

static void cq_release(struct hca *hca, struct cq *cq)
{
	struct obj *uar = obj_find(hca, OBJ_UAR, cq->uar);
	struct obj *eq = obj_find(hca, OBJ_EQ, cq->eqn);

	obj_put(hca, uar);
	obj_put(hca, eq);
	if (cq->timer)
		event_free(cq->timer);
	if (cq->lost)
		event_free(cq->lost);
	qmem_free(&cq->mem);
	obj_free(hca, &cq->obj);
}

static uint8_t destroy_cq(struct hca *hca, struct cmd *cmd)
{
	struct obj *o;
	uint8_t st = check_destroy(hca, cmd, OBJ_CQ, IFC_GET(destroy_cq_in, cmd->in, cqn), &o);

	if (!st)
		cq_release(hca, (struct cq *)o);
	return st;
}

const struct cmd_desc cq_cmds[] = {
	{ MLX5_CMD_OP_CREATE_CQ, "CREATE_CQ", IFC_BYTE(create_cq_in, pas), IFC_SZ(create_cq_out),
	  create_cq },
	{ MLX5_CMD_OP_DESTROY_CQ, "DESTROY_CQ", IFC_SZ(destroy_cq_in), IFC_SZ(destroy_cq_out),
	  destroy_cq },
	{ MLX5_CMD_OP_QUERY_CQ, "QUERY_CQ", IFC_SZ(query_cq_in), IFC_BYTE(query_cq_out, pas),
	  query_cq },
	{ MLX5_CMD_OP_MODIFY_CQ, "MODIFY_CQ", IFC_BYTE(modify_cq_in, pas), IFC_SZ(modify_cq_out),
	  modify_cq },
	{}
};

static bool drop_one(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	cq_release(hca, (struct cq *)o);
	return true;
}

static void cq_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_CQ, drop_one, NULL);
}

const struct hca_module cq_module = { .name = "cq", .reset = cq_reset };
