/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared receive queues of users and of kernel consumers.
 */

#ifndef BLUEBELL_SRQ_H
#define BLUEBELL_SRQ_H

#include <rdma/ib_verbs.h>

#include "layout/layout_srq.h"
#include "lib/buf.h"
#include "lib/rsc.h"

struct mlx5_ib_srq_ops;
struct mlx5_ib_srq_ring;

/**
 * struct mlx5_ib_srq - shared receive queue
 * @ibsrq: verbs object; ib_core allocates and frees the whole
 * @rsc: entry in the table in which the queue of an event is looked up by number
 * @ops: operations of the queue's type
 * @mem: WQE buffer and doorbell record, released after the device's queue is destroyed
 * @ring: what a kernel consumer posts to; NULL for a user's queue. Constant
 * @wq: number and size of the WQEs
 */
struct mlx5_ib_srq {
	struct ib_srq ibsrq;
	struct mlx5_ib_rsc rsc;
	const struct mlx5_ib_srq_ops *ops;
	struct mlx5_ib_queue_mem mem;
	struct mlx5_ib_srq_ring *ring;
	struct mlx5_ib_srq_layout wq;
};

static inline struct mlx5_ib_srq *to_msrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct mlx5_ib_srq, ibsrq);
}

int mlx5_ib_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		       struct ib_udata *udata);
int mlx5_ib_check_srq(struct ib_srq *ibsrq);
int mlx5_ib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		       enum ib_srq_attr_mask mask, struct ib_udata *udata);
int mlx5_ib_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int mlx5_ib_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int mlx5_ib_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad);

/* wqe_read.c */
struct ib_pd *mlx5_ib_srq_read_wqe(struct mlx5_ib_rsc *rsc, bool is_send, u16 index, void *wqe,
				   struct mlx5_ib_odp_sges *sges);

#endif /* BLUEBELL_SRQ_H */
