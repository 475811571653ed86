// SPDX-License-Identifier: GPL-2.0
/*
 * Memory keys: CREATE_MKEY and its checks, QUERY_MKEY and DESTROY_MKEY.
 */
#include <stdlib.h>
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "memic.h"
#include "mkey.h"
#include "object.h"
#include "util.h"

static const struct ifc_field mkc_reserved[] = {
	IFC_FIELD(mkc, reserved_at_0), IFC_FIELD(mkc, reserved_at_2),
	IFC_FIELD(mkc, reserved_at_18),
	IFC_FIELD(mkc, reserved_at_1c), IFC_FIELD(mkc, reserved_at_40),
	IFC_FIELD(mkc, reserved_at_120), IFC_FIELD(mkc, reserved_at_1c0),
	IFC_FIELD(mkc, bsf_octword_size), IFC_FIELD(mkc, crossing_target_vhca_id),
};

/* Check the fields of a new key's context that do not depend on its translation table. */
static uint8_t mkey_create_check(struct hca *hca, struct cmd *cmd, const struct mkey *mk,
				 struct obj **pd)
{
	const char *rsvd = ifc_first_set(mk->mkc, mkc_reserved, ARRAY_SIZE(mkc_reserved));
	uint32_t octo = IFC_GET(mkc, mk->mkc, translations_octword_size);

	if (rsvd)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_RESERVED_FIELD, "mkc.%s is not zero",
				rsvd);
	if (IFC_GET(create_mkey_in, cmd->in, pg_access) && !hca_cap_gen(hca, pg))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_PAGING_NOT_OFFERED,
				"on-demand paging is not supported (pg)");
	if (mk->mode > MKM_KSM && !(mk->mode == MKM_MEMIC && memic_on(hca)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_ACCESS_MODE,
				"access mode %u is not supported", mk->mode);
	if (IFC_GET(mkc, mk->mkc, relaxed_ordering_write) &&
	    !hca_cap_gen(hca, relaxed_ordering_write))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_RELAXED_WRITE_NOT_OFFERED,
				"relaxed ordering of writes is not supported "
				"(relaxed_ordering_write)");
	if (IFC_GET(mkc, mk->mkc, relaxed_ordering_read) &&
	    !hca_cap_gen(hca, relaxed_ordering_read) &&
	    !hca_cap_gen(hca, relaxed_ordering_read_pci_enabled))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_RELAXED_READ_NOT_OFFERED,
				"relaxed ordering of reads is not supported "
				"(relaxed_ordering_read, relaxed_ordering_read_pci_enabled)");
	if (IFC_GET(mkc, mk->mkc, bsf_en))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_SIGNATURE_NOT_OFFERED,
				"signature keys are not supported");
	if (mk->mode == MKM_KSM && !hca_cap_gen(hca, fixed_buffer_size))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_KSM_NOT_OFFERED,
				"KSM keys are not supported (fixed_buffer_size)");
	if (mk->mode == MKM_KLM && octo > 1u << hca_cap_gen(hca, log_max_klm_list_size))
		return cmd_fail(cmd, ST_LIM, WHY_MKEY_OCTOWORDS_TOO_MANY,
				"%u KLMs are more than log_max_klm_list_size allows", octo);
	if (mk->free && !mk->umr_en)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_FREE_WITHOUT_UMR,
				"a free key without umr_en can never be filled");
	/* A key of physical addresses gives access to all memory. */
	if (mk->mode == MKM_PA && cmd->uid)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_PHYSICAL,
				"DEVX uid %u may have no key of physical addresses", cmd->uid);
	return check_obj(hca, cmd, OBJ_PD, mk->pdn, pd);
}

/* A key over device memory covers a piece of one allocation, and has no translations. */
static uint8_t mkey_create_memic(struct hca *hca, struct cmd *cmd, struct mkey *mk)
{
	if (mk->free || mk->length64)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_MEMIC_KIND,
				"a key over device memory cannot be created free or with length64");
	if (IFC_GET(mkc, mk->mkc, translations_octword_size) ||
	    IFC_GET(create_mkey_in, cmd->in, translations_octword_actual_size))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_MEMIC_KIND,
				"a key over device memory has no translations");
	/* A key of length 0 may begin where the allocation ends. */
	mk->memic = memic_find(hca, mk->memic_addr, mk->len ? mk->len : 1, cmd->uid);
	if (!mk->memic && !mk->len)
		mk->memic = memic_find(hca, mk->memic_addr - 1, 1, cmd->uid);
	if (!mk->memic)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_MEMIC_RANGE,
				"0x%llx+0x%llx is not in one allocation",
				(unsigned long long)mk->memic_addr, (unsigned long long)mk->len);
	return ST_OK;
}

/* Check the entity size of a key, and that @given octowords of translations cover its range. */
static uint8_t mkey_check_xlt(struct hca *hca, struct cmd *cmd, const struct mkey *mk,
			      uint32_t given)
{
	const char *why = mkey_entity_refused(hca, mk);
	uint32_t i;

	if (why)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_ENTITY_SIZE, "%s", why);
	why = mkey_invalid(mk, mk->mode == MKM_MTT ? (uint64_t)given * 2 : given);
	if (why)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_TRANSLATION, "%s", why);
	for (i = 0; mk->mtt && i < given * 2; i++)
		if (mkey_mtt_misaligned(mk, mk->mtt[i]))
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_MTT_MISALIGNED,
					"MTT %u is not aligned to 2^%u", i, mk->log_page);
	return ST_OK;
}

