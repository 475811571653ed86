// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues with tag matching (XRQ): what their contexts must not contain, what the commands
 * show, which queue pairs use them, and the list of tags.
 */
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cq.h"
#include "ifc.h"
#include "objrig.h"
#include "profile.h"
#include "qp.h"
#include "srq.h"
#include "tm_list.h"
#include "util.h"

#define SRQ_BUF	(RAM_BASE + 0x8000)
#define SRQ_DBR	(RAM_BASE + 0x200)
#define QP_BUF	(RAM_BASE + 0x10000)
#define QP_DBR	(RAM_BASE + 0x300)
#define UID	7
#define LOG_LIST 3
#define FIELD(fld) IFC_FIELD(xrqc, fld)
#define TM(fld)	tag_matching_topology_context.fld

static uint32_t pd, uar, cqn;
static uint8_t in[IFC_BYTE(create_xrq_in, xrq_context.wq.pas) + 8];

/* Fill in[] with a context that is valid. */
static uint8_t *good(void)
{
	uint8_t *c = IFC_ADDR(create_xrq_in, in, xrq_context);
	uint8_t *wq = IFC_ADDR(xrqc, c, wq);

	memset(in, 0, sizeof(in));
	IFC_SET(xrqc, c, topology, MLX5_XRQC_TOPOLOGY_TAG_MATCHING);
	IFC_SET(xrqc, c, offload, MLX5_XRQC_OFFLOAD_RNDV);
	IFC_SET(xrqc, c, user_index, 0x123);
	IFC_SET(xrqc, c, cqn, cqn);
	IFC_SET(xrqc, c, TM(log_matching_list_sz), LOG_LIST);
	IFC_SET(xrqc, c, TM(append_next_index), 5);
	IFC_SET(wq, wq, pd, pd);
	IFC_SET(wq, wq, log_wq_sz, 4);
	IFC_SET(wq, wq, log_wq_stride, 6);
	IFC_SET64(wq, wq, dbr_addr, SRQ_DBR);
	put_be64(IFC_ADDR(wq, wq, pas), SRQ_BUF);
	return c;
}

static int setup(void **state)
{
	uint8_t *cap;

	rig_setup(state);
	cap = rig.hca->cap[CAP_GENERAL];
	IFC_SET(cmd_hca_cap, cap, tag_matching, 1);
	IFC_SET(cmd_hca_cap, cap, rndv_offload_rc, 1);
	IFC_SET(cmd_hca_cap, cap, log_tag_matching_list_sz, 4);
	IFC_SET(cmd_hca_cap, cap, cqe_version, 1);
	pd = rig_pd();
	uar = rig_uar(0);
	cqn = rig_cq(RAM_BASE + 0x4000, RAM_BASE + 0x100, 4, 64, uar, rig_eq());
	put_be32(ram(SRQ_DBR), 0);
	good();
	return 0;
}

static uint8_t create(uint16_t uid, uint32_t *num)
{
	uint8_t out[IFC_SZ(create_xrq_out)];
	uint8_t st = rig_cmd(MLX5_CMD_OP_CREATE_XRQ, 0, uid, in, sizeof(in), out, sizeof(out));

	*num = IFC_GET(create_xrq_out, out, xrqn);
	return st;
}

static struct srq *new_xrq(void)
{
	uint32_t num;

	good();
	assert_int_equal(create(0, &num), ST_OK);
	return srq_find(rig.hca, num);
}

static uint8_t destroy(uint32_t num)
{
	uint8_t cmd[IFC_SZ(destroy_xrq_in)] = {}, out[IFC_SZ(destroy_xrq_out)];

	IFC_SET(destroy_xrq_in, cmd, xrqn, num);
	return rig_cmd(MLX5_CMD_OP_DESTROY_XRQ, 0, 0, cmd, sizeof(cmd), out, sizeof(out));
}

