// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of vports: what an administrator reads and sets of virtual functions, the speed of
 * this function, and performance management by the counters of the vport.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/if_link.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/port.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "fw/fw.h"
#include "lib/mock.h"
#include "ops.h"
#include "port.h"
#include "verbs/verbs.h"

#define NUM_VFS	3

/**
 * struct vports - the device, and what its firmware answers
 * @mock: device
 * @vfs: table of virtual functions of mlx5_core
 * @policy: policy of the link state of each virtual function
 * @speed: speed limit of this function's vport
 * @no_agent: firmware refuses MAD_IFC
 */
struct vports {
	struct mock *mock;
	struct mlx5_vf_context vfs[NUM_VFS];
	u8 policy;
	u16 speed;
	bool no_agent;
};

static struct vports vports;

/* As ib_core finds the operations. */
static const struct ib_device_ops *const ops = &mlx5_ib_dev_ops;

static void fill_counters(void *out)
{
	MLX5_SET64(query_vport_counter_out, out, received_ib_unicast.packets, 0x100000001ULL);
	MLX5_SET64(query_vport_counter_out, out, received_ib_multicast.packets, 2);
	MLX5_SET64(query_vport_counter_out, out, received_ib_unicast.octets, 4000);
	MLX5_SET64(query_vport_counter_out, out, received_ib_multicast.octets, 400);
	MLX5_SET64(query_vport_counter_out, out, received_eth_unicast.packets, 0x50);
	MLX5_SET64(query_vport_counter_out, out, received_eth_multicast.packets, 0x600);
	MLX5_SET64(query_vport_counter_out, out, received_eth_broadcast.packets, 7);
	MLX5_SET64(query_vport_counter_out, out, received_eth_unicast.octets, 10000);
	MLX5_SET64(query_vport_counter_out, out, received_eth_multicast.octets, 200000);
	MLX5_SET64(query_vport_counter_out, out, received_eth_broadcast.octets, 3000000);
	MLX5_SET64(query_vport_counter_out, out, received_errors.packets, 0x12345);
	MLX5_SET64(query_vport_counter_out, out, transmitted_ib_unicast.packets, 30);
	MLX5_SET64(query_vport_counter_out, out, transmitted_ib_multicast.packets, 4);
	MLX5_SET64(query_vport_counter_out, out, transmitted_eth_unicast.packets, 500);
	MLX5_SET64(query_vport_counter_out, out, transmitted_eth_multicast.packets, 6000);
	MLX5_SET64(query_vport_counter_out, out, transmitted_eth_broadcast.packets, 70000);
	MLX5_SET64(query_vport_counter_out, out, transmitted_ib_unicast.octets, 800);
	MLX5_SET64(query_vport_counter_out, out, transmitted_ib_multicast.octets, 12000);
	MLX5_SET64(query_vport_counter_out, out, transmitted_eth_broadcast.octets, 300000);
	MLX5_SET64(query_vport_counter_out, out, transmit_errors.packets, 5);
}

static int vport_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		    int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	void *part;

	switch (vports.mock->opcode) {
	case MLX5_CMD_OP_MAD_IFC:
		return vports.no_agent ? -EREMOTEIO : err;
	case MLX5_CMD_OP_QUERY_VPORT_COUNTER:
		fill_counters(out);
		break;
	case MLX5_CMD_OP_QUERY_VPORT_STATE:
		MLX5_SET(query_vport_state_out, out, max_tx_speed, vports.speed);
		break;
	case MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT:
		/* mlx5_core itself builds the query of this function's own vport. */
		if (send && out_size < MLX5_ST_SZ_BYTES(query_hca_vport_context_out))
			break;
		part = MLX5_ADDR_OF(query_hca_vport_context_out, out, hca_vport_context);
		MLX5_SET(hca_vport_context, part, vport_state_policy, vports.policy);
		MLX5_SET64(hca_vport_context, part, node_guid, 0x1122334455667788ULL);
		MLX5_SET64(hca_vport_context, part, port_guid, 0x99aabbccddeeff00ULL);
		break;
	case MLX5_CMD_OP_ACCESS_REG:
		if (MLX5_GET(access_register_in, in, register_id) != MLX5_REG_PTYS)
			break;
		part = MLX5_ADDR_OF(access_register_out, out, register_data);
		MLX5_SET(ptys_reg, part, ib_link_width_oper, MLX5_PTYS_WIDTH_4X);
		MLX5_SET(ptys_reg, part, ib_proto_oper, IB_SPEED_EDR);
		break;
	}
	return err;
}

