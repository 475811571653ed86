// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Page faults: the event queue they come by, what each of them needs, and the
 * answer to the device.
 */

#include <linux/delay.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/eq.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "bluebell.h"
#include "event.h"
#include "fw.h"
#include "layout_odp.h"
#include "odp_internal.h"
#include "qp.h"
#include "srq.h"

/* A fault brings in this much more of what the operation will touch. */
#define FAULT_AROUND	SZ_4M
/* Before events are looked at again for which there was no memory. */
#define MEMORY_PAUSE_MS	10
/* The longest pause before a refused answer is given once more. */
#define MAX_RESUME_MS	256
/* Faults of this many queues at a time; the spare ones are mlx5_core's. */
#define NUM_EQE		0x1000

struct fault_work {
	struct work_struct work;
	struct mlx5_ib_odp *odp;
	struct mlx5_ib_fault fault;
};

/* @need bytes have to be there for the queue to go on; the rest of @len is for later. */
static int page_in_fault(struct odp_mr *mr, u64 addr, u64 need, u64 len, bool write)
{
	struct odp_page_in how = { .write = write, .fault = true };
	int err;

	len = clamp(len, need, max_t(u64, need, FAULT_AROUND));
	err = mlx5_ib_odp_page_in(mr, addr, len, &how);
	if (err && need < len)
		err = mlx5_ib_odp_page_in(mr, addr, need, &how);
	return err;
}

static int rdma_fault(struct mlx5_ib_odp *odp, const struct mlx5_ib_fault *fault)
{
	u64 left = fault->op_len > fault->committed ? fault->op_len - fault->committed : 0;
	struct odp_mr *mr = mlx5_ib_odp_get_mr(odp, fault->rkey);
	int err;

	if (!mr)
		return -ENOENT;
	err = page_in_fault(mr, fault->va + fault->committed, fault->packet_len ?: 1, left,
			    mlx5_ib_fault_writes(fault));
	mlx5_ib_odp_put_mr(mr);
	return err;
}

/* A WQE out of the process's memory, in one piece. */
static int read_wqe(struct mlx5_ib_qp *qp, u32 offset, u32 size, u32 at, void *wqe, u32 len)
{
	u32 first = min(size - at, len);
	int err;

	err = ib_umem_copy_from(wqe, qp->umem, offset + at, first);
	if (err || first == len)
		return err;
	return ib_umem_copy_from(wqe + first, qp->umem, offset, len - first);
}

static int read_send(struct mlx5_ib_qp *qp, u16 index, struct mlx5_ib_odp_sges *sges)
{
	u32 size = qp->wq.sq_wqe_cnt * MLX5_SEND_WQE_BB;
	u32 at = (index & (qp->wq.sq_wqe_cnt - 1)) * MLX5_SEND_WQE_BB, len;
	int err;

	void *wqe __free(kfree) = kmalloc(MLX5_IB_ODP_MAX_WQE, GFP_KERNEL);

	if (!wqe)
		return -ENOMEM;
	if (!size)
		return -EINVAL;
	err = read_wqe(qp, qp->wq.sq_offset, size, at, wqe, MLX5_SEND_WQE_BB);
	if (err)
		return err;
	len = min_t(u32, mlx5_ib_odp_wqe_bytes(wqe), size);
	err = read_wqe(qp, qp->wq.sq_offset, size, at, wqe, len);
	if (err)
		return err;
	return mlx5_ib_odp_parse_send(wqe, len, qp->ibqp.qp_type, sges);
}

static int read_recv(struct mlx5_ib_qp *qp, u16 index, struct mlx5_ib_odp_sges *sges)
{
	u32 stride = BIT(qp->wq.rq_wqe_shift), skip = qp->wq_sig ? MLX5_SEND_WQE_DS : 0;
	u32 size = qp->wq.rq_wqe_cnt * stride;
	int err;

	void *wqe __free(kfree) = kmalloc(stride, GFP_KERNEL);

	if (!wqe)
		return -ENOMEM;
	if (!size)
		return -EINVAL;
	err = read_wqe(qp, 0, size, (index & (qp->wq.rq_wqe_cnt - 1)) * stride, wqe, stride);
	if (err)
		return err;
	mlx5_ib_odp_parse_recv(wqe + skip, stride - skip, sges);
	return sges->num ? 0 : -EINVAL;
}