static uint8_t arm(uint32_t num, uint16_t lwm)
{
	uint8_t cmd[IFC_SZ(arm_xrq_in)] = {}, out[IFC_SZ(arm_xrq_out)];

	IFC_SET(arm_xrq_in, cmd, xrqn, num);
	IFC_SET(arm_xrq_in, cmd, lwm, lwm);
	return rig_cmd(MLX5_CMD_OP_ARM_XRQ, 0, 0, cmd, sizeof(cmd), out, sizeof(out));
}

static const uint8_t *query(uint32_t num)
{
	static uint8_t out[IFC_BYTE(query_xrq_out, xrq_context.wq.pas)];
	uint8_t cmd[IFC_SZ(query_xrq_in)] = {};

	IFC_SET(query_xrq_in, cmd, xrqn, num);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_XRQ, 0, 0, cmd, sizeof(cmd), out, sizeof(out)),
			 ST_OK);
	return IFC_ADDR(query_xrq_out, out, xrq_context);
}

static void contexts_are_checked(void **state)
{
	static const struct rig_bad bad[] = {
		{ FIELD(state), 1, ST_BAD_PARAM, WHY_XRQ_STATE },
		{ FIELD(rlkey), 1, ST_BAD_PARAM, WHY_XRQ_FIELD_NOT_OFFERED },
		{ FIELD(topology), 0, ST_BAD_PARAM, WHY_XRQ_TOPOLOGY },
		{ FIELD(topology), 2, ST_BAD_PARAM, WHY_XRQ_TOPOLOGY },
		{ FIELD(offload), 2, ST_BAD_PARAM, WHY_XRQ_OFFLOAD },
		{ FIELD(cqn), 0, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ FIELD(TM(log_matching_list_sz)), 0, ST_BAD_PARAM, WHY_XRQ_LIST_SIZE },
		{ FIELD(TM(log_matching_list_sz)), 5, ST_BAD_PARAM, WHY_XRQ_LIST_SIZE },
		{ FIELD(TM(append_next_index)), 8, ST_BAD_PARAM, WHY_XRQ_APPEND_INDEX },
		{ FIELD(TM(sw_phase_cnt)), 1, ST_BAD_PARAM, WHY_XRQ_PHASE },
		{ FIELD(TM(hw_phase_cnt)), 1, ST_BAD_PARAM, WHY_XRQ_PHASE },
		{ FIELD(wq.wq_type), 2, ST_BAD_PARAM, WHY_SRQ_WQ_TYPE },
		{ FIELD(wq.wq_signature), 1, ST_BAD_PARAM, WHY_QP_SIGNATURE_NOT_OFFERED },
		{ FIELD(wq.log_wq_sz), 16, ST_LIM, WHY_SRQ_SIZE },
		{ FIELD(wq.log_wq_stride), 4, ST_BAD_PARAM, WHY_SRQ_STRIDE },
		{ FIELD(wq.pd), 0, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
	};

	(void)state;
	rig_check_bad(bad, ARRAY_SIZE(bad), good, create);
	assert_null(srq_find(rig.hca, 1));
	assert_non_null(new_xrq());
}

static void the_largest_values_are_accepted(void **state)
{
	uint32_t num;

	(void)state;
	IFC_SET(xrqc, good(), TM(log_matching_list_sz), 4);
	IFC_SET(create_xrq_in, in, xrq_context.TM(append_next_index), 15);
	assert_int_equal(create(0, &num), ST_OK);
	assert_int_equal(srq_find(rig.hca, num)->tm->cnt, 16);
	assert_int_equal(srq_find(rig.hca, num)->tm->append, 15);
}

static void what_the_capabilities_lack_is_refused(void **state)
{
	uint8_t *cap = rig.hca->cap[CAP_GENERAL];
	uint32_t num;

	(void)state;
	good();
	IFC_SET(cmd_hca_cap, cap, rndv_offload_rc, 0);
	assert_refused(create(0, &num), ST_BAD_PARAM, WHY_XRQ_OFFLOAD);
	IFC_SET(create_xrq_in, in, xrq_context.offload, 0);
	assert_int_equal(create(0, &num), ST_OK);
	assert_false(srq_find(rig.hca, num)->rndv);
	IFC_SET(cmd_hca_cap, cap, cqe_version, 0);
	assert_refused(create(0, &num), ST_BAD_PARAM, WHY_XRQ_USER_INDEX);
	IFC_SET(create_xrq_in, in, xrq_context.user_index, USER_INDEX_NONE);
	assert_int_equal(create(0, &num), ST_OK);
	IFC_SET(create_xrq_in, in, xrq_context.user_index, 0);
	assert_int_equal(create(0, &num), ST_OK);
	assert_false(srq_find(rig.hca, num)->cqe_version1);
}

static void objects_of_other_users_are_refused(void **state)
{
	uint32_t num;

	(void)state;
	assert_refused(create(UID, &num), ST_BAD_RES, WHY_OBJECT_OWNER);
}

static void query_shows_the_queue_and_its_list(void **state)
{
	const struct tm_buffer buf = { .addr = 1, .len = 2, .lkey = 3 };
	struct srq *srq = new_xrq();
	const uint8_t *c = query(srq->obj.num);

	(void)state;
	assert_int_equal(IFC_GET(xrqc, c, state), MLX5_XRQC_STATE_GOOD);
	assert_int_equal(IFC_GET(xrqc, c, topology), MLX5_XRQC_TOPOLOGY_TAG_MATCHING);
	assert_int_equal(IFC_GET(xrqc, c, offload), MLX5_XRQC_OFFLOAD_RNDV);
	assert_int_equal(IFC_GET(xrqc, c, user_index), 0x123);
	assert_int_equal(IFC_GET(xrqc, c, cqn), cqn);
	assert_int_equal(IFC_GET(xrqc, c, TM(log_matching_list_sz)), LOG_LIST);
	assert_int_equal(IFC_GET(xrqc, c, TM(append_next_index)), 5);
	assert_int_equal(IFC_GET(xrqc, c, wq.pd), pd);
	assert_int_equal(IFC_GET(xrqc, c, wq.lwm), 0);

	assert_int_equal(tm_append(srq->tm, 2, 0, 0, &buf), TM_APPENDED);
	tm_unexpected(srq->tm);
	tm_unexpected(srq->tm);
	tm_sync(srq->tm, 1);
	srq->hw = 9;
	srq->error = true;
	c = query(srq->obj.num);
	assert_int_equal(IFC_GET(xrqc, c, state), MLX5_XRQC_STATE_ERROR);
	assert_int_equal(IFC_GET(xrqc, c, TM(append_next_index)), 2);
	assert_int_equal(IFC_GET(xrqc, c, TM(sw_phase_cnt)), 1);
	assert_int_equal(IFC_GET(xrqc, c, TM(hw_phase_cnt)), 2);
	assert_int_equal(IFC_GET(xrqc, c, wq.hw_counter), 9);
}

static unsigned int limit_events(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < rig.nev; i++)
		n += rig.ev[i].type == EV_SRQ_RQ_LIMIT;
	return n;
}

