// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of addresses on an Ethernet port: paths of queue pairs, address vectors of datagrams,
 * address handles, and what the completion of a datagram says about its sender.
 */

#include <kunit/test.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>

#include "layout/layout_cqe.h"
#include "layout/layout_path.h"
#include "layout/layout_qp.h"
#include "lib/golden.h"
#include "lib/mock.h"
#include "verbs/verbs.h"

#define ADS_SIZE	0x2c
#define QPC_SIZE	0xe8

/* Rate codes 7 to 15: a device that has them all. */
#define ALL_RATES	0xff80

/* The flow label of the addresses, and the UDP source port that ib_core makes of it. */
#define FLOW_LABEL	0xabcde
#define FLOW_SPORT	0xfcf4

static const u8 dmac[ETH_ALEN] = { 0x0c, 0x42, 0xa1, 0x12, 0x34, 0x56 };

static const struct ib_gid_attr source_v1 = { .gid_type = IB_GID_TYPE_ROCE };
static const struct ib_gid_attr source_v2 = { .gid_type = IB_GID_TYPE_ROCE_UDP_ENCAP };

/* An address from entry 5 of the GID table to 192.0.2.7, with DSCP 46. */
static struct rdma_ah_attr make_address(const struct ib_gid_attr *source)
{
	struct rdma_ah_attr ah = { .type = RDMA_AH_ATTR_TYPE_ROCE };
	u8 dgid[16] = { [10] = 0xff, 0xff, 192, 0, 2, 7 };

	rdma_ah_set_port_num(&ah, 1);
	rdma_ah_set_sl(&ah, 5);
	rdma_ah_set_static_rate(&ah, IB_RATE_10_GBPS);
	rdma_ah_set_grh(&ah, NULL, FLOW_LABEL, 5, 64, 0xb8);
	rdma_ah_set_dgid_raw(&ah, dgid);
	memcpy(ah.roce.dmac, dmac, sizeof(dmac));
	ah.grh.sgid_attr = source;
	return ah;
}

static struct mlx5_ib_caps *make_caps(struct kunit *test)
{
	struct mlx5_ib_caps *caps = mock_caps(test);

	mock_set_ethernet(caps);
	MOCK_SET_CAP(caps, stat_rate_support, ALL_RATES);
	return caps;
}

static void expect_address(struct kunit *test, const struct rdma_ah_attr *got,
			   const struct rdma_ah_attr *want)
{
	KUNIT_EXPECT_EQ(test, got->type, RDMA_AH_ATTR_TYPE_ROCE);
	KUNIT_EXPECT_EQ(test, rdma_ah_get_sl(got), rdma_ah_get_sl(want));
	KUNIT_EXPECT_EQ(test, rdma_ah_get_static_rate(got), rdma_ah_get_static_rate(want));
	KUNIT_EXPECT_EQ(test, rdma_ah_get_ah_flags(got), IB_AH_GRH);
	KUNIT_EXPECT_EQ(test, rdma_ah_get_port_num(got), 1);
	KUNIT_EXPECT_EQ(test, got->grh.flow_label, want->grh.flow_label);
	KUNIT_EXPECT_EQ(test, got->grh.sgid_index, want->grh.sgid_index);
	KUNIT_EXPECT_EQ(test, got->grh.hop_limit, want->grh.hop_limit);
	KUNIT_EXPECT_EQ(test, got->grh.traffic_class, want->grh.traffic_class);
	KUNIT_EXPECT_MEMEQ(test, got->grh.dgid.raw, want->grh.dgid.raw, 16);
	KUNIT_EXPECT_MEMEQ(test, got->roce.dmac, want->roce.dmac, ETH_ALEN);
}

/* ---- paths ---------------------------------------------------------------------------------- */

