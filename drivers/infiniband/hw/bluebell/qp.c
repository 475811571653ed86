// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs of user space: create, query and destroy them, and find them
 * when the device raises an event. Changes of state are in qp_modify.c.
 */

#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/mm.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "bluebell.h"
#include "cq.h"
#include "doorbell.h"
#include "fw.h"
#include "layout_mkey.h"
#include "qp.h"
#include "srq.h"
#include "uar.h"
#include "ucontext.h"
#include "xrc.h"

/**
 * mlx5_ib_get_qp_caps - collect what the device allows a QP to be
 * @dev: device
 * @caps: the result
 */
void mlx5_ib_get_qp_caps(struct mlx5_ib_dev *dev, struct mlx5_ib_qp_caps *caps)
{
	const u32 atomics = MLX5_ATOMIC_OPS_CMP_SWAP | MLX5_ATOMIC_OPS_FETCH_ADD;
	struct mlx5_core_dev *mdev = dev->mdev;

	*caps = (struct mlx5_ib_qp_caps){
		.rc = MLX5_CAP_GEN(mdev, rc),
		.uc = MLX5_CAP_GEN(mdev, uc),
		.ud = MLX5_CAP_GEN(mdev, ud),
		.log_max_qp_sz = MLX5_CAP_GEN(mdev, log_max_qp_sz),
		.max_wqe_sz_rq = MLX5_CAP_GEN(mdev, max_wqe_sz_rq),
		.cqe_version = MLX5_CAP_GEN(mdev, cqe_version),
		.log_max_ra_req = MLX5_CAP_GEN(mdev, log_max_ra_req_qp),
		.log_max_ra_res = MLX5_CAP_GEN(mdev, log_max_ra_res_qp),
		.log_max_msg = MLX5_CAP_GEN(mdev, log_max_msg),
		.num_ports = MLX5_CAP_GEN(mdev, num_ports),
		.pkey_table_len = mlx5_to_sw_pkey_sz(MLX5_CAP_GEN(mdev, pkey_table_size)),
		.gid_table_len = mlx5_get_gid_table_len(MLX5_CAP_GEN(mdev, gid_table_size)),
		.stat_rate_support = MLX5_CAP_GEN(mdev, stat_rate_support),
		.apm = MLX5_CAP_GEN(mdev, apm),
		.block_lb_mc = MLX5_CAP_GEN(mdev, block_lb_mc),
		.end_pad = MLX5_CAP_GEN(mdev, end_pad),
		.cross_channel = MLX5_CAP_GEN(mdev, cd),
		.wq_signature = MLX5_CAP_GEN(mdev, wq_signature),
		.scatter_cqe = MLX5_CAP_GEN(mdev, sctr_data_cqe),
		.packet_based = MLX5_CAP_GEN(mdev, qp_packet_based),
		.ece = MLX5_CAP_GEN(mdev, ece_support),
		.xrc = mlx5_ib_has_xrc(dev),
		.ts_format = mlx5_get_qp_default_ts(mdev),
	};
	if (MLX5_CAP_GEN(mdev, atomic) &&
	    (MLX5_CAP_ATOMIC(mdev, atomic_operations) & atomics) == atomics)
		caps->atomic_mode = MLX5_QPC_ATOMIC_MODE_IB_SPEC;
}

/*
 * Which UAR rings the QP: one the user names as a UAR object, one he names as
 * a dynamic register, or one chosen for him.
 */
static int take_bfreg(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *ctx,
		      struct mlx5_ib_qp *qp, const struct mlx5_ib_create_qp *ucmd,
		      u32 *uar_page, u32 *bfreg_index)
{
	int index, bfregn;

	if (ucmd->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) {
		qp->uar = mlx5_ib_get_uar(ctx, ucmd->bfreg_index);
		if (!qp->uar)
			return -EINVAL;
		*uar_page = ucmd->bfreg_index;
		*bfreg_index = ucmd->bfreg_index;
		return 0;
	}
	if (ucmd->flags & MLX5_QP_FLAG_BFREG_INDEX) {
		index = bfregn_to_uar_index(dev, &ctx->bfregi, ucmd->bfreg_index, true);
		if (index < 0)
			return index;
		*uar_page = index;
		*bfreg_index = ucmd->bfreg_index;
		return 0;
	}

	bfregn = mlx5_ib_alloc_bfreg(dev, &ctx->bfregi);
	if (bfregn < 0)
		return bfregn;
	qp->bfregn = bfregn;
	index = bfregn_to_uar_index(dev, &ctx->bfregi, bfregn, false);
	if (index < 0)
		return index;
	*uar_page = index;
	*bfreg_index = mlx5_ib_adjust_bfregn(dev, &ctx->bfregi, bfregn);
	return 0;
}

