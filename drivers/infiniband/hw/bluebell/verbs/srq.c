// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues: create, arm, query and destroy them. srq_ring.c posts and completes the
 * requests of kernel consumers. At the device a basic SRQ is an RMP, a receive memory pool; an SRQ
 * with tag matching is an XRQ; an XRC SRQ is an object of a kind of its own.
 *
 * The program posts changes of the list of tags to a queue pair of its own, whose SRQ is the XRQ:
 * the driver sees none of the tags.
 */

#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_qp.h"
#include "layout/refuse.h"
#include "lib/orphan.h"
#include "lib/queue_cmd.h"
#include "lib/share.h"
#include "lib/srq_ring.h"
#include "lib/umem.h"
#include "verbs/cq.h"
#include "verbs/srq.h"
#include "verbs/ucontext.h"

/**
 * struct mlx5_ib_srq_ops - what differs between the types of SRQs
 * @rsc: destruction and events
 * @max_page_offset: largest offset of the buffer, in 64ths of a page, that the type's context can
 *	hold
 * @arm: sets the limit: when fewer WQEs than the limit are posted, the device raises an event
 * @query_op: command that reads the context
 * @query_len: bytes of the command's answer, at most SRQ_MAX_QUERY
 * @limit: finds the limit in the answer
 * @share: what of the user's share such an SRQ takes
 */
struct mlx5_ib_srq_ops {
	struct mlx5_ib_rsc_ops rsc;
	u8 max_page_offset;
	int (*arm)(struct mlx5_ib_dev *dev, u16 uid, u32 num, u16 limit);
	u16 query_op;
	int query_len;
	u32 (*limit)(const void *out);
	enum mlx5_ib_share_kind share;
};

#define SRQ_MAX_QUERY \
	MAX(MLX5_ST_SZ_BYTES(query_xrq_out), \
	    MAX(MLX5_ST_SZ_BYTES(query_rmp_out), MLX5_ST_SZ_BYTES(query_xrc_srq_out)))

static void srq_event(struct mlx5_ib_rsc *rsc, enum ib_event_type type)
{
	struct ib_srq *ibsrq = &container_of(rsc, struct mlx5_ib_srq, rsc)->ibsrq;
	struct ib_event event = {
		.device = ibsrq->device,
		.event = type,
		.element.srq = ibsrq,
	};

	if (ibsrq->event_handler)
		ibsrq->event_handler(&event, ibsrq->srq_context);
}

static u32 rmp_limit(const void *out)
{
	return MLX5_GET(query_rmp_out, out, rmp_context.wq.lwm);
}

static u32 xrc_srq_limit(const void *out)
{
	return MLX5_GET(query_xrc_srq_out, out, xrc_srq_context_entry.lwm);
}

static u32 xrq_limit(const void *out)
{
	return MLX5_GET(query_xrq_out, out, xrq_context.wq.lwm);
}

static const struct mlx5_ib_srq_ops rmp_ops = {
	.rsc = {
		.type = MLX5_RES_SRQ,
		.name = "SRQ",
		.destroy_op = MLX5_CMD_OP_DESTROY_RMP,
		.event = srq_event,
		.read_wqe = mlx5_ib_srq_read_wqe,
	},
	.max_page_offset = MLX5_IB_MAX_WQ_PAGE_OFFSET,
	.arm = mlx5_ib_fw_arm_rmp,
	.query_op = MLX5_CMD_OP_QUERY_RMP,
	.query_len = MLX5_ST_SZ_BYTES(query_rmp_out),
	.limit = rmp_limit,
	.share = MLX5_IB_SHARE_SRQ,
};

static const struct mlx5_ib_srq_ops xrc_srq_ops = {
	.rsc = {
		.type = MLX5_RES_SRQ,
		.name = "XRC SRQ",
		.destroy_op = MLX5_CMD_OP_DESTROY_XRC_SRQ,
		.event = srq_event,
		.read_wqe = mlx5_ib_srq_read_wqe,
	},
	.max_page_offset = MLX5_IB_MAX_PAGE_OFFSET,
	.arm = mlx5_ib_fw_arm_xrc_srq,
	.query_op = MLX5_CMD_OP_QUERY_XRC_SRQ,
	.query_len = MLX5_ST_SZ_BYTES(query_xrc_srq_out),
	.limit = xrc_srq_limit,
	.share = MLX5_IB_SHARE_SRQ,
};

static const struct mlx5_ib_srq_ops xrq_ops = {
	.rsc = {
		.type = MLX5_RES_SRQ,
		.event_object = MLX5_OBJ_TYPE_XRQ,
		.name = "XRQ",
		.destroy_op = MLX5_CMD_OP_DESTROY_XRQ,
		.event = srq_event,
		.read_wqe = mlx5_ib_srq_read_wqe,
	},
	.max_page_offset = MLX5_IB_MAX_WQ_PAGE_OFFSET,
	.arm = mlx5_ib_fw_arm_xrq,
	.query_op = MLX5_CMD_OP_QUERY_XRQ,
	.query_len = MLX5_ST_SZ_BYTES(query_xrq_out),
	.limit = xrq_limit,
	.share = MLX5_IB_SHARE_XRQ,
};

