// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the queues of kernel consumers: where WQEs are put, which completion is whose, and
 * what a refused command leaves behind. The device is a mock, so the tests write the completions.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "layout/layout_qp.h"
#include "lib/buf.h"
#include "lib/cq_kernel.h"
#include "lib/fail_alloc.h"
#include "lib/interrupt.h"
#include "lib/kernel.h"
#include "lib/log.h"
#include "lib/mock.h"
#include "lib/orphan.h"
#include "lib/rsc.h"
#include "lib/srq_ring.h"
#include "lib/wq_kernel.h"
#include "ops.h"
#include "port.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/srq.h"
#include "verbs/ucontext.h"

static struct kernel *make_connected(struct kunit *test)
{
	return kernel_make_connected(test, 0, false);
}

/* How many bytes of the inline data of a request are not where they should be. */
static unsigned int wrong_bytes(struct mlx5_ib_qp *qp, u16 index, u64 wr_id, unsigned int len)
{
	/* The data follows the control segment and the inline segment, which has its length. */
	unsigned int at = sizeof(struct mlx5_wqe_ctrl_seg) + sizeof(struct mlx5_wqe_inline_seg);
	unsigned int i, wrong = 0;

	for (i = 0; i < len; i++, at++)
		wrong += ((u8 *)kernel_send_block(qp, index + at / 64))[at % 64] !=
			 kernel_sent_byte(wr_id, i);
	return wrong;
}

/* Requests of one to three blocks go round the queue, whose pages are not contiguous. */
static void wqes_follow_each_other_around_the_queue(struct kunit *test)
{
	static const unsigned int inline_len[] = { 40, 104, 124 };
	const unsigned int num_blocks = 2 * PAGE_SIZE / 64;
	struct kernel *k = kernel_make(test);
	struct mlx5_ib_qp *qp = &k->qp[0];
	struct ib_wc wc;
	u16 index = 0;
	unsigned int i;

	/* A request takes three blocks at most, and a queue has a power of two of them. */
	k->send_wr = num_blocks / 3;
	kernel_create_all(k, 0, false);
	KUNIT_ASSERT_EQ(test, qp->wqs->sq.ring.sz_m1, num_blocks - 1);
	KUNIT_ASSERT_EQ(test, qp->mem.buf.frags.npages, 3);
	for (i = 0; i < 4 * num_blocks; i++) {
		unsigned int blocks = i % 3 + 1;

		KUNIT_ASSERT_EQ(test, kernel_post(qp, i, inline_len[i % 3]), 0);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(kernel_send_block(qp, index)[0]),
				(u32)index << 8 | MLX5_OPCODE_SEND);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(kernel_send_block(qp, index)[4]),
				inline_len[i % 3] | 0x80000000);
		KUNIT_EXPECT_MEMEQ(test, k->mock->bell, kernel_send_block(qp, index), 8);
		KUNIT_EXPECT_EQ(test, wrong_bytes(qp, index, i, inline_len[i % 3]), 0);
		kernel_complete(k, qp, MLX5_CQE_REQ, index);
		index += blocks;
		KUNIT_EXPECT_EQ(test, be32_to_cpu(qp->mem.db.db[MLX5_SND_DBR]), index);
		KUNIT_ASSERT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, &wc), 1);
		KUNIT_EXPECT_EQ(test, wc.wr_id, i);
		KUNIT_EXPECT_PTR_EQ(test, wc.qp, &qp->ibqp);
	}
	kernel_destroy_all(k);
}

static void full_send_queue_refuses_requests(struct kunit *test)
{
	struct kernel *k = make_connected(test);
	struct mlx5_ib_qp *qp = &k->qp[0];
	struct ib_wc wc[4];
	unsigned int i;

	for (i = 0; i < 128; i++)
		KUNIT_ASSERT_EQ(test, kernel_post(qp, i, 40), 0);
	KUNIT_EXPECT_EQ(test, kernel_post(qp, i, 40), -ENOMEM);
	/* One completion ends the first three requests, so three blocks are free. */
	kernel_complete(k, qp, MLX5_CQE_REQ, 2);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 4, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 2);
	KUNIT_EXPECT_EQ(test, kernel_post(qp, i, 100), 0);
	KUNIT_EXPECT_EQ(test, kernel_post(qp, i, 100), -ENOMEM);
	KUNIT_EXPECT_EQ(test, kernel_post(qp, i, 40), 0);
	KUNIT_EXPECT_EQ(test, kernel_post(qp, i, 40), -ENOMEM);
	kernel_destroy_all(k);
}

static void full_receive_queue_refuses_requests(struct kunit *test)
{
	struct kernel *k = make_connected(test);
	struct mlx5_ib_qp *qp = &k->qp[0];
	struct ib_wc wc[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, kernel_post_receive(qp, 100 + i), 0);
	KUNIT_EXPECT_EQ(test, kernel_post_receive(qp, 0), -ENOMEM);
	kernel_complete(k, qp, MLX5_CQE_RESP_SEND, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 4, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 100);
	KUNIT_EXPECT_EQ(test, wc[0].opcode, IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, kernel_post_receive(qp, 104), 0);
	KUNIT_EXPECT_EQ(test, kernel_post_receive(qp, 0), -ENOMEM);
	kernel_destroy_all(k);
}

static void state_decides_which_requests_are_accepted(struct kunit *test)
{
	struct kernel *k = make_connected(test);
	struct mlx5_ib_qp *qp = &k->qp[0];
	enum ib_qp_state state;

	for (state = IB_QPS_RESET; state <= IB_QPS_ERR; state++) {
		qp->state = state;
		KUNIT_EXPECT_EQ(test, kernel_post(qp, 0, 8), state < IB_QPS_RTS ? -EINVAL : 0);
		KUNIT_EXPECT_EQ(test, kernel_post_receive(qp, 0),
				state == IB_QPS_RESET ? -EINVAL :
				state <= IB_QPS_SQD ? 0 : -ENOMEM);
	}
	kernel_destroy_all(k);
}

/* ib_drain_qp() posts an RDMA WRITE. No other request is taken for that of a drain. */
static void failed_queue_pair_takes_no_unknown_request(struct kunit *test)
{
	static const enum ib_wr_opcode unknown[] = { IB_WR_LSO, IB_WR_BIND_MW, IB_WR_RESERVED10 };
	struct kernel *k = make_connected(test);
	struct ib_rdma_wr wr = {};
	const struct ib_send_wr *bad;
	unsigned int i;

	k->qp[0].state = IB_QPS_ERR;
	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		wr.wr.opcode = unknown[i];
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_post_send(&k->qp[0].ibqp, &wr.wr, &bad), -EINVAL,
				    "opcode %d", unknown[i]);
		KUNIT_EXPECT_PTR_EQ(test, bad, &wr.wr);
	}
	wr.wr.opcode = IB_WR_RDMA_WRITE;
	KUNIT_EXPECT_EQ(test, mlx5_ib_post_send(&k->qp[0].ibqp, &wr.wr, &bad), 0);
	kernel_destroy_all(k);
}

