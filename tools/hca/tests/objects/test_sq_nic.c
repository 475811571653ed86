// SPDX-License-Identifier: GPL-2.0
/*
 * Send queues of a NIC: the TIS that they name, headers in their WQEs, and what the NIC is told of
 * their states. test_sq.c has what they share with the send queues of an InfiniBand port.
 */
#include <string.h>

#include "caps.h"
#include "nicrig.h"
#include "objrig.h"
#include "profile.h"
#include "sq.h"
#include "util.h"

#define SQ_BUF	(RAM_BASE + 0x40000)
#define SQ_DBR	(RAM_BASE + 0x50000)
#define SQ_FIELD(fld) IFC_FIELD(sqc, fld)

static uint32_t tisn;

static int setup(void **state)
{
	nicrig_setup(state);
	nicrig_tis();
	tisn = nicrig_new(MLX5_CMD_OP_CREATE_TIS);
	return 0;
}

static uint8_t *good(void)
{
	uint8_t *c = IFC_ADDR(create_sq_in, nic.in, ctx), *wq = IFC_ADDR(sqc, c, wq);

	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(sqc, c, cqn, nic.cqn);
	IFC_SET(sqc, c, tis_lst_sz, 1);
	IFC_SET(sqc, c, tis_num_0, tisn);
	IFC_SET(sqc, c, flush_in_error_en, 1);
	IFC_SET(wq, wq, wq_type, 1);
	IFC_SET(wq, wq, log_wq_stride, 6);
	IFC_SET(wq, wq, log_wq_sz, 4);
	IFC_SET(wq, wq, pd, nic.pdn);
	IFC_SET(wq, wq, uar_page, nic.uar);
	IFC_SET64(wq, wq, dbr_addr, SQ_DBR);
	put_be64(IFC_ADDR(wq, wq, pas), SQ_BUF);
	return c;
}

static struct sq *new_sq(void)
{
	return sq_find(rig.hca, nicrig_new(MLX5_CMD_OP_CREATE_SQ));
}

static uint8_t move(uint32_t sqn, unsigned int from, unsigned int to)
{
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(modify_sq_in, nic.in, sqn, sqn);
	IFC_SET(modify_sq_in, nic.in, sq_state, from);
	IFC_SET(modify_sq_in, nic.in, ctx.state, to);
	return nicrig_run(MLX5_CMD_OP_MODIFY_SQ, NIC_UID);
}

static void contexts_are_checked(void **state)
{
	static const struct nicrig_bad bad[] = {
		{ SQ_FIELD(tis_lst_sz), 2, ST_BAD_PARAM, WHY_SQ_TIS_LIST },
		{ SQ_FIELD(tis_lst_sz), 0, ST_BAD_PARAM, WHY_SQ_TIS_LIST },
		{ SQ_FIELD(tis_num_0), 0, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ SQ_FIELD(tis_num_0), 0x999, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ SQ_FIELD(hairpin), 1, ST_BAD_PARAM, WHY_SQ_TIS_NOT_OFFERED },
		{ SQ_FIELD(min_wqe_inline_mode), 4, ST_BAD_PARAM, WHY_SQ_INLINE_MODE },
		{ SQ_FIELD(allow_swp), 1, ST_BAD_PARAM, WHY_SQ_FIELD_NOT_OFFERED },
		{ SQ_FIELD(allow_multi_pkt_send_wqe), 1, ST_BAD_PARAM, WHY_SQ_FIELD_NOT_OFFERED },
	};

	(void)state;
	nicrig_refuses(MLX5_CMD_OP_CREATE_SQ, good, bad, ARRAY_SIZE(bad));
	IFC_SET(per_protocol_networking_offload_caps, rig.hca->cap[CAP_ETH],
		enhanced_multi_pkt_send_wqe, 1);
	IFC_SET(sqc, good(), allow_multi_pkt_send_wqe, 1);
	assert_int_equal(nicrig_run(MLX5_CMD_OP_CREATE_SQ, NIC_UID), ST_OK);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], eth_net_offloads, 0);
	good();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_SQ, NIC_UID), ST_BAD_PARAM,
		       WHY_SQ_FIELD_NOT_OFFERED);
}

