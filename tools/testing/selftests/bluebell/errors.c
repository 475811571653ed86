// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Failed work requests as real cards report them: status and vendor syndrome of the completions,
 * events, and the counters of the port that move. Documentation/hca-errors.rst says where the
 * values come from.
 */

#include <dirent.h>
#include <unistd.h>

#include "kernel_file.h"
#include "klog.h"
#include "test.h"

#define SIDE		4096
#define COUNTERS	64	/* of a port, at most */
#define LIFESPAN_US	20000	/* ib_core keeps counters for 10 ms */
#define MOVES		6

struct counters {
	int num;
	struct {
		char name[48];
		long long val;
	} c[COUNTERS];
};

/* A counter that an error moves, and by how much. */
struct move {
	const char *name;
	int by;
};

/* All counters of the port. Returns false if the device has none. */
static bool read_counters(struct counters *all)
{
	char path[300], text[32];
	struct dirent *d;
	DIR *dir;

	usleep(LIFESPAN_US);
	all->num = 0;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters",
		 rdma_device_name());
	dir = opendir(path);
	if (!dir)
		return false;
	while ((d = readdir(dir)) && all->num < COUNTERS) {
		if (d->d_name[0] == '.' || !strcmp(d->d_name, "lifespan"))
			continue;
		snprintf(path, sizeof(path), "ports/1/hw_counters/%s", d->d_name);
		if (!rdma_read_sysfs(path, text, sizeof(text)))
			continue;
		snprintf(all->c[all->num].name, sizeof(all->c[0].name), "%.*s",
			 (int)sizeof(all->c[0].name) - 1, d->d_name);
		all->c[all->num++].val = atoll(text);
	}
	closedir(dir);
	return all->num;
}

static int expected_move(const struct move *moves, const char *name)
{
	int i;

	for (i = 0; i < MOVES && moves[i].name; i++)
		if (!strcmp(moves[i].name, name))
			return moves[i].by;
	return 0;
}

/* ---- faults -------------------------------------------------------------------------------- */

/*
 * Each of these functions posts one request that fails, and waits for its completion. Returns the
 * status of the completion, or a negative number.
 */

static int write_to(struct pair *p, uint32_t rkey, uint64_t va, struct ibv_wc *wc)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };

	wr.wr.rdma.remote_addr = va;
	wr.wr.rdma.rkey = rkey;
	return post_send(p, &wr, p->buf[0], 8) ? -1 : reap(p->cq[0], wc);
}

static int write_unknown_rkey(struct pair *p, struct ibv_wc *wc)
{
	return write_to(p, p->mr->rkey ^ 0x40000000, (uintptr_t)p->buf[1], wc);
}

static int write_outside(struct pair *p, struct ibv_wc *wc)
{
	return write_to(p, p->mr->rkey, (uintptr_t)p->mr->addr + p->mr->length, wc);
}

static int write_valid(struct pair *p, struct ibv_wc *wc)
{
	return write_to(p, p->mr->rkey, (uintptr_t)p->buf[1], wc);
}

static int read_valid(struct pair *p, struct ibv_wc *wc)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ };

	wr.wr.rdma.remote_addr = (uintptr_t)p->buf[1];
	wr.wr.rdma.rkey = p->mr->rkey;
	return post_send(p, &wr, p->buf[0], 8) ? -1 : reap(p->cq[0], wc);
}

static int read_unknown_rkey(struct pair *p, struct ibv_wc *wc)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ };

	wr.wr.rdma.remote_addr = (uintptr_t)p->buf[1];
	wr.wr.rdma.rkey = p->mr->rkey ^ 0x40000000;
	return post_send(p, &wr, p->buf[0], 8) ? -1 : reap(p->cq[0], wc);
}

static int add_to(struct pair *p, uint32_t rkey, struct ibv_wc *wc)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };

	wr.wr.atomic.remote_addr = (uintptr_t)p->buf[1];
	wr.wr.atomic.rkey = rkey;
	return post_send(p, &wr, p->buf[0], 8) ? -1 : reap(p->cq[0], wc);
}

static int atomic_valid(struct pair *p, struct ibv_wc *wc)
{
	return add_to(p, p->mr->rkey, wc);
}

