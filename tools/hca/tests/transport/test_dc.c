// SPDX-License-Identifier: GPL-2.0
/*
 * Dynamic connections (DC): an initiator of HCA 0 and targets of HCA 1. The address vector of a WQE
 * names the target and its access key. The data arrives through the shared receive queue, and the
 * completion has the user index of the target.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cq.h"
#include "dc.h"
#include "dct.h"
#include "fabric.h"
#include "ib_packet.h"
#include "ifc.h"
#include "mkey.h"
#include "packet.h"
#include "pairrig.h"
#include "qp.h"
#include "srq.h"
#include "wqe.h"

#define CQ_A	10
#define CQ_DCT	30
#define LEN	3000		/* three packets */
#define BUF	(64u << 10)
#define KEY	0x1234567890abcdefull
#define USER	0x777
#define DCTN	0xa00000
#define ALL	(MK_LOCAL_READ | MK_LOCAL_WRITE | MK_REMOTE_READ | MK_REMOTE_WRITE | MK_ATOMIC)

static struct qp *a;
static struct srq *srq;
static struct dct *dct;
static uint64_t buf_a, buf_b;
static uint32_t key_a, key_b;

static struct dct *new_dct(unsigned int n)
{
	struct dct *d = (struct dct *)obj_new_at(rig.hca[1], OBJ_DCT, DCTN + n, 0, sizeof(*d));
	struct qp *qp = &d->model;

	d->access_key = KEY;
	qp->obj = d->obj;
	qp->type = QPT_DCT;
	qp->state = QPS_RTS;
	qp->pdn = RIG_PD;
	qp->user_index = USER + n;
	qp->cqe_version1 = true;
	qp->rq_type = RQ_NONE;
	qp->cqn_rcv = CQ_DCT;
	qp->srq = srq;
	qp->mtu = 1024;
	qp->rre = qp->rwe = qp->rae = true;
	qp->atomic_mode = ATOMIC_8B;
	qp->min_rnr_nak = 12;
	qp->max_dest_rd_atomic = 4;
	return d;
}

static int up(void **state)
{
	unsigned int i;

	rig_up(state);
	rig.hca[0]->life = rig.hca[1]->life = LIFE_INIT;
	a = rig_qp(0, QPT_DCI, CQ_A);
	a->rq_type = RQ_NONE;
	a->rq_cnt = 0;
	a->next_send_psn = 0xfffffe;	/* the PSN wraps around soon */
	buf_a = rig_alloc(0, BUF);
	buf_b = rig_alloc(1, BUF);
	key_a = rig_mkey(0, buf_a, BUF, ALL);
	key_b = rig_mkey(1, buf_b, BUF, ALL);
	for (i = 0; i < BUF; i++)
		((uint8_t *)rig_ptr(0, buf_a))[i] = i * 5 + (i >> 8);
	rig_cq(1, CQ_DCT);
	srq = rig_srq(1, SRQ_RMP, RIG_PD);
	dct = new_dct(0);
	rig_state(0, a, QPS_INIT);
	rig_state(0, a, QPS_RTR);
	rig_state(0, a, QPS_RTS);
	return 0;
}

static int down(void **state)
{
	dc_module.reset(rig.hca[1]);
	obj_free_all(rig.hca[1], OBJ_DCT);
	free(srq->mem.pas);
	obj_free(rig.hca[1], &srq->obj);
	return rig_down(state);
}

static void post_recv(uint32_t len)
{
	rig_srq_recv(1, srq, buf_b, len, key_b);
}

/* Post a WQE to target number @dctn with the access key @key. */
static void post_to(uint32_t dctn, uint64_t key, uint8_t opcode, uint32_t len)
{
	bool remote = opcode != WQE_SEND && opcode != WQE_SEND_IMM;
	struct rig_wqe w;

	wq_ctrl(&w, opcode, true, 0x55);
	wq_av(&w, fabric_lid(rig.hca[1]), dctn, 0, NULL);
	put_be64(w.b + 16, key);
	if (remote)
		wq_raddr(&w, buf_b, key_b);
	if (opcode == WQE_ATOMIC_FA)
		wq_atomic(&w, 3, 0);
	if (len)
		wq_data(&w, buf_a, len, key_a);
	rig_send(0, a, w.b, w.ds);
}

