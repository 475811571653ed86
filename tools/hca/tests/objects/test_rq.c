// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues without a queue pair: what their context must not contain, what they refer to,
 * their states, and how receive WQEs are read.
 */
#include <errno.h>
#include <string.h>

#include "caps.h"
#include "mkey.h"
#include "nicrig.h"
#include "objrig.h"
#include "profile.h"
#include "rq.h"
#include "util.h"

#define RQ_FIELD(fld) IFC_FIELD(rqc, fld)
#define WQ_FIELD(fld) { IFC_OFF(rqc, wq.fld), IFC_BITS(wq, fld), "wq." #fld }

static uint32_t new_rq(void)
{
	nicrig_rq();
	return nicrig_new(MLX5_CMD_OP_CREATE_RQ);
}

static uint8_t modify(uint32_t rqn, unsigned int from, unsigned int to, uint64_t mask)
{
	IFC_SET(modify_rq_in, nic.in, rqn, rqn);
	IFC_SET(modify_rq_in, nic.in, rq_state, from);
	IFC_SET64(modify_rq_in, nic.in, modify_bitmask, mask);
	IFC_SET(modify_rq_in, nic.in, ctx.state, to);
	return nicrig_run(MLX5_CMD_OP_MODIFY_RQ, NIC_UID);
}

static uint8_t move(uint32_t rqn, unsigned int from, unsigned int to)
{
	memset(nic.in, 0, sizeof(nic.in));
	return modify(rqn, from, to, 0);
}

static struct rq *ready_rq(void)
{
	uint32_t rqn = new_rq();

	assert_int_equal(move(rqn, RQ_RST, RQ_RDY), ST_OK);
	return rq_find(rig.hca, rqn);
}

/* ---- the context ----------------------------------------------------------------------------- */

static void contexts_are_checked(void **state)
{
	static const struct nicrig_bad bad[] = {
		{ RQ_FIELD(state), 1, ST_BAD_PARAM, WHY_RQ_STATE },
		{ WQ_FIELD(wq_type), 0, ST_BAD_PARAM, WHY_RQ_WQ_TYPE },
		{ WQ_FIELD(wq_type), 2, ST_BAD_PARAM, WHY_RQ_WQ_TYPE },
		{ WQ_FIELD(log_wq_stride), 3, ST_BAD_PARAM, WHY_RQ_STRIDE },
		{ WQ_FIELD(log_wq_stride), 10, ST_BAD_PARAM, WHY_RQ_STRIDE },
		{ WQ_FIELD(log_wq_sz), 11, ST_BAD_PARAM, WHY_RQ_SIZE },
		{ WQ_FIELD(end_padding_mode), 2, ST_BAD_PARAM, WHY_RQ_PADDING },
		{ RQ_FIELD(rlky), 1, ST_BAD_PARAM, WHY_RQ_PRIVILEGED },
		{ RQ_FIELD(ts_format), 2, ST_BAD_PARAM, WHY_RQ_TIMESTAMP_FORMAT },
		{ RQ_FIELD(ts_format), 3, ST_BAD_PARAM, WHY_RQ_TIMESTAMP_FORMAT },
		{ RQ_FIELD(cqn), 0x999, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ WQ_FIELD(pd), 0, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ RQ_FIELD(counter_set_id), 0x99, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ WQ_FIELD(dbr_addr), 4, ST_BAD_PARAM, WHY_DBR_MISALIGNED },
		{ WQ_FIELD(log_wq_pg_sz), 31, ST_BAD_PARAM, WHY_QUEUE_PAGE_SIZE },
	};

	(void)state;
	nicrig_refuses(MLX5_CMD_OP_CREATE_RQ, nicrig_rq, bad, ARRAY_SIZE(bad));
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], max_wqe_sz_rq, 32);
	nicrig_rq();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_RQ, NIC_UID), ST_BAD_PARAM, WHY_RQ_STRIDE);
}

