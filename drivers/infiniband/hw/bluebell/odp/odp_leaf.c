// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Leaves: keys over pages of a process that are not pinned. A key is created with no page
 * mapped; page-in writes translation entries for the pages that the device needs, and the
 * MMU notifier clears the entries of pages before the process loses them.
 *
 * The tables of a leaf are allocated in chunks when pages are mapped, and freed when the last page
 * of a chunk has been unmapped, so that a leaf over memory that the process does not have costs
 * next to nothing.
 *
 * struct ib_umem_odp is not used, because its tables are of the size of the leaf and not charged to
 * the process, and because ib_umem_odp_map_dma_and_lock() has hmm_range_fault() write to the
 * list of mapped pages without a lock. hmm_range_fault() may write back what it has read of an
 * entry before an invalidation cleared the entry or another fault mapped the page. The list then
 * names a page that the process no longer has.
 */

#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/pci-p2pdma.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "layout/layout_mkey.h"
#include "layout/layout_odp.h"
#include "layout/refuse.h"
#include "lib/orphan.h"
#include "lib/umr.h"
#include "odp/odp_internal.h"

/* A table that the memory cgroup has no room for is refused; no process is killed for it. */
#define ODP_GFP		(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static struct device *odp_leaf_device(const struct odp_leaf *leaf)
{
	return leaf->mr->odp->dev->dma_device;
}

/* ---- chunks ---------------------------------------------------------------------- */

static void odp_chunk_free(struct device *device, struct odp_chunk *chunk)
{
	if (!chunk)
		return;
	hmm_dma_map_free(device, &chunk->map);
	kfree(chunk->mtt);
	kfree(chunk);
}

static struct odp_chunk *odp_leaf_alloc_chunk(struct odp_leaf *leaf, size_t index)
{
	size_t first = index * MLX5_IB_ODP_CHUNK_PAGES;
	size_t num = min(ALIGN(leaf->num_pages, MLX5_IB_UMR_BLOCK_MTTS) - first,
			 MLX5_IB_ODP_CHUNK_PAGES);
	struct odp_chunk *chunk __free(kfree) = kzalloc_obj(*chunk, ODP_GFP);
	__be64 *mtt __free(kfree) = kcalloc(num, sizeof(*mtt), ODP_GFP);
	int err;

	if (!chunk || !mtt)
		return ERR_PTR(-ENOMEM);
	err = hmm_dma_map_alloc(odp_leaf_device(leaf), &chunk->map, num, PAGE_SIZE);
	if (err)
		return ERR_PTR(err);
	chunk->mtt = no_free_ptr(mtt);
	return_ptr(chunk);
}

/*
 * Get the chunk of an index, allocated if there is none. The chunk stays until
 * odp_leaf_put_chunk(). Takes the lock, but allocates without it, because memory reclaim takes the
 * lock, too.
 */
static struct odp_chunk *odp_leaf_get_chunk(struct odp_leaf *leaf, size_t index)
{
	struct odp_chunk *new = NULL, *chunk;

	for (;;) {
		scoped_guard(mutex, &leaf->lock) {
			if (!leaf->chunks[index]) {
				leaf->chunks[index] = new;
				new = NULL;
			}
			chunk = leaf->chunks[index];
			if (chunk)
				chunk->users++;
		}
		if (chunk) {
			odp_chunk_free(odp_leaf_device(leaf), new);
			return chunk;
		}
		new = odp_leaf_alloc_chunk(leaf, index);
		if (IS_ERR(new))
			return new;
	}
}

/* Free a chunk that has neither pages nor users. */
static void odp_leaf_trim_chunk(struct odp_leaf *leaf, size_t index)
{
	struct odp_chunk *chunk = leaf->chunks[index];

	lockdep_assert_held(&leaf->lock);
	if (!chunk || chunk->npages || chunk->users)
		return;
	leaf->chunks[index] = NULL;
	odp_chunk_free(odp_leaf_device(leaf), chunk);
}

static void odp_leaf_put_chunk(struct odp_leaf *leaf, size_t index)
{
	lockdep_assert_held(&leaf->lock);
	WARN_ON_ONCE(!leaf->chunks[index]->users--);
	odp_leaf_trim_chunk(leaf, index);
}

