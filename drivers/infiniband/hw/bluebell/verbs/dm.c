// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory (MEMIC) of user contexts: mmap entries, operations on device memory, and MRs over
 * device memory. dm_pool.c allocates the memory.
 */

#include <kunit/visibility.h>
#include <linux/mlx5/driver.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_dm.h"
#include "layout/layout_mkey.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/orphan.h"
#include "verbs/dm.h"
#include "verbs/mr.h"
#include "verbs/ucontext.h"

/* ---- the mmap space ------------------------------------------------------------- */

static void dm_free_entry(struct mlx5_user_mmap_entry *entry)
{
	/* Only an address of an operation is mapped uncached: deallocate the address. */
	if (!entry->wc) {
		guard(mutex)(&entry->mem->dev->dm->op_lock);
		mlx5_ib_drop_memic_op(entry->mem, entry->op);
		mlx5_ib_release_op_pages(entry->mem,
					 entry->address - entry->mem->dev->mdev->bar_addr);
	}
	mlx5_ib_put_memic(entry->mem);
	kfree(entry);
}

/*
 * Insert @addr, the address of @mem or of an operation on @mem, into the mmap space. On success the
 * entry owns a reference to @mem, which the caller takes before or afterwards. The memory is mapped
 * write-combining (@wc), the address of an operation uncached, because each access has to perform
 * the operation once.
 */
static struct mlx5_user_mmap_entry *dm_publish(struct ib_ucontext *uctx,
					       struct mlx5_ib_memic *mem, bool wc, u64 addr,
					       u8 op)
{
	struct mlx5_user_mmap_entry *entry __free(kfree) = kzalloc_obj(*entry, GFP_KERNEL_ACCOUNT);
	unsigned long num_pages = PFN_UP(offset_in_page(addr) + mem->size);
	int err;

	if (!entry)
		return ERR_PTR(-ENOMEM);
	entry->free = dm_free_entry;
	entry->denied = VM_EXEC;
	entry->wc = wc;
	entry->mem = mem;
	entry->op = op;
	entry->address = mem->dev->mdev->bar_addr + addr;
	err = rdma_user_mmap_entry_insert_range(uctx, &entry->rdma_entry,
						num_pages * PAGE_SIZE, MLX5_IB_MMAP_DM_START,
						MLX5_IB_MMAP_DM_END + 1 - num_pages);
	return err ? ERR_PTR(err) : no_free_ptr(entry);
}

/* ---- verbs ----------------------------------------------------------------------- */

/* Allocate memory of the device, and count it against the limit of the context's user. */
static struct mlx5_ib_memic *dm_take_memory(struct mlx5_ib_ucontext *context, u64 length,
					    u32 log_align)
{
	struct mlx5_ib_dev *dev = to_mdev(context->ibucontext.device);
	struct mlx5_ib_share share = {};
	struct mlx5_ib_memic *mem;
	u32 size;
	int err;

	size = mlx5_ib_dm_alloc_size(length, &dev->caps);
	err = mlx5_ib_share_take_many(context, MLX5_IB_SHARE_DM, DIV_ROUND_UP(size, PAGE_SIZE),
				      &share);
	if (err)
		return ERR_PTR(err);
	mem = mlx5_ib_alloc_memic(dev->dm, size, log_align);
	if (IS_ERR(mem))
		mlx5_ib_share_undo(&share, PTR_ERR(mem));
	else
		mem->share = share;
	return mem;
}

/**
 * mlx5_ib_create_dm - allocate device memory and give it an entry in the mmap space
 * @uctx: context
 * @length: bytes
 * @log_align: log2 of the alignment of the memory's address
 *
 * The memory is zeroed, and shares no page with other memory, because processes map whole pages.
 * May sleep.
 *
 * Return: the memory or an ERR_PTR: -EOPNOTSUPP if the device has no memory for users
 * (mlx5_ib_has_dm()); -EINVAL for a length or an alignment beyond the limits; -ENOMEM, also if
 * there are not enough contiguous free pages, or if the user has as many pages of device memory as
 * a user can have; -EINTR if the task is being killed; or the errno of a failed command.
 */
