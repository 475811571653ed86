// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues, basic and of XRC: sizes, several queue pairs that receive from one SRQ,
 * the limit and its event, an empty queue, and each invalid field of a request.
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

/* Create an SRQ, of XRC if @xrcd is not NULL; @attr gets the actual sizes. */
static struct ibv_srq *create_srq_of_type(struct rdma *r, struct ibv_xrcd *xrcd,
					  struct ibv_srq_attr *attr)
{
	struct ibv_srq_init_attr init = { .attr = *attr };
	struct ibv_srq *srq;

	if (xrcd)
		return rdma_create_xrc_srq(r, xrcd, r->cq, attr);
	srq = ibv_create_srq(r->pd, &init);
	*attr = init.attr;
	return srq;
}

static struct ibv_srq *create_sized_srq(struct rdma *r, struct ibv_xrcd *xrcd, uint32_t max_wr,
					uint32_t max_sge)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr, .max_sge = max_sge };

	return create_srq_of_type(r, xrcd, &attr);
}

TEST_F(srq, all_sizes_up_to_the_limits_work)
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
			srq = create_srq_of_type(&self->r, self->xrcd, &init);
			ASSERT_NE(NULL, srq) TH_LOG("%u requests of %u entries: errno %d", wr[i],
						    sge[j], errno);
			EXPECT_LE(wr[i], init.max_wr);
			EXPECT_LE(sge[j], init.max_sge);
			EXPECT_GE(self->attr.max_srq_wr, init.max_wr);
			EXPECT_GE(self->attr.max_srq_sge, init.max_sge);
			ASSERT_EQ(0, ibv_query_srq(srq, &attr));
			/* libmlx5 reserves some of the requests for itself. */
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

