// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs for raw packets: creation and destruction. raw_modify.c changes their state.
 */

/**
 * DOC: Queue pairs for raw packets
 *
 * A queue pair for raw packets is no QP at the device. It is up to four objects, of which each
 * names the one before:
 *
 * * a TIS (transport interface send), which belongs to the transport domain of the process, and an
 *   SQ that sends through the TIS;
 * * an RQ, and a TIR (transport interface receive) that sends packets to the RQ. Flow rules send
 *   packets to the TIR; without a rule nothing is received.
 *
 * A queue pair without send requests has no SQ, and one without receive requests no RQ. The two
 * queues have buffers of their own and share the doorbell record. Work requests and their
 * completions name the number of the SQ, which is also the number of the queue pair, or the
 * process's own index of the queue pair.
 *
 * The states of the queues follow the state of the queue pair:
 *
 * ============  ====  ====
 * queue pair    SQ    RQ
 * ============  ====  ====
 * RESET         RST   RST
 * INIT, RTR     RST   RDY
 * RTS           RDY   RDY
 * SQE           ERR   RDY
 * ERR           ERR   ERR
 * ============  ====  ====
 *
 * The device itself takes a queue to ERR if it fails. Events of the queues are events of the queue
 * pair.
 *
 * The objects are destroyed in the order TIR, RQ, SQ, TIS. If firmware refuses one of them, the
 * queue pair keeps it and those after it, and the next attempt goes on there.
 */

#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_devx.h"
#include "layout/layout_rq.h"
#include "layout/layout_tir.h"
#include "layout/refuse.h"
#include "lib/queue_cmd.h"
#include "lib/transport_domain.h"
#include "lib/umem.h"
#include "verbs/cq.h"
#include "verbs/raw_qp.h"
#include "verbs/ucontext.h"

static void raw_sq_event(struct mlx5_ib_rsc *rsc, enum ib_event_type type)
{
	mlx5_ib_qp_deliver(container_of(rsc, struct mlx5_ib_raw_qp, sq)->qp, type);
}

static void raw_rq_event(struct mlx5_ib_rsc *rsc, enum ib_event_type type)
{
	mlx5_ib_qp_deliver(container_of(rsc, struct mlx5_ib_raw_qp, rq)->qp, type);
}

static const struct mlx5_ib_rsc_ops raw_sq_ops = {
	.type = MLX5_RES_SQ,
	.name = "SQ",
	.destroy_op = MLX5_CMD_OP_DESTROY_SQ,
	.event = raw_sq_event,
};

static const struct mlx5_ib_rsc_ops raw_rq_ops = {
	.type = MLX5_RES_RQ,
	.name = "RQ",
	.destroy_op = MLX5_CMD_OP_DESTROY_RQ,
	.event = raw_rq_event,
};

/* ---- creation ----------------------------------------------------------------------- */

/*
 * Pin the buffer of a queue: the memory that the attribute @attr of the call names, or else that at
 * @addr. Pin it for reading, because the device does not write to work queues.
 */
static struct ib_umem *raw_pin(struct mlx5_ib_dev *dev, u64 addr, int size, u16 attr,
			       struct ib_udata *udata)
{
	const struct uverbs_attr_bundle *attrs = rdma_udata_to_uverbs_attr_bundle(udata);
	struct ib_umem *umem;

	umem = ib_umem_get_attr(&dev->ib_dev, attrs, attr, size, 0);
	return umem ?: mlx5_ib_umem_get(dev, addr, size, 0);
}

/*
 * Create a queue from its context, and add it to the table by which events find it. After an error
 * the queue does not exist, or is an orphan, which has taken over @mem.
 */
static int raw_create_queue(struct mlx5_ib_raw_qp *raw, struct mlx5_ib_rsc *rsc,
			    const struct mlx5_ib_rsc_ops *ops, u16 opcode,
			    struct mlx5_ib_queue_mem *mem, const void *context)
{
	int err;

	rsc->dev = to_mdev(raw->qp->ibqp.device);
	rsc->uid = raw->qp->uid;
	err = mlx5_ib_create_wq_cmd(rsc->dev, rsc->uid, opcode, mem, context, &rsc->num);
	if (err)
		return err;
	rsc->ops = ops;
	err = mlx5_ib_rsc_respond_and_add(rsc, mem, NULL, NULL, 0);
	if (err)
		rsc->ops = NULL;
	return err;
}