VISIBLE_IF_KUNIT
struct mlx5_ib_dm *mlx5_ib_create_dm(struct ib_ucontext *uctx, u64 length, u32 log_align)
{
	struct mlx5_ib_dev *dev = to_mdev(uctx->device);
	int err;

	if (!mlx5_ib_has_dm(&dev->caps, PAGE_SHIFT))
		return ERR_PTR(refuse(dev->mdev, -EOPNOTSUPP,
				      "the device has no device memory in whole pages (memic)"));
	err = mlx5_ib_check_dm(length, log_align, &dev->caps) ?: mlx5_ib_use_dm(dev);
	if (err)
		return ERR_PTR(err);

	struct mlx5_ib_dm *dm __free(kfree) = kzalloc_obj(*dm, GFP_KERNEL_ACCOUNT);

	if (!dm)
		return ERR_PTR(-ENOMEM);
	dm->mem = dm_take_memory(to_mucontext(uctx), length, log_align);
	if (IS_ERR(dm->mem))
		return ERR_CAST(dm->mem);
	dm->mentry = dm_publish(uctx, dm->mem, true, dm->mem->addr, 0);
	if (IS_ERR(dm->mentry)) {
		mlx5_ib_put_memic(dm->mem);
		return ERR_CAST(dm->mentry);
	}
	mutex_init(&dm->lock);
	return_ptr(dm);
}

/**
 * mlx5_ib_dealloc_dm - free device memory
 * @ibdm: the memory; ib_core has checked that no region uses it
 * @attrs: not used
 *
 * The memory stays allocated as long as it, or the address of an operation on it, is mapped or
 * exported as a dma-buf, or an orphan (orphan.c) refers to it. If firmware refuses to deallocate
 * the memory, dm_pool.c tries again later. May sleep.
 *
 * Return: 0.
 */
int mlx5_ib_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs)
{
	struct mlx5_ib_dm *dm = to_mdm(ibdm);
	unsigned int op;

	for (op = 0; op < MLX5_IB_DM_MAX_OPS; op++)
		if (dm->op_entries[op])
			rdma_user_mmap_entry_remove(&dm->op_entries[op]->rdma_entry);
	rdma_user_mmap_entry_remove(&dm->mentry->rdma_entry);
	mutex_destroy(&dm->lock);
	kfree(dm);
	return 0;
}

static int dm_copy_entry(struct uverbs_attr_bundle *attrs,
			 const struct mlx5_user_mmap_entry *entry, u16 offset_attr, u16 idx_attr)
{
	u64 offset = offset_in_page(entry->address);
	/* The library puts this index, counted from MLX5_IB_MMAP_DM_START, into the mmap offset. */
	u16 idx = entry->rdma_entry.start_pgoff - MLX5_IB_MMAP_DM_START;

	return uverbs_copy_to(attrs, offset_attr, &offset, sizeof(offset)) ?:
	       uverbs_copy_to(attrs, idx_attr, &idx, sizeof(idx));
}

/**
 * mlx5_ib_alloc_dm - allocate device memory for a library
 * @ibdev: device
 * @uctx: context
 * @attr: length and alignment
 * @attrs: MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE is the type of the memory, MEMIC if absent; two more
 *	attributes get the index in the mmap space, by which the library maps the memory, and the
 *	offset of the memory in its first page
 *
 * Implements ibv_alloc_dm(3). May sleep.
 *
 * Return: as mlx5_ib_create_dm(); -EOPNOTSUPP for memory of another type; -EFAULT.
 */
struct ib_dm *mlx5_ib_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *uctx,
			       struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs)
{
	enum mlx5_ib_uapi_dm_type type;
	struct mlx5_ib_dm *dm;
	int err;

	err = uverbs_get_const_default(&type, attrs, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE,
				       MLX5_IB_UAPI_DM_TYPE_MEMIC);
	if (err)
		return ERR_PTR(err);
	if (type != MLX5_IB_UAPI_DM_TYPE_MEMIC)
		return ERR_PTR(refuse(to_mdev(ibdev)->mdev, -EOPNOTSUPP,
				      "device memory of type %d, not MEMIC (%d)", type,
				      MLX5_IB_UAPI_DM_TYPE_MEMIC));
	dm = mlx5_ib_create_dm(uctx, attr->length, attr->alignment);
	if (IS_ERR(dm))
		return ERR_CAST(dm);
	err = dm_copy_entry(attrs, dm->mentry, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET,
			    MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX);
	if (err) {
		mlx5_ib_dealloc_dm(&dm->ibdm, attrs);
		return ERR_PTR(err);
	}
	return &dm->ibdm;
}

