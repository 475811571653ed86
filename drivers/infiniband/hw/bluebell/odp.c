// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: regions whose pages are brought in when the device asks for
 * them, and taken from it when the process loses them.
 */

#include <linux/dma-mapping.h>
#include <linux/hmm.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/eq.h>
#include <linux/mmu_notifier.h>
#include <linux/pci-p2pdma.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_umem_odp.h>
#include <rdma/ib_verbs.h>

#include "bluebell.h"
#include "fw.h"
#include "layout_odp.h"
#include "mkey_cache.h"
#include "odp.h"
#include "umr_qp.h"

/* Entries that are written by one request when pages come, and when they go. */
#define FILL_MTTS	(PAGE_SIZE / sizeof(__be64))
#define ZAP_MTTS	SZ_4K
/* A fault brings in this much more of what the operation will touch. */
#define FAULT_AROUND	SZ_256K
/* Faults of this many queues at a time; the spare ones are mlx5_core's. */
#define NUM_EQE		0x1000

/**
 * struct odp_key - an entry of a table of keys
 * @mkey: the key it leads to
 * @base: first address
 */
struct odp_key {
	u32 mkey;
	u64 base;
};

/**
 * struct odp_leaf - a key over pages: an explicit region, or a part of an
 *	implicit one
 * @key: the key; its mkey is constant
 * @umem: the pages; its umem_mutex guards @mtt and @dead
 * @mtt: the key's translation entries as the device has them
 * @dead: the key is destroyed, or never was there
 * @mr: region that it belongs to
 * @refs: one of the tree, one of each user. Implicit regions only
 * @reclaim: give it up if no page is left. Holds a reference to the leaf and
 *	to the region
 */
struct odp_leaf {
	struct odp_key key;
	struct ib_umem_odp *umem;
	__be64 *mtt;
	bool dead;
	struct odp_mr *mr;
	refcount_t refs;
	struct work_struct reclaim;
};

/**
 * struct odp_dir - a table of keys
 * @key: its own key
 * @shift: log2 of what an entry covers
 * @kids: entries that are there, struct odp_key by index
 */
struct odp_dir {
	struct odp_key key;
	u8 shift;
	struct xarray kids;
};

/**
 * struct odp_mr - a paged region
 * @mr: the region; first, and freed with the whole
 * @odp: device state
 * @refs: one while the key is registered, one for each fault, advice and
 *	reclamation in progress
 * @free: the last reference is gone
 * @leaf: of an explicit region
 * @anchor: of an implicit region: the address space
 * @root: of an implicit region
 * @limit: of an implicit region: the end of the address space
 * @tree_lock: guards what is below @root
 */
struct odp_mr {
	struct mlx5_ib_mr mr;
	struct mlx5_ib_odp *odp;
	refcount_t refs;
	struct completion free;
	struct odp_leaf *leaf;
	struct ib_umem_odp *anchor;
	struct odp_dir *root;
	u64 limit;
	struct mutex tree_lock; /* held while leaves come and go */
};

/**
 * struct mlx5_ib_odp - what paging needs of a device
 * @dev: device
 * @caps: what is paged
 * @null_mkey: entry of a table that leads nowhere
 * @mrs: regions by index of their key. The index of a region that is being
 *	deregistered stays reserved until its key is gone.
 * @wq: resolves faults, serves advice, gives up leaves
 * @eq_lock: held while @eq is made
 * @eq: page-fault event queue, made for the first region
 * @nb: interrupt of @eq
 * @eq_work: empties @eq
 * @zeros: entries of pages that are not there, for the device to read
 * @zeros_dma: their address
 */
struct mlx5_ib_odp {
	struct mlx5_ib_dev *dev;
	struct ib_odp_caps caps;
	u32 null_mkey;
	struct xarray mrs;
	struct workqueue_struct *wq;
	struct mutex eq_lock; /* eq */
	struct mlx5_eq *eq;
	struct notifier_block nb;
	struct work_struct eq_work;
	__be64 *zeros;
	dma_addr_t zeros_dma;
};

static struct odp_mr *to_odp_mr(struct ib_mr *ibmr)
{
	return container_of(to_mmr(ibmr), struct odp_mr, mr);
}

static void put_mr(struct odp_mr *mr)
{
	if (refcount_dec_and_test(&mr->refs))
		complete(&mr->free);
}

static struct odp_mr *get_mr(struct mlx5_ib_odp *odp, u32 mkey)
{
	struct odp_mr *mr;

	guard(spinlock)(&odp->mrs.xa_lock);
	mr = xa_load(&odp->mrs, mlx5_mkey_to_idx(mkey));
	if (!mr || mr->mr.ibmr.lkey != mkey)
		return NULL;
	refcount_inc(&mr->refs);
	return mr;
}

/* ---- pages of a leaf --------------------------------------------------------- */

/*
 * UMR does not take the pages from the device, so firmware takes the key: what
 * is done through it from now on fails.
 */
static void kill_leaf(struct odp_leaf *leaf)
{
	struct mlx5_ib_dev *dev = leaf->mr->odp->dev;
	unsigned int flags = memalloc_noreclaim_save();

	if (mlx5_fw_destroy_mkey(dev, leaf->key.mkey))
		ibdev_err(&dev->ib_dev, "key 0x%x reaches pages that are no longer its own\n",
			  leaf->key.mkey);
	memalloc_noreclaim_restore(flags);
	leaf->dead = true;
}

static int write_zeros(struct odp_leaf *leaf, size_t first, size_t num)
{
	struct mlx5_ib_odp *odp = leaf->mr->odp;
	struct mlx5_ib_umr_wqe wqe = {};

	mlx5_ib_umr_fill_xlt(&wqe, leaf->key.mkey);
	mlx5_ib_umr_point_at_list(&wqe, mlx5_ib_umr_lkey(odp->dev), odp->zeros_dma, first, num);
	return mlx5_ib_umr_exec(odp->dev, &wqe);
}

