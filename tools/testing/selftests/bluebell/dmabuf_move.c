// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions over a dma-buf whose exporter moves its memory: the device accesses the memory where it
 * is now and never where it was before; if the exporter refuses a mapping, accesses fail and do not
 * hang.
 *
 * ODP_RACE_SECONDS=N lets each race run for N seconds (default 2).
 */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "memcg.h"
#include "mover.h"
#include "removal.h"
#include "test.h"

#define PAGES 64
#define SIZE (PAGES * UV_PAGE)
/*
 * Up to 64 bytes the device may put into the completion itself, and libmlx5 then copies them to the
 * address in the work request, at which the process has nothing mapped here.
 */
#define MIN_NOT_IN_CQE 65
#define NO_ODP "the device has no on-demand paging"

static const uint32_t how_to_move[] = { 0, DMABUF_MOVER_TOGETHER };

/* Two queue pairs with ordinary, pinned buffers, and a region over a part of a dma-buf. */
struct moving {
	struct rdma r;
	struct pair p;
	int fd;
	size_t offset, len;
	uint64_t iova;
	struct ibv_mr *mr;
	uint8_t *copy;
};

static struct ibv_mr *reg_part(struct moving *m)
{
	return ibv_reg_dmabuf_mr(m->r.pd, m->offset, m->len, m->iova, m->fd, ALL_ACCESS);
}

static int moving_open(struct moving *m, size_t size)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	int ret;

	memset(m, 0, sizeof(*m));
	ret = rdma_open(&m->r);
	if (!ret)
		ret = pair_open(&m->p, &m->r, &cfg, size);
	if (ret)
		return ret;
	m->copy = malloc(size);
	m->len = size;
	m->fd = mover_create(size);
	return m->fd < 0 ? m->fd : 0;
}

static int moving_close(struct moving *m)
{
	int ret = m->mr ? ibv_dereg_mr(m->mr) : 0;

	pair_close(&m->p);
	rdma_close(&m->r);
	free(m->copy);
	if (m->fd >= 0)
		close(m->fd);
	return ret;
}

/* The region is accessed by its rkey: the responder's access may fault. */
static int access_by_rkey(struct moving *m, enum ibv_wr_opcode op, size_t off, uint32_t len)
{
	return rdma_access(&m->p, op, m->mr->rkey, m->iova + off, len);
}

/*
 * The region is accessed by its lkey, and the pinned buffer by rkey: the requester's access may
 * fault.
 */
static int access_by_lkey(struct moving *m, enum ibv_wr_opcode op, size_t off, uint32_t len)
{
	struct ibv_sge sge = { .addr = m->iova + off, .length = len, .lkey = m->mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = op, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)m->p.buf[1], .rkey = m->p.mr->rkey },
	};

	return post_and_reap(&m->p, &wr, len);
}

/* A message is sent from the region, or received into it, by its lkey. */
static int send_by_lkey(struct moving *m, bool into, size_t off, uint32_t len)
{
	struct ibv_sge sge = { .addr = m->iova + off, .length = len, .lkey = m->mr->lkey };
	struct ibv_recv_wr rwr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;
	int ret;

	if (into) {
		ret = ibv_post_recv(m->p.qp[1], &rwr, &bad);
	} else {
		wr.sg_list = &sge;
		wr.num_sge = 1;
		ret = post_recv(m->p.qp[1], m->p.mr, m->p.buf[1], len, 0);
	}
	if (ret)
		return -1;
	ret = post_and_reap(&m->p, &wr, len);
	return ret ? ret : reap(m->p.cq[1], &wc);
}

/* Compare a part of the region's memory, wherever it is now, with @buf. */
static bool buffer_equals(struct moving *m, size_t off, const void *buf, size_t len)
{
	return !mover_read(m->fd, m->offset + off, m->copy, len) && !memcmp(m->copy, buf, len);
}

FIXTURE(moving) {
	struct moving m;
};

/* The region: @pages pages and @bytes bytes, from byte @at of page @first. */
FIXTURE_VARIANT(moving) {
	unsigned int first, at, pages, bytes;
	uint64_t iova;	/* of the beginning of page @first */
};

FIXTURE_VARIANT_ADD(moving, whole) { .pages = PAGES };

FIXTURE_VARIANT_ADD(moving, part) {
	.first = 3, .at = 77, .pages = 20, .iova = 0x40000000,
};

