// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Attributes of virtual functions' ports that an administrator reads and sets through IPoIB's
 * network device of the physical function ("ip link set ib0 vf 0 node_guid ..."): GUIDs, the policy
 * of the link state, statistics.
 *
 * The vport of virtual function N has the number N + 1. Firmware forgets the attributes of virtual
 * functions when the functions are disabled. When mlx5_core enables the virtual functions again, it
 * sets the attributes that its table of virtual functions has, so the driver also writes to that
 * table each attribute that it sets. mlx5_core takes 0 in the table for an attribute that was not
 * set, and so does not restore MLX5_POLICY_DOWN, which is 0. Only the driver writes these members
 * of the table, and IPoIB calls with the RTNL held, so writers need no other lock.
 */

#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include <linux/if_link.h>
#include <linux/mlx5/driver.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"
#include "ops.h"

/*
 * Number of entries of mlx5_core's table of virtual functions: an entry for each virtual function
 * that the device can have. KUnit suites stub this function.
 */
VISIBLE_IF_KUNIT int mlx5_ib_num_vfs(const struct mlx5_ib_dev *dev)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_num_vfs, dev);
	return mlx5_core_is_pf(dev->mdev) ? pci_sriov_get_totalvfs(dev->mdev->pdev) : 0;
}

static int vf_check(const struct mlx5_ib_dev *dev, int vf)
{
	if (!MLX5_CAP_GEN(dev->mdev, vport_group_manager))
		return refuse(dev->mdev, -EPERM,
			      "this PCI function cannot manage VFs (vport_group_manager)");
	if (vf < 0 || vf >= mlx5_ib_num_vfs(dev))
		return refuse(dev->mdev, -EINVAL,
			      "no VF %d: the device can have %d, numbered from 0", vf,
			      mlx5_ib_num_vfs(dev));
	return 0;
}

static int vf_query(struct mlx5_ib_dev *dev, int vf, void *out)
{
	int err = vf_check(dev, vf);

	return err ?: mlx5_ib_fw_query_vf_vport(dev, vf + 1, out);
}

/* IFLA_VF_LINK_STATE_* of each MLX5_POLICY_*. */
static const u8 vf_link_states[] = {
	[MLX5_POLICY_DOWN] = IFLA_VF_LINK_STATE_DISABLE,
	[MLX5_POLICY_UP] = IFLA_VF_LINK_STATE_ENABLE,
	[MLX5_POLICY_FOLLOW] = IFLA_VF_LINK_STATE_AUTO,
};

/**
 * mlx5_ib_get_vf_config - read the policy of the link state of a virtual function
 * @ibdev: device
 * @vf: number of the function, from 0
 * @port: number of the port
 * @info: gets the policy
 *
 * May sleep.
 *
 * Return: 0; -EPERM on a function that cannot manage VFs; -EINVAL for a VF that does not exist, or
 * if firmware reports an unknown policy; or the errno of a firmware refusal.
 */
int mlx5_ib_get_vf_config(struct ib_device *ibdev, int vf, u32 port, struct ifla_vf_info *info)
{
	u32 out[MLX5_ST_SZ_DW(query_hca_vport_context_out)] = {};
	int err = vf_query(to_mdev(ibdev), vf, out);
	u8 policy;

	if (err)
		return err;
	policy = MLX5_GET(query_hca_vport_context_out, out, hca_vport_context.vport_state_policy);
	if (policy >= ARRAY_SIZE(vf_link_states))
		return refuse(to_mdev(ibdev)->mdev, -EINVAL,
			      "firmware reports vport_state_policy %u of VF %d, not 0 to 2", policy,
			      vf);
	info->linkstate = vf_link_states[policy];
	return 0;
}

/**
 * mlx5_ib_get_vf_guid - read the GUIDs of a virtual function
 * @ibdev: device
 * @vf: number of the function, from 0
 * @port: number of the port
 * @node_guid: gets the GUID of the node
 * @port_guid: gets the GUID of the port
 *
 * May sleep.
 *
 * Return: 0; -EPERM on a function that cannot manage VFs; -EINVAL for a VF that does not
 * exist; or the errno of a firmware refusal.
 */
