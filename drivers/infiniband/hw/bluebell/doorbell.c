// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbell records in a process's memory: each page that holds one is pinned
 * once, however many records lie in it, and found by its number and address space.
 */

#include <kunit/static_stub.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "bluebell.h"
#include "doorbell.h"

/* A record is a pair of 32-bit counters, and the device reads it as one. */
#define DB_RECORD_SIZE		8

/**
 * struct mlx5_ib_user_db_page - a pinned page with doorbell records
 * @node: in the context's table, under @number
 * @mm: address space that the page is in: after a fork, two processes have a page of
 *	the same number. Holds a reference so that a later address space cannot have the
 *	same address
 * @umem: the page
 * @number: its number: the user's address over PAGE_SIZE
 * @refs: records in use. Guarded by the context's db_lock.
 */
struct mlx5_ib_user_db_page {
	struct hlist_node node;
	struct mm_struct *mm;
	struct ib_umem *umem;
	unsigned long number;
	unsigned int refs;
};

/**
 * mlx5_ib_umem_get - pin memory of the calling process
 * @dev: device that will reach it
 * @addr: user address
 * @size: bytes
 * @access: enum ib_access_flags; what the device may do there
 *
 * The one place where pages are pinned, except for CQ buffers. They count
 * against RLIMIT_MEMLOCK. May sleep.
 *
 * Return: the pinned memory, for ib_umem_release(), or an ERR_PTR: -EINVAL for
 * a range that wraps, -ENOMEM beyond the limit, -EFAULT for memory that isn't
 * there or may not be written.
 */
struct ib_umem *mlx5_ib_umem_get(struct mlx5_ib_dev *dev, unsigned long addr, size_t size,
				 int access)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_umem_get, dev, addr, size, access);
	return ib_umem_get_va(&dev->ib_dev, addr, size, access);
}

static struct mlx5_ib_user_db_page *db_find_page(struct mlx5_ib_ucontext *context,
						 unsigned long number)
{
	struct mlx5_ib_user_db_page *page;

	hash_for_each_possible(context->db_pages, page, node, number)
		if (page->number == number && page->mm == current->mm)
			return page;
	return NULL;
}

static struct mlx5_ib_user_db_page *db_pin_page(struct mlx5_ib_ucontext *context,
						unsigned long number)
{
	struct mlx5_ib_user_db_page *page __free(kfree) = kzalloc_obj(*page);

	if (!page)
		return ERR_PTR(-ENOMEM);
	page->umem = mlx5_ib_umem_get(to_mdev(context->ibucontext.device), number << PAGE_SHIFT,
				      PAGE_SIZE, 0);
	if (IS_ERR(page->umem))
		return ERR_CAST(page->umem);

	page->number = number;
	page->mm = current->mm;
	mmgrab(page->mm);
	hash_add(context->db_pages, &page->node, number);
	return no_free_ptr(page);
}

static void db_unpin_page(struct mlx5_ib_user_db_page *page)
{
	hash_del(&page->node);
	ib_umem_release(page->umem);
	mmdrop(page->mm);
	kfree(page);
}

/**
 * mlx5_ib_db_map_user - let the device reach a doorbell record of a user
 * @context: of the calling process
 * @virt: user address of the record
 * @db: gets the record, with its DMA address
 *
 * Pins the page if no other record in it did. May sleep.
 *
 * Return: 0; -EINVAL for an address that isn't aligned to the record's eight
 * bytes; or why the page can't be pinned, as mlx5_ib_umem_get() says.
 */
int mlx5_ib_db_map_user(struct mlx5_ib_ucontext *context, unsigned long virt,
			struct mlx5_db *db)
{
	struct mlx5_ib_user_db_page *page;

	if (!IS_ALIGNED(virt, DB_RECORD_SIZE))
		return -EINVAL;

	guard(mutex)(&context->db_lock);
	page = db_find_page(context, virt >> PAGE_SHIFT);
	if (!page) {
		page = db_pin_page(context, virt >> PAGE_SHIFT);
		if (IS_ERR(page))
			return PTR_ERR(page);
	}
	page->refs++;
	db->u.user_page = page;
	db->dma = sg_dma_address(page->umem->sgt_append.sgt.sgl) + offset_in_page(virt);
	return 0;
}

/**
 * mlx5_ib_db_unmap_user - a doorbell record is no longer used by the device
 * @context: the one it was mapped in
 * @db: the record
 *
 * The last record of a page unpins it.
 */
void mlx5_ib_db_unmap_user(struct mlx5_ib_ucontext *context, struct mlx5_db *db)
{
	guard(mutex)(&context->db_lock);
	if (!--db->u.user_page->refs)
		db_unpin_page(db->u.user_page);
	db->u.user_page = NULL;
	db->dma = 0;
}
