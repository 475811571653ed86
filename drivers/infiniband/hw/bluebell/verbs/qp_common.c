// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Functions that are common to several kinds of queue pairs. A plain queue pair is one QP at the
 * device, and consumers see the number of this QP, except for QP0 and QP1. qp_modify.c changes the
 * state of plain queue pairs.
 */

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_devx.h"
#include "layout/refuse.h"
#include "lib/queue_cmd.h"
#include "lib/wq_kernel.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/srq.h"

/**
 * mlx5_ib_qp_create - create a queue pair of a given kind
 * @qp: zeroed but for what ib_core sets
 * @ops: operations of the kind
 * @init: as for mlx5_ib_create_qp()
 * @udata: as for mlx5_ib_create_qp()
 *
 * May sleep.
 *
 * Return: 0 or a negative errno, as @ops->create.
 */
int mlx5_ib_qp_create(struct mlx5_ib_qp *qp, const struct mlx5_ib_qp_ops *ops,
		      struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	int err;

	mutex_init(&qp->mutex);
	qp->ops = ops;
	qp->state = IB_QPS_RESET;
	qp->bfregn = MLX5_IB_INVALID_BFREG;
	qp->counter_set = to_mdev(qp->ibqp.device)->counter_set_id;
	err = ops->create(qp, init, udata);
	if (!err)
		qp->init = *init;
	return err;
}

/**
 * mlx5_ib_check_qp - check that a queue pair exists, before a command names it
 * @qp: the queue pair
 *
 * The check always succeeds for a queue pair that is not plain. Any context.
 *
 * Return: 0; or -EIO, as mlx5_ib_fw_check_exists().
 */
int mlx5_ib_check_qp(const struct mlx5_ib_qp *qp)
{
	return mlx5_ib_fw_check_exists(qp->rsc.dev, &qp->rsc.attempt, "QP", qp->rsc.num);
}

/**
 * mlx5_ib_qp_tirn - find where a flow rule has to send the packets of a queue pair
 * @qp: the queue pair; the caller keeps ib_core from destroying it meanwhile
 * @tirn: gets the number of the queue pair's TIR
 *
 * mlx5_core adds the rules of all processes as the kernel's own, so firmware does not check that
 * the TIR belongs to the process. A queue pair that firmware has refused to destroy may have lost
 * its TIR, whose number may be that of another user's TIR by now. Any context.
 *
 * Return: 0; -EINVAL for a queue pair without a TIR, to which no flow rule can send packets; or
 * -EIO, as mlx5_ib_fw_check_exists().
 */
int mlx5_ib_qp_tirn(const struct mlx5_ib_qp *qp, u32 *tirn)
{
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	struct mlx5_ib_qp_part tir;

	if (!qp->ops->find_part || !qp->ops->find_part(qp, MLX5_IB_DEVX_TIR, &tir))
		return refuse(dev->mdev, -EINVAL, "flow rule for QP 0x%x, which has no TIR",
			      qp->ibqp.qp_num);
	*tirn = tir.num;
	return mlx5_ib_fw_check_exists(dev, tir.attempt, "TIR", tir.num);
}

/**
 * mlx5_ib_plain_qp_event - deliver an event of a plain queue pair
 * @rsc: the QP
 * @type: the event
 *
 * Implements @event of struct mlx5_ib_rsc_ops. If the device has failed, the driver raises
 * IB_EVENT_QP_LAST_WQE_REACHED for a kernel consumer (mlx5_ib_kcq_report_last_wqe()). The device
 * may have raised this event, too: only the first of the two is delivered. May sleep.
 */
void mlx5_ib_plain_qp_event(struct mlx5_ib_rsc *rsc, enum ib_event_type type)
{
	struct mlx5_ib_qp *qp = container_of(rsc, struct mlx5_ib_qp, rsc);

	if (type == IB_EVENT_QP_LAST_WQE_REACHED && qp->wqs &&
	    !xchg(&qp->wqs->last_wqe_due, false))
		return;
	mlx5_ib_qp_deliver(qp, type);
	mlx5_ib_qp_log_error(qp, type);
}

const struct mlx5_ib_rsc_ops mlx5_ib_plain_qp_rsc_ops = {
	.type = MLX5_RES_QP,
	.name = "QP",
	.destroy_op = MLX5_CMD_OP_DESTROY_QP,
	.event = mlx5_ib_plain_qp_event,
	.read_wqe = mlx5_ib_qp_read_wqe,
};

/* The CQ that gets the completions of received messages: that of the SRQ, if the SRQ has one. */
static struct mlx5_ib_cq *qp_receive_cq(const struct ib_qp_init_attr *init)
{
	struct ib_cq *cq = init->srq && ib_srq_has_cq(init->srq->srq_type) ? init->srq->ext.cq :
									     init->recv_cq;

