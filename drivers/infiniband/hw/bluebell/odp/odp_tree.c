// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Implicit regions: a tree of keys over the whole address space of a process. The root exists as
 * long as the region. Directories and leaves are created by the first fault or advice that needs
 * them. A leaf is destroyed after its last page has been unmapped; what is left is destroyed with
 * the region.
 */

#include <linux/slab.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_mkey.h"
#include "layout/layout_odp.h"
#include "lib/buf.h"
#include "lib/orphan.h"
#include "lib/umr.h"
#include "odp/odp_internal.h"

/* Delay before another attempt to destroy a leaf, after UMR has failed or firmware refused. */
#define ODP_TREE_RECLAIM_DELAY	msecs_to_jiffies(100)

/* ---- tables ------------------------------------------------------------------- */

static unsigned long odp_tree_index(const struct odp_dir *dir, u64 va)
{
	return (va - dir->key.base) >> dir->shift;
}

static u64 odp_tree_child_base(const struct odp_dir *dir, unsigned long index)
{
	return dir->key.base + ((u64)index << dir->shift);
}

/*
 * Returns the absent key, the key of addresses without a leaf: the null key of the device; but by
 * the memory scheme of faults (odp_fault.c) a key of the region's own, because a fault at such an
 * address names only this key, and the driver has to find the region by it.
 */
static u32 odp_tree_absent_key(const struct odp_mr *mr)
{
	return mr->odp->by_memory ? mr->absent.own.key : mr->odp->dev->null_mkey;
}

/*
 * Returns the key to write to the entry of @child: the key of the child; or the absent key if there
 * is no child, or if the child's key has been destroyed or may be gone: the number of such a key
 * may by now be that of a key of another region. The MMU notifier may destroy the key of a leaf
 * meanwhile, under the leaf's lock alone; the entry then refers to the destroyed key until reclaim
 * has removed the leaf.
 */
static u32 odp_tree_entry_key(const struct odp_mr *mr, const struct odp_key *child)
{
	const struct mlx5_ib_mkey *mkey = child ? child->mkey : NULL;

	if (!mkey || READ_ONCE(mkey->destroyed) || mlx5_ib_fw_may_be_gone(&mkey->attempt))
		return odp_tree_absent_key(mr);
	return mkey->key;
}

/* Build entries of @dir for the device. */
static void odp_tree_fill_entries(struct odp_mr *mr, struct odp_dir *dir, unsigned long first,
				  unsigned long num, struct mlx5_ksm *ksm)
{
	unsigned long i;

	for (i = first; i < first + num; i++, ksm++) {
		ksm->key = cpu_to_be32(odp_tree_entry_key(mr, xa_load(&dir->children, i)));
		ksm->va = cpu_to_be64(odp_tree_child_base(dir, i));
	}
}

/* Create a table. @mkey is the region's key for the root, and NULL for a directory. */
static struct odp_dir *odp_tree_create_dir(struct odp_mr *mr, struct mlx5_ib_mkey *mkey, u64 base,
					   u8 shift, u32 num)
{
	const struct mlx5_ib_mkc_attr attr = {
		.access = mr->mr.access,
		.pdn = to_mpd(mr->mr.ibmr.pd)->pdn,
		.iova = base,
		.length = (u64)num << shift,
		.page_shift = shift,
		.nmtts = num * sizeof(struct mlx5_ksm) / sizeof(__be64),
	};
	size_t inlen = mlx5_ib_create_mkey_inlen(attr.nmtts);
	struct odp_dir *dir __free(kfree) = kzalloc_obj(*dir, MLX5_IB_FAULT_GFP);
	void *in __free(kvfree) = kvzalloc(inlen, MLX5_IB_FAULT_GFP);
	int err;

	if (!in || !dir)
		return ERR_PTR(-ENOMEM);
	dir->key.mr = mr;
	dir->key.mkey = mkey ?: &dir->key.own;
	dir->key.base = base;
	dir->shift = shift;
	xa_init_flags(&dir->children, XA_FLAGS_ACCOUNT);
	mlx5_ib_odp_fill_create_ksm(in, &attr);
	odp_tree_fill_entries(mr, dir, 0, num, MLX5_ADDR_OF(create_mkey_in, in, klm_pas_mtt));
	err = mlx5_ib_share_take_many(mr->context, MLX5_IB_SHARE_PAGED,
				      MLX5_IB_SHARE_OF_TABLE(num), &dir->share) ?:
	      mlx5_ib_mkey_create(mr->odp->dev, mr->context, dir->key.mkey, in, inlen);
	if (err) {
		mlx5_ib_share_undo(&dir->share, err);
		return ERR_PTR(err);
	}
	return_ptr(dir);
}

