// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the layouts of queues for raw packets: contexts, sizes, states, and what is
 * checked in the requests of a library.
 */

#include <kunit/test.h>
#include <linux/mlx5/driver.h>
#include <linux/sizes.h>

#include "layout/layout_raw.h"
#include "layout/layout_rq.h"
#include "layout/layout_sq.h"
#include "layout/layout_tir.h"
#include "lib/golden.h"
#include "lib/mock.h"

#define RQC_SIZE	0xf0
#define SQC_SIZE	0xf0
#define TISC_SIZE	0xa0
#define TIRC_SIZE	0xf0
#define RQTC_SIZE	0xf0
#define RATE_SIZE	0x30
#define MAX_ENTRIES	4

#define SET_ETH_CAP(caps, field, value) \
	MOCK_SET_CAP_OF(caps, MLX5_CAP_ETHERNET_OFFLOADS, per_protocol_networking_offload_caps, \
			field, value)

/* A device with queues for raw packets; with @features also with what not all such devices have. */
static struct mlx5_ib_caps *make_caps(struct kunit *test, bool features)
{
	struct mlx5_ib_caps *caps = mock_caps(test);

	mock_set_raw_packets(caps);
	MOCK_SET_CAP(caps, end_pad, features);
	MOCK_SET_CAP(caps, wq_signature, features);
	MOCK_SET_CAP(caps, striding_rq, features);
	SET_ETH_CAP(caps, vlan_cap, features);
	SET_ETH_CAP(caps, scatter_fcs, features);
	SET_ETH_CAP(caps, multi_pkt_send_wqe, features);
	SET_ETH_CAP(caps, swp, features);
	SET_ETH_CAP(caps, tunnel_stateless_vxlan, features);
	return caps;
}

#define NO_CAPS		false
#define ALL_CAPS	true

static void raw_packets_need_an_ethernet_port_with_queues_and_steering(struct kunit *test)
{
	struct mlx5_ib_caps *caps = make_caps(test, NO_CAPS);

	KUNIT_EXPECT_TRUE(test, mlx5_ib_has_raw_packets(caps));
	MOCK_SET_CAP(caps, nic_flow_table, 0);
	KUNIT_EXPECT_FALSE(test, mlx5_ib_has_raw_packets(caps));
	MOCK_SET_CAP(caps, nic_flow_table, 1);
	MOCK_SET_CAP(caps, log_max_transport_domain, 0);
	KUNIT_EXPECT_FALSE(test, mlx5_ib_has_raw_packets(caps));
	MOCK_SET_CAP(caps, log_max_transport_domain, 10);
	MOCK_SET_CAP(caps, port_type, MLX5_CAP_PORT_TYPE_IB);
	KUNIT_EXPECT_FALSE(test, mlx5_ib_has_raw_packets(caps));
}

/* ---- receive queues ------------------------------------------------------------------------- */

#define COMMON_RQ	.wqe_count = 1024, .wqe_shift = 6, .pdn = 0x123456, .cqn = 0xabcdef
#define GOLDEN_CQN	{ 0x08, 0x00abcdef }
#define GOLDEN_PD	{ 0x38, 0x00123456 }
#define GOLDEN_SIZE	{ 0x50, 0x0006000a }

static const struct rqc_case {
	const char *name;
	struct mlx5_ib_rqc_attr rq;
	struct golden want[GOLDEN_MAX];
} rqc_cases[] = {
	{ "a plain queue leaves VLAN tags in packets", { COMMON_RQ },
	  { { 0x00, 0x10040000 }, { 0x30, 0x10000000 }, GOLDEN_CQN, GOLDEN_PD, GOLDEN_SIZE } },
	{ "numbers of other objects, and real time",
	  { COMMON_RQ, .uidx = 0x654321, .counter_set = 0x5a, .ts_format = 2 },
	  { { 0x00, 0x10040020 }, { 0x04, 0x00654321 }, { 0x0c, 0x5a000000 },
	    { 0x30, 0x10000000 }, GOLDEN_CQN, GOLDEN_PD, GOLDEN_SIZE } },
	{ "all features",
	  { COMMON_RQ, .strip_vlan = true, .scatter_fcs = true, .pad_writes = true,
	    .wq_signature = true },
	  { { 0x00, 0x20040000 }, { 0x30, 0x1a000000 }, GOLDEN_CQN, GOLDEN_PD, GOLDEN_SIZE } },
	{ "the largest buffers that packets share",
	  { COMMON_RQ, .striding = true, .stride_shift = 13, .log_strides = 16,
	    .two_byte_shift = true },
	  { { 0x00, 0x10040000 }, { 0x30, 0x30000000 }, GOLDEN_CQN, GOLDEN_PD, GOLDEN_SIZE,
	    { 0x54, 0x00000787 } } },
	{ "the smallest, of fewer strides than the field's base",
	  { COMMON_RQ, .striding = true, .stride_shift = 6, .log_strides = 3 },
	  { { 0x00, 0x10040000 }, { 0x30, 0x30000000 }, GOLDEN_CQN, GOLDEN_PD, GOLDEN_SIZE,
	    { 0x54, 0x00000a00 } } },
};

