// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the UAR layout: how many bfregs a context gets, which bfreg a queue takes, and on
 * which UAR the bfreg lies, with pages of 4, 16 and 64 KiB.
 */

#include <kunit/test.h>
#include <linux/string.h>

#include "layout/layout_uar.h"

#define INVALID		MLX5_IB_INVALID_UAR_INDEX

/* log2 of the size of a page. */
#define PAGE_4K		12
#define PAGE_16K	14
#define PAGE_64K	16

static const struct per_page_case {
	const char *name;
	unsigned int page_shift;
	bool uar_4k;
	u32 want;
} per_page_cases[] = {
	{ "4 KiB page, 4 KiB UARs", 12, true, 1 },
	{ "16 KiB page, 4 KiB UARs", 14, true, 4 },
	{ "64 KiB page, 4 KiB UARs", 16, true, 16 },
	{ "4 KiB page, UARs of a page", 12, false, 1 },
	{ "16 KiB page, UARs of a page", 14, false, 1 },
	{ "64 KiB page, UARs of a page", 16, false, 1 },
};

KUNIT_ARRAY_PARAM_DESC(per_page, per_page_cases, name);

static void system_page_holds_as_many_uars_as_fit(struct kunit *test)
{
	const struct per_page_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_uars_per_sys_page(c->page_shift, c->uar_4k), c->want);
}

static void each_uar_has_the_first_of_its_page(struct kunit *test)
{
	static const u32 per_page[] = { 1, 4, 16 };
	u32 i, uar;

	for (i = 0; i < ARRAY_SIZE(per_page); i++) {
		const struct mlx5_bfreg_layout layout = { .uars_per_sys_page = per_page[i] };

		for (uar = 0; uar < 3 * 16; uar++)
			KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_first_uar(&layout, uar),
					    uar / per_page[i] * per_page[i],
					    "UAR %u of %u in a page", uar, per_page[i]);
	}
}

static const struct shape_case {
	const char *name;
	u32 total;
	u32 low_latency;
	unsigned int page_shift;
	int want;
	u32 num_static;
	u32 static_pages;
	u32 pages;
} shape_cases[] = {
	{ "the library's default, 4 KiB", 16, 4, PAGE_4K, 0, 16, 8, 520 },
	{ "the library's default, 16 KiB", 16, 4, PAGE_16K, 0, 16, 2, 130 },
	{ "the library's default, 64 KiB, fills a page", 16, 4, PAGE_64K, 0, 32, 1, 33 },
	{ "none, 4 KiB", 0, 0, PAGE_4K, -EINVAL },
	{ "none, 64 KiB", 0, 0, PAGE_64K, -EINVAL },
	{ "one is rounded up to a UAR's two", 1, 0, PAGE_4K, 0, 2, 1, 513 },
	{ "one is rounded up to a 16 KiB page's eight", 1, 0, PAGE_16K, 0, 8, 1, 129 },
	{ "one is rounded up to a 64 KiB page's 32", 1, 0, PAGE_64K, 0, 32, 1, 33 },
	{ "two fill a UAR", 2, 1, PAGE_4K, 0, 2, 1, 513 },
	{ "three need a second UAR", 3, 0, PAGE_4K, 0, 4, 2, 514 },
	{ "33 need a second 64 KiB page", 33, 0, PAGE_64K, 0, 64, 2, 34 },
	{ "the limit, 4 KiB", 512, 0, PAGE_4K, 0, 512, 256, 768 },
	{ "the limit, 16 KiB", 512, 0, PAGE_16K, 0, 512, 64, 192 },
	{ "the limit, 64 KiB", 512, 0, PAGE_64K, 0, 512, 16, 48 },
	{ "one less than the limit is rounded up to it", 511, 511, PAGE_4K, 0, 512, 256, 768 },
	{ "one more than the limit", 513, 0, PAGE_4K, -ENOMEM },
	{ "one more than the limit, 64 KiB", 513, 0, PAGE_64K, -ENOMEM },
	{ "so many that rounding up overflows", ~0U, 0, PAGE_4K, -ENOMEM },
	{ "so many that rounding up overflows, 64 KiB", ~0U, ~0U, PAGE_64K, -ENOMEM },
	{ "all but one low latency", 16, 15, PAGE_4K, 0, 16, 8, 520 },
	{ "all low latency leaves no shared one", 16, 16, PAGE_4K, -EINVAL },
	{ "more low latency than there are", 16, 17, PAGE_4K, -EINVAL },
	{ "2^32-1 low latency", 16, ~0U, PAGE_4K, -EINVAL },
	{ "low latency is compared with the rounded number", 1, 1, PAGE_4K, 0, 2, 1, 513 },
	{ "low latency beyond the rounded number", 1, 2, PAGE_4K, -EINVAL },
	{ "low latency is compared with the rounded number, 64 KiB", 16, 31, PAGE_64K, 0, 32, 1,
	  33 },
	{ "no low latency", 16, 0, PAGE_4K, 0, 16, 8, 520 },
};

