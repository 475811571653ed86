// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What page faults of every kind have in common: slots of processes, the mapping of a range of a
 * region, and the count of faults that are reported again and again.
 */

#include <linux/jhash.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/workqueue.h>

#include "odp/odp_fault.h"

/*
 * How often in a row a fault is answered although nothing could be mapped for it, before the work
 * request fails: MAX_REFUSED if the memory, to which the device perhaps wants to write, cannot be
 * mapped for writing; MAX_UNPAGED if no key of the fault leads to paged memory.
 */
#define MAX_REFUSED	8
#define MAX_UNPAGED	1
/* A fault that is reported again later than this is a new fault. */
#define REPEAT_MS	5000

/**
 * mlx5_ib_odp_fault_queue - have a fault resolved
 * @job: the fault
 *
 * Any context.
 */
void mlx5_ib_odp_fault_queue(struct odp_fault_work *job)
{
	atomic_inc(&job->odp->num_faults);
	queue_work(job->extra ? job->odp->extra_wq : job->odp->fault_wq, &job->work);
}

/**
 * mlx5_ib_odp_fault_leave - give up the slot of a fault, so that faults that wait go on
 * @slot: process whose slot the fault has, or NULL; set to NULL
 *
 * Any process context.
 */
void mlx5_ib_odp_fault_leave(struct odp_process **slot)
{
	struct odp_process *process = *slot;
	struct odp_fault_work *next;
	struct list_head *entry;
	bool extra;

	*slot = NULL;
	if (!process)
		return;
	mlx5_ib_odp_process_leave(process);
	while ((entry = mlx5_ib_odp_process_next(process, &extra))) {
		next = list_entry(entry, struct odp_fault_work, waiting);
		next->slot = process;
		next->extra = extra;
		mlx5_ib_odp_fault_queue(next);
	}
	mlx5_ib_odp_process_put(process);
}

/*
 * Take a slot of a process for the fault, unless the fault has one. The fault keeps the slot until
 * it is answered or needs a slot of another process. Returns false if the process has no slot for
 * the fault.
 */
static bool odp_fault_enter(struct odp_fault_state *state, struct odp_process *process)
{
	if (*state->slot == process)
		return true;
	mlx5_ib_odp_fault_leave(state->slot);
	if (!mlx5_ib_odp_process_enter(process))
		return false;
	*state->slot = process;
	return true;
}

static struct odp_fault_id odp_fault_identify(const struct mlx5_ib_fault *fault)
{
	return (struct odp_fault_id){
		.where = fault->key ? fault->va : fault->wqe_index,
		.wq_num = fault->key ? 0 : fault->wq_num,
		.key = fault->key,
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

/**
 * mlx5_ib_odp_fault_repeated - how often the same fault has been answered with nothing to map
 * @odp: paging state of the device
 * @fault: the fault
 *
 * The event of a fault that is reported again is taken after that answer. An event that was taken
 * before is that of another queue. Any process context; takes repeated_lock.
 *
 * Return: the number.
 */
unsigned int mlx5_ib_odp_fault_repeated(struct mlx5_ib_odp *odp, const struct mlx5_ib_fault *fault)
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

/**
 * mlx5_ib_odp_fault_page_in - map a range of a region for a fault
 * @mr: the region
 * @want: the range: the queue cannot go on without the bytes that the device needs; as much of the
 *	rest is mapped as can be, because the operation will touch that next
 * @arg: struct odp_fault_state of the fault
 *
 * May sleep. An odp_region_fn.
 *
 * Return: 0; -EBUSY if the process has no slot for the fault, which is then in the state if the
 * device needs the range; otherwise a negative errno as mlx5_ib_odp_mr_page_in().
 */
int mlx5_ib_odp_fault_page_in(struct odp_mr *mr, const struct odp_want *want, void *arg)
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
	len = clamp(want->len, need, max_t(u64, need, MLX5_IB_ODP_FAULT_AROUND));
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

/**
 * mlx5_ib_odp_fault_check - whether a fault whose memory has been looked at may be answered
 * @state: the fault
 * @is_paged: the memory is paged
 *
 * Any process context; takes repeated_lock.
 *
 * Return: 0 if the queue may go on, or -EFAULT if the driver cannot do more for it.
 */
int mlx5_ib_odp_fault_check(const struct odp_fault_state *state, bool is_paged)
{
	unsigned int max = is_paged ? MAX_REFUSED : MAX_UNPAGED;
	bool ends = !state->mapped && (state->refused || !is_paged) && state->repeated >= max;

	odp_repeated_set(state, ends || state->mapped ? 0 : state->repeated + 1);
	return ends ? -EFAULT : 0;
}
