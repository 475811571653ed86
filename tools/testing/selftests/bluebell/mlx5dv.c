// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What libmlx5 offers beyond verbs and beyond DEVX objects: queue pairs that receive out of order,
 * rates of send queues, queries of the port and the clock.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "test.h"

#define NO_RATES "the device has no rates of users"

FIXTURE(dv) {
	struct rdma r;
};

static int make_region(struct rdma *r)
{
	static uint8_t mem[64];
	struct ibv_mr *mr = ibv_reg_mr(r->pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE);

	return mr ? ibv_dereg_mr(mr) : -1;
}

FIXTURE_SETUP(dv)
{
	/*
	 * With a device's first region the driver creates objects of its own: create them before
	 * the census.
	 */
	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, make_region(&self->r));
	rdma_close(&self->r);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, rdma_open(&self->r));
}

FIXTURE_TEARDOWN(dv)
{
	/* Close the context first, because libmlx5 keeps the UARs of its queues until then. */
	rdma_close(&self->r);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* The port belongs to no e-switch. */
TEST_F(dv, port_can_be_queried)
{
	struct mlx5dv_port port;

	memset(&port, 0xff, sizeof(port));
	ASSERT_EQ(0, mlx5dv_query_port(self->r.ctx, 1, &port));
	EXPECT_EQ(0, port.flags & (MLX5DV_QUERY_PORT_VPORT_REG_C0 |
				   MLX5DV_QUERY_PORT_VPORT_STEERING_ICM_RX |
				   MLX5DV_QUERY_PORT_VPORT_STEERING_ICM_TX));
	EXPECT_NE(0, mlx5dv_query_port(self->r.ctx, 0, &port));
	EXPECT_NE(0, mlx5dv_query_port(self->r.ctx, 2, &port));
}

TEST_F(dv, clock_goes_on)
{
	struct ibv_values_ex before = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK }, after = before;
	struct mlx5dv_clock_info info;
	uint64_t ns;

	ASSERT_EQ(0, mlx5dv_get_clock_info(self->r.ctx, &info));
	ASSERT_EQ(0, ibv_query_rt_values_ex(self->r.ctx, &before));
	usleep(10000);
	ASSERT_EQ(0, ibv_query_rt_values_ex(self->r.ctx, &after));
	ns = mlx5dv_ts_to_ns(&info, after.raw_clock.tv_nsec) -
	     mlx5dv_ts_to_ns(&info, before.raw_clock.tv_nsec);
	EXPECT_GE(ns, 9000000);
	EXPECT_LT(ns, 10000000000ull);
}

/* --- Clocks --------------------------------------------------------------------------------- */

#define NS_PER_S 1000000000ll
#define READINGS 50

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* The device's clock, and the time of this machine before and after it was read. */
struct reading {
	uint64_t raw;
	int64_t before, after;
};

/*
 * Read the clock many times, and keep the reading that took the least time. Returns 0 or an errno.
 */
static int read_clock(struct ibv_context *ctx, clockid_t clock, struct reading *best)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct reading r;
	int i, ret;

	for (i = 0; i < READINGS; i++) {
		r.before = now_ns(clock);
		ret = ibv_query_rt_values_ex(ctx, &values);
		if (ret)
			return ret;
		r.after = now_ns(clock);
		r.raw = values.raw_clock.tv_nsec;
		if (!i || r.after - r.before < best->after - best->before)
			*best = r;
	}
	return 0;
}

/*
 * In a second of this machine's clock, the device's clock makes as many steps as the device
 * reports.
 */
TEST_F(dv, clock_has_the_frequency_that_the_device_reports)
{
	struct ibv_device_attr_ex attr;
	struct mlx5dv_clock_info info;
	struct reading a, b;
	int64_t least, most, ns[2];

	ASSERT_EQ(0, ibv_query_device_ex(self->r.ctx, NULL, &attr));
	ASSERT_EQ(0, mlx5dv_get_clock_info(self->r.ctx, &info));
	ASSERT_NE(0, attr.hca_core_clock);
	ASSERT_EQ(0, read_clock(self->r.ctx, CLOCK_MONOTONIC, &a));
	sleep(1);
	ASSERT_EQ(0, read_clock(self->r.ctx, CLOCK_MONOTONIC, &b));
	least = (b.before - a.after) * 99 / 100;
	most = (b.after - a.before) * 101 / 100;
	ns[0] = (b.raw - a.raw) * 1000000 / attr.hca_core_clock;
	ns[1] = mlx5dv_ts_to_ns(&info, b.raw) - mlx5dv_ts_to_ns(&info, a.raw);
	EXPECT_LE(least, ns[0]);
	EXPECT_GE(most, ns[0]);
	EXPECT_LE(least, ns[1]);
	EXPECT_GE(most, ns[1]);
}

