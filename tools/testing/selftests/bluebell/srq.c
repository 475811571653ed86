// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues: sizes, queue pairs that receive from one, the limit and its event, what
 * happens when nothing is posted, and each wrong field of a request, also of those of XRC.
 */
#include <fcntl.h>
#include <infiniband/mlx5dv.h>

#include "test.h"

#define NUM_PAIRS 3
#define SLOT 4096u

static struct ibv_srq *create_srq(struct ibv_pd *pd, uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = max_wr, .max_sge = max_sge } };

	return ibv_create_srq(pd, &attr);
}

static uint32_t srq_number(struct ibv_srq *srq)
{
	struct mlx5dv_srq info = { .comp_mask = MLX5DV_SRQ_MASK_SRQN };
	struct mlx5dv_obj obj = { .srq = { .in = srq, .out = &info } };

	return mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ) ? 0 : info.srqn;
}

/* --- The object ------------------------------------------------------------------------------- */

FIXTURE(srq) {
	struct rdma r;
	struct ibv_device_attr attr;
	struct ibv_xrcd *xrcd;
};

FIXTURE_VARIANT(srq) {
	bool xrc;
};

FIXTURE_VARIANT_ADD(srq, basic) { .xrc = false };

FIXTURE_VARIANT_ADD(srq, xrc) { .xrc = true };

FIXTURE_SETUP(srq)
{
	ASSERT_EQ(0, rdma_open(&self->r));
	if (variant->xrc) {
		if (!rdma_has_xrc(self->r.ctx))
			SKIP(return, NO_XRC);
		self->xrcd = rdma_open_xrcd(self->r.ctx, -1, O_CREAT);
		ASSERT_NE(NULL, self->xrcd);
	}
	ASSERT_EQ(0, ibv_query_device(self->r.ctx, &self->attr));
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(srq)
{
	if (self->xrcd)
		EXPECT_EQ(0, ibv_close_xrcd(self->xrcd));
	rdma_close(&self->r);
}

/* An SRQ, of XRC if there is a domain; @attr gets the sizes that it has. */
static struct ibv_srq *new_srq(struct rdma *r, struct ibv_xrcd *xrcd, struct ibv_srq_attr *attr)
{
	struct ibv_srq_init_attr init = { .attr = *attr };
	struct ibv_srq *srq;

	if (xrcd)
		return rdma_create_xrc_srq(r, xrcd, r->cq, attr);
	srq = ibv_create_srq(r->pd, &init);
	*attr = init.attr;
	return srq;
}

static struct ibv_srq *sized_srq(struct rdma *r, struct ibv_xrcd *xrcd, uint32_t max_wr,
				 uint32_t max_sge)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr, .max_sge = max_sge };

	return new_srq(r, xrcd, &attr);
}

