// SPDX-License-Identifier: GPL-2.0
/*
 * What a request may not do: local and remote keys, rights of the queue pair, lengths, operations.
 */
#include <event2/event.h>

#include "count.h"
#include "cq.h"
#include "eq.h"
#include "fabric.h"
#include "ib_packet.h"
#include "ifc.h"
#include "inject.h"
#include "mkey.h"
#include "packet.h"
#include "pair.h"
#include "pairrig.h"
#include "profile.h"
#include "qp.h"
#include "req.h"
#include "util.h"
#include "wqe.h"

static void message_too_long_for_the_qp_fails(void **state)
{
	(void)state;
	a->log_msg_max = 10;
	rig_recv(1, b, buf_b, BUF, key_b);
	post_send(WQE_SEND, 1024, true);
	post_send(WQE_SEND, 1025, false);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_A, 0, CQE_REQ, 0);
	expect_cause(CQ_A, 1, CQE_REQ_ERR, ERR_MESSAGE_TOO_LONG);
	assert_int_equal(a->state, QPS_ERR);
}

/* A queue pair whose context has no limit sends messages of up to 2^30 bytes. */
static void message_has_at_most_a_gigabyte(void **state)
{
	struct rig_wqe w;

	(void)state;
	a->log_msg_max = 0;
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf_a, (1u << 30) + 1, key_a);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_MESSAGE_TOO_LONG);
}

static void opcode_that_the_service_lacks_fails(void **state)
{
	(void)state;
	post_send(0x3f, 16, true);
	rig_run(1, 1000);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_WQE_INVALID);
}

/* The request before it waits for the peer, so its own CQE comes later. */
static void nothing_behind_an_invalid_request_is_sent(void **state)
{
	(void)state;
	a->path.ack_timeout = 18;
	fabric_inject_drop(rig.hca[1], 0, 1);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	post_send(0x3f, 16, true);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	rig_settle();
	assert_int_equal(rig.hca[0]->count.packets_tx, 1);
	assert_int_equal(rig.ncqe, 0);
	assert_int_equal(a->state, QPS_RTS);
}

static void local_key_is_checked(void **state)
{
	struct rig_wqe w;

	(void)state;
	rig_recv(1, b, buf_b, BUF, key_b);
	rig_recv(1, b, buf_b, BUF, key_b);
	post_send(WQE_SEND, 16, true);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf_a + BUF - 8, 16, key_a);
	rig_send(0, a, w.b, w.ds);
	post_send(WQE_SEND, 16, true);
	rig_run(4, 1000);
	rig_settle();
	expect(CQ_A, 0, CQE_REQ, 0);	/* the packets before are not lost */
	expect_cause(CQ_A, 1, CQE_REQ_ERR, ERR_GATHER_KEY_RANGE);
	expect_cause(CQ_A, 2, CQE_REQ_ERR, ERR_FLUSHED);
	assert_int_equal(a->state, QPS_ERR);
}

/* A SEND from @addr by @lkey fails with @error. */
static void local_row(uint64_t addr, uint32_t lkey, enum cqe_error error)
{
	struct rig_wqe w;

	rig_recv(1, b, buf_b, BUF, key_b);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, addr, 16, lkey);
	rig_send(0, a, w.b, w.ds);
	rig_run(1, 1000);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, error);
}

static void unknown_local_key_is_refused(void **state)
{
	(void)state;
	local_row(buf_a, key_a + 0x100, ERR_GATHER_KEY_UNKNOWN);
}

static void local_pd_is_checked(void **state)
{
	(void)state;
	a->pdn = RIG_PD + 1;
	local_row(buf_a, key_a, ERR_LKEY_PD);
}

#define NOWHERE	(RIG_BASE + (1ull << 40))	/* an address without memory */

static void memory_that_the_device_cannot_read_is_an_error(void **state)
{
	(void)state;
	local_row(NOWHERE, rig_mkey(0, NOWHERE, BUF, ALL), ERR_GATHER_MEMORY_GONE);
}

