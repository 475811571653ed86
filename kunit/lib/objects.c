// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Objects that a process creates by verbs. A table says of each object what must exist before it,
 * how it is created and destroyed, and how many commands create it.
 */

#include <linux/string.h>
#include <rdma/uverbs_ioctl.h>

#include "lib/buf.h"
#include "lib/share.h"
#include "lib/transport_domain.h"
#include "objects.h"
#include "verbs/mr.h"

/* Pages of mock_buffer(). */
#define CQ_BUF		0
#define QP_BUF		1
#define RECORDS		2
#define MR_START	3
#define RAW_SQ_BUF	6
#define SRQ_BUF		8

/**
 * objects_udata - prepare the driver data of a call
 * @o: objects
 * @in: the request
 * @inlen: bytes of @in
 * @outlen: bytes that the process has room for
 *
 * Return: the driver data, for the driver's function.
 */
struct ib_udata *objects_udata(struct objects *o, const void *in, size_t inlen, size_t outlen)
{
	u8 newer[256] = {};
	struct ib_udata *udata;

	if (o->newer_request) {
		KUNIT_ASSERT_LE(o->mock->test, inlen + sizeof(u64), sizeof(newer));
		memcpy(newer, in, inlen);
		in = newer;
		inlen += sizeof(u64);
		newer[inlen - 1] = 1;
		o->newer_request = false;
	}
	udata = mock_udata(o->mock, in, inlen, outlen);
	if (o->break_response)
		mock_break_answer(o->mock);
	return udata;
}

/* ---- contexts and domains --------------------------------------------------------------- */

static int alloc_ucontext(struct objects *o, const void *req, size_t len)
{
	struct mlx5_ib_ucontext *context = o->mock->context;

	int err;

	memset(context, 0, sizeof(*context));
	context->ibucontext.device = &o->mock->dev->ib_dev;
	err = mlx5_ib_alloc_ucontext(&context->ibucontext,
				     objects_udata(o, req, len,
						   sizeof(struct mlx5_ib_alloc_ucontext_resp)));
	/* Objects of a context without a user would count against no limit. */
	if (!err)
		KUNIT_EXPECT_NOT_NULL(o->mock->test, context->user);
	return err;
}

static int create_context_of(struct objects *o, u32 num_bfregs, u32 flags)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = num_bfregs,
		.num_low_latency_bfregs = 4,
		.flags = flags,
		.lib_caps = MLX5_LIB_CAP_4K_UAR,
		.max_cqe_version = 1,
	};

	return alloc_ucontext(o, &req, sizeof(req));
}

static int create_context(struct objects *o, const struct object_type *type)
{
	return create_context_of(o, 16, o->ctx_flags);
}

static int create_devx_context(struct objects *o, const struct object_type *type)
{
	return create_context_of(o, 16, MLX5_IB_ALLOC_UCTX_DEVX);
}

static int create_large_context(struct objects *o, const struct object_type *type)
{
	return create_context_of(o, 512, 0);
}

static int create_old_context(struct objects *o, const struct object_type *type)
{
	struct mlx5_ib_alloc_ucontext_req req = {
		.total_num_bfregs = 16,
		.num_low_latency_bfregs = 4,
	};

	return alloc_ucontext(o, &req, sizeof(req));
}

static int destroy_context(struct objects *o)
{
	mlx5_ib_dealloc_ucontext(&o->mock->context->ibucontext);
	return 0;
}

static int create_pd(struct objects *o, const struct object_type *type)
{
	memset(&o->pd, 0, sizeof(o->pd));
	o->pd.ibpd.device = &o->mock->dev->ib_dev;
	return mlx5_ib_alloc_pd(&o->pd.ibpd,
				objects_udata(o, NULL, 0, sizeof(struct mlx5_ib_alloc_pd_resp)));
}

static int destroy_pd(struct objects *o)
{
	return mlx5_ib_dealloc_pd(&o->pd.ibpd, &o->mock->attrs->driver_udata);
}

static int create_xrc(struct objects *o, const struct object_type *type)
{
	return mlx5_ib_use_xrc(o->mock->dev);
}

static int destroy_xrc(struct objects *o)
{
	mlx5_ib_cleanup_xrc(o->mock->dev);
	return 0;
}

