// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues of kernel consumers: polling, arming, and what happens to the
 * completions of a queue pair that is destroyed or whose device has failed.
 */

/**
 * DOC: Completion queues of kernel consumers
 *
 * A CQE names its queue pair by number. Under the lock of the CQ, a poll looks the queue pair up in
 * a table (@kernel_qps of the device), and advances the queue pair's send or receive queue. A CQE
 * that names a queue pair which does not complete on this CQ is dropped.
 *
 * **A queue pair ends.** Before DESTROY_QP the queue pair is reset, so that the device completes
 * nothing more. mlx5_ib_kcq_end() stops polls from completing requests of the queue pair.
 * mlx5_ib_kcq_remove() removes from the ring of each CQ the queue pair's completions that have not
 * been polled, gives back the slots of a shared receive queue that these completions name, and
 * takes the queue pair out of the table; when the function returns, no poll uses the queue pair.
 * After DESTROY_QP another queue pair may get the number. If firmware does not reset the queue
 * pair, mlx5_ib_kcq_remove() is called only after DESTROY_QP. Until then each poll of the CQ drops
 * completions of the queue pair, and gives back their slots, too. If firmware does not destroy the
 * queue pair either, the queue pair becomes an orphan (orphan.c), and the slots of the shared
 * receive queue that this queue pair takes from then on are lost.
 *
 * **A consumer resets a queue pair.** mlx5_ib_kcq_reset() removes the completions in the same way,
 * and empties the work queues.
 *
 * **A CQ ends.** mlx5_ib_kcq_close() stops arming and waits for the work item that calls the
 * consumer; then the device destroys the CQ; then ib_core stops its own polling. Only then is
 * mlx5_ib_kcq_free() called, and the ring freed.
 *
 * **The device fails.** mlx5_ib_flush_kernel_queues() sets @failed of the device, and calls the
 * consumer of each CQ on which a queue pair completes, if the consumer has ever armed the CQ
 * (@notifies), even if the CQ is not armed now. A consumer who has never armed the CQ polls by
 * itself, and is not called. After the failure the driver neither rings the doorbell of a send
 * queue nor arms a CQ. A poll first reads the CQEs that are there, then completes the posted
 * requests as flushed, those of a queue in the order of posting. The device may still write CQEs of
 * the same requests, so once a request of a CQ has been flushed (@flushed) the CQEs of that CQ are
 * not read any more. What is posted later is flushed, too. What is posted to a shared receive queue
 * stays there. If a consumer takes a queue pair with a shared receive queue to the error state, the
 * driver raises IB_EVENT_QP_LAST_WQE_REACHED, because the device cannot raise it any more.
 *
 * Two pairs of barriers keep a failure from being missed. If the device fails while a consumer arms
 * its CQ for the first time, mlx5_ib_kcq_arm() or mlx5_ib_kcq_wake() sees both @failed and
 * @notifies, and has the consumer poll the CQ. If the device fails while a consumer takes a queue
 * pair to the error state (@in_error), at least one of the two CPUs sees both @failed and @in_error
 * in kcq_last_wqe_is_due(), and raises IB_EVENT_QP_LAST_WQE_REACHED.
 */

#include <linux/mlx5/cq.h>
#include <linux/mlx5/device.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "fw/bluebell.h"
#include "layout/layout_cqe.h"
#include "lib/cq_kernel.h"
#include "lib/rsc.h"
#include "lib/srq_ring.h"
#include "lib/wq_kernel.h"

static void kcq_wake_work(struct work_struct *work)
{
	struct ib_cq *ibcq = container_of(work, struct mlx5_ib_kcq, wake)->ibcq;

	ibcq->comp_handler(ibcq, ibcq->cq_context);
}

/**
 * mlx5_ib_kcq_alloc - allocate what a completion queue needs to be polled
 * @dev: device
 * @ibcq: the queue
 *
 * The caller allocates the memory of the ring. May sleep.
 *
 * Return: the struct, on which nothing completes yet; mlx5_ib_kcq_free() frees it. NULL if there is
 * no memory.
 */
struct mlx5_ib_kcq *mlx5_ib_kcq_alloc(struct mlx5_ib_dev *dev, struct ib_cq *ibcq)
{
	struct mlx5_ib_kcq *kcq = kzalloc_obj(*kcq);

