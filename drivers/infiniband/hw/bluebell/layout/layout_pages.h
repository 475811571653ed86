/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How the pages of a queue or of a umem are described to the device. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_PAGES_H
#define BLUEBELL_LAYOUT_PAGES_H

#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/mlx5/device.h>
#include <linux/types.h>

struct ib_umem;

/* Queues start at a multiple of 64 bytes, the smallest unit in which a context has an offset. */
#define MLX5_IB_QUEUE_ALIGNMENT		64
/* A context has the offset into the first page in 64ths of a page, in six bits. */
#define MLX5_IB_PAGE_OFFSET_SHIFT	6
#define MLX5_IB_MAX_PAGE_OFFSET		63
/* Page sizes of a queue's translation list: bit n stands for pages of 2^n bytes. */
#define MLX5_IB_QUEUE_PAGE_SIZES \
	GENMASK((int)MLX5_MAX_PAGE_SHIFT, (int)MLX5_ADAPTER_PAGE_SHIFT)
/* wq.page_offset has five bits, one bit less than the same field of other contexts. */
#define MLX5_IB_MAX_WQ_PAGE_OFFSET	31
/* As many pages as fit into a command whose length is an int. Firmware has a lower limit. */
#define MLX5_IB_MAX_UMEM_PAGES \
	((INT_MAX - MLX5_ST_SZ_BYTES(create_umem_in)) / MLX5_ST_SZ_BYTES(mtt))

/**
 * struct mlx5_ib_buf_geometry - how a queue buffer is described to the device
 * @page_shift: log2 of the page size of the translation list, in bytes
 * @page_offset: start of the queue in its first page, in page_size / 64
 */
struct mlx5_ib_buf_geometry {
	u8 page_shift;
	u8 page_offset;
};

int mlx5_ib_quantize_geometry(u64 dma_addr, unsigned long pgsz, u8 max_offset,
			      struct mlx5_ib_buf_geometry *geo);
unsigned long mlx5_ib_umem_page_sizes(u64 wanted);
unsigned long mlx5_ib_umem_best_page(struct ib_umem *umem, u64 wanted);
void mlx5_ib_fill_umem(void *in, struct ib_umem *umem, unsigned long page_size);

#endif /* BLUEBELL_LAYOUT_PAGES_H */
