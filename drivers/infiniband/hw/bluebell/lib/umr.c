// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * UMR work requests, which the driver's own queue pair executes (umr_qp.c): they fill a free memory
 * key, change a key in use, or revoke a key, which is then free.
 */

#include <linux/dma-mapping.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "fw/bluebell.h"
#include "layout/layout_mkey.h"
#include "lib/mkey.h"
#include "lib/orphan.h"
#include "lib/umr.h"

/*
 * Maximum number of entries of a list that a request points at. They take 64 KiB: more contiguous
 * memory is hard to get. While the device reads one list, the driver writes the next.
 */
#define LIST_MTTS	SZ_8K
#define SMALL_LIST_MTTS	(PAGE_SIZE / sizeof(__be64))
#define NUM_LISTS	2
#define CLEAR_BYTES	(MLX5_IB_UMR_MAX_CLEAR * sizeof(__be64))

/**
 * struct umr_list - a part of a key's translation entries, for the device to read
 * @mtt: the entries
 * @dma: DMA address of @mtt
 * @posted: @req has been posted
 * @failed: @req has failed
 * @req: the request that points at the list
 */
struct umr_list {
	__be64 *mtt;
	dma_addr_t dma;
	bool posted;
	bool failed;
	struct mlx5_ib_umr_request req;
};

/**
 * struct umr_fill - a key that is being filled
 * @dev: device
 * @attr: the new context of the key; with @only_mtts, only its page size and number of entries are
 *	set
 * @only_mtts: write the entries, and leave the context as it is
 * @room: number of entries that each list has room for
 * @lists: used in turn; if there was no memory for the second, only the first is used
 */
struct umr_fill {
	struct mlx5_ib_dev *dev;
	const struct mlx5_ib_mkc_attr *attr;
	bool only_mtts;
	u32 room;
	struct umr_list lists[NUM_LISTS];
};

/* Allocate memory that requests point at. */
static void *umr_buffer_alloc(struct mlx5_ib_dev *dev, size_t bytes, gfp_t gfp, dma_addr_t *dma)
{
	void *buffer __free(kfree) = kmalloc(mlx5_ib_umr_list_alloc_bytes(bytes), gfp);

	if (!buffer)
		return NULL;
	*dma = dma_map_single(dev->dma_device, buffer, bytes, DMA_TO_DEVICE);
	return dma_mapping_error(dev->dma_device, *dma) ? NULL : no_free_ptr(buffer);
}

static bool umr_list_alloc(struct umr_fill *fill, struct umr_list *list, gfp_t gfp)
{
	list->mtt = umr_buffer_alloc(fill->dev, fill->room * sizeof(__be64), gfp, &list->dma);
	return list->mtt;
}

/*
 * Allocate two lists if the entries do not fit into one. If memory is short, do with one list, or
 * with one list of a page.
 */
static int umr_lists_alloc(struct umr_fill *fill)
{
	u32 mtts = ALIGN(fill->attr->nmtts, MLX5_IB_UMR_BLOCK_MTTS);
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_NORETRY;

	fill->room = min(mtts, LIST_MTTS);
	if (!umr_list_alloc(fill, &fill->lists[0], gfp)) {
		fill->room = min(mtts, SMALL_LIST_MTTS);
		return umr_list_alloc(fill, &fill->lists[0], MLX5_IB_FAULT_GFP) ? 0 : -ENOMEM;
	}
	if (mtts > fill->room)
		umr_list_alloc(fill, &fill->lists[1], gfp);
	return 0;
}

/* Wait until the device has read a list. Then the list may be written again. */
static int umr_list_wait(struct umr_fill *fill, struct umr_list *list)
{
	int err;

	if (!list->posted)
		return 0;
	list->posted = false;
	err = mlx5_ib_umr_wait(fill->dev, &list->req);
	list->failed = err;
	dma_sync_single_for_cpu(fill->dev->dma_device, list->dma, fill->room * sizeof(__be64),
				DMA_TO_DEVICE);
	return err;
}

