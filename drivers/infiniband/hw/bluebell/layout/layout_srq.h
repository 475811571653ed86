/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared receive queue layout: sizes, the library's request, the context of an XRC SRQ, that of an
 * XRQ, the device's object for an SRQ with tag matching, and that of an RMP (receive memory pool),
 * the device's object for all other SRQs. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_SRQ_H
#define BLUEBELL_LAYOUT_SRQ_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>

#include "layout/layout_pages.h"

struct mlx5_ib_caps;

/**
 * struct mlx5_ib_srq_layout - the WQEs of an SRQ
 * @wqe_cnt: number of WQEs, a power of two; one WQE is never posted (mlx5_ib_max_srq_wr())
 * @wqe_shift: log2 of the stride of a WQE, in bytes
 * @max_gs: scatter entries of a WQE
 */
struct mlx5_ib_srq_layout {
	u32 wqe_cnt;
	u8 wqe_shift;
	u32 max_gs;
};

/**
 * struct mlx5_ib_srqc_attr - values of the context of a new SRQ
 * @wq: sizes of the queue
 * @geo: page geometry of the buffer
 * @pdn: protection domain number
 * @dbr_addr: DMA address of the doorbell record
 * @wq_signature: WQEs carry a signature
 * @xrcdn: XRC domain of an XRC SRQ
 * @cqn: CQ of an XRC SRQ or an XRQ
 * @uidx: user index of an XRC SRQ or an XRQ
 * @max_num_tags: tags that the list of an XRQ holds, at least 1
 */
struct mlx5_ib_srqc_attr {
	struct mlx5_ib_srq_layout wq;
	struct mlx5_ib_buf_geometry geo;
	u32 pdn;
	u64 dbr_addr;
	bool wq_signature;
	u32 xrcdn;
	u32 cqn;
	u32 uidx;
	u32 max_num_tags;
};

u32 mlx5_ib_max_srq_wr(const struct mlx5_ib_caps *caps);
u32 mlx5_ib_max_srq_tags(const struct mlx5_ib_caps *caps);
u32 mlx5_ib_max_srq_sge(const struct mlx5_ib_caps *caps);
int mlx5_ib_srq_check_create(enum ib_srq_type type, const struct mlx5_ib_create_srq *ucmd,
			     const struct mlx5_ib_caps *caps);
int mlx5_ib_srq_check_tags(u32 max_num_tags, const struct mlx5_ib_caps *caps);
void mlx5_ib_fill_tm_caps(struct ib_tm_caps *tm, const struct mlx5_ib_caps *caps);
int mlx5_ib_calc_srq(enum ib_srq_type type, const struct ib_srq_attr *attr,
		     const struct mlx5_ib_caps *caps, struct mlx5_ib_srq_layout *wq);
void mlx5_ib_fill_rmpc(void *rmpc, const struct mlx5_ib_srqc_attr *attr);
void mlx5_ib_fill_xrc_srqc(void *srqc, const struct mlx5_ib_srqc_attr *attr);
void mlx5_ib_fill_xrqc(void *xrqc, const struct mlx5_ib_srqc_attr *attr);

#endif /* BLUEBELL_LAYOUT_SRQ_H */
