// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Extended reliable connections: domains, which processes share them and how long they live; SRQs
 * addressed by messages; target queue pairs that several processes have open. Which message reaches
 * which SRQ: xrc_path.c.
 *
 * What XRC has in common with other transports is tested together with them: sizes and raw requests
 * of SRQs in srq.c, states and attributes in qp.c, data in traffic.c, on-demand paging in odp.c.
 */

#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <signal.h>
#include <sys/wait.h>

#include "raw_qp.h"
#include "xrc_setup.h"

#define GROUP_LID 0xc001
#define SLOT 4096u
#define ALL_OF_OPEN (IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE)

static int xrc_reset_target(struct ibv_qp *qp)
{
	struct ib_uverbs_modify_qp req = {
		.qp_handle = qp->handle, .attr_mask = IBV_QP_STATE, .qp_state = IBV_QPS_RESET,
	};

	return uv_modify_qp(qp->context->cmd_fd, &req);
}

/* --- Domains ---------------------------------------------------------------------------------- */

FIXTURE(domain) {
	struct rdma r;
	int fd;
};

FIXTURE_SETUP(domain)
{
	self->fd = xrc_create_file();
	ASSERT_LE(0, self->fd);
	xrc_setup(_metadata, &self->r);
}

FIXTURE_TEARDOWN(domain)
{
	xrc_teardown(_metadata, &self->r);
	close(self->fd);
}

/* How many more domains than @before the HCA has. Without an emulated HCA to ask, return @want. */
static long count_domains(long before, long want)
{
	return hca_ctl_present() ? hca_census_count("xrcd") - before : want;
}

TEST_F(domain, each_open_without_a_file_makes_a_domain)
{
	long before = hca_census_count("xrcd");
	struct ibv_xrcd *x[3];
	int i;

	x[0] = rdma_open_xrcd(self->r.ctx, -1, O_CREAT);
	x[1] = rdma_open_xrcd(self->r.ctx, -1, O_CREAT | O_EXCL);
	/* Without a file there is no existing domain to open, so a new one is created. */
	x[2] = rdma_open_xrcd(self->r.ctx, -1, 0);
	for (i = 0; i < 3; i++)
		ASSERT_NE(NULL, x[i]) TH_LOG("%d: errno %d", i, errno);
	EXPECT_EQ(3, count_domains(before, 3));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, ibv_close_xrcd(x[i]));
}

TEST_F(domain, file_identifies_the_domain)
{
	int second = dup(self->fd), other = xrc_create_file(), i;
	long before = hca_census_count("xrcd");
	struct ibv_xrcd *x[4];
	char path[32];
	int by_path;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->fd);
	by_path = open(path, O_RDONLY);
	ASSERT_LE(0, by_path);
	x[0] = rdma_open_xrcd(self->r.ctx, self->fd, O_CREAT);
	ASSERT_NE(NULL, x[0]);
	EXPECT_EQ(1, count_domains(before, 1));
	x[1] = rdma_open_xrcd(self->r.ctx, second, O_CREAT);
	ASSERT_NE(NULL, x[1]);
	x[2] = rdma_open_xrcd(self->r.ctx, by_path, 0);
	ASSERT_NE(NULL, x[2]);
	EXPECT_EQ(1, count_domains(before, 1));
	x[3] = rdma_open_xrcd(self->r.ctx, other, O_CREAT);
	ASSERT_NE(NULL, x[3]);
	EXPECT_EQ(2, count_domains(before, 2));
	/* The domain exists until its last user closes it, even if the file has been closed. */
	close(second);
	close(by_path);
	close(other);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, ibv_close_xrcd(x[i]));
	EXPECT_EQ(2, count_domains(before, 2));
	EXPECT_EQ(0, ibv_close_xrcd(x[2]));
	EXPECT_EQ(1, count_domains(before, 1));
	EXPECT_EQ(0, ibv_close_xrcd(x[3]));
}

