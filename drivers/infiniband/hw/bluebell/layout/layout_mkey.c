// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory key layout: access rights, the context of a key (MKC), translation entries and the size of
 * the command that carries them. Pure functions only.
 */

#include <linux/align.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mlx5/driver.h>
#include <linux/overflow.h>
#include <linux/scatterlist.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "layout/caps.h"
#include "layout/layout_mkey.h"
#include "layout/refuse.h"

#define MTTS_PER_OCTOWORD	2
/* A KLM has 16 bytes (an octoword), and the device writes KLMs in blocks of four. */
#define KLMS_PER_BLOCK		4

/* Access flags of a region, without IB_ACCESS_ON_DEMAND, which odp_check_reg() checks. */
#define SUPPORTED_ACCESS							\
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |	\
	 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND | IB_ZERO_BASED |		\
	 IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

/**
 * mlx5_ib_mkey_page_sizes - page sizes that a translation entry of a key can map
 * @caps: what the device can do
 *
 * A device without capabilities for page sizes has pages of 4 KiB to 2 GiB, because log_page_size
 * in the context of a key then has five bits. UMR writes only these five bits, so the driver does
 * not use larger pages on other devices either.
 *
 * Return: a mask, in which bit n stands for pages of 2^n bytes; 0 for a device that has no page
 * size up to 2 GiB.
 */
unsigned long mlx5_ib_mkey_page_sizes(const struct mlx5_ib_caps *caps)
{
	u8 min = 0, max = 0;

	if (MLX5_CAP_GEN(caps->mdev, hca_cap_2)) {
		min = MLX5_CAP_GEN_2(caps->mdev, log_min_mkey_entity_size);
		max = MLX5_CAP_GEN_2(caps->mdev, max_mkey_log_entity_size_mtt);
	}
	min = min ?: MLX5_ADAPTER_PAGE_SHIFT;
	max = min_t(u8, max ?: MLX5_MAX_PAGE_SHIFT, MLX5_MAX_PAGE_SHIFT);
	return min > max ? 0 : GENMASK(max, min);
}

/**
 * mlx5_ib_check_mr - check the addresses and the access flags of a region
 * @length: bytes of the region
 * @iova: first address of the region
 * @access: enum ib_access_flags
 * @caps: what the device can do
 *
 * Relaxed ordering is an optional flag of ibv_reg_mr(3), so it is ignored on a device that does not
 * support it.
 *
 * Return: 0; -EINVAL for a region that is empty or too long, or whose addresses wrap around;
 * -EOPNOTSUPP for access flags that this driver does not support.
 */
int mlx5_ib_check_mr(u64 length, u64 iova, u32 access, const struct mlx5_ib_caps *caps)
{
	u8 log_max = MLX5_CAP_GEN(caps->mdev, log_max_mrw_sz);
	u64 last;

	if (access & ~SUPPORTED_ACCESS)
		return refuse(caps->mdev, -EOPNOTSUPP, "MR access %#x, supported: %#x", access,
			      SUPPORTED_ACCESS);
	/* On a 32-bit host a region cannot be longer than the address space. */
	if (!length || check_add_overflow(iova, length - 1, &last) ||
	    overflows_type(length, size_t) || (log_max < 64 && length > 1ULL << log_max))
		return refuse(caps->mdev, -EINVAL,
			      "region of %llu bytes at %#llx, 1 to 2^%u bytes are possible, and no wrap-around",
			      length, iova, log_max);
	return 0;
}

/**
 * mlx5_ib_check_klms - check the number of a key's KLMs, entries that are pieces of other keys
 * @num: the number of KLMs
 * @caps: capabilities of the device
 *
 * Programs round the number of KLMs up to blocks of four, so the limit of the device is rounded up,
 * too. KSMs, entries of one length, have no such limit.
 *
 * Return: -EINVAL for more KLMs than a key of the device can have; otherwise 0, also if the device
 * does not say how many KLMs a key can have.
 */
int mlx5_ib_check_klms(u32 num, const struct mlx5_ib_caps *caps)
{
	u8 log_max = MLX5_CAP_GEN(caps->mdev, log_max_klm_list_size);

	return !log_max || num <= ALIGN(BIT_ULL(log_max), KLMS_PER_BLOCK) ? 0 :
	       refuse(caps->mdev, -EINVAL, "memory key or window with %u KLMs, at most 2^%u", num,
		      log_max);
}

