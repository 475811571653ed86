// SPDX-License-Identifier: GPL-2.0
/*
 * The reliable connected service: data, atomics, order, loss and repair.
 */
#include <endian.h>
#include <event2/event.h>
#include <string.h>
#include <time.h>

#include "address.h"
#include "clock.h"
#include "count.h"
#include "cq.h"
#include "cqe_error.h"
#include "eq.h"
#include "fabric.h"
#include "ib_packet.h"
#include "ifc.h"
#include "inject.h"
#include "packet.h"
#include "pair.h"
#include "pairrig.h"
#include "profile.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "trace.h"
#include "tracerig.h"
#include "util.h"
#include "wqe.h"

static const uint32_t lengths[] = { 1, 31, 1023, 1024, 1025, 2048, 3000, 40000, 65536 };

static void sends_of_any_length_arrive(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		memset(rig_ptr(1, buf_b), 0, BUF);
		rig_recv(1, b, buf_b, BUF, key_b);
		post_send(WQE_SEND, lengths[i], true);
		assert_int_equal(rig_run(2 * i + 2, 2000), 2 * i + 2);
		expect(CQ_A, i, CQE_REQ, 0);
		expect(CQ_B + 1, i, CQE_RESP_SEND, 0);
		assert_int_equal(rig_cqe(CQ_B + 1, i)->c.byte_cnt, lengths[i]);
		assert_true(same(lengths[i]));
		if (lengths[i] < BUF)
			assert_int_equal(((uint8_t *)rig_ptr(1, buf_b))[lengths[i]], 0);
	}
}

static void writes_and_reads_of_any_length_arrive(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		memset(rig_ptr(1, buf_b), 0, BUF);
		post_rdma(WQE_RDMA_WRITE, buf_b, key_b, lengths[i]);
		assert_int_equal(rig_run(2 * i + 1, 2000), 2 * i + 1);
		assert_true(same(lengths[i]));
		memset(rig_ptr(0, buf_a), 0, BUF);
		post_rdma(WQE_RDMA_READ, buf_b, key_b, lengths[i]);
		assert_int_equal(rig_run(2 * i + 2, 2000), 2 * i + 2);
		expect(CQ_A, 2 * i + 1, CQE_REQ, 0);
		assert_int_equal(rig_cqe(CQ_A, 2 * i + 1)->c.byte_cnt, lengths[i]);
		assert_int_equal(rig_cqe(CQ_A, 2 * i + 1)->c.s_wqe_opcode, WQE_RDMA_READ);
		assert_true(same(lengths[i]));
	}
}

static void empty_messages_complete(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 0x40, key_b);
	post_send(WQE_SEND, 0, true);
	post_rdma(WQE_RDMA_WRITE, 0, 0, 0);
	post_rdma(WQE_RDMA_READ, 0, 0, 0);
	assert_int_equal(rig_run(4, 1000), 4);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.byte_cnt, 0);
	expect(CQ_A, 2, CQE_REQ, 0);
}

static void immediate_data_is_in_the_cqe(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 0x1000, key_b);
	rig_recv(1, b, buf_b + 0x1000, 0x1000, key_b);
	post_send(WQE_SEND_IMM, 100, true);
	post_rdma(WQE_RDMA_WRITE_IMM, buf_b + 0x2000, key_b, 3000);
	assert_int_equal(rig_run(4, 1000), 4);
	expect(CQ_B + 1, 0, CQE_RESP_SEND_IMM, 0);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.imm_inval_pkey, 0x11223344);
	expect(CQ_B + 1, 1, CQE_RESP_WR_IMM, 0);
	assert_int_equal(rig_cqe(CQ_B + 1, 1)->c.byte_cnt, 3000);
	assert_int_equal(rig_cqe(CQ_B + 1, 1)->c.wqe_counter, 1);
	assert_memory_equal(rig_ptr(1, buf_b + 0x2000), rig_ptr(0, buf_a), 3000);
	/* The write consumes a receive WQE, but leaves its buffer as it was. */
	assert_int_equal(*(uint8_t *)rig_ptr(1, buf_b + 0x1000), 0);
}

static void lists_are_gathered_and_scattered(void **state)
{
	struct rig_wqe w;
	uint8_t *r;

	(void)state;
	rig_recv(1, b, buf_b, 1000, key_b);
	r = rig_ptr(1, b->mem.pas[0]);
	put_be32(r + 16, 3000);		/* a second data segment instead of the terminator */
	put_be32(r + 20, key_b);
	put_be64(r + 24, buf_b + 0x4000);
	put_be32(r + 36, LKEY_TERMINATE);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf_a, 1500, key_a);	/* a packet ends in the middle of a segment */
	wq_inline(&w, rig_ptr(0, buf_a + 1500), 20);
	wq_data(&w, buf_a + 0x2345, 1200, key_a);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_true(same(1000));
	assert_memory_equal(rig_ptr(1, buf_b + 0x4000), rig_ptr(0, buf_a + 1000), 520);
	assert_memory_equal(rig_ptr(1, buf_b + 0x4000 + 520), rig_ptr(0, buf_a + 0x2345), 1200);
}

/* A connection uses one LID of each port, and drops packets that have another LID. */
static void path_bits_belong_to_the_connection(void **state)
{
	(void)state;
	assert_true(fabric_set_lids(rig.hca[0], 0x20, 2));
	assert_true(fabric_set_lids(rig.hca[1], 0x30, 2));
	a->path = (struct qp_path){ .rlid = 0x33, .mlid = 1 };
	b->path = (struct qp_path){ .rlid = 0x21, .mlid = 3 };
	rig_recv(1, b, buf_b, 64, key_b);
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_true(same(10));
	b->path.mlid = 2;
	rig_recv(1, b, buf_b, 64, key_b);
	post_send(WQE_SEND, 20, true);
	rig_settle();
	assert_null(rig_cqe(CQ_B + 1, 1));
	assert_int_equal(rig.hca[1]->count.packets_dropped, 1);
}

static void unsignaled_work_writes_no_cqe(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	rig_recv(1, b, buf_b, 64, key_b);
	post_send(WQE_SEND, 10, false);
	post_send(WQE_SEND, 10, true);
	rig_settle();
	assert_non_null(rig_cqe(CQ_A, 0));
	assert_int_equal(rig_cqe(CQ_A, 0)->c.wqe_counter, 1);
	assert_null(rig_cqe(CQ_A, 1));
}

static void every_cqe_has_the_user_index(void **state)
{
	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	post_send(WQE_SEND, 10, true);
	rig_run(2, 1000);
	assert_int_equal(rig_cqe(CQ_A, 0)->c.srqn_uidx, a->user_index);
	assert_int_equal(rig_cqe(CQ_A, 0)->c.qpn, a->obj.num);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.srqn_uidx, b->user_index);
}

static void short_data_goes_into_the_cqe(void **state)
{
	(void)state;
	b->cs_res = 1;
	a->cs_req = 0x11;
	rig_recv(1, b, buf_b, 64, key_b);
	rig_recv(1, b, buf_b, 64, key_b);
	post_send(WQE_SEND, 32, true);
	post_send(WQE_SEND, 33, true);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 5);
	assert_int_equal(rig_run(5, 1000), 5);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.inline_len, 32);
	assert_memory_equal(rig_cqe(CQ_B + 1, 0)->data, rig_ptr(0, buf_a), 32);
	assert_int_equal(rig_cqe(CQ_B + 1, 1)->c.inline_len, 0);
	assert_true(same(33));
	assert_int_equal(rig_cqe(CQ_A, 2)->c.inline_len, 5);
	assert_memory_equal(rig_cqe(CQ_A, 2)->data, rig_ptr(1, buf_b), 5);
}

static void not_a_byte_goes_into_the_cqe_unasked(void **state)
{
	(void)state;
	*(uint8_t *)rig_ptr(1, buf_b) = 0x5a;
	local = buf_a + 0x8000;
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 1);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_int_equal(rig_cqe(CQ_A, 0)->c.inline_len, 0);
	assert_int_equal(*(uint8_t *)rig_ptr(0, local), 0x5a);
}