/* Undo the DMA mapping of a page, if there is one. */
static void odp_leaf_unmap_page(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t i)
{
	unsigned long pfn = chunk->map.pfn_list[i];

	if (hmm_dma_unmap_pfn(odp_leaf_device(leaf), &chunk->map, i)) {
		if (pfn & HMM_PFN_WRITE)
			set_page_dirty(compound_head(hmm_pfn_to_page(pfn)));
		chunk->npages--;
		leaf->npages--;
	}
	chunk->map.pfn_list[i] = 0;
}

/* Undo the DMA mappings of pages [@first, @end), whose translation entries are clear. */
static void odp_leaf_unmap(struct odp_leaf *leaf, size_t first, size_t end)
{
	struct odp_chunk *chunk;
	size_t stop, index;

	lockdep_assert_held(&leaf->lock);
	for (; first < end; first = stop) {
		index = first / MLX5_IB_ODP_CHUNK_PAGES;
		stop = min(end, (index + 1) * MLX5_IB_ODP_CHUNK_PAGES);
		chunk = leaf->chunks[index];
		if (!chunk)
			continue;
		for (; first < stop; first++)
			odp_leaf_unmap_page(leaf, chunk, first % MLX5_IB_ODP_CHUNK_PAGES);
		odp_leaf_trim_chunk(leaf, index);
	}
}

/* ---- clearing of translation entries ------------------------------------------------ */

/* UMR failed, so that the entries are still valid: destroy the key. */
static void odp_leaf_kill(struct odp_leaf *leaf)
{
	lockdep_assert_held(&leaf->lock);
	mlx5_ib_mkey_kill(leaf->mr->odp->dev, leaf->key.mkey);
	leaf->dead = true;
}

/* Write a few entries, which start at @mtt in a chunk, to the key. The UMR itself carries them. */
static int odp_leaf_write_inline(struct odp_leaf *leaf, size_t first, size_t num,
				 const __be64 *mtt)
{
	struct mlx5_ib_umr_wqe wqe = {};

	memcpy(mlx5_ib_umr_fill_inline(&wqe, leaf->key.mkey->key,
				       mlx5_ib_mtt_octowords(first),
				       mlx5_ib_mtt_octowords(num)),
	       mtt, num * sizeof(*mtt));
	return mlx5_ib_umr_exec(leaf->mr->odp->dev, &wqe);
}

/*
 * Clear entries [@first, @end) of one block, numbered in @chunk, the first entry of which is number
 * @base of the key. A UMR writes whole blocks, so the other entries of the block are written again
 * as they are.
 */
static void odp_leaf_clear_in_block(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t base,
				    size_t first, size_t end)
{
	size_t block = ALIGN_DOWN(first, MLX5_IB_UMR_BLOCK_MTTS);
	size_t bytes = (end - first) * sizeof(*chunk->mtt);

	if (!memchr_inv(chunk->mtt + first, 0, bytes))
		return;
	memset(chunk->mtt + first, 0, bytes);
	if (!leaf->dead && odp_leaf_write_inline(leaf, base + block, MLX5_IB_UMR_BLOCK_MTTS,
						 chunk->mtt + block))
		odp_leaf_kill(leaf);
}

/* Entries that are clear in the chunks, and that one UMR has yet to clear in the device. */
struct odp_run {
	size_t first;
	size_t num;
};

static void odp_leaf_clear_run(struct odp_leaf *leaf, struct odp_run *run)
{
	if (run->num && !leaf->dead &&
	    mlx5_ib_umr_clear(leaf->mr->odp->dev, leaf->key.mkey->key, run->first, run->num))
		odp_leaf_kill(leaf);
	run->num = 0;
}

/* Add @num entries to a run if they continue it, and otherwise start another run. */
static void odp_leaf_add_to_run(struct odp_leaf *leaf, struct odp_run *run, size_t first,
				size_t num)
{
	if (run->first + run->num != first || run->num + num > MLX5_IB_UMR_MAX_CLEAR) {
		odp_leaf_clear_run(leaf, run);
		run->first = first;
	}
	run->num += num;
}

