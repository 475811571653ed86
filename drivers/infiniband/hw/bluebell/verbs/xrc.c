// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC domains, and the driver's own objects for XRC queue pairs. The context of a queue pair at the
 * device names a PD, CQs and an SRQ. Verbs give an initiator no CQ and no SRQ to receive with, and
 * a target nothing but its domain; so the context of the queue pair names the driver's objects
 * instead.
 */

#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_qp.h"
#include "layout/layout_srq.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/internal_cq.h"
#include "lib/orphan.h"
#include "lib/queue_cmd.h"
#include "lib/share.h"
#include "verbs/verbs.h"

/* Nothing is posted to the SRQ, and nothing completes on the CQ: both have the smallest sizes. */
#define SRQ_WQES	2
#define LOG_SRQ_STRIDE	5
#define LOG_CQES	1

/**
 * struct mlx5_ib_xrc - the driver's own objects
 * @cq: CQ that initiators, targets and the SRQ name. The targets and the SRQ are in the PD of this
 *	CQ (@cq.pdn), in which there is no memory key
 * @srq_xrcdn: XRC domain of the SRQ
 * @empty_xrcdn: XRC domain of the initiators, which has no SRQ, so an initiator receives nothing
 * @srq_mem: memory of the SRQ
 * @srqn: number of the SRQ
 */
struct mlx5_ib_xrc {
	struct mlx5_ib_internal_cq cq;
	u32 srq_xrcdn;
	u32 empty_xrcdn;
	struct mlx5_ib_queue_mem srq_mem;
	u32 srqn;
};

/**
 * mlx5_ib_alloc_xrcd - allocate an XRC domain
 * @ibxrcd: the object, zeroed but for what ib_core sets
 * @udata: empty
 *
 * Implements ibv_open_xrcd(3) with ALLOC_XRCD; ib_core lets processes share a domain if they open
 * the domain by the same inode. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for driver data; -EFAULT; -ENOMEM if the user has as many domains as a
 * user can have; or as mlx5_ib_use_xrc().
 */
int mlx5_ib_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibxrcd->device);
	struct mlx5_ib_ucontext *context = NULL;
	struct mlx5_ib_share share = {};
	int err;

	if (udata)
		context = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext, ibucontext);
	err = ib_no_udata_io(udata) ?: mlx5_ib_use_xrc(dev) ?:
	      mlx5_ib_share_take(context, MLX5_IB_SHARE_XRCD, &share);
	if (err)
		return err;
	/* No user id: other processes may use the domain, even after this process has ended. */
	err = mlx5_ib_fw_alloc_object(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_ALLOC_XRCD,
				      &to_mxrcd(ibxrcd)->xrcdn);
	if (err)
		mlx5_ib_share_undo(&share, err);
	to_mxrcd(ibxrcd)->user = share.user;
	return err;
}

/**
 * mlx5_ib_dealloc_xrcd - deallocate an XRC domain
 * @ibxrcd: the domain, without objects of verbs
 * @udata: data of the call by which the last process has closed the domain; NULL for a domain of a
 *	kernel consumer
 *
 * May sleep, for a third of a second if firmware refuses.
 *
 * Return: 0, also if firmware refuses: after an error ib_core would count one user too many of a
 * domain that was opened without a file. A refused domain becomes an orphan (orphan.c), and goes on
 * counting against the limit of the user who has allocated it.
 */
int mlx5_ib_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibxrcd->device);
	struct mlx5_ib_queue_mem mem = {
		.share = {
			.user = to_mxrcd(ibxrcd)->user, .kind = MLX5_IB_SHARE_XRCD, .num = 1,
		},
	};

	if (udata)
		mem.context = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext, ibucontext);
	/*
	 * Orphans of other contexts may refer to the domain, too, but this process does not wait
	 * for the commands of other contexts.
	 */
	mlx5_ib_orphans_retry(dev, NULL);
	if (mem.context)
		mlx5_ib_orphans_retry(dev, mem.context);
	mlx5_ib_orphan_discard(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_DEALLOC_XRCD,
			       to_mxrcd(ibxrcd)->xrcdn, "XRC domain", &mem);
	return 0;
}

/**
 * mlx5_ib_xrc_fill_qpc - complete the context of an XRC queue pair
 * @dev: device, on which mlx5_ib_use_xrc() has succeeded
 * @ibxrcd: domain of a target; NULL for an initiator
 * @qpc: struct mlx5_ifc_qpc_bits, which gets the objects that verbs do not give
 */
void mlx5_ib_xrc_fill_qpc(struct mlx5_ib_dev *dev, struct ib_xrcd *ibxrcd, void *qpc)
{
	const struct mlx5_ib_xrc *xrc = dev->xrc;

	MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, xrc->srqn);
	MLX5_SET(qpc, qpc, cqn_rcv, xrc->cq.mcq.cqn);
	MLX5_SET(qpc, qpc, xrcd, ibxrcd ? to_mxrcd(ibxrcd)->xrcdn : xrc->empty_xrcdn);
	if (ibxrcd) {
		MLX5_SET(qpc, qpc, cqn_snd, xrc->cq.mcq.cqn);
		MLX5_SET(qpc, qpc, pd, xrc->cq.pdn);
	}
}

