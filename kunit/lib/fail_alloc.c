// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Allocations that fail: the kernel's fault injection, for the task of the test alone. See
 * Documentation/fault-injection/ of the kernel.
 */

#include <linux/compiler.h>
#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/sched.h>

#include "fail_alloc.h"
#include "lib/share.h"
#include "mock.h"

#define CAN_FAIL \
	(IS_ENABLED(CONFIG_FAILSLAB) && IS_ENABLED(CONFIG_FAULT_INJECTION_DEBUG_FS))

/* Where the kernel keeps a setting of the fault injection of kmalloc(), by its file in debugfs. */
static void *setting(struct kunit *test, const char *name)
{
	struct dentry *dir = debugfs_lookup("failslab", NULL);
	struct dentry *file = dir ? debugfs_lookup(name, dir) : NULL;
	void *value = file ? d_inode(file)->i_private : NULL;

	/* The files stay, so the references need not be kept. */
	dput(file);
	dput(dir);
	KUNIT_ASSERT_NOT_NULL(test, value);
	return value;
}

/**
 * fail_alloc_init - let fail_alloc_begin() work, or skip the test
 * @test: the running test
 *
 * Skips the test if the kernel cannot make allocations fail. Lets allocations fail that may sleep,
 * and turns off the log of each failure.
 */
void fail_alloc_init(struct kunit *test)
{
	bool can_fail = CAN_FAIL;

	/* objtool wants a function that can never return to be declared so. */
	OPTIMIZER_HIDE_VAR(can_fail);
	if (!can_fail)
		kunit_skip(test, "CONFIG_FAILSLAB or CONFIG_FAULT_INJECTION_DEBUG_FS is not set");
	*(bool *)setting(test, "ignore-gfp-wait") = false;
	*(unsigned long *)setting(test, "verbose") = 0;
}

/**
 * fail_alloc_begin - let one allocation of this task fail
 * @nth: number of the allocation from slabs that fails, from 1 for the next
 *
 * Allocations with __GFP_NOFAIL are not counted.
 */
void fail_alloc_begin(unsigned int nth)
{
#ifdef CONFIG_FAULT_INJECTION
	current->fail_nth = nth;
#endif
}

/**
 * fail_alloc_end - let no allocation fail any more
 *
 * Return: whether the allocation that fail_alloc_begin() was called for has failed.
 */
bool fail_alloc_end(void)
{
	bool failed = false;

#ifdef CONFIG_FAULT_INJECTION
	failed = !current->fail_nth;
	current->fail_nth = 0;
#endif
	return failed;
}

/* What counts for the user of the mock's context, of all kinds together. */
static long counted(struct mock *mock)
{
	struct mlx5_ib_user *user = mock->context ? mock->context->user : NULL;
	enum mlx5_ib_share_kind kind;
	long sum = 0;

	for (kind = 0; user && kind < MLX5_IB_NUM_SHARES; kind++)
		sum += atomic_read(&user->count[kind]);
	return sum;
}

/**
 * fail_alloc_each - create and destroy something, and make each allocation of this fail in turn
 * @mock: device
 * @verb: creates and destroys it
 * @arg: argument of the functions of @verb
 *
 * Expects that a creation that fails returns -ENOMEM, and that no firmware object, no pinned page
 * and nothing that counts for the user is left, neither then nor after the destruction. A creation
 * may succeed although an allocation has failed. Skips the test as fail_alloc_init() does.
 */
void fail_alloc_each(struct mock *mock, const struct fail_alloc_verb *verb, void *arg)
{
	struct kunit *test = mock->test;
	long pinned = mock_num_pinned(), count = counted(mock);
	unsigned int live = mock_num_live(mock), n;
	bool failed = true;
	int err = 0;

	fail_alloc_init(test);
	for (n = 1; failed; n++) {
		fail_alloc_begin(n);
		err = verb->create(arg);
		failed = fail_alloc_end();
		if (!err)
			verb->destroy(arg);
		else
			KUNIT_EXPECT_EQ_MSG(test, err, -ENOMEM, "failure %u", n);
		KUNIT_EXPECT_EQ_MSG(test, mock_num_live(mock), live, "failure %u", n);
		KUNIT_EXPECT_EQ_MSG(test, mock_num_pinned(), pinned, "failure %u", n);
		KUNIT_EXPECT_EQ_MSG(test, counted(mock), count, "failure %u", n);
	}
	KUNIT_EXPECT_EQ(test, err, 0);
	/* One allocation at least has failed before the round in which none does. */
	KUNIT_EXPECT_GT(test, n, 2);
}