static int create_xrcd(struct objects *o, const struct object_type *type)
{
	memset(&o->xrcd, 0, sizeof(o->xrcd));
	o->xrcd.ibxrcd.device = &o->mock->dev->ib_dev;
	return mlx5_ib_alloc_xrcd(&o->xrcd.ibxrcd, objects_udata(o, NULL, 0, 0));
}

static int destroy_xrcd(struct objects *o)
{
	return mlx5_ib_dealloc_xrcd(&o->xrcd.ibxrcd, &o->mock->attrs->driver_udata);
}

/* ---- memory and completion queues ------------------------------------------------------- */

static int create_mr(struct objects *o, const struct object_type *type)
{
	struct ib_mr *mr;

	mr = mlx5_ib_reg_user_mr(&o->pd.ibpd, o->mr_start, MR_PAGES * PAGE_SIZE, o->mr_start,
				 IB_ACCESS_LOCAL_WRITE, NULL, objects_udata(o, NULL, 0, 0));
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	/* ib_core sets these members when the driver has returned. */
	mr->device = &o->mock->dev->ib_dev;
	mr->pd = &o->pd.ibpd;
	o->mr = mr;
	return 0;
}

static int destroy_mr(struct objects *o)
{
	return mlx5_ib_dereg_mr(o->mr, &o->mock->attrs->driver_udata);
}

static int create_cq(struct objects *o, const struct object_type *type)
{
	struct mlx5_ib_create_cq ucmd = {
		.buf_addr = o->cq_buf, .db_addr = o->cq_db, .cqe_size = 64,
	};
	struct ib_cq_init_attr attr = { .cqe = 15, .comp_vector = 2 };

	memset(&o->cq, 0, sizeof(o->cq));
	o->cq.ibcq.device = &o->mock->dev->ib_dev;
	objects_udata(o, &ucmd, sizeof(ucmd), sizeof(struct mlx5_ib_create_cq_resp));
	return mlx5_ib_create_user_cq(&o->cq.ibcq, &attr, o->mock->attrs);
}

static int destroy_cq(struct objects *o)
{
	return mlx5_ib_destroy_cq(&o->cq.ibcq, &o->mock->attrs->driver_udata);
}

/* ---- shared receive queues -------------------------------------------------------------- */

static int create_any_srq(struct objects *o, struct ib_srq_init_attr *init)
{
	struct mlx5_ib_create_srq ucmd = {
		.buf_addr = o->srq_buf, .db_addr = o->srq_db, .flags = o->srq_flags,
	};
	struct ib_srq *srq = &o->srq.ibsrq;

	memset(&o->srq, 0, sizeof(o->srq));
	srq->device = &o->mock->dev->ib_dev;
	srq->pd = &o->pd.ibpd;
	srq->srq_type = init->srq_type;
	if (ib_srq_has_cq(init->srq_type)) {
		ucmd.uidx = 9;
		srq->ext.cq = &o->cq.ibcq;
	}
	if (init->srq_type == IB_SRQT_XRC)
		srq->ext.xrc.xrcd = &o->xrcd.ibxrcd;
	return mlx5_ib_create_srq(srq, init,
				  objects_udata(o, &ucmd, sizeof(ucmd),
						sizeof(struct mlx5_ib_create_srq_resp)));
}

static int create_srq(struct objects *o, const struct object_type *type)
{
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_BASIC, .attr = { .max_wr = o->srq_wr, .max_sge = 1 },
	};
	int err;

	err = create_any_srq(o, &init);
	if (!err)
		KUNIT_EXPECT_EQ(o->mock->test, init.attr.max_wr + 1,
				roundup_pow_of_two(o->srq_wr + 1));
	return err;
}

static int create_xrc_srq(struct objects *o, const struct object_type *type)
{
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_XRC, .attr = { .max_wr = 20, .max_sge = 1 },
	};

	return create_any_srq(o, &init);
}

static int create_tm_srq(struct objects *o, const struct object_type *type)
{
	struct mlx5_ib_caps *caps = &o->mock->dev->caps;
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_TM, .attr = { .max_wr = 20, .max_sge = 1 },
		.ext.tag_matching.max_num_tags = o->srq_tags,
	};

	MOCK_SET_CAP(caps, tag_matching, 1);
	MOCK_SET_CAP(caps, rndv_offload_rc, 1);
	MOCK_SET_CAP(caps, log_tag_matching_list_sz, 7);
	return create_any_srq(o, &init);
}

