// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What happens if the commands or allocations of a verb fail, see lib/fail_nth.h: contexts,
 * protection domains, CQs, address handles, UARs, queries; the verbs of a kernel consumer and of
 * ib_mad. And what happens if the commands fail that the driver sends when it probes a device.
 */

#include <fcntl.h>

#include "binding.h"
#include "consumer.h"
#include "fail_nth.h"

static int prep_fd(struct env *e)
{
	e->fd = uv_open_fd();
	return e->fd < 0 ? e->fd : 0;
}

static int get_context(struct env *e, uint32_t flags)
{
	const struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4, .max_cqe_version = 1,
		.flags = flags, .lib_caps = MLX5_LIB_CAP_4K_UAR,
	};
	struct mlx5_ib_alloc_ucontext_resp resp;

	return uv_get_context(e->fd, &req, sizeof(req), &resp, sizeof(resp));
}

static int act_get_context(struct env *e)
{
	return get_context(e, 0);
}

static int act_get_context_with_id(struct env *e)
{
	return get_context(e, MLX5_IB_ALLOC_UCTX_DEVX);
}

/* Queue pairs and regions that are left when the device is closed: several of each. */
#define LEFT_OBJECTS 3

static int create_left(struct env *e)
{
	struct uv_qp qp;
	int i, ret;

	ret = uv_alloc_pd(e->fd, &e->new_pd, NULL) ?: uv_create_cq(e->fd, 16, &e->cq2);
	uv_qp_req_init(&e->qp_req, e->new_pd, e->cq2.handle, IBV_QPT_RC);
	e->qp_req.drv.buf_addr = (uintptr_t)e->qp_mem.buf;
	e->qp_req.drv.db_addr = (uintptr_t)e->qp_mem.dbr;
	for (i = 0; i < LEFT_OBJECTS && !ret; i++) {
		ret = uv_create_qp_raw(e->fd, &e->qp_req, &qp);
		if (!ret)
			ret = uv_reg_mr(e->fd, e->new_pd, e->buf, BUF_PAGES * UV_PAGE,
					(uintptr_t)e->buf, IBV_ACCESS_LOCAL_WRITE, &e->mr);
	}
	return ret;
}

static int prep_left(struct env *e)
{
	return prep_fd(e) ?: get_context(e, 0) ?: uv_mem_alloc(&e->qp_mem, 2 * UV_PAGE) ?:
	       create_left(e);
}

static int undo_close(struct env *e)
{
	uv_mem_free(&e->qp_mem);
	uv_mem_free(&e->cq2.mem);
	return prep_left(e);
}

static int fini_left(struct env *e)
{
	int ret = fini_fd(e);

	uv_mem_free(&e->qp_mem);
	uv_mem_free(&e->cq2.mem);
	return ret;
}

static int act_alloc_pd(struct env *e)
{
	return uv_alloc_pd(e->uv.fd, &e->new_pd, NULL);
}

static int act_dealloc_pd(struct env *e)
{
	return uv_dealloc_pd(e->uv.fd, e->new_pd);
}

static int prep_cq(struct env *e)
{
	return uv_mem_alloc(&e->cq2.mem, 2 * UV_PAGE);
}

static int act_create_cq(struct env *e)
{
	e->cq_drv = (struct mlx5_ib_create_cq){
		.buf_addr = (uintptr_t)e->cq2.mem.buf, .db_addr = (uintptr_t)e->cq2.mem.dbr,
		.cqe_size = 64,
	};
	return uv_create_cq_raw(e->uv.fd, 63, &e->cq_drv, sizeof(e->cq_drv), &e->new_cq, &e->cqn);
}

static int destroy_cq_handle(struct env *e)
{
	struct ib_uverbs_destroy_cq req = { .cq_handle = e->new_cq.cq_handle };
	struct ib_uverbs_destroy_cq_resp resp;

	return uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_DESTROY_CQ, &req, sizeof(req), &resp,
		      sizeof(resp),
		      NULL, 0, NULL, 0);
}

static int fini_cq(struct env *e)
{
	uv_mem_free(&e->cq2.mem);
	return 0;
}

static int prep_created_cq(struct env *e)
{
	return prep_cq(e) ?: act_create_cq(e);
}

static int fini_created_cq(struct env *e)
{
	return destroy_cq_handle(e) ?: fini_cq(e);
}

static int act_resize_cq(struct env *e)
{
	struct mlx5_ib_resize_cq drv = {
		.buf_addr = (uintptr_t)e->buf, .cqe_size = 64,
	};
	struct ib_uverbs_resize_cq req = { .cq_handle = e->new_cq.cq_handle, .cqe = 127 };
	struct ib_uverbs_resize_cq_resp resp;

	return uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_RESIZE_CQ, &req, sizeof(req), &resp, sizeof(resp),
		      &drv,
		      sizeof(drv), NULL, 0);
}

