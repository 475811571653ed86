// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that is killed by SIGKILL during traffic, or with many objects, leaves no object in the
 * HCA and no message in the kernel log; also if firmware refuses to destroy its objects, answers
 * late or in another order, or fails meanwhile. SIGKILL_QPS in the environment is the number of
 * queue pairs of the largest process.
 */

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "binding.h"
#include "kernel_file.h"
#include "klog.h"
#include "recovery.h"
#include "test.h"

#define QPS 100
#define MSG (64 * 1024u)

FIXTURE(victim) {
	pid_t pid;
	int ready[2];
};

FIXTURE_VARIANT(victim) {
	enum ibv_qp_type type;
};

FIXTURE_VARIANT_ADD(victim, rc) { .type = IBV_QPT_RC };

FIXTURE_VARIANT_ADD(victim, uc) { .type = IBV_QPT_UC };

FIXTURE_VARIANT_ADD(victim, ud) { .type = IBV_QPT_UD };

FIXTURE_VARIANT_ADD(victim, xrc) { .type = IBV_QPT_XRC_SEND };

FIXTURE_SETUP(victim)
{
	if (!rdma_has_qp_type(variant->type))
		SKIP(return, NO_UC);
	ASSERT_EQ(0, pipe(self->ready));
}

FIXTURE_TEARDOWN(victim)
{
	if (self->pid > 0)
		kill(self->pid, SIGKILL);
}

/* Keep every queue pair busy until the process is killed. */
static void send_until_killed(struct pair *pairs, int n)
{
	bool rdma = pairs[0].cfg.type != IBV_QPT_UD;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	int i, k;

	for (;;)
		for (i = 0; i < n; i++) {
			for (k = 0; k < 4; k++) {
				wr = (struct ibv_send_wr){
					.opcode = rdma ? IBV_WR_RDMA_WRITE : IBV_WR_SEND,
				};
				wr.wr.rdma.remote_addr = (uintptr_t)pairs[i].buf[1];
				wr.wr.rdma.rkey = pairs[i].mr->rkey;
				if (!rdma) {
					memset(&wr.wr, 0, sizeof(wr.wr));
					post_recv(pairs[i].qp[1], pairs[i].mr, pairs[i].buf[1],
						  1024, 0);
				}
				post_send(&pairs[i], &wr, pairs[i].buf[0], rdma ? MSG : 256);
			}
			while (ibv_poll_cq(pairs[i].cq[0], 1, &wc) > 0)
				;
			while (ibv_poll_cq(pairs[i].cq[1], 1, &wc) > 0)
				;
		}
}

static void __noreturn victim_run(enum ibv_qp_type type, int ready)
{
	struct qp_cfg cfg = { .type = type };
	static struct pair pairs[QPS / 2];
	struct rdma r;
	int i;

	if (rdma_open(&r))
		_exit(2);
	for (i = 0; i < QPS / 2; i++)
		if (pair_open(&pairs[i], &r, &cfg, MSG))
			_exit(3);
	if (write(ready, "", 1) != 1)
		_exit(4);
	send_until_killed(pairs, QPS / 2);
	_exit(5);
}

/* True if the log has no lines except those of scripts/vm itself. */
static bool log_is_empty(char *log)
{
	char *line, *save;

	for (line = strtok_r(log, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!strstr(line, "bluebell-vm: "))
			return false;
	return true;
}

TEST_F_TIMEOUT(victim, killed_during_traffic_leaves_nothing, 300)
{
	size_t pos = 0;
	char byte, *log;
	int status;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!census_after_first_use(_metadata, variant->type))
		SKIP(return, NO_XRC);
	klog_since(&pos);
	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid)
		victim_run(variant->type, self->ready[1]);
	close(self->ready[1]);
	ASSERT_EQ(1, read(self->ready[0], &byte, 1));
	EXPECT_LE(QPS, hca_census_count("qp"));
	/* Give the traffic time to start. */
	usleep(300000);
	ASSERT_EQ(0, kill(self->pid, SIGKILL));
	ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
	self->pid = 0;
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		TH_LOG("status %#x", status);
	EXPECT_CENSUS_UNCHANGED();
	log = klog_since(&pos);
	EXPECT_TRUE(log_is_empty(log)) TH_LOG("kernel log: %s", log);
}

