// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a queue: taking over its page list, and access by offset.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "mem.h"
#include "queue_mem.h"

/**
 * qmem_init() - take over the page list of a queue
 * @hca: the HCA
 * @cmd: command that brings the list
 * @m: filled in; for qmem_free()
 * @pas: big-endian page addresses
 * @avail: bytes of them that came
 * @log_page: log2 of the page size in bytes
 * @offset: bytes into the first page at which the queue starts
 * @len: bytes of the queue
 *
 * Return: ST_OK; ST_BAD_INP_LEN for a short list; ST_BAD_PARAM for a page size out of range and for
 * pages that are misaligned or not mapped.
 */
uint8_t qmem_init(struct hca *hca, struct cmd *cmd, struct queue_mem *m, const uint8_t *pas,
		  size_t avail, unsigned int log_page, uint32_t offset, size_t len)
{
	uint64_t page;
	size_t i, n;

	*m = (struct queue_mem){ .log_page = log_page, .offset = offset, .len = len };
	if (!len)
		return ST_OK;
	if (log_page < 12 || log_page > 31)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QUEUE_PAGE_SIZE,
				"page size 2^%u is not supported", log_page);
	page = 1ull << log_page;
	n = (offset + len + page - 1) >> log_page;
	if (n > avail / 8)
		return cmd_fail(cmd, ST_BAD_INP_LEN, WHY_QUEUE_PAGES_MISSING,
				"%zu bytes need %zu pages, %zu given", len, n, avail / 8);
	m->pas = calloc(n, sizeof(*m->pas));
	if (!m->pas)
		return cmd_fail(cmd, ST_INTERNAL, WHY_NO_MEMORY, "no memory");
	m->npages = n;
	for (i = 0; i < n; i++) {
		m->pas[i] = get_be64(pas + 8 * i);
		if ((m->pas[i] & (page - 1)) || !mem_ptr(hca, m->pas[i], 1, true)) {
			uint64_t bad = m->pas[i];

			qmem_free(m);
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_QUEUE_PAGE_ADDRESS,
					"page %zu at 0x%llx is misaligned or not mapped", i,
					(unsigned long long)bad);
		}
	}
	return ST_OK;
}

/**
 * qmem_offset() - compute where a queue starts in its first page
 * @page_offset: of a context, in 1/64 pages
 * @log_page: log2 of the page size in bytes
 *
 * Return: bytes; 0 for a page size that qmem_init() refuses.
 */
uint32_t qmem_offset(uint32_t page_offset, unsigned int log_page)
{
	return log_page > 31 ? 0 : page_offset << (log_page - 6);
}

/**
 * qmem_free() - free a page list
 * @m: queue memory, may be empty
 */
void qmem_free(struct queue_mem *m)
{
	free(m->pas);
	m->pas = NULL;
	m->npages = 0;
}

/**
 * qmem_ptr() - find the host address of a piece of a queue
 * @hca: the HCA
 * @m: queue memory
 * @off: bytes from the queue's start
 * @len: bytes
 * @write: it will be written
 *
 * Return: the address, NULL if the piece straddles pages or is not mapped.
 */
void *qmem_ptr(struct hca *hca, const struct queue_mem *m, size_t off, size_t len, bool write)
{
	uint64_t page = 1ull << m->log_page;
	uint64_t pos = m->offset + off;
	uint64_t in_page = pos & (page - 1);

	if (off + len > m->len || in_page + len > page || pos >> m->log_page >= m->npages)
		return NULL;
	return mem_ptr(hca, m->pas[pos >> m->log_page] + in_page, len, write);
}

static int qmem_copy(struct hca *hca, const struct queue_mem *m, size_t off, uint8_t *buf,
		     size_t len, bool write)
{
	uint64_t page = 1ull << m->log_page;
	int ret = 0;

	if (off > m->len || len > m->len - off)
		return -EFAULT;
	while (len && !ret) {
		uint64_t pos = m->offset + off;
		uint64_t addr = m->pas[pos >> m->log_page] + (pos & (page - 1));
		size_t n = page - (pos & (page - 1));

		if (n > len)
			n = len;
		ret = write ? mem_write(hca, addr, buf, n) : mem_read(hca, addr, buf, n);
		off += n;
		buf += n;
		len -= n;
	}
	return ret;
}

/**
 * qmem_read() - copy from a queue
 * @hca: the HCA
 * @m: queue memory
 * @off: bytes from the queue's start
 * @buf: destination
 * @len: bytes
 *
 * Return: 0, or -EFAULT beyond the queue or where guest memory is not mapped.
 */
int qmem_read(struct hca *hca, const struct queue_mem *m, size_t off, void *buf, size_t len)
{
	return qmem_copy(hca, m, off, buf, len, false);
}

/**
 * qmem_write() - copy into a queue
 * @hca: the HCA
 * @m: queue memory
 * @off: bytes from the queue's start
 * @buf: source
 * @len: bytes
 *
 * Return: 0, or -EFAULT beyond the queue or where guest memory is not mapped.
 */
int qmem_write(struct hca *hca, const struct queue_mem *m, size_t off, const void *buf, size_t len)
{
	return qmem_copy(hca, m, off, (uint8_t *)(uintptr_t)buf, len, true);
}

/**
 * qmem_check_doorbell() - compare a send doorbell with the WQE that it is about
 * @hca: the HCA
 * @m: the memory
 * @off: of the send queue in it
 * @cnt: WQEBBs of the send queue, a power of two
 * @posted: WQEBB counter of the doorbell record
 * @db: the 8 bytes that were written to the register
 *
 * Software writes the WQE first, then the record, then the start of the WQE to the register.
 *
 * Return: DROP_NO_WQE if the record announces no WQE of this index, DROP_BAD_WQE if the WQE starts
 * with other bytes, else DROP_REASONS.
 */
enum drop_reason qmem_check_doorbell(struct hca *hca, const struct queue_mem *m, size_t off,
				     uint32_t cnt, uint16_t posted, const uint8_t *db)
{
	uint16_t idx = get_be32(db) >> 8;
	uint8_t wqe[8];

	if ((uint16_t)(posted - 1 - idx) >= cnt)
		return DROP_NO_WQE;
	/* The fetch of a WQE that cannot be read fails, too, and puts the queue into error. */
	if (qmem_read(hca, m, off + (size_t)(idx & (cnt - 1)) * 64, wqe, sizeof(wqe)))
		return DROP_REASONS;
	return memcmp(wqe, db, sizeof(wqe)) ? DROP_BAD_WQE : DROP_REASONS;
}
