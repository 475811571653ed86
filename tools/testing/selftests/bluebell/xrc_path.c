// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Extended reliable connections: which message reaches which SRQ, whose keys are valid, and what
 * stays when one of the processes that share a target, or the device, goes.
 */

#include <infiniband/mlx5dv.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "removal.h"
#include "xrc_setup.h"

#define SLOT 4096u

/* --- Which SRQ a message reaches -------------------------------------------------------------- */

FIXTURE(path) {
	struct rdma r;
	struct pair p;
};

FIXTURE_SETUP(path)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_SEND, .inline_data = 64 };

	if (xrc_setup(_metadata, &self->r))
		ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, 8 * SLOT)) TH_LOG("%d", errno);
}

FIXTURE_TEARDOWN(path)
{
	pair_close(&self->p);
	xrc_teardown(_metadata, &self->r);
}

static int send_to(struct pair *p, uint32_t srqn, uint32_t len, unsigned int seed)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .wr_id = seed };

	wr.qp_type.xrc.remote_srqn = srqn;
	fill(p->buf[0], len, seed);
	return post_send(p, &wr, p->buf[0], len);
}

TEST_F(path, message_goes_to_the_srq_it_names)
{
	struct ibv_cq *cq[3] = { self->p.cq[1] };
	struct ibv_srq *srq[3] = { self->p.srq };
	struct ibv_wc wc;
	int i, n;

	for (i = 1; i < 3; i++) {
		cq[i] = ibv_create_cq(self->r.ctx, 15, NULL, NULL, 0);
		ASSERT_NE(NULL, cq[i]);
		srq[i] = xrc_create_srq(&self->r, self->p.cfg.xrcd, cq[i]);
		ASSERT_NE(NULL, srq[i]);
	}
	for (n = 0; n < 30; n++) {
		i = n * n % 7 % 3;
		ASSERT_EQ(0, post_srq_recv(srq[i], self->p.mr, self->p.buf[1] + i * SLOT, SLOT,
					   n));
		ASSERT_EQ(0, send_to(&self->p, rdma_srq_num(srq[i]), 100 + n, n));
		ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
		EXPECT_EQ(self->p.qp[0]->qp_num, wc.qp_num);
		ASSERT_EQ(0, reap_ok(cq[i], &wc));
		EXPECT_EQ(IBV_WC_RECV, wc.opcode);
		EXPECT_EQ(n, wc.wr_id);
		EXPECT_EQ(100 + n, wc.byte_len);
		/* The completion names the target that received the message. */
		EXPECT_EQ(self->p.qp[1]->qp_num, wc.qp_num);
		EXPECT_TRUE(check_fill(self->p.buf[1] + i * SLOT, 100 + n, n));
	}
	for (i = 0; i < 3; i++)
		EXPECT_TRUE(cq_stays_empty(cq[i], 10));
	for (i = 1; i < 3; i++) {
		EXPECT_EQ(0, ibv_destroy_srq(srq[i]));
		EXPECT_EQ(0, ibv_destroy_cq(cq[i]));
	}
}

/* An empty SRQ delays later messages of the same connection, but not those of other connections. */
TEST_F(path, empty_srq_delays_its_connection_only)
{
	struct ibv_cq *cq = ibv_create_cq(self->r.ctx, 15, NULL, NULL, 0);
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_SEND, .xrcd = self->p.cfg.xrcd };
	struct ibv_srq *srq;
	struct ibv_wc wc;
	struct pair other;

	srq = xrc_create_srq(&self->r, self->p.cfg.xrcd, cq);
	ASSERT_NE(NULL, srq);
	ASSERT_EQ(0, pair_open(&other, &self->r, &cfg, SLOT));
	ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1], SLOT, 1));
	ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1] + SLOT, SLOT, 2));
	ASSERT_EQ(0, send_to(&self->p, rdma_srq_num(srq), 64, 10));
	EXPECT_TRUE(cq_stays_empty(self->p.cq[0], 50));
	ASSERT_EQ(0, send_to(&other, self->p.srqn, 64, 11));
	ASSERT_EQ(0, reap_ok(other.cq[0], &wc));
	ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc));
	EXPECT_EQ(other.qp[1]->qp_num, wc.qp_num);
	EXPECT_TRUE(cq_stays_empty(self->p.cq[0], 50));
	ASSERT_EQ(0, post_srq_recv(srq, self->p.mr, self->p.buf[1] + 2 * SLOT, SLOT, 3));
	ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
	EXPECT_EQ(10, wc.wr_id);
	ASSERT_EQ(0, reap_ok(cq, &wc));
	EXPECT_EQ(3, wc.wr_id);
	EXPECT_EQ(self->p.qp[1]->qp_num, wc.qp_num);
	EXPECT_TRUE(check_fill(self->p.buf[1] + 2 * SLOT, 64, 10));
	pair_close(&other);
	EXPECT_EQ(0, ibv_destroy_srq(srq));
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

