/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The firmware interface: the choke point that every command passes through, and
 * the commands on the device and its port.
 */

#ifndef BLUEBELL_FW_H
#define BLUEBELL_FW_H

#include <linux/types.h>

#include "fw_verbs.h"

struct mlx5_hca_vport_context;
struct mlx5_ib_dev;
union ib_gid;

/* uid of the commands that the driver sends for itself: firmware checks no owner. */
#define MLX5_IB_KERNEL_UID	0

/**
 * struct mlx5_fw_special_contexts - memory keys that the device provides
 * @dump_fill_mkey: key that discards writes, valid if the device has one
 * @null_mkey: key without memory, valid if the device has one
 */
struct mlx5_fw_special_contexts {
	u32 dump_fill_mkey;
	u32 null_mkey;
};

/**
 * struct mlx5_fw_ib_port - the physical side of an InfiniBand port
 * @max_mtu: largest MTU of the hardware, in bytes
 * @oper_mtu: MTU in effect, in bytes
 * @vl_hw_cap: number of virtual lanes
 * @link_width_oper: MLX5_PTYS_WIDTH_*
 * @proto_oper: enum ib_port_speed
 */
struct mlx5_fw_ib_port {
	u16 max_mtu;
	u16 oper_mtu;
	u8 vl_hw_cap;
	u16 link_width_oper;
	u16 proto_oper;
};

/*
 * Sends a command, or has mlx5_core send it; returns 0 or the errno for the caller.
 * See mlx5_ib_fw_exec_via().
 */
typedef int (*mlx5_ib_fw_send_t)(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				 int out_size, void *arg);

int mlx5_ib_fw_exec_via(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			int out_size, mlx5_ib_fw_send_t send, void *arg);
int mlx5_ib_fw_exec(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		    int out_size);
int mlx5_ib_fw_call_core(struct mlx5_ib_dev *dev, u16 opcode, mlx5_ib_fw_send_t send, void *arg);

int mlx5_fw_query_vendor_id(struct mlx5_ib_dev *dev, u32 *vendor_id);
int mlx5_fw_query_special_contexts(struct mlx5_ib_dev *dev, struct mlx5_fw_special_contexts *sc);
int mlx5_fw_query_hca_vport_context(struct mlx5_ib_dev *dev, u8 port,
				    struct mlx5_hca_vport_context *rep);
int mlx5_fw_query_hca_vport_gid(struct mlx5_ib_dev *dev, u8 port, u16 index, union ib_gid *gid);
int mlx5_fw_query_hca_vport_pkey(struct mlx5_ib_dev *dev, u8 port, u16 index, u16 *pkey);
int mlx5_fw_query_ib_port(struct mlx5_ib_dev *dev, u8 port, struct mlx5_fw_ib_port *rep);
int mlx5_fw_query_node_desc(struct mlx5_ib_dev *dev, char *desc);
int mlx5_fw_set_node_desc(struct mlx5_ib_dev *dev, const char *desc);

#endif /* BLUEBELL_FW_H */
