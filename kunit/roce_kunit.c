// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of an Ethernet port: its attributes, its network device, and the addresses that the
 * device gets.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/port.h>
#include <linux/mlx5/vport.h>
#include <linux/netdevice.h>
#include <rdma/ib_mad.h>
#include <rdma/mlx5-abi.h>

#include "layout/layout_path.h"
#include "lib/mock.h"
#include "port.h"
#include "verbs/ucontext.h"

/**
 * struct nic - an Ethernet port, and what its firmware answers and is told
 * @mock: device
 * @oper: PTYS.eth_proto_oper
 * @ext_oper: PTYS.ext_eth_proto_oper
 * @min_inline: nic_vport_context.min_wqe_inline_mode
 * @index: index of the last entry of the GID table that was set or cleared
 * @cleared: the entry was cleared
 * @address: the entry, if it was set
 * @set_err: errno of SET_ROCE_ADDRESS
 * @watched: the driver receives changes of the network device
 * @switched: how often the loopback of the vport was switched on or off, or should have been
 * @loopback: what it was switched to last
 * @switch_err: errno of these commands
 */
struct nic {
	struct mock *mock;
	u32 oper;
	u32 ext_oper;
	u8 min_inline;
	u16 index;
	bool cleared;
	struct mlx5_ib_roce_address address;
	int set_err;
	bool watched;
	unsigned int switched;
	bool loopback;
	int switch_err;
};

static struct nic nic;

static int nic_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out, int out_size,
		  mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	struct kunit *test = kunit_get_current_test();
	void *part;

	switch (nic.mock->opcode) {
	case MLX5_CMD_OP_QUERY_NIC_VPORT_CONTEXT:
		KUNIT_EXPECT_EQ(test, MLX5_GET(query_nic_vport_context_in, in, other_vport), 0);
		KUNIT_EXPECT_EQ(test, MLX5_GET(query_nic_vport_context_in, in, vport_number), 0);
		part = MLX5_ADDR_OF(query_nic_vport_context_out, out, nic_vport_context);
		MLX5_SET(nic_vport_context, part, min_wqe_inline_mode, nic.min_inline);
		MLX5_SET(nic_vport_context, part, qkey_violation_counter, 0x1234);
		MLX5_SET64(nic_vport_context, part, node_guid, 0x1122334455667788ULL);
		MLX5_SET64(nic_vport_context, part, port_guid, 1);
		MLX5_SET64(nic_vport_context, part, system_image_guid, 0x99aabbccddeeff00ULL);
		break;
	case MLX5_CMD_OP_ACCESS_REG:
		KUNIT_EXPECT_EQ(test, MLX5_GET(access_register_in, in, register_id),
				MLX5_REG_PTYS);
		part = MLX5_ADDR_OF(access_register_in, in, register_data);
		KUNIT_EXPECT_EQ(test, MLX5_GET(ptys_reg, part, proto_mask), MLX5_PTYS_EN);
		KUNIT_EXPECT_EQ(test, MLX5_GET(ptys_reg, part, local_port), 1);
		part = MLX5_ADDR_OF(access_register_out, out, register_data);
		MLX5_SET(ptys_reg, part, eth_proto_oper, nic.oper);
		MLX5_SET(ptys_reg, part, ext_eth_proto_oper, nic.ext_oper);
		break;
	}
	return err;
}

static int set_roce_address(struct mlx5_ib_dev *dev, u8 port, u16 index,
			    const struct mlx5_ib_roce_address *address)
{
	KUNIT_EXPECT_EQ(kunit_get_current_test(), port, 1);
	nic.index = index;
	nic.cleared = !address;
	if (address)
		nic.address = *address;
	return nic.set_err;
}

static void watch_netdev(struct mlx5_ib_dev *dev, bool on)
{
	nic.watched = on;
}

static struct mlx5_ib_dev *make_nic(struct kunit *test)
{
	nic = (struct nic){ .mock = mock_create(test) };
	mock_set_ethernet(&nic.mock->dev->caps);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, nic_fw);
	kunit_activate_static_stub(test, mlx5_ib_netdev_watch, watch_netdev);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_port(nic.mock->dev), 0);
	nic.mock->num_commands = 0;
	return nic.mock->dev;
}

static void free_device(void *data)
{
	ib_device_set_netdev(&nic.mock->dev->ib_dev, NULL, 1);
	free_netdev(data);
}

/* Make a network device, which is not registered, and is up but for what the test does. */
static struct net_device *make_netdev(struct kunit *test)
{
	static const u8 mac[ETH_ALEN] = { 0x0c, 0x42, 0xa1, 0x12, 0x34, 0x56 };
	struct net_device *netdev = alloc_etherdev(0);

	KUNIT_ASSERT_NOT_NULL(test, netdev);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_device, netdev));
	eth_hw_addr_set(netdev, mac);
	set_bit(__LINK_STATE_START, &netdev->state);
	return netdev;
}

/* ---- attributes --------------------------------------------------------------------------- */

