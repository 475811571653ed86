// SPDX-License-Identifier: GPL-2.0
/*
 * Tag matching: a queue pair of HCA 0 sends messages with tags to a queue pair of HCA 1, which has
 * an XRQ. A third queue pair changes the list of tags. All completions are in the CQ of the XRQ.
 */
#include <stdlib.h>
#include <string.h>

#include "cq.h"
#include "hca.h"
#include "ifc.h"
#include "mkey.h"
#include "ib_packet.h"
#include "packet.h"
#include "pairrig.h"
#include "qp.h"
#include "resp.h"
#include "srq.h"
#include "tm_list.h"
#include "trace.h"
#include "tracerig.h"
#include "wqe.h"

#define CQ_A	10
#define CQ_B	20
#define CQ_CMD	22
#define CQ_TM	30
#define BUF	8192
#define TMH	16
#define RVH	32
#define USER	0x777
#define ALL	(MK_LOCAL_READ | MK_LOCAL_WRITE | MK_REMOTE_READ | MK_REMOTE_WRITE | MK_ATOMIC)
#define NO_TAG	0
#define RNDV	1
#define FIN	2
#define EAGER	3
#define TAG	0x1122334455667788ull
#define CTX	0xcafebabe

static struct qp *a, *b, *cmd;
static struct srq *srq;
static uint64_t buf_a, buf_b;		/* messages to send; received messages */
static uint32_t key_a, key_b;
static unsigned int seen;		/* completions of CQ_TM that a test has looked at */

static uint8_t *at_a(unsigned int off)
{
	return (uint8_t *)rig_ptr(0, buf_a) + off;
}

static uint8_t *at_b(unsigned int off)
{
	return (uint8_t *)rig_ptr(1, buf_b) + off;
}

static struct qp *with_xrq(uint32_t cqn)
{
	struct qp *qp = rig_qp(1, QPT_RC, cqn);

	qp->rq_type = RQ_SRQ;
	qp->rq_cnt = 0;
	qp->srq = srq;
	qp->user_index = 0x111;
	qp->cqe_version1 = true;
	return qp;
}

static int up(void **state)
{
	unsigned int i;

	rig_up(state);
	seen = 0;
	srq = rig_srq(1, SRQ_XRQ, RIG_PD);
	srq->cyclic = true;
	srq->cqn = CQ_TM;
	srq->user_index = USER;
	srq->cqe_version1 = true;
	srq->rndv = true;
	srq->tm = tm_list_new(3, 0);
	rig_cq(1, CQ_TM);
	a = rig_qp(0, QPT_RC, CQ_A);
	b = with_xrq(CQ_B);
	b->has_sq = false;
	b->sq_cnt = 0;
	b->rndv = true;
	cmd = with_xrq(CQ_CMD);
	a->min_rnr_nak = b->min_rnr_nak = 22;	/* 20 ms: rig_settle() does not wait for it */
	buf_a = rig_alloc(0, BUF);
	buf_b = rig_alloc(1, BUF);
	key_a = rig_mkey(0, buf_a, BUF, ALL);
	key_b = rig_mkey(1, buf_b, BUF, ALL);
	for (i = 0; i < BUF; i++)
		*at_a(i) = i * 5 + (i >> 8);
	rig_connect(a, 0, b, 1);
	rig_connect(cmd, 1, cmd, 1);
	return 0;
}

static int down(void **state)
{
	tm_list_free(srq->tm);
	free(srq->mem.pas);
	rig_free_qp(1, b);
	rig_free_qp(1, cmd);
	obj_free(rig.hca[1], &srq->obj);
	return rig_down(state);
}

/* ---- changes of the list --------------------------------------------------------------------- */

#define SYNC	0x40
#define CQE	0x80

/* Make the WQE of a change of the list; the reserved bytes have what was there before. */
static void tm_wqe(struct rig_wqe *w, uint8_t op, uint8_t flags, uint16_t index, uint16_t sw)
{
	uint8_t *p;

	memset(w, 0xa5, sizeof(*w));
	wq_ctrl(w, WQE_TAG_MATCHING, false, 0);
	p = w->b + w->ds * 16;
	p[0] = op << 4;
	p[1] = flags;
	put_be16(p + 2, index);
	put_be16(p + 6, sw);
	w->ds += 2;
}

/* Append @tag with @len bytes at @off of the buffer; the next append fills entry @next. */
static void append(uint16_t next, uint64_t tag, uint64_t mask, unsigned int off, uint32_t len)
{
	struct rig_wqe w;

	tm_wqe(&w, WQE_TM_APPEND, 0, next, 0);
	put_be64(w.b + 32, tag);
	put_be64(w.b + 40, mask);
	wq_data(&w, buf_b + off, len, key_b);
	rig_send(1, cmd, w.b, w.ds);
	rig_settle();
}