TEST_F(srq, every_size_up_to_the_limits)
{
	uint32_t wr[] = { 1, 2, 3, 100, 1023, 1024, 16384, self->attr.max_srq_wr };
	uint32_t sge[] = { 0, 1, 2, 3, 4, 16, self->attr.max_srq_sge };
	struct ibv_srq_attr attr, init;
	struct ibv_srq *srq;
	size_t i, j;

	ASSERT_LT(0, self->attr.max_srq);
	ASSERT_LT(100, self->attr.max_srq_wr);
	ASSERT_LE(1, self->attr.max_srq_sge);
	for (i = 0; i < ARRAY_SIZE(wr); i++) {
		if (wr[i] > self->attr.max_srq_wr)
			continue;
		for (j = 0; j < ARRAY_SIZE(sge); j++) {
			init = (struct ibv_srq_attr){ .max_wr = wr[i], .max_sge = sge[j] };
			srq = new_srq(&self->r, self->xrcd, &init);
			ASSERT_NE(NULL, srq) TH_LOG("%u requests of %u entries: errno %d", wr[i],
						    sge[j], errno);
			EXPECT_LE(wr[i], init.max_wr);
			EXPECT_LE(sge[j], init.max_sge);
			EXPECT_GE(self->attr.max_srq_wr, init.max_wr);
			EXPECT_GE(self->attr.max_srq_sge, init.max_sge);
			ASSERT_EQ(0, ibv_query_srq(srq, &attr));
			/* Of these the library keeps some for itself. */
			EXPECT_LE(init.max_wr, attr.max_wr);
			EXPECT_GE(self->attr.max_srq_wr, attr.max_wr);
			EXPECT_EQ(init.max_sge, attr.max_sge);
			EXPECT_EQ(0, attr.srq_limit);
			EXPECT_EQ(0, ibv_destroy_srq(srq));
		}
	}
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

TEST_F(srq, more_than_the_limits_is_invalid)
{
	EXPECT_EQ(NULL, sized_srq(&self->r, self->xrcd, self->attr.max_srq_wr + 1, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, sized_srq(&self->r, self->xrcd, 1, self->attr.max_srq_sge + 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, sized_srq(&self->r, self->xrcd, -1, 1));
	EXPECT_EQ(EINVAL, errno);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* The limit that create was given is nothing to it. */
TEST_F(srq, limit_is_modified_and_queried)
{
	struct ibv_srq_attr init = { .max_wr = 100, .max_sge = 1, .srq_limit = 50 };
	struct ibv_srq *srq = new_srq(&self->r, self->xrcd, &init);
	struct ibv_recv_wr wr = {}, *bad;
	struct ibv_srq_attr attr;
	int i;

	ASSERT_NE(NULL, srq);
	ASSERT_EQ(0, ibv_query_srq(srq, &attr));
	EXPECT_EQ(0, attr.srq_limit);
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, ibv_post_srq_recv(srq, &wr, &bad));
	EXPECT_EQ(0, set_srq_limit(srq, 99));
	EXPECT_EQ(99, get_srq_limit(srq));
	EXPECT_EQ(0, set_srq_limit(srq, 1));
	EXPECT_EQ(1, get_srq_limit(srq));
	EXPECT_EQ(EINVAL, set_srq_limit(srq, attr.max_wr + 1));
	EXPECT_EQ(EINVAL, set_srq_limit(srq, 0x10001));
	EXPECT_EQ(EINVAL, set_srq_limit(srq, -1));
	EXPECT_EQ(1, get_srq_limit(srq));
	EXPECT_EQ(0, set_srq_limit(srq, 0));
	EXPECT_EQ(0, get_srq_limit(srq));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

/* IBV_DEVICE_SRQ_RESIZE is not offered, and nothing of a request that cannot be is done. */
TEST_F(srq, size_is_not_modified)
{
	struct ibv_srq_attr attr = { .max_wr = 200, .max_sge = 1, .srq_limit = 7 };
	struct ibv_srq *srq = sized_srq(&self->r, self->xrcd, 100, 1);

	ASSERT_NE(NULL, srq);
	EXPECT_FALSE(self->attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
	EXPECT_EQ(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	attr.max_wr = 200;
	attr.srq_limit = 7;
	EXPECT_EQ(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
	EXPECT_EQ(0, get_srq_limit(srq));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

TEST_F(srq, many_at_once)
{
	long room = hca_objects_left("srq");
	struct ibv_srq *srq[64];
	const size_t num = room < ARRAY_SIZE(srq) ? room : ARRAY_SIZE(srq);
	size_t i, j;

	ASSERT_LT(16, num);
	for (i = 0; i < num; i++) {
		srq[i] = sized_srq(&self->r, self->xrcd, 15, 1);
		ASSERT_NE(NULL, srq[i]);
		for (j = 0; j < i; j++)
			ASSERT_NE(srq_number(srq[j]), srq_number(srq[i]));
	}
	if (num == room) {
		EXPECT_EQ(NULL, sized_srq(&self->r, self->xrcd, 15, 1));
		EXPECT_EQ(ENOMEM, errno);
	}
	for (i = 0; i < num; i++)
		EXPECT_EQ(0, ibv_destroy_srq(srq[i]));
}

/* An SRQ that queue pairs are made with. */
FIXTURE(of_qp) {
	struct rdma r;
};

FIXTURE_SETUP(of_qp)
{
	ASSERT_EQ(0, rdma_open(&self->r));
}

FIXTURE_TEARDOWN(of_qp)
{
	rdma_close(&self->r);
}

TEST_F(of_qp, in_use_is_busy)
{
	struct ibv_srq *srq = create_srq(self->r.pd, 100, 1);
	struct qp_cfg cfg = { .type = IBV_QPT_RC, .srq = srq };
	struct ibv_qp *qp[2];

	ASSERT_NE(NULL, srq);
	qp[0] = rdma_create_qp(&self->r, self->r.cq, &cfg);
	qp[1] = rdma_create_qp(&self->r, self->r.cq, &cfg);
	ASSERT_NE(NULL, qp[0]);
	ASSERT_NE(NULL, qp[1]);
	EXPECT_EQ(EBUSY, ibv_destroy_srq(srq));
	EXPECT_EQ(0, ibv_destroy_qp(qp[0]));
	EXPECT_EQ(EBUSY, ibv_destroy_srq(srq));
	EXPECT_EQ(0, ibv_destroy_qp(qp[1]));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

/* What a queue pair was asked to have of receives is nothing to it. */
TEST_F(of_qp, queue_pair_says_what_it_receives_from)
{
	struct ibv_srq *srq = create_srq(self->r.pd, 100, 1);
	struct qp_cfg cfg = { .type = IBV_QPT_RC, .srq = srq, .recv_wr = 1000 };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	ASSERT_NE(NULL, srq);
	qp = rdma_create_qp(&self->r, self->r.cq, &cfg);
	ASSERT_NE(NULL, qp);
	ASSERT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_CAP, &init));
	EXPECT_EQ(0, attr.cap.max_recv_wr);
	EXPECT_EQ(0, attr.cap.max_recv_sge);
	EXPECT_EQ(srq, init.srq);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

/* --- Traffic ---------------------------------------------------------------------------------- */

FIXTURE(shared) {
	struct rdma r;
	struct ibv_srq *srq;
	struct pair p[NUM_PAIRS];
	uint8_t *mem;
	struct ibv_mr *mr;
	size_t grh;
};

FIXTURE_VARIANT(shared) {
	enum ibv_qp_type type;
};

FIXTURE_VARIANT_ADD(shared, rc) { .type = IBV_QPT_RC };

FIXTURE_VARIANT_ADD(shared, uc) { .type = IBV_QPT_UC };

FIXTURE_VARIANT_ADD(shared, ud) { .type = IBV_QPT_UD };

FIXTURE_SETUP(shared)
{
	struct qp_cfg cfg = { .type = variant->type };
	int i;

	if (!rdma_has_qp_type(variant->type))
		SKIP(return, NO_UC);
	ASSERT_EQ(0, rdma_open(&self->r));
	self->srq = create_srq(self->r.pd, 7, 3);
	ASSERT_NE(NULL, self->srq);
	cfg.srq = self->srq;
	for (i = 0; i < NUM_PAIRS; i++)
		ASSERT_EQ(0, pair_open(&self->p[i], &self->r, &cfg, SLOT)) TH_LOG("%d", errno);
	self->mem = mmap(NULL, 16 * SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	self->mr = ibv_reg_mr(self->r.pd, self->mem, 16 * SLOT, IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, self->mr);
	self->grh = variant->type == IBV_QPT_UD ? GRH_LEN : 0;
}

FIXTURE_TEARDOWN(shared)
{
	int i;

	for (i = 0; i < NUM_PAIRS; i++)
		pair_close(&self->p[i]);
	if (self->mr)
		ibv_dereg_mr(self->mr);
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	rdma_close(&self->r);
}

static int send_msg(struct pair *p, uint32_t len, unsigned int seed)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };

	fill(p->buf[0], len, seed);
	return post_send(p, &wr, p->buf[0], len);
}

/* Whoever is sent to takes the next, and says who it was. Seven times around the queue. */
TEST_F(shared, queue_pairs_take_turns)
{
	struct ibv_wc wc;
	struct pair *p;
	int i, slot;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, post_srq_recv(self->srq, self->mr, self->mem + i * SLOT, SLOT, i));
	for (i = 0; i < 60; i++) {
		p = &self->p[i * i % NUM_PAIRS];
		slot = i % 4;
		ASSERT_EQ(0, send_msg(p, 100 + 10 * i, i));
		ASSERT_EQ(0, reap_ok(p->cq[0], &wc));
		ASSERT_EQ(0, reap_ok(p->cq[1], &wc));
		EXPECT_EQ(i, wc.wr_id);
		EXPECT_EQ(IBV_WC_RECV, wc.opcode);
		EXPECT_EQ(p->qp[1]->qp_num, wc.qp_num);
		EXPECT_EQ(100 + 10 * i + self->grh, wc.byte_len);
		EXPECT_TRUE(check_fill(self->mem + slot * SLOT + self->grh, 100 + 10 * i, i));
		ASSERT_EQ(0, post_srq_recv(self->srq, self->mr, self->mem + slot * SLOT, SLOT,
					   i + 4));
	}
}

/* Completions are reaped in another order than the requests were taken. */
TEST_F(shared, requests_come_back_in_any_order)
{
	struct ibv_wc wc;
	unsigned int seen;
	int round, i;

	for (round = 0; round < 10; round++) {
		for (i = 0; i < 6; i++)
			ASSERT_EQ(0, post_srq_recv(self->srq, self->mr, self->mem + i * SLOT, SLOT,
						   i));
		for (i = 0; i < 6; i++)
			ASSERT_EQ(0, send_msg(&self->p[i % NUM_PAIRS], 64, i % NUM_PAIRS));
		for (seen = 0, i = 5; i >= 0; i--) {
			ASSERT_EQ(0, reap_ok(self->p[i % NUM_PAIRS].cq[1], &wc));
			ASSERT_GT(6, wc.wr_id);
			seen |= 1u << wc.wr_id;
			EXPECT_TRUE(check_fill(self->mem + wc.wr_id * SLOT + self->grh, 64,
					       i % NUM_PAIRS));
			ASSERT_EQ(0, reap_ok(self->p[i % NUM_PAIRS].cq[0], &wc));
		}
		EXPECT_EQ(0x3f, seen);
	}
}

TEST_F(shared, messages_are_scattered)
{
	struct ibv_sge sge[3] = {
		{ .addr = (uintptr_t)self->mem, .length = 50, .lkey = self->mr->lkey },
		{ .addr = (uintptr_t)self->mem + SLOT, .length = 7, .lkey = self->mr->lkey },
		{ .addr = (uintptr_t)self->mem + 2 * SLOT, .length = 2000,
		  .lkey = self->mr->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = sge, .num_sge = 3 }, *bad;
	struct pair *p = &self->p[1];
	uint8_t whole[1000 + GRH_LEN];
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 3; i++) {
		memset(self->mem, 0, 3 * SLOT);
		ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr, &bad));
		ASSERT_EQ(0, send_msg(p, 1000, i));
		ASSERT_EQ(0, reap_ok(p->cq[1], &wc));
		EXPECT_EQ(1000 + self->grh, wc.byte_len);
		memcpy(whole, self->mem, 50);
		memcpy(whole + 50, self->mem + SLOT, 7);
		memcpy(whole + 57, self->mem + 2 * SLOT, sizeof(whole) - 57);
		EXPECT_TRUE(check_fill(whole + self->grh, 1000, i));
		ASSERT_EQ(0, reap_ok(p->cq[0], &wc));
	}
}

/* The keys of its requests are of its own domain, not of that of the queue pair. */
TEST_F(shared, keys_are_of_the_domain_of_the_queue)
{
	struct rdma other = self->r;
	struct qp_cfg cfg = { .type = variant->type, .srq = self->srq };
	struct ibv_wc wc;
	struct pair p;

	other.pd = ibv_alloc_pd(self->r.ctx);
	ASSERT_NE(NULL, other.pd);
	ASSERT_EQ(0, pair_open(&p, &other, &cfg, SLOT));
	ASSERT_EQ(0, post_srq_recv(self->srq, self->mr, self->mem, SLOT, 5));
	ASSERT_EQ(0, send_msg(&p, 700, 5));
	ASSERT_EQ(0, reap_ok(p.cq[1], &wc));
	EXPECT_TRUE(check_fill(self->mem + self->grh, 700, 5));
	pair_close(&p);
	EXPECT_EQ(0, ibv_dealloc_pd(other.pd));
}

/* As many as it says, and no more. */
TEST_F(shared, is_full_when_it_says)
{
	struct ibv_srq_attr attr;
	struct ibv_wc wc;
	unsigned int n = 0;

	ASSERT_EQ(0, ibv_query_srq(self->srq, &attr));
	while (n <= attr.max_wr &&
	       !post_srq_recv(self->srq, self->mr, self->mem, SLOT, n))
		n++;
	/* The library keeps part of the queue for itself. */
	EXPECT_LE(7, n);
	EXPECT_GE(attr.max_wr, n);
	EXPECT_EQ(ENOMEM, post_srq_recv(self->srq, self->mr, self->mem, SLOT, n));
	while (n--) {
		ASSERT_EQ(0, send_msg(&self->p[n % NUM_PAIRS], 64, n));
		ASSERT_EQ(0, reap_ok(self->p[n % NUM_PAIRS].cq[0], &wc));
		ASSERT_EQ(0, reap_ok(self->p[n % NUM_PAIRS].cq[1], &wc));
	}
	EXPECT_EQ(0, post_srq_recv(self->srq, self->mr, self->mem, SLOT, n));
}

/* --- The limit -------------------------------------------------------------------------------- */

/* Fewer than the limit are left: one event, and no further one until it is armed again. */
TEST_F(shared, limit_is_told_once)
{
	struct ibv_wc wc;
	int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < 6; i++)
			ASSERT_EQ(0, post_srq_recv(self->srq, self->mr, self->mem, SLOT, i));
		ASSERT_EQ(0, set_srq_limit(self->srq, 4));
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(0, send_msg(&self->p[i], 64, i));
			ASSERT_EQ(0, reap_ok(self->p[i].cq[1], &wc));
		}
		/* Four are left, which is not less than four. */
		EXPECT_FALSE(wait_object_event(self->r.ctx, self->srq, IBV_EVENT_SRQ_LIMIT_REACHED,
					       100));
		EXPECT_EQ(4, get_srq_limit(self->srq));
		ASSERT_EQ(0, send_msg(&self->p[2], 64, i));
		ASSERT_EQ(0, reap_ok(self->p[2].cq[1], &wc));
		EXPECT_TRUE(wait_object_event(self->r.ctx, self->srq, IBV_EVENT_SRQ_LIMIT_REACHED,
					      10000));
		EXPECT_EQ(0, get_srq_limit(self->srq));
		for (i = 0; i < 3; i++) {
			ASSERT_EQ(0, send_msg(&self->p[i], 64, i));
			ASSERT_EQ(0, reap_ok(self->p[i].cq[1], &wc));
		}
		EXPECT_FALSE(wait_object_event(self->r.ctx, self->srq, IBV_EVENT_SRQ_LIMIT_REACHED,
					       100));
	}
}

TEST_F(shared, limit_that_is_already_passed_is_told_at_once)
{
	ASSERT_EQ(0, post_srq_recv(self->srq, self->mr, self->mem, SLOT, 0));
	ASSERT_EQ(0, set_srq_limit(self->srq, 2));
	EXPECT_TRUE(wait_object_event(self->r.ctx, self->srq, IBV_EVENT_SRQ_LIMIT_REACHED, 10000));
	EXPECT_EQ(0, get_srq_limit(self->srq));
}

TEST_F(shared, limit_that_was_taken_back_is_not_told)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, post_srq_recv(self->srq, self->mr, self->mem, SLOT, i));
	ASSERT_EQ(0, set_srq_limit(self->srq, 3));
	ASSERT_EQ(0, set_srq_limit(self->srq, 0));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, send_msg(&self->p[i], 64, i));
		ASSERT_EQ(0, reap_ok(self->p[i].cq[1], &wc));
	}
	EXPECT_FALSE(wait_object_event(self->r.ctx, self->srq, IBV_EVENT_SRQ_LIMIT_REACHED, 100));
}