	if (!kcq)
		return NULL;
	kcq->dev = dev;
	kcq->ibcq = ibcq;
	spin_lock_init(&kcq->lock);
	INIT_LIST_HEAD(&kcq->senders);
	INIT_LIST_HEAD(&kcq->receivers);
	INIT_WORK(&kcq->wake, kcq_wake_work);
	return kcq;
}

/**
 * mlx5_ib_kcq_free - undo mlx5_ib_kcq_alloc()
 * @kcq: returned by mlx5_ib_kcq_alloc(), and no QP or SRQ completes on it any more; or NULL
 *
 * When this function returns, the consumer is not being called any more. May sleep.
 */
void mlx5_ib_kcq_free(struct mlx5_ib_kcq *kcq)
{
	if (!kcq)
		return;
	WARN_ON_ONCE(!list_empty(&kcq->senders) || !list_empty(&kcq->receivers));
	cancel_work_sync(&kcq->wake);
	kfree(kcq);
}

/**
 * mlx5_ib_kcq_close - stop arming a completion queue, and calling its consumer, before the device
 *	destroys the queue
 * @kcq: the queue, on which no QP or SRQ completes any more
 *
 * Until mlx5_ib_kcq_free() the consumer may go on polling, and may call mlx5_ib_kcq_arm(), which
 * then does nothing. Only an event of the device calls the consumer after this function has
 * returned. May sleep.
 */
void mlx5_ib_kcq_close(struct mlx5_ib_kcq *kcq)
{
	scoped_guard(spinlock_irqsave, &kcq->lock)
		kcq->closed = true;
	cancel_work_sync(&kcq->wake);
}

/* ---- polling --------------------------------------------------------------------------- */

/*
 * Find the queue pair that a CQE names. Returns NULL if no queue pair of this number completes
 * requests of @kind on this CQ: the CQE may be of an earlier queue pair that had the same number.
 */
static struct mlx5_ib_wqs *kcq_find_wqs(struct mlx5_ib_kcq *kcq, u32 qpn,
					enum mlx5_ib_cqe_kind kind)
{
	struct mlx5_ib_wqs *wqs = kcq->last;

	lockdep_assert_held(&kcq->lock);
	if (!wqs || wqs->qpn != qpn)
		wqs = xa_load(&kcq->dev->kernel_qps, qpn);
	if (!wqs || kcq != (kind == MLX5_IB_CQE_SEND ? wqs->send_cq : wqs->recv_cq))
		return NULL;
	kcq->last = wqs;
	return wqs;
}

/* Log an error, unless consumers expect it: a flush, or retries that are exhausted. */
static void kcq_log_error(struct mlx5_ib_kcq *kcq, const struct mlx5_cqe64 *cqe,
			  const struct ib_wc *wc)
{
	const struct mlx5_err_cqe *err = (const struct mlx5_err_cqe *)cqe;

	if (wc->status == IB_WC_WR_FLUSH_ERR || wc->status == IB_WC_RETRY_EXC_ERR ||
	    wc->status == IB_WC_RNR_RETRY_EXC_ERR)
		return;
	ibdev_warn_ratelimited(&kcq->dev->ib_dev,
			       "QP 0x%x: %s request failed: %s (syndrome 0x%x, vendor syndrome 0x%x)\n",
			       mlx5_ib_cqe_qpn(cqe),
			       mlx5_ib_cqe_kind(cqe) == MLX5_IB_CQE_SEND ? "send" : "receive",
			       ib_wc_status_msg(wc->status), err->syndrome, err->vendor_err_synd);
}

/*
 * Replace the P_Key that @wc has from a CQE of QP1 by the P_Key's index in the port's table, or
 * by 0 if the table does not have the P_Key.
 */
static void kcq_find_pkey(struct ib_qp *ibqp, struct ib_wc *wc)
{
	u16 pkey = wc->pkey_index;

	if (ib_find_cached_pkey(ibqp->device, to_mdev(ibqp->device)->port.num, pkey,
				&wc->pkey_index))
		wc->pkey_index = 0;
}

/*
 * Drop a CQE. If the CQE names a slot of a shared receive queue, give the slot back, because other
 * queue pairs use the shared receive queue.
 */