static void __noreturn register_until_killed(int ready)
{
	struct ibv_mr *mr;
	struct rdma r;
	uint8_t *mem;

	mem = mmap(NULL, MSG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (rdma_open(&r) || write(ready, "", 1) != 1)
		_exit(2);
	for (;;) {
		mr = ibv_reg_mr(r.pd, mem, MSG, ALL_ACCESS);
		if (mr)
			ibv_dereg_mr(mr);
	}
}

/* A task that is not killed waits for a minute for a UMR request whose completion is lost. */
TEST_F_TIMEOUT(victim, killed_while_a_umr_is_lost_ends_soon, 200)
{
	struct timespec start, end;
	struct rdma r;
	char byte;

	if (!hca_ctl_present() || !driver_is("bluebell") || variant->type != IBV_QPT_RC)
		SKIP(return, NEEDS_FAILURES);
	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid)
		register_until_killed(self->ready[1]);
	ASSERT_EQ(1, read(self->ready[0], &byte, 1));
	ASSERT_EQ(0, hca_do("inject cqe drop 1"));
	usleep(500000);
	EXPECT_EQ(1, hca_inject_clear());
	clock_gettime(CLOCK_MONOTONIC, &start);
	ASSERT_EQ(0, kill(self->pid, SIGKILL));
	ASSERT_EQ(self->pid, waitpid(self->pid, NULL, 0));
	clock_gettime(CLOCK_MONOTONIC, &end);
	self->pid = 0;
	EXPECT_GT(8, end.tv_sec - start.tv_sec);
	/* Memory can be registered as before. */
	ASSERT_EQ(0, rdma_open(&r));
	rdma_close(&r);
}

/* ---- a process with objects of every kind ---------------------------------------------------- */

#define CROWD 40	/* queue pairs, and objects of other kinds */
#define DEPTH 8		/* requests of a queue pair */

static const struct qp_cfg crowd_cfg = {
	.type = IBV_QPT_RC, .send_wr = DEPTH, .recv_wr = DEPTH, .send_sge = 1, .recv_sge = 1,
};

/* A child that cannot create an object exits with a status by which the line can be found. */
#define MUST(expr) do { \
	if (!(expr)) \
		_exit(__LINE__ % 255 + 1); \
} while (0)

/* A queue pair that is connected to itself. */
static struct ibv_qp *create_loop(struct rdma *r, const struct qp_cfg *cfg)
{
	struct ibv_qp *qp = rdma_qp_create(r, r->cq, cfg);

	MUST(qp && !rdma_qp_connect(qp, cfg, qp->qp_num, r->port.lid));
	return qp;
}

/* Bind a window to a region: firmware does not destroy the region's key before the window's key. */
static void bind_window(struct rdma *r, struct ibv_qp *qp, uint8_t *mem)
{
	struct ibv_mr *mr = ibv_reg_mr(r->pd, mem, UV_PAGE, IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(r->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = mr, .addr = (uintptr_t)mem, .length = UV_PAGE,
			       .mw_access_flags = IBV_ACCESS_REMOTE_READ },
	};

	/* A device or a library may have no windows. */
	if (mr && mw)
		ibv_bind_mw(qp, mw, &bind);
}

static void create_srqs(struct rdma *r, int n)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct qp_cfg cfg = crowd_cfg;
	int i;

	for (i = 0; i < n; i++) {
		cfg.srq = ibv_create_srq(r->pd, &attr);
		if (!cfg.srq)
			return;
		MUST(rdma_qp_create(r, r->cq, &cfg));
	}
}

