// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What happens if the commands or allocations of a verb fail, see lib/fail_nth.h: queue pairs,
 * SRQs, XRC.
 */

#include <fcntl.h>

#include "fail_nth.h"

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

/*
 * Detaching is not tested here, because ib_core (7.2) does not detach again after the driver has
 * refused. If ib_core cannot query the queue pair's state, it looks at the ports instead.
 */
static int act_attach_mcast(struct env *e)
{
	return uv_change_mcast(e->uv.fd, IB_USER_VERBS_CMD_ATTACH_MCAST, e->qp.handle, 0);
}

static int act_detach_mcast(struct env *e)
{
	return uv_change_mcast(e->uv.fd, IB_USER_VERBS_CMD_DETACH_MCAST, e->qp.handle, 0);
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
		.dest_qp_num = e->qp.qpn,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	};

	port_uv_dest(&req.dest, 1);
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

/* An XRC requester is a queue pair without a receive queue, an XRC target one without any queue. */
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

/* --- The verbs ------------------------------------------------------------------------------ */

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
 * ib_core (7.2) does not expect that a driver refuses to free an XRC domain. Bluebell repeats a
 * refused DEALLOC_XRCD and reports success.
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

/*
 * Allocations do not fail here, because ib_core (7.2) loses the XRC domain if one of ib_core's own
 * allocations fails.
 */
FIXTURE_VARIANT_ADD(verb, create_qp_xrc_tgt) {
	.needs = "xrc", .no_allocations = true,
	.v = { prep_xrc_tgt, act_create_qp, act_destroy_qp, act_close_xrcd },
};

FIXTURE_VARIANT_ADD(verb, open_qp_xrc_tgt) {
	.needs = "xrc",
	.v = { prep_created_xrc_tgt, act_open_qp, act_close_qp, fini_created_xrc_tgt },
};

FIXTURE_VARIANT_ADD(verb, destroy_qp_xrc_ini) {
	.needs = "xrc", .only_bluebell = true,
	.v = { prep_created_xrc_ini, act_destroy_qp, act_create_qp, fini_created_qp,
	       .lenient = true, .answers_last = true },
};

/*
 * If the driver refused to destroy an XRC target, ib_core (7.2) would not try again. So Bluebell
 * repeats a refused command and reports success.
 */
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

TEST_HARNESS_MAIN
