// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the time of slow-path verbs on one RDMA device, and count their firmware
 * commands. Runs in a guest; scripts/bench compares two drivers with it. In a guest
 * whose clock counts instructions, count those of each verb.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>
#include <json-c/json.h>
#include <rdma/ib_user_verbs.h>

#include "bench.h"

/* Regions that each thread registers and deregisters in one operation. */
#define THREAD_REGS 4

/* Commands and doorbells of an operation; -1 if there is no control channel to count them. */
struct work {
	long commands;
	long doorbells;
};

static int ctl_fd = -1;
/* What now_ns() reads: elapsed time, or the time for which this thread has run. */
static clockid_t bench_clock = CLOCK_MONOTONIC;

void die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(bench_clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Send a request to the HCA's control channel; the answer is one line of JSON. */
static struct json_object *ctl(const char *request)
{
	static char line[1 << 16];
	struct json_object *answer;
	size_t len = 0;
	ssize_t n;

	if (ctl_fd < 0)
		return NULL;
	n = write(ctl_fd, request, strlen(request));
	if (n != (ssize_t)strlen(request))
		die("control channel: write");
	do {
		n = read(ctl_fd, line + len, sizeof(line) - 1 - len);
		if (n <= 0)
			die("control channel: read");
		len += n;
	} while (line[len - 1] != '\n' && len < sizeof(line) - 1);
	line[len] = '\0';
	answer = json_tokener_parse(line);
	if (!answer) {
		errno = EPROTO;
		die(line);
	}
	return answer;
}

static long member(struct json_object *o, const char *name)
{
	struct json_object *v;

	return json_object_object_get_ex(o, name, &v) ? json_object_get_int64(v) : 0;
}

static struct work read_work(void)
{
	struct json_object *o = ctl("counters\n");
	struct work w = { -1, -1 };

	if (!o)
		return w;
	w.commands = member(o, "commands");
	w.doorbells = member(o, "doorbells_send") + member(o, "doorbells_blueflame") +
		      member(o, "doorbells_cq") + member(o, "doorbells_eq");
	json_object_put(o);
	return w;
}

/* Run the row's operation once without timing it, and count its commands and doorbells. */
static struct work count_work(struct bench *b, const struct row *row)
{
	struct work from, to;

	if (row->before)
		row->before(b, row);
	from = read_work();
	row->op(b, row);
	to = read_work();
	if (row->after)
		row->after(b, row);
	if (from.commands < 0)
		return from;
	return (struct work){ to.commands - from.commands, to.doorbells - from.doorbells };
}

static void op_open_close(struct bench *b, const struct row *row)
{
	struct ibv_context *ctx = ibv_open_device(b->device);

	if (!ctx || ibv_close_device(ctx))
		die(row->name);
}

static void op_dm(struct bench *b, const struct row *row)
{
	struct ibv_alloc_dm_attr attr = { .length = row->size };
	struct ibv_dm *dm = ibv_alloc_dm(b->ctx, &attr);

	if (!dm || ibv_free_dm(dm))
		die(row->name);
}

static void op_cq(struct bench *b, const struct row *row)
{
	struct ibv_cq *cq = ibv_create_cq(b->ctx, 128, NULL, NULL, 0);

	if (!cq || ibv_destroy_cq(cq))
		die(row->name);
}

struct ibv_qp *create_qp(struct bench *b, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = b->cq,
		.recv_cq = b->cq,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	if (!qp)
		die("ibv_create_qp");
	return qp;
}

/* Connect the QP to itself, and modify it to RTS. */
static void qp_to_rts(struct bench *b, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		die("modify to INIT");
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = qp->qp_num;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.ah_attr = b->self;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		die("modify to RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("modify to RTS");
}

static void op_qp_rts(struct bench *b, const struct row *row)
{
	(void)row;
	b->qp = create_qp(b, b->pd);
	qp_to_rts(b, b->qp);
}

static void op_qp_destroy(struct bench *b, const struct row *row)
{
	if (ibv_destroy_qp(b->qp))
		die(row->name);
	b->qp = NULL;
}

struct ibv_mr *reg(struct bench *b, void *addr, size_t size)
{
	struct ibv_mr *mr = ibv_reg_mr(b->pd, addr, size, IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);

	if (!mr)
		die("ibv_reg_mr");
	return mr;
}

void dereg(struct ibv_mr *mr)
{
	if (ibv_dereg_mr(mr))
		die("ibv_dereg_mr");
}

static void op_mr(struct bench *b, const struct row *row)
{
	dereg(reg(b, b->buf, row->size));
}

/* Keep each region, so that the next one needs another key. */
static void op_mr_hold(struct bench *b, const struct row *row)
{
	if (b->nheld == MAX_HELD)
		die(row->name);
	b->held[b->nheld++] = reg(b, b->buf, row->size);
}

static void dereg_held(struct bench *b)
{
	while (b->nheld)
		dereg(b->held[--b->nheld]);
}

/*
 * Map @bytes of a @file in memory, whose pages stay the same for all processes that measure. What it costs to pin
 * memory depends on how many of its pages follow each other in physical memory, which makes a greater difference than
 * the driver: anonymous pages are contiguous in one process and not in the next.
 */
static void *map_file(const char *file, size_t bytes, int flags)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);
	void *pages;

	if (fd < 0 || ftruncate(fd, bytes))
		die(file);
	pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
	if (pages == MAP_FAILED)
		die(file);
	close(fd);
	return pages;
}

