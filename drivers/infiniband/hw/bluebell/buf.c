// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The memory that a queue shares with the device: its buffer, which the command
 * that creates the queue describes by a translation list, and its doorbell record.
 * Each page of a process that holds doorbell records is pinned once, however many
 * records lie in it, and found by its number and address space.
 */

#include <kunit/static_stub.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/overflow.h>
#include <linux/rbtree.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <rdma/ib_umem.h>

#include "bluebell.h"
#include "buf.h"
#include "fw.h"
#include "layout_mkey.h"
#include "trace.h"

/* The translation list is the last part of each command that has one. */
static_assert(MLX5_BYTE_OFF(create_cq_in, pas) == MLX5_ST_SZ_BYTES(create_cq_in));
static_assert(MLX5_BYTE_OFF(modify_cq_in, pas) == MLX5_ST_SZ_BYTES(modify_cq_in));
static_assert(MLX5_BYTE_OFF(create_qp_in, pas) == MLX5_ST_SZ_BYTES(create_qp_in));
static_assert(MLX5_BYTE_OFF(create_rmp_in, ctx.wq.pas) == MLX5_ST_SZ_BYTES(create_rmp_in));
static_assert(MLX5_BYTE_OFF(create_xrc_srq_in, pas) == MLX5_ST_SZ_BYTES(create_xrc_srq_in));

/* A record is a pair of 32-bit counters, and the device reads it as one. */
#define DB_RECORD_SIZE		8

/**
 * struct mlx5_ib_user_db_page - a pinned page with doorbell records
 * @node: in the context's tree, by @number and @mm
 * @mm: address space that the page is in: after a fork, two processes have a page of
 *	the same number. Holds a reference so that a later address space cannot have the
 *	same address
 * @umem: the page
 * @number: its number: the user's address over PAGE_SIZE
 * @refs: records in use. Guarded by the context's db_lock, or, of a page without context, by the
 *	lock of struct mlx5_ib_orphans
 */
struct mlx5_ib_user_db_page {
	struct rb_node node;
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
 * Pins all memory that a process names by its address, except for the buffer of a new CQ (cq.c).
 * ib_core pins buffers that a process names by an attribute of the call, and exporters pin their
 * dma-bufs. The pages count against RLIMIT_MEMLOCK. May sleep.
 *
 * Return: the pinned memory, for ib_umem_release(), or an ERR_PTR: -EINVAL for
 * a range that wraps, -EOVERFLOW for one that no process of this machine can have, -ENOMEM
 * beyond the limit, -EFAULT for memory that isn't there or may not be written.
 */
struct ib_umem *mlx5_ib_umem_get(struct mlx5_ib_dev *dev, u64 addr, u64 size, int access)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_umem_get, dev, addr, size, access);
	if (overflows_type(addr, unsigned long) || overflows_type(size, size_t))
		return ERR_PTR(-EOVERFLOW);
	return ib_umem_get_va(&dev->ib_dev, addr, size, access);
}

static int buf_find_geometry(struct mlx5_ib_buf *buf, u8 max_offset)
{
	unsigned long pgsz;

	/*
	 * Checked first because ib_umem_find_best_pgoff() keeps only the address bits
	 * that it is allowed to: with a misaligned start, the page count that
	 * ib_umem_release() takes off the process's account would be another.
	 */
	if (!IS_ALIGNED(buf->umem->address, MLX5_IB_QUEUE_ALIGNMENT))
		return -EINVAL;
	pgsz = ib_umem_find_best_pgoff(buf->umem, MLX5_IB_QUEUE_PAGE_SIZES,
				       ~(u64)(MLX5_IB_QUEUE_ALIGNMENT - 1));
	if (!pgsz)
		return -EINVAL;
	return mlx5_ib_quantize_geometry(ib_umem_start_dma_addr(buf->umem), pgsz, max_offset,
					 &buf->geo);
}

