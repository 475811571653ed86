// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The auxiliary driver: which devices it takes, what it registers with the RDMA
 * core, and how it lets go.
 */

#include <linux/auxiliary_bus.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/eswitch.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "ah.h"
#include "bluebell.h"
#include "cq.h"
#include "devx.h"
#include "dm.h"
#include "event.h"
#include "mkey_cache.h"
#include "mmap.h"
#include "mr.h"
#include "odp.h"
#include "port.h"
#include "qp.h"
#include "rsc.h"
#include "srq.h"
#include "ucontext.h"
#include "umr_qp.h"
#include "xrc.h"

/*
 * uverbs offers the write() form of CREATE_CQ only where this is there, although
 * it then calls create_user_cq. Kernel consumers have no business with it yet.
 */
static int mlx5_ib_create_kernel_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
				    struct uverbs_attr_bundle *attrs)
{
	return -EOPNOTSUPP;
}

static const struct ib_device_ops mlx5_ib_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_MLX5,
	.uverbs_abi_ver = MLX5_IB_UVERBS_ABI_VERSION,
	.uverbs_robust_udata = 1,
	.device_group = &mlx5_ib_attr_group,

	.query_device = mlx5_ib_query_device,
	.modify_device = mlx5_ib_modify_device,
	.get_dev_fw_str = mlx5_ib_get_dev_fw_str,
	.query_port = mlx5_ib_query_port,
	.get_port_immutable = mlx5_ib_port_immutable,
	.get_link_layer = mlx5_ib_port_link_layer,
	.query_gid = mlx5_ib_query_gid,
	.query_pkey = mlx5_ib_query_pkey,

	.alloc_ucontext = mlx5_ib_alloc_ucontext,
	.dealloc_ucontext = mlx5_ib_dealloc_ucontext,
	.disassociate_ucontext = mlx5_ib_disassociate_ucontext,
	.query_ucontext = mlx5_ib_query_ucontext,
	.mmap = mlx5_ib_mmap,
	.mmap_free = mlx5_ib_mmap_free,

	.alloc_pd = mlx5_ib_alloc_pd,
	.dealloc_pd = mlx5_ib_dealloc_pd,
	.create_ah = mlx5_ib_create_ah,
	.create_user_ah = mlx5_ib_create_ah,
	.query_ah = mlx5_ib_query_ah,
	.destroy_ah = mlx5_ib_destroy_ah,

	.create_cq = mlx5_ib_create_kernel_cq,
	.create_user_cq = mlx5_ib_create_user_cq,
	.modify_cq = mlx5_ib_modify_cq,
	.resize_user_cq = mlx5_ib_resize_user_cq,
	.destroy_cq = mlx5_ib_destroy_cq,

	.create_qp = mlx5_ib_create_qp,
	.modify_qp = mlx5_ib_modify_qp,
	.query_qp = mlx5_ib_query_qp,
	.destroy_qp = mlx5_ib_destroy_qp,

	.alloc_xrcd = mlx5_ib_alloc_xrcd,
	.dealloc_xrcd = mlx5_ib_dealloc_xrcd,

	.create_srq = mlx5_ib_create_srq,
	.modify_srq = mlx5_ib_modify_srq,
	.query_srq = mlx5_ib_query_srq,
	.destroy_srq = mlx5_ib_destroy_srq,

	.reg_user_mr = mlx5_ib_reg_user_mr,
	.reg_user_mr_dmabuf = mlx5_ib_reg_user_mr_dmabuf,
	.rereg_user_mr = mlx5_ib_rereg_user_mr,
	.dereg_mr = mlx5_ib_dereg_mr,
	.advise_mr = mlx5_ib_advise_mr,

	.alloc_mw = mlx5_ib_alloc_mw,
	.dealloc_mw = mlx5_ib_dealloc_mw,

	.alloc_dm = mlx5_ib_alloc_dm,
	.dealloc_dm = mlx5_ib_dealloc_dm,
	.reg_dm_mr = mlx5_ib_reg_dm_mr,

	INIT_RDMA_OBJ_SIZE(ib_ah, mlx5_ib_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, mlx5_ib_cq, ibcq),
	.size_ib_mw = sizeof(struct ib_mw),
	INIT_RDMA_OBJ_SIZE(ib_pd, mlx5_ib_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, mlx5_ib_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, mlx5_ib_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, mlx5_ib_ucontext, ibucontext),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, mlx5_ib_xrcd, ibxrcd),
};