static void arming_raises_the_event_below_the_limit(void **state)
{
	struct srq *srq = new_xrq();

	(void)state;
	assert_refused(arm(srq->obj.num, 16), ST_BAD_PARAM, WHY_SRQ_LIMIT);
	put_be32(ram(SRQ_DBR), 4);
	assert_int_equal(arm(srq->obj.num, 4), ST_OK);
	assert_int_equal(limit_events(), 0);
	assert_int_equal(IFC_GET(xrqc, query(srq->obj.num), wq.lwm), 4);
	assert_int_equal(arm(srq->obj.num, 5), ST_OK);
	assert_int_equal(limit_events(), 1);
	assert_int_equal(get_be32(rig.ev[rig.nev - 1].data + 24), srq->obj.num);
	assert_int_equal(IFC_GET(xrqc, query(srq->obj.num), wq.lwm), 0);
}

static void commands_are_for_xrqs_only(void **state)
{
	uint8_t cmd[IFC_SZ(destroy_rmp_in)] = {}, out[IFC_SZ(destroy_rmp_out)];
	struct srq *srq = new_xrq();

	(void)state;
	IFC_SET(destroy_rmp_in, cmd, rmpn, srq->obj.num);
	assert_refused(rig_cmd(MLX5_CMD_OP_DESTROY_RMP, 0, 0, cmd, sizeof(cmd), out, sizeof(out)),
		       ST_BAD_RES, WHY_SRQ_FORM);
	srq->kind = SRQ_RMP;
	assert_refused(destroy(srq->obj.num), ST_BAD_RES, WHY_SRQ_FORM);
	assert_refused(arm(srq->obj.num, 0), ST_BAD_RES, WHY_SRQ_FORM);
	srq->kind = SRQ_XRQ;
	assert_refused(destroy(srq->obj.num + 1), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
}

static void the_cq_lives_as_long_as_the_queue(void **state)
{
	uint32_t refs = cq_find(rig.hca, cqn)->obj.refs;
	struct srq *srq = new_xrq();

	(void)state;
	assert_int_equal(cq_find(rig.hca, cqn)->obj.refs, refs + 1);
	assert_int_equal(destroy(srq->obj.num), ST_OK);
	assert_int_equal(cq_find(rig.hca, cqn)->obj.refs, refs);
}

/* ---- queue pairs ----------------------------------------------------------------------------- */

static uint32_t qp_cqn;			/* 0 for that of the XRQ */
static uint8_t qp_cs_res;

static uint8_t create_qp(enum qp_type st, uint32_t srqn, bool no_sq, unsigned int offload,
			 uint32_t *qpn)
{
	uint8_t cmd[IFC_BYTE(create_qp_in, pas) + 8] = {}, out[IFC_SZ(create_qp_out)], status;
	uint8_t *c = IFC_ADDR(create_qp_in, cmd, qpc);

	IFC_SET(qpc, c, st, st);
	IFC_SET(qpc, c, pm_state, 3);
	IFC_SET(qpc, c, pd, pd);
	IFC_SET(qpc, c, rq_type, RQ_SRQ);
	IFC_SET(qpc, c, no_sq, no_sq);
	IFC_SET(qpc, c, log_sq_size, no_sq ? 0 : 4);
	IFC_SET(qpc, c, offload_type, offload);
	IFC_SET(qpc, c, uar_page, uar);
	IFC_SET(qpc, c, cs_res, qp_cs_res);
	IFC_SET(qpc, c, cqn_snd, qp_cqn ?: cqn);
	IFC_SET(qpc, c, cqn_rcv, qp_cqn ?: cqn);
	IFC_SET(qpc, c, srqn_rmpn_xrqn, srqn);
	IFC_SET64(qpc, c, dbr_addr, QP_DBR);
	put_be64(IFC_ADDR(create_qp_in, cmd, pas), QP_BUF);
	status = rig_cmd(MLX5_CMD_OP_CREATE_QP, 0, 0, cmd, sizeof(cmd) - (no_sq ? 8 : 0), out,
			 sizeof(out));
	*qpn = IFC_GET(create_qp_out, out, qpn);
	return status;
}

static void only_rc_queue_pairs_use_an_xrq(void **state)
{
	struct srq *srq = new_xrq();
	uint32_t qpn;

	(void)state;
	assert_refused(create_qp(QPT_UC, srq->obj.num, false, 0, &qpn), ST_BAD_RES, WHY_SRQ_FORM);
	assert_refused(create_qp(QPT_UD, srq->obj.num, false, 0, &qpn), ST_BAD_RES, WHY_SRQ_FORM);
	assert_refused(create_qp(QPT_XRC, srq->obj.num, false, 0, &qpn), ST_BAD_RES, WHY_SRQ_FORM);
	assert_int_equal(create_qp(QPT_RC, srq->obj.num, false, 0, &qpn), ST_OK);
	assert_false(qp_find(rig.hca, qpn)->rndv);
	assert_refused(destroy(srq->obj.num), ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
}

/* Messages complete in the CQ of the XRQ, not in that of the queue pair. */
static void data_in_cqes_needs_long_cqes_of_the_xrq(void **state)
{
	uint32_t wide = rig_cq(RAM_BASE + 0x40000, RAM_BASE + 0x400, 4, 128, uar, rig_eq());
	uint32_t short_cqn = cqn, qpn;

	(void)state;
	qp_cs_res = CS_RES_64B;
	qp_cqn = wide;
	assert_refused(create_qp(QPT_RC, new_xrq()->obj.num, false, 0, &qpn), ST_BAD_PARAM,
		       WHY_QP_SCATTER_TO_CQE_SIZE);
	cqn = wide;
	qp_cqn = short_cqn;
	assert_int_equal(create_qp(QPT_RC, new_xrq()->obj.num, false, 0, &qpn), ST_OK);
	qp_cs_res = 0;
	qp_cqn = 0;
}

static void rendezvous_needs_a_send_queue_of_the_hca(void **state)
{
	struct srq *srq = new_xrq();
	uint32_t num = srq->obj.num, qpn;

	(void)state;
	assert_refused(create_qp(QPT_RC, num, false, 1, &qpn), ST_BAD_PARAM, WHY_QP_RENDEZVOUS);
	assert_refused(create_qp(QPT_UC, num, true, 1, &qpn), ST_BAD_PARAM, WHY_QP_RENDEZVOUS);
	assert_refused(create_qp(QPT_RC, num, true, 2, &qpn), ST_BAD_PARAM,
		       WHY_QP_FIELD_NOT_OFFERED);
	assert_int_equal(create_qp(QPT_RC, num, true, 1, &qpn), ST_OK);
	assert_true(qp_find(rig.hca, qpn)->rndv);
	srq->kind = SRQ_RMP;
	assert_refused(create_qp(QPT_RC, num, true, 1, &qpn), ST_BAD_PARAM, WHY_QP_RENDEZVOUS);
	srq->kind = SRQ_XRQ;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], rndv_offload_rc, 0);
	assert_refused(create_qp(QPT_RC, num, true, 1, &qpn), ST_BAD_PARAM,
		       WHY_QP_FIELD_NOT_OFFERED);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], tag_matching, 0);
	assert_refused(create_qp(QPT_RC, num, true, 1, &qpn), ST_BAD_PARAM,
		       WHY_QP_FIELD_NOT_OFFERED);
}

