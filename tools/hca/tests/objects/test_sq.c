// SPDX-License-Identifier: GPL-2.0
/*
 * Send queues without a queue pair: what their context must not contain, what they refer to, and
 * their states.
 */
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "count.h"
#include "cq.h"
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

static void send_queues_must_be_offered(void **state)
{
	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], log_max_sq, 0);
	good();
	create_is_refused(0, ST_BAD_OP, WHY_SQ_NOT_OFFERED);
	create_is_refused(UID, ST_BAD_OP, WHY_SQ_NOT_OFFERED);
}

static void contexts_of_other_queues_are_refused(void **state)
{
	static const struct { struct ifc_field field; uint64_t value; uint32_t why; } bad[] = {
		{ SQ_FIELD(state), 1, WHY_SQ_STATE }, { WQ_FIELD(wq_type), 0, WHY_SQ_WQ_TYPE },
		{ WQ_FIELD(log_wq_stride), 5, WHY_SQ_STRIDE },
		{ WQ_FIELD(log_wq_stride), 7, WHY_SQ_STRIDE },
		{ WQ_FIELD(log_wq_sz), 11, WHY_SQ_SIZE },
		{ SQ_FIELD(tis_lst_sz), 1, WHY_SQ_TIS_NOT_OFFERED },
		{ SQ_FIELD(hairpin), 1, WHY_SQ_TIS_NOT_OFFERED },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ifc_set_bits(good(), bad[i].field.off, bad[i].field.width, bad[i].value);
		create_is_refused(UID, ST_BAD_PARAM, bad[i].why);
	}
	IFC_SET(sqc, good(), wq.uar_page, uar + 9);
	create_is_refused(UID, ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	IFC_SET(sqc, good(), cqn, cqn + 9);
	create_is_refused(UID, ST_BAD_RES, WHY_OBJECT_UNKNOWN);
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

static void queue_keeps_what_it_names(void **state)
{
	const struct obj *const o[] = {
		obj_find(rig.hca, OBJ_PD, pd), obj_find(rig.hca, OBJ_UAR, uar),
		obj_find(rig.hca, OBJ_CQ, cqn),
	};
	unsigned int i;

	(void)state;
	good();
	assert_int_equal(create(UID), ST_OK);
	for (i = 0; i < ARRAY_SIZE(o); i++)
		assert_int_equal(o[i]->refs, 1);
	destroy(IFC_GET(create_sq_out, out, sqn));
	for (i = 0; i < ARRAY_SIZE(o); i++)
		assert_int_equal(o[i]->refs, 0);
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
	assert_refused(rig_cmd(MLX5_CMD_OP_MODIFY_SQ, 0, UID, cmd, sizeof(cmd), answer,
			       sizeof(answer)), ST_BAD_PARAM, WHY_SQ_MODIFY_MASK);
	IFC_SET64(modify_sq_in, cmd, modify_bitmask, 1);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_MODIFY_SQ, 0, UID, cmd, sizeof(cmd), answer,
				 sizeof(answer)), ST_OK);
}

/* ---- states ---------------------------------------------------------------------------------- */

enum { RST, RDY, ERR = 3 };

static uint8_t move(uint32_t sqn, unsigned int from, unsigned int to)
{
	uint8_t cmd[IFC_SZ(modify_sq_in)] = {}, answer[IFC_SZ(modify_sq_out)];

	IFC_SET(modify_sq_in, cmd, sqn, sqn);
	IFC_SET(modify_sq_in, cmd, sq_state, from);
	IFC_SET(modify_sq_in, cmd, ctx.state, to);
	return rig_cmd(MLX5_CMD_OP_MODIFY_SQ, 0, UID, cmd, sizeof(cmd), answer, sizeof(answer));
}

/* The queue is in this state, and will execute the WQE of this index next. */
static void is_at(uint32_t sqn, unsigned int state, uint16_t index)
{
	uint8_t cmd[IFC_SZ(query_sq_in)] = {}, found[IFC_SZ(query_sq_out)];

	IFC_SET(query_sq_in, cmd, sqn, sqn + 9);	/* there is no such queue */
	assert_refused(rig_cmd(MLX5_CMD_OP_QUERY_SQ, 0, UID, cmd, sizeof(cmd), found,
			       sizeof(found)), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	IFC_SET(query_sq_in, cmd, sqn, sqn);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_SQ, 0, UID, cmd, sizeof(cmd), found,
				 sizeof(found)), ST_OK);
	assert_int_equal(IFC_GET(query_sq_out, found, sq_context.state), state);
	assert_int_equal(IFC_GET(query_sq_out, found, sq_context.wq.hw_counter), index);
}

/* Make a queue that is ready. */
static uint32_t ready(void)
{
	uint32_t sqn;

	IFC_SET(sqc, good(), user_index, 0x321);
	assert_int_equal(create(UID), ST_OK);
	sqn = IFC_GET(create_sq_out, out, sqn);
	assert_int_equal(move(sqn, RST, RDY), ST_OK);
	return sqn;
}

static void queue_that_failed_is_reset_first(void **state)
{
	uint32_t sqn = ready();

	(void)state;
	sq_find(rig.hca, sqn)->hw = 1;
	is_at(sqn, RDY, 1);
	/* It is in RDY; and there is no state 2. */
	assert_refused(move(sqn, RST, RDY), ST_BAD_RES_STATE, WHY_SQ_STATE);
	assert_refused(move(sqn, RDY, 2), ST_BAD_RES_STATE, WHY_SQ_STATE);
	assert_int_equal(move(sqn, RDY, RDY), ST_OK);
	is_at(sqn, RDY, 1);
	assert_int_equal(move(sqn, RDY, ERR), ST_OK);
	assert_refused(move(sqn, ERR, RDY), ST_BAD_RES_STATE, WHY_SQ_STATE);
	is_at(sqn, ERR, 1);
	assert_int_equal(move(sqn, ERR, RST), ST_OK);
	is_at(sqn, RST, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(features_must_be_offered), T(send_queues_must_be_offered),
		T(contexts_of_other_queues_are_refused), T(users_have_no_privileged_queues),
		T(clock_and_index_must_be_offered), T(only_the_kernel_needs_no_domain),
		T(queue_keeps_what_it_names), T(only_the_rate_can_be_modified),
		T(queue_that_failed_is_reset_first),
	};

	rig_extra.modules = modules;
	rig_extra.cmds = cmds;
	return cmocka_run_group_tests_name("sq", tests, NULL, NULL);
}