TEST_F(srq, sizes_beyond_the_limits_are_invalid)
{
	EXPECT_EQ(NULL, create_sized_srq(&self->r, self->xrcd, self->attr.max_srq_wr + 1, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, create_sized_srq(&self->r, self->xrcd, 1, self->attr.max_srq_sge + 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, create_sized_srq(&self->r, self->xrcd, -1, 1));
	EXPECT_EQ(EINVAL, errno);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* The limit in the create request is ignored; only a modify request sets the limit. */
TEST_F(srq, limit_can_be_modified_and_queried)
{
	struct ibv_srq_attr init = { .max_wr = 100, .max_sge = 1, .srq_limit = 50 };
	struct ibv_srq *srq = create_srq_of_type(&self->r, self->xrcd, &init);
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

/*
 * The device does not report IBV_DEVICE_SRQ_RESIZE; a refused request must not set the limit
 * either.
 */
TEST_F(srq, modify_of_the_size_is_invalid)
{
	struct ibv_srq_attr attr = { .max_wr = 200, .max_sge = 1, .srq_limit = 7 };
	struct ibv_srq *srq = create_sized_srq(&self->r, self->xrcd, 100, 1);

	ASSERT_NE(NULL, srq);
	EXPECT_FALSE(self->attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
	EXPECT_EQ(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	attr.max_wr = 200;
	attr.srq_limit = 7;
	EXPECT_EQ(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
	EXPECT_EQ(0, get_srq_limit(srq));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

TEST_F(srq, many_srqs_have_different_numbers)
{
	long room = hca_objects_left("srq");
	struct ibv_srq *srq[64];
	const size_t num = room < ARRAY_SIZE(srq) ? room : ARRAY_SIZE(srq);
	size_t i, j;

	ASSERT_LT(16, num);
	for (i = 0; i < num; i++) {
		srq[i] = create_sized_srq(&self->r, self->xrcd, 15, 1);
		ASSERT_NE(NULL, srq[i]);
		for (j = 0; j < i; j++)
			ASSERT_NE(srq_number(srq[j]), srq_number(srq[i]));
	}
	if (num == room) {
		ASSERT_EQ(0, hca_expect("refuse %s LIM_ERR 1",
					self->xrcd ? "CREATE_XRC_SRQ" : "CREATE_RMP"));
		EXPECT_EQ(NULL, create_sized_srq(&self->r, self->xrcd, 15, 1));
		EXPECT_EQ(ENOMEM, errno);
	}
	for (i = 0; i < num; i++)
		EXPECT_EQ(0, ibv_destroy_srq(srq[i]));
}

/* An SRQ with queue pairs. */
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

TEST_F(of_qp, destroy_in_use_is_busy)
{
	struct ibv_srq *srq = create_srq(self->r.pd, 100, 1);
	struct qp_cfg cfg = { .type = IBV_QPT_RC, .srq = srq };
	struct ibv_qp *qp[2];

	ASSERT_NE(NULL, srq);
	qp[0] = rdma_qp_create(&self->r, self->r.cq, &cfg);
	qp[1] = rdma_qp_create(&self->r, self->r.cq, &cfg);
	ASSERT_NE(NULL, qp[0]);
	ASSERT_NE(NULL, qp[1]);
	EXPECT_EQ(EBUSY, ibv_destroy_srq(srq));
	EXPECT_EQ(0, ibv_destroy_qp(qp[0]));
	EXPECT_EQ(EBUSY, ibv_destroy_srq(srq));
	EXPECT_EQ(0, ibv_destroy_qp(qp[1]));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

/* A queue pair with an SRQ has no receive queue, whatever size was asked for. */
TEST_F(of_qp, query_of_a_qp_returns_its_srq)
{
	struct ibv_srq *srq = create_srq(self->r.pd, 100, 1);
	struct qp_cfg cfg = { .type = IBV_QPT_RC, .srq = srq, .recv_wr = 1000 };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	ASSERT_NE(NULL, srq);
	qp = rdma_qp_create(&self->r, self->r.cq, &cfg);
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

/*
 * Each message takes the next request, whichever queue pair receives it. The test goes around the
 * queue seven times.
 */
TEST_F(shared, queue_pairs_receive_in_turn)
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

/* The completions are polled in another order than the requests were consumed. */
TEST_F(shared, requests_can_complete_in_any_order)
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

/* The lkeys of receive requests belong to the PD of the SRQ, not to that of the queue pair. */
TEST_F(shared, lkeys_are_of_the_srqs_pd)
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

/* The SRQ holds as many requests as query_srq reports, less those that libmlx5 reserves. */
TEST_F(shared, holds_as_many_requests_as_reported)
{
	struct ibv_srq_attr attr;
	struct ibv_wc wc;
	unsigned int n = 0;

	ASSERT_EQ(0, ibv_query_srq(self->srq, &attr));
	while (n <= attr.max_wr &&
	       !post_srq_recv(self->srq, self->mr, self->mem, SLOT, n))
		n++;
	/* libmlx5 reserves a part of the queue for itself. */
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

/* --- The limit of an SRQ ---------------------------------------------------------------------- */

/*
 * One event is raised when fewer requests than the limit are left; then the limit must be set
 * again.
 */
TEST_F(shared, limit_event_is_raised_once)
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
		/* Four requests are left, which is not less than the limit. */
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

TEST_F(shared, limit_already_passed_raises_an_event_at_once)
{
	ASSERT_EQ(0, post_srq_recv(self->srq, self->mr, self->mem, SLOT, 0));
	ASSERT_EQ(0, set_srq_limit(self->srq, 2));
	EXPECT_TRUE(wait_object_event(self->r.ctx, self->srq, IBV_EVENT_SRQ_LIMIT_REACHED, 10000));
	EXPECT_EQ(0, get_srq_limit(self->srq));
}

TEST_F(shared, cleared_limit_raises_no_event)
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

TEST_F(shared, srq_error_raises_an_event)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, hca_do("inject event SRQ_CATAS_ERROR %u", srq_number(self->srq)));
	EXPECT_TRUE(wait_object_event(self->r.ctx, self->srq, IBV_EVENT_SRQ_ERR, 10000));
}

/* Events with the number of a destroyed SRQ, or with an unknown one, are dropped. */
TEST_F(shared, events_of_unknown_srqs_are_dropped)
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

/*
 * An event reports that a queue pair in error takes no more requests from its SRQ. A queue pair
 * with a receive queue of its own raises no such event.
 */
TEST_F(shared, last_wqe_event_is_raised_with_an_srq_only)
{
	struct qp_cfg plain = { .type = variant->type };
	struct ibv_async_event ev;
	struct ibv_wc wc;
	struct pair p;

	ASSERT_EQ(0, rdma_modify_state(self->p[1].qp[1], IBV_QPS_ERR));
	EXPECT_TRUE(wait_object_event(self->r.ctx, self->p[1].qp[1], IBV_EVENT_QP_LAST_WQE_REACHED,
				      10000));
	/* The other queue pairs keep working. */
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

/* A queue pair in error does not flush requests of its SRQ. */
TEST_F(shared, requests_survive_a_qp_in_error)
{
	struct ibv_wc wc;
	int i;

	/* Let the queue pair receive from the SRQ once. */
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

TEST_F(empty, empty_srq_answers_rnr)
{
	struct ibv_wc wc;

	/* The first message finds a request, the second does not. */
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

/* The objects that a CREATE_SRQ request names, and the driver's part of it. */
struct raw {
	struct uv uv;
	uint32_t pd;
	struct uv_cq cq;
	struct uv_srq as;	/* type, and for XRC domain and CQ */
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

/* Refused requests must leave neither pinned pages nor firmware objects. */
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

static int create_and_destroy_sized(struct raw *raw, uint32_t wr, uint32_t sge)
{
	struct uv_srq srq = raw->as;

	srq.max_wr = wr;
	srq.max_sge = sge;
	return create_raw(raw, &raw->drv, sizeof(raw->drv), &srq) ?:
	       uv_destroy_srq(raw->uv.fd, srq.handle);
}

static int create_and_destroy_request(struct raw *raw, const void *drv, size_t len)
{
	struct uv_srq srq = raw->as;

	srq.max_wr = 127;
	srq.max_sge = 1;
	return create_raw(raw, drv, len, &srq) ?: uv_destroy_srq(raw->uv.fd, srq.handle);
}

static int create_and_destroy(struct raw *raw)
{
	return create_and_destroy_request(raw, &raw->drv, sizeof(raw->drv));
}

/* mlx5_ib leaves some checks to firmware. */
static int expect_refusals_of_mlx5_ib(const struct raw *raw, unsigned int n)
{
	return driver_is("bluebell") ? 0 :
	       hca_expect("refuse %s BAD_PARAM_ERR %u", raw->as.type == IB_UVERBS_SRQT_XRC ?
			  "CREATE_XRC_SRQ" : "CREATE_RMP", n);
}

TEST_F(raw_srq, valid_request_succeeds)
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
	/* The handle is no longer valid. */
	EXPECT_GT(0, uv_destroy_srq(self->raw.uv.fd, srq.handle));
	EXPECT_GT(0, uv_query_srq(self->raw.uv.fd, srq.handle, &attr));
}

/*
 * A request may be followed by zeros only, and an answer that the driver does not fill
 * is zeroed.
 */
TEST_F(raw_srq, driver_data_of_modify_is_refused_and_zeroed)
{
	struct ib_uverbs_modify_srq req = { .attr_mask = IBV_SRQ_LIMIT, .srq_limit = 5 };
	uint64_t data[2] = { 0, 1 }, answer[2] = { ~0ull, ~0ull };
	struct uv_srq srq = self->raw.as;
	int fd = self->raw.uv.fd;

	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib does not look at the driver data");
	srq.max_wr = 100;
	ASSERT_EQ(0, create_raw(&self->raw, &self->raw.drv, sizeof(self->raw.drv), &srq));
	req.srq_handle = srq.handle;
	EXPECT_EQ(-EOPNOTSUPP, uv_cmd(fd, IB_USER_VERBS_CMD_MODIFY_SRQ, &req, sizeof(req), NULL, 0,
				      data, sizeof(data), answer, sizeof(answer)));
	data[1] = 0;
	EXPECT_EQ(0, uv_cmd(fd, IB_USER_VERBS_CMD_MODIFY_SRQ, &req, sizeof(req), NULL, 0, data,
			    sizeof(data), answer, sizeof(answer)));
	EXPECT_EQ(0, answer[0]);
	EXPECT_EQ(0, answer[1]);
	EXPECT_EQ(0, uv_destroy_srq(fd, srq.handle));
}

TEST_F(raw_srq, undefined_flags_are_refused)
{
	unsigned int bit;

	if (driver_is("mlx5_ib"))
		SKIP(return, "mlx5_ib ignores undefined flags");
	for (bit = 1; bit < 32; bit++) {
		self->raw.drv.flags = 1u << bit;
		EXPECT_EQ(-EINVAL, create_and_destroy(&self->raw))
			TH_LOG("flag %u", bit);
	}
}

TEST_F(raw_srq, nonzero_reserved_fields_are_invalid)
{
	self->raw.drv.reserved0 = 1;
	EXPECT_EQ(-EINVAL, create_and_destroy(&self->raw));
	self->raw.drv.reserved0 = 0;
	self->raw.drv.reserved1 = 1;
	EXPECT_EQ(-EINVAL, create_and_destroy(&self->raw));
}

TEST_F(raw_srq, truncated_and_nonzero_longer_requests_are_refused)
{
	struct {
		struct mlx5_ib_create_srq drv;
		uint64_t more[2];
	} req = { .drv = self->raw.drv };
	/* With CQE version 1 an XRC SRQ must have a user index. */
	bool has_uidx = variant->type == IB_UVERBS_SRQT_XRC && self->raw.uv.resp.cqe_version;
	int short_one = has_uidx ? -EINVAL : 0;
	size_t len;
	int ret;

	for (len = 0; len <= offsetof(struct mlx5_ib_create_srq, flags); len += 4) {
		ret = create_and_destroy_request(&self->raw, &req, len);
		if (!ret && !driver_is("bluebell"))
			SKIP(return, "mlx5_ib of this kernel takes a truncated request");
		EXPECT_GT(0, ret) TH_LOG("length %zu", len);
	}
	/* Requests that end after the flags, before the user index, and after the user index. */
	for (len = offsetof(struct mlx5_ib_create_srq, reserved0);
	     len <= offsetof(struct mlx5_ib_create_srq, uidx); len += 4)
		EXPECT_EQ(short_one, create_and_destroy_request(&self->raw, &req, len))
			TH_LOG("length %zu", len);
	EXPECT_EQ(0, create_and_destroy_request(&self->raw, &req,
						offsetof(struct mlx5_ib_create_srq, reserved1)));
	EXPECT_EQ(0, create_and_destroy_request(&self->raw, &req, sizeof(req)));
	req.more[1] = 1;
	EXPECT_GT(0, create_and_destroy_request(&self->raw, &req, sizeof(req)));
}

TEST_F(raw_srq, overflowing_sizes_are_invalid)
{
	static const uint32_t wr[] = {
		0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
	};
	static const uint32_t sge[] = {
		32, 64, 0x0fffffff, 0x10000000, 0x7fffffff, 0x80000000, 0xffffffff,
	};
	size_t i;

	ASSERT_EQ(0, expect_refusals_of_mlx5_ib(&self->raw, 1));
	for (i = 0; i < ARRAY_SIZE(wr); i++)
		EXPECT_EQ(-EINVAL, create_and_destroy_sized(&self->raw, wr[i], 1))
			TH_LOG("%#x requests", wr[i]);
	for (i = 0; i < ARRAY_SIZE(sge); i++)
		EXPECT_EQ(-EINVAL, create_and_destroy_sized(&self->raw, 1, sge[i]))
			TH_LOG("%#x entries", sge[i]);
}

/* The memory of the buffer ends, after a page, before the queue does. */
TEST_F(raw_srq, buffer_that_ends_too_early_is_refused)
{
	const uint32_t wr = UV_PAGE / 32 - 1;

	munmap(self->mem.buf + self->mem.len, UV_PAGE);
	self->raw.drv.db_addr = (uintptr_t)self->mem.buf;
	EXPECT_EQ(0, create_and_destroy_sized(&self->raw, wr, 1));
	EXPECT_EQ(-EFAULT, create_and_destroy_sized(&self->raw, wr + 1, 1));
	EXPECT_EQ(-EFAULT, create_and_destroy_sized(&self->raw, wr, 2));
}

TEST_F(raw_srq, unmapped_buffer_is_refused)
{
	static const uint64_t addr[] = {
		0, 0x1000, 0x7ffffffff000ull, 0xffff888000000000ull, 0xfffffffffffff000ull, ~0ull,
	};
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		self->raw.drv.buf_addr = addr[i];
		ret = create_and_destroy(&self->raw);
		EXPECT_TRUE(ret == -EFAULT || ret == -EINVAL || ret == -ENOMEM)
			TH_LOG("address %#llx: %d", (unsigned long long)addr[i], ret);
	}
}

TEST_F(raw_srq, buffer_must_be_aligned_to_a_cache_line)
{
	unsigned int off;

	for (off = 1; off < 64; off += off) {
		self->raw.drv.buf_addr = (uintptr_t)self->mem.buf + off;
		EXPECT_EQ(-EINVAL, create_and_destroy_sized(&self->raw, 15, 1))
			TH_LOG("offset %u", off);
	}
}

/*
 * Whether a context can say that a queue of @len bytes starts at @off of a page of the host, if its
 * offset field has values below @limit, in 64ths of a page of the HCA. The kernel considers pages
 * of the HCA up to the smallest that has the whole queue.
 */
static bool has_offset(unsigned int off, unsigned int len, unsigned int limit)
{
	unsigned long page = UV_HCA_PAGE / 2, unit;

	do {
		page *= 2;
		unit = page / 64;
		if (!(off % unit) && off % page / unit < limit)
			return true;
	} while (off % page + len > page);
	return false;
}

/*
 * A basic SRQ is a receive memory pool, whose offset field has one bit less than that of an XRC
 * SRQ, so its buffer cannot start in the second half of a page of the HCA. Buffers that continue in
 * the next page of the host are not tested: both may be parts of one larger page of the HCA, which
 * has other offsets.
 */
TEST_F(raw_srq, buffer_in_the_second_half_of_a_page)
{
	const unsigned int limit = variant->type == IB_UVERBS_SRQT_XRC ? 64 : 32;
	const unsigned int len = 16 * 32;
	unsigned int off, refused = 0;
	int want;

	for (off = 0; off + len <= UV_PAGE; off += 64) {
		want = has_offset(off, len, limit) ? 0 : -EINVAL;
		refused += !!want;
		self->raw.drv.buf_addr = (uintptr_t)self->mem.buf + off;
		EXPECT_EQ(want, create_and_destroy_sized(&self->raw, 15, 1))
			TH_LOG("offset %u", off);
	}
	EXPECT_EQ(variant->type == IB_UVERBS_SRQT_BASIC, refused > 0);
}

TEST_F(raw_srq, unmapped_or_misaligned_record_is_refused)
{
	static const uint64_t addr[] = {
		0, 0x1000, 0x7ffffffff000ull, 0xffff888000000000ull, 0xfffffffffffff000ull,
	};
	unsigned int off;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		self->raw.drv.db_addr = addr[i];
		ret = create_and_destroy(&self->raw);
		EXPECT_TRUE(ret == -EFAULT || ret == -EINVAL || ret == -ENOMEM)
			TH_LOG("address %#llx: %d", (unsigned long long)addr[i], ret);
	}
	ASSERT_EQ(0, expect_refusals_of_mlx5_ib(&self->raw, 3));
	for (off = 1; off < 4; off++) {
		self->raw.drv.db_addr = (uintptr_t)self->mem.dbr + off;
		EXPECT_EQ(-EINVAL, create_and_destroy(&self->raw))
			TH_LOG("offset %u", off);
	}
}

TEST_F(raw_srq, unknown_handles_are_refused)
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
		/* Handles of a PD and of a CQ in place of the domain's. */
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
	/* The handle of a PD in place of an SRQ's. */
	EXPECT_GT(0, uv_destroy_srq(self->raw.uv.fd, self->raw.pd));
}

/* libmlx5 finds an XRC SRQ by the user index in its completions; a basic SRQ has none. */
TEST_F(raw_srq, user_index_is_24_bits)
{
	int want = variant->type == IB_UVERBS_SRQT_XRC ? -EINVAL : 0;

	/* With CQE version 0 no user index is possible. */
	self->raw.drv.uidx = 0xfffffe;
	EXPECT_EQ(self->raw.uv.resp.cqe_version ? 0 : want, create_and_destroy(&self->raw));
	self->raw.drv.uidx = 0x1000000;
	EXPECT_EQ(want, create_and_destroy(&self->raw));
	self->raw.drv.uidx = ~0u;
	EXPECT_EQ(want, create_and_destroy(&self->raw));
}

static int create_and_destroy_type(struct raw *raw, uint32_t type)
{
	struct uv_srq srq = raw->as;

	srq.type = type;
	srq.max_wr = 15;
	srq.max_sge = 1;
	return uv_create_xsrq(raw->uv.fd, raw->pd, &raw->drv, sizeof(raw->drv), &srq) ?:
	       uv_destroy_srq(raw->uv.fd, srq.handle);
}

TEST_F(raw_srq, unknown_types_are_refused)
{
	bool tm = hca_ctl_present() && hca_cap("general", "tag_matching") > 0;
	int ret;

	EXPECT_EQ(0, create_and_destroy_type(&self->raw, IB_UVERBS_SRQT_BASIC));
	/* mlx5_ib asks firmware for tag matching that the device does not offer. */
	if (driver_is("mlx5_ib") && !tm)
		ASSERT_EQ(0, hca_expect("refuse CREATE_XRQ any any"));
	ret = create_and_destroy_type(&self->raw, IB_UVERBS_SRQT_TM);
	EXPECT_EQ(tm, !ret) TH_LOG("%d", ret);
	if (driver_is("bluebell") && !tm)
		EXPECT_EQ(-EOPNOTSUPP, ret);
	EXPECT_GT(0, create_and_destroy_type(&self->raw, IB_UVERBS_SRQT_TM + 1));
	EXPECT_GT(0, create_and_destroy_type(&self->raw, ~0u));
}

TEST_HARNESS_MAIN
