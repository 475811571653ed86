// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * UARs: a context's static and dynamic pages, the queues on each bfreg, and UAR objects with their
 * methods of mlx5_user_ioctl_cmds.h.
 */

#include <kunit/visibility.h>
#include <linux/mlx5/driver.h>
#include <linux/pci.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "fw/trace.h"
#include "layout/refuse.h"
#include "lib/share.h"
#include "verbs/uar.h"

static u8 uar_page_origin(const struct mlx5_bfreg_layout *layout, u32 page)
{
	return page < layout->num_static_sys_pages ? BLUEBELL_UAR_STATIC : BLUEBELL_UAR_DYNAMIC;
}

/*
 * Log that all UARs are in use, and where to see which processes have them. On a subfunction the
 * driver does not know how many UARs fit into the BAR.
 */
static void uar_report_limit(struct mlx5_ib_dev *dev)
{
	u64 max_uars = mlx5_ib_max_uars(dev);
	char room[48] = "";

	if (max_uars)
		snprintf(room, sizeof(room), " (BAR 0 has room for %llu)", max_uars);
	report_limit(&dev->ib_dev,
		     "all UARs of the device are in use%s: %s (%d) gets none; see who has them in the debugfs file mlx5/%s/uars\n",
		     room, current->comm, task_tgid_nr(current), dev_name(dev->mdev->device));
}

/**
 * mlx5_ib_alloc_uar - ALLOC_UAR: allocate a UAR for a context
 * @context: owner
 * @origin: enum bluebell_uar_origin
 * @uar: gets the device's index of the UAR
 *
 * If the device has no UAR left, or the user has as many as a user can have, report_limit() logs
 * that. May sleep.
 *
 * Return: 0; -ENOMEM, also if there is no UAR left for the user; or the errno of a failed command.
 */
int mlx5_ib_alloc_uar(struct mlx5_ib_ucontext *context, u8 origin, u32 *uar)
{
	struct mlx5_ib_dev *dev = to_mdev(context->ibucontext.device);
	u32 in[MLX5_ST_SZ_DW(alloc_uar_in)] = {};
	int err;

	err = mlx5_ib_share_create(context, MLX5_IB_SHARE_UAR, context->uid, MLX5_CMD_OP_ALLOC_UAR,
				   in, sizeof(in), uar);
	if (err == -ENOSPC) {
		uar_report_limit(dev);
		return -ENOMEM;
	}
	if (!err)
		trace_uar_alloc(context, *uar, origin);
	return err;
}

/**
 * mlx5_ib_dealloc_uar - DEALLOC_UAR: free a UAR of a context
 * @context: owner
 * @origin: as for mlx5_ib_alloc_uar()
 * @uar: the device's index of the UAR, which is not mapped, and which no queue uses, except perhaps
 *	orphans (orphan.c)
 *
 * If firmware refuses, the log says so, and the UAR goes on counting against the limit of the user.
 * May sleep, for a third of a second if firmware refuses.
 */
void mlx5_ib_dealloc_uar(struct mlx5_ib_ucontext *context, u8 origin, u32 uar)
{
	struct mlx5_ib_share share = mlx5_ib_share_of(context, MLX5_IB_SHARE_UAR);

	trace_uar_free(context, uar, origin);
	if (mlx5_ib_fw_destroy_or_log(to_mdev(context->ibucontext.device), context->uid,
				      MLX5_CMD_OP_DEALLOC_UAR, uar, "UAR"))
		mlx5_ib_share_keep(&share);
	mlx5_ib_share_give(&share);
}

static void uar_free_page(struct mlx5_ib_ucontext *context, u32 page)
{
	u32 uar = context->bfregi.sys_pages[page];

	if (uar != MLX5_IB_INVALID_UAR_INDEX)
		mlx5_ib_dealloc_uar(context, uar_page_origin(&context->bfregi.layout, page), uar);
}

