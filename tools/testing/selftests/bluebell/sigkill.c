// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that is killed by SIGKILL during traffic leaves no object in the HCA and no message in the
 * kernel log.
 */
#include <signal.h>
#include <sys/klog.h>
#include <sys/syscall.h>

#include "test.h"

#define QPS 100
#define MSG (64 * 1024u)
#define READ_ALL_KLOG 3
#define KLOG_SIZE 0x100000

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

/* The kernel log from *@pos on; *@pos becomes its end. */
static char *klog_since(size_t *pos)
{
	static char buf[KLOG_SIZE];
	int n = klogctl(READ_ALL_KLOG, buf, sizeof(buf) - 1);
	char *since;

	if (n < 0)
		return NULL;
	buf[n] = 0;
	since = *pos <= (size_t)n ? buf + *pos : buf;
	*pos = n;
	return since;
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
	if (log)
		EXPECT_TRUE(log_is_empty(log)) TH_LOG("kernel log: %s", log);
}

TEST_HARNESS_MAIN
