// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How often the device has reported the same page fault again, although nothing could be mapped for
 * it. The faults are in a small table, so that a fault may displace another one, whose count starts
 * anew.
 */

#include <linux/jhash.h>
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
 * mlx5_ib_odp_repeated_get - how often the same fault has been answered with nothing to map
 * @odp: paging state of the device
 * @fault: the fault
 *
 * If the driver took the event of @fault before it gave the last of these answers, the event is of
 * another queue that faulted on the same pages, and not a repetition. Any process context; takes
 * repeated_lock.
 *
 * Return: the number.
 */
unsigned int mlx5_ib_odp_repeated_get(struct mlx5_ib_odp *odp, const struct mlx5_ib_fault *fault)
{
	const struct odp_fault_id id = odp_fault_identify(fault);
	struct odp_repeated *repeated;

	guard(spinlock)(&odp->repeated_lock);
	repeated = odp_repeated_find(odp, &id);
	if (!odp_repeated_is_of(repeated, &id) || ktime_before(fault->taken, repeated->last))
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
	bool is_same;

	guard(spinlock)(&odp->repeated_lock);
	repeated = odp_repeated_find(odp, &id);
	is_same = odp_repeated_is_of(repeated, &id);
	if (!times && is_same)
		repeated->times = 0;
	/*
	 * An event that the driver read from its EQ before it last answered this fault does not
	 * repeat the fault: another queue has faulted at the same address. Do not count it.
	 */
	if (!times || (is_same && ktime_before(fault->taken, repeated->last)))
		return;
	*repeated = (struct odp_repeated){ .id = id, .times = times, .last = ktime_get() };
}

/**
 * mlx5_ib_odp_repeated_forget - forget faults at a key that a new leaf has got
 * @odp: paging state of the device
 * @key: the key; its variant does not count
 *
 * A fault by the memory scheme may be about a leaf that has been freed meanwhile, whose key the
 * driver does not know any more. A new leaf may have the same key, be freed in turn, and have the
 * same kind of fault at the same address: that is not the old fault again. Any process context;
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
