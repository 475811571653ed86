/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests of kernel consumers.
 */

#ifndef BLUEBELL_WR_H
#define BLUEBELL_WR_H

#include <rdma/ib_verbs.h>

struct mlx5_ib_qp;

int mlx5_ib_post_sends(struct mlx5_ib_qp *qp, const struct ib_send_wr *wr,
		       const struct ib_send_wr *end, const struct ib_send_wr **bad);
int mlx5_ib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad);

#endif /* BLUEBELL_WR_H */