void map_huge(struct bench *b, const struct row *row)
{
	if (!b->huge)
		b->huge = map_file(b->huge_file, row->size, MAP_POPULATE);
}

static void op_mr_huge(struct bench *b, const struct row *row)
{
	dereg(reg(b, b->huge, row->size));
}

void unmap_huge(struct bench *b)
{
	munmap(b->huge, 1024 * MIB);
	b->huge = NULL;
}

static struct ibv_mr *reg_paged(struct bench *b, void *addr, size_t size)
{
	struct ibv_mr *mr = ibv_reg_mr(b->pd, addr, size, IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ON_DEMAND);

	if (!mr)
		die("ibv_reg_mr of paged memory");
	return mr;
}

static void map_fresh(struct bench *b, const struct row *row, int flags)
{
	b->fresh = mmap(NULL, row->size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	if (b->fresh == MAP_FAILED)
		die(row->name);
}

static void map_touched(struct bench *b, const struct row *row)
{
	map_fresh(b, row, MAP_NORESERVE | MAP_POPULATE);
}

static void map_untouched(struct bench *b, const struct row *row)
{
	map_fresh(b, row, MAP_NORESERVE);
}

/* Have what op_touch() needs: a connected queue pair, and a region to write from. */
static void prepare_writer(struct bench *b, const struct row *row)
{
	if (b->qp)
		return;
	op_qp_rts(b, row);
	b->mr = reg(b, b->buf, row->size);
}

/* Register all memory of the process, and map memory that has not been touched yet. */
static void prepare_touch(struct bench *b, const struct row *row)
{
	prepare_writer(b, row);
	map_fresh(b, row, 0);
	b->all = reg_paged(b, NULL, SIZE_MAX);
}

static void op_touch(struct bench *b, const struct row *row)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)b->buf, .length = row->size, .lkey = b->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)b->fresh, .rkey = b->all->rkey },
	}, *bad;
	struct ibv_wc wc;
	int n;

	if (ibv_post_send(b->qp, &wr, &bad))
		die(row->name);
	do
		n = ibv_poll_cq(b->cq, 1, &wc);
	while (!n);
	if (n < 0 || wc.status) {
		errno = EIO;
		die(row->name);
	}
}

static void undo_touch(struct bench *b, const struct row *row)
{
	dereg(b->all);
	munmap(b->fresh, row->size);
}

static void op_mr_paged(struct bench *b, const struct row *row)
{
	dereg(reg_paged(b, b->fresh, row->size));
}

static void unmap_fresh(struct bench *b, const struct row *row)
{
	munmap(b->fresh, row->size);
}

/* Register memory that the process has touched: the device need not fault on it. */
static void prepare_access(struct bench *b, const struct row *row)
{
	prepare_writer(b, row);
	map_touched(b, row);
	b->all = reg_paged(b, b->fresh, row->size);
}

static void finish_touch(struct bench *b)
{
	if (ibv_destroy_qp(b->qp))
		die("ibv_destroy_qp");
	dereg(b->mr);
	b->qp = NULL;
}