KUNIT_ARRAY_PARAM_DESC(rqc, rqc_cases, name);

static void rqc_is_golden(struct kunit *test)
{
	const struct rqc_case *c = test->param_value;
	u32 rqc[MLX5_ST_SZ_DW(rqc)] = {};

	KUNIT_ASSERT_EQ(test, sizeof(rqc), RQC_SIZE);
	mlx5_ib_fill_rqc(rqc, &c->rq);
	expect_golden(test, rqc, sizeof(rqc), c->want);
}

static void rqtc_is_golden(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x14, 2 }, { 0x18, 2 }, { 0xf0, 0x00abcdef }, { 0xf4, 0x00123456 },
	};
	const u32 rqns[] = { 0xabcdef, 0x123456 };
	u32 rqtc[MLX5_ST_SZ_DW(rqtc) + MAX_ENTRIES] = {};

	KUNIT_ASSERT_EQ(test, MLX5_ST_SZ_BYTES(rqtc), RQTC_SIZE);
	mlx5_ib_fill_rqtc(rqtc, rqns, ARRAY_SIZE(rqns));
	expect_golden(test, rqtc, sizeof(rqtc), want);
}

static void rqt_is_no_longer_than_the_device_allows(struct kunit *test)
{
	const struct mlx5_ib_caps *caps = make_caps(test, NO_CAPS);

	KUNIT_EXPECT_EQ(test, mlx5_ib_rqt_check_size(0, caps), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rqt_check_size(4, caps), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rqt_check_size(5, caps), -EINVAL);
}

#define STRIDING	.comp_mask = MLX5_IB_CREATE_WQ_STRIDING_RQ
#define STRIDES(shift, num) \
	.single_stride_log_num_of_bytes = (shift), .single_wqe_log_num_of_strides = (num)

static const struct wq_case {
	const char *name;
	struct ib_wq_init_attr init;
	struct mlx5_ib_create_wq ucmd;
	bool features;
	int want;
} wq_cases[] = {
	{ "64 WQEs of four entries", { .max_wr = 64, .max_sge = 4 },
	  { .rq_wqe_count = 64, .rq_wqe_shift = 6 }, NO_CAPS, 64 << 6 },
	{ "the longest queue", {}, { .rq_wqe_count = 4096, .rq_wqe_shift = 6 }, NO_CAPS, SZ_256K },
	{ "a longer queue", {}, { .rq_wqe_count = 8192, .rq_wqe_shift = 6 }, NO_CAPS, -EINVAL },
	{ "no WQE", {}, { .rq_wqe_shift = 6 }, NO_CAPS, -EINVAL },
	{ "a count that is no power of two", {}, { .rq_wqe_count = 3, .rq_wqe_shift = 6 }, NO_CAPS,
	  -EINVAL },
	{ "a stride that would overflow", {}, { .rq_wqe_count = 4, .rq_wqe_shift = 64 }, NO_CAPS,
	  -EINVAL },
	{ "fewer WQEs than requests", { .max_wr = 65 }, { .rq_wqe_count = 64, .rq_wqe_shift = 6 },
	  NO_CAPS, -EINVAL },
	{ "more entries than fit", { .max_wr = 1, .max_sge = 5 },
	  { .rq_wqe_count = 64, .rq_wqe_shift = 6 }, NO_CAPS, -EINVAL },
	{ "all flags", { .create_flags = IB_WQ_FLAGS_CVLAN_STRIPPING | IB_WQ_FLAGS_SCATTER_FCS |
					 IB_WQ_FLAGS_PCI_WRITE_END_PADDING },
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6, .flags = MLX5_WQ_FLAG_SIGNATURE }, ALL_CAPS,
	  256 },
	{ "VLAN stripping that the device lacks", { .create_flags = IB_WQ_FLAGS_CVLAN_STRIPPING },
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6 }, NO_CAPS, -EOPNOTSUPP },
	{ "FCS that the device lacks", { .create_flags = IB_WQ_FLAGS_SCATTER_FCS },
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6 }, NO_CAPS, -EOPNOTSUPP },
	{ "padding that the device lacks", { .create_flags = IB_WQ_FLAGS_PCI_WRITE_END_PADDING },
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6 }, NO_CAPS, -EOPNOTSUPP },
	{ "delayed drops", { .create_flags = IB_WQ_FLAGS_DELAY_DROP },
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6 }, ALL_CAPS, -EOPNOTSUPP },
	{ "an undefined flag of verbs", { .create_flags = 1U << 31 },
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6 }, ALL_CAPS, -EOPNOTSUPP },
	{ "an undefined flag of the library", {},
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6, .flags = 2 }, ALL_CAPS, -EINVAL },
	{ "signatures that the device lacks", {},
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6, .flags = MLX5_WQ_FLAG_SIGNATURE }, NO_CAPS,
	  -EINVAL },
	{ "a signature leaves no room for an entry", { .max_wr = 1, .max_sge = 4 },
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6, .flags = MLX5_WQ_FLAG_SIGNATURE }, ALL_CAPS,
	  -EINVAL },
	{ "strides", {}, { .rq_wqe_count = 4, .rq_wqe_shift = 6, STRIDING, STRIDES(6, 9) },
	  ALL_CAPS, 256 },
	{ "strides that the device lacks", {},
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6, STRIDING, STRIDES(6, 9) }, NO_CAPS,
	  -EOPNOTSUPP },
	{ "strides that are too short", {},
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6, STRIDING, STRIDES(5, 9) }, ALL_CAPS, -EINVAL },
	{ "strides that are too long", {},
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6, STRIDING, STRIDES(14, 9) }, ALL_CAPS, -EINVAL },
	{ "too few strides", {},
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6, STRIDING, STRIDES(6, 8) }, ALL_CAPS, -EINVAL },
	{ "too many strides", {},
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6, STRIDING, STRIDES(6, 17) }, ALL_CAPS, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(wq, wq_cases, name);

