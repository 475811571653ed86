// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work on memory keys without firmware commands: fill a free one, change one in
 * use, and free one, by requests to the driver's own queue pair.
 */

#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "bluebell.h"
#include "umr.h"
#include "umr_qp.h"

/*
 * Entries of a list that a request points at. A longer one would be hard to
 * allocate; while the device reads one, the next is written.
 */
#define LIST_MTTS	SZ_8K
#define SMALL_LIST_MTTS	(PAGE_SIZE / sizeof(__be64))
#define NUM_LISTS	2

/**
 * struct umr_list - a part of a key's translation entries, for the device to read
 * @mtt: the entries
 * @dma: their address
 * @posted: @req has been posted
 * @req: the request that points here
 */
struct umr_list {
	__be64 *mtt;
	dma_addr_t dma;
	bool posted;
	struct mlx5_ib_umr_request req;
};

/**
 * struct umr_fill - a key being filled
 * @dev: device
 * @attr: what it becomes
 * @caps: as for mlx5_ib_fill_mkc(); NULL to write entries and nothing else
 * @room: entries in each list
 * @lists: used in turn; without the second one, the first is used again
 */
struct umr_fill {
	struct mlx5_ib_dev *dev;
	const struct mlx5_ib_mkc_attr *attr;
	const struct mlx5_ib_mkey_caps *caps;
	u32 room;
	struct umr_list lists[NUM_LISTS];
};

static int make_list(struct umr_fill *fill, struct umr_list *list, gfp_t gfp)
{
	struct device *device = fill->dev->mdev->device;
	size_t bytes = fill->room * sizeof(__be64);

	list->mtt = kmalloc(bytes, gfp);
	if (!list->mtt)
		return -ENOMEM;
	list->dma = dma_map_single(device, list->mtt, bytes, DMA_TO_DEVICE);
	if (!dma_mapping_error(device, list->dma))
		return 0;
	kfree(list->mtt);
	list->mtt = NULL;
	return -ENOMEM;
}

/* Two lists, or one, or one of a page. */
static int make_lists(struct umr_fill *fill)
{
	u32 mtts = mlx5_ib_umr_list_mtts(fill->attr->nmtts);
	gfp_t gfp = GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY;

	fill->room = min(mtts, LIST_MTTS);
	if (make_list(fill, &fill->lists[0], gfp)) {
		fill->room = min(mtts, SMALL_LIST_MTTS);
		return make_list(fill, &fill->lists[0], GFP_KERNEL);
	}
	if (mtts > fill->room)
		make_list(fill, &fill->lists[1], gfp);
	return 0;
}

/* Wait until the device has read a list. */
static int wait_for_list(struct umr_fill *fill, struct umr_list *list)
{
	if (!list->posted)
		return 0;
	list->posted = false;
	return mlx5_ib_umr_wait(fill->dev, &list->req);
}

static int free_lists(struct umr_fill *fill)
{
	struct umr_list *list;
	int err = 0, ret;

	for (list = fill->lists; list < fill->lists + NUM_LISTS && list->mtt; list++) {
		ret = wait_for_list(fill, list);
		err = err ?: ret;
		dma_unmap_single(fill->dev->mdev->device, list->dma, fill->room * sizeof(__be64),
				 DMA_TO_DEVICE);
		kfree(list->mtt);
	}
	return err;
}

/* The next entries, and zeros to the end of the unit in which the device reads them. */
static u32 next_mtts(struct mlx5_ib_pas_iter *iter, __be64 *mtt, u32 max)
{
	u32 n = mlx5_ib_next_pas(iter, mtt, max), i;

	mlx5_ib_umr_mark_present(mtt, n);
	for (i = n; i < mlx5_ib_umr_list_mtts(n); i++)
		mtt[i] = 0;
	return n;
}

/* Have the device read @n entries from number @first on. The last of them bring the context. */
static int post_list(struct umr_fill *fill, struct umr_list *list, u32 key, u32 first, u32 n)
{
	struct mlx5_ib_umr_wqe wqe = {};
	int err;

	if (fill->caps && first + n == fill->attr->nmtts)
		mlx5_ib_umr_fill_reg(&wqe, key, fill->attr, fill->caps);
	else
		mlx5_ib_umr_fill_xlt(&wqe, key);
	mlx5_ib_umr_point_at_list(&wqe, mlx5_ib_umr_lkey(fill->dev), list->dma, first, n);
	dma_sync_single_for_device(fill->dev->mdev->device, list->dma,
				   fill->room * sizeof(__be64), DMA_TO_DEVICE);
	err = mlx5_ib_umr_post(fill->dev, &wqe, &list->req);
	list->posted = !err;
	return err;
}

