// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams: addresses, partitions, Q_Keys, multicast, and the management queue pairs.
 */
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "caps.h"
#include "count.h"
#include "cq.h"
#include "dispatch.h"
#include "fabric.h"
#include "forward.h"
#include "ib_packet.h"
#include "ifc.h"
#include "mcast.h"
#include "object.h"
#include "packet.h"
#include "pair.h"
#include "pairrig.h"
#include "profile.h"
#include "qp.h"
#include "req.h"
#include "wqe.h"

static void receive_buffer_has_room_for_the_grh(void **state)
{
	(void)state;
	memset(rig_ptr(1, buf_b), 0xcc, 40);
	rig_recv(1, b, buf_b, 40 + 100, key_b);
	post_datagram(100, 0x1111, NULL);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.byte_cnt, 140);
	assert_false(rig_cqe(CQ_B + 1, 0)->c.grh);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.src_qp, a->obj.num);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.slid, fabric_lid(rig.hca[0]));
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.imm_inval_pkey, 0xabcd);
	assert_memory_equal(rig_ptr(1, buf_b + 40), rig_ptr(0, buf_a), 100);
	assert_int_equal(*(uint8_t *)rig_ptr(1, buf_b), 0xcc);
}

static void grh_is_delivered_and_checked(void **state)
{
	uint8_t gid[2][16], *grh;

	(void)state;
	gid_get(rig.hca[0], 0, gid[0]);
	gid_get(rig.hca[1], 0, gid[1]);
	rig_recv(1, b, buf_b, 4096, key_b);
	post_datagram(100, 0x1111, gid[1]);
	assert_int_equal(rig_run(2, 1000), 2);
	grh = rig_ptr(1, buf_b);
	assert_true(rig_cqe(CQ_B + 1, 0)->c.grh);
	assert_int_equal(get_be32(grh), 6u << 28 | 0x42 << 20 | 0x12345);
	assert_int_equal(get_be16(grh + 4), 12 + 8 + 4 + 4 + 100);
	assert_int_equal(grh[6], 0x1b);
	assert_int_equal(grh[7], 9);
	assert_memory_equal(grh + 8, gid[0], 16);
	assert_memory_equal(grh + 24, gid[1], 16);
	rig_recv(1, b, buf_b, 4096, key_b);
	post_datagram(100, 0x1111, gid[0]);		/* a GID of another port */
	rig_settle();
	assert_null(rig_cqe(CQ_B + 1, 1));
}

static void source_gid_has_to_exist(void **state)
{
	uint8_t gid[2][16];
	struct rig_wqe w;

	(void)state;
	gid_get(rig.hca[0], 2, gid[0]);
	gid_get(rig.hca[1], 1, gid[1]);
	rig_recv(1, b, buf_b, 4096, key_b);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, fabric_lid(rig.hca[1]), b->obj.num, 0x1111, gid[1]);
	w.b[16 + 29] |= 2 << 4;			/* source GID 2 */
	wq_data(&w, buf_a, 100, key_a);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_memory_equal((uint8_t *)rig_ptr(1, buf_b) + 8, gid[0], 16);
	assert_memory_equal((uint8_t *)rig_ptr(1, buf_b) + 24, gid[1], 16);
	w.b[16 + 29] += 1 << 4;			/* source GID 3, which does not exist */
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
}

/* Send a datagram at this static rate, by an address of @ds units. Returns its CQE's opcode. */
static uint8_t sent_at(unsigned int rate, unsigned int ds)
{
	unsigned int n = rig.ncqe;
	struct rig_wqe w;

	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, fabric_lid(rig.hca[1]), b->obj.num, 0x1111, NULL);
	w.b[16 + 12] |= rate << 4;
	if (ds == 1)
		w.b[16 + 8] = 0;
	w.ds = 1 + ds;
	wq_data(&w, buf_a, 8, key_a);
	rig_send(0, a, w.b, w.ds);
	assert_true(rig_run(n + 1, 1000) > n);
	return rig.cqe[n].c.opcode;
}

#define CAP(fld, v) IFC_SET(cmd_hca_cap, rig.hca[0]->cap[CAP_GENERAL], fld, v)

static void datagram_has_any_static_rate(void **state)
{
	(void)state;
	CAP(stat_rate_support, 1 << 7);
	assert_int_equal(sent_at(7, 3), CQE_REQ);
	assert_int_equal(sent_at(8, 3), CQE_REQ);
}

static void compact_address_has_to_be_offered(void **state)
{
	(void)state;
	assert_int_equal(sent_at(0, 1), CQE_REQ);
	CAP(compact_address_vector, 0);
	assert_int_equal(sent_at(0, 3), CQE_REQ);
	assert_int_equal(sent_at(0, 1), CQE_REQ_ERR);
}

