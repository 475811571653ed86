// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suites of device memory. The first one is of the functions that read capabilities, check
 * requests, look for pages of the window and fill keys. The second one is of allocations, on a
 * firmware that has no room or refuses commands, and of the reuse of memory that users have freed.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched/task.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "../../../core/uverbs.h"
#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_dm.h"
#include "layout/layout_mkey.h"
#include "lib/fail_alloc.h"
#include "lib/golden.h"
#include "lib/locks.h"
#include "lib/memory.h"
#include "lib/mock.h"
#include "lib/orphan.h"
#include "lib/share.h"
#include "verbs/dm.h"
#include "verbs/mr.h"
#include "verbs/ucontext.h"
#include "verbs/verbs.h"

#define WINDOW		0x1f80000ULL
#define WINDOW_PAGES	16
#define WINDOW_SIZE	(WINDOW_PAGES * PAGE_SIZE)

/* The window of device memory in the BAR, and the limits of allocations. */
struct window {
	u64 start;
	u32 size, max, log_min, log_align;
};

/* For functions that take the size of a page as an argument: 16 pages of 4 KiB. */
static const struct window window_64k = { WINDOW, SZ_64K, SZ_32K, 6, 8 };
/* 16 pages of the host. Allocations can be aligned to four of them. */
static const struct window window_of_host = {
	WINDOW, WINDOW_SIZE, WINDOW_SIZE / 2, 6, PAGE_SHIFT + 2 - 6,
};

static void set_window(struct mlx5_ib_caps *caps, const struct window *window)
{
	void *cap = caps->mdev->caps.hca[MLX5_CAP_DEV_MEM]->cur;

	MOCK_SET_CAP(caps, device_memory, 1);
	MLX5_SET(device_mem_cap, cap, memic, 1);
	MLX5_SET64(device_mem_cap, cap, memic_bar_start_addr, window->start);
	MLX5_SET(device_mem_cap, cap, memic_bar_size, window->size);
	MLX5_SET(device_mem_cap, cap, max_memic_size, window->max);
	MLX5_SET(device_mem_cap, cap, log_min_memic_alloc_size, window->log_min);
	MLX5_SET(device_mem_cap, cap, log_max_memic_addr_alignment, window->log_align);
	MLX5_SET(device_mem_cap, cap, memic_operations, 0x3);
}

static struct mlx5_ib_caps *caps_64k(struct kunit *test)
{
	struct mlx5_ib_caps *caps = mock_caps(test);

	set_window(caps, &window_64k);
	return caps;
}

/* ---- layout ----------------------------------------------------------------------------- */

static const struct caps_case {
	const char *name;
	struct window window;
	u32 page_shift;
	bool want;
	u32 max;	/* longest allocation */
	u32 least;	/* size of an allocation of one byte */
} caps_cases[] = {
	{ "a window", { 0x1fa0000, SZ_128K, SZ_64K, 8, 6 }, 12, true, SZ_64K, 256 },
	{ "no window", { 0x1fa0000, 0, SZ_64K, 8, 6 }, 12 },
	{ "no least allocation", { 0, SZ_4K, SZ_4K, 0, 0 }, 12, true, SZ_4K, 64 },
	{ "allocations longer than the window", { 0, SZ_4K, SZ_8K, 6, 6 }, 12, true, SZ_4K, 64 },
	{ "a window that ends within a page of 64 KiB",
	  { SZ_64K, SZ_64K + SZ_4K, SZ_4K, 6, 6 }, 16 },
	{ "a window that starts within a page of 64 KiB", { SZ_4K, SZ_64K, SZ_4K, 6, 6 }, 16 },
	{ "a window of pages of 64 KiB", { SZ_128K, SZ_64K, SZ_64K, 6, 6 }, 16, true, SZ_64K, 64 },
};

KUNIT_ARRAY_PARAM_DESC(caps, caps_cases, name);

static void window_is_read_from_the_capabilities(struct kunit *test)
{
	const struct caps_case *c = test->param_value;
	struct mlx5_ib_caps *caps = mock_caps(test);

	set_window(caps, &c->window);
	KUNIT_EXPECT_EQ(test, mlx5_ib_has_dm(caps, c->page_shift), c->want);
	if (!c->want)
		return;
	KUNIT_EXPECT_EQ(test, mlx5_ib_max_dm(caps), c->max);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dm_alloc_size(1, caps), c->least);
	MLX5_SET(device_mem_cap, caps->mdev->caps.hca[MLX5_CAP_DEV_MEM]->cur, memic, 0);
	KUNIT_EXPECT_FALSE(test, mlx5_ib_has_dm(caps, c->page_shift));
	set_window(caps, &c->window);
	MOCK_SET_CAP(caps, device_memory, 0);
	KUNIT_EXPECT_FALSE(test, mlx5_ib_has_dm(caps, c->page_shift));
}

static const struct request_case {
	const char *name;
	u64 length;
	u32 log_align;
	int want;
	u32 size;	/* asked of firmware */
} request_cases[] = {
	{ "a byte", 1, 0, 0, 64 },
	{ "the unit", 64, 6, 0, 64 },
	{ "a byte more than the unit", 65, 7, 0, 128 },
	{ "a page", SZ_4K, 12, 0, SZ_4K },
	{ "the longest, aligned most", SZ_32K, 14, 0, SZ_32K },
	{ "nothing", 0, 0, -EINVAL },
	{ "a byte too many", SZ_32K + 1, 0, -EINVAL },
	{ "4 GiB", SZ_4G, 0, -EINVAL },
	{ "everything", U64_MAX, 0, -EINVAL },
	{ "an alignment too great", 64, 15, -EINVAL },
	{ "an alignment of 2^32", 64, 32, -EINVAL },
	{ "an alignment beyond words", 64, U32_MAX, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(request, request_cases, name);

static void only_valid_requests_are_accepted(struct kunit *test)
{
	const struct request_case *c = test->param_value;
	struct mlx5_ib_caps *caps = caps_64k(test);

	KUNIT_EXPECT_EQ(test, mlx5_ib_check_dm(c->length, c->log_align, caps), c->want);
	if (!c->want)
		KUNIT_EXPECT_EQ(test, mlx5_ib_dm_alloc_size(c->length, caps), c->size);
}

static const struct pages_case {
	const char *name;
	unsigned long used;
	unsigned long from;
	u32 length, log_align;
	unsigned long want;
} pages_cases[] = {
	{ "the first", 0, 0, 1, 0, 0 },
	{ "the second look", 0, 1, 1, 0, 1 },
	{ "a gap of one for one", 0x1d, 0, SZ_4K, 0, 1 },
	{ "a gap of one for a byte more", 0x1d, 0, SZ_4K + 1, 0, 5 },
	{ "the whole window", 0, 0, SZ_64K, 0, 0 },
	{ "the whole window, but a page is in use", 0x8000, 0, SZ_64K, 0, WINDOW_PAGES },
	{ "the last", 0x7fff, 0, 1, 0, 15 },
	{ "nothing left", 0xffff, 0, 1, 0, WINDOW_PAGES },
	{ "nothing behind", 0, 16, 1, 0, WINDOW_PAGES },
	{ "half of it in every other page", 0x5555, 0, SZ_8K, 0, WINDOW_PAGES },
	/* The window is aligned to 512 KiB, so its pages 0, 4, 8 … are aligned to 16 KiB. */
	{ "16 KiB alignment", 0x1, 0, 1, 14, 4 },
	{ "16 KiB alignment, four pages", 0x11, 0, SZ_16K, 14, 8 },
};

KUNIT_ARRAY_PARAM_DESC(pages, pages_cases, name);

static void first_free_pages_with_the_alignment_are_found(struct kunit *test)
{
	const struct pages_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_dm_find_pages(&c->used, caps_64k(test), 12, c->from,
						    c->length, c->log_align), c->want);
}

/* The address in the BAR is aligned, not the offset in the window. */
static void alignment_is_that_of_the_bar_address(struct kunit *test)
{
	static const struct window window = { WINDOW + SZ_4K, SZ_64K, SZ_32K, 6, 8 };
	struct mlx5_ib_caps *caps = mock_caps(test);
	unsigned long used = 0;

	set_window(caps, &window);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dm_find_pages(&used, caps, 12, 0, 1, 12), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dm_find_pages(&used, caps, 12, 0, 1, 13), 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dm_find_pages(&used, caps, 12, 0, 1, 14), 3);
}

