// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows of type 1 and 2: which bytes a bound window reaches, who can bind and invalidate
 * it, and what happens when a region or a window is freed while the window is bound.
 */
#include <errno.h>

#include "test.h"

#define LEN	8192ul
#define AT	1000ul			/* offset of the window in the region */
#define SPAN	3000ul

FIXTURE(mw) {
	struct rdma r;
	struct pair p;
	uint8_t *mem;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	bool more_uars;		/* libmlx5 has created another UAR, which it keeps */
};

FIXTURE_VARIANT(mw) {
	enum ibv_mw_type type;
};

FIXTURE_VARIANT_ADD(mw, type_1) { .type = IBV_MW_TYPE_1 };

FIXTURE_VARIANT_ADD(mw, type_2) { .type = IBV_MW_TYPE_2 };

FIXTURE_SETUP(mw)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct ibv_device_attr attr;

	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, ibv_query_device(self->r.ctx, &attr));
	if (!attr.max_mw)
		SKIP(rdma_close(&self->r); return, "the device has no windows");
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

/*
 * Bind the window by a request on the second queue pair. Returns the completion's status; if that
 * is 0, the window has its new key.
 */
static int bind_window(struct pair *p, struct ibv_mw *mw, const struct ibv_mw_bind_info *info)
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

static int bind_range(struct pair *p, struct ibv_mw *mw, struct ibv_mr *mr, void *addr, size_t len,
		      int access)
{
	struct ibv_mw_bind_info info = {
		.mr = mr, .addr = (uintptr_t)addr, .length = len, .mw_access_flags = access,
	};

	return bind_window(p, mw, &info);
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

/* A window of type 1 is unbound by a bind of length 0, one of type 2 by an invalidate. */
static int unbind(struct pair *p, struct ibv_mw *mw)
{
	return mw->type == IBV_MW_TYPE_1 ? bind_range(p, mw, NULL, NULL, 0, 0) :
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

/*
 * In each bind libmlx5 asks UMR to set or clear the right to atomics, which not all devices can
 * change.
 */
static bool libmlx5_can_bind(void)
{
	return hca_cap("general", "umr_modify_atomic_disabled") <= 0;
}

#define NO_BIND "the device refuses libmlx5's bind requests (umr_modify_atomic_disabled)"
#define DENIED	IBV_WC_REM_ACCESS_ERR
#define RW	(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

TEST_F(mw, unbound_window_reaches_nothing)
{
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem, 1));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, NULL, 1));
}

TEST_F(mw, bound_window_reaches_exactly_its_bytes)
{
	uint8_t *start = self->mem + AT;

	if (!libmlx5_can_bind())
		SKIP(return, NO_BIND);
	fill(start, SPAN, 5);
	ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, start, SPAN, RW));
	EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, start, SPAN));
	EXPECT_TRUE(check_fill(self->p.buf[0], SPAN, 5));
	fill(self->p.buf[0], 8, 6);
	EXPECT_EQ(0, write_at(&self->p, self->mw->rkey, start + SPAN - 8, 8));
	EXPECT_TRUE(check_fill(start + SPAN - 8, 8, 6));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, start - 1, 1));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, start + SPAN, 1));
	EXPECT_EQ(DENIED, write_at(&self->p, self->mw->rkey, start + SPAN - 4, 8));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem, LEN));
	/* The region itself has no remote rights. */
	EXPECT_EQ(DENIED, read_at(&self->p, self->mr->rkey, start, 1));
}

TEST_F(mw, only_bound_rights_are_granted)
{
	static const int flags[] = { 0, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE,
				     IBV_ACCESS_REMOTE_ATOMIC,
				     RW | IBV_ACCESS_REMOTE_ATOMIC };
	int status;
	size_t i;

	if (!libmlx5_can_bind())
		SKIP(return, NO_BIND);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem, LEN, flags[i]));
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

/* A window cannot allow remote writes to a region that has no local write access. */
TEST_F(mw, remote_write_needs_local_write_of_the_region)
{
	struct ibv_mr *ro = ibv_reg_mr(self->r.pd, self->mem, LEN, IBV_ACCESS_MW_BIND);
	int status;

	ASSERT_NE(NULL, ro);
	status = bind_range(&self->p, self->mw, ro, self->mem, LEN, RW);
	if (!status) {
		EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem, 8));
		EXPECT_EQ(DENIED, write_at(&self->p, self->mw->rkey, self->mem, 8));
		EXPECT_EQ(0, unbind(&self->p, self->mw));
	} else {
		EXPECT_EQ(IBV_WC_MW_BIND_ERR, status);
	}
	EXPECT_EQ(0, ibv_dereg_mr(ro));
}

