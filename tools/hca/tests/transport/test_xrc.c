// SPDX-License-Identifier: GPL-2.0
/*
 * Extended reliable connections (XRC): each packet names a shared receive queue. The message
 * completes on the CQ of that queue, the CQE has the queue's user index, and memory keys must have
 * the queue's protection domain.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cq.h"
#include "fabric.h"
#include "ib_packet.h"
#include "ifc.h"
#include "mkey.h"
#include "object.h"
#include "packet.h"
#include "pairrig.h"
#include "qp.h"
#include "resp.h"
#include "srq.h"
#include "wqe.h"

#define CQ_A	10
#define CQ_B	20
#define CQ_SRQ	30
#define XRCD	3
#define LEN	3000		/* three packets */
#define ALL	(MK_LOCAL_READ | MK_LOCAL_WRITE | MK_REMOTE_READ | MK_REMOTE_WRITE | MK_ATOMIC)

static struct qp *a, *b;
static struct srq *srq;
static uint64_t buf_a, buf_b;
static uint32_t key_a, key_b;

static struct srq *new_srq(uint32_t xrcdn, uint32_t pdn)
{
	struct srq *s = rig_srq(1, SRQ_XRC, pdn);

	s->cqn = CQ_SRQ;
	rig_cq(1, CQ_SRQ);
	s->xrcdn = xrcdn;
	s->user_index = 0x777;
	s->cqe_version1 = true;
	return s;
}

static int up(void **state)
{
	unsigned int i;

	rig_up(state);
	a = rig_qp(0, QPT_XRC, CQ_A);
	rig_qp(1, QPT_RC, CQ_B - 2);	/* comes before b in the list of all queue pairs */
	b = rig_qp(1, QPT_XRC, CQ_B);
	b->xrcdn = XRCD;
	b->pdn = 99;		/* the domain of a target is not used */
	b->rq_cnt = 0;
	buf_a = rig_alloc(0, LEN);
	buf_b = rig_alloc(1, LEN);
	key_a = rig_mkey(0, buf_a, LEN, ALL);
	key_b = rig_mkey(1, buf_b, LEN, ALL);
	for (i = 0; i < LEN; i++)
		((uint8_t *)rig_ptr(0, buf_a))[i] = i * 5 + (i >> 8);
	srq = new_srq(XRCD, RIG_PD);
	rig_connect(a, 0, b, 1);
	return 0;
}

static int down(void **state)
{
	free(srq->mem.pas);
	obj_free(rig.hca[1], &srq->obj);
	return rig_down(state);
}

static void post_recv(uint32_t len, uint32_t key)
{
	uint8_t *w = rig_ptr(1, srq->mem.pas[0]);

	put_be16(w + 2, 1);
	put_be32(w + 16, len);
	put_be32(w + 20, key);
	put_be64(w + 24, buf_b);
	put_be32(w + 36, LKEY_TERMINATE);
	put_be32(rig_ptr(1, srq->dbr.addr), 1);
}

static void post(uint8_t opcode, uint32_t srqn, bool remote)
{
	struct rig_wqe w;

	wq_ctrl(&w, opcode, true, 0);
	put_be32(w.b + w.ds * 16, srqn);
	w.ds++;
	if (remote)
		wq_raddr(&w, buf_b, key_b);
	wq_data(&w, buf_a, LEN, key_a);
	rig_send(0, a, w.b, w.ds);
}

static void expect(uint32_t cqn, uint8_t opcode, uint8_t syndrome)
{
	struct rig_cqe *e = rig_cqe(cqn, 0);

	assert_non_null(e);
	assert_int_equal(e->c.opcode, opcode);
	assert_int_equal(cqe_error_syndrome(e->c.error), syndrome);
}

static void send_goes_to_the_srq_of_the_packet(void **state)
{
	(void)state;
	post_recv(LEN, key_b);
	post(WQE_SEND, srq->obj.num, false);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, CQE_REQ, 0);
	expect(CQ_SRQ, CQE_RESP_SEND, 0);
	assert_int_equal(rig_cqe(CQ_SRQ, 0)->c.srqn_uidx, 0x777);
	assert_int_equal(rig_cqe(CQ_SRQ, 0)->c.qpn, b->obj.num);
	assert_memory_equal(rig_ptr(0, buf_a), rig_ptr(1, buf_b), LEN);
}