/* Two queue pairs have completions; one of them is destroyed before all have been polled. */
static void completions_of_a_destroyed_queue_pair_are_dropped(struct kunit *test)
{
	struct kernel *k = make_connected(test);
	struct ib_wc wc[8];
	unsigned int i;

	for (i = 0; i < 6; i++) {
		KUNIT_ASSERT_EQ(test, kernel_post(&k->qp[i % 2], i, 8), 0);
		kernel_complete(k, &k->qp[i % 2], i < 4 ? MLX5_CQE_REQ : MLX5_CQE_REQ_ERR, i / 2);
	}
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp[0].ibqp, NULL), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 8, wc), 3);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, wc[i].wr_id, 2 * i + 1);
		KUNIT_EXPECT_PTR_EQ(test, wc[i].qp, &k->qp[1].ibqp);
	}
	KUNIT_EXPECT_EQ(test, wc[2].status, IB_WC_GENERAL_ERR);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 8, wc), 0);
	/* The device is told that all six CQEs are free. */
	KUNIT_EXPECT_EQ(test, be32_to_cpu(k->cq.mem.db.db[0]) & 0xffffff, 6);
	kernel_destroy_all(k);
}

/* Write the completion of a request that has failed. */
static void fail_request(struct kernel *k, struct mlx5_ib_qp *qp, u8 opcode, u16 index, u8 syndrome)
{
	struct mlx5_err_cqe *cqe = k->cq.mem.buf.frags.frags[0].buf;

	cqe += k->written % KERNEL_CQES;
	kernel_complete(k, qp, opcode, index);
	cqe->syndrome = syndrome;
	cqe->vendor_err_synd = 0x52;
}

/* The log names a request that has failed, unless consumers expect the failure. */
static void unexpected_failure_of_a_request_is_logged(struct kunit *test)
{
	static const struct {
		u8 opcode, syndrome;
		const char *line;
	} cases[] = {
		{ MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR,
		  "send request failed: local protection error (syndrome 0x4," },
		{ MLX5_CQE_RESP_ERR, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR,
		  "receive request failed: local length error (syndrome 0x1," },
		{ MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_WR_FLUSH_ERR },
		{ MLX5_CQE_RESP_ERR, MLX5_CQE_SYNDROME_WR_FLUSH_ERR },
		{ MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR },
		{ MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR },
	};
	struct kernel *k = make_connected(test);
	struct mlx5_ib_qp *qp = &k->qp[0];
	unsigned int i, num[2] = {};
	struct ib_wc wc;
	char line[128];

	log_watch(test);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		bool send = cases[i].opcode == MLX5_CQE_REQ_ERR;

		if (send)
			KUNIT_ASSERT_EQ(test, kernel_post(qp, i, 8), 0);
		else
			KUNIT_ASSERT_EQ(test, kernel_post_receive(qp, i), 0);
		log_watch(test);
		fail_request(k, qp, cases[i].opcode, num[send]++, cases[i].syndrome);
		KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, &wc), 1);
		KUNIT_EXPECT_EQ(test, wc.wr_id, i);
		KUNIT_EXPECT_EQ_MSG(test, log_count("request failed"), !!cases[i].line, "case %u",
				    i);
		if (!cases[i].line)
			continue;
		scnprintf(line, sizeof(line), "QP 0x%x: %s vendor syndrome 0x52)",
			  qp->ibqp.qp_num, cases[i].line);
		KUNIT_EXPECT_EQ_MSG(test, log_count(line), 1, "case %u", i);
	}
	kernel_destroy_all(k);
}

static void failed_device_flushes_all_requests(struct kunit *test)
{
	static const u64 want[] = { 0, 1, 2, 10, 11 };
	struct kernel *k = make_connected(test);
	struct mlx5_ib_qp *qp = &k->qp[0];
	struct ib_wc wc[8];
	unsigned int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, kernel_post(qp, i, 8), 0);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, kernel_post_receive(qp, 10 + i), 0);
	kernel_complete(k, qp, MLX5_CQE_REQ, 0);
	k->mock->dev->failed = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 2, wc), 2);
	KUNIT_EXPECT_EQ(test, wc[0].status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 6, wc + 2), 3);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		KUNIT_EXPECT_EQ(test, wc[i].wr_id, want[i]);
		KUNIT_EXPECT_PTR_EQ(test, wc[i].qp, &qp->ibqp);
		if (i)
			KUNIT_EXPECT_EQ(test, wc[i].status, IB_WC_WR_FLUSH_ERR);
	}
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 8, wc), 0);
	k->mock->dev->failed = false;
	kernel_destroy_all(k);
}

/* A device that has failed may write completions after the requests have been flushed. */
static void flushed_request_completes_once(struct kunit *test)
{
	const int arm = IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;
	struct kernel *k = make_connected(test);
	struct mlx5_ib_qp *qp = &k->qp[0];
	struct ib_wc wc[8];
	unsigned int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, kernel_post(qp, i, 8), 0);
	KUNIT_ASSERT_EQ(test, kernel_post_receive(qp, 10), 0);
	k->mock->dev->failed = true;
	/* Nothing has been flushed yet. */
	kernel_complete(k, qp, MLX5_CQE_REQ, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 2, wc), 2);
	KUNIT_EXPECT_EQ(test, wc[0].status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc[1].wr_id, 1);
	KUNIT_EXPECT_EQ(test, wc[1].status, IB_WC_WR_FLUSH_ERR);
	/*
	 * Completions of the flushed request, and of a send and a receive that are not flushed yet.
	 */
	kernel_complete(k, qp, MLX5_CQE_REQ, 1);
	kernel_complete(k, qp, MLX5_CQE_REQ, 2);
	kernel_complete(k, qp, MLX5_CQE_RESP_SEND, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 8, wc), 2);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 2);
	KUNIT_EXPECT_EQ(test, wc[0].status, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, wc[1].wr_id, 10);
	KUNIT_EXPECT_EQ(test, wc[1].status, IB_WC_WR_FLUSH_ERR);
	kernel_complete(k, qp, MLX5_CQE_REQ, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&k->cq.ibcq, arm), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 8, wc), 0);
	k->mock->dev->failed = false;
	kernel_destroy_all(k);
}

