// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * User ids of the firmware, which keep the objects of processes apart.
 */

#include <linux/capability.h>
#include <linux/sched.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/orphan.h"
#include "lib/share.h"
#include "lib/uctx.h"

/* MLX5_UCTX_CAP_*: rights that the calling process has for commands of its own. */
static u32 uctx_rights_of_caller(struct mlx5_ib_dev *dev)
{
	return (rdma_dev_has_raw_cap(&dev->ib_dev) ? MLX5_UCTX_CAP_RAW_TX : 0) |
	       (capable(CAP_SYS_RAWIO) ? MLX5_UCTX_CAP_INTERNAL_DEV_RES : 0);
}

/* Tell the administrator where to see which processes have the ids. */
static void uctx_report_limit(struct mlx5_ib_dev *dev)
{
	report_limit(&dev->ib_dev,
		     "all DEVX uids of the device are in use (log_max_uctx is %u): %s (%d) gets no DEVX context; see who has them in the debugfs file mlx5/%s/uars\n",
		     MLX5_CAP_GEN(dev->mdev, log_max_uctx), current->comm, task_tgid_nr(current),
		     dev_name(dev->mdev->device));
}

/**
 * mlx5_ib_create_uctx - CREATE_UCTX: create a user id for the calling process
 * @dev: device
 * @context: context of the process; gets the id, which is not 0, and the rights of the process
 *
 * Firmware lets a command with a user id name only objects of the same id, and objects that were
 * created for all users (completion EQs, Q counter sets of the driver, and rates that are not
 * dedicated). No command with an id reaches other objects without an id, as those of the kernel.
 *
 * What a user may do beyond that follows from the privileges of the process that opens the device:
 * CAP_NET_RAW, in the user namespace of the device's network namespace, allows raw queues
 * (MLX5_UCTX_CAP_RAW_TX), and CAP_SYS_RAWIO, in the initial user namespace, allows resources
 * internal to the device (MLX5_UCTX_CAP_INTERNAL_DEV_RES). MLX5_UCTX_CAP_RDMA_CTRL, which lets a
 * user control the RDMA objects of others, is never given. The driver itself checks the rights that
 * a command of a process needs, too (layout_devx.c), because firmware may not know all of them. May
 * sleep.
 *
 * Return: 0; -EOPNOTSUPP for a device without user ids; -ENOMEM if all user ids are in use, or if
 * the user has as many as a user can have; or the errno of another firmware refusal.
 */
int mlx5_ib_create_uctx(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context)
{
	u32 in[MLX5_ST_SZ_DW(create_uctx_in)] = {};
	u32 uid;
	int err;

	if (!MLX5_CAP_GEN(dev->mdev, log_max_uctx))
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "DEVX context: the device has no DEVX uids (log_max_uctx)");
	context->devx_rights = uctx_rights_of_caller(dev);
	MLX5_SET(create_uctx_in, in, uctx.cap,
		 context->devx_rights & MLX5_CAP_GEN(dev->mdev, uctx_cap));
	err = mlx5_ib_share_create(context, MLX5_IB_SHARE_UCTX, MLX5_IB_KERNEL_UID,
				   MLX5_CMD_OP_CREATE_UCTX, in, sizeof(in), &uid);
	if (err == -ENOSPC) {
		uctx_report_limit(dev);
		return -ENOMEM;
	}
	if (!err)
		context->uid = uid;
	return err;
}

/**
 * mlx5_ib_destroy_uctx - DESTROY_UCTX: destroy the user id of a context
 * @context: has a user id, whose objects have been destroyed or are orphans
 *
 * Firmware keeps an id that still owns an object, so that no other process gets the id, and with it
 * the object. The id then becomes an orphan, and is destroyed after the object, see orphan.c. May
 * sleep, for a third of a second if firmware refuses.
 */
void mlx5_ib_destroy_uctx(struct mlx5_ib_ucontext *context)
{
	struct mlx5_ib_queue_mem mem = { .share = mlx5_ib_share_of(context, MLX5_IB_SHARE_UCTX) };

	mlx5_ib_orphan_discard(to_mdev(context->ibucontext.device), MLX5_IB_KERNEL_UID,
			       MLX5_CMD_OP_DESTROY_UCTX, context->uid, "DEVX uid", &mem);
}
