// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the pool of free memory keys at work, on a device that executes UMRs: keys that
 * are created, kept, aged, refused and destroyed. The cases run the pool's work items themselves,
 * because static stubs take effect only in the test's own task.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/mman.h>
#include <linux/scatterlist.h>
#include <linux/shrinker.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "devx/devx_obj.h"
#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_mkey.h"
#include "lib/fail_alloc.h"
#include "lib/locks.h"
#include "lib/mkey.h"
#include "lib/mkey_pool.h"
#include "lib/mock_hca.h"
#include "lib/orphan.h"
#include "lib/share.h"
#include "lib/umr.h"
#include "verbs/mr.h"
#include "verbs/ucontext.h"

/* Number of free keys that the pool keeps, in all classes, when no region uses a key. */
#define READY_KEYS	34
#define MANY		40
/* More pages than fit into the WQE of a UMR. */
#define LIST_PAGES	24
#define MAGIC		0x6c69737400000000ULL

/**
 * struct pool_env - a device with the driver's own pool
 * @mock: the device
 * @hca: the part of the device that executes UMRs
 * @dev: the device, as the driver knows it
 * @others: keys that are not of the pool
 */
struct pool_env {
	struct mock *mock;
	struct mock_hca *hca;
	struct mlx5_ib_dev *dev;
	unsigned int others;
};

/* A device whose UMR queue pair has not been created yet. */
static struct pool_env *make_bare_env(struct kunit *test)
{
	struct pool_env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->mock = mock_create(test);
	env->hca = mock_hca_create(env->mock);
	env->dev = env->mock->dev;
	return env;
}

/* Work items that are queued from now on do not run. */
static void hold_works(struct pool_env *env)
{
	disable_work_sync(&env->dev->mkey_pool->upkeep);
	disable_delayed_work_sync(&env->dev->mkey_pool->ageing);
}

static struct pool_env *make_env(struct kunit *test)
{
	struct pool_env *env = make_bare_env(test);
	int err;

	mock_hca_start(env->hca);
	mlx5_ib_cleanup_mkey_pool(env->dev);
	env->others = env->mock->num_live[MOCK_MKEY];
	scoped_guard(mutex, &env->dev->first_use)
		err = mlx5_ib_init_mkey_pool(env->dev);
	KUNIT_ASSERT_EQ(test, err, 0);
	hold_works(env);
	return env;
}

static void run_upkeep(struct pool_env *env)
{
	env->dev->mkey_pool->upkeep.func(&env->dev->mkey_pool->upkeep);
}

static void run_ageing(struct pool_env *env)
{
	env->dev->mkey_pool->ageing.work.func(&env->dev->mkey_pool->ageing.work);
}

static unsigned int pool_keys(struct pool_env *env)
{
	return env->mock->num_live[MOCK_MKEY] - env->others;
}

/* Take keys of the smallest class, from the pool, or from firmware if the pool has none. */
static void take(struct kunit *test, struct pool_env *env, u32 *keys, int num)
{
	int i;

	for (i = 0; i < num; i++)
		if (!mlx5_ib_mkey_pool_alloc(env->dev, 0, &keys[i]))
			KUNIT_ASSERT_EQ(test, 0, mlx5_ib_mkey_pool_create(env->dev, 8, 0,
									  &keys[i]));
}

static void give(struct pool_env *env, const u32 *keys, int num)
{
	while (num--)
		mlx5_ib_mkey_pool_free(env->dev, 0, *keys++);
}

/*
 * The device reads the list of a region by DMA if the pages do not fit into the WQE of a UMR. The
 * device has no pages larger than the host's, which would make the list shorter.
 */
static void long_list_is_where_the_device_reads(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_pd pd = { .ibpd.device = &env->dev->ib_dev };
	unsigned long mem, i;
	struct ib_mr *mr;
	u64 entry;

	mem = kunit_vm_mmap(test, NULL, 0, LIST_PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, 0);
	KUNIT_ASSERT_NE(test, mem, 0);
	for (i = 0; i < LIST_PAGES; i++)
		KUNIT_ASSERT_EQ(test, put_user(MAGIC + i, (u64 __user *)(mem + i * PAGE_SIZE)), 0);
	MOCK_SET_CAP_OF(&env->dev->caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2,
			max_mkey_log_entity_size_mtt, PAGE_SHIFT);
	run_upkeep(env);
	env->mock->num_commands = 0;
	mr = mlx5_ib_reg_user_mr(&pd.ibpd, mem, LIST_PAGES * PAGE_SIZE, mem,
				 IB_ACCESS_LOCAL_WRITE, NULL, mock_udata(env->mock, NULL, 0, 0));
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	for (i = 0; i < LIST_PAGES; i++) {
		entry = mock_hca_translate(env->hca, mr->lkey, mem + i * PAGE_SIZE);
		KUNIT_ASSERT_NE(test, entry, 0);
		KUNIT_EXPECT_EQ(test, *(u64 *)phys_to_virt(entry & PAGE_MASK), MAGIC + i);
	}
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
}

static void upkeep_makes_the_wanted_keys_ready(struct kunit *test)
{
	struct pool_env *env = make_env(test);

	KUNIT_EXPECT_EQ(test, pool_keys(env), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_free(env->hca), 0);
	run_upkeep(env);
	KUNIT_EXPECT_EQ(test, pool_keys(env), READY_KEYS);
	KUNIT_EXPECT_EQ(test, mock_hca_num_free(env->hca), READY_KEYS);
	run_upkeep(env);
	KUNIT_EXPECT_EQ(test, pool_keys(env), READY_KEYS);
}

/*
 * The array of free keys has room for five, as if there had been no memory for a larger array.
 * KASAN reports a key behind the end of the array.
 */
static void key_without_room_in_the_pool_is_destroyed(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey_class *mc = &env->dev->mkey_pool->classes[0];
	u32 keys[MANY];

	take(test, env, keys, MANY);
	KUNIT_ASSERT_EQ(test, mc->use.free, 0);
	KUNIT_ASSERT_GE(test, mc->room, MANY);
	kfree(mc->keys);
	mc->keys = kmalloc_array(5, sizeof(*mc->keys), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mc->keys);
	mc->room = 5;
	give(env, keys, MANY);
	KUNIT_EXPECT_EQ(test, mc->use.free, 5);
	KUNIT_EXPECT_EQ(test, mc->use.in_use, 0);
	KUNIT_EXPECT_EQ(test, pool_keys(env), 5);
	/* The pool has no room for the keys that upkeep creates either, so upkeep stops. */
	run_upkeep(env);
	KUNIT_EXPECT_EQ(test, mc->use.free, 5);
	/* The next demand makes room again. */
	take(test, env, keys, MANY);
	KUNIT_EXPECT_GE(test, mc->room, MANY);
	give(env, keys, MANY);
	KUNIT_EXPECT_EQ(test, mc->use.free, MANY);
}

