/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work queues of kernel consumers: what is posted, and what has completed.
 *
 * WQEs are built in the ring, if the longest send WQE fits there in one piece. It does not fit if
 * the ring wraps or goes on in another page, or if requests that have not completed follow. Then
 * the WQE is built in @bounce, and copied to the ring once its length is known.
 */

#ifndef BLUEBELL_WQ_KERNEL_H
#define BLUEBELL_WQ_KERNEL_H

#include <linux/io.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mlx5/doorbell.h>
#include <linux/mlx5/driver.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "layout/layout_wq.h"
#include "layout/layout_wqe.h"

struct mlx5_ib_dev;
struct mlx5_ib_kcq;
struct mlx5_ib_queue_mem;
struct mlx5_ib_srq_ring;

/**
 * struct mlx5_ib_posted_send - a send request that has been posted
 * @wr_id: wr_id of the request
 * @blocks: number of basic blocks (WQEBBs) that the WQE takes
 * @opcode: enum ib_wr_opcode
 */
struct mlx5_ib_posted_send {
	u64 wr_id;
	u8 blocks;
	u8 opcode;
};

/**
 * struct mlx5_ib_sq - send queue of a kernel consumer
 * @lock: guards @posted (also read under the lock of the CQ alone), and what only posting uses:
 *	@after_umr, @room, @next, @doorbell, @bounce
 * @to: properties of the queue pair and the device that WQEs depend on; constant once the queue
 *	pair exists
 * @ring: finds basic blocks in the buffer
 * @db: send counter of the doorbell record
 * @map: doorbell register of the queue
 * @requests: struct mlx5_ib_posted_send of each WQE, by the block at which the WQE begins
 * @max_blocks: number of basic blocks of the longest WQE
 * @after_umr: the request that was posted last changes a key
 * @room: number of contiguous free basic blocks at @next; others may be free, too
 * @posted: number of basic blocks posted
 * @done: number of basic blocks completed; written under the lock of the CQ
 * @next: where in the buffer the next WQE starts, if @room is not 0
 * @doorbell: first eight bytes of the newest WQE, to be written to @map
 * @bounce: the WQE that is being built, if it might not be in one piece in @ring
 */
struct mlx5_ib_sq {
	spinlock_t lock; /* guards all from after_umr on, except done (lock of the CQ) */
	struct mlx5_ib_wqe_target to;
	struct mlx5_frag_buf_ctrl ring;
	__be32 *db;
	void __iomem *map;
	struct mlx5_ib_posted_send *requests;
	u8 max_blocks;
	bool after_umr;
	u16 room;
	u16 posted;
	u16 done;
	void *next;
	__be32 doorbell[2] __aligned(sizeof(u64));
	u8 bounce[MLX5_IB_MAX_WQE_BYTES] __aligned(sizeof(u64));
};

/**
 * struct mlx5_ib_rq - receive queue of a kernel consumer
 * @lock: guards @posted (also read under the lock of the CQ alone), @room and @next
 * @ring: finds WQEs in the buffer
 * @max_sge: maximum number of data segments of a request
 * @end_key: key that ends a scatter list
 * @db: receive counter of the doorbell record
 * @wr_ids: wr_id of each request, by its WQE; NULL without a receive queue
 * @stride: bytes from one WQE to the next
 * @room: number of contiguous free WQEs at @next; others may be free, too
 * @posted: number of WQEs posted
 * @done: number of WQEs completed; written under the lock of the CQ
 * @next: where in the buffer the next WQE is, if @room is not 0
 */
struct mlx5_ib_rq {
	spinlock_t lock; /* guards posted, room, next */
	struct mlx5_frag_buf_ctrl ring;
	u8 max_sge;
	u32 end_key;
	__be32 *db;
	u64 *wr_ids;
	u32 stride;
	u16 room;
	u16 posted;
	u16 done;
	void *next;
};

/**
 * struct mlx5_ib_wqs - both work queues of a queue pair
 * @ibqp: struct ib_qp of the queue pair
 * @qpn: number of the queue pair at the device
 * @is_qp1: the queue pair is QP1, whose completions have the P_Key itself, not its index
 * @ethernet: the queue pair is on an Ethernet port
 * @ended: the queue pair is being destroyed, so its completions are dropped
 * @send_cq: where the send queue completes
 * @recv_cq: where the receive queue completes
 * @send_node: in @senders of @send_cq
 * @recv_node: in @receivers of @recv_cq
 * @sq: send queue
 * @rq: receive queue
 * @srq: shared receive queue that the queue pair receives from instead of @rq; or NULL
 * @in_error: the consumer has taken the queue pair to the error state
 * @last_wqe_due: the queue pair receives from @srq, and has not reported yet that it takes no WQE
 *	any more (IB_EVENT_QP_LAST_WQE_REACHED)
 */
