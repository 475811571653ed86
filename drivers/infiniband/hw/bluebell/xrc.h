/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * XRC domains, and what the driver itself gives XRC queue pairs.
 */

#ifndef BLUEBELL_XRC_H
#define BLUEBELL_XRC_H

#include <rdma/ib_verbs.h>

struct mlx5_ib_dev;

/**
 * struct mlx5_ib_xrcd - XRC domain
 * @ibxrcd: as the RDMA core sees it; first
 * @xrcdn: number
 */
struct mlx5_ib_xrcd {
	struct ib_xrcd ibxrcd;
	u32 xrcdn;
};

static inline struct mlx5_ib_xrcd *to_mxrcd(struct ib_xrcd *ibxrcd)
{
	return container_of(ibxrcd, struct mlx5_ib_xrcd, ibxrcd);
}

int mlx5_ib_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int mlx5_ib_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

void mlx5_ib_xrc_fill_qpc(struct mlx5_ib_dev *dev, struct ib_xrcd *ibxrcd, void *qpc);

int mlx5_ib_use_xrc(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_xrc(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_XRC_H */
