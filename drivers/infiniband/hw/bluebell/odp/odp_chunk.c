// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The pages of a leaf (a key over pages of a process, see odp_leaf.c) that are mapped into the
 * device, and the translation entries of the key. Both are in tables that are allocated in chunks
 * when pages are mapped; a chunk is freed when its last page has been unmapped. So a leaf over
 * memory that the process has not touched costs little.
 *
 * The memory cgroup of the process is charged for the translation entries, 8 bytes a page, but not
 * for the lists of hmm_dma_map_alloc(), which cannot be told to charge them: 8 bytes a page for the
 * list of pages, and perhaps another 8 for DMA addresses. The lists are bounded all the same: they
 * are at most twice as long as the translation entries, and the paged memory of a user without
 * CAP_SYS_RESOURCE is limited (MLX5_IB_SHARE_PAGED).
 */

#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/pci-p2pdma.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "layout/layout_mkey.h"
#include "layout/layout_odp.h"
#include "lib/orphan.h"
#include "lib/umr.h"
#include "odp/odp_internal.h"

static struct device *odp_chunk_device(const struct odp_leaf *leaf)
{
	return leaf->key.mr->odp->dev->dma_device;
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

static struct odp_chunk *odp_chunk_alloc(struct odp_leaf *leaf, size_t index)
{
	size_t first = index * MLX5_IB_ODP_CHUNK_PAGES;
	size_t num = min(ALIGN(leaf->num_pages, MLX5_IB_UMR_BLOCK_MTTS) - first,
			 MLX5_IB_ODP_CHUNK_PAGES);
	struct odp_chunk *chunk __free(kfree) = kzalloc_obj(*chunk, MLX5_IB_FAULT_GFP);
	__be64 *mtt __free(kfree) = kcalloc(num, sizeof(*mtt), MLX5_IB_FAULT_GFP);
	int err;

	if (!chunk || !mtt)
		return ERR_PTR(-ENOMEM);
	err = hmm_dma_map_alloc(odp_chunk_device(leaf), &chunk->map, num, PAGE_SIZE);
	if (err)
		return ERR_PTR(err);
	chunk->mtt = no_free_ptr(mtt);
	return_ptr(chunk);
}

/**
 * mlx5_ib_odp_chunk_get - get the chunk at an index, and allocate the chunk if there is none
 * @leaf: the leaf
 * @index: number of the chunk
 *
 * The chunk is not freed before mlx5_ib_odp_chunk_put(). May sleep; takes the leaf's lock, but
 * allocates without it, because memory reclaim takes the lock, too.
 *
 * Return: the chunk, or an ERR_PTR: -ENOMEM, or the errno of hmm_dma_map_alloc().
 */
struct odp_chunk *mlx5_ib_odp_chunk_get(struct odp_leaf *leaf, size_t index)
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
			odp_chunk_free(odp_chunk_device(leaf), new);
			return chunk;
		}
		new = odp_chunk_alloc(leaf, index);
		if (IS_ERR(new))
			return new;
	}
}

/* Free a chunk that has neither pages nor users. */
static void odp_chunk_trim(struct odp_leaf *leaf, size_t index)
{
	struct odp_chunk *chunk = leaf->chunks[index];

	lockdep_assert_held(&leaf->lock);
	if (!chunk || chunk->npages || chunk->users)
		return;
	leaf->chunks[index] = NULL;
	odp_chunk_free(odp_chunk_device(leaf), chunk);
}

/**
 * mlx5_ib_odp_chunk_put - release a chunk, and free it if it has neither pages nor users
 * @leaf: the leaf, with its lock held
 * @index: number of the chunk
 */
void mlx5_ib_odp_chunk_put(struct odp_leaf *leaf, size_t index)
{
	lockdep_assert_held(&leaf->lock);
	WARN_ON_ONCE(!leaf->chunks[index]->users--);
	odp_chunk_trim(leaf, index);
}

/* Undo the DMA mapping of a page, if the page has one. */
static void odp_chunk_unmap_page(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t i)
{
	unsigned long pfn = chunk->map.pfn_list[i];

	if (hmm_dma_unmap_pfn(odp_chunk_device(leaf), &chunk->map, i)) {
		if (pfn & HMM_PFN_WRITE)
			set_page_dirty(compound_head(hmm_pfn_to_page(pfn)));
		chunk->npages--;
		leaf->npages--;
	}
	chunk->map.pfn_list[i] = 0;
}

/**
 * mlx5_ib_odp_unmap - undo the DMA mappings of pages that the device does not reach any more
 * @leaf: the leaf, with its lock held
 * @first: number of the first page
 * @end: number of the last page, plus 1
 *
 * The caller has cleared the translation entries of the pages, or the leaf is dead (@dead of struct
 * odp_leaf). Frees the chunks that have neither pages nor users any more. Allocates nothing.
 */