#define V1		MLX5_ROCE_VERSION_1_CAP
#define V2		MLX5_ROCE_VERSION_2_CAP
#define BOTH_IP		(MLX5_ROCE_L3_TYPE_IPV4_CAP | MLX5_ROCE_L3_TYPE_IPV6_CAP)

static const struct port_case {
	const char *name;
	u8 roce;
	u8 versions;
	u8 l3_types;
	u16 size;
	u8 reserved;
	u16 want_gids;
	u32 want_flags;
} port_cases[] = {
	{ "both versions", 1, V1 | V2, BOTH_IP, 256, 1, 255,
	  RDMA_CORE_PORT_IBA_ROCE | RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP },
	{ "version 1", 1, V1, BOTH_IP, 16, 0, 16, RDMA_CORE_PORT_IBA_ROCE },
	{ "version 2", 1, V2, BOTH_IP, 16, 15, 1, RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP },
	{ "a version that verbs do not have", 1, 2, BOTH_IP, 16 },
	{ "no RoCE", 0, V1 | V2, BOTH_IP, 256, 1 },
	{ "no IPv6", 1, V1 | V2, MLX5_ROCE_L3_TYPE_IPV4_CAP, 256, 1 },
	{ "no IPv4", 1, V1 | V2, MLX5_ROCE_L3_TYPE_IPV6_CAP, 256, 1 },
	{ "all entries reserved", 1, V1 | V2, BOTH_IP, 2, 2 },
	{ "more entries reserved than there are", 1, V1 | V2, BOTH_IP, 2, 3 },
	{ "more entries than an index can name", 1, V2, BOTH_IP, 1024, 0, 256,
	  RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP },
};

KUNIT_ARRAY_PARAM_DESC(port, port_cases, name);

static void port_has_the_versions_of_the_device(struct kunit *test)
{
	const struct port_case *c = test->param_value;
	struct mlx5_ib_dev *dev = make_nic(test);
	struct mlx5_ib_caps *caps = &dev->caps;
	struct ib_port_immutable immutable;
	struct ib_port_attr props = {};

	dev->mdev->roce.reserved_gids.count = c->reserved;
	MOCK_SET_ROCE_CAP(caps, roce_version, c->versions);
	MOCK_SET_ROCE_CAP(caps, l3_type, c->l3_types);
	MOCK_SET_ROCE_CAP(caps, roce_address_table_size, c->size);
	MOCK_SET_CAP(caps, roce, c->roce);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_port(dev), 0);
	memset(&immutable, 0xa5, sizeof(immutable));
	KUNIT_ASSERT_EQ(test, mlx5_ib_port_immutable(&dev->ib_dev, 1, &immutable), 0);
	KUNIT_EXPECT_EQ(test, immutable.core_cap_flags, c->want_flags);
	KUNIT_EXPECT_EQ(test, immutable.gid_tbl_len, c->want_gids);
	KUNIT_EXPECT_EQ(test, immutable.pkey_tbl_len, 1);
	/* The RDMA core warns of a port that has MADs of some size, but no MADs. */
	KUNIT_EXPECT_EQ(test, immutable.max_mad_size, c->want_flags ? IB_MGMT_MAD_SIZE : 0);

	KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(&dev->ib_dev, 1, &props), 0);
	KUNIT_EXPECT_EQ(test, props.gid_tbl_len, c->want_gids);
	KUNIT_EXPECT_EQ(test, props.pkey_tbl_len, 1);
	KUNIT_EXPECT_EQ(test, props.port_cap_flags, c->want_flags ? IB_PORT_CM_SUP : 0);
	KUNIT_EXPECT_EQ(test, !!props.ip_gids, !!c->want_flags);
}

/* The other values of the port are those of the network device. */
static void attributes_are_those_of_the_network_device(struct kunit *test)
{
	static const struct {
		int mtu;
		enum ib_mtu want;
	} mtus[] = {
		{ 1500, IB_MTU_1024 }, { 4192, IB_MTU_4096 }, { 4191, IB_MTU_2048 },
		{ 9000, IB_MTU_4096 }, { 1119, IB_MTU_512 }, { 352, IB_MTU_256 },
		/* The least MTU of verbs. */
		{ 68, IB_MTU_256 },
	};
	struct mlx5_ib_dev *dev = make_nic(test);
	struct net_device *netdev = make_netdev(test);
	struct ib_port_attr props = {};
	unsigned int i;

	KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(&dev->ib_dev, 1, &props), 0);
	KUNIT_EXPECT_EQ(test, props.state, IB_PORT_DOWN);
	KUNIT_EXPECT_EQ(test, props.phys_state, IB_PORT_PHYS_STATE_DISABLED);
	KUNIT_EXPECT_EQ(test, props.active_mtu, IB_MTU_256);

	KUNIT_ASSERT_EQ(test, ib_device_set_netdev(&dev->ib_dev, netdev, 1), 0);
	for (i = 0; i < ARRAY_SIZE(mtus); i++) {
		netdev->mtu = mtus[i].mtu;
		memset(&props, 0, sizeof(props));
		KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(&dev->ib_dev, 1, &props), 0);
		KUNIT_EXPECT_EQ_MSG(test, props.active_mtu, mtus[i].want, "MTU %d", mtus[i].mtu);
		KUNIT_EXPECT_EQ(test, props.max_mtu, IB_MTU_4096);
	}
	KUNIT_EXPECT_EQ(test, props.state, IB_PORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, props.phys_state, IB_PORT_PHYS_STATE_LINK_UP);
	KUNIT_EXPECT_EQ(test, props.qkey_viol_cntr, 0x1234);
	KUNIT_EXPECT_EQ(test, props.max_msg_sz, 1 << 30);
	KUNIT_EXPECT_EQ(test, props.lid, 0);
	KUNIT_EXPECT_EQ(test, props.sm_lid, 0);
	KUNIT_EXPECT_EQ(test, props.max_vl_num, 0);

	set_bit(__LINK_STATE_NOCARRIER, &netdev->state);
	KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(&dev->ib_dev, 1, &props), 0);
	KUNIT_EXPECT_EQ(test, props.state, IB_PORT_DOWN);
	KUNIT_EXPECT_EQ(test, props.phys_state, IB_PORT_PHYS_STATE_DISABLED);
	clear_bit(__LINK_STATE_NOCARRIER, &netdev->state);
	clear_bit(__LINK_STATE_START, &netdev->state);
	KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(&dev->ib_dev, 1, &props), 0);
	KUNIT_EXPECT_EQ(test, props.state, IB_PORT_DOWN);
}