static void wq_request_is_checked(struct kunit *test)
{
	const struct wq_case *c = test->param_value;
	struct mlx5_ib_rqc_attr rq = {};
	struct ib_wq_init_attr init = c->init;

	KUNIT_ASSERT_EQ(test, mlx5_ib_calc_wq(&init, &c->ucmd, make_caps(test, c->features), &rq),
			c->want);
	if (c->want < 0)
		return;
	KUNIT_EXPECT_EQ(test, init.max_wr, c->ucmd.rq_wqe_count);
	KUNIT_EXPECT_EQ(test, init.max_sge, 4 - !!c->ucmd.flags);
	KUNIT_EXPECT_EQ(test, rq.wqe_count, c->ucmd.rq_wqe_count);
	KUNIT_EXPECT_EQ(test, rq.wqe_shift, c->ucmd.rq_wqe_shift);
	KUNIT_EXPECT_EQ(test, rq.wq_signature, !!c->ucmd.flags);
	KUNIT_EXPECT_EQ(test, rq.strip_vlan, !!c->init.create_flags);
	KUNIT_EXPECT_EQ(test, rq.scatter_fcs, !!c->init.create_flags);
	KUNIT_EXPECT_EQ(test, rq.pad_writes, !!c->init.create_flags);
	KUNIT_EXPECT_EQ(test, rq.striding, !!c->ucmd.comp_mask);
	KUNIT_EXPECT_EQ(test, rq.stride_shift, c->ucmd.single_stride_log_num_of_bytes);
	KUNIT_EXPECT_EQ(test, rq.log_strides, c->ucmd.single_wqe_log_num_of_strides);
}

static void device_with_ext_stride_num_range_has_fewer_strides(struct kunit *test)
{
	struct mlx5_ib_caps *caps = make_caps(test, ALL_CAPS);

	KUNIT_EXPECT_EQ(test, mlx5_ib_min_log_strides(caps), 9);
	MOCK_SET_CAP(caps, ext_stride_num_range, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_min_log_strides(caps), 3);
}

static void failed_wq_becomes_ready_only_by_reset(struct kunit *test)
{
	const struct mlx5_ib_caps *caps = make_caps(test, NO_CAPS);
	unsigned int cur, next;

	for (cur = IB_WQS_RESET; cur <= IB_WQS_ERR; cur++)
		for (next = IB_WQS_RESET; next <= IB_WQS_ERR; next++)
			KUNIT_EXPECT_EQ(test, mlx5_ib_wq_check_states(cur, next, caps),
					cur == IB_WQS_ERR && next == IB_WQS_RDY ? -EINVAL : 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_wq_state_to_hw(IB_WQS_RESET), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_wq_state_to_hw(IB_WQS_RDY), 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_wq_state_to_hw(IB_WQS_ERR), 3);
}

/* ---- send queues ---------------------------------------------------------------------------- */