static int destroy_srq(struct objects *o)
{
	return mlx5_ib_destroy_srq(&o->srq.ibsrq, &o->mock->attrs->driver_udata);
}

/* ---- queue pairs ------------------------------------------------------------------------ */

static int create_any_qp(struct objects *o, struct mlx5_ib_qp *qp, struct ib_qp_init_attr *init,
			 const struct mlx5_ib_create_qp *ucmd)
{
	memset(qp, 0, sizeof(*qp));
	qp->ibqp.device = &o->mock->dev->ib_dev;
	qp->ibqp.pd = &o->pd.ibpd;
	qp->ibqp.qp_type = init->qp_type;
	qp->ibqp.send_cq = init->send_cq;
	qp->ibqp.recv_cq = init->recv_cq;
	return mlx5_ib_create_qp(&qp->ibqp, init,
				 objects_udata(o, ucmd, sizeof(*ucmd),
					       sizeof(struct mlx5_ib_create_qp_resp)));
}

/**
 * objects_create_qp_on - create a queue pair with queues of its own, on two CQs
 * @o: objects
 * @qp: the queue pair, which the test destroys
 * @type: type of the queue pair
 * @send_cq: CQ for sends
 * @recv_cq: CQ for receives
 *
 * Return: 0 or an errno.
 */
int objects_create_qp_on(struct objects *o, struct mlx5_ib_qp *qp, enum ib_qp_type type,
			 struct ib_cq *send_cq, struct ib_cq *recv_cq)
{
	const struct mlx5_ib_create_qp ucmd = {
		.buf_addr = o->qp_buf, .db_addr = o->qp_db, .sq_wqe_count = 16,
		.rq_wqe_count = 64, .rq_wqe_shift = 4, .uidx = 5,
	};
	struct ib_qp_init_attr init = {
		.qp_type = type, .send_cq = send_cq, .recv_cq = recv_cq,
		.cap = {
			.max_send_wr = 16, .max_recv_wr = 64, .max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	return create_any_qp(o, qp, &init, &ucmd);
}

/**
 * objects_create_qp - create a queue pair with queues of its own
 * @o: objects
 * @qp: the queue pair, which the test destroys
 * @type: type of the queue pair
 *
 * Return: 0 or an errno.
 */
int objects_create_qp(struct objects *o, struct mlx5_ib_qp *qp, enum ib_qp_type type)
{
	return objects_create_qp_on(o, qp, type, &o->cq.ibcq, &o->cq.ibcq);
}

static int create_qp(struct objects *o, const struct object_type *type)
{
	return objects_create_qp(o, &o->qp, type->qp_type);
}

static int create_srq_qp(struct objects *o, const struct object_type *type)
{
	const struct mlx5_ib_create_qp ucmd = {
		.buf_addr = o->qp_buf, .db_addr = o->qp_db, .sq_wqe_count = 16, .uidx = 5,
	};
	struct ib_qp_init_attr init = {
		.qp_type = type->qp_type, .send_cq = &o->cq.ibcq, .recv_cq = &o->cq.ibcq,
		.srq = &o->srq.ibsrq, .cap = { .max_send_wr = 16, .max_recv_wr = 7 },
	};
	int err;

	err = create_any_qp(o, &o->qp, &init, &ucmd);
	if (!err)
		KUNIT_EXPECT_EQ(o->mock->test, init.cap.max_recv_wr, 0);
	return err;
}

static int create_xrc_ini(struct objects *o, const struct object_type *type)
{
	const struct mlx5_ib_create_qp ucmd = {
		.buf_addr = o->qp_buf, .db_addr = o->qp_db, .sq_wqe_count = 16, .uidx = 5,
	};
	struct ib_qp_init_attr init = {
		.qp_type = type->qp_type, .send_cq = &o->cq.ibcq, .cap = { .max_send_wr = 16 },
	};

	return create_any_qp(o, &o->qp, &init, &ucmd);
}

static int destroy_qp(struct objects *o)
{
	return mlx5_ib_destroy_qp(&o->qp.ibqp, &o->mock->attrs->driver_udata);
}

/*
 * As ib_core creates a target: without a context, and with capacities of queues, which a target
 * lacks.
 */
static int create_xrc_tgt(struct objects *o, const struct object_type *type)
{
	struct ib_qp_init_attr init = {
		.qp_type = type->qp_type, .xrcd = &o->xrcd.ibxrcd,
		.cap = { .max_send_wr = 16, .max_recv_wr = 7 },
	};
	int err;

	memset(&o->qp, 0, sizeof(o->qp));
	o->qp.ibqp.device = &o->mock->dev->ib_dev;
	o->qp.ibqp.qp_type = type->qp_type;
	err = mlx5_ib_create_qp(&o->qp.ibqp, &init, NULL);
	if (!err) {
		KUNIT_EXPECT_EQ(o->mock->test, init.cap.max_send_wr, 0);
		KUNIT_EXPECT_EQ(o->mock->test, init.cap.max_recv_wr, 0);
	}
	return err;
}

static int destroy_xrc_tgt(struct objects *o)
{
	return mlx5_ib_destroy_qp(&o->qp.ibqp, NULL);
}

/* ---- queues for raw packets -------------------------------------------------------------- */

static int create_td(struct objects *o, const struct object_type *type)
{
	u32 tdn;

	mock_set_raw_packets(&o->mock->dev->caps);
	return mlx5_ib_use_transport_domain(o->mock->context, &tdn);
}

static int destroy_td(struct objects *o)
{
	mlx5_ib_put_transport_domain(o->mock->context);
	return 0;
}

static int create_raw_qp(struct objects *o, const struct object_type *type)
{
	struct mlx5_ib_create_qp ucmd = {
		.buf_addr = o->qp_buf, .db_addr = o->qp_db, .sq_buf_addr = o->raw_sq_buf,
		.uidx = 5,
	};
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RAW_PACKET, .send_cq = &o->cq.ibcq, .recv_cq = &o->cq.ibcq,
	};

