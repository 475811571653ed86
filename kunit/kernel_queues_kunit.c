// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the queues of kernel consumers: their contexts, later laps of their rings and of
 * their counters, with two CQs, after a reset, and with lists of requests of which one is bad.
 */

#include <kunit/test.h>
#include <linux/mlx5/cq.h>
#include <linux/irqflags.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "lib/cq_kernel.h"
#include "lib/kernel.h"
#include "lib/locks.h"
#include "lib/mock.h"
#include "lib/srq_ring.h"
#include "lib/wq_kernel.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/srq.h"

#define FENCE_MASK	(7 << 5)

static const struct cqs_case {
	const char *name;
	bool two_cqs;
} cqs_cases[] = { { "one CQ", false }, { "two CQs", true } };

KUNIT_ARRAY_PARAM_DESC(cqs, cqs_cases, name);

static bool has_two_cqs(struct kunit *test)
{
	return ((const struct cqs_case *)test->param_value)->two_cqs;
}

/* Poll both CQs, first the CQ of the send queues. */
static int poll(struct kernel *k, int num, struct ib_wc *wc)
{
	int n = mlx5_ib_poll_cq(&k->cq.ibcq, num, wc);

	return k->two_cqs ? n + mlx5_ib_poll_cq(&k->recv_cq.ibcq, num - n, wc + n) : n;
}

static void expect_wc(struct kunit *test, const struct ib_wc *wc, u64 wr_id, struct mlx5_ib_qp *qp)
{
	KUNIT_EXPECT_EQ(test, wc->wr_id, wr_id);
	KUNIT_EXPECT_PTR_EQ(test, wc->qp, &qp->ibqp);
}

static void complete_send(struct kunit *test, struct kernel *k, struct mlx5_ib_qp *qp, u64 wr_id)
{
	u16 index = qp->wqs->sq.posted;

	KUNIT_ASSERT_EQ(test, kernel_post(qp, wr_id, 8), 0);
	kernel_complete(k, qp, MLX5_CQE_REQ, index);
}

/* Post and complete a SEND, and a receive request whose wr_id is higher by 10. */
static void complete_both(struct kunit *test, struct kernel *k, struct mlx5_ib_qp *qp, u64 wr_id)
{
	complete_send(test, k, qp, wr_id);
	KUNIT_ASSERT_EQ(test, kernel_post_receive(qp, wr_id + 10), 0);
	kernel_complete(k, qp, MLX5_CQE_RESP_SEND, 0);
}

/* Both queue pairs complete a SEND and a receive request each. */
static void complete_pairs(struct kunit *test, struct kernel *k, u64 first)
{
	unsigned int i;

	for (i = 0; i < KERNEL_QPS; i++)
		complete_both(test, k, &k->qp[i], first + i);
}

/* Destroy the first queue pair, and create another one. */
static void renew_qp(struct kunit *test, struct kernel *k)
{
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp[0].ibqp, NULL), 0);
	KUNIT_ASSERT_EQ(test, kernel_create_qp(k, &k->qp[0]), 0);
	k->qp[0].state = IB_QPS_RTS;
}

/*
 * The unpolled completions of a destroyed queue pair are mixed with those of another queue pair.
 * Each round begins at another entry of the ring, and the rounds go over laps in which the owner
 * bit of a CQE is 0, and over laps in which it is 1.
 */
static void completions_are_dropped_in_any_lap(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 0, has_two_cqs(test));
	struct ib_wc wc[8];
	unsigned int i;
	u16 index;

	for (i = 0; i < 3 * KERNEL_CQES; i++) {
		/* Another SEND, so that the round begins at another entry of the ring. */
		index = k->qp[1].wqs->sq.posted;
		KUNIT_ASSERT_EQ(test, kernel_post(&k->qp[1], i, 8), 0);
		kernel_complete(k, &k->qp[1], MLX5_CQE_REQ, index);
		KUNIT_ASSERT_EQ(test, poll(k, 8, wc), 1);
		complete_pairs(test, k, 100);
		KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp[0].ibqp, NULL), 0);
		KUNIT_ASSERT_EQ(test, poll(k, 8, wc), 2);
		expect_wc(test, &wc[0], 101, &k->qp[1]);
		expect_wc(test, &wc[1], 111, &k->qp[1]);
		KUNIT_EXPECT_EQ(test, poll(k, 8, wc), 0);
		KUNIT_ASSERT_EQ(test, kernel_create_qp(k, &k->qp[0]), 0);
		k->qp[0].state = IB_QPS_RTS;
	}
	kernel_destroy_all(k);
}

/* The doorbell record tells the device that the CQEs of the destroyed queue pair are free. */
static void destroyed_queue_pair_leaves_its_room(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 0, has_two_cqs(test));
	struct mlx5_core_cq *mcq = &k->cq.mcq;
	u32 before = mcq->cons_index;
	struct ib_wc wc[8];

	complete_pairs(test, k, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp[0].ibqp, NULL), 0);
	KUNIT_EXPECT_EQ(test, mcq->cons_index - before, has_two_cqs(test) ? 1 : 2);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(*mcq->set_ci_db), mcq->cons_index & 0xffffff);
	KUNIT_EXPECT_EQ(test, poll(k, 8, wc), 2);
	KUNIT_EXPECT_EQ(test, mcq->cons_index - before, has_two_cqs(test) ? 2 : 4);
	kernel_destroy_all(k);
}

/*
 * The newest completion is of the destroyed queue pair, so that the completions of the other queue
 * pair move to later entries: in some rounds across the end of the ring, where the owner bit
 * changes.
 */