static int num_vfs(const struct mlx5_ib_dev *dev)
{
	return NUM_VFS;
}

static struct ib_device *make_vports(struct kunit *test)
{
	struct mlx5_ib_dev *dev;

	vports = (struct vports){ .mock = mock_create(test) };
	dev = vports.mock->dev;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, vport_fw);
	kunit_activate_static_stub(test, mlx5_ib_num_vfs, num_vfs);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_device_attr(dev), 0);
	MOCK_SET_CAP(&dev->caps, vport_group_manager, 1);
	MOCK_SET_CAP(&dev->caps, vport_counters, 1);
	dev->mdev->priv.sriov.vfs_ctx = vports.vfs;
	vports.mock->num_commands = 0;
	return &dev->ib_dev;
}

/* Expect the last command to name the vport, as all of these commands do in the third dword. */
static void expect_about(struct kunit *test, u16 opcode, u16 vport)
{
	KUNIT_EXPECT_EQ(test, vports.mock->opcode, opcode);
	KUNIT_EXPECT_EQ(test, be32_to_cpu((__force __be32)vports.mock->in[2]), 0x80000000 | vport);
}

static void guids_are_set_and_kept_for_mlx5_core(struct kunit *test)
{
	struct ib_device *ibdev = make_vports(test);
	const void *in = vports.mock->in;

	KUNIT_EXPECT_EQ(test, ops->set_vf_guid(ibdev, 1, 1, 0xabc, IFLA_VF_IB_NODE_GUID), 0);
	expect_about(test, MLX5_CMD_OP_MODIFY_HCA_VPORT_CONTEXT, 2);
	KUNIT_EXPECT_EQ(test, MLX5_GET(modify_hca_vport_context_in, in,
				       hca_vport_context.field_select), 2);
	KUNIT_EXPECT_EQ(test, vports.vfs[1].node_guid, 0xabc);
	KUNIT_EXPECT_TRUE(test, vports.vfs[1].node_guid_valid);
	KUNIT_EXPECT_FALSE(test, vports.vfs[1].port_guid_valid);
	KUNIT_EXPECT_EQ(test, ops->set_vf_guid(ibdev, 1, 1, 0xdef, IFLA_VF_IB_PORT_GUID), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(modify_hca_vport_context_in, in,
				       hca_vport_context.field_select), 1);
	KUNIT_EXPECT_EQ(test, vports.vfs[1].port_guid, 0xdef);
	KUNIT_EXPECT_EQ(test, vports.vfs[1].node_guid, 0xabc);
	/* A GUID that firmware has refused is not kept. */
	vports.mock->num_commands = 0;
	vports.mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, ops->set_vf_guid(ibdev, 1, 1, 1, IFLA_VF_IB_NODE_GUID),
			vports.mock->refuse_err);
	KUNIT_EXPECT_EQ(test, vports.vfs[1].node_guid, 0xabc);
	KUNIT_EXPECT_EQ(test, ops->set_vf_guid(ibdev, 1, 1, 1, IFLA_VF_MAC), -EINVAL);
}

static void guids_are_those_of_the_device(struct kunit *test)
{
	struct ib_device *ibdev = make_vports(test);
	struct ifla_vf_guid node = {}, port = {};

	KUNIT_EXPECT_EQ(test, ops->get_vf_guid(ibdev, 0, 1, &node, &port), 0);
	expect_about(test, MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, 1);
	KUNIT_EXPECT_EQ(test, node.guid, 0x1122334455667788ULL);
	KUNIT_EXPECT_EQ(test, port.guid, 0x99aabbccddeeff00ULL);
}

