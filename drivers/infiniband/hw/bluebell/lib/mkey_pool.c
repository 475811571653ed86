// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The pool of free memory keys: it holds as many keys as demand has shown to be useful, and
 * fewer when demand ceases or memory is short.
 */

/**
 * DOC: The pool of free keys
 *
 * A key of the pool is either in use by a region or free: created free by firmware, or revoked by
 * UMR after use. A free key is in the protection domain of the UMR queue pair, and the device
 * reaches nothing through the key. Keys differ by family, which stands for the rights that UMR
 * cannot change, and by their room for translation entries; keys of the same family and room are a
 * class. Each class has a spinlock, which guards its counts and the array of its free keys; no
 * command is sent and nothing is allocated under this lock.
 *
 * * **Registration.** mlx5_ib_mkey_pool_alloc() counts a key in use, raises the peak (the highest
 *   number of keys in use, until ageing lowers the peak), and takes a free key. If the class has no
 *   free key, the caller has firmware create a key, which counts as a key of the class, too. If
 *   free keys are missing (mlx5_ib_mkey_pool_missing()), the work item @upkeep is queued. The array
 *   grows now, if there is memory, to the number of free keys that the class may want later
 *   (mlx5_ib_mkey_pool_want()), because freeing a key allocates nothing.
 * * **Deregistration.** UMR revokes the key; a batch (mkey_batch.c) lets UMR revoke only keys that
 *   the class wants (mlx5_ib_mkey_pool_wants()). When UMR has revoked the key and no lookup finds
 *   the key, mlx5_ib_mkey_pool_keep() adds the key to the free keys, if the class wants it. If not,
 *   firmware destroys the key, and mlx5_ib_mkey_pool_forget() stops counting the key as in use.
 * * **Upkeep.** The work item creates the free keys that are missing, unless UMR is gone, and
 *   destroys surplus free keys and the free keys that the shrinker has marked (@to_destroy).
 * * **Ageing.** As long as the peak of a class is above the number of keys in use, @ageing lowers
 *   the peak every 30 s, and queues the upkeep for the free keys that are then surplus.
 * * **No number left.** If the device refuses, because of a limit, to create a key for an owner,
 *   the driver has a free key destroyed, whatever its class, and tries again, up to four times
 *   (mlx5_ib_mkey_pool_send_create()): free keys that one user has left behind should take no
 *   number away from another user. The upkeep does not replace the destroyed key before a region
 *   needs a key of that class.
 * * **Short memory.** The shrinker only marks free keys, family by family, the largest keys of each
 *   first, and queues the upkeep, because firmware commands allocate memory and take locks of
 *   mlx5_core. Once keys of a class have been marked, the upkeep creates no keys of the class until
 *   a region needs a key of the class.
 *
 * UMR and the pool are set up by the first registration of pinned or paged memory, under the mutex
 * first_use. If that fails, registrations of pinned memory use firmware commands, those that have
 * waited for the mutex included. The first registration of pinned memory that comes more than a
 * second later tries again to set up UMR and the pool; a registration of paged memory always tries.
 * Once UMR is gone, until the driver is bound again, no key is taken from the pool or kept. Surplus
 * free keys are destroyed as the pool ages, and other free keys when memory or numbers are short.
 */

#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include <linux/log2.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_mkey.h"
#include "layout/refuse.h"
#include "lib/mkey.h"
#include "lib/mkey_pool.h"
#include "lib/umr.h"

#define AGEING_PERIOD	(30 * HZ)
/*
 * How long registrations of pinned memory do without UMR after UMR could not be set up. Each
 * attempt is several commands, which firmware would probably refuse again.
 */
#define RETRY_PERIOD	HZ
/* Maximum number of free keys that are destroyed to make way for one new key. */
#define MAX_TRIES	4

static struct mlx5_ib_mkey_class *mkey_pool_end(struct mlx5_ib_mkey_pool *pool)
{
	return pool->classes + MLX5_IB_POOL_CLASSES;
}

/* ---- keys of one class -------------------------------------------------------- */

