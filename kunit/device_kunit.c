// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the attributes of the device: which capability brings which attribute, whatever
 * else the device has, where the limits come from, and which commands read and change attributes.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/device.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>
#include <linux/pci.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>

#include "fw/fw.h"
#include "lib/mock.h"
#include "ops.h"

/* Flags of every device. */
#define BASIC_FLAGS	(IB_DEVICE_CHANGE_PHY_PORT | IB_DEVICE_PORT_ACTIVE_EVENT |	\
			 IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_RC_RNR_NAK_GEN |		\
			 IB_DEVICE_MEM_MGT_EXTENSIONS)

static struct mock *make_device(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_core_dev *mdev = mock->dev->mdev;

	mdev->pdev = kunit_kzalloc(test, sizeof(*mdev->pdev), GFP_KERNEL);
	mdev->iseg = (void __force __iomem *)kunit_kzalloc(test, sizeof(*mdev->iseg), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mdev->pdev);
	KUNIT_ASSERT_NOT_NULL(test, (void __force *)mdev->iseg);
	return mock;
}

/* Query the device as a process does: @resp gets what the library of the process is told. */
static void query(struct mock *mock, struct ib_device_attr *props,
		  struct mlx5_ib_query_device_resp *resp)
{
	struct ib_udata *udata = mock_udata(mock, NULL, 0, sizeof(*resp));

	KUNIT_ASSERT_EQ(mock->test, mlx5_ib_query_device(&mock->dev->ib_dev, props, udata), 0);
	mock_read_answer(mock, resp, sizeof(*resp));
	KUNIT_EXPECT_EQ(mock->test, resp->response_length, sizeof(*resp));
}

/* ---- features ---------------------------------------------------------------------------- */

#define SETTER(field)								\
static void set_##field(struct mlx5_ib_caps *caps, bool on)			\
{										\
	MOCK_SET_CAP(caps, field, on);						\
}

SETTER(imaicl)
SETTER(pkv)
SETTER(qkv)
SETTER(apm)
SETTER(end_pad)
SETTER(xrc)
SETTER(block_lb_mc)
SETTER(cqe_compression_128)
SETTER(cqe_128_always)
SETTER(qp_packet_based)
SETTER(dp_ordering_ooo_all_rc)
SETTER(dp_ordering_ooo_all_uc)
SETTER(dp_ordering_ooo_all_ud)
SETTER(dp_ordering_ooo_all_xrc)

/* UMR can fill keys whose entries refer to other keys, unless this capability is set. */
static void set_pieces(struct mlx5_ib_caps *caps, bool on)
{
	MOCK_SET_CAP(caps, umr_indirect_mkey_disabled, !on);
}

/**
 * struct feature - a capability of the device, and what it brings by itself
 * @name: name of the capability
 * @set: gives the capability to a device, or takes it away
 * @flags: flags that it sets in device_cap_flags of verbs
 * @kernel_flags: flags that it sets in kernel_cap_flags, for kernel consumers
 * @user_flags: flags that it sets in the response for the library
 */
struct feature {
	const char *name;
	void (*set)(struct mlx5_ib_caps *caps, bool on);
	u64 flags;
	u64 kernel_flags;
	u32 user_flags;
};

