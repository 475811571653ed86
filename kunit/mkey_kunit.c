// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the memory key layout: which registrations are accepted, the
 * MKC, the CREATE_MKEY command and translation lists of every page size.
 */

#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/sizes.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/iter.h>

#include "layout/layout_mkey.h"
#include "lib/golden.h"
#include "lib/mkey_caps.h"

#define MKC_SIZE		0x40
#define CREATE_MKEY_IN_SIZE	0x110
#define MIN_SHIFT		12
#define MAX_SHIFT		31

#define RELAXED		IB_ACCESS_RELAXED_ORDERING
#define ALL_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |	\
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

static const struct mkey_caps caps_64g = { .log_max_mr_size = 36 };
static const struct mkey_caps caps_all = { .log_max_mr_size = 64 };

static const struct mkey_caps caps_ro = {
	.log_max_mr_size = 36, .relaxed_ordering_read = true, .relaxed_ordering_write = true,
};

static const struct mkey_caps caps_ro_write = {
	.log_max_mr_size = 36, .relaxed_ordering_write = true,
};

static const struct check_case {
	const char *name;
	u64 length;
	u64 iova;
	u32 access;
	const struct mkey_caps *caps;
	int want;
} check_cases[] = {
	{ "one byte", 1, 0, 0, &caps_64g, 0 },
	{ "no byte", 0, 0, 0, &caps_64g, -EINVAL },
	{ "no byte at the end of the address space", 0, U64_MAX, 0, &caps_64g, -EINVAL },
	{ "the device's limit", 1ULL << 36, 0, 0, &caps_64g, 0 },
	{ "a byte more than the device's limit", (1ULL << 36) + 1, 0, 0, &caps_64g, -EINVAL },
	{ "the last byte of the address space", 1, U64_MAX, 0, &caps_64g, 0 },
	{ "a byte beyond the address space", 2, U64_MAX, 0, &caps_64g, -EINVAL },
	{ "the whole address space but a byte", U64_MAX, 0, 0, &caps_all, 0 },
	{ "a wrap of the whole address space", U64_MAX, 2, 0, &caps_all, -EINVAL },
	{ "every right", SZ_4K, SZ_4K, ALL_RIGHTS, &caps_64g, 0 },
	{ "memory windows", SZ_4K, SZ_4K, IB_ACCESS_MW_BIND, &caps_64g, 0 },
	{ "a zero-based region", SZ_4K, 0, IB_ZERO_BASED, &caps_64g, 0 },
	{ "huge pages", SZ_4K, 0, IB_ACCESS_HUGETLB, &caps_64g, 0 },
	{ "relaxed ordering that the device lacks", SZ_4K, 0, RELAXED, &caps_64g, 0 },
	{ "on-demand paging", SZ_4K, 0, IB_ACCESS_ON_DEMAND, &caps_64g, -EOPNOTSUPP },
	{ "an undefined right", SZ_4K, 0, BIT(10), &caps_64g, -EOPNOTSUPP },
	{ "the highest undefined right", SZ_4K, 0, BIT(31), &caps_64g, -EOPNOTSUPP },
};

KUNIT_ARRAY_PARAM_DESC(check, check_cases, name);

static void only_valid_registrations_are_accepted(struct kunit *test)
{
	const struct check_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_check_mr(c->length, c->iova, c->access,
					       mock_mkey_caps(test, c->caps)), c->want);
}

static const struct page_case {
	const char *name;
	bool cap_2;
	u8 min;
	u8 max;
	unsigned long want;
} page_cases[] = {
	{ "a device without capabilities for it", false, 14, 20, 0xfffff000 },
	{ "one that leaves them zero", true, 0, 0, 0xfffff000 },
	{ "pages of 8 KiB to 2 MiB", true, 13, 21, 0x003fe000 },
	{ "pages that UMR cannot express", true, 12, 40, 0xfffff000 },
	{ "one page size", true, 16, 16, 0x00010000 },
	{ "no page size", true, 21, 20, 0 },
};

