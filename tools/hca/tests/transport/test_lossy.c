// SPDX-License-Identifier: GPL-2.0
/*
 * The transport on a fabric that loses, duplicates, reorders, corrupts and delays packets: RC
 * delivers everything exactly once and in order; UC and UD lose whole messages, and deliver none in
 * part.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "cq.h"
#include "fabric.h"
#include "impair.h"
#include "pairrig.h"
#include "qp.h"
#include "wqe.h"

#define OPS	150		/* operations of each requester */
#define WINDOW	16		/* operations at a time */
#define BATCH	8		/* UC and UD: messages at a time, because losses are not reported */
#define SLOTS	32		/* of each buffer: more than messages in transit */
#define SLOT	8192
#define ACK_TIMEOUT	13	/* 34 ms, longer than packets are held, even on a busy machine */
#define LEN_MAX	5000		/* five packets */
#define GRH	40		/* bytes before a datagram */
#define ALL	(MK_LOCAL_READ | MK_LOCAL_WRITE | MK_REMOTE_READ | MK_REMOTE_WRITE | MK_ATOMIC)
#define CQ_OF(h)	(10 + 10 * (h))

enum kind { SEND, SEND_IMM, WRITE, WRITE_IMM, READ, FETCH_ADD, CMP_SWAP, KINDS };

struct op {
	enum kind kind;
	uint16_t wqe;
	uint32_t len;
	uint64_t number;	/* atomics: count of earlier ones of this kind; READ: offset */
};

/* One end of the connection: the operations that it posts, and its memory. */
struct end {
	unsigned int h;
	struct qp *qp;
	uint32_t key;
	uint64_t local;		/* slots that are sent from, and take answers */
	uint64_t window;	/* slots that the peer writes to */
	uint64_t recv;		/* slots that receive */
	unsigned int recvs;	/* receives that are posted at a time */
	uint64_t constant;	/* memory that the peer reads */
	uint64_t word[2];	/* for FETCH_ADD and CMP_SWAP */
	struct op op[OPS];
	unsigned int posted, done;
	unsigned int message[OPS], messages;	/* operations that the peer receives */
	unsigned int received;			/* messages that this end has received */
	uint64_t fetched, swapped;		/* atomics that were posted */
};

static struct end end[2];
static unsigned int seen;	/* completions that were looked at */
static uint32_t dice;

static uint32_t roll(uint32_t n)
{
	dice = dice * 1664525 + 1013904223;
	return (dice >> 8) % n;
}

static void fill(unsigned int h, uint64_t addr, unsigned int number, uint32_t len)
{
	uint8_t *p = rig_ptr(h, addr);
	uint32_t i;

	for (i = 0; i < len; i++)
		p[i] = number * 37 + i * 11 + (i >> 8);
}

static bool filled(unsigned int h, uint64_t addr, unsigned int number, uint32_t len)
{
	const uint8_t *p = rig_ptr(h, addr);
	uint32_t i;

	for (i = 0; i < len; i++)
		if (p[i] != (uint8_t)(number * 37 + i * 11 + (i >> 8)))
			return false;
	return true;
}

static uint64_t slot(uint64_t base, unsigned int number)
{
	return base + number % SLOTS * SLOT;
}

static void post_recv(struct end *e, unsigned int number)
{
	rig_recv(e->h, e->qp, slot(e->recv, number), SLOT, e->key);
}

static void end_up(unsigned int h, enum qp_type type, unsigned int recvs)
{
	struct end *e = &end[h];
	unsigned int i;

	memset(e, 0, sizeof(*e));
	e->h = h;
	e->recvs = recvs;
	e->qp = rig_qp(h, type, CQ_OF(h));
	e->qp->path.ack_timeout = ACK_TIMEOUT;
	e->local = rig_alloc(h, SLOTS * SLOT);
	e->window = rig_alloc(h, SLOTS * SLOT);
	e->recv = rig_alloc(h, SLOTS * SLOT);
	e->constant = rig_alloc(h, SLOT);
	e->word[0] = rig_alloc(h, 8);
	e->word[1] = rig_alloc(h, 8);
	e->key = rig_mkey(h, RIG_BASE, RIG_MEM, ALL);
	fill(h, e->constant, h, SLOT);
	for (i = 0; i < recvs; i++)
		post_recv(e, i);
}

