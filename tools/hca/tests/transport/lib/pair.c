// SPDX-License-Identifier: GPL-2.0
/*
 * Two connected queue pairs.
 */
#include <string.h>

#include "fabric.h"
#include "mkey.h"
#include "pair.h"
#include "pairrig.h"
#include "wqe.h"

struct qp *a, *b;
uint64_t buf_a, buf_b, local;
uint32_t key_a, key_b;

void pair_up(enum qp_type type)
{
	unsigned int i;

	a = rig_qp(0, type, CQ_A);
	b = rig_qp(1, type, CQ_B);
	buf_a = rig_alloc(0, BUF);
	buf_b = rig_alloc(1, BUF);
	local = buf_a;
	key_a = rig_mkey(0, buf_a, BUF, ALL);
	key_b = rig_mkey(1, buf_b, BUF, ALL);
	for (i = 0; i < BUF; i++)
		((uint8_t *)rig_ptr(0, buf_a))[i] = i * 7 + (i >> 8);
	rig_connect(a, 0, b, 1);
}

int rc_up(void **state)
{
	rig_up(state);
	pair_up(QPT_RC);
	return 0;
}

int uc_up(void **state)
{
	rig_up(state);
	pair_up(QPT_UC);
	return 0;
}

int ud_up(void **state)
{
	rig_up(state);
	pair_up(QPT_UD);
	return 0;
}

uint16_t post_send(uint8_t opcode, uint32_t len, bool signaled)
{
	struct rig_wqe w;

	wq_ctrl(&w, opcode, signaled, 0x11223344);
	if (len)
		wq_data(&w, buf_a, len, key_a);
	return rig_send(0, a, w.b, w.ds);
}

uint16_t post_rdma(uint8_t opcode, uint64_t raddr, uint32_t rkey, uint32_t len)
{
	struct rig_wqe w;

	wq_ctrl(&w, opcode, true, 0x11223344);
	wq_raddr(&w, raddr, rkey);
	if (len)
		wq_data(&w, local, len, key_a);
	return rig_send(0, a, w.b, w.ds);
}

uint16_t post_atomic(uint8_t opcode, uint64_t raddr, uint64_t swap_add, uint64_t compare)
{
	struct rig_wqe w;

	wq_ctrl(&w, opcode, true, 0);
	wq_raddr(&w, raddr, key_b);
	wq_atomic(&w, swap_add, compare);
	wq_data(&w, local, 8, key_a);
	return rig_send(0, a, w.b, w.ds);
}

uint16_t post_masked_cs(uint64_t swap, uint64_t compare, uint64_t swap_mask, uint64_t compare_mask)
{
	struct rig_wqe w;

	wq_ctrl(&w, WQE_MASKED_CS, true, 0);
	wq_raddr(&w, buf_b, key_b);
	wq_atomic(&w, swap, compare);
	wq_atomic(&w, swap_mask, compare_mask);
	wq_data(&w, buf_a, 8, key_a);
	return rig_send(0, a, w.b, w.ds);
}

void post_datagram(uint32_t len, uint32_t qkey, const uint8_t *dgid)
{
	struct rig_wqe w;

	wq_ctrl(&w, WQE_SEND_IMM, true, 0xabcd);
	wq_av(&w, fabric_lid(rig.hca[1]), b->obj.num, qkey, dgid);
	wq_data(&w, buf_a, len, key_a);
	rig_send(0, a, w.b, w.ds);
}

void expect(uint32_t cqn, unsigned int i, uint8_t opcode, uint8_t syndrome)
{
	struct rig_cqe *e = rig_cqe(cqn, i);

	assert_non_null(e);
	assert_int_equal(e->c.opcode, opcode);
	assert_int_equal(cqe_error_syndrome(e->c.error), syndrome);
}

void expect_cause(uint32_t cqn, unsigned int i, uint8_t opcode, enum cqe_error error)
{
	struct rig_cqe *e = rig_cqe(cqn, i);

	assert_non_null(e);
	assert_int_equal(e->c.opcode, opcode);
	assert_int_equal(e->c.error, error);
}

bool same(uint32_t len)
{
	return !memcmp(rig_ptr(0, buf_a), rig_ptr(1, buf_b), len);
}

void use_connection(uint32_t len, unsigned int ms)
{
	uint64_t *word = rig_ptr(1, buf_b + 0x8000);

	*word = 5;
	rig_recv(1, b, buf_b, 8192, key_b);
	post_send(WQE_SEND, len, true);
	post_rdma(WQE_RDMA_WRITE, buf_b + 0x4000, key_b, 3000);
	local = buf_a + 0x8000;
	post_rdma(WQE_RDMA_READ, buf_b, key_b, len);
	local = buf_a + 0xf000;
	post_atomic(WQE_ATOMIC_FA, buf_b + 0x8000, 1, 0);
	assert_int_equal(rig_run(5, ms), 5);
	assert_true(same(len));
	assert_memory_equal(rig_ptr(1, buf_b + 0x4000), rig_ptr(0, buf_a), 3000);
	assert_memory_equal(rig_ptr(0, buf_a + 0x8000), rig_ptr(0, buf_a), len);
	assert_int_equal(*word, 6);
	expect(CQ_A, 3, CQE_REQ, 0);
}