static const struct feature features[] = {
	{ "imaicl", set_imaicl, IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B },
	{ "pkv", set_pkv, IB_DEVICE_BAD_PKEY_CNTR },
	{ "qkv", set_qkv, IB_DEVICE_BAD_QKEY_CNTR },
	{ "apm", set_apm, IB_DEVICE_AUTO_PATH_MIG },
	{ "end_pad", set_end_pad, IB_DEVICE_PCI_WRITE_END_PADDING },
	{ "xrc", set_xrc, IB_DEVICE_XRC },
	{ "block_lb_mc", set_block_lb_mc, 0, IBK_BLOCK_MULTICAST_LOOPBACK },
	{ "no umr_indirect_mkey_disabled", set_pieces, 0, IBK_SG_GAPS_REG },
	{ "cqe_compression_128", set_cqe_compression_128, 0, 0,
	  MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_COMP },
	{ "cqe_128_always", set_cqe_128_always, 0, 0, MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD },
	{ "qp_packet_based", set_qp_packet_based, 0, 0,
	  MLX5_IB_QUERY_DEV_RESP_PACKET_BASED_CREDIT_MODE },
	{ "dp_ordering_ooo_all_rc", set_dp_ordering_ooo_all_rc, 0, 0,
	  MLX5_IB_QUERY_DEV_RESP_FLAGS_OOO_DP },
	{ "dp_ordering_ooo_all_uc", set_dp_ordering_ooo_all_uc, 0, 0,
	  MLX5_IB_QUERY_DEV_RESP_FLAGS_OOO_DP },
	{ "dp_ordering_ooo_all_ud", set_dp_ordering_ooo_all_ud, 0, 0,
	  MLX5_IB_QUERY_DEV_RESP_FLAGS_OOO_DP },
	/* Sets no flag if the device has no XRC. */
	{ "dp_ordering_ooo_all_xrc", set_dp_ordering_ooo_all_xrc },
};

KUNIT_ARRAY_PARAM_DESC(feature, features, name);

/* The device first has the feature alone, then all other features. */
static void capability_brings_its_own_flags(struct kunit *test)
{
	const struct feature *feature = test->param_value, *f;
	struct mock *mock = make_device(test);
	struct mlx5_ib_query_device_resp resp;
	struct ib_device_attr props;
	struct feature want;
	bool alone = true, on;

	do {
		want = (struct feature){};
		for (f = features; f < features + ARRAY_SIZE(features); f++) {
			on = alone ? f == feature : f != feature;
			f->set(&mock->dev->caps, on);
			if (!on)
				continue;
			want.flags |= f->flags;
			want.kernel_flags |= f->kernel_flags;
			want.user_flags |= f->user_flags;
		}
		query(mock, &props, &resp);
		KUNIT_EXPECT_EQ(test, props.device_cap_flags, BASIC_FLAGS | want.flags);
		KUNIT_EXPECT_EQ(test, props.kernel_cap_flags, want.kernel_flags);
		KUNIT_EXPECT_EQ(test, resp.flags, want.user_flags);
		alone = !alone;
	} while (!alone);
}

static void xrc_may_take_receives_in_any_order(struct kunit *test)
{
	struct mock *mock = make_device(test);
	struct mlx5_ib_query_device_resp resp;
	struct ib_device_attr props;

	MOCK_SET_CAP(&mock->dev->caps, xrc, 1);
	MOCK_SET_CAP(&mock->dev->caps, dp_ordering_ooo_all_xrc, 1);
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, resp.flags, MLX5_IB_QUERY_DEV_RESP_FLAGS_OOO_DP);
}

static void virtual_function_is_reported_as_one(struct kunit *test)
{
	struct mock *mock = make_device(test);
	struct mlx5_ib_query_device_resp resp;
	struct ib_device_attr props;

	MOCK_SET_CAP(&mock->dev->caps, umr_indirect_mkey_disabled, 1);
	mock->dev->mdev->coredev_type = MLX5_COREDEV_VF;
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, props.kernel_cap_flags, IBK_VIRTUAL_FUNCTION);
	mock->dev->mdev->coredev_type = MLX5_COREDEV_PF;
}

/*
 * The driver offers atomic operations only if the device has both compare-and-swap and
 * fetch-and-add; the same holds for masked atomic operations.
 */