static void ends_up(enum qp_type type, unsigned int recvs)
{
	rig_up(NULL);
	end_up(0, type, recvs);
	end_up(1, type, recvs);
	rig_connect(end[0].qp, 0, end[1].qp, 1);
	seen = 0;
}

static void impair(unsigned int h, const char *text, uint64_t seed)
{
	struct impair_settings s;
	char why[100];

	assert_true(impair_parse(text, &s, why, sizeof(why)));
	s.seed = seed;
	assert_int_equal(impair_start(fabric_impair(rig.hca[h]), &s), 0);
}

static struct impair_counts counts(unsigned int h)
{
	return impair_counts(fabric_impair(rig.hca[h]));
}

/* Run the event loop until no packet is held or moves any more. */
static void settle(void)
{
	do
		rig_settle();
	while (counts(0).held || counts(1).held);
	rig_settle();
}

/* ---- RC -------------------------------------------------------------------------------------- */

static void wq_remote(struct rig_wqe *w, const struct op *op, unsigned int number,
		      const struct end *peer)
{
	switch (op->kind) {
	case WRITE:
	case WRITE_IMM:
		wq_raddr(w, slot(peer->window, number), peer->key);
		break;
	case READ:
		wq_raddr(w, peer->constant + op->number, peer->key);
		break;
	case FETCH_ADD:
		wq_raddr(w, peer->word[0], peer->key);
		wq_atomic(w, 1, 0);
		break;
	case CMP_SWAP:
		wq_raddr(w, peer->word[1], peer->key);
		wq_atomic(w, op->number + 1, op->number);
		break;
	default:
		break;
	}
}

static void post(struct end *e, struct op *op)
{
	static const uint8_t opcode[KINDS] = {
		[SEND] = WQE_SEND, [SEND_IMM] = WQE_SEND_IMM, [WRITE] = WQE_RDMA_WRITE,
		[WRITE_IMM] = WQE_RDMA_WRITE_IMM, [READ] = WQE_RDMA_READ,
		[FETCH_ADD] = WQE_ATOMIC_FA, [CMP_SWAP] = WQE_ATOMIC_CS,
	};
	unsigned int number = e->posted++;
	uint64_t local = slot(e->local, number);
	struct rig_wqe w;

	fill(e->h, local, op->kind == READ ? ~number : number, op->len);
	wq_ctrl(&w, opcode[op->kind], true, number);
	wq_remote(&w, op, number, &end[!e->h]);
	if (op->len)
		wq_data(&w, local, op->len, e->key);
	if (op->kind == SEND || op->kind == SEND_IMM || op->kind == WRITE_IMM)
		e->message[e->messages++] = number;
	op->wqe = rig_send(e->h, e->qp, w.b, w.ds);
}

static void post_random(struct end *e)
{
	struct op *op = &e->op[e->posted];

	op->kind = roll(KINDS);
	op->len = roll(4) ? roll(LEN_MAX) : roll(100);
	if (op->kind == READ) {
		op->len++;
		op->number = roll(SLOT - op->len);
	} else if (op->kind == FETCH_ADD) {
		op->number = e->fetched++;
		op->len = 8;
	} else if (op->kind == CMP_SWAP) {
		op->number = e->swapped++;
		op->len = 8;
	}
	post(e, op);
}

static void check_sent(struct end *e, const struct completion *c)
{
	const struct op *op = &e->op[e->done];
	uint64_t local = slot(e->local, e->done);
	const struct end *peer = &end[!e->h];

	assert_true(e->done < e->posted);
	assert_int_equal(c->wqe_counter, op->wqe);
	switch (op->kind) {
	case WRITE:
	case WRITE_IMM:
		assert_true(filled(peer->h, slot(peer->window, e->done), e->done, op->len));
		break;
	case READ:
		assert_memory_equal(rig_ptr(e->h, local),
				    rig_ptr(peer->h, peer->constant + op->number), op->len);
		break;
	case FETCH_ADD:
	case CMP_SWAP:
		assert_int_equal(*(uint64_t *)rig_ptr(e->h, local), op->number);
		break;
	default:
		break;
	}
	e->done++;
}

