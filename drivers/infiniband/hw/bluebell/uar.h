/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A context's UARs: its static and dynamic pages, the queues on each bfreg, and
 * references to UAR objects.
 */

#ifndef BLUEBELL_UAR_H
#define BLUEBELL_UAR_H

#include <linux/types.h>

struct mlx5_bfreg_info;
struct mlx5_ib_dev;
struct mlx5_ib_ucontext;
struct mlx5_user_mmap_entry;

void mlx5_ib_free_uar(struct mlx5_ib_dev *dev, u16 uid, u32 uarn);
int mlx5_ib_calc_bfregs(struct mlx5_ib_dev *dev, u32 total, u32 low_latency,
			struct mlx5_bfreg_info *bfregi);
int mlx5_ib_allocate_uars(struct mlx5_ib_ucontext *context);
void mlx5_ib_deallocate_uars(struct mlx5_ib_ucontext *context);
int mlx5_ib_alloc_bfreg(struct mlx5_bfreg_info *bfregi);
void mlx5_ib_free_bfreg(struct mlx5_bfreg_info *bfregi, int bfregn);
int bfregn_to_uar_index(struct mlx5_bfreg_info *bfregi, u32 bfregn, bool dyn_bfreg);
struct mlx5_user_mmap_entry *mlx5_ib_get_uar(struct mlx5_ib_ucontext *context, u32 page_id);
void mlx5_ib_put_uar(struct mlx5_user_mmap_entry *entry);

#endif /* BLUEBELL_UAR_H */
