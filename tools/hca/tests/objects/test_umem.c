// SPDX-License-Identifier: GPL-2.0
/*
 * Umems: which CREATE_UMEM commands the HCA refuses; queues, doorbell records and memory keys over
 * umems: which addresses they have, which umems their commands must not name, and that no umem is
 * destroyed while they use it. Also the keys and queue pairs that a user must not create.
 */
#include <errno.h>
#include <string.h>

#include "cq.h"
#include "cmd.h"
#include "ifc.h"
#include "mem.h"
#include "mkey.h"
#include "object.h"
#include "objrig.h"
#include "profile.h"
#include "qp.h"
#include "sq.h"
#include "srq.h"
#include "umem.h"

#define UID		7
#define OTHER_UID	8
#define LOG_PAGE	13	/* of a queue's umem; keys and the host have other page sizes */
#define PAGE		(1ull << LOG_PAGE)
#define PAGES		4u
#define PAGE_OFFSET	0x1040u		/* of the umem in its first page */
#define OFFSET		0x2040ull	/* of a queue, from the second page to the third */
#define BYTES		(PAGES * PAGE - PAGE_OFFSET)
#define DBR_OFFSET	0x28ull
#define QUEUE_LEN	4096u		/* bytes of a queue, of any kind */
#define NO_UMEM		0x7fff		/* no umem has this number */
#define OUTSIDE		(RAM_BASE - 0x10000000)	/* only read_only_memory() maps memory here */

static uint32_t pd, uar, eqn, cqn, xrcdn;
static uint32_t mem_umem, dbr_umem;

/* ---- umems ----------------------------------------------------------------------------------- */

struct umem_params {
	uint16_t uid;
	unsigned int log_page;
	uint32_t page_offset;
	bool ats;
	uint64_t nmtt;			/* num_of_mtt of the command */
	unsigned int given;		/* MTTs in the command */
	uint64_t mtt[PAGES];
};

/* The address of page @i of a umem. The pages are not in the order of their addresses. */
static uint64_t page_at(unsigned int i)
{
	static const unsigned int place[PAGES] = { 5, 1, 8, 2 };

	return RAM_BASE + 0x100000 + place[i] * PAGE;
}

static struct umem_params good_umem(void)
{
	struct umem_params p = {
		.uid = UID, .log_page = LOG_PAGE, .page_offset = PAGE_OFFSET, .nmtt = PAGES,
		.given = PAGES,
	};
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		p.mtt[i] = page_at(i) | UMEM_ACCESS;
	return p;
}

static uint8_t umem_create(const struct umem_params *p, uint32_t *id)
{
	uint8_t in[IFC_SZ(create_umem_in) + 8 * PAGES] = {}, out[IFC_SZ(create_umem_out)];
	unsigned int i;
	uint8_t st;

	IFC_SET(create_umem_in, in, umem.ats, p->ats);
	IFC_SET(create_umem_in, in, umem.log_page_size, p->log_page - 12);
	IFC_SET(create_umem_in, in, umem.page_offset, p->page_offset);
	IFC_SET64(create_umem_in, in, umem.num_of_mtt, p->nmtt);
	for (i = 0; i < p->given; i++)
		put_be64(IFC_ADDR(create_umem_in, in, umem.mtt) + 8 * i, p->mtt[i]);
	st = rig_cmd(MLX5_CMD_OP_CREATE_UMEM, 0, p->uid, in, IFC_SZ(create_umem_in) + 8 * p->given,
		     out, sizeof(out));
	*id = IFC_GET(create_umem_out, out, umem_id);
	return st;
}

static uint32_t umem_new(const struct umem_params *p)
{
	uint32_t id;

	if (umem_create(p, &id) != ST_OK)
		fail_msg("%s", rig.why);
	return id;
}

static uint8_t umem_destroy(uint32_t id, uint16_t uid)
{
	uint8_t in[IFC_SZ(destroy_umem_in)] = {}, out[IFC_SZ(destroy_umem_out)];

	IFC_SET(destroy_umem_in, in, umem_id, id);
	return rig_cmd(MLX5_CMD_OP_DESTROY_UMEM, 0, uid, in, sizeof(in), out, sizeof(out));
}

/* Guest address of a byte of the umem of good_umem(). */
static uint64_t address(uint64_t offset)
{
	return page_at((PAGE_OFFSET + offset) / PAGE) + (PAGE_OFFSET + offset) % PAGE;
}

/* Map a page that the HCA may only read. */
static uint64_t read_only_memory(void)
{
	assert_int_equal(mem_map_fd(rig.hca, OUTSIDE, PAGE, rig.fd, 0, true, false), 0);
	return OUTSIDE;
}

/* ---- queues ---------------------------------------------------------------------------------- */

enum kind { CQ, QP, RMP, XRC_SRQ, SQ, KINDS };

struct place {
	bool valid;
	uint32_t id;
	uint64_t offset;
};

struct queue {
	enum kind kind;
	uint16_t uid;
	struct place mem, dbr;
};

static struct queue good_queue(enum kind kind)
{
	return (struct queue){
		.kind = kind, .uid = UID, .mem = { true, mem_umem, OFFSET },
		.dbr = { true, dbr_umem, DBR_OFFSET },
	};
}

static void build_cq(const struct queue *q, uint8_t *in)
{
	uint8_t *c = IFC_ADDR(create_cq_in, in, cq_context);

	IFC_SET(cqc, c, log_cq_size, 6);
	IFC_SET(cqc, c, uar_page, uar);
	IFC_SET(cqc, c, c_eqn_or_apu_element, eqn);
	IFC_SET(create_cq_in, in, cq_umem_valid, q->mem.valid);
	ifc_set_bits(in, CMD_UMEM_ID, 32, q->mem.id);
	ifc_set_bits(in, CMD_UMEM_OFFSET, 64, q->mem.offset);
	IFC_SET(cqc, c, dbr_umem_valid, q->dbr.valid);
	ifc_set_bits(c, CQC_DBR_UMEM_ID, 32, q->dbr.id);
	IFC_SET64(cqc, c, dbr_addr, q->dbr.offset);
}