/**
 * mlx5_ib_buf_init_user - make pinned memory of a process the buffer of a queue
 * @buf: zeroed
 * @umem: the memory, or the ERR_PTR of a pin that failed. The buffer takes it over;
 *	after an error it is released.
 * @size: bytes of @umem that the queue has, at most all; the process may have pinned more
 * @max_offset: largest offset that the queue's context can hold:
 *	MLX5_IB_MAX_PAGE_OFFSET or MLX5_IB_MAX_WQ_PAGE_OFFSET
 *
 * Return: 0; the errno of the failed pin; or -EINVAL for memory that is not
 * aligned to 64 bytes, or whose offset the context cannot hold.
 */
int mlx5_ib_buf_init_user(struct mlx5_ib_buf *buf, struct ib_umem *umem, size_t size,
			  u8 max_offset)
{
	int err;

	if (IS_ERR(umem))
		return PTR_ERR(umem);
	buf->umem = umem;
	buf->size = size;
	err = buf_find_geometry(buf, max_offset);
	if (err)
		mlx5_ib_buf_free_user(buf);
	return err;
}

/**
 * mlx5_ib_buf_free_user - unpin the buffer of a queue
 * @buf: of mlx5_ib_buf_init_user(), or zeroed
 */
void mlx5_ib_buf_free_user(struct mlx5_ib_buf *buf)
{
	ib_umem_release(buf->umem);
	buf->umem = NULL;
}

static void buf_read_frags(const struct mlx5_frag_buf *frags, size_t offset, void *dst, size_t len)
{
	size_t num;

	for (; len; len -= num, offset += num, dst += num) {
		num = min(len, PAGE_SIZE - offset_in_page(offset));
		memcpy(dst, frags->frags[offset >> PAGE_SHIFT].buf + offset_in_page(offset), num);
	}
}

/**
 * mlx5_ib_buf_read - read what has been posted to a queue
 * @buf: buffer of the queue
 * @offset: first byte to read
 * @dst: gets the bytes
 * @len: number of bytes, all of them in the buffer
 *
 * May sleep.
 *
 * Return: 0; -EINVAL beyond the end of a process's buffer; -EOPNOTSUPP for a buffer in a dma-buf,
 * which need not be in memory that the CPU can read.
 */
int mlx5_ib_buf_read(const struct mlx5_ib_buf *buf, size_t offset, void *dst, size_t len)
{
	if (buf->umem && buf->umem->is_dmabuf)
		return -EOPNOTSUPP;
	if (buf->umem)
		return ib_umem_copy_from(dst, buf->umem, offset, len);
	buf_read_frags(&buf->frags, offset, dst, len);
	return 0;
}

/* Entries of the translation list. */
static u32 buf_num_pages(const struct mlx5_ib_buf *buf)
{
	unsigned long pgsz = 1UL << buf->geo.page_shift;

	if (!buf->umem)
		return buf->frags.npages;
	return DIV_ROUND_UP(ib_umem_dma_offset(buf->umem, pgsz) + buf->size, pgsz);
}

static void buf_fill_pas(struct mlx5_ib_buf *buf, __be64 *pas, u32 num)
{
	struct mlx5_ib_pas_iter iter;

	if (buf->umem) {
		mlx5_ib_start_pas(&iter, buf->umem, buf->geo.page_shift, 0);
		mlx5_ib_next_pas(&iter, pas, num);
	} else {
		mlx5_fill_page_frag_array(&buf->frags, pas);
	}
}

/**
 * mlx5_ib_buf_alloc_cmd - allocate a command that describes a buffer
 * @buf: the buffer; the list is empty for a queue pair without queues
 * @size: bytes of the command without its translation list
 * @inlen: bytes of the command
 *
 * May sleep.
 *
 * Return: the command, zeroed but for the translation list, for kvfree(); or NULL
 * without memory.
 */
void *mlx5_ib_buf_alloc_cmd(struct mlx5_ib_buf *buf, size_t size, int *inlen)
{
	u32 npas = buf_num_pages(buf);
	void *in;

	/* No queue that a context can describe has 2^28 pages. */
	*inlen = size + sizeof(__be64) * npas;
	/* It is freed with the answer, so only a large one would matter to the memory cgroup. */
	in = kvzalloc(*inlen, *inlen > PAGE_SIZE ? GFP_KERNEL_ACCOUNT : GFP_KERNEL);
	if (!in)
		return NULL;
	buf_fill_pas(buf, in + size, npas);
	return in;
}