static void features_must_be_offered(void **state)
{
	static const struct ifc_field fields[] = {
		RQ_FIELD(delay_drop_en), RQ_FIELD(scatter_fcs), RQ_FIELD(mem_rq_type),
		RQ_FIELD(hairpin), RQ_FIELD(rmpn), RQ_FIELD(hairpin_peer_sq),
		RQ_FIELD(hairpin_peer_vhca), RQ_FIELD(shampo_no_match_alignment_granularity),
		RQ_FIELD(shampo_match_criteria_type), RQ_FIELD(reservation_timeout),
		WQ_FIELD(wq_signature), WQ_FIELD(cd_slave), WQ_FIELD(hds_skip_first_sge),
		WQ_FIELD(log2_hds_buf_size), WQ_FIELD(lwm), WQ_FIELD(log_hairpin_num_packets),
		WQ_FIELD(log_hairpin_data_sz), WQ_FIELD(log_wqe_num_of_strides),
		WQ_FIELD(two_byte_shift_en), WQ_FIELD(log_wqe_stride_size),
		WQ_FIELD(headers_mkey), WQ_FIELD(shampo_enable),
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		ifc_set_bits(nicrig_rq(), fields[i].off, fields[i].width, 1);
		assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_RQ, NIC_UID), ST_BAD_PARAM,
			       WHY_RQ_FIELD_NOT_OFFERED);
		assert_non_null(strstr(rig.why, fields[i].name));
	}
	IFC_SET(per_protocol_networking_offload_caps, rig.hca->cap[CAP_ETH], scatter_fcs, 1);
	IFC_SET(rqc, nicrig_rq(), scatter_fcs, 1);
	assert_int_equal(nicrig_run(MLX5_CMD_OP_CREATE_RQ, NIC_UID), ST_OK);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], cqe_version, 0);
	IFC_SET(rqc, nicrig_rq(), user_index, 1);
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_RQ, NIC_UID), ST_BAD_PARAM,
		       WHY_RQ_USER_INDEX);
}

static void the_kernel_may_use_the_reserved_key(void **state)
{
	(void)state;
	IFC_SET(rqc, nicrig_rq(), rlky, 1);
	assert_int_equal(nicrig_run(MLX5_CMD_OP_CREATE_RQ, 0), ST_OK);
	assert_true(rq_find(rig.hca, IFC_GET(create_rq_out, nic.out, rqn))->rlky);
}

static void numbers_are_limited(void **state)
{
	(void)state;
	rig.profile->range[OBJ_RQ].limit = rig.profile->range[OBJ_RQ].first + 1;
	new_rq();
	nicrig_rq();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_RQ, NIC_UID), ST_LIM, WHY_NUMBERS_IN_USE);
	assert_int_equal(obj_find(rig.hca, OBJ_CQ, nic.cqn)->refs, 1);
}

static void queue_keeps_what_it_names(void **state)
{
	const struct obj *pd = obj_find(rig.hca, OBJ_PD, nic.pdn);
	const struct obj *cq = obj_find(rig.hca, OBJ_CQ, nic.cqn);
	uint32_t rqn = new_rq();

	(void)state;
	assert_int_equal(pd->refs, 1);
	assert_int_equal(cq->refs, 1);
	assert_refused(nicrig_num(MLX5_CMD_OP_DESTROY_CQ, NIC_UID, nic.cqn), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	assert_refused(nicrig_num(MLX5_CMD_OP_DESTROY_RQ, OTHER_UID, rqn), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	assert_int_equal(nic.gone, 0);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_DESTROY_RQ, NIC_UID, rqn), ST_OK);
	assert_int_equal(nic.gone, 1);
	assert_int_equal(nic.told, rqn);
	assert_int_equal(pd->refs, 0);
	assert_int_equal(cq->refs, 0);
}

static void objects_of_others_are_refused(void **state)
{
	(void)state;
	nicrig_rq();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_RQ, OTHER_UID), ST_BAD_RES, WHY_OBJECT_OWNER);
	rig_give(OBJ_PD, nic.pdn, OTHER_UID);
	nicrig_rq();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_RQ, OTHER_UID), ST_BAD_RES, WHY_OBJECT_OWNER);
	rig_give(OBJ_CQ, nic.cqn, OTHER_UID);
	nicrig_rq();
	assert_int_equal(nicrig_run(MLX5_CMD_OP_CREATE_RQ, OTHER_UID), ST_OK);
}

/* ---- states ---------------------------------------------------------------------------------- */

static void states_follow_each_other(void **state)
{
	static const struct { int from, to; uint8_t status; } moves[] = {
		{ RQ_RDY, RQ_RST, ST_BAD_RES_STATE },	/* it is in RST */
		{ RQ_RST, 2, ST_BAD_RES_STATE },	/* no such state */
		{ RQ_RST, RQ_RDY, ST_OK }, { RQ_RDY, RQ_RDY, ST_OK }, { RQ_RDY, RQ_ERR, ST_OK },
		{ RQ_ERR, RQ_RDY, ST_BAD_RES_STATE }, { RQ_ERR, RQ_RST, ST_OK },
		{ RQ_RST, RQ_ERR, ST_OK }, { RQ_ERR, RQ_RST, ST_OK }, { RQ_RST, RQ_RDY, ST_OK },
		{ RQ_RDY, RQ_RST, ST_OK },
	};
	uint32_t rqn = new_rq();
	unsigned int i, told = 0;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(moves); i++) {
		assert_int_equal(move(rqn, moves[i].from, moves[i].to), moves[i].status);
		if (moves[i].status) {
			assert_int_equal(rig.syndrome, WHY_RQ_STATE);
		} else {
			assert_int_equal(nicrig_num(MLX5_CMD_OP_QUERY_RQ, NIC_UID, rqn), ST_OK);
			assert_int_equal(IFC_GET(query_rq_out, nic.out, rq_context.state),
					 moves[i].to);
		}
		told += !moves[i].status && moves[i].from != moves[i].to;
		assert_int_equal(nic.states, told);
		if (told && !moves[i].status)
			assert_int_equal(nic.now, moves[i].to);
	}
}

