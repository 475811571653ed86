// SPDX-License-Identifier: GPL-2.0
/*
 * The objects between queues and flow rules: TISes, RQTs and TIRs; what their contexts must not
 * contain, what they refer to, and how a TIR chooses a queue.
 */
#include <string.h>

#include "caps.h"
#include "nicrig.h"
#include "objrig.h"
#include "profile.h"
#include "rq.h"
#include "rqt.h"
#include "tir.h"
#include "tis.h"
#include "util.h"

#define TIS_FIELD(fld) IFC_FIELD(tisc, fld)
#define RQT_FIELD(fld) IFC_FIELD(rqtc, fld)
#define TIR_FIELD(fld) IFC_FIELD(tirc, fld)

static uint32_t rqn[4];

static int setup(void **state)
{
	unsigned int i;

	nicrig_setup(state);
	for (i = 0; i < ARRAY_SIZE(rqn); i++) {
		nicrig_rq();
		rqn[i] = nicrig_new(MLX5_CMD_OP_CREATE_RQ);
	}
	return 0;
}

static unsigned int refs(enum obj_kind kind, uint32_t num)
{
	return obj_find(rig.hca, kind, num)->refs;
}

/* ---- TIS ------------------------------------------------------------------------------------- */

static void tis_contexts_are_checked(void **state)
{
	static const struct nicrig_bad bad[] = {
		{ TIS_FIELD(transport_domain), 0, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ TIS_FIELD(strict_lag_tx_port_affinity), 1, ST_BAD_PARAM,
		  WHY_TIS_FIELD_NOT_OFFERED },
		{ TIS_FIELD(lag_tx_port_affinity), 1, ST_BAD_PARAM, WHY_TIS_FIELD_NOT_OFFERED },
		{ TIS_FIELD(tls_en), 1, ST_BAD_PARAM, WHY_TIS_FIELD_NOT_OFFERED },
		{ TIS_FIELD(underlay_qpn), 1, ST_BAD_PARAM, WHY_TIS_FIELD_NOT_OFFERED },
		{ TIS_FIELD(pd), 1, ST_BAD_PARAM, WHY_TIS_FIELD_NOT_OFFERED },
	};

	(void)state;
	nicrig_refuses(MLX5_CMD_OP_CREATE_TIS, nicrig_tis, bad, ARRAY_SIZE(bad));
	nicrig_tis();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_TIS, OTHER_UID), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	rig.profile->range[OBJ_TIS].limit = rig.profile->range[OBJ_TIS].first;
	nicrig_tis();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_TIS, NIC_UID), ST_LIM, WHY_NUMBERS_IN_USE);
}

static void tis_keeps_its_domain_and_changes_its_priority(void **state)
{
	uint32_t tisn;

	(void)state;
	nicrig_tis();
	tisn = nicrig_new(MLX5_CMD_OP_CREATE_TIS);
	assert_refused(nicrig_num(MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN, NIC_UID, nic.tdn),
		       ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(modify_tis_in, nic.in, tisn, tisn);
	IFC_SET(modify_tis_in, nic.in, ctx.prio, 4);
	assert_int_equal(nicrig_run(MLX5_CMD_OP_MODIFY_TIS, NIC_UID), ST_OK);
	assert_int_equal(tis_find(rig.hca, tisn)->prio, 6);	/* not in the bitmask */
	IFC_SET(modify_tis_in, nic.in, bitmask.prio, 1);
	assert_int_equal(nicrig_run(MLX5_CMD_OP_MODIFY_TIS, NIC_UID), ST_OK);
	IFC_SET(modify_tis_in, nic.in, bitmask.lag_tx_port_affinity, 1);
	assert_refused(nicrig_run(MLX5_CMD_OP_MODIFY_TIS, NIC_UID), ST_BAD_PARAM,
		       WHY_TIS_FIELD_NOT_OFFERED);
	assert_refused(nicrig_run(MLX5_CMD_OP_MODIFY_TIS, OTHER_UID), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_QUERY_TIS, NIC_UID, tisn), ST_OK);
	assert_int_equal(IFC_GET(query_tis_out, nic.out, tis_context.prio), 4);
	assert_int_equal(IFC_GET(query_tis_out, nic.out, tis_context.transport_domain), nic.tdn);
	assert_refused(nicrig_num(MLX5_CMD_OP_DESTROY_TIS, OTHER_UID, tisn), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_DESTROY_TIS, NIC_UID, tisn), ST_OK);
	assert_int_equal(refs(OBJ_TD, nic.tdn), 0);
}

