// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What one user's on-demand paging costs others: advice neither delays the page faults of another
 * process nor outlives the process that gave it; a fault on a page that does not come neither
 * blocks the faults of another process nor keeps its own process from ending; and the kernel memory
 * of paged regions, queues and contexts is charged to the memory cgroup of the process that creates
 * them.
 *
 * The tests take no more than an ordinary program may. KUnit tests the limits themselves:
 * bluebell-odp-fault and bluebell-odp-create. The processes that cause work run as the user
 * "tester", without capabilities.
 */

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "child.h"
#include "devx_cmd.h"
#include "kernel_file.h"
#include "memcg.h"
#include "rights.h"
#include "slow_file.h"
#include "test.h"

#define NO_ODP "the device has no on-demand paging"
#define MIB (1ul << 20)
#define GIB (1ul << 30)
#define LEN (64 * UV_PAGE)
/*
 * The memory that advice is about, and the calls of ibv_advise_mr(3), each about all of
 * the memory.
 */
#define ADVISED (128 * MIB)
#define CALLS 4
/* Faults whose median time is compared. */
#define ROUNDS 40
/* A time below this says more about the emulator's scheduling than about the driver. */
#define NOISE_MS 10.0

static uint8_t *map_memory(size_t len, int flags)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static struct ibv_mr *reg_paged(struct ibv_pd *pd, void *mem, size_t len)
{
	return ibv_reg_mr(pd, mem, len, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
}

/* --- The victim, whose faults are measured -------------------------------------------------- */

FIXTURE(other) {
	struct rdma r;
	struct pair p;
	uint8_t *mem;
	struct ibv_mr *mr;
	pid_t pid;
};

FIXTURE_SETUP(other)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };

	ASSERT_EQ(0, rdma_open(&self->r));
	if (!rdma_has_odp(self->r.ctx))
		SKIP(return, NO_ODP);
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, LEN));
	self->mem = map_memory(LEN, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	self->mr = reg_paged(self->r.pd, self->mem, LEN);
	ASSERT_NE(NULL, self->mr);
}

FIXTURE_TEARDOWN(other)
{
	if (self->pid > 0)
		kill(self->pid, SIGKILL);
	if (self->mr)
		EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	pair_close(&self->p);
	rdma_close(&self->r);
}

static int compare_doubles(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

/* Median time in ms of a WRITE to a page that is not mapped; negative if one fails. */
static double fault_ms(struct pair *p, uint8_t *mem, struct ibv_mr *mr)
{
	double start, ms[ROUNDS];
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		madvise(mem, LEN, MADV_DONTNEED);
		start = ms_now();
		if (rdma_access(p, IBV_WR_RDMA_WRITE, mr->rkey,
				(uintptr_t)mem + i % 64 * UV_PAGE, 64))
			return -1;
		ms[i] = ms_now() - start;
	}
	qsort(ms, ROUNDS, sizeof(*ms), compare_doubles);
	return ms[ROUNDS / 2];
}

/* --- The other process ------------------------------------------------------------------------ */

static int advise_on_all(struct rdma *r, struct ibv_mr *mr)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)mr->addr, .length = mr->length, .lkey = mr->lkey,
	};
	int i, ret = 0;

	for (i = 0; i < CALLS && !ret; i++)
		ret = ibv_advise_mr(r->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1);
	return ret;
}

/* Advise on a region, and wait for the end. */
static int advise_and_hold(void *arg, int ready)
{
	struct ibv_mr *mr;
	struct rdma r;
	uint8_t *mem;

	if (drop_privileges() || rdma_open(&r))
		return 2;
	/* Allocate the pages now, because the test does not measure their allocation. */
	mem = map_memory(ADVISED, MAP_POPULATE);
	mr = reg_paged(r.pd, mem, ADVISED);
	if (!mr || advise_on_all(&r, mr))
		return 3;
	return child_hold(ready);
}

/*
 * Wait until this much memory is free, for ten seconds at most; returns after how many
 * ms it was.
 */
