// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues of kernel consumers: requests become WQEs, and completions give
 * their slots back.
 *
 * Queue pairs take WQEs in the order of posting and complete them in any order, so the WQEs are a
 * linked list: each has the index of the WQE that is posted after it. The list has the posted WQEs
 * first, up to the WQE before @head, and then the free WQEs. A WQE that has completed goes to the
 * end of the list.
 */

#include <linux/mlx5/qp.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "layout/layout_srq.h"
#include "layout/layout_wqe.h"
#include "lib/buf.h"
#include "lib/srq_ring.h"

static struct mlx5_wqe_srq_next_seg *srq_wqe(struct mlx5_ib_srq_ring *srq, u16 index)
{
	return mlx5_frag_buf_get_wqe(&srq->ring, index);
}

static void srq_link(struct mlx5_ib_srq_ring *srq, u16 index, u16 next)
{
	srq_wqe(srq, index)->next_wqe_index = cpu_to_be16(next);
}

/**
 * mlx5_ib_srq_ring_alloc - allocate the ring of a shared receive queue
 * @dev: device
 * @layout: sizes of the queue; a WQE fits into a page
 * @mem: memory of mlx5_ib_queue_mem_alloc(), of the size that @layout says
 *
 * May sleep.
 *
 * Return: the ring, empty, which mlx5_ib_srq_ring_free() frees; or NULL if there is no memory.
 */
struct mlx5_ib_srq_ring *mlx5_ib_srq_ring_alloc(struct mlx5_ib_dev *dev,
						const struct mlx5_ib_srq_layout *layout,
						struct mlx5_ib_queue_mem *mem)
{
	struct mlx5_ib_srq_ring *srq __free(kfree) = kzalloc_obj(*srq);
	u32 i;

	if (!srq)
		return NULL;
	srq->wr_ids = kvcalloc(layout->wqe_cnt, sizeof(*srq->wr_ids), GFP_KERNEL);
	if (!srq->wr_ids)
		return NULL;
	spin_lock_init(&srq->lock);
	mlx5_init_fbc(mem->buf.frags.frags, layout->wqe_shift, ilog2(layout->wqe_cnt), &srq->ring);
	srq->max_sge = layout->max_gs;
	srq->end_key = dev->caps.list_end_mkey;
	srq->db = mem->db.db;
	srq->tail = layout->wqe_cnt - 1;
	for (i = 0; i < layout->wqe_cnt; i++)
		srq_link(srq, i, (i + 1) & srq->ring.sz_m1);
	return_ptr(srq);
}

/**
 * mlx5_ib_srq_ring_free - free the ring of a shared receive queue
 * @srq: returned by mlx5_ib_srq_ring_alloc(), or NULL
 */
void mlx5_ib_srq_ring_free(struct mlx5_ib_srq_ring *srq)
{
	if (!srq)
		return;
	kvfree(srq->wr_ids);
	kfree(srq);
}

static int srq_post_one(struct mlx5_ib_srq_ring *srq, const struct ib_recv_wr *wr)
{
	struct mlx5_wqe_srq_next_seg *wqe = srq_wqe(srq, srq->head);
	int err;

	if (srq->head == srq->tail)
		return -ENOMEM;
	err = mlx5_ib_fill_recv_wqe((struct mlx5_wqe_data_seg *)(wqe + 1), wr, srq->max_sge,
				    srq->end_key);
	if (err)
		return err;
	srq->wr_ids[srq->head] = wr->wr_id;
	srq->head = be16_to_cpu(wqe->next_wqe_index) & srq->ring.sz_m1;
	srq->posted++;
	return 0;
}

/**
 * mlx5_ib_srq_ring_post - put receive requests into a shared receive queue
 * @srq: the queue
 * @wr: requests, a list
 * @bad: gets the first request that could not be posted
 *
 * Any context.
 *
 * Return: 0; -ENOMEM if the queue is full; or -EINVAL for more segments than a request can have.
 */
int mlx5_ib_srq_ring_post(struct mlx5_ib_srq_ring *srq, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	const struct ib_recv_wr *first = wr;
	int err = 0;

	guard(spinlock_irqsave)(&srq->lock);
	for (; wr; wr = wr->next) {
		err = srq_post_one(srq, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	if (wr != first) {
		/* Order WQEs before the record, which the device reads when a message arrives. */
		dma_wmb();
		*srq->db = cpu_to_be32(srq->posted);
	}
	return err;
}

/**
 * mlx5_ib_srq_ring_complete - take a request out of a shared receive queue
 * @srq: the queue
 * @index: index of the WQE, from the CQE
 *
 * The next request can take the WQE's slot. Interrupts are off, because the lock of a CQ is held.
 *
 * Return: wr_id of the request.
 */
u64 mlx5_ib_srq_ring_complete(struct mlx5_ib_srq_ring *srq, u16 index)
{
	u64 wr_id;

	guard(spinlock)(&srq->lock);
	index &= srq->ring.sz_m1;
	wr_id = srq->wr_ids[index];
	srq_link(srq, srq->tail, index);
	srq->tail = index;
	return wr_id;
}