/* --- Errors ----------------------------------------------------------------------------------- */

TEST_F(shared, failure_of_the_queue_is_told)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, hca_do("inject event SRQ_CATAS_ERROR %u", srq_number(self->srq)));
	EXPECT_TRUE(wait_object_event(self->r.ctx, self->srq, IBV_EVENT_SRQ_ERR, 10000));
}

/* Events of numbers that are not there, or were, go nowhere. */
TEST_F(shared, events_of_others_are_not_told)
{
	struct ibv_srq *gone = create_srq(self->r.pd, 7, 1);
	struct ibv_async_event ev;
	uint32_t srqn;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_NE(NULL, gone);
	srqn = srq_number(gone);
	ASSERT_EQ(0, ibv_destroy_srq(gone));
	ASSERT_EQ(0, hca_do("inject event SRQ_CATAS_ERROR %u", srqn));
	ASSERT_EQ(0, hca_do("inject event SRQ_RQ_LIMIT %u", 0xffffff));
	while (!next_async_event(self->r.ctx, &ev, 200)) {
		EXPECT_NE(IBV_EVENT_SRQ_ERR, ev.event_type);
		EXPECT_NE(IBV_EVENT_SRQ_LIMIT_REACHED, ev.event_type);
	}
}

/* What it holds of the queue is nobody's any more; and only a queue pair with an SRQ says so. */
TEST_F(shared, last_request_of_a_queue_pair_is_told)
{
	struct qp_cfg plain = { .type = variant->type };
	struct ibv_async_event ev;
	struct ibv_wc wc;
	struct pair p;

	ASSERT_EQ(0, rdma_modify_state(self->p[1].qp[1], IBV_QPS_ERR));
	EXPECT_TRUE(wait_object_event(self->r.ctx, self->p[1].qp[1], IBV_EVENT_QP_LAST_WQE_REACHED,
				      10000));
	/* The others go on. */
	ASSERT_EQ(0, post_srq_recv(self->srq, self->mr, self->mem, SLOT, 3));
	ASSERT_EQ(0, send_msg(&self->p[0], 64, 3));
	ASSERT_EQ(0, reap_ok(self->p[0].cq[1], &wc));
	EXPECT_EQ(3, wc.wr_id);

	ASSERT_EQ(0, pair_open(&p, &self->r, &plain, SLOT));
	ASSERT_EQ(0, rdma_modify_state(p.qp[1], IBV_QPS_ERR));
	while (!next_async_event(self->r.ctx, &ev, 200))
		EXPECT_NE(IBV_EVENT_QP_LAST_WQE_REACHED, ev.event_type);
	pair_close(&p);
}

