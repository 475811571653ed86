// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues: the commands of their three forms, limits, and queues in ring order.
 */
#include <errno.h>
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "ifc.h"
#include "object.h"
#include "objrig.h"
#include "srq.h"
#include "trace.h"
#include "tracerig.h"

#define BUF	(RAM_BASE + 0x10000)
#define DBR	(RAM_BASE + 0x200)
#define LOG	2		/* 4 WQEs of 64 bytes */
#define RDY	1

static uint32_t pd, cqn, xrcdn;

static int setup(void **state)
{
	uint8_t in[IFC_SZ(alloc_xrcd_in)] = {}, out[IFC_SZ(alloc_xrcd_out)];

	rig_setup(state);
	pd = rig_pd();
	cqn = rig_cq(RAM_BASE + 0x4000, RAM_BASE + 0x100, 4, 64, rig_uar(0), rig_eq());
	assert_int_equal(rig_cmd(MLX5_CMD_OP_ALLOC_XRCD, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	xrcdn = IFC_GET(alloc_xrcd_out, out, xrcd);
	put_be32(ram(DBR), 0);
	return 0;
}

static uint8_t create_rmp(bool cyclic, bool sign, uint32_t *num)
{
	uint8_t in[IFC_BYTE(create_rmp_in, ctx.wq.pas) + 8] = {}, out[IFC_SZ(create_rmp_out)];
	uint8_t *wq = IFC_ADDR(create_rmp_in, in, ctx.wq), st;

	IFC_SET(create_rmp_in, in, ctx.state, RDY);
	IFC_SET(wq, wq, wq_type, cyclic);
	IFC_SET(wq, wq, pd, pd);
	IFC_SET(wq, wq, log_wq_sz, LOG);
	IFC_SET(wq, wq, log_wq_stride, 6);
	IFC_SET64(wq, wq, dbr_addr, DBR);
	IFC_SET(wq, wq, wq_signature, sign);
	put_be64(IFC_ADDR(create_rmp_in, in, ctx.wq.pas), BUF);
	st = rig_cmd(MLX5_CMD_OP_CREATE_RMP, 0, 0, in, sizeof(in), out, sizeof(out));
	*num = IFC_GET(create_rmp_out, out, rmpn);
	return st;
}

static struct srq *new_rmp(bool cyclic)
{
	uint32_t num;

	assert_int_equal(create_rmp(cyclic, false, &num), ST_OK);
	return srq_find(rig.hca, num);
}

static uint8_t create_xrc_srq(bool cyclic, bool sign, uint32_t *num)
{
	uint8_t in[IFC_BYTE(create_xrc_srq_in, pas) + 8] = {}, out[IFC_SZ(create_xrc_srq_out)];
	uint8_t *c = IFC_ADDR(create_xrc_srq_in, in, xrc_srq_context_entry), st;

	IFC_SET(xrc_srqc, c, log_xrc_srq_size, LOG);
	IFC_SET(xrc_srqc, c, log_rq_stride, 2);
	IFC_SET(xrc_srqc, c, basic_cyclic_rcv_wqe, cyclic);
	IFC_SET(xrc_srqc, c, pd, pd);
	IFC_SET(xrc_srqc, c, cqn, cqn);
	IFC_SET(xrc_srqc, c, xrcd, xrcdn);
	IFC_SET(xrc_srqc, c, db_record_addr_h, DBR >> 32);
	IFC_SET(xrc_srqc, c, db_record_addr_l, (uint32_t)DBR >> 2);
	IFC_SET(xrc_srqc, c, wq_signature, sign);
	put_be64(IFC_ADDR(create_xrc_srq_in, in, pas), BUF);
	st = rig_cmd(MLX5_CMD_OP_CREATE_XRC_SRQ, 0, 0, in, sizeof(in), out, sizeof(out));
	*num = IFC_GET(create_xrc_srq_out, out, xrc_srqn);
	return st;
}

static struct srq *new_xrc_srq(bool cyclic)
{
	uint32_t num;

	assert_int_equal(create_xrc_srq(cyclic, false, &num), ST_OK);
	return srq_find(rig.hca, num);
}

static uint8_t create_srq(bool sign, uint32_t *num)
{
	uint8_t in[IFC_BYTE(create_srq_in, pas) + 8] = {}, out[IFC_SZ(create_srq_out)], st;
	uint8_t *c = IFC_ADDR(create_srq_in, in, srq_context_entry);

	IFC_SET(srqc, c, log_srq_size, LOG);
	IFC_SET(srqc, c, log_rq_stride, 2);
	IFC_SET(srqc, c, pd, pd);
	IFC_SET64(srqc, c, dbr_addr, DBR);
	IFC_SET(srqc, c, wq_signature, sign);
	put_be64(IFC_ADDR(create_srq_in, in, pas), BUF);
	st = rig_cmd(MLX5_CMD_OP_CREATE_SRQ, 0, 0, in, sizeof(in), out, sizeof(out));
	*num = IFC_GET(create_srq_out, out, srqn);
	return st;
}

static uint8_t arm_rmp(const struct srq *srq, uint16_t limit)
{
	uint8_t in[IFC_SZ(modify_rmp_in)] = {}, out[IFC_SZ(modify_rmp_out)];

	IFC_SET(modify_rmp_in, in, rmp_state, RDY);
	IFC_SET(modify_rmp_in, in, rmpn, srq->obj.num);
	IFC_SET(modify_rmp_in, in, bitmask.lwm, 1);
	IFC_SET(modify_rmp_in, in, ctx.wq.lwm, limit);
	return rig_cmd(MLX5_CMD_OP_MODIFY_RMP, 0, 0, in, sizeof(in), out, sizeof(out));
}

/* Without the bit of the limit, MODIFY_RMP does not take it. */
static uint8_t modify_rmp_without_limit(const struct srq *srq, uint16_t limit)
{
	uint8_t in[IFC_SZ(modify_rmp_in)] = {}, out[IFC_SZ(modify_rmp_out)];

	IFC_SET(modify_rmp_in, in, rmp_state, RDY);
	IFC_SET(modify_rmp_in, in, rmpn, srq->obj.num);
	IFC_SET(modify_rmp_in, in, ctx.wq.lwm, limit);
	return rig_cmd(MLX5_CMD_OP_MODIFY_RMP, 0, 0, in, sizeof(in), out, sizeof(out));
}

static uint8_t arm_xrc_srq(const struct srq *srq, uint16_t limit)
{
	uint8_t in[IFC_SZ(arm_xrc_srq_in)] = {}, out[IFC_SZ(arm_xrc_srq_out)];

	IFC_SET(arm_xrc_srq_in, in, xrc_srqn, srq->obj.num);
	IFC_SET(arm_xrc_srq_in, in, lwm, limit);
	return rig_cmd(MLX5_CMD_OP_ARM_XRC_SRQ, MLX5_ARM_XRC_SRQ_IN_OP_MOD_XRC_SRQ, 0, in,
		       sizeof(in), out, sizeof(out));
}

/* DESTROY_SRQ, DESTROY_RMP or DESTROY_XRC_SRQ, which have the same layout. */
static uint8_t destroy(uint16_t op, const struct srq *srq)
{
	uint8_t in[IFC_SZ(destroy_rmp_in)] = {}, out[IFC_SZ(destroy_rmp_out)];

	IFC_SET(destroy_rmp_in, in, rmpn, srq->obj.num);
	return rig_cmd(op, 0, 0, in, sizeof(in), out, sizeof(out));
}

/* A queue in ring order consumes WQEs in the order of memory, and ignores their next_wqe_index. */
static void in_ring_order(struct srq *srq)
{
	uint8_t wqe[64];
	uint16_t idx;
	unsigned int i;

	for (i = 0; i < 4; i++)
		put_be16(ram(BUF + 64 * i + 2), 0xffff);
	for (i = 0; i < 10; i++) {
		put_be32(ram(DBR), i + 1);
		assert_int_equal(srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe)), 64);
		assert_int_equal(idx, i % 4);
	}
	assert_int_equal(rig.nev, 0);
}