/**
 * mlx5_ib_mtt_octowords - length of a list of translation entries in units of 16 bytes
 * @nmtts: number of entries
 *
 * Return: octowords, rounded up.
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
 * @caps: says whether the device supports relaxed ordering; NULL if @access does not ask for it
 *
 * Local read is always allowed. Remote write does not imply local write here: if a process asks for
 * remote write, ib_core has checked that it asks for local write, too. The flags of kernel
 * consumers are taken as they are.
 */
void mlx5_ib_fill_mkc_access(void *mkc, u32 access, const struct mlx5_ib_caps *caps)
{
	MLX5_SET(mkc, mkc, lr, 1);
	MLX5_SET(mkc, mkc, lw, !!(access & IB_ACCESS_LOCAL_WRITE));
	MLX5_SET(mkc, mkc, rr, !!(access & IB_ACCESS_REMOTE_READ));
	MLX5_SET(mkc, mkc, rw, !!(access & IB_ACCESS_REMOTE_WRITE));
	MLX5_SET(mkc, mkc, a, !!(access & IB_ACCESS_REMOTE_ATOMIC));
	if (access & IB_ACCESS_RELAXED_ORDERING) {
		MLX5_SET(mkc, mkc, relaxed_ordering_write,
			 MLX5_CAP_GEN(caps->mdev, relaxed_ordering_write));
		MLX5_SET(mkc, mkc, relaxed_ordering_read, caps->relaxed_ordering_read);
	}
}

/**
 * mlx5_ib_fill_mkc - build the context of a key over pages or over a list of KLMs
 * @mkc: zeroed struct mlx5_ifc_mkc_bits
 * @attr: attributes of the key
 * @caps: as for mlx5_ib_fill_mkc_access()
 */
void mlx5_ib_fill_mkc(void *mkc, const struct mlx5_ib_mkc_attr *attr,
		      const struct mlx5_ib_caps *caps)
{
	mlx5_ib_fill_mkc_access(mkc, attr->access, caps);
	MLX5_SET(mkc, mkc, access_mode_1_0, attr->klm ? MLX5_MKC_ACCESS_MODE_KLMS :
							  MLX5_MKC_ACCESS_MODE_MTT);
	/* Any QP of the protection domain may use the key. */
	MLX5_SET(mkc, mkc, qpn, 0xffffff);
	MLX5_SET(mkc, mkc, mkey_7_0, attr->variant);
	MLX5_SET(mkc, mkc, pd, attr->pdn);
	MLX5_SET64(mkc, mkc, start_addr, attr->iova);
	MLX5_SET64(mkc, mkc, len, attr->length);
	MLX5_SET(mkc, mkc, translations_octword_size, mlx5_ib_mtt_octowords(attr->nmtts));
	/* A list of KLMs has no page size. */
	if (!attr->klm)
		MLX5_SET(mkc, mkc, log_page_size, attr->page_shift);
}

/**
 * mlx5_ib_fill_create_mkey - build CREATE_MKEY except for its entries
 * @in: zeroed struct mlx5_ifc_create_mkey_in_bits
 * @attr: attributes of the key
 * @caps: as for mlx5_ib_fill_mkc_access()
 *
 * The entries of a key over pages are big-endian DMA addresses at klm_pas_mtt. Unless the caller
 * sets pg_access, the device ignores access bits in the entries, and the rights of the key hold for
 * each page.
 */
void mlx5_ib_fill_create_mkey(void *in, const struct mlx5_ib_mkc_attr *attr,
			      const struct mlx5_ib_caps *caps)
{
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);

	mlx5_ib_fill_mkc(mkc, attr, caps);
	MLX5_SET(mkc, mkc, free, attr->free);
	if (attr->room) {
		WARN_ON_ONCE(attr->nmtts > attr->room);
		MLX5_SET(mkc, mkc, umr_en, 1);
		MLX5_SET(mkc, mkc, translations_octword_size, mlx5_ib_mtt_octowords(attr->room));
	}
	MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	MLX5_SET(create_mkey_in, in, translations_octword_actual_size,
		 mlx5_ib_mtt_octowords(attr->nmtts));
}

/**
 * mlx5_ib_fill_mw_mkey - build CREATE_MKEY for a memory window
 * @in: zeroed struct mlx5_ifc_create_mkey_in_bits
 * @pdn: protection domain number
 * @num_klms: maximum number of pieces of memory (KLMs) that the window is bound to; 0 stands for 1
 * @type_2: the window is of type 2, so a peer can invalidate it
 *
 * The key is free: it gives access to nothing until a work request binds it. The request can set
 * all rights but local read, so this function sets local read.
 */