/* One SRQ receives from eight connections. */
TEST_F(path, srq_receives_from_many_connections)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_SEND, .xrcd = self->p.cfg.xrcd };
	struct pair p[8];
	struct ibv_wc wc;
	unsigned int from;
	int i, n;

	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, pair_open(&p[i], &self->r, &cfg, SLOT));
	for (n = 0; n < 10; n++) {
		for (i = 0; i < 8; i++)
			ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1] + i * SLOT, SLOT, i));
		for (i = 0; i < 8; i++)
			ASSERT_EQ(0, send_to(&p[i], self->p.srqn, 1000 + i, n + i));
		for (i = 0; i < 8; i++)
			ASSERT_EQ(0, reap_ok(p[i].cq[0], &wc));
		for (i = 0; i < 8; i++) {
			ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc));
			for (from = 0; from < 8 && p[from].qp[1]->qp_num != wc.qp_num; from++)
				;
			ASSERT_GT(8, from);
			EXPECT_EQ(1000 + from, wc.byte_len);
			EXPECT_TRUE(check_fill(self->p.buf[1] + wc.wr_id * SLOT, 1000 + from,
					       n + from));
		}
	}
	for (i = 0; i < 8; i++)
		pair_close(&p[i]);
}

TEST_F(path, limit_event_is_raised_once)
{
	struct pair *p = &self->p;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pair_recv(p, p->buf[1], SLOT, i));
	ASSERT_EQ(0, set_srq_limit(p->srq, 3));
	ASSERT_EQ(0, send_to(p, p->srqn, 64, 1));
	ASSERT_EQ(0, reap_ok(p->cq[1], &wc));
	EXPECT_FALSE(wait_object_event(self->r.ctx, p->srq, IBV_EVENT_SRQ_LIMIT_REACHED, 100));
	EXPECT_EQ(3, get_srq_limit(p->srq));
	ASSERT_EQ(0, send_to(p, p->srqn, 64, 2));
	ASSERT_EQ(0, reap_ok(p->cq[1], &wc));
	EXPECT_TRUE(wait_object_event(self->r.ctx, p->srq, IBV_EVENT_SRQ_LIMIT_REACHED, 10000));
	EXPECT_EQ(0, get_srq_limit(p->srq));
	ASSERT_EQ(0, send_to(p, p->srqn, 64, 3));
	ASSERT_EQ(0, reap_ok(p->cq[1], &wc));
	EXPECT_FALSE(wait_object_event(self->r.ctx, p->srq, IBV_EVENT_SRQ_LIMIT_REACHED, 100));
	/* One request is left, which is less than the new limit: the event is raised at once. */
	ASSERT_EQ(0, set_srq_limit(p->srq, 2));
	EXPECT_TRUE(wait_object_event(self->r.ctx, p->srq, IBV_EVENT_SRQ_LIMIT_REACHED, 10000));
}

