// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the completion queue layout: entry counts, the library's
 * request and the CQC.
 */

#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "layout/layout_cq.h"
#include "lib/golden.h"
#include "lib/mock.h"

#define CQC_SIZE	0x40

static const struct entries_case {
	const char *name;
	u32 asked;
	u8 log_max;
	int want;
} entries_cases[] = {
	{ "none is refused", 0, 22, -EINVAL },
	{ "one needs a second to tell full from empty", 1, 22, 2 },
	{ "two round up to four", 2, 22, 4 },
	{ "three and the spare fill four exactly", 3, 22, 4 },
	{ "four round up to eight", 4, 22, 8 },
	{ "4095 and the spare fill a page count", 4095, 22, 4096 },
	{ "4096 do not fit in 4096", 4096, 22, 8192 },
	{ "the device's limit less the spare", (1 << 22) - 1, 22, 1 << 22 },
	{ "the device's limit itself", 1 << 22, 22, -EINVAL },
	{ "a device of one entry has no room for the spare", 1, 0, -EINVAL },
	{ "a device of two entries gives one", 1, 1, 2 },
	{ "2^31-1 would overflow int", INT_MAX, 31, -EINVAL },
	{ "2^31 would overflow int", 1U << 31, 31, -EINVAL },
	{ "2^32-1 would round up to zero", U32_MAX, 31, -EINVAL },
	{ "2^30-1 and the spare: the largest power of two of int", (1 << 30) - 1, 31, 1 << 30 },
};

KUNIT_ARRAY_PARAM_DESC(entries, entries_cases, name);

static void entries_are_the_next_power_of_two_with_one_to_spare(struct kunit *test)
{
	const struct entries_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_cq_entries(c->asked, c->log_max), c->want);
}

#define CAP_OI		BIT(0)
#define CAP_PAD		BIT(1)
#define CAP_COMP_64	BIT(2)
#define CAP_COMP_128	BIT(3)
#define CAP_STRIDX	BIT(4)
#define CAP_REAL_TIME	BIT(5)
#define NO_CAPS		0
#define ALL_CAPS	GENMASK(5, 0)

/* A device with some of the optional features of a CQ. */
static const struct mlx5_ib_caps *make_caps(struct kunit *test, u8 features)
{
	struct mlx5_ib_caps *caps = mock_caps(test);

	MOCK_SET_CAP(caps, cq_oi, !!(features & CAP_OI));
	MOCK_SET_CAP(caps, cqe_128_always, !!(features & CAP_PAD));
	MOCK_SET_CAP(caps, cqe_compression, !!(features & CAP_COMP_64));
	MOCK_SET_CAP(caps, cqe_compression_128, !!(features & CAP_COMP_128));
	MOCK_SET_CAP(caps, mini_cqe_resp_stride_index, !!(features & CAP_STRIDX));
	caps->real_time = features & CAP_REAL_TIME;
	return caps;
}

#define TIMESTAMP	IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION
#define OVERRUN		IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN
#define PAD		MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD
#define REAL_TIME	MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS
#define UAR_INDEX	MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX
#define HASH		MLX5_IB_CQE_RES_FORMAT_HASH
#define CSUM		MLX5_IB_CQE_RES_FORMAT_CSUM
#define STRIDX		MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX

