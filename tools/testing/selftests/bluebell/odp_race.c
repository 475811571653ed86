// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging while something changes: the mappings of the process during traffic; the region,
 * the process or the device while faults are resolved.
 *
 * ODP_RACE_SECONDS=N lets each race run for N seconds (default 2).
 */

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "child.h"
#include "kernel_file.h"
#include "paged_setup.h"
#include "removal.h"

/* --- Races ---------------------------------------------------------------------------------- */

struct race {
	struct paged *o;
	atomic_bool stop;
	int fd;
	unsigned long rounds;
	void (*action)(struct race *r);
};

static void discard_page(struct race *r)
{
	madvise(r->o->mem + rand() % PAGES * UV_PAGE, UV_PAGE, MADV_DONTNEED);
}

static void replace_memory(struct race *r)
{
	paged_map(r->o->mem);
}

static void unmap_and_map(struct race *r)
{
	munmap(r->o->mem, LEN);
	usleep(rand() % 2000);
	paged_map(r->o->mem);
	usleep(rand() % 5000);
}

static void move_away(struct race *r)
{
	uint8_t *to = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mremap(r->o->mem, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	paged_map(r->o->mem);
	munmap(to, LEN);
	usleep(rand() % 5000);
}

static void fork_child(struct race *r)
{
	pid_t pid = fork();

	(void)r;
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void punch_hole(struct race *r)
{
	fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, rand() % PAGES * UV_PAGE,
		  UV_PAGE);
}

/* Compact memory and page out: both invalidate pages as a migration between NUMA nodes does. */
static void migrate_pages(struct race *r)
{
	write_file("/proc/sys/vm/compact_memory", "1");
	madvise(r->o->mem, LEN, MADV_PAGEOUT);
	usleep(1000);
}

static void change_protection(struct race *r)
{
	mprotect(r->o->mem, LEN, PROT_READ);
	mprotect(r->o->mem, LEN, PROT_READ | PROT_WRITE);
	usleep(rand() % 3000);
}

static void *act_until_stopped(void *arg)
{
	struct race *r = arg;

	while (!r->stop) {
		r->action(r);
		r->rounds++;
		/* Let other threads run: a machine with one CPU would run nothing but this one. */
		sched_yield();
	}
	return NULL;
}

FIXTURE(race) {
	struct paged o;
};

FIXTURE_VARIANT(race) {
	void (*action)(struct race *r);
	bool implicit, file, xrc;
	bool may_fail;		/* at times the memory is unmapped or read-only */
};

FIXTURE_VARIANT_ADD(race, discard) { .action = discard_page };

FIXTURE_VARIANT_ADD(race, discard_implicit) { .action = discard_page, .implicit = true };

FIXTURE_VARIANT_ADD(race, replace) { .action = replace_memory };

FIXTURE_VARIANT_ADD(race, replace_implicit) { .action = replace_memory, .implicit = true };

FIXTURE_VARIANT_ADD(race, unmap) { .action = unmap_and_map, .may_fail = true };

FIXTURE_VARIANT_ADD(race, unmap_implicit) {
	.action = unmap_and_map, .implicit = true, .may_fail = true,
};

FIXTURE_VARIANT_ADD(race, move) { .action = move_away, .may_fail = true };

FIXTURE_VARIANT_ADD(race, move_implicit) {
	.action = move_away, .implicit = true, .may_fail = true,
};

FIXTURE_VARIANT_ADD(race, fork_child) { .action = fork_child };

FIXTURE_VARIANT_ADD(race, fork_child_implicit) { .action = fork_child, .implicit = true };

FIXTURE_VARIANT_ADD(race, punch) { .action = punch_hole, .file = true };

FIXTURE_VARIANT_ADD(race, punch_implicit) { .action = punch_hole, .implicit = true, .file = true };

FIXTURE_VARIANT_ADD(race, migrate) { .action = migrate_pages };

FIXTURE_VARIANT_ADD(race, migrate_implicit) { .action = migrate_pages, .implicit = true };

FIXTURE_VARIANT_ADD(race, protect) { .action = change_protection, .may_fail = true };

FIXTURE_VARIANT_ADD(race, protect_implicit) {
	.action = change_protection, .implicit = true, .may_fail = true
};

FIXTURE_VARIANT_ADD(race, discard_xrc) { .action = discard_page, .xrc = true };

FIXTURE_VARIANT_ADD(race, unmap_xrc) { .action = unmap_and_map, .xrc = true, .may_fail = true };

/*
 * Not for mlx5_ib: on Linux 7.2 the RDMA core's list of mapped pages, which mlx5_ib uses, races
 * with invalidation (see patches.rst).
 */
FIXTURE_SETUP(race)
{
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	paged_setup_type(_metadata, &self->o, variant->implicit,
			 variant->xrc ? IBV_QPT_XRC_SEND : IBV_QPT_RC);
}

FIXTURE_TEARDOWN(race)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

/* A byte is either as it was written or zero; anything else comes from a wrong page. */
static bool pages_are_pattern_or_zero(const uint8_t *p, size_t len, uint8_t pattern)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] && p[i] != pattern) {
			fprintf(stderr, "# byte %zu is %#x, neither the pattern nor zero\n", i,
				p[i]);
			return false;
		}
	return true;
}

