// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: layout and ownership of CQEs, arming, moderation, overrun,
 * resizing, and what CREATE_CQ has to refuse.
 */
#include <event2/event.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "cmd.h"
#include "count.h"
#include "cq.h"
#include "eq.h"
#include "ifc.h"
#include "inject.h"
#include "objrig.h"
#include "profile.h"
#include "trace.h"
#include "tracerig.h"
#include "util.h"

#define BUF	(RAM_BASE + 0x10000)
#define BUF2	(RAM_BASE + 0x40000)
#define DBR	(RAM_BASE + 0x100)
#define LOG	2		/* 4 CQEs */

static uint32_t uar, eqn, cqn;

static int setup(void **state)
{
	rig_setup(state);
	uar = rig_uar(0);
	eqn = rig_eq();
	cqn = rig_cq(BUF, DBR, LOG, 64, uar, eqn);
	return 0;
}

static void put(uint16_t wqe, bool solicited)
{
	struct completion c = { .opcode = 2, .qpn = 0x42, .wqe_counter = wqe,
				.solicited = solicited };

	cq_complete_now(rig.hca, cqn, &c);
}

static const uint8_t *cqe(unsigned int slot)
{
	return ram(BUF + 64 * slot);
}

static void consumer(uint32_t ci)
{
	put_be32(ram(DBR), ci);
}

static void arm(uint8_t sn, bool sol, uint32_t ci)
{
	uint64_t word = (uint64_t)sn << 28 | (sol ? CQ_DB_NOT_SOL : 0) | ci;

	put_be32(ram(DBR + 4), word);
	cq_arm_doorbell(rig.hca, uar, word << 32 | cqn);
}

static uint8_t modify(uint16_t op_mod, uint32_t select, const uint8_t *cqc, uint64_t buf)
{
	uint8_t in[IFC_BYTE(modify_cq_in, pas) + 8] = {}, out[IFC_SZ(modify_cq_out)];

	IFC_SET(modify_cq_in, in, cqn, cqn);
	put_be32(IFC_ADDR(modify_cq_in, in, modify_field_select_resize_field_select), select);
	memcpy(IFC_ADDR(modify_cq_in, in, cq_context), cqc, CQC_BYTES);
	put_be64(IFC_ADDR(modify_cq_in, in, pas), buf);
	return rig_cmd(MLX5_CMD_OP_MODIFY_CQ, op_mod, 0, in, sizeof(in), out, sizeof(out));
}

static uint8_t moderate(uint16_t period, uint16_t count)
{
	uint8_t c[CQC_BYTES] = {};

	IFC_SET(cqc, c, cq_period, period);
	IFC_SET(cqc, c, cq_max_count, count);
	return modify(0, 3, c, 0);
}

static void test_owner_bit_changes_with_each_lap(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 10; i++) {
		consumer(i);
		put(i, false);
		assert_int_equal(cqe(i % 4)[63] & 1, i / 4 % 2);
		assert_int_equal(get_be16(cqe(i % 4) + 60), i);
	}
	assert_int_equal(rig.nev, 0);
}

static void test_cqe_fields(void **state)
{
	struct completion c = {
		.opcode = 3, .qpn = 0x123456, .wqe_counter = 0xbeef, .byte_cnt = 0x1234,
		.imm_inval_pkey = 0xcafef00d, .srqn_uidx = 0x998877, .src_qp = 0x13579b,
		.slid = 0x77,
		.sl = 5, .ml_path = 0x21, .grh = true,
	};

	(void)state;
	cq_complete_now(rig.hca, cqn, &c);
	assert_int_equal(cqe(0)[17], 0x21);
	assert_int_equal(get_be16(cqe(0) + 22), 0x77);
	assert_int_equal(get_be32(cqe(0) + 24), 0x1513579b);
	assert_int_equal(get_be32(cqe(0) + 32), 0x998877);
	assert_int_equal(get_be32(cqe(0) + 36), 0xcafef00d);
	assert_int_equal(get_be32(cqe(0) + 44), 0x1234);
	assert_int_equal(get_be32(cqe(0) + 56), 0x123456);
	assert_int_equal(get_be16(cqe(0) + 60), 0xbeef);
	assert_int_equal(cqe(0)[63], 3 << 4);
}

/* A CQE that is lost, and a doorbell that is dropped, are not counted. */
static void test_cqes_and_doorbells_are_counted(void **state)
{
	const struct completion error = { .opcode = 14, .error = ERR_FLUSHED };
	const struct counters *c = &rig.hca->count;

	(void)state;
	put(0, false);
	cq_complete_now(rig.hca, cqn, &error);
	assert_int_equal(c->cqes, 2);
	assert_int_equal(c->cqes_err, 1);
	arm(0, false, 2);
	arm(1, true, 2);
	cq_arm_doorbell(rig.hca, uar + 1, cqn);
	assert_int_equal(c->db_cq, 2);
	put(2, false);
	put(3, false);
	put(4, false);		/* the queue has room for four CQEs */
	assert_int_equal(c->cqes, 4);
}

static uint64_t time_of_cqe(const struct completion *c)
{
	cq_complete_now(rig.hca, cqn, c);
	return get_be64(cqe(cq_find(rig.hca, cqn)->pi - 1) + 48);
}

static uint64_t real_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec << 32 | now.tv_nsec;
}

/* The time is that of the device's clock or, in seconds and nanoseconds, that of the machine. */
static void test_cqe_has_its_time(void **state)
{
	struct completion c = { .opcode = 2 };
	uint64_t before = hca_clock(rig.hca), at = time_of_cqe(&c);

	(void)state;
	assert_true(before <= at && at <= hca_clock(rig.hca));
	c.real_time = true;
	before = real_time();
	at = time_of_cqe(&c);
	assert_true(before <= at && at <= real_time());
}