static void ageing_destroys_keys_that_no_region_needs(struct kunit *test)
{
	static const unsigned int kept[] = { 28, 18, 16, 16 };
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey_class *mc = &env->dev->mkey_pool->classes[0];
	struct delayed_work *ageing = &env->dev->mkey_pool->ageing;
	u32 keys[MANY];
	int i;

	take(test, env, keys, MANY);
	give(env, keys, MANY);
	KUNIT_EXPECT_EQ(test, mc->use.free, MANY);
	enable_delayed_work(ageing);
	for (i = 0; i < ARRAY_SIZE(kept); i++) {
		run_ageing(env);
		run_upkeep(env);
		KUNIT_EXPECT_EQ_MSG(test, mc->use.free, kept[i], "after %d periods", i + 1);
		/* The ageing goes on as long as there is past demand. */
		KUNIT_EXPECT_TRUE(test, cancel_delayed_work_sync(ageing));
	}
	KUNIT_EXPECT_EQ(test, mc->use.peak, 2);
	run_ageing(env);
	run_ageing(env);
	KUNIT_EXPECT_EQ(test, mc->use.peak, 0);
	cancel_delayed_work_sync(ageing);
	run_ageing(env);
	KUNIT_EXPECT_FALSE(test, cancel_delayed_work_sync(ageing));
	disable_delayed_work_sync(ageing);
	run_upkeep(env);
	KUNIT_EXPECT_EQ(test, pool_keys(env), READY_KEYS);
}

static int num_upkeeps;

static void count_upkeep(struct work_struct *work)
{
	num_upkeeps++;
}

/* Ageing only finds that keys are too many: upkeep, which has to be queued, destroys them. */
static void ageing_starts_upkeep_if_keys_are_too_many(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct work_struct *upkeep = &env->dev->mkey_pool->upkeep;
	work_func_t func = upkeep->func;
	u32 keys[MANY];

	take(test, env, keys, MANY);
	num_upkeeps = 0;
	upkeep->func = count_upkeep;
	enable_work(upkeep);
	run_ageing(env);
	flush_work(upkeep);
	KUNIT_EXPECT_EQ(test, num_upkeeps, 0);
	give(env, keys, MANY);
	flush_work(upkeep);
	num_upkeeps = 0;
	run_ageing(env);
	flush_work(upkeep);
	KUNIT_EXPECT_EQ(test, num_upkeeps, 1);
	disable_work_sync(upkeep);
	upkeep->func = func;
}

/* Without UMR no region can use free keys. Keys of deregistered regions are destroyed at once. */
static void keys_age_without_umr(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct delayed_work *ageing = &env->dev->mkey_pool->ageing;
	struct mlx5_ib_mkey_class *mc = &env->dev->mkey_pool->classes[0];
	u32 keys[MANY];
	int i;

	take(test, env, keys, MANY);
	give(env, keys, MANY / 2);
	KUNIT_EXPECT_EQ(test, mc->use.free, MANY / 2);
	mlx5_ib_abort_umr(env->dev);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_pool_choose_class(env->dev, 1, 0),
			MLX5_IB_CLASS_FIRMWARE);
	enable_delayed_work(ageing);
	give(env, keys + MANY / 2, MANY / 2);
	KUNIT_EXPECT_EQ(test, pool_keys(env), MANY / 2);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(ageing));
	disable_delayed_work_sync(ageing);
	for (i = 0; i < 10; i++) {
		run_ageing(env);
		run_upkeep(env);
	}
	KUNIT_EXPECT_EQ(test, mc->use.peak, 0);
	/* The number of keys that the class keeps when no region uses it. */
	KUNIT_EXPECT_EQ(test, pool_keys(env), 16);
}

static void keys_are_counted_under_the_lock_of_their_class(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct shrinker *shrinker = env->dev->mkey_pool->shrinker;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nr_to_scan = 1 << 20 };
	struct mlx5_ib_mkey_class *mc = &env->dev->mkey_pool->classes[0];
	u32 keys[2];

	EXPECT_TAKES_LOCK(test, &mc->lock, mlx5_ib_mkey_pool_alloc(env->dev, 0, &keys[0]));
	EXPECT_TAKES_LOCK(test, &mc->lock, mlx5_ib_mkey_pool_forget(env->dev, 0));
	take(test, env, keys, 2);
	EXPECT_TAKES_LOCK(test, &mc->lock, mlx5_ib_mkey_pool_keep(env->dev, 0, keys[0]));
	EXPECT_TAKES_LOCK(test, &mc->lock, run_ageing(env));
	EXPECT_TAKES_LOCK(test, &mc->lock, shrinker->scan_objects(shrinker, &sc));
	give(env, &keys[1], 1);
}

static void upkeep_creates_keys_that_firmware_has_refused(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey_class *mc = &env->dev->mkey_pool->classes[0];

	env->mock->refuse = env->mock->num_commands + 1;
	run_upkeep(env);
	env->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, mc->use.free, 0);
	run_upkeep(env);
	KUNIT_EXPECT_EQ(test, pool_keys(env), READY_KEYS);
}

static void keys_stay_in_the_pool_until_firmware_destroys_them(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey_class *mc = &env->dev->mkey_pool->classes[0];
	u32 keys[MANY];

	run_upkeep(env);
	take(test, env, keys, MANY);
	give(env, keys, MANY);
	run_ageing(env);
	env->mock->refuse_destroy = true;
	run_upkeep(env);
	KUNIT_EXPECT_EQ(test, mc->use.free, MANY);
	env->mock->refuse_destroy = false;
	run_upkeep(env);
	KUNIT_EXPECT_EQ(test, mc->use.free, 28);
	KUNIT_EXPECT_EQ(test, pool_keys(env), mock_hca_num_free(env->hca));
}

/* A region that got such a key would get a key that is gone, or another process's. */
static void key_that_may_be_gone_leaves_the_pool(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey_class *mc = &env->dev->mkey_pool->classes[0];
	unsigned int num, num_free;
	u32 keys[MANY];

	run_upkeep(env);
	take(test, env, keys, MANY);
	give(env, keys, MANY);
	run_ageing(env);
	num = pool_keys(env);
	num_free = mc->use.free;
	env->mock->lose_destroy = true;
	run_upkeep(env);
	env->mock->lose_destroy = false;
	KUNIT_EXPECT_LT(test, pool_keys(env), num);
	KUNIT_EXPECT_EQ(test, num_free - mc->use.free, num - pool_keys(env));
}

static void shrinker_counts_each_key_once(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct shrinker *shrinker = env->dev->mkey_pool->shrinker;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nr_to_scan = 1 << 20 };

	KUNIT_EXPECT_EQ(test, shrinker->count_objects(shrinker, &sc), SHRINK_EMPTY);
	run_upkeep(env);
	KUNIT_EXPECT_EQ(test, shrinker->count_objects(shrinker, &sc), READY_KEYS);
	KUNIT_EXPECT_EQ(test, shrinker->scan_objects(shrinker, &sc), READY_KEYS);
	/* All keys are marked for destruction already. */
	KUNIT_EXPECT_EQ(test, shrinker->scan_objects(shrinker, &sc), SHRINK_STOP);
}

