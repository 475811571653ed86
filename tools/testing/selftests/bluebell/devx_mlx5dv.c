// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events and commands that a process does not wait for (DEVX), by the functions of libmlx5: event
 * channels, subscriptions and completions of commands. See devx_event.c for what the library does
 * not let a program do.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "devx_cmd.h"
#include "devx_queues.h"
#include "test.h"

#define OMIT_EV_DATA MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA
#define WAIT_MS 10000
#define QUIET_MS 300
#define COOKIE 0xfedcba9876543210ull
#define EQE_BYTES 64
#define EQE_TYPE 1
#define EQE_SUB_TYPE 3
#define EQE_DATA 32
#define CQ_OVERRUN 1
#define QUERY_QP_BYTES 0x110	/* of the answer */
#define QPC_STATE 0x18
#define RTS 3

struct event {
	struct mlx5dv_devx_async_event_hdr hdr;
	uint8_t eqe[EQE_BYTES];
};

struct answer {
	struct mlx5dv_devx_async_cmd_hdr hdr;
	uint8_t out[QUERY_QP_BYTES];
};

static bool readable(int file, int ms)
{
	struct pollfd p = { .fd = file, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

static struct ibv_context *open_dv(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list && list[0] ? mlx5dv_open_device(list[0], &attr) : NULL;

	if (list)
		ibv_free_device_list(list);
	return ctx;
}

FIXTURE(library) {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_umem *umem[3];
	struct mlx5dv_devx_obj *cq, *qp;
	struct devx_queues q;
	uint8_t *mem;
};

static struct mlx5dv_devx_umem *reg(struct ibv_context *ctx, void *addr, size_t len,
				    struct devx_umem *named)
{
	struct mlx5dv_devx_umem *umem;

	umem = mlx5dv_devx_umem_reg(ctx, addr, len, IBV_ACCESS_LOCAL_WRITE);
	if (umem)
		named->id = umem->umem_id;
	return umem;
}

static struct mlx5dv_devx_obj *create(struct ibv_context *ctx, struct devx_cmd *cmd, uint32_t *num)
{
	struct mlx5dv_devx_obj *obj;

	obj = mlx5dv_devx_obj_create(ctx, cmd->in, cmd->in_len, cmd->out, cmd->out_len);
	*num = devx_get(cmd, 8);
	return obj;
}

static int connect_qp(struct mlx5dv_devx_obj *qp, const struct devx_queues *q, uint16_t lid)
{
	struct devx_cmd cmd;
	int i, ret = 0;

	for (i = 0; i < DEVX_CONNECT_STEPS && !ret; i++) {
		devx_start_connect(q, i, lid, &cmd);
		ret = mlx5dv_devx_obj_modify(qp, cmd.in, cmd.in_len, cmd.out, cmd.out_len);
	}
	return ret;
}

FIXTURE_SETUP(library)
{
	struct devx_queues *q = &self->q;
	struct mlx5dv_pd dv_pd;
	struct mlx5dv_obj dv = { .pd = { .out = &dv_pd } };
	struct ibv_port_attr port;
	struct devx_cmd cmd;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!devx_has_umems())
		SKIP(return, NO_UMEMS);
	ASSERT_EQ(0, hca_census_reset());
	self->mem = mmap(NULL, DEVX_QUEUES_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	self->ctx = open_dv();
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	dv.pd.in = self->pd;
	ASSERT_EQ(0, mlx5dv_init_obj(&dv, MLX5DV_OBJ_PD));
	q->pdn = dv_pd.pdn;
	q->cq_buf = self->mem;
	q->qp_buf = self->mem + UV_PAGE;
	q->dbr = (__be32 *)(self->mem + 3 * UV_PAGE);
	self->umem[0] = reg(self->ctx, q->cq_buf, UV_PAGE, &q->cq_umem);
	ASSERT_NE(NULL, self->umem[0]);
	self->umem[1] = reg(self->ctx, q->qp_buf, 2 * UV_PAGE, &q->qp_umem);
	ASSERT_NE(NULL, self->umem[1]);
	self->umem[2] = reg(self->ctx, q->dbr, UV_PAGE, &q->dbr_umem);
	ASSERT_NE(NULL, self->umem[2]);
	self->uar = mlx5dv_devx_alloc_uar(self->ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	ASSERT_NE(NULL, self->uar);
	q->uar.page_id = self->uar->page_id;
	q->uar.mmap_off = self->uar->mmap_off;
	ASSERT_EQ(0, mlx5dv_devx_query_eqn(self->ctx, 0, &q->eqn));
	devx_start_cq(q, &cmd);
	self->cq = create(self->ctx, &cmd, &q->cqn);
	ASSERT_NE(NULL, self->cq);
	devx_start_qp(q, &cmd);
	self->qp = create(self->ctx, &cmd, &q->qpn);
	ASSERT_NE(NULL, self->qp);
	ASSERT_EQ(0, ibv_query_port(self->ctx, 1, &port));
	ASSERT_EQ(0, connect_qp(self->qp, q, port.lid));
}

FIXTURE_TEARDOWN(library)
{
	int i;

	if (!self->qp)
		return;
	EXPECT_EQ(0, mlx5dv_devx_obj_destroy(self->qp));
	EXPECT_EQ(0, mlx5dv_devx_obj_destroy(self->cq));
	mlx5dv_devx_free_uar(self->uar);
	for (i = 0; i < ARRAY_SIZE(self->umem); i++)
		EXPECT_EQ(0, mlx5dv_devx_umem_dereg(self->umem[i]));
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	EXPECT_CENSUS_UNCHANGED();
	munmap(self->mem, DEVX_QUEUES_BYTES);
}

/* Post more than the CQ has room for, and poll nothing. */
static int overrun_cq(struct ibv_context *ctx, struct devx_queues *q)
{
	int i, ret = 0;

	for (i = 0; i < (1 << DEVX_LOG_CQ) + 2 && !ret; i++)
		ret = devx_post_nop(ctx->cmd_fd, q, i);
	return ret;
}

/* Returns as mlx5dv_devx_get_event(), or -1 if no event comes. */
static ssize_t next_event(struct mlx5dv_devx_event_channel *channel, struct event *e)
{
	memset(e, 0, sizeof(*e));
	return readable(channel->fd, WAIT_MS) ?
	       mlx5dv_devx_get_event(channel, &e->hdr, sizeof(*e)) :
						-1;
}

TEST_F(library, cq_error_has_its_cookie_and_data)
{
	uint16_t types[] = { DEVX_EVENT_CQ_ERROR };
	struct mlx5dv_devx_event_channel *channel;
	struct event e;
	uint32_t cqn;

	channel = mlx5dv_devx_create_event_channel(self->ctx, 0);
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, mlx5dv_devx_subscribe_devx_event(channel, self->cq, sizeof(types), types,
						      COOKIE));
	EXPECT_FALSE(readable(channel->fd, QUIET_MS));
	ASSERT_EQ(0, overrun_cq(self->ctx, &self->q));
	ASSERT_EQ(sizeof(e), next_event(channel, &e));
	EXPECT_EQ(COOKIE, e.hdr.cookie);
	EXPECT_EQ(DEVX_EVENT_CQ_ERROR, e.eqe[EQE_TYPE]);
	memcpy(&cqn, e.eqe + EQE_DATA, sizeof(cqn));
	EXPECT_EQ(self->q.cqn, be32toh(cqn));
	EXPECT_EQ(CQ_OVERRUN, e.eqe[EQE_DATA + 11]);
	mlx5dv_devx_destroy_event_channel(channel);
}

TEST_F(library, cq_error_signals_an_eventfd)
{
	struct mlx5dv_devx_event_channel *channel;
	int efd = eventfd(0, EFD_CLOEXEC);
	uint64_t count = 0;

	ASSERT_LT(0, efd);
	channel = mlx5dv_devx_create_event_channel(self->ctx, OMIT_EV_DATA);
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, mlx5dv_devx_subscribe_devx_event_fd(channel, efd, self->cq,
							 DEVX_EVENT_CQ_ERROR));
	EXPECT_FALSE(readable(efd, QUIET_MS));
	ASSERT_EQ(0, overrun_cq(self->ctx, &self->q));
	ASSERT_TRUE(readable(efd, WAIT_MS));
	ASSERT_EQ(sizeof(count), read(efd, &count, sizeof(count)));
	EXPECT_EQ(1, count);
	EXPECT_FALSE(readable(channel->fd, QUIET_MS));
	mlx5dv_devx_destroy_event_channel(channel);
	close(efd);
}

TEST_F(library, completion_has_its_cookie_only)
{
	uint16_t types[] = { DEVX_EVENT_COMP };
	struct mlx5dv_devx_event_channel *channel;
	struct event e;

	channel = mlx5dv_devx_create_event_channel(self->ctx, OMIT_EV_DATA);
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, mlx5dv_devx_subscribe_devx_event(channel, self->cq, sizeof(types), types,
						      COOKIE));
	ASSERT_EQ(0, devx_arm_cq(self->ctx->cmd_fd, &self->q, 0, 0));
	EXPECT_FALSE(readable(channel->fd, QUIET_MS));
	ASSERT_EQ(0, devx_post_nop(self->ctx->cmd_fd, &self->q, 0));
	ASSERT_EQ(sizeof(e.hdr), next_event(channel, &e));
	EXPECT_EQ(COOKIE, e.hdr.cookie);
	EXPECT_EQ(MLX5_CQE_REQ, devx_poll_nop(&self->q, 0));
	mlx5dv_devx_destroy_event_channel(channel);
}