	return cq ? to_mcq(cq) : NULL;
}

/**
 * mlx5_ib_plain_qp_fill_qpc - build the context of a queue pair that has queues
 * @qp: the queue pair
 * @init: type, CQs, capacities, flags
 * @cqe_version: version of the CQE format, from the user's context; 0 for a kernel consumer, whose
 *	completions name the QP
 */
void mlx5_ib_plain_qp_fill_qpc(struct mlx5_ib_qp *qp, const struct ib_qp_init_attr *init,
			       u8 cqe_version)
{
	const struct mlx5_ib_caps *caps = &to_mdev(qp->ibqp.device)->caps;
	struct mlx5_ib_cq *scq = to_mcq(init->send_cq);
	struct mlx5_ib_cq *rcq = qp_receive_cq(init);
	void *qpc = qp->qpc;

	mlx5_ib_fill_qpc(qpc, init, &qp->ucmd);
	mlx5_ib_scatter_to_cqe(qpc, init, qp->ucmd.flags, scq->cqe_size, rcq ? rcq->cqe_size : 0,
			       caps);
	MLX5_SET(qpc, qpc, pd, to_mpd(qp->ibqp.pd)->pdn);
	MLX5_SET(qpc, qpc, user_index, mlx5_ib_qp_uidx(qp->ucmd.uidx, cqe_version, caps));
	MLX5_SET(qpc, qpc, cqn_snd, scq->mcq.cqn);
	MLX5_SET(qpc, qpc, cqn_rcv, init->recv_cq ? to_mcq(init->recv_cq)->mcq.cqn : 0);
	MLX5_SET(qpc, qpc, ts_format, scq->real_time || (rcq && rcq->real_time) ?
				      MLX5_TIMESTAMP_FORMAT_REAL_TIME : caps->qp_ts_format);
	if (init->srq)
		MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, to_msrq(init->srq)->rsc.num);
}

/**
 * mlx5_ib_plain_qp_create - create a queue pair that is one QP at the device
 * @qp: the queue pair, with its context, memory and uid
 * @ops: destruction and events of the QP
 * @resp: response to the user; @resp->ece_options has the options that the consumer asks for, and
 *	gets the options that firmware has chosen
 * @udata: data of the call of the user who gets @resp; NULL if no user gets it
 *
 * Creates the QP at the device, answers the user, and adds the QP to the table by which events find
 * it. No event can come earlier, because the QP stays in RESET until this is done. May sleep.
 *
 * Return: 0 or a negative errno. After an error the QP does not exist, or is an orphan, which has
 * taken over @qp->mem.
 */
int mlx5_ib_plain_qp_create(struct mlx5_ib_qp *qp, const struct mlx5_ib_rsc_ops *ops,
			    struct mlx5_ib_create_qp_resp *resp, struct ib_udata *udata)
{
	int err;

	qp->rsc.dev = to_mdev(qp->ibqp.device);
	qp->rsc.ops = ops;
	qp->rsc.uid = qp->uid;
	err = mlx5_ib_create_qp_cmd(qp->rsc.dev, qp->uid, &qp->mem, qp->qpc, &qp->rsc.num,
				    &resp->ece_options);
	if (err)
		return err;
	qp->ibqp.qp_num = qp->rsc.num;
	return mlx5_ib_rsc_respond_and_add(&qp->rsc, &qp->mem, udata, resp, sizeof(*resp));
}

/**
 * mlx5_ib_plain_qp_query - read the attributes of a plain queue pair
 * @qp: the queue pair
 * @attr: gets the attributes
 *
 * Implements @query of struct mlx5_ib_qp_ops with QUERY_QP. The state is read from the device, too,
 * because the queue pair may have left the state that was set last. May sleep.
 *
 * Return: 0; -EIO for a state that verbs do not have; or the errno of a failed command.
 */
int mlx5_ib_plain_qp_query(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr)
{
	u32 out[MLX5_ST_SZ_DW(query_qp_out)] = {};
	void *qpc = MLX5_ADDR_OF(query_qp_out, out, qpc);
	int state, err;

	lockdep_assert_held(&qp->mutex);
	WARN_ON_ONCE(!mlx5_ib_qp_is_plain(qp));
	err = mlx5_ib_fw_query_object(qp->rsc.dev, qp->uid, MLX5_CMD_OP_QUERY_QP, qp->rsc.num, out,
				      sizeof(out));
	if (err)
		return err;
	state = mlx5_ib_qp_state_from_hw(MLX5_GET(qpc, qpc, state));
	if (state < 0)
		return state;
	WRITE_ONCE(qp->state, state);
	mlx5_ib_read_qpc(qpc, qp->ibqp.qp_type, qp->rsc.dev->caps.ethernet, attr);
	return 0;
}
