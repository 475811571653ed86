// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The verbs of queue pairs, and the one table of their kinds. The kind is chosen when a queue pair
 * is created; each verb then calls an operation of the kind.
 */

#include <linux/indirect_call_wrapper.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "layout/refuse.h"
#include "lib/orphan.h"
#include "verbs/cq.h"
#include "verbs/dct.h"
#include "verbs/qp.h"
#include "verbs/srq.h"
#include "verbs/ucontext.h"

/*
 * For each type that mlx5_ib_qp_type_exists() knows, other than DRIVER, the kind of queue pairs of
 * processes and the kind of queue pairs of the kernel. The target of an XRC connection belongs to
 * its domain and not to the process that created the target, so ib_core passes no user data, as for
 * the kernel.
 */
static const struct {
	const struct mlx5_ib_qp_ops *user;
	const struct mlx5_ib_qp_ops *kernel;
} qp_kinds[] = {
	[IB_QPT_SMI] = { NULL, &mlx5_ib_kernel_qp_ops },
	[IB_QPT_GSI] = { NULL, &mlx5_ib_gsi_ops },
	[IB_QPT_RC] = { &mlx5_ib_user_qp_ops, &mlx5_ib_kernel_qp_ops },
	[IB_QPT_UC] = { &mlx5_ib_user_qp_ops, &mlx5_ib_kernel_qp_ops },
	[IB_QPT_UD] = { &mlx5_ib_user_qp_ops, &mlx5_ib_kernel_qp_ops },
	[IB_QPT_RAW_PACKET] = { &mlx5_ib_raw_qp_ops, NULL },
	[IB_QPT_XRC_INI] = { &mlx5_ib_user_qp_ops, NULL },
	[IB_QPT_XRC_TGT] = { NULL, &mlx5_ib_xrc_target_ops },
};

/*
 * Choose the kind of a queue pair of type DRIVER, which the library's request says: a DC initiator
 * is a QP at the device as others are, a DC target is not. Returns 0 or a negative errno.
 */
static int qp_driver_kind(struct mlx5_ib_dev *dev, struct ib_udata *udata,
			  const struct mlx5_ib_qp_ops **ops)
{
	struct mlx5_ib_create_qp ucmd = {};
	int err;

	err = ib_copy_validate_udata_in(udata, ucmd, flags);
	if (err)
		return err;
	switch (ucmd.flags & (MLX5_QP_FLAG_TYPE_DCI | MLX5_QP_FLAG_TYPE_DCT)) {
	case MLX5_QP_FLAG_TYPE_DCI:
		*ops = &mlx5_ib_user_qp_ops;
		return 0;
	case MLX5_QP_FLAG_TYPE_DCT:
		*ops = &mlx5_ib_dct_ops;
		return 0;
	default:
		return refuse(dev->mdev, -EINVAL,
			      "QP of type DRIVER with driver flags %#x: must be a DCI or a DCT",
			      ucmd.flags);
	}
}

/* The kind of a queue pair of a process. Returns 0 or a negative errno. */
static int qp_user_kind(struct mlx5_ib_dev *dev, const struct ib_qp_init_attr *init,
			struct ib_udata *udata, const struct mlx5_ib_qp_ops **ops)
{
	if (init->rwq_ind_tbl) {
		/* Only packets can be spread over the receive queues of an indirection table. */
		*ops = init->qp_type == IB_QPT_RAW_PACKET ? &mlx5_ib_rss_qp_ops : NULL;
		return 0;
	}
	if (init->qp_type == IB_QPT_DRIVER)
		return qp_driver_kind(dev, udata, ops);
	*ops = qp_kinds[init->qp_type].user;
	return 0;
}

/* Choose the kind of a new queue pair; NULL if there is none. Returns 0 or a negative errno. */
static int qp_choose_kind(struct mlx5_ib_dev *dev, const struct ib_qp_init_attr *init,
			  struct ib_udata *udata, const struct mlx5_ib_qp_ops **ops)
{
	*ops = NULL;
	/* Check the type first: the user data of other types have another layout. */
	if (!mlx5_ib_qp_type_exists(init->qp_type, &dev->caps))
		return 0;
	if (udata)
		return qp_user_kind(dev, init, udata, ops);
	if (init->qp_type != IB_QPT_DRIVER && !init->rwq_ind_tbl)
		*ops = qp_kinds[init->qp_type].kernel;
	return 0;
}

