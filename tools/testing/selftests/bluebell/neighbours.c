// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a greedy process costs a quiet process of another user.
 *
 * The quiet process does each kind of verb a few times, alone and beside a greedy process in turn.
 * The greedy process does one thing as often as it can, as the user "tester", in a memory cgroup,
 * with the lowest priority: the tests are about the driver and not about the scheduler.
 *
 * Bluebell promises that the median time of each verb at most doubles, plus 10 ms, and that the
 * worst time is at most ten times the median of the quiet device plus 50 ms; that the memory of the
 * greedy process is charged to its cgroup; and that within a second of its death each verb keeps
 * the first of these limits again. For the stock driver, which promises nothing, the tests print
 * the figures.
 *
 * NEIGHBOURS_ROUNDS=N measures in N rounds instead of 2.
 */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "child.h"
#include "consumer.h"
#include "dc.h"
#include "devx_cmd.h"
#include "devx_queues.h"
#include "memcg.h"
#include "paged.h"
#include "port.h"
#include "raw_packet.h"
#include "rights.h"
#include "slow_file.h"
#include "test.h"

#define MIB (1ul << 20)
#define MEMCG_LIMIT (192 * MIB)
/*
 * Less memory than this, in KiB, may be taken without a charge to a cgroup: the device, other
 * processes and the kernel's caches take some meanwhile.
 */
#define UNCHARGED_KB (32 * 1024)
#define MAX_ROUNDS 50
/*
 * How often each verb is measured in a round while the quiet process is alone, and again beside the
 * greedy process.
 */
#define SAMPLES 5
#define WORST_MS 50.0
/*
 * Other work of the machine disturbs some measurements, but not the same verb each time. So a verb
 * fails the test only if it is too slow in this many attempts.
 */
#define ATTEMPTS 3
#define GREEDY_MEM (4 * MIB)
/* Objects that a greedy process has at a time. */
#define MANY 16
#define ASYNC_COMMANDS 1000
/* Leaves of implicit regions, and their length. */
#define LEAVES 8u
#define LEAF_LEN (16 * MIB)
/* Of a process; vm.max_map_count is 65530. */
#define MAPPINGS 30000u
/* The types of the frames that flow rules are for: one for experiments, and those after it. */
#define ETYPE 0x88b5
/* Pause between two contexts with orphans, so that user ids are left. */
#define ORPHANS_US 50000
/* Each time firmware refuses orphans, the driver doubles the pause before its next attempt. */
#define ORPHANS_GONE_MS 60000

/*
 * A difference below this, in ms, says more about the scheduling of the emulator than about the
 * driver. On the debug kernel the verbs take 6 to 11 times as long, with either driver, and so does
 * each switch between tasks and each interrupt that the emulator schedules.
 */
static double floor_ms(void)
{
	return on_debug_kernel() ? 60 : 10;
}

static unsigned int num_rounds(void)
{
	const char *text = getenv("NEIGHBOURS_ROUNDS");
	int n = text ? atoi(text) : 2;

	return n < 1 ? 1 : n > MAX_ROUNDS ? MAX_ROUNDS : n;
}

/* --- The quiet process: a function for each verb, which returns 0 ---------------------------- */

struct quiet {
	struct uv uv;		/* the context of verbs that are called without a library */
	uint32_t pd, pdn;
	struct uv_cq cq;
	struct uv_mem srq_mem;
	struct paged paged;	/* without on-demand paging only its pair is open */
	bool has_odp;
	unsigned int page;	/* number of the page that faults next */
	struct ibv_comp_channel *channel;
	struct ibv_cq *events;
	struct ibv_qp *event_qp;
	struct ibv_qp *raw;	/* for raw packets, on an Ethernet port only */
	void *mem;
	int consumer;		/* file of consumer_open(); negative if it cannot be opened */
};

static int quiet_open(struct quiet *q)
{
	struct uv uv;
	int ret = uv_open(&uv);

	if (!ret)
		uv_close(&uv);
	return ret;
}

static int quiet_pd(struct quiet *q)
{
	uint32_t pd, pdn;

	return uv_alloc_pd(q->uv.fd, &pd, &pdn) ?: uv_dealloc_pd(q->uv.fd, pd);
}

static int quiet_cq(struct quiet *q)
{
	struct uv_cq cq;

	return uv_create_cq(q->uv.fd, 31, &cq) ?: uv_destroy_cq(q->uv.fd, &cq);
}

static int quiet_qp(struct quiet *q)
{
	struct uv_qp qp;

	return uv_create_qp(q->uv.fd, q->pd, q->cq.handle, IBV_QPT_RC, &qp) ?:
	       uv_destroy_qp(q->uv.fd, &qp);
}

static int create_srq(int fd, uint32_t pd, struct uv_mem *mem, struct uv_srq *srq)
{
	struct mlx5_ib_create_srq drv = {
		.uidx = uv_uidx(), .buf_addr = (uintptr_t)mem->buf,
		.db_addr = (uintptr_t)mem->dbr,
	};

	*srq = (struct uv_srq){ .max_wr = 15, .max_sge = 1 };
	return uv_create_srq(fd, pd, &drv, sizeof(drv), srq);
}

static int quiet_srq(struct quiet *q)
{
	struct uv_srq srq;

	return create_srq(q->uv.fd, q->pd, &q->srq_mem, &srq) ?:
	       uv_destroy_srq(q->uv.fd, srq.handle);
}

static int quiet_mr(struct quiet *q)
{
	struct ib_uverbs_reg_mr_resp resp;

	return uv_reg_mr(q->uv.fd, q->pd, q->mem, UV_PAGE, (uintptr_t)q->mem,
			 IBV_ACCESS_LOCAL_WRITE, &resp) ?:
	       uv_dereg_mr(q->uv.fd, resp.mr_handle);
}

