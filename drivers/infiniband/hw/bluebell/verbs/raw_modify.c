// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs for raw packets: changes and queries of their state, the pacing of what they send,
 * and the counter set in which they count.
 */

#include <linux/mlx5/driver.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"
#include "verbs/raw_qp.h"

/* A queue that the queue pair has not, or that is destroyed, has no operations. */
static int raw_check_queue(const struct mlx5_ib_rsc *rsc)
{
	return !rsc->ops ? 0 :
	       mlx5_ib_fw_check_exists(rsc->dev, &rsc->attempt, rsc->ops->name, rsc->num);
}

static int raw_check(const struct mlx5_ib_raw_qp *raw)
{
	return raw_check_queue(&raw->sq) ?: raw_check_queue(&raw->rq);
}

/* ---- queries ------------------------------------------------------------------------ */

static int raw_query_states(struct mlx5_ib_raw_qp *raw)
{
	struct mlx5_ib_dev *dev = to_mdev(raw->qp->ibqp.device);
	int err = 0;

	if (raw->sq.ops)
		err = mlx5_ib_fw_query_wq_state(dev, raw->sq.uid, MLX5_CMD_OP_QUERY_SQ,
						raw->sq.num, &raw->queues.sq);
	if (!err && raw->rq.ops)
		err = mlx5_ib_fw_query_wq_state(dev, raw->rq.uid, MLX5_CMD_OP_QUERY_RQ,
						raw->rq.num, &raw->queues.rq);
	return err;
}

/**
 * mlx5_ib_raw_query - read the attributes of a queue pair for raw packets
 * @qp: the queue pair
 * @attr: gets the attributes
 *
 * Implements @query of struct mlx5_ib_qp_ops with QUERY_SQ and QUERY_RQ. The state is read from the
 * device, because a queue may have failed. May sleep.
 *
 * Return: 0; -EIO as mlx5_ib_fw_check_exists(); or the errno of a failed command.
 */
int mlx5_ib_raw_query(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr)
{
	struct mlx5_ib_raw_qp *raw = to_raw(qp);
	int err;

	lockdep_assert_held(&qp->mutex);
	err = raw_check(raw) ?: raw_query_states(raw);
	if (err)
		return err;
	WRITE_ONCE(qp->state, mlx5_ib_raw_state(qp->state, raw->queues));
	attr->port_num = qp->ibqp.port;
	attr->rate_limit = raw->rate.kbps;
	return 0;
}

/* ---- rates -------------------------------------------------------------------------- */

/* Users cannot set entries that other users may name, so the driver has mlx5_core set them. */
static u16 raw_rate_uid(struct mlx5_core_dev *mdev)
{
	return MLX5_CAP_QOS(mdev, packet_pacing_uid) ? MLX5_SHARED_RESOURCE_UID :
						       MLX5_IB_KERNEL_UID;
}

/* Find an entry of the device's table of rates, or make one; 0 for no limit. */
static int raw_get_rate(struct mlx5_ib_dev *dev, const struct mlx5_ib_rate *rate, u16 *index)
{
	u32 context[MLX5_ST_SZ_DW(set_pp_rate_limit_context)] = {};

	*index = 0;
	if (!rate->kbps)
		return 0;
	mlx5_ib_fill_rate(context, rate);
	return mlx5_ib_fw_add_rate(dev, raw_rate_uid(dev->mdev), context, false, index);
}

static void raw_put_rate(struct mlx5_ib_dev *dev, u16 index)
{
	if (index)
		mlx5_ib_fw_remove_rate(dev, index);
}

/* The send queue has the rate of the entry @index for certain: release all other rates. */
static void raw_has_rate(struct mlx5_ib_raw_qp *raw, u16 index)
{
	struct mlx5_ib_dev *dev = to_mdev(raw->qp->ibqp.device);

	raw_put_rate(dev, raw->rate_index);
	raw_put_rate(dev, raw->rate_in_doubt);
	raw->rate_index = index;
	raw->rate_in_doubt = 0;
}

/**
 * mlx5_ib_raw_release_rate - release the rate of a queue pair
 * @raw: the queue pair, whose send queue is destroyed, or is an orphan (orphan.c), which then sends
 *	without a limit
 *
 * May sleep.
 */
void mlx5_ib_raw_release_rate(struct mlx5_ib_raw_qp *raw)
{
	raw_has_rate(raw, 0);
}

/* ---- changes ------------------------------------------------------------------------ */

