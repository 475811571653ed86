// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of a program that uses DEVX, through the command queue: umems, queues in umems, and
 * general objects, under a user id. The tests set the fields that mlx5_ifc.h does not name at the
 * bytes where such programs set them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "corerig.h"
#include "cq.h"
#include "hca.h"
#include "ifc.h"
#include "mkey.h"
#include "object.h"
#include "qp.h"
#include "srq.h"
#include "trace.h"
#include "umem.h"

#define MEMORY		CORE_FREE
#define PAGES		8u
#define VALID		(1u << 31)	/* cq_umem_valid, wq_umem_valid, xrc_srq_umem_valid */
#define RECORD		0x6000u		/* offsets in the umem */
#define QUEUE		0x1000u

static uint8_t in[4096], out[4096];
static uint16_t uid;
static uint32_t uar, eqn, pd, xrcd, umem, cqn;

/* Begin a command of the user. */
static void begin(uint16_t opcode)
{
	memset(in, 0, sizeof(in));
	IFC_SET(alloc_pd_in, in, opcode, opcode);
	IFC_SET(alloc_pd_in, in, uid, uid);
}

static uint8_t run(size_t len)
{
	return core_cmd(in, len, out, 16);
}

/* Run a command that makes an object. Returns its number, at the same offset in all outputs. */
static uint32_t made(size_t len)
{
	uint8_t st = run(len);

	if (st)
		fail_msg("opcode 0x%x: status %u, syndrome 0x%x", get_be16(in), st,
			 get_be32(out + 4));
	return get_be32(out + 8) & 0xffffff;
}

static void refused(size_t len, uint8_t status, uint32_t why)
{
	assert_int_equal(run(len), status);
	assert_int_equal(get_be32(out + 4), why);
}

/* Run a DESTROY or DEALLOC command. The object's number is at the same offset in all of them. */
static uint8_t destroy(uint16_t opcode, uint32_t num)
{
	begin(opcode);
	put_be32(in + 8, num);
	return run(16);
}

static size_t build_umem(unsigned int pages)
{
	unsigned int i;

	begin(MLX5_CMD_OP_CREATE_UMEM);
	IFC_SET64(create_umem_in, in, umem.num_of_mtt, pages);
	for (i = 0; i < pages; i++)
		put_be64(IFC_ADDR(create_umem_in, in, umem.mtt) + 8 * i,
			 (MEMORY + 4096ull * i) | UMEM_ACCESS);
	return IFC_SZ(create_umem_in) + 8 * pages;
}

static size_t build_cq(void)
{
	uint8_t *c = IFC_ADDR(create_cq_in, in, cq_context);

	begin(MLX5_CMD_OP_CREATE_CQ);
	IFC_SET(cqc, c, log_cq_size, 6);
	IFC_SET(cqc, c, uar_page, uar);
	IFC_SET(cqc, c, c_eqn_or_apu_element, eqn);
	IFC_SET(cqc, c, dbr_umem_valid, 1);
	put_be32(c + 0x04, umem);
	IFC_SET64(cqc, c, dbr_addr, RECORD);
	put_be64(in + 0x50, QUEUE);
	put_be32(in + 0x58, umem);
	put_be32(in + 0x5c, VALID);
	return 0x110;
}

static size_t build_qp(void)
{
	uint8_t *c = IFC_ADDR(create_qp_in, in, qpc);

	begin(MLX5_CMD_OP_CREATE_QP);
	IFC_SET(qpc, c, pd, pd);
	IFC_SET(qpc, c, log_sq_size, 5);
	IFC_SET(qpc, c, log_rq_size, 7);
	IFC_SET(qpc, c, uar_page, uar);
	IFC_SET(qpc, c, cqn_snd, cqn);
	IFC_SET(qpc, c, cqn_rcv, cqn);
	IFC_SET(qpc, c, dbr_umem_valid, 1);
	put_be32(c + 0xe4, umem);
	IFC_SET64(qpc, c, dbr_addr, RECORD + 8);
	put_be64(in + 0x100, QUEUE + 0x1000);
	put_be32(in + 0x108, umem);
	put_be32(in + 0x10c, VALID);
	return 0x110;
}

static size_t build_xrc_srq(void)
{
	uint8_t *c = IFC_ADDR(create_xrc_srq_in, in, xrc_srq_context_entry);

	begin(MLX5_CMD_OP_CREATE_XRC_SRQ);
	IFC_SET(xrc_srqc, c, log_xrc_srq_size, 6);
	IFC_SET(xrc_srqc, c, log_rq_stride, 2);
	IFC_SET(xrc_srqc, c, pd, pd);
	IFC_SET(xrc_srqc, c, cqn, cqn);
	IFC_SET(xrc_srqc, c, xrcd, xrcd);
	IFC_SET(xrc_srqc, c, dbr_umem_valid, 1);
	put_be32(c + 0x0c, umem);
	IFC_SET(xrc_srqc, c, db_record_addr_l, (RECORD + 16) >> 2);
	put_be64(in + 0x50, QUEUE + 0x2000);
	put_be32(in + 0x58, umem);
	put_be32(in + 0x5c, VALID);
	return 0x110;
}