static struct ibv_cq_ex *create_stamping_cq(struct ibv_context *ctx, uint64_t stamp)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 31, .wc_flags = IBV_WC_STANDARD_FLAGS | stamp,
	};

	return ibv_create_cq_ex(ctx, &init);
}

/* Wait for a completion of a pair's first queue pair. Returns its stamp, or 0. */
static uint64_t stamp_of_write(struct pair *p, struct ibv_cq_ex *cq, bool wall)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = (uintptr_t)p->buf[1], .rkey = p->mr->rkey },
	};
	double end = seconds() + 10;
	struct ibv_poll_cq_attr attr = {};
	uint64_t stamp = 0;

	if (post_send(p, &wr, p->buf[0], 64))
		return 0;
	while (ibv_start_poll(cq, &attr)) {
		if (seconds() > end)
			return 0;
	}
	if (cq->status == IBV_WC_SUCCESS)
		stamp = wall ? ibv_wc_read_completion_wallclock_ns(cq) :
			       ibv_wc_read_completion_ts(cq);
	ibv_end_poll(cq);
	return stamp;
}

static int pair_open_stamping(struct pair *p, struct rdma *r, struct ibv_cq_ex *cq)
{
	const struct qp_cfg cfg = { .type = IBV_QPT_RC };
	int ret = pair_open(p, r, &cfg, UV_PAGE);

	if (ret || ibv_destroy_qp(p->qp[0]))
		return ret ?: -EBUSY;
	p->qp[0] = rdma_qp_create(r, ibv_cq_ex_to_cq(cq), &cfg);
	return p->qp[0] ? pair_reconnect(p) : -errno;
}

static void pair_close_stamping(struct pair *p, struct ibv_cq_ex *cq)
{
	ibv_destroy_qp(p->qp[0]);
	p->qp[0] = NULL;
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	pair_close(p);
}

