// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the counters of the port: which of them a device has, and in what order.
 */

#include <kunit/test.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "lib/mock.h"
#include "ops.h"

static bool has_counter(struct mlx5_ib_dev *dev, const char *name)
{
	struct rdma_hw_stats *stats = dev->ib_dev.ops.alloc_hw_port_stats(&dev->ib_dev, 1);
	bool has = false;
	int i;

	for (i = 0; stats && i < stats->num_counters; i++)
		has |= !strcmp(stats->descs[i].name, name);
	rdma_free_hw_stats_struct(stats);
	return has;
}

/* Set one capability, or none, and expect that its counter is there, and those of no other. */
static void counters_need_their_capability(struct kunit *test)
{
	static const char *const names[] = {
		"out_of_buffer", "rx_dct_connect", "out_of_sequence", "duplicate_request",
		"resp_cqe_error",
	};
	struct mock *mock = mock_create(test);
	struct mlx5_ib_dev *dev = mock->dev;
	unsigned int i, k;

	MOCK_SET_CAP(&dev->caps, max_qp_cnt, 8);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		MOCK_SET_CAP(&dev->caps, dct, i == 1);
		MOCK_SET_CAP(&dev->caps, out_of_seq_cnt, i == 2);
		MOCK_SET_CAP(&dev->caps, retransmission_q_counters, i == 3);
		MOCK_SET_CAP(&dev->caps, enhanced_error_q_counters, i == 4);
		KUNIT_ASSERT_EQ(test, mlx5_ib_init_counters(dev), 0);
		for (k = 0; k < ARRAY_SIZE(names); k++)
			KUNIT_EXPECT_EQ_MSG(test, has_counter(dev, names[k]), !k || k == i, "%s",
					    names[k]);
		mlx5_ib_cleanup_counters(dev);
	}
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_counters(dev), mock->refuse_err);
	KUNIT_EXPECT_NULL(test, dev->counters);
	MOCK_SET_CAP(&dev->caps, max_qp_cnt, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_counters(dev), 0);
	KUNIT_EXPECT_NULL(test, dev->counters);
}

/* As `rdma statistic` has printed them for devices that have all. */
static void counters_have_the_order_of_the_record(struct kunit *test)
{
	static const char *const names[] = {
		"rx_write_requests", "rx_read_requests", "rx_atomic_requests", "out_of_buffer",
		"out_of_sequence", "duplicate_request", "rnr_nak_retry_err", "packet_seq_err",
		"implied_nak_seq_err", "local_ack_timeout_err", "rx_dct_connect",
		"resp_local_length_error", "resp_cqe_error", "req_cqe_error",
		"req_remote_invalid_request", "req_remote_access_errors",
		"resp_remote_access_errors", "resp_cqe_flush_error", "req_cqe_flush_error",
		"req_transport_retries_exceeded", "req_rnr_retries_exceeded",
	};
	struct mock *mock = mock_create(test);
	struct mlx5_ib_dev *dev = mock->dev;
	struct rdma_hw_stats *stats;
	unsigned int i;

	MOCK_SET_CAP(&dev->caps, max_qp_cnt, 8);
	MOCK_SET_CAP(&dev->caps, dct, 1);
	MOCK_SET_CAP(&dev->caps, out_of_seq_cnt, 1);
	MOCK_SET_CAP(&dev->caps, retransmission_q_counters, 1);
	MOCK_SET_CAP(&dev->caps, enhanced_error_q_counters, 1);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_counters(dev), 0);
	stats = dev->ib_dev.ops.alloc_hw_port_stats(&dev->ib_dev, 1);
	KUNIT_ASSERT_NOT_NULL(test, stats);
	KUNIT_EXPECT_EQ(test, stats->num_counters, ARRAY_SIZE(names));
	for (i = 0; i < min_t(unsigned int, stats->num_counters, ARRAY_SIZE(names)); i++)
		KUNIT_EXPECT_STREQ(test, stats->descs[i].name, names[i]);
	rdma_free_hw_stats_struct(stats);
	mlx5_ib_cleanup_counters(dev);
}

static struct kunit_case counters_cases[] = {
	KUNIT_CASE(counters_need_their_capability),
	KUNIT_CASE(counters_have_the_order_of_the_record),
	{}
};

static struct kunit_suite counters_suite = {
	.name = "bluebell_counters",
	.test_cases = counters_cases,
};

kunit_test_suite(counters_suite);
