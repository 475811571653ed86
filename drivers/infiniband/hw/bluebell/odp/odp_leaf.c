// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Leaves: keys over pages of a process that are not pinned. A key is created with no page
 * mapped; page-in writes translation entries for the pages that the device needs, and the
 * MMU notifier clears the entries of pages before the process loses them.
 *
 * struct ib_umem_odp is not used, because its tables are allocated for the whole leaf at once, and
 * because ib_umem_odp_map_dma_and_lock() has hmm_range_fault() write to the list of mapped pages
 * without a lock. hmm_range_fault() reads an entry of the list and writes it back; if meanwhile an
 * invalidation clears the entry or another fault maps the page, the list then names a page that the
 * process no longer has.
 */

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "layout/layout_mkey.h"
#include "layout/layout_odp.h"
#include "layout/refuse.h"
#include "lib/umr.h"
#include "odp/odp_internal.h"
#include "odp/odp_repeated.h"

/*
 * MMU notifier: unmap pages from the device before the process loses them. @range may end at
 * ULONG_MAX, for example when the process exits, so its end is not rounded up to a page: it would
 * wrap around.
 */
static bool odp_leaf_invalidate(struct mmu_interval_notifier *mni,
				const struct mmu_notifier_range *range, unsigned long seq)
{
	struct odp_leaf *leaf = container_of(mni, struct odp_leaf, notifier);
	u64 start = max_t(u64, leaf->start, range->start) - leaf->start;
	u64 last_byte = range->end - 1 - leaf->start;
	size_t first = start >> PAGE_SHIFT;
	size_t last = min_t(u64, leaf->num_pages, (last_byte >> PAGE_SHIFT) + 1);
	size_t npages;

	if (!mmu_notifier_range_blockable(range))
		return false;
	guard(mutex)(&leaf->lock);
	mmu_interval_set_seq(mni, seq);
	if (!leaf->npages || leaf->isolated)
		return true;
	npages = leaf->npages;
	mlx5_ib_odp_clear(leaf, first, last);
	mlx5_ib_odp_unmap(leaf, first, last);
	atomic64_add(npages - leaf->npages, &leaf->key.mr->stat.invalidations);
	if (leaf->emptied && (!leaf->npages || leaf->dead))
		leaf->emptied(leaf);
	return true;
}

static const struct mmu_interval_notifier_ops odp_leaf_notifier_ops = {
	.invalidate = odp_leaf_invalidate,
};

/* ---- page-in ---------------------------------------------------------------------- */

/*
 * Collect the pages of a range, faulting them in if the flags of @range say so, and take the leaf's
 * lock. Returns 0 with the lock held; or, without the lock, -EBUSY if the process's mappings have
 * changed meanwhile, or another negative errno.
 */
static int odp_leaf_try_fault_and_lock(struct odp_leaf *leaf, struct hmm_range *range)
{
	size_t bytes = ((range->end - range->start) >> PAGE_SHIFT) * sizeof(*range->hmm_pfns);
	struct mm_struct *mm = leaf->key.mr->mm;
	int err;

	range->notifier_seq = mmu_interval_read_begin(&leaf->notifier);
	memset(range->hmm_pfns, 0, bytes);
	if (mmap_read_lock_killable(mm))
		return -EINTR;
	err = hmm_range_fault(range);
	mmap_read_unlock(mm);
	if (err)
		return err;
	mutex_lock(&leaf->lock);
	if (!mmu_interval_read_retry(&leaf->notifier, range->notifier_seq))
		return 0;
	mutex_unlock(&leaf->lock);
	return -EBUSY;
}

static int odp_leaf_fault_and_lock(struct odp_leaf *leaf, u64 va, u64 end, unsigned long req,
				   unsigned long *pfns)
{
	struct hmm_range range = {
		.notifier = &leaf->notifier,
		.start = va & PAGE_MASK,
		.end = PAGE_ALIGN(end),
		.hmm_pfns = pfns,
		.default_flags = req,
	};
	unsigned long timeout = jiffies + msecs_to_jiffies(HMM_RANGE_DEFAULT_TIMEOUT);
	struct mm_struct *mm = mlx5_ib_odp_mr_get_mm(leaf->key.mr);
	int err;

	if (!mm)
		return -EFAULT;
	do {
		err = odp_leaf_try_fault_and_lock(leaf, &range);
	} while (err == -EBUSY && time_before(jiffies, timeout) && !fatal_signal_pending(current));
	mmput_async(mm);
	/*
	 * For -ERESTART odp_fault_answer() lets the device retry, but not for -EBUSY, which the
	 * exporter of a dma-buf may return, too.
	 */
	return err == -EBUSY ? -ERESTART : err;
}

