// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions of various addresses, lengths and rights, checked by RDMA requests that must or
 * must not reach the memory; re-registration; and each documented errno.
 */
#include <linux/memfd.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "test.h"

#define KIB 1024ul
#define MIB (1024 * KIB)

/* --- What a region covers --------------------------------------------------------------------- */

FIXTURE(region) {
	struct rdma r;
	struct pair p;
	uint8_t *mem;
	size_t mem_len;
};

FIXTURE_VARIANT(region) {
	size_t offset;		/* of the region in its first page */
	size_t len;
	uint64_t iova;		/* page-aligned part of the iova; 0: the process's address */
	bool zero;		/* the page-aligned part of the iova is 0 */
	bool huge;		/* ask for huge pages */
};

FIXTURE_VARIANT_ADD(region, one_byte) { .offset = 0, .len = 1 };

FIXTURE_VARIANT_ADD(region, last_byte_of_a_page) { .offset = 4095, .len = 1 };

FIXTURE_VARIANT_ADD(region, two_bytes_on_two_pages) { .offset = 4095, .len = 2 };

FIXTURE_VARIANT_ADD(region, one_page) { .offset = 0, .len = 4 * KIB };

FIXTURE_VARIANT_ADD(region, one_page_and_a_byte) { .offset = 0, .len = 4 * KIB + 1 };

FIXTURE_VARIANT_ADD(region, odd_start_odd_end) { .offset = 13, .len = 100003 };

FIXTURE_VARIANT_ADD(region, one_mib) { .offset = 0, .len = MIB };

FIXTURE_VARIANT_ADD(region, huge_pages) { .offset = 0, .len = 8 * MIB, .huge = true };

FIXTURE_VARIANT_ADD(region, huge_pages_odd_start) { .offset = 8191, .len = 6 * MIB, .huge = true };

FIXTURE_VARIANT_ADD(region, iova_elsewhere) { .offset = 0, .len = 64 * KIB, .iova = 0x10000000 };

FIXTURE_VARIANT_ADD(region, iova_low_odd_start) { .offset = 77, .len = 64 * KIB, .iova = 0x10000 };

FIXTURE_VARIANT_ADD(region, iova_zero) { .offset = 0, .len = 64 * KIB, .zero = true };

FIXTURE_VARIANT_ADD(region, huge_pages_iova_zero) {
	.offset = 0, .len = 8 * MIB, .huge = true, .zero = true
};

FIXTURE_VARIANT_ADD(region, iova_high) {
	.offset = 100, .len = 20 * KIB, .iova = 0xffffffffff000000ull
};

FIXTURE_VARIANT_ADD(region, huge_pages_iova_of_another_alignment) {
	.offset = 0, .len = 4 * MIB, .iova = 0x40030000, .huge = true
};

FIXTURE_SETUP(region)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	size_t align = 2 * MIB;
	uint8_t *p;

	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, 64 * KIB));
	self->mem_len = variant->offset + variant->len + align + 2 * UV_PAGE;
	p = mmap(NULL, self->mem_len + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	/* Take memory that is aligned to a huge page and has mapped memory before it. */
	self->mem = (uint8_t *)(((uintptr_t)p + align) & ~(align - 1));
	if (variant->huge)
		madvise(self->mem, self->mem_len - align, MADV_HUGEPAGE);
	else
		madvise(self->mem, self->mem_len - align, MADV_NOHUGEPAGE);
	memset(self->mem, 0, variant->offset + variant->len + 16);
}

FIXTURE_TEARDOWN(region)
{
	pair_close(&self->p);
	rdma_close(&self->r);
}

/* RDMA WRITE from the pair's buffer to @va; returns the completion's status. */
static int write_by_rkey(struct pair *p, uint32_t rkey, uint64_t va, size_t len)
{
	return rdma_access(p, IBV_WR_RDMA_WRITE, rkey, va, len);
}