static int act_create_ah(struct env *e)
{
	struct ib_uverbs_create_ah req = { .pd_handle = e->pd };
	struct ib_uverbs_create_ah_resp resp = {};
	struct mlx5_ib_create_ah_resp drv;
	int ret;

	port_uv_ah(&req.attr, 1);
	ret = uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_CREATE_AH, &req, sizeof(req), &resp, sizeof(resp),
		     NULL, 0, &drv, sizeof(drv));
	e->new_ah = resp.ah_handle;
	return ret;
}

static int act_destroy_ah(struct env *e)
{
	struct ib_uverbs_destroy_ah req = { .ah_handle = e->new_ah };

	return uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_DESTROY_AH, &req, sizeof(req), NULL, 0, NULL, 0,
		      NULL,
		      0);
}

static int act_alloc_uar(struct env *e)
{
	return uv_alloc_uar(e->uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &e->uar);
}

static int act_free_uar(struct env *e)
{
	return uv_free_uar(e->uv.fd, e->uar.handle);
}

static int act_mmap_uar(struct env *e)
{
	e->map = mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, e->uv.fd,
		      uv_mmap_off(MLX5_IB_MMAP_REGULAR_PAGE, 0));
	return e->map == MAP_FAILED ? -errno : 0;
}

static int act_query_eswitch_port(struct env *e)
{
	return uv_query_eswitch_port(e->uv.fd, 1);
}

/*
 * A dynamic UAR is freed when its context is closed, not when it is unmapped, so each try opens a
 * context.
 */
static int prep_wc(struct env *e)
{
	e->map = MAP_FAILED;
	return uv_open(&e->uv);
}

static int act_mmap_alloc_wc(struct env *e)
{
	e->map = mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, e->uv.fd,
		      uv_mmap_off(MLX5_IB_MMAP_ALLOC_WC, 8));
	return e->map == MAP_FAILED ? -errno : 0;
}

static int undo_mmap(struct env *e)
{
	return munmap(e->map, UV_PAGE) ? -errno : 0;
}

static int fini_wc(struct env *e)
{
	if (e->map != MAP_FAILED)
		munmap(e->map, UV_PAGE);
	uv_close(&e->uv);
	return 0;
}

static int act_query_device(struct env *e)
{
	struct ib_uverbs_ex_query_device req = {};
	struct ib_uverbs_ex_query_device_resp resp;
	struct mlx5_ib_query_device_resp drv;

	return uv_cmd(e->uv.fd, IB_USER_VERBS_EX_CMD_QUERY_DEVICE | IB_USER_VERBS_CMD_FLAG_EXTENDED,
		      &req,
		      sizeof(req), &resp, sizeof(resp), NULL, 0, &drv, sizeof(drv));
}

static int act_query_port(struct env *e)
{
	struct ib_uverbs_query_port req = { .port_num = 1 };
	struct ib_uverbs_query_port_resp resp;

	return uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_QUERY_PORT, &req, sizeof(req), &resp,
		      sizeof(resp), NULL,
		      0, NULL, 0);
}

static int prep_consumer(struct env *e)
{
	e->fd = consumer_open();
	return e->fd < 0 ? e->fd : 0;
}

static int act_kernel_ud(struct env *e)
{
	return consumer_run(e->fd, "objects_ud", NULL);
}

static int act_kernel_srq(struct env *e)
{
	return consumer_run(e->fd, "objects_srq", NULL);
}

static int act_kernel_regions(struct env *e)
{
	return consumer_run(e->fd, "objects_regions", NULL);
}

static int prep_agent(struct env *e)
{
	return agent_open(&e->agent, 0, 0, 0, 0);
}

static int act_send_smp(struct env *e)
{
	struct mad m;

	mad_init(&m, CLASS_SM_DIRECTED, METHOD_GET, SM_NODE_INFO, 0);
	return mad_send(&e->agent, &m);
}

static int undo_send_smp(struct env *e)
{
	struct mad m;
	int ret = mad_recv(&e->agent, &m, PATIENCE_MS);

	return ret < 0 ? ret : 0;
}

static int fini_agent(struct env *e)
{
	agent_close(&e->agent);
	return 0;
}

static int prep_counter(struct env *e)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/counters/port_rcv_errors",
		 rdma_device_name());
	e->fd = open(path, O_RDONLY | O_CLOEXEC);
	return e->fd < 0 ? -errno : 0;
}

static int act_read_counter(struct env *e)
{
	char text[64];

	return pread(e->fd, text, sizeof(text), 0) < 0 ? -errno : 0;
}

/* --- The verbs ------------------------------------------------------------------------------ */

FIXTURE_VARIANT_ADD(verb, get_context) {
	.opens_itself = true, .v = { prep_fd, act_get_context, NULL, fini_fd },
};

FIXTURE_VARIANT_ADD(verb, get_context_with_id) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_fd, act_get_context_with_id, NULL, fini_fd },
};

FIXTURE_VARIANT_ADD(verb, query_device) {
	.v = { NULL, act_query_device, NULL, NULL },
};

FIXTURE_VARIANT_ADD(verb, query_port) {
	.v = { NULL, act_query_port, NULL, NULL, true },
};

FIXTURE_VARIANT_ADD(verb, alloc_pd) {
	.v = { NULL, act_alloc_pd, act_dealloc_pd, NULL },
};

