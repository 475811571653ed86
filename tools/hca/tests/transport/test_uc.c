// SPDX-License-Identifier: GPL-2.0
/*
 * The unreliable connected service.
 */
#include "cq.h"
#include "fabric.h"
#include "inject.h"
#include "pair.h"
#include "pairrig.h"
#include "qp.h"
#include "req.h"
#include "util.h"
#include "wqe.h"

static void sends_and_writes_arrive(void **state)
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

static void message_with_a_lost_packet_is_dropped(void **state)
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

static void message_without_a_receive_is_dropped(void **state)
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

/* A WRITE that the peer's keys or rights do not allow is lost. The next message arrives. */
static void write_that_is_not_allowed_is_dropped(void **state)
{
	(void)state;
	post_rdma(WQE_RDMA_WRITE, buf_b + 0x8000, key_b + 0x100, 3000);
	post_rdma(WQE_RDMA_WRITE, buf_b + BUF - 8, key_b, 3000);
	rig_settle();
	b->rwe = false;
	post_rdma(WQE_RDMA_WRITE, buf_b + 0x8000, key_b, 3000);
	rig_settle();
	assert_int_equal(b->state, QPS_RTS);
	assert_int_equal(rig.nevents, 0);
	assert_int_equal(*(uint8_t *)rig_ptr(1, buf_b + 0x8001), 0);
	rig_recv(1, b, buf_b, BUF, key_b);
	post_send(WQE_SEND, 2000, true);
	rig_settle();
	expect(CQ_B + 1, 0, CQE_RESP_SEND, 0);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.byte_cnt, 2000);
	assert_true(same(2000));
}

/* The packets before the one that is refused stay in memory. The next message arrives. */
static void packets_before_a_refused_one_are_stored(void **state)
{
	static const uint8_t zero[1024];
	uint64_t at = buf_b + 4096 - 1024 - 8;

	(void)state;
	post_rdma(WQE_RDMA_WRITE, at, rig_mkey(1, buf_b, 4096, ALL), 3000);
	rig_settle();
	assert_memory_equal(rig_ptr(1, at), rig_ptr(0, buf_a), 1024);
	assert_memory_equal(rig_ptr(1, at + 1024), zero, sizeof(zero));
	rig_recv(1, b, buf_b, BUF, key_b);
	post_send(WQE_SEND, 2000, true);
	rig_settle();
	assert_int_equal(b->state, QPS_RTS);
	assert_int_equal(rig.nevents, 0);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.byte_cnt, 2000);
	assert_true(same(2000));
}

/* A message that its receive WQE has no room for is the receiver's mistake. */
static void message_longer_than_its_receive_stops_the_queue_pair(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 1500, key_b);
	post_send(WQE_SEND, 1501, true);
	rig_settle();
	expect(CQ_A, 0, CQE_REQ, 0);
	expect_cause(CQ_B + 1, 0, CQE_RESP_ERR, ERR_RECEIVE_TOO_SHORT);
	assert_int_equal(b->state, QPS_ERR);
}

/* A queue pair receives from RTR on, and also while its send queue is stopped. */
static void state_decides_what_is_received(void **state)
{
	static const enum qp_state receives[] = {
		QPS_RTR, QPS_RTS, QPS_SQER, QPS_SQD, QPS_SQ_DRAINING,
	};
	static const enum qp_state drops[] = { QPS_RST, QPS_INIT, QPS_ERR };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(receives); i++) {
		b->state = receives[i];
		rig_recv(1, b, buf_b, BUF, key_b);
		post_send(WQE_SEND, 100, true);
		rig_settle();
		expect(CQ_B + 1, i, CQE_RESP_SEND, 0);
	}
	rig_recv(1, b, buf_b, BUF, key_b);
	for (i = 0; i < ARRAY_SIZE(drops); i++) {
		b->state = drops[i];
		post_send(WQE_SEND, 100, true);
		rig_settle();
		assert_int_equal(rig.hca[1]->count.packets_dropped, i + 1);
	}
	b->state = QPS_RTS;
	assert_null(rig_cqe(CQ_B + 1, ARRAY_SIZE(receives)));
}

static void error_stops_the_send_queue_only(void **state)
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
	/* No request has failed since the queue was started again. */
	rig_state(0, a, QPS_ERR);
	post_send(WQE_SEND, 16, false);
	expect_cause(CQ_A, 3, CQE_REQ_ERR, ERR_FLUSHED_FIRST);
}

/* A message of nine packets that fails in its fifth has used the numbers of all nine. */
static void failed_message_uses_its_packet_numbers(void **state)
{
	uint32_t psn = a->next_send_psn;
	struct rig_wqe w;

	(void)state;
	wq_ctrl(&w, WQE_SEND, false, 0);
	wq_data(&w, buf_a, 4096, key_a);
	wq_data(&w, buf_a, 4096 + 16, key_a ^ 0x100);
	rig_send(0, a, w.b, w.ds);
	rig_settle();
	assert_int_equal(a->state, QPS_SQER);
	assert_int_equal(rig.hca[0]->count.packets_tx, 4);
	assert_int_equal(psn_diff(a->next_send_psn, psn), 9);
}

/* The doorbell of a request that comes after the error flushes it at once. */
static void requests_behind_an_error_are_flushed(void **state)
{
	(void)state;
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 16);
	rig_settle();
	assert_int_equal(a->state, QPS_SQER);
	post_send(WQE_SEND, 16, false);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_WR_FLUSH);
	rig_state(0, a, QPS_ERR);
	post_send(WQE_SEND, 16, false);
	expect(CQ_A, 2, CQE_REQ_ERR, SYND_WR_FLUSH);
	assert_int_equal(rig.ncqe, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UC(sends_and_writes_arrive),
		cmocka_unit_test(message_with_a_lost_packet_is_dropped),
		UC(message_without_a_receive_is_dropped), UC(write_that_is_not_allowed_is_dropped),
		UC(packets_before_a_refused_one_are_stored),
		UC(message_longer_than_its_receive_stops_the_queue_pair),
		UC(state_decides_what_is_received), UC(error_stops_the_send_queue_only),
		UC(failed_message_uses_its_packet_numbers),
		UC(requests_behind_an_error_are_flushed),
	};

	return cmocka_run_group_tests_name("uc", tests, NULL, NULL);
}
