// SPDX-License-Identifier: GPL-2.0
/*
 * The transport from doorbell to completion: what is executed and when, data, loss and
 * repair, every completion syndrome, state changes, UD and UMR.
 */
#include <endian.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "count.h"
#include "cq.h"
#include "dispatch.h"
#include "eq.h"
#include "expect.h"
#include "fabric.h"
#include "forward.h"
#include "ib_packet.h"
#include "ifc.h"
#include "inject.h"
#include "mcast.h"
#include "mkey.h"
#include "object.h"
#include "packet.h"
#include "pairrig.h"
#include "profile.h"
#include "qp.h"
#include "queue_mem.h"
#include "req.h"
#include "resp.h"
#include "wqe.h"

#define CQ_A	10	/* send CQ of the first QP; its receive CQ is the next number */
#define CQ_B	20

static struct qp *a, *b;
static uint64_t buf_a, buf_b;
static uint64_t local;		/* local buffer of the next operations */
static uint32_t key_a, key_b;
#define BUF	(64u << 10)
#define ALL	(MK_LOCAL_READ | MK_LOCAL_WRITE | MK_REMOTE_READ | MK_REMOTE_WRITE | MK_ATOMIC)

static int pair_up(enum qp_type type)
{
	unsigned int i;

	rig_up(NULL);
	a = rig_qp(0, type, CQ_A);
	b = rig_qp(1, type, CQ_B);
	buf_a = rig_alloc(0, BUF);
	buf_b = rig_alloc(1, BUF);
	local = buf_a;
	key_a = rig_mkey(0, buf_a, BUF, ALL);
	key_b = rig_mkey(1, buf_b, BUF, ALL);
	for (i = 0; i < BUF; i++)
		((uint8_t *)rig_ptr(0, buf_a))[i] = i * 7 + (i >> 8);
	rig_connect(a, 0, b, 1);
	return 0;
}

static int rc_up(void **state)
{
	(void)state;
	return pair_up(QPT_RC);
}

static int uc_up(void **state)
{
	(void)state;
	return pair_up(QPT_UC);
}

static int ud_up(void **state)
{
	(void)state;
	return pair_up(QPT_UD);
}

static uint16_t post_send(uint8_t opcode, uint32_t len, bool signaled)
{
	struct rig_wqe w;

	wq_ctrl(&w, opcode, signaled, 0x11223344);
	if (len)
		wq_data(&w, buf_a, len, key_a);
	return rig_send(0, a, w.b, w.ds);
}

static uint16_t post_rdma(uint8_t opcode, uint64_t raddr, uint32_t rkey, uint32_t len)
{
	struct rig_wqe w;

	wq_ctrl(&w, opcode, true, 0x11223344);
	wq_raddr(&w, raddr, rkey);
	if (len)
		wq_data(&w, local, len, key_a);
	return rig_send(0, a, w.b, w.ds);
}

static uint16_t post_atomic(uint8_t opcode, uint64_t raddr, uint64_t swap_add, uint64_t compare)
{
	struct rig_wqe w;

	wq_ctrl(&w, opcode, true, 0);
	wq_raddr(&w, raddr, key_b);
	wq_atomic(&w, swap_add, compare);
	wq_data(&w, local, 8, key_a);
	return rig_send(0, a, w.b, w.ds);
}

static void expect(uint32_t cqn, unsigned int i, uint8_t opcode, uint8_t syndrome)
{
	struct rig_cqe *e = rig_cqe(cqn, i);

	assert_non_null(e);
	assert_int_equal(e->c.opcode, opcode);
	assert_int_equal(e->c.syndrome, syndrome);
}

static bool same(uint32_t len)
{
	return !memcmp(rig_ptr(0, buf_a), rig_ptr(1, buf_b), len);
}

/* ---- doorbells ------------------------------------------------------------------------------- */

static void nothing_runs_before_the_register_is_rung(void **state)
{
	struct rig_wqe w;

	(void)state;
	wq_ctrl(&w, WQE_NOP, true, 0);
	rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	rig_settle();
	assert_int_equal(rig.ncqe, 0);
	rig_ring(0, a);
	assert_int_equal(rig_run(1, 1000), 1);
}

static void nothing_runs_beyond_the_record(void **state)
{
	struct rig_wqe w;

	(void)state;
	wq_ctrl(&w, WQE_NOP, true, 0);
	rig_put(0, a, w.b, w.ds);
	rig_ring(0, a);
	rig_settle();
	assert_int_equal(rig.ncqe, 0);
	assert_int_equal(rig.hca[0]->count.db_drop[DROP_NO_WQE], 1);
	rig_show(0, a);
	rig_put(0, a, w.b, w.ds);
	rig_ring_wqe(0, a, 0);
	rig_settle();
	assert_int_equal(rig.ncqe, 1);
	assert_int_equal(rig.hca[0]->count.db_drop[DROP_NO_WQE], 1);
}

/* A doorbell is the start of a WQE that the record announces: opcode, index, QP and length. */
static void doorbell_is_the_start_of_its_wqe(void **state)
{
	static const struct { unsigned int at; uint8_t flip, bad, none; } t[] = {
		{ 0, 1, 1, 0 }, { 1, 1, 1, 1 }, { 2, 1, 1, 2 }, { 3, WQE_SEND, 2, 2 },
		{ 7, 3, 3, 2 },
	};
	const uint64_t *drops = rig.hca[0]->count.db_drop;
	struct rig_wqe w;
	unsigned int i;
	uint8_t db[8];

	(void)state;
	wq_ctrl(&w, WQE_NOP, true, 0);
	rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	for (i = 0; i < sizeof(t) / sizeof(*t); i++) {
		memcpy(db, rig_ptr(0, a->mem.pas[1]), sizeof(db));
		db[t[i].at] ^= t[i].flip;
		qp_send_doorbell(rig.hca[0], RIG_UAR, db, sizeof(db));
		assert_int_equal(drops[DROP_BAD_WQE], t[i].bad);
		assert_int_equal(drops[DROP_NO_WQE], t[i].none);
	}
	rig_settle();
	assert_int_equal(rig.ncqe, 0);
	rig_ring(0, a);
	assert_int_equal(rig_run(1, 1000), 1);
	/* Longer ago than the queue is long. */
	for (i = 0; i < 64; i++)
		rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	memcpy(db, rig_ptr(0, a->mem.pas[1]), sizeof(db));
	db[2] = 0;
	db[1] = 0;
	qp_send_doorbell(rig.hca[0], RIG_UAR, db, sizeof(db));
	assert_int_equal(drops[DROP_NO_WQE], 3);
}

/*
 * The HCA reads a record that announces two WQEs when the doorbell of the first arrives. That of
 * the second arrives when other WQEs are in the whole queue.
 */
static void late_doorbell_is_no_mistake(void **state)
{
	const uint64_t *drops = rig.hca[0]->count.db_drop;
	uint16_t first, late, i;
	struct rig_wqe w;
	uint8_t db[8];

	(void)state;
	wq_ctrl(&w, WQE_NOP, true, 0);
	first = rig_put(0, a, w.b, w.ds);
	late = rig_put(0, a, w.b, w.ds);
	memcpy(db, rig_ptr(0, a->mem.pas[1] + late * 64), sizeof(db));
	rig_show(0, a);
	rig_ring_wqe(0, a, first);
	assert_int_equal(rig_run(2, 1000), 2);
	for (i = 0; i < 64; i++)
		rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	qp_send_doorbell(rig.hca[0], RIG_UAR, db, sizeof(db));
	assert_int_equal(drops[DROP_NO_WQE] + drops[DROP_BAD_WQE], 0);
	assert_int_equal(rig_run(66, 1000), 66);
	/* But no WQE has two doorbells. */
	qp_send_doorbell(rig.hca[0], RIG_UAR, db, sizeof(db));
	assert_int_equal(drops[DROP_NO_WQE] + drops[DROP_BAD_WQE], 1);
}

static void second_doorbell_has_no_effect(void **state)
{
	struct rig_wqe w;

	(void)state;
	wq_ctrl(&w, WQE_NOP, true, 0);
	rig_send(0, a, w.b, w.ds);
	rig_ring(0, a);
	rig_settle();
	rig_ring(0, a);
	rig_settle();
	assert_int_equal(rig.ncqe, 1);
	assert_int_equal(a->state, QPS_RTS);
}

static void one_doorbell_for_many_wqes(void **state)
{
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	wq_ctrl(&w, WQE_NOP, true, 0);
	for (i = 0; i < 64; i++)
		rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	rig_ring(0, a);
	rig_settle();
	assert_int_equal(rig.ncqe, 64);
	for (i = 0; i < 64; i++)
		assert_int_equal(rig.cqe[i].c.wqe_counter, i);
}

static void doorbell_on_another_uar_is_dropped(void **state)
{
	struct rig_wqe w;
	uint8_t db[8] = {};

	(void)state;
	wq_ctrl(&w, WQE_NOP, true, 0);
	rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	put_be32(db + 4, a->obj.num << 8 | 1);
	qp_send_doorbell(rig.hca[0], RIG_UAR + 1, db, sizeof(db));
	rig_settle();
	assert_int_equal(rig.ncqe, 0);
	assert_int_equal(rig.hca[0]->count.db_drop[DROP_WRONG_UAR], 1);
	put_be32(db + 4, 0xfff << 8 | 1);
	qp_send_doorbell(rig.hca[0], RIG_UAR, db, sizeof(db));
	assert_int_equal(rig.hca[0]->count.db_drop[DROP_NO_QP], 1);
	qp_send_doorbell(rig.hca[0], RIG_UAR, db, 4);
	assert_int_equal(rig.hca[0]->count.db_drop[DROP_BAD_SIZE], 1);
}

static void doorbell_before_rts_is_dropped(void **state)
{
	struct qp *c = rig_qp(0, QPT_RC, 30);
	struct rig_wqe w;

	(void)state;
	wq_ctrl(&w, WQE_NOP, true, 0);
	rig_state(0, c, QPS_INIT);
	rig_send(0, c, w.b, w.ds);
	rig_state(0, c, QPS_RTR);
	rig_ring(0, c);
	rig_settle();
	assert_int_equal(rig.hca[0]->count.db_drop[DROP_BAD_STATE], 2);
	assert_int_equal(rig.ncqe, 0);
}

