// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device's firmware fails while processes work with the device, while the driver is unbound,
 * and while the driver probes the device. mlx5_core reads that in the health buffer within three
 * seconds. Then mlx5_core ends all commands, raises a system error, removes the RDMA device, resets
 * firmware and sets the device up again. No call may wait for an answer that will not come.
 */
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "consumer.h"
#include "devx_cmd.h"
#include "recovery.h"
#include "removal.h"

#define THREADS 4
/* Delay of an answer, longer than any call may take. A reset comes first: no answer is given. */
#define LATE_MS 60000
/* Less than the 60 s for which the driver waits for a UMR request, and mlx5_core for a command. */
#define LONGEST_CALL_MS 20000

/* Inherited by the processes that the tests start. */
static struct binding binding;
static int go[2];	/* a pipe: a byte for the process that waits for the failure */

FIXTURE(fatal) {
	struct workers workers;
	struct timespec failed;
};

static void setup_fatal(struct __test_metadata *_metadata)
{
	/*
	 * Until their mappings are removed, the processes ring doorbells of destroyed queues, which
	 * the HCA drops.
	 */
	ASSERT_EQ(0, hca_expect("drop any any"));
	/* A queue pair may be destroyed while the driver resolves a page fault of it. */
	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME BAD_RES_ERR any"));
	ASSERT_EQ(0, binding_find(&binding));
	ASSERT_EQ(0, allow_failures(&binding));
	ASSERT_EQ(0, pipe(go));
	census_after_first_use(_metadata, IBV_QPT_RC);
}

FIXTURE_SETUP(fatal)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	setup_fatal(_metadata);
}

FIXTURE_TEARDOWN(fatal)
{
	fatal_reporter(&binding, "set", "auto_recover true");
	hca_inject_clear();
	workers_kill(&self->workers);
}

/* How often a test is repeated. */
static int rounds(void)
{
	const char *n = getenv("FATAL_ROUNDS");

	return n ? atoi(n) : 1;
}

static long ms_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000;
}

/* The device fails after the processes have worked for a while. */
static void fail_device(struct __test_metadata *_metadata, struct workers *w,
			struct timespec *failed)
{
	usleep(300000 + rand() % 100000);
	ASSERT_TRUE(workers_are_at_work(w));
	ASSERT_EQ(0, hca_do("inject fatal"));
	clock_gettime(CLOCK_MONOTONIC, failed);
	ASSERT_EQ(1, write(go[1], "", 1));
}

/*
 * All processes end soon after the failure. Then the device works, and firmware has no object that
 * did not exist before the test.
 */
static void expect_end_and_recovery(struct __test_metadata *_metadata, struct workers *w,
				    const struct timespec *failed)
{
	long ended_ms;

	EXPECT_EQ(0, workers_wait(w));
	ended_ms = ms_since(failed);
	EXPECT_TRUE(device_recovers());
	TH_LOG("ended %ld ms after the failure, recovered after %ld ms", ended_ms,
	       ms_since(failed));
	EXPECT_STREQ("", objects_of_before());
}

/* ---- objects of all kinds -------------------------------------------------------------------- */

struct objects {
	struct rdma r;
	struct pair p;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq, *xrc_srq;
	struct ibv_xrcd *xrcd;
	struct ibv_qp *ud, *on_srq;
	struct ibv_ah *ah;
	struct ibv_mr *paged, *dm_mr;
	struct ibv_mw *mw;
	struct ibv_dm *dm;
	struct mlx5dv_devx_uar *uar;
};

