// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registration by UMR: it needs no firmware command, and it works when many threads register at
 * once, when a region is long, when the HCA fails a request, when the process is killed and when
 * the device is removed.
 */
#include <fcntl.h>
#include <json-c/json.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "binding.h"
#include "kernel_file.h"
#include "klog.h"
#include "test.h"

#define KIB 1024ul
#define MIB (1024 * KIB)
#define THREADS 16
#define REGION_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static void *map_small_pages(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* Small pages, so that a few megabytes need a long list of translation entries. */
	madvise(p, len, MADV_NOHUGEPAGE);
	return p;
}

/* RDMA WRITE a pattern to @at; returns the completion's status, or -1 if it was written wrongly. */
static int write_and_check(struct pair *p, uint32_t rkey, uint8_t *at, size_t len,
			   unsigned int seed)
{
	int status;

	fill(p->buf[0], len, seed);
	status = rdma_access(p, IBV_WR_RDMA_WRITE, rkey, (uintptr_t)at, len);
	return status ?: check_fill(at, len, seed) ? 0 : -1;
}

/*
 * Register and deregister until no command is sent, not even by background work: then the UMR queue
 * pair is running and the pool has the keys that it wants. False if that does not happen.
 */
static bool warm_up(struct ibv_pd *pd, void *mem)
{
	struct ibv_mr *mr;
	int i;

	for (i = 0; i < 200; i++) {
		hca_commands_reset();
		mr = ibv_reg_mr(pd, mem, UV_PAGE, REGION_ACCESS);
		if (!mr || ibv_dereg_mr(mr))
			return false;
		usleep(20000);
		if (!hca_commands(NULL))
			return true;
	}
	return false;
}

FIXTURE(fast) {
	struct rdma r;
	struct pair p;
	uint8_t *mem;
};

FIXTURE_SETUP(fast)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, 4096));
	self->mem = map_small_pages(64 * UV_PAGE);
	ASSERT_NE(NULL, self->mem);
	ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(fast)
{
	EXPECT_CENSUS_UNCHANGED();
	EXPECT_LE(0, hca_inject_clear());
	pair_close(&self->p);
	rdma_close(&self->r);
}

TEST_F(fast, warm_registration_needs_no_command)
{
	struct ibv_mr *mr;
	long umr;
	int i;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_TRUE(warm_up(self->r.pd, self->mem));
	ASSERT_EQ(0, hca_commands_reset());
	umr = hca_counter("umr");
	for (i = 0; i < 20; i++) {
		mr = ibv_reg_mr(self->r.pd, self->mem, UV_PAGE, REGION_ACCESS);
		ASSERT_NE(NULL, mr);
		ASSERT_EQ(0, write_and_check(&self->p, mr->rkey, self->mem, 64, i));
		ASSERT_EQ(0, ibv_dereg_mr(mr));
	}
	EXPECT_EQ(0, hca_commands(NULL));
	EXPECT_EQ(umr + 40, hca_counter("umr"));
}

/* The pool has free keys for several regions even before any region has been deregistered. */
TEST_F(fast, first_regions_find_keys_in_the_pool)
{
	struct ibv_mr *mr[4];
	long umr;
	int i;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_TRUE(warm_up(self->r.pd, self->mem));
	umr = hca_counter("umr");
	for (i = 0; i < 4; i++) {
		mr[i] = ibv_reg_mr(self->r.pd, self->mem + i * UV_PAGE, UV_PAGE, REGION_ACCESS);
		ASSERT_NE(NULL, mr[i]);
	}
	/*
	 * Each region takes one UMR request. Commands are not counted, because background work may
	 * refill the pool.
	 */
	EXPECT_EQ(umr + 4, hca_counter("umr"));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, ibv_dereg_mr(mr[i]));
}

