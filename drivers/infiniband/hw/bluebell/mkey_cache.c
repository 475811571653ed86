// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory keys that wait for the next region of their size: as many as demand
 * has shown to be useful, fewer when it ceases or memory runs short.
 */

#include <linux/log2.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "bluebell.h"
#include "fw.h"
#include "mkey_cache.h"
#include "mr.h"
#include "umr_qp.h"

#define AGEING_PERIOD	(30 * HZ)

static struct key_class *end_of_classes(struct mlx5_ib_mkey_cache *cache)
{
	return cache->classes + MLX5_IB_CACHE_CLASSES;
}

/* ---- keys of one class -------------------------------------------------------- */

static bool pop_key(struct key_class *kc, u32 *mkey)
{
	lockdep_assert_held(&kc->lock);
	if (!kc->use.free)
		return false;
	*mkey = kc->keys[--kc->use.free];
	kc->doomed = min(kc->doomed, kc->use.free);
	return true;
}

static bool push_key(struct key_class *kc, u32 mkey)
{
	lockdep_assert_held(&kc->lock);
	if (kc->use.free == kc->room)
		return false;
	kc->keys[kc->use.free++] = mkey;
	return true;
}

/*
 * Have firmware destroy a free key. If it will not, nothing can use the key all
 * the same, and it waits with the others for the next occasion.
 */
static bool discard_key(struct mlx5_ib_mkey_cache *cache, struct key_class *kc, u32 mkey)
{
	if (!mlx5_fw_destroy_mkey(cache->dev, MLX5_IB_KERNEL_UID, mkey))
		return true;
	scoped_guard(spinlock, &kc->lock)
		if (push_key(kc, mkey))
			return false;
	ibdev_warn_ratelimited(&cache->dev->ib_dev, "a free key is lost\n");
	return false;
}

/* Room for as many keys as may have to wait. Without it they are destroyed. */
static void make_room(struct key_class *kc, u32 keys)
{
	u32 room = roundup_pow_of_two(max(keys, 4U));
	u32 *old = NULL, *new;

	if (keys <= READ_ONCE(kc->room))
		return;
	new = kmalloc_array(room, sizeof(*new), GFP_KERNEL | __GFP_NOWARN);
	if (!new)
		return;
	scoped_guard(spinlock, &kc->lock) {
		old = new;
		if (room > kc->room) {
			old = kc->keys;
			if (kc->use.free)
				memcpy(new, old, kc->use.free * sizeof(*new));
			kc->keys = new;
			kc->room = room;
		}
	}
	kfree(old);
}

/* ---- for regions ----------------------------------------------------------------- */

/**
 * mlx5_ib_choose_class - the class of a new key
 * @dev: device
 * @nmtts: translation entries that it needs
 * @access: enum ib_access_flags
 * @caps: what the device can do
 *
 * Return: as mlx5_ib_cache_class(); MLX5_IB_CLASS_FIRMWARE if the device cannot
 * do UMR; MLX5_IB_CLASS_LONG for a region that may have windows.
 */
int mlx5_ib_choose_class(struct mlx5_ib_dev *dev, u32 nmtts, u32 access,
			 const struct mlx5_ib_mkey_caps *caps)
{
	if (!dev->umr)
		return MLX5_IB_CLASS_FIRMWARE;
	/*
	 * Firmware counts the windows that are bound to a key, and will not destroy it while
	 * there are any. So a region that can have some has a key of its own: a free one may
	 * still have those of its last region, and would be revoked without asking.
	 */
	if (access & IB_ACCESS_MW_BIND)
		return MLX5_IB_CLASS_LONG;
	return mlx5_ib_cache_class(nmtts, access, caps);
}

/**
 * mlx5_ib_make_free_mkey - have firmware make a key for UMR to fill
 * @dev: device with a UMR queue pair
 * @nmtts: translation entries that it shall have room for
 * @access: enum ib_access_flags that UMR does not change
 * @mkey: the key
 *
 * May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_make_free_mkey(struct mlx5_ib_dev *dev, u32 nmtts, u32 access, u32 *mkey)
{
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	struct mlx5_ib_mkey_caps caps;
	struct mlx5_ib_mkc_attr attr = {
		.access = access,
		.pdn = mlx5_ib_umr_pdn(dev),
		.page_shift = MLX5_ADAPTER_PAGE_SHIFT,
		.variant = atomic_inc_return(&dev->mkey_variant),
	};

	mlx5_ib_get_mkey_caps(dev, &caps);
	mlx5_ib_fill_free_mkey(in, nmtts, &attr, &caps);
	return mlx5_fw_create_mkey(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), mkey);
}

/**
 * mlx5_ib_take_mkey - take a free key for a region
 * @dev: device with a cache
 * @class: from 0
 * @mkey: the key
 *
 * The region counts as one that uses a key of this class, even if it has to be
 * made, until mlx5_ib_put_mkey() or mlx5_ib_lose_mkey(). May sleep.
 *
 * Return: false if there is none.
 */
