// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * No verb fails because of a signal that does not end the process. A timer sends signals all the
 * time, while each verb is called again and again. The registration of the first paged region of a
 * process is in odp_region.c.
 */

#include <signal.h>
#include <sys/time.h>

#include "devx_cmd.h"
#include "test.h"

#define SIGNAL_US 300		/* between two signals */
#define CALL_S 0.1		/* how long each verb is called */
#define LEAST_SIGNALS 20
#define LEAST_CALLS 3
#define MEM (64 * UV_PAGE)
#define LACKS (-1)		/* the device lacks what the verb needs */

/* The context, the objects and the memory that the verbs of a test use. */
struct use {
	struct rdma r;
	struct ibv_qp *qp;
	struct ibv_mr *mr, *paged;
	uint8_t *mem;
	struct ibv_device_attr_ex attr;
};

/* 0, or errno of the verb that has failed. */
static int fails(bool failed)
{
	return failed ? errno ?: EIO : 0;
}

static int open_context(struct use *u)
{
	struct uv uv;
	int ret = uv_open(&uv);

	if (!ret)
		uv_close(&uv);
	return -ret;
}

static int pd(struct use *u)
{
	struct ibv_pd *pd = ibv_alloc_pd(u->r.ctx);

	return fails(!pd || ibv_dealloc_pd(pd));
}

static int cq(struct use *u)
{
	struct ibv_comp_channel *ch = ibv_create_comp_channel(u->r.ctx);
	struct ibv_cq *cq = ch ? ibv_create_cq(u->r.ctx, 15, NULL, ch, 0) : NULL;

	return fails(!cq || ibv_destroy_cq(cq) || ibv_destroy_comp_channel(ch));
}

static int resize_cq(struct use *u)
{
	struct ibv_cq *cq = ibv_create_cq(u->r.ctx, 15, NULL, NULL, 0);
	int err;

	if (!cq)
		return errno;
	err = ibv_resize_cq(cq, 200);
	return fails(ibv_destroy_cq(cq)) ?: err == ENOSYS || err == EOPNOTSUPP ? LACKS : err;
}

static int create_qp(struct use *u, enum ibv_qp_type type)
{
	const struct qp_cfg cfg = { .type = type };
	struct ibv_qp *qp = rdma_qp_create(&u->r, u->r.cq, &cfg);
	int err = qp ? 0 : errno;

	if (qp && type != IBV_QPT_XRC_SEND)
		err = rdma_qp_connect(qp, &cfg, qp->qp_num, u->r.port.lid);
	return err ?: fails(ibv_destroy_qp(qp));
}

static int rc_qp(struct use *u)
{
	return create_qp(u, IBV_QPT_RC);
}

static int ud_qp(struct use *u)
{
	return create_qp(u, IBV_QPT_UD);
}

static int query_and_reset_qp(struct use *u)
{
	const struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return rdma_qp_connect(u->qp, &cfg, u->qp->qp_num, u->r.port.lid) ?:
	       ibv_query_qp(u->qp, &attr, IBV_QP_STATE, &init) ?:
	       rdma_modify_state(u->qp, IBV_QPS_ERR) ?: rdma_modify_state(u->qp, IBV_QPS_RESET);
}

static int srq(struct use *u)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 15, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(u->r.pd, &attr);

	return fails(!srq || (errno = set_srq_limit(srq, 3)) ||
		     (errno = ibv_query_srq(srq, &attr.attr)) || ibv_destroy_srq(srq));
}

static int xrc(struct use *u)
{
	struct ibv_srq_attr attr = { .max_wr = 15, .max_sge = 1 };
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;

	if (!rdma_has_xrc(u->r.ctx))
		return LACKS;
	xrcd = rdma_open_xrcd(u->r.ctx, -1, O_CREAT);
	srq = xrcd ? rdma_create_xrc_srq(&u->r, xrcd, u->r.cq, &attr) : NULL;
	return fails(!srq || ibv_destroy_srq(srq) || ibv_close_xrcd(xrcd)) ?:
	       create_qp(u, IBV_QPT_XRC_SEND);
}

