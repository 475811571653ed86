// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the queue pair layout at creation: which requests are
 * accepted, queue sizes at their limits, scatter to CQE and the QPC.
 */

#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/sizes.h>

#include "layout/layout_qp.h"
#include "layout/layout_wq.h"
#include "lib/golden.h"
#include "lib/mock.h"

#define QPC_SIZE	0xe8

/* A device: the types that it has, its limits, and whether it has all other features or none. */
struct device_case {
	bool rc;
	bool uc;
	bool ud;
	u8 log_max_qp_sz;
	u16 max_wqe_sz_rq;
	bool features;
};

static const struct device_case all_caps = { true, true, true, 15, 512, true };
static const struct device_case no_caps = { true, true, true, 15, 512, false };
static const struct device_case rc_only = { .rc = true };
static const struct device_case uc_only = { .uc = true };
static const struct device_case ud_only = { .ud = true };

static struct mlx5_ib_caps *make_caps(struct kunit *test, const struct device_case *c)
{
	struct mlx5_ib_caps *caps = mock_caps(test);

	MOCK_SET_CAP(caps, rc, c->rc);
	MOCK_SET_CAP(caps, uc, c->uc);
	MOCK_SET_CAP(caps, ud, c->ud);
	MOCK_SET_CAP(caps, log_max_qp_sz, c->log_max_qp_sz);
	MOCK_SET_CAP(caps, max_wqe_sz_rq, c->max_wqe_sz_rq);
	MOCK_SET_CAP(caps, cqe_version, c->features);
	MOCK_SET_CAP(caps, block_lb_mc, c->features);
	MOCK_SET_CAP(caps, end_pad, c->features);
	MOCK_SET_CAP(caps, cd, c->features);
	MOCK_SET_CAP(caps, wq_signature, c->features);
	MOCK_SET_CAP(caps, sctr_data_cqe, c->features);
	MOCK_SET_CAP(caps, qp_packet_based, c->features);
	MOCK_SET_CAP(caps, xrc, c->features);
	return caps;
}

#define SIGNATURE	MLX5_QP_FLAG_SIGNATURE
#define SCATTER		MLX5_QP_FLAG_SCATTER_CQE
#define ALLOW_SCATTER	MLX5_QP_FLAG_ALLOW_SCATTER_CQE
#define BFREG		MLX5_QP_FLAG_BFREG_INDEX
#define UAR_INDEX	MLX5_QP_FLAG_UAR_PAGE_INDEX
#define CREDITS		MLX5_QP_FLAG_PACKET_BASED_CREDIT_MODE
#define BLOCK_LB	IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK
#define END_PAD		IB_QP_CREATE_PCI_WRITE_END_PADDING

static struct ib_srq some_srq, tm_srq = { .srq_type = IB_SRQT_TM };