static void constants_are_those_of_the_nic_vport(struct kunit *test)
{
	static const struct {
		u8 cap, mode, want;
	} modes[] = {
		{ MLX5_CAP_INLINE_MODE_L2, MLX5_INLINE_MODE_IP, MLX5_USER_INLINE_MODE_L2 },
		{ MLX5_CAP_INLINE_MODE_NOT_REQUIRED, MLX5_INLINE_MODE_IP,
		  MLX5_USER_INLINE_MODE_NONE },
		{ MLX5_CAP_INLINE_MODE_VPORT_CONTEXT, MLX5_INLINE_MODE_NONE,
		  MLX5_USER_INLINE_MODE_NONE },
		{ MLX5_CAP_INLINE_MODE_VPORT_CONTEXT, MLX5_INLINE_MODE_L2,
		  MLX5_USER_INLINE_MODE_L2 },
		{ MLX5_CAP_INLINE_MODE_VPORT_CONTEXT, MLX5_INLINE_MODE_IP,
		  MLX5_USER_INLINE_MODE_IP },
		{ MLX5_CAP_INLINE_MODE_VPORT_CONTEXT, MLX5_INLINE_MODE_TCP_UDP,
		  MLX5_USER_INLINE_MODE_TCP_UDP },
	};
	struct mlx5_ib_dev *dev = make_nic(test);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, be64_to_cpu(dev->ib_dev.node_guid), 0x1122334455667788ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(dev->sys_image_guid), 0x99aabbccddeeff00ULL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_port_link_layer(&dev->ib_dev, 1), IB_LINK_LAYER_ETHERNET);
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		MOCK_SET_CAP_OF(&dev->caps, MLX5_CAP_ETHERNET_OFFLOADS,
				per_protocol_networking_offload_caps, wqe_inline_mode,
				modes[i].cap);
		nic.min_inline = modes[i].mode;
		KUNIT_ASSERT_EQ(test, mlx5_ib_init_port(dev), 0);
		KUNIT_EXPECT_EQ_MSG(test, dev->port.min_inline, modes[i].want, "case %u", i);
	}
}

/* Set-up sends one command, and a query two. */
static void refused_command_is_an_error(struct kunit *test)
{
	struct mlx5_ib_dev *dev = make_nic(test);
	struct ib_port_attr props = {};
	struct mock *mock = nic.mock;

	for (mock->refuse = 1; mock->refuse <= 2; mock->refuse++) {
		mock->num_commands = 0;
		KUNIT_EXPECT_EQ(test, mlx5_ib_query_port(&dev->ib_dev, 1, &props),
				mock->refuse_err);
		KUNIT_EXPECT_EQ(test, mock->num_commands, mock->refuse);
	}
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_port(dev), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
}