/* No LID, no SL, and no bit that says "GRH", "force DSCP" or "force priority". */
static void path_is_exact_to_the_bit(struct kunit *test)
{
	static const struct golden version_2[GOLDEN_MAX] = {
		{ 0x08, 0x00050840 }, { 0x0c, 0x0b8abcde }, { 0x18, 0x0000ffff },
		{ 0x1c, 0xc0000207 }, { 0x20, 0x002efcf4 }, { 0x24, 0x50010c42 },
		{ 0x28, 0xa1123456 },
	};
	/* Version 1 has no UDP header and no DSCP. */
	static const struct golden version_1[GOLDEN_MAX] = {
		{ 0x08, 0x00050840 }, { 0x0c, 0x0b8abcde }, { 0x18, 0x0000ffff },
		{ 0x1c, 0xc0000207 }, { 0x24, 0x50010c42 }, { 0x28, 0xa1123456 },
	};
	struct rdma_ah_attr ah = make_address(&source_v2), got;
	u32 ads[ADS_SIZE / 4] = {};

	mlx5_ib_fill_path(ads, &ah, ALL_RATES, FLOW_SPORT);
	expect_golden(test, ads, sizeof(ads), version_2);
	memset(&got, 0xa5, sizeof(got));
	mlx5_ib_read_path(ads, true, &got);
	expect_address(test, &got, &ah);

	ah = make_address(&source_v1);
	memset(ads, 0, sizeof(ads));
	mlx5_ib_fill_path(ads, &ah, ALL_RATES, FLOW_SPORT);
	expect_golden(test, ads, sizeof(ads), version_1);
	memset(&got, 0xa5, sizeof(got));
	mlx5_ib_read_path(ads, true, &got);
	expect_address(test, &got, &ah);
}

static void port_of_a_connection_is_in_the_range_of_the_device(struct kunit *test)
{
	struct rdma_ah_attr ah = make_address(&source_v2);
	struct mlx5_ib_caps *caps = make_caps(test);
	struct rdma_ah_attr local = { .type = RDMA_AH_ATTR_TYPE_IB };
	unsigned long seen = 0;
	u16 port;
	u32 qpn;

	KUNIT_EXPECT_EQ(test, mlx5_ib_udp_sport(&ah, 0x123, 0x456, caps), FLOW_SPORT);
	/*
	 * Without a flow label, which has 20 bits, both ends of a connection choose the same port.
	 */
	ah.grh.flow_label = 0xfff00000;
	port = mlx5_ib_udp_sport(&ah, 0x12345, 0x6789a, caps);
	KUNIT_EXPECT_EQ(test, port, rdma_get_udp_sport(0, 0x12345, 0x6789a));
	KUNIT_EXPECT_EQ(test, port, mlx5_ib_udp_sport(&ah, 0x6789a, 0x12345, caps));
	KUNIT_EXPECT_NE(test, port, mlx5_ib_udp_sport(&ah, 0x12346, 0x6789a, caps));

	MOCK_SET_ROCE_CAP(caps, r_roce_min_src_udp_port, 0xd001);
	MOCK_SET_ROCE_CAP(caps, r_roce_max_src_udp_port, 0xd003);
	for (qpn = 0x100; qpn < 0x200; qpn++) {
		port = mlx5_ib_udp_sport(&ah, qpn, 0x6789b, caps);
		KUNIT_EXPECT_GE(test, port, 0xd001);
		KUNIT_EXPECT_LE(test, port, 0xd003);
		seen |= BIT(port - 0xd001);
	}
	KUNIT_EXPECT_EQ(test, seen, 0x7);
	MOCK_SET_ROCE_CAP(caps, r_roce_min_src_udp_port, 0xd003);
	KUNIT_EXPECT_EQ(test, mlx5_ib_udp_sport(&ah, 0x12345, 0x6789a, caps), 0xd003);
	/* A range that makes no sense is ignored. */
	MOCK_SET_ROCE_CAP(caps, r_roce_max_src_udp_port, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_udp_sport(&ah, 0x12345, 0x6789a, caps),
			rdma_get_udp_sport(0, 0x12345, 0x6789a));

	MOCK_SET_ROCE_CAP(caps, sw_r_roce_src_udp_port, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_udp_sport(&ah, 0x12345, 0x6789a, caps), 0);
	MOCK_SET_ROCE_CAP(caps, sw_r_roce_src_udp_port, 1);
	ah.grh.sgid_attr = &source_v1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_udp_sport(&ah, 0x12345, 0x6789a, caps), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_udp_sport(&local, 0x12345, 0x6789a, caps), 0);
}