/* Post with ibv_wr_*(), and poll with ibv_start_poll(). */
TEST_F(path, extended_post_and_poll_work)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 15, .wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	struct ibv_qp_init_attr_ex qp_attr = {
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = self->r.pd, .send_cq = self->p.cq[0], .qp_type = IBV_QPT_XRC_SEND,
		.cap = { .max_send_wr = 8, .max_send_sge = 1, .max_inline_data = 64 },
		.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_poll_cq_attr poll = {};
	struct pair *p = &self->p;
	struct ibv_cq_ex *cq;
	struct ibv_srq *srq;
	struct ibv_qp_ex *x;
	struct ibv_wc wc;
	uint64_t *there = (void *)(p->buf[1] + SLOT);
	int i, ret;

	if (!rdma_has_atomics(self->r.ctx))
		SKIP(return, NO_ATOMICS);
	cq = ibv_create_cq_ex(self->r.ctx, &cq_attr);
	ASSERT_NE(NULL, cq);
	srq = xrc_create_srq(&self->r, p->cfg.xrcd, ibv_cq_ex_to_cq(cq));
	ASSERT_NE(NULL, srq);
	EXPECT_EQ(0, ibv_destroy_qp(p->qp[0]));
	p->qp[0] = ibv_create_qp_ex(self->r.ctx, &qp_attr);
	ASSERT_NE(NULL, p->qp[0]) TH_LOG("errno %d", errno);
	ASSERT_EQ(0, pair_reconnect(p));
	x = ibv_qp_to_qp_ex(p->qp[0]);
	ASSERT_NE(NULL, x);
	ASSERT_EQ(0, post_srq_recv(srq, p->mr, p->buf[1], SLOT, 8));
	fill(p->buf[0], 300, 1);
	*there = 40;

	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED;
	x->wr_id = 1;
	ibv_wr_send_imm(x, htobe32(0x600d));
	ibv_wr_set_xrc_srqn(x, rdma_srq_num(srq));
	ibv_wr_set_sge(x, p->mr->lkey, (uintptr_t)p->buf[0], 300);
	x->wr_id = 2;
	ibv_wr_atomic_fetch_add(x, p->mr->rkey, (uintptr_t)there, 2);
	ibv_wr_set_xrc_srqn(x, rdma_srq_num(srq));
	ibv_wr_set_sge(x, p->mr->lkey, (uintptr_t)p->buf[0] + SLOT, 8);
	x->wr_id = 3;
	ibv_wr_rdma_write(x, p->mr->rkey, (uintptr_t)p->buf[1] + 2 * SLOT);
	ibv_wr_set_xrc_srqn(x, rdma_srq_num(srq));
	ibv_wr_set_inline_data(x, p->buf[0], 50);
	x->wr_id = 4;
	ibv_wr_rdma_read(x, p->mr->rkey, (uintptr_t)p->buf[1] + 2 * SLOT);
	ibv_wr_set_xrc_srqn(x, rdma_srq_num(srq));
	ibv_wr_set_sge(x, p->mr->lkey, (uintptr_t)p->buf[0] + 2 * SLOT, 50);
	ASSERT_EQ(0, ibv_wr_complete(x));
	for (i = 1; i <= 4; i++) {
		ASSERT_EQ(0, reap_ok(p->cq[0], &wc)) TH_LOG("request %d", i);
		EXPECT_EQ(i, wc.wr_id);
	}
	EXPECT_EQ(42, *there);
	EXPECT_EQ(40, *(uint64_t *)(p->buf[0] + SLOT));
	EXPECT_TRUE(check_fill(p->buf[1] + 2 * SLOT, 50, 1));
	EXPECT_TRUE(check_fill(p->buf[0] + 2 * SLOT, 50, 1));

	for (i = 0, ret = ENOENT; ret == ENOENT && i < 10000; i++) {
		ret = ibv_start_poll(cq, &poll);
		if (ret)
			usleep(1000);
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(IBV_WC_SUCCESS, cq->status);
	EXPECT_EQ(8, cq->wr_id);
	EXPECT_EQ(IBV_WC_RECV, ibv_wc_read_opcode(cq));
	EXPECT_EQ(300, ibv_wc_read_byte_len(cq));
	EXPECT_EQ(p->qp[1]->qp_num, ibv_wc_read_qp_num(cq));
	/* On an Ethernet port all packets have a GRH or another header in its place. */
	EXPECT_EQ(port_is_ethernet() ? IBV_WC_WITH_IMM | IBV_WC_GRH : IBV_WC_WITH_IMM,
		  ibv_wc_read_wc_flags(cq));
	EXPECT_EQ(0x600d, be32toh(ibv_wc_read_imm_data(cq)));
	EXPECT_EQ(ENOENT, ibv_next_poll(cq));
	ibv_end_poll(cq);
	EXPECT_TRUE(check_fill(p->buf[1], 300, 1));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
	EXPECT_EQ(0, ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

/* A target ignores messages of an RC queue pair, and an RC queue pair those of an XRC requester. */
TEST_F(path, rc_and_xrc_qps_ignore_each_other)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC, .timeout = 8, .retry = 1 };
	struct pair *x = &self->p, rc;
	struct ibv_wc wc;

	ASSERT_EQ(0, pair_open(&rc, &self->r, &cfg, SLOT));
	ASSERT_EQ(0, pair_recv(x, x->buf[1], SLOT, 1));
	ASSERT_EQ(0, pair_recv(&rc, rc.buf[1], SLOT, 1));
	ASSERT_EQ(0, rdma_modify_state(rc.qp[0], IBV_QPS_RESET));
	ASSERT_EQ(0, rdma_qp_connect(rc.qp[0], &cfg, x->qp[1]->qp_num, self->r.port.lid));
	ASSERT_EQ(0, rdma_modify_state(x->qp[0], IBV_QPS_RESET));
	ASSERT_EQ(0, rdma_qp_connect(x->qp[0], &cfg, rc.qp[1]->qp_num, self->r.port.lid));
	ASSERT_EQ(0, send_to(&rc, 0, 64, 1));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, reap(rc.cq[0], &wc));
	ASSERT_EQ(0, send_to(x, x->srqn, 64, 1));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, reap(x->cq[0], &wc));
	EXPECT_TRUE(cq_stays_empty(rc.cq[1], 10));
	EXPECT_TRUE(cq_stays_empty(x->cq[1], 10));
	EXPECT_EQ(IBV_QPS_RTS, rdma_qp_state(rc.qp[1]));
	EXPECT_EQ(IBV_QPS_RTS, rdma_qp_state(x->qp[1]));
	pair_close(&rc);
}

