// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of state of a queue pair: what is flushed, drained, dropped and reported.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cq.h"
#include "dispatch.h"
#include "eq.h"
#include "fabric.h"
#include "ifc.h"
#include "object.h"
#include "packet.h"
#include "pair.h"
#include "pairrig.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "util.h"
#include "wqe.h"

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
	/* Sends that are posted later are flushed, too. */
	fabric_set_link(rig.hca[1], false);
	post_send(WQE_SEND, 16, false);
	rig_run(4, 20);
	rig_state(0, a, QPS_ERR);
	post_send(WQE_SEND, 16, false);
	assert_int_equal(rig_run(5, 1000), 5);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_FLUSHED_FIRST);
	expect_cause(CQ_A, 1, CQE_REQ_ERR, ERR_FLUSHED);
}

/* Cards flush what the doorbell record announces, also without a doorbell. */
static void record_alone_flushes_sends(void **state)
{
	struct rig_wqe w;

	(void)state;
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf_a, 16, key_a);
	rig_put(0, a, w.b, w.ds);
	rig_put(0, a, w.b, w.ds);
	rig_state(0, a, QPS_ERR);
	rig_run(1, 50);
	assert_int_equal(rig.ncqe, 0);
	rig_show(0, a);
	assert_int_equal(rig_run(2, 1000), 2);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_FLUSHED_FIRST);
	expect_cause(CQ_A, 1, CQE_REQ_ERR, ERR_FLUSHED);
	/* A doorbell that comes later is no mistake, and flushes nothing again. */
	rig_ring(0, a);
	post_send(WQE_SEND, 16, true);
	assert_int_equal(rig_run(3, 1000), 3);
	rig_settle();
	assert_int_equal(rig.ncqe, 3);
	assert_int_equal(rig_cqe(CQ_A, 2)->c.wqe_counter, 2);
	/* The queue is not watched after RESET. */
	rig_state(0, a, QPS_RST);
	rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	rig_run(4, 50);
	assert_int_equal(rig.ncqe, 3);
}

/* Move both queue pairs to RESET, and connect them again. */
static void restart(void)
{
	rig_state(0, a, QPS_RST);
	rig_state(1, b, QPS_RST);
	memset(rig.tail, 0, sizeof(rig.tail));
	rig_show(0, a);
	rig_connect(a, 0, b, 1);
}

/* Each flushed request completes once, also if it takes several units of the queue. */
static void requests_of_any_size_are_flushed(void **state)
{
	static const uint16_t index[] = { 0, 1, 3, 7 };
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	rig_state(0, a, QPS_ERR);
	for (i = 0; i < ARRAY_SIZE(index); i++) {
		wq_ctrl(&w, WQE_SEND, false, 0);
		wq_inline(&w, rig_ptr(0, buf_a), i == 1 ? 100 : i == 2 ? 200 : 8);
		assert_int_equal(rig_put(0, a, w.b, w.ds), index[i]);
	}
	rig_show(0, a);
	assert_int_equal(rig_run(4, 1000), 4);
	rig_run(5, 50);
	assert_int_equal(rig.ncqe, 4);
	for (i = 0; i < ARRAY_SIZE(index); i++)
		assert_int_equal(rig_cqe(CQ_A, i)->c.wqe_counter, index[i]);
	assert_int_equal(a->sq_hw, 8);
}

static void full_queues_are_flushed(void **state)
{
	unsigned int i;

	(void)state;
	rig_state(0, a, QPS_ERR);
	for (i = 0; i < 64; i++) {
		rig_recv(1, b, buf_b, 64, key_b);
		post_send(WQE_SEND, 16, false);
	}
	rig_state(1, b, QPS_ERR);
	assert_int_equal(rig_run(128, 1000), 128);
	assert_int_equal(a->sq_hw, 64);
	assert_int_equal(b->rq_hw, 64);
}

/* In ERR, too, a doorbell record cannot announce more than the queue has. */
static void record_beyond_a_queue_flushes_nothing(void **state)
{
	(void)state;
	rig_state(0, a, QPS_ERR);
	rig_state(1, b, QPS_ERR);
	put_be32(rig_ptr(0, a->dbr.addr + DBR_SND), 65);
	put_be32(rig_ptr(1, b->dbr.addr + DBR_RCV), 65);
	rig_run(1, 50);
	assert_int_equal(rig.ncqe, 0);
	assert_int_equal(a->sq_hw, 0);
	assert_int_equal(b->rq_hw, 0);
}

