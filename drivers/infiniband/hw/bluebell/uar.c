// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A context's UAR pages: the static ones it is made with, who rings which of
 * their bfregs, and the UAR objects that queues may hold.
 */

#include <linux/mlx5/driver.h>
#include <linux/slab.h>

#include "bluebell.h"
#include "fw.h"
#include "uar.h"

/**
 * mlx5_ib_free_uar - deallocate a UAR where the caller cannot report an error
 * @dev: device
 * @uarn: first UAR of the page
 *
 * Sends DEALLOC_UAR a second time if firmware refuses the first: a refusal that
 * lasts only a moment must not leak the UAR. May sleep.
 */
void mlx5_ib_free_uar(struct mlx5_ib_dev *dev, u32 uarn)
{
	int err = mlx5_fw_dealloc_uar(dev, MLX5_IB_KERNEL_UID, uarn);

	if (err)
		err = mlx5_fw_dealloc_uar(dev, MLX5_IB_KERNEL_UID, uarn);
	if (err)
		ibdev_warn_ratelimited(&dev->ib_dev,
				       "cannot free UAR %u (%d); it stays allocated until the device is reset\n",
				       uarn, err);
}

/**
 * mlx5_ib_calc_bfregs - size a context's tables for what its library asks
 * @dev: device
 * @total: static bfregs asked for
 * @low_latency: how many of them are to serve one queue each
 * @bfregi: with @lib_uar_4k set; its tables are allocated
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
 * mlx5_ib_allocate_uars - allocate the UARs of a context's static pages
 * @dev: device
 * @bfregi: sized by mlx5_ib_calc_bfregs()
 *
 * All or none. May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_allocate_uars(struct mlx5_ib_dev *dev, struct mlx5_bfreg_info *bfregi)
{
	u32 i;
	int err;

	for (i = 0; i < bfregi->layout.num_static_sys_pages; i++) {
		err = mlx5_fw_alloc_uar(dev, MLX5_IB_KERNEL_UID, &bfregi->sys_pages[i]);
		if (err) {
			bfregi->sys_pages[i] = MLX5_IB_INVALID_UAR_INDEX;
			mlx5_ib_deallocate_uars(dev, bfregi);
			return err;
		}
	}
	return 0;
}

/**
 * mlx5_ib_deallocate_uars - give back every UAR of a context's pages
 * @dev: device
 * @bfregi: nothing is mapped from it and no queue rings in it any more
 *
 * May sleep.
 */
void mlx5_ib_deallocate_uars(struct mlx5_ib_dev *dev, struct mlx5_bfreg_info *bfregi)
{
	u32 i;

	for (i = 0; i < bfregi->layout.num_sys_pages; i++) {
		if (bfregi->sys_pages[i] == MLX5_IB_INVALID_UAR_INDEX)
			continue;
		mlx5_ib_free_uar(dev, bfregi->sys_pages[i]);
		bfregi->sys_pages[i] = MLX5_IB_INVALID_UAR_INDEX;
	}
}

/**
 * mlx5_ib_alloc_bfreg - give a new queue a static bfreg
 * @dev: device
 * @bfregi: the context's
 *
 * Return: number of the bfreg, or -ENOMEM in a context without static pages.
 */
int mlx5_ib_alloc_bfreg(struct mlx5_ib_dev *dev, struct mlx5_bfreg_info *bfregi)
{
	int bfregn;

	guard(mutex)(&bfregi->lock);
	bfregn = mlx5_ib_pick_bfreg(&bfregi->layout, bfregi->count);
	if (bfregn >= 0)
		bfregi->count[bfregn]++;
	return bfregn;
}

/**
 * mlx5_ib_free_bfreg - take a static bfreg back from a queue that is gone
 * @dev: device
 * @bfregi: the context's
 * @bfregn: what mlx5_ib_alloc_bfreg() gave
 */
void mlx5_ib_free_bfreg(struct mlx5_ib_dev *dev, struct mlx5_bfreg_info *bfregi, int bfregn)
{
	guard(mutex)(&bfregi->lock);
	if (!WARN_ON(!bfregi->count[bfregn]))
		bfregi->count[bfregn]--;
}

/**
 * bfregn_to_uar_index - which UAR a bfreg lies in
 * @dev: device
 * @bfregi: the context's
 * @bfregn: number of the bfreg, counted from the first static or dynamic one
 * @dyn_bfreg: it is a dynamic one
 *
 * Return: as mlx5_ib_bfreg_to_uar_index().
 */
int bfregn_to_uar_index(struct mlx5_ib_dev *dev, struct mlx5_bfreg_info *bfregi, u32 bfregn,
			bool dyn_bfreg)
{
	guard(mutex)(&bfregi->lock);
	return mlx5_ib_bfreg_to_uar_index(&bfregi->layout, bfregi->sys_pages, bfregn, dyn_bfreg);
}

/**
 * mlx5_ib_adjust_bfregn - a static bfreg's place in the library's table
 * @dev: device
 * @bfregi: the context's
 * @bfregn: number of the bfreg
 *
 * Return: as mlx5_ib_bfregn_to_user_index().
 */
u32 mlx5_ib_adjust_bfregn(struct mlx5_ib_dev *dev, struct mlx5_bfreg_info *bfregi, u32 bfregn)
{
	return mlx5_ib_bfregn_to_user_index(bfregn);
}

/**
 * mlx5_ib_get_uar - hold a UAR object by the number the device knows it by
 * @context: whose it has to be
 * @page_id: the device's index of the UAR
 *
 * A queue holds the UAR it is rung on, so that the UAR can't come back as that
 * of another process while the queue lives.
 *
 * Return: the object, to be given to mlx5_ib_put_uar(), or NULL if the context
 * has no such UAR.
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
 * mlx5_ib_put_uar - let go of a UAR object
 * @entry: what mlx5_ib_get_uar() gave
 *
 * The last to let go gives the UAR back to the firmware. May sleep.
 */
void mlx5_ib_put_uar(struct mlx5_user_mmap_entry *entry)
{
	rdma_user_mmap_entry_put(&entry->rdma_entry);
}