static int raw_send_sq(struct mlx5_ib_raw_qp *raw, const struct ib_qp_init_attr *init)
{
	struct mlx5_ib_qp *qp = raw->qp;
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	struct mlx5_ib_cq *cq = to_mcq(init->send_cq);
	const struct mlx5_ib_sqc_attr attr = {
		.num_blocks = qp->ucmd.sq_wqe_count,
		.pdn = to_mpd(qp->ibqp.pd)->pdn,
		.cqn = cq->mcq.cqn,
		.uidx = mlx5_ib_qp_uidx(qp->ucmd.uidx, raw->context->cqe_version, &dev->caps),
		.tisn = raw->tis.num,
		.uar_page = MLX5_GET(qpc, qp->qpc, uar_page),
		.min_inline = mlx5_ib_min_inline_to_hw(dev->port.min_inline),
		.ts_format = mlx5_ib_raw_ts_format(MLX5_CAP_GEN(dev->mdev, sq_ts_format),
						   cq->real_time),
		.wq_signature = qp->ucmd.flags & MLX5_QP_FLAG_SIGNATURE,
	};
	u32 sqc[MLX5_ST_SZ_DW(sqc)] = {};

	mlx5_ib_fill_sqc(sqc, &attr, &dev->caps);
	return raw_create_queue(raw, &raw->sq, &raw_sq_ops, MLX5_CMD_OP_CREATE_SQ, &qp->mem, sqc);
}

static int raw_create_tis(struct mlx5_ib_raw_qp *raw, u32 tdn)
{
	u32 in[MLX5_ST_SZ_DW(create_tis_in)] = {};

	mlx5_ib_fill_tisc(MLX5_ADDR_OF(create_tis_in, in, ctx), tdn);
	return mlx5_ib_object_create(&raw->tis, &mlx5_ib_tis_kind, raw->context, in, sizeof(in));
}

static int raw_create_sq(struct mlx5_ib_raw_qp *raw, const struct ib_qp_init_attr *init,
			 int size, u32 tdn, struct ib_udata *udata,
			 struct mlx5_ib_create_qp_resp *resp)
{
	struct mlx5_ib_dev *dev = to_mdev(raw->qp->ibqp.device);
	struct mlx5_ib_qp *qp = raw->qp;
	int err;

	if (!size)
		return 0;
	err = raw_create_tis(raw, tdn) ?:
	      mlx5_ib_share_take(raw->context, MLX5_IB_SHARE_SQ, &qp->mem.share) ?:
	      mlx5_ib_qp_get_bfreg(raw->context, qp, &resp->bfreg_index);
	if (!err)
		err = mlx5_ib_queue_mem_map_user(&qp->mem, raw->context,
						 raw_pin(dev, qp->ucmd.sq_buf_addr, size,
							 UVERBS_ATTR_CREATE_QP_SQ_BUF_UMEM, udata),
						 size, MLX5_IB_MAX_WQ_PAGE_OFFSET,
						 qp->ucmd.db_addr);
	if (!err)
		err = raw_send_sq(raw, init);
	if (err)
		return err;
	resp->comp_mask |= MLX5_IB_CREATE_QP_RESP_MASK_TISN | MLX5_IB_CREATE_QP_RESP_MASK_SQN;
	resp->tisn = raw->tis.num;
	resp->sqn = raw->sq.num;
	return 0;
}

static int raw_send_rq(struct mlx5_ib_raw_qp *raw, const struct ib_qp_init_attr *init)
{
	struct mlx5_ib_qp *qp = raw->qp;
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	struct mlx5_ib_cq *cq = to_mcq(init->recv_cq);
	const struct mlx5_ib_rqc_attr attr = {
		.wqe_count = qp->ucmd.rq_wqe_count,
		.wqe_shift = qp->ucmd.rq_wqe_shift,
		.pdn = to_mpd(qp->ibqp.pd)->pdn,
		.cqn = cq->mcq.cqn,
		.uidx = mlx5_ib_qp_uidx(qp->ucmd.uidx, raw->context->cqe_version, &dev->caps),
		.counter_set = qp->counter_set,
		.ts_format = mlx5_ib_raw_ts_format(MLX5_CAP_GEN(dev->mdev, rq_ts_format),
						   cq->real_time),
		.wq_signature = qp->ucmd.flags & MLX5_QP_FLAG_SIGNATURE,
		.strip_vlan = init->create_flags & IB_QP_CREATE_CVLAN_STRIPPING,
		.scatter_fcs = init->create_flags & IB_QP_CREATE_SCATTER_FCS,
		.pad_writes = init->create_flags & IB_QP_CREATE_PCI_WRITE_END_PADDING,
	};
	u32 rqc[MLX5_ST_SZ_DW(rqc)] = {};

	mlx5_ib_fill_rqc(rqc, &attr);
	return raw_create_queue(raw, &raw->rq, &raw_rq_ops, MLX5_CMD_OP_CREATE_RQ, &raw->rq_mem,
				rqc);
}