TEST_F(domain, is_created_with_o_creat_only)
{
	struct ibv_xrcd *x, *same;
	int closed = dup(self->fd);

	close(closed);
	errno = 0;
	EXPECT_EQ(NULL, rdma_open_xrcd(self->r.ctx, self->fd, 0));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(NULL, rdma_open_xrcd(self->r.ctx, self->fd, O_EXCL));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(NULL, rdma_open_xrcd(self->r.ctx, closed, O_CREAT));
	EXPECT_EQ(EBADF, errno);
	x = rdma_open_xrcd(self->r.ctx, self->fd, O_CREAT | O_EXCL);
	ASSERT_NE(NULL, x);
	EXPECT_EQ(NULL, rdma_open_xrcd(self->r.ctx, self->fd, O_CREAT | O_EXCL));
	EXPECT_EQ(EINVAL, errno);
	same = rdma_open_xrcd(self->r.ctx, self->fd, 0);
	ASSERT_NE(NULL, same);
	EXPECT_EQ(0, ibv_close_xrcd(same));
	EXPECT_EQ(0, ibv_close_xrcd(x));
	/* No domain belongs to the file any more. */
	EXPECT_EQ(NULL, rdma_open_xrcd(self->r.ctx, self->fd, 0));
	EXPECT_EQ(EAGAIN, errno);
}

TEST_F(domain, incomplete_request_is_invalid)
{
	struct ibv_xrcd_init_attr attr = { .fd = -1, .oflags = O_CREAT };

	EXPECT_EQ(NULL, ibv_open_xrcd(self->r.ctx, &attr));
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD;
	EXPECT_EQ(NULL, ibv_open_xrcd(self->r.ctx, &attr));
	attr.comp_mask = IBV_XRCD_INIT_ATTR_OFLAGS;
	EXPECT_EQ(NULL, ibv_open_xrcd(self->r.ctx, &attr));
	attr.comp_mask = IBV_XRCD_INIT_ATTR_RESERVED;
	EXPECT_EQ(NULL, ibv_open_xrcd(self->r.ctx, &attr));
}

/*
 * A request may be followed by zeros only, and an answer that the kernel does not fill
 * is zeroed.
 */
TEST_F(domain, driver_data_is_refused_and_zeroed)
{
	struct ib_uverbs_open_xrcd req = { .fd = -1, .oflags = O_CREAT };
	struct ib_uverbs_open_xrcd_resp resp = {};
	uint64_t data[2] = { 0, 1 }, answer[2] = { ~0ull, ~0ull };

	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell refuses nonzero bytes that the kernel does not know");
	EXPECT_EQ(-EOPNOTSUPP, uv_cmd(self->r.ctx->cmd_fd, IB_USER_VERBS_CMD_OPEN_XRCD, &req,
				      sizeof(req), &resp, sizeof(resp), data, sizeof(data),
				      answer, sizeof(answer)));
	data[1] = 0;
	ASSERT_EQ(0, uv_cmd(self->r.ctx->cmd_fd, IB_USER_VERBS_CMD_OPEN_XRCD, &req, sizeof(req),
			    &resp, sizeof(resp), data, sizeof(data), answer, sizeof(answer)));
	EXPECT_EQ(0, answer[0]);
	EXPECT_EQ(0, answer[1]);
	EXPECT_EQ(0, uv_close_xrcd(self->r.ctx->cmd_fd, resp.xrcd_handle));
}

TEST_F(domain, close_in_use_is_busy)
{
	struct ibv_xrcd *x = rdma_open_xrcd(self->r.ctx, -1, O_CREAT);
	struct ibv_qp *qp, *second;
	struct ibv_srq *srq;

	ASSERT_NE(NULL, x);
	srq = xrc_create_srq(&self->r, x, self->r.cq);
	ASSERT_NE(NULL, srq);
	EXPECT_EQ(EBUSY, ibv_close_xrcd(x));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
	qp = xrc_create_target(&self->r, x);
	ASSERT_NE(NULL, qp) TH_LOG("errno %d", errno);
	EXPECT_EQ(EBUSY, ibv_close_xrcd(x));
	second = xrc_open_target(&self->r, x, qp->qp_num);
	ASSERT_NE(NULL, second);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	EXPECT_EQ(EBUSY, ibv_close_xrcd(x));
	EXPECT_EQ(0, xrc_close_target(second));
	EXPECT_EQ(0, ibv_close_xrcd(x));
}

