// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The auxiliary driver: which devices it binds to, and the stages in which a device is set up and
 * taken down.
 */

#include <kunit/visibility.h>
#include <linux/auxiliary_bus.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/eswitch.h>
#include <linux/module.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "lib/cq_kernel.h"
#include "lib/flow_table.h"
#include "lib/mkey.h"
#include "lib/mkey_pool.h"
#include "lib/orphan.h"
#include "lib/rsc.h"
#include "lib/share.h"
#include "lib/subscription.h"
#include "lib/umr.h"
#include "odp/odp.h"
#include "ops.h"
#include "port.h"
#include "verbs/dm.h"
#include "verbs/ucontext.h"
#include "verbs/verbs.h"

/* Returns the reason why the driver does not bind to a device; NULL if the driver binds. */
VISIBLE_IF_KUNIT const char *mlx5_ib_why_not(struct mlx5_core_dev *mdev)
{
	const char *reason = mlx5_ib_port_why_not(mdev);

	if (reason)
		return reason;
	if (mlx5_core_mp_enabled(mdev) || MLX5_CAP_GEN(mdev, num_ports) != 1)
		return "it has more than one port";
	if (mlx5_lag_is_active(mdev))
		return "its port is part of a LAG";
	if (is_mdev_switchdev_mode(mdev))
		return "it has representors";
	return NULL;
}

/* Initialize the lock under which features are set up at their first use, see @dev_stages. */
static int dev_init_first_use(struct mlx5_ib_dev *dev)
{
	mutex_init(&dev->first_use);
	return 0;
}

static void dev_cleanup_first_use(struct mlx5_ib_dev *dev)
{
	mutex_destroy(&dev->first_use);
}

/* The device has failed: flush the requests that it will not complete. */
static void dev_failed(struct mlx5_ib_dev *dev)
{
	mlx5_ib_abort_umr(dev);
	mlx5_ib_flush_kernel_queues(dev);
}

static int dev_notify_sys_error(struct notifier_block *nb, unsigned long type, void *data)
{
	if (type != MLX5_DEV_EVENT_SYS_ERROR)
		return NOTIFY_DONE;
	dev_failed(container_of(nb, struct mlx5_ib_dev, sys_error));
	return NOTIFY_OK;
}

static void dev_gone_work(struct work_struct *work)
{
	dev_failed(container_of(work, struct mlx5_ib_dev, gone));
}

/* Register the notifier of failures. The device may have failed before, so check that, too. */
static int dev_init_sys_error(struct mlx5_ib_dev *dev)
{
	dev->sys_error.notifier_call = dev_notify_sys_error;
	mlx5_notifier_register(dev->mdev, &dev->sys_error);
	enable_work(&dev->gone);
	if (mlx5_ib_fw_device_is_gone(dev))
		dev_failed(dev);
	return 0;
}

static void dev_cleanup_sys_error(struct mlx5_ib_dev *dev)
{
	disable_work_sync(&dev->gone);
	mlx5_notifier_unregister(dev->mdev, &dev->sys_error);
}

/* Have ib_core offer flow rules, if the device has tables for them. */
static int dev_init_flows(struct mlx5_ib_dev *dev)
{
	int err = mlx5_ib_init_flow_tables(dev);

	if (!err && mlx5_ib_has_flows(dev))
		ib_set_device_ops(&dev->ib_dev, &mlx5_ib_flow_dev_ops);
	return err;
}

static int dev_register(struct mlx5_ib_dev *dev)
{
	return ib_register_device(&dev->ib_dev, "mlx5_%d", dev->dma_device);
}

static void dev_unregister(struct mlx5_ib_dev *dev)
{
	/*
	 * If the device has been pulled out, mlx5_core reports no system error, because it stops
	 * its health work as soon as the hotplug driver removes the device. So check here, before
	 * the RDMA core waits for consumers, which wait for the requests that they have posted.
	 */
	if (mlx5_ib_fw_device_is_gone(dev))
		dev_failed(dev);
	WRITE_ONCE(dev->removing, true);
	/* ib_unregister_device() waits for all calls, so stop long calls of ibv_advise_mr(3). */
	mlx5_ib_stop_advice(dev);
	ib_unregister_device(&dev->ib_dev);
}