static void atomics_are_offered_if_the_device_has_them(struct kunit *test)
{
	static const struct {
		u8 ops;
		enum ib_atomic_cap plain;
		enum ib_atomic_cap masked;
	} cases[] = {
		{ MLX5_ATOMIC_OPS_CMP_SWAP, IB_ATOMIC_NONE, IB_ATOMIC_NONE },
		{ MLX5_ATOMIC_OPS_FETCH_ADD, IB_ATOMIC_NONE, IB_ATOMIC_NONE },
		{ 0x3, IB_ATOMIC_HCA, IB_ATOMIC_NONE },
		{ 0x3 | MLX5_ATOMIC_OPS_EXTENDED_CMP_SWAP, IB_ATOMIC_HCA, IB_ATOMIC_NONE },
		{ 0x3 | MLX5_ATOMIC_OPS_EXTENDED_FETCH_ADD, IB_ATOMIC_HCA, IB_ATOMIC_NONE },
		{ 0xf, IB_ATOMIC_HCA, IB_ATOMIC_HCA },
	};
	struct mock *mock = make_device(test);
	struct mlx5_ib_caps *caps = &mock->dev->caps;
	struct mlx5_ib_query_device_resp resp;
	struct ib_device_attr props;
	unsigned int i;

	MOCK_SET_CAP(caps, atomic, 1);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_ATOMIC, atomic_caps, atomic_size_qp, 8);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		MOCK_SET_CAP_OF(caps, MLX5_CAP_ATOMIC, atomic_caps, atomic_operations,
				cases[i].ops);
		query(mock, &props, &resp);
		KUNIT_EXPECT_EQ_MSG(test, props.atomic_cap, cases[i].plain, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, props.masked_atomic_cap, cases[i].masked, "case %u", i);
	}
}

static void library_is_told_the_formats_of_compressed_cqes(struct kunit *test)
{
	struct mock *mock = make_device(test);
	struct mlx5_ib_caps *caps = &mock->dev->caps;
	struct mlx5_ib_query_device_resp resp;
	struct ib_device_attr props;

	MOCK_SET_CAP(caps, cqe_compression_max_num, 64);
	MOCK_SET_CAP(caps, mini_cqe_resp_stride_index, 1);
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, resp.cqe_comp_caps.max_num, 0);
	KUNIT_EXPECT_EQ(test, resp.cqe_comp_caps.supported_format, 0);
	MOCK_SET_CAP(caps, cqe_compression, 1);
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, resp.cqe_comp_caps.max_num, 64);
	KUNIT_EXPECT_EQ(test, resp.cqe_comp_caps.supported_format,
			MLX5_IB_CQE_RES_FORMAT_HASH | MLX5_IB_CQE_RES_FORMAT_CSUM |
			MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX);
	MOCK_SET_CAP(caps, mini_cqe_resp_stride_index, 0);
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, resp.cqe_comp_caps.supported_format,
			MLX5_IB_CQE_RES_FORMAT_HASH | MLX5_IB_CQE_RES_FORMAT_CSUM);
}

/* ---- limits ------------------------------------------------------------------------------ */