static void kcq_drop_cqe(const struct mlx5_ib_wqs *wqs, const struct mlx5_cqe64 *cqe)
{
	if (mlx5_ib_cqe_kind(cqe) == MLX5_IB_CQE_RECV && wqs->srq)
		mlx5_ib_srq_ring_complete(wqs->srq, be16_to_cpu(cqe->wqe_counter));
}

/* Fill in @wc from a CQE. Returns false if the CQE completes no request of the consumer. */
static bool kcq_read_cqe(struct mlx5_ib_kcq *kcq, const struct mlx5_cqe64 *cqe, struct ib_wc *wc)
{
	enum mlx5_ib_cqe_kind kind = mlx5_ib_cqe_kind(cqe);
	enum ib_wr_opcode opcode = IB_WR_SEND;
	struct mlx5_ib_wqs *wqs;

	lockdep_assert_held(&kcq->lock);
	if (kind == MLX5_IB_CQE_OTHER)
		return false;
	wqs = kcq_find_wqs(kcq, mlx5_ib_cqe_qpn(cqe), kind);
	/* The CQE is of an orphan (orphan.c), or of an earlier queue pair with the same number. */
	if (!wqs)
		return false;
	if (unlikely(READ_ONCE(wqs->ended))) {
		kcq_drop_cqe(wqs, cqe);
		return false;
	}
	if (kind == MLX5_IB_CQE_SEND)
		opcode = mlx5_ib_sq_complete(&wqs->sq, be16_to_cpu(cqe->wqe_counter), wc);
	else if (wqs->srq)
		wc->wr_id = mlx5_ib_srq_ring_complete(wqs->srq, be16_to_cpu(cqe->wqe_counter));
	else
		mlx5_ib_rq_complete(&wqs->rq, wc);
	wc->qp = wqs->ibqp;
	if (mlx5_ib_cqe_is_error(cqe)) {
		mlx5_ib_cqe_read_error(cqe, wc);
		kcq_log_error(kcq, cqe, wc);
	} else if (kind == MLX5_IB_CQE_SEND) {
		mlx5_ib_cqe_read_send(cqe, opcode, wc);
	} else {
		mlx5_ib_cqe_read_recv(cqe, wc);
		if (wqs->ethernet)
			mlx5_ib_cqe_read_roce(cqe, wc);
		else if (unlikely(wqs->is_qp1))
			kcq_find_pkey(wqs->ibqp, wc);
	}
	return true;
}

static int kcq_poll_ring(struct mlx5_ib_kcq *kcq, int num, struct ib_wc *wc)
{
	struct mlx5_core_cq *mcq = kcq->ring.mcq;
	u32 before = mcq->cons_index;
	struct mlx5_cqe64 *cqe;
	int n = 0;

	while (n < num && (cqe = mlx5_ib_cq_ring_next(&kcq->ring))) {
		n += kcq_read_cqe(kcq, cqe, &wc[n]);
		WRITE_ONCE(mcq->cons_index, mcq->cons_index + 1);
	}
	if (mcq->cons_index != before)
		mlx5_cq_set_ci(mcq);
	return n;
}

/*
 * Complete posted requests as flushed, at most @num, and return how many. A device that has failed
 * may still write CQEs of the same requests, so once a request has been flushed here, no CQE of the
 * CQ is read any more.
 */
static int kcq_flush(struct mlx5_ib_kcq *kcq, int num, struct ib_wc *wc)
{
	struct mlx5_ib_wqs *wqs;
	int n = 0;

	lockdep_assert_held(&kcq->lock);
	list_for_each_entry(wqs, &kcq->senders, send_node)
		for (; n < num && mlx5_ib_sq_flush(&wqs->sq, &wc[n]); n++)
			wc[n].qp = wqs->ibqp;
	list_for_each_entry(wqs, &kcq->receivers, recv_node)
		for (; n < num && mlx5_ib_rq_flush(&wqs->rq, &wc[n]); n++)
			wc[n].qp = wqs->ibqp;
	if (n)
		kcq->flushed = true;
	return n;
}

/*
 * Whether the consumer of a device that has failed has something to poll: what the device completed
 * before, for which no event will come any more, or what is posted and left to be flushed.
 */