/*
 * The stages of a device. A stage without @init belongs to a feature that is set up when a process
 * or kernel consumer first uses it, so that an unused device costs little. If this set-up fails,
 * the call that needs the feature fails or does without it, and a later call tries again. The
 * stages "counters" and "queue events" have @init because ib_core, while it registers the device,
 * reads the Q counters and creates queue pairs for management datagrams.
 *
 * UMR requests are posted and waited for only while the stage "system errors" is set up, so that
 * all tasks that wait for a request are woken if the device fails.
 */
static const struct mlx5_ib_stage dev_stages[] = {
	{ "attributes", mlx5_ib_init_device_attr },
	{ "users", mlx5_ib_init_users, mlx5_ib_cleanup_users },
	{ "contexts", mlx5_ib_init_contexts },
	{ "destruction of objects", mlx5_ib_init_fw_attempts },
	/* Taken down after the orphans, some of which have a reference to device memory. */
	{ "device memory", NULL, mlx5_ib_cleanup_dm },
	{ "objects that firmware keeps", mlx5_ib_init_orphans, mlx5_ib_cleanup_orphans },
	{ "subscriptions to events", mlx5_ib_init_events, mlx5_ib_cleanup_events },
	{ "queue events", mlx5_ib_init_rsc_table, mlx5_ib_cleanup_rsc_table },
	{ "memory keys", mlx5_ib_init_mkeys, mlx5_ib_cleanup_mkeys },
	{ "features at their first use", dev_init_first_use, dev_cleanup_first_use },
	{ "XRC", NULL, mlx5_ib_cleanup_xrc },
	{ "UMR", NULL, mlx5_ib_cleanup_umr },
	{ "memory key pool", NULL, mlx5_ib_cleanup_mkey_pool },
	{ "system errors", dev_init_sys_error, dev_cleanup_sys_error },
	{ "on-demand paging", mlx5_ib_init_odp, mlx5_ib_cleanup_odp, "without on-demand paging" },
	{ "export to other devices", mlx5_ib_init_mmap_export, NULL,
	  "without exporting UAR objects and device memory" },
	{ "counters", mlx5_ib_init_counters, mlx5_ib_cleanup_counters, "without statistics" },
	{ "flow tables", dev_init_flows, mlx5_ib_cleanup_flow_tables },
	{ "debugfs", mlx5_ib_init_uar_debugfs, mlx5_ib_cleanup_uar_debugfs },
	{ "RoCE", mlx5_ib_init_roce, mlx5_ib_cleanup_roce },
	{ "network device", mlx5_ib_init_netdev, mlx5_ib_cleanup_netdev },
	{ "RDMA device", dev_register, dev_unregister },
	{ "changes of the network device", mlx5_ib_init_netdev_changes,
	  mlx5_ib_cleanup_netdev_changes },
	{ "port events", mlx5_ib_init_port_events, mlx5_ib_cleanup_port_events },
};

/**
 * mlx5_ib_cleanup_stages - take a device down
 * @dev: device
 * @stages: stages that have been set up, the last of which is taken down first
 * @num: number of stages
 */
VISIBLE_IF_KUNIT
void mlx5_ib_cleanup_stages(struct mlx5_ib_dev *dev, const struct mlx5_ib_stage *stages,
			    unsigned int num)
{
	while (num--)
		if (stages[num].cleanup)
			stages[num].cleanup(dev);
}

/**
 * mlx5_ib_init_stages - set a device up
 * @dev: device
 * @stages: the stages, in the order in which they are set up
 * @num: number of stages
 *
 * Return: 0, or the errno of the stage that has failed: the stages before it are then taken down.
 */