static void build_qp(const struct queue *q, uint8_t *in)
{
	uint8_t *c = IFC_ADDR(create_qp_in, in, qpc);

	IFC_SET(qpc, c, pd, pd);
	IFC_SET(qpc, c, pm_state, 3);
	IFC_SET(qpc, c, log_sq_size, 5);
	IFC_SET(qpc, c, log_rq_size, 7);
	IFC_SET(qpc, c, uar_page, uar);
	IFC_SET(qpc, c, cqn_snd, cqn);
	IFC_SET(qpc, c, cqn_rcv, cqn);
	IFC_SET(create_qp_in, in, wq_umem_valid, q->mem.valid);
	IFC_SET(create_qp_in, in, wq_umem_id, q->mem.id);
	IFC_SET64(create_qp_in, in, wq_umem_offset, q->mem.offset);
	IFC_SET(qpc, c, dbr_umem_valid, q->dbr.valid);
	ifc_set_bits(c, QPC_DBR_UMEM_ID, 32, q->dbr.id);
	IFC_SET64(qpc, c, dbr_addr, q->dbr.offset);
}

static void build_wq(const struct queue *q, uint8_t *wq)
{
	IFC_SET(wq, wq, pd, pd);
	IFC_SET(wq, wq, uar_page, uar);
	IFC_SET(wq, wq, wq_type, 1);
	IFC_SET(wq, wq, log_wq_sz, 6);
	IFC_SET(wq, wq, log_wq_stride, 6);
	IFC_SET(wq, wq, wq_umem_valid, q->mem.valid);
	IFC_SET(wq, wq, wq_umem_id, q->mem.id);
	IFC_SET64(wq, wq, wq_umem_offset, q->mem.offset);
	IFC_SET(wq, wq, dbr_umem_valid, q->dbr.valid);
	IFC_SET(wq, wq, dbr_umem_id, q->dbr.id);
	IFC_SET64(wq, wq, dbr_addr, q->dbr.offset);
}

static void build_xrc_srq(const struct queue *q, uint8_t *in)
{
	uint8_t *c = IFC_ADDR(create_xrc_srq_in, in, xrc_srq_context_entry);

	IFC_SET(xrc_srqc, c, log_xrc_srq_size, 6);
	IFC_SET(xrc_srqc, c, log_rq_stride, 2);
	IFC_SET(xrc_srqc, c, pd, pd);
	IFC_SET(xrc_srqc, c, cqn, cqn);
	IFC_SET(xrc_srqc, c, xrcd, xrcdn);
	IFC_SET(create_xrc_srq_in, in, xrc_srq_umem_valid, q->mem.valid);
	ifc_set_bits(in, CMD_UMEM_ID, 32, q->mem.id);
	ifc_set_bits(in, CMD_UMEM_OFFSET, 64, q->mem.offset);
	IFC_SET(xrc_srqc, c, dbr_umem_valid, q->dbr.valid);
	ifc_set_bits(c, XRC_SRQC_DBR_UMEM_ID, 32, q->dbr.id);
	IFC_SET(xrc_srqc, c, db_record_addr_h, q->dbr.offset >> 32);
	IFC_SET(xrc_srqc, c, db_record_addr_l, q->dbr.offset >> 2);
}

static uint8_t queue_create(const struct queue *q, uint32_t *num)
{
	uint8_t in[1024] = {}, out[64] = {}, st = ST_INTERNAL;

	switch (q->kind) {
	case CQ:
		build_cq(q, in);
		st = rig_cmd(MLX5_CMD_OP_CREATE_CQ, 0, q->uid, in, IFC_BYTE(create_cq_in, pas),
			     out, IFC_SZ(create_cq_out));
		break;
	case QP:
		build_qp(q, in);
		st = rig_cmd(MLX5_CMD_OP_CREATE_QP, 0, q->uid, in, IFC_BYTE(create_qp_in, pas),
			     out, IFC_SZ(create_qp_out));
		break;
	case RMP:
		IFC_SET(create_rmp_in, in, ctx.state, 1);
		build_wq(q, IFC_ADDR(create_rmp_in, in, ctx.wq));
		st = rig_cmd(MLX5_CMD_OP_CREATE_RMP, 0, q->uid, in,
			     IFC_BYTE(create_rmp_in, ctx.wq.pas), out, IFC_SZ(create_rmp_out));
		break;
	case XRC_SRQ:
		build_xrc_srq(q, in);
		st = rig_cmd(MLX5_CMD_OP_CREATE_XRC_SRQ, 0, q->uid, in,
			     IFC_BYTE(create_xrc_srq_in, pas), out, IFC_SZ(create_xrc_srq_out));
		break;
	case SQ:
		IFC_SET(create_sq_in, in, ctx.cqn, cqn);
		build_wq(q, IFC_ADDR(create_sq_in, in, ctx.wq));
		st = rig_cmd(MLX5_CMD_OP_CREATE_SQ, 0, q->uid, in, IFC_SZ(create_sq_in), out,
			     IFC_SZ(create_sq_out));
		break;
	case KINDS:
		break;
	}
	/* The number is at the same offset in the outputs of all these commands. */
	*num = IFC_GET(create_cq_out, out, cqn);
	return st;
}

static uint32_t queue_new(const struct queue *q)
{
	uint32_t num;

	if (queue_create(q, &num) != ST_OK)
		fail_msg("kind %u: %s", q->kind, rig.why);
	return num;
}

static void queue_destroy(enum kind kind, uint32_t num)
{
	static const uint16_t ops[KINDS] = {
		MLX5_CMD_OP_DESTROY_CQ, MLX5_CMD_OP_DESTROY_QP, MLX5_CMD_OP_DESTROY_RMP,
		MLX5_CMD_OP_DESTROY_XRC_SRQ, MLX5_CMD_OP_DESTROY_SQ,
	};
	uint8_t in[16] = {}, out[16];

	IFC_SET(destroy_cq_in, in, cqn, num);
	assert_int_equal(rig_cmd(ops[kind], 0, UID, in, sizeof(in), out, sizeof(out)), ST_OK);
}

