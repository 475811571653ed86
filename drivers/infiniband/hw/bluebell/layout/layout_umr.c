// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * WQEs of UMR requests, those of the driver and those of kernel consumers; and the pause between
 * the failure of a request and the restart of the driver's UMR queue pair. Pure functions only.
 */

#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>

#include "layout/caps.h"
#include "layout/layout_mkey.h"
#include "layout/layout_umr.h"

#define ANY_QP			0xffffff
/* Pause between a failure and the restart of the queue pair. Each further failure doubles it. */
#define RESTART_MS		100
#define MAX_RESTART_MS		60000

static_assert(sizeof(struct mlx5_ib_umr_wqe) % MLX5_SEND_WQE_BB == 0);
static_assert(sizeof_field(struct mlx5_ib_umr_wqe, mkc) == MLX5_ST_SZ_BYTES(mkc));
static_assert(MLX5_IB_UMR_INLINE_MTTS % MLX5_IB_UMR_BLOCK_MTTS == 0);
static_assert(offsetof(struct mlx5_ib_umr_wqe, mtt) + MLX5_UMR_FLEX_ALIGNMENT ==
	      ALIGN(offsetofend(struct mlx5_ib_umr_wqe, list), MLX5_SEND_WQE_BB));

/**
 * mlx5_ib_umr_mark_present - mark translation entries as present
 * @mtt: entries, big-endian page addresses
 * @nmtts: number of entries
 *
 * If UMR writes the entry of a page, the entry needs access bits (MLX5_IB_UMR_PRESENT) in its low
 * bits. Entries of CREATE_MKEY need no such bits, unless pg_access is set.
 */
void mlx5_ib_umr_mark_present(__be64 *mtt, u32 nmtts)
{
	u32 i;

	for (i = 0; i < nmtts; i++)
		mtt[i] |= cpu_to_be64(MLX5_IB_UMR_PRESENT);
}

/* Octowords (16 bytes) that the device reads: the entries, and zeros to the end of their block. */
static u32 umr_octowords(u32 nmtts)
{
	return mlx5_ib_mtt_octowords(ALIGN(nmtts, MLX5_IB_UMR_BLOCK_MTTS));
}

/*
 * Set the part of the key's table that a request writes, by an offset. The first part has the
 * offset 0, and TRANSLATION_OFFSET_EN as all others.
 */
static void umr_set_range(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 offset, u16 octowords)
{
	wqe->ctrl.umr_mkey = cpu_to_be32(mkey);
	wqe->umr.flags &= ~MLX5_UMR_INLINE;
	wqe->umr.flags |= MLX5_UMR_TRANSLATION_OFFSET_EN;
	wqe->umr.xlt_offset = cpu_to_be16(offset & U16_MAX);
	wqe->umr.xlt_offset_47_16 = cpu_to_be32(offset >> 16);
	wqe->umr.xlt_octowords = cpu_to_be16(octowords);
}

/* Bits for the rights that a request can change. No request changes a key's relaxed ordering. */
static u64 umr_access_mask(const struct mlx5_ib_caps *caps)
{
	u64 mask = MLX5_MKEY_MASK_LR | MLX5_MKEY_MASK_LW | MLX5_MKEY_MASK_RR | MLX5_MKEY_MASK_RW;

	if (MLX5_CAP_GEN(caps->mdev, atomic) &&
	    !MLX5_CAP_GEN(caps->mdev, umr_modify_atomic_disabled))
		mask |= MLX5_MKEY_MASK_A;
	return mask;
}

/**
 * mlx5_ib_umr_fill_reg - build a request that registers memory with a free key
 * @wqe: zeroed request. The caller then writes the entries to wqe->mtt, or calls
 *	mlx5_ib_umr_fill_list() or mlx5_ib_umr_fill_entries()
 * @mkey: the key, with its old variant (low byte) or the variant of @attr
 * @attr: the new context
 * @caps: as for mlx5_ib_fill_mkc()
 */