static void rmp_can_be_in_ring_order(void **state)
{
	(void)state;
	in_ring_order(new_rmp(true));
}

static void xrc_srq_can_be_in_ring_order(void **state)
{
	(void)state;
	in_ring_order(new_xrc_srq(true));
}

/* If fewer WQEs are posted than the limit, the event is raised at once, and only once. */
static void limit_above_what_is_posted_raises_the_event(void **state)
{
	struct srq *srq = new_rmp(false);

	(void)state;
	put_be32(ram(DBR), 2);
	assert_int_equal(arm_rmp(srq, 2), ST_OK);
	assert_int_equal(rig.nev, 0);
	assert_int_equal(srq->lwm, 2);
	assert_int_equal(arm_rmp(srq, 3), ST_OK);
	assert_int_equal(rig.nev, 1);
	assert_int_equal(rig.ev[0].type, EV_SRQ_RQ_LIMIT);
	assert_int_equal(get_be32(rig.ev[0].data + 24), srq->obj.num);
	assert_int_equal(srq->lwm, 0);
}

/* A queue cannot hold more WQEs than its size, so the event of a greater limit is always due. */
static void limit_is_less_than_the_size(void **state)
{
	struct srq *rmp = new_rmp(false), *xrc = new_xrc_srq(false);

	(void)state;
	put_be32(ram(DBR), 4);
	assert_refused(arm_rmp(rmp, 4), ST_BAD_PARAM, WHY_SRQ_LIMIT);
	assert_refused(arm_xrc_srq(xrc, 4), ST_BAD_PARAM, WHY_SRQ_LIMIT);
	assert_int_equal(modify_rmp_without_limit(rmp, 3), ST_OK);
	assert_int_equal(rmp->lwm, 0);
	assert_int_equal(arm_rmp(rmp, 3), ST_OK);
	assert_int_equal(arm_xrc_srq(xrc, 3), ST_OK);
	assert_int_equal(rmp->lwm, 3);
	assert_int_equal(rig.nev, 0);
}