static double wait_free_ms(long kb)
{
	double start = ms_now();

	while (free_kb() < kb && ms_now() < start + 10000)
		usleep(20000);
	return ms_now() - start;
}

TEST_F_TIMEOUT(other, advice_of_another_user_does_not_delay_faults, 300)
{
	double quiet, during, died, freed;
	long before = free_kb();

	quiet = fault_ms(&self->p, self->mem, self->mr);
	ASSERT_LT(0, quiet);
	self->pid = child_start(advise_and_hold, NULL);
	ASSERT_LT(0, self->pid);
	during = fault_ms(&self->p, self->mem, self->mr);
	died = ms_now();
	child_kill(self->pid);
	died = ms_now() - died;
	self->pid = 0;
	freed = wait_free_ms(before - 32 * 1024);
	TH_LOG("a fault takes %.1f ms, %.1f ms during the advice", quiet, during);
	TH_LOG("it ended %.0f ms after SIGKILL, its memory was free %.0f ms later (%ld MiB; %ld)",
	       died, freed, free_kb() / 1024, before / 1024);
	ASSERT_LE(0, during);
	/* mlx5_ib delays the faults of other processes. */
	if (driver_is("bluebell")) {
		EXPECT_LE(during, 2 * quiet + NOISE_MS);
		EXPECT_LE(died, soon_ms());
		EXPECT_LE(freed, soon_ms());
	}
}

/* The region of queued advice can be deregistered, and the advice ends with it. */
TEST_F_TIMEOUT(other, dereg_does_not_wait_for_queued_advice, 300)
{
	struct ibv_mr *mr;
	double start;
	uint8_t *mem;

	mem = map_memory(ADVISED, 0);
	mr = reg_paged(self->r.pd, mem, ADVISED);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, advise_on_all(&self->r, mr));
	start = ms_now();
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	TH_LOG("deregistered after %.0f ms", ms_now() - start);
	if (driver_is("bluebell"))
		EXPECT_GT(soon_ms(), ms_now() - start);
	munmap(mem, ADVISED);
}

/* --- A fault on a page that does not come ----------------------------------------------------- */

/*
 * Have the device read a page of the slow file. Returns 0 if the WRITE that needs the page
 * completes once the page has come.
 */
static int fault_until_released(void *arg, int ready)
{
	const struct slow_file *f = arg;
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct ibv_mr *mr;
	struct rdma r;
	struct pair p;
	void *mem;
	int ret;

	if (setrlimit(RLIMIT_MEMLOCK, &unlimited) || drop_privileges() || rdma_open(&r))
		return 2;
	mem = mmap(NULL, UV_PAGE, PROT_READ, MAP_SHARED, f->fd, 0);
	if (mem == MAP_FAILED || pair_open(&p, &r, &cfg, UV_PAGE))
		return 3;
	mr = ibv_reg_mr(r.pd, mem, UV_PAGE, IBV_ACCESS_ON_DEMAND);
	if (!mr)
		return 4;
	sge = (struct ibv_sge){ .addr = (uintptr_t)mem, .length = 64, .lkey = mr->lkey };
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = (uintptr_t)p.buf[1];
	wr.wr.rdma.rkey = p.mr->rkey;
	if (post_send(&p, &wr, NULL, 0) || child_ready(ready))
		return 5;
	do {
		ret = reap(p.cq[0], &wc);
	} while (ret == -ETIMEDOUT);
	return ret ? 6 : 0;
}

/* Start the process with the fault, and wait until the file system has been asked for the page. */
static pid_t start_fault(struct slow_file *f)
{
	pid_t pid = child_start(fault_until_released, f);

	if (pid < 0 || !slow_file_wait_read(f, 10000))
		return pid;
	slow_file_release(f);
	child_kill(pid);
	return -1;
}

