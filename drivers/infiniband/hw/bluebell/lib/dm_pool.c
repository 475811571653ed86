// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory of users (MEMIC): allocations in the device's window of BAR 0. A freed allocation
 * becomes spare: the driver keeps it for a moment, for a user who asks for the same size, before it
 * deallocates the memory. An allocation may pass from one user to another, so the commands carry no
 * user id.
 */

#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include <linux/bitmap.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_dm.h"
#include "layout/refuse.h"
#include "lib/dm_pool.h"

/*
 * How long an allocation is spare, at most, before the driver tries to deallocate it. Short,
 * because other PCI functions may need the memory. After a refusal of firmware the driver waits for
 * RETRY_DELAY instead.
 */
#define RETURN_DELAY	(HZ / 10)
#define RETRY_DELAY	HZ

/* ---- addresses of operations ---------------------------------------------------- */

/**
 * mlx5_ib_drop_memic_op - deallocate the address of an operation on device memory
 * @mem: allocation
 * @op: number of the operation
 *
 * If firmware refuses, the command is sent again before @mem is deallocated. If an earlier command
 * for the operation was not answered, the address may not exist. Firmware then answers
 * BAD_RES_STATE, which mlx5_core reports as -EINVAL, and the function returns 0. May sleep.
 *
 * Return: 0 or the errno of the failed MODIFY_MEMIC.
 */
int mlx5_ib_drop_memic_op(struct mlx5_ib_memic *mem, u8 op)
{
	int err = mlx5_ib_fw_modify_memic(mem->dev, MLX5_MODIFY_MEMIC_OP_MOD_DEALLOC, mem->addr,
					  op, NULL);

	/* A lost device has lost its operations, too. */
	if (err == -ENOLINK || (err == -EINVAL && test_bit(op, &mem->unanswered_ops)))
		err = 0;
	assign_bit(op, &mem->stale_ops, err);
	if (err == -ETIMEDOUT)
		set_bit(op, &mem->unanswered_ops);
	return err;
}

/**
 * mlx5_ib_alloc_memic_op - allocate the address of an operation on device memory
 * @mem: allocation
 * @op: number of the operation, of which no address is in use
 * @addr: as for mlx5_ib_fw_modify_memic()
 *
 * If firmware does not answer, the address may exist, and is deallocated before the operation gets
 * another address, and before @mem is deallocated. May sleep.
 *
 * Return: 0 or the errno of the failed MODIFY_MEMIC.
 */
int mlx5_ib_alloc_memic_op(struct mlx5_ib_memic *mem, u8 op, u64 *addr)
{
	int err = test_bit(op, &mem->stale_ops) ? mlx5_ib_drop_memic_op(mem, op) : 0;

	if (err)
		return err;
	err = mlx5_ib_fw_modify_memic(mem->dev, MLX5_MODIFY_MEMIC_OP_MOD_ALLOC, mem->addr, op,
				      addr);
	if (err == -ETIMEDOUT)
		set_bit(op, &mem->unanswered_ops);
	/* After a command that was not answered, a refusal may mean that the address exists. */
	if (err && test_bit(op, &mem->unanswered_ops))
		set_bit(op, &mem->stale_ops);
	return err;
}

/**
 * mlx5_ib_claim_op_pages - reserve the pages with the addresses of an operation
 * @mem: allocation
 * @addr: address of the operation on the first byte of @mem
 *
 * Firmware chooses the addresses, and the interface does not promise that operations on different
 * allocations are in different pages. A process that maps a page could then change the memory of
 * another process. The driver knows only the operations of its own PCI function. May sleep; the
 * caller holds op_lock of the pool.
 *
 * Return: 0; -EOPNOTSUPP if another operation has addresses in one of the pages; -ENOMEM.
 */
