// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The processes that have paged regions or indirect mkeys, and how many faults of each are being
 * resolved. A fault on a page of a file takes as long as the file system does, and a process may
 * have a file system of its own (FUSE). So before a fault maps pages of a process it takes a slot
 * of this process. The number of slots is limited, because one workqueue resolves the faults of all
 * processes, and each process has only a share of the slots. A user can have any number of
 * processes, so all processes of a user together have a share, too: as many slots as are free at
 * the time. If the user may not have one more slot, a process without a slot gets an extra slot:
 * its fault is resolved on another workqueue, where only faults of such users wait for each other.
 *
 * The kernel divides the items that a workqueue runs at a time among the NUMA nodes, and all faults
 * may come on one node: the node of the CPU that serves the interrupt of the event queue. So a
 * device has no more slots than the node with the fewest CPUs runs items. Otherwise the faults of
 * one user, each of which waits for a page, could be all items that a node runs.
 */

#include <kunit/visibility.h>
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/nodemask.h>
#include <linux/rcupdate.h>
#include <linux/sched/isolation.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "odp/odp_internal.h"

/* From its second slot on, a process may have as many slots as are free, divided by this. */
#define FREE_SHARE	16

/**
 * mlx5_ib_odp_max_slots - compute how many items a workqueue runs at a time on any NUMA node
 * @fewest: number of CPUs of the node with the fewest CPUs, without nodes that have no CPU
 * @cpus: number of CPUs of all nodes
 *
 * The kernel gives each node a part of WQ_MAX_ACTIVE that is in proportion to the node's CPUs, but
 * at least WQ_DFL_MIN_ACTIVE.
 *
 * Return: the number of items for the node with the fewest CPUs, at most MLX5_IB_ODP_MAX_SLOTS.
 */
VISIBLE_IF_KUNIT unsigned int mlx5_ib_odp_max_slots(unsigned int fewest, unsigned int cpus)
{
	return clamp(DIV_ROUND_UP(WQ_MAX_ACTIVE * fewest, cpus), WQ_DFL_MIN_ACTIVE,
		     MLX5_IB_ODP_MAX_SLOTS);
}

/*
 * Returns the number of slots. Counts CPUs as workqueues do: those online, without isolated CPUs,
 * which run no unbound items.
 */
static unsigned int odp_count_slots(void)
{
	unsigned int cpus = 0, fewest = UINT_MAX, num;
	const struct cpumask *mask;
	int node;

	guard(rcu)();
	mask = housekeeping_cpumask(HK_TYPE_DOMAIN);
	for_each_node_with_cpus(node) {
		num = cpumask_weight_and(mask, cpumask_of_node(node));
		cpus += num;
		if (num)
			fewest = min(fewest, num);
	}
	return cpus ? mlx5_ib_odp_max_slots(fewest, cpus) : MLX5_IB_ODP_MAX_SLOTS;
}

/**
 * mlx5_ib_odp_init_processes - initialize the table of processes, and the number of slots
 * @odp: paging state of the device
 *
 * The number of slots stays as it is if CPUs go online or offline later, or if an administrator
 * takes CPUs from the workqueues.
 */
void mlx5_ib_odp_init_processes(struct mlx5_ib_odp *odp)
{
	odp->max_slots = odp_count_slots();
	spin_lock_init(&odp->processes_lock);
	hash_init(odp->processes);
}

static struct odp_process *odp_process_find(struct mlx5_ib_odp *odp, struct mm_struct *mm)
{
	struct odp_process *process;

	lockdep_assert_held(&odp->processes_lock);
	hash_for_each_possible(odp->processes, process, node, (unsigned long)mm)
		if (process->mm == mm) {
			refcount_inc(&process->refs);
			return process;
		}
	return NULL;
}

static struct odp_process *odp_process_create(struct mlx5_ib_odp *odp, struct mm_struct *mm,
					      struct mlx5_ib_user *user)
{
	struct odp_process *process = kzalloc_obj(*process, GFP_KERNEL_ACCOUNT);

	if (!process)
		return NULL;
	process->odp = odp;
	process->mm = mm;
	mmgrab(mm);
	process->user = user;
	if (user)
		refcount_inc(&user->refs);
	refcount_set(&process->refs, 1);
	spin_lock_init(&process->lock);
	INIT_LIST_HEAD(&process->waiting);
	return process;
}

static void odp_process_free(struct odp_process *process)
{
	WARN_ON_ONCE(process->slots || !list_empty(&process->waiting));
	mmdrop(process->mm);
	mlx5_ib_user_put(process->user);
	kfree(process);
}

/**
 * mlx5_ib_odp_process_get - find the struct odp_process of an address space, or create it
 * @odp: paging state of the device
 * @mm: address space of the process
 * @user: user of the process, to whom the caller has a reference; NULL for a kernel consumer
 *
 * May sleep; takes processes_lock.
 *
 * Return: the process, with a reference that mlx5_ib_odp_process_put() releases; NULL if there is
 * no memory.
 */
struct odp_process *mlx5_ib_odp_process_get(struct mlx5_ib_odp *odp, struct mm_struct *mm,
					    struct mlx5_ib_user *user)
{
	struct odp_process *process, *new;

