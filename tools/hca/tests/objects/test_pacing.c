// SPDX-License-Identifier: GPL-2.0
/*
 * Packet pacing: what rates the HCA offers, to whom a rate belongs, and which queues can name it.
 */
#include <string.h>

#include "caps.h"
#include "cmd.h"
#include "ifc.h"
#include "object.h"
#include "objrig.h"
#include "pacing.h"
#include "profile.h"
#include "sq.h"

#define UID		0x21
#define SQ_BUF		(RAM_BASE + 0x10000)
#define CQ_BUF		(RAM_BASE + 0x20000)
#define DBR		(RAM_BASE + 0x30000)
#define RECORDS		64
#define RATES		8

static const struct hca_module *const modules[] = { &pacing_module, &sq_module, NULL };
static const struct cmd_desc *const cmds[] = { pacing_cmds, sq_cmds, NULL };
static uint32_t pd, uar, cqn;

#define QOS(fld, v)	IFC_SET(qos_cap, rig.hca->cap[CAP_QOS], fld, v)

static int setup(void **state)
{
	rig_setup(state);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], qos, 1);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], log_max_wq_sz, 10);
	QOS(packet_pacing, 1);
	QOS(packet_pacing_uid, 1);
	QOS(packet_pacing_min_rate, 100);
	QOS(packet_pacing_max_rate, 1000);
	QOS(packet_pacing_rate_table_size, RATES);
	pd = rig_pd();
	uar = rig_uar(UID);
	cqn = rig_cq(CQ_BUF, DBR + RECORDS, 4, 64, rig_uar(0), rig_eq());
	rig_give(OBJ_CQ, cqn, UID);
	rig_give(OBJ_PD, pd, UID);
	return 0;
}

static uint8_t set_rate(uint16_t uid, uint32_t index, uint32_t rate, uint32_t burst,
			uint32_t packet)
{
	uint8_t in[IFC_SZ(set_pp_rate_limit_in)] = {}, out[IFC_SZ(set_pp_rate_limit_out)];

	IFC_SET(set_pp_rate_limit_in, in, rate_limit_index, index);
	IFC_SET(set_pp_rate_limit_in, in, ctx.rate_limit, rate);
	IFC_SET(set_pp_rate_limit_in, in, ctx.burst_upper_bound, burst);
	IFC_SET(set_pp_rate_limit_in, in, ctx.typical_packet_size, packet);
	return rig_cmd(MLX5_CMD_OP_SET_PP_RATE_LIMIT, 0, uid, in, sizeof(in), out, sizeof(out));
}

static uint8_t create_sq(uint16_t uid, uint32_t rate, uint32_t *sqn)
{
	uint8_t in[IFC_SZ(create_sq_in) + 8] = {}, out[IFC_SZ(create_sq_out)];
	uint8_t *c = IFC_ADDR(create_sq_in, in, ctx), *wq = IFC_ADDR(sqc, c, wq), st;

	IFC_SET(sqc, c, cqn, cqn);
	IFC_SET(sqc, c, packet_pacing_rate_limit_index, rate);
	IFC_SET(wq, wq, wq_type, 1);
	IFC_SET(wq, wq, log_wq_stride, 6);
	IFC_SET(wq, wq, log_wq_sz, 4);
	IFC_SET(wq, wq, pd, pd);
	IFC_SET(wq, wq, uar_page, uar);
	IFC_SET64(wq, wq, dbr_addr, DBR);
	put_be64(IFC_ADDR(wq, wq, pas), SQ_BUF);
	st = rig_cmd(MLX5_CMD_OP_CREATE_SQ, 0, uid, in, sizeof(in), out, sizeof(out));
	*sqn = IFC_GET(create_sq_out, out, sqn);
	return st;
}