/* The shrinker has freed keys because memory is short: new keys would take the memory again. */
static void upkeep_creates_no_keys_in_place_of_those_that_memory_needs(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey_class *mc = &env->dev->mkey_pool->classes[0];
	struct shrinker *shrinker = env->dev->mkey_pool->shrinker;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nr_to_scan = 5 };
	unsigned int left = READY_KEYS;
	u32 key;

	run_upkeep(env);
	while (left) {
		sc.nr_to_scan = min(left, 5);
		KUNIT_ASSERT_EQ(test, shrinker->scan_objects(shrinker, &sc), sc.nr_to_scan);
		left -= sc.nr_to_scan;
		run_upkeep(env);
		KUNIT_ASSERT_EQ(test, pool_keys(env), left);
	}
	run_upkeep(env);
	KUNIT_EXPECT_EQ(test, pool_keys(env), 0);
	KUNIT_EXPECT_EQ(test, shrinker->count_objects(shrinker, &sc), SHRINK_EMPTY);
	/* A region needs a key of the smallest class, so more of this class may be needed. */
	take(test, env, &key, 1);
	run_upkeep(env);
	KUNIT_EXPECT_EQ(test, mc->use.free, 8);
	KUNIT_EXPECT_EQ(test, pool_keys(env), 9);
	give(env, &key, 1);
}

/* A region takes a key that a scan has marked to be destroyed, and gives it back unmarked. */
static void key_that_is_taken_after_a_scan_is_not_destroyed(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey_class *mc = &env->dev->mkey_pool->classes[0];
	struct shrinker *shrinker = env->dev->mkey_pool->shrinker;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nr_to_scan = 1 << 20 };
	u32 keys[20];

	run_upkeep(env);
	KUNIT_ASSERT_EQ(test, shrinker->scan_objects(shrinker, &sc), READY_KEYS);
	/* All 16 free keys of the class, and four new ones. */
	take(test, env, keys, 20);
	KUNIT_EXPECT_EQ(test, shrinker->count_objects(shrinker, &sc), READY_KEYS - 16);
	KUNIT_EXPECT_EQ(test, shrinker->scan_objects(shrinker, &sc), SHRINK_STOP);
	give(env, keys, 20);
	KUNIT_EXPECT_EQ(test, mc->use.free, 20);
	/* A scan marks only as many keys as it is asked for. */
	sc.nr_to_scan = 5;
	KUNIT_EXPECT_EQ(test, shrinker->scan_objects(shrinker, &sc), 5);
	KUNIT_EXPECT_EQ(test, mc->to_destroy, 5);
	sc.nr_to_scan = 1 << 20;
	KUNIT_EXPECT_EQ(test, shrinker->scan_objects(shrinker, &sc), 15);
	take(test, env, keys, 1);
	KUNIT_EXPECT_EQ(test, shrinker->scan_objects(shrinker, &sc), SHRINK_STOP);
	run_upkeep(env);
	KUNIT_EXPECT_EQ(test, pool_keys(env), 1);
	KUNIT_EXPECT_EQ(test, mock_hca_num_free(env->hca), 0);
	give(env, keys, 1);
	KUNIT_EXPECT_EQ(test, mc->use.free, 1);
}

static bool umr_is_stuck(struct mlx5_ib_dev *dev)
{
	return true;
}

static unsigned int num_kept;

static void keep_list(struct mlx5_ib_dev *dev, void *buffer, dma_addr_t dma, size_t bytes,
		      mlx5_ib_free_buffer_t free)
{
	num_kept++;
	dma_unmap_single(dev->dma_device, dma, bytes, DMA_TO_DEVICE);
	free(buffer);
}

/* The UMR fails. In the second round its queue pair cannot be stopped, and so may read the list. */
static void list_that_the_device_may_read_is_kept(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_pd pd = { .ibpd.device = &env->dev->ib_dev };
	unsigned int stuck;
	unsigned long mem;
	struct ib_mr *mr;

	mem = kunit_vm_mmap(test, NULL, 0, LIST_PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, 0);
	KUNIT_ASSERT_NE(test, mem, 0);
	MOCK_SET_CAP_OF(&env->dev->caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2,
			max_mkey_log_entity_size_mtt, PAGE_SHIFT);
	kunit_activate_static_stub(test, mlx5_ib_orphan_keep, keep_list);
	for (stuck = 0; stuck < 2; stuck++) {
		run_upkeep(env);
		num_kept = 0;
		if (stuck)
			kunit_activate_static_stub(test, mlx5_ib_umr_is_stuck, umr_is_stuck);
		env->hca->how = MOCK_NOT_EXECUTED;
		env->hca->fail = env->hca->num_requests + 1;
		/* Firmware creates the key instead. */
		mr = mlx5_ib_reg_user_mr(&pd.ibpd, mem, LIST_PAGES * PAGE_SIZE, mem,
					 IB_ACCESS_LOCAL_WRITE, NULL,
					 mock_udata(env->mock, NULL, 0, 0));
		KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
		KUNIT_EXPECT_EQ(test, num_kept, stuck);
		if (stuck)
			kunit_deactivate_static_stub(test, mlx5_ib_umr_is_stuck);
		env->hca->fail = 0;
		KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	}
}

/* ---- keys with an owner ----------------------------------------------------------------- */

static int create_for(struct pool_env *env, struct mlx5_ib_ucontext *context,
		      struct mlx5_ib_mkey *mkey)
{
	struct mlx5_ib_mkc_attr attr = {
		.access = IB_ACCESS_LOCAL_WRITE, .pdn = 5, .length = 8 * PAGE_SIZE,
		.page_shift = PAGE_SHIFT, .nmtts = 8,
	};

	*mkey = (struct mlx5_ib_mkey){};
	return mlx5_ib_mkey_create_mtts(env->dev, context, mkey, NULL, &attr);
}

static int create(struct pool_env *env, struct mlx5_ib_mkey *mkey)
{
	return create_for(env, NULL, mkey);
}

