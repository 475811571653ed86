// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Free memory keys: which region fits which key, and how many to keep. Pure
 * functions only.
 */

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mlx5/device.h>
#include <rdma/ib_verbs.h>

#include "layout_cache.h"

/* The free keys of a class have room for no more entries than this: 8 MiB of the device. */
#define MAX_FREE_MTTS		BIT(20)
#define MAX_FREE_KEYS		4096
/* Kept when nobody uses a class: this many of the smallest, half as many of each larger one. */
#define LOG_READY_KEYS		4
#define READY_SIZES		8
/* With no more than 16 bits in a request to say where its entries go. */
#define MAX_SHORT_OFFSET_MTTS	BIT(17)

static_assert(BIT(MLX5_IB_CACHE_MIN_LOG_MTTS) * sizeof(__be64) >= MLX5_UMR_FLEX_ALIGNMENT);
static_assert(BIT(MLX5_IB_CACHE_MAX_LOG_MTTS) <= MAX_FREE_MTTS);

static int size_of(int class)
{
	return class % MLX5_IB_CACHE_SIZES;
}

/**
 * mlx5_ib_cache_family - what of a key UMR cannot change
 * @access: enum ib_access_flags
 * @caps: what the device can do
 *
 * Return: MLX5_IB_CACHE_RELAXED and MLX5_IB_CACHE_ATOMIC.
 */
u32 mlx5_ib_cache_family(u32 access, const struct mlx5_ib_mkey_caps *caps)
{
	bool relaxed = caps->relaxed_ordering_read || caps->relaxed_ordering_write;
	u32 family = 0;

	if (access & IB_ACCESS_RELAXED_ORDERING && relaxed)
		family |= MLX5_IB_CACHE_RELAXED;
	if (access & IB_ACCESS_REMOTE_ATOMIC && caps->umr_keeps_atomic)
		family |= MLX5_IB_CACHE_ATOMIC;
	return family;
}

/**
 * mlx5_ib_cache_class - the class of keys that fit a region
 * @nmtts: translation entries that it needs, at least 1
 * @access: enum ib_access_flags
 * @caps: what the device can do
 *
 * Return: the class, whose keys have the least room that is enough; or
 * MLX5_IB_CLASS_LONG or MLX5_IB_CLASS_FIRMWARE.
 */
int mlx5_ib_cache_class(u32 nmtts, u32 access, const struct mlx5_ib_mkey_caps *caps)
{
	int size = max(order_base_2(nmtts) - MLX5_IB_CACHE_MIN_LOG_MTTS, 0);

	if (nmtts > MAX_SHORT_OFFSET_MTTS && !caps->umr_long_offset)
		return MLX5_IB_CLASS_FIRMWARE;
	if (size >= MLX5_IB_CACHE_SIZES)
		return MLX5_IB_CLASS_LONG;
	return mlx5_ib_cache_family(access, caps) * MLX5_IB_CACHE_SIZES + size;
}

/**
 * mlx5_ib_cache_class_mtts - room of a class's keys
 * @class: from 0
 *
 * Return: translation entries.
 */
u32 mlx5_ib_cache_class_mtts(int class)
{
	return BIT(size_of(class) + MLX5_IB_CACHE_MIN_LOG_MTTS);
}

/**
 * mlx5_ib_cache_class_access - what the keys of a class are made with
 * @class: from 0
 *
 * Return: enum ib_access_flags that UMR does not change; perhaps those alone.
 */
u32 mlx5_ib_cache_class_access(int class)
{
	u32 family = class / MLX5_IB_CACHE_SIZES;

	return (family & MLX5_IB_CACHE_RELAXED ? IB_ACCESS_RELAXED_ORDERING : 0) |
	       (family & MLX5_IB_CACHE_ATOMIC ? IB_ACCESS_REMOTE_ATOMIC : 0);
}

/* Keys that are ready before anybody has asked for one: of ordinary, small ones. */
static u32 ready(int class)
{
	return class < READY_SIZES ? max(BIT(LOG_READY_KEYS) >> class, 1) : 0;
}

/**
 * mlx5_ib_cache_want - how many free keys a class should have
 * @class: from 0
 * @use: how much it is used
 *
 * As many as were in use at once of late and are not now, for they may be wanted
 * again, and those that were made ahead of a demand that grew.
 *
 * Return: number of keys.
 */
u32 mlx5_ib_cache_want(int class, const struct mlx5_ib_cache_use *use)
{
	u32 most = min(MAX_FREE_MTTS / mlx5_ib_cache_class_mtts(class), MAX_FREE_KEYS);
	u32 back = min(use->peak - use->in_use, most);

	return min(max(ready(class), back + ready(class) / 2), most);
}

/**
 * mlx5_ib_cache_missing - how many free keys to make
 * @class: from 0
 * @use: how much it is used
 *
 * What is kept ready for a class that nobody uses; half of that while it is used,
 * for the keys in use come back by themselves.
 *
 * Return: number of keys.
 */
u32 mlx5_ib_cache_missing(int class, const struct mlx5_ib_cache_use *use)
{
	u32 least = use->peak ? ready(class) / 2 : ready(class);

	return least - min(least, use->free);
}

/**
 * mlx5_ib_cache_surplus - how many free keys to destroy
 * @class: from 0
 * @use: how much it is used
 *
 * Return: number of keys.
 */
u32 mlx5_ib_cache_surplus(int class, const struct mlx5_ib_cache_use *use)
{
	return use->free - min(use->free, mlx5_ib_cache_want(class, use));
}

/**
 * mlx5_ib_cache_age - forget half of what was in use once and is no more
 * @use: how much a class is used
 *
 * Return: the new @use->peak; after a while it is @use->in_use.
 */
u32 mlx5_ib_cache_age(const struct mlx5_ib_cache_use *use)
{
	return use->in_use + (use->peak - use->in_use) / 2;
}
