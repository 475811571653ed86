// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: CREATE_CQ, MODIFY_CQ, QUERY_CQ and DESTROY_CQ.
 */
#include <event2/event.h>
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "cq.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "mem.h"
#include "object.h"
#include "queue_mem.h"
#include "util.h"

_Static_assert(IFC_SZ(cqc) == CQC_BYTES, "cqc size");
/* cq_memory() reads these fields at their offsets in CREATE_CQ, also from a MODIFY_CQ. */
_Static_assert(IFC_OFF(create_cq_in, pas) == IFC_OFF(modify_cq_in, pas) &&
	       IFC_OFF(create_cq_in, cq_umem_valid) == IFC_OFF(modify_cq_in, cq_umem_valid),
	       "memory of a CQ");

enum {
	MODIFY_PERIOD = 1, MODIFY_COUNT = 2, MODIFY_OI = 4, MODIFY_EQN = 8, MODIFY_PERIOD_MODE = 16,
	MODIFY_ALL = MODIFY_PERIOD | MODIFY_COUNT | MODIFY_OI | MODIFY_EQN | MODIFY_PERIOD_MODE,
};
enum { RESIZE_SIZE = 1, RESIZE_PG_OFFSET = 2, RESIZE_PG_SIZE = 4, RESIZE_UMEM = 8 };
#define RESIZE_ALL	((uint32_t)(RESIZE_SIZE | RESIZE_PG_OFFSET | RESIZE_PG_SIZE | RESIZE_UMEM))

static const struct ifc_field cqc_reserved[] = {
	IFC_FIELD(cqc, reserved_at_4), IFC_FIELD(cqc, reserved_at_c),
	IFC_FIELD(cqc, reserved_at_18),
	IFC_FIELD(cqc, reserved_at_40),
	IFC_FIELD(cqc, reserved_at_60), IFC_FIELD(cqc, reserved_at_80),
	IFC_FIELD(cqc, reserved_at_c0), IFC_FIELD(cqc, reserved_at_c8),
	IFC_FIELD(cqc, reserved_at_e0), IFC_FIELD(cqc, reserved_at_180),
	IFC_FIELD(cqc, apu_cq),
};

/* cqc.cqe_sz, as in linux/mlx5/cq.h. */
enum { CQE_STRIDE_64 = 0, CQE_STRIDE_128 = 1, CQE_STRIDE_128_PAD = 2 };

static unsigned int cq_cqe_bytes(const uint8_t *c)
{
	return IFC_GET(cqc, c, cqe_sz) == CQE_STRIDE_64 ? 64 : 128;
}

static bool cq_period_from_cqe(const uint8_t *c)
{
	return IFC_GET(cqc, c, cq_period_mode) == MLX5_CQ_PERIOD_MODE_START_FROM_CQE;
}

/* Whether a CQ can have the mode of the period that context c asks for. */
static bool cq_period_mode_ok(struct hca *hca, const uint8_t *c)
{
	switch (IFC_GET(cqc, c, cq_period_mode)) {
	case MLX5_CQ_PERIOD_MODE_START_FROM_EQE:
		return true;
	case MLX5_CQ_PERIOD_MODE_START_FROM_CQE:
		return hca_cap_gen(hca, cq_period_start_from_cqe);
	default:
		return false;
	}
}

static uint8_t cq_check_ctx(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	const char *rsvd = ifc_first_set(c, cqc_reserved, ARRAY_SIZE(cqc_reserved));

	if (rsvd)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CQ_RESERVED_FIELD, "cqc.%s is not zero",
				rsvd);
	if (IFC_GET(cqc, c, log_cq_size) > hca_cap_gen(hca, log_max_cq_sz))
		return cmd_fail(cmd, ST_LIM, WHY_CQ_SIZE, "2^%u CQEs are too many",
				IFC_GET(cqc, c, log_cq_size));
	if (IFC_GET(cqc, c, cqe_sz) > CQE_STRIDE_128_PAD ||
	    (IFC_GET(cqc, c, cqe_sz) == CQE_STRIDE_128_PAD && !hca_cap_gen(hca, cqe_128_always)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CQ_CQE_SIZE, "unknown cqe_sz %u",
				IFC_GET(cqc, c, cqe_sz));
	if (IFC_GET(cqc, c, cqe_comp_en) && !hca_cap_gen(hca, cqe_compression))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CQ_COMPRESSION_NOT_OFFERED,
				"CQE compression is not supported (cqe_compression)");
	if (!cq_period_mode_ok(hca, c))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CQ_PERIOD_MODE,
				"cq_period_mode %u is not supported",
				IFC_GET(cqc, c, cq_period_mode));
	if (IFC_GET(cqc, c, oi) && !hca_cap_gen(hca, cq_oi))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CQ_OVERRUN_IGNORE_NOT_OFFERED,
				"overrun ignore is not supported (cq_oi)");
	return ST_OK;
}

