/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Making and removing DMA regions; using them is in hca.h.
 */
#ifndef BLUEBELL_MEM_H
#define BLUEBELL_MEM_H

#include "hca.h"

int mem_init(struct hca *hca);
void mem_exit(struct hca *hca);
int mem_map_fd(struct hca *hca, uint64_t iova, uint64_t size, int fd, uint64_t offset, bool read,
	       bool write);
int mem_unmap(struct hca *hca, uint64_t iova, uint64_t size);
void mem_unmap_all(struct hca *hca);

#endif