/*
 * The syndromes of all errors are at their offsets, with the WQE's opcode beside the QPN. The bit
 * of solicited events (0x02) is set.
 */
static void test_error_cqe(void **state)
{
	static const enum cqe_error errors[] = {
#define CQE_ERROR(name, synd, vendor, hw) ERR_##name,
		CQE_ERRORS(CQE_ERROR)
#undef CQE_ERROR
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		struct completion c = { .opcode = i & 1 ? 14 : 13, .error = errors[i],
					.qpn = 7, .s_wqe_opcode = 0x0a, .wqe_counter = i };

		consumer(i);
		cq_complete_now(rig.hca, cqn, &c);
		assert_int_equal(cqe(i % 4)[52], errors[i] >> 16);	/* hw_error_syndrome */
		assert_int_equal(cqe(i % 4)[53], 0);
		assert_int_equal(cqe(i % 4)[54], errors[i] >> 8 & 0xff);
		assert_int_equal(cqe(i % 4)[55], errors[i] & 0xff);
		assert_int_equal(get_be32(cqe(i % 4) + 56), 0x0a000007);
		assert_int_equal(cqe(i % 4)[63], (i & 1 ? 14 : 13) << 4 | 2 | i / 4 % 2);
	}
}

static void test_inline_scatter(void **state)
{
	uint8_t data[64];
	struct completion c = {
		.opcode = 2, .inline_data = data, .inline_len = 32, .byte_cnt = 32,
	};

	(void)state;
	memset(data, 0x5c, sizeof(data));
	cq_complete_now(rig.hca, cqn, &c);
	assert_memory_equal(cqe(0), data, 32);
	assert_int_equal(cqe(0)[63] & 0xc, 4);
	cqn = rig_cq(BUF2, DBR + 8, LOG, 128, uar, eqn);
	c.inline_len = 64;
	cq_complete_now(rig.hca, cqn, &c);
	assert_memory_equal(ram(BUF2), data, 64);
	assert_int_equal(ram(BUF2)[127] & 0xc, 8);
	assert_int_equal(ram(BUF2)[127] >> 4, 2);
}

/* The whole of a padded CQE is written, so that a cache line of memory need not be read first. */
static void test_padded_cqe(void **state)
{
	static const uint8_t zeros[64];
	uint8_t c[CQC_BYTES] = {};
	struct cq *cq;

	(void)state;
	cqn = rig_cq(BUF2, DBR + 8, LOG, 128, uar, eqn);
	cq = cq_find(rig.hca, cqn);
	memset(ram(BUF2), 0x5c, 128);
	put(0, false);
	assert_int_equal(*ram(BUF2), 0x5c);
	IFC_SET(cqc, c, log_cq_size, LOG);
	IFC_SET(cqc, c, cqe_sz, 2);
	put_be32(ram(DBR + 8), 1);
	assert_refused(modify(1, 7, c, BUF), ST_BAD_PARAM, WHY_CQ_CQE_SIZE);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], cqe_128_always, 1);
	assert_int_equal(modify(1, 7, c, BUF), ST_OK);
	assert_int_equal(cq->cqe_sz, 128);
	memset(ram(BUF), 0x5c, 128 << LOG);
	put(7, false);		/* behind the CQE that closes the old buffer */
	assert_memory_equal(ram(BUF + 2 * 128), zeros, 64);
	assert_int_equal(get_be16(ram(BUF + 2 * 128 + 64 + 60)), 7);
}

static void test_arm_then_completion(void **state)
{
	(void)state;
	put(0, false);
	assert_int_equal(rig.nev, 0);
	arm(0, false, 1);
	assert_int_equal(rig.nev, 0);
	put(1, false);
	assert_int_equal(rig.nev, 1);
	assert_false(rig.ev[0].async);
	assert_int_equal(rig.ev[0].eqn, eqn);
	assert_int_equal(get_be32(rig.ev[0].data + 24), cqn);
	put(2, false);			/* one event for each arming */
	assert_int_equal(rig.nev, 1);
}

static void test_arm_after_completion_fires_at_once(void **state)
{
	(void)state;
	put(0, false);
	arm(0, false, 0);		/* the consumer has not seen CQE 0 */
	assert_int_equal(rig.nev, 1);
}

static void test_stale_sequence_number_is_ignored(void **state)
{
	(void)state;
	arm(1, false, 0);
	put(0, false);
	assert_int_equal(rig.nev, 1);
	arm(1, false, 0);		/* sequence number 1 has had its event already */
	put(1, false);
	assert_int_equal(rig.nev, 1);
	arm(2, false, 1);
	assert_int_equal(rig.nev, 2);
}

static void test_solicited_only(void **state)
{
	struct completion err = { .opcode = 14, .error = ERR_FLUSHED };

	(void)state;
	arm(0, true, 0);
	put(0, false);
	assert_int_equal(rig.nev, 0);
	put(1, true);
	assert_int_equal(rig.nev, 1);
	arm(1, true, 2);
	consumer(2);
	put(2, false);
	assert_int_equal(rig.nev, 1);
	cq_complete_now(rig.hca, cqn, &err);	/* an error counts as solicited */
	assert_int_equal(rig.nev, 2);
}

/* Ring an arm doorbell with @word, while the doorbell record has @record. */
static void arm_unlike(uint32_t record, uint32_t word)
{
	put_be32(ram(DBR + 4), record);
	cq_arm_doorbell(rig.hca, uar, (uint64_t)word << 32 | cqn);
}

/*
 * A doorbell whose arm word is not in the record does not arm the CQ. It counts as dropped, unless
 * the record has a newer word.
 */
