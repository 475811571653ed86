// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What page faults of every kind have in common: the slots that they take (odp_fairness.c), and the
 * mapping of a range of a region.
 */

#include <linux/minmax.h>
#include <linux/workqueue.h>

#include "odp/odp_fault.h"
#include "odp/odp_repeated.h"

/*
 * How often in a row a fault is answered without an error although nothing could be mapped for it,
 * before it is answered with an error: MAX_REFUSED if the memory, to which the device may want to
 * write, cannot be mapped for writing; MAX_UNPAGED if no key of the fault translates to paged
 * memory; and MAX_MAPPED if all that the event names is mapped: then the device seems to need
 * something that the event does not name. Many queues that fault on the same page at once can look
 * like one queue that faults again and again, so MAX_MAPPED is as large as the event queue, which
 * has twice as many entries as the driver asks for.
 */
#define MAX_REFUSED	8
#define MAX_UNPAGED	1
#define MAX_MAPPED	(2 * MLX5_IB_ODP_NUM_EQE)

/**
 * mlx5_ib_odp_fault_queue - queue the work item that resolves a fault
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
 * mlx5_ib_odp_fault_leave - give up the slot of a fault, and queue faults that wait for a slot
 * @slot: points to the process whose slot the fault has, or to NULL; set to NULL
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
 * Take a slot of a process for the fault, unless the fault has one already; give up a slot of any
 * other process. The fault keeps the slot until it is answered or needs a slot of another process.
 * Returns 0; or -EBUSY if the process has no slot for the fault, after setting @full of @state to
 * the process if the device needs the range.
 */
static int odp_fault_enter(struct odp_fault_state *state, struct odp_process *process,
			   const struct odp_want *want)
{
	if (*state->slot == process)
		return 0;
	mlx5_ib_odp_fault_leave(state->slot);
	if (mlx5_ib_odp_process_enter(process)) {
		*state->slot = process;
		return 0;
	}
	/* A fault does not wait for a slot if the device does not need the range yet. */
	if (want->need) {
		refcount_inc(&process->refs);
		state->full = process;
	}
	return -EBUSY;
}

/*
 * Take a slot before a table is read, unless the fault has one. A fault needs a slot for this,
 * because each table costs a command, and all processes share the command interface. The slot of
 * any process will do: a fault that has a slot, perhaps of the process whose memory it needs, keeps
 * it, and takes none of the process that has made the table.
 */
static int odp_fault_enter_table(struct odp_process *process, const struct odp_want *want,
				 void *arg)
{
	struct odp_fault_state *state = arg;

	return *state->slot ? 0 : odp_fault_enter(state, process, want);
}

/*
 * Map a range, but do not wait for the UMR queue pair if an earlier wait for the fault has failed:
 * the fault takes a worker and a slot as long as it waits.
 */
static int odp_fault_try(struct odp_fault_state *state, struct odp_mr *mr, u64 addr, u64 len,
			 unsigned long req)
{
	int ret = state->no_umr ? -EAGAIN : mlx5_ib_odp_mr_page_in(mr, addr, len, req);

	state->no_umr = ret == -EAGAIN;
	return ret;
}

/*
 * Called if a range that a fault needs was mapped already, perhaps because another queue had
 * faulted on the same pages: then the faulting queue just goes on. But if the device has reported
 * the same fault before, it may want to write, whatever the event says: map the pages for writing,
 * if the region allows writing.
 */
static void odp_fault_map_for_writing(struct odp_mr *mr, const struct odp_want *want, u64 need,
				      struct odp_fault_state *state)
{
	int ret;

	if (!state->repeated || state->write || !ib_access_writable(READ_ONCE(mr->mr.access)))
		return;
	ret = odp_fault_try(state, mr, want->addr, need, HMM_PFN_REQ_FAULT | HMM_PFN_REQ_WRITE);
	if (!ret)
		atomic64_add(odp_range_pages(want->addr, need), &mr->stat.faults);
	state->mapped |= !ret;
	state->refused |= ret < 0;
}

/**
 * mlx5_ib_odp_fault_page_in - map a range of a region for a fault
 * @mr: the region
 * @want: the range: the queue cannot go on without the bytes that the device needs; the rest, which
 *	the operation will touch next, is mapped if all of it can be
 * @arg: struct odp_fault_state of the fault
 *
 * May sleep.
 *
 * Return: 0; -EBUSY if the process has no slot for the fault, and then @full of the state is the
 * process if the device needs the range; or another negative errno as mlx5_ib_odp_mr_page_in().
 */
int mlx5_ib_odp_fault_page_in(struct odp_mr *mr, const struct odp_want *want, void *arg)
{
	struct odp_fault_state *state = arg;
	unsigned long req = HMM_PFN_REQ_FAULT | (state->write ? HMM_PFN_REQ_WRITE : 0);
	u64 need = want->need ?: 1, len = max(want->len, need);
	int ret = odp_fault_enter(state, mr->process, want);

	if (ret)
		return ret;
	ret = odp_fault_try(state, mr, want->addr, len, req);
	if (ret < 0 && need < len) {
		len = need;
		ret = odp_fault_try(state, mr, want->addr, len, req);
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

const struct odp_visitor mlx5_ib_odp_fault_visitor = {
	.table = odp_fault_enter_table,
	.region = mlx5_ib_odp_fault_page_in,
};

/**
 * mlx5_ib_odp_fault_check - decide whether the queue of a fault may go on, and count repetitions
 * @state: the fault, for which the driver has mapped what could be mapped
 * @is_paged: a key of the fault translates to paged memory
 *
 * Any process context; takes repeated_lock.
 *
 * Return: 0 if the queue may go on, or -EFAULT if the driver cannot do more for it.
 */
int mlx5_ib_odp_fault_check(const struct odp_fault_state *state, bool is_paged)
{
	unsigned int max = !is_paged ? MAX_UNPAGED : state->refused ? MAX_REFUSED : MAX_MAPPED;
	bool ends = !state->mapped && state->repeated >= max;

	mlx5_ib_odp_repeated_set(state->odp, state->fault,
				 ends || state->mapped ? 0 : state->repeated + 1);
	return ends ? -EFAULT : 0;
}
