/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The report of the UARs of all processes, for root.
 */

#ifndef BLUEBELL_UAR_DEBUGFS_H
#define BLUEBELL_UAR_DEBUGFS_H

struct mlx5_ib_dev;

int mlx5_ib_init_uar_debugfs(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_uar_debugfs(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_UAR_DEBUGFS_H */