TEST_F_TIMEOUT(other, fault_of_another_user_that_waits_for_its_page_stops_no_faults, 300)
{
	double quiet, during;
	struct slow_file f;
	int status = -1;

	quiet = fault_ms(&self->p, self->mem, self->mr);
	ASSERT_LT(0, quiet);
	EXPECT_EQ(0, slow_file_open(&f, UV_PAGE));
	self->pid = start_fault(&f);
	EXPECT_LT(0, self->pid);
	during = fault_ms(&self->p, self->mem, self->mr);
	slow_file_release(&f);
	if (self->pid > 0)
		waitpid(self->pid, &status, 0);
	self->pid = 0;
	slow_file_close(&f);
	TH_LOG("a fault takes %.1f ms, %.1f ms while that of another process waits", quiet, during);
	EXPECT_LT(0, during);
	EXPECT_LE(during, 2 * quiet + NOISE_MS);
	/* The fault that waited is resolved as soon as its page has come. */
	EXPECT_EQ(0, status);
}

/* --- Advice on a page that does not come ------------------------------------------------------ */

/*
 * A user can have advice in the queues of 512 contexts at a time, or fewer on several NUMA nodes.
 * The thread that gives advice in a further context waits.
 */
#define CONTEXTS_WITH_ADVICE 600
/* More calls than a context can have in its queue. */
#define ADVICE_CALLS 40

struct advisor {
	int fd;
	uint32_t pd, lkey;
};

struct advisors {
	struct advisor one[CONTEXTS_WITH_ADVICE];
	void *page;
	volatile int started;
};

static int advisor_open(struct advisor *a, void *page)
{
	const struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4, .max_cqe_version = 1,
		.lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR,
	};
	struct ib_uverbs_reg_mr_resp mr;
	struct uv uv;
	int ret;

	ret = uv_open_req(&uv, &req) ?: uv_alloc_pd(uv.fd, &a->pd, NULL) ?:
	      uv_reg_mr(uv.fd, a->pd, page, UV_PAGE, (uintptr_t)page, IBV_ACCESS_ON_DEMAND, &mr);
	a->fd = uv.fd;
	a->lkey = mr.lkey;
	return ret;
}

/* Give advice in all contexts. The driver may let the thread wait for ever. */
static void *advise_in_all(void *arg)
{
	struct advisors *all = arg;
	struct advisor *a;

	for (a = all->one; a < all->one + CONTEXTS_WITH_ADVICE; a++, all->started++)
		uv_prefetch_mr(a->fd, a->pd, a->lkey, (uintptr_t)all->page, UV_PAGE);
	return NULL;
}

static int advise_until_released(void *arg, int ready)
{
	const struct rlimit files = { 2 * CONTEXTS_WITH_ADVICE, 2 * CONTEXTS_WITH_ADVICE };
	const struct slow_file *f = arg;
	static struct advisors all;
	pthread_t thread;
	int i, started;

	all.page = mmap(NULL, UV_PAGE, PROT_READ, MAP_SHARED, f->fd, 0);
	if (all.page == MAP_FAILED || setrlimit(RLIMIT_NOFILE, &files) || drop_privileges())
		return 2;
	for (i = 0; i < CONTEXTS_WITH_ADVICE; i++)
		if (advisor_open(&all.one[i], all.page))
			return 3;
	if (pthread_create(&thread, NULL, advise_in_all, &all))
		return 4;
	do {
		started = all.started;
		sleep(2);
	} while (started < all.started);
	/*
	 * If the workqueue served the advice of all contexts, a few such users would leave no room
	 * in it for others.
	 */
	if (started == CONTEXTS_WITH_ADVICE)
		return 5;
	return child_hold(ready);
}

/*
 * Give more advice than the queue has room for. The last calls return only if advice is being
 * served.
 */
static int advise_often(struct rdma *r, struct ibv_mr *mr)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr, .length = LEN, .lkey = mr->lkey };
	int i, ret = 0;

	for (i = 0; i < ADVICE_CALLS && !ret; i++)
		ret = ibv_advise_mr(r->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1);
	return ret;
}