static void change(uint8_t op, uint8_t flags, uint16_t index, uint16_t sw)
{
	struct rig_wqe w;

	tm_wqe(&w, op, flags, index, sw);
	rig_send(1, cmd, w.b, w.ds);
	rig_settle();
}

/* ---- messages -------------------------------------------------------------------------------- */

static void header(uint8_t op, uint64_t tag)
{
	uint8_t *p = at_a(0);

	p[0] = op;
	put_be32(p + 4, CTX);
	put_be64(p + 8, tag);
}

static void send_as(uint8_t opcode, uint32_t len)
{
	struct rig_wqe w;

	wq_ctrl(&w, opcode, true, 0x55);
	if (len)
		wq_data(&w, buf_a, len, key_a);
	rig_send(0, a, w.b, w.ds);
	rig_settle();
}

static void send_msg(uint8_t op, uint64_t tag, uint32_t len)
{
	header(op, tag);
	send_as(WQE_SEND, len);
}

static void rndv_headers(uint64_t tag, uint64_t addr, uint32_t key, uint32_t len)
{
	header(RNDV, tag);
	put_be64(at_a(16), addr);
	put_be32(at_a(24), key);
	put_be32(at_a(28), len);
}

static void send_rndv(uint64_t tag, uint64_t addr, uint32_t key, uint32_t len, uint32_t total)
{
	rndv_headers(tag, addr, key, len);
	send_as(WQE_SEND, total);
}

static void recv_wqe(uint32_t len)
{
	rig_srq_recv(1, srq, buf_b, len, key_b);
}

/* ---- completions ----------------------------------------------------------------------------- */

static const struct completion *next_of(enum cqe_opcode opcode, enum cqe_tm_op op)
{
	struct rig_cqe *e = rig_cqe(CQ_TM, seen++);

	assert_non_null(e);
	assert_int_equal(e->c.opcode, opcode);
	assert_true(e->c.is_tm);
	assert_int_equal(e->c.tm.op, op);
	assert_int_equal(e->c.srqn_uidx, USER);
	return &e->c;
}

static void no_more(void)
{
	assert_null(rig_cqe(CQ_TM, seen));
	assert_null(rig_cqe(CQ_B, 0));
	assert_null(rig_cqe(CQ_B + 1, 0));
}

static void assert_header(const struct completion *c, uint8_t op, uint64_t tag)
{
	assert_int_equal(c->tm.header[0], op);
	assert_int_equal(get_be32(c->tm.header + 4), CTX);
	assert_true(get_be64(c->tm.header + 8) == tag);
}

static void sender_got(unsigned int i, uint8_t opcode, uint8_t syndrome)
{
	struct rig_cqe *e = rig_cqe(CQ_A, i);

	assert_non_null(e);
	assert_int_equal(e->c.opcode, opcode);
	assert_int_equal(cqe_error_syndrome(e->c.error), syndrome);
}

static void is_free(uint16_t index)
{
	assert_int_equal(srq->tm->entry[index].state, TM_FREE);
}

/* ---- the list -------------------------------------------------------------------------------- */

static void changes_complete_if_they_ask_for_it(void **state)
{
	const struct completion *c;
	struct rig_wqe w;

	(void)state;
	append(1, TAG, ~0ull, 0, 64);
	assert_int_equal(srq->tm->entry[0].state, TM_LISTED);
	no_more();
	tm_wqe(&w, WQE_TM_APPEND, CQE, 2, 0);
	put_be64(w.b + 32, 1);
	put_be64(w.b + 40, 1);
	wq_data(&w, buf_b, 64, key_b);
	rig_send(1, cmd, w.b, w.ds);
	rig_settle();
	c = next_of(CQE_NO_PACKET, TM_APPEND);
	assert_true(c->tm.success);
	assert_int_equal(c->tm.index, 1);
	assert_int_equal(c->qpn, cmd->obj.num);
	assert_int_equal(c->wqe_counter, 1);
	assert_int_equal(c->s_wqe_opcode, WQE_TAG_MATCHING);
	change(WQE_TM_REMOVE, CQE, 0, 0);
	assert_true(next_of(CQE_NO_PACKET, TM_REMOVE)->tm.success);
	is_free(0);
	change(WQE_TM_REMOVE, CQE, 0, 0);
	assert_false(next_of(CQE_NO_PACKET, TM_REMOVE)->tm.success);
	change(WQE_TM_REMOVE, 0, 1, 0);
	is_free(1);
	srq->tm->hw_phase = 0x1234;
	change(WQE_TM_NOP, CQE | SYNC, 0, 0x1233);
	c = next_of(CQE_NO_PACKET, TM_NOOP);
	assert_true(c->tm.success);
	assert_int_equal(c->tm.hw_phase, 0x1234);
	assert_int_equal(srq->tm->sw_phase, 0x1233);
	change(WQE_TM_NOP, CQE, 0, 0x9999);	/* without the flag the count is not taken */
	next_of(CQE_NO_PACKET, TM_NOOP);
	assert_int_equal(srq->tm->sw_phase, 0x1233);
	no_more();
}