/* A key from the pool has the rights and the bounds of its new region only. */
TEST_F(fast, reused_key_keeps_nothing_of_its_last_region)
{
	static const int access[] = {
		REGION_ACCESS, IBV_ACCESS_LOCAL_WRITE, ALL_ACCESS, IBV_ACCESS_REMOTE_READ,
		ALL_ACCESS | IBV_ACCESS_RELAXED_ORDERING, 0,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING,
	};
	uint32_t old = 0;
	struct ibv_mr *mr;
	int i, want;

	for (i = 0; i < 40; i++) {
		size_t pages = 1 + i % 8;
		uint8_t *start = self->mem + i * UV_PAGE;

		mr = ibv_reg_mr(self->r.pd, start, pages * UV_PAGE, access[i % ARRAY_SIZE(access)]);
		ASSERT_NE(NULL, mr);
		want = access[i % ARRAY_SIZE(access)] & IBV_ACCESS_REMOTE_WRITE ?
			0 : IBV_WC_REM_ACCESS_ERR;
		EXPECT_EQ(want, write_and_check(&self->p, mr->rkey, start + pages * UV_PAGE - 8, 8,
						i));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  write_and_check(&self->p, mr->rkey, start + pages * UV_PAGE, 8, i));
		if (i && driver_is("bluebell"))
			EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
				  write_and_check(&self->p, old, start, 8, i));
		old = mr->rkey;
		ASSERT_EQ(0, ibv_dereg_mr(mr));
	}
}

/* --- Long lists ------------------------------------------------------------------------------- */

/*
 * A command of the emulated HCA has at most 2 MiB, and CREATE_MKEY then carries this many entries:
 * more than a UMR request can write whose offset has 16 bits.
 */
#define COMMAND_LIST ((2 * MIB - 272) / 8)
#define NO_LONG_LIST "neither UMR nor a command of this device can write so many entries"

static bool can_fill_entries(size_t entries)
{
	return entries <= COMMAND_LIST || hca_cap("general", "umr_extended_translation_offset");
}

FIXTURE(region_of) {
	struct rdma r;
	struct pair p;
	uint8_t *mem;
	size_t len;
};

FIXTURE_VARIANT(region_of) {
	size_t len;
	unsigned int pages;	/* in addition */
};

/*
 * In pages of 4 KiB the list has one part, two or several parts, or so many that the offset of the
 * last part needs more than 16 bits.
 */
FIXTURE_VARIANT_ADD(region_of, mib_1) { .len = MIB };

FIXTURE_VARIANT_ADD(region_of, mib_32) { .len = 32 * MIB };

FIXTURE_VARIANT_ADD(region_of, mib_33) { .len = 33 * MIB };

FIXTURE_VARIANT_ADD(region_of, mib_100_and_a_page) { .len = 100 * MIB, .pages = 1 };

FIXTURE_VARIANT_ADD(region_of, mib_600) { .len = 600 * MIB };

FIXTURE_SETUP(region_of)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };

	self->len = variant->len + variant->pages * UV_PAGE;
	if (!can_fill_entries(self->len / UV_PAGE))
		SKIP(return, NO_LONG_LIST);
	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, 4096));
	self->mem = map_small_pages(self->len);
	ASSERT_NE(NULL, self->mem);
}

FIXTURE_TEARDOWN(region_of)
{
	pair_close(&self->p);
	rdma_close(&self->r);
}

