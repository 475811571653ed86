// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands of an Ethernet port: the NIC vport of this PCI function, and its RoCE addresses.
 */

#include <kunit/static_stub.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/vport.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_path.h"

/**
 * mlx5_ib_fw_query_nic_vport - QUERY_NIC_VPORT_CONTEXT of this PCI function
 * @dev: device
 * @out: struct mlx5_ifc_query_nic_vport_context_out_bits without addresses, zeroed
 *
 * Does not use the functions of mlx5_core, because each of them sends a command for one field. May
 * sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_query_nic_vport(struct mlx5_ib_dev *dev, void *out)
{
	u32 in[MLX5_ST_SZ_DW(query_nic_vport_context_in)] = {};

	MLX5_SET(query_nic_vport_context_in, in, opcode, MLX5_CMD_OP_QUERY_NIC_VPORT_CONTEXT);
	return mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out,
			       MLX5_ST_SZ_BYTES(query_nic_vport_context_out));
}

static int fw_core_switch_roce(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
			       int out_size, void *arg)
{
	const bool *on = arg;

	return *on ? mlx5_nic_vport_enable_roce(dev->mdev) :
		     mlx5_nic_vport_disable_roce(dev->mdev);
}

/**
 * mlx5_ib_fw_switch_roce - MODIFY_NIC_VPORT_CONTEXT: start or stop RoCE on this PCI function
 * @dev: device
 * @on: the device takes RoCE packets for the transport. Otherwise RoCE packets are packets of the
 *	network device
 *
 * mlx5_core counts its users of RoCE, and sends the command for the first and after the last user.
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_switch_roce(struct mlx5_ib_dev *dev, bool on)
{
	return mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_MODIFY_NIC_VPORT_CONTEXT, fw_core_switch_roce,
				    &on);
}

static int fw_core_switch_loopback(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				   int out_size, void *arg)
{
	const bool *on = arg;

	return mlx5_nic_vport_update_local_lb(dev->mdev, *on);
}

/**
 * mlx5_ib_fw_switch_loopback - MODIFY_NIC_VPORT_CONTEXT: let the vport receive what it sends
 * @dev: device, whose loopback can be switched
 * @on: packets to the addresses and to the groups of this PCI function come back to it
 *
 * May sleep. KUnit suites stub this function to see @on.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_switch_loopback(struct mlx5_ib_dev *dev, bool on)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_switch_loopback, dev, on);
	return mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_MODIFY_NIC_VPORT_CONTEXT,
				    fw_core_switch_loopback, &on);
}

/* Arguments of mlx5_ib_fw_set_roce_address(). */
struct fw_roce_address {
	u8 port;
	u16 index;
	const struct mlx5_ib_roce_address *address;
};

static int fw_core_set_roce_address(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				    int out_size, void *arg)
{
	const struct fw_roce_address *set = arg;
	const struct mlx5_ib_roce_address *address = set->address;

	if (!address)
		return mlx5_core_roce_gid_set(dev->mdev, set->index, 0, 0, NULL, NULL, false, 0,
					      set->port);
	return mlx5_core_roce_gid_set(dev->mdev, set->index, address->version, address->l3_type,
				      address->gid.raw, address->mac, address->has_vlan,
				      address->vlan, set->port);
}

/**
 * mlx5_ib_fw_set_roce_address - SET_ROCE_ADDRESS: set or clear an entry of the GID table
 * @dev: device
 * @port: number of the port, from 1
 * @index: index of the entry, from 0
 * @address: the address; NULL clears the entry
 *
 * May sleep. KUnit suites stub this function to see the address.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_set_roce_address(struct mlx5_ib_dev *dev, u8 port, u16 index,
				const struct mlx5_ib_roce_address *address)
{
	struct fw_roce_address set = { .port = port, .index = index, .address = address };

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_set_roce_address, dev, port, index, address);
	return mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_SET_ROCE_ADDRESS, fw_core_set_roce_address,
				    &set);
}