static bool kcq_has_work(struct mlx5_ib_kcq *kcq)
{
	struct mlx5_ib_wqs *wqs;

	lockdep_assert_held(&kcq->lock);
	if (!kcq->flushed && mlx5_ib_cq_ring_next(&kcq->ring))
		return true;
	list_for_each_entry(wqs, &kcq->senders, send_node)
		if (READ_ONCE(wqs->sq.posted) != wqs->sq.done)
			return true;
	list_for_each_entry(wqs, &kcq->receivers, recv_node)
		if (READ_ONCE(wqs->rq.posted) != wqs->rq.done)
			return true;
	return false;
}

/**
 * mlx5_ib_kcq_poll - take completions from a completion queue
 * @kcq: the queue
 * @num: how many at most
 * @wc: gets the completions
 *
 * After the device has failed, this function first reads the CQEs that are there, then completes as
 * flushed all other requests posted to queue pairs. CQEs that the device writes after a request has
 * been flushed are ignored: the request that such a CQE names is completed, or will be, as flushed.
 * Any context.
 *
 * Return: number of completions.
 */
int mlx5_ib_kcq_poll(struct mlx5_ib_kcq *kcq, int num, struct ib_wc *wc)
{
	int n = 0;

	guard(spinlock_irqsave)(&kcq->lock);
	if (likely(!kcq->flushed))
		n = kcq_poll_ring(kcq, num, wc);
	if (n < num && unlikely(READ_ONCE(kcq->dev->failed)))
		n += kcq_flush(kcq, num - n, wc + n);
	return n;
}

/**
 * mlx5_ib_kcq_arm - have the next completion raise an event
 * @kcq: the queue
 * @flags: IB_CQ_NEXT_COMP for any completion, IB_CQ_SOLICITED for a solicited one or an error; and
 *	IB_CQ_REPORT_MISSED_EVENTS for a report of completions for which there will be no event
 *
 * A completion that has been written but not polled raises an event at once, so no completion is
 * missed while the device works. When the device has failed, its registers may be gone, so the
 * driver does not arm the queue. If there is something to poll, the driver then calls the consumer,
 * or returns 1 if @flags has IB_CQ_REPORT_MISSED_EVENTS. Nothing happens after mlx5_ib_kcq_close().
 * Any context.
 *
 * Return: 1 if the caller should poll again, because the device has failed; else 0.
 */
int mlx5_ib_kcq_arm(struct mlx5_ib_kcq *kcq, enum ib_cq_notify_flags flags)
{
	bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	struct mlx5_core_cq *mcq = kcq->ring.mcq;

	guard(spinlock_irqsave)(&kcq->lock);
	if (unlikely(kcq->closed))
		return 0;
	if (!kcq->notifies) {
		WRITE_ONCE(kcq->notifies, true);
		/*
		 * Pairs with mlx5_ib_kcq_wake(): its CPU sees @notifies, or ours sees what its
		 * caller has written: @failed or a request.
		 */
		smp_mb();
	}
	if (likely(!READ_ONCE(kcq->dev->failed))) {
		mlx5_cq_arm(mcq, solicited ? MLX5_CQ_DB_REQ_NOT_SOL : MLX5_CQ_DB_REQ_NOT,
			    kcq->dev->mdev->priv.bfreg.up->map, mcq->cons_index);
		return 0;
	}
	if (!kcq_has_work(kcq))
		return 0;
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		return 1;
	mlx5_ib_kcq_wake(kcq);
	return 0;
}

/* ---- queue pairs ------------------------------------------------------------------------- */

/**
 * mlx5_ib_kcq_add - add a queue pair, so that polls find it by the number in a CQE
 * @wqs: work queues of the queue pair, which exists at the device
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_kcq_add(struct mlx5_ib_wqs *wqs)
{
	struct mlx5_ib_dev *dev = wqs->send_cq->dev;
	int err = xa_err(xa_store_irq(&dev->kernel_qps, wqs->qpn, wqs, GFP_KERNEL));

	if (err)
		return err;
	scoped_guard(spinlock_irqsave, &wqs->send_cq->lock)
		list_add_tail(&wqs->send_node, &wqs->send_cq->senders);
	scoped_guard(spinlock_irqsave, &wqs->recv_cq->lock)
		list_add_tail(&wqs->recv_node, &wqs->recv_cq->receivers);
	return 0;
}

static bool kcq_is_of(const struct mlx5_cqe64 *cqe, const struct mlx5_ib_wqs *wqs)
{
	return mlx5_ib_cqe_kind(cqe) != MLX5_IB_CQE_OTHER && mlx5_ib_cqe_qpn(cqe) == wqs->qpn;
}

/*
 * Remove from the ring the completions of a queue pair that have not been polled. The other
 * completions move, in their order, to the newest slots, so that the oldest slots become free for
 * the device: queue pairs that are created on the CQ later need the room that this queue pair had.
 */
