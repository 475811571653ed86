// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Contexts with a user id of the firmware (DEVX): what carries the id, what a user cannot reach,
 * the rights that follow from the caller's privileges, and the end of an id.
 */
#include <infiniband/mlx5dv.h>
#include <json-c/json.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "devx_cmd.h"
#include "rights.h"
#include "test.h"
#include "trace.h"

#define QUERY_HCA_CAP 0x100
#define MANAGE_PAGES 0x108
#define ALLOC_PD 0x800
/* Bits of uctx.cap. */
#define RAW_TX 1
#define INTERNAL_DEV_RES 2

static const char *const user_kinds[] = { "uar", "pd", "cq", "qp", "srq" };

static int open_without_id(struct uv *uv)
{
	const struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4, .max_cqe_version = 1,
		.lib_caps = MLX5_LIB_CAP_4K_UAR,
	};

	return uv_open_req(uv, &req);
}

/* One object of each kind that a command with a user id creates. */
struct objects {
	uint32_t pd;
	struct uv_cq cq;
	struct uv_qp qp;
	struct uv_mem srq_mem;
	struct uv_srq srq;
	struct uv_uar uar;
};

static int objects_create(int fd, struct objects *o)
{
	struct mlx5_ib_create_srq drv = { .uidx = uv_uidx() };
	int ret;

	memset(o, 0, sizeof(*o));
	ret = uv_alloc_pd(fd, &o->pd, NULL) ?: uv_create_cq(fd, 31, &o->cq) ?:
	      uv_create_qp(fd, o->pd, o->cq.handle, IBV_QPT_RC, &o->qp) ?:
	      uv_alloc_uar(fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &o->uar) ?:
	      uv_mem_alloc(&o->srq_mem, 64 * 32);
	if (ret)
		return ret;
	drv.buf_addr = (uintptr_t)o->srq_mem.buf;
	drv.db_addr = (uintptr_t)o->srq_mem.dbr;
	o->srq = (struct uv_srq){ .max_wr = 15, .max_sge = 1 };
	return uv_create_srq(fd, o->pd, &drv, sizeof(drv), &o->srq);
}

static int objects_destroy(int fd, struct objects *o)
{
	int ret = uv_destroy_srq(fd, o->srq.handle) ?: uv_destroy_qp(fd, &o->qp) ?:
		  uv_destroy_cq(fd, &o->cq) ?: uv_free_uar(fd, o->uar.handle) ?:
		  uv_dealloc_pd(fd, o->pd);

	uv_mem_free(&o->srq_mem);
	return ret;
}

/* --- Objects and their owner ------------------------------------------------------------------ */

FIXTURE(user) {
	struct uv uv;
};

FIXTURE_SETUP(user)
{
	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, uv_open_devx(&self->uv));
}

