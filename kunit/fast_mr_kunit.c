// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the regions of kernel consumers: what their keys are created with, what becomes of
 * a scatterlist, and of a key that firmware keeps. The firmware is a mock, and nothing reads or
 * writes the memory, whose DMA addresses are made up.
 */

#include <kunit/test.h>
#include <linux/dma-mapping.h>
#include <linux/mlx5/driver.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

#include "layout/layout_umr.h"
#include "lib/golden.h"
#include "lib/mkey.h"
#include "lib/fail_alloc.h"
#include "lib/mock.h"
#include "lib/orphan.h"
#include "verbs/mr.h"
#include "verbs/ucontext.h"

#define MAX_SG	8

/**
 * struct region - a region of a kernel consumer
 * @mock: device
 * @pd: protection domain
 * @mr: the region
 * @sg: the memory to map
 * @wqe: the request that registers the region
 */
struct region {
	struct mock *mock;
	struct mlx5_ib_pd pd;
	struct ib_mr *mr;
	struct scatterlist sg[MAX_SG];
	struct mlx5_ib_umr_wqe wqe;
};

struct part {
	u64 addr;
	u32 len;
};

static struct region *make_region(struct kunit *test, enum ib_mr_type type, u32 max)
{
	struct region *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct mlx5_ib_dev *dev;

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->mock = mock_create(test);
	dev = r->mock->dev;
	dev->dma_device = dev->mdev->device;
	KUNIT_ASSERT_EQ(test, dma_coerce_mask_and_coherent(dev->dma_device, DMA_BIT_MASK(64)), 0);
	MOCK_SET_CAP(&dev->caps, log_max_klm_list_size, 10);
	r->pd.ibpd.device = &dev->ib_dev;
	r->pd.ibpd.local_dma_lkey = 0x700;
	r->pd.pdn = 0x12;
	r->mr = mlx5_ib_alloc_mr(&r->pd.ibpd, type, max);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, r->mr);
	/* ib_alloc_mr() sets these members when the driver has returned. */
	r->mr->pd = &r->pd.ibpd;
	r->mr->page_size = PAGE_SIZE;
	return r;
}

static void free_region(struct kunit *test, struct region *r)
{
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(r->mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(r->mock), 0);
}

static int alloc_region(void *region)
{
	struct region *r = region;

	r->mr = mlx5_ib_alloc_mr(&r->pd.ibpd, IB_MR_TYPE_MEM_REG, 300);
	return PTR_ERR_OR_ZERO(r->mr);
}

static void dereg_region(void *region)
{
	struct region *r = region;

	r->mr->pd = &r->pd.ibpd;
	mlx5_ib_dereg_mr(r->mr, NULL);
}

static void failure_of_any_allocation_leaves_no_region(struct kunit *test)
{
	static const struct fail_alloc_verb verb = { alloc_region, dereg_region };
	struct region *r = make_region(test, IB_MR_TYPE_MEM_REG, 1);

	free_region(test, r);
	fail_alloc_each(r->mock, &verb, r);
}

/*
 * Map a list, and build the request that registers the region. Returns what mlx5_ib_map_mr_sg()
 * returns.
 */
static int map(struct region *r, const struct part *part, unsigned int n, unsigned int *offset)
{
	struct ib_reg_wr wr = { .mr = r->mr, .key = r->mr->rkey };
	unsigned int i;
	int ret;

	sg_init_table(r->sg, n);
	for (i = 0; i < n; i++) {
		sg_dma_address(&r->sg[i]) = part[i].addr;
		sg_dma_len(&r->sg[i]) = part[i].len;
	}
	ret = mlx5_ib_map_mr_sg(r->mr, r->sg, n, offset);
	memset(&r->wqe, 0, sizeof(r->wqe));
	mlx5_ib_fast_mr_fill_wqe(r->mock->dev, &r->wqe, &wr);
	return ret;
}