/* ---- the list -------------------------------------------------------------------------------- */

static const struct tm_buffer buffer = { .addr = 0x1000, .len = 64, .lkey = 7 };

static void tags_match_in_the_order_of_appends(void **state)
{
	struct tm_list *l = tm_list_new(2, 3);
	struct tm_entry *e;

	(void)state;
	assert_int_equal(tm_append(l, 1, 0x10, 0xf0, &buffer), TM_APPENDED);
	assert_int_equal(tm_append(l, 0, 0x12, 0xff, &buffer), TM_APPENDED);
	assert_int_equal(tm_append(l, 2, 0, 0, &buffer), TM_APPENDED);
	e = tm_match(l, 0x12);
	assert_ptr_equal(e, &l->entry[3]);
	assert_int_equal(tm_hold(l, e), 3);
	assert_ptr_equal(tm_match(l, 0x12), &l->entry[1]);
	assert_ptr_equal(tm_match(l, 0x22), &l->entry[0]);
	assert_int_equal(e->buf.len, 64);
	tm_list_free(l);
}

static void an_append_names_the_entry_of_the_next(void **state)
{
	struct tm_list *l = tm_list_new(2, 0);

	(void)state;
	assert_int_equal(tm_append(l, 4, 1, ~0ull, &buffer), TM_BAD_INDEX);
	assert_int_equal(tm_append(l, 0, 1, ~0ull, &buffer), TM_BAD_INDEX);
	assert_null(tm_match(l, 1));
	assert_int_equal(tm_append(l, 1, 1, ~0ull, &buffer), TM_APPENDED);
	assert_int_equal(tm_append(l, 0, 2, ~0ull, &buffer), TM_APPENDED);
	assert_int_equal(tm_append(l, 2, 3, ~0ull, &buffer), TM_IN_USE);
	assert_int_equal(l->append, 0);
	assert_true(tm_remove(l, 0));
	assert_int_equal(tm_append(l, 2, 3, ~0ull, &buffer), TM_APPENDED);
	tm_list_free(l);
}