TEST_F_TIMEOUT(region_of, each_page_is_reached, 300)
{
	size_t pages = self->len / UV_PAGE, at;
	struct ibv_mr *mr;
	int turn;

	for (turn = 0; turn < 2; turn++) {
		mr = ibv_reg_mr(self->r.pd, self->mem, self->len, REGION_ACCESS);
		ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
		/*
		 * Write to pages all over the region, and then across each page border at which a
		 * part of the list can end.
		 */
		for (at = 0; at < pages; at += 1365) {
			ASSERT_EQ(0, write_and_check(&self->p, mr->rkey, self->mem + at * UV_PAGE,
						     64, at))
				TH_LOG("page %zu", at);
		}
		for (at = 4096; at < pages; at += 4096)
			ASSERT_EQ(0, write_and_check(&self->p, mr->rkey,
						     self->mem + at * UV_PAGE - 32, 64, at + 1))
				TH_LOG("page %zu", at);
		ASSERT_EQ(0, write_and_check(&self->p, mr->rkey, self->mem + self->len - 64, 64,
					     5));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  write_and_check(&self->p, mr->rkey, self->mem + self->len - 63, 64,
					  5));
		ASSERT_EQ(0, ibv_dereg_mr(mr));
	}
}

/*
 * With this injection the HCA reorders UMR requests on one key, unless a fence orders the requests.
 * To register a long list takes several requests.
 */
TEST_F(fast, requests_on_one_key_keep_their_order)
{
	const size_t len = 100 * MIB;
	uint8_t *mem = map_small_pages(len);
	struct ibv_mr *mr;
	long reordered;
	size_t at;

	ASSERT_NE(NULL, mem);
	reordered = hca_counter("umr_reordered");
	ASSERT_LE(0, reordered);
	ASSERT_EQ(0, hca_do("inject umr reorder"));
	mr = ibv_reg_mr(self->r.pd, mem, len, REGION_ACCESS);
	ASSERT_NE(NULL, mr);
	for (at = 0; at < len; at += 7 * MIB)
		EXPECT_EQ(0, write_and_check(&self->p, mr->rkey, mem + at, 64, at));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(reordered, hca_counter("umr_reordered"));
	munmap(mem, len);
}

/* Memory of @num pieces, each of which is the same huge pages. */
struct repeated {
	int fd;
	uint8_t *file;		/* the huge pages */
	uint8_t *mem;
	size_t piece, len;
	uint64_t iova;		/* at another offset in a huge page, so small pages are mapped */
};

/* Returns false if the kernel has no huge pages to spare. */
static bool repeated_map(struct repeated *r, size_t piece, size_t num)
{
	size_t i;

	*r = (struct repeated){ .piece = piece, .len = piece * num };
	reserve_huge_pages(piece / (2 * MIB));
	r->fd = memfd_create("fastreg", MFD_HUGETLB | MFD_HUGE_2MB);
	if (r->fd < 0 || ftruncate(r->fd, piece))
		return false;
	r->file = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	r->mem = mmap(NULL, r->len + 2 * MIB, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->file == MAP_FAILED || r->mem == MAP_FAILED)
		return false;
	r->mem = (void *)(((uintptr_t)r->mem + 2 * MIB - 1) & -(2 * MIB));
	for (i = 0; i < num; i++)
		if (mmap(r->mem + i * piece, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 r->fd, 0) == MAP_FAILED)
			return false;
	r->iova = (uintptr_t)r->mem + UV_PAGE;
	return true;
}

static void repeated_unmap(struct repeated *r)
{
	munmap(r->file, r->piece);
	munmap(r->mem, r->len);
	close(r->fd);
	reserve_huge_pages(0);
}

/* More entries than one command can carry: a bit more than 64 GiB. */
TEST_F_TIMEOUT(fast, region_of_more_than_64_gib, 600)
{
	const size_t piece = 64 * MIB, num = 1025, len = piece * num;
	struct repeated r;
	struct ibv_mr *mr;
	size_t i;

	if (!can_fill_entries(len / UV_PAGE))
		SKIP(return, NO_LONG_LIST);
	if (!repeated_map(&r, piece, num))
		SKIP(return, "the kernel has no huge pages to spare");
	mr = ibv_reg_mr_iova(self->r.pd, r.mem, len, r.iova, REGION_ACCESS);
	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
	for (i = 0; i < num; i += 31) {
		size_t at = i * 4099 * UV_PAGE % piece;

		fill(self->p.buf[0], 64, i);
		ASSERT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey,
					 r.iova + i * piece + at, 64)) TH_LOG("piece %zu", i);
		EXPECT_TRUE(check_fill(r.file + at, 64, i)) TH_LOG("piece %zu", i);
	}
	EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, r.iova + len - 64, 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, r.iova + len - 63, 64));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	repeated_unmap(&r);
}