static const struct create_case {
	const char *name;
	enum ib_qp_type type;
	u32 create_flags;
	struct mlx5_ib_create_qp ucmd;
	const struct device_case *device;
	int want;
} create_cases[] = {
	{ "RC", IB_QPT_RC, 0, {}, &no_caps, 0 },
	{ "UC", IB_QPT_UC, 0, {}, &no_caps, 0 },
	{ "UD", IB_QPT_UD, 0, {}, &no_caps, 0 },
	{ "RC, which is all there is", IB_QPT_RC, 0, {}, &rc_only, 0 },
	{ "UC on a device with RC alone", IB_QPT_UC, 0, {}, &rc_only, -EOPNOTSUPP },
	{ "UD on a device with RC alone", IB_QPT_UD, 0, {}, &rc_only, -EOPNOTSUPP },
	{ "UC, which is all there is", IB_QPT_UC, 0, {}, &uc_only, 0 },
	{ "RC on a device with UC alone", IB_QPT_RC, 0, {}, &uc_only, -EOPNOTSUPP },
	{ "UD, which is all there is", IB_QPT_UD, 0, {}, &ud_only, 0 },
	{ "RC on a device with UD alone", IB_QPT_RC, 0, {}, &ud_only, -EOPNOTSUPP },
	{ "SMI", IB_QPT_SMI, 0, {}, &all_caps, 0 },
	{ "GSI on a device without datagrams", IB_QPT_GSI, 0, {}, &uc_only, -EOPNOTSUPP },
	{ "raw packet", IB_QPT_RAW_PACKET, 0, {}, &all_caps, -EOPNOTSUPP },
	{ "XRC initiator", IB_QPT_XRC_INI, 0, {}, &all_caps, 0 },
	{ "XRC initiator on a device without", IB_QPT_XRC_INI, 0, {}, &no_caps, -EOPNOTSUPP },
	{ "XRC target", IB_QPT_XRC_TGT, 0, {}, &all_caps, 0 },
	{ "XRC target on a device without", IB_QPT_XRC_TGT, 0, {}, &no_caps, -EOPNOTSUPP },
	{ "XRC target without multicast loopback", IB_QPT_XRC_TGT, BLOCK_LB, {}, &all_caps,
	  -EINVAL },
	{ "XRC target with an undefined verbs flag", IB_QPT_XRC_TGT, BIT(30), {}, &all_caps,
	  -EOPNOTSUPP },
	{ "driver", IB_QPT_DRIVER, 0, {}, &all_caps, -EOPNOTSUPP },
	{ "signed WQEs", IB_QPT_RC, 0, { .flags = SIGNATURE }, &all_caps, 0 },
	{ "signed WQEs on a device without", IB_QPT_RC, 0, { .flags = SIGNATURE }, &no_caps,
	  -EINVAL },
	{ "scatter to CQE on a device without is a wish", IB_QPT_RC, 0, { .flags = SCATTER },
	  &no_caps, 0 },
	{ "a bfreg", IB_QPT_RC, 0, { .flags = BFREG }, &no_caps, 0 },
	{ "a UAR index", IB_QPT_RC, 0, { .flags = UAR_INDEX }, &no_caps, 0 },
	{ "a bfreg and a UAR index", IB_QPT_RC, 0, { .flags = BFREG | UAR_INDEX }, &all_caps,
	  -EINVAL },
	{ "packet based credits of RC", IB_QPT_RC, 0, { .flags = CREDITS }, &all_caps, 0 },
	{ "packet based credits of UC", IB_QPT_UC, 0, { .flags = CREDITS }, &all_caps, -EINVAL },
	{ "packet based credits of UD", IB_QPT_UD, 0, { .flags = CREDITS }, &all_caps, -EINVAL },
	{ "packet based credits of XRC", IB_QPT_XRC_INI, 0, { .flags = CREDITS }, &all_caps,
	  -EINVAL },
	{ "packet based credits on a device without", IB_QPT_RC, 0, { .flags = CREDITS },
	  &no_caps, -EOPNOTSUPP },
	{ "an undefined library flag", IB_QPT_RC, 0, { .flags = BIT(11) }, &all_caps, -EINVAL },
	{ "the highest library flag", IB_QPT_RC, 0, { .flags = BIT(31) }, &all_caps, -EINVAL },
	{ "a DCT's flag", IB_QPT_RC, 0, { .flags = MLX5_QP_FLAG_TYPE_DCT }, &all_caps, -EINVAL },
	{ "a DCI's flag", IB_QPT_RC, 0, { .flags = MLX5_QP_FLAG_TYPE_DCI }, &all_caps, -EINVAL },
	{ "a tunnel's flag", IB_QPT_RC, 0, { .flags = MLX5_QP_FLAG_TUNNEL_OFFLOADS }, &all_caps,
	  -EINVAL },
	{ "a reserved field", IB_QPT_RC, 0, { .reserved = 1 }, &all_caps, -EINVAL },
	{ "a DCI's streams", IB_QPT_RC, 0, { .dci_streams.log_num_concurent = 1 }, &all_caps,
	  -EINVAL },
	{ "a DCI's errored streams", IB_QPT_RC, 0, { .dci_streams.log_num_errored = 1 },
	  &all_caps, -EINVAL },
	{ "UD without multicast loopback", IB_QPT_UD, BLOCK_LB, {}, &all_caps, 0 },
	{ "RC without multicast loopback", IB_QPT_RC, BLOCK_LB, {}, &all_caps, -EINVAL },
	{ "no multicast loopback on a device without", IB_QPT_UD, BLOCK_LB, {}, &no_caps,
	  -EOPNOTSUPP },
	{ "end padding", IB_QPT_RC, END_PAD, {}, &all_caps, 0 },
	{ "end padding on a device without", IB_QPT_RC, END_PAD, {}, &no_caps, -EOPNOTSUPP },
	{ "cross channel", IB_QPT_RC, IB_QP_CREATE_CROSS_CHANNEL, {}, &all_caps, 0 },
	{ "cross channel on a device without", IB_QPT_RC, IB_QP_CREATE_CROSS_CHANNEL, {}, &no_caps,
	  -EOPNOTSUPP },
	{ "managed send on a device without", IB_QPT_RC, IB_QP_CREATE_MANAGED_SEND, {}, &no_caps,
	  -EOPNOTSUPP },
	{ "managed receive on a device without", IB_QPT_RC, IB_QP_CREATE_MANAGED_RECV, {},
	  &no_caps, -EOPNOTSUPP },
	{ "VLAN stripping", IB_QPT_RC, IB_QP_CREATE_CVLAN_STRIPPING, {}, &all_caps, -EOPNOTSUPP },
	{ "an undefined verbs flag", IB_QPT_RC, BIT(30), {}, &all_caps, -EOPNOTSUPP },
};