static void only_supported_access_is_accepted(struct kunit *test)
{
	const u32 rights = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			   IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC;

	KUNIT_EXPECT_EQ(test, mlx5_ib_check_dm_access(IB_ZERO_BASED), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_dm_access(IB_ZERO_BASED | rights |
						      IB_ACCESS_RELAXED_ORDERING), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_dm_access(0), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_dm_access(rights), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_dm_access(IB_ZERO_BASED | IB_ACCESS_MW_BIND),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_dm_access(IB_ZERO_BASED | IB_ACCESS_ON_DEMAND),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_dm_access(IB_ZERO_BASED | IB_ACCESS_HUGETLB),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_dm_access(IB_ZERO_BASED | BIT(31)), -EOPNOTSUPP);
}

static void key_over_device_memory_is_exact_to_the_bit(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x00, 0x02000000 },	/* opcode */
		/* Context at 0x10: access mode 5, atomics, remote read, local read and write. */
		{ 0x10, 0x04005d00 },
		{ 0x14, 0xffffff7b },	/* any QP, variant */
		{ 0x1c, 0x00123456 },	/* PD */
		{ 0x24, 0x01f80040 },	/* address */
		{ 0x2c, 0x00000fff },	/* length */
	};
	const struct mlx5_ib_mkc_attr attr = {
		.access = IB_ZERO_BASED | IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
			  IB_ACCESS_REMOTE_ATOMIC,
		.pdn = 0x123456, .length = 0xfff, .variant = 0x7b,
	};
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};

	mlx5_ib_fill_memic_mkey(in, &attr, WINDOW + 64, mock_caps(test));
	expect_golden(test, in, sizeof(in), want);
}

/* ---- allocations ------------------------------------------------------------------------ */

/**
 * struct dm_env - a device with memory, and a firmware that counts allocations
 * @mock: the device
 * @pd: protection domain
 * @map: memory in place of the window, which the driver clears
 * @commands: number of commands so far
 * @refuse: number of the command to refuse, counted from 1
 * @refuse_err: errno of the refusal
 * @lose: number of the command to execute without an answer, counted from 1
 * @meanwhile: called while the driver waits for this answer; or NULL
 * @busy: pages of the window in which firmware has no room
 * @most: number of allocations that firmware can have
 * @stubborn: how many further commands that free memory or operations fail
 * @unanswered: how many of these, beginning with the next one, firmware does not answer; it refuses
 *              the others
 * @allocations: number of allocations that firmware has
 * @allocated: bit for the first page of each of these allocations
 * @ops: number of operations that have an address
 * @has_op: for each page of the window, a bit for each operation that has an address
 * @op_at: for each page of the window, how far from the start of their window the operations on the
 *         memory in it have their addresses; NULL: as far as the memory
 * @late: bit for each operation that gets an address, by a command which was not answered, after
 *        the next command that frees its address
 * @keys: number of memory keys
 * @fw_align: log2 of the alignment of the last allocation, in units of 64 bytes
 */
struct dm_env {
	struct mock *mock;
	struct mlx5_ib_pd pd;
	u8 *map;
	unsigned int commands;
	unsigned int refuse;
	int refuse_err;
	unsigned int lose;
	void (*meanwhile)(struct kunit *test);
	unsigned long busy;
	int most;
	unsigned int stubborn;
	unsigned int unanswered;
	int allocations;
	unsigned long allocated;
	int ops;
	unsigned long has_op[WINDOW_PAGES];
	const u32 *op_at;
	unsigned long late;
	int keys;
	u8 fw_align;
};

static int alloc_in_range(struct dm_env *env, const void *in, void *out)
{
	u64 start = MLX5_GET64(alloc_memic_in, in, range_start_addr);
	unsigned long page = (start - WINDOW) / PAGE_SIZE;

	if ((env->busy | env->allocated) & BIT(page))
		return -EAGAIN;
	if (env->allocations == env->most)
		return -ENOMEM;
	MLX5_SET64(alloc_memic_out, out, memic_start_addr, start);
	env->allocations++;
	env->allocated |= BIT(page);
	env->fw_align = MLX5_GET(alloc_memic_in, in, log_memic_addr_alignment);
	return 0;
}

/* Firmware frees no memory that operations refer to, and no memory twice. */
static int dealloc_memic(struct kunit *test, struct dm_env *env, const void *in)
{
	u64 start = MLX5_GET64(dealloc_memic_in, in, memic_start_addr);
	unsigned long page = (start - WINDOW) / PAGE_SIZE;

	if (!(env->allocated & BIT(page)))
		return -ENOENT;
	if (env->has_op[page])
		return -EINVAL;
	KUNIT_EXPECT_EQ(test, env->keys, 0);
	env->allocations--;
	env->allocated &= ~BIT(page);
	return 0;
}

static bool is_dealloc(const void *in)
{
	return MLX5_GET(modify_memic_in, in, op_mod) == MLX5_MODIFY_MEMIC_OP_MOD_DEALLOC;
}

/* Firmware gives an operation no second address, and takes no address that it has not given. */
static int modify_memic(struct dm_env *env, const void *in, void *out)
{
	u64 offset = MLX5_GET64(modify_memic_in, in, memic_start_addr) - WINDOW;
	unsigned long *has_op = &env->has_op[offset / PAGE_SIZE];
	u8 op = MLX5_GET(modify_memic_in, in, memic_operation_type);
	bool valid = test_bit(op, has_op) == is_dealloc(in);
	bool late = is_dealloc(in) && test_and_clear_bit(op, &env->late);

	assign_bit(op, has_op, !is_dealloc(in) || late);
	if (valid)
		env->ops += is_dealloc(in) ? -1 : 1;
	env->ops += late;
	if (env->op_at)
		offset = env->op_at[offset / PAGE_SIZE];
	MLX5_SET64(modify_memic_out, out, memic_operation_addr,
		   WINDOW + (1 + op) * WINDOW_SIZE + offset);
	return valid ? 0 : -EINVAL;
}