static int raw_modify_rq(struct mlx5_ib_raw_qp *raw, u8 next, u64 bitmask, u8 counter_set)
{
	u32 rqc[MLX5_ST_SZ_DW(rqc)] = {};
	int err;

	MLX5_SET(rqc, rqc, state, next);
	MLX5_SET(rqc, rqc, counter_set_id, counter_set);
	err = mlx5_ib_fw_modify_wq(raw->rq.dev, raw->rq.uid, MLX5_CMD_OP_MODIFY_RQ, raw->rq.num,
				   raw->queues.rq, bitmask, rqc);
	if (!err)
		raw->queues.rq = next;
	return err;
}

static int raw_modify_sq(struct mlx5_ib_raw_qp *raw, u8 next, u64 bitmask, u16 rate_index)
{
	u32 sqc[MLX5_ST_SZ_DW(sqc)] = {};
	int err;

	MLX5_SET(sqc, sqc, state, next);
	MLX5_SET(sqc, sqc, packet_pacing_rate_limit_index, rate_index);
	err = mlx5_ib_fw_modify_wq(raw->sq.dev, raw->sq.uid, MLX5_CMD_OP_MODIFY_SQ, raw->sq.num,
				   raw->queues.sq, bitmask, sqc);
	if (!err)
		raw->queues.sq = next;
	return err;
}

/*
 * If an earlier change of the rate was not answered, change back to the rate before, so that at
 * most one entry of the table is in doubt.
 */
static int raw_settle_rate(struct mlx5_ib_raw_qp *raw)
{
	int err;

	if (!raw->rate_in_doubt)
		return 0;
	err = raw_modify_sq(raw, raw->queues.sq, MLX5_IB_MODIFY_SQ_RATE, raw->rate_index);
	if (err)
		return err;
	raw_put_rate(raw->sq.dev, raw->rate_in_doubt);
	raw->rate_in_doubt = 0;
	return 0;
}

static int raw_set_rate(struct mlx5_ib_raw_qp *raw, u8 next, const struct mlx5_ib_rate *rate)
{
	struct mlx5_ib_dev *dev = raw->sq.dev;
	u16 index;
	int err;

	err = raw_get_rate(dev, rate, &index);
	if (err)
		return err;
	err = raw_modify_sq(raw, next, MLX5_IB_MODIFY_SQ_RATE, index);
	if (!err) {
		raw_has_rate(raw, index);
		raw->rate = *rate;
	} else if (err == -ETIMEDOUT && index) {
		/* The queue may have either entry: keep both. */
		raw->rate_in_doubt = index;
	} else {
		raw_put_rate(dev, index);
	}
	return err;
}

/* Change the state of the send queue, and its rate if @rate is not NULL. */
static int raw_change_sq(struct mlx5_ib_raw_qp *raw, u8 next, const struct mlx5_ib_rate *rate)
{
	int err;

	if (!rate)
		return raw->queues.sq == next ? 0 : raw_modify_sq(raw, next, 0, 0);
	err = rate->kbps ? raw_settle_rate(raw) : 0;
	return err ?: raw_set_rate(raw, next, rate);
}

/*
 * Change the states of both queues. In RESET the queue pair has no rate any more. If the send queue
 * cannot be changed, the receive queue goes back to RST if it has just come from there.
 */
static int raw_change(struct mlx5_ib_raw_qp *raw, enum ib_qp_state next,
		      const struct mlx5_ib_rate *rate)
{
	const struct mlx5_ib_raw_states to = mlx5_ib_raw_states_of(next);
	static const struct mlx5_ib_rate no_rate;
	u8 from = raw->queues.rq;
	int err = 0;

	if (next == IB_QPS_RESET && (raw->rate_index || raw->rate_in_doubt))
		rate = &no_rate;
	if (raw->rq.ops && from != to.rq)
		err = raw_modify_rq(raw, to.rq, 0, 0);
	if (err || !raw->sq.ops)
		return err;
	err = raw_change_sq(raw, to.sq, rate);
	if (err && raw->rq.ops && from == MLX5_RQC_STATE_RST)
		raw_modify_rq(raw, from, 0, 0);
	return err;
}

static int raw_modify_locked(struct mlx5_ib_qp *qp, const struct ib_qp_attr *attr, int mask,
			     const struct mlx5_ib_rate *rate)
{
	enum ib_qp_state cur = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : cur;
	struct mlx5_ib_raw_qp *raw = to_raw(qp);
	int err;

	lockdep_assert_held(&qp->mutex);
	err = raw_check(raw) ?:
	      mlx5_ib_raw_check_modify(cur, next, mask, &to_mdev(qp->ibqp.device)->caps);
	if (err)
		return err;
	/* A command names the state of its queue, and a queue may have failed. */
	if (next == IB_QPS_RESET || next == IB_QPS_ERR)
		err = raw_query_states(raw);
	if (!err)
		err = raw_change(raw, next, rate);
	if (!err)
		WRITE_ONCE(qp->state, next);
	return err;
}

