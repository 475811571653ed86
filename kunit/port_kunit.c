// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the port: what the driver reports of the link, when it reads the link again, and
 * which capabilities consumers may change.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/port.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

#include "lib/locks.h"
#include "lib/mock.h"
#include "ops.h"
#include "port.h"

/**
 * struct link_env - a port and what the device reports of it
 * @mock: device
 * @width: width of the link, as PTYS has it
 * @lanes: virtual lanes of the port, as PVLC has them
 * @num_reads: how often PTYS has been read
 * @event_after: opcode of the command after whose answer an event of the port arrives; 0 for none
 * @register_after: opcode of the command after whose answer the notifier is registered; 0 for none
 */
struct link_env {
	struct mock *mock;
	u8 width;
	u8 lanes;
	unsigned int num_reads;
	u16 event_after;
	u16 register_after;
};

static struct link_env link_env;

static void receive_event(void)
{
	struct mlx5_ib_port *port = &link_env.mock->dev->port;

	/*
	 * Do what the driver's notifier does, which itself needs a device that the RDMA core knows.
	 */
	scoped_guard(spinlock_irqsave, &port->link_lock) {
		port->num_events++;
		port->link.valid = false;
	}
}

static int link_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out, int out_size,
		   mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	u16 opcode = link_env.mock->opcode;
	void *part;

	if (opcode == MLX5_CMD_OP_ACCESS_REG &&
	    MLX5_GET(access_register_in, in, register_id) == MLX5_REG_PTYS) {
		part = MLX5_ADDR_OF(access_register_in, in, register_data);
		KUNIT_EXPECT_EQ(kunit_get_current_test(), MLX5_GET(ptys_reg, part, proto_mask),
				MLX5_PTYS_IB);
		part = MLX5_ADDR_OF(access_register_out, out, register_data);
		MLX5_SET(ptys_reg, part, ib_link_width_oper, link_env.width);
		link_env.num_reads++;
	}
	if (opcode == MLX5_CMD_OP_ACCESS_REG &&
	    MLX5_GET(access_register_in, in, register_id) == MLX5_REG_PVLC) {
		part = MLX5_ADDR_OF(access_register_out, out, register_data);
		MLX5_SET(pvlc_reg, part, vl_hw_cap, link_env.lanes);
		watch_lock(&link_env.mock->dev->port.link_lock);
	}
	if (opcode == link_env.event_after) {
		link_env.event_after = 0;
		receive_event();
	}
	if (opcode == link_env.register_after) {
		link_env.register_after = 0;
		mlx5_ib_port_rely_on_events(link_env.mock->dev);
	}
	return err;
}

static void make_link(struct kunit *test)
{
	link_env = (struct link_env){
		.mock = mock_create(test), .width = MLX5_PTYS_WIDTH_4X,
	};
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, link_fw);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_device_attr(link_env.mock->dev), 0);
	link_env.mock->dev->port.told = true;
}

/* Query the port. Returns the width of its link. */
static u8 query_width(struct kunit *test)
{
	struct ib_port_attr props = {};

	KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(&link_env.mock->dev->ib_dev, 1, &props), 0);
	return props.active_width;
}

/* PortInfo.VLCap is a code: 1 for VL0, 2 for VL0-1, 3 for VL0-3, 4 for VL0-7, 5 for VL0-14. */
static void virtual_lanes_are_reported_by_their_code(struct kunit *test)
{
	static const u8 cases[][2] = { { 1, 1 }, { 2, 2 }, { 4, 3 }, { 8, 4 }, { 15, 5 } };
	struct ib_port_attr props = {};
	unsigned int i;

	make_link(test);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		receive_event();
		link_env.lanes = cases[i][0];
		KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(&link_env.mock->dev->ib_dev, 1, &props),
				0);
		KUNIT_EXPECT_EQ_MSG(test, props.max_vl_num, cases[i][1], "%u lanes", cases[i][0]);
	}
}