FIXTURE_TEARDOWN(user)
{
	if (!devx_has_user_ids())
		return;
	uv_close(&self->uv);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

TEST_F(user, queues_domains_and_uars_carry_the_id)
{
	long users[ARRAY_SIZE(user_kinds)], all[ARRAY_SIZE(user_kinds)];
	struct objects o;
	size_t i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	for (i = 0; i < ARRAY_SIZE(user_kinds); i++) {
		users[i] = hca_census_users(user_kinds[i]);
		all[i] = hca_census_count(user_kinds[i]);
	}
	ASSERT_EQ(0, objects_create(self->uv.fd, &o));
	for (i = 0; i < ARRAY_SIZE(user_kinds); i++) {
		EXPECT_EQ(all[i] + 1, hca_census_count(user_kinds[i])) TH_LOG("kind %zu", i);
		EXPECT_EQ(users[i] + 1, hca_census_users(user_kinds[i])) TH_LOG("kind %zu", i);
	}
	EXPECT_EQ(0, objects_destroy(self->uv.fd, &o));
	for (i = 0; i < ARRAY_SIZE(user_kinds); i++)
		EXPECT_EQ(users[i], hca_census_users(user_kinds[i])) TH_LOG("kind %zu", i);
}

static double event_time(struct json_object *e)
{
	struct json_object *v;

	return json_object_object_get_ex(e, "t", &v) ? json_object_get_double(v) : 0;
}

static void take_time(struct json_object *event, void *arg)
{
	*(double *)arg = event_time(event);
}

/* Time of the last event in the HCA's trace, which still has the events of other tests. */
static double last_recorded(void)
{
	double t = 0;

	hca_trace_for_each(1, take_time, &t);
	return t;
}

struct count {
	double since;
	const char *op;
	bool with_id;
	int n;
};

static void count_command(struct json_object *event, void *arg)
{
	struct count *count = arg;
	struct json_object *v;

	if (event_time(event) > count->since && hca_event_is(event, "op", count->op) &&
	    json_object_object_get_ex(event, "uid", &v))
		count->n += count->with_id == !!json_object_get_int(v);
}

/* How many commands the HCA has recorded after @since, with or without a user id; -1: no record. */
static int recorded(double since, const char *op, bool with_id)
{
	struct count count = { .since = since, .op = op, .with_id = with_id };

	return hca_trace_for_each(0, count_command, &count) ? -1 : count.n;
}

/*
 * The test must look at the id in each command: with the kernel's id 0, which may name any object,
 * firmware would execute most of these commands just as well.
 */
TEST_F(user, commands_on_its_objects_carry_the_id)
{
	static const char *const ops[] = {
		"ALLOC_PD", "CREATE_CQ", "CREATE_QP", "CREATE_RMP", "ALLOC_UAR", "RST2INIT_QP",
		"INIT2RTR_QP", "RTR2RTS_QP", "DESTROY_RMP", "DESTROY_QP", "DESTROY_CQ",
		"DEALLOC_UAR", "DEALLOC_PD",
	};
	struct objects o;
	double since;
	size_t i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	since = last_recorded();
	ASSERT_EQ(0, hca_do("trace on"));
	EXPECT_EQ(0, objects_create(self->uv.fd, &o));
	EXPECT_EQ(0, uv_qp_to_rts(self->uv.fd, &o.qp, o.qp.qpn, 1));
	EXPECT_EQ(0, objects_destroy(self->uv.fd, &o));
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		EXPECT_LT(0, recorded(since, ops[i], true)) TH_LOG("%s", ops[i]);
		EXPECT_EQ(0, recorded(since, ops[i], false)) TH_LOG("%s", ops[i]);
	}
	EXPECT_EQ(0, hca_do("trace off"));
}

TEST_F(user, static_uars_carry_the_id)
{
	const long pages = UV_STATIC_PAGES(16);
	long uars, users;
	struct uv second;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	uars = hca_census_count("uar");
	users = hca_census_users("uar");
	ASSERT_EQ(0, uv_open_devx(&second));
	EXPECT_EQ(users + pages, hca_census_users("uar"));
	EXPECT_EQ(uars + pages, hca_census_count("uar"));
	uv_close(&second);
	/* A context without an id has UARs of the kernel. */
	ASSERT_EQ(0, open_without_id(&second));
	EXPECT_EQ(users, hca_census_users("uar"));
	EXPECT_EQ(uars + pages, hca_census_count("uar"));
	uv_close(&second);
}

TEST_F(user, each_context_has_an_id_of_its_own)
{
	struct uv other[3];
	long ids;
	int i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ids = hca_census_count("uctx");
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, uv_open_devx(&other[i]));
	EXPECT_EQ(ids + 3, hca_census_count("uctx"));
	for (i = 0; i < 3; i++)
		uv_close(&other[i]);
	EXPECT_EQ(ids, hca_census_count("uctx"));
	ASSERT_EQ(0, open_without_id(&other[0]));
	EXPECT_EQ(ids, hca_census_count("uctx"));
	uv_close(&other[0]);
}

