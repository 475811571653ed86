// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of queue memory: the page size and offset by which a context
 * describes a buffer, and memory of the kernel for the driver's own queues.
 */

#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "layout/layout_pages.h"
#include "lib/buf.h"
#include "lib/internal_cq.h"
#include "lib/mock.h"
#include "lib/queue_cmd.h"

static const struct geometry_case {
	const char *name;
	u64 dma;
	unsigned long pgsz;
	u8 shift;
	u8 offset;
} geometry_cases[] = {
	{ "4 KiB page, no offset", 0x1000, 1 << 12, 12, 0 },
	{ "4 KiB page, 64 bytes in", 0x1040, 1 << 12, 12, 1 },
	{ "4 KiB page, last 64 bytes", 0x1fc0, 1 << 12, 12, 63 },
	{ "8 KiB page, 128 bytes in", 0x4080, 1 << 13, 13, 1 },
	{ "8 KiB page, 64 bytes in needs the 4 KiB page", 0x4040, 1 << 13, 12, 1 },
	{ "64 KiB page, 1 KiB in", 0x20400, 1 << 16, 16, 1 },
	{ "64 KiB page, 512 bytes in needs the 32 KiB page", 0x20200, 1 << 16, 15, 1 },
	{ "64 KiB page, odd 4 KiB", 0x27000, 1 << 16, 16, 28 },
	{ "2 MiB page, aligned", 0x40000000, 1 << 21, 21, 0 },
	{ "2 MiB page, 4 KiB in needs the 256 KiB page", 0x40001000, 1 << 21, 18, 1 },
	{ "1 GiB page, last quantum", 0x7f000000, 1 << 30, 30, 63 },
	{ "2 MiB page above 4 GiB, 64 bytes before its end", 0x1003fffc0, 1 << 21, 12, 63 },
};

KUNIT_ARRAY_PARAM_DESC(geometry, geometry_cases, name);

static void page_size_and_offset_give_the_start_of_a_queue(struct kunit *test)
{
	const struct geometry_case *c = test->param_value;
	struct mlx5_ib_buf_geometry geo = {};

	KUNIT_ASSERT_EQ(test, mlx5_ib_quantize_geometry(c->dma, c->pgsz, MLX5_IB_MAX_PAGE_OFFSET,
							&geo), 0);
	KUNIT_EXPECT_EQ(test, geo.page_shift, c->shift);
	KUNIT_EXPECT_EQ(test, geo.page_offset, c->offset);
}

static const struct offset_case {
	const char *name;
	struct mlx5_ib_buf_geometry geo;
	int want;
	struct mlx5_ib_buf_geometry fit;
} offset_cases[] = {
	{ "no offset", { 12, 0 }, 0, { 12, 0 } },
	{ "the last that a page of 4 KiB can have", { 12, 31 }, 0, { 12, 31 } },
	{ "the middle of a page of 4 KiB", { 12, 32 }, -EINVAL },
	{ "the end of a page of 4 KiB", { 12, 63 }, -EINVAL },
	{ "the middle of a page of 8 KiB", { 13, 32 }, 0, { 12, 0 } },
	{ "three quarters of a page of 8 KiB", { 13, 48 }, -EINVAL },
	{ "5.5 KiB into a page of 8 KiB", { 13, 44 }, 0, { 12, 24 } },
	{ "60 KiB into a page of 64 KiB", { 16, 60 }, 0, { 12, 0 } },
	{ "63 KiB into a page of 64 KiB", { 16, 63 }, -EINVAL },
	{ "2 MiB page, its last quantum", { 21, 63 }, 0, { 15, 0 } },
};

KUNIT_ARRAY_PARAM_DESC(offset, offset_cases, name);

/* The field for the offset has five bits. The driver halves the page size until the offset fits. */
static void pages_are_halved_until_the_offset_fits_its_field(struct kunit *test)
{
	const struct offset_case *c = test->param_value;
	u64 dma = SZ_1G + ((u64)c->geo.page_offset << (c->geo.page_shift - 6));
	struct mlx5_ib_buf_geometry geo = {};

	KUNIT_ASSERT_EQ(test, mlx5_ib_quantize_geometry(dma, 1UL << c->geo.page_shift,
							MLX5_IB_MAX_WQ_PAGE_OFFSET, &geo),
			c->want);
	if (c->want)
		return;
	KUNIT_EXPECT_EQ(test, geo.page_shift, c->fit.page_shift);
	KUNIT_EXPECT_EQ(test, geo.page_offset, c->fit.page_offset);
}

static void misaligned_queue_is_refused(struct kunit *test)
{
	struct mlx5_ib_buf_geometry geo = {};

	KUNIT_EXPECT_EQ(test, mlx5_ib_quantize_geometry(SZ_4K + 32, SZ_4K, MLX5_IB_MAX_PAGE_OFFSET,
							&geo), -EINVAL);
}