/* Write the block of entries around @index to the device. */
static int odp_tree_write_block(struct odp_mr *mr, struct odp_dir *dir, unsigned long index)
{
	unsigned long first = ALIGN_DOWN(index, MLX5_IB_ODP_BLOCK_KSMS);
	struct mlx5_ib_umr_wqe wqe = {};

	odp_tree_fill_entries(mr, dir, first, MLX5_IB_ODP_BLOCK_KSMS,
			      mlx5_ib_umr_fill_inline(&wqe, dir->key.mkey->key, first,
						      MLX5_IB_ODP_BLOCK_KSMS));
	return mlx5_ib_umr_exec(mr->odp->dev, &wqe);
}

/* ---- children of tables --------------------------------------------------------- */

/* Return the child of @dir that covers address @va. If there is none, @create creates it. */
static struct odp_key *odp_tree_get_child(struct odp_mr *mr, struct odp_dir *dir, u64 va,
					  struct odp_key *(*create)(struct odp_mr *mr, u64 base))
{
	unsigned long index = odp_tree_index(dir, va);
	struct odp_key *child = xa_load(&dir->children, index);
	int err;

	lockdep_assert_held(&mr->tree_lock);
	if (child)
		return child;
	/* Reserve the index first: if that failed later, the child would have to be destroyed. */
	err = xa_reserve(&dir->children, index, MLX5_IB_FAULT_GFP);
	if (err)
		return ERR_PTR(err);
	child = create(mr, odp_tree_child_base(dir, index));
	if (IS_ERR(child))
		xa_release(&dir->children, index);
	else
		xa_store(&dir->children, index, child, GFP_KERNEL);
	return child;
}

/*
 * Write the entry of @dir that refers to @child, unless the device has it already. If UMR fails,
 * the child stays in the tree for now: the next fault or advice that finds the child writes the
 * entry.
 */
static int odp_tree_link_child(struct odp_mr *mr, struct odp_dir *dir, struct odp_key *child)
{
	int err;

	lockdep_assert_held(&mr->tree_lock);
	if (child->linked)
		return 0;
	err = odp_tree_write_block(mr, dir, odp_tree_index(dir, child->base));
	child->linked = !err;
	return err;
}

static struct odp_key *odp_tree_create_child_dir(struct odp_mr *mr, u64 base)
{
	struct odp_dir *dir = odp_tree_create_dir(mr, NULL, base, MLX5_IB_ODP_LEAF_SHIFT,
						  BIT(mr->odp->dir_shift -
						      MLX5_IB_ODP_LEAF_SHIFT));

	return IS_ERR(dir) ? ERR_CAST(dir) : &dir->key;
}

/* ---- reclaim of leaves without pages ------------------------------------------- */

/*
 * The last page of a leaf has been unmapped, or the leaf is dead: queue the work item that reclaims
 * the leaf, with references to the leaf and to the region. Called with the leaf's lock held,
 * possibly from memory reclaim: allocates nothing.
 */
static void odp_tree_queue_reclaim(struct odp_leaf *leaf)
{
	struct odp_mr *mr = leaf->key.mr;

	lockdep_assert_held(&leaf->lock);
	/* If this fails, the region is being deregistered, which destroys its leaves, too. */
	if (!mlx5_ib_mkey_hold(&mr->mr.mkey))
		return;
	refcount_inc(&leaf->refs);
	if (!queue_delayed_work(mr->odp->reclaim_wq, &leaf->reclaim, 0)) {
		refcount_dec(&leaf->refs);
		mlx5_ib_mkey_put(&mr->mr.mkey);
	}
}

