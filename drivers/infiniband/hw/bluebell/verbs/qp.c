// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: create, query and destroy them. Changes of state are in qp_modify.c; what
 * only those of kernel consumers have is in qp_kernel.c.
 */

#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/mm.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_wq.h"
#include "lib/queue_cmd.h"
#include "lib/umem.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/srq.h"
#include "verbs/uar.h"
#include "verbs/wqe_read.h"
#include "verbs/xrc.h"

/**
 * struct qp_ops - what differs between the types of queue pairs
 * @rsc: destruction and events
 * @create: creates a queue pair of the type; @udata is NULL unless a process asks for it
 */
struct qp_ops {
	const struct mlx5_ib_rsc_ops *rsc;
	int (*create)(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp, const struct qp_ops *ops,
		      struct ib_qp_init_attr *init, struct ib_udata *udata);
};

/*
 * The UAR that rings the QP: one that the request names as a UAR object, the one
 * of a dynamic register that it names, or one chosen here.
 */
static int qp_get_bfreg(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_qp *qp, u32 *bfreg_index)
{
	u32 asked = qp->ucmd.bfreg_index, flags = qp->ucmd.flags;
	int index, bfregn;

	*bfreg_index = asked;
	if (flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) {
		qp->mem.uar = mlx5_ib_get_uar(ctx, asked);
		index = qp->mem.uar ? asked : -EINVAL;
	} else if (flags & MLX5_QP_FLAG_BFREG_INDEX) {
		index = bfregn_to_uar_index(&ctx->bfregi, asked, true);
	} else {
		bfregn = mlx5_ib_alloc_bfreg(&ctx->bfregi);
		if (bfregn < 0)
			return bfregn;
		qp->bfregn = bfregn;
		index = bfregn_to_uar_index(&ctx->bfregi, bfregn, false);
		*bfreg_index = mlx5_ib_bfregn_to_user_index(bfregn);
	}
	if (index < 0)
		return index;
	MLX5_SET(qpc, qp->qpc, uar_page, index);
	return 0;
}

static u32 qp_bfreg_number(const struct mlx5_ib_ucontext *ctx, const struct mlx5_ib_qp *qp)
{
	if (qp->bfregn != MLX5_IB_INVALID_BFREG)
		return qp->bfregn;
	/* Of a UAR object the library alone knows which of its registers rings the QP. */
	if (qp->mem.uar)
		return BLUEBELL_NO_BFREG;
	return ctx->bfregi.layout.num_static_bfregs + qp->ucmd.bfreg_index;
}

static void qp_add_bell(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_qp *qp)
{
	qp->bell.queue = (struct bluebell_queue){
		.type = BLUEBELL_QUEUE_QP,
		.qp_type = qp->ibqp.qp_type,
		.number = qp->rsc.num,
		.uar = MLX5_GET(qpc, qp->qpc, uar_page),
		.bfreg = qp_bfreg_number(ctx, qp),
	};
	mlx5_ib_bell_add(ctx, &qp->bell);
}

/* Undo qp_get_resources(), as far as it got, or mlx5_ib_kernel_qp_prepare(). */
static void qp_put_resources(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_qp *qp)
{
	if (qp->wqs) {
		mlx5_ib_kernel_qp_release(qp->rsc.dev, qp);
		return;
	}
	mlx5_ib_queue_mem_unmap_user(&qp->mem);
	if (qp->bfregn != MLX5_IB_INVALID_BFREG)
		mlx5_ib_free_bfreg(&ctx->bfregi, qp->bfregn);
}

/*
 * Pin the memory of both queues: where an attribute of the request says, or else where the
 * library's request says. The device only reads its work queues. Returns NULL for a queue
 * pair without queues.
 */
