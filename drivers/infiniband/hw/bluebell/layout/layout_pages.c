// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How the context of a queue describes the queue's pages, and how CREATE_UMEM describes the
 * memory of a process: struct mlx5_ifc_umem_bits, followed by a list of struct mlx5_ifc_mtt_bits.
 * Pure functions only.
 */

#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <rdma/ib_umem.h>

#include "layout/layout_mkey.h"
#include "layout/layout_pages.h"
#include "layout/refuse.h"

static_assert(MLX5_BYTE_OFF(create_umem_in, umem.mtt) == MLX5_ST_SZ_BYTES(create_umem_in));
static_assert(MLX5_ST_SZ_BYTES(mtt) == sizeof(__be64));

/* umem.page_offset has 32 bits, although umem.log_page_size allows pages of up to 2^43 bytes. */
#define UMEM_MAX_PAGE_SHIFT	MIN(32, BITS_PER_LONG - 1)

/* The two lowest bits of struct mlx5_ifc_mtt_bits. */
#define MTT_RD_EN	BIT_ULL(0)
#define MTT_WR_EN	BIT_ULL(1)
static_assert(__mlx5_bit_off(mtt, rd_en) == 63 && __mlx5_bit_off(mtt, wr_en) == 62);

/**
 * mlx5_ib_quantize_geometry - find the largest page size at which a context can hold the offset
 * @dma_addr: where the queue starts
 * @pgsz: largest page size, in bytes, that maps the buffer; at least 4 KiB
 * @max_offset: largest value of the context's offset field, in 64ths of a page
 * @geo: the result
 *
 * A context has the offset of a queue in its first page in 64ths of that page, so larger pages
 * allow only coarser offsets. Each smaller page size maps the buffer, too; with pages of 4 KiB the
 * unit is the 64 bytes that queues are aligned to. A smaller page size can also help if the offset
 * is too large for the field, because the offset into a smaller page can be smaller.
 *
 * Return: 0, or -EINVAL for a queue whose offset the field cannot hold at any page size.
 */
int mlx5_ib_quantize_geometry(u64 dma_addr, unsigned long pgsz, u8 max_offset,
			      struct mlx5_ib_buf_geometry *geo)
{
	u64 offset, quantum;
	u8 shift;

	for (shift = ilog2(pgsz); shift >= MLX5_ADAPTER_PAGE_SHIFT; shift--) {
		offset = dma_addr & (BIT_ULL(shift) - 1);
		quantum = BIT_ULL(shift - MLX5_IB_PAGE_OFFSET_SHIFT);
		if (offset & (quantum - 1) || offset > max_offset * quantum)
			continue;
		geo->page_shift = shift;
		geo->page_offset = offset >> (shift - MLX5_IB_PAGE_OFFSET_SHIFT);
		return 0;
	}
	return refuse(NULL, -EINVAL,
		      "queue buffer at byte %u of a 4 KiB page, not a multiple of 64 up to %u",
		      (u32)(dma_addr & (MLX5_ADAPTER_PAGE_SIZE - 1)), max_offset * 64U);
}

/**
 * mlx5_ib_umem_page_sizes - page sizes that can be used for a umem
 * @wanted: sizes that the process accepts; bit n stands for pages of 2^n bytes
 *
 * Return: the sizes of @wanted that CREATE_UMEM and this host can express; 0 for none.
 */
unsigned long mlx5_ib_umem_page_sizes(u64 wanted)
{
	return wanted & GENMASK(UMEM_MAX_PAGE_SHIFT, MLX5_ADAPTER_PAGE_SHIFT);
}

/**
 * mlx5_ib_umem_best_page - choose the size of the pages of a umem
 * @umem: the memory, pinned and mapped for DMA; gets the iova that mlx5_ib_fill_umem() needs
 * @wanted: sizes that the process accepts; bit n stands for pages of 2^n bytes
 *
 * CREATE_UMEM has no length in bytes, so a process can use all bytes of a umem's pages, for example
 * with a key over the umem. A page that extends beyond the memory would give the process access to
 * memory that is not its own. So, of the sizes of @wanted by which the memory can be described, the
 * function chooses the largest for which @umem, rounded to PAGE_SIZE, starts and ends at the
 * boundary of a page.
 *
 * Return: bytes; 0 if the memory does not consist of pages of any of these sizes.
 */
unsigned long mlx5_ib_umem_best_page(struct ib_umem *umem, u64 wanted)
{
	u64 first = ALIGN_DOWN((u64)ib_umem_start_dma_addr(umem), PAGE_SIZE);
	u64 bytes = (u64)ib_umem_num_pages(umem) << PAGE_SHIFT;

	wanted &= GENMASK_ULL(__ffs64(first | bytes), 0);
	return ib_umem_find_best_pgoff(umem, mlx5_ib_umem_page_sizes(wanted), U32_MAX);
}

/**
 * mlx5_ib_fill_umem - build CREATE_UMEM
 * @in: zeroed struct mlx5_ifc_create_umem_in_bits, with room for ib_umem_num_dma_blocks(@umem,
 *	@page_size) entries after it
 * @umem: the memory; mlx5_ib_umem_best_page() has set its iova
 * @page_size: bytes; the size that mlx5_ib_umem_best_page() returned
 *
 * The device may write to the memory if @umem is writable.
 */
void mlx5_ib_fill_umem(void *in, struct ib_umem *umem, unsigned long page_size)
{
	__be64 rights = cpu_to_be64(MTT_RD_EN | (umem->writable ? MTT_WR_EN : 0));
	size_t i, num = ib_umem_num_dma_blocks(umem, page_size);
	__be64 *mtt = MLX5_ADDR_OF(create_umem_in, in, umem.mtt);

	MLX5_SET(create_umem_in, in, opcode, MLX5_CMD_OP_CREATE_UMEM);
	MLX5_SET(create_umem_in, in, umem.log_page_size,
		 ilog2(page_size) - MLX5_ADAPTER_PAGE_SHIFT);
	MLX5_SET(create_umem_in, in, umem.page_offset, ib_umem_dma_offset(umem, page_size));
	MLX5_SET64(create_umem_in, in, umem.num_of_mtt, num);
	mlx5_ib_populate_pas(umem, page_size, mtt);
	for (i = 0; i < num; i++)
		mtt[i] |= rights;
}