KUNIT_ARRAY_PARAM_DESC(create, create_cases, name);

static void only_valid_requests_are_accepted(struct kunit *test)
{
	const struct create_case *c = test->param_value;
	const struct mlx5_ib_caps *caps = make_caps(test, c->device);
	const struct ib_qp_init_attr init = {
		.qp_type = c->type, .create_flags = c->create_flags,
	};
	int err = -EOPNOTSUPP;

	if (mlx5_ib_qp_type_exists(c->type, caps))
		err = mlx5_ib_qp_check_create(&init, &c->ucmd, caps);
	KUNIT_EXPECT_EQ(test, err, c->want);
}

/* A device that has all features but one. */
static const struct mlx5_ib_caps *caps_without(struct kunit *test, unsigned int feature)
{
	struct mlx5_ib_caps *caps = make_caps(test, &all_caps);

	switch (feature) {
	case 0:
		MOCK_SET_CAP(caps, wq_signature, 0);
		break;
	case 1:
		MOCK_SET_CAP(caps, qp_packet_based, 0);
		break;
	case 2:
		MOCK_SET_CAP(caps, block_lb_mc, 0);
		break;
	case 3:
		MOCK_SET_CAP(caps, cd, 0);
		break;
	case 4:
		MOCK_SET_CAP(caps, end_pad, 0);
		break;
	case 5:
		MOCK_SET_CAP(caps, sctr_data_cqe, 0);
		break;
	}
	return caps;
}

static void only_rc_has_an_srq_with_tag_matching(struct kunit *test)
{
	static const enum ib_qp_type types[] = {
		IB_QPT_RC, IB_QPT_UC, IB_QPT_UD, IB_QPT_XRC_INI, IB_QPT_DRIVER,
	};
	const struct mlx5_ib_create_qp ucmd = {};
	struct ib_qp_init_attr init = { .srq = &tm_srq };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		init.qp_type = types[i];
		KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_create(&init, &ucmd, mock_caps(test)),
				types[i] == IB_QPT_RC ? 0 : -EINVAL);
	}
}

/* The features are in the order of caps_without(). */
static void request_needs_its_own_feature(struct kunit *test)
{
	static const struct {
		enum ib_qp_type type;
		u32 create_flags;
		struct mlx5_ib_create_qp ucmd;
		int err;
	} t[] = {
		{ IB_QPT_RC, 0, { .flags = SIGNATURE }, -EINVAL },
		{ IB_QPT_RC, 0, { .flags = CREDITS }, -EOPNOTSUPP },
		{ IB_QPT_UD, BLOCK_LB, {}, -EOPNOTSUPP },
		{ IB_QPT_RC, IB_QP_CREATE_CROSS_CHANNEL, {}, -EOPNOTSUPP },
		{ IB_QPT_RC, END_PAD, {}, -EOPNOTSUPP },
		/* Scatter to CQE is a wish, which a device that cannot do it ignores. */
		{ IB_QPT_RC, 0, { .flags = SCATTER }, 0 },
	};
	unsigned int i, without;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		const struct ib_qp_init_attr init = {
			.qp_type = t[i].type, .create_flags = t[i].create_flags,
			.sq_sig_type = IB_SIGNAL_ALL_WR,
		};

		for (without = 0; without < ARRAY_SIZE(t); without++) {
			const struct mlx5_ib_caps *caps = caps_without(test, without);
			bool scattered = t[i].ucmd.flags == SCATTER && without != i;
			u32 qpc[QPC_SIZE / 4] = {};

			KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_qp_check_create(&init, &t[i].ucmd, caps),
					    without == i ? t[i].err : 0, "request %u without %u",
					    i, without);
			mlx5_ib_scatter_to_cqe(qpc, &init, t[i].ucmd.flags, 64, 64, caps);
			KUNIT_EXPECT_EQ_MSG(test, !!MLX5_GET(qpc, qpc, cs_res), scattered,
					    "request %u without %u", i, without);
		}
	}
}