static void up_to_64_bytes_go_into_a_long_cqe(void **state)
{
	(void)state;
	b->cs_res = 2;
	a->cs_req = 0x22;
	rig_recv(1, b, buf_b, 128, key_b);
	rig_recv(1, b, buf_b, 128, key_b);
	post_send(WQE_SEND, 64, true);
	post_send(WQE_SEND, 65, true);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 64);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 65);
	assert_int_equal(rig_run(6, 1000), 6);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.inline_len, 64);
	assert_memory_equal(rig_cqe(CQ_B + 1, 0)->data, rig_ptr(0, buf_a), 64);
	assert_int_equal(rig_cqe(CQ_B + 1, 1)->c.inline_len, 0);
	assert_true(same(65));
	assert_int_equal(rig_cqe(CQ_A, 2)->c.inline_len, 64);
	assert_memory_equal(rig_cqe(CQ_A, 2)->data, rig_ptr(1, buf_b), 64);
	assert_int_equal(rig_cqe(CQ_A, 3)->c.inline_len, 0);
}

static void scatter_to_cqe_leaves_memory_alone(void **state)
{
	(void)state;
	b->cs_res = 1;
	rig_recv(1, b, buf_b, 64, key_b);
	post_send(WQE_SEND, 8, true);
	rig_run(2, 1000);
	assert_false(same(8));
}

static void atomics_compute_in_host_order(void **state)
{
	uint64_t *word;

	(void)state;
	word = rig_ptr(1, buf_b + 64);
	*word = 40;
	post_atomic(WQE_ATOMIC_FA, buf_b + 64, 2, 0);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_true(*word == 42);
	assert_true(*(uint64_t *)rig_ptr(0, buf_a) == 40);
	post_atomic(WQE_ATOMIC_CS, buf_b + 64, 7, 41);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_true(*word == 42);
	assert_true(*(uint64_t *)rig_ptr(0, buf_a) == 42);
	post_atomic(WQE_ATOMIC_CS, buf_b + 64, 7, 42);
	assert_int_equal(rig_run(3, 1000), 3);
	assert_true(*word == 7);
	assert_int_equal(rig_cqe(CQ_A, 2)->c.byte_cnt, 8);
}

static void atomics_compute_in_network_order(void **state)
{
	uint64_t *word;

	(void)state;
	IFC_SET(atomic_caps, rig.hca[0]->cap[3], atomic_req_8B_endianness_mode, 0);
	IFC_SET(atomic_caps, rig.hca[1]->cap[3], atomic_req_8B_endianness_mode, 0);
	word = rig_ptr(1, buf_b + 64);
	*word = htobe64(255);
	post_atomic(WQE_ATOMIC_FA, buf_b + 64, 1, 0);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_true(*word == htobe64(256));
	assert_true(*(uint64_t *)rig_ptr(0, buf_a) == htobe64(255));
}

static void masked_atomics_change_masked_bits_only(void **state)
{
	uint64_t *word;

	(void)state;
	word = rig_ptr(1, buf_b);
	*word = 0xff00ff;
	post_masked_cs(0x1234, 0xff, 0x00ff, 0xff);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_true(*word == 0xff0034);
	*word = 0xffff;
	post_atomic(WQE_MASKED_FA, buf_b, 0x0001, 0x8080);	/* fields of 8 bits */
	assert_int_equal(rig_run(2, 1000), 2);
	assert_true(*word == 0xff00);
}

/* One mask says which bits are compared, the other which bits are swapped. */
static void masked_compare_and_swap_has_two_masks(void **state)
{
	/* Words to compare with, and what the swap leaves of 0x11223344. */
	static const struct { uint64_t compare, after; } t[] = {
		{ 0x3399, 0x11bb33dd }, { 0x3244, 0x11223344 },
	};
	unsigned int i;
	uint64_t *word;

	(void)state;
	word = rig_ptr(1, buf_b);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		*word = 0x11223344;
		post_masked_cs(0xaabbccdd, t[i].compare, 0xff00ff, 0xff00);
		assert_int_equal(rig_run(i + 1, 1000), i + 1);
		expect(CQ_A, i, CQE_REQ, 0);
		assert_true(*word == t[i].after);
		assert_true(*(uint64_t *)rig_ptr(0, buf_a) == 0x11223344);
	}
}

static void qps_of_one_hca_reach_each_other(void **state)
{
	struct qp *c = rig_qp(0, QPT_RC, 30), *d = rig_qp(0, QPT_RC, 40);
	struct rig_wqe w;

	(void)state;
	rig_connect(c, 0, d, 0);
	rig_recv(0, d, buf_a + 0x8000, 4096, key_a);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf_a, 4096, key_a);
	rig_send(0, c, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_memory_equal(rig_ptr(0, buf_a), rig_ptr(0, buf_a + 0x8000), 4096);
}

static void qp_connected_to_itself_reaches_itself(void **state)
{
	struct qp *c = rig_qp(0, QPT_RC, 30);
	struct rig_wqe w;

	(void)state;
	rig_connect(c, 0, c, 0);
	c->next_rcv_psn = c->next_send_psn;
	rig_recv(0, c, buf_a + 0x8000, 4096, key_a);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf_a, 4096, key_a);
	rig_send(0, c, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_memory_equal(rig_ptr(0, buf_a), rig_ptr(0, buf_a + 0x8000), 4096);
}

static void reads_within_the_limit_complete(void **state)
{
	unsigned int i;

	(void)state;
	a->max_rd_atomic = 1;
	b->max_dest_rd_atomic = 1;
	for (i = 0; i < 10; i++)
		post_rdma(WQE_RDMA_READ, buf_b, key_b, 5000);
	assert_int_equal(rig_run(10, 2000), 10);
	for (i = 0; i < 10; i++)
		expect(CQ_A, i, CQE_REQ, 0);
}

static void more_reads_than_resources_are_refused(void **state)
{
	unsigned int i;

	(void)state;
	a->max_rd_atomic = 4;
	b->max_dest_rd_atomic = 1;
	for (i = 0; i < 4; i++)
		post_rdma(WQE_RDMA_READ, buf_b, key_b, 5000);
	rig_run(4, 1000);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(rig_events(EV_WQ_INVAL_REQ), 1);
}

/* The responder has resources for one READ or atomic at a time. Two at a time are one too many. */
static void more_atomics_than_resources_are_refused(void **state)
{
	unsigned int i;

	(void)state;
	a->max_rd_atomic = 1;
	b->max_dest_rd_atomic = 1;
	for (i = 0; i < 4; i++)
		post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	assert_int_equal(rig_run(4, 1000), 4);
	expect(CQ_A, 3, CQE_REQ, 0);
	a->max_rd_atomic = 2;
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 5000);
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	rig_run(6, 1000);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(rig_events(EV_WQ_INVAL_REQ), 1);
}

static void fence_waits_for_reads(void **state)
{
	struct rig_wqe w;

	(void)state;
	memset(rig_ptr(1, buf_b), 0x5a, 4096);
	memset(rig_ptr(0, buf_a), 0, 4096);
	wq_ctrl(&w, WQE_RDMA_READ, false, 0);
	wq_raddr(&w, buf_b, key_b);
	wq_data(&w, buf_a, 4096, key_a);
	rig_put(0, a, w.b, w.ds);
	wq_ctrl(&w, WQE_RDMA_WRITE, true, 0);
	w.b[11] |= FENCE_READS << 5;
	wq_raddr(&w, buf_b + 8192, key_b);
	wq_data(&w, buf_a, 4096, key_a);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_memory_equal(rig_ptr(1, buf_b), rig_ptr(1, buf_b + 8192), 4096);
}

/* Whether a WRITE with this fence is sent behind a request that no answer has come to. */
static bool passes(uint8_t opcode, enum wqe_fence fence)
{
	uint64_t sent = rig.hca[0]->count.packets_tx;
	struct rig_wqe w;

	a->path.ack_timeout = 18;	/* longer than this test takes */
	fabric_inject_drop(rig.hca[1], 0, 2);
	if (opcode == WQE_ATOMIC_FA)
		post_atomic(opcode, buf_b, 1, 0);
	else
		post_rdma(opcode, buf_b, key_b, 8);
	wq_ctrl(&w, WQE_RDMA_WRITE, true, 0);
	w.b[11] |= fence << 5;
	wq_raddr(&w, buf_b, key_b);
	wq_data(&w, buf_a, 8, key_a);
	rig_send(0, a, w.b, w.ds);
	rig_settle();
	assert_int_equal(rig.ncqe, 0);
	sent = rig.hca[0]->count.packets_tx - sent;
	assert_in_range(sent, 1, 2);
	return sent == 2;
}

