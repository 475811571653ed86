/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Indirect mkeys, which processes create: find the keys that a range of addresses translates to.
 * Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_KLM_H
#define BLUEBELL_LAYOUT_KLM_H

#include <linux/mlx5/qp.h>
#include <linux/types.h>

/* Bytes of an answer to QUERY_MKEY that has @num entries of the key's translation table. */
#define MLX5_IB_KLM_QUERY_BYTES(num) \
	(MLX5_BYTE_OFF(query_mkey_out, bsf0_klm0_pas_mtt0_1) + (num) * sizeof(struct mlx5_klm))

/**
 * struct mlx5_ib_klm_walk - a walk through what a range of addresses translates to
 * @pdn: protection domain of the key
 * @entry: the translation table of the key
 * @num: number of entries at @entry: all entries of the table, or the first of them
 * @fixed_len: bytes that each entry of a table of KSMs covers; 0 for a table of KLMs
 * @next: entry to read next
 * @skip: offset of the rest of the range from the first byte that the next entry covers
 * @left: bytes of the range that have not been walked through
 * @block_entries: entries of the strided block (klm_enter_block()) whose head is entry @next of the
 *	table; 0 outside of a block
 * @block_entry: entry of the block to read next, from 0; 0 outside of a block
 * @cycle: cycle of the block to read next, from 0
 * @budget: entries that the walk may still read; belongs to the caller, and is counted down
 */
struct mlx5_ib_klm_walk {
	u32 pdn;
	const struct mlx5_klm *entry;
	u32 num;
	u64 fixed_len;
	u32 next;
	u64 skip;
	u64 left;
	u32 block_entries;
	u32 block_entry;
	u64 cycle;
	unsigned int *budget;
};

/**
 * struct mlx5_ib_klm_piece - a piece of the range that a walk goes through
 * @key: key that the piece translates to
 * @addr: address of the piece in @key
 * @len: bytes
 */
struct mlx5_ib_klm_piece {
	u32 key;
	u64 addr;
	u64 len;
};

bool mlx5_ib_klm_start(struct mlx5_ib_klm_walk *walk, const void *out, u32 num, u32 key, u64 addr,
		       u64 len);
bool mlx5_ib_klm_next(struct mlx5_ib_klm_walk *walk, struct mlx5_ib_klm_piece *piece);

#endif /* BLUEBELL_LAYOUT_KLM_H */