TEST_F_TIMEOUT(other, advice_of_another_user_that_waits_for_its_pages_stops_no_advice, 120)
{
	struct slow_file f;
	double start;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_EQ(0, slow_file_open(&f, UV_PAGE));
	self->pid = child_start(advise_until_released, &f);
	EXPECT_LT(0, self->pid);
	start = ms_now();
	EXPECT_EQ(0, advise_often(&self->r, self->mr));
	TH_LOG("%d calls take %.0f ms", ADVICE_CALLS, ms_now() - start);
	/*
	 * Each call waits a short time for the faults and the advice of other processes, so allow
	 * more time than for one call.
	 */
	EXPECT_GT(10 * soon_ms(), ms_now() - start);
	slow_file_release(&f);
	if (self->pid > 0)
		child_kill(self->pid);
	self->pid = 0;
	slow_file_close(&f);
}

/*
 * Wait until the objects of a process that has ended are destroyed: the UAR of the context is the
 * last object.
 */
static bool objects_are_gone(long qps, long uars)
{
	double end = seconds() + 120;

	while (hca_census_count("qp") > qps || hca_census_count("uar") > uars) {
		if (seconds() > end)
			return false;
		usleep(100000);
	}
	return true;
}

/*
 * A process ends while its fault waits for the page. Its objects are destroyed when the page has
 * come, because the fault uses the address space until then, and the address space holds the device
 * open.
 */
TEST_F_TIMEOUT(other, process_whose_fault_waits_for_its_page_ends_when_it_is_killed, 300)
{
	long qps = hca_census_count("qp"), uars = hca_census_count("uar");
	struct slow_file f;

	/* The queue pair of the fault may be destroyed before the driver resumes it. */
	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME BAD_RES_ERR any"));
	EXPECT_EQ(0, slow_file_open(&f, UV_PAGE));
	self->pid = start_fault(&f);
	EXPECT_LT(0, self->pid);
	if (self->pid > 0)
		EXPECT_TRUE(WIFSIGNALED(child_kill(self->pid)));
	self->pid = 0;
	slow_file_release(&f);
	EXPECT_LT(0, fault_ms(&self->p, self->mem, self->mr));
	slow_file_close(&f);
	EXPECT_TRUE(objects_are_gone(qps, uars));
}

/* --- Translations of the device --------------------------------------------------------------- */

#define HUGE_LEN (16 * GIB)