static void limit_of_queues_is_that_of_its_capability(struct kunit *test)
{
	struct mock *mock = make_device(test);
	struct mlx5_ib_caps *caps = &mock->dev->caps;
	struct mlx5_ib_query_device_resp resp;
	struct ib_device_attr props;

	MOCK_SET_CAP(caps, log_max_qp, 7);
	MOCK_SET_CAP(caps, log_max_qp_sz, 8);
	MOCK_SET_CAP(caps, max_wqe_sz_sq, 256);
	MOCK_SET_CAP(caps, max_wqe_sz_rq, 128);
	MOCK_SET_CAP(caps, log_max_cq, 5);
	MOCK_SET_CAP(caps, log_max_cq_sz, 11);
	MOCK_SET_CAP(caps, log_max_srq, 4);
	MOCK_SET_CAP(caps, log_max_srq_sz, 9);
	MOCK_SET_CAP(caps, log_max_ra_req_qp, 3);
	MOCK_SET_CAP(caps, log_max_ra_res_qp, 5);
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, props.max_qp, 128);
	/* Up to four entries of the send queue for each request. */
	KUNIT_EXPECT_EQ(test, props.max_qp_wr, 64);
	/* The control segment and the remote address segment come first in the WQE. */
	KUNIT_EXPECT_EQ(test, props.max_send_sge, 14);
	KUNIT_EXPECT_EQ(test, props.max_recv_sge, 8);
	KUNIT_EXPECT_EQ(test, props.max_cq, 32);
	KUNIT_EXPECT_EQ(test, props.max_cqe, 2047);
	KUNIT_EXPECT_EQ(test, props.max_srq, 16);
	KUNIT_EXPECT_EQ(test, props.max_srq_wr, 511);
	/* The link to the next request comes first in the WQE. */
	KUNIT_EXPECT_EQ(test, props.max_srq_sge, 7);
	KUNIT_EXPECT_EQ(test, props.max_qp_rd_atom, 32);
	KUNIT_EXPECT_EQ(test, props.max_qp_init_rd_atom, 8);
	KUNIT_EXPECT_EQ(test, props.max_res_rd_atom, 32 * 128);
	KUNIT_EXPECT_EQ(test, props.cq_caps.max_cq_moderation_count, MLX5_MAX_CQ_COUNT);
	KUNIT_EXPECT_EQ(test, props.cq_caps.max_cq_moderation_period, MLX5_MAX_CQ_PERIOD);
	/*
	 * max_send_sge is for WQEs of up to 512 bytes: the device reads a longer WQE in more than
	 * one step.
	 */
	MOCK_SET_CAP(caps, max_wqe_sz_sq, 1024);
	/* A receive WQE has 2048 bytes at most. */
	MOCK_SET_CAP(caps, max_wqe_sz_rq, 4096);
	MOCK_SET_CAP(caps, cq_moderation, 0);
	mock_set_issi(mock, 0);
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, props.max_send_sge, 30);
	KUNIT_EXPECT_EQ(test, props.max_recv_sge, 128);
	KUNIT_EXPECT_EQ(test, props.cq_caps.max_cq_moderation_count, 0);
	KUNIT_EXPECT_EQ(test, props.cq_caps.max_cq_moderation_period, 0);
	KUNIT_EXPECT_EQ(test, props.max_srq, 0);
	KUNIT_EXPECT_EQ(test, props.max_srq_wr, 0);
	KUNIT_EXPECT_EQ(test, props.max_srq_sge, 0);
}

static void tag_matching_is_reported_with_its_limits(struct kunit *test)
{
	struct mock *mock = make_device(test);
	struct mlx5_ib_caps *caps = &mock->dev->caps;
	struct mlx5_ib_query_device_resp resp;
	struct ib_device_attr props;

	MOCK_SET_CAP(caps, log_max_qp_sz, 8);
	MOCK_SET_CAP(caps, log_tag_matching_list_sz, 7);
	MOCK_SET_CAP(caps, tag_matching, 1);
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, props.tm_caps.max_num_tags, 0);
	MOCK_SET_CAP(caps, rndv_offload_rc, 1);
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, props.tm_caps.max_rndv_hdr_size, 64);
	KUNIT_EXPECT_EQ(test, props.tm_caps.max_num_tags, 127);
	KUNIT_EXPECT_EQ(test, props.tm_caps.flags, IB_TM_CAP_RNDV_RC);
	KUNIT_EXPECT_EQ(test, props.tm_caps.max_ops, 256);
	KUNIT_EXPECT_EQ(test, props.tm_caps.max_sge, 1);
	/* The context of the SRQ has four bits for the log of the size of the list. */
	MOCK_SET_CAP(caps, log_tag_matching_list_sz, 31);
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, props.tm_caps.max_num_tags, 32767);
	MOCK_SET_CAP(caps, tag_matching, 0);
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, props.tm_caps.max_num_tags, 0);
	KUNIT_EXPECT_EQ(test, props.tm_caps.flags, 0);
	MOCK_SET_CAP(caps, tag_matching, 1);
	mock_set_issi(mock, 0);
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, props.tm_caps.max_num_tags, 0);
}

