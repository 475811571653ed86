// SPDX-License-Identifier: GPL-2.0
/*
 * Protection domains, transport domains and XRC domains.
 */
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "pd.h"

static uint8_t domain_alloc(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t *num)
{
	struct obj *o = obj_new(hca, kind, cmd->uid, sizeof(*o));

	if (!o)
		return cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE, "all %s numbers are in use",
				obj_kind_name[kind]);
	*num = o->num;
	return ST_OK;
}

static uint8_t domain_free(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num)
{
	struct obj *o;
	uint8_t st = check_destroy(hca, cmd, kind, num, &o);

	if (!st)
		obj_free(hca, o);
	return st;
}

static uint8_t alloc_pd(struct hca *hca, struct cmd *cmd)
{
	uint32_t num = 0;
	uint8_t st = domain_alloc(hca, cmd, OBJ_PD, &num);

	IFC_SET(alloc_pd_out, cmd->out, pd, num);
	return st;
}

static uint8_t dealloc_pd(struct hca *hca, struct cmd *cmd)
{
	return domain_free(hca, cmd, OBJ_PD, IFC_GET(dealloc_pd_in, cmd->in, pd));
}

static uint8_t alloc_td(struct hca *hca, struct cmd *cmd)
{
	uint32_t num = 0;
	uint8_t st = domain_alloc(hca, cmd, OBJ_TD, &num);

	IFC_SET(alloc_transport_domain_out, cmd->out, transport_domain, num);
	return st;
}

static uint8_t dealloc_td(struct hca *hca, struct cmd *cmd)
{
	return domain_free(hca, cmd, OBJ_TD,
			   IFC_GET(dealloc_transport_domain_in, cmd->in, transport_domain));
}

static uint8_t alloc_xrcd(struct hca *hca, struct cmd *cmd)
{
	uint32_t num = 0;
	uint8_t st = domain_alloc(hca, cmd, OBJ_XRCD, &num);

	IFC_SET(alloc_xrcd_out, cmd->out, xrcd, num);
	return st;
}

static uint8_t dealloc_xrcd(struct hca *hca, struct cmd *cmd)
{
	return domain_free(hca, cmd, OBJ_XRCD, IFC_GET(dealloc_xrcd_in, cmd->in, xrcd));
}

const struct cmd_desc pd_cmds[] = {
	CMD(ALLOC_PD, alloc_pd, alloc_pd),
	CMD(DEALLOC_PD, dealloc_pd, dealloc_pd),
	CMD(ALLOC_TRANSPORT_DOMAIN, alloc_transport_domain, alloc_td),
	CMD(DEALLOC_TRANSPORT_DOMAIN, dealloc_transport_domain, dealloc_td),
	CMD(ALLOC_XRCD, alloc_xrcd, alloc_xrcd),
	CMD(DEALLOC_XRCD, dealloc_xrcd, dealloc_xrcd),
	{}
};

static void pd_reset(struct hca *hca)
{
	obj_free_all(hca, OBJ_XRCD);
	obj_free_all(hca, OBJ_TD);
	obj_free_all(hca, OBJ_PD);
}

const struct hca_module pd_module = { .name = "pd", .reset = pd_reset };