static bool bell_is_silent(struct kernel *k)
{
	return !memchr_inv(k->mock->bell, 0, sizeof(k->mock->bell));
}

/* The registers of a failed device may be gone. Completions from before the failure are polled. */
static void failed_device_is_not_rung(struct kunit *test)
{
	struct kernel *k = make_connected(test);
	const int arm = IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;
	struct mlx5_ib_qp *qp = &k->qp[0];
	unsigned int calls = 0;
	struct ib_wc wc[4];

	k->cq.ibcq.cq_context = &calls;
	KUNIT_EXPECT_TRUE(test, bell_is_silent(k));
	KUNIT_ASSERT_EQ(test, kernel_post(qp, 0, 8), 0);
	KUNIT_EXPECT_NE(test, k->mock->bell[0], 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&k->cq.ibcq, arm), 0);
	KUNIT_EXPECT_NE(test, k->mock->bell[4], 0);
	memset(k->mock->bell, 0, sizeof(k->mock->bell));

	kernel_complete(k, qp, MLX5_CQE_REQ, 0);
	k->mock->dev->failed = true;
	/* No event will come for the completion. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&k->cq.ibcq, arm), 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 4, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&k->cq.ibcq, arm), 0);
	KUNIT_EXPECT_EQ(test, calls, 0);
	KUNIT_EXPECT_EQ(test, kernel_post(qp, 1, 8), 0);
	KUNIT_EXPECT_EQ(test, kernel_post_receive(qp, 2), 0);
	flush_work(&k->cq.kcq->wake);
	KUNIT_EXPECT_GE(test, calls, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&k->cq.ibcq, arm), 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 4, wc), 2);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 1);
	KUNIT_EXPECT_EQ(test, wc[1].wr_id, 2);
	KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&k->cq.ibcq, arm), 0);
	KUNIT_EXPECT_TRUE(test, bell_is_silent(k));
	k->mock->dev->failed = false;
	kernel_destroy_all(k);
}

static void refused_queue_leaves_nothing(struct kunit *test)
{
	struct kernel *k = kernel_make(test);
	struct mock *mock = k->mock;

	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, kernel_create_cq(k, &k->cq), mock->refuse_err);
	mock->refuse = 0;
	mock->refuse_queue_mem = true;
	KUNIT_EXPECT_EQ(test, kernel_create_cq(k, &k->cq), -ENOMEM);
	mock->refuse_queue_mem = false;
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 0);
	KUNIT_ASSERT_EQ(test, kernel_create_cq(k, &k->cq), 0);

	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, kernel_create_qp(k, &k->qp[0]), mock->refuse_err);
	mock->refuse = 0;
	mock->refuse_queue_mem = true;
	KUNIT_EXPECT_EQ(test, kernel_create_qp(k, &k->qp[0]), -ENOMEM);
	mock->refuse_queue_mem = false;
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 1);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 1);
	kernel_destroy_all(k);
}

/* The device may use the memory of the queue until the device fails or is reset. */
static void unanswered_creation_keeps_the_memory(struct kunit *test)
{
	struct kernel *k = kernel_make(test);
	struct mock *mock = k->mock;
	struct mlx5_core_dev *mdev = mock->dev->mdev;
	enum mlx5_device_state state = mdev->state;

	KUNIT_ASSERT_EQ(test, kernel_create_cq(k, &k->cq), 0);
	mock->refuse_err = -ETIMEDOUT;
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, kernel_create_cq(k, &k->recv_cq), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 2);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, kernel_create_qp(k, &k->qp[0]), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 3);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, kernel_create_srq(k, 3), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 4);
	mock->refuse = 0;
	mdev->state = MLX5_DEVICE_STATE_INTERNAL_ERROR;
	mlx5_ib_orphans_retry(mock->dev, NULL);
	mdev->state = state;
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 1);
	kernel_destroy_all(k);
}

/*
 * Kernel consumers destroy a queue pair once, so the verb succeeds. If firmware refuses to destroy
 * the queue pair, its memory stays until firmware has destroyed it.
 */
static void refused_destruction_succeeds_and_keeps_the_memory(struct kunit *test)
{
	struct kernel *k = make_connected(test);
	struct mock *mock = k->mock;
	struct ib_wc wc;

	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp[0].ibqp, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_DESTROY_QP);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 2);
	mock->refuse = 0;

	KUNIT_EXPECT_EQ(test, kernel_post(&k->qp[1], 7, 8), 0);
	kernel_complete(k, &k->qp[1], MLX5_CQE_REQ, 0);
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp[1].ibqp, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 2);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, &wc), 0);
	mock->refuse_destroy = false;
	/* The orphan is destroyed before the CQ, to which it refers. */
	kernel_destroy_all(k);
}

/* The consumer of the running test, for the stubs below. */
static struct kernel *late;

/*
 * The device does not answer 2RST_QP, and completes a request just before it executes DESTROY_QP.
 */
static int fw_completes_until_destroyed(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size,
					void *out, int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);

	switch (MLX5_GET(destroy_qp_in, in, opcode)) {
	case MLX5_CMD_OP_2RST_QP:
		return -ETIMEDOUT;
	case MLX5_CMD_OP_DESTROY_QP:
		kernel_complete(late, &late->qp[0], MLX5_CQE_REQ, 0);
		break;
	}
	return err;
}

static void next_queue_pair_of_the_number_gets_no_old_completion(struct kunit *test)
{
	struct kernel *k = make_connected(test);
	u32 qpn = k->qp[0].ibqp.qp_num;
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(test, kernel_post(&k->qp[0], 1, 8), 0);
	late = k;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_completes_until_destroyed);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp[0].ibqp, NULL), 0);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, mock_fw);

	KUNIT_ASSERT_EQ(test, kernel_create_qp(k, &k->qp[0]), 0);
	KUNIT_ASSERT_EQ(test, k->qp[0].ibqp.qp_num, qpn);
	k->qp[0].state = IB_QPS_RTS;
	KUNIT_ASSERT_EQ(test, kernel_post(&k->qp[0], 2, 8), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, &wc), 0);
	kernel_complete(k, &k->qp[0], MLX5_CQE_REQ, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 2);
	kernel_destroy_all(k);
}

