// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The driver creates its own objects for UMR, XRC and paging at their first use: by one process or
 * by many at the same time, by a process that is killed meanwhile, by a process whose device is
 * removed, and again after firmware has refused once.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "binding.h"
#include "klog.h"
#include "test.h"

#define CROWD 8
#define DELAY_MS 40	/* of each command, in races */
/* After a registration that did without UMR the driver does not try UMR again for a second. */
#define WITHOUT_UMR_MS 1200
#define LOG_SLOW "cannot set up UMR"

/*
 * Kinds of objects, and how many of each an idle device may have besides those of mlx5_core and of
 * the netdev: those that ib_core creates for management datagrams.
 */
static const struct {
	const char *kind;
	long most;
} idle[] = {
	{ "uar", 0 }, { "pd", 1 }, { "cq", 1 }, { "qp", 2 }, { "mkey", 1 }, { "mkey_free", 0 },
	{ "srq", 0 }, { "xrcd", 0 }, { "uctx", 0 },
};

FIXTURE(fresh) {
	struct binding b;
	bool bound;
	void *mem;
};

/* A device that no process has opened since the driver was bound to it. */
FIXTURE_SETUP(fresh)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, binding_find(&self->b));
	self->mem = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	ASSERT_EQ(0, binding_do(&self->b, "unbind"));
	ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, binding_do(&self->b, "bind"));
	self->bound = true;
}

/* Nothing that was created at first use is left when the driver is unbound. */
FIXTURE_TEARDOWN(fresh)
{
	hca_inject_clear();
	if (self->bound)
		EXPECT_EQ(0, binding_do(&self->b, "unbind"));
	EXPECT_CENSUS_UNCHANGED();
	EXPECT_EQ(0, binding_do(&self->b, "bind"));
	EXPECT_TRUE(binding_wait_device());
	munmap(self->mem, UV_PAGE);
}

/* --- Uses that each need something of the driver's own -------------------------------------- */

static int use_umr(struct rdma *r, void *mem)
{
	struct ibv_mr *mr = ibv_reg_mr(r->pd, mem, UV_PAGE, IBV_ACCESS_LOCAL_WRITE);

	if (!mr)
		return -errno;
	return -ibv_dereg_mr(mr);
}

static int use_paging(struct rdma *r, void *mem)
{
	struct ibv_mr *mr = ibv_reg_mr(r->pd, mem, UV_PAGE,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	struct ibv_sge part = { .addr = (uintptr_t)mem, .length = UV_PAGE };
	int err;

	if (!mr)
		return -errno;
	part.lkey = mr->lkey;
	err = ibv_advise_mr(r->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
			    &part, 1);
	return -(ibv_dereg_mr(mr) ?: err);
}

static int use_domain(struct rdma *r, void *mem)
{
	struct ibv_xrcd *xrcd = rdma_open_xrcd(r->ctx, -1, O_CREAT);

	if (!xrcd)
		return -errno;
	return -ibv_close_xrcd(xrcd);
}

static int use_initiator(struct rdma *r, void *mem)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_SEND };
	struct ibv_qp *qp = rdma_qp_create(r, r->cq, &cfg);

	if (!qp)
		return -errno;
	return -ibv_destroy_qp(qp);
}

static bool can_page(struct rdma *r)
{
	return rdma_has_odp(r->ctx);
}

static bool can_xrc(struct rdma *r)
{
	return rdma_has_xrc(r->ctx);
}

static int use_all(struct rdma *r, void *mem)
{
	int err = use_umr(r, mem);

	if (!err && can_page(r))
		err = use_paging(r, mem);
	if (!err && can_xrc(r))
		err = use_domain(r, mem) ?: use_initiator(r, mem);
	return err;
}

/* --- An idle device ------------------------------------------------------------------------- */

TEST_F(fresh, idle_device_holds_no_object_of_the_driver)
{
	long without[ARRAY_SIZE(idle)], count;
	unsigned int i;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_EQ(0, binding_do(&self->b, "unbind"));
	for (i = 0; i < ARRAY_SIZE(idle); i++)
		without[i] = hca_census_count(idle[i].kind);
	ASSERT_EQ(0, binding_do(&self->b, "bind"));
	ASSERT_TRUE(binding_wait_device());
	for (i = 0; i < ARRAY_SIZE(idle); i++) {
		count = hca_census_count(idle[i].kind) - without[i];
		EXPECT_GE(idle[i].most, count) TH_LOG("kind %u: %ld", i, count);
	}
}

/* --- Refusals ------------------------------------------------------------------------------- */

static const struct use {
	const char *name;
	int (*use)(struct rdma *r, void *mem);
	bool (*can)(struct rdma *r);
	bool falls_back;	/* works without the objects, by slower commands */
	const char *ops[6];	/* that create the objects, in order */
} uses[] = {
	{ "UMR", use_umr, NULL, true,
	  { "CREATE_CQ", "CREATE_QP", "RST2INIT_QP", "INIT2RTR_QP", "RTR2RTS_QP" } },
	{ "paging", use_paging, can_page, false, { "ALLOC_PD", "CREATE_QP", "CREATE_EQ" } },
	{ "XRC domain", use_domain, can_xrc, false,
	  { "CREATE_CQ", "ALLOC_XRCD", "CREATE_XRC_SRQ" } },
	{ "XRC initiator", use_initiator, can_xrc, false,
	  { "CREATE_CQ", "ALLOC_XRCD", "CREATE_XRC_SRQ" } },
};