static void *thread_main(void *arg)
{
	struct bench *b = arg;

	for (;;) {
		pthread_barrier_wait(&b->start);
		if (b->stop)
			return NULL;
		for (int i = 0; i < THREAD_REGS; i++)
			dereg(reg(b, b->buf, PAGE));
		pthread_barrier_wait(&b->end);
	}
}

/* Start threads, each of which does its part of an operation between the barriers @start and @end. */
void start_threads_of(struct bench *b, const struct row *row, void *(*main)(void *))
{
	if (b->thread[0])
		return;
	if (pthread_barrier_init(&b->start, NULL, THREADS + 1) ||
	    pthread_barrier_init(&b->end, NULL, THREADS + 1))
		die(row->name);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&b->thread[i], NULL, main, b))
			die(row->name);
}

static void start_threads(struct bench *b, const struct row *row)
{
	start_threads_of(b, row, thread_main);
}

static void op_threads(struct bench *b, const struct row *row)
{
	(void)row;
	pthread_barrier_wait(&b->start);
	pthread_barrier_wait(&b->end);
}

static void stop_threads(struct bench *b)
{
	b->stop = true;
	pthread_barrier_wait(&b->start);
	for (int i = 0; i < THREADS; i++)
		pthread_join(b->thread[i], NULL);
	b->thread[0] = 0;
	b->stop = false;
}

/* The cold row must be the first: later rows find keys that earlier rows have used. The last row has no name. */
static const struct row rows[] = {
	{ "MR 4 KiB reg cold", .op = op_mr_hold, .finish = dereg_held, .size = PAGE, .cold = true },
	{ "open+close device", .op = op_open_close },
	{ "CQ create+destroy", .op = op_cq },
	{ "RC QP create to RTS", .op = op_qp_rts, .after = op_qp_destroy },
	{ "RC QP destroy", .before = op_qp_rts, .op = op_qp_destroy },
	{ "MR 4 KiB reg+dereg", .op = op_mr, .size = PAGE },
	{ "MR 1 MiB reg+dereg", .op = op_mr, .size = MIB },
	{ "MR 256 MiB reg+dereg", .op = op_mr, .size = 256 * MIB },
	{ "MR 1 GiB huge pages", .before = map_huge, .op = op_mr_huge, .finish = unmap_huge,
	  .size = 1024 * MIB },
	{ "DM 4 KiB alloc+free", .op = op_dm, .size = PAGE },
	{ "DM 128 KiB alloc+free", .op = op_dm, .size = 32 * PAGE },
	{ "implicit ODP touch 4 KiB", .before = prepare_touch, .op = op_touch, .after = undo_touch,
	  .finish = finish_touch, .size = PAGE },
	{ "implicit ODP touch 1 MiB", .before = prepare_touch, .op = op_touch, .after = undo_touch,
	  .finish = finish_touch, .size = MIB },
	{ "paged MR 4 MiB, touched", .before = map_touched, .op = op_mr_paged, .after = unmap_fresh,
	  .size = 4 * MIB },
	{ "paged MR 1 GiB, untouched", .before = map_untouched, .op = op_mr_paged, .after = unmap_fresh,
	  .size = 1024 * MIB },
	{ "paged MR 1 MiB, first use", .before = prepare_access, .op = op_touch, .after = undo_touch,
	  .finish = finish_touch, .size = MIB },
	{ "16 threads, 4 MRs each", .before = start_threads, .op = op_threads,
	  .finish = stop_threads },
	{ "16 threads, 4 QPs each", .before = start_qp_threads, .op = op_threads,
	  .finish = stop_threads, .few = true },
	{ "128 processes open", .before = start_crowd, .op = op_crowd, .after = end_crowd, .few = true },
	{ 0 }
};

/* The QP's doorbell record is alone in its page, so that the driver has to pin the page. */
static void op_dbr_page(struct bench *b, const struct row *row)
{
	struct ibv_qp *qp = create_qp(b, b->dbr_pd);

	if (ibv_destroy_qp(qp))
		die(row->name);
}

static void create_only(struct bench *b, const struct row *row)
{
	(void)row;
	b->qp = create_qp(b, b->pd);
}

static void op_rts(struct bench *b, const struct row *row)
{
	(void)row;
	qp_to_rts(b, b->qp);
}