TEST_F(region, exactly_its_bytes_can_be_written)
{
	uint8_t *start = self->mem + variant->offset;
	uint64_t iova = variant->iova + variant->offset % UV_PAGE;
	size_t step, at, n;
	struct ibv_mr *mr;

	if (!variant->iova && !variant->zero)
		iova = (uintptr_t)start;
	mr = ibv_reg_mr_iova(self->r.pd, start, variant->len, iova,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);

	/* Write blocks all over the region, the first and the last byte among them. */
	step = variant->len / 5 + 1;
	for (at = 0; at < variant->len; at += step) {
		n = variant->len - at < 5000 ? variant->len - at : 5000;
		fill(self->p.buf[0], n, at);
		ASSERT_EQ(0, write_by_rkey(&self->p, mr->rkey, iova + at, n)) TH_LOG("at %zu", at);
		EXPECT_TRUE(check_fill(start + at, n, at)) TH_LOG("at %zu", at);
	}
	fill(self->p.buf[0], 1, 99);
	ASSERT_EQ(0, write_by_rkey(&self->p, mr->rkey, iova + variant->len - 1, 1));
	EXPECT_TRUE(check_fill(start + variant->len - 1, 1, 99));

	/*
	 * Try to write one byte before the region, one byte after it, and two bytes across its end.
	 */
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, write_by_rkey(&self->p, mr->rkey, iova - 1, 1));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, write_by_rkey(&self->p, mr->rkey, iova + variant->len, 1));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  write_by_rkey(&self->p, mr->rkey, iova + variant->len - 1, 2));
	EXPECT_EQ(0, start[variant->len]);

	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, write_by_rkey(&self->p, mr->rkey, iova, 1));
}

/* --- Regions around 2 and 4 GiB --------------------------------------------------------------- */

#define GIB (1024 * MIB)
#define HUGE (2 * MIB)

/*
 * The huge pages at the beginning, around 2 GiB and around 4 GiB are pages of their own. All other
 * addresses of the range are mapped to one and the same page.
 */
static const size_t own_pages[] = {
	0, 2 * GIB / HUGE - 1, 2 * GIB / HUGE, 4 * GIB / HUGE - 1, 4 * GIB / HUGE,
};

static off_t page_of(size_t i)
{
	size_t k = 0;

	while (k < ARRAY_SIZE(own_pages) && own_pages[k] != i)
		k++;
	return k * HUGE;
}

/* Map the few huge pages of a file all over a large range. Returns NULL if the machine has none. */
static uint8_t *map_large(void)
{
	const size_t pages = 4 * GIB / HUGE + 1;
	int fd = memfd_create("large", MFD_HUGETLB | MFD_HUGE_2MB);
	uint8_t *mem;
	size_t i;

	reserve_huge_pages(ARRAY_SIZE(own_pages) + 1);
	if (fd < 0 || ftruncate(fd, (ARRAY_SIZE(own_pages) + 1) * HUGE))
		return NULL;
	mem = mmap(NULL, (pages + 1) * HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return NULL;
	mem += HUGE - (uintptr_t)mem % HUGE;
	for (i = 0; i < pages; i++)
		if (mmap(mem + i * HUGE, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 page_of(i)) == MAP_FAILED)
			return NULL;
	close(fd);
	return mem;
}

FIXTURE(large) {
	struct rdma r;
	struct pair p;
	uint8_t *mem;
};

FIXTURE_VARIANT(large) {
	int access;
};

FIXTURE_VARIANT_ADD(large, pinned) { };

FIXTURE_VARIANT_ADD(large, paged) { .access = IBV_ACCESS_ON_DEMAND };

FIXTURE_SETUP(large)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };

	ASSERT_EQ(0, rdma_open(&self->r));
	if (variant->access && !rdma_has_odp(self->r.ctx))
		SKIP(return, "the device has no on-demand paging");
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, UV_PAGE));
	self->mem = map_large();
	if (!self->mem)
		SKIP(return, "there are no huge pages");
}

FIXTURE_TEARDOWN(large)
{
	pair_close(&self->p);
	rdma_close(&self->r);
}

TEST_F(large, both_ends_are_where_they_belong)
{
	const size_t lens[] = {
		2 * GIB - 1, 2 * GIB, 2 * GIB + 1, 4 * GIB - 1, 4 * GIB, 4 * GIB + 1,
	};
	struct ibv_mr *mr;
	size_t i, k, at;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		const uint64_t start = (uintptr_t)self->mem;
		const size_t ends[] = { 0, 2 * GIB - 17, 4 * GIB - 17, lens[i] - 16 };

		/*
		 * In a paged region of more than 3 GiB, mlx5_ib (7.2.12) maps a wrong page for the
		 * device.
		 */
		if (variant->access && lens[i] > 3 * GIB && !driver_is("bluebell"))
			break;
		mr = ibv_reg_mr(self->r.pd, self->mem, lens[i], variant->access |
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		ASSERT_NE(NULL, mr) TH_LOG("%zu bytes: %m", lens[i]);
		EXPECT_EQ(lens[i], mr->length);
		for (k = 0; k < ARRAY_SIZE(ends); k++) {
			at = ends[k];
			if (at + 16 > lens[i])
				continue;
			memset(self->mem + at, 0, 16);
			fill(self->p.buf[0], 16, i * 10 + k);
			EXPECT_EQ(0, write_by_rkey(&self->p, mr->rkey, start + at, 16))
				TH_LOG("%zu bytes, at %zu", lens[i], at);
			EXPECT_TRUE(check_fill(self->mem + at, 16, i * 10 + k))
				TH_LOG("%zu bytes, at %zu", lens[i], at);
		}
		self->mem[lens[i]] = 0xee;
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  write_by_rkey(&self->p, mr->rkey, start + lens[i], 1));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  write_by_rkey(&self->p, mr->rkey, start + lens[i] - 1, 2));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, write_by_rkey(&self->p, mr->rkey, start - 1, 1));
		EXPECT_EQ(0xee, self->mem[lens[i]]);
		EXPECT_EQ(0, ibv_dereg_mr(mr));
	}
}

