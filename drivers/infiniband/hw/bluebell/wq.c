// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work queues of kernel consumers: WQEs are copied into the buffer and the device is
 * told of them; completions give their places back.
 *
 * A queue is posted to under its own lock, and completed under the lock of the CQ, which
 * stores how far it has come with a release: the place of a request is used again only after
 * what was kept of the request has been read.
 */

#include <linux/mlx5/device.h>
#include <linux/mlx5/doorbell.h>
#include <linux/mlx5/driver.h>
#include <linux/slab.h>

#include "bluebell.h"
#include "buf.h"
#include "wq.h"

/* ---- memory ------------------------------------------------------------------------ */

/* The receive queue is at the start of the buffer. */
static int rq_init(struct mlx5_ib_rq *rq, const struct mlx5_ib_wq_layout *layout,
		   struct mlx5_ib_queue_mem *mem)
{
	spin_lock_init(&rq->lock);
	if (!layout->rq_count)
		return 0;
	mlx5_init_fbc(mem->buf.frags.frags, layout->rq_shift, ilog2(layout->rq_count), &rq->ring);
	rq->max_sge = BIT(layout->rq_shift) / sizeof(struct mlx5_wqe_data_seg);
	rq->db = &mem->db.db[MLX5_RCV_DBR];
	rq->wr_ids = kvcalloc(layout->rq_count, sizeof(*rq->wr_ids), GFP_KERNEL);
	return rq->wr_ids ? 0 : -ENOMEM;
}

/* The send queue follows, at the start of a page or behind a receive queue shorter than that. */
static int sq_init(struct mlx5_ib_dev *dev, struct mlx5_ib_sq *sq,
		   const struct mlx5_ib_wq_layout *layout, struct mlx5_ib_queue_mem *mem)
{
	u32 start = layout->rq_count << layout->rq_shift;

	spin_lock_init(&sq->lock);
	if (!layout->sq_count)
		return 0;
	mlx5_init_fbc_offset(mem->buf.frags.frags + (start >> PAGE_SHIFT), MLX5_IB_LOG_WQEBB,
			     ilog2(layout->sq_count),
			     offset_in_page(start) >> MLX5_IB_LOG_WQEBB, &sq->ring);
	sq->to.max_ds = layout->max_ds;
	sq->to.max_inline = layout->max_inline;
	sq->to.atomic_ops = dev->caps.atomic_ops;
	sq->to.umr_fence = dev->caps.umr_fence;
	sq->db = &mem->db.db[MLX5_SND_DBR];
	sq->map = dev->mdev->priv.bfreg.map;
	sq->requests = kvcalloc(layout->sq_count, sizeof(*sq->requests), GFP_KERNEL);
	return sq->requests ? 0 : -ENOMEM;
}

/**
 * mlx5_ib_wqs_alloc - allocate the work queues of a queue pair
 * @dev: device
 * @ibqp: the queue pair
 * @layout: sizes of the queues
 * @mem: memory of mlx5_ib_queue_mem_alloc(), of @layout->bytes
 *
 * The caller fills in the rest of @sq.to. May sleep.
 *
 * Return: the queues, empty, for mlx5_ib_wqs_free(), or NULL without memory.
 */
struct mlx5_ib_wqs *mlx5_ib_wqs_alloc(struct mlx5_ib_dev *dev, struct ib_qp *ibqp,
				      const struct mlx5_ib_wq_layout *layout,
				      struct mlx5_ib_queue_mem *mem)
{
	struct mlx5_ib_wqs *wqs = kzalloc_obj(*wqs);

	if (!wqs)
		return NULL;
	wqs->ibqp = ibqp;
	if (!rq_init(&wqs->rq, layout, mem) && !sq_init(dev, &wqs->sq, layout, mem))
		return wqs;
	mlx5_ib_wqs_free(wqs);
	return NULL;
}

/**
 * mlx5_ib_wqs_free - free the work queues of a queue pair
 * @wqs: of mlx5_ib_wqs_alloc(), or NULL
 */
void mlx5_ib_wqs_free(struct mlx5_ib_wqs *wqs)
{
	if (!wqs)
		return;
	kvfree(wqs->sq.requests);
	kvfree(wqs->rq.wr_ids);
	kfree(wqs);
}