FIXTURE_VARIANT_ADD(moving, within_a_page) {
	.first = 17, .at = 2000, .bytes = 1500, .iova = 7 * UV_PAGE_MAX,
};

FIXTURE_SETUP(moving)
{
	const char *missing = mover_missing();
	struct moving *m = &self->m;

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, moving_open(m, SIZE));
	if (!rdma_has_odp(m->r.ctx))
		SKIP(return, NO_ODP);
	m->offset = variant->first * UV_PAGE + variant->at;
	m->len = variant->pages * UV_PAGE + variant->bytes;
	m->iova = variant->iova + variant->at;
	m->mr = reg_part(m);
	ASSERT_NE(NULL, m->mr) TH_LOG("errno %d", errno);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(moving)
{
	struct moving *m = &self->m;
	struct dmabuf_mover_stat stat;

	if (m->mr) {
		ASSERT_EQ(0, mover_stat(m->fd, &stat));
		EXPECT_EQ(0, stat.pinned);
		EXPECT_EQ(0, stat.damaged);
		EXPECT_EQ(0, stat.late);
	}
	EXPECT_EQ(0, moving_close(m));
	if (m->mr)
		EXPECT_EQ(0, mover_buffers());
}

TEST_F(moving, access_follows_each_move)
{
	struct moving *m = &self->m;
	unsigned int i;

	for (i = 0; i < 12; i++) {
		fill(m->p.buf[0], m->len, i);
		ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, m->len)) TH_LOG("move %u", i);
		ASSERT_TRUE(buffer_equals(m, 0, m->p.buf[0], m->len)) TH_LOG("move %u", i);
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i / 2 % 2], 0));
		ASSERT_TRUE(buffer_equals(m, 0, m->p.buf[0], m->len)) TH_LOG("move %u", i);
		memset(m->p.buf[0], 0, m->len);
		ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_READ, 0, m->len)) TH_LOG("move %u", i);
		ASSERT_TRUE(check_fill(m->p.buf[0], m->len, i)) TH_LOG("move %u", i);
	}
	/* Accesses beyond the region are refused also after the moves. */
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access_by_rkey(m, IBV_WR_RDMA_READ, m->len, 1));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access_by_rkey(m, IBV_WR_RDMA_READ, -1, 1));
	EXPECT_EQ(0, ibv_dereg_mr(m->mr));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access_by_rkey(m, IBV_WR_RDMA_READ, 0, 1));
	EXPECT_EQ(0, mover_move(m->fd, 0, 0));
	m->mr = reg_part(m);
	ASSERT_NE(NULL, m->mr);
	ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_READ, 0, m->len));
	EXPECT_TRUE(buffer_equals(m, 0, m->p.buf[0], m->len));
}

/* Any operation can be the first access after a move. */
TEST_F(moving, each_operation_works_after_a_move)
{
	struct moving *m = &self->m;
	uint32_t len = m->len < 9000 ? m->len : 9000;
	uint64_t sum = 40, old;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		fill(m->p.buf[0], len, i);
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, len));
		ASSERT_TRUE(buffer_equals(m, 0, m->p.buf[0], len));

		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		ASSERT_EQ(0, access_by_lkey(m, IBV_WR_RDMA_WRITE, 0, len));
		ASSERT_TRUE(check_fill(m->p.buf[1], len, i));

		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		memset(m->p.buf[1], 0, len);
		ASSERT_EQ(0, send_by_lkey(m, false, 0, len));
		ASSERT_TRUE(check_fill(m->p.buf[1], len, i));

		fill(m->p.buf[1], len, i + 100);
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		ASSERT_EQ(0, access_by_lkey(m, IBV_WR_RDMA_READ, 0, len));
		ASSERT_TRUE(buffer_equals(m, 0, m->p.buf[1], len));

		fill(m->p.buf[0], len, i + 200);
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		ASSERT_EQ(0, send_by_lkey(m, true, 0, len));
		ASSERT_TRUE(buffer_equals(m, 0, m->p.buf[0], len));

		/* Without page faults the memory is pinned, and ordinary atomics reach it. */
		if (rdma_has_odp(m->r.ctx) ? !rdma_has_paged_atomics(m->r.ctx, false) :
					     !rdma_has_atomics(m->r.ctx))
			continue;
		/* The first address in the region that is a multiple of eight. */
		old = -m->iova % 8;
		ASSERT_EQ(0, mover_write(m->fd, m->offset + old, &sum, 8));
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		ASSERT_EQ(0, atomic_access(&m->p, IBV_WR_ATOMIC_FETCH_AND_ADD, m->mr->rkey,
					   m->iova + old, 2, 0));
		sum += 2;
		ASSERT_TRUE(buffer_equals(m, old, &sum, 8));
	}
}