static void a_queue_keeps_its_tis(void **state)
{
	struct sq *sq;

	(void)state;
	good();
	sq = new_sq();
	assert_int_equal(sq->tisn, tisn);
	assert_true(sq->flush_in_error);
	assert_refused(nicrig_num(MLX5_CMD_OP_DESTROY_TIS, NIC_UID, tisn), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_DESTROY_SQ, NIC_UID, sq->obj.num), ST_OK);
	assert_int_equal(nic.gone, 1);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_DESTROY_TIS, NIC_UID, tisn), ST_OK);
}

/* The queue on which a driver posts NOPs, to make the HCA raise an interrupt. */
static void a_queue_without_tis_sends_nothing(void **state)
{
	uint8_t *c = good();

	(void)state;
	IFC_SET(sqc, c, tis_lst_sz, 0);
	IFC_SET(sqc, c, tis_num_0, 0);
	assert_int_equal(new_sq()->tisn, 0);
	assert_int_equal(obj_find(rig.hca, OBJ_TIS, tisn)->refs, 0);
}

static void the_tis_is_the_users_own(void **state)
{
	(void)state;
	rig_give(OBJ_TIS, tisn, OTHER_UID);
	good();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_SQ, NIC_UID), ST_BAD_RES, WHY_OBJECT_OWNER);
}

static void inline_mode_follows_context_and_capability(void **state)
{
	uint8_t *cap = rig.hca->cap[CAP_ETH];

	(void)state;
	good();
	assert_int_equal(new_sq()->inline_mode, INLINE_NONE);
	IFC_SET(sqc, good(), min_wqe_inline_mode, INLINE_TCP_UDP);
	assert_int_equal(new_sq()->inline_mode, INLINE_TCP_UDP);
	IFC_SET(per_protocol_networking_offload_caps, cap, wqe_inline_mode, 0);
	good();
	assert_int_equal(new_sq()->inline_mode, INLINE_L2);
	IFC_SET(sqc, good(), min_wqe_inline_mode, INLINE_IP);
	assert_int_equal(new_sq()->inline_mode, INLINE_IP);
}

static void the_nic_is_told_of_states(void **state)
{
	struct sq *sq;

	(void)state;
	good();
	sq = new_sq();
	assert_int_equal(move(sq->obj.num, SQ_RST, SQ_RDY), ST_OK);
	assert_true(nic.states == 1 && nic.old == SQ_RST && nic.now == SQ_RDY);
	assert_int_equal(move(sq->obj.num, SQ_RDY, SQ_RDY), ST_OK);
	assert_int_equal(nic.states, 1);
	sq->hw = 7;
	rig_clear();
	sq_fail(rig.hca, sq);
	assert_true(nic.states == 2 && nic.told == sq->obj.num && nic.now == SQ_ERR);
	assert_int_equal(rig.nev, 1);
	sq_fail(rig.hca, sq);		/* in ERR already */
	assert_int_equal(rig.nev, 1);
	assert_int_equal(sq->hw, 7);
	assert_refused(move(sq->obj.num, SQ_ERR, SQ_RDY), ST_BAD_RES_STATE, WHY_SQ_STATE);
	assert_int_equal(move(sq->obj.num, SQ_ERR, SQ_RST), ST_OK);
	assert_true(nic.states == 3 && nic.now == SQ_RST && !sq->hw);
	assert_int_equal(move(sq->obj.num, SQ_RST, SQ_RDY), ST_OK);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(contexts_are_checked), T(a_queue_keeps_its_tis),
		T(a_queue_without_tis_sends_nothing), T(the_tis_is_the_users_own),
		T(inline_mode_follows_context_and_capability), T(the_nic_is_told_of_states),
	};

	return cmocka_run_group_tests_name("sq_nic", tests, NULL, NULL);
}
