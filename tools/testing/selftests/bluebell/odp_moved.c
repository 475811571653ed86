// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions whose pages the kernel takes away or moves: to a swap device, at the limit of a memory
 * cgroup, by merging equal pages, by migration, by collapsing pages into a huge page. The device
 * reads and writes the right data meanwhile, and pinned pages stay where they are.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "child.h"
#include "kernel_file.h"
#include "memcg.h"
#include "pagemap.h"
#include "paged_setup.h"
#include "scratch.h"

#define MIB (1ul << 20)
#define HUGE (2 * MIB)
#define SWAP_SIZE (64 * MIB)
#define STEPS 50	/* at most, until the kernel has done what a test waits for */

static void compact(void)
{
	write_file("/proc/sys/vm/compact_memory", "1");
}

/* Memory of pages of 4 KiB, whose first address is a multiple of a huge page's size. */
static uint8_t *map_small_pages(size_t len)
{
	uint8_t *mem = mmap(NULL, len + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	size_t before = -(uintptr_t)mem & (HUGE - 1);

	if (mem == MAP_FAILED)
		return NULL;
	if (before)
		munmap(mem, before);
	if (before < HUGE)
		munmap(mem + before + len, HUGE - before);
	madvise(mem + before, len, MADV_NOHUGEPAGE);
	return mem + before;
}

/* --- Swap ----------------------------------------------------------------------------------- */

FIXTURE(swap) {
	struct paged o;
};

FIXTURE_VARIANT(swap) {
	bool implicit;
};

FIXTURE_VARIANT_ADD(swap, explicit) { .implicit = false };

FIXTURE_VARIANT_ADD(swap, implicit) { .implicit = true };

FIXTURE_SETUP(swap)
{
	if (!paged_setup(_metadata, &self->o, variant->implicit))
		return;
	if (scratch_swap_on(SWAP_SIZE))
		SKIP(return, NO_SWAP);
}

FIXTURE_TEARDOWN(swap)
{
	EXPECT_EQ(0, paged_close(&self->o));
	scratch_swap_off();
}

/* Swap these pages out, as far as the kernel does. */
static void swap_out(uint8_t *mem, size_t len)
{
	int i;

	for (i = 0; i < STEPS && pages_swapped(mem, len) < len / UV_PAGE; i++) {
		/* Pages in the per-CPU lists are not reclaimed; compaction empties these lists. */
		if (i)
			compact();
		madvise(mem, len, MADV_PAGEOUT);
	}
}

TEST_F(swap, device_accesses_pages_that_are_swapped_out)
{
	static const struct {
		enum kind op;
		bool local, writes;
	} accesses[] = {
		{ READ }, { WRITE, .writes = true }, { SEND, .writes = true }, { SEND, true },
		{ WRITE, true }, { READ, true, true },
	};
	struct paged *o = &self->o;
	uint8_t *pinned;
	unsigned int i;

	for (i = 0; i < sizeof(accesses) / sizeof(*accesses); i++) {
		pinned = o->p.buf[accesses[i].local];
		/* Let the device map the pages before they are swapped out. */
		fill(o->p.buf[0], LEN, i);
		ASSERT_EQ(0, paged_remote(o, WRITE, 0, LEN));
		swap_out(o->mem, LEN);
		ASSERT_EQ(PAGES, pages_swapped(o->mem, LEN)) TH_LOG("access %u", i);
		fill(pinned, LEN, i + 50);
		ASSERT_EQ(0, accesses[i].local ? paged_local(o, accesses[i].op, 0, LEN) :
			  paged_remote(o, accesses[i].op, 0, LEN));
		EXPECT_EQ(PAGES, pages_present(o->mem, LEN)) TH_LOG("access %u", i);
		EXPECT_TRUE(check_fill(accesses[i].writes ? o->mem : pinned, LEN,
				       accesses[i].writes ? i + 50 : i)) TH_LOG("access %u", i);
	}
}

/* Only the device has written to the pages since they were read from the swap device. */
TEST_F(swap, what_the_device_has_written_is_swapped_out)
{
	struct paged *o = &self->o;
	unsigned int i;

	fill(o->mem, LEN, 0);
	for (i = 1; i < 5; i++) {
		swap_out(o->mem, LEN);
		ASSERT_EQ(PAGES, pages_swapped(o->mem, LEN));
		ASSERT_EQ(0, paged_remote(o, READ, 0, LEN));
		EXPECT_TRUE(check_fill(o->p.buf[0], LEN, i - 1)) TH_LOG("round %u", i);
		fill(o->p.buf[0], LEN, i);
		ASSERT_EQ(0, paged_remote(o, WRITE, 0, LEN));
	}
	swap_out(o->mem, LEN);
	ASSERT_EQ(PAGES, pages_swapped(o->mem, LEN));
	EXPECT_TRUE(check_fill(o->mem, LEN, i - 1));
}

TEST_F(swap, pinned_pages_stay)
{
	uint8_t *mem = paged_map(NULL);
	struct paged *o = &self->o;
	struct ibv_mr *mr;
	uint64_t frame;
	int i;

	fill(mem, LEN, 1);
	mr = ibv_reg_mr(o->r.pd, mem, LEN, ALL_ACCESS);
	ASSERT_NE(NULL, mr);
	frame = page_frame(mem);
	for (i = 0; i < 3; i++) {
		compact();
		madvise(mem, LEN, MADV_PAGEOUT);
	}
	EXPECT_EQ(PAGES, pages_present(mem, LEN));
	EXPECT_EQ(frame, page_frame(mem));
	fill(o->p.buf[0], LEN, 2);
	ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, mem, mr->rkey, LEN));
	EXPECT_TRUE(check_fill(mem, LEN, 2));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	/* Show that the kernel swaps these pages out once they are not pinned. */
	swap_out(mem, LEN);
	EXPECT_EQ(PAGES, pages_swapped(mem, LEN));
	munmap(mem, LEN);
}

