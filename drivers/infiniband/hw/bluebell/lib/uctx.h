/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * User ids of the firmware.
 */

#ifndef BLUEBELL_UCTX_H
#define BLUEBELL_UCTX_H

#include <linux/types.h>

struct mlx5_ib_dev;
struct mlx5_ib_ucontext;

int mlx5_ib_create_uctx(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context);
void mlx5_ib_destroy_uctx(struct mlx5_ib_ucontext *context);

#endif /* BLUEBELL_UCTX_H */