static void join_group(struct rdma *r)
{
	const struct qp_cfg cfg = { .type = IBV_QPT_UD };
	union ibv_gid gid = { .raw = { 0xff, 0x12, 0xa0, 0x1b, 0xff, 0xff, [14] = 0x78 } };
	struct ibv_qp *qp = rdma_qp_create(r, r->cq, &cfg);

	MUST(qp && !rdma_qp_init(qp, &cfg) && !ibv_attach_mcast(qp, &gid, 0xc008));
}

static void create_crowd(struct rdma *r, uint8_t *mem)
{
	struct ibv_alloc_dm_attr dm = { .length = 64 };
	static struct pair xrc;
	struct qp_cfg xrc_cfg = { .type = IBV_QPT_XRC_SEND };
	struct ibv_qp *qp;
	int i;

	for (i = 0; i < CROWD; i++) {
		qp = create_loop(r, &crowd_cfg);
		MUST(ibv_reg_mr(r->pd, mem + i * UV_PAGE, UV_PAGE,
				ALL_ACCESS & ~IBV_ACCESS_REMOTE_ATOMIC));
		if (i % 4)
			continue;
		bind_window(r, qp, mem + i * UV_PAGE);
		MUST(ibv_create_cq(r->ctx, DEPTH, NULL, NULL, 0));
		MUST(ibv_alloc_pd(r->ctx));
	}
	create_srqs(r, CROWD / 8);
	join_group(r);
	ibv_alloc_dm(r->ctx, &dm);
	if (rdma_has_xrc(r->ctx))
		MUST(!pair_open(&xrc, r, &xrc_cfg, UV_PAGE));
	if (rdma_has_odp(r->ctx))
		MUST(ibv_reg_mr(r->pd, mem, UV_PAGE,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND));
}

/* Keep queue pairs that are connected to themselves busy, until the process is killed. */
static void __noreturn write_until_killed(struct rdma *r, struct ibv_qp **qp, int n,
					  struct ibv_mr *mr)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)mr->addr, .length = UV_PAGE / 2, .lkey = mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)mr->addr + UV_PAGE / 2, .rkey = mr->rkey },
	}, *bad;
	struct ibv_wc wc;
	int i;

	for (;;) {
		for (i = 0; i < n; i++)
			ibv_post_send(qp[i], &wr, &bad);
		while (ibv_poll_cq(r->cq, 1, &wc) > 0)
			;
	}
}

