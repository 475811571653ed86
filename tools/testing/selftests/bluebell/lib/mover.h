/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * dma-bufs whose memory moves on request: the exporter is tools/testing/modules/dmabuf_mover.
 */
#ifndef BLUEBELL_MOVER_H
#define BLUEBELL_MOVER_H

#include <stddef.h>
#include <stdint.h>

#include "dmabuf_mover.h"

#define NO_MOVER "the module dmabuf_mover was not built for this kernel"
/* A kernel that was configured without DMABUF_MOVE_NOTIFY; newer kernels have no such option. */
#define NO_MOVES "the kernel pins a dma-buf that a device has mapped"

int mover_load(void);
int mover_can_move(void);
const char *mover_missing(void);
int mover_create(size_t size);
int mover_move(int fd, uint32_t flags, int map_errno);
int mover_read(int fd, size_t offset, void *buf, size_t len);
int mover_write(int fd, size_t offset, const void *buf, size_t len);
int mover_stat(int fd, struct dmabuf_mover_stat *stat);
int mover_buffers(void);

#endif
