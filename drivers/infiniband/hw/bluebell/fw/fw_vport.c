// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands about vports: the counters and the speed of the vport of this PCI function, and the
 * counters and contexts of the vports of the virtual functions that it manages.
 */

#include <linux/mlx5/driver.h>

#include "fw/bluebell.h"
#include "fw/fw.h"

/**
 * mlx5_ib_fw_query_vport_counter - QUERY_VPORT_COUNTER
 * @dev: device
 * @vport: number of the vport of a virtual function, from 1; 0 for the vport of this PCI function
 * @out: struct mlx5_ifc_query_vport_counter_out_bits, zeroed
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_query_vport_counter(struct mlx5_ib_dev *dev, u16 vport, void *out)
{
	u32 in[MLX5_ST_SZ_DW(query_vport_counter_in)] = {};

	MLX5_SET(query_vport_counter_in, in, opcode, MLX5_CMD_OP_QUERY_VPORT_COUNTER);
	MLX5_SET(query_vport_counter_in, in, other_vport, !!vport);
	MLX5_SET(query_vport_counter_in, in, vport_number, vport);
	return mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out,
			       MLX5_ST_SZ_BYTES(query_vport_counter_out));
}

/**
 * mlx5_ib_fw_query_vport_speed - QUERY_VPORT_STATE: query the speed to which firmware limits the
 *	vport of this PCI function
 * @dev: device
 * @speed: gets the limit, in units of 100 Mb/s; 0 if firmware does not limit the vport
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_query_vport_speed(struct mlx5_ib_dev *dev, u64 *speed)
{
	u32 out[MLX5_ST_SZ_DW(query_vport_state_out)] = {};
	u32 in[MLX5_ST_SZ_DW(query_vport_state_in)] = {};
	int err;

	MLX5_SET(query_vport_state_in, in, opcode, MLX5_CMD_OP_QUERY_VPORT_STATE);
	err = mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out, sizeof(out));
	*speed = MLX5_GET(query_vport_state_out, out, max_tx_speed);
	return err;
}

/**
 * mlx5_ib_fw_query_vf_vport - QUERY_HCA_VPORT_CONTEXT of a virtual function
 * @dev: device
 * @vport: number of the vport, from 1
 * @out: struct mlx5_ifc_query_hca_vport_context_out_bits, zeroed
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_query_vf_vport(struct mlx5_ib_dev *dev, u16 vport, void *out)
{
	u32 in[MLX5_ST_SZ_DW(query_hca_vport_context_in)] = {};

	MLX5_SET(query_hca_vport_context_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT);
	MLX5_SET(query_hca_vport_context_in, in, other_vport, 1);
	MLX5_SET(query_hca_vport_context_in, in, vport_number, vport);
	return mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out,
			       MLX5_ST_SZ_BYTES(query_hca_vport_context_out));
}

/**
 * mlx5_ib_fw_modify_vf_vport - MODIFY_HCA_VPORT_CONTEXT of a virtual function
 * @dev: device
 * @vport: number of the vport, from 1
 * @in: struct mlx5_ifc_modify_hca_vport_context_in_bits: the fields to set, and in field_select the
 *	mask of these fields
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_modify_vf_vport(struct mlx5_ib_dev *dev, u16 vport, void *in)
{
	u32 out[MLX5_ST_SZ_DW(modify_hca_vport_context_out)] = {};

	MLX5_SET(modify_hca_vport_context_in, in, opcode, MLX5_CMD_OP_MODIFY_HCA_VPORT_CONTEXT);
	MLX5_SET(modify_hca_vport_context_in, in, other_vport, 1);
	MLX5_SET(modify_hca_vport_context_in, in, vport_number, vport);
	return mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in,
			       MLX5_ST_SZ_BYTES(modify_hca_vport_context_in), out, sizeof(out));
}
