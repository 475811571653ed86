/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * XRC domains, and what the driver itself gives XRC queue pairs.
 */

#ifndef BLUEBELL_XRC_H
#define BLUEBELL_XRC_H

#include <rdma/ib_verbs.h>

struct mlx5_ib_dev;

int mlx5_ib_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int mlx5_ib_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

void mlx5_ib_xrc_fill_qpc(struct mlx5_ib_dev *dev, struct ib_xrcd *ibxrcd, void *qpc);

int mlx5_ib_use_xrc(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_xrc(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_XRC_H */
