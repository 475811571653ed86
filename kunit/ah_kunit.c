// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of address handles: which addresses are accepted from kernel consumers and from
 * processes, and what a query of an address handle returns.
 */

#include <kunit/test.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "lib/mock.h"
#include "verbs/verbs.h"

static struct rdma_ah_attr make_local(void)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_IB };

	rdma_ah_set_port_num(&attr, 1);
	rdma_ah_set_dlid(&attr, 0x1234);
	rdma_ah_set_path_bits(&attr, 0x55);
	rdma_ah_set_sl(&attr, 9);
	rdma_ah_set_static_rate(&attr, IB_RATE_10_GBPS);
	return attr;
}

static struct rdma_ah_attr make_global(void)
{
	struct rdma_ah_attr attr = make_local();
	u8 dgid[16] = { 0xfe, 0x80, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

	rdma_ah_set_grh(&attr, NULL, 0xabcde, 0x87, 64, 0x5a);
	rdma_ah_set_dgid_raw(&attr, dgid);
	return attr;
}

static int create(struct mock *mock, struct mlx5_ib_ah *ah, struct rdma_ah_attr *attr)
{
	struct rdma_ah_init_attr init = { .ah_attr = attr };

	ah->ibah.device = &mock->dev->ib_dev;
	return mlx5_ib_create_ah(&ah->ibah, &init, NULL);
}

static void expect_address(struct kunit *test, const struct rdma_ah_attr *got,
			   const struct rdma_ah_attr *want)
{
	KUNIT_EXPECT_EQ(test, got->type, want->type);
	KUNIT_EXPECT_EQ(test, rdma_ah_get_port_num(got), rdma_ah_get_port_num(want));
	KUNIT_EXPECT_EQ(test, rdma_ah_get_dlid(got), rdma_ah_get_dlid(want));
	KUNIT_EXPECT_EQ(test, rdma_ah_get_path_bits(got), rdma_ah_get_path_bits(want));
	KUNIT_EXPECT_EQ(test, rdma_ah_get_sl(got), rdma_ah_get_sl(want));
	KUNIT_EXPECT_EQ(test, rdma_ah_get_static_rate(got), rdma_ah_get_static_rate(want));
	KUNIT_EXPECT_EQ(test, rdma_ah_get_ah_flags(got), rdma_ah_get_ah_flags(want));
}

/* The device supports the rate of the address. */
static void query_returns_the_address(struct kunit *test)
{
	struct rdma_ah_attr local = make_local(), global = make_global(), got;
	struct mock *mock = mock_create(test);
	struct mlx5_ib_ah ah = {};

	memset(&got, 0xa5, sizeof(got));
	MOCK_SET_CAP(&mock->dev->caps, stat_rate_support, 0xffff);
	KUNIT_ASSERT_EQ(test, create(mock, &ah, &local), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_ah(&ah.ibah, &got), 0);
	expect_address(test, &got, &local);

	memset(&got, 0xa5, sizeof(got));
	KUNIT_ASSERT_EQ(test, create(mock, &ah, &global), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_ah(&ah.ibah, &got), 0);
	expect_address(test, &got, &global);
	KUNIT_EXPECT_EQ(test, got.grh.flow_label, 0xabcde);
	KUNIT_EXPECT_EQ(test, got.grh.sgid_index, 0x87);
	KUNIT_EXPECT_EQ(test, got.grh.hop_limit, 64);
	KUNIT_EXPECT_EQ(test, got.grh.traffic_class, 0x5a);
	KUNIT_EXPECT_MEMEQ(test, got.grh.dgid.raw, global.grh.dgid.raw,
			   sizeof(global.grh.dgid.raw));
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
}

/* A device that supports no rates sends at the speed of the port. */
static void rate_is_that_of_the_device(struct kunit *test)
{
	struct rdma_ah_attr local = make_local(), got;
	struct mock *mock = mock_create(test);
	struct mlx5_ib_ah ah = {};

	MOCK_SET_CAP(&mock->dev->caps, stat_rate_support, 0);
	KUNIT_ASSERT_EQ(test, create(mock, &ah, &local), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_ah(&ah.ibah, &got), 0);
	KUNIT_EXPECT_EQ(test, rdma_ah_get_static_rate(&got), IB_RATE_PORT_CURRENT);
}

/* The library of a process builds the address vector itself, so the driver only checks it. */
static void invalid_address_is_refused(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_ah ah = {};
	struct rdma_ah_attr attrs[] = { make_local(), make_local(), make_local() };
	struct rdma_ah_init_attr init;
	unsigned int i;

	rdma_ah_set_path_bits(&attrs[0], 0x80);
	rdma_ah_set_sl(&attrs[1], 16);
	rdma_ah_set_static_rate(&attrs[2], 1);
	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		init = (struct rdma_ah_init_attr){ .ah_attr = &attrs[i] };
		KUNIT_EXPECT_EQ_MSG(test, create(mock, &ah, &attrs[i]), -EINVAL, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_create_user_ah(&ah.ibah, &init,
								 mock_udata(mock, NULL, 0, 0)),
				    -EINVAL, "case %u of a process", i);
	}
}

static void address_may_be_at_its_limits(struct kunit *test)
{
	struct rdma_ah_attr attr = make_global(), got;
	struct mock *mock = mock_create(test);
	struct mlx5_ib_ah ah = {};

	/* UCX sets all bits, of which a flow label has 20. */
	attr.grh.flow_label = 0xffffffff;
	attr.grh.sgid_index = 5;
	rdma_ah_set_path_bits(&attr, 0x7f);
	rdma_ah_set_sl(&attr, 15);
	KUNIT_ASSERT_EQ(test, create(mock, &ah, &attr), 0);
	memset(&got, 0xa5, sizeof(got));
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_ah(&ah.ibah, &got), 0);
	KUNIT_EXPECT_EQ(test, got.grh.flow_label, 0xfffff);
	KUNIT_EXPECT_EQ(test, got.grh.sgid_index, 5);
	KUNIT_EXPECT_EQ(test, rdma_ah_get_path_bits(&got), 0x7f);
	KUNIT_EXPECT_EQ(test, rdma_ah_get_sl(&got), 15);
}

static void process_gets_a_valid_address_without_a_command(struct kunit *test)
{
	struct rdma_ah_attr attr = make_global();
	struct rdma_ah_init_attr init = { .ah_attr = &attr };
	struct mock *mock = mock_create(test);
	struct mlx5_ib_ah ah = {};
	const u32 driver_data = 1;
	int idx, err;

	ah.ibah.device = &mock->dev->ib_dev;
	KUNIT_EXPECT_EQ(test, mlx5_ib_create_user_ah(&ah.ibah, &init,
						     mock_udata(mock, NULL, 0, 0)), 0);
	/* No driver data of an address handle is defined. */
	idx = mock_enter(mock);
	err = mlx5_ib_create_user_ah(&ah.ibah, &init,
				     mock_udata(mock, &driver_data, sizeof(driver_data), 0));
	mock_leave(mock, idx);
	KUNIT_EXPECT_NE(test, err, 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
}

static struct kunit_case ah_cases[] = {
	KUNIT_CASE(query_returns_the_address),
	KUNIT_CASE(rate_is_that_of_the_device),
	KUNIT_CASE(invalid_address_is_refused),
	KUNIT_CASE(address_may_be_at_its_limits),
	KUNIT_CASE(process_gets_a_valid_address_without_a_command),
	{}
};

static struct kunit_suite ah_suite = {
	.name = "bluebell_ah",
	.test_cases = ah_cases,
};

kunit_test_suite(ah_suite);
