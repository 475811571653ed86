// SPDX-License-Identifier: GPL-2.0
/*
 * RQTs: CREATE, MODIFY, QUERY and DESTROY_RQT. A queue that is in a table cannot be destroyed, so a
 * driver that closes its queues first moves the entries to another queue.
 */
#include <stdlib.h>
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "rqt.h"
#include "util.h"

#define ENTRY_BYTES	4
#define RQN_MASK	0xffffffu

/**
 * rqt_find() - find an RQT
 * @hca: the HCA
 * @rqtn: its number
 *
 * Return: the table or NULL.
 */
struct rqt *rqt_find(struct hca *hca, uint32_t rqtn)
{
	return (struct rqt *)obj_find(hca, OBJ_RQT, rqtn);
}

/* Address of the list of entries behind the context @c. */
static const uint8_t *rqt_list(const uint8_t *c)
{
	return c + IFC_SZ(rqtc);
}

/* Other kinds of queues, and queues of other functions, are not supported. */
static const struct ifc_field rqtc_not_offered[] = {
	IFC_FIELD(rqtc, list_q_type), IFC_FIELD(rqtc, rq_vhca_id_format),
};

static uint8_t rqt_check_size(struct cmd *cmd, const uint8_t *c, uint32_t max)
{
	uint8_t st = check_offered(cmd, WHY_RQT_FIELD_NOT_OFFERED, "rqtc.", c, rqtc_not_offered,
				   ARRAY_SIZE(rqtc_not_offered));
	uint32_t n = IFC_GET(rqtc, c, rqt_actual_size);

	if (st)
		return st;
	if (!n || n > max || n & (n - 1))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RQT_SIZE,
				"rqt_actual_size %u is not a power of two up to %u", n, max);
	if (cmd_left(cmd, rqt_list(c)) < (size_t)n * ENTRY_BYTES)
		return cmd_fail(cmd, ST_BAD_INP_LEN, WHY_RQT_LIST, "%u entries, %zu bytes given", n,
				cmd_left(cmd, rqt_list(c)));
	return ST_OK;
}

/* Check that each entry of the list is a receive queue that the user may use. */
static uint8_t rqt_check_list(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	const uint8_t *list = rqt_list(c);
	uint32_t n = IFC_GET(rqtc, c, rqt_actual_size), i;
	uint8_t st = ST_OK;
	struct obj *rq;

	for (i = 0; i < n && !st; i++) {
		uint32_t entry = get_be32(list + ENTRY_BYTES * i);

		if (entry & ~RQN_MASK)
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_RESERVED_BITS,
					"reserved bits of entry %u are set: 0x%x", i, entry);
		st = check_obj(hca, cmd, OBJ_RQ, entry, &rq);
	}
	return st;
}

/* Read a list that was checked, and refer to its queues. Returns NULL if memory is short. */
static uint32_t *rqt_take_list(struct hca *hca, const uint8_t *c)
{
	uint32_t n = IFC_GET(rqtc, c, rqt_actual_size), i;
	uint32_t *rqn = calloc(n, sizeof(*rqn));

	for (i = 0; rqn && i < n; i++) {
		rqn[i] = get_be32(rqt_list(c) + ENTRY_BYTES * i);
		obj_find(hca, OBJ_RQ, rqn[i])->refs++;
	}
	return rqn;
}

static void rqt_drop_list(struct hca *hca, struct rqt *rqt)
{
	uint32_t i;

	for (i = 0; i < rqt->actual; i++)
		obj_put(hca, obj_find(hca, OBJ_RQ, rqt->rqn[i]));
	free(rqt->rqn);
	rqt->rqn = NULL;
	rqt->actual = 0;
}

