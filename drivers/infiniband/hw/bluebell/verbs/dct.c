// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DC targets (DCT) of processes.
 *
 * To verbs a target is a queue pair of type DRIVER, which MLX5_QP_FLAG_TYPE_DCT makes a target. To
 * the device a target is an object without states: CREATE_DCT has all attributes, and makes a
 * target that is ready. So the changes to INIT and to RTR gather the attributes in a context here,
 * and the change to RTR creates the target at the device. The answer to that change has the number
 * of the target. The number of the queue pair itself, which resource tracking needs from the start,
 * is another (mlx5_ib_qp_take_number()). A target at the device does not change any more.
 *
 *	RESET --modify--> INIT --modify--> RTR (at the device)
 *	                  ^   |
 *	                  +---+ modify
 *
 * Firmware refuses to destroy a target to which initiators are connected. So DRAIN_DCT comes first:
 * the device finishes the messages in progress, closes the connections, and raises DCT_DRAINED.
 */

#include <linux/completion.h>
#include <linux/mlx5/driver.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_dct.h"
#include "layout/refuse.h"
#include "lib/share.h"
#include "verbs/cq.h"
#include "verbs/dct.h"
#include "verbs/qp.h"
#include "verbs/srq.h"
#include "verbs/ucontext.h"
#include "verbs/verbs.h"

/*
 * How long after DRAIN_DCT to wait for DCT_DRAINED. A device that is slower than that, or that has
 * lost the event, may refuse DESTROY_DCT, which is then repeated.
 */
#define DRAIN_JIFFIES	(5 * HZ)
/* How often the wait looks whether the device still exists. */
#define LOOK_JIFFIES	(HZ / 10)
/*
 * How many times tasks may look in all when the driver is unbound. ib_core then destroys the
 * contexts one after the other, so without this limit a user with many contexts could make the
 * unbinding, and with it the recovery of the device, last as many times DRAIN_JIFFIES.
 */
#define REMOVAL_LOOKS	(DRAIN_JIFFIES / LOOK_JIFFIES)

/**
 * struct mlx5_ib_dct - DC target
 * @modifying: held while the state or the attributes are changed, also across the response. Taken
 *	before the mutex of the queue pair
 * @rsc: the target at the device, from CREATE_DCT on; before, and after a change to RTR that has
 *	failed, @rsc.ops is NULL. Guarded by the mutex of the queue pair until the state is RTR
 * @drained: completed by DCT_DRAINED
 * @drain_sent: DRAIN_DCT has been sent, and the attempt to destroy the target goes on or DRAIN_DCT
 *	was not refused
 * @draining: DRAIN_DCT was not refused, so DCT_DRAINED has come or will come
 * @drain_end: when to wait for DCT_DRAINED no longer, in jiffies
 * @ece: options of enhanced connection establishment to ask for
 * @out_of_order: receive WQEs are consumed in any order, as a change to INIT asked for
 * @dctc: context, struct mlx5_ifc_dctc_bits, as gathered so far. Written with @modifying and the
 *	mutex of the queue pair held
 */
struct mlx5_ib_dct {
	struct mutex modifying; /* held across the response */
	struct mlx5_ib_rsc rsc;
	struct completion drained;
	bool drain_sent;
	bool draining;
	unsigned long drain_end;
	u32 ece;
	bool out_of_order;
	u32 dctc[MLX5_ST_SZ_DW(dctc)];
};

/**
 * mlx5_ib_dct_rsc - find the DC target of a queue pair at the device
 * @qp: queue pair of any kind
 *
 * Any context.
 *
 * Return: the target; NULL if the queue pair is not a DC target, or not yet one at the device.
 */
const struct mlx5_ib_rsc *mlx5_ib_dct_rsc(const struct mlx5_ib_qp *qp)
{
	const struct mlx5_ib_dct *dct = qp->priv;

	if (qp->ops != &mlx5_ib_dct_ops || READ_ONCE(qp->state) != IB_QPS_RTR)
		return NULL;
	return &dct->rsc;
}

/* ---- draining ---------------------------------------------------------------------------- */

/* The only event of a target that the driver gets is DCT_DRAINED, see rsc_events[] of rsc.c. */
static void dct_event(struct mlx5_ib_rsc *rsc, enum ib_event_type type)
{
	struct mlx5_ib_dct *dct = container_of(rsc, struct mlx5_ib_dct, rsc);

	if (!WARN_ON_ONCE(type != IB_EVENT_SQ_DRAINED))
		complete_all(&dct->drained);
}

/*
 * Send DRAIN_DCT, once in each attempt to destroy the target until it has succeeded. After a
 * DESTROY_DCT that was not answered nothing is sent: the number may be another target's. Returns
 * whether DCT_DRAINED is to be expected.
 */
