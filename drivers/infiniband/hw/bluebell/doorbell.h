/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Doorbell records of users: the pages they lie in, each pinned once.
 */

#ifndef BLUEBELL_DOORBELL_H
#define BLUEBELL_DOORBELL_H

#include <linux/types.h>

struct ib_umem;
struct mlx5_db;
struct mlx5_ib_dev;
struct mlx5_ib_ucontext;

struct ib_umem *mlx5_ib_umem_get(struct mlx5_ib_dev *dev, unsigned long addr, size_t size,
				 int access);
int mlx5_ib_db_map_user(struct mlx5_ib_ucontext *context, unsigned long virt,
			struct mlx5_db *db);
void mlx5_ib_db_unmap_user(struct mlx5_ib_ucontext *context, struct mlx5_db *db);

#endif /* BLUEBELL_DOORBELL_H */