/* Copy the library's request, and read the rate that the call asks for. */
static int raw_read_rate(struct mlx5_ib_qp *qp, const struct ib_qp_attr *attr, int mask,
			 struct ib_udata *udata, struct mlx5_ib_rate *rate)
{
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	struct mlx5_ib_modify_qp ucmd = {};
	int err;

	if (udata && udata->inlen) {
		err = ib_copy_validate_udata_in_cm(udata, ucmd, burst_info, 0);
		if (err)
			return err;
	}
	if (ucmd.ece_options || ucmd.burst_info.reserved)
		return refuse(dev->mdev, -EINVAL,
			      "raw packet QP with ECE options 0x%x, or reserved 0x%x, must be 0",
			      ucmd.ece_options, ucmd.burst_info.reserved);
	*rate = (struct mlx5_ib_rate){
		.kbps = mask & IB_QP_RATE_LIMIT ? attr->rate_limit : 0,
		.burst = ucmd.burst_info.max_burst_sz,
		.packet = ucmd.burst_info.typical_pkt_sz,
	};
	if ((mask & IB_QP_RATE_LIMIT) && !to_raw(qp)->sq.ops)
		return refuse(dev->mdev, -EINVAL,
			      "rate limit for a raw packet QP without a send queue");
	return mlx5_ib_check_rate(rate, &dev->caps);
}

/**
 * mlx5_ib_raw_modify - change the state or the rate of a queue pair for raw packets
 * @qp: the queue pair
 * @attr: as for mlx5_ib_modify_qp()
 * @mask: as for mlx5_ib_modify_qp()
 * @udata: as for mlx5_ib_modify_qp()
 *
 * Implements @modify of struct mlx5_ib_qp_ops with MODIFY_RQ and MODIFY_SQ. May sleep.
 *
 * Return: 0; -EINVAL for a transition that verbs do not allow, that lacks attributes or that the
 * queues do not have, and for a rate out of range; -EOPNOTSUPP for an attribute or a feature that
 * the device lacks; -EIO as mlx5_ib_fw_check_exists(); -ENOSPC if the device's table of rates is
 * full; -EFAULT; or the errno of a failed command. After an error a change to RTS, RTR or INIT has
 * changed nothing, unless firmware has not answered (-ETIMEDOUT), or only the answer cannot be
 * copied to the user (-EFAULT); a change to RESET or ERR may have changed one of the queues, and
 * can be repeated.
 */
int mlx5_ib_raw_modify(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr, int mask,
		       struct ib_udata *udata)
{
	struct mlx5_ib_rate rate;
	int err;

	if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT))
		return refuse(to_mdev(qp->ibqp.device)->mdev, -EOPNOTSUPP,
			      "raw packet QP attributes 0x%x, supported: 0x%x", mask,
			      IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT);
	err = raw_read_rate(qp, attr, mask, udata, &rate);
	if (err)
		return err;
	scoped_guard(mutex, &qp->mutex)
		err = raw_modify_locked(qp, attr, mask, mask & IB_QP_RATE_LIMIT ? &rate : NULL);
	return err ?: mlx5_ib_qp_respond_modify(udata, 0);
}

/**
 * mlx5_ib_raw_set_counter - choose the Q counter set in which the receive queue counts
 * @qp: the queue pair
 * @set_id: number of the set
 *
 * Implements @set_counter of struct mlx5_ib_qp_ops. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for a queue pair without a receive queue, or if the device cannot change
 * the set; -EIO as mlx5_ib_fw_check_exists(); or the errno of a failed command.
 */
int mlx5_ib_raw_set_counter(struct mlx5_ib_qp *qp, u16 set_id)
{
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	struct mlx5_ib_raw_qp *raw = to_raw(qp);
	int err;

	guard(mutex)(&qp->mutex);
	if (qp->closing)
		return 0;
	if (!raw->rq.ops || !MLX5_CAP_GEN(dev->mdev, modify_rq_counter_set_id))
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "counter set of a raw packet QP: no receive queue, or the device has no modify_rq_counter_set_id");
	err = raw_check(raw);
	if (!err)
		err = raw_modify_rq(raw, raw->queues.rq,
				    MLX5_MODIFY_RQ_IN_MODIFY_BITMASK_RQ_COUNTER_SET_ID, set_id);
	if (!err)
		qp->counter_set = set_id;
	return err;
}