static size_t build_mkey(void)
{
	uint8_t *c = IFC_ADDR(create_mkey_in, in, memory_key_mkey_entry);

	begin(MLX5_CMD_OP_CREATE_MKEY);
	IFC_SET(create_mkey_in, in, mkey_umem_valid, 1);
	IFC_SET(mkc, c, access_mode_1_0, MKM_MTT);
	IFC_SET(mkc, c, lr, 1);
	IFC_SET(mkc, c, pd, pd);
	IFC_SET(mkc, c, qpn, MKEY_ANY_QP);
	IFC_SET64(mkc, c, start_addr, 0x7f0000000000);
	IFC_SET64(mkc, c, len, 0x2000);
	IFC_SET(mkc, c, log_page_size, 12);
	IFC_SET(mkc, c, translations_octword_size, 1);
	put_be32(in + 0x64, umem);
	put_be64(in + 0x68, 0x3000);
	return 0x110;
}

/* An EQ that all users may name, as mlx5_core creates them. */
static uint32_t shared_eq(void)
{
	uint8_t *c = IFC_ADDR(create_eq_in, in, eq_context_entry);

	begin(MLX5_CMD_OP_CREATE_EQ);
	IFC_SET(alloc_pd_in, in, uid, SHARED_UID);
	IFC_SET(eqc, c, log_eq_size, 6);
	IFC_SET(eqc, c, uar_page, core_alloc_uar());
	put_be64(in + IFC_SZ(create_eq_in), MEMORY + PAGES * 4096);
	return made(IFC_SZ(create_eq_in) + 8);
}

static int setup(void **state)
{
	if (core_up_init(state))
		return -1;
	uid = 0;
	begin(MLX5_CMD_OP_CREATE_UCTX);
	assert_int_equal(run(IFC_SZ(create_uctx_in)), ST_OK);
	uid = IFC_GET(create_uctx_out, out, uid);
	eqn = shared_eq();
	begin(MLX5_CMD_OP_ALLOC_UAR);
	uar = made(16);
	begin(MLX5_CMD_OP_ALLOC_PD);
	pd = made(16);
	begin(MLX5_CMD_OP_ALLOC_XRCD);
	xrcd = made(16);
	umem = made(build_umem(PAGES));
	cqn = made(build_cq());
	return 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void at(const struct queue_mem *m, uint64_t offset)
{
	assert_ptr_equal(qmem_ptr(core.hca, m, 0, 64, true), core.ram + MEMORY + offset);
}

static void queues_lie_where_the_program_says(void **state)
{
	const struct mkey_user user = { .pdn = pd, .qpn = 1 };
	const struct srq *srq;
	const struct qp *qp;
	uint8_t buf[8];
	uint32_t key;

	(void)state;
	at(&cq_find(core.hca, cqn)->mem, QUEUE);
	assert_int_equal(cq_find(core.hca, cqn)->dbr.addr, MEMORY + RECORD);
	qp = qp_find(core.hca, made(build_qp()));
	at(&qp->mem, QUEUE + 0x1000);
	assert_int_equal(qp->dbr.addr, MEMORY + RECORD + 8);
	srq = srq_find(core.hca, made(build_xrc_srq()));
	at(&srq->mem, QUEUE + 0x2000);
	assert_int_equal(srq->dbr.addr, MEMORY + RECORD + 16);
	key = made(build_mkey()) << 8;
	put_be64(core.ram + MEMORY + 0x4008, 0x5678);
	assert_int_equal(mkey_read(core.hca, &user, key, 0x7f0000001008, buf, 8, MK_LOCAL_READ),
			 MK_OK);
	assert_int_equal(get_be64(buf), 0x5678);
}

/* The user id can be destroyed only after the umem, the umem only after the objects over it. */
static void umems_end_before_the_id_and_after_the_queues(void **state)
{
	uint32_t qpn = made(build_qp()), key = made(build_mkey());
	uint16_t gone = uid;

	(void)state;
	assert_refused(destroy(MLX5_CMD_OP_DESTROY_UMEM, umem), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_QP, qpn), ST_OK);
	assert_refused(destroy(MLX5_CMD_OP_DESTROY_UMEM, umem), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_CQ, cqn), ST_OK);
	assert_refused(destroy(MLX5_CMD_OP_DESTROY_UMEM, umem), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_MKEY, key), ST_OK);
	assert_int_equal(destroy(MLX5_CMD_OP_DEALLOC_UAR, uar), ST_OK);
	assert_int_equal(destroy(MLX5_CMD_OP_DEALLOC_PD, pd), ST_OK);
	assert_int_equal(destroy(MLX5_CMD_OP_DEALLOC_XRCD, xrcd), ST_OK);
	assert_int_equal(obj_count_uid(core.hca, uid), 1);
	uid = 0;
	assert_refused(destroy(MLX5_CMD_OP_DESTROY_UCTX, gone), ST_BAD_RES_STATE,
		       WHY_UCTX_OWNS_OBJECTS);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_UMEM, umem), ST_OK);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_UCTX, gone), ST_OK);
	uid = gone;
	refused(build_umem(1), ST_BAD_RES, WHY_UID_UNKNOWN);
}