static void post(uint8_t opcode, uint32_t len)
{
	post_to(dct->obj.num, KEY, opcode, len);
}

static void expect(uint32_t cqn, unsigned int i, uint8_t opcode, uint8_t syndrome)
{
	struct rig_cqe *e = rig_cqe(cqn, i);

	assert_non_null(e);
	assert_int_equal(e->c.opcode, opcode);
	assert_int_equal(cqe_error_syndrome(e->c.error), syndrome);
}

static bool same(uint32_t len)
{
	return !memcmp(rig_ptr(0, buf_a), rig_ptr(1, buf_b), len);
}

/* ---- data ------------------------------------------------------------------------------------ */

static void send_arrives_through_the_srq(void **state)
{
	struct rig_cqe *e;

	(void)state;
	post_recv(LEN);
	post(WQE_SEND, LEN);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
	expect(CQ_DCT, 0, CQE_RESP_SEND, 0);
	assert_true(same(LEN));
	e = rig_cqe(CQ_DCT, 0);
	assert_int_equal(e->c.srqn_uidx, USER);
	assert_int_equal(e->c.qpn, dct->obj.num);
	assert_int_equal(e->c.src_qp, a->obj.num);
	assert_int_equal(e->c.byte_cnt, LEN);
}

static void write_read_and_atomic_work(void **state)
{
	uint64_t *word = rig_ptr(1, buf_b);

	(void)state;
	post(WQE_RDMA_WRITE, LEN);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_true(same(LEN));
	memset(rig_ptr(0, buf_a), 0, LEN);
	post(WQE_RDMA_READ, LEN);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 1, CQE_REQ, 0);
	assert_true(same(LEN));
	*word = 5;
	post(WQE_ATOMIC_FA, 8);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_A, 2, CQE_REQ, 0);
	assert_int_equal(*word, 8);
}

static void immediate_data_takes_a_receive_wqe(void **state)
{
	(void)state;
	post_recv(LEN);
	post(WQE_RDMA_WRITE_IMM, LEN);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_DCT, 0, CQE_RESP_WR_IMM, 0);
	assert_int_equal(rig_cqe(CQ_DCT, 0)->c.imm_inval_pkey, 0x55);
	assert_true(same(LEN));
}

static void short_data_goes_into_the_cqe(void **state)
{
	(void)state;
	dct->model.cs_res = 2;
	post_recv(LEN);
	post(WQE_SEND, 64);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_DCT, 0)->c.inline_len, 64);
	assert_memory_equal(rig_cqe(CQ_DCT, 0)->data, rig_ptr(0, buf_a), 64);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void one_connection_serves_all_messages(void **state)
{
	unsigned int i;

	(void)state;
	rig_count(1, &dct->model);
	for (i = 0; i < 10; i++)
		post(WQE_RDMA_WRITE, LEN);
	assert_int_equal(rig_run(10, 1000), 10);
	assert_int_equal(rig_counted(1, &dct->model, rx_dct_connect), 1);
	assert_int_equal(dct->connections, 1);
}

static void another_target_ends_the_connection(void **state)
{
	struct dct *other = new_dct(1);
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		post_recv(LEN);
		post_to(i & 1 ? other->obj.num : dct->obj.num, KEY, WQE_SEND, LEN);
	}
	assert_int_equal(rig_run(8, 1000), 8);
	for (i = 0; i < 4; i++)
		assert_int_equal(rig_cqe(CQ_DCT, i)->c.srqn_uidx, USER + (i & 1));
	rig_settle();
	assert_int_equal(dct->connections, 0);
	assert_int_equal(other->connections, 1);
}