static int address(struct use *u)
{
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	port_address(&attr, u->r.port.lid);
	ah = ibv_create_ah(u->r.pd, &attr);
	return fails(!ah || ibv_destroy_ah(ah));
}

static int window(struct use *u)
{
	struct ibv_mw *mw;

	if (!u->attr.orig_attr.max_mw)
		return LACKS;
	mw = ibv_alloc_mw(u->r.pd, IBV_MW_TYPE_2);
	return fails(!mw || ibv_dealloc_mw(mw));
}

static int register_len(struct use *u, size_t len)
{
	struct ibv_mr *mr = ibv_reg_mr(u->r.pd, u->mem, len, IBV_ACCESS_LOCAL_WRITE);

	return fails(!mr || ibv_dereg_mr(mr));
}

static int small_region(struct use *u)
{
	return register_len(u, 64);
}

static int large_region(struct use *u)
{
	return register_len(u, MEM);
}

/*
 * Change the rights, the memory and the domain of the region, and then its memory and rights at
 * once.
 */
static int reregister(struct use *u)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_mr *mr = u->mr;

	return fails(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access) ||
		     ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, u->mem, MEM, 0) ||
		     ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, u->r.pd, NULL, 0, 0) ||
		     ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS,
				  NULL, u->mem, UV_PAGE, IBV_ACCESS_LOCAL_WRITE));
}