static void fences_wait_for_what_they_name(void **state)
{
	static const struct { enum wqe_fence fence; bool write, read; } t[] = {
		{ FENCE_NONE, true, true }, { FENCE_SMALL, true, true },
		{ FENCE_READS, true, false }, { FENCE_SMALL_READS, true, false },
		{ FENCE_ALL, false, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		rc_up(state);
		assert_int_equal(passes(WQE_RDMA_WRITE, t[i].fence), t[i].write);
		rc_up(state);
		assert_int_equal(passes(WQE_RDMA_READ, t[i].fence), t[i].read);
		rc_up(state);
		assert_int_equal(passes(WQE_ATOMIC_FA, t[i].fence), t[i].read);
	}
	rig_down(state);
}

static void no_queue_starves_another(void **state)
{
	struct qp *c = rig_qp(0, QPT_RC, 30), *d = rig_qp(1, QPT_RC, 40);
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	rig_connect(c, 0, d, 1);
	for (i = 0; i < 20; i++)	/* each has more packets than a slice */
		post_rdma(WQE_RDMA_WRITE, buf_b, key_b, BUF);
	wq_ctrl(&w, WQE_RDMA_WRITE, true, 0);
	wq_raddr(&w, buf_b, key_b);
	wq_data(&w, buf_a, 8, key_a);
	rig_send(0, c, w.b, w.ds);
	assert_int_equal(rig_run(21, 3000), 21);
	assert_int_equal(rig.cqe[0].cqn, 30);
}

static void cqes_of_version_0_have_no_user_index(void **state)
{
	(void)state;
	a->cqe_version1 = b->cqe_version1 = false;
	rig_recv(1, b, buf_b, 4096, key_b);
	post_send(WQE_SEND, 100, true);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_A, 0)->c.srqn_uidx, 0);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.srqn_uidx, 0);
}

static bool is_real_time(const struct rig_cqe *e)
{
	uint64_t now = time(NULL);

	return e->time >> 32 >= now - 60 && e->time >> 32 <= now + 60;
}

static void times_of_cqes_are_as_the_qp_asks(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		a->real_time = i;
		b->real_time = !i;
		rig_recv(1, b, buf_b, 64, key_b);
		post_send(WQE_SEND, 16, true);
		assert_int_equal(rig_run(2 * i + 2, 1000), 2 * i + 2);
		assert_int_equal(is_real_time(rig_cqe(CQ_A, i)), i);
		assert_int_equal(is_real_time(rig_cqe(CQ_B + 1, i)), !i);
	}
}

static void acks_come_as_often_as_the_qp_asks(void **state)
{
	uint64_t before = rig.hca[1]->count.packets_tx;

	(void)state;
	a->log_ack_req_freq = 1;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 8 * 1024);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_true(rig.hca[1]->count.packets_tx - before >= 4);
	a->log_ack_req_freq = 8;
	before = rig.hca[1]->count.packets_tx;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 8 * 1024);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig.hca[1]->count.packets_tx - before, 1);
}

/* ---- receive WQEs out of order --------------------------------------------------------------- */

static void post_recvs_out_of_order(unsigned int n)
{
	unsigned int i;

	b->out_of_order = true;
	for (i = 0; i < n; i++)
		rig_recv(1, b, buf_b + 0x1000 * i, 64, key_b);
}

/* Completions come in the order of the messages, and say which WQE each has consumed. */
static void recvs_are_consumed_out_of_order(void **state)
{
	static const uint16_t order[] = { 1, 0, 3, 2, 4 };
	unsigned int i;

	(void)state;
	post_recvs_out_of_order(5);
	for (i = 0; i < 5; i++) {
		memset(rig_ptr(0, buf_a), 0x10 + i, 64);
		post_send(WQE_SEND, 64, true);
		assert_int_equal(rig_run(2 * i + 2, 1000), 2 * i + 2);
		expect(CQ_A, i, CQE_REQ, 0);
		expect(CQ_B + 1, i, CQE_RESP_SEND, 0);
		assert_int_equal(rig_cqe(CQ_B + 1, i)->c.wqe_counter, order[i]);
		assert_int_equal(*(uint8_t *)rig_ptr(1, buf_b + 0x1000 * order[i]), 0x10 + i);
	}
	assert_int_equal(b->rq_hw, 5);
}

static void what_was_consumed_ahead_is_not_flushed(void **state)
{
	static const uint16_t order[] = { 1, 0, 3, 2 };
	unsigned int i;

	(void)state;
	post_recvs_out_of_order(4);
	post_send(WQE_SEND, 64, true);
	assert_int_equal(rig_run(2, 1000), 2);
	rig_state(1, b, QPS_ERR);
	assert_int_equal(rig_run(5, 1000), 5);
	for (i = 0; i < 4; i++) {
		expect(CQ_B + 1, i, i ? CQE_RESP_ERR : CQE_RESP_SEND, i ? SYND_WR_FLUSH : 0);
		assert_int_equal(rig_cqe(CQ_B + 1, i)->c.wqe_counter, order[i]);
	}
	assert_null(rig_cqe(CQ_B + 1, 4));
}

static void reset_forgets_what_was_consumed_ahead(void **state)
{
	(void)state;
	post_recvs_out_of_order(4);
	post_send(WQE_SEND, 64, true);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_true(b->resp->ahead);
	rig_state(1, b, QPS_RST);
	assert_false(b->resp->ahead);
}

/* A queue that is armed for solicited completions tells of these messages only. */
static void solicited_messages_wake_the_receiver(void **state)
{
	unsigned int i;
	struct rig_wqe w;

	(void)state;
	cq_find(rig.hca[1], CQ_B + 1)->armed_sol = true;
	for (i = 0; i < 4; i++)
		rig_recv(1, b, buf_b, 4096, key_b);
	for (i = 0; i < 4; i++) {
		wq_ctrl(&w, i < 2 ? WQE_SEND : WQE_RDMA_WRITE_IMM, true, 0);
		if (i >= 2)
			wq_raddr(&w, buf_b, key_b);
		if (i & 1)
			w.b[11] |= 1 << 1;	/* solicited event */
		wq_data(&w, buf_a, 3000, key_a);
		rig_send(0, a, w.b, w.ds);
		rig_settle();
		expect(CQ_A, i, CQE_REQ, 0);
		if (i & 1) {
			assert_non_null(rig_cqe(CQ_B + 1, i / 2));
			assert_int_equal(rig_cqe(CQ_B + 1, i / 2)->c.wqe_counter, i);
		} else {
			assert_null(rig_cqe(CQ_B + 1, i / 2));
		}
	}
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void packets_of_other_ports_are_ignored(void **state)
{
	struct packet *p = packet_alloc(rig.fabric);

	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	ib_hdr(p)->slid = 77;
	ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
	p->dqpn = b->obj.num;
	p->psn = b->next_rcv_psn;
	p->opcode = BTH_RC | BTH_SEND_ONLY;
	p->head.len = 10;
	fabric_tx(rig.hca[0], p);
	rig_settle();
	assert_int_equal(rig.ncqe, 0);
}

static void partitions_separate_connections(void **state)
{
	(void)state;
	a->path.pkey_index = 1;
	b->path.pkey_index = 2;
	rig_recv(1, b, buf_b, 4096, key_b);
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.imm_inval_pkey, 2);
	b->path.pkey_index = 0;
	a->retry_count = 1;
	a->cur_retry = 1;
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
	assert_true(rig.hca[1]->count.bad_pkeys >= 2);
}

static void gids_of_a_connection_are_checked(void **state)
{
	(void)state;
	a->path.grh = b->path.grh = true;
	a->path.src_gid_index = 1;
	gid_get(rig.hca[1], 2, a->path.dgid);
	b->path.src_gid_index = 2;
	gid_get(rig.hca[0], 1, b->path.dgid);
	rig_recv(1, b, buf_b, 4096, key_b);
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(2, 1000), 2);
	a->retry_count = 0;
	a->cur_retry = 0;
	b->path.dgid[15]++;		/* not the GID that the packets come from */
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
	assert_int_equal(rig.hca[1]->count.packets_dropped, 1);
}