/* --- Access ----------------------------------------------------------------------------------- */

FIXTURE(access) {
	struct rdma r;
	struct pair p;
};

FIXTURE_VARIANT(access) {
	int flags;
};

FIXTURE_VARIANT_ADD(access, local_read) { .flags = 0 };

FIXTURE_VARIANT_ADD(access, local_write) { .flags = IBV_ACCESS_LOCAL_WRITE };

FIXTURE_VARIANT_ADD(access, remote_read) { .flags = IBV_ACCESS_REMOTE_READ };

FIXTURE_VARIANT_ADD(access, remote_write) { .flags = IBV_ACCESS_LOCAL_WRITE |
					    IBV_ACCESS_REMOTE_WRITE };

FIXTURE_VARIANT_ADD(access, remote_atomic) { .flags = IBV_ACCESS_LOCAL_WRITE |
					     IBV_ACCESS_REMOTE_ATOMIC };

FIXTURE_VARIANT_ADD(access, all) { .flags = ALL_ACCESS };

FIXTURE_VARIANT_ADD(access, relaxed) {
	.flags = ALL_ACCESS | IBV_ACCESS_RELAXED_ORDERING
};

FIXTURE_SETUP(access)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };

	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, 4096));
}

FIXTURE_TEARDOWN(access)
{
	pair_close(&self->p);
	rdma_close(&self->r);
}

/* Access eight bytes by a remote key; returns the completion's status. */
static int access_by_rkey(struct pair *p, enum ibv_wr_opcode opcode, void *va, uint32_t rkey)
{
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return atomic_access(p, opcode, rkey, (uintptr_t)va, 0, 0);
	return rdma_access(p, opcode, rkey, (uintptr_t)va, 8);
}

/* Receive into the region; returns the status of the receiver's completion. */
static int recv_by_lkey(struct pair *p, struct ibv_mr *mr, void *va)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc;
	int status;

	if (post_recv(p->qp[1], mr, va, 64, 1) || post_send(p, &wr, p->buf[0], 64))
		return -1;
	reap(p->cq[0], &wc);
	status = reap(p->cq[1], &wc);
	if (status)
		pair_reconnect(p);
	return status;
}

