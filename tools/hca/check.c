// SPDX-License-Identifier: GPL-2.0
/*
 * Checks that several command handlers share: reserved fields that must be
 * zero, page lists, doorbell records, UARs and PDs that a context names.
 */
#include <errno.h>
#include <stdlib.h>
#include "check.h"

#define HCA_FILE_ID FILE_MISC

/**
 * ifc_first_set() - find a field that should be zero and is not
 * @p: the structure
 * @f: fields of it
 * @n: how many
 *
 * Return: name of the first field with a bit set, or NULL.
 */
const char *ifc_first_set(const void *p, const struct ifc_field *f, size_t n)
{
	size_t i, bit;

	for (i = 0; i < n; i++)
		for (bit = 0; bit < f[i].width; bit += 32) {
			size_t w = f[i].width - bit < 32 ? f[i].width - bit : 32;

			if (ifc_get_bits(p, f[i].off + bit, w))
				return f[i].name;
		}
	return NULL;
}

/**
 * cmd_left() - how much of a command's input lies behind a point
 * @cmd: the command
 * @p: address in its input, or beyond
 *
 * Return: bytes, 0 if @p is beyond the end.
 */
size_t cmd_left(const struct cmd *cmd, const uint8_t *p)
{
	const uint8_t *end = cmd->in + cmd->in_len;

	return p < end ? end - p : 0;
}

/**
 * qmem_init() - take over the page list of a queue
 * @hca: the function
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
	uint64_t page = 1ull << log_page;
	size_t n = (offset + len + page - 1) >> log_page;
	size_t i;

	*m = (struct queue_mem){ .log_page = log_page, .offset = offset, .len = len };
	if (!len)
		return ST_OK;
	if (log_page < 12 || log_page > 31)
		return cmd_fail(cmd, ST_BAD_PARAM, "page size 2^%u", log_page);
	if (n > avail / 8)
		return cmd_fail(cmd, ST_BAD_INP_LEN, "%zu bytes need %zu pages, %zu given", len, n,
				avail / 8);
	m->pas = calloc(n, sizeof(*m->pas));
	if (!m->pas)
		return cmd_fail(cmd, ST_INTERNAL, "no memory");
	m->npages = n;
	for (i = 0; i < n; i++) {
		m->pas[i] = get_be64(pas + 8 * i);
		if ((m->pas[i] & (page - 1)) || !mem_ptr(hca, m->pas[i], 1, true)) {
			uint64_t bad = m->pas[i];

			qmem_free(m);
			return cmd_fail(cmd, ST_BAD_PARAM, "bad page %zu at 0x%llx", i,
					(unsigned long long)bad);
		}
	}
	return ST_OK;
}

/**
 * qmem_offset() - where a queue starts in its first page
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
 * qmem_free() - forget a page list
 * @m: queue memory, may be empty
 */
void qmem_free(struct queue_mem *m)
{
	free(m->pas);
	m->pas = NULL;
	m->npages = 0;
}

/**
 * qmem_ptr() - host address of a piece of a queue
 * @hca: the function
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
 * @hca: the function
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
 * @hca: the function
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
 * check_dbr() - check the address of a doorbell record
 * @hca: the function
 * @cmd: command that gives it
 * @addr: guest address
 * @len: bytes of the record, to which it has to be aligned
 *
 * Return: ST_OK, or ST_BAD_PARAM when it is misaligned or not mapped.
 */
uint8_t check_dbr(struct hca *hca, struct cmd *cmd, uint64_t addr, size_t len)
{
	if (addr & (len - 1))
		return cmd_fail(cmd, ST_BAD_PARAM, "doorbell record at 0x%llx is misaligned",
				(unsigned long long)addr);
	if (!mem_ptr(hca, addr, len, true))
		return cmd_fail(cmd, ST_BAD_PARAM, "doorbell record at 0x%llx is not mapped",
				(unsigned long long)addr);
	return ST_OK;
}

/**
 * check_obj() - find an object that a command names
 * @hca: the function
 * @cmd: the command; its uid has to be allowed to use the object
 * @kind: of object
 * @num: its number
 * @o: the object, NULL on failure
 *
 * Return: ST_OK, or ST_BAD_RES when there is none for that user.
 */
uint8_t check_obj(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num,
		  struct obj **o)
{
	*o = obj_find_uid(hca, kind, num, cmd->uid);
	if (!*o)
		return cmd_fail(cmd, ST_BAD_RES, "no %s 0x%x for uid %u", obj_kind_name[kind], num,
				cmd->uid);
	return ST_OK;
}

/**
 * check_destroy() - find the object that a command destroys
 * @hca: the function
 * @cmd: the command
 * @kind: of object
 * @num: its number
 * @o: the object
 *
 * Return: ST_OK, ST_BAD_RES when there is none for that user, ST_BAD_RES_STATE when others still
 * refer to it.
 */
uint8_t check_destroy(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num,
		      struct obj **o)
{
	uint8_t st = check_obj(hca, cmd, kind, num, o);

	if (st)
		return st;
	if ((*o)->refs)
		return cmd_fail(cmd, ST_BAD_RES_STATE, "%s 0x%x has %u references",
				obj_kind_name[kind], num, (*o)->refs);
	return ST_OK;
}