/* Write a few of the shadow's entries to the key. */
static int write_inline(struct odp_leaf *leaf, size_t first, size_t num)
{
	struct mlx5_ib_umr_wqe wqe = {};

	memcpy(mlx5_ib_odp_fill_inline(&wqe, leaf->key.mkey, mlx5_ib_mtt_octowords(first),
				       mlx5_ib_mtt_octowords(num)),
	       leaf->mtt + first, num * sizeof(*leaf->mtt));
	return mlx5_ib_umr_exec(leaf->mr->odp->dev, &wqe);
}

/* Of a block, only [@first, @end): the neighbours stay. */
static void zap_block(struct odp_leaf *leaf, size_t first, size_t end)
{
	size_t bytes = (end - first) * sizeof(*leaf->mtt);

	if (!memchr_inv(leaf->mtt + first, 0, bytes))
		return;
	memset(leaf->mtt + first, 0, bytes);
	if (!leaf->dead && write_inline(leaf, ALIGN_DOWN(first, MLX5_IB_ODP_BLOCK_MTTS),
					MLX5_IB_ODP_BLOCK_MTTS))
		kill_leaf(leaf);
}

static void zap_blocks(struct odp_leaf *leaf, size_t first, size_t end)
{
	size_t num;

	for (; mlx5_ib_odp_next_run(leaf->mtt, &first, end, ZAP_MTTS, &num); first += num) {
		if (!leaf->dead && write_zeros(leaf, first, num))
			kill_leaf(leaf);
		memset(leaf->mtt + first, 0, num * sizeof(*leaf->mtt));
	}
}

/*
 * Take pages from the device. Called with umem_mutex held, perhaps while memory
 * is being reclaimed: allocates nothing.
 */
static void zap(struct odp_leaf *leaf, size_t first, size_t end)
{
	size_t head = min(ALIGN(first, MLX5_IB_ODP_BLOCK_MTTS), end);
	size_t tail = max(ALIGN_DOWN(end, MLX5_IB_ODP_BLOCK_MTTS), head);

	if (first < head)
		zap_block(leaf, first, head);
	if (head < tail)
		zap_blocks(leaf, head, tail);
	if (tail < end)
		zap_block(leaf, tail, end);
}

static void queue_reclaim(struct odp_leaf *leaf)
{
	struct odp_mr *mr = leaf->mr;

	if (!mr->root || !refcount_inc_not_zero(&mr->refs))
		return;
	refcount_inc(&leaf->refs);
	if (!queue_work(mr->odp->wq, &leaf->reclaim)) {
		refcount_dec(&leaf->refs);
		put_mr(mr);
	}
}

/* The process loses pages: so does the device, before this returns. */
static bool invalidate(struct mmu_interval_notifier *mni, const struct mmu_notifier_range *range,
		       unsigned long seq)
{
	struct ib_umem_odp *umem = container_of(mni, struct ib_umem_odp, notifier);
	unsigned long start = max_t(unsigned long, ib_umem_start(umem), range->start);
	unsigned long end = min_t(unsigned long, ib_umem_end(umem), range->end);
	struct odp_leaf *leaf;

	if (!mmu_notifier_range_blockable(range))
		return false;
	guard(mutex)(&umem->umem_mutex);
	mmu_interval_set_seq(mni, seq);
	leaf = umem->private;
	if (!umem->npages || !leaf)
		return true;
	zap(leaf, (start - ib_umem_start(umem)) >> umem->page_shift,
	    DIV_ROUND_UP(end - ib_umem_start(umem), BIT(umem->page_shift)));
	ib_umem_odp_unmap_dma_pages(umem, start, end);
	if (!umem->npages)
		queue_reclaim(leaf);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate,
};

/* Give the device's address of each page that is there to the shadow of the key's table. */
static int map_pages(struct odp_leaf *leaf, size_t first, size_t num)
{
	struct device *device = leaf->mr->odp->dev->ib_dev.dma_device;
	struct pci_p2pdma_map_state p2pdma = {};
	struct ib_umem_odp *umem = leaf->umem;
	dma_addr_t dma;
	bool mapped;
	size_t i;

	for (i = first; i < first + num; i++) {
		unsigned long pfn = umem->map.pfn_list[i];

		if (!(pfn & HMM_PFN_VALID))
			continue;
		mapped = pfn & HMM_PFN_DMA_MAPPED;
		dma = hmm_dma_map_pfn(device, &umem->map, i, &p2pdma);
		if (dma == DMA_MAPPING_ERROR)
			return -EFAULT;
		umem->npages += !mapped;
		leaf->mtt[i] = mlx5_ib_odp_mtt(dma, pfn & HMM_PFN_WRITE && umem->umem.writable);
	}
	return 0;
}

/* Write the shadow's entries to the key. @list is one page. */
static int write_mtts(struct odp_leaf *leaf, size_t first, size_t num, __be64 *list)
{
	struct mlx5_ib_dev *dev = leaf->mr->odp->dev;
	struct device *device = dev->mdev->device;
	struct mlx5_ib_umr_wqe wqe = {};
	dma_addr_t dma;
	size_t end;
	int err;

	end = ALIGN(first + num, MLX5_IB_ODP_BLOCK_MTTS);
	first = ALIGN_DOWN(first, MLX5_IB_ODP_BLOCK_MTTS);
	num = end - first;
	if (num <= MLX5_IB_UMR_INLINE_MTTS)
		return write_inline(leaf, first, num);
	memcpy(list, leaf->mtt + first, num * sizeof(*list));
	dma = dma_map_single(device, list, num * sizeof(*list), DMA_TO_DEVICE);
	if (dma_mapping_error(device, dma))
		return -ENOMEM;
	mlx5_ib_umr_fill_xlt(&wqe, leaf->key.mkey);
	mlx5_ib_umr_point_at_list(&wqe, mlx5_ib_umr_lkey(dev), dma, first, num);
	err = mlx5_ib_umr_exec(dev, &wqe);
	dma_unmap_single(device, dma, num * sizeof(*list), DMA_TO_DEVICE);
	return err;
}

