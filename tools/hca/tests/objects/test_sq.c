// SPDX-License-Identifier: GPL-2.0
/*
 * Send queues without a queue pair: what their context must not contain, and what they refer to.
 */
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "ifc.h"
#include "object.h"
#include "objrig.h"
#include "profile.h"
#include "sq.h"

#define UID	0x21
#define SQ_BUF	(RAM_BASE + 0x10000)
#define CQ_BUF	(RAM_BASE + 0x20000)
#define DBR	(RAM_BASE + 0x30000)
#define RECORDS	64
#define IN_LEN	(IFC_SZ(create_sq_in) + 8)

#define SQ_FIELD(fld) IFC_FIELD(sqc, fld)
#define WQ_FIELD(fld) { IFC_OFF(sqc, wq.fld), IFC_BITS(wq, fld), "wq." #fld }

static const struct hca_module *const modules[] = { &sq_module, NULL };
static const struct cmd_desc *const cmds[] = { sq_cmds, NULL };
static uint32_t pd, uar, cqn;
static uint8_t in[IN_LEN], out[IFC_SZ(create_sq_out)];

static int setup(void **state)
{
	rig_setup(state);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], log_max_wq_sz, 10);
	pd = rig_pd();
	uar = rig_uar(UID);
	cqn = rig_cq(CQ_BUF, DBR + RECORDS, 4, 64, rig_uar(0), rig_eq());
	rig_give(OBJ_CQ, cqn, UID);
	rig_give(OBJ_PD, pd, UID);
	return 0;
}

/* Build in in[] a CREATE_SQ that succeeds; returns its context. */
static uint8_t *good(void)
{
	uint8_t *c = IFC_ADDR(create_sq_in, in, ctx), *wq = IFC_ADDR(sqc, c, wq);

	memset(in, 0, sizeof(in));
	IFC_SET(sqc, c, cqn, cqn);
	IFC_SET(wq, wq, wq_type, 1);
	IFC_SET(wq, wq, log_wq_stride, 6);
	IFC_SET(wq, wq, log_wq_sz, 4);
	IFC_SET(wq, wq, pd, pd);
	IFC_SET(wq, wq, uar_page, uar);
	IFC_SET64(wq, wq, dbr_addr, DBR);
	put_be64(IFC_ADDR(wq, wq, pas), SQ_BUF);
	return c;
}

static uint8_t create(uint16_t uid)
{
	return rig_cmd(MLX5_CMD_OP_CREATE_SQ, 0, uid, in, sizeof(in), out, sizeof(out));
}

static void create_is_refused(uint16_t uid, uint8_t status, uint32_t why)
{
	assert_int_equal(create(uid), status);
	assert_int_equal(rig.syndrome, why);
	assert_int_equal(obj_count(rig.hca, OBJ_SQ), 0);
}

static void destroy(uint32_t sqn)
{
	uint8_t cmd[IFC_SZ(destroy_sq_in)] = {}, answer[IFC_SZ(destroy_sq_out)];

	IFC_SET(destroy_sq_in, cmd, sqn, sqn);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_DESTROY_SQ, 0, 0, cmd, sizeof(cmd), answer,
				 sizeof(answer)), ST_OK);
}

static void features_must_be_offered(void **state)
{
	static const struct ifc_field fields[] = {
		SQ_FIELD(fre), SQ_FIELD(reg_umr), SQ_FIELD(cd_master),
		SQ_FIELD(allow_multi_pkt_send_wqe), SQ_FIELD(min_wqe_inline_mode),
		SQ_FIELD(allow_swp), SQ_FIELD(non_wire), SQ_FIELD(hairpin_peer_rq),
		SQ_FIELD(hairpin_peer_vhca), SQ_FIELD(ts_cqe_to_dest_cqn),
		SQ_FIELD(qos_queue_group_id), SQ_FIELD(tis_num_0),
		WQ_FIELD(wq_signature), WQ_FIELD(end_padding_mode), WQ_FIELD(cd_slave),
		WQ_FIELD(hds_skip_first_sge), WQ_FIELD(log2_hds_buf_size), WQ_FIELD(lwm),
		WQ_FIELD(log_hairpin_num_packets), WQ_FIELD(log_hairpin_data_sz),
		WQ_FIELD(log_wqe_num_of_strides), WQ_FIELD(two_byte_shift_en),
		WQ_FIELD(log_wqe_stride_size), WQ_FIELD(headers_mkey), WQ_FIELD(shampo_enable),
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		ifc_set_bits(good(), fields[i].off, fields[i].width, 1);
		create_is_refused(0, ST_BAD_PARAM, WHY_SQ_FIELD_NOT_OFFERED);
		assert_non_null(strstr(rig.why, fields[i].name));
	}
}

static void users_have_no_privileged_queues(void **state)
{
	static const struct ifc_field fields[] = {
		SQ_FIELD(rlky), SQ_FIELD(fre), SQ_FIELD(reg_umr),
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		ifc_set_bits(good(), fields[i].off, 1, 1);
		create_is_refused(UID, ST_BAD_PARAM, WHY_SQ_PRIVILEGED);
	}
	IFC_SET(sqc, good(), rlky, 1);
	assert_int_equal(create(0), ST_OK);
}

