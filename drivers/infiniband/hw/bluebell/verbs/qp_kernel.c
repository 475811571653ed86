// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs of kernel consumers: their memory, and their completions when they are
 * reset or destroyed.
 */

#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_wq.h"
#include "layout/refuse.h"
#include "lib/cq_kernel.h"
#include "lib/wq_kernel.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/srq.h"

/* What the context of a queue pair, and its WQEs, are built from. */
static void kernel_qp_fill(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp,
			   const struct ib_qp_init_attr *init,
			   const struct mlx5_ib_wq_layout *layout)
{
	struct mlx5_ib_wqs *wqs = qp->wqs;

	qp->ucmd.rq_wqe_count = layout->rq_count;
	qp->ucmd.rq_wqe_shift = layout->rq_shift;
	qp->ucmd.sq_wqe_count = layout->sq_count;
	MLX5_SET(qpc, qp->qpc, uar_page, dev->mdev->priv.bfreg.index);
	/* Its work requests may register memory. */
	MLX5_SET(qpc, qp->qpc, fre, init->qp_type == IB_QPT_RC);
	wqs->send_cq = to_mcq(init->send_cq)->kcq;
	wqs->recv_cq = to_mcq(init->recv_cq)->kcq;
	wqs->rq.end_key = dev->caps.list_end_mkey;
	wqs->srq = init->srq ? to_msrq(init->srq)->ring : NULL;
	wqs->last_wqe_due = wqs->srq;
	wqs->is_qp1 = init->qp_type == IB_QPT_GSI;
	wqs->sq.to.type = mlx5_ib_qp_is_datagram(init->qp_type) ? IB_QPT_UD : init->qp_type;
	wqs->sq.to.signal_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
}

/**
 * mlx5_ib_kernel_qp_prepare - allocate the memory of a queue pair of a kernel consumer
 * @dev: device
 * @qp: the queue pair; gets work queues, and what its context is built from
 * @init: its type, CQs and capacities, which become those that it has
 *
 * May sleep.
 *
 * Return: 0; -EINVAL for capacities beyond the device's, or a queue pair without CQs; or -ENOMEM.
 */
int mlx5_ib_kernel_qp_prepare(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp,
			      struct ib_qp_init_attr *init)
{
	struct mlx5_ib_wq_layout layout;
	int err;

	if (!init->send_cq || !init->recv_cq)
		return refuse(-EINVAL, "QP of a kernel consumer without a CQ");
	err = mlx5_ib_calc_kernel_wq(init, &dev->caps, &layout);
	if (err)
		return err;
	if (!layout.bytes)
		return refuse(-EINVAL, "QP of a kernel consumer without queues");
	err = mlx5_ib_queue_mem_alloc(dev, &qp->mem, layout.bytes);
	if (err)
		return err;
	qp->wqs = mlx5_ib_wqs_alloc(dev, &qp->ibqp, &layout, &qp->mem);
	if (!qp->wqs) {
		mlx5_ib_queue_mem_free(dev, &qp->mem);
		return -ENOMEM;
	}
	kernel_qp_fill(dev, qp, init, &layout);
	return 0;
}

/**
 * mlx5_ib_kernel_qp_attach - let completions find a queue pair that has been created
 * @dev: device
 * @qp: the queue pair
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM, and then the queue pair is destroyed at the device.
 */
int mlx5_ib_kernel_qp_attach(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp)
{
	int err;

	qp->wqs->qpn = qp->rsc.num;
	qp->wqs->sq.to.qpn = qp->rsc.num;
	err = mlx5_ib_kcq_add(qp->wqs);
	if (err)
		mlx5_ib_rsc_discard(&qp->rsc, &qp->mem);
	return err;
}

/**
 * mlx5_ib_kernel_qp_destroy - destroy a queue pair at the device, and free its memory
 * @dev: device
 * @qp: the queue pair
 *
 * Takes it to reset first: once it is destroyed another one may have its number, and completions
 * of the two could not be told apart. If firmware does not reset it, the device may complete
 * requests until the queue pair is destroyed; then these completions are removed as soon as that is
 * done. Kernel consumers do not try to destroy anything twice, so if firmware refuses, the queue
 * pair becomes an orphan. May sleep.
 */
void mlx5_ib_kernel_qp_destroy(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp)
{
	u32 ece = 0;
	int err = 0;

	scoped_guard(mutex, &qp->mutex) {
		if (qp->state != IB_QPS_RESET)
			err = mlx5_fw_modify_qp(dev, qp->rsc.uid, MLX5_CMD_OP_2RST_QP, qp->rsc.num,
						NULL, 0, ece, &ece);
		mlx5_ib_kcq_remove(qp->wqs);
	}
	mlx5_ib_rsc_discard(&qp->rsc, &qp->mem);
	if (err)
		mlx5_ib_kcq_clean(qp->wqs);
	mlx5_ib_kernel_qp_release(dev, qp);
}

/**
 * mlx5_ib_kernel_qp_modified - follow a change of a queue pair's state
 * @qp: the queue pair, whose mutex is held, and to which nobody posts if it has been reset
 * @state: the state to which the consumer has taken it
 */
void mlx5_ib_kernel_qp_modified(struct mlx5_ib_qp *qp, enum ib_qp_state state)
{
	lockdep_assert_held(&qp->mutex);
	if (state == IB_QPS_RESET) {
		mlx5_ib_kcq_reset(qp->wqs);
	} else if (state == IB_QPS_ERR) {
		WRITE_ONCE(qp->wqs->in_error, true);
		mlx5_ib_kcq_report_last_wqe(qp->wqs);
	}
}

/**
 * mlx5_ib_kernel_qp_takes_event - decide whether the consumer of a queue pair is told of an event
 * @qp: the queue pair
 * @type: the event
 *
 * Return: false for a second report of the last WQE.
 */
bool mlx5_ib_kernel_qp_takes_event(struct mlx5_ib_qp *qp, enum ib_event_type type)
{
	return type != IB_EVENT_QP_LAST_WQE_REACHED || xchg(&qp->wqs->last_wqe_due, false);
}

/**
 * mlx5_ib_kernel_qp_release - free the memory of a queue pair of a kernel consumer
 * @dev: device
 * @qp: the queue pair, which does not exist at the device, or whose memory an orphan has
 */
void mlx5_ib_kernel_qp_release(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp)
{
	mlx5_ib_wqs_free(qp->wqs);
	qp->wqs = NULL;
	mlx5_ib_queue_mem_free(dev, &qp->mem);
}