TEST_F(dv, stamps_of_completions_are_times_of_the_clock)
{
	struct ibv_cq_ex *cq = create_stamping_cq(self->r.ctx,
						  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
	struct reading before, after;
	uint64_t stamp, last;
	struct pair p;
	int i;

	ASSERT_NE(NULL, cq) TH_LOG("%m");
	ASSERT_EQ(0, pair_open_stamping(&p, &self->r, cq));
	ASSERT_EQ(0, read_clock(self->r.ctx, CLOCK_MONOTONIC, &before));
	last = before.raw;
	for (i = 0; i < 10; i++) {
		stamp = stamp_of_write(&p, cq, false);
		EXPECT_LT(last, stamp);
		last = stamp;
	}
	ASSERT_EQ(0, read_clock(self->r.ctx, CLOCK_MONOTONIC, &after));
	EXPECT_GT(after.raw, last);
	pair_close_stamping(&p, cq);
}

/*
 * By how much the wall clocks may differ. The real-time clock of an emulated HCA is that of the
 * host; a guest has set its own by a clock that has no fractions of a second. The clock of a real
 * device is set by its administrator.
 */
static int64_t wall_clock_tolerance(void)
{
	if (hca_ctl_present() || !hca_cap("general", "rq_ts_format"))
		return 2 * NS_PER_S;
	return INT64_MAX / 4;
}

/* The wall clock may be late if the device has failed before: see the last test of fatal.c. */
TEST_F(dv, wall_clock_of_completions_is_that_of_this_machine)
{
	struct ibv_cq_ex *cq = create_stamping_cq(self->r.ctx,
						  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
	int64_t before, stamp, after, last = 0, first = 0, start = 0, end = 0;
	const int64_t tolerance = wall_clock_tolerance();
	struct pair p;
	int i;

	ASSERT_NE(NULL, cq) TH_LOG("%m");
	ASSERT_EQ(0, pair_open_stamping(&p, &self->r, cq));
	for (i = 0; i < 10; i++) {
		before = now_ns(CLOCK_REALTIME);
		stamp = stamp_of_write(&p, cq, true);
		after = now_ns(CLOCK_REALTIME);
		EXPECT_LT(last, stamp);
		EXPECT_LT(before - tolerance, stamp)
			TH_LOG("early by %lld ns", (long long)(before - stamp));
		EXPECT_GT(after + tolerance, stamp)
			TH_LOG("late by %lld ns", (long long)(stamp - after));
		last = stamp;
		first = first ?: stamp;
		start = start ?: before;
		end = end ?: after;
		usleep(100000);
	}
	EXPECT_LT((before - end) * 99 / 100, last - first);
	EXPECT_GT((after - start) * 101 / 100, last - first);
	pair_close_stamping(&p, cq);
}

/* No device of this kind emulates virtio. */
TEST_F(dv, there_are_no_doorbells_of_virtio)
{
	EXPECT_EQ(NULL, mlx5dv_alloc_var(self->r.ctx, 0));
	EXPECT_TRUE(errno == EOPNOTSUPP || errno == EPROTONOSUPPORT) TH_LOG("%m");
}

/* --- Receives out of order ------------------------------------------------------------------ */

static bool has_out_of_order(struct ibv_context *ctx)
{
	struct mlx5dv_context attr = { .comp_mask = MLX5DV_CONTEXT_MASK_OOO_RECV_WRS };

	return !mlx5dv_query_device(ctx, &attr) &&
	       attr.comp_mask & MLX5DV_CONTEXT_MASK_OOO_RECV_WRS && attr.ooo_recv_wrs_caps.max_rc;
}

static struct ibv_qp *create_out_of_order(struct rdma *r, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .pd = r->pd,
		.cap = {
			.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1,
		},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = MLX5DV_QP_CREATE_OOO_DP,
	};

	return mlx5dv_create_qp(r->ctx, &attr, &dv);
}

#define MESSAGES 8
#define MESSAGE 256

/*
 * libmlx5 reports that a queue pair can receive out of order, and creates such a queue pair, only
 * if the device has the capability.
 */
TEST_F(dv, order_of_receives_is_a_capability)
{
	struct ibv_qp *qp;
	bool has;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	has = hca_cap("general", "dp_ordering_ooo_all_rc");
	if (has && !has_out_of_order(self->r.ctx) && !driver_is("bluebell"))
		SKIP(return, "mlx5_ib of this kernel does not offer the capability");
	EXPECT_EQ(has, has_out_of_order(self->r.ctx));
	qp = create_out_of_order(&self->r, self->r.cq);
	EXPECT_EQ(has_out_of_order(self->r.ctx), !!qp);
	if (qp)
		EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/*
 * Go twice around the receive queue. Whichever receive a message takes, its completion has the
 * wr_id of that receive.
 */
TEST_F(dv, data_is_where_the_completion_says)
{
	const struct qp_cfg cfg = { .type = IBV_QPT_RC };
	unsigned int i, round, turned = 0;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	struct ibv_wc wc;
	uint8_t *mem;

	if (!has_out_of_order(self->r.ctx))
		SKIP(return, "the device receives in order");
	mem = mmap(NULL, 2 * UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	mr = ibv_reg_mr(self->r.pd, mem, 2 * UV_PAGE, IBV_ACCESS_LOCAL_WRITE);
	for (i = 0; i < 2; i++) {
		cq[i] = ibv_create_cq(self->r.ctx, 64, NULL, NULL, 0);
		ASSERT_NE(NULL, cq[i]);
		qp[i] = create_out_of_order(&self->r, cq[i]);
		ASSERT_NE(NULL, qp[i]) TH_LOG("%m");
	}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, rdma_qp_connect(qp[i], &cfg, qp[!i]->qp_num, self->r.port.lid));
	for (round = 0; round < 9; round++) {
		for (i = 0; i < MESSAGES; i++) {
			struct ibv_sge sge = { (uintptr_t)mem + i * MESSAGE, MESSAGE, mr->lkey };
			struct ibv_send_wr wr = {
				.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
				.send_flags = IBV_SEND_SIGNALED,
			}, *bad;

			ASSERT_EQ(0, post_recv(qp[1], mr, mem + UV_PAGE + i * MESSAGE, MESSAGE, i));
			/* Odd rounds post one receive at a time. */
			if (!(round & 1) && i < MESSAGES - 1)
				continue;
			for (sge.addr = (uintptr_t)mem + (round & 1 ? i * MESSAGE : 0);
			     sge.addr <= (uintptr_t)mem + i * MESSAGE; sge.addr += MESSAGE) {
				fill((void *)(uintptr_t)sge.addr, MESSAGE, round * 10 + i);
				mem[sge.addr - (uintptr_t)mem] =
					(sge.addr - (uintptr_t)mem) / MESSAGE;
				ASSERT_EQ(0, ibv_post_send(qp[0], &wr, &bad));
				ASSERT_EQ(0, reap(cq[0], &wc));
			}
		}
		/* Completions are in the order of the messages. */
		for (i = 0; i < MESSAGES; i++) {
			ASSERT_EQ(0, reap(cq[1], &wc));
			EXPECT_EQ(0, memcmp(mem + UV_PAGE + wc.wr_id * MESSAGE, mem + i * MESSAGE,
					    MESSAGE))
				TH_LOG("round %u, message %u, receive %u", round, i,
				       (unsigned int)wc.wr_id);
			turned += wc.wr_id != i;
		}
	}
	/* The emulated HCA takes two receives in reverse order where it finds two. */
	if (hca_ctl_present())
		EXPECT_LT(0, turned);
	/* Receives that no message has taken are flushed, once each. */
	for (i = 0; i < MESSAGES; i++)
		ASSERT_EQ(0, post_recv(qp[1], mr, mem, MESSAGE, 1ull << i));
	ASSERT_EQ(0, rdma_modify_state(qp[1], IBV_QPS_ERR));
	for (i = round = 0; i < MESSAGES; i++) {
		EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, reap(cq[1], &wc));
		round |= wc.wr_id;
	}
	EXPECT_EQ((1u << MESSAGES) - 1, round);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, ibv_destroy_qp(qp[i]));
		EXPECT_EQ(0, ibv_destroy_cq(cq[i]));
	}
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	munmap(mem, 2 * UV_PAGE);
}