static int quiet_write(struct quiet *q)
{
	struct pair *p = &q->paged.p;

	return rdma_access(p, IBV_WR_RDMA_WRITE, p->mr->rkey, (uintptr_t)p->buf[1], 64);
}

static int quiet_fault(struct quiet *q)
{
	uint8_t *page;

	if (!q->has_odp)
		return 0;
	page = q->paged.mem + q->page++ % PAGES * UV_PAGE;
	madvise(page, UV_PAGE, MADV_DONTNEED);
	return rdma_access(&q->paged.p, IBV_WR_RDMA_WRITE, q->paged.mr->rkey, (uintptr_t)page, 64);
}

/* Post a write on a queue pair that is connected to itself, over the memory of a pair. */
static int post_to_itself(struct ibv_qp *qp, struct pair *p)
{
	struct ibv_sge sge = { .addr = (uintptr_t)p->buf[0], .length = 8, .lkey = p->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge,
		.num_sge = 1, .wr.rdma = {
			.remote_addr = (uintptr_t)p->buf[1], .rkey = p->mr->rkey,
		},
	};

	return ibv_post_send(qp, &wr, &bad);
}

/* Wait for an event, and take the completion that it is about. */
static int take_event(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *arg;

	if (ibv_get_cq_event(channel, &cq, &arg))
		return -1;
	ibv_ack_cq_events(cq, 1);
	return ibv_poll_cq(cq, 1, &wc) == 1 && !wc.status ? 0 : -1;
}

static int quiet_event(struct quiet *q)
{
	if (ibv_req_notify_cq(q->events, 0) || post_to_itself(q->event_qp, &q->paged.p))
		return -1;
	return take_event(q->channel);
}

static int quiet_rule(struct quiet *q)
{
	struct raw_packet_rule rule = raw_packet_rule(IBV_FLOW_ATTR_NORMAL, ETYPE, 0);
	struct ibv_flow *flow;

	if (!q->raw)
		return 0;
	flow = ibv_create_flow(q->raw, &rule.attr);
	return flow ? ibv_destroy_flow(flow) : -1;
}

/* A consumer in the kernel creates queues, sends a few messages, and destroys the queues. */
static int quiet_consumer(struct quiet *q)
{
	return q->consumer < 0 ? 0 : consumer_run(q->consumer, "speed_messages", NULL);
}

/* The time of one of the consumer's messages, from the posts to the completions. */
static double quiet_post_ms(struct quiet *q)
{
	char report[CONSUMER_REPORT] = "";
	double ns = -1;

	if (q->consumer < 0)
		return 0;
	if (quiet_consumer(q) || pread(q->consumer, report, sizeof(report) - 1, 0) < 0 ||
	    sscanf(report, "message %lf", &ns) != 1)
		return -1;
	return ns / 1e6;
}

/*
 * The verbs that are measured. @ms is for a verb whose time is only a part of a call of @work: @ms
 * returns the time, or a negative number after a failure.
 */
static const struct {
	const char *name;
	int (*work)(struct quiet *q);
	double (*ms)(struct quiet *q);
} verbs[] = {
	{ "open and close", quiet_open },
	{ "PD", quiet_pd },
	{ "CQ", quiet_cq },
	{ "QP", quiet_qp },
	{ "SRQ", quiet_srq },
	{ "MR", quiet_mr },
	{ "write", quiet_write },
	{ "page fault", quiet_fault },
	{ "event", quiet_event },
	{ "flow rule", quiet_rule },
	{ "kernel queues", quiet_consumer },
	{ "kernel post", NULL, quiet_post_ms },
};

/* Do a verb. Returns its time in ms; negative if it fails. */
static double verb_ms(struct quiet *q, unsigned int verb)
{
	double start = ms_now();

	if (verbs[verb].ms)
		return verbs[verb].ms(q);
	return verbs[verb].work(q) ? -1 : ms_now() - start;
}

static int quiet_prepare_events(struct quiet *q)
{
	const struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct rdma *r = &q->paged.r;

	q->channel = ibv_create_comp_channel(r->ctx);
	q->events = q->channel ? ibv_create_cq(r->ctx, 31, NULL, q->channel, 0) : NULL;
	q->event_qp = q->events ? rdma_qp_create(r, q->events, &cfg) : NULL;
	return q->event_qp ? rdma_qp_connect(q->event_qp, &cfg, q->event_qp->qp_num, r->port.lid) :
			     -errno;
}

static int quiet_prepare_rules(struct quiet *q)
{
	if (!port_is_ethernet())
		return 0;
	q->raw = raw_packet_create(&q->paged.r);
	return q->raw ? 0 : -errno;
}

static int quiet_prepare(struct quiet *q)
{
	int ret = paged_open(&q->paged, false);

	q->consumer = consumer_open();
	if (ret && ret != PAGED_LACKS_ODP)
		return ret;
	q->has_odp = !ret;
	if (ret) {
		const struct qp_cfg cfg = { .type = IBV_QPT_RC };

		ret = pair_open(&q->paged.p, &q->paged.r, &cfg, LEN);
	}
	q->mem = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (ret || q->mem == MAP_FAILED)
		return ret ?: -errno;
	return uv_open(&q->uv) ?: uv_alloc_pd(q->uv.fd, &q->pd, &q->pdn) ?:
	       uv_create_cq(q->uv.fd, 31, &q->cq) ?: uv_mem_alloc(&q->srq_mem, 64 * 32) ?:
	       quiet_prepare_events(q) ?: quiet_prepare_rules(q);
}

