/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reading WQEs back from the queues that they have been posted to.
 */

#ifndef BLUEBELL_WQE_READ_H
#define BLUEBELL_WQE_READ_H

#include <linux/types.h>

struct ib_pd;
struct mlx5_ib_odp_sges;
struct mlx5_ib_rsc;

struct ib_pd *mlx5_ib_qp_read_wqe(struct mlx5_ib_rsc *rsc, bool is_send, u16 index, void *wqe,
				  struct mlx5_ib_odp_sges *sges);
struct ib_pd *mlx5_ib_srq_read_wqe(struct mlx5_ib_rsc *rsc, bool is_send, u16 index, void *wqe,
				   struct mlx5_ib_odp_sges *sges);

#endif /* BLUEBELL_WQE_READ_H */