static void test_arm_word_is_that_of_the_record(void **state)
{
	static const struct { uint32_t record, word; bool newer; } t[] = {
		{ 0, 1, false }, { 0, 1 << 28, false }, { 5, 6, false }, { 3u << 28 | 5, 5, false },
		{ 2u << 28 | 5, 5, false }, { 6, 5, true }, { 1u << 28 | 5, 5, true },
		{ 5, 3u << 28 | 5, true }, { CQ_DB_NOT_SOL | 5, 5, true },
		{ 5, CQ_DB_NOT_SOL | 5, true }, { 0, 0xffffff, true }, { 0xffffff, 0, false },
	};
	unsigned int i, dropped = 0;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(*t); i++) {
		arm_unlike(t[i].record, t[i].word);
		dropped += !t[i].newer;
		assert_int_equal(rig.hca->count.db_drop[DROP_ARM_RECORD], dropped);
		assert_false(cq_find(rig.hca, cqn)->armed);
	}
	put(0, true);
	assert_int_equal(rig.nev, 0);
	arm(0, false, 0);
	assert_int_equal(rig.nev, 1);
}

static void test_solicited_arm_sees_earlier_cqes(void **state)
{
	(void)state;
	put(0, true);
	put(1, false);
	arm(0, true, 1);		/* the solicited CQE was consumed */
	assert_int_equal(rig.nev, 0);
	arm(0, true, 0);		/* this doorbell says that the CQE was not consumed */
	assert_int_equal(rig.nev, 1);
}

static void test_solicited_arm_does_not_replace_any(void **state)
{
	(void)state;
	arm(0, false, 0);
	arm(0, true, 0);
	put(0, false);
	assert_int_equal(rig.nev, 1);
}

static void test_invalid_doorbells_are_dropped(void **state)
{
	uint32_t other = rig_uar(0);

	(void)state;
	cq_arm_doorbell(rig.hca, other, cqn);
	assert_int_equal(rig.hca->count.db_drop[DROP_WRONG_UAR], 1);
	cq_arm_doorbell(rig.hca, uar, cqn + 1);
	assert_int_equal(rig.hca->count.db_drop[DROP_NO_CQ], 1);
	put(0, false);
	assert_int_equal(rig.nev, 0);
}

static void test_overrun(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++)
		put(i, false);
	assert_int_equal(rig.nev, 0);
	arm(0, false, 4);
	put(4, false);
	assert_int_equal(rig.nev, 1);
	assert_true(rig.ev[0].async);
	assert_int_equal(rig.ev[0].type, EV_CQ_ERROR);
	assert_int_equal(get_be32(rig.ev[0].data), cqn);
	assert_int_equal(rig.ev[0].data[11], 1);
	assert_int_equal(get_be16(cqe(0) + 60), 0);	/* not overwritten */
	assert_int_equal(cq_find(rig.hca, cqn)->status, CQ_STATUS_OVERFLOW);
	consumer(4);
	put(5, false);			/* the CQ is in error: no second event */
	assert_int_equal(rig.nev, 1);
	arm(1, false, 0);
	assert_int_equal(rig.hca->count.db_drop[DROP_BAD_STATE], 1);
}

static void test_consumer_index_makes_room(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++)
		put(i, false);
	consumer(1);
	put(4, false);
	assert_int_equal(rig.nev, 0);
	put(5, false);
	assert_int_equal(rig.nev, 1);
}

static void test_indices_wrap_at_24_bits(void **state)
{
	struct cq *cq = cq_find(rig.hca, cqn);

	(void)state;
	cq->pi = 0xfffffe;
	cq->ci = 0xfffffe;
	consumer(0xfffffe);
	arm(0, false, 0xffffff);
	put(0, false);
	assert_int_equal(rig.nev, 0 + 1);	/* armed, so that any completion raises an event */
	put(1, false);
	put(2, false);
	put(3, false);
	assert_int_equal(cq->pi, 2);
	assert_int_equal(cq->status, CQ_STATUS_OK);
	put(4, false);
	assert_int_equal(cq->status, CQ_STATUS_OVERFLOW);
}

static void test_moderation_by_count(void **state)
{
	(void)state;
	assert_int_equal(moderate(4000, 3), ST_OK);
	arm(0, false, 0);
	put(0, false);
	put(1, false);
	assert_int_equal(rig.nev, 0);
	put(2, false);
	assert_int_equal(rig.nev, 1);
}

static void test_moderation_by_time(void **state)
{
	(void)state;
	assert_int_equal(moderate(1000, 100), ST_OK);
	arm(0, false, 0);
	put(0, false);
	assert_int_equal(rig.nev, 0);
	event_base_loop(rig.hca->base, EVLOOP_ONCE);
	assert_int_equal(rig.nev, 1);
}

/* The period begins with the first completion: more of them do not put off the event. */
static void test_completions_do_not_prolong_the_period(void **state)
{
	struct timeval first, now;

	(void)state;
	assert_int_equal(moderate(4000, 100), ST_OK);
	arm(0, false, 0);
	put(0, false);
	assert_true(event_pending(cq_find(rig.hca, cqn)->timer, EV_TIMEOUT, &first));
	usleep(20000);	/* longer than a tick of the clock of timers */
	put(1, false);
	assert_true(event_pending(cq_find(rig.hca, cqn)->timer, EV_TIMEOUT, &now));
	assert_true(evutil_timercmp(&first, &now, ==));
}

/* With cq_period_mode 1 the period begins again with each completion. */
static void test_period_from_cqe_starts_again_with_each_completion(void **state)
{
	struct timeval first, now;
	uint8_t c[CQC_BYTES] = {}, *gen = rig.hca->cap[CAP_GENERAL];

	(void)state;
	IFC_SET(cmd_hca_cap, gen, cq_period_start_from_cqe, 1);
	IFC_SET(cmd_hca_cap, gen, cq_period_mode_modify, 1);
	assert_int_equal(moderate(4000, 3), ST_OK);
	IFC_SET(cqc, c, cq_period_mode, 1);
	assert_int_equal(modify(0, 1 << 4, c, 0), ST_OK);
	arm(0, false, 0);
	put(0, false);
	assert_true(event_pending(cq_find(rig.hca, cqn)->timer, EV_TIMEOUT, &first));
	usleep(20000);	/* longer than a tick of the clock of timers */
	put(1, false);
	assert_true(event_pending(cq_find(rig.hca, cqn)->timer, EV_TIMEOUT, &now));
	assert_true(evutil_timercmp(&first, &now, <));
	assert_int_equal(rig.nev, 0);
	/* The count ends the moderation as in the other mode. */
	put(2, false);
	assert_int_equal(rig.nev, 1);
}

