// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Page faults by the memory scheme: a fault names the lowest key, whose own entries translate to
 * the pages, and an address. The device has gone through indirect mkeys and windows itself. The
 * fault names neither the queue, nor whether the device wants to write.
 */

#include <linux/hmm.h>
#include <linux/minmax.h>

#include "layout/layout_odp.h"
#include "odp/odp_fault.h"

/*
 * Map what a fault needs and, if that can be done, what the device may need soon. Memory that the
 * device may write to is mapped for writing: otherwise each write to memory that the process has
 * not touched yet would fault again, until the driver guesses that the device wants to write.
 * Memory that the process may not write to is mapped for reading.
 */
static int odp_memory_page_in(struct odp_fault_state *state, struct odp_mr *mr,
			      const struct odp_want *want)
{
	int err;

	state->write = ib_access_writable(READ_ONCE(mr->mr.access));
	err = mlx5_ib_odp_fault_page_in(mr, want, state);
	if (err == -EPERM && state->write) {
		state->write = false;
		err = mlx5_ib_odp_fault_page_in(mr, want, state);
	}
	return err;
}

/*
 * The event may also name bytes before its address. Map them, too, and ignore an error. The driver
 * has tried already to map @mapped bytes from the address on: odp_fault_bytes() limits the number
 * of all these bytes together.
 */
static void odp_memory_page_in_before(struct odp_fault_state *state, struct odp_mr *mr, u64 mapped)
{
	const struct mlx5_ib_fault *fault = state->fault;
	u64 before = min_t(u64, fault->before, fault->va - mr->mr.ibmr.iova);
	u64 len = odp_fault_bytes(mapped, mapped + before) - mapped;

	if (len && !mlx5_ib_odp_mr_page_in(mr, fault->va - len, len, HMM_PFN_REQ_FAULT |
					   (state->write ? HMM_PFN_REQ_WRITE : 0)))
		atomic64_add(odp_range_pages(fault->va - len, len), &mr->stat.faults);
}

static int odp_memory_resolve_in(struct odp_fault_state *state, struct odp_mr *mr)
{
	const struct mlx5_ib_fault *fault = state->fault;
	u64 offset = fault->va - mr->mr.ibmr.iova, left = mr->mr.ibmr.length - offset;
	struct odp_want want = {
		.key = fault->key, .pdn = MLX5_IB_ODP_ANY_PD, .addr = fault->va,
		.need = min_t(u64, fault->packet_len ?: 1, left),
		.len = min(odp_fault_bytes(fault->packet_len,
					   (u64)fault->packet_len + fault->after), left),
	};
	int err;

	if (fault->va < mr->mr.ibmr.iova || offset >= mr->mr.ibmr.length)
		return -EFAULT;
	err = odp_memory_page_in(state, mr, &want);
	if (err)
		return err;
	if (state->mapped)
		odp_memory_page_in_before(state, mr, want.len);
	return mlx5_ib_odp_fault_check(state, true);
}

/**
 * mlx5_ib_odp_resolve_memory - map the pages that a fault by the memory scheme needs
 * @state: the fault
 *
 * If the driver finds no paged region by the key of the fault, the key may have been that of a part
 * of an implicit region (odp_tree.c) that was freed after the fault. So the queue goes on, and the
 * device looks the keys up again. If the device then reports the same fault once more, the key is
 * not paged, and the fault fails. May sleep.
 *
 * Return: 0 if the queue may go on; or a negative errno.
 */
int mlx5_ib_odp_resolve_memory(struct odp_fault_state *state)
{
	struct odp_mr *mr = mlx5_ib_odp_mr_get_lowest(state->odp, state->fault->key);
	int err;

	if (!mr)
		return mlx5_ib_odp_fault_check(state, false);
	err = odp_memory_resolve_in(state, mr);
	mlx5_ib_mkey_put(&mr->mr.mkey);
	return err;
}
