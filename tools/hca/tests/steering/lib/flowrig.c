// SPDX-License-Identifier: GPL-2.0
/*
 * The rig of the tests of steering.
 */
#include <string.h>

#include "caps.h"
#include "cmd.h"
#include "flow.h"
#include "flow_cmd.h"
#include "flow_counter.h"
#include "flowrig.h"
#include "nicrig.h"
#include "objrig.h"
#include "profile.h"

uint32_t flow_tir[2];

static const struct hca_module *const modules[] = { &flow_module, NULL };
static const struct cmd_desc *const cmds[] = {
	flow_table_cmds, flow_group_cmds, flow_entry_cmds, flow_counter_cmds, NULL
};

int flowrig_setup(void **state)
{
	static struct profile eth;
	static bool added;
	unsigned int i;

	if (!added) {
		nicrig_extra_modules = modules;
		nicrig_extra_cmds = cmds;
		added = true;
	}
	nicrig_setup(state);
	assert_int_equal(profile_default(&eth, true), 0);
	memcpy(rig.hca->cap[CAP_FLOW_TABLE], eth.cap[1][CAP_FLOW_TABLE], HCA_CAP_SIZE);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], flow_counter_bulk_alloc,
		IFC_GET(cmd_hca_cap, eth.cap[1][CAP_GENERAL], flow_counter_bulk_alloc));
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], log_max_flow_counter_bulk,
		IFC_GET(cmd_hca_cap, eth.cap[1][CAP_GENERAL], log_max_flow_counter_bulk));
	rig.profile->range[OBJ_FLOW_COUNTER] = eth.range[OBJ_FLOW_COUNTER];
	for (i = 0; i < 2; i++) {
		uint8_t *c;
		uint32_t rqn;

		nicrig_rq();
		rqn = nicrig_new(MLX5_CMD_OP_CREATE_RQ);
		c = nicrig_tir();
		IFC_SET(tirc, c, inline_rqn, rqn);
		flow_tir[i] = nicrig_new(MLX5_CMD_OP_CREATE_TIR);
	}
	return 0;
}

void flowrig_table(unsigned int level, uint32_t miss)
{
	uint8_t *c = IFC_ADDR(create_flow_table_in, nic.in, flow_table_context);

	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(flow_table_context, c, level, level);
	IFC_SET(flow_table_context, c, log_size, FLOW_LOG_SIZE);
	IFC_SET(flow_table_context, c, table_miss_action, !!miss);
	IFC_SET(flow_table_context, c, table_miss_id, miss);
}

uint8_t *flowrig_group(uint32_t table, uint32_t start, uint32_t end)
{
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(create_flow_group_in, nic.in, table_id, table);
	IFC_SET(create_flow_group_in, nic.in, start_flow_index, start);
	IFC_SET(create_flow_group_in, nic.in, end_flow_index, end);
	IFC_SET(create_flow_group_in, nic.in, match_criteria_enable, 1);
	return IFC_ADDR(create_flow_group_in, nic.in, match_criteria);
}

uint8_t *flowrig_entry(uint32_t table, uint32_t group, uint32_t index)
{
	uint8_t *c = IFC_ADDR(set_fte_in, nic.in, flow_context);

	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(set_fte_in, nic.in, table_id, table);
	IFC_SET(set_fte_in, nic.in, flow_index, index);
	IFC_SET(flow_context, c, group_id, group);
	IFC_SET(flow_context, c, flow_tag, FLOW_TAG);
	IFC_SET(flow_context, c, action, FLOW_FWD);
	return IFC_ADDR(flow_context, c, match_value);
}

void flowrig_dest(enum flow_dest_type type, uint32_t id)
{
	uint8_t *c = IFC_ADDR(set_fte_in, nic.in, flow_context);
	uint32_t n = IFC_GET(flow_context, c, destination_list_size);

	put_be32(c + IFC_SZ(flow_context) + 8 * n, (uint32_t)type << 24 | id);
	IFC_SET(flow_context, c, destination_list_size, n + 1);
}

void flowrig_index(uint32_t table, uint32_t index)
{
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(delete_fte_in, nic.in, table_id, table);
	IFC_SET(delete_fte_in, nic.in, flow_index, index);
}

void flowrig_in_table(uint32_t table, uint32_t group)
{
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(destroy_flow_group_in, nic.in, table_id, table);
	IFC_SET(destroy_flow_group_in, nic.in, group_id, group);
}

void flowrig_root(uint32_t table)
{
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(set_flow_table_root_in, nic.in, table_id, table);
}

/* The number is at the same place in the output of all commands that create an object. */
uint32_t flowrig_new(uint16_t op)
{
	flowrig_ok(op);
	return IFC_GET(create_flow_table_out, nic.out, table_id);
}

void flowrig_ok(uint16_t op)
{
	uint8_t st = nicrig_run(op, 0);

	if (st)
		fail_msg("opcode 0x%x: status 0x%x, %s", op, st, rig.why);
}