static const struct link_case {
	u8 bit;
	bool ext;
	u8 width;
	u16 speed;
} link_cases[] = {
	{ MLX5E_1000BASE_KX, false, IB_WIDTH_1X, IB_SPEED_SDR },
	{ MLX5E_10GBASE_KX4, false, IB_WIDTH_4X, IB_SPEED_SDR },
	{ MLX5E_10GBASE_SR, false, IB_WIDTH_1X, IB_SPEED_QDR },
	{ MLX5E_40GBASE_LR4, false, IB_WIDTH_4X, IB_SPEED_QDR },
	{ MLX5E_56GBASE_R4, false, IB_WIDTH_4X, IB_SPEED_FDR },
	{ MLX5E_25GBASE_CR, false, IB_WIDTH_1X, IB_SPEED_EDR },
	{ MLX5E_50GBASE_KR2, false, IB_WIDTH_2X, IB_SPEED_EDR },
	{ MLX5E_100GBASE_CR4, false, IB_WIDTH_4X, IB_SPEED_EDR },
	{ MLX5E_1000BASE_X_SGMII, true, IB_WIDTH_1X, IB_SPEED_SDR },
	{ MLX5E_5GBASE_R, true, IB_WIDTH_1X, IB_SPEED_DDR },
	{ MLX5E_50GAUI_1_LAUI_1_50GBASE_CR_KR, true, IB_WIDTH_1X, IB_SPEED_HDR },
	{ MLX5E_100GAUI_1_100GBASE_CR_KR, true, IB_WIDTH_1X, IB_SPEED_NDR },
	{ MLX5E_200GAUI_4_200GBASE_CR4_KR4, true, IB_WIDTH_4X, IB_SPEED_HDR },
	{ MLX5E_400GAUI_4_400GBASE_CR4_KR4, true, IB_WIDTH_4X, IB_SPEED_NDR },
	{ MLX5E_400GAUI_8_400GBASE_CR8, true, IB_WIDTH_8X, IB_SPEED_HDR },
	{ MLX5E_800GAUI_4_800GBASE_CR4_KR4, true, IB_WIDTH_4X, IB_SPEED_XDR },
	/* Values that are not defined. */
	{ 9, false, IB_WIDTH_1X, IB_SPEED_SDR },
	{ 2, true, IB_WIDTH_1X, IB_SPEED_SDR },
	{ 31, true, IB_WIDTH_1X, IB_SPEED_SDR },
};

/* A device has one of the two fields of PTYS; the other one must not be read. */
static void speed_is_that_of_the_link(struct kunit *test)
{
	struct mlx5_ib_dev *dev = make_nic(test);
	struct ib_port_attr props = {};
	const struct link_case *c;

	for (c = link_cases; c < link_cases + ARRAY_SIZE(link_cases); c++) {
		MLX5_SET(pcam_reg, dev->mdev->caps.pcam,
			 feature_cap_mask.enhanced_features.ptys_extended_ethernet, c->ext);
		nic.oper = c->ext ? BIT(MLX5E_10GBASE_CX4) : BIT(c->bit);
		nic.ext_oper = c->ext ? BIT(c->bit) : BIT(MLX5E_40GBASE_XLAUI_4_XLPPI_4);
		KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(&dev->ib_dev, 1, &props), 0);
		KUNIT_EXPECT_EQ_MSG(test, props.active_width, c->width, "bit %u", c->bit);
		KUNIT_EXPECT_EQ_MSG(test, props.active_speed, c->speed, "bit %u", c->bit);
	}
	/* The link is down. */
	nic.oper = 0;
	nic.ext_oper = 0;
	KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(&dev->ib_dev, 1, &props), 0);
	KUNIT_EXPECT_EQ(test, props.active_width, IB_WIDTH_1X);
	KUNIT_EXPECT_EQ(test, props.active_speed, IB_SPEED_SDR);
}

/*
 * The RDMA core changes capabilities of a port for its connection manager, and reports changes of
 * the network device as events of the port.
 */
static void port_without_subnet_manager_takes_no_commands(struct kunit *test)
{
	struct ib_port_modify set = { .set_port_cap_mask = IB_PORT_CM_SUP };
	struct mlx5_ib_dev *dev = make_nic(test);
	unsigned int change;
	u16 pkey = 0;

	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_port(&dev->ib_dev, 1, 0, &set), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_port(&dev->ib_dev, 1, IB_PORT_SHUTDOWN, &set),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_pkey(&dev->ib_dev, 1, 0, &pkey), 0);
	KUNIT_EXPECT_EQ(test, pkey, 0xffff);
	for (change = 0; change < 16; change++)
		KUNIT_EXPECT_EQ(test, dev->port.ops->changed(&dev->port, change), 0);
	KUNIT_EXPECT_EQ(test, nic.mock->num_commands, 0);
}

/* The RDMA core calls only the operations that the kind of port has. */
static void operations_are_those_of_the_kind_of_port(struct kunit *test)
{
	struct mlx5_ib_dev *dev = make_nic(test);
	struct mock *mock;

	KUNIT_EXPECT_PTR_EQ(test, dev->ib_dev.ops.add_gid, &mlx5_ib_add_gid);
	KUNIT_EXPECT_PTR_EQ(test, dev->ib_dev.ops.del_gid, &mlx5_ib_del_gid);
	KUNIT_EXPECT_NULL(test, dev->ib_dev.ops.query_gid);
	mock = mock_create(test);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_port(mock->dev), 0);
	KUNIT_EXPECT_NULL(test, mock->dev->ib_dev.ops.add_gid);
	KUNIT_EXPECT_NULL(test, mock->dev->ib_dev.ops.del_gid);
	KUNIT_EXPECT_PTR_EQ(test, mock->dev->ib_dev.ops.query_gid,
			    &mlx5_ib_query_gid);
}

/* ---- addresses ------------------------------------------------------------------------------ */

