// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues: what their firmware forms have in common, taking receive WQEs from them,
 * and the commands of three forms (SRQ, RMP, XRC SRQ). xrq.c has those of the fourth.
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
#include "object.h"
#include "qp.h"
#include "queue_mem.h"
#include "srq.h"
#include "tm_list.h"

#define SRQ_CTX_BYTES	64
#define WQ_TYPE_LINKED	0
#define WQ_TYPE_CYCLIC	1
#define WQ_STATE_RDY	1	/* rmpc.state */
#define NEXT_SEG_BYTES	16	/* struct mlx5_wqe_srq_next_seg */
#define SRQ_UMEM_ALIGN	64	/* alignment of a queue in a umem, as in a list of 4 KiB pages */

_Static_assert(IFC_SZ(srqc) == SRQ_CTX_BYTES && IFC_SZ(xrc_srqc) == SRQ_CTX_BYTES, "srqc size");

/**
 * srq_find() - find a shared receive queue of any form
 * @hca: the HCA
 * @srqn: its number
 *
 * Return: the queue or NULL.
 */
struct srq *srq_find(struct hca *hca, uint32_t srqn)
{
	return (struct srq *)obj_find(hca, OBJ_SRQ, srqn);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void srq_event(struct hca *hca, struct srq *srq, enum async_event event)
{
	uint8_t data[28] = {};

	put_be32(data + 24, srq->obj.num);
	hca_trace(hca, "srq_event", "\"srqn\":%u,\"event\":%u", srq->obj.num, event);
	eq_post_async(hca, event, 0, data);
}

/**
 * srq_pop() - take the next receive WQE
 * @hca: the HCA
 * @srq: the queue
 * @index: of the WQE, for the CQE's wqe_counter
 * @wqe: the WQE, its next segment first
 * @max: room for it, bytes
 *
 * Raises the limit event when fewer WQEs are left than an armed limit.
 *
 * Return: bytes; -ENOENT if none is posted; -EFAULT if the queue is in error. The queue enters
 * error and raises an event if its memory is not mapped any more, if the doorbell record counts
 * more WQEs than the queue has, or if the WQE names a next WQE that does not exist.
 */
int srq_pop(struct hca *hca, struct srq *srq, uint16_t *index, void *wqe, size_t max)
{
	size_t len = 1u << srq->shift;
	uint16_t posted, following, idx = srq->head;
	uint8_t rec[4], next[NEXT_SEG_BYTES];

	if (srq->error)
		return -EFAULT;
	if (mem_read(hca, srq->dbr.addr, rec, sizeof(rec)))
		goto broken;
	posted = get_be32(rec);
	if (posted == srq->hw)
		return -ENOENT;
	if ((uint16_t)(posted - srq->hw) > srq->cnt)
		goto broken;
	if (len > max)
		len = max;
	if (qmem_read(hca, &srq->mem, (size_t)idx << srq->shift, next, sizeof(next)) ||
	    qmem_read(hca, &srq->mem, (size_t)idx << srq->shift, wqe, len))
		goto broken;
	following = srq->cyclic ? (idx + 1) & (srq->cnt - 1) : get_be16(next + 2);
	if (following >= srq->cnt)
		goto broken;
	*index = idx;
	srq->hw++;
	srq->head = following;
	if (srq->lwm && (uint16_t)(posted - srq->hw) < srq->lwm) {
		srq->lwm = 0;	/* one event for each arming */
		srq_event(hca, srq, EV_SRQ_RQ_LIMIT);
	}
	return len;
broken:
	srq->error = true;
	srq_event(hca, srq, EV_SRQ_CATAS_ERROR);
	return -EFAULT;
}

/* ---- commands -------------------------------------------------------------------------------- */

/**
 * srq_new() - make a shared receive queue
 * @hca: the HCA
 * @cmd: the command that asks for it
 * @p: the values of its context
 * @out: set to the queue, whose kind the caller sets
 *
 * Return: ST_OK, or the status of the refusal.
 */
uint8_t srq_new(struct hca *hca, struct cmd *cmd, const struct srq_params *p, struct srq **out)
{
	struct obj *pd, *cq = NULL, *xrcd = NULL;
	struct doorbell_record dbr = {};
	struct queue_mem mem = {};
	struct srq *srq;
	uint8_t st;

	if (p->log_cnt > hca_cap_gen(hca, log_max_srq_sz) || p->log_cnt > 15)
		return cmd_fail(cmd, ST_LIM, WHY_SRQ_SIZE, "2^%u WQEs are too many", p->log_cnt);
	if (p->shift < 5 || 1u << p->shift > hca_cap_gen(hca, max_wqe_sz_rq) + NEXT_SEG_BYTES)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SRQ_STRIDE,
				"a WQE stride of 2^%u is not supported", p->shift);
	if (p->wq_signature)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_SIGNATURE_NOT_OFFERED,
				"WQE signatures are not supported");
	st = check_obj(hca, cmd, OBJ_PD, p->pdn, &pd);
	if (!st && p->has_cq)
		st = check_obj(hca, cmd, OBJ_CQ, p->cqn, &cq);
	if (!st && p->has_xrcd)
		st = check_obj(hca, cmd, OBJ_XRCD, p->xrcdn, &xrcd);
	if (!st)
		st = dbr_init(hca, cmd, &dbr, &p->dbr, 4);
	if (!st)
		st = qmem_init(hca, cmd, &mem, &p->mem, (size_t)1 << (p->log_cnt + p->shift),
			       SRQ_UMEM_ALIGN, UMEM_READ);
	srq = st ? NULL : (struct srq *)obj_new(hca, OBJ_SRQ, cmd->uid, sizeof(*srq));
	if (!srq) {
		qmem_free(hca, &mem);
		dbr_free(hca, &dbr);
		return st ? st : cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE,
					  "all SRQ numbers are in use");
	}
	srq->mem = mem;
	srq->dbr = dbr;
	srq->cnt = 1u << p->log_cnt;
	srq->shift = p->shift;
	srq->pdn = p->pdn;
	srq->cqn = p->cqn;
	srq->xrcdn = p->xrcdn;
	pd->refs++;
	if (cq)
		cq->refs++;
	if (xrcd)
		xrcd->refs++;
	*out = srq;
	return ST_OK;
}