static void switch_drops_what_is_longer_than_the_mtu(void **state)
{
	(void)state;
	rig.hca[0]->profile->mtu = 512;
	rig_recv(1, b, buf_b, 4096, key_b);
	post_send(WQE_SEND, 512, true);
	assert_int_equal(rig_run(2, 1000), 2);
	a->retry_count = 0;
	a->cur_retry = 0;
	post_send(WQE_SEND, 513, true);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
}

/* ---- loss ------------------------------------------------------------------------------------ */

/* Two time-outs, of 1 ms each, take at least twice the profile's lower bound. */
static void retry_timer_has_a_lower_bound(void **state)
{
	uint64_t start;

	(void)state;
	rig.hca[0]->profile->log_min_ack_timeout = 15;
	a->path.ack_timeout = 8;
	a->retry_count = a->cur_retry = 1;
	qp_set_state(rig.hca[1], b, QPS_RST);
	start = clock_now_ns();
	post_send(WQE_SEND, 16, true);
	rig_run(1, 3000);
	assert_true(clock_now_ns() - start >= 2 * (4096ull << 15));
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_NO_ANSWER);
	rig.hca[0]->profile->log_min_ack_timeout = 0;
}

/* If the profile has a lower bound, the timer runs for twice the time-out, or for the bound. */
static void check_retry_timer(unsigned int bound, unsigned int log)
{
	uint64_t now;

	rig.hca[0]->profile->log_min_ack_timeout = bound;
	a->path.ack_timeout = 18;
	fabric_inject_drop(rig.hca[0], 0, 1);
	now = clock_now_ns();
	post_send(WQE_SEND, 16, true);
	rig_settle();
	assert_true(a->req->deadline_ns >= now + (4096ull << log));
	assert_true(a->req->deadline_ns < now + (4096ull << (log + 1)));
	rig.hca[0]->profile->log_min_ack_timeout = 0;
}

static void retry_timer_runs_for_the_timeout(void **state)
{
	(void)state;
	check_retry_timer(0, 18);
}

static void retry_timer_may_be_longer_than_its_bound(void **state)
{
	(void)state;
	check_retry_timer(15, 19);
}

static void retry_timer_has_a_bound_of_twice_the_timeout(void **state)
{
	(void)state;
	check_retry_timer(19, 19);
}

static void retry_timer_has_a_bound_above_twice_the_timeout(void **state)
{
	(void)state;
	check_retry_timer(20, 20);
}

/* Drop one packet at each position, in both directions: the result must be as if none was lost. */
static void lost_packets_are_repaired(void **state)
{
	unsigned int lost, side, n;
	uint64_t *word;

	for (side = 0; side < 2; side++)
		for (lost = 0; lost < 14; lost++) {
			rc_up(state);
			word = rig_ptr(1, buf_b + 0x8000);
			*word = 5;
			/*
			 * Each answer after a lost answer shows the loss. All these answers cause
			 * only one retry.
			 */
			a->retry_count = a->cur_retry = 2;
			a->path.ack_timeout = 14;
			rig_recv(1, b, buf_b, 8192, key_b);
			rig_recv(1, b, buf_b + 0xa000, 8192, key_b);
			fabric_inject_drop(rig.hca[side], lost, 1);
			post_send(WQE_SEND, 3000, true);
			local = buf_a + 0xf000;
			post_atomic(WQE_ATOMIC_FA, buf_b + 0x8000, 1, 0);
			local = buf_a + 0x8000;
			post_rdma(WQE_RDMA_READ, buf_b, key_b, 3000);
			local = buf_a;
			post_rdma(WQE_RDMA_WRITE_IMM, buf_b + 0x4000, key_b, 3000);
			rig_run(6, 3000);
			rig_settle();
			n = rig.ncqe;
			assert_int_equal(n, 6);
			for (n = 0; n < 4; n++)
				expect(CQ_A, n, CQE_REQ, 0);
			assert_null(rig_cqe(CQ_B + 1, 2));
			assert_true(*word == 6);
			assert_memory_equal(rig_ptr(1, buf_b), rig_ptr(0, buf_a), 3000);
			assert_memory_equal(rig_ptr(1, buf_b + 0x4000), rig_ptr(0, buf_a), 3000);
			assert_memory_equal(rig_ptr(0, buf_a + 0x8000), rig_ptr(0, buf_a), 3000);
			assert_int_equal(*(uint64_t *)rig_ptr(0, buf_a + 0xf000), 5);
			rig_down(state);
		}
}

/* A packet of the first HCA to a queue pair of the second one. */
static struct packet *packet_to(const struct qp *qp, uint8_t opcode, uint32_t psn)
{
	struct packet *p = packet_alloc(rig.fabric);

	p->opcode = BTH_RC | opcode;
	ib_hdr(p)->slid = fabric_lid(rig.hca[0]);
	ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
	p->pkey = 0xffff;
	p->dqpn = qp->obj.num;
	p->psn = psn;
	return p;
}

/*
 * A READ that arrives a second time, and late, is answered again. The requester does not wait for
 * this answer, so the answer does not count against max_dest_rd_atomic.
 */
static void late_duplicate_of_a_read_takes_no_room(void **state)
{
	struct packet *p = packet_to(b, BTH_READ_REQ, a->next_send_psn);

	(void)state;
	a->max_rd_atomic = 1;
	b->max_dest_rd_atomic = 1;
	p->va = buf_b;
	p->rkey = key_b;
	p->dma_len = 5000;
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 5000);
	assert_int_equal(rig_run(1, 1000), 1);
	fabric_tx(rig.hca[0], p);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 5000);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 1, CQE_REQ, 0);
}

/* A queue pair at another port cannot reach a connection by guessing its number. */
static void packet_from_another_lid_is_dropped(void **state)
{
	struct packet *p = packet_to(b, BTH_SEND_ONLY, b->next_rcv_psn);

	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	ib_hdr(p)->slid++;
	p->head.len = 16;
	fabric_tx(rig.hca[0], p);
	rig_settle();
	assert_int_equal(rig.hca[1]->count.packets_dropped, 1);
	assert_int_equal(rig.ncqe, 0);
}

/* Whatever the peer sends: a queue pair that cannot send yet waits for no acknowledgement. */
static void acknowledgement_in_rtr_is_ignored(void **state)
{
	struct qp *c = rig_qp(1, QPT_RC, 40);

	(void)state;
	rig.net->path(&c->path, 0);
	c->remote_qpn = a->obj.num;
	rig_state(1, c, QPS_INIT);
	rig_state(1, c, QPS_RTR);
	fabric_tx(rig.hca[0], packet_to(c, BTH_ACK, c->next_send_psn));
	rig_settle();
	assert_int_equal(rig.hca[1]->count.packets_dropped, 0);
	assert_int_equal(c->state, QPS_RTR);
	assert_int_equal(rig.ncqe, 0);
}

static void late_duplicate_of_an_atomic_takes_no_room(void **state)
{
	struct packet *p = packet_to(b, BTH_FETCH_ADD, a->next_send_psn);

	(void)state;
	a->max_rd_atomic = 1;
	b->max_dest_rd_atomic = 1;
	p->va = buf_b;
	p->rkey = key_b;
	p->swap_add = 1;
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	assert_int_equal(rig_run(1, 1000), 1);
	fabric_tx(rig.hca[0], p);
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 1, CQE_REQ, 0);
}

/* A request to @b whose PSN is @behind PSNs before the expected PSN. */
static struct packet *request(uint8_t opcode, uint32_t behind)
{
	struct packet *p = packet_to(b, opcode, (b->next_rcv_psn - behind) & PSN_MASK);

	p->va = buf_b;
	p->rkey = key_b;
	return p;
}

/* A packet of another service does not move the connection. */
static void packets_of_other_services_are_dropped(void **state)
{
	static const uint8_t service[] = { BTH_UC, BTH_UD, BTH_XRC };
	uint64_t dropped = rig.hca[1]->count.packets_dropped;
	uint32_t psn = b->next_rcv_psn;
	struct packet *p;
	unsigned int i;

	(void)state;
	rig_recv(1, b, buf_b, 64, key_b);
	for (i = 0; i < sizeof(service); i++) {
		p = request(BTH_SEND_ONLY, 0);
		p->opcode = service[i] | BTH_SEND_ONLY;
		p->head.len = 10;
		fabric_tx(rig.hca[0], p);
		rig_settle();
		assert_int_equal(rig.hca[1]->count.packets_dropped, dropped + i + 1);
		assert_int_equal(b->next_rcv_psn, psn);
	}
	assert_int_equal(rig.ncqe, 0);
	assert_int_equal(b->state, QPS_RTS);
}