KUNIT_ARRAY_PARAM_DESC(page, page_cases, name);

static void offered_page_sizes_are_those_of_keys(struct kunit *test)
{
	const struct page_case *c = test->param_value;
	struct mlx5_ib_caps *caps = mock_caps(test);

	MOCK_SET_CAP(caps, hca_cap_2, c->cap_2);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2, log_min_mkey_entity_size, c->min);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2, max_mkey_log_entity_size_mtt,
			c->max);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_page_sizes(caps), c->want);
}

static const struct mkc_case {
	const char *name;
	struct mlx5_ib_mkc_attr attr;
	const struct mkey_caps *caps;
	struct golden want[GOLDEN_MAX];
} mkc_cases[] = {
	{
		"read only, one page",
		{
			.pdn = 0x12, .iova = 0x7fff12345678, .length = 0x1000, .page_shift = 12,
			.nmtts = 2,
		},
		&caps_64g,
		{
			{ 0x00, 0x00000500 }, { 0x04, 0xffffff00 }, { 0x0c, 0x00000012 },
			{ 0x10, 0x00007fff }, { 0x14, 0x12345678 }, { 0x1c, 0x00001000 },
			{ 0x34, 0x00000001 }, { 0x38, 0x0000000c },
		},
	},
	{
		"local write",
		{ .access = IB_ACCESS_LOCAL_WRITE, .page_shift = 12, .nmtts = 1, .variant = 0xa5 },
		&caps_64g,
		{
			{ 0x00, 0x00000d00 }, { 0x04, 0xffffffa5 }, { 0x34, 0x00000001 },
			{ 0x38, 0x0000000c },
		},
	},
	{
		"remote read does not bring write",
		{ .access = IB_ACCESS_REMOTE_READ, .page_shift = 12 },
		&caps_64g,
		{ { 0x00, 0x00001500 }, { 0x04, 0xffffff00 }, { 0x38, 0x0000000c } },
	},
	{
		"remote write",
		{ .access = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE, .page_shift = 12 },
		&caps_64g,
		{ { 0x00, 0x00002d00 }, { 0x04, 0xffffff00 }, { 0x38, 0x0000000c } },
	},
	{
		"remote atomic",
		{ .access = IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_LOCAL_WRITE, .page_shift = 12 },
		&caps_64g,
		{ { 0x00, 0x00004d00 }, { 0x04, 0xffffff00 }, { 0x38, 0x0000000c } },
	},
	{
		"every field at its widest",
		{
			.access = ALL_RIGHTS | RELAXED, .pdn = 0xffffff, .iova = U64_MAX,
			.length = U64_MAX, .page_shift = 31, .nmtts = U32_MAX - 1, .variant = 0xff,
		},
		&caps_ro,
		{
			{ 0x00, 0x00047d00 }, { 0x04, 0xffffffff }, { 0x0c, 0x00ffffff },
			{ 0x10, 0xffffffff }, { 0x14, 0xffffffff }, { 0x18, 0xffffffff },
			{ 0x1c, 0xffffffff }, { 0x34, 0x7fffffff }, { 0x38, 0x0000005f },
		},
	},
	{
		"relaxed ordering of writes alone",
		{ .access = RELAXED, .page_shift = 12 },
		&caps_ro_write,
		{ { 0x00, 0x00040500 }, { 0x04, 0xffffff00 }, { 0x38, 0x0000000c } },
	},
	{
		"relaxed ordering that the device lacks",
		{ .access = RELAXED, .page_shift = 12 },
		&caps_64g,
		{ { 0x00, 0x00000500 }, { 0x04, 0xffffff00 }, { 0x38, 0x0000000c } },
	},
	{
		"relaxed ordering that was not asked for",
		{ .page_shift = 12 },
		&caps_ro,
		{ { 0x00, 0x00000500 }, { 0x04, 0xffffff00 }, { 0x38, 0x0000000c } },
	},
};

KUNIT_ARRAY_PARAM_DESC(mkc, mkc_cases, name);