/*
 * If the first or the last of @num pages from number @first on is in a huge page of the process,
 * add the rest of the huge page to the list @pfns as far as it is in the same chunk and in the
 * leaf: an access next to this one then causes no fault. The pages of a huge page follow each
 * other, and the process has the same rights to all of them.
 */
static void odp_leaf_add_rest_of_huge_pages(const struct odp_leaf *leaf, size_t *first, size_t *num,
					    unsigned long *pfns)
{
	size_t base = ALIGN_DOWN(*first, MLX5_IB_ODP_CHUNK_PAGES);
	size_t end = min_t(size_t, base + MLX5_IB_ODP_CHUNK_PAGES, leaf->num_pages);
	u64 va = leaf->start + ((u64)*first << PAGE_SHIFT);
	size_t before = 0, after = 0, i;
	u64 mask;

	if (pfns[0] & HMM_PFN_VALID) {
		mask = (PAGE_SIZE << hmm_pfn_to_map_order(pfns[0])) - 1;
		before = min_t(u64, (va & mask) >> PAGE_SHIFT, *first - base);
	}
	if (pfns[*num - 1] & HMM_PFN_VALID) {
		mask = (PAGE_SIZE << hmm_pfn_to_map_order(pfns[*num - 1])) - 1;
		va += (u64)(*num - 1) << PAGE_SHIFT;
		after = min_t(u64, (~va & mask) >> PAGE_SHIFT, end - *first - *num);
	}
	memmove(pfns + before, pfns, *num * sizeof(*pfns));
	for (i = before; i; i--)
		pfns[i - 1] = pfns[i] - 1;
	*first -= before;
	*num += before;
	for (i = 0; i < after; i++)
		pfns[*num + i] = pfns[*num + i - 1] + 1;
	*num += after;
}

/*
 * Map [@va, @end), which is in one chunk of a leaf, into the device; in addition, the rest of a
 * huge page at either end. @page has room for the list of the pages that are found and, after that,
 * for their translation entries. Returns 0; 1 if the range was already mapped as @req asks; or a
 * negative errno.
 */
static int odp_leaf_page_in_chunk(struct odp_leaf *leaf, u64 va, u64 end, unsigned long req,
				  void *page)
{
	size_t first = (va - leaf->start) >> PAGE_SHIFT;
	size_t num = DIV_ROUND_UP_ULL(end - leaf->start, PAGE_SIZE) - first;
	size_t index = first / MLX5_IB_ODP_CHUNK_PAGES;
	struct odp_chunk *chunk;
	int err;

	if (mlx5_ib_odp_has_pages(leaf, first, num, req))
		return 1;
	chunk = mlx5_ib_odp_chunk_get(leaf, index);
	if (IS_ERR(chunk))
		return PTR_ERR(chunk);
	err = odp_leaf_fault_and_lock(leaf, va, end, req, page);
	if (!err) {
		odp_leaf_add_rest_of_huge_pages(leaf, &first, &num, page);
		err = mlx5_ib_odp_map(leaf, chunk, first, num, page);
	} else {
		mutex_lock(&leaf->lock);
	}
	mlx5_ib_odp_chunk_put(leaf, index);
	mutex_unlock(&leaf->lock);
	return err;
}

/**
 * mlx5_ib_odp_leaf_page_in - map pages of a leaf into the device
 * @leaf: the leaf
 * @va: first address in the process
 * @len: length in bytes; the whole range is in the leaf
 * @req: as for the page_in operation of struct odp_mr_ops
 *
 * Works in chunks. May sleep; takes mmap_lock and the leaf's lock.
 *
 * Return: 0; 1 if all pages were already mapped as @req asks; -EFAULT for memory that the process
 * does not have, for writing to a read-only region, if the process is being killed or has exited,
 * and if a page cannot be mapped for DMA; -EPERM for memory that the process may not write to;
 * -ERESTART if the process's mappings change all the time; -ENOMEM; -EIO if the leaf is dead;
 * -ECANCELED if the region is being deregistered; -EINTR if the calling task is being killed; or
 * the errno of a failed UMR or of mlx5_ib_odp_chunk_get(). After an error the chunks before the
 * failed chunk stay mapped.
 */