/* Requests belong to the queue: a queue pair in error flushes none of them. */
TEST_F(shared, queue_pair_in_error_leaves_the_requests)
{
	struct ibv_wc wc;
	int i;

	/* It has received from the queue before. */
	ASSERT_EQ(0, post_srq_recv(self->srq, self->mr, self->mem, SLOT, 9));
	ASSERT_EQ(0, send_msg(&self->p[0], 64, 9));
	ASSERT_EQ(0, reap_ok(self->p[0].cq[1], &wc));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, post_srq_recv(self->srq, self->mr, self->mem + i * SLOT, SLOT, i));
	ASSERT_EQ(0, rdma_modify_state(self->p[0].qp[1], IBV_QPS_ERR));
	EXPECT_TRUE(cq_stays_empty(self->p[0].cq[1], 100));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, send_msg(&self->p[1 + i % 2], 64, i));
		ASSERT_EQ(0, reap_ok(self->p[1 + i % 2].cq[1], &wc));
		EXPECT_EQ(i, wc.wr_id);
	}
}

FIXTURE(empty) {
	struct rdma r;
	struct ibv_srq *srq;
	struct pair p;
};

FIXTURE_VARIANT(empty) {
	bool gives_up;
};

FIXTURE_VARIANT_ADD(empty, sender_waits) { .gives_up = false };