static uint8_t create_srq(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(create_srq_in, cmd->in, srq_context_entry);
	struct srq_params p = {
		.log_cnt = IFC_GET(srqc, c, log_srq_size),
		.shift = IFC_GET(srqc, c, log_rq_stride) + 4,
		.wq_signature = IFC_GET(srqc, c, wq_signature),
		.pdn = IFC_GET(srqc, c, pd),
		.dbr.addr = IFC_GET64(srqc, c, dbr_addr),
		.mem.pas = IFC_ADDR(create_srq_in, cmd->in, pas),
		.mem.log_page = IFC_GET(srqc, c, log_page_size) + 12,
		.mem.page_offset = IFC_GET(srqc, c, page_offset),
	};
	struct srq *srq;
	uint8_t st;

	st = srq_new(hca, cmd, &p, &srq);
	if (st)
		return st;
	srq->kind = SRQ_BASIC;
	srq->lwm = IFC_GET(srqc, c, lwm);
	memcpy(srq->ctx, c, SRQ_CTX_BYTES);
	IFC_SET(create_srq_out, cmd->out, srqn, srq->obj.num);
	return ST_OK;
}

static uint8_t create_xrc_srq(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(create_xrc_srq_in, cmd->in, xrc_srq_context_entry);
	struct srq_params p = {
		.log_cnt = IFC_GET(xrc_srqc, c, log_xrc_srq_size),
		.shift = IFC_GET(xrc_srqc, c, log_rq_stride) + 4,
		.wq_signature = IFC_GET(xrc_srqc, c, wq_signature),
		.pdn = IFC_GET(xrc_srqc, c, pd),
		.cqn = IFC_GET(xrc_srqc, c, cqn),
		.xrcdn = IFC_GET(xrc_srqc, c, xrcd),
		.has_cq = true,
		.has_xrcd = true,
		.dbr.addr = (uint64_t)IFC_GET(xrc_srqc, c, db_record_addr_h) << 32 |
			    (uint64_t)IFC_GET(xrc_srqc, c, db_record_addr_l) << 2,
		.dbr.in_umem = IFC_GET(xrc_srqc, c, dbr_umem_valid),
		.dbr.umem_id = ifc_get_bits(c, XRC_SRQC_DBR_UMEM_ID, 32),
		.mem.pas = IFC_ADDR(create_xrc_srq_in, cmd->in, pas),
		.mem.log_page = IFC_GET(xrc_srqc, c, log_page_size) + 12,
		.mem.page_offset = IFC_GET(xrc_srqc, c, page_offset),
		.mem.in_umem = IFC_GET(create_xrc_srq_in, cmd->in, xrc_srq_umem_valid),
		.mem.umem.id = ifc_get_bits(cmd->in, CMD_UMEM_ID, 32),
		.mem.umem.offset = ifc_get_bits(cmd->in, CMD_UMEM_OFFSET, 64),
	};
	struct srq *srq;
	uint8_t st;

	st = srq_new(hca, cmd, &p, &srq);
	if (st)
		return st;
	srq->kind = SRQ_XRC;
	srq->cyclic = IFC_GET(xrc_srqc, c, basic_cyclic_rcv_wqe);
	srq->user_index = IFC_GET(xrc_srqc, c, user_index);
	srq->cqe_version1 = hca_cap_gen(hca, cqe_version) && srq->user_index != USER_INDEX_NONE;
	srq->lwm = IFC_GET(xrc_srqc, c, lwm);
	memcpy(srq->ctx, c, SRQ_CTX_BYTES);
	IFC_SET(create_xrc_srq_out, cmd->out, xrc_srqn, srq->obj.num);
	return ST_OK;
}