/* Moves alone cause no mapping; the next access causes one, which serves all accesses after it. */
TEST_F(moving, moved_memory_is_mapped_at_next_access_only)
{
	struct moving *m = &self->m;
	struct dmabuf_mover_stat stat;
	unsigned int i, maps;

	fill(m->p.buf[0], m->len, 5);
	ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, m->len));
	ASSERT_EQ(0, mover_stat(m->fd, &stat));
	EXPECT_EQ(1, stat.mapped);
	maps = stat.maps;
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
	ASSERT_EQ(0, mover_stat(m->fd, &stat));
	EXPECT_EQ(0, stat.mapped);
	EXPECT_EQ(maps, stat.maps);
	EXPECT_EQ(20, stat.moves);
	memset(m->p.buf[0], 0, m->len);
	ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_READ, 0, m->len));
	EXPECT_TRUE(check_fill(m->p.buf[0], m->len, 5));
	/* The mapping made by the read serves this write, too. */
	ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, m->len));
	ASSERT_EQ(0, mover_stat(m->fd, &stat));
	EXPECT_EQ(maps + 1, stat.maps);
}

TEST_F(moving, refused_mapping_fails_accesses_until_allowed)
{
	static const int why[] = { ENOMEM, EBUSY, ENXIO };
	struct moving *m = &self->m;
	unsigned int i;
	int ret;

	fill(m->p.buf[0], m->len, 6);
	ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, m->len));
	for (i = 0; i < ARRAY_SIZE(why); i++) {
		ASSERT_EQ(0, mover_move(m->fd, 0, why[i]));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access_by_rkey(m, IBV_WR_RDMA_READ, 0, 1));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, 1));
		EXPECT_EQ(IBV_WC_LOC_PROT_ERR, access_by_lkey(m, IBV_WR_RDMA_WRITE, 0, 1));
		EXPECT_EQ(IBV_WC_LOC_PROT_ERR,
			  access_by_lkey(m, IBV_WR_RDMA_READ, 0, MIN_NOT_IN_CQE));
		ret = send_by_lkey(m, true, 0, MIN_NOT_IN_CQE);
		EXPECT_LT(0, ret);
		pair_reconnect(&m->p);
		/* The exporter allows mappings again. */
		ASSERT_EQ(0, mover_move(m->fd, 0, 0));
		memset(m->p.buf[0], 0, m->len);
		EXPECT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_READ, 0, m->len));
		EXPECT_TRUE(check_fill(m->p.buf[0], m->len, 6));
	}
	/* The region is deregistered while the exporter refuses mappings. */
	ASSERT_EQ(0, mover_move(m->fd, 0, ENOMEM));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access_by_rkey(m, IBV_WR_RDMA_READ, 0, 1));
}

