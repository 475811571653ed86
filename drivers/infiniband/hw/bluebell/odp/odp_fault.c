// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Page faults of the device: the event queue that reports them, what each fault needs to
 * have mapped, and the command that lets the faulting queue go on.
 */

/**
 * DOC: Page faults of the device
 *
 * The device reports a page fault by an event of the page-fault event queue and stops the faulting
 * queue until the driver answers by PAGE_FAULT_RESUME. A fault has these states:
 *
 * * **Reported.** odp_fault_take_events(), in the interrupt and under @events_lock, allocates a
 *   work item for each event. Without memory for it the event stays in the queue, and @eq_work
 *   tries again until there is memory.
 * * **Queued** on @fault_wq, which nothing else shares, because queues stand still until their
 *   faults are resolved. @num_faults counts the faults; advice gives way to them.
 * * **Waiting.** A process can keep a fault from being resolved for as long as it likes, so each
 *   process has a share of the slots (odp_fairness.c). A fault takes a slot at the process whose
 *   memory it needs, and gives up its slot at any other process. If the process has no slot left,
 *   the fault waits, without a task, until a fault of the process leaves; then it is queued again.
 * * **Resolved.** The bytes that the device needs are mapped, or the memory does not exist or may
 *   not be written. What the operation will touch later is mapped if that is possible, up to 4 MiB
 *   in all.
 * * **Answered.** The queue goes on, or the work request fails. If firmware refuses the command,
 *   odp_fault_resume() repeats it, because the queue would stay stopped; a queue that is destroyed
 *   meanwhile is no error. The fault leaves its slot afterwards.
 *
 * A fault at a remote key names the memory itself. A fault at a WQE names a queue, to which the
 * work item holds a reference, and an operation of the queue reads the WQE. A fault of a queue
 * that the driver does not know, and a fault of an unknown kind, are answered with an error.
 *
 * If everything was mapped already, another queue may have faulted on the same pages before, and
 * the queue goes on. If the device reports the same fault again after that answer, the pages are
 * mapped for writing, whatever the event says, if the region allows that. If they cannot be, the
 * fault is answered with an error when it is reported for the ninth time in a row. A list of a WQE
 * without a key of a paged region is answered with an error the second time. @repeated counts these
 * repetitions, under @repeated_lock, by what identifies the fault; a report more than 5 s later is
 * a new fault, and a report whose event came before the previous answer is of another queue.
 */

#include <kunit/visibility.h>
#include <linux/delay.h>
#include <linux/jhash.h>
#include <linux/ktime.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/eq.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_odp.h"
#include "layout/refuse.h"
#include "lib/mkey_pool.h"
#include "lib/rsc.h"
#include "lib/umr.h"
#include "odp/odp_internal.h"

/* A fault also maps what the operation will touch later, up to this many bytes in all. */
#define FAULT_AROUND	SZ_4M
/* Pause before another attempt to allocate memory for a reported fault. */
#define MEMORY_PAUSE_MS	10
/*
 * How often in a row a fault is answered although nothing could be mapped for it, before the work
 * request fails: MAX_REFUSED if the memory, to which the device perhaps wants to write, cannot be
 * mapped for writing; MAX_UNPAGED if no key of a WQE leads to paged memory.
 */
#define MAX_REFUSED	8
#define MAX_UNPAGED	1
/* A fault that is reported again later than this is a new fault. */
#define REPEAT_MS	5000
/* Number of queues that can have a fault reported at a time; mlx5_core adds spare entries. */
#define NUM_EQE		0x1000

/**
 * struct odp_fault_work - a fault from its event to its answer
 * @work: resolves the fault
 * @odp: paging state of the device
 * @fault: the fault
 * @slot: process whose slot the fault has, or NULL
 * @waiting: in the list of the faults that wait for a slot of a process
 */
struct odp_fault_work {
	struct work_struct work;
	struct mlx5_ib_odp *odp;
	struct mlx5_ib_fault fault;
	struct odp_process *slot;
	struct list_head waiting;
};

/**
 * struct odp_fault_state - a fault that is being resolved
 * @odp: paging state of the device
 * @fault: the fault
 * @write: the device is about to write
 * @repeated: how often the same fault has been answered although there was nothing to map
 * @mapped: a page has been mapped, or mapped for writing, that was not before
 * @refused: all was mapped for reading, and could not be mapped for writing
 * @slot: process whose slot the fault has, or NULL
 * @full: a process whose memory the fault needs, but which has no slot for it, with a reference; or
 *	NULL
 */