static void late_request(uint8_t opcode, uint32_t behind)
{
	struct packet *p = request(opcode, behind);

	p->dma_len = opcode == BTH_READ_REQ ? 16 : 0;
	p->swap_add = 1;
	fabric_tx(rig.hca[0], p);
	rig_settle();
}

static uint64_t sent_by_b(void)
{
	return rig.hca[1]->count.packets_tx;
}

/* The result of an atomic is repeated only to the connection that requested the atomic. */
static void results_of_atomics_end_with_the_connection(void **state)
{
	uint64_t sent;

	(void)state;
	post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	assert_int_equal(rig_run(1, 1000), 1);
	sent = sent_by_b();
	late_request(BTH_FETCH_ADD, 1);
	assert_int_equal(sent_by_b(), sent + 1);
	late_request(BTH_FETCH_ADD, 2);		/* no request of this PSN is known */
	assert_int_equal(sent_by_b(), sent + 1);
	assert_true(*(uint64_t *)rig_ptr(1, buf_b) == 1);
	rig_state(1, b, QPS_RST);
	rig_state(1, b, QPS_INIT);
	rig_state(1, b, QPS_RTR);
	late_request(BTH_FETCH_ADD, 1);
	assert_int_equal(sent_by_b(), sent + 1);
	assert_true(*(uint64_t *)rig_ptr(1, buf_b) == 1);
}

static void duplicate_of_a_read_needs_the_right(void **state)
{
	uint64_t sent;

	(void)state;
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 16);
	assert_int_equal(rig_run(1, 1000), 1);
	sent = sent_by_b();
	late_request(BTH_READ_REQ, 1);
	assert_int_equal(sent_by_b(), sent + 1);
	b->rre = false;
	late_request(BTH_READ_REQ, 1);
	assert_int_equal(sent_by_b(), sent + 1);
}

/* The key is checked again for each packet of the answer. */
static void key_that_is_freed_ends_the_answer_to_a_read(void **state)
{
	struct mkey *mk = mkey_find(rig.hca[1], key_b);
	struct packet *p = request(BTH_READ_REQ, 0);

	(void)state;
	memset(rig_ptr(0, buf_a), 0x5c, 16);
	p->dma_len = 16;
	a->path.ack_timeout = 18;
	fabric_inject_drop(rig.hca[1], 0, 1);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 16);
	rig_settle();
	assert_int_equal(rig.ncqe, 0);
	resp_receive(rig.hca[1], b, p);		/* in the place of the packet that was dropped */
	packet_free(rig.fabric, p);
	assert_int_equal(b->resp->job_n, 1);
	mk->free = true;
	assert_int_equal(rig_run(1, 1000), 1);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_NAK_ACCESS);
	assert_int_equal(*(uint8_t *)rig_ptr(0, buf_a), 0x5c);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(b->error, ERR_RKEY_UNKNOWN);
	assert_int_equal(rig_events(EV_WQ_ACCESS), 1);
	mk->free = false;
}

/* While an answer to a READ waits, a later ACK replaces an earlier ACK. Other answers all stay. */
static void only_acknowledgments_are_joined(void **state)
{
	static const uint8_t kinds[] = { AETH_RNR | 1, NAK_SEQ };
	struct packet *p = request(BTH_READ_REQ, 0);
	struct responder *resp;
	unsigned int i;

	(void)state;
	p->dma_len = 16;
	resp_receive(rig.hca[1], b, p);
	packet_free(rig.fabric, p);
	resp = b->resp;
	assert_int_equal(resp->job_n, 1);
	resp_ack(rig.hca[1], b, AETH_ACK | AETH_NO_CREDITS, 10);
	resp_ack(rig.hca[1], b, AETH_ACK | AETH_NO_CREDITS, 11);
	assert_int_equal(resp->job_n, 2);
	assert_int_equal(resp_job_at(resp, 1)->psn, 11);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		resp_ack(rig.hca[1], b, kinds[i], 12 + 2 * i);
		resp_ack(rig.hca[1], b, kinds[i], 13 + 2 * i);
		assert_int_equal(resp->job_n, 4 + 2 * i);
		assert_int_equal(resp_job_at(resp, 2 + 2 * i)->psn, 12 + 2 * i);
		assert_int_equal(resp_job_at(resp, 3 + 2 * i)->psn, 13 + 2 * i);
	}
	resp_ack(rig.hca[1], b, AETH_ACK | AETH_NO_CREDITS, 16);
	assert_int_equal(resp->job_n, 7);
}

/* resp_drop_jobs() cuts off an answer, and drops the answer if no packet is left to send. */
static void answer_is_dropped_behind_what_was_sent(void **state)
{
	struct packet *p = request(BTH_READ_REQ, 0);
	struct responder *resp;
	unsigned int budget = 3;
	uint32_t psn = p->psn;

	(void)state;
	p->dma_len = BUF;
	resp_receive(rig.hca[1], b, p);
	packet_free(rig.fabric, p);
	resp = b->resp;
	resp_run(rig.hca[1], b, &budget);
	assert_int_equal(resp_job_at(resp, 0)->sent, 3);
	resp_drop_jobs(resp, psn_add(psn, 4));
	assert_int_equal(resp->job_n, 1);
	assert_int_equal(resp->rd_jobs, 1);
	assert_int_equal(resp_job_at(resp, 0)->npsn, 4);
	resp_drop_jobs(resp, psn_add(psn, 100));
	assert_int_equal(resp_job_at(resp, 0)->npsn, 4);
	resp_drop_jobs(resp, psn_add(psn, 3));
	assert_int_equal(resp->job_n, 0);
	assert_int_equal(resp->rd_jobs, 0);
}

/*
 * Both queue pairs fail, as if the key had been free at the first packet; no answer follows. The
 * trace names the packet that is refused.
 */
static void key_that_is_freed_in_the_middle_of_a_read_fails_both(void **state)
{
	struct mkey *mk = mkey_find(rig.hca[1], key_b);
	uint32_t psn = a->next_send_psn;
	unsigned int i, budget = 3;
	struct packet *p;
	uint64_t sent;

	(void)state;
	trace_ring(rig.hca[1]->trace, true);
	a->path.ack_timeout = 18;
	fabric_inject_drop(rig.hca[1], 0, 2);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, BUF);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, BUF);
	rig_settle();
	for (i = 0; i < 2; i++) {	/* in the place of the packets that were dropped */
		p = request(BTH_READ_REQ, 0);
		p->dma_len = BUF;
		resp_receive(rig.hca[1], b, p);
		packet_free(rig.fabric, p);
	}
	assert_int_equal(b->resp->job_n, 2);
	resp_run(rig.hca[1], b, &budget);
	assert_int_equal(resp_job_at(b->resp, 0)->sent, 3);
	sent = sent_by_b();
	mk->free = true;
	assert_int_equal(rig_run(2, 1000), 2);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_NAK_ACCESS);
	expect_cause(CQ_A, 1, CQE_REQ_ERR, ERR_FLUSHED);
	assert_int_equal(sent_by_b(), sent + 1);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(b->error, ERR_RKEY_UNKNOWN);
	assert_int_equal(b->resp->job_n, 0);
	assert_int_equal(b->resp->rd_jobs, 0);
	assert_int_equal(rig_events(EV_WQ_ACCESS), 1);
	expect_traced(rig.hca[1]->trace, "refuse",
		      "\"qpn\":%u,\"psn\":%u,\"opcode\":%u,\"nak\":%u,\"syndrome\":%u",
		      b->obj.num, psn_add(psn, 3), BTH_RC | BTH_READ_MIDDLE, NAK_ACCESS,
		      cqe_error_syndrome(ERR_RKEY_UNKNOWN));
	mk->free = false;
}