FIXTURE_VARIANT_ADD(empty, sender_gives_up) { .gives_up = true };

FIXTURE_SETUP(empty)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC, .rnr_retry = variant->gives_up ? 2 : 7 };

	ASSERT_EQ(0, rdma_open(&self->r));
	self->srq = create_srq(self->r.pd, 7, 1);
	ASSERT_NE(NULL, self->srq);
	cfg.srq = self->srq;
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, SLOT));
}

FIXTURE_TEARDOWN(empty)
{
	pair_close(&self->p);
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	rdma_close(&self->r);
}

TEST_F(empty, receiver_is_not_ready)
{
	struct ibv_wc wc;

	/* The queue runs empty in the middle of the messages. */
	ASSERT_EQ(0, post_srq_recv(self->srq, self->p.mr, self->p.buf[1], SLOT, 0));
	ASSERT_EQ(0, send_msg(&self->p, 64, 0));
	ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
	ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc));
	ASSERT_EQ(0, send_msg(&self->p, 64, 1));
	if (variant->gives_up) {
		EXPECT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, reap(self->p.cq[0], &wc));
		return;
	}
	EXPECT_TRUE(cq_stays_empty(self->p.cq[0], 100));
	ASSERT_EQ(0, post_srq_recv(self->srq, self->p.mr, self->p.buf[1], SLOT, 1));
	ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc));
	EXPECT_EQ(1, wc.wr_id);
	EXPECT_TRUE(check_fill(self->p.buf[1], 64, 1));
	ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
}