/* A message to an SRQ outside the target's domain is refused, and both queue pairs go to error. */
static void expect_refused(struct __test_metadata *_metadata, struct pair *p, uint32_t srqn)
{
	struct ibv_wc wc;

	ASSERT_EQ(0, send_to(p, srqn, 64, 3));
	EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, reap(p->cq[0], &wc));
	EXPECT_EQ(3, wc.wr_id);
	EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(p->qp[0]));
	EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(p->qp[1]));
	EXPECT_TRUE(wait_object_event(p->r->ctx, p->qp[1], IBV_EVENT_QP_REQ_ERR, 5000));
	EXPECT_TRUE(cq_stays_empty(p->cq[1], 20));
	/* After a reconnect messages arrive again. */
	ASSERT_EQ(0, pair_reconnect(p));
	ASSERT_EQ(0, pair_recv(p, p->buf[1], SLOT, 4));
	ASSERT_EQ(0, send_to(p, p->srqn, 64, 4));
	ASSERT_EQ(0, reap_ok(p->cq[0], &wc));
	ASSERT_EQ(0, reap_ok(p->cq[1], &wc));
	EXPECT_TRUE(check_fill(p->buf[1], 64, 4));
}

TEST_F(path, srq_of_another_domain_is_refused)
{
	struct ibv_xrcd *other = rdma_open_xrcd(self->r.ctx, -1, O_CREAT);
	struct ibv_cq *cq = ibv_create_cq(self->r.ctx, 15, NULL, NULL, 0);
	struct ibv_srq *srq;

	ASSERT_NE(NULL, other);
	ASSERT_NE(NULL, cq);
	srq = xrc_create_srq(&self->r, other, cq);
	ASSERT_NE(NULL, srq);
	memset(self->p.buf[1] + SLOT, 0xee, SLOT);
	ASSERT_EQ(0, post_srq_recv(srq, self->p.mr, self->p.buf[1] + SLOT, SLOT, 1));
	expect_refused(_metadata, &self->p, rdma_srq_num(srq));
	EXPECT_TRUE(cq_stays_empty(cq, 20));
	EXPECT_EQ(0xee, self->p.buf[1][SLOT]);
	EXPECT_EQ(0, ibv_destroy_srq(srq));
	EXPECT_EQ(0, ibv_close_xrcd(other));
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

TEST_F(path, unknown_srq_number_is_refused)
{
	struct ibv_cq *cq = ibv_create_cq(self->r.ctx, 15, NULL, NULL, 0);
	struct ibv_srq *gone = xrc_create_srq(&self->r, self->p.cfg.xrcd, cq);
	uint32_t srqn;

	ASSERT_NE(NULL, gone);
	srqn = rdma_srq_num(gone);
	expect_refused(_metadata, &self->p, 0xfffffe);
	EXPECT_EQ(0, ibv_destroy_srq(gone));
	expect_refused(_metadata, &self->p, srqn);
	EXPECT_EQ(0, ibv_destroy_cq(cq));
}

/* A basic SRQ has no domain, so no target can receive into it. */
TEST_F(path, basic_srq_is_refused)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 15, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(self->r.pd, &init);
	struct mlx5dv_srq out = { .comp_mask = MLX5DV_SRQ_MASK_SRQN };
	struct mlx5dv_obj obj = { .srq = { .in = srq, .out = &out } };

	ASSERT_NE(NULL, srq);
	ASSERT_EQ(0, mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ));
	ASSERT_EQ(0, post_srq_recv(srq, self->p.mr, self->p.buf[1] + SLOT, SLOT, 1));
	expect_refused(_metadata, &self->p, out.srqn);
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

