// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * UAR objects, and the query of the UAR that a dynamic bfreg lies in: the part of
 * mlx5_user_ioctl_cmds.h that is about UARs.
 */

#include <linux/mlx5/driver.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "bluebell.h"
#include "fw.h"
#include "uar.h"
#include "uar_obj.h"

/* Insert a new UAR into the mmap space and into the context's table. */
static int uar_obj_publish(struct mlx5_ib_ucontext *context, struct mlx5_user_mmap_entry *entry)
{
	int err;

	err = xa_reserve(&context->uars, entry->page_id, GFP_KERNEL);
	if (err)
		return err;
	err = rdma_user_mmap_entry_insert_range(&context->ibucontext, &entry->rdma_entry,
						PAGE_SIZE, MLX5_IB_MMAP_OFFSET_START,
						MLX5_IB_MMAP_OFFSET_END);
	if (err) {
		xa_release(&context->uars, entry->page_id);
		return err;
	}
	/* Reserved, so it can't fail. */
	xa_store(&context->uars, entry->page_id, entry, GFP_KERNEL);
	return 0;
}

static struct mlx5_user_mmap_entry *uar_obj_create(struct mlx5_ib_ucontext *context, bool wc)
{
	struct mlx5_ib_dev *dev = to_mdev(context->ibucontext.device);
	struct mlx5_user_mmap_entry *entry __free(kfree) = kzalloc_obj(*entry);
	int err;

	if (!entry)
		return ERR_PTR(-ENOMEM);
	err = mlx5_fw_alloc_uar(dev, context->uid, &entry->page_id);
	if (err)
		return ERR_PTR(err);
	entry->wc = wc;
	err = uar_obj_publish(context, entry);
	if (err) {
		mlx5_ib_free_uar(dev, context->uid, entry->page_id);
		return ERR_PTR(err);
	}
	return no_free_ptr(entry);
}

/*
 * After this no queue and no mapping can take a reference to the UAR. It is freed
 * with the last reference of those that have one.
 */
static int uar_obj_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why,
			   struct uverbs_attr_bundle *attrs)
{
	struct mlx5_user_mmap_entry *entry = uobj->object;

	xa_erase(&to_mucontext(entry->rdma_entry.ucontext)->uars, entry->page_id);
	rdma_user_mmap_entry_remove(&entry->rdma_entry);
	return 0;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_UAR_OBJ_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs,
							  MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	enum mlx5_ib_uapi_uar_alloc_type type;
	struct mlx5_user_mmap_entry *entry;
	struct mlx5_core_dev *mdev;
	u32 length = PAGE_SIZE;
	u64 offset;
	int err;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uverbs_get_const(&type, attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE);
	if (err)
		return err;
	if (type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC)
		return -EOPNOTSUPP;
	mdev = to_mdev(uctx->device)->mdev;
	if (type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && !MLX5_CAP_GEN(mdev, bf))
		return -EOPNOTSUPP;

	entry = uar_obj_create(to_mucontext(uctx), type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	uobj->object = entry;
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);

	/* An error from here on destroys the object. */
	offset = rdma_user_mmap_get_offset(&entry->rdma_entry);
	err = uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset,
			     sizeof(offset));
	if (err)
		return err;
	err = uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &entry->page_id,
			     sizeof(entry->page_id));
	if (err)
		return err;
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length,
			      sizeof(length));
}

/* The device index of the UAR that a dynamic bfreg lies in. */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_QUERY_UAR)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	u32 user_idx, dev_idx;
	int err;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uverbs_copy_from(&user_idx, attrs, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX);
	if (err)
		return err;
	err = bfregn_to_uar_index(&to_mucontext(uctx)->bfregi, user_idx, true);
	if (err < 0)
		return err;
	dev_idx = err;
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, &dev_idx,
			      sizeof(dev_idx));
}

#define OUT_U32(attr)	UVERBS_ATTR_PTR_OUT(attr, UVERBS_ATTR_TYPE(u32), UA_MANDATORY)
#define OUT_U64(attr)	UVERBS_ATTR_PTR_OUT(attr, UVERBS_ATTR_TYPE(u64), UA_MANDATORY)

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_UAR_OBJ_ALLOC,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, MLX5_IB_OBJECT_UAR,
					    UVERBS_ACCESS_NEW, UA_MANDATORY),
			    UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE,
						 enum mlx5_ib_uapi_uar_alloc_type, UA_MANDATORY),
			    OUT_U64(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET),
			    OUT_U32(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH),
			    OUT_U32(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_UAR_OBJ_DESTROY,
				    UVERBS_ATTR_IDR(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE,
						    MLX5_IB_OBJECT_UAR, UVERBS_ACCESS_DESTROY,
						    UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_UAR, UVERBS_TYPE_ALLOC_IDR(uar_obj_cleanup),
			    &UVERBS_METHOD(MLX5_IB_METHOD_UAR_OBJ_ALLOC),
			    &UVERBS_METHOD(MLX5_IB_METHOD_UAR_OBJ_DESTROY));

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_QUERY_UAR,
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX,
					       UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
			    OUT_U32(MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX));

DECLARE_UVERBS_GLOBAL_METHODS(MLX5_IB_OBJECT_DEVX, &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_QUERY_UAR));

const struct uapi_definition mlx5_ib_uar_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_UAR),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX),
	{},
};
