/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Posting to the work queues of kernel consumers: where in the ring the next WQE is, and
 * what is kept of its request. Called for each request, and therefore inline. wq.c has the rest.
 *
 * WQEs are built in the ring. A send WQE of the greatest length may not fit in one piece where it
 * is to be, because the ring wraps or goes on in another page, or because requests that have not
 * completed follow. There the WQE is built aside, and copied once its length is known.
 */

#ifndef BLUEBELL_WQ_POST_H
#define BLUEBELL_WQ_POST_H

#include <linux/io.h>
#include <linux/lockdep.h>
#include <linux/mlx5/doorbell.h>
#include <linux/mlx5/driver.h>
#include <rdma/ib_verbs.h>

#include "layout_wqe.h"
#include "wq.h"

/**
 * mlx5_ib_sq_doorbell - tell the device of WQEs that have been written to a send queue
 * @record: send counter of the doorbell record
 * @posted: basic blocks posted
 * @start: first eight bytes of the last WQE
 * @map: register that rings the queue
 */
static inline void mlx5_ib_sq_doorbell(__be32 *record, u16 posted, __be32 *start,
				       void __iomem *map)
{
	/* The WQEs before the record, the record before the register. */
	dma_wmb();
	*record = cpu_to_be32(posted);
	/* The register is on the bus: dma_wmb() does not order it. */
	wmb();
	mlx5_write64(start, map);
}

/**
 * mlx5_ib_sq_begin - find out where to build the next WQE of a send queue
 * @sq: the queue, whose lock is held
 *
 * Return: memory for the longest WQE: its place in the ring, or @sq->aside.
 */
static inline void *mlx5_ib_sq_begin(struct mlx5_ib_sq *sq)
{
	lockdep_assert_held(&sq->lock);
	return likely(sq->room >= sq->max_blocks) ? sq->next : mlx5_ib_sq_find_room(sq);
}

/**
 * mlx5_ib_sq_push - put the WQE that has been built into the send queue
 * @sq: the queue, whose lock is held
 * @wqe: of mlx5_ib_sq_begin(), with the segments behind the control segment
 * @op: of mlx5_ib_wr_op()
 * @wr: the request
 * @ds: units of 16 bytes that the WQE has
 *
 * The device does not see the WQE before mlx5_ib_sq_ring().
 *
 * Return: 0, or -ENOMEM if the queue is full.
 */
static inline int mlx5_ib_sq_push(struct mlx5_ib_sq *sq, void *wqe, const struct mlx5_ib_wr_op *op,
				  const struct ib_send_wr *wr, unsigned int ds)
{
	unsigned int blocks = DIV_ROUND_UP(ds, MLX5_SEND_WQEBB_NUM_DS);
	struct mlx5_ib_posted_send *request;
	u16 index = sq->posted;

	lockdep_assert_held(&sq->lock);
	if (unlikely(wqe == sq->aside) && mlx5_ib_sq_free_blocks(sq) < blocks)
		return -ENOMEM;
	mlx5_ib_finish_send_wqe(wqe, &sq->to, op, wr, ds, index, sq->after_umr);
	memcpy(sq->doorbell, wqe, sizeof(sq->doorbell));
	if (unlikely(wqe == sq->aside)) {
		mlx5_ib_sq_copy(&sq->ring, index, wqe, blocks);
		sq->room = 0;
	} else {
		sq->next = wqe + blocks * MLX5_SEND_WQE_BB;
		sq->room -= blocks;
	}
	request = &sq->requests[index & sq->ring.sz_m1];
	request->wr_id = wr->wr_id;
	request->blocks = blocks;
	request->opcode = wr->opcode;
	sq->posted = index + blocks;
	sq->after_umr = mlx5_ib_wr_op_is_umr(op);
	return 0;
}

/**
 * mlx5_ib_sq_ring - tell the device of the WQEs that have been put into the send queue
 * @sq: the queue, whose lock is held, and into which at least one WQE has been put
 */
static inline void mlx5_ib_sq_ring(struct mlx5_ib_sq *sq)
{
	lockdep_assert_held(&sq->lock);
	mlx5_ib_sq_doorbell(sq->db, sq->posted, sq->doorbell, sq->map);
}

/**
 * mlx5_ib_rq_push - put a receive request into a receive queue
 * @rq: the queue, whose lock is held
 * @wr: the request
 *
 * The device does not see the request before mlx5_ib_rq_tell().
 *
 * Return: 0; -ENOMEM if the queue is full; -EINVAL without a receive queue, or for more segments
 * than a request may have.
 */
static inline int mlx5_ib_rq_push(struct mlx5_ib_rq *rq, const struct ib_recv_wr *wr)
{
	u16 index = rq->posted;
	int err;

	lockdep_assert_held(&rq->lock);
	if (unlikely(!rq->room)) {
		err = mlx5_ib_rq_find_room(rq);
		if (err)
			return err;
	}
	err = mlx5_ib_fill_recv_wqe(rq->next, wr, rq->max_sge, rq->end_key);
	if (unlikely(err))
		return err;
	rq->wr_ids[index & rq->ring.sz_m1] = wr->wr_id;
	rq->posted = index + 1;
	rq->next += rq->stride;
	rq->room--;
	return 0;
}

/**
 * mlx5_ib_rq_tell - tell the device of the requests that have been put into a receive queue
 * @rq: the queue, whose lock is held
 */
static inline void mlx5_ib_rq_tell(struct mlx5_ib_rq *rq)
{
	lockdep_assert_held(&rq->lock);
	/* The WQEs before the record, which the device reads when a message arrives. */
	dma_wmb();
	*rq->db = cpu_to_be32(rq->posted);
}

#endif /* BLUEBELL_WQ_POST_H */
