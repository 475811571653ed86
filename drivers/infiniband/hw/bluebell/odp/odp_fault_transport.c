// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Page faults by the transport scheme: a fault names a remote key and the operation at it, or a
 * queue and a WQE, whose data segments the driver reads.
 */

#include <linux/mlx5/driver.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "lib/rsc.h"
#include "odp/odp_fault.h"

/* Resolve a fault of an incoming RDMA operation, at the remote key that the operation names. */
static int odp_fault_resolve_rdma(struct odp_fault_state *state)
{
	const struct mlx5_ib_fault *fault = state->fault;
	u64 left = fault->op_len > fault->committed ? fault->op_len - fault->committed : 0;
	u64 need = fault->packet_len ?: 1;
	const struct odp_want want = {
		.key = fault->key,
		.pdn = MLX5_IB_ODP_ANY_PD,
		.addr = fault->va + fault->committed,
		.need = need,
		.len = odp_fault_bytes(need, left),
	};
	int ret = mlx5_ib_odp_for_each_region(state->odp, &want, &state->budget,
					      &mlx5_ib_odp_fault_visitor, state);

	if (ret < 0)
		return ret;
	return ret ? mlx5_ib_odp_fault_check(state, true) : -ENOENT;
}

/*
 * Map what the data segments of a WQE name, at least the first @need bytes. Skipped are inline
 * data, segments of regions that are not paged, whose memory is always mapped, and segments that
 * the device does not need yet and that cannot be mapped. If all segments are skipped, the queue
 * may go on: the device looks at the keys again, which may have changed meanwhile. But if the same
 * fault is reported once more, the driver cannot resolve it.
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
		ret = mlx5_ib_odp_for_each_region(state->odp, &want, &state->budget,
						  &mlx5_ib_odp_fault_visitor, state);
		if (ret < 0 && want.need)
			return ret;
		is_paged |= ret > 0;
	}
	return mlx5_ib_odp_fault_check(state, is_paged);
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
	mlx5_ib_odp_window(sges, fault->committed, odp_fault_bytes(fault->packet_len, U64_MAX));
	return odp_fault_page_in_sges(state, pd, sges, fault->packet_len ?: 1);
}

/**
 * mlx5_ib_odp_resolve_transport - map the pages that a fault by the transport scheme needs
 * @state: the fault
 * @queue: gets the queue of a fault at a WQE, with a reference, or NULL if the driver does not know
 *	the queue; unchanged for a fault at a remote key
 *
 * May sleep.
 *
 * Return: 0 if the queue may go on; or a negative errno.
 */
int mlx5_ib_odp_resolve_transport(struct odp_fault_state *state, struct mlx5_ib_rsc **queue)
{
	const struct mlx5_ib_fault *fault = state->fault;

	state->write = fault->is_rdma ? fault->type & MLX5_PAGE_FAULT_RESUME_WRITE :
					fault->type != MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE;
	if (fault->is_rdma)
		return odp_fault_resolve_rdma(state);
	*queue = mlx5_ib_rsc_get(state->odp->dev, fault->type == MLX5_WQE_PF_TYPE_RMP ?
				 MLX5_RES_SRQ : MLX5_RES_QP, fault->wq_num);
	/*
	 * Not found: a queue that a process has created by commands of its own, or a queue that is
	 * being destroyed, although firmware may yet refuse to destroy it. Resume the queue with an
	 * error: otherwise it would stay stopped until it is destroyed.
	 */
	return *queue ? odp_fault_resolve_wqe(state, *queue) : -ENOENT;
}
