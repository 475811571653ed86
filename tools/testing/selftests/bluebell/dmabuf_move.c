// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions over a dma-buf whose memory moves: the device finds it where it is, whoever moves it and
 * whenever; what it has left is not touched any more; and memory that cannot be had is an error and
 * no hang.
 *
 * ODP_RACE_SECONDS=N lets each race run for N seconds.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "mover.h"
#include "removal.h"
#include "test.h"

#define SIZE (64 * UV_PAGE)
/*
 * Less than this the device may put into the completion, and libmlx5 copies it to where it thinks
 * that the process has it: at the region's address.
 */
#define LEAST 65
#define NO_ODP "the device does not page"

static const uint32_t how_to_move[] = { 0, DMABUF_MOVER_TOGETHER };

/* Two queue pairs, pinned memory of theirs, and a region over a part of a dma-buf. */
struct moving {
	struct rdma r;
	struct pair p;
	int fd;
	size_t offset, len;
	uint64_t iova;
	struct ibv_mr *mr;
	uint8_t *copy;
};

static struct ibv_mr *reg(struct moving *m)
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

/* Of the peer's key. */
static int remote(struct moving *m, enum ibv_wr_opcode op, size_t off, uint32_t len)
{
	return rdma_access(&m->p, op, m->mr->rkey, m->iova + off, len);
}

/* Of one's own key, the pinned buffer on the other side. */
static int local(struct moving *m, enum ibv_wr_opcode op, size_t off, uint32_t len)
{
	struct ibv_sge sge = { .addr = m->iova + off, .length = len, .lkey = m->mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = op, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)m->p.buf[1], .rkey = m->p.mr->rkey },
	};

	return post_and_reap(&m->p, &wr, len);
}

/* A message from one's own key, or into it. */
static int message(struct moving *m, bool into, size_t off, uint32_t len)
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

/* What the region holds, wherever that is. */
static bool holds(struct moving *m, size_t off, const void *buf, size_t len)
{
	return !mover_read(m->fd, m->offset + off, m->copy, len) && !memcmp(m->copy, buf, len);
}

FIXTURE(moving) {
	struct moving m;
};

FIXTURE_VARIANT(moving) {
	size_t offset, len;
	uint64_t iova;
};

FIXTURE_VARIANT_ADD(moving, whole) { .len = SIZE };

FIXTURE_VARIANT_ADD(moving, part) {
	.offset = 3 * UV_PAGE + 77, .len = 20 * UV_PAGE, .iova = 0x40000000 + 77,
};

FIXTURE_VARIANT_ADD(moving, within_a_page) {
	.offset = 17 * UV_PAGE + 2000, .len = 1500, .iova = 7 * UV_PAGE + 2000,
};

FIXTURE_SETUP(moving)
{
	struct moving *m = &self->m;
	int ret = mover_load();

	if (ret == -ENOENT)
		SKIP(return, NO_MOVER);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, moving_open(m, SIZE));
	if (!rdma_has_odp(m->r.ctx))
		SKIP(return, NO_ODP);
	m->offset = variant->offset;
	m->len = variant->len;
	m->iova = variant->iova;
	m->mr = reg(m);
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

TEST_F(moving, is_followed)
{
	struct moving *m = &self->m;
	unsigned int i;

	for (i = 0; i < 12; i++) {
		fill(m->p.buf[0], m->len, i);
		ASSERT_EQ(0, remote(m, IBV_WR_RDMA_WRITE, 0, m->len)) TH_LOG("move %u", i);
		ASSERT_TRUE(holds(m, 0, m->p.buf[0], m->len)) TH_LOG("move %u", i);
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i / 2 % 2], 0));
		ASSERT_TRUE(holds(m, 0, m->p.buf[0], m->len)) TH_LOG("move %u", i);
		memset(m->p.buf[0], 0, m->len);
		ASSERT_EQ(0, remote(m, IBV_WR_RDMA_READ, 0, m->len)) TH_LOG("move %u", i);
		ASSERT_TRUE(check_fill(m->p.buf[0], m->len, i)) TH_LOG("move %u", i);
	}
	/* No further than it goes, wherever it is. */
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, remote(m, IBV_WR_RDMA_READ, m->len, 1));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, remote(m, IBV_WR_RDMA_READ, -1, 1));
	EXPECT_EQ(0, ibv_dereg_mr(m->mr));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, remote(m, IBV_WR_RDMA_READ, 0, 1));
	EXPECT_EQ(0, mover_move(m->fd, 0, 0));
	m->mr = reg(m);
	ASSERT_NE(NULL, m->mr);
	ASSERT_EQ(0, remote(m, IBV_WR_RDMA_READ, 0, m->len));
	EXPECT_TRUE(holds(m, 0, m->p.buf[0], m->len));
}

