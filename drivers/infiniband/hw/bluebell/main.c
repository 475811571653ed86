// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The auxiliary driver: which devices it takes, the callbacks that it gives the RDMA
 * core, and the stages in which a device is set up and taken down.
 */

#include <linux/auxiliary_bus.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/eswitch.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "ah.h"
#include "bluebell.h"
#include "close.h"
#include "counters.h"
#include "cq.h"
#include "devx.h"
#include "devx_async.h"
#include "devx_event.h"
#include "devx_obj.h"
#include "devx_umem.h"
#include "dm.h"
#include "event.h"
#include "fast_mr.h"
#include "fw.h"
#include "gsi.h"
#include "kcq.h"
#include "mad.h"
#include "main.h"
#include "mcast.h"
#include "mkey.h"
#include "mkey_pool.h"
#include "mmap.h"
#include "mr.h"
#include "odp.h"
#include "orphan.h"
#include "port.h"
#include "pp.h"
#include "qp.h"
#include "restrack.h"
#include "rsc.h"
#include "srq.h"
#include "uar.h"
#include "uar_debugfs.h"
#include "uar_report.h"
#include "ucontext.h"
#include "umr_qp.h"
#include "wr.h"
#include "xrc.h"

const struct ib_device_ops mlx5_ib_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_MLX5,
	.uverbs_abi_ver = MLX5_IB_UVERBS_ABI_VERSION,
	.uverbs_robust_udata = 1,
	.device_group = &mlx5_ib_attr_group,

	.query_device = mlx5_ib_query_device,
	.modify_device = mlx5_ib_modify_device,
	.get_dev_fw_str = mlx5_ib_get_dev_fw_str,
	.query_port = mlx5_ib_query_port,
	.modify_port = mlx5_ib_modify_port,
	.get_port_immutable = mlx5_ib_port_immutable,
	.get_link_layer = mlx5_ib_port_link_layer,
	.query_gid = mlx5_ib_query_gid,
	.query_pkey = mlx5_ib_query_pkey,
	.process_mad = mlx5_ib_process_mad,

	.alloc_ucontext = mlx5_ib_alloc_ucontext,
	.dealloc_ucontext = mlx5_ib_dealloc_ucontext,
	.disassociate_ucontext = mlx5_ib_disassociate_ucontext,
	.query_ucontext = mlx5_ib_query_ucontext,
	.ufile_hw_cleanup = mlx5_ib_ufile_hw_cleanup,
	.mmap = mlx5_ib_mmap,
	.mmap_free = mlx5_ib_mmap_free,

	.alloc_pd = mlx5_ib_alloc_pd,
	.dealloc_pd = mlx5_ib_dealloc_pd,
	.create_ah = mlx5_ib_create_ah,
	.create_user_ah = mlx5_ib_create_user_ah,
	.query_ah = mlx5_ib_query_ah,
	.destroy_ah = mlx5_ib_destroy_ah,

	.create_cq = mlx5_ib_create_cq,
	.create_user_cq = mlx5_ib_create_user_cq,
	.modify_cq = mlx5_ib_modify_cq,
	.resize_user_cq = mlx5_ib_resize_user_cq,
	.destroy_cq = mlx5_ib_destroy_cq,
	.pre_destroy_cq = mlx5_ib_pre_destroy_cq,
	.post_destroy_cq = mlx5_ib_post_destroy_cq,
	.poll_cq = mlx5_ib_poll_cq,
	.req_notify_cq = mlx5_ib_req_notify_cq,

	.create_qp = mlx5_ib_verbs_create_qp,
	.modify_qp = mlx5_ib_verbs_modify_qp,
	.query_qp = mlx5_ib_query_qp,
	.destroy_qp = mlx5_ib_verbs_destroy_qp,
	.post_send = mlx5_ib_verbs_post_send,
	.post_recv = mlx5_ib_post_recv,
	.attach_mcast = mlx5_ib_attach_mcast,
	.detach_mcast = mlx5_ib_detach_mcast,

	.alloc_xrcd = mlx5_ib_alloc_xrcd,
	.dealloc_xrcd = mlx5_ib_dealloc_xrcd,

	.create_srq = mlx5_ib_create_srq,
	.modify_srq = mlx5_ib_modify_srq,
	.query_srq = mlx5_ib_query_srq,
	.destroy_srq = mlx5_ib_destroy_srq,
	.post_srq_recv = mlx5_ib_post_srq_recv,

	.reg_user_mr = mlx5_ib_reg_user_mr,
	.reg_user_mr_dmabuf = mlx5_ib_reg_user_mr_dmabuf,
	.rereg_user_mr = mlx5_ib_rereg_user_mr,
	.dereg_mr = mlx5_ib_dereg_mr,
	.advise_mr = mlx5_ib_advise_mr,

	.get_dma_mr = mlx5_ib_get_dma_mr,
	.alloc_mr = mlx5_ib_alloc_mr,
	.map_mr_sg = mlx5_ib_map_mr_sg,

	.alloc_mw = mlx5_ib_alloc_mw,
	.dealloc_mw = mlx5_ib_dealloc_mw,

	.alloc_dm = mlx5_ib_alloc_dm,
	.dealloc_dm = mlx5_ib_dealloc_dm,
	.reg_dm_mr = mlx5_ib_reg_dm_mr,

	.fill_res_cq_entry = mlx5_ib_fill_res_cq_entry,
	.fill_res_cq_entry_raw = mlx5_ib_fill_res_cq_entry_raw,
	.fill_res_mr_entry = mlx5_ib_fill_res_mr_entry,
	.fill_res_mr_entry_raw = mlx5_ib_fill_res_mr_entry_raw,
	.fill_res_qp_entry = mlx5_ib_fill_res_qp_entry,
	.fill_res_qp_entry_raw = mlx5_ib_fill_res_qp_entry_raw,
	.fill_res_srq_entry = mlx5_ib_fill_res_srq_entry,
	.fill_res_srq_entry_raw = mlx5_ib_fill_res_srq_entry_raw,
	.fill_stat_mr_entry = mlx5_ib_fill_stat_mr_entry,

	INIT_RDMA_OBJ_SIZE(ib_ah, mlx5_ib_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, mlx5_ib_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, mlx5_ib_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, mlx5_ib_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, mlx5_ib_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, mlx5_ib_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, mlx5_ib_ucontext, ibucontext),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, mlx5_ib_xrcd, ibxrcd),
};

