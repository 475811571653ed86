// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The entries of the completion queues that the kernel reads: the driver's own completion queues,
 * and those of kernel consumers.
 */

#include <linux/mlx5/device.h>
#include <linux/string.h>

#include "lib/buf.h"
#include "lib/cq_ring.h"

#define LOG_CQE_BYTES	6
static_assert(sizeof(struct mlx5_cqe64) == 1 << LOG_CQE_BYTES);

static struct mlx5_cqe64 *ring_cqe(const struct mlx5_ib_cq_ring *ring, u32 index)
{
	/* mlx5_frag_buf_get_wqe() takes no pointer to const, but changes nothing. */
	struct mlx5_frag_buf_ctrl *cqes = (struct mlx5_frag_buf_ctrl *)&ring->cqes;

	return mlx5_frag_buf_get_wqe(cqes, index & cqes->sz_m1);
}

/**
 * mlx5_ib_cq_ring_alloc - allocate the memory of a completion queue of the kernel
 * @dev: device
 * @ring: gets the entries of the queue, all of which belong to the device at first
 * @mcq: the queue, zeroed but for its handlers; gets the doorbell record, for mlx5_core
 * @mem: zeroed; gets the memory, which mlx5_ib_queue_mem_free() frees
 * @log_cqes: log2 of the number of entries
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_cq_ring_alloc(struct mlx5_ib_dev *dev, struct mlx5_ib_cq_ring *ring,
			  struct mlx5_core_cq *mcq, struct mlx5_ib_queue_mem *mem, u8 log_cqes)
{
	int err = mlx5_ib_queue_mem_alloc(dev, mem, BIT(log_cqes + LOG_CQE_BYTES));
	u32 i;

	if (err)
		return err;
	ring->mcq = mcq;
	mlx5_init_fbc(mem->buf.frags.frags, LOG_CQE_BYTES, log_cqes, &ring->cqes);
	for (i = 0; i <= ring->cqes.sz_m1; i++)
		ring_cqe(ring, i)->op_own = MLX5_CQE_INVALID << 4 | MLX5_CQE_OWNER_MASK;
	mcq->cqe_sz = sizeof(struct mlx5_cqe64);
	mcq->set_ci_db = mem->db.db;
	mcq->arm_db = mem->db.db + 1;
	return 0;
}

/**
 * mlx5_ib_cq_ring_peek - look at a completion, which need not be the next one
 * @ring: the entries
 * @index: index of the completion: 0 for the first that the device wrote to the queue
 *
 * Any context.
 *
 * Return: the CQE, or NULL if the device has not written it.
 */
struct mlx5_cqe64 *mlx5_ib_cq_ring_peek(const struct mlx5_ib_cq_ring *ring, u32 index)
{
	struct mlx5_cqe64 *cqe = ring_cqe(ring, index);
	u8 op_own = READ_ONCE(cqe->op_own);
	bool owner = index >> ring->cqes.log_sz & 1;

	if (op_own >> 4 == MLX5_CQE_INVALID || (op_own & MLX5_CQE_OWNER_MASK) != owner)
		return NULL;
	/*
	 * The rest of the CQE is valid once the owner bit says that the device has written the CQE.
	 */
	dma_rmb();
	return cqe;
}

/**
 * mlx5_ib_cq_ring_move - move a completion to the slot of a later completion
 * @ring: the entries
 * @from: index of the completion, as for mlx5_ib_cq_ring_peek()
 * @to: index of the slot, @from or higher; the completion in the slot has been moved or dropped
 *
 * The later slot keeps its owner bit. The byte that has the owner bit is written by one store,
 * because mlx5_ib_cq_ring_peek() may read that byte without a lock. Any context.
 */
void mlx5_ib_cq_ring_move(const struct mlx5_ib_cq_ring *ring, u32 from, u32 to)
{
	struct mlx5_cqe64 *src = ring_cqe(ring, from), *dst = ring_cqe(ring, to);

	if (from == to)
		return;
	memcpy(dst, src, offsetof(struct mlx5_cqe64, op_own));
	WRITE_ONCE(dst->op_own, (src->op_own & ~MLX5_CQE_OWNER_MASK) |
				(dst->op_own & MLX5_CQE_OWNER_MASK));
}
