// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs of user space: create, query and destroy them. Changes of state are
 * in qp_modify.c.
 */

#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/mm.h>
#include <rdma/uverbs_ioctl.h>

#include "bluebell.h"
#include "cq.h"
#include "fw.h"
#include "qp.h"
#include "srq.h"
#include "uar.h"
#include "ucontext.h"
#include "xrc.h"

/**
 * struct qp_ops - what differs between the types of queue pairs
 * @rsc: destruction and events
 * @create: creates a queue pair of the type
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
static int qp_get_bfreg(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_qp *qp,
			const struct mlx5_ib_create_qp *ucmd, u32 *bfreg_index)
{
	int index, bfregn;

	*bfreg_index = ucmd->bfreg_index;
	if (ucmd->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) {
		qp->mem.uar = mlx5_ib_get_uar(ctx, ucmd->bfreg_index);
		if (!qp->mem.uar)
			return -EINVAL;
		qp->attr.uar_page = ucmd->bfreg_index;
		return 0;
	}
	if (ucmd->flags & MLX5_QP_FLAG_BFREG_INDEX) {
		index = bfregn_to_uar_index(&ctx->bfregi, ucmd->bfreg_index, true);
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
	qp->attr.uar_page = index;
	return 0;
}

/* Undo qp_get_resources(), as far as it got. */
static void qp_put_resources(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_qp *qp)
{
	mlx5_ib_queue_mem_unmap_user(&qp->mem);
	if (qp->bfregn != MLX5_IB_INVALID_BFREG)
		mlx5_ib_free_bfreg(&ctx->bfregi, qp->bfregn);
}

static int qp_get_resources(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *ctx,
			    struct mlx5_ib_qp *qp, const struct mlx5_ib_create_qp *ucmd,
			    u32 *bfreg_index)
{
	struct ib_umem *umem = NULL;
	int err;

	err = qp_get_bfreg(ctx, qp, ucmd, bfreg_index);
	if (err)
		return err;
	/* The device only reads its work queues. */
	if (qp->attr.wq.buf_size)
		umem = mlx5_ib_umem_get(dev, ucmd->buf_addr, qp->attr.wq.buf_size, 0);
	return mlx5_ib_queue_mem_map_user(&qp->mem, ctx, umem, MLX5_IB_MAX_PAGE_OFFSET,
					  ucmd->db_addr);
}

static void qp_init(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp, const struct qp_ops *ops,
		    u16 uid)
{
	mutex_init(&qp->mutex);
	qp->rsc.dev = dev;
	qp->rsc.ops = ops->rsc;
	qp->rsc.uid = uid;
	qp->state = IB_QPS_RESET;
	qp->bfregn = MLX5_IB_INVALID_BFREG;
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

	err = mlx5_ib_create_qp_cmd(dev, qp->rsc.uid, &qp->mem, &qp->attr, &qp->rsc.num,
				    &resp->ece_options);
	if (err)
		return err;
	qp->ibqp.qp_num = qp->rsc.num;
	return mlx5_ib_rsc_respond_and_add(&qp->rsc, udata, resp, sizeof(*resp));
}

static int qp_parse_request(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *ctx,
			    const struct ib_qp_init_attr *init, struct ib_udata *udata,
			    struct mlx5_ib_create_qp *ucmd, struct mlx5_ib_wq_layout *wq)
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
	return mlx5_ib_calc_user_wq(init, ucmd, &dev->caps, wq);
}

static void qp_fill_attr(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *ctx,
			 struct mlx5_ib_qp *qp, const struct ib_qp_init_attr *init,
			 const struct mlx5_ib_create_qp *ucmd)
{
	struct mlx5_ib_cq *scq = to_mcq(init->send_cq);
	struct mlx5_ib_cq *rcq = init->recv_cq ? to_mcq(init->recv_cq) : NULL;
	struct mlx5_ib_qpc_attr *attr = &qp->attr;

	attr->qp_type = init->qp_type;
	attr->pdn = to_mpd(qp->ibqp.pd)->pdn;
	attr->uidx = mlx5_ib_qp_uidx(ucmd->uidx, ctx->cqe_version, &dev->caps);
	attr->cqn_snd = scq->mcq.cqn;
	attr->cqn_rcv = rcq ? rcq->mcq.cqn : 0;
	attr->create_flags = init->create_flags;
	attr->vendor_flags = ucmd->flags;
	attr->ts_format = scq->real_time || (rcq && rcq->real_time) ?
			  MLX5_TIMESTAMP_FORMAT_REAL_TIME : dev->caps.qp_ts_format;
	if (init->srq) {
		attr->has_srq = true;
		attr->srqn = to_msrq(init->srq)->rsc.num;
	}
	mlx5_ib_scatter_to_cqe(init, ucmd->flags, scq->cqe_size, rcq ? rcq->cqe_size : 0,
			       &dev->caps, attr);
}

