// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Changes of a queue pair's state and attributes.
 */

#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"
#include "lib/cq_kernel.h"
#include "lib/wq_kernel.h"
#include "verbs/qp.h"

/**
 * mlx5_ib_qp_copy_modify - copy and check what the library adds to a change of a queue pair
 * @dev: device
 * @type: type of the queue pair
 * @udata: as for mlx5_ib_modify_qp()
 * @ucmd: zeroed; gets the library's request
 *
 * Return: 0; -EINVAL for a rate limit; -EOPNOTSUPP for a feature that the device lacks; -EFAULT.
 */
int mlx5_ib_qp_copy_modify(struct mlx5_ib_dev *dev, enum ib_qp_type type, struct ib_udata *udata,
			   struct mlx5_ib_modify_qp *ucmd)
{
	int err;

	/* Only with the extended MODIFY_QP of uverbs does the library send driver data. */
	if (!udata || !udata->inlen)
		return 0;
	err = ib_copy_validate_udata_in_cm(udata, *ucmd, burst_info, MLX5_IB_MODIFY_QP_OOO_DP);
	if (err)
		return err;
	/* Only queue pairs for raw packets have a rate limit with bursts (raw_modify.c). */
	if (ucmd->burst_info.max_burst_sz || ucmd->burst_info.typical_pkt_sz ||
	    ucmd->burst_info.reserved)
		return refuse(dev->mdev, -EINVAL, "burst_info for a QP of type %u, must be 0",
			      type);
	if (ucmd->ece_options && !MLX5_CAP_GEN(dev->mdev, ece_support))
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "QP with ECE options 0x%x: the device has no ECE (ece_support)",
			      ucmd->ece_options);
	if (ucmd->comp_mask & MLX5_IB_MODIFY_QP_OOO_DP &&
	    !mlx5_ib_qp_out_of_order(type, &dev->caps))
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "the device cannot do OOO_DP for QP type %u (dp_ordering_ooo_all_*)",
			      type);
	return 0;
}

static void qp_fill_modify(struct mlx5_ib_qp_modify *mod, const struct mlx5_ib_qp *qp,
			   const struct ib_qp_attr *attr, int mask)
{
	*mod = (struct mlx5_ib_qp_modify){
		.type = qp->ibqp.qp_type,
		.qpn = qp->rsc.num,
		.qpc = qp->qpc,
		.cur = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state,
		.mask = mask,
		.attr = attr,
		.access = mask & IB_QP_ACCESS_FLAGS ? attr->qp_access_flags : qp->access,
		.dest_rd_atomic = mask & IB_QP_MAX_DEST_RD_ATOMIC ? attr->max_dest_rd_atomic :
								    qp->dest_rd_atomic,
		.port = mask & IB_QP_PORT ? attr->port_num : qp->ibqp.port,
	};
	mod->next = mask & IB_QP_STATE ? attr->qp_state : mod->cur;
}

/* Change the counter set of a queue pair in RTS, and nothing else. */
static int qp_change_counter(struct mlx5_ib_qp *qp, u16 set_id)
{
	struct mlx5_ib_dev *dev = qp->rsc.dev;
	const struct ib_qp_attr attr = {};
	u32 qpc[MLX5_ST_SZ_DW(qpc)] = {};
	struct mlx5_ib_qp_modify mod;
	u32 ece = 0;
	int err;

	if (!MLX5_CAP_GEN(dev->mdev, rts2rts_qp_counters_set_id))
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "change of a QP's counter set in RTS: the device has no rts2rts_qp_counters_set_id");
	qp_fill_modify(&mod, qp, &attr, 0);
	mlx5_ib_fill_modify_qpc(qpc, &mod, &dev->caps);
	MLX5_SET(qpc, qpc, counter_set_id, set_id);
	err = mlx5_ib_fw_modify_qp(dev, qp->uid, MLX5_CMD_OP_RTS2RTS_QP, qp->rsc.num, qpc,
				   MLX5_QP_OPTPAR_COUNTER_SET_ID, ece, &ece);
	if (!err)
		qp->counts_in = set_id;
	return err;
}

/**
 * mlx5_ib_plain_qp_set_counter - choose the Q counter set that a plain queue pair counts in
 * @qp: the queue pair
 * @set_id: number of the set
 *
 * Implements @set_counter of struct mlx5_ib_qp_ops. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for a queue pair in RTS if the device cannot change the set there; or the
 * errno of a failed command.
 */
int mlx5_ib_plain_qp_set_counter(struct mlx5_ib_qp *qp, u16 set_id)
{
	int err = 0;

	guard(mutex)(&qp->mutex);
	if (qp->state == IB_QPS_RTS && qp->counts_in != set_id && !qp->closing)
		err = qp_change_counter(qp, set_id);
	if (!err)
		qp->counter_set = set_id;
	return err;
}

/* Check a change. Returns the opcode of the command that makes it, or a negative errno. */
static int qp_check_modify(const struct mlx5_ib_qp_modify *mod, bool out_of_order,
			   const struct mlx5_ib_caps *caps)
{
	u16 opcode;
	int err;

	if (!mlx5_ib_qp_modify_is_ok(mod))
		return refuse(caps->mdev, -EINVAL,
			      "QP of type %u cannot go from state %u to %u with attributes 0x%x",
			      mod->type, mod->cur, mod->next, mod->mask);
	opcode = mlx5_ib_qp_opcode(mod->cur, mod->next);
	if (!opcode)
		return refuse(caps->mdev, -EINVAL, "no command takes a QP from state %u to %u",
			      mod->cur, mod->next);
	err = mlx5_ib_qp_check_attr(mod, caps);
	if (err)
		return err;
	/* libmlx5 asks for OOO_DP on the way to INIT; the driver sets it on the way to RTR. */
	if (out_of_order && mod->next != IB_QPS_INIT)
		return refuse(caps->mdev, -EINVAL,
			      "QP with OOO_DP in a change to state %u, only to INIT (1) is possible",
			      mod->next);
	return opcode;
}

