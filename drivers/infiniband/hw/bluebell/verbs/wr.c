// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work requests of kernel consumers: the driver writes a WQE for each request of a list, and then
 * rings the doorbell once for all of them; for QP1 once for each send request (gsi.c).
 */

#include "fw/bluebell.h"
#include "layout/layout_umr.h"
#include "layout/layout_wqe.h"
#include "layout/refuse.h"
#include "lib/cq_kernel.h"
#include "lib/wq_kernel.h"
#include "verbs/mr.h"
#include "verbs/qp.h"

/* Build the WQE of a request that changes a key. Returns the length in units of 16 bytes. */
static noinline int wr_build_umr(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_wqe *umr,
				 const struct ib_send_wr *wr)
{
	memset(umr, 0, offsetofend(struct mlx5_ib_umr_wqe, list));
	if (wr->opcode == IB_WR_LOCAL_INV)
		mlx5_ib_umr_fill_local_inv(umr, wr->ex.invalidate_rkey);
	else
		mlx5_ib_fast_mr_fill_wqe(dev, umr, reg_wr(wr));
	return mlx5_ib_umr_wqe_ds(umr);
}

/*
 * Whether a request may come from ib_drain_qp(), which takes the queue pair to the error state and
 * posts an RDMA WRITE, also if the type of the queue pair has no RDMA WRITE. In the error state the
 * device flushes the WQE, and reads only the control segment, so the driver builds no other
 * segment.
 */
static inline bool wr_is_drain(const struct ib_send_wr *wr, enum ib_qp_state state)
{
	return unlikely(state == IB_QPS_ERR) && wr->opcode == IB_WR_RDMA_WRITE;
}

/*
 * Build the segments of a WQE after its control segment. Returns the length of the WQE in units of
 * 16 bytes, or a negative errno.
 */
static inline int wr_build(struct mlx5_ib_dev *dev, const struct mlx5_ib_wqe_target *to,
			   const struct mlx5_ib_wr_op *op, void *wqe, const struct ib_send_wr *wr,
			   enum ib_qp_state state)
{
	if (wr_is_drain(wr, state))
		return sizeof(struct mlx5_wqe_ctrl_seg) / MLX5_SEND_WQE_DS;
	if (unlikely(mlx5_ib_wr_op_is_umr(op)))
		return wr_build_umr(dev, wqe, wr);
	return mlx5_ib_fill_send_wqe(wqe, to, op, wr);
}

/* Put one request into the send queue. Returns 0 or a negative errno. */
static inline int wr_post(struct mlx5_ib_dev *dev, struct mlx5_ib_sq *sq,
			  const struct ib_send_wr *wr, enum ib_qp_state state)
{
	const struct mlx5_ib_wr_op *op = wr_is_drain(wr, state) ?
		&mlx5_ib_wr_ops[IB_WR_RDMA_WRITE] : mlx5_ib_wr_op(&sq->to, wr);
	void *wqe;
	int ds;

	if (unlikely(!op))
		return refuse(dev->mdev, -EINVAL,
			      "send request of opcode %d, which QPs of this type or the device lack",
			      wr->opcode);
	wqe = mlx5_ib_sq_begin(sq);
	ds = wr_build(dev, &sq->to, op, wqe, wr, state);
	return unlikely(ds < 0) ? ds : mlx5_ib_sq_push(sq, wqe, op, wr, ds);
}

/**
 * mlx5_ib_post_sends - post send requests of a kernel consumer
 * @qp: the queue pair
 * @wr: requests, a list
 * @end: the request before which to stop; NULL for all of the list
 * @bad: gets the first request that could not be posted; requests before it have been posted
 *
 * Implements @post_send of struct mlx5_ib_qp_ops. Requests that are posted after the device has
 * failed are only flushed: the registers of the device may be gone. Any context.
 *
 * Return: 0; -EINVAL for a queue pair before RTS or without a send queue, or an opcode that the
 * queue pair's type or the device does not have; -ENOMEM if the queue is full, or for more segments
 * or inline data than the queue was created for.
 */
int mlx5_ib_post_sends(struct mlx5_ib_qp *qp, const struct ib_send_wr *wr,
		       const struct ib_send_wr *end, const struct ib_send_wr **bad)
{
	enum ib_qp_state state = READ_ONCE(qp->state);
	struct mlx5_ib_sq *sq = &qp->wqs->sq;
	struct mlx5_ib_dev *dev = qp->rsc.dev;
	const struct ib_send_wr *first = wr;
	int err = 0;

	if (!sq->requests || state < IB_QPS_RTS) {
		*bad = wr;
		return refuse(dev->mdev, -EINVAL,
			      "send to a QP in state %d, needs RTS (3) and a send queue", state);
	}
	guard(spinlock_irqsave)(&sq->lock);
	for (; wr != end; wr = wr->next) {
		err = wr_post(dev, sq, wr, state);
		if (unlikely(err)) {
			*bad = wr;
			break;
		}
	}
	/*
	 * If the device fails after this check, the poll that flushes the queue waits for the lock,
	 * and then finds the requests.
	 */
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
 * @bad: gets the first request that could not be posted; requests before it have been posted
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
	struct mlx5_ib_rq *rq = &qp->wqs->rq;
	const struct ib_recv_wr *first = wr;
	int err = 0;

	if (READ_ONCE(qp->state) == IB_QPS_RESET) {
		*bad = wr;
		return refuse(to_mdev(ibqp->device)->mdev, -EINVAL,
			      "receive request to QP 0x%x in RESET, needs INIT", qp->rsc.num);
	}
	guard(spinlock_irqsave)(&rq->lock);
	for (; wr; wr = wr->next) {
		err = mlx5_ib_rq_push(rq, wr);
		if (unlikely(err)) {
			*bad = wr;
			break;
		}
	}
	if (wr != first)
		mlx5_ib_rq_tell(rq);
	/* Check with the lock held, as mlx5_ib_post_sends() does. */
	if (unlikely(READ_ONCE(qp->rsc.dev->failed)))
		mlx5_ib_kcq_wake(qp->wqs->recv_cq);
	return err;
}