void mlx5_ib_umr_fill_reg(struct mlx5_ib_umr_wqe *wqe, u32 mkey,
			  const struct mlx5_ib_mkc_attr *attr, const struct mlx5_ib_caps *caps)
{
	u64 mask = umr_access_mask(caps) | MLX5_MKEY_MASK_LEN | MLX5_MKEY_MASK_START_ADDR |
		   MLX5_MKEY_MASK_PD | MLX5_MKEY_MASK_KEY | MLX5_MKEY_MASK_QPN |
		   MLX5_MKEY_MASK_FREE;

	/* If UMR cannot change the page size, the key keeps the size that it was created with. */
	if (!attr->klm && !MLX5_CAP_GEN(caps->mdev, umr_modify_entity_size_disabled))
		mask |= MLX5_MKEY_MASK_PAGE_SIZE;
	mlx5_ib_umr_fill_inline(wqe, mkey, 0, umr_octowords(attr->nmtts));
	mlx5_ib_fill_mkc(wqe->mkc, attr, caps);
	/* With this flag the device refuses the request if the key is not free. */
	wqe->umr.flags |= MLX5_UMR_CHECK_NOT_FREE;
	wqe->umr.mkey_mask = cpu_to_be64(mask);
}

/**
 * mlx5_ib_umr_fill_inline - build a request that carries new entries of a key's table inline
 * @wqe: zeroed request
 * @mkey: the key
 * @offset: offset of the entries in the table, in units of 16 bytes; the start of a block
 * @octowords: length of the entries in units of 16 bytes, whole blocks
 *
 * Return: where in @wqe the caller writes the entries.
 */
void *mlx5_ib_umr_fill_inline(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 offset, u16 octowords)
{
	umr_set_range(wqe, mkey, offset, octowords);
	wqe->umr.flags |= MLX5_UMR_INLINE;
	return wqe->mtt;
}

/**
 * mlx5_ib_umr_fill_list - let a request write translation entries that are in a list
 * @wqe: zeroed request, which then changes nothing else, or a request of mlx5_ib_umr_fill_reg()
 * @mkey: the key
 * @lkey: key by which the device reads the list
 * @addr: DMA address of the list
 * @first: index in the key's table of the first entry of the list; the start of a block
 * @nmtts: number of entries; zeros follow the entries to the end of the block
 */
void mlx5_ib_umr_fill_list(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 lkey, u64 addr, u32 first,
			   u32 nmtts)
{
	umr_set_range(wqe, mkey, mlx5_ib_mtt_octowords(first), umr_octowords(nmtts));
	wqe->list = (struct mlx5_wqe_data_seg){
		.byte_count = cpu_to_be32(umr_octowords(nmtts) * MLX5_SEND_WQE_DS),
		.lkey = cpu_to_be32(lkey),
		.addr = cpu_to_be64(addr),
	};
}

/**
 * mlx5_ib_umr_fill_entries - let a kernel consumer's registration write translation entries
 * @wqe: request of mlx5_ib_umr_fill_reg()
 * @mkey: the key
 * @lkey: key by which the device reads the entries
 * @mtt: the entries; zeros follow the entries to the end of the block
 * @addr: DMA address of @mtt
 * @nmtts: number of entries
 *
 * If the entries fit into one block, the request carries them inline. The WQE is then not longer
 * than with the address of a list, counted in basic blocks, and the device need not read a list.
 */
void mlx5_ib_umr_fill_entries(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 lkey, const __be64 *mtt,
			      u64 addr, u32 nmtts)
{
	if (nmtts <= MLX5_IB_UMR_BLOCK_MTTS)
		memcpy(wqe->mtt, mtt, umr_octowords(nmtts) * MLX5_SEND_WQE_DS);
	else
		mlx5_ib_umr_fill_list(wqe, mkey, lkey, addr, 0, nmtts);
}

/**
 * mlx5_ib_umr_fill_change - build a request that changes the rights and protection domain of a key
 * @wqe: zeroed request
 * @mkey: the key, which keeps its number
 * @access: enum ib_access_flags. These rights stay as they are: relaxed ordering, and
 *	atomic operations if umr_modify_atomic_disabled is set
 * @pdn: protection domain number
 * @caps: as for mlx5_ib_fill_mkc()
 */
