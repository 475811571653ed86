/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guest memory: the regions that the client mapped for DMA, and access to them by guest address.
 */
#ifndef BLUEBELL_MEM_H
#define BLUEBELL_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hca;

int mem_init(struct hca *hca);
void mem_exit(struct hca *hca);
int mem_map_fd(struct hca *hca, uint64_t iova, uint64_t size, int fd, uint64_t offset, bool read,
	       bool write);
int64_t mem_unmap(struct hca *hca, uint64_t iova, uint64_t size);
void mem_unmap_all(struct hca *hca);

void *mem_ptr(struct hca *hca, uint64_t iova, size_t len, bool write);
int mem_read(struct hca *hca, uint64_t iova, void *buf, size_t len);
int mem_write(struct hca *hca, uint64_t iova, const void *buf, size_t len);

#endif