/* Expect the request to register these @n pieces: 4 at most, which the request carries itself. */
static void expect_pieces(struct kunit *test, const struct region *r, const struct part *part,
			  unsigned int n)
{
	const struct mlx5_klm *piece = (const struct mlx5_klm *)r->wqe.mtt;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, be16_to_cpu(r->wqe.umr.xlt_octowords), ALIGN(n, 4));
	for (i = 0; i < ALIGN(n, 4); i++) {
		KUNIT_EXPECT_EQ(test, be64_to_cpu(piece[i].va), i < n ? part[i].addr : 0);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(piece[i].bcount), i < n ? part[i].len : 0);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(piece[i].key), i < n ? 0x700 : 0);
	}
}

static void adjacent_pieces_are_merged(struct kunit *test)
{
	static const struct part list[] = {
		{ 0x1000, 0x100 }, { 0x1100, 0xf00 }, { 0x2000, 0 }, { 0x2000, 0x1000 },
		{ 0x3001, 0x10 }, { 0x2fff, 0x2 },
	};
	static const struct part want[] = {
		{ 0x1000, 0x2000 }, { 0x3001, 0x10 }, { 0x2fff, 0x2 },
	};
	struct region *r = make_region(test, IB_MR_TYPE_SG_GAPS, MAX_SG);

	KUNIT_EXPECT_EQ(test, map(r, list, ARRAY_SIZE(list), NULL), (int)ARRAY_SIZE(list));
	KUNIT_EXPECT_EQ(test, r->mr->length, 0x2012);
	KUNIT_EXPECT_EQ(test, r->mr->iova, 0x1000);
	expect_pieces(test, r, want, ARRAY_SIZE(want));
	/* The next request has no entry that is left of the longer list. */
	KUNIT_EXPECT_EQ(test, map(r, list + 1, 1, NULL), 1);
	expect_pieces(test, r, list + 1, 1);
	free_region(test, r);
}

/* Only UMR fills keys whose entries refer to other keys. */
static void pieces_need_umr_of_indirect_keys(struct kunit *test)
{
	struct region *r = make_region(test, IB_MR_TYPE_MEM_REG, MAX_SG);
	struct ib_mr *mr;

	KUNIT_EXPECT_NE(test, mlx5_ib_max_fast_reg(&r->mock->dev->caps, true), 0);
	MOCK_SET_CAP(&r->mock->dev->caps, umr_indirect_mkey_disabled, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_max_fast_reg(&r->mock->dev->caps, true), 0);
	KUNIT_EXPECT_NE(test, mlx5_ib_max_fast_reg(&r->mock->dev->caps, false), 0);
	r->mock->num_commands = 0;
	mr = mlx5_ib_alloc_mr(&r->pd.ibpd, IB_MR_TYPE_SG_GAPS, MAX_SG);
	KUNIT_EXPECT_EQ(test, PTR_ERR(mr), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, r->mock->num_commands, 0);
	free_region(test, r);
}

static void merged_piece_fits_its_byte_count(struct kunit *test)
{
	static const struct part list[] = {
		{ SZ_4G, SZ_1G }, { SZ_4G + SZ_1G, SZ_1G - 1 }, { SZ_4G + SZ_2G - 1, 1 },
	};
	static const struct part want[] = {
		{ SZ_4G, SZ_2G - 1 }, { SZ_4G + SZ_2G - 1, 1 },
	};
	struct region *r = make_region(test, IB_MR_TYPE_SG_GAPS, MAX_SG);

	KUNIT_EXPECT_EQ(test, map(r, list, ARRAY_SIZE(list), NULL), (int)ARRAY_SIZE(list));
	KUNIT_EXPECT_EQ(test, r->mr->length, SZ_2G);
	expect_pieces(test, r, want, ARRAY_SIZE(want));
	free_region(test, r);
}

