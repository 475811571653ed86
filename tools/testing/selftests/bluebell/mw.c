// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows of type 1 and 2: what a bound window reaches and what it does not, who may bind
 * and invalidate it, and the order in which windows and regions go.
 */
#include "test.h"

#define LEN	8192ul
#define AT	1000ul			/* of the window in the region */
#define SPAN	3000ul

FIXTURE(mw) {
	struct rdma r;
	struct pair p;
	uint8_t *mem;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	bool more_uars;		/* the library keeps a UAR for more queue pairs */
};

FIXTURE_VARIANT(mw) {
	enum ibv_mw_type type;
};

FIXTURE_VARIANT_ADD(mw, type_1) { .type = IBV_MW_TYPE_1 };

FIXTURE_VARIANT_ADD(mw, type_2) { .type = IBV_MW_TYPE_2 };

FIXTURE_SETUP(mw)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };

	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, 8192));
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	self->mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	self->mr = ibv_reg_mr(self->r.pd, self->mem, LEN,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	ASSERT_NE(NULL, self->mr);
	self->mw = ibv_alloc_mw(self->r.pd, variant->type);
	ASSERT_NE(NULL, self->mw) TH_LOG("errno %d", errno);
}

FIXTURE_TEARDOWN(mw)
{
	if (self->mw)
		EXPECT_EQ(0, ibv_dealloc_mw(self->mw));
	if (self->mr)
		EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	munmap(self->mem, LEN);
	pair_reconnect(&self->p);
	if (hca_ctl_present() && !self->more_uars)
		EXPECT_CENSUS_UNCHANGED();
	pair_close(&self->p);
	rdma_close(&self->r);
}

/* Bind on the target's queue pair. The completion's status; the new key is in the window then. */
static int bind_info(struct pair *p, struct ibv_mw *mw, const struct ibv_mw_bind_info *info)
{
	struct ibv_wc wc;
	int status;

	if (mw->type == IBV_MW_TYPE_1) {
		struct ibv_mw_bind req = { .send_flags = IBV_SEND_SIGNALED, .bind_info = *info };
		uint32_t old = mw->rkey;

		if (ibv_bind_mw(p->qp[1], mw, &req))
			return -1;
		status = reap(p->cq[1], &wc);
		if (status)
			mw->rkey = old;
	} else {
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
			.bind_mw = { .mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = *info },
		}, *bad;

		if (ibv_post_send(p->qp[1], &wr, &bad))
			return -1;
		status = reap(p->cq[1], &wc);
		if (!status)
			mw->rkey = wr.bind_mw.rkey;
	}
	if (status)
		pair_reconnect(p);
	return status;
}

static int bind(struct pair *p, struct ibv_mw *mw, struct ibv_mr *mr, void *addr, size_t len,
		int access)
{
	struct ibv_mw_bind_info info = {
		.mr = mr, .addr = (uintptr_t)addr, .length = len, .mw_access_flags = access,
	};

	return bind_info(p, mw, &info);
}

static int invalidate(struct pair *p, int side, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	}, *bad;
	struct ibv_wc wc;
	int status;

	if (ibv_post_send(p->qp[side], &wr, &bad))
		return -1;
	status = reap(p->cq[side], &wc);
	if (status)
		pair_reconnect(p);
	return status;
}

/* Type 1 is unbound by a bind of nothing. */
static int unbind(struct pair *p, struct ibv_mw *mw)
{
	return mw->type == IBV_MW_TYPE_1 ? bind(p, mw, NULL, NULL, 0, 0) :
					   invalidate(p, 1, mw->rkey);
}

static int access_window(struct pair *p, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t va,
			 size_t len)
{
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return atomic_access(p, opcode, rkey, va, 1, 0);
	return rdma_access(p, opcode, rkey, va, len);
}

static int read_at(struct pair *p, uint32_t rkey, const void *at, size_t len)
{
	return access_window(p, IBV_WR_RDMA_READ, rkey, (uintptr_t)at, len);
}

