// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Leaves: keys over pages of a process that are not pinned. A key is created with no page
 * mapped; page-in writes translation entries for the pages that the device needs, and the
 * MMU notifier clears the entries of pages before the process loses them.
 */

#include <linux/dma-mapping.h>
#include <linux/hmm.h>
#include <linux/mmu_notifier.h>
#include <linux/pci-p2pdma.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "bluebell.h"
#include "layout_mkey.h"
#include "layout_odp.h"
#include "mkey.h"
#include "mr.h"
#include "odp_internal.h"
#include "umr.h"
#include "umr_qp.h"

/* Bytes that one UMR maps when pages are mapped: it writes a page of translation entries. */
#define ODP_LEAF_FILL_BYTES	(PAGE_SIZE / sizeof(__be64) * PAGE_SIZE)

/* UMR failed, so that the entries are still valid: destroy the key. */
static void odp_leaf_kill(struct odp_leaf *leaf)
{
	mlx5_ib_mkey_kill(leaf->mr->odp->dev, leaf->key.mkey);
	leaf->dead = true;
}

/* Write a few entries of the leaf's own table to the key, carried by the UMR itself. */
static int odp_leaf_write_inline(struct odp_leaf *leaf, size_t first, size_t num)
{
	struct mlx5_ib_umr_wqe wqe = {};

	memcpy(mlx5_ib_umr_fill_inline(&wqe, leaf->key.mkey->key,
				       mlx5_ib_mtt_octowords(first),
				       mlx5_ib_mtt_octowords(num)),
	       leaf->mtt + first, num * sizeof(*leaf->mtt));
	return mlx5_ib_umr_exec(leaf->mr->odp->dev, &wqe);
}

/*
 * Clear entries [@first, @end) of one block. A UMR writes whole blocks, so the other entries of the
 * block are written again as they are.
 */
static void odp_leaf_clear_in_block(struct odp_leaf *leaf, size_t first, size_t end)
{
	size_t bytes = (end - first) * sizeof(*leaf->mtt);

	if (!memchr_inv(leaf->mtt + first, 0, bytes))
		return;
	memset(leaf->mtt + first, 0, bytes);
	if (!leaf->dead && odp_leaf_write_inline(leaf, ALIGN_DOWN(first, MLX5_IB_UMR_BLOCK_MTTS),
						 MLX5_IB_UMR_BLOCK_MTTS))
		odp_leaf_kill(leaf);
}

/* Clear the entries of whole blocks, passing over blocks that are clear. */
static void odp_leaf_clear_blocks(struct odp_leaf *leaf, size_t first, size_t end)
{
	size_t num;

	for (; mlx5_ib_odp_next_run(leaf->mtt, &first, end, MLX5_IB_UMR_MAX_CLEAR, &num);
	     first += num) {
		if (!leaf->dead && mlx5_ib_umr_clear(leaf->mr->odp->dev, leaf->key.mkey->key,
						     first, num))
			odp_leaf_kill(leaf);
		memset(leaf->mtt + first, 0, num * sizeof(*leaf->mtt));
	}
}

/*
 * Clear entries [@first, @end): afterwards the device reaches none of their pages. If UMR fails,
 * the key is destroyed. Called with umem_mutex held, possibly from memory reclaim: allocates
 * nothing.
 */
static void odp_leaf_clear(struct odp_leaf *leaf, size_t first, size_t end)
{
	size_t head = min(ALIGN(first, MLX5_IB_UMR_BLOCK_MTTS), end);
	size_t tail = max(ALIGN_DOWN(end, MLX5_IB_UMR_BLOCK_MTTS), head);

	lockdep_assert_held(&leaf->umem->umem_mutex);
	if (first < head)
		odp_leaf_clear_in_block(leaf, first, head);
	if (head < tail)
		odp_leaf_clear_blocks(leaf, head, tail);
	if (tail < end)
		odp_leaf_clear_in_block(leaf, tail, end);
}

/* MMU notifier: unmap pages from the device before the process loses them. */
static bool odp_leaf_invalidate(struct mmu_interval_notifier *mni,
				const struct mmu_notifier_range *range, unsigned long seq)
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
	odp_leaf_clear(leaf, (start - ib_umem_start(umem)) >> umem->page_shift,
		       DIV_ROUND_UP(end - ib_umem_start(umem), BIT(umem->page_shift)));
	ib_umem_odp_unmap_dma_pages(umem, start, end);
	if (leaf->emptied && (!umem->npages || leaf->dead))
		leaf->emptied(leaf);
	return true;
}

const struct mmu_interval_notifier_ops mlx5_ib_odp_notifier_ops = {
	.invalidate = odp_leaf_invalidate,
};

/*
 * Collect the pages of [@va, @end) in @pfns, faulting them in if @req says so, and lock umem_mutex
 * before the process's mapping changes.
 *
 * ib_umem_odp_map_dma_and_lock() is not used: it has hmm_range_fault() write to the umem's own list
 * of pages without the lock. An entry that it has read before, it writes back after an
 * invalidation has cleared the entry or another fault has mapped the page. The list then names a
 * page that the process no longer has.
 */