static void sqc_is_golden(struct kunit *test)
{
	static const struct mlx5_ib_sqc_attr attr = {
		.num_blocks = 2048, .pdn = 0x123456, .cqn = 0xabcdef, .uidx = 0x654321,
		.tisn = 0x777777, .uar_page = 0x3c3c3c, .min_inline = 3, .ts_format = 2,
	};
	struct golden want[GOLDEN_MAX] = {
		{ 0x00, 0x13000020 }, { 0x04, 0x00654321 }, { 0x08, 0x00abcdef },
		{ 0x20, 0x00010000 }, { 0x2c, 0x00777777 }, { 0x30, 0x10000000 },
		{ 0x38, 0x00123456 }, { 0x3c, 0x003c3c3c }, { 0x50, 0x0006000b },
	};
	struct mlx5_ib_sqc_attr signed_attr = attr;
	u32 sqc[MLX5_ST_SZ_DW(sqc)] = {};

	KUNIT_ASSERT_EQ(test, sizeof(sqc), SQC_SIZE);
	mlx5_ib_fill_sqc(sqc, &attr, make_caps(test, NO_CAPS));
	expect_golden(test, sqc, sizeof(sqc), want);

	memset(sqc, 0, sizeof(sqc));
	signed_attr.wq_signature = true;
	want[0].value |= 0x08040000;
	want[5].value |= 0x08000000;
	mlx5_ib_fill_sqc(sqc, &signed_attr, make_caps(test, ALL_CAPS));
	expect_golden(test, sqc, sizeof(sqc), want);
}

static void tisc_is_golden(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = { { 0x24, 0x00abcdef } };
	u32 tisc[MLX5_ST_SZ_DW(tisc)] = {};

	KUNIT_ASSERT_EQ(test, sizeof(tisc), TISC_SIZE);
	mlx5_ib_fill_tisc(tisc, 0xabcdef);
	expect_golden(test, tisc, sizeof(tisc), want);
}

static void inline_mode_and_time_stamps_follow_the_device(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mlx5_ib_min_inline_to_hw(MLX5_USER_INLINE_MODE_NA), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_min_inline_to_hw(MLX5_USER_INLINE_MODE_NONE), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_min_inline_to_hw(MLX5_USER_INLINE_MODE_L2), 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_min_inline_to_hw(MLX5_USER_INLINE_MODE_TCP_UDP), 3);
	KUNIT_EXPECT_EQ(test, mlx5_ib_raw_ts_format(MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING, false),
			MLX5_TIMESTAMP_FORMAT_FREE_RUNNING);
	KUNIT_EXPECT_EQ(test, mlx5_ib_raw_ts_format(MLX5_TIMESTAMP_FORMAT_CAP_REAL_TIME, false),
			MLX5_TIMESTAMP_FORMAT_DEFAULT);
	KUNIT_EXPECT_EQ(test, mlx5_ib_raw_ts_format(MLX5_TIMESTAMP_FORMAT_CAP_REAL_TIME, true),
			MLX5_TIMESTAMP_FORMAT_REAL_TIME);
}

static void rate_is_golden(struct kunit *test)
{
	static const struct mlx5_ib_rate rate = { 0x12345678, 0x9abcdef0, 0x4321 };
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x00, 0x12345678 }, { 0x04, 0x9abcdef0 }, { 0x08, 0x00004321 },
	};
	u32 context[MLX5_ST_SZ_DW(set_pp_rate_limit_context)] = {};

	KUNIT_ASSERT_EQ(test, sizeof(context), RATE_SIZE);
	mlx5_ib_fill_rate(context, &rate);
	expect_golden(test, context, sizeof(context), want);
}

static void rate_needs_pacing(struct kunit *test)
{
	const struct mlx5_ib_caps *caps = make_caps(test, ALL_CAPS);

	KUNIT_EXPECT_EQ(test, mlx5_ib_check_rate(&(struct mlx5_ib_rate){}, caps), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_rate(&(struct mlx5_ib_rate){ .burst = 1 }, caps),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_rate(&(struct mlx5_ib_rate){ .packet = 1 }, caps),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_rate(&(struct mlx5_ib_rate){ .kbps = 1000 }, caps),
			-EOPNOTSUPP);
}

/* ---- transport interfaces for receiving ----------------------------------------------------- */

static void direct_tirc_is_golden(struct kunit *test)
{
	static const struct {
		u32 flags;
		struct golden want[GOLDEN_MAX];
	} cases[] = {
		{ 0, { { 0x1c, 0x00abcdef }, { 0x24, 0x00123456 } } },
		{ MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC,
		  { { 0x1c, 0x00abcdef }, { 0x24, 0x01123456 } } },
		{ MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_MC,
		  { { 0x1c, 0x00abcdef }, { 0x24, 0x02123456 } } },
		{ MLX5_IB_TIR_FLAGS,
		  { { 0x1c, 0x00abcdef }, { 0x20, 0x20000000 }, { 0x24, 0x03123456 } } },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 tirc[MLX5_ST_SZ_DW(tirc)] = {};

		KUNIT_ASSERT_EQ(test, sizeof(tirc), TIRC_SIZE);
		mlx5_ib_fill_direct_tirc(tirc, 0xabcdef, 0x123456, cases[i].flags);
		expect_golden(test, tirc, sizeof(tirc), cases[i].want);
	}
}