static void record_beyond_the_queue_is_fatal(void **state)
{
	(void)state;
	put_be32(rig_ptr(0, a->dbr.addr + DBR_SND), 65);
	rig_ring(0, a);
	assert_int_equal(a->state, QPS_ERR);
	assert_int_equal(rig_events(EV_WQ_CATAS_ERROR), 1);
}

static void blueflame_takes_the_wqe_from_the_register(void **state)
{
	struct rig_wqe w;
	uint8_t bf[256] = {};

	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_inline(&w, "from memory", 12);
	rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_inline(&w, "from the bf", 12);
	memcpy(bf, w.b, 64);
	put_be32(bf + 4, a->obj.num << 8 | w.ds);
	qp_send_doorbell(rig.hca[0], RIG_UAR, bf, w.ds * 16);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_string_equal(rig_ptr(1, buf_b), "from the bf");
	assert_int_equal(rig.hca[0]->count.db_bf, 1);
	assert_int_equal(rig.hca[0]->count.wqes_bf, 1);
	/* The same buffer again: its WQE has been executed. */
	qp_send_doorbell(rig.hca[0], RIG_UAR, bf, w.ds * 16);
	rig_settle();
	assert_int_equal(rig.ncqe, 2);
}

/* What has the length of no WQE is not executed: the WQE is read from memory, all of it. */
static void incomplete_blueflame_reads_memory(void **state)
{
	uint8_t bf[64] = {};
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	rig_recv(1, b, buf_b, 4096, key_b);
	wq_ctrl(&w, WQE_SEND_IMM, true, 1);
	for (i = 0; i < 6; i++)
		wq_data(&w, buf_a + i, 1, key_a);
	rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	memcpy(bf, w.b, sizeof(bf));
	put_be32(bf + 4, a->obj.num << 8 | w.ds);
	put_be32(bf + 12, 2);
	qp_send_doorbell(rig.hca[0], RIG_UAR, bf, sizeof(bf));
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.imm_inval_pkey, 1);
	assert_true(same(6));
	assert_int_equal(rig.hca[0]->count.wqes_bf, 0);
}

static void blueflame_for_a_later_wqe_reads_memory(void **state)
{
	struct rig_wqe w;
	uint8_t bf[64] = {};

	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	wq_ctrl(&w, WQE_NOP, false, 0);
	rig_put(0, a, w.b, w.ds);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_inline(&w, "from memory", 12);
	rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	memcpy(bf, w.b, 64);
	memcpy(bf + 20, "not from me", 12);
	put_be32(bf, 1 << 8 | WQE_SEND);
	put_be32(bf + 4, a->obj.num << 8 | w.ds);
	qp_send_doorbell(rig.hca[0], RIG_UAR, bf, 64);
	rig_run(2, 1000);
	assert_string_equal(rig_ptr(1, buf_b), "from memory");
}

/* The counter has 16 bits: an index comes again, for another WQE than the buffer had. */
static void blueflame_is_used_once(void **state)
{
	struct rig_wqe w;
	uint8_t bf[64] = {};
	unsigned int i;

	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	rig_recv(1, b, buf_b, 64, key_b);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_inline(&w, "the first one", 14);
	rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	memcpy(bf, w.b, 64);
	put_be32(bf + 4, a->obj.num << 8 | w.ds);
	qp_send_doorbell(rig.hca[0], RIG_UAR, bf, 64);
	assert_int_equal(rig_run(2, 1000), 2);
	wq_ctrl(&w, WQE_NOP, false, 0);
	for (i = 0; i < 65535; i++) {
		rig_put(0, a, w.b, w.ds);
		if (i % 60 && i < 65534)
			continue;
		rig_show(0, a);
		rig_ring(0, a);
		while (a->sq_hw != a->req->posted)
			event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	}
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_inline(&w, "another one", 12);
	assert_int_equal(rig_send(0, a, w.b, w.ds), 0);
	assert_int_equal(rig_run(4, 1000), 4);
	assert_string_equal(rig_ptr(1, buf_b), "another one");
}

static void wqes_wrap_around_the_ring(void **state)
{
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	wq_ctrl(&w, WQE_NOP, false, 0);
	for (i = 0; i < 62; i++)
		rig_send(0, a, w.b, w.ds);
	rig_settle();
	rig_recv(1, b, buf_b, 1024, key_b);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_inline(&w, rig_ptr(0, buf_a), 200);
	assert_int_equal(rig_send(0, a, w.b, w.ds), 62);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_true(same(200));
	assert_int_equal(a->sq_hw, 62 + 4);
}

static void wqe_of_another_qp_is_an_error(void **state)
{
	struct rig_wqe w;
	uint16_t idx;

	(void)state;
	wq_ctrl(&w, WQE_NOP, true, 0);
	idx = rig_put(0, a, w.b, w.ds);
	put_be32(rig_ptr(0, a->mem.pas[1] + idx * 64), (idx + 1) << 8 | WQE_NOP);
	wq_ctrl(&w, WQE_NOP, false, 0);
	rig_put(0, a, w.b, w.ds);	/* the doorbell is this one's */
	rig_show(0, a);
	rig_ring(0, a);
	rig_settle();
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
}

static void wqe_longer_than_posted_is_an_error(void **state)
{
	struct rig_wqe w;

	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_inline(&w, rig_ptr(0, buf_a), 60);
	rig_put(0, a, w.b, w.ds);
	put_be32(rig_ptr(0, a->dbr.addr + DBR_SND), 1);
	rig_ring(0, a);
	rig_settle();
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
}

/*
 * A guest that changes a WQE while the HCA reads it: as soon as the HCA has read the WQEBB at @off of the send
 * queue, its control segment and the header of its inline data become @ctrl and @header. The Makefile has the
 * linker pass the transport's calls of qmem_read() through here.
 */
static struct {
	uint8_t *wqebb;		/* in guest memory, NULL: nothing changes */
	size_t off;
	uint32_t qpn_ds, header;
	unsigned int reads;
} change;

int __real_qmem_read(struct hca *hca, const struct queue_mem *m, size_t off, void *buf, size_t len);
int __wrap_qmem_read(struct hca *hca, const struct queue_mem *m, size_t off, void *buf, size_t len);

int __wrap_qmem_read(struct hca *hca, const struct queue_mem *m, size_t off, void *buf, size_t len)
{
	int err = __real_qmem_read(hca, m, off, buf, len);

	if (change.wqebb && m == &a->mem && off == change.off) {
		put_be32(change.wqebb + 4, change.qpn_ds);
		put_be32(change.wqebb + 16, change.header);
		change.reads++;
	}
	return err;
}

static void first_wqebb_is_read_once(void **state)
{
	uint64_t sq = a->mem.pas[1];
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	rig_recv(1, b, buf_b, 1024, key_b);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_inline(&w, rig_ptr(0, buf_a), 60);
	assert_int_equal(w.ds, 5);
	rig_put(0, a, w.b, w.ds);
	wq_ctrl(&w, WQE_NOP, false, 0);		/* so that the longer WQE would not be too long */
	for (i = 0; i < 2; i++)
		rig_put(0, a, w.b, w.ds);
	change.wqebb = rig_ptr(0, sq);
	change.off = a->sq_off;
	change.qpn_ds = get_be32(change.wqebb + 4) + 4;
	change.header = get_be32(change.wqebb + 16) + 64;
	change.reads = 0;
	rig_show(0, a);
	rig_ring(0, a);
	rig_settle();
	change.wqebb = NULL;
	assert_int_equal(change.reads, 1);
	expect(CQ_A, 0, CQE_REQ, 0);
	expect(CQ_B + 1, 0, CQE_RESP_SEND, 0);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.byte_cnt, 60);
}

/* ---- RC data --------------------------------------------------------------------------------- */

static const uint32_t lengths[] = { 1, 31, 1023, 1024, 1025, 2048, 3000, 40000, 65536 };

static void send_any_length(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		memset(rig_ptr(1, buf_b), 0, BUF);
		rig_recv(1, b, buf_b, BUF, key_b);
		post_send(WQE_SEND, lengths[i], true);
		assert_int_equal(rig_run(2 * i + 2, 2000), 2 * i + 2);
		expect(CQ_A, i, CQE_REQ, 0);
		expect(CQ_B + 1, i, CQE_RESP_SEND, 0);
		assert_int_equal(rig_cqe(CQ_B + 1, i)->c.byte_cnt, lengths[i]);
		assert_true(same(lengths[i]));
		if (lengths[i] < BUF)
			assert_int_equal(((uint8_t *)rig_ptr(1, buf_b))[lengths[i]], 0);
	}
}

static void write_and_read_any_length(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		memset(rig_ptr(1, buf_b), 0, BUF);
		post_rdma(WQE_RDMA_WRITE, buf_b, key_b, lengths[i]);
		assert_int_equal(rig_run(2 * i + 1, 2000), 2 * i + 1);
		assert_true(same(lengths[i]));
		memset(rig_ptr(0, buf_a), 0, BUF);
		post_rdma(WQE_RDMA_READ, buf_b, key_b, lengths[i]);
		assert_int_equal(rig_run(2 * i + 2, 2000), 2 * i + 2);
		expect(CQ_A, 2 * i + 1, CQE_REQ, 0);
		assert_int_equal(rig_cqe(CQ_A, 2 * i + 1)->c.byte_cnt, lengths[i]);
		assert_int_equal(rig_cqe(CQ_A, 2 * i + 1)->c.s_wqe_opcode, WQE_RDMA_READ);
		assert_true(same(lengths[i]));
	}
}

static void empty_messages(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 0x40, key_b);
	post_send(WQE_SEND, 0, true);
	post_rdma(WQE_RDMA_WRITE, 0, 0, 0);
	post_rdma(WQE_RDMA_READ, 0, 0, 0);
	assert_int_equal(rig_run(4, 1000), 4);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.byte_cnt, 0);
	expect(CQ_A, 2, CQE_REQ, 0);
}

