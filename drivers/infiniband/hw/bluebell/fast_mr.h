/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions of kernel consumers.
 */

#ifndef BLUEBELL_FAST_MR_H
#define BLUEBELL_FAST_MR_H

#include <rdma/ib_verbs.h>

struct mlx5_ib_dev;
struct mlx5_ib_umr_wqe;

/* A UMR request counts the entries of a list in 16 bits, in units of 16 bytes. */
#define MLX5_IB_MAX_FAST_REG_PAGES	BIT(16)

struct ib_mr *mlx5_ib_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *mlx5_ib_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);
int mlx5_ib_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		      unsigned int *sg_offset);
void mlx5_ib_fast_mr_fill_wqe(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_wqe *wqe,
			      const struct ib_reg_wr *wr);

#endif /* BLUEBELL_FAST_MR_H */