/* Give back whatever take_resources() got; any part of it may be missing. */
static void release_resources(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *ctx,
			      struct mlx5_ib_qp *qp)
{
	if (qp->db.page)
		mlx5_ib_db_unmap_user(ctx, &qp->db);
	ib_umem_release(qp->umem);
	if (qp->bfregn != MLX5_IB_INVALID_BFREG)
		mlx5_ib_free_bfreg(dev, &ctx->bfregi, qp->bfregn);
	if (qp->uar)
		mlx5_ib_put_uar(qp->uar);
}

static int take_resources(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *ctx,
			  struct mlx5_ib_qp *qp, const struct mlx5_ib_create_qp *ucmd,
			  struct mlx5_ib_qpc_attr *attr, u32 *npas, u32 *bfreg_index)
{
	struct ib_umem *umem;
	int err;

	err = take_bfreg(dev, ctx, qp, ucmd, &attr->uar_page, bfreg_index);
	if (err)
		return err;
	if (qp->wq.buf_size) {
		/* The device only reads its work queues. */
		umem = mlx5_ib_umem_get(dev, ucmd->buf_addr, qp->wq.buf_size, 0);
		if (IS_ERR(umem))
			return PTR_ERR(umem);
		qp->umem = umem;
		err = mlx5_ib_umem_geometry(umem, &attr->geo, npas);
		if (err)
			return err;
	}
	return mlx5_ib_db_map_user(ctx, ucmd->db_addr, &qp->db);
}

static int create_qp_cmd(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp,
			 const struct mlx5_ib_qpc_attr *attr, u32 npas, u32 *ece)
{
	size_t inlen = MLX5_ST_SZ_BYTES(create_qp_in) + sizeof(__be64) * npas;

	void *in __free(kvfree) = kvzalloc(inlen, GFP_KERNEL);

	if (!in)
		return -ENOMEM;
	MLX5_SET(create_qp_in, in, ece, *ece);
	mlx5_ib_fill_qpc(MLX5_ADDR_OF(create_qp_in, in, qpc), attr);
	if (qp->umem)
		mlx5_ib_populate_pas(qp->umem, 1UL << attr->geo.page_shift,
				     MLX5_ADDR_OF(create_qp_in, in, pas));
	return mlx5_fw_create_qp(dev, MLX5_IB_KERNEL_UID, in, inlen, &qp->qpn, ece);
}

static void init_qp(struct mlx5_ib_qp *qp, const struct ib_qp_init_attr *init)
{
	mutex_init(&qp->mutex);
	qp->state = IB_QPS_RESET;
	qp->bfregn = MLX5_IB_INVALID_BFREG;
	qp->cap = init->cap;
	qp->sq_sig_type = init->sq_sig_type;
	qp->create_flags = init->create_flags;
}

static u8 choose_ts_format(const struct ib_qp_init_attr *init, const struct mlx5_ib_qp_caps *caps)
{
	if (to_mcq(init->send_cq)->real_time ||
	    (init->recv_cq && to_mcq(init->recv_cq)->real_time))
		return MLX5_TIMESTAMP_FORMAT_REAL_TIME;
	return caps->ts_format;
}

/* Create the QP at the device and make it known to events and to the user, if he is here. */
static int create_and_respond(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp,
			      const struct mlx5_ib_qpc_attr *attr, u32 npas, u32 ece,
			      u32 bfreg_index, struct ib_udata *udata)
{
	struct mlx5_ib_create_qp_resp resp = { .bfreg_index = bfreg_index };
	int err;

	err = create_qp_cmd(dev, qp, attr, npas, &ece);
	if (err)
		return err;
	err = mlx5_ib_add_source(&dev->qp_events, &qp->source, qp->qpn);
	if (err)
		goto err_destroy;
	resp.ece_options = ece;
	if (udata)
		err = ib_respond_udata(udata, resp);
	if (err)
		goto err_remove;
	qp->ibqp.qp_num = qp->qpn;
	qp->pdn = attr->pdn;
	qp->cqn_snd = attr->cqn_snd;
	qp->cqn_rcv = attr->cqn_rcv;
	return 0;

err_remove:
	mlx5_ib_remove_source(&qp->source);
err_destroy:
	mlx5_fw_destroy_qp(dev, MLX5_IB_KERNEL_UID, qp->qpn);
	return err;
}