/* How pages are brought in. */
struct page_in {
	bool write;	/* as pages that may be written to */
	bool fault;	/* also those that the process itself would fault on */
};

/* Bring in [@va, @end) of a leaf, which one list can hold. */
static int page_in_chunk(struct odp_leaf *leaf, u64 va, u64 end, const struct page_in *how,
			 __be64 *list)
{
	struct ib_umem_odp *umem = leaf->umem;
	size_t first = (va - ib_umem_start(umem)) >> umem->page_shift;
	int num, err;

	num = ib_umem_odp_map_dma_and_lock(umem, va, end - va, how->write ? HMM_PFN_WRITE : 0,
					   how->fault);
	if (num < 0)
		return num;
	err = leaf->dead ? -EIO : map_pages(leaf, first, num);
	if (!err)
		err = write_mtts(leaf, first, num, list);
	if (err) {
		zap(leaf, first, first + num);
		ib_umem_odp_unmap_dma_pages(umem, va & PAGE_MASK, ALIGN(end, PAGE_SIZE));
	}
	mutex_unlock(&umem->umem_mutex);
	return err;
}

static int page_in_leaf(struct odp_leaf *leaf, u64 va, u64 len, const struct page_in *how)
{
	u64 start = ib_umem_start(leaf->umem), end = va + len, stop;
	int err = 0;

	if (how->write && !leaf->umem->umem.writable)
		return -EFAULT;
	/* Not later: memory may not be reclaimed under umem_mutex. */
	__be64 *list __free(kfree) = kmalloc(PAGE_SIZE, GFP_KERNEL);

	if (!list)
		return -ENOMEM;
	for (; va < end && !err; va = stop) {
		stop = start + ((u64)mlx5_ib_odp_chunk((va - start) >> PAGE_SHIFT, SIZE_MAX,
						       FILL_MTTS) << PAGE_SHIFT);
		stop = min(stop, end);
		err = page_in_chunk(leaf, va, stop, how, list);
	}
	return err;
}

/* ---- making and freeing leaves ------------------------------------------------ */

/* A long table is cleared by UMR: the command would be as long. */
static int create_long_key(struct mlx5_ib_odp *odp, const struct mlx5_ib_mkc_attr *attr,
			   const struct mlx5_ib_mkey_caps *caps, u32 *mkey)
{
	struct mlx5_ib_dev *dev = odp->dev;
	u32 first, num;
	int err;

	err = mlx5_ib_make_free_mkey(dev, attr->nmtts, attr->access, mkey);
	if (err)
		return err;
	for (first = 0; first < attr->nmtts && !err; first += num) {
		struct mlx5_ib_umr_wqe wqe = {};

		num = min(attr->nmtts - first, ZAP_MTTS);
		if (first + num == attr->nmtts)
			mlx5_ib_umr_fill_reg(&wqe, *mkey, attr, caps);
		else
			mlx5_ib_umr_fill_xlt(&wqe, *mkey);
		mlx5_ib_umr_point_at_list(&wqe, mlx5_ib_umr_lkey(dev), odp->zeros_dma, first, num);
		err = mlx5_ib_umr_exec(dev, &wqe);
	}
	if (err)
		mlx5_fw_destroy_mkey(dev, *mkey);
	*mkey = (*mkey & ~0xffU) | attr->variant;
	return err;
}

static int create_short_key(struct mlx5_ib_dev *dev, const struct mlx5_ib_mkc_attr *attr,
			    const struct mlx5_ib_mkey_caps *caps, u32 *mkey)
{
	size_t inlen = mlx5_ib_create_mkey_inlen(attr->nmtts);

	void *in __free(kvfree) = kvzalloc(inlen, GFP_KERNEL);

	if (!in)
		return -ENOMEM;
	mlx5_ib_odp_fill_create_mtt(in, attr, caps);
	return mlx5_fw_create_mkey(dev, in, inlen, mkey);
}

static int create_leaf_key(struct odp_leaf *leaf, u64 iova, u64 length)
{
	struct odp_mr *mr = leaf->mr;
	struct mlx5_ib_dev *dev = mr->odp->dev;
	struct mlx5_ib_mkc_attr attr = {
		.access = mr->mr.access,
		.pdn = to_mpd(mr->mr.ibmr.pd)->pdn,
		.iova = iova,
		.length = length,
		.page_shift = PAGE_SHIFT,
		.nmtts = ALIGN(ib_umem_odp_num_pages(leaf->umem), MLX5_IB_ODP_BLOCK_MTTS),
		.variant = atomic_inc_return(&dev->mkey_variant),
	};
	struct mlx5_ib_mkey_caps caps;

	leaf->mtt = kvcalloc(attr.nmtts, sizeof(*leaf->mtt), GFP_KERNEL);
	if (!leaf->mtt)
		return -ENOMEM;
	mlx5_ib_get_mkey_caps(dev, &caps);
	if (attr.nmtts > ZAP_MTTS)
		return create_long_key(mr->odp, &attr, &caps, &leaf->key.mkey);
	return create_short_key(dev, &attr, &caps, &leaf->key.mkey);
}

static void reclaim_leaf(struct work_struct *work);