static const struct mlx5_ib_srq_ops *const srq_types[] = {
	[IB_SRQT_BASIC] = &rmp_ops, [IB_SRQT_XRC] = &xrc_srq_ops, [IB_SRQT_TM] = &xrq_ops,
};

/*
 * Create the SRQ at the device, answer the user and add the SRQ to the table by which events find
 * it. No event can come earlier, because the SRQ has no limit and no QP until this is done.
 */
static int srq_create_and_respond(struct mlx5_ib_dev *dev, struct mlx5_ib_srq *srq,
				  struct mlx5_ib_srqc_attr *attr, struct ib_udata *udata)
{
	struct mlx5_ib_create_srq_resp resp = {};
	int err;

	attr->wq = srq->wq;
	attr->pdn = to_mpd(srq->ibsrq.pd)->pdn;
	err = mlx5_ib_create_srq_cmd(dev, srq->rsc.uid, srq->ibsrq.srq_type, &srq->mem, attr,
				     &srq->rsc.num);
	if (err)
		return err;
	resp.srqn = srq->rsc.num;
	if (srq->ibsrq.srq_type == IB_SRQT_XRC)
		srq->ibsrq.ext.xrc.srq_num = srq->rsc.num;
	return mlx5_ib_rsc_respond_and_add(&srq->rsc, &srq->mem, udata, &resp, sizeof(resp));
}

/* Check that all objects exist which the command that creates the SRQ is to name. */
static int srq_check_named(const struct ib_srq *ibsrq)
{
	return mlx5_ib_check_pd(ibsrq->pd) ?:
	       (ib_srq_has_cq(ibsrq->srq_type) ? mlx5_ib_check_cq(ibsrq->ext.cq) : 0);
}

/* Pin the memory that the process gives the SRQ, and create the SRQ. */
static int srq_pin_and_create(struct mlx5_ib_dev *dev, struct mlx5_ib_srq *srq,
			      const struct ib_srq_init_attr *init,
			      const struct mlx5_ib_create_srq *ucmd, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_srqc_attr attr = { .wq_signature = ucmd->flags & MLX5_SRQ_FLAG_SIGNATURE };
	size_t size = srq->wq.wqe_cnt << srq->wq.wqe_shift;
	int err;

	if (ib_srq_has_cq(init->srq_type)) {
		attr.cqn = to_mcq(srq->ibsrq.ext.cq)->mcq.cqn;
		attr.uidx = ctx->cqe_version ? ucmd->uidx : MLX5_IB_DEFAULT_UIDX;
	}
	if (init->srq_type == IB_SRQT_XRC)
		attr.xrcdn = to_mxrcd(srq->ibsrq.ext.xrc.xrcd)->xrcdn;
	if (init->srq_type == IB_SRQT_TM)
		attr.max_num_tags = init->ext.tag_matching.max_num_tags;
	err = mlx5_ib_share_take(ctx, srq->ops->share, &srq->mem.share);
	if (err)
		return err;
	/* Pinned for reading: the device does not write to work queues. */
	err = mlx5_ib_queue_mem_map_user(&srq->mem, ctx,
					 mlx5_ib_umem_get(dev, ucmd->buf_addr, size, 0), size,
					 srq->ops->max_page_offset, ucmd->db_addr);
	if (!err)
		err = srq_create_and_respond(dev, srq, &attr, udata);
	if (err)
		mlx5_ib_queue_mem_unmap_user(&srq->mem);
	return err;
}

static void srq_release(struct mlx5_ib_srq *srq)
{
	if (!srq->ring) {
		mlx5_ib_queue_mem_unmap_user(&srq->mem);
		return;
	}
	mlx5_ib_srq_ring_free(srq->ring);
	srq->ring = NULL;
	mlx5_ib_queue_mem_free(srq->rsc.dev, &srq->mem);
}

/* Allocate the memory of an SRQ of a kernel consumer, and create the SRQ. */
static int srq_create_kernel(struct mlx5_ib_dev *dev, struct mlx5_ib_srq *srq)
{
	struct mlx5_ib_srqc_attr attr = {};
	int err;

	/* The WQEs of a kernel consumer's SRQ do not cross pages. */
	if (srq->wq.wqe_shift > PAGE_SHIFT)
		return refuse(dev->mdev, -EINVAL, "SRQ with WQEs of 2^%u bytes, at most 2^%u",
			      srq->wq.wqe_shift, PAGE_SHIFT);
	err = mlx5_ib_queue_mem_alloc(dev, &srq->mem, srq->wq.wqe_cnt << srq->wq.wqe_shift);
	if (err)
		return err;
	srq->ring = mlx5_ib_srq_ring_alloc(dev, &srq->wq, &srq->mem);
	if (!srq->ring) {
		mlx5_ib_queue_mem_free(dev, &srq->mem);
		return -ENOMEM;
	}
	err = srq_create_and_respond(dev, srq, &attr, NULL);
	if (err)
		srq_release(srq);
	return err;
}