void mlx5_ib_umr_fill_change(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 access, u32 pdn,
			     const struct mlx5_ib_caps *caps)
{
	wqe->ctrl.umr_mkey = cpu_to_be32(mkey);
	mlx5_ib_fill_mkc_access(wqe->mkc, access, caps);
	MLX5_SET(mkc, wqe->mkc, pd, pdn);
	/*
	 * MLX5_UMR_CHECK_FREE is not set: a process may have freed the key by a UMR of a queue pair
	 * of its own. Then the key stays free, and this request must not fail, because a failure
	 * would stop the queue pair that serves all processes.
	 */
	wqe->umr.flags = MLX5_UMR_INLINE;
	wqe->umr.mkey_mask = cpu_to_be64(umr_access_mask(caps) | MLX5_MKEY_MASK_PD);
}

/**
 * mlx5_ib_umr_fill_revoke - build a request that revokes a key, that is, makes the key free
 * @wqe: zeroed request
 * @mkey: the key
 * @pdn: protection domain for free keys, so that the key's old domain can be deallocated
 */
void mlx5_ib_umr_fill_revoke(struct mlx5_ib_umr_wqe *wqe, u32 mkey, u32 pdn)
{
	wqe->ctrl.umr_mkey = cpu_to_be32(mkey);
	MLX5_SET(mkc, wqe->mkc, free, 1);
	MLX5_SET(mkc, wqe->mkc, qpn, ANY_QP);
	MLX5_SET(mkc, wqe->mkc, pd, pdn);
	wqe->umr.flags = MLX5_UMR_INLINE;
	wqe->umr.mkey_mask = cpu_to_be64(MLX5_MKEY_MASK_FREE | MLX5_MKEY_MASK_PD |
					 MLX5_MKEY_MASK_QPN);
}

/**
 * mlx5_ib_umr_fill_local_inv - build a request that invalidates a key of a kernel consumer
 * @wqe: zeroed request
 * @mkey: the key, with its variant; the key stays in its protection domain
 */
void mlx5_ib_umr_fill_local_inv(struct mlx5_ib_umr_wqe *wqe, u32 mkey)
{
	wqe->ctrl.umr_mkey = cpu_to_be32(mkey);
	MLX5_SET(mkc, wqe->mkc, free, 1);
	wqe->umr.flags = MLX5_UMR_INLINE;
	wqe->umr.mkey_mask = cpu_to_be64(MLX5_MKEY_MASK_FREE);
}

/**
 * mlx5_ib_umr_wqe_ds - length of a request
 * @wqe: request, complete but for its control segment
 *
 * The entries, if any, or their address follow the context of the key.
 *
 * Return: units of 16 bytes.
 */
unsigned int mlx5_ib_umr_wqe_ds(const struct mlx5_ib_umr_wqe *wqe)
{
	if (wqe->umr.flags & MLX5_UMR_INLINE)
		return offsetof(struct mlx5_ib_umr_wqe, mtt) / MLX5_SEND_WQE_DS +
		       be16_to_cpu(wqe->umr.xlt_octowords);
	return offsetofend(struct mlx5_ib_umr_wqe, list) / MLX5_SEND_WQE_DS;
}

/**
 * mlx5_ib_umr_fill_ctrl - write the control segment of a request
 * @wqe: request, otherwise complete
 * @qpn: number of the queue pair
 * @index: number of basic blocks posted to the queue pair before this request
 * @fence: MLX5_FENCE_MODE_*, which orders the request after earlier requests
 */
void mlx5_ib_umr_fill_ctrl(struct mlx5_ib_umr_wqe *wqe, u32 qpn, u16 index, u8 fence)
{
	wqe->ctrl.opmod_idx_opcode = cpu_to_be32((u32)index << MLX5_WQE_CTRL_WQE_INDEX_SHIFT |
						 MLX5_OPCODE_UMR);
	wqe->ctrl.qpn_ds = cpu_to_be32(qpn << MLX5_WQE_CTRL_QPN_SHIFT | mlx5_ib_umr_wqe_ds(wqe));
	wqe->ctrl.fm_ce_se = MLX5_WQE_CTRL_CQ_UPDATE | fence;
}

/**
 * mlx5_ib_umr_restart_ms - pause before the queue pair is restarted after a failure
 * @failures: number of failures since the last success, not counting this failure
 *
 * Return: milliseconds.
 */
unsigned int mlx5_ib_umr_restart_ms(unsigned int failures)
{
	return min(RESTART_MS << min(failures, 16), MAX_RESTART_MS);
}