	scoped_guard(spinlock, &odp->processes_lock)
		process = odp_process_find(odp, mm);
	if (process)
		return process;
	new = odp_process_create(odp, mm, user);
	if (!new)
		return NULL;
	scoped_guard(spinlock, &odp->processes_lock) {
		process = odp_process_find(odp, mm);
		if (!process)
			hash_add(odp->processes, &new->node, (unsigned long)mm);
	}
	if (!process)
		return new;
	/* Another thread of the process has added a struct odp_process meanwhile. */
	odp_process_free(new);
	return process;
}

/**
 * mlx5_ib_odp_process_put - release a reference to a process
 * @process: the process
 *
 * May sleep; takes processes_lock for the last reference.
 */
void mlx5_ib_odp_process_put(struct odp_process *process)
{
	if (!refcount_dec_and_lock(&process->refs, &process->odp->processes_lock))
		return;
	hash_del(&process->node);
	spin_unlock(&process->odp->processes_lock);
	odp_process_free(process);
}

/* Returns the counter of the slots that all processes of the user have, without extra slots. */
static atomic_t *odp_user_slots(const struct odp_process *process)
{
	return &process->user->count[MLX5_IB_SHARE_FAULT];
}

static void odp_process_add_slot(struct odp_process *process, bool extra)
{
	lockdep_assert_held(&process->lock);
	process->slots++;
	refcount_inc(&process->refs);
	if (extra) {
		process->extra = true;
		return;
	}
	atomic_inc(&process->odp->num_slots);
	if (process->user)
		atomic_inc(odp_user_slots(process));
}

/*
 * Take a slot if the process may have one more. A process may have one slot, or, if that is more,
 * the number of free slots divided by FREE_SHARE; but its user must have fewer slots than are free.
 * So of 1024 free slots, a single process gets 60, and the processes of a single user 512. All 1024
 * slots are taken only if more than 80 processes of several users have as many as they may have.
 */
static bool odp_process_take_slot(struct odp_process *process)
{
	unsigned int taken = atomic_read(&process->odp->num_slots), free;

	lockdep_assert_held(&process->lock);
	/*
	 * The count can exceed @max_slots: kernel consumers always get their first slot, and
	 * processes read the count in parallel, each under its own lock.
	 */
	free = process->odp->max_slots - min(taken, process->odp->max_slots);
	if (process->slots && process->slots >= free / FREE_SHARE)
		return false;
	if (process->user && atomic_read(odp_user_slots(process)) >= free)
		return false;
	odp_process_add_slot(process, false);
	return true;
}

/* Take a slot; or an extra one if the process has no slot and its user may not have one more. */
static bool odp_process_take_any_slot(struct odp_process *process, bool *extra)
{
	*extra = false;
	if (odp_process_take_slot(process))
		return true;
	if (process->slots)
		return false;
	*extra = true;
	odp_process_add_slot(process, true);
	return true;
}

/**
 * mlx5_ib_odp_process_enter - take a slot for a fault of a process
 * @process: the process, to which the caller has a reference
 *
 * Any process context. The slot has a reference of its own to the process.
 *
 * Return: true if the fault has got a slot, which mlx5_ib_odp_process_leave() gives up; false if
 * the process, or its user, has as many slots as it may have now.
 */
bool mlx5_ib_odp_process_enter(struct odp_process *process)
{
	guard(spinlock)(&process->lock);
	return odp_process_take_slot(process);
}

/**
 * mlx5_ib_odp_process_wait - have a fault wait for a slot
 * @process: the process, to which the caller has a reference
 * @fault: entry of the fault for the list of waiting faults
 * @extra: set to whether the fault has got an extra slot
 *
 * Any process context.
 *
 * Return: true if the fault waits, until mlx5_ib_odp_process_next() returns it to the caller that
 * has given up a slot; false if the fault got a slot at once, as from mlx5_ib_odp_process_enter().
 */
bool mlx5_ib_odp_process_wait(struct odp_process *process, struct list_head *fault, bool *extra)
{
	guard(spinlock)(&process->lock);
	if (odp_process_take_any_slot(process, extra))
		return false;
	list_add_tail(fault, &process->waiting);
	return true;
}

/**
 * mlx5_ib_odp_process_leave - give up the slot of a fault
 * @process: the process
 *
 * Any process context. The caller then calls mlx5_ib_odp_process_next() until it returns NULL, and
 * mlx5_ib_odp_process_put() for the reference of the slot.
 */
void mlx5_ib_odp_process_leave(struct odp_process *process)
{
	guard(spinlock)(&process->lock);
	WARN_ON_ONCE(!process->slots--);
	/* All slots of a process are equally good: give up its extra slot first. */
	if (process->extra) {
		process->extra = false;
		return;
	}
	WARN_ON_ONCE(atomic_dec_return(&process->odp->num_slots) < 0);
	if (process->user)
		WARN_ON_ONCE(atomic_dec_return(odp_user_slots(process)) < 0);
}

/**
 * mlx5_ib_odp_process_next - take a slot for the fault that has waited longest
 * @process: the process, to which the caller has a reference
 * @extra: set to whether the fault has got an extra slot
 *
 * Any process context.
 *
 * Return: entry of the fault, which has a slot as from mlx5_ib_odp_process_enter(); or NULL if
 * none waits, or the process has as many slots as it may have now.
 */
struct list_head *mlx5_ib_odp_process_next(struct odp_process *process, bool *extra)
{
	struct list_head *next;

	guard(spinlock)(&process->lock);
	if (list_empty(&process->waiting) || !odp_process_take_any_slot(process, extra))
		return NULL;
	next = process->waiting.next;
	list_del(next);
	return next;
}