static void check_received(struct end *e, const struct completion *c)
{
	const struct end *peer = &end[!e->h];
	unsigned int number = peer->message[e->received];
	const struct op *op = &peer->op[number];

	assert_true(e->received < peer->messages);
	assert_int_equal(c->opcode, op->kind == SEND ? CQE_RESP_SEND :
			 op->kind == SEND_IMM ? CQE_RESP_SEND_IMM : CQE_RESP_WR_IMM);
	assert_int_equal(c->byte_cnt, op->len);
	if (op->kind != SEND)
		assert_int_equal(c->imm_inval_pkey, number);
	assert_true(filled(e->h, op->kind == WRITE_IMM ? slot(e->window, number) :
			   slot(e->recv, e->received), number, op->len));
	post_recv(e, e->received++ + e->recvs);
}

static void check_completions(void)
{
	for (; seen < rig.ncqe; seen++) {
		const struct rig_cqe *c = &rig.cqe[seen];
		unsigned int h = c->cqn >= CQ_OF(1);

		if (c->c.opcode == CQE_REQ_ERR || c->c.opcode == CQE_RESP_ERR)
			fail_msg("completion with the error 0x%x", c->c.error);
		if (c->cqn == CQ_OF(h))
			check_sent(&end[h], &c->c);
		else
			check_received(&end[h], &c->c);
	}
}

static void turn(void)
{
	event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	check_completions();
	usleep(20);
}

static void rc_runs(const char *text, unsigned int recvs, uint64_t seed)
{
	uint64_t until = clock_now_ns() + 30000000000ull;
	unsigned int h;

	ends_up(QPT_RC, recvs);
	dice = seed;
	impair(0, text, seed);
	impair(1, text, seed);
	while ((end[0].done < OPS || end[1].done < OPS) && clock_now_ns() < until) {
		for (h = 0; h < 2; h++)
			while (end[h].posted < OPS && end[h].posted - end[h].done < WINDOW)
				post_random(&end[h]);
		turn();
	}
	settle();
	check_completions();
	for (h = 0; h < 2; h++) {
		assert_int_equal(end[h].done, OPS);
		assert_int_equal(end[h].received, end[!h].messages);
		assert_int_equal(*(uint64_t *)rig_ptr(h, end[h].word[0]), end[!h].fetched);
		assert_int_equal(*(uint64_t *)rig_ptr(h, end[h].word[1]), end[!h].swapped);
		assert_int_equal(end[h].qp->state, QPS_RTS);
	}
	rig_down(NULL);
}

static void rc_survives_loss(void **state)
{
	(void)state;
	rc_runs("loss=5", SLOTS, 1);
}

static void rc_survives_duplicates(void **state)
{
	(void)state;
	rc_runs("dup=10", SLOTS, 1);
	rc_runs("dup=100", SLOTS, 2);
}

static void rc_survives_reordering(void **state)
{
	(void)state;
	rc_runs("reorder=10", SLOTS, 1);
	rc_runs("reorder=60", SLOTS, 2);
}

static void rc_survives_corruption(void **state)
{
	(void)state;
	rc_runs("corrupt=5", SLOTS, 1);
}

/* Some delays are longer than the time-out, so packets that are sent again meet late ones. */
static void rc_survives_delay(void **state)
{
	(void)state;
	rc_runs("delay=10", SLOTS, 1);
	rc_runs("delay=1,delay_ms=100", SLOTS, 2);
}

static void rc_survives_all(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 2; seed++)
		rc_runs("loss=5,dup=10,reorder=10,corrupt=3,delay=10", SLOTS, seed);
}

/* Few receive WQEs are posted, so requests are repeated after RNR NAKs, too. */
static void rc_survives_all_with_few_receives(void **state)
{
	(void)state;
	rc_runs("loss=5,dup=10,reorder=10,corrupt=3,delay=10", 2, 3);
}

/* ---- UC and UD ------------------------------------------------------------------------------- */

