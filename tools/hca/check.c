// SPDX-License-Identifier: GPL-2.0
/*
 * Checks that several command handlers share: reserved fields that must be
 * zero, page lists, doorbell records, UARs and PDs that a context names.
 */
#include <errno.h>
#include <stdlib.h>
#include "check.h"

#define HCA_FILE_ID FILE_MISC

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

size_t cmd_left(const struct cmd *cmd, const uint8_t *p)
{
	const uint8_t *end = cmd->in + cmd->in_len;

	return p < end ? end - p : 0;
}

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
		return cmd_fail(cmd, ST_BAD_INP_LEN, "queue of %zu bytes needs %zu pages, %zu given",
				len, n, avail / 8);
	m->pas = calloc(n, sizeof(*m->pas));
	if (!m->pas)
		return cmd_fail(cmd, ST_INTERNAL, "no memory");
	m->npages = n;
	for (i = 0; i < n; i++) {
		m->pas[i] = get_be64(pas + 8 * i);
		if ((m->pas[i] & (page - 1)) || !mem_ptr(hca, m->pas[i], 1, true)) {
			uint64_t bad = m->pas[i];

			qmem_free(m);
			return cmd_fail(cmd, ST_BAD_PARAM, "page %zu at 0x%llx misaligned or unmapped",
					i, (unsigned long long)bad);
		}
	}
	return ST_OK;
}

void qmem_free(struct queue_mem *m)
{
	free(m->pas);
	m->pas = NULL;
	m->npages = 0;
}

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

int qmem_read(struct hca *hca, const struct queue_mem *m, size_t off, void *buf, size_t len)
{
	return qmem_copy(hca, m, off, buf, len, false);
}

int qmem_write(struct hca *hca, const struct queue_mem *m, size_t off, const void *buf, size_t len)
{
	return qmem_copy(hca, m, off, (uint8_t *)(uintptr_t)buf, len, true);
}

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

uint8_t check_obj(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num,
		  struct obj **o)
{
	*o = obj_find_uid(hca, kind, num, cmd->uid);
	if (!*o)
		return cmd_fail(cmd, ST_BAD_RES, "no %s 0x%x for uid %u", obj_kind_name[kind], num,
				cmd->uid);
	return ST_OK;
}

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