/* Send from the region; returns the completion's status. */
static int send_by_lkey(struct pair *p, struct ibv_mr *mr, void *va)
{
	struct ibv_sge sge = { .addr = (uintptr_t)va, .length = 64, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ibv_wc wc;

	if (post_recv(p->qp[1], p->mr, p->buf[1], 64, 1))
		return -1;
	return post_and_reap(p, &wr, 0) ?: reap(p->cq[1], &wc);
}

TEST_F(access, only_requested_rights_are_granted)
{
	void *mem = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(self->r.pd, mem, UV_PAGE, variant->flags);
	const int denied = IBV_WC_REM_ACCESS_ERR;
	int flags = variant->flags, status;

	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
	EXPECT_EQ(flags & IBV_ACCESS_REMOTE_READ ? 0 : denied,
		  access_by_rkey(&self->p, IBV_WR_RDMA_READ, mem, mr->rkey));
	EXPECT_EQ(flags & IBV_ACCESS_REMOTE_WRITE ? 0 : denied,
		  access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, mem, mr->rkey));
	status = access_by_rkey(&self->p, IBV_WR_ATOMIC_FETCH_AND_ADD, mem, mr->rkey);
	if (rdma_has_atomics(self->r.ctx))
		EXPECT_EQ(flags & IBV_ACCESS_REMOTE_ATOMIC ? 0 : denied, status);
	if (!rdma_has_atomics(self->r.ctx))
		EXPECT_NE(0, status);
	EXPECT_EQ(flags & IBV_ACCESS_LOCAL_WRITE ? 0 : IBV_WC_LOC_PROT_ERR,
		  recv_by_lkey(&self->p, mr, mem));
	/* Local read access is always granted. */
	fill(mem, 64, 7);
	EXPECT_EQ(0, send_by_lkey(&self->p, mr, mem));
	EXPECT_TRUE(check_fill(self->p.buf[1], 64, 7));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* Work requests name bytes by their offset in the region. */
TEST_F(access, iova_0_makes_offsets_the_addresses)
{
	uint8_t *mem = mmap(NULL, 2 * UV_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	mr = ibv_reg_mr_iova(self->r.pd, mem, 2 * UV_PAGE, 0, variant->flags);
	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
	fill(mem + UV_PAGE, 64, 3);
	if (variant->flags & IBV_ACCESS_REMOTE_READ) {
		EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_READ, (void *)UV_PAGE, mr->rkey));
		EXPECT_TRUE(check_fill(self->p.buf[0], 8, 3));
	}
	EXPECT_EQ(0, send_by_lkey(&self->p, mr, (void *)UV_PAGE));
	EXPECT_TRUE(check_fill(self->p.buf[1], 64, 3));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	mr = ibv_reg_mr(self->r.pd, mem, 2 * UV_PAGE, variant->flags | IBV_ACCESS_ZERO_BASED);
	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
	/*
	 * With the flag alone libibverbs still passes the address as hca_va, and the driver uses
	 * that.
	 */
	EXPECT_EQ(0, send_by_lkey(&self->p, mr, mem + UV_PAGE));
	EXPECT_TRUE(check_fill(self->p.buf[1], 64, 3));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(access, keys_of_another_pd_are_refused)
{
	void *mem = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_pd *pd = ibv_alloc_pd(self->r.ctx);
	struct ibv_mr *mr;

	ASSERT_NE(NULL, pd);
	mr = ibv_reg_mr(pd, mem, UV_PAGE, variant->flags);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access_by_rkey(&self->p, IBV_WR_RDMA_READ, mem, mr->rkey));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, recv_by_lkey(&self->p, mr, mem));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/* --- Arguments and pinned pages ------------------------------------------------------------- */

FIXTURE(mr) {
	struct uv uv;
	uint32_t pd;
	void *mem;
	long pinned;
	struct ib_uverbs_reg_mr_resp resp;
};

