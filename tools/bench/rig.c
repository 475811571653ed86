// SPDX-License-Identifier: GPL-2.0
/*
 * Measure how fast the emulated HCA carries messages and executes commands. Two connected
 * queue pairs of one process are on the same port, so that one thread drives both ends. Runs
 * in a guest; scripts/bench-hca compares two builds of the HCA with it.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/verbs.h>

#define SMALL 64U
#define LARGE (64U << 10)
#define SMALL_OUTSTANDING 64U
#define LARGE_OUTSTANDING 8U
#define DEPTH 128U

struct end {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

struct rig {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct end end[2];
	uint16_t lid;
	char *buf;
};

static void die(const char *what)
{
	fprintf(stderr, "rig: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static struct ibv_sge sge_of(struct rig *rig, int end, uint32_t size)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)rig->buf + end * LARGE, .length = size, .lkey = rig->mr->lkey,
	};
}

static void post_recv(struct rig *rig, int end, uint32_t size)
{
	struct ibv_sge sge = sge_of(rig, end, size);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(rig->end[end].qp, &wr, &bad))
		die("ibv_post_recv");
}

static void post_send(struct rig *rig, int end, enum ibv_wr_opcode opcode, uint32_t size)
{
	struct ibv_sge sge = sge_of(rig, end, size);
	struct ibv_send_wr wr = {
		.opcode = opcode, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)rig->buf + !end * LARGE,
			     .rkey = rig->mr->rkey },
	}, *bad;

	if (ibv_post_send(rig->end[end].qp, &wr, &bad))
		die("ibv_post_send");
}

/* Take what has completed at one end. Returns the number of completions. */
static unsigned int poll_end(struct rig *rig, int end, unsigned int *received)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(rig->end[end].cq, 16, wc);

	if (n < 0)
		die("ibv_poll_cq");
	for (int i = 0; i < n; i++) {
		if (wc[i].status) {
			errno = EIO;
			die(ibv_wc_status_str(wc[i].status));
		}
		*received += !!(wc[i].opcode & IBV_WC_RECV);
	}
	return n;
}

/* One message to the other end, and one back. */
static void ping_pong(struct rig *rig, unsigned int count)
{
	for (unsigned int i = 0; i < 2 * count; i++) {
		int from = i % 2;
		unsigned int received = 0, ignored = 0;

		post_recv(rig, !from, SMALL);
		post_send(rig, from, IBV_WR_SEND, SMALL);
		while (!received) {
			poll_end(rig, !from, &received);
			poll_end(rig, from, &ignored);
		}
	}
	for (int end = 0; end < 2; end++) {
		unsigned int ignored = 0;

		/* The completions of the last sends. */
		for (int i = 0; i < 1000; i++)
			poll_end(rig, end, &ignored);
	}
}

static void messages(struct rig *rig, unsigned int count)
{
	unsigned int posted = 0, sent = 0, received = 0, ignored = 0;

	while (sent < count || received < count) {
		while (posted < count && posted - sent < SMALL_OUTSTANDING &&
		       posted - received < SMALL_OUTSTANDING) {
			post_recv(rig, 1, SMALL);
			post_send(rig, 0, IBV_WR_SEND, SMALL);
			posted++;
		}
		sent += poll_end(rig, 0, &ignored);
		poll_end(rig, 1, &received);
	}
}

static void writes(struct rig *rig, unsigned int count)
{
	unsigned int posted = 0, done = 0, ignored = 0;

	while (done < count) {
		for (; posted < count && posted - done < LARGE_OUTSTANDING; posted++)
			post_send(rig, 0, IBV_WR_RDMA_WRITE, LARGE);
		done += poll_end(rig, 0, &ignored);
	}
}