	if (type != &object_types[OBJ_RECEIVER]) {
		ucmd.sq_wqe_count = 16;
		init.cap.max_send_wr = 16;
	}
	if (type != &object_types[OBJ_SENDER]) {
		ucmd.rq_wqe_count = 64;
		ucmd.rq_wqe_shift = 4;
		init.cap.max_recv_wr = 64;
	}
	return create_any_qp(o, &o->qp, &init, &ucmd);
}

static int create_wq(struct objects *o, const struct object_type *type)
{
	const struct mlx5_ib_create_wq ucmd = {
		.buf_addr = o->qp_buf, .db_addr = o->qp_db, .rq_wqe_count = 64, .rq_wqe_shift = 4,
		.user_index = 6,
	};
	struct ib_wq_init_attr init = {
		.wq_type = IB_WQT_RQ, .max_wr = 64, .max_sge = 1, .cq = &o->cq.ibcq,
	};

	o->wq = mlx5_ib_create_wq(&o->pd.ibpd, &init,
				  objects_udata(o, &ucmd, sizeof(ucmd),
						sizeof(struct mlx5_ib_create_wq_resp)));
	return PTR_ERR_OR_ZERO(o->wq);
}

static int destroy_wq(struct objects *o)
{
	return mlx5_ib_destroy_wq(o->wq, &o->mock->attrs->driver_udata);
}

static int create_rqt(struct objects *o, const struct object_type *type)
{
	struct ib_wq *wqs[] = { o->wq, o->wq };
	struct ib_rwq_ind_table_init_attr init = { .log_ind_tbl_size = 1, .ind_tbl = wqs };

	memset(&o->rqt, 0, sizeof(o->rqt));
	o->rqt.ibrqt.device = &o->mock->dev->ib_dev;
	o->rqt.ibrqt.log_ind_tbl_size = init.log_ind_tbl_size;
	return mlx5_ib_create_rqt(&o->rqt.ibrqt, &init,
				  objects_udata(o, NULL, 0,
						sizeof(struct mlx5_ib_create_rwq_ind_tbl_resp)));
}

static int destroy_rqt(struct objects *o)
{
	return mlx5_ib_destroy_rqt(&o->rqt.ibrqt);
}

static int create_rss_qp(struct objects *o, const struct object_type *type)
{
	const struct mlx5_ib_create_qp_rss ucmd = {
		.rx_hash_function = MLX5_RX_HASH_FUNC_TOEPLITZ, .rx_key_len = 40,
		.rx_hash_fields_mask = MLX5_RX_HASH_SRC_IPV4,
	};
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RAW_PACKET, .rwq_ind_tbl = &o->rqt.ibrqt,
	};