FIXTURE_SETUP(mr)
{
	ASSERT_EQ(0, uv_open(&self->uv));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &self->pd, NULL));
	self->mem = mmap(NULL, 64 * UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	self->pinned = uv_pinned_pages();
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

/*
 * Regions that were refused or deregistered must leave neither pinned pages nor
 * firmware objects.
 */
FIXTURE_TEARDOWN(mr)
{
	EXPECT_EQ(self->pinned, uv_pinned_pages());
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	uv_close(&self->uv);
}

static int reg_and_dereg(int fd, uint32_t pd, void *mem, uint64_t len, uint64_t iova,
			 uint32_t access)
{
	struct ib_uverbs_reg_mr_resp resp;
	int ret = uv_reg_mr(fd, pd, mem, len, iova, access, &resp);

	return ret ?: uv_dereg_mr(fd, resp.mr_handle);
}

TEST_F(mr, remote_write_needs_local_write)
{
	uint64_t iova = (uintptr_t)self->mem;

	EXPECT_EQ(-EINVAL, reg_and_dereg(self->uv.fd, self->pd, self->mem, UV_PAGE, iova,
					 IBV_ACCESS_REMOTE_WRITE));
	EXPECT_EQ(-EINVAL, reg_and_dereg(self->uv.fd, self->pd, self->mem, UV_PAGE, iova,
					 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ));
}

/*
 * The only rule is that the rights to write remotely and to do atomics need the right to write
 * locally.
 */
TEST_F(mr, all_combinations_of_access)
{
	uint64_t iova = (uintptr_t)self->mem;
	uint32_t access;
	bool allowed;

	for (access = 0; access < 32; access++) {
		allowed = access & IBV_ACCESS_LOCAL_WRITE ||
			  !(access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
		EXPECT_EQ(allowed ? 0 : -EINVAL,
			  reg_and_dereg(self->uv.fd, self->pd, self->mem, UV_PAGE, iova, access))
			TH_LOG("access %#x", access);
	}
}

/* Only on-demand paging makes use of what this flag says about the pages. */
TEST_F(mr, hugetlb_flag_is_accepted)
{
	uint64_t iova = (uintptr_t)self->mem;

	EXPECT_EQ(0, reg_and_dereg(self->uv.fd, self->pd, self->mem, 2 * UV_PAGE, iova,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_HUGETLB));
}

TEST_F(mr, undefined_access_is_refused)
{
	static const unsigned int bits[] = { 10, 12, 15, 19, 30, 31 };
	uint64_t iova = (uintptr_t)self->mem;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		ret = reg_and_dereg(self->uv.fd, self->pd, self->mem, UV_PAGE, iova, 1u << bits[i]);
		EXPECT_TRUE(ret == -EINVAL || ret == -EOPNOTSUPP)
			TH_LOG("bit %u: %d", bits[i], ret);
	}
}

TEST_F(mr, optional_access_never_fails)
{
	uint64_t iova = (uintptr_t)self->mem;

	EXPECT_EQ(0, reg_and_dereg(self->uv.fd, self->pd, self->mem, UV_PAGE, iova,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING));
	EXPECT_EQ(0, reg_and_dereg(self->uv.fd, self->pd, self->mem, UV_PAGE, iova,
				   IBV_ACCESS_LOCAL_WRITE | 1u << 29));
}

TEST_F(mr, empty_region_is_refused)
{
	EXPECT_GT(0, reg_and_dereg(self->uv.fd, self->pd, self->mem, 0, (uintptr_t)self->mem, 0));
}

TEST_F(mr, iova_with_another_page_offset_is_invalid)
{
	EXPECT_EQ(-EINVAL, reg_and_dereg(self->uv.fd, self->pd, self->mem, UV_PAGE,
					 (uintptr_t)self->mem + 1, 0));
	EXPECT_EQ(-EINVAL, reg_and_dereg(self->uv.fd, self->pd, self->mem + 8, UV_PAGE, 0x10000,
					 0));
}

TEST_F(mr, overflowing_lengths_are_refused)
{
	const uint64_t len[] = { ~0ull, ~0ull - UV_PAGE, 1ull << 63, 0x7fffffffffffffffull };
	uint64_t iova = (uintptr_t)self->mem;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(len); i++) {
		ret = reg_and_dereg(self->uv.fd, self->pd, self->mem, len[i], iova, 0);
		EXPECT_TRUE(ret == -EINVAL || ret == -EFAULT || ret == -ENOMEM)
			TH_LOG("length %#llx: %d", (unsigned long long)len[i], ret);
	}
}

TEST_F(mr, unmapped_memory_is_refused)
{
	static void *const bad[] = {
		(void *)0x1000, (void *)0x7ffffffff000ul, (void *)0xffff888000000000ul,
		(void *)0xfffffffffffff000ul,
	};
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ret = reg_and_dereg(self->uv.fd, self->pd, bad[i], UV_PAGE, (uintptr_t)bad[i], 0);
		EXPECT_TRUE(ret == -EFAULT || ret == -EINVAL || ret == -ENOMEM)
			TH_LOG("address %p: %d", bad[i], ret);
	}
	/* Unmap a page in the middle. */
	munmap(self->mem + 5 * UV_PAGE, UV_PAGE);
	EXPECT_EQ(-EFAULT, reg_and_dereg(self->uv.fd, self->pd, self->mem, 16 * UV_PAGE,
					 (uintptr_t)self->mem,
				  0));
	EXPECT_EQ(0, reg_and_dereg(self->uv.fd, self->pd, self->mem, 5 * UV_PAGE,
				   (uintptr_t)self->mem, 0));
}

TEST_F(mr, read_only_memory_can_be_registered_for_reading)
{
	uint64_t iova = (uintptr_t)self->mem;

	memset(self->mem, 1, UV_PAGE);
	ASSERT_EQ(0, mprotect(self->mem, UV_PAGE, PROT_READ));
	EXPECT_EQ(0, reg_and_dereg(self->uv.fd, self->pd, self->mem, UV_PAGE, iova,
				   IBV_ACCESS_REMOTE_READ));
	EXPECT_EQ(-EFAULT, reg_and_dereg(self->uv.fd, self->pd, self->mem, UV_PAGE, iova,
					 IBV_ACCESS_LOCAL_WRITE));
}

