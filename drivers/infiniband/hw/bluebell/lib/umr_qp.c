// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The driver's own queue pair, which executes UMR work requests: posting,
 * waiting, and starting again after a failure.
 */

/**
 * DOC: The UMR queue pair
 *
 * The driver fills, changes and revokes memory keys by work requests (UMR) on a queue pair of its
 * own, because a firmware command takes many times as long. mlx5_ib_umr_post() puts a request on
 * the queue, mlx5_ib_umr_wait() waits for the request. When mlx5_ib_umr_wait() returns, the device
 * no longer reads what the request points at, unless firmware could not stop the queue pair
 * (@stuck): then the caller hands the memory to mlx5_ib_orphan_keep(). The queue pair has one of
 * three states, which @lock guards:
 *
 * * **UMR_RUNNING**: requests are posted.
 * * **UMR_STOPPED**: a request has failed: it completed with an error, or did not complete within a
 *   minute, or within a second after the waiting task was killed. mlx5_ib_umr_post() returns
 *   -EAGAIN: the caller uses a firmware command instead, or waits by mlx5_ib_umr_await() until the
 *   state is UMR_RUNNING, for a second at most. The first task that finds its request failed has
 *   firmware reset the queue pair under @reset_lock, or destroy it if the reset fails. Then the
 *   task completes, as failed, all requests that the device has not completed, and increments
 *   @epoch. A task whose request is of an earlier epoch has nothing left to do. The work item
 *   @restart creates the queue pair again if it was destroyed, takes it to RTS and sets
 *   UMR_RUNNING; if firmware refuses, the queue pair is reset once more. The more failures in a row
 *   (@failures), the later the work item runs.
 * * **UMR_GONE**: the device has failed or was removed, the CQ is in error, or firmware has neither
 *   reset nor destroyed the queue pair. All posted requests are completed as failed, and none is
 *   posted until the driver is bound again. mlx5_ib_abort_umr() sets this state from any context.
 *   No other state follows it.
 *
 * MMU notifiers post requests, too, while memory is being reclaimed, and hold a lock meanwhile. So
 * mlx5_ib_umr_post() and mlx5_ib_umr_wait() can be called with such a lock held: @reset_lock nests
 * inside the notifier's lock, the locks of firmware commands nest inside @reset_lock, and commands
 * that are sent with @reset_lock held do not reclaim memory. The restart holds no lock while
 * firmware brings the queue pair up. @lock is taken in the completion interrupt, and only the locks
 * that wake tasks nest inside it.
 */

#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/qp.h>
#include <linux/sched/clock.h>
#include <linux/sched/mm.h>
#include <linux/semaphore.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_qp.h"
#include "layout/layout_wq.h"
#include "lib/buf.h"
#include "lib/internal_cq.h"
#include "lib/orphan.h"
#include "lib/queue_cmd.h"
#include "lib/umr.h"
#include "lib/wq_kernel.h"

#define WQE_WQEBBS	(sizeof(struct mlx5_ib_umr_wqe) / MLX5_SEND_WQE_BB)
#define LOG_SQ_WQEBBS	8
#define SQ_WQEBBS	BIT(LOG_SQ_WQEBBS)
#define SQ_MASK		(SQ_WQEBBS - 1)
#define MAX_POSTED	(SQ_WQEBBS / WQE_WQEBBS)
#define LOG_CQES	7

/*
 * How long to look for a completion before sleeping. A request takes a few
 * microseconds; to sleep takes two register writes, an interrupt and a wake-up.
 */
#define SPIN_NS		(100 * NSEC_PER_USEC)
/* How long a request may take: the same time as mlx5_core gives a command by default. */
#define UMR_TIMEOUT	(60 * HZ)
/*
 * How long a task goes on waiting when it is being killed. The device may still read what a request
 * points at, so the queue pair has to be reset before the task can go.
 */
#define UMR_KILLED_TIMEOUT	HZ
/* How long a caller that has no other means than UMR waits for a restart. */
#define AWAIT_TIMEOUT		HZ