static bool mkey_class_pop(struct mlx5_ib_mkey_class *mc, u32 *key)
{
	lockdep_assert_held(&mc->lock);
	if (!mc->use.free)
		return false;
	*key = mc->keys[--mc->use.free];
	mc->to_destroy = min(mc->to_destroy, mc->use.free);
	return true;
}

static bool mkey_class_push(struct mlx5_ib_mkey_class *mc, u32 key)
{
	lockdep_assert_held(&mc->lock);
	if (mc->use.free == mc->room)
		return false;
	mc->keys[mc->use.free++] = key;
	return true;
}

/*
 * Have firmware destroy a free key. If firmware refuses, the key goes back to the free keys, if
 * there is room: the device reaches nothing through it. If firmware does not answer, the key may
 * not exist, so the pool must not hand the key out again. Returns true if the key has been
 * destroyed.
 */
static bool mkey_class_discard(struct mlx5_ib_mkey_pool *pool, struct mlx5_ib_mkey_class *mc,
			       u32 key)
{
	struct mlx5_ib_fw_attempt attempt = {};
	int err = mlx5_ib_mkey_table_destroy(pool->dev, MLX5_IB_KERNEL_UID, key, &attempt);

	if (!err)
		return true;
	mlx5_ib_fw_attempt_forget(pool->dev, &attempt);
	scoped_guard(spinlock, &mc->lock)
		if (!attempt.unanswered && mkey_class_push(mc, key))
			return false;
	mlx5_ib_mkey_table_leak(pool->dev, key, err);
	return false;
}

/*
 * Make room for @keys free keys, if there is memory. A key that finds no room when its region is
 * deregistered is destroyed then.
 */
static void mkey_class_make_room(struct mlx5_ib_mkey_class *mc, u32 keys)
{
	u32 room = roundup_pow_of_two(max(keys, 4U));
	u32 *old = NULL, *new;

	if (keys <= READ_ONCE(mc->room))
		return;
	new = kmalloc_array(room, sizeof(*new), GFP_KERNEL | __GFP_NOWARN);
	if (!new)
		return;
	scoped_guard(spinlock, &mc->lock) {
		old = new;
		if (room > mc->room) {
			old = mc->keys;
			if (mc->use.free)
				memcpy(new, old, mc->use.free * sizeof(*new));
			mc->keys = new;
			mc->room = room;
		}
	}
	kfree(old);
}

/* ---- for owners of keys ---------------------------------------------------------- */

/**
 * mlx5_ib_mkey_pool_choose_class - choose the class of a new key
 * @dev: device
 * @nmtts: translation entries that the key needs
 * @access: enum ib_access_flags
 *
 * The first call sets up UMR and the pool. After a failure, the first call more than a second later
 * tries again. May sleep.
 *
 * Return: MLX5_IB_CLASS_FIRMWARE if the device has no pool, or no UMR any more; else as
 * mlx5_ib_mkey_pool_class(), except that a region that may have windows gets MLX5_IB_CLASS_LONG
 * instead of a class of the pool.
 */
int mlx5_ib_mkey_pool_choose_class(struct mlx5_ib_dev *dev, u32 nmtts, u32 access)
{
	int class;

	if (mlx5_ib_try_mkey_pool(dev) || mlx5_ib_umr_is_gone(dev))
		return MLX5_IB_CLASS_FIRMWARE;
	class = mlx5_ib_mkey_pool_class(nmtts, access, &dev->caps);
	/*
	 * Firmware counts the windows that are bound to a key, and refuses to destroy the key while
	 * there are any. UMR does not count the windows: UMR would revoke a key that has windows,
	 * and a key of the pool might still have windows of the previous region. So the key of a
	 * region that may have windows is not taken from the pool.
	 */
	return access & IB_ACCESS_MW_BIND && class >= 0 ? MLX5_IB_CLASS_LONG : class;
}

/*
 * Destroy one free key of any class; in each family the largest keys go first, because they hold
 * the most memory. Returns true if a key has been destroyed.
 */