TEST_F(mr, pins_exactly_its_pages)
{
	long cost[] = { 1, 2, 7, 16 };
	struct ib_uverbs_reg_mr_resp resp;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cost); i++) {
		ASSERT_EQ(0, uv_reg_mr(self->uv.fd, self->pd, self->mem, cost[i] * UV_PAGE,
				       (uintptr_t)self->mem, IBV_ACCESS_LOCAL_WRITE, &resp));
		EXPECT_EQ(self->pinned + cost[i], uv_pinned_pages());
		ASSERT_EQ(0, uv_dereg_mr(self->uv.fd, resp.mr_handle));
		EXPECT_EQ(self->pinned, uv_pinned_pages());
	}
}

/* Pinned pages count in the process that registered them, whichever process deregisters them. */
TEST_F(mr, pinned_pages_are_counted_in_the_process_that_pinned)
{
	struct ib_uverbs_reg_mr_resp own, other;
	int up[2], status;
	pid_t pid;

	ASSERT_EQ(0, pipe(up));
	ASSERT_EQ(0, uv_reg_mr(self->uv.fd, self->pd, self->mem, 4 * UV_PAGE,
			       (uintptr_t)self->mem, IBV_ACCESS_LOCAL_WRITE, &own));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		long pinned = uv_pinned_pages();

		if (pinned || uv_reg_mr(self->uv.fd, self->pd, self->mem, 3 * UV_PAGE,
					(uintptr_t)self->mem, IBV_ACCESS_LOCAL_WRITE, &other))
			_exit(1);
		if (uv_pinned_pages() != 3 || uv_dereg_mr(self->uv.fd, own.mr_handle))
			_exit(2);
		_exit(uv_pinned_pages() != 3 ||
		      write(up[1], &other, sizeof(other)) != sizeof(other) ? 3 : 0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/*
	 * The child has deregistered the parent's region, and has ended without deregistering its
	 * own.
	 */
	EXPECT_EQ(self->pinned, uv_pinned_pages());
	ASSERT_EQ(sizeof(other), read(up[0], &other, sizeof(other)));
	EXPECT_EQ(0, uv_dereg_mr(self->uv.fd, other.mr_handle));
	EXPECT_EQ(self->pinned, uv_pinned_pages());
}

/* UMR fails, and firmware refuses to create a key. */
TEST_F(mr, failed_registration_pins_nothing)
{
	int i;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, hca_do("inject umr"));
		ASSERT_EQ(0, hca_do("inject op CREATE_MKEY LIM_ERR"));
		EXPECT_EQ(-ENOMEM, reg_and_dereg(self->uv.fd, self->pd, self->mem,
						 (16 << i) * UV_PAGE, (uintptr_t)self->mem,
						 IBV_ACCESS_LOCAL_WRITE));
		EXPECT_EQ(self->pinned, uv_pinned_pages());
		EXPECT_LT(0, hca_inject_clear());
	}
}

TEST_F(mr, successive_regions_have_different_keys)
{
	struct ib_uverbs_reg_mr_resp resp;
	uint32_t last = 0;
	int i;

	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell promises that an old key cannot reach the next region");
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, uv_reg_mr(self->uv.fd, self->pd, self->mem, UV_PAGE,
				       (uintptr_t)self->mem,
				       IBV_ACCESS_LOCAL_WRITE, &resp));
		EXPECT_EQ(resp.lkey, resp.rkey);
		EXPECT_NE(last, resp.rkey);
		last = resp.rkey;
		ASSERT_EQ(0, uv_dereg_mr(self->uv.fd, resp.mr_handle));
	}
}

/* --- Reregistration --------------------------------------------------------------------------- */

FIXTURE(rereg) {
	struct rdma r;
	struct pair p;
	struct ibv_pd *pd;
	uint8_t *mem;
	struct ibv_mr *mr;
};

FIXTURE_SETUP(rereg)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };

	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, 4096));
	self->pd = ibv_alloc_pd(self->r.ctx);
	ASSERT_NE(NULL, self->pd);
	self->mem = mmap(NULL, 64 * UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	self->mr = ibv_reg_mr(self->r.pd, self->mem, 4 * UV_PAGE, ALL_ACCESS);
	ASSERT_NE(NULL, self->mr);
}

FIXTURE_TEARDOWN(rereg)
{
	if (self->mr)
		ibv_dereg_mr(self->mr);
	ibv_dealloc_pd(self->pd);
	pair_close(&self->p);
	rdma_close(&self->r);
}

TEST_F(rereg, new_access_applies)
{
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_READ, self->mem, self->mr->rkey));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, self->mem, self->mr->rkey));
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS));
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, self->mem, self->mr->rkey));
}

