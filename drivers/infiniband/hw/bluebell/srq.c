// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues of user space: create, arm, query and destroy them, and
 * find them when the device raises an event. To the device a basic one is an RMP,
 * a receive memory pool; an XRC SRQ is an object of its own kind.
 */

#include <linux/mlx5/driver.h>
#include <linux/mm.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "bluebell.h"
#include "cq.h"
#include "doorbell.h"
#include "fw.h"
#include "layout_mkey.h"
#include "layout_qp.h"
#include "srq.h"
#include "ucontext.h"
#include "xrc.h"

/**
 * mlx5_ib_has_srq - does the device have SRQs?
 * @dev: device
 *
 * RMPs come with step 1 of the interface, which devices from ConnectX-4 on have.
 *
 * Return: true if it does.
 */
bool mlx5_ib_has_srq(struct mlx5_ib_dev *dev)
{
	return dev->mdev->issi;
}

/**
 * mlx5_ib_get_srq_caps - collect what the device allows an SRQ to be
 * @dev: device
 * @caps: the result
 */
void mlx5_ib_get_srq_caps(struct mlx5_ib_dev *dev, struct mlx5_ib_srq_caps *caps)
{
	struct mlx5_core_dev *mdev = dev->mdev;

	*caps = (struct mlx5_ib_srq_caps){
		.log_max_srq = MLX5_CAP_GEN(mdev, log_max_srq),
		.log_max_srq_sz = MLX5_CAP_GEN(mdev, log_max_srq_sz),
		.max_wqe_sz_rq = MLX5_CAP_GEN(mdev, max_wqe_sz_rq),
		.wq_signature = MLX5_CAP_GEN(mdev, wq_signature),
		.xrc = mlx5_ib_has_xrc(dev),
	};
}

static bool is_xrc(const struct mlx5_ib_srq *srq)
{
	return srq->ibsrq.srq_type == IB_SRQT_XRC;
}

static int create_rmp(struct mlx5_ib_dev *dev, struct mlx5_ib_srq *srq,
		      const struct mlx5_ib_srqc_attr *attr, u32 npas)
{
	size_t inlen = MLX5_ST_SZ_BYTES(create_rmp_in) + sizeof(__be64) * npas;

	void *in __free(kvfree) = kvzalloc(inlen, GFP_KERNEL);

	if (!in)
		return -ENOMEM;
	mlx5_ib_fill_rmpc(MLX5_ADDR_OF(create_rmp_in, in, ctx), attr);
	mlx5_ib_populate_pas(srq->umem, 1UL << attr->geo.page_shift,
			     MLX5_ADDR_OF(create_rmp_in, in, ctx.wq.pas));
	return mlx5_fw_create_rmp(dev, MLX5_IB_KERNEL_UID, in, inlen, &srq->srqn);
}

static int create_xrc_srq(struct mlx5_ib_dev *dev, struct mlx5_ib_srq *srq,
			  const struct mlx5_ib_srqc_attr *attr, u32 npas)
{
	size_t inlen = MLX5_ST_SZ_BYTES(create_xrc_srq_in) + sizeof(__be64) * npas;

	void *in __free(kvfree) = kvzalloc(inlen, GFP_KERNEL);

	if (!in)
		return -ENOMEM;
	mlx5_ib_fill_xrc_srqc(MLX5_ADDR_OF(create_xrc_srq_in, in, xrc_srq_context_entry), attr);
	mlx5_ib_populate_pas(srq->umem, 1UL << attr->geo.page_shift,
			     MLX5_ADDR_OF(create_xrc_srq_in, in, pas));
	return mlx5_fw_create_xrc_srq(dev, MLX5_IB_KERNEL_UID, in, inlen, &srq->srqn);
}

static int create_cmd(struct mlx5_ib_dev *dev, struct mlx5_ib_srq *srq,
		      const struct mlx5_ib_srqc_attr *attr, u32 npas)
{
	return is_xrc(srq) ? create_xrc_srq(dev, srq, attr, npas) :
			     create_rmp(dev, srq, attr, npas);
}

static int destroy_cmd(struct mlx5_ib_dev *dev, const struct mlx5_ib_srq *srq)
{
	return is_xrc(srq) ? mlx5_fw_destroy_xrc_srq(dev, MLX5_IB_KERNEL_UID, srq->srqn) :
			     mlx5_fw_destroy_rmp(dev, MLX5_IB_KERNEL_UID, srq->srqn);
}

/* Create the SRQ at the device and make it known to events and to the user. */
static int create_and_respond(struct mlx5_ib_dev *dev, struct mlx5_ib_srq *srq,
			      const struct mlx5_ib_srqc_attr *attr, u32 npas,
			      struct ib_udata *udata)
{
	struct mlx5_ib_create_srq_resp resp = {};
	int err;

