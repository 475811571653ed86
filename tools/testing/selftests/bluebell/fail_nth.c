// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For every verb: let its first firmware command fail, then its second, and so on until the verb
 * succeeds because it sends no more commands; on a kernel with fault injection do the same with its
 * memory allocations. After each failure the errno must be right, no firmware object and no pinned
 * page may be left, and the verb must work when tried again. The same for the commands with which the
 * driver begins to serve a device.
 */

#include <fcntl.h>
#include <linux/dma-heap.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "binding.h"
#include "consumer.h"
#include "devx_cmd.h"
#include "kernel_file.h"
#include "mover.h"
#include "test.h"
#include "umad.h"

#define BUF_PAGES 4
#define UMEM_PAGES 12	/* so many that the command that lists them is allocated */
#define MAX_COMMANDS 64
/* How often to repeat a verb that succeeded because a background command was refused instead. */
#define MAX_REPEATS 3
#define MAX_ALLOCATIONS 2000

/*
 * What a verb works on. All of it is created before the call under test, so that this call is a
 * single system call.
 */
struct env {
	struct uv uv;
	uint32_t pd, pd2;
	struct uv_cq cq, cq2;
	struct uv_mem qp_mem, srq_mem;
	struct uv_srq srq;
	uint32_t xrcd, opened;
	struct uv_qp_req qp_req;
	struct uv_qp qp;
	struct ib_uverbs_reg_mr_resp mr;
	struct uv_uar uar;
	struct uv_dm dm;
	uint32_t dm_mr;
	struct ib_uverbs_alloc_mw_resp mw;
	int dmabuf;
	uint32_t dmabuf_mr, dmabuf_lkey;
	uint32_t new_pd, new_ah;
	uint32_t devx_obj, devx_num, devx_pdn;
	int devx_file;
	uint32_t rate;
	struct devx_umem umem;
	uint32_t cqn;
	struct ib_uverbs_create_cq_resp new_cq;
	struct mlx5_ib_create_cq cq_drv;
	uint8_t *buf;
	void *map;
	int fd;
	struct agent agent;
	unsigned int next_wc;
};

struct verb {
	int (*prep)(struct env *e);	/* before each try */
	int (*act)(struct env *e);	/* the system call under test */
	int (*undo)(struct env *e);	/* after an act that succeeded */
	int (*fini)(struct env *e);	/* undoes prep */
	bool lenient;			/* may succeed although a command was refused */
	bool answers_last;		/* ib_core copies the answer when all is done: -EFAULT then */
};

/* --- The verbs -------------------------------------------------------------------------------- */

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

static int fini_fd(struct env *e)
{
	return close(e->fd) ? -errno : 0;
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
			ret = uv_reg_mr(e->fd, e->new_pd, e->buf, BUF_PAGES * UV_PAGE, (uintptr_t)e->buf,
					IBV_ACCESS_LOCAL_WRITE, &e->mr);
	}
	return ret;
}

static int prep_left(struct env *e)
{
	return prep_fd(e) ?: get_context(e, 0) ?: uv_mem_alloc(&e->qp_mem, 2 * UV_PAGE) ?: create_left(e);
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

static int act_reg_mr(struct env *e)
{
	return uv_reg_mr(e->uv.fd, e->pd, e->buf, BUF_PAGES * UV_PAGE, (uintptr_t)e->buf,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, &e->mr);
}

static int act_reg_paged(struct env *e)
{
	return uv_reg_mr(e->uv.fd, e->pd, e->buf, BUF_PAGES * UV_PAGE, (uintptr_t)e->buf,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND, &e->mr);
}

static int act_reg_implicit(struct env *e)
{
	return uv_reg_mr(e->uv.fd, e->pd, NULL, UINT64_MAX, 0,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND, &e->mr);
}

static int act_dereg_mr(struct env *e)
{
	return uv_dereg_mr(e->uv.fd, e->mr.mr_handle);
}

static int rereg_mr(struct env *e, uint32_t flags, uint64_t pages)
{
	struct ib_uverbs_rereg_mr req = {
		.mr_handle = e->mr.mr_handle, .flags = flags, .start = (uintptr_t)e->buf,
		.hca_va = (uintptr_t)e->buf, .length = pages * UV_PAGE, .pd_handle = e->pd2,
		.access_flags = IBV_ACCESS_LOCAL_WRITE,
	};
	struct ib_uverbs_rereg_mr_resp resp;

	return uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_REREG_MR, &req, sizeof(req), &resp, sizeof(resp),
		      NULL,
		      0, NULL, 0);
}

static int act_rereg_access(struct env *e)
{
	return rereg_mr(e, IBV_REREG_MR_CHANGE_ACCESS, 0);
}

static int act_rereg_pd(struct env *e)
{
	return rereg_mr(e, IBV_REREG_MR_CHANGE_PD, 0);
}