static void limit_of_other_objects_is_that_of_its_capability(struct kunit *test)
{
	struct mock *mock = make_device(test);
	struct mlx5_ib_caps *caps = &mock->dev->caps;
	struct mlx5_ib_query_device_resp resp;
	struct ib_device_attr props;

	MOCK_SET_CAP(caps, log_max_pd, 6);
	MOCK_SET_CAP(caps, log_max_mkey, 13);
	MOCK_SET_CAP(caps, log_pg_sz, 14);
	MOCK_SET_CAP(caps, log_max_mcg, 3);
	MOCK_SET_CAP(caps, max_qp_mcg, 10);
	MOCK_SET_CAP(caps, local_ca_ack_delay, 9);
	MOCK_SET_CAP(caps, device_frequency_khz, 156250);
	MOCK_SET_CAP(caps, max_sgl_for_optimized_performance, 3);
	caps->pkey_table_len = 128;
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, props.max_pd, 64);
	KUNIT_EXPECT_EQ(test, props.max_mr, 8192);
	KUNIT_EXPECT_EQ(test, props.max_mw, 8192);
	KUNIT_EXPECT_EQ(test, props.page_size_cap, ~0x3fffULL);
	KUNIT_EXPECT_EQ(test, props.max_mcast_grp, 8);
	KUNIT_EXPECT_EQ(test, props.max_mcast_qp_attach, 10);
	KUNIT_EXPECT_EQ(test, props.max_total_mcast_qp_attach, 80);
	KUNIT_EXPECT_EQ(test, props.local_ca_ack_delay, 9);
	KUNIT_EXPECT_EQ(test, props.hca_core_clock, 156250);
	KUNIT_EXPECT_EQ(test, props.max_sgl_rd, 3);
	KUNIT_EXPECT_EQ(test, props.max_pkeys, 128);
	KUNIT_EXPECT_EQ(test, props.max_fast_reg_page_list_len, 65536);
	KUNIT_EXPECT_EQ(test, props.max_dm_size, 0);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_DEV_MEM, device_mem_cap, memic, 1);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_DEV_MEM, device_mem_cap, memic_bar_size, SZ_64K);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_DEV_MEM, device_mem_cap, max_memic_size, SZ_32K);
	MOCK_SET_CAP(caps, device_memory, 1);
	MOCK_SET_CAP(caps, imaicl, 0);
	MOCK_SET_CAP(caps, log_max_mcg, 20);
	MOCK_SET_CAP(caps, max_qp_mcg, 1 << 20);
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, props.max_dm_size, SZ_32K);
	KUNIT_EXPECT_EQ(test, props.max_mw, 0);
	KUNIT_EXPECT_EQ(test, props.max_total_mcast_qp_attach, INT_MAX);
}

/* ---- identity and requests --------------------------------------------------------------- */

static void identity_is_that_of_the_function(struct kunit *test)
{
	struct mock *mock = make_device(test);
	struct mlx5_core_dev *mdev = mock->dev->mdev;
	struct mlx5_ib_query_device_resp resp;
	char version[IB_FW_VERSION_NAME_MAX];
	struct ib_device_attr props;

	/* No two of these fields have the same value. */
	*(__be32 __force *)&mdev->iseg->fw_rev = cpu_to_be32(22 << 16 | 20);
	*(__be32 __force *)&mdev->iseg->cmdif_rev_fw_sub = cpu_to_be32(5 << 16 | 7);
	mdev->pdev->vendor = 1;
	mdev->pdev->device = 0x101d;
	mdev->pdev->subsystem_vendor = 2;
	mdev->pdev->subsystem_device = 3;
	mdev->pdev->revision = 4;
	mock->dev->vendor_id = 0x2c9;
	mock->dev->sys_image_guid = cpu_to_be64(0x1122334455667788ULL);
	mock->dev->ib_dev.node_guid = cpu_to_be64(5);
	query(mock, &props, &resp);
	KUNIT_EXPECT_EQ(test, props.fw_ver, 20ULL << 32 | 22 << 16 | 7);
	KUNIT_EXPECT_EQ(test, props.vendor_id, 0x2c9);
	KUNIT_EXPECT_EQ(test, props.vendor_part_id, 0x101d);
	KUNIT_EXPECT_EQ(test, props.hw_ver, 4);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(props.sys_image_guid), 0x1122334455667788ULL);
	KUNIT_EXPECT_EQ(test, props.max_mr_size, ~0ULL);
	KUNIT_EXPECT_EQ(test, props.max_ah, INT_MAX);
	KUNIT_EXPECT_EQ(test, props.timestamp_mask, S64_MAX);
	KUNIT_EXPECT_EQ(test, props.max_sge_rd, MLX5_MAX_SGE_RD);
	mlx5_ib_get_dev_fw_str(&mock->dev->ib_dev, version);
	KUNIT_EXPECT_STREQ(test, version, "20.22.0007");
}

