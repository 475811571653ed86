// SPDX-License-Identifier: GPL-2.0
/*
 * The small objects: protection, transport and XRC domains, and Q counters.
 */
#include <string.h>

#include "check.h"
#include "cmd.h"
#include "expect.h"
#include "ifc.h"
#include "object.h"
#include "objrig.h"
#include "profile.h"
#include "qcounter.h"
#include "util.h"

static uint8_t out[4096];

static void domains_are_allocated_and_freed(void **state)
{
	uint8_t in[32] = {};
	uint32_t td, xrcd;

	(void)state;
	assert_int_equal(rig_cmd(MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, 0, 7, in, 16, out, 16), ST_OK);
	td = IFC_GET(alloc_transport_domain_out, out, transport_domain);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_ALLOC_XRCD, 0, 0, in, 16, out, 16), ST_OK);
	xrcd = IFC_GET(alloc_xrcd_out, out, xrcd);
	IFC_SET(dealloc_transport_domain_in, in, transport_domain, td);
	assert_refused(rig_cmd(MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN, 0, 8, in, 16, out, 16),
		       ST_BAD_RES, WHY_OBJECT_OWNER);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN, 0, 7, in, 16, out, 16),
			 ST_OK);
	IFC_SET(dealloc_xrcd_in, in, xrcd, xrcd);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_DEALLOC_XRCD, 0, 0, in, 16, out, 16), ST_OK);
	assert_refused(rig_cmd(MLX5_CMD_OP_DEALLOC_XRCD, 0, 0, in, 16, out, 16), ST_BAD_RES,
		       WHY_OBJECT_UNKNOWN);
}

/* A user id can free neither the domains of another user nor those of the kernel. */
static void domains_belong_to_their_user(void **state)
{
	static const struct { uint16_t alloc, dealloc; } ops[] = {
		{ MLX5_CMD_OP_ALLOC_PD, MLX5_CMD_OP_DEALLOC_PD },
		{ MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN },
		{ MLX5_CMD_OP_ALLOC_XRCD, MLX5_CMD_OP_DEALLOC_XRCD },
	};
	uint8_t in[16] = {}, del[16] = {};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		assert_int_equal(rig_cmd(ops[i].alloc, 0, 7, in, 16, out, 16), ST_OK);
		IFC_SET(dealloc_pd_in, del, pd, IFC_GET(alloc_pd_out, out, pd));
		assert_int_equal(obj_count_uid(rig.hca, 7), 1);
		assert_refused(rig_cmd(ops[i].dealloc, 0, 8, del, 16, out, 16), ST_BAD_RES,
			       WHY_OBJECT_OWNER);
		assert_int_equal(rig_cmd(ops[i].dealloc, 0, 0, del, 16, out, 16), ST_OK);
		assert_int_equal(obj_count_uid(rig.hca, 7), 0);
		assert_int_equal(rig_cmd(ops[i].alloc, 0, 0, in, 16, out, 16), ST_OK);
		IFC_SET(dealloc_pd_in, del, pd, IFC_GET(alloc_pd_out, out, pd));
		assert_refused(rig_cmd(ops[i].dealloc, 0, 8, del, 16, out, 16), ST_BAD_RES,
			       WHY_OBJECT_OWNER);
		assert_int_equal(rig_cmd(ops[i].dealloc, 0, 0, del, 16, out, 16), ST_OK);
	}
}

/* At a reset domains end of whatever kind and user. */
static void domains_end_with_a_reset(void **state)
{
	static const struct { uint16_t alloc; enum obj_kind kind; } ops[] = {
		{ MLX5_CMD_OP_ALLOC_PD, OBJ_PD },
		{ MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, OBJ_TD },
		{ MLX5_CMD_OP_ALLOC_XRCD, OBJ_XRCD },
	};
	uint8_t in[16] = {};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		assert_int_equal(rig_cmd(ops[i].alloc, 0, 7, in, 16, out, 16), ST_OK);
		assert_int_equal(rig_cmd(ops[i].alloc, 0, 0, in, 16, out, 16), ST_OK);
		assert_true(obj_count(rig.hca, ops[i].kind) >= 2);
	}
	hca_free_objects(rig.hca);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		assert_int_equal(obj_count(rig.hca, ops[i].kind), 0);
}

static void allocation_fails_at_the_limit(void **state)
{
	static const struct { uint16_t alloc; enum obj_kind kind; } limited[] = {
		{ MLX5_CMD_OP_ALLOC_PD, OBJ_PD }, { MLX5_CMD_OP_ALLOC_XRCD, OBJ_XRCD },
		{ MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, OBJ_TD },
		{ MLX5_CMD_OP_ALLOC_Q_COUNTER, OBJ_QCOUNTER },
	};
	uint8_t in[16] = {};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(limited); i++) {
		struct obj_range *range = &rig.hca->profile->range[limited[i].kind];

		range->limit = range->first + 1;
		assert_int_equal(rig_cmd(limited[i].alloc, 0, 0, in, 16, out, 16), ST_OK);
		assert_refused(rig_cmd(limited[i].alloc, 0, 0, in, 16, out, 16), ST_LIM,
			       WHY_NUMBERS_IN_USE);
	}
}