static uint8_t *map_unused(size_t len)
{
	return mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* Register memory that the process does not use until no more can be registered. */
static int take_translations(void *arg, int ready)
{
	int n = 0, *taken = arg;
	struct rdma r;
	uint8_t *mem;

	if (drop_privileges() || rdma_open(&r))
		return 2;
	mem = map_unused(HUGE_LEN);
	while (n < 1000 && reg_paged(r.pd, mem, HUGE_LEN))
		n++;
	*taken = n;
	return errno == ENOMEM ? child_hold(ready) : 3;
}

/* Paged regions of one user leave translations for regions of another user. */
TEST_F_TIMEOUT(other, regions_of_another_user_leave_room_for_mine, 300)
{
	int *taken = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;
	uint8_t *mem;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	mem = map_unused(HUGE_LEN);
	ASSERT_NE(MAP_FAILED, mem);
	self->pid = child_start(take_translations, taken);
	ASSERT_LT(0, self->pid);
	TH_LOG("%d regions of %lu GiB", *taken, HUGE_LEN / GIB);
	EXPECT_LT(0, *taken);
	mr = reg_paged(self->r.pd, mem, HUGE_LEN);
	EXPECT_NE(NULL, mr);
	if (mr)
		EXPECT_EQ(0, ibv_dereg_mr(mr));
	munmap(mem, HUGE_LEN);
}

/* --- Memory cgroups ------------------------------------------------------------------------- */

#define LIMIT (96 * MIB)
#define REGION_LEN (4 * GIB)
/*
 * What a region may cost without pages; a table of pointers to them would be eight
 * times as large.
 */
#define REGION_COST MIB

FIXTURE(charge) {
	bool has_cgroup;
};

FIXTURE_SETUP(charge)
{
	struct rdma r;
	bool has;

	ASSERT_EQ(0, rdma_open(&r));
	has = rdma_has_odp(r.ctx);
	rdma_close(&r);
	if (!has)
		SKIP(return, NO_ODP);
	self->has_cgroup = !memcg_make(LIMIT);
	if (!self->has_cgroup)
		SKIP(return, NO_MEMCG);
}

FIXTURE_TEARDOWN(charge)
{
	if (self->has_cgroup)
		memcg_remove();
}

/*
 * Run @work in the cgroup as an unprivileged user; returns its exit status, or -1 if it
 * was killed.
 */
static int run_in_cgroup(int (*work)(void))
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (memcg_enter() || drop_privileges())
			_exit(100);
		_exit(work());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * Register a long region over memory without pages. Returns 0 if it costs the host next to nothing.
 */
static int register_unmapped(void)
{
	long before, used;
	struct rdma r;
	uint8_t *mem;

	if (rdma_open(&r))
		return 101;
	mem = mmap(NULL, REGION_LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED)
		return 102;
	/* The first region lets the driver allocate what it keeps. */
	if (!reg_paged(r.pd, mem, LEN))
		return 103;
	before = free_kb();
	if (!reg_paged(r.pd, mem, REGION_LEN))
		return 104;
	used = before - free_kb();
	fprintf(stderr, "# a region of %lu GiB: %ld KiB of memory\n", REGION_LEN / GIB, used);
	return used < (long)(REGION_COST / 1024) ? 0 : 1;
}

/* A region costs next to nothing before it has pages. */
TEST_F_TIMEOUT(charge, region_over_unmapped_memory_costs_next_to_nothing, 300)
{
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	EXPECT_EQ(0, run_in_cgroup(register_unmapped));
}

static int register_small_regions(void)
{
	struct rdma r;
	uint8_t *mem;
	long before;
	int i;

	if (rdma_open(&r))
		return 101;
	mem = map_memory(LEN, MAP_POPULATE);
	before = memcg_charge();
	for (i = 0; i < 2000; i++)
		if (!reg_paged(r.pd, mem, LEN))
			return 102;
	/* Each region has at least the structures of the region and of its leaf. */
	return memcg_charge() - before >= 2000 * 512 ? 0 : 1;
}

TEST_F_TIMEOUT(charge, small_paged_regions_are_charged, 300)
{
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	EXPECT_EQ(0, run_in_cgroup(register_small_regions));
}

/*
 * The kernel charges other objects, too, so these tests compare the charges of queues and of
 * contexts that differ only in what the driver allocates for them.
 */
#define CQS 1000
#define CONTEXTS 16
#define FEW_BFREGS 16
#define MANY_BFREGS 512

/*
 * Create CQs whose doorbell records are @step bytes apart. The charge may be negative, because
 * others free objects meanwhile.
 */
static int create_cqs_with_records(int fd, void *buf, uint8_t *records, size_t step, long *charge)
{
	struct mlx5_ib_create_cq drv = { .buf_addr = (uintptr_t)buf, .cqe_size = 64 };
	struct ib_uverbs_create_cq_resp resp;
	long before = memcg_objects();
	uint32_t cqn;
	int i;

	for (i = 0; i < CQS; i++) {
		drv.db_addr = (uintptr_t)records + i * step;
		if (uv_create_cq_raw(fd, 63, &drv, sizeof(drv), &resp, &cqn))
			return -1;
	}
	*charge = memcg_objects() - before;
	return before < 0 ? -1 : 0;
}

/* For each page with doorbell records the driver keeps an object of at least 56 bytes. */
static int create_cqs(void)
{
	long few, many;
	uint8_t *mem;
	struct uv uv;

	mem = map_memory((CQS + 1) * UV_PAGE, MAP_POPULATE);
	if (uv_open(&uv))
		return 101;
	/*
	 * Nothing completes on these CQs, so all of them can use one buffer. Their records are
	 * close together in a few pages first, then each in a page of its own.
	 */
	if (create_cqs_with_records(uv.fd, mem, mem + UV_PAGE, 8, &few) ||
	    create_cqs_with_records(uv.fd, mem, mem + UV_PAGE, UV_PAGE, &many))
		return 102;
	fprintf(stderr, "# %d CQs: %ld bytes; with a page each for their records: %ld\n", CQS, few,
		many);
	return many - few >= CQS * 56 ? 0 : 1;
}

TEST_F_TIMEOUT(charge, queues_are_charged, 300)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (hca_limit("cq") < 4 * CQS)
		SKIP(return, "the HCA has too few CQs");
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &unlimited));
	EXPECT_EQ(0, run_in_cgroup(create_cqs));
}