static void write_uses_the_pd_of_the_srq(void **state)
{
	(void)state;
	post(WQE_RDMA_WRITE, srq->obj.num, true);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, CQE_REQ, 0);
	assert_memory_equal(rig_ptr(0, buf_a), rig_ptr(1, buf_b), LEN);
}

static void read_uses_the_pd_of_the_srq(void **state)
{
	(void)state;
	post(WQE_RDMA_READ, srq->obj.num, true);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, CQE_REQ, 0);
	assert_memory_equal(rig_ptr(0, buf_a), rig_ptr(1, buf_b), LEN);
}

static void free_srq(struct srq *s)
{
	resp_forget_srq(rig.hca[1], s);
	free(s->mem.pas);
	obj_free(rig.hca[1], &s->obj);
}

/* The answer to a READ is lost, and a request that names another SRQ has arrived since. */
static void repeated_read_uses_the_pd_of_its_srq(void **state)
{
	struct srq *other = new_srq(XRCD, RIG_PD + 1);
	struct rig_wqe w;

	(void)state;
	fabric_inject_drop(rig.hca[0], 0, 3);
	post(WQE_RDMA_READ, srq->obj.num, true);
	wq_ctrl(&w, WQE_RDMA_WRITE, true, 0);
	put_be32(w.b + w.ds * 16, other->obj.num);
	w.ds++;
	wq_raddr(&w, 0, 0);			/* no bytes, so that it needs no key */
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(2, 2000), 2);
	expect(CQ_A, CQE_REQ, 0);
	assert_int_equal(b->resp->xrc_srqn, other->obj.num);
	assert_memory_equal(rig_ptr(0, buf_a), rig_ptr(1, buf_b), LEN);
	free_srq(other);
}

/* A repeated READ is not answered if its SRQ does not exist any more. */
static void repeated_read_needs_its_srq(void **state)
{
	struct packet *p = packet_alloc(rig.fabric);
	uint64_t sent;

	(void)state;
	post(WQE_RDMA_READ, srq->obj.num, true);
	assert_int_equal(rig_run(1, 1000), 1);
	p->opcode = BTH_XRC | BTH_READ_REQ;
	ib_hdr(p)->slid = fabric_lid(rig.hca[0]);
	ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
	p->pkey = 0xffff;
	p->dqpn = b->obj.num;
	p->psn = (b->next_rcv_psn - 3) & PSN_MASK;
	p->va = buf_b;
	p->rkey = key_b;
	p->dma_len = LEN;
	p->xrc_srqn = srq->obj.num + 1;
	b->pdn = RIG_PD;
	sent = rig.hca[1]->count.packets_tx;
	fabric_tx(rig.hca[0], p);
	rig_settle();
	assert_int_equal(rig.hca[1]->count.packets_tx, sent);
}