static uint32_t new_pd(void)
{
	uint8_t in[16] = {};

	if (rig_cmd(MLX5_CMD_OP_ALLOC_PD, 0, 0, in, 16, out, 16) != ST_OK)
		return 0;
	return IFC_GET(alloc_pd_out, out, pd);
}

static void highest_number_comes_first(void **state)
{
	struct obj_range *r = &rig.hca->profile->range[OBJ_PD];

	(void)state;
	*r = (struct obj_range){ 0xfffffa, 0xffffff };
	rig.hca->profile->highest_numbers = true;
	assert_int_equal(new_pd(), 0xfffffe);
	assert_int_equal(new_pd(), 0xfffffd);
	obj_free(rig.hca, obj_find(rig.hca, OBJ_PD, 0xfffffe));
	assert_int_equal(new_pd(), 0xfffffe);
	assert_int_equal(new_pd(), 0xfffffc);
	assert_int_equal(new_pd(), 0xfffffb);
	assert_int_equal(new_pd(), 0xfffffa);
	assert_int_equal(new_pd(), 0);
	obj_free(rig.hca, obj_find(rig.hca, OBJ_PD, 0xfffffb));
	assert_int_equal(new_pd(), 0xfffffb);
	assert_int_equal(new_pd(), 0);
}

/* When all objects are gone, the next can get numbers of another range. */
static void highest_number_is_that_of_the_range(void **state)
{
	struct obj_range *r = &rig.hca->profile->range[OBJ_PD];

	(void)state;
	*r = (struct obj_range){ 0x10, 0x20 };
	rig.hca->profile->highest_numbers = true;
	assert_int_equal(new_pd(), 0x1f);
	obj_free(rig.hca, obj_find(rig.hca, OBJ_PD, 0x1f));
	*r = (struct obj_range){ 0x40, 0x60 };
	assert_int_equal(new_pd(), 0x5f);
	assert_int_equal(new_pd(), 0x5e);
}

/* With 3000 objects a part of the table is full. The search for a number skips the whole part. */
static void highest_numbers_pass_a_full_part(void **state)
{
	struct obj_range *r = &rig.hca->profile->range[OBJ_PD];
	uint32_t i;

	(void)state;
	*r = (struct obj_range){ 0x100000, 0xffffff };
	rig.hca->profile->highest_numbers = true;
	for (i = 0; i < 3000; i++)
		assert_int_equal(new_pd(), 0xfffffe - i);
	obj_free(rig.hca, obj_find(rig.hca, OBJ_PD, 0xffffff - 3000));
	obj_free(rig.hca, obj_find(rig.hca, OBJ_PD, 0xfffffe));
	assert_int_equal(new_pd(), 0xfffffe);
	assert_int_equal(new_pd(), 0xffffff - 3000);
}

static void lowest_number_is_used_again_first(void **state)
{
	uint32_t first = new_pd(), second = new_pd(), third = new_pd();

	(void)state;
	obj_free(rig.hca, obj_find(rig.hca, OBJ_PD, first));
	obj_free(rig.hca, obj_find(rig.hca, OBJ_PD, third));
	assert_int_equal(new_pd(), first);
	assert_int_equal(new_pd(), third);
	assert_int_equal(new_pd(), third + 1);
	assert_int_equal(third, second + 1);
}

static void lowest_number_is_found_behind_a_full_part(void **state)
{
	uint32_t first = new_pd(), i;

	(void)state;
	for (i = 1; i < 4000; i++)
		assert_int_equal(new_pd(), first + i);
	/* Each part has 1024 numbers. */
	obj_free(rig.hca, obj_find(rig.hca, OBJ_PD, 3 * 1024));
	obj_free(rig.hca, obj_find(rig.hca, OBJ_PD, 2 * 1024));
	assert_int_equal(new_pd(), 2 * 1024);
	assert_int_equal(new_pd(), 3 * 1024);
	assert_int_equal(new_pd(), first + 4000);
}

static void q_counter_counts_and_clears(void **state)
{
	uint8_t in[IFC_SZ(query_q_counter_in)] = {};
	uint32_t set;

	(void)state;
	assert_int_equal(rig_cmd(MLX5_CMD_OP_ALLOC_Q_COUNTER, 0, 0, in, 16, out, 16), ST_OK);
	set = IFC_GET(alloc_q_counter_out, out, counter_set_id);
	qcounter_add(rig.hca, set, QC_OUT_OF_BUFFER);
	qcounter_add(rig.hca, set, QC_OUT_OF_BUFFER);
	qcounter_add(rig.hca, set + 1, QC_OUT_OF_BUFFER);	/* does not exist: not counted */
	memset(in, 0, sizeof(in));
	IFC_SET(query_q_counter_in, in, counter_set_id, set);
	IFC_SET(query_q_counter_in, in, clear, 1);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_Q_COUNTER, 0, 0, in, sizeof(in), out,
				 IFC_SZ(query_q_counter_out)), ST_OK);
	assert_int_equal(IFC_GET(query_q_counter_out, out, out_of_buffer), 2);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_Q_COUNTER, 0, 0, in, sizeof(in), out,
				 IFC_SZ(query_q_counter_out)), ST_OK);
	assert_int_equal(IFC_GET(query_q_counter_out, out, out_of_buffer), 0);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, rig_setup, rig_teardown)