static void test_end_of_moderation_raises_delayed_event(void **state)
{
	(void)state;
	assert_int_equal(moderate(4000, 3), ST_OK);
	arm(0, false, 0);
	put(0, false);
	assert_int_equal(moderate(0, 0), ST_OK);
	assert_int_equal(rig.nev, 1);
}

static void test_solicited_completion_can_end_moderation(void **state)
{
	(void)state;
	assert_int_equal(moderate(4000, 3), ST_OK);
	arm(0, false, 0);
	put(0, true);
	assert_int_equal(rig.nev, 0);
	cq_find(rig.hca, cqn)->sol_breaks_mod = true;
	put(1, true);
	assert_int_equal(rig.nev, 1);
}

static uint8_t remap(uint32_t to)
{
	uint8_t c[CQC_BYTES] = {};

	IFC_SET(cqc, c, c_eqn_or_apu_element, to);
	return modify(0, 8, c, 0);
}

/* The EQ that MODIFY_CQ names gets the events and the CQ's reference. */
static void test_cq_moves_to_another_eq(void **state)
{
	uint8_t in[IFC_SZ(destroy_eq_in)] = {}, out[IFC_SZ(destroy_eq_out)];
	uint32_t next = rig_eq();

	(void)state;
	assert_refused(remap(next), ST_BAD_PARAM, WHY_CQ_REMAP_NOT_OFFERED);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], cq_eq_remap, 1);
	assert_refused(remap(rig.async->obj.num), ST_BAD_RES, WHY_CQ_EQ_KIND);
	assert_refused(remap(next + 1), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_int_equal(obj_find(rig.hca, OBJ_EQ, eqn)->refs, 1);
	assert_int_equal(remap(next), ST_OK);
	arm(0, false, 0);
	put(0, false);
	assert_int_equal(rig.nev, 1);
	assert_int_equal(rig.ev[0].eqn, next);
	IFC_SET(destroy_eq_in, in, eq_number, next);
	assert_refused(rig_cmd(MLX5_CMD_OP_DESTROY_EQ, 0, 0, in, sizeof(in), out, sizeof(out)),
		       ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
	IFC_SET(destroy_eq_in, in, eq_number, eqn);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_DESTROY_EQ, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
}

static void test_moderation_needs_a_capability(void **state)
{
	uint8_t c[CQC_BYTES] = {};

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], cq_moderation, 0);
	assert_refused(moderate(1000, 3), ST_BAD_PARAM, WHY_CQ_MODERATION_NOT_OFFERED);
	assert_refused(modify(0, 1 << 5, c, 0), ST_BAD_PARAM, WHY_CQ_FIELD_SELECT);
}

static void new_size(uint8_t *c, unsigned int log)
{
	memset(c, 0, CQC_BYTES);
	IFC_SET(cqc, c, log_cq_size, log);
}

static void test_resize(void **state)
{
	uint8_t c[CQC_BYTES];

	(void)state;
	put(0, false);
	put(1, false);
	consumer(1);
	new_size(c, 4);
	assert_int_equal(modify(1, 7, c, BUF2), ST_OK);
	assert_int_equal(cqe(2)[63] >> 4, 5);		/* closes the old buffer */
	assert_int_equal(cqe(2)[63] & 1, 0);
	put(9, false);
	assert_int_equal(get_be16(ram(BUF2) + 3 * 64 + 60), 9);	/* the closing CQE used one index */
	assert_int_equal(ram(BUF2)[3 * 64 + 63] & 1, 0);
}

static void test_resize_is_refused_if_cqes_do_not_fit(void **state)
{
	uint8_t c[CQC_BYTES];

	(void)state;
	put(0, false);
	put(1, false);
	new_size(c, 1);
	assert_refused(modify(1, 7, c, BUF2), ST_BAD_SIZE_OUTS_CQES, WHY_CQ_CQES_OUTSTANDING);
	consumer(1);
	assert_int_equal(modify(1, 7, c, BUF2), ST_OK);
	consumer(3);			/* the closing CQE as well */
	new_size(c, 17);
	assert_refused(modify(1, 7, c, BUF2), ST_LIM, WHY_CQ_SIZE);
	new_size(c, 2);
	assert_refused(modify(1, 7, c, BUF2 + 64), ST_BAD_PARAM, WHY_QUEUE_PAGE_ADDRESS);
	assert_refused(modify(1, 0, c, BUF2), ST_BAD_PARAM, WHY_CQ_FIELD_SELECT);
	/* Without the size; and with a field that does not exist. */
	assert_refused(modify(1, 6, c, BUF2), ST_BAD_PARAM, WHY_CQ_FIELD_SELECT);
	assert_refused(modify(1, 7 | 16, c, BUF2), ST_BAD_PARAM, WHY_CQ_FIELD_SELECT);
	assert_refused(modify(2, 7, c, BUF2), ST_BAD_OP, WHY_OP_MOD);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], cq_resize, 0);
	assert_refused(modify(1, 7, c, BUF2), ST_BAD_PARAM, WHY_CQ_RESIZE_NOT_OFFERED);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], cq_resize, 1);
	cq_find(rig.hca, cqn)->dbr.addr = RAM_BASE + RAM_SIZE;
	assert_refused(modify(1, 7, c, BUF2), ST_BAD_RES_STATE, WHY_DBR_NOT_MAPPED);
	cq_find(rig.hca, cqn)->status = CQ_STATUS_OVERFLOW;
	assert_refused(modify(1, 7, c, BUF2), ST_BAD_RES_STATE, WHY_CQ_IN_ERROR);
}