/* Closing a handle of a domain fails while an object exists that was created by this handle. */
TEST_F(domain, close_depends_on_own_objects_only)
{
	struct ibv_xrcd *a = rdma_open_xrcd(self->r.ctx, self->fd, O_CREAT);
	struct ibv_xrcd *b = rdma_open_xrcd(self->r.ctx, self->fd, O_CREAT);
	struct ibv_srq *srq;

	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	srq = xrc_create_srq(&self->r, b, self->r.cq);
	ASSERT_NE(NULL, srq);
	EXPECT_EQ(0, ibv_close_xrcd(a));
	EXPECT_EQ(EBUSY, ibv_close_xrcd(b));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
	EXPECT_EQ(0, ibv_close_xrcd(b));
}

TEST_F(domain, many_domains_can_be_open)
{
	struct ibv_xrcd *x[100];
	size_t num = ARRAY_SIZE(x), half, i;

	/* A user can have 7/8 of the device's domains. */
	half = hca_ctl_present() ? (1ul << hca_cap("general", "log_max_xrcd")) / 2 : num;
	num = half < num ? half : num;
	for (i = 0; i < num; i++) {
		x[i] = rdma_open_xrcd(self->r.ctx, -1, O_CREAT);
		ASSERT_NE(NULL, x[i]);
	}
	for (i = 0; i < num; i++)
		EXPECT_EQ(0, ibv_close_xrcd(x[i]));
}

/* Create objects of all kinds of XRC, in a domain with a file and in one without. */
static int peer_hold_all_objects(struct xrc_peer *p, struct xrc_info *info)
{
	struct ibv_xrcd *x[2];
	struct ibv_qp *qp[2];
	struct pair pair[2];
	struct rdma r;
	int i;

	if (rdma_open(&r))
		return 2;
	x[0] = rdma_open_xrcd(r.ctx, info->fd, O_CREAT);
	x[1] = rdma_open_xrcd(r.ctx, -1, O_CREAT);
	for (i = 0; i < 2; i++) {
		struct qp_cfg cfg = { .type = IBV_QPT_XRC_SEND, .xrcd = x[i] };

		if (!x[i] || pair_open(&pair[i], &r, &cfg, SLOT))
			return 3;
		qp[i] = xrc_open_target(&r, x[i], pair[i].qp[1]->qp_num);
		if (!qp[i])
			return 4;
	}
	info->target = qp[0]->qp_num;
	xrc_peer_ready(p);
	return 0;
}

/*
 * Let a process create all objects and end. Meanwhile the test itself has no context open, because
 * objects of its own would hide objects that the process leaves.
 */
static void expect_nothing_left(struct __test_metadata *_metadata, bool killed)
{
	struct xrc_info *info = xrc_info_create();
	struct xrc_peer p;
	struct rdma r;

	ASSERT_NE(NULL, info);
	if (!census_after_first_use(_metadata, IBV_QPT_XRC_SEND))
		SKIP(return, NO_XRC);
	ASSERT_EQ(0, xrc_peer_start(&p, peer_hold_all_objects, info));
	if (hca_ctl_present())
		EXPECT_STRNE("", hca_census_delta());
	if (killed)
		xrc_peer_kill(&p);
	else
		EXPECT_EQ(0, xrc_peer_end(&p));
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	/* No domain belongs to the file any more. */
	ASSERT_EQ(0, rdma_open(&r));
	EXPECT_EQ(NULL, rdma_open_xrcd(r.ctx, info->fd, 0));
	EXPECT_EQ(EAGAIN, errno);
	rdma_close(&r);
}

TEST(killed_process_leaves_nothing)
{
	expect_nothing_left(_metadata, true);
}

TEST(exiting_process_leaves_nothing)
{
	expect_nothing_left(_metadata, false);
}

/*
 * When the process that created a domain has been killed, another process that has the domain open
 * can still use it.
 */