/*
 * Whether a leaf has no pages, and no user but the tree and the calling reclaim. If so, the
 * function hides the leaf from the MMU notifier, which then queues no other reclaim while the leaf
 * is being destroyed.
 */
static bool odp_tree_isolate_leaf(struct odp_leaf *leaf)
{
	lockdep_assert_held(&leaf->key.mr->tree_lock);
	guard(mutex)(&leaf->lock);
	/* No entry of a dead leaf can be written any more: unmap what is still DMA-mapped. */
	if (leaf->dead)
		mlx5_ib_odp_leaf_unmap_dead(leaf);
	/* One reference is the tree's, one is the caller's. */
	if (leaf->npages || refcount_read(&leaf->refs) != 2)
		return false;
	leaf->isolated = true;
	return true;
}

/*
 * Remove an isolated leaf from the tree and destroy it. Returns false if this has failed: then the
 * leaf is back in the tree.
 */
static bool odp_tree_remove_leaf(struct odp_mr *mr, struct odp_leaf *leaf)
{
	struct odp_key *key = xa_load(&mr->root->children,
				      odp_tree_index(mr->root, leaf->key.base));
	struct odp_dir *dir = container_of(key, struct odp_dir, key);
	unsigned long index = odp_tree_index(dir, leaf->key.base);

	lockdep_assert_held(&mr->tree_lock);
	/* The index stays reserved, so that putting the leaf back needs no memory. */
	xa_store(&dir->children, index, XA_ZERO_ENTRY, GFP_KERNEL);
	leaf->key.linked = false;
	if (!odp_tree_write_block(mr, dir, index) && !mlx5_ib_odp_leaf_destroy(leaf)) {
		xa_erase(&dir->children, index);
		return true;
	}
	xa_store(&dir->children, index, &leaf->key, GFP_KERNEL);
	scoped_guard(mutex, &leaf->lock)
		leaf->isolated = false;
	return false;
}

/*
 * Whether the key of the root exists. A deregistration that has failed may have destroyed the key;
 * then the tree is not changed before the next deregistration.
 */
static bool odp_tree_has_root(const struct odp_mr *mr)
{
	const struct mlx5_ib_mkey *mkey = mr->root->key.mkey;

	lockdep_assert_held(&mr->tree_lock);
	return !mkey->destroyed && !mlx5_ib_fw_may_be_gone(&mkey->attempt);
}

static void odp_tree_reclaim_leaf(struct work_struct *work)
{
	struct odp_leaf *leaf = container_of(to_delayed_work(work), struct odp_leaf, reclaim);
	struct odp_mr *mr = leaf->key.mr;
	bool again = false;

	scoped_guard(mutex, &mr->tree_lock) {
		/* Without a root, the next deregistration frees the leaf. */
		if (!odp_tree_has_root(mr) || !odp_tree_isolate_leaf(leaf))
			break;
		/* If this fails, try again, unless deregistration is about to destroy the leaf. */
		if (odp_tree_remove_leaf(mr, leaf))
			leaf = NULL;
		else
			again = !mlx5_ib_odp_mr_is_closing(mr);
	}
	/* Try again until it works: the entry in the device may still refer to a destroyed key. */
	if (again &&
	    queue_delayed_work(mr->odp->reclaim_wq, &leaf->reclaim, ODP_TREE_RECLAIM_DELAY))
		return;
	if (leaf)
		refcount_dec(&leaf->refs);
	mlx5_ib_mkey_put(&mr->mr.mkey);
}

/* ---- use of leaves ------------------------------------------------------------- */

static struct odp_key *odp_tree_create_leaf(struct odp_mr *mr, u64 base)
{
	struct odp_leaf *leaf = mlx5_ib_odp_leaf_create(mr, NULL, base,
							BIT_ULL(MLX5_IB_ODP_LEAF_SHIFT), base);

	if (IS_ERR(leaf))
		return ERR_CAST(leaf);
	/* No page is mapped yet, so no MMU notifier has read these fields. */
	INIT_DELAYED_WORK(&leaf->reclaim, odp_tree_reclaim_leaf);
	leaf->emptied = odp_tree_queue_reclaim;
	return &leaf->key;
}

/*
 * Release a reference to a leaf. If the leaf has no page, or is dead, queue its reclaim: a reclaim
 * that ran meanwhile has given up because of this reference. Called with the lock of the tree held,
 * which reclaim takes, too.
 */