static int atomic_unknown_rkey(struct pair *p, struct ibv_wc *wc)
{
	return add_to(p, p->mr->rkey ^ 0x40000000, wc);
}

static int write_from(struct pair *p, uint32_t lkey, struct ibv_wc *wc)
{
	struct ibv_sge sge = { .addr = (uintptr_t)p->buf[0], .length = 8, .lkey = lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

	wr.wr.rdma.remote_addr = (uintptr_t)p->buf[1];
	wr.wr.rdma.rkey = p->mr->rkey;
	return post_send(p, &wr, NULL, 0) ? -1 : reap(p->cq[0], wc);
}

static int local_key_unknown(struct pair *p, struct ibv_wc *wc)
{
	return write_from(p, p->mr->lkey ^ 0x40000000, wc);
}

static int local_key_freed(struct pair *p, struct ibv_wc *wc)
{
	struct ibv_mr *mr = ibv_reg_mr(p->r->pd, p->buf[0], SIDE, 0);
	uint32_t lkey = mr ? mr->lkey : 0;

	return !mr || ibv_dereg_mr(mr) ? -1 : write_from(p, lkey, wc);
}

static int write_beyond_region(struct pair *p, struct ibv_wc *wc)
{
	struct ibv_mr *mr = ibv_reg_mr(p->r->pd, p->buf[0], 4, 0);
	int status = mr ? write_from(p, mr->lkey, wc) : -1;

	if (mr)
		ibv_dereg_mr(mr);
	return status;
}

static int read_into_read_only(struct pair *p, struct ibv_wc *wc)
{
	struct ibv_mr *mr = ibv_reg_mr(p->r->pd, p->buf[0], SIDE, 0);
	/* A shorter answer may arrive in the completion, and then no key is checked. */
	struct ibv_sge sge = { .addr = (uintptr_t)p->buf[0], .length = 512 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 };
	int status = -1;

	if (!mr)
		return -1;
	sge.lkey = mr->lkey;
	wr.wr.rdma.remote_addr = (uintptr_t)p->buf[1];
	wr.wr.rdma.rkey = p->mr->rkey;
	if (!post_send(p, &wr, NULL, 0))
		status = reap(p->cq[0], wc);
	ibv_dereg_mr(mr);
	return status;
}

static int send_one(struct pair *p, struct ibv_wc *wc)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	return post_send(p, &wr, p->buf[0], 512) ? -1 : reap(p->cq[0], wc);
}

static int send_too_long(struct pair *p, struct ibv_wc *wc)
{
	return pair_recv(p, p->buf[1], 4, 1) ? -1 : send_one(p, wc);
}

static int receive_key_unknown(struct pair *p, struct ibv_wc *wc)
{
	struct ibv_sge sge = { .addr = (uintptr_t)p->buf[1], .length = 512,
			       .lkey = p->mr->lkey ^ 0x40000000 };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	return pair_post_recv(p, &wr) ? -1 : send_one(p, wc);
}

static int peer_in_error(struct pair *p, struct ibv_wc *wc)
{
	return rdma_modify_state(p->qp[1], IBV_QPS_ERR) ? -1 : send_one(p, wc);
}

static int peer_in_reset(struct pair *p, struct ibv_wc *wc)
{
	return rdma_modify_state(p->qp[1], IBV_QPS_RESET) ? -1 : send_one(p, wc);
}

static int posted_in_error(struct pair *p, struct ibv_wc *wc)
{
	return rdma_modify_state(p->qp[0], IBV_QPS_ERR) ? -1 : send_one(p, wc);
}

/* ---- tests --------------------------------------------------------------------------------- */

FIXTURE(fault) {
	struct rdma r;
	struct pair p;
};

FIXTURE_VARIANT(fault) {
	int (*run)(struct pair *p, struct ibv_wc *wc);
	bool atomic;
	struct qp_cfg cfg;
	int status;
	uint32_t vendor;
	int resp_status;	/* of the receive, or 0 if none is posted */
	uint32_t resp_vendor;
	bool silent;		/* the responder raises no event */
	struct move moves[MOVES];
};

FIXTURE_VARIANT_ADD(fault, local_key_unknown) {
	.run = local_key_unknown, .status = IBV_WC_LOC_PROT_ERR, .vendor = 0x52, .silent = true,
	.moves = { { "req_cqe_error", 1 } },
};