struct odp_fault_state {
	struct mlx5_ib_odp *odp;
	const struct mlx5_ib_fault *fault;
	bool write;
	unsigned int repeated;
	bool mapped;
	bool refused;
	struct odp_process **slot;
	struct odp_process *full;
};

static void odp_fault_queue(struct odp_fault_work *job)
{
	atomic_inc(&job->odp->num_faults);
	queue_work(job->odp->fault_wq, &job->work);
}

/* Give up the slot, if there is one. Faults that wait go on. */
static void odp_fault_leave(struct odp_process **slot)
{
	struct odp_process *process = *slot;
	struct odp_fault_work *next;
	struct list_head *entry;

	*slot = NULL;
	if (!process)
		return;
	mlx5_ib_odp_process_leave(process);
	while ((entry = mlx5_ib_odp_process_next(process))) {
		next = list_entry(entry, struct odp_fault_work, waiting);
		next->slot = process;
		odp_fault_queue(next);
	}
	mlx5_ib_odp_process_put(process);
}

/*
 * Take a slot of a process for the fault, unless the fault has one, or the region is over a dma-buf
 * and so has no process. The fault keeps the slot until it is answered or needs a slot of another
 * process. Returns false if the process has no slot for the fault.
 */
static bool odp_fault_enter(struct odp_fault_state *state, struct odp_process *process)
{
	if (!process || *state->slot == process)
		return true;
	odp_fault_leave(state->slot);
	if (!mlx5_ib_odp_process_enter(process))
		return false;
	*state->slot = process;
	return true;
}

static struct odp_fault_id odp_fault_identify(const struct mlx5_ib_fault *fault)
{
	return (struct odp_fault_id){
		.where = fault->is_rdma ? fault->va : fault->wqe_index,
		.wq_num = fault->is_rdma ? 0 : fault->wq_num,
		.rkey = fault->rkey,
		.committed = fault->committed,
		.type = fault->type,
	};
}

static struct odp_repeated *odp_repeated_find(struct mlx5_ib_odp *odp,
					      const struct odp_fault_id *id)
{
	lockdep_assert_held(&odp->repeated_lock);
	return &odp->repeated[jhash(id, sizeof(*id), 0) % MLX5_IB_ODP_NUM_REPEATED];
}

static bool odp_repeated_is_of(const struct odp_repeated *repeated, const struct odp_fault_id *id)
{
	return !memcmp(&repeated->id, id, sizeof(*id)) &&
	       ktime_ms_delta(ktime_get(), repeated->last) <= REPEAT_MS;
}

/*
 * How often the same fault has just been answered although there was nothing to map. The event of
 * a fault that is reported again is taken after that answer. An event that was taken before is that
 * of another queue.
 */
static unsigned int odp_repeated_count(struct mlx5_ib_odp *odp, const struct mlx5_ib_fault *fault)
{
	const struct odp_fault_id id = odp_fault_identify(fault);
	struct odp_repeated *repeated;

	guard(spinlock)(&odp->repeated_lock);
	repeated = odp_repeated_find(odp, &id);
	if (!odp_repeated_is_of(repeated, &id) || ktime_before(fault->taken, repeated->last))
		return 0;
	return repeated->times;
}

static void odp_repeated_set(const struct odp_fault_state *state, unsigned int times)
{
	const struct odp_fault_id id = odp_fault_identify(state->fault);
	struct odp_repeated *repeated;
	bool is_same;

	guard(spinlock)(&state->odp->repeated_lock);
	repeated = odp_repeated_find(state->odp, &id);
	is_same = odp_repeated_is_of(repeated, &id);
	if (!times && is_same)
		repeated->times = 0;
	/* The fault of another queue is not counted. */
	if (!times || (is_same && ktime_before(state->fault->taken, repeated->last)))
		return;
	*repeated = (struct odp_repeated){ .id = id, .times = times, .last = ktime_get() };
}

/*
 * All that a fault needs was mapped already. That is so if another queue has faulted on the same
 * pages, and then the queue just goes on. But if the fault is reported again, the device may want
 * to write, whatever the event says.
 */
static void odp_fault_map_for_writing(struct odp_mr *mr, const struct odp_want *want, u64 need,
				      struct odp_fault_state *state)
{
	int ret;

	if (!state->repeated || state->write || !ib_access_writable(READ_ONCE(mr->mr.access)))
		return;
	ret = mlx5_ib_odp_mr_page_in(mr, want->addr, need, HMM_PFN_REQ_FAULT | HMM_PFN_REQ_WRITE);
	if (!ret)
		atomic64_add(odp_range_pages(want->addr, need), &mr->stat.faults);
	state->mapped |= !ret;
	state->refused |= ret < 0;
}