static void link_state_has_a_policy(struct kunit *test)
{
	static const u8 states[][2] = {
		{ IFLA_VF_LINK_STATE_DISABLE, 0 }, { IFLA_VF_LINK_STATE_ENABLE, 1 },
		{ IFLA_VF_LINK_STATE_AUTO, 2 },
	};
	struct ib_device *ibdev = make_vports(test);
	struct ifla_vf_info info;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		KUNIT_EXPECT_EQ(test, ops->set_vf_link_state(ibdev, 2, 1, states[i][0]), 0);
		expect_about(test, MLX5_CMD_OP_MODIFY_HCA_VPORT_CONTEXT, 3);
		KUNIT_EXPECT_EQ(test, MLX5_GET(modify_hca_vport_context_in, vports.mock->in,
					       hca_vport_context.field_select), 4);
		KUNIT_EXPECT_EQ(test, MLX5_GET(modify_hca_vport_context_in, vports.mock->in,
					       hca_vport_context.vport_state_policy),
				states[i][1]);
		KUNIT_EXPECT_EQ(test, vports.vfs[2].policy, states[i][1]);
		vports.policy = states[i][1];
		memset(&info, 0xff, sizeof(info));
		KUNIT_EXPECT_EQ(test, ops->get_vf_config(ibdev, 2, 1, &info), 0);
		KUNIT_EXPECT_EQ(test, info.linkstate, states[i][0]);
		/*
		 * The caller has filled @info with 0xff. The driver must leave the fields that it
		 * does not know.
		 */
		memset(&info.linkstate, 0xff, sizeof(info.linkstate));
		KUNIT_EXPECT_NULL(test, memchr_inv(&info, 0xff, sizeof(info)));
	}
	KUNIT_EXPECT_EQ(test, ops->set_vf_link_state(ibdev, 2, 1, 3), -EINVAL);
	vports.policy = 3;
	KUNIT_EXPECT_EQ(test, ops->get_vf_config(ibdev, 2, 1, &info), -EINVAL);
	vports.mock->num_commands = 0;
	vports.mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, ops->set_vf_link_state(ibdev, 2, 1, IFLA_VF_LINK_STATE_ENABLE),
			vports.mock->refuse_err);
	KUNIT_EXPECT_EQ(test, vports.vfs[2].policy, 2);
}

static void statistics_count_all_kinds_of_packets(struct kunit *test)
{
	struct ib_device *ibdev = make_vports(test);
	struct ifla_vf_stats stats;

	KUNIT_EXPECT_EQ(test, ops->get_vf_stats(ibdev, 0, 1, &stats), 0);
	expect_about(test, MLX5_CMD_OP_QUERY_VPORT_COUNTER, 1);
	KUNIT_EXPECT_EQ(test, stats.rx_packets, 0x10000065aULL);
	KUNIT_EXPECT_EQ(test, stats.rx_bytes, 3214400);
	KUNIT_EXPECT_EQ(test, stats.multicast, 0x602);
	KUNIT_EXPECT_EQ(test, stats.broadcast, 7);
	KUNIT_EXPECT_EQ(test, stats.tx_packets, 76534);
	KUNIT_EXPECT_EQ(test, stats.tx_bytes, 312800);
	vports.mock->num_commands = 0;
	vports.mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, ops->get_vf_stats(ibdev, 0, 1, &stats), vports.mock->refuse_err);
}

static void expect_all_refused(struct kunit *test, struct ib_device *ibdev, int vf, int err)
{
	struct ifla_vf_guid node, port;
	struct ifla_vf_stats stats;
	struct ifla_vf_info info;

	KUNIT_EXPECT_EQ(test, ops->get_vf_config(ibdev, vf, 1, &info), err);
	KUNIT_EXPECT_EQ(test, ops->get_vf_guid(ibdev, vf, 1, &node, &port), err);
	KUNIT_EXPECT_EQ(test, ops->get_vf_stats(ibdev, vf, 1, &stats), err);
	KUNIT_EXPECT_EQ(test, ops->set_vf_guid(ibdev, vf, 1, 1, IFLA_VF_IB_NODE_GUID), err);
	KUNIT_EXPECT_EQ(test, ops->set_vf_link_state(ibdev, vf, 1, IFLA_VF_LINK_STATE_AUTO),
			err);
	KUNIT_EXPECT_EQ(test, vports.mock->num_commands, 0);
}