static void link_width_is_reported(struct kunit *test)
{
	static const u8 cases[][2] = {
		{ MLX5_PTYS_WIDTH_1X, IB_WIDTH_1X }, { MLX5_PTYS_WIDTH_2X, IB_WIDTH_2X },
		{ MLX5_PTYS_WIDTH_4X, IB_WIDTH_4X }, { MLX5_PTYS_WIDTH_8X, IB_WIDTH_8X },
		{ MLX5_PTYS_WIDTH_12X, IB_WIDTH_12X },
		/* Widths that verbs do not know, and none. */
		{ MLX5_PTYS_WIDTH_12X << 1, IB_WIDTH_4X }, { 0x80, IB_WIDTH_4X },
		{ 0, IB_WIDTH_4X },
	};
	unsigned int i;

	make_link(test);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		receive_event();
		link_env.width = cases[i][0];
		KUNIT_EXPECT_EQ(test, query_width(test), cases[i][1]);
	}
}

/* The mock reports cap_mask1_perm as 0: consumers can change no capability. */
static void capability_that_is_not_for_consumers_is_not_changed(struct kunit *test)
{
	struct ib_port_modify set = { .set_port_cap_mask = IB_PORT_CM_SUP };
	struct ib_port_modify clear = { .clr_port_cap_mask = IB_PORT_CM_SUP };
	struct ib_port_modify none = {};
	struct ib_device *ibdev;
	struct mock *mock;

	make_link(test);
	mock = link_env.mock;
	ibdev = &mock->dev->ib_dev;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_port(ibdev, 1, 0, &set), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_port(ibdev, 1, 0, &clear), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_port(ibdev, 1, 0, &none), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_port(ibdev, 1, IB_PORT_SHUTDOWN, &set), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
}

/* ---- attributes ------------------------------------------------------------------------- */

/* What firmware reports of this function's vport. No two attributes have the same value. */
static struct mlx5_hca_vport_context vport;
/* Prefix of the GID with index 0. */
static u64 first_prefix;

static int query_vport(struct mlx5_ib_dev *dev, u16 opcode, u8 port, u16 index, void *result)
{
	struct kunit *test = kunit_get_current_test();

	KUNIT_EXPECT_EQ(test, port, 1);
	switch (opcode) {
	case MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT:
		*(struct mlx5_hca_vport_context *)result = vport;
		break;
	case MLX5_CMD_OP_QUERY_HCA_VPORT_GID:
		memset(result, index, sizeof(union ib_gid));
		if (!index)
			((union ib_gid *)result)->global.subnet_prefix = cpu_to_be64(first_prefix);
		break;
	case MLX5_CMD_OP_QUERY_HCA_VPORT_PKEY:
		*(u16 *)result = 0x8000 | index;
		break;
	default:
		KUNIT_FAIL(test, "opcode %#x", opcode);
	}
	return 0;
}

static int mtu_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out, int out_size,
		  mlx5_ib_fw_send_t send, void *arg)
{
	int err = link_fw(dev, uid, in, in_size, out, out_size, send, arg);
	void *pmtu = MLX5_ADDR_OF(access_register_out, out, register_data);

	if (MLX5_GET(access_register_in, in, opcode) != MLX5_CMD_OP_ACCESS_REG)
		return err;
	/* The driver reads registers of port 1, and writes none. */
	KUNIT_EXPECT_EQ(kunit_get_current_test(), MLX5_GET(access_register_in, in, op_mod), 1);
	KUNIT_EXPECT_EQ(kunit_get_current_test(),
			MLX5_GET(pmtu_reg, MLX5_ADDR_OF(access_register_in, in, register_data),
				 local_port), 1);
	if (MLX5_GET(access_register_in, in, register_id) == MLX5_REG_PMTU) {
		MLX5_SET(pmtu_reg, pmtu, max_mtu, 2048);
		MLX5_SET(pmtu_reg, pmtu, oper_mtu, 512);
	}
	return err;
}

