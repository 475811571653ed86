// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions whose memory is paged, over a range of memory or (implicit) over the whole address space:
 * what they cover, their rights, their keys, and what is left if firmware refuses a command or UMR
 * fails.
 */

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "klog.h"
#include "paged_setup.h"
#include "pagemap.h"

#define HUGE (2ul << 20)

FIXTURE(region) {
	struct paged o;
};

FIXTURE_SETUP(region)
{
	if (!paged_setup(_metadata, &self->o, false))
		return;
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(region)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

FIXTURE(implicit) {
	struct paged o;
};

FIXTURE_SETUP(implicit)
{
	if (!paged_setup(_metadata, &self->o, false))
		return;
	if (!paged_has_implicit(self->o.r.ctx))
		SKIP(return, NO_IMPLICIT);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(implicit)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

TEST_F(region, pins_nothing)
{
	struct paged *o = &self->o;
	long before = uv_pinned_pages();
	struct ibv_mr *mr;

	ASSERT_LE(0, before);
	mr = paged_reg(o, false);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, paged_remote(o, WRITE, 0, LEN));
	EXPECT_EQ(before, uv_pinned_pages());
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(region, bounds_and_rights_are_checked)
{
	struct paged *o = &self->o;
	struct ibv_mr *ro;

	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, paged_remote(o, WRITE, LEN - 8, 16));
	ro = ibv_reg_mr(o->r.pd, o->mem, LEN, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, ro);
	EXPECT_EQ(0, paged_run(o, READ, o->p.buf[0], o->p.mr->lkey, o->mem, ro->rkey, 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, ro->rkey, 64));
	EXPECT_EQ(0, ibv_dereg_mr(ro));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  paged_run(o, READ, o->p.buf[0], o->p.mr->lkey, o->mem, ro->rkey, 64));
}

#define READERS 6

/*
 * Have all readers read the first page of the memory at the same time; returns the first status
 * that is not 0.
 */
static int read_together(struct paged *o, struct pair *readers, uint32_t rkey)
{
	struct ibv_wc wc;
	int i, ret = 0, status;

	for (i = 0; i < READERS; i++) {
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { .remote_addr = (uintptr_t)o->mem, .rkey = rkey },
		};

		if (post_send(&readers[i], &wr, readers[i].buf[0], 64))
			return -1;
	}
	for (i = 0; i < READERS; i++) {
		status = reap(readers[i].cq[0], &wc);
		ret = ret ?: status;
	}
	return ret;
}

/*
 * The faults of all readers look alike. The driver must not take one for the repetition of another,
 * because it maps the page for writing when a fault is repeated.
 */
TEST_F(region, many_readers_of_a_page_that_is_for_reading_succeed)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct pair readers[READERS];
	struct paged *o = &self->o;
	struct ibv_mr *ro;
	int i;

	ro = ibv_reg_mr(o->r.pd, o->mem, LEN, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, ro);
	for (i = 0; i < READERS; i++)
		ASSERT_EQ(0, pair_open(&readers[i], &o->r, &cfg, UV_PAGE));
	for (i = 0; i < 20; i++) {
		madvise(o->mem, LEN, MADV_DONTNEED);
		ASSERT_EQ(0, read_together(o, readers, ro->rkey)) TH_LOG("round %d", i);
	}
	/*
	 * The region allows writing, but the process's mapping does not. mlx5_ib then asks for
	 * writable pages.
	 */
	ASSERT_EQ(0, mprotect(o->mem, LEN, PROT_READ));
	for (i = 0; i < 20 && driver_is("bluebell"); i++) {
		madvise(o->mem, LEN, MADV_DONTNEED);
		ASSERT_EQ(0, read_together(o, readers, o->mr->rkey)) TH_LOG("round %d", i);
	}
	ASSERT_EQ(0, mprotect(o->mem, LEN, PROT_READ | PROT_WRITE));
	for (i = 0; i < READERS; i++)
		pair_close(&readers[i]);
	EXPECT_EQ(0, ibv_dereg_mr(ro));
}