/* Free a buffer, or keep it if a queue pair that firmware could not stop may still read it. */
static void umr_buffer_free(struct mlx5_ib_dev *dev, void *buffer, dma_addr_t dma, size_t bytes,
			    bool device_may_read)
{
	if (device_may_read) {
		mlx5_ib_orphan_keep(dev, buffer, dma, bytes, kfree);
		return;
	}
	dma_unmap_single(dev->dma_device, dma, bytes, DMA_TO_DEVICE);
	kfree(buffer);
}

static int umr_lists_free(struct umr_fill *fill)
{
	struct umr_list *list;
	int err = 0, ret;

	for (list = fill->lists; list < fill->lists + NUM_LISTS && list->mtt; list++) {
		ret = umr_list_wait(fill, list);
		err = err ?: ret;
		umr_buffer_free(fill->dev, list->mtt, list->dma, fill->room * sizeof(__be64),
				list->failed && mlx5_ib_umr_is_stuck(fill->dev));
	}
	return err;
}

/*
 * Write the next entries, and zeros to the end of the block of MLX5_IB_UMR_BLOCK_MTTS entries.
 * Returns the number of entries without the zeros.
 */
static u32 umr_list_fill(struct mlx5_ib_pas_iter *iter, __be64 *mtt, u32 max)
{
	u32 n = mlx5_ib_next_pas(iter, mtt, max), i;

	for (i = n; i % MLX5_IB_UMR_BLOCK_MTTS; i++)
		mtt[i] = 0;
	return n;
}

/*
 * Post @n entries from @first on. Unless @only_mtts is set, the request with the key's last entry
 * also fills the context of the key.
 */
static int umr_list_post(struct umr_fill *fill, struct umr_list *list, u32 key, u32 first, u32 n)
{
	struct mlx5_ib_umr_wqe wqe = {};
	int err;

	if (!fill->only_mtts && first + n == fill->attr->nmtts)
		mlx5_ib_umr_fill_reg(&wqe, key, fill->attr, &fill->dev->caps);
	mlx5_ib_umr_fill_list(&wqe, key, mlx5_ib_umr_lkey(fill->dev), list->dma, first, n);
	dma_sync_single_for_device(fill->dev->dma_device, list->dma,
				   fill->room * sizeof(__be64), DMA_TO_DEVICE);
	err = mlx5_ib_umr_post(fill->dev, &wqe, &list->req);
	list->posted = !err;
	return err;
}

static int umr_fill_from_lists(struct mlx5_ib_dev *dev, u32 key, struct ib_umem *umem,
			       const struct mlx5_ib_mkc_attr *attr, bool only_mtts)
{
	struct umr_fill fill = { .dev = dev, .attr = attr, .only_mtts = only_mtts };
	struct umr_list *list = fill.lists;
	struct mlx5_ib_pas_iter iter;
	u32 first, n;
	int err, ret;

	err = umr_lists_alloc(&fill);
	if (err)
		return err;
	mlx5_ib_start_pas(&iter, umem, attr->page_shift, MLX5_IB_UMR_PRESENT);
	for (first = 0; first < attr->nmtts && !err; first += n) {
		err = fatal_signal_pending(current) ? -EINTR : umr_list_wait(&fill, list);
		if (err)
			break;
		n = umr_list_fill(&iter, list->mtt, fill.room);
		err = umr_list_post(&fill, list, key, first, n);
		if (fill.lists[1].mtt)
			list = list == fill.lists ? fill.lists + 1 : fill.lists;
	}
	ret = umr_lists_free(&fill);
	return err ?: ret;
}

static int umr_fill_inline(struct mlx5_ib_dev *dev, u32 key, struct ib_umem *umem,
			   const struct mlx5_ib_mkc_attr *attr)
{
	struct mlx5_ib_umr_wqe wqe = {};

	mlx5_ib_umr_fill_reg(&wqe, key, attr, &dev->caps);
	mlx5_ib_populate_pas(umem, 1UL << attr->page_shift, wqe.mtt);
	mlx5_ib_umr_mark_present(wqe.mtt, attr->nmtts);
	return mlx5_ib_umr_exec(dev, &wqe);
}

