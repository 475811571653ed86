/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * UAR layout: how many blue-flame registers (bfregs) the context of a process gets, in which UAR
 * each bfreg lies, which bfreg a queue takes, and the offsets that mmap() is called with. Pure
 * functions only; mlx5_ib_uar_address() alone depends on PAGE_SIZE.
 */

#ifndef BLUEBELL_LAYOUT_UAR_H
#define BLUEBELL_LAYOUT_UAR_H

#include <linux/types.h>
#include <rdma/bluebell-abi.h>
#include <rdma/mlx5-abi.h>

struct mlx5_core_dev;

/* Entry of sys_pages[] for a dynamic page that has no UAR yet. */
#define MLX5_IB_INVALID_UAR_INDEX	(~0U)

/*
 * The offset that user space passes to mmap(), in pages, has a command in bits 8 to 15 and an
 * index. The index has its low 8 bits in bits 0 to 7 of the offset, and its other bits from bit 16
 * on. From MLX5_IB_MMAP_OFFSET_START on, an offset has no command, but names an object
 * (rdma_user_mmap_entry). Offsets with a command are smaller, because no command has more than
 * 9 << 8 indices.
 */
#define MLX5_IB_MMAP_OFFSET_START	(9UL << 16)
#define MLX5_IB_MMAP_OFFSET_END		((256UL << 16) - 1)

/*
 * Offsets of the rdma_user_mmap_entry of device memory. The library maps device memory with the
 * command MLX5_IB_MMAP_DEVICE_MEM and an index, which is such an offset minus
 * MLX5_IB_MMAP_DM_START.
 */
#define MLX5_IB_MMAP_DM_START		((unsigned long)MLX5_IB_MMAP_DEVICE_MEM << 16)
#define MLX5_IB_MMAP_DM_END		(MLX5_IB_MMAP_DM_START + (9 << 8) - 1)

/**
 * struct mlx5_bfreg_layout - how many bfregs a context has, and in what pages
 * @uars_per_sys_page: device UARs in one page of the host
 * @num_low_latency_bfregs: bfregs that serve one queue each; they are the static bfregs with the
 *	highest numbers
 * @num_static_bfregs: bfregs that the context has from the start
 * @num_dyn_bfregs: bfregs that can be added, a page at a time
 * @num_static_sys_pages: host pages of the static bfregs
 * @num_sys_pages: host pages of all bfregs
 */
struct mlx5_bfreg_layout {
	u32 uars_per_sys_page;
	u32 num_low_latency_bfregs;
	u32 num_static_bfregs;
	u32 num_dyn_bfregs;
	u32 num_static_sys_pages;
	u32 num_sys_pages;
};

u32 mlx5_ib_uars_per_sys_page(unsigned int page_shift, bool uar_4k);
u32 mlx5_ib_first_uar(const struct mlx5_bfreg_layout *layout, u32 uar);
int mlx5_ib_calc_total_bfregs(u32 total, u32 low_latency, unsigned int page_shift, bool uar_4k,
			      struct mlx5_bfreg_layout *layout);
int mlx5_ib_pick_bfreg(const struct mlx5_bfreg_layout *layout, const unsigned int *count);
int mlx5_ib_bfreg_to_uar_index(const struct mlx5_bfreg_layout *layout, const u32 *sys_pages,
			       u32 bfregn, bool dyn_bfreg);
u32 mlx5_ib_bfregn_to_user_index(u32 bfregn);
enum bluebell_bfreg_class mlx5_ib_bfreg_class(const struct mlx5_bfreg_layout *layout, u32 number);
phys_addr_t mlx5_ib_uar_address(struct mlx5_core_dev *mdev, u32 uar_index);
u32 mlx5_ib_uar_page_pgoff(const struct mlx5_bfreg_layout *layout, u32 page);
int mlx5_ib_decode_mmap_offset(unsigned long pgoff, const struct mlx5_bfreg_layout *layout,
			       u32 *index);

#if IS_ENABLED(CONFIG_KUNIT)
u64 mlx5_ib_uar_to_pfn(u64 bar_addr, u32 uar_index, unsigned int page_shift, bool uar_4k);
#endif

#endif /* BLUEBELL_LAYOUT_UAR_H */
