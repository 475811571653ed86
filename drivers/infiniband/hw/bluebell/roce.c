// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCE: the network device of an Ethernet port, and the addresses that the port has from it.
 */

/**
 * DOC: The network device of an Ethernet port
 *
 * The RDMA core owns the GID table of the port: for each address of the network device, and of
 * VLANs on the network device, the table has an entry for each version of RoCE. The RDMA core calls
 * the driver for each entry that it fills or empties, and the driver sends SET_ROCE_ADDRESS. So
 * VLANs, changes of addresses, and a move of the network device to another network namespace need
 * nothing of the driver.
 *
 * The driver says which network device the port has. mlx5_core tells the driver: the Ethernet
 * driver of the device may be bound later than this driver, and may be unbound while this driver is
 * bound. Each time, mlx5_core calls the notifier of the driver with a mutex of mlx5_core held. The
 * notifier associates the port with the network device, or ends the association: when the notifier
 * returns, the Ethernet driver may unregister the network device. The rest is done by a work item,
 * because it takes the RTNL: the RDMA core learns the addresses of a network device that it has
 * seen registered before, and a port that has lost its network device is reported to be down.
 */

#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include <linux/mlx5/driver.h>
#include <linux/netdevice.h>
#include <rdma/ib_cache.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_path.h"
#include "port.h"

/* ---- addresses --------------------------------------------------------------------------- */

/**
 * mlx5_ib_add_gid - give the device an entry of the GID table
 * @attr: the entry; ib_core has chosen its index, and the device has no entry there
 * @context: not used
 *
 * Called with the mutex of the table held. ib_core logs a failure. May sleep.
 *
 * Return: 0; -ENODEV if the network device of the address is gone; or the errno of a failed
 * command.
 */
int mlx5_ib_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct mlx5_ib_roce_address address;
	u8 mac[ETH_ALEN];
	u16 vlan;
	int err;

	err = rdma_read_gid_l2_fields(attr, &vlan, mac);
	if (err)
		return err;
	mlx5_ib_fill_roce_address(&address, attr, mac, vlan);
	return mlx5_ib_fw_set_roce_address(to_mdev(attr->device), attr->port_num, attr->index,
					   &address);
}

/**
 * mlx5_ib_del_gid - clear an entry of the device's GID table
 * @attr: the entry
 * @context: not used
 *
 * ib_core uses the index again when nothing refers to the entry any more. Until then the device
 * refuses packets from and to the address. Called with the mutex of the table held. May sleep.
 *
 * Return: 0 or the errno of a failed command, which ib_core ignores.
 */
int mlx5_ib_del_gid(const struct ib_gid_attr *attr, void **context)
{
	return mlx5_ib_fw_set_roce_address(to_mdev(attr->device), attr->port_num, attr->index,
					   NULL);
}

/**
 * mlx5_ib_init_roce - start RoCE on the port
 * @dev: device, not registered yet: to register it adds addresses
 *
 * May sleep.
 *
 * Return: 0, also for a port without RoCE; or the errno of a failed command.
 */
int mlx5_ib_init_roce(struct mlx5_ib_dev *dev)
{
	return dev->caps.roce_versions ? mlx5_ib_fw_switch_roce(dev, true) : 0;
}

/**
 * mlx5_ib_cleanup_roce - stop RoCE on the port
 * @dev: device, not registered any more, and without addresses
 *
 * May sleep.
 */
void mlx5_ib_cleanup_roce(struct mlx5_ib_dev *dev)
{
	if (dev->caps.roce_versions)
		mlx5_ib_fw_switch_roce(dev, false);
}

/* ---- the network device ------------------------------------------------------------------- */

/*
 * If the port was up when its network device went, report that the port is down: the RDMA core
 * reports changes of the state only while the network device is associated with the port.
 */
static void netdev_report_loss(struct mlx5_ib_port *port)
{
	struct ib_event event = {
		.device = &port->dev->ib_dev,
		.event = IB_EVENT_PORT_ERR,
		.element.port_num = port->num,
	};
	enum ib_port_state state;

	if (!ib_get_cached_port_state(event.device, port->num, &state) && state == IB_PORT_ACTIVE)
		ib_dispatch_event(&event);
}

/*
 * Adapt the RDMA core to the network device that the port has now. Before the network device was
 * associated with the port, the RDMA core ignored its addresses and its state. To add the addresses
 * takes the RTNL, which must not be taken in mlx5_ib_netdev_notify().
 */