TEST_F(moving, refused_mapping_fails_registration)
{
	struct moving *m = &self->m;
	struct ibv_mr *mr;

	ASSERT_EQ(0, mover_move(m->fd, 0, ENXIO));
	mr = reg_part(m);
	EXPECT_EQ(NULL, mr);
	EXPECT_EQ(ENXIO, errno);
	if (mr)
		ibv_dereg_mr(mr);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

static int prefetch(struct moving *m, enum ibv_advise_mr_advice advice, uint64_t addr, uint32_t len)
{
	struct ibv_sge sge = { .addr = addr, .length = len, .lkey = m->mr->lkey };

	return ibv_advise_mr(m->r.pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

TEST_F(moving, advice_maps_moved_memory)
{
	static const enum ibv_advise_mr_advice advice[] = {
		IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
		IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
	};
	struct moving *m = &self->m;
	unsigned int i;
	long faults;
	int ret;

	for (i = 0; i < ARRAY_SIZE(advice); i++) {
		ASSERT_EQ(0, mover_move(m->fd, 0, 0));
		ASSERT_EQ(0, prefetch(m, advice[i], m->iova, m->len)) TH_LOG("advice %u", i);
		faults = hca_counter("page_faults");
		ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, m->len));
		EXPECT_EQ(faults, hca_counter("page_faults")) TH_LOG("advice %u", i);
	}
	ASSERT_EQ(0, mover_move(m->fd, 0, ENXIO));
	ret = prefetch(m, IBV_ADVISE_MR_ADVICE_PREFETCH, m->iova, m->len);
	EXPECT_EQ(driver_is("bluebell") ? EFAULT : ENXIO, ret);
	if (driver_is("bluebell"))
		EXPECT_EQ(EFAULT, prefetch(m, IBV_ADVISE_MR_ADVICE_PREFETCH, m->iova, m->len + 1));
}

/*
 * Re-register a region as ibv_rereg_mr() does, which itself refuses regions over a dma-buf. @mem is
 * a page, or NULL; mr->pd is the new domain.
 */
static int rereg(struct ibv_mr *mr, uint32_t flags, void *mem, int access)
{
	struct ib_uverbs_rereg_mr req = {
		.mr_handle = mr->handle, .flags = flags, .start = (uintptr_t)mem,
		.hca_va = (uintptr_t)mem, .length = UV_PAGE, .pd_handle = mr->pd->handle,
		.access_flags = access,
	};
	struct ib_uverbs_rereg_mr_resp resp;
	int ret;

	ret = uv_cmd(mr->context->cmd_fd, IB_USER_VERBS_CMD_REREG_MR, &req, sizeof(req), &resp,
		     sizeof(resp), NULL, 0, NULL, 0);
	if (!ret) {
		mr->lkey = resp.lkey;
		mr->rkey = resp.rkey;
	}
	return ret;
}

/*
 * First the rights change, and the dma-buf's memory can still move. Then the region gets memory of
 * the process in place of the dma-buf.
 */
TEST_F(moving, rereg_changes_rights_or_memory)
{
	struct moving *m = &self->m;
	void *mem = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	fill(m->p.buf[0], m->len, 8);
	ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, m->len));
	ret = rereg(m->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
		    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	EXPECT_EQ(0, ret);
	ASSERT_EQ(0, mover_move(m->fd, 0, 0));
	memset(m->p.buf[0], 0, m->len);
	ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_READ, 0, m->len));
	EXPECT_TRUE(check_fill(m->p.buf[0], m->len, 8));
	EXPECT_EQ(ret ? 0 : IBV_WC_REM_ACCESS_ERR, access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, 1));
	ret = rereg(m->mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS, mem,
		    ALL_ACCESS);
	EXPECT_EQ(0, ret);
	ASSERT_EQ(0, mover_move(m->fd, 0, 0));
	if (!ret) {
		fill(m->p.buf[0], UV_PAGE, 9);
		EXPECT_EQ(0, rdma_access(&m->p, IBV_WR_RDMA_WRITE, m->mr->rkey, (uintptr_t)mem,
					 UV_PAGE));
		EXPECT_TRUE(check_fill(mem, UV_PAGE, 9));
	}
	EXPECT_EQ(0, ibv_dereg_mr(m->mr));
	munmap(mem, UV_PAGE);
	m->mr = reg_part(m);
	ASSERT_NE(NULL, m->mr);
}

/* After the old domain is deallocated, a queue pair of the new domain faults on the region. */
TEST_F(moving, rereg_changes_the_domain)
{
	struct moving *m = &self->m;
	struct ibv_pd *pd = ibv_alloc_pd(m->r.ctx);

	ASSERT_NE(NULL, pd);
	ASSERT_EQ(0, ibv_dereg_mr(m->mr));
	m->mr = ibv_reg_dmabuf_mr(pd, m->offset, m->len, m->iova, m->fd, ALL_ACCESS);
	ASSERT_NE(NULL, m->mr);
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(pd));
	m->mr->pd = m->r.pd;
	ASSERT_EQ(0, rereg(m->mr, IBV_REREG_MR_CHANGE_PD, NULL, 0));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, mover_move(m->fd, 0, 0));
	fill(m->p.buf[1], m->len, 4);
	EXPECT_EQ(0, access_by_lkey(m, IBV_WR_RDMA_READ, 0, m->len));
	EXPECT_TRUE(buffer_equals(m, 0, m->p.buf[1], m->len));
}

/*
 * If UMR fails when the memory moves, the driver destroys the key instead of clearing
 * its entries.
 */
