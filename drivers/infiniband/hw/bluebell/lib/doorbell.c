// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbell records of processes: the words in a process's memory from which the device reads how
 * far a queue has been filled or emptied. In a context, a page that holds records is pinned only
 * once, however many records of the context lie in the page. The page is found by its number and
 * address space.
 */

#include <linux/overflow.h>
#include <linux/rbtree.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <rdma/ib_umem.h>

#include "fw/bluebell.h"
#include "fw/trace.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/umem.h"

/* Two 32-bit words, which the device reads at once, so a record is aligned to its size. */
#define DB_RECORD_SIZE		8

/**
 * struct mlx5_ib_user_db_page - a pinned page with doorbell records
 * @node: in the context's tree, by @number and @mm
 * @mm: address space that the page is in: after a fork, two processes have a page of the same
 *	number. Address spaces are compared by pointer; the reference to @mm keeps another struct
 *	mm_struct from getting the same address
 * @umem: the page
 * @number: number of the page: the user's address divided by PAGE_SIZE
 * @refs: records in use. Guarded by the context's db_lock or, once the page has left its context,
 *	by the lock of struct mlx5_ib_orphans
 */
struct mlx5_ib_user_db_page {
	struct rb_node node;
	struct mm_struct *mm;
	struct ib_umem *umem;
	unsigned long number;
	unsigned int refs;
};

static int db_compare_pages(const void *key, const struct rb_node *node)
{
	const struct mlx5_ib_user_db_page *a = key;
	const struct mlx5_ib_user_db_page *b = rb_entry(node, struct mlx5_ib_user_db_page, node);

	return cmp_int(a->number, b->number) ?: cmp_int(a->mm, b->mm);
}

static bool db_page_is_less(struct rb_node *node, const struct rb_node *other)
{
	return db_compare_pages(rb_entry(node, struct mlx5_ib_user_db_page, node), other) < 0;
}

static struct mlx5_ib_user_db_page *db_find_page(struct mlx5_ib_ucontext *context,
						 unsigned long number)
{
	const struct mlx5_ib_user_db_page key = { .number = number, .mm = current->mm };
	struct rb_node *node;

	lockdep_assert_held(&context->db_lock);
	node = rb_find(&key, &context->db_pages, db_compare_pages);
	return node ? rb_entry(node, struct mlx5_ib_user_db_page, node) : NULL;
}

static struct mlx5_ib_user_db_page *db_pin_page(struct mlx5_ib_ucontext *context,
						unsigned long number)
{
	struct mlx5_ib_user_db_page *page __free(kfree) = kzalloc_obj(*page, GFP_KERNEL_ACCOUNT);

	lockdep_assert_held(&context->db_lock);
	if (!page)
		return ERR_PTR(-ENOMEM);
	page->umem = mlx5_ib_umem_get(to_mdev(context->ibucontext.device), number << PAGE_SHIFT,
				      PAGE_SIZE, 0);
	trace_db_page_pin(context->ibucontext.device, number << PAGE_SHIFT,
			  PTR_ERR_OR_ZERO(page->umem));
	if (IS_ERR(page->umem))
		return ERR_CAST(page->umem);

	page->number = number;
	page->mm = current->mm;
	mmgrab(page->mm);
	rb_add(&page->node, &context->db_pages, db_page_is_less);
	return no_free_ptr(page);
}

/**
 * mlx5_ib_db_map_user - let the device reach a doorbell record of a user
 * @context: context of the calling process
 * @virt: user address of the record
 * @db: gets the record, with its DMA address
 *
 * Pins the page of the record, unless the context has pinned it for another record. May sleep.
 *
 * Return: 0; -EINVAL for an address that is not aligned to the record's eight bytes; -EOVERFLOW on
 * a 32-bit host for an address beyond 32 bits; -ENOMEM; or as mlx5_ib_umem_get() for a page
 * that cannot be pinned.
 */
int mlx5_ib_db_map_user(struct mlx5_ib_ucontext *context, u64 virt, struct mlx5_db *db)
{
	struct mlx5_ib_user_db_page *page;

	if (!IS_ALIGNED(virt, DB_RECORD_SIZE))
		return refuse(to_mdev(context->ibucontext.device)->mdev, -EINVAL,
			      "doorbell record at %#llx, not aligned to %u bytes", virt,
			      DB_RECORD_SIZE);
	if (overflows_type(virt, unsigned long))
		return refuse(to_mdev(context->ibucontext.device)->mdev, -EOVERFLOW,
			      "doorbell record at %#llx, which exceeds 32 bits", virt);

	guard(mutex)(&context->db_lock);
	page = db_find_page(context, virt >> PAGE_SHIFT) ?:
	       db_pin_page(context, virt >> PAGE_SHIFT);
	if (IS_ERR(page))
		return PTR_ERR(page);
	page->refs++;
	db->u.user_page = page;
	db->dma = sg_dma_address(page->umem->sgt_append.sgt.sgl) + offset_in_page(virt);
	return 0;
}

/*
 * Release one record of @page, and unpin the page if no record of the page is in use any more.
 * @pages is the tree that the page is in; NULL if the page has left its context.
 */
static void db_put_page(struct mlx5_ib_user_db_page *page, struct rb_root *pages)
{
	if (--page->refs)
		return;
	if (pages)
		rb_erase(&page->node, pages);
	trace_db_page_unpin(page->umem->ibdev, page->number << PAGE_SHIFT, 0);
	ib_umem_release(page->umem);
	mmdrop(page->mm);
	kfree(page);
}

/**
 * mlx5_ib_db_unmap_user - release a doorbell record that the device no longer uses
 * @context: context that the record was mapped in; NULL after mlx5_ib_db_leave_context()
 * @db: the record
 *
 * Unpins the page if none of its records is in use any more.
 */
void mlx5_ib_db_unmap_user(struct mlx5_ib_ucontext *context, struct mlx5_db *db)
{
	if (context) {
		guard(mutex)(&context->db_lock);
		db_put_page(db->u.user_page, &context->db_pages);
	} else {
		db_put_page(db->u.user_page, NULL);
	}
	db->u.user_page = NULL;
	db->dma = 0;
}

/**
 * mlx5_ib_db_leave_context - detach the page of a doorbell record from its context
 * @context: context that the record was mapped in, which is about to be freed
 * @db: the record, of a queue that firmware refuses to destroy
 *
 * The page stays pinned, and other orphans may have records in the page. From now on each record of
 * the page is unmapped with NULL for the context, under the lock of struct mlx5_ib_orphans.
 */
void mlx5_ib_db_leave_context(struct mlx5_ib_ucontext *context, struct mlx5_db *db)
{
	struct mlx5_ib_user_db_page *page = db->u.user_page;

	guard(mutex)(&context->db_lock);
	if (RB_EMPTY_NODE(&page->node))
		return;
	rb_erase(&page->node, &context->db_pages);
	RB_CLEAR_NODE(&page->node);
}

/**
 * mlx5_ib_db_user_address - where a process has a doorbell record
 * @db: the record, after mlx5_ib_db_map_user()
 *
 * Return: the address in the process.
 */
unsigned long mlx5_ib_db_user_address(const struct mlx5_db *db)
{
	return (db->u.user_page->number << PAGE_SHIFT) + offset_in_page(db->dma);
}