/* A leaf over @umem, which is its from now on, whatever becomes of it. */
static struct odp_leaf *create_leaf(struct odp_mr *mr, struct ib_umem_odp *umem, u64 iova,
				    u64 length)
{
	struct odp_leaf *leaf;
	int err = -ENOMEM;

	leaf = kzalloc_obj(*leaf);
	if (!leaf)
		goto err_umem;
	leaf->mr = mr;
	leaf->umem = umem;
	leaf->key.base = iova;
	refcount_set(&leaf->refs, 1);
	INIT_WORK(&leaf->reclaim, reclaim_leaf);
	err = create_leaf_key(leaf, iova, length);
	if (err)
		goto err_leaf;
	/* Invalidations find it from now on; there were no pages to take before. */
	scoped_guard(mutex, &umem->umem_mutex)
		umem->private = leaf;
	return leaf;

err_leaf:
	kvfree(leaf->mtt);
	kfree(leaf);
err_umem:
	ib_umem_odp_release(umem);
	return ERR_PTR(err);
}

/* When it fails the leaf is as it was, but without pages. */
static int free_leaf(struct odp_leaf *leaf)
{
	struct ib_umem_odp *umem = leaf->umem;
	bool dead;
	int err;

	scoped_guard(mutex, &umem->umem_mutex) {
		dead = leaf->dead;
		leaf->dead = true;
	}
	err = dead ? 0 : mlx5_fw_destroy_mkey(leaf->mr->odp->dev, leaf->key.mkey);
	if (err) {
		scoped_guard(mutex, &umem->umem_mutex)
			leaf->dead = false;
		return err;
	}
	ib_umem_odp_release(umem);
	kvfree(leaf->mtt);
	kfree(leaf);
	return 0;
}

/* ---- implicit regions ------------------------------------------------------------- */

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

/* The leaf of an address, made if need be; put_leaf() is to follow. */
static struct odp_leaf *get_leaf(struct odp_mr *mr, u64 va)
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
	umem = ib_umem_odp_alloc_child(mr->anchor, base, size, &notifier_ops);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	leaf = create_leaf(mr, umem, base, size);
	if (IS_ERR(leaf))
		return leaf;
	err = add_kid(mr, dir, index, &leaf->key);
	if (err) {
		free_leaf(leaf);
		return ERR_PTR(err);
	}
	refcount_inc(&leaf->refs);
	return leaf;
}

/* Without a page it is given up: what cannot be paged in shall not cost memory either. */
static void put_leaf(struct odp_leaf *leaf)
{
	struct odp_mr *mr = leaf->mr;
	bool empty;

	scoped_guard(mutex, &leaf->umem->umem_mutex)
		empty = !leaf->umem->npages;
	if (empty) {
		refcount_inc(&mr->refs);
		/* Our reference to the leaf passes to the work. */
		if (queue_work(mr->odp->wq, &leaf->reclaim))
			return;
		put_mr(mr);
	}
	refcount_dec(&leaf->refs);
}

static bool is_idle(struct odp_leaf *leaf)
{
	guard(mutex)(&leaf->umem->umem_mutex);
	/* The tree's reference, and ours. */
	if (leaf->umem->npages || refcount_read(&leaf->refs) != 2)
		return false;
	/* No more reclamation is queued once it is marked, so it can be freed. */
	leaf->umem->private = NULL;
	return true;
}

static void reclaim_leaf(struct work_struct *work)
{
	struct odp_leaf *leaf = container_of(work, struct odp_leaf, reclaim);
	unsigned long index = mlx5_ib_odp_leaf_index(leaf->key.base);
	struct odp_mr *mr = leaf->mr;
	struct odp_dir *dir;

	scoped_guard(mutex, &mr->tree_lock) {
		dir = container_of((struct odp_key *)
				   xa_load(&mr->root->kids, mlx5_ib_odp_dir_index(leaf->key.base)),
				   struct odp_dir, key);
		if (!is_idle(leaf)) {
			refcount_dec(&leaf->refs);
			break;
		}
		/* The slot stays reserved, so that the leaf can come back without fail. */
		xa_store(&dir->kids, index, XA_ZERO_ENTRY, GFP_KERNEL);
		if (!write_dir(mr, dir, index) && !free_leaf(leaf)) {
			xa_erase(&dir->kids, index);
			break;
		}
		xa_store(&dir->kids, index, &leaf->key, GFP_KERNEL);
		scoped_guard(mutex, &leaf->umem->umem_mutex)
			leaf->umem->private = leaf;
		refcount_dec(&leaf->refs);
	}
	put_mr(mr);
}

/* With the region gone, a leaf whose key firmware keeps leads nowhere at least. */
static void drop_leaf(struct odp_leaf *leaf)
{
	if (!free_leaf(leaf))
		return;
	scoped_guard(mutex, &leaf->umem->umem_mutex) {
		zap(leaf, 0, ib_umem_odp_num_pages(leaf->umem));
		leaf->dead = true;
	}
	free_leaf(leaf);
}

static void drop_dir(struct odp_mr *mr, struct odp_dir *dir)
{
	struct odp_key *key;
	unsigned long i;

	mlx5_fw_destroy_mkey(mr->odp->dev, dir->key.mkey);
	xa_for_each(&dir->kids, i, key)
		drop_leaf(container_of(key, struct odp_leaf, key));
	xa_destroy(&dir->kids);
	kfree(dir);
}

/* Once the root is gone, nobody knows the keys below it. */
static int free_tree(struct odp_mr *mr)
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

/* ---- regions ------------------------------------------------------------------------ */