static int odp_leaf_fault_and_lock(struct ib_umem_odp *umem, u64 va, u64 end,
				   unsigned long req, unsigned long *pfns)
{
	struct mm_struct *mm = umem->umem.owning_mm;
	struct hmm_range range = {
		.notifier = &umem->notifier,
		.start = va & PAGE_MASK,
		.end = PAGE_ALIGN(end),
		.hmm_pfns = pfns,
		.default_flags = req,
	};
	unsigned long timeout = jiffies + msecs_to_jiffies(HMM_RANGE_DEFAULT_TIMEOUT);
	int err;

	if (!mmget_not_zero(mm))
		return -EFAULT;
retry:
	range.notifier_seq = mmu_interval_read_begin(&umem->notifier);
	memset(pfns, 0, ((range.end - range.start) >> PAGE_SHIFT) * sizeof(*pfns));
	mmap_read_lock(mm);
	err = hmm_range_fault(&range);
	mmap_read_unlock(mm);
	if (err == -EBUSY && time_before(jiffies, timeout))
		goto retry;
	if (!err) {
		mutex_lock(&umem->umem_mutex);
		if (mmu_interval_read_retry(&umem->notifier, range.notifier_seq)) {
			mutex_unlock(&umem->umem_mutex);
			goto retry;
		}
	}
	mmput_async(mm);
	return err;
}

/* DMA-map the pages of @pfns that are present, and enter them into the leaf's own table. */
static int odp_leaf_map_pages(struct odp_leaf *leaf, size_t first, size_t num,
			      const unsigned long *pfns)
{
	const unsigned long kept = HMM_PFN_DMA_MAPPED | HMM_PFN_P2PDMA | HMM_PFN_P2PDMA_BUS;
	struct device *device = leaf->mr->odp->dev->ib_dev.dma_device;
	struct pci_p2pdma_map_state p2pdma = {};
	struct ib_umem_odp *umem = leaf->umem;
	dma_addr_t dma;
	bool mapped;
	size_t i;

	for (i = 0; i < num; i++) {
		unsigned long *entry = &umem->map.pfn_list[first + i];

		if (!(pfns[i] & HMM_PFN_VALID))
			continue;
		mapped = *entry & HMM_PFN_DMA_MAPPED;
		*entry = pfns[i] | (*entry & kept);
		dma = hmm_dma_map_pfn(device, &umem->map, first + i, &p2pdma);
		if (dma == DMA_MAPPING_ERROR)
			return -EFAULT;
		umem->npages += !mapped;
		if (pfns[i] & HMM_PFN_WRITE && umem->umem.writable)
			dma |= MLX5_EN_WR;
		leaf->mtt[first + i] = cpu_to_be64(dma | MLX5_EN_RD);
	}
	return 0;
}

/* Write entries of the leaf's own table to the key. @list is a page to copy them to. */
static int odp_leaf_write_mtts(struct odp_leaf *leaf, size_t first, size_t num, __be64 *list)
{
	struct mlx5_ib_dev *dev = leaf->mr->odp->dev;
	struct device *device = dev->mdev->device;
	dma_addr_t dma;
	size_t end;
	int err;

	end = ALIGN(first + num, MLX5_IB_UMR_BLOCK_MTTS);
	first = ALIGN_DOWN(first, MLX5_IB_UMR_BLOCK_MTTS);
	num = end - first;
	if (num <= MLX5_IB_UMR_INLINE_MTTS)
		return odp_leaf_write_inline(leaf, first, num);
	memcpy(list, leaf->mtt + first, num * sizeof(*list));
	dma = dma_map_single(device, list, num * sizeof(*list), DMA_TO_DEVICE);
	if (dma_mapping_error(device, dma))
		return -ENOMEM;
	err = mlx5_ib_umr_write_list(dev, leaf->key.mkey->key, first, num, dma);
	dma_unmap_single(device, dma, num * sizeof(*list), DMA_TO_DEVICE);
	return err;
}

/*
 * Map [@va, @end) of a leaf into the device. @page has room for the pages that are found and, after
 * that, for their translation entries.
 */
static int odp_leaf_page_in_chunk(struct odp_leaf *leaf, u64 va, u64 end, unsigned long req,
				  void *page)
{
	struct ib_umem_odp *umem = leaf->umem;
	size_t first = (va - ib_umem_start(umem)) >> PAGE_SHIFT;
	size_t num = DIV_ROUND_UP(end - ib_umem_start(umem), PAGE_SIZE) - first;
	int err;

	err = odp_leaf_fault_and_lock(umem, va, end, req, page);
	if (err)
		return err;
	err = leaf->dead ? -EIO : odp_leaf_map_pages(leaf, first, num, page);
	if (!err)
		err = odp_leaf_write_mtts(leaf, first, num, page);
	if (err) {
		odp_leaf_clear(leaf, first, first + num);
		ib_umem_odp_unmap_dma_pages(umem, va & PAGE_MASK, PAGE_ALIGN(end));
	}
	mutex_unlock(&umem->umem_mutex);
	return err;
}

