/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Sizes of the work queues of queue pairs. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_WQ_H
#define BLUEBELL_LAYOUT_WQ_H

#include <linux/align.h>
#include <linux/mlx5/qp.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>

struct mlx5_ib_caps;

#define MLX5_IB_LOG_WQEBB		6
/* qpc.log_rq_stride is counted from 16 bytes: 0 stands for 2^4. */
#define MLX5_IB_LOG_MIN_RQ_STRIDE	4
/* The control segment has the length of a request in six bits, in units of 16 bytes. */
#define MLX5_IB_MAX_WQE_DS		63
#define MLX5_IB_MAX_WQE_BYTES \
	ALIGN(MLX5_IB_MAX_WQE_DS * MLX5_SEND_WQE_DS, MLX5_SEND_WQE_BB)

/**
 * struct mlx5_ib_wq_layout - sizes of the work queues of a kernel consumer's queue pair
 * @rq_count: receive WQEs; a power of two, or 0
 * @rq_shift: log2 of the stride of a receive WQE, in bytes
 * @sq_count: basic blocks (WQEBBs, 64 bytes) of the send queue; a power of two, or 0
 * @max_ds: maximum length of a send WQE, in units of 16 bytes
 * @max_inline: maximum number of bytes of inline data in a send WQE
 * @bytes: size of both queues together. The receive queue comes first
 */
struct mlx5_ib_wq_layout {
	u32 rq_count;
	u8 rq_shift;
	u32 sq_count;
	u8 max_ds;
	u32 max_inline;
	u32 bytes;
};

u32 mlx5_ib_max_wqes(const struct mlx5_ib_caps *caps);
u32 mlx5_ib_max_rq_wqe_bytes(const struct mlx5_ib_caps *caps);
int mlx5_ib_calc_user_wq(struct ib_qp_init_attr *init, const struct mlx5_ib_create_qp *ucmd,
			 const struct mlx5_ib_caps *caps);
int mlx5_ib_calc_kernel_wq(struct ib_qp_init_attr *init, const struct mlx5_ib_caps *caps,
			   struct mlx5_ib_wq_layout *wq);

#endif /* BLUEBELL_LAYOUT_WQ_H */