/**
 * mlx5_ib_deallocate_uars - free the UARs of a context's static and dynamic pages
 * @context: the context; its pages are not mapped, and no queue uses their bfregs, except perhaps
 *	orphans (orphan.c)
 *
 * Nothing happens in a context without pages. May sleep.
 */
void mlx5_ib_deallocate_uars(struct mlx5_ib_ucontext *context)
{
	struct mlx5_bfreg_info *bfregi = &context->bfregi;
	u32 i;

	for (i = 0; bfregi->sys_pages && i < bfregi->layout.num_sys_pages; i++)
		uar_free_page(context, i);
	kfree(bfregi->sys_pages);
	kfree(bfregi->count);
	bfregi->sys_pages = NULL;
	bfregi->count = NULL;
}

/**
 * mlx5_ib_allocate_uars - allocate a context's tables of pages and bfregs, and its static UARs
 * @context: the context, which has no tables yet; after an error, too, the caller has to call
 *	mlx5_ib_deallocate_uars()
 * @total: number of static bfregs that the library asks for
 * @low_latency: number of static bfregs that serve one queue each
 *
 * May sleep.
 *
 * Return: 0; -ENOMEM; the errno of mlx5_ib_calc_total_bfregs(); or the errno of a failed command.
 */
int mlx5_ib_allocate_uars(struct mlx5_ib_ucontext *context, u32 total, u32 low_latency)
{
	struct mlx5_bfreg_info *bfregi = &context->bfregi;
	struct mlx5_bfreg_layout *layout = &bfregi->layout;
	u32 i;
	int err;

	err = mlx5_ib_calc_total_bfregs(total, low_latency, PAGE_SHIFT, bfregi->uar_4k, layout);
	if (err)
		return err;
	bfregi->count = kcalloc(layout->num_static_bfregs, sizeof(*bfregi->count),
				GFP_KERNEL_ACCOUNT);
	bfregi->sys_pages = kcalloc(layout->num_sys_pages, sizeof(*bfregi->sys_pages),
				    GFP_KERNEL_ACCOUNT);
	if (!bfregi->sys_pages)
		return -ENOMEM;
	memset32(bfregi->sys_pages, MLX5_IB_INVALID_UAR_INDEX, layout->num_sys_pages);
	if (!bfregi->count)
		return -ENOMEM;

	for (i = 0; i < layout->num_static_sys_pages; i++) {
		err = mlx5_ib_alloc_uar(context, BLUEBELL_UAR_STATIC, &bfregi->sys_pages[i]);
		if (err)
			return err;
	}
	return 0;
}

/**
 * mlx5_ib_alloc_bfreg - choose a static bfreg for a new queue, and count the queue on it
 * @bfregi: UAR pages and bfregs of the context
 *
 * Return: number of the bfreg, or -ENOMEM in a context without static pages.
 */
int mlx5_ib_alloc_bfreg(struct mlx5_bfreg_info *bfregi)
{
	int bfregn;

	guard(mutex)(&bfregi->lock);
	bfregn = mlx5_ib_pick_bfreg(&bfregi->layout, bfregi->count);
	if (bfregn < 0)
		return bfregn;
	bfregi->count[bfregn]++;
	trace_bfreg_get(bfregi, bfregn, bfregi->count[bfregn]);
	return bfregn;
}

/**
 * mlx5_ib_free_bfreg - remove a destroyed queue from the count of its static bfreg
 * @bfregi: UAR pages and bfregs of the context
 * @bfregn: what mlx5_ib_alloc_bfreg() returned
 */
void mlx5_ib_free_bfreg(struct mlx5_bfreg_info *bfregi, int bfregn)
{
	guard(mutex)(&bfregi->lock);
	if (WARN_ON(!bfregi->count[bfregn]))
		return;
	bfregi->count[bfregn]--;
	trace_bfreg_put(bfregi, bfregn, bfregi->count[bfregn]);
}

/**
 * bfregn_to_uar_index - find the UAR that a bfreg lies in
 * @bfregi: UAR pages and bfregs of the context
 * @bfregn: number of the bfreg among the static bfregs or among the dynamic bfregs, from 0
 * @dyn_bfreg: @bfregn counts dynamic bfregs; otherwise static bfregs
 *
 * Return: as mlx5_ib_bfreg_to_uar_index().
 */
