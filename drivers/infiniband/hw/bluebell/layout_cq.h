/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queue layout: entry counts, buffer sizes, the CQC and the page
 * geometry that CQ and QP buffers share. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_CQ_H
#define BLUEBELL_LAYOUT_CQ_H

#include <linux/types.h>
#include <rdma/mlx5-abi.h>

/* A queue context gives the offset into the first page in 64ths of a page. */
#define MLX5_IB_PAGE_OFFSET_SHIFT	6

/**
 * struct mlx5_ib_buf_geometry - how a queue buffer is described to the device
 * @page_shift: log2 of the page size of the translation list, in bytes
 * @page_offset: start of the queue in its first page, in page_size / 64
 */
struct mlx5_ib_buf_geometry {
	u8 page_shift;
	u8 page_offset;
};

/**
 * struct mlx5_ib_cq_caps - what the device allows a CQ to be
 * @log_max_cq_sz: log2 of the largest number of CQEs
 * @ignore_overrun: a CQ may be told not to watch for overrun
 * @cqe_128_pad: 64-byte CQEs may be padded to a stride of 128 bytes
 * @compression: 64-byte CQEs may be compressed
 * @compression_128: 128-byte CQEs may be compressed
 * @stride_index: the mini CQE format with checksum and stride index exists
 * @real_time: completions may carry the real-time clock
 */
struct mlx5_ib_cq_caps {
	u8 log_max_cq_sz;
	bool ignore_overrun;
	bool cqe_128_pad;
	bool compression;
	bool compression_128;
	bool stride_index;
	bool real_time;
};

/**
 * struct mlx5_ib_cqc_attr - everything CREATE_CQ writes into a CQC
 * @geo: page geometry of the buffer
 * @log_cq_size: log2 of the number of CQEs
 * @cqe_stride: CQE_STRIDE_64, CQE_STRIDE_128 or CQE_STRIDE_128_PAD
 * @uar_page: device index of the UAR whose CQ doorbell arms this CQ
 * @eqn: the event queue of its completion vector
 * @dbr_addr: DMA address of the doorbell record
 * @ignore_overrun: do not check for overrun
 * @compress: compress CQEs
 * @mini_cqe_format: format of compressed responder CQEs, as the device codes it
 */
struct mlx5_ib_cqc_attr {
	struct mlx5_ib_buf_geometry geo;
	u8 log_cq_size;
	u8 cqe_stride;
	u32 uar_page;
	u32 eqn;
	u64 dbr_addr;
	bool ignore_overrun;
	bool compress;
	u8 mini_cqe_format;
};

int mlx5_ib_cq_entries(unsigned int cqe, u8 log_max_cq_sz);
int mlx5_ib_cq_parse_create(const struct mlx5_ib_create_cq *ucmd, u32 flags,
			    const struct mlx5_ib_cq_caps *caps, struct mlx5_ib_cqc_attr *attr);
void mlx5_ib_fill_cqc(void *cqc, const struct mlx5_ib_cqc_attr *attr);
void mlx5_ib_fill_cqc_resize(void *cqc, u8 log_cq_size, u8 cqe_stride,
			     const struct mlx5_ib_buf_geometry *geo);
void mlx5_ib_quantize_geometry(u64 dma_addr, unsigned long pgsz,
			       struct mlx5_ib_buf_geometry *geo);

#endif /* BLUEBELL_LAYOUT_CQ_H */