/* An entry of the scatterlist may be 2 GiB long, one byte longer than a piece can be. */
static void entry_that_is_longer_than_a_piece_is_cut(struct kunit *test)
{
	static const struct part list[] = { { 0x1000, 0x1000 }, { SZ_4G, SZ_2G } };
	static const struct part want[] = {
		{ 0x1000, 0x1000 }, { SZ_4G, SZ_2G - 1 }, { SZ_4G + SZ_2G - 1, 1 },
	};
	struct region *r = make_region(test, IB_MR_TYPE_SG_GAPS, MAX_SG);

	KUNIT_EXPECT_EQ(test, map(r, list, ARRAY_SIZE(list), NULL), (int)ARRAY_SIZE(list));
	KUNIT_EXPECT_EQ(test, r->mr->length, SZ_2G + 0x1000);
	expect_pieces(test, r, want, ARRAY_SIZE(want));
	free_region(test, r);
}

/* The region ends before the last byte of an entry. */
static void mapping_may_end_within_an_entry(struct kunit *test)
{
	static const struct part list[] = { { 0x1000, 0x1000 }, { SZ_4G, SZ_2G } };
	static const struct part want[] = { { 0x1000, 0x1000 }, { SZ_4G, SZ_2G - 1 } };
	struct region *r = make_region(test, IB_MR_TYPE_SG_GAPS, 2);
	unsigned int offset = 0;

	KUNIT_EXPECT_EQ(test, map(r, list, ARRAY_SIZE(list), &offset), 1);
	KUNIT_EXPECT_EQ(test, offset, SZ_2G - 1);
	KUNIT_EXPECT_EQ(test, r->mr->length, SZ_2G - 1 + 0x1000);
	expect_pieces(test, r, want, ARRAY_SIZE(want));
	free_region(test, r);
}

static void list_that_is_longer_than_the_region_is_mapped_in_part(struct kunit *test)
{
	static const struct part list[] = {
		{ 0x1000, 0x10 }, { 0x2000, 0x10 }, { 0x2010, 0x10 }, { 0x3000, 0x10 },
	};
	static const struct part want[] = { { 0x1008, 0x8 }, { 0x2000, 0x20 } };
	struct region *r = make_region(test, IB_MR_TYPE_SG_GAPS, 2);
	unsigned int offset = 8;

	KUNIT_EXPECT_EQ(test, map(r, list, ARRAY_SIZE(list), &offset), 3);
	KUNIT_EXPECT_EQ(test, offset, 0);
	KUNIT_EXPECT_EQ(test, r->mr->length, 0x28);
	KUNIT_EXPECT_EQ(test, r->mr->iova, 0x1008);
	expect_pieces(test, r, want, ARRAY_SIZE(want));
	free_region(test, r);
}

static void list_of_more_pages_than_the_region_is_mapped_in_part(struct kunit *test)
{
	static const struct part list[] = {
		{ 0x10000, PAGE_SIZE }, { 0x20000, PAGE_SIZE }, { 0x30000, PAGE_SIZE },
	};
	struct region *r = make_region(test, IB_MR_TYPE_MEM_REG, 2);
	unsigned int offset = 0;

	KUNIT_EXPECT_EQ(test, map(r, list, ARRAY_SIZE(list), &offset), 2);
	KUNIT_EXPECT_EQ(test, offset, 0);
	KUNIT_EXPECT_EQ(test, r->mr->length, 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(r->wqe.mtt[1]), 0x20000 | MLX5_IB_UMR_PRESENT);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(r->wqe.mtt[2]), 0);
	free_region(test, r);
}

