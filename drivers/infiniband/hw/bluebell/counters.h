/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters of the port and of queue pairs.
 */

#ifndef BLUEBELL_COUNTERS_H
#define BLUEBELL_COUNTERS_H

struct mlx5_ib_dev;

int mlx5_ib_init_counters(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_counters(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_COUNTERS_H */
