// SPDX-License-Identifier: GPL-2.0
/*
 * The part of the rig for fuzzers that an HCA with an Ethernet port has, too.
 */
#include <string.h>

#include "cmd.h"
#include "corerig.h"
#include "flow.h"
#include "fuzzrig.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "rq.h"
#include "sq.h"
#include "worldnic.h"
#include "worldrig.h"

#define LOG_WQES	4	/* of each queue */
#define RQT_MAX		16
#define GROUP_SIZE	4	/* indices of a group */
#define LYR(p, fld, v)	IFC_SET(fte_match_set_lyr_2_4, p, fld, v)

/* ---- queues and TIRs ------------------------------------------------------------------------- */

static void build_tis(struct world_cmd *c, uint8_t pick)
{
	IFC_SET(create_tis_in, c->in, ctx.transport_domain, world_live(OBJ_TD, pick));
	IFC_SET(create_tis_in, c->in, ctx.prio, pick & 0xe);
}

/* Behind the context of the SQ that worldrig.c builds. */
static void build_sq(struct world_cmd *c, uint8_t pick)
{
	uint8_t *s = IFC_ADDR(create_sq_in, c->in, ctx);

	if (!world_live(OBJ_TIS, pick) || pick & 0x40)
		return;
	IFC_SET(sqc, s, tis_lst_sz, 1);
	IFC_SET(sqc, s, tis_num_0, world_live(OBJ_TIS, pick));
	IFC_SET(sqc, s, flush_in_error_en, pick >> 5 & 1);
}

static void build_rq(struct world_cmd *c, uint8_t pick)
{
	uint8_t *r = IFC_ADDR(create_rq_in, c->in, ctx), *wq = IFC_ADDR(rqc, r, wq);

	IFC_SET(rqc, r, cqn, world_live(OBJ_CQ, pick));
	IFC_SET(rqc, r, counter_set_id, pick & 0x20 ? world_live(OBJ_QCOUNTER, pick) : 0);
	IFC_SET(wq, wq, wq_type, 1);
	IFC_SET(wq, wq, end_padding_mode, 1);
	IFC_SET(wq, wq, log_wq_stride, 4 + pick % 3);
	IFC_SET(wq, wq, log_wq_sz, pick % 8 ? LOG_WQES : 0);
	IFC_SET(wq, wq, pd, world_live(OBJ_PD, pick));
	put_be64(IFC_ADDR(wq, wq, pas), world_buffer());
	IFC_SET64(wq, wq, dbr_addr, world_record());
	c->in_len += 8;
}

static void build_modify_rq(struct world_cmd *c, uint8_t pick)
{
	uint32_t rqn = world_live(OBJ_RQ, pick);
	struct rq *rq = rq_find(core.hca, rqn);

	IFC_SET(modify_rq_in, c->in, rqn, rqn);
	IFC_SET(modify_rq_in, c->in, rq_state, rq ? rq->state : 0);
	IFC_SET64(modify_rq_in, c->in, modify_bitmask, pick & 8 ? 2 : 0);
	IFC_SET(modify_rq_in, c->in, ctx.state,
		rq && rq->state == RQ_ERR ? RQ_RST : pick % 16 ? RQ_RDY : RQ_ERR);
}

static void build_rqt(struct world_cmd *c, uint8_t pick)
{
	bool new = c->op == MLX5_CMD_OP_CREATE_RQT;
	uint8_t *t = new ? IFC_ADDR(create_rqt_in, c->in, rqt_context) :
			   IFC_ADDR(modify_rqt_in, c->in, ctx);
	unsigned int n = 1 << pick % 4, i;

	if (!new) {
		IFC_SET(modify_rqt_in, c->in, rqtn, world_live(OBJ_RQT, pick));
		IFC_SET(modify_rqt_in, c->in, bitmask.rqn_list, 1);
	}
	IFC_SET(rqtc, t, rqt_max_size, new ? RQT_MAX : 0);
	IFC_SET(rqtc, t, rqt_actual_size, n);
	for (i = 0; i < n; i++)
		put_be32(t + IFC_SZ(rqtc) + 4 * i, world_live(OBJ_RQ, pick + i));
	c->in_len += 4 * n;
	c->out_len += 4 * RQT_MAX;
}

