// SPDX-License-Identifier: GPL-2.0
/*
 * Send doorbells: which WQEs are executed and when, BlueFlame, and what is no doorbell of a queue.
 */
#include <event2/event.h>
#include <string.h>

#include "count.h"
#include "cq.h"
#include "eq.h"
#include "ifc.h"
#include "pair.h"
#include "pairrig.h"
#include "qp.h"
#include "queue_mem.h"
#include "req.h"
#include "wqe.h"

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
	/* The index of a WQE that is not in the queue any more. */
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
 * The HCA reads a record that announces two WQEs when the doorbell of the first arrives. When the
 * doorbell of the second arrives, other WQEs fill the whole queue.
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
	/* The WQE has been executed: a second doorbell for it is dropped. */
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
	/* The next WQE, with its index. */
	rig_recv(1, b, buf_b, 64, key_b);
	rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	put_be32(bf, 1 << 8 | WQE_SEND);
	memcpy(bf + 20, "the next bf", 12);
	qp_send_doorbell(rig.hca[0], RIG_UAR, bf, w.ds * 16);
	assert_int_equal(rig_run(4, 1000), 4);
	assert_string_equal(rig_ptr(1, buf_b), "the next bf");
	assert_int_equal(rig.hca[0]->count.wqes_bf, 2);
}

/*
 * Ring with the first @bytes of a WQE in the BlueFlame register, and another immediate in them: the
 * HCA executes the WQE in memory, which sends @len bytes.
 */
static void expect_wqe_of_memory(const struct rig_wqe *w, uint32_t bytes, uint32_t len)
{
	uint8_t bf[320];

	rig_put(0, a, w->b, w->ds);
	rig_show(0, a);
	memcpy(bf, w->b, bytes);
	put_be32(bf + 4, a->obj.num << 8 | w->ds);
	put_be32(bf + 12, 2);
	qp_send_doorbell(rig.hca[0], RIG_UAR, bf, bytes);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.imm_inval_pkey, 1);
	assert_true(same(len));
	assert_int_equal(rig.hca[0]->count.wqes_bf, 0);
}

/*
 * If the bytes in the BlueFlame register are not a whole WQE, the HCA executes none of them, and
 * reads the whole WQE from memory.
 */
static void incomplete_blueflame_reads_memory(void **state)
{
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	rig_recv(1, b, buf_b, 4096, key_b);
	wq_ctrl(&w, WQE_SEND_IMM, true, 1);
	for (i = 0; i < 6; i++)
		wq_data(&w, buf_a + i, 1, key_a);
	expect_wqe_of_memory(&w, 64, 6);
}

static void blueflame_has_no_wqe_of_more_than_256_bytes(void **state)
{
	struct rig_wqe w;

	(void)state;
	rig_recv(1, b, buf_b, 1024, key_b);
	wq_ctrl(&w, WQE_SEND_IMM, true, 1);
	wq_inline(&w, rig_ptr(0, buf_a), 300);
	assert_int_equal(w.ds * 16, 320);
	expect_wqe_of_memory(&w, 320, 300);
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

/* A later WQE has the same 16-bit index. The HCA must not take it from the old BlueFlame write. */
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

/* A WQE that came by BlueFlame and was not executed is not executed after a reset, either. */
static void reset_forgets_the_blueflame_wqe(void **state)
{
	uint8_t bf[64] = {};
	struct rig_wqe w;

	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_inline(&w, "before the reset", 17);
	rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	memcpy(bf, w.b, w.ds * 16);
	put_be32(bf + 4, a->obj.num << 8 | w.ds);
	qp_send_doorbell(rig.hca[0], RIG_UAR, bf, w.ds * 16);
	assert_int_equal(a->req->bf_len, w.ds * 16);
	rig_state(0, a, QPS_RST);
	memset(rig.tail, 0, sizeof(rig.tail));
	rig_connect(a, 0, b, 1);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_inline(&w, "behind the reset", 17);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_string_equal(rig_ptr(1, buf_b), "behind the reset");
	assert_int_equal(rig.hca[0]->count.wqes_bf, 0);
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
	rig_put(0, a, w.b, w.ds);	/* the doorbell is for this WQE */
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
 * A guest that changes a WQE while the HCA reads the WQE: as soon as the HCA has read the WQEBB at
 * @off of the send queue, @qpn_ds is written to the control segment of @wqebb, and @header to the
 * header of its inline data. The Makefile has the linker replace the transport's calls of
 * qmem_read() by __wrap_qmem_read(), which writes them.
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
	wq_ctrl(&w, WQE_NOP, false, 0);		/* so that ds + 4 stays within the posted WQEs */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		RC(nothing_runs_before_the_register_is_rung), RC(nothing_runs_beyond_the_record),
		RC(doorbell_is_the_start_of_its_wqe), RC(late_doorbell_is_no_mistake),
		RC(second_doorbell_has_no_effect), RC(one_doorbell_for_many_wqes),
		RC(doorbell_on_another_uar_is_dropped), RC(doorbell_before_rts_is_dropped),
		RC(record_beyond_the_queue_is_fatal),
		RC(blueflame_takes_the_wqe_from_the_register),
		RC(incomplete_blueflame_reads_memory), RC(blueflame_for_a_later_wqe_reads_memory),
		RC(blueflame_has_no_wqe_of_more_than_256_bytes),
		RC(blueflame_is_used_once), RC(reset_forgets_the_blueflame_wqe),
		RC(wqes_wrap_around_the_ring),
		RC(wqe_of_another_qp_is_an_error), RC(wqe_longer_than_posted_is_an_error),
		RC(first_wqebb_is_read_once),
	};

	return cmocka_run_group_tests_name("doorbell", tests, NULL, NULL);
}