/* If no WQE of the send queue has failed before, the first flushed WQE has ERR_FLUSHED_FIRST. */
static void first_request_that_is_flushed_says_so(void **state)
{
	unsigned int round, i;

	(void)state;
	rig_count(0, a);
	for (round = 0; round < 2; round++) {
		rig_state(0, a, QPS_ERR);
		for (i = 0; i < 3; i++)
			post_send(WQE_SEND, 16, false);
		assert_int_equal(rig_run(3 * round + 3, 1000), 3 * round + 3);
		expect_cause(CQ_A, 3 * round, CQE_REQ_ERR, ERR_FLUSHED_FIRST);
		expect_cause(CQ_A, 3 * round + 1, CQE_REQ_ERR, ERR_FLUSHED);
		expect_cause(CQ_A, 3 * round + 2, CQE_REQ_ERR, ERR_FLUSHED);
		assert_int_equal(rig_counted(0, a, req_cqe_error), 3 * (round + 1));
		assert_int_equal(rig_counted(0, a, req_cqe_flush_error), 2 * (round + 1));
		restart();
	}
}

/* A queue pair that refused a request of the peer has had no error in its send queue, either. */
static void first_request_behind_a_refusal_says_so(void **state)
{
	struct rig_wqe w;

	(void)state;
	rig_count(1, b);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b + 0x100, 16);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_int_equal(b->state, QPS_ERR);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf_b, 16, key_b);
	rig_send(1, b, w.b, w.ds);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(3, 1000), 3);
	expect_cause(CQ_B, 0, CQE_REQ_ERR, ERR_FLUSHED_FIRST);
	expect_cause(CQ_B, 1, CQE_REQ_ERR, ERR_FLUSHED);
	assert_int_equal(rig_counted(1, b, req_cqe_error), 2);
	assert_int_equal(rig_counted(1, b, req_cqe_flush_error), 1);
}

static void requests_behind_one_that_failed_are_flushed(void **state)
{
	(void)state;
	rig_count(0, a);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b + 0x100, 16);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	assert_int_equal(rig_run(2, 1000), 2);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_NAK_ACCESS);
	expect_cause(CQ_A, 1, CQE_REQ_ERR, ERR_FLUSHED);
	assert_int_equal(rig_counted(0, a, req_cqe_error), 2);
	assert_int_equal(rig_counted(0, a, req_cqe_flush_error), 1);
}

static void receives_are_flushed_alike(void **state)
{
	unsigned int i;

	(void)state;
	rig_count(1, b);
	for (i = 0; i < 3; i++)
		rig_recv(1, b, buf_b, 64, key_b);
	rig_state(1, b, QPS_ERR);
	for (i = 0; i < 3; i++)
		expect_cause(CQ_B + 1, i, CQE_RESP_ERR, ERR_FLUSHED);
	assert_int_equal(rig_counted(1, b, resp_cqe_error), 3);
	assert_int_equal(rig_counted(1, b, resp_cqe_flush_error), 3);
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
	unsigned int i;

	(void)state;
	for (i = 1; i <= 3; i++) {
		rig_state(0, a, QPS_SQ_DRAINING);
		rig_settle();
		assert_int_equal(rig_events(EV_SQ_DRAINED), i);
		assert_int_equal(a->state, QPS_SQD);
		rig_state(0, a, QPS_RTS);
	}
}

