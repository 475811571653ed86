// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The report of a context's UARs, bfregs, and the queues on them: taken at one moment from what
 * uar.c keeps, and returned to a process by the method of bluebell-abi.h.
 */

#include <linux/bsearch.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "fw/bluebell.h"
#include "layout/refuse.h"
#include "verbs/uar.h"

/* ---- taking the report --------------------------------------------------------------- */

/*
 * Find the first entry of a UAR object at the offset @pgoff or after it, and set @pgoff to the
 * offset of the entry. The caller holds the lock of the mmap_xa. Entries without references, which
 * are being freed, are passed over.
 */
static struct rdma_user_mmap_entry *report_find_object(struct mlx5_ib_ucontext *context,
						       unsigned long *pgoff)
{
	struct rdma_user_mmap_entry *rdma_entry;

	lockdep_assert_held(&context->ibucontext.mmap_xa.xa_lock);
	xa_for_each_range(&context->ibucontext.mmap_xa, *pgoff, rdma_entry, *pgoff,
			  MLX5_IB_MMAP_OFFSET_END)
		if (mlx5_ib_is_uar_object(to_mmmap(rdma_entry)) && kref_read(&rdma_entry->ref))
			return rdma_entry;
	return NULL;
}

static u32 report_count_objects(struct mlx5_ib_ucontext *context)
{
	unsigned long pgoff;
	u32 objects = 0;

	for (pgoff = MLX5_IB_MMAP_OFFSET_START; report_find_object(context, &pgoff); pgoff++)
		objects++;
	return objects;
}

static void report_count(struct mlx5_ib_ucontext *context, struct bluebell_uar_report_resp *num)
{
	const struct mlx5_bfreg_info *bfregi = &context->bfregi;
	const struct mlx5_bfreg_layout *layout = &bfregi->layout;
	u32 page, pages = 0;

	lockdep_assert_held(&bfregi->lock);
	for (page = 0; page < layout->num_sys_pages; page++)
		pages += bfregi->sys_pages[page] != MLX5_IB_INVALID_UAR_INDEX;
	*num = (struct bluebell_uar_report_resp){
		.num_uars = pages * layout->uars_per_sys_page,
		.num_queues = bfregi->num_bells,
	};
	num->num_bfregs = num->num_uars * MLX5_NON_FP_BFREGS_PER_UAR;

	xa_lock(&context->ibucontext.mmap_xa);
	num->num_uars += report_count_objects(context) * layout->uars_per_sys_page;
	xa_unlock(&context->ibucontext.mmap_xa);
}

static bool report_fits(const struct bluebell_uar_report_resp *num,
			const struct bluebell_uar_report_req *room)
{
	return num->num_uars <= room->max_uars && num->num_bfregs <= room->max_bfregs &&
	       num->num_queues <= room->max_queues;
}

static int report_alloc(struct mlx5_ib_uar_report *report)
{
	report->uars = kvzalloc_objs(*report->uars, report->num.num_uars, GFP_KERNEL_ACCOUNT);
	report->bfregs = kvzalloc_objs(*report->bfregs, report->num.num_bfregs,
				       GFP_KERNEL_ACCOUNT);
	report->queues = kvzalloc_objs(*report->queues, report->num.num_queues,
				       GFP_KERNEL_ACCOUNT);
	return report->uars && report->bfregs && report->queues ? 0 : -ENOMEM;
}

/* Count the mappings of a static or dynamic page: each has a reference to the page's entry. */
static u32 report_page_mappings(struct mlx5_ib_ucontext *context, u32 page)
{
	struct rdma_user_mmap_entry *rdma_entry;

	rdma_entry = xa_load(&context->ibucontext.mmap_xa,
			     mlx5_ib_uar_page_pgoff(&context->bfregi.layout, page));
	return rdma_entry ? kref_read(&rdma_entry->ref) : 0;
}

static void report_fill_page(struct mlx5_ib_ucontext *context, u32 page,
			     struct mlx5_ib_uar_report *report)
{
	const struct mlx5_bfreg_info *bfregi = &context->bfregi;
	const struct mlx5_bfreg_layout *layout = &bfregi->layout;
	bool is_static = page < layout->num_static_sys_pages;
	u32 mappings = report_page_mappings(context, page);
	u32 i, bfreg, uar;

	bfreg = page * layout->uars_per_sys_page * MLX5_NON_FP_BFREGS_PER_UAR;
	for (i = 0; i < layout->uars_per_sys_page * MLX5_NON_FP_BFREGS_PER_UAR; i++) {
		uar = bfregi->sys_pages[page] + i / MLX5_NON_FP_BFREGS_PER_UAR;
		report->bfregs[report->num.num_bfregs++] = (struct bluebell_bfreg){
			.number = bfreg + i,
			.uar = uar,
			.bfreg_class = mlx5_ib_bfreg_class(layout, bfreg + i),
			.slot = i % MLX5_NON_FP_BFREGS_PER_UAR,
		};
		if (i % MLX5_NON_FP_BFREGS_PER_UAR)
			continue;
		report->uars[report->num.num_uars++] = (struct bluebell_uar){
			.index = uar,
			.origin = is_static ? BLUEBELL_UAR_STATIC : BLUEBELL_UAR_DYNAMIC,
			.kind = bfregi->blueflame ? MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF :
						    MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC,
			.mappings = mappings,
		};
	}
}