/* Create the objects that a device may lack. */
static bool create_optional(struct objects *o)
{
	struct ibv_alloc_dm_attr dm = { .length = UV_PAGE };
	struct ibv_srq_attr srq = { .max_wr = 16, .max_sge = 1 };
	struct rdma *r = &o->r;

	o->mw = ibv_alloc_mw(r->pd, IBV_MW_TYPE_2);
	o->dm = ibv_alloc_dm(r->ctx, &dm);
	if (o->dm)
		o->dm_mr = ibv_reg_dm_mr(r->pd, o->dm, 0, UV_PAGE,
					 IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	o->uar = mlx5dv_devx_alloc_uar(r->ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	if (rdma_has_odp(r->ctx))
		o->paged = ibv_reg_mr(r->pd, o->p.buf[1], WORK_SIZE,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	if (rdma_has_xrc(r->ctx)) {
		o->xrcd = rdma_open_xrcd(r->ctx, -1, O_CREAT);
		o->xrc_srq = o->xrcd ? rdma_create_xrc_srq(r, o->xrcd, r->cq, &srq) : NULL;
	}
	return (!o->dm || o->dm_mr) && (!rdma_has_odp(r->ctx) || o->paged) &&
	       (!rdma_has_xrc(r->ctx) || o->xrc_srq);
}

static bool create_objects(struct objects *o)
{
	struct qp_cfg rc = { .type = IBV_QPT_RC }, ud = { .type = IBV_QPT_UD }, on_srq = rc;
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_ah_attr ah;
	struct rdma *r = &o->r;

	if (rdma_open(r) || pair_open(&o->p, r, &rc, WORK_SIZE))
		return false;
	port_address(&ah, r->port.lid);
	o->channel = ibv_create_comp_channel(r->ctx);
	o->cq = o->channel ? ibv_create_cq(r->ctx, 16, NULL, o->channel, 0) : NULL;
	o->srq = ibv_create_srq(r->pd, &srq);
	on_srq.srq = o->srq;
	o->ah = ibv_create_ah(r->pd, &ah);
	if (!o->cq || !o->srq || !o->ah || ibv_req_notify_cq(o->cq, 0))
		return false;
	o->ud = rdma_qp_create(r, o->cq, &ud);
	o->on_srq = rdma_qp_create(r, o->cq, &on_srq);
	return o->ud && o->on_srq && create_optional(o);
}

static int failed(const char *what, int err)
{
	if (err)
		fprintf(stderr, "# %s: %s\n", what, strerror(err < 0 ? -err : err));
	return !!err;
}

static int destroy_optional(struct objects *o)
{
	int wrong = 0;

	if (o->mw)
		wrong += failed("dealloc_mw", ibv_dealloc_mw(o->mw));
	if (o->dm)
		wrong += failed("dereg_mr of device memory", ibv_dereg_mr(o->dm_mr)) +
			 failed("free_dm", ibv_free_dm(o->dm));
	if (o->uar)
		mlx5dv_devx_free_uar(o->uar);
	if (o->paged)
		wrong += failed("dereg_mr of paged memory", ibv_dereg_mr(o->paged));
	if (o->xrcd)
		wrong += failed("destroy_srq of XRC", ibv_destroy_srq(o->xrc_srq)) +
			 failed("close_xrcd", ibv_close_xrcd(o->xrcd));
	return wrong;
}

/* Returns how many could not be destroyed. */
static int destroy_objects(struct objects *o)
{
	int wrong = failed("destroy_qp with traffic", ibv_destroy_qp(o->p.qp[0])) +
		    failed("destroy_qp with traffic", ibv_destroy_qp(o->p.qp[1])) +
		    failed("destroy_qp of UD", ibv_destroy_qp(o->ud)) +
		    failed("destroy_qp on an SRQ", ibv_destroy_qp(o->on_srq)) +
		    failed("destroy_ah", ibv_destroy_ah(o->ah)) +
		    failed("destroy_srq", ibv_destroy_srq(o->srq)) + destroy_optional(o) +
		    failed("dereg_mr", ibv_dereg_mr(o->p.mr)) +
		    failed("destroy_cq with traffic", ibv_destroy_cq(o->p.cq[0])) +
		    failed("destroy_cq with traffic", ibv_destroy_cq(o->p.cq[1])) +
		    failed("destroy_cq with a channel", ibv_destroy_cq(o->cq)) +
		    failed("destroy_comp_channel", ibv_destroy_comp_channel(o->channel));

	return wrong + failed("destroy_cq", ibv_destroy_cq(o->r.cq)) +
	       failed("dealloc_pd", ibv_dealloc_pd(o->r.pd)) +
	       failed("close_device", ibv_close_device(o->r.ctx));
}

/* ---- a failure in use ------------------------------------------------------------------------ */

/* Write until the process is told that the device has failed, then destroy everything. */
static int write_until_failure(int ready)
{
	struct objects o = {};

	if (!create_objects(&o))
		return 2;
	if (write(ready, "", 1) != 1)
		return 3;
	while (!device_is_gone(o.r.ctx))
		write_some(&o.p, o.p.mr);
	return destroy_objects(&o) ? 4 : 0;
}

/* Destroy everything while mlx5_core does not know yet that the device has failed. */
static int destroy_at_failure(int ready)
{
	struct objects o = {};
	char byte;

	if (!create_objects(&o))
		return 2;
	if (write(ready, "", 1) != 1 || read(go[0], &byte, 1) != 1)
		return 3;
	return destroy_objects(&o) ? 4 : 0;
}

TEST_F_TIMEOUT(fatal, traffic_ends_and_all_is_destroyed, 3600)
{
	int i;

	for (i = 0; i < rounds(); i++) {
		ASSERT_EQ(0, workers_start(&self->workers, 2, write_until_failure));
		ASSERT_EQ(0, workers_start(&self->workers, 1, destroy_at_failure));
		fail_device(_metadata, &self->workers, &self->failed);
		expect_end_and_recovery(_metadata, &self->workers, &self->failed);
	}
}

/* The driver reports the error, and destroys all objects, while the RDMA device still exists. */
TEST_F_TIMEOUT(fatal, processes_can_end_before_the_recovery, 3600)
{
	ASSERT_EQ(0, fatal_reporter(&binding, "set", "auto_recover false"));
	ASSERT_EQ(0, workers_start(&self->workers, 2, write_until_failure));
	ASSERT_EQ(0, workers_start(&self->workers, 1, destroy_at_failure));
	fail_device(_metadata, &self->workers, &self->failed);
	EXPECT_EQ(0, workers_wait(&self->workers));
	EXPECT_EQ(0, fatal_reporter(&binding, "recover", ""));
	expect_end_and_recovery(_metadata, &self->workers, &self->failed);
}

/* A thread that registers memory until that fails. */
struct registrar {
	struct rdma *r;
	pthread_t thread;
	long longest_ms;	/* of all calls */
	int dereg_err;
};

static void *register_until_failure(void *arg)
{
	struct registrar *t = arg;
	struct timespec start;
	struct ibv_mr *mr;
	void *mem;
	long ms;

	mem = mmap(NULL, WORK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	do {
		clock_gettime(CLOCK_MONOTONIC, &start);
		mr = ibv_reg_mr(t->r->pd, mem, WORK_SIZE, ALL_ACCESS);
		if (mr)
			t->dereg_err |= ibv_dereg_mr(mr);
		ms = ms_since(&start);
		if (ms > t->longest_ms)
			t->longest_ms = ms;
	} while (mr);
	munmap(mem, WORK_SIZE);
	return NULL;
}

static int register_in_threads(int ready)
{
	struct registrar threads[THREADS] = {};
	long longest_ms = 0;
	struct rdma r;
	int i, wrong;

	wrong = rdma_open(&r) ? 2 : 0;
	for (i = 0; i < THREADS && !wrong; i++) {
		threads[i].r = &r;
		wrong = pthread_create(&threads[i].thread, NULL, register_until_failure,
				       &threads[i]) ? 3 : 0;
	}
	if (wrong || write(ready, "", 1) != 1)
		return 4;
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i].thread, NULL);
		wrong += failed("dereg_mr", threads[i].dereg_err);
		if (threads[i].longest_ms > longest_ms)
			longest_ms = threads[i].longest_ms;
	}
	fprintf(stderr, "# the longest call took %ld ms\n", longest_ms);
	rdma_close(&r);
	return wrong || longest_ms > LONGEST_CALL_MS;
}

/* The HCA hangs first, so that all threads are in a call when it fails. */
TEST_F_TIMEOUT(fatal, registrations_end_with_an_error, 3600)
{
	int i;

	for (i = 0; i < rounds(); i++) {
		ASSERT_EQ(0, workers_start(&self->workers, 2, register_in_threads));
		usleep(300000);
		ASSERT_EQ(0, hca_do("inject hang"));
		fail_device(_metadata, &self->workers, &self->failed);
		expect_end_and_recovery(_metadata, &self->workers, &self->failed);
	}
}

/* Write to pages that are not present, until the process is told that the device has failed. */
static int fault_until_failure(int ready)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct ibv_mr *target;
	struct rdma r;
	struct pair p;
	void *mem;
	int wrong;

	mem = mmap(NULL, WORK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (rdma_open(&r) || pair_open(&p, &r, &cfg, WORK_SIZE))
		return 2;
	target = ibv_reg_mr(r.pd, mem, WORK_SIZE, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	if (!target || write(ready, "", 1) != 1)
		return 3;
	while (!device_is_gone(r.ctx)) {
		write_some(&p, target);
		madvise(mem, WORK_SIZE, MADV_DONTNEED);
	}
	wrong = failed("dereg_mr of paged memory", ibv_dereg_mr(target));
	pair_close(&p);
	rdma_close(&r);
	return wrong;
}

/* The driver resolves faults, but one of its commands is not answered. */
TEST_F_TIMEOUT(fatal, page_faults_end, 3600)
{
	int i;

	if (!device_has(_metadata, rdma_has_odp))
		SKIP(return, "the device has no on-demand paging");
	for (i = 0; i < rounds(); i++) {
		ASSERT_EQ(0, hca_do("inject cmd delay %u 1 PAGE_FAULT_RESUME", LATE_MS));
		ASSERT_EQ(0, workers_start(&self->workers, 3, fault_until_failure));
		fail_device(_metadata, &self->workers, &self->failed);
		expect_end_and_recovery(_metadata, &self->workers, &self->failed);
		EXPECT_EQ(1, hca_inject_clear());
	}
}

/* ---- files of DEVX users ------------------------------------------------------------------- */

/*
 * Read the result of a command to which firmware does not reply. Returns 0 if it is right: an
 * answer with an error status, or the end of the file (EIO).
 */
static int failed_answer(int file)
{
	struct { uint64_t wr_id; uint8_t out[DEVX_OUT_BYTES]; } answer = {};
	ssize_t ret = read(file, &answer, sizeof(answer));

	if (ret < 0)
		return errno == EIO ? 0 : 5;
	/* mlx5_ib passes on an empty answer. */
	return answer.wr_id == 7 && (answer.out[0] || driver_is("mlx5_ib")) ? 0 : 6;
}

static int wait_for_answer_and_event(int ready)
{
	struct devx_subscription watch = { .types = { DEVX_EVENT_PORT_CHANGE }, .len = 2 };
	uint8_t event[128];
	struct devx_cmd cmd;
	uint32_t handle;
	struct uv uv;
	ssize_t ret;
	int file;

	devx_start(&cmd, DEVX_ALLOC_Q_COUNTER);
	if (uv_open_devx(&uv) || devx_create(uv.fd, &cmd, &handle))
		return 2;
	file = devx_open_cmd_file(uv.fd);
	watch.channel = devx_open_channel(uv.fd, 0);
	if (file < 0 || watch.channel < 0 || devx_subscribe(uv.fd, &watch))
		return 3;
	cmd.in[0] = DEVX_QUERY_Q_COUNTER >> 8;
	cmd.in[1] = DEVX_QUERY_Q_COUNTER & 0xff;
	devx_put(&cmd, 0x1c, devx_get(&cmd, 8) & 0xff);
	if (devx_query_async(uv.fd, handle, &cmd, DEVX_OUT_BYTES, file, 7) ||
	    write(ready, "", 1) != 1)
		return 4;
	ret = failed_answer(file);
	if (ret)
		return ret;
	/* Skip events, such as of the link that goes down, until the device is removed. */
	do {
		ret = read(watch.channel, event, sizeof(event));
	} while (ret > 0);
	if (errno != EIO)
		return 7;
	close(file);
	close(watch.channel);
	uv_close(&uv);
	return 0;
}

TEST_F_TIMEOUT(fatal, readers_of_answers_and_events_wake, 3600)
{
	int i;

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	for (i = 0; i < rounds(); i++) {
		ASSERT_EQ(0, hca_do("inject cmd delay %u 1 QUERY_Q_COUNTER", LATE_MS));
		ASSERT_EQ(0, workers_start(&self->workers, 1, wait_for_answer_and_event));
		fail_device(_metadata, &self->workers, &self->failed);
		expect_end_and_recovery(_metadata, &self->workers, &self->failed);
		EXPECT_EQ(1, hca_inject_clear());
	}
}

/* ---- kernel consumers ---------------------------------------------------------------------- */

/* Which test of the module kernel_verbs the process runs. */
static const char *module_test;

static int kernel_consumer(int ready)
{
	char report[CONSUMER_REPORT];
	int fd = consumer_open();

	if (fd < 0 || write(ready, "", 1) != 1)
		return 2;
	if (!consumer_run(fd, module_test, report))
		return 0;
	fprintf(stderr, "# %s", report);
	return 1;
}

/* The requests that consumers have posted, and those that they post later, are flushed. */
TEST_F_TIMEOUT(fatal, requests_of_kernel_consumers_are_flushed, 3600)
{
	static const char *const tests[] = {
		"rc_until_failure_softirq", "rc_until_failure_workqueue",
	};
	int i;

	for (i = 0; i < 2 * rounds(); i++) {
		module_test = tests[i % 2];
		ASSERT_EQ(0, workers_start(&self->workers, 1, kernel_consumer));
		/* Time for the consumer to connect its queue pairs, also on the debug kernel. */
		sleep(2);
		fail_device(_metadata, &self->workers, &self->failed);
		expect_end_and_recovery(_metadata, &self->workers, &self->failed);
	}
}

/* ---- a failure during removal and probe ------------------------------------------------------ */

static int unbind(int ready)
{
	if (write(ready, "", 1) != 1)
		return 2;
	return failed("unbind", binding_do(&binding, "unbind"));
}

/* If the device fails during the probe, the result of the probe does not matter. */
static int bind(int ready)
{
	if (write(ready, "", 1) != 1)
		return 2;
	binding_do(&binding, "bind");
	return 0;
}

/* The driver can be unbound and bound again. */
static void expect_binding_works(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, binding_do(&binding, "unbind"));
	ASSERT_EQ(0, binding_do(&binding, "bind"));
	EXPECT_TRUE(device_recovers());
	EXPECT_STREQ("", objects_of_before());
}

FIXTURE(during) {
	struct workers users;	/* processes that work with the device */
	struct workers binder;	/* the process that binds or unbinds the driver */
	struct timespec failed;
};

FIXTURE_VARIANT(during) {
	bool removal;
	bool in_use;		/* by processes */
	const char *op;		/* the command that is not answered any more; "": any */
	bool then_bind;		/* afterwards, unbind and bind once more */
	bool rare;		/* only if tests are repeated */
};

FIXTURE_VARIANT_ADD(during, removal_from_processes) {
	.removal = true, .in_use = true, .op = "DESTROY_QP", .then_bind = true,
};

FIXTURE_VARIANT_ADD(during, removal_of_the_drivers_objects) {
	.removal = true, .op = "DESTROY_MKEY", .rare = true,
};

FIXTURE_VARIANT_ADD(during, probe) { .op = "", .then_bind = true };

FIXTURE_VARIANT_ADD(during, registration) {
	.op = "QUERY_HCA_VPORT_CONTEXT", .rare = true,
};

FIXTURE_SETUP(during)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (variant->rare && !getenv("FATAL_ROUNDS"))
		SKIP(return, "runs if FATAL_ROUNDS is set, to save time");
	setup_fatal(_metadata);
}