static void queue_in_error_is_not_armed(void **state)
{
	struct srq *srq = new_rmp(false);
	uint8_t wqe[64];
	uint16_t idx;

	(void)state;
	put_be32(ram(DBR), 5);
	assert_true(srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe)) < 0);
	assert_int_equal(rig.nev, 1);
	assert_refused(arm_rmp(srq, 3), ST_BAD_RES_STATE, WHY_SRQ_STATE);
	assert_int_equal(rig.nev, 1);
}

/* The HCA does not check signatures of WQEs, so it refuses a queue that asks for them. */
static void signatures_are_refused_in_each_form(void **state)
{
	uint32_t num;

	(void)state;
	assert_refused(create_rmp(false, true, &num), ST_BAD_PARAM, WHY_QP_SIGNATURE_NOT_OFFERED);
	assert_refused(create_xrc_srq(false, true, &num), ST_BAD_PARAM,
		       WHY_QP_SIGNATURE_NOT_OFFERED);
	assert_refused(create_srq(true, &num), ST_BAD_PARAM, WHY_QP_SIGNATURE_NOT_OFFERED);
	assert_int_equal(create_srq(false, &num), ST_OK);
}

/* The command of create_xrc_srq(), with one field changed. */
static uint8_t xrc_srq_with(struct ifc_field f, uint64_t val, uint64_t buf, uint32_t *num)
{
	uint8_t in[IFC_BYTE(create_xrc_srq_in, pas) + 8] = {}, out[IFC_SZ(create_xrc_srq_out)];
	uint8_t *c = IFC_ADDR(create_xrc_srq_in, in, xrc_srq_context_entry), st;

	IFC_SET(xrc_srqc, c, log_xrc_srq_size, LOG);
	IFC_SET(xrc_srqc, c, log_rq_stride, 2);
	IFC_SET(xrc_srqc, c, pd, pd);
	IFC_SET(xrc_srqc, c, cqn, cqn);
	IFC_SET(xrc_srqc, c, xrcd, xrcdn);
	IFC_SET(xrc_srqc, c, db_record_addr_h, DBR >> 32);
	IFC_SET(xrc_srqc, c, db_record_addr_l, (uint32_t)DBR >> 2);
	put_be64(IFC_ADDR(create_xrc_srq_in, in, pas), buf);
	ifc_set_bits(c, f.off, f.width, val);
	st = rig_cmd(MLX5_CMD_OP_CREATE_XRC_SRQ, 0, 0, in, sizeof(in), out, sizeof(out));
	*num = IFC_GET(create_xrc_srq_out, out, xrc_srqn);
	return st;
}