/* One-sided requests also name an SRQ, because its PD decides which keys they can use. */
TEST_F(path, one_sided_requests_need_a_valid_srq)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	/* The atomic operation is the last one. */
	const size_t num = ARRAY_SIZE(ops) - !rdma_has_atomics(self->r.ctx);
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	size_t i;

	memset(self->p.buf[1], 0x11, 64);
	for (i = 0; i < num; i++) {
		wr = (struct ibv_send_wr){ .opcode = ops[i] };
		wr.qp_type.xrc.remote_srqn = 0xfffffe;
		if (ops[i] == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr.wr.atomic.remote_addr = (uintptr_t)self->p.buf[1];
			wr.wr.atomic.rkey = self->p.mr->rkey;
			wr.wr.atomic.compare_add = 1;
		} else {
			wr.wr.rdma.remote_addr = (uintptr_t)self->p.buf[1];
			wr.wr.rdma.rkey = self->p.mr->rkey;
		}
		ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], 8));
		EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, reap(self->p.cq[0], &wc)) TH_LOG("%d", ops[i]);
		EXPECT_EQ(0x11, self->p.buf[1][0]);
		ASSERT_EQ(0, pair_reconnect(&self->p));
	}
}

struct sender {
	struct pair *p;
	uint32_t srqn, len;
	int status;		/* of the first request that failed */
	bool flushed;		/* all later requests were flushed */
};

static void *send_until_failure(void *arg)
{
	struct sender *s = arg;
	unsigned int posted = 0, done = 0;
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	while (!s->status) {
		wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND };
		wr.qp_type.xrc.remote_srqn = s->srqn;
		if (post_send(s->p, &wr, s->p->buf[0], s->len)) {
			s->status = -1;
			return NULL;
		}
		if (++posted - done < 16)
			continue;
		s->status = reap(s->p->cq[0], &wc);
		done++;
	}
	s->flushed = true;
	while (done++ != posted)
		if (reap(s->p->cq[0], &wc) != IBV_WC_WR_FLUSH_ERR)
			s->flushed = false;
	return NULL;
}

/*
 * An SRQ is destroyed while targets receive into it: messages that arrive afterwards are refused,
 * and the device no longer writes to the receive buffers and to the CQ.
 */
TEST_F(path, srq_can_be_destroyed_during_traffic)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_SEND, .xrcd = self->p.cfg.xrcd };
	struct ibv_srq_attr attr = { .max_sge = 1 };
	struct ibv_device_attr dev;
	struct sender s = { .len = 1 << 20 };
	struct mlx5dv_obj obj = {};
	struct mlx5dv_cq dv = {};
	uint8_t *entries = NULL;
	unsigned int round;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	pthread_t thread;
	struct pair p;
	size_t len;
	int i;

	ASSERT_EQ(0, ibv_query_device(self->r.ctx, &dev));
	attr.max_wr = dev.max_srq_wr < 1000 ? dev.max_srq_wr : 1000;
	ASSERT_EQ(0, pair_open(&p, &self->r, &cfg, s.len));
	s.p = &p;
	for (round = 0; round < 10; round++) {
		cq = ibv_create_cq(self->r.ctx, 1023, NULL, NULL, 0);
		ASSERT_NE(NULL, cq);
		obj.cq.in = cq;
		obj.cq.out = &dv;
		ASSERT_EQ(0, mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ));
		srq = rdma_create_xrc_srq(&self->r, p.cfg.xrcd, cq, &attr);
		ASSERT_NE(NULL, srq);
		for (i = 0; i < attr.max_wr; i++)
			ASSERT_EQ(0, post_srq_recv(srq, p.mr, p.buf[1], s.len, i));
		s.srqn = rdma_srq_num(srq);
		s.status = 0;
		ASSERT_EQ(0, pthread_create(&thread, NULL, send_until_failure, &s));
		usleep(1000 + rand() % 5000);
		EXPECT_EQ(0, ibv_destroy_srq(srq));
		/*
		 * libmlx5 does not poll completions of a destroyed SRQ: compare the memory of the
		 * CQ, where no further completion may arrive.
		 */
		memset(p.buf[1], 0xee, s.len);
		len = dv.cqe_cnt * dv.cqe_size;
		entries = realloc(entries, len);
		memcpy(entries, dv.buf, len);
		pthread_join(thread, NULL);
		EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, s.status) TH_LOG("round %u", round);
		EXPECT_TRUE(s.flushed);
		EXPECT_EQ(0, memcmp(entries, dv.buf, len)) TH_LOG("round %u", round);
		EXPECT_EQ(0xee, p.buf[1][0]);
		EXPECT_EQ(0, memcmp(p.buf[1], p.buf[1] + 1, s.len - 1)) TH_LOG("round %u", round);
		EXPECT_EQ(0, ibv_destroy_cq(cq));
		ASSERT_EQ(0, pair_reconnect(&p));
	}
	free(entries);
	pair_close(&p);
}

