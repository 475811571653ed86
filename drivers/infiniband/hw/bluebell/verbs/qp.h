/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs of users (RC, UC, UD, XRC) and of kernel consumers (RC, UC, UD, SMI, GSI).
 */

#ifndef BLUEBELL_QP_H
#define BLUEBELL_QP_H

#include <linux/mlx5/device.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "layout/layout_qp.h"
#include "lib/buf.h"
#include "lib/rsc.h"
#include "verbs/uar.h"

/* bfregn of a QP that uses none of the context's own registers. */
#define MLX5_IB_INVALID_BFREG		(-1)

struct mlx5_ib_fw_batch;
struct mlx5_ib_gsi;
struct mlx5_ib_wqs;

/**
 * struct mlx5_ib_qp - queue pair
 * @ibqp: verbs object; ib_core allocates and frees the whole
 * @rsc: finds the queue pair by number until it is destroyed, and delivers its
 *	events
 * @mutex: guards the state below; held across the state-change command, so
 *	that @state is the state the device has been told
 * @state: as far as this driver has been told
 * @access: enum ib_access_flags last asked for
 * @dest_rd_atomic: responder resources last asked for
 * @out_of_order: receive WQEs are taken in any order, from RTR on; last asked for in INIT
 * @counter_set: Q counter set that the queue pair is to count in
 * @counts_in: that which its context names, from INIT on
 * @closing: the process has closed the device: no command names the queue pair any more, but those
 *	that destroy it
 * @mem: memory of the work queues, doorbell record, and UAR object of a user, released after
 *	DESTROY_QP; zeroed for the target of an XRC connection
 * @wqs: work queues of a kernel consumer; otherwise NULL. Constant
 * @gsi: of QP1: what else it has; otherwise NULL. Constant
 * @sends_as_qp1: its datagrams come from QP1: it is part of that. Constant
 * @bell: lists a user's queue pair among those of its UAR
 * @bfregn: register to free after DESTROY_QP, or MLX5_IB_INVALID_BFREG
 * @ucmd: the library's request; without a user, the sizes of the queues only; constant
 * @qpc: what its context was created with, struct mlx5_ifc_qpc_bits; constant
 * @init: what the consumer created it with, and the capacities that it has; constant
 */
struct mlx5_ib_qp {
	struct ib_qp ibqp;
	struct mlx5_ib_rsc rsc;
	struct mutex mutex; /* held across state changes; guards state to closing */
	enum ib_qp_state state;
	u32 access;
	u8 dest_rd_atomic;
	bool out_of_order;
	u16 counter_set;
	u16 counts_in;
	bool closing;
	struct mlx5_ib_queue_mem mem;
	struct mlx5_ib_wqs *wqs;
	struct mlx5_ib_gsi *gsi;
	bool sends_as_qp1;
	struct mlx5_ib_bell bell;
	int bfregn;
	struct mlx5_ib_create_qp ucmd;
	u32 qpc[MLX5_ST_SZ_DW(qpc)];
	struct ib_qp_init_attr init;
};

static inline struct mlx5_ib_qp *to_mqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct mlx5_ib_qp, ibqp);
}

int mlx5_ib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int mlx5_ib_qp_set_counter(struct mlx5_ib_qp *qp, u16 set_id);
int mlx5_ib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		      struct ib_udata *udata);
int mlx5_ib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		     struct ib_qp_init_attr *init);
int mlx5_ib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
void mlx5_ib_destroy_qp_early(struct ib_qp *ibqp, struct mlx5_ib_fw_batch *batch);

/* qp_kernel.c */
int mlx5_ib_kernel_qp_prepare(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp,
			      struct ib_qp_init_attr *init);
int mlx5_ib_kernel_qp_attach(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp);
void mlx5_ib_kernel_qp_destroy(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp);
void mlx5_ib_kernel_qp_modified(struct mlx5_ib_qp *qp, enum ib_qp_state state);
bool mlx5_ib_kernel_qp_takes_event(struct mlx5_ib_qp *qp, enum ib_event_type type);
void mlx5_ib_kernel_qp_release(struct mlx5_ib_dev *dev, struct mlx5_ib_qp *qp);

#endif /* BLUEBELL_QP_H */
