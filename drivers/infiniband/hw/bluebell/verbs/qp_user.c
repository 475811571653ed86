// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs of processes, and the targets of XRC connections, which belong to an XRC domain.
 */

#include <linux/mlx5/driver.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_wq.h"
#include "layout/refuse.h"
#include "lib/umem.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/srq.h"
#include "verbs/verbs.h"

/* Release the memory and the static register of a QP, as far as the QP has them. */
static void qp_put_resources(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_qp *qp)
{
	mlx5_ib_queue_mem_unmap_user(&qp->mem);
	mlx5_ib_qp_put_bfreg(ctx, qp);
}

/*
 * Pin the memory of both queues: the memory that an attribute of the call names, or else the memory
 * that the library's request names. Pin it for reading, because the device does not write to work
 * queues. Returns NULL for a queue pair without queues.
 */
static struct ib_umem *qp_pin(struct mlx5_ib_dev *dev, const struct mlx5_ib_qp *qp, int size,
			      struct ib_udata *udata)
{
	const struct uverbs_attr_bundle *attrs = rdma_udata_to_uverbs_attr_bundle(udata);
	struct ib_umem *umem;

	/* Both queues have to be in one buffer. */
	if (uverbs_attr_is_valid(attrs, UVERBS_ATTR_CREATE_QP_RQ_BUF_UMEM) ||
	    uverbs_attr_is_valid(attrs, UVERBS_ATTR_CREATE_QP_SQ_BUF_UMEM))
		return ERR_PTR(refuse(dev->mdev, -EOPNOTSUPP,
				      "QP with a umem for one of its queues, must be for both"));
	if (!size)
		return uverbs_attr_is_valid(attrs, UVERBS_ATTR_CREATE_QP_BUF_UMEM) ?
			ERR_PTR(refuse(dev->mdev, -EINVAL,
				       "QP without queues, but with a buffer attribute")) : NULL;
	umem = ib_umem_get_attr(&dev->ib_dev, attrs, UVERBS_ATTR_CREATE_QP_BUF_UMEM, size, 0);
	return umem ?: mlx5_ib_umem_get(dev, qp->ucmd.buf_addr, size, 0);
}

/* Copy and check the library's request. Returns the bytes of both queues, or a negative errno. */
static int qp_parse_request(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *ctx,
			    struct ib_qp_init_attr *init, struct ib_udata *udata,
			    struct mlx5_ib_create_qp *ucmd)
{
	int err;

	err = ib_copy_validate_udata_in(udata, *ucmd, flags);
	if (err)
		return err;
	err = mlx5_ib_qp_check_create(init, ucmd, &dev->caps);
	if (err)
		return err;
	err = mlx5_ib_qp_check_uidx(ucmd->uidx, udata->inlen >= offsetofend(typeof(*ucmd), uidx),
				    ctx->cqe_version);
	if (err)
		return err;
	/*
	 * Without a receive queue any rq_wqe_shift is allowed: clear the field, because
	 * mlx5_ib_calc_user_wq() shifts by it.
	 */
	if (!ucmd->rq_wqe_count)
		ucmd->rq_wqe_shift = 0;
	return mlx5_ib_calc_user_wq(init, ucmd, &dev->caps);
}

static int qp_fill_user_qpc(struct mlx5_ib_qp *qp, const struct mlx5_ib_ucontext *ctx,
			    const struct ib_qp_init_attr *init)
{
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	int err;

	mlx5_ib_plain_qp_fill_qpc(qp, init, ctx->cqe_version);
	qp->uid = ctx->uid;
	if (init->qp_type != IB_QPT_XRC_INI)
		return 0;
	err = mlx5_ib_use_xrc(dev);
	if (err)
		return err;
	mlx5_ib_xrc_fill_qpc(dev, NULL, qp->qpc);
	/*
	 * The QP gets no user id, because its context names objects of the driver, which have no
	 * user id either.
	 */
	qp->uid = MLX5_IB_KERNEL_UID;
	return 0;
}