/*
 * Map the bytes of a region that the device needs, without which the queue cannot go on, and as
 * much of the rest as can be mapped: the operation will touch that next.
 */
static int odp_fault_page_in(struct odp_mr *mr, const struct odp_want *want, void *arg)
{
	struct odp_fault_state *state = arg;
	unsigned long req = HMM_PFN_REQ_FAULT | (state->write ? HMM_PFN_REQ_WRITE : 0);
	u64 need = want->need ?: 1, len;
	int ret;

	if (!odp_fault_enter(state, mr->process)) {
		/* What the device does not need yet is left out. */
		if (want->need) {
			refcount_inc(&mr->process->refs);
			state->full = mr->process;
		}
		return -EBUSY;
	}
	len = clamp(want->len, need, max_t(u64, need, FAULT_AROUND));
	ret = mlx5_ib_odp_mr_page_in(mr, want->addr, len, req);
	if (ret < 0 && need < len) {
		len = need;
		ret = mlx5_ib_odp_mr_page_in(mr, want->addr, len, req);
	}
	if (ret < 0)
		return ret;
	if (ret) {
		odp_fault_map_for_writing(mr, want, need, state);
	} else {
		atomic64_add(odp_range_pages(want->addr, len), &mr->stat.faults);
		state->mapped = true;
	}
	return 0;
}

/* Returns 0 if the queue of a fault may go on, or -EFAULT if the driver cannot do more for it. */
static int odp_fault_check_progress(const struct odp_fault_state *state, bool is_paged)
{
	unsigned int max = is_paged ? MAX_REFUSED : MAX_UNPAGED;
	bool ends = !state->mapped && (state->refused || !is_paged) && state->repeated >= max;

	odp_repeated_set(state, ends || state->mapped ? 0 : state->repeated + 1);
	return ends ? -EFAULT : 0;
}

/* Resolve a fault that an incoming RDMA operation met at the remote key it names. */
static int odp_fault_resolve_rdma(struct odp_fault_state *state)
{
	const struct mlx5_ib_fault *fault = state->fault;
	u64 left = fault->op_len > fault->committed ? fault->op_len - fault->committed : 0;
	const struct odp_want want = {
		.key = fault->rkey,
		.pdn = MLX5_IB_ODP_ANY_PD,
		.addr = fault->va + fault->committed,
		.need = fault->packet_len ?: 1,
		.len = max_t(u64, left, fault->packet_len ?: 1),
	};
	int ret = mlx5_ib_odp_for_each_region(state->odp, &want, odp_fault_page_in, state);

	if (ret < 0)
		return ret;
	return ret ? odp_fault_check_progress(state, true) : -ENOENT;
}

/*
 * Map what the data segments of a WQE name, the first @need bytes at least. Segments of regions
 * that are not paged are skipped: their memory is always mapped. If no segment is of a paged
 * region, the queue may go on: the device looks at the keys again, which may have changed
 * meanwhile. But if the same fault is reported once more, the driver cannot resolve it.
 */
static int odp_fault_page_in_sges(struct odp_fault_state *state, struct ib_pd *pd,
				  const struct mlx5_ib_odp_sges *sges, u64 need)
{
	bool is_paged = false;
	unsigned int i;
	int ret;

	for (i = 0; i < sges->num; i++) {
		const struct ib_sge *sge = &sges->sge[i];
		const struct odp_want want = {
			.key = sge->lkey,
			.pdn = to_mpd(pd)->pdn,
			.addr = sge->addr,
			.need = min_t(u64, need, sge->length),
			.len = sge->length,
		};

		need -= want.need;
		if (!sge->lkey)
			continue;
		ret = mlx5_ib_odp_for_each_region(state->odp, &want, odp_fault_page_in, state);
		if (ret < 0 && want.need)
			return ret;
		is_paged |= ret != 0;
	}
	return odp_fault_check_progress(state, is_paged);
}

static int odp_fault_resolve_wqe(struct odp_fault_state *state, struct mlx5_ib_rsc *queue)
{
	const struct mlx5_ib_fault *fault = state->fault;
	struct mlx5_ib_odp_sges *sges __free(kfree) = kmalloc_obj(*sges);
	void *wqe __free(kfree) = kmalloc(MLX5_IB_ODP_MAX_WQE, GFP_KERNEL);
	struct ib_pd *pd;

	if (!sges || !wqe)
		return -ENOMEM;
	pd = queue->ops->read_wqe(queue, fault->type & MLX5_PAGE_FAULT_RESUME_REQUESTOR,
				  fault->wqe_index, wqe, sges);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	mlx5_ib_odp_window(sges, fault->committed, max_t(u64, fault->packet_len, FAULT_AROUND));
	return odp_fault_page_in_sges(state, pd, sges, fault->packet_len ?: 1);
}