static void attributes_are_those_of_the_vport(struct kunit *test)
{
	struct ib_port_attr props = {};
	struct ib_device *ibdev;
	union ib_gid gid;
	u16 pkey;

	make_link(test);
	ibdev = &link_env.mock->dev->ib_dev;
	MOCK_SET_CAP(&link_env.mock->dev->caps, log_max_msg, 27);
	MOCK_SET_CAP(&link_env.mock->dev->caps, gid_table_size,
		     MLX5_CMD_HCA_CAP_GID_TABLE_SIZE_16_GID_ENTRIES);
	vport = (struct mlx5_hca_vport_context){
		.vport_state = IB_PORT_INIT, .port_physical_state = IB_PORT_PHYS_STATE_LINK_UP,
		.cap_mask1 = 0x12345678, .cap_mask2 = 0x9abc, .lid = 0x1001, .lmc = 3,
		.sm_lid = 0x1002, .sm_sl = 9, .subnet_timeout = 18, .init_type_reply = 7,
		.pkey_violation_counter = 1003, .qkey_violation_counter = 1004,
	};
	link_env.lanes = 8;
	kunit_activate_static_stub(test, mlx5_ib_fw_query_hca_vport, query_vport);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, mtu_fw);
	KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(ibdev, 1, &props), 0);
	KUNIT_EXPECT_EQ(test, props.state, IB_PORT_INIT);
	KUNIT_EXPECT_EQ(test, props.phys_state, IB_PORT_PHYS_STATE_LINK_UP);
	KUNIT_EXPECT_EQ(test, props.port_cap_flags, 0x12345678);
	KUNIT_EXPECT_EQ(test, props.lid, 0x1001);
	KUNIT_EXPECT_EQ(test, props.lmc, 3);
	KUNIT_EXPECT_EQ(test, props.sm_lid, 0x1002);
	KUNIT_EXPECT_EQ(test, props.sm_sl, 9);
	KUNIT_EXPECT_EQ(test, props.subnet_timeout, 18);
	KUNIT_EXPECT_EQ(test, props.init_type_reply, 7);
	KUNIT_EXPECT_EQ(test, props.bad_pkey_cntr, 1003);
	KUNIT_EXPECT_EQ(test, props.qkey_viol_cntr, 1004);
	KUNIT_EXPECT_EQ(test, props.max_mtu, IB_MTU_2048);
	KUNIT_EXPECT_EQ(test, props.active_mtu, IB_MTU_512);
	KUNIT_EXPECT_EQ(test, props.max_msg_sz, 1 << 27);
	KUNIT_EXPECT_EQ(test, props.gid_tbl_len, 16);
	KUNIT_EXPECT_EQ(test, props.pkey_tbl_len, 128);
	/* IB_PORT_CAP_MASK2_SUP says whether there is a second mask. */
	KUNIT_EXPECT_EQ(test, props.port_cap_flags2, 0);
	vport.cap_mask1 |= IB_PORT_CAP_MASK2_SUP;
	KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(ibdev, 1, &props), 0);
	KUNIT_EXPECT_EQ(test, props.port_cap_flags2, 0x9abc);

	KUNIT_EXPECT_EQ(test, mlx5_ib_query_gid(ibdev, 1, 0x5c, &gid), 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(gid.raw, 0x5c, sizeof(gid.raw)));
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_pkey(ibdev, 1, 77, &pkey), 0);
	KUNIT_EXPECT_EQ(test, pkey, 0x8000 | 77);
}