/* By an attribute, a process may give a queue of one page memory of any length, even terabytes. */
static void page_list_covers_the_queue_and_no_more(struct kunit *test)
{
	static const size_t sizes[] = { 64, 2 * SZ_4K - 0x40, 2 * SZ_4K, SZ_64K };
	struct scatterlist sg;
	struct ib_umem umem = {
		.address = 0x40, .length = SZ_1G,
		.sgt_append.sgt = { .sgl = &sg, .nents = 1, .orig_nents = 1 },
	};
	struct mlx5_ib_buf buf = { .umem = &umem, .geo.page_shift = 12 };
	unsigned int i, k, num;
	__be64 *pas;
	int inlen;

	sg_init_table(&sg, 1);
	sg_dma_address(&sg) = SZ_1G;
	sg_dma_len(&sg) = SZ_1G + PAGE_SIZE;
	umem.iova = 0x40;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *in __free(kvfree) = NULL;

		buf.size = sizes[i];
		num = DIV_ROUND_UP(0x40 + sizes[i], SZ_4K);
		in = mlx5_ib_buf_alloc_cmd(&buf, 64, &inlen);
		KUNIT_ASSERT_NOT_NULL(test, in);
		KUNIT_EXPECT_EQ(test, inlen, 64 + 8 * num);
		pas = in + 64;
		for (k = 0; k < num && 64 + 8 * k < inlen; k++)
			KUNIT_EXPECT_EQ(test, be64_to_cpu(pas[k]), SZ_1G + k * SZ_4K);
	}
}

/* Firmware refuses the PD, then the CQ; then there is no memory for the queue. */
static void refused_internal_cq_leaves_nothing(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_internal_cq cq = {};
	unsigned int n;

	for (n = 1; n <= 2; n++) {
		mock->num_commands = 0;
		mock->refuse = n;
		KUNIT_EXPECT_EQ(test, mlx5_ib_internal_cq_create(mock->dev, &cq, 3),
				mock->refuse_err);
		KUNIT_EXPECT_EQ_MSG(test, mock_num_live(mock), 0, "refusal %u", n);
		KUNIT_EXPECT_EQ_MSG(test, mock->num_queue_mems, 0, "refusal %u", n);
	}
	mock->refuse = 0;
	mock->refuse_queue_mem = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_internal_cq_create(mock->dev, &cq, 3), -ENOMEM);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
	mock->refuse_queue_mem = false;

	KUNIT_ASSERT_EQ(test, mlx5_ib_internal_cq_create(mock->dev, &cq, 3), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 2);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 1);
	mlx5_ib_internal_cq_destroy(mock->dev, &cq);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 0);
}

#define LOG_CQES	(PAGE_SHIFT - 4)
#define CQES		BIT(LOG_CQES)
#define PAGE_CQES	(PAGE_SIZE / sizeof(struct mlx5_cqe64))

/* The CQ has four pages, which are not contiguous. The device fills it three times. */
static void completion_is_seen_once_written_and_not_before(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_internal_cq cq = {};
	struct mlx5_cqe64 *cqe;
	u32 i;

	KUNIT_ASSERT_EQ(test, mlx5_ib_internal_cq_create(mock->dev, &cq, LOG_CQES), 0);
	for (i = 0; i < 3 * CQES; i++) {
		cqe = cq.mem.buf.frags.frags[i % CQES / PAGE_CQES].buf +
		      i % PAGE_CQES * sizeof(*cqe);
		KUNIT_ASSERT_NULL_MSG(test, mlx5_ib_cq_ring_next(&cq.ring), "before %u", i);
		cqe->op_own = MLX5_CQE_REQ << 4 | (i >> LOG_CQES & 1);
		KUNIT_ASSERT_PTR_EQ_MSG(test, mlx5_ib_cq_ring_next(&cq.ring), cqe, "%u", i);
		cq.mcq.cons_index++;
	}
	mlx5_ib_internal_cq_destroy(mock->dev, &cq);
}

static struct kunit_case buf_cases[] = {
	KUNIT_CASE_PARAM(page_size_and_offset_give_the_start_of_a_queue, geometry_gen_params),
	KUNIT_CASE_PARAM(pages_are_halved_until_the_offset_fits_its_field, offset_gen_params),
	KUNIT_CASE(misaligned_queue_is_refused),
	KUNIT_CASE(page_list_covers_the_queue_and_no_more),
	KUNIT_CASE(refused_internal_cq_leaves_nothing),
	KUNIT_CASE(completion_is_seen_once_written_and_not_before),
	{}
};

static struct kunit_suite buf_suite = {
	.name = "bluebell_buf",
	.test_cases = buf_cases,
};

kunit_test_suite(buf_suite);
