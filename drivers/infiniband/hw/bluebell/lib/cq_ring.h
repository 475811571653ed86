/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The entries of the completion queues that the kernel reads.
 */

#ifndef BLUEBELL_CQ_RING_H
#define BLUEBELL_CQ_RING_H

#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>

struct mlx5_cqe64;
struct mlx5_ib_dev;
struct mlx5_ib_queue_mem;

/**
 * struct mlx5_ib_cq_ring - the entries of a completion queue, 64 bytes each
 * @mcq: the queue; its cons_index counts the entries that have been read
 * @cqes: finds an entry in the buffer
 */
struct mlx5_ib_cq_ring {
	struct mlx5_core_cq *mcq;
	struct mlx5_frag_buf_ctrl cqes;
};

int mlx5_ib_cq_ring_alloc(struct mlx5_ib_dev *dev, struct mlx5_ib_cq_ring *ring,
			  struct mlx5_core_cq *mcq, struct mlx5_ib_queue_mem *mem, u8 log_cqes);
struct mlx5_cqe64 *mlx5_ib_cq_ring_peek(const struct mlx5_ib_cq_ring *ring, u32 index);
void mlx5_ib_cq_ring_move(const struct mlx5_ib_cq_ring *ring, u32 from, u32 to);

/**
 * mlx5_ib_cq_ring_next - the next completion
 * @ring: the entries
 *
 * Any context. A caller that only checks whether there is a completion needs no lock.
 *
 * Return: the CQE at the consumer index, or NULL if the device has not written it.
 */
static inline struct mlx5_cqe64 *mlx5_ib_cq_ring_next(const struct mlx5_ib_cq_ring *ring)
{
	return mlx5_ib_cq_ring_peek(ring, READ_ONCE(ring->mcq->cons_index));
}

#endif /* BLUEBELL_CQ_RING_H */
