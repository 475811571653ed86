// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory key layout: access rights, the MKC, translation entries and the size
 * of the command that carries them. Pure functions only.
 */

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/mlx5/device.h>
#include <linux/overflow.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/iter.h>

#include "layout_mkey.h"

#define MTTS_PER_OCTOWORD	2

/* What a region that is pinned when it is registered can be asked for. */
#define SUPPORTED_ACCESS							\
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |	\
	 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND | IB_ZERO_BASED |		\
	 IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

/**
 * mlx5_ib_mkey_page_sizes - page sizes a translation entry can map
 *
 * Return: bitmap; bit n stands for pages of 2^n bytes.
 */
unsigned long mlx5_ib_mkey_page_sizes(void)
{
	return GENMASK((int)MLX5_MAX_PAGE_SHIFT, (int)MLX5_ADAPTER_PAGE_SHIFT);
}

/**
 * mlx5_ib_check_mr - check a registration before anything is pinned
 * @length: bytes
 * @iova: first address of the region
 * @access: enum ib_access_flags
 * @caps: what the device can do
 *
 * Relaxed ordering is a hint: where the device cannot do it, it is ignored, as
 * ibv_reg_mr(3) allows for optional flags.
 *
 * Return: 0; -EINVAL for an empty, wrapping or too long region or for flags
 * that contradict each other; -EOPNOTSUPP for access this driver does not give.
 */
int mlx5_ib_check_mr(u64 length, u64 iova, u32 access, const struct mlx5_ib_mkey_caps *caps)
{
	u64 last;

	if (access & ~SUPPORTED_ACCESS)
		return -EOPNOTSUPP;
	if (!length || check_add_overflow(iova, length - 1, &last))
		return -EINVAL;
	if (caps->log_max_mr_size < 64 && length > 1ULL << caps->log_max_mr_size)
		return -EINVAL;
	return 0;
}

/**
 * mlx5_ib_mtt_octowords - room that translation entries take, in 16-byte units
 * @nmtts: number of entries
 *
 * Return: octowords, the last one perhaps half used.
 */
u32 mlx5_ib_mtt_octowords(u32 nmtts)
{
	return DIV_ROUND_UP(nmtts, MTTS_PER_OCTOWORD);
}

/**
 * mlx5_ib_create_mkey_inlen - length of CREATE_MKEY with its entries inline
 * @nmtts: number of translation entries
 *
 * Return: bytes.
 */
size_t mlx5_ib_create_mkey_inlen(u32 nmtts)
{
	return MLX5_ST_SZ_BYTES(create_mkey_in) + (size_t)mlx5_ib_mtt_octowords(nmtts) * 16;
}

/**
 * mlx5_ib_fill_mkc_access - translate verbs access flags into MKC bits
 * @mkc: struct mlx5_ifc_mkc_bits
 * @access: enum ib_access_flags
 * @caps: says whether relaxed ordering can be had
 *
 * Local read is always allowed. A key that can be read or written remotely can
 * still be written locally only if that was asked for: ib_core has checked
 * that remote write comes with local write.
 */
void mlx5_ib_fill_mkc_access(void *mkc, u32 access, const struct mlx5_ib_mkey_caps *caps)
{
	MLX5_SET(mkc, mkc, lr, 1);
	MLX5_SET(mkc, mkc, lw, !!(access & IB_ACCESS_LOCAL_WRITE));
	MLX5_SET(mkc, mkc, rr, !!(access & IB_ACCESS_REMOTE_READ));
	MLX5_SET(mkc, mkc, rw, !!(access & IB_ACCESS_REMOTE_WRITE));
	MLX5_SET(mkc, mkc, a, !!(access & IB_ACCESS_REMOTE_ATOMIC));
	if (access & IB_ACCESS_RELAXED_ORDERING) {
		MLX5_SET(mkc, mkc, relaxed_ordering_write, caps->relaxed_ordering_write);
		MLX5_SET(mkc, mkc, relaxed_ordering_read, caps->relaxed_ordering_read);
	}
}

/**
 * mlx5_ib_fill_mkc - build the context of a key over pinned pages
 * @mkc: zeroed struct mlx5_ifc_mkc_bits
 * @attr: what to write
 * @caps: says whether relaxed ordering can be had
 */
void mlx5_ib_fill_mkc(void *mkc, const struct mlx5_ib_mkc_attr *attr,
		      const struct mlx5_ib_mkey_caps *caps)
{
	mlx5_ib_fill_mkc_access(mkc, attr->access, caps);
	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_MTT);
	/* A key that no QP owns: any QP of the PD may use it. */
	MLX5_SET(mkc, mkc, qpn, 0xffffff);
	MLX5_SET(mkc, mkc, mkey_7_0, attr->variant);
	MLX5_SET(mkc, mkc, pd, attr->pdn);
	MLX5_SET64(mkc, mkc, start_addr, attr->iova);
	MLX5_SET64(mkc, mkc, len, attr->length);
	MLX5_SET(mkc, mkc, translations_octword_size, mlx5_ib_mtt_octowords(attr->nmtts));
	MLX5_SET(mkc, mkc, log_page_size, attr->page_shift);
}

/**
 * mlx5_ib_fill_create_mkey - build CREATE_MKEY except for its entries
 * @in: zeroed struct mlx5_ifc_create_mkey_in_bits
 * @attr: what to write
 * @caps: says whether relaxed ordering can be had
 *
 * The entries are big-endian DMA addresses at klm_pas_mtt; page access bits in
 * them are not used (pg_access is 0), the key's own rights hold for each page.
 */
void mlx5_ib_fill_create_mkey(void *in, const struct mlx5_ib_mkc_attr *attr,
			      const struct mlx5_ib_mkey_caps *caps)
{
	mlx5_ib_fill_mkc(MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry), attr, caps);
	MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	MLX5_SET(create_mkey_in, in, translations_octword_actual_size,
		 mlx5_ib_mtt_octowords(attr->nmtts));
}

/**
 * mlx5_ib_populate_pas - write a buffer's translation list
 * @umem: pinned and mapped buffer, its iova set by ib_umem_find_best_pgsz()
 *        or ib_umem_find_best_pgoff()
 * @page_size: bytes; a size those functions gave, or a smaller one
 * @pas: room for ib_umem_num_dma_blocks(@umem, @page_size) entries
 *
 * The same list serves as the pas[] of queues and the entries of a memory key:
 * big-endian DMA addresses, aligned to @page_size.
 */
void mlx5_ib_populate_pas(struct ib_umem *umem, unsigned long page_size, __be64 *pas)
{
	struct ib_block_iter biter;
	size_t i = 0;

	rdma_umem_for_each_dma_block(umem, &biter, page_size)
		pas[i++] = cpu_to_be64(rdma_block_iter_dma_address(&biter));
}