FIXTURE_VARIANT_ADD(fault, local_key_freed) {
	.run = local_key_freed, .status = IBV_WC_LOC_PROT_ERR, .vendor = 0x52, .silent = true,
	.moves = { { "req_cqe_error", 1 } },
};

FIXTURE_VARIANT_ADD(fault, local_range) {
	.run = write_beyond_region, .status = IBV_WC_LOC_PROT_ERR, .vendor = 0x53, .silent = true,
	.moves = { { "req_cqe_error", 1 } },
};

FIXTURE_VARIANT_ADD(fault, read_without_local_write) {
	.run = read_into_read_only, .status = IBV_WC_LOC_PROT_ERR, .vendor = 0x33, .silent = true,
	.moves = { { "req_cqe_error", 1 }, { "rx_read_requests", 1 } },
};

FIXTURE_VARIANT_ADD(fault, qp_allows_no_write) {
	.run = write_valid, .cfg = { .access = -1 },
	.status = IBV_WC_REM_INV_REQ_ERR, .vendor = 0x8a,
	.moves = { { "req_cqe_error", 1 }, { "req_remote_invalid_request", 1 } },
};

FIXTURE_VARIANT_ADD(fault, qp_allows_no_read) {
	.run = read_valid, .cfg = { .access = -1 },
	.status = IBV_WC_REM_INV_REQ_ERR, .vendor = 0x8a,
	.moves = { { "req_cqe_error", 1 }, { "req_remote_invalid_request", 1 } },
};

FIXTURE_VARIANT_ADD(fault, qp_allows_no_atomic) {
	.run = atomic_valid, .atomic = true, .cfg = { .access = -1 },
	.status = IBV_WC_REM_INV_REQ_ERR, .vendor = 0x8a,
	.moves = { { "req_cqe_error", 1 }, { "req_remote_invalid_request", 1 } },
};

FIXTURE_VARIANT_ADD(fault, write_unknown_rkey) {
	.run = write_unknown_rkey, .status = IBV_WC_REM_ACCESS_ERR, .vendor = 0x88,
	.moves = { { "req_cqe_error", 1 }, { "req_remote_access_errors", 1 },
		   { "rx_write_requests", 1 } },
};

FIXTURE_VARIANT_ADD(fault, write_outside) {
	.run = write_outside, .status = IBV_WC_REM_ACCESS_ERR, .vendor = 0x88,
	.moves = { { "req_cqe_error", 1 }, { "req_remote_access_errors", 1 },
		   { "rx_write_requests", 1 } },
};

FIXTURE_VARIANT_ADD(fault, read_unknown_rkey) {
	.run = read_unknown_rkey, .status = IBV_WC_REM_ACCESS_ERR, .vendor = 0x88,
	.moves = { { "req_cqe_error", 1 }, { "req_remote_access_errors", 1 },
		   { "rx_read_requests", 1 } },
};

FIXTURE_VARIANT_ADD(fault, atomic_unknown_rkey) {
	.run = atomic_unknown_rkey, .atomic = true,
	.status = IBV_WC_REM_ACCESS_ERR, .vendor = 0x88,
	.moves = { { "req_cqe_error", 1 }, { "req_remote_access_errors", 1 },
		   { "rx_atomic_requests", 1 } },
};

FIXTURE_VARIANT_ADD(fault, no_receive) {
	.run = send_one, .cfg = { .no_rnr_retry = true }, .silent = true,
	.status = IBV_WC_RNR_RETRY_EXC_ERR, .vendor = 0x87,
	.moves = { { "req_cqe_error", 1 }, { "req_rnr_retries_exceeded", 1 },
		   { "rnr_nak_retry_err", 1 }, { "out_of_buffer", 1 } },
};

FIXTURE_VARIANT_ADD(fault, peer_in_error) {
	.run = peer_in_error, .cfg = { .timeout = 8, .retry = 7 }, .silent = true,
	.status = IBV_WC_RETRY_EXC_ERR, .vendor = 0x81,
	.moves = { { "req_cqe_error", 1 }, { "local_ack_timeout_err", 8 },
		   { "req_transport_retries_exceeded", 1 } },
};