/* Take over the memory of a CQ, for CREATE_CQ and for resizing. */
static uint8_t cq_memory(struct hca *hca, struct cmd *cmd, const uint8_t *c, struct queue_mem *m)
{
	const struct qmem_source src = {
		.pas = IFC_ADDR(create_cq_in, cmd->in, pas),
		.log_page = IFC_GET(cqc, c, log_page_size) + 12,
		.page_offset = IFC_GET(cqc, c, page_offset),
		.in_umem = IFC_GET(create_cq_in, cmd->in, cq_umem_valid),
		.umem.id = ifc_get_bits(cmd->in, CMD_UMEM_ID, 32),
		.umem.offset = ifc_get_bits(cmd->in, CMD_UMEM_OFFSET, 64),
		.umem_64ths = true,
	};
	unsigned int cqe_sz = cq_cqe_bytes(c);

	if (qmem_offset(src.page_offset, src.log_page) % cqe_sz)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CQ_CQE_STRADDLES_PAGES,
				"a CQE would straddle pages");
	return qmem_init(hca, cmd, m, &src, (size_t)cqe_sz << IFC_GET(cqc, c, log_cq_size), cqe_sz,
			 UMEM_ACCESS);
}

static void cq_take_ctx(struct cq *cq, const uint8_t *c)
{
	memcpy(cq->cqc, c, CQC_BYTES);
	cq->uar = IFC_GET(cqc, c, uar_page);
	cq->eqn = IFC_GET(cqc, c, c_eqn_or_apu_element);
	cq->cnt = 1u << IFC_GET(cqc, c, log_cq_size);
	cq->cqe_sz = cq_cqe_bytes(c);
	cq->padded = IFC_GET(cqc, c, cqe_sz) == CQE_STRIDE_128_PAD;
	cq->overrun_ok = IFC_GET(cqc, c, oi);
	cq->collapsed = IFC_GET(cqc, c, cc);
	cq->sol_breaks_mod = IFC_GET(cqc, c, scqe_break_moderation_en);
	cq->period_us = IFC_GET(cqc, c, cq_period);
	cq->max_count = IFC_GET(cqc, c, cq_max_count);
	cq->from_cqe = cq_period_from_cqe(c);
	cq->status = CQ_STATUS_OK;
}

/* Find the EQ of a CQ. It cannot be an EQ that has subscribed to asynchronous events. */
static uint8_t cq_check_eq(struct hca *hca, struct cmd *cmd, const uint8_t *c, struct obj **eq)
{
	uint8_t st = check_shared(hca, cmd, OBJ_EQ, IFC_GET(cqc, c, c_eqn_or_apu_element), eq);
	const uint64_t *events;
	size_t i;

	if (st)
		return st;
	events = ((const struct eq *)*eq)->events;
	for (i = 0; i < ARRAY_SIZE(((struct eq *)NULL)->events); i++)
		if (events[i])
			return cmd_fail(cmd, ST_BAD_RES, WHY_CQ_EQ_KIND,
					"EQ %u is for asynchronous events only", (*eq)->num);
	return ST_OK;
}