TEST_F(user, close_destroys_all_objects_and_the_id)
{
	struct objects o;

	ASSERT_EQ(0, objects_create(self->uv.fd, &o));
	uv_close(&self->uv);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

static int hold_objects(void *arg, int ready)
{
	struct objects o;
	struct uv uv;

	return uv_open_devx(&uv) || objects_create(uv.fd, &o) || child_hold(ready);
}

TEST_F(user, sigkill_destroys_all_objects_and_the_id)
{
	pid_t pid = child_start(hold_objects, NULL);

	ASSERT_LT(0, pid);
	ASSERT_LE(0, child_kill(pid));
	uv_close(&self->uv);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* --- What belongs to others ------------------------------------------------------------------- */

/*
 * A UAR is the only object that a request names by a number, not by a handle. mlx5_ib passes on any
 * number, so with mlx5_ib firmware refuses another user's UAR.
 */
static int create_qp_on_uar(int fd, uint32_t pd, uint32_t cq, uint32_t page_id)
{
	struct uv_qp qp = {};
	struct uv_qp_req req;
	int ret;

	uv_qp_req_init(&req, pd, cq, IBV_QPT_RC);
	ret = uv_mem_alloc(&qp.mem, 1 << 16);
	if (ret)
		return ret;
	req.drv.buf_addr = (uintptr_t)qp.mem.buf;
	req.drv.db_addr = (uintptr_t)qp.mem.dbr;
	req.drv.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX;
	req.drv.bfreg_index = page_id;
	ret = uv_try_qp(fd, &req);
	uv_mem_free(&qp.mem);
	return ret;
}

static int create_cq_on_uar(int fd, uint32_t page_id, struct uv_cq *cq)
{
	struct mlx5_ib_create_cq drv = {
		.cqe_size = 64, .flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX,
		.uar_page_index = page_id,
	};
	struct ib_uverbs_create_cq_resp resp = {};
	int ret;

	memset(cq, 0, sizeof(*cq));
	ret = uv_mem_alloc(&cq->mem, 32 * 64);
	if (ret)
		return ret;
	drv.buf_addr = (uintptr_t)cq->mem.buf;
	drv.db_addr = (uintptr_t)cq->mem.dbr;
	ret = uv_create_cq_raw(fd, 31, &drv, sizeof(drv), &resp, &cq->cqn);
	cq->handle = resp.cq_handle;
	if (ret)
		uv_mem_free(&cq->mem);
	return ret;
}

FIXTURE(others) {
	struct uv mine, theirs;
	struct objects o, their_o;
};

FIXTURE_VARIANT(others) {
	bool kernel;	/* the other context has no id: its objects are the kernel's */
};

FIXTURE_VARIANT_ADD(others, another_user) { .kernel = false };

FIXTURE_VARIANT_ADD(others, kernel) { .kernel = true };

FIXTURE_SETUP(others)
{
	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	ASSERT_EQ(0, uv_open_devx(&self->mine));
	ASSERT_EQ(0, objects_create(self->mine.fd, &self->o));
	ASSERT_EQ(0, variant->kernel ? open_without_id(&self->theirs) :
				       uv_open_devx(&self->theirs));
	ASSERT_EQ(0, objects_create(self->theirs.fd, &self->their_o));
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(others)
{
	uv_close(&self->mine);
	uv_close(&self->theirs);
}

TEST_F(others, qp_on_their_uar_is_refused)
{
	EXPECT_EQ(0, create_qp_on_uar(self->mine.fd, self->o.pd, self->o.cq.handle,
				      self->o.uar.page_id));
	if (!driver_is("bluebell"))	/* mlx5_ib leaves the check to firmware */
		ASSERT_EQ(0, hca_expect("refuse CREATE_QP BAD_RES_ERR 1"));
	EXPECT_EQ(-EINVAL, create_qp_on_uar(self->mine.fd, self->o.pd, self->o.cq.handle,
					    self->their_o.uar.page_id));
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

TEST_F(others, cq_on_their_uar_is_refused)
{
	struct uv_cq cq;

	ASSERT_EQ(0, create_cq_on_uar(self->mine.fd, self->o.uar.page_id, &cq));
	EXPECT_EQ(0, uv_destroy_cq(self->mine.fd, &cq));
	if (!driver_is("bluebell"))	/* mlx5_ib leaves the check to firmware */
		ASSERT_EQ(0, hca_expect("refuse CREATE_CQ BAD_RES_ERR 1"));
	EXPECT_EQ(-EINVAL, create_cq_on_uar(self->mine.fd, self->their_o.uar.page_id, &cq));
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* --- Rights ----------------------------------------------------------------------------------- */

static void take_uctx_cap(struct json_object *event, void *arg)
{
	struct json_object *in, *uctx, *v;
	long *cap = arg;

	if (!hca_event_is(event, "op", "CREATE_UCTX"))
		return;
	*cap = 0;	/* fields that are 0 are not recorded */
	if (json_object_object_get_ex(event, "in", &in) &&
	    json_object_object_get_ex(in, "uctx", &uctx) &&
	    json_object_object_get_ex(uctx, "cap", &v))
		*cap = json_object_get_int64(v);
}

/* uctx.cap of the last CREATE_UCTX that the HCA has recorded, -1 if there is none. */
static long last_uctx_cap(void)
{
	long cap = -1;

	hca_trace_for_each(100, take_uctx_cap, &cap);
	return cap;
}

FIXTURE(rights) {
	long offered;
};

FIXTURE_VARIANT(rights) {
	bool no_net_raw, no_sys_rawio;
	long want;
};

FIXTURE_VARIANT_ADD(rights, all) { .want = RAW_TX | INTERNAL_DEV_RES };

FIXTURE_VARIANT_ADD(rights, no_net_raw) { .no_net_raw = true, .want = INTERNAL_DEV_RES };

FIXTURE_VARIANT_ADD(rights, no_sys_rawio) { .no_sys_rawio = true, .want = RAW_TX };

FIXTURE_VARIANT_ADD(rights, none) { .no_net_raw = true, .no_sys_rawio = true };

FIXTURE_SETUP(rights)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	self->offered = hca_cap("general", "uctx_cap");
	ASSERT_EQ(0, hca_do("trace on"));
	if (variant->no_net_raw)
		ASSERT_EQ(0, drop_capability(CAP_NET_RAW));
	if (variant->no_sys_rawio)
		ASSERT_EQ(0, drop_capability(CAP_SYS_RAWIO));
}

FIXTURE_TEARDOWN(rights)
{
	hca_do("trace off");
}

TEST_F(rights, follow_from_the_callers_capabilities)
{
	struct uv uv;

	ASSERT_EQ(0, uv_open_devx(&uv));
	EXPECT_EQ(variant->want & self->offered, last_uctx_cap());
	uv_close(&uv);
}

/* --- Opening ---------------------------------------------------------------------------------- */

static struct ibv_context *open_dv(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list && list[0] ? mlx5dv_open_device(list[0], &attr) : NULL;

	if (list)
		ibv_free_device_list(list);
	return ctx;
}

/*
 * If firmware refuses a user id, libmlx5 opens a context without one, unless the program asks for
 * DEVX.
 */
TEST(refused_id_leaves_nothing)
{
	struct ibv_context *ctx;
	struct uv uv;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, hca_do("inject op CREATE_UCTX LIM_ERR"));
	EXPECT_EQ(-ENOMEM, uv_open_devx(&uv));
	EXPECT_EQ(NULL, open_dv());
	EXPECT_CENSUS_UNCHANGED();
	ctx = rdma_open_device();
	EXPECT_NE(NULL, ctx);
	EXPECT_LT(0, hca_inject_clear());
	if (ctx)
		ibv_close_device(ctx);
	EXPECT_CENSUS_UNCHANGED();
}

TEST(device_without_ids_opens_without)
{
	struct ibv_context *ctx;
	struct uv uv;

	if (devx_has_user_ids())
		SKIP(return, "the device has user ids");
	EXPECT_GT(0, uv_open_devx(&uv));
	EXPECT_EQ(NULL, open_dv());
	ctx = rdma_open_device();
	ASSERT_NE(NULL, ctx);
	ibv_close_device(ctx);
}

TEST(id_that_firmware_keeps_is_destroyed_again)
{
	struct uv uv;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell repeats DESTROY_UCTX");
	ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, uv_open_devx(&uv));
	ASSERT_EQ(0, hca_do("inject op DESTROY_UCTX BAD_RES_STATE 2"));
	uv_close(&uv);
	EXPECT_EQ(2, hca_inject_clear());
	EXPECT_CENSUS_UNCHANGED();
}

/* --- What mlx5dv_devx_alloc_uar(3) promises ------------------------------------------------ */

FIXTURE(man_page) {
	struct ibv_context *ctx;
	struct mlx5dv_devx_uar *uar;
	uint32_t pd;
	struct uv_cq cq;
	struct uv_qp qp;
};

FIXTURE_VARIANT(man_page) {
	uint32_t flags;
};

FIXTURE_VARIANT_ADD(man_page, bf) { .flags = MLX5DV_UAR_ALLOC_TYPE_BF };

FIXTURE_VARIANT_ADD(man_page, nc) { .flags = MLX5DV_UAR_ALLOC_TYPE_NC };

FIXTURE_VARIANT_ADD(man_page, nc_dedicated) { .flags = MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED };

FIXTURE_SETUP(man_page)
{
	struct uv_qp_req req;
	struct uv uv;

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	ASSERT_EQ(0, uv_open(&uv));
	uv_close(&uv);
	if (variant->flags == MLX5DV_UAR_ALLOC_TYPE_BF && !has_blueflame(&uv))
		SKIP(return, NO_BLUEFLAME);
	self->ctx = open_dv();
	ASSERT_NE(NULL, self->ctx) TH_LOG("mlx5dv_open_device: %m");
	self->uar = mlx5dv_devx_alloc_uar(self->ctx, variant->flags);
	ASSERT_NE(NULL, self->uar) TH_LOG("mlx5dv_devx_alloc_uar: %m");
	ASSERT_EQ(0, uv_alloc_pd(self->ctx->cmd_fd, &self->pd, NULL));
	ASSERT_EQ(0, create_cq_on_uar(self->ctx->cmd_fd, self->uar->page_id, &self->cq));
	uv_qp_req_init(&req, self->pd, self->cq.handle, IBV_QPT_RC);
	ASSERT_EQ(0, uv_mem_alloc(&self->qp.mem, 1 << 16));
	req.drv.buf_addr = (uintptr_t)self->qp.mem.buf;
	req.drv.db_addr = (uintptr_t)self->qp.mem.dbr;
	req.drv.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX;
	req.drv.bfreg_index = self->uar->page_id;
	ASSERT_EQ(0, uv_create_qp_raw(self->ctx->cmd_fd, &req, &self->qp));
}

FIXTURE_TEARDOWN(man_page)
{
	if (!self->ctx)
		return;
	EXPECT_EQ(0, uv_destroy_qp(self->ctx->cmd_fd, &self->qp));
	EXPECT_EQ(0, uv_destroy_cq(self->ctx->cmd_fd, &self->cq));
	EXPECT_EQ(0, uv_dealloc_pd(self->ctx->cmd_fd, self->pd));
	mlx5dv_devx_free_uar(self->uar);
	EXPECT_EQ(0, ibv_close_device(self->ctx));
}

/*
 * Put a NOP into the queue, and 1, the number of posted WQEs, into the doorbell record. Returns
 * what is to be written to the doorbell register. The send queue lies behind the receive queue of
 * 16 WQEs of 16 bytes.
 */
static uint64_t post_nop(struct uv_qp *qp)
{
	struct mlx5_wqe_ctrl_seg *ctrl = qp->mem.buf + 16 * 16;

	memset(ctrl, 0, 64);
	ctrl->opmod_idx_opcode = htobe32(MLX5_OPCODE_NOP);
	ctrl->qpn_ds = htobe32(qp->qpn << 8 | 1);
	ctrl->fm_ce_se = MLX5_WQE_CTRL_CQ_UPDATE;
	qp->mem.dbr[MLX5_SND_DBR] = htobe32(1);
	return *(uint64_t *)ctrl;
}

/*
 * Wait for the first completion of a CQ whose entries are zero; returns its opcode, -1 if none
 * comes.
 */
static int wait_for_cqe(struct uv_cq *cq)
{
	volatile uint8_t *qpn = cq->mem.buf + 57, *op_own = cq->mem.buf + 63;
	int i;

	for (i = 0; i < 5000; i++) {
		if (qpn[0] | qpn[1] | qpn[2])
			return *op_own >> 4;
		usleep(1000);
	}
	return -1;
}

TEST_F(man_page, queue_pair_on_the_uar_works)
{
	struct ibv_port_attr port;

	ASSERT_EQ(0, ibv_query_port(self->ctx, 1, &port));
	ASSERT_EQ(0, uv_qp_to_rts(self->ctx->cmd_fd, &self->qp, self->qp.qpn, port.lid));
	ring(self->uar->reg_addr, post_nop(&self->qp));
	EXPECT_EQ(MLX5_CQE_REQ, wait_for_cqe(&self->cq));
}

TEST_F(man_page, a_child_maps_the_uar_by_its_offset)
{
	struct ibv_port_attr port;
	uint64_t doorbell;
	int status;
	pid_t pid;

	ASSERT_EQ(0, ibv_query_port(self->ctx, 1, &port));
	ASSERT_EQ(0, uv_qp_to_rts(self->ctx->cmd_fd, &self->qp, self->qp.qpn, port.lid));
	doorbell = post_nop(&self->qp);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		void *page = mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, self->ctx->cmd_fd,
				  self->uar->mmap_off);

		if (page == MAP_FAILED)
			_exit(1);
		ring(page + (self->uar->reg_addr - self->uar->base_addr), doorbell);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(MLX5_CQE_REQ, wait_for_cqe(&self->cq));
}

/* --- Commands that name no object ----------------------------------------------------------- */

TEST(capabilities_can_be_queried)
{
	uint8_t in[16] = { QUERY_HCA_CAP >> 8, QUERY_HCA_CAP & 0xff, 0, 0, 0, 0, 0, 1 };
	uint8_t out[16 + 4096] = {};
	double since = last_recorded();
	struct ibv_context *ctx;

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	ctx = open_dv();
	ASSERT_NE(NULL, ctx);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_do("trace on"));
	EXPECT_EQ(0, mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)));
	EXPECT_EQ(0, out[0]);
	if (hca_ctl_present()) {
		EXPECT_EQ(1, recorded(since, "QUERY_HCA_CAP", true));
		EXPECT_EQ(0, hca_do("trace off"));
	}
	/* log_max_qp, five bits at 0x9b of the capabilities */
	if (hca_ctl_present())
		EXPECT_EQ(hca_cap("general", "log_max_qp"), out[16 + 0x13] & 0x1f);
	/* There is no such page of capabilities: the firmware says so. */
	in[7] = 0x7f << 1;
	ASSERT_EQ(0, hca_expect("refuse QUERY_HCA_CAP BAD_OP_ERR 1"));
	EXPECT_NE(0, mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)));
	EXPECT_NE(0, out[0]);
	ibv_close_device(ctx);
}