static void completions_move_across_the_end_of_the_ring(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 0, has_two_cqs(test));
	unsigned int round, i, left = has_two_cqs(test) ? 3 : 6;
	struct ib_wc wc[8];

	for (round = 0; round < 2 * KERNEL_CQES; round++) {
		/* Another SEND, so that the round begins at another entry of the ring. */
		complete_send(test, k, &k->qp[1], 0);
		KUNIT_ASSERT_EQ(test, poll(k, 8, wc), 1);
		for (i = 0; i < 3; i++) {
			complete_both(test, k, &k->qp[1], 100 + i);
			complete_both(test, k, &k->qp[0], 200 + i);
		}
		renew_qp(test, k);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(*k->cq.mcq.set_ci_db), k->written - left);
		KUNIT_ASSERT_EQ(test, poll(k, 8, wc), 6);
		for (i = 0; i < 3; i++) {
			expect_wc(test, &wc[k->two_cqs ? i : 2 * i], 100 + i, &k->qp[1]);
			expect_wc(test, &wc[k->two_cqs ? i + 3 : 2 * i + 1], 110 + i, &k->qp[1]);
		}
		KUNIT_EXPECT_EQ(test, poll(k, 8, wc), 0);
	}
	kernel_destroy_all(k);
}

/*
 * Two consumers share a CQ, as those of ib_cq_pool_get() do. One consumer creates and destroys
 * queue pairs, and does not poll their completions; the other consumer polls late. The device never
 * writes more entries than the doorbell record says are free.
 */
static void queue_pairs_that_come_and_go_leave_room_for_others(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 0, false);
	struct ib_wc wc[KERNEL_CQES];
	unsigned int lap, i;

	for (lap = 0; lap < 6; lap++) {
		if (lap)
			renew_qp(test, k);
		for (i = 0; i < KERNEL_CQES / 2; i++) {
			if (!lap)
				complete_send(test, k, &k->qp[1], i);
			KUNIT_ASSERT_LT(test, k->written - be32_to_cpu(*k->cq.mcq.set_ci_db),
					KERNEL_CQES);
			complete_send(test, k, &k->qp[0], 100 * lap + i);
		}
	}
	KUNIT_ASSERT_EQ(test, poll(k, KERNEL_CQES, wc), KERNEL_CQES);
	for (i = 0; i < KERNEL_CQES / 2; i++) {
		expect_wc(test, &wc[i], i, &k->qp[1]);
		expect_wc(test, &wc[KERNEL_CQES / 2 + i], 500 + i, &k->qp[0]);
	}
	kernel_destroy_all(k);
}

static void context_names_the_cq_of_each_work_queue(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 0, true);
	void *qpc = MLX5_ADDR_OF(create_qp_in, k->mock->in, qpc);

	KUNIT_ASSERT_EQ(test, k->mock->opcode, MLX5_CMD_OP_CREATE_QP);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, cqn_snd), k->cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, cqn_rcv), k->recv_cq.mcq.cqn);
	KUNIT_EXPECT_NE(test, k->cq.mcq.cqn, k->recv_cq.mcq.cqn);
	kernel_destroy_all(k);
}

/* In CQEs, doorbells and commands, numbers have all of their 24 bits. */
static void queues_may_have_the_highest_numbers(struct kunit *test)
{
	struct kernel *k = kernel_make(test);
	__be32 *arm = (__be32 *)&k->mock->bell[MLX5_CQ_DOORBELL / sizeof(u64)];
	struct ib_wc wc[4];
	unsigned int i;

	k->mock->first_number = 0xfffffc;
	kernel_create_all(k, 0, true);
	KUNIT_ASSERT_GE(test, k->qp[0].ibqp.qp_num, 0xfffffc);
	complete_pairs(test, k, 1);
	for (i = 0; i < KERNEL_QPS; i++)
		KUNIT_EXPECT_EQ(test, be32_to_cpu(kernel_send_block(&k->qp[i], 0)[1]) >> 8,
				k->qp[i].ibqp.qp_num);
	KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&k->recv_cq.ibcq, IB_CQ_NEXT_COMP), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(arm[1]), k->recv_cq.mcq.cqn);
	KUNIT_ASSERT_EQ(test, poll(k, 4, wc), 4);
	for (i = 0; i < KERNEL_QPS; i++) {
		expect_wc(test, &wc[i], 1 + i, &k->qp[i]);
		expect_wc(test, &wc[2 + i], 11 + i, &k->qp[i]);
	}
	kernel_destroy_all(k);
}

/* The mock gives the next queue pair the number of the destroyed one. */
static void next_queue_pair_of_the_number_gets_its_own_completions(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 0, has_two_cqs(test));
	struct mlx5_ib_qp *qp = &k->qp[0];
	struct ib_wc wc[4];
	u32 qpn = qp->ibqp.qp_num;

	/* Each CQ has looked the queue pair up, and remembers it for its next completion. */
	complete_pairs(test, k, 1);
	KUNIT_ASSERT_EQ(test, poll(k, 4, wc), 4);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&qp->ibqp, NULL), 0);
	KUNIT_ASSERT_EQ(test, kernel_create_qp(k, qp), 0);
	KUNIT_ASSERT_EQ(test, qp->ibqp.qp_num, qpn);
	qp->state = IB_QPS_RTS;
	complete_pairs(test, k, 50);
	KUNIT_ASSERT_EQ(test, poll(k, 4, wc), 4);
	expect_wc(test, &wc[0], 50, qp);
	expect_wc(test, &wc[has_two_cqs(test) ? 2 : 1], 60, qp);
	kernel_destroy_all(k);
}

/* Unpolled completions carry the number that the next queue pair gets, so the CQ must drop them. */
static void unpolled_completions_are_not_for_the_next_queue_pair(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 0, has_two_cqs(test));
	struct mlx5_ib_qp *qp = &k->qp[0];
	struct ib_wc wc[8];
	u32 qpn = qp->ibqp.qp_num;

	complete_pairs(test, k, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&qp->ibqp, NULL), 0);
	KUNIT_ASSERT_EQ(test, kernel_create_qp(k, qp), 0);
	KUNIT_ASSERT_EQ(test, qp->ibqp.qp_num, qpn);
	qp->state = IB_QPS_RTS;
	KUNIT_ASSERT_EQ(test, poll(k, 8, wc), 2);
	expect_wc(test, &wc[0], 2, &k->qp[1]);
	expect_wc(test, &wc[1], 12, &k->qp[1]);
	kernel_destroy_all(k);
}