#define SRQC(fld)	((struct ifc_field)IFC_FIELD(xrc_srqc, fld))

/* A CREATE_XRC_SRQ that is refused takes no reference to the objects that it names. */
static void invalid_contexts_are_refused(void **state)
{
	struct obj *used[] = {
		obj_find(rig.hca, OBJ_PD, pd), obj_find(rig.hca, OBJ_CQ, cqn),
		obj_find(rig.hca, OBJ_XRCD, xrcdn),
	};
	const struct {
		struct ifc_field field;
		uint64_t val;
		uint8_t status;
		uint32_t why;
	} bad[] = {
		{ SRQC(log_xrc_srq_size), 5, ST_LIM, WHY_SRQ_SIZE },
		{ SRQC(log_rq_stride), 0, ST_BAD_PARAM, WHY_SRQ_STRIDE },
		{ SRQC(log_rq_stride), 5, ST_BAD_PARAM, WHY_SRQ_STRIDE },
		{ SRQC(pd), pd + 1, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ SRQC(cqn), cqn + 1, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ SRQC(xrcd), xrcdn + 1, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ SRQC(db_record_addr_h), 0xffff, ST_BAD_PARAM, WHY_DBR_NOT_MAPPED },
	};
	unsigned int i, refs[3];
	uint32_t num;

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], log_max_srq_sz, 4);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], max_wqe_sz_rq, 256);
	for (i = 0; i < 3; i++)
		refs[i] = used[i]->refs;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		uint8_t st = xrc_srq_with(bad[i].field, bad[i].val, BUF, &num);

		if (st != bad[i].status || rig.syndrome != bad[i].why)
			fail_msg("context %u: status %u, syndrome %u", i, st, rig.syndrome);
	}
	assert_refused(xrc_srq_with(SRQC(pd), pd, 0x1000, &num), ST_BAD_PARAM,
		       WHY_QUEUE_PAGE_ADDRESS);
	for (i = 0; i < 3; i++)
		assert_int_equal(used[i]->refs, refs[i]);
	/* The bounds: 16 WQEs; then a stride of 256 bytes, and one of 32. */
	assert_int_equal(xrc_srq_with(SRQC(log_xrc_srq_size), 4, BUF, &num), ST_OK);
	for (i = 0; i < 3; i++)
		assert_int_equal(used[i]->refs, refs[i] + 1);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_XRC_SRQ, srq_find(rig.hca, num)), ST_OK);
	assert_int_equal(xrc_srq_with(SRQC(log_rq_stride), 4, BUF, &num), ST_OK);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_XRC_SRQ, srq_find(rig.hca, num)), ST_OK);
	assert_int_equal(xrc_srq_with(SRQC(log_rq_stride), 1, BUF, &num), ST_OK);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_XRC_SRQ, srq_find(rig.hca, num)), ST_OK);
	for (i = 0; i < 3; i++)
		assert_int_equal(used[i]->refs, refs[i]);
}