static int make_explicit(struct odp_mr *mr, u64 start, u64 length, u64 iova)
{
	/* Huge pages are handled as small ones: only so does ib_core find them all. */
	int access = mr->mr.access & ~IB_ACCESS_HUGETLB;
	struct ib_umem_odp *umem;
	struct odp_leaf *leaf;

	if (length >> PAGE_SHIFT >= MLX5_IB_MAX_MTTS)
		return -ENOMEM;
	umem = ib_umem_odp_get(mr->mr.ibmr.device, start, length, access, &notifier_ops);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	leaf = create_leaf(mr, umem, iova, length);
	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	mr->leaf = leaf;
	mr->mr.ibmr.lkey = leaf->key.mkey;
	return 0;
}

static int make_implicit(struct odp_mr *mr)
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

static int unmake(struct odp_mr *mr)
{
	return mr->leaf ? free_leaf(mr->leaf) : free_tree(mr);
}

static bool is_implicit(u64 start, u64 length)
{
	return !start && length == U64_MAX;
}

static int check_reg(struct mlx5_ib_dev *dev, u64 start, u64 length, u64 iova, u32 access)
{
	struct mlx5_ib_mkey_caps caps;

	if (!dev->odp)
		return -EOPNOTSUPP;
	mlx5_ib_get_mkey_caps(dev, &caps);
	if (!is_implicit(start, length))
		return mlx5_ib_check_mr(length, iova, access & ~IB_ACCESS_ON_DEMAND, &caps);
	if (!(dev->odp->caps.general_caps & IB_ODP_SUPPORT_IMPLICIT))
		return -EOPNOTSUPP;
	if (iova || access & IB_ACCESS_HUGETLB)
		return -EINVAL;
	return mlx5_ib_check_mr(1, 0, access & ~IB_ACCESS_ON_DEMAND, &caps);
}

static int ensure_eq(struct mlx5_ib_odp *odp);

/**
 * mlx5_ib_odp_reg - register memory whose pages come when they are used
 * @pd: protection domain
 * @start: address in the process; 0 for an implicit region
 * @length: bytes; U64_MAX for an implicit region, which is all of the process
 * @iova: first address of the region
 * @access: enum ib_access_flags, IB_ACCESS_ON_DEMAND among them
 *
 * Pins nothing: CREATE_MKEY (struct mlx5_ifc_create_mkey_in_bits) makes a key
 * none of whose pages is there. May sleep.
 *
 * Return: the region, or an ERR_PTR: -EINVAL and -EOPNOTSUPP as for
 * mlx5_ib_reg_user_mr(); -ENOMEM for a region with too many pages.
 */
struct ib_mr *mlx5_ib_odp_reg(struct ib_pd *pd, u64 start, u64 length, u64 iova, u32 access)
{
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	int err;

	err = check_reg(dev, start, length, iova, access);
	if (!err)
		err = ensure_eq(dev->odp);
	if (err)
		return ERR_PTR(err);

	struct odp_mr *mr __free(kfree) = kzalloc_obj(*mr);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->odp = dev->odp;
	mr->mr.access = access;
	mr->mr.paged = true;
	mr->mr.ibmr.device = pd->device;
	mr->mr.ibmr.pd = pd;
	mr->mr.ibmr.iova = iova;
	mr->mr.ibmr.length = length;
	mr->mr.ibmr.page_size = PAGE_SIZE;
	mutex_init(&mr->tree_lock);
	refcount_set(&mr->refs, 1);
	init_completion(&mr->free);
	err = is_implicit(start, length) ? make_implicit(mr) :
					   make_explicit(mr, start, length, iova);
	if (err)
		return ERR_PTR(err);
	mr->mr.ibmr.rkey = mr->mr.ibmr.lkey;
	err = xa_err(xa_store(&dev->odp->mrs, mlx5_mkey_to_idx(mr->mr.ibmr.lkey), mr,
			      GFP_KERNEL));
	if (err) {
		unmake(mr);
		return ERR_PTR(err);
	}
	return &no_free_ptr(mr)->mr.ibmr;
}

/**
 * mlx5_ib_odp_range - what memory a region was registered over
 * @ibmr: paged region
 * @start: as for mlx5_ib_odp_reg()
 * @length: as for mlx5_ib_odp_reg()
 *
 * Return: 0, or -EINVAL if it is another process's.
 */
int mlx5_ib_odp_range(struct ib_mr *ibmr, u64 *start, u64 *length)
{
	struct odp_mr *mr = to_odp_mr(ibmr);
	struct ib_umem *umem = mr->leaf ? &mr->leaf->umem->umem : &mr->anchor->umem;

	if (umem->owning_mm != current->mm)
		return -EINVAL;
	*start = mr->leaf ? umem->address : 0;
	*length = ibmr->length;
	return 0;
}

/**
 * mlx5_ib_odp_dereg - deregister a paged region
 * @ibmr: the region; freed if all goes well
 *
 * Waits for faults on it that are being resolved. May sleep.
 *
 * Return: 0, or the errno of a firmware that would not destroy the key; then
 * the region is as it was.
 */
int mlx5_ib_odp_dereg(struct ib_mr *ibmr)
{
	struct odp_mr *mr = to_odp_mr(ibmr);
	struct mlx5_ib_odp *odp = mr->odp;
	u32 index = mlx5_mkey_to_idx(ibmr->lkey);
	int err;

	xa_store(&odp->mrs, index, XA_ZERO_ENTRY, GFP_KERNEL);
	put_mr(mr);
	wait_for_completion(&mr->free);
	err = unmake(mr);
	if (err) {
		refcount_set(&mr->refs, 1);
		reinit_completion(&mr->free);
		xa_store(&odp->mrs, index, mr, GFP_KERNEL);
		return err;
	}
	/* Unless the index has come back as that of another region. */
	xa_release(&odp->mrs, index);
	kfree(mr);
	return 0;
}

/* ---- faults ----------------------------------------------------------------------------- */

