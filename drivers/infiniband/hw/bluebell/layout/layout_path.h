/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Address paths of queue pairs and address vectors of datagrams. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_PATH_H
#define BLUEBELL_LAYOUT_PATH_H

#include <linux/mlx5/qp.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

u8 mlx5_ib_rate_to_hw(u8 rate, u16 supported);
u8 mlx5_ib_rate_from_hw(u8 code);
int mlx5_ib_check_ah(const struct rdma_ah_attr *ah);
void mlx5_ib_fill_path(void *ads, const struct rdma_ah_attr *ah, u16 rate_support);
void mlx5_ib_read_path(const void *ads, struct rdma_ah_attr *ah);
void mlx5_ib_fill_av(struct mlx5_av *av, const struct rdma_ah_attr *ah, u16 rate_support);
void mlx5_ib_read_av(const struct mlx5_av *av, struct rdma_ah_attr *ah);

#endif /* BLUEBELL_LAYOUT_PATH_H */