TEST_F(region, iova_may_differ_from_the_address)
{
	struct paged *o = &self->o;
	struct ibv_mr *mr;

	mr = ibv_reg_mr_iova(o->r.pd, o->mem + 100, LEN - 200, 0x7000000 + 100,
			     ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, mr);
	fill(o->p.buf[0], 9000, 2);
	ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, (void *)(0x7000000ul + 5000),
			       mr->rkey, 9000));
	EXPECT_TRUE(check_fill(o->mem + 5000, 9000, 2));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* A fault through a window does not tell the driver to which region the window is bound. */
TEST_F(region, no_windows_over_paged_memory)
{
	const int access = ALL_ACCESS | IBV_ACCESS_MW_BIND;
	struct paged *o = &self->o;
	struct ibv_mr *mr;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	EXPECT_EQ(NULL, ibv_reg_mr(o->r.pd, o->mem, LEN, access | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(NULL, ibv_reg_mr(o->r.pd, NULL, SIZE_MAX, access | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(EOPNOTSUPP, errno);
	/* A re-registration cannot give a region this access either. The region keeps working. */
	EXPECT_NE(0, ibv_rereg_mr(o->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  access | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(0, paged_remote(o, WRITE, 0, 64));
	mr = ibv_reg_mr(o->r.pd, o->mem, LEN, access);
	ASSERT_NE(NULL, mr);
	EXPECT_NE(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  access | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(implicit, has_no_other_iova)
{
	struct paged *o = &self->o;
	struct ibv_mr *mr;

	/*
	 * libmlx5 passes on any iova, and the driver cannot give the address space another first
	 * address.
	 */
	mr = ibv_reg_mr_iova(o->r.pd, NULL, SIZE_MAX, 0x100000, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	EXPECT_EQ(NULL, mr);
	EXPECT_EQ(EINVAL, errno);
	mr = ibv_reg_mr_iova(o->r.pd, NULL, SIZE_MAX, 0, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* A region with more translation entries than one command carries, of which few are ever used. */
TEST_F(region, large_sparse_region_works)
{
	const size_t len = 1ul << 30;
	struct paged *o = &self->o;
	struct ibv_mr *mr;
	uint8_t *mem;

	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	mr = ibv_reg_mr(o->r.pd, mem, len, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
	fill(o->p.buf[0], 8192, 2);
	ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, mem + len - 8192, mr->rkey,
			       8192));
	EXPECT_TRUE(check_fill(mem + len - 8192, 8192, 2));
	ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, mem + len / 2 - 100, mr->rkey,
			       200));
	EXPECT_TRUE(check_fill(mem + len / 2 - 100, 200, 2));
	munmap(mem, len);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

static void use_huge_pages(struct __test_metadata *_metadata, struct paged *o, int num, int access)
{
	const size_t len = num * HUGE;
	struct ibv_mr *mr;
	uint8_t *mem;
	int i;

	reserve_huge_pages(4);
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
	if (mem == MAP_FAILED)
		SKIP(return, "the kernel has no huge pages to spare");
	mr = ibv_reg_mr(o->r.pd, mem, len, ALL_ACCESS | IBV_ACCESS_ON_DEMAND | access);
	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
	for (i = 0; i < num; i++) {
		fill(o->p.buf[0], 9000, i);
		ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, mem + i * HUGE + 5000,
				       mr->rkey, 9000));
		EXPECT_TRUE(check_fill(mem + i * HUGE + 5000, 9000, i));
	}
	madvise(mem, HUGE, MADV_DONTNEED);
	ASSERT_EQ(0, paged_run(o, READ, o->p.buf[0], o->p.mr->lkey, mem + 5000, mr->rkey, 64));
	EXPECT_EQ(0, o->p.buf[0][0]);
	for (i = 1; i < num; i++) {
		ASSERT_EQ(0, paged_run(o, READ, o->p.buf[0], o->p.mr->lkey, mem + i * HUGE + 5000,
				       mr->rkey, 64));
		EXPECT_TRUE(check_fill(o->p.buf[0], 64, i));
	}
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	munmap(mem, len);
}

TEST_F(region, huge_pages_work)
{
	use_huge_pages(_metadata, &self->o, 1, IBV_ACCESS_HUGETLB);
	use_huge_pages(_metadata, &self->o, 3, 0);
}

TEST_F(region, rereg_changes_the_rights)
{
	struct paged *o = &self->o;

	ASSERT_EQ(0, ibv_rereg_mr(o->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(0, paged_remote(o, READ, 0, 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, paged_remote(o, WRITE, 0, 64));
}

/*
 * An implicit region covers memory mapped after the registration; unmapped addresses
 * are refused.
 */
TEST_F(implicit, covers_memory_mapped_later)
{
	struct paged *o = &self->o;
	struct ibv_mr *all = paged_reg(o, true);
	uint8_t *later;

	ASSERT_NE(NULL, all) TH_LOG("errno %d", errno);
	later = paged_map(NULL);
	fill(o->p.buf[0], LEN, 3);
	ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, later, all->rkey, LEN));
	EXPECT_TRUE(check_fill(later, LEN, 3));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, (void *)0x10000, all->rkey, 8));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, (void *)(1ul << 62), all->rkey,
			    8));
	munmap(later, LEN);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, later, all->rkey, 8));
	EXPECT_EQ(0, ibv_dereg_mr(all));
	if (hca_ctl_present() && driver_is("bluebell"))
		EXPECT_CENSUS_UNCHANGED();
}

/* An access across the border between two leaves of the tree of keys. */
TEST_F(implicit, works_across_leaves)
{
	const size_t seam = 1ul << 30;
	struct paged *o = &self->o;
	struct ibv_mr *all = paged_reg(o, true);
	uint8_t *mem, *at;

	ASSERT_NE(NULL, all);
	mem = mmap(NULL, 2 * seam, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	at = (uint8_t *)(((uintptr_t)mem + seam - 1) & ~(seam - 1)) - 5000;
	if (at < mem)
		at += seam;
	fill(o->p.buf[0], 10000, 3);
	ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, at, all->rkey, 10000));
	EXPECT_TRUE(check_fill(at, 10000, 3));
	ASSERT_EQ(0, paged_run(o, SEND, at, all->lkey, o->p.buf[1], o->p.mr->lkey, 10000));
	EXPECT_TRUE(check_fill(o->p.buf[1], 10000, 3));
	munmap(mem, 2 * seam);
	EXPECT_EQ(0, ibv_dereg_mr(all));
}

/* A leaf is freed when its last page has been unmapped. */
TEST_F(implicit, frees_keys_without_pages)
{
	struct paged *o = &self->o;
	struct ibv_mr *all = paged_reg(o, true);
	long with, without;
	unsigned int i;
	uint8_t *mem;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(ibv_dereg_mr(all); return, ONLY_BLUEBELL);
	ASSERT_NE(NULL, all);
	mem = mmap(NULL, 64ul << 20, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey,
				       mem + i * (16ul << 20), all->rkey, 64));
	with = hca_census_count("mkey");
	munmap(mem, 64ul << 20);
	for (i = 0; i < 100; i++) {
		without = hca_census_count("mkey");
		if (without <= with - 3)
			break;
		usleep(20000);
	}
	EXPECT_LE(without, with - 3);
	EXPECT_EQ(0, ibv_dereg_mr(all));
}

