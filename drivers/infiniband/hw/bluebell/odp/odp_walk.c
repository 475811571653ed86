// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The paged regions that a key translates to. The key is that of a region, or an indirect mkey that
 * a process has created: then only firmware has the table of the key, and the driver queries the
 * table.
 */

#include <linux/err.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_klm.h"
#include "odp/odp_internal.h"

/*
 * The walk recurses from a table into the tables that its entries refer to, MAX_DEPTH levels deep
 * at most: the kernel stack has room for these, and for the page-in at the last level. Known
 * devices allow at most four levels (max_indirection).
 */
#define MAX_DEPTH	8
/*
 * Limit of the entries that are read from a table: as many as an answer of 1 MiB has. Most tables
 * are short, so the first query reads FIRST_ENTRIES, and each further query MORE_ENTRIES times as
 * many, until the entries cover what the device needs next.
 */
#define MAX_TABLE_ENTRIES	((SZ_1M - MLX5_IB_KLM_QUERY_BYTES(0)) / sizeof(struct mlx5_klm))
#define FIRST_ENTRIES	64
#define MORE_ENTRIES	8
/* Maximum number of pieces copied at a time: one that the device needs, and those to map ahead. */
#define MAX_PIECES	(MLX5_IB_ODP_MAX_AHEAD + 1)

/**
 * struct odp_walk - a walk through what a key translates to
 * @odp: paging state of the device
 * @visitor: called for each table, and for each piece of a paged region
 * @arg: argument of @visitor
 * @budget: what the fault may still spend
 * @found: the key translates to a paged region
 */
struct odp_walk {
	struct mlx5_ib_odp *odp;
	const struct odp_visitor *visitor;
	void *arg;
	struct odp_budget *budget;
	bool found;
};

/**
 * struct odp_pieces - pieces of a range, copied out of the table of a key
 * @pdn: protection domain of the key
 * @num: number of pieces
 * @covered: bytes of all pieces, from the start of the range on
 * @piece: the pieces
 */
struct odp_pieces {
	u32 pdn;
	unsigned int num;
	u64 covered;
	struct mlx5_ib_klm_piece piece[MAX_PIECES];
};

static int odp_walk_key(struct odp_walk *walk, const struct odp_want *want, unsigned int depth);

/* Allocate QUERY_MKEY's answer, charged to the memory cgroup of the process that made the key. */
static void *odp_alloc_answer(const struct mlx5_ib_table_key *table, size_t bytes)
{
	struct mem_cgroup *old = set_active_memcg(table->memcg);
	void *out = kvzalloc(bytes, MLX5_IB_FAULT_GFP);

	set_active_memcg(old);
	return out;
}

/* Copy the pieces of a range out of the first @num entries of a table. */
static int odp_copy_pieces(struct odp_walk *walk, const struct mlx5_ib_table_key *table, u32 num,
			   const struct odp_want *want, struct odp_pieces *pieces)
{
	struct mlx5_ib_klm_walk klms = { .budget = &walk->budget->entries };
	size_t bytes = MLX5_IB_KLM_QUERY_BYTES(num);
	struct mlx5_ib_dev *dev = walk->odp->dev;
	int err;

	if (bytes > walk->budget->bytes)
		return -ELOOP;
	walk->budget->bytes -= bytes;
	void *out __free(kvfree) = odp_alloc_answer(table, bytes);

	if (!out)
		return -ENOMEM;
	err = mlx5_ib_fw_query_object(dev, table->mkey.uid, MLX5_CMD_OP_QUERY_MKEY,
				      mlx5_mkey_to_idx(want->key), out, bytes);
	pieces->num = 0;
	pieces->covered = 0;
	if (err || !mlx5_ib_klm_start(&klms, out, num, want->key, want->addr, want->len))
		return err;
	pieces->pdn = klms.pdn;
	while (pieces->num < ARRAY_SIZE(pieces->piece) &&
	       mlx5_ib_klm_next(&klms, &pieces->piece[pieces->num]))
		pieces->covered += pieces->piece[pieces->num++].len;
	return 0;
}

/*
 * Read entries of a table until @pieces is full or covers all that the device needs next, or until
 * the table or the budget ends.
 */
static int odp_read_table(struct odp_walk *walk, const struct mlx5_ib_table_key *table,
			  const struct odp_want *want, struct odp_pieces *pieces)
{
	u32 all = min_t(size_t, table->num_entries, MAX_TABLE_ENTRIES);
	u32 num = min(all, FIRST_ENTRIES);
	int err = walk->visitor->table(table->process, want, walk->arg);

	if (err)
		return err;
	do {
		err = odp_copy_pieces(walk, table, num, want, pieces);
		if (err || num == all || pieces->num == ARRAY_SIZE(pieces->piece))
			break;
		num = min(all, num * MORE_ENTRIES);
	} while (pieces->covered < want->need && walk->budget->entries);
	return err;
}