static int qp_create_user(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp, const struct qp_ops *ops,
			  struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_create_qp_resp resp = {};
	struct mlx5_ib_create_qp ucmd = {};
	int err;

	if (!udata)
		return -EOPNOTSUPP;
	err = qp_parse_request(dev, ctx, init, udata, &ucmd, &qp->attr.wq);
	if (err)
		return err;

	qp_init(dev, qp, ops, ctx->uid);
	qp_fill_attr(dev, ctx, qp, init, &ucmd);
	if (init->qp_type == IB_QPT_XRC_INI)
		mlx5_ib_xrc_fill_qpc(dev, NULL, &qp->attr);
	if (MLX5_CAP_GEN(dev->mdev, ece_support))
		resp.ece_options = ucmd.ece_options;
	err = qp_get_resources(dev, ctx, qp, &ucmd, &resp.bfreg_index);
	if (!err)
		err = qp_create_and_respond(dev, qp, &resp, udata);
	if (err) {
		qp_put_resources(ctx, qp);
		return err;
	}
	init->cap.max_recv_wr = qp->attr.wq.rq_wqe_cnt;
	init->cap.max_recv_sge = qp->attr.wq.rq_max_gs;
	return 0;
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

	err = mlx5_ib_qp_check_tgt(init, &dev->caps);
	if (err)
		return err;
	init->cap = (struct ib_qp_cap){};
	qp_init(dev, qp, ops, MLX5_IB_KERNEL_UID);
	qp->attr = (struct mlx5_ib_qpc_attr){
		.qp_type = IB_QPT_XRC_TGT,
		.uidx = mlx5_ib_qp_uidx(0, 0, &dev->caps),
		.create_flags = init->create_flags,
		.ts_format = dev->caps.qp_ts_format,
	};
	mlx5_ib_xrc_fill_qpc(dev, init->xrcd, &qp->attr);
	return qp_create_and_respond(dev, qp, &resp, NULL);
}

static void qp_event(struct mlx5_ib_rsc *rsc, enum ib_event_type type)
{
	struct ib_qp *ibqp = &container_of(rsc, struct mlx5_ib_qp, rsc)->ibqp;
	struct ib_event event = {
		.device = ibqp->device,
		.event = type,
		.element.qp = ibqp,
	};

	if (ibqp->event_handler)
		ibqp->event_handler(&event, ibqp->qp_context);
}

static const struct mlx5_ib_rsc_ops qp_rsc_ops = {
	.type = MLX5_RES_QP,
	.name = "QP",
	.destroy_op = MLX5_CMD_OP_DESTROY_QP,
	.event = qp_event,
};

static const struct mlx5_ib_rsc_ops tgt_rsc_ops = {
	.type = MLX5_RES_QP,
	.name = "XRC target",
	.destroy_op = MLX5_CMD_OP_DESTROY_QP,
	.insist = true,
	.event = qp_event,
};

static const struct qp_ops user_qp_ops = { .rsc = &qp_rsc_ops, .create = qp_create_user };

static const struct qp_ops xrc_tgt_ops = { .rsc = &tgt_rsc_ops, .create = qp_create_tgt };

static const struct qp_ops *const qp_types[] = {
	[IB_QPT_RC] = &user_qp_ops,
	[IB_QPT_UC] = &user_qp_ops,
	[IB_QPT_UD] = &user_qp_ops,
	[IB_QPT_XRC_INI] = &user_qp_ops,
	[IB_QPT_XRC_TGT] = &xrc_tgt_ops,
};

/**
 * mlx5_ib_create_qp - create a queue pair for a user
 * @ibqp: the object, zeroed but for what ib_core sets
 * @init: type, CQs, capacities, flags
 * @udata: struct mlx5_ib_create_qp; NULL for the target of an XRC connection
 *
 * Implements ibv_create_qp(3) with CREATE_QP (struct
 * mlx5_ifc_create_qp_in_bits). May sleep.
 *
 * Return: 0; -EOPNOTSUPP for a kernel consumer, another type than RC, UC, UD
 * or XRC, or a type or feature that the device lacks; -EINVAL for a request that
 * means nothing, queues that do not fit, or a doorbell register that is not the
 * user's; -ENOMEM beyond RLIMIT_MEMLOCK; -EFAULT for a buffer the process does not
 * have; or the errno of a firmware refusal.
 */
int mlx5_ib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	const struct qp_ops *ops = NULL;
	int err;

	/* By type first: other types come with other requests. */
	if (init->qp_type < ARRAY_SIZE(qp_types))
		ops = qp_types[init->qp_type];
	if (!ops)
		return -EOPNOTSUPP;
	err = ops->create(to_mdev(ibqp->device), qp, ops, init, udata);
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
 * Return: 0; -EIO for a state verbs do not know; or the errno of a firmware
 * refusal.
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
 * @udata: of the user whose queue pair it is; NULL for the target of an XRC
 *	connection
 *
 * When it returns no event is being delivered. May sleep.
 *
 * Return: 0, or the errno of a firmware that refuses to destroy it; then buffer,
 * doorbell record and register stay with the queue pair. For a target 0 in any
 * case.
 */
int mlx5_ib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	int err;

	err = mlx5_ib_rsc_destroy(&qp->rsc);
	if (!err)
		qp_put_resources(qp->mem.context, qp);
	return err;
}