static_assert(BIT(LOG_CQES) >= MAX_POSTED);

enum umr_state {
	UMR_RUNNING,
	UMR_STOPPED,	/* the QP has been, or is being, reset or destroyed; @restart is due */
	UMR_GONE,	/* no request is posted until the driver is bound again */
};

/**
 * struct mlx5_ib_umr - the queue pair
 * @dev: device
 * @cq: completion queue; its consumer index changes under @lock. The PD of @cq is also that of the
 *	QP, of free keys and of @lkey
 * @sq: send queue
 * @qpc: the context of the QP, struct mlx5_ifc_qpc_bits
 * @ring: finds the WQEBBs in the send queue
 * @lkey: key over all of DMA memory, for translation lists
 * @qpn: number of the QP; 0 while there is no QP
 * @attempt: attempts to destroy the QP
 * @reset_lock: held while at most four commands reset, destroy or query the QP; all tasks whose
 *	requests have failed wait for it. A process cannot cause this at will, because it cannot
 *	make a request fail
 * @restart: creates the QP again if it was destroyed, and takes the QP to RTS
 * @restarted: woken after a restart, and by mlx5_ib_abort_umr()
 * @slots: room in the send queue, one for each WQE. A task has at most two requests, or 32 while
 *	its process closes the device. If no slot is free, tasks wait in the order of their arrival
 * @lock: guards all members below except @stuck; held for one post, or while at most 64 requests
 *	are completed; taken in the completion interrupt
 * @state: whether requests are posted; also read without @lock
 * @stuck: firmware has not stopped the QP, so the device may still execute requests that have been
 *	completed here. Set under @reset_lock
 * @epoch: how often the QP has been stopped
 * @failures: how often the QP has been stopped since a request last succeeded
 * @pc: number of WQEBBs posted since the QP was last reset
 * @armed: the next completion raises an interrupt
 * @sleepers: number of tasks that sleep until a completion raises an interrupt
 * @posted: by WQEBB: the request whose WQE begins there; NULL if none does
 */
struct mlx5_ib_umr {
	struct mlx5_ib_dev *dev;
	struct mlx5_ib_internal_cq cq;
	struct mlx5_ib_queue_mem sq;
	u32 qpc[MLX5_ST_SZ_DW(qpc)];
	struct mlx5_frag_buf_ctrl ring;
	u32 lkey;
	u32 qpn;
	struct mlx5_ib_fw_attempt attempt;
	struct mutex reset_lock;	/* guards the QP's state at the device, and stuck */
	struct delayed_work restart;
	wait_queue_head_t restarted;
	struct semaphore slots;
	spinlock_t lock; /* guards state to posted, except stuck */
	enum umr_state state;
	bool stuck;
	u32 epoch;
	unsigned int failures;
	u16 pc;
	bool armed;
	unsigned int sleepers;
	struct mlx5_ib_umr_request *posted[SQ_WQEBBS];
};

/*
 * Keep a command from reclaiming memory. MMU notifiers post requests, too, during reclaim, to
 * revoke the device's access to pages. If such a request fails, the pages cannot be freed before
 * the queue pair has been reset. So the command that resets the queue pair does not reclaim memory
 * itself: reclaim could wait for a lock that the notifier holds while it waits for the command. The
 * command takes less than a page, from the reserves, "in the process of freeing memory", for which
 * memalloc_noreclaim_save() is meant. This happens once per failure, not periodically. The reset
 * after a failed restart does not reclaim memory either, because a notifier may be waiting for
 * @reset_lock. The commands that create the queue pair again and take it to RTS may reclaim memory:
 * no lock is held meanwhile, and no notifier waits for the restart.
 */
DEFINE_LOCK_GUARD_0(umr_noreclaim, _T->flags = memalloc_noreclaim_save(),
		    memalloc_noreclaim_restore(_T->flags), unsigned int flags)

/* ---- completions -------------------------------------------------------- */