static int execute(struct kunit *test, struct dm_env *env, const void *in, void *out)
{
	u16 opcode = MLX5_GET(modify_memic_in, in, opcode);

	switch (opcode) {
	case MLX5_CMD_OP_ALLOC_MEMIC:
		return alloc_in_range(env, in, out);
	case MLX5_CMD_OP_DEALLOC_MEMIC:
		return dealloc_memic(test, env, in);
	case MLX5_CMD_OP_MODIFY_MEMIC:
		/* No other process is refused the page while the driver has not left it yet. */
		KUNIT_EXPECT_TRUE(test, mutex_is_locked(&env->mock->dev->dm->op_lock) ||
				  mutex_is_locked(&env->mock->dev->dm->lock));
		return modify_memic(env, in, out);
	case MLX5_CMD_OP_CREATE_MKEY:
		env->keys++;
		return 0;
	case MLX5_CMD_OP_DESTROY_MKEY:
		env->keys--;
		return 0;
	}
	KUNIT_FAIL(test, "command 0x%x", opcode);
	return -EINVAL;
}

static int dm_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		 int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct kunit *test = kunit_get_current_test();
	struct dm_env *env = test->priv;
	u16 opcode = MLX5_GET(modify_memic_in, in, opcode);
	bool lost;
	int err;

	if (++env->commands == env->refuse)
		return env->refuse_err;
	if (env->stubborn && (opcode == MLX5_CMD_OP_DEALLOC_MEMIC ||
			      (opcode == MLX5_CMD_OP_MODIFY_MEMIC && is_dealloc(in)))) {
		env->stubborn--;
		if (!env->unanswered)
			return -EBUSY;
		env->unanswered--;
		return -ETIMEDOUT;
	}
	lost = env->commands == env->lose;
	err = execute(test, env, in, out);
	if (!lost)
		return err;
	if (env->meanwhile)
		env->meanwhile(test);
	return -ETIMEDOUT;
}

static struct ib_ucontext *uctx_of(struct dm_env *env)
{
	return &env->mock->context->ibucontext;
}

static void destroy_mmap_xa(void *uctx)
{
	xa_destroy(&((struct ib_ucontext *)uctx)->mmap_xa);
}

/* Free the spare memory that a failed test has left. */
static void give_up_spare(void *dev)
{
	struct mlx5_ib_dm_pool *pool = ((struct mlx5_ib_dev *)dev)->dm;
	struct mlx5_ib_memic *mem, *next;

	list_for_each_entry_safe(mem, next, &pool->spare, spare)
		kfree(mem);
}

static void no_work(struct work_struct *work)
{
}

static int init_env(struct kunit *test)
{
	struct dm_env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);
	struct mock *mock = mock_create(test);
	struct mlx5_ib_dm_pool *pool = kunit_kzalloc(test, sizeof(*pool), GFP_KERNEL);
	struct ib_ucontext *uctx;

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->mock = mock;
	env->most = INT_MAX;
	env->refuse_err = -EIO;
	env->map = kunit_kzalloc(test, WINDOW_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, env->map);
	memset(env->map, 0xff, WINDOW_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, pool);
	mock->dev->dm = pool;
	set_window(&mock->dev->caps, &window_of_host);
	pool->dev = mock->dev;
	pool->map = (void __force __iomem *)env->map;
	pool->used = kunit_kzalloc(test, sizeof(long), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pool->used);
	mutex_init(&pool->lock);
	INIT_LIST_HEAD(&pool->spare);
	xa_init(&pool->op_pages);
	mutex_init(&pool->op_lock);
	/* The cases themselves call the function that the delayed work would call. */
	INIT_DELAYED_WORK(&pool->return_spare, no_work);
	disable_delayed_work(&pool->return_spare);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, give_up_spare, mock->dev));

	uctx = uctx_of(env);
	xa_init_flags(&uctx->mmap_xa, XA_FLAGS_ALLOC);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, destroy_mmap_xa, uctx));
	mock->dev->ib_dev.ops.mmap_free = mlx5_ib_mmap_free;
	env->pd.ibpd.device = &mock->dev->ib_dev;
	test->priv = env;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, dm_fw);
	return 0;
}

static unsigned int pages_taken(struct dm_env *env)
{
	return hweight_long(*env->mock->dev->dm->used);
}

/* Give the context a user, whose pages of device memory are counted. Returns the count. */
static atomic_t *count_pages(struct kunit *test)
{
	struct dm_env *env = test->priv;

	return &mock_give_user(env->mock)[MLX5_IB_SHARE_DM];
}

static bool any_spare(struct dm_env *env)
{
	return !list_empty(&env->mock->dev->dm->spare);
}

/* Expect the state from before the case, once the delayed work has returned the spare memory. */
static void expect_nothing(struct kunit *test)
{
	struct dm_env *env = test->priv;

	mlx5_ib_return_spare_memic(env->mock->dev->dm);
	KUNIT_EXPECT_FALSE(test, any_spare(env));
	KUNIT_EXPECT_EQ(test, env->allocations, 0);
	KUNIT_EXPECT_EQ(test, env->ops, 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&env->mock->dev->dm->op_pages));
	KUNIT_EXPECT_EQ(test, env->keys, 0);
	KUNIT_EXPECT_EQ(test, pages_taken(env), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&uctx_of(env)->mmap_xa));
}

static struct mlx5_ib_dm *create(struct kunit *test, u64 length, u32 log_align)
{
	struct dm_env *env = test->priv;
	unsigned int mark = memory_mark();
	struct mlx5_ib_dm *dm = mlx5_ib_create_dm(uctx_of(env), length, log_align);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dm);
	memory_expect_charged(test, mark);
	dm->ibdm.device = &env->mock->dev->ib_dev;
	dm->ibdm.length = length;
	return dm;
}

static void free_dm(struct mlx5_ib_dm *dm)
{
	KUNIT_EXPECT_EQ(kunit_get_current_test(), mlx5_ib_dealloc_dm(&dm->ibdm, NULL), 0);
}

static void only_the_allocated_pages_are_cleared(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm;

	*env->mock->dev->dm->used = 0x3;
	dm = create(test, PAGE_SIZE + 1, 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(env->map, 0xff, 2 * PAGE_SIZE));
	KUNIT_EXPECT_NULL(test, memchr_inv(env->map + 2 * PAGE_SIZE, 0, 2 * PAGE_SIZE));
	KUNIT_EXPECT_NULL(test, memchr_inv(env->map + 4 * PAGE_SIZE, 0xff,
					   WINDOW_SIZE - 4 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, *env->mock->dev->dm->used, 0xf);
	free_dm(dm);
	KUNIT_EXPECT_EQ(test, *env->mock->dev->dm->used, 0x3);
	*env->mock->dev->dm->used = 0;
	expect_nothing(test);
}

static void allocation_tries_the_whole_window(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm;

	env->busy = 0x1f;
	dm = create(test, 64, 0);
	KUNIT_EXPECT_EQ(test, env->commands, 6);
	KUNIT_EXPECT_EQ(test, *env->mock->dev->dm->used, 0x20);
	free_dm(dm);
	mlx5_ib_return_spare_memic(env->mock->dev->dm);

	env->busy = ~0UL;
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_create_dm(uctx_of(env), 64, 0)), -ENOMEM);
	expect_nothing(test);
}

static void refused_allocation_leaves_nothing(struct kunit *test)
{
	struct dm_env *env = test->priv;

	env->refuse = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_create_dm(uctx_of(env), 64, 0)), -EIO);
	expect_nothing(test);
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_create_dm(uctx_of(env), 0, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, env->commands, 1);
}

