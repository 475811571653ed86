// SPDX-License-Identifier: GPL-2.0
/*
 * User contexts, through the command queue: which ids exist, what they may do, and that they end
 * after their objects.
 */
#include <string.h>

#include "caps.h"
#include "cmd.h"
#include "corerig.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "util.h"

#define CAP_RDMA_CTRL	8	/* not in uctx_cap of the default profile */

static uint8_t in[4096], out[8192];

static uint8_t create_uctx(uint32_t cap, uint16_t *uid)
{
	uint8_t st;

	memset(in, 0, sizeof(in));
	IFC_SET(create_uctx_in, in, opcode, MLX5_CMD_OP_CREATE_UCTX);
	IFC_SET(create_uctx_in, in, uctx.cap, cap);
	st = core_cmd(in, IFC_SZ(create_uctx_in), out, 16);
	*uid = IFC_GET(create_uctx_out, out, uid);
	return st;
}

static uint8_t destroy_uctx(uint16_t uid)
{
	memset(in, 0, sizeof(in));
	IFC_SET(destroy_uctx_in, in, opcode, MLX5_CMD_OP_DESTROY_UCTX);
	IFC_SET(destroy_uctx_in, in, uid, uid);
	return core_cmd(in, IFC_SZ(destroy_uctx_in), out, 16);
}

/* A command of @uid with an object's number, or 0, behind its header. */
static uint8_t user_cmd(uint16_t op, uint16_t uid, uint32_t num, size_t in_len, size_t out_len)
{
	memset(in, 0, sizeof(in));
	IFC_SET(dealloc_pd_in, in, opcode, op);
	IFC_SET(dealloc_pd_in, in, uid, uid);
	IFC_SET(dealloc_pd_in, in, pd, num);
	return core_cmd(in, in_len, out, out_len);
}