static bool mkey_pool_discard_any(struct mlx5_ib_mkey_pool *pool)
{
	struct mlx5_ib_mkey_class *mc;
	bool found;
	u32 key;

	for (mc = mkey_pool_end(pool); mc-- > pool->classes;) {
		scoped_guard(spinlock, &mc->lock) {
			found = mkey_class_pop(mc, &key);
			mc->use.shrunk |= found;
		}
		if (found)
			return mkey_class_discard(pool, mc, key);
	}
	return false;
}

/**
 * mlx5_ib_mkey_pool_make_way - destroy a free key, so that another key can be created
 * @dev: device, with a pool or without one, that has refused CREATE_MKEY because of a limit
 * @tries: number of earlier calls for the key that is to be created; this function increments it
 *
 * One destroyed key frees one number, but another task may take that number, and firmware may have
 * refused for lack of something else, so up to four free keys are destroyed. May sleep.
 *
 * Return: true if a key has been destroyed: the caller sends CREATE_MKEY again.
 */
bool mlx5_ib_mkey_pool_make_way(struct mlx5_ib_dev *dev, unsigned int *tries)
{
	/* Pairs with mlx5_ib_init_mkey_pool(). */
	struct mlx5_ib_mkey_pool *pool = smp_load_acquire(&dev->mkey_pool);

	return pool && (*tries)++ < MAX_TRIES && mkey_pool_discard_any(pool);
}

/**
 * mlx5_ib_mkey_pool_send_create - have firmware create a key, at the cost of free keys if need be
 * @dev: device
 * @uid: as for mlx5_ib_mkey_table_create()
 * @in: as for mlx5_ib_mkey_table_create()
 * @inlen: as for mlx5_ib_mkey_table_create()
 * @key: as for mlx5_ib_mkey_table_create()
 *
 * The pool keeps free keys of the sizes that users have used. If no free key were destroyed here,
 * the free keys of a few sizes could use up all numbers, and no key of another size could be
 * created. May sleep.
 *
 * Return: -ENOMEM if the device has no key of this length left; else as
 * mlx5_ib_mkey_table_create().
 */
int mlx5_ib_mkey_pool_send_create(struct mlx5_ib_dev *dev, u16 uid, void *in, size_t inlen,
				  u32 *key)
{
	unsigned int tries = 0;
	int err;

	do {
		err = mlx5_ib_mkey_table_create(dev, uid, in, inlen, key);
	} while (err == -ENOSPC && mlx5_ib_mkey_pool_make_way(dev, &tries));
	if (err != -ENOSPC)
		return err;
	report_limit(&dev->ib_dev,
		     "the device has no memory key left, or no room for one of this length: %s (%d) gets none\n",
		     current->comm, task_tgid_nr(current));
	return -ENOMEM;
}

static void mkey_pool_fill(struct mlx5_ib_dev *dev, u32 nmtts, u32 access, u32 *in)
{
	const struct mlx5_ib_mkc_attr attr = {
		.access = access,
		.pdn = mlx5_ib_umr_pdn(dev),
		.page_shift = MLX5_ADAPTER_PAGE_SHIFT,
		.room = nmtts,
		.free = true,
	};

	mlx5_ib_fill_create_mkey(in, &attr, &dev->caps);
}

/**
 * mlx5_ib_mkey_pool_create - have firmware create a free key
 * @dev: device with a UMR queue pair
 * @nmtts: translation entries that the key gets room for
 * @access: enum ib_access_flags; only the flags that the driver does not change by UMR matter
 * @key: gets the key, for UMR to fill
 *
 * May sleep.
 *
 * Return: as mlx5_ib_mkey_pool_send_create().
 */
int mlx5_ib_mkey_pool_create(struct mlx5_ib_dev *dev, u32 nmtts, u32 access, u32 *key)
{
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};

	mkey_pool_fill(dev, nmtts, access, in);
	return mlx5_ib_mkey_pool_send_create(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), key);
}

/**
 * mlx5_ib_mkey_pool_alloc - allocate a free key of a class
 * @dev: device with a pool
 * @class: number of the class, from 0
 * @key: gets the key
 *
 * From now on one more key of the class counts as in use, even if the class has no free key and the
 * caller has to create one. The count ends with mlx5_ib_mkey_pool_free(),
 * mlx5_ib_mkey_pool_forget(), or mlx5_ib_mkey_pool_keep() if it returns true. May sleep.
 *
 * Return: false if the class has no free key.
 */
