// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * UMR work requests of the driver, byte by byte, and when to try again after one
 * has failed. Pure functions only.
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
/* The first request after a failure comes this much later; twice as much after each further one. */
#define RESTART_MS		100
#define MAX_RESTART_MS		60000

static_assert(sizeof(struct mlx5_ib_umr_wqe) % MLX5_SEND_WQE_BB == 0);
static_assert(sizeof_field(struct mlx5_ib_umr_wqe, mkc) == MLX5_ST_SZ_BYTES(mkc));
static_assert(MLX5_IB_UMR_INLINE_MTTS % MTT_ALIGN == 0);

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

/**
 * mlx5_ib_umr_mark_present - let translation entries be used
 * @mtt: entries, big-endian page addresses
 * @nmtts: number of them
 *
 * A work request writes entries as the device keeps them: whether there is a
 * page, and what may be done to it, is in the low bits. CREATE_MKEY sets those
 * itself unless it is told that the entries have them (pg_access).
 */
void mlx5_ib_umr_mark_present(__be64 *mtt, u32 nmtts)
{
	u32 i;

	for (i = 0; i < nmtts; i++)
		mtt[i] |= cpu_to_be64(MLX5_EN_RD | MLX5_EN_WR);
}

static void name_key(struct mlx5_ib_umr_wqe *wqe, u32 mkey)
{
	wqe->ctrl.umr_mkey = cpu_to_be32(mkey);
}

static void announce_mtts(struct mlx5_ib_umr_wqe *wqe, u32 nmtts)
{
	wqe->umr.xlt_octowords = cpu_to_be16(mlx5_ib_mtt_octowords(mlx5_ib_umr_list_mtts(nmtts)));
}

/* The rights that a request may change. Relaxed ordering stays what a key was made with. */
static u64 access_mask(const struct mlx5_ib_mkey_caps *caps)
{
	u64 mask = MLX5_MKEY_MASK_LR | MLX5_MKEY_MASK_LW | MLX5_MKEY_MASK_RR | MLX5_MKEY_MASK_RW;

	return caps->umr_keeps_atomic ? mask : mask | MLX5_MKEY_MASK_A;
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
	wqe->umr.mkey_mask = cpu_to_be64(access_mask(caps) | MLX5_MKEY_MASK_LEN |
					 MLX5_MKEY_MASK_PAGE_SIZE | MLX5_MKEY_MASK_START_ADDR |
					 MLX5_MKEY_MASK_PD | MLX5_MKEY_MASK_KEY |
					 MLX5_MKEY_MASK_QPN | MLX5_MKEY_MASK_FREE);
	announce_mtts(wqe, attr->nmtts);
}

/**
 * mlx5_ib_umr_fill_xlt - write translation entries of a key, and nothing else
 * @wqe: zeroed request; mlx5_ib_umr_point_at_list() is to be called
 * @mkey: the key
 */
void mlx5_ib_umr_fill_xlt(struct mlx5_ib_umr_wqe *wqe, u32 mkey)
{
	name_key(wqe, mkey);
}

/**
 * mlx5_ib_umr_point_at_list - say where the translation entries are
 * @wqe: request of mlx5_ib_umr_fill_reg() or mlx5_ib_umr_fill_xlt()
 * @lkey: key to the list
 * @addr: its address
 * @first: number of the key's entry that the list starts with; if it is not 0,
 *	a multiple of MLX5_UMR_FLEX_ALIGNMENT over the size of an entry
 * @nmtts: entries; the list has mlx5_ib_umr_list_mtts(@nmtts)
 */
void mlx5_ib_umr_point_at_list(struct mlx5_ib_umr_wqe *wqe, u32 lkey, u64 addr, u32 first,
			       u32 nmtts)
{
	u32 offset = mlx5_ib_mtt_octowords(first);

	wqe->umr.flags = first ? MLX5_UMR_TRANSLATION_OFFSET_EN : 0;
	wqe->umr.xlt_offset = cpu_to_be16(offset & U16_MAX);
	wqe->umr.xlt_offset_47_16 = cpu_to_be32(offset >> 16);
	announce_mtts(wqe, nmtts);
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
 * @access: enum ib_access_flags; relaxed ordering stays what it is
 * @pdn: protection domain number
 * @caps: as for mlx5_ib_fill_mkc()
 */
void mlx5_ib_umr_fill_change(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 access, u32 pdn,
			     const struct mlx5_ib_mkey_caps *caps)
{
	name_key(wqe, mkey);
	mlx5_ib_fill_mkc_access(wqe->mkc, access, caps);
	MLX5_SET(mkc, wqe->mkc, pd, pdn);
	wqe->umr.mkey_mask = cpu_to_be64(access_mask(caps) | MLX5_MKEY_MASK_PD);
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

/**
 * mlx5_ib_umr_restart_ms - when to start the queue pair anew after a failure
 * @failures: how often it has failed before, with no success since
 *
 * Return: milliseconds.
 */
unsigned int mlx5_ib_umr_restart_ms(unsigned int failures)
{
	if (failures >= ilog2(MAX_RESTART_MS / RESTART_MS) + 1)
		return MAX_RESTART_MS;
	return RESTART_MS << failures;
}
