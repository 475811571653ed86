// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the table of memory keys: which lookups find a key, how long the key stays, and
 * which key has the slot when firmware uses an index again.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "fw/bluebell.h"
#include "layout/layout_mkey.h"
#include "lib/locks.h"
#include "lib/mkey.h"
#include "lib/mock.h"

#define VARIANT	0xff

/**
 * struct table_env - a device and its keys
 * @mock: the device
 * @mkey: a key of a region
 * @next: a key that firmware creates while @mkey is being destroyed
 * @release: releases a reference to @mkey after a while
 * @released: @release has run
 */
struct table_env {
	struct mock *mock;
	struct mlx5_ib_mkey mkey;
	struct mlx5_ib_mkey next;
	struct delayed_work release;
	bool released;
};

static struct table_env *current_env;

static int create(struct table_env *env, struct mlx5_ib_mkey *mkey)
{
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};

	mlx5_ib_fill_mw_mkey(in, 1, 0, false);
	*mkey = (struct mlx5_ib_mkey){};
	return mlx5_ib_mkey_create(env->mock->dev, NULL, mkey, in, sizeof(in));
}

static struct table_env *make_env(struct kunit *test)
{
	struct table_env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->mock = mock_create(test);
	KUNIT_ASSERT_EQ(test, create(env, &env->mkey), 0);
	return env;
}

static bool is_found(struct table_env *env, u32 key, enum mlx5_ib_mkey_type type)
{
	struct mlx5_ib_mkey *mkey = mlx5_ib_mkey_get(env->mock->dev, key, type);

	if (mkey)
		mlx5_ib_mkey_put(mkey);
	return mkey;
}

static bool is_found_as_mr(struct table_env *env)
{
	return is_found(env, env->mkey.key, MLX5_IB_MKEY_MR);
}

static void only_published_keys_are_found(struct kunit *test)
{
	struct table_env *env = make_env(test);
	struct mlx5_ib_dev *dev = env->mock->dev;

	KUNIT_EXPECT_FALSE(test, is_found_as_mr(env));
	mlx5_ib_mkey_publish(dev, &env->mkey, MLX5_IB_MKEY_MR);
	KUNIT_EXPECT_TRUE(test, is_found_as_mr(env));
	KUNIT_EXPECT_FALSE(test, is_found(env, env->mkey.key, MLX5_IB_MKEY_ODP_MR));
	KUNIT_EXPECT_FALSE(test, is_found(env, env->mkey.key ^ VARIANT, MLX5_IB_MKEY_MR));
	KUNIT_EXPECT_FALSE(test, is_found(env, env->mkey.key + VARIANT + 1, MLX5_IB_MKEY_MR));
	mlx5_ib_mkey_retire(dev, &env->mkey);
	KUNIT_EXPECT_FALSE(test, is_found_as_mr(env));
	KUNIT_EXPECT_FALSE(test, mlx5_ib_mkey_hold(&env->mkey));
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &env->mkey), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->mkeys));
}

/* Without the lock the key could be freed before the lookup has its reference. */
static void lookup_takes_the_lock_of_the_table(struct kunit *test)
{
	struct table_env *env = make_env(test);
	struct mlx5_ib_dev *dev = env->mock->dev;

	mlx5_ib_mkey_publish(dev, &env->mkey, MLX5_IB_MKEY_MR);
	EXPECT_TAKES_LOCK(test, &dev->mkeys.xa_lock,
			  mlx5_ib_mkey_get(dev, env->mkey.key, MLX5_IB_MKEY_MR));
	mlx5_ib_mkey_put(&env->mkey);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &env->mkey), 0);
}

static void next_key_of_the_index_has_another_variant(struct kunit *test)
{
	struct table_env *env = make_env(test);
	u32 old = env->mkey.key;

	KUNIT_EXPECT_EQ(test, MLX5_GET(create_mkey_in, env->mock->in,
				       memory_key_mkey_entry.mkey_7_0), old & VARIANT);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->mock->dev, &env->mkey), 0);
	KUNIT_ASSERT_EQ(test, create(env, &env->mkey), 0);
	KUNIT_EXPECT_EQ(test, env->mkey.key >> 8, old >> 8);
	KUNIT_EXPECT_NE(test, env->mkey.key, old);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(env->mock->dev, &env->mkey), 0);
}