static void an_id_exists_from_create_to_destroy(void **state)
{
	uint16_t a, b;

	(void)state;
	assert_refused(user_cmd(MLX5_CMD_OP_ALLOC_PD, 1, 0, 16, 16), ST_BAD_RES, WHY_UID_UNKNOWN);
	assert_int_equal(create_uctx(0, &a), ST_OK);
	assert_int_equal(create_uctx(0, &b), ST_OK);
	assert_true(a && b && a != b && a != SHARED_UID && b != SHARED_UID);
	assert_int_equal(user_cmd(MLX5_CMD_OP_NOP, b, 0, 16, 16), ST_OK);
	assert_int_equal(destroy_uctx(a), ST_OK);
	assert_refused(destroy_uctx(a), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_refused(user_cmd(MLX5_CMD_OP_ALLOC_PD, a, 0, 16, 16), ST_BAD_RES, WHY_UID_UNKNOWN);
	assert_refused(destroy_uctx(0), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_refused(destroy_uctx(SHARED_UID), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
}

static void an_id_outlives_its_objects(void **state)
{
	uint16_t uid;
	uint32_t pdn;

	(void)state;
	assert_int_equal(create_uctx(0, &uid), ST_OK);
	assert_int_equal(user_cmd(MLX5_CMD_OP_ALLOC_PD, uid, 0, 16, 16), ST_OK);
	pdn = IFC_GET(alloc_pd_out, out, pd);
	assert_refused(destroy_uctx(uid), ST_BAD_RES_STATE, WHY_UCTX_OWNS_OBJECTS);
	assert_int_equal(user_cmd(MLX5_CMD_OP_DEALLOC_PD, uid, pdn, 16, 16), ST_OK);
	assert_int_equal(destroy_uctx(uid), ST_OK);
}

static void ids_are_limited(void **state)
{
	unsigned int n = 0;
	uint16_t uid;
	uint8_t st;

	(void)state;
	do {
		st = create_uctx(0, &uid);
		n += !st;
	} while (!st);
	assert_refused(st, ST_LIM, WHY_NUMBERS_IN_USE);
	assert_int_equal(n, (1 << hca_cap_gen(core.hca, log_max_uctx)) - 1);
}

static void capabilities_must_be_offered(void **state)
{
	uint8_t *cap = core.hca->cap[CAP_GENERAL];
	uint16_t uid;

	(void)state;
	assert_int_equal(create_uctx(MLX5_UCTX_CAP_RAW_TX | MLX5_UCTX_CAP_INTERNAL_DEV_RES, &uid),
			 ST_OK);
	assert_refused(create_uctx(CAP_RDMA_CTRL, &uid), ST_BAD_PARAM, WHY_UCTX_CAPS);
	IFC_SET(cmd_hca_cap, cap, uctx_cap, 0);
	assert_refused(create_uctx(MLX5_UCTX_CAP_RAW_TX, &uid), ST_BAD_PARAM, WHY_UCTX_CAPS);
	assert_int_equal(create_uctx(0, &uid), ST_OK);
	IFC_SET(cmd_hca_cap, cap, log_max_uctx, 0);
	assert_refused(create_uctx(0, &uid), ST_BAD_OP, WHY_UCTX_NOT_OFFERED);
}

static void what_is_the_kernels_no_user_sends(void **state)
{
	static const struct { uint16_t op; size_t in_len; } cmds[] = {
		{ MLX5_CMD_OP_TEARDOWN_HCA, 16 }, { MLX5_CMD_OP_QUERY_PAGES, 16 },
		{ MLX5_CMD_OP_MANAGE_PAGES, 16 }, { MLX5_CMD_OP_SET_ISSI, 16 },
		{ MLX5_CMD_OP_DESTROY_EQ, 16 }, { MLX5_CMD_OP_DESTROY_UCTX, 16 },
		{ MLX5_CMD_OP_CREATE_UCTX, IFC_SZ(create_uctx_in) },
		{ MLX5_CMD_OP_CREATE_EQ, IFC_SZ(create_eq_in) },
	};
	uint16_t uid;
	size_t i;

	(void)state;
	assert_int_equal(create_uctx(0, &uid), ST_OK);
	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		assert_refused(user_cmd(cmds[i].op, uid, uid, cmds[i].in_len, 16), ST_BAD_PARAM,
			       WHY_UCTX_KERNEL_COMMAND);
	/* Any user may ask what the HCA can do. */
	assert_int_equal(user_cmd(MLX5_CMD_OP_QUERY_HCA_CAP, uid, 0, IFC_SZ(query_hca_cap_in),
				  IFC_SZ(query_hca_cap_out)), ST_OK);
}

/* The queries and allocations of libraries when they open the device. */
static void users_ask_and_allocate(void **state)
{
	static const struct { uint16_t op; size_t in_len, out_len; } cmds[] = {
		{ MLX5_CMD_OP_NOP, 16, 16 },
		{ MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS, 16, IFC_SZ(query_special_contexts_out) },
		{ MLX5_CMD_OP_QUERY_LAG, 16, 16 },
		{ MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, IFC_SZ(query_hca_vport_context_in),
		  IFC_SZ(query_hca_vport_context_out) },
		{ MLX5_CMD_OP_ALLOC_PD, 16, 16 }, { MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, 16, 16 },
		{ MLX5_CMD_OP_ALLOC_XRCD, 16, 16 }, { MLX5_CMD_OP_ALLOC_UAR, 16, 16 },
		{ MLX5_CMD_OP_ALLOC_Q_COUNTER, 16, 16 },
	};
	uint16_t uid;
	size_t i;

	(void)state;
	assert_int_equal(create_uctx(0, &uid), ST_OK);
	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		if (user_cmd(cmds[i].op, uid, 0, cmds[i].in_len, cmds[i].out_len) != ST_OK)
			fail_msg("opcode 0x%x", cmds[i].op);
	assert_int_equal(obj_count_uid(core.hca, uid), 5);
}

static void raw_queues_need_the_capability(void **state)
{
	uint16_t uid;

	(void)state;
	assert_int_equal(create_uctx(0, &uid), ST_OK);
	assert_refused(user_cmd(MLX5_CMD_OP_CREATE_SQ, uid, 0, IFC_SZ(create_sq_in), 16),
		       ST_BAD_PARAM, WHY_UCTX_NO_RAW_TX);
	assert_int_equal(create_uctx(MLX5_UCTX_CAP_RAW_TX, &uid), ST_OK);
	user_cmd(MLX5_CMD_OP_CREATE_SQ, uid, 0, IFC_SZ(create_sq_in), 16);
	assert_int_not_equal(IFC_GET(create_sq_out, out, syndrome), WHY_UCTX_NO_RAW_TX);
}

/* The kernel shares event queues, counters and rates, and nothing else, by SHARED_UID. */
static void few_kinds_of_objects_are_shared(void **state)
{
	(void)state;
	assert_int_equal(user_cmd(MLX5_CMD_OP_ALLOC_Q_COUNTER, SHARED_UID, 0, 16, 16), ST_OK);
	assert_refused(user_cmd(MLX5_CMD_OP_ALLOC_PD, SHARED_UID, 0, 16, 16), ST_BAD_RES,
		       WHY_UID_UNKNOWN);
	/* The default HCA has no rates. */
	assert_refused(user_cmd(MLX5_CMD_OP_SET_PP_RATE_LIMIT, SHARED_UID, 1,
				IFC_SZ(set_pp_rate_limit_in), 16), ST_BAD_OP, WHY_RATE_NOT_OFFERED);
	IFC_SET(cmd_hca_cap, core.hca->cap[CAP_GENERAL], log_max_uctx, 0);
	assert_refused(user_cmd(MLX5_CMD_OP_ALLOC_Q_COUNTER, SHARED_UID, 0, 16, 16), ST_BAD_RES,
		       WHY_UID_UNKNOWN);
}

/* All users may refer to a shared object, but only the kernel queries and frees it. */
static void shared_objects_are_the_kernels(void **state)
{
	uint32_t set;
	uint16_t uid;

	(void)state;
	assert_int_equal(create_uctx(0, &uid), ST_OK);
	assert_int_equal(user_cmd(MLX5_CMD_OP_ALLOC_Q_COUNTER, SHARED_UID, 0, 16, 16), ST_OK);
	set = IFC_GET(alloc_q_counter_out, out, counter_set_id);
	memset(in, 0, sizeof(in));
	IFC_SET(dealloc_q_counter_in, in, opcode, MLX5_CMD_OP_DEALLOC_Q_COUNTER);
	IFC_SET(dealloc_q_counter_in, in, counter_set_id, set);
	IFC_SET(dealloc_pd_in, in, uid, uid);
	assert_refused(core_cmd(in, 16, out, 16), ST_BAD_RES, WHY_OBJECT_OWNER);
	IFC_SET(dealloc_pd_in, in, uid, 0);
	assert_int_equal(core_cmd(in, 16, out, 16), ST_OK);
}

static void uars_belong_to_their_user(void **state)
{
	uint32_t uar, mine;
	uint16_t a, b;

	(void)state;
	assert_int_equal(create_uctx(0, &a), ST_OK);
	assert_int_equal(create_uctx(0, &b), ST_OK);
	uar = core_alloc_uar();
	assert_int_equal(user_cmd(MLX5_CMD_OP_ALLOC_UAR, a, 0, 16, 16), ST_OK);
	mine = IFC_GET(alloc_uar_out, out, uar);
	assert_refused(user_cmd(MLX5_CMD_OP_DEALLOC_UAR, b, mine, 16, 16), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	assert_refused(user_cmd(MLX5_CMD_OP_DEALLOC_UAR, a, uar, 16, 16), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	assert_int_equal(user_cmd(MLX5_CMD_OP_DEALLOC_UAR, a, mine, 16, 16), ST_OK);
	assert_int_equal(user_cmd(MLX5_CMD_OP_DEALLOC_UAR, 0, uar, 16, 16), ST_OK);
}

/* TEARDOWN_HCA ends the user ids, as it ends all objects. */
static void teardown_ends_all_ids(void **state)
{
	uint16_t uid;

	(void)state;
	assert_int_equal(create_uctx(0, &uid), ST_OK);
	assert_int_equal(user_cmd(MLX5_CMD_OP_ALLOC_PD, uid, 0, 16, 16), ST_OK);
	assert_int_equal(core_simple(MLX5_CMD_OP_TEARDOWN_HCA, 0, out), ST_OK);
	assert_int_equal(obj_count(core.hca, OBJ_UCTX), 0);
	assert_int_equal(obj_count_uid(core.hca, uid), 0);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, core_up_init, core_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_id_exists_from_create_to_destroy), T(an_id_outlives_its_objects),
		T(ids_are_limited), T(capabilities_must_be_offered),
		T(what_is_the_kernels_no_user_sends), T(raw_queues_need_the_capability),
		T(users_ask_and_allocate),
		T(few_kinds_of_objects_are_shared), T(shared_objects_are_the_kernels),
		T(uars_belong_to_their_user), T(teardown_ends_all_ids),
	};

	return cmocka_run_group_tests_name("uctx", tests, NULL, NULL);
}