/**
 * mlx5_ib_create_qp_cmd - create a queue pair at the device
 * @dev: device
 * @uid: firmware's user id of the owner
 * @mem: memory of the queue pair; zeroed for one without queues
 * @qpc: its context, struct mlx5_ifc_qpc_bits; the memory is filled in here
 * @qpn: gets its number
 * @ece: options of enhanced connection establishment that are asked for, and then
 *	those that the device has
 *
 * CREATE_QP, struct mlx5_ifc_create_qp_in_bits. May sleep.
 *
 * Return: 0, -ENOMEM, or the errno of a firmware refusal.
 */
int mlx5_ib_create_qp_cmd(struct mlx5_ib_dev *dev, u16 uid, struct mlx5_ib_queue_mem *mem,
			  void *qpc, u32 *qpn, u32 *ece)
{
	int inlen;

	void *in __free(kvfree) = mlx5_ib_buf_alloc_cmd(&mem->buf,
							MLX5_ST_SZ_BYTES(create_qp_in), &inlen);

	if (!in)
		return -ENOMEM;
	if (mem->buf.geo.page_shift) {
		MLX5_SET(qpc, qpc, log_page_size,
			 mem->buf.geo.page_shift - MLX5_ADAPTER_PAGE_SHIFT);
		MLX5_SET(qpc, qpc, page_offset, mem->buf.geo.page_offset);
	}
	MLX5_SET64(qpc, qpc, dbr_addr, mem->db.dma);
	MLX5_SET(create_qp_in, in, ece, *ece);
	memcpy(MLX5_ADDR_OF(create_qp_in, in, qpc), qpc, MLX5_ST_SZ_BYTES(qpc));
	return mlx5_fw_create_qp(dev, uid, in, inlen, qpn, ece);
}

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
	struct mlx5_ib_user_db_page *page __free(kfree) =
		kzalloc_obj(*page, GFP_KERNEL_ACCOUNT);

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