static int paged_region(struct use *u)
{
	struct ibv_mr *mr;

	if (!u->paged)
		return LACKS;
	mr = ibv_reg_mr(u->r.pd, u->mem, MEM, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	return fails(!mr || ibv_dereg_mr(mr));
}

/* Unmap the pages first, so that each advice has to map them. */
static int advice(struct use *u)
{
	struct ibv_sge sge = { .addr = (uintptr_t)u->mem, .length = MEM };

	if (!u->paged)
		return LACKS;
	sge.lkey = u->paged->lkey;
	madvise(u->mem, MEM, MADV_DONTNEED);
	return ibv_advise_mr(u->r.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			     IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

static int device_memory(struct use *u)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	if (!u->attr.max_dm_size)
		return LACKS;
	dm = ibv_alloc_dm(u->r.ctx, &attr);
	mr = dm ? ibv_reg_dm_mr(u->r.pd, dm, 0, 4096, IBV_ACCESS_ZERO_BASED) : NULL;
	return fails(!mr || ibv_dereg_mr(mr) || ibv_free_dm(dm));
}

static int devx_object(struct use *u)
{
	int fd = u->r.ctx->cmd_fd;
	struct devx_cmd cmd;
	uint32_t handle;

	if (!devx_has_user_ids())
		return LACKS;
	devx_start(&cmd, DEVX_ALLOC_PD);
	return -(devx_create(fd, &cmd, &handle) ?: devx_destroy(fd, handle));
}

static int devx_command(struct use *u)
{
	struct devx_cmd cmd;

	if (!devx_has_user_ids())
		return LACKS;
	devx_start(&cmd, DEVX_QUERY_HCA_CAP);
	devx_put(&cmd, 4, 1);	/* the values in use of the general capabilities */
	return -devx_general(u->r.ctx->cmd_fd, &cmd);
}

static int devx_memory(struct use *u)
{
	struct devx_umem umem = {
		.addr = (uintptr_t)u->mem, .len = MEM, .access = IBV_ACCESS_LOCAL_WRITE,
	};
	int fd = u->r.ctx->cmd_fd;

	if (!devx_has_umems())
		return LACKS;
	return -(devx_reg_umem(fd, &umem) ?: devx_dereg_umem(fd, umem.handle));
}

static int uar(struct use *u)
{
	struct uv_uar uar;
	int fd = u->r.ctx->cmd_fd;
	void *p;
	int ret = uv_alloc_uar(fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar);

	if (ret)
		return -ret;
	p = mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, fd, uar.mmap_off);
	return fails(p == MAP_FAILED || munmap(p, UV_PAGE)) ?: -uv_free_uar(fd, uar.handle);
}

static int group(struct use *u)
{
	union ibv_gid gid = { .raw = { 0xff, 0x12, 0xa0, 0x1b, 0xff, 0xff, [14] = 0x79 } };
	const struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_qp *qp = rdma_qp_create(&u->r, u->r.cq, &cfg);
	int err = qp ? rdma_qp_init(qp, &cfg) : errno;

	return err ?: ibv_attach_mcast(qp, &gid, 0xc009) ?: ibv_detach_mcast(qp, &gid, 0xc009) ?:
	       fails(ibv_destroy_qp(qp));
}

static int queries(struct use *u)
{
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;

	return ibv_query_device_ex(u->r.ctx, NULL, &attr) ?: ibv_query_port(u->r.ctx, 1, &port) ?:
	       fails(ibv_query_gid(u->r.ctx, 1, 0, &gid) || ibv_query_pkey(u->r.ctx, 1, 0, &pkey));
}

FIXTURE(signal) {
	struct use u;
};

FIXTURE_VARIANT(signal) {
	int (*call)(struct use *u);
};

#define CALL(name) FIXTURE_VARIANT_ADD(signal, name) { .call = name }

CALL(open_context);
CALL(pd);
CALL(cq);
CALL(resize_cq);
CALL(rc_qp);
CALL(ud_qp);
CALL(query_and_reset_qp);
CALL(srq);
CALL(xrc);
CALL(address);
CALL(window);
CALL(small_region);
CALL(large_region);
CALL(reregister);
CALL(paged_region);
CALL(advice);
CALL(device_memory);
CALL(devx_object);
CALL(devx_command);
CALL(devx_memory);
CALL(uar);
CALL(group);
CALL(queries);

FIXTURE_SETUP(signal)
{
	const struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct use *u = &self->u;

	ASSERT_EQ(0, rdma_open(&u->r));
	ASSERT_EQ(0, ibv_query_device_ex(u->r.ctx, NULL, &u->attr));
	u->mem = mmap(NULL, MEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, u->mem);
	u->qp = rdma_qp_create(&u->r, u->r.cq, &cfg);
	ASSERT_NE(NULL, u->qp);
	u->mr = ibv_reg_mr(u->r.pd, u->mem, UV_PAGE, IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, u->mr);
	if (rdma_has_odp(u->r.ctx))
		u->paged = ibv_reg_mr(u->r.pd, u->mem, MEM,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
}

FIXTURE_TEARDOWN(signal)
{
	struct use *u = &self->u;

	if (u->paged)
		EXPECT_EQ(0, ibv_dereg_mr(u->paged));
	EXPECT_EQ(0, ibv_dereg_mr(u->mr));
	EXPECT_EQ(0, ibv_destroy_qp(u->qp));
	rdma_close(&u->r);
}

static volatile sig_atomic_t signals;

static void count_signal(int sig)
{
	signals++;
}

TEST_F(signal, does_not_make_a_verb_fail)
{
	const struct itimerval often = { { .tv_usec = SIGNAL_US }, { .tv_usec = SIGNAL_US } };
	const struct sigaction action = { .sa_handler = count_signal };
	const struct itimerval never = {};
	unsigned int calls = 0, failed = 0;
	int ret = 0, err = 0;
	double end;

	/* Call it once without signals. */
	ret = variant->call(&self->u);
	if (ret == LACKS)
		SKIP(return, "the device does not have this");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	for (end = seconds() + CALL_S; calls < LEAST_CALLS || signals < LEAST_SIGNALS ||
	     seconds() < end; calls++) {
		ret = variant->call(&self->u);
		err = ret ?: err;
		failed += !!ret;
		if (failed > 10)
			break;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	EXPECT_EQ(0, failed) TH_LOG("%u of %u calls failed, the last with %s", failed, calls,
				    strerror(err));
}

TEST_HARNESS_MAIN