KUNIT_ARRAY_PARAM_DESC(shape, shape_cases, name);

static void context_gets_bfregs_in_whole_pages(struct kunit *test)
{
	const struct shape_case *c = test->param_value;
	struct mlx5_bfreg_layout layout = {};

	KUNIT_ASSERT_EQ(test, mlx5_ib_calc_total_bfregs(c->total, c->low_latency, c->page_shift,
							true, &layout), c->want);
	if (c->want)
		return;
	KUNIT_EXPECT_EQ(test, layout.uars_per_sys_page, 1 << (c->page_shift - PAGE_4K));
	KUNIT_EXPECT_EQ(test, layout.num_low_latency_bfregs, c->low_latency);
	KUNIT_EXPECT_EQ(test, layout.num_static_bfregs, c->num_static);
	KUNIT_EXPECT_EQ(test, layout.num_dyn_bfregs, 1024);
	KUNIT_EXPECT_EQ(test, layout.num_static_sys_pages, c->static_pages);
	KUNIT_EXPECT_EQ(test, layout.num_sys_pages, c->pages);
}

/* Such a library takes a whole page for each UAR. */
static void library_without_4k_uars_adds_fewer_bfregs_on_larger_pages(struct kunit *test)
{
	static const struct {
		unsigned int page_shift;
		u32 num_dyn;
		u32 pages;
	} cases[] = { { PAGE_4K, 1024, 520 }, { PAGE_16K, 512, 264 }, { PAGE_64K, 512, 264 } };
	struct mlx5_bfreg_layout layout;
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_ASSERT_EQ(test, 0, mlx5_ib_calc_total_bfregs(16, 4, cases[i].page_shift,
								   false, &layout));
		KUNIT_EXPECT_EQ(test, layout.uars_per_sys_page, 1);
		KUNIT_EXPECT_EQ(test, layout.num_static_bfregs, 16);
		KUNIT_EXPECT_EQ(test, layout.num_dyn_bfregs, cases[i].num_dyn);
		KUNIT_EXPECT_EQ(test, layout.num_static_sys_pages, 8);
		KUNIT_EXPECT_EQ(test, layout.num_sys_pages, cases[i].pages);
	}
}

#define MAX_STATIC	512

struct accounting {
	struct mlx5_bfreg_layout layout;
	unsigned int count[MAX_STATIC];
};

static struct accounting *make_accounting(struct kunit *test, u32 total, u32 low_latency,
					  unsigned int page_shift)
{
	struct accounting *acc = kunit_kzalloc(test, sizeof(*acc), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, acc);
	KUNIT_ASSERT_EQ(test, mlx5_ib_calc_total_bfregs(total, low_latency, page_shift, true,
							&acc->layout), 0);
	return acc;
}

static int take(struct kunit *test, struct accounting *acc)
{
	int bfregn = mlx5_ib_pick_bfreg(&acc->layout, acc->count);

	KUNIT_ASSERT_GE(test, bfregn, 0);
	KUNIT_ASSERT_LT(test, bfregn, acc->layout.num_static_bfregs);
	acc->count[bfregn]++;
	return bfregn;
}

static void expect_taken(struct kunit *test, struct accounting *acc, const int *want, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ_MSG(test, take(test, acc), want[i], "queue %zu", i + 1);
}