static int write_at(struct pair *p, uint32_t rkey, const void *at, size_t len)
{
	return access_window(p, IBV_WR_RDMA_WRITE, rkey, (uintptr_t)at, len);
}

/* libmlx5 asks each time for the right to atomic operations to be set or taken. */
static bool can_bind(void)
{
	return hca_cap("general", "umr_modify_atomic_disabled") <= 0;
}

#define NO_BIND "libmlx5 binds in a way that the device does not take: umr_modify_atomic_disabled"
#define DENIED	IBV_WC_REM_ACCESS_ERR
#define RW	(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

TEST_F(mw, unbound_it_reaches_nothing)
{
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem, 1));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, NULL, 1));
}

TEST_F(mw, bound_it_reaches_its_span_and_no_more)
{
	uint8_t *start = self->mem + AT;

	if (!can_bind())
		SKIP(return, NO_BIND);
	fill(start, SPAN, 5);
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, start, SPAN, RW));
	EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, start, SPAN));
	EXPECT_TRUE(check_fill(self->p.buf[0], SPAN, 5));
	fill(self->p.buf[0], 8, 6);
	EXPECT_EQ(0, write_at(&self->p, self->mw->rkey, start + SPAN - 8, 8));
	EXPECT_TRUE(check_fill(start + SPAN - 8, 8, 6));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, start - 1, 1));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, start + SPAN, 1));
	EXPECT_EQ(DENIED, write_at(&self->p, self->mw->rkey, start + SPAN - 4, 8));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem, LEN));
	/* The region itself was not opened. */
	EXPECT_EQ(DENIED, read_at(&self->p, self->mr->rkey, start, 1));
}

TEST_F(mw, access_is_what_the_bind_says)
{
	static const int flags[] = { 0, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE,
				     IBV_ACCESS_REMOTE_ATOMIC,
				     RW | IBV_ACCESS_REMOTE_ATOMIC };
	int status;
	size_t i;

	if (!can_bind())
		SKIP(return, NO_BIND);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, LEN, flags[i]));
		EXPECT_EQ(flags[i] & IBV_ACCESS_REMOTE_READ ? 0 : DENIED,
			  read_at(&self->p, self->mw->rkey, self->mem, 8)) TH_LOG("%#x", flags[i]);
		EXPECT_EQ(flags[i] & IBV_ACCESS_REMOTE_WRITE ? 0 : DENIED,
			  write_at(&self->p, self->mw->rkey, self->mem, 8)) TH_LOG("%#x", flags[i]);
		status = access_window(&self->p, IBV_WR_ATOMIC_FETCH_AND_ADD, self->mw->rkey,
				       (uintptr_t)self->mem, 8);
		if (rdma_has_atomics(self->r.ctx))
			EXPECT_EQ(flags[i] & IBV_ACCESS_REMOTE_ATOMIC ? 0 : DENIED, status)
				TH_LOG("%#x", flags[i]);
		if (!rdma_has_atomics(self->r.ctx))
			EXPECT_NE(0, status) TH_LOG("%#x", flags[i]);
		if (variant->type == IBV_MW_TYPE_2)
			ASSERT_EQ(0, unbind(&self->p, self->mw));
	}
}

/* A window gives no right that the region's owner has not. */
TEST_F(mw, writing_needs_local_write_of_the_region)
{
	struct ibv_mr *ro = ibv_reg_mr(self->r.pd, self->mem, LEN, IBV_ACCESS_MW_BIND);
	int status;

	ASSERT_NE(NULL, ro);
	status = bind(&self->p, self->mw, ro, self->mem, LEN, RW);
	if (!status) {
		EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem, 8));
		EXPECT_EQ(DENIED, write_at(&self->p, self->mw->rkey, self->mem, 8));
		EXPECT_EQ(0, unbind(&self->p, self->mw));
	} else {
		EXPECT_EQ(IBV_WC_MW_BIND_ERR, status);
	}
	EXPECT_EQ(0, ibv_dereg_mr(ro));
}