static void quiet_end(struct quiet *q)
{
	ibv_destroy_qp(q->event_qp);
	ibv_destroy_cq(q->events);
	ibv_destroy_comp_channel(q->channel);
	if (q->raw)
		ibv_destroy_qp(q->raw);
	paged_close(&q->paged);
	uv_close(&q->uv);
	munmap(q->mem, UV_PAGE);
	if (q->consumer >= 0)
		close(q->consumer);
}

/* --- Measurement ------------------------------------------------------------------------------ */

/* Times of the verbs, in ms: all of them, and the worst of each round. */
struct times {
	double all[ARRAY_SIZE(verbs)][MAX_ROUNDS * SAMPLES];
	double worst[ARRAY_SIZE(verbs)][MAX_ROUNDS];
	unsigned int rounds;
};

static int compare_doubles(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

static double median(const double *values, unsigned int n)
{
	double sorted[MAX_ROUNDS * SAMPLES];

	memcpy(sorted, values, n * sizeof(*values));
	qsort(sorted, n, sizeof(*sorted), compare_doubles);
	return sorted[n / 2];
}

/*
 * The median of the worst times of the rounds. If two rounds are in the middle, take the lesser
 * time, because the other may have been disturbed.
 */
static double usual_worst(const struct times *t, unsigned int verb)
{
	double sorted[MAX_ROUNDS];

	memcpy(sorted, t->worst[verb], t->rounds * sizeof(*sorted));
	qsort(sorted, t->rounds, sizeof(*sorted), compare_doubles);
	return sorted[(t->rounds - 1) / 2];
}

/* Measure a round and add it to @t. Returns NULL, or the name of the verb that has failed. */
static const char *measure(struct quiet *q, struct times *t)
{
	unsigned int i, v;
	double ms;

	for (v = 0; v < ARRAY_SIZE(verbs); v++)
		t->worst[v][t->rounds] = 0;
	for (i = 0; i < SAMPLES; i++) {
		for (v = 0; v < ARRAY_SIZE(verbs); v++) {
			ms = verb_ms(q, v);
			if (ms < 0)
				return verbs[v].name;
			t->all[v][t->rounds * SAMPLES + i] = ms;
			if (ms > t->worst[v][t->rounds])
				t->worst[v][t->rounds] = ms;
		}
	}
	t->rounds++;
	return NULL;
}

/* --- Greedy processes: what is prepared, and what is done again and again --------------------- */

struct me {
	struct rdma r;
	struct pair p;
	struct uv uv;		/* with a user id, if the device has user ids */
	uint32_t pd, pdn;
	struct uv_cq cq;
	struct uv_mem srq_mem;
	uint8_t *mem;		/* GREEDY_MEM */
	struct ibv_mr *mr;	/* a paged region over it, or an implicit region */
	uint8_t *area;		/* memory of LEAVES leaves, or of MAPPINGS mappings */
	struct devx_queues q;
	int file;
	struct slow_file *slow;
	struct ibv_comp_channel *channel;
	struct ibv_cq *event_cq[MANY];
	struct ibv_qp *event_qp[MANY];
	struct ibv_srq *srq;
	struct ibv_qp *raw;
};

static int many_qps(struct me *me)
{
	struct uv_qp qp[MANY];
	int i, ret = 0;

	for (i = 0; i < MANY && !ret; i++)
		ret = uv_create_qp(me->uv.fd, me->pd, me->cq.handle, IBV_QPT_RC, &qp[i]);
	for (i -= !!ret; i > 0; i--)
		ret = uv_destroy_qp(me->uv.fd, &qp[i - 1]) ?: ret;
	return ret;
}

static int many_cqs(struct me *me)
{
	struct uv_cq cq[MANY];
	int i, ret = 0;

	for (i = 0; i < MANY && !ret; i++)
		ret = uv_create_cq(me->uv.fd, 31, &cq[i]);
	for (i -= !!ret; i > 0; i--)
		ret = uv_destroy_cq(me->uv.fd, &cq[i - 1]) ?: ret;
	return ret;
}

static int many_srqs(struct me *me)
{
	struct uv_srq srq;

	return create_srq(me->uv.fd, me->pd, &me->srq_mem, &srq) ?:
	       uv_destroy_srq(me->uv.fd, srq.handle);
}

static int many_pds(struct me *me)
{
	uint32_t pd[MANY * 4], pdn;
	int i, ret = 0;

	for (i = 0; i < ARRAY_SIZE(pd) && !ret; i++)
		ret = uv_alloc_pd(me->uv.fd, &pd[i], &pdn);
	for (i -= !!ret; i > 0; i--)
		ret = uv_dealloc_pd(me->uv.fd, pd[i - 1]) ?: ret;
	return ret;
}

static int reg_and_dereg(struct me *me, size_t len, uint32_t access)
{
	struct ib_uverbs_reg_mr_resp resp;

	return uv_reg_mr(me->uv.fd, me->pd, me->mem, len, (uintptr_t)me->mem, access, &resp) ?:
	       uv_dereg_mr(me->uv.fd, resp.mr_handle);
}

static int many_mrs(struct me *me)
{
	return reg_and_dereg(me, UV_PAGE, IBV_ACCESS_LOCAL_WRITE);
}

static int large_mrs(struct me *me)
{
	return reg_and_dereg(me, GREEDY_MEM, IBV_ACCESS_LOCAL_WRITE);
}

static int many_mws(struct me *me)
{
	struct ibv_mw *mw = ibv_alloc_mw(me->r.pd, IBV_MW_TYPE_2);

	return mw ? ibv_dealloc_mw(mw) : -1;
}

static int many_xrcds(struct me *me)
{
	uint32_t xrcd;

	return uv_open_xrcd(me->uv.fd, -1, O_CREAT, &xrcd) ?: uv_close_xrcd(me->uv.fd, xrcd);
}

static int many_groups(struct me *me)
{
	union ibv_gid gid = { .raw = { 0xff, 0x12, 0xa0, 0x1b, 0xff, 0xff, [15] = 0x42 } };
	struct ibv_qp *qp = me->p.qp[0];

	return ibv_attach_mcast(qp, &gid, 0xc042) ?: ibv_detach_mcast(qp, &gid, 0xc042);
}

static int much_device_memory(struct me *me)
{
	struct uv_dm dm;

	return uv_alloc_dm(me->uv.fd, UV_PAGE, 0, &dm) ?: uv_free_dm(me->uv.fd, dm.handle);
}

static int many_uars(struct me *me)
{
	struct uv_uar uar[MANY];
	int i, ret = 0;

	for (i = 0; i < MANY && !ret; i++)
		ret = uv_alloc_uar(me->uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar[i]);
	for (i -= !!ret; i > 0; i--)
		ret = uv_free_uar(me->uv.fd, uar[i - 1].handle) ?: ret;
	return ret;
}

static int many_contexts(struct me *me)
{
	struct uv uv[MANY];
	int i, ret = 0;

	for (i = 0; i < MANY && !ret; i++)
		ret = uv_open(&uv[i]);
	for (i -= !!ret; i > 0; i--)
		uv_close(&uv[i - 1]);
	return ret;
}

/* A process ends with objects that it has not destroyed. */
static int dying_processes(struct me *me)
{
	struct uv_cq cq;
	struct uv uv;
	pid_t pid = fork();
	uint32_t pd, pdn;
	int i, status;

	if (!pid) {
		if (uv_open(&uv))
			_exit(1);
		for (i = 0; i < MANY; i++)
			if (uv_alloc_pd(uv.fd, &pd, &pdn) || uv_create_cq(uv.fd, 31, &cq))
				_exit(1);
		_exit(0);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static int failing_queues(struct me *me)
{
	rdma_access(&me->p, IBV_WR_RDMA_WRITE, 0xdead00, 0, 64);
	return pair_reconnect(&me->p);
}

static int many_writes(struct me *me)
{
	return rdma_access(&me->p, IBV_WR_RDMA_WRITE, me->p.mr->rkey, (uintptr_t)me->p.buf[1], 64);
}

static int prepare_events(struct me *me)
{
	const struct qp_cfg cfg = { .type = IBV_QPT_RC };
	int i, ret = 0;

	me->channel = ibv_create_comp_channel(me->r.ctx);
	for (i = 0; i < MANY && !ret; i++) {
		me->event_cq[i] = ibv_create_cq(me->r.ctx, 31, NULL, me->channel, 0);
		me->event_qp[i] = me->event_cq[i] ?
				  rdma_qp_create(&me->r, me->event_cq[i], &cfg) : NULL;
		ret = me->event_qp[i] ?
		      rdma_qp_connect(me->event_qp[i], &cfg, me->event_qp[i]->qp_num,
				      me->r.port.lid) : -1;
	}
	return ret;
}

static int many_events(struct me *me)
{
	int i, ret = 0;

	for (i = 0; i < MANY && !ret; i++)
		ret = ibv_req_notify_cq(me->event_cq[i], 0) ?:
		      post_to_itself(me->event_qp[i], &me->p);
	for (i = 0; i < MANY && !ret; i++)
		ret = take_event(me->channel);
	return ret;
}

static int many_port_queries(struct me *me)
{
	struct ibv_port_attr attr;

	return ibv_query_port(me->r.ctx, 1, &attr);
}

static int many_refusals(struct me *me)
{
	struct uv_qp_req req;

	uv_qp_req_init(&req, me->pd, me->cq.handle, IBV_QPT_RC);
	req.drv.flags = ~0u;
	return uv_try_qp(me->uv.fd, &req) ? 0 : -1;
}

/* DC, raw packets and flow rules. */

static int prepare_srq(struct me *me)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };

	me->srq = ibv_create_srq(me->r.pd, &init);
	return me->srq ? 0 : -errno;
}

static int many_targets(struct me *me)
{
	struct ibv_qp *qp[MANY];
	int i, ret = 0;

	for (i = 0; i < MANY && !ret; i++) {
		qp[i] = dc_target_create(&me->r, me->srq, me->r.cq, 1);
		if (!qp[i])
			break;
		ret = dc_to_init(qp[i], DC_TARGET_INIT_MASK) ?:
		      dc_target_to_rtr(qp[i], me->r.port.lid);
	}
	ret = ret ?: i < MANY;
	while (i)
		ret = ibv_destroy_qp(qp[--i]) ?: ret;
	return ret;
}

static int many_raw_qps(struct me *me)
{
	struct ibv_qp *qp[MANY];
	int i, ret = 0;

	for (i = 0; i < MANY && !ret; i++) {
		qp[i] = raw_packet_create(&me->r);
		if (!qp[i])
			break;
		ret = raw_packet_to_rts(qp[i]);
	}
	ret = ret ?: i < MANY;
	while (i)
		ret = ibv_destroy_qp(qp[--i]) ?: ret;
	return ret;
}

static int prepare_raw(struct me *me)
{
	me->raw = raw_packet_create(&me->r);
	return me->raw ? 0 : -errno;
}

static int many_rules(struct me *me)
{
	struct ibv_flow *flow[MANY];
	struct raw_packet_rule rule;
	int i, ret;

	for (i = 0; i < MANY; i++) {
		rule = raw_packet_rule(IBV_FLOW_ATTR_NORMAL, ETYPE + 1 + i, 0);
		flow[i] = ibv_create_flow(me->raw, &rule.attr);
		if (!flow[i])
			break;
	}
	ret = i < MANY;
	while (i)
		ret = ibv_destroy_flow(flow[--i]) ?: ret;
	return ret;
}

/* Paging. */

static int prepare_region(struct me *me)
{
	me->mr = ibv_reg_mr(me->r.pd, me->mem, GREEDY_MEM, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	return me->mr ? 0 : -errno;
}

static int many_regions(struct me *me)
{
	return reg_and_dereg(me, GREEDY_MEM, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
}

static int large_regions(struct me *me)
{
	struct ibv_mr *mr = ibv_reg_mr(me->r.pd, NULL, SIZE_MAX, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);

	return mr ? ibv_dereg_mr(mr) : -errno;
}

static int many_faults(struct me *me)
{
	madvise(me->mem, GREEDY_MEM, MADV_DONTNEED);
	return rdma_access(&me->p, IBV_WR_RDMA_WRITE, me->mr->rkey, (uintptr_t)me->mem, 64);
}

/* More memory than a step of advice handles. */
static int much_advice(struct me *me)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)me->mem, .length = GREEDY_MEM, .lkey = me->mr->lkey,
	};

	madvise(me->mem, GREEDY_MEM, MADV_DONTNEED);
	ibv_advise_mr(me->r.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1);
	return 0;
}