static void functions_that_do_not_exist_are_refused(struct kunit *test)
{
	struct ib_device *ibdev = make_vports(test);

	expect_all_refused(test, ibdev, -1, -EINVAL);
	expect_all_refused(test, ibdev, NUM_VFS, -EINVAL);
	MOCK_SET_CAP(&vports.mock->dev->caps, vport_group_manager, 0);
	expect_all_refused(test, ibdev, 0, -EPERM);
}

/* Speeds are in units of 100 Mb/s. */
static void speed_is_that_of_the_link_or_the_limit(struct kunit *test)
{
	static const struct {
		u16 limit;
		u64 speed;
	} cases[] = { { 0, 1000 }, { 250, 250 }, { 4000, 1000 } };
	struct ib_device *ibdev = make_vports(test);
	unsigned int i;
	u64 speed;
	int err;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		vports.speed = cases[i].limit;
		KUNIT_EXPECT_EQ(test, ops->query_port_speed(ibdev, 1, &speed), 0);
		KUNIT_EXPECT_EQ(test, speed, cases[i].speed);
	}
	for (i = 1; i <= 10; i++) {
		vports.mock->num_commands = 0;
		vports.mock->refuse = i;
		err = ops->query_port_speed(ibdev, 1, &speed);
		if (!err)
			break;
		KUNIT_EXPECT_EQ(test, err, vports.mock->refuse_err);
	}
	KUNIT_EXPECT_GT(test, i, 3);
}

/* The status field of a request means nothing, and must not be copied to the answer. */
static int pma_of_version(struct ib_device *ibdev, u8 base, u8 class, u8 method, __be16 attr,
			  struct ib_pma_mad *out)
{
	struct ib_pma_mad in = {
		.mad_hdr = {
			.base_version = base, .mgmt_class = IB_MGMT_CLASS_PERF_MGMT,
			.class_version = class, .method = method, .attr_id = attr,
			.tid = cpu_to_be64(99), .status = cpu_to_be16(0x1c),
		},
	};
	size_t size = sizeof(*out);
	u16 pkey_index = 0;

	/* PortSelect. */
	in.data[1] = 1;
	return mlx5_ib_process_mad(ibdev, 0, 1, NULL, NULL, (struct ib_mad *)&in,
				   (struct ib_mad *)out, &size, &pkey_index);
}

static int pma(struct ib_device *ibdev, u8 method, __be16 attr, struct ib_pma_mad *out)
{
	return pma_of_version(ibdev, 1, 1, method, attr, out);
}

#define REPLY	(IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY)

