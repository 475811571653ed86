// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A kernel consumer with queue pairs on one CQ or two, and a device whose completions the test
 * writes.
 */

#include <kunit/test-bug.h>
#include <linux/mlx5/device.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "kernel.h"
#include "lib/buf.h"
#include "lib/srq_ring.h"
#include "lib/wq_kernel.h"

static void completed(struct ib_cq *cq, void *calls)
{
	if (calls)
		++*(unsigned int *)calls;
}

/**
 * kernel_create_cq - create a completion queue of KERNEL_CQES entries
 * @k: consumer
 * @cq: one of the CQs of @k. Its completion handler counts the calls in the unsigned int that
 *	cq_context points to
 *
 * Return: 0 or an errno.
 */
int kernel_create_cq(struct kernel *k, struct mlx5_ib_cq *cq)
{
	const struct ib_cq_init_attr attr = { .cqe = KERNEL_CQES - 1 };

	memset(cq, 0, sizeof(*cq));
	cq->ibcq.device = &k->mock->dev->ib_dev;
	cq->ibcq.comp_handler = completed;
	return mlx5_ib_create_cq(&cq->ibcq, &attr, NULL);
}

/**
 * kernel_create_srq - create the shared receive queue
 * @k: consumer
 * @max_wr: receive requests that the queue is to hold
 *
 * Return: 0 or an errno.
 */
int kernel_create_srq(struct kernel *k, u32 max_wr)
{
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_BASIC, .attr = { .max_wr = max_wr, .max_sge = 2 },
	};

	memset(&k->srq, 0, sizeof(k->srq));
	k->srq.ibsrq.device = &k->mock->dev->ib_dev;
	k->srq.ibsrq.pd = &k->pd.ibpd;
	k->srq.ibsrq.srq_type = IB_SRQT_BASIC;
	return mlx5_ib_create_srq(&k->srq.ibsrq, &init, NULL);
}

/**
 * kernel_create_qp - create a queue pair, which receives from the shared receive queue if it exists
 * @k: consumer
 * @qp: one of its queue pairs
 *
 * Return: 0 or an errno.
 */
int kernel_create_qp(struct kernel *k, struct mlx5_ib_qp *qp)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = &k->cq.ibcq,
		.recv_cq = k->two_cqs ? &k->recv_cq.ibcq : &k->cq.ibcq,
		.cap = { .max_send_wr = k->send_wr, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	if (k->srq.ring)
		init.srq = &k->srq.ibsrq;
	memset(qp, 0, sizeof(*qp));
	qp->ibqp.device = &k->mock->dev->ib_dev;
	qp->ibqp.pd = &k->pd.ibpd;
	qp->ibqp.qp_type = IB_QPT_RC;
	return mlx5_ib_create_qp(&qp->ibqp, &init, NULL);
}

/**
 * kernel_make - make a device on which a kernel consumer has created nothing yet
 * @test: the running test
 *
 * Return: the consumer.
 */
struct kernel *kernel_make(struct kunit *test)
{
	struct kernel *k = kunit_kzalloc(test, sizeof(*k), GFP_KERNEL);
	struct mlx5_ib_caps *caps;

	KUNIT_ASSERT_NOT_NULL(test, k);
	k->mock = mock_create(test);
	k->send_wr = 40;
	/* With ISSI 1 the driver creates an SRQ as an RMP. */
	mock_set_issi(k->mock, 1);
	mock_set_kernel_queues(k->mock);
	caps = &k->mock->dev->caps;
	MOCK_SET_CAP(caps, log_max_srq_sz, 10);
	MOCK_SET_CAP(caps, rc, 1);
	return k;
}

/**
 * kernel_create_all - create the queues of a kernel consumer, whose queue pairs may then send
 * @k: consumer, who has created nothing yet
 * @srq_wr: requests of the SRQ from which the queue pairs receive; 0 for no SRQ
 * @two_cqs: the receive requests complete on another CQ than the send requests
 */
void kernel_create_all(struct kernel *k, u32 srq_wr, bool two_cqs)
{
	struct kunit *test = k->mock->test;
	unsigned int i;

	k->two_cqs = two_cqs;
	KUNIT_ASSERT_EQ(test, kernel_create_cq(k, &k->cq), 0);
	if (two_cqs)
		KUNIT_ASSERT_EQ(test, kernel_create_cq(k, &k->recv_cq), 0);
	if (srq_wr)
		KUNIT_ASSERT_EQ(test, kernel_create_srq(k, srq_wr), 0);
	for (i = 0; i < KERNEL_QPS; i++) {
		KUNIT_ASSERT_EQ(test, kernel_create_qp(k, &k->qp[i]), 0);
		k->qp[i].state = IB_QPS_RTS;
	}
}

