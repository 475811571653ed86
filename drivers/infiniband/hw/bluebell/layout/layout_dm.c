// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory layout: the size of an allocation, its pages in the part of BAR 0 that has the
 * device memory (the window), and the key over it. Pure functions only; the page size is always an
 * argument.
 */

#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mlx5/driver.h>
#include <rdma/ib_verbs.h>

#include "layout/caps.h"
#include "layout/layout_dm.h"
#include "layout/layout_mkey.h"
#include "layout/refuse.h"

#define DM_ACCESS								\
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |	\
	 IB_ACCESS_REMOTE_ATOMIC | IB_ZERO_BASED | IB_ACCESS_OPTIONAL)

/**
 * mlx5_ib_has_dm - whether the device has memory for users
 * @caps: what the device can do
 * @page_shift: log2 of the host's page size
 *
 * Processes map whole pages of the host, so the driver uses the window in BAR 0 only if the window
 * consists of whole pages.
 *
 * Return: true if the device has memory that the driver can use.
 */
bool mlx5_ib_has_dm(const struct mlx5_ib_caps *caps, unsigned int page_shift)
{
	u64 start = MLX5_CAP64_DEV_MEM(caps->mdev, memic_bar_start_addr);
	u32 size = MLX5_CAP_DEV_MEM(caps->mdev, memic_bar_size);

	return MLX5_CAP_GEN(caps->mdev, device_memory) && MLX5_CAP_DEV_MEM(caps->mdev, memic) &&
	       size && IS_ALIGNED(start | size, 1ULL << page_shift);
}

/**
 * mlx5_ib_max_dm - size of the longest allocation
 * @caps: what the device can do; it has memory for users
 *
 * Return: bytes.
 */
u32 mlx5_ib_max_dm(const struct mlx5_ib_caps *caps)
{
	return min(MLX5_CAP_DEV_MEM(caps->mdev, max_memic_size),
		   MLX5_CAP_DEV_MEM(caps->mdev, memic_bar_size));
}

/**
 * mlx5_ib_check_dm - check a request for device memory
 * @length: bytes
 * @log_align: log2 of the alignment asked for, in bytes
 * @caps: what the device can do; it has memory for users
 *
 * Return: 0; -EINVAL for a length or an alignment that no allocation can have.
 */
int mlx5_ib_check_dm(u64 length, u32 log_align, const struct mlx5_ib_caps *caps)
{
	u32 log_max_align = MLX5_CAP_DEV_MEM(caps->mdev, log_max_memic_addr_alignment) +
			    MLX5_IB_MEMIC_BASE_SHIFT;

	return length && length <= mlx5_ib_max_dm(caps) && log_align <= log_max_align ? 0 :
	       refuse(caps->mdev, -EINVAL,
		      "device memory of %llu bytes, 1 to %u are possible; alignment 2^%u, at most 2^%u",
		      length, mlx5_ib_max_dm(caps), log_align, log_max_align);
}

/**
 * mlx5_ib_dm_alloc_size - how many bytes to ask for with ALLOC_MEMIC
 * @length: bytes that the user asks for, checked by mlx5_ib_check_dm()
 * @caps: what the device can do
 *
 * Return: @length, rounded up to the unit in which the device allocates.
 */
u32 mlx5_ib_dm_alloc_size(u32 length, const struct mlx5_ib_caps *caps)
{
	return ALIGN(length, 1U << max(MLX5_CAP_DEV_MEM(caps->mdev, log_min_memic_alloc_size),
				       MLX5_IB_MEMIC_BASE_SHIFT));
}

/**
 * mlx5_ib_dm_find_pages - find free pages of the window for an allocation
 * @used: bitmap of the window's pages
 * @caps: what the device can do; it has memory for users
 * @page_shift: log2 of the host's page size
 * @from: number of the page at which the search starts
 * @length: bytes of the allocation
 * @log_align: log2 of the alignment of the address in BAR 0
 *
 * Return: number of the first page; the number of pages in the window if there are not enough
 * contiguous free pages from @from on.
 */
unsigned long mlx5_ib_dm_find_pages(const unsigned long *used, const struct mlx5_ib_caps *caps,
				    unsigned int page_shift, unsigned long from, u32 length,
				    u32 log_align)
{
	unsigned long num_pages = MLX5_CAP_DEV_MEM(caps->mdev, memic_bar_size) >> page_shift;
	u64 start = MLX5_CAP64_DEV_MEM(caps->mdev, memic_bar_start_addr);
	unsigned long align = log_align > page_shift ? 1UL << (log_align - page_shift) : 1;
	unsigned long page;

	page = bitmap_find_next_zero_area_off((unsigned long *)used, num_pages, from,
					      DIV_ROUND_UP(length, 1U << page_shift), align - 1,
					      start >> page_shift);
	return min(page, num_pages);
}

/**
 * mlx5_ib_check_dm_access - check the access flags of a new region over device memory
 * @access: enum ib_access_flags
 *
 * Return: 0; -EINVAL for a region that is not zero based; -EOPNOTSUPP for any access flag that is
 * not in DM_ACCESS.
 */
int mlx5_ib_check_dm_access(u32 access)
{
	if (!(access & IB_ZERO_BASED))
		return refuse(NULL, -EINVAL,
			      "MR over device memory with access %#x, needs IB_ZERO_BASED", access);
	return !(access & ~DM_ACCESS) ? 0 :
	       refuse(NULL, -EOPNOTSUPP, "MR over device memory with access %#x, supported: %#x",
		      access, DM_ACCESS);
}

/**
 * mlx5_ib_fill_memic_mkey - build CREATE_MKEY for device memory
 * @in: zeroed struct mlx5_ifc_create_mkey_in_bits
 * @attr: attributes of the key, which has no translation entries
 * @addr: offset of the region's first byte in BAR 0
 * @caps: says whether the device supports relaxed ordering
 *
 * In access mode MEMIC the key's start address is @addr, and requests use addresses from 0 on.
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