/* The window would wrap around the end of the address space, so that ioremap_wc() fails. */
static void window_that_cannot_be_mapped_leaves_nothing(struct kunit *test)
{
	struct mlx5_ib_dev *dev = ((struct dm_env *)test->priv)->mock->dev;
	struct mlx5_ib_dm_pool *pool = dev->dm;
	unsigned int i;

	fail_alloc_init(test);
	dev->dm = NULL;
	dev->mdev->bar_addr = -PAGE_SIZE - window_of_host.start;
	/* There is memory for the pool or not, and then for the bitmap of its pages or not. */
	for (i = 0; i < 3; i++) {
		fail_alloc_begin(i);
		KUNIT_EXPECT_EQ(test, mlx5_ib_use_dm(dev), -ENOMEM);
		fail_alloc_end();
		KUNIT_EXPECT_NULL(test, dev->dm);
	}
	dev->dm = pool;
}

/* Firmware may have allocated the memory, so that it counts against the user's share. */
static void memory_that_may_be_allocated_counts(struct kunit *test)
{
	struct dm_env *env = test->priv;
	atomic_t *count = count_pages(test);

	env->refuse = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_create_dm(uctx_of(env), 64, 0)), -EIO);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 0);
	env->refuse = 2;
	env->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_create_dm(uctx_of(env), PAGE_SIZE + 1, 0)),
			-ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 2);
	mock_drop_user(env->mock);
	expect_nothing(test);
}

/* Firmware has memory, but all mmap offsets are in use. */
static void allocation_without_an_mmap_offset_leaves_nothing(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct xarray *xa = &uctx_of(env)->mmap_xa;
	unsigned long i;

	for (i = MLX5_IB_MMAP_DM_START; i <= MLX5_IB_MMAP_DM_END; i++)
		KUNIT_ASSERT_FALSE(test, xa_is_err(xa_store(xa, i, env, GFP_KERNEL)));
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_create_dm(uctx_of(env), 64, 0)), -ENOMEM);
	KUNIT_EXPECT_EQ(test, env->commands, 1);
	KUNIT_EXPECT_TRUE(test, any_spare(env));
	for (i = MLX5_IB_MMAP_DM_START; i <= MLX5_IB_MMAP_DM_END; i++)
		xa_erase(xa, i);
	expect_nothing(test);
}

/* No memory may end beyond the last offset for device memory: there the library cannot map it. */
static void mmap_offset_ends_within_the_interface(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct xarray *xa = &uctx_of(env)->mmap_xa;
	unsigned long i;
	struct mlx5_ib_dm *dm;

	for (i = MLX5_IB_MMAP_DM_START; i < MLX5_IB_MMAP_DM_END; i++)
		KUNIT_ASSERT_FALSE(test, xa_is_err(xa_store(xa, i, env, GFP_KERNEL)));
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_create_dm(uctx_of(env), 2 * PAGE_SIZE, 0)), -ENOMEM);
	dm = create(test, PAGE_SIZE, 0);
	KUNIT_EXPECT_EQ(test, dm->mentry->rdma_entry.start_pgoff, MLX5_IB_MMAP_DM_END);
	free_dm(dm);
	for (i = MLX5_IB_MMAP_DM_START; i < MLX5_IB_MMAP_DM_END; i++)
		xa_erase(xa, i);
	expect_nothing(test);
}

static void freed_memory_is_reused_without_a_command(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);
	u64 addr = dm->mem->addr;

	env->map[0] = 0x5a;
	env->map[PAGE_SIZE - 1] = 0x5a;
	free_dm(dm);
	KUNIT_EXPECT_EQ(test, pages_taken(env), 0);
	KUNIT_EXPECT_EQ(test, env->allocations, 1);
	dm = create(test, 33, 12);
	KUNIT_EXPECT_EQ(test, env->commands, 1);
	KUNIT_EXPECT_EQ(test, dm->mem->addr, addr);
	KUNIT_EXPECT_EQ(test, pages_taken(env), 1);
	KUNIT_EXPECT_FALSE(test, any_spare(env));
	KUNIT_EXPECT_NULL(test, memchr_inv(env->map, 0, PAGE_SIZE));
	/* The memory has an owner, so that it is not returned to firmware. */
	mlx5_ib_return_spare_memic(env->mock->dev->dm);
	KUNIT_EXPECT_EQ(test, env->allocations, 1);
	free_dm(dm);
	expect_nothing(test);
	KUNIT_EXPECT_EQ(test, env->commands, 2);
}

/* An allocation gets the pages that it would get if there were no spare memory. */
static void spare_memory_gives_way_to_an_allocation(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm[3];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(dm); i++)
		dm[i] = create(test, PAGE_SIZE, 0);
	free_dm(dm[0]);
	free_dm(dm[1]);
	free_dm(dm[2]);
	/*
	 * The driver returns two of the three spare allocations to firmware to make room for this
	 * one.
	 */
	dm[0] = create(test, 2 * PAGE_SIZE, 0);
	KUNIT_EXPECT_EQ(test, *env->mock->dev->dm->used, 0x3);
	KUNIT_EXPECT_EQ(test, env->allocations, 2);
	dm[1] = create(test, PAGE_SIZE, 0);
	KUNIT_EXPECT_EQ(test, env->allocations, 2);
	free_dm(dm[0]);
	/* Spare memory of two pages is not given out for one page. */
	dm[0] = create(test, PAGE_SIZE, 0);
	KUNIT_EXPECT_EQ(test, *env->mock->dev->dm->used, 0x5);
	KUNIT_EXPECT_EQ(test, dm[0]->mem->num_pages, 1);
	KUNIT_EXPECT_EQ(test, env->allocations, 2);
	free_dm(dm[0]);
	free_dm(dm[1]);
	expect_nothing(test);
}

/* Firmware would refuse any other allocation at an address that it has not freed. */
static void memory_that_firmware_keeps_is_reused_as_it_is(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm[2];

	dm[0] = create(test, 64, 0);
	free_dm(dm[0]);
	env->stubborn = 1;
	mlx5_ib_return_spare_memic(env->mock->dev->dm);
	KUNIT_EXPECT_EQ(test, env->allocations, 1);
	env->stubborn = 1;
	dm[0] = create(test, 128, 0);
	KUNIT_EXPECT_EQ(test, *env->mock->dev->dm->used, 0x2);
	/* An allocation of the same size gets the spare memory. */
	dm[1] = create(test, 64, 0);
	KUNIT_EXPECT_EQ(test, *env->mock->dev->dm->used, 0x3);
	KUNIT_EXPECT_EQ(test, env->allocations, 2);
	free_dm(dm[0]);
	free_dm(dm[1]);
	expect_nothing(test);
}

static void spare_memory_is_returned_if_firmware_has_no_more(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm[2];
	struct mlx5_ib_dm *none;

	env->most = 2;
	dm[0] = create(test, 64, 0);
	dm[1] = create(test, 64, 0);
	free_dm(dm[1]);
	/* The alignment excludes the address of the spare memory. */
	dm[1] = create(test, 64, PAGE_SHIFT + 2);
	KUNIT_EXPECT_EQ(test, *env->mock->dev->dm->used, 0x11);
	none = mlx5_ib_create_dm(uctx_of(env), 64, 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(none), -ENOMEM);
	free_dm(dm[1]);
	env->stubborn = 1;
	none = mlx5_ib_create_dm(uctx_of(env), 64, 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(none), -ENOMEM);
	free_dm(dm[0]);
	expect_nothing(test);
}

