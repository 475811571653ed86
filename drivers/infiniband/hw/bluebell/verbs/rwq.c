// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work queues (WQs) of verbs: receive queues for raw packets that belong to no queue pair. An
 * indirection table (rqt.c) and an RSS queue pair (rss_qp.c) spread packets over them.
 */

#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_qp.h"
#include "layout/layout_raw.h"
#include "layout/layout_rq.h"
#include "layout/layout_sq.h"
#include "layout/refuse.h"
#include "lib/orphan.h"
#include "lib/queue_cmd.h"
#include "lib/umem.h"
#include "verbs/cq.h"
#include "verbs/rwq.h"
#include "verbs/ucontext.h"

/*
 * Deliver an event: each event that the device reports of an RQ means that the RQ has failed, and
 * verbs have one event for that. ib_core's handler needs the uobject, which ib_core sets after
 * mlx5_ib_create_wq() has returned. An event that comes earlier is about a former RQ with the
 * number of this RQ, and is dropped: the process cannot have posted to this RQ yet.
 */
static void rwq_event(struct mlx5_ib_rsc *rsc, enum ib_event_type type)
{
	struct ib_wq *ibwq = &container_of(rsc, struct mlx5_ib_rwq, rsc)->ibwq;
	struct ib_event event = {
		.device = ibwq->device,
		.event = IB_EVENT_WQ_FATAL,
		.element.wq = ibwq,
	};

	if (ibwq->event_handler && READ_ONCE(ibwq->uobject))
		ibwq->event_handler(&event, ibwq->wq_context);
}

static const struct mlx5_ib_rsc_ops rwq_rsc_ops = {
	.type = MLX5_RES_RQ,
	.name = "WQ",
	.destroy_op = MLX5_CMD_OP_DESTROY_RQ,
	.event = rwq_event,
};

/* Copy and check the library's request. Returns the bytes of the queue, or a negative errno. */
static int rwq_parse_request(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *ctx,
			     struct ib_wq_init_attr *init, struct ib_udata *udata,
			     struct mlx5_ib_create_wq *ucmd, struct mlx5_ib_rqc_attr *attr)
{
	int err;

	if (!mlx5_ib_has_raw_packets(&dev->caps) || init->wq_type != IB_WQT_RQ)
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "WQ of type %u: the driver or device has none", init->wq_type);
	err = ib_copy_validate_udata_in_cm(udata, *ucmd, single_stride_log_num_of_bytes,
					   MLX5_IB_CREATE_WQ_STRIDING_RQ);
	if (err)
		return err;
	err = mlx5_ib_qp_check_uidx(ucmd->user_index, true, ctx->cqe_version);
	return err ?: mlx5_ib_calc_wq(init, ucmd, &dev->caps, attr);
}

static int rwq_map(struct mlx5_ib_rwq *rwq, struct mlx5_ib_ucontext *ctx, int size,
		   const struct mlx5_ib_create_wq *ucmd)
{
	struct mlx5_ib_dev *dev = to_mdev(ctx->ibucontext.device);

	/* The device only reads the queue. */
	return mlx5_ib_share_take(ctx, MLX5_IB_SHARE_RQ, &rwq->mem.share) ?:
	       mlx5_ib_queue_mem_map_user(&rwq->mem, ctx,
					  mlx5_ib_umem_get(dev, ucmd->buf_addr, size, 0), size,
					  MLX5_IB_MAX_WQ_PAGE_OFFSET, ucmd->db_addr);
}

/*
 * Create the queue at the device, and respond to the user. After an error the queue does not exist,
 * or is an orphan (orphan.c), which has taken over its memory.
 */
static int rwq_create(struct mlx5_ib_rwq *rwq, struct mlx5_ib_rqc_attr *attr,
		      struct ib_udata *udata)
{
	const struct mlx5_ib_create_wq_resp resp = {
		.response_length = min(udata->outlen, sizeof(resp)),
	};
	u32 rqc[MLX5_ST_SZ_DW(rqc)] = {};
	int err;

	mlx5_ib_fill_rqc(rqc, attr);
	err = mlx5_ib_create_wq_cmd(rwq->rsc.dev, rwq->rsc.uid, MLX5_CMD_OP_CREATE_RQ, &rwq->mem,
				    rqc, &rwq->rsc.num);
	return err ?: mlx5_ib_rsc_respond_and_add(&rwq->rsc, &rwq->mem, udata, &resp,
						  sizeof(resp));
}