/* The queue is drained when the peer has answered all that was begun. */
static void queue_drains_with_the_last_answer(void **state)
{
	struct packet *p;

	(void)state;
	a->path.ack_timeout = 18;
	fabric_inject_drop(rig.hca[1], 0, 1);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	rig_settle();
	rig_state(0, a, QPS_SQ_DRAINING);
	rig_settle();
	assert_int_equal(rig_events(EV_SQ_DRAINED), 0);
	assert_int_equal(a->state, QPS_SQ_DRAINING);
	p = packet_alloc(rig.fabric);
	p->opcode = BTH_RC | BTH_ACK;
	p->syndrome = AETH_ACK | AETH_NO_CREDITS;
	p->psn = a->req->una;
	req_receive(rig.hca[0], a, p);
	packet_free(rig.fabric, p);
	rig_settle();
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_int_equal(rig_events(EV_SQ_DRAINED), 1);
	assert_int_equal(a->state, QPS_SQD);
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

/* The wait that a receiver without a receive WQE asked for ends with the connection. */
static void reset_ends_the_wait_for_a_receiver(void **state)
{
	uint64_t end = clock_now_ns() + 2000000000ull;

	(void)state;
	b->min_rnr_nak = 31;		/* 492 ms */
	post_send(WQE_SEND, 16, true);
	while (!a->req->rnr_wait && clock_now_ns() < end)
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_true(a->req->rnr_wait);
	restart();
	rig_recv(1, b, buf_b, 64, key_b);
	post_send(WQE_SEND, 16, true);
	assert_int_equal(rig_run(2, 2000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_true(same(16));
}

/* A new connection begins with PSNs of its own, here lower than those of the connection before. */
static void psns_begin_anew_after_reset(void **state)
{
	unsigned int h;

	(void)state;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	assert_int_equal(rig_run(1, 1000), 1);
	for (h = 0; h < 2; h++)
		rig_state(h, h ? b : a, QPS_RST);
	memset(rig.tail, 0, sizeof(rig.tail));
	rig_show(0, a);
	a->path.ack_timeout = 18;
	a->next_send_psn = 0xfe0000;
	b->next_rcv_psn = 0xfe0000;
	for (h = 0; h < 2; h++) {
		rig_state(h, h ? b : a, QPS_INIT);
		rig_state(h, h ? b : a, QPS_RTR);
		rig_state(h, h ? b : a, QPS_RTS);
	}
	a->retry_count = 0;
	a->cur_retry = 0;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 3000);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 3000);
	assert_int_equal(rig_run(3, 2000), 3);
	expect(CQ_A, 1, CQE_REQ, 0);
	expect(CQ_A, 2, CQE_REQ, 0);
	assert_true(same(3000));
}

/* The peer refuses the third packet of a WRITE, behind which another WRITE has been sent. */
static void psn_after_a_refusal_is_that_of_the_refused_packet(void **state)
{
	uint32_t psn = a->next_send_psn;

	(void)state;
	post_rdma(WQE_RDMA_WRITE, buf_b + 2048, rig_mkey(1, buf_b, 4096, ALL), 4096);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 1024);
	assert_int_equal(rig_run(2, 1000), 2);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_NAK_ACCESS);
	assert_int_equal(a->next_send_psn, psn_add(psn, 2));
	assert_int_equal(a->next_send_psn, b->next_rcv_psn);
}

static void psn_after_a_local_error_is_that_of_the_first_packet_not_sent(void **state)
{
	uint32_t psn = a->next_send_psn;

	(void)state;
	local = buf_a + BUF - 5 * 1024 - 100;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 8192);
	assert_int_equal(rig_run(1, 1000), 1);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_GATHER_KEY_RANGE);
	assert_int_equal(a->next_send_psn, psn_add(psn, 5));
}

/* Of the second WRITE, the last packet waits for an acknowledgment. */
static void psn_after_a_command_is_that_of_the_first_packet_not_sent(void **state)
{
	uint32_t psn = a->next_send_psn;

	(void)state;
	a->mtu = 256;
	a->path.ack_timeout = 18;
	fabric_set_link(rig.hca[1], false);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, BUF);
	rig_settle();
	assert_int_equal(rig.hca[0]->count.packets_tx, REQ_WINDOW);
	rig_state(0, a, QPS_ERR);
	assert_int_equal(rig_run(2, 1000), 2);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_FLUSHED_FIRST);
	assert_int_equal(a->next_send_psn, psn_add(psn, REQ_WINDOW));
}

/* As many packets as a requester sends without an acknowledgment are sent twice. */
static void psn_after_all_retries_is_behind_all_that_was_sent(void **state)
{
	uint32_t psn = a->next_send_psn;

	(void)state;
	a->mtu = 256;
	a->retry_count = a->cur_retry = 1;
	fabric_set_link(rig.hca[1], false);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, BUF);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, BUF);
	assert_int_equal(rig_run(2, 3000), 2);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_NO_ANSWER);
	assert_int_equal(rig.hca[0]->count.packets_tx, 2 * REQ_WINDOW);
	assert_int_equal(a->next_send_psn, psn_add(psn, REQ_WINDOW));
}

