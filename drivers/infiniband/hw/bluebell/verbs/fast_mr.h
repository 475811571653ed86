/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions of kernel consumers.
 */

#ifndef BLUEBELL_FAST_MR_H
#define BLUEBELL_FAST_MR_H

#include <rdma/ib_verbs.h>

struct mlx5_ib_caps;
struct mlx5_ib_dev;
struct mlx5_ib_umr_wqe;

struct ib_mr *mlx5_ib_get_dma_mr(struct ib_pd *pd, int access);
u32 mlx5_ib_max_fast_reg(const struct mlx5_ib_caps *caps, bool gaps);
struct ib_mr *mlx5_ib_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);
int mlx5_ib_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		      unsigned int *sg_offset);
void mlx5_ib_fast_mr_fill_wqe(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_wqe *wqe,
			      const struct ib_reg_wr *wr);

#endif /* BLUEBELL_FAST_MR_H */