/* An old completion may have the number of a newer queue pair, which completes on another CQ. */
static void completion_is_for_a_queue_pair_of_its_own_cq(struct kunit *test)
{
	const struct ib_cq_init_attr attr = { .cqe = KERNEL_CQES - 1 };
	struct kernel *k = make_connected(test);
	struct mlx5_ib_cq *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	struct mlx5_ib_kcq *kcq = k->cq.kcq;
	struct mlx5_ib_qp *qp = &k->qp[0];
	struct ib_wc wc;

	KUNIT_ASSERT_NOT_NULL(test, other);
	other->ibcq.device = k->cq.ibcq.device;
	KUNIT_ASSERT_EQ(test, mlx5_ib_create_cq(&other->ibcq, &attr, NULL), 0);
	KUNIT_ASSERT_EQ(test, kernel_post(qp, 1, 8), 0);
	KUNIT_ASSERT_EQ(test, kernel_post_receive(qp, 2), 0);
	/* The send queue completes on the other CQ. */
	qp->wqs->send_cq = other->kcq;
	list_move(&qp->wqs->send_node, &other->kcq->senders);
	kernel_complete(k, qp, MLX5_CQE_REQ, 0);
	kernel_complete(k, qp, MLX5_CQE_RESP_SEND, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 2);
	KUNIT_EXPECT_EQ(test, qp->wqs->sq.done, 0);
	qp->wqs->send_cq = kcq;
	list_move(&qp->wqs->send_node, &kcq->senders);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_cq(&other->ibcq, NULL), 0);
	kernel_destroy_all(k);
}

/* ---- completion queues that are freed --------------------------------------------------- */

/**
 * struct held_wq - a workqueue that executes nothing for a while
 * @wq: the workqueue, an ordered one
 * @hold: the work item that blocks @wq
 * @release: ends @hold
 */
struct held_wq {
	struct workqueue_struct *wq;
	struct work_struct hold;
	struct completion release;
};

static void hold_wq(struct work_struct *work)
{
	wait_for_completion(&container_of(work, struct held_wq, hold)->release);
}

/* The CQ that ib_core frees in the running test. */
static struct ib_cq *freed_cq;

/* Until the device executes DESTROY_CQ, an event may come that queues ib_core's work item. */
static int fw_expects_work(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			   int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	if (MLX5_GET(destroy_cq_in, in, opcode) == MLX5_CMD_OP_DESTROY_CQ)
		KUNIT_EXPECT_TRUE_MSG(kunit_get_current_test(), work_pending(&freed_cq->work),
				      "ib_core has cancelled its work before DESTROY_CQ");
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

/* Firmware may refuse to destroy a CQ that an orphan refers to. */
static void orphans_are_destroyed_before_the_cq_of_a_consumer(struct kunit *test)
{
	struct kernel *k = kernel_make(test);
	struct mlx5_ib_fw_attempt attempt = {};
	struct mlx5_ib_queue_mem mem = {};
	struct mock *mock = k->mock;
	u32 num;

	KUNIT_ASSERT_EQ(test, kernel_create_cq(k, &k->cq), 0);
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_fw_alloc_object(mock->dev, MLX5_IB_KERNEL_UID,
							 MLX5_CMD_OP_ALLOC_UAR, &num));
	mlx5_ib_orphan_adopt(mock->dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_DEALLOC_UAR, num, &attempt,
			     "UAR", &mem, -EBUSY);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_pre_destroy_cq(&k->cq.ibcq), 0);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_UAR], 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_DESTROY_CQ);
	mlx5_ib_post_destroy_cq(&k->cq.ibcq);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_CQ], 0);
	mlx5_ib_cleanup_orphans(mock->dev);
}

/* A work item that an event queues after ib_core has cancelled it would run on a freed CQ. */
static void cq_is_destroyed_before_ib_core_cancels_its_work(struct kunit *test)
{
	struct kernel *k = kernel_make(test);
	struct ib_device *ibdev = &k->mock->dev->ib_dev;
	struct held_wq held;

	held.wq = alloc_ordered_workqueue("bluebell_test", 0);
	KUNIT_ASSERT_NOT_NULL(test, held.wq);
	init_completion(&held.release);
	INIT_WORK_ONSTACK(&held.hold, hold_wq);
	queue_work(held.wq, &held.hold);
	ib_set_device_ops(ibdev, &mlx5_ib_dev_ops);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_expects_work);

	freed_cq = ib_alloc_cq(ibdev, NULL, 3, 0, IB_POLL_WORKQUEUE);
	KUNIT_EXPECT_FALSE(test, IS_ERR(freed_cq));
	if (!IS_ERR(freed_cq)) {
		freed_cq->comp_wq = held.wq;
		to_mcq(freed_cq)->mcq.comp(&to_mcq(freed_cq)->mcq, NULL);
		ib_free_cq(freed_cq);
	}
	complete(&held.release);
	destroy_workqueue(held.wq);
	destroy_work_on_stack(&held.hold);
	KUNIT_EXPECT_EQ(test, k->mock->num_live[MOCK_CQ], 0);
	KUNIT_EXPECT_EQ(test, k->mock->num_queue_mems, 0);
}

/* ib_core polls, arms and moderates the queue in work items, which may still run. */
static void destroyed_cq_is_not_rung(struct kunit *test)
{
	const int arm = IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;
	struct kernel *k = kernel_make(test);
	struct mock *mock = k->mock;
	struct ib_wc wc;

	MOCK_SET_CAP(&mock->dev->caps, cq_moderation, 1);
	KUNIT_ASSERT_EQ(test, kernel_create_cq(k, &k->cq), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_cq(&k->cq.ibcq, 1, 1), 0);
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_pre_destroy_cq(&k->cq.ibcq), 0);
	mock->refuse_destroy = false;

	memset(mock->bell, 0, sizeof(mock->bell));
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, &wc), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&k->cq.ibcq, arm), 0);
	KUNIT_EXPECT_TRUE(test, bell_is_silent(k));
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_cq(&k->cq.ibcq, 1, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	/* ib_core still polls the CQ, so that its memory must not be freed yet. */
	mlx5_ib_orphans_retry(mock->dev, NULL);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 1);
	mlx5_ib_post_destroy_cq(&k->cq.ibcq);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 1);
	mlx5_ib_orphans_retry(mock->dev, NULL);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* ---- shared receive queues -------------------------------------------------------------- */