static void sysfs_tells_what_the_function_is(struct kunit *test)
{
	static const struct {
		const char *name;
		const char *text;
	} files[] = {
		{ "hca_type", "MT4125\n" }, { "hw_rev", "1a\n" }, { "board_id", "MT_0000000008\n" },
		{ "fw_pages", "33\n" }, { "reg_pages", "44\n" },
	};
	struct mock *mock = make_device(test);
	struct mlx5_core_dev *mdev = mock->dev->mdev;
	char *buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct device_attribute *file;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	mdev->pdev->device = 4125;
	mdev->rev_id = 0x1a;
	strscpy(mdev->board_id, "MT_0000000008");
	mdev->priv.fw_pages = 33;
	atomic_set(&mdev->priv.reg_pages, 44);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		file = container_of(mlx5_ib_attr_group.attrs[i], struct device_attribute, attr);
		KUNIT_EXPECT_STREQ(test, file->attr.name, files[i].name);
		file->show(&mock->dev->ib_dev.dev, file, buf);
		KUNIT_EXPECT_STREQ(test, buf, files[i].text);
	}
	KUNIT_EXPECT_NULL(test, mlx5_ib_attr_group.attrs[i]);
}

static void function_that_cannot_be_driven_has_a_reason(struct kunit *test)
{
	struct mock *mock = make_device(test);
	struct mlx5_core_dev *mdev = mock->dev->mdev;
	struct mlx5_ib_caps *caps = &mock->dev->caps;

	MOCK_SET_CAP(caps, ib_virt, 1);
	KUNIT_EXPECT_NULL(test, mlx5_ib_why_not(mdev));
	MOCK_SET_CAP(caps, num_ports, 2);
	KUNIT_EXPECT_NOT_NULL(test, mlx5_ib_why_not(mdev));
	MOCK_SET_CAP(caps, num_ports, 1);
	MOCK_SET_CAP(caps, port_type, MLX5_CAP_PORT_TYPE_ETH);
	MOCK_SET_CAP(caps, ib_virt, 0);
	KUNIT_EXPECT_NULL(test, mlx5_ib_why_not(mdev));
	MOCK_SET_CAP(caps, num_ports, 2);
	KUNIT_EXPECT_NOT_NULL(test, mlx5_ib_why_not(mdev));
}

/* ---- stages ------------------------------------------------------------------------------ */

/* What the stages have done, in order: a capital letter for set-up, a small one for take-down. */
static char steps[16];

static void note(char step)
{
	steps[strlen(steps)] = step;
}

static bool fails[3];

#define STAGE(n, up, down)						\
static int init_##n(struct mlx5_ib_dev *dev)				\
{									\
	note(up);							\
	return fails[n] ? -EIO : 0;					\
}									\
									\
static void cleanup_##n(struct mlx5_ib_dev *dev)			\
{									\
	note(down);							\
}

STAGE(0, 'A', 'a')
STAGE(1, 'B', 'b')
STAGE(2, 'C', 'c')

/* A stage that the device can do without is taken down even if its set-up has failed. */
static void failed_stage_takes_down_the_stages_before_it(struct kunit *test)
{
	static const struct mlx5_ib_stage stages[] = {
		{ "a", init_0, cleanup_0 }, { "x", init_0 },
		{ "b", init_1, cleanup_1, "without b" }, { "y", NULL, cleanup_1 },
		{ "c", init_2, cleanup_2 },
	};
	static const struct {
		bool fails[3];
		int want;
		const char *steps;
	} cases[] = {
		{ { }, 0, "AABC" },
		{ { true }, -EIO, "A" },
		{ { false, true }, 0, "AABC" },
		{ { false, false, true }, -EIO, "AABCbba" },
		{ { false, true, true }, -EIO, "AABCbba" },
	};
	struct mlx5_ib_dev *dev = make_device(test)->dev;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memcpy(fails, cases[i].fails, sizeof(fails));
		memset(steps, 0, sizeof(steps));
		KUNIT_EXPECT_EQ_MSG(test, cases[i].want,
				    mlx5_ib_init_stages(dev, stages, ARRAY_SIZE(stages)),
				    "case %u", i);
		KUNIT_EXPECT_STREQ_MSG(test, steps, cases[i].steps, "case %u", i);
	}
	memset(steps, 0, sizeof(steps));
	mlx5_ib_cleanup_stages(dev, stages, ARRAY_SIZE(stages));
	KUNIT_EXPECT_STREQ(test, steps, "cbba");
}