static void a_tag_that_was_matched_cannot_be_removed(void **state)
{
	struct tm_list *l = tm_list_new(2, 0);

	(void)state;
	assert_int_equal(tm_append(l, 1, 1, ~0ull, &buffer), TM_APPENDED);
	tm_hold(l, tm_match(l, 1));
	assert_false(tm_remove(l, 0));
	assert_int_equal(tm_append(l, 0, 1, ~0ull, &buffer), TM_APPENDED);
	assert_int_equal(tm_append(l, 1, 1, ~0ull, &buffer), TM_IN_USE);
	tm_release(l, 0);
	assert_int_equal(tm_append(l, 2, 5, ~0ull, &buffer), TM_APPENDED);
	assert_false(tm_remove(l, 3));
	assert_false(tm_remove(l, 4));
	tm_list_free(l);
}

static void new_tags_wait_until_software_has_caught_up(void **state)
{
	struct tm_list *l = tm_list_new(2, 0);

	(void)state;
	assert_int_equal(tm_append(l, 1, 1, ~0ull, &buffer), TM_APPENDED);
	tm_unexpected(l);
	tm_unexpected(l);
	assert_int_equal(tm_append(l, 2, 2, ~0ull, &buffer), TM_APPENDED);
	assert_non_null(tm_match(l, 1));
	assert_null(tm_match(l, 2));
	tm_sync(l, 1);
	assert_null(tm_match(l, 2));
	tm_sync(l, 2);
	assert_ptr_equal(tm_match(l, 2), &l->entry[1]);
	tm_sync(l, 1);
	assert_int_equal(tm_append(l, 3, 3, ~0ull, &buffer), TM_APPENDED);
	assert_true(tm_remove(l, 2));	/* while it waits */
	tm_sync(l, 2);
	assert_null(tm_match(l, 3));
	tm_list_free(l);
}