/* --- Which PD's keys are valid ---------------------------------------------------------------- */

FIXTURE(keys) {
	struct rdma r, other;	/* two PDs of one context */
	struct pair p;
	struct ibv_srq *srq;	/* of the other PD */
	struct ibv_mr *mr;	/* of the other PD, over the second buffer */
};

FIXTURE_SETUP(keys)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_SEND };

	if (!xrc_setup(_metadata, &self->r))
		return;
	self->other = self->r;
	self->other.pd = ibv_alloc_pd(self->r.ctx);
	ASSERT_NE(NULL, self->other.pd);
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, SLOT));
	self->srq = xrc_create_srq(&self->other, self->p.cfg.xrcd, self->p.cq[1]);
	ASSERT_NE(NULL, self->srq);
	self->mr = ibv_reg_mr(self->other.pd, self->p.buf[1], SLOT, ALL_ACCESS);
	ASSERT_NE(NULL, self->mr);
}

FIXTURE_TEARDOWN(keys)
{
	if (self->srq) {
		EXPECT_EQ(0, ibv_dereg_mr(self->mr));
		EXPECT_EQ(0, ibv_destroy_srq(self->srq));
		pair_close(&self->p);
		EXPECT_EQ(0, ibv_dealloc_pd(self->other.pd));
	}
	xrc_teardown(_metadata, &self->r);
}

/* A remote access that names an SRQ and uses a key. */
static int access_through_srq(struct pair *p, enum ibv_wr_opcode op, struct ibv_srq *srq,
			      uint32_t rkey)
{
	struct ibv_send_wr wr = { .opcode = op };

	wr.qp_type.xrc.remote_srqn = rdma_srq_num(srq);
	if (op == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = (uintptr_t)p->buf[1];
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)p->buf[1];
		wr.wr.rdma.rkey = rkey;
	}
	return post_and_reap(p, &wr, 8);
}

TEST_F(keys, rkeys_are_of_the_srqs_pd)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	/* The atomic operation is the last one. */
	const size_t num = ARRAY_SIZE(ops) - !rdma_has_atomics(self->r.ctx);
	struct pair *p = &self->p;
	size_t i;

	for (i = 0; i < num; i++) {
		EXPECT_EQ(0, access_through_srq(p, ops[i], p->srq, p->mr->rkey));
		EXPECT_EQ(0, access_through_srq(p, ops[i], self->srq, self->mr->rkey));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  access_through_srq(p, ops[i], p->srq, self->mr->rkey))
			TH_LOG("%d", ops[i]);
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  access_through_srq(p, ops[i], self->srq, p->mr->rkey))
			TH_LOG("%d", ops[i]);
	}
}

TEST_F(keys, lkeys_of_receives_are_of_the_srqs_pd)
{
	struct pair *p = &self->p;
	struct ibv_wc wc;

	/* A shorter message may arrive in the completion, and then no key is checked. */
	ASSERT_EQ(0, post_srq_recv(self->srq, self->mr, p->buf[1], SLOT, 1));
	ASSERT_EQ(0, send_to(p, rdma_srq_num(self->srq), 700, 1));
	ASSERT_EQ(0, reap_ok(p->cq[0], &wc));
	ASSERT_EQ(0, reap_ok(p->cq[1], &wc));
	EXPECT_TRUE(check_fill(p->buf[1], 700, 1));
	ASSERT_EQ(0, post_srq_recv(self->srq, p->mr, p->buf[1], SLOT, 2));
	ASSERT_EQ(0, send_to(p, rdma_srq_num(self->srq), 700, 2));
	EXPECT_EQ(IBV_WC_REM_OP_ERR, reap(p->cq[0], &wc));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, reap(p->cq[1], &wc));
	EXPECT_EQ(2, wc.wr_id);
	EXPECT_TRUE(check_fill(p->buf[1], 700, 1));
}

/* --- Three processes -------------------------------------------------------------------------- */

