// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of flow counters.
 *
 * Theory: a counter is an object of its own. A bulk is a number of counters whose ids follow each
 * other, from a multiple of their number on; they are allocated and freed together. So a query can
 * ask for many counters at once, by the id of the first. mlx5_core asks for some more than it has
 * allocated, to have a multiple of four: a counter that does not exist reads 0, but the first one
 * has to exist.
 */
#include <string.h>

#include "bytes.h"
#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "flow_counter.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "profile.h"

#define BULK_UNIT	128	/* counters of the bulk of bit 0 */
#define COUNTER_BYTES	IFC_SZ(traffic_counter)

static struct flow_counter *counter_find(struct hca *hca, uint32_t id)
{
	return id >> 24 ? NULL : (struct flow_counter *)obj_find(hca, OBJ_FLOW_COUNTER, id);
}

/**
 * flow_counter_add() - count a frame
 * @hca: the HCA
 * @id: of a counter that exists
 * @octets: bytes of the frame, without its frame check sequence
 */
void flow_counter_add(struct hca *hca, uint32_t id, uint64_t octets)
{
	struct flow_counter *c = counter_find(hca, id);

	c->packets++;
	c->octets += octets;
}

/* ---- allocation ------------------------------------------------------------------------------ */

static void bulk_free(struct hca *hca, uint32_t first, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		obj_free(hca, obj_find(hca, OBJ_FLOW_COUNTER, first + i));
}

/* Make the counters of a bulk. Returns false, and makes none, if an id is in use. */
static bool bulk_make(struct hca *hca, uint16_t uid, uint32_t first, uint32_t n)
{
	struct flow_counter *c;
	uint32_t i;

	for (i = 0; i < n; i++) {
		c = (struct flow_counter *)obj_new_at(hca, OBJ_FLOW_COUNTER, first + i, uid,
						      sizeof(*c));
		if (!c) {
			bulk_free(hca, first, i);
			return false;
		}
		c->first = first;
		c->bulk = n;
	}
	return true;
}

/* Returns the first id; 0 if there is no room for so many. */
static uint32_t bulk_new(struct hca *hca, uint16_t uid, uint32_t n)
{
	uint32_t limit = hca->profile->range[OBJ_FLOW_COUNTER].limit, first;

	for (first = n; first + n <= limit; first += n)
		if (bulk_make(hca, uid, first, n))
			return first;
	return 0;
}

static uint32_t counter_new(struct hca *hca, uint16_t uid)
{
	struct flow_counter *c;

	c = (struct flow_counter *)obj_new(hca, OBJ_FLOW_COUNTER, uid, sizeof(*c));
	if (!c)
		return 0;
	c->first = c->obj.num;
	c->bulk = 1;
	return c->obj.num;
}

static uint8_t alloc_check(struct hca *hca, struct cmd *cmd, uint32_t bulk)
{
	uint32_t log = IFC_GET(alloc_flow_counter_in, cmd->in, flow_counter_bulk_log_size);

	if (!hca_cap_nic_rx(hca, flow_counter))
		return cmd_fail(cmd, ST_BAD_OP, WHY_FLOW_COUNTER_NOT_OFFERED,
				"flow counters are not supported (flow_counter)");
	if (log)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_COUNTER_BULK,
				"flow_counter_bulk_log_size %u is not supported", log);
	if (bulk & (bulk - 1) || bulk & ~hca_cap_gen(hca, flow_counter_bulk_alloc))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_COUNTER_BULK,
				"flow_counter_bulk is 0x%x, flow_counter_bulk_alloc 0x%x", bulk,
				hca_cap_gen(hca, flow_counter_bulk_alloc));
	return ST_OK;
}

static uint8_t alloc_flow_counter(struct hca *hca, struct cmd *cmd)
{
	uint32_t bulk = IFC_GET(alloc_flow_counter_in, cmd->in, flow_counter_bulk);
	uint8_t st = alloc_check(hca, cmd, bulk);
	uint32_t id;

	if (st)
		return st;
	id = bulk ? bulk_new(hca, cmd->uid, BULK_UNIT * bulk) : counter_new(hca, cmd->uid);
	if (!id)
		return cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE,
				"no room for %u counters (max_flow_counter)",
				bulk ? BULK_UNIT * bulk : 1);
	IFC_SET(alloc_flow_counter_out, cmd->out, flow_counter_id, id);
	return ST_OK;
}

static uint8_t dealloc_flow_counter(struct hca *hca, struct cmd *cmd)
{
	uint32_t id = IFC_GET(dealloc_flow_counter_in, cmd->in, flow_counter_id), i;
	const struct flow_counter *c;
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_FLOW_COUNTER, id, &o);

	if (st)
		return st;
	c = (const struct flow_counter *)o;
	if (c->first != id)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_COUNTER_BULK,
				"counter 0x%x is in the bulk 0x%x, which is freed as a whole", id,
				c->first);
	for (i = 0; i < c->bulk; i++)
		if (obj_find(hca, OBJ_FLOW_COUNTER, id + i)->refs)
			return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_OBJECT_IN_USE,
					"entries name flow_counter 0x%x", id + i);
	bulk_free(hca, id, c->bulk);
	return ST_OK;
}

/* ---- queries --------------------------------------------------------------------------------- */

static uint8_t query_check(struct hca *hca, struct cmd *cmd, uint32_t n)
{
	uint32_t most = 1u << hca_cap_gen(hca, log_max_flow_counter_bulk);
	size_t room = cmd->out_len - IFC_SZ(query_flow_counter_out);

	if (n > most)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FLOW_COUNTER_BULK,
				"num_of_counters is %u, log_max_flow_counter_bulk %u", n,
				hca_cap_gen(hca, log_max_flow_counter_bulk));
	if (room < (size_t)n * COUNTER_BYTES)
		return cmd_fail(cmd, ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH,
				"%u counters, room for %zu bytes of them", n, room);
	return ST_OK;
}

/* A user's query shows only counters of the user. */
static uint8_t query_flow_counter(struct hca *hca, struct cmd *cmd)
{
	uint32_t id = IFC_GET(query_flow_counter_in, cmd->in, flow_counter_id), i;
	uint32_t n = IFC_GET(query_flow_counter_in, cmd->in, num_of_counters);
	uint8_t *to = cmd->out + IFC_SZ(query_flow_counter_out);
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_FLOW_COUNTER, id, &o);

	/* 0 stands for a query of one counter. */
	if (!n)
		n = 1;
	if (!st)
		st = query_check(hca, cmd, n);
	for (i = 0; i < n && !st; i++) {
		struct flow_counter *c = counter_find(hca, id + i);

		if (!c || (cmd->uid && c->obj.uid != cmd->uid))
			continue;
		put_be64(to + COUNTER_BYTES * i, c->packets);
		put_be64(to + COUNTER_BYTES * i + 8, c->octets);
		if (!IFC_GET(query_flow_counter_in, cmd->in, clear))
			continue;
		c->packets = 0;
		c->octets = 0;
	}
	return st;
}

#define FLAGS	.flags = CMD_STEERING

const struct cmd_desc flow_counter_cmds[] = {
	CMD(ALLOC_FLOW_COUNTER, alloc_flow_counter, alloc_flow_counter, FLAGS),
	CMD(DEALLOC_FLOW_COUNTER, dealloc_flow_counter, dealloc_flow_counter, FLAGS),
	CMD(QUERY_FLOW_COUNTER, query_flow_counter, query_flow_counter, FLAGS),
	{}
};