TEST_F(mw, bind_makes_earlier_keys_invalid)
{
	uint32_t old;

	if (!libmlx5_can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	old = self->mw->rkey;
	EXPECT_EQ(0, read_at(&self->p, old, self->mem, 1));
	if (variant->type == IBV_MW_TYPE_2)
		ASSERT_EQ(0, unbind(&self->p, self->mw));
	ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem + AT, SPAN, RW));
	EXPECT_NE(old, self->mw->rkey);
	EXPECT_EQ(DENIED, read_at(&self->p, old, self->mem + AT, 1));
	EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem + AT, 1));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem, 1));
}

TEST_F(mw, window_reaches_nothing_after_unbinding)
{
	uint32_t rkey;

	if (!libmlx5_can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	rkey = self->mw->rkey;
	EXPECT_EQ(0, read_at(&self->p, rkey, self->mem, 1));
	ASSERT_EQ(0, unbind(&self->p, self->mw));
	EXPECT_EQ(DENIED, read_at(&self->p, rkey, self->mem, 1));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem, 1));
	/* The window can be bound again. */
	ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem, 1));
}

TEST_F(mw, dealloc_closes_a_bound_window)
{
	uint32_t rkey;

	if (!libmlx5_can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	rkey = self->mw->rkey;
	ASSERT_EQ(0, ibv_dealloc_mw(self->mw));
	self->mw = NULL;
	EXPECT_EQ(DENIED, read_at(&self->p, rkey, self->mem, 1));
}

/*
 * Bluebell refuses to deregister the region, as ibv_alloc_mw(3) documents; mlx5_ib deregisters it.
 * Then the window must not reach the memory any more.
 */
static void expect_dereg_fails_or_closes_the_window(struct __test_metadata *_metadata,
						    struct _test_data_mw *self, struct ibv_mr *mr)
{
	bool fails = driver_is("bluebell");	/* Bluebell asks the device */

	if (fails)
		ASSERT_EQ(0, hca_expect("refuse DESTROY_MKEY BAD_RES_STATE_ERR 1"));
	ASSERT_EQ(fails ? EBUSY : 0, ibv_dereg_mr(mr));
	EXPECT_EQ(fails ? 0 : DENIED, read_at(&self->p, self->mw->rkey, self->mem, 1));
}

TEST_F(mw, dereg_of_a_bound_region_fails_or_closes_the_window)
{
	if (!libmlx5_can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	expect_dereg_fails_or_closes_the_window(_metadata, self, self->mr);
	if (!driver_is("bluebell"))
		self->mr = NULL;
	else
		ASSERT_EQ(0, unbind(&self->p, self->mw));
}

/*
 * Windows can be bound to a region after it was re-registered with this right. A window then holds
 * the region, too.
 */
TEST_F(mw, dereg_of_a_region_that_became_bindable_fails_or_closes_the_window)
{
	const int access = IBV_ACCESS_LOCAL_WRITE;
	struct ibv_mr *mr;

	if (!libmlx5_can_bind())
		SKIP(return, NO_BIND);
	mr = ibv_reg_mr(self->r.pd, self->mem, LEN, access);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  access | IBV_ACCESS_MW_BIND));
	ASSERT_EQ(0, bind_range(&self->p, self->mw, mr, self->mem, LEN, RW));
	expect_dereg_fails_or_closes_the_window(_metadata, self, mr);
	if (driver_is("bluebell")) {
		ASSERT_EQ(0, unbind(&self->p, self->mw));
		EXPECT_EQ(0, ibv_dereg_mr(mr));
	}
}

TEST_F(mw, bind_to_a_region_of_another_pd_reaches_nothing)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->r.ctx);
	struct ibv_mr *mr;
	int status;

	ASSERT_NE(NULL, pd);
	mr = ibv_reg_mr(pd, self->mem, LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	ASSERT_NE(NULL, mr);
	/*
	 * libmlx5 checks the PD for type 2 only; the device may refuse the bind, or the first
	 * access.
	 */
	status = bind_range(&self->p, self->mw, mr, self->mem, LEN, RW);
	if (!status) {
		EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem, 1));
		EXPECT_EQ(0, unbind(&self->p, self->mw));
	}
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

TEST_F(mw, bind_of_a_window_of_another_pd_fails)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->r.ctx);
	struct ibv_mw *mw, forged;

	ASSERT_NE(NULL, pd);
	mw = ibv_alloc_mw(pd, variant->type);
	ASSERT_NE(NULL, mw);
	/* Forge the PD, because libmlx5 would refuse the request. */
	forged = *mw;
	forged.pd = self->r.pd;
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, bind_range(&self->p, &forged, self->mr, self->mem, LEN, RW));
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