	err = create_cmd(dev, srq, attr, npas);
	if (err)
		return err;
	err = mlx5_ib_add_source(&dev->srq_events, &srq->source, srq->srqn);
	if (err)
		goto err_destroy;
	resp.srqn = srq->srqn;
	err = ib_respond_udata(udata, resp);
	if (err)
		goto err_remove;
	if (is_xrc(srq))
		srq->ibsrq.ext.xrc.srq_num = srq->srqn;
	return 0;

err_remove:
	mlx5_ib_remove_source(&srq->source);
err_destroy:
	destroy_cmd(dev, srq);
	return err;
}

/* How the buffer is described: an RMP's context has less room for the offset. */
static int choose_geometry(const struct mlx5_ib_srq *srq, struct ib_umem *umem,
			   struct mlx5_ib_buf_geometry *geo, u32 *npas)
{
	int err;

	err = mlx5_ib_umem_geometry(umem, geo, npas);
	if (err || is_xrc(srq))
		return err;
	err = mlx5_ib_fit_wq_offset(geo);
	*npas = ib_umem_num_dma_blocks(umem, 1UL << geo->page_shift);
	return err;
}

/* What an XRC SRQ is besides a queue. The user index is checked. */
static void fill_xrc(const struct mlx5_ib_srq *srq, const struct mlx5_ib_create_srq *ucmd,
		     u8 cqe_version, struct mlx5_ib_srqc_attr *attr)
{
	attr->xrcdn = to_mxrcd(srq->ibsrq.ext.xrc.xrcd)->xrcdn;
	attr->cqn = to_mcq(srq->ibsrq.ext.cq)->mcq.cqn;
	attr->uidx = cqe_version ? ucmd->uidx : MLX5_IB_DEFAULT_UIDX;
}

/* Pin what the SRQ needs of the process, and create it. */
static int pin_and_create(struct mlx5_ib_dev *dev, struct mlx5_ib_srq *srq,
			  const struct mlx5_ib_create_srq *ucmd, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_srqc_attr attr = {
		.wq = srq->wq,
		.pdn = to_mpd(srq->ibsrq.pd)->pdn,
		.wq_signature = ucmd->flags & MLX5_SRQ_FLAG_SIGNATURE,
	};
	u32 npas;
	int err;

	/* The device only reads its work queues. */
	struct ib_umem *umem __free(ib_umem) = mlx5_ib_umem_get(dev, ucmd->buf_addr,
								srq->wq.buf_size, 0);

	if (IS_ERR(umem))
		return PTR_ERR(umem);
	err = choose_geometry(srq, umem, &attr.geo, &npas);
	if (err)
		return err;
	err = mlx5_ib_db_map_user(ctx, ucmd->db_addr, &srq->db);
	if (err)
		return err;

	attr.dbr_addr = srq->db.dma;
	if (is_xrc(srq))
		fill_xrc(srq, ucmd, ctx->cqe_version, &attr);
	srq->umem = umem;
	err = create_and_respond(dev, srq, &attr, npas, udata);
	if (err) {
		mlx5_ib_db_unmap_user(ctx, &srq->db);
		return err;
	}
	retain_and_null_ptr(umem);
	return 0;
}

/**
 * mlx5_ib_create_srq - create a shared receive queue for a user
 * @ibsrq: the object, zeroed but for what ib_core sets
 * @init: type and sizes; gets the sizes that it has
 * @udata: struct mlx5_ib_create_srq
 *
 * Implements ibv_create_srq(3) with CREATE_RMP (struct
 * mlx5_ifc_create_rmp_in_bits), and ibv_create_srq_ex(3) of XRC SRQs with
 * CREATE_XRC_SRQ (struct mlx5_ifc_create_xrc_srq_in_bits). A limit is not set:
 * ibv_modify_srq(3) does that. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for a kernel consumer, another type than basic and XRC,
 * or a device without; -EINVAL for a request that means nothing, sizes beyond the
 * device's, or a buffer or record that is not aligned; -ENOMEM beyond
 * RLIMIT_MEMLOCK; -EFAULT for a buffer the process does not have; or the errno
 * of a firmware refusal.
 */
int mlx5_ib_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_dev *dev = to_mdev(ibsrq->device);
	struct mlx5_ib_srq *srq = to_msrq(ibsrq);
	struct mlx5_ib_create_srq ucmd = {};
	struct mlx5_ib_srq_caps caps;
	int err;

	if (!udata || !mlx5_ib_has_srq(dev))
		return -EOPNOTSUPP;
	err = ib_copy_validate_udata_in(udata, ucmd, flags);
	if (err)
		return err;
	mlx5_ib_get_srq_caps(dev, &caps);
	err = mlx5_ib_srq_check_create(init->srq_type, &ucmd, &caps);
	if (err)
		return err;
	if (is_xrc(srq)) {
		err = mlx5_ib_qp_check_uidx(ucmd.uidx,
					    udata->inlen >= offsetofend(typeof(ucmd), uidx),
					    ctx->cqe_version);
		if (err)
			return err;
	}
	err = mlx5_ib_calc_srq(init->srq_type, &init->attr, &caps, &srq->wq);
	if (err)
		return err;
	err = pin_and_create(dev, srq, &ucmd, udata);
	if (err)
		return err;

	init->attr.max_wr = srq->wq.wqe_cnt - 1;
	init->attr.max_sge = srq->wq.max_gs;
	return 0;
}