static void mkc_is_exact_to_the_bit(struct kunit *test)
{
	const struct mkc_case *c = test->param_value;
	u32 mkc[MKC_SIZE / 4] = {};

	mlx5_ib_fill_mkc(mkc, &c->attr, mock_mkey_caps(test, c->caps));
	expect_golden(test, mkc, sizeof(mkc), c->want);
}

static void create_mkey_is_exact_to_the_bit(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x00, 0x02000000 },
		{ 0x10, 0x00000d00 }, { 0x14, 0xffffff33 }, { 0x1c, 0x00000007 },
		{ 0x24, 0x00010000 }, { 0x2c, 0x00005000 }, { 0x44, 0x00000003 },
		{ 0x48, 0x0000000c }, { 0x60, 0x00000003 },
	};
	static const struct mlx5_ib_mkc_attr attr = {
		.access = IB_ACCESS_LOCAL_WRITE, .pdn = 7, .iova = 0x10000, .length = 0x5000,
		.page_shift = 12, .nmtts = 5, .variant = 0x33,
	};
	u32 *in = kunit_kzalloc(test, CREATE_MKEY_IN_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, in);
	mlx5_ib_fill_create_mkey(in, &attr, mock_mkey_caps(test, &caps_64g));
	expect_golden(test, in, CREATE_MKEY_IN_SIZE, want);
}

static void create_mkey_has_room_for_its_entries(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mlx5_ib_create_mkey_inlen(0), CREATE_MKEY_IN_SIZE);
	KUNIT_EXPECT_EQ(test, mlx5_ib_create_mkey_inlen(1), CREATE_MKEY_IN_SIZE + 16);
	KUNIT_EXPECT_EQ(test, mlx5_ib_create_mkey_inlen(2), CREATE_MKEY_IN_SIZE + 16);
	KUNIT_EXPECT_EQ(test, mlx5_ib_create_mkey_inlen(3), CREATE_MKEY_IN_SIZE + 32);
	KUNIT_EXPECT_EQ(test, mlx5_ib_create_mkey_inlen(MLX5_IB_MAX_COMMAND_MTTS),
			CREATE_MKEY_IN_SIZE + 128 * SZ_1M);
}

static void entries_are_rounded_up_to_octowords(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mlx5_ib_mtt_octowords(0), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mtt_octowords(1), 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mtt_octowords(2), 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mtt_octowords(3), 2);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mtt_octowords(MLX5_IB_MAX_MTTS),
			MLX5_IB_MAX_MTTS / 2);
}

#define NUM_SEGS	3
#define GUARD		0x5ca1ab1e5ca1ab1eULL

/* Page sizes from 4 KiB to 2 GiB. The generator also makes up the names. */
static const void *shift_gen_params(struct kunit *test, const void *prev, char *desc)
{
	static u8 shifts[MAX_SHIFT - MIN_SHIFT + 1];
	u8 *shift = prev ? (u8 *)prev + 1 : shifts;

	if (shift == shifts + ARRAY_SIZE(shifts))
		return NULL;
	*shift = MIN_SHIFT + (shift - shifts);
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "2^%u bytes", *shift);
	return shift;
}

/*
 * A buffer of three DMA segments, with @blocks pages each. It starts @offset bytes into its first
 * page and ends @offset bytes before the end of its last page.
 */
static void make_umem(struct ib_umem *umem, struct scatterlist *sgl, unsigned long pgsz,
		      unsigned int blocks, unsigned int offset)
{
	unsigned int i;

	*umem = (struct ib_umem){
		.iova = 0x700000000000 + offset,
		.address = 0x700000000000 + offset,
		.length = (u64)pgsz * blocks * NUM_SEGS - 2 * offset,
	};
	sg_init_table(sgl, NUM_SEGS);
	for (i = 0; i < NUM_SEGS; i++) {
		sg_dma_address(&sgl[i]) = 0x40000000000ULL * (NUM_SEGS - i);
		sg_dma_len(&sgl[i]) = pgsz * blocks;
	}
	umem->sgt_append.sgt.sgl = sgl;
	umem->sgt_append.sgt.nents = NUM_SEGS;
	umem->sgt_append.sgt.orig_nents = NUM_SEGS;
}

