/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work on memory keys without firmware commands.
 */

#ifndef BLUEBELL_UMR_H
#define BLUEBELL_UMR_H

#include <linux/types.h>

#include "layout_umr.h"

struct ib_umem;
struct mlx5_ib_dev;

int mlx5_ib_umr_reg(struct mlx5_ib_dev *dev, struct ib_umem *umem,
		    const struct mlx5_ib_mkc_attr *attr, const struct mlx5_ib_mkey_caps *caps,
		    u32 *mkey);
int mlx5_ib_umr_map(struct mlx5_ib_dev *dev, struct ib_umem *umem, u32 mkey, u8 page_shift);
int mlx5_ib_umr_change(struct mlx5_ib_dev *dev, u32 mkey, u32 access, u32 pdn,
		       const struct mlx5_ib_mkey_caps *caps);
int mlx5_ib_umr_revoke(struct mlx5_ib_dev *dev, u32 mkey);

#endif /* BLUEBELL_UMR_H */