static const struct address_case {
	const char *name;
	enum ib_gid_type type;
	u8 gid[16];
	u16 vlan;
	u8 version;
	u8 l3_type;
	bool has_vlan;
} address_cases[] = {
	{ "version 1", IB_GID_TYPE_ROCE, { 0xfe, 0x80, [15] = 1 }, 0xffff,
	  MLX5_ROCE_VERSION_1, 0 },
	{ "version 1, IPv4", IB_GID_TYPE_ROCE, { [10] = 0xff, 0xff, 192, 0, 2, 7 }, 0xffff,
	  MLX5_ROCE_VERSION_1, 0 },
	{ "version 2, IPv6", IB_GID_TYPE_ROCE_UDP_ENCAP, { 0xfe, 0x80, [15] = 1 }, 0xffff,
	  MLX5_ROCE_VERSION_2, MLX5_ROCE_L3_TYPE_IPV6 },
	{ "version 2, IPv4", IB_GID_TYPE_ROCE_UDP_ENCAP, { [10] = 0xff, 0xff, 192, 0, 2, 7 },
	  0xffff, MLX5_ROCE_VERSION_2, MLX5_ROCE_L3_TYPE_IPV4 },
	{ "VLAN 0", IB_GID_TYPE_ROCE_UDP_ENCAP, { 0xfe, 0x80, [15] = 1 }, 0,
	  MLX5_ROCE_VERSION_2, MLX5_ROCE_L3_TYPE_IPV6, true },
	{ "VLAN 4095", IB_GID_TYPE_ROCE, { 0xfe, 0x80, [15] = 1 }, 4095,
	  MLX5_ROCE_VERSION_1, 0, true },
};

KUNIT_ARRAY_PARAM_DESC(address, address_cases, name);

static void entry_has_the_version_and_the_vlan_of_the_address(struct kunit *test)
{
	static const u8 mac[ETH_ALEN] = { 1, 2, 3, 4, 5, 6 };
	const struct address_case *c = test->param_value;
	struct ib_gid_attr attr = { .gid_type = c->type };
	struct mlx5_ib_roce_address got;

	memcpy(attr.gid.raw, c->gid, sizeof(attr.gid.raw));
	memset(&got, 0xa5, sizeof(got));
	mlx5_ib_fill_roce_address(&got, &attr, mac, c->vlan);
	KUNIT_EXPECT_EQ(test, got.version, c->version);
	KUNIT_EXPECT_EQ(test, got.l3_type, c->l3_type);
	KUNIT_EXPECT_EQ(test, got.has_vlan, c->has_vlan);
	KUNIT_EXPECT_EQ(test, got.vlan, c->has_vlan ? c->vlan : 0);
	KUNIT_EXPECT_MEMEQ(test, got.mac, mac, sizeof(mac));
	KUNIT_EXPECT_MEMEQ(test, got.gid.raw, c->gid, sizeof(c->gid));
}

static void address_is_set_and_cleared(struct kunit *test)
{
	struct mlx5_ib_dev *dev = make_nic(test);
	struct net_device *netdev = make_netdev(test);
	struct ib_gid_attr attr = {
		.device = &dev->ib_dev, .port_num = 1, .index = 254,
		.gid_type = IB_GID_TYPE_ROCE_UDP_ENCAP, .gid.raw = { 0xfe, 0x80, [15] = 9 },
	};
	void *context = NULL;

	kunit_activate_static_stub(test, mlx5_ib_fw_set_roce_address, set_roce_address);
	/* The network device is gone. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_add_gid(&attr, &context), -ENODEV);
	KUNIT_EXPECT_EQ(test, nic.index, 0);

	rcu_assign_pointer(attr.ndev, netdev);
	KUNIT_EXPECT_EQ(test, mlx5_ib_add_gid(&attr, &context), 0);
	KUNIT_EXPECT_EQ(test, nic.index, 254);
	KUNIT_EXPECT_FALSE(test, nic.cleared);
	KUNIT_EXPECT_MEMEQ(test, nic.address.mac, netdev->dev_addr, ETH_ALEN);
	KUNIT_EXPECT_MEMEQ(test, nic.address.gid.raw, attr.gid.raw, sizeof(attr.gid.raw));
	KUNIT_EXPECT_EQ(test, nic.address.version, MLX5_ROCE_VERSION_2);
	KUNIT_EXPECT_FALSE(test, nic.address.has_vlan);

	attr.index = 3;
	KUNIT_EXPECT_EQ(test, mlx5_ib_del_gid(&attr, &context), 0);
	KUNIT_EXPECT_EQ(test, nic.index, 3);
	KUNIT_EXPECT_TRUE(test, nic.cleared);

	nic.set_err = -ENOSPC;
	KUNIT_EXPECT_EQ(test, mlx5_ib_add_gid(&attr, &context), -ENOSPC);
	KUNIT_EXPECT_EQ(test, mlx5_ib_del_gid(&attr, &context), -ENOSPC);
}

/* The commands that mlx5_core builds pass the choke point, so firmware can refuse them. */
static void refused_address_is_an_error(struct kunit *test)
{
	struct mlx5_ib_dev *dev = make_nic(test);
	struct ib_gid_attr attr = {
		.device = &dev->ib_dev, .port_num = 1, .gid_type = IB_GID_TYPE_ROCE,
		.gid.raw = { 0xfe, 0x80, [15] = 9 },
	};
	struct mock *mock = nic.mock;
	void *context = NULL;

	rcu_assign_pointer(attr.ndev, make_netdev(test));
	KUNIT_EXPECT_EQ(test, mlx5_ib_add_gid(&attr, &context), 0);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_SET_ROCE_ADDRESS);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	mock->refuse = 2;
	KUNIT_EXPECT_EQ(test, mlx5_ib_add_gid(&attr, &context), mock->refuse_err);
	mock->refuse = 3;
	KUNIT_EXPECT_EQ(test, mlx5_ib_del_gid(&attr, &context), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 3);
}