static void wqe_has_to_fit_the_capability(void **state)
{
	(void)state;
	CAP(max_wqe_sz_sq, 80);
	assert_int_equal(sent_at(0, 3), CQE_REQ);
	CAP(max_wqe_sz_sq, 64);
	assert_int_equal(sent_at(0, 3), CQE_REQ_ERR);
}

/*
 * The octets of a packet are those of LRH, BTH, DETH, immediate, padded payload and ICRC; for a
 * packet to a group those of the GRH, too.
 */
static void octets_and_kinds_of_packets_are_counted(void **state)
{
	static const uint8_t group[16] = { 0xff, 0x12, 0x40, 0x1b, [15] = 1 };
	struct counters *tx = &rig.hca[0]->count, *rx = &rig.hca[1]->count;
	struct rig_wqe w;

	(void)state;
	rig_recv(1, b, buf_b, 4096, key_b);
	post_datagram(99, 0x1111, NULL);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(tx->octets_tx, 8 + 12 + 8 + 4 + 100 + 4);
	assert_int_equal(rx->octets_rx, 8 + 12 + 8 + 4 + 100 + 4);
	assert_int_equal(tx->mcast_tx, 0);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, 0xc005, 0xffffff, 0x1111, group);
	wq_data(&w, buf_a, 8, key_a);
	rig_send(0, a, w.b, w.ds);
	rig_settle();
	assert_int_equal(tx->mcast_tx, 1);
	assert_int_equal(tx->mcast_octets_tx, 8 + 40 + 12 + 8 + 8 + 4);
	assert_int_equal(tx->packets_tx, 2);
}

/* A datagram of @len bytes arrives, a longer one is an error of the sender. */
static void longest_datagram_is(unsigned int len)
{
	rig_recv(1, b, buf_b, 40 + 4096, key_b);
	post_datagram(len, 0x1111, NULL);
	assert_int_equal(rig_run(2, 1000), 2);
	post_datagram(len + 1, 0x1111, NULL);
	rig_settle();
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_LOCAL_LENGTH);
}

static void datagram_longer_than_the_mtu_of_the_port_fails(void **state)
{
	(void)state;
	fabric_set_mtu(rig.hca[0], false, 2048);
	longest_datagram_is(2048);
}

/* The path MTU of a queue pair can be less than the MTU of the port. */
static void datagram_longer_than_the_mtu_of_the_qp_fails(void **state)
{
	(void)state;
	a->mtu = 1024;
	longest_datagram_is(1024);
}

/*
 * A queue pair that sends in the name of another (deth_sqpn). In the name of QP1 it has the Q_Key
 * of QP1, if the WQE says that the queue pair's Q_Key is to be sent.
 */
static void source_of_a_datagram_can_be_another_queue_pair(void **state)
{
	(void)state;
	a->deth_sqpn = 0x777;
	a->qkey = 0x1111;
	rig_recv(1, b, buf_b, 4096, key_b);
	post_datagram(10, 0x80000000u, NULL);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.src_qp, 0x777);
	a->deth_sqpn = 1;
	b->qkey = 0x80010000u;
	rig_recv(1, b, buf_b, 4096, key_b);
	post_datagram(10, 0x80000000u, NULL);
	assert_int_equal(rig_run(4, 1000), 4);
	assert_int_equal(rig_cqe(CQ_B + 1, 1)->c.src_qp, 1);
}

static void solicited_datagrams_wake_the_receiver(void **state)
{
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	cq_find(rig.hca[1], CQ_B + 1)->armed_sol = true;
	for (i = 0; i < 2; i++) {
		rig_recv(1, b, buf_b, 4096, key_b);
		wq_ctrl(&w, WQE_SEND, true, 0);
		w.b[11] |= i << 1;
		wq_av(&w, fabric_lid(rig.hca[1]), b->obj.num, 0x1111, NULL);
		wq_data(&w, buf_a, 10, key_a);
		rig_send(0, a, w.b, w.ds);
		rig_settle();
		assert_int_equal(!!rig_cqe(CQ_B + 1, 0), i);
	}
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.wqe_counter, 1);
}

/* Send from P_Key index @from to P_Key index @to. Returns whether the message arrives. */
static bool pkeys_reach(unsigned int from, unsigned int to)
{
	unsigned int n = rig.ncqe;

	a->path.pkey_index = from;
	b->path.pkey_index = to;
	rig_recv(1, b, buf_b, 4096, key_b);
	post_datagram(10, 0x1111, NULL);
	rig_settle();
	return rig.ncqe == n + 2;
}