TEST_F(domain, survives_the_process_that_created_it)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_SEND };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct xrc_info *info = xrc_info_create();
	long before = hca_census_count("xrcd");
	struct ibv_wc wc;
	struct pair pair;
	struct xrc_peer p;

	ASSERT_NE(NULL, info);
	ASSERT_EQ(0, xrc_peer_start(&p, peer_hold_all_objects, info));
	EXPECT_EQ(NULL, rdma_open_xrcd(self->r.ctx, info->fd, O_CREAT | O_EXCL));
	EXPECT_EQ(EINVAL, errno);
	cfg.xrcd = rdma_open_xrcd(self->r.ctx, info->fd, 0);
	ASSERT_NE(NULL, cfg.xrcd);
	EXPECT_EQ(2, count_domains(before, 2));
	xrc_peer_kill(&p);
	EXPECT_EQ(1, count_domains(before, 1));
	/* The target of that process was destroyed, because no other process had it open. */
	EXPECT_EQ(NULL, xrc_open_target(&self->r, cfg.xrcd, info->target));
	ASSERT_EQ(0, pair_open(&pair, &self->r, &cfg, SLOT));
	fill(pair.buf[0], 100, 1);
	ASSERT_EQ(0, pair_recv(&pair, pair.buf[1], SLOT, 1));
	ASSERT_EQ(0, post_send(&pair, &wr, pair.buf[0], 100));
	EXPECT_EQ(0, reap_ok(pair.cq[0], &wc));
	EXPECT_EQ(0, reap_ok(pair.cq[1], &wc));
	EXPECT_TRUE(check_fill(pair.buf[1], 100, 1));
	pair_close(&pair);
	EXPECT_EQ(0, ibv_close_xrcd(cfg.xrcd));
}

/* --- SRQs ------------------------------------------------------------------------------------- */

FIXTURE(srq) {
	struct rdma r;
	struct ibv_xrcd *xrcd;
};

FIXTURE_SETUP(srq)
{
	if (!xrc_setup(_metadata, &self->r))
		return;
	self->xrcd = rdma_open_xrcd(self->r.ctx, -1, O_CREAT);
	ASSERT_NE(NULL, self->xrcd);
}

FIXTURE_TEARDOWN(srq)
{
	if (self->xrcd)
		EXPECT_EQ(0, ibv_close_xrcd(self->xrcd));
	xrc_teardown(_metadata, &self->r);
}

TEST_F(srq, number_is_the_devices_and_unique)
{
	struct mlx5dv_srq out = { .comp_mask = MLX5DV_SRQ_MASK_SRQN };
	struct mlx5dv_obj obj = { .srq = { .out = &out } };
	struct ibv_srq *srq[8];
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(srq); i++) {
		srq[i] = xrc_create_srq(&self->r, self->xrcd, self->r.cq);
		ASSERT_NE(NULL, srq[i]);
		obj.srq.in = srq[i];
		ASSERT_EQ(0, mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ));
		EXPECT_EQ(out.srqn, rdma_srq_num(srq[i]));
		EXPECT_NE(0, rdma_srq_num(srq[i]));
		for (j = 0; j < i; j++)
			EXPECT_NE(rdma_srq_num(srq[j]), rdma_srq_num(srq[i]));
	}
	for (i = 0; i < ARRAY_SIZE(srq); i++)
		EXPECT_EQ(0, ibv_destroy_srq(srq[i]));
}

TEST_F(srq, incomplete_request_is_invalid)
{
	const uint32_t need[] = {
		IBV_SRQ_INIT_ATTR_PD, IBV_SRQ_INIT_ATTR_XRCD, IBV_SRQ_INIT_ATTR_CQ,
	};
	struct ibv_srq_init_attr_ex init = {
		.srq_type = IBV_SRQT_XRC, .pd = self->r.pd, .xrcd = self->xrcd, .cq = self->r.cq,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(need); i++) {
		init.attr = (struct ibv_srq_attr){ .max_wr = 15, .max_sge = 1 };
		init.comp_mask = (IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
				  IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ) & ~need[i];
		errno = 0;
		EXPECT_EQ(NULL, ibv_create_srq_ex(self->r.ctx, &init));
		EXPECT_EQ(EINVAL, errno) TH_LOG("without %#x", need[i]);
	}
}

TEST_F(srq, destroy_of_its_cq_or_pd_is_busy)
{
	struct ibv_srq *srq = xrc_create_srq(&self->r, self->xrcd, self->r.cq);

	ASSERT_NE(NULL, srq);
	EXPECT_EQ(EBUSY, ibv_destroy_cq(self->r.cq));
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(self->r.pd));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