TEST_F_TIMEOUT(race, traffic_continues_while_mappings_change, 300)
{
	struct race r = { .o = &self->o, .action = variant->action, .fd = -1 };
	struct paged *o = &self->o;
	unsigned long done = 0, failed = 0;
	pthread_t thread;
	double end;
	int ret;

	if (variant->file) {
		r.fd = memfd_create("odp", 0);
		ASSERT_EQ(0, ftruncate(r.fd, LEN));
		ASSERT_EQ(o->mem, mmap(o->mem, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				       r.fd, 0));
	}
	memset(o->p.buf[0], 0x5a, LEN);
	memset(o->p.buf[1], 0x5a, LEN);
	ASSERT_EQ(0, pthread_create(&thread, NULL, act_until_stopped, &r));
	end = seconds() + race_seconds();
	while (seconds() < end || !done) {
		/*
		 * More than 64 bytes: fewer may arrive in the completion, and libmlx5 would copy
		 * them to memory that may be unmapped, so the process would get a signal.
		 */
		size_t off = rand() % (LEN - 8192), len = 65 + rand() % (8192 - 64);
		enum kind op = rand() % 3;

		ret = rand() & 1 ? paged_remote(o, op, off, len) : paged_local(o, op, off, len);
		if (ret == -ETIMEDOUT)
			break;
		failed += !!ret;
		done += !ret;
		/* Pages that were discarded read as zeros; fill those with the pattern again. */
		if (!pages_are_pattern_or_zero(o->p.buf[0], LEN, 0x5a) ||
		    !pages_are_pattern_or_zero(o->p.buf[1], LEN, 0x5a)) {
			ret = -1;
			break;
		}
		memset(o->p.buf[0], 0x5a, LEN);
		memset(o->p.buf[1], 0x5a, LEN);
		if (failed && !variant->may_fail)
			break;
	}
	r.stop = true;
	pthread_join(thread, NULL);
	EXPECT_NE(-ETIMEDOUT, ret);
	EXPECT_NE(-1, ret);
	EXPECT_LT(0, done);
	EXPECT_LT(0, r.rounds);
	if (!variant->may_fail)
		EXPECT_EQ(0, failed);
	TH_LOG("%lu operations, %lu of them failed, %lu changes of mappings", done + failed, failed,
	       r.rounds);
	if (r.fd >= 0)
		close(r.fd);
	/* After the race everything still works. */
	ASSERT_EQ(o->mem, paged_map(o->mem));
	fill(o->p.buf[0], LEN, 1);
	ASSERT_EQ(0, paged_remote(o, WRITE, 0, LEN));
	EXPECT_TRUE(check_fill(o->mem, LEN, 1));
}