/* ib_core (7.2) would report the prefix of the last entry of the GID table. */
static void subnet_prefix_is_that_of_the_first_gid(struct kunit *test)
{
	struct ib_port_attr props = {};
	struct ib_device *ibdev;

	make_link(test);
	ibdev = &link_env.mock->dev->ib_dev;
	kunit_activate_static_stub(test, mlx5_ib_fw_query_hca_vport, query_vport);
	first_prefix = 0xfec0000000001234ULL;
	KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(ibdev, 1, &props), 0);
	KUNIT_EXPECT_EQ(test, props.subnet_prefix, 0xfec0000000001234ULL);
	/* A new prefix is an event. */
	first_prefix++;
	props = (struct ib_port_attr){};
	KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(ibdev, 1, &props), 0);
	KUNIT_EXPECT_EQ(test, props.subnet_prefix, 0xfec0000000001234ULL);
	receive_event();
	KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(ibdev, 1, &props), 0);
	KUNIT_EXPECT_EQ(test, props.subnet_prefix, 0xfec0000000001235ULL);
}

/* The other capabilities keep their values. */
static void capability_of_consumers_is_set_and_cleared(struct kunit *test)
{
	struct ib_port_modify both = {
		.set_port_cap_mask = IB_PORT_CM_SUP, .clr_port_cap_mask = IB_PORT_SNMP_TUNNEL_SUP,
	};
	struct mock *mock;
	const void *in;

	make_link(test);
	mock = link_env.mock;
	in = mock->in;
	vport = (struct mlx5_hca_vport_context){
		.cap_mask1 = 0xffffffff, .cap_mask1_perm = IB_PORT_CM_SUP | IB_PORT_SNMP_TUNNEL_SUP,
	};
	kunit_activate_static_stub(test, mlx5_ib_fw_query_hca_vport, query_vport);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_port(&mock->dev->ib_dev, 1, 0, &both), 0);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_MODIFY_HCA_VPORT_CONTEXT);
	KUNIT_EXPECT_EQ(test, MLX5_GET(modify_hca_vport_context_in, in,
				       hca_vport_context.cap_mask1), IB_PORT_CM_SUP);
	KUNIT_EXPECT_EQ(test, MLX5_GET(modify_hca_vport_context_in, in,
				       hca_vport_context.cap_mask1_field_select),
			IB_PORT_CM_SUP | IB_PORT_SNMP_TUNNEL_SUP);
	KUNIT_EXPECT_EQ(test, MLX5_GET(modify_hca_vport_context_in, in,
				       hca_vport_context.field_select), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(modify_hca_vport_context_in, in, other_vport), 0);
	/* Only devices with several ports have the field. */
	KUNIT_EXPECT_EQ(test, MLX5_GET(modify_hca_vport_context_in, in, port_num), 0);
	MOCK_SET_CAP(&mock->dev->caps, num_ports, 2);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_port(&mock->dev->ib_dev, 1, 0, &both), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(modify_hca_vport_context_in, in, port_num), 1);
	/* Consumers can change only one of the two capabilities. */
	vport.cap_mask1_perm = IB_PORT_CM_SUP;
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_port(&mock->dev->ib_dev, 1, 0, &both), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
}

static void constants_are_read_once(struct kunit *test)
{
	static const struct {
		bool smi, grh;
	} cases[] = { { false, false }, { true, false }, { false, true }, { true, true } };
	struct ib_port_immutable immutable;
	struct mlx5_ib_dev *dev;
	unsigned int i;
	u32 want;

	make_link(test);
	dev = link_env.mock->dev;
	MOCK_SET_CAP(&dev->caps, gid_table_size,
		     MLX5_CMD_HCA_CAP_GID_TABLE_SIZE_16_GID_ENTRIES);
	kunit_activate_static_stub(test, mlx5_ib_fw_query_hca_vport, query_vport);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		vport = (struct mlx5_hca_vport_context){
			.has_smi = cases[i].smi, .grh_required = cases[i].grh,
			.node_guid = 0x1122334455667788ULL, .sys_image_guid = 0x99aabbccddeeff00ULL,
			.port_guid = 1,
		};
		KUNIT_ASSERT_EQ(test, mlx5_ib_init_port(dev), 0);
		KUNIT_EXPECT_EQ(test, be64_to_cpu(dev->ib_dev.node_guid), 0x1122334455667788ULL);
		KUNIT_EXPECT_EQ(test, be64_to_cpu(dev->sys_image_guid), 0x99aabbccddeeff00ULL);
		KUNIT_ASSERT_EQ(test, mlx5_ib_port_immutable(&dev->ib_dev, 1, &immutable), 0);
		want = RDMA_CORE_PORT_IBA_IB;
		if (!cases[i].smi)
			want &= ~RDMA_CORE_CAP_IB_SMI;
		if (cases[i].grh)
			want |= RDMA_CORE_CAP_IB_GRH_REQUIRED;
		KUNIT_EXPECT_EQ_MSG(test, immutable.core_cap_flags, want, "case %u", i);
		KUNIT_EXPECT_EQ(test, immutable.gid_tbl_len, 16);
		KUNIT_EXPECT_EQ(test, immutable.pkey_tbl_len, 128);
		KUNIT_EXPECT_EQ(test, immutable.max_mad_size, IB_MGMT_MAD_SIZE);
	}
}