static void kcq_disown(struct mlx5_ib_kcq *kcq, struct mlx5_ib_wqs *wqs)
{
	struct mlx5_core_cq *mcq = kcq->ring.mcq;
	u32 index = mcq->cons_index, freed = 0;
	struct mlx5_cqe64 *cqe;

	lockdep_assert_held(&kcq->lock);
	while (mlx5_ib_cq_ring_peek(&kcq->ring, index))
		index++;
	while (index-- != mcq->cons_index) {
		cqe = mlx5_ib_cq_ring_peek(&kcq->ring, index);
		if (!kcq_is_of(cqe, wqs)) {
			mlx5_ib_cq_ring_move(&kcq->ring, index, index + freed);
			continue;
		}
		kcq_drop_cqe(wqs, cqe);
		freed++;
	}
	if (!freed)
		return;
	WRITE_ONCE(mcq->cons_index, mcq->cons_index + freed);
	/* The device may write to the slots once the doorbell record says that they are free. */
	dma_wmb();
	mlx5_cq_set_ci(mcq);
}

/**
 * mlx5_ib_kcq_reset - empty the work queues of a queue pair that has been reset
 * @wqs: work queues of the queue pair, to which the consumer posts nothing; the device completes
 *	nothing on them any more
 *
 * Completions that have not been polled are removed. Takes the lock of each CQ: if the device has
 * failed, a poll flushes what is posted, and without the lock the poll could flush stale requests
 * of a queue that is being emptied. Any context.
 */
void mlx5_ib_kcq_reset(struct mlx5_ib_wqs *wqs)
{
	scoped_guard(spinlock_irqsave, &wqs->send_cq->lock) {
		kcq_disown(wqs->send_cq, wqs);
		mlx5_ib_sq_reset(&wqs->sq);
	}
	scoped_guard(spinlock_irqsave, &wqs->recv_cq->lock) {
		kcq_disown(wqs->recv_cq, wqs);
		mlx5_ib_rq_reset(&wqs->rq);
	}
	WRITE_ONCE(wqs->in_error, false);
	WRITE_ONCE(wqs->last_wqe_due, wqs->srq);
}

/**
 * mlx5_ib_kcq_end - complete no request of a queue pair any more
 * @wqs: work queues of the queue pair, after mlx5_ib_kcq_add(). The queue pair still exists at the
 *	device, so no other queue pair has its number; it is in reset unless firmware has refused to
 *	reset it
 *
 * Afterwards completions of the queue pair are dropped, until mlx5_ib_kcq_remove(). Any context.
 */
void mlx5_ib_kcq_end(struct mlx5_ib_wqs *wqs)
{
	WRITE_ONCE(wqs->ended, true);
	/* A poll that has not seen @ended holds the lock: taking the lock waits for that poll. */
	scoped_guard(spinlock_irqsave, &wqs->send_cq->lock)
		list_del(&wqs->send_node);
	scoped_guard(spinlock_irqsave, &wqs->recv_cq->lock)
		list_del(&wqs->recv_node);
}

/*
 * Clear @last of a CQ after a queue pair has been removed from the table @kernel_qps: once this
 * function has had the lock, no poll uses the queue pair any more.
 */
static void kcq_forget(struct mlx5_ib_kcq *kcq)
{
	guard(spinlock_irqsave)(&kcq->lock);
	kcq->last = NULL;
}

/**
 * mlx5_ib_kcq_remove - remove a queue pair, so that no poll finds it any more
 * @wqs: work queues of the queue pair, after mlx5_ib_kcq_end(): the queue pair is in reset, or
 *	DESTROY_QP has been sent. If firmware has refused both, polls drop what the device still
 *	completes, because they do not find the queue pair
 *
 * Completions that have not been polled are removed. When the function returns, no poll uses @wqs.
 * After DESTROY_QP a new queue pair may already have the number. Connecting a queue pair takes
 * several more commands, so the new queue pair has no completion yet that could be removed here.
 * Any context.
 */