static int act_rereg_translation(struct env *e)
{
	return rereg_mr(e, IBV_REREG_MR_CHANGE_TRANSLATION, BUF_PAGES - 1);
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

static int prep_srq(struct env *e)
{
	return uv_mem_alloc(&e->srq_mem, UV_PAGE);
}

static int act_create_srq(struct env *e)
{
	struct mlx5_ib_create_srq drv = {
		.buf_addr = (uintptr_t)e->srq_mem.buf, .db_addr = (uintptr_t)e->srq_mem.dbr,
	};

	e->srq = (struct uv_srq){ .max_wr = 127, .max_sge = 1 };
	return uv_create_srq(e->uv.fd, e->pd, &drv, sizeof(drv), &e->srq);
}

static int act_destroy_srq(struct env *e)
{
	return uv_destroy_srq(e->uv.fd, e->srq.handle);
}

static int fini_srq(struct env *e)
{
	uv_mem_free(&e->srq_mem);
	return 0;
}

static int prep_created_srq(struct env *e)
{
	return prep_srq(e) ?: act_create_srq(e);
}

static int fini_created_srq(struct env *e)
{
	return act_destroy_srq(e) ?: fini_srq(e);
}

static int act_modify_srq(struct env *e)
{
	return uv_modify_srq(e->uv.fd, e->srq.handle, IBV_SRQ_LIMIT, 0, 5);
}

static int act_query_srq(struct env *e)
{
	struct ib_uverbs_query_srq_resp resp;

	return uv_query_srq(e->uv.fd, e->srq.handle, &resp);
}

static int act_open_xrcd(struct env *e)
{
	return uv_open_xrcd(e->uv.fd, -1, O_CREAT, &e->xrcd);
}

static int act_close_xrcd(struct env *e)
{
	return uv_close_xrcd(e->uv.fd, e->xrcd);
}

static int act_open_named_xrcd(struct env *e)
{
	return uv_open_xrcd(e->uv.fd, e->fd, O_CREAT, &e->xrcd);
}

static int prep_file(struct env *e)
{
	e->fd = memfd_create("xrc", 0);
	return e->fd < 0 ? -errno : 0;
}

static int prep_named_xrcd(struct env *e)
{
	return prep_file(e) ?: act_open_named_xrcd(e);
}

static int fini_named_xrcd(struct env *e)
{
	return act_close_xrcd(e) ?: fini_fd(e);
}

static int prep_xrc_srq(struct env *e)
{
	return act_open_xrcd(e) ?: prep_srq(e);
}

static int act_create_xrc_srq(struct env *e)
{
	struct mlx5_ib_create_srq drv = {
		.buf_addr = (uintptr_t)e->srq_mem.buf, .db_addr = (uintptr_t)e->srq_mem.dbr,
		.uidx = uv_uidx(),
	};

	e->srq = (struct uv_srq){
		.type = IB_UVERBS_SRQT_XRC, .xrcd = e->xrcd, .cq = e->cq.handle,
		.max_wr = 127, .max_sge = 1,
	};
	return uv_create_xsrq(e->uv.fd, e->pd, &drv, sizeof(drv), &e->srq);
}

static int fini_xrc_srq(struct env *e)
{
	return fini_srq(e) ?: act_close_xrcd(e);
}

static int prep_created_xrc_srq(struct env *e)
{
	return prep_xrc_srq(e) ?: act_create_xrc_srq(e);
}

static int fini_created_xrc_srq(struct env *e)
{
	return act_destroy_srq(e) ?: fini_xrc_srq(e);
}

static int prep_qp_type(struct env *e, enum ibv_qp_type type)
{
	int ret = uv_mem_alloc(&e->qp_mem, 2 * UV_PAGE);

	uv_qp_req_init(&e->qp_req, e->pd, e->cq.handle, type);
	e->qp_req.drv.buf_addr = (uintptr_t)e->qp_mem.buf;
	e->qp_req.drv.db_addr = (uintptr_t)e->qp_mem.dbr;
	return ret;
}

static int prep_rc(struct env *e)
{
	return prep_qp_type(e, IBV_QPT_RC);
}

static int prep_uc(struct env *e)
{
	return prep_qp_type(e, IBV_QPT_UC);
}

static int prep_ud(struct env *e)
{
	return prep_qp_type(e, IBV_QPT_UD);
}

static int act_create_qp(struct env *e)
{
	return uv_create_qp_raw(e->uv.fd, &e->qp_req, &e->qp);
}

static int act_destroy_qp(struct env *e)
{
	return uv_destroy_qp_handle(e->uv.fd, e->qp.handle);
}

static int fini_qp(struct env *e)
{
	uv_mem_free(&e->qp_mem);
	return 0;
}

static int prep_created_qp(struct env *e)
{
	return prep_rc(e) ?: act_create_qp(e);
}

static int fini_created_qp(struct env *e)
{
	return act_destroy_qp(e) ?: fini_qp(e);
}

static int prep_created_ud(struct env *e)
{
	return prep_ud(e) ?: act_create_qp(e);
}

static int change_mcast(struct env *e, uint32_t cmd)
{
	struct ib_uverbs_attach_mcast req = {
		.gid = { 0xff, 0x12, 0xa0, 0x1b }, .qp_handle = e->qp.handle, .mlid = 0xc777,
	};

	return uv_cmd(e->uv.fd, cmd, &req, sizeof(req), NULL, 0, NULL, 0, NULL, 0);
}

/*
 * Detaching is no verb of these tests, because ib_core (7.2) does not repeat what the driver refuses. If
 * ib_core cannot query the queue pair's state, it looks at the ports instead.
 */
static int act_attach_mcast(struct env *e)
{
	return change_mcast(e, IB_USER_VERBS_CMD_ATTACH_MCAST);
}

static int act_detach_mcast(struct env *e)
{
	return change_mcast(e, IB_USER_VERBS_CMD_DETACH_MCAST);
}

static int prep_srq_qp(struct env *e)
{
	int ret = prep_created_srq(e) ?: prep_rc(e);

	e->qp_req.core.is_srq = 1;
	e->qp_req.core.srq_handle = e->srq.handle;
	e->qp_req.drv.rq_wqe_count = 0;
	e->qp_req.drv.rq_wqe_shift = 0;
	return ret;
}

static int fini_srq_qp(struct env *e)
{
	return fini_qp(e) ?: fini_created_srq(e);
}

static int qp_to_init(struct env *e)
{
	struct ib_uverbs_modify_qp req = {
		.qp_handle = e->qp.handle, .qp_state = IBV_QPS_INIT, .port_num = 1,
		.attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	};

	return uv_modify_qp(e->uv.fd, &req);
}

static int qp_to_rtr(struct env *e)
{
	struct ib_uverbs_modify_qp req = {
		.qp_handle = e->qp.handle, .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = e->qp.qpn, .dest = { .dlid = 1, .port_num = 1 },
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	};

	return uv_modify_qp(e->uv.fd, &req);
}

static int qp_to_rts(struct env *e)
{
	struct ib_uverbs_modify_qp req = {
		.qp_handle = e->qp.handle, .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1,
		.attr_mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
	};

	return uv_modify_qp(e->uv.fd, &req);
}

static int qp_to_state(struct env *e, enum ibv_qp_state state)
{
	struct ib_uverbs_modify_qp req = {
		.qp_handle = e->qp.handle, .qp_state = state, .attr_mask = IBV_QP_STATE,
	};

	return uv_modify_qp(e->uv.fd, &req);
}

static int qp_to_err(struct env *e)
{
	return qp_to_state(e, IBV_QPS_ERR);
}

static int qp_to_reset(struct env *e)
{
	return qp_to_state(e, IBV_QPS_RESET);
}

static int prep_init_qp(struct env *e)
{
	return prep_created_qp(e) ?: qp_to_init(e);
}

static int prep_rtr_qp(struct env *e)
{
	return prep_init_qp(e) ?: qp_to_rtr(e);
}

static int prep_rts_qp(struct env *e)
{
	return prep_rtr_qp(e) ?: qp_to_rts(e);
}

/* An XRC requester is a queue pair without a receive queue, a target one without any queue. */
static int prep_xrc_ini(struct env *e)
{
	return prep_qp_type(e, IBV_QPT_XRC_SEND);
}

static int prep_xrc_tgt(struct env *e)
{
	int ret = act_open_xrcd(e);

	memset(&e->qp_req, 0, sizeof(e->qp_req));
	e->qp_req.core.qp_type = IBV_QPT_XRC_RECV;
	e->qp_req.core.pd_handle = e->xrcd;
	e->qp_req.drv_len = sizeof(e->qp_req.drv);
	return ret;
}

static int prep_created_xrc_ini(struct env *e)
{
	return prep_xrc_ini(e) ?: act_create_qp(e);
}

static int prep_created_xrc_tgt(struct env *e)
{
	return prep_xrc_tgt(e) ?: act_create_qp(e);
}

static int fini_created_xrc_tgt(struct env *e)
{
	return act_destroy_qp(e) ?: act_close_xrcd(e);
}

static int act_open_qp(struct env *e)
{
	struct ib_uverbs_open_qp req = {
		.pd_handle = e->xrcd, .qpn = e->qp.qpn, .qp_type = IBV_QPT_XRC_RECV,
	};
	struct ib_uverbs_create_qp_resp resp = {};
	int ret;

	ret = uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_OPEN_QP, &req, sizeof(req), &resp, sizeof(resp),
		     NULL, 0, NULL, 0);
	e->opened = resp.qp_handle;
	return ret;
}