int mlx5_ib_get_vf_guid(struct ib_device *ibdev, int vf, u32 port, struct ifla_vf_guid *node_guid,
			struct ifla_vf_guid *port_guid)
{
	u32 out[MLX5_ST_SZ_DW(query_hca_vport_context_out)] = {};
	int err = vf_query(to_mdev(ibdev), vf, out);

	if (err)
		return err;
	node_guid->guid = MLX5_GET64(query_hca_vport_context_out, out, hca_vport_context.node_guid);
	port_guid->guid = MLX5_GET64(query_hca_vport_context_out, out, hca_vport_context.port_guid);
	return 0;
}

/*
 * Offsets of counters in the answer to QUERY_VPORT_COUNTER, in bytes: one counter for each kind of
 * packet that a vport has received, then one for each kind that it has sent.
 */
static const u16 vf_received[] = {
	MLX5_BYTE_OFF(query_vport_counter_out, received_ib_unicast),
	MLX5_BYTE_OFF(query_vport_counter_out, received_ib_multicast),
	MLX5_BYTE_OFF(query_vport_counter_out, received_eth_unicast),
	MLX5_BYTE_OFF(query_vport_counter_out, received_eth_multicast),
	MLX5_BYTE_OFF(query_vport_counter_out, received_eth_broadcast),
};

static const u16 vf_transmitted[] = {
	MLX5_BYTE_OFF(query_vport_counter_out, transmitted_ib_unicast),
	MLX5_BYTE_OFF(query_vport_counter_out, transmitted_ib_multicast),
	MLX5_BYTE_OFF(query_vport_counter_out, transmitted_eth_unicast),
	MLX5_BYTE_OFF(query_vport_counter_out, transmitted_eth_multicast),
	MLX5_BYTE_OFF(query_vport_counter_out, transmitted_eth_broadcast),
};

static_assert(ARRAY_SIZE(vf_received) == ARRAY_SIZE(vf_transmitted));

static void vf_count(const void *out, const u16 *offsets, u64 *packets, u64 *octets)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vf_received); i++) {
		*packets += MLX5_GET64(traffic_counter, out + offsets[i], packets);
		*octets += MLX5_GET64(traffic_counter, out + offsets[i], octets);
	}
}

/**
 * mlx5_ib_get_vf_stats - read what a virtual function has sent and received
 * @ibdev: device
 * @vf: number of the function, from 0
 * @port: number of the port
 * @stats: gets the counters; firmware counts no dropped packets
 *
 * May sleep.
 *
 * Return: 0; -EPERM on a function that cannot manage VFs; -EINVAL for a VF that does not
 * exist; -ENOMEM; or the errno of a firmware refusal.
 */
int mlx5_ib_get_vf_stats(struct ib_device *ibdev, int vf, u32 port, struct ifla_vf_stats *stats)
{
	u32 *out __free(kfree) = kzalloc(MLX5_ST_SZ_BYTES(query_vport_counter_out), GFP_KERNEL);
	struct mlx5_ib_dev *dev = to_mdev(ibdev);
	int err = out ? vf_check(dev, vf) : -ENOMEM;

	if (!err)
		err = mlx5_ib_fw_query_vport_counter(dev, vf + 1, out);
	if (err)
		return err;
	*stats = (struct ifla_vf_stats){
		.multicast = MLX5_GET64(query_vport_counter_out, out,
					received_ib_multicast.packets) +
			     MLX5_GET64(query_vport_counter_out, out,
					received_eth_multicast.packets),
		.broadcast = MLX5_GET64(query_vport_counter_out, out,
					received_eth_broadcast.packets),
	};
	vf_count(out, vf_received, &stats->rx_packets, &stats->rx_bytes);
	vf_count(out, vf_transmitted, &stats->tx_packets, &stats->tx_bytes);
	return 0;
}

