// SPDX-License-Identifier: GPL-2.0
/*
 * What the commands of steering have in common: the same fields say on behalf of which vport, in
 * which kind of table and in which table a command works.
 */
#include "check.h"
#include "cmd.h"
#include "flow.h"
#include "flow_cmd.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"

/**
 * flow_check_type() - refuse a command for a type of tables that is not offered
 * @hca: the HCA
 * @cmd: the command
 * @type: the type that it names: enum flow_type
 *
 * Return: ST_OK or ST_BAD_PARAM.
 */
uint8_t flow_check_type(struct hca *hca, struct cmd *cmd, uint32_t type)
{
	if (flow_cap(hca, type, ft_support))
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_TABLE_TYPE,
			"tables of type %u are not supported", type);
}

/**
 * flow_check_place() - refuse a command for another vport, e-switch, or kind of table
 * @hca: the HCA
 * @cmd: the command
 *
 * Return: ST_OK or ST_BAD_PARAM.
 */
uint8_t flow_check_place(struct hca *hca, struct cmd *cmd)
{
	if (IFC_GET(destroy_flow_table_in, cmd->in, other_vport) ||
	    IFC_GET(destroy_flow_table_in, cmd->in, vport_number))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_VPORT_OTHER,
				"other vports are not supported");
	if (IFC_GET(destroy_flow_table_in, cmd->in, other_eswitch) ||
	    IFC_GET(destroy_flow_table_in, cmd->in, eswitch_owner_vhca_id))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_VPORT_OTHER, "e-switches are not supported");
	return flow_check_type(hca, cmd, IFC_GET(destroy_flow_table_in, cmd->in, table_type));
}

/**
 * flow_check_table() - find the table that a command works in
 * @hca: the HCA
 * @cmd: the command
 * @t: the table
 *
 * Return: ST_OK; ST_BAD_RES if there is no such table; else as flow_check_place().
 */
uint8_t flow_check_table(struct hca *hca, struct cmd *cmd, struct flow_table **t)
{
	struct obj *o;
	uint32_t type = IFC_GET(destroy_flow_table_in, cmd->in, table_type);
	uint8_t st = flow_check_place(hca, cmd);

	if (!st)
		st = check_obj(hca, cmd, OBJ_FLOW_TABLE,
			       IFC_GET(destroy_flow_table_in, cmd->in, table_id), &o);
	if (st)
		return st;
	*t = (struct flow_table *)o;
	if ((*t)->type != type)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_TABLE_TYPE,
				"table 0x%x is of type %u, not %u", o->num, (*t)->type, type);
	return ST_OK;
}

/**
 * flow_check_next() - check that frames may go from one table to another
 * @hca: the HCA
 * @cmd: the command
 * @from: a table
 * @id: number of the other table
 *
 * The way of a frame goes to higher levels only, so that it ends.
 *
 * Return: ST_OK; ST_BAD_RES if there is no such table; ST_BAD_PARAM for another type, or for a level
 * that is not higher.
 */
uint8_t flow_check_next(struct hca *hca, struct cmd *cmd, const struct flow_table *from,
			uint32_t id)
{
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_FLOW_TABLE, id, &o);

	if (st)
		return st;
	if (((struct flow_table *)o)->type != from->type)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_TABLE_TYPE,
				"table 0x%x is of type %u, not %u", id,
				((struct flow_table *)o)->type, from->type);
	if (((struct flow_table *)o)->level <= from->level)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_TABLE_LEVEL,
				"table 0x%x is of level %u, which is not above level %u", id,
				((struct flow_table *)o)->level, from->level);
	return ST_OK;
}