static void right_to_read_is_checked(void **state)
{
	(void)state;
	local_row(buf_a, rig_mkey(0, buf_a, BUF, MK_LOCAL_WRITE), ERR_GATHER_KEY_RIGHTS);
}

/* A READ whose answer is to be stored at @addr by @lkey fails with @error. */
static void answer_row(uint64_t addr, uint32_t lkey, enum cqe_error error)
{
	struct rig_wqe w;

	wq_ctrl(&w, WQE_RDMA_READ, true, 0);
	wq_raddr(&w, buf_b, key_b);
	wq_data(&w, addr, 16, lkey);
	rig_send(0, a, w.b, w.ds);
	rig_run(1, 1000);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, error);
}

static void local_rights_are_checked(void **state)
{
	(void)state;
	answer_row(buf_a, rig_mkey(0, buf_a, BUF, MK_LOCAL_READ), ERR_SCATTER_KEY_RIGHTS);
}

static void local_key_of_an_answer_is_checked(void **state)
{
	(void)state;
	answer_row(buf_a, key_a + 0x100, ERR_SCATTER_KEY_UNKNOWN);
}

static void answer_needs_memory_that_the_device_can_write(void **state)
{
	(void)state;
	answer_row(NOWHERE, rig_mkey(0, NOWHERE, BUF, ALL), ERR_SCATTER_MEMORY_GONE);
}

static void range_of_an_answer_is_checked(void **state)
{
	(void)state;
	answer_row(buf_a + BUF - 8, key_a, ERR_SCATTER_KEY_RANGE);
}

/* The peer refuses the request, and its queue pair keeps the reason. */
static void expect_refused(enum cqe_error why)
{
	rig_run(1, 1000);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_NAK_ACCESS);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(b->error, why);
	assert_int_equal(rig_events(EV_WQ_ACCESS), 1);
}

static void remote_access_row(uint64_t addr, uint32_t rkey, uint8_t opcode, enum cqe_error why)
{
	post_rdma(opcode, addr, rkey, 16);
	expect_refused(why);
}

static void remote_key_is_checked(void **state)
{
	(void)state;
	remote_access_row(buf_b, key_b + 0x100, WQE_RDMA_WRITE, ERR_RKEY_UNKNOWN);
}

static void remote_key_variant_is_checked(void **state)
{
	(void)state;
	remote_access_row(buf_b, key_b ^ 1, WQE_RDMA_READ, ERR_RKEY_UNKNOWN);
}

static void remote_key_of_an_atomic_is_checked(void **state)
{
	(void)state;
	key_b += 0x100;
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	expect_refused(ERR_RKEY_UNKNOWN);
}

/* Post a message of @len bytes, of which @n packets arrive, and no more until drops end. */
static void post_in_part(uint8_t opcode, uint32_t len, unsigned int n)
{
	fabric_inject_drop(rig.hca[1], n, 1000);
	post_rdma(opcode, buf_b, key_b, len);
	while (rig.hca[1]->count.packets_rx < n)
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_int_equal(rig.ncqe, 0);
}

static void remote_key_may_go_in_the_middle_of_a_message(void **state)
{
	struct mkey *mk = mkey_find(rig.hca[1], key_b);

	(void)state;
	post_in_part(WQE_RDMA_WRITE, BUF, 32);
	obj_free(rig.hca[1], &mk->obj);
	fabric_inject_drop(rig.hca[1], 0, 0);
	expect_refused(ERR_RKEY_UNKNOWN);
}

static void remote_key_may_lose_its_right_in_the_middle_of_a_message(void **state)
{
	(void)state;
	post_in_part(WQE_RDMA_WRITE, BUF, 32);
	mkey_find(rig.hca[1], key_b)->access &= ~MK_REMOTE_WRITE;
	fabric_inject_drop(rig.hca[1], 0, 0);
	expect_refused(ERR_RKEY_REFUSED);
}

