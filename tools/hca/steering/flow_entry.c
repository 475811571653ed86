// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of entries. SET_FLOW_TABLE_ENTRY makes an entry, or with op_mod 1 changes some of
 * its fields.
 */
#include <stdlib.h>
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "flow.h"
#include "flow_cmd.h"
#include "hca.h"
#include "ifc.h"
#include "match.h"
#include "object.h"
#include "util.h"

#define SET_NEW		0	/* op_mod */
#define SET_CHANGE	1
#define DEST_BYTES	8	/* of an entry of the list of destinations and counters */

/* Bits of modify_enable_mask. */
enum {
	CHANGE_ACTION = 1, CHANGE_TAG = 2, CHANGE_DESTS = 4, CHANGE_COUNTERS = 8, CHANGE_ALL = 15,
};

/* What a command gives for an entry: all of a new one, or what changes. */
struct given {
	const uint8_t *ctx;	/* struct mlx5_ifc_flow_context_bits */
	uint16_t action;
	uint32_t tag;
	unsigned int dests, counters;	/* in the list, the destinations first */
	struct flow_dest *dest;
	uint32_t *counter;
};

/* Fields of features that the HCA does not have: VLAN tags, tunnels, crypto and meters. */
static const struct ifc_field entry_not_offered[] = {
	IFC_FIELD(flow_context, push_vlan), IFC_FIELD(flow_context, extended_destination),
	IFC_FIELD(flow_context, uplink_hairpin_en), IFC_FIELD(flow_context, flow_source),
	IFC_FIELD(flow_context, encrypt_decrypt_type),
	IFC_FIELD(flow_context, packet_reformat_id), IFC_FIELD(flow_context, modify_header_id),
	IFC_FIELD(flow_context, push_vlan_2), IFC_FIELD(flow_context, encrypt_decrypt_obj_id),
	IFC_FIELD(flow_context, execute_aso),
};

/* The same of the command itself. */
static const struct ifc_field set_not_offered[] = { IFC_FIELD(set_fte_in, ignore_flow_level) };

static uint8_t entry_check_features(struct cmd *cmd, const uint8_t *c)
{
	uint8_t st = check_offered(cmd, WHY_FLOW_ENTRY_NOT_OFFERED, "", c, entry_not_offered,
				   ARRAY_SIZE(entry_not_offered));

	return st ? st : check_offered(cmd, WHY_FLOW_ENTRY_NOT_OFFERED, "", cmd->in,
				       set_not_offered, ARRAY_SIZE(set_not_offered));
}

/* ---- destinations ---------------------------------------------------------------------------- */

/* Frames that are sent, and those of RoCE, go on to the port or to the transport. */
static bool takes_tirs(const struct flow_table *t)
{
	return t->type == FLOW_NIC_RX || t->type == FLOW_SNIFFER_RX || t->type == FLOW_SNIFFER_TX;
}

static uint8_t dest_check(struct hca *hca, struct cmd *cmd, const struct flow_table *t,
			  const struct flow_dest *d, unsigned int *tables)
{
	struct obj *o;

	if (d->type == FLOW_TO_TIR && !takes_tirs(t))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATION,
				"a TIR receives no frames from tables of type %u", t->type);
	if (d->type == FLOW_TO_TIR)
		return check_obj(hca, cmd, OBJ_TIR, d->id, &o);
	if (d->type != FLOW_TO_TABLE)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATION,
				"destinations of type %u are not supported", d->type);
	if (++*tables > 1)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_ENTRY_TABLES,
				"more than one destination is a table");
	return flow_check_next(hca, cmd, t, d->id);
}

/* One copy of a frame may go to a TIR and another on to a table if the HCA has the capability. */
static uint8_t dests_check_paths(struct hca *hca, struct cmd *cmd, unsigned int dests,
				 unsigned int tables)
{
	if (!tables || dests == 1 ||
	    IFC_GET(flow_table_nic_cap, hca->cap[CAP_FLOW_TABLE], nic_rx_multi_path_tirs))
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_ENTRY_PATHS,
			"a table and %u other destinations, nic_rx_multi_path_tirs is 0",
			dests - 1);
}

