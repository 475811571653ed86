/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * UMR work requests of the driver, byte by byte, and the size classes of the
 * keys that they fill. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_UMR_H
#define BLUEBELL_LAYOUT_UMR_H

#include <linux/mlx5/device.h>
#include <linux/mlx5/qp.h>
#include <linux/types.h>

#include "layout_mkey.h"

/* A class holds keys with room for 2^(MIN + class) translation entries. */
#define MLX5_IB_UMR_MIN_LOG_MTTS	3
#define MLX5_IB_UMR_MAX_LOG_MTTS	17
#define MLX5_IB_UMR_CLASSES	(MLX5_IB_UMR_MAX_LOG_MTTS - MLX5_IB_UMR_MIN_LOG_MTTS + 1)

/* Entries that a request can carry itself. */
#define MLX5_IB_UMR_INLINE_MTTS		16

/**
 * struct mlx5_ib_umr_wqe - a UMR work request
 * @ctrl: control segment
 * @umr: what to change
 * @mkc: the new context, struct mlx5_ifc_mkc_bits
 * @mtt: translation entries inline, zero to the next multiple of 8
 * @list: or where they are
 */
struct mlx5_ib_umr_wqe {
	struct mlx5_wqe_ctrl_seg ctrl;
	struct mlx5_wqe_umr_ctrl_seg umr;
	u8 mkc[64];
	union {
		__be64 mtt[MLX5_IB_UMR_INLINE_MTTS];
		struct mlx5_wqe_data_seg list;
	};
};

int mlx5_ib_umr_class(u32 nmtts);
u32 mlx5_ib_umr_class_mtts(int class);
size_t mlx5_ib_umr_list_mtts(u32 nmtts);

void mlx5_ib_umr_fill_reg(struct mlx5_ib_umr_wqe *wqe, u32 mkey,
			  const struct mlx5_ib_mkc_attr *attr,
			  const struct mlx5_ib_mkey_caps *caps);
void mlx5_ib_umr_point_at_list(struct mlx5_ib_umr_wqe *wqe, u32 lkey, u64 addr, u32 nmtts);
void mlx5_ib_umr_fill_change(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 access, u32 pdn);
void mlx5_ib_umr_fill_revoke(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 pdn);
void mlx5_ib_umr_fill_ctrl(struct mlx5_ib_umr_wqe *wqe, u32 qpn, u16 index);

#endif /* BLUEBELL_LAYOUT_UMR_H */