static int srq_check_kernel(struct mlx5_ib_dev *dev, enum ib_srq_type type)
{
	return type == IB_SRQT_BASIC ? 0 :
	       refuse(dev->mdev, -EOPNOTSUPP,
		      "SRQ of type %d of a kernel consumer, only BASIC (0) is possible", type);
}

/* Check the library's request, and set the user id that the SRQ belongs to. */
static int srq_parse_request(struct mlx5_ib_dev *dev, struct mlx5_ib_srq *srq,
			     const struct ib_srq_init_attr *init, struct ib_udata *udata,
			     struct mlx5_ib_create_srq *ucmd)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	enum ib_srq_type type = srq->ibsrq.srq_type;
	int err;

	err = ib_copy_validate_udata_in(udata, *ucmd, flags);
	if (err)
		return err;
	err = mlx5_ib_srq_check_create(type, ucmd, &dev->caps);
	if (!err && type == IB_SRQT_TM)
		err = mlx5_ib_srq_check_tags(init->ext.tag_matching.max_num_tags, &dev->caps);
	if (!err && ib_srq_has_cq(type))
		err = mlx5_ib_qp_check_uidx(ucmd->uidx,
					    udata->inlen >= offsetofend(typeof(*ucmd), uidx),
					    ctx->cqe_version);
	/* An XRC SRQ names its XRC domain, which has no user id, so the SRQ has none either. */
	srq->rsc.uid = type == IB_SRQT_XRC ? MLX5_IB_KERNEL_UID : ctx->uid;
	return err;
}

/**
 * mlx5_ib_create_srq - create a shared receive queue
 * @ibsrq: the object, zeroed but for what ib_core sets
 * @init: type and sizes; gets the sizes that the queue has
 * @udata: struct mlx5_ib_create_srq; NULL for a kernel consumer
 *
 * Implements ibv_create_srq(3) and ib_create_srq() with CREATE_RMP (struct
 * mlx5_ifc_create_rmp_in_bits), and ibv_create_srq_ex(3) of XRC SRQs with CREATE_XRC_SRQ (struct
 * mlx5_ifc_create_xrc_srq_in_bits), and of SRQs with tag matching with CREATE_XRQ (struct
 * mlx5_ifc_create_xrq_in_bits). Does not arm the queue, whatever limit @init has:
 * ibv_modify_srq(3) arms it. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for a type other than BASIC and (users only) XRC and TM, for a device
 * without SRQs of the type, and for unknown driver data; -EINVAL for invalid attributes, sizes or a
 * number of tags beyond the limits of the device, or a buffer or doorbell record that is not
 * aligned; -ENOMEM, also if the user has as many SRQs as a user can have; -EFAULT; as
 * mlx5_ib_umem_get() for memory that cannot be pinned; -EIO as mlx5_ib_check_pd() and
 * mlx5_ib_check_cq(); or the errno of a failed command.
 */
int mlx5_ib_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibsrq->device);
	struct mlx5_ib_srq *srq = to_msrq(ibsrq);
	struct mlx5_ib_create_srq ucmd = {};
	int err;

	if (!dev->caps.has_srq)
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "the device has no RMPs, which SRQs need (issi is 0)");
	err = srq_check_named(ibsrq) ?:
	      (udata ? srq_parse_request(dev, srq, init, udata, &ucmd) :
		       srq_check_kernel(dev, init->srq_type));
	if (err)
		return err;
	err = mlx5_ib_calc_srq(init->srq_type, &init->attr, &dev->caps, &srq->wq);
	if (err)
		return err;

	srq->ops = srq_types[init->srq_type];
	srq->rsc.dev = dev;
	srq->rsc.ops = &srq->ops->rsc;
	err = udata ? srq_pin_and_create(dev, srq, init, &ucmd, udata) :
		      srq_create_kernel(dev, srq);
	if (err)
		return err;
	init->attr.max_wr = srq->wq.wqe_cnt - 1;
	init->attr.max_sge = srq->wq.max_gs;
	return 0;
}

/**
 * mlx5_ib_check_srq - check that a shared receive queue exists, before a command names it
 * @ibsrq: the queue, or NULL
 *
 * Any context.
 *
 * Return: 0, also for NULL; or -EIO, as mlx5_ib_fw_check_exists().
 */