int bfregn_to_uar_index(struct mlx5_bfreg_info *bfregi, u32 bfregn, bool dyn_bfreg)
{
	guard(mutex)(&bfregi->lock);
	return mlx5_ib_bfreg_to_uar_index(&bfregi->layout, bfregi->sys_pages, bfregn, dyn_bfreg);
}

/**
 * mlx5_ib_bell_add - add a queue to its context's list of queues, for the report of UARs
 * @context: owner of the queue and of the UAR
 * @bell: the entry, of a queue that exists, or may exist, at the device
 */
void mlx5_ib_bell_add(struct mlx5_ib_ucontext *context, struct mlx5_ib_bell *bell)
{
	struct mlx5_bfreg_info *bfregi = &context->bfregi;

	guard(mutex)(&bfregi->lock);
	list_add_tail(&bell->node, &bfregi->bells);
	bfregi->num_bells++;
	trace_bell_add(context, &bell->queue);
}

/**
 * mlx5_ib_bell_del - remove a queue from its context's list of queues
 * @context: as for mlx5_ib_bell_add(); NULL for a queue without context, which is in no list
 * @bell: the entry, of a queue that is about to be destroyed: afterwards the device may give the
 *	queue's number to another queue. Nothing is done if the entry has been removed already
 */
void mlx5_ib_bell_del(struct mlx5_ib_ucontext *context, struct mlx5_ib_bell *bell)
{
	if (!context)
		return;
	guard(mutex)(&context->bfregi.lock);
	if (list_empty(&bell->node))
		return;
	trace_bell_del(context, &bell->queue);
	list_del_init(&bell->node);
	WARN_ON_ONCE(!context->bfregi.num_bells--);
}

/**
 * mlx5_ib_get_uar - take a reference to a UAR object, found by the index of a UAR
 * @context: owner of the object
 * @page_id: device index of the UAR, any of the object's page
 *
 * A queue holds a reference to the UAR object with its doorbell, so that firmware cannot give the
 * UAR to another process while the queue exists and the context is open.
 *
 * Return: the object, or NULL if the context has no such object. The reference is put with
 * rdma_user_mmap_entry_put(), which may sleep: putting the last reference frees the UAR.
 */
struct mlx5_user_mmap_entry *mlx5_ib_get_uar(struct mlx5_ib_ucontext *context, u32 page_id)
{
	u32 first = mlx5_ib_first_uar(&context->bfregi.layout, page_id);
	struct rdma_user_mmap_entry *rdma_entry = NULL;

	/* This part of the mmap space has entries of UAR objects only. */
	if (first <= MLX5_IB_MMAP_OFFSET_END - MLX5_IB_MMAP_OFFSET_START)
		rdma_entry = rdma_user_mmap_entry_get_pgoff(&context->ibucontext,
							    MLX5_IB_MMAP_OFFSET_START + first);
	if (!rdma_entry)
		return NULL;
	WARN_ON_ONCE(!mlx5_ib_is_uar_object(to_mmmap(rdma_entry)));
	return to_mmmap(rdma_entry);
}

/* ---- the ioctl interface ---------------------------------------------------------- */

static void uar_obj_free(struct mlx5_user_mmap_entry *entry)
{
	struct mlx5_ib_ucontext *context = to_mucontext(entry->rdma_entry.ucontext);

	mlx5_ib_dealloc_uar(context, BLUEBELL_UAR_OBJECT, entry->page_id);
	kfree(entry);
}

/**
 * mlx5_ib_is_uar_object - whether an entry in the mmap space belongs to a UAR object
 * @entry: the entry
 *
 * Return: true for a UAR object; false for a UAR page or for device memory.
 */
bool mlx5_ib_is_uar_object(const struct mlx5_user_mmap_entry *entry)
{
	return entry->free == uar_obj_free;
}