/* An index has 24 bits. The highest bit of the index is the highest bit of the key. */
static void keys_may_have_the_highest_indices(struct kunit *test)
{
	struct table_env *env = make_env(test);
	struct mlx5_ib_dev *dev = env->mock->dev;
	u32 key;

	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &env->mkey), 0);
	env->mock->first_number = 0xfffffe;
	KUNIT_ASSERT_EQ(test, create(env, &env->mkey), 0);
	key = env->mkey.key;
	KUNIT_ASSERT_EQ(test, key >> 8, 0xfffffe);
	mlx5_ib_mkey_publish(dev, &env->mkey, MLX5_IB_MKEY_MR);
	KUNIT_EXPECT_TRUE(test, is_found_as_mr(env));
	KUNIT_EXPECT_FALSE(test, is_found(env, key & ~BIT(31), MLX5_IB_MKEY_MR));
	KUNIT_EXPECT_FALSE(test, is_found(env, key & GENMASK(23, 0), MLX5_IB_MKEY_MR));
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &env->mkey), 0);
	KUNIT_EXPECT_EQ(test, env->mock->num_live[MOCK_MKEY], 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->mkeys));
}

/* Firmware uses the index again before the driver has seen that the key is destroyed. */
static int reuse_index(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		       int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	struct kunit *test = kunit_get_current_test();

	if (MLX5_GET(destroy_mkey_in, in, opcode) == MLX5_CMD_OP_DESTROY_MKEY &&
	    !current_env->next.key)
		KUNIT_EXPECT_EQ(test, create(current_env, &current_env->next), 0);
	return err;
}

static void new_key_of_the_index_keeps_its_slot(struct kunit *test)
{
	struct table_env *env = make_env(test);
	struct mlx5_ib_dev *dev = env->mock->dev;

	current_env = env;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, reuse_index);
	mlx5_ib_mkey_publish(dev, &env->mkey, MLX5_IB_MKEY_MR);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &env->mkey), 0);
	KUNIT_ASSERT_EQ(test, env->next.key >> 8, env->mkey.key >> 8);
	KUNIT_EXPECT_FALSE(test, xa_empty(&dev->mkeys));
	mlx5_ib_mkey_publish(dev, &env->next, MLX5_IB_MKEY_MR);
	KUNIT_EXPECT_TRUE(test, is_found(env, env->next.key, MLX5_IB_MKEY_MR));
	/* Publishing and retiring the old key does not touch the slot of the new key. */
	mlx5_ib_mkey_publish(dev, &env->mkey, MLX5_IB_MKEY_MR);
	mlx5_ib_mkey_retire(dev, &env->mkey);
	KUNIT_EXPECT_TRUE(test, is_found(env, env->next.key, MLX5_IB_MKEY_MR));
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &env->next), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->mkeys));
}

/* As reuse_index(), and then the driver has begun to destroy the new key, too. */
static int reuse_index_and_destroy(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size,
				   void *out, int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = reuse_index(dev, uid, in, in_size, out, out_size, send, arg);

	if (MLX5_GET(destroy_mkey_in, in, opcode) == MLX5_CMD_OP_DESTROY_MKEY)
		mlx5_ib_mkey_disown(dev, &current_env->next);
	return err;
}

/* Firmware refuses to destroy the new key, after the old one has been destroyed. */
static void new_key_of_the_index_keeps_its_slot_while_it_is_destroyed(struct kunit *test)
{
	struct table_env *env = make_env(test);
	struct mlx5_ib_dev *dev = env->mock->dev;

	current_env = env;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, reuse_index_and_destroy);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &env->mkey), 0);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, mock_fw);
	KUNIT_ASSERT_EQ(test, env->next.key >> 8, env->mkey.key >> 8);
	KUNIT_EXPECT_NOT_NULL(test, xa_load(&dev->mkeys, mlx5_mkey_to_idx(env->next.key)));
	KUNIT_EXPECT_FALSE(test, is_found(env, env->next.key, MLX5_IB_MKEY_TABLE));
	mlx5_ib_mkey_disowned(dev, &env->next, true);
	KUNIT_EXPECT_TRUE(test, is_found(env, env->next.key, MLX5_IB_MKEY_TABLE));
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &env->next), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->mkeys));
}

static void key_that_firmware_keeps_can_be_destroyed_later(struct kunit *test)
{
	struct table_env *env = make_env(test);
	struct mlx5_ib_dev *dev = env->mock->dev;

	mlx5_ib_mkey_publish(dev, &env->mkey, MLX5_IB_MKEY_MR);
	env->mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &env->mkey), env->mock->refuse_err);
	KUNIT_EXPECT_FALSE(test, env->mkey.destroyed);
	KUNIT_EXPECT_TRUE(test, is_found_as_mr(env));
	/* No fault may map pages by a key that should not exist any more. */
	mlx5_ib_mkey_kill(dev, &env->mkey);
	KUNIT_EXPECT_FALSE(test, env->mkey.destroyed);
	KUNIT_EXPECT_FALSE(test, is_found_as_mr(env));
	env->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &env->mkey), 0);
	KUNIT_EXPECT_TRUE(test, env->mkey.destroyed);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->mkeys));
	/* A destroyed key is not destroyed again. */
	env->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &env->mkey), 0);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
}