static void partitions_separate_datagrams(void **state)
{
	/* Entry 0 is 0xffff, 1 is 0x8001, 2 is 0x0001, and 3 is not used. */
	static const bool reaches[4][4] = {
		{ true, false, false, false }, { false, true, true, false },
		{ false, true, false, false }, { false, false, false, false },
	};
	unsigned int i, j, bad = 0;

	(void)state;
	for (i = 0; i < 4; i++)
		for (j = 0; j < 4; j++) {
			if (pkeys_reach(i, j) != reaches[i][j])
				fail_msg("from P_Key %u to %u", i, j);
			bad += !reaches[i][j];
		}
	assert_int_equal(rig.hca[1]->count.bad_pkeys, bad);
	assert_int_equal(rig.hca[1]->count.bad_qkeys, 0);
}

static void wrong_q_key_drops_the_datagram(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 4096, key_b);
	post_datagram(100, 0x1112, NULL);
	rig_settle();
	assert_int_equal(rig.ncqe, 1);		/* the sender is not told */
	assert_int_equal(rig.hca[1]->count.packets_dropped, 1);
	assert_int_equal(rig.hca[1]->count.bad_qkeys, 1);
	a->qkey = 0x1111;
	post_datagram(100, 0x80000000u, NULL);	/* bit 31: use the QP's Q_Key */
	assert_int_equal(rig_run(3, 1000), 3);
}

static void datagram_has_to_fit_qp_and_receive(void **state)
{
	struct rig_wqe w;

	(void)state;
	rig_recv(1, b, buf_b, 40 + 4096, key_b);
	rig_recv(1, b, buf_b, 40 + 99, key_b);
	post_datagram(4096, 0x1111, NULL);
	assert_int_equal(rig_run(2, 1000), 2);
	post_datagram(100, 0x1111, NULL);
	rig_settle();
	expect(CQ_B + 1, 1, CQE_RESP_ERR, SYND_LOCAL_LENGTH);
	post_datagram(4097, 0x1111, NULL);
	rig_settle();
	expect(CQ_A, 2, CQE_REQ_ERR, SYND_LOCAL_LENGTH);
	assert_int_equal(a->state, QPS_SQER);
	/* Other than in ERR, it takes a doorbell to flush what the record announces. */
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, fabric_lid(rig.hca[1]), b->obj.num, 0x1111, NULL);
	wq_data(&w, buf_a, 100, key_a);
	rig_put(0, a, w.b, w.ds);
	rig_show(0, a);
	rig_run(6, 50);
	assert_int_equal(rig.ncqe, 5);
	rig_ring(0, a);
	assert_int_equal(rig_run(6, 1000), 6);
	expect(CQ_A, 3, CQE_REQ_ERR, SYND_WR_FLUSH);
}

/* A datagram is lost when none is posted, but a receive that is wrong is the receiver's mistake. */
static void wrong_receive_ends_the_receiver(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 40 | 0x80000000u, key_b);		/* an inline segment */
	post_datagram(100, 0x1111, NULL);
	rig_settle();
	expect_cause(CQ_B + 1, 0, CQE_RESP_ERR, ERR_RECEIVE_INVALID);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(a->state, QPS_RTS);
}

static void record_beyond_the_receive_queue_ends_the_receiver(void **state)
{
	(void)state;
	put_be32(rig_ptr(1, b->dbr.addr + DBR_RCV), b->rq_cnt + 1);
	post_datagram(100, 0x1111, NULL);
	rig_settle();
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(b->error, ERR_QUEUE_GONE);
	assert_int_equal(rig_events(EV_WQ_CATAS_ERROR), 1);
	assert_int_equal(a->state, QPS_RTS);
}

/* Make the port of the second HCA a member of the group of LID 0xc005. */
static void join(void)
{
	fabric_forward(rig.fabric)->members[5] = 1 << fabric_port_number(rig.hca[1]);
}

static void members_of_the_group_receive(void **state)
{
	static const uint8_t group[16] = { 0xff, 0x12, [15] = 5 };
	struct rig_wqe w;

	(void)state;
	assert_int_equal(mcast_attach(rig.hca[1], group, b->obj.num), 0);
	rig_recv(1, b, buf_b, 4096, key_b);
	rig_recv(0, a, buf_a + 0x8000, 4096, key_a);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, 0xc005, 0xffffff, 0x1111, group);
	wq_data(&w, buf_a, 10, key_a);
	rig_send(0, a, w.b, w.ds);
	rig_settle();
	assert_int_equal(rig.ncqe, 1);		/* the port has not joined */
	join();
	rig_send(0, a, w.b, w.ds);
	rig_settle();
	assert_int_equal(rig.ncqe, 3);		/* the member's completion and the sender's own */
	assert_non_null(rig_cqe(CQ_B + 1, 0));
}