static void key_that_umr_revokes_returns_to_the_pool_once(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey_class *mc = &env->dev->mkey_pool->classes[0];
	struct mlx5_ib_mkey mkey;

	run_upkeep(env);
	KUNIT_ASSERT_EQ(test, create(env, &mkey), 0);
	KUNIT_EXPECT_EQ(test, mc->use.in_use, 1);
	mlx5_ib_mkey_revoke(env->dev, &mkey);
	KUNIT_EXPECT_TRUE(test, mkey.revoked);
	KUNIT_EXPECT_EQ(test, mc->use.in_use, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
	KUNIT_EXPECT_EQ(test, mc->use.in_use, 0);
	KUNIT_EXPECT_EQ(test, mc->use.free, 16);
}

/* The pool has enough keys, and firmware refuses to destroy a key that UMR has revoked. */
static void key_that_nobody_wants_stays_free_if_it_cannot_be_destroyed(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkc_attr attr = {
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_RELAXED_ORDERING, .pdn = 5,
		.length = 8 * PAGE_SIZE, .page_shift = PAGE_SHIFT, .nmtts = 8,
	};
	struct mlx5_ib_mkey mkeys[2] = {};
	struct mlx5_ib_mkey_class *mc;
	unsigned int i;

	/* The pool keeps no key of this class ready before a region has needed one. */
	MOCK_SET_CAP(&env->dev->caps, relaxed_ordering_write, 1);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, 0, mlx5_ib_mkey_create_mtts(env->dev, NULL, &mkeys[i], NULL,
								  &attr));
	KUNIT_ASSERT_GT(test, mkeys[0].class, 0);
	mc = &env->dev->mkey_pool->classes[mkeys[0].class];
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkeys[0]), 0);
	KUNIT_EXPECT_EQ(test, mc->use.free, 1);
	run_ageing(env);
	env->mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkeys[1]), 0);
	KUNIT_EXPECT_EQ(test, mc->use.in_use, 0);
	KUNIT_EXPECT_EQ(test, mc->use.free, 2);
	env->mock->refuse_destroy = false;
	run_upkeep(env);
	KUNIT_EXPECT_EQ(test, mc->use.free, 1);
	KUNIT_EXPECT_EQ(test, pool_keys(env), mock_hca_num_free(env->hca));
}

/* UMR fails to revoke the key, so firmware destroys it. */
static void key_that_firmware_destroys_leaves_the_pool_once(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey_class *mc = &env->dev->mkey_pool->classes[0];
	struct mlx5_ib_mkey mkey;

	run_upkeep(env);
	KUNIT_ASSERT_EQ(test, create(env, &mkey), 0);
	env->hca->fail = env->hca->num_requests + 1;
	env->hca->how = MOCK_NOT_EXECUTED;
	mlx5_ib_mkey_revoke(env->dev, &mkey);
	KUNIT_EXPECT_TRUE(test, mkey.destroyed);
	KUNIT_EXPECT_EQ(test, mc->use.in_use, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
	KUNIT_EXPECT_EQ(test, mc->use.in_use, 0);
	KUNIT_EXPECT_EQ(test, mc->use.free, 15);
	KUNIT_EXPECT_EQ(test, pool_keys(env), mock_hca_num_free(env->hca));
}

static void key_that_is_not_created_is_not_counted(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey_class *mc = &env->dev->mkey_pool->classes[0];
	struct mlx5_ib_mkey mkey;

	run_upkeep(env);
	/* Destroy the free keys of the class. */
	while (mc->use.free)
		mlx5_ib_mkey_table_discard(env->dev, 0, mc->keys[--mc->use.free]);
	env->mock->refuse = env->mock->num_commands + 1;
	KUNIT_EXPECT_EQ(test, create(env, &mkey), env->mock->refuse_err);
	KUNIT_EXPECT_EQ(test, mc->use.in_use, 0);
}

/* A key counts for its user while a region has it, whether UMR or firmware then frees the key. */
static void free_key_counts_for_no_user(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_fw_batch *commands = mlx5_ib_fw_batch_alloc(env->dev);
	struct mlx5_ib_mkey_batch *batch = mlx5_ib_mkey_batch_alloc(env->dev, commands);
	struct mlx5_ib_ucontext *context = env->mock->context;
	struct mlx5_ib_mkey mkeys[3], more;
	unsigned int i, num;
	atomic_t *count;

	KUNIT_ASSERT_NOT_NULL(test, commands);
	KUNIT_ASSERT_NOT_NULL(test, batch);
	env->dev->users->limit[MLX5_IB_SHARE_MKEY] = ARRAY_SIZE(mkeys);
	count = &mock_give_user(env->mock)[MLX5_IB_SHARE_MKEY];
	run_upkeep(env);
	for (i = 0; i < ARRAY_SIZE(mkeys); i++)
		KUNIT_EXPECT_EQ(test, create_for(env, context, &mkeys[i]), 0);
	num = env->mock->num_commands;
	KUNIT_EXPECT_EQ(test, create_for(env, context, &more), -ENOMEM);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, num);
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(env->hca), ARRAY_SIZE(mkeys));
	/* The pool gets one key by itself and one in a batch; firmware destroys the third. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkeys[0]), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 2);
	mlx5_ib_mkey_destroy_early(batch, &mkeys[1]);
	/* A second call for a key does nothing. */
	mlx5_ib_mkey_destroy_early(batch, &mkeys[1]);
	mlx5_ib_mkey_batch_wait(batch);
	KUNIT_EXPECT_TRUE(test, mkeys[1].destroyed);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 1);
	mlx5_ib_mkey_kill(env->dev, &mkeys[2]);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkeys[2]), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(env->hca), 0);
	mock_drop_user(env->mock);
	kfree(batch);
	mlx5_ib_fw_batch_free(commands);
}

/* Pinned memory of @length bytes, in one piece. Its DMA address is made up. */
static void pin(struct ib_umem *umem, struct scatterlist *sgl, size_t length)
{
	sg_init_table(sgl, 1);
	sg_dma_address(sgl) = SZ_1M;
	sg_dma_len(sgl) = length;
	umem->length = length;
	umem->sgt_append.sgt.sgl = sgl;
	umem->sgt_append.sgt.nents = 1;
	umem->sgt_append.sgt.orig_nents = 1;
}

/* Create a key over pinned memory. */
static int create_pinned(struct pool_env *env, struct mlx5_ib_mkey *mkey)
{
	struct mlx5_ib_mkc_attr attr = {
		.access = IB_ACCESS_LOCAL_WRITE, .pdn = 5, .length = 8 * PAGE_SIZE,
		.page_shift = PAGE_SHIFT, .nmtts = 8,
	};
	struct ib_umem umem = {};
	struct scatterlist sgl;

	pin(&umem, &sgl, attr.length);
	*mkey = (struct mlx5_ib_mkey){};
	return mlx5_ib_mkey_create_mtts(env->dev, NULL, mkey, &umem, &attr);
}

/*
 * UMR fails to fill a free key, which may translate to the memory now, and firmware keeps the key.
 */