static void immediates(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 0x1000, key_b);
	rig_recv(1, b, buf_b + 0x1000, 0x1000, key_b);
	post_send(WQE_SEND_IMM, 100, true);
	post_rdma(WQE_RDMA_WRITE_IMM, buf_b + 0x2000, key_b, 3000);
	assert_int_equal(rig_run(4, 1000), 4);
	expect(CQ_B + 1, 0, CQE_RESP_SEND_IMM, 0);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.imm_inval_pkey, 0x11223344);
	expect(CQ_B + 1, 1, CQE_RESP_WR_IMM, 0);
	assert_int_equal(rig_cqe(CQ_B + 1, 1)->c.byte_cnt, 3000);
	assert_int_equal(rig_cqe(CQ_B + 1, 1)->c.wqe_counter, 1);
	assert_memory_equal(rig_ptr(1, buf_b + 0x2000), rig_ptr(0, buf_a), 3000);
	/* The receive WQE of the write is consumed without being written to. */
	assert_int_equal(*(uint8_t *)rig_ptr(1, buf_b + 0x1000), 0);
}

static void gather_and_scatter(void **state)
{
	struct rig_wqe w;
	uint8_t *r;

	(void)state;
	rig_recv(1, b, buf_b, 1000, key_b);
	r = rig_ptr(1, b->mem.pas[0]);
	put_be32(r + 16, 3000);		/* a second data segment instead of the terminator */
	put_be32(r + 20, key_b);
	put_be64(r + 24, buf_b + 0x4000);
	put_be32(r + 36, LKEY_TERMINATE);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf_a, 1500, key_a);	/* a packet ends in the middle of a segment */
	wq_inline(&w, rig_ptr(0, buf_a + 1500), 20);
	wq_data(&w, buf_a + 1520, 1200, key_a);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_true(same(1000));
	assert_memory_equal(rig_ptr(1, buf_b + 0x4000), rig_ptr(0, buf_a + 1000), 1720);
}

static void unsignaled_work_writes_no_cqe(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	rig_recv(1, b, buf_b, 64, key_b);
	post_send(WQE_SEND, 10, false);
	post_send(WQE_SEND, 10, true);
	rig_settle();
	assert_non_null(rig_cqe(CQ_A, 0));
	assert_int_equal(rig_cqe(CQ_A, 0)->c.wqe_counter, 1);
	assert_null(rig_cqe(CQ_A, 1));
}

static void user_index_in_every_cqe(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	post_send(WQE_SEND, 10, true);
	rig_run(2, 1000);
	assert_int_equal(rig_cqe(CQ_A, 0)->c.srqn_uidx, a->user_index);
	assert_int_equal(rig_cqe(CQ_A, 0)->c.qpn, a->obj.num);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.srqn_uidx, b->user_index);
}

static void short_data_goes_into_the_cqe(void **state)
{
	(void)state;
	b->cs_res = 1;
	a->cs_req = 0x11;
	rig_recv(1, b, buf_b, 64, key_b);
	rig_recv(1, b, buf_b, 64, key_b);
	post_send(WQE_SEND, 32, true);
	post_send(WQE_SEND, 33, true);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 5);
	assert_int_equal(rig_run(5, 1000), 5);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.inline_len, 32);
	assert_memory_equal(rig_cqe(CQ_B + 1, 0)->data, rig_ptr(0, buf_a), 32);
	assert_int_equal(rig_cqe(CQ_B + 1, 1)->c.inline_len, 0);
	assert_true(same(33));
	assert_int_equal(rig_cqe(CQ_A, 2)->c.inline_len, 5);
	assert_memory_equal(rig_cqe(CQ_A, 2)->data, rig_ptr(1, buf_b), 5);
}

static void scatter_to_cqe_leaves_memory_alone(void **state)
{
	(void)state;
	b->cs_res = 1;
	rig_recv(1, b, buf_b, 64, key_b);
	post_send(WQE_SEND, 8, true);
	rig_run(2, 1000);
	assert_false(same(8));
}

static void atomics_in_host_order(void **state)
{
	uint64_t *word;

	(void)state;
	word = rig_ptr(1, buf_b + 64);
	*word = 40;
	post_atomic(WQE_ATOMIC_FA, buf_b + 64, 2, 0);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_true(*word == 42);
	assert_true(*(uint64_t *)rig_ptr(0, buf_a) == 40);
	post_atomic(WQE_ATOMIC_CS, buf_b + 64, 7, 41);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_true(*word == 42);
	assert_true(*(uint64_t *)rig_ptr(0, buf_a) == 42);
	post_atomic(WQE_ATOMIC_CS, buf_b + 64, 7, 42);
	assert_int_equal(rig_run(3, 1000), 3);
	assert_true(*word == 7);
	assert_int_equal(rig_cqe(CQ_A, 2)->c.byte_cnt, 8);
}

static void atomics_in_network_order(void **state)
{
	uint64_t *word;

	(void)state;
	IFC_SET(atomic_caps, rig.hca[0]->cap[3], atomic_req_8B_endianness_mode, 0);
	IFC_SET(atomic_caps, rig.hca[1]->cap[3], atomic_req_8B_endianness_mode, 0);
	word = rig_ptr(1, buf_b + 64);
	*word = htobe64(255);
	post_atomic(WQE_ATOMIC_FA, buf_b + 64, 1, 0);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_true(*word == htobe64(256));
	assert_true(*(uint64_t *)rig_ptr(0, buf_a) == htobe64(255));
}

static void masked_atomics(void **state)
{
	uint64_t *word;
	struct rig_wqe w;

	(void)state;
	word = rig_ptr(1, buf_b);
	*word = 0xff00ff;
	wq_ctrl(&w, WQE_MASKED_CS, true, 0);
	wq_raddr(&w, buf_b, key_b);
	wq_atomic(&w, 0x1234, 0xff);
	wq_atomic(&w, 0x00ff, 0xff);
	wq_data(&w, buf_a, 8, key_a);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_true(*word == 0xff0034);
	*word = 0xffff;
	post_atomic(WQE_MASKED_FA, buf_b, 0x0001, 0x8080);	/* fields of 8 bits */
	assert_int_equal(rig_run(2, 1000), 2);
	assert_true(*word == 0xff00);
}

static void loopback_on_one_hca(void **state)
{
	struct qp *c = rig_qp(0, QPT_RC, 30), *d = rig_qp(0, QPT_RC, 40);
	struct rig_wqe w;

	(void)state;
	rig_connect(c, 0, d, 0);
	rig_recv(0, d, buf_a + 0x8000, 4096, key_a);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf_a, 4096, key_a);
	rig_send(0, c, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_memory_equal(rig_ptr(0, buf_a), rig_ptr(0, buf_a + 0x8000), 4096);
}

static void qp_connected_to_itself(void **state)
{
	struct qp *c = rig_qp(0, QPT_RC, 30);
	struct rig_wqe w;

	(void)state;
	rig_connect(c, 0, c, 0);
	c->next_rcv_psn = c->next_send_psn;
	rig_recv(0, c, buf_a + 0x8000, 4096, key_a);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf_a, 4096, key_a);
	rig_send(0, c, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_memory_equal(rig_ptr(0, buf_a), rig_ptr(0, buf_a + 0x8000), 4096);
}

static void reads_within_the_limit(void **state)
{
	unsigned int i;

	(void)state;
	a->max_rd_atomic = 1;
	b->max_dest_rd_atomic = 1;
	for (i = 0; i < 10; i++)
		post_rdma(WQE_RDMA_READ, buf_b, key_b, 5000);
	assert_int_equal(rig_run(10, 2000), 10);
	for (i = 0; i < 10; i++)
		expect(CQ_A, i, CQE_REQ, 0);
}

static void more_reads_than_resources_are_refused(void **state)
{
	unsigned int i;

	(void)state;
	a->max_rd_atomic = 4;
	b->max_dest_rd_atomic = 1;
	for (i = 0; i < 4; i++)
		post_rdma(WQE_RDMA_READ, buf_b, key_b, 5000);
	rig_run(4, 1000);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(rig_events(EV_WQ_INVAL_REQ), 1);
}

static void fence_waits_for_reads(void **state)
{
	struct rig_wqe w;

	(void)state;
	memset(rig_ptr(1, buf_b), 0x5a, 4096);
	memset(rig_ptr(0, buf_a), 0, 4096);
	wq_ctrl(&w, WQE_RDMA_READ, false, 0);
	wq_raddr(&w, buf_b, key_b);
	wq_data(&w, buf_a, 4096, key_a);
	rig_put(0, a, w.b, w.ds);
	wq_ctrl(&w, WQE_RDMA_WRITE, true, 0);
	w.b[11] |= FENCE_READS << 5;
	wq_raddr(&w, buf_b + 8192, key_b);
	wq_data(&w, buf_a, 4096, key_a);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_memory_equal(rig_ptr(1, buf_b), rig_ptr(1, buf_b + 8192), 4096);
}

static void no_queue_starves_another(void **state)
{
	struct qp *c = rig_qp(0, QPT_RC, 30), *d = rig_qp(1, QPT_RC, 40);
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	rig_connect(c, 0, d, 1);
	for (i = 0; i < 20; i++)	/* each has more packets than a slice */
		post_rdma(WQE_RDMA_WRITE, buf_b, key_b, BUF);
	wq_ctrl(&w, WQE_RDMA_WRITE, true, 0);
	wq_raddr(&w, buf_b, key_b);
	wq_data(&w, buf_a, 8, key_a);
	rig_send(0, c, w.b, w.ds);
	assert_int_equal(rig_run(21, 3000), 21);
	assert_int_equal(rig.cqe[0].cqn, 30);
}

/* ---- loss ------------------------------------------------------------------------------------ */

