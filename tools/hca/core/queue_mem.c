// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a queue: taking over its page list or a part of a umem, and access by offset; and
 * the doorbell record of a queue.
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
 * qmem_source_wq() - find the memory of a work queue
 * @wq: its context (struct mlx5_ifc_wq_bits), with the page list behind it
 *
 * Return: where the memory is.
 */
struct qmem_source qmem_source_wq(const uint8_t *wq)
{
	return (struct qmem_source){
		.pas = wq + IFC_SZ(wq),
		.log_page = IFC_GET(wq, wq, log_wq_pg_sz) + 12,
		.page_offset = IFC_GET(wq, wq, page_offset),
		.in_umem = IFC_GET(wq, wq, wq_umem_valid),
		.umem.id = IFC_GET(wq, wq, wq_umem_id),
		.umem.offset = IFC_GET64(wq, wq, wq_umem_offset),
	};
}

/**
 * dbr_source_wq() - find the doorbell record of a work queue
 * @wq: its context
 *
 * Return: where the doorbell record is.
 */
struct dbr_source dbr_source_wq(const uint8_t *wq)
{
	return (struct dbr_source){
		.addr = IFC_GET64(wq, wq, dbr_addr),
		.in_umem = IFC_GET(wq, wq, dbr_umem_valid),
		.umem_id = IFC_GET(wq, wq, dbr_umem_id),
	};
}

/* Refuse the number or offset of a umem if their valid bit is not set. */
static uint8_t check_no_umem(struct cmd *cmd, const char *what, uint32_t id, uint64_t offset)
{
	if (!id && !offset)
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_FIELDS,
			"umem %u, offset 0x%llx are given for the %s, but not their valid bit", id,
			(unsigned long long)offset, what);
}

static uint8_t qmem_init_umem(struct hca *hca, struct cmd *cmd, struct queue_mem *m,
			      const struct qmem_source *src, unsigned int align, uint64_t access)
{
	const struct umem_use use = {
		.len = m->len, .align = align, .page_64ths = src->umem_64ths, .access = access,
	};
	uint8_t st;

	if (src->page_offset)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_FIELDS,
				"page_offset is %u, must be 0 for a queue in a umem",
				src->page_offset);
	st = check_umem(hca, cmd, &src->umem, &use, &m->umem);
	if (st) {
		m->umem = NULL;
		return st;
	}
	m->umem->obj.refs++;
	m->npages = m->umem->nmtt;
	m->log_page = m->umem->log_page;
	m->offset = m->umem->page_offset + src->umem.offset;
	return ST_OK;
}

static uint8_t qmem_init_pages(struct hca *hca, struct cmd *cmd, struct queue_mem *m,
			       const struct qmem_source *src)
{
	size_t i, n, avail = cmd_left(cmd, src->pas);
	uint64_t page;

	if (!m->len)
		return ST_OK;
	if (m->log_page < 12 || m->log_page > 31)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QUEUE_PAGE_SIZE,
				"page size 2^%u is not supported", m->log_page);
	page = 1ull << m->log_page;
	n = (m->offset + m->len + page - 1) >> m->log_page;
	if (n > avail / 8)
		return cmd_fail(cmd, ST_BAD_INP_LEN, WHY_QUEUE_PAGES_MISSING,
				"%zu bytes need %zu pages, %zu given", m->len, n, avail / 8);
	m->pas = calloc(n, sizeof(*m->pas));
	if (!m->pas)
		return cmd_fail(cmd, ST_INTERNAL, WHY_NO_MEMORY, "no memory");
	m->npages = n;
	for (i = 0; i < n; i++) {
		m->pas[i] = get_be64(src->pas + 8 * i);
		if ((m->pas[i] & (page - 1)) || !mem_ptr(hca, m->pas[i], 1, true)) {
			uint64_t bad = m->pas[i];

			qmem_free(hca, m);
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_QUEUE_PAGE_ADDRESS,
					"page %zu at 0x%llx is misaligned or not mapped", i,
					(unsigned long long)bad);
		}
	}
	return ST_OK;
}

/**
 * qmem_init() - take over the memory of a queue: a page list, or a part of a umem
 * @hca: the HCA
 * @cmd: command that brings the list or names the umem
 * @m: filled in; for qmem_free()
 * @src: where the memory is
 * @len: bytes of the queue
 * @align: alignment that a queue in a umem needs; not used for a page list
 * @access: what the HCA does with the queue, which a umem has to allow
 *
 * Return: ST_OK; ST_BAD_INP_LEN for a short list; ST_BAD_PARAM for a page size out of range, for
 * pages that are misaligned or not mapped, and for fields that contradict each other; ST_INTERNAL
 * if memory is short; for a umem as check_umem().
 */