static void build_tir(struct world_cmd *c, uint8_t pick)
{
	bool new = c->op == MLX5_CMD_OP_CREATE_TIR;
	uint8_t *t = new ? IFC_ADDR(create_tir_in, c->in, ctx) :
			   IFC_ADDR(modify_tir_in, c->in, ctx);

	if (!new) {
		IFC_SET(modify_tir_in, c->in, tirn, world_live(OBJ_TIR, pick));
		IFC_SET(modify_tir_in, c->in, bitmask.hash, pick & 1);
		IFC_SET(modify_tir_in, c->in, bitmask.self_lb_en, pick >> 1 & 1);
	} else if (pick & 1) {
		IFC_SET(tirc, t, disp_type, 1);
		IFC_SET(tirc, t, indirect_table, world_live(OBJ_RQT, pick));
	} else {
		IFC_SET(tirc, t, inline_rqn, world_live(OBJ_RQ, pick));
	}
	IFC_SET(tirc, t, transport_domain, world_live(OBJ_TD, pick));
	IFC_SET(tirc, t, rx_hash_fn, pick % 3);
	IFC_SET(tirc, t, rx_hash_field_selector_outer.selected_fields, pick % 16);
}

/* ---- steering -------------------------------------------------------------------------------- */

static struct flow_table *live_table(uint8_t pick)
{
	return flow_table_find(core.hca, world_live(OBJ_FLOW_TABLE, pick));
}

/* A table with a higher level than @t, or 0. */
static uint32_t table_above(const struct flow_table *t, uint8_t pick)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		const struct flow_table *o = live_table(pick + i);

		if (o && o->level > t->level)
			return o->obj.num;
	}
	return 0;
}

static void build_table(struct world_cmd *c, uint8_t pick)
{
	bool new = c->op == MLX5_CMD_OP_CREATE_FLOW_TABLE;
	uint8_t *t = new ? IFC_ADDR(create_flow_table_in, c->in, flow_table_context) :
			   IFC_ADDR(modify_flow_table_in, c->in, flow_table_context);
	struct flow_table is = { .level = pick % 8 }, *old = live_table(pick);
	uint32_t miss;

	if (!new && old)
		is.level = old->level;
	miss = table_above(&is, pick);
	IFC_SET(modify_flow_table_in, c->in, table_id, new || !old ? 0 : old->obj.num);
	if (!new)
		IFC_SET(modify_flow_table_in, c->in, modify_field_select, 1);
	IFC_SET(flow_table_context, t, level, new ? is.level : 0);
	IFC_SET(flow_table_context, t, log_size, new ? 8 : 0);
	IFC_SET(flow_table_context, t, table_miss_action, !!miss);
	IFC_SET(flow_table_context, t, table_miss_id, miss);
}

static void build_table_num(struct world_cmd *c, uint8_t pick)
{
	IFC_SET(destroy_flow_table_in, c->in, table_id, world_live(OBJ_FLOW_TABLE, pick));
}

/* What the group that @pick chooses looks at; value: what its entries compare it with. */
static void put_match(uint8_t *m, uint8_t pick, bool value, uint8_t variant)
{
	switch (pick % 4) {
	case 0:
		break;
	case 1:
		LYR(m, ethertype, value ? (variant & 1 ? 0x800 : 0x86dd) : 0xffff);
		break;
	case 2:
		LYR(m, cvlan_tag, value ? variant & 1 : 1);
		LYR(m, first_vid, value ? variant : 0xfff);
		break;
	case 3:
		LYR(m, ip_version, value ? (variant & 1 ? 4 : 6) : 15);
		LYR(m, ip_protocol, value ? variant & 17 : 255);
		LYR(m, dmac_47_16, value ? (uint32_t)(variant & 2) << 23 : 1 << 24);
	}
}

static void build_group(struct world_cmd *c, uint8_t pick)
{
	struct flow_table *t = live_table(pick);
	unsigned int start = pick / 4 % 64 * GROUP_SIZE, i;

	for (i = 0; t && i < 64 && flow_group_at(t, start, start + GROUP_SIZE - 1); i++)
		start = (start + GROUP_SIZE) % 256;
	IFC_SET(create_flow_group_in, c->in, table_id, t ? t->obj.num : 0);
	IFC_SET(create_flow_group_in, c->in, start_flow_index, start);
	IFC_SET(create_flow_group_in, c->in, end_flow_index, start + GROUP_SIZE - 1);
	IFC_SET(create_flow_group_in, c->in, match_criteria_enable, 1);
	put_match(IFC_ADDR(create_flow_group_in, c->in, match_criteria), start / GROUP_SIZE,
		  false, 0);
}

static struct flow_group *live_group(uint8_t pick)
{
	return (struct flow_group *)obj_find(core.hca, OBJ_FLOW_GROUP,
					     world_live(OBJ_FLOW_GROUP, pick));
}