static void netdev_changed_work(struct work_struct *work)
{
	struct mlx5_ib_port *port = container_of(work, struct mlx5_ib_port, netdev_changed);
	unsigned int num_netdevs = READ_ONCE(port->num_netdevs);
	struct ib_device *ibdev = &port->dev->ib_dev;
	struct net_device *netdev;

	if (num_netdevs == port->num_handled)
		return;
	port->num_handled = num_netdevs;
	netdev = ib_device_get_netdev(ibdev, port->num);
	if (!netdev) {
		netdev_report_loss(port);
		return;
	}
	rdma_roce_rescan_port(ibdev, port->num);
	ib_dispatch_port_state_event(ibdev, netdev);
	dev_put(netdev);
}

/*
 * The port has another network device, @data, or NULL for none. Called with a mutex of mlx5_core
 * held. When this returns, the Ethernet driver may unregister the network device that the port had,
 * so no reference to it may be left.
 */
VISIBLE_IF_KUNIT int mlx5_ib_netdev_notify(struct notifier_block *nb, unsigned long type,
					   void *data)
{
	struct mlx5_ib_port *port = container_of(nb, struct mlx5_ib_port, netdev_events);

	if (type != MLX5_DRIVER_EVENT_UPLINK_NETDEV)
		return NOTIFY_DONE;
	if (ib_device_set_netdev(&port->dev->ib_dev, data, port->num))
		return NOTIFY_DONE;
	WRITE_ONCE(port->num_netdevs, port->num_netdevs + 1);
	queue_work(system_dfl_wq, &port->netdev_changed);
	return NOTIFY_OK;
}

/*
 * Start or stop receiving changes of the network device. mlx5_core repeats the newest change. KUnit
 * suites, whose devices have no events, stub this function.
 */
VISIBLE_IF_KUNIT void mlx5_ib_netdev_watch(struct mlx5_ib_dev *dev, bool on)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_netdev_watch, dev, on);
	if (!on) {
		mlx5_blocking_notifier_unregister(dev->mdev, &dev->port.netdev_events);
		return;
	}
	mlx5_blocking_notifier_register(dev->mdev, &dev->port.netdev_events);
	mlx5_core_uplink_netdev_event_replay(dev->mdev);
}

/**
 * mlx5_ib_init_netdev - associate an Ethernet port with its network device
 * @dev: device, not registered yet: if the port has a network device already, ib_core adds the
 *	addresses while it registers the device
 *
 * May sleep.
 *
 * Return: 0.
 */
int mlx5_ib_init_netdev(struct mlx5_ib_dev *dev)
{
	if (!dev->caps.ethernet)
		return 0;
	INIT_WORK(&dev->port.netdev_changed, netdev_changed_work);
	disable_work(&dev->port.netdev_changed);
	dev->port.netdev_events.notifier_call = mlx5_ib_netdev_notify;
	mlx5_ib_netdev_watch(dev, true);
	/* ib_core itself finds the network device that the port has so far. */
	dev->port.num_handled = READ_ONCE(dev->port.num_netdevs);
	return 0;
}

/**
 * mlx5_ib_cleanup_netdev - end the association of an Ethernet port with its network device
 * @dev: device, not registered any more
 *
 * May sleep.
 */
void mlx5_ib_cleanup_netdev(struct mlx5_ib_dev *dev)
{
	if (!dev->caps.ethernet)
		return;
	mlx5_ib_netdev_watch(dev, false);
	ib_device_set_netdev(&dev->ib_dev, NULL, dev->port.num);
}

/**
 * mlx5_ib_init_netdev_changes - begin to handle changes of the network device of an Ethernet port
 * @dev: device, registered with the RDMA core
 *
 * Return: 0.
 */
int mlx5_ib_init_netdev_changes(struct mlx5_ib_dev *dev)
{
	if (!dev->caps.ethernet)
		return 0;
	enable_work(&dev->port.netdev_changed);
	/* Handle what was told while the work item was disabled. */
	queue_work(system_dfl_wq, &dev->port.netdev_changed);
	return 0;
}

/**
 * mlx5_ib_cleanup_netdev_changes - stop handling changes of the network device of an Ethernet port
 * @dev: device, still registered with the RDMA core
 *
 * The port goes on losing its network device, see mlx5_ib_netdev_notify(). May sleep.
 */
void mlx5_ib_cleanup_netdev_changes(struct mlx5_ib_dev *dev)
{
	if (dev->caps.ethernet)
		disable_work_sync(&dev->port.netdev_changed);
}