static bool dct_start_drain(struct mlx5_ib_dct *dct)
{
	u32 out[MLX5_ST_SZ_DW(drain_dct_out)] = {};
	struct mlx5_ib_rsc *rsc = &dct->rsc;
	int err;

	if (dct->drain_sent || rsc->attempt.unanswered)
		return dct->draining;
	dct->drain_sent = true;
	err = mlx5_ib_fw_query_object(rsc->dev, rsc->uid, MLX5_CMD_OP_DRAIN_DCT, rsc->num, out,
				      sizeof(out));
	dct->draining = !err || err == -ETIMEDOUT;
	dct->drain_end = jiffies + DRAIN_JIFFIES;
	return dct->draining;
}

static bool dct_may_wait(const struct mlx5_ib_dct *dct)
{
	const struct mlx5_ib_dev *dev = dct->rsc.dev;

	return !time_after(jiffies, dct->drain_end) &&
	       !(READ_ONCE(dev->removing) && atomic_read(&dev->drain_looks) >= REMOVAL_LOOKS);
}

/* The targets of a process that ends wait for the same time, not one after the other. */
static void dct_wait_drained(struct mlx5_ib_dct *dct)
{
	struct mlx5_ib_dev *dev = dct->rsc.dev;

	while (!completion_done(&dct->drained) && dct_may_wait(dct)) {
		if (wait_for_completion_timeout(&dct->drained, LOOK_JIFFIES) ||
		    mlx5_ib_fw_device_is_gone(dev))
			return;
		if (READ_ONCE(dev->removing))
			atomic_inc(&dev->drain_looks);
	}
}

/*
 * Implements @prepare_destroy of struct mlx5_ib_rsc_ops, for a target that has never been in the
 * table, so that DCT_DRAINED cannot find it: DESTROY_DCT is repeated until the target has drained.
 */
static void dct_prepare_destroy(struct mlx5_ib_rsc *rsc)
{
	dct_start_drain(container_of(rsc, struct mlx5_ib_dct, rsc));
}

static const struct mlx5_ib_rsc_ops dct_rsc_ops = {
	.type = MLX5_IB_RES_DCT,
	.name = "DCT",
	.destroy_op = MLX5_CMD_OP_DESTROY_DCT,
	.repeats_destroy = true,
	.prepare_destroy = dct_prepare_destroy,
	.event = dct_event,
};

/* ---- create ------------------------------------------------------------------------------ */

static int dct_parse_request(struct mlx5_ib_qp *qp, const struct mlx5_ib_ucontext *ctx,
			     const struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	int err;

	err = ib_copy_validate_udata_in(udata, qp->ucmd, access_key);
	if (err)
		return err;
	return mlx5_ib_dct_check_create(init, &qp->ucmd, &dev->caps) ?:
	       mlx5_ib_qp_check_uidx(qp->ucmd.uidx, true, ctx->cqe_version);
}

static void dct_fill(struct mlx5_ib_dct *dct, const struct mlx5_ib_qp *qp,
		     const struct ib_qp_init_attr *init, u8 cqe_version)
{
	const struct mlx5_ib_caps *caps = &to_mdev(qp->ibqp.device)->caps;
	struct mlx5_ib_cq *cq = to_mcq(init->recv_cq);
	void *dctc = dct->dctc;

	mlx5_ib_dct_fill_create(dctc, &qp->ucmd, cq->cqe_size, caps);
	MLX5_SET(dctc, dctc, pd, to_mpd(qp->ibqp.pd)->pdn);
	MLX5_SET(dctc, dctc, user_index, mlx5_ib_qp_uidx(qp->ucmd.uidx, cqe_version, caps));
	MLX5_SET(dctc, dctc, cqn, cq->mcq.cqn);
	MLX5_SET(dctc, dctc, srqn_xrqn, to_msrq(init->srq)->rsc.num);
}

static int dct_create(struct mlx5_ib_qp *qp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_create_qp_resp resp = {};
	int err;

	err = dct_parse_request(qp, ctx, init, udata);
	if (err)
		return err;

	struct mlx5_ib_dct *dct __free(kfree) = kzalloc_obj(*dct, GFP_KERNEL_ACCOUNT);

	if (!dct)
		return -ENOMEM;
	mutex_init(&dct->modifying);
	init_completion(&dct->drained);
	if (MLX5_CAP_GEN(to_mdev(qp->ibqp.device)->mdev, ece_support))
		dct->ece = qp->ucmd.ece_options;
	resp.ece_options = dct->ece;
	dct_fill(dct, qp, init, ctx->cqe_version);
	err = mlx5_ib_share_take(ctx, MLX5_IB_SHARE_QP, &qp->mem.share);
	if (err)
		return err;
	mlx5_ib_qp_take_number(qp);
	err = ib_respond_udata(udata, resp);
	if (err) {
		mlx5_ib_qp_give_number(qp);
		mlx5_ib_share_give(&qp->mem.share);
		return err;
	}
	qp->uid = ctx->uid;
	qp->mem.context = ctx;
	init->cap = (struct ib_qp_cap){};
	qp->priv = no_free_ptr(dct);
	return 0;
}