/*
 * If firmware refuses any command of a prefetch, the prefetch fails, and a later access works.
 * Firmware may refuse a command that the driver sends meanwhile to fill its pool of keys: then the
 * test tries again. The status is not LIM_ERR, because the driver repeats a command after LIM_ERR.
 */
TEST_F(implicit, prefetch_works_after_refused_commands)
{
	struct paged *o = &self->o;
	unsigned int nth, others = 0;
	int ret, fired;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, NEEDS_FAILURES);
	for (nth = 1; nth < 20; nth++) {
		struct ibv_mr *all = paged_reg(o, true);

		ASSERT_NE(NULL, all);
		ASSERT_EQ(0, hca_inject_cmd(nth, "INT_ERR"));
		ret = paged_advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
				   o->mem, LEN, all->lkey);
		fired = hca_inject_clear();
		if (fired && !ret && others++ < 5)
			nth--;
		else
			EXPECT_EQ(fired ? EFAULT : 0, ret) TH_LOG("command %u", nth);
		EXPECT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, all->rkey,
				       LEN));
		EXPECT_EQ(0, ibv_dereg_mr(all));
		EXPECT_CENSUS_UNCHANGED() TH_LOG("command %u", nth);
		if (!fired)
			break;
	}
	EXPECT_LT(1, nth);
}