static struct mlx5_ib_rwq *rwq_alloc(struct mlx5_ib_dev *dev, const struct mlx5_ib_ucontext *ctx,
				     const struct ib_wq_init_attr *init)
{
	struct mlx5_ib_rwq *rwq = kzalloc_obj(*rwq, GFP_KERNEL_ACCOUNT);

	if (!rwq)
		return NULL;
	mutex_init(&rwq->mutex);
	rwq->rsc.dev = dev;
	rwq->rsc.ops = &rwq_rsc_ops;
	rwq->rsc.uid = ctx->uid;
	/* Events can come before ib_core fills in the object. */
	rwq->ibwq.device = &dev->ib_dev;
	rwq->ibwq.event_handler = init->event_handler;
	rwq->ibwq.wq_context = init->wq_context;
	rwq->ibwq.state = IB_WQS_RESET;
	return rwq;
}

/**
 * mlx5_ib_create_wq - create a work queue
 * @pd: protection domain of the process
 * @init: type, CQ, capacities, flags; the capacities are set to those of the queue
 * @udata: struct mlx5_ib_create_wq; answered with struct mlx5_ib_create_wq_resp
 *
 * Implements ibv_create_wq(3) with CREATE_RQ. May sleep.
 *
 * Return: the queue, or an ERR_PTR: -EOPNOTSUPP for a type or a feature that the driver or the
 * device does not have; -EINVAL for invalid attributes, sizes that the device cannot have or that
 * are too small, and for a buffer or doorbell record that is not aligned; -ENOMEM, also if the user
 * has as many receive queues as a user can have; -EFAULT; as mlx5_ib_umem_get() for memory that
 * cannot be pinned; -EIO as mlx5_ib_check_pd() and mlx5_ib_check_cq(); or the errno of a failed
 * command.
 */
struct ib_wq *mlx5_ib_create_wq(struct ib_pd *pd, struct ib_wq_init_attr *init,
				struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	struct mlx5_ib_create_wq ucmd = {};
	struct mlx5_ib_rqc_attr attr = {};
	struct mlx5_ib_rwq *rwq;
	int size, err;

	size = rwq_parse_request(dev, ctx, init, udata, &ucmd, &attr);
	if (size < 0)
		return ERR_PTR(size);
	err = mlx5_ib_check_pd(pd) ?: mlx5_ib_check_cq(init->cq);
	if (err)
		return ERR_PTR(err);
	attr.pdn = to_mpd(pd)->pdn;
	attr.cqn = to_mcq(init->cq)->mcq.cqn;
	attr.uidx = mlx5_ib_qp_uidx(ucmd.user_index, ctx->cqe_version, &dev->caps);
	attr.counter_set = dev->counter_set_id;
	attr.ts_format = mlx5_ib_raw_ts_format(MLX5_CAP_GEN(dev->mdev, rq_ts_format),
					       to_mcq(init->cq)->real_time);
	rwq = rwq_alloc(dev, ctx, init);
	if (!rwq)
		return ERR_PTR(-ENOMEM);
	rwq->strip_vlan = attr.strip_vlan;
	err = rwq_map(rwq, ctx, size, &ucmd) ?: rwq_create(rwq, &attr, udata);
	if (err) {
		mlx5_ib_queue_mem_unmap_user(&rwq->mem);
		kfree(rwq);
		return ERR_PTR(err);
	}
	rwq->ibwq.wq_num = rwq->rsc.num;
	return &rwq->ibwq;
}

static int rwq_check_modify(struct mlx5_ib_dev *dev, const struct ib_wq_attr *attr, u32 mask,
			    struct ib_udata *udata)
{
	struct mlx5_ib_modify_wq ucmd = {};
	u32 flags = mask & IB_WQ_FLAGS ? attr->flags_mask : 0;
	int err;

	err = ib_copy_validate_udata_in_cm(udata, ucmd, reserved, 0);
	if (err)
		return err;
	if (ucmd.reserved || (flags & ~IB_WQ_FLAGS_CVLAN_STRIPPING))
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "change of flags %#x of a WQ, only CVLAN_STRIPPING (%#x) can change; reserved %#x",
			      flags, IB_WQ_FLAGS_CVLAN_STRIPPING, ucmd.reserved);
	return mlx5_ib_rq_check_flags(flags, &dev->caps) ?:
	       mlx5_ib_wq_check_states(attr->curr_wq_state, attr->wq_state, &dev->caps);
}