int mlx5_ib_claim_op_pages(struct mlx5_ib_memic *mem, u64 addr)
{
	unsigned long first = addr >> PAGE_SHIFT, page;
	int err = 0;

	lockdep_assert_held(&mem->dev->dm->op_lock);
	for (page = first; page <= (addr + mem->size - 1) >> PAGE_SHIFT; page++) {
		err = xa_insert(&mem->dev->dm->op_pages, page, mem, GFP_KERNEL);
		if (err)
			break;
	}
	if (!err)
		return 0;
	while (page-- > first)
		xa_erase(&mem->dev->dm->op_pages, page);
	return err != -EBUSY ? err :
	       refuse(mem->dev->mdev, -EOPNOTSUPP,
		      "operation on device memory: firmware gives operations addresses in the same page");
}

/**
 * mlx5_ib_release_op_pages - end what mlx5_ib_claim_op_pages() has done
 * @mem: allocation
 * @addr: address of the operation on the first byte of @mem
 *
 * The caller holds op_lock of the pool.
 */
void mlx5_ib_release_op_pages(struct mlx5_ib_memic *mem, u64 addr)
{
	unsigned long page;

	lockdep_assert_held(&mem->dev->dm->op_lock);
	for (page = addr >> PAGE_SHIFT; page <= (addr + mem->size - 1) >> PAGE_SHIFT; page++)
		WARN_ON_ONCE(xa_erase(&mem->dev->dm->op_pages, page) != mem);
}

/* ---- deallocation --------------------------------------------------------------- */

static int dm_pool_dealloc(struct mlx5_ib_memic *mem)
{
	unsigned long op;
	int err;

	for_each_set_bit(op, &mem->stale_ops, MLX5_IB_DM_MAX_OPS) {
		err = mlx5_ib_drop_memic_op(mem, op);
		if (err)
			return err;
	}
	err = mlx5_ib_fw_dealloc_memic(mem->dev, mem->addr, mem->size, &mem->attempt);
	/*
	 * A refusal may mean that an operation still has an address: an unanswered command that
	 * allocates the address may have been executed after the command that was to free the
	 * address. So the next attempt frees the address again. If DEALLOC_MEMIC was not
	 * answered, the memory may be gone, so no other command may name it; if DEALLOC_MEMIC was
	 * not sent, firmware has refused nothing.
	 */
	if (err && err != -ETIMEDOUT && err != -ECANCELED)
		mem->stale_ops |= mem->unanswered_ops;
	if (err)
		return err;
	list_del(&mem->spare);
	kfree(mem);
	return 0;
}

/*
 * Deallocate the spare allocations that occupy pages of a range. Returns 0 if all of them are
 * deallocated; -ETIMEDOUT if firmware has left a command without an answer; else the errno of the
 * last command that failed.
 */
static int dm_pool_clear_range(struct mlx5_ib_dm_pool *pool, unsigned long page,
			       unsigned long num_pages)
{
	struct mlx5_ib_memic *mem, *next;
	int err = 0, ret;

	lockdep_assert_held(&pool->lock);
	list_for_each_entry_safe(mem, next, &pool->spare, spare) {
		if (mem->page >= page + num_pages || page >= mem->page + mem->num_pages)
			continue;
		ret = dm_pool_dealloc(mem);
		if (!ret)
			continue;
		mem->err = ret;
		if (err != -ETIMEDOUT)
			err = ret;
	}
	return err;
}

/**
 * mlx5_ib_return_spare_memic - deallocate the spare allocations
 * @pool: the pool of device memory
 *
 * Sends DEALLOC_MEMIC (struct mlx5_ifc_dealloc_memic_in_bits). An allocation that firmware refuses
 * to deallocate stays spare, and the pool tries again later. May sleep.
 */
VISIBLE_IF_KUNIT void mlx5_ib_return_spare_memic(struct mlx5_ib_dm_pool *pool)
{
	guard(mutex)(&pool->lock);
	if (dm_pool_clear_range(pool, 0, ULONG_MAX))
		queue_delayed_work(system_dfl_wq, &pool->return_spare, RETRY_DELAY);
}