/* The request carries the pages, or says where they are; never both. */
static void request_carries_up_to_8_pages_or_points_at_them(struct kunit *test)
{
	static const struct part few = { 0x10000, 8 * PAGE_SIZE };
	static const struct part many = { 0x10000, 9 * PAGE_SIZE };
	struct region *r = make_region(test, IB_MR_TYPE_MEM_REG, 16);

	KUNIT_EXPECT_EQ(test, map(r, &few, 1, NULL), 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(r->wqe.umr.xlt_octowords), 4);
	KUNIT_EXPECT_TRUE(test, r->wqe.umr.flags & MLX5_UMR_INLINE);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(r->wqe.mtt[0]), 0x10000 | MLX5_IB_UMR_PRESENT);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(r->wqe.mtt[7]),
			(0x10000 + 7 * PAGE_SIZE) | MLX5_IB_UMR_PRESENT);
	KUNIT_EXPECT_EQ(test, map(r, &many, 1, NULL), 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(r->wqe.umr.xlt_octowords), 8);
	KUNIT_EXPECT_FALSE(test, r->wqe.umr.flags & MLX5_UMR_INLINE);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(r->wqe.list.byte_count), 128);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(r->wqe.list.lkey), 0x700);
	free_region(test, r);
}

/* The list and the key have the page size of the region, not that of the processor. */
static void pages_have_the_size_of_the_region(struct kunit *test)
{
	static const struct part list[] = { { SZ_1M + 0x40, SZ_128K - 0x40 }, { SZ_4M, 0x100 } };
	struct region *r = make_region(test, IB_MR_TYPE_MEM_REG, 16);

	MOCK_SET_CAP(&r->mock->dev->caps, umr_modify_entity_size_disabled, 0);
	r->mr->page_size = SZ_64K;
	KUNIT_EXPECT_EQ(test, map(r, list, ARRAY_SIZE(list), NULL), (int)ARRAY_SIZE(list));
	KUNIT_EXPECT_EQ(test, r->mr->length, SZ_128K - 0x40 + 0x100);
	KUNIT_EXPECT_EQ(test, r->mr->iova, SZ_1M + 0x40);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(r->wqe.mtt[0]), SZ_1M | MLX5_IB_UMR_PRESENT);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(r->wqe.mtt[1]), (SZ_1M + SZ_64K) | MLX5_IB_UMR_PRESENT);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(r->wqe.mtt[2]), SZ_4M | MLX5_IB_UMR_PRESENT);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(r->wqe.mtt[3]), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(mkc, &r->wqe.mkc, log_page_size), 16);
	free_region(test, r);
}

/* A device that cannot change the page size of a key keeps the page size of CREATE_MKEY. */
static void page_size_changes_only_if_the_device_can(struct kunit *test)
{
	static const struct part list = { 0x10000, 2 * PAGE_SIZE };
	struct region *r = make_region(test, IB_MR_TYPE_MEM_REG, 16);

	MOCK_SET_CAP(&r->mock->dev->caps, umr_modify_entity_size_disabled, 0);
	KUNIT_EXPECT_EQ(test, map(r, &list, 1, NULL), 1);
	KUNIT_EXPECT_TRUE(test, be64_to_cpu(r->wqe.umr.mkey_mask) & MLX5_MKEY_MASK_PAGE_SIZE);
	MOCK_SET_CAP(&r->mock->dev->caps, umr_modify_entity_size_disabled, 1);
	KUNIT_EXPECT_EQ(test, map(r, &list, 1, NULL), 1);
	KUNIT_EXPECT_FALSE(test, be64_to_cpu(r->wqe.umr.mkey_mask) & MLX5_MKEY_MASK_PAGE_SIZE);
	r->mr->page_size = 2 * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, map(r, &list, 1, NULL), -EINVAL);
	free_region(test, r);
}

/* The device would refuse the request that opens the region, and take the queue pair to SQE. */
static void page_size_of_the_device_is_not_exceeded(struct kunit *test)
{
	static const struct part list = { 0x10000, PAGE_SIZE };
	struct region *r = make_region(test, IB_MR_TYPE_MEM_REG, 16);
	struct mlx5_ib_caps *caps = &r->mock->dev->caps;

	MOCK_SET_CAP(caps, umr_modify_entity_size_disabled, 0);
	MOCK_SET_CAP(caps, hca_cap_2, 1);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2, max_mkey_log_entity_size_mtt,
			PAGE_SHIFT + 1);
	r->mr->page_size = 2 * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, map(r, &list, 1, NULL), 1);
	r->mr->page_size = 4 * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, map(r, &list, 1, NULL), -EINVAL);
	free_region(test, r);
}

