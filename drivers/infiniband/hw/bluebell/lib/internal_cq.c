// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues of the driver itself. With each comes a protection domain, for the queues that
 * complete on the CQ and have no domain of a process. All these CQs name the UAR of mlx5_core.
 */

#include <linux/mlx5/device.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "lib/internal_cq.h"
#include "lib/orphan.h"
#include "lib/queue_cmd.h"

/**
 * mlx5_ib_internal_cq_create - create a completion queue of the driver
 * @dev: device
 * @cq: zeroed but for the handlers in mcq
 * @log_cqes: log2 of the number of CQEs, which are of 64 bytes
 *
 * Allocates the PD first. Events of the CQ come on vector 0. May sleep.
 *
 * Return: 0 or a negative errno; after an error nothing is left but perhaps orphans (orphan.c).
 */
int mlx5_ib_internal_cq_create(struct mlx5_ib_dev *dev, struct mlx5_ib_internal_cq *cq,
			       u8 log_cqes)
{
	u32 cqc[MLX5_ST_SZ_DW(cqc)] = {};
	int err;

	err = mlx5_ib_fw_alloc_object(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_ALLOC_PD, &cq->pdn);
	if (err)
		return err;
	MLX5_SET(cqc, cqc, cqe_sz, CQE_STRIDE_64);
	MLX5_SET(cqc, cqc, log_cq_size, log_cqes);
	MLX5_SET(cqc, cqc, uar_page, dev->mdev->priv.bfreg.up->index);
	err = mlx5_ib_cq_ring_alloc(dev, &cq->ring, &cq->mcq, &cq->mem, log_cqes);
	if (!err) {
		err = mlx5_ib_create_cq_cmd(dev, MLX5_IB_KERNEL_UID, &cq->mcq, &cq->mem, 0, cqc);
		if (err)
			mlx5_ib_queue_mem_free(dev, &cq->mem);
	}
	if (err)
		mlx5_ib_orphan_destroy(dev, MLX5_CMD_OP_DEALLOC_PD, cq->pdn, "PD", NULL);
	return err;
}

/**
 * mlx5_ib_internal_cq_destroy - destroy a completion queue of the driver
 * @dev: device
 * @cq: created by mlx5_ib_internal_cq_create(); no queue completes on the CQ, and nothing is left
 *	in its PD
 *
 * When the function returns no handler runs any more, and @cq may be freed, even if firmware
 * refuses to destroy the CQ. May sleep.
 */
void mlx5_ib_internal_cq_destroy(struct mlx5_ib_dev *dev, struct mlx5_ib_internal_cq *cq)
{
	struct mlx5_ib_fw_attempt attempt = {};
	int err = mlx5_ib_fw_discard_cq(dev, &cq->mcq, &attempt);

	if (err)
		mlx5_ib_orphan_adopt(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_DESTROY_CQ, cq->mcq.cqn,
				     &attempt, "CQ", &cq->mem, err);
	else
		mlx5_ib_queue_mem_free(dev, &cq->mem);
	mlx5_ib_orphan_destroy(dev, MLX5_CMD_OP_DEALLOC_PD, cq->pdn, "PD", NULL);
}
