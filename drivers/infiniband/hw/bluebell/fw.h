/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The firmware interface: one typed function per command, all of them through
 * one choke point that traces, reports and turns a status into an errno.
 */

#ifndef BLUEBELL_FW_H
#define BLUEBELL_FW_H

#include <linux/types.h>

struct ib_port_attr;
struct mlx5_core_cq;
struct mlx5_hca_vport_context;
struct mlx5_ib_dev;
union ib_gid;

/**
 * struct mlx5_fw_special_contexts - keys that the device keeps for all
 * @dump_fill_mkey: key that takes and gives nothing, valid if @has_dump_fill
 * @has_dump_fill: the device has such a key
 */
struct mlx5_fw_special_contexts {
	u32 dump_fill_mkey;
	bool has_dump_fill;
};

/**
 * struct mlx5_fw_ib_port - the physical side of an InfiniBand port
 * @max_mtu: IB_MTU_* the hardware can do
 * @oper_mtu: IB_MTU_* in effect
 * @vl_hw_cap: virtual lanes, as struct ib_port_attr codes them
 * @link_width_oper: IB_WIDTH_*, as the device codes it
 * @proto_oper: speed, as struct ib_port_attr codes it
 */
struct mlx5_fw_ib_port {
	u8 max_mtu;
	u8 oper_mtu;
	u8 vl_hw_cap;
	u16 link_width_oper;
	u16 proto_oper;
};

int mlx5_ib_fw_status_to_errno(u8 status);
const char *mlx5_ib_fw_opcode_name(u16 opcode);
bool mlx5_ib_fw_opcode_destroys(u16 opcode);
int mlx5_ib_fw_exec(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size);

/* Device and port */
int mlx5_fw_query_vendor_id(struct mlx5_ib_dev *dev, u32 *vendor_id);
int mlx5_fw_query_special_contexts(struct mlx5_ib_dev *dev, struct mlx5_fw_special_contexts *sc);
int mlx5_fw_query_hca_vport_context(struct mlx5_ib_dev *dev, u8 port,
				    struct mlx5_hca_vport_context *rep);
int mlx5_fw_query_hca_vport_gid(struct mlx5_ib_dev *dev, u8 port, u16 index, union ib_gid *gid);
int mlx5_fw_query_hca_vport_pkey(struct mlx5_ib_dev *dev, u8 port, u16 index, u16 *pkey);
int mlx5_fw_query_ib_port(struct mlx5_ib_dev *dev, u8 port, struct mlx5_fw_ib_port *rep);
int mlx5_fw_query_node_desc(struct mlx5_ib_dev *dev, char *desc);
int mlx5_fw_set_node_desc(struct mlx5_ib_dev *dev, const char *desc);
int mlx5_fw_modify_vport_caps(struct mlx5_ib_dev *dev, u8 port, u32 mask, u32 value);

/* Context, UAR, protection and transport domain */
int mlx5_fw_alloc_uar(struct mlx5_ib_dev *dev, u32 *uarn);
int mlx5_fw_dealloc_uar(struct mlx5_ib_dev *dev, u32 uarn);
int mlx5_fw_alloc_pd(struct mlx5_ib_dev *dev, u32 *pdn);
int mlx5_fw_dealloc_pd(struct mlx5_ib_dev *dev, u32 pdn);
int mlx5_fw_alloc_transport_domain(struct mlx5_ib_dev *dev, u32 *tdn);
int mlx5_fw_dealloc_transport_domain(struct mlx5_ib_dev *dev, u32 tdn);

/*
 * Queues and keys. @in is a whole create_*_in/modify_*_in with its context
 * filled in; the opcode and the object number are set here.
 */
int mlx5_fw_create_mkey(struct mlx5_ib_dev *dev, void *in, int inlen, u32 *mkey_index);
int mlx5_fw_destroy_mkey(struct mlx5_ib_dev *dev, u32 mkey_index);
int mlx5_fw_create_cq(struct mlx5_ib_dev *dev, struct mlx5_core_cq *mcq, void *in, int inlen);
int mlx5_fw_modify_cq(struct mlx5_ib_dev *dev, u32 cqn, void *in, int inlen);
int mlx5_fw_destroy_cq(struct mlx5_ib_dev *dev, struct mlx5_core_cq *mcq);
int mlx5_fw_create_qp(struct mlx5_ib_dev *dev, void *in, int inlen, u32 *qpn, u32 *ece);
int mlx5_fw_modify_qp(struct mlx5_ib_dev *dev, u16 opcode, u32 qpn, u32 opt_param_mask,
		      const void *qpc, u32 *ece);
int mlx5_fw_query_qp(struct mlx5_ib_dev *dev, u32 qpn, void *out, int outlen);
int mlx5_fw_destroy_qp(struct mlx5_ib_dev *dev, u32 qpn);
int mlx5_fw_attach_mcg(struct mlx5_ib_dev *dev, const union ib_gid *mgid, u32 qpn);
int mlx5_fw_detach_mcg(struct mlx5_ib_dev *dev, const union ib_gid *mgid, u32 qpn);

#endif /* BLUEBELL_FW_H */