static void db_unpin_page(struct mlx5_ib_user_db_page *page)
{
	trace_db_page_unpin(page->umem->ibdev, page->number << PAGE_SHIFT, 0);
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
int mlx5_ib_db_map_user(struct mlx5_ib_ucontext *context, u64 virt, struct mlx5_db *db)
{
	struct mlx5_ib_user_db_page *page;

	if (!IS_ALIGNED(virt, DB_RECORD_SIZE))
		return -EINVAL;
	if (overflows_type(virt, unsigned long))
		return -EOVERFLOW;

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

/* Remove a page from its context. Queues may still use records in the page. */
static void db_remove_page(struct mlx5_ib_ucontext *context, struct mlx5_ib_user_db_page *page)
{
	guard(mutex)(&context->db_lock);
	if (RB_EMPTY_NODE(&page->node))
		return;
	rb_erase(&page->node, &context->db_pages);
	RB_CLEAR_NODE(&page->node);
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
	if (!--db->u.user_page->refs) {
		rb_erase(&db->u.user_page->node, &context->db_pages);
		db_unpin_page(db->u.user_page);
	}
	db->u.user_page = NULL;
	db->dma = 0;
}

/**
 * mlx5_ib_db_user_address - where a process has a doorbell record
 * @db: of mlx5_ib_db_map_user()
 *
 * Return: the address in the process.
 */
unsigned long mlx5_ib_db_user_address(const struct mlx5_db *db)
{
	return (db->u.user_page->number << PAGE_SHIFT) + offset_in_page(db->dma);
}

/**
 * mlx5_ib_queue_mem_map_user - take over the memory that a process gives a queue
 * @mem: zeroed, but for @mem->uar
 * @context: of the process
 * @umem: its buffer, pinned, or the ERR_PTR of a pin that failed; NULL for a queue
 *	pair without queues. Taken over.
 * @size: as for mlx5_ib_buf_init_user()
 * @max_offset: as for mlx5_ib_buf_init_user()
 * @db_addr: user address of the doorbell record
 *
 * After an error, too, the caller calls mlx5_ib_queue_mem_unmap_user(). May sleep.
 *
 * Return: 0; as mlx5_ib_buf_init_user(); or as mlx5_ib_db_map_user().
 */
int mlx5_ib_queue_mem_map_user(struct mlx5_ib_queue_mem *mem, struct mlx5_ib_ucontext *context,
			       struct ib_umem *umem, size_t size, u8 max_offset, u64 db_addr)
{
	int err = 0;

	mem->context = context;
	if (umem)
		err = mlx5_ib_buf_init_user(&mem->buf, umem, size, max_offset);
	return err ?: mlx5_ib_db_map_user(context, db_addr, &mem->db);
}

static void mem_put_uar(struct mlx5_ib_queue_mem *mem)
{
	if (mem->uar)
		rdma_user_mmap_entry_put(&mem->uar->rdma_entry);
	mem->uar = NULL;
}

/**
 * mlx5_ib_queue_mem_unmap_user - unpin the memory that a process gave a queue, and put
 *	its UAR
 * @mem: of mlx5_ib_queue_mem_map_user(), no longer used by the device; what it does not
 *	have is left out
 *
 * May sleep.
 */
void mlx5_ib_queue_mem_unmap_user(struct mlx5_ib_queue_mem *mem)
{
	struct mlx5_ib_user_db_page *page = mem->db.u.user_page;

	if (page && mem->context)
		mlx5_ib_db_unmap_user(mem->context, &mem->db);
	else if (page && !--page->refs)
		db_unpin_page(page);
	mlx5_ib_buf_free_user(&mem->buf);
	mem_put_uar(mem);
}

/**
 * mlx5_ib_queue_mem_leave_context - make memory that stays pinned independent of its context
 * @mem: of mlx5_ib_queue_mem_map_user(), of a queue that firmware refuses to destroy
 *
 * For a context that is about to be freed, none of whose other queues is left. Puts the UAR, on
 * which nothing rings the queue any more. The memory is unpinned as ever, but with the lock of
 * struct mlx5_ib_orphans held. May sleep.
 */
void mlx5_ib_queue_mem_leave_context(struct mlx5_ib_queue_mem *mem)
{
	if (mem->db.u.user_page)
		db_remove_page(mem->context, mem->db.u.user_page);
	mem_put_uar(mem);
	mem->context = NULL;
}

/**
 * mlx5_ib_queue_mem_alloc - allocate memory of the kernel for a queue
 * @dev: device
 * @mem: zeroed
 * @size: bytes of the buffer
 *
 * Buffer and doorbell record are zeroed. The buffer lies in pages that are not
 * contiguous. May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_queue_mem_alloc(struct mlx5_ib_dev *dev, struct mlx5_ib_queue_mem *mem, int size)
{
	struct mlx5_frag_buf *frags = &mem->buf.frags;
	struct mlx5_core_dev *mdev = dev->mdev;
	int err;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_queue_mem_alloc, dev, mem, size);

	err = mlx5_frag_buf_alloc_node(mdev, size, frags, mdev->priv.numa_node);
	if (err)
		return err;
	err = mlx5_db_alloc(mdev, &mem->db);
	if (err) {
		mlx5_frag_buf_free(mdev, frags);
		return err;
	}
	mem->buf.geo.page_shift = frags->page_shift;
	return 0;
}

/**
 * mlx5_ib_queue_mem_free - free the kernel's memory of a queue
 * @dev: device
 * @mem: of mlx5_ib_queue_mem_alloc(); no queue uses it. Zeroed if there is none, because it was
 *	never allocated or an orphan has it
 */
void mlx5_ib_queue_mem_free(struct mlx5_ib_dev *dev, struct mlx5_ib_queue_mem *mem)
{
	if (!mem->db.db)
		return;
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_queue_mem_free, dev, mem);

	mlx5_db_free(dev->mdev, &mem->db);
	mlx5_frag_buf_free(dev->mdev, &mem->buf.frags);
}