static void translation_list_is_right_for_every_page_size(struct kunit *test)
{
	unsigned int shift = *(const u8 *)test->param_value;
	/* The length of a segment has 32 bits: of the largest pages, only one fits. */
	unsigned int blocks = shift < 30 ? 3 : 1;
	unsigned long pgsz = 1UL << shift;
	struct scatterlist sgl[NUM_SEGS];
	__be64 pas[NUM_SEGS * 3 + 1];
	struct ib_umem umem;
	unsigned int i;

	make_umem(&umem, sgl, pgsz, blocks, 64);
	KUNIT_ASSERT_EQ(test, ib_umem_num_dma_blocks(&umem, pgsz), NUM_SEGS * blocks);
	pas[NUM_SEGS * blocks] = cpu_to_be64(GUARD);

	mlx5_ib_populate_pas(&umem, pgsz, pas);

	for (i = 0; i < NUM_SEGS * blocks; i++)
		KUNIT_EXPECT_EQ_MSG(test, be64_to_cpu(pas[i]),
				    0x40000000000ULL * (NUM_SEGS - i / blocks) +
				    (u64)(i % blocks) * pgsz, "entry %u", i);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(pas[NUM_SEGS * blocks]), GUARD);
}

/* The device's pages are smaller than the segments. */
static void large_segment_is_cut_into_pages(struct kunit *test)
{
	struct scatterlist sgl[NUM_SEGS];
	struct ib_umem umem;
	unsigned int i;
	__be64 *pas;

	pas = kunit_kcalloc(test, 3 * 512, sizeof(*pas), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pas);
	make_umem(&umem, sgl, SZ_2M, 1, 0);

	mlx5_ib_populate_pas(&umem, SZ_4K, pas);

	for (i = 0; i < 3 * 512; i++)
		KUNIT_ASSERT_EQ_MSG(test, be64_to_cpu(pas[i]),
				    0x40000000000ULL * (NUM_SEGS - i / 512) +
				    (u64)(i % 512) * SZ_4K, "entry %u", i);
}

#define PIECES	6

/*
 * Scatterlists. As with a user's pages, an entry may end anywhere, and the next one may follow it
 * in memory.
 */
static const struct list_case {
	const char *name;
	unsigned long pgsz;
	unsigned int offset;
	unsigned int count;
	struct { u64 addr; u32 len; } piece[PIECES];
} list_cases[] = {
	{ "one piece", SZ_4K, 0, 1, { { 0x10000, 0x8000 } } },
	{ "one page from its last byte on", SZ_4K, 4095, 1, { { 0x10000, 0x1000 } } },
	{ "pages in any order", SZ_4K, 100, 4,
	  { { 0x50000, 0x1000 }, { 0x40000, 0x1000 }, { 0x41000, 0x2000 }, { 0x90000, 0x1000 } } },
	{ "a large page in many pieces", SZ_64K, 0, 5,
	  { { 0x20000, 0x1000 }, { 0x21000, 0x7000 }, { 0x28000, 0x8000 }, { 0x30000, 0x4000 },
	    { 0x34000, 0xc000 } } },
	{ "a large page begun in its middle", SZ_64K, 0x3000 % SZ_4K, 3,
	  { { 0x23000, 0xd000 }, { 0x80000, 0x10000 }, { 0x60000, 0x5000 } } },
	{ "pieces of several large pages", SZ_64K, 0, 2,
	  { { 0x100000, 0x30000 }, { 0x400000, 0x28000 } } },
	{ "a page smaller than the host's", SZ_4K / 2, 0x900, 2,
	  { { 0x7000, 0x1000 }, { 0x3000, 0x1000 } } },
};

KUNIT_ARRAY_PARAM_DESC(list, list_cases, name);