static const struct uapi_definition mlx5_ib_defs[] = {
	UAPI_DEF_CHAIN(mlx5_ib_cq_defs),
	UAPI_DEF_CHAIN(mlx5_ib_devx_defs),
	UAPI_DEF_CHAIN(mlx5_ib_dm_defs),
	{},
};

/* Why a device is left for another driver, or NULL. */
static const char *why_not(struct mlx5_core_dev *mdev)
{
	if (MLX5_CAP_GEN(mdev, port_type) != MLX5_CAP_PORT_TYPE_IB)
		return "its port is not InfiniBand";
	if (mlx5_core_mp_enabled(mdev) || MLX5_CAP_GEN(mdev, num_ports) != 1)
		return "it has more than one port";
	if (mlx5_lag_is_active(mdev))
		return "its port is part of a LAG";
	if (is_mdev_switchdev_mode(mdev))
		return "it has representors";
	return NULL;
}

static void init_device(struct mlx5_ib_dev *dev, struct mlx5_core_dev *mdev)
{
	dev->mdev = mdev;
	mlx5_ib_read_caps(mdev, &dev->caps);
	atomic_set(&dev->mkey_variant, 0);
	dev->ib_dev.node_type = RDMA_NODE_IB_CA;
	dev->ib_dev.phys_port_cnt = 1;
	dev->ib_dev.num_comp_vectors = mlx5_comp_vectors_max(mdev);
	dev->ib_dev.dev.parent = mdev->device;
	dev->ib_dev.driver_def = mlx5_ib_defs;
	ib_set_device_ops(&dev->ib_dev, &mlx5_ib_dev_ops);
}

static int register_device(struct mlx5_ib_dev *dev)
{
	int err;

	err = mlx5_ib_init_device_attr(dev);
	if (err)
		return err;
	err = mlx5_ib_init_rsc_table(dev);
	if (!err)
		err = mlx5_ib_init_xrc(dev);
	if (!err)
		err = mlx5_ib_init_dm(dev);
	if (!err)
		err = mlx5_ib_init_umr(dev);
	if (!err)
		err = mlx5_ib_init_mkey_cache(dev);
	if (!err)
		err = mlx5_ib_init_odp(dev);
	if (!err)
		err = ib_register_device(&dev->ib_dev, "mlx5_%d", dev->mdev->device);
	if (err) {
		mlx5_ib_cleanup_odp(dev);
		mlx5_ib_cleanup_mkey_cache(dev);
		mlx5_ib_cleanup_umr(dev);
		mlx5_ib_cleanup_dm(dev);
		mlx5_ib_cleanup_xrc(dev);
		mlx5_ib_cleanup_rsc_table(dev);
		return err;
	}
	dev->mdev_events.notifier_call = mlx5_ib_event;
	mlx5_notifier_register(dev->mdev, &dev->mdev_events);
	return 0;
}

static int mlx5_ib_probe(struct auxiliary_device *adev, const struct auxiliary_device_id *id)
{
	struct mlx5_core_dev *mdev = container_of(adev, struct mlx5_adev, adev)->mdev;
	const char *reason = why_not(mdev);
	struct mlx5_ib_dev *dev;
	int err;

	if (reason) {
		dev_info(&adev->dev, "not for this driver: %s\n", reason);
		return -ENODEV;
	}

	dev = ib_alloc_device(mlx5_ib_dev, ib_dev);
	if (!dev)
		return -ENOMEM;
	init_device(dev, mdev);
	err = register_device(dev);
	if (err) {
		ib_dealloc_device(&dev->ib_dev);
		return dev_err_probe(&adev->dev, err, "cannot register an RDMA device\n");
	}
	auxiliary_set_drvdata(adev, dev);
	return 0;
}

static void mlx5_ib_remove(struct auxiliary_device *adev)
{
	struct mlx5_ib_dev *dev = auxiliary_get_drvdata(adev);

	mlx5_notifier_unregister(dev->mdev, &dev->mdev_events);
	ib_unregister_device(&dev->ib_dev);
	mlx5_ib_cleanup_odp(dev);
	mlx5_ib_cleanup_mkey_cache(dev);
	mlx5_ib_cleanup_umr(dev);
	mlx5_ib_cleanup_dm(dev);
	mlx5_ib_cleanup_xrc(dev);
	mlx5_ib_cleanup_rsc_table(dev);
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
