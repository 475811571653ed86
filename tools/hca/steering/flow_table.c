// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of flow tables and of the root.
 */
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "flow.h"
#include "flow_cmd.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "util.h"

#define MISS_DEFAULT	0	/* table_miss_action: the frame has taken no rule */
#define MISS_FORWARD	1	/* on to table_miss_id */
#define SELECT_MISS	1	/* of modify_field_select */

/* Fields of features that the HCA does not have: tunnels, tables of software, aggregation. */
static const struct ifc_field table_not_offered[] = {
	IFC_FIELD(flow_table_context, reformat_en), IFC_FIELD(flow_table_context, decap_en),
	IFC_FIELD(flow_table_context, sw_owner), IFC_FIELD(flow_table_context, termination_table),
	IFC_FIELD(flow_table_context, rtc_valid),
	IFC_FIELD(flow_table_context, lag_master_next_table_id),
	IFC_FIELD(flow_table_context, sws),
};

/* Check the miss action of table @t, which has its level. */
static uint8_t table_check_miss(struct hca *hca, struct cmd *cmd, const uint8_t *c,
				const struct flow_table *t)
{
	unsigned int action = IFC_GET(flow_table_context, c, table_miss_action);
	uint32_t id = IFC_GET(flow_table_context, c, table_miss_id);

	if (action > MISS_FORWARD || (action == MISS_DEFAULT && id))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_TABLE_MISS,
				"table_miss_action is %u, table_miss_id 0x%x", action, id);
	return action == MISS_FORWARD ? flow_check_next(hca, cmd, t, id) : ST_OK;
}

static uint8_t table_check(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	const struct flow_table t = {
		.level = IFC_GET(flow_table_context, c, level),
		.type = IFC_GET(create_flow_table_in, cmd->in, table_type),
	};
	uint8_t st = check_offered(cmd, WHY_FLOW_TABLE_FIELD_NOT_OFFERED, "flow_table_context.", c,
				   table_not_offered, ARRAY_SIZE(table_not_offered));

	if (st)
		return st;
	if (t.level > flow_cap(hca, t.type, max_ft_level))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_TABLE_LEVEL,
				"level %u, max_ft_level is %u", t.level,
				flow_cap(hca, t.type, max_ft_level));
	if (IFC_GET(flow_table_context, c, log_size) > flow_cap(hca, t.type, log_max_ft_size))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_TABLE_SIZE,
				"2^%u entries, log_max_ft_size is %u",
				IFC_GET(flow_table_context, c, log_size),
				flow_cap(hca, t.type, log_max_ft_size));
	return table_check_miss(hca, cmd, c, &t);
}

static uint8_t create_flow_table(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(create_flow_table_in, cmd->in, flow_table_context);
	struct flow_table *t;
	uint8_t st = flow_check_place(hca, cmd);

	if (!st)
		st = table_check(hca, cmd, c);
	if (st)
		return st;
	t = (struct flow_table *)obj_new(hca, OBJ_FLOW_TABLE, cmd->uid, sizeof(*t));
	if (!t)
		return cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE,
				"no more than 2^log_max_ft_num tables");
	TAILQ_INIT(&t->groups);
	t->type = IFC_GET(create_flow_table_in, cmd->in, table_type);
	t->level = IFC_GET(flow_table_context, c, level);
	t->log_size = IFC_GET(flow_table_context, c, log_size);
	flow_table_set_miss(hca, t, IFC_GET(flow_table_context, c, table_miss_id));
	IFC_SET(create_flow_table_out, cmd->out, table_id, t->obj.num);
	return ST_OK;
}

/* The miss action is all that can change. */
static uint8_t modify_flow_table(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(modify_flow_table_in, cmd->in, flow_table_context);
	uint32_t select = IFC_GET(modify_flow_table_in, cmd->in, modify_field_select);
	struct flow_table *t;
	uint8_t st = flow_check_table(hca, cmd, &t);

	if (st)
		return st;
	if (!flow_cap(hca, t->type, flow_table_modify) || select & ~SELECT_MISS)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_TABLE_MODIFY,
				"modify_field_select is 0x%x, flow_table_modify %u", select,
				flow_cap(hca, t->type, flow_table_modify));
	if (!select)
		return ST_OK;
	st = table_check_miss(hca, cmd, c, t);
	if (!st)
		flow_table_set_miss(hca, t, IFC_GET(flow_table_context, c, table_miss_id));
	return st;
}

