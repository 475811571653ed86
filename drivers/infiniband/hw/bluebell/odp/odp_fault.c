// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Page faults of the device: the event queue that reports them, the work that resolves them, and
 * the command that lets the faulting queue go on.
 */

/**
 * DOC: Page faults of the device
 *
 * The device reports a page fault by an event of the page-fault event queue and stops the faulting
 * queue until the driver answers by PAGE_FAULT_RESUME. A fault has these states; @events_lock and
 * other such names are members of struct mlx5_ib_odp:
 *
 * * **Reported.** odp_fault_take_events(), in the interrupt and under @events_lock, allocates a
 *   work item for each event. If there is no memory for a work item, the event stays in the event
 *   queue, and @eq_work tries again until there is memory.
 * * **Queued** on @fault_wq, or with an extra slot on @extra_wq, which run nothing else, because
 *   the faulting queues are stopped until their faults are resolved. @num_faults counts the faults;
 *   advice gives way to them.
 * * **Waiting.** A process can keep a fault from being resolved for as long as it likes, so each
 *   process has a share of the slots (odp_fairness.c). A fault takes a slot of the process whose
 *   memory it needs, and gives up a slot of any other process. Before it reads the table of an
 *   indirect mkey, a fault without a slot takes a slot of the process that created the key. If the
 *   process has no slot left, the fault waits, without a task, until another fault gives up a slot
 *   of the process; then it is queued again.
 * * **Resolved.** The bytes that the device needs are mapped, or cannot be mapped. Bytes that the
 *   operation will touch later are mapped if that is possible, see MLX5_IB_ODP_FAULT_AROUND. By the
 *   memory scheme, the event may also name bytes before its address; the driver may map these, too.
 * * **Answered.** The queue goes on, or the work request fails. If firmware refuses the command, or
 *   does not answer, odp_fault_resume() repeats it for a third of a second, or until two commands
 *   have timed out or could not be sent, because the queue would stay stopped; a queue that is
 *   destroyed meanwhile is no error. The fault gives up its slot afterwards.
 *
 * By the transport scheme, a fault at a remote key names the memory itself. A fault at a WQE names
 * a queue, whose read_wqe() reads the WQE. A fault at a WQE of a queue that the driver does not
 * know, and a fault of an unknown kind, are answered with an error. By the memory scheme, which
 * newer devices have instead, a fault names the key whose own entries translate to the pages. Such
 * a fault may have several events, each resolved on its own. Only the last event is answered,
 * except that an error is answered at once, at whichever event.
 *
 * If everything was mapped already, perhaps because another queue had faulted on the same pages,
 * the fault is answered, and the queue goes on. If the device then reports the same fault again,
 * the pages are mapped for writing, whatever the event says, if the region allows that. If the
 * pages cannot be mapped for writing, the fault is answered with an error when it is reported for
 * the ninth time in a row. If the device goes on reporting a fault although nothing is left to map,
 * it needs something that its events do not name: the fault is answered with an error after 8192
 * answers in a row. If no key of a WQE translates to a paged region, or by the memory scheme the
 * key of the fault does not, the fault is answered with an error when it is reported for the second
 * time; by the transport scheme a fault at a remote key that translates to no paged region is
 * answered with an error at once. @repeated counts these repetitions, under @repeated_lock, by
 * struct odp_fault_id; a report more than 5 s later is a new fault, and a report whose event came
 * before the previous answer is of another queue.
 */

#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/eq.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"
#include "lib/mkey_pool.h"
#include "lib/rsc.h"
#include "lib/umr.h"
#include "odp/odp_fault.h"
#include "odp/odp_repeated.h"

/* Pause before another attempt to allocate memory for a reported fault. */
#define MEMORY_PAUSE_MS	10

/*
 * Let the faulting queue go on. The queue stays stopped until firmware accepts the command, so a
 * refused command is repeated for a third of a second, unless the queue has been destroyed. As with
 * commands that destroy objects, the task waits twice at most for a command that firmware does not
 * answer, or that is not sent because other commands are not answered: each wait can take a timeout
 * of mlx5_core, and the worker is needed for other faults.
 *
 * Firmware may have executed a command without answering it, and another fault may have the token
 * by now. So the command is repeated without the error: at worst, the device reports the other
 * fault again, or this fault, if firmware has not executed the first command.
 */