VISIBLE_IF_KUNIT
int mlx5_ib_init_stages(struct mlx5_ib_dev *dev, const struct mlx5_ib_stage *stages,
			unsigned int num)
{
	const struct mlx5_ib_stage *stage;
	unsigned int i;
	int err;

	for (i = 0; i < num; i++) {
		stage = &stages[i];
		err = stage->init ? stage->init(dev) : 0;
		if (err && !stage->without) {
			mlx5_ib_cleanup_stages(dev, stages, i);
			return dev_err_probe(dev->mdev->device, err,
					     "bluebell: cannot set up %s\n", stage->name);
		}
		if (err)
			dev_warn(dev->mdev->device,
				 "bluebell: cannot set up %s (%d): going on %s\n", stage->name,
				 err, stage->without);
	}
	return 0;
}

static void dev_fill(struct mlx5_ib_dev *dev, struct mlx5_core_dev *mdev)
{
	dev->mdev = mdev;
	dev->dma_device = &mdev->pdev->dev;
	INIT_WORK(&dev->gone, dev_gone_work);
	disable_work(&dev->gone);
	sema_init(&dev->async_slots, MLX5_IB_ASYNC_SLOTS);
	mlx5_ib_read_caps(mdev, &dev->caps);
	dev->ib_dev.node_type = RDMA_NODE_IB_CA;
	dev->ib_dev.phys_port_cnt = MLX5_CAP_GEN(mdev, num_ports);
	dev->ib_dev.num_comp_vectors = mlx5_comp_vectors_max(mdev);
	dev->ib_dev.dev.parent = mdev->device;
	dev->ib_dev.driver_def = mlx5_ib_defs;
	/* ib_core adapts the moderation of the CQs that it polls to the load. */
	dev->ib_dev.use_cq_dim = MLX5_CAP_GEN(mdev, cq_moderation);
	ib_set_device_ops(&dev->ib_dev, &mlx5_ib_dev_ops);
}

static int mlx5_ib_probe(struct auxiliary_device *adev, const struct auxiliary_device_id *id)
{
	struct mlx5_core_dev *mdev = container_of(adev, struct mlx5_adev, adev)->mdev;
	const char *reason = mlx5_ib_why_not(mdev);
	struct mlx5_ib_dev *dev;
	int err;

	if (reason) {
		dev_info(&adev->dev, "not for this driver: %s\n", reason);
		return -ENODEV;
	}

	dev = ib_alloc_device(mlx5_ib_dev, ib_dev);
	if (!dev)
		return -ENOMEM;
	dev_fill(dev, mdev);
	err = mlx5_ib_init_stages(dev, dev_stages, ARRAY_SIZE(dev_stages));
	if (err) {
		ib_dealloc_device(&dev->ib_dev);
		return err;
	}
	auxiliary_set_drvdata(adev, dev);
	return 0;
}

static void mlx5_ib_remove(struct auxiliary_device *adev)
{
	struct mlx5_ib_dev *dev = auxiliary_get_drvdata(adev);

	mlx5_ib_cleanup_stages(dev, dev_stages, ARRAY_SIZE(dev_stages));
	ib_dealloc_device(&dev->ib_dev);
}

static const struct auxiliary_device_id mlx5_ib_id_table[] = {
	{ .name = MLX5_ADEV_NAME ".rdma" },
	{}
};
MODULE_DEVICE_TABLE(auxiliary, mlx5_ib_id_table);

static struct auxiliary_driver mlx5_ib_driver = {
	.name = "rdma",
	.probe = mlx5_ib_probe,
	.remove = mlx5_ib_remove,
	.id_table = mlx5_ib_id_table,
};
module_auxiliary_driver(mlx5_ib_driver);

MODULE_DESCRIPTION("RDMA verbs on HCAs with the mlx5 interface");
MODULE_LICENSE("Dual BSD/GPL");