/* The longest possible list works; with one page more the registration fails and pins nothing. */
TEST_F(fast, list_beyond_umr_and_command_is_refused)
{
	const size_t len = COMMAND_LIST * UV_PAGE;
	struct repeated r;
	struct ibv_mr *mr;
	long pinned;

	if (can_fill_entries(COMMAND_LIST + 1))
		SKIP(return, "UMR of this device can write lists of any length");
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (!repeated_map(&r, 2 * MIB, len / (2 * MIB) + 1))
		SKIP(return, "the kernel has no huge pages to spare");
	pinned = uv_pinned_pages();
	mr = ibv_reg_mr_iova(self->r.pd, r.mem, len, r.iova, REGION_ACCESS);
	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
	EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, r.iova + len - 64, 64));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(NULL, ibv_reg_mr_iova(self->r.pd, r.mem, len + UV_PAGE, r.iova, REGION_ACCESS));
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(pinned, uv_pinned_pages());
	repeated_unmap(&r);
}

/* --- Many threads ----------------------------------------------------------------------------- */

struct worker {
	pthread_t thread;
	struct rdma *r;
	struct pair p;
	uint8_t *mem;
	unsigned int number, rounds;
	atomic_bool *stop;
	const char *wrong;
};

/* Register regions of different sizes, and use each before it is deregistered. */
static void *register_and_check(void *arg)
{
	struct worker *w = arg;
	unsigned int i;

	for (i = 0; i < w->rounds && !w->wrong; i++) {
		size_t len = UV_PAGE << (i + w->number) % 6;
		struct ibv_mr *mr = ibv_reg_mr(w->r->pd, w->mem, len, REGION_ACCESS);

		if (!mr) {
			w->wrong = "ibv_reg_mr";
			break;
		}
		if (write_and_check(&w->p, mr->rkey, w->mem + len - 64, 64, i + 1000 * w->number))
			w->wrong = "RDMA WRITE";
		if (ibv_dereg_mr(mr))
			w->wrong = "ibv_dereg_mr";
	}
	return NULL;
}

FIXTURE(threads) {
	struct rdma r;
	struct worker w[THREADS];
};

FIXTURE_SETUP(threads)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	int i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, rdma_open(&self->r));
	for (i = 0; i < THREADS; i++) {
		struct worker *w = &self->w[i];

		w->r = &self->r;
		w->number = i;
		ASSERT_EQ(0, pair_open(&w->p, &self->r, &cfg, 4096));
		w->mem = map_small_pages(32 * UV_PAGE);
		ASSERT_NE(NULL, w->mem);
	}
	ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(threads)
{
	int i;

	EXPECT_CENSUS_UNCHANGED();
	EXPECT_LE(0, hca_inject_clear());
	for (i = 0; i < THREADS; i++)
		pair_close(&self->w[i].p);
	rdma_close(&self->r);
}