static void post_unreliable(struct end *e, enum qp_type type)
{
	unsigned int number = e->posted++;
	struct op *op = &e->op[number];
	const struct end *peer = &end[!e->h];
	struct rig_wqe w;

	op->kind = type == QPT_UC && roll(2) ? WRITE_IMM : SEND_IMM;
	op->len = roll(2) ? roll(type == QPT_UD ? 4096 : LEN_MAX) : roll(1024);
	fill(e->h, slot(e->local, number), number, op->len);
	wq_ctrl(&w, op->kind == WRITE_IMM ? WQE_RDMA_WRITE_IMM : WQE_SEND_IMM, true, number);
	if (op->kind == WRITE_IMM)
		wq_raddr(&w, slot(peer->window, number), peer->key);
	if (type == QPT_UD)
		wq_av(&w, e->qp->path.rlid, peer->qp->obj.num, peer->qp->qkey, NULL);
	if (op->len)
		wq_data(&w, slot(e->local, number), op->len, e->key);
	rig_send(e->h, e->qp, w.b, w.ds);
}

/* Check that a message was received whole. Returns its number, which is its immediate data. */
static unsigned int check_whole(struct end *e, enum qp_type type, const struct completion *c)
{
	const struct end *peer = &end[!e->h];
	unsigned int number = c->imm_inval_pkey, grh = type == QPT_UD ? GRH : 0;
	const struct op *op;

	assert_true(number < peer->posted);
	op = &peer->op[number];
	assert_int_equal(c->opcode, op->kind == SEND_IMM ? CQE_RESP_SEND_IMM : CQE_RESP_WR_IMM);
	assert_int_equal(c->byte_cnt, op->len + grh);
	assert_true(filled(e->h, op->kind == WRITE_IMM ? slot(e->window, number) :
			   slot(e->recv, e->received) + grh, number, op->len));
	post_recv(e, e->received++ + e->recvs);
	return number;
}

struct tally {
	unsigned int received;		/* messages */
	unsigned int again;		/* messages that had been received before */
	unsigned int swapped;		/* messages received after a later message */
	unsigned int last;		/* number of the latest message */
};

static void check_batch(enum qp_type type, unsigned int *got, struct tally *t)
{
	unsigned int number;

	for (; seen < rig.ncqe; seen++) {
		assert_true(rig.cqe[seen].c.opcode < CQE_RESIZE);	/* no error */
		if (rig.cqe[seen].cqn == CQ_OF(0))
			continue;
		number = check_whole(&end[1], type, &rig.cqe[seen].c);
		t->received++;
		t->again += got[number]++ != 0;
		t->swapped += t->received > 1 && number < t->last;
		t->last = number;
	}
}

static struct tally unreliable_runs(enum qp_type type, const char *text, uint64_t seed)
{
	struct tally t = { 0 };
	unsigned int got[OPS] = { 0 }, i;

	ends_up(type, SLOTS);
	dice = seed;
	impair(1, text, seed);
	while (end[0].posted + BATCH <= OPS) {
		for (i = 0; i < BATCH; i++)
			post_unreliable(&end[0], type);
		settle();
		check_batch(type, got, &t);
	}
	assert_int_equal(end[0].qp->state, QPS_RTS);
	assert_int_equal(end[1].qp->state, QPS_RTS);
	return t;
}

static void uc_loses_whole_messages(void **state)
{
	struct tally t = unreliable_runs(QPT_UC, "loss=5,corrupt=5", 1);

	(void)state;
	assert_in_range(t.received, end[0].posted / 3, end[0].posted - 1);
	assert_int_equal(t.again, 0);
	assert_int_equal(t.swapped, 0);
	rig_down(NULL);
}

static void uc_loses_nothing_by_delay(void **state)
{
	struct tally t = unreliable_runs(QPT_UC, "delay=20", 1);

	(void)state;
	assert_int_equal(t.received, end[0].posted);
	assert_int_equal(t.again, 0);
	assert_int_equal(t.swapped, 0);
	rig_down(NULL);
}

/*
 * The responder of UC does not detect duplicates: each first packet begins a new message, so that a
 * message of one packet can be received twice.
 */
static void uc_receives_nothing_in_part(void **state)
{
	struct tally t = unreliable_runs(QPT_UC, "dup=20", 1);

	(void)state;
	assert_true(t.again && t.received > t.again);
	rig_down(NULL);
	t = unreliable_runs(QPT_UC, "reorder=10", 1);
	assert_in_range(t.received, end[0].posted / 3, end[0].posted - 1);
	assert_int_equal(t.again, 0);
	rig_down(NULL);
	t = unreliable_runs(QPT_UC, "loss=5,dup=10,reorder=10,corrupt=5,delay=10", 2);
	assert_true(t.received > end[0].posted / 4);
	rig_down(NULL);
}