#define IPV4	(MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV4)
#define IPV6	(MLX5_RX_HASH_SRC_IPV6 | MLX5_RX_HASH_DST_IPV6)
#define TCP	(MLX5_RX_HASH_SRC_PORT_TCP | MLX5_RX_HASH_DST_PORT_TCP)
#define UDP	(MLX5_RX_HASH_SRC_PORT_UDP | MLX5_RX_HASH_DST_PORT_UDP)

static const struct hash_case {
	const char *name;
	u64 fields;
	u32 outer;
	u32 inner;
} hash_cases[] = {
	{ "IPv4 addresses", IPV4, 0x00000003, 0 },
	{ "IPv6 addresses", IPV6, 0x80000003, 0 },
	{ "IPv4 and TCP", IPV4 | TCP, 0x0000000f, 0 },
	{ "IPv6 and UDP", IPV6 | UDP, 0xc000000f, 0 },
	{ "the source address", MLX5_RX_HASH_SRC_IPV4, 0x00000001, 0 },
	{ "the destination address", MLX5_RX_HASH_DST_IPV6, 0x80000002, 0 },
	{ "the source port", MLX5_RX_HASH_SRC_PORT_UDP, 0x40000004, 0 },
	{ "the destination port", MLX5_RX_HASH_DST_PORT_TCP, 0x00000008, 0 },
	{ "inner headers", IPV6 | UDP | MLX5_RX_HASH_INNER, 0, 0xc000000f },
};

KUNIT_ARRAY_PARAM_DESC(hash, hash_cases, name);

static void rss_tirc_is_golden(struct kunit *test)
{
	const struct hash_case *c = test->param_value;
	struct mlx5_ib_create_qp_rss rss = {
		.rx_hash_fields_mask = c->fields, .flags = MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC,
	};
	struct golden want[GOLDEN_MAX] = {
		{ 0x04, 0x10000000 }, { 0x20, 0x00abcdef }, { 0x24, 0x21123456 },
		{ 0x50, c->outer }, { 0x54, c->inner },
	};
	u32 tirc[MLX5_ST_SZ_DW(tirc)] = {};
	unsigned int i;

	for (i = 0; i < MLX5_IB_RSS_KEY_LEN; i++)
		rss.rx_hash_key[i] = i + 1;
	/* What lies behind the key is not part of it. */
	rss.rx_hash_key[MLX5_IB_RSS_KEY_LEN] = 0xff;
	for (i = 0; i < MLX5_IB_RSS_KEY_LEN / 4; i++)
		want[5 + i] = (struct golden){ 0x28 + 4 * i, 0x01020304 + 0x04040404 * i };
	mlx5_ib_fill_rss_tirc(tirc, 0xabcdef, 0x123456, &rss);
	expect_golden(test, tirc, sizeof(tirc), want);
}

static void tir_without_a_hash_has_no_key(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x04, 0x10000000 }, { 0x20, 0x00abcdef }, { 0x24, 0x00123456 },
	};
	static const struct mlx5_ib_create_qp_rss rss = { .rx_hash_key = { 1, 2, 3 } };
	u32 tirc[MLX5_ST_SZ_DW(tirc)] = {};

	mlx5_ib_fill_rss_tirc(tirc, 0xabcdef, 0x123456, &rss);
	expect_golden(test, tirc, sizeof(tirc), want);
}

#define HASH(mask) \
	.rx_hash_function = MLX5_RX_HASH_FUNC_TOEPLITZ, .rx_key_len = 40, \
	.rx_hash_fields_mask = (mask)