void mlx5_ib_fill_mw_mkey(void *in, u32 pdn, u8 num_klms, bool type_2)
{
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);

	MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	MLX5_SET(mkc, mkc, free, 1);
	MLX5_SET(mkc, mkc, umr_en, 1);
	MLX5_SET(mkc, mkc, lr, 1);
	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_KLMS);
	MLX5_SET(mkc, mkc, en_rinval, type_2);
	MLX5_SET(mkc, mkc, qpn, 0xffffff);
	MLX5_SET(mkc, mkc, pd, pdn);
	MLX5_SET(mkc, mkc, translations_octword_size, ALIGN(max(num_klms, 1), KLMS_PER_BLOCK));
}

/**
 * mlx5_ib_start_pas - go to the start of a buffer's translation list
 * @iter: the position, for mlx5_ib_next_pas()
 * @umem: buffer that is mapped for DMA, and whose iova is set
 * @page_shift: log2 of the page size: the size that ib_umem_find_best_pgsz() or
 *	ib_umem_find_best_pgoff() has returned for @umem, or a smaller size
 * @flags: bits below the page size to set in each entry
 */
void mlx5_ib_start_pas(struct mlx5_ib_pas_iter *iter, struct ib_umem *umem,
		       unsigned int page_shift, u64 flags)
{
	u64 over = ALIGN_DOWN(ib_umem_offset(umem), 1ULL << page_shift);
	struct scatterlist *sg = umem->sgt_append.sgt.sgl;

	iter->page_shift = page_shift;
	iter->flags = flags;
	iter->left = ib_umem_num_dma_blocks(umem, 1UL << page_shift);
	while (sg && over >= sg_dma_len(sg)) {
		over -= sg_dma_len(sg);
		sg = sg_next(sg);
	}
	iter->sg = sg;
	if (!sg)
		return;
	iter->addr = ALIGN_DOWN(sg_dma_address(sg) + over, 1ULL << page_shift);
	iter->end = sg_dma_address(sg) + sg_dma_len(sg);
}

/**
 * mlx5_ib_next_pas - write the next part of a buffer's translation list
 * @iter: the position, after mlx5_ib_start_pas()
 * @pas: room for @max entries
 * @max: maximum number of entries to write
 *
 * The list is in the format of the pas[] of queues and of the entries of a memory key: big-endian
 * DMA addresses, aligned to the page size.
 *
 * Writes the same addresses as rdma_umem_for_each_dma_block(), but is faster: that macro calls a
 * function for each address, and this function walks the segments itself. A buffer can have as
 * many segments as pages.
 *
 * Return: entries written; fewer than @max at the buffer's end.
 */
u32 mlx5_ib_next_pas(struct mlx5_ib_pas_iter *iter, __be64 *pas, u32 max)
{
	u64 page_size = 1ULL << iter->page_shift, flags = iter->flags;
	u64 addr = iter->addr, end = iter->end, over;
	u32 n = 0, limit = min_t(u64, max, iter->left);
	struct scatterlist *sg = iter->sg;

	while (n < limit && sg) {
		for (; addr < end && n < limit; addr += page_size)
			pas[n++] = cpu_to_be64(addr | flags);
		/* The page of the last entry may continue in the next segments. */
		while (addr >= end) {
			over = addr - end;
			sg = sg_next(sg);
			if (!sg)
				break;
			end = sg_dma_address(sg) + sg_dma_len(sg);
			addr = ALIGN_DOWN(sg_dma_address(sg) + over, page_size);
			if (over >= sg_dma_len(sg))
				addr = end + over - sg_dma_len(sg);
		}
	}
	iter->sg = sg;
	iter->addr = addr;
	iter->end = end;
	iter->left -= n;
	return n;
}

/**
 * mlx5_ib_populate_pas - write a buffer's translation list
 * @umem: as for mlx5_ib_start_pas()
 * @page_size: bytes; as @page_shift for mlx5_ib_start_pas()
 * @pas: room for ib_umem_num_dma_blocks(@umem, @page_size) entries
 */
void mlx5_ib_populate_pas(struct ib_umem *umem, unsigned long page_size, __be64 *pas)
{
	struct mlx5_ib_pas_iter iter;

	mlx5_ib_start_pas(&iter, umem, ilog2(page_size), 0);
	mlx5_ib_next_pas(&iter, pas, U32_MAX);
	WARN_ON_ONCE(iter.left);
}