struct fault_work {
	struct work_struct work;
	struct mlx5_ib_odp *odp;
	struct mlx5_ib_fault fault;
};

static int page_in_implicit(struct odp_mr *mr, u64 addr, u64 len, const struct page_in *how)
{
	u64 end, stop;
	struct odp_leaf *leaf;
	int err = 0;

	if (check_add_overflow(addr, len, &end) || end > mr->limit)
		return -EFAULT;
	for (; addr < end && !err; addr = stop) {
		stop = min(end, mlx5_ib_odp_leaf_base(addr) + BIT_ULL(MLX5_IB_ODP_LEAF_SHIFT));
		leaf = get_leaf(mr, addr);
		if (IS_ERR(leaf))
			return PTR_ERR(leaf);
		err = page_in_leaf(leaf, addr, stop - addr, how);
		put_leaf(leaf);
	}
	return err;
}

static int page_in(struct odp_mr *mr, u64 addr, u64 len, const struct page_in *how)
{
	const struct ib_mr *ibmr = &mr->mr.ibmr;
	u64 off = addr - ibmr->iova;

	if (!mr->leaf)
		return page_in_implicit(mr, addr, len, how);
	if (addr < ibmr->iova || len > ibmr->length || off > ibmr->length - len)
		return -EFAULT;
	return page_in_leaf(mr->leaf, mr->leaf->umem->umem.address + off, len, how);
}

/* @need bytes have to be there for the queue to go on; the rest of @len is for later. */
static int page_in_fault(struct odp_mr *mr, u64 addr, u64 need, u64 len, bool write)
{
	struct page_in how = { .write = write, .fault = true };
	int err;

	len = clamp(len, need, max_t(u64, need, FAULT_AROUND));
	err = page_in(mr, addr, len, &how);
	if (err && need < len)
		err = page_in(mr, addr, need, &how);
	return err;
}

static int rdma_fault(struct mlx5_ib_odp *odp, const struct mlx5_ib_fault *fault)
{
	u64 left = fault->op_len > fault->committed ? fault->op_len - fault->committed : 0;
	struct odp_mr *mr = get_mr(odp, fault->rkey);
	int err;

	if (!mr)
		return -ENOENT;
	err = page_in_fault(mr, fault->va + fault->committed, fault->packet_len ?: 1, left,
			    mlx5_ib_fault_writes(fault));
	put_mr(mr);
	return err;
}

/* A WQE out of the process's memory, in one piece. */
static int read_wqe(struct mlx5_ib_qp *qp, u32 offset, u32 size, u32 at, void *wqe, u32 len)
{
	u32 first = min(size - at, len);
	int err;

	err = ib_umem_copy_from(wqe, qp->umem, offset + at, first);
	if (err || first == len)
		return err;
	return ib_umem_copy_from(wqe + first, qp->umem, offset, len - first);
}

static int read_send(struct mlx5_ib_qp *qp, u16 index, struct mlx5_ib_odp_sges *sges)
{
	u32 size = qp->wq.sq_wqe_cnt * MLX5_SEND_WQE_BB;
	u32 at = (index & (qp->wq.sq_wqe_cnt - 1)) * MLX5_SEND_WQE_BB, len;
	int err;

	void *wqe __free(kfree) = kmalloc(MLX5_IB_ODP_MAX_WQE, GFP_KERNEL);

	if (!wqe)
		return -ENOMEM;
	if (!size)
		return -EINVAL;
	err = read_wqe(qp, qp->wq.sq_offset, size, at, wqe, MLX5_SEND_WQE_BB);
	if (err)
		return err;
	len = min_t(u32, mlx5_ib_odp_wqe_bytes(wqe), size);
	err = read_wqe(qp, qp->wq.sq_offset, size, at, wqe, len);
	if (err)
		return err;
	return mlx5_ib_odp_parse_send(wqe, len, qp->ibqp.qp_type, sges);
}

static int read_recv(struct mlx5_ib_qp *qp, u16 index, struct mlx5_ib_odp_sges *sges)
{
	u32 stride = BIT(qp->wq.rq_wqe_shift), skip = qp->wq_sig ? MLX5_SEND_WQE_DS : 0;
	u32 size = qp->wq.rq_wqe_cnt * stride;
	int err;

	void *wqe __free(kfree) = kmalloc(stride, GFP_KERNEL);

	if (!wqe)
		return -ENOMEM;
	if (!size)
		return -EINVAL;
	err = read_wqe(qp, 0, size, (index & (qp->wq.rq_wqe_cnt - 1)) * stride, wqe, stride);
	if (err)
		return err;
	mlx5_ib_odp_parse_recv(wqe + skip, stride - skip, sges);
	return sges->num ? 0 : -EINVAL;
}

/* Bring in what the list says. Memory that isn't paged is there anyway. */
static int page_in_list(struct mlx5_ib_odp *odp, struct ib_pd *pd,
			const struct mlx5_ib_odp_sges *sges, u64 need, bool write)
{
	int err = -EFAULT, ret;
	struct odp_mr *mr;
	unsigned int i;
	u64 now;

	for (i = 0; i < sges->num; i++) {
		const struct ib_sge *sge = &sges->sge[i];

		now = min_t(u64, need, sge->length);
		need -= now;
		mr = sge->lkey ? get_mr(odp, sge->lkey) : NULL;
		if (!mr)
			continue;
		/* The device has checked the key; the process may have changed the WQE since. */
		ret = mr->mr.ibmr.pd == pd ?
			page_in_fault(mr, sge->addr, now ?: 1, sge->length, write) : -EFAULT;
		put_mr(mr);
		if (ret && now)
			return ret;
		err = 0;
	}
	return err;
}

