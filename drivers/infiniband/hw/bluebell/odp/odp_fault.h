/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files that resolve page faults share: odp_fault.c, odp_fault_transport.c,
 * odp_fault_memory.c and odp_fault_map.c, see odp_internal.h.
 */

#ifndef BLUEBELL_ODP_FAULT_H
#define BLUEBELL_ODP_FAULT_H

#include <linux/minmax.h>
#include <linux/sizes.h>

#include "layout/layout_odp.h"
#include "odp/odp_internal.h"

struct mlx5_ib_rsc;

/*
 * Entries of the page-fault event queue that the driver asks for. mlx5_core adds spare entries and
 * rounds up to a power of two, so the queue has twice as many.
 */
#define MLX5_IB_ODP_NUM_EQE	0x1000

/*
 * For each event of a fault the driver maps the bytes that the device needs, however many. If they
 * are fewer than this, the driver also maps bytes near them that the operation will touch, up to
 * this many bytes altogether; of a region over a dma-buf the driver always maps all of the bytes.
 * The range is cut to this length before the driver looks for the regions that the range translates
 * to, so a process cannot raise the bound by indirect mkeys.
 */
#define MLX5_IB_ODP_FAULT_AROUND	SZ_4M

/* How many bytes to map for a fault if the device needs @need bytes, and will touch @len bytes. */
static inline u64 odp_fault_bytes(u64 need, u64 len)
{
	return clamp(len, need, max_t(u64, need, MLX5_IB_ODP_FAULT_AROUND));
}

/**
 * struct odp_fault_work - a fault, or one of its events, until it has been resolved
 * @work: resolves the fault
 * @odp: paging state of the device
 * @fault: the fault
 * @slot: process whose slot the fault has, or NULL
 * @extra: the slot is an extra slot, see odp_fairness.c
 * @waiting: in the list of the faults that wait for a slot of a process
 */
struct odp_fault_work {
	struct work_struct work;
	struct mlx5_ib_odp *odp;
	struct mlx5_ib_fault fault;
	struct odp_process *slot;
	bool extra;
	struct list_head waiting;
};

/**
 * struct odp_fault_state - a fault that is being resolved
 * @odp: paging state of the device
 * @fault: the fault
 * @budget: what the fault may still spend on walks through indirect mkeys
 * @write: map for writing. By the transport scheme (odp_fault.c): the device writes; by the memory
 *	scheme: the region allows writing, so the device may be about to write, and the memory has
 *	not turned out to be read-only
 * @repeated: how often in a row there was nothing to map for the same fault
 * @mapped: at least one page has been newly mapped, or newly mapped for writing
 * @no_umr: the UMR queue pair did not run within a second: nothing more is mapped
 * @refused: pages that were mapped for reading already could not be mapped for writing
 * @slot: points to the process whose slot the fault has, or to NULL
 * @full: process, with a reference, that has no slot left for the fault, although the fault needs
 *	the memory or a table of keys of this process; else NULL
 */
struct odp_fault_state {
	struct mlx5_ib_odp *odp;
	const struct mlx5_ib_fault *fault;
	struct odp_budget budget;
	bool write;
	unsigned int repeated;
	bool mapped;
	bool no_umr;
	bool refused;
	struct odp_process **slot;
	struct odp_process *full;
};

/* odp_fault_map.c */
extern const struct odp_visitor mlx5_ib_odp_fault_visitor;
void mlx5_ib_odp_fault_queue(struct odp_fault_work *job);
void mlx5_ib_odp_fault_leave(struct odp_process **slot);
int mlx5_ib_odp_fault_page_in(struct odp_mr *mr, const struct odp_want *want, void *arg);
int mlx5_ib_odp_fault_check(const struct odp_fault_state *state, bool is_paged);

/* odp_fault_memory.c */
int mlx5_ib_odp_resolve_memory(struct odp_fault_state *state);

/* odp_fault_transport.c */
int mlx5_ib_odp_resolve_transport(struct odp_fault_state *state, struct mlx5_ib_rsc **queue);

#endif /* BLUEBELL_ODP_FAULT_H */