/* ---- RQT ------------------------------------------------------------------------------------- */

static uint8_t *good_rqt(void)
{
	return nicrig_rqt(rqn, 4);
}

static uint32_t new_rqt(unsigned int n)
{
	nicrig_rqt(rqn, n);
	return nicrig_new(MLX5_CMD_OP_CREATE_RQT);
}

static void rqt_contexts_are_checked(void **state)
{
	static const struct nicrig_bad bad[] = {
		{ RQT_FIELD(rqt_max_size), 0, ST_BAD_PARAM, WHY_RQT_SIZE },
		{ RQT_FIELD(rqt_max_size), 3, ST_BAD_PARAM, WHY_RQT_SIZE },
		{ RQT_FIELD(rqt_max_size), 17, ST_BAD_PARAM, WHY_RQT_SIZE },
		{ RQT_FIELD(rqt_actual_size), 0, ST_BAD_PARAM, WHY_RQT_SIZE },
		{ RQT_FIELD(rqt_actual_size), 3, ST_BAD_PARAM, WHY_RQT_SIZE },
		{ RQT_FIELD(rqt_actual_size), 16, ST_BAD_PARAM, WHY_RQT_SIZE },
		{ RQT_FIELD(rqt_actual_size), 8, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ RQT_FIELD(list_q_type), 1, ST_BAD_PARAM, WHY_RQT_FIELD_NOT_OFFERED },
		{ RQT_FIELD(rq_vhca_id_format), 1, ST_BAD_PARAM, WHY_RQT_FIELD_NOT_OFFERED },
		/* the first entry */
		{ { 8 * IFC_SZ(rqtc), 8, "reserved" }, 1, ST_BAD_PARAM, WHY_RESERVED_BITS },
		{ { 8 * IFC_SZ(rqtc), 32, "entry 0" }, 0, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		/* the last entry: no reference to the entries before it is left */
		{ { 8 * IFC_SZ(rqtc) + 96, 32, "entry 3" }, 0, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
	};
	size_t len = IFC_SZ(create_rqt_in) + 16;

	(void)state;
	nicrig_refuses(MLX5_CMD_OP_CREATE_RQT, good_rqt, bad, ARRAY_SIZE(bad));
	good_rqt();
	assert_refused(rig_cmd(MLX5_CMD_OP_CREATE_RQT, 0, NIC_UID, nic.in, len - 1, nic.out, 16),
		       ST_BAD_INP_LEN, WHY_RQT_LIST);
	assert_int_equal(refs(OBJ_RQ, rqn[0]), 0);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_CREATE_RQT, 0, NIC_UID, nic.in, len, nic.out, 16),
			 ST_OK);
	good_rqt();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_RQT, OTHER_UID), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	rig.profile->range[OBJ_RQT].limit = rig.profile->range[OBJ_RQT].first;
	good_rqt();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_RQT, NIC_UID), ST_LIM, WHY_NUMBERS_IN_USE);
}

static uint8_t modify_rqt(uint32_t rqtn, const uint32_t *list, unsigned int n)
{
	uint8_t *c = IFC_ADDR(modify_rqt_in, nic.in, ctx);
	unsigned int i;

	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(modify_rqt_in, nic.in, rqtn, rqtn);
	IFC_SET(modify_rqt_in, nic.in, bitmask.rqn_list, 1);
	IFC_SET(rqtc, c, rqt_actual_size, n);
	for (i = 0; i < n; i++)
		put_be32(c + IFC_SZ(rqtc) + 4 * i, list[i]);
	return nicrig_run(MLX5_CMD_OP_MODIFY_RQT, NIC_UID);
}