static void teardown_ends_all_umems(void **state)
{
	(void)state;
	made(build_qp());
	made(build_xrc_srq());
	made(build_mkey());
	assert_int_equal(core_simple(MLX5_CMD_OP_TEARDOWN_HCA, 0, out), ST_OK);
	assert_int_equal(obj_total(core.hca), 0);
	assert_int_equal(core.hca->xlt_bytes, 0);
}

static void what_is_beside_the_fields_is_reserved(void **state)
{
	static const struct {
		size_t (*build)(void);
		unsigned int byte;
	} bits[] = {
		{ build_cq, 0x5f }, { build_cq, 0x60 }, { build_cq, 0x18 },
		{ build_qp, 0x10f }, { build_qp, 0x18 + 0xe3 },
		{ build_xrc_srq, 0x5f }, { build_xrc_srq, 0x60 }, { build_xrc_srq, 0x24 },
		{ build_mkey, 0x5f }, { build_mkey, 0x70 },
	};
	unsigned int i;
	size_t len;

	(void)state;
	for (i = 0; i < sizeof(bits) / sizeof(*bits); i++) {
		len = bits[i].build();
		in[bits[i].byte] |= 1;
		if (run(len) != ST_BAD_PARAM || get_be32(out + 4) != WHY_RESERVED_BITS)
			fail_msg("opcode 0x%x, byte 0x%x: 0x%x", get_be16(in), bits[i].byte,
				 get_be32(out + 4));
	}
	len = build_umem(PAGES);
	IFC_SET(create_umem_in, in, umem.reserved_at_81, 1);
	refused(len, ST_BAD_PARAM, WHY_RESERVED_BITS);
	begin(MLX5_CMD_OP_DESTROY_UMEM);
	IFC_SET(destroy_umem_in, in, umem_id, umem);
	IFC_SET(destroy_umem_in, in, reserved_at_60, 1);
	refused(16, ST_BAD_PARAM, WHY_RESERVED_BITS);
}

static bool traced(const char *text)
{
	char *dump = trace_dump(core.hca->trace, 8);
	bool found = strstr(dump, text);

	free(dump);
	return found;
}

static bool use_traced(const char *range)
{
	char text[120];

	snprintf(text, sizeof(text), "\"type\":\"umem_use\",\"opcode\":\"0x400\",\"umem\":%u,%s",
		 umem, range);
	return traced(text);
}

static void trace_shows_umems_and_their_use(void **state)
{
	(void)state;
	trace_ring(core.hca->trace, true);
	umem = made(build_umem(2));
	assert_true(traced("\"op\":\"CREATE_UMEM\""));
	assert_true(traced("\"num_of_mtt\":\"0x2\""));
	assert_true(traced("\"wr_en\":1,\"rd_en\":1"));
	build_cq();
	put_be64(in + 0x50, 0x1000);
	IFC_SET64(create_cq_in, in, cq_context.dbr_addr, 0x40);
	made(0x110);
	assert_true(use_traced("\"offset\":\"0x1000\",\"bytes\":\"0x1000\"}"));
	assert_true(use_traced("\"offset\":\"0x40\",\"bytes\":\"0x8\"}"));
	begin(MLX5_CMD_OP_CREATE_GENERAL_OBJECT);
	IFC_SET(general_obj_in_cmd_hdr, in, obj_type, 0x13);
	assert_refused(run(512), ST_BAD_PARAM, WHY_GENERAL_TYPE);
	assert_true(traced("\"obj_type\":19"));
}

/* The capabilities have no bit of general_obj_types, so there is no object of any type. */
static void no_type_of_general_objects_is_offered(void **state)
{
	static const uint16_t ops[] = {
		MLX5_CMD_OP_CREATE_GENERAL_OBJECT, MLX5_CMD_OP_MODIFY_GENERAL_OBJECT,
		MLX5_CMD_OP_QUERY_GENERAL_OBJECT, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT,
	};
	static const uint16_t types[] = {
		0, 0x8, 0xb, 0xd, 0x18, 0x20, 0x47, 0x53, 0xff01, 0xffff
	};
	uint16_t user = uid;
	unsigned int i, k;

	(void)state;
	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		for (k = 0; k < 2 * sizeof(types) / sizeof(*types); k++) {
			uid = k & 1 ? user : 0;
			begin(ops[i]);
			IFC_SET(general_obj_in_cmd_hdr, in, obj_type, types[k / 2]);
			IFC_SET(general_obj_in_cmd_hdr, in, obj_id, 1);
			refused(16, ST_BAD_PARAM, WHY_GENERAL_TYPE);
		}
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, core_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(queues_lie_where_the_program_says),
		T(umems_end_before_the_id_and_after_the_queues),
		T(teardown_ends_all_umems), T(what_is_beside_the_fields_is_reserved),
		T(trace_shows_umems_and_their_use), T(no_type_of_general_objects_is_offered),
	};

	return cmocka_run_group_tests_name("devx", tests, NULL, NULL);
}