static const enum ib_qp_type user_types[] = {
	IB_QPT_RC, IB_QPT_UC, IB_QPT_UD, IB_QPT_XRC_INI, IB_QPT_XRC_TGT, IB_QPT_SMI, IB_QPT_GSI,
	IB_QPT_RAW_PACKET, IB_QPT_DRIVER,
};

/* Each row is a device that has one transport, and can receive out of order with this transport. */
static void types_are_those_of_the_transport(struct kunit *test)
{
	static const struct {
		u8 rc, uc, ud, xrc;
		u32 types, in_any_order;
	} t[] = {
		{ .rc = 1, .types = BIT(0), .in_any_order = BIT(0) },
		{ .uc = 1, .types = BIT(1), .in_any_order = BIT(1) },
		/* Management datagrams stay in order. */
		{ .ud = 1, .types = BIT(2) | BIT(5) | BIT(6), .in_any_order = BIT(2) },
		{ .xrc = 1, .types = BIT(3) | BIT(4), .in_any_order = BIT(3) | BIT(4) },
	};
	unsigned int i, type;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct mlx5_ib_caps *caps = mock_caps(test);

		MOCK_SET_CAP(caps, rc, t[i].rc);
		MOCK_SET_CAP(caps, uc, t[i].uc);
		MOCK_SET_CAP(caps, ud, t[i].ud);
		MOCK_SET_CAP(caps, xrc, t[i].xrc);
		MOCK_SET_CAP(caps, dp_ordering_ooo_all_rc, t[i].rc);
		MOCK_SET_CAP(caps, dp_ordering_ooo_all_uc, t[i].uc);
		MOCK_SET_CAP(caps, dp_ordering_ooo_all_ud, t[i].ud);
		MOCK_SET_CAP(caps, dp_ordering_ooo_all_xrc, t[i].xrc);
		for (type = 0; type < ARRAY_SIZE(user_types); type++) {
			KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_qp_type_exists(user_types[type], caps),
					    !!(t[i].types & BIT(type)), "device %u, type %u", i,
					    type);
			KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_qp_out_of_order(user_types[type], caps),
					    !!(t[i].in_any_order & BIT(type)),
					    "device %u, type %u", i, type);
		}
	}
}

static const struct uidx_case {
	const char *name;
	u32 uidx;
	bool given;
	u8 cqe_version;
	int want;
} uidx_cases[] = {
	{ "version 0, none given", 0, false, 0, 0 },
	{ "version 0, the default", 0xffffff, true, 0, 0 },
	{ "version 0, an index", 5, true, 0, -EINVAL },
	{ "version 0, index 0", 0, true, 0, -EINVAL },
	{ "version 1, none given", 0, false, 1, -EINVAL },
	{ "version 1, index 0", 0, true, 1, 0 },
	{ "version 1, the largest index", 0xfffffe, true, 1, 0 },
	{ "version 1, the default cannot be looked up", 0xffffff, true, 1, -EINVAL },
	{ "version 1, more than the field holds", 0x1000000, true, 1, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(uidx, uidx_cases, name);

static void user_index_fits_the_cqe_version(struct kunit *test)
{
	const struct uidx_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_uidx(c->uidx, c->given, c->cqe_version), c->want);
}

/*
 * user_index of the QPC: the given index; 0xffffff if none is given; 0 if the device has no user
 * indices.
 */
static void qpc_gets_an_index_only_in_contexts_with_indices(struct kunit *test)
{
	const struct mlx5_ib_caps *with = make_caps(test, &all_caps);
	const struct mlx5_ib_caps *without = make_caps(test, &no_caps);

	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_uidx(0, 1, with), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_uidx(0xfffffe, 1, with), 0xfffffe);
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_uidx(0, 0, with), 0xffffff);
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_uidx(0xffffff, 0, with), 0xffffff);
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_uidx(0xffffff, 0, without), 0);
}

