/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs of user space (RC, UC, UD, XRC).
 */

#ifndef BLUEBELL_QP_H
#define BLUEBELL_QP_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "doorbell.h"
#include "event.h"
#include "layout_qp.h"

struct ib_umem;
struct mlx5_ib_dev;
struct mlx5_user_mmap_entry;

/* bfreg_index of a QP that took none from the context's own registers. */
#define MLX5_IB_INVALID_BFREG		(-1)

/**
 * struct mlx5_ib_qp - queue pair of a user
 * @ibqp: verbs object; ib_core allocates and frees the whole
 * @qpn: number
 * @pdn: its protection domain
 * @cqn_snd: its send CQ
 * @cqn_rcv: its receive CQ
 * @source: finds it by number until it is destroyed, and delivers its events
 * @mutex: guards the state below; held across the state-change command, so
 *	that @state is the state the device has been told
 * @state: as far as this driver has been told
 * @access: enum ib_access_flags last asked for
 * @dest_rd_atomic: responder resources last asked for
 * @port: physical port, from 1; 0 before INIT
 * @umem: work queue buffer, NULL if it has no queue; released after DESTROY_QP
 * @db: doorbell record, released after DESTROY_QP
 * @bfregn: register to give back after DESTROY_QP, or MLX5_IB_INVALID_BFREG
 * @uar: UAR object that rings it, NULL if a page of the context does; held until
 *	DESTROY_QP
 * @wq: sizes of the queues
 * @wq_sig: WQEs carry a signature
 * @cap: capacities as asked for
 * @sq_sig_type: whether every send request completes
 * @create_flags: enum ib_qp_create_flags
 */
struct mlx5_ib_qp {
	struct ib_qp ibqp;
	u32 qpn;
	u32 pdn;
	u32 cqn_snd;
	u32 cqn_rcv;
	struct mlx5_ib_event_source source;
	struct mutex mutex; /* held across state changes; guards state to port */
	enum ib_qp_state state;
	u32 access;
	u8 dest_rd_atomic;
	u8 port;
	struct ib_umem *umem;
	struct mlx5_ib_db db;
	int bfregn;
	struct mlx5_user_mmap_entry *uar;
	struct mlx5_ib_wq_layout wq;
	bool wq_sig;
	struct ib_qp_cap cap;
	enum ib_sig_type sq_sig_type;
	u32 create_flags;
};

static inline struct mlx5_ib_qp *to_mqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct mlx5_ib_qp, ibqp);
}

int mlx5_ib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int mlx5_ib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		      struct ib_udata *udata);
int mlx5_ib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		     struct ib_qp_init_attr *init);
int mlx5_ib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

void mlx5_ib_get_qp_caps(struct mlx5_ib_dev *dev, struct mlx5_ib_qp_caps *caps);

int mlx5_ib_init_qp_events(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_QP_H */