/* Hold a completion back by 1 ms. */
static void delay_one(uint32_t to)
{
	const struct completion c = { .opcode = 2, .qpn = 0x42 };

	inject_set_cqes(rig.hca->inject, 1, 1);
	cq_complete(rig.hca, to, &c);
}

/* Wait until no completion is held back. Returns the number of CQEs of queue cqn. */
static uint32_t after_delays(void)
{
	struct timeval tv = { .tv_usec = 20000 };

	event_base_loopexit(rig.base, &tv);
	event_base_dispatch(rig.base);
	return cq_find(rig.hca, cqn)->pi;
}

/* The data of the CQE is that of the completion, not what is at the same place a while later. */
static void test_delayed_completion_keeps_its_data(void **state)
{
	uint8_t data[64], want[64];
	const struct completion c = {
		.opcode = 2, .inline_data = data, .inline_len = 64, .byte_cnt = 64,
	};

	(void)state;
	cqn = rig_cq(BUF2, DBR + 8, LOG, 128, uar, eqn);
	memset(data, 0x5c, sizeof(data));
	memcpy(want, data, sizeof(want));
	inject_set_cqes(rig.hca->inject, 1, 1);
	cq_complete(rig.hca, cqn, &c);
	memset(data, 0, sizeof(data));
	assert_int_equal(after_delays(), 1);
	assert_memory_equal(ram(BUF2), want, sizeof(want));
}

/* A completion that is held back at a reset does not reach a later CQ of the same number. */
static void test_reset_drops_delayed_completions(void **state)
{
	uint32_t old = cqn;

	(void)state;
	delay_one(cqn);
	hca_free_objects(rig.hca);
	uar = rig_uar(0);
	eqn = rig_eq();
	cqn = rig_cq(BUF, DBR, LOG, 64, uar, eqn);
	assert_int_equal(cqn, old);
	assert_int_equal(after_delays(), 0);
}

/* A delayed completion is lost if its CQ is destroyed; the completions of other CQs are written. */
static void test_destroy_drops_delayed_completions(void **state)
{
	uint32_t other = rig_cq(BUF2, DBR + 64, LOG, 64, uar, eqn), old = cqn;
	uint8_t in[IFC_SZ(destroy_cq_in)] = {}, out[IFC_SZ(destroy_cq_out)];

	(void)state;
	delay_one(cqn);
	delay_one(other);
	delay_one(cqn);
	IFC_SET(destroy_cq_in, in, cqn, cqn);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_DESTROY_CQ, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	cqn = rig_cq(BUF, DBR, LOG, 64, uar, eqn);
	assert_int_equal(cqn, old);
	assert_int_equal(after_delays(), 0);
	assert_int_equal(cq_find(rig.hca, other)->pi, 1);
}

static void test_delayed_completions_are_limited(void **state)
{
	const struct completion c = { .opcode = 2, .qpn = 0x42 };
	unsigned int i;

	(void)state;
	/* One that has been delivered no longer counts. */
	inject_set_cqes(rig.hca->inject, 1, 1);
	cq_complete(rig.hca, cqn, &c);
	assert_int_equal(after_delays(), 1);
	inject_set_cqes(rig.hca->inject, ~0u, 60000);
	for (i = 0; i < 4096; i++)
		cq_complete(rig.hca, cqn, &c);
	assert_int_equal(cq_find(rig.hca, cqn)->pi, 1);
	cq_complete(rig.hca, cqn, &c);
	assert_int_equal(cq_find(rig.hca, cqn)->pi, 2);
	inject_set_cqes(rig.hca->inject, 1, 0);		/* drop one: drops are not limited */
	cq_complete(rig.hca, cqn, &c);
	assert_int_equal(cq_find(rig.hca, cqn)->pi, 2);
}

struct create {
	uint32_t uar, eqn;
	uint64_t dbr, pa;
	unsigned int log, pg_off, sz, period_mode;
	size_t npas;
	uint16_t uid;
	bool reserved, apu, collapsed, overrun_ok;
	uint16_t bit;		/* of the context: set as well, if it is not 0 */
	uint32_t cqn;		/* of the CQ that was made */
};

static uint8_t create(struct create *p)
{
	size_t len = IFC_BYTE(create_cq_in, pas) + 8 * p->npas;
	uint8_t in[IFC_BYTE(create_cq_in, pas) + 64] = {}, out[IFC_SZ(create_cq_out)];
	uint8_t *c = IFC_ADDR(create_cq_in, in, cq_context);
	uint8_t st;
	size_t i;

	IFC_SET(cqc, c, log_cq_size, p->log);
	IFC_SET(cqc, c, cqe_sz, p->sz);
	IFC_SET(cqc, c, page_offset, p->pg_off);
	IFC_SET(cqc, c, uar_page, p->uar);
	IFC_SET(cqc, c, c_eqn_or_apu_element, p->eqn);
	IFC_SET64(cqc, c, dbr_addr, p->dbr);
	IFC_SET(cqc, c, reserved_at_e0, p->reserved);
	IFC_SET(cqc, c, cq_period_mode, p->period_mode);
	IFC_SET(cqc, c, apu_cq, p->apu);
	IFC_SET(cqc, c, cc, p->collapsed);
	IFC_SET(cqc, c, oi, p->overrun_ok);
	if (p->bit)
		ifc_set_bits(c, p->bit, 1, 1);
	for (i = 0; i < p->npas; i++)
		put_be64(IFC_ADDR(create_cq_in, in, pas) + 8 * i, p->pa + 4096 * i);
	st = rig_cmd(MLX5_CMD_OP_CREATE_CQ, 0, p->uid, in, len, out, sizeof(out));
	p->cqn = IFC_GET(create_cq_out, out, cqn);
	return st;
}