static void roce_is_started_if_the_port_has_it(struct kunit *test)
{
	struct mlx5_ib_dev *dev = make_nic(test);
	struct mock *mock = nic.mock;

	KUNIT_EXPECT_EQ(test, mlx5_ib_init_roce(dev), 0);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_MODIFY_NIC_VPORT_CONTEXT);
	mlx5_ib_cleanup_roce(dev);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	mock->refuse = 3;
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_roce(dev), mock->refuse_err);
	mock->num_commands = 0;
	MOCK_SET_CAP(&dev->caps, roce, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_roce(dev), 0);
	mlx5_ib_cleanup_roce(dev);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
}

/* ---- the network device --------------------------------------------------------------------- */

static struct net_device *current_netdev(struct mlx5_ib_dev *dev)
{
	struct net_device *netdev = ib_device_get_netdev(&dev->ib_dev, 1);

	dev_put(netdev);
	return netdev;
}

/*
 * The Ethernet driver can be bound and unbound at any time. When it is told that the port has no
 * network device any more, the driver must not have a reference to the network device.
 */
static void port_has_the_network_device_that_mlx5_core_names(struct kunit *test)
{
	struct mlx5_ib_dev *dev = make_nic(test);
	struct net_device *netdev = make_netdev(test);
	struct notifier_block *nb = &dev->port.netdev_events;
	int refs = netdev_refcnt_read(netdev);

	KUNIT_ASSERT_EQ(test, mlx5_ib_init_netdev(dev), 0);
	KUNIT_EXPECT_TRUE(test, nic.watched);
	KUNIT_EXPECT_NULL(test, current_netdev(dev));
	KUNIT_EXPECT_EQ(test, nb->notifier_call(nb, MLX5_DRIVER_EVENT_AFFILIATION_DONE, netdev),
			NOTIFY_DONE);
	KUNIT_EXPECT_NULL(test, current_netdev(dev));
	KUNIT_EXPECT_EQ(test, nb->notifier_call(nb, MLX5_DRIVER_EVENT_UPLINK_NETDEV, netdev),
			NOTIFY_OK);
	KUNIT_EXPECT_PTR_EQ(test, current_netdev(dev), netdev);
	KUNIT_EXPECT_EQ(test, nb->notifier_call(nb, MLX5_DRIVER_EVENT_UPLINK_NETDEV, NULL),
			NOTIFY_OK);
	KUNIT_EXPECT_NULL(test, current_netdev(dev));
	KUNIT_EXPECT_EQ(test, netdev_refcnt_read(netdev), refs);
	/* The driver is unbound while the port has a network device. */
	KUNIT_EXPECT_EQ(test, nb->notifier_call(nb, MLX5_DRIVER_EVENT_UPLINK_NETDEV, netdev),
			NOTIFY_OK);
	mlx5_ib_cleanup_netdev(dev);
	KUNIT_EXPECT_FALSE(test, nic.watched);
	KUNIT_EXPECT_EQ(test, netdev_refcnt_read(netdev), refs);
}

/* Report that the port has no network device, and wait for the work item if it was queued. */
static bool is_handled(struct mlx5_ib_dev *dev)
{
	struct notifier_block *nb = &dev->port.netdev_events;

	KUNIT_EXPECT_EQ(nic.mock->test, NOTIFY_OK,
			nb->notifier_call(nb, MLX5_DRIVER_EVENT_UPLINK_NETDEV, NULL));
	flush_work(&dev->port.netdev_changed);
	return dev->port.num_handled == dev->port.num_netdevs;
}

/* The Ethernet driver can also be unbound before the device is registered, and afterwards. */
static void changes_are_handled_while_the_device_is_registered(struct kunit *test)
{
	struct mlx5_ib_dev *dev = make_nic(test);
	struct mlx5_ib_port *port = &dev->port;

	KUNIT_ASSERT_EQ(test, mlx5_ib_init_netdev(dev), 0);
	KUNIT_EXPECT_FALSE(test, is_handled(dev));
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_netdev_changes(dev), 0);
	flush_work(&port->netdev_changed);
	KUNIT_EXPECT_EQ(test, port->num_handled, port->num_netdevs);
	KUNIT_EXPECT_TRUE(test, is_handled(dev));
	mlx5_ib_cleanup_netdev_changes(dev);
	KUNIT_EXPECT_FALSE(test, is_handled(dev));
	mlx5_ib_cleanup_netdev(dev);
}