/* A protection domain is two commands, and hardly any work of driver and firmware. */
static void commands(struct rig *rig, unsigned int count)
{
	for (unsigned int i = 0; i < count / 2; i++) {
		struct ibv_pd *pd = ibv_alloc_pd(rig->ctx);

		if (!pd || ibv_dealloc_pd(pd))
			die("protection domain");
	}
}

/* @count operations are timed together. @bytes of an operation, if bytes a second are of interest. */
static const struct row {
	const char *name;
	void (*run)(struct rig *rig, unsigned int count);
	unsigned int count, bytes;
} rows[] = {
	{ "ping-pong, 64 bytes", ping_pong, 200, 0 },
	{ "messages of 64 bytes", messages, 2000, 0 },
	{ "writes of 64 KiB", writes, 200, LARGE },
	{ "commands", commands, 200, 0 },
};

static void run_row(struct rig *rig, const struct row *row, unsigned int samples)
{
	row->run(rig, row->count);
	printf("{\"row\":\"%s\",\"bytes\":%u,\"samples\":[", row->name, row->bytes);
	for (unsigned int i = 0; i < samples; i++) {
		uint64_t start = now_ns();

		row->run(rig, row->count);
		printf("%s%.0f", i ? "," : "", (double)(now_ns() - start) / row->count);
	}
	printf("]}\n");
	fflush(stdout);
}

static void create_end(struct rig *rig, struct end *end)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	end->cq = ibv_create_cq(rig->ctx, 2 * DEPTH, NULL, NULL, 0);
	attr.send_cq = end->cq;
	attr.recv_cq = end->cq;
	end->qp = end->cq ? ibv_create_qp(rig->pd, &attr) : NULL;
	if (!end->qp)
		die("cannot create a queue pair");
}

static void connect_end(struct rig *rig, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		die("modify to INIT");
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_4096;
	attr.dest_qp_num = peer;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.ah_attr.dlid = rig->lid;
	attr.ah_attr.port_num = 1;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("modify to RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 18;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("modify to RTS");
}

static void set_up(struct rig *rig)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_port_attr port;

	if (!list || !list[0])
		die("no RDMA device");
	rig->ctx = ibv_open_device(list[0]);
	if (!rig->ctx || ibv_query_port(rig->ctx, 1, &port))
		die("cannot open the device");
	rig->lid = port.lid;
	rig->pd = ibv_alloc_pd(rig->ctx);
	rig->buf = aligned_alloc(LARGE, 2 * LARGE);
	if (!rig->pd || !rig->buf)
		die("cannot set up the benchmark");
	memset(rig->buf, 0, 2 * LARGE);
	rig->mr = ibv_reg_mr(rig->pd, rig->buf, 2 * LARGE,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!rig->mr)
		die("ibv_reg_mr");
	create_end(rig, &rig->end[0]);
	create_end(rig, &rig->end[1]);
	connect_end(rig, rig->end[0].qp, rig->end[1].qp->qp_num);
	connect_end(rig, rig->end[1].qp, rig->end[0].qp->qp_num);
}

static struct {
	unsigned int samples;
	const char *row;	/* start of the names of the rows to measure, or NULL: all */
} opt = { .samples = 5 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'n':
		opt.samples = strtoul(arg, NULL, 0);
		if (!opt.samples)
			argp_error(state, "'%s' is not a number of samples", arg);
		return 0;
	case 'r':
		opt.row = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp_option args[] = {
		{ "samples", 'n', "N", 0, "measure each row N times (5)", 0 },
		{ "row", 'r', "NAME", 0, "measure the rows whose names start with NAME only", 0 },
		{ 0 }
	};
	static const struct argp argp = {
		.options = args, .parser = parse,
		.doc = "Measure the HCA behind the first RDMA device; one JSON line a row, in nanoseconds an operation.",
	};
	struct rig rig = { 0 };

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	set_up(&rig);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!opt.row || !strncmp(rows[i].name, opt.row, strlen(opt.row)))
			run_row(&rig, &rows[i], opt.samples);
	return 0;
}
