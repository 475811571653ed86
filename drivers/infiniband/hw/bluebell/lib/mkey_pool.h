/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The pool of free memory keys, which UMR fills for the next region of their size (mkey_pool.c).
 * Pure functions decide which key fits a region, and how many keys to keep (mkey_pool_policy.c).
 */

#ifndef BLUEBELL_MKEY_POOL_H
#define BLUEBELL_MKEY_POOL_H

#include <linux/bits.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct mlx5_ib_caps;
struct mlx5_ib_dev;
struct shrinker;

/* Keys of size n, from 0, have room for 2^(MLX5_IB_POOL_MIN_LOG_MTTS + n) translation entries. */
#define MLX5_IB_POOL_MIN_LOG_MTTS	3
#define MLX5_IB_POOL_MAX_LOG_MTTS	18
#define MLX5_IB_POOL_SIZES	(MLX5_IB_POOL_MAX_LOG_MTTS - MLX5_IB_POOL_MIN_LOG_MTTS + 1)

/* Properties that the driver does not change by UMR: a family of keys has the same properties. */
#define MLX5_IB_POOL_RELAXED		BIT(0)
#define MLX5_IB_POOL_ATOMIC		BIT(1)
#define MLX5_IB_POOL_FAMILIES		4

#define MLX5_IB_POOL_CLASSES		(MLX5_IB_POOL_FAMILIES * MLX5_IB_POOL_SIZES)

/* Class of keys that are never in the pool: only firmware can create and destroy them. */
#define MLX5_IB_CLASS_FIRMWARE		(-1)
/*
 * Class of keys that UMR can fill and change, but that are never in the pool: they are too long to
 * be kept, or may have windows.
 */
#define MLX5_IB_CLASS_LONG		(-2)

/**
 * struct mlx5_ib_mkey_pool_use - how many keys of a class are used
 * @in_use: number of keys that regions have
 * @peak: the highest @in_use. The pool's work item @ageing lowers the peak to @in_use with time,
 *	the shrinker at once
 * @free: number of free keys
 * @shrunk: the shrinker has marked free keys, or a free key has made way for another key, and no
 *	region has asked for a key of the class since
 */
struct mlx5_ib_mkey_pool_use {
	u32 in_use;
	u32 peak;
	u32 free;
	bool shrunk;
};

/**
 * struct mlx5_ib_mkey_class - the keys of a class
 * @lock: guards all members below; held for a few assignments, and while @keys is copied to grow.
 *	mkey_pool_count() reads @use.free, and mkey_class_make_room() @room, without the lock
 * @use: how many keys the class has, in use and free
 * @keys: array of the free keys
 * @room: number of keys that @keys has room for
 * @to_destroy: number of free keys that are to be destroyed because memory is short
 */
struct mlx5_ib_mkey_class {
	spinlock_t lock;	/* guards all members below */
	struct mlx5_ib_mkey_pool_use use;
	u32 *keys;
	u32 room;
	u32 to_destroy;
};

/**
 * struct mlx5_ib_mkey_pool - free memory keys
 * @dev: device
 * @classes: by size and family. One user can have up to 8 MiB of the device's translations kept in
 *	each class for some time after the regions are gone, see mkey_pool_policy.c
 * @upkeep: creates missing keys and destroys surplus keys, by one command at a time
 * @ageing: lowers the peaks of classes whose demand has fallen; queued while there are such classes
 * @shrinker: marks free keys when memory is short, for @upkeep to destroy
 *
 * rdma/frmr_pools.h of ib_core does not serve here. A pop from an empty pool of ib_core creates the
 * key in the context of the registration; only an administrator can have keys created ahead of
 * demand. ib_core hands out keys to a struct ib_mr, which the parts of an implicit region do not
 * have. `make bench` compares this pool with the stock driver, which uses the pools of ib_core.
 */
struct mlx5_ib_mkey_pool {
	struct mlx5_ib_dev *dev;
	struct mlx5_ib_mkey_class classes[MLX5_IB_POOL_CLASSES];
	struct work_struct upkeep;
	struct delayed_work ageing;
	struct shrinker *shrinker;
};

/* mkey_pool_policy.c */
u32 mlx5_ib_mkey_pool_family(u32 access, const struct mlx5_ib_caps *caps);
int mlx5_ib_mkey_pool_class(u32 nmtts, u32 access, const struct mlx5_ib_caps *caps);
u32 mlx5_ib_mkey_pool_class_mtts(int class);
u32 mlx5_ib_mkey_pool_want(int class, const struct mlx5_ib_mkey_pool_use *use);
u32 mlx5_ib_mkey_pool_missing(int class, const struct mlx5_ib_mkey_pool_use *use);
u32 mlx5_ib_mkey_pool_surplus(int class, const struct mlx5_ib_mkey_pool_use *use);
u32 mlx5_ib_mkey_pool_age(const struct mlx5_ib_mkey_pool_use *use);

/* mkey_pool.c */
int mlx5_ib_mkey_pool_choose_class(struct mlx5_ib_dev *dev, u32 nmtts, u32 access);
bool mlx5_ib_mkey_pool_make_way(struct mlx5_ib_dev *dev, unsigned int *tries);
int mlx5_ib_mkey_pool_send_create(struct mlx5_ib_dev *dev, u16 uid, void *in, size_t inlen,
				  u32 *key);
int mlx5_ib_mkey_pool_create(struct mlx5_ib_dev *dev, u32 nmtts, u32 access, u32 *key);
bool mlx5_ib_mkey_pool_alloc(struct mlx5_ib_dev *dev, int class, u32 *key);
void mlx5_ib_mkey_pool_free(struct mlx5_ib_dev *dev, int class, u32 key);
bool mlx5_ib_mkey_pool_wants(struct mlx5_ib_dev *dev, int class);
bool mlx5_ib_mkey_pool_keep(struct mlx5_ib_dev *dev, int class, u32 key);
void mlx5_ib_mkey_pool_forget(struct mlx5_ib_dev *dev, int class);

int mlx5_ib_use_mkey_pool(struct mlx5_ib_dev *dev);
int mlx5_ib_try_mkey_pool(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_mkey_pool(struct mlx5_ib_dev *dev);

#if IS_ENABLED(CONFIG_KUNIT)
int mlx5_ib_init_mkey_pool(struct mlx5_ib_dev *dev);
void mlx5_ib_mkey_pool_start(struct mlx5_ib_dev *dev);
#endif

#endif /* BLUEBELL_MKEY_POOL_H */