static int post_shared(struct kernel *k, u64 wr_id, int num_sge)
{
	struct ib_sge sge[4] = {
		{ .addr = 0x1000 + wr_id, .length = 8, .lkey = 0x77 },
		{ .addr = 0x2000 + wr_id, .length = 9, .lkey = 0x78 },
		{ .addr = 0x3000 + wr_id, .length = 10, .lkey = 0x79 },
		{ .addr = 0x4000 + wr_id, .length = 11, .lkey = 0x7a },
	};
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = num_sge };
	const struct ib_recv_wr *bad = NULL;
	int err = mlx5_ib_post_srq_recv(&k->srq.ibsrq, &wr, &bad);

	KUNIT_EXPECT_PTR_EQ(kunit_get_current_test(), bad, err ? &wr : NULL);
	return err;
}

static void *shared_wqe(struct kernel *k, u16 index)
{
	size_t at = index << k->srq.wq.wqe_shift;

	return k->srq.mem.buf.frags.frags[at / PAGE_SIZE].buf + at % PAGE_SIZE;
}

/* Returns wr_id of the next completion, which is of a receive request. */
static u64 poll_one(struct kernel *k)
{
	struct kunit *test = kunit_get_current_test();
	struct ib_wc wc = {};

	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV);
	return wc.wr_id;
}

static void shared_requests_complete_in_any_order(struct kunit *test)
{
	static const u16 order[] = { 2, 0, 1 };
	struct kernel *k = kernel_make_connected(test, 3, false);
	struct mlx5_wqe_srq_next_seg *next;
	struct mlx5_wqe_data_seg *seg;
	u16 wqe = 0, posted = 0, now[3];
	unsigned int round, i;

	KUNIT_ASSERT_EQ(test, k->srq.wq.wqe_cnt, 4);
	for (round = 0; round < 50; round++) {
		for (i = 0; i < 3; i++) {
			KUNIT_ASSERT_EQ(test, post_shared(k, round * 3 + i, 2), 0);
			next = shared_wqe(k, wqe);
			seg = (struct mlx5_wqe_data_seg *)(next + 1);
			KUNIT_EXPECT_EQ(test, be32_to_cpu(seg[0].byte_count), 8);
			KUNIT_EXPECT_EQ(test, be64_to_cpu(seg[0].addr), 0x1000 + round * 3 + i);
			KUNIT_EXPECT_EQ(test, be32_to_cpu(seg[1].lkey), 0x78);
			now[i] = wqe;
			wqe = be16_to_cpu(next->next_wqe_index);
			posted++;
			KUNIT_EXPECT_EQ(test, be32_to_cpu(k->srq.mem.db.db[0]), posted);
		}
		KUNIT_EXPECT_EQ(test, post_shared(k, 0, 1), -ENOMEM);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(k->srq.mem.db.db[0]), posted);
		for (i = 0; i < 3; i++)
			kernel_complete(k, &k->qp[i % 2], MLX5_CQE_RESP_SEND, now[order[i]]);
		for (i = 0; i < 3; i++)
			KUNIT_EXPECT_EQ(test, poll_one(k), round * 3 + order[i]);
		/* The one free WQE of the list comes first, then the completed ones. */
		KUNIT_EXPECT_EQ(test, be16_to_cpu(((struct mlx5_wqe_srq_next_seg *)
						   shared_wqe(k, wqe))->next_wqe_index),
				now[order[0]]);
	}
	/* A WQE for two segments has room for three, and not for four. */
	KUNIT_EXPECT_EQ(test, post_shared(k, 0, 4), -EINVAL);
	kernel_destroy_all(k);
}

static void destroyed_queue_pair_returns_shared_requests(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 3, false);
	struct ib_wc wc;
	unsigned int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, post_shared(k, i, 1), 0);
	kernel_complete(k, &k->qp[0], MLX5_CQE_RESP_SEND, 0);
	kernel_complete(k, &k->qp[1], MLX5_CQE_RESP_SEND, 1);
	kernel_complete(k, &k->qp[0], MLX5_CQE_RESP_SEND, 2);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp[0].ibqp, NULL), 0);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, post_shared(k, 10 + i, 1), 0);
	KUNIT_EXPECT_EQ(test, post_shared(k, 12, 1), -ENOMEM);
	KUNIT_EXPECT_EQ(test, poll_one(k), 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, &wc), 0);
	KUNIT_EXPECT_EQ(test, post_shared(k, 12, 1), 0);
	kernel_destroy_all(k);
}

/* The device does not reset the first queue pair. Another consumer polls before DESTROY_QP. */
static int fw_receives_until_destroyed(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size,
				       void *out, int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	switch (MLX5_GET(destroy_qp_in, in, opcode)) {
	case MLX5_CMD_OP_2RST_QP:
		return -EBUSY;
	case MLX5_CMD_OP_DESTROY_QP:
		kernel_complete(late, &late->qp[0], MLX5_CQE_RESP_SEND, 0);
		kernel_complete(late, &late->qp[1], MLX5_CQE_RESP_SEND, 1);
		KUNIT_EXPECT_EQ(kunit_get_current_test(), poll_one(late), 1);
		kernel_complete(late, &late->qp[0], MLX5_CQE_RESP_SEND, 2);
		break;
	}
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

/*
 * All three requests of the SRQ have completed, one for the other queue pair: all are free again.
 */
static void queue_pair_that_is_not_reset_returns_shared_requests(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 3, false);
	struct ib_wc wc;
	unsigned int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, post_shared(k, i, 1), 0);
	late = k;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_receives_until_destroyed);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp[0].ibqp, NULL), 0);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, mock_fw);
	KUNIT_EXPECT_EQ(test, mlx5_ib_poll_cq(&k->cq.ibcq, 1, &wc), 0);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, post_shared(k, 10 + i, 1), 0);
	KUNIT_EXPECT_EQ(test, post_shared(k, 13, 1), -ENOMEM);
	kernel_destroy_all(k);
}

static void refused_shared_queue_leaves_nothing(struct kunit *test)
{
	struct kernel *k = kernel_make(test);
	struct mock *mock = k->mock;

	KUNIT_ASSERT_EQ(test, kernel_create_cq(k, &k->cq), 0);
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, kernel_create_srq(k, 100), mock->refuse_err);
	mock->refuse = 0;
	mock->refuse_queue_mem = true;
	KUNIT_EXPECT_EQ(test, kernel_create_srq(k, 100), -ENOMEM);
	mock->refuse_queue_mem = false;
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 1);
	KUNIT_EXPECT_EQ(test, kernel_create_srq(k, 1024), -EINVAL);

	KUNIT_ASSERT_EQ(test, kernel_create_srq(k, 100), 0);
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_srq(&k->srq.ibsrq, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 2);
	mock->refuse_destroy = false;
	/* The orphan is destroyed, and its memory freed, before the CQ is destroyed. */
	kernel_destroy_all(k);
}