static const struct size_case {
	const char *name;
	struct ib_qp_cap cap;
	struct mlx5_ib_create_qp ucmd;
	u8 log_max;
	u16 max_rq_wqe;
	int want;
	u32 max_gs;
	u32 sq_offset;
	u32 buf_size;
	bool has_srq;
	enum ib_qp_type type;
} size_cases[] = {
	{
		"no queue at all", {}, {}, 15, 512, 0,
	},
	{
		"one receive of one entry",
		{ .max_recv_wr = 1, .max_recv_sge = 1 },
		{ .rq_wqe_count = 1, .rq_wqe_shift = 4 }, 15, 512, 0, 1, 16, 16,
	},
	{
		"one send",
		{ .max_send_wr = 1 },
		{ .sq_wqe_count = 1 }, 15, 512, 0, 0, 0, 64,
	},
	{
		"the send queue follows the receive queue",
		{ .max_send_wr = 64, .max_recv_wr = 256, .max_recv_sge = 4 },
		{ .sq_wqe_count = 64, .rq_wqe_count = 256, .rq_wqe_shift = 6 }, 15, 512, 0,
		4, 16384, 20480,
	},
	{
		"a receive queue of less than a WQEBB before a send queue",
		{},
		{ .sq_wqe_count = 1, .rq_wqe_count = 1, .rq_wqe_shift = 5 }, 15, 512, -EINVAL,
	},
	{
		"a receive queue of exactly a WQEBB before a send queue",
		{},
		{ .sq_wqe_count = 1, .rq_wqe_count = 4, .rq_wqe_shift = 4 }, 15, 512, 0,
		1, 64, 128,
	},
	{
		"both queues at the limit of their fields",
		{ .max_send_wr = 32768, .max_recv_wr = 32768, .max_recv_sge = 128 },
		{ .sq_wqe_count = 32768, .rq_wqe_count = 32768, .rq_wqe_shift = 11 }, 15, 2048, 0,
		128, 64 * SZ_1M, 66 * SZ_1M,
	},
	{
		"a device with more than the context's four bits",
		{},
		{ .sq_wqe_count = 65536 }, 17, 512, -EINVAL,
	},
	{
		"sends at the device's limit",
		{}, { .sq_wqe_count = 1024 }, 10, 512, 0, 0, 0, 65536,
	},
	{ "sends beyond the device's limit", {}, { .sq_wqe_count = 2048 }, 10, 512, -EINVAL },
	{ "sends no power of two", {}, { .sq_wqe_count = 48 }, 15, 512, -EINVAL },
	{ "sends 2^31", {}, { .sq_wqe_count = 1U << 31 }, 15, 512, -EINVAL },
	{ "sends 2^32-1", {}, { .sq_wqe_count = ~0U }, 15, 512, -EINVAL },
	{
		"fewer WQEBBs than sends asked for",
		{ .max_send_wr = 65 }, { .sq_wqe_count = 64 }, 15, 512, -EINVAL,
	},
	{ "sends asked for and no queue", { .max_send_wr = 1 }, {}, 15, 512, -EINVAL },
	{
		"receives at the device's limit",
		{}, { .rq_wqe_count = 1024, .rq_wqe_shift = 4 }, 10, 512, 0, 1, 16384, 16384,
	},
	{
		"receives beyond the device's limit",
		{}, { .rq_wqe_count = 2048, .rq_wqe_shift = 4 }, 10, 512, -EINVAL,
	},
	{
		"receives no power of two",
		{}, { .rq_wqe_count = 3, .rq_wqe_shift = 4 }, 15, 512, -EINVAL,
	},
	{
		"receives 2^31",
		{}, { .rq_wqe_count = 1U << 31, .rq_wqe_shift = 4 }, 15, 512, -EINVAL,
	},
	{
		"receives at the limit, in a stride that overflows 32 bits",
		{}, { .rq_wqe_count = 32768, .rq_wqe_shift = 20 }, 15, 65535, -EINVAL,
	},
	{
		"more receives asked for than the queue has",
		{ .max_recv_wr = 65 }, { .rq_wqe_count = 64, .rq_wqe_shift = 4 }, 15, 512, -EINVAL,
	},
	{ "receives asked for and no queue", { .max_recv_wr = 1 }, {}, 15, 512, -EINVAL },
	{
		"a stride of 8 bytes",
		{}, { .rq_wqe_count = 1, .rq_wqe_shift = 3 }, 15, 512, -EINVAL,
	},
	{
		"a stride at the device's limit",
		{ .max_recv_sge = 32 }, { .rq_wqe_count = 1, .rq_wqe_shift = 9 }, 15, 512, 0,
		32, 512, 512,
	},
	{
		"a stride beyond the device's limit",
		{}, { .rq_wqe_count = 1, .rq_wqe_shift = 10 }, 15, 512, -EINVAL,
	},
	{
		"a stride beyond the context's three bits",
		{}, { .rq_wqe_count = 1, .rq_wqe_shift = 12 }, 15, 65535, -EINVAL,
	},
	{
		"a stride whose shift overflows",
		{}, { .rq_wqe_count = 1, .rq_wqe_shift = 36 }, 15, 65535, -EINVAL,
	},
	{
		"a stride whose shift is 2^32-1",
		{}, { .rq_wqe_count = 1, .rq_wqe_shift = ~0U }, 15, 65535, -EINVAL,
	},
	{
		"more entries asked for than a WQE has",
		{ .max_recv_sge = 5 }, { .rq_wqe_count = 1, .rq_wqe_shift = 6 }, 15, 512, -EINVAL,
	},
	{
		"a signature takes an entry's room",
		{ .max_recv_sge = 3 },
		{ .flags = SIGNATURE, .rq_wqe_count = 4, .rq_wqe_shift = 6 }, 15, 512, 0,
		3, 256, 256,
	},
	{
		"a signature and as many entries as there would be without",
		{ .max_recv_sge = 4 },
		{ .flags = SIGNATURE, .rq_wqe_count = 4, .rq_wqe_shift = 6 }, 15, 512, -EINVAL,
	},
	{
		"a signature that leaves no entry",
		{}, { .flags = SIGNATURE, .rq_wqe_count = 4, .rq_wqe_shift = 4 }, 15, 512, -EINVAL,
	},
	{
		"receives asked for beside an SRQ are ignored",
		{ .max_send_wr = 64, .max_recv_wr = 1000, .max_recv_sge = 100 },
		{ .sq_wqe_count = 64 }, 15, 512, 0, 0, 0, 4096, .has_srq = true,
	},
	{
		"a receive queue beside an SRQ",
		{ .max_recv_wr = 1 }, { .rq_wqe_count = 1, .rq_wqe_shift = 6 }, 15, 512, -EINVAL,
		.has_srq = true,
	},
	{
		"receives asked of an XRC initiator are ignored",
		{ .max_send_wr = 64, .max_recv_wr = 1000, .max_recv_sge = 100 },
		{ .sq_wqe_count = 64 }, 15, 512, 0, 0, 0, 4096, .type = IB_QPT_XRC_INI,
	},
	{
		"a receive queue of an XRC initiator",
		{}, { .rq_wqe_count = 1, .rq_wqe_shift = 6 }, 15, 512, -EINVAL,
		.type = IB_QPT_XRC_INI,
	},
};