/* A datagram is one packet, and its PSN is not looked at: each copy that arrives is received. */
static void ud_receives_each_packet_that_arrives(void **state)
{
	static const char *const text[] = {
		"loss=10", "dup=20", "reorder=20", "corrupt=10",
		"loss=5,dup=10,reorder=10,corrupt=5,delay=10",
	};
	struct impair_counts c;
	struct tally t;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		t = unreliable_runs(QPT_UD, text[i], i + 1);
		c = counts(1);
		assert_int_equal(c.packets, end[0].posted);
		assert_int_equal(t.received, end[0].posted - c.n[IMPAIR_LOSS] -
				 c.n[IMPAIR_CORRUPT] + c.n[IMPAIR_DUP]);
		assert_int_equal(t.again, c.n[IMPAIR_DUP]);
		assert_int_equal(!t.swapped, !c.n[IMPAIR_REORDER]);
		rig_down(NULL);
	}
}

/* ---- held packets ---------------------------------------------------------------------------- */

static int rc_up(void **state)
{
	(void)state;
	ends_up(QPT_RC, SLOTS);
	return 0;
}

static void post_one(enum kind kind, uint32_t len)
{
	struct op *op = &end[0].op[end[0].posted];

	*op = (struct op){ .kind = kind, .len = len };
	if (kind == FETCH_ADD)
		op->number = end[0].fetched++;
	post(&end[0], op);
}

static void link_down_drops_what_is_held(void **state)
{
	uint64_t until = clock_now_ns() + 5000000000ull;

	(void)state;
	impair(1, "delay=100,delay_ms=1000", 1);
	post_one(FETCH_ADD, 8);
	post_one(WRITE, 3000);
	while (counts(1).held < 4 && clock_now_ns() < until)
		turn();
	fabric_set_link(rig.hca[1], false);
	assert_int_equal(counts(1).held, 0);
	impair_stop(fabric_impair(rig.hca[1]));
	fabric_set_link(rig.hca[1], true);
	while (end[0].done < 2 && clock_now_ns() < until)
		turn();
	assert_int_equal(end[0].done, 2);
	assert_int_equal(*(uint64_t *)rig_ptr(1, end[1].word[0]), 1);
}

/*
 * Held packets arrive at a queue pair that has been reset meanwhile, and at a queue pair in error.
 */
static void held_packets_meet_another_state(void **state)
{
	uint64_t until = clock_now_ns() + 5000000000ull;

	(void)state;
	impair(1, "delay=100,delay_ms=100", 1);
	post_one(FETCH_ADD, 8);
	post_one(SEND, 3000);
	while (counts(1).held < 4 && clock_now_ns() < until)
		turn();
	rig_state(1, end[1].qp, QPS_RST);
	rig_state(0, end[0].qp, QPS_ERR);
	seen = rig.ncqe;
	settle();
	assert_int_equal(*(uint64_t *)rig_ptr(1, end[1].word[0]), 0);
	assert_null(rig_cqe(CQ_OF(1) + 1, 0));
}

#define RC(fn) cmocka_unit_test_setup_teardown(fn, rc_up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc_survives_loss), cmocka_unit_test(rc_survives_duplicates),
		cmocka_unit_test(rc_survives_reordering), cmocka_unit_test(rc_survives_corruption),
		cmocka_unit_test(rc_survives_delay), cmocka_unit_test(rc_survives_all),
		cmocka_unit_test(rc_survives_all_with_few_receives),
		cmocka_unit_test(uc_loses_whole_messages),
		cmocka_unit_test(uc_loses_nothing_by_delay),
		cmocka_unit_test(uc_receives_nothing_in_part),
		cmocka_unit_test(ud_receives_each_packet_that_arrives),
		RC(link_down_drops_what_is_held), RC(held_packets_meet_another_state),
	};

	return cmocka_run_group_tests_name("lossy", tests, NULL, NULL);
}
