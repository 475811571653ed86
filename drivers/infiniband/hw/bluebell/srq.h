/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared receive queues of user space.
 */

#ifndef BLUEBELL_SRQ_H
#define BLUEBELL_SRQ_H

#include <rdma/ib_verbs.h>

#include "doorbell.h"
#include "event.h"
#include "layout_srq.h"

struct ib_umem;
struct mlx5_ib_dev;

/**
 * struct mlx5_ib_srq - shared receive queue of a user
 * @ibsrq: verbs object; ib_core allocates and frees the whole
 * @srqn: number
 * @source: finds it by number until it is destroyed, and delivers its events
 * @umem: the WQE buffer, released after the device's queue is destroyed
 * @db: the doorbell record, released then, too
 * @wq: sizes
 */
struct mlx5_ib_srq {
	struct ib_srq ibsrq;
	u32 srqn;
	struct mlx5_ib_event_source source;
	struct ib_umem *umem;
	struct mlx5_ib_db db;
	struct mlx5_ib_srq_layout wq;
};

static inline struct mlx5_ib_srq *to_msrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct mlx5_ib_srq, ibsrq);
}

int mlx5_ib_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		       struct ib_udata *udata);
int mlx5_ib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		       enum ib_srq_attr_mask mask, struct ib_udata *udata);
int mlx5_ib_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int mlx5_ib_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);

bool mlx5_ib_has_srq(struct mlx5_ib_dev *dev);
void mlx5_ib_get_srq_caps(struct mlx5_ib_dev *dev, struct mlx5_ib_srq_caps *caps);

int mlx5_ib_init_srq_events(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_SRQ_H */
