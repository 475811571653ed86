// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that is killed by SIGKILL during traffic leaves no object in the HCA and no message in the
 * kernel log.
 */

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "klog.h"
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

/* Otherwise a task waits for a minute for a UMR request whose completion is lost. */
TEST_F_TIMEOUT(victim, killed_while_a_umr_is_lost_ends_soon, 200)
{
	struct timespec start, end;
	struct rdma r;
	char byte;

	if (!hca_ctl_present() || !driver_is("bluebell") || variant->type != IBV_QPT_RC)
		SKIP(return, "needs an HCA that loses completions, and a driver that ends the wait; once");
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

TEST_HARNESS_MAIN