static int wqe_fault(struct mlx5_ib_odp *odp, struct mlx5_ib_qp *qp,
		     const struct mlx5_ib_fault *fault)
{
	struct mlx5_ib_odp_sges *sges __free(kfree) = kmalloc_obj(*sges);
	int err;

	if (!sges)
		return -ENOMEM;
	if (mlx5_ib_fault_is_requester(fault))
		err = read_send(qp, fault->wqe_index, sges);
	else
		err = read_recv(qp, fault->wqe_index, sges);
	if (err)
		return err;
	mlx5_ib_odp_window(sges, fault->committed,
			   max_t(u64, fault->packet_len, FAULT_AROUND));
	return page_in_list(odp, qp->ibqp.pd, sges, fault->packet_len ?: 1,
			    mlx5_ib_fault_writes(fault));
}

static void resolve(struct work_struct *work)
{
	struct fault_work *fw = container_of(work, struct fault_work, work);
	struct mlx5_ib_odp *odp = fw->odp;
	struct mlx5_ib_qp *qp = NULL;
	int err;

	if (fw->fault.is_rdma) {
		err = rdma_fault(odp, &fw->fault);
	} else {
		qp = mlx5_ib_get_qp(odp->dev, fw->fault.wq_num);
		/* It is being destroyed, and needs no answer any more. */
		if (!qp)
			goto out;
		err = wqe_fault(odp, qp, &fw->fault);
	}
	if (err)
		ibdev_dbg(&odp->dev->ib_dev, "page fault 0x%x of type %u on 0x%x: %d\n",
			  fw->fault.token, fw->fault.type, fw->fault.wq_num, err);
	mlx5_fw_page_fault_resume(odp->dev, &fw->fault, err);
	if (qp)
		mlx5_ib_put_qp(qp);
out:
	kfree(fw);
}

static void take_events(struct work_struct *work)
{
	struct mlx5_ib_odp *odp = container_of(work, struct mlx5_ib_odp, eq_work);
	struct fault_work *fw;
	struct mlx5_eqe *eqe;
	u32 cc = 0;

	while ((eqe = mlx5_eq_get_eqe(odp->eq, cc))) {
		/* An event that is lost would be a queue that stands still for ever. */
		fw = kmalloc_obj(*fw, GFP_KERNEL | __GFP_NOFAIL);
		fw->odp = odp;
		INIT_WORK(&fw->work, resolve);
		if (mlx5_ib_odp_parse_eqe(eqe, &fw->fault))
			queue_work(odp->wq, &fw->work);
		else
			kfree(fw);
		cc = mlx5_eq_update_cc(odp->eq, ++cc);
	}
	mlx5_eq_update_ci(odp->eq, cc, true);
}

/* In the interrupt, which is shared with other queues of mlx5_core. */
static int notify(struct notifier_block *nb, unsigned long action, void *data)
{
	struct mlx5_ib_odp *odp = container_of(nb, struct mlx5_ib_odp, nb);

	if (mlx5_eq_get_eqe(odp->eq, 0))
		queue_work(odp->wq, &odp->eq_work);
	return NOTIFY_OK;
}

static int ensure_eq(struct mlx5_ib_odp *odp)
{
	struct mlx5_eq_param param = {
		.nent = NUM_EQE,
		.mask[0] = BIT_ULL(MLX5_EVENT_TYPE_PAGE_FAULT),
	};
	struct mlx5_eq *eq;
	int err;

	guard(mutex)(&odp->eq_lock);
	if (odp->eq)
		return 0;
	eq = mlx5_fw_create_eq(odp->dev, &param);
	if (IS_ERR(eq))
		return PTR_ERR(eq);
	odp->eq = eq;
	err = mlx5_eq_enable(odp->dev->mdev, eq, &odp->nb);
	if (err) {
		odp->eq = NULL;
		mlx5_fw_destroy_eq(odp->dev, eq);
	}
	return err;
}

/* ---- advice ------------------------------------------------------------------ */

struct advice_part {
	struct odp_mr *mr;
	u64 addr;
	u64 length;
};

struct advice {
	struct work_struct work;
	struct page_in how;
	u32 num;
	struct advice_part part[] __counted_by(num);
};

static void free_advice(struct advice *advice)
{
	u32 i;

	if (!advice)
		return;
	for (i = 0; i < advice->num && advice->part[i].mr; i++)
		put_mr(advice->part[i].mr);
	kvfree(advice);
}

DEFINE_FREE(advice, struct advice *, free_advice(_T))

static int follow_advice(struct advice *advice)
{
	int err = 0;
	u32 i;

	for (i = 0; i < advice->num && !err; i++)
		err = page_in(advice->part[i].mr, advice->part[i].addr, advice->part[i].length,
			      &advice->how);
	return err;
}

static void advice_work(struct work_struct *work)
{
	struct advice *advice __free(advice) = container_of(work, struct advice, work);

	follow_advice(advice);
}

static int add_part(struct mlx5_ib_odp *odp, struct ib_pd *pd, const struct ib_sge *sge,
		    const struct page_in *how, struct advice_part *part)
{
	struct odp_mr *mr = get_mr(odp, sge->lkey);

	if (!mr)
		return -EFAULT;
	part->mr = mr;
	part->addr = sge->addr;
	part->length = sge->length;
	if (mr->mr.ibmr.pd != pd || (how->write && !ib_access_writable(mr->mr.access)))
		return -EFAULT;
	return 0;
}

/**
 * mlx5_ib_advise_mr - bring in pages before they are used
 * @pd: protection domain of the regions
 * @advice: read-only, writable, or only what the process has present itself
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH to wait until it has been done
 * @sg_list: parts of paged regions
 * @num_sge: number of them
 * @attrs: not used
 *
 * Implements ibv_advise_mr(3). May sleep.
 *
 * Return: 0; -EOPNOTSUPP for other advice; -EINVAL for other flags; -EFAULT for
 * a key that is not of a paged region of @pd, does not allow writing or, with
 * FLUSH, for memory beyond the region or the process; -ENOMEM.
 */
