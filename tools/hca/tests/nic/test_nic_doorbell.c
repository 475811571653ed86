// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells of send queues.
 */
#include <string.h>

#include "cq.h"
#include "nic.h"
#include "objrig.h"
#include "sq.h"
#include "wirerig.h"
#include "wqe.h"

static uint8_t *wqe_at(const struct wire_queue *q, uint16_t index)
{
	return ram(q->ring) + index % (1u << WIRE_LOG_SQ) * WQE_BB;
}

/* Write a NOP to the ring and announce it in the record, without a doorbell. */
static uint8_t *put_nop(struct wire_queue *q, bool signaled)
{
	uint8_t *w = wqe_at(q, q->tail);

	memset(w, 0, WQE_BB);
	put_be32(w, q->tail << 8 | WQE_NOP);
	put_be32(w + 4, q->num << 8 | 1);
	w[11] = signaled ? 8 : 0;
	q->last = q->tail++;
	put_be32(ram(q->dbr) + 4, q->tail);
	return w;
}

static bool ring(const void *bytes, size_t len)
{
	return nic_send_doorbell(rig.hca, wire.uar, bytes, len);
}

static void wqes_are_executed_up_to_the_record(void **state)
{
	struct wire_queue q = wire_sq(SQ_NO_TIS, 0);
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++)
		put_nop(&q, i != 1);
	assert_true(ring(wqe_at(&q, 0), 8));
	wire_expect(&q, CQE_REQ, 0, 0);
	wire_expect(&q, CQE_REQ, 2, 0);
	assert_null(wire_cqe(&q));
	assert_int_equal(rig.hca->count.db_send, 1);
	assert_int_equal(rig.hca->count.wqes_sq, 3);
	for (i = 3; i < 100; i++)
		assert_true(ring(put_nop(&q, i == 99), 8));	/* a second lap */
	wire_expect(&q, CQE_REQ, 99, 0);
	assert_null(wire_cqe(&q));
}

/* The WQE in the BlueFlame buffer asks for a completion, the one in memory does not. */
static void wqes_are_taken_from_blueflame(void **state)
{
	struct wire_queue q = wire_sq(SQ_NO_TIS, 0);
	uint8_t bf[64];

	(void)state;
	memcpy(bf, put_nop(&q, false), sizeof(bf));
	bf[11] = 8;
	assert_true(ring(bf, sizeof(bf)));
	wire_expect(&q, CQE_REQ, 0, 0);
	memcpy(bf, put_nop(&q, false), sizeof(bf));
	bf[11] = 8;
	assert_true(ring(bf, 16));
	wire_expect(&q, CQE_REQ, 1, 0);
	assert_int_equal(rig.hca->count.db_bf, 2);
	assert_int_equal(rig.hca->count.wqes_bf, 2);
	/* The buffer has the second of two WQEs. */
	put_nop(&q, true);
	memcpy(bf, put_nop(&q, false), sizeof(bf));
	bf[11] = 8;
	assert_true(ring(bf, 16));
	wire_expect(&q, CQE_REQ, 2, 0);
	wire_expect(&q, CQE_REQ, 3, 0);
	assert_int_equal(rig.hca->count.wqes_bf, 3);
}

static void frames_are_sent_through_blueflame(void **state)
{
	struct wire_queue q = wire_sq(0, 0);
	struct wire_wqe w;
	uint8_t *at = wqe_at(&q, 0);
	uint8_t frame[60] = { 2, 4, 6 };

	(void)state;
	wire_ctrl(&w, WQE_SEND, true);
	wire_eth(&w, 0, 0, frame, sizeof(frame));
	put_be32(w.b, WQE_SEND);
	put_be32(w.b + 4, q.num << 8 | w.ds);
	memcpy(at, w.b, 2 * WQE_BB);
	w.b[16 + 14] = 8;	/* the first byte of the frame */
	put_be32(ram(q.dbr) + 4, 2);
	assert_true(ring(w.b, w.ds * 16));
	wire_expect(&q, CQE_REQ, 0, 0);
	assert_int_equal(wire.frames, 1);
	assert_int_equal(wire.frame[0].bytes[0], 8);
	assert_memory_equal(wire.frame[0].bytes + 1, frame + 1, 59);
}

static void wrong_doorbells_are_dropped(void **state)
{
	struct wire_queue q = wire_sq(SQ_NO_TIS, 0);
	const uint64_t *drop = rig.hca->count.db_drop;
	uint8_t other[64];

	(void)state;
	put_nop(&q, true);
	assert_true(nic_send_doorbell(rig.hca, wire.uar + 1, wqe_at(&q, 0), 8));
	assert_int_equal(drop[DROP_WRONG_UAR], 1);
	memcpy(other, wqe_at(&q, 0), sizeof(other));
	put_be32(other, 1 << 8);		/* not posted */
	assert_true(ring(other, 8));
	assert_int_equal(drop[DROP_NO_WQE], 1);
	put_be32(other, 1);			/* another opcode than in the ring */
	assert_true(ring(other, 8));
	assert_int_equal(drop[DROP_BAD_WQE], 1);
	put_be32(other + 4, (q.num + 1) << 8 | 1);
	assert_false(ring(other, 8));
	assert_null(wire_cqe(&q));
	assert_int_equal(rig.hca->count.db_send, 2);
	assert_true(ring(wqe_at(&q, 0), 8));
	wire_expect(&q, CQE_REQ, 0, 0);
	assert_int_equal(wire_move_sq(&q, SQ_RDY, SQ_RST), ST_OK);
	assert_true(ring(wqe_at(&q, 0), 8));
	assert_int_equal(drop[DROP_BAD_STATE], 1);
	wire_destroy_sq(&q);
	assert_false(ring(wqe_at(&q, 0), 8));
}

static void record_beyond_the_queue_is_an_error(void **state)
{
	struct wire_queue q = wire_sq(SQ_NO_TIS, 0);

	(void)state;
	put_nop(&q, true);
	put_be32(ram(q.dbr) + 4, (1 << WIRE_LOG_SQ) + 1);
	rig_clear();
	assert_true(ring(wqe_at(&q, 0), 8));
	assert_int_equal(rig.nev, 1);
	assert_int_equal(rig.ev[0].type, EV_WQ_CATAS_ERROR);
	assert_int_equal(rig.ev[0].data[20], 2);
	assert_int_equal(get_be32(rig.ev[0].data + 24), q.num);
	assert_int_equal(wire_sq_state(&q), SQ_ERR);
	assert_null(wire_cqe(&q));
}

/* The HCA loses its memory: the queue fails, and nothing is written. */
static void queue_without_memory_is_an_error(void **state)
{
	struct wire_queue q = wire_sq(SQ_FLUSH, 0);
	uint8_t wqe[8];

	(void)state;
	memcpy(wqe, put_nop(&q, true), sizeof(wqe));
	rig_clear();
	rig.hca->dma_off = true;
	assert_true(ring(wqe, 8));
	rig.hca->dma_off = false;
	assert_int_equal(wire_sq_state(&q), SQ_ERR);
	assert_null(wire_cqe(&q));
}

#define T(f) cmocka_unit_test_setup_teardown(f, wire_up, wire_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(wqes_are_executed_up_to_the_record), T(wqes_are_taken_from_blueflame),
		T(frames_are_sent_through_blueflame), T(wrong_doorbells_are_dropped),
		T(record_beyond_the_queue_is_an_error), T(queue_without_memory_is_an_error),
	};

	return cmocka_run_group_tests_name("nic_doorbell", tests, NULL, NULL);
}
