/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of a queue in the guest: the page list that CREATE commands bring, or the umem that
 * they name, and access to the queue by offset; and the doorbell record of a queue.
 */
#ifndef BLUEBELL_QUEUE_MEM_H
#define BLUEBELL_QUEUE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "count.h"
#include "umem.h"

struct cmd;
struct hca;

struct queue_mem {
	uint64_t *pas;		/* guest addresses of the pages; NULL if the queue is in a umem */
	uint32_t npages;
	unsigned int log_page;	/* log2 of the page size in bytes */
	uint64_t offset;	/* bytes from the start of the first page to the queue */
	size_t len;		/* of the queue, bytes */
	struct umem *umem;	/* the umem with the queue; a reference */
};

/* Where the memory of a queue is, as a command says: in pages that it lists, or in a umem. */
struct qmem_source {
	const uint8_t *pas;	/* big-endian addresses of the pages, up to the end of the input */
	unsigned int log_page;	/* log2 of the page size in bytes */
	uint32_t page_offset;	/* of the queue in the first page, in 1/64 pages */
	bool in_umem;
	struct umem_place umem;
	bool umem_64ths;	/* a queue in a umem has to begin at a multiple of 1/64 page */
};

/* Where a doorbell record is, as a context says: at an address, or in a umem. */
struct dbr_source {
	uint64_t addr;		/* guest address, or the offset in the umem */
	bool in_umem;
	uint32_t umem_id;
};

struct doorbell_record {
	uint64_t addr;		/* guest address */
	struct umem *umem;	/* the umem with the record, a reference; or NULL */
};

struct qmem_source qmem_source_wq(const uint8_t *wq);
struct dbr_source dbr_source_wq(const uint8_t *wq);
uint8_t qmem_init(struct hca *hca, struct cmd *cmd, struct queue_mem *m,
		  const struct qmem_source *src, size_t len, unsigned int align, uint64_t access);
uint32_t qmem_offset(uint32_t page_offset, unsigned int log_page);
void qmem_free(struct hca *hca, struct queue_mem *m);
uint8_t dbr_init(struct hca *hca, struct cmd *cmd, struct doorbell_record *dbr,
		 const struct dbr_source *src, size_t len);
void dbr_free(struct hca *hca, struct doorbell_record *dbr);
void *qmem_ptr(struct hca *hca, const struct queue_mem *m, size_t off, size_t len, bool write);
int qmem_read(struct hca *hca, const struct queue_mem *m, size_t off, void *buf, size_t len);
int qmem_write(struct hca *hca, const struct queue_mem *m, size_t off, const void *buf, size_t len);
enum drop_reason qmem_check_doorbell(struct hca *hca, const struct queue_mem *m, size_t off,
				     uint32_t cnt, uint16_t posted, const uint8_t *db);

#endif