static void odp_fault_resume(struct mlx5_ib_odp *odp, const struct mlx5_ib_fault *fault, bool error)
{
	unsigned int pause = 0, waits = 0;
	int err;

	do {
		err = mlx5_ib_fw_page_fault_resume(odp->dev, fault, error);
		if (!err || err == -ENOLINK || err == -ENOENT)
			return;
		error = error && err != -ETIMEDOUT;
		/* More events follow: the answer to the last event will let the queue go on. */
		if (!error && fault->is_early)
			return;
		waits += err == -ETIMEDOUT || err == -ECANCELED;
	} while (waits < 2 && mlx5_ib_fw_pause(&pause));
	ibdev_err_ratelimited(&odp->dev->ib_dev,
			      "cannot resume queue 0x%x after page fault 0x%llx at key 0x%x (%d): the queue (0 if unknown) may stay stopped until it is destroyed\n",
			      fault->wq_num, fault->token, fault->key, err);
}

static void odp_fault_answer(const struct odp_fault_state *state, int err)
{
	const struct mlx5_ib_fault *fault = state->fault;
	bool error;

	if (err)
		ibdev_dbg(&state->odp->dev->ib_dev,
			  "page fault 0x%llx of type %u on queue 0x%x at key 0x%x not resolved (%d)\n",
			  fault->token, fault->type, fault->wq_num, fault->key, err);
	/* -ERESTART: the process changes its mappings all the time. Let the device fault again. */
	error = err && err != -ERESTART;
	/* Of several events only the last is answered, except that an error is answered at once. */
	if (error || !fault->is_early)
		odp_fault_resume(state->odp, fault, error);
}

/**
 * mlx5_ib_odp_resolve_fault - map the pages that a fault needs, and let the faulting queue go on
 * @odp: paging state of the device
 * @fault: the fault
 * @slot: points to the process whose slot the fault has, or to NULL. Updated; the caller gives the
 *	slot up when the fault has been answered
 *
 * Answers the fault by PAGE_FAULT_RESUME, struct mlx5_ifc_page_fault_resume_in_bits, with an error
 * if the pages cannot be mapped; but without an error only at the last event of the fault. May
 * sleep.
 *
 * Return: NULL if nothing is left to be done for @fault. Otherwise a process, with a reference,
 * which has no slot left for the fault: the caller calls again when the fault has got a slot of
 * this process.
 */
VISIBLE_IF_KUNIT
struct odp_process *mlx5_ib_odp_resolve_fault(struct mlx5_ib_odp *odp,
					      const struct mlx5_ib_fault *fault,
					      struct odp_process **slot)
{
	struct odp_fault_state state = {
		.odp = odp, .fault = fault, .slot = slot, .budget = MLX5_IB_ODP_BUDGET,
	};
	struct mlx5_ib_rsc *queue = NULL;
	int err = -EOPNOTSUPP;

	if (!fault->is_unknown) {
		state.repeated = mlx5_ib_odp_repeated_get(odp, fault);
		err = fault->is_memory ? mlx5_ib_odp_resolve_memory(&state) :
					 mlx5_ib_odp_resolve_transport(&state, &queue);
	}
	if (!state.full)
		odp_fault_answer(&state, err);
	/* Released only now: the queue must not be destroyed while its fault is being answered. */
	if (queue)
		mlx5_ib_rsc_put(queue);
	return state.full;
}

/* Have a fault wait until a process has a slot for it. */
static void odp_fault_wait(struct odp_fault_work *job, struct odp_process *process)
{
	if (!mlx5_ib_odp_process_wait(process, &job->waiting, &job->extra)) {
		job->slot = process;
		mlx5_ib_odp_fault_queue(job);
	}
	mlx5_ib_odp_process_put(process);
}

static void odp_fault_do_work(struct work_struct *work)
{
	struct odp_fault_work *job = container_of(work, struct odp_fault_work, work);
	struct mlx5_ib_odp *odp = job->odp;
	struct odp_process *full = mlx5_ib_odp_resolve_fault(odp, &job->fault, &job->slot);

	if (full) {
		odp_fault_wait(job, full);
	} else {
		mlx5_ib_odp_fault_leave(&job->slot);
		kfree(job);
		atomic_inc(&odp->num_resolved);
	}
	if (atomic_dec_and_test(&odp->num_faults))
		wake_up_all(&odp->no_faults);
}