static void dm_pool_dealloc_work(struct work_struct *work)
{
	mlx5_ib_return_spare_memic(container_of(to_delayed_work(work), struct mlx5_ib_dm_pool,
						return_spare));
}

static void dm_pool_add_spare(struct kref *refs)
{
	struct mlx5_ib_memic *mem = container_of(refs, struct mlx5_ib_memic, refs);
	struct mlx5_ib_dm_pool *pool = mem->dev->dm;

	mlx5_ib_share_give(&mem->share);
	guard(mutex)(&pool->lock);
	bitmap_clear(pool->used, mem->page, mem->num_pages);
	list_add_tail(&mem->spare, &pool->spare);
	queue_delayed_work(system_dfl_wq, &pool->return_spare, RETURN_DELAY);
}

/**
 * mlx5_ib_put_memic - put a reference to an allocation
 * @mem: allocation, which becomes spare when the last reference is put
 *
 * May sleep.
 */
void mlx5_ib_put_memic(struct mlx5_ib_memic *mem)
{
	kref_put(&mem->refs, dm_pool_add_spare);
}

/* ---- allocation ----------------------------------------------------------------- */

/*
 * Whether a spare allocation can be given to the next user as it is. While an operation has an
 * address, or may still get an address by a command that was not answered, firmware may refuse to
 * give the operation another address. Memory for which DEALLOC_MEMIC was not answered may belong to
 * another PCI function by now.
 */
static bool dm_pool_is_clean(const struct mlx5_ib_memic *mem)
{
	return !mem->stale_ops && !mem->unanswered_ops && !mlx5_ib_fw_may_be_gone(&mem->attempt);
}

static struct mlx5_ib_memic *dm_pool_take_spare(struct mlx5_ib_dm_pool *pool, unsigned long page,
						u32 size, u32 log_align)
{
	struct mlx5_ib_memic *mem;

	lockdep_assert_held(&pool->lock);
	list_for_each_entry(mem, &pool->spare, spare) {
		if (mem->page != page || mem->size != size || !dm_pool_is_clean(mem) ||
		    mem->addr & (BIT_ULL(log_align) - 1))
			continue;
		list_del(&mem->spare);
		return mem;
	}
	return NULL;
}

/* Use a spare allocation at the page if one fits, otherwise allocate @fresh there. */
static struct mlx5_ib_memic *dm_pool_alloc_at(struct mlx5_ib_dm_pool *pool,
					      struct mlx5_ib_memic *fresh, unsigned long page,
					      u32 size, u32 log_align)
{
	struct mlx5_ib_memic *spare = dm_pool_take_spare(pool, page, size, log_align);
	u64 start = MLX5_CAP64_DEV_MEM(pool->dev->mdev, memic_bar_start_addr) + page * PAGE_SIZE;
	int err;

	if (spare)
		return spare;
	fresh->dev = pool->dev;
	fresh->size = size;
	fresh->page = page;
	fresh->num_pages = DIV_ROUND_UP(size, PAGE_SIZE);
	/* If firmware keeps a spare allocation that occupies some of the pages, try other pages. */
	if (dm_pool_clear_range(pool, page, fresh->num_pages))
		return ERR_PTR(-EAGAIN);
	err = mlx5_ib_fw_alloc_memic(pool->dev, start, fresh->num_pages * PAGE_SIZE, size,
				     log_align, &fresh->addr);
	return err ? ERR_PTR(err) : fresh;
}

/*
 * Try the free ranges of whole pages one after the other, until firmware finds room in one of them:
 * other PCI functions may use parts of the window, and the driver does not know which parts.
 */