static const struct order_case {
	const char *name;
	u32 total;
	u32 low_latency;
	unsigned int page_shift;
	int want[20];
	size_t queues;
} order_cases[] = {
	{
		"17 queues on 16 registers: low latency, each medium one, the least loaded again",
		16, 4, PAGE_4K,
		{ 12, 13, 14, 15, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2 }, 17,
	},
	{
		"no low latency: the medium ones in turn",
		4, 0, PAGE_4K, { 1, 2, 3, 1, 2, 3, 1 }, 7,
	},
	{
		"all but register 0 low latency: the rest share register 0",
		4, 3, PAGE_4K, { 1, 2, 3, 0, 0, 0 }, 6,
	},
	{
		"one medium: it takes all that low latency doesn't",
		4, 2, PAGE_4K, { 2, 3, 1, 1, 1 }, 5,
	},
	{
		"two registers, one low latency",
		2, 1, PAGE_4K, { 1, 0, 0 }, 3,
	},
	{
		"two registers, none low latency",
		2, 0, PAGE_4K, { 1, 1, 1 }, 3,
	},
	{
		"the default in a 64 KiB page: low latency ones are the last of 32",
		16, 4, PAGE_64K, { 28, 29, 30, 31, 1, 2, 3 }, 7,
	},
	{
		"a 16 KiB page",
		8, 2, PAGE_16K, { 6, 7, 1, 2, 3, 4, 5, 1 }, 8,
	},
};

KUNIT_ARRAY_PARAM_DESC(order, order_cases, name);

static void queues_take_bfregs_by_class_and_load(struct kunit *test)
{
	const struct order_case *c = test->param_value;
	struct accounting *acc = make_accounting(test, c->total, c->low_latency, c->page_shift);

	expect_taken(test, acc, c->want, c->queues);
}

/* The library asked for no bfregs (MLX5_LIB_CAP_DYN_UAR), and names none for the queue pair. */
static void context_without_bfregs_has_none_for_a_queue(struct kunit *test)
{
	const struct mlx5_bfreg_layout layout = { .uars_per_sys_page = 1, .num_dyn_bfregs = 1024 };
	const unsigned int count = 0;

	KUNIT_EXPECT_EQ(test, mlx5_ib_pick_bfreg(&layout, &count), -ENOMEM);
}

static void freed_low_latency_bfreg_is_taken_next(struct kunit *test)
{
	struct accounting *acc = make_accounting(test, 16, 4, PAGE_4K);
	static const int first[] = { 12, 13, 14, 15, 1 };
	static const int again[] = { 12, 14, 2 };

	expect_taken(test, acc, first, ARRAY_SIZE(first));
	acc->count[14]--;
	acc->count[12]--;
	expect_taken(test, acc, again, ARRAY_SIZE(again));
}

static void freed_medium_bfreg_is_taken_next(struct kunit *test)
{
	struct accounting *acc = make_accounting(test, 16, 4, PAGE_4K);
	int i;

	for (i = 0; i < 4 + 2 * 11; i++)
		take(test, acc);
	acc->count[7]--;
	KUNIT_EXPECT_EQ(test, take(test, acc), 7);
	KUNIT_EXPECT_EQ(test, take(test, acc), 1);
}

static void low_latency_bfreg_is_never_shared(struct kunit *test)
{
	struct accounting *acc = make_accounting(test, 512, 100, PAGE_4K);
	int i;

	for (i = 0; i < 5000; i++)
		take(test, acc);
	for (i = 412; i < 512; i++)
		KUNIT_ASSERT_EQ_MSG(test, acc->count[i], 1, "bfreg %d", i);
	KUNIT_EXPECT_EQ(test, acc->count[0], 0);
}

static void medium_bfregs_share_the_load_evenly(struct kunit *test)
{
	struct accounting *acc = make_accounting(test, 64, 10, PAGE_16K);
	int i;

	/* 53 medium-latency bfregs, ten queues each. */
	for (i = 0; i < 10 + 530; i++)
		take(test, acc);
	for (i = 1; i < 54; i++)
		KUNIT_ASSERT_EQ_MSG(test, acc->count[i], 10, "bfreg %d", i);
}