/* --- Raw requests ----------------------------------------------------------------------------- */

/* What a request is made of. */
struct raw {
	struct uv uv;
	uint32_t pd;
	struct uv_cq cq;
	struct uv_srq as;	/* type, and what that needs */
	struct mlx5_ib_create_srq drv;
};

FIXTURE(raw_srq) {
	struct raw raw;
	struct uv_mem mem;
	long pinned;
};

FIXTURE_VARIANT(raw_srq) {
	uint32_t type;
};

FIXTURE_VARIANT_ADD(raw_srq, basic) { .type = IB_UVERBS_SRQT_BASIC };

FIXTURE_VARIANT_ADD(raw_srq, xrc) { .type = IB_UVERBS_SRQT_XRC };

FIXTURE_SETUP(raw_srq)
{
	ASSERT_EQ(0, uv_open(&self->raw.uv));
	ASSERT_EQ(0, uv_alloc_pd(self->raw.uv.fd, &self->raw.pd, NULL));
	ASSERT_EQ(0, uv_create_cq(self->raw.uv.fd, 15, &self->raw.cq));
	self->raw.as.type = variant->type;
	self->raw.as.cq = self->raw.cq.handle;
	if (variant->type == IB_UVERBS_SRQT_XRC) {
		if (uv_open_xrcd(self->raw.uv.fd, -1, O_CREAT, &self->raw.as.xrcd) == -EOPNOTSUPP)
			SKIP(return, NO_XRC);
		self->raw.drv.uidx = uv_uidx();
	}
	/* 128 WQEs of 32 bytes. */
	ASSERT_EQ(0, uv_mem_alloc(&self->mem, 128 * 32));
	self->raw.drv.buf_addr = (uintptr_t)self->mem.buf;
	self->raw.drv.db_addr = (uintptr_t)self->mem.dbr;
	self->pinned = uv_pinned_pages();
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

/* Whatever was refused took nothing with it. */
FIXTURE_TEARDOWN(raw_srq)
{
	EXPECT_EQ(self->pinned, uv_pinned_pages());
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	uv_close(&self->raw.uv);
}

static int create_raw(struct raw *raw, const void *drv, size_t len,
		      struct uv_srq *srq)
{
	return srq->type == IB_UVERBS_SRQT_BASIC ?
	       uv_create_srq(raw->uv.fd, raw->pd, drv, len, srq) :
	       uv_create_xsrq(raw->uv.fd, raw->pd, drv, len, srq);
}

static int try_sizes(struct raw *raw, uint32_t wr, uint32_t sge)
{
	struct uv_srq srq = raw->as;

	srq.max_wr = wr;
	srq.max_sge = sge;
	return create_raw(raw, &raw->drv, sizeof(raw->drv), &srq) ?:
	       uv_destroy_srq(raw->uv.fd, srq.handle);
}

static int try_request(struct raw *raw, const void *drv, size_t len)
{
	struct uv_srq srq = raw->as;

	srq.max_wr = 127;
	srq.max_sge = 1;
	return create_raw(raw, drv, len, &srq) ?: uv_destroy_srq(raw->uv.fd, srq.handle);
}

static int try_srq(struct raw *raw)
{
	return try_request(raw, &raw->drv, sizeof(raw->drv));
}

TEST_F(raw_srq, good_one_is_good)
{
	struct ib_uverbs_query_srq_resp attr;
	struct uv_srq srq = self->raw.as;

	srq.max_wr = 100;
	ASSERT_EQ(0, create_raw(&self->raw, &self->raw.drv, sizeof(self->raw.drv), &srq));
	EXPECT_EQ(127, srq.max_wr);
	ASSERT_EQ(0, uv_query_srq(self->raw.uv.fd, srq.handle, &attr));
	EXPECT_EQ(127, attr.max_wr);
	EXPECT_EQ(srq.max_sge, attr.max_sge);
	EXPECT_EQ(0, attr.srq_limit);
	EXPECT_EQ(-EINVAL, uv_modify_srq(self->raw.uv.fd, srq.handle, IBV_SRQ_LIMIT, 0, 128));
	EXPECT_EQ(-EINVAL, uv_modify_srq(self->raw.uv.fd, srq.handle, IBV_SRQ_LIMIT, 0, 0x10001));
	EXPECT_EQ(-EINVAL, uv_modify_srq(self->raw.uv.fd, srq.handle, IBV_SRQ_MAX_WR, 10, 0));
	EXPECT_EQ(0, uv_destroy_srq(self->raw.uv.fd, srq.handle));
	/* Not twice, and not any. */
	EXPECT_GT(0, uv_destroy_srq(self->raw.uv.fd, srq.handle));
	EXPECT_GT(0, uv_query_srq(self->raw.uv.fd, srq.handle, &attr));
}

TEST_F(raw_srq, undefined_flags_are_refused)
{
	unsigned int bit;

	if (driver_is("mlx5_ib"))
		SKIP(return, "mlx5_ib ignores them");
	for (bit = 1; bit < 32; bit++) {
		self->raw.drv.flags = 1u << bit;
		EXPECT_EQ(-EINVAL, try_srq(&self->raw))
			TH_LOG("flag %u", bit);
	}
}

TEST_F(raw_srq, reserved_fields_are_zero)
{
	self->raw.drv.reserved0 = 1;
	EXPECT_EQ(-EINVAL, try_srq(&self->raw));
	self->raw.drv.reserved0 = 0;
	self->raw.drv.reserved1 = 1;
	EXPECT_EQ(-EINVAL, try_srq(&self->raw));
}

TEST_F(raw_srq, request_of_any_length)
{
	struct {
		struct mlx5_ib_create_srq drv;
		uint64_t more[2];
	} req = { .drv = self->raw.drv };
	/* One of XRC has to have a user index, if there are any. */
	bool has_uidx = variant->type == IB_UVERBS_SRQT_XRC && self->raw.uv.resp.cqe_version;
	int short_one = has_uidx ? -EINVAL : 0;
	size_t len;

	for (len = 0; len <= offsetof(struct mlx5_ib_create_srq, flags); len += 4)
		EXPECT_GT(0, try_request(&self->raw, &req, len)) TH_LOG("length %zu", len);
	EXPECT_EQ(short_one,
		  try_request(&self->raw, &req, offsetof(struct mlx5_ib_create_srq, uidx)));
	EXPECT_EQ(0, try_request(&self->raw, &req, sizeof(req)));
	req.more[1] = 1;
	EXPECT_GT(0, try_request(&self->raw, &req, sizeof(req)));
}

TEST_F(raw_srq, sizes_that_overflow)
{
	static const uint32_t wr[] = {
		0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
	};
	static const uint32_t sge[] = {
		32, 64, 0x0fffffff, 0x10000000, 0x7fffffff, 0x80000000, 0xffffffff,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wr); i++)
		EXPECT_EQ(-EINVAL, try_sizes(&self->raw, wr[i], 1))
			TH_LOG("%#x requests", wr[i]);
	for (i = 0; i < ARRAY_SIZE(sge); i++)
		EXPECT_EQ(-EINVAL, try_sizes(&self->raw, 1, sge[i]))
			TH_LOG("%#x entries", sge[i]);
}