static void build_group_num(struct world_cmd *c, uint8_t pick)
{
	const struct flow_group *g = live_group(pick);

	if (!g)
		return;
	IFC_SET(destroy_flow_group_in, c->in, table_id, g->table->obj.num);
	IFC_SET(destroy_flow_group_in, c->in, group_id, g->obj.num);
}

static void put_dest(struct world_cmd *c, enum flow_dest_type type, uint32_t id)
{
	uint8_t *f = IFC_ADDR(set_fte_in, c->in, flow_context);
	uint32_t n = IFC_GET(flow_context, f, destination_list_size);

	put_be32(f + IFC_SZ(flow_context) + 8 * n, (uint32_t)type << 24 | id);
	IFC_SET(flow_context, f, destination_list_size, n + 1);
	c->in_len += 8;
}

/* Behind the destinations. */
static void put_counter(struct world_cmd *c, uint32_t id)
{
	uint8_t *f = IFC_ADDR(set_fte_in, c->in, flow_context);
	uint32_t n = IFC_GET(flow_context, f, destination_list_size);

	put_be32(f + IFC_SZ(flow_context) + 8 * n, id);
	IFC_SET(flow_context, f, flow_counter_list_size, 1);
	IFC_SET(flow_context, f, action, IFC_GET(flow_context, f, action) | FLOW_COUNT);
	c->in_len += 8;
}

static void build_dests(struct world_cmd *c, uint32_t up, uint8_t pick)
{
	if (up)
		put_dest(c, FLOW_TO_TABLE, up);
	if (!up || pick & 0x80)
		put_dest(c, FLOW_TO_TIR, world_live(OBJ_TIR, pick));
}

static void build_entry(struct world_cmd *c, uint8_t pick)
{
	uint8_t *f = IFC_ADDR(set_fte_in, c->in, flow_context);
	const struct flow_group *g = live_group(pick);
	uint32_t up;

	if (!g)
		return;
	up = table_above(g->table, pick);
	IFC_SET(set_fte_in, c->in, table_id, g->table->obj.num);
	IFC_SET(set_fte_in, c->in, flow_index, g->start + pick % GROUP_SIZE);
	IFC_SET(flow_context, f, group_id, g->obj.num);
	IFC_SET(flow_context, f, flow_tag, pick);
	put_match(IFC_ADDR(flow_context, f, match_value), g->start / GROUP_SIZE, true, pick);
	IFC_SET(flow_context, f, action, pick % 16 == 15 ? FLOW_DROP : FLOW_FWD);
	if (pick % 16 != 15)
		build_dests(c, up, pick);
	if (pick & 0x40 && world_live(OBJ_FLOW_COUNTER, pick))
		put_counter(c, world_live(OBJ_FLOW_COUNTER, pick));
}

static void build_entry_num(struct world_cmd *c, uint8_t pick)
{
	const struct flow_entry *e = (struct flow_entry *)
		obj_find(core.hca, OBJ_FLOW_ENTRY, world_live(OBJ_FLOW_ENTRY, pick));

	c->out_len += 512;
	if (!e)
		return;
	IFC_SET(delete_fte_in, c->in, table_id, e->group->table->obj.num);
	IFC_SET(delete_fte_in, c->in, flow_index, e->index);
}

static void build_alloc_counter(struct world_cmd *c, uint8_t pick)
{
	IFC_SET(alloc_flow_counter_in, c->in, flow_counter_bulk, pick % 8 == 7);
}

static void build_dealloc_counter(struct world_cmd *c, uint8_t pick)
{
	IFC_SET(dealloc_flow_counter_in, c->in, flow_counter_id,
		world_live(OBJ_FLOW_COUNTER, pick));
}

static void build_query_counter(struct world_cmd *c, uint8_t pick)
{
	IFC_SET(query_flow_counter_in, c->in, flow_counter_id, world_live(OBJ_FLOW_COUNTER, pick));
	IFC_SET(query_flow_counter_in, c->in, num_of_counters, pick % 32);
	IFC_SET(query_flow_counter_in, c->in, clear, pick >> 7);
	c->out_len += 32 * IFC_SZ(traffic_counter);
}

static void build_root(struct world_cmd *c, uint8_t pick)
{
	IFC_SET(set_flow_table_root_in, c->in, table_id, world_live(OBJ_FLOW_TABLE, pick));
}

/* ---- all of them ----------------------------------------------------------------------------- */

