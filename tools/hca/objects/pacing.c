// SPDX-License-Identifier: GPL-2.0
/*
 * Packet pacing: the table of rates. A send queue names an entry by its index. Send queues send no
 * packets (sq.c), so there is nothing to slow down; what matters is who may set, name and clear an
 * entry. An entry can be cleared while queues name it, as mlx5_core does before it moves a queue to
 * a new rate; these queues are then not limited. The object of a cleared entry is marked gone,
 * stays as long as queues refer to it, and is used again if the entry is set again. The values of
 * an entry that is set and that queues name cannot change.
 */
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "pacing.h"

static uint8_t rate_check(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	uint32_t rate = IFC_GET(set_pp_rate_limit_context, c, rate_limit);

	if (rate < hca_cap_qos(hca, packet_pacing_min_rate) ||
	    rate > hca_cap_qos(hca, packet_pacing_max_rate))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RATE_RANGE,
				"a rate of %u kb/s is not supported (packet_pacing_min_rate, "
				"packet_pacing_max_rate)", rate);
	if ((IFC_GET(set_pp_rate_limit_context, c, burst_upper_bound) &&
	     !hca_cap_qos(hca, packet_pacing_burst_bound)) ||
	    (IFC_GET(set_pp_rate_limit_context, c, typical_packet_size) &&
	     !hca_cap_qos(hca, packet_pacing_typical_size)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RATE_NOT_OFFERED,
				"bursts (packet_pacing_burst_bound) or typical packet sizes "
				"(packet_pacing_typical_size) are not supported");
	return ST_OK;
}

static uint8_t rate_check_index(struct hca *hca, struct cmd *cmd, uint32_t index)
{
	if (!hca_cap_gen(hca, qos) || !hca_cap_qos(hca, packet_pacing))
		return cmd_fail(cmd, ST_BAD_OP, WHY_RATE_NOT_OFFERED,
				"packet pacing is not supported (packet_pacing)");
	if (cmd->uid && !hca_cap_qos(hca, packet_pacing_uid))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RATE_UID,
				"DEVX uid %u may set no rate (packet_pacing_uid)", cmd->uid);
	/* Entry 0 stands for no limit. */
	if (!index || index >= hca_cap_qos(hca, packet_pacing_rate_table_size))
		return cmd_fail(cmd, ST_BAD_INDEX, WHY_RATE_INDEX,
				"the table of rates has no entry %u to set", index);
	return ST_OK;
}

static uint8_t rate_clear(struct hca *hca, struct cmd *cmd, uint32_t index)
{
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_RATE, index, &o);

	if (st)
		return st;
	if (o->refs)
		o->gone = true;
	else
		obj_free(hca, o);
	return ST_OK;
}

/* Find the entry to set: a new one, or one whose values may change to @c. */
static uint8_t rate_get(struct hca *hca, struct cmd *cmd, uint32_t index, const uint8_t *c,
			struct rate **rate)
{
	struct obj *o = obj_find(hca, OBJ_RATE, index);
	uint8_t st = ST_OK;

	*rate = (struct rate *)o;
	if (!o)
		*rate = (struct rate *)obj_new_at(hca, OBJ_RATE, index, cmd->uid, sizeof(**rate));
	else if (o->gone)
		obj_set_owner(hca, o, cmd->uid);
	else
		st = check_obj(hca, cmd, OBJ_RATE, index, &o);
	if (st)
		return st;
	if (!*rate)
		return cmd_fail(cmd, ST_NO_RES, WHY_NO_MEMORY, "no memory for rate %u", index);
	if (o && !o->gone && o->refs && memcmp((*rate)->ctx, c, sizeof((*rate)->ctx)))
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_RATE_IN_USE,
				"%u queues name rate %u: its values cannot change", o->refs, index);
	return ST_OK;
}

static uint8_t set_pp_rate_limit(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(set_pp_rate_limit_in, cmd->in, ctx);
	uint32_t index = IFC_GET(set_pp_rate_limit_in, cmd->in, rate_limit_index);
	struct rate *rate;
	uint8_t st = rate_check_index(hca, cmd, index);

	if (st)
		return st;
	if (!IFC_GET(set_pp_rate_limit_context, c, rate_limit))
		return rate_clear(hca, cmd, index);
	st = rate_check(hca, cmd, c);
	if (!st)
		st = rate_get(hca, cmd, index, c, &rate);
	if (st)
		return st;
	rate->obj.gone = false;
	memcpy(rate->ctx, c, sizeof(rate->ctx));
	return ST_OK;
}

const struct cmd_desc pacing_cmds[] = {
	CMD(SET_PP_RATE_LIMIT, set_pp_rate_limit, set_pp_rate_limit, .flags = CMD_SHARE),
	{}
};

static void pacing_reset(struct hca *hca)
{
	obj_free_all(hca, OBJ_RATE);
}

const struct hca_module pacing_module = { .name = "pacing", .reset = pacing_reset };
