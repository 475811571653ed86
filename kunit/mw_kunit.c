// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of memory windows: the key, what requests are accepted, and a
 * firmware that refuses.
 */

#include <kunit/test.h>
#include <linux/string.h>

#include "layout/layout_mkey.h"
#include "lib/golden.h"
#include "lib/mock.h"
#include "verbs/mr.h"
#include "verbs/ucontext.h"

#define PDN	0x123456

static const struct key_case {
	const char *name;
	u8 num_klms;
	bool type_2;
	struct golden want[GOLDEN_MAX];
} key_cases[] = {
	{
		"type 1", 0, false,
		{
			{ 0x00, 0x02000000 }, { 0x10, 0x40008600 }, { 0x14, 0xffffff00 },
			{ 0x1c, 0x00123456 }, { 0x44, 0x00000004 },
		},
	},
	{
		"type 2, that a peer may invalidate", 1, true,
		{
			{ 0x00, 0x02000000 }, { 0x10, 0x40008600 }, { 0x14, 0xffffff00 },
			{ 0x1c, 0x01123456 }, { 0x44, 0x00000004 },
		},
	},
	{
		"five pieces in two units of four", 5, true,
		{
			{ 0x00, 0x02000000 }, { 0x10, 0x40008600 }, { 0x14, 0xffffff00 },
			{ 0x1c, 0x01123456 }, { 0x44, 0x00000008 },
		},
	},
	{
		"the most pieces", 255, false,
		{
			{ 0x00, 0x02000000 }, { 0x10, 0x40008600 }, { 0x14, 0xffffff00 },
			{ 0x1c, 0x00123456 }, { 0x44, 0x00000100 },
		},
	},
};

KUNIT_ARRAY_PARAM_DESC(key, key_cases, name);

static void key_of_a_window_is_exact_to_the_bit(struct kunit *test)
{
	const struct key_case *c = test->param_value;
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};

	mlx5_ib_fill_mw_mkey(in, PDN, c->num_klms, c->type_2);
	expect_golden(test, in, sizeof(in), c->want);
}

static int alloc(struct mock *mock, struct mlx5_ib_pd *pd, struct mlx5_ib_mw *mw,
		 const struct mlx5_ib_alloc_mw *req)
{
	*pd = (struct mlx5_ib_pd){ .ibpd.device = &mock->dev->ib_dev, .pdn = PDN };
	*mw = (struct mlx5_ib_mw){
		.ibmw = {
			.device = &mock->dev->ib_dev, .pd = &pd->ibpd, .type = IB_MW_TYPE_2,
		},
	};
	return mlx5_ib_alloc_mw(&mw->ibmw, mock_udata(mock, req, req ? sizeof(*req) : 0, 0));
}

static void refused_window_leaves_nothing(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_pd pd;
	struct mlx5_ib_mw mw;

	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, alloc(mock, &pd, &mw, NULL), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
	KUNIT_ASSERT_EQ(test, alloc(mock, &pd, &mw, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_MKEY], 1);
	KUNIT_EXPECT_NE(test, mw.ibmw.rkey >> 8, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dealloc_mw(&mw.ibmw), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

static void window_that_firmware_keeps_can_be_freed_later(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_pd pd;
	struct mlx5_ib_mw mw;

	KUNIT_ASSERT_EQ(test, alloc(mock, &pd, &mw, NULL), 0);
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dealloc_mw(&mw.ibmw), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_MKEY], 1);
	mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dealloc_mw(&mw.ibmw), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

static void device_without_windows_refuses_them(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_pd pd;
	struct mlx5_ib_mw mw;

	MOCK_SET_CAP(&mock->dev->caps, imaicl, 0);
	KUNIT_EXPECT_EQ(test, alloc(mock, &pd, &mw, NULL), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* Binding changes the low byte of the key that the process knows. */
static void bound_window_is_freed_by_its_index(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_pd pd;
	struct mlx5_ib_mw mw;

	KUNIT_ASSERT_EQ(test, alloc(mock, &pd, &mw, NULL), 0);
	mw.ibmw.rkey ^= 0xff;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dealloc_mw(&mw.ibmw), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

static void invalid_window_request_sends_no_command(struct kunit *test)
{
	static const struct mlx5_ib_alloc_mw bad[] = {
		{ .comp_mask = 1 }, { .comp_mask = BIT(31) }, { .reserved1 = 1 },
		{ .reserved2 = 1 },
	};
	const struct mlx5_ib_alloc_mw good = { .num_klms = 5 };
	struct mock *mock = mock_create(test);
	struct mlx5_ib_pd pd;
	struct mlx5_ib_mw mw;
	int i, idx;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		idx = mock_enter(mock);
		KUNIT_EXPECT_EQ_MSG(test, alloc(mock, &pd, &mw, &bad[i]), -EOPNOTSUPP,
				    "case %d", i);
		mock_leave(mock, idx);
	}
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_ASSERT_EQ(test, alloc(mock, &pd, &mw, &good), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(create_mkey_in, mock->in,
				       memory_key_mkey_entry.translations_octword_size), 8);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dealloc_mw(&mw.ibmw), 0);
}

static void window_with_too_many_klms_sends_no_command(struct kunit *test)
{
	const struct mlx5_ib_alloc_mw bad = { .num_klms = 17 }, good = { .num_klms = 16 };
	struct mock *mock = mock_create(test);
	struct mlx5_ib_pd pd;
	struct mlx5_ib_mw mw;

	MOCK_SET_CAP(&mock->dev->caps, log_max_klm_list_size, 4);
	KUNIT_EXPECT_EQ(test, alloc(mock, &pd, &mw, &bad), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_ASSERT_EQ(test, alloc(mock, &pd, &mw, &good), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dealloc_mw(&mw.ibmw), 0);
}

static struct kunit_case mw_cases[] = {
	KUNIT_CASE_PARAM(key_of_a_window_is_exact_to_the_bit, key_gen_params),
	KUNIT_CASE(refused_window_leaves_nothing),
	KUNIT_CASE(window_that_firmware_keeps_can_be_freed_later),
	KUNIT_CASE(device_without_windows_refuses_them),
	KUNIT_CASE(bound_window_is_freed_by_its_index),
	KUNIT_CASE(invalid_window_request_sends_no_command),
	KUNIT_CASE(window_with_too_many_klms_sends_no_command),
	{}
};

static struct kunit_suite mw_suite = {
	.name = "bluebell_mw",
	.test_cases = mw_cases,
};

kunit_test_suite(mw_suite);