/* A request whose answer would find no room is not executed: the requester sends it again. */
static void request_without_room_for_its_answer_is_dropped(void **state)
{
	uint32_t next = b->next_rcv_psn;
	uint64_t *word = rig_ptr(1, buf_b);
	struct packet *p;
	unsigned int i;

	(void)state;
	for (i = RESP_MAX_JOBS; i; i--) {	/* READs that come again, and do not count */
		p = request(BTH_READ_REQ, i);
		p->dma_len = 16;
		resp_receive(rig.hca[1], b, p);
		packet_free(rig.fabric, p);
	}
	assert_int_equal(b->resp->job_n, RESP_MAX_JOBS - 2);
	for (i = 0; i < 2; i++) {
		p = request(BTH_FETCH_ADD, 0);
		p->swap_add = 1;
		resp_receive(rig.hca[1], b, p);
		packet_free(rig.fabric, p);
		assert_true(*word == i);
		assert_int_equal(b->next_rcv_psn, psn_add(next, i));
		rig_settle();
		assert_int_equal(b->resp->job_n, 0);
	}
	assert_int_equal(b->state, QPS_RTS);
}

/* The key does not allow the access either, but the length is checked first. */
static void too_long(uint8_t opcode)
{
	struct packet *p = request(opcode, 0);

	p->dma_len = RESP_MAX_LEN + 1;
	p->head.len = opcode == BTH_READ_REQ ? 0 : b->mtu;
	resp_receive(rig.hca[1], b, p);
	packet_free(rig.fabric, p);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(b->error, ERR_REQUEST_INVALID);
}

/* Let a packet of @len bytes arrive at b. */
static void arrive(uint8_t opcode, uint32_t len)
{
	struct packet *p = request(opcode, 0);

	p->head.len = len;
	p->dma_len = 4 * b->mtu;
	memset(p->payload, 0, len);
	resp_receive(rig.hca[1], b, p);
	packet_free(rig.fabric, p);
}

/* All packets of a message but the last are as long as the MTU, and the last is not empty. */
static void length_is_refused(uint8_t opcode, uint32_t len)
{
	rig_recv(1, b, buf_b, 4 * b->mtu, key_b);
	if (opcode == BTH_SEND_MIDDLE || opcode == BTH_SEND_LAST)
		arrive(BTH_SEND_FIRST, b->mtu);
	if (opcode == BTH_WRITE_MIDDLE || opcode == BTH_WRITE_LAST)
		arrive(BTH_WRITE_FIRST, b->mtu);
	assert_int_equal(b->state, QPS_RTS);
	arrive(opcode, len);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(b->error, ERR_REQUEST_INVALID);
}

static void first_packet_is_as_long_as_the_mtu(void **state)
{
	(void)state;
	length_is_refused(BTH_SEND_FIRST, b->mtu - 1);
}

static void middle_packet_is_as_long_as_the_mtu(void **state)
{
	(void)state;
	length_is_refused(BTH_SEND_MIDDLE, b->mtu - 1);
}

static void middle_packet_of_a_write_is_as_long_as_the_mtu(void **state)
{
	(void)state;
	length_is_refused(BTH_WRITE_MIDDLE, b->mtu + 1);
}

static void last_packet_is_not_empty(void **state)
{
	(void)state;
	length_is_refused(BTH_SEND_LAST, 0);
}

static void last_packet_is_not_longer_than_the_mtu(void **state)
{
	(void)state;
	length_is_refused(BTH_SEND_LAST, b->mtu + 1);
}

static void only_packet_is_not_longer_than_the_mtu(void **state)
{
	(void)state;
	length_is_refused(BTH_SEND_ONLY, b->mtu + 1);
}

/* The length in the first packet of a WRITE is the length of the whole message. */
static void last_packet_of_a_write_completes_it(void **state)
{
	(void)state;
	length_is_refused(BTH_WRITE_LAST, b->mtu);
}

/* A packet of a WRITE has at most as many bytes as are left of the message. */
static void packet_is_not_longer_than_the_rest_of_a_write(void **state)
{
	struct packet *p = request(BTH_WRITE_FIRST, 0);

	(void)state;
	p->head.len = b->mtu;
	p->dma_len = b->mtu - 1;
	memset(p->payload, 0, p->head.len);
	resp_receive(rig.hca[1], b, p);
	packet_free(rig.fabric, p);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(b->error, ERR_REQUEST_INVALID);
}

/* A message, its receive WQE and all answers that wait end with the connection. */
static void reset_forgets_the_requests_of_the_connection(void **state)
{
	struct responder *resp;
	struct packet *p;

	(void)state;
	rig_recv(1, b, buf_b, 4 * b->mtu, key_b);
	arrive(BTH_READ_REQ, 0);
	arrive(BTH_SEND_FIRST, b->mtu);
	p = request(BTH_SEND_MIDDLE, 0);
	p->psn = psn_add(p->psn, 1);
	resp_receive(rig.hca[1], b, p);		/* out of sequence */
	packet_free(rig.fabric, p);
	resp = b->resp;
	assert_int_equal(resp->job_n, 2);
	assert_int_equal(resp->rd_jobs, 1);
	assert_int_equal(resp->msg, MSG_SEND);
	assert_int_equal(b->msn, 1);
	assert_true(resp->have_rwqe && resp->nak_sent);
	rig_state(1, b, QPS_RST);
	assert_int_equal(resp->job_n, 0);
	assert_int_equal(resp->rd_jobs, 0);
	assert_int_equal(resp->msg, MSG_NONE);
	assert_int_equal(b->msn, 0);
	assert_false(resp->have_rwqe || resp->nak_sent);
	/* The next message gets a WQE that is posted now. */
	put_be32(rig_ptr(1, b->dbr.addr + DBR_RCV), 0);
	rig_connect(a, 0, b, 1);
	rig_recv(1, b, buf_b + 0x8000, 64, key_b);
	post_send(WQE_SEND, 16, true);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_memory_equal(rig_ptr(1, buf_b + 0x8000), rig_ptr(0, buf_a), 16);
}

/* After the first packet of a message only packets of the same message may follow. */
static void order_is_refused(uint8_t first, uint8_t opcode)
{
	rig_recv(1, b, buf_b, 4 * b->mtu, key_b);
	if (first)
		arrive(first, b->mtu);
	assert_int_equal(b->state, QPS_RTS);
	arrive(opcode, b->mtu);
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(b->error, ERR_REQUEST_INVALID);
}

static void send_does_not_continue_a_write(void **state)
{
	(void)state;
	order_is_refused(BTH_WRITE_FIRST, BTH_SEND_MIDDLE);
}

static void send_does_not_begin_inside_a_write(void **state)
{
	(void)state;
	order_is_refused(BTH_WRITE_FIRST, BTH_SEND_ONLY);
}

static void read_does_not_begin_inside_a_write(void **state)
{
	(void)state;
	order_is_refused(BTH_WRITE_FIRST, BTH_READ_REQ);
}

static void atomic_does_not_begin_inside_a_write(void **state)
{
	(void)state;
	order_is_refused(BTH_WRITE_FIRST, BTH_FETCH_ADD);
}

static void message_begins_with_its_first_packet(void **state)
{
	(void)state;
	order_is_refused(0, BTH_WRITE_MIDDLE);
}

/* Let a packet arrive at b whose PSN is @ahead of the expected one. Returns the answers. */
static unsigned int answers_to(unsigned int ahead)
{
	unsigned int sent = rig.hca[1]->count.packets_tx;
	struct packet *p = request(BTH_WRITE_ONLY, -ahead);

	resp_receive(rig.hca[1], b, p);
	packet_free(rig.fabric, p);
	rig_settle();
	return rig.hca[1]->count.packets_tx - sent;
}

static void each_gap_is_reported_once(void **state)
{
	(void)state;
	assert_int_equal(answers_to(1), 1);
	assert_int_equal(answers_to(2), 0);
	assert_int_equal(answers_to(0), 0);	/* the packet was missing, and asks for no answer */
	assert_int_equal(answers_to(1), 1);
	assert_int_equal(b->state, QPS_RTS);
}

/* The packets behind one that has to wait for a receive are sent again, too. */
static void no_gap_is_reported_behind_a_packet_that_waits(void **state)
{
	unsigned int sent = rig.hca[1]->count.packets_tx;

	(void)state;
	arrive(BTH_SEND_ONLY, 16);
	rig_settle();
	assert_int_equal(rig.hca[1]->count.packets_tx, sent + 1);	/* the RNR NAK */
	assert_int_equal(answers_to(1), 0);
}

/* Let an acknowledgment arrive at a, and return the number of completions. */
static unsigned int acknowledge(uint32_t psn)
{
	struct packet *p = packet_alloc(rig.fabric);

	p->opcode = BTH_RC | BTH_ACK;
	p->syndrome = AETH_ACK | AETH_NO_CREDITS;
	p->psn = psn & PSN_MASK;
	req_receive(rig.hca[0], a, p);
	packet_free(rig.fabric, p);
	return rig.ncqe;
}