FIXTURE_VARIANT_ADD(fault, peer_in_reset) {
	.run = peer_in_reset, .cfg = { .timeout = 8, .retry = 1 }, .silent = true,
	.status = IBV_WC_RETRY_EXC_ERR, .vendor = 0x81,
	.moves = { { "req_cqe_error", 1 }, { "local_ack_timeout_err", 2 },
		   { "req_transport_retries_exceeded", 1 } },
};

FIXTURE_VARIANT_ADD(fault, receive_key_unknown) {
	.run = receive_key_unknown, .status = IBV_WC_REM_OP_ERR, .vendor = 0x89, .silent = true,
	.resp_status = IBV_WC_LOC_PROT_ERR, .resp_vendor = 0x32,
	.moves = { { "req_cqe_error", 1 }, { "resp_cqe_error", 1 } },
};

FIXTURE_VARIANT_ADD(fault, send_too_long) {
	.run = send_too_long, .status = IBV_WC_REM_INV_REQ_ERR, .vendor = 0x8a, .silent = true,
	.resp_status = IBV_WC_LOC_LEN_ERR, .resp_vendor = 0x8e,
	.moves = { { "req_cqe_error", 1 }, { "req_remote_invalid_request", 1 },
		   { "resp_cqe_error", 1 }, { "resp_local_length_error", 1 } },
};

FIXTURE_VARIANT_ADD(fault, posted_in_error) {
	.run = posted_in_error, .status = IBV_WC_WR_FLUSH_ERR, .vendor = 0xf5, .silent = true,
	.moves = { { "req_cqe_error", 1 } },
};

FIXTURE_SETUP(fault)
{
	struct qp_cfg cfg = variant->cfg;

	cfg.type = IBV_QPT_RC;
	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, SIDE));
	if (variant->atomic && !rdma_has_atomics(self->r.ctx))
		SKIP(return, NO_ATOMICS);
}

FIXTURE_TEARDOWN(fault)
{
	pair_close(&self->p);
	rdma_close(&self->r);
}

TEST_F(fault, completions_name_the_cause)
{
	struct ibv_async_event ev;
	struct ibv_wc wc;

	EXPECT_EQ(variant->status, variant->run(&self->p, &wc));
	EXPECT_EQ(variant->vendor, wc.vendor_err) TH_LOG("vendor syndrome %#x", wc.vendor_err);
	if (variant->resp_status) {
		EXPECT_EQ(variant->resp_status, reap(self->p.cq[1], &wc));
		EXPECT_EQ(variant->resp_vendor, wc.vendor_err)
			TH_LOG("vendor syndrome %#x", wc.vendor_err);
	}
	EXPECT_EQ(variant->silent ? -ETIMEDOUT : 0,
		  next_async_event(self->r.ctx, &ev, variant->silent ? 50 : 5000));
	EXPECT_TRUE(cq_stays_empty(self->p.cq[1], 10));
}

TEST_F(fault, these_counters_move_and_no_others)
{
	struct counters before, after;
	struct ibv_wc wc;
	int i;

	if (!read_counters(&before))
		SKIP(return, "the device has no counters");
	ASSERT_EQ(variant->status, variant->run(&self->p, &wc));
	ASSERT_TRUE(read_counters(&after));
	ASSERT_EQ(before.num, after.num);
	for (i = 0; i < after.num; i++)
		EXPECT_EQ(before.c[i].val + expected_move(variant->moves, after.c[i].name),
			  after.c[i].val)
			TH_LOG("%s", after.c[i].name);
	/* Each of the counters exists. */
	for (i = 0; i < MOVES && variant->moves[i].name; i++) {
		int k = 0;

		while (k < after.num && strcmp(after.c[k].name, variant->moves[i].name))
			k++;
		EXPECT_GT(after.num, k) TH_LOG("no counter %s", variant->moves[i].name);
	}
}

/*
 * With retry_cnt 1 there are two time-outs. The queue pair asks for 1 ms, but each lasts as long as
 * the shortest time-out of the device.
 */