TEST_F(threads, concurrent_registration_works)
{
	int i;

	for (i = 0; i < THREADS; i++) {
		self->w[i].rounds = 30;
		ASSERT_EQ(0, pthread_create(&self->w[i].thread, NULL, register_and_check,
					    &self->w[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(self->w[i].thread, NULL);
		EXPECT_EQ(NULL, self->w[i].wrong)
			TH_LOG("thread %d: %s", i, self->w[i].wrong);
	}
}

TEST_F(threads, concurrent_registration_survives_failed_umr)
{
	int i, k;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	for (i = 0; i < THREADS; i++) {
		self->w[i].rounds = 30;
		ASSERT_EQ(0, pthread_create(&self->w[i].thread, NULL, register_and_check,
					    &self->w[i]));
	}
	for (k = 0; k < 5; k++) {
		EXPECT_EQ(0, hca_do("inject umr 1 %d", 5 * k));
		usleep(150000);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(self->w[i].thread, NULL);
		EXPECT_EQ(NULL, self->w[i].wrong)
			TH_LOG("thread %d: %s", i, self->w[i].wrong);
	}
	EXPECT_LT(0, hca_inject_clear());
	EXPECT_TRUE(warm_up(self->r.pd, self->w[0].mem));
}

/* --- Failed UMR requests ---------------------------------------------------------------------- */

/* Register a region by UMR, without a firmware command. */
static struct ibv_mr *reg_by_umr(struct __test_metadata *_metadata, struct ibv_pd *pd, void *mem)
{
	struct ibv_mr *mr;

	ASSERT_TRUE(warm_up(pd, mem));
	mr = ibv_reg_mr(pd, mem, UV_PAGE, REGION_ACCESS);
	ASSERT_NE(NULL, mr);
	return mr;
}

/*
 * If the HCA fails a UMR request, firmware registers the region; after a while UMR is
 * used again.
 */
TEST_F(fast, registration_falls_back_to_firmware)
{
	struct ibv_mr *mr;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_TRUE(warm_up(self->r.pd, self->mem));
	ASSERT_EQ(0, hca_do("inject umr"));
	mr = ibv_reg_mr(self->r.pd, self->mem, UV_PAGE, REGION_ACCESS);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_EQ(0, write_and_check(&self->p, mr->rkey, self->mem, 64, 1));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, write_and_check(&self->p, mr->rkey, self->mem, 64, 1));
	EXPECT_TRUE(warm_up(self->r.pd, self->mem));
}

/* True if an IOMMU maps scattered pages to one range of DMA addresses, so that lists are short. */
static bool behind_iommu(void)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/iommu_group",
		 rdma_device_name());
	return !access(path, F_OK);
}

/* Firmware registers the region, too, if the HCA fails any one UMR request of a long list. */
TEST_F(fast, registration_falls_back_after_any_failed_part)
{
	const size_t len = 100 * MIB;
	uint8_t *mem = map_small_pages(len);
	struct ibv_mr *mr;
	int part;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_NE(NULL, mem);
	for (part = 0; part < (behind_iommu() ? 1 : 4); part++) {
		ASSERT_TRUE(warm_up(self->r.pd, self->mem));
		ASSERT_EQ(0, hca_do("inject umr 1 %d", part));
		mr = ibv_reg_mr(self->r.pd, mem, len, REGION_ACCESS);
		ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
		EXPECT_EQ(1, hca_inject_clear());
		EXPECT_EQ(0, write_and_check(&self->p, mr->rkey, mem, 64, part));
		EXPECT_EQ(0, write_and_check(&self->p, mr->rkey, mem + len - 64, 64, part + 1));
		EXPECT_EQ(0, ibv_dereg_mr(mr));
		EXPECT_CENSUS_UNCHANGED();
	}
	munmap(mem, len);
}

TEST_F(fast, deregistration_falls_back_to_firmware)
{
	struct ibv_mr *mr;
	uint32_t rkey;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	mr = reg_by_umr(_metadata, self->r.pd, self->mem);
	rkey = mr->rkey;
	ASSERT_EQ(0, hca_do("inject umr"));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, write_and_check(&self->p, rkey, self->mem, 64, 1));
}

/*
 * Neither UMR nor DESTROY_MKEY can revoke the key: the region stays as it was, and a second
 * deregistration succeeds.
 */
