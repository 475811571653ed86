// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work queues of kernel consumers: their memory, and completions, which give the slots of
 * requests back. wq_kernel.h has what is called for each request that is posted.
 *
 * Requests are posted under the lock of the queue, and completed under the lock of the CQ. A
 * completion reads what the driver keeps of the request (@requests, @wr_ids), then stores @done
 * with release semantics, so that the slot is used again only afterwards.
 */

#include <linux/slab.h>

#include "fw/bluebell.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/wq_kernel.h"

/* ---- memory ------------------------------------------------------------------------ */

/* Set up the receive queue, which is at the start of the buffer. */
static int rq_init(struct mlx5_ib_rq *rq, const struct mlx5_ib_wq_layout *layout,
		   struct mlx5_ib_queue_mem *mem)
{
	spin_lock_init(&rq->lock);
	if (!layout->rq_count)
		return 0;
	mlx5_init_fbc(mem->buf.frags.frags, layout->rq_shift, ilog2(layout->rq_count), &rq->ring);
	rq->stride = BIT(layout->rq_shift);
	rq->max_sge = BIT(layout->rq_shift) / sizeof(struct mlx5_wqe_data_seg);
	rq->db = &mem->db.db[MLX5_RCV_DBR];
	rq->wr_ids = kvcalloc(layout->rq_count, sizeof(*rq->wr_ids), GFP_KERNEL);
	return rq->wr_ids ? 0 : -ENOMEM;
}

/*
 * Set up the send queue, which starts at the start of a page, or after a receive queue that is
 * shorter than a page.
 */
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
	sq->max_blocks = DIV_ROUND_UP(layout->max_ds, MLX5_SEND_WQEBB_NUM_DS);
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
 * The caller fills in what does not follow from @layout. May sleep.
 *
 * Return: the queues, empty, which mlx5_ib_wqs_free() frees; or NULL if there is no memory.
 */
struct mlx5_ib_wqs *mlx5_ib_wqs_alloc(struct mlx5_ib_dev *dev, struct ib_qp *ibqp,
				      const struct mlx5_ib_wq_layout *layout,
				      struct mlx5_ib_queue_mem *mem)
{
	struct mlx5_ib_wqs *wqs = kzalloc_obj(*wqs);

	if (!wqs)
		return NULL;
	wqs->ibqp = ibqp;
	wqs->ethernet = dev->caps.ethernet;
	if (!rq_init(&wqs->rq, layout, mem) && !sq_init(dev, &wqs->sq, layout, mem))
		return wqs;
	mlx5_ib_wqs_free(wqs);
	return NULL;
}

/**
 * mlx5_ib_wqs_free - free the work queues of a queue pair
 * @wqs: returned by mlx5_ib_wqs_alloc(), or NULL
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
 * mlx5_ib_sq_reset - empty the send queue of a queue pair that is in reset
 * @sq: the queue, to which the consumer posts nothing, and whose completions have been removed. The
 *	lock of the CQ is held: without the lock, if the device has failed, a poll could flush the
 *	queue meanwhile
 */
void mlx5_ib_sq_reset(struct mlx5_ib_sq *sq)
{
	guard(spinlock)(&sq->lock);
	if (!sq->requests)
		return;
	sq->posted = 0;
	sq->done = 0;
	sq->after_umr = false;
	sq->room = 0;
	*sq->db = 0;
}

/**
 * mlx5_ib_rq_reset - empty the receive queue of a queue pair that is in reset
 * @rq: as for mlx5_ib_sq_reset()
 */
void mlx5_ib_rq_reset(struct mlx5_ib_rq *rq)
{
	guard(spinlock)(&rq->lock);
	if (!rq->wr_ids)
		return;
	rq->posted = 0;
	rq->done = 0;
	rq->room = 0;
	*rq->db = 0;
}

/* ---- posting --------------------------------------------------------------------------- */

/* Number of WQEs from @index to where the ring wraps, or goes on in another page. */
static u32 ring_in_one_piece(struct mlx5_frag_buf_ctrl *ring, u32 index)
{
	return mlx5_frag_buf_get_idx_last_contig_stride(ring, index) + 1 - index;
}