static void key_of_another_pd_is_refused(void **state)
{
	(void)state;
	srq->pdn = RIG_PD + 1;
	post(WQE_RDMA_WRITE, srq->obj.num, true);
	rig_run(1, 1000);
	expect(CQ_A, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
}

static void srq_of_another_xrcd_is_refused(void **state)
{
	(void)state;
	srq->xrcdn = XRCD + 1;
	post_recv(LEN, key_b);
	post(WQE_SEND, srq->obj.num, false);
	rig_run(1, 1000);
	expect(CQ_A, CQE_REQ_ERR, SYND_REMOTE_INVAL_REQ);
	assert_null(rig_cqe(CQ_SRQ, 0));
}

static void unknown_srq_is_refused(void **state)
{
	(void)state;
	post(WQE_SEND, srq->obj.num + 1, false);
	rig_run(1, 1000);
	expect(CQ_A, CQE_REQ_ERR, SYND_REMOTE_INVAL_REQ);
}

/* Only XRC SRQs take messages of XRC, whatever domain another queue seems to have. */
static void queue_of_another_form_is_refused(void **state)
{
	(void)state;
	srq->kind = SRQ_RMP;
	post_recv(LEN, key_b);
	post(WQE_SEND, srq->obj.num, false);
	rig_run(1, 1000);
	expect(CQ_A, CQE_REQ_ERR, SYND_REMOTE_INVAL_REQ);
	assert_null(rig_cqe(CQ_SRQ, 0));
	assert_int_equal(srq->hw, 0);
}

/* Let a packet of a SEND arrive at b, which names this SRQ. */
static void arrive(uint8_t opcode, const struct srq *s)
{
	struct packet *p = packet_alloc(rig.fabric);

	p->opcode = BTH_XRC | opcode;
	p->psn = b->next_rcv_psn;
	p->xrc_srqn = s->obj.num;
	p->head.len = b->mtu;
	memset(p->payload, 0x5a, p->head.len);
	resp_receive(rig.hca[1], b, p);
	packet_free(rig.fabric, p);
}

/* All packets of a message name the same SRQ. */
static void message_does_not_change_its_srq(void **state)
{
	struct srq *other = new_srq(XRCD, RIG_PD);

	(void)state;
	post_recv(LEN, key_b);
	arrive(BTH_SEND_FIRST, srq);
	assert_int_equal(b->state, QPS_RTS);
	arrive(BTH_SEND_LAST, other);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(b->error, ERR_REQUEST_INVALID);
	expect(CQ_SRQ, CQE_RESP_ERR, SYND_REMOTE_INVAL_REQ);
	free_srq(other);
}

/* Send a message of which only the first packet arrives. */
static void start_message(void)
{
	uint64_t end = clock_now_ns() + 1000000000ull;

	post_recv(LEN, key_b);
	fabric_inject_drop(rig.hca[1], 1, 2);
	post(WQE_SEND, srq->obj.num, false);
	/* Stop here: the requester's timer would send the dropped packets again. */
	while (rig.hca[1]->count.packets_dropped < 2 && clock_now_ns() < end)
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_true(b->resp->have_rwqe);
}

static void expect_nothing_more(void)
{
	rig_run(1, 2000);
	expect(CQ_A, CQE_REQ_ERR, SYND_REMOTE_INVAL_REQ);
	rig_settle();
	assert_null(rig_cqe(CQ_SRQ, 0));
}

static void srq_destroyed_in_the_middle_of_a_message(void **state)
{
	uint32_t num = srq->obj.num;

	(void)state;
	start_message();
	free_srq(srq);
	/*
	 * A new SRQ has the freed number when the rest of the message arrives, but gets nothing of
	 * it.
	 */
	srq = new_srq(XRCD, RIG_PD);
	assert_int_equal(srq->obj.num, num);
	post_recv(LEN, key_b);
	expect_nothing_more();
}

static void message_to_another_srq_completes(void **state)
{
	struct srq *other = new_srq(XRCD, RIG_PD);

	(void)state;
	start_message();
	free_srq(other);
	assert_int_equal(rig_run(2, 2000), 2);
	expect(CQ_A, CQE_REQ, 0);
	expect(CQ_SRQ, CQE_RESP_SEND, 0);
	assert_memory_equal(rig_ptr(0, buf_a), rig_ptr(1, buf_b), LEN);
}

#define T(f)	cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(send_goes_to_the_srq_of_the_packet), T(write_uses_the_pd_of_the_srq),
		T(read_uses_the_pd_of_the_srq), T(repeated_read_uses_the_pd_of_its_srq),
		T(repeated_read_needs_its_srq), T(key_of_another_pd_is_refused),
		T(srq_of_another_xrcd_is_refused), T(unknown_srq_is_refused),
		T(queue_of_another_form_is_refused), T(message_does_not_change_its_srq),
		T(srq_destroyed_in_the_middle_of_a_message), T(message_to_another_srq_completes),
	};

	return cmocka_run_group_tests_name("xrc", tests, NULL, NULL);
}