int mlx5_ib_odp_leaf_page_in(struct odp_leaf *leaf, u64 va, u64 len, unsigned long req)
{
	u64 end = va + len, stop, in_chunk;
	int ret, had_all = 1;

	if (req & HMM_PFN_REQ_WRITE && !ib_access_writable(leaf->key.mr->mr.access))
		return -EFAULT;
	/* Allocated here and not under the lock, which memory reclaim takes. */
	void *page __free(free_page) = (void *)__get_free_page(GFP_KERNEL);

	if (!page)
		return -ENOMEM;
	for (; va < end; va = stop) {
		if (mlx5_ib_odp_mr_is_closing(leaf->key.mr))
			return -ECANCELED;
		if (fatal_signal_pending(current))
			return -EINTR;
		in_chunk = (va - leaf->start) & (MLX5_IB_ODP_CHUNK_BYTES - 1);
		stop = va + min(end - va, MLX5_IB_ODP_CHUNK_BYTES - in_chunk);
		ret = odp_leaf_page_in_chunk(leaf, va, stop, req, page);
		if (ret < 0)
			return ret;
		had_all &= ret;
	}
	return had_all;
}

/* Whether the process has a page in [@va, @end), which is in one chunk. @page is scratch memory. */
static bool odp_leaf_is_touched(struct odp_leaf *leaf, u64 va, u64 end, void *page)
{
	size_t i, num = (PAGE_ALIGN(end) - (va & PAGE_MASK)) >> PAGE_SHIFT;
	const unsigned long *pfns = page;

	if (odp_leaf_fault_and_lock(leaf, va, end, 0, page))
		return false;
	mutex_unlock(&leaf->lock);
	for (i = 0; i < num; i++)
		if (pfns[i] & HMM_PFN_VALID)
			return true;
	return false;
}

/*
 * Find the next mapping of the current process at or after *@va in which there can be pages, and
 * set *@va and *@stop to the part of the mapping before @end. Mappings of anonymous memory to which
 * nothing has been written are passed over without a look at their page tables, however large they
 * are. Returns false if no mapping before @end can have pages.
 */
static bool odp_leaf_next_mapping(u64 *va, u64 end, u64 *stop)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;

	mmap_read_lock(mm);
	vma = find_vma(mm, *va);
	while (vma && vma->vm_start < end && vma_is_anonymous(vma) && !vma->anon_vma)
		vma = find_vma(mm, vma->vm_end);
	if (vma) {
		*va = max_t(u64, *va, vma->vm_start);
		*stop = min_t(u64, end, vma->vm_end);
	}
	mmap_read_unlock(mm);
	return vma && *va < end;
}

/**
 * mlx5_ib_odp_leaf_map_present - map into the device the pages that the process has
 * @leaf: the leaf of a new region of the current process
 *
 * Without this call, the device would fault on memory that the process has used. The function does
 * not fault in pages, and lets the device write only to pages that are writable in the process's
 * page tables. Stops if mapping fails: faults of the device map the rest. May sleep; takes
 * mmap_lock and the leaf's lock.
 */
void mlx5_ib_odp_leaf_map_present(struct odp_leaf *leaf)
{
	u64 va = leaf->start, end = va + ((u64)leaf->num_pages << PAGE_SHIFT), mapped, stop;

	void *page __free(free_page) = (void *)__get_free_page(GFP_KERNEL);

	while (page && odp_leaf_next_mapping(&va, end, &mapped)) {
		for (; va < mapped; va = stop) {
			stop = va + MLX5_IB_ODP_CHUNK_BYTES -
			       ((va - leaf->start) & (MLX5_IB_ODP_CHUNK_BYTES - 1));
			stop = min(stop, mapped);
			if (fatal_signal_pending(current))
				return;
			if (odp_leaf_is_touched(leaf, va, stop, page) &&
			    odp_leaf_page_in_chunk(leaf, va, stop, 0, page) < 0)
				return;
			cond_resched();
		}
	}
}