/*
 * Adapt the work queues of a kernel consumer to a new state. In RESET the consumer must not post,
 * so empty the work queues. In the error state IB_EVENT_QP_LAST_WQE_REACHED may be due.
 */
static void qp_wqs_modified(struct mlx5_ib_wqs *wqs, enum ib_qp_state state)
{
	if (state == IB_QPS_RESET) {
		mlx5_ib_kcq_reset(wqs);
	} else if (state == IB_QPS_ERR) {
		WRITE_ONCE(wqs->in_error, true);
		mlx5_ib_kcq_report_last_wqe(wqs);
	}
}

/* Record a change that the device has made by the command @opcode. */
static void qp_modified(struct mlx5_ib_qp *qp, const struct mlx5_ib_qp_modify *mod, u16 opcode,
			bool out_of_order)
{
	WRITE_ONCE(qp->state, mod->next);
	if (opcode == MLX5_CMD_OP_RST2INIT_QP) {
		qp->counts_in = qp->counter_set;
		qp->out_of_order = out_of_order;
	} else {
		qp->out_of_order |= out_of_order;
	}
	/* The counter set was chosen after INIT. If the command fails, the QP keeps its old set. */
	if (mod->next == IB_QPS_RTS && qp->counts_in != qp->counter_set)
		qp_change_counter(qp, qp->counter_set);
	if (qp->wqs)
		qp_wqs_modified(qp->wqs, mod->next);
	qp->access = mod->access;
	qp->dest_rd_atomic = mod->dest_rd_atomic;
}

static int qp_modify_locked(struct mlx5_ib_qp *qp, const struct ib_qp_attr *attr, int mask,
			    const struct mlx5_ib_modify_qp *ucmd, u32 *granted)
{
	bool out_of_order = ucmd->comp_mask & MLX5_IB_MODIFY_QP_OOO_DP;
	struct mlx5_ib_dev *dev = qp->rsc.dev;
	u32 qpc[MLX5_ST_SZ_DW(qpc)] = {};
	struct mlx5_ib_qp_modify mod;
	int opcode, err;
	u32 opt_mask;

	lockdep_assert_held(&qp->mutex);
	qp_fill_modify(&mod, qp, attr, mask);
	opcode = qp_check_modify(&mod, out_of_order, &dev->caps);
	if (opcode < 0)
		return opcode;
	/* The QP is in RESET already, where 2RST_QP is not valid. */
	if (mod.next == IB_QPS_RESET && qp->state == IB_QPS_RESET)
		return 0;

	opt_mask = mlx5_ib_fill_modify_qpc(qpc, &mod, &dev->caps);
	if (opcode == MLX5_CMD_OP_RST2INIT_QP)
		MLX5_SET(qpc, qpc, counter_set_id, qp->counter_set);
	if (opcode == MLX5_CMD_OP_INIT2RTR_QP && qp->out_of_order)
		mlx5_ib_fill_out_of_order(qpc, &dev->caps);
	err = mlx5_ib_fw_modify_qp(dev, qp->uid, opcode, qp->rsc.num, qpc, opt_mask,
				   ucmd->ece_options, granted);
	if (!err)
		qp_modified(qp, &mod, opcode, out_of_order);
	return err;
}

/**
 * mlx5_ib_plain_qp_modify - change the state or attributes of a plain queue pair
 * @qp: the queue pair
 * @attr: as for mlx5_ib_modify_qp()
 * @mask: as for mlx5_ib_modify_qp()
 * @udata: as for mlx5_ib_modify_qp()
 *
 * Implements @modify of struct mlx5_ib_qp_ops with the state-change command that
 * mlx5_ib_qp_opcode() names. May sleep.
 *
 * If the change to INIT asks for MLX5_IB_MODIFY_QP_OOO_DP, the device will consume the queue pair's
 * receive WQEs in any order, and each completion will name the WQE that a message has consumed.
 *
 * Return: 0; -EINVAL for a transition that verbs do not allow, that lacks attributes or has no
 * command, or for a value out of range; -EOPNOTSUPP for an attribute or a feature that the device
 * lacks; -EFAULT; or the errno of a failed command. After an error the queue pair is as it was,
 * unless firmware has not answered the command (-ETIMEDOUT), or the queue pair has changed and only
 * the answer cannot be copied to the user (-EFAULT).
 */
int mlx5_ib_plain_qp_modify(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr, int mask,
			    struct ib_udata *udata)
{
	struct mlx5_ib_modify_qp ucmd = {};
	u32 ece = 0;
	int err;

	WARN_ON_ONCE(!mlx5_ib_qp_is_plain(qp));
	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return refuse(to_mdev(qp->ibqp.device)->mdev, -EOPNOTSUPP,
			      "QP attributes 0x%x, supported: 0x%x", mask,
			      IB_QP_ATTR_STANDARD_BITS);
	err = mlx5_ib_qp_copy_modify(qp->rsc.dev, qp->ibqp.qp_type, udata, &ucmd);
	if (err)
		return err;
	scoped_guard(mutex, &qp->mutex)
		err = qp_modify_locked(qp, attr, mask, &ucmd, &ece);
	return err ?: mlx5_ib_qp_respond_modify(udata, ece);
}