/* Firmware refuses to create each of the objects in turn, and then none. */
static void refuse_first_use(struct __test_metadata *_metadata, const struct use *use, void *mem)
{
	const char *const *op;
	struct rdma r;
	int err;

	ASSERT_TRUE(binding_wait_device());
	ASSERT_EQ(0, rdma_open(&r));
	if (use->can && !use->can(&r)) {
		TH_LOG("skipping what the device does not have");
		rdma_close(&r);
		return;
	}
	for (op = use->ops; *op; op++) {
		if (op != use->ops && use->falls_back)
			usleep(WITHOUT_UMR_MS * 1000);
		ASSERT_EQ(0, hca_do("inject op %s LIM_ERR 1", *op));
		err = use->use(&r, mem);
		EXPECT_EQ(1, hca_inject_clear()) TH_LOG("%s: %s", use->name, *op);
		EXPECT_EQ(use->falls_back, !err) TH_LOG("%s: %s: %d", use->name, *op, err);
	}
	if (use->falls_back)
		usleep(WITHOUT_UMR_MS * 1000);
	EXPECT_EQ(0, use->use(&r, mem)) TH_LOG("%s", use->name);
	rdma_close(&r);
}

TEST_F_TIMEOUT(fresh, refused_first_use_is_an_error_of_that_call_alone, 300)
{
	int logged = klog_count(LOG_SLOW);
	unsigned int i;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	for (i = 0; i < ARRAY_SIZE(uses); i++) {
		refuse_first_use(_metadata, &uses[i], self->mem);
		ASSERT_EQ(0, binding_do(&self->b, "unbind"));
		EXPECT_CENSUS_UNCHANGED() TH_LOG("%s", uses[i].name);
		ASSERT_EQ(0, binding_do(&self->b, "bind"));
	}
	/* The driver logs the refusal at most once for each use, not for each registration. */
	EXPECT_LT(logged, klog_count(LOG_SLOW));
	EXPECT_GE(logged + (int)ARRAY_SIZE(uses), klog_count(LOG_SLOW));
}

/* --- Races ---------------------------------------------------------------------------------- */

/*
 * Start a process that uses the device in every way, and exits with 0 if all went well. Returns its
 * id.
 */
static pid_t start_use(void *mem)
{
	pid_t pid = fork();
	struct rdma r;
	int err;

	if (pid)
		return pid;
	err = rdma_open(&r) ? 1 : use_all(&r, mem) ? 2 : 0;
	if (err != 1)
		rdma_close(&r);
	_exit(err);
}

static int end_of(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Whatever the race: the next process can use the device. */
static void expect_use(struct __test_metadata *_metadata, void *mem)
{
	EXPECT_EQ(0, end_of(start_use(mem)));
}

TEST_F_TIMEOUT(fresh, many_use_the_device_first_at_the_same_time, 300)
{
	long srqs, domains;
	pid_t pid[CROWD];
	int i;

	ASSERT_TRUE(binding_wait_device());
	ASSERT_EQ(0, hca_do("inject cmd delay 10 100000"));
	for (i = 0; i < CROWD; i++)
		pid[i] = start_use(self->mem);
	for (i = 0; i < CROWD; i++)
		EXPECT_EQ(0, end_of(pid[i])) TH_LOG("process %d", i);
	EXPECT_LT(0, hca_inject_clear());
	/* The driver's objects exist once. */
	srqs = hca_census_count("srq");
	domains = hca_census_count("xrcd");
	expect_use(_metadata, self->mem);
	EXPECT_EQ(srqs, hca_census_count("srq"));
	EXPECT_EQ(domains, hca_census_count("xrcd"));
	if (driver_is("bluebell")) {
		EXPECT_GE(1, srqs);
		EXPECT_GE(2, domains);
	}
}

TEST_F_TIMEOUT(fresh, process_is_killed_in_its_first_use, 300)
{
	pid_t pid[2];
	int i;

	ASSERT_TRUE(binding_wait_device());
	for (i = 1; i <= 8; i++) {
		ASSERT_EQ(0, hca_do("inject cmd delay %d 100000", DELAY_MS));
		pid[0] = start_use(self->mem);
		pid[1] = start_use(self->mem);
		usleep(i * 4 * DELAY_MS * 1000);
		kill(pid[i % 2], SIGKILL);
		EXPECT_LT(-1, hca_inject_clear());
		EXPECT_NE(-1, end_of(pid[i % 2]));
		EXPECT_EQ(0, end_of(pid[!(i % 2)]));
	}
	expect_use(_metadata, self->mem);
}

TEST_F_TIMEOUT(fresh, device_is_removed_during_the_first_use, 300)
{
	pid_t pid;
	int i;

	for (i = 1; i <= 6; i++) {
		ASSERT_TRUE(binding_wait_device());
		ASSERT_EQ(0, hca_do("inject cmd delay %d 100000", DELAY_MS));
		pid = start_use(self->mem);
		usleep(i * 4 * DELAY_MS * 1000);
		EXPECT_LT(-1, hca_inject_clear());
		ASSERT_EQ(0, binding_do(&self->b, "unbind"));
		EXPECT_NE(-1, end_of(pid));
		EXPECT_CENSUS_UNCHANGED();
		ASSERT_EQ(0, binding_do(&self->b, "bind"));
	}
	ASSERT_TRUE(binding_wait_device());
	expect_use(_metadata, self->mem);
}

TEST_HARNESS_MAIN