#define MSG_LEN 500

/* Create a target for the test's requester, and wait. */
static int peer_make_target(struct xrc_peer *p, struct xrc_info *info)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_RECV };
	struct rdma r;
	struct ibv_qp *qp;

	if (rdma_open(&r))
		return 2;
	cfg.xrcd = rdma_open_xrcd(r.ctx, info->fd, O_CREAT);
	if (!cfg.xrcd)
		return 3;
	qp = rdma_qp_create(&r, NULL, &cfg);
	if (!qp || rdma_qp_init(qp, &cfg) ||
	    rdma_qp_rtr(qp, &cfg, info->requester, r.port.lid))
		return 4;
	info->target = qp->qp_num;
	return xrc_peer_ready(p) ? 5 : 0;
}

/*
 * Open the target of another process, receive two messages into an SRQ of its own, and check an
 * RDMA WRITE.
 */
static int peer_receive(struct xrc_peer *p, struct xrc_info *info)
{
	uint8_t *buf = mmap(NULL, SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	struct rdma r;
	int i;

	if (rdma_open(&r))
		return 2;
	xrcd = rdma_open_xrcd(r.ctx, info->fd, 0);
	if (!xrcd)
		return 3;
	srq = xrc_create_srq(&r, xrcd, r.cq);
	mr = ibv_reg_mr(r.pd, buf, SLOT, ALL_ACCESS);
	qp = xrc_open_target(&r, xrcd, info->target);
	if (!srq || !mr || !qp)
		return 4;
	info->srqn = rdma_srq_num(srq);
	info->rkey = mr->rkey;
	info->addr = (uintptr_t)buf;
	for (i = 0; i < 2; i++) {
		if (post_srq_recv(srq, mr, buf, SLOT, i))
			return 5;
		if (xrc_peer_ready(p))
			return 6;
		if (reap_ok(r.cq, &wc) || wc.wr_id != i || wc.qp_num != info->target ||
		    wc.byte_len != MSG_LEN || !check_fill(buf, MSG_LEN, i))
			return 7;
	}
	if (xrc_peer_ready(p))
		return 8;
	if (!check_fill(buf, MSG_LEN, 9))
		return 9;
	return xrc_close_target(qp) ? 10 : 0;
}

TEST(target_survives_its_creator_while_open)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_SEND, .timeout = 8, .retry = 1 };
	struct xrc_info *info = xrc_info_create();
	struct pair p = { .r = NULL };
	struct xrc_peer maker, owner;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	struct rdma r;
	int i;

	ASSERT_NE(NULL, info);
	if (!census_after_first_use(_metadata, IBV_QPT_XRC_SEND))
		SKIP(return, NO_XRC);
	ASSERT_EQ(0, rdma_open(&r));
	/* The pair's own target is not used. */
	ASSERT_EQ(0, pair_open(&p, &r, &cfg, SLOT));
	ASSERT_EQ(0, rdma_modify_state(p.qp[0], IBV_QPS_RESET));
	info->requester = p.qp[0]->qp_num;
	ASSERT_EQ(0, xrc_peer_start(&maker, peer_make_target, info));
	ASSERT_EQ(0, xrc_peer_start(&owner, peer_receive, info));
	ASSERT_EQ(0, rdma_qp_connect(p.qp[0], &cfg, info->target, r.port.lid));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, send_to(&p, info->srqn, MSG_LEN, i));
		ASSERT_EQ(0, reap_ok(p.cq[0], &wc));
		ASSERT_EQ(0, xrc_peer_continue(&owner));
		/* The creator exits between the two messages. */
		if (!i)
			EXPECT_EQ(0, xrc_peer_end(&maker));
	}
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_WRITE };
	wr.wr.rdma.remote_addr = info->addr;
	wr.wr.rdma.rkey = info->rkey;
	wr.qp_type.xrc.remote_srqn = info->srqn;
	fill(p.buf[0], MSG_LEN, 9);
	ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], MSG_LEN));
	ASSERT_EQ(0, reap_ok(p.cq[0], &wc));
	EXPECT_EQ(0, xrc_peer_end(&owner));
	/* No process has the target open any more, so it was destroyed. */
	ASSERT_EQ(0, send_to(&p, info->srqn, MSG_LEN, 3));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, reap(p.cq[0], &wc));
	pair_close(&p);
	rdma_close(&r);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