static void vport_counters_stand_in_for_the_agent(struct kunit *test)
{
	struct ib_device *ibdev = make_vports(test);
	struct ib_pma_portcounters_ext *ext;
	struct ib_pma_portcounters *pc;
	struct ib_pma_mad out;

	vports.no_agent = true;
	KUNIT_EXPECT_EQ(test, pma(ibdev, IB_MGMT_METHOD_GET, IB_PMA_CLASS_PORT_INFO, &out), REPLY);
	KUNIT_EXPECT_EQ(test, out.mad_hdr.method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(out.mad_hdr.tid), 99);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(out.mad_hdr.status), 0);
	KUNIT_EXPECT_EQ(test, out.data[2], 2);		/* counters of 64 bits */
	KUNIT_EXPECT_EQ(test, pma(ibdev, IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS, &out), REPLY);
	/* The counters are those of this function itself. */
	KUNIT_EXPECT_EQ(test, vports.mock->opcode, MLX5_CMD_OP_QUERY_VPORT_COUNTER);
	KUNIT_EXPECT_EQ(test, mock_dword(vports.mock, 8), 0);
	pc = (struct ib_pma_portcounters *)out.data;
	KUNIT_EXPECT_EQ(test, pc->port_select, 1);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_rcv_packets), U32_MAX);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_rcv_data), 1100);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pc->port_rcv_errors), U16_MAX);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_xmit_packets), 34);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_xmit_data), 3200);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pc->port_xmit_discards), 5);
	KUNIT_EXPECT_EQ(test, pma(ibdev, IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS_EXT, &out),
			REPLY);
	ext = (struct ib_pma_portcounters_ext *)out.data;
	KUNIT_EXPECT_EQ(test, ext->port_select, 1);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ext->port_rcv_data), 1100);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ext->port_xmit_data), 3200);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ext->port_xmit_packets), 34);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ext->port_rcv_packets), 0x100000003ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ext->port_unicast_rcv_packets), 0x100000001ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ext->port_multicast_rcv_packets), 2);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ext->port_unicast_xmit_packets), 30);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ext->port_multicast_xmit_packets), 4);
	KUNIT_EXPECT_EQ(test, pma(ibdev, IB_MGMT_METHOD_GET, cpu_to_be16(0x10), &out), REPLY);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(out.mad_hdr.status), 0xc);
	KUNIT_EXPECT_EQ(test, pma(ibdev, IB_MGMT_METHOD_SET, IB_PMA_PORT_COUNTERS, &out), REPLY);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(out.mad_hdr.status), 0xc);
}

static void performance_mad_of_another_version_gets_no_counters(struct kunit *test)
{
	static const u8 versions[][2] = { { 0, 1 }, { 2, 1 }, { 1, 0 }, { 1, 2 } };
	struct ib_device *ibdev = make_vports(test);
	struct ib_pma_mad out;
	unsigned int i;

	vports.no_agent = true;
	for (i = 0; i < ARRAY_SIZE(versions); i++) {
		vports.mock->num_commands = 0;
		KUNIT_EXPECT_EQ(test, pma_of_version(ibdev, versions[i][0], versions[i][1],
						     IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS,
						     &out), REPLY);
		KUNIT_EXPECT_EQ(test, be16_to_cpu(out.mad_hdr.status), 4);
		KUNIT_EXPECT_EQ(test, out.mad_hdr.method, IB_MGMT_METHOD_GET_RESP);
		/* The driver has only sent MAD_IFC, which firmware has refused. */
		KUNIT_EXPECT_EQ(test, vports.mock->num_commands, 1);
	}
}

static void performance_mad_fails_without_counters(struct kunit *test)
{
	struct ib_device *ibdev = make_vports(test);
	struct ib_pma_mad out;

	/* Firmware has an agent, which answers the MAD. */
	KUNIT_EXPECT_EQ(test, pma(ibdev, IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS, &out), REPLY);
	KUNIT_EXPECT_EQ(test, vports.mock->num_commands, 1);
	vports.no_agent = true;
	vports.mock->num_commands = 0;
	vports.mock->refuse = 2;
	KUNIT_EXPECT_EQ(test, pma(ibdev, IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS, &out),
			IB_MAD_RESULT_FAILURE);
	vports.mock->refuse = 0;
	MOCK_SET_CAP(&vports.mock->dev->caps, vport_counters, 0);
	KUNIT_EXPECT_EQ(test, pma(ibdev, IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS, &out),
			IB_MAD_RESULT_FAILURE);
}

/*
 * The driver answers with the vport's counters only if firmware refuses a MAD of performance
 * management: not if firmware refuses another MAD, and not if firmware does not answer MAD_IFC.
 */