/* The last packet of a WRITE with immediate takes no receive WQE if its key is refused. */
static void receive_stays_if_the_last_packet_is_refused(void **state)
{
	struct mkey *mk = mkey_find(rig.hca[1], key_b);

	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	post_in_part(WQE_RDMA_WRITE_IMM, 3 * 1024, 2);
	obj_free(rig.hca[1], &mk->obj);
	fabric_inject_drop(rig.hca[1], 0, 0);
	assert_int_equal(rig_run(2, 1000), 2);
	expect_refused(ERR_RKEY_UNKNOWN);
	expect_cause(CQ_B + 1, 0, CQE_RESP_ERR, ERR_FLUSHED);
}

/* In HCA 1 the @n bytes from @addr on are those of the sender, and the bytes behind them are 0. */
static void expect_stored(uint64_t addr, uint32_t n)
{
	static const uint8_t zero[4096];

	assert_memory_equal(rig_ptr(1, addr), rig_ptr(0, buf_a), n);
	assert_memory_equal(rig_ptr(1, addr + n), zero, sizeof(zero));
}

/* A ConnectX-5 has stored as many packets of 1024 bytes of WRITEs to a region of 4096 bytes. */
static const struct { uint32_t at, len, packets; } past_the_end[] = {
	{ 2048, 4096, 2 }, { 2560, 4096, 1 }, { 1536, 4096, 2 }, { 1024, 4096, 3 },
	{ 4064, 64, 0 }, { 4095, 64, 0 },
};

static void packets_are_stored_up_to_the_end_of_the_region(void **state)
{
	unsigned int i;
	uint32_t psn;

	for (i = 0; i < ARRAY_SIZE(past_the_end); i++) {
		if (i) {
			rig_down(state);
			rc_up(state);
		}
		psn = b->next_rcv_psn;
		rig_count(1, b);
		post_rdma(WQE_RDMA_WRITE, buf_b + past_the_end[i].at,
			  rig_mkey(1, buf_b, 4096, ALL), past_the_end[i].len);
		expect_refused(ERR_RKEY_REFUSED);
		expect_stored(buf_b + past_the_end[i].at, past_the_end[i].packets * 1024);
		assert_int_equal(b->next_rcv_psn, psn_add(psn, past_the_end[i].packets));
		assert_int_equal(rig_counted(1, b, rx_write_requests), 1);
	}
}

/* The second packet ends in an entry of a key that does not exist. */
static void packet_that_an_indirect_key_refuses_stores_nothing(void **state)
{
	struct mkey *mk = rig_umr_key(1, 2, MKM_KLM);

	(void)state;
	IFC_SET(mkc, mk->mkc, free, 0);
	IFC_SET(mkc, mk->mkc, rw, 1);
	IFC_SET64(mkc, mk->mkc, len, 4096);
	mkey_decode(mk);
	mk->klm[0] = (struct klm){ 1536, key_b, buf_b };
	mk->klm[1] = (struct klm){ 1536, key_b ^ 1, buf_b + 1536 };
	post_rdma(WQE_RDMA_WRITE, 0, mk->obj.num << 8 | mk->variant, 3072);
	expect_refused(ERR_RKEY_UNKNOWN);
	expect_stored(buf_b, 1024);
}

static void remote_range_is_checked(void **state)
{
	(void)state;
	remote_access_row(buf_b + BUF - 15, key_b, WQE_RDMA_WRITE, ERR_RKEY_REFUSED);
}

static void remote_rights_are_checked(void **state)
{
	(void)state;
	remote_access_row(buf_b, rig_mkey(1, buf_b, BUF, ALL & ~MK_REMOTE_READ), WQE_RDMA_READ,
			  ERR_RKEY_REFUSED);
}

static void remote_pd_is_checked(void **state)
{
	(void)state;
	b->pdn = RIG_PD + 1;
	remote_access_row(buf_b, key_b, WQE_RDMA_WRITE, ERR_RKEY_REFUSED);
}

/* The peer's queue pair does not allow the operation. A CQE and an event tell the two sides. */
static void expect_not_allowed(void)
{
	rig_run(1, 1000);
	rig_settle();
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_NAK_INVALID_REQUEST);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(rig.nevents, 1);
	assert_int_equal(rig.event[0].type, EV_WQ_INVAL_REQ);
	assert_int_equal(rig.event[0].qpn, b->obj.num);
}