static void key_that_may_reach_memory_is_replaced_or_reported(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey mkey = {};

	/* The next UMR revokes the key, and the region gets another key in its place. */
	KUNIT_ASSERT_EQ(test, create_pinned(env, &mkey), 0);
	KUNIT_ASSERT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
	env->mock->refuse_destroy = true;
	env->hca->fail = env->hca->num_requests + 1;
	env->hca->how = MOCK_NOT_EXECUTED;
	KUNIT_EXPECT_EQ(test, create_pinned(env, &mkey), 0);
	env->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
	env->hca->stuck++;

	/* No further UMR can revoke the key: the memory has to stay pinned. */
	KUNIT_ASSERT_EQ(test, create_pinned(env, &mkey), 0);
	KUNIT_ASSERT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
	env->mock->refuse_destroy = true;
	env->hca->fail = env->hca->num_requests + 1;
	env->hca->how = MOCK_STOPPED;
	KUNIT_EXPECT_EQ(test, create_pinned(env, &mkey), -ENOTRECOVERABLE);
	env->hca->stuck++;
	env->hca->stopped = false;

	/* Firmware does not answer, so the key may be gone, and no further UMR names the key. */
	env->mock->refuse_destroy = false;
	KUNIT_ASSERT_EQ(test, create_pinned(env, &mkey), 0);
	KUNIT_ASSERT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
	env->mock->lose_destroy = true;
	env->hca->fail = env->hca->num_requests + 1;
	env->hca->how = MOCK_NOT_EXECUTED;
	KUNIT_EXPECT_EQ(test, create_pinned(env, &mkey), -ENOTRECOVERABLE);
	KUNIT_EXPECT_EQ(test, env->hca->num_requests, env->hca->fail);
	env->mock->lose_destroy = false;
}

/*
 * UMR has filled the key, or has not, before it failed, so the key has its new or its old variant.
 * Each UMR that names the key by the other variant fails, and the queue pair is restarted.
 */
static void key_of_unknown_variant_is_revoked(struct kunit *test)
{
	static const enum mock_failure how[] = { MOCK_NOT_EXECUTED, MOCK_EXECUTED };
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey mkey = {};
	unsigned int i;

	env->hca->restarts = true;
	for (i = 0; i < ARRAY_SIZE(how); i++) {
		KUNIT_ASSERT_EQ(test, create_pinned(env, &mkey), 0);
		KUNIT_ASSERT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
		env->mock->refuse_destroy = true;
		env->hca->fail = env->hca->num_requests + 1;
		env->hca->how = how[i];
		KUNIT_EXPECT_EQ_MSG(test, create_pinned(env, &mkey), 0, "failure %u", i);
		env->mock->refuse_destroy = false;
		env->hca->stuck++;
		/* The device reaches the memory through the new key of the region only. */
		KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_pages(env->hca), 8, "failure %u", i);
		KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
		KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_pages(env->hca), 0, "failure %u", i);
	}
}

/* Two pages of the host have room for the list. If memory is short, UMR uses one page, twice. */
static void long_list_is_written_in_parts_if_memory_is_short(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkc_attr attr = {
		.access = IB_ACCESS_LOCAL_WRITE, .pdn = 5, .page_shift = PAGE_SHIFT,
		.nmtts = 2 * PAGE_SIZE / sizeof(__be64), .variant = 1,
	};
	struct ib_umem umem = {};
	struct scatterlist sgl;
	unsigned int before;
	bool short_of;
	u32 key;

	attr.length = (u64)attr.nmtts * PAGE_SIZE;
	pin(&umem, &sgl, attr.length);
	fail_alloc_init(test);
	KUNIT_ASSERT_EQ(test, mlx5_ib_mkey_pool_create(env->dev, attr.nmtts, attr.access, &key),
			0);
	before = env->hca->num_requests;
	fail_alloc_begin(1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_reg(env->dev, &umem, &attr, key), 0);
	short_of = fail_alloc_end();
	KUNIT_EXPECT_TRUE(test, short_of);
	KUNIT_EXPECT_EQ(test, env->hca->num_requests - before, 2);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), attr.nmtts);
	KUNIT_EXPECT_EQ(test, mock_hca_dma_addr(env->hca, (key & ~0xff) | 1,
						attr.length - PAGE_SIZE),
			SZ_1M + attr.length - PAGE_SIZE);
	mlx5_ib_mkey_table_discard(env->dev, 0, key);
}

/* Create a key whose number the pool had. */
static void create_from_pool(struct kunit *test, struct pool_env *env, struct mlx5_ib_mkey *mkey)
{
	KUNIT_ASSERT_EQ(test, create(env, mkey), 0);
	KUNIT_ASSERT_EQ(test, mlx5_ib_mkey_destroy(env->dev, mkey), 0);
	*mkey = (struct mlx5_ib_mkey){};
	KUNIT_ASSERT_EQ(test, create(env, mkey), 0);
	KUNIT_ASSERT_GE(test, mkey->class, 0);
}

/* UMR would revoke a key that has windows, and the next region would have them, too. */
static void key_of_the_pool_is_not_given_windows(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey mkey = {};
	unsigned int num;

	create_from_pool(test, env, &mkey);
	num = env->hca->num_requests;
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_change(env->dev, &mkey, 0, IB_ACCESS_MW_BIND, 9),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, env->hca->num_requests, num);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_change(env->dev, &mkey, 0, 0, 9), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
}

/* A revoked key is in the PD of free keys. Only a new region moves the key to another PD. */
static void revoked_key_is_given_no_rights(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey mkey = {};
	unsigned int num;

	create_from_pool(test, env, &mkey);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_change(env->dev, &mkey, 0, IB_ACCESS_REMOTE_READ, 9), 0);
	KUNIT_ASSERT_EQ(test, mlx5_ib_mkey_umr_revoke(env->dev, &mkey), 0);
	num = env->hca->num_requests;
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_change(env->dev, &mkey, 0, IB_ACCESS_REMOTE_READ, 9),
			-EIO);
	KUNIT_EXPECT_EQ(test, env->hca->num_requests, num);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
}

/* UMR fails to revoke the key of a region, and firmware destroys the key without an answer. */
static void key_that_may_be_gone_is_named_in_no_umr(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey_class *mc = &env->dev->mkey_pool->classes[0];
	struct mlx5_ib_mkey mkey;

	KUNIT_ASSERT_EQ(test, create(env, &mkey), 0);
	KUNIT_ASSERT_EQ(test, mkey.class, 0);
	env->mock->lose_destroy = true;
	env->hca->fail = env->hca->num_requests + 1;
	env->hca->how = MOCK_NOT_EXECUTED;
	mlx5_ib_mkey_revoke(env->dev, &mkey);
	KUNIT_EXPECT_FALSE(test, mkey.destroyed);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_change(env->dev, &mkey, 0, IB_ACCESS_REMOTE_READ, 9),
			-EIO);
	mlx5_ib_mkey_revoke(env->dev, &mkey);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), -ETIMEDOUT);
	env->mock->lose_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
	KUNIT_EXPECT_EQ(test, env->hca->num_requests, env->hca->fail);
	KUNIT_EXPECT_EQ(test, mc->use.in_use, 0);
	KUNIT_EXPECT_EQ(test, mc->use.free, 0);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&env->dev->attempts.tree));
	/* If the test has failed, do not crash. */
	mlx5_ib_fw_attempt_forget(env->dev, &mkey.attempt);
}

