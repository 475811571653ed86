// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The doorbell of a process's queue pair: the UAR and the register that the queue pair gets, and
 * the queue pair's entry in the report of UARs (uar_report.c).
 */

#include <linux/mlx5/driver.h>

#include "fw/bluebell.h"
#include "layout/refuse.h"
#include "verbs/qp.h"

/**
 * mlx5_ib_qp_get_bfreg - find the UAR with the doorbell of a queue pair
 * @ctx: context of the process
 * @qp: the queue pair, with the library's request. The index of the UAR goes to its context
 * @bfreg_index: gets the number of the register, for the answer to the library
 *
 * The UAR is the UAR object or the UAR of the dynamic register that the request names, or else the
 * UAR of a static register that is chosen here. The caller calls mlx5_ib_qp_put_bfreg(), and puts
 * @qp->mem.uar, after an error, too. May sleep.
 *
 * Return: 0, or -EINVAL for a UAR or a register that the context does not have.
 */
int mlx5_ib_qp_get_bfreg(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_qp *qp, u32 *bfreg_index)
{
	u32 asked = qp->ucmd.bfreg_index, flags = qp->ucmd.flags;
	int index, bfregn;

	*bfreg_index = asked;
	if (flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) {
		qp->mem.uar = mlx5_ib_get_uar(ctx, asked);
		index = qp->mem.uar ? asked :
			refuse(to_mdev(ctx->ibucontext.device)->mdev, -EINVAL,
			       "QP on UAR %u, not a UAR object of the context", asked);
	} else if (flags & MLX5_QP_FLAG_BFREG_INDEX) {
		index = bfregn_to_uar_index(&ctx->bfregi, asked, true);
	} else {
		bfregn = mlx5_ib_alloc_bfreg(&ctx->bfregi);
		if (bfregn < 0)
			return bfregn;
		qp->bfregn = bfregn;
		index = bfregn_to_uar_index(&ctx->bfregi, bfregn, false);
		*bfreg_index = mlx5_ib_bfregn_to_user_index(bfregn);
	}
	if (index < 0)
		return index;
	MLX5_SET(qpc, qp->qpc, uar_page, index);
	return 0;
}

/**
 * mlx5_ib_qp_put_bfreg - release the static register of a queue pair, if it has one
 * @ctx: context of the process
 * @qp: the queue pair, whose send queue is destroyed
 */
void mlx5_ib_qp_put_bfreg(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_qp *qp)
{
	if (qp->bfregn != MLX5_IB_INVALID_BFREG)
		mlx5_ib_free_bfreg(&ctx->bfregi, qp->bfregn);
	qp->bfregn = MLX5_IB_INVALID_BFREG;
}

static u32 qp_bfreg_number(const struct mlx5_ib_ucontext *ctx, const struct mlx5_ib_qp *qp)
{
	if (qp->bfregn != MLX5_IB_INVALID_BFREG)
		return qp->bfregn;
	/* Only the library knows on which register of a UAR object it rings the QP's doorbell. */
	if (qp->mem.uar)
		return BLUEBELL_NO_BFREG;
	return ctx->bfregi.layout.num_static_bfregs + qp->ucmd.bfreg_index;
}

/**
 * mlx5_ib_qp_add_bell - let reports of UARs show a queue pair
 * @ctx: context of the process
 * @qp: the queue pair, which exists at the device
 */
void mlx5_ib_qp_add_bell(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_qp *qp)
{
	qp->bell.queue = (struct bluebell_queue){
		.type = BLUEBELL_QUEUE_QP,
		.qp_type = qp->ibqp.qp_type,
		.number = qp->ibqp.qp_num,
		.uar = MLX5_GET(qpc, qp->qpc, uar_page),
		.bfreg = qp_bfreg_number(ctx, qp),
	};
	mlx5_ib_bell_add(ctx, &qp->bell);
}