/* Clear the entries of whole blocks, passing over blocks that are clear. */
static void odp_leaf_clear_blocks(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t base,
				  size_t first, size_t end, struct odp_run *run)
{
	size_t num;

	for (; mlx5_ib_odp_next_run(chunk->mtt, &first, end, MLX5_IB_UMR_MAX_CLEAR, &num);
	     first += num) {
		odp_leaf_add_to_run(leaf, run, base + first, num);
		memset(chunk->mtt + first, 0, num * sizeof(*chunk->mtt));
	}
}

static void odp_leaf_clear_chunk(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t base,
				 size_t first, size_t end, struct odp_run *run)
{
	size_t head = min(ALIGN(first, MLX5_IB_UMR_BLOCK_MTTS), end);
	size_t tail = max(ALIGN_DOWN(end, MLX5_IB_UMR_BLOCK_MTTS), head);

	if (first < head)
		odp_leaf_clear_in_block(leaf, chunk, base, first, head);
	if (head < tail)
		odp_leaf_clear_blocks(leaf, chunk, base, head, tail, run);
	if (tail < end)
		odp_leaf_clear_in_block(leaf, chunk, base, tail, end);
}

/*
 * Clear entries [@first, @end): afterwards the device reaches none of their pages. If UMR fails,
 * the key is destroyed; if firmware refuses that, too, the log says so. Called with the lock held,
 * possibly from memory reclaim: allocates nothing.
 */
static void odp_leaf_clear(struct odp_leaf *leaf, size_t first, size_t end)
{
	struct odp_run run = {};
	size_t base, stop;

	lockdep_assert_held(&leaf->lock);
	for (; first < end; first = stop) {
		base = ALIGN_DOWN(first, MLX5_IB_ODP_CHUNK_PAGES);
		stop = min(end, base + MLX5_IB_ODP_CHUNK_PAGES);
		if (leaf->chunks[base / MLX5_IB_ODP_CHUNK_PAGES])
			odp_leaf_clear_chunk(leaf, leaf->chunks[base / MLX5_IB_ODP_CHUNK_PAGES],
					     base, first - base, stop - base, &run);
	}
	odp_leaf_clear_run(leaf, &run);
}

/*
 * MMU notifier: unmap pages from the device before the process loses them. A range that reaches
 * into the leaf may end at ULONG_MAX, as that of an exiting process does, so its end is not
 * rounded up to a page.
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
	odp_leaf_clear(leaf, first, last);
	odp_leaf_unmap(leaf, first, last);
	atomic64_add(npages - leaf->npages, &leaf->mr->stat.invalidations);
	if (leaf->emptied && (!leaf->npages || leaf->dead))
		leaf->emptied(leaf);
	return true;
}

static const struct mmu_interval_notifier_ops odp_leaf_notifier_ops = {
	.invalidate = odp_leaf_invalidate,
};

/* ---- page-in ---------------------------------------------------------------------- */

/*
 * Collect the pages of a range, faulting them in if its flags say so, and take the lock before the
 * process's mapping changes. Returns -EBUSY if the mapping has changed meanwhile.
 */
static int odp_leaf_try_fault_and_lock(struct odp_leaf *leaf, struct hmm_range *range)
{
	size_t bytes = ((range->end - range->start) >> PAGE_SHIFT) * sizeof(*range->hmm_pfns);
	struct mm_struct *mm = leaf->mr->mm;
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
	struct mm_struct *mm = mlx5_ib_odp_mr_get_mm(leaf->mr);
	int err;

	if (!mm)
		return -EFAULT;
	do {
		err = odp_leaf_try_fault_and_lock(leaf, &range);
	} while (err == -EBUSY && time_before(jiffies, timeout) && !fatal_signal_pending(current));
	mmput_async(mm);
	/* Not -EBUSY, which the exporter of a dma-buf can return, too. */
	return err == -EBUSY ? -ERESTART : err;
}