/**
 * mlx5_ib_odp_leaf_unmap_dead - release the pages of a dead leaf, see struct odp_leaf
 * @leaf: the leaf, with its lock held
 *
 * Allocates nothing.
 */
void mlx5_ib_odp_leaf_unmap_dead(struct odp_leaf *leaf)
{
	lockdep_assert_held(&leaf->lock);
	WARN_ON_ONCE(!leaf->dead);
	mlx5_ib_odp_clear(leaf, 0, leaf->num_pages);
	mlx5_ib_odp_unmap(leaf, 0, leaf->num_pages);
}

/* ---- creation and destruction ---------------------------------------------------- */

static void odp_leaf_free(struct odp_leaf *leaf)
{
	scoped_guard(mutex, &leaf->lock)
		mlx5_ib_odp_unmap(leaf, 0, leaf->num_pages);
	WARN_ON_ONCE(leaf->npages);
	mmu_interval_notifier_remove(&leaf->notifier);
	mutex_destroy(&leaf->lock);
	mlx5_ib_share_give(&leaf->share);
	kvfree(leaf);
}

/* Check that pages can be mapped for the device without a bounce buffer. */
static int odp_leaf_check_device(struct device *device)
{
	struct hmm_dma_map map = {};
	int err = hmm_dma_map_alloc(device, &map, 1, PAGE_SIZE);

	if (!err)
		hmm_dma_map_free(device, &map);
	return err;
}

static int odp_leaf_insert_notifier(struct odp_leaf *leaf)
{
	struct mm_struct *mm = mlx5_ib_odp_mr_get_mm(leaf->key.mr);
	int err;

	if (!mm)
		return -EFAULT;
	err = mmu_interval_notifier_insert(&leaf->notifier, mm, leaf->start,
					   leaf->num_pages << PAGE_SHIFT, &odp_leaf_notifier_ops);
	mmput_async(mm);
	/*
	 * For the first notifier of an address space, mm_take_all_locks() takes all locks of the
	 * address space, under a mutex that all processes share, and fails with -EINTR if a signal
	 * is pending. Programs do not expect EINTR: have the kernel call the verb again.
	 */
	return err == -EINTR && !fatal_signal_pending(current) ? -ERESTARTNOINTR : err;
}

/* Allocate a leaf for the pages that @length bytes from @start touch. */
static struct odp_leaf *odp_leaf_alloc(struct odp_mr *mr, struct mlx5_ib_mkey *mkey, u64 start,
				       u64 length, u64 iova)
{
	u64 first = start & PAGE_MASK, end;
	struct odp_leaf *leaf;
	size_t num;

	if (check_add_overflow(start, length, &end) || PAGE_ALIGN(end) < end)
		return ERR_PTR(refuse(mr->odp->dev->mdev, -EOVERFLOW,
				      "ODP region of %llu bytes at %#llx wraps around", length,
				      start));
	num = (PAGE_ALIGN(end) - first) >> PAGE_SHIFT;
	leaf = kvzalloc_flex(*leaf, chunks, DIV_ROUND_UP(num, MLX5_IB_ODP_CHUNK_PAGES),
			     MLX5_IB_FAULT_GFP);
	if (!leaf)
		return ERR_PTR(-ENOMEM);
	leaf->key.mr = mr;
	leaf->start = first;
	leaf->num_pages = num;
	leaf->key.mkey = mkey ?: &leaf->key.own;
	leaf->key.base = iova;
	refcount_set(&leaf->refs, 1);
	mutex_init(&leaf->lock);
	return leaf;
}

/**
 * mlx5_ib_odp_leaf_create - create a leaf and its key, in which no page is mapped yet
 * @mr: region that the leaf belongs to
 * @mkey: key of an explicit region; NULL for a leaf of an implicit region, which has its own key
 * @start: first address in the process
 * @length: length in bytes
 * @iova: first address of the key
 *
 * May sleep.
 *
 * Return: the leaf with one reference, or an ERR_PTR: -EOVERFLOW for a range that wraps around,
 * -EOPNOTSUPP if the device may need bounce buffers, -EFAULT or -EINTR if the process is being
 * killed, -EFAULT if it has exited, -ERESTARTNOINTR if a signal has interrupted the function,
 * -ENOMEM, also if the user has as much paged memory as a user can have, or an errno of
 * mlx5_ib_mkey_create_mtts().
 */
