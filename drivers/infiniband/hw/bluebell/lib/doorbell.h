/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Doorbell records of processes.
 */

#ifndef BLUEBELL_DOORBELL_H
#define BLUEBELL_DOORBELL_H

#include <linux/types.h>

struct mlx5_db;
struct mlx5_ib_ucontext;

int mlx5_ib_db_map_user(struct mlx5_ib_ucontext *context, u64 virt, struct mlx5_db *db);
void mlx5_ib_db_unmap_user(struct mlx5_ib_ucontext *context, struct mlx5_db *db);
void mlx5_ib_db_leave_context(struct mlx5_ib_ucontext *context, struct mlx5_db *db);
unsigned long mlx5_ib_db_user_address(const struct mlx5_db *db);

#endif /* BLUEBELL_DOORBELL_H */