static int create_user_qp(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp,
			  const struct ib_qp_init_attr *init, const struct mlx5_ib_create_qp *ucmd,
			  const struct mlx5_ib_qp_caps *caps, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	u32 flags = mlx5_ib_qp_effective_flags(ucmd->flags, caps);
	struct mlx5_ib_cq *scq = to_mcq(init->send_cq);
	struct mlx5_ib_cq *rcq = init->recv_cq ? to_mcq(init->recv_cq) : NULL;
	struct mlx5_ib_qpc_attr attr = {
		.qp_type = init->qp_type,
		.wq = qp->wq,
		.pdn = to_mpd(qp->ibqp.pd)->pdn,
		.uidx = ucmd->uidx,
		.cqe_version = ctx->cqe_version,
		.cqn_snd = scq->mcq.cqn,
		.cqn_rcv = rcq ? rcq->mcq.cqn : 0,
		.create_flags = init->create_flags,
		.vendor_flags = flags,
		.ts_format = choose_ts_format(init, caps),
	};
	u32 ece = caps->ece ? ucmd->ece_options : 0;
	u32 npas = 0, bfreg_index;
	int err;

	if (init->srq) {
		attr.has_srq = true;
		attr.srqn = to_msrq(init->srq)->srqn;
	}
	if (mlx5_ib_qp_is_xrc(init->qp_type))
		mlx5_ib_fill_xrc_attr(dev, init, &attr);
	mlx5_ib_scatter_to_cqe(init->qp_type, flags, init->sq_sig_type == IB_SIGNAL_ALL_WR,
			       scq->cqe_size, rcq ? rcq->cqe_size : 0, &attr);
	err = take_resources(dev, ctx, qp, ucmd, &attr, &npas, &bfreg_index);
	if (!err) {
		attr.dbr_addr = qp->db.dma;
		err = create_and_respond(dev, qp, &attr, npas, ece, bfreg_index, udata);
	}
	if (err)
		release_resources(dev, ctx, qp);
	return err;
}

/*
 * The target of an XRC connection belongs to its domain and not to the process
 * that made it, so ib_core comes without one. It has nothing of a process's.
 */
static int create_tgt(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp,
		      struct ib_qp_init_attr *init, const struct mlx5_ib_qp_caps *caps)
{
	struct mlx5_ib_qpc_attr attr = {
		.qp_type = IB_QPT_XRC_TGT,
		.uidx = MLX5_IB_DEFAULT_UIDX,
		.cqe_version = caps->cqe_version,
		.create_flags = init->create_flags,
		.ts_format = caps->ts_format,
	};
	int err;

	err = mlx5_ib_qp_check_tgt(init, caps);
	if (err)
		return err;
	init->cap = (struct ib_qp_cap){};
	init_qp(qp, init);
	mlx5_ib_fill_xrc_attr(dev, init, &attr);
	return create_and_respond(dev, qp, &attr, 0, 0, 0, NULL);
}

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
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_dev *dev = to_mdev(ibqp->device);
	struct mlx5_ib_create_qp ucmd = {};
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	struct mlx5_ib_qp_caps caps;
	int err;

	mlx5_ib_get_qp_caps(dev, &caps);
	if (init->qp_type == IB_QPT_XRC_TGT)
		return create_tgt(dev, qp, init, &caps);
	if (!udata)
		return -EOPNOTSUPP;
	/* Refused by type first: other types come with other requests. */
	if (init->qp_type != IB_QPT_RC && init->qp_type != IB_QPT_UC &&
	    init->qp_type != IB_QPT_UD && init->qp_type != IB_QPT_XRC_INI)
		return -EOPNOTSUPP;
	err = ib_copy_validate_udata_in(udata, ucmd, flags);
	if (err)
		return err;

	err = mlx5_ib_qp_check_create(init, &ucmd, &caps);
	if (err)
		return err;
	err = mlx5_ib_qp_check_uidx(ucmd.uidx, udata->inlen >= offsetofend(typeof(ucmd), uidx),
				    ctx->cqe_version);
	if (err)
		return err;
	err = mlx5_ib_calc_user_wq(init, &ucmd, &caps, &qp->wq);
	if (err)
		return err;

	init_qp(qp, init);
	qp->wq_sig = ucmd.flags & MLX5_QP_FLAG_SIGNATURE;
	err = create_user_qp(dev, qp, init, &ucmd, &caps, udata);
	if (err)
		return err;

	init->cap.max_recv_wr = qp->wq.rq_wqe_cnt;
	init->cap.max_recv_sge = qp->wq.rq_max_gs;
	return 0;
}