/* An orphan only sends DESTROY_MKEY, so the driver frees the slot in its table of keys before. */
static void orphaned_key_has_no_slot(struct kunit *test)
{
	struct region *r = make_region(test, IB_MR_TYPE_MEM_REG, MAX_SG);
	struct mlx5_ib_dev *dev = r->mock->dev;

	KUNIT_EXPECT_FALSE(test, xa_empty(&dev->mkeys));
	r->mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(r->mr, NULL), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->mkeys));
	KUNIT_EXPECT_FALSE(test, list_empty(&dev->orphans.list));
	r->mock->refuse_destroy = false;
	mlx5_ib_orphans_retry(dev, NULL);
	KUNIT_EXPECT_EQ(test, mock_num_live(r->mock), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&dev->orphans.list));
}

/* The longest list has half of the octowords that a UMR can count. */
static void region_has_65536_pages_at_most(struct kunit *test)
{
	static const struct part all[] = {
		{ SZ_4G, SZ_32K * PAGE_SIZE }, { SZ_4G + SZ_32K * PAGE_SIZE, SZ_32K * PAGE_SIZE },
	};
	struct region *r = make_region(test, IB_MR_TYPE_MEM_REG, SZ_64K);
	struct ib_pd *pd = &r->pd.ibpd;

	KUNIT_EXPECT_EQ(test, map(r, all, ARRAY_SIZE(all), NULL), (int)ARRAY_SIZE(all));
	KUNIT_EXPECT_EQ(test, r->mr->length, (u64)SZ_64K * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(r->wqe.umr.xlt_octowords), SZ_32K);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(r->wqe.list.byte_count), SZ_512K);
	MOCK_SET_CAP(&r->mock->dev->caps, log_max_klm_list_size, 4);
	r->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, SZ_64K + 1)),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_alloc_mr(pd, IB_MR_TYPE_SG_GAPS, 17)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_alloc_mr(pd, IB_MR_TYPE_INTEGRITY, 1)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, r->mock->num_commands, 0);
	free_region(test, r);
}

/* ---- keys ------------------------------------------------------------------------------- */

/* The key is free, has room for whole blocks of 64 bytes, and a peer may invalidate it. */
static void key_of_a_region_is_exact_to_the_bit(struct kunit *test)
{
	static const struct {
		enum ib_mr_type type;
		u32 max, rights, octowords, page_shift;
	} cases[] = {
		{ IB_MR_TYPE_MEM_REG, 1, 0x40008500, 4, PAGE_SHIFT },
		{ IB_MR_TYPE_MEM_REG, 9, 0x40008500, 8, PAGE_SHIFT },
		{ IB_MR_TYPE_SG_GAPS, 1, 0x40008600, 8 },
		{ IB_MR_TYPE_SG_GAPS, 9, 0x40008600, 16 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct region *r = make_region(test, cases[i].type, cases[i].max);
		const struct golden want[GOLDEN_MAX] = {
			{ 0x00, MLX5_CMD_OP_CREATE_MKEY << 16 }, { 0x10, cases[i].rights },
			{ 0x14, 0xffffff00 | (r->mr->lkey & 0xff) }, { 0x1c, 0x01000012 },
			{ 0x44, cases[i].octowords }, { 0x48, cases[i].page_shift },
		};

		expect_golden(test, r->mock->in, MLX5_ST_SZ_BYTES(create_mkey_in), want);
		free_region(test, r);
	}
}

static void key_of_all_memory_is_exact_to_the_bit(struct kunit *test)
{
	static const struct {
		int access;
		u32 rights;
	} cases[] = {
		{ 0, 0x400 }, { IB_ACCESS_LOCAL_WRITE, 0xc00 },
		{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE, 0x3c00 },
	};
	struct region *r = make_region(test, IB_MR_TYPE_MEM_REG, 1);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ib_mr *mr = mlx5_ib_get_dma_mr(&r->pd.ibpd, cases[i].access);
		struct golden want[GOLDEN_MAX] = {
			{ 0x00, MLX5_CMD_OP_CREATE_MKEY << 16 }, { 0x10, cases[i].rights },
			{ 0x1c, 0x80000012 },
		};

		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
		want[3] = (struct golden){ 0x14, 0xffffff00 | (mr->lkey & 0xff) };
		expect_golden(test, r->mock->in, MLX5_ST_SZ_BYTES(create_mkey_in), want);
		KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
	}
	free_region(test, r);
}