/* Drop one packet at each position, in both directions: the result must be as if none was lost. */
static void lost_packets_are_repaired(void **state)
{
	unsigned int lost, side, n;
	uint64_t *word;

	for (side = 0; side < 2; side++)
		for (lost = 0; lost < 14; lost++) {
			rc_up(state);
			word = rig_ptr(1, buf_b + 0x8000);
			*word = 5;
			/*
			 * Each answer after a lost one shows the loss: together they are one retry.
			 */
			a->retry_count = a->cur_retry = 2;
			a->path.ack_timeout = 14;
			rig_recv(1, b, buf_b, 8192, key_b);
			rig_recv(1, b, buf_b + 0xa000, 8192, key_b);
			fabric_inject_drop(rig.hca[side], lost, 1);
			post_send(WQE_SEND, 3000, true);
			local = buf_a + 0xf000;
			post_atomic(WQE_ATOMIC_FA, buf_b + 0x8000, 1, 0);
			local = buf_a + 0x8000;
			post_rdma(WQE_RDMA_READ, buf_b, key_b, 3000);
			local = buf_a;
			post_rdma(WQE_RDMA_WRITE_IMM, buf_b + 0x4000, key_b, 3000);
			rig_run(6, 3000);
			rig_settle();
			n = rig.ncqe;
			assert_int_equal(n, 6);
			for (n = 0; n < 4; n++)
				expect(CQ_A, n, CQE_REQ, 0);
			assert_null(rig_cqe(CQ_B + 1, 2));
			assert_true(*word == 6);
			assert_memory_equal(rig_ptr(1, buf_b), rig_ptr(0, buf_a), 3000);
			assert_memory_equal(rig_ptr(1, buf_b + 0x4000), rig_ptr(0, buf_a), 3000);
			assert_memory_equal(rig_ptr(0, buf_a + 0x8000), rig_ptr(0, buf_a), 3000);
			assert_int_equal(*(uint64_t *)rig_ptr(0, buf_a + 0xf000), 5);
			rig_down(state);
		}
}

/*
 * A READ that arrives a second time, and late, is answered again. The requester does not wait for
 * this answer, which so is none of max_dest_rd_atomic.
 */
static void late_duplicate_of_a_read_takes_no_room(void **state)
{
	struct packet *p = packet_alloc(rig.fabric);

	(void)state;
	a->max_rd_atomic = 1;
	b->max_dest_rd_atomic = 1;
	p->opcode = BTH_RC | BTH_READ_REQ;
	ib_hdr(p)->slid = fabric_lid(rig.hca[0]);
	ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
	p->pkey = 0xffff;
	p->dqpn = b->obj.num;
	p->psn = a->next_send_psn;
	p->va = buf_b;
	p->rkey = key_b;
	p->dma_len = 5000;
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 5000);
	assert_int_equal(rig_run(1, 1000), 1);
	fabric_tx(rig.hca[0], p);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 5000);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 1, CQE_REQ, 0);
}

static void retries_run_out(void **state)
{
	(void)state;
	a->retry_count = a->cur_retry = 2;
	fabric_set_link(rig.hca[1], false);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 100);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 100);
	assert_int_equal(rig_run(2, 3000), 2);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_WR_FLUSH);
	assert_int_equal(a->state, QPS_ERR);
	assert_int_equal(rig.hca[0]->count.packets_tx, 2 * 3);
	assert_int_equal(rig.hca[1]->count.packets_rx, 0);
}

static void receiver_becomes_ready(void **state)
{
	(void)state;
	post_send(WQE_SEND, 3000, true);
	rig_run(1, 30);
	assert_int_equal(rig.ncqe, 0);
	rig_recv(1, b, buf_b, 4096, key_b);
	assert_int_equal(rig_run(2, 2000), 2);
	assert_true(same(3000));
	assert_int_equal(a->cur_retry, 7);
}

static void receiver_never_becomes_ready(void **state)
{
	(void)state;
	a->rnr_retry = a->cur_rnr_retry = 3;
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(1, 3000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_RNR_RETRY);
	assert_int_equal(rig.hca[0]->count.packets_tx, 4);
	assert_int_equal(b->state, QPS_RTS);
}

static void write_with_immediate_waits_for_a_receive(void **state)
{
	(void)state;
	post_rdma(WQE_RDMA_WRITE_IMM, buf_b, key_b, 3000);
	rig_run(1, 30);
	assert_int_equal(rig.ncqe, 0);
	rig_recv(1, b, buf_b + 0x8000, 64, key_b);
	assert_int_equal(rig_run(2, 2000), 2);
	assert_true(same(3000));
}

static void packets_of_other_ports_are_ignored(void **state)
{
	struct packet *p = packet_alloc(rig.fabric);

	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	ib_hdr(p)->slid = 77;
	ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
	p->dqpn = b->obj.num;
	p->psn = b->next_rcv_psn;
	p->opcode = BTH_RC | BTH_SEND_ONLY;
	p->len = 10;
	fabric_tx(rig.hca[0], p);
	rig_settle();
	assert_int_equal(rig.ncqe, 0);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void message_too_long_for_the_qp(void **state)
{
	(void)state;
	a->log_msg_max = 10;
	post_send(WQE_SEND, 1025, false);
	rig_run(1, 1000);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_LENGTH);
	assert_int_equal(a->state, QPS_ERR);
}

static void opcode_not_of_the_service(void **state)
{
	(void)state;
	post_send(0x3f, 16, true);
	rig_run(1, 1000);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
}

static void local_key_is_checked(void **state)
{
	struct rig_wqe w;

	(void)state;
	rig_recv(1, b, buf_b, BUF, key_b);
	rig_recv(1, b, buf_b, BUF, key_b);
	post_send(WQE_SEND, 16, true);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf_a + BUF - 8, 16, key_a);
	rig_send(0, a, w.b, w.ds);
	post_send(WQE_SEND, 16, true);
	rig_run(4, 1000);
	rig_settle();
	expect(CQ_A, 0, CQE_REQ, 0);	/* the packets before are not lost */
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_LOCAL_PROT);
	expect(CQ_A, 2, CQE_REQ_ERR, SYND_WR_FLUSH);
	assert_int_equal(a->state, QPS_ERR);
}

static void local_rights_are_checked(void **state)
{
	uint32_t ro = rig_mkey(0, buf_a, BUF, MK_LOCAL_READ);
	struct rig_wqe w;

	(void)state;
	wq_ctrl(&w, WQE_RDMA_READ, true, 0);
	wq_raddr(&w, buf_b, key_b);
	wq_data(&w, buf_a, 16, ro);
	rig_send(0, a, w.b, w.ds);
	rig_run(1, 1000);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_PROT);
}

static void remote_access_row(uint64_t addr, uint32_t rkey, uint8_t opcode)
{
	post_rdma(opcode, addr, rkey, 16);
	rig_run(1, 1000);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(rig_events(EV_WQ_ACCESS), 1);
}

static void remote_key_is_checked(void **state)
{
	(void)state;
	remote_access_row(buf_b, key_b + 0x100, WQE_RDMA_WRITE);
}

static void remote_key_variant_is_checked(void **state)
{
	(void)state;
	remote_access_row(buf_b, key_b ^ 1, WQE_RDMA_READ);
}

static void remote_range_is_checked(void **state)
{
	(void)state;
	remote_access_row(buf_b + BUF - 15, key_b, WQE_RDMA_WRITE);
}

static void remote_rights_are_checked(void **state)
{
	(void)state;
	remote_access_row(buf_b, rig_mkey(1, buf_b, BUF, ALL & ~MK_REMOTE_READ), WQE_RDMA_READ);
}

static void remote_pd_is_checked(void **state)
{
	(void)state;
	b->pdn = RIG_PD + 1;
	remote_access_row(buf_b, key_b, WQE_RDMA_WRITE);
}

static void qp_rights_are_checked(void **state)
{
	(void)state;
	b->rre = false;
	remote_access_row(buf_b, key_b, WQE_RDMA_READ);
}

static void qp_write_right_is_checked(void **state)
{
	(void)state;
	b->rwe = false;
	remote_access_row(buf_b, key_b, WQE_RDMA_WRITE);
}

static void qp_atomic_right_is_checked(void **state)
{
	(void)state;
	b->rae = false;
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	rig_run(1, 1000);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
}

static void masked_atomic_in_the_mode_of_the_specification(void **state)
{
	uint64_t *word;

	(void)state;
	word = rig_ptr(1, buf_b);
	*word = 1;
	b->atomic_mode = ATOMIC_IB_COMP;
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_true(*word == 2);
	post_atomic(WQE_MASKED_FA, buf_b, 1, 0);
	rig_run(2, 1000);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_REMOTE_INVAL_REQ);
	assert_true(*word == 2);
}

static void atomic_operation_that_is_not_offered(void **state)
{
	(void)state;
	IFC_SET(atomic_caps, rig.hca[0]->cap[CAP_ATOMIC], atomic_operations, 0x7);
	post_atomic(WQE_MASKED_FA, buf_b, 1, 0);
	rig_run(1, 1000);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
}

static void atomic_operation_that_the_peer_does_not_offer(void **state)
{
	(void)state;
	IFC_SET(atomic_caps, rig.hca[1]->cap[CAP_ATOMIC], atomic_operations, 0x2);
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	assert_int_equal(rig_run(1, 1000), 1);
	post_atomic(WQE_ATOMIC_CS, buf_b, 1, 0);
	rig_run(2, 1000);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_REMOTE_INVAL_REQ);
}

static void misaligned_atomic_is_refused(void **state)
{
	(void)state;
	post_atomic(WQE_ATOMIC_FA, buf_b + 4, 1, 0);
	rig_run(1, 1000);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_INVAL_REQ);
	assert_int_equal(rig_events(EV_WQ_INVAL_REQ), 1);
}

static void receive_buffer_too_short(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 1500, key_b);
	rig_recv(1, b, buf_b, 1500, key_b);
	post_send(WQE_SEND, 1501, true);
	rig_run(3, 1000);
	rig_settle();
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_INVAL_REQ);
	expect(CQ_B + 1, 0, CQE_RESP_ERR, SYND_LOCAL_LENGTH);
	expect(CQ_B + 1, 1, CQE_RESP_ERR, SYND_WR_FLUSH);
	assert_int_equal(rig_cqe(CQ_B + 1, 1)->c.wqe_counter, 1);
	assert_int_equal(rig_events(EV_WQ_INVAL_REQ), 0);	/* the CQE has all of it */
}

static void receive_key_is_checked(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 64, key_b + 0x100);
	post_send(WQE_SEND, 16, true);
	rig_run(2, 1000);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_OP);
	expect(CQ_B + 1, 0, CQE_RESP_ERR, SYND_LOCAL_PROT);
}