static void tag_stripping_and_counter_can_be_modified(void **state)
{
	uint8_t in[16] = {}, out[16];
	uint32_t rqn = new_rq(), set;
	struct rq *rq = rq_find(rig.hca, rqn);

	(void)state;
	assert_int_equal(rig_cmd(MLX5_CMD_OP_ALLOC_Q_COUNTER, 0, NIC_UID, in, 16, out, 16), ST_OK);
	set = IFC_GET(alloc_q_counter_out, out, counter_set_id);
	assert_false(rq->vsd || rq->counter_set);
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(modify_rq_in, nic.in, ctx.vsd, 1);
	IFC_SET(modify_rq_in, nic.in, ctx.counter_set_id, set);
	assert_int_equal(modify(rqn, RQ_RST, RQ_RDY, 1 << 3), ST_OK);
	assert_true(!rq->vsd && rq->counter_set == set);
	IFC_SET(modify_rq_in, nic.in, ctx.counter_set_id, 0);
	assert_int_equal(modify(rqn, RQ_RDY, RQ_RDY, 1 << 1), ST_OK);
	assert_true(rq->vsd && rq->counter_set == set);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_QUERY_RQ, NIC_UID, rqn), ST_OK);
	assert_int_equal(IFC_GET(query_rq_out, nic.out, rq_context.vsd), 1);
	assert_int_equal(IFC_GET(query_rq_out, nic.out, rq_context.counter_set_id), set);
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(modify_rq_in, nic.in, ctx.counter_set_id, set + 1);
	assert_refused(modify(rqn, RQ_RDY, RQ_RDY, 1 << 3), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_refused(modify(rqn, RQ_RDY, RQ_RDY, 1 << 2), ST_BAD_PARAM, WHY_RQ_MODIFY_MASK);
	assert_refused(modify(rqn, RQ_RDY, RQ_RDY, 1 << 4), ST_BAD_PARAM, WHY_RQ_MODIFY_MASK);
	IFC_SET(per_protocol_networking_offload_caps, rig.hca->cap[CAP_ETH], scatter_fcs, 1);
	IFC_SET(modify_rq_in, nic.in, ctx.scatter_fcs, 1);
	assert_int_equal(modify(rqn, RQ_RDY, RQ_RDY, 1 << 2), ST_OK);
	assert_true(rq->scatter_fcs && rq->vsd);
	assert_int_equal(rq->counter_set, set);
}

/* ---- WQEs ------------------------------------------------------------------------------------ */

static void put_entry(unsigned int wqe, unsigned int i, uint32_t len, uint32_t lkey, uint64_t addr)
{
	uint8_t *e = ram(NIC_RING + (wqe << NIC_LOG_STRIDE) + 16 * i);

	put_be32(e, len);
	put_be32(e + 4, lkey);
	put_be64(e + 8, addr);
}

static void post(uint32_t count)
{
	put_be32(ram(NIC_DBR), count);
}

static void wqes_are_read_in_ring_order(void **state)
{
	struct rq *rq = ready_rq();
	struct rq_wqe w;
	unsigned int i;

	(void)state;
	assert_int_equal(rq_peek(rig.hca, rq, &w), -ENOENT);
	for (i = 0; i < 8; i++) {
		put_entry(i, 0, 0x80000000 | (100 + i), 0x1234, 0x10000 + i);
		put_entry(i, 1, 28, 0x1234, 0x20000);
		put_entry(i, 2, 0, MKEY_TERM_SCATTER, 0);
		put_entry(i, 3, 99, 0x1234, 0x30000);	/* behind the end */
	}
	for (i = 0; i < 20; i++) {
		post(i + 1);
		assert_int_equal(rq_peek(rig.hca, rq, &w), 0);
		assert_int_equal(w.index, i);
		assert_int_equal(w.n, 2);
		assert_int_equal(w.len, 128 + i % 8);
		assert_int_equal(w.entry[0].len, 100 + i % 8);	/* without the padding bit */
		assert_int_equal(w.entry[0].addr, 0x10000 + i % 8);
		assert_int_equal(w.entry[0].lkey, 0x1234);
		assert_int_equal(w.entry[1].len, 28);
		assert_int_equal(rq_peek(rig.hca, rq, &w), 0);	/* it is not consumed */
		rq_consume(rq);
		assert_int_equal(rq_peek(rig.hca, rq, &w), -ENOENT);
	}
}