static void umr_finish(struct mlx5_ib_umr *umr, u16 index, bool ok)
{
	struct mlx5_ib_umr_request *req = umr->posted[index & SQ_MASK];

	lockdep_assert_held(&umr->lock);
	if (!req)
		return;
	umr->posted[index & SQ_MASK] = NULL;
	req->ok = ok;
	if (ok)
		umr->failures = 0;
	complete(&req->done);
	up(&umr->slots);
}

static void umr_finish_all(struct mlx5_ib_umr *umr)
{
	unsigned int i;

	for (i = 0; i < SQ_WQEBBS; i++)
		umr_finish(umr, i, false);
}

static void umr_poll_cq(struct mlx5_ib_umr *umr)
{
	struct mlx5_cqe64 *cqe;

	lockdep_assert_held(&umr->lock);
	while ((cqe = mlx5_ib_cq_ring_next(&umr->cq.ring))) {
		umr_finish(umr, be16_to_cpu(cqe->wqe_counter), cqe->op_own >> 4 == MLX5_CQE_REQ);
		WRITE_ONCE(umr->cq.mcq.cons_index, umr->cq.mcq.cons_index + 1);
	}
	mlx5_cq_set_ci(&umr->cq.mcq);
}

/*
 * Have the next completion raise an interrupt, if a task sleeps or is about to sleep. A completion
 * that the device has written already, or writes before the driver has written the register, raises
 * the interrupt at once.
 */
static void umr_arm_cq(struct mlx5_ib_umr *umr)
{
	lockdep_assert_held(&umr->lock);
	if (umr->armed || !umr->sleepers)
		return;
	umr->armed = true;
	mlx5_cq_arm(&umr->cq.mcq, MLX5_CQ_DB_REQ_NOT, umr->dev->mdev->priv.bfreg.up->map,
		    umr->cq.mcq.cons_index);
}

/* Poll in the interrupt of the CQ: there are few completions, and a task sleeps until then. */
static void umr_cq_comp(struct mlx5_core_cq *mcq, struct mlx5_eqe *eqe)
{
	struct mlx5_ib_umr *umr = container_of(mcq, struct mlx5_ib_umr, cq.mcq);

	guard(spinlock_irqsave)(&umr->lock);
	umr->armed = false;
	umr_poll_cq(umr);
	umr_arm_cq(umr);
}

static void umr_cq_event(struct mlx5_core_cq *mcq, enum mlx5_event type)
{
	struct mlx5_ib_umr *umr = container_of(mcq, struct mlx5_ib_umr, cq.mcq);

	mlx5_ib_abort_umr(umr->dev);
	ibdev_err(&umr->dev->ib_dev,
		  "UMR CQ 0x%x is in error (event 0x%x): memory is registered by slower firmware commands until the driver is bound again\n",
		  mcq->cqn, type);
}

/* ---- the QP ------------------------------------------------------------------- */

static int umr_alloc_sq(struct mlx5_ib_umr *umr)
{
	int err = mlx5_ib_queue_mem_alloc(umr->dev, &umr->sq, SQ_WQEBBS << MLX5_IB_LOG_WQEBB);

	if (!err)
		mlx5_init_fbc(umr->sq.buf.frags.frags, MLX5_IB_LOG_WQEBB, LOG_SQ_WQEBBS,
			      &umr->ring);
	return err;
}

/* Create the QP, in reset, on a send queue that exists. */
static int umr_create_qp(struct mlx5_ib_umr *umr)
{
	static const struct ib_qp_init_attr init = { .qp_type = MLX5_IB_QPT_UMR };
	static const struct mlx5_ib_create_qp queues = { .sq_wqe_count = SQ_WQEBBS };
	void *qpc = umr->qpc;
	u32 ece = 0;

	memset(qpc, 0, sizeof(umr->qpc));
	mlx5_ib_fill_qpc(qpc, &init, &queues);
	/* Allow the QP to register memory, and to use the device's reserved key. */
	MLX5_SET(qpc, qpc, fre, 1);
	MLX5_SET(qpc, qpc, rlky, 1);
	MLX5_SET(qpc, qpc, uar_page, umr->dev->mdev->priv.bfreg.index);
	MLX5_SET(qpc, qpc, user_index, mlx5_ib_qp_uidx(0, 0, &umr->dev->caps));
	MLX5_SET(qpc, qpc, cqn_snd, umr->cq.mcq.cqn);
	MLX5_SET(qpc, qpc, cqn_rcv, umr->cq.mcq.cqn);
	MLX5_SET(qpc, qpc, ts_format, umr->dev->caps.qp_ts_format);
	return mlx5_ib_create_qp_cmd(umr->dev, MLX5_IB_KERNEL_UID, &umr->sq, qpc, &umr->qpn, &ece);
}

