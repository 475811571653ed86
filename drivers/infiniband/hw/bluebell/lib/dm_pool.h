/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Device memory (MEMIC) for processes: the window in BAR 0, and allocations in it.
 */

#ifndef BLUEBELL_DM_POOL_H
#define BLUEBELL_DM_POOL_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "fw/attempt.h"
#include "lib/share.h"

struct mlx5_ib_dev;

/* Number of operations on device memory: the device's capability has 32 bits, one for each. */
#define MLX5_IB_DM_MAX_OPS	32

/**
 * struct mlx5_ib_dm_pool - the device memory that processes can allocate
 * @dev: device
 * @map: the whole window in BAR 0, mapped to clear an allocation before a user gets it
 * @lock: guards @used and @spare. Held across ALLOC_MEMIC and DEALLOC_MEMIC: an allocation must
 *	not fail because a deallocation is in flight. So a process that allocates waits for the
 *	commands of other processes: one for each free range that firmware is asked for, one for
 *	each spare allocation (at most one per page), and one for each operation in @stale_ops of
 *	these spare allocations
 * @used: bitmap of the pages of allocations that have a user
 * @spare: allocations without a user, which are not deallocated yet
 * @return_spare: deallocates the allocations in @spare
 * @op_lock: held across the MODIFY_MEMIC that allocates or deallocates the address of an operation
 *	and the change of @op_pages that belongs to it: a process must not be refused an address
 *	because another process, whose command firmware has executed, has not left the page yet. So
 *	a process that maps an operation waits for one command of each process before it
 * @op_pages: for each page of BAR 0 in which an operation on an allocation has its addresses: the
 *	allocation. Processes map whole pages, so such a page is for one operation only
 */
struct mlx5_ib_dm_pool {
	struct mlx5_ib_dev *dev;
	void __iomem *map;
	struct mutex lock;	/* guards used, spare */
	unsigned long *used;
	struct list_head spare;
	struct delayed_work return_spare;
	struct mutex op_lock;	/* orders MODIFY_MEMIC and op_pages */
	struct xarray op_pages;
};

/**
 * struct mlx5_ib_memic - an allocation of device memory
 * @dev: device
 * @refs: one reference for each entry in the mmap space that maps the allocation, and for each key
 *	that leads to the allocation, or may lead to it because firmware did not answer
 * @spare: links the allocation into the pool's list once @refs is 0
 * @stale_ops: bit for each operation of which an address has to be deallocated, because firmware
 *	refused to do so, or may have allocated the address without an answer. Once @refs is 0,
 *	guarded by the lock of the pool
 * @unanswered_ops: bit for each operation for which firmware has not answered a MODIFY_MEMIC: the
 *	operation may or may not have an address. Never cleared: firmware may execute the command at
 *	any later time. For each operation, only one task at a time changes the bits in @stale_ops
 *	and @unanswered_ops
 * @attempt: attempts to deallocate the allocation
 * @err: errno of the last attempt, for the log
 * @addr: offset of the first byte in BAR 0
 * @size: bytes that ALLOC_MEMIC was asked for
 * @page: first page of the window that the allocation occupies
 * @num_pages: number of pages that the allocation occupies
 * @share: counts the pages against the limit of a user, until @refs is 0
 *
 * An operation on device memory, for example an atomic one, is done by an access to an address in
 * BAR 0 that belongs to this operation. MODIFY_MEMIC allocates and deallocates the address.
 */
struct mlx5_ib_memic {
	struct mlx5_ib_dev *dev;
	struct kref refs;
	struct list_head spare;
	unsigned long stale_ops;
	unsigned long unanswered_ops;
	struct mlx5_ib_fw_attempt attempt;
	int err;
	u64 addr;
	u32 size;
	unsigned long page;
	unsigned long num_pages;
	struct mlx5_ib_share share;
};

int mlx5_ib_use_dm(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_dm(struct mlx5_ib_dev *dev);
struct mlx5_ib_memic *mlx5_ib_alloc_memic(struct mlx5_ib_dm_pool *pool, u32 size, u32 log_align);
void mlx5_ib_put_memic(struct mlx5_ib_memic *mem);
int mlx5_ib_alloc_memic_op(struct mlx5_ib_memic *mem, u8 op, u64 *addr);
int mlx5_ib_drop_memic_op(struct mlx5_ib_memic *mem, u8 op);
int mlx5_ib_claim_op_pages(struct mlx5_ib_memic *mem, u64 addr);
void mlx5_ib_release_op_pages(struct mlx5_ib_memic *mem, u64 addr);

#if IS_ENABLED(CONFIG_KUNIT)
void mlx5_ib_return_spare_memic(struct mlx5_ib_dm_pool *pool);
void mlx5_ib_drop_spare_memic(struct mlx5_ib_dm_pool *pool);
void mlx5_ib_memic_log(const struct mlx5_ib_memic *mem);
#endif

#endif /* BLUEBELL_DM_POOL_H */
