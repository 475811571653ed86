// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs of kernel consumers: their memory, and their completions when they are destroyed. The
 * RDMA core knows the queue pairs for management datagrams by their numbers on the wire, 0 and 1;
 * at the device they have other numbers.
 */

#include <linux/mlx5/driver.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_wq.h"
#include "layout/refuse.h"
#include "lib/cq_kernel.h"
#include "lib/wq_kernel.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/srq.h"

/* Set the fields of @qp from which the driver builds the QP's context and the WQEs. */
static void kernel_qp_fill(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp,
			   const struct ib_qp_init_attr *init,
			   const struct mlx5_ib_wq_layout *layout)
{
	struct mlx5_ib_wqs *wqs = qp->wqs;

	qp->ucmd.rq_wqe_count = layout->rq_count;
	qp->ucmd.rq_wqe_shift = layout->rq_shift;
	qp->ucmd.sq_wqe_count = layout->sq_count;
	MLX5_SET(qpc, qp->qpc, uar_page, dev->mdev->priv.bfreg.index);
	MLX5_SET(qpc, qp->qpc, deth_sqpn, qp->sends_as_qp1);
	/* Work requests of an RC queue pair may register memory. */
	MLX5_SET(qpc, qp->qpc, fre, init->qp_type == IB_QPT_RC);
	wqs->send_cq = to_mcq(init->send_cq)->kcq;
	wqs->recv_cq = to_mcq(init->recv_cq)->kcq;
	/* A kernel consumer cannot name a CQ or an SRQ of a user. */
	WARN_ON_ONCE(!wqs->send_cq || !wqs->recv_cq);
	wqs->rq.end_key = dev->caps.list_end_mkey;
	wqs->srq = init->srq ? to_msrq(init->srq)->ring : NULL;
	WARN_ON_ONCE(init->srq && !wqs->srq);
	wqs->last_wqe_due = wqs->srq;
	wqs->is_qp1 = init->qp_type == IB_QPT_GSI;
	wqs->sq.to.type = mlx5_ib_qp_is_datagram(init->qp_type) ? IB_QPT_UD : init->qp_type;
	wqs->sq.to.signal_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
}

/*
 * Free what the driver has allocated for a queue pair. If firmware has refused to destroy the queue
 * pair, an orphan (orphan.c) has taken over the memory of the queues, and @qp->mem is zeroed.
 */
static void kernel_qp_release(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp)
{
	mlx5_ib_wqs_free(qp->wqs);
	qp->wqs = NULL;
	mlx5_ib_queue_mem_free(dev, &qp->mem);
}

/* Allocate the memory of the queues, and set the capacities in @init to those of the queues. */
static int kernel_qp_prepare(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp,
			     struct ib_qp_init_attr *init)
{
	struct mlx5_ib_wq_layout layout;
	int err;

	if (!init->send_cq || !init->recv_cq)
		return refuse(dev->mdev, -EINVAL,
			      "QP of a kernel consumer needs a send CQ and a receive CQ");
	err = mlx5_ib_calc_kernel_wq(init, &dev->caps, &layout);
	if (err)
		return err;
	if (!layout.bytes)
		return refuse(dev->mdev, -EINVAL,
			      "kernel QP with neither a send nor a receive queue");
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

/* Let completions find the queue pair. After an error the QP is gone, or an orphan (orphan.c). */
static int kernel_qp_attach(struct mlx5_ib_qp *qp)
{
	int err;

	qp->wqs->qpn = qp->rsc.num;
	qp->wqs->sq.to.qpn = qp->rsc.num;
	err = mlx5_ib_kcq_add(qp->wqs);
	if (err)
		mlx5_ib_rsc_discard(&qp->rsc, &qp->mem);
	return err;
}

static int kernel_qp_create(struct mlx5_ib_qp *qp, struct ib_qp_init_attr *init,
			    struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	struct mlx5_ib_create_qp_resp resp = {};
	int err;

	err = mlx5_ib_qp_check_create(init, &qp->ucmd, &dev->caps);
	if (err)
		return err;
	qp->uid = MLX5_IB_KERNEL_UID;
	err = kernel_qp_prepare(dev, qp, init);
	if (err)
		return err;
	mlx5_ib_plain_qp_fill_qpc(qp, init, 0);
	err = mlx5_ib_plain_qp_create(qp, &mlx5_ib_plain_qp_rsc_ops, &resp, NULL);
	if (!err)
		err = kernel_qp_attach(qp);
	if (err)
		kernel_qp_release(dev, qp);
	else if (init->qp_type == IB_QPT_SMI || init->qp_type == IB_QPT_GSI)
		qp->ibqp.qp_num = init->qp_type == IB_QPT_GSI;
	return err;
}

/*
 * Take the queue pair to RESET first, and remove its completions: once the queue pair is destroyed
 * another queue pair may have its number, and nothing would distinguish the completions of the two.
 * If firmware does not reset the queue pair, the device may complete requests until the queue pair
 * is destroyed; the completions are removed afterwards. Kernel consumers do not try to destroy an
 * object twice, so the queue pair becomes an orphan (orphan.c) if firmware refuses to destroy it.
 */
static int kernel_qp_destroy(struct mlx5_ib_qp *qp)
{
	struct mlx5_ib_dev *dev = qp->rsc.dev;
	u32 ece = 0;
	int err = 0;

	scoped_guard(mutex, &qp->mutex) {
		if (qp->state != IB_QPS_RESET)
			err = mlx5_ib_fw_modify_qp(dev, qp->uid, MLX5_CMD_OP_2RST_QP, qp->rsc.num,
						   NULL, 0, ece, &ece);
		mlx5_ib_kcq_end(qp->wqs);
	}
	if (!err)
		mlx5_ib_kcq_remove(qp->wqs);
	mlx5_ib_rsc_discard(&qp->rsc, &qp->mem);
	if (err)
		mlx5_ib_kcq_remove(qp->wqs);
	kernel_qp_release(dev, qp);
	return 0;
}

const struct mlx5_ib_qp_ops mlx5_ib_kernel_qp_ops = {
	.create = kernel_qp_create,
	.modify = mlx5_ib_plain_qp_modify,
	.query = mlx5_ib_plain_qp_query,
	.set_counter = mlx5_ib_plain_qp_set_counter,
	.destroy = kernel_qp_destroy,
	.post_send = mlx5_ib_post_sends,
};