/**
 * mlx5_ib_query_qp - read a queue pair's attributes
 * @ibqp: the queue pair
 * @attr: everything the device knows
 * @mask: not used: all is given
 * @init: what it was created with
 *
 * Implements ibv_query_qp(3) with QUERY_QP. The state is the device's own: it
 * may have left the one the user last asked for. May sleep.
 *
 * Return: 0; -EIO for a state verbs do not know; or the errno of a firmware
 * refusal.
 */
int mlx5_ib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		     struct ib_qp_init_attr *init)
{
	struct mlx5_ib_dev *dev = to_mdev(ibqp->device);
	u32 qpc[MLX5_ST_SZ_DW(qpc)] = {};
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	int state, err;

	guard(mutex)(&qp->mutex);
	err = mlx5_fw_query_qp(dev, MLX5_IB_KERNEL_UID, qp->qpn, qpc);
	if (err)
		return err;
	state = mlx5_ib_qp_state_from_hw(MLX5_GET(qpc, qpc, state));
	if (state < 0)
		return state;
	qp->state = state;

	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	mlx5_ib_read_qpc(qpc, ibqp->qp_type, attr);
	attr->qp_state = state;
	attr->cur_qp_state = state;
	attr->cap = qp->cap;
	attr->cap.max_recv_wr = qp->wq.rq_wqe_cnt;
	attr->cap.max_recv_sge = qp->wq.rq_max_gs;

	init->qp_type = ibqp->qp_type;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->xrcd = ibqp->xrcd;
	init->cap = attr->cap;
	init->sq_sig_type = qp->sq_sig_type;
	init->create_flags = qp->create_flags;
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
 * Return: 0, or the errno of a firmware that would not destroy it; then buffer,
 * doorbell record and register stay its own. For a target 0 in any case.
 */
int mlx5_ib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_dev *dev = to_mdev(ibqp->device);
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	int err;

	/* Once destroyed, its number may come back as that of a new QP. */
	mlx5_ib_remove_source(&qp->source);
	if (ibqp->qp_type == IB_QPT_XRC_TGT) {
		mlx5_ib_destroy_tgt(qp);
		return 0;
	}
	err = mlx5_fw_destroy_qp(dev, MLX5_IB_KERNEL_UID, qp->qpn);
	if (err) {
		if (mlx5_ib_add_source(&dev->qp_events, &qp->source, qp->qpn))
			ibdev_warn_ratelimited(&dev->ib_dev,
					       "QP 0x%x lives on without events\n", qp->qpn);
		return err;
	}
	release_resources(dev, ctx, qp);
	return 0;
}

/* What the device reports about a QP, and what verbs call it. */
static const struct mlx5_ib_event_map qp_events[] = {
	{ MLX5_EVENT_TYPE_PATH_MIG, IB_EVENT_PATH_MIG },
	{ MLX5_EVENT_TYPE_COMM_EST, IB_EVENT_COMM_EST },
	{ MLX5_EVENT_TYPE_SQ_DRAINED, IB_EVENT_SQ_DRAINED },
	{ MLX5_EVENT_TYPE_SRQ_LAST_WQE, IB_EVENT_QP_LAST_WQE_REACHED },
	{ MLX5_EVENT_TYPE_WQ_CATAS_ERROR, IB_EVENT_QP_FATAL },
	{ MLX5_EVENT_TYPE_PATH_MIG_FAILED, IB_EVENT_PATH_MIG_ERR },
	{ MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR, IB_EVENT_QP_REQ_ERR },
	{ MLX5_EVENT_TYPE_WQ_ACCESS_ERROR, IB_EVENT_QP_ACCESS_ERR },
};

static_assert(ARRAY_SIZE(qp_events) <= BITS_PER_LONG);

static void deliver_qp_event(struct mlx5_ib_event_source *source, enum ib_event_type type)
{
	struct ib_qp *ibqp = &container_of(source, struct mlx5_ib_qp, source)->ibqp;
	struct ib_event event = {
		.device = ibqp->device,
		.event = type,
		.element.qp = ibqp,
	};

	if (ibqp->event_handler)
		ibqp->event_handler(&event, ibqp->qp_context);
}

/**
 * mlx5_ib_init_qp_events - start to listen for events of QPs
 * @dev: device
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_init_qp_events(struct mlx5_ib_dev *dev)
{
	dev->qp_events.map = qp_events;
	dev->qp_events.num_events = ARRAY_SIZE(qp_events);
	dev->qp_events.deliver = deliver_qp_event;
	return mlx5_ib_init_event_table(&dev->qp_events, dev->mdev);
}
