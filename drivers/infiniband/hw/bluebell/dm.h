/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Device memory of users: the device's window, allocations in it, and the
 * places in the mmap space that show them.
 */

#ifndef BLUEBELL_DM_H
#define BLUEBELL_DM_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "layout_dm.h"

struct mlx5_ib_dev;
struct mlx5_user_mmap_entry;
struct uapi_definition;

/* Operations on device memory are numbered by eight bits, and known by a bit of 32. */
#define MLX5_IB_DM_MAX_OPS	32

/**
 * struct mlx5_ib_dm_pool - the device's memory for users
 * @caps: what there is; constant while the device is registered
 * @map: all of the window, to clear what is given out
 * @lock: guards @used and @spare. Held while firmware gives memory and
 *	takes it, so that nobody goes without what is just coming back.
 * @used: bitmap of pages that somebody has
 * @spare: allocations that nobody has any more, and that firmware has not taken back
 * @return_spare: gives them back
 */
struct mlx5_ib_dm_pool {
	struct mlx5_ib_dm_caps caps;
	void __iomem *map;
	struct mutex lock;	/* used, spare */
	unsigned long *used;
	struct list_head spare;
	struct delayed_work return_spare;
};

/**
 * struct mlx5_ib_memic - an allocation
 * @dev: device
 * @refs: one for each place in the mmap space that leads here
 * @spare: in the list of the pool, when the last of them is gone
 * @stale_ops: bit for each operation whose address firmware would not take back
 * @addr: of its first byte, from the start of BAR 0
 * @size: bytes, as the device was asked for them
 * @page: first page of the window that is its own
 * @num_pages: how many are
 */
struct mlx5_ib_memic {
	struct mlx5_ib_dev *dev;
	struct kref refs;
	struct list_head spare;
	unsigned long stale_ops;
	u64 addr;
	u32 size;
	unsigned long page;
	unsigned long num_pages;
};

/**
 * struct mlx5_ib_dm - device memory that a user has a handle of
 * @ibdm: verbs object
 * @mem: the allocation; held by @mentry
 * @mentry: shows the memory. The handle has a reference, and each mapping
 * @lock: guards @op_entries. Held while firmware makes an operation's address,
 *	so that it is made once.
 * @op_entries: operations that have an address; as @mentry
 */
struct mlx5_ib_dm {
	struct ib_dm ibdm;
	struct mlx5_ib_memic *mem;
	struct mlx5_user_mmap_entry *mentry;
	struct mutex lock;	/* op_entries */
	struct mlx5_user_mmap_entry *op_entries[MLX5_IB_DM_MAX_OPS];
};

static inline struct mlx5_ib_dm *to_mdm(struct ib_dm *ibdm)
{
	return container_of(ibdm, struct mlx5_ib_dm, ibdm);
}

extern const struct uapi_definition mlx5_ib_dm_defs[];

int mlx5_ib_init_dm(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_dm(struct mlx5_ib_dev *dev);
void mlx5_ib_init_dm_pool(struct mlx5_ib_dm_pool *pool);
struct mlx5_ib_memic *mlx5_ib_alloc_memic(struct mlx5_ib_dev *dev, u32 length, u32 log_align);
void mlx5_ib_put_memic(struct mlx5_ib_memic *mem);
void mlx5_ib_return_spare_memic(struct mlx5_ib_dev *dev);
void mlx5_ib_drop_spare_memic(struct mlx5_ib_dev *dev);
int mlx5_ib_drop_memic_op(struct mlx5_ib_memic *mem, u8 op);
struct mlx5_ib_dm *mlx5_ib_create_dm(struct ib_ucontext *uctx, u64 length, u32 log_align);
struct mlx5_user_mmap_entry *mlx5_ib_dm_map_op(struct mlx5_ib_dm *dm, u8 op);
struct ib_dm *mlx5_ib_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *uctx,
			       struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs);
int mlx5_ib_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs);
struct ib_mr *mlx5_ib_reg_dm_mr(struct ib_pd *pd, struct ib_dm *ibdm, struct ib_dm_mr_attr *attr,
				struct uverbs_attr_bundle *attrs);
void mlx5_ib_free_dm_entry(struct mlx5_user_mmap_entry *entry);

#endif /* BLUEBELL_DM_H */