static void op_pd(struct bench *b, const struct row *row)
{
	struct ibv_pd *pd = ibv_alloc_pd(b->ctx);

	if (!pd || ibv_dealloc_pd(pd))
		die(row->name);
}

static void uverbs_write(struct bench *b, const void *command, size_t size)
{
	if (write(b->ctx->cmd_fd, command, size) != (ssize_t)size)
		die("uverbs command");
}

/* An Ethernet port has the addresses of its network device. */
static bool has_addresses(const struct bench *b)
{
	return b->self.is_global;
}

/*
 * libmlx5 enters the kernel for an address handle of an Ethernet port only. On an InfiniBand port,
 * send the commands by hand.
 */
static void op_ah(struct bench *b, const struct row *row)
{
	struct ib_uverbs_create_ah_resp resp = { 0 };
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_create_ah cmd;
	} create = {
		.hdr = { .command = IB_USER_VERBS_CMD_CREATE_AH, .in_words = sizeof(create) / 4,
			 .out_words = sizeof(resp) / 4 },
		.cmd = { .response = (uintptr_t)&resp, .pd_handle = b->pd->handle,
			 .attr = { .dlid = b->self.dlid, .port_num = 1 } },
	};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_destroy_ah cmd;
	} destroy = {
		.hdr = { .command = IB_USER_VERBS_CMD_DESTROY_AH, .in_words = sizeof(destroy) / 4 },
	};

	if (has_addresses(b)) {
		struct ibv_ah *ah = ibv_create_ah(b->pd, &b->self);

		if (!ah || ibv_destroy_ah(ah))
			die(row->name);
		return;
	}
	uverbs_write(b, &create, sizeof(create));
	destroy.cmd.ah_handle = resp.ah_handle;
	uverbs_write(b, &destroy, sizeof(destroy));
}

/* The rows whose instructions are counted, beside those of DEVX. */
static const struct row counted_rows[] = {
	{ "open+close device", .op = op_open_close },
	{ "PD alloc+dealloc", .op = op_pd },
	{ "CQ create+destroy", .op = op_cq },
	{ "RC QP create", .op = create_only, .after = op_qp_destroy },
	{ "RC QP modify to RTS", .before = create_only, .op = op_rts, .after = op_qp_destroy },
	{ "RC QP destroy", .before = op_qp_rts, .op = op_qp_destroy },
	{ "QP, new doorbell page", .op = op_dbr_page },
	{ "AH create+destroy", .op = op_ah },
	{ "MR 4 KiB reg+dereg", .op = op_mr, .size = PAGE },
	{ "MR 1 MiB reg+dereg", .op = op_mr, .size = MIB },
	{ "DM 4 KiB alloc+free", .op = op_dm, .size = PAGE },
	{ 0 }
};

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t median(uint64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare_u64);
	return v[n / 2];
}

static void run_row(struct bench *b, const struct row *row, unsigned int most)
{
	unsigned int iterations = row->few ? (most + 3) / 4 : most;
	uint64_t *ns = calloc(iterations, sizeof(*ns));
	struct work work = { -1, -1 };
	/* During an operation the thread has this name, by which a profiler finds its samples. */
	char name[16];

	if (!ns)
		die("calloc");
	snprintf(name, sizeof(name), "op %s", row->name);
	if (!row->cold)
		work = count_work(b, row);
	for (unsigned int i = 0; i < iterations; i++) {
		uint64_t start;

		if (row->before)
			row->before(b, row);
		prctl(PR_SET_NAME, name);
		start = now_ns();
		row->op(b, row);
		ns[i] = now_ns() - start;
		prctl(PR_SET_NAME, "bench");
		if (row->after)
			row->after(b, row);
	}
	if (row->cold)
		work = count_work(b, row);
	if (row->finish)
		row->finish(b);
	printf("{\"row\":\"%s\",\"commands\":%ld,\"doorbells\":%ld,\"samples\":[", row->name,
	       work.commands, work.doorbells);
	for (unsigned int i = 0; i < iterations; i++)
		printf("%s%llu", i ? "," : "", (unsigned long long)ns[i]);
	printf("]}\n");
	fflush(stdout);
	free(ns);
}

