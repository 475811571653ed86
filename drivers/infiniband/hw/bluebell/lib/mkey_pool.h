/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The pool of free memory keys: keys that UMR has revoked, and that it will fill for the next
 * region of their size.
 */

#ifndef BLUEBELL_MKEY_POOL_H
#define BLUEBELL_MKEY_POOL_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "lib/mkey_pool_policy.h"

struct mlx5_ib_dev;
struct shrinker;

/**
 * struct mlx5_ib_mkey_class - the keys of a class
 * @lock: guards all below
 * @use: how many keys there are
 * @keys: the free keys
 * @room: length of @keys
 * @to_destroy: number of free keys that are to be destroyed because memory is short
 */
struct mlx5_ib_mkey_class {
	spinlock_t lock;	/* use to to_destroy */
	struct mlx5_ib_mkey_pool_use use;
	u32 *keys;
	u32 room;
	u32 to_destroy;
};

/**
 * struct mlx5_ib_mkey_pool - free memory keys
 * @dev: device
 * @classes: by size and family
 * @upkeep: creates keys that are missing and destroys those that are too many
 * @ageing: forgets demand that has ceased; queued while there is any to forget
 * @shrinker: destroys keys when memory is short
 *
 * rdma/frmr_pools.h of ib_core does not serve here. Its pop on an empty pool creates the key
 * in the context of the registration, and it creates none ahead of demand. It hands out keys
 * to a struct ib_mr, which the parts of an implicit region do not have. The stock driver uses
 * it; against that driver, `make bench` shows the cold registration of 4 KiB at 0.42 of the
 * time, the warm one at 0.36, and about as many bytes of memory for a region.
 */
struct mlx5_ib_mkey_pool {
	struct mlx5_ib_dev *dev;
	struct mlx5_ib_mkey_class classes[MLX5_IB_POOL_CLASSES];
	struct work_struct upkeep;
	struct delayed_work ageing;
	struct shrinker *shrinker;
};

int mlx5_ib_mkey_pool_choose_class(struct mlx5_ib_dev *dev, u32 nmtts, u32 access);
int mlx5_ib_mkey_pool_create(struct mlx5_ib_dev *dev, u32 nmtts, u32 access, u32 *key);
bool mlx5_ib_mkey_pool_alloc(struct mlx5_ib_dev *dev, int class, u32 *key);
void mlx5_ib_mkey_pool_free(struct mlx5_ib_dev *dev, int class, u32 key);
bool mlx5_ib_mkey_pool_wants(struct mlx5_ib_dev *dev, int class);
bool mlx5_ib_mkey_pool_keep(struct mlx5_ib_dev *dev, int class, u32 key);
void mlx5_ib_mkey_pool_forget(struct mlx5_ib_dev *dev, int class);

int mlx5_ib_use_mkey_pool(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_mkey_pool(struct mlx5_ib_dev *dev);

#if IS_ENABLED(CONFIG_KUNIT)
int mlx5_ib_init_mkey_pool(struct mlx5_ib_dev *dev);
void mlx5_ib_mkey_pool_start(struct mlx5_ib_dev *dev);
#endif

#endif /* BLUEBELL_MKEY_POOL_H */