/*
 * An offset of 16 bits does not reach all entries of a long list, with or without memory windows.
 */
static void firmware_fills_entries_that_umr_cannot_name(struct kunit *test)
{
	struct mlx5_ib_dev *dev = make_env(test)->dev;
	static const u32 access[] = { 0, IB_ACCESS_MW_BIND };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(access); i++) {
		MOCK_SET_CAP(&dev->caps, umr_extended_translation_offset, 0);
		KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_pool_choose_class(dev, BIT(17) + 1, access[i]),
				MLX5_IB_CLASS_FIRMWARE);
		KUNIT_EXPECT_NE(test, mlx5_ib_mkey_pool_choose_class(dev, BIT(17), access[i]),
				MLX5_IB_CLASS_FIRMWARE);
		MOCK_SET_CAP(&dev->caps, umr_extended_translation_offset, 1);
		KUNIT_EXPECT_NE(test, mlx5_ib_mkey_pool_choose_class(dev, BIT(17) + 1, access[i]),
				MLX5_IB_CLASS_FIRMWARE);
	}
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_pool_choose_class(dev, 1, IB_ACCESS_MW_BIND),
			MLX5_IB_CLASS_LONG);
}

/* There are no free keys yet that could make way for the third object of UMR, its key. */
static void umr_without_a_key_is_out_of_memory(struct kunit *test)
{
	struct pool_env *env = make_bare_env(test);
	struct mock *mock = env->mock;

	mock->num_commands = 0;
	mock->refuse = 3;
	mock->refuse_err = -ENOSPC;
	KUNIT_EXPECT_EQ(test, mlx5_ib_use_mkey_pool(env->dev), -ENOMEM);
	KUNIT_EXPECT_NULL(test, env->dev->umr);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* The next attempt uses the UMR queue pair that the first attempt has created. */
static void umr_is_kept_if_there_is_no_memory_for_the_pool(struct kunit *test)
{
	struct pool_env *env = make_bare_env(test);
	struct mlx5_ib_umr *umr;
	unsigned int live;

	fail_alloc_init(test);
	KUNIT_ASSERT_EQ(test, mock_init_umr(env->dev), 0);
	umr = env->dev->umr;
	live = mock_num_live(env->mock);
	fail_alloc_begin(1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_use_mkey_pool(env->dev), -ENOMEM);
	KUNIT_EXPECT_TRUE(test, fail_alloc_end());
	KUNIT_EXPECT_NULL(test, env->dev->mkey_pool);
	KUNIT_EXPECT_EQ(test, mlx5_ib_use_mkey_pool(env->dev), 0);
	hold_works(env);
	KUNIT_EXPECT_PTR_EQ(test, env->dev->umr, umr);
	KUNIT_EXPECT_EQ(test, mock_num_live(env->mock), live);
}

/* UMR is set up by the first registration. If it cannot be, firmware creates the key. */
static void failed_setup_of_umr_fails_no_registration(struct kunit *test)
{
	struct pool_env *env = make_bare_env(test);
	struct mock *mock = env->mock;
	struct mlx5_ib_mkey mkey;
	unsigned int n;

	/* Seven commands: for PD, CQ, key and QP, and for three changes of the QP's state. */
	for (n = 1; n <= 7; n++) {
		env->dev->mkey_pool_retry = jiffies;
		mock->num_commands = 0;
		mock->refuse = n;
		KUNIT_EXPECT_EQ_MSG(test, create(env, &mkey), 0, "refusal %u", n);
		KUNIT_EXPECT_EQ(test, mkey.class, MLX5_IB_CLASS_FIRMWARE);
		KUNIT_EXPECT_NULL(test, env->dev->umr);
		KUNIT_EXPECT_EQ_MSG(test, mock_num_live(mock), 1, "refusal %u", n);
		KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);

		/*
		 * So soon after the failure the next registration does not try to set UMR up, but
		 * paging does.
		 */
		mock->num_commands = 0;
		KUNIT_EXPECT_EQ(test, create(env, &mkey), n == 1 ? mock->refuse_err : 0);
		KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
		mock->refuse = 0;
		if (n > 1)
			KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
		mock->refuse = n;
		mock->num_commands = 0;
		KUNIT_EXPECT_EQ(test, mlx5_ib_use_mkey_pool(env->dev), mock->refuse_err);
	}
	mock->refuse = 0;
	KUNIT_ASSERT_EQ(test, mlx5_ib_use_mkey_pool(env->dev), 0);
	KUNIT_ASSERT_NOT_NULL(test, env->dev->mkey_pool);
	hold_works(env);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, create(env, &mkey), 0);
	KUNIT_EXPECT_GE(test, mkey.class, 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
}

/**
 * struct first_task - a task that has begun to set up UMR, and fails in the end
 * @dev: device
 * @work: the task
 * @begun: the task has the mutex
 */
struct first_task {
	struct mlx5_ib_dev *dev;
	struct work_struct work;
	struct completion begun;
};

/*
 * Set what mlx5_ib_use_mkey_pool() sets when it fails. The work item cannot call that function,
 * because static stubs have no effect in a work item.
 */
static void fail_slowly(struct work_struct *work)
{
	struct first_task *first = container_of(work, struct first_task, work);

	guard(mutex)(&first->dev->first_use);
	complete(&first->begun);
	/* Meanwhile the test comes to wait for the mutex. */
	msleep(100);
	WRITE_ONCE(first->dev->mkey_pool_retry, jiffies + HZ);
	WRITE_ONCE(first->dev->mkey_pool_err, -EIO);
}

/* UMR needs a protection domain, and firmware refuses to allocate one. */
static int fw_without_domains(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			      int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct mock *mock = kunit_get_current_test()->priv;

	if (MLX5_GET(alloc_pd_in, in, opcode) != MLX5_CMD_OP_ALLOC_PD)
		return mock_hca_fw(dev, uid, in, in_size, out, out_size, send, arg);
	mock->num_commands++;
	return -EIO;
}

/* If each of many registrations tried again, it would wait for the attempts of all others. */
static void registration_that_waited_for_a_failure_does_not_repeat_it(struct kunit *test)
{
	struct pool_env *env = make_bare_env(test);
	struct first_task first = { .dev = env->dev };
	struct mlx5_ib_mkey mkey;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_without_domains);
	INIT_WORK_ONSTACK(&first.work, fail_slowly);
	init_completion(&first.begun);
	schedule_work(&first.work);
	wait_for_completion(&first.begun);
	env->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, create(env, &mkey), 0);
	KUNIT_EXPECT_EQ(test, env->dev->mkey_pool_err, -EIO);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, mkey.class, MLX5_IB_CLASS_FIRMWARE);
	flush_work(&first.work);
	destroy_work_on_stack(&first.work);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &mkey), 0);
}

/* ---- a device that has no number left ---------------------------------------------------- */