/*
 * Let the faulting queue go on. The queue stays stopped until firmware accepts the command, so a
 * refused command is repeated for a third of a second, unless the queue has been destroyed.
 */
static void odp_fault_resume(struct mlx5_ib_odp *odp, const struct mlx5_ib_fault *fault, bool error)
{
	unsigned int pause = 0;
	int err;

	do {
		err = mlx5_ib_fw_page_fault_resume(odp->dev, fault, error);
	} while (err && err != -ENOLINK && err != -ENOENT && mlx5_ib_fw_pause(&pause));
	if (err && err != -ENOLINK && err != -ENOENT)
		ibdev_err_ratelimited(&odp->dev->ib_dev,
				      "cannot resume queue 0x%x after page fault 0x%x (%d): the queue stays stopped until it is destroyed\n",
				      fault->wq_num, fault->token, err);
}

/*
 * Map what a fault is about. Returns 0 or a negative errno, and in @queue the queue of a fault at a
 * WQE, with a reference.
 */
static int odp_fault_resolve(struct odp_fault_state *state, struct mlx5_ib_rsc **queue)
{
	const struct mlx5_ib_fault *fault = state->fault;

	if (fault->is_unknown)
		return -EOPNOTSUPP;
	state->repeated = odp_repeated_count(state->odp, fault);
	state->write = fault->is_rdma ? fault->type & MLX5_PAGE_FAULT_RESUME_WRITE :
					fault->type != MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE;
	if (fault->is_rdma)
		return odp_fault_resolve_rdma(state);
	*queue = mlx5_ib_rsc_get(state->odp->dev, fault->type == MLX5_WQE_PF_TYPE_RMP ?
				 MLX5_RES_SRQ : MLX5_RES_QP, fault->wq_num);
	/*
	 * The table does not have a queue that a process has created by commands of its own, or
	 * that is being destroyed, which firmware may still refuse. Resume such a queue with an
	 * error: otherwise it would stay stopped until it is destroyed.
	 */
	return *queue ? odp_fault_resolve_wqe(state, *queue) : -ENOENT;
}

static void odp_fault_answer(const struct odp_fault_state *state, int err)
{
	const struct mlx5_ib_fault *fault = state->fault;

	if (err)
		ibdev_dbg(&state->odp->dev->ib_dev,
			  "page fault 0x%x of type %u on queue 0x%x not resolved (%d)\n",
			  fault->token, fault->type, fault->wq_num, err);
	/* While the process changes its mappings all the time, the device may try again. */
	odp_fault_resume(state->odp, fault, err && err != -ERESTART);
}

/**
 * mlx5_ib_odp_resolve_fault - map what a page fault is about, and let the faulting queue go on
 * @odp: paging state of the device
 * @fault: the fault
 * @slot: process whose slot the fault has, or NULL. Updated; the caller gives the slot up when the
 *	fault has been answered
 *
 * PAGE_FAULT_RESUME, struct mlx5_ifc_page_fault_resume_in_bits, with an error if the pages cannot
 * be mapped. May sleep.
 *
 * Return: NULL; or, if the fault was not answered, a process that has no slot for it, with a
 * reference: the fault is to be resolved again when the fault has a slot.
 */
VISIBLE_IF_KUNIT
struct odp_process *mlx5_ib_odp_resolve_fault(struct mlx5_ib_odp *odp,
					      const struct mlx5_ib_fault *fault,
					      struct odp_process **slot)
{
	struct odp_fault_state state = { .odp = odp, .fault = fault, .slot = slot };
	struct mlx5_ib_rsc *queue = NULL;
	int err = odp_fault_resolve(&state, &queue);

	if (!state.full)
		odp_fault_answer(&state, err);
	/* The queue is not destroyed before the fault has been answered. */
	if (queue)
		mlx5_ib_rsc_put(queue);
	return state.full;
}

