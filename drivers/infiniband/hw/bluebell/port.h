/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The port of the device and how it is accessed; attributes of the device.
 */

#ifndef BLUEBELL_PORT_H
#define BLUEBELL_PORT_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

struct mlx5_ib_dev;
struct mlx5_ib_port;

/**
 * struct mlx5_ib_port_ops - how a kind of port is accessed
 * @link_layer: what is below the transport
 * @query: attributes of the port; they are zeroed before
 * @modify: change capabilities that the port announces: those of @select to what they are in @caps
 * @query_gid: entry of the GID table, which is long enough
 * @query_pkey: entry of the P_Key table, which is long enough
 * @read_constants: read what never changes about the port and the node that it is
 *	part of
 */
struct mlx5_ib_port_ops {
	enum rdma_link_layer link_layer;
	int (*query)(struct mlx5_ib_port *port, struct ib_port_attr *props);
	int (*modify)(struct mlx5_ib_port *port, u32 caps, u32 select);
	int (*query_gid)(struct mlx5_ib_port *port, int index, union ib_gid *gid);
	int (*query_pkey)(struct mlx5_ib_port *port, u16 index, u16 *pkey);
	int (*read_constants)(struct mlx5_ib_port *port);
};

extern const struct attribute_group mlx5_ib_attr_group;
extern const struct uapi_definition mlx5_ib_port_defs[];
int mlx5_ib_query_device(struct ib_device *ibdev, struct ib_device_attr *props,
			 struct ib_udata *uhw);
int mlx5_ib_modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *props);
int mlx5_ib_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *props);
int mlx5_ib_modify_port(struct ib_device *ibdev, u32 port, int mask,
			struct ib_port_modify *props);
int mlx5_ib_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid);
int mlx5_ib_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int mlx5_ib_port_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *immutable);
enum rdma_link_layer mlx5_ib_port_link_layer(struct ib_device *ibdev, u32 port);
void mlx5_ib_get_dev_fw_str(struct ib_device *ibdev, char *str);

int mlx5_ib_init_port_events(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_port_events(struct mlx5_ib_dev *dev);
int mlx5_ib_init_device_attr(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_PORT_H */
