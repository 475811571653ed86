// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of groups.
 */
#include <string.h>

#include "check.h"
#include "cmd.h"
#include "flow.h"
#include "flow_cmd.h"
#include "hca.h"
#include "ifc.h"
#include "match.h"
#include "object.h"
#include "util.h"

/* Groups for software, for definers and for the rules of other e-switches. */
static const struct ifc_field group_not_offered[] = {
	IFC_FIELD(create_flow_group_in, group_type),
	IFC_FIELD(create_flow_group_in, source_eswitch_owner_vhca_id_valid),
	IFC_FIELD(create_flow_group_in, match_definer_id),
};

static uint8_t group_check_range(struct cmd *cmd, struct flow_table *t)
{
	uint32_t start = IFC_GET(create_flow_group_in, cmd->in, start_flow_index);
	uint32_t end = IFC_GET(create_flow_group_in, cmd->in, end_flow_index);
	struct flow_group *g;

	if (start > end || end >> t->log_size)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_GROUP_RANGE,
				"indices 0x%x to 0x%x, the table has 2^%u", start, end,
				t->log_size);
	g = flow_group_at(t, start, end);
	if (g)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_GROUP_OVERLAP,
				"indices 0x%x to 0x%x, group 0x%x has 0x%x to 0x%x", start, end,
				g->obj.num, g->start, g->end);
	return ST_OK;
}

static uint8_t group_check_criteria(struct hca *hca, struct cmd *cmd, const struct flow_table *t)
{
	static const uint8_t none[MATCH_BYTES];
	const uint8_t *c = IFC_ADDR(create_flow_group_in, cmd->in, match_criteria);
	uint32_t enable = IFC_GET(create_flow_group_in, cmd->in, match_criteria_enable);
	const char *name = match_not_offered(hca, flow_cap_page(t->type), c);

	if (name)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_GROUP_NOT_OFFERED,
				"criteria of %s, which is not offered", name);
	if (enable & ~MATCH_ENABLE || (!(enable & MATCH_OUTER) && memcmp(c, none, sizeof(none))))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_GROUP_CRITERIA,
				"match_criteria_enable is 0x%x", enable);
	return ST_OK;
}

static uint8_t group_check(struct hca *hca, struct cmd *cmd, struct flow_table *t)
{
	uint8_t st = check_offered(cmd, WHY_FLOW_GROUP_NOT_OFFERED, "", cmd->in, group_not_offered,
				   ARRAY_SIZE(group_not_offered));

	if (!st)
		st = group_check_range(cmd, t);
	return st ? st : group_check_criteria(hca, cmd, t);
}

static uint8_t create_flow_group(struct hca *hca, struct cmd *cmd)
{
	struct flow_table *t;
	struct flow_group *g;
	uint8_t st = flow_check_table(hca, cmd, &t);

	if (!st)
		st = group_check(hca, cmd, t);
	if (st)
		return st;
	g = (struct flow_group *)obj_new(hca, OBJ_FLOW_GROUP, cmd->uid, sizeof(*g));
	if (!g)
		return cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE, "all group numbers are in use");
	g->start = IFC_GET(create_flow_group_in, cmd->in, start_flow_index);
	g->end = IFC_GET(create_flow_group_in, cmd->in, end_flow_index);
	g->enable = IFC_GET(create_flow_group_in, cmd->in, match_criteria_enable);
	memcpy(g->criteria, IFC_ADDR(create_flow_group_in, cmd->in, match_criteria), MATCH_BYTES);
	if (!flow_group_add(t, g)) {
		obj_free(hca, &g->obj);
		return cmd_fail(cmd, ST_NO_RES, WHY_NO_MEMORY, "no memory for a group");
	}
	IFC_SET(create_flow_group_out, cmd->out, group_id, g->obj.num);
	return ST_OK;
}

/* Find the group that a command is about, which has to be in the table that it names. */
static uint8_t group_find(struct hca *hca, struct cmd *cmd, struct flow_group **g)
{
	uint32_t id = IFC_GET(destroy_flow_group_in, cmd->in, group_id);
	struct flow_table *t;
	struct obj *o;
	uint8_t st = flow_check_table(hca, cmd, &t);

	if (!st)
		st = check_obj(hca, cmd, OBJ_FLOW_GROUP, id, &o);
	if (st)
		return st;
	*g = (struct flow_group *)o;
	if ((*g)->table != t)
		return cmd_fail(cmd, ST_BAD_RES, WHY_FLOW_GROUP_TABLE,
				"group 0x%x is in table 0x%x, not 0x%x", id, (*g)->table->obj.num,
				t->obj.num);
	return ST_OK;
}

static uint8_t destroy_flow_group(struct hca *hca, struct cmd *cmd)
{
	struct flow_group *g;
	uint8_t st = group_find(hca, cmd, &g);

	if (st)
		return st;
	if (g->obj.refs)
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_OBJECT_IN_USE,
				"flow_group 0x%x has %u entries", g->obj.num, g->entries);
	flow_group_free(hca, g);
	return ST_OK;
}

static uint8_t query_flow_group(struct hca *hca, struct cmd *cmd)
{
	struct flow_group *g;
	uint8_t st = group_find(hca, cmd, &g);

	if (st)
		return st;
	IFC_SET(query_flow_group_out, cmd->out, start_flow_index, g->start);
	IFC_SET(query_flow_group_out, cmd->out, end_flow_index, g->end);
	IFC_SET(query_flow_group_out, cmd->out, match_criteria_enable, g->enable);
	memcpy(IFC_ADDR(query_flow_group_out, cmd->out, match_criteria), g->criteria, MATCH_BYTES);
	return ST_OK;
}

const struct cmd_desc flow_group_cmds[] = {
	CMD(CREATE_FLOW_GROUP, create_flow_group, create_flow_group, FLOW_FLAGS),
	CMD(DESTROY_FLOW_GROUP, destroy_flow_group, destroy_flow_group, FLOW_FLAGS),
	CMD(QUERY_FLOW_GROUP, query_flow_group, query_flow_group, FLOW_FLAGS),
	{}
};
