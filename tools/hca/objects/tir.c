// SPDX-License-Identifier: GPL-2.0
/*
 * TIRs: CREATE, MODIFY, QUERY and DESTROY_TIR.
 */
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "rq.h"
#include "rqt.h"
#include "tir.h"
#include "util.h"

#define DISP_DIRECT	0
#define DISP_INDIRECT	1

/**
 * tir_find() - find a TIR
 * @hca: the HCA
 * @tirn: its number
 *
 * Return: the TIR or NULL.
 */
struct tir *tir_find(struct hca *hca, uint32_t tirn)
{
	return (struct tir *)obj_find(hca, OBJ_TIR, tirn);
}

/*
 * The place in a table, whose length is a power of two. With XOR8 mlx5_core puts the entry that a
 * user has chosen for the XOR X, modulo the length of the table, into the place whose number has
 * the bits of X in reverse. The hash has all bits of X in reverse, so its upper bits are those of
 * the place.
 */
static uint32_t rqt_place(const struct rqt *rqt, const struct tir *tir, uint32_t hash)
{
	unsigned int bits = __builtin_ctz(rqt->actual);

	if (tir->hash_fn == TIR_HASH_XOR8)
		return bits < 8 ? (hash & 0xff) >> (8 - bits) : (hash & 0xff) << (bits - 8);
	return hash & (rqt->actual - 1);
}

/**
 * tir_rq() - choose the receive queue of a frame
 * @hca: the HCA
 * @tir: the TIR that the frame was sent to
 * @hash: of the frame's headers, 0 if it has none of the headers that the TIR's hash covers
 *
 * Return: the queue. It exists, because a TIR refers to its queue or its table.
 */
struct rq *tir_rq(struct hca *hca, const struct tir *tir, uint32_t hash)
{
	const struct rqt *rqt;

	if (!tir->indirect)
		return rq_find(hca, tir->rqn);
	rqt = rqt_find(hca, tir->rqtn);
	return rq_find(hca, rqt->rqn[rqt_place(rqt, tir, hash)]);
}

/* ---- the context ----------------------------------------------------------------------------- */

/* Fields of features that the HCA does not have: TLS, large receive, and tunnels. */
static const struct ifc_field tirc_not_offered[] = {
	IFC_FIELD(tirc, tls_en), IFC_FIELD(tirc, lro_timeout_period_usecs),
	IFC_FIELD(tirc, packet_merge_mask), IFC_FIELD(tirc, lro_max_ip_payload_size),
	IFC_FIELD(tirc, tunneled_offload_en), IFC_FIELD(tirc, rx_hash_field_selector_inner),
};

static uint8_t tir_check_features(struct cmd *cmd, const uint8_t *c)
{
	return check_offered(cmd, WHY_TIR_FIELD_NOT_OFFERED, "tirc.", c, tirc_not_offered,
			     ARRAY_SIZE(tirc_not_offered));
}

static uint8_t tir_check_hash(struct cmd *cmd, const uint8_t *c)
{
	unsigned int fn = IFC_GET(tirc, c, rx_hash_fn);
	uint32_t fields = IFC_GET(tirc, c, rx_hash_field_selector_outer.selected_fields);

	if (fn > TIR_HASH_TOEPLITZ)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_TIR_HASH, "rx_hash_fn %u is not supported",
				fn);
	if (fields & ~TIR_FIELDS)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_TIR_HASH,
				"selected_fields has unknown bits 0x%x", fields & ~TIR_FIELDS);
	return ST_OK;
}

/* Find the queue or the table of a TIR. Only one of the two may be named. */
static uint8_t tir_check_target(struct hca *hca, struct cmd *cmd, const uint8_t *c,
				struct obj **target)
{
	unsigned int disp = IFC_GET(tirc, c, disp_type);
	uint32_t rqn = IFC_GET(tirc, c, inline_rqn), rqtn = IFC_GET(tirc, c, indirect_table);

	if (disp > DISP_INDIRECT)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_TIR_DISPATCH, "disp_type %u does not exist",
				disp);
	if (disp == DISP_DIRECT ? rqtn : rqn)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_TIR_DISPATCH,
				"disp_type is %u, but inline_rqn is 0x%x and indirect_table 0x%x",
				disp, rqn, rqtn);
	return disp == DISP_DIRECT ? check_obj(hca, cmd, OBJ_RQ, rqn, target) :
				     check_obj(hca, cmd, OBJ_RQT, rqtn, target);
}

static void tir_set_hash(struct tir *tir, const uint8_t *c)
{
	tir->hash_fn = IFC_GET(tirc, c, rx_hash_fn);
	tir->symmetric = IFC_GET(tirc, c, rx_hash_symmetric);
	memcpy(tir->key, IFC_ADDR(tirc, c, rx_hash_toeplitz_key), TIR_KEY_BYTES);
	tir->l3 = IFC_GET(tirc, c, rx_hash_field_selector_outer.l3_prot_type);
	tir->l4 = IFC_GET(tirc, c, rx_hash_field_selector_outer.l4_prot_type);
	tir->fields = IFC_GET(tirc, c, rx_hash_field_selector_outer.selected_fields);
}