static uint8_t create_cq(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(create_cq_in, cmd->in, cq_context);
	const struct dbr_source dbr_src = {
		.addr = IFC_GET64(cqc, c, dbr_addr),
		.in_umem = IFC_GET(cqc, c, dbr_umem_valid),
		.umem_id = ifc_get_bits(c, CQC_DBR_UMEM_ID, 32),
	};
	struct doorbell_record dbr = {};
	struct queue_mem mem = {};
	struct obj *uar, *eq;
	struct cq *cq;
	uint8_t st;

	st = cq_check_ctx(hca, cmd, c);
	if (!st)
		st = check_uar(hca, cmd, IFC_GET(cqc, c, uar_page), &uar);
	if (!st)
		st = cq_check_eq(hca, cmd, c, &eq);
	if (!st)
		st = dbr_init(hca, cmd, &dbr, &dbr_src, 8);
	if (!st)
		st = cq_memory(hca, cmd, c, &mem);
	cq = st ? NULL : (struct cq *)obj_new(hca, OBJ_CQ, cmd->uid, sizeof(*cq));
	if (!cq) {
		qmem_free(hca, &mem);
		dbr_free(hca, &dbr);
		return st ? st : cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE,
					  "all CQ numbers are in use");
	}
	cq->hca = hca;
	cq->mem = mem;
	cq->dbr = dbr;
	cq_take_ctx(cq, c);
	cq->timer = evtimer_new(hca->base, cq_timeout, cq);
	uar->refs++;
	eq->refs++;
	IFC_SET(create_cq_out, cmd->out, cqn, cq->obj.num);
	return ST_OK;
}

static uint8_t cq_modify_fields(struct hca *hca, struct cmd *cmd, struct cq *cq, const uint8_t *c,
				uint32_t select)
{
	struct obj *eq = NULL, *old;
	uint8_t st;

	if (select & ~(uint32_t)MODIFY_ALL)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CQ_FIELD_SELECT,
				"unknown bits in modify_field_select 0x%x", select);
	if ((select & (MODIFY_PERIOD | MODIFY_COUNT)) && !hca_cap_gen(hca, cq_moderation))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CQ_MODERATION_NOT_OFFERED,
				"moderation is not supported (cq_moderation)");
	if ((select & MODIFY_PERIOD_MODE) &&
	    !(hca_cap_gen(hca, cq_period_mode_modify) && cq_period_mode_ok(hca, c)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CQ_PERIOD_MODE,
				"changing the mode of the period to %u is not supported",
				IFC_GET(cqc, c, cq_period_mode));
	if ((select & MODIFY_EQN) && !hca_cap_gen(hca, cq_eq_remap))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CQ_REMAP_NOT_OFFERED,
				"moving a CQ to another EQ is not supported (cq_eq_remap)");
	if ((select & MODIFY_OI) && IFC_GET(cqc, c, oi) && !hca_cap_gen(hca, cq_oi))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CQ_OVERRUN_IGNORE_NOT_OFFERED,
				"overrun ignore is not supported (cq_oi)");
	if (select & MODIFY_EQN) {
		st = cq_check_eq(hca, cmd, c, &eq);
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
	if (select & MODIFY_PERIOD_MODE)
		cq->from_cqe = cq_period_from_cqe(c);
	if (select & MODIFY_OI)
		cq->overrun_ok = IFC_GET(cqc, c, oi);
	/* Raise the event that moderation delayed under the old settings. */
	if (cq->held && cq->armed && !cq_moderated(cq))
		cq_fire(cq);
	return ST_OK;
}

/*
 * The last CQE in the old buffer has the opcode CQE_RESIZE. Later CQEs go to the new buffer, to
 * which the driver copies the CQEs that it has not polled.
 */