/* Have a fault wait until a process has a slot for it. */
static void odp_fault_wait(struct odp_fault_work *job, struct odp_process *process)
{
	if (!mlx5_ib_odp_process_wait(process, &job->waiting)) {
		job->slot = process;
		odp_fault_queue(job);
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
		odp_fault_leave(&job->slot);
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
	INIT_WORK(&job->work, odp_fault_do_work);
	odp_fault_queue(job);
}

/*
 * Queue the resolution of each fault that the device has reported. Returns false if there is no
 * memory for the work item of a fault, which then stays in the event queue.
 */
static bool odp_fault_take_events(struct mlx5_ib_odp *odp)
{
	struct odp_fault_work *job;
	struct mlx5_eqe *eqe;
	u32 cc = 0;

	guard(spinlock_irqsave)(&odp->events_lock);
	if (!mlx5_eq_get_eqe(odp->eq, 0))
		return true;
	while ((eqe = mlx5_eq_get_eqe(odp->eq, cc))) {
		job = kmalloc_obj(*job, GFP_NOWAIT);
		if (!job)
			break;
		if (mlx5_ib_odp_parse_eqe(eqe, &job->fault))
			odp_fault_start(odp, job);
		else
			kfree(job);
		cc = mlx5_eq_update_cc(odp->eq, ++cc);
	}
	mlx5_eq_update_ci(odp->eq, cc, !eqe);
	return !eqe;
}

/* Try until there is memory: the queue of a fault that is not resolved never goes on. */
static void odp_fault_retry_events(struct work_struct *work)
{
	struct mlx5_ib_odp *odp = container_of(work, struct mlx5_ib_odp, eq_work);

	while (!odp_fault_take_events(odp))
		msleep(MEMORY_PAUSE_MS);
}

/* In the interrupt, which other event queues of mlx5_core share: there may be no event. */
static int odp_fault_notify(struct notifier_block *nb, unsigned long action, void *data)
{
	struct mlx5_ib_odp *odp = container_of(nb, struct mlx5_ib_odp, nb);

	if (!odp_fault_take_events(odp))
		queue_work(odp->reclaim_wq, &odp->eq_work);
	return NOTIFY_OK;
}

/* ---- set-up -------------------------------------------------------------------------- */

/* What has been created stays, if creation fails later, until mlx5_ib_odp_stop(). */
static int odp_create_workqueues(struct mlx5_ib_odp *odp)
{
	/* Queues stand still until their faults are resolved: @fault_wq runs nothing else. */
	if (!odp->fault_wq)
		odp->fault_wq = alloc_workqueue("bluebell_fault",
						WQ_HIGHPRI | WQ_UNBOUND | WQ_MEM_RECLAIM,
						MLX5_IB_ODP_NUM_SLOTS);
	if (!odp->advice_wq)
		odp->advice_wq = alloc_workqueue("bluebell_advice", WQ_UNBOUND, 0);
	if (!odp->reclaim_wq)
		odp->reclaim_wq = alloc_workqueue("bluebell_odp", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return odp->fault_wq && odp->advice_wq && odp->reclaim_wq ? 0 : -ENOMEM;
}

static int odp_create_eq(struct mlx5_ib_odp *odp)
{
	struct mlx5_eq_param param = {
		.nent = NUM_EQE,
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
 * Creates UMR, its buffer for unmapping pages, workqueues and the page-fault event queue
 * (CREATE_EQ, struct mlx5_ifc_create_eq_in_bits). To be called before a region is registered,
 * because MMU notifiers and page faults, which may come during memory reclaim, create nothing; and
 * not earlier, because all that costs memory, a thread and an interrupt. What has been set up stays
 * until the device is removed. May sleep; takes start_lock and first_use.
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
		return refuse(-EOPNOTSUPP,
			      "paged memory needs UMR, which has failed: rebind the driver");
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
 * @odp: paging state of a device without paged regions; nothing is done for what it does not have
 *
 * DESTROY_EQ. May sleep.
 */
void mlx5_ib_odp_stop(struct mlx5_ib_odp *odp)
{
	if (odp->eq)
		mlx5_eq_disable(odp->dev->mdev, odp->eq, &odp->nb);
	/* @eq_work queues faults. */
	flush_work(&odp->eq_work);
	/* Waits until all faults have been answered, those that wait for a slot included. */
	if (odp->fault_wq)
		destroy_workqueue(odp->fault_wq);
	WARN_ON_ONCE(atomic_read(&odp->num_faults) || atomic_read(&odp->num_slots));
	if (odp->eq)
		mlx5_ib_fw_destroy_eq(odp->dev, odp->eq);
	if (odp->advice_wq)
		destroy_workqueue(odp->advice_wq);
	if (odp->reclaim_wq)
		destroy_workqueue(odp->reclaim_wq);
	mlx5_ib_cleanup_umr_clear(odp->dev);
}