TEST_F(moving, failed_umr_at_move_destroys_the_key)
{
	struct moving *m = &self->m;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, NEEDS_FAILURES);
	fill(m->p.buf[0], m->len, 1);
	ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, m->len));
	ASSERT_EQ(0, hca_do("inject umr"));
	ASSERT_EQ(0, mover_move(m->fd, 0, 0));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, 1));
	EXPECT_TRUE(buffer_equals(m, 0, m->p.buf[0], m->len));
	EXPECT_EQ(-EOPNOTSUPP, rereg(m->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
	EXPECT_EQ(0, mover_move(m->fd, 0, 0));
	EXPECT_EQ(0, ibv_dereg_mr(m->mr));
	m->mr = reg_part(m);
	ASSERT_NE(NULL, m->mr);
	EXPECT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_READ, 0, m->len));
	EXPECT_CENSUS_UNCHANGED();
}

/*
 * If UMR fails when the memory is mapped, the access fails, and the region can still be
 * deregistered.
 */
TEST_F(moving, failed_umr_at_mapping_fails_the_access)
{
	struct moving *m = &self->m;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, NEEDS_FAILURES);
	ASSERT_EQ(0, mover_move(m->fd, 0, 0));
	ASSERT_EQ(0, hca_do("inject umr"));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, 1));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_EQ(0, mover_move(m->fd, 0, 0));
	EXPECT_EQ(0, ibv_dereg_mr(m->mr));
	m->mr = reg_part(m);
	ASSERT_NE(NULL, m->mr);
	EXPECT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_READ, 0, m->len));
	EXPECT_CENSUS_UNCHANGED();
}

/* --- Several regions, and long ones --------------------------------------------------------- */

FIXTURE(buffer) {
	struct moving m;
};

FIXTURE_SETUP(buffer)
{
	const char *missing = mover_missing();

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, moving_open(&self->m, SIZE));
	if (!rdma_has_odp(self->m.r.ctx))
		SKIP(return, NO_ODP);
	/*
	 * The driver keeps some objects from the first region on: let it create them before the
	 * census.
	 */
	self->m.mr = reg_part(&self->m);
	ASSERT_NE(NULL, self->m.mr);
	ASSERT_EQ(0, ibv_dereg_mr(self->m.mr));
	self->m.mr = NULL;
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(buffer)
{
	EXPECT_EQ(0, moving_close(&self->m));
}

TEST_F(buffer, several_regions_over_one_dmabuf_follow_it)
{
	struct moving *m = &self->m;
	struct dmabuf_mover_stat stat;
	/* DMA debugging warns if one page has more than seven mappings. */
	struct ibv_mr *mr[6];
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(mr); i++) {
		mr[i] = ibv_reg_dmabuf_mr(m->r.pd, 2 * i * UV_PAGE, 4 * UV_PAGE, 0, m->fd,
					  ALL_ACCESS);
		ASSERT_NE(NULL, mr[i]);
	}
	for (k = 0; k < ARRAY_SIZE(mr); k++) {
		fill(m->copy, SIZE, k);
		ASSERT_EQ(0, mover_write(m->fd, 0, m->copy, SIZE));
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[k % 2], 0));
		for (i = k; i < ARRAY_SIZE(mr); i++) {
			ASSERT_EQ(0, rdma_access(&m->p, IBV_WR_RDMA_READ, mr[i]->rkey, 0,
						 4 * UV_PAGE));
			EXPECT_EQ(0, memcmp(m->p.buf[0], m->copy + 2 * i * UV_PAGE, 4 * UV_PAGE));
		}
		EXPECT_EQ(0, ibv_dereg_mr(mr[k]));
	}
	ASSERT_EQ(0, mover_stat(m->fd, &stat));
	EXPECT_EQ(0, stat.mapped);
	EXPECT_EQ(0, stat.late);
	EXPECT_EQ(0, stat.damaged);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* Register a buffer of another size than that of the fixture, which has no region. */
static int reg_other(struct moving *m, size_t size)
{
	close(m->fd);
	m->fd = mover_create(size);
	m->len = size;
	m->mr = m->fd < 0 ? NULL : reg_part(m);
	return m->mr ? 0 : -1;
}