static int read_srq(struct mlx5_ib_srq *srq, u16 index, struct mlx5_ib_odp_sges *sges)
{
	u32 stride = BIT(srq->wq.wqe_shift), skip = sizeof(struct mlx5_wqe_srq_next_seg);
	int err;

	void *wqe __free(kfree) = kmalloc(stride, GFP_KERNEL);

	if (!wqe)
		return -ENOMEM;
	err = ib_umem_copy_from(wqe, srq->umem, (index & (srq->wq.wqe_cnt - 1)) * stride, stride);
	if (err)
		return err;
	mlx5_ib_odp_parse_recv(wqe + skip, stride - skip, sges);
	return sges->num ? 0 : -EINVAL;
}

/* Bring in what the list says. Memory that isn't paged is there anyway. */
static int page_in_list(struct mlx5_ib_odp *odp, struct ib_pd *pd,
			const struct mlx5_ib_odp_sges *sges, u64 need, bool write)
{
	int err = -EFAULT, ret;
	struct odp_mr *mr;
	unsigned int i;
	u64 now;

	for (i = 0; i < sges->num; i++) {
		const struct ib_sge *sge = &sges->sge[i];

		now = min_t(u64, need, sge->length);
		need -= now;
		mr = sge->lkey ? mlx5_ib_odp_get_mr(odp, sge->lkey) : NULL;
		if (!mr)
			continue;
		/* The device has checked the key; the process may have changed the WQE since. */
		ret = mr->mr.ibmr.pd == pd ?
			page_in_fault(mr, sge->addr, now ?: 1, sge->length, write) : -EFAULT;
		mlx5_ib_odp_put_mr(mr);
		if (ret && now)
			return ret;
		err = 0;
	}
	return err;
}

/* The list of what a WQE of the queue touches, and the domain that its keys must have. */
static struct ib_pd *read_queue(struct mlx5_ib_event_source *queue,
				const struct mlx5_ib_fault *fault, struct mlx5_ib_odp_sges *sges)
{
	struct mlx5_ib_srq *srq;
	struct mlx5_ib_qp *qp;
	int err;

	if (mlx5_ib_fault_is_srq(fault)) {
		srq = container_of(queue, struct mlx5_ib_srq, source);
		err = read_srq(srq, fault->wqe_index, sges);
		return err ? ERR_PTR(err) : srq->ibsrq.pd;
	}
	qp = container_of(queue, struct mlx5_ib_qp, source);
	if (mlx5_ib_fault_is_requester(fault))
		err = read_send(qp, fault->wqe_index, sges);
	else
		err = read_recv(qp, fault->wqe_index, sges);
	return err ? ERR_PTR(err) : qp->ibqp.pd;
}

static int wqe_fault(struct mlx5_ib_odp *odp, struct mlx5_ib_event_source *queue,
		     const struct mlx5_ib_fault *fault)
{
	struct mlx5_ib_odp_sges *sges __free(kfree) = kmalloc_obj(*sges);
	struct ib_pd *pd;

	if (!sges)
		return -ENOMEM;
	pd = read_queue(queue, fault, sges);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	mlx5_ib_odp_window(sges, fault->committed,
			   max_t(u64, fault->packet_len, FAULT_AROUND));
	return page_in_list(odp, pd, sges, fault->packet_len ?: 1, mlx5_ib_fault_writes(fault));
}

static struct mlx5_ib_event_source *get_queue(struct mlx5_ib_dev *dev,
					      const struct mlx5_ib_fault *fault)
{
	return mlx5_ib_get_source(mlx5_ib_fault_is_srq(fault) ? &dev->srq_events :
								&dev->qp_events, fault->wq_num);
}

/* A queue stands still until firmware has heard that it can go on: so try more than once. */
static void answer(struct mlx5_ib_odp *odp, const struct mlx5_ib_fault *fault, bool error)
{
	unsigned int ms;
	int err;

	err = mlx5_fw_page_fault_resume(odp->dev, fault, error);
	for (ms = 1; err && err != -ENOLINK && ms <= MAX_RESUME_MS; ms *= 4) {
		msleep(ms);
		err = mlx5_fw_page_fault_resume(odp->dev, fault, error);
	}
	if (err && err != -ENOLINK)
		ibdev_err_ratelimited(&odp->dev->ib_dev,
				      "cannot resume 0x%x after page fault 0x%x: %d\n",
				      fault->wq_num, fault->token, err);
}