static void __noreturn crowd_run(int ready)
{
	uint8_t *mem = mmap(NULL, CROWD * UV_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_qp *busy[4];
	struct ibv_mr *mr;
	struct rdma r;
	int i;

	MUST(mem != MAP_FAILED && !rdma_open(&r));
	create_crowd(&r, mem);
	mr = ibv_reg_mr(r.pd, mem, UV_PAGE, ALL_ACCESS & ~IBV_ACCESS_REMOTE_ATOMIC);
	MUST(mr);
	for (i = 0; i < 4; i++)
		busy[i] = create_loop(&r, &crowd_cfg);
	MUST(write(ready, "", 1) == 1);
	write_until_killed(&r, busy, 4, mr);
}

FIXTURE(crowd) {
	pid_t pid;
	int ready[2];
};

FIXTURE_VARIANT(crowd) {
	const char *inject[3];	/* before the process is killed */
	bool refuses;		/* firmware refuses commands */
	bool umr;		/* makes a request of Bluebell's own queue pair fail */
	bool loses_device;	/* the device fails, or the driver is unbound meanwhile */
	bool unbinds;
};

FIXTURE_VARIANT_ADD(crowd, plain) { };

/* A few refusals, so that the driver or ib_core destroys the objects when it tries again. */
FIXTURE_VARIANT_ADD(crowd, refused) {
	.inject = { "inject op DESTROY_QP BAD_RES_STATE 7", "inject op DESTROY_MKEY LIM_ERR 3" },
	.refuses = true,
};

FIXTURE_VARIANT_ADD(crowd, late) { .inject = { "inject cmd delay 20 200" } };

FIXTURE_VARIANT_ADD(crowd, reordered) { .inject = { "inject cmd reorder" } };

FIXTURE_VARIANT_ADD(crowd, umr_fails) { .inject = { "inject umr 2 9" }, .umr = true };

FIXTURE_VARIANT_ADD(crowd, device_fails) {
	.inject = { "inject cmd delay 50 1000 DESTROY_QP" }, .loses_device = true,
};

FIXTURE_VARIANT_ADD(crowd, driver_is_unbound) {
	.inject = { "inject cmd delay 50 40 DESTROY_QP" }, .loses_device = true, .unbinds = true,
};

FIXTURE_SETUP(crowd)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (variant->refuses && !driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (variant->umr && (!driver_is("bluebell") ||
			     hca_cap("general", "umr_modify_entity_size_disabled")))
		SKIP(return, "needs Bluebell, and a device whose keys UMR fills");
	ASSERT_EQ(0, pipe(self->ready));
}

FIXTURE_TEARDOWN(crowd)
{
	if (self->pid > 0)
		kill(self->pid, SIGKILL);
	hca_inject_clear();
}

/* Let the device fail, or take it away, while the process that has been killed is ending. */
static void lose_device(struct __test_metadata *_metadata, bool unbind)
{
	struct binding b;

	/*
	 * The process rings doorbells until it is gone, and the device may have been
	 * reset by then.
	 */
	ASSERT_EQ(0, hca_expect("drop any any"));
	ASSERT_EQ(0, binding_find(&b));
	ASSERT_EQ(0, allow_failures(&b));
	usleep(60000 + rand() % 60000);
	if (!unbind) {
		ASSERT_EQ(0, hca_do("inject fatal"));
		return;
	}
	EXPECT_EQ(0, binding_do(&b, "unbind"));
	EXPECT_EQ(0, binding_do(&b, "bind"));
	EXPECT_TRUE(binding_wait_device());
}

static void start_crowd(struct __test_metadata *_metadata, FIXTURE_DATA(crowd) * self)
{
	struct pollfd pfd = { .fd = self->ready[0], .events = POLLIN };
	int status;
	char byte;

	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid)
		crowd_run(self->ready[1]);
	/* A child that cannot create its objects ends. */
	while (waitpid(self->pid, &status, WNOHANG) == 0)
		if (poll(&pfd, 1, 100) == 1) {
			ASSERT_EQ(1, read(self->ready[0], &byte, 1));
			return;
		}
	self->pid = 0;
	ASSERT_TRUE(false) TH_LOG("the process has ended with status %#x", status);
}

static void kill_crowd(struct __test_metadata *_metadata, FIXTURE_DATA(crowd) * self)
{
	ASSERT_EQ(0, kill(self->pid, SIGKILL));
	ASSERT_EQ(self->pid, waitpid(self->pid, NULL, 0));
	self->pid = 0;
}

TEST_F_TIMEOUT(crowd, killed_process_leaves_nothing, 300)
{
	int status, i;

	/* From now on the device is known by its name, also while it is gone. */
	ASSERT_NE(NULL, rdma_device_name());
	/*
	 * Take the census after a first crowd, because the drivers keep objects that they create
	 * for the first process, such as event queues.
	 */
	start_crowd(_metadata, self);
	kill_crowd(_metadata, self);
	ASSERT_EQ(0, hca_census_reset());
	start_crowd(_metadata, self);
	EXPECT_LE(CROWD, hca_census_count("qp"));
	/*
	 * On a kernel that tells the driver of the end of a process, the driver leaves a region
	 * alone while windows are bound to it. On others ib_core destroys the objects one by one.
	 */
	if (variant->refuses && !kernel_has_symbol("mlx5_ib_ufile_hw_cleanup"))
		ASSERT_EQ(0, hca_expect("refuse DESTROY_MKEY BAD_RES_STATE_ERR any"));
	for (i = 0; i < 3 && variant->inject[i]; i++)
		ASSERT_EQ(0, hca_do("%s", variant->inject[i]));
	ASSERT_EQ(0, kill(self->pid, SIGKILL));
	if (variant->loses_device)
		lose_device(_metadata, variant->unbinds);
	ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
	self->pid = 0;
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		TH_LOG("status %#x", status);
	if (!variant->loses_device) {
		if (variant->inject[0] && !strstr(variant->inject[0], "reorder"))
			EXPECT_LE(1, hca_inject_clear());
		EXPECT_STREQ("", hca_census_delta_within(5000));
		return;
	}
	EXPECT_TRUE(device_recovers());
	/*
	 * Clear the injections only after the recovery: to clear them resets a device that has
	 * failed, and mlx5_core's objects would be missing.
	 */
	hca_inject_clear();
	EXPECT_STREQ("", objects_of_before());
}