/* Ask the second HCA's port for its NodeInfo. */
static void send_smp(void)
{
	static const uint8_t mad[256] = { 1, 1, 1, 1, [17] = 0x11 };
	struct packet *p = packet_alloc(rig.fabric);

	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = fabric_lid(rig.hca[0]);
	ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
	p->head.len = sizeof(mad);
	memcpy(p->payload, mad, sizeof(mad));
	fabric_tx(rig.hca[0], p);
	rig_settle();
}

static void firmware_answers_while_there_is_no_qp0(void **state)
{
	uint64_t before = rig.hca[1]->count.packets_tx;
	struct qp *qp0 = rig_qp(1, QPT_QP0, CQ_B + 8);
	struct packet *p = packet_alloc(rig.fabric);

	(void)state;
	send_smp();
	assert_int_equal(rig.hca[1]->count.packets_tx, before + 1);
	rig_state(1, qp0, QPS_INIT);
	rig_state(1, qp0, QPS_RTR);
	rig_recv(1, qp0, buf_b, 4096, key_b);
	send_smp();
	assert_int_equal(rig.hca[1]->count.packets_tx, before + 1);
	assert_non_null(rig_cqe(CQ_B + 9, 0));
	/* The datagrams of other queue pairs, even with the right Q_Key, are not for QP0. */
	rig_recv(1, qp0, buf_b, 4096, key_b);
	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = fabric_lid(rig.hca[0]);
	ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
	p->sqpn = a->obj.num;
	p->qkey = qp0->qkey;
	p->pkey = 0xffff;
	p->head.len = 256;
	fabric_tx(rig.hca[0], p);
	rig_settle();
	assert_null(rig_cqe(CQ_B + 9, 1));
	assert_int_equal(rig.hca[1]->count.packets_dropped, 1);
}

/* QP1 is in each of the port's partitions: its CQE tells the P_Key, not an index. */
static void qp1_is_told_the_pkey(void **state)
{
	struct qp *qp1 = rig_qp(1, QPT_QP1, CQ_B + 8);
	struct packet *p = packet_alloc(rig.fabric);

	(void)state;
	rig_state(1, qp1, QPS_INIT);
	rig_state(1, qp1, QPS_RTR);
	rig_recv(1, qp1, buf_b, 4096, key_b);
	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = fabric_lid(rig.hca[0]);
	ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
	p->dqpn = 1;
	p->sqpn = 1;
	p->qkey = 0x80010000u;
	p->pkey = 0x8001;
	p->head.len = 256;
	fabric_tx(rig.hca[0], p);
	rig_settle();
	assert_non_null(rig_cqe(CQ_B + 9, 0));
	assert_int_equal(rig_cqe(CQ_B + 9, 0)->c.imm_inval_pkey, 0x8001);
}

/* Send a datagram to QP1 of the second HCA. */
static void send_to_qp1(void)
{
	struct packet *p = packet_alloc(rig.fabric);

	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = fabric_lid(rig.hca[0]);
	ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
	p->dqpn = 1;
	p->sqpn = 1;
	p->qkey = 0x80010000u;
	p->pkey = 0xffff;
	p->head.len = 256;
	memset(p->payload, 0x77, p->head.len);
	fabric_tx(rig.hca[0], p);
	rig_settle();
}

/* After its reset or its end, a queue pair does not serve QPN 1 any more. */
static void qp1_that_ended_receives_nothing(void **state)
{
	struct qp *qp1 = rig_qp(1, QPT_QP1, CQ_B + 8), *next = rig_qp(1, QPT_QP1, CQ_B + 10);
	uint64_t dropped = rig.hca[1]->count.packets_dropped;

	(void)state;
	rig_state(1, qp1, QPS_INIT);
	rig_state(1, qp1, QPS_RTR);
	rig_recv(1, qp1, buf_b, 4096, key_b);
	send_to_qp1();
	assert_non_null(rig_cqe(CQ_B + 9, 0));
	rig_free_qp(1, qp1);
	send_to_qp1();
	assert_int_equal(rig.hca[1]->count.packets_dropped, dropped + 1);
	rig_state(1, next, QPS_INIT);
	rig_state(1, next, QPS_RTR);
	rig_recv(1, next, buf_b, 4096, key_b);
	send_to_qp1();
	assert_non_null(rig_cqe(CQ_B + 11, 0));
	rig_state(1, next, QPS_RST);
	send_to_qp1();
	assert_int_equal(rig.hca[1]->count.packets_dropped, dropped + 2);
}

