// SPDX-License-Identifier: GPL-2.0
/*
 * Memory keys over a umem: CREATE_MKEY names the umem instead of giving translations.
 */
#include "caps.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "mkey.h"
#include "umem.h"

/**
 * mkey_names_umem() - tell whether the translations of a key are those of a umem
 * @hca: the HCA
 * @cmd: CREATE_MKEY
 * @names: set to the answer
 *
 * Return: ST_OK, or ST_BAD_PARAM if umems are not supported or the fields contradict each other.
 */
uint8_t mkey_names_umem(struct hca *hca, struct cmd *cmd, bool *names)
{
	bool valid = IFC_GET(create_mkey_in, cmd->in, mkey_umem_valid);
	uint32_t id = ifc_get_bits(cmd->in, CREATE_MKEY_UMEM_ID, 32);
	uint64_t offset = ifc_get_bits(cmd->in, CREATE_MKEY_UMEM_OFFSET, 64);

	*names = valid;
	if (valid && !hca_cap_gen(hca, log_max_umem))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_NOT_OFFERED,
				"umems are not supported (log_max_umem)");
	if (!valid && (id || offset))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_FIELDS,
				"umem %u, offset 0x%llx are given, but the key has no umem",
				id, (unsigned long long)offset);
	return ST_OK;
}

/*
 * Check that a key may take its translations from a umem: neither UMR nor page faults may change
 * them.
 */
static uint8_t mkey_check_umem_kind(struct cmd *cmd, const struct mkey *mk)
{
	if (mk->mode != MKM_MTT)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_UMEM_KIND,
				"a key of access mode %u cannot be over a umem", mk->mode);
	if (mk->free || mk->umr_en || mk->length64)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_UMEM_KIND,
				"a key over a umem has neither free, umr_en nor length64");
	return ST_OK;
}

/* The access bits that the pages of a umem must have for a key with these rights. */
static uint64_t mkey_umem_access(unsigned int access)
{
	return (access & (MK_LOCAL_READ | MK_REMOTE_READ | MK_ATOMIC) ? UMEM_READ : 0) |
	       (access & (MK_LOCAL_WRITE | MK_REMOTE_WRITE | MK_ATOMIC) ? UMEM_WRITE : 0);
}

/* Fill the key's table of @n pages. The first page contains byte @pos of the umem's pages. */
static void mkey_fill_umem(struct mkey *mk, const struct umem *u, uint64_t pos, uint64_t n)
{
	uint64_t page = 1ull << mk->log_page, i;

	for (i = 0; i < n; i++) {
		uint64_t at = (pos & ~(page - 1)) + i * page;

		mk->mtt[i] = umem_page(u, at) | (at & ((1ull << u->log_page) - 1)) |
			     (u->mtt[at >> u->log_page] & UMEM_ACCESS);
	}
}

/* log_page_size 0 stands for pages as large as the umem's. */
static uint8_t mkey_take_umem_pages(struct hca *hca, struct cmd *cmd, struct mkey *mk,
				    const struct umem *u)
{
	const char *why;

	if (!mk->log_page) {
		mk->log_page = u->log_page;
		return ST_OK;
	}
	why = mkey_entity_refused(hca, mk);
	if (why)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_ENTITY_SIZE, "%s", why);
	if (mk->log_page > u->log_page)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_UMEM_PAGES,
				"pages of 2^%u over a umem with pages of 2^%u", mk->log_page,
				u->log_page);
	return ST_OK;
}

/**
 * mkey_create_umem() - make the translations of a key over a umem
 * @hca: the HCA
 * @cmd: CREATE_MKEY
 * @mk: the key to be created; its table and umem are set, and the caller takes a reference to the
 *   umem
 *
 * The table is as long as the key needs, whatever translations_octword_size says. pg_access changes
 * nothing, because the pages of a umem always have access bits.
 *
 * Return: ST_OK; ST_BAD_PARAM if the key cannot be over that part of the umem; otherwise as
 * check_umem() and mkey_alloc_xlt().
 */
uint8_t mkey_create_umem(struct hca *hca, struct cmd *cmd, struct mkey *mk)
{
	const struct umem_place at = {
		.id = ifc_get_bits(cmd->in, CREATE_MKEY_UMEM_ID, 32),
		.offset = ifc_get_bits(cmd->in, CREATE_MKEY_UMEM_OFFSET, 64),
	};
	const struct umem_use use = {
		.len = mk->len, .align = 1, .access = mkey_umem_access(mk->access),
	};
	uint64_t mask, pos, n;
	struct umem *u;
	const char *why;
	uint8_t st;

	st = mkey_check_umem_kind(cmd, mk);
	if (!st)
		st = check_umem(hca, cmd, &at, &use, &u);
	if (!st)
		st = mkey_take_umem_pages(hca, cmd, mk, u);
	if (st)
		return st;
	pos = u->page_offset + at.offset;
	/* start_addr and pos must have the same offset in a page of the umem, not of the key. */
	if ((pos ^ mk->start) & ((1ull << u->log_page) - 1))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_UMEM_PAGES,
				"start_addr 0x%llx and byte 0x%llx have different offsets in pages "
				"of 2^%u", (unsigned long long)mk->start, (unsigned long long)pos,
				u->log_page);
	mask = (1ull << mk->log_page) - 1;
	n = ((mk->start & mask) + mk->len + mask) >> mk->log_page;
	why = mkey_invalid(mk, n);
	if (why)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_TRANSLATION, "%s", why);
	st = mkey_alloc_xlt(hca, cmd, mk, (n + 1) / 2);
	if (st)
		return st;
	mkey_fill_umem(mk, u, pos, n);
	mk->umem = &u->obj;
	return ST_OK;
}