/**
 * mlx5_ib_wqs_reset - empty the work queues of a queue pair that is in reset
 * @wqs: the queues, to which nobody posts, and none of whose completions is left
 */
void mlx5_ib_wqs_reset(struct mlx5_ib_wqs *wqs)
{
	if (wqs->sq.requests) {
		wqs->sq.posted = 0;
		wqs->sq.done = 0;
		wqs->sq.after_umr = false;
		*wqs->sq.db = 0;
	}
	if (wqs->rq.wr_ids) {
		wqs->rq.posted = 0;
		wqs->rq.done = 0;
		*wqs->rq.db = 0;
	}
	wqs->in_error = false;
	wqs->last_wqe_due = wqs->srq;
}

/* ---- posting --------------------------------------------------------------------------- */

/**
 * mlx5_ib_sq_copy - copy a WQE into a send queue
 * @ring: finds basic blocks in the queue, which may wrap in the middle of the WQE, or go on in
 *	another page
 * @index: basic blocks posted before
 * @wqe: the WQE
 * @blocks: basic blocks that it takes
 */
void mlx5_ib_sq_copy(struct mlx5_frag_buf_ctrl *ring, u16 index, const void *wqe,
		     unsigned int blocks)
{
	unsigned int i;

	for (i = 0; i < blocks; i++)
		memcpy(mlx5_frag_buf_get_wqe(ring, (index + i) & ring->sz_m1),
		       wqe + i * MLX5_SEND_WQE_BB, MLX5_SEND_WQE_BB);
}

/**
 * mlx5_ib_sq_doorbell - tell the device of WQEs that have been copied into a send queue
 * @record: send counter of the doorbell record
 * @posted: basic blocks posted
 * @start: first eight bytes of the last WQE
 * @map: register that rings the queue
 */
void mlx5_ib_sq_doorbell(__be32 *record, u16 posted, __be32 *start, void __iomem *map)
{
	/* The WQEs before the record, the record before the register. */
	dma_wmb();
	*record = cpu_to_be32(posted);
	/* The register is on the bus: dma_wmb() does not order it. */
	wmb();
	mlx5_write64(start, map);
}

/**
 * mlx5_ib_sq_push - put the WQE that has been built into the send queue
 * @sq: the queue, whose lock is held; @sq->wqe has the segments behind the control segment
 * @wr: the request
 * @ds: units of 16 bytes that the WQE has
 *
 * The device does not see the WQE before mlx5_ib_sq_ring().
 *
 * Return: 0, or -ENOMEM if the queue is full.
 */
int mlx5_ib_sq_push(struct mlx5_ib_sq *sq, const struct ib_send_wr *wr, unsigned int ds)
{
	unsigned int blocks = DIV_ROUND_UP(ds, MLX5_SEND_WQEBB_NUM_DS);
	u16 used;

	lockdep_assert_held(&sq->lock);
	/* Pairs with mlx5_ib_sq_complete(): what was kept of a request has been read. */
	used = sq->posted - smp_load_acquire(&sq->done);
	if (used + blocks > sq->ring.sz_m1 + 1)
		return -ENOMEM;
	mlx5_ib_finish_send_wqe(sq->wqe, &sq->to, wr, ds, sq->posted, sq->after_umr);
	mlx5_ib_sq_copy(&sq->ring, sq->posted, sq->wqe, blocks);
	sq->requests[sq->posted & sq->ring.sz_m1] = (struct mlx5_ib_posted_send){
		.wr_id = wr->wr_id,
		.blocks = blocks,
		.opcode = wr->opcode,
	};
	memcpy(sq->doorbell, sq->wqe, sizeof(sq->doorbell));
	sq->posted += blocks;
	sq->after_umr = mlx5_ib_wr_is_umr(wr->opcode);
	return 0;
}

/**
 * mlx5_ib_sq_ring - tell the device of the WQEs that have been put into the send queue
 * @sq: the queue, whose lock is held
 */
void mlx5_ib_sq_ring(struct mlx5_ib_sq *sq)
{
	lockdep_assert_held(&sq->lock);
	mlx5_ib_sq_doorbell(sq->db, sq->posted, sq->doorbell, sq->map);
}