static void a_table_keeps_its_queues(void **state)
{
	const uint32_t other[] = { rqn[3], rqn[3] }, bad[] = { rqn[2], 0x999 }, many[16] = {};
	uint32_t rqtn = new_rqt(2);
	unsigned int i;

	(void)state;
	assert_refused(nicrig_num(MLX5_CMD_OP_DESTROY_RQ, NIC_UID, rqn[1]), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	assert_refused(modify_rqt(rqtn, bad, 2), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_refused(modify_rqt(rqtn, many, 16), ST_BAD_PARAM, WHY_RQT_SIZE);
	assert_int_equal(refs(OBJ_RQ, rqn[0]), 1);
	assert_int_equal(refs(OBJ_RQ, rqn[2]), 0);
	assert_int_equal(modify_rqt(rqtn, other, 2), ST_OK);
	assert_int_equal(refs(OBJ_RQ, rqn[3]), 2);
	for (i = 0; i < 3; i++)
		assert_int_equal(nicrig_num(MLX5_CMD_OP_DESTROY_RQ, NIC_UID, rqn[i]), ST_OK);
	assert_int_equal(modify_rqt(rqtn, other, 1), ST_OK);
	assert_int_equal(refs(OBJ_RQ, rqn[3]), 1);
	IFC_SET(modify_rqt_in, nic.in, bitmask.rqn_list, 0);	/* then nothing changes */
	IFC_SET(modify_rqt_in, nic.in, ctx.rqt_actual_size, 0);
	assert_int_equal(nicrig_run(MLX5_CMD_OP_MODIFY_RQT, NIC_UID), ST_OK);
	assert_refused(nicrig_run(MLX5_CMD_OP_MODIFY_RQT, OTHER_UID), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_QUERY_RQT, NIC_UID, rqtn), ST_OK);
	assert_int_equal(IFC_GET(query_rqt_out, nic.out, rqt_context.rqt_actual_size), 1);
	assert_int_equal(IFC_GET(query_rqt_out, nic.out, rqt_context.rqt_max_size), 8);
	assert_int_equal(get_be32(nic.out + IFC_SZ(query_rqt_out)), rqn[3]);
	assert_refused(rig_cmd(MLX5_CMD_OP_QUERY_RQT, 0, NIC_UID, nic.in, 16, nic.out,
			       IFC_SZ(query_rqt_out) + 3), ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_DESTROY_RQT, NIC_UID, rqtn), ST_OK);
	assert_int_equal(refs(OBJ_RQ, rqn[3]), 0);
}

/* ---- TIR ------------------------------------------------------------------------------------- */

static uint8_t *direct_tir(void)
{
	uint8_t *c = nicrig_tir();

	IFC_SET(tirc, c, inline_rqn, rqn[0]);
	return c;
}

static uint8_t *indirect_tir(void)
{
	uint8_t *c = nicrig_tir();
	unsigned int i;

	IFC_SET(tirc, c, disp_type, 1);
	IFC_SET(tirc, c, indirect_table, obj_find(rig.hca, OBJ_RQT, 0x10) ? 0x10 : new_rqt(4));
	c = nicrig_tir();
	IFC_SET(tirc, c, disp_type, 1);
	IFC_SET(tirc, c, indirect_table, 0x10);
	IFC_SET(tirc, c, rx_hash_fn, 2);
	IFC_SET(tirc, c, rx_hash_symmetric, 1);
	IFC_SET(tirc, c, self_lb_block, 1);
	for (i = 0; i < TIR_KEY_BYTES; i++)
		IFC_ADDR(tirc, c, rx_hash_toeplitz_key)[i] = i + 1;
	IFC_SET(tirc, c, rx_hash_field_selector_outer.l3_prot_type, 1);
	IFC_SET(tirc, c, rx_hash_field_selector_outer.l4_prot_type, 1);
	IFC_SET(tirc, c, rx_hash_field_selector_outer.selected_fields, 0xf);
	return c;
}