void mlx5_ib_odp_unmap(struct odp_leaf *leaf, size_t first, size_t end)
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
			odp_chunk_unmap_page(leaf, chunk, first % MLX5_IB_ODP_CHUNK_PAGES);
		odp_chunk_trim(leaf, index);
	}
}

/* ---- clearing of translation entries ------------------------------------------------ */

/* UMR failed, so the entries may still be valid: destroy the key. */
static void odp_kill_key(struct odp_leaf *leaf)
{
	lockdep_assert_held(&leaf->lock);
	mlx5_ib_mkey_kill(leaf->key.mr->odp->dev, leaf->key.mkey);
	leaf->dead = true;
}

/* Write @num entries at @mtt to the key, from entry @first on. They are inline in the UMR's WQE. */
static int odp_write_inline(struct odp_leaf *leaf, size_t first, size_t num, const __be64 *mtt)
{
	struct mlx5_ib_umr_wqe wqe = {};

	memcpy(mlx5_ib_umr_fill_inline(&wqe, leaf->key.mkey->key,
				       mlx5_ib_mtt_octowords(first),
				       mlx5_ib_mtt_octowords(num)),
	       mtt, num * sizeof(*mtt));
	return mlx5_ib_umr_exec(leaf->key.mr->odp->dev, &wqe);
}

/*
 * Clear entries [@first, @end), which are in one block. They are numbered from the start of @chunk,
 * which is entry @base of the key. A UMR writes whole blocks, so it writes the other entries of the
 * block again as they are.
 */
static void odp_clear_in_block(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t base,
			       size_t first, size_t end)
{
	size_t block = ALIGN_DOWN(first, MLX5_IB_UMR_BLOCK_MTTS);
	size_t bytes = (end - first) * sizeof(*chunk->mtt);

	if (!memchr_inv(chunk->mtt + first, 0, bytes))
		return;
	memset(chunk->mtt + first, 0, bytes);
	if (!leaf->dead && odp_write_inline(leaf, base + block, MLX5_IB_UMR_BLOCK_MTTS,
					    chunk->mtt + block))
		odp_kill_key(leaf);
}

/* Consecutive entries that are clear in the chunks, and that one UMR will clear in the key. */
struct odp_run {
	size_t first;
	size_t num;
};

static void odp_clear_run(struct odp_leaf *leaf, struct odp_run *run)
{
	if (run->num && !leaf->dead &&
	    mlx5_ib_umr_clear(leaf->key.mr->odp->dev, leaf->key.mkey->key, run->first, run->num))
		odp_kill_key(leaf);
	run->num = 0;
}

/* Add @num entries to a run if they continue it; otherwise clear the run and start another. */
static void odp_add_to_run(struct odp_leaf *leaf, struct odp_run *run, size_t first, size_t num)
{
	if (run->first + run->num != first || run->num + num > MLX5_IB_UMR_MAX_CLEAR) {
		odp_clear_run(leaf, run);
		run->first = first;
	}
	run->num += num;
}

/* Clear the entries of whole blocks, and pass over blocks that are clear already. */
static void odp_clear_blocks(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t base,
			     size_t first, size_t end, struct odp_run *run)
{
	size_t num;

	for (; mlx5_ib_odp_next_run(chunk->mtt, &first, end, MLX5_IB_UMR_MAX_CLEAR, &num);
	     first += num) {
		odp_add_to_run(leaf, run, base + first, num);
		memset(chunk->mtt + first, 0, num * sizeof(*chunk->mtt));
	}
}

static void odp_clear_chunk(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t base,
			    size_t first, size_t end, struct odp_run *run)
{
	size_t head = min(ALIGN(first, MLX5_IB_UMR_BLOCK_MTTS), end);
	size_t tail = max(ALIGN_DOWN(end, MLX5_IB_UMR_BLOCK_MTTS), head);

	if (first < head)
		odp_clear_in_block(leaf, chunk, base, first, head);
	if (head < tail)
		odp_clear_blocks(leaf, chunk, base, head, tail, run);
	if (tail < end)
		odp_clear_in_block(leaf, chunk, base, tail, end);
}

/**
 * mlx5_ib_odp_clear - clear the translation entries of pages: the device reaches the pages no more
 * @leaf: the leaf, with its lock held
 * @first: number of the first page
 * @end: number of the last page, plus 1
 *
 * If UMR fails, the function has firmware destroy the key, and the leaf is dead from then on; if
 * firmware refuses to destroy the key, the log says so. May be called from memory reclaim:
 * allocates memory only for firmware commands, and without reclaim. May sleep until UMR is done.
 */