/* The buffer ends before the queue does. */
TEST_F(raw_srq, buffer_too_small)
{
	munmap(self->mem.buf + self->mem.len, UV_PAGE);
	self->raw.drv.db_addr = (uintptr_t)self->mem.buf;
	EXPECT_EQ(0, try_srq(&self->raw));
	EXPECT_EQ(-EFAULT, try_sizes(&self->raw, 128, 1));
	EXPECT_EQ(-EFAULT, try_sizes(&self->raw, 127, 2));
}

TEST_F(raw_srq, buffer_nowhere)
{
	static const uint64_t addr[] = {
		0, 0x1000, 0x7ffffffff000ull, 0xffff888000000000ull, 0xfffffffffffff000ull, ~0ull,
	};
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		self->raw.drv.buf_addr = addr[i];
		ret = try_srq(&self->raw);
		EXPECT_TRUE(ret == -EFAULT || ret == -EINVAL || ret == -ENOMEM)
			TH_LOG("address %#llx: %d", (unsigned long long)addr[i], ret);
	}
}

TEST_F(raw_srq, buffer_starts_at_a_cache_line)
{
	unsigned int off;

	for (off = 1; off < 64; off += off) {
		self->raw.drv.buf_addr = (uintptr_t)self->mem.buf + off;
		EXPECT_EQ(-EINVAL, try_sizes(&self->raw, 15, 1))
			TH_LOG("offset %u", off);
	}
	for (off = 0; off < UV_PAGE / 2; off += 64) {
		self->raw.drv.buf_addr = (uintptr_t)self->mem.buf + off;
		EXPECT_EQ(0, try_sizes(&self->raw, 15, 1))
			TH_LOG("offset %u", off);
	}
}

/*
 * The page offset of a receive memory pool has one bit less than that of a queue pair, and of an SRQ of
 * XRC. A buffer that goes on in the next page may be described, for the two may be one larger page.
 */
