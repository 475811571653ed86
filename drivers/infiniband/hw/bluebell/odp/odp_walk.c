// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The paged regions that a key leads to: the key of a region itself, or a key that a process has
 * made over other keys, whose table firmware has.
 */

#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_klm.h"
#include "odp/odp_internal.h"

/*
 * A process can write tables that lead to each other, and that have long runs of empty entries. So
 * the driver bounds, for each fault, the tables that it reads and the entries that it looks at.
 */
#define MAX_TABLES	64
/*
 * Tables that lead to each other are followed by recursion. Devices allow four levels at most; the
 * stack has room for a few more, and for paging in from there.
 */
#define MAX_DEPTH	8
#define MAX_ENTRIES	SZ_1M
/* Most entries of a table that are read: as many as an answer of 1 MiB has. */
#define MAX_TABLE_ENTRIES	((SZ_1M - MLX5_IB_KLM_QUERY_BYTES(0)) / sizeof(struct mlx5_klm))
/* Pieces that are mapped beyond what the device needs next. */
#define MAX_AHEAD	64

/**
 * struct odp_walk - a walk through what a key leads to
 * @odp: paging state of the device
 * @fn: called for each piece of a paged region
 * @arg: for @fn
 * @tables: number of tables that may still be read
 * @entries: number of entries that may still be looked at
 * @ahead: number of pieces that may still be mapped ahead
 * @found: the key leads to a paged region
 */
struct odp_walk {
	struct mlx5_ib_odp *odp;
	odp_region_fn fn;
	void *arg;
	unsigned int tables;
	unsigned int entries;
	unsigned int ahead;
	bool found;
};

static int odp_walk_key(struct odp_walk *walk, const struct odp_want *want, unsigned int depth);

/*
 * Ask firmware for the table of a key that a process has made over other keys. Returns the
 * answer to QUERY_MKEY, for kvfree(); NULL if @key is not such a key; or an ERR_PTR.
 */
static void *odp_read_table(struct mlx5_ib_odp *odp, u32 key, u32 *num)
{
	struct mlx5_ib_mkey *mkey = mlx5_ib_mkey_get(odp->dev, key, MLX5_IB_MKEY_TABLE);
	size_t bytes;
	int err;

	if (!mkey)
		return NULL;
	*num = min_t(size_t, container_of(mkey, struct mlx5_ib_table_key, mkey)->num_entries,
		     MAX_TABLE_ENTRIES);
	bytes = MLX5_IB_KLM_QUERY_BYTES(*num);
	void *out __free(kvfree) = kvzalloc(bytes, GFP_KERNEL);

	err = out ? mlx5_ib_fw_query_object(odp->dev, mkey->uid, MLX5_CMD_OP_QUERY_MKEY,
					    mlx5_mkey_to_idx(key), out, bytes) : -ENOMEM;
	mlx5_ib_mkey_put(mkey);
	return err ? ERR_PTR(err) : no_free_ptr(out);
}

static int odp_walk_pieces(struct odp_walk *walk, struct mlx5_ib_klm_walk *klms, u64 need,
			   unsigned int depth)
{
	struct mlx5_ib_klm_piece piece;
	struct odp_want want;
	int err;

	while (mlx5_ib_klm_next(klms, &piece)) {
		if (!need && !walk->ahead)
			return 0;
		walk->ahead -= !need;
		want = (struct odp_want){
			.key = piece.key, .addr = piece.addr, .len = piece.len,
			.need = min(need, piece.len), .pdn = klms->pdn,
		};
		err = odp_walk_key(walk, &want, depth);
		if (err)
			return want.need ? err : 0;
		need -= want.need;
		cond_resched();
	}
	return 0;
}

static int odp_walk_table(struct odp_walk *walk, const struct odp_want *want, unsigned int depth)
{
	unsigned int levels = MLX5_CAP_GEN(walk->odp->dev->mdev, max_indirection);
	struct mlx5_ib_klm_walk klms = { .budget = &walk->entries };
	u32 num;

	if (depth >= clamp(levels, 1, MAX_DEPTH))
		return 0;
	if (!walk->tables)
		return -ELOOP;
	walk->tables--;
	void *out __free(kvfree) = odp_read_table(walk->odp, want->key, &num);

	if (IS_ERR_OR_NULL(out))
		return PTR_ERR_OR_ZERO(out);
	if (!mlx5_ib_klm_start(&klms, out, num, want->key, want->addr, want->len))
		return 0;
	if (want->pdn != MLX5_IB_ODP_ANY_PD && klms.pdn != want->pdn)
		return -EFAULT;
	return odp_walk_pieces(walk, &klms, want->need, depth + 1);
}

static int odp_walk_key(struct odp_walk *walk, const struct odp_want *want, unsigned int depth)
{
	struct odp_mr *mr = mlx5_ib_odp_mr_get(walk->odp, want->key);
	int err = -EFAULT;

	if (!mr)
		return odp_walk_table(walk, want, depth);
	walk->found = true;
	/*
	 * The device has checked the domain of the keys that it read. The process may have changed
	 * the WQE or a table since then, so check the domain of this region.
	 */
	if (want->pdn == MLX5_IB_ODP_ANY_PD || want->pdn == READ_ONCE(mr->mr.pdn))
		err = walk->fn(mr, want, walk->arg);
	mlx5_ib_mkey_put(&mr->mr.mkey);
	return err;
}

/**
 * mlx5_ib_odp_for_each_region - find the paged regions that a range of a key leads to
 * @odp: paging state of the device
 * @want: the range
 * @fn: called for each piece of a paged region, in the order of the addresses; the caller's
 *	reference on the region lasts as long as the call
 * @arg: for @fn
 *
 * Memory that is not paged is left out. What follows the first @want->need bytes is left out,
 * too, when @fn fails for it, or if there are many pieces. QUERY_MKEY, for keys over other keys.
 * May sleep.
 *
 * Return: 1 if there are paged regions, for which @fn has succeeded; 0 if there is none; -EFAULT
 * for a region of another domain; -ELOOP if the key leads through too many tables; -ENOMEM; the
 * errno of a firmware refusal; or what @fn has returned.
 */
int mlx5_ib_odp_for_each_region(struct mlx5_ib_odp *odp, const struct odp_want *want,
				odp_region_fn fn, void *arg)
{
	struct odp_walk walk = {
		.odp = odp, .fn = fn, .arg = arg, .tables = MAX_TABLES, .entries = MAX_ENTRIES,
		.ahead = MAX_AHEAD,
	};

	return odp_walk_key(&walk, want, 0) ?: walk.found;
}