struct mlx5_ib_wqs {
	struct ib_qp *ibqp;
	u32 qpn;
	bool is_qp1;
	bool ethernet;
	bool ended;
	struct mlx5_ib_kcq *send_cq;
	struct mlx5_ib_kcq *recv_cq;
	struct list_head send_node;
	struct list_head recv_node;
	struct mlx5_ib_sq sq;
	struct mlx5_ib_rq rq;
	struct mlx5_ib_srq_ring *srq;
	bool in_error;
	bool last_wqe_due;
};

struct mlx5_ib_wqs *mlx5_ib_wqs_alloc(struct mlx5_ib_dev *dev, struct ib_qp *ibqp,
				      const struct mlx5_ib_wq_layout *layout,
				      struct mlx5_ib_queue_mem *mem);
void mlx5_ib_wqs_free(struct mlx5_ib_wqs *wqs);
void mlx5_ib_sq_reset(struct mlx5_ib_sq *sq);
void mlx5_ib_rq_reset(struct mlx5_ib_rq *rq);

u32 mlx5_ib_sq_free_blocks(struct mlx5_ib_sq *sq);
void *mlx5_ib_sq_find_room(struct mlx5_ib_sq *sq);
int mlx5_ib_rq_find_room(struct mlx5_ib_rq *rq);
void mlx5_ib_sq_copy(struct mlx5_frag_buf_ctrl *ring, u16 index, const void *wqe,
		     unsigned int blocks);

enum ib_wr_opcode mlx5_ib_sq_complete(struct mlx5_ib_sq *sq, u16 index, struct ib_wc *wc);
void mlx5_ib_rq_complete(struct mlx5_ib_rq *rq, struct ib_wc *wc);
bool mlx5_ib_sq_flush(struct mlx5_ib_sq *sq, struct ib_wc *wc);
bool mlx5_ib_rq_flush(struct mlx5_ib_rq *rq, struct ib_wc *wc);

/* ---- posting: called for each request, and therefore inline ---------------------------- */

/**
 * mlx5_ib_sq_doorbell - ring the doorbell for WQEs that have been written to a send queue
 * @record: send counter of the doorbell record
 * @posted: number of basic blocks posted
 * @start: first eight bytes of the newest WQE
 * @map: doorbell register of the queue
 */
static inline void mlx5_ib_sq_doorbell(__be32 *record, u16 posted, __be32 *start,
				       void __iomem *map)
{
	/* Order the WQEs before the record. */
	dma_wmb();
	*record = cpu_to_be32(posted);
	/* Order the record before the register, which is MMIO: dma_wmb() does not do that. */
	wmb();
	mlx5_write64(start, map);
}

/**
 * mlx5_ib_sq_begin - find out where to build the next WQE of a send queue
 * @sq: the queue, whose lock is held
 *
 * Return: memory for the longest WQE: its slot in the ring, or @sq->bounce.
 */
static inline void *mlx5_ib_sq_begin(struct mlx5_ib_sq *sq)
{
	lockdep_assert_held(&sq->lock);
	return likely(sq->room >= sq->max_blocks) ? sq->next : mlx5_ib_sq_find_room(sq);
}

/**
 * mlx5_ib_sq_push - put the WQE that has been built into the send queue
 * @sq: the queue, whose lock is held
 * @wqe: memory of mlx5_ib_sq_begin(), into which the segments after the control segment have been
 *	written
 * @op: returned by mlx5_ib_wr_op()
 * @wr: the request
 * @ds: length of the WQE, in units of 16 bytes
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
	if (unlikely(wqe == sq->bounce) && mlx5_ib_sq_free_blocks(sq) < blocks)
		return -ENOMEM;
	mlx5_ib_finish_send_wqe(wqe, &sq->to, op, wr, ds, index, sq->after_umr);
	memcpy(sq->doorbell, wqe, sizeof(sq->doorbell));
	if (unlikely(wqe == sq->bounce)) {
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
 * mlx5_ib_sq_ring - ring the doorbell for the WQEs that have been put into the send queue
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
 * than a request can have.
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
 * mlx5_ib_rq_tell - update the doorbell record of a receive queue for the requests put into it
 * @rq: the queue, whose lock is held
 */
static inline void mlx5_ib_rq_tell(struct mlx5_ib_rq *rq)
{
	lockdep_assert_held(&rq->lock);
	/* Order WQEs before the record, which the device reads when a message arrives. */
	dma_wmb();
	*rq->db = cpu_to_be32(rq->posted);
}

#endif /* BLUEBELL_WQ_KERNEL_H */