static struct mlx5_ib_memic *dm_pool_find_and_alloc(struct mlx5_ib_dm_pool *pool,
						    struct mlx5_ib_memic *fresh, u32 size,
						    u32 log_align)
{
	const struct mlx5_ib_caps *caps = &pool->dev->caps;
	struct mlx5_ib_memic *mem;
	unsigned long page = 0;

	lockdep_assert_held(&pool->lock);
	for (;; page++) {
		page = mlx5_ib_dm_find_pages(pool->used, caps, PAGE_SHIFT, page, size, log_align);
		if (page >= MLX5_CAP_DEV_MEM(caps->mdev, memic_bar_size) >> PAGE_SHIFT)
			return ERR_PTR(-ENOMEM);
		mem = dm_pool_alloc_at(pool, fresh, page, size, log_align);
		if (PTR_ERR(mem) != -EAGAIN)
			break;
	}
	if (!IS_ERR(mem))
		bitmap_set(pool->used, page, mem->num_pages);
	return mem;
}

/*
 * Allocate device memory. If firmware finds no room, deallocate all spare allocations, which take
 * room, too, and try again.
 */
static struct mlx5_ib_memic *dm_pool_alloc(struct mlx5_ib_dm_pool *pool, u32 size, u32 log_align)
{
	/* Allocate before taking the lock: a process whose cgroup is full waits for memory. */
	struct mlx5_ib_memic *mem, *fresh __free(kfree) = kzalloc_obj(*fresh, GFP_KERNEL_ACCOUNT);

	if (!fresh)
		return ERR_PTR(-ENOMEM);
	guard(mutex)(&pool->lock);
	mem = dm_pool_find_and_alloc(pool, fresh, size, log_align);
	if (mem == ERR_PTR(-ENOMEM) && !list_empty(&pool->spare)) {
		dm_pool_clear_range(pool, 0, ULONG_MAX);
		mem = dm_pool_find_and_alloc(pool, fresh, size, log_align);
	}
	if (mem == fresh)
		retain_and_null_ptr(fresh);
	return mem;
}

/**
 * mlx5_ib_alloc_memic - allocate device memory
 * @pool: the pool of device memory
 * @size: bytes, as mlx5_ib_dm_alloc_size() returns them
 * @log_align: log2 of the alignment of the allocation's address
 *
 * All bytes of the allocation's pages are zeroed, also those beyond @size. Takes a spare allocation
 * if one fits; otherwise sends ALLOC_MEMIC (struct mlx5_ifc_alloc_memic_in_bits). May sleep.
 *
 * Return: the allocation, with one reference, or an ERR_PTR: -ENOMEM if there are not enough
 * contiguous free pages, or if the host has no memory; or the errno of a firmware refusal.
 */
struct mlx5_ib_memic *mlx5_ib_alloc_memic(struct mlx5_ib_dm_pool *pool, u32 size, u32 log_align)
{
	struct mlx5_ib_memic *mem = dm_pool_alloc(pool, size, log_align);
	unsigned long page;

	if (IS_ERR(mem))
		return mem;
	kref_init(&mem->refs);
	/* Clear whole pages, as they are mapped, by 64-bit words: memset_io() may write bytes. */
	for (page = mem->page; page < mem->page + mem->num_pages; page++)
		__iowrite64_copy(pool->map + page * PAGE_SIZE, page_address(ZERO_PAGE(0)),
				 PAGE_SIZE / sizeof(u64));
	/*
	 * The zeros must leave the write-combining buffer before the user can write to the memory.
	 */
	wmb();
	return mem;
}

/* ---- setting up ------------------------------------------------------------------ */

VISIBLE_IF_KUNIT void mlx5_ib_memic_log(const struct mlx5_ib_memic *mem)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_memic_log, mem);

	ibdev_warn(&mem->dev->ib_dev,
		   "cannot free %u bytes of device memory at 0x%llx (%d): they may stay allocated until the device is reset\n",
		   mem->size, mem->addr, mem->err);
}

