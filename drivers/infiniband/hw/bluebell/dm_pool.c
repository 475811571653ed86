// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory of users (MEMIC): allocations in the device's window of BAR 0.
 * What a user has freed waits a moment for one who wants as much, before firmware
 * has it back.
 */

#include <linux/bitmap.h>
#include <linux/io.h>
#include <linux/mlx5/driver.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "bluebell.h"
#include "dm_pool.h"
#include "fw.h"

/* Not for long: other functions of the device may want it. */
#define RETURN_DELAY	(HZ / 10)
#define RETRY_DELAY	HZ

/* ---- back to firmware ----------------------------------------------------------- */

/**
 * mlx5_ib_drop_memic_op - give back the address of an operation
 * @mem: allocation
 * @op: number of the operation
 *
 * What firmware refuses to take is tried again before the memory goes. May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_drop_memic_op(struct mlx5_ib_memic *mem, u8 op)
{
	int err = mlx5_fw_dealloc_memic_op(mem->dev, MLX5_IB_KERNEL_UID, mem->addr, op);

	/* With the device its operations are gone. */
	if (err && err != -ENOLINK) {
		set_bit(op, &mem->stale_ops);
		return err;
	}
	clear_bit(op, &mem->stale_ops);
	return 0;
}

static int return_memic(struct mlx5_ib_memic *mem)
{
	unsigned long op;
	int err;

	for_each_set_bit(op, &mem->stale_ops, MLX5_IB_DM_MAX_OPS) {
		err = mlx5_ib_drop_memic_op(mem, op);
		if (err)
			return err;
	}
	err = mlx5_fw_dealloc_memic(mem->dev, MLX5_IB_KERNEL_UID, mem->addr, mem->size);
	if (err)
		return err;
	list_del(&mem->spare);
	kfree(mem);
	return 0;
}

static void return_all(struct mlx5_ib_dm_pool *pool)
{
	struct mlx5_ib_memic *mem, *next;

	list_for_each_entry_safe(mem, next, &pool->spare, spare)
		return_memic(mem);
}

/**
 * mlx5_ib_return_spare_memic - give back what nobody wants
 * @dev: device
 *
 * What firmware refuses to take stays, can be had by users, and is tried again.
 * DEALLOC_MEMIC (struct mlx5_ifc_dealloc_memic_in_bits). May sleep.
 */
void mlx5_ib_return_spare_memic(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_dm_pool *pool = &dev->dm;

	guard(mutex)(&pool->lock);
	return_all(pool);
	if (!list_empty(&pool->spare))
		queue_delayed_work(system_dfl_wq, &pool->return_spare, RETRY_DELAY);
}

static void return_spare(struct work_struct *work)
{
	struct mlx5_ib_dm_pool *pool = container_of(to_delayed_work(work),
						    struct mlx5_ib_dm_pool, return_spare);

	mlx5_ib_return_spare_memic(container_of(pool, struct mlx5_ib_dev, dm));
}

static void add_spare(struct kref *refs)
{
	struct mlx5_ib_memic *mem = container_of(refs, struct mlx5_ib_memic, refs);
	struct mlx5_ib_dm_pool *pool = &mem->dev->dm;

	guard(mutex)(&pool->lock);
	bitmap_clear(pool->used, mem->page, mem->num_pages);
	list_add_tail(&mem->spare, &pool->spare);
	queue_delayed_work(system_dfl_wq, &pool->return_spare, RETURN_DELAY);
}

/**
 * mlx5_ib_put_memic - drop a reference to an allocation
 * @mem: allocation, which with the last reference is anybody's
 *
 * May sleep.
 */
void mlx5_ib_put_memic(struct mlx5_ib_memic *mem)
{
	kref_put(&mem->refs, add_spare);
}

/* ---- to users ------------------------------------------------------------------- */

static struct mlx5_ib_memic *take_spare(struct mlx5_ib_dm_pool *pool, unsigned long page, u32 size,
					u32 log_align)
{
	struct mlx5_ib_memic *mem;

	list_for_each_entry(mem, &pool->spare, spare) {
		if (mem->page != page || mem->size != size || mem->stale_ops ||
		    mem->addr & (BIT_ULL(log_align) - 1))
			continue;
		list_del(&mem->spare);
		return mem;
	}
	return NULL;
}

static int make_way(struct mlx5_ib_dm_pool *pool, unsigned long page, unsigned long num_pages)
{
	struct mlx5_ib_memic *mem, *next;

	list_for_each_entry_safe(mem, next, &pool->spare, spare)
		if (mem->page < page + num_pages && page < mem->page + mem->num_pages &&
		    return_memic(mem))
			return -EAGAIN;
	return 0;
}

/* What somebody freed there, if it will do; else firmware is asked. */
static struct mlx5_ib_memic *alloc_at(struct mlx5_ib_dev *dev, unsigned long page, u32 size,
				      u32 log_align)
{
	struct mlx5_ib_memic *spare = take_spare(&dev->dm, page, size, log_align);
	int err;

	if (spare)
		return spare;

	struct mlx5_ib_memic *mem __free(kfree) = kzalloc_obj(*mem);

	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->dev = dev;
	mem->size = size;
	mem->page = page;
	mem->num_pages = DIV_ROUND_UP(size, PAGE_SIZE);
	err = make_way(&dev->dm, page, mem->num_pages);
	if (!err)
		err = mlx5_fw_alloc_memic(dev, MLX5_IB_KERNEL_UID,
					  dev->dm.caps.start + page * PAGE_SIZE,
					  mem->num_pages * PAGE_SIZE, size,
					  mlx5_ib_dm_fw_align(log_align), &mem->addr);
	return err ? ERR_PTR(err) : no_free_ptr(mem);
}

