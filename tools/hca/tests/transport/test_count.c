// SPDX-License-Identifier: GPL-2.0
/*
 * Q counters: which counters an event increments, and that it leaves all others.
 */
#include <string.h>

#include "cq.h"
#include "eq.h"
#include "fabric.h"
#include "ifc.h"
#include "mkey.h"
#include "pair.h"
#include "pairrig.h"
#include "qp.h"
#include "req.h"
#include "util.h"
#include "wqe.h"

/* A counter and its value. */
struct count {
	uint16_t off;
	uint32_t n;
};

#define COUNT(fld, n)	{ IFC_OFF(query_q_counter_out, fld), n }

static int up(void **state)
{
	if (rc_up(state))
		return -1;
	rig_count(0, a);
	rig_count(1, b);
	return 0;
}

/* The counters of one side have these values, and all others are 0. */
static void counts_are(unsigned int side, const struct count *c, unsigned int n)
{
	const uint8_t *out = rig_counts(side, side ? b : a);
	uint8_t want[IFC_SZ(query_q_counter_out)] = { 0 };
	unsigned int i;

	for (i = 0; i < n; i++)
		put_be32(want + c[i].off / 8, c[i].n);
	for (i = 16; i < sizeof(want); i += 4)
		if (get_be32(out + i) != get_be32(want + i))
			fail_msg("counter at byte %u of side %u is %u, not %u", i, side,
				 get_be32(out + i), get_be32(want + i));
}

#define COUNTS(side, ...) do { \
	const struct count c_[] = { __VA_ARGS__ }; \
	counts_are(side, c_, ARRAY_SIZE(c_)); \
} while (0)

/* Each message is counted once, whatever its number of packets. */
static void requests_are_counted(void **state)
{
	(void)state;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 8192);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 8192);
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	assert_int_equal(rig_run(6, 1000), 6);
	counts_are(0, NULL, 0);
	COUNTS(1, COUNT(rx_write_requests, 2), COUNT(rx_read_requests, 1),
	       COUNT(rx_atomic_requests, 3));
}

static void wqes_of_both_queues_are_counted(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++)
		rig_recv(1, b, buf_b, 4096, key_b);
	post_send(WQE_SEND, 16, true);
	post_send(WQE_SEND, 16, true);
	assert_int_equal(rig_run(4, 1000), 4);
	assert_int_equal(rig.hca[0]->count.wqes_sq, 2);
	assert_int_equal(rig.hca[0]->count.wqes_rq, 0);
	assert_int_equal(rig.hca[1]->count.wqes_sq, 0);
	assert_int_equal(rig.hca[1]->count.wqes_rq, 2);
}

static void receive_that_is_too_short(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 10, key_b);
	post_send(WQE_SEND, 11, true);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_INVAL_REQ);
	COUNTS(0, COUNT(req_cqe_error, 1), COUNT(req_remote_invalid_request, 1));
	COUNTS(1, COUNT(resp_cqe_error, 1), COUNT(resp_local_length_error, 1));
}

static void receive_without_a_key(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 4096, key_b + 0x100);
	post_send(WQE_SEND, 16, true);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_OP);
	COUNTS(0, COUNT(req_cqe_error, 1));
	COUNTS(1, COUNT(resp_cqe_error, 1), COUNT(resp_local_protection, 1));
}

static void request_without_a_key(void **state)
{
	struct rig_wqe w;

	(void)state;
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf_a, 16, key_a + 0x100);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_PROT);
	COUNTS(0, COUNT(req_cqe_error, 1), COUNT(req_local_protection, 1));
	counts_are(1, NULL, 0);
}

static void key_of_another(void **state)
{
	(void)state;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b + 0x100, 16);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
	COUNTS(0, COUNT(req_cqe_error, 1), COUNT(req_remote_access_errors, 1));
	COUNTS(1, COUNT(rx_write_requests, 1));
}

/* Each request that arrives after a lost request shows the loss, which is counted once. */
static void lost_request(void **state)
{
	unsigned int i;

	(void)state;
	a->path.ack_timeout = 18;
	fabric_inject_drop(rig.hca[1], 0, 1);
	for (i = 0; i < 3; i++)
		rig_recv(1, b, buf_b, 4096, key_b);
	for (i = 0; i < 3; i++)
		post_send(WQE_SEND, 16, true);
	assert_int_equal(rig_run(6, 1000), 6);
	COUNTS(0, COUNT(packet_seq_err, 1));
	COUNTS(1, COUNT(out_of_sequence, 1));
}

static void lost_acknowledgment(void **state)
{
	(void)state;
	a->path.ack_timeout = 14;
	rig_recv(1, b, buf_b, 4096, key_b);
	fabric_inject_drop(rig.hca[0], 0, 1);
	post_send(WQE_SEND, 16, true);
	assert_int_equal(rig_run(2, 2000), 2);
	COUNTS(0, COUNT(local_ack_timeout_err, 1));
	COUNTS(1, COUNT(duplicate_request, 1));
}

/* The acknowledgment of a later request shows that the answer to a READ is lost. */
static void lost_answer(void **state)
{
	(void)state;
	a->path.ack_timeout = 18;
	fabric_inject_drop(rig.hca[0], 0, 1);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 16);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	assert_int_equal(rig_run(2, 1000), 2);
	COUNTS(0, COUNT(implied_nak_seq_err, 1));
	COUNTS(1, COUNT(rx_read_requests, 1), COUNT(rx_write_requests, 1),
	       COUNT(duplicate_request, 2));
}

static void peer_that_is_gone(void **state)
{
	(void)state;
	a->path.ack_timeout = 10;
	a->retry_count = a->cur_retry = 2;
	fabric_inject_drop(rig.hca[1], 0, 100);
	post_send(WQE_SEND, 16, true);
	assert_int_equal(rig_run(1, 2000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
	COUNTS(0, COUNT(local_ack_timeout_err, 3), COUNT(req_cqe_error, 1),
	       COUNT(req_transport_retries_exceeded, 1));
	counts_are(1, NULL, 0);
}

/* The first datagram is longer than the buffer of the receive WQE, the second than the MTU. */
static void datagrams_that_are_too_long(void **state)
{
	const uint8_t *store = rig_ptr(1, buf_b);
	uint8_t before[139];

	(void)state;
	rig_count(0, a);
	rig_count(1, b);
	memcpy(before, store, sizeof(before));
	rig_recv(1, b, buf_b, 40 + 99, key_b);
	post_datagram(100, 0x1111, NULL);
	rig_settle();
	assert_memory_equal(before, store, sizeof(before));
	COUNTS(1, COUNT(resp_cqe_error, 1), COUNT(resp_local_length_error, 1));
	post_datagram(4097, 0x1111, NULL);
	rig_settle();
	COUNTS(0, COUNT(req_cqe_error, 1), COUNT(req_local_length_error, 1));
}

#define T(f)	cmocka_unit_test_setup_teardown(f, up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(requests_are_counted), T(wqes_of_both_queues_are_counted),
		T(receive_that_is_too_short), T(receive_without_a_key),
		T(request_without_a_key), T(key_of_another), T(lost_request),
		T(lost_acknowledgment), T(lost_answer), T(peer_that_is_gone),
		UD(datagrams_that_are_too_long),
	};

	return cmocka_run_group_tests_name("count", tests, NULL, NULL);
}