/* ---- many queue pairs, a hundred of them with traffic ---------------------------------------- */

static unsigned int many_qps(void)
{
	const char *text = getenv("SIGKILL_QPS");

	return text ? strtoul(text, NULL, 0) : 200;
}

/* Connect a random @busy of @n queue pairs, and use them. */
static void __noreturn many_run(unsigned int n, unsigned int busy, int ready)
{
	struct ibv_qp **qp = calloc(n, sizeof(*qp)), *swap;
	struct ibv_mr *mr = NULL;
	struct rdma r;
	unsigned int i, k;
	uint8_t *mem;

	mem = mmap(NULL, (size_t)n * UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	MUST(qp && mem != MAP_FAILED && !rdma_open(&r));
	r.cq = ibv_create_cq(r.ctx, busy * DEPTH, NULL, NULL, 0);
	MUST(r.cq);
	for (i = 0; i < n; i++) {
		qp[i] = rdma_qp_create(&r, r.cq, &crowd_cfg);
		mr = ibv_reg_mr(r.pd, mem + (size_t)i * UV_PAGE, UV_PAGE,
				ALL_ACCESS & ~IBV_ACCESS_REMOTE_ATOMIC);
		MUST(qp[i] && mr);
	}
	srand(getpid());
	for (i = 0; i < busy; i++) {
		k = i + rand() % (n - i);
		swap = qp[i];
		qp[i] = qp[k];
		qp[k] = swap;
		MUST(!rdma_qp_connect(qp[i], &crowd_cfg, qp[i]->qp_num, r.port.lid));
	}
	MUST(write(ready, "", 1) == 1);
	write_until_killed(&r, qp, busy, mr);
}

FIXTURE(many) { };

FIXTURE_SETUP(many) { }

FIXTURE_TEARDOWN(many) { }

TEST_F_TIMEOUT(many, objects_are_gone_with_their_process, 3600)
{
	unsigned int n = many_qps(), busy = n < 200 ? n / 2 : 100;
	int ready[2], status;
	double start;
	size_t pos = 0;
	char byte, *log;
	pid_t pid;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (hca_limit("qp") <= n || hca_limit("mkey") <= n)
		SKIP(return, "the device has not so many queue pairs or keys");
	census_after_first_use(_metadata, IBV_QPT_RC);
	klog_since(&pos);
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		many_run(n, busy, ready[1]);
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1)) {
		waitpid(pid, &status, 0);
		TH_LOG("the process has ended with status %#x", status);
	}
	close(ready[0]);
	EXPECT_LE(n, hca_census_count("qp"));
	usleep(300000);
	start = seconds();
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	TH_LOG("a process with %u queue pairs and regions was gone after %.3f s", n,
	       seconds() - start);
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		TH_LOG("status %#x", status);
	EXPECT_CENSUS_UNCHANGED();
	log = klog_since(&pos);
	EXPECT_TRUE(log_is_empty(log)) TH_LOG("kernel log: %s", log);
}

TEST_HARNESS_MAIN