static void broken(void (*break_it)(struct rig_wqe *w))
{
	struct rig_wqe w;

	tm_wqe(&w, WQE_TM_APPEND, 0, 1, 0);
	put_be64(w.b + 32, TAG);
	put_be64(w.b + 40, ~0ull);
	wq_data(&w, buf_b, 64, key_b);
	break_it(&w);
	rig_send(1, cmd, w.b, w.ds);
	rig_settle();
	assert_int_equal(cmd->state, QPS_ERR);
	assert_int_equal(rig_cqe(CQ_CMD, 0)->c.error, ERR_WQE_INVALID);
	is_free(0);
	no_more();
}

static void unknown_op(struct rig_wqe *w) { w->b[16] = 3 << 4; }
static void reserved_op(struct rig_wqe *w) { w->b[16] |= 1; }
static void unknown_flag(struct rig_wqe *w) { w->b[17] = 0x20; }
static void asks_twice(struct rig_wqe *w) { w->b[11] |= 8; }
static void too_short(struct rig_wqe *w) { w->ds = 2; }
static void no_buffer(struct rig_wqe *w) { w->ds = 3; }
static void two_buffers(struct rig_wqe *w) { wq_data(w, buf_b, 8, key_b); }
static void next_is_self(struct rig_wqe *w) { put_be16(w->b + 18, 0); }
static void next_too_high(struct rig_wqe *w) { put_be16(w->b + 18, 8); }
static void remove_too_high(struct rig_wqe *w)
{
	w->b[16] = WQE_TM_REMOVE << 4;
	put_be16(w->b + 18, 8);
	w->ds = 3;
}

static void inline_buffer(struct rig_wqe *w)
{
	w->ds = 3;
	wq_inline(w, "data", 4);
}

#define BROKEN(fn) \
	static void fn##_is_refused(void **state) { (void)state; broken(fn); }
BROKEN(unknown_op) BROKEN(reserved_op) BROKEN(unknown_flag) BROKEN(asks_twice) BROKEN(too_short)
BROKEN(no_buffer) BROKEN(two_buffers) BROKEN(next_is_self) BROKEN(next_too_high)
BROKEN(remove_too_high) BROKEN(inline_buffer)

static void a_queue_pair_without_an_xrq_has_no_list(void **state)
{
	struct rig_wqe w;

	(void)state;
	tm_wqe(&w, WQE_TM_NOP, 0, 0, 0);
	rig_send(0, a, w.b, w.ds);
	rig_settle();
	assert_int_equal(a->state, QPS_ERR);
	assert_int_equal(rig_cqe(CQ_A, 0)->c.error, ERR_WQE_INVALID);
}

static void a_used_entry_is_not_filled_again(void **state)
{
	(void)state;
	append(1, TAG, ~0ull, 0, 64);
	append(0, TAG, ~0ull, 0, 64);
	append(2, TAG, ~0ull, 0, 64);
	assert_int_equal(cmd->state, QPS_ERR);
	assert_int_equal(rig_cqe(CQ_CMD, 0)->c.error, ERR_WQE_INVALID);
}

static void an_xrq_in_error_has_no_list(void **state)
{
	(void)state;
	srq->error = true;
	append(1, TAG, ~0ull, 0, 64);
	assert_int_equal(cmd->state, QPS_ERR);
	assert_int_equal(rig_cqe(CQ_CMD, 0)->c.error, ERR_QUEUE_GONE);
	is_free(0);
}

static void the_trace_tells_of_tags(void **state)
{
	(void)state;
	trace_ring(rig.hca[1]->trace, true);
	append(1, TAG, ~0ull, 0, 64);
	expect_traced(rig.hca[1]->trace, "tm", "\"xrqn\":%u,\"qpn\":%u,\"op\":5,\"index\":0,"
		      "\"sw_phase\":0,\"hw_phase\":0", srq->obj.num, cmd->obj.num);
	srq->tm->hw_phase = 3;
	change(WQE_TM_REMOVE, CQE | SYNC, 0, 2);
	expect_traced(rig.hca[1]->trace, "tm", "\"xrqn\":%u,\"qpn\":%u,\"op\":6,\"index\":0,"
		      "\"sw_phase\":2,\"hw_phase\":3", srq->obj.num, cmd->obj.num);
}

/* ---- eager messages -------------------------------------------------------------------------- */

static void one_packet_completes_once(void **state)
{
	const struct completion *c;

	(void)state;
	append(1, TAG & 0xffff0000, 0xffff0000, 100, 64);
	send_msg(EAGER, TAG, TMH + 64);
	sender_got(0, CQE_REQ, 0);
	c = next_of(CQE_RESP_SEND, TM_CONSUMED_MSG);
	assert_header(c, EAGER, TAG);
	assert_int_equal(c->tm.index, 0);
	assert_int_equal(c->byte_cnt, 64);
	assert_int_equal(c->qpn, b->obj.num);
	assert_memory_equal(at_b(100), at_a(TMH), 64);
	assert_int_equal(*at_b(164), 0);
	is_free(0);
	no_more();
	assert_int_equal(srq->hw, 0);
	assert_int_equal(srq->tm->hw_phase, 0);
}

