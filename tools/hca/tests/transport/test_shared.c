// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs that take their receive WQEs from a shared receive queue: which protection domain is
 * whose, who completes, and what an error takes.
 */
#include <string.h>

#include "cq.h"
#include "eq.h"
#include "ifc.h"
#include "mkey.h"
#include "object.h"
#include "pair.h"
#include "pairrig.h"
#include "qp.h"
#include "resp.h"
#include "srq.h"
#include "wqe.h"

#define SRQ_PD	(RIG_PD + 1)	/* the queue pairs have RIG_PD */

static struct srq *srq;
static uint32_t srq_key;	/* of the second HCA's buffer, in the domain of the queue */

static int up(void **state)
{
	struct mkey *mk;

	rc_up(state);
	srq = rig_srq(1, SRQ_RMP, SRQ_PD);
	b->srq = srq;
	b->rq_type = RQ_SRQ;
	b->rq_cnt = 0;
	srq_key = rig_mkey(1, buf_b, BUF, ALL);
	mk = mkey_find(rig.hca[1], srq_key);
	IFC_SET(mkc, mk->mkc, pd, SRQ_PD);
	mkey_decode(mk);
	return 0;
}

/* The buffers are of the shared queue's owner, and the completions are the queue pair's. */
static void receives_are_in_the_domain_of_the_queue(void **state)
{
	(void)state;
	rig_srq_recv(1, srq, buf_b, 4096, srq_key);
	post_send(WQE_SEND, 3000, true);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_B + 1, 0, CQE_RESP_SEND, 0);
	assert_true(same(3000));
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.srqn_uidx, b->user_index);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.qpn, b->obj.num);
	rig_srq_recv(1, srq, buf_b, 4096, key_b);		/* of the queue pair's domain */
	post_send(WQE_SEND, 16, true);
	assert_int_equal(rig_run(4, 1000), 4);
	expect_cause(CQ_B + 1, 1, CQE_RESP_ERR, ERR_LKEY_PD);
}

static void remote_keys_are_in_the_domain_of_the_queue_pair(void **state)
{
	(void)state;
	post_rdma(WQE_RDMA_WRITE, buf_b, key_b, 3000);
	post_rdma(WQE_RDMA_READ, buf_b, key_b, 3000);
	post_atomic(WQE_ATOMIC_FA, buf_b + 0x8000, 1, 0);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_A, 2, CQE_REQ, 0);
	assert_int_equal(*(uint64_t *)rig_ptr(1, buf_b + 0x8000), 1);
	post_rdma(WQE_RDMA_WRITE, buf_b + 0x8000, srq_key, 8);
	assert_int_equal(rig_run(4, 1000), 4);
	expect_cause(CQ_A, 3, CQE_REQ_ERR, ERR_NAK_ACCESS);
	assert_int_equal(*(uint64_t *)rig_ptr(1, buf_b + 0x8000), 1);
}

static void cqes_of_version_0_name_the_queue(void **state)
{
	(void)state;
	b->cqe_version1 = false;
	rig_srq_recv(1, srq, buf_b, 64, srq_key);
	post_send(WQE_SEND, 16, true);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.srqn_uidx, srq->obj.num);
}

/* Three segments fill a WQE, so none of them ends the list. */
static void wqe_ends_where_the_next_one_begins(void **state)
{
	uint8_t *w = rig_ptr(1, srq->mem.pas[0]);

	(void)state;
	rig_srq_recv(1, srq, buf_b, 8, srq_key);
	rig_srq_recv(1, srq, buf_b, 4096, srq_key);
	memcpy(w + 32, w + 16, 16);
	memcpy(w + 48, w + 16, 16);
	post_send(WQE_SEND, 25, true);
	assert_int_equal(rig_run(2, 1000), 2);
	expect_cause(CQ_B + 1, 0, CQE_RESP_ERR, ERR_RECEIVE_TOO_SHORT);
}

/* An error takes the WQE of the message in progress only. Other queue pairs use the others. */
static void error_leaves_the_wqes_of_the_queue(void **state)
{
	struct qp *c = rig_qp(0, QPT_RC, 30), *d = rig_qp(1, QPT_RC, 40);
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	d->srq = srq;
	d->rq_type = RQ_SRQ;
	d->rq_cnt = 0;
	rig_connect(c, 0, d, 1);
	for (i = 0; i < 3; i++)
		rig_srq_recv(1, srq, buf_b + 0x1000 * i, i ? 64 : 8, srq_key);
	post_send(WQE_SEND, 16, true);		/* too long for the first WQE */
	assert_int_equal(rig_run(2, 1000), 2);
	rig_settle();
	expect_cause(CQ_B + 1, 0, CQE_RESP_ERR, ERR_RECEIVE_TOO_SHORT);
	assert_null(rig_cqe(CQ_B + 1, 1));
	assert_int_equal(b->state, QPS_ERR);
	assert_int_equal(rig_events(EV_SRQ_LAST_WQE), 1);
	assert_int_equal(srq->hw, 1);
	assert_false(b->resp->watch.on);	/* b has no WQEs to flush, now or later */
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf_a, 16, key_a);
	rig_send(0, c, w.b, w.ds);
	assert_int_equal(rig_run(4, 1000), 4);
	expect(41, 0, CQE_RESP_SEND, 0);
	assert_int_equal(rig_cqe(41, 0)->c.wqe_counter, 1);
	assert_memory_equal(rig_ptr(1, buf_b + 0x1000), rig_ptr(0, buf_a), 16);
}

#define T(f)	cmocka_unit_test_setup_teardown(f, up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(receives_are_in_the_domain_of_the_queue),
		T(remote_keys_are_in_the_domain_of_the_queue_pair),
		T(cqes_of_version_0_name_the_queue), T(wqe_ends_where_the_next_one_begins),
		T(error_leaves_the_wqes_of_the_queue),
	};

	return cmocka_run_group_tests_name("shared", tests, NULL, NULL);
}