static void odp_fault_start(struct mlx5_ib_odp *odp, struct odp_fault_work *job)
{
	job->odp = odp;
	job->fault.taken = ktime_get();
	job->slot = NULL;
	job->extra = false;
	INIT_WORK(&job->work, odp_fault_do_work);
	mlx5_ib_odp_fault_queue(job);
}

/* Look at the event that comes @cc events after the first one; NULL if there is no such event. */
VISIBLE_IF_KUNIT struct mlx5_eqe *mlx5_ib_odp_get_eqe(struct mlx5_ib_odp *odp, u32 cc)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_odp_get_eqe, odp, cc);
	return mlx5_eq_get_eqe(odp->eq, cc);
}

/* Tell the device that @cc events have been taken and, with @arm, to interrupt at the next one. */
VISIBLE_IF_KUNIT void mlx5_ib_odp_update_ci(struct mlx5_ib_odp *odp, u32 cc, bool arm)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_odp_update_ci, odp, cc, arm);
	mlx5_eq_update_ci(odp->eq, cc, arm);
}

/*
 * Queue a work item for each event of a fault that the device has reported. Returns false if there
 * is no memory for a work item; its event, and those after it, then stay in the event queue.
 */
static bool odp_fault_take_events(struct mlx5_ib_odp *odp)
{
	struct odp_fault_work *job;
	struct mlx5_eqe *eqe;
	u32 cc = 0;

	guard(spinlock_irqsave)(&odp->events_lock);
	if (!mlx5_ib_odp_get_eqe(odp, 0))
		return true;
	while ((eqe = mlx5_ib_odp_get_eqe(odp, cc))) {
		job = kmalloc_obj(*job, GFP_NOWAIT);
		if (!job)
			break;
		if (mlx5_ib_odp_parse_eqe(eqe, odp->by_memory, &job->fault))
			odp_fault_start(odp, job);
		else
			kfree(job);
		cc = mlx5_eq_update_cc(odp->eq, ++cc);
	}
	mlx5_ib_odp_update_ci(odp, cc, !eqe);
	return !eqe;
}

/* Try until there is memory: the queue of a fault that is not resolved never goes on. */
static void odp_fault_retry_events(struct work_struct *work)
{
	struct mlx5_ib_odp *odp = container_of(work, struct mlx5_ib_odp, eq_work);

	while (!odp_fault_take_events(odp))
		msleep(MEMORY_PAUSE_MS);
}

/*
 * Take the events of @eq. Called in an interrupt that @eq shares with event queues of mlx5_core, so
 * @eq may have no event.
 */
static int odp_fault_notify(struct notifier_block *nb, unsigned long action, void *data)
{
	struct mlx5_ib_odp *odp = container_of(nb, struct mlx5_ib_odp, nb);

	if (!odp_fault_take_events(odp))
		queue_work(odp->reclaim_wq, &odp->eq_work);
	return NOTIFY_OK;
}

/* ---- set-up -------------------------------------------------------------------------- */

/*
 * Create the workqueues that do not exist yet. After an error the workqueues that exist stay until
 * mlx5_ib_odp_stop().
 */
