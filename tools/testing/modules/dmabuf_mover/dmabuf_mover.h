/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/dmabuf_mover, for tests: dma-bufs of memory that moves when it is told to.
 */

#ifndef DMABUF_MOVER_H
#define DMABUF_MOVER_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct dmabuf_mover_create - make a dma-buf of zeros, whose pages are scattered
 * @size: bytes, a multiple of the page size
 * @fd: the result
 * @reserved: 0
 */
struct dmabuf_mover_create {
	__u64 size;
	__s32 fd;
	__u32 reserved;
};

/* The pages lie together, as far as there are such; otherwise each is mapped by itself. */
#define DMABUF_MOVER_TOGETHER	0x1

/**
 * struct dmabuf_mover_move - move a dma-buf's memory
 * @fd: the dma-buf
 * @flags: DMABUF_MOVER_*
 * @map_errno: from now on nobody may map it, and this is why; 0: they may
 * @reserved: 0
 *
 * Fails with EBUSY while it is pinned.
 */
struct dmabuf_mover_move {
	__s32 fd;
	__u32 flags;
	__u32 map_errno;
	__u32 reserved;
};

/**
 * struct dmabuf_mover_copy - read or write a dma-buf's memory, wherever it is
 * @fd: the dma-buf
 * @write: to the dma-buf
 * @offset: in the dma-buf
 * @length: bytes
 * @buf: address in the process
 */
struct dmabuf_mover_copy {
	__s32 fd;
	__u32 write;
	__u64 offset;
	__u64 length;
	__u64 buf;
};

/**
 * struct dmabuf_mover_stat - what has become of a dma-buf
 * @fd: the dma-buf
 * @mapped: mappings there are
 * @pinned: pins there are
 * @moves: since it was made
 * @maps: mappings there have ever been
 * @damaged: pages that somebody wrote to after they had been moved away from
 * @late: mappings that were still there when an importer had been told of a move
 * @reserved: 0
 */
struct dmabuf_mover_stat {
	__s32 fd;
	__u32 mapped;
	__u32 pinned;
	__u32 moves;
	__u32 maps;
	__u32 damaged;
	__u32 late;
	__u32 reserved;
};

#define DMABUF_MOVER_CREATE	_IOWR('m', 0xd0, struct dmabuf_mover_create)
#define DMABUF_MOVER_MOVE	_IOW('m', 0xd1, struct dmabuf_mover_move)
#define DMABUF_MOVER_COPY	_IOW('m', 0xd2, struct dmabuf_mover_copy)
#define DMABUF_MOVER_STAT	_IOWR('m', 0xd3, struct dmabuf_mover_stat)

#endif /* DMABUF_MOVER_H */