static unsigned int max_keys;

/*
 * CREATE_MKEY fails while @max_keys keys exist: with -ENOSPC; if a process has built the command,
 * with -EREMOTEIO, and the status in the answer.
 */
static int fw_with_few_keys(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			    int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct mock *mock = kunit_get_current_test()->priv;

	if (MLX5_GET(create_mkey_in, in, opcode) != MLX5_CMD_OP_CREATE_MKEY ||
	    mock->num_live[MOCK_MKEY] < max_keys)
		return mock_hca_fw(dev, uid, in, in_size, out, out_size, send, arg);
	MLX5_SET(create_mkey_out, out, status, MLX5_CMD_STAT_LIM_ERR);
	return uid ? -EREMOTEIO : -ENOSPC;
}

/* The pool is filled, and firmware creates no key beyond those that exist now. */
static struct pool_env *make_full_env(struct kunit *test)
{
	struct pool_env *env = make_env(test);

	run_upkeep(env);
	max_keys = env->mock->num_live[MOCK_MKEY];
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_with_few_keys);
	return env;
}

static int create_window(struct pool_env *env, struct mlx5_ib_mkey *mkey)
{
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};

	mlx5_ib_fill_mw_mkey(in, 1, 0, false);
	*mkey = (struct mlx5_ib_mkey){};
	return mlx5_ib_mkey_create(env->dev, NULL, mkey, in, sizeof(in));
}

/* A memory window needs a new key: it can use no free key, of whichever class. */
static void free_key_makes_way_for_a_key_of_another_kind(struct kunit *test)
{
	struct pool_env *env = make_full_env(test);
	struct mlx5_ib_mkey *keys, more;
	unsigned int i;

	keys = kunit_kcalloc(test, READY_KEYS, sizeof(*keys), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, keys);
	for (i = 0; i < READY_KEYS; i++) {
		KUNIT_ASSERT_EQ_MSG(test, create_window(env, &keys[i]), 0, "window %u", i);
		KUNIT_EXPECT_EQ(test, mock_hca_num_free(env->hca), READY_KEYS - i - 1);
		KUNIT_EXPECT_EQ(test, env->mock->num_live[MOCK_MKEY], max_keys);
	}
	KUNIT_EXPECT_EQ(test, create_window(env, &more), -ENOMEM);
	for (i = 0; i < READY_KEYS; i++)
		KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->dev, &keys[i]), 0);
	KUNIT_EXPECT_EQ(test, pool_keys(env), 0);
}

/* Upkeep destroys no free key in order to create another one. */
static void free_key_makes_way_for_no_free_key(struct kunit *test)
{
	struct pool_env *env = make_env(test);
	struct mlx5_ib_mkey_class *mc = env->dev->mkey_pool->classes;

	/* The first four classes have 16, 8, 4 and 2 keys. */
	max_keys = env->mock->num_live[MOCK_MKEY] + 30;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_with_few_keys);
	run_upkeep(env);
	run_upkeep(env);
	KUNIT_EXPECT_EQ(test, pool_keys(env), 30);
	KUNIT_EXPECT_EQ(test, mc[3].use.free, 2);
	KUNIT_EXPECT_EQ(test, mc[4].use.free, 0);
}

/*
 * Firmware may refuse a key because it is too long: then destroying free keys would not help.
 */
static void refusal_costs_few_free_keys(struct kunit *test)
{
	struct pool_env *env = make_full_env(test);
	struct mlx5_ib_mkey mkey;

	max_keys = 0;
	KUNIT_EXPECT_EQ(test, create_window(env, &mkey), -ENOMEM);
	KUNIT_EXPECT_EQ(test, pool_keys(env), READY_KEYS - 4);
}

static void free_key_makes_way_for_a_key_that_a_process_creates(struct kunit *test)
{
	struct pool_env *env = make_full_env(test);
	struct mlx5_ib_ucontext *context = env->mock->context;
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	u32 out[MLX5_ST_SZ_DW(create_mkey_out)] = {};
	struct mlx5_ib_devx_obj *obj;

	context->uid = 1;
	MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	MLX5_SET(create_mkey_in, in, memory_key_mkey_entry.access_mode_1_0,
		 MLX5_MKC_ACCESS_MODE_MTT);
	obj = mlx5_ib_devx_create_obj(context, in, sizeof(in), out, sizeof(out));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, env->mock->num_live[MOCK_MKEY], max_keys);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, true), 0);
	KUNIT_EXPECT_EQ(test, pool_keys(env), READY_KEYS - 1);
	/* The process gets the status of the last refusal. */
	max_keys = 0;
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_devx_create_obj(context, in, sizeof(in), out,
							      sizeof(out))), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, MLX5_GET(create_mkey_out, out, status), MLX5_CMD_STAT_LIM_ERR);
	KUNIT_EXPECT_EQ(test, pool_keys(env), READY_KEYS - 5);
}

/* Longest table of a key, in octwords, that firmware creates. */
#define MAX_OCTWORDS	128

/* As fw_with_few_keys(), but firmware also refuses long tables. */
static int fw_with_short_tables(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
				int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	if (MLX5_GET(create_mkey_in, in, opcode) != MLX5_CMD_OP_CREATE_MKEY ||
	    MLX5_GET(create_mkey_in, in, memory_key_mkey_entry.translations_octword_size) <=
	    MAX_OCTWORDS)
		return fw_with_few_keys(dev, uid, in, in_size, out, out_size, send, arg);
	MLX5_SET(create_mkey_out, out, status, MLX5_CMD_STAT_LIM_ERR);
	return uid ? -EREMOTEIO : -ENOSPC;
}

static struct mlx5_ib_devx_obj *create_table(struct pool_env *env, u8 mode, u32 octwords)
{
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	u32 out[MLX5_ST_SZ_DW(create_mkey_out)] = {};
	struct mlx5_ib_devx_obj *obj;

	MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	MLX5_SET(create_mkey_in, in, memory_key_mkey_entry.access_mode_1_0, mode);
	MLX5_SET(create_mkey_in, in, memory_key_mkey_entry.translations_octword_size, octwords);
	obj = mlx5_ib_devx_create_obj(env->mock->context, in, sizeof(in), out, sizeof(out));
	if (PTR_ERR_OR_ZERO(obj) == -EREMOTEIO)
		KUNIT_EXPECT_EQ(env->mock->test, MLX5_GET(create_mkey_out, out, status),
				MLX5_CMD_STAT_LIM_ERR);
	return obj;
}

static void expect_table(struct pool_env *env, u8 mode, u32 octwords)
{
	struct kunit *test = env->mock->test;
	struct mlx5_ib_devx_obj *obj = create_table(env, mode, octwords);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, true), 0);
}