uint8_t qmem_init(struct hca *hca, struct cmd *cmd, struct queue_mem *m,
		  const struct qmem_source *src, size_t len, unsigned int align, uint64_t access)
{
	uint8_t st;

	*m = (struct queue_mem){
		.log_page = src->log_page, .len = len,
		.offset = qmem_offset(src->page_offset, src->log_page),
	};
	if (src->in_umem)
		return qmem_init_umem(hca, cmd, m, src, align, access);
	st = check_no_umem(cmd, "queue", src->umem.id, src->umem.offset);
	return st ? st : qmem_init_pages(hca, cmd, m, src);
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
 * qmem_free() - free a page list, or drop the reference to a umem
 * @hca: the HCA
 * @m: queue memory, may be empty
 */
void qmem_free(struct hca *hca, struct queue_mem *m)
{
	free(m->pas);
	if (m->umem)
		obj_put(hca, &m->umem->obj);
	m->pas = NULL;
	m->umem = NULL;
	m->npages = 0;
}

static uint8_t dbr_init_umem(struct hca *hca, struct cmd *cmd, struct doorbell_record *dbr,
			     const struct dbr_source *src, size_t len)
{
	const struct umem_place at = { .id = src->umem_id, .offset = src->addr };
	const struct umem_use use = { .len = len, .align = len, .access = UMEM_READ };
	struct umem *u;
	uint64_t pos;
	uint8_t st;

	st = check_umem(hca, cmd, &at, &use, &u);
	if (st)
		return st;
	pos = u->page_offset + at.offset;
	dbr->addr = umem_page(u, pos) + (pos & ((1ull << u->log_page) - 1));
	dbr->umem = u;
	u->obj.refs++;
	return ST_OK;
}

/**
 * dbr_init() - take over the doorbell record of a queue
 * @hca: the HCA
 * @cmd: command that says where the record is
 * @dbr: filled in; for dbr_free()
 * @src: where the record is
 * @len: bytes of the record, to which it has to be aligned
 *
 * Return: ST_OK; ST_BAD_PARAM if the record is misaligned or not mapped, or if a umem is
 * named without its valid bit; for a umem as check_umem().
 */
uint8_t dbr_init(struct hca *hca, struct cmd *cmd, struct doorbell_record *dbr,
		 const struct dbr_source *src, size_t len)
{
	uint8_t st;

	*dbr = (struct doorbell_record){ .addr = src->addr };
	if (src->in_umem)
		return dbr_init_umem(hca, cmd, dbr, src, len);
	st = check_no_umem(cmd, "doorbell record", src->umem_id, 0);
	if (st)
		return st;
	if (dbr->addr & (len - 1))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_DBR_MISALIGNED,
				"doorbell record at 0x%llx is misaligned",
				(unsigned long long)dbr->addr);
	if (!mem_ptr(hca, dbr->addr, len, true))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_DBR_NOT_MAPPED,
				"doorbell record at 0x%llx is not mapped",
				(unsigned long long)dbr->addr);
	return ST_OK;
}

/**
 * dbr_free() - drop the reference to the umem that a doorbell record is in
 * @hca: the HCA
 * @dbr: the record, may be empty
 */
void dbr_free(struct hca *hca, struct doorbell_record *dbr)
{
	if (dbr->umem)
		obj_put(hca, &dbr->umem->obj);
	dbr->umem = NULL;
}

/* Guest address of the page that has byte @pos, counted from the start of the first page. */
static uint64_t qmem_page(const struct queue_mem *m, uint64_t pos)
{
	return m->umem ? umem_page(m->umem, pos) : m->pas[pos >> m->log_page];
}

/**
 * qmem_ptr() - find the host address of a piece of a queue
 * @hca: the HCA
 * @m: queue memory
 * @off: bytes from the queue's start
 * @len: bytes
 * @write: the caller writes to the piece
 *
 * Return: the address; NULL if the piece is beyond the queue, straddles pages or is not mapped.
 */
void *qmem_ptr(struct hca *hca, const struct queue_mem *m, size_t off, size_t len, bool write)
{
	uint64_t page = 1ull << m->log_page;
	uint64_t pos = m->offset + off;
	uint64_t in_page = pos & (page - 1);

	if (off + len > m->len || in_page + len > page || pos >> m->log_page >= m->npages)
		return NULL;
	return mem_ptr(hca, qmem_page(m, pos) + in_page, len, write);
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
		uint64_t addr = qmem_page(m, pos) + (pos & (page - 1));
		uint64_t run = page - (pos & (page - 1));
		size_t n = run < len ? run : len;

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
 * qmem_check_doorbell() - compare a send doorbell with the WQE whose index it has
 * @hca: the HCA
 * @m: queue memory
 * @off: bytes from its start to the send queue
 * @cnt: WQEBBs of the send queue, a power of two
 * @posted: WQEBB counter of the doorbell record
 * @db: the 8 bytes that were written to the register
 *
 * Software writes the WQE first, then the record, then the start of the WQE to the register.
 *
 * Return: DROP_NO_WQE if the record announces no WQE of this index, DROP_BAD_WQE if the WQE starts
 * with other bytes, DROP_REASONS if nothing is wrong.
 */
enum drop_reason qmem_check_doorbell(struct hca *hca, const struct queue_mem *m, size_t off,
				     uint32_t cnt, uint16_t posted, const uint8_t *db)
{
	uint16_t idx = get_be32(db) >> 8;
	uint8_t wqe[8];

	if ((uint16_t)(posted - 1 - idx) >= cnt)
		return DROP_NO_WQE;
	/*
	 * A WQE that cannot be read here cannot be fetched, either, and the fetch puts the queue
	 * into error.
	 */
	if (qmem_read(hca, m, off + (size_t)(idx & (cnt - 1)) * 64, wqe, sizeof(wqe)))
		return DROP_REASONS;
	return memcmp(wqe, db, sizeof(wqe)) ? DROP_BAD_WQE : DROP_REASONS;
}
