// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The pool of free memory keys: which key fits a region, and how many keys to keep. Pure
 * functions only.
 */

#include <linux/build_bug.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <rdma/ib_verbs.h>

#include "layout/caps.h"
#include "lib/mkey_pool.h"

/* Maximum number of entries of all free keys of a class: 8 MiB of translations in the device. */
#define MAX_FREE_MTTS		BIT(20)
#define MAX_FREE_KEYS		4096
/*
 * Number of free keys that the smallest class should have when no region has used it for some time,
 * and number of classes that should then have any; see mkey_class_ready().
 */
#define READY_KEYS		16
#define READY_SIZES		8
/* Entries that a UMR can reach if its offset, in units of two entries, has only 16 bits. */
#define MAX_SHORT_OFFSET_MTTS	BIT(17)

static_assert(BIT(MLX5_IB_POOL_MIN_LOG_MTTS) * sizeof(__be64) >= MLX5_UMR_FLEX_ALIGNMENT);
static_assert(BIT(MLX5_IB_POOL_MAX_LOG_MTTS) <= MAX_FREE_MTTS);
/* Keys are created ahead of demand only for family 0, whose classes have the lowest numbers. */
static_assert(READY_SIZES <= MLX5_IB_POOL_SIZES);

/**
 * mlx5_ib_mkey_pool_family - find the properties of a key that the driver does not change by UMR
 * @access: enum ib_access_flags
 * @caps: what the device can do
 *
 * Return: MLX5_IB_POOL_RELAXED, MLX5_IB_POOL_ATOMIC, both or 0.
 */
u32 mlx5_ib_mkey_pool_family(u32 access, const struct mlx5_ib_caps *caps)
{
	bool relaxed = caps->relaxed_ordering_read ||
		       MLX5_CAP_GEN(caps->mdev, relaxed_ordering_write);
	u32 family = 0;

	if (access & IB_ACCESS_RELAXED_ORDERING && relaxed)
		family |= MLX5_IB_POOL_RELAXED;
	if (access & IB_ACCESS_REMOTE_ATOMIC &&
	    MLX5_CAP_GEN(caps->mdev, umr_modify_atomic_disabled))
		family |= MLX5_IB_POOL_ATOMIC;
	return family;
}

/**
 * mlx5_ib_mkey_pool_class - find the class of the keys that fit a region
 * @nmtts: translation entries that the region needs, at least 1
 * @access: enum ib_access_flags
 * @caps: what the device can do
 *
 * Return: the class of the smallest keys that have room for the entries; MLX5_IB_CLASS_LONG if no
 * class has room for them; or MLX5_IB_CLASS_FIRMWARE if UMR cannot reach all entries of the key.
 */
int mlx5_ib_mkey_pool_class(u32 nmtts, u32 access, const struct mlx5_ib_caps *caps)
{
	int size = max(order_base_2(nmtts) - MLX5_IB_POOL_MIN_LOG_MTTS, 0);

	if (nmtts > MAX_SHORT_OFFSET_MTTS &&
	    !MLX5_CAP_GEN(caps->mdev, umr_extended_translation_offset))
		return MLX5_IB_CLASS_FIRMWARE;
	if (size >= MLX5_IB_POOL_SIZES)
		return MLX5_IB_CLASS_LONG;
	return mlx5_ib_mkey_pool_family(access, caps) * MLX5_IB_POOL_SIZES + size;
}

/**
 * mlx5_ib_mkey_pool_class_mtts - how many entries a key of a class has
 * @class: number of the class, from 0
 *
 * Return: translation entries.
 */
u32 mlx5_ib_mkey_pool_class_mtts(int class)
{
	return BIT(class % MLX5_IB_POOL_SIZES + MLX5_IB_POOL_MIN_LOG_MTTS);
}

/*
 * How many free keys a class should have if no region has used a key of the class for some time: a
 * few for each small size of family 0, and none for other classes.
 */
static u32 mkey_class_ready(int class)
{
	return class < READY_SIZES ? max(READY_KEYS >> class, 1) : 0;
}

/**
 * mlx5_ib_mkey_pool_want - how many free keys a class should have
 * @class: number of the class, from 0
 * @use: how many keys of the class are used
 *
 * The class should have a free key for each key that was in use at the last peak and is not in use
 * now, because regions may need the keys again. For a growing demand the class should have half of
 * mkey_class_ready() more, and in all at least mkey_class_ready(). The free keys of a class should
 * not have more than MAX_FREE_MTTS entries, nor be more than MAX_FREE_KEYS.
 *
 * Return: number of keys.
 */
u32 mlx5_ib_mkey_pool_want(int class, const struct mlx5_ib_mkey_pool_use *use)
{
	u32 most = min(MAX_FREE_MTTS / mlx5_ib_mkey_pool_class_mtts(class), MAX_FREE_KEYS);
	u32 back = min(use->peak - use->in_use, most);

	return min(max(mkey_class_ready(class), back + mkey_class_ready(class) / 2), most);
}

/**
 * mlx5_ib_mkey_pool_missing - how many free keys to create
 * @class: number of the class, from 0
 * @use: how many keys of the class are used
 *
 * If no region has used a key of the class for some time (the peak is 0), free keys are created up
 * to mkey_class_ready(). Otherwise they are created up to half of this number, because the keys in
 * use will be free later. If free keys were destroyed because memory was short or another key
 * needed the number (@use->shrunk), no key is created until a region needs a key of the class.
 *
 * Return: number of keys.
 */
u32 mlx5_ib_mkey_pool_missing(int class, const struct mlx5_ib_mkey_pool_use *use)
{
	u32 least = use->peak ? mkey_class_ready(class) / 2 : mkey_class_ready(class);

	if (use->shrunk)
		return 0;
	return least - min(least, use->free);
}

/**
 * mlx5_ib_mkey_pool_surplus - how many free keys to destroy
 * @class: number of the class, from 0
 * @use: how many keys of the class are used
 *
 * Return: number of keys.
 */
u32 mlx5_ib_mkey_pool_surplus(int class, const struct mlx5_ib_mkey_pool_use *use)
{
	return use->free - min(use->free, mlx5_ib_mkey_pool_want(class, use));
}

/**
 * mlx5_ib_mkey_pool_age - lower the peak halfway to the number of keys in use
 * @use: how many keys of a class are used
 *
 * Return: the new @use->peak. If the peak is lowered again and again, it reaches @use->in_use.
 */
u32 mlx5_ib_mkey_pool_age(const struct mlx5_ib_mkey_pool_use *use)
{
	return use->in_use + (use->peak - use->in_use) / 2;
}
