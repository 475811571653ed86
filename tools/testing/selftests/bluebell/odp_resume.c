// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * PAGE_FAULT_RESUME, by which the driver answers a page fault, fails at first: firmware refuses the
 * command, executes it only after the driver has given up on it, or executes it at once but replies
 * too late. The queue stands still until firmware has executed the command, so the driver has to
 * send the command again. The work request succeeds if its memory exists, and fails otherwise;
 * other processes do not notice.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "child.h"
#include "paged_setup.h"
#include "slow_file.h"

#define PATIENT "the driver waits for a minute: use the profile impatient"
/* mlx5_core waits for five seconds more, in case the event that tells of the answer was lost. */
#define GRACE_MS 5000
/* How long after these five seconds a late command is executed or answered. */
#define LATE_MS 3000
/* Faults of the other process, and the seconds that each may take on a slow machine. */
#define BESIDE 20
#define BESIDE_S 2.0

FIXTURE(resume) {
	struct paged o;
	long pinned, patience_ms;
};

FIXTURE_VARIANT(resume) {
	const char *failure;	/* what firmware does; %ld: how late it is, in ms */
	unsigned int times;
	bool late;	/* the driver gives up first */
	bool local;	/* the queue pair that faults is the sender */
	bool hole;	/* there is no memory to map */
};

#define REFUSED .failure = "inject op PAGE_FAULT_RESUME LIM_ERR 3", .times = 3
#define REFUSED_ONCE .failure = "inject op PAGE_FAULT_RESUME BAD_RES_STATE 1", .times = 1
#define EXECUTED_LATE .late = true, .times = 1, \
		      .failure = "inject cmd defer %ld 1 PAGE_FAULT_RESUME"
#define ANSWERED_LATE .late = true, .times = 1, \
		      .failure = "inject cmd delay %ld 1 PAGE_FAULT_RESUME"

FIXTURE_VARIANT_ADD(resume, refused) { REFUSED };

FIXTURE_VARIANT_ADD(resume, refused_local) { REFUSED, .local = true };

FIXTURE_VARIANT_ADD(resume, refused_once) { REFUSED_ONCE };

FIXTURE_VARIANT_ADD(resume, refused_once_local) { REFUSED_ONCE, .local = true };

FIXTURE_VARIANT_ADD(resume, refused_once_hole) { REFUSED_ONCE, .hole = true };

FIXTURE_VARIANT_ADD(resume, executed_late) { EXECUTED_LATE };

FIXTURE_VARIANT_ADD(resume, executed_late_local) { EXECUTED_LATE, .local = true };

FIXTURE_VARIANT_ADD(resume, executed_late_hole) { EXECUTED_LATE, .hole = true };

FIXTURE_VARIANT_ADD(resume, answered_late) { ANSWERED_LATE };

FIXTURE_VARIANT_ADD(resume, answered_late_local) { ANSWERED_LATE, .local = true };

FIXTURE_VARIANT_ADD(resume, answered_late_hole) { ANSWERED_LATE, .hole = true };

FIXTURE_SETUP(resume)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	self->patience_ms = hca_limit("command_timeout_ms");
	if (variant->late && !self->patience_ms)
		SKIP(return, PATIENT);
	/* The driver keeps what it creates for the first region. */
	if (!paged_setup(_metadata, &self->o, false))
		return;
	ASSERT_EQ(0, paged_close(&self->o));
	self->pinned = uv_pinned_pages();
	ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, paged_open(&self->o, false));
}

FIXTURE_TEARDOWN(resume)
{
	/* A late command occupies a command slot, which the next test needs. */
	if (variant->late)
		usleep(LATE_MS * 1000);
}

/* Causes faults, one after the other; exits with 4 if a fault takes longer than BESIDE_S. */
static int faults_beside(void *arg, int ready)
{
	struct paged o;
	double start;
	int i;

	if (paged_open(&o, false) || child_ready(ready))
		return 2;
	for (i = 0; i < BESIDE; i++) {
		start = seconds();
		if (paged_remote(&o, WRITE, 0, 64))
			return 3;
		if (seconds() > start + BESIDE_S)
			return 4;
		madvise(o.mem, LEN, MADV_DONTNEED);
	}
	return paged_close(&o) ? 5 : 0;
}

/* Post an operation that accesses the paged memory: by its lkey if @local, else by its rkey. */
static int post_op(struct paged *o, enum ibv_wr_opcode op, bool local)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(local ? o->mem : o->p.buf[0]), .length = 64,
		.lkey = local ? o->mr->lkey : o->p.mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = op, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
		.wr.rdma.remote_addr = (uintptr_t)(local ? o->p.buf[1] : o->mem),
		.wr.rdma.rkey = local ? o->p.mr->rkey : o->mr->rkey,
	};

	return post_send(&o->p, &wr, NULL, 0);
}