/* The queue is refused with @status by check @why; no object is created or has a reference. */
static void queue_refused(const struct queue *q, uint8_t status, uint32_t why)
{
	unsigned int before = obj_total(rig.hca);
	uint32_t num;

	if (queue_create(q, &num) != status || rig.syndrome != why)
		fail_msg("kind %u: syndrome 0x%x (%s)", q->kind, rig.syndrome, rig.why);
	assert_int_equal(obj_total(rig.hca), before);
	assert_int_equal(obj_find(rig.hca, OBJ_UMEM, mem_umem)->refs, 0);
	assert_int_equal(obj_find(rig.hca, OBJ_UMEM, dbr_umem)->refs, 0);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int setup(void **state)
{
	struct umem_params p;
	uint64_t i;

	rig_setup(state);
	IFC_SET(cmd_hca_cap, rig.hca->cap[0], log_max_umem, 16);
	IFC_SET(cmd_hca_cap, rig.hca->cap[0], umem_uid_0, 1);
	IFC_SET(cmd_hca_cap, rig.hca->cap[0], log_max_wq_sz, 15);
	for (i = 0; i < 0x200000; i += 8)	/* each word holds its address */
		put_be64(rig.ram + i, RAM_BASE + i);
	pd = rig_pd();
	rig_give(OBJ_PD, pd, UID);
	uar = rig_uar(UID);
	eqn = rig_eq();
	cqn = rig_cq(RAM_BASE + 0x10000, RAM_BASE + 0x100, 4, 64, uar, eqn);
	rig_give(OBJ_EQ, eqn, SHARED_UID);
	rig_give(OBJ_CQ, cqn, UID);
	xrcdn = obj_new(rig.hca, OBJ_XRCD, UID, sizeof(struct obj))->num;
	p = good_umem();
	mem_umem = umem_new(&p);
	dbr_umem = umem_new(&p);
	return 0;
}

/* ---- tests of umems -------------------------------------------------------------------------- */

static void umem_is_made_and_destroyed(void **state)
{
	struct umem_params p = good_umem();
	uint64_t before = rig.hca->xlt_bytes;
	uint32_t id;

	(void)state;
	id = umem_new(&p);
	assert_int_not_equal(id, mem_umem);
	assert_int_equal(obj_find(rig.hca, OBJ_UMEM, id)->uid, UID);
	assert_int_equal(rig.hca->xlt_bytes, before + 8 * PAGES);
	assert_refused(umem_destroy(id, OTHER_UID), ST_BAD_RES, WHY_OBJECT_OWNER);
	assert_int_equal(umem_destroy(id, UID), ST_OK);
	assert_int_equal(rig.hca->xlt_bytes, before);
	assert_refused(umem_destroy(id, UID), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	/* The kernel may have umems, and destroys those of all users. */
	p.uid = 0;
	id = umem_new(&p);
	assert_refused(umem_destroy(id, UID), ST_BAD_RES, WHY_OBJECT_OWNER);
	assert_int_equal(umem_destroy(id, 0), ST_OK);
	assert_int_equal(umem_destroy(mem_umem, 0), ST_OK);
}

static void umem_refused(const struct umem_params *p, uint8_t status, uint32_t why)
{
	unsigned int before = obj_count(rig.hca, OBJ_UMEM);
	uint32_t id;

	assert_int_equal(umem_create(p, &id), status);
	if (rig.syndrome != why)
		fail_msg("syndrome 0x%x (%s), not 0x%x", rig.syndrome, rig.why, why);
	assert_int_equal(obj_count(rig.hca, OBJ_UMEM), before);
}

static void umem_must_be_offered(void **state)
{
	struct umem_params p = good_umem();
	uint8_t *cap = rig.hca->cap[0];

	(void)state;
	p.ats = true;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_ATS_NOT_OFFERED);
	IFC_SET(cmd_hca_cap, cap, ats, 1);
	umem_new(&p);
	p = good_umem();
	p.uid = 0;
	IFC_SET(cmd_hca_cap, cap, umem_uid_0, 0);
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_NO_UID);
	p.uid = UID;
	rig.profile->range[OBJ_UMEM].limit = obj_count(rig.hca, OBJ_UMEM) + 0x10;
	umem_refused(&p, ST_LIM, WHY_NUMBERS_IN_USE);
	IFC_SET(cmd_hca_cap, cap, log_max_umem, 0);
	umem_refused(&p, ST_BAD_OP, WHY_UMEM_NOT_OFFERED);
}

static void umem_has_as_many_mtts_as_it_says(void **state)
{
	struct umem_params p = good_umem();

	(void)state;
	p.nmtt = 0;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_EMPTY);
	p.nmtt = PAGES + 1;
	umem_refused(&p, ST_BAD_INP_LEN, WHY_INPUT_LENGTH);
	p.nmtt = UINT64_MAX;
	umem_refused(&p, ST_BAD_INP_LEN, WHY_INPUT_LENGTH);
	p.nmtt = (1ull << 61) + 1;		/* times 8 wraps around to 8 bytes */
	umem_refused(&p, ST_BAD_INP_LEN, WHY_INPUT_LENGTH);
	p = good_umem();
	rig.profile->max_translation_mb = 0;
	umem_refused(&p, ST_LIM, WHY_UMEM_BUDGET);
}

static void umem_begins_in_its_first_page(void **state)
{
	struct umem_params p = good_umem();

	(void)state;
	p.page_offset = PAGE - 1;
	umem_new(&p);
	p.page_offset = PAGE;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_PAGE_OFFSET);
	/* Pages can be larger than any offset. */
	p.log_page = 36;
	p.page_offset = UINT32_MAX;
	p.mtt[0] = RAM_BASE | UMEM_READ;
	p.nmtt = p.given = 1;
	umem_new(&p);
}