static int umr_start_qp(struct mlx5_ib_umr *umr)
{
	static const u16 steps[] = {
		MLX5_CMD_OP_RST2INIT_QP, MLX5_CMD_OP_INIT2RTR_QP, MLX5_CMD_OP_RTR2RTS_QP,
	};
	void *qpc = umr->qpc;
	unsigned int i;
	u32 ece = 0;
	int err;

	/* A QP of this type gets its PD here, not from CREATE_QP. */
	MLX5_SET(qpc, qpc, pd, umr->cq.pdn);
	/* The QP sends nothing, but the device checks its path MTU and largest message. */
	MLX5_SET(qpc, qpc, mtu, IB_MTU_4096);
	MLX5_SET(qpc, qpc, log_msg_max, ilog2(ib_mtu_enum_to_int(IB_MTU_4096)));
	MLX5_SET(qpc, qpc, primary_address_path.vhca_port_num, 1);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		err = mlx5_ib_fw_modify_qp(umr->dev, MLX5_IB_KERNEL_UID, steps[i], umr->qpn, qpc, 0,
					   ece, &ece);
		if (err)
			return err;
	}
	return 0;
}

/* Log that firmware neither resets nor destroys the QP, and post no request any more. */
static void umr_give_up_qp(struct mlx5_ib_umr *umr, int err)
{
	ibdev_err(&umr->dev->ib_dev,
		  "cannot stop UMR QP 0x%x (%d): memory that its requests point at stays allocated, and memory is registered by slower firmware commands; unbind the driver to try again\n",
		  umr->qpn, err);
	WRITE_ONCE(umr->stuck, true);
	mlx5_ib_abort_umr(umr->dev);
}

/* Stop the QP, so that it executes none of the requests that are still posted. */
static int umr_stop_qp(struct mlx5_ib_umr *umr)
{
	u32 ece = 0;
	int err;

	lockdep_assert_held(&umr->reset_lock);
	/* The QP was destroyed after an earlier failure, and has not been created again yet. */
	if (!umr->qpn)
		return 0;
	guard(umr_noreclaim)();
	err = mlx5_ib_fw_modify_qp(umr->dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_2RST_QP, umr->qpn,
				   NULL, 0, ece, &ece);
	if (!err)
		return 0;
	err = mlx5_ib_fw_destroy_object(umr->dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_DESTROY_QP,
					umr->qpn, &umr->attempt);
	if (err)
		return err;
	umr->qpn = 0;
	umr->attempt = (struct mlx5_ib_fw_attempt){};
	return 0;
}

VISIBLE_IF_KUNIT void mlx5_ib_umr_restart_later(struct delayed_work *restart,
						unsigned int failures)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_umr_restart_later, restart, failures);

	queue_delayed_work(system_dfl_wq, restart,
			   msecs_to_jiffies(mlx5_ib_umr_restart_ms(failures)));
}

/*
 * Reset or destroy the QP after a request, or a restart of the QP, has failed. Then empty the CQ,
 * complete all requests that are still posted and, except in UMR_GONE, queue the restart of the QP.
 */