/* --- The limit of a memory cgroup ----------------------------------------------------------- */

#define LIMIT (5 * MIB)
#define BEYOND (10 * MIB)

FIXTURE(limit) {
	bool has_cgroup;
};

FIXTURE_VARIANT(limit) {
	bool soft;	/* memory.high, not memory.max */
};

FIXTURE_VARIANT_ADD(limit, max) { .soft = false };

FIXTURE_VARIANT_ADD(limit, high) { .soft = true };

FIXTURE_SETUP(limit)
{
	struct rdma r;
	bool has;

	ASSERT_EQ(0, rdma_open(&r));
	has = rdma_has_odp(r.ctx);
	rdma_close(&r);
	if (!has)
		SKIP(return, NO_ODP);
	if (memcg_make(variant->soft ? 4 * BEYOND : LIMIT))
		SKIP(return, NO_MEMCG);
	if (memcg_allow_swap() || scratch_swap_on(SWAP_SIZE))
		SKIP(memcg_remove(); return, NO_SWAP);
	self->has_cgroup = true;
	if (variant->soft)
		ASSERT_EQ(0, memcg_throttle(LIMIT));
}

FIXTURE_TEARDOWN(limit)
{
	if (!self->has_cgroup)
		return;
	memcg_remove();
	scratch_swap_off();
}

/* Write the whole region from a pinned buffer, or read it and compare. Returns whether it works. */
static bool access_region(struct paged *o, struct ibv_mr *mr, bool write)
{
	uint8_t *mem = mr->addr;
	size_t off;

	for (off = 0; off < mr->length; off += LEN) {
		if (write)
			fill(o->p.buf[0], LEN, off / LEN);
		if (paged_run(o, write ? WRITE : READ, o->p.buf[0], o->p.mr->lkey, mem + off,
			      mr->rkey, LEN))
			return false;
		if (!write && !check_fill(o->p.buf[0], LEN, off / LEN))
			return false;
	}
	return true;
}

/*
 * The process never touches the memory of the region: all its pages are those that the driver
 * has asked for.
 */
static int write_beyond_limit(void *arg, int ready)
{
	const char *event = arg;
	struct ibv_mr *mr;
	struct paged o;
	uint8_t *mem;

	if (child_ready(ready) || memcg_enter() || paged_open(&o, false))
		return 101;
	mem = map_small_pages(BEYOND);
	mr = mem ? ibv_reg_mr(o.r.pd, mem, BEYOND, ALL_ACCESS | IBV_ACCESS_ON_DEMAND) : NULL;
	if (!mr)
		return 102;
	if (!access_region(&o, mr, true))
		return 1;
	fprintf(stderr, "# %ld KiB in memory, %ld KiB swapped, limit met %ld times\n",
		memcg_charge() / 1024, memcg_swapped() / 1024, memcg_events(event));
	if (memcg_charge() + memcg_swapped() < (long)BEYOND)
		return 2;
	/* The kernel does not hold mlx5_ib's page faults back at memory.high. */
	if ((driver_is("bluebell") || !strcmp(event, "max")) &&
	    (memcg_swapped() <= 0 || memcg_events(event) <= 0))
		return 3;
	return access_region(&o, mr, false) ? 0 : 4;
}