static void clock_and_index_must_be_offered(void **state)
{
	uint8_t *cap = rig.hca->cap[CAP_GENERAL];

	(void)state;
	IFC_SET(cmd_hca_cap, cap, sq_ts_format, MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING);
	IFC_SET(sqc, good(), ts_format, MLX5_TIMESTAMP_FORMAT_REAL_TIME);
	create_is_refused(UID, ST_BAD_PARAM, WHY_SQ_TIMESTAMP_FORMAT);
	IFC_SET(sqc, good(), ts_format, 3);
	create_is_refused(UID, ST_BAD_PARAM, WHY_SQ_TIMESTAMP_FORMAT);
	IFC_SET(cmd_hca_cap, cap, cqe_version, 0);
	IFC_SET(sqc, good(), user_index, 1);
	create_is_refused(UID, ST_BAD_PARAM, WHY_SQ_USER_INDEX);
	IFC_SET(cmd_hca_cap, cap, cqe_version, 1);
	assert_int_equal(create(UID), ST_OK);
}

/* mlx5_core's test of write combining names PD 0, which does not exist. */
static void only_the_kernel_needs_no_domain(void **state)
{
	(void)state;
	IFC_SET(sqc, good(), wq.pd, 0);
	create_is_refused(UID, ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	IFC_SET(sqc, good(), wq.pd, pd + 1);
	create_is_refused(0, ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	rig_give(OBJ_PD, pd, UID + 1);
	good();
	create_is_refused(UID, ST_BAD_RES, WHY_OBJECT_OWNER);
	IFC_SET(sqc, good(), wq.pd, 0);
	assert_int_equal(create(0), ST_OK);
}

static void queue_keeps_its_domain(void **state)
{
	struct obj *o = obj_find(rig.hca, OBJ_PD, pd);
	unsigned int refs = o->refs;

	(void)state;
	good();
	assert_int_equal(create(UID), ST_OK);
	assert_int_equal(o->refs, refs + 1);
	destroy(IFC_GET(create_sq_out, out, sqn));
	assert_int_equal(o->refs, refs);
}

static void only_the_rate_can_be_modified(void **state)
{
	uint8_t cmd[IFC_SZ(modify_sq_in)] = {}, answer[IFC_SZ(modify_sq_out)];
	uint32_t sqn;

	(void)state;
	good();
	assert_int_equal(create(UID), ST_OK);
	sqn = IFC_GET(create_sq_out, out, sqn);
	IFC_SET(modify_sq_in, cmd, sqn, sqn);
	IFC_SET64(modify_sq_in, cmd, modify_bitmask, 2);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_MODIFY_SQ, 0, UID, cmd, sizeof(cmd), answer,
				 sizeof(answer)), ST_BAD_PARAM);
	assert_int_equal(rig.syndrome, WHY_SQ_MODIFY_MASK);
	IFC_SET64(modify_sq_in, cmd, modify_bitmask, 1);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_MODIFY_SQ, 0, UID, cmd, sizeof(cmd), answer,
				 sizeof(answer)), ST_OK);
}

static void record_beyond_the_queue_is_an_error(void **state)
{
	uint8_t cmd[IFC_SZ(modify_sq_in)] = {}, answer[IFC_SZ(modify_sq_out)], bf[8] = {};
	uint8_t query[IFC_SZ(query_sq_in)] = {}, found[IFC_SZ(query_sq_out)];
	uint32_t sqn;

	(void)state;
	good();
	assert_int_equal(create(UID), ST_OK);
	sqn = IFC_GET(create_sq_out, out, sqn);
	IFC_SET(modify_sq_in, cmd, sqn, sqn);
	IFC_SET(modify_sq_in, cmd, ctx.state, 1);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_MODIFY_SQ, 0, UID, cmd, sizeof(cmd), answer,
				 sizeof(answer)), ST_OK);
	put_be32(ram(DBR) + 4, 17);	/* the queue has 16 */
	put_be32(bf + 4, sqn << 8 | 1);
	rig_clear();
	assert_true(sq_send_doorbell(rig.hca, sqn, uar, bf, sizeof(bf)));
	assert_int_equal(rig.nev, 1);
	assert_int_equal(rig.ev[0].type, EV_WQ_CATAS_ERROR);
	assert_int_equal(rig.ev[0].data[20], 2);
	assert_int_equal(get_be32(rig.ev[0].data + 24), sqn);
	IFC_SET(query_sq_in, query, sqn, sqn);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_SQ, 0, UID, query, sizeof(query), found,
				 sizeof(found)), ST_OK);
	assert_int_equal(IFC_GET(query_sq_out, found, sq_context.state), 3);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(features_must_be_offered), T(users_have_no_privileged_queues),
		T(clock_and_index_must_be_offered), T(only_the_kernel_needs_no_domain),
		T(queue_keeps_its_domain), T(only_the_rate_can_be_modified),
		T(record_beyond_the_queue_is_an_error),
	};

	rig_extra.modules = modules;
	rig_extra.cmds = cmds;
	return cmocka_run_group_tests_name("sq", tests, NULL, NULL);
}