static const struct rss_case {
	const char *name;
	struct mlx5_ib_create_qp_rss rss;
	u32 log_size;
	bool features;
	int want;
} rss_cases[] = {
	{ "addresses and ports", { HASH(IPV4 | TCP) }, 4, NO_CAPS, 0 },
	{ "no field, and one entry", { HASH(0) }, 0, NO_CAPS, 0 },
	{ "no field, and two entries", { HASH(0) }, 1, NO_CAPS, -EINVAL },
	{ "IPv4 and IPv6", { HASH(MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV6) }, 4, NO_CAPS,
	  -EINVAL },
	{ "TCP and UDP", { HASH(MLX5_RX_HASH_SRC_PORT_TCP | MLX5_RX_HASH_DST_PORT_UDP) }, 4,
	  NO_CAPS, -EINVAL },
	{ "SPI", { HASH(IPV4 | MLX5_RX_HASH_IPSEC_SPI) }, 4, ALL_CAPS, -EOPNOTSUPP },
	{ "an undefined field", { HASH(1ULL << 63) }, 4, ALL_CAPS, -EOPNOTSUPP },
	{ "another function", { .rx_hash_function = 2, .rx_key_len = 40 }, 0, NO_CAPS,
	  -EOPNOTSUPP },
	{ "a short key", { .rx_hash_function = 1, .rx_key_len = 39 }, 0, NO_CAPS, -EINVAL },
	{ "a long key", { .rx_hash_function = 1, .rx_key_len = 41 }, 0, NO_CAPS, -EINVAL },
	{ "inner headers",
	  { HASH(IPV4 | MLX5_RX_HASH_INNER), .flags = MLX5_QP_FLAG_TUNNEL_OFFLOADS }, 4, ALL_CAPS,
	  0 },
	{ "inner headers without tunnels", { HASH(IPV4 | MLX5_RX_HASH_INNER) }, 4, ALL_CAPS,
	  -EOPNOTSUPP },
	{ "tunnels that the device lacks",
	  { HASH(IPV4), .flags = MLX5_QP_FLAG_TUNNEL_OFFLOADS }, 4, NO_CAPS, -EOPNOTSUPP },
	{ "loopback", { HASH(IPV4), .flags = MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC }, 4, NO_CAPS, 0 },
	{ "another flag", { HASH(IPV4), .flags = MLX5_QP_FLAG_SIGNATURE }, 4, ALL_CAPS,
	  -EOPNOTSUPP },
	{ "comp_mask", { HASH(IPV4), .comp_mask = 1 }, 4, ALL_CAPS, -EOPNOTSUPP },
	{ "reserved", { HASH(IPV4), .reserved = { [5] = 1 } }, 4, ALL_CAPS, -EOPNOTSUPP },
};

KUNIT_ARRAY_PARAM_DESC(rss, rss_cases, name);

static void rss_request_is_checked(struct kunit *test)
{
	const struct rss_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_rss_check(&c->rss, c->log_size,
						make_caps(test, c->features)), c->want);
}

/* ---- queue pairs ---------------------------------------------------------------------------- */

static const struct request_case {
	const char *name;
	u32 create_flags;
	struct mlx5_ib_create_qp ucmd;
	bool features;
	int want;
} request_cases[] = {
	{ "nothing special", 0, {}, NO_CAPS, 0 },
	{ "what libmlx5 asks for by default", 0,
	  { .flags = MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE }, NO_CAPS, 0 },
	{ "all features", IB_QP_CREATE_SCATTER_FCS | IB_QP_CREATE_CVLAN_STRIPPING |
			  IB_QP_CREATE_PCI_WRITE_END_PADDING,
	  { .flags = MLX5_IB_TIR_FLAGS | MLX5_QP_FLAG_SIGNATURE }, ALL_CAPS, 0 },
	{ "VLAN stripping that the device lacks", IB_QP_CREATE_CVLAN_STRIPPING, {}, NO_CAPS,
	  -EOPNOTSUPP },
	{ "FCS that the device lacks", IB_QP_CREATE_SCATTER_FCS, {}, NO_CAPS, -EOPNOTSUPP },
	{ "padding that the device lacks", IB_QP_CREATE_PCI_WRITE_END_PADDING, {}, NO_CAPS,
	  -EOPNOTSUPP },
	{ "a flag of other types", IB_QP_CREATE_CROSS_CHANNEL, {}, ALL_CAPS, -EOPNOTSUPP },
	{ "own multicast packets blocked", IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK, {}, NO_CAPS, 0 },
	{ "own multicast packets blocked and allowed", IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK,
	  { .flags = MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_MC }, NO_CAPS, -EINVAL },
	{ "another source QP", IB_QP_CREATE_SOURCE_QPN, {}, ALL_CAPS, -EOPNOTSUPP },
	{ "packet-based credits", 0, { .flags = MLX5_QP_FLAG_PACKET_BASED_CREDIT_MODE }, ALL_CAPS,
	  -EINVAL },
	{ "a DC target", 0, { .flags = MLX5_QP_FLAG_TYPE_DCT }, ALL_CAPS, -EINVAL },
	{ "streams", 0, { .dci_streams.log_num_concurent = 1 }, ALL_CAPS, -EINVAL },
	{ "reserved", 0, { .reserved = 1 }, ALL_CAPS, -EINVAL },
	{ "two doorbells", 0, { .flags = MLX5_QP_FLAG_BFREG_INDEX | MLX5_QP_FLAG_UAR_PAGE_INDEX },
	  ALL_CAPS, -EINVAL },
	{ "signatures that the device lacks", 0, { .flags = MLX5_QP_FLAG_SIGNATURE }, NO_CAPS,
	  -EINVAL },
	{ "tunnels that the device lacks", 0, { .flags = MLX5_QP_FLAG_TUNNEL_OFFLOADS }, NO_CAPS,
	  -EOPNOTSUPP },
};

