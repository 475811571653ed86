/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How CREATE_UMEM describes the memory of a process.
 */

#ifndef BLUEBELL_LAYOUT_UMEM_H
#define BLUEBELL_LAYOUT_UMEM_H

#include <linux/limits.h>
#include <linux/mlx5/device.h>
#include <linux/types.h>

struct ib_umem;

/* As many as a command whose length is an int can list. The firmware's limit is lower. */
#define MLX5_IB_MAX_UMEM_PAGES \
	((INT_MAX - MLX5_ST_SZ_BYTES(create_umem_in)) / MLX5_ST_SZ_BYTES(mtt))

unsigned long mlx5_ib_umem_page_sizes(u64 wanted);
unsigned long mlx5_ib_umem_best_page(struct ib_umem *umem, u64 wanted);
void mlx5_ib_fill_umem(void *in, struct ib_umem *umem, unsigned long page_size);

#endif /* BLUEBELL_LAYOUT_UMEM_H */