TEST_F(rereg, new_pd_applies)
{
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD, self->pd, NULL, 0, 0));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  access_by_rkey(&self->p, IBV_WR_RDMA_READ, self->mem, self->mr->rkey));
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD, self->r.pd, NULL, 0, 0));
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_READ, self->mem, self->mr->rkey));
}

/* The region moves and becomes longer: the new memory can be reached, the old memory cannot. */
TEST_F(rereg, new_memory_applies)
{
	uint8_t *to = self->mem + 10 * UV_PAGE;

	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, to, 50 * UV_PAGE,
				  0));
	fill(self->p.buf[0], 8, 3);
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, to + 50 * UV_PAGE - 8,
				    self->mr->rkey));
	EXPECT_TRUE(check_fill(to + 50 * UV_PAGE - 8, 8, 3));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, self->mem, self->mr->rkey));
}

TEST_F(rereg, all_changes_at_once_apply)
{
	uint8_t *to = self->mem + UV_PAGE;

	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_TRANSLATION |
				  IBV_REREG_MR_CHANGE_PD |
				  IBV_REREG_MR_CHANGE_ACCESS, self->pd, to, UV_PAGE,
				  IBV_ACCESS_LOCAL_WRITE));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  access_by_rkey(&self->p, IBV_WR_RDMA_READ, to, self->mr->rkey));
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS,
				  self->r.pd, NULL, 0, ALL_ACCESS));
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_READ, to, self->mr->rkey));
}

/* If the region gets new keys, the old ones reach neither the old memory nor the new. */
TEST_F(rereg, replaced_keys_are_refused)
{
	static const int flags[] = {
		IBV_REREG_MR_CHANGE_TRANSLATION,
		IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS,
		IBV_REREG_MR_CHANGE_ACCESS,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		uint8_t *to = self->mem + (8 + i) * UV_PAGE;
		uint32_t old = self->mr->rkey;

		bool moves = flags[i] & IBV_REREG_MR_CHANGE_TRANSLATION;

		ASSERT_EQ(0, ibv_rereg_mr(self->mr, flags[i], NULL, moves ? to : NULL,
					  moves ? 3 * UV_PAGE : 0,
					  flags[i] & IBV_REREG_MR_CHANGE_ACCESS ? ALL_ACCESS : 0));
		if (moves)
			EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_READ, to,
						    self->mr->rkey));
		if (old == self->mr->rkey)
			continue;
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  access_by_rkey(&self->p, IBV_WR_RDMA_READ, self->mem, old));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  access_by_rkey(&self->p, IBV_WR_RDMA_READ, to, old));
	}
}

TEST_F(rereg, change_of_access_and_pd_keeps_the_keys)
{
	/* If UMR cannot change the right to atomics, changing it takes another key. */
	const bool fixed = hca_cap("general", "umr_modify_atomic_disabled") > 0;
	const int all = fixed ? ALL_ACCESS & ~IBV_ACCESS_REMOTE_ATOMIC : ALL_ACCESS;
	uint32_t key = self->mr->rkey;

	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell promises to keep the keys");
	if (hca_cap("general", "umr_modify_entity_size_disabled") > 0)
		SKIP(return, "the driver registers no memory by UMR");
	if (fixed) {
		ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					  all));
		EXPECT_NE(key, self->mr->rkey);
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, self->mem, key));
		key = self->mr->rkey;
	}
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  IBV_ACCESS_LOCAL_WRITE));
	EXPECT_EQ(key, self->mr->rkey);
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD, self->pd, NULL, 0, 0));
	EXPECT_EQ(key, self->mr->rkey);
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS,
				  self->r.pd, NULL, 0, all));
	EXPECT_EQ(key, self->mr->rkey);
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, self->mem, key));
}

/*
 * Pages pinned for reading may be shared or zero pages, so they must be pinned again before the
 * device may write.
 */
TEST_F(rereg, read_only_region_becomes_writable)
{
	uint8_t *mem = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	struct ibv_mr *mr;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	mr = ibv_reg_mr(self->r.pd, mem, UV_PAGE, IBV_ACCESS_REMOTE_READ);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, mem, mr->rkey));
	ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS));
	fill(self->p.buf[0], 8, 4);
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, mem, mr->rkey));
	EXPECT_TRUE(check_fill(mem, 8, 4));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* The memory may stay pinned: mlx5_ib only changes the rights. */
TEST_F(rereg, pinned_region_becomes_paged)
{
	long pinned = uv_pinned_pages();

	if (!rdma_has_odp(self->r.ctx))
		SKIP(return, "the device has no on-demand paging");
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  ALL_ACCESS | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, self->mem, self->mr->rkey));
	EXPECT_LE(uv_pinned_pages(), pinned);
}