/* The spare memory does not have the alignment that the next user wants. */
static void spare_memory_is_reused_only_if_aligned(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);

	dm->mem->addr += 64;
	free_dm(dm);
	KUNIT_EXPECT_EQ(test, env->fw_align, 0);
	dm = create(test, 64, 7);
	KUNIT_EXPECT_EQ(test, env->fw_align, 1);
	KUNIT_EXPECT_EQ(test, env->commands, 3);
	KUNIT_EXPECT_EQ(test, dm->mem->addr, WINDOW);
	free_dm(dm);
	dm = create(test, 64, 6);
	KUNIT_EXPECT_EQ(test, env->commands, 3);
	free_dm(dm);
	expect_nothing(test);
}

static void spare_memory_with_operations_is_not_reused(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(dm, 1));
	env->stubborn = 1;
	free_dm(dm);
	KUNIT_EXPECT_EQ(test, env->ops, 1);
	/* Firmware frees neither the operation nor the memory, so the memory stays spare. */
	env->stubborn = 1;
	dm = create(test, 64, 0);
	KUNIT_EXPECT_EQ(test, *env->mock->dev->dm->used, 0x2);
	KUNIT_EXPECT_EQ(test, env->ops, 1);
	KUNIT_EXPECT_TRUE(test, any_spare(env));
	free_dm(dm);
	expect_nothing(test);
}

static const struct gone_case {
	const char *name;
	bool silent;		/* firmware does not answer the next command either */
	unsigned long used;	/* page of the next user */
} gone_cases[] = {
	{ "firmware answers again", false, 0x1 },
	{ "firmware does not answer", true, 0x2 },
};

KUNIT_ARRAY_PARAM_DESC(gone, gone_cases, name);

/* Firmware frees the memory, and answers neither the command nor its repetition. */
static void lose_memory(struct kunit *test)
{
	struct dm_env *env = test->priv;

	env->lose = env->commands + 1;
	env->refuse = env->commands + 2;
	env->refuse_err = -ETIMEDOUT;
	mlx5_ib_return_spare_memic(env->mock->dev->dm);
	KUNIT_EXPECT_EQ(test, env->allocations, 0);
	KUNIT_EXPECT_TRUE(test, any_spare(env));
}

/* Another PCI function may have the memory now. */
static void memory_that_may_be_gone_is_not_reused(struct kunit *test)
{
	const struct gone_case *c = test->param_value;
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);

	free_dm(dm);
	lose_memory(test);
	KUNIT_EXPECT_EQ(test, env->commands, 3);
	env->commands = 0;
	env->lose = 0;
	env->refuse = c->silent;
	dm = create(test, 64, 0);
	/* One command frees the memory, the other allocates memory for this user. */
	KUNIT_EXPECT_EQ(test, env->commands, 2);
	KUNIT_EXPECT_EQ(test, *env->mock->dev->dm->used, c->used);
	KUNIT_EXPECT_EQ(test, env->allocations, 1);
	KUNIT_EXPECT_EQ(test, any_spare(env), c->silent);
	free_dm(dm);
	expect_nothing(test);
}

static const struct drop_case {
	const char *name;
	unsigned int stubborn;
	unsigned int unanswered;
	int kept;	/* allocations that firmware has at the end */
	unsigned int commands;	/* sent to free memory */
} drop_cases[] = {
	{ "one command is refused", 1, 0, 0, 3 },
	{ "both commands are refused twice", 4, 0, 0, 6 },
	{ "all commands are refused", UINT_MAX, 0, 2, 12 },
	{ "one command is not answered", 1, 1, 0, 3 },
	/* The driver has waited for a long time: it does not repeat the refused command either. */
	{ "one allocation is not answered for, the other is refused", 3, 2, 2, 3 },
	{ "nothing is answered", UINT_MAX, UINT_MAX, 2, 4 },
};

KUNIT_ARRAY_PARAM_DESC(drop, drop_cases, name);

/* The driver unbinds while firmware refuses to free spare memory, or does not answer. */
static void spare_memory_is_dropped_with_the_device(struct kunit *test)
{
	const struct drop_case *c = test->param_value;
	struct dm_env *env = test->priv;
	struct delayed_work *work = &env->mock->dev->dm->return_spare;
	struct mlx5_ib_dm *dm[2];

	dm[0] = create(test, 64, 0);
	dm[1] = create(test, 64, 0);
	free_dm(dm[0]);
	free_dm(dm[1]);
	env->commands = 0;
	env->stubborn = c->stubborn;
	env->unanswered = c->unanswered;
	enable_delayed_work(work);
	mlx5_ib_drop_spare_memic(env->mock->dev->dm);
	KUNIT_EXPECT_FALSE(test, any_spare(env));
	KUNIT_EXPECT_EQ(test, env->allocations, c->kept);
	KUNIT_EXPECT_EQ(test, env->commands, c->commands);
	/* The delayed work does not run for a device from which the driver is unbound. */
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(work));
	disable_delayed_work_sync(work);
}

static int logged[2];
static unsigned int num_logged;

static void take_log(const struct mlx5_ib_memic *mem)
{
	logged[num_logged++ % ARRAY_SIZE(logged)] = mem->err;
}

static void log_has_the_refusal_of_each_allocation(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm[2];

	dm[0] = create(test, 64, 0);
	dm[1] = create(test, 64, 0);
	free_dm(dm[0]);
	free_dm(dm[1]);
	env->stubborn = 3;
	env->unanswered = 2;
	num_logged = 0;
	kunit_activate_static_stub(test, mlx5_ib_memic_log, take_log);
	mlx5_ib_drop_spare_memic(env->mock->dev->dm);
	KUNIT_EXPECT_EQ(test, num_logged, 2);
	KUNIT_EXPECT_EQ(test, logged[0], -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, logged[1], -EBUSY);
}

static void mapped_memory_is_kept_until_it_is_unmapped(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);
	u64 pgoff = dm->mentry->rdma_entry.start_pgoff;
	struct rdma_user_mmap_entry *mapping;

	mapping = rdma_user_mmap_entry_get_pgoff(uctx_of(env), pgoff);
	KUNIT_ASSERT_NOT_NULL(test, mapping);
	free_dm(dm);
	KUNIT_EXPECT_EQ(test, env->allocations, 1);
	KUNIT_EXPECT_EQ(test, pages_taken(env), 1);
	KUNIT_EXPECT_NULL(test, rdma_user_mmap_entry_get_pgoff(uctx_of(env), pgoff));
	mlx5_ib_return_spare_memic(env->mock->dev->dm);
	KUNIT_EXPECT_EQ(test, env->allocations, 1);
	rdma_user_mmap_entry_put(mapping);
	expect_nothing(test);
}

static void operation_has_one_mmap_offset(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);
	struct mlx5_user_mmap_entry *entry, *again;

	entry = mlx5_ib_dm_map_op(dm, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, entry);
	again = mlx5_ib_dm_map_op(dm, 1);
	KUNIT_EXPECT_PTR_EQ(test, entry, again);
	KUNIT_EXPECT_EQ(test, env->commands, 2);
	KUNIT_EXPECT_EQ(test, entry->address, WINDOW + 2 * WINDOW_SIZE);
	/* Neither the operation nor the memory can be mapped for execution. */
	KUNIT_EXPECT_EQ(test, entry->denied, VM_EXEC);
	KUNIT_EXPECT_EQ(test, dm->mentry->denied, VM_EXEC);
	KUNIT_EXPECT_NE(test, entry->rdma_entry.start_pgoff, dm->mentry->rdma_entry.start_pgoff);
	free_dm(dm);
	expect_nothing(test);
}