TEST_F(fast, refused_deregistration_keeps_the_region)
{
	struct ibv_mr *mr;
	uint32_t rkey;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	mr = reg_by_umr(_metadata, self->r.pd, self->mem);
	rkey = mr->rkey;
	ASSERT_EQ(0, hca_do("inject umr"));
	ASSERT_EQ(0, hca_do("inject op DESTROY_MKEY LIM_ERR 1"));
	EXPECT_EQ(ENOMEM, ibv_dereg_mr(mr));
	EXPECT_EQ(2, hca_inject_clear());
	EXPECT_EQ(0, write_and_check(&self->p, rkey, self->mem, 64, 1));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, write_and_check(&self->p, rkey, self->mem, 64, 1));
	EXPECT_CENSUS_UNCHANGED();
}

TEST_F(fast, failed_change_of_access_replaces_the_key)
{
	struct ibv_mr *mr;
	uint32_t old;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	mr = reg_by_umr(_metadata, self->r.pd, self->mem);
	old = mr->rkey;
	ASSERT_EQ(0, hca_do("inject umr"));
	EXPECT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_NE(old, mr->rkey);
	EXPECT_EQ(0, write_and_check(&self->p, mr->rkey, self->mem, 64, 1));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, write_and_check(&self->p, old, self->mem, 64, 1));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/*
 * While the queue pair cannot be started, the driver tries less and less often and uses
 * firmware.
 */
TEST_F(fast, restart_is_tried_less_and_less_often)
{
	struct ibv_mr *mr;
	int i;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_TRUE(warm_up(self->r.pd, self->mem));
	ASSERT_EQ(0, hca_do("inject op RST2INIT_QP LIM_ERR"));
	ASSERT_EQ(0, hca_do("inject umr"));
	for (i = 0; i < 10; i++) {
		mr = ibv_reg_mr(self->r.pd, self->mem, UV_PAGE, REGION_ACCESS);
		ASSERT_NE(NULL, mr);
		EXPECT_EQ(0, ibv_dereg_mr(mr));
		usleep(100000);
	}
	/* The failed request, and attempts to start after 0.1, 0.3 and 0.7 s. */
	EXPECT_GE(5, hca_inject_clear());
	EXPECT_TRUE(warm_up(self->r.pd, self->mem));
}

/* --- Free keys -------------------------------------------------------------------------------- */

#define MANY 300

static long free_keys(void)
{
	return hca_census_count("mkey_free");
}

/* Register MANY regions, then deregister all of them. */
static bool reg_and_dereg_many(struct ibv_pd *pd, void *mem)
{
	struct ibv_mr *mr[MANY];
	bool good = true;
	int i;

	for (i = 0; i < MANY; i++)
		mr[i] = ibv_reg_mr(pd, mem, UV_PAGE, REGION_ACCESS);
	for (i = 0; i < MANY; i++)
		good &= mr[i] && !ibv_dereg_mr(mr[i]);
	return good;
}

TEST_F(fast, shrinker_destroys_unused_keys)
{
	long before = free_keys(), commands = MANY;
	int i;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_TRUE(reg_and_dereg_many(self->r.pd, self->mem));
	/*
	 * The pool keeps the keys: the next MANY regions need only the few commands that refill
	 * it. Every 30 s the pool destroys some keys, which the regions after that need again, so
	 * two rounds may send more commands.
	 */
	EXPECT_LE(MANY, free_keys());
	for (i = 0; i < 3 && commands > 8; i++) {
		ASSERT_EQ(0, hca_commands_reset());
		ASSERT_TRUE(reg_and_dereg_many(self->r.pd, self->mem));
		commands = hca_commands(NULL);
	}
	EXPECT_GE(8, commands);
	/* When the kernel shrinks its caches, the pool gives the keys up. */
	for (i = 0; i < 100 && free_keys() > before + 50; i++) {
		ASSERT_EQ(0, empty_caches(DROP_SLAB));
		usleep(50000);
	}
	EXPECT_GE(before + 50, free_keys());
}

