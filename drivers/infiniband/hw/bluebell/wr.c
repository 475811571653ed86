// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work requests of kernel consumers: each becomes a WQE, and then the device is told of
 * all of them at once.
 */

#include <linux/mlx5/driver.h>

#include "bluebell.h"
#include "fast_mr.h"
#include "kcq.h"
#include "layout_umr.h"
#include "layout_wqe.h"
#include "qp.h"
#include "wq.h"
#include "wr.h"

/*
 * Build the segments of a WQE in sq->wqe. Returns its units of 16 bytes, or a negative errno.
 *
 * The RDMA core drains a queue pair of any type by an RDMA WRITE, to a queue pair in the error
 * state, whose WQEs the device flushes without reading more than their control segments.
 */
static int wr_build(struct mlx5_ib_dev *dev, struct mlx5_ib_sq *sq, const struct ib_send_wr *wr,
		    enum ib_qp_state state)
{
	struct mlx5_ib_umr_wqe *umr = (struct mlx5_ib_umr_wqe *)sq->wqe;
	int err;

	if (state == IB_QPS_ERR && wr->opcode == IB_WR_RDMA_WRITE)
		return sizeof(struct mlx5_wqe_ctrl_seg) / MLX5_SEND_WQE_DS;
	err = mlx5_ib_wqe_check(&sq->to, wr);
	if (err)
		return err;
	if (!mlx5_ib_wr_is_umr(wr->opcode))
		return mlx5_ib_fill_send_wqe(sq->wqe, &sq->to, wr);

	memset(umr, 0, offsetofend(struct mlx5_ib_umr_wqe, list));
	if (wr->opcode == IB_WR_LOCAL_INV)
		mlx5_ib_umr_fill_local_inv(umr, wr->ex.invalidate_rkey);
	else
		mlx5_ib_fast_mr_fill_wqe(dev, umr, reg_wr(wr));
	return mlx5_ib_umr_wqe_ds(umr);
}

/**
 * mlx5_ib_post_sends - post send requests of a kernel consumer
 * @qp: the queue pair
 * @wr: requests, a list
 * @end: the request before which to stop; NULL for all of the list
 * @bad: gets the first one that could not be posted; those before it have been posted
 *
 * Implements ib_post_send(). What is posted when the device has failed is only flushed: the
 * registers of the device may be gone. Any context.
 *
 * Return: 0; -EINVAL for a queue pair that cannot send yet, or an opcode that it does not have;
 * -ENOMEM if the queue is full, or for more segments or inline data than it was created for.
 */
int mlx5_ib_post_sends(struct mlx5_ib_qp *qp, const struct ib_send_wr *wr,
		       const struct ib_send_wr *end, const struct ib_send_wr **bad)
{
	enum ib_qp_state state = READ_ONCE(qp->state);
	struct mlx5_ib_sq *sq = &qp->wqs->sq;
	struct mlx5_ib_dev *dev = qp->rsc.dev;
	const struct ib_send_wr *first = wr;
	int ds, err = 0;

	if (!sq->requests || state < IB_QPS_RTS) {
		*bad = wr;
		return -EINVAL;
	}
	guard(spinlock_irqsave)(&sq->lock);
	for (; wr != end; wr = wr->next) {
		ds = wr_build(dev, sq, wr, state);
		err = ds < 0 ? ds : mlx5_ib_sq_push(sq, wr, ds);
		if (err) {
			*bad = wr;
			break;
		}
	}
	/* Under the lock: a failure that is not seen here finds the requests when it flushes. */
	if (unlikely(READ_ONCE(dev->failed)))
		mlx5_ib_kcq_wake(qp->wqs->send_cq);
	else if (wr != first)
		mlx5_ib_sq_ring(sq);
	return err;
}

/**
 * mlx5_ib_post_recv - post receive requests of a kernel consumer
 * @ibqp: the queue pair
 * @wr: requests, a list
 * @bad: gets the first one that could not be posted; those before it have been posted
 *
 * Implements ib_post_recv(). Any context.
 *
 * Return: 0; -EINVAL for a queue pair in reset or without a receive queue, or for more segments
 * than the queue was created for; -ENOMEM if the queue is full.
 */
int mlx5_ib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad)
{
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	int err;

	if (READ_ONCE(qp->state) == IB_QPS_RESET) {
		*bad = wr;
		return -EINVAL;
	}
	err = mlx5_ib_rq_post(&qp->wqs->rq, wr, bad);
	if (unlikely(READ_ONCE(to_mdev(ibqp->device)->failed)))
		mlx5_ib_kcq_wake(qp->wqs->recv_cq);
	return err;
}