static const struct uapi_definition mlx5_ib_defs[] = {
	UAPI_DEF_CHAIN(mlx5_ib_cq_defs),
	UAPI_DEF_CHAIN(mlx5_ib_devx_defs),
	UAPI_DEF_CHAIN(mlx5_ib_devx_obj_defs),
	UAPI_DEF_CHAIN(mlx5_ib_devx_async_defs),
	UAPI_DEF_CHAIN(mlx5_ib_devx_event_defs),
	UAPI_DEF_CHAIN(mlx5_ib_devx_umem_defs),
	UAPI_DEF_CHAIN(mlx5_ib_port_defs),
	UAPI_DEF_CHAIN(mlx5_ib_pp_defs),
	UAPI_DEF_CHAIN(mlx5_ib_uar_defs),
	UAPI_DEF_CHAIN(mlx5_ib_uar_report_defs),
	UAPI_DEF_CHAIN(mlx5_ib_ucontext_defs),
	UAPI_DEF_CHAIN(mlx5_ib_dm_defs),
	{},
};

/* Returns why this driver does not take a device, or NULL if it does. */
static const char *dev_why_not(struct mlx5_core_dev *mdev)
{
	if (MLX5_CAP_GEN(mdev, port_type) != MLX5_CAP_PORT_TYPE_IB)
		return "its port is not InfiniBand";
	if (!MLX5_CAP_GEN(mdev, ib_virt))
		return "its firmware cannot tell the attributes of the port (ib_virt)";
	if (mlx5_core_mp_enabled(mdev) || MLX5_CAP_GEN(mdev, num_ports) != 1)
		return "it has more than one port";
	if (mlx5_lag_is_active(mdev))
		return "its port is part of a LAG";
	if (is_mdev_switchdev_mode(mdev))
		return "it has representors";
	return NULL;
}

/* Features whose stages have a clean-up only are set up when they are first used. */
static int dev_init_first_use(struct mlx5_ib_dev *dev)
{
	mutex_init(&dev->first_use);
	return 0;
}

static void dev_cleanup_first_use(struct mlx5_ib_dev *dev)
{
	mutex_destroy(&dev->first_use);
}

/* Nothing that the device has been asked for will complete. */
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

/* A device that has failed already will not say so again. */
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

static int dev_register(struct mlx5_ib_dev *dev)
{
	return ib_register_device(&dev->ib_dev, "mlx5_%d", dev->dma_device);
}

static void dev_unregister(struct mlx5_ib_dev *dev)
{
	/*
	 * The hotplug driver removes a device that has been pulled out at once, and mlx5_core then
	 * stops its health work, which would have reported a system error. Consumers wait for the
	 * requests that they have posted.
	 */
	if (mlx5_ib_fw_device_is_gone(dev))
		dev_failed(dev);
	/* Otherwise calls in progress, which are waited for, could take long. */
	mlx5_ib_stop_advice(dev);
	ib_unregister_device(&dev->ib_dev);
}