/* A queue pair of another type cannot be created with an XRC SRQ. */
TEST_F(srq, qp_of_another_type_cannot_use_it)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UD, IBV_QPT_UC };
	struct ibv_srq *srq = xrc_create_srq(&self->r, self->xrcd, self->r.cq);
	struct qp_cfg cfg = { .srq = srq };
	size_t i;

	ASSERT_NE(NULL, srq);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		cfg.type = types[i];
		errno = 0;
		EXPECT_EQ(NULL, rdma_qp_create(&self->r, self->r.cq, &cfg));
		EXPECT_EQ(EINVAL, errno) TH_LOG("type %d", types[i]);
	}
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

TEST_F(srq, error_raises_an_event)
{
	struct ibv_srq *srq = xrc_create_srq(&self->r, self->xrcd, self->r.cq);

	ASSERT_NE(NULL, srq);
	if (hca_ctl_present()) {
		ASSERT_EQ(0, hca_do("inject event SRQ_CATAS_ERROR %u", rdma_srq_num(srq)));
		EXPECT_TRUE(wait_object_event(self->r.ctx, srq, IBV_EVENT_SRQ_ERR, 10000));
	}
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

/* --- Queue pairs ------------------------------------------------------------------------------ */

FIXTURE(target) {
	struct rdma r;
	struct ibv_xrcd *xrcd;
	struct ibv_qp *qp;
};

FIXTURE_SETUP(target)
{
	if (!xrc_setup(_metadata, &self->r))
		return;
	self->xrcd = rdma_open_xrcd(self->r.ctx, xrc_create_file(), O_CREAT);
	ASSERT_NE(NULL, self->xrcd);
	self->qp = xrc_create_target(&self->r, self->xrcd);
	ASSERT_NE(NULL, self->qp) TH_LOG("errno %d", errno);
}

FIXTURE_TEARDOWN(target)
{
	if (self->qp)
		EXPECT_EQ(0, ibv_destroy_qp(self->qp));
	if (self->xrcd)
		EXPECT_EQ(0, ibv_close_xrcd(self->xrcd));
	xrc_teardown(_metadata, &self->r);
}

TEST_F(target, create_without_a_domain_is_invalid)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV };

	EXPECT_EQ(NULL, ibv_create_qp_ex(self->r.ctx, &init));
	EXPECT_EQ(EINVAL, errno);
	/* A PD does not replace the domain. */
	init.comp_mask = IBV_QP_INIT_ATTR_PD;
	init.pd = self->r.pd;
	errno = 0;
	EXPECT_EQ(NULL, ibv_create_qp_ex(self->r.ctx, &init));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(target, has_no_queues)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ASSERT_EQ(0, ibv_query_qp(self->qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init));
	EXPECT_EQ(IBV_QPS_RESET, attr.qp_state);
	EXPECT_EQ(0, attr.cap.max_recv_wr);
	EXPECT_EQ(0, attr.cap.max_recv_sge);
	EXPECT_EQ(0, attr.cap.max_send_wr);
}

TEST_F(target, can_be_opened_by_its_number)
{
	struct ibv_qp *second = xrc_open_target(&self->r, self->xrcd, self->qp->qp_num);
	struct ibv_qp *third;

	ASSERT_NE(NULL, second);
	EXPECT_EQ(self->qp->qp_num, second->qp_num);
	EXPECT_EQ(IBV_QPT_XRC_RECV, second->qp_type);
	third = xrc_open_target(&self->r, self->xrcd, self->qp->qp_num);
	ASSERT_NE(NULL, third);
	EXPECT_EQ(0, xrc_close_target(third));
	EXPECT_EQ(0, xrc_close_target(second));
}

/* Only UD queue pairs can be attached to a multicast group. */
TEST_F(target, joins_no_multicast_group)
{
	union ibv_gid group = { .raw = { 0xff, 0x12 } };

	EXPECT_EQ(EINVAL, ibv_attach_mcast(self->qp, &group, GROUP_LID));
	EXPECT_EQ(EINVAL, ibv_detach_mcast(self->qp, &group, GROUP_LID));
}