KUNIT_ARRAY_PARAM_DESC(request, request_cases, name);

static void raw_request_is_checked(struct kunit *test)
{
	const struct request_case *c = test->param_value;
	const struct mlx5_ib_caps *caps = make_caps(test, c->features);
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RAW_PACKET, .create_flags = c->create_flags,
	};
	struct ib_srq srq;

	KUNIT_EXPECT_EQ(test, mlx5_ib_raw_check_create(&init, &c->ucmd, caps), c->want);
	init.srq = &srq;
	KUNIT_EXPECT_LT(test, mlx5_ib_raw_check_create(&init, &c->ucmd, caps), 0);
}

static const struct size_case {
	const char *name;
	struct ib_qp_cap cap;
	struct mlx5_ib_create_qp ucmd;
	int rq, sq;
} size_cases[] = {
	{ "both queues", { .max_send_wr = 8, .max_recv_wr = 4, .max_recv_sge = 2 },
	  { .sq_wqe_count = 16, .rq_wqe_count = 4, .rq_wqe_shift = 5 }, 128, 1024 },
	{ "a receive queue that ends in the middle of 64 bytes", { .max_send_wr = 1 },
	  { .sq_wqe_count = 1, .rq_wqe_count = 1, .rq_wqe_shift = 4 }, 16, 64 },
	{ "a send queue alone", { .max_send_wr = 8 }, { .sq_wqe_count = 8 }, 0, 512 },
	{ "a receive queue alone", { .max_recv_wr = 4 }, { .rq_wqe_count = 4, .rq_wqe_shift = 6 },
	  256, 0 },
	{ "the longest queues", {},
	  { .sq_wqe_count = 4096, .rq_wqe_count = 4096, .rq_wqe_shift = 6 }, SZ_256K, SZ_256K },
	{ "no queue", {}, {}, -EINVAL },
	{ "a send queue that is too long", {}, { .sq_wqe_count = 8192 }, -EINVAL },
	{ "a receive queue that is too long", {}, { .rq_wqe_count = 8192, .rq_wqe_shift = 6 },
	  -EINVAL },
	{ "fewer blocks than requests", { .max_send_wr = 9 }, { .sq_wqe_count = 8 }, -EINVAL },
	{ "fewer WQEs than requests", { .max_recv_wr = 5 },
	  { .rq_wqe_count = 4, .rq_wqe_shift = 6 }, -EINVAL },
	{ "requests without a receive queue", { .max_recv_wr = 1 }, { .sq_wqe_count = 8 },
	  -EINVAL },
	{ "a count that is no power of two", {}, { .sq_wqe_count = 3 }, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(size, size_cases, name);

static void raw_queues_have_buffers_of_their_own(struct kunit *test)
{
	const struct size_case *c = test->param_value;
	struct ib_qp_init_attr init = { .qp_type = IB_QPT_RAW_PACKET, .cap = c->cap };
	int sq = -1;

	KUNIT_ASSERT_EQ(test, mlx5_ib_raw_calc(&init, &c->ucmd, make_caps(test, NO_CAPS), &sq),
			c->rq);
	if (c->rq < 0)
		return;
	KUNIT_EXPECT_EQ(test, sq, c->sq);
	KUNIT_EXPECT_EQ(test, init.cap.max_recv_wr, c->ucmd.rq_wqe_count);
	KUNIT_EXPECT_EQ(test, init.cap.max_send_wr, c->cap.max_send_wr);
}

static const struct modify_case {
	const char *name;
	enum ib_qp_state cur, next;
	int mask;
	int want;
} modify_cases[] = {
	{ "RESET to INIT", IB_QPS_RESET, IB_QPS_INIT, IB_QP_STATE | IB_QP_PORT, 0 },
	{ "RESET to INIT without a port", IB_QPS_RESET, IB_QPS_INIT, IB_QP_STATE, -EINVAL },
	{ "INIT to RTR", IB_QPS_INIT, IB_QPS_RTR, IB_QP_STATE, 0 },
	{ "RTR to RTS", IB_QPS_RTR, IB_QPS_RTS, IB_QP_STATE, 0 },
	{ "RTR to RTS with a rate", IB_QPS_RTR, IB_QPS_RTS, IB_QP_STATE | IB_QP_RATE_LIMIT, 0 },
	{ "a rate in RTS", IB_QPS_RTS, IB_QPS_RTS, IB_QP_RATE_LIMIT, 0 },
	{ "a rate in RTR", IB_QPS_INIT, IB_QPS_RTR, IB_QP_STATE | IB_QP_RATE_LIMIT, -EINVAL },
	{ "a Q_Key", IB_QPS_RTR, IB_QPS_RTS, IB_QP_STATE | IB_QP_QKEY, -EINVAL },
	{ "RESET to RTR", IB_QPS_RESET, IB_QPS_RTR, IB_QP_STATE, -EINVAL },
	{ "RTS to SQD", IB_QPS_RTS, IB_QPS_SQD, IB_QP_STATE, -EINVAL },
	{ "SQE to RTS", IB_QPS_SQE, IB_QPS_RTS, IB_QP_STATE, -EINVAL },
	{ "SQE to RESET", IB_QPS_SQE, IB_QPS_RESET, IB_QP_STATE, 0 },
	{ "RTS to ERR", IB_QPS_RTS, IB_QPS_ERR, IB_QP_STATE, 0 },
	{ "ERR to RESET", IB_QPS_ERR, IB_QPS_RESET, IB_QP_STATE, 0 },
};

KUNIT_ARRAY_PARAM_DESC(modify, modify_cases, name);

static void raw_state_change_is_checked(struct kunit *test)
{
	const struct modify_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_raw_check_modify(c->cur, c->next, c->mask,
						       make_caps(test, ALL_CAPS)), c->want);
}

static void queues_follow_the_queue_pair(struct kunit *test)
{
	static const struct {
		enum ib_qp_state state;
		u8 sq, rq;
	} states[] = {
		{ IB_QPS_RESET, 0, 0 }, { IB_QPS_INIT, 0, 1 }, { IB_QPS_RTR, 0, 1 },
		{ IB_QPS_RTS, 1, 1 }, { IB_QPS_ERR, 3, 3 },
	};
	struct mlx5_ib_raw_states queues;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		queues = mlx5_ib_raw_states_of(states[i].state);
		KUNIT_EXPECT_EQ(test, queues.sq, states[i].sq);
		KUNIT_EXPECT_EQ(test, queues.rq, states[i].rq);
		KUNIT_EXPECT_EQ(test, mlx5_ib_raw_state(states[i].state, queues),
				states[i].state);
	}
}