static int act_close_qp(struct env *e)
{
	return uv_destroy_qp_handle(e->uv.fd, e->opened);
}

static int prep_init_xrc_ini(struct env *e)
{
	return prep_created_xrc_ini(e) ?: qp_to_init(e);
}

static int prep_rtr_xrc_ini(struct env *e)
{
	return prep_init_xrc_ini(e) ?: qp_to_rtr(e);
}

static int prep_rts_xrc_ini(struct env *e)
{
	return prep_rtr_xrc_ini(e) ?: qp_to_rts(e);
}

static int prep_init_xrc_tgt(struct env *e)
{
	return prep_created_xrc_tgt(e) ?: qp_to_init(e);
}

static int prep_rtr_xrc_tgt(struct env *e)
{
	return prep_init_xrc_tgt(e) ?: qp_to_rtr(e);
}

static int act_query_qp(struct env *e)
{
	struct ib_uverbs_query_qp req = { .qp_handle = e->qp.handle, .attr_mask = IBV_QP_STATE };
	struct ib_uverbs_query_qp_resp resp;

	return uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_QUERY_QP, &req, sizeof(req), &resp, sizeof(resp),
		      NULL,
		      0, NULL, 0);
}

static int act_create_ah(struct env *e)
{
	struct ib_uverbs_create_ah req = { .pd_handle = e->pd,
					   .attr = { .dlid = 1, .port_num = 1 } };
	struct ib_uverbs_create_ah_resp resp = {};
	int ret;

	ret = uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_CREATE_AH, &req, sizeof(req), &resp, sizeof(resp),
		     NULL,
		     0, NULL, 0);
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
		      uv_mmap_off(MLX5_IB_MMAP_REGULAR_PAGE, 2));
	return e->map == MAP_FAILED ? -errno : 0;
}

/* The firmware's status as the errno that verbs make of it. */
static int errno_of_status(const struct devx_cmd *cmd, int ret)
{
	if (ret != -EREMOTEIO)
		return ret;
	switch (cmd->out[0]) {
	case 0x1:
		return -EIO;
	case 0x3:
		return -EINVAL;
	case 0x8:
		return -ENOMEM;
	default:
		return -EREMOTEIO;
	}
}

static int prep_devx(struct env *e)
{
	return uv_open_devx(&e->uv);
}

static int act_devx_create(struct env *e)
{
	struct devx_cmd cmd;
	int ret;

	devx_start(&cmd, DEVX_ALLOC_Q_COUNTER);
	ret = errno_of_status(&cmd, devx_create(e->uv.fd, &cmd, &e->devx_obj));
	e->devx_num = devx_get(&cmd, 8) & 0xff;
	return ret;
}

static int act_devx_destroy(struct env *e)
{
	return devx_destroy(e->uv.fd, e->devx_obj);
}

static int prep_devx_obj(struct env *e)
{
	return prep_devx(e) ?: act_devx_create(e);
}

static int act_devx_general(struct env *e)
{
	struct devx_cmd cmd;

	devx_start(&cmd, DEVX_QUERY_HCA_CAP);
	devx_put(&cmd, 4, 1);
	cmd.in_len = 16;
	return errno_of_status(&cmd, devx_general(e->uv.fd, &cmd));
}

static int act_reg_umem(struct env *e)
{
	e->umem = (struct devx_umem){
		.addr = (uintptr_t)e->buf, .len = UMEM_PAGES * UV_PAGE,
		.access = IBV_ACCESS_LOCAL_WRITE, .bitmap = UV_PAGE,
	};
	return devx_reg_umem(e->uv.fd, &e->umem);
}

static int act_dereg_umem(struct env *e)
{
	return devx_dereg_umem(e->uv.fd, e->umem.handle);
}

static int prep_umem(struct env *e)
{
	return prep_devx(e) ?: act_reg_umem(e);
}

static int fini_devx(struct env *e)
{
	uv_close(&e->uv);
	return 0;
}

static int act_open_channel(struct env *e)
{
	e->devx_file = devx_open_channel(e->uv.fd, 0);
	return e->devx_file < 0 ? e->devx_file : 0;
}

static int act_open_cmd_file(struct env *e)
{
	e->devx_file = devx_open_cmd_file(e->uv.fd);
	return e->devx_file < 0 ? e->devx_file : 0;
}

static int close_devx_file(struct env *e)
{
	return close(e->devx_file) ? -errno : 0;
}

static int prep_channel(struct env *e)
{
	return prep_devx(e) ?: act_open_channel(e);
}

static int act_subscribe(struct env *e)
{
	const struct devx_subscription s = {
		.channel = e->devx_file, .types = { DEVX_EVENT_PORT_CHANGE }, .len = 2,
	};

	return devx_subscribe(e->uv.fd, &s);
}

static int fini_devx_file(struct env *e)
{
	return close_devx_file(e) ?: fini_devx(e);
}

static int prep_cmd_file(struct env *e)
{
	return prep_devx_obj(e) ?: act_open_cmd_file(e);
}

/* Send the command and read its answer, which has what firmware says. */
static int act_query_async(struct env *e)
{
	struct { uint64_t wr_id; uint8_t out[DEVX_OUT_BYTES]; } answer = { .wr_id = 1 };
	struct devx_cmd cmd;
	int ret;

	devx_start(&cmd, DEVX_QUERY_Q_COUNTER);
	devx_put(&cmd, 0x1c, e->devx_num);
	ret = devx_query_async(e->uv.fd, e->devx_obj, &cmd, sizeof(answer.out), e->devx_file, 2);
	if (ret)
		return ret;
	/* An answer that could not be copied stays. */
	if (read(e->devx_file, &answer, sizeof(answer)) < 0 &&
	    (errno != EFAULT || read(e->devx_file, &answer, sizeof(answer)) < 0))
		return -errno;
	if (answer.wr_id != 2)
		return -EPROTO;
	memcpy(cmd.out, answer.out, sizeof(cmd.out));
	return cmd.out[0] ? errno_of_status(&cmd, -EREMOTEIO) : 0;
}