/* The capability is about KLMs; a table of KSMs may be longer. */
static void too_many_klms_send_no_command(struct kunit *test)
{
	struct pool_env *env = make_env(test);

	run_upkeep(env);
	max_keys = UINT_MAX;
	env->mock->context->uid = 1;
	MOCK_SET_CAP(&env->dev->caps, log_max_klm_list_size, 6);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_with_short_tables);
	env->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, PTR_ERR(create_table(env, MLX5_MKC_ACCESS_MODE_KLMS, 65)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(create_table(env, MLX5_MKC_ACCESS_MODE_KLMS, U32_MAX)),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, pool_keys(env), READY_KEYS);
	expect_table(env, MLX5_MKC_ACCESS_MODE_KLMS, 64);
	expect_table(env, MLX5_MKC_ACCESS_MODE_KSM, MAX_OCTWORDS);
	/* Programs round up to four entries. */
	MOCK_SET_CAP(&env->dev->caps, log_max_klm_list_size, 1);
	expect_table(env, MLX5_MKC_ACCESS_MODE_KLMS, 4);
	MOCK_SET_CAP(&env->dev->caps, log_max_klm_list_size, 32);
	expect_table(env, MLX5_MKC_ACCESS_MODE_KLMS, MAX_OCTWORDS);
	/* The device does not say how many KLMs a key can have. */
	MOCK_SET_CAP(&env->dev->caps, log_max_klm_list_size, 0);
	expect_table(env, MLX5_MKC_ACCESS_MODE_KLMS, MAX_OCTWORDS);
	KUNIT_EXPECT_EQ(test, pool_keys(env), READY_KEYS);
}

/* Numbers for keys are left, so no free key has to make way. */
static void key_that_is_too_long_costs_no_free_keys(struct kunit *test)
{
	static const u8 modes[] = {
		MLX5_MKC_ACCESS_MODE_KLMS, MLX5_MKC_ACCESS_MODE_KSM, MLX5_MKC_ACCESS_MODE_MTT,
	};
	struct pool_env *env = make_env(test);
	unsigned int i;

	run_upkeep(env);
	max_keys = UINT_MAX;
	env->mock->context->uid = 1;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_with_short_tables);
	for (i = 0; i < ARRAY_SIZE(modes); i++)
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR(create_table(env, modes[i], MAX_OCTWORDS + 1)),
				    -EREMOTEIO, "mode %u", modes[i]);
	KUNIT_EXPECT_EQ(test, mock_hca_num_free(env->hca), READY_KEYS);
	KUNIT_EXPECT_EQ(test, pool_keys(env), READY_KEYS);
}

/*
 * No number is left. After one free key has made way, a number is left, and the key of the process
 * is still too long.
 */
static void key_that_is_too_long_costs_one_free_key_at_most(struct kunit *test)
{
	struct pool_env *env = make_full_env(test);

	env->mock->context->uid = 1;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_with_short_tables);
	KUNIT_EXPECT_EQ(test, PTR_ERR(create_table(env, MLX5_MKC_ACCESS_MODE_KSM,
						   MAX_OCTWORDS + 1)), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, pool_keys(env), READY_KEYS - 1);
}

static int init_pool(void *dev)
{
	guard(mutex)(&((struct mlx5_ib_dev *)dev)->first_use);
	return mlx5_ib_init_mkey_pool(dev);
}

static void cleanup_pool(void *dev)
{
	mlx5_ib_cleanup_mkey_pool(dev);
}

static void failure_of_any_allocation_leaves_no_pool(struct kunit *test)
{
	static const struct fail_alloc_verb verb = { init_pool, cleanup_pool };
	struct pool_env *env = make_env(test);

	mlx5_ib_cleanup_mkey_pool(env->dev);
	fail_alloc_each(env->mock, &verb, env->dev);
}

static struct kunit_case mkey_pool_run_cases[] = {
	KUNIT_CASE(long_list_is_where_the_device_reads),
	KUNIT_CASE(upkeep_makes_the_wanted_keys_ready),
	KUNIT_CASE(key_without_room_in_the_pool_is_destroyed),
	KUNIT_CASE(ageing_destroys_keys_that_no_region_needs),
	KUNIT_CASE(ageing_starts_upkeep_if_keys_are_too_many),
	KUNIT_CASE(keys_age_without_umr),
	KUNIT_CASE(keys_are_counted_under_the_lock_of_their_class),
	KUNIT_CASE(upkeep_creates_keys_that_firmware_has_refused),
	KUNIT_CASE(keys_stay_in_the_pool_until_firmware_destroys_them),
	KUNIT_CASE(key_that_may_be_gone_leaves_the_pool),
	KUNIT_CASE(shrinker_counts_each_key_once),
	KUNIT_CASE(upkeep_creates_no_keys_in_place_of_those_that_memory_needs),
	KUNIT_CASE(key_that_is_taken_after_a_scan_is_not_destroyed),
	KUNIT_CASE(list_that_the_device_may_read_is_kept),
	KUNIT_CASE(key_that_umr_revokes_returns_to_the_pool_once),
	KUNIT_CASE(key_that_nobody_wants_stays_free_if_it_cannot_be_destroyed),
	KUNIT_CASE(key_that_firmware_destroys_leaves_the_pool_once),
	KUNIT_CASE(key_that_is_not_created_is_not_counted),
	KUNIT_CASE(free_key_counts_for_no_user),
	KUNIT_CASE(key_that_may_reach_memory_is_replaced_or_reported),
	KUNIT_CASE(key_of_unknown_variant_is_revoked),
	KUNIT_CASE(long_list_is_written_in_parts_if_memory_is_short),
	KUNIT_CASE(key_of_the_pool_is_not_given_windows),
	KUNIT_CASE(revoked_key_is_given_no_rights),
	KUNIT_CASE(key_that_may_be_gone_is_named_in_no_umr),
	KUNIT_CASE(firmware_fills_entries_that_umr_cannot_name),
	KUNIT_CASE(umr_without_a_key_is_out_of_memory),
	KUNIT_CASE(umr_is_kept_if_there_is_no_memory_for_the_pool),
	KUNIT_CASE(failed_setup_of_umr_fails_no_registration),
	KUNIT_CASE(registration_that_waited_for_a_failure_does_not_repeat_it),
	KUNIT_CASE(free_key_makes_way_for_a_key_of_another_kind),
	KUNIT_CASE(free_key_makes_way_for_no_free_key),
	KUNIT_CASE(refusal_costs_few_free_keys),
	KUNIT_CASE(free_key_makes_way_for_a_key_that_a_process_creates),
	KUNIT_CASE(too_many_klms_send_no_command),
	KUNIT_CASE(key_that_is_too_long_costs_no_free_keys),
	KUNIT_CASE(key_that_is_too_long_costs_one_free_key_at_most),
	KUNIT_CASE(failure_of_any_allocation_leaves_no_pool),
	{}
};

static struct kunit_suite mkey_pool_run_suite = {
	.name = "bluebell_mkey_pool_run",
	.test_cases = mkey_pool_run_cases,
};

kunit_test_suite(mkey_pool_run_suite);
