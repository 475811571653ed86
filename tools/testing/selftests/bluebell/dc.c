// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Dynamic connections: targets (DCT) and initiators (DCI). When a target gets its number, what an
 * initiator reaches with which key, that a refused request leaves the target alone, what a target
 * shows, and that nothing is left of targets with connections.
 */

#include <infiniband/mlx5dv.h>
#include <sys/wait.h>

#include "child.h"
#include "dc.h"
#include "test.h"

#define NO_DC "the device has no DC"
#define KEY 0x1122334455667788ull
#define LEN 5000u
#define SIZE (4 * UV_PAGE)

#define DCI_RTR_MASK (IBV_QP_STATE | IBV_QP_PATH_MTU)
#define DCI_RTS_MASK (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
		      IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_SQ_PSN)
#define OPS (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ)

struct dc {
	struct rdma r;
	struct ibv_srq *srq;
	struct ibv_cq *rcq;
	struct ibv_qp *dct, *dci;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	uint8_t *buf;
};

static struct ibv_qp *create_initiator(struct dc *d)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_DRIVER, .send_cq = d->r.cq, .recv_cq = d->rcq,
		.cap = { .max_send_wr = 16, .max_send_sge = 1 }, .pd = d->r.pd, .sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = OPS,
	};
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI,
	};

	return mlx5dv_create_qp(d->r.ctx, &init, &dv);
}

static struct ibv_qp *create_target(struct dc *d)
{
	return dc_target_create(&d->r, d->srq, d->rcq, KEY);
}

static int dci_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .timeout = 12, .retry_cnt = 1,
		.rnr_retry = 7, .max_rd_atomic = 1, .sq_psn = 0xfffff0,
	};
	int ret = dc_to_init(qp, DC_INIT_MASK) ?: ibv_modify_qp(qp, &attr, DCI_RTR_MASK);

	attr.qp_state = IBV_QPS_RTS;
	return ret ?: ibv_modify_qp(qp, &attr, DCI_RTS_MASK);
}

/* Returns false if the device has no DC. */
static bool dc_open(struct dc *d)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_ah_attr ah = {};

	if (rdma_open(&d->r))
		return false;
	d->rcq = ibv_create_cq(d->r.ctx, 64, NULL, NULL, 0);
	d->srq = ibv_create_srq(d->r.pd, &srq);
	d->buf = aligned_alloc(UV_PAGE, SIZE);
	d->mr = d->buf ? ibv_reg_mr(d->r.pd, d->buf, SIZE, ALL_ACCESS) : NULL;
	d->dct = create_target(d);
	d->dci = d->dct ? create_initiator(d) : NULL;
	port_address(&ah, d->r.port.lid);
	d->ah = ibv_create_ah(d->r.pd, &ah);
	return d->dci;
}

static void dc_close(struct dc *d)
{
	if (d->ah)
		ibv_destroy_ah(d->ah);
	if (d->dci)
		ibv_destroy_qp(d->dci);
	if (d->dct)
		ibv_destroy_qp(d->dct);
	if (d->mr)
		ibv_dereg_mr(d->mr);
	free(d->buf);
	if (d->srq)
		ibv_destroy_srq(d->srq);
	if (d->rcq)
		ibv_destroy_cq(d->rcq);
	rdma_close(&d->r);
}

static int dc_connect(struct dc *d)
{
	return dc_to_init(d->dct, DC_TARGET_INIT_MASK) ?: dc_target_to_rtr(d->dct, d->r.port.lid) ?:
	       dci_to_rts(d->dci);
}

static void *place(struct dc *d)
{
	return d->buf + SIZE / 2;
}

/* Post a request to the target with the access key @key: @len bytes of the buffer. */
static int dc_post(struct dc *d, enum ibv_wr_opcode op, uint64_t key, uint32_t rkey, uint32_t len)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(d->dci);

	ibv_wr_start(ex);
	if (op == IBV_WR_SEND)
		ibv_wr_send(ex);
	else if (op == IBV_WR_RDMA_WRITE)
		ibv_wr_rdma_write(ex, rkey, (uintptr_t)place(d));
	else
		ibv_wr_rdma_read(ex, rkey, (uintptr_t)place(d));
	mlx5dv_wr_set_dc_addr(mlx5dv_qp_ex_from_ibv_qp_ex(ex), d->ah, d->dct->qp_num, key);
	ibv_wr_set_sge(ex, d->mr->lkey, (uintptr_t)d->buf, len);
	return ibv_wr_complete(ex);
}

/* Post a request as dc_post() does; returns the status of its completion, or a negative errno. */
static int dc_run(struct dc *d, enum ibv_wr_opcode op, uint64_t key, uint32_t rkey, uint32_t len)
{
	struct ibv_wc wc;
	int ret = dc_post(d, op, key, rkey, len);

	return ret ? -ret : reap(d->r.cq, &wc);
}

FIXTURE(dc) {
	struct dc d;
};

FIXTURE_SETUP(dc)
{
	bool has = dc_open(&self->d);

	dc_close(&self->d);
	if (!has)
		SKIP(return, NO_DC);
	memset(&self->d, 0, sizeof(self->d));
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	ASSERT_TRUE(dc_open(&self->d));
	fill(self->d.buf, LEN, 1);
}