TEST_F(target, open_with_wrong_attributes_is_invalid)
{
	struct ibv_xrcd *other = rdma_open_xrcd(self->r.ctx, -1, O_CREAT);
	struct qp_cfg send = { .type = IBV_QPT_XRC_SEND };
	struct ibv_qp_open_attr good = {
		.comp_mask = ALL_OF_OPEN, .qp_num = self->qp->qp_num, .xrcd = self->xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	}, attr;
	uint32_t bits[] = {
		IBV_QP_OPEN_ATTR_NUM, IBV_QP_OPEN_ATTR_XRCD, IBV_QP_OPEN_ATTR_TYPE,
	};
	enum ibv_qp_type types[] = {
		IBV_QPT_XRC_SEND, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
	};
	struct ibv_qp *requester;
	size_t i;

	ASSERT_NE(NULL, other);
	attr = good;
	attr.xrcd = other;
	errno = 0;
	EXPECT_EQ(NULL, ibv_open_qp(self->r.ctx, &attr));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, ibv_close_xrcd(other));

	attr = good;
	attr.qp_num ^= 0x800000;
	errno = 0;
	EXPECT_EQ(NULL, ibv_open_qp(self->r.ctx, &attr));
	EXPECT_EQ(EINVAL, errno);

	/* A requester cannot be opened. */
	requester = rdma_qp_create(&self->r, self->r.cq, &send);
	ASSERT_NE(NULL, requester);
	attr = good;
	attr.qp_num = requester->qp_num;
	errno = 0;
	EXPECT_EQ(NULL, ibv_open_qp(self->r.ctx, &attr));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, ibv_destroy_qp(requester));

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		attr = good;
		attr.qp_type = types[i];
		errno = 0;
		EXPECT_EQ(NULL, ibv_open_qp(self->r.ctx, &attr));
		EXPECT_EQ(EINVAL, errno) TH_LOG("type %d", types[i]);
	}
	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		attr = good;
		attr.comp_mask &= ~bits[i];
		EXPECT_EQ(NULL, ibv_open_qp(self->r.ctx, &attr)) TH_LOG("without %#x", bits[i]);
	}
}

/* A change of state through one handle is seen through the other. */
TEST_F(target, all_openers_share_one_state)
{
	struct ibv_qp *second = xrc_open_target(&self->r, self->xrcd, self->qp->qp_num);
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_RECV };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ASSERT_NE(NULL, second);
	ASSERT_EQ(0, rdma_qp_init(self->qp, &cfg));
	EXPECT_EQ(IBV_QPS_INIT, rdma_qp_state(second));
	ASSERT_EQ(0, rdma_qp_rtr(second, &cfg, 0x1234, self->r.port.lid));
	ASSERT_EQ(0, ibv_query_qp(self->qp, &attr, IBV_QP_STATE | IBV_QP_DEST_QPN, &init));
	EXPECT_EQ(IBV_QPS_RTR, attr.qp_state);
	EXPECT_EQ(0x1234, attr.dest_qp_num);
	ASSERT_EQ(0, rdma_modify_state(self->qp, IBV_QPS_ERR));
	EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(second));
	ASSERT_EQ(0, xrc_reset_target(second));
	EXPECT_EQ(IBV_QPS_RESET, rdma_qp_state(self->qp));
	EXPECT_EQ(0, xrc_close_target(second));
}

TEST_F(target, lives_until_its_last_close)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_RECV };
	struct ibv_qp *second = xrc_open_target(&self->r, self->xrcd, self->qp->qp_num);
	uint32_t qpn = self->qp->qp_num;
	long before = hca_census_count("qp");

	ASSERT_NE(NULL, second);
	EXPECT_EQ(0, ibv_destroy_qp(self->qp));
	self->qp = NULL;
	EXPECT_EQ(before, hca_census_count("qp"));
	EXPECT_EQ(0, rdma_qp_init(second, &cfg));
	EXPECT_EQ(IBV_QPS_INIT, rdma_qp_state(second));
	EXPECT_EQ(0, xrc_close_target(second));
	if (hca_ctl_present())
		EXPECT_EQ(before - 1, hca_census_count("qp"));
	EXPECT_EQ(NULL, xrc_open_target(&self->r, self->xrcd, qpn));
}