TEST(target_is_destroyed_with_its_only_process)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_SEND, .timeout = 8, .retry = 1 };
	struct xrc_info *info = xrc_info_create();
	struct ibv_xrcd *xrcd;
	struct ibv_wc wc;
	struct xrc_peer maker;
	struct rdma r;
	struct pair p;

	ASSERT_NE(NULL, info);
	if (!census_after_first_use(_metadata, IBV_QPT_XRC_SEND))
		SKIP(return, NO_XRC);
	ASSERT_EQ(0, rdma_open(&r));
	xrcd = rdma_open_xrcd(r.ctx, info->fd, O_CREAT);
	ASSERT_NE(NULL, xrcd);
	cfg.xrcd = xrcd;
	ASSERT_EQ(0, pair_open(&p, &r, &cfg, SLOT));
	ASSERT_EQ(0, rdma_modify_state(p.qp[0], IBV_QPS_RESET));
	info->requester = p.qp[0]->qp_num;
	ASSERT_EQ(0, xrc_peer_start(&maker, peer_make_target, info));
	ASSERT_EQ(0, rdma_qp_connect(p.qp[0], &cfg, info->target, r.port.lid));
	ASSERT_EQ(0, pair_recv(&p, p.buf[1], SLOT, 1));
	ASSERT_EQ(0, send_to(&p, p.srqn, MSG_LEN, 1));
	ASSERT_EQ(0, reap_ok(p.cq[0], &wc));
	ASSERT_EQ(0, reap_ok(p.cq[1], &wc));
	EXPECT_EQ(info->target, wc.qp_num);
	xrc_peer_kill(&maker);
	ASSERT_EQ(0, pair_recv(&p, p.buf[1], SLOT, 2));
	ASSERT_EQ(0, send_to(&p, p.srqn, MSG_LEN, 2));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, reap(p.cq[0], &wc));
	EXPECT_TRUE(cq_stays_empty(p.cq[1], 20));
	pair_close(&p);
	EXPECT_EQ(0, ibv_close_xrcd(xrcd));
	rdma_close(&r);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* --- Removal of the device -------------------------------------------------------------------- */

/*
 * Share a domain and a target between two contexts, and open and close connections in
 * the domain.
 */
static void connect_until_killed(unsigned int round)
{
	struct ibv_xrcd *own, *shared;
	struct ibv_qp *target, *second;
	struct rdma r, other;
	struct pair p;
	int fd = xrc_create_file();

	if (rdma_open(&r) || rdma_open(&other))
		_exit(2);
	own = rdma_open_xrcd(r.ctx, fd, O_CREAT);
	shared = rdma_open_xrcd(other.ctx, fd, 0);
	if (!own || !shared)
		_exit(3);
	target = xrc_create_target(&r, own);
	second = target ? xrc_open_target(&other, shared, target->qp_num) : NULL;
	if (!second)
		_exit(4);
	/* In odd rounds only the context that did not create the target has it open. */
	if (round & 1)
		ibv_destroy_qp(target);
	for (;;) {
		struct qp_cfg cfg = { .type = IBV_QPT_XRC_SEND, .xrcd = own };

		if (!pair_open(&p, &r, &cfg, SLOT))
			pair_close(&p);
		if (round & 2)
			usleep(1000);
	}
}

TEST(device_removal_while_targets_are_shared)
{
	if (!device_has(_metadata, rdma_has_xrc))
		SKIP(return, NO_XRC);
	remove_device_during(_metadata, connect_until_killed);
}

/* Create objects of all kinds of XRC and send messages until killed. */
static void send_until_killed(unsigned int round)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_SEND };
	struct pair p;
	struct ibv_wc wc;
	struct rdma r;

	if (rdma_open(&r))
		return;
	cfg.xrcd = rdma_open_xrcd(r.ctx, round & 1 ? xrc_create_file() : -1, O_CREAT);
	if (!cfg.xrcd || pair_open(&p, &r, &cfg, SLOT) ||
	    !xrc_open_target(&r, cfg.xrcd, p.qp[1]->qp_num))
		return;
	for (;;) {
		pair_recv(&p, p.buf[1], SLOT, 0);
		send_to(&p, p.srqn, SLOT, 0);
		while (ibv_poll_cq(p.cq[0], 1, &wc) > 0)
			;
		while (ibv_poll_cq(p.cq[1], 1, &wc) > 0)
			;
	}
}

TEST(device_removal_during_traffic)
{
	if (!device_has(_metadata, rdma_has_xrc))
		SKIP(return, NO_XRC);
	remove_device_during(_metadata, send_until_killed);
}

TEST_HARNESS_MAIN
