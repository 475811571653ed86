/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The pool of free memory keys: which key fits a region, and how many keys to keep. Pure
 * functions only.
 */

#ifndef BLUEBELL_MKEY_POOL_POLICY_H
#define BLUEBELL_MKEY_POOL_POLICY_H

#include <linux/bits.h>
#include <linux/types.h>

struct mlx5_ib_caps;

/* A size holds keys with room for 2^(MIN + size) translation entries. */
#define MLX5_IB_POOL_MIN_LOG_MTTS	3
#define MLX5_IB_POOL_MAX_LOG_MTTS	18
#define MLX5_IB_POOL_SIZES	(MLX5_IB_POOL_MAX_LOG_MTTS - MLX5_IB_POOL_MIN_LOG_MTTS + 1)

/* Keys that differ in what UMR cannot change are of different families. */
#define MLX5_IB_POOL_RELAXED		BIT(0)
#define MLX5_IB_POOL_ATOMIC		BIT(1)
#define MLX5_IB_POOL_FAMILIES		4

#define MLX5_IB_POOL_CLASSES		(MLX5_IB_POOL_FAMILIES * MLX5_IB_POOL_SIZES)

/* A key that is never in the pool: only firmware can create, change and destroy it; */
#define MLX5_IB_CLASS_FIRMWARE		(-1)
/* or UMR can fill and change it, but it is too long to be kept, or may have windows. */
#define MLX5_IB_CLASS_LONG		(-2)

/**
 * struct mlx5_ib_mkey_pool_use - how many keys of a class are used
 * @in_use: keys that regions have
 * @peak: the highest @in_use of late
 * @free: keys in the pool
 */
struct mlx5_ib_mkey_pool_use {
	u32 in_use;
	u32 peak;
	u32 free;
};

u32 mlx5_ib_mkey_pool_family(u32 access, const struct mlx5_ib_caps *caps);
int mlx5_ib_mkey_pool_class(u32 nmtts, u32 access, const struct mlx5_ib_caps *caps);
u32 mlx5_ib_mkey_pool_class_mtts(int class);
u32 mlx5_ib_mkey_pool_want(int class, const struct mlx5_ib_mkey_pool_use *use);
u32 mlx5_ib_mkey_pool_missing(int class, const struct mlx5_ib_mkey_pool_use *use);
u32 mlx5_ib_mkey_pool_surplus(int class, const struct mlx5_ib_mkey_pool_use *use);
u32 mlx5_ib_mkey_pool_age(const struct mlx5_ib_mkey_pool_use *use);

#endif /* BLUEBELL_MKEY_POOL_POLICY_H */