static void resolve(struct work_struct *work)
{
	struct fault_work *fw = container_of(work, struct fault_work, work);
	struct mlx5_ib_odp *odp = fw->odp;
	struct mlx5_ib_event_source *queue = NULL;
	int err;

	if (fw->fault.is_rdma) {
		err = rdma_fault(odp, &fw->fault);
	} else {
		queue = get_queue(odp->dev, &fw->fault);
		/* It is being destroyed, and needs no answer any more. */
		if (!queue)
			goto out;
		err = wqe_fault(odp, queue, &fw->fault);
	}
	if (err)
		ibdev_dbg(&odp->dev->ib_dev, "page fault 0x%x of type %u on 0x%x: %d\n",
			  fw->fault.token, fw->fault.type, fw->fault.wq_num, err);
	answer(odp, &fw->fault, err);
	if (queue)
		mlx5_ib_put_source(queue);
out:
	kfree(fw);
}

/* Start on each fault that was reported. False if memory is short, and there are more. */
static bool take_events(struct mlx5_ib_odp *odp)
{
	struct fault_work *fw;
	struct mlx5_eqe *eqe;
	u32 cc = 0;

	guard(spinlock_irqsave)(&odp->events_lock);
	if (!mlx5_eq_get_eqe(odp->eq, 0))
		return true;
	while ((eqe = mlx5_eq_get_eqe(odp->eq, cc))) {
		fw = kmalloc_obj(*fw, GFP_NOWAIT);
		if (!fw)
			break;
		fw->odp = odp;
		INIT_WORK(&fw->work, resolve);
		if (mlx5_ib_odp_parse_eqe(eqe, &fw->fault))
			queue_work(odp->wq, &fw->work);
		else
			kfree(fw);
		cc = mlx5_eq_update_cc(odp->eq, ++cc);
	}
	mlx5_eq_update_ci(odp->eq, cc, !eqe);
	return !eqe;
}

/* An event that is lost would be a queue that stands still for ever. */
static void take_events_later(struct work_struct *work)
{
	struct mlx5_ib_odp *odp = container_of(work, struct mlx5_ib_odp, eq_work);

	while (!take_events(odp))
		msleep(MEMORY_PAUSE_MS);
}

/* In the interrupt, which is shared with other queues of mlx5_core. */
static int notify(struct notifier_block *nb, unsigned long action, void *data)
{
	struct mlx5_ib_odp *odp = container_of(nb, struct mlx5_ib_odp, nb);

	if (!take_events(odp))
		queue_work(odp->wq, &odp->eq_work);
	return NOTIFY_OK;
}

/**
 * mlx5_ib_odp_start_faults - hear of page faults, if it isn't so already
 * @odp: device state
 *
 * CREATE_EQ, struct mlx5_ifc_create_eq_in_bits. Not earlier than for the first
 * region: the queue takes an interrupt and memory. May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_odp_start_faults(struct mlx5_ib_odp *odp)
{
	struct mlx5_eq_param param = {
		.nent = NUM_EQE,
		.mask[0] = BIT_ULL(MLX5_EVENT_TYPE_PAGE_FAULT),
	};
	struct mlx5_eq *eq;
	int err;

	guard(mutex)(&odp->eq_lock);
	if (odp->eq)
		return 0;
	eq = mlx5_fw_create_eq(odp->dev, &param);
	if (IS_ERR(eq))
		return PTR_ERR(eq);
	odp->eq = eq;
	err = mlx5_eq_enable(odp->dev->mdev, eq, &odp->nb);
	if (err) {
		odp->eq = NULL;
		mlx5_fw_destroy_eq(odp->dev, eq);
	}
	return err;
}

/**
 * mlx5_ib_odp_init_faults - get ready for mlx5_ib_odp_start_faults()
 * @odp: device state
 */
void mlx5_ib_odp_init_faults(struct mlx5_ib_odp *odp)
{
	odp->nb.notifier_call = notify;
	mutex_init(&odp->eq_lock);
	spin_lock_init(&odp->events_lock);
	INIT_WORK(&odp->eq_work, take_events_later);
}

/**
 * mlx5_ib_odp_stop_faults - hear of no more faults
 * @odp: device state
 *
 * Those on their way are in the workqueue.
 */
void mlx5_ib_odp_stop_faults(struct mlx5_ib_odp *odp)
{
	if (odp->eq)
		mlx5_eq_disable(odp->dev->mdev, odp->eq, &odp->nb);
}

/**
 * mlx5_ib_odp_cleanup_faults - destroy the event queue
 * @odp: device state, its workqueue empty
 */
void mlx5_ib_odp_cleanup_faults(struct mlx5_ib_odp *odp)
{
	if (odp->eq)
		mlx5_fw_destroy_eq(odp->dev, odp->eq);
}