static uint8_t create_rqt(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(create_rqt_in, cmd->in, rqt_context);
	uint32_t max = IFC_GET(rqtc, c, rqt_max_size);
	uint32_t *rqn;
	struct rqt *rqt;
	uint8_t st;

	if (!max || max > 1u << hca_cap_gen(hca, log_max_rqt_size))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_RQT_SIZE,
				"rqt_max_size is %u, log_max_rqt_size %u", max,
				hca_cap_gen(hca, log_max_rqt_size));
	st = rqt_check_size(cmd, c, max);
	if (!st)
		st = rqt_check_list(hca, cmd, c);
	if (st)
		return st;
	rqt = (struct rqt *)obj_new(hca, OBJ_RQT, cmd->uid, sizeof(*rqt));
	if (!rqt)
		return cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE, "all RQT numbers are in use");
	rqn = rqt_take_list(hca, c);
	if (!rqn) {
		obj_free(hca, &rqt->obj);
		return cmd_fail(cmd, ST_NO_RES, WHY_NO_MEMORY, "no memory for the table");
	}
	rqt->max = max;
	rqt->actual = IFC_GET(rqtc, c, rqt_actual_size);
	rqt->rqn = rqn;
	IFC_SET(create_rqt_out, cmd->out, rqtn, rqt->obj.num);
	return ST_OK;
}

/* The list, with its size, is all that can change. */
static uint8_t modify_rqt(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(modify_rqt_in, cmd->in, ctx);
	struct rqt *rqt;
	struct obj *o;
	uint32_t *rqn;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_RQT, IFC_GET(modify_rqt_in, cmd->in, rqtn), &o);
	if (st || !IFC_GET(modify_rqt_in, cmd->in, bitmask.rqn_list))
		return st;
	rqt = (struct rqt *)o;
	st = rqt_check_size(cmd, c, rqt->max);
	if (!st)
		st = rqt_check_list(hca, cmd, c);
	if (st)
		return st;
	rqn = rqt_take_list(hca, c);
	if (!rqn)
		return cmd_fail(cmd, ST_NO_RES, WHY_NO_MEMORY, "no memory for the table");
	rqt_drop_list(hca, rqt);
	rqt->actual = IFC_GET(rqtc, c, rqt_actual_size);
	rqt->rqn = rqn;
	return ST_OK;
}

static void rqt_release(struct hca *hca, struct rqt *rqt)
{
	rqt_drop_list(hca, rqt);
	obj_free(hca, &rqt->obj);
}

static uint8_t destroy_rqt(struct hca *hca, struct cmd *cmd)
{
	struct obj *o;
	uint8_t st;

	st = check_destroy(hca, cmd, OBJ_RQT, IFC_GET(destroy_rqt_in, cmd->in, rqtn), &o);
	if (!st)
		rqt_release(hca, (struct rqt *)o);
	return st;
}

static uint8_t query_rqt(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_rqt_out, cmd->out, rqt_context);
	size_t room = cmd->out_len - IFC_SZ(query_rqt_out);
	const struct rqt *rqt;
	struct obj *o;
	uint32_t i;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_RQT, IFC_GET(query_rqt_in, cmd->in, rqtn), &o);
	if (st)
		return st;
	rqt = (struct rqt *)o;
	if (room < (size_t)rqt->actual * ENTRY_BYTES)
		return cmd_fail(cmd, ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH,
				"%u entries, room for %zu bytes of them", rqt->actual, room);
	IFC_SET(rqtc, c, rqt_max_size, rqt->max);
	IFC_SET(rqtc, c, rqt_actual_size, rqt->actual);
	for (i = 0; i < rqt->actual; i++)
		put_be32(c + IFC_SZ(rqtc) + ENTRY_BYTES * i, rqt->rqn[i]);
	return ST_OK;
}

const struct cmd_desc rqt_cmds[] = {
	CMD(CREATE_RQT, create_rqt, create_rqt, .flags = CMD_ETH),
	CMD(MODIFY_RQT, modify_rqt, modify_rqt, .flags = CMD_ETH),
	CMD(DESTROY_RQT, destroy_rqt, destroy_rqt, .flags = CMD_ETH),
	CMD(QUERY_RQT, query_rqt, query_rqt, .flags = CMD_ETH),
	{}
};

static bool rqt_drop(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	rqt_release(hca, (struct rqt *)o);
	return true;
}

static void rqt_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_RQT, rqt_drop, NULL);
}

const struct hca_module rqt_module = { .name = "rqt", .reset = rqt_reset };