TEST_F(limit, device_writes_more_than_the_process_may_have)
{
	int status = -1;
	pid_t pid;

	pid = child_start(write_beyond_limit, variant->soft ? "high" : "max");
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) TH_LOG("exit status %d", WEXITSTATUS(status));
	EXPECT_EQ(0, memcg_events("oom_kill"));
}

/* --- Merged pages --------------------------------------------------------------------------- */

#define KSM "/sys/kernel/mm/ksm/"

FIXTURE(merged) {
	struct paged o;
	bool runs;
};

FIXTURE_SETUP(merged)
{
	if (!paged_setup(_metadata, &self->o, false))
		return;
	fill(self->o.mem, UV_PAGE, 0);
	if (!page_frame(self->o.mem))
		SKIP(return, NO_PAGE_FRAMES);
	if (write_file(KSM "sleep_millisecs", "10") || write_file(KSM "run", "1"))
		SKIP(return, "the kernel does not merge equal pages");
	self->runs = true;
}

FIXTURE_TEARDOWN(merged)
{
	if (self->runs) {
		write_file(KSM "run", "2");
		write_file(KSM "run", "0");
		write_file(KSM "sleep_millisecs", "20");
	}
	EXPECT_EQ(0, paged_close(&self->o));
}

/* How often the kernel has looked at all pages that may be merged; -1 if that cannot be read. */
static long full_scans(void)
{
	FILE *f = fopen(KSM "full_scans", "r");
	long n = -1;

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static bool are_merged(const uint8_t *a, const uint8_t *b)
{
	return page_frame(a) && page_frame(a) == page_frame(b);
}

/*
 * The device writes to one of two equal pages that the kernel has merged, and to a pinned page with
 * the same contents.
 */
TEST_F(merged, device_writes_to_one_page_only)
{
	uint8_t *a = self->o.mem, *b = a + 5 * UV_PAGE, *pinned = paged_map(NULL);
	struct paged *o = &self->o;
	struct ibv_mr *mr;
	uint64_t frame;
	long scans;
	int i;

	mr = ibv_reg_mr(o->r.pd, pinned, UV_PAGE, ALL_ACCESS);
	ASSERT_NE(NULL, mr);
	fill(pinned, UV_PAGE, 1);
	frame = page_frame(pinned);
	/* The device may write to both pages without a fault. */
	fill(o->p.buf[0], UV_PAGE, 1);
	ASSERT_EQ(0, paged_remote(o, WRITE, 0, UV_PAGE));
	ASSERT_EQ(0, paged_remote(o, WRITE, b - a, UV_PAGE));
	ASSERT_EQ(0, madvise(o->mem, LEN, MADV_MERGEABLE));
	for (i = 0; i < 10 * STEPS && !are_merged(a, b); i++)
		usleep(20000);
	ASSERT_TRUE(are_merged(a, b)) TH_LOG("%ld scans", full_scans());
	ASSERT_EQ(0, madvise(pinned, UV_PAGE, MADV_MERGEABLE));
	scans = full_scans();
	for (i = 0; i < 10 * STEPS && full_scans() < scans + 4; i++)
		usleep(20000);
	EXPECT_LE(scans + 4, full_scans());
	EXPECT_EQ(frame, page_frame(pinned));
	ASSERT_EQ(0, paged_remote(o, READ, b - a, UV_PAGE));
	EXPECT_TRUE(check_fill(o->p.buf[0], UV_PAGE, 1));
	EXPECT_TRUE(are_merged(a, b) || driver_is("mlx5_ib"));

	fill(o->p.buf[0], UV_PAGE, 2);
	ASSERT_EQ(0, paged_remote(o, WRITE, 0, UV_PAGE));
	EXPECT_FALSE(are_merged(a, b));
	EXPECT_TRUE(check_fill(a, UV_PAGE, 2));
	EXPECT_TRUE(check_fill(b, UV_PAGE, 1));
	ASSERT_EQ(0, paged_remote(o, READ, b - a, UV_PAGE));
	EXPECT_TRUE(check_fill(o->p.buf[0], UV_PAGE, 1));
	EXPECT_TRUE(check_fill(pinned, UV_PAGE, 1));
	fill(o->p.buf[0], UV_PAGE, 3);
	ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, pinned, mr->rkey, UV_PAGE));
	EXPECT_TRUE(check_fill(pinned, UV_PAGE, 3));
	EXPECT_TRUE(check_fill(b, UV_PAGE, 1));
	EXPECT_EQ(frame, page_frame(pinned));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	munmap(pinned, LEN);
}