	memset(&o->qp, 0, sizeof(o->qp));
	o->qp.ibqp.device = &o->mock->dev->ib_dev;
	o->qp.ibqp.pd = &o->pd.ibpd;
	o->qp.ibqp.qp_type = init.qp_type;
	o->qp.ibqp.real_qp = &o->qp.ibqp;
	return mlx5_ib_create_qp(&o->qp.ibqp, &init,
				 objects_udata(o, &ucmd, sizeof(ucmd),
					       sizeof(struct mlx5_ib_create_qp_resp)));
}

/* ---- what each object needs ------------------------------------------------------------- */

const struct object_type object_types[NUM_OBJECT_IDS] = {
	[OBJ_CONTEXT] = {
		.name = "context of 16 bfregs", .commands = MOCK_UAR_PAGES(16),
		.has_response = true, .create = create_context, .destroy = destroy_context,
	},
	[OBJ_OLD_CONTEXT] = {
		.name = "context of 16 bfregs, request version 0", .commands = 8,
		.has_response = true, .create = create_old_context, .destroy = destroy_context,
	},
	[OBJ_DEVX_CONTEXT] = {
		.name = "context with a user id", .commands = 1 + MOCK_UAR_PAGES(16),
		.has_response = true, .create = create_devx_context, .destroy = destroy_context,
	},
	[OBJ_LARGE_CONTEXT] = {
		.name = "context of 512 bfregs", .commands = MOCK_UAR_PAGES(512),
		.has_response = true, .create = create_large_context, .destroy = destroy_context,
	},
	[OBJ_PD] = {
		.name = "PD", .needs = { OBJ_CONTEXT }, .commands = 1, .has_response = true,
		.may_stay = true, .orphans_first = true, .create = create_pd, .destroy = destroy_pd,
	},
	[OBJ_MR] = {
		.name = "MR", .needs = { OBJ_PD }, .commands = 1, .may_stay = true,
		.create = create_mr, .destroy = destroy_mr,
	},
	[OBJ_CQ] = {
		.name = "CQ", .needs = { OBJ_PD }, .commands = 1, .has_response = true,
		.may_stay = true, .orphans_first = true, .create = create_cq, .destroy = destroy_cq,
	},
	[OBJ_RC_QP] = {
		.name = "RC QP", .needs = { OBJ_CQ }, .commands = 1, .has_response = true,
		.may_stay = true, .orphans_first = true, .qp_type = IB_QPT_RC, .create = create_qp,
		.destroy = destroy_qp,
	},
	[OBJ_UC_QP] = {
		.name = "UC QP", .needs = { OBJ_CQ }, .commands = 1, .has_response = true,
		.may_stay = true, .orphans_first = true, .qp_type = IB_QPT_UC, .create = create_qp,
		.destroy = destroy_qp,
	},
	[OBJ_UD_QP] = {
		.name = "UD QP", .needs = { OBJ_CQ }, .commands = 1, .has_response = true,
		.may_stay = true, .orphans_first = true, .qp_type = IB_QPT_UD, .create = create_qp,
		.destroy = destroy_qp,
	},
	[OBJ_SRQ] = {
		.name = "SRQ", .needs = { OBJ_PD }, .commands = 1, .has_response = true,
		.may_stay = true, .orphans_first = true, .create = create_srq,
		.destroy = destroy_srq,
	},
	[OBJ_SRQ_QP] = {
		.name = "RC QP with an SRQ", .needs = { OBJ_CQ, OBJ_SRQ }, .commands = 1,
		.has_response = true, .may_stay = true, .orphans_first = true, .qp_type = IB_QPT_RC,
		.create = create_srq_qp, .destroy = destroy_qp,
	},
	[OBJ_TM_SRQ] = {
		.name = "SRQ with tag matching", .needs = { OBJ_CQ }, .commands = 1,
		.has_response = true, .may_stay = true, .orphans_first = true,
		.create = create_tm_srq, .destroy = destroy_srq,
	},
	[OBJ_XRC] = {
		.name = "internal objects for XRC", .needs = { OBJ_CONTEXT }, .commands = 5,
		.create = create_xrc, .destroy = destroy_xrc,
	},
	[OBJ_XRCD] = {
		.name = "XRC domain", .needs = { OBJ_XRC }, .commands = 1, .orphans_first = true,
		.create = create_xrcd, .destroy = destroy_xrcd,
	},
	[OBJ_XRC_SRQ] = {
		.name = "XRC SRQ", .needs = { OBJ_CQ, OBJ_XRCD }, .commands = 1,
		.has_response = true, .may_stay = true, .orphans_first = true,
		.create = create_xrc_srq, .destroy = destroy_srq,
	},
	[OBJ_XRC_INI] = {
		.name = "XRC initiator", .needs = { OBJ_CQ, OBJ_XRC }, .commands = 1,
		.has_response = true, .may_stay = true, .orphans_first = true,
		.qp_type = IB_QPT_XRC_INI, .create = create_xrc_ini, .destroy = destroy_qp,
	},
	[OBJ_XRC_TGT] = {
		.name = "XRC target", .needs = { OBJ_CQ, OBJ_XRCD }, .commands = 1,
		.qp_type = IB_QPT_XRC_TGT, .create = create_xrc_tgt, .destroy = destroy_xrc_tgt,
	},
	[OBJ_TD] = {
		.name = "transport domain", .needs = { OBJ_CONTEXT }, .commands = 1,
		.create = create_td, .destroy = destroy_td,
	},
	[OBJ_RAW_QP] = {
		.name = "raw packet QP", .needs = { OBJ_CQ, OBJ_TD }, .commands = 4,
		.has_response = true, .may_stay = true, .orphans_first = true,
		.qp_type = IB_QPT_RAW_PACKET, .create = create_raw_qp, .destroy = destroy_qp,
	},
	[OBJ_SENDER] = {
		.name = "raw packet QP that only sends", .needs = { OBJ_CQ, OBJ_TD }, .commands = 2,
		.has_response = true, .may_stay = true, .orphans_first = true,
		.qp_type = IB_QPT_RAW_PACKET, .create = create_raw_qp, .destroy = destroy_qp,
	},
	[OBJ_RECEIVER] = {
		.name = "raw packet QP that only receives", .needs = { OBJ_CQ, OBJ_TD },
		.commands = 2, .has_response = true, .may_stay = true, .orphans_first = true,
		.qp_type = IB_QPT_RAW_PACKET, .create = create_raw_qp, .destroy = destroy_qp,
	},
	[OBJ_WQ] = {
		.name = "WQ", .needs = { OBJ_CQ, OBJ_TD }, .commands = 1, .has_response = true,
		.may_stay = true, .orphans_first = true, .create = create_wq,
		.destroy = destroy_wq,
	},
	[OBJ_RQT] = {
		.name = "indirection table", .needs = { OBJ_WQ }, .commands = 1,
		.has_response = true, .may_stay = true, .orphans_first = true,
		.create = create_rqt, .destroy = destroy_rqt,
	},
	[OBJ_RSS_QP] = {
		.name = "RSS QP", .needs = { OBJ_RQT }, .commands = 1, .has_response = true,
		.may_stay = true, .orphans_first = true, .qp_type = IB_QPT_RAW_PACKET,
		.create = create_rss_qp, .destroy = destroy_qp,
	},
};