static int odp_create_workqueues(struct mlx5_ib_odp *odp)
{
	/*
	 * The faulting queues are stopped until their faults are resolved, so @fault_wq runs
	 * nothing else. Each NUMA node runs a part of WQ_MAX_ACTIVE items, at least @max_slots.
	 */
	if (!odp->fault_wq)
		odp->fault_wq = alloc_workqueue("bluebell_fault",
						WQ_HIGHPRI | WQ_UNBOUND | WQ_MEM_RECLAIM,
						WQ_MAX_ACTIVE);
	if (!odp->extra_wq)
		odp->extra_wq = alloc_workqueue("bluebell_extra", WQ_UNBOUND, 0);
	if (!odp->advice_wq)
		odp->advice_wq = alloc_workqueue("bluebell_advice", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!odp->reclaim_wq)
		odp->reclaim_wq = alloc_workqueue("bluebell_odp", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return odp->fault_wq && odp->extra_wq && odp->advice_wq && odp->reclaim_wq ? 0 : -ENOMEM;
}

static int odp_create_eq(struct mlx5_ib_odp *odp)
{
	struct mlx5_eq_param param = {
		.nent = MLX5_IB_ODP_NUM_EQE,
		.mask[0] = BIT_ULL(MLX5_EVENT_TYPE_PAGE_FAULT),
	};
	struct mlx5_eq *eq;
	int err;

	lockdep_assert_held(&odp->start_lock);
	eq = mlx5_ib_fw_create_eq(odp->dev, &param);
	if (IS_ERR(eq))
		return PTR_ERR(eq);
	odp->eq = eq;
	err = mlx5_eq_enable(odp->dev->mdev, eq, &odp->nb);
	if (err) {
		odp->eq = NULL;
		mlx5_ib_fw_destroy_eq(odp->dev, eq);
	}
	return err;
}

/**
 * mlx5_ib_odp_start - set up what paged regions need, unless that has been done
 * @odp: paging state of the device
 *
 * Creates the UMR queue pair and the pool of keys, the buffer that UMR needs to unmap pages, the
 * workqueues and the page-fault event queue (CREATE_EQ, struct mlx5_ifc_create_eq_in_bits). To be
 * called before a region is registered, because page faults and MMU notifiers create none of this;
 * and not earlier, because all of this costs memory and threads. What has been set up stays until
 * the device is removed. May sleep; takes start_lock and first_use.
 *
 * Return: 0; -EOPNOTSUPP if UMR does not work any more; -ENOMEM; -EINTR if the task is being
 * killed; or the errno of a firmware refusal. After an error the next caller tries again.
 */
int mlx5_ib_odp_start(struct mlx5_ib_odp *odp)
{
	struct mlx5_ib_dev *dev = odp->dev;
	int err = mlx5_ib_use_mkey_pool(dev);

	if (err)
		return err;
	/* Pages can be mapped and unmapped by UMR only. */
	if (mlx5_ib_umr_is_gone(dev))
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "on-demand paging needs UMR, which has failed: rebind the driver");
	ACQUIRE(mutex_kill, lock)(&odp->start_lock);
	err = ACQUIRE_ERR(mutex_kill, &lock);
	if (err || odp->eq)
		return err;
	err = odp_create_workqueues(odp);
	if (!err && !dev->umr_zeros)
		err = mlx5_ib_init_umr_clear(dev);
	return err ?: odp_create_eq(odp);
}

/**
 * mlx5_ib_odp_init_faults - initialize what mlx5_ib_odp_start() needs
 * @odp: paging state of the device
 */
void mlx5_ib_odp_init_faults(struct mlx5_ib_odp *odp)
{
	odp->nb.notifier_call = odp_fault_notify;
	init_waitqueue_head(&odp->no_faults);
	mutex_init(&odp->start_lock);
	spin_lock_init(&odp->events_lock);
	spin_lock_init(&odp->repeated_lock);
	INIT_WORK(&odp->eq_work, odp_fault_retry_events);
}

/**
 * mlx5_ib_odp_stop - undo mlx5_ib_odp_start()
 * @odp: paging state of a device without paged regions; what was not set up is passed over
 *
 * Waits until all faults have been resolved, and sends DESTROY_EQ. May sleep.
 */
void mlx5_ib_odp_stop(struct mlx5_ib_odp *odp)
{
	if (odp->eq)
		mlx5_eq_disable(odp->dev->mdev, odp->eq, &odp->nb);
	/* @eq_work may be queueing faults. */
	flush_work(&odp->eq_work);
	/* A fault that gives up its slot queues others, on either workqueue: wait for all. */
	wait_event(odp->no_faults, !atomic_read(&odp->num_faults));
	if (odp->fault_wq)
		destroy_workqueue(odp->fault_wq);
	if (odp->extra_wq)
		destroy_workqueue(odp->extra_wq);
	WARN_ON_ONCE(atomic_read(&odp->num_faults) || atomic_read(&odp->num_slots));
	if (odp->eq)
		mlx5_ib_fw_destroy_eq(odp->dev, odp->eq);
	if (odp->advice_wq)
		destroy_workqueue(odp->advice_wq);
	if (odp->reclaim_wq)
		destroy_workqueue(odp->reclaim_wq);
	mlx5_ib_cleanup_umr_clear(odp->dev);
}