static void umr_reset_qp(struct mlx5_ib_umr *umr)
{
	unsigned int failures;
	bool gone;
	int err;

	lockdep_assert_held(&umr->reset_lock);
	scoped_guard(spinlock_irqsave, &umr->lock) {
		if (umr->stuck)
			return;
		/* In UMR_GONE the QP is stopped, too, but not started again. */
		gone = umr->state == UMR_GONE;
		if (!gone)
			umr->state = UMR_STOPPED;
		failures = umr->failures++;
	}
	if (!failures && !gone)
		ibdev_warn_ratelimited(&umr->dev->ib_dev,
				       "UMR QP 0x%x failed: memory is registered by slower firmware commands until the QP has been restarted\n",
				       umr->qpn);
	err = umr_stop_qp(umr);
	if (err)
		return umr_give_up_qp(umr, err);
	scoped_guard(spinlock_irqsave, &umr->lock) {
		umr_poll_cq(umr);
		umr_finish_all(umr);
		umr->pc = 0;
		umr->epoch++;
	}
	if (!gone)
		mlx5_ib_umr_restart_later(&umr->restart, failures);
}

/* ---- waiting -------------------------------------------------------------- */

static void umr_start_sleep(struct mlx5_ib_umr *umr)
{
	guard(spinlock_irqsave)(&umr->lock);
	umr->sleepers++;
	umr_poll_cq(umr);
	umr_arm_cq(umr);
}

static void umr_stop_sleep(struct mlx5_ib_umr *umr)
{
	guard(spinlock_irqsave)(&umr->lock);
	WARN_ON_ONCE(!umr->sleepers--);
}

/* Poll for the completion for about as long as it would take to sleep. */
static bool umr_spin(struct mlx5_ib_umr *umr, struct mlx5_ib_umr_request *req)
{
	u64 end = local_clock() + SPIN_NS;

	do {
		if (mlx5_ib_cq_ring_next(&umr->cq.ring)) {
			guard(spinlock_irqsave)(&umr->lock);
			umr_poll_cq(umr);
		}
		if (completion_done(&req->done))
			return true;
		cpu_relax();
	} while (!need_resched() && local_clock() < end);
	return false;
}

static bool umr_sleep(struct mlx5_ib_umr_request *req)
{
	long left = wait_for_completion_killable_timeout(&req->done, UMR_TIMEOUT);

	return left < 0 ? wait_for_completion_timeout(&req->done, UMR_KILLED_TIMEOUT) : left;
}

static bool umr_wait_done(struct mlx5_ib_umr *umr, struct mlx5_ib_umr_request *req)
{
	bool done;

	if (umr_spin(umr, req))
		return true;
	umr_start_sleep(umr);
	done = umr_sleep(req);
	umr_stop_sleep(umr);
	return done;
}

/* Wait for room for a WQE. Arm the CQ, because it may be a while until another task polls it. */
static void umr_get_slot(struct mlx5_ib_umr *umr)
{
	if (!down_trylock(&umr->slots))
		return;
	umr_start_sleep(umr);
	down(&umr->slots);
	umr_stop_sleep(umr);
}

/* ---- posting ------------------------------------------------------------- */

/**
 * mlx5_ib_umr_post - put a request on the queue
 * @dev: device with a UMR queue pair
 * @wqe: the request, complete but for mlx5_ib_umr_fill_ctrl(). Copied: the caller
 *	may reuse it at once
 * @req: tracks the request; after success the caller passes it to mlx5_ib_umr_wait()
 *
 * Requests are executed in the order in which they were posted, because each carries the fence
 * that the device needs for that. May sleep.
 *
 * Return: 0; -EAGAIN if the queue pair does not run.
 */