static uint8_t cq_resize(struct hca *hca, struct cmd *cmd, struct cq *cq, const uint8_t *c,
			 uint32_t select)
{
	uint8_t rec[4];
	struct queue_mem mem, old = cq->mem;
	uint32_t left;
	uint8_t st;

	if (!hca_cap_gen(hca, cq_resize))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CQ_RESIZE_NOT_OFFERED,
				"resizing is not supported (cq_resize)");
	if (!(select & RESIZE_SIZE) || select & ~RESIZE_ALL)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CQ_FIELD_SELECT,
				"resize_field_select 0x%x is not supported", select);
	if (!(select & RESIZE_UMEM) != !IFC_GET(modify_cq_in, cmd->in, cq_umem_valid))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_FIELDS,
				"resize_field_select 0x%x, but cq_umem_valid is %u", select,
				IFC_GET(modify_cq_in, cmd->in, cq_umem_valid));
	if (cq->status != CQ_STATUS_OK)
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_CQ_IN_ERROR, "CQ 0x%x is in error",
				cq->obj.num);
	st = cq_check_ctx(hca, cmd, c);
	if (st)
		return st;
	if (mem_read(hca, cq->dbr.addr, rec, sizeof(rec)))
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_DBR_NOT_MAPPED,
				"the doorbell record is not mapped");
	cq->ci = get_be32(rec) & CQ_INDEX_MASK;
	left = cq_ahead(cq->pi, cq->ci);
	/* The CQE_RESIZE takes a slot of the old buffer. Later CQEs go on with the next index. */
	if (left + 1 > cq->cnt || left + 1 > 1u << IFC_GET(cqc, c, log_cq_size))
		return cmd_fail(cmd, ST_BAD_SIZE_OUTS_CQES, WHY_CQ_CQES_OUTSTANDING,
				"%u CQEs are outstanding", left);
	st = cq_memory(hca, cmd, c, &mem);
	if (st)
		return st;
	if (!cq_write_resize(hca, cq)) {
		qmem_free(hca, &mem);
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_QUEUE_NOT_MAPPED,
				"the memory of the queue is not mapped");
	}
	cq->mem = mem;
	cq->cnt = 1u << IFC_GET(cqc, c, log_cq_size);
	cq->cqe_sz = cq_cqe_bytes(c);
	cq->padded = IFC_GET(cqc, c, cqe_sz) == CQE_STRIDE_128_PAD;
	IFC_SET(cqc, cq->cqc, log_cq_size, IFC_GET(cqc, c, log_cq_size));
	IFC_SET(cqc, cq->cqc, cqe_sz, IFC_GET(cqc, c, cqe_sz));
	IFC_SET(cqc, cq->cqc, log_page_size, IFC_GET(cqc, c, log_page_size));
	IFC_SET(cqc, cq->cqc, page_offset, IFC_GET(cqc, c, page_offset));
	qmem_free(hca, &old);
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
	if (cmd->op_mod == MLX5_MODIFY_CQ_IN_OP_MOD_RESIZE_CQ)
		return cq_resize(hca, cmd, (struct cq *)o, c, select);
	return cq_modify_fields(hca, cmd, (struct cq *)o, c, select);
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
	if (!mem_read(hca, cq->dbr.addr, rec, sizeof(rec)))
		cq->ci = get_be32(rec) & CQ_INDEX_MASK;
	memcpy(c, cq->cqc, CQC_BYTES);
	IFC_SET(cqc, c, status, cq->status);
	IFC_SET(cqc, c, st, !cq->armed ? CQ_ST_FIRED : cq->armed_sol ? CQ_ST_SOLICITED_ARMED :
		CQ_ST_ARMED);
	IFC_SET(cqc, c, oi, cq->overrun_ok);
	IFC_SET(cqc, c, cq_period, cq->period_us);
	IFC_SET(cqc, c, cq_max_count, cq->max_count);
	IFC_SET(cqc, c, cq_period_mode, cq->from_cqe ? MLX5_CQ_PERIOD_MODE_START_FROM_CQE :
		MLX5_CQ_PERIOD_MODE_START_FROM_EQE);
	IFC_SET(cqc, c, producer_counter, cq->pi);
	IFC_SET(cqc, c, consumer_counter, cq->ci);
	IFC_SET(cqc, c, last_notified_index, cq->notified);
	IFC_SET(cqc, c, last_solicit_index, cq->sol_pi);
	return ST_OK;
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
	CMD_MIN(CREATE_CQ, create_cq, IFC_BYTE(create_cq_in, pas), IFC_SZ(create_cq_out),
		create_cq),
	CMD(DESTROY_CQ, destroy_cq, destroy_cq),
	CMD_MIN(QUERY_CQ, query_cq, IFC_SZ(query_cq_in), IFC_BYTE(query_cq_out, pas), query_cq),
	CMD_MIN(MODIFY_CQ, modify_cq, IFC_BYTE(modify_cq_in, pas), IFC_SZ(modify_cq_out), modify_cq,
		OP_MODS(MLX5_MODIFY_CQ_IN_OP_MOD_MODIFY_CQ, MLX5_MODIFY_CQ_IN_OP_MOD_RESIZE_CQ)),
	{}
};