static void several_packets_complete_twice(void **state)
{
	const struct completion *c;

	(void)state;
	append(1, TAG, ~0ull, 0, 3000);
	header(EAGER, TAG);
	send_as(WQE_SEND_IMM, TMH + 3000);
	c = next_of(CQE_NO_PACKET, TM_CONSUMED);
	assert_header(c, EAGER, TAG);
	assert_int_equal(c->tm.index, 0);
	c = next_of(CQE_RESP_SEND_IMM, TM_EXPECTED);
	assert_int_equal(c->tm.index, 0);
	assert_int_equal(c->byte_cnt, 3000);
	assert_int_equal(c->imm_inval_pkey, 0x55);
	assert_true(get_be64(c->tm.header + 8) == 0);	/* the header is in the first one alone */
	assert_memory_equal(at_b(0), at_a(TMH), 3000);
	is_free(0);
	no_more();
}

static void a_message_without_data_fits_a_buffer_without_bytes(void **state)
{
	struct rig_wqe w;

	(void)state;
	tm_wqe(&w, WQE_TM_APPEND, 0, 1, 0);
	put_be64(w.b + 32, TAG);
	put_be64(w.b + 40, ~0ull);
	wq_data(&w, 0, 0, LKEY_TERMINATE);
	rig_send(1, cmd, w.b, w.ds);
	rig_settle();
	send_msg(EAGER, TAG, TMH);
	assert_int_equal(next_of(CQE_RESP_SEND, TM_CONSUMED_MSG)->byte_cnt, 0);
}

static void short_data_is_in_the_cqe_if_the_queue_pair_asks_for_it(void **state)
{
	(void)state;
	b->cs_res = 2;
	append(1, TAG, ~0ull, 0, 100);
	append(2, TAG, ~0ull, 0, 100);
	send_msg(EAGER, TAG, TMH + 64);
	assert_int_equal(next_of(CQE_RESP_SEND, TM_CONSUMED_MSG)->inline_len, 64);
	assert_memory_equal(rig_cqe(CQ_TM, 0)->data, at_a(TMH), 64);
	assert_header(&rig_cqe(CQ_TM, 0)->c, EAGER, TAG);
	assert_int_equal(*at_b(0), 0);
	send_msg(EAGER, TAG, TMH + 65);
	assert_int_equal(next_of(CQE_RESP_SEND, TM_CONSUMED_MSG)->inline_len, 0);
	assert_memory_equal(at_b(0), at_a(TMH), 65);
	/* The header is where the data of other messages is. */
	append(3, TAG, ~0ull, 0, 100);
	send_msg(EAGER, TAG, TMH + 10);
	assert_int_equal(next_of(CQE_RESP_SEND, TM_CONSUMED_MSG)->inline_len, 10);
	assert_memory_equal(rig_cqe(CQ_TM, 2)->data, at_a(TMH), 10);
	assert_header(&rig_cqe(CQ_TM, 2)->c, EAGER, TAG);
	b->cs_res = 1;
	append(4, TAG, ~0ull, 200, 100);
	send_msg(EAGER, TAG, TMH + 32);
	assert_int_equal(next_of(CQE_RESP_SEND, TM_CONSUMED_MSG)->inline_len, 0);
	assert_memory_equal(at_b(200), at_a(TMH), 32);
}

static void what_matches_no_tag_takes_a_receive_wqe(void **state)
{
	const struct completion *c;

	(void)state;
	append(1, TAG, ~0ull, 4096, 64);
	recv_wqe(4000);
	recv_wqe(4000);
	send_msg(EAGER, TAG + 1, 3000);
	c = next_of(CQE_RESP_SEND, TM_UNEXPECTED);
	assert_int_equal(c->byte_cnt, 3000);
	assert_int_equal(c->wqe_counter, 0);
	assert_memory_equal(at_b(0), at_a(0), 3000);
	assert_int_equal(srq->tm->hw_phase, 1);
	send_rndv(TAG + 1, buf_a, key_a, 100, 64);
	c = next_of(CQE_RESP_SEND, TM_UNEXPECTED);
	assert_int_equal(c->byte_cnt, 64);
	assert_int_equal(srq->tm->hw_phase, 2);
	send_msg(EAGER, TAG, TMH);	/* listed before: still matches */
	next_of(CQE_RESP_SEND, TM_CONSUMED_MSG);
	no_more();
}