static int user_qp_create(struct mlx5_ib_qp *qp, struct ib_qp_init_attr *init,
			  struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	struct mlx5_ib_create_qp_resp resp = {};
	int buf_size, err;

	buf_size = qp_parse_request(dev, ctx, init, udata, &qp->ucmd);
	if (buf_size < 0)
		return buf_size;
	err = qp_fill_user_qpc(qp, ctx, init);
	if (err)
		return err;
	if (MLX5_CAP_GEN(dev->mdev, ece_support))
		resp.ece_options = qp->ucmd.ece_options;
	err = mlx5_ib_share_take(ctx, MLX5_IB_SHARE_QP, &qp->mem.share) ?:
	      mlx5_ib_qp_get_bfreg(ctx, qp, &resp.bfreg_index);
	if (!err)
		err = mlx5_ib_queue_mem_map_user(&qp->mem, ctx, qp_pin(dev, qp, buf_size, udata),
						 buf_size, MLX5_IB_MAX_PAGE_OFFSET,
						 qp->ucmd.db_addr);
	if (!err)
		err = mlx5_ib_plain_qp_create(qp, &mlx5_ib_plain_qp_rsc_ops, &resp, udata);
	if (err)
		qp_put_resources(ctx, qp);
	else
		mlx5_ib_qp_add_bell(ctx, qp);
	return err;
}

static int user_qp_destroy(struct mlx5_ib_qp *qp)
{
	struct mlx5_ib_ucontext *ctx = qp->mem.context;
	int err;

	mlx5_ib_bell_del(ctx, &qp->bell);
	err = mlx5_ib_rsc_end(&qp->rsc, &qp->mem, qp->closing);
	if (!err)
		qp_put_resources(ctx, qp);
	else if (ctx)
		mlx5_ib_bell_add(ctx, &qp->bell);
	return err;
}

static void user_qp_destroy_early(struct mlx5_ib_qp *qp, struct mlx5_ib_fw_batch *batch)
{
	mlx5_ib_bell_del(qp->mem.context, &qp->bell);
	mlx5_ib_rsc_destroy_early(&qp->rsc, batch);
}

const struct mlx5_ib_qp_ops mlx5_ib_user_qp_ops = {
	.create = user_qp_create,
	.modify = mlx5_ib_plain_qp_modify,
	.query = mlx5_ib_plain_qp_query,
	.set_counter = mlx5_ib_plain_qp_set_counter,
	.destroy = user_qp_destroy,
	.destroy_early = user_qp_destroy_early,
};

/* ---- targets of XRC connections: no memory of a process, and no queues -------------------- */

static const struct mlx5_ib_rsc_ops target_rsc_ops = {
	.type = MLX5_RES_QP,
	.name = "XRC target",
	.destroy_op = MLX5_CMD_OP_DESTROY_QP,
	.repeats_destroy = true,
	.event = mlx5_ib_plain_qp_event,
	.read_wqe = mlx5_ib_qp_read_wqe,
};

static int target_create(struct mlx5_ib_qp *qp, struct ib_qp_init_attr *init,
			 struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	struct mlx5_ib_create_qp_resp resp = {};
	int err;

	err = mlx5_ib_qp_check_create(init, &qp->ucmd, &dev->caps);
	if (err)
		return err;
	init->cap = (struct ib_qp_cap){};
	qp->uid = MLX5_IB_KERNEL_UID;
	mlx5_ib_fill_qpc(qp->qpc, init, &qp->ucmd);
	MLX5_SET(qpc, qp->qpc, user_index, mlx5_ib_qp_uidx(0, 0, &dev->caps));
	MLX5_SET(qpc, qp->qpc, ts_format, dev->caps.qp_ts_format);
	mlx5_ib_xrc_fill_qpc(dev, init->xrcd, qp->qpc);
	/*
	 * ib_core passes no context, as the target may outlive any context: count the target
	 * against the limit of the current user.
	 */
	err = mlx5_ib_share_take_current(dev, MLX5_IB_SHARE_QP, &qp->mem.share) ?:
	      mlx5_ib_plain_qp_create(qp, &target_rsc_ops, &resp, NULL);
	if (err)
		mlx5_ib_share_give(&qp->mem.share);
	return err;
}

/*
 * Destroy a target. ib_core does not try again, whatever this function returns, so the target
 * becomes an orphan (orphan.c) if firmware refuses to destroy it. No process can subscribe to
 * events of a target, so no subscription has to end.
 */
static int target_destroy(struct mlx5_ib_qp *qp)
{
	mlx5_ib_rsc_discard(&qp->rsc, &qp->mem);
	mlx5_ib_share_give(&qp->mem.share);
	return 0;
}

const struct mlx5_ib_qp_ops mlx5_ib_xrc_target_ops = {
	.create = target_create,
	.modify = mlx5_ib_plain_qp_modify,
	.query = mlx5_ib_plain_qp_query,
	.set_counter = mlx5_ib_plain_qp_set_counter,
	.destroy = target_destroy,
};
