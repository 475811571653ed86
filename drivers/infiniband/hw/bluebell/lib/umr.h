/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What UMR does to memory keys, without firmware commands.
 */

#ifndef BLUEBELL_UMR_H
#define BLUEBELL_UMR_H

#include <linux/sizes.h>
#include <linux/types.h>

struct ib_umem;
struct mlx5_ib_dev;
struct mlx5_ib_mkc_attr;
struct mlx5_ib_umr_request;

/* Entries that one request clears at most. */
#define MLX5_IB_UMR_MAX_CLEAR	SZ_4K

int mlx5_ib_umr_reg(struct mlx5_ib_dev *dev, struct ib_umem *umem,
		    const struct mlx5_ib_mkc_attr *attr, u32 key);
int mlx5_ib_umr_reg_empty(struct mlx5_ib_dev *dev, const struct mlx5_ib_mkc_attr *attr, u32 key);
int mlx5_ib_umr_map(struct mlx5_ib_dev *dev, struct ib_umem *umem, u32 key, u8 page_shift);
int mlx5_ib_umr_write_list(struct mlx5_ib_dev *dev, u32 key, u32 first, u32 num,
			   dma_addr_t list);
int mlx5_ib_umr_clear(struct mlx5_ib_dev *dev, u32 key, u32 first, u32 num);
int mlx5_ib_umr_change(struct mlx5_ib_dev *dev, u32 key, u32 access, u32 pdn);
int mlx5_ib_umr_revoke(struct mlx5_ib_dev *dev, u32 key);
int mlx5_ib_umr_post_revoke(struct mlx5_ib_dev *dev, u32 key, struct mlx5_ib_umr_request *req);

int mlx5_ib_init_umr_clear(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_umr_clear(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_UMR_H */