TEST_F(library, channel_has_events_of_objects_and_of_the_device)
{
	uint16_t of_port[] = { DEVX_EVENT_PORT_CHANGE };
	uint16_t of_qp[] = { DEVX_EVENT_COMM_EST, DEVX_EVENT_SQ_DRAINED };
	struct mlx5dv_devx_event_channel *channel;
	struct event e;

	channel = mlx5dv_devx_create_event_channel(self->ctx, 0);
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, mlx5dv_devx_subscribe_devx_event(channel, NULL, sizeof(of_port), of_port, 1));
	ASSERT_EQ(0, mlx5dv_devx_subscribe_devx_event(channel, self->qp, sizeof(of_qp), of_qp, 2));
	ASSERT_EQ(0, hca_do("inject event PORT_CHANGE 1 7"));	/* P_Key */
	ASSERT_EQ(sizeof(e), next_event(channel, &e));
	EXPECT_EQ(1, e.hdr.cookie);
	EXPECT_EQ(DEVX_EVENT_PORT_CHANGE, e.eqe[EQE_TYPE]);
	EXPECT_EQ(7, e.eqe[EQE_SUB_TYPE]);
	ASSERT_EQ(0, hca_do("inject event SQ_DRAINED %u", self->q.qpn));
	ASSERT_EQ(sizeof(e), next_event(channel, &e));
	EXPECT_EQ(2, e.hdr.cookie);
	EXPECT_EQ(DEVX_EVENT_SQ_DRAINED, e.eqe[EQE_TYPE]);
	/* No process may subscribe to the events of all queue pairs. */
	EXPECT_NE(0, mlx5dv_devx_subscribe_devx_event(channel, NULL, sizeof(of_qp), of_qp, 3));
	mlx5dv_devx_destroy_event_channel(channel);
}