/**
 * mlx5_ib_drop_spare_memic - deallocate the spare allocations for good
 * @pool: the pool of device memory; no context is left
 *
 * Refused commands are repeated for a third of a second, unless firmware leaves a command without
 * an answer. Allocations that firmware still refuses to deallocate are logged and forgotten. May
 * sleep.
 */
VISIBLE_IF_KUNIT void mlx5_ib_drop_spare_memic(struct mlx5_ib_dm_pool *pool)
{
	struct mlx5_ib_memic *mem, *next;
	unsigned int pause = 0;
	int err;

	disable_delayed_work_sync(&pool->return_spare);
	guard(mutex)(&pool->lock);
	do {
		err = dm_pool_clear_range(pool, 0, ULONG_MAX);
	} while (mlx5_ib_fw_try_again(err, &pause));
	list_for_each_entry_safe(mem, next, &pool->spare, spare) {
		mlx5_ib_memic_log(mem);
		list_del(&mem->spare);
		kfree(mem);
	}
}

static void dm_pool_free(struct mlx5_ib_dm_pool *pool)
{
	if (!pool)
		return;
	mlx5_ib_drop_spare_memic(pool);
	if (pool->map)
		iounmap(pool->map);
	bitmap_free(pool->used);
	WARN_ON_ONCE(!xa_empty(&pool->op_pages));
	xa_destroy(&pool->op_pages);
	mutex_destroy(&pool->op_lock);
	mutex_destroy(&pool->lock);
	kfree(pool);
}

DEFINE_FREE(dm_pool, struct mlx5_ib_dm_pool *, dm_pool_free(_T))

static int dm_pool_init(struct mlx5_ib_dev *dev)
{
	struct mlx5_core_dev *mdev = dev->mdev;
	u64 start = MLX5_CAP64_DEV_MEM(mdev, memic_bar_start_addr);
	u32 size = MLX5_CAP_DEV_MEM(mdev, memic_bar_size);

	lockdep_assert_held(&dev->first_use);
	struct mlx5_ib_dm_pool *pool __free(dm_pool) = kzalloc_obj(*pool);

	if (!pool)
		return -ENOMEM;
	pool->dev = dev;
	mutex_init(&pool->lock);
	INIT_LIST_HEAD(&pool->spare);
	mutex_init(&pool->op_lock);
	xa_init(&pool->op_pages);
	INIT_DELAYED_WORK(&pool->return_spare, dm_pool_dealloc_work);
	pool->used = bitmap_zalloc(size >> PAGE_SHIFT, GFP_KERNEL);
	pool->map = ioremap_wc(mdev->bar_addr + start, size);
	if (!pool->used || !pool->map)
		return -ENOMEM;
	/* Pairs with mlx5_ib_use_dm(). */
	smp_store_release(&dev->dm, no_free_ptr(pool));
	return 0;
}

/**
 * mlx5_ib_use_dm - set up the pool of device memory, unless the pool exists
 * @dev: device; it has memory for users
 *
 * To be called before device memory is allocated. The pool maps the whole window of device memory,
 * and stays until the device is removed. May sleep; takes the mutex first_use.
 *
 * Return: 0; -ENOMEM, and then the next caller tries again; or -EINTR if the task is being killed.
 */
int mlx5_ib_use_dm(struct mlx5_ib_dev *dev)
{
	int err;

	/* Pairs with dm_pool_init(). */
	if (smp_load_acquire(&dev->dm))
		return 0;
	ACQUIRE(mutex_kill, lock)(&dev->first_use);
	err = ACQUIRE_ERR(mutex_kill, &lock);
	return err || dev->dm ? err : dm_pool_init(dev);
}

/**
 * mlx5_ib_cleanup_dm - free the pool of device memory, if it was set up
 * @dev: device; no context is left
 */
void mlx5_ib_cleanup_dm(struct mlx5_ib_dev *dev)
{
	dm_pool_free(dev->dm);
	dev->dm = NULL;
}