/* --- Rates ---------------------------------------------------------------------------------- */

static bool has_rates(void)
{
	return hca_ctl_present() && hca_cap("general", "qos") > 0 &&
	       hca_cap("qos", "packet_pacing_uid") > 0;
}

static struct mlx5dv_pp *alloc_rate(struct ibv_context *ctx, uint32_t kbps, bool dedicated)
{
	uint32_t rate = htonl(kbps);

	errno = 0;
	return mlx5dv_pp_alloc(ctx, sizeof(rate), &rate,
			       dedicated ? MLX5DV_PP_ALLOC_FLAGS_DEDICATED_INDEX : 0);
}

TEST_F(dv, device_without_rates_has_none)
{
	if (has_rates())
		SKIP(return, "the device has rates");
	EXPECT_EQ(NULL, alloc_rate(self->r.ctx, 1000, false));
	EXPECT_TRUE(errno == EOPNOTSUPP || errno == EPROTONOSUPPORT) TH_LOG("%m");
}

TEST_F(dv, rates_are_shared_unless_dedicated)
{
	struct mlx5dv_pp *a, *b, *own, *other, *faster;
	struct ibv_context *ctx;

	if (!has_rates())
		SKIP(return, NO_RATES);
	ctx = rdma_open_device();
	ASSERT_NE(NULL, ctx);
	a = alloc_rate(self->r.ctx, 1000, false);
	ASSERT_NE(NULL, a) TH_LOG("%m");
	b = alloc_rate(self->r.ctx, 1000, false);
	own = alloc_rate(self->r.ctx, 1000, true);
	other = alloc_rate(ctx, 1000, false);
	faster = alloc_rate(ctx, 2000, false);
	ASSERT_TRUE(b && own && other && faster) TH_LOG("%m");
	EXPECT_EQ(a->index, b->index);
	EXPECT_EQ(a->index, other->index);
	EXPECT_NE(a->index, own->index);
	EXPECT_NE(a->index, faster->index);
	EXPECT_EQ(1, hca_census_users("rate"));
	EXPECT_EQ(3, hca_census_count("rate"));
	mlx5dv_pp_free(own);
	mlx5dv_pp_free(a);
	mlx5dv_pp_free(b);
	mlx5dv_pp_free(faster);
	EXPECT_EQ(1, hca_census_count("rate"));
	mlx5dv_pp_free(other);
	EXPECT_EQ(0, hca_census_count("rate"));
	ibv_close_device(ctx);
}

/*
 * A process gets no more rates than the device has. When the process closes the device without
 * freeing them, no rate is left.
 */
TEST_F(dv, rates_are_limited)
{
	struct ibv_context *ctx;
	unsigned int n = 0;

	if (!has_rates())
		SKIP(return, NO_RATES);
	ctx = rdma_open_device();
	ASSERT_NE(NULL, ctx);
	while (n < 1000 && alloc_rate(ctx, 1000, true))
		n++;
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(hca_cap("qos", "packet_pacing_rate_table_size") - 1, n);
	EXPECT_EQ(NULL, alloc_rate(self->r.ctx, 1000, false));
	ibv_close_device(ctx);
	EXPECT_EQ(0, hca_census_count("rate"));
	/* Rates that are out of range. */
	EXPECT_EQ(NULL, alloc_rate(self->r.ctx, 0, false));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, alloc_rate(self->r.ctx, hca_cap("qos", "packet_pacing_max_rate") + 1,
				   false));
	EXPECT_EQ(EINVAL, errno);
}

static int drop_net_raw(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return -errno;
	data[CAP_TO_INDEX(CAP_NET_RAW)].effective &= ~CAP_TO_MASK(CAP_NET_RAW);
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

TEST_F(dv, rates_need_net_raw)
{
	struct ibv_context *ctx;

	if (!has_rates())
		SKIP(return, NO_RATES);
	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell keeps rates for those who can use them");
	ASSERT_EQ(0, drop_net_raw());
	ctx = rdma_open_device();
	ASSERT_NE(NULL, ctx);
	EXPECT_EQ(NULL, alloc_rate(ctx, 1000, false));
	EXPECT_EQ(EPERM, errno);
	ibv_close_device(ctx);
}

TEST_HARNESS_MAIN
