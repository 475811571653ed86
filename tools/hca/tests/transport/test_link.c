// SPDX-License-Identifier: GPL-2.0
/*
 * The transport over a link layer that is not InfiniBand: all that it knows of addresses, MTU and
 * room comes from struct link_ops.
 */
#include <event2/event.h>
#include <string.h>

#include "count.h"
#include "cq.h"
#include "ifc.h"
#include "linkrig.h"
#include "mcast.h"
#include "packet.h"
#include "pair.h"
#include "pairrig.h"
#include "qp.h"
#include "sched.h"
#include "util.h"
#include "wqe.h"

static int rc_on_stations(void **state)
{
	(void)state;
	rig_up_on(&station_net);
	pair_up(QPT_RC);
	return 0;
}

static int ud_on_stations(void **state)
{
	(void)state;
	rig_up_on(&station_net);
	pair_up(QPT_UD);
	return 0;
}

/* Post a datagram to station @to, from name @name of the own station. */
static void datagram(uint32_t len, uint32_t to, unsigned int name)
{
	uint8_t gid[16] = { 0 };
	struct rig_wqe w;

	put_be32(gid + 12, to);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, 0, b->obj.num, b->qkey, gid);
	w.b[16 + 29] |= name << 4;
	wq_data(&w, buf_a, len, key_a);
	rig_send(0, a, w.b, w.ds);
}

/* A packet to the second queue pair, which expects it; the test gives it to the medium. */
static struct packet *stray(void)
{
	struct packet *p = packet_alloc(rig.fabric);

	p->opcode = BTH_RC | BTH_SEND_ONLY;
	p->dqpn = b->obj.num;
	p->psn = b->next_rcv_psn;
	p->head.len = 10;
	return p;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void connection_needs_nothing_of_infiniband(void **state)
{
	(void)state;
	use_connection(3000, 2000);
	/* 3 + 3 + 1 + 1 requests; their answers are 3 for the READ, 1 for the atomic, and ACKs. */
	assert_true(medium.sent >= 8 + 4);
	assert_int_equal(medium.sent, rig.hca[0]->count.packets_tx + rig.hca[1]->count.packets_tx);
}

static void packets_that_the_link_loses_are_repaired(void **state)
{
	unsigned int lost;

	for (lost = 0; lost < 8; lost++) {
		rc_on_stations(state);
		a->path.ack_timeout = 14;
		medium.skip = lost;
		medium.lose = 1;
		rig_recv(1, b, buf_b, 8192, key_b);
		post_send(WQE_SEND, 3000, true);
		local = buf_a + 0x8000;
		post_rdma(WQE_RDMA_READ, buf_b, key_b, 3000);
		assert_int_equal(rig_run(3, 3000), 3);
		rig_settle();
		assert_int_equal(medium.lose, 0);
		expect(CQ_A, 0, CQE_REQ, 0);
		expect(CQ_A, 1, CQE_REQ, 0);
		assert_true(same(3000));
		assert_memory_equal(rig_ptr(0, buf_a + 0x8000), rig_ptr(0, buf_a), 3000);
		rig_down(state);
	}
}

static void requester_waits_for_room_in_the_link(void **state)
{
	(void)state;
	medium.space = 0;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 3000);
	rig_run(1, 10);
	assert_int_equal(medium.sent, 0);
	assert_true(medium.refused > 0);
	medium_clear();
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_true(same(3000));
}

/* While all senders wait, the HCA tries again after a pause, which only a wake-up ends. */
static void wake_up_ends_the_pause_of_senders(void **state)
{
	unsigned int refused;

	(void)state;
	medium.space = 0;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	while (!medium.refused)
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	refused = medium.refused;
	sched_run(rig.hca[0]);
	assert_int_equal(medium.refused, refused);
	medium_clear();
	event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_true(medium.sent > 0);
}

static void responder_waits_for_room_in_the_link(void **state)
{
	(void)state;
	a->path.ack_timeout = 14;
	medium.space = 1;		/* for the request, but not for the answer */
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 3000);
	rig_run(1, 10);
	assert_int_equal(medium.sent, 1);
	assert_true(medium.refused > 0);
	medium_clear();
	assert_int_equal(rig_run(1, 1000), 1);
	assert_int_equal(medium.sent, 4);
}

static void packets_of_another_station_are_dropped(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	medium_put(1, stray(), STATION_0 + 7, STATION_0 + 1);
	rig_settle();
	assert_int_equal(rig.ncqe, 0);
	assert_int_equal(rig.hca[1]->count.packets_dropped, 1);
	medium_put(1, stray(), STATION_0, STATION_0 + 1);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B + 1, 0, CQE_RESP_SEND, 0);
}

static void packets_to_another_station_are_dropped(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	medium_put(1, stray(), STATION_0, STATION_0);
	rig_settle();
	assert_int_equal(rig.ncqe, 0);
	assert_int_equal(rig.hca[1]->count.packets_dropped, 1);
}

static void hung_hca_discards_only_from_a_full_queue(void **state)
{
	unsigned int i;

	(void)state;
	rig.hca[1]->hung = true;
	for (i = 0; i < 10; i++)
		medium_put(1, stray(), STATION_0, STATION_0 + 1);
	rig_settle();
	assert_int_equal(medium.len[1], 10);
	for (i = 0; i < 100; i++)
		medium_put(1, stray(), STATION_0, STATION_0 + 1);
	rig_settle();
	assert_int_equal(medium.len[1], 0);
	assert_int_equal(rig.hca[1]->count.packets_dropped, 110);
}

/* ---- datagrams ------------------------------------------------------------------------------- */