/**
 * kernel_make_connected - make a kernel consumer whose queue pairs may send
 * @test: the running test
 * @srq_wr: as for kernel_create_all()
 * @two_cqs: as for kernel_create_all()
 *
 * Return: the consumer, for kernel_destroy_all().
 */
struct kernel *kernel_make_connected(struct kunit *test, u32 srq_wr, bool two_cqs)
{
	struct kernel *k = kernel_make(test);

	kernel_create_all(k, srq_wr, two_cqs);
	return k;
}

/**
 * kernel_destroy_all - destroy everything that exists, and expect that nothing is left
 * @k: consumer
 */
void kernel_destroy_all(struct kernel *k)
{
	struct kunit *test = k->mock->test;
	unsigned int i;

	for (i = 0; i < KERNEL_QPS; i++)
		if (k->qp[i].wqs)
			KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp[i].ibqp, NULL), 0);
	if (k->srq.ring)
		KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_srq(&k->srq.ibsrq, NULL), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_cq(&k->cq.ibcq, NULL), 0);
	if (k->two_cqs)
		KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_cq(&k->recv_cq.ibcq, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(k->mock), 0);
	KUNIT_EXPECT_EQ(test, k->mock->num_queue_mems, 0);
}

/**
 * kernel_sent_byte - a byte of the inline data of a request
 * @wr_id: number of the request
 * @i: number of the byte
 *
 * Return: the byte.
 */
u8 kernel_sent_byte(u64 wr_id, unsigned int i)
{
	return wr_id * 5 + i + 1;
}

/**
 * kernel_post - post a SEND of inline data
 * @qp: queue pair
 * @wr_id: number of the request
 * @inline_len: bytes, at most 256
 *
 * Return: 0 or an errno.
 */
int kernel_post(struct mlx5_ib_qp *qp, u64 wr_id, unsigned int inline_len)
{
	static u8 data[256];
	struct ib_sge sge = { .addr = (uintptr_t)data, .length = inline_len };
	struct ib_send_wr wr = {
		.wr_id = wr_id, .opcode = IB_WR_SEND, .send_flags = IB_SEND_INLINE,
		.sg_list = &sge, .num_sge = 1,
	};
	const struct ib_send_wr *bad = NULL;
	unsigned int i;
	int err;

	for (i = 0; i < inline_len; i++)
		data[i] = kernel_sent_byte(wr_id, i);
	err = mlx5_ib_post_sends(qp, &wr, NULL, &bad);
	KUNIT_EXPECT_PTR_EQ(kunit_get_current_test(), bad, err ? &wr : NULL);
	return err;
}

/**
 * kernel_post_receive - post a receive request without segments
 * @qp: queue pair
 * @wr_id: number of the request
 *
 * Return: 0 or an errno.
 */
int kernel_post_receive(struct mlx5_ib_qp *qp, u64 wr_id)
{
	struct ib_recv_wr wr = { .wr_id = wr_id };
	const struct ib_recv_wr *bad = NULL;
	int err = mlx5_ib_post_recv(&qp->ibqp, &wr, &bad);

	KUNIT_EXPECT_PTR_EQ(kunit_get_current_test(), bad, err ? &wr : NULL);
	return err;
}

/**
 * kernel_complete - write the completion of a request, as the device does
 * @k: consumer
 * @qp: queue pair
 * @opcode: MLX5_CQE_*; if there are two CQs, only completions of send requests go to the send CQ
 * @index: number of the WQE
 */
void kernel_complete(struct kernel *k, struct mlx5_ib_qp *qp, u8 opcode, u16 index)
{
	bool is_send = opcode == MLX5_CQE_REQ || opcode == MLX5_CQE_REQ_ERR;
	bool to_recv_cq = k->two_cqs && !is_send;
	struct mlx5_ib_cq *cq = to_recv_cq ? &k->recv_cq : &k->cq;
	u32 i = to_recv_cq ? k->recv_written++ : k->written++;
	struct mlx5_cqe64 *cqe = cq->mem.buf.frags.frags[0].buf +
				 (i % KERNEL_CQES) * sizeof(*cqe);

	memset(cqe, 0, sizeof(*cqe));
	cqe->sop_drop_qpn = cpu_to_be32(qp->ibqp.qp_num);
	cqe->wqe_counter = cpu_to_be16(index);
	cqe->op_own = opcode << 4 | (i >> KERNEL_LOG_CQES & 1);
}

/**
 * kernel_send_block - find a block of the send queue, which lies behind a receive queue of 64 bytes
 * @qp: queue pair without an SRQ
 * @index: number of the block
 *
 * Return: the block.
 */
__be32 *kernel_send_block(struct mlx5_ib_qp *qp, u16 index)
{
	size_t at = 64 + (index & qp->wqs->sq.ring.sz_m1) * 64;

	return qp->mem.buf.frags.frags[at / PAGE_SIZE].buf + at % PAGE_SIZE;
}