/* The change to RTR, which gives a connected queue pair its peer. */
static void connected_queue_pair_has_the_address_of_its_peer(struct kunit *test)
{
	struct ib_qp_attr attr = {
		.path_mtu = IB_MTU_1024, .dest_qp_num = 0x456, .ah_attr = make_address(&source_v2),
	};
	u32 qpc[QPC_SIZE / 4] = {}, created[QPC_SIZE / 4] = {};
	struct mlx5_ib_caps *caps = make_caps(test);
	struct mlx5_ib_qp_modify mod = {
		.type = IB_QPT_RC, .qpn = 0x123, .qpc = created, .cur = IB_QPS_INIT,
		.next = IB_QPS_RTR, .attr = &attr, .port = 1,
		.mask = IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN,
	};
	void *ads = MLX5_ADDR_OF(qpc, qpc, primary_address_path);
	struct ib_qp_attr got;

	attr.ah_attr.grh.flow_label = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), 0);
	mlx5_ib_fill_modify_qpc(qpc, &mod, caps);
	KUNIT_EXPECT_EQ(test, MLX5_GET(ads, ads, udp_sport), rdma_get_udp_sport(0, 0x123, 0x456));
	KUNIT_EXPECT_EQ(test, MLX5_GET(ads, ads, src_addr_index), 5);
	KUNIT_EXPECT_EQ(test, MLX5_GET(ads, ads, vhca_port_num), 1);
	KUNIT_EXPECT_MEMEQ(test, MLX5_ADDR_OF(ads, ads, rmac_47_32), dmac, sizeof(dmac));
	memset(&got, 0xa5, sizeof(got));
	mlx5_ib_read_qpc(qpc, IB_QPT_RC, true, &got);
	expect_address(test, &got.ah_attr, &attr.ah_attr);
	KUNIT_EXPECT_EQ(test, got.dest_qp_num, 0x456);
}

/* InfiniBand's alternate paths (apm) say nothing about those of RoCE (roce_apm). */
static void alternate_path_needs_the_capability_of_roce(struct kunit *test)
{
	struct ib_qp_attr attr = {
		.path_mig_state = IB_MIG_REARM, .alt_ah_attr = make_address(&source_v2),
	};
	struct mlx5_ib_qp_modify mod = { .type = IB_QPT_RC, .attr = &attr };
	struct mlx5_ib_caps *caps = make_caps(test);

	MOCK_SET_CAP(caps, apm, 1);
	mod.mask = IB_QP_ALT_PATH;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), -EOPNOTSUPP);
	mod.mask = IB_QP_PATH_MIG_STATE;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), -EOPNOTSUPP);
	MOCK_SET_ROCE_CAP(caps, roce_apm, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), 0);
	mod.mask = IB_QP_ALT_PATH;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), 0);
	/* RoCE has one P_Key. */
	attr.alt_pkey_index = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), -EINVAL);
}

static void address_that_roce_cannot_have_is_refused(struct kunit *test)
{
	struct rdma_ah_attr ah = make_address(&source_v2);

	KUNIT_EXPECT_EQ(test, mlx5_ib_check_ah(&ah), 0);
	rdma_ah_set_sl(&ah, 7);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_ah(&ah), 0);
	rdma_ah_set_sl(&ah, 8);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_ah(&ah), -EINVAL);
	ah = make_address(&source_v2);
	rdma_ah_set_ah_flags(&ah, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_ah(&ah), -EINVAL);
	ah = make_address(NULL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_ah(&ah), -EINVAL);
}

/* ---- address handles ------------------------------------------------------------------------ */

static struct mock *make_mock(struct kunit *test)
{
	struct mock *mock = mock_create(test);

	mock_set_ethernet(&mock->dev->caps);
	MOCK_SET_CAP(&mock->dev->caps, stat_rate_support, ALL_RATES);
	return mock;
}