static struct mlx5_user_mmap_entry *dm_claim_and_publish(struct ib_ucontext *uctx,
							 struct mlx5_ib_memic *mem, u64 addr, u8 op)
{
	struct mlx5_user_mmap_entry *entry;
	int err = mlx5_ib_claim_op_pages(mem, addr);

	if (err)
		return ERR_PTR(err);
	entry = dm_publish(uctx, mem, false, addr, op);
	if (IS_ERR(entry))
		mlx5_ib_release_op_pages(mem, addr);
	return entry;
}

static struct mlx5_user_mmap_entry *dm_publish_op(struct ib_ucontext *uctx,
						  struct mlx5_ib_memic *mem, u8 op)
{
	struct mlx5_user_mmap_entry *entry;
	u64 addr;
	int err;

	guard(mutex)(&mem->dev->dm->op_lock);
	err = mlx5_ib_alloc_memic_op(mem, op, &addr);
	if (err)
		return ERR_PTR(err);
	entry = dm_claim_and_publish(uctx, mem, addr, op);
	if (IS_ERR(entry))
		mlx5_ib_drop_memic_op(mem, op);
	else
		kref_get(&mem->refs);
	return entry;
}

/**
 * mlx5_ib_dm_map_op - allocate an address at which each access does an operation on device memory
 * @dm: the memory
 * @op: number of the operation
 *
 * Implements mlx5dv_dm_map_op_addr(3) with MODIFY_MEMIC (struct mlx5_ifc_modify_memic_in_bits). A
 * later call for the same operation returns the same address, which exists as long as @dm, a
 * mapping of the address, or a dma-buf over it exists. May sleep.
 *
 * Return: the entry of the address in the mmap space, or an ERR_PTR: -EOPNOTSUPP for an operation
 * that the device does not support, or if the address is in a page that another operation has, see
 * mlx5_ib_claim_op_pages(); -ENOMEM; or the errno of a failed command.
 */
VISIBLE_IF_KUNIT struct mlx5_user_mmap_entry *mlx5_ib_dm_map_op(struct mlx5_ib_dm *dm, u8 op)
{
	u32 ops = MLX5_CAP_DEV_MEM(dm->mem->dev->mdev, memic_operations);
	struct mlx5_user_mmap_entry *entry;

	if (op >= MLX5_IB_DM_MAX_OPS || !(ops & BIT(op)))
		return ERR_PTR(refuse(dm->mem->dev->mdev, -EOPNOTSUPP,
				      "mapping for operation %u on device memory, supported (bit mask): %#x",
				      op, ops));
	guard(mutex)(&dm->lock);
	if (dm->op_entries[op])
		return dm->op_entries[op];
	entry = dm_publish_op(dm->mentry->rdma_entry.ucontext, dm->mem, op);
	if (!IS_ERR(entry))
		dm->op_entries[op] = entry;
	return entry;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DM_MAP_OP_ADDR)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm = uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE);
	struct mlx5_user_mmap_entry *entry;
	int err;
	u8 op;

	err = uverbs_copy_from(&op, attrs, MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP);
	if (err)
		return err;
	entry = mlx5_ib_dm_map_op(to_mdm(ibdm), op);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	return dm_copy_entry(attrs, entry, MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET,
			     MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX);
}

/*
 * Return what a process needs to map device memory: a process that imports a context maps memory
 * that another process has allocated.
 */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DM_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm = uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE);
	u64 length = ibdm->length;

	return dm_copy_entry(attrs, to_mdm(ibdm)->mentry, MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET,
			     MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX) ?:
	       uverbs_copy_to(attrs, MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, &length, sizeof(length));
}

static const struct mlx5_ib_mr_ops dm_mr_ops = {
	.kind = "device memory",
	.dereg = mlx5_ib_free_mr,
	.destroy_key = mlx5_ib_destroy_mr_key,
};