/* Write a GUID to mlx5_core's table of virtual functions. */
static void vf_keep_guid(struct mlx5_vf_context *kept, u64 guid, int type)
{
	if (type == IFLA_VF_IB_NODE_GUID) {
		kept->node_guid = guid;
		kept->node_guid_valid = 1;
	} else {
		kept->port_guid = guid;
		kept->port_guid_valid = 1;
	}
}

/**
 * mlx5_ib_set_vf_guid - set a GUID of a virtual function
 * @ibdev: device
 * @vf: number of the function, from 0
 * @port: number of the port
 * @guid: the GUID
 * @type: IFLA_VF_IB_NODE_GUID or IFLA_VF_IB_PORT_GUID
 *
 * May sleep.
 *
 * Return: 0; -EPERM on a function that cannot manage VFs; -EINVAL for a VF that does not
 * exist, or another type; or the errno of a firmware refusal.
 */
int mlx5_ib_set_vf_guid(struct ib_device *ibdev, int vf, u32 port, u64 guid, int type)
{
	u32 in[MLX5_ST_SZ_DW(modify_hca_vport_context_in)] = {};
	void *ctx = MLX5_ADDR_OF(modify_hca_vport_context_in, in, hca_vport_context);
	struct mlx5_ib_dev *dev = to_mdev(ibdev);
	int err = vf_check(dev, vf);

	if (err)
		return err;
	if (type == IFLA_VF_IB_NODE_GUID) {
		MLX5_SET(hca_vport_context, ctx, field_select, MLX5_HCA_VPORT_SEL_NODE_GUID);
		MLX5_SET64(hca_vport_context, ctx, node_guid, guid);
	} else if (type == IFLA_VF_IB_PORT_GUID) {
		MLX5_SET(hca_vport_context, ctx, field_select, MLX5_HCA_VPORT_SEL_PORT_GUID);
		MLX5_SET64(hca_vport_context, ctx, port_guid, guid);
	} else {
		return refuse(dev->mdev, -EINVAL, "GUID of type %d for a VF, not IFLA_VF_IB_*_GUID",
			      type);
	}
	err = mlx5_ib_fw_modify_vf_vport(dev, vf + 1, in);
	if (!err)
		vf_keep_guid(&dev->mdev->priv.sriov.vfs_ctx[vf], guid, type);
	return err;
}

/**
 * mlx5_ib_set_vf_link_state - set the policy of the link state of a virtual function
 * @ibdev: device
 * @vf: number of the function, from 0
 * @port: number of the port
 * @state: IFLA_VF_LINK_STATE_*
 *
 * May sleep.
 *
 * Return: 0; -EPERM on a function that cannot manage VFs; -EINVAL for a VF that does not
 * exist, or an unknown @state; or the errno of a firmware refusal.
 */
int mlx5_ib_set_vf_link_state(struct ib_device *ibdev, int vf, u32 port, int state)
{
	u32 in[MLX5_ST_SZ_DW(modify_hca_vport_context_in)] = {};
	void *ctx = MLX5_ADDR_OF(modify_hca_vport_context_in, in, hca_vport_context);
	struct mlx5_ib_dev *dev = to_mdev(ibdev);
	int err = vf_check(dev, vf);
	unsigned int policy;

	if (err)
		return err;
	for (policy = 0; policy < ARRAY_SIZE(vf_link_states); policy++)
		if (vf_link_states[policy] == state)
			break;
	if (policy == ARRAY_SIZE(vf_link_states))
		return refuse(dev->mdev, -EINVAL,
			      "link state %d for a VF, not auto (0), enable (1) or disable (2)",
			      state);
	MLX5_SET(hca_vport_context, ctx, field_select, MLX5_HCA_VPORT_SEL_STATE_POLICY);
	MLX5_SET(hca_vport_context, ctx, vport_state_policy, policy);
	err = mlx5_ib_fw_modify_vf_vport(dev, vf + 1, in);
	if (!err)
		dev->mdev->priv.sriov.vfs_ctx[vf].policy = policy;
	return err;
}