static struct ib_umem *qp_pin(struct mlx5_ib_dev *dev, const struct mlx5_ib_qp *qp, int size,
			      const struct uverbs_attr_bundle *attrs)
{
	struct ib_umem *umem;

	/* The queues lie in one buffer. */
	if (uverbs_attr_is_valid(attrs, UVERBS_ATTR_CREATE_QP_RQ_BUF_UMEM) ||
	    uverbs_attr_is_valid(attrs, UVERBS_ATTR_CREATE_QP_SQ_BUF_UMEM))
		return ERR_PTR(-EOPNOTSUPP);
	if (!size)
		return uverbs_attr_is_valid(attrs, UVERBS_ATTR_CREATE_QP_BUF_UMEM) ?
			ERR_PTR(-EINVAL) : NULL;
	umem = ib_umem_get_attr(&dev->ib_dev, attrs, UVERBS_ATTR_CREATE_QP_BUF_UMEM, size, 0);
	return umem ?: mlx5_ib_umem_get(dev, qp->ucmd.buf_addr, size, 0);
}

static int qp_get_resources(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *ctx,
			    struct mlx5_ib_qp *qp, int buf_size, u32 *bfreg_index,
			    const struct uverbs_attr_bundle *attrs)
{
	int err;

	err = qp_get_bfreg(ctx, qp, bfreg_index);
	if (err)
		return err;
	return mlx5_ib_queue_mem_map_user(&qp->mem, ctx, qp_pin(dev, qp, buf_size, attrs),
					  buf_size, MLX5_IB_MAX_PAGE_OFFSET, qp->ucmd.db_addr);
}

static void qp_event(struct mlx5_ib_rsc *rsc, enum ib_event_type type)
{
	struct mlx5_ib_qp *qp = container_of(rsc, struct mlx5_ib_qp, rsc);
	struct ib_qp *ibqp = &qp->ibqp;
	struct ib_event event = {
		.device = ibqp->device,
		.event = type,
		.element.qp = ibqp,
	};

	if (qp->wqs && !mlx5_ib_kernel_qp_takes_event(qp, type))
		return;
	if (ibqp->event_handler)
		ibqp->event_handler(&event, ibqp->qp_context);
}

static const struct mlx5_ib_rsc_ops qp_rsc_ops = {
	.type = MLX5_RES_QP,
	.name = "QP",
	.destroy_op = MLX5_CMD_OP_DESTROY_QP,
	.event = qp_event,
	.read_wqe = mlx5_ib_qp_read_wqe,
};

static const struct mlx5_ib_rsc_ops tgt_rsc_ops = {
	.type = MLX5_RES_QP,
	.name = "XRC target",
	.destroy_op = MLX5_CMD_OP_DESTROY_QP,
	.insist = true,
	.event = qp_event,
	.read_wqe = mlx5_ib_qp_read_wqe,
};

static void qp_init(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp, const struct qp_ops *ops,
		    u16 uid)
{
	mutex_init(&qp->mutex);
	qp->rsc.dev = dev;
	qp->rsc.ops = ops->rsc;
	qp->rsc.uid = uid;
	qp->state = IB_QPS_RESET;
	qp->bfregn = MLX5_IB_INVALID_BFREG;
	qp->counter_set = dev->counter_set_id;
}

/*
 * Create the QP at the device, answer the user, if there is one, and add the QP to
 * the table. Events cannot be missed: the QP is not taken out of reset before
 * creation has succeeded.
 */
static int qp_create_and_respond(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp,
				 struct mlx5_ib_create_qp_resp *resp, struct ib_udata *udata)
{
	int err;

	err = mlx5_ib_create_qp_cmd(dev, qp->rsc.uid, &qp->mem, qp->qpc, &qp->rsc.num,
				    &resp->ece_options);
	if (err)
		return err;
	qp->ibqp.qp_num = qp->rsc.num;
	return mlx5_ib_rsc_respond_and_add(&qp->rsc, &qp->mem, udata, resp, sizeof(*resp));
}

/* Returns the bytes of the queues, or a negative errno. */
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
	/* Without a receive queue the stride has no meaning, but others compute with it. */
	if (!ucmd->rq_wqe_count)
		ucmd->rq_wqe_shift = 0;
	return mlx5_ib_calc_user_wq(init, ucmd, &dev->caps);
}