/* A key over other keys, which the driver enters in a table of its own. */
static int act_devx_create_mkey(struct env *e)
{
	struct devx_cmd cmd;

	devx_start(&cmd, DEVX_CREATE_MKEY);
	devx_put(&cmd, 0x10, 0x40008600);	/* free, umr_en, lr, access_mode KLM */
	devx_put(&cmd, 0x14, 0xffffff00);	/* no QP */
	devx_put(&cmd, 0x1c, e->devx_pdn);
	devx_put(&cmd, 0x44, 4);		/* translations_octword_size */
	return errno_of_status(&cmd, devx_create(e->uv.fd, &cmd, &e->devx_obj));
}

static int prep_devx_pd(struct env *e)
{
	return prep_devx(e) ?: uv_alloc_pd(e->uv.fd, &e->new_pd, &e->devx_pdn);
}

static int prep_devx_mkey(struct env *e)
{
	return prep_devx_pd(e) ?: act_devx_create_mkey(e);
}

static int act_alloc_rate(struct env *e)
{
	return uv_alloc_rate(e->uv.fd, 1000, &e->rate);
}

static int act_free_rate(struct env *e)
{
	return uv_free_rate(e->uv.fd, e->rate);
}

static int prep_rate(struct env *e)
{
	return prep_devx(e) ?: act_alloc_rate(e);
}

static int fini_rate(struct env *e)
{
	return act_free_rate(e) ?: fini_devx(e);
}

static int act_query_eswitch_port(struct env *e)
{
	return uv_query_eswitch_port(e->uv.fd, 1);
}

/* A dynamic UAR is not freed when it is unmapped but with its context, so each try opens one. */
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

static int act_alloc_dm(struct env *e)
{
	return uv_alloc_dm(e->uv.fd, 100, 7, &e->dm);
}

static int act_free_dm(struct env *e)
{
	return uv_free_dm(e->uv.fd, e->dm.handle);
}

static int act_map_dm_op(struct env *e)
{
	uint64_t offset;
	uint16_t idx;

	return uv_map_dm_op(e->uv.fd, e->dm.handle, 0, &offset, &idx);
}

static int prep_dm_with_op(struct env *e)
{
	return act_alloc_dm(e) ?: act_map_dm_op(e);
}

static int act_reg_dm_mr(struct env *e)
{
	return uv_reg_dm_mr(e->uv.fd, e->pd, e->dm.handle, 0, 100,
			    IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE, &e->dm_mr);
}

static int act_dereg_dm_mr(struct env *e)
{
	return uv_dereg_mr(e->uv.fd, e->dm_mr);
}

static int prep_dm_mr(struct env *e)
{
	return act_alloc_dm(e) ?: act_reg_dm_mr(e);
}

static int fini_dm_mr(struct env *e)
{
	return act_dereg_dm_mr(e) ?: act_free_dm(e);
}

static int act_alloc_mw(struct env *e)
{
	struct ib_uverbs_alloc_mw req = { .pd_handle = e->pd, .mw_type = IBV_MW_TYPE_2 };

	return uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_ALLOC_MW, &req, sizeof(req), &e->mw,
		      sizeof(e->mw), NULL, 0, NULL, 0);
}

static int act_dealloc_mw(struct env *e)
{
	struct ib_uverbs_dealloc_mw req = { .mw_handle = e->mw.mw_handle };

	return uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_DEALLOC_MW, &req, sizeof(req), NULL, 0, NULL, 0,
		      NULL, 0);
}

static int prep_dmabuf(struct env *e)
{
	struct dma_heap_allocation_data req = { .len = 4 * UV_PAGE, .fd_flags = O_RDWR };
	int heap = open("/dev/dma_heap/system", O_RDWR);
	int ret;

	if (heap < 0)
		return -errno;
	ret = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &req) ? -errno : 0;
	close(heap);
	e->dmabuf = req.fd;
	return ret;
}

static int act_reg_dmabuf_mr(struct env *e)
{
	return uv_reg_dmabuf_mr(e->uv.fd, e->pd, 0, 4 * UV_PAGE, 0, e->dmabuf,
				IBV_ACCESS_LOCAL_WRITE, &e->dmabuf_mr, &e->dmabuf_lkey);
}

static int act_dereg_dmabuf_mr(struct env *e)
{
	return uv_dereg_mr(e->uv.fd, e->dmabuf_mr);
}

static int fini_dmabuf(struct env *e)
{
	return close(e->dmabuf) ? -errno : 0;
}

static int prep_dmabuf_mr(struct env *e)
{
	return prep_dmabuf(e) ?: act_reg_dmabuf_mr(e);
}

static int fini_dmabuf_mr(struct env *e)
{
	return act_dereg_dmabuf_mr(e) ?: fini_dmabuf(e);
}

/* The same over a dma-buf that its exporter can move: the region pins nothing. */
static int prep_moving(struct env *e)
{
	int ret = mover_load();

	if (ret)
		return ret;
	e->dmabuf = mover_create(4 * UV_PAGE);
	return e->dmabuf < 0 ? e->dmabuf : 0;
}

static int prep_moving_mr(struct env *e)
{
	return prep_moving(e) ?: act_reg_dmabuf_mr(e);
}

static int prep_moved_mr(struct env *e)
{
	return prep_moving_mr(e) ?: mover_move(e->dmabuf, 0, 0);
}

/* Map the memory after a move, as a page fault does, but in this process. */
static int act_map_moved(struct env *e)
{
	return uv_advise_mr(e->uv.fd, e->pd, e->dmabuf_lkey, 0, UV_PAGE);
}

