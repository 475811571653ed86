/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory key layout: access rights, the context of a key (MKC), translation entries and the size of
 * the command that carries them. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_MKEY_H
#define BLUEBELL_LAYOUT_MKEY_H

#include <linux/bits.h>
#include <linux/types.h>

struct ib_umem;
struct mlx5_ib_caps;
struct scatterlist;

/*
 * Longest translation list of a key over pinned memory or a dma-buf: 8 TiB in pages of 4 KiB. The
 * device may support less, and firmware then refuses the list.
 */
#define MLX5_IB_MAX_MTTS		BIT(31)
/*
 * Longest list that CREATE_MKEY carries, in a command of 128 MiB: mlx5_core could hardly allocate a
 * longer chain of mailboxes.
 */
#define MLX5_IB_MAX_COMMAND_MTTS	BIT(24)
/*
 * Longest list of a key over paged memory: 64 GiB in pages of 4 KiB. It is limited because the
 * driver's tables for the key take at least 16 bytes of kernel memory for each page that is mapped,
 * and at most half of this memory is charged to the memory cgroup of the process (odp_chunk.c).
 */
#define MLX5_IB_MAX_PAGED_MTTS		BIT(24)

/**
 * struct mlx5_ib_mkc_attr - attributes of a key
 * @access: enum ib_access_flags
 * @pdn: protection domain number
 * @iova: first address of the region, as used in WQEs and packets
 * @length: bytes
 * @page_shift: log2 of the page size of the translation entries
 * @nmtts: number of translation entries
 * @room: number of entries that the key has room for and that UMR can write. If 0, the key has room
 *	for @nmtts entries, and UMR cannot change the key unless the caller sets umr_en
 * @free: the key gives access to nothing until UMR fills it
 * @klm: the entries are pieces of other keys, of any length (struct mlx5_klm); each counts twice in
 *	@nmtts and @room
 * @variant: low byte of the key
 */
struct mlx5_ib_mkc_attr {
	u32 access;
	u32 pdn;
	u64 iova;
	u64 length;
	u8 page_shift;
	u32 nmtts;
	u32 room;
	bool free;
	bool klm;
	u8 variant;
};

/**
 * struct mlx5_ib_pas_iter - a position in a buffer's translation list
 * @sg: segment of the buffer in which the page of the next entry starts; NULL at the end
 * @addr: DMA address of the next entry
 * @end: end of the segment
 * @flags: bits to set in each entry
 * @left: number of entries that have not been written yet
 * @page_shift: log2 of the page size
 */
struct mlx5_ib_pas_iter {
	struct scatterlist *sg;
	u64 addr;
	u64 end;
	u64 flags;
	u64 left;
	unsigned int page_shift;
};

unsigned long mlx5_ib_mkey_page_sizes(const struct mlx5_ib_caps *caps);
int mlx5_ib_check_mr(u64 length, u64 iova, u32 access, const struct mlx5_ib_caps *caps);
int mlx5_ib_check_klms(u32 num, const struct mlx5_ib_caps *caps);
size_t mlx5_ib_create_mkey_inlen(u32 nmtts);
u32 mlx5_ib_mtt_octowords(u32 nmtts);
void mlx5_ib_fill_mkc_access(void *mkc, u32 access, const struct mlx5_ib_caps *caps);
void mlx5_ib_fill_mkc(void *mkc, const struct mlx5_ib_mkc_attr *attr,
		      const struct mlx5_ib_caps *caps);
void mlx5_ib_fill_create_mkey(void *in, const struct mlx5_ib_mkc_attr *attr,
			      const struct mlx5_ib_caps *caps);
void mlx5_ib_fill_mw_mkey(void *in, u32 pdn, u8 num_klms, bool type_2);
void mlx5_ib_start_pas(struct mlx5_ib_pas_iter *iter, struct ib_umem *umem,
		       unsigned int page_shift, u64 flags);
u32 mlx5_ib_next_pas(struct mlx5_ib_pas_iter *iter, __be64 *pas, u32 max);
void mlx5_ib_populate_pas(struct ib_umem *umem, unsigned long page_size, __be64 *pas);

#endif /* BLUEBELL_LAYOUT_MKEY_H */