/*
 * Deregister while the nth command from now fails, and, if @umr is set, three UMR
 * requests as well.
 */
static int dereg_with_failures(struct ibv_mr *mr, unsigned int nth, bool umr)
{
	int ret;

	if (hca_inject_cmd(nth, "LIM_ERR") || (umr && hca_do("inject umr 3")))
		return -1;
	ret = ibv_dereg_mr(mr);
	hca_inject_clear();
	return ret;
}

/*
 * If deregistration of an implicit region is refused, a second deregistration destroys the region
 * and all its keys.
 */
TEST_F(implicit, dereg_works_after_refused_commands)
{
	struct paged *o = &self->o;
	unsigned int refused = 0, i;
	int ret;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, NEEDS_FAILURES);
	for (i = 0; i < 24; i++) {
		struct ibv_mr *all = paged_reg(o, true);

		ASSERT_NE(NULL, all);
		ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, all->rkey,
				       LEN));
		ret = dereg_with_failures(all, 1 + i / 2, i & 1);
		if (ret) {
			EXPECT_EQ(ENOMEM, ret);
			refused++;
			EXPECT_EQ(0, ibv_dereg_mr(all));
		}
		/* If 2RST_QP was refused, the driver creates its UMR queue pair again soon. */
		EXPECT_STREQ("", hca_census_delta_within(5000))
			TH_LOG("command %u, umr %u", 1 + i / 2, i & 1);
	}
	EXPECT_LT(2, refused);
}

/* If neither UMR nor DESTROY_MKEY can revoke a key, the driver destroys the key with the region. */
TEST_F(region, key_that_cannot_be_revoked_is_destroyed_later)
{
	struct paged *o = &self->o;
	struct ibv_mr *mr;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, NEEDS_FAILURES);
	/*
	 * The process discards the region's pages, and neither UMR nor DESTROY_MKEY revokes the
	 * key.
	 */
	mr = paged_reg(o, false);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN));
	ASSERT_EQ(0, hca_do("inject umr"));
	ASSERT_EQ(0, hca_do("inject op DESTROY_MKEY LIM_ERR 1"));
	madvise(o->mem, LEN, MADV_DONTNEED);
	EXPECT_EQ(2, hca_inject_clear());
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_CENSUS_UNCHANGED();

	/*
	 * At deregistration the driver can neither revoke the key, nor clear its entries, nor
	 * destroy it: the region stays, and a second deregistration succeeds.
	 */
	mr = paged_reg(o, false);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN));
	ASSERT_EQ(0, hca_do("inject umr 3"));
	ASSERT_EQ(0, hca_do("inject op DESTROY_MKEY LIM_ERR 2"));
	EXPECT_EQ(ENOMEM, ibv_dereg_mr(mr));
	hca_inject_clear();
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_CENSUS_UNCHANGED();
}

/* Open a userfaultfd for faults on @mem. Returns a negative number if the process may not. */
static int hold_faults(uint8_t *mem, size_t len)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (uintptr_t)mem, len }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))
		return -1;
	return fd;
}

/* A process can destroy its queue pairs whenever it likes: that must not fill the log. */
TEST_F(region, queue_that_is_destroyed_during_a_fault_is_not_logged)
{
	struct paged *o = &self->o;
	struct ibv_sge sge = { (uintptr_t)o->p.buf[0], 64, o->p.mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)o->mem, .rkey = o->mr->rkey },
	};
	struct uffdio_zeropage zero = { .range = { (uintptr_t)o->mem, LEN } };
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	int logged = klog_count("PAGE_FAULT_RESUME");
	struct pollfd pfd = { .events = POLLIN };

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	pfd.fd = hold_faults(o->mem, LEN);
	if (pfd.fd < 0)
		SKIP(return, "no userfaultfd");
	/* The driver may learn that the queue pair is gone only from firmware's refusal. */
	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME BAD_RES_ERR any"));
	ASSERT_EQ(0, post_send(&o->p, &wr, NULL, 0));
	ASSERT_EQ(1, poll(&pfd, 1, 10000));
	/*
	 * The fault names the key and not the queue, so the destruction of the queue does not wait
	 * for the fault.
	 */
	pair_close(&o->p);
	EXPECT_EQ(0, ioctl(pfd.fd, UFFDIO_ZEROPAGE, &zero));
	close(pfd.fd);
	/* Deregistration waits until the driver has answered the fault. */
	EXPECT_EQ(0, ibv_dereg_mr(o->mr));
	o->mr = NULL;
	usleep(200000);
	EXPECT_EQ(logged, klog_count("PAGE_FAULT_RESUME"));
	ASSERT_EQ(0, pair_open(&o->p, &o->r, &cfg, LEN));
}