/* The first access after a move may be any. */
TEST_F(moving, every_operation_finds_it)
{
	struct moving *m = &self->m;
	uint32_t len = m->len < 9000 ? m->len : 9000;
	uint64_t sum = 40, old;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		fill(m->p.buf[0], len, i);
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		ASSERT_EQ(0, remote(m, IBV_WR_RDMA_WRITE, 0, len));
		ASSERT_TRUE(holds(m, 0, m->p.buf[0], len));

		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		ASSERT_EQ(0, local(m, IBV_WR_RDMA_WRITE, 0, len));
		ASSERT_TRUE(check_fill(m->p.buf[1], len, i));

		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		memset(m->p.buf[1], 0, len);
		ASSERT_EQ(0, message(m, false, 0, len));
		ASSERT_TRUE(check_fill(m->p.buf[1], len, i));

		fill(m->p.buf[1], len, i + 100);
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		ASSERT_EQ(0, local(m, IBV_WR_RDMA_READ, 0, len));
		ASSERT_TRUE(holds(m, 0, m->p.buf[1], len));

		fill(m->p.buf[0], len, i + 200);
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		ASSERT_EQ(0, message(m, true, 0, len));
		ASSERT_TRUE(holds(m, 0, m->p.buf[0], len));

		if (!rdma_has_atomics(m->r.ctx))
			continue;
		/* At an address that is a multiple of eight. */
		old = -m->iova % 8;
		ASSERT_EQ(0, mover_write(m->fd, m->offset + old, &sum, 8));
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		ASSERT_EQ(0, atomic_access(&m->p, IBV_WR_ATOMIC_FETCH_AND_ADD, m->mr->rkey,
					   m->iova + old, 2, 0));
		sum += 2;
		ASSERT_TRUE(holds(m, old, &sum, 8));
	}
}

/* Nobody maps what nobody asks for. */
TEST_F(moving, moves_while_nobody_looks)
{
	struct moving *m = &self->m;
	struct dmabuf_mover_stat stat;
	unsigned int i, maps;

	fill(m->p.buf[0], m->len, 5);
	ASSERT_EQ(0, remote(m, IBV_WR_RDMA_WRITE, 0, m->len));
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
	ASSERT_EQ(0, remote(m, IBV_WR_RDMA_READ, 0, m->len));
	EXPECT_TRUE(check_fill(m->p.buf[0], m->len, 5));
	/* And once for all that follows. */
	ASSERT_EQ(0, remote(m, IBV_WR_RDMA_WRITE, 0, m->len));
	ASSERT_EQ(0, mover_stat(m->fd, &stat));
	EXPECT_EQ(maps + 1, stat.maps);
}

TEST_F(moving, memory_that_cannot_be_had_is_an_error)
{
	static const int why[] = { ENOMEM, EBUSY, ENXIO };
	struct moving *m = &self->m;
	unsigned int i;
	int ret;

	fill(m->p.buf[0], m->len, 6);
	ASSERT_EQ(0, remote(m, IBV_WR_RDMA_WRITE, 0, m->len));
	for (i = 0; i < ARRAY_SIZE(why); i++) {
		ASSERT_EQ(0, mover_move(m->fd, 0, why[i]));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, remote(m, IBV_WR_RDMA_READ, 0, 1));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, remote(m, IBV_WR_RDMA_WRITE, 0, 1));
		EXPECT_EQ(IBV_WC_LOC_PROT_ERR, local(m, IBV_WR_RDMA_WRITE, 0, 1));
		EXPECT_EQ(IBV_WC_LOC_PROT_ERR, local(m, IBV_WR_RDMA_READ, 0, LEAST));
		ret = message(m, true, 0, LEAST);
		EXPECT_LT(0, ret);
		pair_reconnect(&m->p);
		/* It comes back. */
		ASSERT_EQ(0, mover_move(m->fd, 0, 0));
		memset(m->p.buf[0], 0, m->len);
		EXPECT_EQ(0, remote(m, IBV_WR_RDMA_READ, 0, m->len));
		EXPECT_TRUE(check_fill(m->p.buf[0], m->len, 6));
	}
	/* Gone for good. */
	ASSERT_EQ(0, mover_move(m->fd, 0, ENOMEM));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, remote(m, IBV_WR_RDMA_READ, 0, 1));
}

