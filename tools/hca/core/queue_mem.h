/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of a queue in the guest: the page list that CREATE commands bring, and access to the
 * queue by offset.
 */
#ifndef BLUEBELL_QUEUE_MEM_H
#define BLUEBELL_QUEUE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "count.h"

struct cmd;
struct hca;

struct queue_mem {
	uint64_t *pas;		/* guest addresses of the pages */
	uint32_t npages;
	unsigned int log_page;	/* log2 of the page size in bytes */
	uint32_t offset;	/* of the queue in the first page, bytes */
	size_t len;		/* of the queue, bytes */
};

uint8_t qmem_init(struct hca *hca, struct cmd *cmd, struct queue_mem *m, const uint8_t *pas,
		  size_t avail, unsigned int log_page, uint32_t offset, size_t len);
uint32_t qmem_offset(uint32_t page_offset, unsigned int log_page);
void qmem_free(struct queue_mem *m);
void *qmem_ptr(struct hca *hca, const struct queue_mem *m, size_t off, size_t len, bool write);
int qmem_read(struct hca *hca, const struct queue_mem *m, size_t off, void *buf, size_t len);
int qmem_write(struct hca *hca, const struct queue_mem *m, size_t off, const void *buf, size_t len);
enum drop_reason qmem_check_doorbell(struct hca *hca, const struct queue_mem *m, size_t off,
				     uint32_t cnt, uint16_t posted, const uint8_t *db);

#endif