TEST_F(mw, keys_before_a_bind_are_dead_after_it)
{
	uint32_t old;

	if (!can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	old = self->mw->rkey;
	EXPECT_EQ(0, read_at(&self->p, old, self->mem, 1));
	if (variant->type == IBV_MW_TYPE_2)
		ASSERT_EQ(0, unbind(&self->p, self->mw));
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem + AT, SPAN, RW));
	EXPECT_NE(old, self->mw->rkey);
	EXPECT_EQ(DENIED, read_at(&self->p, old, self->mem + AT, 1));
	EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem + AT, 1));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem, 1));
}

TEST_F(mw, unbound_again_it_reaches_nothing)
{
	uint32_t rkey;

	if (!can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	rkey = self->mw->rkey;
	EXPECT_EQ(0, read_at(&self->p, rkey, self->mem, 1));
	ASSERT_EQ(0, unbind(&self->p, self->mw));
	EXPECT_EQ(DENIED, read_at(&self->p, rkey, self->mem, 1));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem, 1));
	/* And can be bound once more. */
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem, 1));
}

TEST_F(mw, freed_while_bound_it_is_gone)
{
	uint32_t rkey;

	if (!can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	rkey = self->mw->rkey;
	ASSERT_EQ(0, ibv_dealloc_mw(self->mw));
	self->mw = NULL;
	EXPECT_EQ(DENIED, read_at(&self->p, rkey, self->mem, 1));
}

/*
 * Bluebell keeps the region, as ibv_alloc_mw(3) says; mlx5_ib lets it go. Either way no window opens
 * its memory afterwards.
 */
TEST_F(mw, does_not_outlive_the_region)
{
	int ret;

	if (!can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	ret = ibv_dereg_mr(self->mr);
	if (driver_is("bluebell"))
		EXPECT_EQ(EBUSY, ret);
	if (!ret) {
		self->mr = NULL;
		EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem, 1));
	} else {
		EXPECT_EQ(EBUSY, ret);
		EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem, 1));
		ASSERT_EQ(0, unbind(&self->p, self->mw));
	}
}

/* Where other memory takes its place: an old key that stays would be a leak to the peers that know it. */
TEST_F(mw, region_is_not_replaced_under_it)
{
	uint8_t *other = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t old = self->mr->rkey;

	ASSERT_NE(MAP_FAILED, other);
	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib replaces it");
	if (!can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	EXPECT_NE(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, LEN, 0));
	EXPECT_EQ(EBUSY, errno);
	EXPECT_EQ(old, self->mr->rkey);
	EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem, 1));
	ASSERT_EQ(0, unbind(&self->p, self->mw));
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, LEN, 0));
	EXPECT_EQ(DENIED, read_at(&self->p, old, self->mem, 1));
}

TEST_F(mw, regions_of_another_pd_are_not_opened)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->r.ctx);
	struct ibv_mr *mr;
	int status;

	ASSERT_NE(NULL, pd);
	mr = ibv_reg_mr(pd, self->mem, LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	ASSERT_NE(NULL, mr);
	/* The library looks at the PD for type 2; the device may only see it when it is used. */
	status = bind(&self->p, self->mw, mr, self->mem, LEN, RW);
	if (!status) {
		EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem, 1));
		EXPECT_EQ(0, unbind(&self->p, self->mw));
	}
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

TEST_F(mw, windows_of_another_pd_are_not_bound)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->r.ctx);
	struct ibv_mw *mw, lie;

	ASSERT_NE(NULL, pd);
	mw = ibv_alloc_mw(pd, variant->type);
	ASSERT_NE(NULL, mw);
	/* The library would see it first. */
	lie = *mw;
	lie.pd = self->r.pd;
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, bind(&self->p, &lie, self->mr, self->mem, LEN, RW));
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

TEST_F(mw, beyond_the_region_is_not_opened)
{
	int status = bind(&self->p, self->mw, self->mr, self->mem + LEN - 8, 16, RW);

	if (status) {
		EXPECT_EQ(IBV_WC_MW_BIND_ERR, status);
		return;
	}
	EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem + LEN - 8, 8));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem + LEN - 8, 9));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem + LEN, 1));
}

