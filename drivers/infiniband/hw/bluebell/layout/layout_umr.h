/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * WQEs of UMR requests, those of the driver and those of kernel consumers; and the pause between
 * the failure of a request and the restart of the driver's UMR queue pair. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_UMR_H
#define BLUEBELL_LAYOUT_UMR_H

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mlx5/qp.h>
#include <linux/types.h>

struct mlx5_ib_caps;
struct mlx5_ib_mkc_attr;

/* Number of translation entries that a request can carry inline. */
#define MLX5_IB_UMR_INLINE_MTTS		16
/*
 * Access bits of the entry of a page that is present: all bits, because the key limits the rights
 * of users. The entry of a page that is paged in may have fewer bits (odp_chunk.c).
 */
#define MLX5_IB_UMR_PRESENT		(MLX5_EN_RD | MLX5_EN_WR)
/* Entries in a block: the device writes entries in blocks of MLX5_UMR_FLEX_ALIGNMENT bytes. */
#define MLX5_IB_UMR_BLOCK_MTTS		(MLX5_UMR_FLEX_ALIGNMENT / sizeof(__be64))

/**
 * struct mlx5_ib_umr_wqe - a UMR work request
 * @ctrl: control segment
 * @umr: UMR control segment: which fields of the context and which entries to change
 * @mkc: the new context of the key, struct mlx5_ifc_mkc_bits
 * @mtt: translation entries inline, followed by zeros to a multiple of 8 entries
 * @list: instead of @mtt: the address of the entries, a multiple of MLX5_UMR_ALIGN
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

/**
 * mlx5_ib_umr_list_alloc_bytes - bytes to allocate for a list that a request names by its address
 * @bytes: length of the list
 *
 * kmalloc() aligns an allocation of 2^n bytes to 2^n bytes, so the list starts at a multiple of
 * MLX5_UMR_ALIGN.
 *
 * Return: @bytes rounded up to a power of two, at least MLX5_UMR_ALIGN.
 */
static inline size_t mlx5_ib_umr_list_alloc_bytes(size_t bytes)
{
	return roundup_pow_of_two(max(bytes, MLX5_UMR_ALIGN));
}

void mlx5_ib_umr_mark_present(__be64 *mtt, u32 nmtts);
unsigned int mlx5_ib_umr_restart_ms(unsigned int failures);

void mlx5_ib_umr_fill_reg(struct mlx5_ib_umr_wqe *wqe, u32 mkey,
			  const struct mlx5_ib_mkc_attr *attr, const struct mlx5_ib_caps *caps);
void *mlx5_ib_umr_fill_inline(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 offset, u16 octowords);
void mlx5_ib_umr_fill_list(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 lkey, u64 addr, u32 first,
			   u32 nmtts);
void mlx5_ib_umr_fill_entries(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 lkey, const __be64 *mtt,
			      u64 addr, u32 nmtts);
void mlx5_ib_umr_fill_change(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 access, u32 pdn,
			     const struct mlx5_ib_caps *caps);
void mlx5_ib_umr_fill_revoke(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 pdn);
void mlx5_ib_umr_fill_local_inv(struct mlx5_ib_umr_wqe *wqe, u32 mkey);
unsigned int mlx5_ib_umr_wqe_ds(const struct mlx5_ib_umr_wqe *wqe);
void mlx5_ib_umr_fill_ctrl(struct mlx5_ib_umr_wqe *wqe, u32 qpn, u16 index, u8 fence);

#endif /* BLUEBELL_LAYOUT_UMR_H */