static void addresses_of_operations_have_their_mutex(struct kunit *test)
{
	struct mlx5_ib_dm *dm = create(test, 64, 0);

	EXPECT_TAKES_LOCK(test, &dm->lock, mlx5_ib_dm_map_op(dm, 1));
	free_dm(dm);
	expect_nothing(test);
}

/* The device has operations 0 and 1. */
static void operation_that_the_device_lacks_is_refused(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);

	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_dm_map_op(dm, 2)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_dm_map_op(dm, 32)), -EOPNOTSUPP);
	/* A shift by 65 is a shift by 1 on many machines. */
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_dm_map_op(dm, 65)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_dm_map_op(dm, 255)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, env->commands, 1);
	free_dm(dm);
	expect_nothing(test);
}

static void refused_operation_leaves_nothing(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);
	struct xarray *xa = &uctx_of(env)->mmap_xa;
	unsigned long i;

	env->refuse = 2;
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_dm_map_op(dm, 0)), -EIO);
	KUNIT_EXPECT_EQ(test, env->ops, 0);
	/* Firmware allocates the operation, but all mmap offsets are in use. */
	for (i = MLX5_IB_MMAP_DM_START + 1; i <= MLX5_IB_MMAP_DM_END; i++)
		KUNIT_ASSERT_FALSE(test, xa_is_err(xa_store(xa, i, env, GFP_KERNEL)));
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_dm_map_op(dm, 0)), -ENOMEM);
	KUNIT_EXPECT_EQ(test, env->ops, 0);
	/* Then firmware also refuses to free the operation, twice. */
	env->stubborn = 2;
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_dm_map_op(dm, 0)), -ENOMEM);
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_dm_map_op(dm, 0)), -EBUSY);
	KUNIT_EXPECT_EQ(test, env->ops, 1);
	for (i = MLX5_IB_MMAP_DM_START + 1; i <= MLX5_IB_MMAP_DM_END; i++)
		xa_erase(xa, i);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(dm, 0));
	KUNIT_EXPECT_EQ(test, env->ops, 1);
	free_dm(dm);
	expect_nothing(test);
}

/* A process that maps the page of an operation could change the memory of another process. */
static void operations_share_no_page(struct kunit *test)
{
	static const u32 op_at[] = { 0, 64 };
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0), *other = create(test, 64, 0);

	env->op_at = op_at;
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(dm, 0));
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_dm_map_op(other, 0)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, env->ops, 1);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(other, 1));
	free_dm(dm);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(other, 0));
	free_dm(other);
	expect_nothing(test);
}

/* Operations on a page of memory have addresses in two pages, of which the second is taken. */
static void operation_takes_each_of_its_pages_or_none(struct kunit *test)
{
	static const u32 op_at[] = { PAGE_SIZE, 64, 128 };
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0), *both = create(test, PAGE_SIZE, 0);
	struct mlx5_ib_dm *first = create(test, 64, 0);
	struct mlx5_user_mmap_entry *entry;

	env->op_at = op_at;
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(dm, 0));
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_dm_map_op(both, 0)), -EOPNOTSUPP);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(first, 0));
	free_dm(first);
	free_dm(dm);
	entry = mlx5_ib_dm_map_op(both, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, entry->rdma_entry.npages, 2);
	free_dm(both);
	expect_nothing(test);
}

/* An operation may still be mapped when the process frees the memory. */
static void operations_are_freed_before_their_memory(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);
	struct mlx5_user_mmap_entry *entry = mlx5_ib_dm_map_op(dm, 0);
	struct rdma_user_mmap_entry *mapping;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, entry);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(dm, 1));
	mapping = rdma_user_mmap_entry_get_pgoff(uctx_of(env), entry->rdma_entry.start_pgoff);
	free_dm(dm);
	KUNIT_EXPECT_EQ(test, env->ops, 1);
	KUNIT_EXPECT_EQ(test, env->allocations, 1);
	env->stubborn = 1;
	rdma_user_mmap_entry_put(mapping);
	expect_nothing(test);
}

static const struct lost_case {
	const char *name;
	bool executed;
	bool again;	/* the process maps the operation again */
} lost_cases[] = {
	{ "not executed" },
	{ "executed", true },
	{ "not executed, and repeated", false, true },
	{ "executed, and repeated", true, true },
};

KUNIT_ARRAY_PARAM_DESC(lost, lost_cases, name);

/* Have firmware not answer the next command, which it executes or not. */
static void lose_next(struct dm_env *env, bool executed)
{
	env->lose = executed ? env->commands + 1 : 0;
	env->refuse = executed ? 0 : env->commands + 1;
	env->refuse_err = -ETIMEDOUT;
}

/* Map an operation whose allocation firmware does not answer, and executes or not. */
static void lose_map_op(struct kunit *test, struct mlx5_ib_dm *dm, bool executed)
{
	lose_next(test->priv, executed);
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_dm_map_op(dm, 1)), -ETIMEDOUT);
}

static void operation_that_may_have_an_address_is_freed(struct kunit *test)
{
	const struct lost_case *c = test->param_value;
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);

	lose_map_op(test, dm, c->executed);
	KUNIT_EXPECT_EQ(test, env->ops, c->executed);
	if (c->again) {
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(dm, 1));
		KUNIT_EXPECT_EQ(test, env->ops, 1);
	}
	free_dm(dm);
	expect_nothing(test);
}

/*
 * Firmware refuses to free an address that it has already freed by a command that it did not
 * answer.
 */
static void operation_that_may_have_no_address_keeps_no_memory(struct kunit *test)
{
	const struct lost_case *c = test->param_value;
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(dm, 1));
	lose_next(env, c->executed);
	free_dm(dm);
	KUNIT_EXPECT_EQ(test, env->ops, !c->executed);
	/* The next command, which frees the address if it still exists, is not answered either. */
	if (c->again) {
		lose_next(env, !c->executed);
		mlx5_ib_return_spare_memic(env->mock->dev->dm);
		KUNIT_EXPECT_TRUE(test, any_spare(env));
	}
	expect_nothing(test);
}

/* Firmware has answered, so a refusal does not mean that the operation has no address. */
static void operation_that_firmware_keeps_has_its_address(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(dm, 1));
	env->refuse = env->commands + 1;
	env->refuse_err = -EINVAL;
	free_dm(dm);
	KUNIT_EXPECT_EQ(test, env->ops, 1);
	/* Firmware deallocates no memory that operations refer to. */
	expect_nothing(test);
}

/* Firmware executes the command that it did not answer after it has refused to free the address. */
static void late_address_does_not_keep_the_memory(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);

	lose_map_op(test, dm, false);
	env->late = BIT(1);
	free_dm(dm);
	mlx5_ib_return_spare_memic(env->mock->dev->dm);
	KUNIT_EXPECT_EQ(test, env->ops, 1);
	KUNIT_EXPECT_EQ(test, env->allocations, 1);
	expect_nothing(test);
}

static void late_address_is_freed_before_the_next_one(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);

	lose_map_op(test, dm, false);
	env->late = BIT(1);
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_dm_map_op(dm, 1)), -EINVAL);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(dm, 1));
	KUNIT_EXPECT_EQ(test, env->ops, 1);
	free_dm(dm);
	expect_nothing(test);
}