/* A key of an ordinary region is no window: nobody binds it, nobody invalidates it. */
TEST_F(mw, regions_are_no_windows)
{
	struct ibv_mr *mr = ibv_reg_mr(self->r.pd, self->mem, LEN, ALL_ACCESS);
	struct ibv_mw fake = { .context = self->r.ctx, .pd = self->r.pd, .type = variant->type };

	ASSERT_NE(NULL, mr);
	fake.rkey = mr->rkey;
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, bind(&self->p, &fake, self->mr, self->mem, 8, RW));
	EXPECT_EQ(0, read_at(&self->p, mr->rkey, self->mem + 8, 8));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(mw, two_windows_on_one_region)
{
	struct ibv_mw *other = ibv_alloc_mw(self->r.pd, variant->type);

	ASSERT_NE(NULL, other);
	if (!can_bind())
		SKIP(ibv_dealloc_mw(other); return, NO_BIND);
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, 4096, RW));
	ASSERT_EQ(0, bind(&self->p, other, self->mr, self->mem + 4096, 4096,
			  IBV_ACCESS_REMOTE_READ));
	EXPECT_EQ(0, write_at(&self->p, self->mw->rkey, self->mem, 8));
	EXPECT_EQ(DENIED, write_at(&self->p, other->rkey, self->mem + 4096, 8));
	EXPECT_EQ(0, read_at(&self->p, other->rkey, self->mem + 4096, 8));
	EXPECT_EQ(DENIED, read_at(&self->p, other->rkey, self->mem, 8));
	EXPECT_EQ(0, ibv_dealloc_mw(other));
	EXPECT_EQ(0, write_at(&self->p, self->mw->rkey, self->mem, 8));
}

/* --- What only type 2 has ---------------------------------------------------------------------- */

TEST_F(mw, type_2_belongs_to_the_queue_pair_that_bound_it)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct pair other;

	if (variant->type != IBV_MW_TYPE_2)
		return;
	if (!can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	self->more_uars = true;
	ASSERT_EQ(0, pair_open(&other, &self->r, &cfg, 4096));
	EXPECT_EQ(DENIED, read_at(&other, self->mw->rkey, self->mem, 1));
	/* Nor does another queue pair invalidate it. */
	EXPECT_NE(0, invalidate(&other, 1, self->mw->rkey));
	EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem, 1));
	pair_close(&other);
}

TEST_F(mw, type_2_is_not_bound_twice)
{
	if (variant->type != IBV_MW_TYPE_2)
		return;
	if (!can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, bind(&self->p, self->mw, self->mr, self->mem, 8, RW));
}

TEST_F(mw, type_2_is_not_invalidated_twice)
{
	uint32_t rkey;

	if (variant->type != IBV_MW_TYPE_2)
		return;
	if (!can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	rkey = self->mw->rkey;
	EXPECT_NE(0, invalidate(&self->p, 1, rkey + 1));
	ASSERT_EQ(0, invalidate(&self->p, 1, rkey));
	EXPECT_NE(0, invalidate(&self->p, 1, rkey));
}

static int send_with_inv(struct pair *p, uint32_t rkey, struct ibv_wc *wc)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = rkey };
	struct ibv_wc mine;

	if (post_recv(p->qp[1], p->mr, p->buf[1], 64, 1) || post_send(p, &wr, p->buf[0], 64))
		return -1;
	if (reap(p->cq[0], &mine))
		return mine.status;
	return reap(p->cq[1], wc);
}

TEST_F(mw, type_2_is_invalidated_by_the_peer)
{
	struct ibv_wc wc;
	uint32_t rkey;

	if (variant->type != IBV_MW_TYPE_2)
		return;
	if (!can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	rkey = self->mw->rkey;
	EXPECT_EQ(0, read_at(&self->p, rkey, self->mem, 1));
	ASSERT_EQ(0, send_with_inv(&self->p, rkey, &wc));
	EXPECT_TRUE(wc.wc_flags & IBV_WC_WITH_INV);
	EXPECT_EQ(rkey, wc.invalidated_rkey);
	EXPECT_EQ(DENIED, read_at(&self->p, rkey, self->mem, 1));
	ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem, 1));
}

