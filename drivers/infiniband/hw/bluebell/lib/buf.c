// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The memory that a queue shares with the device: its buffer and its doorbell record.
 */

#include <kunit/static_stub.h>
#include <rdma/ib_umem.h>

#include "fw/bluebell.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/dm_pool.h"

static int buf_find_geometry(struct mlx5_ib_buf *buf, u8 max_offset)
{
	unsigned long pgsz;

	/*
	 * Check the alignment first: ib_umem_find_best_pgoff() sets the iova of the umem to the DMA
	 * address of the start, ANDed with the mask that is passed below, and ib_umem_release()
	 * computes from the iova how many pages to take off the process's account. If the start is
	 * misaligned, these may be fewer pages than were pinned.
	 */
	if (!IS_ALIGNED(buf->umem->address, MLX5_IB_QUEUE_ALIGNMENT))
		return refuse(to_mdev(buf->umem->ibdev)->mdev, -EINVAL,
			      "queue buffer at %#lx, not aligned to %u bytes", buf->umem->address,
			      MLX5_IB_QUEUE_ALIGNMENT);
	pgsz = ib_umem_find_best_pgoff(buf->umem, MLX5_IB_QUEUE_PAGE_SIZES,
				       ~(u64)(MLX5_IB_QUEUE_ALIGNMENT - 1));
	if (!pgsz)
		return refuse(to_mdev(buf->umem->ibdev)->mdev, -EINVAL,
			      "queue buffer at %#lx: no supported page size fits its DMA addresses",
			      buf->umem->address);
	return mlx5_ib_quantize_geometry(ib_umem_start_dma_addr(buf->umem), pgsz, max_offset,
					 &buf->geo);
}

/**
 * mlx5_ib_buf_init_user - make pinned memory of a process the buffer of a queue
 * @buf: zeroed
 * @umem: the memory, or the ERR_PTR of a pin that failed. The buffer takes the memory over; if this
 *	function fails, the memory is released.
 * @size: number of bytes that the queue uses, from the start of @umem on; @umem may be longer
 * @max_offset: largest page offset that the device's context of the queue can hold:
 *	MLX5_IB_MAX_PAGE_OFFSET or MLX5_IB_MAX_WQ_PAGE_OFFSET
 *
 * Return: 0; the errno of the failed pin; or -EINVAL for memory that is not aligned to 64 bytes,
 * whose DMA addresses no page size fits, or whose page offset is larger than @max_offset.
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
 * @buf: set up by mlx5_ib_buf_init_user(), or zeroed
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
 * @len: number of bytes. A buffer of the kernel must have them all; this is not checked
 *
 * May sleep.
 *
 * Return: 0; -EINVAL for bytes beyond the end of the memory that was pinned for a process's queue;
 * -EOPNOTSUPP for a buffer in a dma-buf, which need not be in memory that the CPU can read.
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

/**
 * mlx5_ib_queue_mem_map_user - take over the memory that a process provides for a queue
 * @mem: zeroed, but for @mem->uar and @mem->share
 * @context: context of the process
 * @umem: the buffer of the queue, pinned, or the ERR_PTR of a pin that failed; NULL for a queue
 *	pair without queues. @mem takes the memory over.
 * @size: as for mlx5_ib_buf_init_user()
 * @max_offset: as for mlx5_ib_buf_init_user()
 * @db_addr: user address of the doorbell record
 *
 * The caller calls mlx5_ib_queue_mem_unmap_user() after an error, too. May sleep.
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

static void mem_put_memic(struct mlx5_ib_queue_mem *mem)
{
	if (mem->memic)
		mlx5_ib_put_memic(mem->memic);
	mem->memic = NULL;
}

/**
 * mlx5_ib_queue_mem_unmap_user - release what a queue, or another object of a process, holds
 * @mem: set up by mlx5_ib_queue_mem_map_user(), or filled in by the caller for another object. The
 *	device no longer uses the memory. Parts that @mem does not have are skipped
 *
 * Unpins the memory, puts the references to a UAR object and to device memory, and takes the object
 * off the counts of its user (share.h). May sleep.
 */
void mlx5_ib_queue_mem_unmap_user(struct mlx5_ib_queue_mem *mem)
{
	if (mem->db.u.user_page)
		mlx5_ib_db_unmap_user(mem->context, &mem->db);
	mlx5_ib_buf_free_user(&mem->buf);
	mem_put_uar(mem);
	mem_put_memic(mem);
	mlx5_ib_share_give(&mem->share);
	mlx5_ib_share_give(&mem->second);
}

/**
 * mlx5_ib_queue_mem_leave_context - detach memory from its context, and leave the memory pinned
 * @mem: memory of an orphan of the context (orphan.c)
 *
 * The context is about to be freed, and none of its queues is left except orphans. Puts the UAR,
 * because no process can ring the queue's doorbell any more. From now on
 * mlx5_ib_queue_mem_unmap_user() is called for @mem under the lock of struct mlx5_ib_orphans. May
 * sleep.
 */
void mlx5_ib_queue_mem_leave_context(struct mlx5_ib_queue_mem *mem)
{
	if (mem->db.u.user_page)
		mlx5_ib_db_leave_context(mem->context, &mem->db);
	mem_put_uar(mem);
	mem->context = NULL;
}

/**
 * mlx5_ib_queue_mem_alloc - allocate memory of the kernel for a queue
 * @dev: device
 * @mem: zeroed
 * @size: bytes of the buffer
 *
 * Buffer and doorbell record are zeroed. The pages of the buffer need not be contiguous. May sleep.
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
 * @mem: memory of mlx5_ib_queue_mem_alloc() that no queue uses any more; zeroed if the memory was
 *	never allocated, or if an orphan (orphan.c) has taken the memory over
 */
void mlx5_ib_queue_mem_free(struct mlx5_ib_dev *dev, struct mlx5_ib_queue_mem *mem)
{
	if (!mem->db.db)
		return;
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_queue_mem_free, dev, mem);

	mlx5_db_free(dev->mdev, &mem->db);
	mlx5_frag_buf_free(dev->mdev, &mem->buf.frags);
}
