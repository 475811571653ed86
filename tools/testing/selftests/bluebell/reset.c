// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device is reset while a process works with it: by a function-level reset, by devlink, by
 * suspend and resume, by unloading the driver. The process learns that its device is gone and can
 * end in order; then the device works as before, and has no object too many.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "binding.h"
#include "kernel_file.h"
#include "test.h"

#define MSG (16 * 1024u)
#define RECOVERY_MS 30000
#define NO_PROCESSES 2	/* that work during a reset */

FIXTURE(reset) {
	struct binding b;
	const char *driver;	/* name of the verbs driver's module */
	char pci[256];		/* directory of the PCI function in sysfs */
	pid_t pid[NO_PROCESSES];
};

FIXTURE_SETUP(reset)
{
	char path[256];

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	/* The processes ring doorbells of queues that are gone until their mappings are. */
	ASSERT_EQ(0, hca_expect("drop any any"));
	/* A queue pair may be reset while the driver resolves a page fault of it. */
	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME BAD_RES_ERR any"));
	ASSERT_EQ(0, binding_find(&self->b));
	self->driver = driver_name();
	snprintf(path, sizeof(path), "/sys/bus/auxiliary/devices/%s/..", self->b.device);
	ASSERT_NE(NULL, realpath(path, self->pci));
	ASSERT_TRUE(census_after_first_use(_metadata, IBV_QPT_RC));
}

FIXTURE_TEARDOWN(reset)
{
	int i;

	for (i = 0; i < NO_PROCESSES; i++)
		if (self->pid[i] > 0)
			kill(self->pid[i], SIGKILL);
}

/* --- A process that works ---------------------------------------------------------------- */

/* Post a write if there is room in the queue, and take what is complete. The device may be gone. */
static void write_some(struct pair *p, struct ibv_mr *target)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = (uintptr_t)target->addr;
	wr.wr.rdma.rkey = target->rkey;
	post_send(p, &wr, p->buf[0], MSG);
	while (ibv_poll_cq(p->cq[0], 1, &wc) > 0)
		;
}

static bool is_device_gone(struct ibv_context *ctx)
{
	struct ibv_async_event ev;

	while (!next_async_event(ctx, &ev, 0))
		if (ev.event_type == IBV_EVENT_DEVICE_FATAL)
			return true;
	return false;
}

/* Write, register and page until the device is gone. */
static void work_until_gone(struct rdma *r, struct pair *p, struct ibv_mr *target)
{
	struct ibv_mr *mr;

	while (!is_device_gone(r->ctx)) {
		write_some(p, target);
		mr = ibv_reg_mr(r->pd, p->buf[1], MSG, ALL_ACCESS);
		if (mr)
			ibv_dereg_mr(mr);
		madvise(target->addr, MSG, MADV_DONTNEED);
	}
}

/* Ends with 0 if the process learned that the device is gone, and could close it. */
static void __noreturn work(int ready)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	int access = ALL_ACCESS;
	struct ibv_mr *target;
	struct rdma r;
	struct pair p;
	void *mem;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	mem = mmap(NULL, MSG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (rdma_open(&r) || pair_open(&p, &r, &cfg, MSG))
		_exit(2);
	if (rdma_has_odp(r.ctx))
		access |= IBV_ACCESS_ON_DEMAND;
	target = ibv_reg_mr(r.pd, mem, MSG, access);
	if (!target)
		_exit(3);
	if (write(ready, "", 1) != 1)
		_exit(4);
	work_until_gone(&r, &p, target);
	ibv_dereg_mr(target);
	pair_close(&p);
	rdma_close(&r);
	_exit(0);
}

static void start_work(struct __test_metadata *_metadata, struct _test_data_reset *self)
{
	int ready[2], i;
	char byte;

	ASSERT_EQ(0, pipe(ready));
	for (i = 0; i < NO_PROCESSES; i++) {
		self->pid[i] = fork();
		ASSERT_LE(0, self->pid[i]);
		if (!self->pid[i])
			work(ready[1]);
	}
	close(ready[1]);
	for (i = 0; i < NO_PROCESSES; i++)
		ASSERT_EQ(1, read(ready[0], &byte, 1));
	close(ready[0]);
	usleep(300000);
	for (i = 0; i < NO_PROCESSES; i++)
		ASSERT_EQ(0, waitpid(self->pid[i], NULL, WNOHANG));
}

static void expect_work_ended(struct __test_metadata *_metadata,
			      struct _test_data_reset *self)
{
	int i, ms, status;
	pid_t ended;