/* ---- commands -------------------------------------------------------------------------------- */

static uint8_t create_tir(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(create_tir_in, cmd->in, ctx);
	struct obj *td, *target;
	struct tir *tir;
	uint8_t st = tir_check_features(cmd, c);

	if (!st)
		st = tir_check_hash(cmd, c);
	if (!st)
		st = check_obj(hca, cmd, OBJ_TD, IFC_GET(tirc, c, transport_domain), &td);
	if (!st)
		st = tir_check_target(hca, cmd, c, &target);
	if (st)
		return st;
	tir = (struct tir *)obj_new(hca, OBJ_TIR, cmd->uid, sizeof(*tir));
	if (!tir)
		return cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE, "all TIR numbers are in use");
	tir->indirect = target->kind == OBJ_RQT;
	*(tir->indirect ? &tir->rqtn : &tir->rqn) = target->num;
	tir->tdn = td->num;
	tir->self_lb_block = IFC_GET(tirc, c, self_lb_block);
	tir_set_hash(tir, c);
	target->refs++;
	td->refs++;
	IFC_SET(create_tir_out, cmd->out, tirn, tir->obj.num);
	return ST_OK;
}

/* Change the hash or the loopback. What merges packets is not offered, so it can only stay 0. */
static uint8_t modify_tir(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(modify_tir_in, cmd->in, ctx);
	bool hash = IFC_GET(modify_tir_in, cmd->in, bitmask.hash);
	bool loopback = IFC_GET(modify_tir_in, cmd->in, bitmask.self_lb_en);
	struct tir *tir;
	struct obj *o;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_TIR, IFC_GET(modify_tir_in, cmd->in, tirn), &o);
	if (!st)
		st = tir_check_features(cmd, c);
	if (!st && hash)
		st = tir_check_hash(cmd, c);
	if (!st && loopback && !hca_cap_eth(hca, self_lb_en_modifiable))
		st = cmd_fail(cmd, ST_BAD_PARAM, WHY_TIR_FIELD_NOT_OFFERED,
			      "self_lb_en cannot be modified (self_lb_en_modifiable)");
	if (st)
		return st;
	tir = (struct tir *)o;
	if (hash)
		tir_set_hash(tir, c);
	if (loopback)
		tir->self_lb_block = IFC_GET(tirc, c, self_lb_block);
	return ST_OK;
}

static void tir_release(struct hca *hca, struct tir *tir)
{
	obj_put(hca, tir->indirect ? obj_find(hca, OBJ_RQT, tir->rqtn) :
				     obj_find(hca, OBJ_RQ, tir->rqn));
	obj_put(hca, obj_find(hca, OBJ_TD, tir->tdn));
	obj_free(hca, &tir->obj);
}

static uint8_t destroy_tir(struct hca *hca, struct cmd *cmd)
{
	struct obj *o;
	uint8_t st;

	st = check_destroy(hca, cmd, OBJ_TIR, IFC_GET(destroy_tir_in, cmd->in, tirn), &o);
	if (!st)
		tir_release(hca, (struct tir *)o);
	return st;
}

static uint8_t query_tir(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_tir_out, cmd->out, tir_context);
	const struct tir *tir;
	struct obj *o;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_TIR, IFC_GET(query_tir_in, cmd->in, tirn), &o);
	if (st)
		return st;
	tir = (struct tir *)o;
	IFC_SET(tirc, c, disp_type, tir->indirect ? DISP_INDIRECT : DISP_DIRECT);
	IFC_SET(tirc, c, inline_rqn, tir->rqn);
	IFC_SET(tirc, c, indirect_table, tir->rqtn);
	IFC_SET(tirc, c, rx_hash_symmetric, tir->symmetric);
	IFC_SET(tirc, c, rx_hash_fn, tir->hash_fn);
	IFC_SET(tirc, c, self_lb_block, tir->self_lb_block);
	IFC_SET(tirc, c, transport_domain, tir->tdn);
	memcpy(IFC_ADDR(tirc, c, rx_hash_toeplitz_key), tir->key, TIR_KEY_BYTES);
	IFC_SET(tirc, c, rx_hash_field_selector_outer.l3_prot_type, tir->l3);
	IFC_SET(tirc, c, rx_hash_field_selector_outer.l4_prot_type, tir->l4);
	IFC_SET(tirc, c, rx_hash_field_selector_outer.selected_fields, tir->fields);
	return ST_OK;
}

const struct cmd_desc tir_cmds[] = {
	CMD(CREATE_TIR, create_tir, create_tir, .flags = CMD_ETH),
	CMD(MODIFY_TIR, modify_tir, modify_tir, .flags = CMD_ETH),
	CMD(DESTROY_TIR, destroy_tir, destroy_tir, .flags = CMD_ETH),
	CMD(QUERY_TIR, query_tir, query_tir, .flags = CMD_ETH),
	{}
};

static bool tir_drop(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	tir_release(hca, (struct tir *)o);
	return true;
}

static void tir_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_TIR, tir_drop, NULL);
}

const struct hca_module tir_module = { .name = "tir", .reset = tir_reset };