#define NUM(kind)								\
	static void build_##kind##_num(struct world_cmd *c, uint8_t pick)	\
	{									\
		IFC_SET(destroy_rq_in, c->in, rqn, world_live(OBJ_##kind, pick));	\
	}
NUM(TIS)
NUM(RQ)
NUM(RQT)
NUM(TIR)

static void build_modify_tis(struct world_cmd *c, uint8_t pick)
{
	IFC_SET(modify_tis_in, c->in, tisn, world_live(OBJ_TIS, pick));
	IFC_SET(modify_tis_in, c->in, bitmask.prio, 1);
	IFC_SET(modify_tis_in, c->in, ctx.prio, pick & 0xe);
}

static void build_query_rqt(struct world_cmd *c, uint8_t pick)
{
	build_RQT_num(c, pick);
	c->out_len += 4 * RQT_MAX;
}

#define HCA(op) MLX5_CMD_OP_##op

static const struct {
	uint16_t op;
	void (*build)(struct world_cmd *c, uint8_t pick);
} builders[] = {
	{ HCA(CREATE_TIS), build_tis }, { HCA(MODIFY_TIS), build_modify_tis },
	{ HCA(DESTROY_TIS), build_TIS_num }, { HCA(QUERY_TIS), build_TIS_num },
	{ HCA(CREATE_SQ), build_sq },
	{ HCA(CREATE_RQ), build_rq }, { HCA(MODIFY_RQ), build_modify_rq },
	{ HCA(DESTROY_RQ), build_RQ_num }, { HCA(QUERY_RQ), build_RQ_num },
	{ HCA(CREATE_RQT), build_rqt }, { HCA(MODIFY_RQT), build_rqt },
	{ HCA(DESTROY_RQT), build_RQT_num }, { HCA(QUERY_RQT), build_query_rqt },
	{ HCA(CREATE_TIR), build_tir }, { HCA(MODIFY_TIR), build_tir },
	{ HCA(DESTROY_TIR), build_TIR_num }, { HCA(QUERY_TIR), build_TIR_num },
	{ HCA(CREATE_FLOW_TABLE), build_table }, { HCA(MODIFY_FLOW_TABLE), build_table },
	{ HCA(DESTROY_FLOW_TABLE), build_table_num }, { HCA(QUERY_FLOW_TABLE), build_table_num },
	{ HCA(SET_FLOW_TABLE_ROOT), build_root },
	{ HCA(CREATE_FLOW_GROUP), build_group }, { HCA(DESTROY_FLOW_GROUP), build_group_num },
	{ HCA(QUERY_FLOW_GROUP), build_group_num },
	{ HCA(SET_FLOW_TABLE_ENTRY), build_entry },
	{ HCA(QUERY_FLOW_TABLE_ENTRY), build_entry_num },
	{ HCA(DELETE_FLOW_TABLE_ENTRY), build_entry_num },
	{ HCA(ALLOC_FLOW_COUNTER), build_alloc_counter },
	{ HCA(DEALLOC_FLOW_COUNTER), build_dealloc_counter },
	{ HCA(QUERY_FLOW_COUNTER), build_query_counter },
};

void worldnic_build(struct world_cmd *c, uint8_t pick)
{
	size_t i;

	for (i = 0; i < sizeof(builders) / sizeof(*builders); i++)
		if (builders[i].op == c->op)
			builders[i].build(c, pick);
}

bool worldnic_has(uint16_t op)
{
	size_t i;

	for (i = 0; i < sizeof(builders) / sizeof(*builders); i++)
		if (builders[i].op == op)
			return true;
	return false;
}

/* The tables are made from the highest level down, so that each can lead to the one before. */
void worldnic_up(void)
{
	unsigned int i;

	world_create(MLX5_CMD_OP_CREATE_TIS, 0);
	world_create(MLX5_CMD_OP_CREATE_SQ, 0);
	for (i = 1; i <= 4; i++)
		world_create(MLX5_CMD_OP_CREATE_RQ, i);
	world_create(MLX5_CMD_OP_CREATE_RQT, 2);
	world_create(MLX5_CMD_OP_CREATE_TIR, 0);
	world_create(MLX5_CMD_OP_CREATE_TIR, 1);
	world_create(MLX5_CMD_OP_ALLOC_FLOW_COUNTER, 0);
	for (i = WORLD_TABLES; i; i--) {
		world_create(MLX5_CMD_OP_CREATE_FLOW_TABLE, i);
		world_create(MLX5_CMD_OP_CREATE_FLOW_GROUP, WORLD_TABLES - i);
		world_create(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, WORLD_TABLES - i);
	}
	world_create(MLX5_CMD_OP_SET_FLOW_TABLE_ROOT, WORLD_TABLES - 1);
}