static uint8_t dests_check_list(struct hca *hca, struct cmd *cmd, const struct flow_table *t,
				const struct given *g)
{
	const uint8_t *list = g->ctx + IFC_SZ(flow_context);
	unsigned int i, tables = 0;
	uint8_t st = ST_OK;

	for (i = 0; i < g->dests && !st; i++) {
		const struct flow_dest d = {
			.type = list[DEST_BYTES * i],
			.id = get_be32(list + DEST_BYTES * i) & 0xffffff,
		};

		/*
		 * The rest says in which e-switch the destination is, and how to reformat frames.
		 */
		if (get_be32(list + DEST_BYTES * i + 4))
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATION,
					"destination %u has 0x%x", i,
					get_be32(list + DEST_BYTES * i + 4));
		st = dest_check(hca, cmd, t, &d, &tables);
	}
	return st ? st : dests_check_paths(hca, cmd, g->dests, tables);
}

static uint8_t list_check_length(struct cmd *cmd, const struct given *g)
{
	size_t n = (size_t)g->dests + g->counters;

	if (cmd_left(cmd, g->ctx + IFC_SZ(flow_context)) >= n * DEST_BYTES)
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_INP_LEN, WHY_FLOW_ENTRY_LIST,
			"%u destinations and %u counters, %zu bytes given", g->dests, g->counters,
			cmd_left(cmd, g->ctx + IFC_SZ(flow_context)));
}

static uint8_t dests_check(struct hca *hca, struct cmd *cmd, const struct flow_table *t,
			   const struct given *g)
{
	uint8_t st;

	if (g->dests > 1u << flow_cap(hca, t->type, log_max_destination))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATIONS,
				"%u destinations, log_max_destination is %u", g->dests,
				flow_cap(hca, t->type, log_max_destination));
	st = list_check_length(cmd, g);
	return st ? st : dests_check_list(hca, cmd, t, g);
}

/* Read a list that was checked. */
static uint8_t dests_take(struct cmd *cmd, struct given *g)
{
	const uint8_t *list = g->ctx + IFC_SZ(flow_context);
	unsigned int i;

	g->dest = g->dests ? calloc(g->dests, sizeof(*g->dest)) : NULL;
	if (g->dests && !g->dest)
		return cmd_fail(cmd, ST_NO_RES, WHY_NO_MEMORY, "no memory for destinations");
	for (i = 0; i < g->dests; i++) {
		g->dest[i].type = list[DEST_BYTES * i];
		g->dest[i].id = get_be32(list + DEST_BYTES * i) & 0xffffff;
	}
	return ST_OK;
}

/* ---- counters -------------------------------------------------------------------------------- */

static uint32_t given_counter(const struct given *g, unsigned int i)
{
	return get_be32(g->ctx + IFC_SZ(flow_context) + DEST_BYTES * (g->dests + i));
}

static uint8_t counters_check(struct hca *hca, struct cmd *cmd, const struct flow_table *t,
			      const struct given *g)
{
	struct obj *o;
	unsigned int i;
	uint8_t st;

	if (g->counters > 1u << flow_cap(hca, t->type, log_max_flow_counter))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_ENTRY_COUNTERS,
				"%u counters, log_max_flow_counter is %u", g->counters,
				flow_cap(hca, t->type, log_max_flow_counter));
	st = list_check_length(cmd, g);
	for (i = 0; i < g->counters && !st; i++)
		st = check_obj(hca, cmd, OBJ_FLOW_COUNTER, given_counter(g, i), &o);
	return st;
}

/* Read a list that was checked. */
static uint8_t counters_take(struct cmd *cmd, struct given *g)
{
	unsigned int i;

	g->counter = g->counters ? calloc(g->counters, sizeof(*g->counter)) : NULL;
	if (g->counters && !g->counter)
		return cmd_fail(cmd, ST_NO_RES, WHY_NO_MEMORY, "no memory for counters");
	for (i = 0; i < g->counters; i++)
		g->counter[i] = given_counter(g, i);
	return ST_OK;
}

/* ---- the entry ------------------------------------------------------------------------------- */

/*
 * A frame is allowed, dropped or forwarded, and may be counted. Only forwarding has destinations,
 * only counting has counters.
 */
static uint8_t entry_check_action(struct cmd *cmd, uint16_t action, unsigned int dests,
				  unsigned int counters)
{
	uint16_t fate = action & ~FLOW_COUNT;

	if (fate != FLOW_ALLOW && fate != FLOW_DROP && fate != FLOW_FWD)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_ENTRY_ACTION,
				"action 0x%x is not supported", action);
	if (fate == FLOW_FWD ? !dests : dests)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATIONS,
				"action 0x%x with %u destinations", action, dests);
	if (action & FLOW_COUNT ? !counters : counters)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_ENTRY_COUNTERS,
				"action 0x%x with %u counters", action, counters);
	return ST_OK;
}