/* Neither requests nor completions from before the reset are left. */
static void reset_queue_pair_starts_empty(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 0, has_two_cqs(test));
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct mlx5_ib_qp *qp = &k->qp[0];
	__be32 *receives = qp->mem.buf.frags.frags[0].buf;
	struct ib_wc wc[8];
	unsigned int i;

	/* Post three receive requests, so that one of the four slots is free. */
	complete_pairs(test, k, 1);
	KUNIT_ASSERT_EQ(test, kernel_post(qp, 3, 8), 0);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, kernel_post_receive(qp, 20 + i), 0);
	KUNIT_ASSERT_EQ(test, mlx5_ib_modify_qp(&qp->ibqp, &attr, IB_QP_STATE, NULL), 0);
	qp->state = IB_QPS_RTS;
	KUNIT_EXPECT_EQ(test, be32_to_cpu(qp->mem.db.db[MLX5_RCV_DBR]), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(qp->mem.db.db[MLX5_SND_DBR]), 0);
	KUNIT_ASSERT_EQ(test, poll(k, 8, wc), 2);
	expect_wc(test, &wc[0], 2, &k->qp[1]);
	expect_wc(test, &wc[1], 12, &k->qp[1]);

	/* The whole receive queue is free again, and numbers of WQEs start at 0. */
	memset(receives, 0, 64);
	KUNIT_EXPECT_EQ(test, kernel_post_receive(qp, 30), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(receives[1]), qp->wqs->rq.end_key);
	for (i = 1; i < 4; i++)
		KUNIT_EXPECT_EQ(test, kernel_post_receive(qp, 30 + i), 0);
	KUNIT_EXPECT_EQ(test, kernel_post_receive(qp, 0), -ENOMEM);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(qp->mem.db.db[MLX5_RCV_DBR]), 4);
	KUNIT_EXPECT_EQ(test, kernel_post(qp, 40, 8), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(kernel_send_block(qp, 0)[0]), MLX5_OPCODE_SEND);
	kernel_complete(k, qp, MLX5_CQE_REQ, 0);
	kernel_complete(k, qp, MLX5_CQE_RESP_SEND, 0);
	KUNIT_ASSERT_EQ(test, poll(k, 8, wc), 2);
	expect_wc(test, &wc[0], 40, qp);
	expect_wc(test, &wc[1], 30, qp);
	kernel_destroy_all(k);
}

/* One queue pair has filled the whole CQ when it is destroyed; then the other one fills it. */
static void full_cq_is_filled_again_after_a_destruction(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 0, has_two_cqs(test));
	struct mlx5_core_cq *mcq = &k->cq.mcq;
	struct ib_wc wc[KERNEL_CQES];
	unsigned int lap, i;
	u16 index;

	for (lap = 0; lap < 3; lap++) {
		/* Another SEND, so that the CQ is full at another entry of the ring. */
		index = k->qp[1].wqs->sq.posted;
		KUNIT_ASSERT_EQ(test, kernel_post(&k->qp[1], 0, 8), 0);
		kernel_complete(k, &k->qp[1], MLX5_CQE_REQ, index);
		KUNIT_ASSERT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, wc), 1);
		for (i = 0; i < KERNEL_CQES; i++) {
			KUNIT_ASSERT_EQ(test, kernel_post(&k->qp[0], i, 8), 0);
			kernel_complete(k, &k->qp[0], MLX5_CQE_REQ, i);
		}
		KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp[0].ibqp, NULL), 0);
		KUNIT_EXPECT_EQ(test, mcq->cons_index, k->written);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(*mcq->set_ci_db), k->written);
		KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, wc), 0);
		for (i = 0; i < KERNEL_CQES; i++) {
			index = k->qp[1].wqs->sq.posted;
			KUNIT_ASSERT_EQ(test, kernel_post(&k->qp[1], 100 + i, 8), 0);
			kernel_complete(k, &k->qp[1], MLX5_CQE_REQ, index);
		}
		KUNIT_ASSERT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, KERNEL_CQES, wc), KERNEL_CQES);
		for (i = 0; i < KERNEL_CQES; i++)
			expect_wc(test, &wc[i], 100 + i, &k->qp[1]);
		KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, wc), 0);
		KUNIT_ASSERT_EQ(test, kernel_create_qp(k, &k->qp[0]), 0);
		k->qp[0].state = IB_QPS_RTS;
	}
	kernel_destroy_all(k);
}

static int post_shared(struct kernel *k, u64 wr_id)
{
	struct ib_recv_wr wr = { .wr_id = wr_id };
	const struct ib_recv_wr *bad;

	return mlx5_ib_post_srq_recv(&k->srq.ibsrq, &wr, &bad);
}