/* ---- modify and query -------------------------------------------------------------------- */

/*
 * The queue pair counts against the limit of its user from the start. But if a change to RTR has
 * left a target that may exist, or that is an orphan (orphan.c), this target has taken over the
 * share, and the next target needs another.
 */
static int dct_take_share(struct mlx5_ib_qp *qp)
{
	return qp->mem.share.user ? 0 :
	       mlx5_ib_share_take(qp->mem.context, MLX5_IB_SHARE_QP, &qp->mem.share);
}

static int dct_create_at_device(struct mlx5_ib_qp *qp, u32 *dctc, u32 *ece)
{
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	struct mlx5_ib_dct *dct = qp->priv;
	u32 dctn;
	int err;

	lockdep_assert_held(&qp->mutex);
	err = dct_take_share(qp);
	if (err)
		return err;
	MLX5_SET(dctc, dctc, counter_set_id, qp->counter_set);
	err = mlx5_ib_fw_create_dct(dev, qp->uid, dctc, &dctn, ece);
	/* The target may exist: it counts until the driver is unbound. */
	if (err == -ETIMEDOUT)
		mlx5_ib_share_keep(&qp->mem.share);
	if (err)
		return err;
	dct->rsc = (struct mlx5_ib_rsc){
		.dev = dev, .ops = &dct_rsc_ops, .num = dctn, .uid = qp->uid,
	};
	return 0;
}

/*
 * Tell the number of the target in the answer, and add the target to the table by which events find
 * it. If that fails, the target is destroyed or is an orphan (orphan.c), which has taken over the
 * share of the queue pair. The answer may go to memory whose page never comes, so the mutex of the
 * queue pair, for which administrators and other users wait, is not held.
 */
static int dct_respond(struct mlx5_ib_qp *qp, struct mlx5_ib_modify_qp_resp *resp,
		       struct ib_udata *udata)
{
	struct mlx5_ib_queue_mem mem = { .context = qp->mem.context, .share = qp->mem.share };
	struct mlx5_ib_dct *dct = qp->priv;
	int err;

	resp->response_length = min(udata->outlen, sizeof(*resp));
	resp->dctn = dct->rsc.num;
	err = mlx5_ib_rsc_respond_and_add(&dct->rsc, &mem, udata, resp, resp->response_length);
	qp->mem.share = mem.share;
	return err;
}

/* Create the target at the device. After an error the queue pair stays in INIT. */
static int dct_to_rtr(struct mlx5_ib_qp *qp, u32 *dctc, u32 ece, struct ib_udata *udata)
{
	struct mlx5_ib_modify_qp_resp resp = {};
	struct mlx5_ib_dct *dct = qp->priv;
	int err;

	if (dct->out_of_order)
		mlx5_ib_dct_fill_out_of_order(dctc, &to_mdev(qp->ibqp.device)->caps);
	MLX5_SET(dctc, dctc, ece, ece ?: dct->ece);
	reinit_completion(&dct->drained);
	dct->drain_sent = false;
	dct->draining = false;
	scoped_guard(mutex, &qp->mutex)
		err = dct_create_at_device(qp, dctc, &resp.ece_options);
	if (err)
		return err;
	err = dct_respond(qp, &resp, udata);
	if (!err)
		return 0;
	scoped_guard(mutex, &qp->mutex)
		dct->rsc.ops = NULL;
	return err;
}

static int dct_modify_locked(struct mlx5_ib_qp *qp, const struct ib_qp_attr *attr, int mask,
			     const struct mlx5_ib_modify_qp *ucmd, struct ib_udata *udata)
{
	bool out_of_order = ucmd->comp_mask & MLX5_IB_MODIFY_QP_OOO_DP;
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : qp->state;
	u32 dctc[MLX5_ST_SZ_DW(dctc)];
	struct mlx5_ib_dct *dct = qp->priv;
	int err;

	lockdep_assert_held(&dct->modifying);
	err = mlx5_ib_dct_check_modify(qp->state, next, mask, attr, &dev->caps);
	if (err)
		return err;
	if (next != IB_QPS_INIT && out_of_order)
		return refuse(dev->mdev, -EINVAL,
			      "DCT with OOO_DP in a change to state %u, only to INIT (1) is possible",
			      next);
	memcpy(dctc, dct->dctc, sizeof(dctc));
	mlx5_ib_dct_fill_modify(dctc, attr, mask, &dev->caps);
	if (next == IB_QPS_RTR)
		err = dct_to_rtr(qp, dctc, ucmd->ece_options, udata);
	if (err)
		return err;
	guard(mutex)(&qp->mutex);
	memcpy(dct->dctc, dctc, sizeof(dctc));
	dct->out_of_order |= out_of_order;
	WRITE_ONCE(qp->state, next);
	return 0;
}

