// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * UMR work requests of the driver, byte by byte, and the size classes of the
 * keys that they fill. Pure functions only.
 */

#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/log2.h>

#include "layout_umr.h"

/* Entries are written in units of MLX5_UMR_FLEX_ALIGNMENT bytes. */
#define MTT_ALIGN		(MLX5_UMR_FLEX_ALIGNMENT / sizeof(__be64))
#define DS_SIZE			MLX5_SEND_WQE_DS
#define ANY_QP			0xffffff
#define ACCESS_MASK							\
	(MLX5_MKEY_MASK_LR | MLX5_MKEY_MASK_LW | MLX5_MKEY_MASK_RR |	\
	 MLX5_MKEY_MASK_RW | MLX5_MKEY_MASK_A)

static_assert(sizeof(struct mlx5_ib_umr_wqe) % MLX5_SEND_WQE_BB == 0);
static_assert(sizeof_field(struct mlx5_ib_umr_wqe, mkc) == MLX5_ST_SZ_BYTES(mkc));
static_assert(BIT(MLX5_IB_UMR_MIN_LOG_MTTS) >= MTT_ALIGN);
static_assert(MLX5_IB_UMR_INLINE_MTTS % MTT_ALIGN == 0);

/**
 * mlx5_ib_umr_class - the size class that fits a region
 * @nmtts: translation entries that it needs, at least 1
 *
 * Return: the smallest class with room for them, or -1 if there is none, or if
 * one request cannot carry them.
 */
int mlx5_ib_umr_class(u32 nmtts)
{
	int log = order_base_2(nmtts);

	if (log > MLX5_IB_UMR_MAX_LOG_MTTS ||
	    mlx5_ib_mtt_octowords(mlx5_ib_umr_list_mtts(nmtts)) > U16_MAX)
		return -1;
	return log < MLX5_IB_UMR_MIN_LOG_MTTS ? 0 : log - MLX5_IB_UMR_MIN_LOG_MTTS;
}

/**
 * mlx5_ib_umr_class_mtts - room of a class's keys
 * @class: size class, from 0
 *
 * Return: translation entries.
 */
u32 mlx5_ib_umr_class_mtts(int class)
{
	return BIT(class + MLX5_IB_UMR_MIN_LOG_MTTS);
}

/**
 * mlx5_ib_umr_list_mtts - length of a translation list as the device reads it
 * @nmtts: entries that a region needs
 *
 * Return: entries; those beyond @nmtts are zero.
 */
size_t mlx5_ib_umr_list_mtts(u32 nmtts)
{
	return ALIGN(nmtts, MTT_ALIGN);
}

static void name_key(struct mlx5_ib_umr_wqe *wqe, u32 mkey)
{
	wqe->ctrl.umr_mkey = cpu_to_be32(mkey);
}

static void announce_mtts(struct mlx5_ib_umr_wqe *wqe, u32 nmtts)
{
	wqe->umr.xlt_octowords = cpu_to_be16(mlx5_ib_mtt_octowords(mlx5_ib_umr_list_mtts(nmtts)));
}

/**
 * mlx5_ib_umr_fill_reg - make a free key one over pinned memory
 * @wqe: zeroed request; its entries are to be written to wqe->mtt, or
 *	mlx5_ib_umr_point_at_list() is to be called
 * @mkey: the key, with the variant it had
 * @attr: what it becomes
 * @caps: as for mlx5_ib_fill_mkc()
 */
void mlx5_ib_umr_fill_reg(struct mlx5_ib_umr_wqe *wqe, u32 mkey,
			  const struct mlx5_ib_mkc_attr *attr,
			  const struct mlx5_ib_mkey_caps *caps)
{
	name_key(wqe, mkey);
	mlx5_ib_fill_mkc(wqe->mkc, attr, caps);
	wqe->umr.flags = MLX5_UMR_INLINE;
	wqe->umr.mkey_mask = cpu_to_be64(ACCESS_MASK | MLX5_MKEY_MASK_LEN |
					 MLX5_MKEY_MASK_PAGE_SIZE | MLX5_MKEY_MASK_START_ADDR |
					 MLX5_MKEY_MASK_PD | MLX5_MKEY_MASK_KEY |
					 MLX5_MKEY_MASK_QPN | MLX5_MKEY_MASK_FREE);
	announce_mtts(wqe, attr->nmtts);
}