static void a_reset_ends_the_connection(void **state)
{
	(void)state;
	post(WQE_RDMA_WRITE, LEN);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_int_equal(dct->connections, 1);
	rig_state(0, a, QPS_RST);
	rig_settle();
	assert_int_equal(dct->connections, 0);
}

static void the_end_of_the_initiator_ends_the_connection(void **state)
{
	(void)state;
	post(WQE_RDMA_WRITE, LEN);
	assert_int_equal(rig_run(1, 1000), 1);
	rig_free_qp(0, a);
	rig_settle();
	assert_int_equal(dct->connections, 0);
}

/* Give HCA 1 a packet of the initiator. */
static void inject(uint8_t op, uint32_t connection, uint32_t psn, uint16_t slid)
{
	struct packet *p = packet_alloc(rig.fabric);

	p->opcode = BTH_DC | op;
	p->pkey = 0xffff;
	p->dqpn = dct->obj.num;
	p->sqpn = a->obj.num;
	p->dc_connection = connection;
	p->dc_key = KEY;
	p->psn = psn;
	p->va = buf_b;
	p->rkey = key_b;
	ib_hdr(p)->slid = slid;
	ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
	dc_receive(rig.hca[1], p);
	packet_free(rig.fabric, p);
}

static void a_late_packet_of_an_old_connection_is_dropped(void **state)
{
	uint16_t lid = fabric_lid(rig.hca[0]);
	uint64_t dropped;
	uint32_t psn;

	(void)state;
	post(WQE_RDMA_WRITE, LEN);
	assert_int_equal(rig_run(1, 1000), 1);
	psn = a->next_send_psn;
	dropped = rig.hca[1]->count.packets_dropped;
	inject(BTH_WRITE_ONLY, a->dc_connection - 1, psn, lid);
	assert_int_equal(rig.hca[1]->count.packets_dropped, dropped + 1);
	inject(BTH_CONNECT, a->dc_connection - 1, psn, lid);
	inject(BTH_DISCONNECT, a->dc_connection - 1, psn, lid);
	assert_int_equal(dct->connections, 1);
	post(WQE_RDMA_WRITE, LEN);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 1, CQE_REQ, 0);
}

static void another_port_does_not_reach_the_connection(void **state)
{
	uint64_t dropped;

	(void)state;
	post(WQE_RDMA_WRITE, LEN);
	assert_int_equal(rig_run(1, 1000), 1);
	dropped = rig.hca[1]->count.packets_dropped;
	inject(BTH_WRITE_ONLY, a->dc_connection, a->next_send_psn, 77);
	inject(BTH_DISCONNECT, a->dc_connection, a->next_send_psn, 77);
	assert_int_equal(rig.hca[1]->count.packets_dropped, dropped + 1);
	assert_int_equal(dct->connections, 1);
}