static int open_contexts_with(uint32_t num_bfregs, long *charge)
{
	const struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = num_bfregs, .num_low_latency_bfregs = 4,
		.lib_caps = MLX5_LIB_CAP_4K_UAR, .max_cqe_version = 1,
	};
	long before = memcg_objects();
	struct uv uv[CONTEXTS];
	int i;

	for (i = 0; i < CONTEXTS; i++)
		if (uv_open_req(&uv[i], &req))
			return -1;
	*charge = memcg_objects() - before;
	while (i)
		uv_close(&uv[--i]);
	return before < 0 ? -1 : 0;
}

/*
 * The driver has a counter of 32 bits for each bfreg of a context. In one of three comparisons the
 * charge has to grow by half the size of the counters. It need not grow by all of it, because the
 * kernel charges whole slabs, and a processor may have had some slabs before.
 */
static int open_contexts(void)
{
	long few, many;
	int i;

	for (i = 0; i < 3; i++) {
		/* The first contexts also cost what is allocated once, so measure again. */
		if (open_contexts_with(FEW_BFREGS, &few) || open_contexts_with(FEW_BFREGS, &few) ||
		    open_contexts_with(MANY_BFREGS, &many))
			return 102;
		fprintf(stderr, "# %d contexts of %d bfregs: %ld bytes; of %d: %ld\n", CONTEXTS,
			FEW_BFREGS, few, MANY_BFREGS, many);
		if (many - few >= CONTEXTS * MANY_BFREGS * 2)
			return 0;
	}
	return 1;
}

TEST_F_TIMEOUT(charge, contexts_are_charged, 300)
{
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (hca_limit("uar") < (long)(CONTEXTS * UV_STATIC_PAGES(MANY_BFREGS)) + 1000)
		SKIP(return, "the HCA has too few UARs");
	EXPECT_EQ(0, run_in_cgroup(open_contexts));
}

#define DM_REGIONS 1000

/* For each region the driver keeps an object of at least 128 bytes. */
static int register_dm(void)
{
	long before, charge;
	uint32_t pd, mr;
	struct uv_dm dm;
	struct uv uv;
	int i;

	if (uv_open(&uv) || uv_alloc_pd(uv.fd, &pd, NULL) || uv_alloc_dm(uv.fd, 64, 0, &dm))
		return 101;
	before = memcg_objects();
	for (i = 0; i < DM_REGIONS; i++)
		if (uv_reg_dm_mr(uv.fd, pd, dm.handle, 0, 64, IBV_ACCESS_ZERO_BASED, &mr))
			return 102;
	charge = memcg_objects() - before;
	fprintf(stderr, "# %d regions of device memory: %ld bytes\n", DM_REGIONS, charge);
	return before >= 0 && charge >= DM_REGIONS * 128 ? 0 : 1;
}

TEST_F_TIMEOUT(charge, objects_of_device_memory_are_charged, 300)
{
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (hca_cap("general", "device_memory") <= 0)
		SKIP(return, "the device has no device memory");
	EXPECT_EQ(0, run_in_cgroup(register_dm));
}

#define SUBSCRIBED_QPS 8
#define SUBSCRIPTIONS 64	/* to one event, as many as a context can have */