/* Map a shared file in place of the paged memory; returns another mapping of the file. */
static uint8_t *map_file(struct paged *o)
{
	int fd = memfd_create("odp", 0);
	uint8_t *view;

	if (fd < 0 || ftruncate(fd, LEN))
		return MAP_FAILED;
	view = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mmap(o->mem, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != o->mem)
		view = MAP_FAILED;
	close(fd);
	return view;
}

/* Let UMR fail while the process replaces its pages: the driver must destroy the key instead. */
static void lose_pages_without_umr(struct __test_metadata *_metadata, struct paged *o,
				   struct ibv_mr *mr)
{
	uint8_t *file = map_file(o);

	ASSERT_NE(MAP_FAILED, file);
	ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN));
	fill(file, LEN, 1);
	ASSERT_EQ(0, hca_do("inject umr"));
	ASSERT_EQ(o->mem, paged_map(o->mem));
	EXPECT_EQ(1, hca_inject_clear());
	/* Whether or not this write succeeds, it must not reach the pages of the file. */
	fill(o->p.buf[0], LEN, 2);
	paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN);
	EXPECT_TRUE(check_fill(file, LEN, 1));
	munmap(file, LEN);
}

TEST_F(region, failed_umr_at_invalidation_destroys_the_key)
{
	struct paged *o = &self->o;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, NEEDS_FAILURES);
	lose_pages_without_umr(_metadata, o, o->mr);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, paged_remote(o, READ, 0, 64));
	EXPECT_EQ(0, ibv_dereg_mr(o->mr));
	o->mr = paged_reg(o, false);
	ASSERT_NE(NULL, o->mr);
	EXPECT_EQ(0, paged_remote(o, WRITE, 0, LEN));
	EXPECT_CENSUS_UNCHANGED();
}

/* The leaf of an implicit region whose key was destroyed is created again once UMR works. */
TEST_F(implicit, recovers_after_failed_umr)
{
	struct paged *o = &self->o;
	struct ibv_mr *all;
	unsigned int i;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, NEEDS_FAILURES);
	all = paged_reg(o, true);
	ASSERT_NE(NULL, all);
	lose_pages_without_umr(_metadata, o, all);
	for (i = 0; i < 50; i++) {
		if (!paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, all->rkey, LEN))
			break;
		usleep(20000);
	}
	EXPECT_GT(50, i);
	EXPECT_TRUE(check_fill(o->mem, LEN, 2));
	EXPECT_EQ(0, ibv_dereg_mr(all));
	EXPECT_CENSUS_UNCHANGED();
}

/* Read and write all pages of a region, in an order that helps no read-ahead. */
static int access_all_pages(struct paged *o, struct ibv_mr *mr)
{
	size_t i, at;
	int ret = 0;

	for (i = 0; i < PAGES && !ret; i++) {
		at = i * 7 % PAGES * UV_PAGE;
		ret = paged_run(o, READ, o->p.buf[0], o->p.mr->lkey, mr->addr + at, mr->rkey, 1);
		if (!ret)
			ret = paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, mr->addr + at,
					mr->rkey, 1);
	}
	return ret;
}

