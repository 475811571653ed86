// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Implicit regions: a root over all of the process, directories, and leaves that
 * come with the first fault and go with the last page.
 */

#include <linux/slab.h>

#include "bluebell.h"
#include "fw.h"
#include "layout_odp.h"
#include "odp_internal.h"
#include "ucontext.h"
#include "umr_qp.h"

/* Until a leaf that could not be given up is tried again. */
#define RECLAIM_DELAY	msecs_to_jiffies(100)

static struct odp_dir *create_dir(struct odp_mr *mr, u64 base, u8 shift, u32 num)
{
	struct mlx5_ib_dev *dev = mr->odp->dev;
	struct mlx5_ib_odp_ksm_attr attr = {
		.access = mr->mr.access,
		.pdn = to_mpd(mr->mr.ibmr.pd)->pdn,
		.variant = atomic_inc_return(&dev->mkey_variant),
		.base = base,
		.shift = shift,
		.num = num,
		.null_mkey = mr->odp->null_mkey,
	};
	size_t inlen = mlx5_ib_odp_create_ksm_inlen(num);
	struct odp_dir *dir __free(kfree) = kzalloc_obj(*dir);
	void *in __free(kvfree) = kvzalloc(inlen, GFP_KERNEL);
	int err;

	if (!in || !dir)
		return ERR_PTR(-ENOMEM);
	mlx5_ib_odp_fill_create_ksm(in, &attr);
	err = mlx5_fw_create_mkey(dev, MLX5_IB_KERNEL_UID, in, inlen, &dir->key.mkey);
	if (err)
		return ERR_PTR(err);
	dir->key.base = base;
	dir->shift = shift;
	xa_init(&dir->kids);
	return_ptr(dir);
}

/* Write the entry of @index and its neighbours to the device, as @dir->kids has them. */
static int write_dir(struct odp_mr *mr, struct odp_dir *dir, unsigned long index)
{
	unsigned long first = ALIGN_DOWN(index, MLX5_IB_ODP_BLOCK_KSMS), i;
	struct mlx5_ib_umr_wqe wqe = {};
	struct mlx5_ksm *ksm;
	struct odp_key *kid;

	ksm = mlx5_ib_odp_fill_inline(&wqe, dir->key.mkey, first, MLX5_IB_ODP_BLOCK_KSMS);
	for (i = first; i < first + MLX5_IB_ODP_BLOCK_KSMS; i++) {
		kid = xa_load(&dir->kids, i);
		mlx5_ib_odp_fill_ksm(ksm++, kid ? kid->mkey : mr->odp->null_mkey,
				     dir->key.base + ((u64)i << dir->shift));
	}
	return mlx5_ib_umr_exec(mr->odp->dev, &wqe);
}

/* Have the device know a kid. Should UMR fail, whoever needs the kid next tries again. */
static int link_kid(struct odp_mr *mr, struct odp_dir *dir, unsigned long index,
		    struct odp_key *kid)
{
	int err;

	if (kid->linked)
		return 0;
	err = write_dir(mr, dir, index);
	kid->linked = !err;
	return err;
}

static struct odp_dir *get_dir(struct odp_mr *mr, u64 va)
{
	unsigned long index = mlx5_ib_odp_dir_index(va);
	struct odp_key *key = xa_load(&mr->root->kids, index);
	struct odp_dir *dir;
	int err;

	if (!key) {
		/* First the slot: that can fail, and a key would have to be destroyed again. */
		err = xa_reserve(&mr->root->kids, index, GFP_KERNEL);
		if (err)
			return ERR_PTR(err);
		dir = create_dir(mr, (u64)index << MLX5_IB_ODP_DIR_SHIFT, MLX5_IB_ODP_LEAF_SHIFT,
				 BIT(MLX5_IB_ODP_DIR_SHIFT - MLX5_IB_ODP_LEAF_SHIFT));
		if (IS_ERR(dir)) {
			xa_release(&mr->root->kids, index);
			return dir;
		}
		key = &dir->key;
		xa_store(&mr->root->kids, index, key, GFP_KERNEL);
	}
	err = link_kid(mr, mr->root, index, key);
	return err ? ERR_PTR(err) : container_of(key, struct odp_dir, key);
}

static void reclaim_leaf(struct work_struct *work);

static struct odp_leaf *create_leaf(struct odp_mr *mr, struct odp_dir *dir, u64 va)
{
	u64 size = BIT_ULL(MLX5_IB_ODP_LEAF_SHIFT), base = mlx5_ib_odp_leaf_base(va);
	unsigned long index = mlx5_ib_odp_leaf_index(va);
	struct ib_umem_odp *umem;
	struct odp_leaf *leaf;
	int err;

