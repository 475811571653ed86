// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the shared receive queue layout: the library's request, sizes, the RMPC, and the
 * contexts of an XRC SRQ and of an XRQ.
 */

#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/sizes.h>

#include "layout/layout_srq.h"
#include "lib/golden.h"
#include "lib/mock.h"

#define RMPC_SIZE	0xf0
#define XRC_SRQC_SIZE	0x40
#define XRQC_SIZE	0x140
#define LIST_SIZE	tag_matching_topology_context.log_matching_list_sz
#define SIGNATURE	MLX5_SRQ_FLAG_SIGNATURE

static struct mlx5_ib_caps *make_caps(struct kunit *test, u8 log_max_srq_sz, u16 max_wqe_sz_rq,
				      bool features)
{
	struct mlx5_ib_caps *caps = mock_caps(test);

	MOCK_SET_CAP(caps, log_max_srq_sz, log_max_srq_sz);
	MOCK_SET_CAP(caps, max_wqe_sz_rq, max_wqe_sz_rq);
	MOCK_SET_CAP(caps, wq_signature, features);
	MOCK_SET_CAP(caps, xrc, features);
	MOCK_SET_CAP(caps, tag_matching, features);
	MOCK_SET_CAP(caps, rndv_offload_rc, features);
	MOCK_SET_CAP(caps, log_tag_matching_list_sz, 7);
	return caps;
}

#define NO_CAPS		false
#define ALL_CAPS	true