static int raw_create_tir(struct mlx5_ib_raw_qp *raw, u32 tdn)
{
	u32 in[MLX5_ST_SZ_DW(create_tir_in)] = {};

	mlx5_ib_fill_direct_tirc(MLX5_ADDR_OF(create_tir_in, in, ctx), raw->rq.num, tdn,
				 raw->qp->ucmd.flags & MLX5_IB_TIR_FLAGS);
	return mlx5_ib_object_create(&raw->tir, &mlx5_ib_tir_kind, raw->context, in, sizeof(in));
}

static int raw_create_rq(struct mlx5_ib_raw_qp *raw, const struct ib_qp_init_attr *init,
			 int size, u32 tdn, struct ib_udata *udata,
			 struct mlx5_ib_create_qp_resp *resp)
{
	struct mlx5_ib_dev *dev = to_mdev(raw->qp->ibqp.device);
	const struct mlx5_ib_create_qp *ucmd = &raw->qp->ucmd;
	int err;

	if (!size)
		return 0;
	err = mlx5_ib_share_take(raw->context, MLX5_IB_SHARE_RQ, &raw->rq_mem.share);
	if (!err)
		err = mlx5_ib_queue_mem_map_user(&raw->rq_mem, raw->context,
						 raw_pin(dev, ucmd->buf_addr, size,
							 UVERBS_ATTR_CREATE_QP_RQ_BUF_UMEM, udata),
						 size, MLX5_IB_MAX_WQ_PAGE_OFFSET, ucmd->db_addr);
	if (!err)
		err = raw_send_rq(raw, init);
	if (!err)
		err = raw_create_tir(raw, tdn) ?:
		      mlx5_ib_hold_loopback(dev, ucmd->flags, &raw->qp->loopback);
	if (err)
		return err;
	resp->comp_mask |= MLX5_IB_CREATE_QP_RESP_MASK_RQN | MLX5_IB_CREATE_QP_RESP_MASK_TIRN;
	resp->rqn = raw->rq.num;
	resp->tirn = raw->tir.num;
	return 0;
}

/* Free what belongs to a queue pair whose objects are destroyed, or are orphans (orphan.c). */
static void raw_free(struct mlx5_ib_raw_qp *raw)
{
	struct mlx5_ib_qp *qp = raw->qp;

	mlx5_ib_queue_mem_unmap_user(&raw->rq_mem);
	mlx5_ib_queue_mem_unmap_user(&qp->mem);
	mlx5_ib_qp_put_bfreg(raw->context, qp);
	mlx5_ib_raw_release_rate(raw);
	qp->priv = NULL;
	kfree(raw);
}

/* The queue pair could not be created. Each object that firmware keeps becomes an orphan. */
static void raw_discard(struct mlx5_ib_raw_qp *raw)
{
	mlx5_ib_object_discard(&raw->tir);
	if (raw->rq.ops)
		mlx5_ib_rsc_discard(&raw->rq, &raw->rq_mem);
	if (raw->sq.ops)
		mlx5_ib_rsc_discard(&raw->sq, &raw->qp->mem);
	mlx5_ib_object_discard(&raw->tis);
	raw_free(raw);
}

static bool raw_has_common_buffer(struct ib_udata *udata)
{
	return uverbs_attr_is_valid(rdma_udata_to_uverbs_attr_bundle(udata),
				    UVERBS_ATTR_CREATE_QP_BUF_UMEM);
}

/*
 * Copy and check the library's request. Returns the bytes of the receive queue, or a negative
 * errno.
 */
static int raw_parse_request(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *ctx,
			     struct ib_qp_init_attr *init, struct ib_udata *udata,
			     struct mlx5_ib_create_qp *ucmd, int *sq_size)
{
	int err;

	err = ib_copy_validate_udata_in(udata, *ucmd, flags);
	if (err)
		return err;
	err = mlx5_ib_raw_check_create(init, ucmd, &dev->caps) ?:
	      mlx5_ib_qp_check_uidx(ucmd->uidx, udata->inlen >= offsetofend(typeof(*ucmd), uidx),
				    ctx->cqe_version);
	if (err)
		return err;
	if (ucmd->sq_wqe_count && udata->inlen < offsetofend(typeof(*ucmd), sq_buf_addr))
		return refuse(dev->mdev, -EINVAL,
			      "raw packet QP with a send queue, but request of %zu bytes without sq_buf_addr",
			      udata->inlen);
	if (raw_has_common_buffer(udata))
		return refuse(dev->mdev, -EINVAL,
			      "raw packet QP with one umem for both queues, which have buffers of their own");
	/* Without a receive queue any rq_wqe_shift is allowed. */
	if (!ucmd->rq_wqe_count)
		ucmd->rq_wqe_shift = 0;
	return mlx5_ib_raw_calc(init, ucmd, &dev->caps, sq_size);
}

static struct mlx5_ib_raw_qp *raw_alloc(struct mlx5_ib_qp *qp, struct mlx5_ib_ucontext *ctx)
{
	struct mlx5_ib_raw_qp *raw = kzalloc_obj(*raw, GFP_KERNEL_ACCOUNT);