	err = xa_reserve(&dir->kids, index, GFP_KERNEL);
	if (err)
		return ERR_PTR(err);
	umem = ib_umem_odp_alloc_child(mr->anchor, base, size, &mlx5_ib_odp_notifier_ops);
	leaf = IS_ERR(umem) ? ERR_CAST(umem) : mlx5_ib_odp_create_leaf(mr, umem, base, size);
	if (IS_ERR(leaf)) {
		xa_release(&dir->kids, index);
		return leaf;
	}
	INIT_DELAYED_WORK(&leaf->reclaim, reclaim_leaf);
	xa_store(&dir->kids, index, &leaf->key, GFP_KERNEL);
	return leaf;
}

/**
 * mlx5_ib_odp_get_leaf - the leaf of an address, made if need be
 * @mr: implicit region
 * @va: the address, within its limit
 *
 * May sleep; takes tree_lock.
 *
 * Return: the leaf, for which mlx5_ib_odp_put_leaf() is to follow, or an ERR_PTR.
 */
struct odp_leaf *mlx5_ib_odp_get_leaf(struct odp_mr *mr, u64 va)
{
	unsigned long index = mlx5_ib_odp_leaf_index(va);
	struct odp_leaf *leaf;
	struct odp_dir *dir;
	struct odp_key *key;
	int err;

	guard(mutex)(&mr->tree_lock);
	/* Firmware would not destroy all of a region; nothing leads to what is left. */
	if (mr->root->key.gone)
		return ERR_PTR(-EIO);
	dir = get_dir(mr, va);
	if (IS_ERR(dir))
		return ERR_CAST(dir);
	key = xa_load(&dir->kids, index);
	leaf = key ? container_of(key, struct odp_leaf, key) : create_leaf(mr, dir, va);
	if (IS_ERR(leaf))
		return leaf;
	refcount_inc(&leaf->refs);
	err = link_kid(mr, dir, index, &leaf->key);
	if (err) {
		mlx5_ib_odp_put_leaf(leaf);
		return ERR_PTR(err);
	}
	return leaf;
}

/**
 * mlx5_ib_odp_put_leaf - have no more use for a leaf
 * @leaf: leaf of mlx5_ib_odp_get_leaf()
 *
 * Without a page or a key it is given up: what cannot be paged in shall not cost
 * memory either. May sleep; takes umem_mutex.
 */
void mlx5_ib_odp_put_leaf(struct odp_leaf *leaf)
{
	struct odp_mr *mr = leaf->mr;
	bool empty;

	scoped_guard(mutex, &leaf->umem->umem_mutex)
		empty = !leaf->umem->npages || leaf->dead;
	if (empty) {
		refcount_inc(&mr->refs);
		/* Our reference to the leaf passes to the work. */
		if (queue_delayed_work(mr->odp->wq, &leaf->reclaim, 0))
			return;
		mlx5_ib_odp_put_mr(mr);
	}
	refcount_dec(&leaf->refs);
}

/**
 * mlx5_ib_odp_queue_reclaim - a leaf has lost its last page, or its key
 * @leaf: the leaf; of an implicit region it will be given up
 *
 * Called with umem_mutex held, perhaps while memory is being reclaimed:
 * allocates nothing.
 */
void mlx5_ib_odp_queue_reclaim(struct odp_leaf *leaf)
{
	struct odp_mr *mr = leaf->mr;

	if (!mr->root || !refcount_inc_not_zero(&mr->refs))
		return;
	refcount_inc(&leaf->refs);
	if (!queue_delayed_work(mr->odp->wq, &leaf->reclaim, 0)) {
		refcount_dec(&leaf->refs);
		mlx5_ib_odp_put_mr(mr);
	}
}

static bool is_idle(struct odp_leaf *leaf)
{
	struct ib_umem_odp *umem = leaf->umem;

	guard(mutex)(&umem->umem_mutex);
	/* Nothing reaches the pages of a key that is gone. */
	if (leaf->dead)
		ib_umem_odp_unmap_dma_pages(umem, ib_umem_start(umem), ib_umem_end(umem));
	/* The tree's reference, and ours. */
	if (umem->npages || refcount_read(&leaf->refs) != 2)
		return false;
	/* No more reclamation is queued once it is marked, so it can be freed. */
	leaf->umem->private = NULL;
	return true;
}

