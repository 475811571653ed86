/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Device memory layout: the size of an allocation, its pages in the part of BAR 0 that has the
 * device memory (the window), and the key over it. Pure functions only; the page size is always an
 * argument.
 */

#ifndef BLUEBELL_LAYOUT_DM_H
#define BLUEBELL_LAYOUT_DM_H

#include <linux/types.h>

struct mlx5_ib_caps;
struct mlx5_ib_mkc_attr;

/* log_memic_addr_alignment of ALLOC_MEMIC counts from 64 bytes: 0 stands for 2^6. */
#define MLX5_IB_MEMIC_BASE_SHIFT	6

bool mlx5_ib_has_dm(const struct mlx5_ib_caps *caps, unsigned int page_shift);
u32 mlx5_ib_max_dm(const struct mlx5_ib_caps *caps);
int mlx5_ib_check_dm(u64 length, u32 log_align, const struct mlx5_ib_caps *caps);
u32 mlx5_ib_dm_alloc_size(u32 length, const struct mlx5_ib_caps *caps);
unsigned long mlx5_ib_dm_find_pages(const unsigned long *used, const struct mlx5_ib_caps *caps,
				    unsigned int page_shift, unsigned long from, u32 length,
				    u32 log_align);
int mlx5_ib_check_dm_access(u32 access);
void mlx5_ib_fill_memic_mkey(void *in, const struct mlx5_ib_mkc_attr *attr, u64 addr,
			     const struct mlx5_ib_caps *caps);

#endif /* BLUEBELL_LAYOUT_DM_H */