/* --- Migration and collapse ----------------------------------------------------------------- */

#define MIGRATED 8	/* pages, each of which costs the guest a page of memory */
#define STRIDE (6 * UV_PAGE)

FIXTURE(moved) {
	struct paged o;
	uint8_t *mem, *pinned;		/* HUGE bytes each */
	struct ibv_mr *mr, *pinned_mr;
};

FIXTURE_SETUP(moved)
{
	if (!paged_setup(_metadata, &self->o, false))
		return;
	self->mem = map_small_pages(HUGE);
	self->pinned = map_small_pages(HUGE);
	ASSERT_NE(NULL, self->mem);
	ASSERT_NE(NULL, self->pinned);
	memset(self->mem, 1, HUGE);
	memset(self->pinned, 1, HUGE);
	if (!page_frame(self->mem))
		SKIP(return, NO_PAGE_FRAMES);
	self->mr = ibv_reg_mr(self->o.r.pd, self->mem, HUGE, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	self->pinned_mr = ibv_reg_mr(self->o.r.pd, self->pinned, HUGE, ALL_ACCESS);
	ASSERT_NE(NULL, self->mr);
	ASSERT_NE(NULL, self->pinned_mr);
}

FIXTURE_TEARDOWN(moved)
{
	if (self->mr)
		EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	if (self->pinned_mr)
		EXPECT_EQ(0, ibv_dereg_mr(self->pinned_mr));
	EXPECT_EQ(0, paged_close(&self->o));
}

/*
 * Let the kernel move a page elsewhere, as it does with memory that has corrected errors. After
 * that, the kernel does not use the old page any more. Returns 0 or an errno.
 */
static int migrate_page(uint8_t *page)
{
	int i;

	/* A page in a per-CPU list cannot be moved; compaction empties these lists. */
	for (i = 0; i < 3; i++) {
		if (!madvise(page, UV_PAGE, MADV_SOFT_OFFLINE))
			return 0;
		if (errno != EBUSY)
			return errno;
		compact();
	}
	return errno;
}

/*
 * Before a page is moved, the process or the device writes to it. (The pages are mapped for the
 * device to write to.)
 */
TEST_F(moved, pages_are_migrated_under_a_region)
{
	struct paged *o = &self->o;
	unsigned int i, ret;
	uint64_t frame;
	uint8_t *page;

	for (i = 0; i < MIGRATED; i++) {
		page = self->mem + i * STRIDE;
		fill(i % 2 ? page : o->p.buf[0], UV_PAGE, i);
		if (i % 2 == 0)
			ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, page,
					       self->mr->rkey, UV_PAGE));
		frame = page_frame(page);
		ret = migrate_page(page);
		if (ret == EINVAL || ret == EOPNOTSUPP)
			SKIP(return, "the kernel takes no pages out of use");
		ASSERT_EQ(0, ret);
		EXPECT_NE(frame, page_frame(page));
		ASSERT_EQ(0, paged_run(o, READ, o->p.buf[0], o->p.mr->lkey, page, self->mr->rkey,
				       UV_PAGE));
		EXPECT_TRUE(check_fill(o->p.buf[0], UV_PAGE, i)) TH_LOG("page %u", i);
		fill(o->p.buf[0], UV_PAGE, i + 50);
		ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, page, self->mr->rkey,
				       UV_PAGE));
		EXPECT_TRUE(check_fill(page, UV_PAGE, i + 50)) TH_LOG("page %u", i);
	}
	frame = page_frame(self->pinned);
	EXPECT_EQ(EBUSY, migrate_page(self->pinned));
	EXPECT_EQ(frame, page_frame(self->pinned));
	fill(o->p.buf[0], UV_PAGE, 1);
	ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, self->pinned,
			       self->pinned_mr->rkey, UV_PAGE));
	EXPECT_TRUE(check_fill(self->pinned, UV_PAGE, 1));
}