static void counts_return_to_zero_with_the_last_queue(struct kunit *test)
{
	struct accounting *acc = make_accounting(test, 16, 4, PAGE_4K);
	int held[100], i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < ARRAY_SIZE(held); i++)
			held[i] = take(test, acc);
		for (i = 0; i < ARRAY_SIZE(held); i++)
			acc->count[held[i]]--;
		KUNIT_ASSERT_NULL(test, memchr_inv(acc->count, 0, sizeof(acc->count)));
	}
}

/*
 * System pages for the cases below: static pages have UARs 100, 200, 300 and so on; the third
 * dynamic page has UAR 0x777000, the other dynamic pages have none.
 */
static u32 *make_pages(struct kunit *test, const struct mlx5_bfreg_layout *layout)
{
	u32 *pages = kunit_kcalloc(test, layout->num_sys_pages, sizeof(*pages), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, pages);
	for (i = 0; i < layout->num_sys_pages; i++)
		pages[i] = i < layout->num_static_sys_pages ? (i + 1) * 100 : INVALID;
	pages[layout->num_static_sys_pages + 2] = 0x777000;
	return pages;
}

static const struct index_case {
	const char *name;
	unsigned int page_shift;
	u32 bfregn;
	bool dyn;
	int want;
} index_cases[] = {
	{ "4 KiB, static 0", PAGE_4K, 0, false, 100 },
	{ "4 KiB, static 1 is on the same UAR", PAGE_4K, 1, false, 100 },
	{ "4 KiB, static 2 is on the next", PAGE_4K, 2, false, 200 },
	{ "4 KiB, the last static", PAGE_4K, 15, false, 800 },
	{ "4 KiB, a static too many", PAGE_4K, 16, false, -EINVAL },
	{ "4 KiB, static 2^32-1", PAGE_4K, ~0U, false, -EINVAL },
	{ "16 KiB, static 1", PAGE_16K, 1, false, 100 },
	{ "16 KiB, static 2 is on the page's second UAR", PAGE_16K, 2, false, 101 },
	{ "16 KiB, static 7 is on the page's last UAR", PAGE_16K, 7, false, 103 },
	{ "16 KiB, static 8 is on the next page", PAGE_16K, 8, false, 200 },
	{ "16 KiB, the last static", PAGE_16K, 15, false, 203 },
	{ "16 KiB, a static too many", PAGE_16K, 16, false, -EINVAL },
	{ "64 KiB, static 2", PAGE_64K, 2, false, 101 },
	{ "64 KiB, the last static", PAGE_64K, 31, false, 115 },
	{ "64 KiB, a static too many", PAGE_64K, 32, false, -EINVAL },
	{ "4 KiB, dynamic 0 has no UAR", PAGE_4K, 0, true, -EINVAL },
	{ "4 KiB, dynamic 3 has no UAR", PAGE_4K, 3, true, -EINVAL },
	{ "4 KiB, dynamic 4 is on the third page", PAGE_4K, 4, true, 0x777000 },
	{ "4 KiB, dynamic 5 is on the third page", PAGE_4K, 5, true, 0x777000 },
	{ "4 KiB, dynamic 6 has no UAR", PAGE_4K, 6, true, -EINVAL },
	{ "4 KiB, the last dynamic has no UAR", PAGE_4K, 1023, true, -EINVAL },
	{ "4 KiB, a dynamic too many", PAGE_4K, 1024, true, -EINVAL },
	{ "4 KiB, dynamic 2^32-1", PAGE_4K, ~0U, true, -EINVAL },
	{ "4 KiB, a dynamic that wraps onto a static page", PAGE_4K, 0U - 16, true, -EINVAL },
	{ "16 KiB, dynamic 15 has no UAR", PAGE_16K, 15, true, -EINVAL },
	{ "16 KiB, dynamic 16 is on the third page", PAGE_16K, 16, true, 0x777000 },
	{ "16 KiB, dynamic 23 is on its last UAR", PAGE_16K, 23, true, 0x777003 },
	{ "16 KiB, a dynamic too many", PAGE_16K, 1024, true, -EINVAL },
	{ "64 KiB, dynamic 64 is on the third page", PAGE_64K, 64, true, 0x777000 },
	{ "64 KiB, dynamic 95 is on its last UAR", PAGE_64K, 95, true, 0x77700f },
	{ "64 KiB, dynamic 96 has no UAR", PAGE_64K, 96, true, -EINVAL },
	{ "64 KiB, a dynamic too many", PAGE_64K, 1024, true, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(index, index_cases, name);

static void bfreg_is_on_its_own_uar(struct kunit *test)
{
	const struct index_case *c = test->param_value;
	struct accounting *acc = make_accounting(test, 16, 4, c->page_shift);
	u32 *pages = make_pages(test, &acc->layout);

	KUNIT_EXPECT_EQ(test, mlx5_ib_bfreg_to_uar_index(&acc->layout, pages, c->bfregn, c->dyn),
			c->want);
}

/*
 * The library counts all four registers of a UAR, of which only the first two
 * are given to queues.
 */
static void library_is_told_the_number_of_its_register(struct kunit *test)
{
	static const u32 want[] = { 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(want); i++)
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_bfregn_to_user_index(i), want[i], "bfreg %u", i);
	KUNIT_EXPECT_EQ(test, mlx5_ib_bfregn_to_user_index(511), 1021);
}

static const struct pfn_case {
	const char *name;
	u64 bar;
	u32 uar_index;
	unsigned int page_shift;
	bool uar_4k;
	u64 want;
} pfn_cases[] = {
	{ "4 KiB, UAR 0", 0xfe000000, 0, 12, true, 0xfe000 },
	{ "4 KiB, UAR 5", 0xfe000000, 5, 12, true, 0xfe005 },
	{ "4 KiB, UARs of a page, UAR 5", 0xfe000000, 5, 12, false, 0xfe005 },
	{ "16 KiB, UAR 3 is in the first page", 0xfe000000, 3, 14, true, 0x3f800 },
	{ "16 KiB, UAR 4 is in the second page", 0xfe000000, 4, 14, true, 0x3f801 },
	{ "16 KiB, UARs of a page, UAR 4", 0xfe000000, 4, 14, false, 0x3f804 },
	{ "64 KiB, UAR 15 is in the first page", 0xfe000000, 15, 16, true, 0xfe00 },
	{ "64 KiB, UAR 16 is in the second page", 0xfe000000, 16, 16, true, 0xfe01 },
	{ "64 KiB, UARs of a page, UAR 16", 0xfe000000, 16, 16, false, 0xfe10 },
	{ "a BAR above 4 GiB", 0x3800000000000, 0x1fff, 12, true, 0x3800001fff },
};

KUNIT_ARRAY_PARAM_DESC(pfn, pfn_cases, name);

static void mapping_shows_the_uar_of_its_index(struct kunit *test)
{
	const struct pfn_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_uar_to_pfn(c->bar, c->uar_index, c->page_shift, c->uar_4k),
			c->want);
}