/* Every half minute the pool destroys half of the keys that have not been used again. */
TEST_F_TIMEOUT(fast, unused_keys_are_destroyed_over_time, 120)
{
	long many = 0;
	int i;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	/*
	 * On a slow machine the half minute may end during the loop, and the pool destroys keys.
	 * Then the next half minute has just begun: try once more.
	 */
	for (i = 0; i < 2 && many < MANY; i++) {
		ASSERT_TRUE(reg_and_dereg_many(self->r.pd, self->mem));
		many = free_keys();
	}
	EXPECT_LE(MANY, many);
	for (i = 0; i < 70 && free_keys() > many - MANY / 4; i++)
		sleep(1);
	EXPECT_GE(many - MANY / 4, free_keys());
	/* The driver must not destroy all free keys at once. */
	EXPECT_LE(MANY / 4, free_keys());
}

/* --- Killed processes, and removal of the device ---------------------------------------------- */

/*
 * Register and deregister until told to stop, or until registration fails because the device is
 * gone.
 */
static void *register_until_stopped(void *arg)
{
	struct worker *w = arg;
	unsigned int i;

	for (i = 0; !atomic_load(w->stop); i++) {
		struct ibv_mr *mr = ibv_reg_mr(w->r->pd, w->mem, UV_PAGE << (i % 6), REGION_ACCESS);

		if (!mr)
			break;
		ibv_dereg_mr(mr);
	}
	return NULL;
}

static int start_workers(struct worker *w, struct rdma *r, atomic_bool *stop)
{
	int i;

	for (i = 0; i < THREADS; i++) {
		w[i].r = r;
		w[i].stop = stop;
		w[i].mem = map_small_pages(32 * UV_PAGE);
		if (!w[i].mem || pthread_create(&w[i].thread, NULL, register_until_stopped, &w[i]))
			return -1;
	}
	return 0;
}

TEST(killed_while_registering)
{
	int ready[2], status;
	struct ibv_mr *mr;
	struct rdma r;
	char byte;
	pid_t pid;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	/*
	 * mlx5_ib creates its UMR queue pair at the first registration: let it do so before the
	 * census.
	 */
	ASSERT_EQ(0, rdma_open(&r));
	mr = ibv_reg_mr(r.pd, map_small_pages(UV_PAGE), UV_PAGE, 0);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, ibv_dereg_mr(mr));
	rdma_close(&r);
	ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		static struct worker w[THREADS];
		static atomic_bool stop;

		if (rdma_open(&r) || start_workers(w, &r, &stop) || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	usleep(300000);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	/*
	 * The kernel may drop the last reference to the file a moment after the process
	 * has ended.
	 */
	EXPECT_STREQ("", hca_census_delta_within(5000));
}

FIXTURE(bound) {
	struct binding b;
};

FIXTURE_SETUP(bound)
{
	ASSERT_EQ(0, binding_find(&self->b));
}

FIXTURE_TEARDOWN(bound)
{
	/* Bind the driver again for the tests that follow, also after a failure. */
	binding_do(&self->b, "bind");
	EXPECT_TRUE(binding_wait_device());
}

/* Unbind the driver while threads register, and bind it again. */
TEST_F(bound, device_removal_while_registering)
{
	static struct worker w[THREADS];
	static atomic_bool stop;
	struct rdma r;
	int i;

	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, start_workers(w, &r, &stop));
	usleep(300000);
	ASSERT_EQ(0, binding_do(&self->b, "unbind"));
	for (i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	EXPECT_EQ(NULL, ibv_reg_mr(r.pd, w[0].mem, UV_PAGE, REGION_ACCESS));
	EXPECT_EQ(0, binding_do(&self->b, "bind"));
	/* The old context can only be closed; a new process would open the new device. */
	ibv_close_device(r.ctx);
}

struct umr_queue {
	uint32_t cqn;
};