/* More translation entries than one UMR request writes or one command carries. */
TEST_F(buffer, region_of_many_entries_follows_it)
{
	const size_t size = 5123 * UV_PAGE, part = SIZE;
	struct moving *m = &self->m;
	unsigned int i, k;

	ASSERT_EQ(0, reg_other(m, size));
	for (i = 0; i < 4; i++) {
		const size_t at[] = { 0, 4090 * UV_PAGE, size / 2 & -UV_PAGE, size - part };

		for (k = 0; k < ARRAY_SIZE(at); k++) {
			fill(m->p.buf[0], part, 10 * i + k);
			ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_WRITE, at[k], part));
			EXPECT_TRUE(buffer_equals(m, at[k], m->p.buf[0], part));
		}
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		for (k = 0; k < ARRAY_SIZE(at); k++) {
			ASSERT_EQ(0, access_by_rkey(m, IBV_WR_RDMA_READ, at[k], part));
			EXPECT_TRUE(check_fill(m->p.buf[0], part, 10 * i + k));
		}
	}
}

/*
 * The translation entries of the region take two UMR requests, of which the second fails: the
 * entries that the first has written lead to memory that the exporter moves once more.
 */
TEST_F(buffer, mapping_that_failed_half_way_reaches_nothing)
{
	const size_t size = 12288 * UV_PAGE;
	struct moving *m = &self->m;
	struct dmabuf_mover_stat stat;
	int ret;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, NEEDS_FAILURES);
	ASSERT_EQ(0, reg_other(m, size));
	ASSERT_EQ(0, mover_move(m->fd, 0, 0));
	ASSERT_EQ(0, hca_do("inject umr 1 1"));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, 1));
	EXPECT_EQ(1, hca_inject_clear());
	ASSERT_EQ(0, mover_move(m->fd, 0, 0));
	fill(m->p.buf[0], 64, 7);
	ret = access_by_rkey(m, IBV_WR_RDMA_WRITE, 0, 64);
	EXPECT_TRUE(ret || buffer_equals(m, 0, m->p.buf[0], 64));
	ASSERT_EQ(0, mover_stat(m->fd, &stat));
	EXPECT_EQ(0, stat.damaged);
	EXPECT_EQ(0, stat.late);
	EXPECT_EQ(0, ibv_dereg_mr(m->mr));
	m->mr = NULL;
	EXPECT_CENSUS_UNCHANGED();
}

/* Bytes of a dma-buf. The tables for its mapping take 16 bytes a page at least. */
#define CHARGED 0x2000000
#define CHARGED_TABLE ((long)(CHARGED / UV_PAGE * 16))

/* Returns 0 if the cgroup is charged for the mapping of a fault. */
static int fault_in_cgroup(void)
{
	struct moving m;
	long charge;

	if (memcg_enter() || moving_open(&m, SIZE))
		return 101;
	close(m.fd);
	m.fd = mover_create(CHARGED);
	m.len = CHARGED;
	m.mr = m.fd < 0 ? NULL : reg_part(&m);
	if (!m.mr || mover_move(m.fd, 0, 0))
		return 102;
	charge = memcg_kernel();
	if (charge < 0 || access_by_rkey(&m, IBV_WR_RDMA_WRITE, 0, 1))
		return 103;
	charge = memcg_kernel() - charge;
	fprintf(stderr, "# mapping %d MiB: %ld bytes charged\n", CHARGED >> 20, charge);
	return charge >= CHARGED_TABLE ? moving_close(&m) : 1;
}

/* A work item of the kernel maps the memory, but the process that owns the region is charged. */
TEST(mapping_by_a_fault_is_charged_to_the_process)
{
	const char *missing = mover_missing();
	int status;
	pid_t pid;

	if (missing)
		SKIP(return, "%s", missing);
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (!device_has(_metadata, rdma_has_odp))
		SKIP(return, NO_ODP);
	if (memcg_make(16 * CHARGED))
		SKIP(return, NO_MEMCG);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fault_in_cgroup());
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	memcg_remove();
}

/*
 * On a device without page faults the driver pins the memory, so the exporter cannot move it. Some
 * kernels pin it on any device.
 */
