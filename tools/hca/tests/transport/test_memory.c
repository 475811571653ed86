// SPDX-License-Identifier: GPL-2.0
/*
 * The transport when memory is short: each allocation in turn fails once while a request is
 * executed, and the request completes all the same.
 */
#include "cq.h"
#include "pair.h"
#include "pairrig.h"
#include "qp.h"
#include "shortmem.h"
#include "wqe.h"

static void a_send(void)
{
	post_send(WQE_SEND, 3000, true);
}

static void a_datagram(void)
{
	post_datagram(1000, 0x1111, NULL);
}

static void a_read(void)
{
	local = buf_a + 0x8000;
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 3000);
}

static void an_atomic(void)
{
	local = buf_a + 0x8000;
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
}

/*
 * @cqes: the CQEs that have to come; the first is that of the request. Returns the number of
 * allocations.
 */
static unsigned int completes_although_one_fails(enum qp_type type, void (*post)(void),
						 unsigned int cqes)
{
	bool failed = true;
	unsigned int n;

	for (n = 0; failed; n++) {
		rig_up(NULL);
		pair_up(type);
		a->path.ack_timeout = 14;
		rig_recv(1, b, buf_b, 4096, key_b);
		shortmem_left = n;
		post();
		rig_run(cqes, 5000);
		failed = shortmem_left == UINT_MAX;
		shortmem_left = UINT_MAX;
		if (rig.ncqe < cqes)
			fail_msg("allocation %u: %u CQEs", n, rig.ncqe);
		expect(CQ_A, 0, CQE_REQ, 0);
		rig_down(NULL);
	}
	return n - 1;
}

static void send_completes_although_memory_is_short(void **state)
{
	(void)state;
	assert_true(completes_although_one_fails(QPT_RC, a_send, 2) > 2);
}

/* The receiver of a datagram may lose the datagram. */
static void datagram_completes_although_memory_is_short(void **state)
{
	(void)state;
	assert_true(completes_although_one_fails(QPT_UD, a_datagram, 1) > 2);
}

static void read_completes_although_memory_is_short(void **state)
{
	(void)state;
	assert_true(completes_although_one_fails(QPT_RC, a_read, 1) > 2);
}

static void atomic_completes_although_memory_is_short(void **state)
{
	(void)state;
	assert_true(completes_although_one_fails(QPT_RC, an_atomic, 1) > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send_completes_although_memory_is_short),
		cmocka_unit_test(datagram_completes_although_memory_is_short),
		cmocka_unit_test(read_completes_although_memory_is_short),
		cmocka_unit_test(atomic_completes_although_memory_is_short),
	};

	return cmocka_run_group_tests_name("transport memory", tests, NULL, NULL);
}