/* @cqe_version: of the user's context; 0 for a kernel consumer, whose completions name the QP. */
static void qp_fill_qpc(struct mlx5_ib_dev *dev, u8 cqe_version, struct mlx5_ib_qp *qp,
			const struct ib_qp_init_attr *init)
{
	struct mlx5_ib_cq *scq = to_mcq(init->send_cq);
	struct mlx5_ib_cq *rcq = init->recv_cq ? to_mcq(init->recv_cq) : NULL;
	void *qpc = qp->qpc;

	mlx5_ib_fill_qpc(qpc, init, &qp->ucmd);
	mlx5_ib_scatter_to_cqe(qpc, init, qp->ucmd.flags, scq->cqe_size, rcq ? rcq->cqe_size : 0,
			       &dev->caps);
	MLX5_SET(qpc, qpc, pd, to_mpd(qp->ibqp.pd)->pdn);
	MLX5_SET(qpc, qpc, user_index,
		 mlx5_ib_qp_uidx(qp->ucmd.uidx, cqe_version, &dev->caps));
	MLX5_SET(qpc, qpc, cqn_snd, scq->mcq.cqn);
	MLX5_SET(qpc, qpc, cqn_rcv, rcq ? rcq->mcq.cqn : 0);
	MLX5_SET(qpc, qpc, ts_format, scq->real_time || (rcq && rcq->real_time) ?
				      MLX5_TIMESTAMP_FORMAT_REAL_TIME : dev->caps.qp_ts_format);
	if (init->srq)
		MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, to_msrq(init->srq)->rsc.num);
	if (init->qp_type == IB_QPT_XRC_INI)
		mlx5_ib_xrc_fill_qpc(dev, NULL, qpc);
	MLX5_SET(qpc, qpc, deth_sqpn, qp->sends_as_qp1);
}

static int qp_create_kernel(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp,
			    const struct qp_ops *ops, struct ib_qp_init_attr *init)
{
	struct mlx5_ib_create_qp_resp resp = {};
	int err;

	/* Kernel consumers have no XRC. */
	if (init->qp_type == IB_QPT_XRC_INI)
		return -EOPNOTSUPP;
	err = mlx5_ib_qp_check_create(init, &qp->ucmd, &dev->caps);
	if (err)
		return err;
	qp_init(dev, qp, ops, MLX5_IB_KERNEL_UID);
	err = mlx5_ib_kernel_qp_prepare(dev, qp, init);
	if (err)
		return err;
	qp_fill_qpc(dev, 0, qp, init);
	err = qp_create_and_respond(dev, qp, &resp, NULL);
	if (!err)
		err = mlx5_ib_kernel_qp_attach(dev, qp);
	if (err)
		mlx5_ib_kernel_qp_release(dev, qp);
	return err;
}

/*
 * The queue pairs that the RDMA core has for management datagrams. To it they have the numbers
 * that they have on the wire, at the device they have others.
 */
static int qp_create_special(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp,
			     const struct qp_ops *ops, struct ib_qp_init_attr *init,
			     struct ib_udata *udata)
{
	int err = udata ? -EOPNOTSUPP : qp_create_kernel(dev, qp, ops, init);

	if (!err)
		qp->ibqp.qp_num = init->qp_type == IB_QPT_GSI;
	return err;
}

static int qp_create_user(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp, const struct qp_ops *ops,
			  struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_create_qp_resp resp = {};
	int buf_size, err;

	if (!udata)
		return qp_create_kernel(dev, qp, ops, init);
	buf_size = qp_parse_request(dev, ctx, init, udata, &qp->ucmd);
	if (buf_size < 0)
		return buf_size;
	err = init->qp_type == IB_QPT_XRC_INI ? mlx5_ib_use_xrc(dev) : 0;
	if (err)
		return err;

	/* An XRC initiator names objects of the driver: mlx5_ib_xrc_fill_qpc(). */
	qp_init(dev, qp, ops,
		init->qp_type == IB_QPT_XRC_INI ? MLX5_IB_KERNEL_UID : ctx->uid);
	qp_fill_qpc(dev, ctx->cqe_version, qp, init);
	if (MLX5_CAP_GEN(dev->mdev, ece_support))
		resp.ece_options = qp->ucmd.ece_options;
	err = qp_get_resources(dev, ctx, qp, buf_size, &resp.bfreg_index,
			       rdma_udata_to_uverbs_attr_bundle(udata));
	if (!err)
		err = qp_create_and_respond(dev, qp, &resp, udata);
	if (err)
		qp_put_resources(ctx, qp);
	else
		qp_add_bell(ctx, qp);
	return err;
}