static const struct request_case {
	const char *name;
	enum ib_srq_type type;
	struct mlx5_ib_create_srq ucmd;
	bool features;
	int want;
} request_cases[] = {
	{ "a plain SRQ", IB_SRQT_BASIC, {}, NO_CAPS, 0 },
	{ "a user index, which a plain SRQ has no use for", IB_SRQT_BASIC, { .uidx = 5 },
	  NO_CAPS, 0 },
	{ "signatures", IB_SRQT_BASIC, { .flags = SIGNATURE }, ALL_CAPS, 0 },
	{ "signatures that the device lacks", IB_SRQT_BASIC, { .flags = SIGNATURE }, NO_CAPS,
	  -EINVAL },
	{ "an XRC SRQ", IB_SRQT_XRC, {}, ALL_CAPS, 0 },
	{ "an XRC SRQ that the device lacks", IB_SRQT_XRC, {}, NO_CAPS, -EOPNOTSUPP },
	{ "an undefined flag of an XRC SRQ", IB_SRQT_XRC, { .flags = 2 }, ALL_CAPS, -EINVAL },
	{ "a tag matching SRQ", IB_SRQT_TM, {}, ALL_CAPS, 0 },
	{ "a tag matching SRQ that the device lacks", IB_SRQT_TM, {}, NO_CAPS, -EOPNOTSUPP },
	{ "reserved0 of a tag matching SRQ", IB_SRQT_TM, { .reserved0 = 1 }, ALL_CAPS, -EINVAL },
	{ "an undefined type", IB_SRQT_TM + 1, {}, ALL_CAPS, -EOPNOTSUPP },
	{ "an undefined flag", IB_SRQT_BASIC, { .flags = 2 }, ALL_CAPS, -EINVAL },
	{ "the highest flag", IB_SRQT_BASIC, { .flags = 1U << 31 }, ALL_CAPS, -EINVAL },
	{ "reserved0", IB_SRQT_BASIC, { .reserved0 = 1 }, ALL_CAPS, -EINVAL },
	{ "reserved1", IB_SRQT_BASIC, { .reserved1 = 1 }, ALL_CAPS, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(request, request_cases, name);

static void only_valid_requests_are_accepted(struct kunit *test)
{
	const struct request_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_srq_check_create(c->type, &c->ucmd,
						       make_caps(test, 15, 512, c->features)),
			c->want);
}

static const struct size_case {
	const char *name;
	struct ib_srq_attr attr;
	u8 log_max;
	u16 max_wqe;
	int want;
	struct mlx5_ib_srq_layout wq;
} size_cases[] = {
	{ "nothing is a WQE of one entry", {}, 15, 512, 0, { 1, 5, 1 } },
	{ "one request needs a second WQE to append to", { .max_wr = 1, .max_sge = 1 }, 15, 512, 0,
	  { 2, 5, 1 } },
	{ "two round up to four", { .max_wr = 2, .max_sge = 1 }, 15, 512, 0, { 4, 5, 1 } },
	{ "two entries make a WQE of 64 bytes", { .max_wr = 3, .max_sge = 2 }, 15, 512, 0,
	  { 4, 6, 3 } },
	{ "three entries fill it", { .max_wr = 3, .max_sge = 3 }, 15, 512, 0, { 4, 6, 3 } },
	{ "four do not fit", { .max_wr = 3, .max_sge = 4 }, 15, 512, 0, { 4, 7, 7 } },
	{ "entries at the device's limit", { .max_wr = 1, .max_sge = 31 }, 15, 512, 0,
	  { 2, 9, 31 } },
	{ "entries beyond the device's limit", { .max_wr = 1, .max_sge = 32 }, 15, 512, -EINVAL },
	{ "a device whose stride is not a power of two", { .max_wr = 1, .max_sge = 31 }, 15, 1023,
	  0, { 2, 9, 31 } },
	{ "entries beyond what fits such a device", { .max_wr = 1, .max_sge = 32 }, 15, 1023,
	  -EINVAL },
	{ "a device that says nothing of strides", { .max_sge = 1 }, 15, 0, 0, { 1, 5, 1 } },
	{ "entries that would round up to zero", { .max_sge = U32_MAX }, 15, 512, -EINVAL },
	{ "entries whose bytes overflow", { .max_sge = 1 << 28 }, 15, 512, -EINVAL },
	{ "requests at the device's limit", { .max_wr = 1023 }, 10, 512, 0,
	  { 1024, 5, 1 } },
	{ "requests beyond the device's limit", { .max_wr = 1024 }, 10, 512, -EINVAL },
	{ "requests at the limit of the link", { .max_wr = 32767 }, 31, 512, 0,
	  { 32768, 5, 1 } },
	{ "requests beyond the limit of the link", { .max_wr = 32768 }, 31, 512, -EINVAL },
	{ "requests that would round up to zero", { .max_wr = U32_MAX }, 15, 512, -EINVAL },
	{ "2^31 requests", { .max_wr = 1U << 31 }, 15, 512, -EINVAL },
	{ "everything at its widest", { .max_wr = 32767, .max_sge = 2047 }, 31, U16_MAX, 0,
	  { 32768, 15, 2047 } },
};

KUNIT_ARRAY_PARAM_DESC(size, size_cases, name);

static void queue_size_fits_request_and_device(struct kunit *test)
{
	const struct size_case *c = test->param_value;
	struct mlx5_ib_srq_layout wq;

	KUNIT_ASSERT_EQ(test, mlx5_ib_calc_srq(IB_SRQT_BASIC, &c->attr,
					       make_caps(test, c->log_max, c->max_wqe, NO_CAPS),
					       &wq), c->want);
	if (c->want)
		return;
	KUNIT_EXPECT_EQ(test, wq.wqe_cnt, c->wq.wqe_cnt);
	KUNIT_EXPECT_EQ(test, wq.wqe_shift, c->wq.wqe_shift);
	KUNIT_EXPECT_EQ(test, wq.max_gs, c->wq.max_gs);
}

/* The largest stride that the context of an XRC SRQ can express, and the next larger stride. */
static void stride_of_an_xrc_srq_fits_its_context(struct kunit *test)
{
	const struct mlx5_ib_caps *caps = make_caps(test, 15, 4096, ALL_CAPS);
	struct ib_srq_attr attr = { .max_wr = 1, .max_sge = 127 };
	struct mlx5_ib_srq_layout wq;

	KUNIT_EXPECT_EQ(test, mlx5_ib_calc_srq(IB_SRQT_XRC, &attr, caps, &wq), 0);
	KUNIT_EXPECT_EQ(test, wq.wqe_shift, 11);
	KUNIT_EXPECT_EQ(test, wq.max_gs, 127);
	attr.max_sge = 128;
	KUNIT_EXPECT_EQ(test, mlx5_ib_calc_srq(IB_SRQT_XRC, &attr, caps, &wq), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_calc_srq(IB_SRQT_BASIC, &attr, caps, &wq), 0);
}

/* An SRQ of the reported size can be created, and a larger one cannot. */
static void reported_limits_are_the_largest_that_fit(struct kunit *test)
{
	const struct mlx5_ib_caps *caps = make_caps(test, 15, 512, ALL_CAPS);
	struct mlx5_ib_srq_layout wq;
	struct ib_srq_attr attr = {
		.max_wr = mlx5_ib_max_srq_wr(caps), .max_sge = mlx5_ib_max_srq_sge(caps),
	};

	KUNIT_EXPECT_EQ(test, attr.max_wr, 32767);
	KUNIT_EXPECT_EQ(test, attr.max_sge, 31);
	KUNIT_EXPECT_EQ(test, mlx5_ib_calc_srq(IB_SRQT_BASIC, &attr, caps, &wq), 0);
	attr.max_wr++;
	KUNIT_EXPECT_EQ(test, mlx5_ib_calc_srq(IB_SRQT_BASIC, &attr, caps, &wq), -EINVAL);
	attr.max_wr--;
	attr.max_sge++;
	KUNIT_EXPECT_EQ(test, mlx5_ib_calc_srq(IB_SRQT_BASIC, &attr, caps, &wq), -EINVAL);
}

static const struct rmpc_case {
	const char *name;
	struct mlx5_ib_srqc_attr attr;
	struct golden want[GOLDEN_MAX];
} rmpc_cases[] = {
	{
		"a plain SRQ of 256 WQEs",
		{
			.wq = { .wqe_cnt = 256, .wqe_shift = 6 }, .geo = { .page_shift = 12 },
			.pdn = 0x123, .dbr_addr = 0x0123456789abcdc0,
		},
		{
			{ 0x00, 0x00100000 }, { 0x38, 0x00000123 }, { 0x40, 0x01234567 },
			{ 0x44, 0x89abcdc0 }, { 0x50, 0x00060008 },
		},
	},
	{
		"one WQE, signatures",
		{
			.wq = { .wqe_cnt = 1, .wqe_shift = 5 }, .geo = { .page_shift = 12 },
			.wq_signature = true,
		},
		{ { 0x00, 0x00100000 }, { 0x30, 0x08000000 }, { 0x50, 0x00050000 } },
	},
	{
		"every field at its widest",
		{
			.wq = { .wqe_cnt = 1U << 31, .wqe_shift = 15 },
			.geo = { .page_shift = 43, .page_offset = 31 }, .pdn = 0xffffff,
			.dbr_addr = 0xfffffffffffffff8, .wq_signature = true,
		},
		{
			{ 0x00, 0x00100000 }, { 0x30, 0x08000000 }, { 0x34, 0x001f0000 },
			{ 0x38, 0x00ffffff }, { 0x40, 0xffffffff }, { 0x44, 0xfffffff8 },
			{ 0x50, 0x000f1f1f },
		},
	},
};

KUNIT_ARRAY_PARAM_DESC(rmpc, rmpc_cases, name);

static void rmpc_is_exact_to_the_bit(struct kunit *test)
{
	const struct rmpc_case *c = test->param_value;
	u32 rmpc[RMPC_SIZE / 4] = {};

	mlx5_ib_fill_rmpc(rmpc, &c->attr);
	expect_golden(test, rmpc, sizeof(rmpc), c->want);
}

static const struct xrc_case {
	const char *name;
	struct mlx5_ib_srqc_attr attr;
	struct golden want[GOLDEN_MAX];
} xrc_cases[] = {
	{
		"an XRC SRQ of 256 WQEs",
		{
			.wq = { .wqe_cnt = 256, .wqe_shift = 6 }, .geo = { .page_shift = 13 },
			.pdn = 0x123, .dbr_addr = 0x0123456789abcdc0, .xrcdn = 0x45,
			.cqn = 0x67, .uidx = 0x89,
		},
		{
			{ 0x00, 0x08000000 }, { 0x04, 0x02000045 }, { 0x08, 0x00000067 },
			{ 0x10, 0x01000089 }, { 0x18, 0x00000123 }, { 0x28, 0x01234567 },
			{ 0x2c, 0x89abcdc0 },
		},
	},
	{
		"one WQE, signatures",
		{
			.wq = { .wqe_cnt = 1, .wqe_shift = 5 }, .geo = { .page_shift = 12 },
			.wq_signature = true,
		},
		{ { 0x04, 0x81000000 } },
	},
	{
		"every field at its widest",
		{
			.wq = { .wqe_cnt = 32768, .wqe_shift = 11 },
			.geo = { .page_shift = 75, .page_offset = 63 }, .pdn = 0xffffff,
			.dbr_addr = 0xfffffffffffffffc, .wq_signature = true, .xrcdn = 0xffffff,
			.cqn = 0xffffff, .uidx = 0xffffff,
		},
		{
			{ 0x00, 0x0f000000 }, { 0x04, 0x87ffffff }, { 0x08, 0xfcffffff },
			{ 0x10, 0x3fffffff }, { 0x18, 0x00ffffff }, { 0x28, 0xffffffff },
			{ 0x2c, 0xfffffffc },
		},
	},
};

KUNIT_ARRAY_PARAM_DESC(xrc, xrc_cases, name);

static void xrc_srqc_is_exact_to_the_bit(struct kunit *test)
{
	const struct xrc_case *c = test->param_value;
	u32 srqc[XRC_SRQC_SIZE / 4] = {};

	mlx5_ib_fill_xrc_srqc(srqc, &c->attr);
	expect_golden(test, srqc, sizeof(srqc), c->want);
}

static const struct xrq_case {
	const char *name;
	struct mlx5_ib_srqc_attr attr;
	struct golden want[GOLDEN_MAX];
} xrq_cases[] = {
	{
		"127 tags, 256 WQEs",
		{
			.wq = { .wqe_cnt = 256, .wqe_shift = 6 }, .geo = { .page_shift = 12 },
			.pdn = 0x123, .dbr_addr = 0x0123456789abcdc0, .cqn = 0x67, .uidx = 0x89,
			.max_num_tags = 127,
		},
		{
			{ 0x00, 0x00000101 }, { 0x04, 0x00000089 }, { 0x08, 0x00000067 },
			{ 0x20, 0x70000000 }, { 0x88, 0x00000123 }, { 0x90, 0x01234567 },
			{ 0x94, 0x89abcdc0 }, { 0xa0, 0x00060008 },
		},
	},
	{
		"one tag, signatures",
		{
			.wq = { .wqe_cnt = 1, .wqe_shift = 5 }, .geo = { .page_shift = 12 },
			.wq_signature = true, .max_num_tags = 1,
		},
		{
			{ 0x00, 0x00000101 }, { 0x20, 0x10000000 }, { 0x80, 0x08000000 },
			{ 0xa0, 0x00050000 },
		},
	},
	{
		"every field at its widest",
		{
			.wq = { .wqe_cnt = 1U << 31, .wqe_shift = 15 },
			.geo = { .page_shift = 43, .page_offset = 31 }, .pdn = 0xffffff,
			.dbr_addr = 0xfffffffffffffff8, .wq_signature = true, .cqn = 0xffffff,
			.uidx = 0xffffff, .max_num_tags = 32767,
		},
		{
			{ 0x00, 0x00000101 }, { 0x04, 0x00ffffff }, { 0x08, 0x00ffffff },
			{ 0x20, 0xf0000000 }, { 0x80, 0x08000000 }, { 0x84, 0x001f0000 },
			{ 0x88, 0x00ffffff }, { 0x90, 0xffffffff }, { 0x94, 0xfffffff8 },
			{ 0xa0, 0x000f1f1f },
		},
	},
};

KUNIT_ARRAY_PARAM_DESC(xrq, xrq_cases, name);

static void xrqc_is_exact_to_the_bit(struct kunit *test)
{
	const struct xrq_case *c = test->param_value;
	u32 xrqc[XRQC_SIZE / 4] = {};

	mlx5_ib_fill_xrqc(xrqc, &c->attr);
	expect_golden(test, xrqc, sizeof(xrqc), c->want);
}

/* One entry of the list is always free, so a list of 2^n entries holds one tag less. */
static void list_has_room_for_the_tags_and_one_more(struct kunit *test)
{
	static const struct { u32 tags; u8 log; } cases[] = {
		{ 1, 1 }, { 2, 2 }, { 3, 2 }, { 4, 3 }, { 127, 7 }, { 128, 8 }, { 32767, 15 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct mlx5_ib_srqc_attr attr = {
			.wq = { .wqe_cnt = 1 }, .geo = { .page_shift = 12 },
			.max_num_tags = cases[i].tags,
		};
		u32 xrqc[XRQC_SIZE / 4] = {};

		mlx5_ib_fill_xrqc(xrqc, &attr);
		KUNIT_EXPECT_EQ(test, MLX5_GET(xrqc, xrqc, LIST_SIZE), cases[i].log);
	}
}

static void number_of_tags_is_limited(struct kunit *test)
{
	const struct mlx5_ib_caps *caps = make_caps(test, 15, 512, ALL_CAPS);

	KUNIT_EXPECT_EQ(test, mlx5_ib_srq_check_tags(0, caps), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_srq_check_tags(1, caps), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_srq_check_tags(127, caps), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_srq_check_tags(128, caps), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_srq_check_tags(U32_MAX, caps), -EINVAL);
	caps = make_caps(test, 15, 512, NO_CAPS);
	KUNIT_EXPECT_EQ(test, mlx5_ib_srq_check_tags(1, caps), -EINVAL);
}

static struct kunit_case srq_cases[] = {
	KUNIT_CASE_PARAM(only_valid_requests_are_accepted, request_gen_params),
	KUNIT_CASE_PARAM(queue_size_fits_request_and_device, size_gen_params),
	KUNIT_CASE(stride_of_an_xrc_srq_fits_its_context),
	KUNIT_CASE(reported_limits_are_the_largest_that_fit),
	KUNIT_CASE_PARAM(rmpc_is_exact_to_the_bit, rmpc_gen_params),
	KUNIT_CASE_PARAM(xrc_srqc_is_exact_to_the_bit, xrc_gen_params),
	KUNIT_CASE_PARAM(xrqc_is_exact_to_the_bit, xrq_gen_params),
	KUNIT_CASE(list_has_room_for_the_tags_and_one_more),
	KUNIT_CASE(number_of_tags_is_limited),
	{}
};

static struct kunit_suite srq_suite = {
	.name = "bluebell_srq",
	.test_cases = srq_cases,
};

kunit_test_suite(srq_suite);