/* Windows of type 1 and regions are not the peer's to close. */
TEST_F(mw, peers_close_nothing_else)
{
	struct ibv_mr *mr = ibv_reg_mr(self->r.pd, self->mem, LEN, ALL_ACCESS);
	struct ibv_wc wc;

	ASSERT_NE(NULL, mr);
	EXPECT_NE(0, send_with_inv(&self->p, mr->rkey, &wc));
	pair_reconnect(&self->p);
	EXPECT_EQ(0, read_at(&self->p, mr->rkey, self->mem, 8));
	if (variant->type == IBV_MW_TYPE_1 && can_bind()) {
		ASSERT_EQ(0, bind(&self->p, self->mw, self->mr, self->mem, LEN, RW));
		EXPECT_NE(0, send_with_inv(&self->p, self->mw->rkey, &wc));
		pair_reconnect(&self->p);
		EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem, 1));
	}
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* --- The device and the handle ----------------------------------------------------------------- */

TEST_F(mw, device_says_what_it_has)
{
	struct ibv_device_attr attr;

	ASSERT_EQ(0, ibv_query_device(self->r.ctx, &attr));
	EXPECT_LT(0, attr.max_mw);
	EXPECT_TRUE(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
	EXPECT_TRUE(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	EXPECT_FALSE(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A);
}

TEST_F(mw, other_types_are_refused)
{
	static const uint8_t bad[] = { 0, 3, 255 };
	struct ib_uverbs_alloc_mw req = { .pd_handle = self->r.pd->handle };
	struct ib_uverbs_alloc_mw_resp resp;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		req.mw_type = bad[i];
		EXPECT_EQ(-EINVAL, uv_cmd(self->r.ctx->cmd_fd, IB_USER_VERBS_CMD_ALLOC_MW, &req,
					  sizeof(req), &resp, sizeof(resp), NULL, 0, NULL, 0));
	}
	req.mw_type = variant->type;
	req.pd_handle += 100;
	EXPECT_GT(0, uv_cmd(self->r.ctx->cmd_fd, IB_USER_VERBS_CMD_ALLOC_MW, &req, sizeof(req),
			    &resp, sizeof(resp), NULL, 0, NULL, 0));
}

/* The driver's part of the request: room for translations, and nothing that is not known. */
TEST_F(mw, driver_data_is_looked_at)
{
	struct ib_uverbs_alloc_mw req = {
		.pd_handle = self->r.pd->handle, .mw_type = variant->type,
	};
	const struct { struct mlx5_ib_alloc_mw drv; int want; } cases[] = {
		{ { .num_klms = 4 }, 0 },
		{ { .num_klms = 0 }, 0 },
		{ { .comp_mask = 1 }, -EOPNOTSUPP },
		{ { .reserved1 = 1 }, -EOPNOTSUPP },
		{ { .reserved2 = 1 }, -EOPNOTSUPP },
	};
	struct ib_uverbs_alloc_mw_resp resp;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ret = uv_cmd(self->r.ctx->cmd_fd, IB_USER_VERBS_CMD_ALLOC_MW, &req, sizeof(req),
			     &resp, sizeof(resp), &cases[i].drv, sizeof(cases[i].drv), NULL, 0);
		EXPECT_EQ(cases[i].want, ret) TH_LOG("case %zu", i);
		if (!ret) {
			struct ib_uverbs_dealloc_mw free = { .mw_handle = resp.mw_handle };

			EXPECT_EQ(0, uv_cmd(self->r.ctx->cmd_fd, IB_USER_VERBS_CMD_DEALLOC_MW,
					    &free, sizeof(free), NULL, 0, NULL, 0, NULL, 0));
		}
	}
}

TEST_F(mw, a_domain_with_a_window_stays)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->r.ctx);
	struct ibv_mw *mw;

	ASSERT_NE(NULL, pd);
	mw = ibv_alloc_mw(pd, variant->type);
	ASSERT_NE(NULL, mw);
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(pd));
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

TEST_HARNESS_MAIN