static void tir_contexts_are_checked(void **state)
{
	const struct nicrig_bad bad[] = {
		{ TIR_FIELD(transport_domain), 0, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ TIR_FIELD(inline_rqn), 0x999, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ TIR_FIELD(indirect_table), 1, ST_BAD_PARAM, WHY_TIR_DISPATCH },
		{ TIR_FIELD(disp_type), 1, ST_BAD_PARAM, WHY_TIR_DISPATCH },
		{ TIR_FIELD(disp_type), 2, ST_BAD_PARAM, WHY_TIR_DISPATCH },
		{ TIR_FIELD(rx_hash_fn), 3, ST_BAD_PARAM, WHY_TIR_HASH },
		{ TIR_FIELD(rx_hash_field_selector_outer.selected_fields), 0x20, ST_BAD_PARAM,
		  WHY_TIR_HASH },
		{ TIR_FIELD(tls_en), 1, ST_BAD_PARAM, WHY_TIR_FIELD_NOT_OFFERED },
		{ TIR_FIELD(lro_timeout_period_usecs), 1, ST_BAD_PARAM,
		  WHY_TIR_FIELD_NOT_OFFERED },
		{ TIR_FIELD(packet_merge_mask), 1, ST_BAD_PARAM, WHY_TIR_FIELD_NOT_OFFERED },
		{ TIR_FIELD(lro_max_ip_payload_size), 1, ST_BAD_PARAM, WHY_TIR_FIELD_NOT_OFFERED },
		{ TIR_FIELD(tunneled_offload_en), 1, ST_BAD_PARAM, WHY_TIR_FIELD_NOT_OFFERED },
		{ TIR_FIELD(rx_hash_field_selector_inner.selected_fields), 1, ST_BAD_PARAM,
		  WHY_TIR_FIELD_NOT_OFFERED },
	};
	const struct nicrig_bad no_table = {
		TIR_FIELD(indirect_table), 0x999, ST_BAD_RES, WHY_OBJECT_UNKNOWN
	};
	const struct nicrig_bad no_kind = { TIR_FIELD(disp_type), 2, ST_BAD_PARAM,
					    WHY_TIR_DISPATCH };

	(void)state;
	nicrig_refuses(MLX5_CMD_OP_CREATE_TIR, direct_tir, bad, ARRAY_SIZE(bad));
	indirect_tir();
	nicrig_refuses(MLX5_CMD_OP_CREATE_TIR, indirect_tir, &no_table, 1);
	nicrig_refuses(MLX5_CMD_OP_CREATE_TIR, indirect_tir, &no_kind, 1);
	direct_tir();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_TIR, OTHER_UID), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	rig_give(OBJ_TD, nic.tdn, OTHER_UID);
	direct_tir();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_TIR, OTHER_UID), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	rig_give(OBJ_TD, nic.tdn, NIC_UID);
	rig.profile->range[OBJ_TIR].limit = rig.profile->range[OBJ_TIR].first;
	direct_tir();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_TIR, NIC_UID), ST_LIM, WHY_NUMBERS_IN_USE);
}

static void a_tir_keeps_what_it_names(void **state)
{
	uint32_t direct, indirect;

	(void)state;
	direct_tir();
	direct = nicrig_new(MLX5_CMD_OP_CREATE_TIR);
	assert_refused(nicrig_num(MLX5_CMD_OP_DESTROY_RQ, NIC_UID, rqn[0]), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	indirect_tir();
	indirect = nicrig_new(MLX5_CMD_OP_CREATE_TIR);
	assert_refused(nicrig_num(MLX5_CMD_OP_DESTROY_RQT, NIC_UID, 0x10), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	assert_int_equal(refs(OBJ_TD, nic.tdn), 2);
	assert_refused(nicrig_num(MLX5_CMD_OP_DESTROY_TIR, OTHER_UID, direct), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_DESTROY_TIR, NIC_UID, direct), ST_OK);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_DESTROY_TIR, NIC_UID, indirect), ST_OK);
	assert_int_equal(refs(OBJ_TD, nic.tdn), 0);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_DESTROY_RQT, NIC_UID, 0x10), ST_OK);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_DESTROY_RQ, NIC_UID, rqn[0]), ST_OK);
}

static void the_hash_chooses_the_queue(void **state)
{
	const struct tir *tir;
	unsigned int i;

	(void)state;
	direct_tir();
	tir = tir_find(rig.hca, nicrig_new(MLX5_CMD_OP_CREATE_TIR));
	assert_int_equal(tir_rq(rig.hca, tir, 3)->obj.num, rqn[0]);
	indirect_tir();
	tir = tir_find(rig.hca, nicrig_new(MLX5_CMD_OP_CREATE_TIR));
	for (i = 0; i < 8; i++)
		assert_int_equal(tir_rq(rig.hca, tir, 0xabcdef00 + i)->obj.num, rqn[i % 4]);
	assert_int_equal(modify_rqt(0x10, rqn + 2, 2), ST_OK);
	for (i = 0; i < 8; i++)
		assert_int_equal(tir_rq(rig.hca, tir, i)->obj.num, rqn[2 + i % 2]);
}

/* With XOR8 the hash has the bits of the XOR in reverse, and its upper bits choose. */
static void upper_bits_of_xor8_choose_the_queue(void **state)
{
	const struct tir *tir;
	unsigned int i;

	(void)state;
	IFC_SET(tirc, indirect_tir(), rx_hash_fn, TIR_HASH_XOR8);
	tir = tir_find(rig.hca, nicrig_new(MLX5_CMD_OP_CREATE_TIR));
	for (i = 0; i < 256; i++)
		assert_int_equal(tir_rq(rig.hca, tir, 0xabcdef00 | i)->obj.num, rqn[i >> 6]);
	assert_int_equal(modify_rqt(0x10, rqn, 1), ST_OK);
	for (i = 0; i < 256; i++)
		assert_int_equal(tir_rq(rig.hca, tir, i)->obj.num, rqn[0]);
}