static int fill_from_lists(struct mlx5_ib_dev *dev, u32 key, struct ib_umem *umem,
			   const struct mlx5_ib_mkc_attr *attr,
			   const struct mlx5_ib_mkey_caps *caps)
{
	struct umr_fill fill = { .dev = dev, .attr = attr, .caps = caps };
	struct umr_list *list = fill.lists;
	struct mlx5_ib_pas_iter iter;
	u32 first, n;
	int err, ret;

	err = make_lists(&fill);
	if (err)
		return err;
	mlx5_ib_start_pas(&iter, umem, attr->page_shift);
	for (first = 0; first < attr->nmtts && !err; first += n) {
		err = wait_for_list(&fill, list);
		if (err)
			break;
		n = next_mtts(&iter, list->mtt, fill.room);
		err = post_list(&fill, list, key, first, n);
		if (fill.lists[1].mtt)
			list = list == fill.lists ? fill.lists + 1 : fill.lists;
	}
	ret = free_lists(&fill);
	return err ?: ret;
}

static int fill_inline(struct mlx5_ib_dev *dev, u32 key, struct ib_umem *umem,
		       const struct mlx5_ib_mkc_attr *attr, const struct mlx5_ib_mkey_caps *caps)
{
	struct mlx5_ib_umr_wqe wqe = {};

	mlx5_ib_umr_fill_reg(&wqe, key, attr, caps);
	mlx5_ib_populate_pas(umem, 1UL << attr->page_shift, wqe.mtt);
	mlx5_ib_umr_mark_present(wqe.mtt, attr->nmtts);
	return mlx5_ib_umr_exec(dev, &wqe);
}

/**
 * mlx5_ib_umr_reg - make a free key one over pinned memory
 * @dev: device with a UMR queue pair
 * @umem: the memory
 * @attr: what the key shall be
 * @caps: as for mlx5_ib_fill_mkc()
 * @mkey: the free key, and then what it has become
 *
 * The key has room for @attr->nmtts entries. May sleep.
 *
 * Return: 0; or a negative errno, and then the key is to be destroyed, for what
 * it holds is not known.
 */
int mlx5_ib_umr_reg(struct mlx5_ib_dev *dev, struct ib_umem *umem,
		    const struct mlx5_ib_mkc_attr *attr, const struct mlx5_ib_mkey_caps *caps,
		    u32 *mkey)
{
	int err;

	if (attr->nmtts <= MLX5_IB_UMR_INLINE_MTTS)
		err = fill_inline(dev, *mkey, umem, attr, caps);
	else
		err = fill_from_lists(dev, *mkey, umem, attr, caps);
	if (!err)
		*mkey = (*mkey & ~0xffU) | attr->variant;
	return err;
}

/**
 * mlx5_ib_umr_map - write the translation entries of a key in use, and nothing else
 * @dev: device with a UMR queue pair
 * @umem: mapped memory, its iova set
 * @mkey: the key, which stays the same
 * @page_shift: log2 of the key's page size
 *
 * May sleep.
 *
 * Return: 0; or a negative errno, and then it is not known what the entries hold.
 */
int mlx5_ib_umr_map(struct mlx5_ib_dev *dev, struct ib_umem *umem, u32 mkey, u8 page_shift)
{
	const struct mlx5_ib_mkc_attr attr = {
		.page_shift = page_shift,
		.nmtts = ib_umem_num_dma_blocks(umem, BIT(page_shift)),
	};

	return fill_from_lists(dev, mkey, umem, &attr, NULL);
}

/**
 * mlx5_ib_umr_change - change the rights and the domain of a key in use
 * @dev: device with a UMR queue pair
 * @mkey: the key, which stays the same
 * @access: enum ib_access_flags; of the same family as those it has
 * @pdn: protection domain number
 * @caps: as for mlx5_ib_fill_mkc()
 *
 * May sleep.
 *
 * Return: 0; or a negative errno: then another key has to take its place.
 */
int mlx5_ib_umr_change(struct mlx5_ib_dev *dev, u32 mkey, u32 access, u32 pdn,
		       const struct mlx5_ib_mkey_caps *caps)
{
	struct mlx5_ib_umr_wqe wqe = {};

	mlx5_ib_umr_fill_change(&wqe, mkey, access, pdn, caps);
	return mlx5_ib_umr_exec(dev, &wqe);
}

/**
 * mlx5_ib_umr_revoke - free a key
 * @dev: device with a UMR queue pair
 * @mkey: the key
 *
 * When it returns 0 the device reaches nothing through the key. May sleep.
 *
 * Return: 0; or a negative errno: then it is to be destroyed.
 */
int mlx5_ib_umr_revoke(struct mlx5_ib_dev *dev, u32 mkey)
{
	struct mlx5_ib_umr_wqe wqe = {};

	mlx5_ib_umr_fill_revoke(&wqe, mkey, mlx5_ib_umr_pdn(dev));
	return mlx5_ib_umr_exec(dev, &wqe);
}