/* ib_core reports events of a target to its creator only, not to processes that opened it. */
TEST_F(target, events_go_to_its_creator)
{
	struct ibv_async_event ev;
	struct ibv_qp *second;
	uint32_t qpn = self->qp->qp_num;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	second = xrc_open_target(&self->r, self->xrcd, qpn);
	ASSERT_NE(NULL, second);
	ASSERT_EQ(0, hca_do("inject event WQ_ACCESS_ERROR %u", qpn));
	EXPECT_TRUE(wait_object_event(self->r.ctx, self->qp, IBV_EVENT_QP_ACCESS_ERR, 5000));
	EXPECT_EQ(0, ibv_destroy_qp(self->qp));
	self->qp = NULL;
	ASSERT_EQ(0, hca_do("inject event WQ_ACCESS_ERROR %u", qpn));
	EXPECT_EQ(-ETIMEDOUT, next_async_event(self->r.ctx, &ev, 200));
	EXPECT_EQ(0, xrc_close_target(second));
	ASSERT_EQ(0, hca_do("inject event WQ_ACCESS_ERROR %u", qpn));
	EXPECT_EQ(-ETIMEDOUT, next_async_event(self->r.ctx, &ev, 200));
}

FIXTURE(requester) {
	struct rdma r;
};

FIXTURE_SETUP(requester)
{
	xrc_setup(_metadata, &self->r);
}

FIXTURE_TEARDOWN(requester)
{
	xrc_teardown(_metadata, &self->r);
}

TEST_F(requester, has_a_send_queue_only)
{
	struct ibv_qp_init_attr_ex ask = {
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = self->r.pd, .send_cq = self->r.cq,
		.qp_type = IBV_QPT_XRC_SEND, .sq_sig_all = 1,
		.cap = {
			.max_send_wr = 20, .max_send_sge = 3, .max_inline_data = 40,
		},
	};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp = ibv_create_qp_ex(self->r.ctx, &ask);

	ASSERT_NE(NULL, qp) TH_LOG("errno %d", errno);
	EXPECT_LE(20, ask.cap.max_send_wr);
	EXPECT_LE(3, ask.cap.max_send_sge);
	EXPECT_LE(40, ask.cap.max_inline_data);
	EXPECT_EQ(0, ask.cap.max_recv_wr);
	ASSERT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init));
	EXPECT_EQ(IBV_QPS_RESET, attr.qp_state);
	EXPECT_LE(20, attr.cap.max_send_wr);
	EXPECT_LE(3, attr.cap.max_send_sge);
	EXPECT_EQ(0, attr.cap.max_recv_wr);
	EXPECT_EQ(0, attr.cap.max_recv_sge);
	EXPECT_EQ(1, init.sq_sig_all);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

TEST_F(requester, excessive_sizes_are_refused)
{
	struct ibv_qp_init_attr_ex good = {
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = self->r.pd, .send_cq = self->r.cq,
		.qp_type = IBV_QPT_XRC_SEND, .cap = { .max_send_wr = 1, .max_send_sge = 1 },
	}, ask;

	ask = good;
	ask.comp_mask = 0;
	EXPECT_EQ(NULL, ibv_create_qp_ex(self->r.ctx, &ask));
	ask = good;
	ask.cap.max_send_wr = 1 << 20;
	EXPECT_EQ(NULL, ibv_create_qp_ex(self->r.ctx, &ask));
	ask = good;
	ask.cap.max_send_sge = 1000;
	EXPECT_EQ(NULL, ibv_create_qp_ex(self->r.ctx, &ask));
	ask = good;
	ask.cap.max_inline_data = 1 << 16;
	EXPECT_EQ(NULL, ibv_create_qp_ex(self->r.ctx, &ask));
}

/* --- Raw requests ----------------------------------------------------------------------------- */

FIXTURE(raw) {
	struct raw_qp raw;	/* of a requester */
};

FIXTURE_SETUP(raw)
{
	if (!census_after_first_use(_metadata, IBV_QPT_XRC_SEND))
		SKIP(return, NO_XRC);
	raw_qp_open(_metadata, &self->raw, IBV_QPT_XRC_SEND);
}