/**
 * mlx5_ib_create_uar_object - allocate a UAR, and an entry for it in the mmap space
 * @context: owner
 * @wc: processes map the UAR write-combining; otherwise uncached
 *
 * The UAR is freed with the last reference to its entry. The caller has a reference, which
 * rdma_user_mmap_entry_remove() puts. May sleep.
 *
 * Return: the entry, or an ERR_PTR: -ENOMEM, or the errno of a failed command.
 */
VISIBLE_IF_KUNIT
struct mlx5_user_mmap_entry *mlx5_ib_create_uar_object(struct mlx5_ib_ucontext *context, bool wc)
{
	struct mlx5_core_dev *mdev = to_mdev(context->ibucontext.device)->mdev;
	struct mlx5_user_mmap_entry *entry __free(kfree) = kzalloc_obj(*entry, GFP_KERNEL_ACCOUNT);
	int err;

	if (!entry)
		return ERR_PTR(-ENOMEM);
	err = mlx5_ib_alloc_uar(context, BLUEBELL_UAR_OBJECT, &entry->page_id);
	if (err)
		return ERR_PTR(err);
	entry->free = uar_obj_free;
	entry->address = mlx5_ib_uar_address(mdev, entry->page_id);
	entry->denied = MLX5_IB_UAR_DENIED;
	entry->wc = wc;
	/* mlx5_ib_get_uar() finds the entry by the index of the first UAR in the page offset. */
	scoped_guard(mutex, &context->bfregi.lock)
		err = rdma_user_mmap_entry_insert_exact(&context->ibucontext, &entry->rdma_entry,
							PAGE_SIZE, MLX5_IB_MMAP_OFFSET_START +
								   entry->page_id);
	if (err) {
		mlx5_ib_dealloc_uar(context, BLUEBELL_UAR_OBJECT, entry->page_id);
		return ERR_PTR(err);
	}
	return no_free_ptr(entry);
}

/*
 * Remove the entry of a UAR object from the mmap space, so that no queue, mapping or dma-buf can
 * take a reference to the entry any more. When the last of them puts its reference, the UAR is
 * freed.
 */
static int uar_obj_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why,
			   struct uverbs_attr_bundle *attrs)
{
	struct mlx5_user_mmap_entry *entry = uobj->object;

	rdma_user_mmap_entry_remove(&entry->rdma_entry);
	return 0;
}

static int uar_obj_get_bf(const struct uverbs_attr_bundle *attrs,
			  const struct mlx5_ib_ucontext *context, bool *bf)
{
	bool blueflame = context->bfregi.blueflame;
	enum mlx5_ib_uapi_uar_alloc_type type;
	int err = uverbs_get_const(&type, attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE);

	if (err)
		return err;
	*bf = type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF;
	if (type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC || (*bf && blueflame))
		return 0;
	return refuse(to_mdev(context->ibucontext.device)->mdev, -EOPNOTSUPP,
		      "UAR of type %d, supported: NC (1)%s", type, blueflame ? ", BF (0)" : "");
}

static int uar_obj_respond(struct uverbs_attr_bundle *attrs, struct mlx5_user_mmap_entry *entry)
{
	u64 offset = rdma_user_mmap_get_offset(&entry->rdma_entry);
	u32 length = PAGE_SIZE;

	return uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset,
			      sizeof(offset)) ?:
	       uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &entry->page_id,
			      sizeof(entry->page_id)) ?:
	       uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length,
			      sizeof(length));
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_UAR_OBJ_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs,
							  MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct mlx5_user_mmap_entry *entry;
	bool bf;
	int err;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uar_obj_get_bf(attrs, to_mucontext(uctx), &bf);
	if (err)
		return err;
	entry = mlx5_ib_create_uar_object(to_mucontext(uctx), bf);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	uobj->object = entry;
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);

	/* After an error ib_core destroys the object. */
	return uar_obj_respond(attrs, entry);
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

const struct uapi_definition mlx5_ib_uar_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_UAR),
	{},
};
