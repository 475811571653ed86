/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The memory that a queue shares with the device: its buffer and its doorbell record. Both belong
 * to a process, or both belong to the kernel.
 */

#ifndef BLUEBELL_BUF_H
#define BLUEBELL_BUF_H

#include <linux/mlx5/driver.h>
#include <linux/types.h>

#include "layout/layout_pages.h"
#include "lib/share.h"

struct ib_umem;
struct mlx5_ib_dev;
struct mlx5_ib_memic;
struct mlx5_ib_ucontext;
struct mlx5_user_mmap_entry;

/**
 * struct mlx5_ib_buf - buffer of a queue
 * @umem: pinned memory of a process; NULL if the buffer is the kernel's, and for a queue pair
 *	without queues
 * @size: bytes of @umem that the queue uses, from the first byte on
 * @frags: pages of the kernel, if the buffer is the kernel's
 * @geo: how the buffer is described in the device's context of the queue; zeroed for a queue pair
 *	without queues
 */
struct mlx5_ib_buf {
	struct ib_umem *umem;
	size_t size;
	struct mlx5_frag_buf frags;
	struct mlx5_ib_buf_geometry geo;
};

/**
 * struct mlx5_ib_queue_mem - what a queue shares with the device
 * @context: context of the process that owns the memory; NULL for memory of the kernel, and after
 *	mlx5_ib_queue_mem_leave_context()
 * @uar: UAR object on which the process rings the queue's doorbell, with a reference; NULL if the
 *	doorbell is on a UAR page of the context, or if the queue is the kernel's
 * @buf: the buffer
 * @share: counts the queue, or another object, against the limit of its user
 * @second: not for queues, but for an object that counts against two limits. For a memory key,
 *	@share counts the memory and @second the key; for a umem, @share counts the umem and @second
 *	its memory
 * @memic: not for queues, but for a memory key over device memory: that memory, with a reference,
 *	so that no other user gets the memory while the key exists; NULL for other objects
 * @db: the doorbell record, in a page of the process (@db.u.user_page) or of the
 *	kernel (@db.db)
 *
 * The driver unpins or frees the memory, and puts the UAR, after the device has destroyed the
 * queue. If the queue becomes an orphan (orphan.c), the orphan takes over the struct; the UAR is
 * then put at the latest when the context is freed. Orphans of other objects, too, keep in this
 * struct what they hold.
 */
struct mlx5_ib_queue_mem {
	struct mlx5_ib_ucontext *context;
	struct mlx5_user_mmap_entry *uar;
	struct mlx5_ib_buf buf;
	struct mlx5_ib_share share;
	struct mlx5_ib_share second;
	struct mlx5_ib_memic *memic;
	struct mlx5_db db;
};

/* buf.c */
int mlx5_ib_buf_init_user(struct mlx5_ib_buf *buf, struct ib_umem *umem, size_t size,
			  u8 max_offset);
void mlx5_ib_buf_free_user(struct mlx5_ib_buf *buf);
int mlx5_ib_buf_read(const struct mlx5_ib_buf *buf, size_t offset, void *dst, size_t len);

int mlx5_ib_queue_mem_map_user(struct mlx5_ib_queue_mem *mem, struct mlx5_ib_ucontext *context,
			       struct ib_umem *umem, size_t size, u8 max_offset, u64 db_addr);
void mlx5_ib_queue_mem_unmap_user(struct mlx5_ib_queue_mem *mem);
void mlx5_ib_queue_mem_leave_context(struct mlx5_ib_queue_mem *mem);
int mlx5_ib_queue_mem_alloc(struct mlx5_ib_dev *dev, struct mlx5_ib_queue_mem *mem, int size);
void mlx5_ib_queue_mem_free(struct mlx5_ib_dev *dev, struct mlx5_ib_queue_mem *mem);

/* doorbell.c */
int mlx5_ib_db_map_user(struct mlx5_ib_ucontext *context, u64 virt, struct mlx5_db *db);
void mlx5_ib_db_unmap_user(struct mlx5_ib_ucontext *context, struct mlx5_db *db);
void mlx5_ib_db_leave_context(struct mlx5_ib_ucontext *context, struct mlx5_db *db);
unsigned long mlx5_ib_db_user_address(const struct mlx5_db *db);

#endif /* BLUEBELL_BUF_H */