/* DMA-map the pages of @pfns that are present, and enter them into a chunk from entry @first on. */
static int odp_leaf_map_pages(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t first,
			      size_t num, const unsigned long *pfns)
{
	const unsigned long kept = HMM_PFN_DMA_MAPPED | HMM_PFN_P2PDMA | HMM_PFN_P2PDMA_BUS;
	bool writable = ib_access_writable(leaf->mr->mr.access);
	struct pci_p2pdma_map_state p2pdma = {};
	dma_addr_t dma;
	bool mapped;
	size_t i;

	lockdep_assert_held(&leaf->lock);
	for (i = 0; i < num; i++) {
		unsigned long *entry = &chunk->map.pfn_list[first + i];

		if (!(pfns[i] & HMM_PFN_VALID))
			continue;
		mapped = *entry & HMM_PFN_DMA_MAPPED;
		*entry = pfns[i] | (*entry & kept);
		dma = hmm_dma_map_pfn(odp_leaf_device(leaf), &chunk->map, first + i, &p2pdma);
		if (dma == DMA_MAPPING_ERROR)
			return -EFAULT;
		chunk->npages += !mapped;
		leaf->npages += !mapped;
		if (pfns[i] & HMM_PFN_WRITE && writable)
			dma |= MLX5_EN_WR;
		chunk->mtt[first + i] = cpu_to_be64(dma | MLX5_EN_RD);
	}
	return 0;
}

static void odp_leaf_put_list(const void *list)
{
	put_page(virt_to_page(list));
}

/*
 * Write entries of a chunk, numbered in the chunk, to the key. The UMR carries a few entries; more
 * are copied to @list, which is a page and not memory of a slab cache, because a reference keeps
 * only a page from being freed. @base is the number of the chunk's first entry.
 */
static int odp_leaf_write_mtts(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t base,
			       size_t first, size_t num, __be64 *list)
{
	struct mlx5_ib_dev *dev = leaf->mr->odp->dev;
	struct device *device = odp_leaf_device(leaf);
	dma_addr_t dma;
	size_t end;
	int err;

	end = ALIGN(first + num, MLX5_IB_UMR_BLOCK_MTTS);
	first = ALIGN_DOWN(first, MLX5_IB_UMR_BLOCK_MTTS);
	num = end - first;
	if (num <= MLX5_IB_UMR_INLINE_MTTS)
		return odp_leaf_write_inline(leaf, base + first, num, chunk->mtt + first);
	memcpy(list, chunk->mtt + first, num * sizeof(*list));
	dma = dma_map_single(device, list, num * sizeof(*list), DMA_TO_DEVICE);
	if (dma_mapping_error(device, dma))
		return -ENOMEM;
	err = mlx5_ib_umr_write_list(dev, leaf->key.mkey->key, base + first, num, dma);
	if (err && mlx5_ib_umr_is_stuck(dev)) {
		/* The caller frees the page, which stays allocated until this reference is put. */
		get_page(virt_to_page(list));
		mlx5_ib_orphan_keep(dev, list, dma, num * sizeof(*list), odp_leaf_put_list);
	} else {
		dma_unmap_single(device, dma, num * sizeof(*list), DMA_TO_DEVICE);
	}
	return err;
}

/* Whether pages of one chunk are mapped already as @req asks: more advice on them costs nothing. */
static bool odp_leaf_has_pages(struct odp_leaf *leaf, size_t first, size_t num, unsigned long req)
{
	u64 want = MLX5_EN_RD | (req & HMM_PFN_REQ_WRITE ? MLX5_EN_WR : 0);
	const struct odp_chunk *chunk;
	size_t i;

	guard(mutex)(&leaf->lock);
	chunk = leaf->chunks[first / MLX5_IB_ODP_CHUNK_PAGES];
	if (!chunk || leaf->dead)
		return false;
	first %= MLX5_IB_ODP_CHUNK_PAGES;
	for (i = first; i < first + num; i++)
		if ((be64_to_cpu(chunk->mtt[i]) & want) != want)
			return false;
	return true;
}

/* Map the pages of one chunk that @page lists. @first is the number of the first in the leaf. */
static int odp_leaf_page_in_locked(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t first,
				   size_t num, void *page)
{
	size_t base = ALIGN_DOWN(first, MLX5_IB_ODP_CHUNK_PAGES);
	int err;

	if (leaf->dead)
		return -EIO;
	err = odp_leaf_map_pages(leaf, chunk, first - base, num, page) ?:
	      odp_leaf_write_mtts(leaf, chunk, base, first - base, num, page);
	if (err) {
		odp_leaf_clear(leaf, first, first + num);
		odp_leaf_unmap(leaf, first, first + num);
	}
	return err;
}

