/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queue layout: entry counts, the library's request and the CQC. Pure
 * functions only.
 */

#ifndef BLUEBELL_LAYOUT_CQ_H
#define BLUEBELL_LAYOUT_CQ_H

#include <linux/types.h>
#include <rdma/mlx5-abi.h>

#include "layout_buf.h"

struct mlx5_ib_caps;

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
			    const struct mlx5_ib_caps *caps, struct mlx5_ib_cqc_attr *attr);
void mlx5_ib_fill_cqc(void *cqc, const struct mlx5_ib_cqc_attr *attr);
void mlx5_ib_fill_cqc_resize(void *cqc, u8 log_cq_size, u8 cqe_stride,
			     const struct mlx5_ib_buf_geometry *geo);

#endif /* BLUEBELL_LAYOUT_CQ_H */