/* Firmware has not answered whether it has created a key over device memory: keep the memory. */
static void dm_keep_lost(struct mlx5_ib_ucontext *context, struct mlx5_ib_memic *memic)
{
	struct mlx5_ib_queue_mem mem = { .context = context, .memic = memic };

	kref_get(&memic->refs);
	mlx5_ib_orphan_keep_lost(memic->dev, "an mkey over device memory", &mem);
}

/**
 * mlx5_ib_reg_dm_mr - register device memory
 * @pd: protection domain
 * @ibdm: the memory
 * @attr: offset and length of the region, and enum ib_access_flags. ib_core has checked that the
 *	region lies in the memory
 * @attrs: no attributes of the driver
 *
 * Implements ibv_reg_dm_mr(3) with CREATE_MKEY (struct mlx5_ifc_create_mkey_in_bits). The first
 * address of the region is 0. The region, or its orphan (orphan.c), has a reference to the memory
 * until the key is destroyed. If firmware does not answer the command, the memory stays allocated
 * until the device is reset. May sleep.
 *
 * Return: the region or an ERR_PTR: -EINVAL without IB_ZERO_BASED; -EOPNOTSUPP for access rights
 * that device memory does not have; -ENOMEM, also if the user has as many keys as a user can have;
 * -EIO as mlx5_ib_check_pd(); or the errno of a failed command.
 */
struct ib_mr *mlx5_ib_reg_dm_mr(struct ib_pd *pd, struct ib_dm *ibdm, struct ib_dm_mr_attr *attr,
				struct uverbs_attr_bundle *attrs)
{
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	struct mlx5_ib_dm *dm = to_mdm(ibdm);
	struct mlx5_ib_mkc_attr mkc_attr = {
		.access = attr->access_flags,
		.pdn = to_mpd(pd)->pdn,
		.length = attr->length,
	};
	int err;

	err = mlx5_ib_check_pd(pd) ?: mlx5_ib_check_dm_access(attr->access_flags);
	if (err)
		return ERR_PTR(err);

	struct mlx5_ib_mr *mr __free(kfree) = kzalloc_obj(*mr, GFP_KERNEL_ACCOUNT);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mlx5_ib_fill_memic_mkey(in, &mkc_attr, dm->mem->addr + attr->offset, &dev->caps);
	err = mlx5_ib_mkey_create(dev, mlx5_ib_pd_context(pd), &mr->mkey, in, sizeof(in));
	if (err == -ETIMEDOUT)
		dm_keep_lost(mlx5_ib_pd_context(pd), dm->mem);
	if (err)
		return ERR_PTR(err);
	kref_get(&dm->mem->refs);
	mr->memic = dm->mem;
	mr->ops = &dm_mr_ops;
	mr->access = attr->access_flags;
	mr->ibmr.device = pd->device;
	mr->ibmr.length = attr->length;
	mlx5_ib_publish_mr(dev, mr, MLX5_IB_MKEY_MR);
	return &no_free_ptr(mr)->ibmr;
}

#define OUT(attr, type)	UVERBS_ATTR_PTR_OUT(attr, UVERBS_ATTR_TYPE(type), UA_MANDATORY)

ADD_UVERBS_ATTRIBUTES_SIMPLE(mlx5_ib_dm, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC,
			     OUT(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, u64),
			     OUT(MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, u16),
			     UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE,
						  enum mlx5_ib_uapi_dm_type, UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DM_MAP_OP_ADDR,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE,
					    UVERBS_OBJECT_DM, UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP,
					       UVERBS_ATTR_TYPE(u8), UA_MANDATORY),
			    OUT(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, u64),
			    OUT(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX, u16));

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DM_QUERY,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, UVERBS_OBJECT_DM,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    OUT(MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, u64),
			    OUT(MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, u16),
			    OUT(MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, u64));

ADD_UVERBS_METHODS(mlx5_ib_dm_methods, UVERBS_OBJECT_DM,
		   &UVERBS_METHOD(MLX5_IB_METHOD_DM_MAP_OP_ADDR),
		   &UVERBS_METHOD(MLX5_IB_METHOD_DM_QUERY));

const struct uapi_definition mlx5_ib_dm_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &mlx5_ib_dm),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &mlx5_ib_dm_methods),
	{},
};