static void infiniband_port_has_no_network_device(struct kunit *test)
{
	struct mlx5_ib_dev *dev = make_nic(test);

	MOCK_SET_CAP(&dev->caps, port_type, MLX5_CAP_PORT_TYPE_IB);
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_netdev(dev), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_netdev_changes(dev), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_roce(dev), 0);
	mlx5_ib_cleanup_netdev_changes(dev);
	mlx5_ib_cleanup_netdev(dev);
	mlx5_ib_cleanup_roce(dev);
	KUNIT_EXPECT_FALSE(test, nic.watched);
	KUNIT_EXPECT_EQ(test, nic.mock->num_commands, 0);
}

/* ---- contexts ------------------------------------------------------------------------------- */

/* A library that reads 0 puts 18 bytes of headers into each send WQE. */
static void library_is_told_the_inline_headers(struct kunit *test)
{
	struct mlx5_ib_alloc_ucontext_resp resp;

	make_nic(test);
	mock_open(nic.mock);
	mock_read_answer(nic.mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.eth_min_inline, 2);
	KUNIT_EXPECT_EQ(test, resp.num_ports, 1);
	KUNIT_EXPECT_EQ(test, resp.cqe_version, 1);
	KUNIT_EXPECT_EQ(test, resp.cmds_supp_uhw, 3);
	KUNIT_EXPECT_EQ(test, resp.flow_action_flags, 0);
	KUNIT_EXPECT_EQ(test, resp.dump_fill_mkey, 1792);
	mock_close(nic.mock);
}

static int switch_loopback(struct mlx5_ib_dev *dev, bool on)
{
	nic.switched++;
	nic.loopback = on;
	return nic.switch_err;
}

static int open_context_for(struct mlx5_ib_ucontext *context, bool answerable)
{
	/* Such a context needs no firmware objects. */
	static const struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.lib_caps = MLX5_LIB_CAP_DYN_UAR,
	};
	struct ib_udata *udata = mock_udata(nic.mock, &req, sizeof(req),
					    sizeof(struct mlx5_ib_alloc_ucontext_resp));
	int idx, err;

	if (!answerable)
		mock_break_answer(nic.mock);
	*context = (struct mlx5_ib_ucontext){ .ibucontext.device = &nic.mock->dev->ib_dev };
	idx = mock_enter(nic.mock);
	err = mlx5_ib_alloc_ucontext(&context->ibucontext, udata);
	mock_leave(nic.mock, idx);
	return err;
}

static int open_context(struct mlx5_ib_ucontext *context)
{
	return open_context_for(context, true);
}

static struct mlx5_ib_ucontext *make_contexts(struct kunit *test, unsigned int n)
{
	struct mlx5_ib_dev *dev = make_nic(test);
	struct mlx5_ib_ucontext *contexts;

	MOCK_SET_CAP(&dev->caps, disable_local_lb_mc, 1);
	kunit_activate_static_stub(test, mlx5_ib_fw_switch_loopback, switch_loopback);
	contexts = kunit_kcalloc(test, n, sizeof(*contexts), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, contexts);
	return contexts;
}

static void expect_loopback(struct kunit *test, unsigned int switched, bool on)
{
	KUNIT_EXPECT_EQ(test, nic.switched, switched);
	KUNIT_EXPECT_EQ(test, nic.mock->dev->loopback, on);
	KUNIT_EXPECT_TRUE(test, !nic.switched || nic.loopback == on);
}

/* One context has no peer on this port. */
static void vport_receives_what_it_sends_with_two_contexts(struct kunit *test)
{
	struct mlx5_ib_ucontext *contexts = make_contexts(test, 3);

	KUNIT_ASSERT_EQ(test, open_context(&contexts[0]), 0);
	expect_loopback(test, 0, false);
	KUNIT_ASSERT_EQ(test, open_context(&contexts[1]), 0);
	expect_loopback(test, 1, true);
	KUNIT_ASSERT_EQ(test, open_context(&contexts[2]), 0);
	mlx5_ib_dealloc_ucontext(&contexts[0].ibucontext);
	expect_loopback(test, 1, true);
	mlx5_ib_dealloc_ucontext(&contexts[1].ibucontext);
	expect_loopback(test, 2, false);
	mlx5_ib_dealloc_ucontext(&contexts[2].ibucontext);
	expect_loopback(test, 2, false);
}