/* Unreclaimable slab memory of the kernel, in bytes. */
long kernel_bytes(void)
{
	char line[128];
	long kib = -1;
	FILE *f = fopen("/proc/meminfo", "r");

	if (!f)
		die("/proc/meminfo");
	while (kib < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "SUnreclaim: %ld", &kib);
	fclose(f);
	return kib * 1024;
}

/* Allocator of the parent domain: gives each doorbell record a page; the rest is left to the library. */
static void *page_for_dbr(struct ibv_pd *pd, void *ctx, size_t size, size_t align, uint64_t type)
{
	void *p;

	(void)pd; (void)ctx; (void)align;
	if (type != MLX5DV_RES_TYPE_DBR)
		return IBV_ALLOCATOR_USE_DEFAULT;
	p = mmap(NULL, (size + PAGE - 1) & ~(PAGE - 1), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void free_dbr(struct ibv_pd *pd, void *ctx, void *ptr, uint64_t type)
{
	(void)pd; (void)ctx;
	if (type == MLX5DV_RES_TYPE_DBR)
		munmap(ptr, PAGE);
}

/* A domain whose queue pairs each have a doorbell page of their own. */
struct ibv_pd *alloc_dbr_pd(struct bench *b)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = b->pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = page_for_dbr,
		.free = free_dbr,
	};

	return ibv_alloc_parent_domain(b->ctx, &attr);
}

/* A buffer of @bytes, from a @file in memory if that is not NULL. */
static void *map_buffer(const char *file, size_t bytes)
{
	void *buf = file ? map_file(file, bytes, 0)
			 : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buf == MAP_FAILED)
		die("mapping the buffer");
	/* Small pages, populated in advance, so that page faults are not timed. */
	if (madvise(buf, bytes, MADV_NOHUGEPAGE) || madvise(buf, bytes, MADV_POPULATE_WRITE))
		die("populating the buffer");
	return buf;
}

/*
 * Find the way to the port itself: on an Ethernet port by its first IPv4 address, as an address of
 * RoCE version 2.
 */
static void find_self(struct bench *b)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;

	if (ibv_query_port(b->ctx, 1, &port))
		die("ibv_query_port");
	b->self = (struct ibv_ah_attr){ .dlid = port.lid, .port_num = 1 };
	if (port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return;
	for (int i = 0; i < port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(b->ctx, 1, i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    memcmp(entry.gid.raw, mapped, sizeof(mapped)))
			continue;
		b->self.is_global = 1;
		b->self.grh = (struct ibv_global_route){ .dgid = entry.gid, .sgid_index = i,
							 .hop_limit = 64 };
		return;
	}
	errno = EADDRNOTAVAIL;
	die("the port has no IPv4 address");
}

/* Open the device, with a buffer of @bytes, from a @file in memory if that is not NULL. */
void open_device(struct bench *b, const char *file, size_t bytes)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0])
		die("no RDMA device");
	b->device = list[0];
	b->ctx = ibv_open_device(b->device);
	if (!b->ctx)
		die("cannot open the device");
	find_self(b);
	b->pd = ibv_alloc_pd(b->ctx);
	b->cq = ibv_create_cq(b->ctx, 128, NULL, NULL, 0);
	if (!b->pd || !b->cq)
		die("cannot set up the benchmark");
	b->buf = map_buffer(file, bytes);
	b->buf_pages = bytes / PAGE;
}

struct options {
	unsigned int iterations, many, exits;
	bool instructions;
	int processor;
	const char *control, *huge, *buffer;
	struct bench *bench;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct bench *b = o->bench;

