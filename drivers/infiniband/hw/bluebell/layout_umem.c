// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How CREATE_UMEM describes the memory of a process: struct mlx5_ifc_umem_bits, and a list of
 * struct mlx5_ifc_mtt_bits behind it.
 */

#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mlx5/driver.h>
#include <rdma/ib_umem.h>

#include "layout_mkey.h"
#include "layout_umem.h"

static_assert(MLX5_BYTE_OFF(create_umem_in, umem.mtt) == MLX5_ST_SZ_BYTES(create_umem_in));
static_assert(MLX5_ST_SZ_BYTES(mtt) == sizeof(__be64));

/* The offset of the first byte in its page has 32 bits; log_page_size could say 2^43. */
#define UMEM_MAX_PAGE_SHIFT	MIN(32, BITS_PER_LONG - 1)

/* The last bits of struct mlx5_ifc_mtt_bits. */
#define MTT_RD_EN	BIT_ULL(0)
#define MTT_WR_EN	BIT_ULL(1)
static_assert(__mlx5_bit_off(mtt, rd_en) == 63 && __mlx5_bit_off(mtt, wr_en) == 62);

/**
 * mlx5_ib_umem_page_sizes - which sizes the pages of a umem may have
 * @wanted: sizes that the process accepts; bit n stands for pages of 2^n bytes
 *
 * Return: those of them that the device has; 0 if there is none.
 */
unsigned long mlx5_ib_umem_page_sizes(u64 wanted)
{
	return wanted & GENMASK(UMEM_MAX_PAGE_SHIFT, MLX5_ADAPTER_PAGE_SHIFT);
}

/**
 * mlx5_ib_umem_best_page - choose the size of the pages of a umem
 * @umem: the memory, pinned and mapped; its iova is set as mlx5_ib_fill_umem() needs it
 * @wanted: sizes that the process accepts; bit n stands for pages of 2^n bytes
 *
 * CREATE_UMEM has no length: the device lets the process use all of a umem's pages, for example
 * with a key over the umem. A page that is larger than the memory would give it the memory of
 * others. So @umem, rounded to pages of the processor, begins and ends with a page of the size
 * chosen, which is the largest for which that is so.
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
 *	@page_size) entries behind it
 * @umem: the memory; its iova has been set by mlx5_ib_umem_best_page()
 * @page_size: bytes; a size that this function gave
 *
 * The device may write to the memory if the process may.
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