FIXTURE_TEARDOWN(during)
{
	hca_inject_clear();
	workers_kill(&self->users);
	workers_kill(&self->binder);
}

/* Wait until the driver has sent the command. How long that takes depends on the machine. */
static bool command_arrives(const char *op)
{
	double end = seconds() + 30;

	while (*op && hca_commands(op) <= 0)
		if (seconds() > end)
			return false;
	return true;
}

static void fail_during(struct __test_metadata *_metadata, struct _test_data_during *self,
			const struct _fixture_variant_during *variant)
{
	/* The processes are told of the removal as they are of the failure. */
	if (variant->in_use) {
		ASSERT_EQ(0, workers_start(&self->users, 1, write_until_failure));
		ASSERT_EQ(0, workers_start(&self->users, 1, register_in_threads));
		usleep(300000);
		ASSERT_TRUE(workers_are_at_work(&self->users));
	}
	if (!variant->removal)
		ASSERT_EQ(0, binding_do(&binding, "unbind"));
	ASSERT_EQ(0, hca_do("inject cmd delay %u 1 %s", LATE_MS, variant->op));
	ASSERT_EQ(0, hca_commands_reset());
	ASSERT_EQ(0, workers_start(&self->binder, 1, variant->removal ? unbind : bind));
	ASSERT_TRUE(command_arrives(variant->op));
	fail_device(_metadata, &self->binder, &self->failed);
	EXPECT_EQ(0, workers_wait(&self->users));
	expect_end_and_recovery(_metadata, &self->binder, &self->failed);
	EXPECT_EQ(1, hca_inject_clear());
}

TEST_F_TIMEOUT(during, driver_goes_on, 3600)
{
	int i;

	for (i = 0; i < rounds(); i++)
		fail_during(_metadata, self, variant);
	if (variant->then_bind)
		expect_binding_works(_metadata);
}

FIXTURE(afterwards) {
};

FIXTURE_SETUP(afterwards)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	setup_fatal(_metadata);
}

FIXTURE_TEARDOWN(afterwards)
{
}

/*
 * This is the last test, because it also sets the clock. mlx5_core (7.2) adds what the device's
 * clock has counted to the wall clock of completions every 17 to 19 seconds, but not while the
 * device is in error. After twice that time the product of the count and the nanoseconds per count
 * exceeds 64 bits, and the wall clock stays 2^35 ns late.
 */
TEST_F_TIMEOUT(afterwards, function_can_be_probed_again, 60)
{
	ASSERT_EQ(0, binding_probe_function(&binding));
	EXPECT_TRUE(device_recovers());
	/* Firmware has no object from before the probe. */
	EXPECT_STREQ("", objects_of_before());
}

TEST_HARNESS_MAIN