/* A queue pair for raw packets can ask for what its own context sends. */
static void queue_pairs_keep_loopback_on(struct kunit *test)
{
	struct mlx5_ib_ucontext *contexts = make_contexts(test, 2);
	struct mlx5_ib_dev *dev = nic.mock->dev;
	bool held = false;

	KUNIT_ASSERT_EQ(test, open_context(&contexts[0]), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_hold_loopback(dev, MLX5_QP_FLAG_TUNNEL_OFFLOADS, &held), 0);
	KUNIT_EXPECT_FALSE(test, held);
	expect_loopback(test, 0, false);
	nic.switch_err = -EIO;
	KUNIT_EXPECT_EQ(test,
			mlx5_ib_hold_loopback(dev, MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC, &held), -EIO);
	KUNIT_EXPECT_FALSE(test, held);
	nic.switch_err = 0;
	KUNIT_EXPECT_EQ(test,
			mlx5_ib_hold_loopback(dev, MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_MC, &held), 0);
	expect_loopback(test, 2, true);
	KUNIT_ASSERT_EQ(test, open_context(&contexts[1]), 0);
	mlx5_ib_dealloc_ucontext(&contexts[1].ibucontext);
	expect_loopback(test, 2, true);
	mlx5_ib_drop_loopback(dev, &held);
	expect_loopback(test, 3, false);
	mlx5_ib_drop_loopback(dev, &held);
	expect_loopback(test, 3, false);
	mlx5_ib_dealloc_ucontext(&contexts[0].ibucontext);
}

static void refused_loopback_is_an_error_and_is_tried_again(struct kunit *test)
{
	struct mlx5_ib_ucontext *contexts = make_contexts(test, 2);
	struct mlx5_ib_dev *dev = nic.mock->dev;

	KUNIT_ASSERT_EQ(test, open_context(&contexts[0]), 0);
	nic.switch_err = -EIO;
	KUNIT_EXPECT_EQ(test, open_context(&contexts[1]), -EIO);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&dev->contexts));
	KUNIT_EXPECT_FALSE(test, dev->loopback);
	nic.switch_err = 0;
	/* A process that cannot read the answer has no context. */
	KUNIT_EXPECT_EQ(test, open_context_for(&contexts[1], false), -EFAULT);
	expect_loopback(test, 3, false);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&dev->contexts));
	KUNIT_ASSERT_EQ(test, open_context(&contexts[1]), 0);
	expect_loopback(test, 4, true);
	/* Loopback that stays on costs others speed only. */
	nic.switch_err = -EIO;
	mlx5_ib_dealloc_ucontext(&contexts[0].ibucontext);
	KUNIT_EXPECT_TRUE(test, dev->loopback);
	nic.switch_err = 0;
	mlx5_ib_dealloc_ucontext(&contexts[1].ibucontext);
	expect_loopback(test, 6, false);
	KUNIT_EXPECT_TRUE(test, list_empty(&dev->contexts));
}

/* Devices that cannot switch it, and InfiniBand ports. */
static void loopback_is_left_alone_where_it_is_fixed(struct kunit *test)
{
	struct mlx5_ib_ucontext *contexts = make_contexts(test, 2);
	struct mlx5_ib_caps *caps = &nic.mock->dev->caps;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		/* One of the two is enough. */
		MOCK_SET_CAP(caps, disable_local_lb_mc, i == 2);
		MOCK_SET_CAP(caps, disable_local_lb_uc, i == 1);
		MOCK_SET_CAP(caps, port_type, i == 2 ? MLX5_CAP_PORT_TYPE_IB :
						       MLX5_CAP_PORT_TYPE_ETH);
		nic.switched = 0;
		KUNIT_ASSERT_EQ(test, open_context(&contexts[0]), 0);
		KUNIT_ASSERT_EQ(test, open_context(&contexts[1]), 0);
		KUNIT_EXPECT_EQ_MSG(test, nic.switched, i == 1, "device %u", i);
		mlx5_ib_dealloc_ucontext(&contexts[1].ibucontext);
		mlx5_ib_dealloc_ucontext(&contexts[0].ibucontext);
		KUNIT_EXPECT_FALSE(test, nic.mock->dev->loopback);
	}
}

static struct kunit_case roce_cases[] = {
	KUNIT_CASE_PARAM(port_has_the_versions_of_the_device, port_gen_params),
	KUNIT_CASE(attributes_are_those_of_the_network_device),
	KUNIT_CASE(constants_are_those_of_the_nic_vport),
	KUNIT_CASE(refused_command_is_an_error),
	KUNIT_CASE(speed_is_that_of_the_link),
	KUNIT_CASE(port_without_subnet_manager_takes_no_commands),
	KUNIT_CASE(operations_are_those_of_the_kind_of_port),
	KUNIT_CASE_PARAM(entry_has_the_version_and_the_vlan_of_the_address, address_gen_params),
	KUNIT_CASE(address_is_set_and_cleared),
	KUNIT_CASE(refused_address_is_an_error),
	KUNIT_CASE(roce_is_started_if_the_port_has_it),
	KUNIT_CASE(port_has_the_network_device_that_mlx5_core_names),
	KUNIT_CASE(changes_are_handled_while_the_device_is_registered),
	KUNIT_CASE(infiniband_port_has_no_network_device),
	KUNIT_CASE(library_is_told_the_inline_headers),
	KUNIT_CASE(vport_receives_what_it_sends_with_two_contexts),
	KUNIT_CASE(queue_pairs_keep_loopback_on),
	KUNIT_CASE(refused_loopback_is_an_error_and_is_tried_again),
	KUNIT_CASE(loopback_is_left_alone_where_it_is_fixed),
	{}
};

static struct kunit_suite roce_suite = {
	.name = "bluebell_roce",
	.test_cases = roce_cases,
};

kunit_test_suite(roce_suite);