static void count_last_wqe(struct ib_event *event, void *arg)
{
	if (event->event == IB_EVENT_QP_LAST_WQE_REACHED)
		++*(unsigned int *)arg;
}

static int take_to(struct mlx5_ib_qp *qp, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return mlx5_ib_modify_qp(&qp->ibqp, &attr, IB_QP_STATE, NULL);
}

static int take_to_error(struct mlx5_ib_qp *qp)
{
	return take_to(qp, IB_QPS_ERR);
}

/*
 * The consumer of a queue pair in error waits for the event that says that the queue pair takes no
 * more WQEs of the SRQ. A failed device raises no event, so the driver reports this event.
 */
static void failed_device_reports_the_last_wqe_once(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 3, false);
	struct workqueue_struct *wq = alloc_workqueue("bluebell_test", WQ_UNBOUND, 0);
	unsigned int told[KERNEL_QPS] = {}, i;

	KUNIT_ASSERT_NOT_NULL(test, wq);
	k->mock->dev->rsc_table.wq = wq;
	for (i = 0; i < KERNEL_QPS; i++) {
		k->qp[i].ibqp.event_handler = count_last_wqe;
		k->qp[i].ibqp.qp_context = &told[i];
	}
	/*
	 * The first queue pair is in error when the device fails; the second one is taken to error
	 * later.
	 */
	KUNIT_EXPECT_EQ(test, take_to_error(&k->qp[0]), 0);
	flush_workqueue(wq);
	KUNIT_EXPECT_EQ(test, told[0], 0);
	mlx5_ib_flush_kernel_queues(k->mock->dev);
	flush_workqueue(wq);
	KUNIT_EXPECT_EQ(test, told[0], 1);
	KUNIT_EXPECT_EQ(test, told[1], 0);
	for (i = 0; i < KERNEL_QPS; i++)
		KUNIT_EXPECT_EQ(test, take_to_error(&k->qp[i]), 0);
	flush_workqueue(wq);
	KUNIT_EXPECT_EQ(test, told[0], 1);
	KUNIT_EXPECT_EQ(test, told[1], 1);
	k->mock->dev->rsc_table.wq = NULL;
	destroy_workqueue(wq);
	k->mock->dev->failed = false;
	kernel_destroy_all(k);
}

/*
 * The events of both queue pairs are due when the device fails. Only the second queue pair
 * completes on the second CQ, whose consumer waits for a call.
 */
static void failure_of_the_device_reaches_every_queue_pair(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_workqueue("bluebell_test", WQ_UNBOUND, 0);
	unsigned int told[KERNEL_QPS] = {}, calls = 0, i;
	struct kernel *k = kernel_make(test);

	KUNIT_ASSERT_NOT_NULL(test, wq);
	k->mock->dev->rsc_table.wq = wq;
	KUNIT_ASSERT_EQ(test, kernel_create_cq(k, &k->cq), 0);
	KUNIT_ASSERT_EQ(test, kernel_create_cq(k, &k->recv_cq), 0);
	KUNIT_ASSERT_EQ(test, kernel_create_srq(k, 3), 0);
	for (i = 0; i < KERNEL_QPS; i++) {
		k->two_cqs = i;
		KUNIT_ASSERT_EQ(test, kernel_create_qp(k, &k->qp[i]), 0);
		k->qp[i].state = IB_QPS_RTS;
		k->qp[i].ibqp.event_handler = count_last_wqe;
		k->qp[i].ibqp.qp_context = &told[i];
		KUNIT_EXPECT_EQ(test, take_to_error(&k->qp[i]), 0);
	}
	k->recv_cq.ibcq.cq_context = &calls;
	KUNIT_EXPECT_EQ(test, mlx5_ib_req_notify_cq(&k->recv_cq.ibcq, IB_CQ_NEXT_COMP), 0);
	mlx5_ib_flush_kernel_queues(k->mock->dev);
	flush_workqueue(wq);
	flush_work(&k->recv_cq.kcq->wake);
	for (i = 0; i < KERNEL_QPS; i++)
		KUNIT_EXPECT_EQ_MSG(test, told[i], 1, "queue pair %u", i);
	KUNIT_EXPECT_EQ(test, calls, 1);
	k->mock->dev->rsc_table.wq = NULL;
	destroy_workqueue(wq);
	k->mock->dev->failed = false;
	kernel_destroy_all(k);
}

/*
 * Between two resets there is one event: from the device, or from the driver if the device failed.
 */
static void reset_queue_pair_reports_its_last_wqe_again(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 3, false);
	struct workqueue_struct *wq = alloc_workqueue("bluebell_test", WQ_UNBOUND, 0);
	struct mlx5_ib_dev *dev = k->mock->dev;
	struct mlx5_ib_qp *qp = &k->qp[0];
	unsigned int told = 0, i;

	KUNIT_ASSERT_NOT_NULL(test, wq);
	dev->rsc_table.wq = wq;
	qp->ibqp.event_handler = count_last_wqe;
	qp->ibqp.qp_context = &told;
	for (i = 1; i <= 2; i++) {
		KUNIT_EXPECT_EQ(test, take_to_error(qp), 0);
		mlx5_ib_rsc_raise(dev, MLX5_EVENT_TYPE_SRQ_LAST_WQE, qp->rsc.num);
		flush_workqueue(wq);
		KUNIT_EXPECT_EQ(test, told, i);
		mlx5_ib_rsc_raise(dev, MLX5_EVENT_TYPE_SRQ_LAST_WQE, qp->rsc.num);
		flush_workqueue(wq);
		KUNIT_EXPECT_EQ(test, told, i);
		KUNIT_EXPECT_EQ(test, take_to(qp, IB_QPS_RESET), 0);
		qp->state = IB_QPS_RTS;
	}
	/* The queue pair is not in error when the device fails, so the event is not due yet. */
	mlx5_ib_flush_kernel_queues(dev);
	flush_workqueue(wq);
	KUNIT_EXPECT_EQ(test, told, 2);
	KUNIT_EXPECT_EQ(test, take_to_error(qp), 0);
	flush_workqueue(wq);
	KUNIT_EXPECT_EQ(test, told, 3);
	dev->rsc_table.wq = NULL;
	destroy_workqueue(wq);
	dev->failed = false;
	kernel_destroy_all(k);
}

static const struct receiver_case {
	const char *name;
	u32 srq_wr;
} receiver_cases[] = {
	{ "receive queues", 0 }, { "a shared receive queue", 3 },
};

KUNIT_ARRAY_PARAM_DESC(receiver, receiver_cases, name);

