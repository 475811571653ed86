// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs in multicast groups. The device copies a datagram to each queue pair that is attached
 * to the group of the datagram's GID. The consumer joins the group at subnet administration, so
 * that the fabric delivers the datagram to the port.
 *
 * When an attached queue pair is destroyed, firmware may end the attachment, or refuse to destroy
 * the queue pair. The driver serves both kinds of firmware:
 *
 * * ib_core does not destroy a queue pair that is attached by verbs, but does not know of
 *   attachments that a process makes by commands of its own (devx_obj.c). When such a process
 *   closes the device, the driver may try to destroy the queue pair first (ufile_cleanup.c). If
 *   firmware refuses, the driver ends the attachment, and then tries again.
 * * If firmware does not know the queue pair that it is to detach, the attachment has ended with
 *   the queue pair. The driver does not send the command again, because another queue pair of the
 *   same user id may get the number.
 * * If ATTACH_TO_MCG is not answered, the driver detaches the queue pair, and reports the error.
 * * As long as the driver may have to send DETACH_FROM_MCG again, it does not attach the queue pair
 *   to the same group: the command would end the new attachment.
 *
 * The device limits the groups (log_max_mcg), and the queue pairs of a group (max_qp_mcg), and a
 * user without privileges can have at most seven eighths of either (lib/share_mcast.c).
 */

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "lib/orphan.h"
#include "lib/share.h"
#include "verbs/qp.h"
#include "verbs/verbs.h"

/*
 * The QP could not be detached: make an orphan (orphan.c) of the attachment. The driver sends
 * DETACH_FROM_MCG again later, as a rule before it destroys the QP.
 */
static void mcast_orphan(struct mlx5_ib_qp *qp, const union ib_gid *gid,
			 struct mlx5_ib_fw_attempt *attempt, const struct mlx5_ib_queue_mem *mem)
{
	u32 cmd[MLX5_ST_SZ_DW(detach_from_mcg_in)];

	mlx5_ib_fw_name_mcg(cmd, MLX5_CMD_OP_DETACH_FROM_MCG, qp->rsc.num, gid);
	mlx5_ib_orphan_adopt_quietly(qp->rsc.dev, qp->uid, cmd, sizeof(cmd), qp->rsc.num, attempt,
				     "attachment of QP", mem);
}

/**
 * mlx5_ib_attach_mcast - attach a queue pair to a multicast group
 * @ibqp: UD queue pair of a user or a kernel consumer: ib_core has checked the type
 * @gid: the group, a multicast GID: ib_core has checked it
 * @lid: LID of the group; the device does not look at it
 *
 * Implements ibv_attach_mcast(3) and ib_attach_mcast() with ATTACH_TO_MCG (struct
 * mlx5_ifc_attach_to_mcg_in_bits). The queue pair receives a copy of each datagram of the group
 * until it is detached or destroyed. May sleep.
 *
 * Return: 0; -ENOMEM, also if the user has as many queue pairs in the group, or as many groups, as
 * a user can have; -EBUSY if the driver may still have to end an earlier attachment of the queue
 * pair to the group; -EIO as mlx5_ib_check_qp(); or the errno of a failed command.
 */
int mlx5_ib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	struct mlx5_ib_queue_mem mem = { .context = qp->mem.context };
	struct mlx5_ib_fw_attempt attempt = MLX5_IB_FW_ATTEMPT_TO_DETACH;
	int err;

	WARN_ON_ONCE(!mlx5_ib_qp_is_plain(qp));
	err = mlx5_ib_check_qp(qp) ?:
	      mlx5_ib_share_take_attachment(mem.context, gid->raw, &mem.share);
	if (err)
		return err;
	err = mlx5_ib_orphans_before_attach(qp->rsc.dev, mem.context, qp->rsc.num, gid) ?:
	      mlx5_ib_fw_attach_mcg(qp->rsc.dev, qp->uid, qp->rsc.num, gid);
	attempt.unanswered = err == -ETIMEDOUT;
	if (attempt.unanswered &&
	    mlx5_ib_fw_detach_mcg(qp->rsc.dev, qp->uid, qp->rsc.num, gid, &attempt))
		mcast_orphan(qp, gid, &attempt, &mem);
	else if (err)
		mlx5_ib_share_give(&mem.share);
	return err;
}

/**
 * mlx5_ib_detach_mcast - detach a queue pair from a multicast group
 * @ibqp: the queue pair
 * @gid: the group
 * @lid: LID of the group; the device does not look at it
 *
 * Implements ibv_detach_mcast(3) and ib_detach_mcast() with DETACH_FROM_MCG (struct
 * mlx5_ifc_detach_from_mcg_in_bits). ib_core does not destroy a queue pair that it could not
 * detach, and neither ib_core nor a kernel consumer tries to detach a queue pair a second time:
 * after an error IPoIB, for example, would leave its queue pair, CQ and domain behind. So the
 * driver repeats a refused command, and makes an orphan (orphan.c) of the attachment if the command
 * goes on failing: the driver sends the command again later, as a rule before it destroys the queue
 * pair. May sleep, for a third of a second if firmware refuses.
 *
 * Return: 0; if the command has failed, the log says so, and the queue pair may still receive.
 */
int mlx5_ib_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	struct mlx5_ib_queue_mem mem = { .context = qp->mem.context };
	struct mlx5_ib_fw_attempt attempt = MLX5_IB_FW_ATTEMPT_TO_DETACH;
	unsigned int pause = 0;
	int err;

	do {
		err = mlx5_ib_fw_detach_mcg(qp->rsc.dev, qp->uid, qp->rsc.num, gid, &attempt);
	} while (mlx5_ib_fw_try_again(err, &pause));
	mlx5_ib_share_of_attachment(mem.context, gid->raw, &mem.share);
	if (!err) {
		mlx5_ib_share_give(&mem.share);
		return 0;
	}
	ibdev_err_ratelimited(ibqp->device,
			      "cannot detach QP 0x%x from multicast group %pI6 (%d): the QP may receive from the group until it is destroyed\n",
			      qp->rsc.num, gid->raw, err);
	mcast_orphan(qp, gid, &attempt, &mem);
	return 0;
}