static void rmp_is_made_ready_and_of_a_known_type(void **state)
{
	uint8_t in[IFC_BYTE(create_rmp_in, ctx.wq.pas) + 8] = {}, out[IFC_SZ(create_rmp_out)];
	uint8_t *wq = IFC_ADDR(create_rmp_in, in, ctx.wq);
	unsigned int type, st;

	(void)state;
	IFC_SET(wq, wq, pd, pd);
	IFC_SET(wq, wq, log_wq_sz, LOG);
	IFC_SET(wq, wq, log_wq_stride, 6);
	IFC_SET64(wq, wq, dbr_addr, DBR);
	put_be64(IFC_ADDR(create_rmp_in, in, ctx.wq.pas), BUF);
	for (st = 0; st < 4; st++)
		for (type = 0; type < 4; type++) {
			IFC_SET(create_rmp_in, in, ctx.state, st);
			IFC_SET(wq, wq, wq_type, type);
			assert_int_equal(rig_cmd(MLX5_CMD_OP_CREATE_RMP, 0, 0, in, sizeof(in), out,
						 sizeof(out)),
					 st == RDY && type < 2 ? ST_OK : ST_BAD_PARAM);
			if (st != RDY || type >= 2)
				assert_int_equal(rig.syndrome, st == RDY ? WHY_SRQ_WQ_TYPE :
						 WHY_SRQ_STATE);
		}
}

/* QUERY_RMP and QUERY_XRC_SRQ after two of four WQEs were taken, and after an error. */
static void queries_show_the_state(void **state)
{
	uint8_t in[16] = {}, out[IFC_SZ(query_rmp_out)], xout[IFC_BYTE(query_xrc_srq_out, pas)];
	struct srq *rmp = new_rmp(true), *xrc = new_xrc_srq(true);
	const uint8_t *wq = IFC_ADDR(query_rmp_out, out, rmp_context.wq);
	const uint8_t *c = IFC_ADDR(query_xrc_srq_out, xout, xrc_srq_context_entry);
	uint8_t wqe[64];
	uint16_t idx;

	(void)state;
	put_be32(ram(DBR), 3);
	srq_pop(rig.hca, rmp, &idx, wqe, sizeof(wqe));
	srq_pop(rig.hca, xrc, &idx, wqe, sizeof(wqe));
	assert_int_equal(arm_rmp(rmp, 2), ST_OK);
	assert_int_equal(arm_xrc_srq(xrc, 1), ST_OK);
	IFC_SET(query_rmp_in, in, rmpn, rmp->obj.num);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_RMP, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	assert_int_equal(IFC_GET(query_rmp_out, out, rmp_context.state), RDY);
	assert_int_equal(IFC_GET(wq, wq, lwm), 2);
	assert_int_equal(IFC_GET(wq, wq, hw_counter), 1);
	assert_int_equal(IFC_GET(wq, wq, log_wq_sz), LOG);
	IFC_SET(query_xrc_srq_in, in, xrc_srqn, xrc->obj.num);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_XRC_SRQ, 0, 0, in, sizeof(in), xout,
				 sizeof(xout)), ST_OK);
	assert_int_equal(IFC_GET(xrc_srqc, c, state), 0);
	assert_int_equal(IFC_GET(xrc_srqc, c, lwm), 1);
	assert_int_equal(IFC_GET(xrc_srqc, c, wqe_cnt), 2);
	assert_int_equal(IFC_GET(xrc_srqc, c, log_xrc_srq_size), LOG);
	assert_int_equal(IFC_GET(xrc_srqc, c, pd), pd);
	assert_int_equal(IFC_GET(xrc_srqc, c, cqn), cqn);
	assert_int_equal(IFC_GET(xrc_srqc, c, xrcd), xrcdn);
	put_be32(ram(DBR), 99);
	srq_pop(rig.hca, rmp, &idx, wqe, sizeof(wqe));
	srq_pop(rig.hca, xrc, &idx, wqe, sizeof(wqe));
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_XRC_SRQ, 0, 0, in, sizeof(in), xout,
				 sizeof(xout)), ST_OK);
	assert_int_equal(IFC_GET(xrc_srqc, c, state), 1);
	IFC_SET(query_rmp_in, in, rmpn, rmp->obj.num);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_RMP, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	assert_int_equal(IFC_GET(query_rmp_out, out, rmp_context.state), 3);
}