/**
 * mlx5_ib_modify_srq - arm a shared receive queue
 * @ibsrq: the queue
 * @attr: the limit
 * @mask: IB_SRQ_LIMIT
 * @udata: nothing
 *
 * Implements ibv_modify_srq(3) with MODIFY_RMP or ARM_XRC_SRQ: when fewer than the limit are
 * posted, IB_EVENT_SRQ_LIMIT_REACHED is raised, once. May sleep.
 *
 * Return: 0; -EINVAL for a resize, which IB_DEVICE_SRQ_RESIZE does not offer,
 * for undefined attributes, or for a limit that is not below the size; or the
 * errno of a firmware refusal.
 */
int mlx5_ib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		       enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibsrq->device);
	struct mlx5_ib_srq *srq = to_msrq(ibsrq);

	if (mask & ~IB_SRQ_LIMIT)
		return -EINVAL;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit >= srq->wq.wqe_cnt)
		return -EINVAL;
	if (is_xrc(srq))
		return mlx5_fw_arm_xrc_srq(dev, MLX5_IB_KERNEL_UID, srq->srqn, attr->srq_limit);
	return mlx5_fw_arm_rmp(dev, MLX5_IB_KERNEL_UID, srq->srqn, attr->srq_limit);
}

static int query_limit(struct mlx5_ib_dev *dev, const struct mlx5_ib_srq *srq, u32 *limit)
{
	u32 srqc[MLX5_ST_SZ_DW(xrc_srqc)] = {};
	u32 rmpc[MLX5_ST_SZ_DW(rmpc)] = {};
	int err;

	if (is_xrc(srq)) {
		err = mlx5_fw_query_xrc_srq(dev, MLX5_IB_KERNEL_UID, srq->srqn, srqc);
		*limit = MLX5_GET(xrc_srqc, srqc, lwm);
	} else {
		err = mlx5_fw_query_rmp(dev, MLX5_IB_KERNEL_UID, srq->srqn, rmpc);
		*limit = MLX5_GET(rmpc, rmpc, wq.lwm);
	}
	return err;
}

/**
 * mlx5_ib_query_srq - read a shared receive queue's attributes
 * @ibsrq: the queue
 * @attr: its sizes, and the limit if it is armed
 *
 * Implements ibv_query_srq(3) with QUERY_RMP or QUERY_XRC_SRQ. May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct mlx5_ib_srq *srq = to_msrq(ibsrq);
	int err;

	err = query_limit(to_mdev(ibsrq->device), srq, &attr->srq_limit);
	if (err)
		return err;
	attr->max_wr = srq->wq.wqe_cnt - 1;
	attr->max_sge = srq->wq.max_gs;
	return 0;
}

/**
 * mlx5_ib_destroy_srq - destroy a shared receive queue
 * @ibsrq: the queue, which no QP uses any more: ib_core sees to that
 * @udata: of the user whose queue it is
 *
 * When it returns no event is being delivered. May sleep.
 *
 * Return: 0, or the errno of a firmware that would not destroy it; then buffer
 * and doorbell record stay pinned.
 */
int mlx5_ib_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_dev *dev = to_mdev(ibsrq->device);
	struct mlx5_ib_srq *srq = to_msrq(ibsrq);
	int err;

	/* Once destroyed, its number may come back as that of a new SRQ. */
	mlx5_ib_remove_source(&srq->source);
	err = destroy_cmd(dev, srq);
	if (err) {
		if (mlx5_ib_add_source(&dev->srq_events, &srq->source, srq->srqn))
			ibdev_warn_ratelimited(&dev->ib_dev,
					       "SRQ 0x%x lives on without events\n", srq->srqn);
		return err;
	}
	mlx5_ib_db_unmap_user(ctx, &srq->db);
	ib_umem_release(srq->umem);
	return 0;
}

static const struct mlx5_ib_event_map srq_events[] = {
	{ MLX5_EVENT_TYPE_SRQ_RQ_LIMIT, IB_EVENT_SRQ_LIMIT_REACHED },
	{ MLX5_EVENT_TYPE_SRQ_CATAS_ERROR, IB_EVENT_SRQ_ERR },
};

static void deliver_srq_event(struct mlx5_ib_event_source *source, enum ib_event_type type)
{
	struct ib_srq *ibsrq = &container_of(source, struct mlx5_ib_srq, source)->ibsrq;
	struct ib_event event = {
		.device = ibsrq->device,
		.event = type,
		.element.srq = ibsrq,
	};

	if (ibsrq->event_handler)
		ibsrq->event_handler(&event, ibsrq->srq_context);
}

/**
 * mlx5_ib_init_srq_events - start to listen for events of SRQs
 * @dev: device
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_init_srq_events(struct mlx5_ib_dev *dev)
{
	dev->srq_events.map = srq_events;
	dev->srq_events.num_events = ARRAY_SIZE(srq_events);
	dev->srq_events.deliver = deliver_srq_event;
	return mlx5_ib_init_event_table(&dev->srq_events, dev->mdev);
}
