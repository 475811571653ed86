// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the mmap space: what every command and every malformed offset
 * decodes to. Offsets are written out in pages, as user space builds them.
 */

#include <kunit/test.h>
#include <linux/limits.h>

#include "layout/layout_uar.h"

/* The library's default on 4 KiB pages: 8 static and 512 dynamic pages. */
static const struct mlx5_bfreg_layout layout = {
	.uars_per_sys_page = 1,
	.num_low_latency_bfregs = 4,
	.num_static_bfregs = 16,
	.num_dyn_bfregs = 1024,
	.num_static_sys_pages = 8,
	.num_sys_pages = 520,
};

/* Objects that are not device memory are found in the same way. */
#define ENTRY		MLX5_IB_MMAP_DEVICE_MEM
#define REGULAR		MLX5_IB_MMAP_REGULAR_PAGE
#define WC		MLX5_IB_MMAP_WC_PAGE
#define NC		MLX5_IB_MMAP_NC_PAGE
#define DYN_UAR		MLX5_IB_MMAP_ALLOC_WC
#define CORE_CLOCK	MLX5_IB_MMAP_CORE_CLOCK
#define CLOCK_INFO	MLX5_IB_MMAP_CLOCK_INFO

static const struct decode_case {
	const char *name;
	unsigned long pgoff;
	int want;
	u32 index;
} decode_cases[] = {
	{ "regular page 0", 0x00000, REGULAR, 0 },
	{ "the last regular page", 0x00007, REGULAR, 7 },
	{ "a regular page too many", 0x00008, -EINVAL },
	{ "regular page 255", 0x000ff, -EINVAL },
	{ "contiguous pages, which are no more", 0x00100, -EINVAL },
	{ "contiguous pages of an order", 0x00105, -EINVAL },
	{ "WC page 0", 0x00200, WC, 0 },
	{ "the last WC page", 0x00207, WC, 7 },
	{ "a WC page too many", 0x00208, -EINVAL },
	{ "NC page 0", 0x00300, NC, 0 },
	{ "the last NC page", 0x00307, NC, 7 },
	{ "an NC page too many", 0x00308, -EINVAL },
	{ "command 4, which does not exist", 0x00400, -EINVAL },
	{ "the core clock", 0x00500, CORE_CLOCK, 0 },
	{ "dynamic page 0", 0x00600, DYN_UAR, 0 },
	{ "dynamic page 255", 0x006ff, DYN_UAR, 255 },
	{ "dynamic page 256 has an extended index", 0x10600, DYN_UAR, 256 },
	{ "the last dynamic page", 0x106ff, DYN_UAR, 511 },
	{ "a dynamic page too many", 0x20600, -EINVAL },
	{ "the clock's parameters, version 1", 0x00700, CLOCK_INFO, 0 },
	{ "device memory 0", 0x00800, ENTRY, 0x80000 },
	{ "device memory 255", 0x008ff, ENTRY, 0x800ff },
	{ "device memory 256 has an extended index", 0x10800, ENTRY, 0x80100 },
	{ "the last device memory", 0x808ff, ENTRY, 0x808ff },
	{ "command 9, which does not exist", 0x00900, -EINVAL },
	{ "command 255, which does not exist", 0x0ff00, -EINVAL },
	{ "a static page with an extended index", 0x10000, -EINVAL },
	{ "a WC page with an extended index", 0x10200, -EINVAL },
	{ "an NC page with an extended index", 0x10300, -EINVAL },
	{ "the last offset before the objects", 0x8ffff, -EINVAL },
	{ "the first object's offset", 0x90000, ENTRY, 0x90000 },
	{ "an object's offset whose bits look like a command", 0x90600, ENTRY, 0x90600 },
	{ "an object's offset that looks like device memory", 0x90800, ENTRY, 0x90800 },
	{ "the last object's offset", 0xffffff, ENTRY, 0xffffff },
};

KUNIT_ARRAY_PARAM_DESC(decode, decode_cases, name);

static void mmap_offset_is_decoded(struct kunit *test)
{
	const struct decode_case *c = test->param_value;
	u32 index = ~0U;

	KUNIT_ASSERT_EQ(test, mlx5_ib_decode_mmap_offset(c->pgoff, &layout, &index), c->want);
	if (c->want >= 0)
		KUNIT_EXPECT_EQ(test, index, c->index);
}

/* The bits above the defined bits: the driver may ignore none of them. */
static void unused_high_bits_of_an_offset_select_no_command(struct kunit *test)
{
	static const unsigned long pgoffs[] = { 0x000, 0x200, 0x300, 0x500, 0x600, 0x700 };
	u32 index;
	int i, bit;

	for (i = 0; i < ARRAY_SIZE(pgoffs); i++)
		for (bit = 24; bit < BITS_PER_LONG - PAGE_SHIFT; bit++) {
			int cmd = mlx5_ib_decode_mmap_offset(pgoffs[i] | 1UL << bit, &layout,
							     &index);

			if (cmd >= 0)
				KUNIT_EXPECT_EQ_MSG(test, cmd, ENTRY, "0x%lx with bit %d",
						    pgoffs[i], bit);
		}
}

/* No command may be reached from more offsets than the interface has. */
static void only_offsets_of_the_interface_are_accepted(struct kunit *test)
{
	unsigned int counts[256] = {};
	u32 index;
	unsigned long pgoff;
	int cmd;

	for (pgoff = 0; pgoff < MLX5_IB_MMAP_OFFSET_START; pgoff++) {
		cmd = mlx5_ib_decode_mmap_offset(pgoff, &layout, &index);
		if (cmd >= 0)
			counts[cmd]++;
	}
	KUNIT_EXPECT_EQ(test, counts[REGULAR], 8);
	KUNIT_EXPECT_EQ(test, counts[WC], 8);
	KUNIT_EXPECT_EQ(test, counts[NC], 8);
	KUNIT_EXPECT_EQ(test, counts[DYN_UAR], 512);
	KUNIT_EXPECT_EQ(test, counts[CORE_CLOCK], 1);
	KUNIT_EXPECT_EQ(test, counts[CLOCK_INFO], 1);
	KUNIT_EXPECT_EQ(test, counts[ENTRY], 9 * 256);
}

static void context_without_static_pages_maps_none(struct kunit *test)
{
	static const struct mlx5_bfreg_layout none = { .uars_per_sys_page = 1 };
	u32 index;

	KUNIT_EXPECT_EQ(test, mlx5_ib_decode_mmap_offset(0x000, &none, &index), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_decode_mmap_offset(0x200, &none, &index), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_decode_mmap_offset(0x300, &none, &index), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_decode_mmap_offset(0x600, &none, &index), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_decode_mmap_offset(0x500, &none, &index), CORE_CLOCK);
}

static struct kunit_case mmap_cases[] = {
	KUNIT_CASE_PARAM(mmap_offset_is_decoded, decode_gen_params),
	KUNIT_CASE(unused_high_bits_of_an_offset_select_no_command),
	KUNIT_CASE(only_offsets_of_the_interface_are_accepted),
	KUNIT_CASE(context_without_static_pages_maps_none),
	{}
};

static struct kunit_suite mmap_suite = {
	.name = "bluebell_mmap",
	.test_cases = mmap_cases,
};

kunit_test_suite(mmap_suite);