static uint8_t modify_sq(uint16_t uid, uint32_t sqn, uint64_t mask, uint32_t rate)
{
	uint8_t in[IFC_SZ(modify_sq_in)] = {}, out[IFC_SZ(modify_sq_out)];

	IFC_SET(modify_sq_in, in, sqn, sqn);
	IFC_SET64(modify_sq_in, in, modify_bitmask, mask);
	IFC_SET(modify_sq_in, in, ctx.packet_pacing_rate_limit_index, rate);
	return rig_cmd(MLX5_CMD_OP_MODIFY_SQ, 0, uid, in, sizeof(in), out, sizeof(out));
}

static void rates_are_limited_by_capabilities(void **state)
{
	(void)state;
	assert_refused(set_rate(0, 1, 99, 0, 0), ST_BAD_PARAM, WHY_RATE_RANGE);
	assert_refused(set_rate(0, 1, 1001, 0, 0), ST_BAD_PARAM, WHY_RATE_RANGE);
	assert_refused(set_rate(0, 1, 100, 1, 0), ST_BAD_PARAM, WHY_RATE_NOT_OFFERED);
	assert_refused(set_rate(0, 1, 100, 0, 1), ST_BAD_PARAM, WHY_RATE_NOT_OFFERED);
	assert_refused(set_rate(0, 0, 100, 0, 0), ST_BAD_INDEX, WHY_RATE_INDEX);
	assert_refused(set_rate(0, RATES, 100, 0, 0), ST_BAD_INDEX, WHY_RATE_INDEX);
	assert_int_equal(obj_count(rig.hca, OBJ_RATE), 0);
	assert_int_equal(set_rate(0, 1, 100, 0, 0), ST_OK);
	QOS(packet_pacing_burst_bound, 1);
	QOS(packet_pacing_typical_size, 1);
	assert_int_equal(set_rate(0, RATES - 1, 1000, 1, 1), ST_OK);
	assert_int_equal(obj_count(rig.hca, OBJ_RATE), 2);
	QOS(packet_pacing_uid, 0);
	assert_refused(set_rate(UID, 2, 100, 0, 0), ST_BAD_PARAM, WHY_RATE_UID);
	QOS(packet_pacing, 0);
	assert_refused(set_rate(0, 2, 100, 0, 0), ST_BAD_OP, WHY_RATE_NOT_OFFERED);
	QOS(packet_pacing, 1);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], qos, 0);
	assert_refused(set_rate(0, 2, 100, 0, 0), ST_BAD_OP, WHY_RATE_NOT_OFFERED);
}

static void rate_belongs_to_its_user(void **state)
{
	(void)state;
	assert_int_equal(set_rate(UID, 1, 100, 0, 0), ST_OK);
	assert_int_equal(obj_find(rig.hca, OBJ_RATE, 1)->uid, UID);
	assert_refused(set_rate(UID + 1, 1, 200, 0, 0), ST_BAD_RES, WHY_OBJECT_OWNER);
	assert_refused(set_rate(UID + 1, 1, 0, 0, 0), ST_BAD_RES, WHY_OBJECT_OWNER);
	assert_int_equal(set_rate(UID, 1, 200, 0, 0), ST_OK);
	assert_int_equal(set_rate(UID, 1, 0, 0, 0), ST_OK);
	assert_int_equal(set_rate(UID, 1, 0, 0, 0), ST_BAD_RES);
}

static uint32_t rate_of(uint32_t sqn)
{
	uint8_t in[IFC_SZ(query_sq_in)] = {}, out[IFC_SZ(query_sq_out)];

	IFC_SET(query_sq_in, in, sqn, sqn);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_SQ, 0, UID, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	return IFC_GET(query_sq_out, out, sq_context.packet_pacing_rate_limit_index);
}

