// SPDX-License-Identifier: GPL-2.0
/*
 * Umems: CREATE_UMEM and its checks, and DESTROY_UMEM.
 */
#include <stdlib.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "mem.h"
#include "object.h"
#include "profile.h"
#include "umem.h"
#include "umem_cmd.h"

_Static_assert(IFC_SZ(mtt) == sizeof(uint64_t), "mtt size");

static uint64_t umem_table_bytes(const struct umem *u)
{
	return (uint64_t)u->nmtt * sizeof(*u->mtt);
}

static uint8_t umem_check(struct hca *hca, struct cmd *cmd, const struct umem *u, uint64_t nmtt)
{
	const uint8_t *mtt = IFC_ADDR(create_umem_in, cmd->in, umem.mtt);

	if (!hca_cap_gen(hca, log_max_umem))
		return cmd_fail(cmd, ST_BAD_OP, WHY_UMEM_NOT_OFFERED,
				"umems are not supported (log_max_umem)");
	if (!cmd->uid && !hca_cap_gen(hca, umem_uid_0))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_NO_UID,
				"a umem without a DEVX uid is not supported (umem_uid_0)");
	if (IFC_GET(create_umem_in, cmd->in, umem.ats) && !hca_cap_gen(hca, ats))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_ATS_NOT_OFFERED,
				"address translation services are not supported (ats)");
	if (!nmtt)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_EMPTY, "num_of_mtt is 0");
	if (nmtt > cmd_left(cmd, mtt) / sizeof(*u->mtt))
		return cmd_fail(cmd, ST_BAD_INP_LEN, WHY_INPUT_LENGTH,
				"%llu MTTs announced, %zu bytes given", (unsigned long long)nmtt,
				cmd_left(cmd, mtt));
	if ((uint64_t)u->page_offset >> u->log_page)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_PAGE_OFFSET,
				"page_offset 0x%x is not in the first page, of 2^%u bytes",
				u->page_offset, u->log_page);
	if (hca->xlt_bytes + nmtt * sizeof(*u->mtt) >
	    (uint64_t)hca->profile->max_translation_mb << 20)
		return cmd_fail(cmd, ST_LIM, WHY_UMEM_BUDGET, "no room for %llu more MTTs",
				(unsigned long long)nmtt);
	return ST_OK;
}

/* A page that the HCA may neither read nor write need not be mapped. */
static bool umem_page_mapped(struct hca *hca, uint64_t mtt)
{
	uint64_t pa = mtt & ~UMEM_ACCESS;

	return (!(mtt & UMEM_READ) || mem_ptr(hca, pa, 1, false)) &&
	       (!(mtt & UMEM_WRITE) || mem_ptr(hca, pa, 1, true));
}

static uint8_t umem_take_mtt(struct hca *hca, struct cmd *cmd, struct umem *u)
{
	const uint8_t *mtt = IFC_ADDR(create_umem_in, cmd->in, umem.mtt);
	uint64_t page = 1ull << u->log_page;
	uint32_t i;

	for (i = 0; i < u->nmtt; i++, mtt += sizeof(*u->mtt)) {
		u->mtt[i] = get_be64(mtt);
		if (IFC_GET(mtt, mtt, reserved_at_38))
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_MTT_RESERVED,
					"reserved bits of MTT %u are set", i);
		if (u->mtt[i] & (page - 1) & ~UMEM_ACCESS || !umem_page_mapped(hca, u->mtt[i]))
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_PAGE_ADDRESS,
					"MTT %u, 0x%llx: the page is misaligned or not mapped", i,
					(unsigned long long)u->mtt[i]);
	}
	return ST_OK;
}

static uint8_t create_umem(struct hca *hca, struct cmd *cmd)
{
	uint64_t nmtt = IFC_GET64(create_umem_in, cmd->in, umem.num_of_mtt);
	struct umem tmp = {
		.log_page = IFC_GET(create_umem_in, cmd->in, umem.log_page_size) + 12,
		.page_offset = IFC_GET(create_umem_in, cmd->in, umem.page_offset),
	}, *u;
	uint8_t st = umem_check(hca, cmd, &tmp, nmtt);

	if (st)
		return st;
	tmp.nmtt = nmtt;
	tmp.mtt = calloc(nmtt, sizeof(*tmp.mtt));
	st = tmp.mtt ? umem_take_mtt(hca, cmd, &tmp) :
		       cmd_fail(cmd, ST_NO_RES, WHY_NO_MEMORY, "no memory for %u MTTs", tmp.nmtt);
	u = st ? NULL : (struct umem *)obj_new(hca, OBJ_UMEM, cmd->uid, sizeof(*u));
	if (!u) {
		free(tmp.mtt);
		return st ? st : cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE,
					  "all umem numbers are in use");
	}
	tmp.obj = u->obj;
	*u = tmp;
	hca->xlt_bytes += umem_table_bytes(u);
	IFC_SET(create_umem_out, cmd->out, umem_id, u->obj.num);
	return ST_OK;
}

static void umem_release(struct hca *hca, struct umem *u)
{
	hca->xlt_bytes -= umem_table_bytes(u);
	free(u->mtt);
	obj_free(hca, &u->obj);
}

static uint8_t destroy_umem(struct hca *hca, struct cmd *cmd)
{
	struct obj *o;
	uint8_t st = check_destroy(hca, cmd, OBJ_UMEM,
				   IFC_GET(destroy_umem_in, cmd->in, umem_id), &o);

	if (!st)
		umem_release(hca, (struct umem *)o);
	return st;
}

const struct cmd_desc umem_cmds[] = {
	CMD(CREATE_UMEM, create_umem, create_umem),
	CMD(DESTROY_UMEM, destroy_umem, destroy_umem),
	{}
};

static bool umem_drop(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	umem_release(hca, (struct umem *)o);
	return true;
}

/* Runs after the reset of the modules whose objects refer to umems. */
static void umem_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_UMEM, umem_drop, NULL);
}

const struct hca_module umem_module = { .name = "umem", .reset = umem_reset };