/* The kernel log tells the reason, and the stock driver may bind to the port instead. */
static void port_that_cannot_be_driven_has_a_reason(struct kunit *test)
{
	struct mlx5_core_dev *mdev;
	struct mlx5_ib_caps *caps;

	make_link(test);
	mdev = link_env.mock->dev->mdev;
	caps = &link_env.mock->dev->caps;
	MOCK_SET_CAP(caps, ib_virt, 1);
	KUNIT_EXPECT_NULL(test, mlx5_ib_port_why_not(mdev));
	KUNIT_EXPECT_EQ(test, mlx5_ib_port_link_layer(&link_env.mock->dev->ib_dev, 1),
			IB_LINK_LAYER_INFINIBAND);
	MOCK_SET_CAP(caps, ib_virt, 0);
	KUNIT_EXPECT_NOT_NULL(test, mlx5_ib_port_why_not(mdev));
	/* An Ethernet port is no vport of an HCA. */
	MOCK_SET_CAP(caps, port_type, MLX5_CAP_PORT_TYPE_ETH);
	KUNIT_EXPECT_NULL(test, mlx5_ib_port_why_not(mdev));
	MOCK_SET_CAP(caps, ib_virt, 1);
	MOCK_SET_CAP(caps, port_type, 2);
	KUNIT_EXPECT_NOT_NULL(test, mlx5_ib_port_why_not(mdev));
}

/* The device reports some changes of a port for which verbs have no event. */
static void change_of_the_port_is_an_event_or_none(struct kunit *test)
{
	static const struct {
		u8 change;
		enum ib_event_type event;
	} cases[] = {
		{ MLX5_PORT_CHANGE_SUBTYPE_DOWN, IB_EVENT_PORT_ERR },
		{ MLX5_PORT_CHANGE_SUBTYPE_ACTIVE, IB_EVENT_PORT_ACTIVE },
		{ MLX5_PORT_CHANGE_SUBTYPE_INITIALIZED, IB_EVENT_PORT_ERR },
		{ MLX5_PORT_CHANGE_SUBTYPE_LID, IB_EVENT_LID_CHANGE },
		{ MLX5_PORT_CHANGE_SUBTYPE_PKEY, IB_EVENT_PKEY_CHANGE },
		{ MLX5_PORT_CHANGE_SUBTYPE_GUID, IB_EVENT_GID_CHANGE },
		{ MLX5_PORT_CHANGE_SUBTYPE_CLIENT_REREG, IB_EVENT_CLIENT_REREGISTER },
		{ 0, 0 }, { 2, 0 }, { 10, 0 }, { 255, 0 },
	};
	struct mlx5_ib_port *port;
	unsigned int i;

	make_link(test);
	port = &link_env.mock->dev->port;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		query_width(test);
		KUNIT_EXPECT_EQ_MSG(test, port->ops->changed(port, cases[i].change),
				    cases[i].event, "change %u", cases[i].change);
		/* The next query reads the link again, whatever has changed. */
		KUNIT_EXPECT_FALSE(test, port->link.valid);
	}
}