	switch (key) {
	case 'n':
		o->iterations = strtoul(arg, NULL, 0);
		if (!o->iterations)
			argp_error(state, "'%s' is not a number of iterations", arg);
		return 0;
	case 'm':
		o->many = strtoul(arg, NULL, 0);
		if (o->many < 100)
			argp_error(state, "--many needs at least 100 objects");
		return 0;
	case 'x':
		o->exits = strtoul(arg, NULL, 0);
		if (!o->exits)
			argp_error(state, "'%s' is not a number of objects", arg);
		return 0;
	case 'b':
		o->buffer = arg;
		return 0;
	case 'H':
		o->huge = arg;
		return 0;
	case 'c':
		o->control = arg;
		return 0;
	case 'i':
		o->instructions = true;
		return 0;
	case 'p':
		o->processor = strtol(arg, NULL, 0);
		if (o->processor < 0)
			argp_error(state, "'%s' is not a processor", arg);
		return 0;
	case 'r':
		if (b->nonly == MAX_ONLY)
			argp_error(state, "at most %d rows can be named", MAX_ONLY);
		b->only[b->nonly++] = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* Whether a row is to be measured. */
bool is_wanted(const struct bench *b, const char *name)
{
	for (unsigned int i = 0; i < b->nonly; i++)
		if (strstr(name, b->only[i]))
			return true;
	return !b->nonly;
}

static void run_rows(struct bench *b, const struct options *o, const struct row *row)
{
	for (; row->name; row++)
		if (is_wanted(b, row->name) && (o->huge || row->before != map_huge))
			run_row(b, row, o->iterations);
}

static void run_all_rows(struct bench *b, const struct options *o)
{
	run_rows(b, o, rows);
	run_rows(b, o, devx_rows);
	run_rows(b, o, dc_rows);
	if (has_addresses(b)) {
		run_rows(b, o, address_rows);
		run_rows(b, o, raw_rows);
	}
}

/*
 * In a guest of scripts/vm --icount all clocks advance by a fixed time with each
 * instruction. That of the thread stands still while the thread sleeps and during interrupts.
 * To fall asleep costs instructions, too, so firmware answers late enough that the
 * thread always sleeps: the speed of the HCA makes no difference then.
 */
void answer_late(bool late)
{
	json_object_put(ctl(late ? "inject cmd delay 2 1000000\n" : "inject clear\n"));
}

static void run_instructions(struct bench *b, const struct options *o)
{
	answer_late(true);
	b->dbr_pd = alloc_dbr_pd(b);
	if (!b->dbr_pd)
		die("ibv_alloc_parent_domain");
	run_rows(b, o, counted_rows);
	run_rows(b, o, dc_rows);
	if (has_addresses(b))
		run_rows(b, o, raw_rows);
	/* The thread sleeps until its event is there, too. The driver polls for its own completions. */
	json_object_put(ctl("inject cqe delay 2 1000000\n"));
	run_rows(b, o, devx_rows);
	answer_late(false);
	ibv_dealloc_pd(b->dbr_pd);
}

static void pin(int processor)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

int main(int argc, char **argv)
{
	static const struct argp_option args[] = {
		{ "iterations", 'n', "N", 0, "time each operation N times (5)", 0 },
		{ "many", 'm', "N", 0, "create N QPs, CQs and MRs: the rows QP, CQ and MR", 0 },
		{ "exit", 'x', "N", 0, "kill a process that has N QPs and N MRs", 0 },
		{ "buffer", 'b', "FILE", 0, "file in memory whose pages are registered, the same ones in each run", 0 },
		{ "huge", 'H', "FILE", 0, "file on hugetlbfs for the row of huge pages; without it the row is left out", 0 },
		{ "control", 'c', "PATH", 0, "the HCA's control channel, to count commands", 0 },
		{ "row", 'r', "TEXT", 0, "only the rows whose name contains TEXT; may be repeated", 0 },
		{ "instructions", 'i', NULL, 0, "measure for how long this thread runs, by the clock of an icount guest", 0 },
		{ "processor", 'p', "N", 0, "run on processor N only", 0 },
		{ 0 }
	};
	static const struct argp argp = {
		.options = args, .parser = parse,
		.doc = "Time verbs on the first RDMA device; one JSON line a row.",
	};
	struct bench b = { 0 };
	struct options o = { .iterations = 5, .processor = -1, .bench = &b };

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.control) {
		ctl_fd = open(o.control, O_RDWR);
		if (ctl_fd < 0)
			die(o.control);
	}
	if (o.processor >= 0)
		pin(o.processor);
	b.huge_file = o.huge;
	open_device(&b, o.buffer, 256 * MIB);
	if (o.instructions)
		bench_clock = CLOCK_THREAD_CPUTIME_ID;
	if (o.exits)
		run_exit(o.exits);
	else if (o.many)
		run_many(&b, o.many, o.instructions);
	else if (o.instructions)
		run_instructions(&b, &o);
	else
		run_all_rows(&b, &o);
	return 0;
}