/* The SRQ gets the WQEs of unpolled completions back, whichever CQ the completions are on. */
static void unpolled_completions_return_shared_requests(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 3, has_two_cqs(test));
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct ib_wc wc[8];
	unsigned int round, i;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < 3; i++)
			KUNIT_ASSERT_EQ(test, post_shared(k, 10 * round + i), 0);
		KUNIT_EXPECT_EQ(test, post_shared(k, 0), -ENOMEM);
		for (i = 0; i < KERNEL_QPS; i++) {
			u16 index = k->qp[i].wqs->sq.posted;

			KUNIT_ASSERT_EQ(test, kernel_post(&k->qp[i], 50 + i, 8), 0);
			kernel_complete(k, &k->qp[i], MLX5_CQE_REQ, index);
			kernel_complete(k, &k->qp[i], MLX5_CQE_RESP_SEND,
					round ? 1 - i : i);
		}
		/* The first round resets the queue pair, the second one destroys it. */
		if (round)
			KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp[0].ibqp, NULL), 0);
		else
			KUNIT_EXPECT_EQ(test, mlx5_ib_modify_qp(&k->qp[0].ibqp, &attr, IB_QP_STATE,
								NULL), 0);
		k->qp[0].state = IB_QPS_RTS;
		KUNIT_EXPECT_EQ(test, post_shared(k, 3), 0);
		KUNIT_EXPECT_EQ(test, post_shared(k, 0), -ENOMEM);
		KUNIT_ASSERT_EQ(test, poll(k, 8, wc), 2);
		KUNIT_EXPECT_PTR_EQ(test, wc[0].qp, &k->qp[1].ibqp);
		KUNIT_EXPECT_PTR_EQ(test, wc[1].qp, &k->qp[1].ibqp);
		KUNIT_EXPECT_EQ(test, wc[0].wr_id, 51);
		if (!round) {
			/* Two requests are left: they complete in order. */
			KUNIT_EXPECT_EQ(test, wc[1].wr_id, 1);
			kernel_complete(k, &k->qp[1], MLX5_CQE_RESP_SEND, 2);
			kernel_complete(k, &k->qp[1], MLX5_CQE_RESP_SEND, 3);
			KUNIT_ASSERT_EQ(test, poll(k, 8, wc), 2);
			KUNIT_EXPECT_EQ(test, wc[0].wr_id, 2);
			KUNIT_EXPECT_EQ(test, wc[1].wr_id, 3);
		}
	}
	kernel_destroy_all(k);
}

/* Only one of the two CQs is armed. */
static void failed_device_calls_no_consumer_that_only_polls(struct kunit *test)
{
	unsigned int calls[2] = {}, asks;

	for (asks = 0; asks < 2; asks++) {
		struct kernel *k = kernel_make_connected(test, 0, true);
		struct mlx5_ib_cq *cqs[] = { &k->cq, &k->recv_cq };
		unsigned int i;

		for (i = 0; i < 2; i++)
			cqs[i]->ibcq.cq_context = &calls[i];
		memset(calls, 0, sizeof(calls));
		KUNIT_ASSERT_EQ(test, kernel_post(&k->qp[0], 1, 8), 0);
		KUNIT_ASSERT_EQ(test, kernel_post_receive(&k->qp[0], 2), 0);
		KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&cqs[asks]->ibcq, IB_CQ_NEXT_COMP), 0);
		mlx5_ib_flush_kernel_queues(k->mock->dev);
		for (i = 0; i < 2; i++)
			flush_work(&cqs[i]->kcq->wake);
		KUNIT_EXPECT_EQ(test, calls[1 - asks], 0);
		KUNIT_EXPECT_GE(test, calls[asks], 1);
		k->mock->dev->failed = false;
		kernel_destroy_all(k);
	}
}

/* When the device fails, one send or one receive request is left, for which no event will come. */
static void cq_of_a_failed_device_is_armed_in_vain(struct kunit *test)
{
	static const struct {
		bool is_send;
		enum ib_cq_notify_flags flags;
	} cases[] = {
		{ true, IB_CQ_NEXT_COMP }, { true, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS },
		{ false, IB_CQ_NEXT_COMP }, { false, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kernel *k = kernel_make_connected(test, 0, has_two_cqs(test));
		bool reports = cases[i].flags & IB_CQ_REPORT_MISSED_EVENTS;
		struct mlx5_ib_cq *cq = &k->cq;
		unsigned int calls = 0;
		struct ib_wc wc;

		if (k->two_cqs && !cases[i].is_send)
			cq = &k->recv_cq;
		cq->ibcq.cq_context = &calls;
		if (cases[i].is_send)
			KUNIT_ASSERT_EQ(test, kernel_post(&k->qp[1], 7, 8), 0);
		else
			KUNIT_ASSERT_EQ(test, kernel_post_receive(&k->qp[1], 7), 0);
		k->mock->dev->failed = true;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_req_notify_cq(&cq->ibcq, cases[i].flags),
				    reports, "case %u", i);
		flush_work(&cq->kcq->wake);
		KUNIT_EXPECT_EQ_MSG(test, calls, !reports, "case %u", i);
		KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&cq->ibcq, 1, &wc), 1);
		expect_wc(test, &wc, 7, &k->qp[1]);
		KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&cq->ibcq, cases[i].flags), 0);
		flush_work(&cq->kcq->wake);
		KUNIT_EXPECT_EQ_MSG(test, calls, !reports, "case %u", i);
		k->mock->dev->failed = false;
		kernel_destroy_all(k);
	}
}

/* Each of the two consumers learns of the failure by its own CQ. */
static void failed_device_calls_the_consumer_of_either_cq(struct kunit *test)
{
	unsigned int calls[2] = {};
	struct kernel *k = kernel_make_connected(test, 0, true);
	struct ib_wc wc[2];

	k->cq.ibcq.cq_context = &calls[0];
	k->recv_cq.ibcq.cq_context = &calls[1];
	KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&k->cq.ibcq, IB_CQ_NEXT_COMP), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&k->recv_cq.ibcq, IB_CQ_NEXT_COMP), 0);
	k->mock->dev->failed = true;
	KUNIT_ASSERT_EQ(test, kernel_post_receive(&k->qp[0], 1), 0);
	flush_work(&k->recv_cq.kcq->wake);
	KUNIT_EXPECT_EQ(test, calls[0], 0);
	KUNIT_EXPECT_EQ(test, calls[1], 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 2, wc), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->recv_cq.ibcq, 2, wc), 1);
	expect_wc(test, &wc[0], 1, &k->qp[0]);
	KUNIT_ASSERT_EQ(test, kernel_post(&k->qp[0], 2, 8), 0);
	flush_work(&k->cq.kcq->wake);
	KUNIT_EXPECT_EQ(test, calls[0], 1);
	KUNIT_EXPECT_EQ(test, calls[1], 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->recv_cq.ibcq, 2, wc), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 2, wc), 1);
	expect_wc(test, &wc[0], 2, &k->qp[0]);
	k->mock->dev->failed = false;
	kernel_destroy_all(k);
}