/* A key of a process, whose commands the process has built. */
static void adopted_key_is_found_until_it_is_disowned(struct kunit *test)
{
	struct table_env *env = make_env(test);
	struct mlx5_ib_dev *dev = env->mock->dev;
	struct mlx5_ib_table_key key = { .mkey.key = 0x765400, .num_entries = 4 };

	KUNIT_ASSERT_EQ(test, mlx5_ib_mkey_adopt(dev, &key.mkey), 0);
	/* The process may change the variant. */
	KUNIT_EXPECT_TRUE(test, is_found(env, 0x765400, MLX5_IB_MKEY_TABLE));
	KUNIT_EXPECT_TRUE(test, is_found(env, 0x765411, MLX5_IB_MKEY_TABLE));
	KUNIT_EXPECT_FALSE(test, is_found(env, 0x765500, MLX5_IB_MKEY_TABLE));
	KUNIT_EXPECT_FALSE(test, is_found(env, 0x765400, MLX5_IB_MKEY_ODP_MR));
	mlx5_ib_mkey_disown(dev, &key.mkey);
	KUNIT_EXPECT_FALSE(test, is_found(env, 0x765400, MLX5_IB_MKEY_TABLE));
	/* Firmware refuses to destroy the key at first, and destroys it then. */
	mlx5_ib_mkey_disowned(dev, &key.mkey, true);
	KUNIT_EXPECT_TRUE(test, is_found(env, 0x765400, MLX5_IB_MKEY_TABLE));
	mlx5_ib_mkey_disown(dev, &key.mkey);
	mlx5_ib_mkey_disowned(dev, &key.mkey, false);
	KUNIT_EXPECT_PTR_EQ(test, xa_load(&dev->mkeys, 0x7654), NULL);

	/* Between the command and the answer another process gets the index. */
	KUNIT_ASSERT_EQ(test, mlx5_ib_mkey_adopt(dev, &key.mkey), 0);
	mlx5_ib_mkey_disown(dev, &key.mkey);
	env->next.key = 0x765400;
	KUNIT_ASSERT_EQ(test, mlx5_ib_mkey_adopt(dev, &env->next), 0);
	mlx5_ib_mkey_disowned(dev, &key.mkey, false);
	KUNIT_EXPECT_TRUE(test, is_found(env, 0x765400, MLX5_IB_MKEY_TABLE));
	mlx5_ib_mkey_disown(dev, &env->next);
	mlx5_ib_mkey_disowned(dev, &env->next, false);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &env->mkey), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->mkeys));
}

static void release_key(struct work_struct *work)
{
	struct table_env *env = container_of(to_delayed_work(work), struct table_env, release);

	WRITE_ONCE(env->released, true);
	mlx5_ib_mkey_put(&env->mkey);
}

static void destruction_waits_for_users_of_the_key(struct kunit *test)
{
	struct table_env *env = make_env(test);
	struct mlx5_ib_dev *dev = env->mock->dev;

	INIT_DELAYED_WORK(&env->release, release_key);
	mlx5_ib_mkey_publish(dev, &env->mkey, MLX5_IB_MKEY_MR);
	KUNIT_ASSERT_PTR_EQ(test, mlx5_ib_mkey_get(dev, env->mkey.key, MLX5_IB_MKEY_MR),
			    &env->mkey);
	schedule_delayed_work(&env->release, msecs_to_jiffies(50));
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &env->mkey), 0);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(env->released));
	flush_delayed_work(&env->release);
}

static struct kunit_case mkey_table_cases[] = {
	KUNIT_CASE(only_published_keys_are_found),
	KUNIT_CASE(lookup_takes_the_lock_of_the_table),
	KUNIT_CASE(next_key_of_the_index_has_another_variant),
	KUNIT_CASE(keys_may_have_the_highest_indices),
	KUNIT_CASE(new_key_of_the_index_keeps_its_slot),
	KUNIT_CASE(new_key_of_the_index_keeps_its_slot_while_it_is_destroyed),
	KUNIT_CASE(key_that_firmware_keeps_can_be_destroyed_later),
	KUNIT_CASE(adopted_key_is_found_until_it_is_disowned),
	KUNIT_CASE(destruction_waits_for_users_of_the_key),
	{}
};

static struct kunit_suite mkey_table_suite = {
	.name = "bluebell_mkey_table",
	.test_cases = mkey_table_cases,
};

kunit_test_suite(mkey_table_suite);