/* Check that all objects exist which the commands that create the queue pair are to name. */
static int qp_check_named(const struct ib_qp *ibqp, const struct ib_qp_init_attr *init)
{
	return mlx5_ib_check_pd(ibqp->pd) ?: mlx5_ib_check_cq(init->send_cq) ?:
	       mlx5_ib_check_cq(init->recv_cq) ?: mlx5_ib_check_srq(init->srq);
}

/**
 * mlx5_ib_create_qp - create a queue pair
 * @ibqp: the object, zeroed but for what ib_core sets
 * @init: type, CQs, capacities, flags
 * @udata: struct mlx5_ib_create_qp, or struct mlx5_ib_create_qp_rss with an indirection table; NULL
 *	for a kernel consumer, and for the target of an XRC connection
 *
 * Implements ibv_create_qp(3) and ib_create_qp() with CREATE_QP (struct
 * mlx5_ifc_create_qp_in_bits), or, for raw packets, with the commands of raw_qp.c or rss_qp.c. May
 * sleep.
 *
 * Return: 0; -EOPNOTSUPP for a type other than RC, UC, UD, RAW_PACKET, XRC and DRIVER, which is a
 * DC initiator or target (users only), SMI and GSI (kernel consumers only), for a type or feature
 * that the device lacks, for queues in two buffers, and for a type other than RAW_PACKET with an
 * indirection table;
 * -EINVAL for invalid attributes, signatures that the device cannot check, queues that are too
 * short for the requests or too long for the device, a buffer or doorbell record that is not
 * aligned, or a doorbell register that is not the user's; -ENOMEM, also if the user has as many
 * queue pairs as a user can have, or if there is no transport domain left for raw packets; -EFAULT;
 * as mlx5_ib_umem_get() for memory that cannot be pinned; -EINTR if the task is being killed; -EIO
 * as mlx5_ib_check_pd(), mlx5_ib_check_cq() and mlx5_ib_check_srq(); or the errno of a failed
 * command.
 */
int mlx5_ib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	const struct mlx5_ib_qp_ops *ops;
	int err;

	err = qp_choose_kind(to_mdev(ibqp->device), init, udata, &ops);
	if (err)
		return err;
	if (!ops)
		return refuse(to_mdev(ibqp->device)->mdev, -EOPNOTSUPP,
			      "QP of type %u (%s indirection table): the driver or device has none, or not for this caller",
			      init->qp_type, init->rwq_ind_tbl ? "with" : "without");
	err = qp_check_named(ibqp, init);
	err = err ?: mlx5_ib_qp_create(to_mqp(ibqp), ops, init, udata);
	if (err)
		mlx5_ib_drop_loopback(to_mdev(ibqp->device), &to_mqp(ibqp)->loopback);
	return err;
}

/**
 * mlx5_ib_modify_qp - change a queue pair's state or attributes
 * @ibqp: the queue pair
 * @attr: attributes
 * @mask: enum ib_qp_attr_mask: which attributes are valid
 * @udata: struct mlx5_ib_modify_qp, or empty; NULL for a kernel consumer
 *
 * Implements ibv_modify_qp(3) and ib_modify_qp(). May sleep.
 *
 * Return: -EIO as mlx5_ib_check_qp(); or as mlx5_ib_plain_qp_modify().
 */
int mlx5_ib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		      struct ib_udata *udata)
{
	struct mlx5_ib_qp *qp = to_mqp(ibqp);

	return mlx5_ib_check_qp(qp) ?: qp->ops->modify(qp, attr, mask, udata);
}

/**
 * mlx5_ib_query_qp - read a queue pair's attributes
 * @ibqp: the queue pair
 * @attr: gets all attributes that the device has
 * @mask: which attributes are asked for, but @attr and @init are filled in completely. Resource
 *	tracking passes 0
 * @init: gets what the queue pair was created with
 *
 * Implements ibv_query_qp(3) and ib_query_qp(). May sleep.
 *
 * Return: 0; -EAGAIN, with which resource tracking leaves the queue pair out, if its process has
 * closed the device and the queue pair is being destroyed; -EIO as mlx5_ib_check_qp(), or as
 * @query of struct mlx5_ib_qp_ops, but -EAGAIN if @mask is 0; or another errno of @query.
 */
int mlx5_ib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		     struct ib_qp_init_attr *init)
{
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	int err;

	guard(mutex)(&qp->mutex);
	if (qp->closing)
		return -EAGAIN;
	memset(attr, 0, sizeof(*attr));
	err = mlx5_ib_check_qp(qp) ?: qp->ops->query(qp, attr);
	/*
	 * -EAGAIN makes resource tracking skip a queue pair that may be gone; after any other errno
	 * it would not list the queue pairs of other processes either.
	 */
	if (err)
		return err == -EIO && !mask ? -EAGAIN : err;
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	attr->cap = qp->init.cap;
	*init = qp->init;
	return 0;
}