/* Move the memory: the driver must first unmap it from the device. */
static int act_move(struct env *e)
{
	return mover_move(e->dmabuf, 0, 0);
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

/* --- Kernel consumers: the module makes objects of a kind and destroys them, in one system call -- */

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

/* --- Management datagrams: the driver asks firmware for the answer of the port's own agents -------- */

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

/* --- One fixture, with a variant for each verb ------------------------------------------------- */

FIXTURE(verb) {
	struct env e;
	bool own_context;
};

FIXTURE_VARIANT(verb) {
	struct verb v;
	const char *needs;	/* a general capability that the device must have, or "umad", or NULL */
	bool opens_itself;	/* prep opens the context */
	bool moves;		/* works on memory that moves: needs the module dmabuf_mover */
	bool mlx5_ib_cannot;	/* mlx5_ib does not support the verb without on-demand paging */
	bool only_bluebell;	/* promises that a refused command leaves nothing behind */
	bool no_allocations;	/* the sweep of allocations leaves the verb out */
};

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

FIXTURE_VARIANT_ADD(verb, reg_mr) {
	.v = { NULL, act_reg_mr, act_dereg_mr, NULL },
};

FIXTURE_VARIANT_ADD(verb, dereg_mr) {
	.v = { act_reg_mr, act_dereg_mr, act_reg_mr, act_dereg_mr, true },
};

FIXTURE_VARIANT_ADD(verb, reg_paged_mr) {
	.needs = "pg",
	.v = { NULL, act_reg_paged, act_dereg_mr, NULL },
};

FIXTURE_VARIANT_ADD(verb, dereg_paged_mr) {
	.needs = "pg",
	.v = { act_reg_paged, act_dereg_mr, act_reg_paged, act_dereg_mr, true },
};

FIXTURE_VARIANT_ADD(verb, reg_implicit_mr) {
	.needs = "pg",
	.v = { NULL, act_reg_implicit, act_dereg_mr, NULL },
};

FIXTURE_VARIANT_ADD(verb, dereg_implicit_mr) {
	.needs = "pg",
	.v = { act_reg_implicit, act_dereg_mr, act_reg_implicit, act_dereg_mr, true },
};

FIXTURE_VARIANT_ADD(verb, rereg_mr_access) {
	.v = { act_reg_mr, act_rereg_access, NULL, act_dereg_mr, .answers_last = true },
};

FIXTURE_VARIANT_ADD(verb, rereg_mr_pd) {
	.v = { act_reg_mr, act_rereg_pd, NULL, act_dereg_mr, .answers_last = true },
};

FIXTURE_VARIANT_ADD(verb, rereg_mr_translation) {
	.only_bluebell = true,
	.v = { act_reg_mr, act_rereg_translation, NULL, act_dereg_mr,
	       .answers_last = true },
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

FIXTURE_VARIANT_ADD(verb, create_qp_rc) {
	.v = { prep_rc, act_create_qp, act_destroy_qp, fini_qp },
};

FIXTURE_VARIANT_ADD(verb, create_qp_uc) {
	.needs = "uc",
	.v = { prep_uc, act_create_qp, act_destroy_qp, fini_qp },
};

FIXTURE_VARIANT_ADD(verb, create_qp_ud) {
	.v = { prep_ud, act_create_qp, act_destroy_qp, fini_qp },
};

FIXTURE_VARIANT_ADD(verb, attach_mcast) {
	.v = { prep_created_ud, act_attach_mcast, act_detach_mcast, fini_created_qp,
	       .lenient = true },
};

FIXTURE_VARIANT_ADD(verb, create_qp_with_srq) {
	.v = { prep_srq_qp, act_create_qp, act_destroy_qp, fini_srq_qp },
};

FIXTURE_VARIANT_ADD(verb, create_srq) {
	.v = { prep_srq, act_create_srq, act_destroy_srq, fini_srq },
};

FIXTURE_VARIANT_ADD(verb, modify_srq) {
	.v = { prep_created_srq, act_modify_srq, NULL, fini_created_srq },
};

FIXTURE_VARIANT_ADD(verb, query_srq) {
	.v = { prep_created_srq, act_query_srq, NULL, fini_created_srq },
};

FIXTURE_VARIANT_ADD(verb, destroy_srq) {
	.v = { prep_created_srq, act_destroy_srq, act_create_srq, fini_created_srq,
	       .lenient = true, .answers_last = true },
};

FIXTURE_VARIANT_ADD(verb, destroy_qp) {
	.only_bluebell = true,
	.v = { prep_created_qp, act_destroy_qp, act_create_qp, fini_created_qp,
	       .lenient = true, .answers_last = true },
};

FIXTURE_VARIANT_ADD(verb, query_qp) {
	.v = { prep_init_qp, act_query_qp, NULL, fini_created_qp },
};

FIXTURE_VARIANT_ADD(verb, modify_qp_reset_to_init) {
	.v = { prep_created_qp, qp_to_init, NULL, fini_created_qp },
};

FIXTURE_VARIANT_ADD(verb, modify_qp_init_to_rtr) {
	.v = { prep_init_qp, qp_to_rtr, NULL, fini_created_qp },
};

FIXTURE_VARIANT_ADD(verb, modify_qp_rtr_to_rts) {
	.v = { prep_rtr_qp, qp_to_rts, NULL, fini_created_qp },
};

FIXTURE_VARIANT_ADD(verb, modify_qp_rts_to_err) {
	.v = { prep_rts_qp, qp_to_err, NULL, fini_created_qp },
};

FIXTURE_VARIANT_ADD(verb, modify_qp_rts_to_reset) {
	.v = { prep_rts_qp, qp_to_reset, NULL, fini_created_qp },
};

FIXTURE_VARIANT_ADD(verb, open_xrcd) {
	.needs = "xrc", .v = { NULL, act_open_xrcd, act_close_xrcd, NULL },
};

FIXTURE_VARIANT_ADD(verb, open_named_xrcd) {
	.needs = "xrc", .v = { prep_file, act_open_named_xrcd, act_close_xrcd, fini_fd },
};

/*
 * ib_core (7.2) does not expect that a driver refuses to free a domain. Bluebell repeats the command, keeps
 * what firmware insists on, and reports success.
 */
FIXTURE_VARIANT_ADD(verb, close_xrcd) {
	.needs = "xrc", .only_bluebell = true,
	.v = { act_open_xrcd, act_close_xrcd, act_open_xrcd, act_close_xrcd,
	       .lenient = true, .answers_last = true },
};

FIXTURE_VARIANT_ADD(verb, close_named_xrcd) {
	.needs = "xrc",
	.v = { prep_named_xrcd, act_close_xrcd, act_open_named_xrcd, fini_named_xrcd,
	       .lenient = true, .answers_last = true },
};

FIXTURE_VARIANT_ADD(verb, create_xrc_srq) {
	.needs = "xrc", .v = { prep_xrc_srq, act_create_xrc_srq, act_destroy_srq, fini_xrc_srq },
};

FIXTURE_VARIANT_ADD(verb, modify_xrc_srq) {
	.needs = "xrc", .v = { prep_created_xrc_srq, act_modify_srq, NULL, fini_created_xrc_srq },
};

FIXTURE_VARIANT_ADD(verb, query_xrc_srq) {
	.needs = "xrc", .v = { prep_created_xrc_srq, act_query_srq, NULL, fini_created_xrc_srq },
};

FIXTURE_VARIANT_ADD(verb, destroy_xrc_srq) {
	.needs = "xrc",
	.v = { prep_created_xrc_srq, act_destroy_srq, act_create_xrc_srq, fini_created_xrc_srq,
	       .lenient = true, .answers_last = true },
};

FIXTURE_VARIANT_ADD(verb, create_qp_xrc_ini) {
	.needs = "xrc", .v = { prep_xrc_ini, act_create_qp, act_destroy_qp, fini_qp },
};

/* The allocations are left out, because ib_core (7.2) loses the domain if one of its own fails. */
FIXTURE_VARIANT_ADD(verb, create_qp_xrc_tgt) {
	.needs = "xrc", .no_allocations = true,
	.v = { prep_xrc_tgt, act_create_qp, act_destroy_qp, act_close_xrcd },
};

FIXTURE_VARIANT_ADD(verb, open_qp_xrc_tgt) {
	.needs = "xrc", .v = { prep_created_xrc_tgt, act_open_qp, act_close_qp, fini_created_xrc_tgt },
};

FIXTURE_VARIANT_ADD(verb, destroy_qp_xrc_ini) {
	.needs = "xrc", .only_bluebell = true,
	.v = { prep_created_xrc_ini, act_destroy_qp, act_create_qp, fini_created_qp,
	       .lenient = true, .answers_last = true },
};

/* ib_core (7.2) does not ask again for a target that the driver refuses to destroy. */
FIXTURE_VARIANT_ADD(verb, destroy_qp_xrc_tgt) {
	.needs = "xrc", .only_bluebell = true,
	.v = { prep_created_xrc_tgt, act_destroy_qp, act_create_qp, fini_created_xrc_tgt,
	       .lenient = true, .answers_last = true },
};

FIXTURE_VARIANT_ADD(verb, query_qp_xrc_tgt) {
	.needs = "xrc", .v = { prep_init_xrc_tgt, act_query_qp, NULL, fini_created_xrc_tgt },
};

FIXTURE_VARIANT_ADD(verb, modify_qp_xrc_ini_to_init) {
	.needs = "xrc", .v = { prep_created_xrc_ini, qp_to_init, NULL, fini_created_qp },
};

FIXTURE_VARIANT_ADD(verb, modify_qp_xrc_ini_to_rtr) {
	.needs = "xrc", .v = { prep_init_xrc_ini, qp_to_rtr, NULL, fini_created_qp },
};

FIXTURE_VARIANT_ADD(verb, modify_qp_xrc_ini_to_rts) {
	.needs = "xrc", .v = { prep_rtr_xrc_ini, qp_to_rts, NULL, fini_created_qp },
};

FIXTURE_VARIANT_ADD(verb, modify_qp_xrc_ini_to_err) {
	.needs = "xrc", .v = { prep_rts_xrc_ini, qp_to_err, NULL, fini_created_qp },
};

FIXTURE_VARIANT_ADD(verb, modify_qp_xrc_tgt_to_init) {
	.needs = "xrc", .v = { prep_created_xrc_tgt, qp_to_init, NULL, fini_created_xrc_tgt },
};

FIXTURE_VARIANT_ADD(verb, modify_qp_xrc_tgt_to_rtr) {
	.needs = "xrc", .v = { prep_init_xrc_tgt, qp_to_rtr, NULL, fini_created_xrc_tgt },
};

FIXTURE_VARIANT_ADD(verb, modify_qp_xrc_tgt_to_rts) {
	.needs = "xrc", .v = { prep_rtr_xrc_tgt, qp_to_rts, NULL, fini_created_xrc_tgt },
};

FIXTURE_VARIANT_ADD(verb, modify_qp_xrc_tgt_to_reset) {
	.needs = "xrc", .v = { prep_rtr_xrc_tgt, qp_to_reset, NULL, fini_created_xrc_tgt },
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

FIXTURE_VARIANT_ADD(verb, alloc_dm) {
	.needs = "device_memory",
	.v = { NULL, act_alloc_dm, act_free_dm, NULL },
};

FIXTURE_VARIANT_ADD(verb, free_dm) {
	.needs = "device_memory",
	.only_bluebell = true,
	.v = { act_alloc_dm, act_free_dm, act_alloc_dm, act_free_dm, true },
};

FIXTURE_VARIANT_ADD(verb, dm_map_op_addr) {
	.needs = "device_memory",
	.v = { act_alloc_dm, act_map_dm_op, NULL, act_free_dm },
};

FIXTURE_VARIANT_ADD(verb, free_dm_with_operation) {
	.needs = "device_memory",
	.only_bluebell = true,
	.v = { prep_dm_with_op, act_free_dm, prep_dm_with_op, act_free_dm, true },
};

FIXTURE_VARIANT_ADD(verb, reg_dm_mr) {
	.needs = "device_memory",
	.v = { act_alloc_dm, act_reg_dm_mr, act_dereg_dm_mr, act_free_dm },
};

FIXTURE_VARIANT_ADD(verb, dereg_dm_mr) {
	.needs = "device_memory",
	.v = { prep_dm_mr, act_dereg_dm_mr, act_reg_dm_mr, fini_dm_mr, true },
};

/* Nobody is told what is refused, and the objects are gone: ib_core tries again. */
FIXTURE_VARIANT_ADD(verb, close) {
	.only_bluebell = true,
	.v = { prep_left, fini_fd, undo_close, fini_left, .lenient = true },
};

FIXTURE_VARIANT_ADD(verb, alloc_mw) {
	.v = { NULL, act_alloc_mw, act_dealloc_mw, NULL },
};

FIXTURE_VARIANT_ADD(verb, dealloc_mw) {
	.v = { act_alloc_mw, act_dealloc_mw, act_alloc_mw, act_dealloc_mw, true },
};

FIXTURE_VARIANT_ADD(verb, reg_dmabuf_mr) {
	.mlx5_ib_cannot = true,
	.v = { prep_dmabuf, act_reg_dmabuf_mr, act_dereg_dmabuf_mr, fini_dmabuf },
};

FIXTURE_VARIANT_ADD(verb, dereg_dmabuf_mr) {
	.mlx5_ib_cannot = true,
	.v = { prep_dmabuf_mr, act_dereg_dmabuf_mr, act_reg_dmabuf_mr, fini_dmabuf_mr, true },
};

FIXTURE_VARIANT_ADD(verb, reg_moving_mr) {
	.moves = true, .v = { prep_moving, act_reg_dmabuf_mr, act_dereg_dmabuf_mr, fini_dmabuf },
};

FIXTURE_VARIANT_ADD(verb, dereg_moving_mr) {
	.moves = true,
	.v = { prep_moving_mr, act_dereg_dmabuf_mr, act_reg_dmabuf_mr, fini_dmabuf_mr },
};

FIXTURE_VARIANT_ADD(verb, map_moved_mr) {
	.needs = "pg",
	.moves = true, .v = { prep_moved_mr, act_map_moved, NULL, fini_dmabuf_mr },
};

FIXTURE_VARIANT_ADD(verb, move) {
	.needs = "pg",
	.moves = true, .v = { prep_moving_mr, act_move, NULL, fini_dmabuf_mr },
};

/*
 * Whatever is refused, objects that a kernel consumer destroys are gone for it. What firmware has kept
 * is destroyed before other objects are, so a second run leaves nothing.
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
	.needs = "umad",
	.v = { prep_agent, act_send_smp, undo_send_smp, fini_agent, .lenient = true },
};

FIXTURE_VARIANT_ADD(verb, read_port_counter) {
	.v = { prep_counter, act_read_counter, NULL, fini_fd, .lenient = true },
};

FIXTURE_VARIANT_ADD(verb, devx_general_cmd) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx, act_devx_general, NULL, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_obj_create) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx, act_devx_create, act_devx_destroy, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_obj_destroy) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx_obj, act_devx_destroy, NULL, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_mkey_create) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx_pd, act_devx_create_mkey, act_devx_destroy, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_mkey_destroy) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx_mkey, act_devx_destroy, NULL, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, alloc_rate) {
	.needs = "qos", .opens_itself = true,
	.v = { prep_devx, act_alloc_rate, act_free_rate, fini_devx },
};

/* mlx5_core ignores the refusal, and gives the entry of the table to the next user. */
FIXTURE_VARIANT_ADD(verb, free_rate) {
	.needs = "qos", .opens_itself = true,
	.v = { prep_rate, act_free_rate, act_alloc_rate, fini_rate, true },
};

FIXTURE_VARIANT_ADD(verb, query_eswitch_port) {
	.v = { NULL, act_query_eswitch_port, NULL, NULL },
};

FIXTURE_VARIANT_ADD(verb, devx_umem_reg) {
	.needs = "log_max_umem", .opens_itself = true,
	.v = { prep_devx, act_reg_umem, act_dereg_umem, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_umem_dereg) {
	.needs = "log_max_umem", .opens_itself = true,
	.v = { prep_umem, act_dereg_umem, NULL, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_open_event_channel) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx, act_open_channel, close_devx_file, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_subscribe_event) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_channel, act_subscribe, NULL, fini_devx_file },
};

FIXTURE_VARIANT_ADD(verb, devx_open_cmd_file) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx, act_open_cmd_file, close_devx_file, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_query_async) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_cmd_file, act_query_async, NULL, fini_devx_file },
};