struct odp_leaf *mlx5_ib_odp_leaf_create(struct odp_mr *mr, struct mlx5_ib_mkey *mkey, u64 start,
					 u64 length, u64 iova)
{
	int err = odp_leaf_check_device(mr->odp->dev->dma_device);

	if (err)
		return ERR_PTR(err);

	struct odp_leaf *leaf __free(kvfree) = odp_leaf_alloc(mr, mkey, start, length, iova);

	if (IS_ERR(leaf))
		return no_free_ptr(leaf);
	/* The notifier passes over a leaf without pages, so the key need not exist yet. */
	err = odp_leaf_insert_notifier(leaf);
	if (err)
		return ERR_PTR(err);
	err = mlx5_ib_share_take_length(mr->context, length, &leaf->share) ?:
	      mlx5_ib_odp_create_key(mr, leaf->key.mkey, iova, length,
				     ALIGN(leaf->num_pages, MLX5_IB_UMR_BLOCK_MTTS));
	if (err) {
		mlx5_ib_share_undo(&leaf->share, err);
		odp_leaf_free(no_free_ptr(leaf));
		return ERR_PTR(err);
	}
	/* The key of an explicit region is published with the region. */
	if (!mkey) {
		mlx5_ib_mkey_publish(mr->odp->dev, leaf->key.mkey, MLX5_IB_MKEY_ODP_PART);
		mlx5_ib_odp_repeated_forget(mr->odp, leaf->key.mkey->key);
	}
	return_ptr(leaf);
}

/*
 * Let the device reach no page of a leaf whose key is about to be destroyed. Called before the
 * caller sets @dead, because the notifier does not clear entries of a dead leaf in the device.
 */
static void odp_leaf_revoke(struct odp_leaf *leaf)
{
	lockdep_assert_held(&leaf->lock);
	if (leaf->dead)
		return;
	/*
	 * Have UMR revoke only a key that can go to the pool (mkey_pool.c). Any other key must stay
	 * usable, because firmware may refuse to destroy it: clear its entries.
	 */
	if (leaf->key.mkey->class < 0 ||
	    mlx5_ib_mkey_umr_revoke(leaf->key.mr->odp->dev, leaf->key.mkey))
		mlx5_ib_odp_clear(leaf, 0, leaf->num_pages);
}

/**
 * mlx5_ib_odp_leaf_destroy - destroy the key of a leaf, unmap its pages, and free the leaf
 * @leaf: the leaf, which has no other user; freed on success
 *
 * May sleep; takes the leaf's lock.
 *
 * Return: 0, always if the process has closed the device; or the errno of mlx5_ib_mkey_destroy():
 * then the leaf stays, and the device reaches none of its pages, unless UMR has failed, too. If
 * firmware did not answer, the leaf is also dead, because its key may be gone.
 */
int mlx5_ib_odp_leaf_destroy(struct odp_leaf *leaf)
{
	bool dead;
	int err;

	scoped_guard(mutex, &leaf->lock) {
		odp_leaf_revoke(leaf);
		dead = leaf->dead;
		leaf->dead = true;
	}
	err = mlx5_ib_mkey_destroy(leaf->key.mr->odp->dev, leaf->key.mkey);
	/* The context is being closed: give up the key, which reaches no page if UMR works. */
	if (err && leaf->key.mr->mr.closing) {
		mlx5_ib_mkey_retire(leaf->key.mr->odp->dev, leaf->key.mkey);
		mlx5_ib_mkey_abandon(leaf->key.mr->odp->dev, leaf->key.mkey, &leaf->share, err);
		err = 0;
	}
	if (err) {
		scoped_guard(mutex, &leaf->lock)
			leaf->dead = dead || mlx5_ib_fw_may_be_gone(&leaf->key.mkey->attempt);
		return err;
	}
	odp_leaf_free(leaf);
	return 0;
}