	for (i = 0; i < NO_PROCESSES; i++) {
		for (ms = ended = 0; ms < RECOVERY_MS && !ended; ms += 50) {
			usleep(50000);
			ended = waitpid(self->pid[i], &status, WNOHANG);
		}
		EXPECT_EQ(self->pid[i], ended) TH_LOG("process %d does not end", i);
		if (ended == self->pid[i]) {
			EXPECT_EQ(0, status);
			self->pid[i] = 0;
		}
	}
}

/* Whether data can be written. */
static bool device_works(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	bool works = false;
	struct rdma r;
	struct pair p;

	if (rdma_open(&r))
		return false;
	if (!pair_open(&p, &r, &cfg, MSG)) {
		works = rdma_access(&p, IBV_WR_RDMA_WRITE, p.mr->rkey, (uintptr_t)p.buf[1], MSG) ==
			IBV_WC_SUCCESS;
		pair_close(&p);
	}
	rdma_close(&r);
	return works;
}

/*
 * The HCA has the objects that it had before. mlx5_core creates an EQ for completions when the first
 * CQ asks for its vector, so after a reset there may be fewer than other tests have left behind.
 */
static void expect_objects_of_before(struct __test_metadata *_metadata)
{
	const char *delta = hca_census_delta();

	if (strncmp(delta, "eq-", 3) || strchr(delta, ' '))
		EXPECT_STREQ("", delta);
}

static void expect_recovery(struct __test_metadata *_metadata)
{
	bool works = false;
	int ms;

	for (ms = 0; ms < RECOVERY_MS && !works; ms += 200) {
		usleep(200000);
		works = device_works();
	}
	EXPECT_TRUE(works);
	expect_objects_of_before(_metadata);
}

static int run(const char *fmt, ...)
{
	char command[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return system(command);
}

/* --- The resets --------------------------------------------------------------------------- */

TEST_F_TIMEOUT(reset, function_level_reset_is_recovered, 300)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/reset", self->pci);
	start_work(_metadata, self);
	ASSERT_EQ(0, write_file(path, "1"));
	expect_work_ended(_metadata, self);
	expect_recovery(_metadata);
}

TEST_F_TIMEOUT(reset, devlink_reload_is_survived, 300)
{
	start_work(_metadata, self);
	ASSERT_EQ(0, run("devlink dev reload pci/%s", strrchr(self->pci, '/') + 1));
	expect_work_ended(_metadata, self);
	expect_recovery(_metadata);
}

/*
 * The kernel suspends one device after the other, in the reverse order of their discovery. In a
 * guest of scripts/vm the device with the root file system comes after the HCA and refuses
 * (EOPNOTSUPP), so the kernel resumes the HCA at once.
 */
TEST_F_TIMEOUT(reset, suspend_and_resume_are_survived, 300)
{
	int ret;

	ASSERT_EQ(0, write_file("/sys/power/pm_async", "0"));
	ASSERT_EQ(0, hca_commands_reset());
	start_work(_metadata, self);
	if (!access("/sys/power/pm_test", F_OK))
		ASSERT_EQ(0, write_file("/sys/power/pm_test", "devices"));
	ret = write_file("/sys/power/state", "freeze");
	EXPECT_TRUE(!ret || ret == -EOPNOTSUPP) TH_LOG("errno %d", -ret);
	EXPECT_EQ(1, hca_commands("TEARDOWN_HCA"));
	expect_work_ended(_metadata, self);
	expect_recovery(_metadata);
}

/* The module is unloaded although processes have the device open: RESET_ROUNDS times, or 3. */
TEST_F_TIMEOUT(reset, module_is_unloaded_and_loaded, 3600)
{
	const char *rounds = getenv("RESET_ROUNDS");
	int i, n = rounds ? atoi(rounds) : 3;

	for (i = 0; i < n; i++) {
		start_work(_metadata, self);
		ASSERT_EQ(0, run("driver none"));
		expect_work_ended(_metadata, self);
		ASSERT_EQ(0, run("driver %s", self->driver));
		expect_recovery(_metadata);
	}
}

/* Processes end while the device is unbound. */
TEST_F_TIMEOUT(reset, driver_is_unbound_and_bound, 300)
{
	int i;

	for (i = 0; i < 3; i++) {
		start_work(_metadata, self);
		ASSERT_EQ(0, binding_do(&self->b, "unbind"));
		expect_work_ended(_metadata, self);
		ASSERT_EQ(0, binding_do(&self->b, "bind"));
		expect_recovery(_metadata);
	}
}

TEST_HARNESS_MAIN
