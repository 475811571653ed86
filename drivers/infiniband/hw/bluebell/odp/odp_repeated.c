// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How often the device has reported the same page fault again, although nothing could be mapped for
 * it. The table has room for MLX5_IB_ODP_NUM_REPEATED faults. In a full table a new fault displaces
 * the fault with the fewest answers; if the displaced fault is reported again, its count starts at
 * 0. So however many faults are repeated, those with the most answers get to their last answer, the
 * answer with an error; then they leave room.
 */

#include <linux/ktime.h>

#include "odp/odp_repeated.h"

/* A fault that is reported again later than this is a new fault. */
#define REPEAT_MS	5000

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

static void odp_repeated_expire(struct odp_repeated *repeated)
{
	if (ktime_ms_delta(ktime_get(), repeated->last) > REPEAT_MS)
		repeated->times = 0;
}

/* Returns the entry of a fault, or NULL. */
static struct odp_repeated *odp_repeated_find(struct mlx5_ib_odp *odp,
					      const struct odp_fault_id *id)
{
	unsigned int i;

	lockdep_assert_held(&odp->repeated_lock);
	for (i = 0; i < MLX5_IB_ODP_NUM_REPEATED; i++) {
		if (memcmp(&odp->repeated[i].id, id, sizeof(*id)))
			continue;
		odp_repeated_expire(&odp->repeated[i]);
		return &odp->repeated[i];
	}
	return NULL;
}

/*
 * Returns the entry of the fault with the fewest answers; of several such faults, the one that was
 * answered last. If the oldest one had to go, faults that come in turn would displace each other.
 */
static struct odp_repeated *odp_repeated_displace(struct mlx5_ib_odp *odp)
{
	struct odp_repeated *entry, *least = odp->repeated;
	unsigned int i;

	for (i = 0; i < MLX5_IB_ODP_NUM_REPEATED; i++) {
		entry = &odp->repeated[i];
		odp_repeated_expire(entry);
		if (entry->times < least->times ||
		    (entry->times == least->times && ktime_after(entry->last, least->last)))
			least = entry;
	}
	return least;
}

/**
 * mlx5_ib_odp_repeated_get - tell how often the same fault has been answered with nothing to map
 * @odp: paging state of the device
 * @fault: the fault
 *
 * If the driver took the event of @fault before it gave the last of these answers, the event is of
 * another queue that faulted on the same pages, and not a repetition: the result is 0. Any process
 * context; takes repeated_lock.
 *
 * Return: the number of these answers in a row.
 */
unsigned int mlx5_ib_odp_repeated_get(struct mlx5_ib_odp *odp, const struct mlx5_ib_fault *fault)
{
	const struct odp_fault_id id = odp_fault_identify(fault);
	struct odp_repeated *repeated;

	guard(spinlock)(&odp->repeated_lock);
	repeated = odp_repeated_find(odp, &id);
	if (!repeated || ktime_before(fault->taken, repeated->last))
		return 0;
	return repeated->times;
}

/**
 * mlx5_ib_odp_repeated_set - note that a fault is about to be answered
 * @odp: paging state of the device
 * @fault: the fault
 * @times: how often in a row it has been answered with nothing to map, this answer included; 0 to
 *	start again
 *
 * Any process context; takes repeated_lock.
 */
void mlx5_ib_odp_repeated_set(struct mlx5_ib_odp *odp, const struct mlx5_ib_fault *fault,
			      unsigned int times)
{
	const struct odp_fault_id id = odp_fault_identify(fault);
	struct odp_repeated *repeated;

	guard(spinlock)(&odp->repeated_lock);
	repeated = odp_repeated_find(odp, &id);
	/*
	 * An event that the driver read from its EQ before it last answered this fault does not
	 * repeat the fault: another queue has faulted at the same address. Do not count it. If that
	 * answer started the count again, @times goes on from a count of before.
	 */
	if (times && repeated && ktime_before(fault->taken, repeated->last))
		return;
	if (!times && !repeated)
		return;
	repeated = repeated ?: odp_repeated_displace(odp);
	*repeated = (struct odp_repeated){ .id = id, .times = times, .last = ktime_get() };
}

/**
 * mlx5_ib_odp_repeated_forget - start to count the faults at the key of a new leaf from 0
 * @odp: paging state of the device
 * @key: the key; its variant is ignored
 *
 * A fault by the memory scheme may be at the key of a leaf that has been freed since; the driver
 * does not know the key any more. A new leaf may get the same key and be freed, too: then a fault
 * at the same address of the new leaf is not a repetition of the old fault. Any process context;
 * takes repeated_lock.
 */
void mlx5_ib_odp_repeated_forget(struct mlx5_ib_odp *odp, u32 key)
{
	unsigned int i;

	guard(spinlock)(&odp->repeated_lock);
	for (i = 0; i < MLX5_IB_ODP_NUM_REPEATED; i++)
		if (odp->repeated[i].id.key >> 8 == key >> 8)
			odp->repeated[i].times = 0;
}