TEST_F(moving, memory_that_cannot_be_had_is_not_registered)
{
	struct moving *m = &self->m;
	struct ibv_mr *mr;

	ASSERT_EQ(0, mover_move(m->fd, 0, ENXIO));
	mr = reg(m);
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

TEST_F(moving, advice_brings_it_back)
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
		ASSERT_EQ(0, remote(m, IBV_WR_RDMA_WRITE, 0, m->len));
		EXPECT_EQ(faults, hca_counter("page_faults")) TH_LOG("advice %u", i);
	}
	ASSERT_EQ(0, mover_move(m->fd, 0, ENXIO));
	ret = prefetch(m, IBV_ADVISE_MR_ADVICE_PREFETCH, m->iova, m->len);
	EXPECT_EQ(driver_is("bluebell") ? EFAULT : ENXIO, ret);
	if (driver_is("bluebell"))
		EXPECT_EQ(EFAULT, prefetch(m, IBV_ADVISE_MR_ADVICE_PREFETCH, m->iova, m->len + 1));
}

/* What ibv_rereg_mr() does, which has none of it with a dma-buf. @mem is a page. */
static int rereg(struct ibv_mr *mr, uint32_t flags, void *mem, int access)
{
	struct ib_uverbs_rereg_mr req = {
		.mr_handle = mr->handle, .flags = flags, .start = (uintptr_t)mem,
		.hca_va = (uintptr_t)mem, .length = UV_PAGE, .access_flags = access,
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

/* Rights and domain change, and the memory is still followed; or not, and all is as it was. */
TEST_F(moving, rereg_changes_what_it_says)
{
	struct moving *m = &self->m;
	void *mem = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	fill(m->p.buf[0], m->len, 8);
	ASSERT_EQ(0, remote(m, IBV_WR_RDMA_WRITE, 0, m->len));
	ret = rereg(m->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
		    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	EXPECT_EQ(0, ret);
	ASSERT_EQ(0, mover_move(m->fd, 0, 0));
	memset(m->p.buf[0], 0, m->len);
	ASSERT_EQ(0, remote(m, IBV_WR_RDMA_READ, 0, m->len));
	EXPECT_TRUE(check_fill(m->p.buf[0], m->len, 8));
	EXPECT_EQ(ret ? 0 : IBV_WC_REM_ACCESS_ERR, remote(m, IBV_WR_RDMA_WRITE, 0, 1));
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
	m->mr = reg(m);
	ASSERT_NE(NULL, m->mr);
}

/* When UMR fails as the memory moves, the device loses the key. */
TEST_F(moving, without_umr_the_key_goes)
{
	struct moving *m = &self->m;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs the HCA to fail, and a driver that bears it");
	fill(m->p.buf[0], m->len, 1);
	ASSERT_EQ(0, remote(m, IBV_WR_RDMA_WRITE, 0, m->len));
	ASSERT_EQ(0, hca_do("inject umr"));
	ASSERT_EQ(0, mover_move(m->fd, 0, 0));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, remote(m, IBV_WR_RDMA_WRITE, 0, 1));
	EXPECT_TRUE(holds(m, 0, m->p.buf[0], m->len));
	EXPECT_EQ(-EOPNOTSUPP, rereg(m->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
	EXPECT_EQ(0, mover_move(m->fd, 0, 0));
	EXPECT_EQ(0, ibv_dereg_mr(m->mr));
	m->mr = reg(m);
	ASSERT_NE(NULL, m->mr);
	EXPECT_EQ(0, remote(m, IBV_WR_RDMA_READ, 0, m->len));
	EXPECT_CENSUS_UNCHANGED();
}

/* Nor does what came of a UMR that failed as the memory was mapped do any harm. */
TEST_F(moving, without_umr_it_is_not_mapped)
{
	struct moving *m = &self->m;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs the HCA to fail, and a driver that bears it");
	ASSERT_EQ(0, mover_move(m->fd, 0, 0));
	ASSERT_EQ(0, hca_do("inject umr"));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, remote(m, IBV_WR_RDMA_WRITE, 0, 1));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_EQ(0, mover_move(m->fd, 0, 0));
	EXPECT_EQ(0, ibv_dereg_mr(m->mr));
	m->mr = reg(m);
	ASSERT_NE(NULL, m->mr);
	EXPECT_EQ(0, remote(m, IBV_WR_RDMA_READ, 0, m->len));
	EXPECT_CENSUS_UNCHANGED();
}

/* --- Several, and long ones ------------------------------------------------------------------- */

FIXTURE(buffer) {
	struct moving m;
};

FIXTURE_SETUP(buffer)
{
	int ret = mover_load();

	if (ret == -ENOENT)
		SKIP(return, NO_MOVER);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, moving_open(&self->m, SIZE));
	if (!rdma_has_odp(self->m.r.ctx))
		SKIP(return, NO_ODP);
	/* What the driver makes for the first region and keeps is made now. */
	self->m.mr = reg(&self->m);
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

TEST_F(buffer, many_regions_over_one)
{
	struct moving *m = &self->m;
	struct dmabuf_mover_stat stat;
	/* More mappings of a page the debugging of the DMA API takes for a mistake. */
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

/* More entries than one request writes, or a command has room for. */
TEST_F(buffer, long_region)
{
	const size_t size = 0x1400000 + 3 * UV_PAGE, part = SIZE;
	struct moving *m = &self->m;
	unsigned int i, k;

	close(m->fd);
	m->fd = mover_create(size);
	ASSERT_LE(0, m->fd);
	m->len = size;
	m->mr = reg(m);
	ASSERT_NE(NULL, m->mr);
	for (i = 0; i < 4; i++) {
		const size_t at[] = { 0, 4090 * UV_PAGE, size / 2 & -UV_PAGE, size - part };

		for (k = 0; k < ARRAY_SIZE(at); k++) {
			fill(m->p.buf[0], part, 10 * i + k);
			ASSERT_EQ(0, remote(m, IBV_WR_RDMA_WRITE, at[k], part));
			EXPECT_TRUE(holds(m, at[k], m->p.buf[0], part));
		}
		ASSERT_EQ(0, mover_move(m->fd, how_to_move[i % 2], 0));
		for (k = 0; k < ARRAY_SIZE(at); k++) {
			ASSERT_EQ(0, remote(m, IBV_WR_RDMA_READ, at[k], part));
			EXPECT_TRUE(check_fill(m->p.buf[0], part, 10 * i + k));
		}
	}
}

/* A device that does not page has it pinned, and it stays where it is. */
TEST(pinned_where_the_device_does_not_page)
{
	struct dmabuf_mover_stat stat;
	struct moving m;
	int ret = mover_load();

	if (ret == -ENOENT)
		SKIP(return, NO_MOVER);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, moving_open(&m, SIZE));
	if (rdma_has_odp(m.r.ctx))
		SKIP(goto out, "the device pages");
	m.mr = reg(&m);
	if (!m.mr && errno == EOPNOTSUPP && driver_is("mlx5_ib"))
		SKIP(goto out, "mlx5_ib wants on-demand paging for this");
	ASSERT_NE(NULL, m.mr);
	ASSERT_EQ(0, mover_stat(m.fd, &stat));
	EXPECT_EQ(1, stat.pinned);
	EXPECT_EQ(-EBUSY, mover_move(m.fd, 0, 0));
	fill(m.p.buf[0], SIZE, 3);
	EXPECT_EQ(0, remote(&m, IBV_WR_RDMA_WRITE, 0, SIZE));
	EXPECT_TRUE(holds(&m, 0, m.p.buf[0], SIZE));
	EXPECT_EQ(0, ibv_dereg_mr(m.mr));
	m.mr = NULL;
	EXPECT_EQ(0, mover_move(m.fd, 0, 0));
out:
	EXPECT_EQ(0, moving_close(&m));
}

/* --- Races ------------------------------------------------------------------------------------- */

struct race {
	struct moving *m;
	int fd;
	atomic_bool stop;
	unsigned long moves;
	bool refuse;
};

static void *mover(void *arg)
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

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static double race_seconds(void)
{
	const char *s = getenv("ODP_RACE_SECONDS");

	return s ? atof(s) : 2;
}

/* One operation in each direction: what was written is there, and is what is read. */
static int there_and_back(struct moving *m, size_t off, uint32_t len, unsigned int seed)
{
	bool ours = rand() & 1 && len >= LEAST;
	int ret;

	fill(m->p.buf[0], len, seed);
	fill(m->p.buf[1], len, seed);
	ret = ours ? local(m, IBV_WR_RDMA_READ, off, len) : remote(m, IBV_WR_RDMA_WRITE, off, len);
	if (ret)
		return ret;
	if (!holds(m, off, m->p.buf[0], len))
		return -1000;
	memset(m->p.buf[0], 0, len);
	memset(m->p.buf[1], 0, len);
	ours = rand() & 1;
	ret = ours ? local(m, IBV_WR_RDMA_WRITE, off, len) : remote(m, IBV_WR_RDMA_READ, off, len);
	if (ret)
		return ret;
	return check_fill(m->p.buf[ours], len, seed) ? 0 : -1001;
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
	int ret = mover_load();

	if (ret == -ENOENT)
		SKIP(return, NO_MOVER);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, moving_open(&self->m, SIZE));
	if (!rdma_has_odp(self->m.r.ctx))
		SKIP(return, NO_ODP);
	self->m.iova = 0x7000000;
	self->m.mr = reg(&self->m);
	ASSERT_NE(NULL, self->m.mr);
}

FIXTURE_TEARDOWN(race)
{
	EXPECT_EQ(0, moving_close(&self->m));
}

TEST_F_TIMEOUT(race, traffic_goes_on, 300)
{
	struct moving *m = &self->m;
	struct race r = { .m = m, .fd = m->fd, .refuse = variant->refuse };
	unsigned long done = 0, failed = 0;
	struct dmabuf_mover_stat stat;
	pthread_t thread;
	double end;
	int ret;

	ASSERT_EQ(0, pthread_create(&thread, NULL, mover, &r));
	end = seconds() + race_seconds();
	do {
		size_t off = rand() % (SIZE - 8192), len = 1 + rand() % 8192;

		ret = there_and_back(m, off, len, done);
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
	/* And afterwards all is well. */
	EXPECT_EQ(0, there_and_back(m, 0, SIZE, 77));
}

static void *writer(void *arg)
{
	struct race *r = arg;
	uint32_t rkey = r->m->mr->rkey;

	while (!r->stop)
		rdma_access(&r->m->p, IBV_WR_RDMA_WRITE, rkey, r->m->iova, 8192);
	return NULL;
}

/* For ever; false if there is nothing to write to. */
static bool write_while_it_moves(bool refuse)
{
	struct race r = { .refuse = refuse };
	struct moving m;
	pthread_t thread;

	if (moving_open(&m, SIZE))
		return false;
	m.mr = reg(&m);
	r.m = &m;
	r.fd = m.fd;
	if (!m.mr || pthread_create(&thread, NULL, mover, &r))
		return false;
	writer(&r);
	return true;
}

TEST_F(race, goes_while_it_moves)
{
	struct moving *m = &self->m;
	struct dmabuf_mover_stat stat;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		struct race r = { .m = m, .fd = m->fd, .refuse = variant->refuse };
		pthread_t thread[2];

		ASSERT_EQ(0, pthread_create(&thread[0], NULL, mover, &r));
		ASSERT_EQ(0, pthread_create(&thread[1], NULL, writer, &r));
		usleep(rand() % 50000);
		EXPECT_EQ(0, ibv_dereg_mr(m->mr));
		r.stop = true;
		pthread_join(thread[0], NULL);
		pthread_join(thread[1], NULL);
		pair_reconnect(&m->p);
		ASSERT_EQ(0, mover_stat(m->fd, &stat));
		EXPECT_EQ(0, stat.mapped);
		EXPECT_EQ(0, stat.damaged);
		m->mr = reg(m);
		ASSERT_NE(NULL, m->mr);
		EXPECT_EQ(0, there_and_back(m, 0, 200, i));
	}
}

/* Killed in the middle of moves and faults, a process leaves nothing behind, the exporter's included. */
TEST_F(race, dies_while_it_moves)
{
	unsigned int i, k;
	int status;
	pid_t pid;

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
			_exit(!write_while_it_moves(variant->refuse));
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

static void write_in_every_round(unsigned int round)
{
	write_while_it_moves(false);
}

/* The device goes in the middle of moves and faults. The exporter gets its memory back. */
TEST(device_goes_while_it_moves)
{
	int ret = mover_load(), k;

	if (ret == -ENOENT)
		SKIP(return, NO_MOVER);
	ASSERT_EQ(0, ret);
	if (!device_has(_metadata, rdma_has_odp))
		SKIP(return, NO_ODP);
	remove_device_during(_metadata, write_in_every_round);
	for (k = 0; k < 200 && mover_buffers(); k++)
		usleep(10000);
	EXPECT_EQ(0, mover_buffers());
}

TEST_HARNESS_MAIN