/* The process has used the memory before it registers the memory. */
TEST_F(region, over_touched_memory_does_not_fault)
{
	struct paged *o = &self->o;
	uint8_t *other;
	struct ibv_mr *mr;
	long faults;

	fill(o->mem, LEN, 1);
	mr = paged_reg(o, false);
	ASSERT_NE(NULL, mr);
	faults = hca_counter("page_faults");
	EXPECT_EQ(0, access_all_pages(o, mr));
	EXPECT_EQ(faults, hca_counter("page_faults"));
	/* Another mapping, the middle of which has been used. */
	other = paged_map(NULL);
	ASSERT_NE(MAP_FAILED, other);
	fill(other + LEN / 4, LEN / 2, 2);
	ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, LEN, 0));
	EXPECT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, other + LEN / 4, mr->rkey,
			       LEN / 2));
	EXPECT_EQ(faults, hca_counter("page_faults"));
	EXPECT_EQ(0, access_all_pages(o, mr));
	EXPECT_LT(faults, hca_counter("page_faults"));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	munmap(other, LEN);
}

/* Map a file in place of the paged memory: the process's writes do not change the file. */
static int map_private_file(struct paged *o, unsigned int seed)
{
	int fd = memfd_create("odp", 0), ret = -1;

	fill(o->p.buf[0], LEN, seed);
	if (fd >= 0 && write(fd, o->p.buf[0], LEN) == LEN &&
	    mmap(o->mem, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == o->mem)
		ret = 0;
	close(fd);
	return ret;
}

/*
 * The process has only read these pages of a file, so they are mapped read-only: the device faults
 * before it writes to them.
 */
TEST_F(region, over_memory_for_reading_faults_on_writes_only)
{
	struct paged *o = &self->o;
	struct ibv_mr *mr;
	long faults;

	ASSERT_EQ(0, map_private_file(o, 2));
	ASSERT_TRUE(check_fill(o->mem, LEN, 2));
	mr = paged_reg(o, false);
	ASSERT_NE(NULL, mr);
	faults = hca_counter("page_faults");
	memset(o->p.buf[0], 0, LEN);
	EXPECT_EQ(0, paged_run(o, READ, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN));
	EXPECT_TRUE(check_fill(o->p.buf[0], LEN, 2));
	EXPECT_EQ(faults, hca_counter("page_faults"));
	fill(o->p.buf[0], LEN, 3);
	EXPECT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN));
	EXPECT_LT(faults, hca_counter("page_faults"));
	EXPECT_TRUE(check_fill(o->mem, LEN, 3));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* --- Memory that the process has touched before it registers it --------------------------- */

enum page_kind { SMALL_PAGES, TRANSPARENT_HUGE, HUGETLB };

FIXTURE(touched) {
	struct paged o;
	uint8_t *mapped, *mem;	/* 3 * HUGE bytes; in them 2 * HUGE aligned to HUGE */
	struct ibv_mr *mr;
	long faults;
};

FIXTURE_VARIANT(touched) {
	enum page_kind pages;
};

FIXTURE_VARIANT_ADD(touched, small_pages) { .pages = SMALL_PAGES };

FIXTURE_VARIANT_ADD(touched, transparent_huge_pages) { .pages = TRANSPARENT_HUGE };

FIXTURE_VARIANT_ADD(touched, hugetlb_pages) { .pages = HUGETLB };