static void failed_queue_fails_the_queue_pair(struct kunit *test)
{
	static const struct {
		u8 sq, rq;
		enum ib_qp_state want;
	} states[] = {
		{ 1, 3, IB_QPS_ERR }, { 3, 1, IB_QPS_SQE }, { 3, 3, IB_QPS_ERR },
		{ MLX5_IB_NO_QUEUE, 3, IB_QPS_ERR }, { 3, MLX5_IB_NO_QUEUE, IB_QPS_ERR },
		{ MLX5_IB_NO_QUEUE, 1, IB_QPS_RTS }, { 1, MLX5_IB_NO_QUEUE, IB_QPS_RTS },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(states); i++)
		KUNIT_EXPECT_EQ(test, mlx5_ib_raw_state(IB_QPS_RTS, (struct mlx5_ib_raw_states){
								states[i].sq, states[i].rq }),
				states[i].want);
}

static struct kunit_case raw_layout_cases[] = {
	KUNIT_CASE(raw_packets_need_an_ethernet_port_with_queues_and_steering),
	KUNIT_CASE_PARAM(rqc_is_golden, rqc_gen_params),
	KUNIT_CASE(rqtc_is_golden),
	KUNIT_CASE(rqt_is_no_longer_than_the_device_allows),
	KUNIT_CASE_PARAM(wq_request_is_checked, wq_gen_params),
	KUNIT_CASE(device_with_ext_stride_num_range_has_fewer_strides),
	KUNIT_CASE(failed_wq_becomes_ready_only_by_reset),
	KUNIT_CASE(sqc_is_golden),
	KUNIT_CASE(tisc_is_golden),
	KUNIT_CASE(inline_mode_and_time_stamps_follow_the_device),
	KUNIT_CASE(rate_is_golden),
	KUNIT_CASE(rate_needs_pacing),
	KUNIT_CASE(direct_tirc_is_golden),
	KUNIT_CASE_PARAM(rss_tirc_is_golden, hash_gen_params),
	KUNIT_CASE(tir_without_a_hash_has_no_key),
	KUNIT_CASE_PARAM(rss_request_is_checked, rss_gen_params),
	KUNIT_CASE_PARAM(raw_request_is_checked, request_gen_params),
	KUNIT_CASE_PARAM(raw_queues_have_buffers_of_their_own, size_gen_params),
	KUNIT_CASE_PARAM(raw_state_change_is_checked, modify_gen_params),
	KUNIT_CASE(queues_follow_the_queue_pair),
	KUNIT_CASE(failed_queue_fails_the_queue_pair),
	{}
};

static struct kunit_suite raw_layout_suite = {
	.name = "bluebell_raw_layout",
	.test_cases = raw_layout_cases,
};

kunit_test_suite(raw_layout_suite);