void mlx5_ib_kcq_remove(struct mlx5_ib_wqs *wqs)
{
	struct mlx5_ib_kcq *send = wqs->send_cq, *recv = wqs->recv_cq;

	scoped_guard(spinlock_irqsave, &send->lock)
		kcq_disown(send, wqs);
	/* If both queues complete on one CQ, this finds nothing more. */
	scoped_guard(spinlock_irqsave, &recv->lock)
		kcq_disown(recv, wqs);
	xa_cmpxchg_irq(&send->dev->kernel_qps, wqs->qpn, wqs, NULL, 0);
	kcq_forget(send);
	kcq_forget(recv);
}

/* ---- failure of the device --------------------------------------------------------------- */

/**
 * mlx5_ib_kcq_wake - call the consumer of a completion queue of a device that has failed
 * @kcq: the queue
 *
 * The consumer is called in process context, whether or not the queue is armed, unless the consumer
 * has never armed the queue: then the consumer polls by itself. Any context.
 */
void mlx5_ib_kcq_wake(struct mlx5_ib_kcq *kcq)
{
	/*
	 * The caller has posted a request, or set @failed. Pairs with the barrier in
	 * mlx5_ib_kcq_arm(), which sets @notifies, and then looks for requests and for @failed.
	 */
	smp_mb();
	if (READ_ONCE(kcq->notifies))
		queue_work(system_dfl_wq, &kcq->wake);
}

/* Whether the driver has to raise IB_EVENT_QP_LAST_WQE_REACHED, because the device has failed. */
static bool kcq_last_wqe_is_due(struct mlx5_ib_wqs *wqs)
{
	/*
	 * Pairs with itself: mlx5_ib_flush_kernel_queues() sets @failed, qp_modify.c sets
	 * @in_error, and both then call this function: at least one of the two CPUs sees both.
	 */
	smp_mb();
	return READ_ONCE(wqs->recv_cq->dev->failed) && READ_ONCE(wqs->in_error) &&
	       READ_ONCE(wqs->last_wqe_due);
}

/**
 * mlx5_ib_kcq_report_last_wqe - raise IB_EVENT_QP_LAST_WQE_REACHED in place of a failed device
 * @wqs: work queues of the queue pair, which takes no WQE of its shared receive queue any more
 *
 * Reports nothing while the device works, because the device then raises the event, and nothing
 * before the consumer has taken the queue pair to the error state. Any context.
 */
void mlx5_ib_kcq_report_last_wqe(struct mlx5_ib_wqs *wqs)
{
	if (kcq_last_wqe_is_due(wqs))
		mlx5_ib_rsc_raise(wqs->recv_cq->dev, MLX5_EVENT_TYPE_SRQ_LAST_WQE, wqs->qpn);
}

/**
 * mlx5_ib_flush_kernel_queues - have kernel consumers poll, so that their requests are flushed
 * @dev: device, which has failed and completes nothing any more
 *
 * Also raises IB_EVENT_QP_LAST_WQE_REACHED where it is due. A consumer that posts a request later
 * is called again. What is posted to shared receive queues stays there. Any context.
 */
void mlx5_ib_flush_kernel_queues(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_wqs *wqs;
	unsigned long qpn = 0;
	bool due;

	WRITE_ONCE(dev->failed, true);
	do {
		due = false;
		scoped_guard(spinlock_irqsave, &dev->kernel_qps.xa_lock) {
			wqs = xa_find(&dev->kernel_qps, &qpn, ULONG_MAX, XA_PRESENT);
			if (wqs) {
				mlx5_ib_kcq_wake(wqs->send_cq);
				mlx5_ib_kcq_wake(wqs->recv_cq);
				due = kcq_last_wqe_is_due(wqs);
			}
		}
		/* Pass the number, not a pointer: the queue pair may be destroyed meanwhile. */
		if (due)
			mlx5_ib_rsc_raise(dev, MLX5_EVENT_TYPE_SRQ_LAST_WQE, qpn);
		qpn++;
	} while (wqs);
}