static void list_ends_with_the_stride(void **state)
{
	struct rq *rq = ready_rq();
	struct rq_wqe w;
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++)
		put_entry(0, i, i == 1 ? 0 : 10, 1, 0);	/* 0 bytes of another key end nothing */
	put_entry(1, 0, 77, 1, 0);
	post(1);
	assert_int_equal(rq_peek(rig.hca, rq, &w), 0);
	assert_int_equal(w.n, 4);
	assert_int_equal(w.len, 30);
}

static void counter_wraps(void **state)
{
	struct rq *rq = ready_rq();
	struct rq_wqe w;

	(void)state;
	rq->hw = 0xffff;
	post(0x10000);
	assert_int_equal(rq_peek(rig.hca, rq, &w), 0);
	assert_int_equal(w.index, 0xffff);
	rq_consume(rq);
	assert_int_equal(rq->hw, 0);
	assert_int_equal(rq_peek(rig.hca, rq, &w), -ENOENT);
}

static void record_beyond_the_queue_is_an_error(void **state)
{
	struct rq *rq = ready_rq();
	struct rq_wqe w;

	(void)state;
	post(8);
	assert_int_equal(rq_peek(rig.hca, rq, &w), 0);
	post(9);
	rig_clear();
	assert_int_equal(rq_peek(rig.hca, rq, &w), -EFAULT);
	assert_int_equal(rq->state, RQ_ERR);
	assert_int_equal(nic.now, RQ_ERR);
	assert_int_equal(rig.nev, 1);
	assert_int_equal(rig.ev[0].type, EV_WQ_CATAS_ERROR);
	assert_int_equal(rig.ev[0].data[20], 1);
	assert_int_equal(get_be32(rig.ev[0].data + 24), rq->obj.num);
	rq_fail(rig.hca, rq);		/* in ERR already */
	assert_int_equal(rig.nev, 1);
}

/* The queue that receives what no queue should get: one WQE, which is never posted. */
static void queue_of_one_wqe_drops_all(void **state)
{
	uint8_t *c = nicrig_rq();
	struct rq_wqe w;
	uint32_t rqn;

	(void)state;
	IFC_SET(rqc, c, wq.log_wq_sz, 0);
	IFC_SET(rqc, c, wq.log_wq_stride, 4);
	IFC_SET(rqc, c, wq.pd, 0);
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_RQ, NIC_UID), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_int_equal(nicrig_run(MLX5_CMD_OP_CREATE_RQ, 0), ST_OK);
	rqn = IFC_GET(create_rq_out, nic.out, rqn);
	assert_int_equal(rq_find(rig.hca, rqn)->pdn, 0);
	rig_give(OBJ_RQ, rqn, NIC_UID);
	IFC_SET(rqc, c, wq.log_wq_sz, 1);
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_RQ, 0), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_int_equal(move(rqn, RQ_RST, RQ_RDY), ST_OK);
	assert_int_equal(rq_peek(rig.hca, rq_find(rig.hca, rqn), &w), -ENOENT);
	post(1);
	put_entry(0, 0, 10, 1, 0);
	assert_int_equal(rq_peek(rig.hca, rq_find(rig.hca, rqn), &w), 0);
	assert_int_equal(w.n, 1);
}

static void reset_starts_the_ring_again(void **state)
{
	struct rq *rq = ready_rq();

	(void)state;
	post(3);
	rq_consume(rq);
	rq_consume(rq);
	assert_int_equal(move(rq->obj.num, RQ_RDY, RQ_RST), ST_OK);
	assert_int_equal(rq->hw, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, nicrig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(contexts_are_checked), T(features_must_be_offered),
		T(the_kernel_may_use_the_reserved_key), T(numbers_are_limited),
		T(queue_keeps_what_it_names), T(objects_of_others_are_refused),
		T(states_follow_each_other), T(tag_stripping_and_counter_can_be_modified),
		T(wqes_are_read_in_ring_order), T(list_ends_with_the_stride), T(counter_wraps),
		T(record_beyond_the_queue_is_an_error), T(queue_of_one_wqe_drops_all),
		T(reset_starts_the_ring_again),
	};

	return cmocka_run_group_tests_name("rq", tests, NULL, NULL);
}