FIXTURE_SETUP(touched)
{
	int flags = variant->pages == HUGETLB ? MAP_HUGETLB | MAP_HUGE_2MB : 0;

	if (!paged_setup(_metadata, &self->o, false))
		return;
	if (variant->pages == HUGETLB)
		reserve_huge_pages(4);
	self->mapped = mmap(NULL, 3 * HUGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	if (self->mapped == MAP_FAILED)
		SKIP(return, "the kernel has no huge pages to spare");
	self->mem = self->mapped + (-(uintptr_t)self->mapped & (HUGE - 1));
	if (variant->pages != HUGETLB)
		madvise(self->mapped, 3 * HUGE,
			variant->pages == SMALL_PAGES ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	fill(self->mem, 2 * HUGE, 0);
	if (variant->pages == TRANSPARENT_HUGE && madvise(self->mem, 2 * HUGE, MADV_COLLAPSE))
		SKIP(return, "the kernel has no huge pages to spare");
	self->mr = ibv_reg_mr(self->o.r.pd, self->mem, 2 * HUGE, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, self->mr);
	self->faults = hca_counter("page_faults");
}

FIXTURE_TEARDOWN(touched)
{
	EXPECT_EQ(self->faults, hca_counter("page_faults"));
	if (self->mr)
		EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	EXPECT_EQ(0, paged_close(&self->o));
	if (self->mapped)
		munmap(self->mapped, 3 * HUGE);
}

/* The teardown sees whether the device has faulted. */
TEST_F(touched, is_accessed_without_a_fault)
{
	static const struct {
		enum kind op;
		bool local, writes;
	} accesses[] = {
		{ SEND, true }, { SEND, .writes = true }, { WRITE, true },
		{ WRITE, .writes = true }, { READ, true, true }, { READ },
	};
	/* Across the border of two huge pages. The ends lie inside small pages. */
	uint8_t *mem = self->mem + HUGE - LEN / 2 + 100;
	struct paged *o = &self->o;
	struct ibv_mr *pinned = o->p.mr;
	const uint32_t len = LEN - 300;
	unsigned int i;

	for (i = 0; i < sizeof(accesses) / sizeof(*accesses); i++) {
		fill(accesses[i].writes ? o->p.buf[0] : mem, len, i);
		ASSERT_EQ(0, accesses[i].local ?
			  paged_run(o, accesses[i].op, mem, self->mr->lkey, o->p.buf[0],
				    pinned->rkey, len) :
			  paged_run(o, accesses[i].op, o->p.buf[0], pinned->lkey, mem,
				    self->mr->rkey, len));
		EXPECT_TRUE(check_fill(accesses[i].writes ? mem : o->p.buf[0], len, i))
			TH_LOG("access %u", i);
	}
}

/* UC and UD have no way to wait for a page; a message that needs one would be lost. */
static void receive(struct __test_metadata *_metadata, struct rdma *r, struct ibv_mr *mr,
		    enum ibv_qp_type type)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	const uint32_t len = 900, header = type == IBV_QPT_UD ? GRH_LEN : 0;
	uint8_t *mem = (uint8_t *)mr->addr + HUGE - 500;
	struct qp_cfg cfg = { .type = type };
	struct ibv_wc wc;
	struct pair p;
	int i;

	ASSERT_EQ(0, pair_open(&p, r, &cfg, UV_PAGE));
	for (i = 0; i < 4; i++) {
		fill(p.buf[0], len, i);
		wr.sg_list = NULL;
		ASSERT_EQ(0, post_recv(p.qp[1], mr, mem, header + len, i));
		ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], len));
		ASSERT_EQ(0, reap_ok(p.cq[0], &wc));
		ASSERT_EQ(0, reap_ok(p.cq[1], &wc));
		EXPECT_EQ(header + len, wc.byte_len);
		EXPECT_TRUE(check_fill(mem + header, len, i));
	}
	pair_close(&p);
}

TEST_F(touched, receives_datagrams)
{
	receive(_metadata, &self->o.r, self->mr, IBV_QPT_UD);
}

TEST_F(touched, receives_messages_of_unreliable_connections)
{
	if (!rdma_has_qp_type(IBV_QPT_UC))
		SKIP(return, NO_UC);
	receive(_metadata, &self->o.r, self->mr, IBV_QPT_UC);
}

#define SIGNAL_US 300	/* between two signals */
#define SIGNAL_ROUNDS 20

static volatile sig_atomic_t signals;

static void count_signal(int sig)
{
	signals++;
}

/* Register the first paged region of an address space while signals arrive all the time. */
static int register_under_signals(void)
{
	const struct itimerval often = { { .tv_usec = SIGNAL_US }, { .tv_usec = SIGNAL_US } };
	const struct sigaction action = { .sa_handler = count_signal };
	const struct itimerval never = {};
	struct ibv_mr *mr;
	struct rdma r;
	void *mem;
	int err;

	mem = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED || rdma_open(&r))
		return 1;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (signals < 2)
		;
	mr = ibv_reg_mr(r.pd, mem, UV_PAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	err = errno;
	setitimer(ITIMER_REAL, &never, NULL);
	if (!mr)
		return err;
	ibv_dereg_mr(mr);
	rdma_close(&r);
	return 0;
}