int mlx5_ib_umr_post(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_wqe *wqe,
		     struct mlx5_ib_umr_request *req)
{
	struct mlx5_ib_umr *umr = dev->umr;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_umr_post, dev, wqe, req);

	init_completion(&req->done);
	req->ok = false;
	umr_get_slot(umr);
	guard(spinlock_irqsave)(&umr->lock);
	if (umr->state != UMR_RUNNING) {
		up(&umr->slots);
		return -EAGAIN;
	}
	req->epoch = umr->epoch;
	mlx5_ib_umr_fill_ctrl(wqe, umr->qpn, umr->pc, umr->dev->caps.umr_fence);
	mlx5_ib_sq_copy(&umr->ring, umr->pc, wqe, WQE_WQEBBS);
	umr->posted[umr->pc & SQ_MASK] = req;
	/* Advance the queue by the size of the WQE, which is in the WQE's control segment. */
	umr->pc += DIV_ROUND_UP((be32_to_cpu(wqe->ctrl.qpn_ds) & 0x3f) *
				sizeof(struct mlx5_wqe_data_seg), MLX5_SEND_WQE_BB);
	mlx5_ib_sq_doorbell(&umr->sq.db.db[MLX5_SND_DBR], umr->pc, (__be32 *)&wqe->ctrl,
			    umr->dev->mdev->priv.bfreg.map);
	return 0;
}

/*
 * Returns false if the QP has been stopped since the request was posted: then the device no longer
 * reads what the request points at, and nothing is left to be done.
 */
static bool umr_is_current(struct mlx5_ib_umr *umr, const struct mlx5_ib_umr_request *req)
{
	guard(spinlock_irqsave)(&umr->lock);
	return umr->epoch == req->epoch;
}

/**
 * mlx5_ib_umr_wait - wait for a request that has been posted
 * @dev: device
 * @req: the request, after mlx5_ib_umr_post()
 *
 * When the function returns, the device no longer reads what the request points at, unless
 * mlx5_ib_umr_is_stuck(). May sleep.
 *
 * Return: 0; -EIO if the request failed, or was not executed because another request or the device
 * had failed.
 */
int mlx5_ib_umr_wait(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_request *req)
{
	struct mlx5_ib_umr *umr = dev->umr;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_umr_wait, dev, req);

	if (umr_wait_done(umr, req) && req->ok)
		return 0;
	if (!umr_is_current(umr, req))
		return -EIO;
	guard(mutex)(&umr->reset_lock);
	if (umr_is_current(umr, req))
		umr_reset_qp(umr);
	return -EIO;
}

/**
 * mlx5_ib_umr_exec - post a request and wait for it
 * @dev: device with a UMR queue pair
 * @wqe: the request, complete but for mlx5_ib_umr_fill_ctrl()
 *
 * May sleep.
 *
 * Return: 0; -EAGAIN if the request was not posted, -EIO if the request failed.
 */
int mlx5_ib_umr_exec(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_wqe *wqe)
{
	struct mlx5_ib_umr_request req;

	return mlx5_ib_umr_post(dev, wqe, &req) ?: mlx5_ib_umr_wait(dev, &req);
}

/**
 * mlx5_ib_umr_lkey - get the key for translation lists
 * @dev: device with a UMR queue pair
 *
 * Return: a key with which the queue pair can read all of DMA memory.
 */
u32 mlx5_ib_umr_lkey(struct mlx5_ib_dev *dev)
{
	return dev->umr->lkey;
}

/**
 * mlx5_ib_umr_pdn - get the protection domain of free keys
 * @dev: device with a UMR queue pair
 *
 * Return: a protection domain that no user's queue pair is in.
 */
u32 mlx5_ib_umr_pdn(struct mlx5_ib_dev *dev)
{
	return dev->umr->cq.pdn;
}

/* ---- restart and failure ------------------------------------------------------ */

/*
 * Create the QP again. If the last CREATE_QP was not answered, that QP may exist, and an orphan has
 * taken over its send queue: allocate another send queue.
 */
static int umr_renew_qp(struct mlx5_ib_umr *umr)
{
	int err = umr->sq.db.db ? 0 : umr_alloc_sq(umr);

	return err ?: umr_create_qp(umr);
}

static void umr_leave_reset(struct mlx5_ib_umr *umr)
{
	int err = umr->qpn ? 0 : umr_renew_qp(umr);

	if (!err) {
		memset(umr->sq.db.db, 0, 2 * sizeof(__be32));
		err = umr_start_qp(umr);
	}
	if (err) {
		guard(mutex)(&umr->reset_lock);
		umr_reset_qp(umr);
		return;
	}
	guard(spinlock_irqsave)(&umr->lock);
	if (umr->state == UMR_STOPPED)
		umr->state = UMR_RUNNING;
	wake_up_all(&umr->restarted);
}