	if (!raw)
		return NULL;
	raw->qp = qp;
	raw->context = ctx;
	qp->priv = raw;
	qp->uid = ctx->uid;
	/* mlx5_ib_destroy_qp() needs the context of a queue pair without a send queue, too. */
	qp->mem.context = ctx;
	raw->rq_mem.context = ctx;
	return raw;
}

static void raw_created(struct mlx5_ib_raw_qp *raw)
{
	struct mlx5_ib_qp *qp = raw->qp;
	bool has_sq = raw->sq.ops, has_rq = raw->rq.ops;

	qp->ibqp.qp_num = has_sq ? raw->sq.num : raw->rq.num;
	qp->tirn = has_rq ? raw->tir.num : 0;
	raw->queues.sq = has_sq ? MLX5_SQC_STATE_RST : MLX5_IB_NO_QUEUE;
	raw->queues.rq = has_rq ? MLX5_RQC_STATE_RST : MLX5_IB_NO_QUEUE;
	if (has_sq)
		mlx5_ib_qp_add_bell(raw->context, qp);
	else
		INIT_LIST_HEAD(&qp->bell.node);
}

static int raw_create(struct mlx5_ib_qp *qp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	struct mlx5_ib_create_qp_resp resp = {};
	struct mlx5_ib_raw_qp *raw;
	int rq_size, sq_size, err;
	u32 tdn;

	rq_size = raw_parse_request(dev, ctx, init, udata, &qp->ucmd, &sq_size);
	if (rq_size < 0)
		return rq_size;
	err = mlx5_ib_use_transport_domain(ctx, &tdn);
	if (err)
		return err;
	raw = raw_alloc(qp, ctx);
	if (!raw)
		return -ENOMEM;
	err = raw_create_sq(raw, init, sq_size, tdn, udata, &resp) ?:
	      raw_create_rq(raw, init, rq_size, tdn, udata, &resp) ?:
	      ib_respond_udata(udata, resp);
	if (err)
		raw_discard(raw);
	else
		raw_created(raw);
	return err;
}

/* ---- destruction -------------------------------------------------------------------- */

static int raw_destroy_queue(struct mlx5_ib_raw_qp *raw, struct mlx5_ib_rsc *rsc,
			     struct mlx5_ib_queue_mem *mem)
{
	int err;

	if (!rsc->ops)
		return 0;
	err = mlx5_ib_rsc_end(rsc, mem, raw->qp->closing);
	if (!err)
		rsc->ops = NULL;
	return err;
}

static int raw_destroy(struct mlx5_ib_qp *qp)
{
	struct mlx5_ib_raw_qp *raw = to_raw(qp);
	int err;

	mlx5_ib_bell_del(raw->context, &qp->bell);
	err = mlx5_ib_object_destroy(&raw->tir) ?:
	      raw_destroy_queue(raw, &raw->rq, &raw->rq_mem) ?:
	      raw_destroy_queue(raw, &raw->sq, &qp->mem) ?:
	      mlx5_ib_object_destroy(&raw->tis);
	if (!err)
		raw_free(raw);
	else if (raw->sq.ops)
		mlx5_ib_bell_add(raw->context, &qp->bell);
	return err;
}

static bool raw_find_queue(const struct mlx5_ib_rsc *rsc, struct mlx5_ib_qp_part *part)
{
	*part = (struct mlx5_ib_qp_part){ rsc->num, &rsc->attempt };
	return rsc->ops;
}

static bool raw_find_object(const struct mlx5_ib_object *obj, struct mlx5_ib_qp_part *part)
{
	*part = (struct mlx5_ib_qp_part){ obj->num, &obj->attempt };
	return obj->kind;
}

static bool raw_find_part(const struct mlx5_ib_qp *qp, u8 kind, struct mlx5_ib_qp_part *part)
{
	const struct mlx5_ib_raw_qp *raw = to_raw(qp);

	switch (kind) {
	case MLX5_IB_DEVX_SQ:
		return raw_find_queue(&raw->sq, part);
	case MLX5_IB_DEVX_RQ:
		return raw_find_queue(&raw->rq, part);
	case MLX5_IB_DEVX_TIS:
		return raw_find_object(&raw->tis, part);
	case MLX5_IB_DEVX_TIR:
		return raw_find_object(&raw->tir, part);
	default:
		return false;
	}
}

const struct mlx5_ib_qp_ops mlx5_ib_raw_qp_ops = {
	.create = raw_create,
	.modify = mlx5_ib_raw_modify,
	.query = mlx5_ib_raw_query,
	.set_counter = mlx5_ib_raw_set_counter,
	.find_part = raw_find_part,
	.destroy = raw_destroy,
};