/*
 * The target of an XRC connection belongs to its domain and not to the process
 * that made it, so ib_core calls without user data. It has no memory of a process,
 * and no queues.
 */
static int qp_create_tgt(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp, const struct qp_ops *ops,
			 struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_ib_create_qp_resp resp = {};
	int err;

	err = mlx5_ib_qp_check_create(init, &qp->ucmd, &dev->caps);
	if (err)
		return err;
	init->cap = (struct ib_qp_cap){};
	qp_init(dev, qp, ops, MLX5_IB_KERNEL_UID);
	mlx5_ib_fill_qpc(qp->qpc, init, &qp->ucmd);
	MLX5_SET(qpc, qp->qpc, user_index, mlx5_ib_qp_uidx(0, 0, &dev->caps));
	MLX5_SET(qpc, qp->qpc, ts_format, dev->caps.qp_ts_format);
	mlx5_ib_xrc_fill_qpc(dev, init->xrcd, qp->qpc);
	return qp_create_and_respond(dev, qp, &resp, NULL);
}

static const struct qp_ops user_qp_ops = { .rsc = &qp_rsc_ops, .create = qp_create_user };

static const struct qp_ops special_qp_ops = { .rsc = &qp_rsc_ops, .create = qp_create_special };

static const struct qp_ops xrc_tgt_ops = { .rsc = &tgt_rsc_ops, .create = qp_create_tgt };

/* Operations of each type that mlx5_ib_qp_type_exists() knows. */
static const struct qp_ops *const qp_types[] = {
	[IB_QPT_SMI] = &special_qp_ops,
	[IB_QPT_GSI] = &special_qp_ops,
	[IB_QPT_RC] = &user_qp_ops,
	[IB_QPT_UC] = &user_qp_ops,
	[IB_QPT_UD] = &user_qp_ops,
	[IB_QPT_XRC_INI] = &user_qp_ops,
	[IB_QPT_XRC_TGT] = &xrc_tgt_ops,
};

/**
 * mlx5_ib_create_qp - create a queue pair
 * @ibqp: the object, zeroed but for what ib_core sets
 * @init: type, CQs, capacities, flags
 * @udata: struct mlx5_ib_create_qp; NULL for a kernel consumer, and for the target of an XRC
 *	connection
 *
 * Implements ibv_create_qp(3) and ib_create_qp() with CREATE_QP (struct
 * mlx5_ifc_create_qp_in_bits). May sleep.
 *
 * Return: 0; -EOPNOTSUPP for another type than RC, UC, UD, for a user XRC, and for a kernel
 * consumer SMI and GSI; a type or feature that the device lacks, or queues in two buffers; -EINVAL
 * for a request that means nothing, queues that do not fit, or a doorbell register that is not
 * the user's; -ENOMEM, also beyond RLIMIT_MEMLOCK; -EFAULT for a buffer the process does not have;
 * or the errno of a firmware refusal.
 */
int mlx5_ib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibqp->device);
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	const struct qp_ops *ops;
	int err;

	/* By type first: other types come with other requests. */
	if (!mlx5_ib_qp_type_exists(init->qp_type, &dev->caps))
		return -EOPNOTSUPP;
	ops = qp_types[init->qp_type];
	err = ops->create(dev, qp, ops, init, udata);
	if (!err)
		qp->init = *init;
	return err;
}