/**
 * struct consumer_calls - what a consumer calls in its completion handler
 * @k: the consumer
 * @wc: the completions that it polls
 * @polled: number of completions
 * @armed: what ib_req_notify_cq() has returned
 * @sent: what ib_post_send() has returned
 * @received: what ib_post_recv() or ib_post_srq_recv() has returned
 */
struct consumer_calls {
	struct kernel *k;
	struct ib_wc wc[4];
	int polled;
	int armed;
	int sent;
	int received;
};

static void poll_arm_and_post(void *arg)
{
	struct consumer_calls *calls = arg;
	struct kernel *k = calls->k;

	calls->polled = mlx5_ib_poll_cq(&k->cq.ibcq, ARRAY_SIZE(calls->wc), calls->wc);
	calls->armed = mlx5_ib_req_notify_cq(&k->cq.ibcq, IB_CQ_NEXT_COMP);
	calls->sent = kernel_post(&k->qp[0], 1, 8);
	calls->received = k->srq.ring ? post_shared(k, 1, 1) :
					kernel_post_receive(&k->qp[0], 1);
}

/* mlx5_core tells the driver in an interrupt, too, that the device has failed. */
static void fail_and_poll(void *arg)
{
	struct consumer_calls *calls = arg;
	struct kernel *k = calls->k;

	mlx5_ib_flush_kernel_queues(k->mock->dev);
	calls->polled = mlx5_ib_poll_cq(&k->cq.ibcq, ARRAY_SIZE(calls->wc), calls->wc);
}

/*
 * lockdep reports each lock that the driver takes in an interrupt and in a task that can be
 * interrupted meanwhile.
 */
static void interrupt_may_poll_arm_and_post(struct kunit *test)
{
	const struct receiver_case *c = test->param_value;
	struct kernel *k = kernel_make_connected(test, c->srq_wr, false);
	struct consumer_calls calls = { .k = k };
	struct mlx5_ib_qp *qp = &k->qp[0];

	KUNIT_ASSERT_EQ(test, kernel_post(qp, 0, 8), 0);
	KUNIT_ASSERT_EQ(test, c->srq_wr ? post_shared(k, 0, 1) : kernel_post_receive(qp, 0), 0);
	kernel_complete(k, qp, MLX5_CQE_REQ, 0);
	kernel_complete(k, qp, MLX5_CQE_RESP_SEND, 0);
	call_in_interrupt(poll_arm_and_post, &calls);
	KUNIT_EXPECT_EQ(test, calls.polled, 2);
	KUNIT_EXPECT_EQ(test, calls.armed, 0);
	KUNIT_EXPECT_EQ(test, calls.sent, 0);
	KUNIT_EXPECT_EQ(test, calls.received, 0);
	/* The same locks in the task: queue pairs come to the CQ, are reset, and leave the CQ. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp[1].ibqp, NULL), 0);
	KUNIT_ASSERT_EQ(test, kernel_create_qp(k, &k->qp[1]), 0);
	KUNIT_EXPECT_EQ(test, take_to(qp, IB_QPS_RESET), 0);
	qp->state = IB_QPS_RTS;
	poll_arm_and_post(&calls);
	KUNIT_EXPECT_EQ(test, calls.polled, 0);
	KUNIT_EXPECT_EQ(test, calls.sent, 0);
	KUNIT_EXPECT_EQ(test, calls.received, 0);
	call_in_interrupt(fail_and_poll, &calls);
	/* What is posted to a shared receive queue is not flushed. */
	KUNIT_EXPECT_EQ(test, calls.polled, c->srq_wr ? 1 : 2);
	k->mock->dev->failed = false;
	kernel_destroy_all(k);
}

static void count_cq_error(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_CQ_ERR)
		++*(unsigned int *)context;
}

/* A consumer need not have a handler of events: ib_alloc_cq() takes none. */
static void event_reaches_a_consumer_that_has_a_handler(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 3, false);
	struct mlx5_core_cq *mcq = &k->cq.mcq;
	unsigned int told = 0;

	mcq->event(mcq, MLX5_EVENT_TYPE_CQ_ERROR);
	k->qp[0].rsc.ops->event(&k->qp[0].rsc, IB_EVENT_QP_FATAL);
	k->srq.rsc.ops->event(&k->srq.rsc, IB_EVENT_SRQ_ERR);
	k->cq.ibcq.event_handler = count_cq_error;
	k->cq.ibcq.cq_context = &told;
	mcq->event(mcq, MLX5_EVENT_TYPE_CQ_ERROR);
	KUNIT_EXPECT_EQ(test, told, 1);
	mcq->event(mcq, MLX5_EVENT_TYPE_COMP);
	KUNIT_EXPECT_EQ(test, told, 1);
	kernel_destroy_all(k);
}

/* Consumers who only poll have a handler that must not be called. */
static void consumer_that_only_polls_is_not_called(struct kunit *test)
{
	struct kernel *k = make_connected(test);
	struct mlx5_ib_kcq *kcq = k->cq.kcq;
	unsigned int calls = 0;

	k->cq.ibcq.cq_context = &calls;
	KUNIT_ASSERT_EQ(test, kernel_post(&k->qp[0], 1, 8), 0);
	mlx5_ib_flush_kernel_queues(k->mock->dev);
	flush_work(&kcq->wake);
	KUNIT_EXPECT_EQ(test, calls, 0);
	/* A consumer that arms the CQ after the failure is called because of the posted request. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_kcq_arm(kcq, IB_CQ_NEXT_COMP), 0);
	flush_work(&kcq->wake);
	KUNIT_EXPECT_EQ(test, calls, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_kcq_arm(kcq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS),
			1);
	flush_work(&kcq->wake);
	KUNIT_EXPECT_EQ(test, calls, 1);
	/*
	 * The work may begin before all queues of both queue pairs have asked for it; then it runs
	 * once more.
	 */
	mlx5_ib_flush_kernel_queues(k->mock->dev);
	flush_work(&kcq->wake);
	KUNIT_EXPECT_GE(test, calls, 2);
	k->mock->dev->failed = false;
	kernel_destroy_all(k);
}

/* ---- limits of the device --------------------------------------------------------------- */