bool mlx5_ib_mkey_pool_alloc(struct mlx5_ib_dev *dev, int class, u32 *key)
{
	struct mlx5_ib_mkey_pool *pool = dev->mkey_pool;
	struct mlx5_ib_mkey_class *mc = &pool->classes[class];
	u32 wanted, missing;
	bool found;

	scoped_guard(spinlock, &mc->lock) {
		mc->use.in_use++;
		mc->use.peak = max(mc->use.peak, mc->use.in_use);
		mc->use.shrunk = false;
		found = mkey_class_pop(mc, key);
		missing = mlx5_ib_mkey_pool_missing(class, &mc->use);
		/* Room for the free keys that the class wants once no region uses its keys. */
		wanted = mlx5_ib_mkey_pool_want(class, &(struct mlx5_ib_mkey_pool_use){
							.peak = mc->use.peak });
	}
	mkey_class_make_room(mc, wanted);
	if (missing)
		queue_work(system_dfl_wq, &pool->upkeep);
	return found;
}

/*
 * Whether a key in use should become a free key: not if UMR is gone, as only UMR fills free keys.
 */
static bool mkey_class_wants(struct mlx5_ib_mkey_pool *pool, struct mlx5_ib_mkey_class *mc)
{
	struct mlx5_ib_mkey_pool_use use = mc->use;

	lockdep_assert_held(&mc->lock);
	if (mlx5_ib_umr_is_gone(pool->dev))
		return false;
	use.in_use--;
	return use.free < mlx5_ib_mkey_pool_want(mc - pool->classes, &use);
}

/**
 * mlx5_ib_mkey_pool_wants - whether a key that is in use should become a free key
 * @dev: device with a pool
 * @class: number of the class, from 0
 *
 * Any context that can take a spinlock, except interrupts.
 *
 * Return: true if mlx5_ib_mkey_pool_keep() would keep a key of the class now, if there is room.
 */
bool mlx5_ib_mkey_pool_wants(struct mlx5_ib_dev *dev, int class)
{
	struct mlx5_ib_mkey_pool *pool = dev->mkey_pool;
	struct mlx5_ib_mkey_class *mc = &pool->classes[class];

	guard(spinlock)(&mc->lock);
	return mkey_class_wants(pool, mc);
}

/**
 * mlx5_ib_mkey_pool_keep - add a key to the free keys, if its class wants more of them
 * @dev: device with a pool
 * @class: as for mlx5_ib_mkey_pool_free()
 * @key: as for mlx5_ib_mkey_pool_free()
 *
 * Any context that can take a spinlock, except interrupts.
 *
 * Return: true if the pool has the key now, which then no longer counts as in use; otherwise
 * nothing has been done.
 */
bool mlx5_ib_mkey_pool_keep(struct mlx5_ib_dev *dev, int class, u32 key)
{
	struct mlx5_ib_mkey_pool *pool = dev->mkey_pool;
	struct mlx5_ib_mkey_class *mc = &pool->classes[class];

	scoped_guard(spinlock, &mc->lock) {
		if (!mkey_class_wants(pool, mc) || !mkey_class_push(mc, key))
			return false;
		WARN_ON_ONCE(!mc->use.in_use--);
	}
	queue_delayed_work(system_dfl_wq, &pool->ageing, AGEING_PERIOD);
	return true;
}

/**
 * mlx5_ib_mkey_pool_free - return a key to the pool, or destroy the key
 * @dev: device with a pool
 * @class: number of the key's class, from 0
 * @key: the key, which UMR has revoked and no lookup finds
 *
 * The pool keeps the key for the next region if the class wants more free keys. May sleep.
 */
void mlx5_ib_mkey_pool_free(struct mlx5_ib_dev *dev, int class, u32 key)
{
	if (mlx5_ib_mkey_pool_keep(dev, class, key))
		return;
	mlx5_ib_mkey_pool_forget(dev, class);
	mkey_class_discard(dev->mkey_pool, &dev->mkey_pool->classes[class], key);
}