static void queue_names_a_rate_of_its_user(void **state)
{
	uint32_t sqn;

	(void)state;
	assert_int_equal(set_rate(UID, 1, 100, 0, 0), ST_OK);
	assert_int_equal(set_rate(UID, 2, 100, 0, 0), ST_OK);
	assert_int_equal(set_rate(UID + 1, 3, 100, 0, 0), ST_OK);
	assert_int_equal(set_rate(SHARED_UID, 5, 100, 0, 0), ST_OK);
	assert_refused(create_sq(UID, 4, &sqn), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_refused(create_sq(UID, 3, &sqn), ST_BAD_RES, WHY_OBJECT_OWNER);
	assert_int_equal(create_sq(UID, 1, &sqn), ST_OK);
	assert_int_equal(rate_of(sqn), 1);
	assert_refused(modify_sq(UID, sqn, 1, 3), ST_BAD_RES, WHY_OBJECT_OWNER);
	assert_int_equal(modify_sq(UID, sqn, 1, 5), ST_OK);	/* a shared rate */
	assert_refused(set_rate(UID, 5, 0, 0, 0), ST_BAD_RES, WHY_OBJECT_OWNER);
	assert_int_equal(modify_sq(UID, sqn, 1, 1), ST_OK);
	assert_int_equal(modify_sq(UID, sqn, 0, 2), ST_OK);	/* without MODIFY_RATE */
	assert_int_equal(rate_of(sqn), 1);
	assert_int_equal(modify_sq(UID, sqn, 1, 2), ST_OK);
	assert_int_equal(rate_of(sqn), 2);
	assert_int_equal(set_rate(UID, 2, 0, 0, 0), ST_OK);
	assert_int_equal(modify_sq(UID, sqn, 1, 0), ST_OK);
	assert_int_equal(rate_of(sqn), 0);
}

static void rate_that_is_named_keeps_its_values(void **state)
{
	unsigned int owned;
	uint32_t sqn;

	(void)state;
	QOS(packet_pacing_burst_bound, 1);
	assert_int_equal(set_rate(UID, 1, 100, 7, 0), ST_OK);
	assert_int_equal(set_rate(UID, 1, 200, 7, 0), ST_OK);
	assert_int_equal(create_sq(UID, 1, &sqn), ST_OK);
	assert_int_equal(obj_find(rig.hca, OBJ_RATE, 1)->refs, 1);
	assert_int_equal(set_rate(UID, 1, 200, 7, 0), ST_OK);
	assert_refused(set_rate(UID, 1, 100, 7, 0), ST_BAD_RES_STATE, WHY_RATE_IN_USE);
	assert_refused(set_rate(UID, 1, 200, 8, 0), ST_BAD_RES_STATE, WHY_RATE_IN_USE);
	/* After its user has cleared the entry, another user can set it. */
	assert_int_equal(set_rate(UID, 1, 0, 0, 0), ST_OK);
	assert_int_equal(set_rate(UID, 1, 0, 0, 0), ST_BAD_RES);
	owned = obj_count_uid(rig.hca, UID);
	assert_int_equal(set_rate(UID + 1, 1, 300, 0, 0), ST_OK);
	assert_int_equal(obj_count_uid(rig.hca, UID + 1), 1);
	assert_int_equal(obj_count_uid(rig.hca, UID), owned - 1);
	assert_int_equal(set_rate(UID, 2, 300, 0, 0), ST_OK);
	assert_int_equal(modify_sq(UID, sqn, 1, 2), ST_OK);
	assert_int_equal(obj_find(rig.hca, OBJ_RATE, 1)->refs, 0);
	assert_int_equal(set_rate(UID, 2, 0, 0, 0), ST_OK);
	assert_int_equal(obj_count(rig.hca, OBJ_RATE), 2);
	assert_int_equal(modify_sq(UID, sqn, 1, 0), ST_OK);
	assert_int_equal(obj_count(rig.hca, OBJ_RATE), 1);
}

#define T(f)	cmocka_unit_test_setup_teardown(f, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(rates_are_limited_by_capabilities), T(rate_belongs_to_its_user),
		T(queue_names_a_rate_of_its_user), T(rate_that_is_named_keeps_its_values),
	};

	rig_extra.modules = modules;
	rig_extra.cmds = cmds;
	return cmocka_run_group_tests_name("pacing", tests, NULL, NULL);
}