/* All CQEs of a collapsed CQ are written to slot 0, with the owner bits of their indices. */
static void test_collapsed_cq(void **state)
{
	struct create p = { .uar = uar, .eqn = eqn, .dbr = DBR, .pa = BUF2, .log = LOG, .npas = 1,
			    .collapsed = true };
	unsigned int i;

	(void)state;
	assert_int_equal(create(&p), ST_OK);
	cqn = p.cqn;
	memset(ram(BUF2), 0x5c, 64 << LOG);
	for (i = 0; i < 10; i++) {
		put(i, false);
		assert_int_equal(get_be16(ram(BUF2) + 60), i);
		assert_int_equal(ram(BUF2)[63] & 1, i / 4 % 2);
	}
	assert_int_equal(*ram(BUF2 + 64), 0x5c);
	assert_int_equal(rig.nev, 0);
	assert_int_equal(cq_find(rig.hca, cqn)->status, CQ_STATUS_OK);
}

/* The HCA does not look at the consumer index of a CQ that ignores overruns. */
static void test_overrun_can_be_ignored(void **state)
{
	struct create p = { .uar = uar, .eqn = eqn, .dbr = DBR, .pa = BUF2, .log = LOG, .npas = 1,
			    .overrun_ok = true };
	uint8_t c[CQC_BYTES] = {};
	unsigned int i;

	(void)state;
	assert_int_equal(create(&p), ST_OK);
	cqn = p.cqn;
	for (i = 0; i < 10; i++)
		put(i, false);
	assert_int_equal(get_be16(ram(BUF2) + 64 + 60), 9);
	assert_int_equal(cq_find(rig.hca, cqn)->status, CQ_STATUS_OK);
	assert_int_equal(modify(0, 4, c, 0), ST_OK);		/* clear cqc.oi */
	put(i, false);
	assert_int_equal(cq_find(rig.hca, cqn)->status, CQ_STATUS_OVERFLOW);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], cq_oi, 0);
	assert_refused(create(&p), ST_BAD_PARAM, WHY_CQ_OVERRUN_IGNORE_NOT_OFFERED);
	IFC_SET(cqc, c, oi, 1);
	assert_refused(modify(0, 4, c, 0), ST_BAD_PARAM, WHY_CQ_OVERRUN_IGNORE_NOT_OFFERED);
	IFC_SET(cqc, c, oi, 0);
	assert_int_equal(modify(0, 4, c, 0), ST_OK);
}

static void test_period_mode_needs_a_capability(void **state)
{
	struct create p = { .uar = uar, .eqn = eqn, .dbr = DBR, .pa = BUF2, .log = 6, .npas = 1 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], cq_period_start_from_cqe, i);
		p.period_mode = 1;
		assert_int_equal(create(&p), i ? ST_OK : ST_BAD_PARAM);
		assert_int_equal(rig.syndrome, i ? 0 : WHY_CQ_PERIOD_MODE);
		p.period_mode = 2;
		assert_refused(create(&p), ST_BAD_PARAM, WHY_CQ_PERIOD_MODE);
	}
}

static void test_modifying_the_period_mode_needs_a_capability(void **state)
{
	uint8_t c[CQC_BYTES] = {}, *gen = rig.hca->cap[CAP_GENERAL];
	struct cq *cq = cq_find(rig.hca, cqn);

	(void)state;
	assert_refused(modify(0, 1 << 4, c, 0), ST_BAD_PARAM, WHY_CQ_PERIOD_MODE);
	IFC_SET(cmd_hca_cap, gen, cq_period_mode_modify, 1);
	assert_int_equal(modify(0, 1 << 4, c, 0), ST_OK);
	IFC_SET(cqc, c, cq_period_mode, 1);
	assert_refused(modify(0, 1 << 4, c, 0), ST_BAD_PARAM, WHY_CQ_PERIOD_MODE);
	assert_false(cq->from_cqe);
	IFC_SET(cmd_hca_cap, gen, cq_period_start_from_cqe, 1);
	assert_int_equal(modify(0, 1 << 4, c, 0), ST_OK);
	assert_true(cq->from_cqe);
	IFC_SET(cqc, c, cq_period_mode, 2);
	assert_refused(modify(0, 1 << 4, c, 0), ST_BAD_PARAM, WHY_CQ_PERIOD_MODE);
	assert_true(cq->from_cqe);
}