TEST_F(raw_srq, buffer_in_the_second_half_of_its_page)
{
	int want = variant->type == IB_UVERBS_SRQT_XRC ? 0 : -EINVAL;
	unsigned int off;

	for (off = UV_PAGE / 2; off + 16 * 32 <= UV_PAGE; off += 64) {
		self->raw.drv.buf_addr = (uintptr_t)self->mem.buf + off;
		EXPECT_EQ(want, try_sizes(&self->raw, 15, 1))
			TH_LOG("offset %u", off);
	}
}

TEST_F(raw_srq, record_nowhere_or_misaligned)
{
	static const uint64_t addr[] = {
		0, 0x1000, 0x7ffffffff000ull, 0xffff888000000000ull, 0xfffffffffffff000ull,
	};
	unsigned int off;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		self->raw.drv.db_addr = addr[i];
		ret = try_srq(&self->raw);
		EXPECT_TRUE(ret == -EFAULT || ret == -EINVAL || ret == -ENOMEM)
			TH_LOG("address %#llx: %d", (unsigned long long)addr[i], ret);
	}
	for (off = 1; off < 4; off++) {
		self->raw.drv.db_addr = (uintptr_t)self->mem.dbr + off;
		EXPECT_EQ(-EINVAL, try_srq(&self->raw))
			TH_LOG("offset %u", off);
	}
}

TEST_F(raw_srq, objects_that_are_not_there)
{
	struct uv_srq srq = self->raw.as, good;
	struct ib_uverbs_query_srq_resp attr;
	uint32_t pd = self->raw.pd;

	srq.max_wr = 1;
	srq.max_sge = 1;
	good = srq;
	self->raw.pd = 0xdead;
	EXPECT_GT(0, create_raw(&self->raw, &self->raw.drv, sizeof(self->raw.drv), &srq));
	self->raw.pd = pd;
	if (variant->type == IB_UVERBS_SRQT_XRC) {
		srq.cq = 0xdead;
		EXPECT_GT(0, create_raw(&self->raw, &self->raw.drv, sizeof(self->raw.drv), &srq));
		srq = good;
		srq.xrcd = 0xdead;
		EXPECT_GT(0, create_raw(&self->raw, &self->raw.drv, sizeof(self->raw.drv), &srq));
		/* Neither a PD nor a CQ is a domain. */
		srq.xrcd = pd;
		EXPECT_GT(0, create_raw(&self->raw, &self->raw.drv, sizeof(self->raw.drv), &srq));
		srq.xrcd = self->raw.cq.handle;
		EXPECT_GT(0, create_raw(&self->raw, &self->raw.drv, sizeof(self->raw.drv), &srq));
		EXPECT_GT(0, uv_close_xrcd(self->raw.uv.fd, 0xdead));
		EXPECT_GT(0, uv_close_xrcd(self->raw.uv.fd, pd));
	}
	EXPECT_GT(0, uv_modify_srq(self->raw.uv.fd, 0xdead, IBV_SRQ_LIMIT, 0, 0));
	EXPECT_GT(0, uv_query_srq(self->raw.uv.fd, 0xdead, &attr));
	EXPECT_GT(0, uv_destroy_srq(self->raw.uv.fd, 0xdead));
	/* A PD is no SRQ. */
	EXPECT_GT(0, uv_destroy_srq(self->raw.uv.fd, self->raw.pd));
}

/* What the completions of an SRQ of XRC tell it by; nobody is told of another's. */
TEST_F(raw_srq, user_index_is_24_bits)
{
	int want = variant->type == IB_UVERBS_SRQT_XRC ? -EINVAL : 0;

	/* Without CQE version 1 there is none. */
	self->raw.drv.uidx = 0xfffffe;
	EXPECT_EQ(self->raw.uv.resp.cqe_version ? 0 : want, try_srq(&self->raw));
	self->raw.drv.uidx = 0x1000000;
	EXPECT_EQ(want, try_srq(&self->raw));
	self->raw.drv.uidx = ~0u;
	EXPECT_EQ(want, try_srq(&self->raw));
}

static int try_type(struct raw *raw, uint32_t type)
{
	struct uv_srq srq = raw->as;

	srq.type = type;
	srq.max_wr = 15;
	srq.max_sge = 1;
	return uv_create_xsrq(raw->uv.fd, raw->pd, &raw->drv, sizeof(raw->drv), &srq) ?:
	       uv_destroy_srq(raw->uv.fd, srq.handle);
}

TEST_F(raw_srq, other_types_are_refused)
{
	EXPECT_EQ(0, try_type(&self->raw, IB_UVERBS_SRQT_BASIC));
	EXPECT_GT(0, try_type(&self->raw, IB_UVERBS_SRQT_TM));
	EXPECT_GT(0, try_type(&self->raw, IB_UVERBS_SRQT_TM + 1));
	EXPECT_GT(0, try_type(&self->raw, ~0u));
	if (driver_is("bluebell"))
		EXPECT_EQ(-EOPNOTSUPP, try_type(&self->raw, IB_UVERBS_SRQT_TM));
}

TEST_HARNESS_MAIN