FIXTURE_VARIANT_ADD(verb, mmap_uar) {
	.v = { NULL, act_mmap_uar, undo_mmap, NULL },
};

FIXTURE_VARIANT_ADD(verb, mmap_alloc_wc) {
	.opens_itself = true, .v = { prep_wc, act_mmap_alloc_wc, NULL, fini_wc },
};

FIXTURE_SETUP(verb)
{
	struct env *e = &self->e;

	e->uv.fd = -1;
	e->buf = mmap(NULL, UMEM_PAGES * UV_PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(MAP_FAILED, e->buf);
	if (variant->opens_itself)
		return;
	ASSERT_EQ(0, uv_open(&e->uv));
	ASSERT_EQ(0, uv_alloc_pd(e->uv.fd, &e->pd, NULL));
	ASSERT_EQ(0, uv_alloc_pd(e->uv.fd, &e->pd2, NULL));
	ASSERT_EQ(0, uv_create_cq(e->uv.fd, 63, &e->cq));
}

/*
 * Whether a general capability can be used. For paging and XRC a verb is asked, because the driver may
 * not offer what the device has; for the others the emulated HCA.
 */
static bool device_can(const char *cap)
{
	struct ibv_context *ctx;
	bool has;

	if (!strcmp(cap, "umad"))
		return umad_is_there();
	if (strcmp(cap, "pg") && strcmp(cap, "xrc"))
		return hca_cap("general", cap);
	ctx = rdma_open_device();
	has = ctx && (*cap == 'x' ? rdma_has_xrc(ctx) : rdma_has_odp(ctx));
	if (ctx)
		ibv_close_device(ctx);
	return has;
}

/* Why a capability is missing, as the reason to skip a verb that needs it, or NULL if it is there. */
static const char *why_missing(const char *needs)
{
	static const char *const reasons[][2] = {
		{ "pg", "the device has no on-demand paging" },
		{ "uc", NO_UC },
		{ "xrc", NO_XRC },
		{ "device_memory", "the device has no device memory" },
		{ "cq_resize", "the device does not resize CQs" },
		{ "log_max_uctx", "the device has no user ids" },
		{ "umad", NO_UMAD },
		{ "log_max_umem", "the device has no umems" },
		{ "qos", "the device has no rates" },
	};
	size_t i;

	if (!needs || device_can(needs))
		return NULL;
	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (!strcmp(reasons[i][0], needs))
			return reasons[i][1];
	return needs;
}

FIXTURE_TEARDOWN(verb)
{
	uv_close(&self->e.uv);
}

/* Prepare, call, undo and clean up once, without a failure. */
static int run_verb_once(const struct verb *v, struct env *e)
{
	int ret = v->prep ? v->prep(e) : 0;

	ret = ret ?: v->act(e);
	if (!ret && v->undo)
		ret = v->undo(e);
	return ret ?: v->fini ? v->fini(e) : 0;
}

/* --- Every firmware command ------------------------------------------------------------------- */

/*
 * Background work that was refused a command tries again when a verb next starts it (the driver
 * replaces a key of its pool when a region takes one), and would be refused the command of the next
 * attempt, too. Let it succeed: it is over when the HCA has executed no command for a while.
 */
static int let_background_end(const struct verb *v, struct env *e)
{
	int ret = run_verb_once(v, e);
	long before;

	do {
		before = hca_commands(NULL);
		usleep(20000);
	} while (hca_commands(NULL) != before);
	return ret;
}

static const struct {
	const char *name;
	int err;
} statuses[] = {
	{ "LIM_ERR", -ENOMEM },
	{ "BAD_PARAM_ERR", -EINVAL },
	{ "INT_ERR", -EIO },
};

TEST_F(verb, each_refused_command_leaves_nothing)
{
	const struct verb *v = &variant->v;
	struct env *e = &self->e;
	unsigned int nth, s, repeats;
	bool in_background;
	long pinned;
	int ret, fired;

	if (why_missing(variant->needs))
		SKIP(return, "%s", why_missing(variant->needs));
	if (variant->mlx5_ib_cannot && driver_is("mlx5_ib") && run_verb_once(v, e) == -EOPNOTSUPP)
		SKIP(return, "mlx5_ib needs on-demand paging for this verb");
	if (variant->moves && mover_load() == -ENOENT)
		SKIP(return, NO_MOVER);
	if (variant->only_bluebell && !driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (v->act == act_mmap_alloc_wc) {
		ASSERT_EQ(0, v->prep(e));
		if (!has_blueflame(&e->uv))
			SKIP(return, NO_BLUEFLAME);
		ASSERT_EQ(0, v->fini(e));
	}
	/* The driver keeps some objects that it creates at first use: let it create them now. */
	ASSERT_EQ(0, run_verb_once(v, e));
	for (s = 0; s < ARRAY_SIZE(statuses); s++) {
		for (nth = 1, repeats = 0; nth < MAX_COMMANDS; nth++) {
			ASSERT_EQ(0, v->prep ? v->prep(e) : 0);
			ASSERT_EQ(0, hca_census_reset());
			pinned = uv_pinned_pages();
			ASSERT_EQ(0, hca_inject_cmd(nth, statuses[s].name));
			ret = v->act(e);
			fired = hca_inject_clear();
			ASSERT_LE(0, fired);
			in_background = fired && !ret && !v->lenient && repeats++ < MAX_REPEATS;
			if (in_background)
				nth--;
			else if (fired && !v->lenient)
				EXPECT_EQ(statuses[s].err, ret)
					TH_LOG("command %u refused with %s", nth, statuses[s].name);
			if (!fired)
				EXPECT_EQ(0, ret);
			if (!ret && v->undo)
				ASSERT_EQ(0, v->undo(e));
			if (ret || v->undo) {
				EXPECT_CENSUS_UNCHANGED() TH_LOG("command %u refused with %s", nth,
								 statuses[s].name);
				EXPECT_EQ(pinned, uv_pinned_pages());
			}
			ASSERT_EQ(0, v->fini ? v->fini(e) : 0);
			if (in_background)
				ASSERT_EQ(0, let_background_end(v, e));
			if (!fired)
				break;
		}
		ASSERT_GT(MAX_COMMANDS, nth);
	}
}

/* --- Every allocation ------------------------------------------------------------------------- */

static const char *const fault_dirs[] = { "failslab", "fail_page_alloc", "fail_usercopy" };

static void write_knob(const char *dir, const char *name, const char *val)
{
	char path[128];
	int ret;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", dir, name);
	ret = write_file(path, "%s", val);
	if (ret && ret != -ENOENT)
		fprintf(stderr, "# cannot write %s to %s: %s\n", val, path, strerror(-ret));
}

/* Let any kind of allocation fail, without a message; false if the kernel has no fault injection. */
static bool open_fail_nth(int *fd)
{
	char path[64];
	size_t i;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/fail-nth", syscall(SYS_gettid));
	*fd = open(path, O_RDWR);
	if (*fd < 0)
		return false;
	for (i = 0; i < ARRAY_SIZE(fault_dirs); i++) {
		write_knob(fault_dirs[i], "ignore-gfp-wait", "N");
		write_knob(fault_dirs[i], "ignore-gfp-highmem", "N");
		write_knob(fault_dirs[i], "verbose", "0");
	}
	return true;
}

static void fail_nth_set(int fd, unsigned int nth)
{
	char buf[16];
	int len = snprintf(buf, sizeof(buf), "%u", nth);

	/*
	 * The write itself may be the call whose allocation fails. That ends the injection, so the
	 * second attempt succeeds.
	 */
	if (pwrite(fd, buf, len, 0) != len && pwrite(fd, buf, len, 0) != len)
		fprintf(stderr, "# fail-nth: cannot write: %m\n");
}

/* Whether the n-th allocation was reached, and failed. */
static bool fail_nth_hit(int fd)
{
	char buf[16] = "";

	if (pread(fd, buf, sizeof(buf) - 1, 0) < 0)
		return false;
	return atoi(buf) == 0;
}

/*
 * Repeat a call that returned -EFAULT, either because its request could not be read, or because its
 * answer could not be written after the work was done. In the second case a destroy finds no object.
 */
static int repeat_act(const struct verb *v, struct env *e)
{
	int ret = v->act(e);

	return ret == -ENOENT ? 0 : ret;
}

TEST_F_TIMEOUT(verb, each_failed_allocation_leaves_nothing, 600)
{
	const struct verb *v = &variant->v;
	struct env *e = &self->e;
	unsigned int nth;
	long pinned;
	int ret, fd;
	bool hit;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (variant->no_allocations)
		SKIP(return, "ib_core does not survive the failure of its own allocations");
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (why_missing(variant->needs))
		SKIP(return, "%s", why_missing(variant->needs));
	if (variant->moves && mover_load() == -ENOENT)
		SKIP(return, NO_MOVER);
	if (!open_fail_nth(&fd))
		SKIP(return, "the kernel has no fault injection");
	ASSERT_EQ(0, run_verb_once(v, e));
	for (nth = 1; nth < MAX_ALLOCATIONS; nth++) {
		ASSERT_EQ(0, v->prep ? v->prep(e) : 0);
		ASSERT_EQ(0, hca_census_reset());
		pinned = uv_pinned_pages();
		fail_nth_set(fd, nth);
		ret = v->act(e);
		hit = fail_nth_hit(fd);
		fail_nth_set(fd, 0);
		/* A verb may succeed without the allocation, but must not fail for any other reason. */
		EXPECT_TRUE(!ret || hit) TH_LOG("allocation %u: %d", nth, ret);
		if (v->answers_last && ret == -EFAULT) {
			ret = repeat_act(v, e);
			ASSERT_EQ(0, ret) TH_LOG("after allocation %u", nth);
		}
		if (!ret && v->undo)
			ASSERT_EQ(0, v->undo(e));
		if (ret || v->undo) {
			EXPECT_CENSUS_UNCHANGED() TH_LOG("allocation %u failed", nth);
			EXPECT_EQ(pinned, uv_pinned_pages()) TH_LOG("allocation %u failed", nth);
		}
		ASSERT_EQ(0, v->fini ? v->fini(e) : 0);
		if (!hit)
			break;
	}
	close(fd);
	ASSERT_GT(MAX_ALLOCATIONS, nth);
}

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
 * Bind the driver while one of its first commands is refused, each of them in turn. If probing fails, the
 * driver must have destroyed the keys and queues of its own that it had created by then.
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
		/* Probing succeeded: what was refused is optional, or was created in the background. */
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