static void a_lost_connect_is_repeated(void **state)
{
	uint32_t dctn = dct->obj.num;

	(void)state;
	dct->state = DCT_DRAINING;	/* drops CONNECT, and what follows */
	post_recv(LEN);
	post(WQE_SEND, LEN);
	rig_run(1, 5);
	assert_int_equal(rig.ncqe, 0);
	dct->state = DCT_ACTIVE;
	assert_int_equal(rig_run(2, 2000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_int_equal(rig_cqe(CQ_DCT, 0)->c.qpn, dctn);
	assert_true(same(LEN));
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void a_wrong_key_reaches_nothing(void **state)
{
	(void)state;
	a->retry_count = a->cur_retry = 1;
	rig_count(1, &dct->model);
	dct->armed = true;
	post_recv(LEN);
	post_to(dct->obj.num, KEY + 1, WQE_SEND, LEN);
	assert_int_equal(rig_run(1, 2000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
	assert_int_equal(rig_cqe(CQ_A, 0)->c.wqe_counter, 0);
	assert_int_equal(a->state, QPS_ERR);
	assert_int_equal(dct->connections, 0);
	assert_int_equal(rig_events(EV_DCT_KEY_VIOLATION), 1);
	assert_true(dct->violations >= 2);
	assert_int_equal(rig_counted(1, &dct->model, rx_dct_connect), dct->violations);
	assert_int_equal(srq->hw, 0);
}

/* Nothing follows CONNECT, which the target acknowledges. */
static void a_local_error_of_the_first_message_is_told(void **state)
{
	(void)state;
	key_a++;
	post(WQE_RDMA_WRITE, LEN);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_PROT);
	assert_int_equal(a->state, QPS_ERR);
}

static void an_unknown_target_does_not_answer(void **state)
{
	(void)state;
	a->retry_count = a->cur_retry = 0;
	post_to(dct->obj.num + 9, KEY, WQE_RDMA_WRITE, LEN);
	post(WQE_RDMA_WRITE, LEN);
	assert_int_equal(rig_run(2, 2000), 2);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_WR_FLUSH);
	assert_int_equal(rig.ncqe, 2);
}

static void another_partition_does_not_connect(void **state)
{
	(void)state;
	a->retry_count = a->cur_retry = 0;
	dct->model.path.pkey_index = 1;
	post(WQE_RDMA_WRITE, LEN);
	assert_int_equal(rig_run(1, 2000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
	assert_int_equal(dct->connections, 0);
}

static void a_refused_request_fails_the_connection_only(void **state)
{
	struct qp *c;

	(void)state;
	c = rig_qp(0, QPT_DCI, CQ_A + 4);
	c->rq_cnt = 0;
	rig_state(0, c, QPS_INIT);
	rig_state(0, c, QPS_RTR);
	rig_state(0, c, QPS_RTS);
	dct->model.rwe = false;
	post(WQE_RDMA_WRITE, LEN);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_INVAL_REQ);
	assert_int_equal(a->state, QPS_ERR);
	assert_int_equal(rig.nevents, 0);
	rig_settle();
	assert_int_equal(dct->connections, 0);
	a = c;
	post_recv(LEN);
	post(WQE_SEND, LEN);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_A + 4, 0, CQE_REQ, 0);
}

static void a_message_that_is_too_long_fails_its_receive_wqe(void **state)
{
	(void)state;
	post_recv(LEN - 1);
	post(WQE_SEND, LEN);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_INVAL_REQ);
	expect(CQ_DCT, 0, CQE_RESP_ERR, SYND_LOCAL_LENGTH);
	assert_int_equal(rig_events(EV_SRQ_LAST_WQE), 0);
}

static void no_receive_wqe_makes_the_initiator_wait(void **state)
{
	(void)state;
	dct->model.min_rnr_nak = 1;
	post(WQE_SEND, LEN);
	rig_run(1, 30);
	assert_int_equal(rig.ncqe, 0);
	post_recv(LEN);
	assert_int_equal(rig_run(2, 2000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_true(same(LEN));
}

static void rnr_retries_run_out(void **state)
{
	(void)state;
	dct->model.min_rnr_nak = 1;
	a->rnr_retry = a->cur_rnr_retry = 2;
	post(WQE_SEND, LEN);
	assert_int_equal(rig_run(1, 2000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_RNR_RETRY);
}

static void a_wqe_longer_than_dc_allows_fails(void **state)
{
	static const uint8_t data[600];
	struct rig_wqe w;

	(void)state;
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, fabric_lid(rig.hca[1]), dct->obj.num, 0, NULL);
	wq_inline(&w, data, sizeof(data));
	rig_send(0, a, w.b, w.ds);
	assert_true(rig_run(1, 1000));
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
}

static void requests_to_an_initiator_are_dropped(void **state)
{
	uint64_t dropped = rig.hca[0]->count.packets_dropped;
	struct packet *p = packet_alloc(rig.fabric);

	(void)state;
	p->opcode = BTH_DC | BTH_WRITE_ONLY;
	p->dqpn = a->obj.num;
	dc_receive(rig.hca[0], p);
	packet_free(rig.fabric, p);
	assert_int_equal(rig.hca[0]->count.packets_dropped, dropped + 1);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* Post a WRITE of a stream, with a wrong key if @fails. */
static void post_of(uint16_t stream, bool fails)
{
	struct rig_wqe w;

	wq_ctrl(&w, WQE_RDMA_WRITE, true, 0);
	put_be16(w.b + 9, stream);
	wq_av(&w, fabric_lid(rig.hca[1]), dct->obj.num, 0, NULL);
	put_be64(w.b + 16, KEY);
	wq_raddr(&w, buf_b, fails ? key_b + 1 : key_b);
	wq_data(&w, buf_a, LEN, key_a);
	rig_send(0, a, w.b, w.ds);
}

static void with_streams(unsigned int max_failed)
{
	a->has_streams = true;
	a->max_failed_streams = max_failed;
}

static void a_stream_fails_alone(void **state)
{
	(void)state;
	with_streams(4);
	post_of(1, false);
	post_of(2, true);
	post_of(2, false);
	post_of(3, false);
	post_of(2, false);
	assert_int_equal(rig_run(5, 2000), 5);
	expect(CQ_A, 0, CQE_REQ, 0);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
	expect(CQ_A, 2, CQE_REQ_ERR, SYND_WR_FLUSH);
	expect(CQ_A, 3, CQE_REQ, 0);
	expect(CQ_A, 4, CQE_REQ_ERR, SYND_WR_FLUSH);
	assert_int_equal(a->state, QPS_RTS);
	assert_true(same(LEN));
}

static void a_stream_works_again_after_its_reset(void **state)
{
	(void)state;
	with_streams(4);
	post_of(2, true);
	assert_int_equal(rig_run(1, 2000), 1);
	assert_false(req_reset_stream(rig.hca[0], a, 1));
	assert_true(req_reset_stream(rig.hca[0], a, 2));
	assert_false(req_reset_stream(rig.hca[0], a, 2));
	post_of(2, false);
	assert_int_equal(rig_run(2, 2000), 2);
	expect(CQ_A, 1, CQE_REQ, 0);
}

static void many_failed_streams_fail_the_queue_pair(void **state)
{
	(void)state;
	with_streams(2);
	post_of(1, true);
	assert_int_equal(rig_run(1, 2000), 1);
	assert_int_equal(a->state, QPS_RTS);
	post_of(2, true);
	post_of(3, false);
	assert_int_equal(rig_run(3, 2000), 3);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
	expect(CQ_A, 2, CQE_REQ_ERR, SYND_WR_FLUSH);
	assert_int_equal(a->state, QPS_ERR);
	rig_state(0, a, QPS_RST);
	assert_int_equal(a->req->failed_streams, 0);
}

/* ---- draining -------------------------------------------------------------------------------- */

static void drain(void)
{
	dct->state = DCT_DRAINING;
	dct->drain_ns = clock_now_ns();
	dc_drain(rig.hca[1]);
}

static void a_target_without_connections_drains_at_once(void **state)
{
	(void)state;
	drain();
	assert_int_equal(rig_events(EV_DCT_DRAINED), 0);
	rig_settle();
	assert_int_equal(rig_events(EV_DCT_DRAINED), 1);
	assert_int_equal(dct->state, DCT_DRAINED);
}

static void an_idle_connection_is_closed(void **state)
{
	(void)state;
	post(WQE_RDMA_WRITE, LEN);
	assert_int_equal(rig_run(1, 1000), 1);
	drain();
	rig_settle();
	assert_int_equal(rig_events(EV_DCT_DRAINED), 1);
	assert_int_equal(dct->connections, 0);
	a->retry_count = a->cur_retry = 0;
	post(WQE_RDMA_WRITE, LEN);
	assert_int_equal(rig_run(2, 2000), 2);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
}

/* The first packet of a message has taken a receive WQE, and the next never comes. */
static void half_a_message(void)
{
	uint16_t lid = fabric_lid(rig.hca[0]);

	post_recv(LEN);
	inject(BTH_CONNECT, 5, 99, lid);
	assert_int_equal(dct->connections, 1);
	{
		struct packet *p = packet_alloc(rig.fabric);

		p->opcode = BTH_DC | BTH_SEND_FIRST;
		p->pkey = 0xffff;
		p->dqpn = dct->obj.num;
		p->sqpn = a->obj.num;
		p->dc_connection = 5;
		p->psn = 100;
		p->head.len = 1024;
		ib_hdr(p)->slid = lid;
		ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
		dc_receive(rig.hca[1], p);
		packet_free(rig.fabric, p);
	}
	assert_int_equal(srq->hw, 1);
}

static void a_message_in_progress_is_waited_for(void **state)
{
	(void)state;
	half_a_message();
	drain();
	rig_settle();
	assert_int_equal(rig_events(EV_DCT_DRAINED), 0);
	inject(BTH_DISCONNECT, 5, 101, fabric_lid(rig.hca[0]));
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_DCT, 0, CQE_RESP_ERR, SYND_WR_FLUSH);
	rig_run(2, 30);
	assert_int_equal(rig_events(EV_DCT_DRAINED), 1);
}

static void a_peer_that_does_not_go_on_is_not_waited_for_forever(void **state)
{
	(void)state;
	half_a_message();
	drain();
	dct->drain_ns -= 3000000000ull;
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_DCT, 0, CQE_RESP_ERR, SYND_WR_FLUSH);
	rig_settle();
	assert_int_equal(rig_events(EV_DCT_DRAINED), 1);
}

static void a_reset_of_the_hca_flushes_nothing(void **state)
{
	(void)state;
	half_a_message();
	dc_module.reset(rig.hca[1]);
	assert_int_equal(dct->connections, 0);
	assert_null(rig_cqe(CQ_DCT, 0));
}

static void a_target_whose_cq_has_failed_receives_nothing(void **state)
{
	struct cq *cq = cq_find(rig.hca[1], CQ_DCT);

	(void)state;
	post_recv(LEN);
	post_recv(LEN);
	post(WQE_SEND, LEN);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_DCT, 0, CQE_RESP_SEND, 0);
	cq->status = CQ_STATUS_OVERFLOW;
	a->retry_count = a->cur_retry = 0;
	post(WQE_SEND, LEN);
	assert_int_equal(rig_run(3, 3000), 3);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
	assert_int_equal(srq->hw, 1);
}

#define TEST(f)	cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(send_arrives_through_the_srq),
		TEST(write_read_and_atomic_work),
		TEST(immediate_data_takes_a_receive_wqe),
		TEST(short_data_goes_into_the_cqe),
		TEST(one_connection_serves_all_messages),
		TEST(another_target_ends_the_connection),
		TEST(a_reset_ends_the_connection),
		TEST(the_end_of_the_initiator_ends_the_connection),
		TEST(a_late_packet_of_an_old_connection_is_dropped),
		TEST(another_port_does_not_reach_the_connection),
		TEST(a_lost_connect_is_repeated),
		TEST(a_wrong_key_reaches_nothing),
		TEST(a_local_error_of_the_first_message_is_told),
		TEST(an_unknown_target_does_not_answer),
		TEST(another_partition_does_not_connect),
		TEST(a_refused_request_fails_the_connection_only),
		TEST(a_message_that_is_too_long_fails_its_receive_wqe),
		TEST(no_receive_wqe_makes_the_initiator_wait),
		TEST(rnr_retries_run_out),
		TEST(a_wqe_longer_than_dc_allows_fails),
		TEST(requests_to_an_initiator_are_dropped),
		TEST(a_stream_fails_alone),
		TEST(a_stream_works_again_after_its_reset),
		TEST(many_failed_streams_fail_the_queue_pair),
		TEST(a_target_without_connections_drains_at_once),
		TEST(an_idle_connection_is_closed),
		TEST(a_message_in_progress_is_waited_for),
		TEST(a_reset_of_the_hca_flushes_nothing),
		TEST(a_target_whose_cq_has_failed_receives_nothing),
		TEST(a_peer_that_does_not_go_on_is_not_waited_for_forever),
	};

	return cmocka_run_group_tests_name("dc", tests, NULL, NULL);
}
