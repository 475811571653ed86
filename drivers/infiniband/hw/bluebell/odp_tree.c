// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Implicit regions: a root over all of the process, directories, and leaves that
 * come with the first fault and go with the last page.
 */

#include <linux/slab.h>

#include "fw.h"
#include "layout_odp.h"
#include "odp_internal.h"
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
	err = mlx5_fw_create_mkey(dev, in, inlen, &dir->key.mkey);
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

static int add_kid(struct odp_mr *mr, struct odp_dir *dir, unsigned long index,
		   struct odp_key *kid)
{
	int err;

	err = xa_err(xa_store(&dir->kids, index, kid, GFP_KERNEL));
	if (err)
		return err;
	err = write_dir(mr, dir, index);
	if (err)
		xa_erase(&dir->kids, index);
	return err;
}

static struct odp_dir *get_dir(struct odp_mr *mr, u64 va)
{
	unsigned long index = mlx5_ib_odp_dir_index(va);
	struct odp_key *key = xa_load(&mr->root->kids, index);
	struct odp_dir *dir;
	int err;

	if (key)
		return container_of(key, struct odp_dir, key);
	dir = create_dir(mr, (u64)index << MLX5_IB_ODP_DIR_SHIFT, MLX5_IB_ODP_LEAF_SHIFT,
			 BIT(MLX5_IB_ODP_DIR_SHIFT - MLX5_IB_ODP_LEAF_SHIFT));
	if (IS_ERR(dir))
		return dir;
	err = add_kid(mr, mr->root, index, &dir->key);
	if (!err)
		return dir;
	mlx5_fw_destroy_mkey(mr->odp->dev, dir->key.mkey);
	kfree(dir);
	return ERR_PTR(err);
}

static void reclaim_leaf(struct work_struct *work);

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
	u64 size = BIT_ULL(MLX5_IB_ODP_LEAF_SHIFT), base = mlx5_ib_odp_leaf_base(va);
	unsigned long index = mlx5_ib_odp_leaf_index(va);
	struct ib_umem_odp *umem;
	struct odp_leaf *leaf;
	struct odp_dir *dir;
	struct odp_key *key;
	int err;

	guard(mutex)(&mr->tree_lock);
	dir = get_dir(mr, va);
	if (IS_ERR(dir))
		return ERR_CAST(dir);
	key = xa_load(&dir->kids, index);
	if (key) {
		leaf = container_of(key, struct odp_leaf, key);
		refcount_inc(&leaf->refs);
		return leaf;
	}
	umem = ib_umem_odp_alloc_child(mr->anchor, base, size, &mlx5_ib_odp_notifier_ops);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	leaf = mlx5_ib_odp_create_leaf(mr, umem, base, size);
	if (IS_ERR(leaf))
		return leaf;
	INIT_DELAYED_WORK(&leaf->reclaim, reclaim_leaf);
	err = add_kid(mr, dir, index, &leaf->key);
	if (err) {
		mlx5_ib_odp_free_leaf(leaf);
		return ERR_PTR(err);
	}
	refcount_inc(&leaf->refs);
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
		if (!is_idle(leaf))
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

static void drop_dir(struct odp_mr *mr, struct odp_dir *dir)
{
	struct odp_key *key;
	unsigned long i;

	mlx5_fw_destroy_mkey(mr->odp->dev, dir->key.mkey);
	xa_for_each(&dir->kids, i, key)
		mlx5_ib_odp_drop_leaf(container_of(key, struct odp_leaf, key));
	xa_destroy(&dir->kids);
	kfree(dir);
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

/**
 * mlx5_ib_odp_free_tree - destroy the keys of an implicit region
 * @mr: the region, not in use any more
 *
 * Once the root is gone, nobody knows the keys below it. May sleep.
 *
 * Return: 0, or the errno of a firmware that would not destroy the root: then
 * the region is as it was.
 */
int mlx5_ib_odp_free_tree(struct odp_mr *mr)
{
	struct odp_key *key;
	unsigned long i;
	int err;

	err = mlx5_fw_destroy_mkey(mr->odp->dev, mr->root->key.mkey);
	if (err)
		return err;
	xa_for_each(&mr->root->kids, i, key)
		drop_dir(mr, container_of(key, struct odp_dir, key));
	xa_destroy(&mr->root->kids);
	kfree(mr->root);
	ib_umem_odp_release(mr->anchor);
	return 0;
}