/* Freeing an object with references is a bug of the HCA. It is recorded, and the HCA goes on. */
static uint8_t free_q_counter(uint16_t uid, uint32_t set)
{
	uint8_t in[IFC_SZ(dealloc_q_counter_in)] = {};

	IFC_SET(dealloc_q_counter_in, in, counter_set_id, set);
	return rig_cmd(MLX5_CMD_OP_DEALLOC_Q_COUNTER, 0, uid, in, sizeof(in), out, 16);
}

static void q_counters_belong_to_their_user(void **state)
{
	uint8_t in[16] = {};
	uint32_t set;

	(void)state;
	assert_int_equal(rig_cmd(MLX5_CMD_OP_ALLOC_Q_COUNTER, 0, 7, in, 16, out, 16), ST_OK);
	set = IFC_GET(alloc_q_counter_out, out, counter_set_id);
	assert_refused(free_q_counter(8, set), ST_BAD_RES, WHY_OBJECT_OWNER);
	assert_int_equal(obj_count(rig.hca, OBJ_QCOUNTER), 1);
	assert_int_equal(free_q_counter(7, set), ST_OK);
	assert_int_equal(obj_count(rig.hca, OBJ_QCOUNTER), 0);
	assert_int_not_equal(free_q_counter(7, set), ST_OK);
}

static void q_counter_of_another_vport_is_not_read(void **state)
{
	const struct { struct ifc_field field; uint8_t status; uint32_t why; } bad[] = {
#define FIELD(fld)	(struct ifc_field)IFC_FIELD(query_q_counter_in, fld)
		{ FIELD(other_vport), ST_BAD_PARAM, WHY_VPORT_OTHER },
		{ FIELD(aggregate), ST_BAD_PARAM, WHY_VPORT_OTHER },
		{ FIELD(counter_set_id), ST_BAD_RES, WHY_OBJECT_UNKNOWN },
#undef FIELD
	};
	uint8_t in[IFC_SZ(query_q_counter_in)] = {};
	unsigned int i;
	uint32_t set;

	(void)state;
	assert_int_equal(rig_cmd(MLX5_CMD_OP_ALLOC_Q_COUNTER, 0, 0, in, 16, out, 16), ST_OK);
	set = IFC_GET(alloc_q_counter_out, out, counter_set_id);
	qcounter_add(rig.hca, set, QC_OUT_OF_BUFFER);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(in, 0, sizeof(in));
		IFC_SET(query_q_counter_in, in, counter_set_id, set);
		IFC_SET(query_q_counter_in, in, clear, 1);
		ifc_set_bits(in, bad[i].field.off, bad[i].field.width, i < 2 ? 1 : set + 1);
		assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_Q_COUNTER, 0, 0, in, sizeof(in), out,
					 IFC_SZ(query_q_counter_out)), bad[i].status);
		assert_int_equal(rig.syndrome, bad[i].why);
	}
	IFC_SET(query_q_counter_in, in, counter_set_id, set);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_Q_COUNTER, 0, 0, in, sizeof(in), out,
				 IFC_SZ(query_q_counter_out)), ST_OK);
	assert_int_equal(IFC_GET(query_q_counter_out, out, out_of_buffer), 1);	/* not cleared */
}

static void object_is_kept_for_its_references(void **state)
{
	struct obj *o = obj_find(rig.hca, OBJ_PD, rig_pd());
	const struct incident *it;
	uint32_t num = o->num;

	(void)state;
	o->refs = 2;
	obj_free(rig.hca, o);
	it = expect_unexpected(rig.hca->expect, 0);
	assert_int_equal(it->kind, INCIDENT_BUG);
	assert_ptr_equal(obj_find(rig.hca, OBJ_PD, num), o);
	assert_null(obj_find_own(rig.hca, OBJ_PD, num, 0));
	obj_put(rig.hca, o);
	assert_non_null(obj_find(rig.hca, OBJ_PD, num));
	obj_put(rig.hca, o);
	assert_null(obj_find(rig.hca, OBJ_PD, num));
	assert_int_equal(obj_count(rig.hca, OBJ_PD), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(domains_are_allocated_and_freed), T(domains_belong_to_their_user),
		T(domains_end_with_a_reset), T(allocation_fails_at_the_limit),
		T(highest_number_comes_first),
		T(highest_number_is_that_of_the_range), T(highest_numbers_pass_a_full_part),
		T(lowest_number_is_used_again_first), T(lowest_number_is_found_behind_a_full_part),
		T(object_is_kept_for_its_references), T(q_counter_counts_and_clears),
		T(q_counters_belong_to_their_user),
		T(q_counter_of_another_vport_is_not_read),
	};

	return cmocka_run_group_tests_name("pd", tests, NULL, NULL);
}