/* Find the group that has the index, which has to be the group that the command names. */
static uint8_t entry_check_group(struct cmd *cmd, struct flow_table *t, struct flow_group **group)
{
	uint32_t index = IFC_GET(set_fte_in, cmd->in, flow_index);
	uint32_t id = IFC_GET(set_fte_in, cmd->in, flow_context.group_id);

	*group = flow_group_at(t, index, index);
	if (*group && (*group)->obj.num == id)
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_ENTRY_GROUP,
			"index 0x%x of table 0x%x is not in group 0x%x", index, t->obj.num, id);
}

static uint8_t entry_check_value(struct cmd *cmd, const struct flow_group *g, const uint8_t *c)
{
	const uint8_t *value = IFC_ADDR(flow_context, c, match_value);
	int byte = match_first_byte(value, g->criteria);

	if (byte >= 0)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_ENTRY_VALUE,
				"byte 0x%x of match_value has bits outside the criteria", byte);
	return ST_OK;
}

/* Read the lists that @mask names. On failure there is neither. */
static uint8_t lists_take(struct cmd *cmd, struct given *g, uint32_t mask)
{
	uint8_t st = mask & CHANGE_DESTS ? dests_take(cmd, g) : ST_OK;

	if (!st && mask & CHANGE_COUNTERS)
		st = counters_take(cmd, g);
	if (st)
		free(g->dest);
	return st;
}

static uint8_t entry_new(struct hca *hca, struct cmd *cmd, struct flow_group *group,
			 struct given *g)
{
	uint32_t index = IFC_GET(set_fte_in, cmd->in, flow_index);
	struct flow_entry *e;
	uint8_t st = entry_check_value(cmd, group, g->ctx);

	if (!st && flow_entry_at(group->table, index))
		st = cmd_fail(cmd, ST_BAD_RES_STATE, WHY_FLOW_ENTRY_INDEX_USED,
			      "index 0x%x is in use", index);
	if (!st)
		st = entry_check_action(cmd, g->action, g->dests, g->counters);
	if (!st)
		st = dests_check(hca, cmd, group->table, g);
	if (!st)
		st = counters_check(hca, cmd, group->table, g);
	if (!st)
		st = lists_take(cmd, g, CHANGE_ALL);
	if (st)
		return st;
	e = (struct flow_entry *)obj_new(hca, OBJ_FLOW_ENTRY, cmd->uid, sizeof(*e));
	if (!e) {
		free(g->dest);
		free(g->counter);
		return cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE, "no more than 2^log_max_flow");
	}
	e->index = index;
	e->action = g->action;
	e->tag = g->tag;
	memcpy(e->value, IFC_ADDR(flow_context, g->ctx, match_value), MATCH_BYTES);
	flow_entry_set_dests(hca, e, g->dest, g->dests);
	flow_entry_set_counters(hca, e, g->counter, g->counters);
	flow_entry_add(group, e);
	return ST_OK;
}

static uint8_t entry_check_change(struct hca *hca, struct cmd *cmd, const struct flow_table *t,
				  const struct flow_entry *e, const struct given *g)
{
	uint32_t mask = IFC_GET(set_fte_in, cmd->in, modify_enable_mask);
	uint8_t st;

	if (!flow_cap(hca, t->type, flow_modify_en) || mask & ~CHANGE_ALL)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_ENTRY_MODIFY,
				"modify_enable_mask is 0x%x, flow_modify_en %u", mask,
				flow_cap(hca, t->type, flow_modify_en));
	if (!e)
		return cmd_fail(cmd, ST_BAD_RES, WHY_OBJECT_UNKNOWN, "index 0x%x has no entry",
				IFC_GET(set_fte_in, cmd->in, flow_index));
	st = entry_check_action(cmd, mask & CHANGE_ACTION ? g->action : e->action,
				mask & CHANGE_DESTS ? g->dests : e->dests,
				mask & CHANGE_COUNTERS ? g->counters : e->counters);
	if (!st && mask & CHANGE_DESTS)
		st = dests_check(hca, cmd, t, g);
	return st || !(mask & CHANGE_COUNTERS) ? st : counters_check(hca, cmd, t, g);
}