bool mlx5_ib_take_mkey(struct mlx5_ib_dev *dev, int class, u32 *mkey)
{
	struct mlx5_ib_mkey_cache *cache = dev->mkey_cache;
	struct key_class *kc = &cache->classes[class];
	u32 wanted, missing;
	bool found;

	scoped_guard(spinlock, &kc->lock) {
		kc->use.in_use++;
		kc->use.peak = max(kc->use.peak, kc->use.in_use);
		found = pop_key(kc, mkey);
		missing = mlx5_ib_cache_missing(class, &kc->use);
		/* Room for all of them to come back. */
		wanted = mlx5_ib_cache_want(class, &(struct mlx5_ib_cache_use){
							.peak = kc->use.peak });
	}
	make_room(kc, wanted);
	if (missing)
		queue_work(system_dfl_wq, &cache->upkeep);
	return found;
}

/**
 * mlx5_ib_put_mkey - a region no longer uses a key, which is free
 * @dev: device with a cache
 * @class: from 0
 * @mkey: the key, which mlx5_ib_umr_revoke() has freed
 *
 * Keeps or destroys it. May sleep.
 */
void mlx5_ib_put_mkey(struct mlx5_ib_dev *dev, int class, u32 mkey)
{
	struct mlx5_ib_mkey_cache *cache = dev->mkey_cache;
	struct key_class *kc = &cache->classes[class];
	bool kept;

	scoped_guard(spinlock, &kc->lock) {
		kc->use.in_use--;
		kept = kc->use.free < mlx5_ib_cache_want(class, &kc->use) && push_key(kc, mkey);
	}
	if (kept) {
		queue_delayed_work(system_dfl_wq, &cache->ageing, AGEING_PERIOD);
		return;
	}
	discard_key(cache, kc, mkey);
}

/**
 * mlx5_ib_lose_mkey - a region no longer uses a key, which has been destroyed
 * @dev: device with a cache
 * @class: from 0
 */
void mlx5_ib_lose_mkey(struct mlx5_ib_dev *dev, int class)
{
	struct key_class *kc = &dev->mkey_cache->classes[class];

	guard(spinlock)(&kc->lock);
	kc->use.in_use--;
}

/* ---- upkeep ---------------------------------------------------------------------- */

static int class_of(struct mlx5_ib_mkey_cache *cache, struct key_class *kc)
{
	return kc - cache->classes;
}

static bool add_key(struct mlx5_ib_mkey_cache *cache, struct key_class *kc)
{
	int class = class_of(cache, kc);
	u32 mkey;

	if (mlx5_ib_make_free_mkey(cache->dev, mlx5_ib_cache_class_mtts(class),
				   mlx5_ib_cache_class_access(class), &mkey))
		return false;
	scoped_guard(spinlock, &kc->lock)
		if (push_key(kc, mkey))
			return true;
	discard_key(cache, kc, mkey);
	return false;
}

static bool destroy_key(struct mlx5_ib_mkey_cache *cache, struct key_class *kc)
{
	u32 mkey;

	scoped_guard(spinlock, &kc->lock) {
		if (!kc->doomed && !mlx5_ib_cache_surplus(class_of(cache, kc), &kc->use))
			return false;
		if (!pop_key(kc, &mkey))
			return false;
		if (kc->doomed)
			kc->doomed--;
	}
	return discard_key(cache, kc, mkey);
}

/* Make what is missing, destroy what is too much. */
static void keep_up(struct work_struct *work)
{
	struct mlx5_ib_mkey_cache *cache = container_of(work, struct mlx5_ib_mkey_cache, upkeep);
	struct key_class *kc;
	u32 missing;

	for (kc = cache->classes; kc < end_of_classes(cache); kc++) {
		scoped_guard(spinlock, &kc->lock)
			missing = mlx5_ib_cache_missing(class_of(cache, kc), &kc->use);
		while (missing-- && add_key(cache, kc))
			cond_resched();
		while (destroy_key(cache, kc))
			cond_resched();
	}
}

