/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * DEVX: firmware's user ids, and the methods of the ioctl object MLX5_IB_OBJECT_DEVX.
 */

#ifndef BLUEBELL_DEVX_H
#define BLUEBELL_DEVX_H

#include <linux/types.h>
#include <rdma/uverbs_ioctl.h>

struct mlx5_ib_dev;

extern const struct uapi_definition mlx5_ib_devx_defs[];

int mlx5_ib_create_uctx(struct mlx5_ib_dev *dev, u16 *uid);
void mlx5_ib_destroy_uctx(struct mlx5_ib_dev *dev, u16 uid);

#endif /* BLUEBELL_DEVX_H */