static const struct request_case {
	const char *name;
	struct mlx5_ib_create_cq ucmd;
	u32 flags;
	u8 features;
	int want;
	u8 stride;
	bool ignore_overrun;
	bool compress;
	u8 mini;
} request_cases[] = {
	{ "64-byte CQEs", { .cqe_size = 64 }, 0, NO_CAPS, 0, 0 },
	{ "128-byte CQEs", { .cqe_size = 128 }, 0, NO_CAPS, 0, 1 },
	{ "CQEs of no size", { .cqe_size = 0 }, 0, ALL_CAPS, -EINVAL },
	{ "32-byte CQEs", { .cqe_size = 32 }, 0, ALL_CAPS, -EINVAL },
	{ "96-byte CQEs", { .cqe_size = 96 }, 0, ALL_CAPS, -EINVAL },
	{ "256-byte CQEs", { .cqe_size = 256 }, 0, ALL_CAPS, -EINVAL },
	{ "128-byte padding", { .cqe_size = 128, .flags = PAD }, 0, ALL_CAPS, 0, 2 },
	{ "padding a 64-byte CQE", { .cqe_size = 64, .flags = PAD }, 0, ALL_CAPS, -EOPNOTSUPP },
	{ "padding that the device lacks", { .cqe_size = 128, .flags = PAD }, 0, NO_CAPS,
	  -EOPNOTSUPP },
	{ "a UAR index", { .cqe_size = 64, .flags = UAR_INDEX }, 0, NO_CAPS, 0, 0 },
	{ "the real-time clock", { .cqe_size = 64, .flags = REAL_TIME }, 0, ALL_CAPS, 0, 0 },
	{ "a real-time clock that the device lacks", { .cqe_size = 64, .flags = REAL_TIME }, 0,
	  NO_CAPS, -EOPNOTSUPP },
	{ "an undefined library flag", { .cqe_size = 64, .flags = 1 << 3 }, 0, ALL_CAPS,
	  -EINVAL },
	{ "the highest undefined library flag", { .cqe_size = 64, .flags = 1 << 15 }, 0, ALL_CAPS,
	  -EINVAL },
	{ "reserved0", { .cqe_size = 64, .reserved0 = 1 }, 0, ALL_CAPS, -EINVAL },
	{ "reserved1", { .cqe_size = 64, .reserved1 = 1 }, 0, ALL_CAPS, -EINVAL },
	{ "timestamps", { .cqe_size = 64 }, TIMESTAMP, NO_CAPS, 0, 0 },
	{ "no overrun check", { .cqe_size = 64 }, OVERRUN, ALL_CAPS, 0, 0, true },
	{ "no overrun check on a device that insists", { .cqe_size = 64 }, OVERRUN, NO_CAPS,
	  -EOPNOTSUPP },
	{ "an undefined verbs flag", { .cqe_size = 64 }, 1 << 2, ALL_CAPS, -EOPNOTSUPP },
	{ "the highest undefined verbs flag", { .cqe_size = 64 }, 1U << 31, ALL_CAPS,
	  -EOPNOTSUPP },
	{ "compression by hash",
	  { .cqe_size = 64, .cqe_comp_en = 1, .cqe_comp_res_format = HASH }, 0, ALL_CAPS, 0, 0,
	  false, true, 0 },
	{ "compression by checksum",
	  { .cqe_size = 64, .cqe_comp_en = 1, .cqe_comp_res_format = CSUM }, 0, ALL_CAPS, 0, 0,
	  false, true, 1 },
	{ "compression by stride index",
	  { .cqe_size = 128, .cqe_comp_en = 1, .cqe_comp_res_format = STRIDX }, 0, ALL_CAPS, 0, 1,
	  false, true, 3 },
	{ "compression of no format", { .cqe_size = 64, .cqe_comp_en = 1 }, 0, ALL_CAPS,
	  -EINVAL },
	{ "compression of two formats",
	  { .cqe_size = 64, .cqe_comp_en = 1, .cqe_comp_res_format = HASH | CSUM }, 0, ALL_CAPS,
	  -EINVAL },
	{ "compression neither on nor off",
	  { .cqe_size = 64, .cqe_comp_en = 2, .cqe_comp_res_format = HASH }, 0, ALL_CAPS,
	  -EINVAL },
	{ "compression that the device lacks",
	  { .cqe_size = 64, .cqe_comp_en = 1, .cqe_comp_res_format = HASH }, 0, NO_CAPS,
	  -EOPNOTSUPP },
	{ "128-byte compression that the device lacks",
	  { .cqe_size = 128, .cqe_comp_en = 1, .cqe_comp_res_format = HASH }, 0, NO_CAPS,
	  -EOPNOTSUPP },
};

KUNIT_ARRAY_PARAM_DESC(request, request_cases, name);

static void only_valid_requests_are_accepted(struct kunit *test)
{
	const struct request_case *c = test->param_value;
	u32 cqc[CQC_SIZE / 4] = {};

	KUNIT_ASSERT_EQ(test, mlx5_ib_cq_parse_create(&c->ucmd, c->flags,
						      make_caps(test, c->features), cqc),
			c->want);
	if (c->want)
		return;
	KUNIT_EXPECT_EQ(test, MLX5_GET(cqc, cqc, cqe_sz), c->stride);
	KUNIT_EXPECT_EQ(test, MLX5_GET(cqc, cqc, oi), c->ignore_overrun);
	KUNIT_EXPECT_EQ(test, MLX5_GET(cqc, cqc, cqe_comp_en), c->compress);
	KUNIT_EXPECT_EQ(test, MLX5_GET(cqc, cqc, mini_cqe_res_format), c->mini);
}

static const struct need_case {
	const char *name;
	struct mlx5_ib_create_cq ucmd;
	u32 flags;
	u8 needs;
} need_cases[] = {
	{ "128-byte CQEs", { .cqe_size = 128 }, TIMESTAMP, NO_CAPS },
	{ "no overrun check", { .cqe_size = 64 }, OVERRUN, CAP_OI },
	{ "padding", { .cqe_size = 128, .flags = PAD }, 0, CAP_PAD },
	{ "the real-time clock", { .cqe_size = 64, .flags = REAL_TIME }, 0, CAP_REAL_TIME },
	{ "64-byte compression",
	  { .cqe_size = 64, .cqe_comp_en = 1, .cqe_comp_res_format = HASH }, 0, CAP_COMP_64 },
	{ "128-byte compression",
	  { .cqe_size = 128, .cqe_comp_en = 1, .cqe_comp_res_format = CSUM }, 0, CAP_COMP_128 },
	{ "padded compression",
	  { .cqe_size = 128, .flags = PAD, .cqe_comp_en = 1, .cqe_comp_res_format = CSUM }, 0,
	  CAP_PAD | CAP_COMP_128 },
	{ "64-byte compression by stride index",
	  { .cqe_size = 64, .cqe_comp_en = 1, .cqe_comp_res_format = STRIDX }, 0,
	  CAP_COMP_64 | CAP_STRIDX },
};