static uint8_t entry_change(struct hca *hca, struct cmd *cmd, struct flow_group *group,
			    struct given *g)
{
	uint32_t mask = IFC_GET(set_fte_in, cmd->in, modify_enable_mask);
	uint32_t index = IFC_GET(set_fte_in, cmd->in, flow_index);
	struct flow_entry *e = flow_entry_at(group->table, index);
	uint8_t st = entry_check_change(hca, cmd, group->table, e, g);

	if (!st)
		st = lists_take(cmd, g, mask);
	if (st)
		return st;
	if (mask & CHANGE_ACTION)
		e->action = g->action;
	if (mask & CHANGE_TAG)
		e->tag = g->tag;
	if (mask & CHANGE_DESTS)
		flow_entry_set_dests(hca, e, g->dest, g->dests);
	if (mask & CHANGE_COUNTERS)
		flow_entry_set_counters(hca, e, g->counter, g->counters);
	return ST_OK;
}

static uint8_t set_fte(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(set_fte_in, cmd->in, flow_context);
	struct given g = {
		.ctx = c, .action = IFC_GET(flow_context, c, action),
		.tag = IFC_GET(flow_context, c, flow_tag),
		.dests = IFC_GET(flow_context, c, destination_list_size),
		.counters = IFC_GET(flow_context, c, flow_counter_list_size),
	};
	struct flow_group *group;
	struct flow_table *t;
	uint8_t st = flow_check_table(hca, cmd, &t);

	if (!st)
		st = entry_check_features(cmd, c);
	if (!st)
		st = entry_check_group(cmd, t, &group);
	if (st)
		return st;
	return cmd->op_mod == SET_CHANGE ? entry_change(hca, cmd, group, &g) :
					   entry_new(hca, cmd, group, &g);
}

/* ---- the other commands ---------------------------------------------------------------------- */

static uint8_t entry_find(struct hca *hca, struct cmd *cmd, struct flow_entry **e)
{
	uint32_t index = IFC_GET(delete_fte_in, cmd->in, flow_index);
	struct flow_table *t;
	uint8_t st = flow_check_table(hca, cmd, &t);

	if (st)
		return st;
	*e = flow_entry_at(t, index);
	if (!*e)
		return cmd_fail(cmd, ST_BAD_RES, WHY_OBJECT_UNKNOWN,
				"index 0x%x of table 0x%x has no entry", index, t->obj.num);
	return ST_OK;
}

static uint8_t delete_fte(struct hca *hca, struct cmd *cmd)
{
	struct flow_entry *e;
	uint8_t st = entry_find(hca, cmd, &e);

	if (!st)
		flow_entry_free(hca, e);
	return st;
}

static uint8_t query_fte(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_fte_out, cmd->out, flow_context), *list;
	size_t room = cmd->out_len - IFC_SZ(query_fte_out);
	struct flow_entry *e;
	unsigned int i;
	uint8_t st = entry_find(hca, cmd, &e);

	if (st)
		return st;
	if (room < ((size_t)e->dests + e->counters) * DEST_BYTES)
		return cmd_fail(cmd, ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH,
				"%u destinations and %u counters, room for %zu bytes of them",
				e->dests, e->counters, room);
	IFC_SET(flow_context, c, group_id, e->group->obj.num);
	IFC_SET(flow_context, c, flow_tag, e->tag);
	IFC_SET(flow_context, c, action, e->action);
	IFC_SET(flow_context, c, destination_list_size, e->dests);
	IFC_SET(flow_context, c, flow_counter_list_size, e->counters);
	memcpy(IFC_ADDR(flow_context, c, match_value), e->value, MATCH_BYTES);
	list = c + IFC_SZ(flow_context);
	for (i = 0; i < e->dests; i++, list += DEST_BYTES)
		put_be32(list, (uint32_t)e->dest[i].type << 24 | e->dest[i].id);
	for (i = 0; i < e->counters; i++, list += DEST_BYTES)
		put_be32(list, e->counter[i]);
	return ST_OK;
}

const struct cmd_desc flow_entry_cmds[] = {
	CMD(SET_FLOW_TABLE_ENTRY, set_fte, set_fte, FLOW_FLAGS, OP_MODS(SET_NEW, SET_CHANGE)),
	CMD(QUERY_FLOW_TABLE_ENTRY, query_fte, query_fte, FLOW_FLAGS),
	CMD(DELETE_FLOW_TABLE_ENTRY, delete_fte, delete_fte, FLOW_FLAGS),
	{}
};
