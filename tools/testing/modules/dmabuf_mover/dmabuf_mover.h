/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/dmabuf_mover, for tests: dma-bufs whose memory moves on request.
 */

#ifndef DMABUF_MOVER_H
#define DMABUF_MOVER_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct dmabuf_mover_create - create a dma-buf of zeros, in scattered pages
 * @size: number of bytes, a multiple of the page size
 * @fd: output: descriptor of the dma-buf
 * @reserved: 0
 */
struct dmabuf_mover_create {
	__u64 size;
	__s32 fd;
	__u32 reserved;
};

/* Move the memory to contiguous pages, as far as there are any, and map these in long segments. */
#define DMABUF_MOVER_TOGETHER	0x1

/**
 * struct dmabuf_mover_move - move a dma-buf's memory
 * @fd: the dma-buf
 * @flags: DMABUF_MOVER_*
 * @map_errno: errno with which to refuse all mappings from now on; 0: allow them
 * @reserved: 0
 *
 * Fails with EBUSY while the dma-buf is pinned.
 */
struct dmabuf_mover_move {
	__s32 fd;
	__u32 flags;
	__u32 map_errno;
	__u32 reserved;
};

/**
 * struct dmabuf_mover_copy - read or write a dma-buf's memory by CPU
 * @fd: the dma-buf
 * @write: 1: copy to the dma-buf; 0: copy from it
 * @offset: first byte in the dma-buf
 * @length: number of bytes
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
 * struct dmabuf_mover_stat - counters of a dma-buf
 * @fd: the dma-buf
 * @mapped: present number of mappings
 * @pinned: present number of pins
 * @moves: moves since creation
 * @maps: mappings made since creation
 * @damaged: pages that were written to after the memory had left them
 * @late: mappings that still existed after the importers had been told of a move
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

/*
 * Returns 1 if the memory of a dma-buf can move while an importer that could follow a move has the
 * memory mapped; 0 if the kernel then pins the dma-buf.
 */
#define DMABUF_MOVER_CAN_MOVE	_IO('m', 0xd4)

#endif /* DMABUF_MOVER_H */