static void what_has_no_tag_is_not_counted(void **state)
{
	(void)state;
	append(1, 0, 0, 4096, 64);	/* matches every tag */
	recv_wqe(64);
	recv_wqe(64);
	send_msg(NO_TAG, TAG, 1);
	assert_int_equal(next_of(CQE_RESP_SEND, TM_NO_TAG)->byte_cnt, 1);
	send_msg(FIN, TAG, RVH);
	assert_int_equal(next_of(CQE_RESP_SEND, TM_NO_TAG)->wqe_counter, 1);
	assert_int_equal(srq->tm->hw_phase, 0);
	assert_int_equal(srq->tm->entry[0].state, TM_LISTED);
	no_more();
}

static void a_new_tag_waits_for_software(void **state)
{
	(void)state;
	recv_wqe(64);
	recv_wqe(64);
	send_msg(EAGER, TAG, TMH);
	next_of(CQE_RESP_SEND, TM_UNEXPECTED);
	append(1, TAG, ~0ull, 0, 64);
	send_msg(EAGER, TAG, TMH);
	next_of(CQE_RESP_SEND, TM_UNEXPECTED);
	change(WQE_TM_NOP, SYNC, 0, 2);
	send_msg(EAGER, TAG, TMH);
	next_of(CQE_RESP_SEND, TM_CONSUMED_MSG);
	no_more();
}

/* A message that finds no receive WQE comes again, and its tag is matched again. */
static void a_message_without_a_receive_wqe_is_matched_again(void **state)
{
	(void)state;
	send_msg(EAGER, TAG, TMH + 10);
	no_more();
	assert_int_equal(srq->tm->hw_phase, 0);
	append(1, TAG, ~0ull, 0, 64);
	rig_run(2, 100);
	rig_settle();
	next_of(CQE_RESP_SEND, TM_CONSUMED_MSG);
	no_more();
}

static void a_write_with_immediate_is_no_message(void **state)
{
	struct rig_wqe w;
	struct rig_cqe *e;

	(void)state;
	append(1, 0, 0, 0, 64);
	recv_wqe(64);
	wq_ctrl(&w, WQE_RDMA_WRITE_IMM, true, 0x55);
	wq_raddr(&w, buf_b, key_b);
	wq_data(&w, buf_a, 64, key_a);
	rig_send(0, a, w.b, w.ds);
	rig_settle();
	e = rig_cqe(CQ_TM, 0);
	assert_int_equal(e->c.opcode, CQE_RESP_WR_IMM);
	assert_false(e->c.is_tm);
	assert_int_equal(e->c.srqn_uidx, USER);
}

/* ---- messages that are refused --------------------------------------------------------------- */

static void refused(unsigned int event)
{
	sender_got(0, CQE_REQ_ERR, SYND_REMOTE_INVAL_REQ);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(rig_events(event), 1);
	no_more();
}

static void a_short_header_is_refused(void **state)
{
	(void)state;
	send_msg(EAGER, TAG, TMH - 1);
	refused(EV_WQ_INVAL_REQ);
}

static void a_message_without_bytes_is_refused(void **state)
{
	(void)state;
	send_msg(EAGER, TAG, 0);
	refused(EV_WQ_INVAL_REQ);
}

static void an_unknown_header_is_refused(void **state)
{
	(void)state;
	send_msg(4, TAG, TMH);
	refused(EV_WQ_INVAL_REQ);
}

static void a_short_rendezvous_is_refused(void **state)
{
	(void)state;
	send_rndv(TAG, buf_a, key_a, 100, RVH - 1);
	refused(EV_WQ_INVAL_REQ);
}

static void a_long_rendezvous_is_refused(void **state)
{
	(void)state;
	send_rndv(TAG, buf_a, key_a, 100, 65);
	refused(EV_WQ_INVAL_REQ);
}

static void data_beyond_the_buffer_ends_the_message(void **state)
{
	(void)state;
	append(1, TAG, ~0ull, 0, 2000);
	send_msg(EAGER, TAG, TMH + 2001);
	next_of(CQE_NO_PACKET, TM_CONSUMED);
	assert_int_equal(next_of(CQE_RESP_SEND, TM_CANCELED)->tm.index, 0);
	is_free(0);
	refused(EV_WQ_INVAL_REQ);
	assert_int_equal(*at_b(2000), 0);
}

static void a_wrong_key_ends_the_message(void **state)
{
	(void)state;
	append(1, TAG, ~0ull, BUF - 8, 64);	/* beyond the end of the key */
	send_msg(EAGER, TAG, TMH + 10);
	next_of(CQE_RESP_SEND, TM_CANCELED);
	is_free(0);
	sender_got(0, CQE_REQ_ERR, SYND_REMOTE_OP);
	no_more();
}

static void buffers_have_the_domain_of_the_xrq(void **state)
{
	(void)state;
	b->pdn = 99;
	append(1, TAG, ~0ull, 0, 64);
	send_msg(EAGER, TAG, TMH + 64);
	next_of(CQE_RESP_SEND, TM_CONSUMED_MSG);
	append(2, TAG, ~0ull, 0, 64);
	srq->pdn = 98;
	send_msg(EAGER, TAG, TMH + 64);
	next_of(CQE_RESP_SEND, TM_CANCELED);
}