/* For each subscription the driver keeps an object of 128 bytes. */
static int subscribe_often(void)
{
	static const uint16_t types[] = {
		DEVX_EVENT_PATH_MIG, DEVX_EVENT_COMM_EST, DEVX_EVENT_SQ_DRAINED,
	};
	struct uv_qp qp[SUBSCRIBED_QPS];
	int channel, i, k, n;
	long before, charge;
	struct uv_cq cq;
	uint32_t pd;
	struct uv uv;

	if (uv_open_devx(&uv) || uv_alloc_pd(uv.fd, &pd, NULL) || uv_create_cq(uv.fd, 31, &cq))
		return 101;
	for (i = 0; i < SUBSCRIBED_QPS; i++)
		if (uv_create_qp(uv.fd, pd, cq.handle, IBV_QPT_RC, &qp[i]))
			return 102;
	channel = devx_open_channel(uv.fd, MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA);
	before = memcg_objects();
	for (i = 0; i < SUBSCRIBED_QPS; i++)
		for (k = 0; k < ARRAY_SIZE(types); k++)
			for (n = 0; n < SUBSCRIPTIONS; n++)
				if (devx_subscribe_obj(uv.fd, channel, qp[i].handle, types[k], n))
					return 103;
	charge = memcg_objects() - before;
	fprintf(stderr, "# %d subscriptions to each of %zu events: %ld bytes\n", SUBSCRIPTIONS,
		SUBSCRIBED_QPS * ARRAY_SIZE(types), charge);
	n = SUBSCRIBED_QPS * ARRAY_SIZE(types) * SUBSCRIPTIONS;
	return before >= 0 && charge >= n * 128 ? 0 : 1;
}

TEST_F_TIMEOUT(charge, subscriptions_are_charged, 300)
{
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	EXPECT_EQ(0, run_in_cgroup(subscribe_often));
}

/* --- Cgroups that are removed --------------------------------------------------------------- */

#define REMOVED 32

/* Create and destroy a key over other keys, which remembers the cgroup of the process. */
static int use_table(void)
{
	uint32_t pd, key, pdn;
	struct devx_cmd cmd;
	struct uv uv;

	if (uv_open_devx(&uv))
		return 101;
	devx_start(&cmd, DEVX_ALLOC_PD);
	if (devx_create(uv.fd, &cmd, &pd))
		return 102;
	pdn = devx_get(&cmd, 8) & 0xffffff;
	devx_start_klm_mkey(&cmd, pdn);
	if (devx_create(uv.fd, &cmd, &key) || devx_destroy(uv.fd, key))
		return 103;
	uv_close(&uv);
	return 0;
}

/* Have the driver map pages of a region, which it charges to the cgroup of the process. */
static int use_region(void)
{
	struct ibv_sge sge = { .length = LEN };
	struct ibv_mr *mr;
	struct rdma r;
	uint8_t *mem;

	if (rdma_open(&r))
		return 101;
	mem = map_memory(LEN, 0);
	mr = mem == MAP_FAILED ? NULL : reg_paged(r.pd, mem, LEN);
	if (!mr)
		return 102;
	sge.addr = (uintptr_t)mem;
	sge.lkey = mr->lkey;
	if (ibv_advise_mr(r.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &sge,
			  1) || ibv_dereg_mr(mr))
		return 103;
	rdma_close(&r);
	return 0;
}

/*
 * Do @work in REMOVED cgroups, one after the other, and remove each. Returns how many of them still
 * exist in the kernel after five seconds, or LONG_MAX if @work has failed.
 */
static long cgroups_that_stay(int (*work)(void))
{
	long before = memcg_dying(), now = 0;
	int i;

	for (i = 0; i < REMOVED; i++) {
		if (run_in_cgroup(work))
			return LONG_MAX;
		memcg_remove();
		if (memcg_make(LIMIT))
			return LONG_MAX;
	}
	/* What is charged to a cgroup, or counted for it on a processor, keeps it for a while. */
	for (i = 0; i < 50; i++) {
		empty_caches(DROP_PAGE_CACHE | DROP_SLAB);
		now = memcg_dying();
		if (now < before + REMOVED / 2)
			break;
		usleep(100000);
	}
	fprintf(stderr, "# %ld of %d removed cgroups are left\n", now - before, REMOVED);
	return now - before;
}

TEST_F_TIMEOUT(charge, removed_cgroups_of_tables_do_not_stay, 300)
{
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	EXPECT_GT(REMOVED / 2, cgroups_that_stay(use_table));
}