struct mover_thread {
	pthread_t thread;
	uint8_t *mem;
	const uint8_t *watched;
	bool stop;
	unsigned int moved;	/* how often the frame of @watched has changed */
};

/* Move the first HUGE bytes: into a huge page, which is then mapped in parts, and by compaction. */
static void *collapse_and_compact(void *arg)
{
	struct mover_thread *m = arg;
	uint64_t before, after;

	before = page_frame(m->watched);
	while (!m->stop) {
		madvise(m->mem, HUGE, MADV_COLLAPSE);
		/*
		 * Have the huge page mapped in parts: change the protection of a page to which the
		 * device does not write.
		 */
		mprotect(m->mem, UV_PAGE, PROT_READ);
		mprotect(m->mem, UV_PAGE, PROT_READ | PROT_WRITE);
		after = page_frame(m->watched);
		m->moved += after && before && after != before;
		before = after;
		compact();
		sched_yield();
	}
	return NULL;
}

/* The device writes and reads while the pages under its region move. */
TEST_F(moved, nothing_is_lost_while_pages_move)
{
	uint8_t *at = self->mem + HUGE / 2;
	struct mover_thread m = { .mem = self->mem, .watched = at };
	struct paged *o = &self->o;
	double end = seconds() + 2;
	unsigned int i;

	madvise(self->mem, HUGE, MADV_HUGEPAGE);
	ASSERT_EQ(0, pthread_create(&m.thread, NULL, collapse_and_compact, &m));
	for (i = 0; i < 20 || (seconds() < end && i < 1000); i++) {
		fill(o->p.buf[0], LEN, i);
		ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, at, self->mr->rkey,
				       LEN));
		memset(o->p.buf[0], 0, LEN);
		ASSERT_EQ(0, paged_run(o, READ, o->p.buf[0], o->p.mr->lkey, at, self->mr->rkey,
				       LEN));
		ASSERT_TRUE(check_fill(o->p.buf[0], LEN, i)) TH_LOG("round %u", i);
		ASSERT_TRUE(check_fill(at, LEN, i)) TH_LOG("round %u", i);
	}
	m.stop = true;
	pthread_join(m.thread, NULL);
	EXPECT_LT(0, m.moved);
	fprintf(stderr, "# %u rounds, moved %u times\n", i, m.moved);
}

static bool is_huge_page(const uint8_t *mem)
{
	uint64_t first = page_frame(mem);

	return first && !(first % (HUGE / UV_PAGE)) &&
	       page_frame(mem + HUGE - UV_PAGE) == first + HUGE / UV_PAGE - 1;
}

TEST_F(moved, pages_are_collapsed_into_a_huge_page_under_a_region)
{
	uint8_t *middle = self->mem + HUGE / 2;
	uint64_t frame = page_frame(self->pinned);
	struct paged *o = &self->o;

	fill(middle, LEN, 1);
	madvise(self->mem, HUGE, MADV_HUGEPAGE);
	if (madvise(self->mem, HUGE, MADV_COLLAPSE))
		SKIP(return, "the kernel has no huge page to spare");
	ASSERT_TRUE(is_huge_page(self->mem));
	ASSERT_EQ(0, paged_run(o, READ, o->p.buf[0], o->p.mr->lkey, middle, self->mr->rkey, LEN));
	EXPECT_TRUE(check_fill(o->p.buf[0], LEN, 1));
	fill(o->p.buf[0], LEN, 2);
	ASSERT_EQ(0, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, middle, self->mr->rkey, LEN));
	EXPECT_TRUE(check_fill(middle, LEN, 2));
	/* Replace one page of the huge page. */
	madvise(middle, UV_PAGE, MADV_DONTNEED);
	memset(middle, 0x33, UV_PAGE);
	ASSERT_EQ(0, paged_run(o, READ, o->p.buf[0], o->p.mr->lkey, middle, self->mr->rkey, LEN));
	EXPECT_EQ(0x33, o->p.buf[0][0]);
	EXPECT_EQ(middle[UV_PAGE], o->p.buf[0][UV_PAGE]);

	/* Pinned pages cannot be collapsed. */
	madvise(self->pinned, HUGE, MADV_HUGEPAGE);
	EXPECT_NE(0, madvise(self->pinned, HUGE, MADV_COLLAPSE));
	EXPECT_EQ(frame, page_frame(self->pinned));
}

TEST_HARNESS_MAIN