static void umem_has_pages_that_the_hca_reaches(void **state)
{
	struct umem_params p = good_umem();

	(void)state;
	p.mtt[3] |= 0x80;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_MTT_RESERVED);
	p = good_umem();
	p.mtt[3] |= PAGE / 2;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_PAGE_ADDRESS);
	p.mtt[3] = OUTSIDE | UMEM_READ;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_PAGE_ADDRESS);
	p.mtt[3] = OUTSIDE;		/* neither read nor written */
	umem_new(&p);
	p.mtt[3] = read_only_memory() | UMEM_READ;
	umem_new(&p);
	p.mtt[3] |= UMEM_WRITE;
	umem_refused(&p, ST_BAD_PARAM, WHY_UMEM_PAGE_ADDRESS);
}

/* ---- tests of queues ------------------------------------------------------------------------- */

static void queues_keep_their_umems(void **state)
{
	enum kind kind;

	(void)state;
	for (kind = 0; kind < KINDS; kind++) {
		const struct queue q = good_queue(kind);
		uint32_t num = queue_new(&q);

		assert_refused(umem_destroy(mem_umem, UID), ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
		assert_refused(umem_destroy(dbr_umem, UID), ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
		queue_destroy(kind, num);
		assert_int_equal(obj_find(rig.hca, OBJ_UMEM, mem_umem)->refs, 0);
		assert_int_equal(obj_find(rig.hca, OBJ_UMEM, dbr_umem)->refs, 0);
	}
	assert_int_equal(umem_destroy(mem_umem, UID), ST_OK);
	assert_int_equal(umem_destroy(dbr_umem, UID), ST_OK);
}

static void memory_is_where_the_umem_says(const struct queue_mem *m, uint64_t offset)
{
	uint8_t buf[QUEUE_LEN];
	uint32_t at;

	assert_int_equal(m->len, QUEUE_LEN);
	assert_int_equal(qmem_read(rig.hca, m, 0, buf, sizeof(buf)), 0);
	for (at = 0; at < QUEUE_LEN; at += 8)
		assert_int_equal(get_be64(buf + at), address(offset + at));
	assert_ptr_equal(qmem_ptr(rig.hca, m, QUEUE_LEN - 64, 64, true),
			 ram(address(offset + QUEUE_LEN - 64)));
	assert_null(qmem_ptr(rig.hca, m, QUEUE_LEN - 32, 64, true));
	assert_int_equal(qmem_read(rig.hca, m, QUEUE_LEN - 32, buf, 64), -EFAULT);
	assert_int_equal(qmem_read(rig.hca, m, QUEUE_LEN + 32, buf, 8), -EFAULT);
}

static void queues_are_where_the_umem_says(void **state)
{
	struct queue q = good_queue(CQ);
	const struct cq *cq;
	const struct srq *srq;
	const struct qp *qp;

	(void)state;
	cq = cq_find(rig.hca, queue_new(&q));
	memory_is_where_the_umem_says(&cq->mem, OFFSET);
	assert_int_equal(cq->dbr.addr, address(DBR_OFFSET));
	q.kind = QP;
	qp = qp_find(rig.hca, queue_new(&q));
	memory_is_where_the_umem_says(&qp->mem, OFFSET);
	assert_int_equal(qp->dbr.addr, address(DBR_OFFSET));
	q.kind = RMP;
	srq = srq_find(rig.hca, queue_new(&q));
	memory_is_where_the_umem_says(&srq->mem, OFFSET);
	assert_int_equal(srq->dbr.addr, address(DBR_OFFSET));
	q.kind = XRC_SRQ;
	q.dbr.offset = BYTES - 8;
	srq = srq_find(rig.hca, queue_new(&q));
	memory_is_where_the_umem_says(&srq->mem, OFFSET);
	assert_int_equal(srq->dbr.addr, address(BYTES - 8));
}

static void cqes_are_written_to_the_umem(void **state)
{
	struct queue q = good_queue(CQ);
	struct completion c = { .opcode = 2, .qpn = 0x42 };
	uint32_t num = queue_new(&q), i;

	(void)state;
	for (i = 0; i < 64; i++) {
		c.wqe_counter = 0x100 + i;
		cq_complete_now(rig.hca, num, &c);
		assert_int_equal(get_be16(ram(address(OFFSET + 64 * i) + 60)), 0x100 + i);
	}
	put_be32(ram(address(DBR_OFFSET)), 1);
	cq_complete_now(rig.hca, num, &c);
	assert_int_equal(cq_find(rig.hca, num)->status, CQ_STATUS_OK);
	cq_complete_now(rig.hca, num, &c);
	assert_int_equal(cq_find(rig.hca, num)->status, CQ_STATUS_OVERFLOW);
}

static void only_own_umems_are_named(void **state)
{
	struct umem_params p = good_umem();
	uint32_t others, kernels;
	enum kind kind;

	(void)state;
	p.uid = OTHER_UID;
	others = umem_new(&p);
	p.uid = 0;
	kernels = umem_new(&p);
	for (kind = 0; kind < KINDS; kind++) {
		const uint32_t ids[] = { others, kernels };
		unsigned int i;

		for (i = 0; i < 2; i++) {
			struct queue q = good_queue(kind);

			q.mem.id = ids[i];
			queue_refused(&q, ST_BAD_RES, WHY_OBJECT_OWNER);
			q = good_queue(kind);
			q.dbr.id = ids[i];
			queue_refused(&q, ST_BAD_RES, WHY_OBJECT_OWNER);
		}
	}
}

/* A command of the kernel may name all objects, but not the memory of a process. */
static void the_kernel_names_no_umem_of_a_user(void **state)
{
	struct umem_params p = good_umem();
	enum kind kind;

	(void)state;
	for (kind = 0; kind < KINDS; kind++) {
		struct queue q = good_queue(kind);

		q.uid = 0;
		queue_refused(&q, ST_BAD_RES, WHY_OBJECT_OWNER);
	}
	p.uid = 0;
	for (kind = 0; kind < KINDS; kind++) {
		struct queue q = good_queue(kind);

		q.uid = 0;
		q.mem.id = q.dbr.id = umem_new(&p);
		queue_new(&q);
	}
}

static void queues_name_umems_that_exist(void **state)
{
	enum kind kind;

	(void)state;
	for (kind = 0; kind < KINDS; kind++) {
		struct queue q = good_queue(kind);

		q.mem.id = NO_UMEM;
		queue_refused(&q, ST_BAD_RES, WHY_OBJECT_UNKNOWN);
		q.mem.id = 0x1000000 | mem_umem;	/* all 32 bits count */
		queue_refused(&q, ST_BAD_RES, WHY_OBJECT_UNKNOWN);
		q = good_queue(kind);
		q.dbr.id = NO_UMEM;
		queue_refused(&q, ST_BAD_RES, WHY_OBJECT_UNKNOWN);
		q.dbr.id = 0;
		queue_refused(&q, ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	}
}

static void queues_fit_their_umems(void **state)
{
	static const uint64_t beyond[] = {
		BYTES - QUEUE_LEN + 64, BYTES, BYTES + 64, 1ull << 40, -64ull, -(uint64_t)QUEUE_LEN,
	};
	enum kind kind;
	size_t i;

	(void)state;
	for (kind = 0; kind < KINDS; kind++) {
		struct queue q = good_queue(kind);

		q.mem.offset = BYTES - QUEUE_LEN;
		queue_destroy(kind, queue_new(&q));
		for (i = 0; i < ARRAY_SIZE(beyond); i++) {
			q.mem.offset = beyond[i];
			queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_RANGE);
		}
		q.mem.offset = OFFSET + 32;
		queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_OFFSET);
		q = good_queue(kind);
		q.dbr.offset = BYTES;
		queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_RANGE);
		q.dbr.offset = -8ull;
		queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_RANGE);
	}
}