TEST_F_TIMEOUT(charge, removed_cgroups_of_regions_do_not_stay, 300)
{
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	EXPECT_GT(REMOVED / 2, cgroups_that_stay(use_region));
}

/* --- A cgroup that is full ------------------------------------------------------------------ */

/*
 * Each page is in another directory of an implicit region, so a fault on it needs keys and tables.
 */
#define FAR_PAGES 100
#define FAR_FIRST (1ul << 40)
#define FAR_STEP (1ul << 36)

/* What the test and the process in the cgroup share. */
struct full {
	volatile bool go, done, end;
	volatile int status;	/* of the READ that fails */
};

static bool has_implicit(void)
{
	struct ibv_device_attr_ex attr = {};
	struct rdma r;

	if (rdma_open(&r))
		return false;
	if (ibv_query_device_ex(r.ctx, NULL, &attr))
		attr.odp_caps.general_caps = 0;
	rdma_close(&r);
	return attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT;
}

static void wait_for(const volatile bool *flag)
{
	while (!*flag)
		usleep(1000);
}

/* Not rdma_access(), which makes system calls if the READ fails. */
static int read_far(struct pair *p, struct ibv_mr *mr, void *page)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_READ,
		.wr.rdma = { .remote_addr = (uintptr_t)page, .rkey = mr->rkey },
	};
	struct ibv_wc wc;

	return post_send(p, &wr, p->buf[0], 64) ? -1 : reap(p->cq[0], &wc);
}

/*
 * Have the device read pages until a READ fails. The process itself needs no memory meanwhile, and
 * has touched all pages, which are zero, so a fault needs only what the driver allocates.
 */
static int read_while_full(void *arg, int ready)
{
	const int access = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_READ;
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	volatile uint8_t *far[FAR_PAGES];
	struct full *full = arg;
	struct ibv_mr *mr;
	struct pair p;
	struct rdma r;
	int i;

	if (memcg_enter() || rdma_open(&r) || pair_open(&p, &r, &cfg, LEN))
		return 101;
	mr = ibv_reg_mr(r.pd, NULL, SIZE_MAX, access);
	if (!mr)
		return 102;
	for (i = 0; i < FAR_PAGES; i++) {
		far[i] = mmap((void *)(FAR_FIRST + i * FAR_STEP), UV_PAGE, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (far[i] == MAP_FAILED || *far[i])
			return 103;
	}
	/* The first READ has the driver set up what it keeps. */
	if (read_far(&p, mr, (void *)far[0]) || mlockall(MCL_CURRENT))
		return 104;
	usleep(1);
	full->status = 0;
	if (child_ready(ready))
		return 105;
	wait_for(&full->go);
	for (i = 1; i < FAR_PAGES && !full->status; i++)
		full->status = read_far(&p, mr, (void *)far[i]);
	full->done = true;
	wait_for(&full->end);
	return 0;
}

TEST_F_TIMEOUT(charge, full_cgroup_gets_no_tables_and_kills_no_process, 300)
{
	int status = -1, ended = 0, waits;
	struct full *full;
	pid_t pid;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (!has_implicit())
		SKIP(return, "the device has no implicit regions");
	waits = memcg_fill_waits(LIMIT);
	ASSERT_LE(0, waits);
	if (waits) {
		ASSERT_FALSE(on_stock_kernel());
		SKIP(return, "the kernel kills a process before it sets such a limit");
	}
	full = mmap(NULL, sizeof(*full), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, full);
	full->go = false;
	pid = child_start(read_while_full, full);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, memcg_fill());
	full->go = true;
	while (!full->done && !ended) {
		usleep(1000);
		ended = waitpid(pid, &status, WNOHANG);
	}
	EXPECT_EQ(0, memcg_events("oom_kill"));
	EXPECT_NE(0, full->status);
	EXPECT_EQ(0, memcg_make(LIMIT));
	full->end = true;
	if (!ended)
		EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	munmap(full, sizeof(*full));
}

TEST_HARNESS_MAIN
