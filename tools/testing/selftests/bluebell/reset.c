// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device is reset while a process works with it: by a function-level reset, by devlink, by
 * suspend and resume, by unloading the driver. The process is told that its device is gone and can
 * end in order; then the device works as before, and has no more objects than before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "binding.h"
#include "kernel_file.h"
#include "recovery.h"
#include "test.h"

#define NO_PROCESSES 2	/* that work during a reset */

FIXTURE(reset) {
	struct binding b;
	const char *driver;	/* name of the verbs driver's module */
	char pci[256];		/* directory of the PCI function in sysfs */
	struct workers workers;
};

FIXTURE_SETUP(reset)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	/*
	 * Until their mappings are removed, the processes ring doorbells of destroyed queues, which
	 * the HCA drops.
	 */
	ASSERT_EQ(0, hca_expect("drop any any"));
	/* A queue pair may be reset while the driver resolves a page fault of it. */
	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME BAD_RES_ERR any"));
	ASSERT_EQ(0, binding_find(&self->b));
	self->driver = driver_name();
	ASSERT_EQ(0, binding_pci(&self->b, self->pci, sizeof(self->pci)));
	ASSERT_TRUE(census_after_first_use(_metadata, IBV_QPT_RC));
}

FIXTURE_TEARDOWN(reset)
{
	workers_kill(&self->workers);
}

/* --- A process that works ---------------------------------------------------------------- */

/* Write, register and page until the device is gone. */
static void work_until_gone(struct rdma *r, struct pair *p, struct ibv_mr *target)
{
	struct ibv_mr *mr;

	while (!device_is_gone(r->ctx)) {
		write_some(p, target);
		mr = ibv_reg_mr(r->pd, p->buf[1], WORK_SIZE, ALL_ACCESS);
		if (mr)
			ibv_dereg_mr(mr);
		madvise(target->addr, WORK_SIZE, MADV_DONTNEED);
	}
}

/*
 * Returns 0 once the process has learned that the device is gone, and the calls that destroy its
 * objects have returned, with or without an error; 2 to 4 if the process could not start.
 */
static int work(int ready)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	int access = ALL_ACCESS;
	struct ibv_mr *target;
	struct rdma r;
	struct pair p;
	void *mem;

	mem = mmap(NULL, WORK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (rdma_open(&r) || pair_open(&p, &r, &cfg, WORK_SIZE))
		return 2;
	if (rdma_has_odp(r.ctx))
		access |= IBV_ACCESS_ON_DEMAND;
	target = ibv_reg_mr(r.pd, mem, WORK_SIZE, access);
	if (!target)
		return 3;
	if (write(ready, "", 1) != 1)
		return 4;
	work_until_gone(&r, &p, target);
	ibv_dereg_mr(target);
	pair_close(&p);
	rdma_close(&r);
	return 0;
}

static void start_work(struct __test_metadata *_metadata, struct _test_data_reset *self)
{
	ASSERT_EQ(0, workers_start(&self->workers, NO_PROCESSES, work));
	usleep(300000);
	ASSERT_TRUE(workers_are_at_work(&self->workers));
}

static void expect_work_ended(struct __test_metadata *_metadata,
			      struct _test_data_reset *self)
{
	EXPECT_EQ(0, workers_wait(&self->workers));
}

static void expect_recovery(struct __test_metadata *_metadata)
{
	EXPECT_TRUE(device_recovers());
	EXPECT_STREQ("", objects_of_before());
}

/* --- The resets --------------------------------------------------------------------------- */

TEST_F_TIMEOUT(reset, function_level_reset_is_recovered, 300)
{
	start_work(_metadata, self);
	ASSERT_EQ(0, binding_reset_function(&self->b));
	expect_work_ended(_metadata, self);
	expect_recovery(_metadata);
}

TEST_F_TIMEOUT(reset, devlink_reload_is_survived, 300)
{
	start_work(_metadata, self);
	ASSERT_EQ(0, run_program("devlink dev reload pci/%s", strrchr(self->pci, '/') + 1));
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
		ASSERT_EQ(0, run_program("driver none"));
		expect_work_ended(_metadata, self);
		ASSERT_EQ(0, run_program("driver %s", self->driver));
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