/* Wait until the driver has answered a fault. Returns how many commands have failed. */
static int wait_failed(long faults)
{
	int i;

	for (i = 0; i < 500 && hca_counter("page_faults") == faults; i++)
		usleep(10000);
	usleep(500000);
	return hca_inject_clear();
}

TEST_F(resume, work_request_ends)
{
	long faults = hca_counter("page_faults");
	struct paged *o = &self->o;
	struct ibv_wc wc;
	int status;
	double start;
	pid_t pid;

	if (!variant->late && !driver_is("bluebell"))
		SKIP(return, NEEDS_FAILURES);
	/* Firmware executes the command and its repetition: the second one finds no fault. */
	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME BAD_RES_ERR any"));
	if (variant->hole)
		munmap(o->mem, LEN);
	ASSERT_EQ(0, hca_do(variant->failure, self->patience_ms + GRACE_MS + LATE_MS));
	start = seconds();
	ASSERT_EQ(0, post_op(o, IBV_WR_RDMA_WRITE, variant->local));
	ASSERT_EQ(variant->times, wait_failed(faults));
	pid = child_start(faults_beside, NULL);
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) TH_LOG("%d", WEXITSTATUS(status));
	status = reap(o->p.cq[0], &wc);
	TH_LOG("%s after %.1f s", status < 0 ? "nothing" : ibv_wc_status_str(status),
	       seconds() - start);
	EXPECT_LE(0, status);
	EXPECT_EQ(variant->hole, !!status);
	EXPECT_EQ(0, paged_close(o));
	EXPECT_EQ(self->pinned, uv_pinned_pages());
	EXPECT_STREQ("", hca_census_delta_within(3000));
}

/* ---- A page fault token that is used again -------------------------------------------------- */

FIXTURE(token) {
	struct paged o;
	long patience_ms;
};

FIXTURE_SETUP(token)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	self->patience_ms = hca_limit("command_timeout_ms");
	if (!self->patience_ms)
		SKIP(return, PATIENT);
	paged_setup(_metadata, &self->o, false);
}

FIXTURE_TEARDOWN(token)
{
	EXPECT_EQ(0, paged_close(&self->o));
	usleep(LATE_MS * 1000);
}

/* Read a page that comes late; the exit status says whether the page was read. */
static int read_slow_page(void *arg, int ready)
{
	const struct slow_file *f = arg;
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct paged o = {};
	struct ibv_wc wc;
	int ret;

	if (rdma_open(&o.r) || pair_open(&o.p, &o.r, &cfg, UV_PAGE))
		return 2;
	o.mem = mmap(NULL, UV_PAGE, PROT_READ, MAP_SHARED, f->fd, 0);
	if (o.mem == MAP_FAILED)
		return 3;
	o.mr = ibv_reg_mr(o.r.pd, o.mem, UV_PAGE, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_READ);
	if (!o.mr || post_op(&o, IBV_WR_RDMA_READ, false) || child_ready(ready))
		return 4;
	do {
		ret = reap_ok(o.p.cq[0], &wc);
	} while (ret == -ETIMEDOUT);
	return ret ? 5 : 0;
}

/*
 * Firmware executes PAGE_FAULT_RESUME, but the driver gets no answer. The work request fails, and
 * another fault gets the token. Then the driver repeats the command with that token.
 */
TEST_F(token, repeated_command_fails_no_other_fault)
{
	struct paged *o = &self->o;
	struct slow_file f;
	struct ibv_wc wc;
	int status = -1;
	pid_t pid;

	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME any any"));
	munmap(o->mem, LEN);
	ASSERT_EQ(0, hca_do("inject cmd delay %ld 1 PAGE_FAULT_RESUME",
			    self->patience_ms + GRACE_MS + LATE_MS));
	ASSERT_EQ(0, post_op(o, IBV_WR_RDMA_READ, false));
	EXPECT_LT(0, reap(o->p.cq[0], &wc));
	ASSERT_EQ(0, hca_do("inject fault token"));
	ASSERT_EQ(0, slow_file_open(&f, UV_PAGE));
	pid = child_start(read_slow_page, &f);
	EXPECT_LT(0, pid);
	EXPECT_EQ(0, slow_file_wait_read(&f, 10000));
	EXPECT_EQ(2, hca_inject_clear());
	usleep((self->patience_ms + GRACE_MS + LATE_MS) * 1000);
	slow_file_release(&f);
	if (pid > 0)
		waitpid(pid, &status, 0);
	slow_file_close(&f);
	EXPECT_EQ(0, status) TH_LOG("%d", WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
