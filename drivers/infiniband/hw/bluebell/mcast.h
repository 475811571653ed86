/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs in multicast groups.
 */

#ifndef BLUEBELL_MCAST_H
#define BLUEBELL_MCAST_H

#include <rdma/ib_verbs.h>

int mlx5_ib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int mlx5_ib_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

#endif /* BLUEBELL_MCAST_H */