/*
 * Describe the UARs of a UAR object. Each reference to the object is counted as a mapping here;
 * report_add_up() subtracts those of the queues in the report.
 */
static void report_fill_object(struct mlx5_ib_ucontext *context,
			       const struct rdma_user_mmap_entry *rdma_entry,
			       struct mlx5_ib_uar_report *report)
{
	const struct mlx5_user_mmap_entry *entry =
		container_of_const(rdma_entry, struct mlx5_user_mmap_entry, rdma_entry);
	u32 refs = kref_read(&rdma_entry->ref);
	u32 i;

	for (i = 0; i < context->bfregi.layout.uars_per_sys_page; i++)
		report->uars[report->num.num_uars++] = (struct bluebell_uar){
			.index = entry->page_id + i,
			.origin = BLUEBELL_UAR_OBJECT,
			.kind = entry->wc ? MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF :
					    MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC,
			.flags = rdma_entry->driver_removed ? BLUEBELL_UAR_FREED : 0,
			.mappings = refs && !rdma_entry->driver_removed ? refs - 1 : refs,
		};
}

static void report_fill(struct mlx5_ib_ucontext *context, struct mlx5_ib_uar_report *report)
{
	const struct mlx5_bfreg_info *bfregi = &context->bfregi;
	struct rdma_user_mmap_entry *rdma_entry;
	const struct mlx5_ib_bell *bell;
	unsigned long pgoff;
	u32 page;

	lockdep_assert_held(&bfregi->lock);
	report->num = (struct bluebell_uar_report_resp){};
	list_for_each_entry(bell, &bfregi->bells, node)
		report->queues[report->num.num_queues++] = bell->queue;
	WARN_ON_ONCE(report->num.num_queues != bfregi->num_bells);

	xa_lock(&context->ibucontext.mmap_xa);
	for (page = 0; page < bfregi->layout.num_sys_pages; page++)
		if (bfregi->sys_pages[page] != MLX5_IB_INVALID_UAR_INDEX)
			report_fill_page(context, page, report);
	for (pgoff = MLX5_IB_MMAP_OFFSET_START;
	     (rdma_entry = report_find_object(context, &pgoff)); pgoff++)
		report_fill_object(context, rdma_entry, report);
	xa_unlock(&context->ibucontext.mmap_xa);
}

/*
 * Compare two entries by their first member, by which lists of struct bluebell_uar and of struct
 * bluebell_bfreg are sorted.
 */
static int report_compare(const void *a, const void *b)
{
	return cmp_int(*(const u32 *)a, *(const u32 *)b);
}

static_assert(!offsetof(struct bluebell_uar, index));
static_assert(!offsetof(struct bluebell_bfreg, number));

static struct bluebell_uar *report_find_uar(struct mlx5_ib_uar_report *report, u32 index)
{
	return bsearch(&index, report->uars, report->num.num_uars, sizeof(*report->uars),
		       report_compare);
}

/* A queue on the UAR @index has a reference to the UAR's object, which is not a mapping. */
static void report_drop_mapping(struct mlx5_ib_uar_report *report,
				const struct mlx5_bfreg_layout *layout, u32 index)
{
	u32 first = mlx5_ib_first_uar(layout, index);
	struct bluebell_uar *uar;
	u32 i;

	for (i = 0; i < layout->uars_per_sys_page; i++) {
		uar = report_find_uar(report, first + i);
		if (uar && uar->mappings)
			uar->mappings--;
	}
}

static void report_add_queue(struct mlx5_ib_uar_report *report,
			     const struct mlx5_bfreg_layout *layout,
			     const struct bluebell_queue *queue)
{
	struct bluebell_uar *uar = report_find_uar(report, queue->uar);
	struct bluebell_bfreg *bfreg;

	if (WARN_ON_ONCE(!uar))
		return;
	if (queue->type == BLUEBELL_QUEUE_QP)
		uar->num_qps++;
	else
		uar->num_cqs++;
	if (uar->origin == BLUEBELL_UAR_OBJECT)
		report_drop_mapping(report, layout, queue->uar);
	bfreg = bsearch(&queue->bfreg, report->bfregs, report->num.num_bfregs, sizeof(*bfreg),
			report_compare);
	if (bfreg)
		bfreg->num_qps++;
}

/*
 * Sort the UARs, and add the queues to the counts of their UARs and bfregs. The caller holds no
 * lock, because this takes long if there are many queues.
 */