static int dct_modify(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr, int mask,
		      struct ib_udata *udata)
{
	const size_t room = offsetofend(struct mlx5_ib_modify_qp_resp, dctn);
	struct mlx5_core_dev *mdev = to_mdev(qp->ibqp.device)->mdev;
	struct mlx5_ib_dct *dct = qp->priv;
	struct mlx5_ib_modify_qp ucmd = {};
	bool creates = mask & IB_QP_STATE && attr->qp_state == IB_QPS_RTR;
	int err;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return refuse(mdev, -EOPNOTSUPP, "DCT attributes 0x%x, supported: 0x%x", mask,
			      IB_QP_ATTR_STANDARD_BITS);
	if (creates && (!udata || udata->outlen < room))
		return refuse(mdev, -EINVAL,
			      "DCT to RTR: the response of %zu bytes has no room for the number",
			      udata ? udata->outlen : 0);
	err = mlx5_ib_qp_copy_modify(to_mdev(qp->ibqp.device), IB_QPT_DRIVER, udata, &ucmd);
	if (err)
		return err;
	scoped_guard(mutex, &dct->modifying)
		err = dct_modify_locked(qp, attr, mask, &ucmd, udata);
	return err || creates ? err : mlx5_ib_qp_respond_modify(udata, 0);
}

static int dct_query(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr)
{
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	u32 out[MLX5_ST_SZ_DW(query_dct_out)] = {};
	const struct mlx5_ib_dct *dct = qp->priv;
	const void *dctc = dct->dctc;
	int err;

	lockdep_assert_held(&qp->mutex);
	if (qp->state == IB_QPS_RTR) {
		err = mlx5_ib_fw_check_exists(dev, &dct->rsc.attempt, "DCT", dct->rsc.num) ?:
		      mlx5_ib_fw_query_object(dev, qp->uid, MLX5_CMD_OP_QUERY_DCT, dct->rsc.num,
					      out, sizeof(out));
		if (err)
			return err;
		dctc = MLX5_ADDR_OF(query_dct_out, out, dct_context_entry);
	}
	mlx5_ib_dct_read(dctc, dev->caps.ethernet, attr);
	return 0;
}

/* The device cannot change the counter set of a target. */
static int dct_set_counter(struct mlx5_ib_qp *qp, u16 set_id)
{
	const struct mlx5_ib_dct *dct = qp->priv;

	guard(mutex)(&qp->mutex);
	if (dct->rsc.ops && qp->counter_set != set_id && !qp->closing)
		return refuse(to_mdev(qp->ibqp.device)->mdev, -EOPNOTSUPP,
			      "counter set of a DCT in RTR cannot change");
	qp->counter_set = set_id;
	return 0;
}

/* ---- destroy ----------------------------------------------------------------------------- */

static int dct_destroy_at_device(struct mlx5_ib_qp *qp, struct mlx5_ib_dct *dct)
{
	int err;

	if (!dct->rsc.destroyed && dct->rsc.listed && dct_start_drain(dct))
		dct_wait_drained(dct);
	err = mlx5_ib_rsc_end(&dct->rsc, &qp->mem, qp->closing);
	if (err)
		dct->drain_sent = dct->draining;
	return err;
}

static int dct_destroy(struct mlx5_ib_qp *qp)
{
	struct mlx5_ib_dct *dct = qp->priv;
	int err = qp->state == IB_QPS_RTR ? dct_destroy_at_device(qp, dct) : 0;

	if (err)
		return err;
	mlx5_ib_qp_give_number(qp);
	mlx5_ib_share_give(&qp->mem.share);
	kfree(dct);
	qp->priv = NULL;
	return 0;
}

/*
 * Start to drain the targets of a process that has closed the device, so that they drain at the
 * same time.
 */
static void dct_destroy_early(struct mlx5_ib_qp *qp, struct mlx5_ib_fw_batch *batch)
{
	struct mlx5_ib_dct *dct = qp->priv;

	if (qp->state == IB_QPS_RTR && !dct->rsc.destroyed)
		dct_start_drain(dct);
}

const struct mlx5_ib_qp_ops mlx5_ib_dct_ops = {
	.create = dct_create,
	.modify = dct_modify,
	.query = dct_query,
	.set_counter = dct_set_counter,
	.destroy = dct_destroy,
	.destroy_early = dct_destroy_early,
};
