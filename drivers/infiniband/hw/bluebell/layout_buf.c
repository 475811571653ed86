// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How the memory of a queue is described in the queue's context. Pure functions
 * only.
 */

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/mlx5/device.h>

#include "layout_buf.h"
#include "refuse.h"

/**
 * mlx5_ib_quantize_geometry - largest page whose offset a context can express
 * @dma_addr: where the queue starts
 * @pgsz: largest page size, in bytes, that maps the buffer; at least 4 KiB
 * @max_offset: largest value of the context's offset field, in 64ths of a page
 * @geo: the result
 *
 * A context counts the offset of a queue in its first page in 64ths of that
 * page: the offset into a larger page is coarser. Every smaller page maps the
 * buffer, too, and at 4 KiB the quantum is the 64 bytes that queues are aligned
 * to. A queue that starts beyond what a short offset field can hold needs smaller
 * pages, as well.
 *
 * Return: 0, or -EINVAL for a queue whose offset into the smallest page does not
 * fit the field.
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
	return refuse(-EINVAL, "queue %u bytes into a page, at most %u times 64 are possible",
		      (u32)(dma_addr & (MLX5_ADAPTER_PAGE_SIZE - 1)), max_offset);
}