/**
 * srq_params_wq() - read the work queue of an RMP or an XRQ
 * @cmd: the command that brings it
 * @wq: the work queue's context
 * @p: set to its values
 *
 * Return: ST_OK, or ST_BAD_PARAM for a type of work queue that these forms do not have.
 */
uint8_t srq_params_wq(struct cmd *cmd, const uint8_t *wq, struct srq_params *p)
{
	unsigned int type = IFC_GET(wq, wq, wq_type);

	*p = (struct srq_params){
		.log_cnt = IFC_GET(wq, wq, log_wq_sz),
		.shift = IFC_GET(wq, wq, log_wq_stride),
		.wq_signature = IFC_GET(wq, wq, wq_signature),
		.pdn = IFC_GET(wq, wq, pd),
		.dbr = dbr_source_wq(wq),
		.mem = qmem_source_wq(wq),
	};
	if (type != WQ_TYPE_LINKED && type != WQ_TYPE_CYCLIC)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SRQ_WQ_TYPE, "wq_type %u is not supported",
				type);
	return ST_OK;
}

static uint8_t create_rmp(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *wq = IFC_ADDR(create_rmp_in, cmd->in, ctx.wq);
	struct srq_params p;
	struct srq *srq;
	uint8_t st;

	if (IFC_GET(create_rmp_in, cmd->in, ctx.state) != WQ_STATE_RDY)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SRQ_STATE, "an RMP must be created in RDY");
	st = srq_params_wq(cmd, wq, &p);
	if (!st)
		st = srq_new(hca, cmd, &p, &srq);
	if (st)
		return st;
	srq->kind = SRQ_RMP;
	srq->cyclic = IFC_GET(wq, wq, wq_type) == WQ_TYPE_CYCLIC;
	srq->lwm = IFC_GET(wq, wq, lwm);
	memcpy(srq->ctx, wq, SRQ_CTX_BYTES);
	IFC_SET(create_rmp_out, cmd->out, rmpn, srq->obj.num);
	return ST_OK;
}

/**
 * srq_get() - find an SRQ of the kind that a command is for
 * @hca: the HCA
 * @cmd: the command
 * @num: number of the SRQ
 * @kind: what the command is for
 * @srq: set to the SRQ
 *
 * Return: ST_OK, or the status of the refusal.
 */
uint8_t srq_get(struct hca *hca, struct cmd *cmd, uint32_t num, enum srq_kind kind,
		struct srq **srq)
{
	static const char *const name[] = {
		[SRQ_BASIC] = "SRQ", [SRQ_RMP] = "RMP", [SRQ_XRC] = "XRC SRQ", [SRQ_XRQ] = "XRQ",
	};
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_SRQ, num, &o);

	if (st)
		return st;
	*srq = (struct srq *)o;
	if ((*srq)->kind != kind)
		return cmd_fail(cmd, ST_BAD_RES, WHY_SRQ_FORM,
				"0x%x is an %s, the command is for an %s", num, name[(*srq)->kind],
				name[kind]);
	return ST_OK;
}

static void srq_release(struct hca *hca, struct srq *srq)
{
	struct obj *pd = obj_find(hca, OBJ_PD, srq->pdn);
	struct obj *cq = obj_find(hca, OBJ_CQ, srq->cqn);
	struct obj *xrcd = obj_find(hca, OBJ_XRCD, srq->xrcdn);

	if (pd && pd->refs)
		pd->refs--;
	if (srq_has_cq(srq) && cq && cq->refs)
		cq->refs--;
	if (srq->kind == SRQ_XRC && xrcd && xrcd->refs)
		xrcd->refs--;
	tm_list_free(srq->tm);
	qmem_free(hca, &srq->mem);
	dbr_free(hca, &srq->dbr);
	obj_free(hca, &srq->obj);
}