KUNIT_ARRAY_PARAM_DESC(size, size_cases, name);

static void queue_sizes_fit_request_and_device(struct kunit *test)
{
	const struct size_case *c = test->param_value;
	struct device_case device = all_caps;
	struct ib_srq srq = {};
	struct ib_qp_init_attr init = {
		.cap = c->cap, .srq = c->has_srq ? &srq : NULL, .qp_type = c->type ?: IB_QPT_RC,
	};

	int size;

	device.log_max_qp_sz = c->log_max;
	device.max_wqe_sz_rq = c->max_rq_wqe;
	size = mlx5_ib_calc_user_wq(&init, &c->ucmd, make_caps(test, &device));
	KUNIT_ASSERT_EQ(test, min(size, 0), c->want);
	if (c->want)
		return;
	KUNIT_EXPECT_EQ(test, init.cap.max_recv_wr, c->ucmd.rq_wqe_count);
	KUNIT_EXPECT_EQ(test, init.cap.max_recv_sge, c->max_gs);
	KUNIT_EXPECT_EQ(test, size - c->ucmd.sq_wqe_count * 64, c->sq_offset);
	KUNIT_EXPECT_EQ(test, size, c->buf_size);
}

static const struct scatter_case {
	const char *name;
	enum ib_qp_type type;
	u32 flags;
	bool sig_all;
	int scqe;
	int rcqe;
	u8 cs_req;
	u8 cs_res;
} scatter_cases[] = {
	{ "RC, not asked for", IB_QPT_RC, 0, true, 128, 128, 0x00, 0 },
	{ "RC, every send completes", IB_QPT_RC, SCATTER, true, 64, 64, 0x11, 1 },
	{ "RC, a send may not complete", IB_QPT_RC, SCATTER, false, 64, 64, 0x00, 1 },
	{ "RC, the user knows", IB_QPT_RC, SCATTER | ALLOW_SCATTER, false, 64, 64, 0x11, 1 },
	{ "RC, 128-byte CQEs", IB_QPT_RC, SCATTER, true, 128, 128, 0x22, 2 },
	{ "RC, 128-byte receive CQEs alone", IB_QPT_RC, SCATTER, true, 64, 128, 0x11, 2 },
	{ "RC, 128-byte send CQEs alone", IB_QPT_RC, SCATTER, true, 128, 64, 0x22, 1 },
	{ "RC, the user knows but does not ask", IB_QPT_RC, ALLOW_SCATTER, true, 64, 64, 0, 0 },
	{ "UD has no payload to spare", IB_QPT_UD, SCATTER, true, 64, 64, 0, 0 },
	{ "XRC's library cannot read it", IB_QPT_XRC_INI, SCATTER, true, 64, 64, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(scatter, scatter_cases, name);

static void payload_is_scattered_to_cqes_that_hold_it(struct kunit *test)
{
	const struct scatter_case *c = test->param_value;
	const struct ib_qp_init_attr init = {
		.qp_type = c->type,
		.sq_sig_type = c->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
	};
	u32 qpc[QPC_SIZE / 4] = {};

	/* A device without scatter to CQE cannot grant the request. */
	mlx5_ib_scatter_to_cqe(qpc, &init, c->flags, c->scqe, c->rcqe, make_caps(test, &no_caps));
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, cs_req), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, cs_res), 0);
	mlx5_ib_scatter_to_cqe(qpc, &init, c->flags, c->scqe, c->rcqe, make_caps(test, &all_caps));
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, cs_req), c->cs_req);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, cs_res), c->cs_res);
}