static void response_of_the_wrong_kind(void **state)
{
	struct packet *p;
	uint32_t psn = a->next_send_psn;

	(void)state;
	fabric_inject_drop(rig.hca[1], 0, 1);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 100);
	while (rig.hca[0]->count.packets_tx < 1)
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	p = packet_alloc(rig.fabric);
	ib_hdr(p)->slid = fabric_lid(rig.hca[1]);
	ib_hdr(p)->dlid = fabric_lid(rig.hca[0]);
	p->dqpn = a->obj.num;
	p->psn = psn;
	p->opcode = BTH_RC | BTH_READ_ONLY;
	p->pkey = 0xffff;
	p->len = 99;
	fabric_tx(rig.hca[1], p);
	rig_run(1, 1000);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_BAD_RESP);
}

/* ---- state changes --------------------------------------------------------------------------- */

static void error_flushes_both_queues(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	rig_recv(1, b, buf_b, 64, key_b);
	rig_state(1, b, QPS_ERR);
	assert_int_equal(rig.ncqe, 2);
	expect(CQ_B + 1, 1, CQE_RESP_ERR, SYND_WR_FLUSH);
	/* Receives that are posted later are not announced by a doorbell, but must be flushed. */
	rig_recv(1, b, buf_b, 64, key_b);
	assert_int_equal(rig_run(3, 1000), 3);
	assert_int_equal(rig_cqe(CQ_B + 1, 2)->c.wqe_counter, 2);
	/* Sends that are posted later. */
	fabric_set_link(rig.hca[1], false);
	post_send(WQE_SEND, 16, false);
	rig_run(4, 20);
	rig_state(0, a, QPS_ERR);
	post_send(WQE_SEND, 16, false);
	assert_int_equal(rig_run(5, 1000), 5);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_WR_FLUSH);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_WR_FLUSH);
}

static void sqd_finishes_what_was_begun(void **state)
{
	unsigned int i, done;

	(void)state;
	for (i = 0; i < 10; i++)
		post_rdma(WQE_RDMA_WRITE, buf_b, key_b, BUF);
	rig_run(1, 1000);
	rig_state(0, a, QPS_SQ_DRAINING);
	rig_settle();
	done = rig.ncqe;
	assert_true(done < 10);
	assert_int_equal(rig_events(EV_SQ_DRAINED), 1);
	assert_int_equal(a->state, QPS_SQD);
	rig_ring(0, a);
	rig_settle();
	assert_int_equal(rig.ncqe, done);
	rig_state(0, a, QPS_RTS);
	assert_int_equal(rig_run(10, 2000), 10);
	for (i = 0; i < 10; i++)
		expect(CQ_A, i, CQE_REQ, 0);
}

static void idle_queue_drains_at_once(void **state)
{
	(void)state;
	rig_state(0, a, QPS_SQ_DRAINING);
	rig_settle();
	assert_int_equal(rig_events(EV_SQ_DRAINED), 1);
}

static void first_packet_raises_comm_est(void **state)
{
	(void)state;
	rig_state(1, b, QPS_RTR);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 3000);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_int_equal(rig_events(EV_COMM_EST), 1);
}

static void reset_drops_all_state(void **state)
{
	(void)state;
	fabric_set_link(rig.hca[1], false);
	post_send(WQE_SEND, 16, true);
	rig_run(1, 5);
	rig_state(0, a, QPS_RST);
	rig_settle();
	assert_int_equal(rig.ncqe, 0);
	assert_int_equal(a->sq_hw, 0);
}

static void qp_is_destroyed_in_the_middle_of_a_message(void **state)
{
	uint32_t qpn = a->obj.num;

	(void)state;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, BUF);
	event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	transport_qp_ops.destroy(rig.hca[0], a);
	free(a->mem.pas);
	obj_free(rig.hca[0], obj_find(rig.hca[0], OBJ_QP, qpn));
	rig_settle();
	assert_int_equal(rig.ncqe, 0);
}

/* ---- UC -------------------------------------------------------------------------------------- */

static void uc_sends_and_writes(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, BUF, key_b);
	post_send(WQE_SEND, 5000, true);
	post_rdma(WQE_RDMA_WRITE, buf_b + 0x8000, key_b, 5000);
	assert_int_equal(rig_run(3, 1000), 3);
	rig_settle();
	assert_true(same(5000));
	assert_memory_equal(rig_ptr(1, buf_b + 0x8000), rig_ptr(0, buf_a), 5000);
}

static void uc_drops_whole_messages(void **state)
{
	unsigned int lost;

	for (lost = 0; lost < 3; lost++) {
		uc_up(state);
		rig_recv(1, b, buf_b, BUF, key_b);
		fabric_inject_drop(rig.hca[1], lost, 1);
		post_send(WQE_SEND, 3000, true);
		post_send(WQE_SEND_IMM, 2000, true);
		rig_settle();
		expect(CQ_A, 0, CQE_REQ, 0);
		expect(CQ_A, 1, CQE_REQ, 0);
		expect(CQ_B + 1, 0, CQE_RESP_SEND_IMM, 0);
		assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.byte_cnt, 2000);
		assert_true(same(2000));
		assert_null(rig_cqe(CQ_B + 1, 1));
		rig_down(state);
	}
}

static void uc_without_receive_drops_the_message(void **state)
{
	(void)state;
	post_send(WQE_SEND, 3000, true);
	rig_settle();
	assert_int_equal(rig.ncqe, 1);
	rig_recv(1, b, buf_b, BUF, key_b);
	post_send(WQE_SEND, 100, true);
	rig_settle();
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.byte_cnt, 100);
}

static void uc_error_stops_the_send_queue_only(void **state)
{
	(void)state;
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 16);
	post_send(WQE_SEND, 16, false);
	rig_settle();
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_WR_FLUSH);
	assert_int_equal(a->state, QPS_SQER);
	rig_state(0, a, QPS_RTS);
	rig_recv(1, b, buf_b, 64, key_b);
	post_send(WQE_SEND, 16, true);
	assert_int_equal(rig_run(4, 1000), 4);
	expect(CQ_A, 2, CQE_REQ, 0);
}

/* ---- UD -------------------------------------------------------------------------------------- */

static void ud_send(uint32_t len, uint32_t qkey, const uint8_t *dgid)
{
	struct rig_wqe w;

	wq_ctrl(&w, WQE_SEND_IMM, true, 0xabcd);
	wq_av(&w, fabric_lid(rig.hca[1]), b->obj.num, qkey, dgid);
	wq_data(&w, buf_a, len, key_a);
	rig_send(0, a, w.b, w.ds);
}

static void ud_leaves_room_for_the_grh(void **state)
{
	(void)state;
	memset(rig_ptr(1, buf_b), 0xcc, 40);
	rig_recv(1, b, buf_b, 40 + 100, key_b);
	ud_send(100, 0x1111, NULL);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.byte_cnt, 140);
	assert_false(rig_cqe(CQ_B + 1, 0)->c.grh);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.src_qp, a->obj.num);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.slid, fabric_lid(rig.hca[0]));
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.imm_inval_pkey, 0xabcd);
	assert_memory_equal(rig_ptr(1, buf_b + 40), rig_ptr(0, buf_a), 100);
	assert_int_equal(*(uint8_t *)rig_ptr(1, buf_b), 0xcc);
}

static void ud_grh(void **state)
{
	uint8_t gid[2][16], *grh;

	(void)state;
	gid_get(rig.hca[0], 0, gid[0]);
	gid_get(rig.hca[1], 0, gid[1]);
	rig_recv(1, b, buf_b, 4096, key_b);
	ud_send(100, 0x1111, gid[1]);
	assert_int_equal(rig_run(2, 1000), 2);
	grh = rig_ptr(1, buf_b);
	assert_true(rig_cqe(CQ_B + 1, 0)->c.grh);
	assert_int_equal(get_be32(grh), 6u << 28 | 0x42 << 20 | 0x12345);
	assert_int_equal(get_be16(grh + 4), 12 + 8 + 4 + 4 + 100);
	assert_int_equal(grh[6], 0x1b);
	assert_int_equal(grh[7], 9);
	assert_memory_equal(grh + 8, gid[0], 16);
	assert_memory_equal(grh + 24, gid[1], 16);
	rig_recv(1, b, buf_b, 4096, key_b);
	ud_send(100, 0x1111, gid[0]);		/* a GID of another port */
	rig_settle();
	assert_null(rig_cqe(CQ_B + 1, 1));
}

static void ud_source_gid(void **state)
{
	uint8_t gid[2][16];
	struct rig_wqe w;

	(void)state;
	gid_get(rig.hca[0], 2, gid[0]);
	gid_get(rig.hca[1], 1, gid[1]);
	rig_recv(1, b, buf_b, 4096, key_b);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, fabric_lid(rig.hca[1]), b->obj.num, 0x1111, gid[1]);
	w.b[16 + 29] |= 2 << 4;			/* source GID 2 */
	wq_data(&w, buf_a, 100, key_a);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_memory_equal((uint8_t *)rig_ptr(1, buf_b) + 8, gid[0], 16);
	assert_memory_equal((uint8_t *)rig_ptr(1, buf_b) + 24, gid[1], 16);
	w.b[16 + 29] += 1 << 4;			/* one that does not exist */
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
}

static void ud_mtu_of_the_port(void **state)
{
	(void)state;
	fabric_set_mtu(rig.hca[0], false, 2048);
	rig_recv(1, b, buf_b, 40 + 4096, key_b);
	ud_send(2048, 0x1111, NULL);
	assert_int_equal(rig_run(2, 1000), 2);
	ud_send(2049, 0x1111, NULL);
	rig_settle();
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_LOCAL_LENGTH);
}

static void switch_drops_what_is_longer_than_the_mtu(void **state)
{
	(void)state;
	rig.hca[0]->profile->mtu = 512;
	rig_recv(1, b, buf_b, 4096, key_b);
	post_send(WQE_SEND, 512, true);
	assert_int_equal(rig_run(2, 1000), 2);
	a->retry_count = 0;
	a->cur_retry = 0;
	post_send(WQE_SEND, 513, true);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
}

/* Send between members of two partitions; true: the message arrives. */
static bool pkeys_reach(unsigned int from, unsigned int to)
{
	unsigned int n = rig.ncqe;

	a->path.pkey_index = from;
	b->path.pkey_index = to;
	rig_recv(1, b, buf_b, 4096, key_b);
	ud_send(10, 0x1111, NULL);
	rig_settle();
	return rig.ncqe == n + 2;
}