/* The address of a queue has to be aligned, not its offset in the umem. */
static void alignment_counts_in_pages(void **state)
{
	struct umem_params p = good_umem();
	enum kind kind;

	(void)state;
	p.page_offset = 0x10c;
	mem_umem = umem_new(&p);
	for (kind = 0; kind < KINDS; kind++) {
		unsigned int record = kind == RMP || kind == XRC_SRQ ? 4 : 8;
		struct queue q = good_queue(kind);

		q.mem.offset = 0;
		queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_OFFSET);
		/*
		 * 0x10c + 0x34 is a multiple of 64, which is enough for all queues but a CQ. A CQ
		 * begins at a multiple of 1/64 of a page, here of 128 bytes.
		 */
		q.mem.offset = 0x34;
		if (kind == CQ)
			queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_OFFSET);
		q.mem.offset = 0x74;
		q.dbr.id = mem_umem;
		q.dbr.offset = 4;
		queue_destroy(kind, queue_new(&q));
		q.dbr.offset = 0;
		if (record == 4)
			queue_destroy(kind, queue_new(&q));
		else
			queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_OFFSET);
	}
}

/* The HCA reads work queues and doorbell records, and writes CQEs. */
static void umems_allow_what_the_queue_needs(void **state)
{
	struct umem_params p = good_umem();
	uint32_t read_only, no_access;
	enum kind kind;
	unsigned int i;

	(void)state;
	for (i = 0; i < PAGES; i++)
		p.mtt[i] = page_at(i) | UMEM_READ;
	read_only = umem_new(&p);
	for (i = 0; i < PAGES; i++)	/* only a page of the queue is without access */
		p.mtt[i] = page_at(i) | (i == 2 ? 0 : UMEM_ACCESS);
	no_access = umem_new(&p);
	for (kind = 0; kind < KINDS; kind++) {
		struct queue q = good_queue(kind);

		q.dbr.id = read_only;
		queue_destroy(kind, queue_new(&q));
		q.mem.id = read_only;
		if (kind == CQ)
			queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_ACCESS);
		else
			queue_destroy(kind, queue_new(&q));
		q = good_queue(kind);
		q.mem.id = no_access;
		queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_ACCESS);
		q.mem.offset = 0x40;
		queue_destroy(kind, queue_new(&q));
		q = good_queue(kind);
		q.dbr.id = no_access;
		queue_destroy(kind, queue_new(&q));
		q.dbr.offset = 2 * PAGE - PAGE_OFFSET;
		queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_ACCESS);
	}
}

static void fields_need_their_valid_bit(void **state)
{
	enum kind kind;

	(void)state;
	for (kind = 0; kind < KINDS; kind++) {
		struct queue q = good_queue(kind);

		q.dbr.valid = false;
		queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_FIELDS);
		q = good_queue(kind);
		q.mem.valid = false;
		queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_FIELDS);
		q.mem.id = 0;
		queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_FIELDS);
	}
}

static void queues_in_umems_must_be_offered(void **state)
{
	enum kind kind;

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[0], log_max_umem, 0);
	for (kind = 0; kind < KINDS; kind++) {
		struct queue q = good_queue(kind);

		queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_NOT_OFFERED);
		q.dbr = (struct place){ .offset = RAM_BASE + 0x200 };
		queue_refused(&q, ST_BAD_PARAM, WHY_UMEM_NOT_OFFERED);
	}
}

/* page_offset is for queues in a list of pages; a queue in a umem has an offset in the umem. */
static void queue_in_a_umem_has_no_page_offset(void **state)
{
	struct queue q = good_queue(CQ);
	uint8_t in[IFC_BYTE(create_cq_in, pas)] = {}, out[IFC_SZ(create_cq_out)];

	(void)state;
	build_cq(&q, in);
	IFC_SET(create_cq_in, in, cq_context.page_offset, 1);
	assert_refused(rig_cmd(MLX5_CMD_OP_CREATE_CQ, 0, UID, in, sizeof(in), out, sizeof(out)),
		       ST_BAD_PARAM, WHY_UMEM_FIELDS);
}