static int query_async(struct mlx5dv_devx_obj *qp, uint32_t qpn, uint64_t wr_id,
		       struct mlx5dv_devx_cmd_comp *comp)
{
	struct devx_cmd cmd;

	devx_start(&cmd, DEVX_QUERY_QP);
	devx_put(&cmd, 8, qpn);
	return mlx5dv_devx_obj_query_async(qp, cmd.in, cmd.in_len, QUERY_QP_BYTES, wr_id, comp);
}

TEST_F(library, answers_to_queries_are_read_later)
{
	struct mlx5dv_devx_cmd_comp *comp;
	unsigned int seen = 0, i;
	struct answer a;

	comp = mlx5dv_devx_create_cmd_comp(self->ctx);
	ASSERT_NE(NULL, comp);
	EXPECT_FALSE(readable(comp->fd, 0));
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, query_async(self->qp, self->q.qpn, COOKIE + i, comp));
	for (i = 0; i < 8; i++) {
		memset(&a, 0xff, sizeof(a));
		ASSERT_TRUE(readable(comp->fd, WAIT_MS));
		ASSERT_EQ(0, mlx5dv_devx_get_async_cmd_comp(comp, &a.hdr, sizeof(a)));
		EXPECT_EQ(0, a.out[0]);
		EXPECT_EQ(RTS, a.out[QPC_STATE] >> 4);
		ASSERT_GT(8, a.hdr.wr_id - COOKIE);
		seen |= 1 << (a.hdr.wr_id - COOKIE);
	}
	EXPECT_EQ(0xff, seen);
	EXPECT_FALSE(readable(comp->fd, QUIET_MS));
	/* A command about another queue pair than that of the handle. */
	EXPECT_NE(0, query_async(self->qp, self->q.qpn + 1, 1, comp));
	/* A command that firmware refuses has an answer, too. */
	ASSERT_EQ(0, hca_do("inject op QUERY_QP LIM_ERR 1"));
	ASSERT_EQ(0, query_async(self->qp, self->q.qpn, 2, comp));
	ASSERT_TRUE(readable(comp->fd, WAIT_MS));
	ASSERT_EQ(0, mlx5dv_devx_get_async_cmd_comp(comp, &a.hdr, sizeof(a)));
	EXPECT_EQ(2, a.hdr.wr_id);
	EXPECT_EQ(8, a.out[0]);			/* LIM_ERR */
	EXPECT_EQ(1, hca_inject_clear());
	mlx5dv_devx_destroy_cmd_comp(comp);
}

TEST_HARNESS_MAIN
