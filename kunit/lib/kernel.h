/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A kernel consumer with queue pairs on one CQ or two, and a device whose completions the test
 * writes.
 */

#ifndef BLUEBELL_KUNIT_KERNEL_H
#define BLUEBELL_KUNIT_KERNEL_H

#include <kunit/test.h>
#include <linux/types.h>

#include "mock.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/srq.h"
#include "verbs/ucontext.h"

#define KERNEL_LOG_CQES	4
#define KERNEL_CQES	BIT(KERNEL_LOG_CQES)
#define KERNEL_QPS	2

/**
 * struct kernel - what a kernel consumer has
 * @mock: device
 * @pd: protection domain
 * @cq: completion queue of all send queues, and of all receive queues unless @two_cqs
 * @recv_cq: completion queue of all receive queues if @two_cqs
 * @two_cqs: receive requests complete on @recv_cq
 * @srq: shared receive queue, which a test may create
 * @send_wr: requests that the send queue of each queue pair is to hold; a test may raise it
 * @qp: queue pairs
 * @written: completions that the device has written to @cq
 * @recv_written: completions that the device has written to @recv_cq
 */
struct kernel {
	struct mock *mock;
	struct mlx5_ib_pd pd;
	struct mlx5_ib_cq cq;
	struct mlx5_ib_cq recv_cq;
	bool two_cqs;
	struct mlx5_ib_srq srq;
	u32 send_wr;
	struct mlx5_ib_qp qp[KERNEL_QPS];
	u32 written;
	u32 recv_written;
};

struct kernel *kernel_make(struct kunit *test);
void kernel_create_all(struct kernel *k, u32 srq_wr, bool two_cqs);
struct kernel *kernel_make_connected(struct kunit *test, u32 srq_wr, bool two_cqs);
void kernel_destroy_all(struct kernel *k);
int kernel_create_cq(struct kernel *k, struct mlx5_ib_cq *cq);
int kernel_create_srq(struct kernel *k, u32 max_wr);
int kernel_create_qp(struct kernel *k, struct mlx5_ib_qp *qp);
u8 kernel_sent_byte(u64 wr_id, unsigned int i);
int kernel_post(struct mlx5_ib_qp *qp, u64 wr_id, unsigned int inline_len);
int kernel_post_receive(struct mlx5_ib_qp *qp, u64 wr_id);
void kernel_complete(struct kernel *k, struct mlx5_ib_qp *qp, u8 opcode, u16 index);
__be32 *kernel_send_block(struct mlx5_ib_qp *qp, u16 index);

#endif /* BLUEBELL_KUNIT_KERNEL_H */