/* The driver's own queue pair for UMR has a type of its own, MLX5_QP_ST_REG_UMR. */
static void find_umr_cq(struct json_object *event, void *arg)
{
	struct json_object *in, *qpc, *st, *cqn;

	if (hca_event_is(event, "op", "CREATE_QP") && json_object_object_get_ex(event, "in", &in) &&
	    json_object_object_get_ex(in, "qpc", &qpc) &&
	    json_object_object_get_ex(qpc, "st", &st) && json_object_get_int(st) == 0xc &&
	    json_object_object_get_ex(qpc, "cqn_snd", &cqn))
		((struct umr_queue *)arg)->cqn = json_object_get_int(cqn);
}

/* How often the kernel's log says that the CQ is in error, and that registration is slower now. */
static int logged_cq_errors(uint32_t cqn)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "UMR CQ 0x%x is in error (event 0x4): memory is registered by slower", cqn);
	return klog_count(text);
}

/*
 * After an error of the CQ of its UMR queue pair the driver logs the error once, and registers by
 * firmware until it is bound again. Existing regions continue to work.
 */
TEST_F(bound, error_of_the_umr_cq_ends_umr)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct umr_queue queue = {};
	uint8_t *mem = map_small_pages(4 * UV_PAGE);
	struct ibv_mr *old, *mr;
	struct rdma r;
	struct pair p;
	int i, logged;
	long umr;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, binding_do(&self->b, "unbind"));
	ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, hca_do("trace on"));
	ASSERT_EQ(0, binding_do(&self->b, "bind"));
	ASSERT_TRUE(binding_wait_device());
	ASSERT_EQ(0, rdma_open(&r));
	/* The first registration makes the driver create its UMR queue pair and free keys. */
	EXPECT_TRUE(warm_up(r.pd, mem));
	EXPECT_EQ(0, hca_do("trace off"));
	ASSERT_EQ(0, hca_trace_for_each(0, find_umr_cq, &queue));
	if (!queue.cqn)
		SKIP(return, "the device has no UMR");

	ASSERT_EQ(0, pair_open(&p, &r, &cfg, 4096));
	old = reg_by_umr(_metadata, r.pd, mem);
	logged = logged_cq_errors(queue.cqn);
	ASSERT_EQ(0, hca_do("inject event CQ_ERROR %u", queue.cqn));
	for (i = 0; i < 100 && logged_cq_errors(queue.cqn) == logged; i++)
		usleep(50000);
	EXPECT_EQ(logged + 1, logged_cq_errors(queue.cqn));

	umr = hca_counter("umr");
	EXPECT_EQ(0, write_and_check(&p, old->rkey, mem, 64, 1));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, hca_commands_reset());
		mr = ibv_reg_mr(r.pd, mem + UV_PAGE, UV_PAGE, REGION_ACCESS);
		ASSERT_NE(NULL, mr);
		EXPECT_EQ(1, hca_commands("CREATE_MKEY"));
		EXPECT_EQ(0, write_and_check(&p, mr->rkey, mem + UV_PAGE, 64, i));
		EXPECT_EQ(0, ibv_dereg_mr(mr));
		EXPECT_EQ(1, hca_commands("DESTROY_MKEY"));
		/* Longer than it takes to restart the queue pair after the error of a request. */
		usleep(150000);
	}
	EXPECT_EQ(0, ibv_dereg_mr(old));
	EXPECT_EQ(umr, hca_counter("umr"));
	EXPECT_EQ(logged + 1, logged_cq_errors(queue.cqn));
	pair_close(&p);
	rdma_close(&r);

	ASSERT_EQ(0, binding_do(&self->b, "unbind"));
	EXPECT_STREQ("", hca_census_delta());
	ASSERT_EQ(0, binding_do(&self->b, "bind"));
	ASSERT_TRUE(binding_wait_device());
	ASSERT_EQ(0, rdma_open(&r));
	EXPECT_TRUE(warm_up(r.pd, mem));
	rdma_close(&r);
}

TEST_HARNESS_MAIN