TEST_F(mw, bind_beyond_the_region_reaches_nothing_there)
{
	int status = bind_range(&self->p, self->mw, self->mr, self->mem + LEN - 8, 16, RW);

	if (status) {
		EXPECT_EQ(IBV_WC_MW_BIND_ERR, status);
		return;
	}
	EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem + LEN - 8, 8));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem + LEN - 8, 9));
	EXPECT_EQ(DENIED, read_at(&self->p, self->mw->rkey, self->mem + LEN, 1));
}

/* A bind request that names the key of an ordinary region fails, and the region keeps working. */
TEST_F(mw, key_of_a_region_cannot_be_bound)
{
	struct ibv_mr *mr = ibv_reg_mr(self->r.pd, self->mem, LEN, ALL_ACCESS);
	struct ibv_mw fake = { .context = self->r.ctx, .pd = self->r.pd, .type = variant->type };

	ASSERT_NE(NULL, mr);
	fake.rkey = mr->rkey;
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, bind_range(&self->p, &fake, self->mr, self->mem, 8, RW));
	EXPECT_EQ(0, read_at(&self->p, mr->rkey, self->mem + 8, 8));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(mw, two_windows_on_one_region_are_independent)
{
	struct ibv_mw *other = ibv_alloc_mw(self->r.pd, variant->type);

	ASSERT_NE(NULL, other);
	if (!libmlx5_can_bind())
		SKIP(ibv_dealloc_mw(other); return, NO_BIND);
	ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem, 4096, RW));
	ASSERT_EQ(0, bind_range(&self->p, other, self->mr, self->mem + 4096, 4096,
				IBV_ACCESS_REMOTE_READ));
	EXPECT_EQ(0, write_at(&self->p, self->mw->rkey, self->mem, 8));
	EXPECT_EQ(DENIED, write_at(&self->p, other->rkey, self->mem + 4096, 8));
	EXPECT_EQ(0, read_at(&self->p, other->rkey, self->mem + 4096, 8));
	EXPECT_EQ(DENIED, read_at(&self->p, other->rkey, self->mem, 8));
	EXPECT_EQ(0, ibv_dealloc_mw(other));
	EXPECT_EQ(0, write_at(&self->p, self->mw->rkey, self->mem, 8));
}

/* --- Windows of type 2 ---------------------------------------------------------------------- */

TEST_F(mw, type_2_is_usable_by_the_binding_qp_only)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct pair other;

	if (variant->type != IBV_MW_TYPE_2)
		return;
	if (!libmlx5_can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	self->more_uars = true;
	ASSERT_EQ(0, pair_open(&other, &self->r, &cfg, 4096));
	EXPECT_EQ(DENIED, read_at(&other, self->mw->rkey, self->mem, 1));
	/* Another queue pair cannot invalidate the window either. */
	EXPECT_NE(0, invalidate(&other, 1, self->mw->rkey));
	EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem, 1));
	pair_close(&other);
}

TEST_F(mw, type_2_second_bind_fails)
{
	if (variant->type != IBV_MW_TYPE_2)
		return;
	if (!libmlx5_can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, bind_range(&self->p, self->mw, self->mr, self->mem, 8, RW));
}

TEST_F(mw, type_2_second_invalidate_fails)
{
	uint32_t rkey;

	if (variant->type != IBV_MW_TYPE_2)
		return;
	if (!libmlx5_can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem, LEN, RW));
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

TEST_F(mw, type_2_send_with_invalidate_closes_it)
{
	struct ibv_wc wc;
	uint32_t rkey;

	if (variant->type != IBV_MW_TYPE_2)
		return;
	if (!libmlx5_can_bind())
		SKIP(return, NO_BIND);
	ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	rkey = self->mw->rkey;
	EXPECT_EQ(0, read_at(&self->p, rkey, self->mem, 1));
	ASSERT_EQ(0, send_with_inv(&self->p, rkey, &wc));
	EXPECT_TRUE(wc.wc_flags & IBV_WC_WITH_INV);
	EXPECT_EQ(rkey, wc.invalidated_rkey);
	EXPECT_EQ(DENIED, read_at(&self->p, rkey, self->mem, 1));
	ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem, LEN, RW));
	EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem, 1));
}