static void ud_pkey(void **state)
{
	/* Entry 0 is 0xffff, 1 is 0x8001, 2 is 0x0001, and 3 is not used. */
	static const bool reaches[4][4] = {
		{ true, false, false, false }, { false, true, true, false },
		{ false, true, false, false }, { false, false, false, false },
	};
	unsigned int i, j, bad = 0;

	(void)state;
	for (i = 0; i < 4; i++)
		for (j = 0; j < 4; j++) {
			if (pkeys_reach(i, j) != reaches[i][j])
				fail_msg("from P_Key %u to %u", i, j);
			bad += !reaches[i][j];
		}
	assert_int_equal(rig.hca[1]->count.bad_pkeys, bad);
	assert_int_equal(rig.hca[1]->count.bad_qkeys, 0);
}

static void rc_pkey(void **state)
{
	(void)state;
	a->path.pkey_index = 1;
	b->path.pkey_index = 2;
	rig_recv(1, b, buf_b, 4096, key_b);
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.imm_inval_pkey, 2);
	b->path.pkey_index = 0;
	a->retry_count = 1;
	a->cur_retry = 1;
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
	assert_true(rig.hca[1]->count.bad_pkeys >= 2);
}

static void rc_grh(void **state)
{
	(void)state;
	a->path.grh = b->path.grh = true;
	a->path.src_gid_index = 1;
	gid_get(rig.hca[1], 2, a->path.dgid);
	b->path.src_gid_index = 2;
	gid_get(rig.hca[0], 1, b->path.dgid);
	rig_recv(1, b, buf_b, 4096, key_b);
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(2, 1000), 2);
	a->retry_count = 0;
	a->cur_retry = 0;
	b->path.dgid[15]++;		/* not the GID that the packets come from */
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
	assert_int_equal(rig.hca[1]->count.packets_dropped, 1);
}

static void ud_qkey(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 4096, key_b);
	ud_send(100, 0x1112, NULL);
	rig_settle();
	assert_int_equal(rig.ncqe, 1);		/* the sender is not told */
	assert_int_equal(rig.hca[1]->count.packets_dropped, 1);
	assert_int_equal(rig.hca[1]->count.bad_qkeys, 1);
	a->qkey = 0x1111;
	ud_send(100, 0x80000000u, NULL);	/* the Q_Key of the sending QP */
	assert_int_equal(rig_run(3, 1000), 3);
}

static void ud_limits(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 40 + 4096, key_b);
	rig_recv(1, b, buf_b, 40 + 99, key_b);
	ud_send(4096, 0x1111, NULL);
	assert_int_equal(rig_run(2, 1000), 2);
	ud_send(100, 0x1111, NULL);
	rig_settle();
	expect(CQ_B + 1, 1, CQE_RESP_ERR, SYND_LOCAL_LENGTH);
	ud_send(4097, 0x1111, NULL);
	rig_settle();
	expect(CQ_A, 2, CQE_REQ_ERR, SYND_LOCAL_LENGTH);
	assert_int_equal(a->state, QPS_SQER);
}

/* Make the port of the second HCA a member of the group of LID 0xc005. */
static void join(void)
{
	fabric_forward(rig.fabric)->members[5] = 1 << fabric_port_number(rig.hca[1]);
}

static void ud_multicast(void **state)
{
	static const uint8_t group[16] = { 0xff, 0x12, [15] = 5 };
	struct rig_wqe w;

	(void)state;
	assert_int_equal(mcast_attach(rig.hca[1], group, b->obj.num), 0);
	rig_recv(1, b, buf_b, 4096, key_b);
	rig_recv(0, a, buf_a + 0x8000, 4096, key_a);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, 0xc005, 0xffffff, 0x1111, group);
	wq_data(&w, buf_a, 10, key_a);
	rig_send(0, a, w.b, w.ds);
	rig_settle();
	assert_int_equal(rig.ncqe, 1);		/* the port has not joined */
	join();
	rig_send(0, a, w.b, w.ds);
	rig_settle();
	assert_int_equal(rig.ncqe, 3);		/* the member's completion and the sender's own */
	assert_non_null(rig_cqe(CQ_B + 1, 0));
}

/* Ask the second HCA's port for its NodeInfo. */
static void send_smp(void)
{
	static const uint8_t mad[256] = { 1, 1, 1, 1, [17] = 0x11 };
	struct packet *p = packet_alloc(rig.fabric);

	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = fabric_lid(rig.hca[0]);
	ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
	p->len = sizeof(mad);
	memcpy(p->payload, mad, sizeof(mad));
	fabric_tx(rig.hca[0], p);
	rig_settle();
}

static void firmware_answers_while_there_is_no_qp0(void **state)
{
	uint64_t before = rig.hca[1]->count.packets_tx;
	struct qp *qp0 = rig_qp(1, QPT_QP0, CQ_B + 8);

	(void)state;
	send_smp();
	assert_int_equal(rig.hca[1]->count.packets_tx, before + 1);
	rig_state(1, qp0, QPS_INIT);
	rig_state(1, qp0, QPS_RTR);
	rig_recv(1, qp0, buf_b, 4096, key_b);
	send_smp();
	assert_int_equal(rig.hca[1]->count.packets_tx, before + 1);
	assert_non_null(rig_cqe(CQ_B + 9, 0));
}

/* QP1 is in each of the port's partitions: its CQE tells the P_Key, not an index. */
static void qp1_is_told_the_pkey(void **state)
{
	struct qp *qp1 = rig_qp(1, QPT_QP1, CQ_B + 8);
	struct packet *p = packet_alloc(rig.fabric);

	(void)state;
	rig_state(1, qp1, QPS_INIT);
	rig_state(1, qp1, QPS_RTR);
	rig_recv(1, qp1, buf_b, 4096, key_b);
	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = fabric_lid(rig.hca[0]);
	ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
	p->dqpn = 1;
	p->sqpn = 1;
	p->qkey = 0x80010000u;
	p->pkey = 0x8001;
	p->len = 256;
	fabric_tx(rig.hca[0], p);
	rig_settle();
	assert_non_null(rig_cqe(CQ_B + 9, 0));
	assert_int_equal(rig_cqe(CQ_B + 9, 0)->c.imm_inval_pkey, 0x8001);
}

static void own_multicast_can_be_blocked(void **state)
{
	static const uint8_t group[16] = { 0xff, 0x12, [15] = 5 };
	unsigned int block;
	struct rig_wqe w;

	(void)state;
	assert_int_equal(mcast_attach(rig.hca[0], group, a->obj.num), 0);
	rig_recv(0, a, buf_a + 0x8000, 4096, key_a);
	rig_recv(0, a, buf_a + 0x8000, 4096, key_a);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, 0xc005, 0xffffff, 0x1111, group);
	wq_data(&w, buf_a, 10, key_a);
	for (block = 0; block < 2; block++) {
		a->block_lb_mc = block;
		rig_send(0, a, w.b, w.ds);
		rig_settle();
		assert_int_equal(rig.ncqe, 2 + block);	/* the second one is sent only */
	}
}

static void ack_request_frequency(void **state)
{
	uint64_t before = rig.hca[1]->count.packets_tx;

	(void)state;
	a->log_ack_req_freq = 1;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 8 * 1024);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_true(rig.hca[1]->count.packets_tx - before >= 4);
	a->log_ack_req_freq = 8;
	before = rig.hca[1]->count.packets_tx;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 8 * 1024);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig.hca[1]->count.packets_tx - before, 1);
}

static void no_user_index_in_cqes_of_version_0(void **state)
{
	(void)state;
	a->cqe_version1 = b->cqe_version1 = false;
	rig_recv(1, b, buf_b, 4096, key_b);
	post_send(WQE_SEND, 100, true);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_A, 0)->c.srqn_uidx, 0);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.srqn_uidx, 0);
}

static void multicast_waits_for_a_full_member(void **state)
{
	static const uint8_t group[16] = { 0xff, 0x12, [15] = 5 };
	struct hca *from = rig.hca[0];
	struct packet *p;

	(void)state;
	join();
	while (fabric_can_tx(from, fabric_lid(rig.hca[1]), NULL)) {
		assert_true(fabric_can_tx(from, 0xc005, group));
		p = packet_alloc(rig.fabric);
		ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
		fabric_tx(from, p);
	}
	assert_false(fabric_can_tx(from, 0xc005, group));
	assert_true(fabric_can_tx(from, 0xc006, group));
}

static void hung_hca_holds_up_no_sender(void **state)
{
	struct hca *from = rig.hca[0];
	unsigned int n = 0;
	struct packet *p;

	(void)state;
	rig.hca[1]->hung = true;
	for (; fabric_can_tx(from, fabric_lid(rig.hca[1]), NULL); n++) {
		p = packet_alloc(rig.fabric);
		ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
		fabric_tx(from, p);
	}
	rig_settle();
	assert_true(fabric_can_tx(from, fabric_lid(rig.hca[1]), NULL));
	assert_int_equal(rig.hca[1]->count.packets_dropped, n);
}

/* ---- receive WQEs out of order ---------------------------------------------------------------- */

static void post_recvs_out_of_order(unsigned int n)
{
	unsigned int i;

	b->out_of_order = true;
	for (i = 0; i < n; i++)
		rig_recv(1, b, buf_b + 0x1000 * i, 64, key_b);
}

/* Completions come in the order of the messages, and say which WQE each has consumed. */
static void recvs_are_consumed_out_of_order(void **state)
{
	static const uint16_t order[] = { 1, 0, 3, 2, 4 };
	unsigned int i;

	(void)state;
	post_recvs_out_of_order(5);
	for (i = 0; i < 5; i++) {
		memset(rig_ptr(0, buf_a), 0x10 + i, 64);
		post_send(WQE_SEND, 64, true);
		assert_int_equal(rig_run(2 * i + 2, 1000), 2 * i + 2);
		expect(CQ_A, i, CQE_REQ, 0);
		expect(CQ_B + 1, i, CQE_RESP_SEND, 0);
		assert_int_equal(rig_cqe(CQ_B + 1, i)->c.wqe_counter, order[i]);
		assert_int_equal(*(uint8_t *)rig_ptr(1, buf_b + 0x1000 * order[i]), 0x10 + i);
	}
	assert_int_equal(b->rq_hw, 5);
}