/* 42 requests of three blocks and one of two fill the queue of 128 blocks. */
static void send_queue_is_filled_exactly_in_each_lap(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 0, false);
	struct mlx5_ib_qp *qp = &k->qp[0];
	unsigned int lap, i;
	struct ib_wc wc[2];

	for (lap = 0; lap < 5; lap++) {
		for (i = 0; i < 42; i++)
			KUNIT_ASSERT_EQ(test, kernel_post(qp, i, 124), 0);
		KUNIT_EXPECT_EQ(test, kernel_post(qp, 0, 124), -ENOMEM);
		KUNIT_ASSERT_EQ(test, kernel_post(qp, 42, 104), 0);
		KUNIT_EXPECT_EQ(test, kernel_post(qp, 0, 40), -ENOMEM);
		/* The completion of the last request says that all requests have ended. */
		kernel_complete(k, qp, MLX5_CQE_REQ, lap * 128 + 126);
		KUNIT_ASSERT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 2, wc), 1);
		KUNIT_EXPECT_EQ(test, wc[0].wr_id, 42);
	}
	kernel_destroy_all(k);
}

/*
 * The third of four requests is bad: the send request has no known opcode, the receive request too
 * many segments. The device is told of two requests.
 */
static void requests_before_a_bad_one_are_posted(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 0, false);
	struct mlx5_ib_qp *qp = &k->qp[0];
	struct ib_sge sge[5] = { { .length = 1 }, { .length = 1 }, { .length = 1 }, { .length = 1 },
				 { .length = 1 } };
	struct ib_send_wr send[4] = {};
	struct ib_recv_wr recv[4] = {};
	const struct ib_send_wr *bad_send = NULL;
	const struct ib_recv_wr *bad_recv = NULL;
	struct ib_wc wc[4];
	unsigned int i;

	for (i = 0; i < 4; i++) {
		send[i].wr_id = i;
		send[i].opcode = i == 2 ? (enum ib_wr_opcode)-1 : IB_WR_SEND;
		send[i].next = i < 3 ? &send[i + 1] : NULL;
		recv[i].wr_id = 10 + i;
		recv[i].sg_list = sge;
		recv[i].num_sge = i == 2 ? 5 : 1;
		recv[i].next = i < 3 ? &recv[i + 1] : NULL;
	}
	KUNIT_EXPECT_EQ(test, mlx5_ib_post_sends(qp, send, NULL, &bad_send), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad_send, &send[2]);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(qp->mem.db.db[MLX5_SND_DBR]), 2);
	KUNIT_EXPECT_MEMEQ(test, k->mock->bell, kernel_send_block(qp, 1), 8);
	KUNIT_EXPECT_EQ(test, mlx5_ib_post_recv(&qp->ibqp, recv, &bad_recv), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad_recv, &recv[2]);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(qp->mem.db.db[MLX5_RCV_DBR]), 2);
	for (i = 0; i < 2; i++) {
		kernel_complete(k, qp, MLX5_CQE_REQ, i);
		kernel_complete(k, qp, MLX5_CQE_RESP_SEND, i);
	}
	KUNIT_ASSERT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 4, wc), 4);
	for (i = 0; i < 4; i++)
		expect_wc(test, &wc[i], (i % 2 ? 10 : 0) + i / 2, qp);
	kernel_destroy_all(k);
}

static void shared_requests_before_a_bad_one_are_posted(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 3, false);
	struct ib_sge sge[4] = { { .length = 1 }, { .length = 1 }, { .length = 1 },
				 { .length = 1 } };
	const struct ib_recv_wr *bad = NULL;
	struct ib_recv_wr recv[3] = {};
	struct ib_wc wc[3];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		recv[i].wr_id = i;
		recv[i].sg_list = sge;
		recv[i].num_sge = i == 2 ? 4 : 1;
		recv[i].next = i < 2 ? &recv[i + 1] : NULL;
	}
	KUNIT_EXPECT_EQ(test, mlx5_ib_post_srq_recv(&k->srq.ibsrq, recv, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, &recv[2]);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(k->srq.mem.db.db[0]), 2);
	/* The third request is not in the queue, so there is room for one more. */
	recv[2].num_sge = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_post_srq_recv(&k->srq.ibsrq, &recv[2], &bad), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(k->srq.mem.db.db[0]), 3);
	for (i = 0; i < 3; i++)
		kernel_complete(k, &k->qp[i % 2], MLX5_CQE_RESP_SEND, i);
	KUNIT_ASSERT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 3, wc), 3);
	for (i = 0; i < 3; i++)
		expect_wc(test, &wc[i], i, &k->qp[i % 2]);
	kernel_destroy_all(k);
}

/*
 * An invalidation is fenced itself, and so is the request behind it, in the same call or the next
 * one. The request after that one is not fenced.
 */