/* The operation has no address now, but the command that was not answered may still give it one. */
static void memory_that_may_get_an_address_is_not_reused(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);

	lose_map_op(test, dm, false);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(dm, 1));
	env->late = BIT(1);
	free_dm(dm);
	KUNIT_EXPECT_EQ(test, env->ops, 1);
	dm = create(test, 64, 0);
	KUNIT_EXPECT_EQ(test, *env->mock->dev->dm->used, 0x2);
	KUNIT_EXPECT_TRUE(test, any_spare(env));
	free_dm(dm);
	expect_nothing(test);
}

/* Neither a lost answer nor a command that was not sent says that the memory exists. */
static void operation_on_memory_that_may_be_gone_is_not_named(struct kunit *test)
{
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);

	lose_map_op(test, dm, false);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(dm, 1));
	free_dm(dm);
	lose_memory(test);
	env->refuse = env->commands + 1;
	env->refuse_err = -ECANCELED;
	mlx5_ib_return_spare_memic(env->mock->dev->dm);
	KUNIT_EXPECT_TRUE(test, any_spare(env));
	env->commands = 0;
	expect_nothing(test);
	KUNIT_EXPECT_EQ(test, env->commands, 1);
}

/* A task that maps operation 0 of @dm, on the firmware of the test. */
static struct mapper {
	struct mlx5_ib_dm *dm;
	struct task_struct *task;
	struct mlx5_user_mmap_entry *entry;
} mapper;

static int map_op(void *test)
{
	current->kunit_test = test;
	WRITE_ONCE(mapper.entry, mlx5_ib_dm_map_op(mapper.dm, 0));
	current->kunit_test = NULL;
	return 0;
}

/* Let the task run until it sleeps for a lock; or to its end, which is a mistake. */
static void map_op_meanwhile(struct kunit *test)
{
	unsigned int ms;

	wake_up_process(mapper.task);
	for (ms = 0; ms < 5000; ms++) {
		if (READ_ONCE(mapper.entry))
			return;
		if (READ_ONCE(mapper.task->__state) == TASK_UNINTERRUPTIBLE)
			return;
		usleep_range(1000, 2000);
	}
	KUNIT_FAIL(test, "the task neither waits nor ends");
}

/*
 * Firmware frees the address of an operation, does not answer, and gives the address to another
 * process. This process waits until the driver has left the page, and is not refused.
 */
static void operation_waits_for_the_page_behind_a_lost_answer(struct kunit *test)
{
	static const u32 op_at[WINDOW_PAGES];
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);

	mapper = (struct mapper){ .dm = create(test, 64, 0) };
	mapper.task = kthread_create(map_op, test, "bluebell-map-op");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mapper.task);
	get_task_struct(mapper.task);
	env->op_at = op_at;
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, mlx5_ib_dm_map_op(dm, 0));
	env->lose = env->commands + 1;
	env->meanwhile = map_op_meanwhile;
	free_dm(dm);
	kthread_stop_put(mapper.task);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, mapper.entry);
	free_dm(mapper.dm);
	expect_nothing(test);
}

static void refused_region_leaves_nothing(struct kunit *test)
{
	struct ib_dm_mr_attr attr = { .length = 64, .access_flags = IB_ZERO_BASED };
	struct ib_dm_mr_attr based = { .length = 64 };
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);
	struct ib_mr *mr;

	mr = mlx5_ib_reg_dm_mr(&env->pd.ibpd, &dm->ibdm, &based, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(mr), -EINVAL);
	KUNIT_EXPECT_EQ(test, env->commands, 1);
	env->refuse = 2;
	mr = mlx5_ib_reg_dm_mr(&env->pd.ibpd, &dm->ibdm, &attr, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(mr), -EIO);
	mr = mlx5_ib_reg_dm_mr(&env->pd.ibpd, &dm->ibdm, &attr, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	mr->device = &env->mock->dev->ib_dev;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	free_dm(dm);
	expect_nothing(test);
}

/* The device may reach the memory through the key, until the device fails or is reset. */
static void memory_of_a_key_that_may_exist_is_kept(struct kunit *test)
{
	struct ib_dm_mr_attr attr = { .length = 64, .access_flags = IB_ZERO_BASED };
	struct dm_env *env = test->priv;
	struct mlx5_core_dev *mdev = env->mock->dev->mdev;
	enum mlx5_device_state state = mdev->state;
	struct ib_uobject uobj = { .context = uctx_of(env) };
	atomic_t *count = count_pages(test);
	struct mlx5_ib_dm *dm = create(test, 64, 0), *next;

	env->pd.ibpd.uobject = &uobj;
	env->refuse = 2;
	env->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_reg_dm_mr(&env->pd.ibpd, &dm->ibdm, &attr, NULL)),
			-ETIMEDOUT);
	free_dm(dm);
	KUNIT_EXPECT_FALSE(test, any_spare(env));
	KUNIT_EXPECT_EQ(test, atomic_read(count), 1);
	/* No other user gets the page. */
	next = create(test, 64, 0);
	KUNIT_EXPECT_EQ(test, next->mem->page, 1);
	free_dm(next);
	mlx5_ib_return_spare_memic(env->mock->dev->dm);
	KUNIT_EXPECT_EQ(test, env->allocations, 1);
	KUNIT_EXPECT_EQ(test, pages_taken(env), 1);
	mdev->state = MLX5_DEVICE_STATE_INTERNAL_ERROR;
	mlx5_ib_orphans_retry(env->mock->dev, env->mock->context);
	mdev->state = state;
	KUNIT_EXPECT_EQ(test, atomic_read(count), 0);
	env->pd.ibpd.uobject = NULL;
	mock_drop_user(env->mock);
	expect_nothing(test);
}

/* Firmware refuses to destroy the key when the process exits, so the key becomes an orphan. */
static void memory_of_an_orphaned_key_is_kept(struct kunit *test)
{
	struct ib_dm_mr_attr attr = { .length = 64, .access_flags = IB_ZERO_BASED };
	struct dm_env *env = test->priv;
	struct mlx5_ib_dm *dm = create(test, 64, 0);
	struct ib_mr *mr = mlx5_ib_reg_dm_mr(&env->pd.ibpd, &dm->ibdm, &attr, NULL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	mr->device = &env->mock->dev->ib_dev;
	env->mock->context->closing = true;
	env->refuse = env->commands + 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, mock_udata(env->mock, NULL, 0, 0)), 0);
	KUNIT_EXPECT_EQ(test, env->keys, 1);
	free_dm(dm);
	mlx5_ib_return_spare_memic(env->mock->dev->dm);
	KUNIT_EXPECT_EQ(test, env->allocations, 1);
	KUNIT_EXPECT_EQ(test, pages_taken(env), 1);
	mlx5_ib_orphans_leave_context(env->mock->dev, env->mock->context);
	expect_nothing(test);
}

/* A task that tries the orphans of closed contexts again, on the firmware of the test. */
static int retry_orphans(void *test)
{
	struct dm_env *env = ((struct kunit *)test)->priv;
	struct work_struct *work = &env->mock->dev->orphans.retry.work;

	current->kunit_test = test;
	work->func(work);
	current->kunit_test = NULL;
	return 0;
}