static void own_multicast_can_be_blocked(void **state)
{
	static const uint8_t group[16] = { 0xff, 0x12, [15] = 5 };
	unsigned int block;
	struct rig_wqe w;

	(void)state;
	assert_int_equal(mcast_attach(rig.hca[0], group, a->obj.num), 0);
	rig_recv(0, a, buf_a + 0x8000, 4096, key_a);
	rig_recv(0, a, buf_a + 0x8000, 4096, key_a);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, 0xc005, 0xffffff, 0x1111, group);
	wq_data(&w, buf_a, 10, key_a);
	for (block = 0; block < 2; block++) {
		a->block_lb_mc = block;
		rig_send(0, a, w.b, w.ds);
		rig_settle();
		assert_int_equal(rig.ncqe, 2 + block);	/* the second is not received */
	}
}

static void multicast_waits_for_a_full_member(void **state)
{
	static const uint8_t group[16] = { 0xff, 0x12, [15] = 5 };
	struct hca *from = rig.hca[0];
	struct packet *p;

	(void)state;
	join();
	while (fabric_can_tx(from, fabric_lid(rig.hca[1]), NULL)) {
		assert_true(fabric_can_tx(from, 0xc005, group));
		p = packet_alloc(rig.fabric);
		ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
		fabric_tx(from, p);
	}
	assert_false(fabric_can_tx(from, 0xc005, group));
	assert_true(fabric_can_tx(from, 0xc006, group));
}

/* With an LMC the address vector chooses the source LID, and the CQE tells which LID was used. */
static void port_has_several_lids(void **state)
{
	struct rig_wqe w;

	(void)state;
	assert_true(fabric_set_lids(rig.hca[0], 0x20, 2));
	assert_true(fabric_set_lids(rig.hca[1], 0x30, 3));
	assert_false(fabric_set_lids(rig.hca[0], 0x22, 2));	/* not a multiple of 4 */
	assert_false(fabric_set_lids(rig.hca[0], 0x34, 1));	/* the other port's LIDs */
	rig_recv(1, b, buf_b, 4096, key_b);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, 0x35, b->obj.num, 0x1111, NULL);
	w.b[16 + 13] |= 0x45;			/* path bits; the LMC allows two */
	wq_data(&w, buf_a, 100, key_a);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.slid, 0x21);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.ml_path, 5);
	assert_true(fabric_set_lids(rig.hca[1], 0x30, 0));
	rig_recv(1, b, buf_b, 4096, key_b);
	rig_send(0, a, w.b, w.ds);
	rig_settle();
	assert_null(rig_cqe(CQ_B + 1, 1));
}

static void hung_hca_holds_up_no_sender(void **state)
{
	struct hca *from = rig.hca[0];
	unsigned int n = 0;
	struct packet *p;

	(void)state;
	rig.hca[1]->hung = true;
	for (; fabric_can_tx(from, fabric_lid(rig.hca[1]), NULL); n++) {
		p = packet_alloc(rig.fabric);
		ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
		fabric_tx(from, p);
	}
	rig_settle();
	assert_true(fabric_can_tx(from, fabric_lid(rig.hca[1]), NULL));
	assert_int_equal(rig.hca[1]->count.packets_dropped, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UD(receive_buffer_has_room_for_the_grh), UD(grh_is_delivered_and_checked),
		UD(datagram_has_any_static_rate), UD(compact_address_has_to_be_offered),
		UD(wqe_has_to_fit_the_capability), UD(octets_and_kinds_of_packets_are_counted),
		UD(source_gid_has_to_exist),
		UD(datagram_longer_than_the_mtu_of_the_port_fails),
		UD(datagram_longer_than_the_mtu_of_the_qp_fails),
		UD(source_of_a_datagram_can_be_another_queue_pair),
		UD(solicited_datagrams_wake_the_receiver),
		UD(partitions_separate_datagrams), UD(wrong_q_key_drops_the_datagram),
		UD(datagram_has_to_fit_qp_and_receive), UD(wrong_receive_ends_the_receiver),
		UD(record_beyond_the_receive_queue_ends_the_receiver),
		UD(members_of_the_group_receive),
		UD(firmware_answers_while_there_is_no_qp0), UD(qp1_is_told_the_pkey),
		UD(qp1_that_ended_receives_nothing),
		UD(own_multicast_can_be_blocked), UD(multicast_waits_for_a_full_member),
		UD(port_has_several_lids), UD(hung_hca_holds_up_no_sender),
	};

	return cmocka_run_group_tests_name("ud", tests, NULL, NULL);
}