static void link_is_read_once_per_event(struct kunit *test)
{
	make_link(test);
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_4X);
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_4X);
	KUNIT_EXPECT_EQ(test, link_env.num_reads, 1);
	receive_event();
	link_env.width = MLX5_PTYS_WIDTH_1X;
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_1X);
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_1X);
	KUNIT_EXPECT_EQ(test, link_env.num_reads, 2);
}

/* The event of the change may still be on its way. */
static void link_is_read_again_if_the_state_is_another(struct kunit *test)
{
	make_link(test);
	kunit_activate_static_stub(test, mlx5_ib_fw_query_hca_vport, query_vport);
	vport = (struct mlx5_hca_vport_context){
		.vport_state = IB_PORT_ACTIVE, .port_physical_state = 5,
	};
	query_width(test);
	query_width(test);
	KUNIT_EXPECT_EQ(test, link_env.num_reads, 1);
	vport.vport_state = IB_PORT_INIT;
	query_width(test);
	query_width(test);
	KUNIT_EXPECT_EQ(test, link_env.num_reads, 2);
	vport.port_physical_state = 2;
	query_width(test);
	query_width(test);
	KUNIT_EXPECT_EQ(test, link_env.num_reads, 3);
}

/* The link may change while the driver reads it. The next query then reads the link again. */
static void event_during_a_query_is_noticed(struct kunit *test)
{
	static const u16 after[] = { MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, MLX5_CMD_OP_ACCESS_REG };
	unsigned int i;

	make_link(test);
	for (i = 0; i < ARRAY_SIZE(after); i++) {
		receive_event();
		link_env.event_after = after[i];
		link_env.width = MLX5_PTYS_WIDTH_1X;
		query_width(test);
		link_env.width = MLX5_PTYS_WIDTH_4X;
		KUNIT_EXPECT_EQ_MSG(test, query_width(test), IB_WIDTH_4X, "after opcode %#x",
				    after[i]);
	}
}

/* Events of a port may not reach a function that shares the port. */
static void function_without_events_reads_the_link_each_time(struct kunit *test)
{
	make_link(test);
	link_env.mock->dev->port.told = false;
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_4X);
	link_env.width = MLX5_PTYS_WIDTH_1X;
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_1X);
}

static void only_a_physical_function_relies_on_events(struct kunit *test)
{
	static const struct {
		enum mlx5_coredev_type type;
		unsigned int reads;
	} cases[] = {
		{ MLX5_COREDEV_PF, 1 }, { MLX5_COREDEV_VF, 2 }, { MLX5_COREDEV_SF, 2 },
	};
	struct mlx5_core_dev *mdev;
	unsigned int i;

	make_link(test);
	mdev = link_env.mock->dev->mdev;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		mdev->coredev_type = cases[i].type;
		mlx5_ib_port_rely_on_events(link_env.mock->dev);
		receive_event();
		link_env.num_reads = 0;
		query_width(test);
		query_width(test);
		KUNIT_EXPECT_EQ_MSG(test, link_env.num_reads, cases[i].reads, "type %u",
				    cases[i].type);
	}
	mdev->coredev_type = MLX5_COREDEV_PF;
}

/* An event that came before the registration may have changed what this query has read. */
static void query_during_the_registration_keeps_nothing(struct kunit *test)
{
	make_link(test);
	link_env.register_after = MLX5_CMD_OP_ACCESS_REG;
	link_env.width = MLX5_PTYS_WIDTH_1X;
	query_width(test);
	link_env.width = MLX5_PTYS_WIDTH_4X;
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_4X);
	link_env.width = MLX5_PTYS_WIDTH_1X;
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_4X);
}

static void link_has_its_lock(struct kunit *test)
{
	struct mlx5_ib_port *port;

	make_link(test);
	port = &link_env.mock->dev->port;
	/* The first query reads the link, then takes the lock to keep what it has read. */
	query_width(test);
	KUNIT_EXPECT_TRUE(test, lock_was_taken(&port->link_lock));
	EXPECT_TAKES_LOCK(test, &port->link_lock, query_width(test));
	EXPECT_TAKES_LOCK(test, &port->link_lock,
			  port->ops->changed(port, MLX5_PORT_CHANGE_SUBTYPE_LID));
}

