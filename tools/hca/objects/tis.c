// SPDX-License-Identifier: GPL-2.0
/*
 * TISes: CREATE, MODIFY, QUERY and DESTROY_TIS.
 */
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "tis.h"
#include "util.h"

/**
 * tis_find() - find a TIS
 * @hca: the HCA
 * @tisn: its number
 *
 * Return: the TIS or NULL.
 */
struct tis *tis_find(struct hca *hca, uint32_t tisn)
{
	return (struct tis *)obj_find(hca, OBJ_TIS, tisn);
}

/* Fields of features that the HCA does not have: link aggregation, TLS, and IPoIB. */
static const struct ifc_field tisc_not_offered[] = {
	IFC_FIELD(tisc, strict_lag_tx_port_affinity), IFC_FIELD(tisc, lag_tx_port_affinity),
	IFC_FIELD(tisc, tls_en), IFC_FIELD(tisc, underlay_qpn), IFC_FIELD(tisc, pd),
};

static uint8_t tis_check(struct cmd *cmd, const uint8_t *c)
{
	return check_offered(cmd, WHY_TIS_FIELD_NOT_OFFERED, "tisc.", c, tisc_not_offered,
			     ARRAY_SIZE(tisc_not_offered));
}

static uint8_t create_tis(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(create_tis_in, cmd->in, ctx);
	struct tis *tis;
	struct obj *td;
	uint8_t st = tis_check(cmd, c);

	if (!st)
		st = check_obj(hca, cmd, OBJ_TD, IFC_GET(tisc, c, transport_domain), &td);
	if (st)
		return st;
	tis = (struct tis *)obj_new(hca, OBJ_TIS, cmd->uid, sizeof(*tis));
	if (!tis)
		return cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE, "all TIS numbers are in use");
	tis->tdn = td->num;
	tis->prio = IFC_GET(tisc, c, prio);
	td->refs++;
	IFC_SET(create_tis_out, cmd->out, tisn, tis->obj.num);
	return ST_OK;
}

/* Only the priority of a TIS can change. Send queues take it over at once. */
static uint8_t modify_tis(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(modify_tis_in, cmd->in, ctx);
	struct obj *o;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_TIS, IFC_GET(modify_tis_in, cmd->in, tisn), &o);
	if (st)
		return st;
	if (IFC_GET(modify_tis_in, cmd->in, bitmask.lag_tx_port_affinity) ||
	    IFC_GET(modify_tis_in, cmd->in, bitmask.strict_lag_tx_port_affinity))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_TIS_FIELD_NOT_OFFERED,
				"link aggregation is not supported");
	if (IFC_GET(modify_tis_in, cmd->in, bitmask.prio))
		((struct tis *)o)->prio = IFC_GET(tisc, c, prio);
	return ST_OK;
}

static void tis_release(struct hca *hca, struct tis *tis)
{
	obj_put(hca, obj_find(hca, OBJ_TD, tis->tdn));
	obj_free(hca, &tis->obj);
}

static uint8_t destroy_tis(struct hca *hca, struct cmd *cmd)
{
	struct obj *o;
	uint8_t st;

	st = check_destroy(hca, cmd, OBJ_TIS, IFC_GET(destroy_tis_in, cmd->in, tisn), &o);
	if (!st)
		tis_release(hca, (struct tis *)o);
	return st;
}

static uint8_t query_tis(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_tis_out, cmd->out, tis_context);
	const struct tis *tis;
	struct obj *o;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_TIS, IFC_GET(query_tis_in, cmd->in, tisn), &o);
	if (st)
		return st;
	tis = (struct tis *)o;
	IFC_SET(tisc, c, transport_domain, tis->tdn);
	IFC_SET(tisc, c, prio, tis->prio);
	return ST_OK;
}

const struct cmd_desc tis_cmds[] = {
	CMD(CREATE_TIS, create_tis, create_tis, .flags = CMD_ETH),
	CMD(MODIFY_TIS, modify_tis, modify_tis, .flags = CMD_ETH),
	CMD(DESTROY_TIS, destroy_tis, destroy_tis, .flags = CMD_ETH),
	CMD(QUERY_TIS, query_tis, query_tis, .flags = CMD_ETH),
	{}
};

static bool tis_drop(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	tis_release(hca, (struct tis *)o);
	return true;
}

static void tis_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_TIS, tis_drop, NULL);
}

const struct hca_module tis_module = { .name = "tis", .reset = tis_reset };