/*
 * Find pieces of a range in the table of an indirect mkey that a process has created. Finds none
 * if @want->key is not such a key. The pieces are copied, so that the answer of firmware is freed
 * before the caller waits for a page of the process, which may never come.
 */
static int odp_read_pieces(struct odp_walk *walk, const struct odp_want *want,
			   struct odp_pieces *pieces)
{
	struct mlx5_ib_mkey *mkey = mlx5_ib_mkey_get(walk->odp->dev, want->key,
						     MLX5_IB_MKEY_TABLE);
	int err;

	pieces->num = 0;
	if (!mkey)
		return 0;
	err = odp_read_table(walk, container_of(mkey, struct mlx5_ib_table_key, mkey), want,
			     pieces);
	mlx5_ib_mkey_put(mkey);
	return err;
}

static int odp_walk_pieces(struct odp_walk *walk, const struct odp_pieces *pieces, u64 need,
			   unsigned int depth)
{
	const struct mlx5_ib_klm_piece *piece;
	struct odp_want want;
	int err;

	for (piece = pieces->piece; piece < pieces->piece + pieces->num; piece++) {
		if (!need && !walk->budget->ahead)
			return 0;
		walk->budget->ahead -= !need;
		want = (struct odp_want){
			.key = piece->key, .addr = piece->addr, .len = piece->len,
			.need = min(need, piece->len), .pdn = pieces->pdn,
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
	struct odp_want rest = *want;
	int err;

	if (depth >= clamp(levels, 1, MAX_DEPTH))
		return 0;
	struct odp_pieces *pieces __free(kfree) = kmalloc_obj(*pieces);

	if (!pieces)
		return -ENOMEM;
	do {
		if (!walk->budget->tables)
			return -ELOOP;
		walk->budget->tables--;
		err = odp_read_pieces(walk, &rest, pieces);
		if (err || !pieces->num)
			return err;
		if (want->pdn != MLX5_IB_ODP_ANY_PD && pieces->pdn != want->pdn)
			return -EFAULT;
		err = odp_walk_pieces(walk, pieces, rest.need, depth + 1);
		if (err || pieces->covered >= rest.need)
			return err;
		rest.addr += pieces->covered;
		rest.len -= pieces->covered;
		rest.need -= pieces->covered;
	} while (pieces->num == ARRAY_SIZE(pieces->piece));
	return 0;
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
		err = walk->visitor->region(mr, want, walk->arg);
	mlx5_ib_mkey_put(&mr->mr.mkey);
	return err;
}

/**
 * mlx5_ib_odp_for_each_region - find the paged regions that a range of a key translates to
 * @odp: paging state of the device
 * @want: the range
 * @budget: what the fault may still spend; counted down
 * @visitor: called for each table, and for each piece of a paged region
 * @arg: argument of @visitor
 *
 * Reads the tables of indirect mkeys by QUERY_MKEY. Memory that is not paged is left out.
 * What follows the first @want->need bytes is left out, too, when @visitor fails for it, or if
 * there are many pieces. May sleep.
 *
 * Return: 1 if there are paged regions, and @visitor has succeeded for those that the device needs
 * next; 0 if there is none; -EFAULT for a region or table of another domain; -ELOOP if the tables
 * that the key refers to are too many or too long for the budget; -ENOMEM; the errno of a firmware
 * refusal; or the errno of @visitor.
 */
int mlx5_ib_odp_for_each_region(struct mlx5_ib_odp *odp, const struct odp_want *want,
				struct odp_budget *budget, const struct odp_visitor *visitor,
				void *arg)
{
	struct odp_walk walk = { .odp = odp, .visitor = visitor, .arg = arg, .budget = budget };

	return odp_walk_key(&walk, want, 0) ?: walk.found;
}

/**
 * mlx5_ib_odp_own_table - note that the current process has created an indirect mkey
 * @context: context of the process, on a device with paging
 * @table: the key, which no lookup finds yet
 *
 * A page fault that has no slot yet takes a slot of this process (odp_fairness.c) before it reads
 * the table. May sleep.
 *
 * Return: 0, and then mlx5_ib_odp_disown_table() is to be called; or -ENOMEM.
 */
int mlx5_ib_odp_own_table(struct mlx5_ib_ucontext *context, struct mlx5_ib_table_key *table)
{
	table->process = mlx5_ib_odp_process_get(to_mdev(context->ibucontext.device)->odp,
						 current->mm, context->user);
	return table->process ? 0 : -ENOMEM;
}

/**
 * mlx5_ib_odp_disown_table - undo mlx5_ib_odp_own_table(), also if it has failed
 * @table: the key, which no lookup finds any more
 *
 * May sleep.
 */
void mlx5_ib_odp_disown_table(struct mlx5_ib_table_key *table)
{
	if (table->process)
		mlx5_ib_odp_process_put(table->process);
}
