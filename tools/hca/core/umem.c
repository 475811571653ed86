// SPDX-License-Identifier: GPL-2.0
/*
 * Umems: what a command may do with a umem that it names.
 */
#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "umem.h"

/* Bytes from the umem's first byte to the end of its last page. */
static uint64_t umem_bytes(const struct umem *u)
{
	return ((uint64_t)u->nmtt << u->log_page) - u->page_offset;
}

/**
 * umem_page() - find the page of a umem that contains a byte
 * @u: the umem
 * @pos: of the byte, counted from the start of the first page
 *
 * Return: guest address of the page.
 */
uint64_t umem_page(const struct umem *u, uint64_t pos)
{
	return u->mtt[pos >> u->log_page] & ~UMEM_ACCESS;
}

/* The accesses that all pages of the @len bytes at @pos allow. */
static uint64_t umem_rights(const struct umem *u, uint64_t pos, uint64_t len)
{
	uint64_t rights = UMEM_ACCESS, i;

	for (i = pos >> u->log_page; len && i <= (pos + len - 1) >> u->log_page; i++)
		rights &= u->mtt[i];
	return rights;
}

static uint8_t check_umem_use(struct cmd *cmd, const struct umem_place *at,
			      const struct umem_use *use, const struct umem *u)
{
	uint64_t pos = u->page_offset + at->offset, align = use->align, rights;

	if (at->offset > umem_bytes(u) || use->len > umem_bytes(u) - at->offset)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_RANGE,
				"0x%llx+0x%llx is beyond the 0x%llx bytes of umem %u",
				(unsigned long long)at->offset, (unsigned long long)use->len,
				(unsigned long long)umem_bytes(u), u->obj.num);
	if (use->page_64ths && align < 1ull << u->log_page >> 6)
		align = 1ull << u->log_page >> 6;
	if (pos & (align - 1))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_OFFSET,
				"offset 0x%llx is not aligned to %llu bytes; page_offset is 0x%x",
				(unsigned long long)at->offset, (unsigned long long)align,
				u->page_offset);
	rights = umem_rights(u, pos, use->len);
	if (use->access & ~rights)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_ACCESS, "the HCA may not %s umem %u",
				use->access & ~rights & UMEM_WRITE ? "write to" : "read from",
				u->obj.num);
	return ST_OK;
}

/**
 * check_umem() - find a umem that a context names, and check the use that the context makes of it
 * @hca: the HCA
 * @cmd: the command, whose user id must own the umem, also if the kernel has sent the command
 * @at: the umem, and the place in it
 * @use: length, alignment and access that the context needs
 * @u: the umem
 *
 * Return: ST_OK; ST_BAD_RES if the user id owns no umem of that number; ST_BAD_PARAM if umems are
 * not supported, or if the range is beyond the umem, misaligned, or not accessible as needed.
 */
uint8_t check_umem(struct hca *hca, struct cmd *cmd, const struct umem_place *at,
		   const struct umem_use *use, struct umem **u)
{
	struct obj *o;
	uint8_t st;

	if (!hca_cap_gen(hca, log_max_umem))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_NOT_OFFERED,
				"umems are not supported (log_max_umem)");
	st = check_obj(hca, cmd, OBJ_UMEM, at->id, &o);
	if (st)
		return st;
	if (o->uid != cmd->uid)
		return cmd_fail(cmd, ST_BAD_RES, WHY_OBJECT_OWNER,
				"umem %u belongs to DEVX uid %u, not %u", at->id, o->uid, cmd->uid);
	*u = (struct umem *)o;
	st = check_umem_use(cmd, at, use, *u);
	if (!st)
		hca_trace(hca, "umem_use", "\"opcode\":\"0x%x\",\"umem\":%u,\"offset\":\"0x%llx\","
			  "\"bytes\":\"0x%llx\"", cmd->opcode, at->id,
			  (unsigned long long)at->offset, (unsigned long long)use->len);
	return st;
}