static bool exists(const struct objects *o, enum object_id id)
{
	unsigned int i;

	for (i = 0; i < o->num_existing; i++)
		if (o->existing[i] == id)
			return true;
	return false;
}

/**
 * objects_need - create what an object needs and what does not exist yet
 * @o: objects
 * @id: the object, which is not itself created
 *
 * Return: 0 or an errno.
 */
int objects_need(struct objects *o, enum object_id id)
{
	const enum object_id *need = object_types[id].needs;
	int err;

	for (; *need; need++) {
		err = exists(o, *need) ? 0 : objects_create(o, *need);
		if (err)
			return err;
	}
	return 0;
}

/**
 * objects_create - create an object and what it needs
 * @o: objects
 * @id: the object
 *
 * Return: 0 or an errno. An error does not destroy what the object needs.
 */
int objects_create(struct objects *o, enum object_id id)
{
	const struct object_type *type = &object_types[id];
	int err;

	err = objects_need(o, id) ?: type->create(o, type);
	if (!err)
		o->existing[o->num_existing++] = id;
	return err;
}

/**
 * objects_destroy - destroy an object
 * @o: objects
 * @id: the object
 *
 * Return: 0, or an errno if the object still exists.
 */
int objects_destroy(struct objects *o, enum object_id id)
{
	unsigned int i = 0;
	int err;

	KUNIT_ASSERT_TRUE(o->mock->test, exists(o, id));
	err = object_types[id].destroy(o);
	if (err)
		return err;
	while (o->existing[i] != id)
		i++;
	o->num_existing--;
	memmove(&o->existing[i], &o->existing[i + 1],
		(o->num_existing - i) * sizeof(o->existing[0]));
	return 0;
}