/* A peer can invalidate neither regions nor windows of type 1. */
TEST_F(mw, send_with_invalidate_closes_nothing_else)
{
	struct ibv_mr *mr = ibv_reg_mr(self->r.pd, self->mem, LEN, ALL_ACCESS);
	struct ibv_wc wc;

	ASSERT_NE(NULL, mr);
	EXPECT_NE(0, send_with_inv(&self->p, mr->rkey, &wc));
	pair_reconnect(&self->p);
	EXPECT_EQ(0, read_at(&self->p, mr->rkey, self->mem, 8));
	if (variant->type == IBV_MW_TYPE_1 && libmlx5_can_bind()) {
		ASSERT_EQ(0, bind_range(&self->p, self->mw, self->mr, self->mem, LEN, RW));
		EXPECT_NE(0, send_with_inv(&self->p, self->mw->rkey, &wc));
		pair_reconnect(&self->p);
		EXPECT_EQ(0, read_at(&self->p, self->mw->rkey, self->mem, 1));
	}
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* --- Device attributes and allocation ------------------------------------------------------- */

/* The driver reports windows, and allocates them, if and only if the device can bind them. */
TEST(windows_are_offered_as_the_device_has_them)
{
	enum ibv_mw_type type;
	struct ibv_device_attr attr;
	struct ibv_mw *mw;
	struct rdma r;
	bool has;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	has = hca_cap("general", "imaicl");
	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, ibv_query_device(r.ctx, &attr));
	EXPECT_EQ(has, attr.max_mw > 0);
	EXPECT_EQ(has, !!(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW));
	EXPECT_EQ(has, !!(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B));
	EXPECT_FALSE(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A);
	for (type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		mw = ibv_alloc_mw(r.pd, type);
		EXPECT_EQ(has ? 0 : EOPNOTSUPP, mw ? ibv_dealloc_mw(mw) : errno);
	}
	rdma_close(&r);
}

TEST_F(mw, unknown_types_are_refused)
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

/* Allocate a window by ALLOC_MW with @len bytes of driver data, and free the window. */
static int alloc_and_dealloc(struct rdma *r, uint8_t type, const void *drv, size_t len,
			     uint64_t *answer, size_t answer_len)
{
	struct ib_uverbs_alloc_mw req = { .pd_handle = r->pd->handle, .mw_type = type };
	struct ib_uverbs_dealloc_mw free = {};
	struct ib_uverbs_alloc_mw_resp resp;
	int ret;

	ret = uv_cmd(r->ctx->cmd_fd, IB_USER_VERBS_CMD_ALLOC_MW, &req, sizeof(req), &resp,
		     sizeof(resp), drv, len, answer, answer_len);
	if (ret)
		return ret;
	free.mw_handle = resp.mw_handle;
	return uv_cmd(r->ctx->cmd_fd, IB_USER_VERBS_CMD_DEALLOC_MW, &free, sizeof(free), NULL, 0,
		      NULL, 0, NULL, 0);
}

/*
 * The driver's part of ALLOC_MW: a number of KLMs is accepted, unknown and reserved fields are
 * refused.
 */
TEST_F(mw, unknown_driver_data_is_refused)
{
	const struct { struct mlx5_ib_alloc_mw drv; int want; } cases[] = {
		{ { .num_klms = 4 }, 0 },
		{ { .num_klms = 0 }, 0 },
		{ { .comp_mask = 1 }, -EOPNOTSUPP },
		{ { .reserved1 = 1 }, -EOPNOTSUPP },
		{ { .reserved2 = 1 }, -EOPNOTSUPP },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_EQ(cases[i].want, alloc_and_dealloc(&self->r, variant->type, &cases[i].drv,
							   sizeof(cases[i].drv), NULL, 0))
			TH_LOG("case %zu", i);
	}
}

/*
 * The driver's part of the request is missing or complete. Bytes behind a complete part are zeros.
 */
TEST_F(mw, driver_data_of_another_length)
{
	uint8_t drv[sizeof(struct mlx5_ib_alloc_mw) + 8] = {};
	size_t len;

	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib takes driver data of any length");
	EXPECT_EQ(0, alloc_and_dealloc(&self->r, variant->type, NULL, 0, NULL, 0));
	for (len = 1; len < sizeof(struct mlx5_ib_alloc_mw); len++) {
		EXPECT_EQ(-EINVAL, alloc_and_dealloc(&self->r, variant->type, drv, len, NULL, 0))
			TH_LOG("length %zu", len);
	}
	for (; len <= sizeof(drv); len++) {
		EXPECT_EQ(0, alloc_and_dealloc(&self->r, variant->type, drv, len, NULL, 0))
			TH_LOG("length %zu", len);
	}
	drv[sizeof(drv) - 1] = 1;
	EXPECT_EQ(-EOPNOTSUPP,
		  alloc_and_dealloc(&self->r, variant->type, drv, sizeof(drv), NULL, 0));
}

TEST_F(mw, answer_is_zeroed)
{
	uint64_t answer[2] = { ~0ull, ~0ull };

	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib leaves the answer as it is");
	ASSERT_EQ(0, alloc_and_dealloc(&self->r, variant->type, NULL, 0, answer, sizeof(answer)));
	EXPECT_EQ(0, answer[0]);
	EXPECT_EQ(0, answer[1]);
}

TEST_F(mw, dealloc_pd_with_a_window_is_busy)
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