static void test_create_refuses_invalid_contexts(void **state)
{
	const struct create good = { .uar = uar, .eqn = eqn, .dbr = DBR, .pa = BUF2, .log = 6,
				     .npas = 1 };
	struct create p = good;

	(void)state;
	assert_int_equal(create(&p), ST_OK);
	p.uar = uar + 7;
	assert_refused(create(&p), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	p = good;
	p.uar = rig_uar(5);		/* of another user */
	p.uid = 6;
	assert_refused(create(&p), ST_BAD_RES, WHY_OBJECT_OWNER);
	p.uid = 5;
	assert_refused(create(&p), ST_BAD_RES, WHY_OBJECT_OWNER);	/* the EQ is the kernel's */
	rig_give(OBJ_EQ, eqn, SHARED_UID);
	assert_int_equal(create(&p), ST_OK);
	p.uar = uar;					/* the kernel's */
	assert_refused(create(&p), ST_BAD_RES, WHY_OBJECT_OWNER);
	p = good;
	p.eqn = rig.async->obj.num;
	assert_refused(create(&p), ST_BAD_RES, WHY_CQ_EQ_KIND);
	p.eqn = eqn + 1;
	assert_refused(create(&p), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	p = good;
	p.dbr = DBR + 4;
	assert_refused(create(&p), ST_BAD_PARAM, WHY_DBR_MISALIGNED);
	p.dbr = 0x1000;
	assert_refused(create(&p), ST_BAD_PARAM, WHY_DBR_NOT_MAPPED);
	p = good;
	p.log = 7;
	assert_refused(create(&p), ST_BAD_INP_LEN, WHY_QUEUE_PAGES_MISSING);
	p = good;
	p.pg_off = 1;
	assert_refused(create(&p), ST_BAD_INP_LEN, WHY_QUEUE_PAGES_MISSING);
	p = good;
	p.sz = 2;		/* padded, which is not supported */
	assert_refused(create(&p), ST_BAD_PARAM, WHY_CQ_CQE_SIZE);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], cqe_128_always, 1);
	p.log = 5;
	assert_int_equal(create(&p), ST_OK);
	p.sz = 3;
	assert_refused(create(&p), ST_BAD_PARAM, WHY_CQ_CQE_SIZE);
	p.sz = 1;
	p.log = 3;
	p.pg_off = 1;		/* 64 bytes */
	assert_refused(create(&p), ST_BAD_PARAM, WHY_CQ_CQE_STRADDLES_PAGES);
	p.pg_off = 2;
	assert_int_equal(create(&p), ST_OK);
	p = good;
	p.bit = IFC_OFF(cqc, cqe_comp_en);
	assert_refused(create(&p), ST_BAD_PARAM, WHY_CQ_COMPRESSION_NOT_OFFERED);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], cqe_compression, 1);
	assert_int_equal(create(&p), ST_OK);
	p = good;
	p.pa = 0x5000;
	assert_refused(create(&p), ST_BAD_PARAM, WHY_QUEUE_PAGE_ADDRESS);
	p = good;
	p.reserved = true;
	assert_refused(create(&p), ST_BAD_PARAM, WHY_CQ_RESERVED_FIELD);
	p = good;
	p.apu = true;		/* there are no APU elements */
	assert_refused(create(&p), ST_BAD_PARAM, WHY_CQ_RESERVED_FIELD);
	p = good;
	p.log = 17;
	assert_refused(create(&p), ST_LIM, WHY_CQ_SIZE);
}

static void test_numbers_can_be_used_up(void **state)
{
	struct create p = { .uar = uar, .eqn = eqn, .dbr = DBR, .pa = BUF2, .log = 5, .npas = 1 };

	(void)state;
	assert_int_equal(create(&p), ST_OK);
	rig.hca->profile->range[OBJ_CQ].limit = p.cqn + 1;
	assert_refused(create(&p), ST_LIM, WHY_NUMBERS_IN_USE);
	rig.hca->profile->range[OBJ_CQ].limit++;
	assert_int_equal(create(&p), ST_OK);
}

/* The first bit and the last bit of each reserved field, each alone, make CREATE_CQ fail. */
static void test_each_reserved_field_is_refused(void **state)
{
	static const struct ifc_field reserved[] = {
		IFC_FIELD(cqc, reserved_at_4), IFC_FIELD(cqc, reserved_at_c),
		IFC_FIELD(cqc, reserved_at_18), IFC_FIELD(cqc, reserved_at_40),
		IFC_FIELD(cqc, reserved_at_60), IFC_FIELD(cqc, reserved_at_80),
		IFC_FIELD(cqc, reserved_at_c0), IFC_FIELD(cqc, reserved_at_c8),
		IFC_FIELD(cqc, reserved_at_e0), IFC_FIELD(cqc, reserved_at_180),
	};
	struct create p = { .uar = uar, .eqn = eqn, .dbr = DBR, .pa = BUF2, .log = 6, .npas = 1 };
	size_t i;

	(void)state;
	for (i = 0; i < 2 * ARRAY_SIZE(reserved); i++) {
		p.bit = reserved[i / 2].off + (i % 2 ? reserved[i / 2].width - 1 : 0);
		if (create(&p) != ST_BAD_PARAM || rig.syndrome != WHY_CQ_RESERVED_FIELD)
			fail_msg("CREATE_CQ takes %s", reserved[i / 2].name);
	}
	p.bit = 0;
	assert_int_equal(create(&p), ST_OK);
}

static const uint8_t *query(void)
{
	static uint8_t out[IFC_BYTE(query_cq_out, pas)];
	uint8_t in[IFC_SZ(query_cq_in)] = {};

	IFC_SET(query_cq_in, in, cqn, cqn);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_CQ, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	return IFC_ADDR(query_cq_out, out, cq_context);
}

static void test_query_of_an_unknown_queue_is_refused(void **state)
{
	uint8_t in[IFC_SZ(query_cq_in)] = {}, out[IFC_SZ(query_cq_out)];

	(void)state;
	IFC_SET(query_cq_in, in, cqn, cqn + 1);
	assert_refused(rig_cmd(MLX5_CMD_OP_QUERY_CQ, 0, 0, in, sizeof(in), out, sizeof(out)),
		       ST_BAD_RES, WHY_OBJECT_UNKNOWN);
}

/* What is not selected needs no capability. */
static void test_modify_checks_what_is_selected(void **state)
{
	uint8_t c[CQC_BYTES] = {};

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], cq_oi, 0);
	IFC_SET(cqc, c, oi, 1);
	assert_int_equal(modify(0, 1, c, 0), ST_OK);
	assert_refused(modify(0, 1 | 4, c, 0), ST_BAD_PARAM, WHY_CQ_OVERRUN_IGNORE_NOT_OFFERED);
}