/* Where the next receive WQE is. */
static void *rq_wqe(struct mlx5_ib_rq *rq)
{
	return mlx5_frag_buf_get_wqe(&rq->ring, rq->posted & rq->ring.sz_m1);
}

/**
 * mlx5_ib_rq_post - put receive requests into a receive queue, and tell the device
 * @rq: the queue
 * @wr: requests, a list
 * @bad: gets the first one that could not be posted
 *
 * Any context.
 *
 * Return: 0; -ENOMEM if the queue is full; -EINVAL for more segments than a request may have, or
 * without a receive queue.
 */
int mlx5_ib_rq_post(struct mlx5_ib_rq *rq, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad)
{
	const struct ib_recv_wr *first = wr;
	int err = 0;
	u16 used;

	guard(spinlock_irqsave)(&rq->lock);
	for (; wr; wr = wr->next) {
		/* Pairs with mlx5_ib_rq_complete(): what was kept of a request has been read. */
		used = rq->posted - smp_load_acquire(&rq->done);
		if (!rq->wr_ids)
			err = -EINVAL;
		else if (used > rq->ring.sz_m1)
			err = -ENOMEM;
		else
			err = mlx5_ib_fill_recv_wqe(rq_wqe(rq), wr, rq->max_sge, rq->end_key);
		if (err)
			break;
		rq->wr_ids[rq->posted & rq->ring.sz_m1] = wr->wr_id;
		rq->posted++;
	}
	if (err)
		*bad = wr;
	if (wr != first) {
		/* The WQEs before the record, which the device reads when a message arrives. */
		dma_wmb();
		*rq->db = cpu_to_be32(rq->posted);
	}
	return err;
}

/* ---- completing ------------------------------------------------------------------------ */

/**
 * mlx5_ib_sq_complete - take a request, and all that were posted before it, out of the queue
 * @sq: the queue; the lock of its CQ is held
 * @index: block at which the WQE begins, from the CQE
 * @wc: gets wr_id
 *
 * Return: opcode of the request.
 */
enum ib_wr_opcode mlx5_ib_sq_complete(struct mlx5_ib_sq *sq, u16 index, struct ib_wc *wc)
{
	const struct mlx5_ib_posted_send *request = &sq->requests[index & sq->ring.sz_m1];
	enum ib_wr_opcode opcode = request->opcode;

	wc->wr_id = request->wr_id;
	/* Pairs with mlx5_ib_sq_push(), which uses the place again. */
	smp_store_release(&sq->done, index + request->blocks);
	return opcode;
}

/**
 * mlx5_ib_rq_complete - take the oldest request out of a receive queue
 * @rq: the queue; the lock of its CQ is held
 * @wc: gets wr_id
 */
void mlx5_ib_rq_complete(struct mlx5_ib_rq *rq, struct ib_wc *wc)
{
	wc->wr_id = rq->wr_ids[rq->done & rq->ring.sz_m1];
	/* Pairs with mlx5_ib_rq_post(), which uses the place again. */
	smp_store_release(&rq->done, rq->done + 1);
}

static void flush_wc(struct ib_wc *wc)
{
	wc->status = IB_WC_WR_FLUSH_ERR;
	wc->vendor_err = 0;
}

/**
 * mlx5_ib_sq_flush - take the oldest request out of a send queue whose device has failed
 * @sq: the queue; the lock of its CQ is held
 * @wc: gets wr_id and status
 *
 * Return: false if no request is left.
 */
bool mlx5_ib_sq_flush(struct mlx5_ib_sq *sq, struct ib_wc *wc)
{
	guard(spinlock)(&sq->lock);
	if (sq->done == sq->posted)
		return false;
	mlx5_ib_sq_complete(sq, sq->done, wc);
	flush_wc(wc);
	return true;
}

/**
 * mlx5_ib_rq_flush - take the oldest request out of a receive queue whose device has failed
 * @rq: the queue; the lock of its CQ is held
 * @wc: gets wr_id and status
 *
 * Return: false if no request is left.
 */
bool mlx5_ib_rq_flush(struct mlx5_ib_rq *rq, struct ib_wc *wc)
{
	guard(spinlock)(&rq->lock);
	if (rq->done == rq->posted)
		return false;
	mlx5_ib_rq_complete(rq, wc);
	flush_wc(wc);
	return true;
}