/**
 * mlx5_ib_mkey_pool_forget - stop counting a key as in use, without adding it to the free keys
 * @dev: device, with a pool if @class is 0 or higher
 * @class: class of the key; nothing is done if @class is negative, which means no class of the pool
 *
 * Any context that can take a spinlock, except interrupts.
 */
void mlx5_ib_mkey_pool_forget(struct mlx5_ib_dev *dev, int class)
{
	if (class < 0)
		return;
	scoped_guard(spinlock, &dev->mkey_pool->classes[class].lock)
		WARN_ON_ONCE(!dev->mkey_pool->classes[class].use.in_use--);
	queue_delayed_work(system_dfl_wq, &dev->mkey_pool->ageing, AGEING_PERIOD);
}

/* ---- upkeep ---------------------------------------------------------------------- */

static bool mkey_pool_add_key(struct mlx5_ib_mkey_pool *pool, struct mlx5_ib_mkey_class *mc)
{
	u32 nmtts = mlx5_ib_mkey_pool_class_mtts(mc - pool->classes);
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	u32 key;

	/* Keys with special rights are not created in advance, see mlx5_ib_mkey_pool_missing(). */
	mkey_pool_fill(pool->dev, nmtts, 0, in);
	/*
	 * Not mlx5_ib_mkey_pool_send_create(): it would destroy free keys to make room for this
	 * key.
	 */
	if (mlx5_ib_mkey_table_create(pool->dev, MLX5_IB_KERNEL_UID, in, sizeof(in), &key))
		return false;
	scoped_guard(spinlock, &mc->lock)
		if (mkey_class_push(mc, key))
			return true;
	mkey_class_discard(pool, mc, key);
	return false;
}

static bool mkey_pool_remove_key(struct mlx5_ib_mkey_pool *pool, struct mlx5_ib_mkey_class *mc)
{
	u32 key;

	scoped_guard(spinlock, &mc->lock) {
		/*
		 * Decrement before mkey_class_pop(), which lowers the count if too few free keys
		 * are left.
		 */
		if (mc->to_destroy)
			mc->to_destroy--;
		else if (!mlx5_ib_mkey_pool_surplus(mc - pool->classes, &mc->use))
			return false;
		if (!mkey_class_pop(mc, &key))
			return false;
	}
	return mkey_class_discard(pool, mc, key);
}

/*
 * Create missing free keys, and destroy surplus free keys and those that the shrinker has marked.
 * If UMR is gone, no key is created. Free keys may stay: the device reaches nothing through them.
 */
static void mkey_pool_upkeep(struct work_struct *work)
{
	struct mlx5_ib_mkey_pool *pool = container_of(work, struct mlx5_ib_mkey_pool, upkeep);
	struct mlx5_ib_mkey_class *mc;
	u32 missing;

	for (mc = pool->classes; mc < mkey_pool_end(pool); mc++) {
		scoped_guard(spinlock, &mc->lock)
			missing = mlx5_ib_mkey_pool_missing(mc - pool->classes, &mc->use);
		while (missing-- && !mlx5_ib_umr_is_gone(pool->dev) && mkey_pool_add_key(pool, mc))
			cond_resched();
		while (mkey_pool_remove_key(pool, mc))
			cond_resched();
	}
}

static void mkey_pool_age(struct work_struct *work)
{
	struct mlx5_ib_mkey_pool *pool = container_of(to_delayed_work(work),
						      struct mlx5_ib_mkey_pool, ageing);
	bool again = false, surplus = false;
	struct mlx5_ib_mkey_class *mc;

	for (mc = pool->classes; mc < mkey_pool_end(pool); mc++) {
		guard(spinlock)(&mc->lock);
		mc->use.peak = mlx5_ib_mkey_pool_age(&mc->use);
		again |= mc->use.peak > mc->use.in_use;
		surplus |= mlx5_ib_mkey_pool_surplus(mc - pool->classes, &mc->use);
	}
	if (surplus)
		queue_work(system_dfl_wq, &pool->upkeep);
	if (again)
		queue_delayed_work(system_dfl_wq, &pool->ageing, AGEING_PERIOD);
}