/**
 * srq_destroy() - execute the command that destroys an SRQ
 * @hca: the HCA
 * @cmd: the command
 * @num: number of the SRQ
 * @kind: what the command is for
 *
 * Return: ST_OK; ST_BAD_RES_STATE while queue pairs use the SRQ, or the status of another refusal.
 */
uint8_t srq_destroy(struct hca *hca, struct cmd *cmd, uint32_t num, enum srq_kind kind)
{
	struct srq *srq;
	uint8_t st = srq_get(hca, cmd, num, kind, &srq);

	if (st)
		return st;
	if (srq->obj.refs)
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_OBJECT_IN_USE,
				"SRQ 0x%x is used by %u QPs", num, srq->obj.refs);
	if (kind == SRQ_XRC)
		hca->board->qp->srq_gone(hca, srq);
	srq_release(hca, srq);
	return ST_OK;
}

static uint8_t destroy_srq(struct hca *hca, struct cmd *cmd)
{
	return srq_destroy(hca, cmd, IFC_GET(destroy_srq_in, cmd->in, srqn), SRQ_BASIC);
}

static uint8_t destroy_xrc_srq(struct hca *hca, struct cmd *cmd)
{
	return srq_destroy(hca, cmd, IFC_GET(destroy_xrc_srq_in, cmd->in, xrc_srqn), SRQ_XRC);
}

static uint8_t destroy_rmp(struct hca *hca, struct cmd *cmd)
{
	return srq_destroy(hca, cmd, IFC_GET(destroy_rmp_in, cmd->in, rmpn), SRQ_RMP);
}

/* Count the WQEs that are posted and not consumed. */
static uint16_t srq_left(struct hca *hca, const struct srq *srq)
{
	uint8_t rec[4];

	return mem_read(hca, srq->dbr.addr, rec, sizeof(rec)) ? 0 : get_be32(rec) - srq->hw;
}

static uint8_t query_srq(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_srq_out, cmd->out, srq_context_entry);
	struct srq *srq;
	uint8_t st = srq_get(hca, cmd, IFC_GET(query_srq_in, cmd->in, srqn), SRQ_BASIC, &srq);

	if (st)
		return st;
	memcpy(c, srq->ctx, SRQ_CTX_BYTES);
	IFC_SET(srqc, c, state, srq->error);
	IFC_SET(srqc, c, lwm, srq->lwm);
	IFC_SET(srqc, c, wqe_cnt, srq_left(hca, srq));
	return ST_OK;
}

static uint8_t query_xrc_srq(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_xrc_srq_out, cmd->out, xrc_srq_context_entry);
	struct srq *srq;
	uint8_t st = srq_get(hca, cmd, IFC_GET(query_xrc_srq_in, cmd->in, xrc_srqn), SRQ_XRC, &srq);

	if (st)
		return st;
	memcpy(c, srq->ctx, SRQ_CTX_BYTES);
	IFC_SET(xrc_srqc, c, state, srq->error);
	IFC_SET(xrc_srqc, c, lwm, srq->lwm);
	IFC_SET(xrc_srqc, c, wqe_cnt, srq_left(hca, srq));
	return ST_OK;
}

static uint8_t query_rmp(struct hca *hca, struct cmd *cmd)
{
	uint8_t *wq = IFC_ADDR(query_rmp_out, cmd->out, rmp_context.wq);
	struct srq *srq;
	uint8_t st = srq_get(hca, cmd, IFC_GET(query_rmp_in, cmd->in, rmpn), SRQ_RMP, &srq);

	if (st)
		return st;
	IFC_SET(query_rmp_out, cmd->out, rmp_context.state, srq->error ? 3 : WQ_STATE_RDY);
	memcpy(wq, srq->ctx, SRQ_CTX_BYTES);
	IFC_SET(wq, wq, lwm, srq->lwm);
	IFC_SET(wq, wq, hw_counter, srq->hw);
	return ST_OK;
}

/**
 * srq_arm() - set the limit of an SRQ
 * @hca: the HCA
 * @cmd: the command that brings the limit
 * @srq: the SRQ
 * @lwm: the limit, 0 for none; the event is raised at once if fewer WQEs are left
 *
 * Return: ST_OK, or ST_BAD_PARAM for a limit above the size of the SRQ.
 */
