/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queue layout: the number of entries, the library's request and the context of a CQ
 * (CQC). Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_CQ_H
#define BLUEBELL_LAYOUT_CQ_H

#include <linux/types.h>
#include <rdma/mlx5-abi.h>

#include "layout/layout_pages.h"

struct mlx5_ib_caps;

int mlx5_ib_cq_entries(unsigned int cqe, u8 log_max_cq_sz);
int mlx5_ib_cq_parse_create(const struct mlx5_ib_create_cq *ucmd, u32 flags,
			    const struct mlx5_ib_caps *caps, void *cqc);
void mlx5_ib_fill_cqc_buf(void *cqc, const struct mlx5_ib_buf_geometry *geo);

#endif /* BLUEBELL_LAYOUT_CQ_H */
