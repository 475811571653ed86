/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory keys that wait for the next region of their size.
 */

#ifndef BLUEBELL_MKEY_CACHE_H
#define BLUEBELL_MKEY_CACHE_H

#include <linux/types.h>

#include "layout_cache.h"

struct mlx5_ib_dev;

int mlx5_ib_choose_class(struct mlx5_ib_dev *dev, u32 nmtts, u32 access,
			 const struct mlx5_ib_mkey_caps *caps);
int mlx5_ib_make_free_mkey(struct mlx5_ib_dev *dev, u32 nmtts, u32 access, u32 *mkey);
bool mlx5_ib_take_mkey(struct mlx5_ib_dev *dev, int class, u32 *mkey);
void mlx5_ib_put_mkey(struct mlx5_ib_dev *dev, int class, u32 mkey);
void mlx5_ib_lose_mkey(struct mlx5_ib_dev *dev, int class);

int mlx5_ib_init_mkey_cache(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_mkey_cache(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_MKEY_CACHE_H */