KUNIT_ARRAY_PARAM_DESC(need, need_cases, name);

static void feature_needs_its_own_capabilities(struct kunit *test)
{
	const struct need_case *c = test->param_value;
	unsigned int cap;

	for (cap = 1; cap <= ALL_CAPS; cap <<= 1) {
		u32 cqc[CQC_SIZE / 4] = {};

		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_cq_parse_create(&c->ucmd, c->flags,
								  make_caps(test, ALL_CAPS & ~cap),
								  cqc),
				    c->needs & cap ? -EOPNOTSUPP : 0, "without 0x%x", cap);
	}
}

static const struct cqc_case {
	const char *name;
	struct mlx5_ib_create_cq ucmd;
	u32 flags;
	struct golden want[GOLDEN_MAX];
} cqc_cases[] = {
	{ "64-byte CQEs", { .cqe_size = 64 }, 0, {} },
	{ "128-byte CQEs", { .cqe_size = 128 }, 0, { { 0x00, 0x00200000 } } },
	{
		"every field at its widest",
		{
			.cqe_size = 128, .flags = PAD, .cqe_comp_en = 1,
			.cqe_comp_res_format = STRIDX,
		},
		OVERRUN,
		{ { 0x00, 0x00427000 } },
	},
	{
		"a compression format without compression",
		{ .cqe_size = 64, .cqe_comp_res_format = STRIDX }, 0,
		{},
	},
	{
		"compression by checksum",
		{ .cqe_size = 64, .cqe_comp_en = 1, .cqe_comp_res_format = CSUM }, 0,
		{ { 0x00, 0x00005000 } },
	},
	{ "no overrun check", { .cqe_size = 64 }, OVERRUN, { { 0x00, 0x00020000 } } },
};

KUNIT_ARRAY_PARAM_DESC(cqc, cqc_cases, name);

static void cqc_is_exact_to_the_bit(struct kunit *test)
{
	const struct cqc_case *c = test->param_value;
	u32 cqc[CQC_SIZE / 4] = {};

	KUNIT_EXPECT_EQ(test, mlx5_ib_cq_parse_create(&c->ucmd, c->flags,
						      make_caps(test, ALL_CAPS), cqc), 0);
	expect_golden(test, cqc, sizeof(cqc), c->want);
}

static const struct buf_case {
	const char *name;
	struct mlx5_ib_buf_geometry geo;
	struct golden want[GOLDEN_MAX];
} buf_cases[] = {
	{ "4 KiB pages", { .page_shift = 12 }, {} },
	{ "2 MiB pages", { .page_shift = 21, .page_offset = 1 },
	  { { 0x08, 0x00000040 }, { 0x18, 0x09000000 } } },
	{ "an offset", { .page_shift = 16, .page_offset = 9 },
	  { { 0x08, 0x00000240 }, { 0x18, 0x04000000 } } },
	{ "every field at its widest", { .page_shift = 43, .page_offset = 63 },
	  { { 0x08, 0x00000fc0 }, { 0x18, 0x1f000000 } } },
};

KUNIT_ARRAY_PARAM_DESC(buf, buf_cases, name);

static void buffer_changes_only_its_own_fields_of_the_cqc(struct kunit *test)
{
	const struct buf_case *c = test->param_value;
	u32 cqc[CQC_SIZE / 4] = {};

	mlx5_ib_fill_cqc_buf(cqc, &c->geo);
	expect_golden(test, cqc, sizeof(cqc), c->want);
}

static struct kunit_case cq_cases[] = {
	KUNIT_CASE_PARAM(entries_are_the_next_power_of_two_with_one_to_spare, entries_gen_params),
	KUNIT_CASE_PARAM(only_valid_requests_are_accepted, request_gen_params),
	KUNIT_CASE_PARAM(feature_needs_its_own_capabilities, need_gen_params),
	KUNIT_CASE_PARAM(cqc_is_exact_to_the_bit, cqc_gen_params),
	KUNIT_CASE_PARAM(buffer_changes_only_its_own_fields_of_the_cqc, buf_gen_params),
	{}
};

static struct kunit_suite cq_suite = {
	.name = "bluebell_cq",
	.test_cases = cq_cases,
};

kunit_test_suite(cq_suite);