TEST(retries_take_as_long_as_the_device_says)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC, .timeout = 8, .retry = 1 };
	long log = hca_limit("log_min_ack_timeout");
	struct ibv_wc wc;
	struct rdma r;
	struct pair p;
	double start;

	if (log <= 0)
		SKIP(return, "no lower bound: use the profile slow-retries");
	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, pair_open(&p, &r, &cfg, SIDE));
	start = seconds();
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, peer_in_reset(&p, &wc));
	EXPECT_LE(2 * 4.096 * (1 << log) / 1000000, seconds() - start);
	pair_close(&p);
	rdma_close(&r);
}

/* ---- the log ------------------------------------------------------------------------------- */

#define CONTROL		"/proc/dynamic_debug/control"
#define LOG_LINES	10	/* that the driver prints in LOG_SECONDS */
#define LOG_SECONDS	5

FIXTURE(log) {
	struct rdma r;
	struct pair p;
	bool open;
};

static int log_errors(bool on)
{
	return write_file(CONTROL, "file qp_error.c %cp", on ? '+' : '-');
}

FIXTURE_SETUP(log)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };

	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib logs other lines");
	if (access(CONTROL, W_OK))
		SKIP(return, "this kernel has no dynamic debug");
	if (hca_cap("general", "qp_error_syndrome") <= 0)
		SKIP(return, "the device does not tell why a queue pair has failed");
	ASSERT_EQ(0, rdma_open(&self->r));
	self->open = true;
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, SIDE));
	/*
	 * Lines of the previous test count against the driver's limit: wait until its interval is
	 * over.
	 */
	sleep(LOG_SECONDS + 1);
	ASSERT_EQ(0, log_errors(true));
}

FIXTURE_TEARDOWN(log)
{
	if (!self->open)
		return;
	log_errors(false);
	pair_close(&self->p);
	rdma_close(&self->r);
}

/*
 * Wait for @num log lines with @text, because the driver logs after it has delivered the event.
 * Returns how many there are.
 */
static int lines_within(const char *text, int num, double limit)
{
	double end = seconds() + limit;
	int found;

	while ((found = klog_count(text)) < num && seconds() < end)
		usleep(10000);
	return found;
}

/* The peer's request is wrong: no completion tells the owner of the failed queue pair why. */
TEST_F(log, failed_queue_pair_is_named)
{
	char line[256];
	struct ibv_wc wc;

	snprintf(line, sizeof(line), "QP 0x%x of errors[%d]: QP access error: %s (%s)",
		 self->p.qp[1]->qp_num, getpid(), "local protection error",
		 "syndrome 0x4, vendor syndrome 0x3a, hardware syndrome 0x93 of type 0x0");
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, write_unknown_rkey(&self->p, &wc));
	EXPECT_EQ(1, lines_within(line, 1, 5)) TH_LOG("%s", line);
}

TEST_F(log, line_tells_that_firmware_refuses_to_say)
{
	char line[128];
	struct ibv_wc wc;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	snprintf(line, sizeof(line), "QP 0x%x of errors[%d]: QP access error: firmware does not",
		 self->p.qp[1]->qp_num, getpid());
	ASSERT_EQ(0, hca_do("inject op QUERY_QP BAD_RES 1"));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, write_unknown_rkey(&self->p, &wc));
	EXPECT_EQ(1, lines_within(line, 1, 5)) TH_LOG("%s", line);
	hca_inject_clear();
}

TEST_F(log, lines_and_commands_are_limited)
{
	struct ibv_async_event ev;
	int errors, lines = klog_count(": QP access error: ");
	struct ibv_wc wc;
	double start = seconds();

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, hca_commands_reset());
	for (errors = 0; errors < 3 * LOG_LINES; errors++) {
		ASSERT_EQ(IBV_WC_REM_ACCESS_ERR, write_unknown_rkey(&self->p, &wc));
		ASSERT_EQ(0, next_async_event(self->r.ctx, &ev, 5000));
		ASSERT_EQ(0, pair_reconnect(&self->p));
	}
	usleep(100000);
	lines = klog_count(": QP access error: ") - lines;
	EXPECT_EQ(lines, hca_commands("QUERY_QP"));
	/* On a slow machine the test takes several intervals. */
	EXPECT_GE(LOG_LINES * (1 + (int)((seconds() - start) / LOG_SECONDS)), lines);
	EXPECT_GE(lines, LOG_LINES);
}

TEST_HARNESS_MAIN
