/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs for raw packets: what they consist of at the device.
 */

#ifndef BLUEBELL_RAW_QP_H
#define BLUEBELL_RAW_QP_H

#include "layout/layout_raw.h"
#include "layout/layout_sq.h"
#include "lib/buf.h"
#include "lib/object.h"
#include "lib/rsc.h"
#include "verbs/qp.h"

/**
 * struct mlx5_ib_raw_qp - what a queue pair for raw packets consists of
 * @qp: the queue pair. Its @mem is the memory of @sq
 * @context: context of the process
 * @tis: transport interface through which @sq sends
 * @sq: send queue. @sq.ops is NULL if the queue pair has none
 * @rq: receive queue. @rq.ops is NULL if the queue pair has none
 * @rq_mem: memory of @rq
 * @tir: transport interface through which @rq receives
 * @queues: states of @sq and @rq that were last set or found; guarded by the mutex of the queue
 *	pair, as are the members below
 * @rate: how the packets of @sq are paced
 * @rate_index: index of @rate in the device's table of rates; 0 for no limit
 * @rate_in_doubt: index of a rate that @sq may have instead, because the command that was to set
 *	the rate was not answered; 0 for none
 */
struct mlx5_ib_raw_qp {
	struct mlx5_ib_qp *qp;
	struct mlx5_ib_ucontext *context;
	struct mlx5_ib_object tis;
	struct mlx5_ib_rsc sq;
	struct mlx5_ib_rsc rq;
	struct mlx5_ib_queue_mem rq_mem;
	struct mlx5_ib_object tir;
	struct mlx5_ib_raw_states queues;
	struct mlx5_ib_rate rate;
	u16 rate_index;
	u16 rate_in_doubt;
};

static inline struct mlx5_ib_raw_qp *to_raw(const struct mlx5_ib_qp *qp)
{
	WARN_ON_ONCE(qp->ibqp.qp_type != IB_QPT_RAW_PACKET || qp->ibqp.rwq_ind_tbl);
	return qp->priv;
}

/* raw_modify.c */
int mlx5_ib_raw_modify(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr, int mask,
		       struct ib_udata *udata);
int mlx5_ib_raw_query(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr);
int mlx5_ib_raw_set_counter(struct mlx5_ib_qp *qp, u16 set_id);
void mlx5_ib_raw_release_rate(struct mlx5_ib_raw_qp *raw);

#endif /* BLUEBELL_RAW_QP_H */