/*
 * Map [@va, @end), which is in one chunk of a leaf, into the device. @page has room for the pages
 * that are found and, after that, for their translation entries. Returns 1 if they were mapped
 * already.
 */
static int odp_leaf_page_in_chunk(struct odp_leaf *leaf, u64 va, u64 end, unsigned long req,
				  void *page)
{
	size_t first = (va - leaf->start) >> PAGE_SHIFT;
	size_t num = DIV_ROUND_UP_ULL(end - leaf->start, PAGE_SIZE) - first;
	size_t index = first / MLX5_IB_ODP_CHUNK_PAGES;
	struct odp_chunk *chunk;
	int err;

	if (odp_leaf_has_pages(leaf, first, num, req))
		return 1;
	chunk = odp_leaf_get_chunk(leaf, index);
	if (IS_ERR(chunk))
		return PTR_ERR(chunk);
	err = odp_leaf_fault_and_lock(leaf, va, end, req, page);
	if (!err)
		err = odp_leaf_page_in_locked(leaf, chunk, first, num, page);
	else
		mutex_lock(&leaf->lock);
	odp_leaf_put_chunk(leaf, index);
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
 * Works in chunks, each mapped as a whole or not at all. May sleep; takes the leaf's lock.
 *
 * Return: 0; 1 if all pages were mapped so already; -EFAULT for memory that the process does
 * not have or the region does not allow to write to, and if the process is being killed; -EPERM for
 * memory that the process may not write to; -ERESTART if its mappings change all the time; -ENOMEM;
 * -EIO if the key has been destroyed; -ECANCELED if the region is being deregistered; -EINTR if the
 * calling task is being killed; or the errno of a failed UMR. After an error the chunks before the
 * one that failed stay mapped.
 */
int mlx5_ib_odp_leaf_page_in(struct odp_leaf *leaf, u64 va, u64 len, unsigned long req)
{
	u64 end = va + len, stop, in_chunk;
	int ret, had_all = 1;

	if (req & HMM_PFN_REQ_WRITE && !ib_access_writable(leaf->mr->mr.access))
		return -EFAULT;
	/* Allocated here and not under the lock, which memory reclaim takes. */
	void *page __free(free_page) = (void *)__get_free_page(GFP_KERNEL);

	if (!page)
		return -ENOMEM;
	for (; va < end; va = stop) {
		if (mlx5_ib_odp_mr_is_closing(leaf->mr))
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

/* Whether the process has a page in [@va, @end), which is in one chunk. @page is for the pages. */
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
 * set *@va and *@stop to the part of it before @end. A mapping of anonymous memory that nobody has
 * written to is passed over without a look at its page tables, however large it is.
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
 * mlx5_ib_odp_leaf_map_present - map the pages that the process has into the device
 * @leaf: the leaf of a new region of the current process
 *
 * So the device does not fault on memory that the process has used. Faults in no page; the device
 * may write to what the page tables allow to write to. Pages that cannot be mapped are left out.
 * May sleep; takes mmap_lock and the leaf's lock.
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
 * mlx5_ib_odp_leaf_unmap_dead - release the pages of a leaf whose key has been destroyed
 * @leaf: the leaf, with its lock held
 *
 * Allocates nothing.
 */
void mlx5_ib_odp_leaf_unmap_dead(struct odp_leaf *leaf)
{
	WARN_ON_ONCE(!leaf->dead);
	odp_leaf_clear(leaf, 0, leaf->num_pages);
	odp_leaf_unmap(leaf, 0, leaf->num_pages);
}

/* ---- creation and destruction ---------------------------------------------------- */

static void odp_leaf_free(struct odp_leaf *leaf)
{
	scoped_guard(mutex, &leaf->lock)
		odp_leaf_unmap(leaf, 0, leaf->num_pages);
	WARN_ON_ONCE(leaf->npages);
	mmu_interval_notifier_remove(&leaf->notifier);
	mutex_destroy(&leaf->lock);
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
	struct mm_struct *mm = mlx5_ib_odp_mr_get_mm(leaf->mr);
	int err;

	if (!mm)
		return -EFAULT;
	err = mmu_interval_notifier_insert(&leaf->notifier, mm, leaf->start,
					   leaf->num_pages << PAGE_SHIFT, &odp_leaf_notifier_ops);
	mmput_async(mm);
	/*
	 * The first notifier of an address space is inserted with all of its locks held, which a
	 * signal interrupts. Programs do not expect EINTR: have the kernel call the verb again.
	 */
	return err == -EINTR && !fatal_signal_pending(current) ? -ERESTARTNOINTR : err;
}

/**
 * mlx5_ib_odp_leaf_create - create a key over pages none of which is present
 * @mr: region that the leaf belongs to
 * @mkey: key of an explicit region; NULL for a leaf of an implicit one, which has its own
 * @start: first address in the process
 * @length: length in bytes
 * @iova: first address of the key
 *
 * May sleep.
 *
 * Return: the leaf with one reference, or an ERR_PTR: -EOVERFLOW for a range that wraps around,
 * -EOPNOTSUPP if the device may need bounce buffers, -EFAULT or -EINTR if the process is being
 * killed, -ERESTARTNOINTR if a signal has interrupted the function, -ENOMEM, or the errno of a
 * firmware refusal.
 */
struct odp_leaf *mlx5_ib_odp_leaf_create(struct odp_mr *mr, struct mlx5_ib_mkey *mkey, u64 start,
					 u64 length, u64 iova)
{
	u64 first = start & PAGE_MASK, end;
	size_t num;
	int err;

	if (check_add_overflow(start, length, &end) || PAGE_ALIGN(end) < end)
		return ERR_PTR(refuse(-EOVERFLOW, "%llu bytes at %#llx wrap around", length,
				      start));
	num = (PAGE_ALIGN(end) - first) >> PAGE_SHIFT;
	err = odp_leaf_check_device(mr->odp->dev->dma_device);
	if (err)
		return ERR_PTR(err);

	struct odp_leaf *leaf __free(kvfree) =
		kvzalloc_flex(*leaf, chunks, DIV_ROUND_UP(num, MLX5_IB_ODP_CHUNK_PAGES), ODP_GFP);

	if (!leaf)
		return ERR_PTR(-ENOMEM);
	leaf->mr = mr;
	leaf->start = first;
	leaf->num_pages = num;
	leaf->key.mkey = mkey ?: &leaf->key.own;
	leaf->key.base = iova;
	refcount_set(&leaf->refs, 1);
	mutex_init(&leaf->lock);
	/* The notifier passes over a leaf without pages, so the key need not exist yet. */
	err = odp_leaf_insert_notifier(leaf);
	if (err)
		return ERR_PTR(err);
	err = mlx5_ib_odp_create_key(mr, leaf->key.mkey, iova, length,
				     ALIGN(num, MLX5_IB_UMR_BLOCK_MTTS));
	if (err) {
		odp_leaf_free(no_free_ptr(leaf));
		return ERR_PTR(err);
	}
	return_ptr(leaf);
}

/* Let the device reach no page: from now on the notifier does not clear entries any more. */
static void odp_leaf_revoke(struct odp_leaf *leaf)
{
	lockdep_assert_held(&leaf->lock);
	if (leaf->dead)
		return;
	/* A key that is not of the pool must stay usable: firmware may refuse to destroy it. */
	if (leaf->key.mkey->class < 0 ||
	    mlx5_ib_mkey_umr_revoke(leaf->mr->odp->dev, leaf->key.mkey))
		odp_leaf_clear(leaf, 0, leaf->num_pages);
}

/**
 * mlx5_ib_odp_leaf_destroy - destroy a leaf, its key, and release its pages
 * @leaf: the leaf, which has no other user; freed on success
 *
 * May sleep; takes the leaf's lock.
 *
 * Return: 0, always if the process has closed the device; or the errno of a firmware that refuses
 * to destroy the key: then the leaf is as it was, but without pages.
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
	err = mlx5_ib_mkey_destroy(leaf->mr->odp->dev, leaf->key.mkey);
	/* Firmware keeps the key, which leads to no page. */
	if (err && leaf->mr->mr.closing) {
		mlx5_ib_mkey_abandon(leaf->mr->odp->dev, leaf->key.mkey, err);
		err = 0;
	}
	if (err) {
		scoped_guard(mutex, &leaf->lock)
			leaf->dead = dead;
		return err;
	}
	odp_leaf_free(leaf);
	return 0;
}