/* A packet of a SEND arrives with the first @len bytes of the buffer. */
static void receive(uint8_t opcode, uint32_t len)
{
	struct packet *p = packet_alloc(rig.fabric);

	p->opcode = BTH_RC | opcode;
	p->psn = b->next_rcv_psn;
	p->head.len = len;
	memcpy(p->payload, at_a(0), len);
	resp_receive(rig.hca[1], b, p);
	packet_free(rig.fabric, p);
}

/* The rest of a message will not come, because the receiver is reset, or fails. */
static void leave_half_a_message(void)
{
	append(1, TAG, ~0ull, 0, 4000);
	header(EAGER, TAG);
	receive(BTH_SEND_FIRST, b->mtu);
	next_of(CQE_NO_PACKET, TM_CONSUMED);
	assert_int_equal(srq->tm->entry[0].state, TM_HELD);
}

static void a_failed_queue_pair_ends_its_message(void **state)
{
	(void)state;
	leave_half_a_message();
	rig_state(1, b, QPS_ERR);
	assert_int_equal(next_of(CQE_RESP_SEND, TM_CANCELED)->qpn, b->obj.num);
	is_free(0);
	no_more();
}

static void a_reset_queue_pair_returns_its_entry(void **state)
{
	(void)state;
	leave_half_a_message();
	rig_state(1, b, QPS_RST);
	is_free(0);
	no_more();
}

static void a_destroyed_queue_pair_returns_its_entry(void **state)
{
	(void)state;
	leave_half_a_message();
	rig_free_qp(1, b);
	b = with_xrq(CQ_B);
	is_free(0);
	no_more();
}

/*
 * The first packet of an unexpected message has taken a WQE, and the rest will not come: software
 * does not learn of the message, so it is not counted, and a tag that has waited for software is
 * listed.
 */
static void half_unexpected(enum qp_state state)
{
	recv_wqe(4000);
	header(EAGER, TAG + 1);
	receive(BTH_SEND_FIRST, b->mtu);
	assert_int_equal(srq->tm->hw_phase, 1);
	append(1, TAG, ~0ull, 0, 64);
	assert_int_equal(srq->tm->entry[0].state, TM_WAITING);
	rig_state(1, b, state);
	assert_int_equal(srq->tm->hw_phase, 0);
	assert_int_equal(srq->tm->entry[0].state, TM_LISTED);
}

static void a_failed_queue_pair_has_counted_no_message(void **state)
{
	(void)state;
	half_unexpected(QPS_ERR);
	assert_int_equal(rig_cqe(CQ_TM, 0)->c.error, ERR_FLUSHED);
}

static void a_reset_queue_pair_has_counted_no_message(void **state)
{
	(void)state;
	half_unexpected(QPS_RST);
}

/* A message that is complete stays counted. */
static void a_complete_message_stays_counted(void **state)
{
	(void)state;
	recv_wqe(4000);
	send_msg(EAGER, TAG + 1, 3000);
	next_of(CQE_RESP_SEND, TM_UNEXPECTED);
	rig_state(1, b, QPS_ERR);
	assert_int_equal(srq->tm->hw_phase, 1);
}

/* ---- rendezvous ------------------------------------------------------------------------------ */

static void the_hca_reads_the_data_and_tells_the_sender(void **state)
{
	const struct completion *c;

	(void)state;
	append(1, TAG, ~0ull, 0, 4000);
	rig_recv(0, a, buf_a + 6000, 64, key_a);
	send_rndv(TAG, buf_a + 1000, key_a, 3000, 64);
	rig_run(4, 1000);
	c = next_of(CQE_NO_PACKET, TM_CONSUMED);
	assert_header(c, RNDV, TAG);
	c = next_of(CQE_RESP_SEND, TM_EXPECTED);
	assert_int_equal(c->byte_cnt, 3000);
	assert_int_equal(c->tm.index, 0);
	assert_int_equal(c->qpn, b->obj.num);
	assert_memory_equal(at_b(0), at_a(1000), 3000);
	assert_int_equal(*at_b(3000), 0);
	is_free(0);
	/* FIN leaves when the data is there. */
	assert_true(rig_cqe(CQ_TM, 1) < rig_cqe(CQ_A + 1, 0));
	assert_int_equal(rig_cqe(CQ_A + 1, 0)->c.opcode, CQE_RESP_SEND);
	assert_int_equal(rig_cqe(CQ_A + 1, 0)->c.byte_cnt, RVH);
	assert_int_equal(*at_a(6000), FIN);
	assert_memory_equal(at_a(6001), at_a(1), RVH - 1);
	no_more();
}

