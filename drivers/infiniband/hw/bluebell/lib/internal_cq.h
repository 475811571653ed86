/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues of the driver itself: for its UMR queue pair, and for XRC queue pairs. The
 * device wants a send CQ and a receive CQ for each queue pair, but verbs give an XRC queue pair
 * only a send CQ, or none.
 */

#ifndef BLUEBELL_INTERNAL_CQ_H
#define BLUEBELL_INTERNAL_CQ_H

#include <linux/mlx5/cq.h>
#include <linux/types.h>

#include "lib/buf.h"
#include "lib/cq_ring.h"

struct mlx5_ib_dev;

/**
 * struct mlx5_ib_internal_cq - completion queue of the driver, with its PD
 * @mcq: the queue in the table by which mlx5_core dispatches events. The owner of the queue guards
 *	the consumer index
 * @mem: buffer and doorbell record
 * @ring: finds the CQEs in the buffer
 * @pdn: number of the protection domain for queues that complete here and have no domain of a
 *	process
 */
struct mlx5_ib_internal_cq {
	struct mlx5_core_cq mcq;
	struct mlx5_ib_queue_mem mem;
	struct mlx5_ib_cq_ring ring;
	u32 pdn;
};

int mlx5_ib_internal_cq_create(struct mlx5_ib_dev *dev, struct mlx5_ib_internal_cq *cq,
			       u8 log_cqes);
void mlx5_ib_internal_cq_destroy(struct mlx5_ib_dev *dev, struct mlx5_ib_internal_cq *cq);

#endif /* BLUEBELL_INTERNAL_CQ_H */
