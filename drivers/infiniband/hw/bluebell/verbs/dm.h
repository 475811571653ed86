/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Device memory of users: verbs objects, and the entries in the mmap space for the memory and for
 * operations on it.
 */

#ifndef BLUEBELL_DM_H
#define BLUEBELL_DM_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "lib/dm_pool.h"

struct mlx5_user_mmap_entry;

/**
 * struct mlx5_ib_dm - device memory, as a user allocated it
 * @ibdm: verbs object
 * @mem: the allocation; @mentry holds a reference to it
 * @mentry: entry of the memory in the mmap space. This object, each mapping, and each dma-buf that
 *	exports the memory have a reference to the entry
 * @lock: guards @op_entries. Held while firmware allocates the address of an operation, so that an
 *	operation gets only one address
 * @op_entries: element n: entry in the mmap space for the address of operation n; NULL if operation
 *	n has no address. References as for @mentry
 */
struct mlx5_ib_dm {
	struct ib_dm ibdm;
	struct mlx5_ib_memic *mem;
	struct mlx5_user_mmap_entry *mentry;
	struct mutex lock;	/* guards op_entries */
	struct mlx5_user_mmap_entry *op_entries[MLX5_IB_DM_MAX_OPS];
};

static inline struct mlx5_ib_dm *to_mdm(struct ib_dm *ibdm)
{
	return container_of(ibdm, struct mlx5_ib_dm, ibdm);
}

extern const struct uapi_definition mlx5_ib_dm_defs[];

struct ib_dm *mlx5_ib_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *uctx,
			       struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs);
int mlx5_ib_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs);
struct ib_mr *mlx5_ib_reg_dm_mr(struct ib_pd *pd, struct ib_dm *ibdm, struct ib_dm_mr_attr *attr,
				struct uverbs_attr_bundle *attrs);

#if IS_ENABLED(CONFIG_KUNIT)
struct mlx5_ib_dm *mlx5_ib_create_dm(struct ib_ucontext *uctx, u64 length, u32 log_align);
struct mlx5_user_mmap_entry *mlx5_ib_dm_map_op(struct mlx5_ib_dm *dm, u8 op);
#endif

#endif /* BLUEBELL_DM_H */