/*
 * Restart the QP, without a lock while firmware takes the QP to RTS. No lock is needed, because no
 * request is posted, and so none can fail, before the QP is in RTS. And no lock must be held,
 * because the commands may reclaim memory, and reclaim may wait for the locks of UMR.
 */
static void umr_restart_work(struct work_struct *work)
{
	struct mlx5_ib_umr *umr = container_of(to_delayed_work(work), struct mlx5_ib_umr, restart);

	if (READ_ONCE(umr->state) == UMR_STOPPED)
		umr_leave_reset(umr);
}

/**
 * mlx5_ib_umr_await - wait until the queue pair runs again after a failure
 * @dev: device with a UMR queue pair
 *
 * For callers that have no other means than UMR. May sleep, at most a second; not
 * during reclaim, because firmware commands restart the queue pair.
 *
 * Return: 0 if the queue pair runs, else -EAGAIN.
 */
int mlx5_ib_umr_await(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_umr *umr = dev->umr;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_umr_await, dev);

	wait_event_timeout(umr->restarted, READ_ONCE(umr->state) != UMR_STOPPED, AWAIT_TIMEOUT);
	return READ_ONCE(umr->state) == UMR_RUNNING ? 0 : -EAGAIN;
}

/**
 * mlx5_ib_abort_umr - fail all requests, posted and to come, until the driver is bound again
 * @dev: device that has failed, or whose UMR CQ is in error, or whose UMR QP cannot be stopped
 *
 * Any context.
 */
void mlx5_ib_abort_umr(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_umr *umr;

	/*
	 * If mlx5_core reports that the device has failed, it has set the state before this call.
	 * Pairs with umr_publish(): at least one of the two functions sees both @umr and the state.
	 */
	smp_mb();
	umr = READ_ONCE(dev->umr);
	if (!umr)
		return;
	guard(spinlock_irqsave)(&umr->lock);
	umr->state = UMR_GONE;
	wake_up_all(&umr->restarted);
	umr_finish_all(umr);
}

/**
 * mlx5_ib_umr_is_stuck - whether the device may still read what completed requests point at
 * @dev: device
 *
 * If the function returns true, firmware has neither reset nor destroyed the queue pair, which is
 * rare, and the log says so. The caller then neither unmaps nor frees what its requests have
 * pointed at, but hands the memory to mlx5_ib_orphan_keep(). Any context.
 *
 * Return: true if the device may still read such memory.
 */
bool mlx5_ib_umr_is_stuck(struct mlx5_ib_dev *dev)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_umr_is_stuck, dev);
	return dev->umr && READ_ONCE(dev->umr->stuck);
}

/**
 * mlx5_ib_umr_is_gone - whether requests fail until the driver is bound again
 * @dev: device with a UMR queue pair
 *
 * Requests fail after mlx5_ib_abort_umr(), which may be called at any time. Any context.
 *
 * Return: true if all requests fail.
 */
bool mlx5_ib_umr_is_gone(struct mlx5_ib_dev *dev)
{
	return READ_ONCE(dev->umr->state) == UMR_GONE;
}

/* ---- setting up ------------------------------------------------------------ */

static int umr_create_lkey(struct mlx5_ib_umr *umr)
{
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	int err;

	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_PA);
	MLX5_SET(mkc, mkc, lr, 1);
	MLX5_SET(mkc, mkc, length64, 1);
	MLX5_SET(mkc, mkc, qpn, 0xffffff);
	MLX5_SET(mkc, mkc, pd, umr->cq.pdn);
	err = mlx5_ib_fw_create_mkey(umr->dev, MLX5_IB_KERNEL_UID, in, sizeof(in), &umr->lkey);
	/* -ENOSPC: there is no pool yet whose free keys could be destroyed to make room. */
	return err == -ENOSPC ? -ENOMEM : err;
}