static void counts_of_unexpected_messages_wrap(void **state)
{
	struct tm_list *l = tm_list_new(1, 0);

	(void)state;
	l->hw_phase = 0xffff;
	tm_unexpected(l);
	assert_int_equal(l->hw_phase, 0);
	assert_int_equal(tm_append(l, 1, 1, ~0ull, &buffer), TM_APPENDED);
	assert_non_null(tm_match(l, 1));
	tm_list_free(l);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(contexts_are_checked), T(the_largest_values_are_accepted),
		T(what_the_capabilities_lack_is_refused), T(objects_of_other_users_are_refused),
		T(query_shows_the_queue_and_its_list), T(arming_raises_the_event_below_the_limit),
		T(commands_are_for_xrqs_only), T(the_cq_lives_as_long_as_the_queue),
		T(only_rc_queue_pairs_use_an_xrq), T(data_in_cqes_needs_long_cqes_of_the_xrq),
		T(rendezvous_needs_a_send_queue_of_the_hca),
		cmocka_unit_test(tags_match_in_the_order_of_appends),
		cmocka_unit_test(an_append_names_the_entry_of_the_next),
		cmocka_unit_test(a_tag_that_was_matched_cannot_be_removed),
		cmocka_unit_test(new_tags_wait_until_software_has_caught_up),
		cmocka_unit_test(counts_of_unexpected_messages_wrap),
	};

	return cmocka_run_group_tests_name("xrq", tests, NULL, NULL);
}