static void report_add_up(struct mlx5_ib_uar_report *report,
			  const struct mlx5_bfreg_layout *layout)
{
	u32 i;

	sort(report->uars, report->num.num_uars, sizeof(*report->uars), report_compare, NULL);
	for (i = 0; i < report->num.num_queues; i++)
		report_add_queue(report, layout, &report->queues[i]);
}

/**
 * mlx5_ib_uar_report_get - report the UARs of a context
 * @context: the context
 * @room: how many entries the caller has room for; NULL for any number
 * @report: gets the numbers of entries, also if the result is -ENOSPC; on success also the lists.
 *	mlx5_ib_uar_report_free() has to be called in every case
 *
 * The three lists are of one moment: pages and queues change only under the lock of the bfregs,
 * under which entries of UAR objects are inserted, too. UAR objects are freed without that lock,
 * but the UAR object of a queue in the list stays: a queue leaves the list before it puts its
 * reference to the object.
 *
 * May sleep; waits for an ALLOC_UAR of a dynamic page that is in progress.
 *
 * Return: 0, -ENOSPC if there are more entries than @room, or -ENOMEM.
 */
int mlx5_ib_uar_report_get(struct mlx5_ib_ucontext *context,
			   const struct bluebell_uar_report_req *room,
			   struct mlx5_ib_uar_report *report)
{
	*report = (struct mlx5_ib_uar_report){};
	scoped_guard(mutex, &context->bfregi.lock) {
		report_count(context, &report->num);
		if (room && !report_fits(&report->num, room))
			return -ENOSPC;
		if (report_alloc(report))
			return -ENOMEM;
		report_fill(context, report);
	}
	/* The layout is constant as long as the context is open. */
	report_add_up(report, &context->bfregi.layout);
	return 0;
}

/**
 * mlx5_ib_uar_report_free - free a report
 * @report: filled by mlx5_ib_uar_report_get()
 */
void mlx5_ib_uar_report_free(struct mlx5_ib_uar_report *report)
{
	kvfree(report->uars);
	kvfree(report->bfregs);
	kvfree(report->queues);
}

/* ---- the ioctl interface ---------------------------------------------------------- */

static int report_copy_list(u64 to, const void *list, u32 num, size_t size)
{
	return copy_to_user(u64_to_user_ptr(to), list, array_size(num, size)) ? -EFAULT : 0;
}

static int report_copy_lists(const struct mlx5_ib_uar_report *report,
			     const struct bluebell_uar_report_req *req)
{
	return report_copy_list(req->uars, report->uars, report->num.num_uars,
				sizeof(*report->uars)) ?:
	       report_copy_list(req->bfregs, report->bfregs, report->num.num_bfregs,
				sizeof(*report->bfregs)) ?:
	       report_copy_list(req->queues, report->queues, report->num.num_queues,
				sizeof(*report->queues));
}

/* Report the UARs of the file's context: a process cannot name the context of another file. */
static int UVERBS_HANDLER(BLUEBELL_METHOD_UAR_REPORT)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct mlx5_ib_uar_report report;
	struct bluebell_uar_report_req req;
	int err, copied;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uverbs_copy_from_or_zero(&req, attrs, BLUEBELL_ATTR_UAR_REPORT_REQ);
	if (err)
		return err;
	if (req.reserved)
		return refuse(to_mdev(uctx->device)->mdev, -EOPNOTSUPP,
			      "report of UARs with reserved %#x, must be 0", req.reserved);
	/* No lock is held while memory of the process is written, which may fault. */
	err = mlx5_ib_uar_report_get(to_mucontext(uctx), &req, &report);
	if (!err)
		err = report_copy_lists(&report, &req);
	if (!err || err == -ENOSPC) {
		copied = uverbs_copy_to_struct_or_zero(attrs, BLUEBELL_ATTR_UAR_REPORT_RESP,
						       &report.num, sizeof(report.num));
		err = copied ?: err;
	}
	mlx5_ib_uar_report_free(&report);
	return err;
}

/* A request longer than the driver's struct is accepted if the bytes beyond the struct are zero. */
#define REPORT_REQ	UVERBS_ATTR_STRUCT(struct bluebell_uar_report_req, reserved)
#define REPORT_RESP	UVERBS_ATTR_STRUCT(struct bluebell_uar_report_resp, reserved)

DECLARE_UVERBS_NAMED_METHOD(BLUEBELL_METHOD_UAR_REPORT,
			    UVERBS_ATTR_PTR_IN(BLUEBELL_ATTR_UAR_REPORT_REQ, REPORT_REQ,
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(BLUEBELL_ATTR_UAR_REPORT_RESP, REPORT_RESP,
						UA_MANDATORY));

ADD_UVERBS_METHODS(bluebell_uar_report_methods, MLX5_IB_OBJECT_UAR,
		   &UVERBS_METHOD(BLUEBELL_METHOD_UAR_REPORT));

const struct uapi_definition mlx5_ib_uar_report_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(MLX5_IB_OBJECT_UAR, &bluebell_uar_report_methods),
	{},
};