static void qp_rights_are_checked(void **state)
{
	(void)state;
	b->rre = false;
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 16);
	expect_not_allowed();
}

static void qp_write_right_is_checked(void **state)
{
	(void)state;
	b->rwe = false;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	expect_not_allowed();
}

static void qp_write_right_may_go_in_the_middle_of_a_message(void **state)
{
	(void)state;
	post_in_part(WQE_RDMA_WRITE, BUF, 32);
	b->rwe = false;
	fabric_inject_drop(rig.hca[1], 0, 0);
	expect_not_allowed();
	expect_stored(buf_b, 32 * 1024);
}

static void qp_atomic_right_is_checked(void **state)
{
	(void)state;
	b->rae = false;
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	expect_not_allowed();
}

static void mode_of_the_specification_refuses_masked_atomics(void **state)
{
	uint64_t *word;

	(void)state;
	word = rig_ptr(1, buf_b);
	*word = 1;
	b->atomic_mode = ATOMIC_IB_COMP;
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_true(*word == 2);
	post_atomic(WQE_MASKED_FA, buf_b, 1, 0);
	rig_run(2, 1000);
	expect_cause(CQ_A, 1, CQE_REQ_ERR, ERR_NAK_INVALID_REQUEST);
	assert_true(*word == 2);
}

static void atomic_that_the_hca_does_not_offer_fails(void **state)
{
	(void)state;
	IFC_SET(atomic_caps, rig.hca[0]->cap[CAP_ATOMIC], atomic_operations, 0x7);
	post_atomic(WQE_MASKED_FA, buf_b, 1, 0);
	rig_run(1, 1000);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_WQE_INVALID);
}

static void atomic_that_the_peer_does_not_offer_is_refused(void **state)
{
	(void)state;
	IFC_SET(atomic_caps, rig.hca[1]->cap[CAP_ATOMIC], atomic_operations, 0x2);
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	assert_int_equal(rig_run(1, 1000), 1);
	post_atomic(WQE_ATOMIC_CS, buf_b, 1, 0);
	rig_run(2, 1000);
	expect_cause(CQ_A, 1, CQE_REQ_ERR, ERR_NAK_INVALID_REQUEST);
}

static void misaligned_atomic_is_refused(void **state)
{
	(void)state;
	post_atomic(WQE_ATOMIC_FA, buf_b + 4, 1, 0);
	rig_run(1, 1000);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_NAK_INVALID_REQUEST);
	assert_int_equal(rig_events(EV_WQ_INVAL_REQ), 1);
}

static void message_longer_than_its_receive_is_refused(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 1500, key_b);
	rig_recv(1, b, buf_b, 1500, key_b);
	post_send(WQE_SEND, 1501, true);
	rig_run(3, 1000);
	rig_settle();
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_NAK_INVALID_REQUEST);
	expect_cause(CQ_B + 1, 0, CQE_RESP_ERR, ERR_RECEIVE_TOO_SHORT);
	expect_cause(CQ_B + 1, 1, CQE_RESP_ERR, ERR_FLUSHED);
	assert_int_equal(rig_cqe(CQ_B + 1, 1)->c.wqe_counter, 1);
	assert_int_equal(rig_events(EV_WQ_INVAL_REQ), 0);	/* the CQE reports the error */
}

/* A SEND to a receive of @len bytes at @addr by @lkey fails, at the receiver with @error. */
static void receive_row(uint64_t addr, uint32_t len, uint32_t lkey, enum cqe_error error)
{
	rig_recv(1, b, addr, len, lkey);
	post_send(WQE_SEND, 16, true);
	rig_run(2, 1000);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_NAK_OPERATION);
	expect_cause(CQ_B + 1, 0, CQE_RESP_ERR, error);
}

static void receive_key_is_checked(void **state)
{
	(void)state;
	receive_row(buf_b, 64, key_b + 0x100, ERR_SCATTER_KEY_UNKNOWN);
}

static void receive_range_is_checked(void **state)
{
	(void)state;
	receive_row(buf_b + BUF - 8, 64, key_b, ERR_SCATTER_KEY_RANGE);
}