static void several_rendezvous_are_served_in_order(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		append(i + 1, i, ~0ull, i * 1500, 1500);
		rig_recv(0, a, buf_a + 7000, 64, key_a);
	}
	for (i = 0; i < 3; i++) {
		struct rig_wqe w;
		uint8_t msg[RVH] = { RNDV };

		put_be64(msg + 8, i);
		put_be64(msg + 16, buf_a + 100 * i);
		put_be32(msg + 24, key_a);
		put_be32(msg + 28, 1500);
		wq_ctrl(&w, WQE_SEND, true, 0);
		wq_inline(&w, msg, sizeof(msg));
		rig_send(0, a, w.b, w.ds);
	}
	assert_int_equal(rig_run(12, 1000), 12);
	for (i = 0; i < 3; i++) {
		assert_memory_equal(at_b(i * 1500), at_a(100 * i), 1500);
		is_free(i);
	}
	assert_non_null(rig_cqe(CQ_A + 1, 2));
}

static void software_reads_what_does_not_fit(void **state)
{
	const struct completion *c;

	(void)state;
	append(1, TAG, ~0ull, 0, 100);
	send_rndv(TAG, buf_a, key_a, 101, 50);
	c = next_of(CQE_RESP_SEND, TM_CONSUMED_MSG_SW_RNDV);
	assert_header(c, RNDV, TAG);
	assert_int_equal(c->byte_cnt, RVH);
	assert_memory_equal(at_b(0), at_a(0), RVH);
	assert_int_equal(*at_b(RVH), 0);
	is_free(0);
	append(2, TAG, ~0ull, 200, RVH);	/* room for the headers, not for all of the message */
	send_rndv(TAG, buf_a, key_a, 101, 64);
	next_of(CQE_RESP_SEND, TM_CONSUMED_MSG_SW_RNDV);
	assert_memory_equal(at_b(200), at_a(0), RVH);
	no_more();
}

/* A program that sleeps until a solicited completion comes is woken at both ends. */
static void a_solicited_rendezvous_is_solicited_at_both_ends(void **state)
{
	const struct cq *cq_tm = cq_find(rig.hca[1], CQ_TM), *cq_a = cq_find(rig.hca[0], CQ_A + 1);
	struct rig_wqe w;

	(void)state;
	append(1, TAG, ~0ull, 0, 4000);
	rig_recv(0, a, buf_a + 6000, 64, key_a);
	rndv_headers(TAG, buf_a + 1000, key_a, 3000);
	wq_ctrl(&w, WQE_SEND, true, 0);
	w.b[11] |= 2;
	wq_data(&w, buf_a, RVH, key_a);
	rig_send(0, a, w.b, w.ds);
	rig_run(4, 1000);
	next_of(CQE_NO_PACKET, TM_CONSUMED);
	next_of(CQE_RESP_SEND, TM_EXPECTED);
	assert_true(cq_tm->sol_seen && cq_tm->sol_pi == 2);
	assert_true(cq_a->sol_seen && cq_a->sol_pi == 1);
}