/* A READ of two packets, a WRITE, and a WRITE whose third packet is refused. */
static void msn_is_the_number_of_executed_messages(void **state)
{
	uint32_t psn = b->next_rcv_psn;

	(void)state;
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 2048);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 1024);
	post_rdma(WQE_RDMA_WRITE, buf_b + 2048, rig_mkey(1, buf_b, 4096, ALL), 4096);
	assert_int_equal(rig_run(3, 1000), 3);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(b->msn, 2);
	assert_int_equal(b->next_rcv_psn, psn_add(psn, 2 + 1 + 2));
}

static void read_that_is_refused_is_no_message(void **state)
{
	(void)state;
	post_rdma(WQE_RDMA_READ, buf_b, key_b + 0x100, 16);
	assert_int_equal(rig_run(1, 1000), 1);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_NAK_ACCESS);
	assert_int_equal(b->msn, 0);
}

static void qp_destroyed_in_a_message_sends_no_more(void **state)
{
	(void)state;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, BUF);
	event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	rig_free_qp(0, a);
	rig_settle();
	assert_int_equal(rig.ncqe, 0);
}

/* The memory of the queue pair is freed, so that a turn that is left would be found. */
static void qp_destroyed_with_an_answer_sends_no_more(void **state)
{
	uint64_t sent = rig.hca[1]->count.packets_tx;
	struct packet *p = packet_alloc(rig.fabric);

	(void)state;
	p->opcode = BTH_RC | BTH_READ_REQ;
	p->psn = b->next_rcv_psn;
	p->va = buf_b;
	p->rkey = key_b;
	p->dma_len = 3000;
	resp_receive(rig.hca[1], b, p);
	packet_free(rig.fabric, p);
	assert_int_equal(b->resp->job_n, 1);
	rig_free_qp(1, b);
	rig_settle();
	assert_int_equal(rig.hca[1]->count.packets_tx, sent);
}

/* Queues of failed queue pairs are looked at every 10 ms, until the queue pair ends. */
static void qp_destroyed_in_error_is_not_watched(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	rig_state(0, a, QPS_ERR);
	rig_state(1, b, QPS_ERR);
	assert_int_equal(rig.ncqe, 1);
	assert_true(a->req->watch.on && b->resp->watch.on);
	rig_free_qp(0, a);
	rig_free_qp(1, b);
	rig_run(2, 50);
	assert_int_equal(rig.ncqe, 1);
}

static void queue_without_a_record_is_not_watched(void **state)
{
	unsigned int ms;

	(void)state;
	rig_state(0, a, QPS_ERR);
	rig_state(1, b, QPS_ERR);
	assert_true(a->req->watch.on && b->resp->watch.on);
	a->dbr.addr = 0;		/* where the guest has no memory */
	b->dbr.addr = 0;
	for (ms = 0; ms < 5000 && (a->req->watch.on || b->resp->watch.on); ms += 50)
		rig_run(1, 50);		/* not once: the machine may be busy */
	assert_false(a->req->watch.on || b->resp->watch.on);
	assert_int_equal(rig.ncqe, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RC(error_flushes_both_queues), RC(record_alone_flushes_sends),
		RC(requests_of_any_size_are_flushed), RC(full_queues_are_flushed),
		RC(record_beyond_a_queue_flushes_nothing),
		RC(first_request_that_is_flushed_says_so),
		RC(first_request_behind_a_refusal_says_so),
		RC(requests_behind_one_that_failed_are_flushed), RC(receives_are_flushed_alike),
		RC(sqd_finishes_what_was_begun),
		RC(idle_queue_drains_at_once), RC(queue_drains_with_the_last_answer),
		RC(first_packet_raises_comm_est),
		RC(reset_drops_all_state), RC(reset_ends_the_wait_for_a_receiver),
		RC(psns_begin_anew_after_reset), RC(qp_destroyed_in_a_message_sends_no_more),
		RC(qp_destroyed_with_an_answer_sends_no_more),
		RC(psn_after_a_refusal_is_that_of_the_refused_packet),
		RC(psn_after_a_local_error_is_that_of_the_first_packet_not_sent),
		RC(psn_after_a_command_is_that_of_the_first_packet_not_sent),
		RC(psn_after_all_retries_is_behind_all_that_was_sent),
		RC(msn_is_the_number_of_executed_messages), RC(read_that_is_refused_is_no_message),
		RC(qp_destroyed_in_error_is_not_watched),
		RC(queue_without_a_record_is_not_watched),
	};

	return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