static void address_vector_is_exact_to_the_bit(struct kunit *test)
{
	static const struct golden version_2[GOLDEN_MAX] = {
		{ 0x0c, 0x8a00fcf4 }, { 0x14, 0x0c42a112 }, { 0x18, 0x3456b840 },
		{ 0x1c, 0x005abcde }, { 0x28, 0x0000ffff }, { 0x2c, 0xc0000207 },
	};
	static const struct golden version_1[GOLDEN_MAX] = {
		{ 0x0c, 0x8a000000 }, { 0x14, 0x0c42a112 }, { 0x18, 0x3456b840 },
		{ 0x1c, 0x005abcde }, { 0x28, 0x0000ffff }, { 0x2c, 0xc0000207 },
	};
	struct rdma_ah_attr ah_attr = make_address(&source_v2), got;
	struct rdma_ah_init_attr init = { .ah_attr = &ah_attr };
	struct mock *mock = make_mock(test);
	struct mlx5_ib_ah ah = { .ibah.device = &mock->dev->ib_dev };

	KUNIT_ASSERT_EQ(test, mlx5_ib_create_ah(&ah.ibah, &init, NULL), 0);
	expect_golden(test, &ah.av, sizeof(ah.av), version_2);
	memset(&got, 0xa5, sizeof(got));
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_ah(&ah.ibah, &got), 0);
	expect_address(test, &got, &ah_attr);

	ah_attr = make_address(&source_v1);
	KUNIT_ASSERT_EQ(test, mlx5_ib_create_ah(&ah.ibah, &init, NULL), 0);
	expect_golden(test, &ah.av, sizeof(ah.av), version_1);
	memset(&got, 0xa5, sizeof(got));
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_ah(&ah.ibah, &got), 0);
	expect_address(test, &got, &ah_attr);

	rdma_ah_set_sl(&ah_attr, 8);
	KUNIT_EXPECT_EQ(test, mlx5_ib_create_ah(&ah.ibah, &init, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
}

static int create_user_ah(struct mock *mock, struct rdma_ah_attr *ah_attr, size_t inlen,
			  size_t outlen, struct mlx5_ib_create_ah_resp *resp)
{
	struct mlx5_ib_ah ah = { .ibah.device = &mock->dev->ib_dev };
	struct rdma_ah_init_attr init = { .ah_attr = ah_attr };
	const u32 request = 1;
	int idx = mock_enter(mock), err;

	err = mlx5_ib_create_user_ah(&ah.ibah, &init, mock_udata(mock, &request, inlen, outlen));
	mock_leave(mock, idx);
	mock_read_answer(mock, resp, sizeof(*resp));
	return err;
}

/* The library builds the address vector itself, and needs only the MAC address. */
static void library_gets_the_mac_address(struct kunit *test)
{
	const size_t short_len = offsetof(struct mlx5_ib_create_ah_resp, dmac) + 2;
	struct rdma_ah_attr ah_attr = make_address(&source_v2);
	struct mlx5_ib_create_ah_resp resp;
	struct mock *mock = make_mock(test);

	KUNIT_EXPECT_EQ(test, create_user_ah(mock, &ah_attr, 0, sizeof(resp), &resp), 0);
	KUNIT_EXPECT_EQ(test, resp.response_length, sizeof(resp));
	KUNIT_EXPECT_MEMEQ(test, resp.dmac, dmac, sizeof(dmac));
	KUNIT_EXPECT_NULL(test, memchr_inv(resp.reserved, 0, sizeof(resp.reserved)));

	/* Another library has room for a part of the answer, or for none. */
	KUNIT_EXPECT_EQ(test, create_user_ah(mock, &ah_attr, 0, short_len, &resp), 0);
	KUNIT_EXPECT_EQ(test, resp.response_length, short_len);
	KUNIT_EXPECT_EQ(test, resp.dmac[1], dmac[1]);
	KUNIT_EXPECT_EQ(test, resp.dmac[2], 0);
	KUNIT_EXPECT_EQ(test, create_user_ah(mock, &ah_attr, 0, 0, &resp), 0);
	KUNIT_EXPECT_EQ(test, resp.response_length, 0);

	/* No request is defined, and an invalid address has no answer. */
	KUNIT_EXPECT_EQ(test, create_user_ah(mock, &ah_attr, 4, sizeof(resp), &resp), -EOPNOTSUPP);
	rdma_ah_set_sl(&ah_attr, 8);
	KUNIT_EXPECT_EQ(test, create_user_ah(mock, &ah_attr, 0, sizeof(resp), &resp), -EINVAL);
	KUNIT_EXPECT_EQ(test, resp.response_length, 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
}

static void answer_that_cannot_be_copied_is_an_error(struct kunit *test)
{
	struct rdma_ah_attr ah_attr = make_address(&source_v2);
	struct rdma_ah_init_attr init = { .ah_attr = &ah_attr };
	struct mock *mock = make_mock(test);
	struct mlx5_ib_ah ah = { .ibah.device = &mock->dev->ib_dev };
	struct ib_udata *udata = mock_udata(mock, NULL, 0, sizeof(struct mlx5_ib_create_ah_resp));
	int idx, err;

	mock_break_answer(mock);
	idx = mock_enter(mock);
	err = mlx5_ib_create_user_ah(&ah.ibah, &init, udata);
	mock_leave(mock, idx);
	KUNIT_EXPECT_EQ(test, err, -EFAULT);
}

/* ---- completions ---------------------------------------------------------------------------- */

static const struct cqe_case {
	const char *name;
	u32 flags_rqpn;
	u8 l4_l3_hdr_type;
	u16 vlan_info;
	int flags;
	u8 network;
	u16 vlan;
	u8 sl;
} cqe_cases[] = {
	{ "version 1", 0x10000abc, 0, 0, IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE,
	  RDMA_NETWORK_ROCE_V1 },
	{ "version 2, IPv6", 0x11000abc, 0, 0, IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE,
	  RDMA_NETWORK_IPV6 },
	{ "version 2, IPv4", 0x22000abc, 0, 0, IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE,
	  RDMA_NETWORK_IPV4 },
	{ "a type that is not defined", 0x33000abc, 0, 0, IB_WC_GRH },
	{ "on VLAN 100 with priority 6", 0x12000abc, 1, 0xc064,
	  IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE | IB_WC_WITH_VLAN, RDMA_NETWORK_IPV4, 100, 6 },
	/* Bit 12 is the drop eligible indicator. */
	{ "on VLAN 4095, which may be dropped", 0x11000abc, 0x13, 0x1fff,
	  IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE | IB_WC_WITH_VLAN, RDMA_NETWORK_IPV6, 4095, 0 },
	{ "no VLAN, but old bits of one", 0x11000abc, 0x12, 0xffff,
	  IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE, RDMA_NETWORK_IPV6 },
	{ "of a connection", 0x0f000abc, 1, 0xffff, 0 },
};

KUNIT_ARRAY_PARAM_DESC(cqe, cqe_cases, name);

static void completion_says_how_the_datagram_came(struct kunit *test)
{
	const struct cqe_case *c = test->param_value;
	struct mlx5_cqe64 cqe = {
		.slid = cpu_to_be16(0x1234), .ml_path = 0x8b, .op_own = MLX5_CQE_RESP_SEND << 4,
		.flags_rqpn = cpu_to_be32(c->flags_rqpn), .pkey = cpu_to_be32(0xffff),
		.l4_l3_hdr_type = c->l4_l3_hdr_type, .vlan_info = cpu_to_be16(c->vlan_info),
	};
	struct ib_wc wc;

	memset(&wc, 0xa5, sizeof(wc));
	mlx5_ib_cqe_read_recv(&cqe, &wc);
	mlx5_ib_cqe_read_roce(&cqe, &wc);
	KUNIT_EXPECT_EQ(test, wc.wc_flags, c->flags);
	KUNIT_EXPECT_EQ(test, wc.src_qp, 0xabc);
	KUNIT_EXPECT_EQ(test, wc.sl, c->sl);
	KUNIT_EXPECT_EQ(test, wc.slid, 0);
	KUNIT_EXPECT_EQ(test, wc.dlid_path_bits, 0);
	KUNIT_EXPECT_EQ(test, wc.pkey_index, 0);
	if (c->flags & IB_WC_WITH_NETWORK_HDR_TYPE)
		KUNIT_EXPECT_EQ(test, wc.network_hdr_type, c->network);
	if (c->flags & IB_WC_WITH_VLAN)
		KUNIT_EXPECT_EQ(test, wc.vlan_id, c->vlan);
}

static struct kunit_case roce_path_cases[] = {
	KUNIT_CASE(path_is_exact_to_the_bit),
	KUNIT_CASE(port_of_a_connection_is_in_the_range_of_the_device),
	KUNIT_CASE(connected_queue_pair_has_the_address_of_its_peer),
	KUNIT_CASE(alternate_path_needs_the_capability_of_roce),
	KUNIT_CASE(address_that_roce_cannot_have_is_refused),
	KUNIT_CASE(address_vector_is_exact_to_the_bit),
	KUNIT_CASE(library_gets_the_mac_address),
	KUNIT_CASE(answer_that_cannot_be_copied_is_an_error),
	KUNIT_CASE_PARAM(completion_says_how_the_datagram_came, cqe_gen_params),
	{}
};

static struct kunit_suite roce_path_suite = {
	.name = "bluebell_roce_path",
	.test_cases = roce_path_cases,
};

kunit_test_suite(roce_path_suite);