static void grow_old(struct work_struct *work)
{
	struct mlx5_ib_mkey_cache *cache = container_of(to_delayed_work(work),
							struct mlx5_ib_mkey_cache, ageing);
	bool again = false, surplus = false;
	struct key_class *kc;

	for (kc = cache->classes; kc < end_of_classes(cache); kc++) {
		guard(spinlock)(&kc->lock);
		kc->use.peak = mlx5_ib_cache_age(&kc->use);
		again |= kc->use.peak > kc->use.in_use;
		surplus |= mlx5_ib_cache_surplus(class_of(cache, kc), &kc->use);
	}
	if (surplus)
		queue_work(system_dfl_wq, &cache->upkeep);
	if (again)
		queue_delayed_work(system_dfl_wq, &cache->ageing, AGEING_PERIOD);
}

static unsigned long count_keys(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct mlx5_ib_mkey_cache *cache = shrinker->private_data;
	unsigned long keys = 0;
	struct key_class *kc;

	for (kc = cache->classes; kc < end_of_classes(cache); kc++)
		keys += READ_ONCE(kc->use.free);
	return keys ?: SHRINK_EMPTY;
}

/*
 * Firmware commands need memory and locks of mlx5_core, so that they cannot be
 * sent from here. The largest keys go first: they hold the most.
 */
static unsigned long scan_keys(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct mlx5_ib_mkey_cache *cache = shrinker->private_data;
	unsigned long doomed = 0;
	struct key_class *kc;
	u32 n;
	int i;

	for (i = MLX5_IB_CACHE_CLASSES; i-- && doomed < sc->nr_to_scan;) {
		kc = &cache->classes[i];
		guard(spinlock)(&kc->lock);
		n = min(kc->use.free - kc->doomed, sc->nr_to_scan - doomed);
		kc->doomed += n;
		/* Nor are they wanted back before demand shows that they are. */
		if (n)
			kc->use.peak = kc->use.in_use;
		doomed += n;
	}
	if (doomed)
		queue_work(system_dfl_wq, &cache->upkeep);
	return doomed ?: SHRINK_STOP;
}

static void free_cache(struct mlx5_ib_mkey_cache *cache)
{
	struct key_class *kc;
	u32 mkey;

	if (!cache)
		return;
	if (cache->shrinker)
		shrinker_free(cache->shrinker);
	disable_delayed_work_sync(&cache->ageing);
	disable_work_sync(&cache->upkeep);
	for (kc = cache->classes; kc < end_of_classes(cache); kc++) {
		WARN_ON(kc->use.in_use);
		while (kc->use.free) {
			mkey = kc->keys[--kc->use.free];
			mlx5_fw_destroy_mkey(cache->dev, MLX5_IB_KERNEL_UID, mkey);
		}
		kfree(kc->keys);
	}
	kfree(cache);
}

DEFINE_FREE(mkey_cache, struct mlx5_ib_mkey_cache *, free_cache(_T))

/**
 * mlx5_ib_init_mkey_cache - get ready to keep keys
 * @dev: device; without a UMR queue pair there is no cache
 *
 * The first keys are made in the background. May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_init_mkey_cache(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_mkey_cache *cache __free(mkey_cache) = NULL;
	struct key_class *kc;

	if (!dev->umr)
		return 0;
	cache = kzalloc_obj(*cache);
	if (!cache)
		return -ENOMEM;
	cache->dev = dev;
	INIT_WORK(&cache->upkeep, keep_up);
	INIT_DELAYED_WORK(&cache->ageing, grow_old);
	for (kc = cache->classes; kc < end_of_classes(cache); kc++) {
		spin_lock_init(&kc->lock);
		make_room(kc, mlx5_ib_cache_want(class_of(cache, kc), &kc->use));
	}
	cache->shrinker = shrinker_alloc(0, "bluebell-mkeys:%s", dev_name(dev->mdev->device));
	if (!cache->shrinker)
		return -ENOMEM;
	cache->shrinker->count_objects = count_keys;
	cache->shrinker->scan_objects = scan_keys;
	cache->shrinker->private_data = cache;
	shrinker_register(cache->shrinker);
	queue_work(system_dfl_wq, &cache->upkeep);
	dev->mkey_cache = no_free_ptr(cache);
	return 0;
}

/**
 * mlx5_ib_cleanup_mkey_cache - destroy the free keys
 * @dev: device, none of whose regions is left
 */
void mlx5_ib_cleanup_mkey_cache(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_mkey_cache *cache = dev->mkey_cache;

	dev->mkey_cache = NULL;
	free_cache(cache);
}