/* Whether the queue is armed, how far it has told the driver, and what MODIFY_CQ has changed. */
static void test_query_shows_events_and_settings(void **state)
{
	uint8_t c[CQC_BYTES] = {};
	const uint8_t *q;

	(void)state;
	assert_int_equal(IFC_GET(cqc, query(), st), CQ_ST_FIRED);
	arm(1, true, 0);
	assert_int_equal(IFC_GET(cqc, query(), st), CQ_ST_SOLICITED_ARMED);
	arm(2, false, 0);
	assert_int_equal(IFC_GET(cqc, query(), st), CQ_ST_ARMED);
	put(0, false);
	put(1, true);
	put(2, false);
	q = query();
	assert_int_equal(IFC_GET(cqc, q, st), CQ_ST_FIRED);
	assert_int_equal(IFC_GET(cqc, q, producer_counter), 3);
	assert_int_equal(IFC_GET(cqc, q, last_notified_index), 1);
	assert_int_equal(IFC_GET(cqc, q, last_solicit_index), 2);
	assert_int_equal(IFC_GET(cqc, q, oi), 0);
	assert_int_equal(moderate(0x123, 0x4567), ST_OK);
	IFC_SET(cqc, c, oi, 1);
	assert_int_equal(modify(0, 4, c, 0), ST_OK);
	q = query();
	assert_int_equal(IFC_GET(cqc, q, cq_period), 0x123);
	assert_int_equal(IFC_GET(cqc, q, cq_max_count), 0x4567);
	assert_int_equal(IFC_GET(cqc, q, oi), 1);
}

static void test_query(void **state)
{
	const uint8_t *c;

	(void)state;
	put(0, false);
	put(1, false);
	consumer(1);
	c = query();
	assert_int_equal(IFC_GET(cqc, c, producer_counter), 2);
	assert_int_equal(IFC_GET(cqc, c, consumer_counter), 1);
	assert_int_equal(IFC_GET(cqc, c, status), 0);
	assert_int_equal(IFC_GET(cqc, c, log_cq_size), LOG);
}

/* The context names the new buffer: its size, the size of its CQEs, its pages and its offset. */
static void test_resized_cq_is_queried(void **state)
{
	uint8_t c[CQC_BYTES];
	const uint8_t *q;

	(void)state;
	new_size(c, 1);
	IFC_SET(cqc, c, cqe_sz, 1);
	IFC_SET(cqc, c, log_page_size, 1);
	IFC_SET(cqc, c, page_offset, 3);
	assert_int_equal(modify(1, 7, c, BUF2), ST_OK);
	q = query();
	assert_int_equal(IFC_GET(cqc, q, log_cq_size), 1);
	assert_int_equal(IFC_GET(cqc, q, cqe_sz), 1);
	assert_int_equal(IFC_GET(cqc, q, log_page_size), 1);
	assert_int_equal(IFC_GET(cqc, q, page_offset), 3);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, rig_teardown)

static void test_trace_of_completions(void **state)
{
	const struct completion c = { .opcode = 14, .error = ERR_QUEUE_GONE, .qpn = 0x42,
				      .wqe_counter = 7, .byte_cnt = 99 };
	struct trace *t = rig.hca->trace;

	(void)state;
	trace_ring(t, true);
	put(0, false);
	arm(2, false, 1);
	cq_complete_now(rig.hca, cqn, &c);
	expect_traced(t, "cqe", "\"cqn\":%u,\"pi\":2,\"opcode\":14,\"syndrome\":%u,\"vendor\":%u,"
		      "\"qpn\":66,\"wqe\":7,\"bytes\":99", cqn, cqe_error_syndrome(c.error),
		      cqe_error_vendor(c.error));
	expect_traced(t, "cq_event", "\"cqn\":%u,\"eqn\":%u,\"sn\":2", cqn, eqn);
	delay_one(cqn);
	expect_traced(t, "cqe_injected", "\"cqn\":%u,\"qpn\":66,\"delay_ms\":1", cqn);
	put(3, false);
	put(4, false);
	put(5, false);			/* the queue has room for four CQEs */
	expect_traced(t, "cq_error", "\"cqn\":%u,\"syndrome\":1", cqn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_owner_bit_changes_with_each_lap), T(test_cqe_fields),
		T(test_cqe_has_its_time), T(test_cqes_and_doorbells_are_counted),
		T(test_error_cqe),
		T(test_inline_scatter), T(test_padded_cqe), T(test_arm_then_completion),
		T(test_arm_after_completion_fires_at_once),
		T(test_stale_sequence_number_is_ignored), T(test_solicited_only),
		T(test_arm_word_is_that_of_the_record), T(test_solicited_arm_sees_earlier_cqes),
	 T(test_solicited_arm_does_not_replace_any),
		T(test_invalid_doorbells_are_dropped), T(test_overrun),
		T(test_consumer_index_makes_room), T(test_indices_wrap_at_24_bits),
		T(test_moderation_by_count), T(test_moderation_by_time),
		T(test_period_from_cqe_starts_again_with_each_completion),
		T(test_completions_do_not_prolong_the_period),
		T(test_end_of_moderation_raises_delayed_event),
		T(test_solicited_completion_can_end_moderation), T(test_cq_moves_to_another_eq),
		T(test_moderation_needs_a_capability), T(test_resize),
		T(test_resized_cq_is_queried), T(test_delayed_completion_keeps_its_data),
		T(test_resize_is_refused_if_cqes_do_not_fit),
		T(test_reset_drops_delayed_completions),
		T(test_destroy_drops_delayed_completions), T(test_delayed_completions_are_limited),
		T(test_collapsed_cq), T(test_overrun_can_be_ignored),
		T(test_period_mode_needs_a_capability),
		T(test_modifying_the_period_mode_needs_a_capability),
		T(test_create_refuses_invalid_contexts), T(test_numbers_can_be_used_up),
		T(test_each_reserved_field_is_refused),
		T(test_query), T(test_query_shows_events_and_settings),
		T(test_query_of_an_unknown_queue_is_refused),
		T(test_modify_checks_what_is_selected),
		T(test_trace_of_completions),
	};

	return cmocka_run_group_tests_name("cq", tests, NULL, NULL);
}