/* The response must have room for response_length. No request data is defined. */
static void query_with_other_driver_data_is_refused(struct kunit *test)
{
	struct mock *mock = make_device(test);
	struct ib_device *ibdev = &mock->dev->ib_dev;
	const size_t least = offsetofend(struct mlx5_ib_query_device_resp, response_length);
	struct mlx5_ib_query_device_resp resp;
	struct ib_device_attr props;
	const u32 request = 1;
	int idx, err;

	KUNIT_EXPECT_EQ(test, mlx5_ib_query_device(ibdev, &props,
						   mock_udata(mock, NULL, 0, least - 1)), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_device(ibdev, &props,
						   mock_udata(mock, NULL, 0, least)), 0);
	mock_read_answer(mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.response_length, least);
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_device(ibdev, &props, mock_udata(mock, NULL, 0, 0)),
			0);
	idx = mock_enter(mock);
	err = mlx5_ib_query_device(ibdev, &props,
				   mock_udata(mock, &request, sizeof(request), sizeof(resp)));
	mock_leave(mock, idx);
	KUNIT_EXPECT_NE(test, err, 0);
}

/* ---- firmware ---------------------------------------------------------------------------- */

/* Number of QUERY_SPECIAL_CONTEXTS commands in the running test. */
static unsigned int num_queries;

static int fw_with_special_keys(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
				int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	if (MLX5_GET(query_special_contexts_in, in, opcode) == MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS) {
		num_queries++;
		MLX5_SET(query_special_contexts_out, out, dump_fill_mkey, 0x700);
		MLX5_SET(query_special_contexts_out, out, resd_lkey, 0x800);
		MLX5_SET(query_special_contexts_out, out, null_mkey, 0x300);
		MLX5_SET(query_special_contexts_out, out, terminate_scatter_list_mkey, 0x900);
	}
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

static int refused_vport(struct mlx5_ib_dev *dev, u16 opcode, u8 port, u16 index, void *result)
{
	return -EIO;
}

static int answered_vport(struct mlx5_ib_dev *dev, u16 opcode, u8 port, u16 index, void *result)
{
	return 0;
}

static void special_keys_are_asked_of_a_device_that_has_one(struct kunit *test)
{
	struct mock *mock = make_device(test);
	struct mlx5_ib_caps *caps = &mock->dev->caps;
	u32 list_end = caps->list_end_mkey;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_with_special_keys);
	mock->dev->dump_fill_mkey = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_device_attr(mock->dev), 0);
	KUNIT_EXPECT_EQ(test, mock->dev->dump_fill_mkey, 0x700);
	num_queries = 0;
	MOCK_SET_CAP(caps, dump_fill_mkey, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_device_attr(mock->dev), 0);
	KUNIT_EXPECT_EQ(test, num_queries, 0);
	MOCK_SET_CAP(caps, null_mkey, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_device_attr(mock->dev), 0);
	KUNIT_EXPECT_EQ(test, num_queries, 1);
	KUNIT_EXPECT_EQ(test, mock->dev->null_mkey, 0x300);
	KUNIT_EXPECT_EQ(test, caps->list_end_mkey, list_end);
	MOCK_SET_CAP(caps, null_mkey, 0);
	MOCK_SET_CAP(caps, terminate_scatter_list_mkey, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_device_attr(mock->dev), 0);
	KUNIT_EXPECT_EQ(test, num_queries, 2);
	KUNIT_EXPECT_EQ(test, caps->list_end_mkey, 0x900);
}

