/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work queues (WQs) of verbs: receive queues that belong to no queue pair, and indirection tables
 * of them.
 */

#ifndef BLUEBELL_RWQ_H
#define BLUEBELL_RWQ_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "lib/buf.h"
#include "lib/object.h"
#include "lib/rsc.h"

/**
 * struct mlx5_ib_rwq - work queue
 * @ibwq: verbs object; the driver allocates and frees the whole
 * @rsc: the RQ at the device, and its entry in the table in which the queue of an event is looked
 *	up by number
 * @mem: memory of the queue, released after the RQ is destroyed
 * @mutex: guards the state in @ibwq; held across the command that changes it
 * @strip_vlan: the device takes VLAN tags out of packets; guarded by @mutex
 */
struct mlx5_ib_rwq {
	struct ib_wq ibwq;
	struct mlx5_ib_rsc rsc;
	struct mlx5_ib_queue_mem mem;
	struct mutex mutex;	/* guards ibwq.state, strip_vlan */
	bool strip_vlan;
};

static inline struct mlx5_ib_rwq *to_mrwq(struct ib_wq *ibwq)
{
	return container_of(ibwq, struct mlx5_ib_rwq, ibwq);
}

/**
 * struct mlx5_ib_rqt - indirection table
 * @ibrqt: verbs object; ib_core allocates and frees the whole
 * @object: the RQT at the device
 */
struct mlx5_ib_rqt {
	struct ib_rwq_ind_table ibrqt;
	struct mlx5_ib_object object;
};

static inline struct mlx5_ib_rqt *to_mrqt(struct ib_rwq_ind_table *ibrqt)
{
	return container_of(ibrqt, struct mlx5_ib_rqt, ibrqt);
}

/* rwq.c */
struct ib_wq *mlx5_ib_create_wq(struct ib_pd *pd, struct ib_wq_init_attr *init,
				struct ib_udata *udata);
int mlx5_ib_modify_wq(struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask,
		      struct ib_udata *udata);
int mlx5_ib_destroy_wq(struct ib_wq *ibwq, struct ib_udata *udata);

/* rqt.c */
int mlx5_ib_create_rqt(struct ib_rwq_ind_table *ibrqt, struct ib_rwq_ind_table_init_attr *init,
		       struct ib_udata *udata);
int mlx5_ib_check_rqt(struct ib_rwq_ind_table *ibrqt);
int mlx5_ib_destroy_rqt(struct ib_rwq_ind_table *ibrqt);

#endif /* BLUEBELL_RWQ_H */