/**
 * mlx5_ib_sq_free_blocks - how many basic blocks (WQEBBs) of a send queue are free
 * @sq: the queue, whose lock is held
 *
 * Return: the number.
 */
u32 mlx5_ib_sq_free_blocks(struct mlx5_ib_sq *sq)
{
	/* Pairs with mlx5_ib_sq_complete(), which has read the @requests of completed WQEs. */
	u16 used = sq->posted - smp_load_acquire(&sq->done);

	lockdep_assert_held(&sq->lock);
	return sq->ring.sz_m1 + 1 - used;
}

/**
 * mlx5_ib_sq_find_room - find out where the next WQE of a send queue can be built
 * @sq: the queue, whose lock is held, and whose @room is too short for the longest WQE
 *
 * Return: memory for the longest WQE: its slot in the ring, or @sq->bounce.
 */
void *mlx5_ib_sq_find_room(struct mlx5_ib_sq *sq)
{
	u32 index = sq->posted & sq->ring.sz_m1;
	u32 room = min(ring_in_one_piece(&sq->ring, index), mlx5_ib_sq_free_blocks(sq));

	sq->room = min(room, U16_MAX);
	if (sq->room < sq->max_blocks)
		return sq->bounce;
	sq->next = mlx5_frag_buf_get_wqe(&sq->ring, index);
	return sq->next;
}

/**
 * mlx5_ib_rq_find_room - find out where the next WQEs of a receive queue can be built
 * @rq: the queue, whose lock is held, and which has no @room
 *
 * Return: 0; -ENOMEM if the queue is full; -EINVAL without a receive queue.
 */
int mlx5_ib_rq_find_room(struct mlx5_ib_rq *rq)
{
	/* Pairs with mlx5_ib_rq_complete(), which has read the @wr_ids of completed WQEs. */
	u16 used = rq->posted - smp_load_acquire(&rq->done);
	u32 index = rq->posted & rq->ring.sz_m1;

	lockdep_assert_held(&rq->lock);
	if (!rq->wr_ids)
		return refuse(NULL, -EINVAL, "receive request to a QP without a receive queue");
	rq->room = min3(ring_in_one_piece(&rq->ring, index), rq->ring.sz_m1 + 1 - used, U16_MAX);
	if (!rq->room)
		return -ENOMEM;
	rq->next = mlx5_frag_buf_get_wqe(&rq->ring, index);
	return 0;
}

/**
 * mlx5_ib_sq_copy - copy a WQE into a send queue
 * @ring: finds basic blocks in the queue, which may wrap in the middle of the WQE, or go on in
 *	another page
 * @index: number of basic blocks posted before
 * @wqe: the WQE
 * @blocks: number of basic blocks that the WQE takes
 */
void mlx5_ib_sq_copy(struct mlx5_frag_buf_ctrl *ring, u16 index, const void *wqe,
		     unsigned int blocks)
{
	unsigned int i;

	for (i = 0; i < blocks; i++)
		memcpy(mlx5_frag_buf_get_wqe(ring, (index + i) & ring->sz_m1),
		       wqe + i * MLX5_SEND_WQE_BB, MLX5_SEND_WQE_BB);
}

/* ---- completing ------------------------------------------------------------------------ */

/**
 * mlx5_ib_sq_complete - take a request, and all that were posted before it, out of the queue
 * @sq: the queue; the lock of its CQ is held
 * @index: basic block at which the WQE of the request begins, from the CQE
 * @wc: gets wr_id
 *
 * Return: opcode of the request.
 */
enum ib_wr_opcode mlx5_ib_sq_complete(struct mlx5_ib_sq *sq, u16 index, struct ib_wc *wc)
{
	const struct mlx5_ib_posted_send *request = &sq->requests[index & sq->ring.sz_m1];
	enum ib_wr_opcode opcode = request->opcode;

	wc->wr_id = request->wr_id;
	/* Pairs with mlx5_ib_sq_free_blocks(), whose caller uses the slot again. */
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
	/* Pairs with mlx5_ib_rq_find_room(), whose caller uses the slot again. */
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