/* A WQE that is longer than the room for it is cut. All WQEs may be posted at once. */
static void wqe_is_taken_as_far_as_there_is_room(void **state)
{
	struct srq *srq = new_rmp(true);
	uint8_t wqe[64];
	uint16_t idx;
	unsigned int i;

	(void)state;
	for (i = 0; i < 64; i++)
		ram(BUF)[i] = i;
	put_be32(ram(DBR), 4);
	memset(wqe, 0xee, sizeof(wqe));
	assert_int_equal(srq_pop(rig.hca, srq, &idx, wqe, 32), 32);
	for (i = 0; i < 64; i++)
		assert_int_equal(wqe[i], i < 32 ? i : 0xee);
	for (i = 1; i < 4; i++)
		assert_int_equal(srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe)), 64);
	assert_int_equal(srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe)), -ENOENT);
	assert_false(srq->error);
}

/* DESTROY_RMP would not notify the queue pairs that have taken a WQE from an XRC SRQ. */
static void commands_of_another_form_are_refused(void **state)
{
	struct srq *rmp = new_rmp(false), *xrc = new_xrc_srq(false);

	(void)state;
	assert_refused(destroy(MLX5_CMD_OP_DESTROY_RMP, xrc), ST_BAD_RES, WHY_SRQ_FORM);
	assert_refused(destroy(MLX5_CMD_OP_DESTROY_SRQ, xrc), ST_BAD_RES, WHY_SRQ_FORM);
	assert_refused(destroy(MLX5_CMD_OP_DESTROY_XRC_SRQ, rmp), ST_BAD_RES, WHY_SRQ_FORM);
	assert_refused(arm_rmp(xrc, 1), ST_BAD_RES, WHY_SRQ_FORM);
	assert_refused(arm_xrc_srq(rmp, 1), ST_BAD_RES, WHY_SRQ_FORM);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_RMP, rmp), ST_OK);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_XRC_SRQ, xrc), ST_OK);
}

static void queue_of_a_qp_is_not_destroyed(void **state)
{
	struct srq *srq = new_rmp(false);

	(void)state;
	srq->obj.refs = 1;
	assert_refused(destroy(MLX5_CMD_OP_DESTROY_RMP, srq), ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
	srq->obj.refs = 0;
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_RMP, srq), ST_OK);
}

/* The domains and the CQ that a queue names are not freed before the queue. */
static void queue_holds_what_it_names(void **state)
{
	const struct obj *domain = obj_find(rig.hca, OBJ_PD, pd);
	const struct obj *cq = obj_find(rig.hca, OBJ_CQ, cqn);
	const struct obj *xrcd = obj_find(rig.hca, OBJ_XRCD, xrcdn);
	struct srq *rmp = new_rmp(false), *xrc = new_xrc_srq(false);
	uint32_t num;

	(void)state;
	assert_int_equal(create_srq(false, &num), ST_OK);
	assert_int_equal(domain->refs, 3);
	assert_int_equal(cq->refs, 1);
	assert_int_equal(xrcd->refs, 1);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_RMP, rmp), ST_OK);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_SRQ, srq_find(rig.hca, num)), ST_OK);
	assert_int_equal(domain->refs, 1);
	assert_int_equal(cq->refs, 1);
	assert_int_equal(xrcd->refs, 1);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_XRC_SRQ, xrc), ST_OK);
	assert_int_equal(domain->refs, 0);
	assert_int_equal(cq->refs, 0);
	assert_int_equal(xrcd->refs, 0);
}