/* The sender names a key that it may not invalidate, with SEND_INV. */
static void a_rendezvous_may_not_invalidate_any_key(void **state)
{
	(void)state;
	append(1, TAG, ~0ull, 0, 4000);
	rndv_headers(TAG, buf_a, key_a, 3000);
	send_as(WQE_SEND_INVAL, RVH);
	sender_got(0, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
	assert_int_equal(b->state, QPS_ERR);
	next_of(CQE_RESP_SEND, TM_CANCELED);
	is_free(0);
	no_more();
}

static void software_reads_without_the_offload(void **state)
{
	(void)state;
	srq->rndv = false;
	append(1, TAG, ~0ull, 0, 100);
	send_rndv(TAG, buf_a, key_a, 10, 40);
	next_of(CQE_RESP_SEND, TM_CONSUMED_MSG_SW_RNDV);
	srq->rndv = true;
	b->rndv = false;
	append(2, TAG, ~0ull, 0, 100);
	send_rndv(TAG, buf_a, key_a, 10, 40);
	next_of(CQE_RESP_SEND, TM_CONSUMED_MSG_SW_RNDV);
	no_more();
}

/* Before RTS the queue pair cannot read: the sender has to send the message again. */
static void rendezvous_waits_until_the_queue_pair_can_send(void **state)
{
	(void)state;
	append(1, TAG, ~0ull, 0, 100);
	rig_recv(0, a, buf_a + 6000, 64, key_a);
	b->state = QPS_RTR;
	send_rndv(TAG, buf_a + 100, key_a, 100, RVH);
	no_more();
	assert_int_equal(srq->tm->entry[0].state, TM_LISTED);
	rig_state(1, b, QPS_RTS);
	rig_run(4, 100);
	rig_settle();
	next_of(CQE_NO_PACKET, TM_CONSUMED);
	next_of(CQE_RESP_SEND, TM_EXPECTED);
	assert_memory_equal(at_b(0), at_a(100), 100);
}

static void a_refused_read_ends_the_message(void **state)
{
	(void)state;
	append(1, TAG, ~0ull, 0, 4000);
	send_rndv(TAG, buf_a, key_a + 0x100, 3000, RVH);
	rig_run(4, 300);
	next_of(CQE_NO_PACKET, TM_CONSUMED);
	assert_int_equal(next_of(CQE_RESP_SEND, TM_CANCELED)->tm.index, 0);
	assert_int_equal(b->state, QPS_ERR);
	is_free(0);
	no_more();
}

static void a_buffer_that_refuses_the_data_ends_the_message(void **state)
{
	(void)state;
	append(1, TAG, ~0ull, BUF - 8, 64);
	send_rndv(TAG, buf_a, key_a, 60, RVH);
	rig_run(4, 300);
	next_of(CQE_NO_PACKET, TM_CONSUMED);
	next_of(CQE_RESP_SEND, TM_CANCELED);
	assert_int_equal(b->state, QPS_ERR);
	no_more();
}

/* The data has arrived, and the sender has no receive WQE for FIN. */
static void a_fin_that_fails_fails_the_queue_pair(void **state)
{
	(void)state;
	b->rnr_retry = b->cur_rnr_retry = 0;
	append(1, TAG, ~0ull, 0, 64);
	send_rndv(TAG, buf_a, key_a, 60, RVH);
	rig_run(3, 1000);
	rig_settle();
	next_of(CQE_NO_PACKET, TM_CONSUMED);
	next_of(CQE_RESP_SEND, TM_EXPECTED);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(rig_events(EV_WQ_CATAS_ERROR), 1);
	is_free(0);
	no_more();
}

static void a_drained_queue_pair_still_serves_rendezvous(void **state)
{
	(void)state;
	append(1, TAG, ~0ull, 0, 64);
	rig_recv(0, a, buf_a + 6000, 64, key_a);
	rndv_headers(TAG, buf_a + 100, key_a, 60);
	receive(BTH_SEND_ONLY, RVH);	/* the READ waits for its turn */
	rig_state(1, b, QPS_SQ_DRAINING);
	rig_run(3, 2000);
	rig_settle();
	next_of(CQE_NO_PACKET, TM_CONSUMED);
	next_of(CQE_RESP_SEND, TM_EXPECTED);
	assert_int_equal(b->state, QPS_SQD);
	assert_int_equal(*at_a(6000), FIN);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(changes_complete_if_they_ask_for_it), T(unknown_op_is_refused),
		T(reserved_op_is_refused), T(unknown_flag_is_refused), T(asks_twice_is_refused),
		T(too_short_is_refused), T(no_buffer_is_refused), T(two_buffers_is_refused),
		T(next_is_self_is_refused), T(next_too_high_is_refused),
		T(remove_too_high_is_refused), T(inline_buffer_is_refused),
		T(a_queue_pair_without_an_xrq_has_no_list), T(a_used_entry_is_not_filled_again),
		T(an_xrq_in_error_has_no_list),
		T(the_trace_tells_of_tags), T(one_packet_completes_once),
		T(several_packets_complete_twice),
		T(a_message_without_data_fits_a_buffer_without_bytes),
		T(short_data_is_in_the_cqe_if_the_queue_pair_asks_for_it),
		T(what_matches_no_tag_takes_a_receive_wqe), T(what_has_no_tag_is_not_counted),
		T(a_new_tag_waits_for_software),
		T(a_message_without_a_receive_wqe_is_matched_again),
		T(a_write_with_immediate_is_no_message), T(a_short_header_is_refused),
		T(a_message_without_bytes_is_refused), T(an_unknown_header_is_refused),
		T(a_short_rendezvous_is_refused), T(a_long_rendezvous_is_refused),
		T(data_beyond_the_buffer_ends_the_message), T(a_wrong_key_ends_the_message),
		T(buffers_have_the_domain_of_the_xrq), T(a_failed_queue_pair_ends_its_message),
		T(a_reset_queue_pair_returns_its_entry),
		T(a_destroyed_queue_pair_returns_its_entry),
		T(a_failed_queue_pair_has_counted_no_message),
		T(a_reset_queue_pair_has_counted_no_message), T(a_complete_message_stays_counted),
		T(the_hca_reads_the_data_and_tells_the_sender),
		T(several_rendezvous_are_served_in_order), T(software_reads_what_does_not_fit),
		T(a_solicited_rendezvous_is_solicited_at_both_ends),
		T(a_rendezvous_may_not_invalidate_any_key),
		T(software_reads_without_the_offload),
		T(rendezvous_waits_until_the_queue_pair_can_send),
		T(a_refused_read_ends_the_message),
		T(a_buffer_that_refuses_the_data_ends_the_message),
		T(a_fin_that_fails_fails_the_queue_pair),
		T(a_drained_queue_pair_still_serves_rendezvous),
	};

	return cmocka_run_group_tests_name("tm", tests, NULL, NULL);
}