/* With tree_lock held. False if it has to stay in the tree. */
static bool give_up_leaf(struct odp_mr *mr, struct odp_leaf *leaf)
{
	unsigned long index = mlx5_ib_odp_leaf_index(leaf->key.base);
	struct odp_dir *dir;

	dir = container_of((struct odp_key *)
			   xa_load(&mr->root->kids, mlx5_ib_odp_dir_index(leaf->key.base)),
			   struct odp_dir, key);
	/* The slot stays reserved, so that the leaf can come back without fail. */
	xa_store(&dir->kids, index, XA_ZERO_ENTRY, GFP_KERNEL);
	leaf->key.linked = false;
	if (!write_dir(mr, dir, index) && !mlx5_ib_odp_free_leaf(leaf)) {
		xa_erase(&dir->kids, index);
		return true;
	}
	xa_store(&dir->kids, index, &leaf->key, GFP_KERNEL);
	scoped_guard(mutex, &leaf->umem->umem_mutex)
		leaf->umem->private = leaf;
	return false;
}

static void reclaim_leaf(struct work_struct *work)
{
	struct odp_leaf *leaf = container_of(to_delayed_work(work), struct odp_leaf, reclaim);
	struct odp_mr *mr = leaf->mr;
	bool again = false;

	scoped_guard(mutex, &mr->tree_lock) {
		/* Of a tree without a root, what is left goes when it is freed once more. */
		if (mr->root->key.gone || !is_idle(leaf))
			break;
		if (give_up_leaf(mr, leaf))
			leaf = NULL;
		else
			again = !READ_ONCE(mr->closing);
	}
	/* Otherwise the directory might lead to a key that is gone, for good. */
	if (again && queue_delayed_work(mr->odp->wq, &leaf->reclaim, RECLAIM_DELAY))
		return;
	if (leaf)
		refcount_dec(&leaf->refs);
	mlx5_ib_odp_put_mr(mr);
}

/**
 * mlx5_ib_odp_make_tree - make the root of an implicit region
 * @mr: the region, of the current process
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_odp_make_tree(struct odp_mr *mr)
{
	struct ib_umem_odp *anchor;
	struct odp_dir *root;

	anchor = ib_umem_odp_alloc_implicit(mr->mr.ibmr.device, mr->mr.access);
	if (IS_ERR(anchor))
		return PTR_ERR(anchor);
	root = create_dir(mr, 0, MLX5_IB_ODP_DIR_SHIFT, mlx5_ib_odp_root_entries(TASK_SIZE));
	if (IS_ERR(root)) {
		ib_umem_odp_release(anchor);
		return PTR_ERR(root);
	}
	mr->anchor = anchor;
	mr->root = root;
	mr->limit = TASK_SIZE;
	mr->mr.ibmr.lkey = root->key.mkey;
	return 0;
}

static int destroy_key(struct odp_mr *mr, struct odp_key *key)
{
	int err = key->gone ? 0 : mlx5_fw_destroy_mkey(mr->odp->dev, MLX5_IB_KERNEL_UID, key->mkey);

	key->gone = !err;
	return err;
}

/* From the table down: once it is gone, nothing leads to its kids. Goes on where it had to stop. */
static int free_table(struct odp_mr *mr, struct odp_dir *table,
		      int (*free_kid)(struct odp_mr *mr, struct odp_key *kid))
{
	struct odp_key *kid;
	unsigned long i;
	int err;

	err = destroy_key(mr, &table->key);
	if (err)
		return err;
	xa_for_each(&table->kids, i, kid) {
		err = free_kid(mr, kid);
		if (err)
			return err;
		xa_erase(&table->kids, i);
	}
	xa_destroy(&table->kids);
	kfree(table);
	return 0;
}

static int free_leaf(struct odp_mr *mr, struct odp_key *key)
{
	return mlx5_ib_odp_free_leaf(container_of(key, struct odp_leaf, key));
}

static int free_dir(struct odp_mr *mr, struct odp_key *key)
{
	return free_table(mr, container_of(key, struct odp_dir, key), free_leaf);
}

/**
 * mlx5_ib_odp_free_tree - destroy the keys of an implicit region
 * @mr: the region, not in use any more
 *
 * Once the root is gone, nobody knows the keys below it. May sleep; takes
 * tree_lock.
 *
 * Return: 0, or the errno of a firmware that would not destroy one of the keys:
 * then what is left has to be freed once more, and is of no other use if the
 * root is gone.
 */
int mlx5_ib_odp_free_tree(struct odp_mr *mr)
{
	int err;

	scoped_guard(mutex, &mr->tree_lock)
		err = free_table(mr, mr->root, free_dir);
	if (err)
		return err;
	ib_umem_odp_release(mr->anchor);
	return 0;
}

/**
 * mlx5_ib_odp_drop_tree - free a region that came to nothing, whatever firmware says
 * @mr: region of mlx5_ib_odp_make_tree(), which nobody has used
 *
 * A key that firmware keeps leads nowhere. May sleep.
 */
void mlx5_ib_odp_drop_tree(struct odp_mr *mr)
{
	if (!mlx5_ib_odp_free_tree(mr))
		return;
	mr->root->key.gone = true;
	mlx5_ib_odp_free_tree(mr);
}