/* Queue pairs that have taken a WQE from an XRC SRQ hold no reference on it. */
static void transport_is_told_that_an_xrc_srq_ends(void **state)
{
	struct srq *xrc = new_xrc_srq(false);
	uint32_t num = xrc->obj.num;

	(void)state;
	xrc->obj.refs = 1;
	assert_refused(destroy(MLX5_CMD_OP_DESTROY_XRC_SRQ, xrc), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	assert_int_equal(rig.srq_gone, 0);
	xrc->obj.refs = 0;
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_XRC_SRQ, xrc), ST_OK);
	assert_int_equal(rig.srq_gone, num);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, rig_teardown)

/* The commands of a driver that knows neither RMPs nor XRC SRQs. */
static void basic_queue_is_armed_and_queried(void **state)
{
	uint8_t query[IFC_SZ(query_srq_in)] = {}, out[IFC_BYTE(query_srq_out, pas)];
	const uint8_t *c = IFC_ADDR(query_srq_out, (const uint8_t *)out, srq_context_entry);
	uint8_t arm[IFC_SZ(arm_rq_in)] = {}, wqe[64];
	struct srq *srq;
	uint32_t num;
	uint16_t idx;

	(void)state;
	assert_int_equal(create_srq(false, &num), ST_OK);
	srq = srq_find(rig.hca, num);
	put_be32(ram(DBR), 3);
	assert_int_equal(srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe)), sizeof(wqe));
	IFC_SET(query_srq_in, query, srqn, num);
	IFC_SET(arm_rq_in, arm, srq_number, num);
	IFC_SET(arm_rq_in, arm, lwm, 2);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_ARM_RQ, MLX5_ARM_RQ_IN_OP_MOD_SRQ, 0, arm, sizeof(arm),
				 out, IFC_SZ(arm_rq_out)), ST_OK);
	assert_int_equal(rig.nev, 0);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_SRQ, 0, 0, query, sizeof(query), out,
				 sizeof(out)), ST_OK);
	assert_int_equal(IFC_GET(srqc, c, state), 0);
	assert_int_equal(IFC_GET(srqc, c, lwm), 2);
	assert_int_equal(IFC_GET(srqc, c, wqe_cnt), 2);
	assert_int_equal(IFC_GET(srqc, c, log_srq_size), LOG);
	assert_int_equal(IFC_GET(srqc, c, pd), pd);
	put_be32(ram(DBR), 99);
	srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe));
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_SRQ, 0, 0, query, sizeof(query), out,
				 sizeof(out)), ST_OK);
	assert_int_equal(IFC_GET(srqc, c, state), 1);
}

static void trace_tells_of_events(void **state)
{
	struct srq *srq = new_rmp(false);

	(void)state;
	trace_ring(rig.hca->trace, true);
	assert_int_equal(arm_rmp(srq, 3), ST_OK);
	expect_traced(rig.hca->trace, "srq_event", "\"srqn\":%u,\"event\":%u", srq->obj.num,
		      EV_SRQ_RQ_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(rmp_can_be_in_ring_order), T(xrc_srq_can_be_in_ring_order),
		T(limit_above_what_is_posted_raises_the_event), T(limit_is_less_than_the_size),
		T(queue_in_error_is_not_armed), T(commands_of_another_form_are_refused),
		T(queue_of_a_qp_is_not_destroyed), T(queue_holds_what_it_names),
		T(transport_is_told_that_an_xrc_srq_ends),
		T(signatures_are_refused_in_each_form),
		T(invalid_contexts_are_refused), T(rmp_is_made_ready_and_of_a_known_type),
		T(queries_show_the_state), T(wqe_is_taken_as_far_as_there_is_room),
		T(trace_tells_of_events), T(basic_queue_is_armed_and_queried),
	};

	return cmocka_run_group_tests_name("srq", tests, NULL, NULL);
}