static uint8_t resize(uint32_t num, uint32_t select, const struct place *at)
{
	uint8_t in[IFC_BYTE(modify_cq_in, pas)] = {}, out[IFC_SZ(modify_cq_out)];

	IFC_SET(modify_cq_in, in, cqn, num);
	put_be32(IFC_ADDR(modify_cq_in, in, modify_field_select_resize_field_select), select);
	IFC_SET(modify_cq_in, in, cq_context.log_cq_size, 6);
	IFC_SET(modify_cq_in, in, cq_umem_valid, at->valid);
	ifc_set_bits(in, CMD_UMEM_ID, 32, at->id);
	ifc_set_bits(in, CMD_UMEM_OFFSET, 64, at->offset);
	return rig_cmd(MLX5_CMD_OP_MODIFY_CQ, 1, UID, in, sizeof(in), out, sizeof(out));
}

static void cq_moves_to_another_umem(void **state)
{
	struct queue q = good_queue(CQ);
	struct umem_params p = good_umem();
	struct place to = { true, umem_new(&p), 0x40 };
	uint32_t num;

	(void)state;
	q.dbr.offset = BYTES - 8;
	put_be32(ram(address(q.dbr.offset)), 0);
	num = queue_new(&q);
	assert_refused(resize(num, 1, &to), ST_BAD_PARAM, WHY_UMEM_FIELDS);
	to.valid = false;
	assert_refused(resize(num, 9, &to), ST_BAD_PARAM, WHY_UMEM_FIELDS);
	to.valid = true;
	assert_int_equal(obj_find(rig.hca, OBJ_UMEM, mem_umem)->refs, 1);
	assert_int_equal(resize(num, 9, &to), ST_OK);
	assert_int_equal(obj_find(rig.hca, OBJ_UMEM, mem_umem)->refs, 0);
	assert_int_equal(obj_find(rig.hca, OBJ_UMEM, to.id)->refs, 1);
	assert_int_equal(obj_find(rig.hca, OBJ_UMEM, dbr_umem)->refs, 1);
	memory_is_where_the_umem_says(&cq_find(rig.hca, num)->mem, 0x40);
	queue_destroy(CQ, num);
	assert_int_equal(umem_destroy(to.id, UID), ST_OK);
}

static void no_transition_moves_the_doorbell_record(void **state)
{
	struct queue q = good_queue(QP);
	uint8_t in[IFC_SZ(rst2init_qp_in)] = {}, out[IFC_SZ(rst2init_qp_out)];
	uint8_t *c = IFC_ADDR(rst2init_qp_in, in, qpc);

	(void)state;
	IFC_SET(rst2init_qp_in, in, qpn, queue_new(&q));
	IFC_SET(qpc, c, pm_state, 3);
	IFC_SET(qpc, c, primary_address_path.vhca_port_num, 1);
	IFC_SET(qpc, c, dbr_umem_valid, 1);
	assert_refused(rig_cmd(MLX5_CMD_OP_RST2INIT_QP, 0, UID, in, sizeof(in), out, sizeof(out)),
		       ST_BAD_PARAM, WHY_UMEM_FIELDS);
	IFC_SET(qpc, c, dbr_umem_valid, 0);
	ifc_set_bits(c, QPC_DBR_UMEM_ID, 32, dbr_umem);
	assert_refused(rig_cmd(MLX5_CMD_OP_RST2INIT_QP, 0, UID, in, sizeof(in), out, sizeof(out)),
		       ST_BAD_PARAM, WHY_UMEM_FIELDS);
	ifc_set_bits(c, QPC_DBR_UMEM_ID, 32, 0);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_RST2INIT_QP, 0, UID, in, sizeof(in), out,
				 sizeof(out)), ST_OK);
}

/* ---- tests of keys --------------------------------------------------------------------------- */

struct key {
	uint16_t uid;
	uint8_t mode;
	unsigned int log_page;
	uint64_t start, len;
	unsigned int access;
	bool free, umr_en, length64, pg_access;
	uint32_t octo;
	struct place at;
};

static struct key good_key(void)
{
	/* start is the address at which the process has mapped byte 0x40 of its umem. */
	return (struct key){
		.uid = UID, .mode = MKM_MTT, .log_page = 12,
		.start = 0x7f0000000000 + PAGE_OFFSET + 0x40,
		.len = BYTES - 0x40, .access = MK_LOCAL_READ | MK_LOCAL_WRITE | MK_REMOTE_READ,
		.octo = 1000000, .at = { true, mem_umem, 0x40 },
	};
}

static uint8_t key_create(const struct key *k, uint32_t *key)
{
	uint8_t in[IFC_BYTE(create_mkey_in, klm_pas_mtt)] = {}, out[IFC_SZ(create_mkey_out)];
	uint8_t *c = IFC_ADDR(create_mkey_in, in, memory_key_mkey_entry), st;

	IFC_SET(create_mkey_in, in, mkey_umem_valid, k->at.valid);
	ifc_set_bits(in, CREATE_MKEY_UMEM_ID, 32, k->at.id);
	ifc_set_bits(in, CREATE_MKEY_UMEM_OFFSET, 64, k->at.offset);
	IFC_SET(create_mkey_in, in, pg_access, k->pg_access);
	IFC_SET(mkc, c, access_mode_1_0, k->mode & 3);
	IFC_SET(mkc, c, access_mode_4_2, k->mode >> 2);
	IFC_SET(mkc, c, free, k->free);
	IFC_SET(mkc, c, umr_en, k->umr_en);
	IFC_SET(mkc, c, length64, k->length64);
	IFC_SET(mkc, c, lr, !!(k->access & MK_LOCAL_READ));
	IFC_SET(mkc, c, lw, !!(k->access & MK_LOCAL_WRITE));
	IFC_SET(mkc, c, rr, !!(k->access & MK_REMOTE_READ));
	IFC_SET(mkc, c, rw, !!(k->access & MK_REMOTE_WRITE));
	IFC_SET(mkc, c, a, !!(k->access & MK_ATOMIC));
	IFC_SET(mkc, c, qpn, MKEY_ANY_QP);
	IFC_SET(mkc, c, pd, pd);
	IFC_SET64(mkc, c, start_addr, k->start);
	IFC_SET64(mkc, c, len, k->len);
	IFC_SET(mkc, c, log_page_size, k->log_page);
	IFC_SET(mkc, c, translations_octword_size, k->octo);
	st = rig_cmd(MLX5_CMD_OP_CREATE_MKEY, 0, k->uid, in, sizeof(in), out, sizeof(out));
	*key = IFC_GET(create_mkey_out, out, mkey_index) << 8;
	return st;
}