/* The driver asks for the description of the node, the adapter's identity and the special keys. */
static void refusal_of_any_attribute_is_reported(struct kunit *test)
{
	struct mock *mock = make_device(test);
	unsigned int n, commands, reads = 0;

	/* mlx5_core sends the query of the port, so the mock counts no command for it. */
	kunit_activate_static_stub(test, mlx5_ib_fw_query_hca_vport, refused_vport);
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_device_attr(mock->dev), -EIO);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	kunit_activate_static_stub(test, mlx5_ib_fw_query_hca_vport, answered_vport);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_device_attr(mock->dev), 0);
	commands = mock->num_commands;
	KUNIT_EXPECT_EQ(test, commands, 3);
	for (n = 1; n <= commands; n++) {
		mock->num_commands = 0;
		mock->refuse = n;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_init_device_attr(mock->dev), mock->refuse_err,
				    "refusal %u", n);
		KUNIT_EXPECT_EQ(test, mock->num_commands, n);
		if (mock->opcode != MLX5_CMD_OP_ACCESS_REG)
			continue;
		/* The description of the node is read: 1 reads a register, 0 writes it. */
		KUNIT_EXPECT_EQ(test, MLX5_GET(access_register_in, mock->in, register_id),
				MLX5_REG_NODE_DESC);
		KUNIT_EXPECT_EQ(test, MLX5_GET(access_register_in, mock->in, op_mod), 1);
		reads++;
	}
	KUNIT_EXPECT_EQ(test, reads, 1);
}

static void description_changes_only_if_firmware_takes_it(struct kunit *test)
{
	struct mock *mock = make_device(test);
	struct ib_device *ibdev = &mock->dev->ib_dev;
	struct ib_device_modify attr = { .node_desc = "new", .sys_image_guid = 1 };

	strscpy(ibdev->node_desc, "old");
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_device(ibdev, 0, &attr), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_device(ibdev, IB_DEVICE_MODIFY_NODE_DESC |
						    IB_DEVICE_MODIFY_SYS_IMAGE_GUID, &attr),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_device(ibdev, IB_DEVICE_MODIFY_NODE_DESC, &attr),
			mock->refuse_err);
	KUNIT_EXPECT_STREQ(test, ibdev->node_desc, "old");
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_device(ibdev, IB_DEVICE_MODIFY_NODE_DESC, &attr), 0);
	KUNIT_EXPECT_STREQ(test, ibdev->node_desc, "new");
	KUNIT_EXPECT_EQ(test, MLX5_GET(access_register_in, mock->in, op_mod), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(access_register_in, mock->in, register_id),
			MLX5_REG_NODE_DESC);
	KUNIT_EXPECT_MEMEQ(test, MLX5_ADDR_OF(access_register_in, mock->in, register_data),
			   attr.node_desc, sizeof(attr.node_desc));
}

static struct kunit_case device_cases[] = {
	KUNIT_CASE_PARAM(capability_brings_its_own_flags, feature_gen_params),
	KUNIT_CASE(xrc_may_take_receives_in_any_order),
	KUNIT_CASE(virtual_function_is_reported_as_one),
	KUNIT_CASE(atomics_are_offered_if_the_device_has_them),
	KUNIT_CASE(library_is_told_the_formats_of_compressed_cqes),
	KUNIT_CASE(limit_of_queues_is_that_of_its_capability),
	KUNIT_CASE(tag_matching_is_reported_with_its_limits),
	KUNIT_CASE(limit_of_other_objects_is_that_of_its_capability),
	KUNIT_CASE(identity_is_that_of_the_function),
	KUNIT_CASE(sysfs_tells_what_the_function_is),
	KUNIT_CASE(function_that_cannot_be_driven_has_a_reason),
	KUNIT_CASE(failed_stage_takes_down_the_stages_before_it),
	KUNIT_CASE(query_with_other_driver_data_is_refused),
	KUNIT_CASE(special_keys_are_asked_of_a_device_that_has_one),
	KUNIT_CASE(refusal_of_any_attribute_is_reported),
	KUNIT_CASE(description_changes_only_if_firmware_takes_it),
	{}
};

static struct kunit_suite device_suite = {
	.name = "bluebell_device",
	.test_cases = device_cases,
};

kunit_test_suite(device_suite);