static void other_refused_mads_get_no_counters(struct kunit *test)
{
	struct ib_device *ibdev = make_vports(test);
	struct ib_mad in = {
		.mad_hdr = {
			.base_version = 1, .class_version = 1, .method = IB_MGMT_METHOD_GET,
			.mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED,
		},
	};
	struct ib_pma_mad out;
	size_t size = sizeof(out);
	u16 pkey_index = 0;

	vports.no_agent = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_process_mad(ibdev, 0, 1, NULL, NULL, &in,
						  (struct ib_mad *)&out, &size, &pkey_index),
			IB_MAD_RESULT_FAILURE);
	KUNIT_EXPECT_EQ(test, vports.mock->num_commands, 1);
	vports.no_agent = false;
	vports.mock->num_commands = 0;
	vports.mock->refuse = 1;
	vports.mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, pma(ibdev, IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS, &out),
			IB_MAD_RESULT_FAILURE);
	KUNIT_EXPECT_EQ(test, vports.mock->num_commands, 1);
}

/* On an Ethernet port firmware has no agents: only the counters of the port can be asked for. */
static void ethernet_port_answers_performance_management_only(struct kunit *test)
{
	static const u8 others[] = {
		IB_MGMT_CLASS_SUBN_LID_ROUTED, IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE,
		IB_MGMT_CLASS_CONG_MGMT, 0x09, 0x0a, IB_MGMT_CLASS_CM,
	};
	struct ib_device *ibdev = make_vports(test);
	struct mock *mock = vports.mock;
	struct ib_mad in = {}, out = {};
	struct ib_pma_portcounters_ext *counters;
	struct ib_wc wc = {};
	unsigned int i;

	mock_set_ethernet(&mock->dev->caps);
	counters = (void *)((struct ib_pma_mad *)&out)->data;
	in.mad_hdr.base_version = IB_MGMT_BASE_VERSION;
	in.mad_hdr.class_version = 1;
	in.mad_hdr.mgmt_class = IB_MGMT_CLASS_PERF_MGMT;
	in.mad_hdr.method = IB_MGMT_METHOD_GET;
	in.mad_hdr.attr_id = IB_PMA_PORT_COUNTERS_EXT;
	KUNIT_EXPECT_EQ(test, ops->process_mad(ibdev, 0, 1, NULL, NULL, &in, &out, NULL, NULL),
			REPLY);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_QUERY_VPORT_COUNTER);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(counters->port_rcv_packets), 0x100000003ULL);
	MOCK_SET_CAP(&mock->dev->caps, vport_counters, 0);
	KUNIT_EXPECT_EQ(test, ops->process_mad(ibdev, 0, 1, NULL, NULL, &in, &out, NULL, NULL),
			IB_MAD_RESULT_FAILURE);

	mock->num_commands = 0;
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		in.mad_hdr.mgmt_class = others[i];
		in.mad_hdr.method = IB_MGMT_METHOD_GET;
		KUNIT_EXPECT_EQ(test, ops->process_mad(ibdev, 0, 1, &wc, NULL, &in, &out, NULL,
						       NULL), IB_MAD_RESULT_SUCCESS);
		/* No datagram has a LID, so a trap without a LID is not firmware's own. */
		in.mad_hdr.method = IB_MGMT_METHOD_TRAP;
		KUNIT_EXPECT_EQ(test, ops->process_mad(ibdev, 0, 1, &wc, NULL, &in, &out, NULL,
						       NULL), IB_MAD_RESULT_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
}

static struct kunit_case vport_cases[] = {
	KUNIT_CASE(guids_are_set_and_kept_for_mlx5_core),
	KUNIT_CASE(guids_are_those_of_the_device),
	KUNIT_CASE(link_state_has_a_policy),
	KUNIT_CASE(statistics_count_all_kinds_of_packets),
	KUNIT_CASE(functions_that_do_not_exist_are_refused),
	KUNIT_CASE(speed_is_that_of_the_link_or_the_limit),
	KUNIT_CASE(vport_counters_stand_in_for_the_agent),
	KUNIT_CASE(performance_mad_of_another_version_gets_no_counters),
	KUNIT_CASE(performance_mad_fails_without_counters),
	KUNIT_CASE(other_refused_mads_get_no_counters),
	KUNIT_CASE(ethernet_port_answers_performance_management_only),
	{}
};

static struct kunit_suite vport_suite = {
	.name = "bluebell_vport",
	.test_cases = vport_cases,
};

kunit_test_suite(vport_suite);