static const struct qpc_case {
	const char *name;
	struct ib_qp_init_attr init;
	struct mlx5_ib_create_qp ucmd;
	struct golden want[GOLDEN_MAX];
} qpc_cases[] = {
	{
		"RC with both queues",
		{ .qp_type = IB_QPT_RC },
		{ .rq_wqe_count = 256, .rq_wqe_shift = 6, .sq_wqe_count = 512 },
		{ { 0x00, 0x00001800 }, { 0x08, 0x00424800 } },
	},
	{
		"UC with both queues",
		{ .qp_type = IB_QPT_UC },
		{ .rq_wqe_count = 1, .rq_wqe_shift = 4, .sq_wqe_count = 1 },
		{ { 0x00, 0x00011800 } },
	},
	{
		"RC with an SRQ",
		{ .qp_type = IB_QPT_RC, .srq = &some_srq }, { .sq_wqe_count = 1 },
		{ { 0x00, 0x00001800 }, { 0xac, 0x01000000 } },
	},
	{
		"RC with tag matching, to post changes of the list of tags",
		{ .qp_type = IB_QPT_RC, .srq = &tm_srq }, { .sq_wqe_count = 1 },
		{ { 0x00, 0x00001800 }, { 0xac, 0x01000000 } },
	},
	{
		"RC with tag matching, on which the device reads rendezvous data",
		{ .qp_type = IB_QPT_RC, .srq = &tm_srq }, {},
		{ { 0x00, 0x00001810 }, { 0x08, 0x00008000 }, { 0xac, 0x01000000 } },
	},
	{
		"RC with an SRQ and no send queue",
		{ .qp_type = IB_QPT_RC, .srq = &some_srq }, {},
		{ { 0x00, 0x00001800 }, { 0x08, 0x00008000 }, { 0xac, 0x01000000 } },
	},
	{
		"XRC initiator",
		{ .qp_type = IB_QPT_XRC_INI }, { .sq_wqe_count = 1 },
		{ { 0x00, 0x00031800 }, { 0xac, 0x01000000 } },
	},
	{
		"XRC target",
		{ .qp_type = IB_QPT_XRC_TGT }, {},
		{ { 0x00, 0x00031800 }, { 0x08, 0x00008000 }, { 0xac, 0x01000000 } },
	},
	{
		"UD without multicast loopback",
		{ .qp_type = IB_QPT_UD, .create_flags = BLOCK_LB },
		{ .rq_wqe_count = 2, .rq_wqe_shift = 5, .sq_wqe_count = 4 },
		{ { 0x00, 0x00021800 }, { 0x04, 0x40000000 }, { 0x08, 0x00091000 } },
	},
	{
		"no receive queue",
		{ .qp_type = IB_QPT_RC }, { .sq_wqe_count = 32768 },
		{ { 0x00, 0x00001800 }, { 0x08, 0x00007800 }, { 0xac, 0x03000000 } },
	},
	{
		"no send queue",
		{ .qp_type = IB_QPT_RC }, { .rq_wqe_count = 32768, .rq_wqe_shift = 11 },
		{ { 0x00, 0x00001800 }, { 0x08, 0x007f8000 } },
	},
	{
		"no queue at all",
		{ .qp_type = IB_QPT_RC }, {},
		{ { 0x00, 0x00001800 }, { 0x08, 0x00008000 }, { 0xac, 0x03000000 } },
	},
	{
		"every field at its widest",
		{
			.qp_type = IB_QPT_UD,
			.create_flags = BLOCK_LB | END_PAD | IB_QP_CREATE_CROSS_CHANNEL |
					IB_QP_CREATE_MANAGED_SEND | IB_QP_CREATE_MANAGED_RECV,
		},
		{
			.rq_wqe_count = 32768, .rq_wqe_shift = 11, .sq_wqe_count = 32768,
			.flags = SIGNATURE | CREDITS,
		},
		{
			{ 0x00, 0x00021904 }, { 0x04, 0xc0000000 }, { 0x08, 0x007f7800 },
			{ 0x90, 0x00000007 },
		},
	},
	{
		"cross channel, one flag alone",
		{ .qp_type = IB_QPT_RC, .create_flags = IB_QP_CREATE_MANAGED_SEND }, {},
		{
			{ 0x00, 0x00001800 }, { 0x08, 0x00008000 }, { 0x90, 0x00000002 },
			{ 0xac, 0x03000000 },
		},
	},
};