static uint32_t key_new(const struct key *k)
{
	uint32_t key;

	if (key_create(k, &key) != ST_OK)
		fail_msg("%s", rig.why);
	return key;
}

static void key_refused(const struct key *k, uint8_t status, uint32_t why)
{
	uint64_t before = rig.hca->xlt_bytes;
	uint32_t key;

	assert_int_equal(key_create(k, &key), status);
	if (rig.syndrome != why)
		fail_msg("syndrome 0x%x (%s), not 0x%x", rig.syndrome, rig.why, why);
	assert_int_equal(rig.hca->xlt_bytes, before);
	assert_int_equal(obj_find(rig.hca, OBJ_UMEM, mem_umem)->refs, 0);
}

static uint8_t key_destroy(uint32_t key)
{
	uint8_t in[IFC_SZ(destroy_mkey_in)] = {}, out[IFC_SZ(destroy_mkey_out)];

	IFC_SET(destroy_mkey_in, in, mkey_index, mkey_index(key));
	return rig_cmd(MLX5_CMD_OP_DESTROY_MKEY, 0, UID, in, sizeof(in), out, sizeof(out));
}

/*
 * The key's bytes are the umem's, whether the key's pages are as large as the umem's
 * (log_page_size 0) or smaller.
 */
static void key_leads_to_the_umem(void **state)
{
	const struct mkey_user user = { .pdn = pd, .qpn = 5 };
	static uint8_t buf[PAGES * PAGE];
	struct key k = good_key();
	unsigned int log_page;
	uint32_t key;
	uint64_t i;

	(void)state;
	for (log_page = 11; log_page <= LOG_PAGE; log_page++) {
		k.log_page = log_page < 12 ? 0 : log_page;
		key = key_new(&k);
		assert_refused(umem_destroy(mem_umem, UID), ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
		assert_int_equal(mkey_read(rig.hca, &user, key, k.start, buf, k.len,
					   MK_REMOTE_READ), MK_OK);
		for (i = 0; i < k.len; i += 8)
			assert_int_equal(get_be64(buf + i), address(0x40 + i));
		assert_int_equal(mkey_read(rig.hca, &user, key, k.start + k.len, buf, 1,
					   MK_REMOTE_READ), MK_OUT_OF_RANGE);
		put_be64(buf, 0x1234);
		assert_int_equal(mkey_write(rig.hca, &user, key, k.start + PAGE, buf, 8,
					    MK_LOCAL_WRITE), MK_OK);
		assert_int_equal(get_be64(ram(address(0x40 + PAGE))), 0x1234);
		put_be64(ram(address(0x40 + PAGE)), address(0x40 + PAGE));
		assert_int_equal(key_destroy(key), ST_OK);
	}
	assert_int_equal(umem_destroy(mem_umem, UID), ST_OK);
}

static void key_over_a_umem_is_refused(void **state)
{
	struct umem_params p = good_umem();
	struct key k = good_key();
	unsigned int i;

	(void)state;
	k.len++;
	key_refused(&k, ST_BAD_PARAM, WHY_UMEM_RANGE);
	k = good_key();
	k.at.offset = -(uint64_t)PAGE;
	key_refused(&k, ST_BAD_PARAM, WHY_UMEM_RANGE);
	k = good_key();
	k.at.id = NO_UMEM;
	key_refused(&k, ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	k = good_key();
	p.uid = OTHER_UID;
	k.at.id = umem_new(&p);
	key_refused(&k, ST_BAD_RES, WHY_OBJECT_OWNER);
	k = good_key();
	k.start++;			/* another byte of the page */
	k.len--;
	key_refused(&k, ST_BAD_PARAM, WHY_MKEY_UMEM_PAGES);
	k = good_key();
	k.log_page = LOG_PAGE + 1;
	key_refused(&k, ST_BAD_PARAM, WHY_MKEY_UMEM_PAGES);
	k.log_page = 11;
	key_refused(&k, ST_BAD_PARAM, WHY_MKEY_ENTITY_SIZE);
	k = good_key();
	k.start = -(uint64_t)PAGE + (k.start & (PAGE - 1));	/* beyond the last address */
	key_refused(&k, ST_BAD_PARAM, WHY_MKEY_TRANSLATION);
	k = good_key();
	p = good_umem();
	p.mtt[PAGES - 1] &= ~UMEM_WRITE;
	k.at.id = umem_new(&p);
	key_refused(&k, ST_BAD_PARAM, WHY_UMEM_ACCESS);
	for (i = 1; i <= MK_ATOMIC; i <<= 1) {
		k.access = i;
		if (i == MK_LOCAL_READ || i == MK_REMOTE_READ)
			assert_int_equal(key_destroy(key_new(&k)), ST_OK);
		else
			key_refused(&k, ST_BAD_PARAM, WHY_UMEM_ACCESS);
	}
}

/*
 * The HCA ignores what the context of a key says about the table: how many entries it has, and
 * whether they have access bits.
 */
static void table_of_a_key_over_a_umem_is_long_enough(void **state)
{
	static const uint32_t octo[] = { 0, 1, 1000000 };
	struct key k = good_key();
	unsigned int i;

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[0], pg, 1);
	for (i = 0; i < 2 * ARRAY_SIZE(octo); i++) {
		k.octo = octo[i / 2];
		k.pg_access = i % 2;
		assert_int_equal(key_destroy(key_new(&k)), ST_OK);
	}
	k.access |= MK_REMOTE_WRITE;
	assert_int_equal(key_destroy(key_new(&k)), ST_OK);
}

/* start_addr and the key's first byte must have the same offset in a page of the umem. */
static void key_begins_where_the_umem_does_in_a_page(void **state)
{
	struct key k = good_key();

	(void)state;
	for (k.log_page = 0; k.log_page <= 12; k.log_page += 12) {
		k.start = good_key().start + (1 << 12);
		key_refused(&k, ST_BAD_PARAM, WHY_MKEY_UMEM_PAGES);
		k.start += 1 << 12;
		assert_int_equal(key_destroy(key_new(&k)), ST_OK);
	}
}

static void key_over_a_umem_is_of_one_kind(void **state)
{
	struct key k = good_key();

	(void)state;
	k.umr_en = true;
	key_refused(&k, ST_BAD_PARAM, WHY_MKEY_UMEM_KIND);
	k.free = true;
	key_refused(&k, ST_BAD_PARAM, WHY_MKEY_UMEM_KIND);
	k = good_key();
	k.length64 = true;
	key_refused(&k, ST_BAD_PARAM, WHY_MKEY_UMEM_KIND);
	k = good_key();
	k.mode = MKM_PA;
	k.uid = 0;
	key_refused(&k, ST_BAD_PARAM, WHY_MKEY_UMEM_KIND);
	/* The entries of a KLM key are keys, not addresses, so a umem cannot give them. */
	k = good_key();
	k.mode = MKM_KLM;
	k.octo = 0;
	key_refused(&k, ST_BAD_PARAM, WHY_MKEY_UMEM_KIND);
	k.at.valid = false;
	key_refused(&k, ST_BAD_PARAM, WHY_UMEM_FIELDS);
	k.at = (struct place){};
	assert_int_equal(key_destroy(key_new(&k)), ST_OK);
	IFC_SET(cmd_hca_cap, rig.hca->cap[0], log_max_umem, 0);
	k = good_key();
	key_refused(&k, ST_BAD_PARAM, WHY_UMEM_NOT_OFFERED);
	k.at.valid = false;
	key_refused(&k, ST_BAD_PARAM, WHY_UMEM_FIELDS);
}

/* The table of a key over a umem of one large page is limited, too. */
static void key_over_a_large_umem_is_limited(void **state)
{
	struct umem_params p = good_umem();
	struct key k = good_key();

	(void)state;
	p.log_page = 40;
	p.page_offset = 0;
	p.nmtt = p.given = 1;
	p.mtt[0] = RAM_BASE | UMEM_ACCESS;
	k.at = (struct place){ true, umem_new(&p), 0 };
	k.start = 0;
	k.len = 1ull << 40;
	k.octo = UINT32_MAX;
	key_refused(&k, ST_LIM, WHY_MKEY_OCTOWORDS_TOO_MANY);
	k.len = 1ull << 36;
	key_refused(&k, ST_LIM, WHY_MKEY_TRANSLATION_BUDGET);
	k.len = 1ull << 20;
	assert_int_equal(key_destroy(key_new(&k)), ST_OK);
}

/* A user id gets no key and no queue pair that leads to other users' memory or packets. */
static void users_have_no_physical_keys(void **state)
{
	struct key k = { .uid = UID, .mode = MKM_PA, .length64 = true, .access = MK_LOCAL_READ };

	(void)state;
	key_refused(&k, ST_BAD_PARAM, WHY_MKEY_PHYSICAL);
	k.uid = 0;
	key_new(&k);
}

static void users_have_no_privileged_qps(void **state)
{
	static const uint8_t types[] = { QPT_QP0, QPT_QP1, QPT_REG_UMR };
	struct queue q = good_queue(QP);
	uint8_t in[IFC_BYTE(create_qp_in, pas)], out[IFC_SZ(create_qp_out)];
	unsigned int i;

	(void)state;
	for (i = 0; i < 6; i++) {
		memset(in, 0, sizeof(in));
		build_qp(&q, in);
		if (i < 3)
			IFC_SET(create_qp_in, in, qpc.st, types[i]);
		if (i == 5) {
			IFC_SET(create_qp_in, in, qpc.st, QPT_UD);
			IFC_SET(create_qp_in, in, qpc.deth_sqpn, 1);
		}
		IFC_SET(create_qp_in, in, qpc.rlky, i == 3);
		IFC_SET(create_qp_in, in, qpc.fre, i == 4);
		assert_refused(rig_cmd(MLX5_CMD_OP_CREATE_QP, 0, UID, in, sizeof(in), out,
				       sizeof(out)), ST_BAD_PARAM, WHY_QP_PRIVILEGED);
	}
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, rig_teardown)

int main(void)
{
	static const struct hca_module *const modules[] = { &sq_module, NULL };
	static const struct cmd_desc *const cmds[] = { sq_cmds, NULL };
	const struct CMUnitTest tests[] = {
		T(umem_is_made_and_destroyed), T(umem_must_be_offered),
		T(umem_has_as_many_mtts_as_it_says), T(umem_begins_in_its_first_page),
		T(umem_has_pages_that_the_hca_reaches),
		T(queues_keep_their_umems), T(queues_are_where_the_umem_says),
		T(cqes_are_written_to_the_umem), T(only_own_umems_are_named),
		T(the_kernel_names_no_umem_of_a_user), T(queues_name_umems_that_exist),
		T(queues_fit_their_umems), T(alignment_counts_in_pages),
		T(umems_allow_what_the_queue_needs), T(fields_need_their_valid_bit),
		T(queues_in_umems_must_be_offered), T(queue_in_a_umem_has_no_page_offset),
		T(cq_moves_to_another_umem), T(no_transition_moves_the_doorbell_record),
		T(key_leads_to_the_umem), T(key_over_a_umem_is_refused),
		T(table_of_a_key_over_a_umem_is_long_enough),
		T(key_begins_where_the_umem_does_in_a_page),
		T(key_over_a_umem_is_of_one_kind), T(key_over_a_large_umem_is_limited),
		T(users_have_no_physical_keys), T(users_have_no_privileged_qps),
	};

	rig_extra.modules = modules;
	rig_extra.cmds = cmds;
	return cmocka_run_group_tests_name("umem", tests, NULL, NULL);
}
