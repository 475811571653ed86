// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Indirect mkeys, which processes create: find the keys that a range of addresses translates to.
 * The process writes the tables of its indirect mkeys, so the driver can rely on no field in them.
 */

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mlx5/driver.h>

#include "layout/layout_klm.h"

/* The memory that an entry of a table covers: @len bytes of @key, from the address @addr on. */
struct klm_extent {
	u32 key;
	u64 addr;
	u64 len;
};

static const struct mlx5_stride_block_entry *klm_block_entry(const struct mlx5_ib_klm_walk *walk,
							     u32 i)
{
	return (const void *)&walk->entry[walk->next + 1 + i];
}

static u64 klm_cycle_bytes(const struct mlx5_ib_klm_walk *walk, u32 entries)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < entries; i++)
		bytes += be16_to_cpu(klm_block_entry(walk, i)->bcount);
	return bytes;
}

static u32 klm_block_cycles(const struct mlx5_ib_klm_walk *walk)
{
	const struct mlx5_stride_block_ctrl_seg *head = (const void *)&walk->entry[walk->next];

	return be32_to_cpu(head->repeat_count);
}

/*
 * The next entry of the table is the head of a strided block: a list of pieces that is repeated in
 * cycles, with each piece moved by its stride from one cycle to the next. Enter the block in the
 * cycle in which the rest of the range starts, or step over the block if the rest starts after it.
 * Returns false for a block without entries or bytes, which the device would refuse; for a block
 * that extends beyond the @num entries of the walk; and for a block that has more entries than the
 * walk may still read.
 */
static bool klm_enter_block(struct mlx5_ib_klm_walk *walk)
{
	const struct mlx5_stride_block_ctrl_seg *head = (const void *)&walk->entry[walk->next];
	u32 entries = be16_to_cpu(head->num_entries);
	u64 bytes, cycles = klm_block_cycles(walk);

	if (!entries || entries >= walk->num - walk->next || entries > *walk->budget)
		return false;
	*walk->budget -= entries;
	bytes = klm_cycle_bytes(walk, entries);
	if (!bytes)
		return false;
	walk->cycle = min(div64_u64(walk->skip, bytes), cycles);
	walk->skip -= walk->cycle * bytes;
	if (walk->cycle == cycles) {
		walk->next += 1 + entries;
		return true;
	}
	walk->block_entries = entries;
	return true;
}

static void klm_read_block(struct mlx5_ib_klm_walk *walk, struct klm_extent *extent)
{
	const struct mlx5_stride_block_entry *entry = klm_block_entry(walk, walk->block_entry);

	*extent = (struct klm_extent){
		.key = be32_to_cpu(entry->key),
		.addr = be64_to_cpu(entry->va) + walk->cycle * be16_to_cpu(entry->stride),
		.len = be16_to_cpu(entry->bcount),
	};
	if (++walk->block_entry < walk->block_entries)
		return;
	walk->block_entry = 0;
	if (++walk->cycle < klm_block_cycles(walk))
		return;
	walk->next += 1 + walk->block_entries;
	walk->block_entries = 0;
}

static void klm_read_entry(struct mlx5_ib_klm_walk *walk, struct klm_extent *extent)
{
	const struct mlx5_klm *klm = &walk->entry[walk->next++];

	*extent = (struct klm_extent){
		.key = be32_to_cpu(klm->key),
		.addr = be64_to_cpu(klm->va),
		.len = walk->fixed_len ?: be32_to_cpu(klm->bcount),
	};
}

/*
 * Read the next entry of the table. Returns false after the last of the @num entries, at the end of
 * the budget, and at a strided block that klm_enter_block() refuses.
 */
static bool klm_read(struct mlx5_ib_klm_walk *walk, struct klm_extent *extent)
{
	while (walk->next < walk->num && *walk->budget) {
		--*walk->budget;
		if (walk->block_entries) {
			klm_read_block(walk, extent);
			return true;
		}
		if (walk->fixed_len ||
		    be32_to_cpu(walk->entry[walk->next].key) != MLX5_STRIDE_BLOCK_OP) {
			klm_read_entry(walk, extent);
			return true;
		}
		if (!klm_enter_block(walk))
			return false;
	}
	return false;
}

/*
 * Start a walk through a table of KSMs. All entries cover the same number of bytes, and the first
 * one starts where the key does, so compute the entry at which the range starts.
 */
static void klm_start_ksm(struct mlx5_ib_klm_walk *walk, const void *mkc)
{
	u8 shift = MLX5_GET(mkc, mkc, log_page_size);

	walk->fixed_len = BIT_ULL(shift);
	walk->next = min_t(u64, walk->skip >> shift, walk->num);
	walk->skip &= walk->fixed_len - 1;
}

/**
 * mlx5_ib_klm_start - start a walk through what a range of a key translates to
 * @walk: the walk; the caller has set only @budget
 * @out: answer to QUERY_MKEY, of MLX5_IB_KLM_QUERY_BYTES(@num) bytes
 * @num: number of entries in @out: all entries of the table, or the first of them
 * @key: the key, including its low byte, the variant
 * @addr: first address of the range
 * @len: bytes of the range; bytes beyond the end of the key are left out
 *
 * Return: true; false if the key is free, has another variant than @key, or starts after @addr.
 */
bool mlx5_ib_klm_start(struct mlx5_ib_klm_walk *walk, const void *out, u32 num, u32 key, u64 addr,
		       u64 len)
{
	const void *mkc = MLX5_ADDR_OF(query_mkey_out, out, memory_key_mkey_entry);
	u64 start = MLX5_GET64(mkc, mkc, start_addr), size = MLX5_GET64(mkc, mkc, len);

	if (MLX5_GET(mkc, mkc, free) || MLX5_GET(mkc, mkc, mkey_7_0) != mlx5_mkey_variant(key) ||
	    addr < start)
		return false;
	*walk = (struct mlx5_ib_klm_walk){
		.pdn = MLX5_GET(mkc, mkc, pd),
		.entry = (const void *)MLX5_ADDR_OF(query_mkey_out, out, bsf0_klm0_pas_mtt0_1),
		.num = num,
		.skip = addr - start,
		.left = len,
		.budget = walk->budget,
	};
	if (!MLX5_GET(mkc, mkc, length64))
		walk->left = min(len, size > walk->skip ? size - walk->skip : 0);
	if (MLX5_GET(mkc, mkc, access_mode_1_0) == MLX5_MKC_ACCESS_MODE_KSM)
		klm_start_ksm(walk, mkc);
	return true;
}

/**
 * mlx5_ib_klm_next - find the next piece of a range
 * @walk: the walk
 * @piece: gets the piece
 *
 * Return: true; false if nothing of the range is left, if no entry is left, if the next entry is a
 * strided block that is invalid or incomplete, or if the budget is used up.
 */
bool mlx5_ib_klm_next(struct mlx5_ib_klm_walk *walk, struct mlx5_ib_klm_piece *piece)
{
	struct klm_extent extent;

	while (walk->left && klm_read(walk, &extent)) {
		if (walk->skip >= extent.len) {
			walk->skip -= extent.len;
			continue;
		}
		*piece = (struct mlx5_ib_klm_piece){
			.key = extent.key,
			.addr = extent.addr + walk->skip,
			.len = min(extent.len - walk->skip, walk->left),
		};
		walk->skip = 0;
		walk->left -= piece->len;
		return true;
	}
	return false;
}