/*
 * A kernel consumer deregisters a region once, and then deallocates the PD, which firmware refuses
 * as long as the PD has a key.
 */
static void key_that_firmware_keeps_is_destroyed_before_its_domain(struct kunit *test)
{
	struct region *r = make_region(test, IB_MR_TYPE_MEM_REG, 1);
	struct mock *mock = r->mock;
	struct mlx5_ib_pd pd = { .ibpd.device = &mock->dev->ib_dev };
	struct ib_mr *mrs[2] = { r->mr };
	unsigned int i;
	u32 key;

	KUNIT_ASSERT_EQ(test, mlx5_ib_alloc_pd(&pd.ibpd, NULL), 0);
	mrs[1] = mlx5_ib_get_dma_mr(&pd.ibpd, IB_ACCESS_LOCAL_WRITE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mrs[1]);
	mock->refuse_destroy = true;
	for (i = 0; i < ARRAY_SIZE(mrs); i++) {
		key = mrs[i]->lkey;
		KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mrs[i], NULL), 0);
		/* The region is gone: no lookup finds it. */
		KUNIT_EXPECT_NULL(test, mlx5_ib_mkey_get(mock->dev, key, MLX5_IB_MKEY_MR));
	}
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_MKEY], 2);
	mock->refuse_destroy = false;
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dealloc_pd(&pd.ibpd, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 3);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_DEALLOC_PD);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

static struct kunit_case fast_mr_cases[] = {
	KUNIT_CASE(adjacent_pieces_are_merged),
	KUNIT_CASE(pieces_need_umr_of_indirect_keys),
	KUNIT_CASE(merged_piece_fits_its_byte_count),
	KUNIT_CASE(entry_that_is_longer_than_a_piece_is_cut),
	KUNIT_CASE(mapping_may_end_within_an_entry),
	KUNIT_CASE(list_that_is_longer_than_the_region_is_mapped_in_part),
	KUNIT_CASE(list_of_more_pages_than_the_region_is_mapped_in_part),
	KUNIT_CASE(request_carries_up_to_8_pages_or_points_at_them),
	KUNIT_CASE(pages_have_the_size_of_the_region),
	KUNIT_CASE(page_size_changes_only_if_the_device_can),
	KUNIT_CASE(page_size_of_the_device_is_not_exceeded),
	KUNIT_CASE(orphaned_key_has_no_slot),
	KUNIT_CASE(region_has_65536_pages_at_most),
	KUNIT_CASE(key_of_a_region_is_exact_to_the_bit),
	KUNIT_CASE(key_of_all_memory_is_exact_to_the_bit),
	KUNIT_CASE(key_that_firmware_keeps_is_destroyed_before_its_domain),
	KUNIT_CASE(failure_of_any_allocation_leaves_no_region),
	{}
};

static struct kunit_suite fast_mr_suite = {
	.name = "bluebell_fast_mr",
	.test_cases = fast_mr_cases,
};

kunit_test_suite(fast_mr_suite);
