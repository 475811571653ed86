/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Registration without firmware commands: free memory keys kept by size class,
 * and the driver's own queue pair that fills, changes and frees them.
 */

#ifndef BLUEBELL_UMR_H
#define BLUEBELL_UMR_H

#include <linux/types.h>

#include "layout_umr.h"

struct ib_umem;
struct mlx5_ib_dev;

int mlx5_ib_umr_choose_class(struct mlx5_ib_dev *dev, u32 access, u32 nmtts);
int mlx5_ib_umr_reg(struct mlx5_ib_dev *dev, int class, struct ib_umem *umem,
		    const struct mlx5_ib_mkc_attr *attr, const struct mlx5_ib_mkey_caps *caps,
		    u32 *mkey);
int mlx5_ib_umr_change(struct mlx5_ib_dev *dev, int class, u32 mkey, u32 access, u32 pdn);
int mlx5_ib_umr_revoke(struct mlx5_ib_dev *dev, int class, u32 mkey);

int mlx5_ib_init_umr(struct mlx5_ib_dev *dev);
void mlx5_ib_abort_umr(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_umr(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_UMR_H */