/* The list is that of ib_core's own iterator, however many entries each call asks for. */
static void translation_list_is_that_of_the_core_in_any_parts(struct kunit *test)
{
	const struct list_case *c = test->param_value;
	struct scatterlist sgl[PIECES];
	struct mlx5_ib_pas_iter iter;
	struct ib_block_iter biter;
	struct ib_umem umem = {};
	__be64 pas[64], want[64];
	unsigned int i, at, part, n = 0;

	sg_init_table(sgl, c->count);
	for (i = 0; i < c->count; i++) {
		sg_dma_address(&sgl[i]) = c->piece[i].addr;
		sg_dma_len(&sgl[i]) = c->piece[i].len;
		umem.length += c->piece[i].len;
	}
	umem.length -= c->offset;
	umem.address = (0x7000000 | (c->piece[0].addr & (c->pgsz - 1))) + c->offset;
	umem.iova = umem.address;
	umem.sgt_append.sgt.sgl = sgl;
	umem.sgt_append.sgt.nents = c->count;
	umem.sgt_append.sgt.orig_nents = c->count;
	rdma_umem_for_each_dma_block(&umem, &biter, c->pgsz) {
		KUNIT_ASSERT_LT(test, n, ARRAY_SIZE(want));
		want[n++] = cpu_to_be64(rdma_block_iter_dma_address(&biter));
	}
	KUNIT_ASSERT_GT(test, n, 0);

	for (part = 1; part <= n + 1; part++) {
		/* Every other list has flags in its entries. */
		u64 flags = part % 2 ? 0 : 5;

		memset(pas, 0, sizeof(pas));
		mlx5_ib_start_pas(&iter, &umem, ilog2(c->pgsz), flags);
		for (at = 0; at < n; at += part)
			KUNIT_ASSERT_EQ(test, mlx5_ib_next_pas(&iter, pas + at, part),
					min(part, n - at));
		KUNIT_EXPECT_EQ(test, mlx5_ib_next_pas(&iter, pas, part), 0);
		for (i = 0; i < n; i++)
			pas[i] ^= cpu_to_be64(flags);
		KUNIT_EXPECT_MEMEQ(test, pas, want, n * sizeof(*pas));
	}
}

/*
 * A key of the pool: free, with room for entries, changeable by UMR, without any right but local
 * read.
 */
static void free_key_is_exact_to_the_bit(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x00, 0x02000000 }, { 0x10, 0x40008500 }, { 0x14, 0xffffff09 },
		{ 0x1c, 0x00000007 }, { 0x44, 0x00000020 }, { 0x48, 0x0000000c },
	};
	static const struct mlx5_ib_mkc_attr attr = {
		.pdn = 7, .variant = 9, .page_shift = 12, .room = 64, .free = true,
	};
	u8 *in = kunit_kzalloc(test, CREATE_MKEY_IN_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, in);
	mlx5_ib_fill_create_mkey(in, &attr, mock_mkey_caps(test, &caps_64g));
	expect_golden(test, in, CREATE_MKEY_IN_SIZE, want);
}

static struct kunit_case mkey_cases[] = {
	KUNIT_CASE_PARAM(only_valid_registrations_are_accepted, check_gen_params),
	KUNIT_CASE_PARAM(offered_page_sizes_are_those_of_keys, page_gen_params),
	KUNIT_CASE_PARAM(mkc_is_exact_to_the_bit, mkc_gen_params),
	KUNIT_CASE(create_mkey_is_exact_to_the_bit),
	KUNIT_CASE(create_mkey_has_room_for_its_entries),
	KUNIT_CASE(entries_are_rounded_up_to_octowords),
	KUNIT_CASE_PARAM(translation_list_is_right_for_every_page_size, shift_gen_params),
	KUNIT_CASE(large_segment_is_cut_into_pages),
	KUNIT_CASE_PARAM(translation_list_is_that_of_the_core_in_any_parts, list_gen_params),
	KUNIT_CASE(free_key_is_exact_to_the_bit),
	{}
};

static struct kunit_suite mkey_suite = {
	.name = "bluebell_mkey",
	.test_cases = mkey_cases,
};

kunit_test_suite(mkey_suite);