TEST(other_commands_are_refused)
{
	static const uint16_t ops[] = { MANAGE_PAGES, ALLOC_PD, 0, 0xffff };
	uint8_t in[64] = {}, out[64] = {};
	struct ibv_context *ctx;
	size_t i;

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	ctx = open_dv();
	ASSERT_NE(NULL, ctx);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		in[0] = ops[i] >> 8;
		in[1] = ops[i];
		EXPECT_EQ(EINVAL, mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)))
			TH_LOG("command 0x%x", ops[i]);
	}
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	ibv_close_device(ctx);
}

/* Look in the trace for the command that has allocated the last protection domain. */
static int traced_alloc_pd(unsigned int *uid, unsigned int *status, int *err)
{
	const char *cmd = trace_last("opcode=0x800 ");

	return cmd ? sscanf(cmd, "opcode=0x800 uid=%u status=%x syndrome=%*x err=%d", uid, status,
			    err) : -ENOENT;
}

TEST(trace_has_the_user_id_of_a_command)
{
	unsigned int uid = 0, status = 1;
	struct uv with, without;
	uint32_t pd, pdn;
	int err = 1;

	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell traces commands");
	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	ASSERT_EQ(0, uv_open_devx(&with));
	ASSERT_EQ(0, open_without_id(&without));
	ASSERT_EQ(0, trace_start());
	EXPECT_EQ(0, uv_alloc_pd(with.fd, &pd, &pdn));
	EXPECT_EQ(3, traced_alloc_pd(&uid, &status, &err));
	EXPECT_NE(0, uid);
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, err);
	EXPECT_EQ(0, uv_alloc_pd(without.fd, &pd, &pdn));
	EXPECT_EQ(3, traced_alloc_pd(&uid, &status, &err));
	EXPECT_EQ(0, uid);
	EXPECT_EQ(0, trace_stop());
	uv_close(&without);
	uv_close(&with);
}

TEST_HARNESS_MAIN