FIXTURE_TEARDOWN(dc)
{
	dc_close(&self->d);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

TEST_F(dc, target_gets_its_number_on_the_way_to_rtr)
{
	struct dc *d = &self->d;
	long before = hca_ctl_present() ? hca_census_count("dct") : 0;

	ASSERT_EQ(0, dc_to_init(d->dct, DC_TARGET_INIT_MASK));
	if (hca_ctl_present())
		EXPECT_EQ(before, hca_census_count("dct"));
	ASSERT_EQ(0, dc_target_to_rtr(d->dct, d->r.port.lid));
	EXPECT_NE(0, d->dct->qp_num);
	if (hca_ctl_present())
		EXPECT_EQ(before + 1, hca_census_count("dct"));
}

TEST_F(dc, changes_of_a_target_need_their_attributes)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024 };
	struct dc *d = &self->d;

	EXPECT_NE(0, dc_target_to_rtr(d->dct, d->r.port.lid));
	EXPECT_NE(0, dc_to_init(d->dct, IBV_QP_STATE));
	ASSERT_EQ(0, dc_to_init(d->dct, DC_TARGET_INIT_MASK));
	EXPECT_NE(0, ibv_modify_qp(d->dct, &attr, IBV_QP_STATE | IBV_QP_PATH_MTU));
	ASSERT_EQ(0, dc_target_to_rtr(d->dct, d->r.port.lid));
	attr.qp_state = IBV_QPS_RTS;
	EXPECT_NE(0, ibv_modify_qp(d->dct, &attr, DCI_RTS_MASK));
}

TEST_F(dc, attributes_of_a_target_are_shown)
{
	struct ibv_qp_init_attr init;
	struct dc *d = &self->d;
	struct ibv_qp_attr attr;

	ASSERT_EQ(0, dc_connect(d));
	ASSERT_EQ(0, ibv_query_qp(d->dct, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PATH_MTU |
				  IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS, &init));
	EXPECT_EQ(IBV_QPS_RTR, attr.qp_state);
	EXPECT_EQ(IBV_MTU_1024, attr.path_mtu);
	EXPECT_EQ(1, attr.port_num);
	EXPECT_EQ(1, attr.min_rnr_timer);
	EXPECT_EQ(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, attr.qp_access_flags);
	ASSERT_EQ(0, ibv_query_qp(d->dci, &attr, IBV_QP_STATE, &init));
	EXPECT_EQ(IBV_QPS_RTS, attr.qp_state);
}

TEST_F(dc, data_arrives)
{
	struct dc *d = &self->d;
	struct ibv_wc wc;

	ASSERT_EQ(0, dc_connect(d));
	ASSERT_EQ(0, post_srq_recv(d->srq, d->mr, place(d), LEN, 7));
	ASSERT_EQ(IBV_WC_SUCCESS, dc_run(d, IBV_WR_SEND, KEY, 0, LEN));
	ASSERT_EQ(IBV_WC_SUCCESS, reap(d->rcq, &wc));
	EXPECT_EQ(7, wc.wr_id);
	EXPECT_EQ(LEN, wc.byte_len);
	EXPECT_EQ(d->dct->qp_num, wc.qp_num);
	EXPECT_TRUE(check_fill(place(d), LEN, 1));
	fill(d->buf, LEN, 2);
	ASSERT_EQ(IBV_WC_SUCCESS, dc_run(d, IBV_WR_RDMA_WRITE, KEY, d->mr->rkey, LEN));
	EXPECT_TRUE(check_fill(place(d), LEN, 2));
	memset(d->buf, 0, LEN);
	ASSERT_EQ(IBV_WC_SUCCESS, dc_run(d, IBV_WR_RDMA_READ, KEY, d->mr->rkey, LEN));
	EXPECT_TRUE(check_fill(d->buf, LEN, 2));
}

TEST_F(dc, wrong_key_reaches_nothing)
{
	struct dc *d = &self->d;

	ASSERT_EQ(0, dc_connect(d));
	memset(place(d), 0x5a, LEN);
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, dc_run(d, IBV_WR_RDMA_WRITE, KEY + 1, d->mr->rkey, LEN));
	EXPECT_EQ(0x5a, *(uint8_t *)place(d));
	EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(d->dci));
}

TEST_F(dc, refused_request_leaves_the_target_alone)
{
	struct dc *d = &self->d;

	ASSERT_EQ(0, dc_connect(d));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, dc_run(d, IBV_WR_RDMA_WRITE, KEY, d->mr->rkey + 1, LEN));
	EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(d->dci));
	ASSERT_EQ(0, rdma_modify_state(d->dci, IBV_QPS_RESET));
	ASSERT_EQ(0, dci_to_rts(d->dci));
	EXPECT_EQ(IBV_WC_SUCCESS, dc_run(d, IBV_WR_RDMA_WRITE, KEY, d->mr->rkey, LEN));
}

TEST_F(dc, destroyed_target_does_not_answer)
{
	struct dc *d = &self->d;

	ASSERT_EQ(0, dc_connect(d));
	ASSERT_EQ(IBV_WC_SUCCESS, dc_run(d, IBV_WR_RDMA_WRITE, KEY, d->mr->rkey, LEN));
	/* The initiator is still connected. The name of the target stays valid for dc_run(). */
	ASSERT_EQ(0, ibv_destroy_qp(d->dct));
	d->dct = create_target(d);
	ASSERT_NE(NULL, d->dct);
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, dc_run(d, IBV_WR_RDMA_WRITE, KEY, d->mr->rkey, LEN));
}

#define DYING 5

static int use_and_die(void *arg, int ready)
{
	struct dc d[DYING] = {};
	int i;

	for (i = 0; i < DYING; i++)
		if (!dc_open(&d[i]) || dc_connect(&d[i]) ||
		    dc_run(&d[i], IBV_WR_RDMA_WRITE, KEY, d[i].mr->rkey, LEN))
			return 1;
	return child_hold(ready);
}

TEST_F(dc, nothing_is_left_of_a_process_with_targets)
{
	pid_t pid = child_start(use_and_die, NULL);

	ASSERT_LT(0, pid);
	EXPECT_EQ(SIGKILL, child_kill(pid));
}

TEST_HARNESS_MAIN