FIXTURE_TEARDOWN(raw)
{
	raw_qp_close(_metadata, &self->raw);
}

TEST_F(raw, valid_requester_succeeds)
{
	EXPECT_EQ(0, uv_try_qp(self->raw.uv.fd, &self->raw.req));
	if (self->raw.uv.resp.cqe_version)
		self->raw.req.drv.uidx = 0xfffffe;
	EXPECT_EQ(0, uv_try_qp(self->raw.uv.fd, &self->raw.req));
	/* The numbers for a receive queue are ignored. */
	self->raw.req.core.max_recv_wr = 100;
	self->raw.req.core.max_recv_sge = 2;
	EXPECT_EQ(0, uv_try_qp(self->raw.uv.fd, &self->raw.req));
}

TEST_F(raw, requester_with_an_invalid_field_is_refused)
{
	static const uint64_t nowhere[] = {
		0x1000, 0x7ffffffff000ull, 0xffff888000000000ull, 0xfffffffffffff000ull,
	};
	static const uint32_t count[] = { 3, 63, 65, 0x10000, 0x4000000, 0x80000000, ~0u };
	const struct uv_qp_req good = self->raw.req;
	struct uv_qp_req req;
	unsigned int bit;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(nowhere); i++) {
		req = good;
		req.drv.buf_addr = nowhere[i];
		ret = uv_try_qp(self->raw.uv.fd, &req);
		EXPECT_TRUE(ret == -EFAULT || ret == -EINVAL || ret == -ENOMEM)
			TH_LOG("buffer %#llx: %d", (unsigned long long)nowhere[i], ret);
		req = good;
		req.drv.db_addr = nowhere[i];
		ret = uv_try_qp(self->raw.uv.fd, &req);
		EXPECT_TRUE(ret == -EFAULT || ret == -EINVAL || ret == -ENOMEM)
			TH_LOG("record %#llx: %d", (unsigned long long)nowhere[i], ret);
	}
	for (i = 0; i < ARRAY_SIZE(count); i++) {
		req = good;
		req.drv.sq_wqe_count = count[i];
		EXPECT_EQ(-EINVAL, uv_try_qp(self->raw.uv.fd, &req)) TH_LOG("%#x WQEs", count[i]);
	}
	for (bit = 12; bit < 32; bit++) {
		req = good;
		req.drv.flags = 1u << bit;
		EXPECT_EQ(-EINVAL, uv_try_qp(self->raw.uv.fd, &req)) TH_LOG("flag %u", bit);
	}
	req = good;
	req.drv.uidx = 0x1000000;
	EXPECT_EQ(-EINVAL, uv_try_qp(self->raw.uv.fd, &req));
	/* The driver's part of the request names a receive queue. */
	req = good;
	req.drv.rq_wqe_count = 16;
	req.drv.rq_wqe_shift = 4;
	EXPECT_EQ(-EINVAL, uv_try_qp(self->raw.uv.fd, &req));
}

TEST_F(raw, wrong_handles_are_refused)
{
	const uint32_t bad[] = { 0x7fffffff, self->raw.cq.handle, self->raw.xrcd };
	struct uv_qp_req req;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		req = self->raw.req;
		req.core.pd_handle = bad[i];
		EXPECT_GT(0, uv_try_qp(self->raw.uv.fd, &req)) TH_LOG("PD %#x", bad[i]);
	}
	req = self->raw.req;
	req.core.send_cq_handle = self->raw.pd;
	EXPECT_GT(0, uv_try_qp(self->raw.uv.fd, &req));
	/* A target has the handle of its domain in place of the PD's. */
	memset(&req, 0, sizeof(req));
	req.core.qp_type = IBV_QPT_XRC_RECV;
	req.core.pd_handle = self->raw.xrcd;
	req.drv_len = sizeof(req.drv);
	EXPECT_EQ(0, uv_try_qp(self->raw.uv.fd, &req));
	req.core.pd_handle = self->raw.pd;
	EXPECT_EQ(-EINVAL, uv_try_qp(self->raw.uv.fd, &req));
	req.core.pd_handle = 0x7fffffff;
	EXPECT_EQ(-EINVAL, uv_try_qp(self->raw.uv.fd, &req));
}

TEST_HARNESS_MAIN