void mlx5_ib_odp_clear(struct odp_leaf *leaf, size_t first, size_t end)
{
	struct odp_run run = {};
	size_t base, stop;

	lockdep_assert_held(&leaf->lock);
	for (; first < end; first = stop) {
		base = ALIGN_DOWN(first, MLX5_IB_ODP_CHUNK_PAGES);
		stop = min(end, base + MLX5_IB_ODP_CHUNK_PAGES);
		if (leaf->chunks[base / MLX5_IB_ODP_CHUNK_PAGES])
			odp_clear_chunk(leaf, leaf->chunks[base / MLX5_IB_ODP_CHUNK_PAGES],
					base, first - base, stop - base, &run);
	}
	odp_clear_run(leaf, &run);
}

/* ---- mapping of pages ------------------------------------------------------------ */

/* DMA-map the pages of @pfns that are present, and enter them into a chunk from entry @first on. */
static int odp_chunk_map_pages(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t first,
			       size_t num, const unsigned long *pfns)
{
	const unsigned long kept = HMM_PFN_DMA_MAPPED | HMM_PFN_P2PDMA | HMM_PFN_P2PDMA_BUS;
	bool writable = ib_access_writable(leaf->key.mr->mr.access);
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
		dma = hmm_dma_map_pfn(odp_chunk_device(leaf), &chunk->map, first + i, &p2pdma);
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

static void odp_put_list(const void *list)
{
	put_page(virt_to_page(list));
}

/*
 * Write entries of a chunk to the key. @first counts from the start of the chunk, whose first entry
 * is entry @base of the key. A few entries are inline in the UMR's WQE; more are copied to @list,
 * which the device reads. @list is a page of its own, and not from a slab cache, because only a
 * page can be kept by a reference if the UMR does not complete.
 */
static int odp_chunk_write_mtts(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t base,
				size_t first, size_t num, __be64 *list)
{
	struct mlx5_ib_dev *dev = leaf->key.mr->odp->dev;
	struct device *device = odp_chunk_device(leaf);
	dma_addr_t dma;
	size_t end;
	int err;

	end = ALIGN(first + num, MLX5_IB_UMR_BLOCK_MTTS);
	first = ALIGN_DOWN(first, MLX5_IB_UMR_BLOCK_MTTS);
	num = end - first;
	if (num <= MLX5_IB_UMR_INLINE_MTTS)
		return odp_write_inline(leaf, base + first, num, chunk->mtt + first);
	memcpy(list, chunk->mtt + first, num * sizeof(*list));
	dma = dma_map_single(device, list, num * sizeof(*list), DMA_TO_DEVICE);
	if (dma_mapping_error(device, dma))
		return -ENOMEM;
	err = mlx5_ib_umr_write_list(dev, leaf->key.mkey->key, base + first, num, dma);
	if (err && mlx5_ib_umr_is_stuck(dev)) {
		/* The device may read @list after the caller has freed it: keep the page. */
		get_page(virt_to_page(list));
		mlx5_ib_orphan_keep(dev, list, dma, num * sizeof(*list), odp_put_list);
	} else {
		dma_unmap_single(device, dma, num * sizeof(*list), DMA_TO_DEVICE);
	}
	return err;
}

/**
 * mlx5_ib_odp_has_pages - tell whether the device can access pages already
 * @leaf: the leaf
 * @first: number of the first page
 * @num: number of pages, all of one chunk
 * @req: as for the page_in operation of struct odp_mr_ops
 *
 * May sleep; takes the leaf's lock.
 *
 * Return: true if the device can access all of the pages as @req asks.
 */
bool mlx5_ib_odp_has_pages(struct odp_leaf *leaf, size_t first, size_t num, unsigned long req)
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

/**
 * mlx5_ib_odp_map - map pages into the device
 * @leaf: the leaf, with its lock held
 * @chunk: chunk of the pages, which mlx5_ib_odp_chunk_get() has returned
 * @first: number of the first page in the leaf
 * @num: number of pages
 * @page: a page of memory with the list of pages from hmm_range_fault(); the function overwrites
 *	the list. Pages that are not present are left out
 *
 * May sleep until UMR is done; reclaims no memory. If a DMA mapping or UMR fails, the function also
 * unmaps pages of the range that were mapped before.
 *
 * Return: 0; -EIO if the leaf is dead; -EFAULT if a page cannot be mapped for DMA; -ENOMEM if the
 * list of translation entries cannot be mapped for DMA; or the errno of a failed UMR.
 */
int mlx5_ib_odp_map(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t first, size_t num,
		    void *page)
{
	size_t base = ALIGN_DOWN(first, MLX5_IB_ODP_CHUNK_PAGES);
	int err;

	lockdep_assert_held(&leaf->lock);
	if (leaf->dead)
		return -EIO;
	err = odp_chunk_map_pages(leaf, chunk, first - base, num, page) ?:
	      odp_chunk_write_mtts(leaf, chunk, base, first - base, num, page);
	if (err) {
		mlx5_ib_odp_clear(leaf, first, first + num);
		mlx5_ib_odp_unmap(leaf, first, first + num);
	}
	return err;
}