static void odp_tree_put_leaf(struct odp_leaf *leaf)
{
	struct odp_mr *mr = leaf->key.mr;
	bool empty;

	lockdep_assert_held(&mr->tree_lock);
	scoped_guard(mutex, &leaf->lock)
		empty = !leaf->npages || leaf->dead;
	if (empty) {
		/* The caller has a reference to the region. */
		WARN_ON_ONCE(!mlx5_ib_mkey_hold(&mr->mr.mkey));
		/* The caller's reference to the leaf passes to the work. */
		if (queue_delayed_work(mr->odp->reclaim_wq, &leaf->reclaim, 0))
			return;
		mlx5_ib_mkey_put(&mr->mr.mkey);
	}
	refcount_dec(&leaf->refs);
}

/* Find the leaf of an address, or create it. The caller gets a reference to the leaf. */
static struct odp_leaf *odp_tree_get_leaf(struct odp_mr *mr, u64 va)
{
	struct odp_leaf *leaf;
	struct odp_dir *dir;
	struct odp_key *key;
	int err;

	guard(mutex)(&mr->tree_lock);
	if (!odp_tree_has_root(mr))
		return ERR_PTR(-EIO);
	key = odp_tree_get_child(mr, mr->root, va, odp_tree_create_child_dir);
	err = PTR_ERR_OR_ZERO(key) ?: odp_tree_link_child(mr, mr->root, key);
	if (err)
		return ERR_PTR(err);
	dir = container_of(key, struct odp_dir, key);
	WARN_ON_ONCE(dir->shift != MLX5_IB_ODP_LEAF_SHIFT);
	key = odp_tree_get_child(mr, dir, va, odp_tree_create_leaf);
	if (IS_ERR(key))
		return ERR_CAST(key);
	leaf = container_of(key, struct odp_leaf, key);
	refcount_inc(&leaf->refs);
	err = odp_tree_link_child(mr, dir, key);
	if (err) {
		odp_tree_put_leaf(leaf);
		return ERR_PTR(err);
	}
	return leaf;
}

/* Page in a range of an implicit region. The region starts at 0, so an offset is an address. */
static int odp_tree_page_in(struct odp_mr *mr, u64 va, u64 len, unsigned long req)
{
	u64 end = va + len, stop;
	struct odp_leaf *leaf;
	int ret, had_all = 1;

	if (end > mr->mm->task_size)
		return -EFAULT;
	for (; va < end; va = stop) {
		stop = min(end, ALIGN(va + 1, BIT_ULL(MLX5_IB_ODP_LEAF_SHIFT)));
		leaf = odp_tree_get_leaf(mr, va);
		if (IS_ERR(leaf))
			return PTR_ERR(leaf);
		ret = mlx5_ib_odp_leaf_page_in(leaf, va, stop - va, req);
		scoped_guard(mutex, &mr->tree_lock)
			odp_tree_put_leaf(leaf);
		if (ret < 0)
			return ret;
		had_all &= ret;
	}
	return had_all;
}

/* ---- the whole tree ------------------------------------------------------------ */

/*
 * Destroy the key of a table, unless that has been done. If firmware refuses and the process has
 * closed the device, give up the key: it translates to pages only through leaves, which the caller
 * destroys afterwards.
 */
static int odp_tree_destroy_key(struct odp_mr *mr, struct odp_dir *table)
{
	struct mlx5_ib_mkey *mkey = table->key.mkey;
	int err;

	lockdep_assert_held(&mr->tree_lock);
	err = mlx5_ib_mkey_destroy(mr->odp->dev, mkey);
	if (!err || !mr->mr.closing)
		return err;
	mlx5_ib_mkey_retire(mr->odp->dev, mkey);
	mlx5_ib_mkey_abandon(mr->odp->dev, mkey, &table->share, err);
	return 0;
}

/*
 * Destroy a table, then its children: once the key of the table has been destroyed, no entry refers
 * to the children. If firmware refuses to destroy a key, another call goes on with that key.
 */