int mlx5_ib_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		      struct ib_sge *sg_list, u32 num_sge, struct uverbs_attr_bundle *attrs)
{
	struct mlx5_ib_odp *odp = to_mdev(pd->device)->odp;
	struct page_in how = {
		.write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
		.fault = advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
	};
	u32 i;
	int err;

	if (!odp || advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	if (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return -EINVAL;

	struct advice *work __free(advice) = kvzalloc_flex(*work, part, num_sge, GFP_KERNEL);

	if (!work)
		return -ENOMEM;
	work->num = num_sge;
	work->how = how;
	for (i = 0; i < num_sge; i++) {
		err = add_part(odp, pd, &sg_list[i], &how, &work->part[i]);
		if (err)
			return err;
	}
	if (flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH) {
		err = follow_advice(work);
		return err && err != -ENOMEM ? -EFAULT : err;
	}
	INIT_WORK(&work->work, advice_work);
	queue_work(odp->wq, &no_free_ptr(work)->work);
	return 0;
}

/* ---- device ------------------------------------------------------------------ */

/**
 * mlx5_ib_fill_odp_attr - say what is paged
 * @dev: device
 * @props: its attributes
 */
void mlx5_ib_fill_odp_attr(struct mlx5_ib_dev *dev, struct ib_device_attr *props)
{
	if (!dev->odp)
		return;
	props->odp_caps = dev->odp->caps;
	props->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
}

static void get_caps(struct mlx5_core_dev *mdev, struct ib_odp_caps *caps)
{
	const void *cur = mdev->caps.hca[MLX5_CAP_ODP]->cur;
	const void *scheme = MLX5_ADDR_OF(odp_cap, cur, transport_page_fault_scheme_cap);

	caps->general_caps = IB_ODP_SUPPORT;
	/* Root, directory and leaf. */
	if (MLX5_CAP_GEN(mdev, null_mkey) && MLX5_CAP_GEN(mdev, max_indirection) >= 2 &&
	    !MLX5_CAP_GEN(mdev, umr_indirect_mkey_disabled))
		caps->general_caps |= IB_ODP_SUPPORT_IMPLICIT;
	caps->per_transport_caps.rc_odp_caps =
		mlx5_ib_odp_service_caps(MLX5_ADDR_OF(odp_scheme_cap, scheme, rc_odp_caps));
	caps->per_transport_caps.ud_odp_caps =
		mlx5_ib_odp_service_caps(MLX5_ADDR_OF(odp_scheme_cap, scheme, ud_odp_caps));
}

static void free_odp(struct mlx5_ib_odp *odp)
{
	if (!odp)
		return;
	if (odp->eq)
		mlx5_eq_disable(odp->dev->mdev, odp->eq, &odp->nb);
	/* Events on their way are taken, and their faults answered. */
	if (odp->wq)
		destroy_workqueue(odp->wq);
	if (odp->eq)
		mlx5_fw_destroy_eq(odp->dev, odp->eq);
	if (odp->zeros_dma)
		dma_unmap_single(odp->dev->mdev->device, odp->zeros_dma,
				 ZAP_MTTS * sizeof(*odp->zeros), DMA_TO_DEVICE);
	kfree(odp->zeros);
	WARN_ON(!xa_empty(&odp->mrs));
	xa_destroy(&odp->mrs);
	kfree(odp);
}

DEFINE_FREE(odp, struct mlx5_ib_odp *, free_odp(_T))

/**
 * mlx5_ib_init_odp - get ready to page
 * @dev: device, its UMR queue pair set up if it can have one
 *
 * A device that does not page, or does so only in another way, or whose keys
 * UMR cannot change, does without. May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_init_odp(struct mlx5_ib_dev *dev)
{
	struct mlx5_core_dev *mdev = dev->mdev;
	struct mlx5_fw_special_contexts sc = {};
	dma_addr_t dma;
	int err;

	if (!MLX5_CAP_GEN(mdev, pg) || MLX5_CAP_ODP(mdev, mem_page_fault) || !dev->umr ||
	    !MLX5_CAP_GEN(mdev, umr_extended_translation_offset))
		return 0;

	struct mlx5_ib_odp *odp __free(odp) = kzalloc_obj(*odp);

	if (!odp)
		return -ENOMEM;
	odp->dev = dev;
	odp->nb.notifier_call = notify;
	xa_init(&odp->mrs);
	mutex_init(&odp->eq_lock);
	INIT_WORK(&odp->eq_work, take_events);
	get_caps(mdev, &odp->caps);
	err = mlx5_fw_query_special_contexts(dev, &sc);
	if (err)
		return err;
	odp->null_mkey = sc.null_mkey;
	odp->wq = alloc_workqueue("bluebell_odp", WQ_HIGHPRI | WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	odp->zeros = kzalloc_objs(*odp->zeros, ZAP_MTTS);
	if (!odp->wq || !odp->zeros)
		return -ENOMEM;
	dma = dma_map_single(mdev->device, odp->zeros, ZAP_MTTS * sizeof(*odp->zeros),
			     DMA_TO_DEVICE);
	if (dma_mapping_error(mdev->device, dma))
		return -ENOMEM;
	odp->zeros_dma = dma;
	dev->odp = no_free_ptr(odp);
	return 0;
}

/**
 * mlx5_ib_cleanup_odp - page no more
 * @dev: device, none of whose regions is left
 */
void mlx5_ib_cleanup_odp(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_odp *odp = dev->odp;

	dev->odp = NULL;
	free_odp(odp);
}