static void datagram_has_to_fit_the_mtu_of_the_link(void **state)
{
	(void)state;
	medium.mtu = 300;
	rig_recv(1, b, buf_b, 4096, key_b);
	datagram(300, STATION_0 + 1, 0);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
	datagram(301, STATION_0 + 1, 0);
	rig_settle();
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_LOCAL_LENGTH);
	assert_int_equal(medium.sent, 1);
}

static void datagram_needs_a_source_of_the_link(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 4096, key_b);
	datagram(10, STATION_0 + 1, 1);
	assert_int_equal(rig_run(2, 1000), 2);
	datagram(10, STATION_0 + 1, 2);
	rig_settle();
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
	assert_int_equal(medium.sent, 1);
}

static void receiver_is_given_the_header_of_the_link(void **state)
{
	const uint8_t *header = rig_ptr(1, buf_b);
	struct rig_cqe *e;

	(void)state;
	rig_recv(1, b, buf_b, 4096, key_b);
	datagram(100, STATION_0 + 1, 1);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(header[0], 0);
	assert_int_equal(header[20], 0x45);
	assert_int_equal(header[28], 9);	/* the hop limit that wq_av() asks for */
	assert_int_equal(get_be32(header + 32), STATION_0);
	assert_int_equal(get_be32(header + 36), STATION_0 + 1);
	assert_memory_equal(header + 40, rig_ptr(0, buf_a), 100);
	e = rig_cqe(CQ_B + 1, 0);
	assert_non_null(e);
	assert_int_equal(e->c.byte_cnt, 140);
	assert_int_equal(e->c.slid, STATION_0 & 0xffff);
	assert_int_equal(e->c.sl, 5);
	assert_int_equal(e->c.src_qp, a->obj.num);
}

static void group_of_the_link_reaches_its_members(void **state)
{
	uint8_t group[16] = { 0 };

	(void)state;
	put_be32(group + 12, STATION_GROUP);
	rig_recv(0, a, buf_a + 0x8000, 4096, key_a);
	rig_recv(1, b, buf_b, 4096, key_b);
	assert_int_equal(mcast_attach(rig.hca[1], group, b->obj.num), 0);
	datagram(100, STATION_GROUP, 0);
	rig_settle();
	assert_int_equal(rig.ncqe, 2);		/* of the sender, and of the one member */
	expect(CQ_B + 1, 0, CQE_RESP_SEND, 0);
}

static void management_is_of_the_port_until_a_qp0_receives(void **state)
{
	struct qp *qp0 = rig_qp(1, QPT_QP0, CQ_B + 8);
	unsigned int i;

	(void)state;
	rig_recv(1, qp0, buf_b, 4096, key_b);
	for (i = 0; i < 2; i++) {
		struct packet *p = stray();

		p->opcode = BTH_UD | BTH_SEND_ONLY;
		p->dqpn = 0;
		medium_put(1, p, STATION_0, STATION_0 + 1);
		rig_settle();
		assert_int_equal(medium.managed, 1);
		assert_int_equal(rig.ncqe, i);
		rig_state(1, qp0, QPS_INIT);
		rig_state(1, qp0, QPS_RTR);
	}
}

static const struct packet *last_at(unsigned int h)
{
	const struct packet_head *head, *last = NULL;

	STAILQ_FOREACH(head, &medium.queue[h], link)
		last = head;
	assert_non_null(last);
	return packet_of(last);
}

/* A requester that hangs leaves what it receives in its queue. */
static void answers_have_the_number_of_messages(void **state)
{
	static const uint8_t ops[] = {
		BTH_SEND_ONLY, BTH_WRITE_ONLY, BTH_READ_REQ, BTH_FETCH_ADD, BTH_SEND_ONLY,
	};
	struct packet *p;
	unsigned int i, again;

	(void)state;
	rig.hca[0]->hung = true;
	rig_recv(1, b, buf_b, 64, key_b);
	rig_recv(1, b, buf_b, 64, key_b);
	for (again = 0; again < 2; again++)
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			p = stray();
			p->opcode = BTH_RC | ops[i];
			p->psn = psn_add(0xfffffe, i);
			p->ack_req = true;
			p->va = buf_b;
			p->rkey = key_b;
			p->dma_len = p->head.len;
			if (ops[i] == BTH_READ_REQ || ops[i] == BTH_FETCH_ADD)
				p->head.len = 0;
			medium_put(1, p, STATION_0, STATION_0 + 1);
			rig_settle();
			assert_int_equal(medium.len[0], ARRAY_SIZE(ops) * again + i + 1);
			assert_int_equal(last_at(0)->msn, again ? ARRAY_SIZE(ops) : i + 1);
			assert_int_equal(last_at(0)->syndrome, AETH_ACK | AETH_NO_CREDITS);
		}
}

#define RC_ON(f)	cmocka_unit_test_setup_teardown(f, rc_on_stations, rig_down)
#define UD_ON(f)	cmocka_unit_test_setup_teardown(f, ud_on_stations, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RC_ON(connection_needs_nothing_of_infiniband),
		cmocka_unit_test(packets_that_the_link_loses_are_repaired),
		RC_ON(requester_waits_for_room_in_the_link),
		RC_ON(responder_waits_for_room_in_the_link),
		RC_ON(wake_up_ends_the_pause_of_senders),
		RC_ON(packets_of_another_station_are_dropped),
		RC_ON(packets_to_another_station_are_dropped),
		RC_ON(hung_hca_discards_only_from_a_full_queue),
		UD_ON(datagram_has_to_fit_the_mtu_of_the_link),
		UD_ON(datagram_needs_a_source_of_the_link),
		UD_ON(receiver_is_given_the_header_of_the_link),
		UD_ON(group_of_the_link_reaches_its_members),
		UD_ON(management_is_of_the_port_until_a_qp0_receives),
		RC_ON(answers_have_the_number_of_messages),
	};

	return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