/**
 * objects_destroy_all - destroy all objects, the last one first
 * @o: objects
 *
 * Return: 0 or an errno.
 */
int objects_destroy_all(struct objects *o)
{
	int err = 0;

	while (!err && o->num_existing)
		err = objects_destroy(o, o->existing[o->num_existing - 1]);
	return err;
}

/**
 * objects_make - make a device on which a process has created nothing yet
 * @test: the running test
 *
 * Return: the objects.
 */
struct objects *objects_make(struct kunit *test)
{
	struct objects *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	struct mock *mock = mock_create(test);

	KUNIT_ASSERT_NOT_NULL(test, o);
	o->mock = mock;
	o->srq_wr = 100;
	o->srq_tags = 15;
	o->cq_buf = mock_buffer(mock, CQ_BUF);
	o->cq_db = mock_buffer(mock, RECORDS);
	o->srq_buf = mock_buffer(mock, SRQ_BUF);
	o->srq_db = mock_buffer(mock, RECORDS) + 128;
	o->qp_buf = mock_buffer(mock, QP_BUF);
	o->qp_db = mock_buffer(mock, RECORDS) + 64;
	o->raw_sq_buf = mock_buffer(mock, RAW_SQ_BUF);
	o->mr_start = mock_buffer(mock, MR_START);
	return o;
}

/* ---- what verbs leave behind ------------------------------------------------------------ */

static long counted(struct mlx5_ib_users *users)
{
	enum mlx5_ib_share_kind kind;
	struct mlx5_ib_user *user;
	unsigned long uid;
	long sum = 0;

	xa_for_each(&users->table, uid, user)
		for (kind = 0; kind < MLX5_IB_NUM_SHARES; kind++)
			sum += atomic_read(&user->count[kind]);
	return sum;
}

/**
 * footprint_take - note what exists now
 * @mock: device
 * @fp: gets the footprint
 */
void footprint_take(struct mock *mock, struct footprint *fp)
{
	struct mlx5_bfreg_info *bfregi = &mock->context->bfregi;
	u32 i;

	memset(fp, 0, sizeof(*fp));
	fp->live = mock_num_live(mock);
	fp->pinned = mock_num_pinned();
	fp->rscs = !xa_empty(&mock->dev->rsc_table.rscs);
	fp->queue_mems = mock->num_queue_mems;
	fp->reg_pages = atomic_read(&mock->dev->mdev->priv.reg_pages);
	fp->counted = counted(mock->dev->users);
	if (!bfregi->count)
		return;
	fp->db_pages = !RB_EMPTY_ROOT(&mock->context->db_pages);
	for (i = 0; i < bfregi->layout.num_static_bfregs; i++)
		fp->bfregs += bfregi->count[i];
}

/**
 * footprint_expect - expect that a footprint is as before
 * @mock: device
 * @want: the footprint from before
 * @after: what has happened since, for the message of a failure
 * @n: number that goes with @after
 */
void footprint_expect(struct mock *mock, const struct footprint *want, const char *after,
		      unsigned int n)
{
	struct kunit *test = mock->test;
	struct footprint now;

	footprint_take(mock, &now);
	KUNIT_EXPECT_EQ_MSG(test, now.live, want->live, "firmware objects after %s %u", after, n);
	KUNIT_EXPECT_EQ_MSG(test, now.pinned, want->pinned, "pinned pages after %s %u", after, n);
	KUNIT_EXPECT_EQ_MSG(test, now.bfregs, want->bfregs, "bfregs taken after %s %u", after, n);
	KUNIT_EXPECT_EQ_MSG(test, now.db_pages, want->db_pages, "records after %s %u", after, n);
	KUNIT_EXPECT_EQ_MSG(test, now.rscs, want->rscs, "QPs or SRQs after %s %u", after, n);
	KUNIT_EXPECT_EQ_MSG(test, now.queue_mems, want->queue_mems,
			    "internal queues after %s %u", after, n);
	KUNIT_EXPECT_EQ_MSG(test, now.reg_pages, want->reg_pages,
			    "pages of regions after %s %u", after, n);
	KUNIT_EXPECT_EQ_MSG(test, now.counted, want->counted, "objects of users after %s %u",
			    after, n);
}