/* ---- the driver's own objects ---------------------------------------------- */

static int xrc_create_srq(struct mlx5_ib_dev *dev, struct mlx5_ib_xrc *xrc)
{
	struct mlx5_ib_srqc_attr attr = {
		.wq = { .wqe_cnt = SRQ_WQES, .wqe_shift = LOG_SRQ_STRIDE },
		.pdn = xrc->cq.pdn,
		.xrcdn = xrc->srq_xrcdn,
		.cqn = xrc->cq.mcq.cqn,
		.uidx = MLX5_IB_DEFAULT_UIDX,
	};
	int err;

	err = mlx5_ib_queue_mem_alloc(dev, &xrc->srq_mem, SRQ_WQES << LOG_SRQ_STRIDE);
	if (err)
		return err;
	err = mlx5_ib_create_srq_cmd(dev, MLX5_IB_KERNEL_UID, IB_SRQT_XRC, &xrc->srq_mem, &attr,
				     &xrc->srqn);
	if (err)
		mlx5_ib_queue_mem_free(dev, &xrc->srq_mem);
	return err;
}

static int xrc_create_objects(struct mlx5_ib_dev *dev, struct mlx5_ib_xrc *xrc)
{
	int err;

	err = mlx5_ib_internal_cq_create(dev, &xrc->cq, LOG_CQES);
	if (err)
		return err;
	err = mlx5_ib_fw_alloc_object(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_ALLOC_XRCD,
				      &xrc->srq_xrcdn);
	if (err)
		goto err_cq;
	err = mlx5_ib_fw_alloc_object(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_ALLOC_XRCD,
				      &xrc->empty_xrcdn);
	if (err)
		goto err_srq_xrcd;
	err = xrc_create_srq(dev, xrc);
	if (err)
		goto err_empty_xrcd;
	return 0;

err_empty_xrcd:
	mlx5_ib_orphan_destroy(dev, MLX5_CMD_OP_DEALLOC_XRCD, xrc->empty_xrcdn, "XRC domain", NULL);
err_srq_xrcd:
	mlx5_ib_orphan_destroy(dev, MLX5_CMD_OP_DEALLOC_XRCD, xrc->srq_xrcdn, "XRC domain", NULL);
err_cq:
	mlx5_ib_internal_cq_destroy(dev, &xrc->cq);
	return err;
}

static int xrc_init(struct mlx5_ib_dev *dev)
{
	int err;

	lockdep_assert_held(&dev->first_use);
	struct mlx5_ib_xrc *xrc __free(kfree) = kzalloc_obj(*xrc);

	if (!xrc)
		return -ENOMEM;
	err = xrc_create_objects(dev, xrc);
	if (err)
		return err;
	/* Pairs with mlx5_ib_use_xrc(). */
	smp_store_release(&dev->xrc, no_free_ptr(xrc));
	return 0;
}

/**
 * mlx5_ib_use_xrc - create the driver's own objects for XRC, unless they exist
 * @dev: device
 *
 * To be called before a domain or an initiator is created. The objects stay until the device is
 * removed. May sleep; takes the mutex first_use.
 *
 * Return: 0; -EOPNOTSUPP for a device without XRC; -ENOMEM; -EINTR if the task is being killed; or
 * the errno of a failed command. After an error nothing is left but perhaps orphans (orphan.c),
 * and the next caller tries again.
 */
int mlx5_ib_use_xrc(struct mlx5_ib_dev *dev)
{
	int err;

	if (!dev->caps.has_xrc)
		return refuse(dev->mdev, -EOPNOTSUPP, "the device has no XRC (xrc or issi is 0)");
	/* Pairs with xrc_init(). */
	if (smp_load_acquire(&dev->xrc))
		return 0;
	ACQUIRE(mutex_kill, lock)(&dev->first_use);
	err = ACQUIRE_ERR(mutex_kill, &lock);
	return err || dev->xrc ? err : xrc_init(dev);
}

/**
 * mlx5_ib_cleanup_xrc - destroy the driver's own objects for XRC, if they exist
 * @dev: device, none of whose queue pairs is left
 */
void mlx5_ib_cleanup_xrc(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_xrc *xrc = dev->xrc;

	if (!xrc)
		return;
	dev->xrc = NULL;
	mlx5_ib_orphan_destroy(dev, MLX5_CMD_OP_DESTROY_XRC_SRQ, xrc->srqn, "XRC SRQ",
			       &xrc->srq_mem);
	mlx5_ib_orphan_destroy(dev, MLX5_CMD_OP_DEALLOC_XRCD, xrc->empty_xrcdn, "XRC domain", NULL);
	mlx5_ib_orphan_destroy(dev, MLX5_CMD_OP_DEALLOC_XRCD, xrc->srq_xrcdn, "XRC domain", NULL);
	mlx5_ib_internal_cq_destroy(dev, &xrc->cq);
	kfree(xrc);
}