static struct kunit_case uar_cases[] = {
	KUNIT_CASE_PARAM(system_page_holds_as_many_uars_as_fit, per_page_gen_params),
	KUNIT_CASE(each_uar_has_the_first_of_its_page),
	KUNIT_CASE_PARAM(context_gets_bfregs_in_whole_pages, shape_gen_params),
	KUNIT_CASE(library_without_4k_uars_adds_fewer_bfregs_on_larger_pages),
	KUNIT_CASE_PARAM(queues_take_bfregs_by_class_and_load, order_gen_params),
	KUNIT_CASE(context_without_bfregs_has_none_for_a_queue),
	KUNIT_CASE(freed_low_latency_bfreg_is_taken_next),
	KUNIT_CASE(freed_medium_bfreg_is_taken_next),
	KUNIT_CASE(low_latency_bfreg_is_never_shared),
	KUNIT_CASE(medium_bfregs_share_the_load_evenly),
	KUNIT_CASE(counts_return_to_zero_with_the_last_queue),
	KUNIT_CASE_PARAM(bfreg_is_on_its_own_uar, index_gen_params),
	KUNIT_CASE(library_is_told_the_number_of_its_register),
	KUNIT_CASE_PARAM(mapping_shows_the_uar_of_its_index, pfn_gen_params),
	{}
};

static struct kunit_suite uar_suite = {
	.name = "bluebell_uar",
	.test_cases = uar_cases,
};

kunit_test_suite(uar_suite);