KUNIT_ARRAY_PARAM_DESC(qpc, qpc_cases, name);

static void qpc_is_exact_to_the_bit(struct kunit *test)
{
	const struct qpc_case *c = test->param_value;
	u32 qpc[QPC_SIZE / 4] = {};

	mlx5_ib_fill_qpc(qpc, &c->init, &c->ucmd);
	expect_golden(test, qpc, sizeof(qpc), c->want);
}

/*
 * SQs and QPs may differ in their timestamp formats; only a device with RoCE reports those of QPs.
 */
static const struct ts_case {
	const char *name;
	bool roce;
	u8 sq, qp;
	bool real_time;
	u8 want;
} ts_cases[] = {
	{ "free-running", false, 0, 0, false, MLX5_TIMESTAMP_FORMAT_FREE_RUNNING },
	{ "real time", false, 1, 0, true, MLX5_TIMESTAMP_FORMAT_DEFAULT },
	{ "both", false, 2, 0, true, MLX5_TIMESTAMP_FORMAT_FREE_RUNNING },
	{ "RoCE, free-running", true, 2, 0, false, MLX5_TIMESTAMP_FORMAT_FREE_RUNNING },
	{ "RoCE, real time", true, 0, 1, true, MLX5_TIMESTAMP_FORMAT_DEFAULT },
	{ "RoCE, both", true, 0, 2, true, MLX5_TIMESTAMP_FORMAT_FREE_RUNNING },
};

KUNIT_ARRAY_PARAM_DESC(ts, ts_cases, name);

static void time_stamps_have_the_format_that_users_expect(struct kunit *test)
{
	struct mlx5_ib_caps *caps = mock_caps(test);
	const struct ts_case *c = test->param_value;

	MOCK_SET_CAP(caps, roce_rw_supported, 1);
	MOCK_SET_CAP(caps, roce, c->roce);
	MOCK_SET_CAP(caps, sq_ts_format, c->sq);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_ROCE, roce_cap, qp_ts_format, c->qp);
	KUNIT_EXPECT_EQ(test, caps->real_time, c->real_time);
	KUNIT_EXPECT_EQ(test, caps->qp_ts_format, c->want);
}

static struct kunit_case qp_cases[] = {
	KUNIT_CASE_PARAM(only_valid_requests_are_accepted, create_gen_params),
	KUNIT_CASE(only_rc_has_an_srq_with_tag_matching),
	KUNIT_CASE(request_needs_its_own_feature),
	KUNIT_CASE(types_are_those_of_the_transport),
	KUNIT_CASE_PARAM(user_index_fits_the_cqe_version, uidx_gen_params),
	KUNIT_CASE(qpc_gets_an_index_only_in_contexts_with_indices),
	KUNIT_CASE_PARAM(queue_sizes_fit_request_and_device, size_gen_params),
	KUNIT_CASE_PARAM(payload_is_scattered_to_cqes_that_hold_it, scatter_gen_params),
	KUNIT_CASE_PARAM(qpc_is_exact_to_the_bit, qpc_gen_params),
	KUNIT_CASE_PARAM(time_stamps_have_the_format_that_users_expect, ts_gen_params),
	{}
};

static struct kunit_suite qp_suite = {
	.name = "bluebell_qp",
	.test_cases = qp_cases,
};

kunit_test_suite(qp_suite);