TEST_F(rereg, refused_requests_leave_the_region_unchanged)
{
	EXPECT_NE(0, ibv_rereg_mr(self->mr, 0, NULL, NULL, 0, 0));
	EXPECT_NE(0, ibv_rereg_mr(self->mr, 1 << 20, NULL, NULL, 0, 0));
	EXPECT_NE(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  IBV_ACCESS_REMOTE_WRITE));
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_READ, self->mem, self->mr->rkey));
}

/*
 * A change of the domain keeps the rights that an earlier change has set, and a change of the
 * rights keeps the domain.
 */
TEST_F(rereg, change_of_one_thing_keeps_the_other)
{
	const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;

	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, rights));
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD, self->pd, NULL, 0, 0));
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD, self->r.pd, NULL, 0, 0));
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_READ, self->mem, self->mr->rkey));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, self->mem, self->mr->rkey));
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD, self->pd, NULL, 0, 0));
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  access_by_rkey(&self->p, IBV_WR_RDMA_READ, self->mem, self->mr->rkey));
	/* A change of the memory keeps the rights and the domain. */
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS,
				  self->r.pd, NULL, 0, rights));
	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				  self->mem + 7 * UV_PAGE, 3 * UV_PAGE, 0));
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_READ, self->mem + 7 * UV_PAGE,
				    self->mr->rkey));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, self->mem + 7 * UV_PAGE,
				 self->mr->rkey));
}

/* Returns what a child process, which has the same file, gets for a change of a region's rights. */
static int rereg_in_child(struct ibv_mr *mr, int access)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access) ?
		      errno : 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ?
	       WEXITSTATUS(status) : -1;
}

/* The pages are those of the process that registered them: no other process can pin them again. */
TEST_F(rereg, another_process_cannot_pin_anew)
{
	struct ibv_mr *mr;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	mr = ibv_reg_mr(self->r.pd, self->mem, UV_PAGE, IBV_ACCESS_REMOTE_READ);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(EINVAL, rereg_in_child(mr, ALL_ACCESS));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, self->mem, mr->rkey));
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_READ, self->mem, mr->rkey));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	if (!rdma_has_odp(self->r.ctx))
		return;
	EXPECT_EQ(EINVAL, rereg_in_child(self->mr, ALL_ACCESS | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, self->mem, self->mr->rkey));
	mr = ibv_reg_mr(self->r.pd, self->mem, UV_PAGE, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(EINVAL, rereg_in_child(mr, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(EINVAL, rereg_in_child(mr, IBV_ACCESS_REMOTE_READ));
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, self->mem, mr->rkey));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* A process may not write a file that it has mapped for reading only, nor may the device. */
TEST_F(rereg, file_mapped_for_reading_is_not_made_writable)
{
	char path[] = "/tmp/rereg-XXXXXX", was[16], now[16];
	struct ibv_mr *mr;
	uint8_t *map;
	int fd;

	fd = mkstemp(path);
	ASSERT_LE(0, fd);
	unlink(path);
	ASSERT_EQ(0, ftruncate(fd, UV_PAGE));
	memset(was, 0x5a, sizeof(was));
	ASSERT_EQ(sizeof(was), pwrite(fd, was, sizeof(was), 0));
	map = mmap(NULL, UV_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	mr = ibv_reg_mr(self->r.pd, map, UV_PAGE, IBV_ACCESS_REMOTE_READ);
	ASSERT_NE(NULL, mr);
	EXPECT_NE(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS));
	if (driver_is("bluebell"))
		EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  access_by_rkey(&self->p, IBV_WR_RDMA_WRITE, map, mr->rkey));
	EXPECT_EQ(0, access_by_rkey(&self->p, IBV_WR_RDMA_READ, map, mr->rkey));
	ASSERT_EQ(sizeof(now), pread(fd, now, sizeof(now), 0));
	EXPECT_EQ(0, memcmp(was, now, sizeof(was)));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	munmap(map, UV_PAGE);
	close(fd);
}

TEST_F(rereg, pinned_pages_follow_the_new_memory)
{
	long pinned = uv_pinned_pages();

	ASSERT_EQ(0, ibv_rereg_mr(self->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, self->mem,
				  20 * UV_PAGE, 0));
	EXPECT_EQ(pinned + 16, uv_pinned_pages());
	ASSERT_EQ(0, ibv_dereg_mr(self->mr));
	self->mr = NULL;
	EXPECT_EQ(pinned - 4, uv_pinned_pages());
}

TEST_HARNESS_MAIN