/*
 * How a device is set up, in this order, and taken down, in the reverse order. A stage
 * that fails cleans up after itself. If it says what a device without it lacks
 * (@without), the device goes on; its clean-up must then be a no-op.
 *
 * A stage without @init is that of a feature which is set up when a process or kernel consumer
 * first uses it, so that a device that nobody uses costs little. A feature that cannot be set
 * up then is an error of that call, and of no other. What exists from the start is needed from the
 * start: ib_core reads the Q counters and creates queue pairs for management datagrams, whose
 * events need a workqueue, while it registers the device.
 *
 * Whoever waits for a UMR request does so after "system errors" and is done before
 * it is taken down, so that a device that fails wakes every waiter.
 */
static const struct dev_stage {
	const char *name;
	int (*init)(struct mlx5_ib_dev *dev);
	void (*cleanup)(struct mlx5_ib_dev *dev);
	const char *without;
} dev_stages[] = {
	{ "attributes", mlx5_ib_init_device_attr },
	{ "contexts", mlx5_ib_init_contexts },
	{ "objects that firmware keeps", mlx5_ib_init_orphans, mlx5_ib_cleanup_orphans },
	{ "subscriptions to events", mlx5_ib_init_events, mlx5_ib_cleanup_events },
	{ "queue events", mlx5_ib_init_rsc_table, mlx5_ib_cleanup_rsc_table },
	{ "memory keys", mlx5_ib_init_mkeys, mlx5_ib_cleanup_mkeys },
	{ "features at their first use", dev_init_first_use, dev_cleanup_first_use },
	{ "XRC", NULL, mlx5_ib_cleanup_xrc },
	{ "device memory", NULL, mlx5_ib_cleanup_dm },
	{ "fast registration", NULL, mlx5_ib_cleanup_umr },
	{ "memory key pool", NULL, mlx5_ib_cleanup_mkey_pool },
	{ "system errors", dev_init_sys_error, dev_cleanup_sys_error },
	{ "on-demand paging", mlx5_ib_init_odp, mlx5_ib_cleanup_odp, "without on-demand paging" },
	{ "export to other devices", mlx5_ib_init_mmap_export, NULL,
	  "without exporting device memory" },
	{ "counters", mlx5_ib_init_counters, mlx5_ib_cleanup_counters, "without statistics" },
	{ "debugfs", mlx5_ib_init_uar_debugfs, mlx5_ib_cleanup_uar_debugfs },
	{ "RDMA device", dev_register, dev_unregister },
	{ "port events", mlx5_ib_init_port_events, mlx5_ib_cleanup_port_events },
};

static void dev_cleanup(struct mlx5_ib_dev *dev, unsigned int num_stages)
{
	while (num_stages--)
		if (dev_stages[num_stages].cleanup)
			dev_stages[num_stages].cleanup(dev);
}

static int dev_init(struct mlx5_ib_dev *dev)
{
	const struct dev_stage *stage;
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(dev_stages); i++) {
		stage = &dev_stages[i];
		err = stage->init ? stage->init(dev) : 0;
		if (err && !stage->without) {
			dev_cleanup(dev, i);
			return dev_err_probe(dev->mdev->device, err,
					     "bluebell: cannot set up: %s\n", stage->name);
		}
		if (err)
			dev_warn(dev->mdev->device,
				 "bluebell: cannot set up %s (%d): going on %s\n", stage->name,
				 err, stage->without);
	}
	return 0;
}

static int mlx5_ib_probe(struct auxiliary_device *adev, const struct auxiliary_device_id *id)
{
	struct mlx5_core_dev *mdev = container_of(adev, struct mlx5_adev, adev)->mdev;
	const char *reason = dev_why_not(mdev);
	struct mlx5_ib_dev *dev;
	int err;

	if (reason) {
		dev_info(&adev->dev, "not for this driver: %s\n", reason);
		return -ENODEV;
	}

	dev = ib_alloc_device(mlx5_ib_dev, ib_dev);
	if (!dev)
		return -ENOMEM;
	dev->mdev = mdev;
	dev->dma_device = &mdev->pdev->dev;
	INIT_WORK(&dev->gone, dev_gone_work);
	disable_work(&dev->gone);
	mlx5_ib_read_caps(mdev, &dev->caps);
	dev->ib_dev.node_type = RDMA_NODE_IB_CA;
	dev->ib_dev.phys_port_cnt = MLX5_CAP_GEN(mdev, num_ports);
	dev->ib_dev.num_comp_vectors = mlx5_comp_vectors_max(mdev);
	dev->ib_dev.dev.parent = mdev->device;
	dev->ib_dev.driver_def = mlx5_ib_defs;
	/* ib_core adapts the events of the queues that it polls to the load. */
	dev->ib_dev.use_cq_dim = MLX5_CAP_GEN(mdev, cq_moderation);
	ib_set_device_ops(&dev->ib_dev, &mlx5_ib_dev_ops);
	err = dev_init(dev);
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

	dev_cleanup(dev, ARRAY_SIZE(dev_stages));
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
