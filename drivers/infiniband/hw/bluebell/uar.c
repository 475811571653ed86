// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A context's UARs: its static and dynamic pages, the queues on each bfreg, and
 * references to UAR objects.
 */

#include <linux/mlx5/driver.h>
#include <linux/slab.h>

#include "bluebell.h"
#include "fw.h"
#include "uar.h"

/**
 * mlx5_ib_free_uar - deallocate a UAR where the caller cannot report an error
 * @dev: device
 * @uid: user that the UAR was allocated for
 * @uarn: index of the UAR; of several UARs in a page the first
 *
 * Sends DEALLOC_UAR a second time if firmware refuses the first: a refusal that
 * lasts only a moment must not leak the UAR. May sleep.
 */
void mlx5_ib_free_uar(struct mlx5_ib_dev *dev, u16 uid, u32 uarn)
{
	int err = mlx5_fw_dealloc_uar(dev, uid, uarn);

	if (err)
		err = mlx5_fw_dealloc_uar(dev, uid, uarn);
	if (err)
		ibdev_warn_ratelimited(&dev->ib_dev,
				       "cannot free UAR %u (%d); it stays allocated until the device is reset\n",
				       uarn, err);
}

/**
 * mlx5_ib_calc_bfregs - size and allocate a context's tables of UARs and bfregs
 * @dev: device
 * @total: number of static bfregs that the library asks for
 * @low_latency: how many of them shall serve one queue each
 * @bfregi: with @lib_uar_4k set; gets its layout and tables
 *
 * Return: 0, -ENOMEM, or as mlx5_ib_calc_total_bfregs().
 */
int mlx5_ib_calc_bfregs(struct mlx5_ib_dev *dev, u32 total, u32 low_latency,
			struct mlx5_bfreg_info *bfregi)
{
	bool uar_4k = bfregi->lib_uar_4k && MLX5_CAP_GEN(dev->mdev, uar_4k);
	struct mlx5_bfreg_layout *layout = &bfregi->layout;
	int err;

	err = mlx5_ib_calc_total_bfregs(total, low_latency,
					mlx5_ib_uars_per_sys_page(PAGE_SHIFT, uar_4k), layout);
	if (err)
		return err;

	unsigned int *count __free(kfree) = kcalloc(layout->num_static_bfregs, sizeof(*count),
						    GFP_KERNEL);
	u32 *pages __free(kfree) = kcalloc(layout->num_sys_pages, sizeof(*pages), GFP_KERNEL);

	if (!count || !pages)
		return -ENOMEM;
	memset32(pages, MLX5_IB_INVALID_UAR_INDEX, layout->num_sys_pages);
	bfregi->count = no_free_ptr(count);
	bfregi->sys_pages = no_free_ptr(pages);
	return 0;
}

/**
 * mlx5_ib_deallocate_uars - free the UARs of a context's static and dynamic pages
 * @context: nothing of its pages is mapped, and no queue uses a bfreg of them
 *
 * Nothing happens in a context without pages. May sleep.
 */
void mlx5_ib_deallocate_uars(struct mlx5_ib_ucontext *context)
{
	struct mlx5_ib_dev *dev = to_mdev(context->ibucontext.device);
	struct mlx5_bfreg_info *bfregi = &context->bfregi;
	u32 i;

	if (!bfregi->sys_pages)
		return;
	for (i = 0; i < bfregi->layout.num_sys_pages; i++)
		if (bfregi->sys_pages[i] != MLX5_IB_INVALID_UAR_INDEX)
			mlx5_ib_free_uar(dev, context->uid, bfregi->sys_pages[i]);
	kfree(bfregi->sys_pages);
	kfree(bfregi->count);
	bfregi->sys_pages = NULL;
	bfregi->count = NULL;
}

/**
 * mlx5_ib_allocate_uars - allocate the UARs of a context's static pages
 * @context: with tables from mlx5_ib_calc_bfregs(), freed by
 *	mlx5_ib_deallocate_uars(), which is also due after an error
 *
 * May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_allocate_uars(struct mlx5_ib_ucontext *context)
{
	struct mlx5_ib_dev *dev = to_mdev(context->ibucontext.device);
	struct mlx5_bfreg_info *bfregi = &context->bfregi;
	u32 uarn, i;
	int err;

	for (i = 0; i < bfregi->layout.num_static_sys_pages; i++) {
		err = mlx5_fw_alloc_uar(dev, context->uid, &uarn);
		if (err)
			return err;
		bfregi->sys_pages[i] = uarn;
	}
	return 0;
}

/**
 * mlx5_ib_alloc_bfreg - choose a static bfreg for a new queue
 * @bfregi: the context's
 *
 * Return: number of the bfreg, or -ENOMEM in a context without static pages.
 */
int mlx5_ib_alloc_bfreg(struct mlx5_bfreg_info *bfregi)
{
	int bfregn;

	guard(mutex)(&bfregi->lock);
	bfregn = mlx5_ib_pick_bfreg(&bfregi->layout, bfregi->count);
	if (bfregn >= 0)
		bfregi->count[bfregn]++;
	return bfregn;
}

/**
 * mlx5_ib_free_bfreg - count off a destroyed queue from its static bfreg
 * @bfregi: the context's
 * @bfregn: what mlx5_ib_alloc_bfreg() returned
 */
void mlx5_ib_free_bfreg(struct mlx5_bfreg_info *bfregi, int bfregn)
{
	guard(mutex)(&bfregi->lock);
	if (!WARN_ON(!bfregi->count[bfregn]))
		bfregi->count[bfregn]--;
}

/**
 * bfregn_to_uar_index - find the UAR that a bfreg lies in
 * @bfregi: the context's
 * @bfregn: number of the bfreg, counted from the first static or dynamic one
 * @dyn_bfreg: @bfregn counts dynamic bfregs
 *
 * Return: as mlx5_ib_bfreg_to_uar_index().
 */
int bfregn_to_uar_index(struct mlx5_bfreg_info *bfregi, u32 bfregn, bool dyn_bfreg)
{
	guard(mutex)(&bfregi->lock);
	return mlx5_ib_bfreg_to_uar_index(&bfregi->layout, bfregi->sys_pages, bfregn, dyn_bfreg);
}

/**
 * mlx5_ib_get_uar - take a reference to a UAR object, found by its device index
 * @context: owner of the object
 * @page_id: device index of the UAR
 *
 * A queue holds a reference to the UAR that its doorbells are in, so that firmware
 * cannot give the UAR to another process while the queue exists.
 *
 * Return: the object, to be put with mlx5_ib_put_uar(), or NULL if the context has
 * no such UAR.
 */
struct mlx5_user_mmap_entry *mlx5_ib_get_uar(struct mlx5_ib_ucontext *context, u32 page_id)
{
	struct mlx5_user_mmap_entry *entry;

	xa_lock(&context->uars);
	entry = xa_load(&context->uars, page_id);
	if (entry && !kref_get_unless_zero(&entry->rdma_entry.ref))
		entry = NULL;
	xa_unlock(&context->uars);
	return entry;
}

/**
 * mlx5_ib_put_uar - put a reference to a UAR object
 * @entry: what mlx5_ib_get_uar() returned
 *
 * The last reference frees the UAR. May sleep.
 */
void mlx5_ib_put_uar(struct mlx5_user_mmap_entry *entry)
{
	rdma_user_mmap_entry_put(&entry->rdma_entry);
}