static void request_behind_an_invalidation_is_fenced(struct kunit *test)
{
	static const u8 want[] = {
		MLX5_FENCE_MODE_INITIATOR_SMALL, MLX5_FENCE_MODE_INITIATOR_SMALL,
		MLX5_FENCE_MODE_NONE, MLX5_FENCE_MODE_INITIATOR_SMALL,
		MLX5_FENCE_MODE_INITIATOR_SMALL, MLX5_FENCE_MODE_NONE,
	};
	struct kernel *k = kernel_make_connected(test, 0, false);
	struct mlx5_ib_qp *qp = &k->qp[0];
	struct ib_send_wr wr[6] = {};
	struct mlx5_wqe_ctrl_seg *ctrl;
	const struct ib_send_wr *bad;
	u16 index = 0;
	unsigned int i;

	qp->wqs->sq.to.umr_fence = MLX5_FENCE_MODE_INITIATOR_SMALL;
	for (i = 0; i < 6; i++) {
		wr[i].opcode = i % 3 ? IB_WR_SEND : IB_WR_LOCAL_INV;
		wr[i].ex.invalidate_rkey = 0x77;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	KUNIT_ASSERT_EQ(test, mlx5_ib_post_sends(qp, wr, NULL, &bad), 0);
	for (i = 3; i < 6; i++)
		KUNIT_ASSERT_EQ(test, mlx5_ib_post_sends(qp, &wr[i], NULL, &bad), 0);
	for (i = 0; i < 6; i++) {
		ctrl = (struct mlx5_wqe_ctrl_seg *)kernel_send_block(qp, index);
		KUNIT_EXPECT_EQ_MSG(test, ctrl->fm_ce_se & FENCE_MASK, want[i], "request %u", i);
		index += DIV_ROUND_UP(be32_to_cpu(ctrl->qpn_ds) & 0x3f, 4);
	}
	KUNIT_EXPECT_EQ(test, qp->wqs->sq.posted, index);
	kernel_destroy_all(k);
}

/* The queue pair is reset, so what came before the request is gone. */
static void first_request_after_a_reset_is_not_fenced(struct kunit *test)
{
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = 0x77 };
	struct kernel *k = kernel_make_connected(test, 0, false);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct mlx5_ib_qp *qp = &k->qp[0];
	struct mlx5_wqe_ctrl_seg *ctrl;
	const struct ib_send_wr *bad;

	qp->wqs->sq.to.umr_fence = MLX5_FENCE_MODE_INITIATOR_SMALL;
	KUNIT_ASSERT_EQ(test, mlx5_ib_post_sends(qp, &wr, NULL, &bad), 0);
	KUNIT_ASSERT_EQ(test, mlx5_ib_modify_qp(&qp->ibqp, &attr, IB_QP_STATE, NULL), 0);
	qp->state = IB_QPS_RTS;
	KUNIT_ASSERT_EQ(test, kernel_post(qp, 1, 8), 0);
	ctrl = (struct mlx5_wqe_ctrl_seg *)kernel_send_block(qp, 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(ctrl->opmod_idx_opcode), MLX5_OPCODE_SEND);
	KUNIT_EXPECT_EQ(test, ctrl->fm_ce_se & FENCE_MASK, MLX5_FENCE_MODE_NONE);
	kernel_destroy_all(k);
}

/* The CQE of a send request does not have its opcode. */
static void completion_has_the_opcode_of_its_request(struct kunit *test)
{
	static const struct {
		enum ib_wr_opcode wr;
		enum ib_wc_opcode wc;
	} opcodes[] = { { IB_WR_LOCAL_INV, IB_WC_LOCAL_INV }, { IB_WR_SEND, IB_WC_SEND } };
	struct kernel *k = kernel_make_connected(test, 0, false);
	struct mlx5_ib_qp *qp = &k->qp[0];
	const struct ib_send_wr *bad;
	struct ib_send_wr wr = {};
	struct ib_wc wc = {};
	unsigned int i;
	u16 index;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		wr.opcode = opcodes[i].wr;
		index = qp->wqs->sq.posted;
		KUNIT_ASSERT_EQ(test, mlx5_ib_post_sends(qp, &wr, NULL, &bad), 0);
		kernel_complete(k, qp, MLX5_CQE_REQ, index);
		KUNIT_ASSERT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, &wc), 1);
		KUNIT_EXPECT_EQ(test, wc.opcode, opcodes[i].wc);
	}
	kernel_destroy_all(k);
}

/* The device counts WQEs with 16 bits. The queues have been used for almost all of these before. */
static void counters_of_a_queue_pair_wrap_at_16_bits(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 0, false);
	struct mlx5_ib_qp *qp = &k->qp[0];
	struct mlx5_ib_sq *sq = &qp->wqs->sq;
	struct mlx5_ib_rq *rq = &qp->wqs->rq;
	struct ib_wc wc[4];
	unsigned int i;

	sq->posted = 0xffc0;
	sq->done = 0xffc0;
	for (i = 0; i < 128; i++)
		KUNIT_ASSERT_EQ(test, kernel_post(qp, i, 8), 0);
	KUNIT_EXPECT_EQ(test, kernel_post(qp, 0, 8), -ENOMEM);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(qp->mem.db.db[MLX5_SND_DBR]), 0x40);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(kernel_send_block(qp, 0xffff)[0]),
			0xffff << 8 | MLX5_OPCODE_SEND);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(kernel_send_block(qp, 0)[0]), MLX5_OPCODE_SEND);
	/* The first half of the requests ends, then the second half. */
	kernel_complete(k, qp, MLX5_CQE_REQ, 0xffff);
	KUNIT_ASSERT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 4, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 63);
	for (i = 0; i < 64; i++)
		KUNIT_ASSERT_EQ(test, kernel_post(qp, 200 + i, 8), 0);
	KUNIT_EXPECT_EQ(test, kernel_post(qp, 0, 8), -ENOMEM);
	kernel_complete(k, qp, MLX5_CQE_REQ, 0x3f);
	KUNIT_ASSERT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 4, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 127);

	rq->posted = 0xfffe;
	rq->done = 0xfffe;
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, kernel_post_receive(qp, 10 + i), 0);
	KUNIT_EXPECT_EQ(test, kernel_post_receive(qp, 0), -ENOMEM);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(qp->mem.db.db[MLX5_RCV_DBR]), 2);
	for (i = 0; i < 4; i++)
		kernel_complete(k, qp, MLX5_CQE_RESP_SEND, 0xfffe + i);
	KUNIT_ASSERT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 4, wc), 4);
	for (i = 0; i < 4; i++)
		expect_wc(test, &wc[i], 10 + i, qp);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, kernel_post_receive(qp, 20 + i), 0);
	KUNIT_EXPECT_EQ(test, kernel_post_receive(qp, 0), -ENOMEM);
	kernel_destroy_all(k);
}