TEST(memory_is_pinned_without_page_faults)
{
	struct dmabuf_mover_stat stat;
	struct moving m;
	int ret = mover_load();

	if (ret == -ENOENT)
		SKIP(return, NO_MOVER);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, moving_open(&m, SIZE));
	if (rdma_has_odp(m.r.ctx) && mover_can_move())
		SKIP(goto out, "the device has on-demand paging");
	m.mr = reg_part(&m);
	if (!m.mr && errno == EOPNOTSUPP && driver_is("mlx5_ib"))
		SKIP(goto out, "mlx5_ib needs on-demand paging for a dma-buf");
	ASSERT_NE(NULL, m.mr);
	ASSERT_EQ(0, mover_stat(m.fd, &stat));
	EXPECT_EQ(1, stat.pinned);
	EXPECT_EQ(-EBUSY, mover_move(m.fd, 0, 0));
	fill(m.p.buf[0], SIZE, 3);
	EXPECT_EQ(0, access_by_rkey(&m, IBV_WR_RDMA_WRITE, 0, SIZE));
	EXPECT_TRUE(buffer_equals(&m, 0, m.p.buf[0], SIZE));
	EXPECT_EQ(0, ibv_dereg_mr(m.mr));
	m.mr = NULL;
	EXPECT_EQ(0, mover_move(m.fd, 0, 0));
out:
	EXPECT_EQ(0, moving_close(&m));
}

/* --- Races ---------------------------------------------------------------------------------- */

struct race {
	struct moving *m;
	int fd;
	atomic_bool stop;
	unsigned long moves;
	bool refuse;
};

static void *move_until_stopped(void *arg)
{
	struct race *r = arg;

	while (!r->stop) {
		if (r->refuse && rand() % 4 == 0) {
			mover_move(r->fd, 0, EBUSY);
			usleep(rand() % 2000);
		}
		if (!mover_move(r->fd, how_to_move[rand() % 2], 0))
			r->moves++;
		usleep(rand() % 5000);
	}
	return NULL;
}

/*
 * Write to the region and read it back, each by lkey or by rkey. Returns a completion status, -1000
 * if the memory does not hold what was written, -1001 if other bytes were read.
 */
static int write_and_read_back(struct moving *m, size_t off, uint32_t len, unsigned int seed)
{
	bool by_lkey = rand() & 1 && len >= MIN_NOT_IN_CQE;
	int ret;

	fill(m->p.buf[0], len, seed);
	fill(m->p.buf[1], len, seed);
	ret = by_lkey ? access_by_lkey(m, IBV_WR_RDMA_READ, off, len) :
			access_by_rkey(m, IBV_WR_RDMA_WRITE, off, len);
	if (ret)
		return ret;
	if (!buffer_equals(m, off, m->p.buf[0], len))
		return -1000;
	memset(m->p.buf[0], 0, len);
	memset(m->p.buf[1], 0, len);
	by_lkey = rand() & 1;
	ret = by_lkey ? access_by_lkey(m, IBV_WR_RDMA_WRITE, off, len) :
			access_by_rkey(m, IBV_WR_RDMA_READ, off, len);
	if (ret)
		return ret;
	return check_fill(m->p.buf[by_lkey], len, seed) ? 0 : -1001;
}

FIXTURE(race) {
	struct moving m;
};

FIXTURE_VARIANT(race) {
	bool refuse;
};

FIXTURE_VARIANT_ADD(race, move) { .refuse = false };

FIXTURE_VARIANT_ADD(race, move_and_refuse) { .refuse = true };

FIXTURE_SETUP(race)
{
	const char *missing = mover_missing();

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, moving_open(&self->m, SIZE));
	if (!rdma_has_odp(self->m.r.ctx))
		SKIP(return, NO_ODP);
	self->m.iova = 0x7000000;
	self->m.mr = reg_part(&self->m);
	ASSERT_NE(NULL, self->m.mr);
}

FIXTURE_TEARDOWN(race)
{
	EXPECT_EQ(0, moving_close(&self->m));
}

TEST_F_TIMEOUT(race, traffic_continues_while_memory_moves, 300)
{
	struct moving *m = &self->m;
	struct race r = { .m = m, .fd = m->fd, .refuse = variant->refuse };
	unsigned long done = 0, failed = 0;
	struct dmabuf_mover_stat stat;
	pthread_t thread;
	double end;
	int ret;

	ASSERT_EQ(0, pthread_create(&thread, NULL, move_until_stopped, &r));
	end = seconds() + race_seconds();
	do {
		size_t off = rand() % (SIZE - 8192), len = 1 + rand() % 8192;

		ret = write_and_read_back(m, off, len, done);
		failed += ret > 0;
		done += !ret;
	} while (ret >= 0 && (!failed || variant->refuse) && (seconds() < end || !done));
	r.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LE(0, ret);
	EXPECT_LT(0, done);
	EXPECT_LT(0, r.moves);
	if (!variant->refuse)
		EXPECT_EQ(0, failed);
	TH_LOG("%lu rounds, %lu of them failed, %lu moves", done + failed, failed, r.moves);
	ASSERT_EQ(0, mover_stat(m->fd, &stat));
	EXPECT_EQ(0, stat.damaged);
	EXPECT_EQ(0, stat.late);
	/* After the race everything still works. */
	EXPECT_EQ(0, write_and_read_back(m, 0, SIZE, 77));
}