static void what_was_consumed_ahead_is_not_flushed(void **state)
{
	static const uint16_t order[] = { 1, 0, 3, 2 };
	unsigned int i;

	(void)state;
	post_recvs_out_of_order(4);
	post_send(WQE_SEND, 64, true);
	assert_int_equal(rig_run(2, 1000), 2);
	rig_state(1, b, QPS_ERR);
	assert_int_equal(rig_run(5, 1000), 5);
	for (i = 0; i < 4; i++) {
		expect(CQ_B + 1, i, i ? CQE_RESP_ERR : CQE_RESP_SEND, i ? SYND_WR_FLUSH : 0);
		assert_int_equal(rig_cqe(CQ_B + 1, i)->c.wqe_counter, order[i]);
	}
	assert_null(rig_cqe(CQ_B + 1, 4));
}

static void reset_forgets_what_was_consumed_ahead(void **state)
{
	(void)state;
	post_recvs_out_of_order(4);
	post_send(WQE_SEND, 64, true);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_true(b->resp->ahead);
	rig_state(1, b, QPS_RST);
	assert_false(b->resp->ahead);
}

/* ---- UMR ------------------------------------------------------------------------------------- */

#define UMR_LEN		(1ull << 0)
#define UMR_LIVE	(UMR_LEN | 1ull << 6 | 1ull << 13 | 1ull << 14 | 1ull << 18 | \
			 1ull << 19 | 1ull << 20 | 1ull << 21 | 1ull << 29)

/* A memory window: one KLM that points at a part of b's buffer. */
static void umr_wqe(struct rig_wqe *w, const struct mkey *mk, uint8_t flags, uint64_t mask,
		    uint32_t octowords)
{
	uint8_t *p, *c;

	wq_ctrl(w, WQE_UMR, true, mk->obj.num << 8 | mk->variant);
	p = w->b + 16;
	c = p + 48;
	p[0] = flags;
	put_be16(p + 4, octowords);
	put_be64(p + 8, mask);
	IFC_SET(mkc, c, mkey_7_0, 0x33);
	IFC_SET(mkc, c, qpn, 0xffffff);
	IFC_SET(mkc, c, rr, 1);
	IFC_SET(mkc, c, rw, 1);
	IFC_SET64(mkc, c, start_addr, 0x5000);
	IFC_SET64(mkc, c, len, 0x100);
	w->ds = 1 + 3 + 4 + (octowords ? 4 : 0);
	put_be32(w->b + 128, 0x100);
	put_be32(w->b + 132, key_b);
	put_be64(w->b + 136, buf_b + 0x1000);
}

static void umr_binds_no_window_without_the_capability(void **state)
{
	struct mkey *mk = rig_umr_key(0, 4, MKM_KSM);
	struct rig_wqe w;

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca[0]->cap[CAP_GENERAL], imaicl, 0);
	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
}

static void umr_binds_a_window(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	uint32_t rkey = mk->obj.num << 8 | 0x33;
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80 | 0x20, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ, 0);
	post_rdma(WQE_RDMA_WRITE, 0x5010, rkey, 0xf0);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_memory_equal(rig_ptr(1, buf_b + 0x1010), rig_ptr(0, buf_a), 0xf0);
	/* After invalidation it allows no access. */
	umr_wqe(&w, mk, 0x80, 1ull << 29, 0);
	IFC_SET(mkc, w.b + 64, free, 1);
	put_be32(w.b + 12, rkey);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_B, 1, CQE_REQ, 0);
	post_rdma(WQE_RDMA_WRITE, 0x5010, rkey, 0xf0);
	rig_run(4, 1000);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
}

static unsigned int refs_of(uint32_t key)
{
	return obj_find(rig.hca[1], OBJ_MKEY, key >> 8)->refs;
}

/*
 * A region has a reference for each window that is bound to it, until the window is invalidated or
 * bound again.
 */
static void umr_holds_the_bound_region(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct mkey *other = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_int_equal(refs_of(key_b), 1);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(refs_of(key_b), 1);
	umr_wqe(&w, other, 0x80, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(3, 1000), 3);
	assert_int_equal(refs_of(key_b), 2);
	/* Bind it to a key that does not exist. */
	put_be32(w.b + 132, key_b ^ 1);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(4, 1000), 4);
	assert_int_equal(refs_of(key_b), 1);
	umr_wqe(&w, mk, 0x80, 1ull << 29, 0);
	IFC_SET(mkc, w.b + 64, free, 1);
	put_be32(w.b + 12, mk->obj.num << 8 | 0x33);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(5, 1000), 5);
	assert_int_equal(refs_of(key_b), 0);
}

/* A process takes no reference on regions of another, and cannot keep them from being destroyed. */
static void umr_does_not_hold_regions_of_other_pds(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct mkey *region = (struct mkey *)obj_find(rig.hca[1], OBJ_MKEY, key_b >> 8);
	struct rig_wqe w;

	(void)state;
	region->pdn++;
	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_int_equal(refs_of(key_b), 0);
	region->pdn--;
}

static void umr_refused(struct mkey *mk, uint8_t flags, uint64_t mask, uint32_t octowords)
{
	uint8_t before[MKC_BYTES];
	struct rig_wqe w;

	memcpy(before, mk->mkc, sizeof(before));
	umr_wqe(&w, mk, flags, mask, octowords);
	rig_send(1, b, w.b, w.ds);
	rig_run(1, 1000);
	expect(CQ_B, 0, CQE_REQ_ERR, SYND_MW_BIND);
	assert_memory_equal(before, mk->mkc, sizeof(before));
}

static void umr_needs_umr_en(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);

	(void)state;
	IFC_SET(mkc, mk->mkc, umr_en, 0);
	mkey_decode(mk);
	umr_refused(mk, 0x80, UMR_LIVE, 4);
}

static void umr_stays_in_its_pd(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);

	(void)state;
	IFC_SET(mkc, mk->mkc, pd, RIG_PD + 1);
	mkey_decode(mk);
	umr_refused(mk, 0x80, UMR_LIVE, 4);
}

static void umr_must_fit_the_key(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 2, MKM_KLM), 0x80, UMR_LIVE, 4);
}

/* Only a list that fills the whole table, or the whole new length, may go without an offset. */
static void umr_of_a_part_needs_the_offset_flag(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 8, MKM_KLM), 0x80, UMR_LIVE & ~UMR_LEN, 4);
}

/* As the stock driver registers fewer pages than a region of the kernel has room for. */
static void umr_that_sets_the_length_may_use_a_part(void **state)
{
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, rig_umr_key(1, 8, MKM_KLM), 0x80, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ, 0);
}

static void umr_of_a_part_goes_to_its_offset(void **state)
{
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, rig_umr_key(1, 8, MKM_KLM), 0x80 | 0x10, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ, 0);
}

static void umr_without_data_needs_the_inline_flag(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0, UMR_LIVE, 0);
	rig_send(1, b, w.b, w.ds);
	rig_run(1, 1000);
	expect(CQ_B, 0, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
}

/* A list of two entries that is repeated: 16 bytes of every 0x40, and 8 of every 0x20. */
static void strided_wqe(struct rig_wqe *w, const struct mkey *mk, uint32_t bytes, uint16_t entries)
{
	uint8_t *p = w->b + 128;

	umr_wqe(w, mk, 0x80, UMR_LIVE, 4);
	memset(p, 0, 64);
	put_be32(p, bytes);
	put_be32(p + 4, MKEY_STRIDE_OP);
	put_be32(p + 8, 10);
	put_be16(p + 14, entries);
	put_be16(p + 16, 0x40);
	put_be16(p + 18, 0x10);
	put_be32(p + 20, key_b);
	put_be64(p + 24, buf_b + 0x1000);
	put_be16(p + 32, 0x20);
	put_be16(p + 34, 8);
	put_be32(p + 36, key_b);
	put_be64(p + 40, buf_b + 0x2000);
}

static void umr_of_a_process_makes_a_strided_key(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	const uint8_t *from = rig_ptr(0, buf_a);
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	strided_wqe(&w, mk, 0x18, 2);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ, 0);
	assert_int_equal(refs_of(key_b), 2);
	memset(rig_ptr(1, buf_b + 0x1000), 0, 0x2000);
	post_rdma(WQE_RDMA_WRITE, 0x5000, mk->obj.num << 8 | 0x33, 10 * 0x18);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
	for (i = 0; i < 10; i++) {
		assert_memory_equal(rig_ptr(1, buf_b + 0x1000 + 0x40 * i), from + 0x18 * i, 16);
		assert_int_equal(*(uint8_t *)rig_ptr(1, buf_b + 0x1010 + 0x40 * i), 0);
		assert_memory_equal(rig_ptr(1, buf_b + 0x2000 + 0x20 * i), from + 0x18 * i + 16, 8);
	}
}

static void umr_with_a_malformed_strided_block(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	strided_wqe(&w, mk, 0x18, 4);
	rig_send(1, b, w.b, w.ds);
	rig_run(1, 1000);
	expect(CQ_B, 0, CQE_REQ_ERR, SYND_MW_BIND);
	assert_true(mk->free);
	assert_int_equal(mk->klm[0].key, 0);
}

static void umr_checks_for_free(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80 | 0x40, UMR_LIVE, 4);
}

static void umr_refuses_unknown_mask_bits(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE | 1ull << 60, 4);
}

/* UMR may not change what the capabilities exclude. */
static void umr_page_size_can_be_excluded(void **state)
{
	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca[1]->cap[0], umr_modify_entity_size_disabled, 1);
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE | 1ull << 1, 4);
}

static void umr_atomic_right_can_be_excluded(void **state)
{
	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca[1]->cap[0], umr_modify_atomic_disabled, 1);
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE, 4);
}

static void umr_relaxed_ordering_of_writes_needs_a_capability(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE | 1ull << 25, 4);
}

static void umr_relaxed_ordering_of_reads_needs_a_capability(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE | 1ull << 47, 4);
}

/* An offset of the first entry of more than 16 bits needs a capability. */
static void umr_long_offset_needs_a_capability(void **state)
{
	struct mkey *mk = rig_umr_key(1, 0x10010, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80 | 0x10, UMR_LIVE, 4);
	put_be32(w.b + 32, 1);
	rig_send(1, b, w.b, w.ds);
	rig_run(1, 1000);
	expect(CQ_B, 0, CQE_REQ_ERR, SYND_MW_BIND);
	assert_true(mk->free);
}