static uint8_t mkey_create_xlt(struct hca *hca, struct cmd *cmd, struct mkey *mk)
{
	uint32_t octo = IFC_GET(mkc, mk->mkc, translations_octword_size);
	uint32_t given = IFC_GET(create_mkey_in, cmd->in, translations_octword_actual_size);
	const uint8_t *xlt = IFC_ADDR(create_mkey_in, cmd->in, klm_pas_mtt);
	const char *why;
	bool in_umem;
	uint32_t i;
	uint8_t st;

	st = mkey_names_umem(hca, cmd, &in_umem);
	if (st)
		return st;
	if (in_umem)
		return mkey_create_umem(hca, cmd, mk);
	if (mk->mode == MKM_MEMIC)
		return mkey_create_memic(hca, cmd, mk);
	if (mk->mode == MKM_PA) {
		why = mk->free ? NULL : mkey_invalid(mk, 0);
		return why ? cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_CONTEXT, "%s", why) : ST_OK;
	}
	if (given > octo)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_OCTOWORDS_GIVEN,
				"%u octowords given for a table of %u", given, octo);
	if ((uint64_t)given * 16 > cmd_left(cmd, xlt))
		return cmd_fail(cmd, ST_BAD_INP_LEN, WHY_INPUT_LENGTH,
				"%u octowords announced, %zu bytes given", given,
				cmd_left(cmd, xlt));
	why = mkey_xlt_invalid(mk, xlt, given);
	if (why)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MKEY_STRIDED_BLOCK, "%s", why);
	st = mkey_alloc_xlt(hca, cmd, mk, octo);
	if (st)
		return st;
	mkey_xlt_write(mk, 0, xlt, given);
	/* Unless the command says that its entries have access bits, all pages are present. */
	for (i = 0; mk->mtt && i < given * 2 && !IFC_GET(create_mkey_in, cmd->in, pg_access); i++)
		mk->mtt[i] |= MTT_ACCESS;
	return mk->free ? ST_OK : mkey_check_xlt(hca, cmd, mk, given);
}

static uint8_t create_mkey(struct hca *hca, struct cmd *cmd)
{
	struct mkey tmp = {}, *mk;
	struct obj *pd;
	uint8_t st;

	memcpy(tmp.mkc, IFC_ADDR(create_mkey_in, cmd->in, memory_key_mkey_entry), MKC_BYTES);
	mkey_decode(&tmp);
	st = mkey_create_check(hca, cmd, &tmp, &pd);
	if (!st)
		st = mkey_create_xlt(hca, cmd, &tmp);
	if (st)
		goto fail;
	mk = (struct mkey *)obj_new(hca, OBJ_MKEY, cmd->uid, sizeof(*mk));
	if (!mk) {
		st = cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE, "all mkey numbers are in use");
		goto fail;
	}
	tmp.obj = mk->obj;
	*mk = tmp;
	pd->refs++;
	hca->xlt_bytes += mk->xlt_bytes;
	if (mk->memic)
		mk->memic->refs++;
	if (mk->umem)
		mk->umem->refs++;
	IFC_SET(create_mkey_out, cmd->out, mkey_index, mk->obj.num);
	return ST_OK;
fail:
	free(tmp.mtt);
	free(tmp.klm);
	return st;
}

static uint8_t query_mkey(struct hca *hca, struct cmd *cmd)
{
	uint32_t num = IFC_GET(query_mkey_in, cmd->in, mkey_index);
	struct mkey *mk;
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_MKEY, num, &o);
	uint8_t *xlt = IFC_ADDR(query_mkey_out, cmd->out, bsf0_klm0_pas_mtt0_1);
	size_t room = cmd->out_len - IFC_BYTE(query_mkey_out, bsf0_klm0_pas_mtt0_1);
	uint32_t i;

	if (st)
		return st;
	mk = (struct mkey *)o;
	memcpy(IFC_ADDR(query_mkey_out, cmd->out, memory_key_mkey_entry), mk->mkc, MKC_BYTES);
	/* struct query_mkey_out has room for the first entries only; a longer output gets more. */
	for (i = 0; mk->mtt && i < room / 8 && i < mk->nent; i++)
		put_be64(xlt + 8 * i, mk->mtt[i]);
	for (i = 0; mk->klm && i < room / 16 && i < mk->nent; i++) {
		put_be32(xlt + 16 * i, mk->klm[i].bcount);
		put_be32(xlt + 16 * i + 4, mk->klm[i].key);
		put_be64(xlt + 16 * i + 8, mk->klm[i].va);
	}
	return ST_OK;
}

static uint8_t destroy_mkey(struct hca *hca, struct cmd *cmd)
{
	uint32_t num = IFC_GET(destroy_mkey_in, cmd->in, mkey_index);
	struct obj *o;
	uint8_t st = check_destroy(hca, cmd, OBJ_MKEY, num, &o);

	if (!st)
		mkey_release(hca, (struct mkey *)o);
	return st;
}

const struct cmd_desc mkey_cmds[] = {
	CMD_MIN(CREATE_MKEY, create_mkey, IFC_BYTE(create_mkey_in, klm_pas_mtt),
		IFC_SZ(create_mkey_out), create_mkey),
	CMD_MIN(QUERY_MKEY, query_mkey, IFC_SZ(query_mkey_in),
		IFC_BYTE(query_mkey_out, bsf0_klm0_pas_mtt0_1), query_mkey),
	CMD(DESTROY_MKEY, destroy_mkey, destroy_mkey),
	{}
};