static void receive_needs_memory_that_the_device_can_write(void **state)
{
	(void)state;
	receive_row(NOWHERE, 64, rig_mkey(1, NOWHERE, BUF, ALL), ERR_SCATTER_MEMORY_GONE);
}

static void malformed_receive_is_refused(void **state)
{
	(void)state;
	/* An inline segment. */
	receive_row(buf_b, 64 | 0x80000000u, key_b, ERR_RECEIVE_INVALID);
}

static void record_may_announce_the_whole_receive_queue(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < b->rq_cnt; i++)
		rig_recv(1, b, buf_b, 64, key_b);
	post_send(WQE_SEND, 16, true);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
	expect(CQ_B + 1, 0, CQE_RESP_SEND, 0);
}

static void record_beyond_the_receive_queue_is_fatal(void **state)
{
	(void)state;
	put_be32(rig_ptr(1, b->dbr.addr + DBR_RCV), 65);
	post_send(WQE_SEND, 16, true);
	rig_run(1, 1000);
	rig_settle();
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_NAK_OPERATION);
	assert_int_equal(b->error, ERR_QUEUE_GONE);
	assert_int_equal(rig_events(EV_WQ_CATAS_ERROR), 1);
}

static void response_of_the_wrong_length_fails_the_request(void **state)
{
	struct packet *p;
	uint32_t psn = a->next_send_psn;

	(void)state;
	fabric_inject_drop(rig.hca[1], 0, 1);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 100);
	while (rig.hca[0]->count.packets_tx < 1)
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	p = packet_alloc(rig.fabric);
	ib_hdr(p)->slid = fabric_lid(rig.hca[1]);
	ib_hdr(p)->dlid = fabric_lid(rig.hca[0]);
	p->dqpn = a->obj.num;
	p->psn = psn;
	p->opcode = BTH_RC | BTH_READ_ONLY;
	p->pkey = 0xffff;
	p->head.len = 99;
	fabric_tx(rig.hca[1], p);
	rig_run(1, 1000);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_RESPONSE_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RC(message_too_long_for_the_qp_fails), RC(message_has_at_most_a_gigabyte),
		RC(opcode_that_the_service_lacks_fails),
		RC(nothing_behind_an_invalid_request_is_sent),
		RC(local_key_is_checked), RC(unknown_local_key_is_refused), RC(local_pd_is_checked),
		RC(memory_that_the_device_cannot_read_is_an_error),
		RC(answer_needs_memory_that_the_device_can_write),
		RC(receive_needs_memory_that_the_device_can_write), RC(right_to_read_is_checked),
		RC(local_rights_are_checked), RC(local_key_of_an_answer_is_checked),
		RC(range_of_an_answer_is_checked), RC(remote_key_is_checked),
		RC(remote_key_variant_is_checked), RC(remote_key_of_an_atomic_is_checked),
		RC(remote_key_may_go_in_the_middle_of_a_message), RC(remote_range_is_checked),
		RC(remote_key_may_lose_its_right_in_the_middle_of_a_message),
		RC(receive_stays_if_the_last_packet_is_refused),
		RC(packets_are_stored_up_to_the_end_of_the_region),
		RC(packet_that_an_indirect_key_refuses_stores_nothing),
		RC(qp_write_right_may_go_in_the_middle_of_a_message),
		RC(remote_rights_are_checked), RC(remote_pd_is_checked), RC(qp_rights_are_checked),
		RC(qp_write_right_is_checked), RC(qp_atomic_right_is_checked),
		RC(mode_of_the_specification_refuses_masked_atomics),
		RC(atomic_that_the_hca_does_not_offer_fails),
		RC(atomic_that_the_peer_does_not_offer_is_refused),
		RC(misaligned_atomic_is_refused), RC(message_longer_than_its_receive_is_refused),
		RC(receive_key_is_checked), RC(receive_range_is_checked),
		RC(malformed_receive_is_refused), RC(record_beyond_the_receive_queue_is_fatal),
		RC(record_may_announce_the_whole_receive_queue),
		RC(response_of_the_wrong_length_fails_the_request),
	};

	return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