TEST(signal_does_not_make_a_registration_fail)
{
	int i, status;
	struct rdma r;
	bool has;
	pid_t pid;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_EQ(0, rdma_open(&r));
	has = rdma_has_odp(r.ctx);
	rdma_close(&r);
	if (!has)
		SKIP(return, NO_ODP);
	for (i = 0; i < SIGNAL_ROUNDS; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(register_under_signals());
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status) TH_LOG("errno %d", WEXITSTATUS(status));
	}
}

/* ---- Huge pages of an implicit region ------------------------------------------------------ */

FIXTURE(huge) {
	struct paged o;
	uint8_t *mapped, *mem;	/* 3 * HUGE bytes; in them 2 * HUGE aligned to HUGE */
	struct ibv_mr *all;
};

FIXTURE_VARIANT(huge) {
	bool hugetlb;
};

FIXTURE_VARIANT_ADD(huge, transparent_huge_pages) { .hugetlb = false };

FIXTURE_VARIANT_ADD(huge, hugetlb_pages) { .hugetlb = true };

FIXTURE_SETUP(huge)
{
	int flags = variant->hugetlb ? MAP_HUGETLB | MAP_HUGE_2MB : 0;

	if (!paged_setup(_metadata, &self->o, false))
		return;
	if (!paged_has_implicit(self->o.r.ctx))
		SKIP(return, NO_IMPLICIT);
	if (variant->hugetlb)
		reserve_huge_pages(4);
	self->mapped = mmap(NULL, 3 * HUGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	if (self->mapped == MAP_FAILED)
		SKIP(return, "the kernel has no huge pages to spare");
	self->mem = self->mapped + (-(uintptr_t)self->mapped & (HUGE - 1));
	if (!variant->hugetlb)
		madvise(self->mapped, 3 * HUGE, MADV_HUGEPAGE);
	fill(self->mem, 2 * HUGE, 7);
	if (!variant->hugetlb && madvise(self->mem, 2 * HUGE, MADV_COLLAPSE))
		SKIP(return, "the kernel has no huge pages to spare");
	self->all = paged_reg(&self->o, true);
	ASSERT_NE(NULL, self->all);
}

FIXTURE_TEARDOWN(huge)
{
	if (self->all)
		EXPECT_EQ(0, ibv_dereg_mr(self->all));
	EXPECT_EQ(0, paged_close(&self->o));
	if (self->mapped && self->mapped != MAP_FAILED)
		munmap(self->mapped, 3 * HUGE);
}

/*
 * An access to one small page of a huge page maps the huge page, in whatever order a program
 * accesses the pages. The stock driver maps what the operation accesses.
 */
TEST_F(huge, page_of_an_implicit_region_faults_once)
{
	const unsigned int num = 2 * HUGE / UV_PAGE, step = num / 4 + 3;
	unsigned int i, page;
	struct paged *o = &self->o;
	long faults = hca_counter("page_faults");
	uint8_t *at;

	for (i = 0; i < num / 4; i++) {
		page = i * step % num;
		at = self->mem + page * UV_PAGE + 16;
		memset(o->p.buf[0], 0, 64);
		ASSERT_EQ(0, paged_run(o, READ, o->p.buf[0], o->p.mr->lkey, at, self->all->rkey,
				       64));
		ASSERT_EQ(0, memcmp(at, o->p.buf[0], 64)) TH_LOG("page %u", page);
	}
	faults = hca_counter("page_faults") - faults;
	EXPECT_LE(2, faults);
	if (driver_is("bluebell"))
		EXPECT_GE(2, faults);
	/* The device writes to pages that were mapped for a read. */
	fill(o->p.buf[0], LEN, 8);
	ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, self->mem + HUGE - LEN / 2,
			       self->all->rkey, LEN));
	EXPECT_TRUE(check_fill(self->mem + HUGE - LEN / 2, LEN, 8));
	/* The process loses a huge page, and gets another. */
	madvise(self->mem, HUGE, MADV_DONTNEED);
	ASSERT_EQ(0, paged_run(o, READ, o->p.buf[0], o->p.mr->lkey, self->mem + UV_PAGE,
			       self->all->rkey, 64));
	EXPECT_EQ(0, o->p.buf[0][0]);
	EXPECT_EQ(0, o->p.buf[0][63]);
}

TEST_HARNESS_MAIN
