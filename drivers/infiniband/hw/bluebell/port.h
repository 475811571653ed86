/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The port of the device and how it is accessed.
 */

#ifndef BLUEBELL_PORT_H
#define BLUEBELL_PORT_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

struct mlx5_core_dev;
struct mlx5_ib_dev;
struct mlx5_ib_port;
struct notifier_block;

/**
 * struct mlx5_ib_port_ops - how a kind of port is accessed
 * @link_layer: link layer of the port
 * @dev_ops: operations that only a device with such a port has, besides those in ops.c
 * @why_not: returns the reason why the driver does not support a device with such a port; NULL if
 *	the driver supports it. May be NULL: the driver supports all devices with such a port
 * @query: reads the attributes of the port into @props, which is zeroed
 * @modify: changes the capabilities that the port announces: copies the bits in @select from @caps
 * @query_pkey: reads an entry of the P_Key table; @index is less than the length of the table
 * @read_constants: reads what never changes about the port and its node
 * @changed: handles an event of the device: the port has changed, and @change, one of
 *	MLX5_PORT_CHANGE_SUBTYPE_*, says how. Returns the event of verbs, or 0 if verbs have no such
 *	event, or if the RDMA core itself reports the change. Called in interrupt context
 */
struct mlx5_ib_port_ops {
	enum rdma_link_layer link_layer;
	const struct ib_device_ops *dev_ops;
	const char *(*why_not)(struct mlx5_core_dev *mdev);
	int (*query)(struct mlx5_ib_port *port, struct ib_port_attr *props);
	int (*modify)(struct mlx5_ib_port *port, u32 caps, u32 select);
	int (*query_pkey)(struct mlx5_ib_port *port, u16 index, u16 *pkey);
	int (*read_constants)(struct mlx5_ib_port *port);
	enum ib_event_type (*changed)(struct mlx5_ib_port *port, u8 change);
};

extern const struct mlx5_ib_port_ops mlx5_ib_hca_vport_ops;
extern const struct mlx5_ib_port_ops mlx5_ib_nic_vport_ops;
extern const struct uapi_definition mlx5_ib_port_defs[];

const char *mlx5_ib_port_why_not(struct mlx5_core_dev *mdev);
int mlx5_ib_init_port(struct mlx5_ib_dev *dev);
int mlx5_ib_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *props);
int mlx5_ib_query_port_speed(struct ib_device *ibdev, u32 port, u64 *speed);
int mlx5_ib_modify_port(struct ib_device *ibdev, u32 port, int mask,
			struct ib_port_modify *props);
int mlx5_ib_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int mlx5_ib_port_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *immutable);
enum rdma_link_layer mlx5_ib_port_link_layer(struct ib_device *ibdev, u32 port);

int mlx5_ib_init_port_events(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_port_events(struct mlx5_ib_dev *dev);

/* roce.c */
int mlx5_ib_add_gid(const struct ib_gid_attr *attr, void **context);
int mlx5_ib_del_gid(const struct ib_gid_attr *attr, void **context);
int mlx5_ib_init_roce(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_roce(struct mlx5_ib_dev *dev);
int mlx5_ib_init_netdev(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_netdev(struct mlx5_ib_dev *dev);
int mlx5_ib_init_netdev_changes(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_netdev_changes(struct mlx5_ib_dev *dev);

/* port_ib.c */
int mlx5_ib_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid);

#if IS_ENABLED(CONFIG_KUNIT)
void mlx5_ib_port_rely_on_events(struct mlx5_ib_dev *dev);
int mlx5_ib_netdev_notify(struct notifier_block *nb, unsigned long type, void *data);
void mlx5_ib_netdev_watch(struct mlx5_ib_dev *dev, bool on);
int mlx5_ib_port_notify(struct notifier_block *nb, unsigned long type, void *data);
#endif

#endif /* BLUEBELL_PORT_H */