/**
 * mlx5_ib_umr_reg - register pinned memory with a free key
 * @dev: device with a UMR queue pair
 * @umem: the memory
 * @attr: context of the key, which has room for @attr->nmtts entries
 * @key: the free key, which gets the new variant, @attr->variant
 *
 * May sleep.
 *
 * Return: 0; or a negative errno, -EINTR if the task is being killed. After an error the state of
 * the key is not known, and the key has to be destroyed.
 */
int mlx5_ib_umr_reg(struct mlx5_ib_dev *dev, struct ib_umem *umem,
		    const struct mlx5_ib_mkc_attr *attr, u32 key)
{
	if (attr->nmtts <= MLX5_IB_UMR_INLINE_MTTS)
		return umr_fill_inline(dev, key, umem, attr);
	return umr_fill_from_lists(dev, key, umem, attr, false);
}

/**
 * mlx5_ib_umr_reg_empty - register pages, none of them present yet, with a free key
 * @dev: device with mlx5_ib_init_umr_clear()
 * @attr: as for mlx5_ib_umr_reg()
 * @key: as for mlx5_ib_umr_reg()
 *
 * May sleep.
 *
 * Return: as mlx5_ib_umr_reg().
 */
int mlx5_ib_umr_reg_empty(struct mlx5_ib_dev *dev, const struct mlx5_ib_mkc_attr *attr, u32 key)
{
	u32 last = ALIGN_DOWN(attr->nmtts - 1, MLX5_IB_UMR_MAX_CLEAR);
	struct mlx5_ib_umr_wqe wqe = {};
	u32 first;
	int err;

	for (first = 0; first < last; first += MLX5_IB_UMR_MAX_CLEAR) {
		err = fatal_signal_pending(current) ? -EINTR :
			mlx5_ib_umr_clear(dev, key, first, MLX5_IB_UMR_MAX_CLEAR);
		if (err)
			return err;
	}
	mlx5_ib_umr_fill_reg(&wqe, key, attr, &dev->caps);
	mlx5_ib_umr_fill_list(&wqe, key, mlx5_ib_umr_lkey(dev), dev->umr_zeros_dma, last,
			      attr->nmtts - last);
	return mlx5_ib_umr_exec(dev, &wqe);
}

/**
 * mlx5_ib_umr_map - write the translation entries of a key in use, and nothing else
 * @dev: device with a UMR queue pair
 * @umem: mapped memory, its iova set
 * @key: the key, whose pages have PAGE_SIZE, and which keeps its number
 *
 * May sleep.
 *
 * Return: 0; or a negative errno, after which the entries may hold old or new values.
 */
int mlx5_ib_umr_map(struct mlx5_ib_dev *dev, struct ib_umem *umem, u32 key)
{
	const struct mlx5_ib_mkc_attr attr = {
		.page_shift = PAGE_SHIFT,
		.nmtts = ib_umem_num_dma_blocks(umem, PAGE_SIZE),
	};

	return umr_fill_from_lists(dev, key, umem, &attr, true);
}

/**
 * mlx5_ib_umr_write_list - write translation entries of a key in use, and nothing else
 * @dev: device with a UMR queue pair
 * @key: the key, which keeps its number
 * @first: index of the first entry, from 0
 * @num: number of entries; their bytes are a multiple of MLX5_UMR_FLEX_ALIGNMENT
 * @list: DMA address of the entries
 *
 * May be called while memory is being reclaimed. May sleep.
 *
 * Return: 0; or a negative errno, after which the entries may hold old or new values.
 */
int mlx5_ib_umr_write_list(struct mlx5_ib_dev *dev, u32 key, u32 first, u32 num, dma_addr_t list)
{
	struct mlx5_ib_umr_wqe wqe = {};

	mlx5_ib_umr_fill_list(&wqe, key, mlx5_ib_umr_lkey(dev), list, first, num);
	return mlx5_ib_umr_exec(dev, &wqe);
}