uint8_t srq_arm(struct hca *hca, struct cmd *cmd, struct srq *srq, uint16_t lwm)
{
	if (lwm >= srq->cnt)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_SRQ_LIMIT,
				"limit %u, but the SRQ has %u WQEs", lwm, srq->cnt);
	srq->lwm = lwm;
	if (lwm && srq_left(hca, srq) < lwm) {
		srq->lwm = 0;
		srq_event(hca, srq, EV_SRQ_RQ_LIMIT);
	}
	return ST_OK;
}

static uint8_t arm_rq(struct hca *hca, struct cmd *cmd)
{
	struct srq *srq;
	uint8_t st = srq_get(hca, cmd, IFC_GET(arm_rq_in, cmd->in, srq_number), SRQ_BASIC, &srq);

	return st ? st : srq_arm(hca, cmd, srq, IFC_GET(arm_rq_in, cmd->in, lwm));
}

static uint8_t arm_xrc_srq(struct hca *hca, struct cmd *cmd)
{
	struct srq *srq;
	uint8_t st = srq_get(hca, cmd, IFC_GET(arm_xrc_srq_in, cmd->in, xrc_srqn), SRQ_XRC, &srq);

	return st ? st : srq_arm(hca, cmd, srq, IFC_GET(arm_xrc_srq_in, cmd->in, lwm));
}

static uint8_t modify_rmp(struct hca *hca, struct cmd *cmd)
{
	struct srq *srq;
	uint8_t st = srq_get(hca, cmd, IFC_GET(modify_rmp_in, cmd->in, rmpn), SRQ_RMP, &srq);

	if (st)
		return st;
	if (IFC_GET(modify_rmp_in, cmd->in, rmp_state) != WQ_STATE_RDY || srq->error)
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_SRQ_STATE, "RMP 0x%x is not in RDY",
				srq->obj.num);
	if (!IFC_GET(modify_rmp_in, cmd->in, bitmask.lwm))
		return ST_OK;
	return srq_arm(hca, cmd, srq, IFC_GET(modify_rmp_in, cmd->in, ctx.wq.lwm));
}

const struct cmd_desc srq_cmds[] = {
	CMD_MIN(CREATE_SRQ, create_srq, IFC_BYTE(create_srq_in, pas), IFC_SZ(create_srq_out),
		create_srq, .flags = CMD_LEGACY),
	CMD(DESTROY_SRQ, destroy_srq, destroy_srq, .flags = CMD_LEGACY),
	CMD_MIN(QUERY_SRQ, query_srq, IFC_SZ(query_srq_in), IFC_BYTE(query_srq_out, pas), query_srq,
		.flags = CMD_LEGACY),
	CMD(ARM_RQ, arm_rq, arm_rq, .flags = CMD_LEGACY,
	    OP_MODS(MLX5_ARM_RQ_IN_OP_MOD_SRQ, MLX5_ARM_RQ_IN_OP_MOD_SRQ)),
	CMD_MIN(CREATE_XRC_SRQ, create_xrc_srq, IFC_BYTE(create_xrc_srq_in, pas),
		IFC_SZ(create_xrc_srq_out), create_xrc_srq),
	CMD(DESTROY_XRC_SRQ, destroy_xrc_srq, destroy_xrc_srq),
	CMD_MIN(QUERY_XRC_SRQ, query_xrc_srq, IFC_SZ(query_xrc_srq_in),
		IFC_BYTE(query_xrc_srq_out, pas), query_xrc_srq),
	CMD(ARM_XRC_SRQ, arm_xrc_srq, arm_xrc_srq,
	    OP_MODS(MLX5_ARM_XRC_SRQ_IN_OP_MOD_XRC_SRQ, MLX5_ARM_XRC_SRQ_IN_OP_MOD_XRC_SRQ)),
	CMD_MIN(CREATE_RMP, create_rmp, IFC_BYTE(create_rmp_in, ctx.wq.pas), IFC_SZ(create_rmp_out),
		create_rmp),
	CMD(MODIFY_RMP, modify_rmp, modify_rmp),
	CMD(DESTROY_RMP, destroy_rmp, destroy_rmp),
	CMD(QUERY_RMP, query_rmp, query_rmp),
	{}
};

static bool srq_drop(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	srq_release(hca, (struct srq *)o);
	return true;
}

static void srq_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_SRQ, srq_drop, NULL);
}

const struct hca_module srq_module = { .name = "srq", .reset = srq_reset };