/* Consumers ask for as many reads as the device says, see nvme_rdma and nvmet_rdma. */
static void queue_pair_takes_as_many_reads_as_the_device_says(struct kunit *test)
{
	struct kernel *k = kernel_make(test);
	struct mlx5_core_dev *mdev = k->mock->dev->mdev;
	struct mlx5_ib_caps *caps = &k->mock->dev->caps;
	struct ib_qp_attr attr = {};
	struct mlx5_ib_qp_modify mod = {
		.type = IB_QPT_RC, .cur = IB_QPS_RTS, .next = IB_QPS_RTS, .attr = &attr,
		.mask = IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MAX_DEST_RD_ATOMIC,
	};
	struct ib_device_attr props;

	mdev->pdev = kunit_kzalloc(test, sizeof(*mdev->pdev), GFP_KERNEL);
	mdev->iseg = (void __force __iomem *)kunit_kzalloc(test, sizeof(*mdev->iseg), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mdev->pdev);
	KUNIT_ASSERT_NOT_NULL(test, (void __force *)mdev->iseg);
	/* 8 reads as requester, and 32 as responder. */
	MOCK_SET_CAP(caps, log_max_ra_req_qp, 3);
	MOCK_SET_CAP(caps, log_max_ra_res_qp, 5);
	MOCK_SET_CAP(caps, log_max_qp, 24);
	KUNIT_ASSERT_EQ(test, mlx5_ib_query_device(&k->mock->dev->ib_dev, &props, NULL), 0);
	KUNIT_EXPECT_EQ(test, props.max_qp_init_rd_atom, 8);
	KUNIT_EXPECT_EQ(test, props.max_qp_rd_atom, 32);
	KUNIT_EXPECT_EQ(test, props.max_res_rd_atom, 32 << 24);
	attr.max_rd_atomic = props.max_qp_init_rd_atom;
	attr.max_dest_rd_atomic = props.max_qp_rd_atom;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), 0);
	/* The contexts of queue pairs have room for 128 reads. */
	MOCK_SET_CAP(caps, log_max_ra_req_qp, 9);
	MOCK_SET_CAP(caps, log_max_ra_res_qp, 9);
	KUNIT_ASSERT_EQ(test, mlx5_ib_query_device(&k->mock->dev->ib_dev, &props, NULL), 0);
	KUNIT_EXPECT_EQ(test, props.max_qp_init_rd_atom, 128);
	KUNIT_EXPECT_EQ(test, props.max_qp_rd_atom, 128);
	KUNIT_EXPECT_EQ(test, props.max_res_rd_atom, INT_MAX);
}

/* ---- allocations that fail ---------------------------------------------------------------- */

static int create_cq(void *k)
{
	return kernel_create_cq(k, &((struct kernel *)k)->cq);
}

static void destroy_cq(void *k)
{
	mlx5_ib_destroy_cq(&((struct kernel *)k)->cq.ibcq, NULL);
}

static int create_srq(void *k)
{
	return kernel_create_srq(k, 10);
}

static void destroy_srq(void *k)
{
	mlx5_ib_destroy_srq(&((struct kernel *)k)->srq.ibsrq, NULL);
}

static int create_qp(void *k)
{
	return kernel_create_qp(k, &((struct kernel *)k)->qp[0]);
}

static void destroy_qp(void *k)
{
	mlx5_ib_destroy_qp(&((struct kernel *)k)->qp[0].ibqp, NULL);
}

static void failure_of_any_allocation_leaves_no_queue(struct kunit *test)
{
	static const struct fail_alloc_verb cq = { create_cq, destroy_cq };
	static const struct fail_alloc_verb srq = { create_srq, destroy_srq };
	static const struct fail_alloc_verb qp = { create_qp, destroy_qp };
	struct kernel *k = kernel_make(test);

	fail_alloc_each(k->mock, &cq, k);
	fail_alloc_each(k->mock, &srq, k);
	memset(&k->srq, 0, sizeof(k->srq));
	KUNIT_ASSERT_EQ(test, create_cq(k), 0);
	fail_alloc_each(k->mock, &qp, k);
	KUNIT_EXPECT_EQ(test, k->mock->num_queue_mems, 1);
	destroy_cq(k);
	KUNIT_EXPECT_EQ(test, k->mock->num_queue_mems, 0);
}

static struct kunit_case kernel_verbs_cases[] = {
	KUNIT_CASE(wqes_follow_each_other_around_the_queue),
	KUNIT_CASE(full_send_queue_refuses_requests),
	KUNIT_CASE(full_receive_queue_refuses_requests),
	KUNIT_CASE(state_decides_which_requests_are_accepted),
	KUNIT_CASE(failed_queue_pair_takes_no_unknown_request),
	KUNIT_CASE(completions_of_a_destroyed_queue_pair_are_dropped),
	KUNIT_CASE(unexpected_failure_of_a_request_is_logged),
	KUNIT_CASE(failed_device_flushes_all_requests),
	KUNIT_CASE(flushed_request_completes_once),
	KUNIT_CASE(failed_device_is_not_rung),
	KUNIT_CASE(refused_queue_leaves_nothing),
	KUNIT_CASE(unanswered_creation_keeps_the_memory),
	KUNIT_CASE(refused_destruction_succeeds_and_keeps_the_memory),
	KUNIT_CASE(next_queue_pair_of_the_number_gets_no_old_completion),
	KUNIT_CASE(completion_is_for_a_queue_pair_of_its_own_cq),
	KUNIT_CASE(orphans_are_destroyed_before_the_cq_of_a_consumer),
	KUNIT_CASE(cq_is_destroyed_before_ib_core_cancels_its_work),
	KUNIT_CASE(destroyed_cq_is_not_rung),
	KUNIT_CASE(shared_requests_complete_in_any_order),
	KUNIT_CASE(destroyed_queue_pair_returns_shared_requests),
	KUNIT_CASE(queue_pair_that_is_not_reset_returns_shared_requests),
	KUNIT_CASE(refused_shared_queue_leaves_nothing),
	KUNIT_CASE(failed_device_reports_the_last_wqe_once),
	KUNIT_CASE(failure_of_the_device_reaches_every_queue_pair),
	KUNIT_CASE(reset_queue_pair_reports_its_last_wqe_again),
	KUNIT_CASE_PARAM(interrupt_may_poll_arm_and_post, receiver_gen_params),
	KUNIT_CASE(event_reaches_a_consumer_that_has_a_handler),
	KUNIT_CASE(consumer_that_only_polls_is_not_called),
	KUNIT_CASE(queue_pair_takes_as_many_reads_as_the_device_says),
	KUNIT_CASE(failure_of_any_allocation_leaves_no_queue),
	{}
};

static struct kunit_suite kernel_verbs_suite = {
	.name = "bluebell_kernel_verbs",
	.test_cases = kernel_verbs_cases,
};

kunit_test_suite(kernel_verbs_suite);