/* Prefetch all pages again and again, as the page faults of several queues do. */
static void *prefetch_until_stopped(void *arg)
{
	struct race *r = arg;
	struct ibv_sge sge = {
		.addr = (uintptr_t)r->o->mem, .length = LEN, .lkey = r->o->mr->lkey,
	};

	while (!r->stop) {
		ibv_advise_mr(r->o->r.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			      IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
		r->rounds++;
	}
	return NULL;
}

FIXTURE(crowd) {
	struct paged o;
};

FIXTURE_VARIANT(crowd) {
	void (*action)(struct race *r);
	bool implicit;
};

FIXTURE_VARIANT_ADD(crowd, discard) { .action = discard_page };

FIXTURE_VARIANT_ADD(crowd, replace_implicit) { .action = replace_memory, .implicit = true };

FIXTURE_SETUP(crowd)
{
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	paged_setup(_metadata, &self->o, variant->implicit);
}

FIXTURE_TEARDOWN(crowd)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

/*
 * Several threads map the same pages for the device while the process discards them. If a page is
 * used after it was freed, the kernel reports that in its log, and scripts/vm fails the run.
 */
TEST_F_TIMEOUT(crowd, concurrent_prefetch_of_changing_pages_works, 300)
{
	struct race r = { .o = &self->o, .action = variant->action }, prefetchers[3] = {};
	struct paged *o = &self->o;
	pthread_t thread, threads[3];
	unsigned int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, act_until_stopped, &r));
	for (i = 0; i < ARRAY_SIZE(prefetchers); i++) {
		prefetchers[i].o = o;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, prefetch_until_stopped,
					    &prefetchers[i]));
	}
	usleep(race_seconds() * 1e6);
	r.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(0, r.rounds);
	for (i = 0; i < ARRAY_SIZE(prefetchers); i++) {
		prefetchers[i].stop = true;
		pthread_join(threads[i], NULL);
		EXPECT_LT(0, prefetchers[i].rounds);
	}
	ASSERT_EQ(o->mem, paged_map(o->mem));
	fill(o->p.buf[0], LEN, 1);
	ASSERT_EQ(0, paged_remote(o, WRITE, 0, LEN));
	EXPECT_TRUE(check_fill(o->mem, LEN, 1));
}

/* --- The region, the process or the device goes --------------------------------------------- */

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

static void *fail_umr_until_stopped(void *arg)
{
	struct race *r = arg;

	while (!r->stop) {
		hca_do("inject umr 1 %d", rand() % 4);
		usleep(rand() % 50000);
		r->rounds++;
	}
	return NULL;
}

/*
 * Leaves lose their pages and their keys, are created again and are destroyed, while their region
 * is deregistered. No object is left, and no freed object is used.
 */
TEST_F_TIMEOUT(region, leaves_come_and_go_while_umr_fails, 300)
{
	const size_t leaf = 16ul << 20;
	struct paged *o = &self->o;
	struct race failures = { .o = o };
	double end = seconds() + race_seconds();
	unsigned int rounds = 0, i;
	pthread_t thread;
	uint8_t *mem;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, NEEDS_FAILURES);
	if (!paged_has_implicit(o->r.ctx))
		SKIP(return, NO_IMPLICIT);
	mem = mmap(NULL, 4 * leaf, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, pthread_create(&thread, NULL, fail_umr_until_stopped, &failures));
	for (; seconds() < end || rounds < 3; rounds++) {
		struct ibv_mr *all = paged_reg(o, true);

		ASSERT_NE(NULL, all);
		for (i = 0; i < 12; i++) {
			paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, mem + rand() % 4 * leaf,
				  all->rkey, 64);
			paged_advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
				     mem + rand() % 4 * leaf, 2 * UV_PAGE, all->lkey);
			madvise(mem + rand() % 4 * leaf, leaf, MADV_DONTNEED);
		}
		EXPECT_EQ(0, ibv_dereg_mr(all));
	}
	failures.stop = true;
	pthread_join(thread, NULL);
	hca_inject_clear();
	EXPECT_LT(0, failures.rounds);
	/* UMR restarts within a second. */
	for (i = 0; i < 100 && paged_remote(o, WRITE, 0, 64); i++)
		usleep(20000);
	EXPECT_GT(100, i);
	EXPECT_CENSUS_UNCHANGED();
	munmap(mem, 4 * leaf);
}

static void *write_until_stopped(void *arg)
{
	struct race *r = arg;
	struct ibv_mr *mr = r->o->mr;
	uint32_t rkey = mr->rkey;
	struct paged *o = r->o;

	while (!r->stop) {
		madvise(o->mem, LEN, MADV_DONTNEED);
		paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, rkey, 8192);
		r->rounds++;
	}
	return NULL;
}