/**
 * mlx5_ib_umr_clear - clear translation entries of a key in use: their pages are then not present
 * @dev: device with mlx5_ib_init_umr_clear()
 * @key: the key, which keeps its number
 * @first: index of the first entry, from 0
 * @num: number of entries; their bytes are a multiple of MLX5_UMR_FLEX_ALIGNMENT
 *
 * May be called while memory is being reclaimed. May sleep.
 *
 * Return: 0; or a negative errno, after which the entries may hold old or new values.
 */
int mlx5_ib_umr_clear(struct mlx5_ib_dev *dev, u32 key, u32 first, u32 num)
{
	u32 end = first + num, n;
	int err = 0;

	for (; first < end && !err; first += n) {
		n = min(end - first, MLX5_IB_UMR_MAX_CLEAR);
		err = mlx5_ib_umr_write_list(dev, key, first, n, dev->umr_zeros_dma);
	}
	return err;
}

/**
 * mlx5_ib_umr_change - change the rights and the protection domain of a key in use
 * @dev: device with a UMR queue pair
 * @key: the key, which keeps its number
 * @access: enum ib_access_flags, of the same mlx5_ib_mkey_pool_family() as the current ones
 * @pdn: number of the domain
 *
 * May sleep.
 *
 * Return: 0; or a negative errno, after which the key may have its old or new rights and domain.
 */
int mlx5_ib_umr_change(struct mlx5_ib_dev *dev, u32 key, u32 access, u32 pdn)
{
	struct mlx5_ib_umr_wqe wqe = {};

	mlx5_ib_umr_fill_change(&wqe, key, access, pdn, &dev->caps);
	return mlx5_ib_umr_exec(dev, &wqe);
}

/**
 * mlx5_ib_umr_revoke - revoke a key: the key still exists, but accesses through it fail
 * @dev: device with a UMR queue pair
 * @key: the key, which is free if the function returns 0
 *
 * May be called while memory is being reclaimed. May sleep.
 *
 * Return: 0; or a negative errno, after which the key may be free or in use.
 */
int mlx5_ib_umr_revoke(struct mlx5_ib_dev *dev, u32 key)
{
	struct mlx5_ib_umr_request req;

	return mlx5_ib_umr_post_revoke(dev, key, &req) ?: mlx5_ib_umr_wait(dev, &req);
}

/**
 * mlx5_ib_umr_post_revoke - post the request that revokes a key, do not wait for its completion
 * @dev: device with a UMR queue pair
 * @key: the key
 * @req: tracks the request; after success the caller passes it to mlx5_ib_umr_wait(), whose result
 *	is that of mlx5_ib_umr_revoke()
 *
 * May sleep.
 *
 * Return: 0 or -EAGAIN, as mlx5_ib_umr_post().
 */
int mlx5_ib_umr_post_revoke(struct mlx5_ib_dev *dev, u32 key, struct mlx5_ib_umr_request *req)
{
	struct mlx5_ib_umr_wqe wqe = {};

	mlx5_ib_umr_fill_revoke(&wqe, key, mlx5_ib_umr_pdn(dev));
	return mlx5_ib_umr_post(dev, &wqe, req);
}

/**
 * mlx5_ib_init_umr_clear - set up what mlx5_ib_umr_clear() needs
 * @dev: device with a UMR queue pair, without umr_zeros
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_init_umr_clear(struct mlx5_ib_dev *dev)
{
	dev->umr_zeros = umr_buffer_alloc(dev, CLEAR_BYTES, GFP_KERNEL | __GFP_ZERO,
					  &dev->umr_zeros_dma);
	return dev->umr_zeros ? 0 : -ENOMEM;
}

/**
 * mlx5_ib_cleanup_umr_clear - undo mlx5_ib_init_umr_clear()
 * @dev: device; nothing is done unless mlx5_ib_init_umr_clear() has succeeded
 */
void mlx5_ib_cleanup_umr_clear(struct mlx5_ib_dev *dev)
{
	if (!dev->umr_zeros)
		return;
	umr_buffer_free(dev, dev->umr_zeros, dev->umr_zeros_dma, CLEAR_BYTES,
			mlx5_ib_umr_is_stuck(dev));
	dev->umr_zeros = NULL;
}
