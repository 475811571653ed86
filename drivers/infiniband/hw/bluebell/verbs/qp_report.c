// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the owner of a queue pair of any kind is told: events, and the answer to a change.
 */

#include <rdma/uverbs_ioctl.h>

#include "verbs/qp.h"

/**
 * mlx5_ib_qp_deliver - deliver an event of a queue pair to its owner
 * @qp: the queue pair
 * @type: the event
 *
 * May sleep.
 */
void mlx5_ib_qp_deliver(struct mlx5_ib_qp *qp, enum ib_event_type type)
{
	struct ib_qp *ibqp = &qp->ibqp;
	struct ib_event event = {
		.device = ibqp->device,
		.event = type,
		.element.qp = ibqp,
	};

	if (ibqp->event_handler)
		ibqp->event_handler(&event, ibqp->qp_context);
}

/**
 * mlx5_ib_qp_respond_modify - answer the library after a change
 * @udata: room for struct mlx5_ib_modify_qp_resp; NULL for a kernel consumer
 * @ece: granted options of enhanced connection establishment
 *
 * Return: 0, also if the library has left no room; or -EFAULT.
 */
int mlx5_ib_qp_respond_modify(struct ib_udata *udata, u32 ece)
{
	struct mlx5_ib_modify_qp_resp resp = { .ece_options = ece };

	if (!udata || !udata->outlen)
		return 0;
	resp.response_length = min(udata->outlen, sizeof(resp));
	return ib_respond_udata(udata, resp);
}
