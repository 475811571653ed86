// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the pool of free memory keys: which key fits a region, and how many keys
 * are kept, created and destroyed.
 */

#include <kunit/test.h>
#include <linux/limits.h>
#include <rdma/ib_verbs.h>

#include "lib/mkey_caps.h"
#include "lib/mkey_pool.h"

#define RELAXED		IB_ACCESS_RELAXED_ORDERING
#define ATOMIC		IB_ACCESS_REMOTE_ATOMIC
#define LAST		(MLX5_IB_POOL_SIZES - 1)
#define FAMILY(f)	((f) * MLX5_IB_POOL_SIZES)
#define LONG		MLX5_IB_CLASS_LONG
#define FIRMWARE	MLX5_IB_CLASS_FIRMWARE

static const struct mkey_caps none;
static const struct mkey_caps far = { .umr_long_offset = true };
static const struct mkey_caps ro_read = { .relaxed_ordering_read = true };
static const struct mkey_caps ro_write = { .relaxed_ordering_write = true };
static const struct mkey_caps fixed = {
	.relaxed_ordering_write = true, .umr_keeps_atomic = true,
};

static const struct class_case {
	const char *name;
	u32 nmtts;
	u32 access;
	const struct mkey_caps *caps;
	int class;
} class_cases[] = {
	{ "one entry", 1, 0, &none, 0 },
	{ "a full smallest key", 8, 0, &none, 0 },
	{ "one more than the smallest key", 9, 0, &none, 1 },
	{ "a full second size", 16, 0, &none, 1 },
	{ "one more than the second size", 17, 0, &none, 2 },
	{ "all that a short offset reaches", BIT(17), 0, &none, LAST - 1 },
	{ "one more than a short offset reaches", BIT(17) + 1, 0, &none, FIRMWARE },
	{ "that one with long offsets", BIT(17) + 1, 0, &far, LAST },
	{ "1 GiB of 4 KiB pages", BIT(18), 0, &far, LAST },
	{ "one page more than that", BIT(18) + 1, 0, &far, LONG },
	{ "as many as there can be", U32_MAX, 0, &far, LONG },
	{ "relaxed ordering that the device lacks", 1, RELAXED, &none, 0 },
	{ "relaxed reads", 1, RELAXED, &ro_read, FAMILY(1) },
	{ "relaxed writes of the second size", 9, RELAXED, &ro_write, FAMILY(1) + 1 },
	{ "atomic operations that UMR can allow", 1, ATOMIC, &ro_write, 0 },
	{ "atomic operations that it cannot", 1, ATOMIC, &fixed, FAMILY(2) },
	{ "both", BIT(17), ATOMIC | RELAXED, &fixed, FAMILY(3) + LAST - 1 },
};

KUNIT_ARRAY_PARAM_DESC(class, class_cases, name);

static void region_gets_the_smallest_key_that_fits(struct kunit *test)
{
	const struct class_case *c = test->param_value;
	const struct mlx5_ib_caps *caps = mock_mkey_caps(test, c->caps);
	int class = mlx5_ib_mkey_pool_class(c->nmtts, c->access, caps);

	KUNIT_EXPECT_EQ(test, class, c->class);
	if (class < 0)
		return;
	KUNIT_EXPECT_LT(test, class, MLX5_IB_POOL_CLASSES);
	KUNIT_EXPECT_GE(test, mlx5_ib_mkey_pool_class_mtts(class), c->nmtts);
	if (class % MLX5_IB_POOL_SIZES)
		KUNIT_EXPECT_LT(test, mlx5_ib_mkey_pool_class_mtts(class - 1), c->nmtts);
	KUNIT_EXPECT_EQ(test, class / MLX5_IB_POOL_SIZES,
			mlx5_ib_mkey_pool_family(c->access, caps));
}

/*
 * While no region uses keys, the pool has 16 free keys of class 0, one of class 7, none of class 8.
 * Of class LAST it keeps at most four.
 */
static const struct keep_case {
	const char *name;
	int class;
	struct mlx5_ib_mkey_pool_use use;
	u32 want;
	u32 missing;
	u32 surplus;
} keep_cases[] = {
	{ "small keys are ready before the first request", 0, { 0, 0, 0 }, 16, 16, 0 },
	{ "fewer of a larger size", 2, { 0, 0, 0 }, 4, 4, 0 },
	{ "one of a size larger still", 7, { 0, 0, 0 }, 1, 1, 0 },
	{ "none of a size that is seldom used", 8, { 0, 0, 0 }, 0, 0, 0 },
	{ "none of another family", FAMILY(1), { 0, 0, 0 }, 0, 0, 0 },
	{ "no work for one that is taken", 0, { 1, 1, 15 }, 16, 0, 0 },
	{ "nor for the only one", 7, { 1, 1, 0 }, 1, 0, 0 },
	{ "nor for half of them", 0, { 8, 8, 8 }, 16, 0, 0 },
	{ "but for more", 0, { 9, 9, 7 }, 16, 1, 0 },
	{ "and that one is kept with those that come back", 0, { 0, 9, 17 }, 17, 0, 0 },
	{ "a demand that comes and goes is met", 0, { 0, 1000, 1000 }, 1008, 0, 0 },
	{ "what is in use comes back by itself", 8, { 60, 100, 0 }, 40, 0, 0 },
	{ "what ageing has made too many", 8, { 60, 80, 40 }, 20, 0, 20 },
	{ "nothing of it is left at last", 8, { 60, 60, 20 }, 0, 0, 20 },
	{ "ready keys survive that", 0, { 0, 0, 20 }, 16, 0, 4 },
	{ "demand without end ends at a limit", 0, { 0, U32_MAX, 5000 }, 4096, 0, 904 },
	{ "a limit of entries for large keys", LAST, { 0, 100, 3 }, 4, 0, 0 },
	{ "beyond it they are destroyed", LAST, { 0, 100, 5 }, 4, 0, 1 },
	{ "no key is created while memory is short", 0, { 0, 0, 3, true }, 16, 0, 0 },
	{ "nor beside keys in use", 0, { 4, 4, 3, true }, 16, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(keep, keep_cases, name);

static void number_of_kept_keys_follows_demand(struct kunit *test)
{
	const struct keep_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_pool_want(c->class, &c->use), c->want);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_pool_missing(c->class, &c->use), c->missing);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_pool_surplus(c->class, &c->use), c->surplus);
}

static void past_demand_is_forgotten_in_ten_periods(struct kunit *test)
{
	struct mlx5_ib_mkey_pool_use use = { .in_use = 10, .peak = 1000 };
	unsigned int periods = 0;

	while (use.peak > use.in_use && periods < 100) {
		u32 peak = mlx5_ib_mkey_pool_age(&use);

		KUNIT_ASSERT_LT(test, peak, use.peak);
		KUNIT_ASSERT_GE(test, peak, use.in_use);
		use.peak = peak;
		periods++;
	}
	KUNIT_EXPECT_EQ(test, use.peak, 10);
	/* The peak is not forgotten at once: the process may register again after a minute. */
	KUNIT_EXPECT_EQ(test, periods, 10);
}

static struct kunit_case mkey_pool_cases[] = {
	KUNIT_CASE_PARAM(region_gets_the_smallest_key_that_fits, class_gen_params),
	KUNIT_CASE_PARAM(number_of_kept_keys_follows_demand, keep_gen_params),
	KUNIT_CASE(past_demand_is_forgotten_in_ten_periods),
	{}
};

static struct kunit_suite mkey_pool_suite = {
	.name = "bluebell_mkey_pool",
	.test_cases = mkey_pool_cases,
};

kunit_test_suite(mkey_pool_suite);
