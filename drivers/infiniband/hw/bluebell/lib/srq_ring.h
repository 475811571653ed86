/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared receive queues of kernel consumers: what is posted, and what has completed.
 */

#ifndef BLUEBELL_SRQ_RING_H
#define BLUEBELL_SRQ_RING_H

#include <linux/mlx5/driver.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct mlx5_ib_dev;
struct mlx5_ib_queue_mem;
struct mlx5_ib_srq_layout;

/**
 * struct mlx5_ib_srq_ring - WQEs of a shared receive queue of a kernel consumer
 * @lock: guards @head, @tail, @posted and the list of free WQEs. Taken inside the lock of a CQ
 * @ring: finds WQEs in the buffer
 * @max_sge: maximum number of data segments of a request
 * @end_key: key that ends a scatter list
 * @db: receive counter of the doorbell record
 * @wr_ids: wr_id of each request, by its WQE
 * @head: first WQE of the list of free WQEs
 * @tail: last WQE of the list of free WQEs. It is never posted, so that completed WQEs can be
 *	appended to it
 * @posted: number of WQEs posted since the queue was created
 */
struct mlx5_ib_srq_ring {
	spinlock_t lock; /* guards the list of free WQEs, and head to posted */
	struct mlx5_frag_buf_ctrl ring;
	u32 max_sge;
	u32 end_key;
	__be32 *db;
	u64 *wr_ids;
	u16 head;
	u16 tail;
	u16 posted;
};

struct mlx5_ib_srq_ring *mlx5_ib_srq_ring_alloc(struct mlx5_ib_dev *dev,
						const struct mlx5_ib_srq_layout *layout,
						struct mlx5_ib_queue_mem *mem);
void mlx5_ib_srq_ring_free(struct mlx5_ib_srq_ring *srq);
int mlx5_ib_srq_ring_post(struct mlx5_ib_srq_ring *srq, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad);
u64 mlx5_ib_srq_ring_complete(struct mlx5_ib_srq_ring *srq, u16 index);

#endif /* BLUEBELL_SRQ_RING_H */