static void operations_take_the_lock_of_their_queue(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 3, true);
	struct mlx5_ib_wqs *wqs = k->qp[0].wqs;
	struct ib_wc wc;

	EXPECT_TAKES_LOCK(test, &wqs->sq.lock, kernel_post(&k->qp[0], 0, 8));
	EXPECT_TAKES_LOCK(test, &k->srq.ring->lock, post_shared(k, 0));
	/* In use, the lock of a CQ is held, and so interrupts are off. */
	local_irq_disable();
	EXPECT_TAKES_LOCK(test, &k->srq.ring->lock, mlx5_ib_srq_ring_complete(k->srq.ring, 0));
	EXPECT_TAKES_LOCK(test, &wqs->sq.lock, mlx5_ib_sq_flush(&wqs->sq, &wc));
	EXPECT_TAKES_LOCK(test, &wqs->rq.lock, mlx5_ib_rq_flush(&wqs->rq, &wc));
	EXPECT_TAKES_LOCK(test, &wqs->sq.lock, mlx5_ib_sq_reset(&wqs->sq));
	EXPECT_TAKES_LOCK(test, &wqs->rq.lock, mlx5_ib_rq_reset(&wqs->rq));
	local_irq_enable();
	EXPECT_TAKES_LOCK(test, &wqs->send_cq->lock, mlx5_ib_kcq_arm(wqs->send_cq,
								     IB_CQ_NEXT_COMP));
	EXPECT_TAKES_LOCK(test, &wqs->send_cq->lock, mlx5_ib_kcq_end(wqs));
	EXPECT_TAKES_LOCK(test, &wqs->send_cq->lock, mlx5_ib_kcq_add(wqs));
	EXPECT_TAKES_LOCK(test, &wqs->recv_cq->lock, mlx5_ib_kcq_end(wqs));
	EXPECT_TAKES_LOCK(test, &wqs->recv_cq->lock, mlx5_ib_kcq_add(wqs));
	wqs->ended = false;
	kernel_destroy_all(k);
}

static void counter_of_a_shared_queue_wraps_at_16_bits(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 3, false);
	unsigned int i;

	k->srq.ring->posted = 0xfffe;
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, post_shared(k, i), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(k->srq.mem.db.db[0]), 1);
	kernel_destroy_all(k);
}

/*
 * Both the doorbell and the record say up to which completion the consumer has polled: any later
 * completion raises the event.
 */
static void arming_tells_the_device_what_has_been_polled(struct kunit *test)
{
	static const struct {
		enum ib_cq_notify_flags flags;
		u32 command;
	} cases[] = {
		{ IB_CQ_NEXT_COMP, MLX5_CQ_DB_REQ_NOT },
		{ IB_CQ_SOLICITED, MLX5_CQ_DB_REQ_NOT_SOL },
		{ IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS, MLX5_CQ_DB_REQ_NOT },
		{ IB_CQ_SOLICITED | IB_CQ_REPORT_MISSED_EVENTS, MLX5_CQ_DB_REQ_NOT_SOL },
	};
	struct kernel *k = kernel_make_connected(test, 0, false);
	__be32 *bell = (__be32 *)&k->mock->bell[MLX5_CQ_DOORBELL / sizeof(u64)];
	struct ib_wc wc;
	unsigned int i;
	u32 want;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		/* One of two new completions is polled. */
		complete_send(test, k, &k->qp[0], i);
		complete_send(test, k, &k->qp[0], i);
		KUNIT_ASSERT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, &wc), 1);
		want = cases[i].command | (i + 1);
		KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&k->cq.ibcq, cases[i].flags), 0);
		KUNIT_EXPECT_EQ_MSG(test, be32_to_cpu(bell[0]), want, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, be32_to_cpu(bell[1]), k->cq.mcq.cqn, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, be32_to_cpu(k->cq.mem.db.db[1]), want, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, be32_to_cpu(k->cq.mem.db.db[0]), i + 1, "case %u", i);
	}
	kernel_destroy_all(k);
}

static int create_qp(struct kernel *k, struct mlx5_ib_qp *qp, struct ib_qp_init_attr *init)
{
	memset(qp, 0, sizeof(*qp));
	qp->ibqp.device = &k->mock->dev->ib_dev;
	qp->ibqp.pd = &k->pd.ibpd;
	qp->ibqp.qp_type = init->qp_type;
	return mlx5_ib_create_qp(&qp->ibqp, init, NULL);
}

/*
 * The driver rings on the registers that mlx5_core has allocated. Events of a CQ go to the EQ of
 * the vector that the consumer has chosen. Only an RC queue pair may register memory.
 */
