// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The port of the device, its attributes and events. The parts that depend on the link layer are in
 * port_ib.c and port_eth.c.
 */

#include <kunit/visibility.h>
#include <linux/mlx5/driver.h>
#include <rdma/ib_mad.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"
#include "port.h"

/* The operations of the device's port; NULL for a kind that the driver does not support. */
static const struct mlx5_ib_port_ops *port_find_ops(struct mlx5_core_dev *mdev)
{
	switch (MLX5_CAP_GEN(mdev, port_type)) {
	case MLX5_CAP_PORT_TYPE_IB:
		return &mlx5_ib_hca_vport_ops;
	case MLX5_CAP_PORT_TYPE_ETH:
		return &mlx5_ib_nic_vport_ops;
	default:
		return NULL;
	}
}

/**
 * mlx5_ib_port_why_not - find out why the driver does not support the port of a device
 * @mdev: the device
 *
 * Return: the reason, or NULL if the driver supports the port.
 */
const char *mlx5_ib_port_why_not(struct mlx5_core_dev *mdev)
{
	const struct mlx5_ib_port_ops *ops = port_find_ops(mdev);

	if (!ops)
		return "its port is neither InfiniBand nor Ethernet";
	return ops->why_not ? ops->why_not(mdev) : NULL;
}

/**
 * mlx5_ib_init_port - set up the port, and read what never changes about it
 * @dev: device whose port the driver supports, not registered yet
 *
 * May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_init_port(struct mlx5_ib_dev *dev)
{
	dev->port.dev = dev;
	dev->port.num = 1;
	spin_lock_init(&dev->port.link_lock);
	dev->port.ops = port_find_ops(dev->mdev);
	ib_set_device_ops(&dev->ib_dev, dev->port.ops->dev_ops);
	return dev->port.ops->read_constants(&dev->port);
}

/* Find a port by its number. ib_core has checked the number: there is only one port. */
static struct mlx5_ib_port *to_mport(struct ib_device *ibdev, u32 num)
{
	return &to_mdev(ibdev)->port;
}

/**
 * mlx5_ib_query_port - read the attributes of a port
 * @ibdev: device
 * @num: number of the port
 * @props: gets the attributes; zeroed by ib_core
 *
 * Implements ibv_query_port(3) with QUERY_HCA_VPORT_CONTEXT and the register PMTU. The driver keeps
 * what the registers PTYS and PVLC say about the link, and the prefix of the first GID, until an
 * event of the port, or until the state of the port has changed. The driver keeps nothing before it
 * receives events, nor on a virtual function or a subfunction, which may get no events. May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_query_port(struct ib_device *ibdev, u32 num, struct ib_port_attr *props)
{
	struct mlx5_ib_port *port = to_mport(ibdev, num);
	const struct mlx5_ib_caps *caps = &port->dev->caps;

	props->gid_tbl_len = caps->gid_table_len;
	props->pkey_tbl_len = caps->pkey_table_len;
	props->max_msg_sz = 1U << MLX5_CAP_GEN(caps->mdev, log_max_msg);
	return port->ops->query(port, props);
}

/**
 * mlx5_ib_query_port_speed - find the highest speed of the traffic of this PCI function
 * @ibdev: device
 * @num: number of the port
 * @speed: gets the speed, in units of 100 Mb/s
 *
 * Implements ibv_query_port_speed(3): the speed of the link, or the limit of the vport, which
 * QUERY_VPORT_STATE reports, if the limit is lower. May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_query_port_speed(struct ib_device *ibdev, u32 num, u64 *speed)
{
	struct ib_port_attr props = {};
	struct ib_port_speed_info link;
	u64 limit;
	int err;

	err = mlx5_ib_query_port(ibdev, num, &props);
	if (!err)
		err = ib_port_attr_to_speed_info(&props, &link);
	if (!err)
		err = mlx5_ib_fw_query_vport_speed(to_mdev(ibdev), &limit);
	if (!err)
		*speed = min_not_zero((u64)link.rate, limit);
	return err;
}

/**
 * mlx5_ib_modify_port - change the capabilities that a port announces
 * @ibdev: device
 * @num: number of the port
 * @mask: enum ib_port_modify_flags: must be 0
 * @props: capabilities to set and to clear
 *
 * Implements ib_modify_port(), by which kernel consumers announce, for example, that a connection
 * manager or a subnet manager runs at the port. Sends MODIFY_HCA_VPORT_CONTEXT. May sleep.
 *
 * Return: 0; -EOPNOTSUPP if @mask is not 0; -EINVAL for a capability that consumers cannot change;
 * or the errno of a firmware refusal.
 */
int mlx5_ib_modify_port(struct ib_device *ibdev, u32 num, int mask, struct ib_port_modify *props)
{
	struct mlx5_ib_port *port = to_mport(ibdev, num);
	u32 select = props->set_port_cap_mask | props->clr_port_cap_mask;

	if (mask)
		return refuse(to_mdev(ibdev)->mdev, -EOPNOTSUPP,
			      "change of a port with port_modify_mask %#x, must be 0: only capabilities can change",
			      mask);
	return select ? port->ops->modify(port, props->set_port_cap_mask, select) : 0;
}

