// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Log lines that say why a queue pair has failed, for an administrator who has switched dynamic
 * debug on: the consumer gets an event without a reason, and, if the queue pair's peer is to blame,
 * no completion that has the reason.
 */

#include <kunit/visibility.h>
#include <linux/sched.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_cqe.h"
#include "verbs/qp.h"

#define OWNER_LEN	(TASK_COMM_LEN + 16)
#define REASON_LEN	128

/* Whether an event means that a queue pair has failed. */
VISIBLE_IF_KUNIT bool mlx5_ib_qp_event_is_fatal(enum ib_event_type type)
{
	return type == IB_EVENT_QP_FATAL || type == IB_EVENT_QP_REQ_ERR ||
	       type == IB_EVENT_QP_ACCESS_ERR;
}

/*
 * Write to @buf the name of the process or kernel consumer that owns the QP. Returns @buf. The task
 * is not freed meanwhile: resource tracking releases the task after the QP has been destroyed, and
 * the QP is not destroyed before the caller puts its reference to the QP.
 */
VISIBLE_IF_KUNIT const char *mlx5_ib_qp_owner(const struct ib_qp *ibqp, char *buf, size_t size)
{
	const struct rdma_restrack_entry *res = &ibqp->res;
	char comm[TASK_COMM_LEN];

	if (rdma_is_kernel_res(res) || !res->task) {
		scnprintf(buf, size, "%s", res->kern_name ?: "the kernel");
		return buf;
	}
	get_task_comm(comm, res->task);
	scnprintf(buf, size, "%s[%d]", comm, task_pid_nr(res->task));
	return buf;
}

/* Ask firmware, by one command, why the QP has failed. Returns the text, in @buf. */
VISIBLE_IF_KUNIT const char *mlx5_ib_qp_error_reason(const struct mlx5_ib_qp *qp, char *buf,
						     size_t size)
{
	u32 error[MLX5_ST_SZ_DW(cqe_error_syndrome)];
	int err = mlx5_ib_fw_query_qp_error(qp->rsc.dev, qp->uid, qp->rsc.num, error);
	u8 syndrome;

	if (err) {
		scnprintf(buf, size, "firmware does not tell the reason: %pe", ERR_PTR(err));
		return buf;
	}
	syndrome = MLX5_GET(cqe_error_syndrome, error, syndrome);
	scnprintf(buf, size,
		  "%s (syndrome 0x%x, vendor syndrome 0x%x, hardware syndrome 0x%x of type 0x%x)",
		  ib_wc_status_msg(mlx5_ib_cqe_status(syndrome)), syndrome,
		  MLX5_GET(cqe_error_syndrome, error, vendor_error_syndrome),
		  MLX5_GET(cqe_error_syndrome, error, hw_error_syndrome),
		  MLX5_GET(cqe_error_syndrome, error, hw_syndrome_type));
	return buf;
}

/**
 * mlx5_ib_qp_log_error - log why a queue pair has failed
 * @qp: a plain queue pair, on whose QP the caller holds a reference
 * @type: the event that has been delivered; nothing is logged if the event means no failure
 *
 * The line is limited to ten in five seconds, for all users together: a user whose queue pairs fail
 * all the time may hide lines about other users, but cannot flood the log. The arguments are
 * evaluated, and so firmware is asked for the reason, only if the line is printed. May sleep.
 */
void mlx5_ib_qp_log_error(struct mlx5_ib_qp *qp, enum ib_event_type type)
{
	struct mlx5_ib_dev *dev = qp->rsc.dev;
	char owner[OWNER_LEN], reason[REASON_LEN];

	/* Without CONFIG_DYNAMIC_DEBUG the call below evaluates its arguments for nothing. */
	if (!IS_ENABLED(CONFIG_DYNAMIC_DEBUG) || !mlx5_ib_qp_event_is_fatal(type) ||
	    !MLX5_CAP_GEN(dev->mdev, qp_error_syndrome))
		return;
	ibdev_dbg_ratelimited(&dev->ib_dev, "QP 0x%x of %s: %s: %s\n", qp->rsc.num,
			      mlx5_ib_qp_owner(&qp->ibqp, owner, sizeof(owner)),
			      ib_event_msg(type),
			      mlx5_ib_qp_error_reason(qp, reason, sizeof(reason)));
}