static void umr_wqe_too_short(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	w.ds = 7;
	rig_send(1, b, w.b, w.ds);
	rig_run(1, 1000);
	expect(CQ_B, 0, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
}

/* Otherwise a process could make its key lead to any host address. */
static void umr_of_a_process_may_not_set_addresses(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_MTT), 0x80, UMR_LIVE, 4);
}

static void umr_of_a_process_may_not_set_the_page_size(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_MTT), 0x80, 1ull << 1, 0);
}

/* Not even a driver's own queue pair may move a key over device memory. */
static void umr_may_not_move_device_memory_keys(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_MEMIC);

	(void)state;
	IFC_SET(qpc, b->qpc, fre, 1);
	umr_refused(mk, 0x80, 1ull << 6, 0);
}

/* A process is told of its refused requests by a CQE; those of the driver are on record. */
static void refused_umr_of_the_driver_is_on_record(void **state)
{
	struct expect *e = rig.hca[1]->expect;

	(void)state;
	b->type = QPT_REG_UMR;
	IFC_SET(qpc, b->qpc, fre, 1);
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE | 1ull << 60, 4);
	assert_int_equal(expect_unexpected(e, 0)->kind, INCIDENT_UMR);
	assert_string_equal(expect_unexpected(e, 0)->why, "unknown bit in mkey_mask");
}

static void refused_umr_of_a_process_is_not_on_record(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE | 1ull << 60, 4);
	assert_null(expect_unexpected(rig.hca[1]->expect, 0));
}

static void injected_refusal_of_umr_is_not_on_record(void **state)
{
	(void)state;
	b->type = QPT_REG_UMR;
	inject_set_umrs(rig.hca[1]->inject, 1, 0);
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE, 4);
	assert_null(expect_unexpected(rig.hca[1]->expect, 0));
}

static void umr_list_too_short(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	w.ds = 9;
	rig_send(1, b, w.b, w.ds);
	rig_run(1, 1000);
	expect(CQ_B, 0, CQE_REQ_ERR, SYND_MW_BIND);
}

static void umr_registers_memory_from_a_list(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_MTT);
	uint64_t list, pages;
	struct rig_wqe w;
	uint32_t lkey;

	(void)state;
	IFC_SET(qpc, b->qpc, fre, 1);
	rig.brk[1] = (rig.brk[1] + 4095) & ~4095ull;
	list = rig_alloc(1, 64);
	lkey = rig_mkey(1, list, 64, MK_LOCAL_READ);
	rig.brk[1] = (rig.brk[1] + 4095) & ~4095ull;
	pages = rig_alloc(1, 8192);
	put_be64(rig_ptr(1, list), (pages + 4096) | 3);		/* in the other order */
	put_be64(rig_ptr(1, list + 8), pages | 3);
	umr_wqe(&w, mk, 0x20 | 0x10, UMR_LIVE, 4);
	IFC_SET64(mkc, w.b + 64, start_addr, 0x7000);
	IFC_SET64(mkc, w.b + 64, len, 8192);
	memset(w.b + 128, 0, 64);
	put_be32(w.b + 128, 64);
	put_be32(w.b + 132, lkey);
	put_be64(w.b + 136, list);
	w.ds = 9;
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ, 0);
	post_rdma(WQE_RDMA_WRITE, 0x7000, mk->obj.num << 8 | 0x33, 8192);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_memory_equal(rig_ptr(1, pages + 4096), rig_ptr(0, buf_a), 4096);
	assert_memory_equal(rig_ptr(1, pages), rig_ptr(0, buf_a + 4096), 4096);
}

static void send_with_invalidate(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	IFC_SET(mkc, mk->mkc, free, 0);
	IFC_SET(mkc, mk->mkc, en_rinval, 1);
	mkey_decode(mk);
	rig_recv(1, b, buf_b, 64, key_b);
	rig_recv(1, b, buf_b, 64, key_b);
	wq_ctrl(&w, WQE_SEND_INVAL, true, mk->obj.num << 8 | mk->variant);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_B + 1, 0, CQE_RESP_SEND_INV, 0);
	assert_true(mk->free);
	wq_ctrl(&w, WQE_SEND_INVAL, true, key_b);	/* remote invalidation is not allowed for this key */
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(4, 1000), 4);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
	assert_false(mkey_find(rig.hca[1], key_b) == NULL);
}

#define RC(f)	cmocka_unit_test_setup_teardown(f, rc_up, rig_down)
#define UC(f)	cmocka_unit_test_setup_teardown(f, uc_up, rig_down)
#define UD(f)	cmocka_unit_test_setup_teardown(f, ud_up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RC(nothing_runs_before_the_register_is_rung), RC(nothing_runs_beyond_the_record),
		RC(doorbell_is_the_start_of_its_wqe), RC(late_doorbell_is_no_mistake),
		RC(second_doorbell_has_no_effect), RC(one_doorbell_for_many_wqes),
		RC(doorbell_on_another_uar_is_dropped), RC(doorbell_before_rts_is_dropped),
		RC(record_beyond_the_queue_is_fatal), RC(blueflame_takes_the_wqe_from_the_register),
		RC(incomplete_blueflame_reads_memory),
		RC(blueflame_for_a_later_wqe_reads_memory), RC(blueflame_is_used_once),
		RC(wqes_wrap_around_the_ring), RC(wqe_of_another_qp_is_an_error),
		RC(wqe_longer_than_posted_is_an_error), RC(first_wqebb_is_read_once),
		RC(send_any_length),
		RC(write_and_read_any_length), RC(empty_messages), RC(immediates),
		RC(gather_and_scatter), RC(unsignaled_work_writes_no_cqe),
		RC(user_index_in_every_cqe), RC(short_data_goes_into_the_cqe),
		RC(scatter_to_cqe_leaves_memory_alone), RC(atomics_in_host_order),
		RC(atomics_in_network_order), RC(masked_atomics), RC(loopback_on_one_hca),
		RC(qp_connected_to_itself), RC(reads_within_the_limit),
		RC(more_reads_than_resources_are_refused), RC(fence_waits_for_reads),
		RC(no_queue_starves_another), cmocka_unit_test(lost_packets_are_repaired),
		RC(late_duplicate_of_a_read_takes_no_room), RC(retries_run_out),
		RC(receiver_becomes_ready), RC(receiver_never_becomes_ready),
		RC(write_with_immediate_waits_for_a_receive),
		RC(packets_of_other_ports_are_ignored), RC(message_too_long_for_the_qp),
		RC(opcode_not_of_the_service), RC(local_key_is_checked),
		RC(local_rights_are_checked), RC(remote_key_is_checked),
		RC(remote_key_variant_is_checked), RC(remote_range_is_checked),
		RC(remote_rights_are_checked), RC(remote_pd_is_checked), RC(qp_rights_are_checked),
		RC(qp_write_right_is_checked), RC(qp_atomic_right_is_checked),
		RC(masked_atomic_in_the_mode_of_the_specification),
		RC(atomic_operation_that_is_not_offered),
		RC(atomic_operation_that_the_peer_does_not_offer),
		RC(misaligned_atomic_is_refused), RC(receive_buffer_too_short),
		RC(receive_key_is_checked), RC(response_of_the_wrong_kind),
		RC(error_flushes_both_queues), RC(sqd_finishes_what_was_begun),
		RC(idle_queue_drains_at_once), RC(first_packet_raises_comm_est),
		RC(reset_drops_all_state), RC(qp_is_destroyed_in_the_middle_of_a_message),
		UC(uc_sends_and_writes), cmocka_unit_test(uc_drops_whole_messages),
		UC(uc_without_receive_drops_the_message), UC(uc_error_stops_the_send_queue_only),
		UD(ud_leaves_room_for_the_grh), UD(ud_grh), UD(ud_qkey), UD(ud_limits),
		UD(ud_source_gid),
		UD(ud_mtu_of_the_port), RC(switch_drops_what_is_longer_than_the_mtu), UD(ud_pkey),
		RC(rc_pkey), RC(rc_grh),
		UD(ud_multicast), UD(multicast_waits_for_a_full_member),
		UD(hung_hca_holds_up_no_sender),
		UD(own_multicast_can_be_blocked), UD(firmware_answers_while_there_is_no_qp0),
		UD(qp1_is_told_the_pkey), RC(ack_request_frequency),
		RC(no_user_index_in_cqes_of_version_0), RC(umr_binds_a_window),
		RC(umr_binds_no_window_without_the_capability), RC(umr_holds_the_bound_region),
		RC(umr_does_not_hold_regions_of_other_pds), RC(umr_needs_umr_en),
		RC(umr_stays_in_its_pd), RC(umr_must_fit_the_key), RC(umr_checks_for_free),
		RC(umr_of_a_process_makes_a_strided_key), RC(umr_with_a_malformed_strided_block),
		RC(recvs_are_consumed_out_of_order), RC(what_was_consumed_ahead_is_not_flushed),
		RC(reset_forgets_what_was_consumed_ahead),
		RC(umr_of_a_part_needs_the_offset_flag), RC(umr_of_a_part_goes_to_its_offset),
		RC(umr_that_sets_the_length_may_use_a_part),
		RC(umr_without_data_needs_the_inline_flag),
		RC(umr_refuses_unknown_mask_bits), RC(umr_wqe_too_short), RC(umr_list_too_short),
		RC(umr_page_size_can_be_excluded), RC(umr_atomic_right_can_be_excluded),
		RC(umr_relaxed_ordering_of_writes_needs_a_capability),
		RC(umr_relaxed_ordering_of_reads_needs_a_capability),
		RC(umr_long_offset_needs_a_capability), RC(umr_may_not_move_device_memory_keys),
		RC(umr_of_a_process_may_not_set_addresses),
		RC(umr_of_a_process_may_not_set_the_page_size),
		RC(umr_registers_memory_from_a_list), RC(send_with_invalidate),
		RC(refused_umr_of_the_driver_is_on_record),
		RC(refused_umr_of_a_process_is_not_on_record),
		RC(injected_refusal_of_umr_is_not_on_record),
	};

	return cmocka_run_group_tests_name("transport", tests, NULL, NULL);
}