static unsigned long mkey_pool_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct mlx5_ib_mkey_pool *pool = shrinker->private_data;
	struct mlx5_ib_mkey_class *mc;
	unsigned long keys = 0;

	for (mc = pool->classes; mc < mkey_pool_end(pool); mc++)
		keys += READ_ONCE(mc->use.free);
	return keys ?: SHRINK_EMPTY;
}

/*
 * Mark free keys, which @upkeep then destroys: the shrinker must not send firmware commands itself,
 * since they allocate memory and take locks of mlx5_core. In each family the largest keys are
 * marked first, because they hold the most memory.
 */
static unsigned long mkey_pool_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct mlx5_ib_mkey_pool *pool = shrinker->private_data;
	struct mlx5_ib_mkey_class *mc;
	unsigned long to_destroy = 0;
	u32 n;
	int i;

	for (i = MLX5_IB_POOL_CLASSES; i-- && to_destroy < sc->nr_to_scan;) {
		mc = &pool->classes[i];
		guard(spinlock)(&mc->lock);
		n = min(mc->use.free - mc->to_destroy, sc->nr_to_scan - to_destroy);
		mc->to_destroy += n;
		to_destroy += n;
		if (!n)
			continue;
		/*
		 * Want no free keys for earlier demand (@peak), and create none ahead of demand
		 * (@shrunk).
		 */
		mc->use.peak = mc->use.in_use;
		mc->use.shrunk = true;
	}
	if (to_destroy)
		queue_work(system_dfl_wq, &pool->upkeep);
	return to_destroy ?: SHRINK_STOP;
}

static void mkey_pool_destroy(struct mlx5_ib_mkey_pool *pool)
{
	struct mlx5_ib_mkey_class *mc;

	if (!pool)
		return;
	if (pool->shrinker)
		shrinker_free(pool->shrinker);
	disable_delayed_work_sync(&pool->ageing);
	disable_work_sync(&pool->upkeep);
	for (mc = pool->classes; mc < mkey_pool_end(pool); mc++) {
		WARN_ON(mc->use.in_use && !pool->dev->kept);
		while (mc->use.free)
			mlx5_ib_mkey_table_discard(pool->dev, MLX5_IB_KERNEL_UID,
						   mc->keys[--mc->use.free]);
		kfree(mc->keys);
	}
	kfree(pool);
}

DEFINE_FREE(mkey_pool, struct mlx5_ib_mkey_pool *, mkey_pool_destroy(_T))

/**
 * mlx5_ib_init_mkey_pool - create the pool of free keys
 * @dev: device with a UMR queue pair, whose mutex first_use the caller holds
 *
 * The pool is empty before mlx5_ib_mkey_pool_start(). May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
VISIBLE_IF_KUNIT int mlx5_ib_init_mkey_pool(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_mkey_pool *pool __free(mkey_pool) = NULL;
	struct mlx5_ib_mkey_class *mc;

	lockdep_assert_held(&dev->first_use);
	pool = kzalloc_obj(*pool);
	if (!pool)
		return -ENOMEM;
	pool->dev = dev;
	INIT_WORK(&pool->upkeep, mkey_pool_upkeep);
	INIT_DELAYED_WORK(&pool->ageing, mkey_pool_age);
	for (mc = pool->classes; mc < mkey_pool_end(pool); mc++) {
		spin_lock_init(&mc->lock);
		mkey_class_make_room(mc, mlx5_ib_mkey_pool_want(mc - pool->classes, &mc->use));
	}
	pool->shrinker = shrinker_alloc(0, "bluebell-mkeys:%s", dev_name(dev->mdev->device));
	if (!pool->shrinker)
		return -ENOMEM;
	pool->shrinker->count_objects = mkey_pool_count;
	pool->shrinker->scan_objects = mkey_pool_scan;
	pool->shrinker->private_data = pool;
	shrinker_register(pool->shrinker);
	/* Pairs with mkey_pool_use(), mlx5_ib_mkey_pool_make_way() and mlx5_ib_devx_make_way(). */
	smp_store_release(&dev->mkey_pool, no_free_ptr(pool));
	return 0;
}