/* Wait until @task, which destroys a key, sleeps for a lock afterwards. */
static void wait_until_blocked(struct dm_env *env, struct task_struct *task)
{
	unsigned int ms;

	for (ms = 0; ms < 5000; ms++) {
		if (!READ_ONCE(env->keys) && READ_ONCE(task->__state) == TASK_UNINTERRUPTIBLE)
			return;
		usleep_range(1000, 2000);
	}
	KUNIT_FAIL(kunit_get_current_test(), "the task does not wait");
}

/* The task that holds the pool waits for firmware: for minutes, if firmware is silent. */
static void orphans_do_not_wait_for_the_pool(struct kunit *test)
{
	struct ib_dm_mr_attr attr = { .length = 64, .access_flags = IB_ZERO_BASED };
	struct dm_env *env = test->priv;
	struct mlx5_ib_dev *dev = env->mock->dev;
	struct mlx5_ib_dm *dm = create(test, 64, 0);
	struct ib_mr *mr = mlx5_ib_reg_dm_mr(&env->pd.ibpd, &dm->ibdm, &attr, NULL);
	struct task_struct *task = kthread_create(retry_orphans, test, "bluebell-orphans");

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	get_task_struct(task);
	mr->device = &dev->ib_dev;
	env->mock->context->closing = true;
	env->refuse = env->commands + 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, mock_udata(env->mock, NULL, 0, 0)), 0);
	free_dm(dm);
	env->refuse = env->commands + 1;
	mlx5_ib_orphans_leave_context(dev, env->mock->context);
	KUNIT_EXPECT_EQ(test, env->keys, 1);
	scoped_guard(mutex, &dev->dm->lock) {
		wake_up_process(task);
		wait_until_blocked(env, task);
		/* Another task adds an orphan, or tries its own orphans again. */
		if (mutex_trylock(&dev->orphans.lock))
			mutex_unlock(&dev->orphans.lock);
		else
			KUNIT_FAIL(test, "orphans wait for the pool");
	}
	kthread_stop_put(task);
	expect_nothing(test);
}

/* ---- allocations that fail ---------------------------------------------------------------- */

static struct mlx5_ib_dm *dm_of_verb;

static int create_verb(void *env)
{
	dm_of_verb = mlx5_ib_create_dm(uctx_of(env), 64, 0);
	if (IS_ERR(dm_of_verb))
		return PTR_ERR(dm_of_verb);
	dm_of_verb->ibdm.device = &((struct dm_env *)env)->mock->dev->ib_dev;
	return 0;
}

static void free_verb(void *env)
{
	free_dm(dm_of_verb);
}

static int reg_verb(void *env)
{
	struct ib_dm_mr_attr attr = { .length = 64, .access_flags = IB_ZERO_BASED };
	struct ib_mr *mr;

	mr = mlx5_ib_reg_dm_mr(&((struct dm_env *)env)->pd.ibpd, &dm_of_verb->ibdm, &attr, NULL);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mr->device = dm_of_verb->ibdm.device;
	mr->dm = &dm_of_verb->ibdm;
	KUNIT_EXPECT_EQ(kunit_get_current_test(), mlx5_ib_dereg_mr(mr, NULL), 0);
	return 0;
}

static void no_verb(void *env)
{
}

static void failure_of_any_allocation_leaves_no_memory(struct kunit *test)
{
	static const struct fail_alloc_verb create = { create_verb, free_verb };
	static const struct fail_alloc_verb reg = { reg_verb, no_verb };
	struct dm_env *env = test->priv;

	fail_alloc_each(env->mock, &create, env);
	KUNIT_ASSERT_EQ(test, create_verb(env), 0);
	fail_alloc_each(env->mock, &reg, env);
	free_verb(env);
	expect_nothing(test);
}

static struct kunit_case layout_cases[] = {
	KUNIT_CASE_PARAM(window_is_read_from_the_capabilities, caps_gen_params),
	KUNIT_CASE_PARAM(only_valid_requests_are_accepted, request_gen_params),
	KUNIT_CASE_PARAM(first_free_pages_with_the_alignment_are_found, pages_gen_params),
	KUNIT_CASE(alignment_is_that_of_the_bar_address),
	KUNIT_CASE(only_supported_access_is_accepted),
	KUNIT_CASE(key_over_device_memory_is_exact_to_the_bit),
	{}
};

static struct kunit_suite layout_suite = {
	.name = "bluebell_dm_layout",
	.test_cases = layout_cases,
};

static struct kunit_case dm_cases[] = {
	KUNIT_CASE(only_the_allocated_pages_are_cleared),
	KUNIT_CASE(allocation_tries_the_whole_window),
	KUNIT_CASE(refused_allocation_leaves_nothing),
	KUNIT_CASE(window_that_cannot_be_mapped_leaves_nothing),
	KUNIT_CASE(memory_that_may_be_allocated_counts),
	KUNIT_CASE(allocation_without_an_mmap_offset_leaves_nothing),
	KUNIT_CASE(mmap_offset_ends_within_the_interface),
	KUNIT_CASE(freed_memory_is_reused_without_a_command),
	KUNIT_CASE(spare_memory_gives_way_to_an_allocation),
	KUNIT_CASE(memory_that_firmware_keeps_is_reused_as_it_is),
	KUNIT_CASE(spare_memory_is_returned_if_firmware_has_no_more),
	KUNIT_CASE(spare_memory_is_reused_only_if_aligned),
	KUNIT_CASE(spare_memory_with_operations_is_not_reused),
	KUNIT_CASE_PARAM(memory_that_may_be_gone_is_not_reused, gone_gen_params),
	KUNIT_CASE_PARAM(spare_memory_is_dropped_with_the_device, drop_gen_params),
	KUNIT_CASE(log_has_the_refusal_of_each_allocation),
	KUNIT_CASE(mapped_memory_is_kept_until_it_is_unmapped),
	KUNIT_CASE(operation_has_one_mmap_offset),
	KUNIT_CASE(addresses_of_operations_have_their_mutex),
	KUNIT_CASE(operation_that_the_device_lacks_is_refused),
	KUNIT_CASE(refused_operation_leaves_nothing),
	KUNIT_CASE(operations_share_no_page),
	KUNIT_CASE(operation_takes_each_of_its_pages_or_none),
	KUNIT_CASE(operations_are_freed_before_their_memory),
	KUNIT_CASE_PARAM(operation_that_may_have_an_address_is_freed, lost_gen_params),
	KUNIT_CASE_PARAM(operation_that_may_have_no_address_keeps_no_memory, lost_gen_params),
	KUNIT_CASE(operation_that_firmware_keeps_has_its_address),
	KUNIT_CASE(late_address_does_not_keep_the_memory),
	KUNIT_CASE(late_address_is_freed_before_the_next_one),
	KUNIT_CASE(memory_that_may_get_an_address_is_not_reused),
	KUNIT_CASE(operation_on_memory_that_may_be_gone_is_not_named),
	KUNIT_CASE(operation_waits_for_the_page_behind_a_lost_answer),
	KUNIT_CASE(refused_region_leaves_nothing),
	KUNIT_CASE(failure_of_any_allocation_leaves_no_memory),
	KUNIT_CASE(memory_of_a_key_that_may_exist_is_kept),
	KUNIT_CASE(memory_of_an_orphaned_key_is_kept),
	KUNIT_CASE(orphans_do_not_wait_for_the_pool),
	{}
};

static struct kunit_suite dm_suite = {
	.name = "bluebell_dm",
	.init = init_env,
	.test_cases = dm_cases,
};

kunit_test_suites(&layout_suite, &dm_suite);