/**
 * mlx5_ib_odp_leaf_page_in - map pages of a leaf into the device
 * @leaf: the leaf
 * @va: first address in the process
 * @len: length in bytes; the whole range is in the leaf
 * @req: as for the page_in operation of struct odp_mr_ops
 *
 * Works in chunks, each mapped as a whole or not at all. May sleep; takes umem_mutex.
 *
 * Return: 0; -EFAULT for memory that the process does not have or may not write to;
 * -ENOMEM; -EIO if the key has been destroyed; or the errno of a failed UMR. After an
 * error the chunks before the one that failed stay mapped.
 */
int mlx5_ib_odp_leaf_page_in(struct odp_leaf *leaf, u64 va, u64 len, unsigned long req)
{
	u64 start = ib_umem_start(leaf->umem), end = va + len, stop;
	int err = 0;

	if (req & HMM_PFN_REQ_WRITE && !leaf->umem->umem.writable)
		return -EFAULT;
	/* Allocated here and not under umem_mutex, which memory reclaim takes. */
	void *page __free(kfree) = kmalloc(PAGE_SIZE, GFP_KERNEL);

	if (!page)
		return -ENOMEM;
	for (; va < end && !err; va = stop) {
		/* A UMR writes whole blocks of entries. */
		stop = min(end, start + ALIGN(va + 1 - start, ODP_LEAF_FILL_BYTES));
		err = odp_leaf_page_in_chunk(leaf, va, stop, req, page);
	}
	return err;
}

/* ---- creation and destruction ---------------------------------------------------- */

static void odp_leaf_free(struct odp_leaf *leaf)
{
	ib_umem_odp_release(leaf->umem);
	kvfree(leaf->mtt);
	kfree(leaf);
}

/**
 * mlx5_ib_odp_leaf_create - create a key over pages none of which is present
 * @mr: region that the leaf belongs to
 * @mkey: key of an explicit region; NULL for a leaf of an implicit one, which has its own
 * @umem: the pages, or the ERR_PTR of a failure to set them up; owned by the leaf, and released
 *	if there is none
 * @iova: first address of the key
 * @length: length in bytes
 *
 * May sleep.
 *
 * Return: the leaf with one reference, or an ERR_PTR.
 */
struct odp_leaf *mlx5_ib_odp_leaf_create(struct odp_mr *mr, struct mlx5_ib_mkey *mkey,
					 struct ib_umem_odp *umem, u64 iova, u64 length)
{
	struct odp_leaf *leaf;
	int err = -ENOMEM;
	u32 nmtts;

	if (IS_ERR(umem))
		return ERR_CAST(umem);
	leaf = kzalloc_obj(*leaf);
	if (!leaf) {
		ib_umem_odp_release(umem);
		return ERR_PTR(err);
	}
	leaf->mr = mr;
	leaf->umem = umem;
	leaf->key.mkey = mkey ?: &leaf->key.own;
	leaf->key.base = iova;
	refcount_set(&leaf->refs, 1);
	nmtts = ALIGN(ib_umem_odp_num_pages(umem), MLX5_IB_UMR_BLOCK_MTTS);
	leaf->mtt = kvcalloc(nmtts, sizeof(*leaf->mtt), GFP_KERNEL);
	if (leaf->mtt)
		err = mlx5_ib_odp_create_key(mr, leaf->key.mkey, iova, length, nmtts);
	if (err) {
		odp_leaf_free(leaf);
		return ERR_PTR(err);
	}
	/* MMU notifiers find the leaf from now on; before, it had no pages to unmap. */
	scoped_guard(mutex, &umem->umem_mutex)
		umem->private = leaf;
	return leaf;
}

/* Let the device reach no page: from now on MMU notifiers do not clear entries any more. */
static void odp_leaf_revoke(struct odp_leaf *leaf)
{
	lockdep_assert_held(&leaf->umem->umem_mutex);
	if (leaf->dead)
		return;
	/* A key that may have windows is not revoked: firmware may refuse to destroy it. */
	if (leaf->key.mkey->class < 0 ||
	    mlx5_ib_mkey_umr_revoke(leaf->mr->odp->dev, leaf->key.mkey))
		odp_leaf_clear(leaf, 0, ib_umem_odp_num_pages(leaf->umem));
}

/**
 * mlx5_ib_odp_leaf_destroy - destroy a leaf, its key, and release its pages
 * @leaf: the leaf, which has no other user; freed on success
 *
 * May sleep; takes umem_mutex.
 *
 * Return: 0, or the errno of a firmware that refused to destroy the key: then the leaf is as
 * it was, but without pages.
 */
int mlx5_ib_odp_leaf_destroy(struct odp_leaf *leaf)
{
	struct ib_umem_odp *umem = leaf->umem;
	bool dead;
	int err;

	scoped_guard(mutex, &umem->umem_mutex) {
		odp_leaf_revoke(leaf);
		dead = leaf->dead;
		leaf->dead = true;
	}
	err = mlx5_ib_mkey_destroy(leaf->mr->odp->dev, leaf->key.mkey);
	if (err) {
		scoped_guard(mutex, &umem->umem_mutex)
			leaf->dead = dead;
		return err;
	}
	odp_leaf_free(leaf);
	return 0;
}