/*
 * Whole pages are asked for one after the other, each range until firmware finds
 * room in it: parts of the window may be in use without our knowing.
 */
static struct mlx5_ib_memic *place_memic(struct mlx5_ib_dev *dev, u32 length, u32 log_align)
{
	struct mlx5_ib_dm_pool *pool = &dev->dm;
	u32 size = mlx5_ib_dm_alloc_size(length, &pool->caps);
	struct mlx5_ib_memic *mem;
	unsigned long page = 0;

	for (;; page++) {
		page = mlx5_ib_dm_find_pages(pool->used, &pool->caps, PAGE_SHIFT, page, size,
					     log_align);
		if (page >= pool->caps.size >> PAGE_SHIFT)
			return ERR_PTR(-ENOMEM);
		mem = alloc_at(dev, page, size, log_align);
		if (PTR_ERR(mem) != -EAGAIN)
			break;
	}
	if (!IS_ERR(mem))
		bitmap_set(pool->used, page, mem->num_pages);
	return mem;
}

/* Firmware counts allocations too, and the spare ones among them. */
static struct mlx5_ib_memic *place_memic_or_return(struct mlx5_ib_dev *dev, u32 length,
						   u32 log_align)
{
	struct mlx5_ib_dm_pool *pool = &dev->dm;
	struct mlx5_ib_memic *mem;

	guard(mutex)(&pool->lock);
	mem = place_memic(dev, length, log_align);
	if (mem != ERR_PTR(-ENOMEM) || list_empty(&pool->spare))
		return mem;
	return_all(pool);
	return place_memic(dev, length, log_align);
}

/**
 * mlx5_ib_alloc_memic - allocate device memory
 * @dev: device that has some
 * @length: bytes
 * @log_align: log2 of the alignment of its address
 *
 * It is zero, and so is all else that its pages show. ALLOC_MEMIC (struct
 * mlx5_ifc_alloc_memic_in_bits), unless there is a spare one. May sleep.
 *
 * Return: the allocation, with one reference, or an ERR_PTR: -ENOMEM if there are
 * not enough free pages that lie together; or the errno of a firmware refusal.
 */
struct mlx5_ib_memic *mlx5_ib_alloc_memic(struct mlx5_ib_dev *dev, u32 length, u32 log_align)
{
	struct mlx5_ib_memic *mem;
	unsigned long page;

	mem = place_memic_or_return(dev, length, log_align);
	if (IS_ERR(mem))
		return mem;
	kref_init(&mem->refs);
	/* All that a mapping shows, in words: memset_io() may go byte by byte. */
	for (page = mem->page; page < mem->page + mem->num_pages; page++)
		__iowrite64_copy(dev->dm.map + page * PAGE_SIZE, page_address(ZERO_PAGE(0)),
				 PAGE_SIZE / sizeof(u64));
	/* Zeros that still wait to be combined must not come after what the user writes. */
	wmb();
	return mem;
}

/* ---- setting up ------------------------------------------------------------------ */

/**
 * mlx5_ib_init_dm_pool - set up a pool with nothing in it
 * @pool: zeroed
 */
void mlx5_ib_init_dm_pool(struct mlx5_ib_dm_pool *pool)
{
	mutex_init(&pool->lock);
	INIT_LIST_HEAD(&pool->spare);
	INIT_DELAYED_WORK(&pool->return_spare, return_spare);
}

/**
 * mlx5_ib_init_dm - find out what memory the device has for users
 * @dev: device
 *
 * Return: 0 or -ENOMEM; a device that has none is fine.
 */
int mlx5_ib_init_dm(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_dm_pool *pool = &dev->dm;

	mlx5_ib_init_dm_pool(pool);
	if (!MLX5_CAP_GEN(dev->mdev, device_memory))
		return 0;
	mlx5_ib_read_dm_caps(dev->mdev->caps.hca[MLX5_CAP_DEV_MEM]->cur, PAGE_SHIFT, &pool->caps);
	if (!pool->caps.size)
		return 0;
	pool->used = bitmap_zalloc(pool->caps.size >> PAGE_SHIFT, GFP_KERNEL);
	pool->map = ioremap_wc(dev->mdev->bar_addr + pool->caps.start, pool->caps.size);
	if (pool->used && pool->map)
		return 0;
	mlx5_ib_cleanup_dm(dev);
	pool->caps = (struct mlx5_ib_dm_caps){};
	return -ENOMEM;
}

/**
 * mlx5_ib_drop_spare_memic - give back what nobody wants, for good
 * @dev: device, none of whose contexts is left
 *
 * What firmware refuses even now is lost, and the log says so. May sleep.
 */
void mlx5_ib_drop_spare_memic(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_memic *mem, *next;

	disable_delayed_work_sync(&dev->dm.return_spare);
	mlx5_ib_return_spare_memic(dev);
	list_for_each_entry_safe(mem, next, &dev->dm.spare, spare) {
		ibdev_warn(&dev->ib_dev, "%u bytes of device memory are lost\n", mem->size);
		list_del(&mem->spare);
		kfree(mem);
	}
}

/**
 * mlx5_ib_cleanup_dm - let go of the device's memory
 * @dev: device, none of whose contexts is left
 */
void mlx5_ib_cleanup_dm(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_dm_pool *pool = &dev->dm;

	if (pool->map) {
		mlx5_ib_drop_spare_memic(dev);
		iounmap(pool->map);
	}
	bitmap_free(pool->used);
	pool->map = NULL;
	pool->used = NULL;
}