static int rwq_modify(struct mlx5_ib_rwq *rwq, const struct ib_wq_attr *attr, bool strip_vlan)
{
	u8 cur = mlx5_ib_wq_state_to_hw(attr->curr_wq_state);
	u32 rqc[MLX5_ST_SZ_DW(rqc)] = {};
	u64 bitmask = 0;
	int err = 0;

	lockdep_assert_held(&rwq->mutex);
	/* The command names the state, and the queue may have failed. */
	if (attr->wq_state != IB_WQS_RDY)
		err = mlx5_ib_fw_query_wq_state(rwq->rsc.dev, rwq->rsc.uid, MLX5_CMD_OP_QUERY_RQ,
						rwq->rsc.num, &cur);
	if (err)
		return err;
	if (strip_vlan != rwq->strip_vlan)
		bitmask = MLX5_MODIFY_RQ_IN_MODIFY_BITMASK_VSD;
	MLX5_SET(rqc, rqc, state, mlx5_ib_wq_state_to_hw(attr->wq_state));
	MLX5_SET(rqc, rqc, vsd, !strip_vlan);
	err = mlx5_ib_fw_modify_wq(rwq->rsc.dev, rwq->rsc.uid, MLX5_CMD_OP_MODIFY_RQ, rwq->rsc.num,
				   cur, bitmask, rqc);
	if (err)
		return err;
	rwq->ibwq.state = attr->wq_state;
	rwq->strip_vlan = strip_vlan;
	return 0;
}

/**
 * mlx5_ib_modify_wq - change the state or the flags of a work queue
 * @ibwq: the queue
 * @attr: states before and after the change, which ib_core has filled in; flags
 * @mask: enum ib_wq_attr_mask
 * @udata: struct mlx5_ib_modify_wq
 *
 * Implements ibv_modify_wq(3) with MODIFY_RQ. May sleep.
 *
 * Return: 0; -EINVAL for a change from the error state to another than RESET; -EOPNOTSUPP for a
 * flag that cannot change, or that the device does not have; -EFAULT; -EIO as
 * mlx5_ib_fw_check_exists(); or the errno of a failed command.
 */
int mlx5_ib_modify_wq(struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask,
		      struct ib_udata *udata)
{
	struct mlx5_ib_rwq *rwq = to_mrwq(ibwq);
	bool strip_vlan;
	int err;

	err = mlx5_ib_fw_check_exists(rwq->rsc.dev, &rwq->rsc.attempt, "WQ", rwq->rsc.num) ?:
	      rwq_check_modify(rwq->rsc.dev, attr, mask, udata);
	if (err)
		return err;
	guard(mutex)(&rwq->mutex);
	strip_vlan = rwq->strip_vlan;
	if (mask & IB_WQ_FLAGS && attr->flags_mask & IB_WQ_FLAGS_CVLAN_STRIPPING)
		strip_vlan = attr->flags & IB_WQ_FLAGS_CVLAN_STRIPPING;
	return rwq_modify(rwq, attr, strip_vlan);
}

/**
 * mlx5_ib_destroy_wq - destroy a work queue
 * @ibwq: the queue, which is in no indirection table
 * @udata: data of the user's call
 *
 * May sleep.
 *
 * Return: 0, or the errno of the failed DESTROY_RQ. Always 0 for a process that has closed the
 * device: an RQ that firmware then refuses to destroy becomes an orphan (orphan.c).
 */
int mlx5_ib_destroy_wq(struct ib_wq *ibwq, struct ib_udata *udata)
{
	struct mlx5_ib_rwq *rwq = to_mrwq(ibwq);
	struct mlx5_ib_ucontext *ctx = rwq->mem.context;
	int err;

	mlx5_ib_orphans_retry(rwq->rsc.dev, ctx);
	err = mlx5_ib_rsc_end(&rwq->rsc, &rwq->mem, ctx->closing);
	if (err)
		return err;
	mlx5_ib_queue_mem_unmap_user(&rwq->mem);
	kfree(rwq);
	return 0;
}
