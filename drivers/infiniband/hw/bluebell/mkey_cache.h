/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory keys that wait for the next region of their size.
 */

#ifndef BLUEBELL_MKEY_CACHE_H
#define BLUEBELL_MKEY_CACHE_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "layout_cache.h"

struct mlx5_ib_dev;
struct shrinker;

/**
 * struct key_class - the keys of a class
 * @lock: guards all below
 * @use: how many there are
 * @keys: those that are free
 * @room: in @keys
 * @doomed: of the free ones, how many memory pressure wants destroyed
 */
struct key_class {
	spinlock_t lock;	/* use to doomed */
	struct mlx5_ib_cache_use use;
	u32 *keys;
	u32 room;
	u32 doomed;
};

/**
 * struct mlx5_ib_mkey_cache - keys that wait for a region
 * @dev: device
 * @classes: by size and family
 * @upkeep: makes keys that are missing and destroys those that are too many
 * @ageing: forgets demand that has ceased; due while there is any to forget
 * @shrinker: gives keys up when memory runs short
 */
struct mlx5_ib_mkey_cache {
	struct mlx5_ib_dev *dev;
	struct key_class classes[MLX5_IB_CACHE_CLASSES];
	struct work_struct upkeep;
	struct delayed_work ageing;
	struct shrinker *shrinker;
};

int mlx5_ib_choose_class(struct mlx5_ib_dev *dev, u32 nmtts, u32 access,
			 const struct mlx5_ib_mkey_caps *caps);
int mlx5_ib_make_free_mkey(struct mlx5_ib_dev *dev, u32 nmtts, u32 access, u32 *mkey);
bool mlx5_ib_take_mkey(struct mlx5_ib_dev *dev, int class, u32 *mkey);
void mlx5_ib_put_mkey(struct mlx5_ib_dev *dev, int class, u32 mkey);
void mlx5_ib_lose_mkey(struct mlx5_ib_dev *dev, int class);

int mlx5_ib_init_mkey_cache(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_mkey_cache(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_MKEY_CACHE_H */