/**
 * mlx5_ib_mkey_pool_start - have the first free keys created, in the background
 * @dev: device with a pool
 *
 * Any context. KUnit suites replace this function by a stub, because other stubs take effect only
 * in the task of the suite, not in the work item.
 */
VISIBLE_IF_KUNIT void mlx5_ib_mkey_pool_start(struct mlx5_ib_dev *dev)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_mkey_pool_start, dev);
	queue_work(system_dfl_wq, &dev->mkey_pool->upkeep);
}

/* Whether an attempt to set up UMR has failed within the last RETRY_PERIOD. */
static bool mkey_pool_is_paused(const struct mlx5_ib_dev *dev)
{
	return READ_ONCE(dev->mkey_pool_err) &&
	       time_before(jiffies, READ_ONCE(dev->mkey_pool_retry));
}

static int mkey_pool_first_use(struct mlx5_ib_dev *dev)
{
	int err;

	lockdep_assert_held(&dev->first_use);
	if (dev->mkey_pool)
		return 0;
	err = (dev->umr ? 0 : mlx5_ib_init_umr(dev)) ?: mlx5_ib_init_mkey_pool(dev);
	if (!err)
		mlx5_ib_mkey_pool_start(dev);
	else if (!dev->mkey_pool_err)
		ibdev_warn(&dev->ib_dev,
			   "cannot set up UMR (%d): until a later attempt succeeds, memory is registered by slower firmware commands, and there is no on-demand paging\n",
			   err);
	WRITE_ONCE(dev->mkey_pool_retry, jiffies + RETRY_PERIOD);
	WRITE_ONCE(dev->mkey_pool_err, err);
	return err;
}

/* Set up UMR and the pool. Unless they are required, do not try again soon after a failure. */
static int mkey_pool_use(struct mlx5_ib_dev *dev, bool required)
{
	int err;

	/* Pairs with mlx5_ib_init_mkey_pool(). */
	if (smp_load_acquire(&dev->mkey_pool))
		return 0;
	if (!mlx5_ib_has_umr(&dev->caps))
		return -EOPNOTSUPP;
	if (!required && mkey_pool_is_paused(dev))
		return -EAGAIN;
	ACQUIRE(mutex_kill, lock)(&dev->first_use);
	err = ACQUIRE_ERR(mutex_kill, &lock);
	if (err)
		return err;
	/* The task that had the mutex may have failed: the tasks that waited do not try again. */
	if (!required && mkey_pool_is_paused(dev))
		return -EAGAIN;
	return mkey_pool_first_use(dev);
}

/**
 * mlx5_ib_use_mkey_pool - set up UMR and the pool of free keys, unless that has been done
 * @dev: device
 *
 * What has been set up stays until the device is removed. If something is not set up yet, the
 * function takes the mutex first_use, allocates memory, and may sleep.
 *
 * Return: 0; -EOPNOTSUPP for a device without UMR; -ENOMEM; -EINTR if the task is being killed; or
 * the errno of a failed firmware command.
 */
int mlx5_ib_use_mkey_pool(struct mlx5_ib_dev *dev)
{
	return mkey_pool_use(dev, true);
}

/**
 * mlx5_ib_try_mkey_pool - set up UMR and the pool, for a caller that can use firmware commands
 *	instead
 * @dev: device
 *
 * As mlx5_ib_use_mkey_pool(), but after a failure of any task the function sends no commands for a
 * second, even if the caller has waited for that task. May sleep.
 *
 * Return: as mlx5_ib_use_mkey_pool(); -EAGAIN within a second after a failure.
 */
int mlx5_ib_try_mkey_pool(struct mlx5_ib_dev *dev)
{
	return mkey_pool_use(dev, false);
}

/**
 * mlx5_ib_cleanup_mkey_pool - destroy the free keys, and free the pool, if there is one
 * @dev: device, none of whose regions is left
 */
void mlx5_ib_cleanup_mkey_pool(struct mlx5_ib_dev *dev)
{
	mkey_pool_destroy(dev->mkey_pool);
	dev->mkey_pool = NULL;
}
