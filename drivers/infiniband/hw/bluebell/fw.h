/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The firmware interface: one typed function per command, all of them through
 * one choke point that traces, reports and turns a status into an errno.
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
 * struct mlx5_fw_special_contexts - keys that the device keeps for all
 * @dump_fill_mkey: key that takes and gives nothing, valid if @has_dump_fill
 * @has_dump_fill: the device has such a key
 * @null_mkey: key that leads nowhere, valid if the device has one
 */
struct mlx5_fw_special_contexts {
	u32 dump_fill_mkey;
	bool has_dump_fill;
	u32 null_mkey;
};

/**
 * struct mlx5_fw_ib_port - the physical side of an InfiniBand port
 * @max_mtu: what the hardware can do, in bytes
 * @oper_mtu: what is in effect, in bytes
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

int mlx5_ib_fw_status_to_errno(u8 status);
const char *mlx5_ib_fw_opcode_name(u16 opcode);
bool mlx5_ib_fw_opcode_destroys(u16 opcode);

/*
 * How mlx5_core sends a command that it wants to send itself. Returns what
 * mlx5_cmd_do() would: -EREMOTEIO if a status is in @out.
 */
typedef int (*mlx5_ib_fw_send_t)(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				 int out_size, void *arg);

int mlx5_ib_fw_exec_via(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			int out_size, mlx5_ib_fw_send_t send, void *arg);
int mlx5_ib_fw_exec(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		    int out_size);

/* Device and port */
int mlx5_fw_query_vendor_id(struct mlx5_ib_dev *dev, u32 *vendor_id);
int mlx5_fw_query_special_contexts(struct mlx5_ib_dev *dev, struct mlx5_fw_special_contexts *sc);
int mlx5_fw_query_hca_vport_context(struct mlx5_ib_dev *dev, struct mlx5_hca_vport_context *rep);
int mlx5_fw_query_hca_vport_gid(struct mlx5_ib_dev *dev, u16 index, union ib_gid *gid);
int mlx5_fw_query_hca_vport_pkey(struct mlx5_ib_dev *dev, u16 index, u16 *pkey);
int mlx5_fw_query_ib_port(struct mlx5_ib_dev *dev, u8 port, struct mlx5_fw_ib_port *rep);
int mlx5_fw_query_node_desc(struct mlx5_ib_dev *dev, char *desc);
int mlx5_fw_set_node_desc(struct mlx5_ib_dev *dev, const char *desc);

/* Context, UAR, protection and transport domain */
int mlx5_fw_alloc_uar(struct mlx5_ib_dev *dev, u16 uid, u32 *uarn);
int mlx5_fw_dealloc_uar(struct mlx5_ib_dev *dev, u16 uid, u32 uarn);
int mlx5_fw_alloc_pd(struct mlx5_ib_dev *dev, u16 uid, u32 *pdn);
int mlx5_fw_dealloc_pd(struct mlx5_ib_dev *dev, u16 uid, u32 pdn);
int mlx5_fw_alloc_transport_domain(struct mlx5_ib_dev *dev, u16 uid, u32 *tdn);
int mlx5_fw_dealloc_transport_domain(struct mlx5_ib_dev *dev, u16 uid, u32 tdn);

#endif /* BLUEBELL_FW_H */