FIXTURE_VARIANT_ADD(verb, dealloc_pd) {
	.v = { act_alloc_pd, act_dealloc_pd, act_alloc_pd, act_dealloc_pd, true },
};

FIXTURE_VARIANT_ADD(verb, create_cq) {
	.v = { prep_cq, act_create_cq, destroy_cq_handle, fini_cq },
};

FIXTURE_VARIANT_ADD(verb, resize_cq) {
	.needs = "cq_resize",
	.only_bluebell = true,
	.v = { prep_created_cq, act_resize_cq, NULL, fini_created_cq,
	       .answers_last = true },
};

FIXTURE_VARIANT_ADD(verb, destroy_cq) {
	.v = { prep_created_cq, destroy_cq_handle, act_create_cq, fini_created_cq,
	       .lenient = true, .answers_last = true },
};

FIXTURE_VARIANT_ADD(verb, create_ah) {
	.v = { NULL, act_create_ah, act_destroy_ah, NULL },
};

FIXTURE_VARIANT_ADD(verb, alloc_uar) {
	.v = { NULL, act_alloc_uar, act_free_uar, NULL },
};

FIXTURE_VARIANT_ADD(verb, free_uar) {
	.only_bluebell = true,
	.v = { act_alloc_uar, act_free_uar, act_alloc_uar, act_free_uar, true },
};

/*
 * If firmware refuses a command during close(), ib_core destroys the object again, and close()
 * succeeds.
 */
FIXTURE_VARIANT_ADD(verb, close) {
	.only_bluebell = true,
	.v = { prep_left, fini_fd, undo_close, fini_left, .lenient = true },
};

/*
 * Even if firmware refuses, the verbs that destroy a kernel consumer's objects report success. The
 * driver destroys the objects that firmware has kept before it destroys other objects, so a second
 * run leaves nothing.
 */
FIXTURE_VARIANT_ADD(verb, kernel_ud) {
	.only_bluebell = true,
	.v = { prep_consumer, act_kernel_ud, act_kernel_ud, fini_fd, .lenient = true },
};

FIXTURE_VARIANT_ADD(verb, kernel_srq) {
	.only_bluebell = true,
	.v = { prep_consumer, act_kernel_srq, act_kernel_srq, fini_fd, .lenient = true },
};

FIXTURE_VARIANT_ADD(verb, kernel_regions) {
	.only_bluebell = true,
	.v = { prep_consumer, act_kernel_regions, act_kernel_regions, fini_fd,
	       .lenient = true },
};

/* ib_mad has its own errno for an answer that the driver cannot get. */
FIXTURE_VARIANT_ADD(verb, send_smp_to_own_port) {
	.needs = "qp0",
	.v = { prep_agent, act_send_smp, undo_send_smp, fini_agent, .lenient = true },
};

FIXTURE_VARIANT_ADD(verb, read_port_counter) {
	.v = { prep_counter, act_read_counter, NULL, fini_fd, .lenient = true },
};

FIXTURE_VARIANT_ADD(verb, query_eswitch_port) {
	.v = { NULL, act_query_eswitch_port, NULL, NULL },
};

FIXTURE_VARIANT_ADD(verb, mmap_uar) {
	.v = { NULL, act_mmap_uar, undo_mmap, NULL },
};

FIXTURE_VARIANT_ADD(verb, mmap_alloc_wc) {
	.needs = "blueflame", .opens_itself = true,
	.v = { prep_wc, act_mmap_alloc_wc, NULL, fini_wc },
};

/* --- Probe ---------------------------------------------------------------------------------- */

FIXTURE(probe) {
	struct binding b;
};

FIXTURE_SETUP(probe)
{
	ASSERT_EQ(0, binding_find(&self->b));
}

FIXTURE_TEARDOWN(probe)
{
	/* Bind the driver again for the tests that follow, also after a failure. */
	binding_do(&self->b, "bind");
	EXPECT_TRUE(binding_wait_device());
}

/*
 * Bind the driver while one of its first commands is refused, each of them in turn. If probing
 * fails, the driver must have destroyed the keys and queues of its own that it had created by then.
 */
TEST_F_TIMEOUT(probe, each_refused_command_leaves_nothing, 600)
{
	unsigned int nth, alive = 0;
	int fired, ret;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_EQ(0, binding_do(&self->b, "unbind"));
	ASSERT_EQ(0, hca_census_reset());
	for (nth = 1; nth < 200; nth++) {
		ASSERT_EQ(0, hca_inject_cmd(nth, "LIM_ERR"));
		ret = binding_do(&self->b, "bind");
		fired = hca_inject_clear();
		/*
		 * Probing succeeded: what was refused is optional, or was created in the
		 * background.
		 */
		if (!ret) {
			alive++;
			ASSERT_EQ(0, binding_do(&self->b, "unbind"));
		}
		EXPECT_STREQ("", hca_census_delta())
			TH_LOG("command %u refused, bind: %d", nth, ret);
		if (!fired || alive == 40)
			break;
	}
	EXPECT_LT(10, nth);
	EXPECT_LT(0, alive);
}

TEST_HARNESS_MAIN