/* An ACK of packets that were not sent, or are acknowledged already, completes nothing. */
static void only_what_is_outstanding_is_acknowledged(void **state)
{
	(void)state;
	a->path.ack_timeout = 18;
	fabric_inject_drop(rig.hca[1], 0, 3);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	rig_settle();
	assert_int_equal(acknowledge(a->next_send_psn), 0);
	assert_int_equal(acknowledge(a->next_send_psn - 3), 0);
	assert_int_equal(acknowledge(a->next_send_psn - 2), 1);
	assert_int_equal(acknowledge(a->next_send_psn - 2), 1);
	assert_int_equal(acknowledge(a->next_send_psn - 1), 2);
}

/* The acknowledgment of a part of a message, too, shows that the peer is there. */
static void acknowledged_part_of_a_message_restores_the_retries(void **state)
{
	(void)state;
	a->path.ack_timeout = 18;
	fabric_inject_drop(rig.hca[1], 0, 3);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 3 * a->mtu);
	rig_settle();
	a->cur_retry = 0;
	a->cur_rnr_retry = 0;
	assert_int_equal(acknowledge(a->next_send_psn - 3), 0);
	assert_int_equal(a->cur_retry, a->retry_count);
	assert_int_equal(a->cur_rnr_retry, a->rnr_retry);
	/* The same acknowledgment again tells nothing. */
	a->cur_retry = 0;
	assert_int_equal(acknowledge(a->next_send_psn - 3), 0);
	assert_int_equal(a->cur_retry, 0);
}

/* Let a packet without data, of this syndrome and for the oldest request, arrive at a. */
static void answer_with(uint8_t syndrome)
{
	struct packet *p = packet_alloc(rig.fabric);

	p->opcode = BTH_RC | BTH_ACK;
	p->syndrome = syndrome;
	p->psn = a->req->una;
	req_receive(rig.hca[0], a, p);
	packet_free(rig.fabric, p);
}

/* Then the requester itself is late, which takes none of its retries. */
static void gap_is_repaired_after_the_page_fault_of_the_requester(void **state)
{
	(void)state;
	a->path.ack_timeout = 18;
	fabric_inject_drop(rig.hca[1], 0, 1);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	rig_settle();
	a->req->fault = 1;
	answer_with(NAK_SEQ);
	a->req->fault = 0;
	assert_true(a->req->again);
	assert_int_equal(a->cur_retry, a->retry_count);
}

static void nak_of_an_unknown_kind_fails_the_request(void **state)
{
	(void)state;
	a->path.ack_timeout = 18;
	fabric_inject_drop(rig.hca[1], 0, 1);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	rig_settle();
	answer_with(NAK_REMOTE_OP + 1);
	assert_int_equal(rig.ncqe, 1);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_RESPONSE_INVALID);
}

static void never(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* Microseconds that an RNR NAK of this timer code stands for: 2 and 3, doubled every two codes. */
static int64_t rnr_us(unsigned int code)
{
	if (!code)
		return 655350;
	return code == 1 ? 10 : 10ll * (2 + code % 2) << (code / 2 - 1);
}

/*
 * Compares the requester's timer with another timer, which is started at the same time. The clock
 * of the timers may have steps of 10 ms.
 */
static void requester_waits_as_long_as_the_rnr_nak_says(void **state)
{
	struct event *other = evtimer_new(rig.base, never, NULL);
	int64_t us, passed, diff;
	struct timeval tv, t[2];
	unsigned int code;

	(void)state;
	a->path.ack_timeout = 18;
	fabric_inject_drop(rig.hca[1], 0, 1);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 16);
	rig_settle();
	for (code = 0; code < 32; code++) {
		us = rnr_us(code);
		tv = (struct timeval){ .tv_usec = us };
		passed = clock_now_ns();
		answer_with(AETH_RNR | code);
		evtimer_add(other, &tv);
		passed = (int64_t)(clock_now_ns() - passed) / 1000;
		assert_true(a->req->rnr_wait);
		assert_true(evtimer_pending(a->req->timer, &t[0]));
		assert_true(evtimer_pending(other, &t[1]));
		diff = (t[1].tv_sec - t[0].tv_sec) * 1000000ll + t[1].tv_usec - t[0].tv_usec;
		if (diff < -10000 || diff > passed + 10000)
			fail_msg("timer code %u: %lld us off", code, (long long)diff);
		a->req->rnr_wait = false;
	}
	assert_int_equal(rig.ncqe, 0);
	event_free(other);
}

/* Let an answer of the wrong kind or length arrive at the requester of a READ or an atomic. */
static void answer_is_invalid(bool atomic, uint8_t opcode, uint32_t len)
{
	struct packet *p = packet_alloc(rig.fabric);

	a->path.ack_timeout = 18;
	fabric_inject_drop(rig.hca[1], 0, 1);
	if (atomic)
		post_atomic(WQE_ATOMIC_FA, buf_b, 1, 0);
	else
		post_rdma(WQE_RDMA_READ, buf_b, key_b, 2 * a->mtu);
	rig_settle();
	memset(rig_ptr(0, buf_a), 0x5c, 16);
	p->opcode = BTH_RC | opcode;
	p->psn = a->req->una;
	p->head.len = len;
	memset(p->payload, 0, len);
	req_receive(rig.hca[0], a, p);
	packet_free(rig.fabric, p);
	assert_int_equal(rig.ncqe, 1);
	expect_cause(CQ_A, 0, CQE_REQ_ERR, ERR_RESPONSE_INVALID);
	assert_int_equal(*(uint8_t *)rig_ptr(0, buf_a), 0x5c);
}

static void result_of_an_atomic_does_not_answer_a_read(void **state)
{
	(void)state;
	answer_is_invalid(false, BTH_ATOMIC_ACK, 0);
}

static void data_of_a_read_does_not_answer_an_atomic(void **state)
{
	(void)state;
	answer_is_invalid(true, BTH_READ_ONLY, 8);
}

static void answer_to_a_read_does_not_end_early(void **state)
{
	(void)state;
	answer_is_invalid(false, BTH_READ_ONLY, a->mtu);
}

static void first_packet_of_an_answer_is_as_long_as_the_mtu(void **state)
{
	(void)state;
	answer_is_invalid(false, BTH_READ_FIRST, a->mtu - 1);
}

static void read_longer_than_a_message_is_refused(void **state)
{
	(void)state;
	too_long(BTH_READ_REQ);
}

static void write_longer_than_a_message_is_refused(void **state)
{
	(void)state;
	too_long(BTH_WRITE_FIRST);
}

/* A READ that is too long is ignored, and not refused, if it is a repeated request. */
static void repeated_read_longer_than_a_message_is_ignored(void **state)
{
	struct packet *p;
	uint64_t sent;

	(void)state;
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 16);
	assert_int_equal(rig_run(1, 1000), 1);
	sent = sent_by_b();
	p = request(BTH_READ_REQ, 1);
	p->dma_len = UINT32_MAX;
	resp_receive(rig.hca[1], b, p);
	packet_free(rig.fabric, p);
	rig_settle();
	assert_int_equal(sent_by_b(), sent);
	assert_int_equal(b->state, QPS_RTS);
}

/* The requester may have completed the READ before, and software may have freed the key. */
static void late_duplicate_of_a_read_does_not_fail_the_connection(void **state)
{
	struct mkey *mk = mkey_find(rig.hca[1], key_b);
	uint64_t sent;

	(void)state;
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 16);
	assert_int_equal(rig_run(1, 1000), 1);
	sent = sent_by_b();
	mk->free = true;
	late_request(BTH_READ_REQ, 1);
	mk->free = false;
	assert_int_equal(sent_by_b(), sent + 1);
	assert_int_equal(b->state, QPS_RTS);
	assert_int_equal(rig_events(EV_WQ_ACCESS), 0);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 16);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 1, CQE_REQ, 0);
}

static void requester_gives_up_after_its_retries(void **state)
{
	(void)state;
	a->retry_count = a->cur_retry = 2;
	fabric_set_link(rig.hca[1], false);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 100);
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 100);
	assert_int_equal(rig_run(2, 3000), 2);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_TRANSPORT_RETRY);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_WR_FLUSH);
	assert_int_equal(a->state, QPS_ERR);
	assert_int_equal(rig.hca[0]->count.packets_tx, 2 * 3);
	assert_int_equal(rig.hca[1]->count.packets_rx, 0);
}