TEST_F(region, dereg_during_faults)
{
	struct paged *o = &self->o;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		struct race r = { .o = o };
		pthread_t thread;

		ASSERT_EQ(0, pthread_create(&thread, NULL, write_until_stopped, &r));
		usleep(rand() % 30000);
		EXPECT_EQ(0, ibv_dereg_mr(o->mr));
		r.stop = true;
		pthread_join(thread, NULL);
		pair_reconnect(&o->p);
		o->mr = paged_reg(o, i & 1 && paged_has_implicit(o->r.ctx));
		ASSERT_NE(NULL, o->mr);
		EXPECT_EQ(0, paged_remote(o, WRITE, 0, 64));
	}
}

/* A process killed during page faults leaves nothing behind. */
TEST_F(region, killed_during_faults)
{
	bool implicit = paged_has_implicit(self->o.r.ctx);
	unsigned int i;
	int status;
	pid_t pid;

	/* The queue pair of a fault may be destroyed before the driver resumes it. */
	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME BAD_RES_ERR any"));
	for (i = 0; i < 4; i++) {
		pid = fork();
		if (!pid) {
			struct paged o;
			struct race r = { .o = &o };

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (paged_open(&o, implicit && i & 1))
				_exit(1);
			write_until_stopped(&r);
			_exit(0);
		}
		usleep(300000 + rand() % 200000);
		EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		EXPECT_TRUE(WIFSIGNALED(status));
	}
	/*
	 * A fault that is being resolved holds the address space of the killed process, and the
	 * address space holds the device open: its objects are destroyed after the fault.
	 */
	if (hca_ctl_present() && driver_is("bluebell"))
		EXPECT_STREQ("", hca_census_delta_within(5000));
}

/* As many calls as a context may have in its queue. */
#define QUEUED 32
/* How much memory each call maps: the largest step of the driver. */
#define PIECE (2ul << 20)

/*
 * A child: fill the queue of its context with advice whose caller does not wait, each piece about
 * other memory, and exit, or close the context, before the driver can have served all of it.
 */
static int leave_advice(void *arg, int ready)
{
	struct ibv_sge sge = { .length = PIECE };
	struct rdma r;
	struct ibv_mr *mr;
	uint8_t *mem;
	int i;

	if (rdma_open(&r))
		return 1;
	mem = mmap(NULL, QUEUED * PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	if (mem == MAP_FAILED)
		return 2;
	madvise(mem, QUEUED * PIECE, MADV_NOHUGEPAGE);
	mr = ibv_reg_mr(r.pd, mem, QUEUED * PIECE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	if (!mr)
		return 3;
	sge.lkey = mr->lkey;
	for (i = 0; i < QUEUED; i++) {
		sge.addr = (uintptr_t)mem + i * PIECE;
		if (ibv_advise_mr(r.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1))
			return 4;
	}
	/* The kernel closes a context when the last descriptor of its file is closed. */
	if (*(int *)arg & 1)
		close(r.ctx->cmd_fd);
	return child_ready(ready);
}

TEST_F_TIMEOUT(region, contexts_close_with_queued_advice, 300)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < 20; i++) {
		pid = child_start(leave_advice, &i);
		ASSERT_LT(0, pid) TH_LOG("round %d", i);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status) TH_LOG("%d", WEXITSTATUS(status));
	}
	if (hca_ctl_present() && driver_is("bluebell"))
		EXPECT_STREQ("", hca_census_delta_within(5000));
}

static void fault_until_killed(unsigned int round)
{
	struct paged o;
	struct race r = { .o = &o };

	int ret = paged_open(&o, round & 1);

	if (ret == PAGED_LACKS_IMPLICIT)
		ret = paged_open(&o, false);
	if (!ret)
		write_until_stopped(&r);
}

/* When the device is removed during page faults, no pages and no keys are left. */
TEST(device_removal_during_faults)
{
	if (!device_has(_metadata, rdma_has_odp))
		SKIP(return, NO_ODP);
	/* The queue pair of a fault may be destroyed before the driver resumes it. */
	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME BAD_RES_ERR any"));
	remove_device_during(_metadata, fault_until_killed);
}

TEST_HARNESS_MAIN