/* Pages come and go in each of a few leaves of an implicit region, of 16 MiB each. */
static int prepare_leaves(struct me *me)
{
	me->mr = ibv_reg_mr(me->r.pd, NULL, SIZE_MAX, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	me->area = mmap(NULL, LEAVES * LEAF_LEN, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return me->mr && me->area != MAP_FAILED ? 0 : -errno;
}

static int many_leaves(struct me *me)
{
	int i, ret = 0;

	for (i = 0; i < LEAVES && !ret; i++)
		ret = rdma_access(&me->p, IBV_WR_RDMA_WRITE, me->mr->rkey,
				  (uintptr_t)me->area + i * LEAF_LEN, 64);
	return madvise(me->area, LEAVES * LEAF_LEN, MADV_DONTNEED) ?: ret;
}

/*
 * Processes with many mappings register their first paged region, for which the kernel takes the
 * locks of all mappings. Every other page of the memory is read-only, so that each is a mapping.
 */
static int prepare_mappings(struct me *me)
{
	unsigned int i;
	int ret = 0;

	me->area = mmap(NULL, MAPPINGS * UV_PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (me->area == MAP_FAILED)
		return -errno;
	for (i = 0; i < MAPPINGS && !ret; i += 2)
		ret = mprotect(me->area + i * UV_PAGE, UV_PAGE, PROT_READ);
	return ret;
}

static int first_regions(struct me *me)
{
	struct ib_uverbs_reg_mr_resp resp;
	uint32_t pd, pdn;
	struct uv uv;
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(uv_open(&uv) || uv_alloc_pd(uv.fd, &pd, &pdn) ||
		      uv_reg_mr(uv.fd, pd, me->mem, UV_PAGE, (uintptr_t)me->mem,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND, &resp));
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

/* Post a write to a page of the slow file, which does not come. */
static int prepare_slow_write(struct me *me)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge,
		.num_sge = 1, .wr.rdma = {
			.remote_addr = (uintptr_t)me->p.buf[1], .rkey = me->p.mr->rkey,
		},
	};
	void *mem = mmap(NULL, UV_PAGE, PROT_READ, MAP_SHARED, me->slow->fd, 0);
	struct ibv_mr *mr;

	mr = mem != MAP_FAILED ? ibv_reg_mr(me->r.pd, mem, UV_PAGE, IBV_ACCESS_ON_DEMAND) : NULL;
	if (!mr)
		return -errno;
	sge = (struct ibv_sge){ .addr = (uintptr_t)mem, .length = 64, .lkey = mr->lkey };
	return post_send(&me->p, &wr, NULL, 0) ?: slow_file_wait_read(me->slow, 10000);
}

static int sleep_on(struct me *me)
{
	return usleep(10000);
}

/* DEVX. */

static int many_umems(struct me *me)
{
	struct devx_umem umem = {
		.addr = (uintptr_t)me->mem, .len = GREEDY_MEM, .access = IBV_ACCESS_LOCAL_WRITE,
	};

	return devx_reg_umem(me->uv.fd, &umem) ?: devx_dereg_umem(me->uv.fd, umem.handle);
}

static int many_channels(struct me *me)
{
	int channel[MANY * 4], i;

	for (i = 0; i < ARRAY_SIZE(channel); i++) {
		channel[i] = devx_open_channel(me->uv.fd, 0);
		if (channel[i] < 0)
			break;
	}
	while (i)
		close(channel[--i]);
	return 0;
}

static int many_subscriptions(struct me *me)
{
	const struct devx_subscription s = {
		.channel = devx_open_channel(me->uv.fd, 0), .types = { DEVX_EVENT_PORT_CHANGE },
		.len = 2, .has_cookie = true,
	};
	int i, ret = s.channel < 0 ? s.channel : 0;

	for (i = 0; i < 60 && !ret; i++)
		ret = devx_subscribe(me->uv.fd, &s);
	close(s.channel);
	return ret;
}

static int prepare_queues(struct me *me)
{
	me->file = devx_open_cmd_file(me->uv.fd);
	return me->file < 0 ? me->file :
	       devx_queues_prepare(me->uv.fd, me->mem, &me->q) ?:
	       devx_create_cq(me->uv.fd, &me->q) ?: devx_create_qp(me->uv.fd, &me->q);
}

/*
 * Send as many asynchronous commands as the context may have unread answers for, then read the
 * answers.
 */
static int many_async_commands(struct me *me)
{
	struct devx_cmd cmd;
	uint8_t answer[512];
	int i, n = 0;

	devx_start(&cmd, DEVX_QUERY_QP);
	devx_put(&cmd, 8, me->q.qpn);
	cmd.in_len = 16;
	for (i = 0; i < ASYNC_COMMANDS; i++)
		n += !devx_query_async(me->uv.fd, me->q.qp, &cmd, 0x110, me->file, i);
	for (i = 0; i < n; i++)
		if (read(me->file, answer, sizeof(answer)) < 0)
			return -errno;
	return n ? 0 : -1;
}

static int many_commands(struct me *me)
{
	struct devx_cmd cmd;

	devx_start(&cmd, DEVX_QUERY_HCA_CAP);
	cmd.in_len = 16;
	return devx_general(me->uv.fd, &cmd);
}

/* Commands that firmware refuses: a PD that an object uses is not destroyed. */
static int prepare_used_pd(struct me *me)
{
	struct devx_cmd cmd;
	uint32_t key;
	int ret;

	devx_start(&cmd, DEVX_ALLOC_PD);
	cmd.in_len = 16;
	cmd.out_len = 16;
	ret = devx_create(me->uv.fd, &cmd, &me->q.pd);
	if (ret)
		return ret;
	devx_start_klm_mkey(&cmd, devx_get(&cmd, 8) & 0xffffff);
	return devx_create(me->uv.fd, &cmd, &key);
}

static int refused_destructions(struct me *me)
{
	return devx_destroy(me->uv.fd, me->q.pd) ? 0 : -1;
}

/* Firmware refuses to destroy the umems, and so the user id, when the context is closed. */
static int many_orphans(struct me *me)
{
	struct uv uv;
	int i, ret = uv_open_devx(&uv);

	for (i = 0; i < MANY && !ret; i++) {
		struct devx_umem umem = {
			.addr = (uintptr_t)me->mem + i * UV_PAGE, .len = UV_PAGE,
			.access = IBV_ACCESS_LOCAL_WRITE,
		};

		ret = devx_reg_umem(uv.fd, &umem);
	}
	uv_close(&uv);
	return ret ?: usleep(ORPHANS_US);
}

/* --- The table of greedy processes ------------------------------------------------------------ */

enum needs { NEEDS_ODP = 1, NEEDS_DEVX = 2, NEEDS_DM = 4, NEEDS_XRC = 8, NEEDS_SLOW_FILE = 16,
	     NEEDS_IMPLICIT = 32, NEEDS_MW = 64, NEEDS_BLUEBELL = 128, NEEDS_DC = 256,
	     NEEDS_RAW = 512 };

/**
 * struct greedy - a greedy process
 * @prepare: is called once; NULL for nothing
 * @work: is called again and again, also after a failure
 * @needs: what the device must have. With NEEDS_RAW the process has CAP_NET_RAW
 * @type: of the queue pairs, if not RC
 * @refused: a command that firmware refuses to the process, for hca_expect(), or NULL
 * @inject: request "inject" for the time of the process, or NULL. When the process has ended, no
 *	umem is left
 * @untimed: the times of the quiet process say nothing about the driver
 */
struct greedy {
	int (*prepare)(struct me *me);
	int (*work)(struct me *me);
	unsigned int needs;
	enum ibv_qp_type type;
	const char *refused;
	const char *inject;
	bool untimed;
};

FIXTURE(beside) {
	struct quiet q;
	struct slow_file slow;
	bool has_memcg, has_slow_file;
	pid_t pid;
};

FIXTURE_VARIANT(beside) {
	struct greedy greedy;
};

#define GREEDY_BY(name, ...)							\
	FIXTURE_VARIANT_ADD(beside, name) { .greedy = { __VA_ARGS__ } }

GREEDY_BY(qps, .work = many_qps);
GREEDY_BY(cqs, .work = many_cqs);
GREEDY_BY(srqs, .work = many_srqs);
GREEDY_BY(pds, .work = many_pds);
GREEDY_BY(mrs, .work = many_mrs);
GREEDY_BY(large_mrs, .work = large_mrs);
GREEDY_BY(mws, .work = many_mws, .needs = NEEDS_MW);
GREEDY_BY(xrcds, .work = many_xrcds, .needs = NEEDS_XRC);
GREEDY_BY(groups, .work = many_groups, .type = IBV_QPT_UD);
/*
 * The driver clears device memory by 512 stores a page, each of which QEMU passes to the emulated
 * HCA while the other processors of the guest wait: the times are those of QEMU.
 */
GREEDY_BY(device_memory, .work = much_device_memory, .needs = NEEDS_DM, .untimed = true);
GREEDY_BY(uars, .work = many_uars);
GREEDY_BY(contexts, .work = many_contexts);
GREEDY_BY(dying_processes, .work = dying_processes);
GREEDY_BY(failing_queues, .work = failing_queues);
GREEDY_BY(writes, .work = many_writes);
GREEDY_BY(events, .prepare = prepare_events, .work = many_events);
GREEDY_BY(port_queries, .work = many_port_queries);
GREEDY_BY(refusals, .work = many_refusals);
GREEDY_BY(paged_regions, .work = many_regions, .needs = NEEDS_ODP);
GREEDY_BY(implicit_regions, .work = large_regions, .needs = NEEDS_IMPLICIT);
GREEDY_BY(leaves, .prepare = prepare_leaves, .work = many_leaves, .needs = NEEDS_IMPLICIT,
	  .refused = "PAGE_FAULT_RESUME BAD_RES_ERR");
GREEDY_BY(first_regions, .prepare = prepare_mappings, .work = first_regions, .needs = NEEDS_ODP);
GREEDY_BY(faults, .prepare = prepare_region, .work = many_faults, .needs = NEEDS_ODP,
	  .refused = "PAGE_FAULT_RESUME BAD_RES_ERR");
GREEDY_BY(faults_that_wait, .prepare = prepare_slow_write, .work = sleep_on,
	  .needs = NEEDS_ODP | NEEDS_SLOW_FILE);
GREEDY_BY(advice, .prepare = prepare_region, .work = much_advice, .needs = NEEDS_ODP);
GREEDY_BY(umems, .work = many_umems, .needs = NEEDS_DEVX);
GREEDY_BY(event_channels, .work = many_channels, .needs = NEEDS_DEVX);
GREEDY_BY(subscriptions, .work = many_subscriptions, .needs = NEEDS_DEVX);
GREEDY_BY(commands, .work = many_commands, .needs = NEEDS_DEVX);
GREEDY_BY(async_commands, .prepare = prepare_queues, .work = many_async_commands,
	  .needs = NEEDS_DEVX);
GREEDY_BY(refused_destructions, .prepare = prepare_used_pd, .work = refused_destructions,
	  .needs = NEEDS_DEVX, .refused = "DEALLOC_PD BAD_RES_STATE_ERR");
GREEDY_BY(targets, .prepare = prepare_srq, .work = many_targets, .needs = NEEDS_DC);
GREEDY_BY(raw_qps, .work = many_raw_qps, .needs = NEEDS_RAW);
GREEDY_BY(rules, .prepare = prepare_raw, .work = many_rules, .needs = NEEDS_RAW);
/* ib_core warns of objects that the stock driver cannot destroy when a context is closed. */
GREEDY_BY(orphans, .work = many_orphans, .needs = NEEDS_DEVX | NEEDS_BLUEBELL,
	  .inject = "op DESTROY_UMEM BAD_RES_STATE");

static const char *what_is_missing(struct ibv_context *ctx, unsigned int needs)
{
	struct ibv_device_attr attr;

	if (needs & NEEDS_BLUEBELL && !driver_is("bluebell"))
		return ONLY_BLUEBELL;
	if (needs & NEEDS_ODP && !rdma_has_odp(ctx))
		return NO_ODP;
	if (needs & NEEDS_IMPLICIT && !paged_has_implicit(ctx))
		return NO_IMPLICIT;
	if (needs & NEEDS_DEVX && !(devx_has_user_ids() && devx_has_umems()))
		return NO_USER_IDS;
	if (needs & NEEDS_DM && hca_cap("general", "device_memory") <= 0)
		return "the device has no device memory";
	if (needs & NEEDS_XRC && !rdma_has_xrc(ctx))
		return NO_XRC;
	if (needs & NEEDS_DC && hca_cap("general", "dct") <= 0)
		return "the device has no DC";
	if (needs & NEEDS_RAW && !port_is_ethernet())
		return "raw packets need an Ethernet port";
	if (needs & NEEDS_MW && (ibv_query_device(ctx, &attr) ||
				 !(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B)))
		return "the device has no memory windows";
	return NULL;
}

static int greedy_prepare(struct me *me, const struct greedy *g)
{
	const struct qp_cfg cfg = { .type = g->type ?: IBV_QPT_RC };

	me->mem = mmap(NULL, GREEDY_MEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	if (me->mem == MAP_FAILED)
		return -errno;
	return (devx_has_user_ids() ? uv_open_devx(&me->uv) : uv_open(&me->uv)) ?:
	       uv_alloc_pd(me->uv.fd, &me->pd, &me->pdn) ?:
	       uv_create_cq(me->uv.fd, 1023, &me->cq) ?: uv_mem_alloc(&me->srq_mem, 64 * 32) ?:
	       rdma_open(&me->r) ?: pair_open(&me->p, &me->r, &cfg, UV_PAGE) ?:
	       (g->prepare ? g->prepare(me) : 0);
}

struct start {
	const struct greedy *greedy;
	struct slow_file *slow;
	bool has_memcg;
};

static int be_greedy(void *arg, int ready)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	const struct start *start = arg;
	struct me me = { .slow = start->slow };
	int ret;

	if (setrlimit(RLIMIT_MEMLOCK, &unlimited) || (start->has_memcg && memcg_enter()) ||
	    (start->greedy->needs & NEEDS_RAW ? drop_privileges_but(CAP_NET_RAW) :
						drop_privileges()) || nice(19) < 0)
		return 2;
	ret = greedy_prepare(&me, start->greedy) ?: start->greedy->work(&me);
	if (ret) {
		fprintf(stderr, "# the greedy process fails: %d (%s)\n", ret, strerror(abs(ret)));
		return 3;
	}
	if (child_ready(ready))
		return 4;
	for (;;)
		start->greedy->work(&me);
}

/* --- The tests -------------------------------------------------------------------------------- */

FIXTURE_SETUP(beside)
{
	const char *missing;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, quiet_prepare(&self->q));
	missing = what_is_missing(self->q.paged.r.ctx, variant->greedy.needs);
	if (missing)
		SKIP(return, "%s", missing);
	self->has_memcg = !memcg_make(MEMCG_LIMIT);
}

FIXTURE_TEARDOWN(beside)
{
	if (self->pid > 0)
		child_kill(self->pid);
	if (variant->greedy.inject)
		hca_inject_clear();
	if (self->has_slow_file)
		slow_file_close(&self->slow);
	if (self->has_memcg)
		memcg_remove();
	if (self->q.mem)
		quiet_end(&self->q);
}

/* What the measurements of one attempt say. */
struct figures {
	struct times alone, beside;
	long uncharged_kb;	/* memory of the greedy process that no cgroup is charged for */
	double died_ms;		/* from SIGKILL to the end of the greedy process */
	const char *failed;	/* the verb that has failed, or NULL */
};

/* End the injections, and wait until the driver has destroyed the orphans. */
static int end_injections(void)
{
	double end = ms_now() + ORPHANS_GONE_MS;

	if (hca_inject_clear() < 0)
		return -1;
	while (hca_census_count("umem") > 0 && ms_now() < end)
		usleep(100000);
	return hca_census_count("umem") ? -1 : 0;
}

/* One round: the quiet process alone, then beside the greedy process. */
static int run_round(struct _test_data_beside *self, const struct greedy *greedy,
		     struct figures *f)
{
	struct start start = { greedy, &self->slow, self->has_memcg };
	long free_before = free_kb(), uncharged;
	double killed;

	f->failed = measure(&self->q, &f->alone);
	if (f->failed)
		return -1;
	/* A file whose pages have come cannot be used again. */
	self->has_slow_file = greedy->needs & NEEDS_SLOW_FILE;
	if (self->has_slow_file && slow_file_open(&self->slow, UV_PAGE))
		return -1;
	if (greedy->inject && hca_do("inject %s", greedy->inject))
		return -1;
	self->pid = child_start(be_greedy, &start);
	if (self->pid < 0)
		return -1;
	f->failed = measure(&self->q, &f->beside);
	if (self->has_memcg) {
		uncharged = free_before - free_kb() - memcg_charge() / 1024;
		if (!f->beside.rounds || uncharged < f->uncharged_kb || !f->uncharged_kb)
			f->uncharged_kb = uncharged;
	}
	killed = ms_now();
	/* A process whose fault waits for a page can end only when the page comes. */
	if (self->has_slow_file)
		slow_file_release(&self->slow);
	child_kill(self->pid);
	self->pid = 0;
	f->died_ms = ms_now() - killed;
	if (self->has_slow_file)
		slow_file_close(&self->slow);
	self->has_slow_file = false;
	if (greedy->inject && end_injections())
		return -1;
	return f->failed ? -1 : 0;
}

static double limit_ms(const struct figures *f, unsigned int verb)
{
	return 2 * median(f->alone.all[verb], f->alone.rounds * SAMPLES) + floor_ms();
}

/* Returns a bit for each verb that is too slow beside the greedy process, and prints them. */
static unsigned int slow_verbs(const struct figures *f, bool print)
{
	unsigned int v, slow = 0;
	double alone, beside, worst;
	bool bad;

	for (v = 0; v < ARRAY_SIZE(verbs); v++) {
		alone = median(f->alone.all[v], f->alone.rounds * SAMPLES);
		beside = median(f->beside.all[v], f->beside.rounds * SAMPLES);
		worst = usual_worst(&f->beside, v);
		bad = beside > limit_ms(f, v) || worst > 10 * alone + WORST_MS;
		slow |= bad << v;
		if (print || bad)
			fprintf(stderr, "#   %-14s alone %7.2f ms, beside %7.2f, worst %7.2f%s\n",
				verbs[v].name, alone, beside, worst, bad ? "  SLOW" : "");
	}
	return slow;
}

/*
 * Measure how long it takes, in ms, from the death of the greedy process until each verb has had a
 * call within the limit of limit_ms(). One call of each verb is enough, because a machine that does
 * other things disturbs some calls.
 */
static double recovery_ms(struct quiet *q, struct figures *f)
{
	double begin = ms_now(), ms;
	unsigned int v, left = (1u << ARRAY_SIZE(verbs)) - 1;

	while (left && !f->failed && ms_now() < begin + 2 * soon_ms()) {
		for (v = 0; v < ARRAY_SIZE(verbs); v++) {
			if (!(left & 1u << v))
				continue;
			ms = verb_ms(q, v);
			if (ms < 0)
				f->failed = verbs[v].name;
			if (ms <= limit_ms(f, v))
				left &= ~(1u << v);
		}
	}
	return ms_now() - begin;
}

TEST_F_TIMEOUT(beside, greedy_process_is_no_hindrance, 900)
{
	static struct figures f;
	unsigned int attempt, i, slow = ~0u, rounds = num_rounds();
	double recovered;

	if (variant->greedy.refused)
		ASSERT_EQ(0, hca_expect("refuse %s any", variant->greedy.refused));
	if (variant->greedy.inject)
		ASSERT_EQ(0, hca_expect("any"));
	for (attempt = 0; attempt < ATTEMPTS && slow; attempt++) {
		memset(&f, 0, sizeof(f));
		for (i = 0; i < rounds; i++)
			ASSERT_EQ(0, run_round(self, &variant->greedy, &f))
				TH_LOG("%s", f.failed ?: "the greedy process has failed");
		slow &= slow_verbs(&f, !driver_is("bluebell"));
		if (!driver_is("bluebell"))
			break;
	}
	recovered = recovery_ms(&self->q, &f);
	TH_LOG("%d verbs slow; ended after %.0f ms, as before after %.0f; %ld KiB not charged",
	       __builtin_popcount(slow), f.died_ms, recovered, f.uncharged_kb);
	EXPECT_EQ(NULL, f.failed);
	if (!driver_is("bluebell"))
		return;
	if (!variant->greedy.untimed)
		EXPECT_EQ(0, slow);
	EXPECT_GT(soon_ms(), f.died_ms);
	EXPECT_GT(soon_ms(), recovered);
	if (self->has_memcg)
		EXPECT_GT(UNCHARGED_KB, f.uncharged_kb);
}

TEST_HARNESS_MAIN