/**
 * mlx5_ib_qp_set_counter - choose the Q counter set that a queue pair counts in
 * @qp: the queue pair
 * @set_id: number of the set
 *
 * See @set_counter of struct mlx5_ib_qp_ops. No command is sent for a queue pair that is being
 * destroyed because its process has closed the device. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for a queue pair in RTS if the device cannot change the set there, and for
 * a queue pair that is not one QP at the device; -EIO as mlx5_ib_check_qp(); or the errno of a
 * failed command.
 */
int mlx5_ib_qp_set_counter(struct mlx5_ib_qp *qp, u16 set_id)
{
	if (!qp->ops->set_counter)
		return refuse(to_mdev(qp->ibqp.device)->mdev, -EOPNOTSUPP,
			      "counter set for a QP of type %u, which is not a single QP at the device",
			      qp->ibqp.qp_type);
	return mlx5_ib_check_qp(qp) ?: qp->ops->set_counter(qp, set_id);
}

/**
 * mlx5_ib_destroy_qp - destroy a queue pair
 * @ibqp: the queue pair
 * @udata: data of the user's call; NULL for a queue pair of a kernel consumer, and for the target
 *	of an XRC connection
 *
 * After success no event is delivered any more. May sleep.
 *
 * Return: 0; or the errno of the failed DESTROY_QP, and then the queue pair keeps its buffer,
 * doorbell record and register. Always 0 for an XRC target, for a kernel consumer, and for a
 * process that has closed the device: a QP that firmware then refuses to destroy becomes an orphan
 * (orphan.c).
 */
int mlx5_ib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	int err;

	/* First retry refused detachments: firmware may refuse to destroy an attached QP. */
	mlx5_ib_orphans_retry(to_mdev(ibqp->device), qp->mem.context);
	/*
	 * ib_core has put the queue pair's reference to its counter, even if firmware has refused
	 * to unbind the queue pair from the counter. If the queue pair cannot be destroyed now,
	 * ib_core must not unbind it again later: the counter may have been freed by then.
	 */
	ibqp->counter = NULL;
	/* If firmware refuses now, the QP becomes an orphan: resource tracking has to skip it. */
	if (qp->mem.context && qp->mem.context->closing)
		WRITE_ONCE(qp->closing, true);
	err = qp->ops->destroy(qp);
	if (!err)
		mlx5_ib_drop_loopback(to_mdev(ibqp->device), &qp->loopback);
	return err;
}

/**
 * mlx5_ib_destroy_qp_early - begin to destroy a queue pair of a process that has closed the device
 * @ibqp: the queue pair, or a handle that ibv_open_qp(3) has returned
 * @batch: the batch that the commands become part of
 *
 * Called before ib_core destroys the objects of the process; the process cannot use them any more.
 * Once the batch has destroyed the queue pair, mlx5_ib_destroy_qp() releases what belongs to it
 * without another DESTROY_QP. Nothing is done to a handle of ibv_open_qp(3), or to a queue pair
 * that has such a handle, that ib_core has to detach from multicast groups first, or that an
 * earlier call has begun to destroy. May sleep.
 */
void mlx5_ib_destroy_qp_early(struct ib_qp *ibqp, struct mlx5_ib_fw_batch *batch)
{
	struct mlx5_ib_qp *qp = to_mqp(ibqp);

	/* @usecnt counts multicast groups of the queue pair, and handles of ibv_open_qp(3). */
	if (ibqp->real_qp != ibqp || !qp->ops->destroy_early || atomic_read(&ibqp->usecnt))
		return;
	scoped_guard(mutex, &qp->mutex) {
		if (qp->closing)
			return;
		qp->closing = true;
	}
	qp->ops->destroy_early(qp, batch);
}

/**
 * mlx5_ib_post_send - post send requests of a kernel consumer
 * @ibqp: the queue pair
 * @wr: requests, a list
 * @bad: gets the first request that could not be posted; requests before it have been posted
 *
 * Implements ib_post_send(). Any context.
 *
 * Return: as mlx5_ib_post_sends(); also -EINVAL for a request to QP1 with a P_Key for which QP1 has
 * no sender (gsi.c).
 */
int mlx5_ib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		      const struct ib_send_wr **bad)
{
	struct mlx5_ib_qp *qp = to_mqp(ibqp);

	return INDIRECT_CALL_1(qp->ops->post_send, mlx5_ib_post_sends, qp, wr, NULL, bad);
}