static void contexts_name_the_registers_of_the_core(struct kunit *test)
{
	const struct ib_cq_init_attr attr = { .cqe = KERNEL_CQES - 1, .comp_vector = 2 };
	struct kernel *k = kernel_make(test);
	struct mlx5_core_dev *mdev = k->mock->dev->mdev;
	void *cqc = MLX5_ADDR_OF(create_cq_in, k->mock->in, cq_context);
	void *qpc = MLX5_ADDR_OF(create_qp_in, k->mock->in, qpc);
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_UD, .send_cq = &k->cq.ibcq, .recv_cq = &k->cq.ibcq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4 },
	};

	mdev->priv.bfreg.up->index = 0x35;
	mdev->priv.bfreg.index = 0x36;
	k->pd.pdn = 0x12;
	k->cq.ibcq.device = &k->mock->dev->ib_dev;
	KUNIT_ASSERT_EQ(test, mlx5_ib_create_cq(&k->cq.ibcq, &attr, NULL), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(cqc, cqc, uar_page), 0x35);
	KUNIT_EXPECT_EQ(test, MLX5_GET(cqc, cqc, log_cq_size), KERNEL_LOG_CQES);
	KUNIT_EXPECT_EQ(test, MLX5_GET(cqc, cqc, cqe_sz), CQE_STRIDE_64);
	/* The first of the mock's EQs has the number 11. */
	KUNIT_EXPECT_EQ(test, MLX5_GET(cqc, cqc, c_eqn_or_apu_element), 13);
	KUNIT_EXPECT_EQ(test, MLX5_GET64(cqc, cqc, dbr_addr), k->cq.mem.db.dma);

	KUNIT_ASSERT_EQ(test, kernel_create_qp(k, &k->qp[0]), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, uar_page), 0x36);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, pd), 0x12);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, fre), 1);
	KUNIT_EXPECT_EQ(test, MLX5_GET64(qpc, qpc, dbr_addr), k->qp[0].mem.db.dma);
	KUNIT_ASSERT_EQ(test, create_qp(k, &k->qp[1], &init), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, uar_page), 0x36);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, fre), 0);
	kernel_destroy_all(k);
}

/* ib_core passes to the driver what a kernel consumer asks for. */
static void queue_that_no_consumer_can_have_is_refused(struct kunit *test)
{
	static const struct {
		struct ib_cq_init_attr attr;
		int want;
	} cqs[] = {
		{ { .cqe = 0 }, -EINVAL }, { { .cqe = 1024 }, -EINVAL },
		{ { .cqe = 3, .flags = IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION }, -EOPNOTSUPP },
		{ { .cqe = 3, .flags = IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN }, -EOPNOTSUPP },
	};
	struct kernel *k = kernel_make(test);
	const struct ib_qp_init_attr bad[] = {
		{ .qp_type = IB_QPT_RC, .send_cq = &k->cq.ibcq, .cap = { .max_send_wr = 4 } },
		{ .qp_type = IB_QPT_RC, .recv_cq = &k->cq.ibcq, .cap = { .max_recv_wr = 4 } },
		{ .qp_type = IB_QPT_RC, .send_cq = &k->cq.ibcq, .recv_cq = &k->cq.ibcq },
	};
	struct ib_qp_init_attr init;
	unsigned int i;

	k->recv_cq.ibcq.device = &k->mock->dev->ib_dev;
	for (i = 0; i < ARRAY_SIZE(cqs); i++)
		KUNIT_EXPECT_EQ_MSG(test, cqs[i].want,
				    mlx5_ib_create_cq(&k->recv_cq.ibcq, &cqs[i].attr, NULL),
				    "CQ %u", i);
	KUNIT_EXPECT_EQ(test, k->mock->num_commands, 0);
	KUNIT_ASSERT_EQ(test, kernel_create_cq(k, &k->cq), 0);
	k->mock->num_commands = 0;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		init = bad[i];
		KUNIT_EXPECT_EQ_MSG(test, create_qp(k, &k->qp[0], &init), -EINVAL, "QP %u", i);
	}
	KUNIT_EXPECT_EQ(test, k->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, k->mock->num_queue_mems, 1);
	kernel_destroy_all(k);
}

static struct kunit_case kernel_queues_cases[] = {
	KUNIT_CASE_PARAM(completions_are_dropped_in_any_lap, cqs_gen_params),
	KUNIT_CASE_PARAM(next_queue_pair_of_the_number_gets_its_own_completions, cqs_gen_params),
	KUNIT_CASE_PARAM(destroyed_queue_pair_leaves_its_room, cqs_gen_params),
	KUNIT_CASE_PARAM(completions_move_across_the_end_of_the_ring, cqs_gen_params),
	KUNIT_CASE(queue_pairs_that_come_and_go_leave_room_for_others),
	KUNIT_CASE(context_names_the_cq_of_each_work_queue),
	KUNIT_CASE(queues_may_have_the_highest_numbers),
	KUNIT_CASE_PARAM(unpolled_completions_are_not_for_the_next_queue_pair, cqs_gen_params),
	KUNIT_CASE_PARAM(reset_queue_pair_starts_empty, cqs_gen_params),
	KUNIT_CASE_PARAM(full_cq_is_filled_again_after_a_destruction, cqs_gen_params),
	KUNIT_CASE_PARAM(unpolled_completions_return_shared_requests, cqs_gen_params),
	KUNIT_CASE(failed_device_calls_no_consumer_that_only_polls),
	KUNIT_CASE_PARAM(cq_of_a_failed_device_is_armed_in_vain, cqs_gen_params),
	KUNIT_CASE(failed_device_calls_the_consumer_of_either_cq),
	KUNIT_CASE(send_queue_is_filled_exactly_in_each_lap),
	KUNIT_CASE(requests_before_a_bad_one_are_posted),
	KUNIT_CASE(shared_requests_before_a_bad_one_are_posted),
	KUNIT_CASE(request_behind_an_invalidation_is_fenced),
	KUNIT_CASE(first_request_after_a_reset_is_not_fenced),
	KUNIT_CASE(completion_has_the_opcode_of_its_request),
	KUNIT_CASE(operations_take_the_lock_of_their_queue),
	KUNIT_CASE(counters_of_a_queue_pair_wrap_at_16_bits),
	KUNIT_CASE(counter_of_a_shared_queue_wraps_at_16_bits),
	KUNIT_CASE(arming_tells_the_device_what_has_been_polled),
	KUNIT_CASE(contexts_name_the_registers_of_the_core),
	KUNIT_CASE(queue_that_no_consumer_can_have_is_refused),
	{}
};

static struct kunit_suite kernel_queues_suite = {
	.name = "bluebell_kernel_queues",
	.test_cases = kernel_queues_cases,
};

kunit_test_suite(kernel_queues_suite);
