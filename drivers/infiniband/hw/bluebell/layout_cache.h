/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Free memory keys: which region fits which key, and how many to keep. Pure
 * functions only.
 */

#ifndef BLUEBELL_LAYOUT_CACHE_H
#define BLUEBELL_LAYOUT_CACHE_H

#include <linux/types.h>

#include "layout_mkey.h"

/* A size holds keys with room for 2^(MIN + size) translation entries. */
#define MLX5_IB_CACHE_MIN_LOG_MTTS	3
#define MLX5_IB_CACHE_MAX_LOG_MTTS	18
#define MLX5_IB_CACHE_SIZES	(MLX5_IB_CACHE_MAX_LOG_MTTS - MLX5_IB_CACHE_MIN_LOG_MTTS + 1)

/* Keys that differ in what UMR cannot change are of different families. */
#define MLX5_IB_CACHE_RELAXED		BIT(0)
#define MLX5_IB_CACHE_ATOMIC		BIT(1)
#define MLX5_IB_CACHE_FAMILIES		4

#define MLX5_IB_CACHE_CLASSES		(MLX5_IB_CACHE_FAMILIES * MLX5_IB_CACHE_SIZES)

/* A key that is not of a class: only firmware can make, change and free it; */
#define MLX5_IB_CLASS_FIRMWARE		(-1)
/* or it is not kept, for its length or its windows, but UMR can fill and change it. */
#define MLX5_IB_CLASS_LONG		(-2)

/**
 * struct mlx5_ib_cache_use - how much a class is used
 * @in_use: keys that regions have
 * @peak: the most there were of late
 * @free: keys that wait for a region
 */
struct mlx5_ib_cache_use {
	u32 in_use;
	u32 peak;
	u32 free;
};

u32 mlx5_ib_cache_family(u32 access, const struct mlx5_ib_mkey_caps *caps);
int mlx5_ib_cache_class(u32 nmtts, u32 access, const struct mlx5_ib_mkey_caps *caps);
u32 mlx5_ib_cache_class_mtts(int class);
u32 mlx5_ib_cache_class_access(int class);
u32 mlx5_ib_cache_want(int class, const struct mlx5_ib_cache_use *use);
u32 mlx5_ib_cache_missing(int class, const struct mlx5_ib_cache_use *use);
u32 mlx5_ib_cache_surplus(int class, const struct mlx5_ib_cache_use *use);
u32 mlx5_ib_cache_age(const struct mlx5_ib_cache_use *use);

#endif /* BLUEBELL_LAYOUT_CACHE_H */