/*
 * The root cannot be destroyed as long as there are other tables of its type. The driver destroys
 * the last table while it is the root, and no command sets the root to none; so that is possible.
 */
static uint8_t destroy_flow_table(struct hca *hca, struct cmd *cmd)
{
	struct flow_table *t;
	uint8_t st = flow_check_table(hca, cmd, &t);

	if (st)
		return st;
	if (t == flow_root(hca, t->type) && !flow_is_last(hca, t))
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_FLOW_TABLE_ROOT,
				"table 0x%x is the root, and there are other tables", t->obj.num);
	if (t->obj.refs > (t == flow_root(hca, t->type)))
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_OBJECT_IN_USE,
				"flow_table 0x%x has %u references", t->obj.num, t->obj.refs);
	flow_table_free(hca, t);
	return ST_OK;
}

static uint8_t query_flow_table(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_flow_table_out, cmd->out, flow_table_context);
	struct flow_table *t;
	uint8_t st = flow_check_table(hca, cmd, &t);

	if (st)
		return st;
	IFC_SET(flow_table_context, c, level, t->level);
	IFC_SET(flow_table_context, c, log_size, t->log_size);
	IFC_SET(flow_table_context, c, table_miss_action, t->miss_id ? MISS_FORWARD : MISS_DEFAULT);
	IFC_SET(flow_table_context, c, table_miss_id, t->miss_id);
	return ST_OK;
}

/* Fields of SET_FLOW_TABLE_ROOT for other vports, e-switches and IPoIB. */
static const struct ifc_field root_not_offered[] = {
	IFC_FIELD(set_flow_table_root_in, other_vport),
	IFC_FIELD(set_flow_table_root_in, other_eswitch),
	IFC_FIELD(set_flow_table_root_in, vport_number),
	IFC_FIELD(set_flow_table_root_in, eswitch_owner_vhca_id),
	IFC_FIELD(set_flow_table_root_in, table_of_other_vport),
	IFC_FIELD(set_flow_table_root_in, table_vport_number),
	IFC_FIELD(set_flow_table_root_in, underlay_qpn),
	IFC_FIELD(set_flow_table_root_in, table_eswitch_owner_vhca_id_valid),
	IFC_FIELD(set_flow_table_root_in, table_eswitch_owner_vhca_id),
};

static uint8_t set_flow_table_root(struct hca *hca, struct cmd *cmd)
{
	uint32_t type = IFC_GET(set_flow_table_root_in, cmd->in, table_type);
	struct obj *o;
	uint8_t st = check_offered(cmd, WHY_FLOW_TABLE_FIELD_NOT_OFFERED, "", cmd->in,
				   root_not_offered, ARRAY_SIZE(root_not_offered));

	if (!st)
		st = flow_check_type(hca, cmd, type);
	if (st)
		return st;
	if (!flow_cap(hca, type, modify_root))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_TABLE_ROOT,
				"the root cannot be changed (modify_root)");
	st = check_obj(hca, cmd, OBJ_FLOW_TABLE,
		       IFC_GET(set_flow_table_root_in, cmd->in, table_id), &o);
	if (st)
		return st;
	if (((struct flow_table *)o)->type != type)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_TABLE_TYPE,
				"table 0x%x is of type %u, not %u", o->num,
				((struct flow_table *)o)->type, type);
	flow_set_root(hca, type, (struct flow_table *)o);
	return ST_OK;
}

const struct cmd_desc flow_table_cmds[] = {
	CMD(SET_FLOW_TABLE_ROOT, set_flow_table_root, set_flow_table_root, FLOW_FLAGS),
	CMD(CREATE_FLOW_TABLE, create_flow_table, create_flow_table, FLOW_FLAGS),
	CMD(DESTROY_FLOW_TABLE, destroy_flow_table, destroy_flow_table, FLOW_FLAGS),
	CMD(QUERY_FLOW_TABLE, query_flow_table, query_flow_table, FLOW_FLAGS),
	CMD(MODIFY_FLOW_TABLE, modify_flow_table, modify_flow_table, FLOW_FLAGS),
	{}
};
