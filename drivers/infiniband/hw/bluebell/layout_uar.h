/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * UAR layout: how many blue-flame registers (bfregs) a context gets, where
 * each lies, which one a queue takes, and what an mmap offset means. Pure
 * functions only; the page size is always an argument.
 */

#ifndef BLUEBELL_LAYOUT_UAR_H
#define BLUEBELL_LAYOUT_UAR_H

#include <linux/types.h>
#include <rdma/mlx5-abi.h>

/* sys_pages[] entry of a dynamic page that has no UAR (yet). */
#define MLX5_IB_INVALID_UAR_INDEX	(~0U)

/*
 * The offset that user space hands to mmap(), in pages: the command in bits 8
 * to 15, an index in bits 0 to 7 that goes on from bit 16.
 */
#define MLX5_IB_MMAP_CMD_SHIFT		8
#define MLX5_IB_MMAP_CMD_MASK		0xff
/*
 * From here on an offset names an object by itself (rdma_user_mmap_entry).
 * What lies below can't reach it: the longest extended index is 9 bits long.
 */
#define MLX5_IB_MMAP_OFFSET_START	(9UL << 16)
#define MLX5_IB_MMAP_OFFSET_END		((256UL << 16) - 1)

/*
 * Where objects are kept that the library maps with MLX5_IB_MMAP_DEVICE_MEM and
 * an index.
 */
#define MLX5_IB_MMAP_DM_START		((unsigned long)MLX5_IB_MMAP_DEVICE_MEM << 16)
#define MLX5_IB_MMAP_DM_END		(MLX5_IB_MMAP_DM_START + (9 << 8) - 1)

/**
 * struct mlx5_bfreg_layout - how many bfregs a context has, and in what pages
 * @uars_per_sys_page: device UARs in one page of the host
 * @num_low_latency_bfregs: bfregs for one queue each, the last static ones
 * @num_static_bfregs: bfregs there from the start
 * @num_dyn_bfregs: bfregs that may be added, a page at a time
 * @num_static_sys_pages: host pages of the static bfregs
 * @num_sys_pages: host pages of all
 */
struct mlx5_bfreg_layout {
	u32 uars_per_sys_page;
	u32 num_low_latency_bfregs;
	u32 num_static_bfregs;
	u32 num_dyn_bfregs;
	u32 num_static_sys_pages;
	u32 num_sys_pages;
};

/**
 * enum mlx5_ib_mmap_kind - what a mapping of the command fd shows
 * @MLX5_IB_MMAP_KIND_STATIC_UAR: UAR page number index of the static ones
 * @MLX5_IB_MMAP_KIND_DYN_UAR: a new UAR in dynamic page number index
 * @MLX5_IB_MMAP_KIND_CORE_CLOCK: the page with the free-running counter
 * @MLX5_IB_MMAP_KIND_CLOCK_INFO: the kernel's page of clock parameters
 * @MLX5_IB_MMAP_KIND_ENTRY: an object, kept at page number index
 */
enum mlx5_ib_mmap_kind {
	MLX5_IB_MMAP_KIND_STATIC_UAR,
	MLX5_IB_MMAP_KIND_DYN_UAR,
	MLX5_IB_MMAP_KIND_CORE_CLOCK,
	MLX5_IB_MMAP_KIND_CLOCK_INFO,
	MLX5_IB_MMAP_KIND_ENTRY,
};

/**
 * struct mlx5_ib_mmap_req - an mmap offset, decoded
 * @kind: what is asked for
 * @index: which of them
 * @wc: write combining rather than uncached
 */
struct mlx5_ib_mmap_req {
	enum mlx5_ib_mmap_kind kind;
	u32 index;
	bool wc;
};

/**
 * mlx5_ib_get_command - what an mmap offset asks for
 * @pgoff: the offset, in pages
 *
 * Return: enum mlx5_ib_mmap_cmd, or a value that isn't one.
 */
static inline u32 mlx5_ib_get_command(unsigned long pgoff)
{
	return (pgoff >> MLX5_IB_MMAP_CMD_SHIFT) & MLX5_IB_MMAP_CMD_MASK;
}

/**
 * mlx5_ib_get_index - which one an mmap offset asks for
 * @pgoff: the offset, in pages
 *
 * Return: the index, 0 to 255.
 */
static inline u32 mlx5_ib_get_index(unsigned long pgoff)
{
	return pgoff & MLX5_IB_MMAP_CMD_MASK;
}

/**
 * mlx5_ib_get_extended_index - which one a longer mmap offset asks for
 * @pgoff: the offset, in pages, below MLX5_IB_MMAP_OFFSET_START
 *
 * Return: the index.
 */
static inline u32 mlx5_ib_get_extended_index(unsigned long pgoff)
{
	return (pgoff >> 16) << MLX5_IB_MMAP_CMD_SHIFT | mlx5_ib_get_index(pgoff);
}

u32 mlx5_ib_uars_per_sys_page(unsigned int page_shift, bool uar_4k);
int mlx5_ib_calc_total_bfregs(u32 total, u32 low_latency, u32 uars_per_sys_page,
			      struct mlx5_bfreg_layout *layout);
int mlx5_ib_pick_bfreg(const struct mlx5_bfreg_layout *layout, const unsigned int *count);
int mlx5_ib_bfreg_to_uar_index(const struct mlx5_bfreg_layout *layout, const u32 *sys_pages,
			       u32 bfregn, bool dyn_bfreg);
u32 mlx5_ib_bfregn_to_user_index(u32 bfregn);
u64 mlx5_ib_uar_to_pfn(u64 bar_addr, u32 uar_index, unsigned int page_shift, bool uar_4k);
int mlx5_ib_decode_mmap_offset(unsigned long pgoff, const struct mlx5_bfreg_layout *layout,
			       struct mlx5_ib_mmap_req *req);

#endif /* BLUEBELL_LAYOUT_UAR_H */
