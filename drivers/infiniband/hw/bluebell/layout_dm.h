/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Device memory layout: the size of an allocation, its pages of the window, and the
 * key over it. Pure functions only; the page size is always an
 * argument.
 */

#ifndef BLUEBELL_LAYOUT_DM_H
#define BLUEBELL_LAYOUT_DM_H

#include <linux/types.h>

struct mlx5_ib_caps;
struct mlx5_ib_mkc_attr;

/* Firmware counts alignment in units of 64 bytes. */
#define MLX5_IB_MEMIC_BASE_SHIFT	6

/**
 * struct mlx5_ib_dm_window - the device's memory for users, computed from capabilities
 * @start: of the window, in bytes from the start of BAR 0
 * @size: of the window, in bytes; 0 if the device has no memory for users
 * @max_alloc: longest allocation, in bytes
 * @log_min_alloc: log2 of the unit that allocations are multiples of
 * @log_max_align: log2 of the greatest alignment
 * @operations: bit for each operation on the memory that the device supports
 */
struct mlx5_ib_dm_window {
	u64 start;
	u32 size;
	u32 max_alloc;
	u8 log_min_alloc;
	u8 log_max_align;
	u32 operations;
};

void mlx5_ib_read_dm_window(const void *cap, unsigned int page_shift,
			    struct mlx5_ib_dm_window *window);
int mlx5_ib_check_dm(u64 length, u32 log_align, const struct mlx5_ib_dm_window *window);
u32 mlx5_ib_dm_alloc_size(u32 length, const struct mlx5_ib_dm_window *window);
u8 mlx5_ib_dm_fw_align(u32 log_align);
unsigned long mlx5_ib_dm_find_pages(const unsigned long *used,
				    const struct mlx5_ib_dm_window *window,
				    unsigned int page_shift, unsigned long from, u32 length,
				    u32 log_align);
int mlx5_ib_check_dm_access(u32 access);
void mlx5_ib_fill_memic_mkey(void *in, const struct mlx5_ib_mkc_attr *attr, u64 addr,
			     const struct mlx5_ib_caps *caps);

#endif /* BLUEBELL_LAYOUT_DM_H */