static void context_is_shown_as_it_was_given(void **state)
{
	uint8_t given[IFC_SZ(tirc)];
	uint32_t tirn;

	(void)state;
	memcpy(given, indirect_tir(), sizeof(given));
	tirn = nicrig_new(MLX5_CMD_OP_CREATE_TIR);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_QUERY_TIR, NIC_UID, tirn), ST_OK);
	assert_memory_equal(IFC_ADDR(query_tir_out, nic.out, tir_context), given, sizeof(given));
	memcpy(given, direct_tir(), sizeof(given));
	tirn = nicrig_new(MLX5_CMD_OP_CREATE_TIR);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_QUERY_TIR, NIC_UID, tirn), ST_OK);
	assert_memory_equal(IFC_ADDR(query_tir_out, nic.out, tir_context), given, sizeof(given));
}

static void only_what_the_bitmask_names_changes(void **state)
{
	uint8_t *c = IFC_ADDR(modify_tir_in, nic.in, ctx);
	struct tir *tir;

	(void)state;
	indirect_tir();
	tir = tir_find(rig.hca, nicrig_new(MLX5_CMD_OP_CREATE_TIR));
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(modify_tir_in, nic.in, tirn, tir->obj.num);
	IFC_SET(modify_tir_in, nic.in, bitmask.self_lb_en, 1);
	IFC_SET(tirc, c, self_lb_block, 2);
	assert_int_equal(nicrig_run(MLX5_CMD_OP_MODIFY_TIR, NIC_UID), ST_OK);
	assert_true(tir->self_lb_block == 2 && tir->hash_fn == TIR_HASH_TOEPLITZ &&
		    tir->fields == 0xf && tir->key[0] == 1);
	IFC_SET(modify_tir_in, nic.in, bitmask.self_lb_en, 0);
	IFC_SET(modify_tir_in, nic.in, bitmask.hash, 1);
	IFC_SET(modify_tir_in, nic.in, bitmask.packet_merge, 1);	/* it stays off */
	IFC_SET(tirc, c, self_lb_block, 3);
	IFC_SET(tirc, c, rx_hash_fn, 1);
	assert_int_equal(nicrig_run(MLX5_CMD_OP_MODIFY_TIR, NIC_UID), ST_OK);
	assert_true(tir->self_lb_block == 2 && tir->hash_fn == TIR_HASH_XOR8 && !tir->fields &&
		    !tir->symmetric && !tir->key[0]);
	IFC_SET(tirc, c, rx_hash_fn, 3);
	assert_refused(nicrig_run(MLX5_CMD_OP_MODIFY_TIR, NIC_UID), ST_BAD_PARAM, WHY_TIR_HASH);
	IFC_SET(tirc, c, packet_merge_mask, 1);
	assert_refused(nicrig_run(MLX5_CMD_OP_MODIFY_TIR, NIC_UID), ST_BAD_PARAM,
		       WHY_TIR_FIELD_NOT_OFFERED);
	assert_refused(nicrig_run(MLX5_CMD_OP_MODIFY_TIR, OTHER_UID), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	memset(c, 0, IFC_SZ(tirc));
	IFC_SET(per_protocol_networking_offload_caps, rig.hca->cap[CAP_ETH],
		self_lb_en_modifiable, 0);
	IFC_SET(modify_tir_in, nic.in, bitmask.self_lb_en, 1);
	assert_refused(nicrig_run(MLX5_CMD_OP_MODIFY_TIR, NIC_UID), ST_BAD_PARAM,
		       WHY_TIR_FIELD_NOT_OFFERED);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(tis_contexts_are_checked), T(tis_keeps_its_domain_and_changes_its_priority),
		T(rqt_contexts_are_checked), T(a_table_keeps_its_queues),
		T(tir_contexts_are_checked), T(a_tir_keeps_what_it_names),
		T(the_hash_chooses_the_queue), T(upper_bits_of_xor8_choose_the_queue),
		T(context_is_shown_as_it_was_given),
		T(only_what_the_bitmask_names_changes),
	};

	return cmocka_run_group_tests_name("tir", tests, NULL, NULL);
}