static void send_waits_for_a_receive(void **state)
{
	(void)state;
	post_send(WQE_SEND, 3000, true);
	rig_run(1, 30);
	assert_int_equal(rig.ncqe, 0);
	rig_recv(1, b, buf_b, 4096, key_b);
	assert_int_equal(rig_run(2, 2000), 2);
	assert_true(same(3000));
	assert_int_equal(a->cur_retry, 7);
}

static void requester_gives_up_after_its_rnr_retries(void **state)
{
	(void)state;
	a->rnr_retry = a->cur_rnr_retry = 3;
	rig_count(0, a);
	rig_count(1, b);
	post_send(WQE_SEND, 10, true);
	assert_int_equal(rig_run(1, 3000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_RNR_RETRY);
	assert_int_equal(rig.hca[0]->count.packets_tx, 4);
	assert_int_equal(b->state, QPS_RTS);
	assert_int_equal(rig_counted(0, a, rnr_nak_retry_err), 4);
	assert_int_equal(rig_counted(0, a, req_rnr_retries_exceeded), 1);
	assert_int_equal(rig_counted(1, b, out_of_buffer), 4);
}

/* Each message has all RNR retries: those that an earlier message took are restored. */
static void rnr_retries_begin_anew(void **state)
{
	unsigned int i;

	(void)state;
	a->rnr_retry = a->cur_rnr_retry = 1;
	a->path.ack_timeout = 18;
	for (i = 0; i < 3; i++) {
		fabric_inject_drop(rig.hca[1], 0, 1);
		post_send(WQE_SEND, 10, true);
		rig_settle();
		answer_with(AETH_RNR | 14);
		assert_int_equal(a->cur_rnr_retry, 0);
		rig_recv(1, b, buf_b, 64, key_b);
		assert_int_equal(rig_run(2 * i + 2, 2000), 2 * i + 2);
		expect(CQ_A, i, CQE_REQ, 0);
		assert_int_equal(a->cur_rnr_retry, 1);
	}
}

/* A second RNR NAK, for a packet that was on its way at the first, takes no retry. */
static void rnr_naks_during_the_wait_are_one(void **state)
{
	(void)state;
	a->rnr_retry = a->cur_rnr_retry = 3;
	a->path.ack_timeout = 18;
	rig_count(0, a);
	fabric_inject_drop(rig.hca[1], 0, 1);
	post_send(WQE_SEND, 10, true);
	rig_settle();
	answer_with(AETH_RNR | 0);
	answer_with(AETH_RNR | 0);
	assert_true(a->req->rnr_wait);
	assert_int_equal(a->cur_rnr_retry, 2);
	assert_int_equal(rig_counted(0, a, rnr_nak_retry_err), 1);
	assert_int_equal(rig.ncqe, 0);
}

static void write_with_immediate_waits_for_a_receive(void **state)
{
	(void)state;
	post_rdma(WQE_RDMA_WRITE_IMM, buf_b, key_b, 3000);
	rig_run(1, 30);
	assert_int_equal(rig.ncqe, 0);
	rig_recv(1, b, buf_b + 0x8000, 64, key_b);
	assert_int_equal(rig_run(2, 2000), 2);
	assert_true(same(3000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RC(sends_of_any_length_arrive), RC(writes_and_reads_of_any_length_arrive),
		RC(empty_messages_complete), RC(immediate_data_is_in_the_cqe),
		RC(lists_are_gathered_and_scattered), RC(unsignaled_work_writes_no_cqe),
		RC(every_cqe_has_the_user_index), RC(short_data_goes_into_the_cqe),
		RC(scatter_to_cqe_leaves_memory_alone), RC(path_bits_belong_to_the_connection), RC(atomics_compute_in_host_order),
		RC(atomics_compute_in_network_order), RC(masked_atomics_change_masked_bits_only),
		RC(masked_compare_and_swap_has_two_masks), RC(up_to_64_bytes_go_into_a_long_cqe),
		RC(not_a_byte_goes_into_the_cqe_unasked),
		RC(qps_of_one_hca_reach_each_other), RC(qp_connected_to_itself_reaches_itself),
		RC(reads_within_the_limit_complete), RC(more_reads_than_resources_are_refused),
		RC(more_atomics_than_resources_are_refused),
		RC(fence_waits_for_reads), cmocka_unit_test(fences_wait_for_what_they_name),
		RC(no_queue_starves_another),
		RC(cqes_of_version_0_have_no_user_index), RC(acks_come_as_often_as_the_qp_asks),
		RC(times_of_cqes_are_as_the_qp_asks),
		RC(recvs_are_consumed_out_of_order), RC(what_was_consumed_ahead_is_not_flushed),
		RC(reset_forgets_what_was_consumed_ahead),
		RC(solicited_messages_wake_the_receiver), RC(packets_of_other_ports_are_ignored),
		RC(packets_of_other_services_are_dropped),
		RC(partitions_separate_connections), RC(gids_of_a_connection_are_checked),
		RC(switch_drops_what_is_longer_than_the_mtu),
		cmocka_unit_test(lost_packets_are_repaired),
		RC(late_duplicate_of_a_read_takes_no_room),
		RC(retry_timer_has_a_lower_bound), RC(retry_timer_runs_for_the_timeout),
		RC(retry_timer_may_be_longer_than_its_bound),
		RC(retry_timer_has_a_bound_of_twice_the_timeout),
		RC(retry_timer_has_a_bound_above_twice_the_timeout),
		RC(packet_from_another_lid_is_dropped), RC(acknowledgement_in_rtr_is_ignored),
		RC(late_duplicate_of_an_atomic_takes_no_room),
		RC(results_of_atomics_end_with_the_connection),
		RC(duplicate_of_a_read_needs_the_right),
		RC(only_acknowledgments_are_joined), RC(answer_is_dropped_behind_what_was_sent),
		RC(key_that_is_freed_ends_the_answer_to_a_read),
		RC(key_that_is_freed_in_the_middle_of_a_read_fails_both),
		RC(late_duplicate_of_a_read_does_not_fail_the_connection),
		RC(request_without_room_for_its_answer_is_dropped),
		RC(reset_forgets_the_requests_of_the_connection),
		RC(first_packet_is_as_long_as_the_mtu), RC(middle_packet_is_as_long_as_the_mtu),
		RC(middle_packet_of_a_write_is_as_long_as_the_mtu), RC(last_packet_is_not_empty),
		RC(last_packet_is_not_longer_than_the_mtu),
		RC(only_packet_is_not_longer_than_the_mtu), RC(last_packet_of_a_write_completes_it),
		RC(packet_is_not_longer_than_the_rest_of_a_write),
		RC(send_does_not_continue_a_write), RC(send_does_not_begin_inside_a_write),
		RC(read_does_not_begin_inside_a_write), RC(atomic_does_not_begin_inside_a_write),
		RC(message_begins_with_its_first_packet), RC(each_gap_is_reported_once),
		RC(no_gap_is_reported_behind_a_packet_that_waits),
		RC(gap_is_repaired_after_the_page_fault_of_the_requester),
		RC(only_what_is_outstanding_is_acknowledged),
		RC(acknowledged_part_of_a_message_restores_the_retries),
		RC(nak_of_an_unknown_kind_fails_the_request),
		RC(requester_waits_as_long_as_the_rnr_nak_says),
		RC(result_of_an_atomic_does_not_answer_a_read),
		RC(data_of_a_read_does_not_answer_an_atomic),
		RC(answer_to_a_read_does_not_end_early),
		RC(first_packet_of_an_answer_is_as_long_as_the_mtu),
		RC(read_longer_than_a_message_is_refused),
		RC(write_longer_than_a_message_is_refused),
		RC(repeated_read_longer_than_a_message_is_ignored),
		RC(requester_gives_up_after_its_retries), RC(send_waits_for_a_receive),
		RC(requester_gives_up_after_its_rnr_retries), RC(rnr_retries_begin_anew),
		RC(rnr_naks_during_the_wait_are_one),
		RC(write_with_immediate_waits_for_a_receive),
	};

	return cmocka_run_group_tests_name("rc", tests, NULL, NULL);
}