/**
 * mlx5_ib_query_qp - read a queue pair's attributes
 * @ibqp: the queue pair
 * @attr: everything the device knows
 * @mask: not used: all is given
 * @init: what it was created with
 *
 * Implements ibv_query_qp(3) with QUERY_QP. The state is the device's own: the
 * queue pair may have left the one that was last asked for. May sleep.
 *
 * Return: 0; -EIO for a state verbs do not know; -EAGAIN for a queue pair that is being destroyed
 * because its process has closed the device, which resource tracking then leaves out; or the errno
 * of a firmware refusal.
 */
int mlx5_ib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		     struct ib_qp_init_attr *init)
{
	struct mlx5_ib_dev *dev = to_mdev(ibqp->device);
	u32 out[MLX5_ST_SZ_DW(query_qp_out)] = {};
	void *qpc = MLX5_ADDR_OF(query_qp_out, out, qpc);
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	int state, err;

	guard(mutex)(&qp->mutex);
	if (qp->closing)
		return -EAGAIN;
	err = mlx5_fw_query_object(dev, qp->rsc.uid, MLX5_CMD_OP_QUERY_QP, qp->rsc.num, out,
				   sizeof(out));
	if (err)
		return err;
	state = mlx5_ib_qp_state_from_hw(MLX5_GET(qpc, qpc, state));
	if (state < 0)
		return state;
	qp->state = state;

	memset(attr, 0, sizeof(*attr));
	mlx5_ib_read_qpc(qpc, ibqp->qp_type, attr);
	attr->qp_state = state;
	attr->cur_qp_state = state;
	attr->cap = qp->init.cap;
	*init = qp->init;
	return 0;
}

/**
 * mlx5_ib_destroy_qp - destroy a queue pair
 * @ibqp: the queue pair
 * @udata: of the user whose queue pair it is; NULL for a kernel consumer, and for the target of
 *	an XRC connection
 *
 * When it returns no event is being delivered. May sleep.
 *
 * Return: 0, or the errno of a firmware that refuses to destroy it; then buffer,
 * doorbell record and register stay with the queue pair. 0 in any case for a target,
 * and for a kernel consumer, who does not try again.
 */
int mlx5_ib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	int err;

	if (qp->wqs) {
		mlx5_ib_kernel_qp_destroy(qp->rsc.dev, qp);
		return 0;
	}
	mlx5_ib_bell_del(qp->mem.context, &qp->bell);
	err = mlx5_ib_rsc_destroy(&qp->rsc);
	if (!err)
		qp_put_resources(qp->mem.context, qp);
	else if (qp->mem.context)
		mlx5_ib_bell_add(qp->mem.context, &qp->bell);
	return err;
}

/**
 * mlx5_ib_destroy_qp_early - have the device destroy a queue pair of a process that has closed it
 * @ibqp: the queue pair, or a handle that ibv_open_qp(3) has returned
 * @batch: the batch that the command becomes part of
 *
 * For before ib_core destroys the objects of the process, which nobody uses any more: then
 * mlx5_ib_destroy_qp() need not wait for the command, and releases what belongs to the queue pair.
 * A queue pair for which that is not possible is left alone: one that ib_core detaches from
 * multicast groups first, one that others have opened, and one that firmware has refused to destroy
 * already. May sleep.
 */
void mlx5_ib_destroy_qp_early(struct ib_qp *ibqp, struct mlx5_ib_fw_batch *batch)
{
	struct mlx5_ib_qp *qp = to_mqp(ibqp);

	/* ib_core counts multicast groups and further handles alike. */
	if (ibqp->real_qp != ibqp || ibqp->qp_type == IB_QPT_XRC_TGT || atomic_read(&ibqp->usecnt))
		return;
	scoped_guard(mutex, &qp->mutex) {
		if (qp->closing)
			return;
		qp->closing = true;
	}
	mlx5_ib_bell_del(qp->mem.context, &qp->bell);
	mlx5_ib_rsc_destroy_early(&qp->rsc, batch);
}