/*
 * Destroy what exists, and free @umr. The device gives number 0 to neither a key nor a QP, so a key
 * or QP whose number is 0 here does not exist.
 */
static void umr_destroy(struct mlx5_ib_umr *umr)
{
	int err = 0;

	if (umr->qpn)
		err = mlx5_ib_fw_destroy_object(umr->dev, MLX5_IB_KERNEL_UID,
						MLX5_CMD_OP_DESTROY_QP, umr->qpn, &umr->attempt);
	if (err)
		mlx5_ib_orphan_adopt(umr->dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_DESTROY_QP,
				     umr->qpn, &umr->attempt, "UMR QP", &umr->sq, err);
	else
		mlx5_ib_queue_mem_free(umr->dev, &umr->sq);
	if (umr->lkey)
		mlx5_ib_orphan_destroy(umr->dev, MLX5_CMD_OP_DESTROY_MKEY,
				       mlx5_mkey_to_idx(umr->lkey), "UMR mkey", NULL);
	mlx5_ib_internal_cq_destroy(umr->dev, &umr->cq);
	kfree(umr);
}

/**
 * mlx5_ib_has_umr - whether the driver can register memory without firmware commands
 * @caps: what the device can do
 *
 * Return: false for a device that does not let UMR change the page size of a key.
 */
bool mlx5_ib_has_umr(const struct mlx5_ib_caps *caps)
{
	return !MLX5_CAP_GEN(caps->mdev, umr_modify_entity_size_disabled);
}

/*
 * Let other tasks find @umr. The device may have failed before this, and the notifier runs only
 * once, so check for a failure here.
 */
static void umr_publish(struct mlx5_ib_umr *umr)
{
	/* Pairs with mlx5_ib_abort_umr(). */
	smp_store_mb(umr->dev->umr, umr);
	if (READ_ONCE(umr->dev->mdev->state) == MLX5_DEVICE_STATE_INTERNAL_ERROR)
		mlx5_ib_abort_umr(umr->dev);
}

static struct mlx5_ib_umr *umr_alloc(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_umr *umr = kzalloc_obj(*umr);

	if (!umr)
		return NULL;
	umr->dev = dev;
	umr->cq.mcq.comp = umr_cq_comp;
	umr->cq.mcq.event = umr_cq_event;
	mutex_init(&umr->reset_lock);
	/* Notifiers take reset_lock during reclaim: tell lockdep before the first notifier does. */
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&umr->reset_lock);
	fs_reclaim_release(GFP_KERNEL);
	INIT_DELAYED_WORK(&umr->restart, umr_restart_work);
	init_waitqueue_head(&umr->restarted);
	sema_init(&umr->slots, MAX_POSTED);
	spin_lock_init(&umr->lock);
	return umr;
}

/**
 * mlx5_ib_init_umr - create what is needed to register memory without firmware commands
 * @dev: device with mlx5_ib_has_umr(), whose mutex first_use the caller holds
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_init_umr(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_umr *umr __free(kfree) = umr_alloc(dev);
	int err;

	lockdep_assert_held(&dev->first_use);
	if (!umr)
		return -ENOMEM;
	err = mlx5_ib_internal_cq_create(dev, &umr->cq, LOG_CQES);
	if (err)
		return err;
	err = umr_create_lkey(umr) ?: umr_alloc_sq(umr) ?: umr_create_qp(umr) ?: umr_start_qp(umr);
	if (err)
		umr_destroy(no_free_ptr(umr));
	else
		umr_publish(no_free_ptr(umr));
	return err;
}

/**
 * mlx5_ib_cleanup_umr - destroy the queue pair, if there is one
 * @dev: device, none of whose keys is left
 */
void mlx5_ib_cleanup_umr(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_umr *umr = dev->umr;

	if (!umr)
		return;
	dev->umr = NULL;
	disable_delayed_work_sync(&umr->restart);
	umr_destroy(umr);
}