int mlx5_ib_check_srq(struct ib_srq *ibsrq)
{
	return ibsrq ? mlx5_ib_fw_check_exists(to_mdev(ibsrq->device),
					       &to_msrq(ibsrq)->rsc.attempt, "SRQ",
					       to_msrq(ibsrq)->rsc.num) : 0;
}

/**
 * mlx5_ib_modify_srq - arm a shared receive queue
 * @ibsrq: the queue
 * @attr: the limit
 * @mask: IB_SRQ_LIMIT
 * @udata: empty
 *
 * Implements ibv_modify_srq(3) with MODIFY_RMP, ARM_XRC_SRQ or ARM_XRQ: as soon as fewer WQEs than
 * the limit are posted, IB_EVENT_SRQ_LIMIT_REACHED is raised, once. May sleep.
 *
 * Return: 0; -EINVAL for a resize, which the device does not offer (IB_DEVICE_SRQ_RESIZE), for
 * undefined attributes, or for a limit above max_wr; -EOPNOTSUPP for driver data; -EFAULT; -EIO as
 * mlx5_ib_check_srq(); or the errno of a failed command.
 */
int mlx5_ib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		       enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct mlx5_ib_srq *srq = to_msrq(ibsrq);
	int err = ib_no_udata_io(udata) ?: mlx5_ib_check_srq(ibsrq);

	if (err)
		return err;
	if (mask & ~IB_SRQ_LIMIT)
		return refuse(to_mdev(ibsrq->device)->mdev, -EINVAL,
			      "SRQ attributes %#x, only the limit (%#x) can change", mask,
			      IB_SRQ_LIMIT);
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit >= srq->wq.wqe_cnt)
		return refuse(to_mdev(ibsrq->device)->mdev, -EINVAL, "SRQ limit of %u, at most %u",
			      attr->srq_limit, srq->wq.wqe_cnt - 1);
	return srq->ops->arm(to_mdev(ibsrq->device), srq->rsc.uid, srq->rsc.num, attr->srq_limit);
}

/**
 * mlx5_ib_query_srq - read a shared receive queue's attributes
 * @ibsrq: the queue
 * @attr: gets the sizes of the queue, and its limit, 0 if the queue is not armed
 *
 * Implements ibv_query_srq(3) with QUERY_RMP, QUERY_XRC_SRQ or QUERY_XRQ. May sleep.
 *
 * Return: 0; -EIO as mlx5_ib_check_srq(); or the errno of a failed command.
 */
int mlx5_ib_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	u32 out[SRQ_MAX_QUERY / sizeof(u32)] = {};
	struct mlx5_ib_srq *srq = to_msrq(ibsrq);
	int err = mlx5_ib_check_srq(ibsrq);

	if (err)
		return err;
	err = mlx5_ib_fw_query_object(to_mdev(ibsrq->device), srq->rsc.uid, srq->ops->query_op,
				      srq->rsc.num, out, srq->ops->query_len);
	if (err)
		return err;
	attr->srq_limit = srq->ops->limit(out);
	attr->max_wr = srq->wq.wqe_cnt - 1;
	attr->max_sge = srq->wq.max_gs;
	return 0;
}

/**
 * mlx5_ib_destroy_srq - destroy a shared receive queue
 * @ibsrq: the queue, which no QP uses any more: ib_core sees to that
 * @udata: data of the user's call; NULL for a queue of a kernel consumer
 *
 * After success no event is delivered any more. May sleep.
 *
 * Return: 0; or the errno of the failed command, and then the queue keeps its buffer and doorbell
 * record. Always 0 for a kernel consumer, and for a process that has closed the device: a queue
 * that firmware then refuses to destroy becomes an orphan (orphan.c).
 */
int mlx5_ib_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct mlx5_ib_srq *srq = to_msrq(ibsrq);
	int err;

	mlx5_ib_orphans_retry(to_mdev(ibsrq->device), srq->mem.context);
	if (srq->ring) {
		mlx5_ib_rsc_discard(&srq->rsc, &srq->mem);
		srq_release(srq);
		return 0;
	}
	err = mlx5_ib_rsc_end(&srq->rsc, &srq->mem,
			      srq->mem.context && srq->mem.context->closing);
	if (!err)
		srq_release(srq);
	return err;
}

/**
 * mlx5_ib_post_srq_recv - post receive requests of a kernel consumer
 * @ibsrq: the queue
 * @wr: requests, a list
 * @bad: gets the first request that could not be posted; requests before it have been posted
 *
 * Implements ib_post_srq_recv(). Any context.
 *
 * Return: 0; -ENOMEM if the queue is full; or -EINVAL for more segments than the queue was created
 * for.
 */
int mlx5_ib_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	return mlx5_ib_srq_ring_post(to_msrq(ibsrq)->ring, wr, bad);
}