/**
 * mlx5_ib_query_pkey - read an entry of the P_Key table
 * @ibdev: device
 * @num: number of the port
 * @index: index of the entry; ib_core and its users ask for entries of the table only
 * @pkey: gets the entry
 *
 * May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_query_pkey(struct ib_device *ibdev, u32 num, u16 index, u16 *pkey)
{
	struct mlx5_ib_port *port = to_mport(ibdev, num);

	return port->ops->query_pkey(port, index, pkey);
}

/**
 * mlx5_ib_port_immutable - read what never changes about a port
 * @ibdev: device
 * @num: number of the port
 * @immutable: gets the sizes of the tables and the capabilities
 *
 * Return: 0.
 */
int mlx5_ib_port_immutable(struct ib_device *ibdev, u32 num, struct ib_port_immutable *immutable)
{
	struct mlx5_ib_port *port = to_mport(ibdev, num);

	immutable->gid_tbl_len = port->dev->caps.gid_table_len;
	immutable->pkey_tbl_len = port->dev->caps.pkey_table_len;
	immutable->core_cap_flags = port->core_cap_flags;
	/* The RDMA core insists on 0 for a port without MADs. */
	immutable->max_mad_size = port->core_cap_flags & RDMA_CORE_CAP_IB_MAD ? IB_MGMT_MAD_SIZE :
										0;
	return 0;
}

/**
 * mlx5_ib_port_link_layer - find the link layer of a port
 * @ibdev: device
 * @num: number of the port
 *
 * Return: the link layer.
 */
enum rdma_link_layer mlx5_ib_port_link_layer(struct ib_device *ibdev, u32 num)
{
	return to_mport(ibdev, num)->ops->link_layer;
}

/*
 * Answer with zeros: all members of the answer are about an e-switch with representors, and the
 * driver does not bind to a PCI function that has representors.
 */
static int UVERBS_HANDLER(MLX5_IB_METHOD_QUERY_PORT)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct mlx5_ib_uapi_query_port info = {};
	u32 num;
	int err;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uverbs_copy_from(&num, attrs, MLX5_IB_ATTR_QUERY_PORT_PORT_NUM);
	if (err)
		return err;
	if (!rdma_is_port_valid(uctx->device, num))
		return refuse(to_mdev(uctx->device)->mdev, -EINVAL,
			      "port query: the device has no port %u", num);
	return uverbs_copy_to_struct_or_zero(attrs, MLX5_IB_ATTR_QUERY_PORT, &info, sizeof(info));
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_QUERY_PORT,
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_QUERY_PORT_PORT_NUM,
					       UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_PORT,
						UVERBS_ATTR_STRUCT(struct mlx5_ib_uapi_query_port,
								   reg_c0),
						UA_MANDATORY));

ADD_UVERBS_METHODS(mlx5_ib_port_methods, UVERBS_OBJECT_DEVICE,
		   &UVERBS_METHOD(MLX5_IB_METHOD_QUERY_PORT));

const struct uapi_definition mlx5_ib_port_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &mlx5_ib_port_methods),
	{},
};

/* ---- events ----------------------------------------------------------------- */

/*
 * Report a change of the port or a failure of the device to consumers. Called in the interrupt of
 * the asynchronous event queue; for a failure of the device, in process context.
 */
VISIBLE_IF_KUNIT int mlx5_ib_port_notify(struct notifier_block *nb, unsigned long type, void *data)
{
	struct mlx5_ib_port *port = container_of(nb, struct mlx5_ib_port, events);
	struct ib_event event = { .device = &port->dev->ib_dev };
	const struct mlx5_eqe *eqe = data;

	switch (type) {
	case MLX5_DEV_EVENT_SYS_ERROR:
		event.event = IB_EVENT_DEVICE_FATAL;
		event.element.port_num = port->num;
		break;
	case MLX5_EVENT_TYPE_PORT_CHANGE:
		event.event = port->ops->changed(port, eqe->sub_type);
		event.element.port_num = (eqe->data.port.port >> 4) & 0xf;
		if (!event.event || event.element.port_num != port->num)
			return NOTIFY_DONE;
		break;
	default:
		return NOTIFY_DONE;
	}
	ib_dispatch_event(&event);
	return NOTIFY_OK;
}

/*
 * Have queries keep what they have read of the link only on a physical function: the port of a
 * virtual function or a subfunction can be set to stay up whatever happens to the link, and then
 * gets no event. A query in progress may have missed an event that came before the notifier was
 * registered. So count one event: this query then keeps nothing.
 */
VISIBLE_IF_KUNIT void mlx5_ib_port_rely_on_events(struct mlx5_ib_dev *dev)
{
	guard(spinlock_irqsave)(&dev->port.link_lock);
	dev->port.told = mlx5_core_is_pf(dev->mdev);
	WRITE_ONCE(dev->port.num_events, dev->port.num_events + 1);
}

/**
 * mlx5_ib_init_port_events - start reporting events of the port and the device to consumers
 * @dev: device, registered with the RDMA core
 *
 * Return: 0.
 */
int mlx5_ib_init_port_events(struct mlx5_ib_dev *dev)
{
	dev->port.events.notifier_call = mlx5_ib_port_notify;
	mlx5_notifier_register(dev->mdev, &dev->port.events);
	mlx5_ib_port_rely_on_events(dev);
	return 0;
}

/**
 * mlx5_ib_cleanup_port_events - stop reporting events of the port and the device to consumers
 * @dev: device, still registered with the RDMA core
 */
void mlx5_ib_cleanup_port_events(struct mlx5_ib_dev *dev)
{
	scoped_guard(spinlock_irqsave, &dev->port.link_lock) {
		dev->port.told = false;
		dev->port.link.valid = false;
	}
	mlx5_notifier_unregister(dev->mdev, &dev->port.events);
}