static void *write_until_stopped(void *arg)
{
	struct race *r = arg;
	uint32_t rkey = r->m->mr->rkey;

	while (!r->stop)
		rdma_access(&r->m->p, IBV_WR_RDMA_WRITE, rkey, r->m->iova, 8192);
	return NULL;
}

/* Write while another thread moves the memory, until killed; returns false if setting up fails. */
static bool write_while_moving_until_killed(bool refuse)
{
	struct race r = { .refuse = refuse };
	struct moving m;
	pthread_t thread;

	if (moving_open(&m, SIZE))
		return false;
	m.mr = reg_part(&m);
	r.m = &m;
	r.fd = m.fd;
	if (!m.mr || pthread_create(&thread, NULL, move_until_stopped, &r))
		return false;
	write_until_stopped(&r);
	return true;
}

TEST_F(race, dereg_while_memory_moves)
{
	struct moving *m = &self->m;
	struct dmabuf_mover_stat stat;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		struct race r = { .m = m, .fd = m->fd, .refuse = variant->refuse };
		pthread_t thread[2];

		ASSERT_EQ(0, pthread_create(&thread[0], NULL, move_until_stopped, &r));
		ASSERT_EQ(0, pthread_create(&thread[1], NULL, write_until_stopped, &r));
		usleep(rand() % 50000);
		EXPECT_EQ(0, ibv_dereg_mr(m->mr));
		r.stop = true;
		pthread_join(thread[0], NULL);
		pthread_join(thread[1], NULL);
		pair_reconnect(&m->p);
		ASSERT_EQ(0, mover_stat(m->fd, &stat));
		EXPECT_EQ(0, stat.mapped);
		EXPECT_EQ(0, stat.damaged);
		m->mr = reg_part(m);
		ASSERT_NE(NULL, m->mr);
		EXPECT_EQ(0, write_and_read_back(m, 0, 200, i));
	}
}

/*
 * A process killed during moves and faults leaves nothing behind, not even a dma-buf of the
 * exporter.
 */
TEST_F(race, killed_while_memory_moves)
{
	unsigned int i, k;
	int status;
	pid_t pid;

	/* The queue pair of a fault may be destroyed before the driver resumes it. */
	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME BAD_RES_ERR any"));
	EXPECT_EQ(0, ibv_dereg_mr(self->m.mr));
	self->m.mr = NULL;
	close(self->m.fd);
	self->m.fd = -1;
	for (k = 0; k < 100 && mover_buffers(); k++)
		usleep(10000);
	ASSERT_EQ(0, mover_buffers());
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	for (i = 0; i < 4; i++) {
		pid = fork();
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(!write_while_moving_until_killed(variant->refuse));
		}
		usleep(300000 + rand() % 200000);
		EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		EXPECT_TRUE(WIFSIGNALED(status));
	}
	for (k = 0; k < 200 && mover_buffers(); k++)
		usleep(10000);
	EXPECT_EQ(0, mover_buffers());
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

static void write_in_each_round(unsigned int round)
{
	write_while_moving_until_killed(false);
}

/* When the device is removed during moves and faults, the exporter gets its memory back. */
TEST(device_removal_while_memory_moves)
{
	const char *missing = mover_missing();
	int k;

	if (missing)
		SKIP(return, "%s", missing);
	if (!device_has(_metadata, rdma_has_odp))
		SKIP(return, NO_ODP);
	/* The queue pair of a fault may be destroyed before the driver resumes it. */
	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME BAD_RES_ERR any"));
	remove_device_during(_metadata, write_in_each_round);
	for (k = 0; k < 200 && mover_buffers(); k++)
		usleep(10000);
	EXPECT_EQ(0, mover_buffers());
}

TEST_HARNESS_MAIN
