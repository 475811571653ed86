// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory layout: the size of an allocation, its pages of the window, and the
 * key over it. Pure functions only; the page size is always an
 * argument.
 */

#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mlx5/device.h>
#include <rdma/ib_verbs.h>

#include "layout_dm.h"
#include "layout_mkey.h"

#define DM_ACCESS								\
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |	\
	 IB_ACCESS_REMOTE_ATOMIC | IB_ZERO_BASED | IB_ACCESS_OPTIONAL)

/**
 * mlx5_ib_read_dm_window - what memory the device has for users
 * @cap: struct mlx5_ifc_device_mem_cap_bits
 * @page_shift: log2 of the host's page size
 * @window: filled in
 *
 * Processes map whole pages, so a window that does not begin and end with a page of
 * the host cannot be used, and reads as none.
 */
void mlx5_ib_read_dm_window(const void *cap, unsigned int page_shift,
			    struct mlx5_ib_dm_window *window)
{
	u64 start = MLX5_GET64(device_mem_cap, cap, memic_bar_start_addr);
	u32 size = MLX5_GET(device_mem_cap, cap, memic_bar_size);

	*window = (struct mlx5_ib_dm_window){};
	if (!MLX5_GET(device_mem_cap, cap, memic) || !size ||
	    !IS_ALIGNED(start | size, 1ULL << page_shift))
		return;
	window->start = start;
	window->size = size;
	window->max_alloc = min(MLX5_GET(device_mem_cap, cap, max_memic_size), size);
	window->log_min_alloc = max(MLX5_GET(device_mem_cap, cap, log_min_memic_alloc_size),
				    MLX5_IB_MEMIC_BASE_SHIFT);
	window->log_max_align = MLX5_GET(device_mem_cap, cap, log_max_memic_addr_alignment) +
				MLX5_IB_MEMIC_BASE_SHIFT;
	window->operations = MLX5_GET(device_mem_cap, cap, memic_operations);
}

/**
 * mlx5_ib_check_dm - check a request for device memory
 * @length: bytes
 * @log_align: log2 of the alignment asked for
 * @window: the device's memory for users
 *
 * Return: 0; -EOPNOTSUPP if the device has none; -EINVAL for a length or an
 * alignment that no allocation can have.
 */
int mlx5_ib_check_dm(u64 length, u32 log_align, const struct mlx5_ib_dm_window *window)
{
	if (!window->size)
		return -EOPNOTSUPP;
	if (!length || length > window->max_alloc || log_align > window->log_max_align)
		return -EINVAL;
	return 0;
}

/**
 * mlx5_ib_dm_alloc_size - size of an allocation as ALLOC_MEMIC takes it
 * @length: bytes that the user asks for, checked
 * @window: the device's memory for users
 *
 * Return: bytes.
 */
u32 mlx5_ib_dm_alloc_size(u32 length, const struct mlx5_ib_dm_window *window)
{
	return ALIGN(length, 1U << window->log_min_alloc);
}

/**
 * mlx5_ib_dm_fw_align - alignment as ALLOC_MEMIC takes it
 * @log_align: log2 of the alignment in bytes
 *
 * Return: log2 of the alignment in units of 64 bytes.
 */
u8 mlx5_ib_dm_fw_align(u32 log_align)
{
	return log_align > MLX5_IB_MEMIC_BASE_SHIFT ? log_align - MLX5_IB_MEMIC_BASE_SHIFT : 0;
}

/**
 * mlx5_ib_dm_find_pages - find free pages of the window for an allocation
 * @used: bitmap of the window's pages
 * @window: the device's memory for users
 * @page_shift: log2 of the host's page size
 * @from: first page to look at
 * @length: bytes
 * @log_align: log2 of the alignment of the address in BAR 0
 *
 * Return: number of the first page, or the number of pages in the window if
 * there are not enough that are free and lie together.
 */
unsigned long mlx5_ib_dm_find_pages(const unsigned long *used,
				    const struct mlx5_ib_dm_window *window,
				    unsigned int page_shift, unsigned long from, u32 length,
				    u32 log_align)
{
	unsigned long num_pages = window->size >> page_shift;
	unsigned long align = log_align > page_shift ? 1UL << (log_align - page_shift) : 1;
	unsigned long page;

	page = bitmap_find_next_zero_area_off((unsigned long *)used, num_pages, from,
					      DIV_ROUND_UP(length, 1U << page_shift), align - 1,
					      window->start >> page_shift);
	return min(page, num_pages);
}

/**
 * mlx5_ib_check_dm_access - check the access to a region over device memory
 * @access: enum ib_access_flags
 *
 * Return: 0; -EINVAL for a region that is not zero based; -EOPNOTSUPP for access
 * that makes no sense without pages of the host, or is not known.
 */
int mlx5_ib_check_dm_access(u32 access)
{
	if (!(access & IB_ZERO_BASED))
		return -EINVAL;
	return access & ~DM_ACCESS ? -EOPNOTSUPP : 0;
}

/**
 * mlx5_ib_fill_memic_mkey - build CREATE_MKEY for device memory
 * @in: zeroed struct mlx5_ifc_create_mkey_in_bits
 * @attr: what to write; the key has no translation entries
 * @addr: of the region's first byte, from the start of BAR 0
 * @caps: says whether relaxed ordering can be had
 *
 * In this access mode the key's start is the address in the device, and the
 * addresses that it is used with begin at 0.
 */
void mlx5_ib_fill_memic_mkey(void *in, const struct mlx5_ib_mkc_attr *attr, u64 addr,
			     const struct mlx5_ib_caps *caps)
{
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);

	mlx5_ib_fill_create_mkey(in, attr, caps);
	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_MEMIC & 0x3);
	MLX5_SET(mkc, mkc, access_mode_4_2, MLX5_MKC_ACCESS_MODE_MEMIC >> 2);
	MLX5_SET64(mkc, mkc, start_addr, addr);
}
