/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How often the device has reported the same page fault again.
 */

#ifndef BLUEBELL_ODP_REPEATED_H
#define BLUEBELL_ODP_REPEATED_H

#include "layout/layout_odp.h"
#include "odp/odp_internal.h"

unsigned int mlx5_ib_odp_repeated_get(struct mlx5_ib_odp *odp, const struct mlx5_ib_fault *fault);
void mlx5_ib_odp_repeated_set(struct mlx5_ib_odp *odp, const struct mlx5_ib_fault *fault,
			      unsigned int times);
void mlx5_ib_odp_repeated_forget(struct mlx5_ib_odp *odp, u32 key);

#endif /* BLUEBELL_ODP_REPEATED_H */