/**
 * mlx5_ib_umr_point_at_list - say where the translation entries are
 * @wqe: request of mlx5_ib_umr_fill_reg()
 * @lkey: key to the list
 * @addr: its address
 * @nmtts: entries that the region needs; the list has
 *	mlx5_ib_umr_list_mtts(@nmtts)
 */
void mlx5_ib_umr_point_at_list(struct mlx5_ib_umr_wqe *wqe, u32 lkey, u64 addr, u32 nmtts)
{
	wqe->umr.flags = 0;
	wqe->list = (struct mlx5_wqe_data_seg){
		.byte_count = cpu_to_be32(mlx5_ib_umr_list_mtts(nmtts) * sizeof(__be64)),
		.lkey = cpu_to_be32(lkey),
		.addr = cpu_to_be64(addr),
	};
}

/**
 * mlx5_ib_umr_fill_change - change the rights and the domain of a key in use
 * @wqe: zeroed request
 * @mkey: the key, which stays the same
 * @access: enum ib_access_flags, without relaxed ordering
 * @pdn: protection domain number
 */
void mlx5_ib_umr_fill_change(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 access, u32 pdn)
{
	const struct mlx5_ib_mkey_caps none = {};

	name_key(wqe, mkey);
	mlx5_ib_fill_mkc_access(wqe->mkc, access, &none);
	MLX5_SET(mkc, wqe->mkc, pd, pdn);
	wqe->umr.mkey_mask = cpu_to_be64(ACCESS_MASK | MLX5_MKEY_MASK_PD);
}

/**
 * mlx5_ib_umr_fill_revoke - make a key reach nothing
 * @wqe: zeroed request
 * @mkey: the key
 * @pdn: domain that it waits in: the one it was used in may be deallocated
 */
void mlx5_ib_umr_fill_revoke(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 pdn)
{
	name_key(wqe, mkey);
	MLX5_SET(mkc, wqe->mkc, free, 1);
	MLX5_SET(mkc, wqe->mkc, qpn, ANY_QP);
	MLX5_SET(mkc, wqe->mkc, pd, pdn);
	wqe->umr.mkey_mask = cpu_to_be64(MLX5_MKEY_MASK_FREE | MLX5_MKEY_MASK_PD |
					 MLX5_MKEY_MASK_QPN);
}

/* Bytes of a request: what it carries or points at follows the context. */
static size_t wqe_bytes(const struct mlx5_ib_umr_wqe *wqe)
{
	if (!wqe->umr.xlt_octowords)
		return offsetof(struct mlx5_ib_umr_wqe, mtt);
	if (wqe->umr.flags & MLX5_UMR_INLINE)
		return offsetof(struct mlx5_ib_umr_wqe, mtt) +
		       be16_to_cpu(wqe->umr.xlt_octowords) * DS_SIZE;
	return offsetofend(struct mlx5_ib_umr_wqe, list);
}

/**
 * mlx5_ib_umr_fill_ctrl - finish a request for its place in the queue
 * @wqe: request, otherwise complete
 * @qpn: number of the queue pair
 * @index: basic blocks posted before
 */
void mlx5_ib_umr_fill_ctrl(struct mlx5_ib_umr_wqe *wqe, u32 qpn, u16 index)
{
	wqe->ctrl.opmod_idx_opcode = cpu_to_be32((u32)index << MLX5_WQE_CTRL_WQE_INDEX_SHIFT |
						 MLX5_OPCODE_UMR);
	wqe->ctrl.qpn_ds = cpu_to_be32(qpn << MLX5_WQE_CTRL_QPN_SHIFT | wqe_bytes(wqe) / DS_SIZE);
	wqe->ctrl.fm_ce_se = MLX5_WQE_CTRL_CQ_UPDATE;
}