/* What the RDMA core has told a consumer. */
static struct ib_event told;
static unsigned int times_told;

static void be_told(struct ib_event_handler *handler, struct ib_event *event)
{
	told = *event;
	times_told++;
}

/* Events of another port, and events that verbs do not have, are not for consumers. */
static void failure_of_the_device_is_told_to_consumers(struct kunit *test)
{
	static const struct {
		unsigned long type;
		u8 change;
		u8 port;
	} cases[] = {
		{ MLX5_EVENT_TYPE_PORT_CHANGE, MLX5_PORT_CHANGE_SUBTYPE_ACTIVE, 2 },
		{ MLX5_EVENT_TYPE_PORT_CHANGE, MLX5_PORT_CHANGE_SUBTYPE_ACTIVE, 0 },
		{ MLX5_EVENT_TYPE_PORT_CHANGE, 0, 1 },
		{ MLX5_EVENT_TYPE_CQ_ERROR, MLX5_PORT_CHANGE_SUBTYPE_ACTIVE, 1 },
	};
	struct ib_event_handler handler;
	struct notifier_block *events;
	struct mlx5_eqe eqe = {};
	unsigned int i;

	make_link(test);
	events = &link_env.mock->dev->port.events;
	INIT_IB_EVENT_HANDLER(&handler, &link_env.mock->dev->ib_dev, be_told);
	ib_register_event_handler(&handler);
	times_told = 0;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		eqe.sub_type = cases[i].change;
		eqe.data.port.port = cases[i].port << 4;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_port_notify(events, cases[i].type, &eqe),
				    NOTIFY_DONE, "case %u", i);
	}
	KUNIT_EXPECT_EQ(test, mlx5_ib_port_notify(events, MLX5_DEV_EVENT_SYS_ERROR, NULL),
			NOTIFY_OK);
	flush_workqueue(ib_wq);
	ib_unregister_event_handler(&handler);
	KUNIT_EXPECT_EQ(test, times_told, 1);
	KUNIT_EXPECT_EQ(test, told.event, IB_EVENT_DEVICE_FATAL);
	KUNIT_EXPECT_EQ(test, told.element.port_num, 1);
	KUNIT_EXPECT_PTR_EQ(test, told.device, &link_env.mock->dev->ib_dev);
}

static struct kunit_case port_cases[] = {
	KUNIT_CASE(virtual_lanes_are_reported_by_their_code),
	KUNIT_CASE(link_width_is_reported),
	KUNIT_CASE(capability_that_is_not_for_consumers_is_not_changed),
	KUNIT_CASE(attributes_are_those_of_the_vport),
	KUNIT_CASE(subnet_prefix_is_that_of_the_first_gid),
	KUNIT_CASE(capability_of_consumers_is_set_and_cleared),
	KUNIT_CASE(constants_are_read_once),
	KUNIT_CASE(port_that_cannot_be_driven_has_a_reason),
	KUNIT_CASE(change_of_the_port_is_an_event_or_none),
	KUNIT_CASE(link_is_read_once_per_event),
	KUNIT_CASE(link_is_read_again_if_the_state_is_another),
	KUNIT_CASE(event_during_a_query_is_noticed),
	KUNIT_CASE(function_without_events_reads_the_link_each_time),
	KUNIT_CASE(only_a_physical_function_relies_on_events),
	KUNIT_CASE(query_during_the_registration_keeps_nothing),
	KUNIT_CASE(link_has_its_lock),
	KUNIT_CASE(failure_of_the_device_is_told_to_consumers),
	{}
};

static struct kunit_suite port_suite = {
	.name = "bluebell_port",
	.test_cases = port_cases,
};

kunit_test_suite(port_suite);