static int odp_tree_destroy_table(struct odp_mr *mr, struct odp_dir *table)
{
	struct odp_key *child;
	unsigned long i;
	int err;

	err = odp_tree_destroy_key(mr, table);
	if (err)
		return err;
	xa_for_each(&table->children, i, child) {
		/* The children of the root are directories; those of a directory are leaves. */
		if (table == mr->root)
			err = odp_tree_destroy_table(mr, container_of(child, struct odp_dir, key));
		else
			err = mlx5_ib_odp_leaf_destroy(container_of(child, struct odp_leaf, key));
		if (err)
			return err;
		xa_erase(&table->children, i);
	}
	xa_destroy(&table->children);
	mlx5_ib_share_give(&table->share);
	kfree(table);
	return 0;
}

/*
 * Destroy the absent key of the region, if it has one. If firmware refuses, the key becomes an
 * orphan, whose destruction lib/orphan.c repeats, and the deregistration goes on: the key
 * translates to no page.
 */
static void odp_tree_drop_absent(struct odp_mr *mr)
{
	struct mlx5_ib_queue_mem mem = { .context = mr->context };
	struct mlx5_ib_dev *dev = mr->odp->dev;

	if (!mr->odp->by_memory || !mlx5_ib_mkey_destroy(dev, &mr->absent.own))
		return;
	mlx5_ib_mkey_orphan(dev, &mr->absent.own, &mem);
	mlx5_ib_orphans_retry(dev, mr->context);
}

static int odp_tree_destroy(struct odp_mr *mr)
{
	int err;

	scoped_guard(mutex, &mr->tree_lock)
		err = odp_tree_destroy_table(mr, mr->root);
	if (!err)
		odp_tree_drop_absent(mr);
	return err;
}

static const struct odp_mr_ops odp_tree_ops = {
	.page_in = odp_tree_page_in,
	.destroy = odp_tree_destroy,
};

/* Create the absent key: the key of addresses without a leaf. At first no address has a leaf. */
static int odp_tree_create_absent(struct odp_mr *mr)
{
	const struct mlx5_ib_mkc_attr attr = {
		.access = mr->mr.access,
		.pdn = to_mpd(mr->mr.ibmr.pd)->pdn,
		.nmtts = MLX5_IB_UMR_BLOCK_MTTS,
	};
	size_t inlen = mlx5_ib_create_mkey_inlen(attr.nmtts);
	int err;

	void *in __free(kfree) = kzalloc(inlen, GFP_KERNEL_ACCOUNT);

	if (!in)
		return -ENOMEM;
	mlx5_ib_odp_fill_create_absent(in, &attr);
	err = mlx5_ib_mkey_create(mr->odp->dev, mr->context, &mr->absent.own, in, inlen);
	if (err)
		return err;
	mr->absent.mr = mr;
	mr->absent.mkey = &mr->absent.own;
	mlx5_ib_mkey_publish(mr->odp->dev, &mr->absent.own, MLX5_IB_MKEY_ODP_PART);
	return 0;
}

/**
 * mlx5_ib_odp_tree_create - make a region implicit, over all addresses of the current process
 * @mr: the region, its rights and protection domain set
 *
 * Creates the root, a key with indirect access (CREATE_MKEY, struct mlx5_ifc_create_mkey_in_bits).
 * All entries of the new root refer to the null key; by the memory scheme of faults, they refer to
 * a key without pages, which is created first. May sleep.
 *
 * Return: 0; -ENOMEM, also if the user has as much paged memory as a user can have; or as
 * mlx5_ib_mkey_create().
 */
int mlx5_ib_odp_tree_create(struct odp_mr *mr)
{
	u32 num = (((u64)TASK_SIZE - 1) >> mr->odp->dir_shift) + 1;
	int err = mr->odp->by_memory ? odp_tree_create_absent(mr) : 0;
	struct odp_dir *root;

	if (err)
		return err;
	root = odp_tree_create_dir(mr, &mr->mr.mkey, 0, mr->odp->dir_shift,
				   ALIGN(num, MLX5_IB_ODP_BLOCK_KSMS));
	if (IS_ERR(root)) {
		odp_tree_drop_absent(mr);
		return PTR_ERR(root);
	}
	mr->root = root;
	mr->ops = &odp_tree_ops;
	return 0;
}
