// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the create paths: with a firmware that refuses their n-th
 * command, for every n, with an answer that cannot be delivered, with memory
 * that is not there, and with a firmware that refuses to destroy.
 */

#include <kunit/test.h>
#include <linux/mman.h>
#include <linux/string.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/fw.h"
#include "layout/layout_qp.h"
#include "layout/layout_srq.h"
#include "lib/mock.h"
#include "lib/orphan.h"
#include "lib/umr_qp.h"
#include "port.h"
#include "verbs/cq.h"
#include "verbs/mr.h"
#include "verbs/qp.h"
#include "verbs/srq.h"
#include "verbs/uar.h"
#include "verbs/ucontext.h"
#include "verbs/verbs.h"
#include "verbs/xrc.h"

#define CQ_BUF		0
#define QP_BUF		1
#define RECORDS		2
#define MR_START	3
#define CQ_BIG_BUF	6
#define SRQ_BUF		8
#define MR_PAGES	3

/* What the paths make, in one place so that one path can build on another. */
struct objects {
	struct mock *mock;
	struct mlx5_ib_pd pd;
	struct mlx5_ib_cq cq;
	struct mlx5_ib_xrcd xrcd;
	struct mlx5_ib_srq srq;
	struct mlx5_ib_qp qp;
	struct ib_mr *mr;
	enum ib_qp_type qp_type;
	u32 num_bfregs;
	bool break_answer;
	unsigned long cq_buf;
	unsigned long cq_db;
	unsigned long srq_buf;
	unsigned long srq_db;
	unsigned long qp_buf;
	unsigned long qp_db;
	unsigned long mr_start;
};

static struct ib_udata *call(struct objects *o, const void *in, size_t inlen, size_t outlen)
{
	struct ib_udata *udata = mock_udata(o->mock, in, inlen, outlen);

	if (o->break_answer)
		mock_break_answer(o->mock);
	return udata;
}

static int create_context_with_flags(struct objects *o, u32 flags)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = o->num_bfregs,
		.num_low_latency_bfregs = 4,
		.flags = flags,
		.lib_caps = MLX5_LIB_CAP_4K_UAR,
		.max_cqe_version = 1,
	};

	memset(o->mock->context, 0, sizeof(*o->mock->context));
	o->mock->context->ibucontext.device = &o->mock->dev->ib_dev;
	return mlx5_ib_alloc_ucontext(&o->mock->context->ibucontext,
				      call(o, &req, sizeof(req),
					   sizeof(struct mlx5_ib_alloc_ucontext_resp)));
}

static int create_context(struct objects *o)
{
	return create_context_with_flags(o, 0);
}

static int create_devx_context(struct objects *o)
{
	return create_context_with_flags(o, MLX5_IB_ALLOC_UCTX_DEVX);
}

static int create_old_context(struct objects *o)
{
	struct mlx5_ib_alloc_ucontext_req req = {
		.total_num_bfregs = o->num_bfregs,
		.num_low_latency_bfregs = 4,
	};

	memset(o->mock->context, 0, sizeof(*o->mock->context));
	o->mock->context->ibucontext.device = &o->mock->dev->ib_dev;
	return mlx5_ib_alloc_ucontext(&o->mock->context->ibucontext,
				      call(o, &req, sizeof(req),
					   sizeof(struct mlx5_ib_alloc_ucontext_resp)));
}

static int destroy_context(struct objects *o)
{
	mlx5_ib_dealloc_ucontext(&o->mock->context->ibucontext);
	return 0;
}

static int create_pd(struct objects *o)
{
	memset(&o->pd, 0, sizeof(o->pd));
	o->pd.ibpd.device = &o->mock->dev->ib_dev;
	return mlx5_ib_alloc_pd(&o->pd.ibpd,
				call(o, NULL, 0, sizeof(struct mlx5_ib_alloc_pd_resp)));
}

static int destroy_pd(struct objects *o)
{
	return mlx5_ib_dealloc_pd(&o->pd.ibpd, &o->mock->attrs->driver_udata);
}

static int create_cq(struct objects *o)
{
	struct mlx5_ib_create_cq ucmd = {
		.buf_addr = o->cq_buf, .db_addr = o->cq_db, .cqe_size = 64,
	};
	struct ib_cq_init_attr attr = { .cqe = 15, .comp_vector = 2 };

	memset(&o->cq, 0, sizeof(o->cq));
	o->cq.ibcq.device = &o->mock->dev->ib_dev;
	call(o, &ucmd, sizeof(ucmd), sizeof(struct mlx5_ib_create_cq_resp));
	return mlx5_ib_create_user_cq(&o->cq.ibcq, &attr, o->mock->attrs);
}

static int destroy_cq(struct objects *o)
{
	return mlx5_ib_destroy_cq(&o->cq.ibcq, &o->mock->attrs->driver_udata);
}

static int create_srq_of(struct objects *o, u32 max_wr)
{
	struct mlx5_ib_create_srq ucmd = { .buf_addr = o->srq_buf, .db_addr = o->srq_db };
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_BASIC, .attr = { .max_wr = max_wr, .max_sge = 1 },
	};
	int err;

	memset(&o->srq, 0, sizeof(o->srq));
	o->srq.ibsrq.device = &o->mock->dev->ib_dev;
	o->srq.ibsrq.pd = &o->pd.ibpd;
	err = mlx5_ib_create_srq(&o->srq.ibsrq, &init,
				 call(o, &ucmd, sizeof(ucmd),
				      sizeof(struct mlx5_ib_create_srq_resp)));
	if (!err)
		KUNIT_EXPECT_EQ(o->mock->test, init.attr.max_wr + 1,
				roundup_pow_of_two(max_wr + 1));
	return err;
}

static int create_srq(struct objects *o)
{
	return create_srq_of(o, 100);
}

/* Half a page of WQEs. */
static int create_small_srq(struct objects *o)
{
	return create_srq_of(o, 63);
}

static int destroy_srq(struct objects *o)
{
	return mlx5_ib_destroy_srq(&o->srq.ibsrq, &o->mock->attrs->driver_udata);
}

/* The driver's own objects for XRC. */
static int create_own(struct objects *o)
{
	return mlx5_ib_use_xrc(o->mock->dev);
}

static int destroy_own(struct objects *o)
{
	mlx5_ib_cleanup_xrc(o->mock->dev);
	return 0;
}

static int create_xrcd(struct objects *o)
{
	memset(&o->xrcd, 0, sizeof(o->xrcd));
	o->xrcd.ibxrcd.device = &o->mock->dev->ib_dev;
	return mlx5_ib_alloc_xrcd(&o->xrcd.ibxrcd, call(o, NULL, 0, 0));
}

static int destroy_xrcd(struct objects *o)
{
	return mlx5_ib_dealloc_xrcd(&o->xrcd.ibxrcd, &o->mock->attrs->driver_udata);
}

static int create_xrc_srq(struct objects *o)
{
	struct mlx5_ib_create_srq ucmd = {
		.buf_addr = o->srq_buf, .db_addr = o->srq_db, .uidx = 9,
	};
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_XRC, .attr = { .max_wr = 20, .max_sge = 1 },
	};

	memset(&o->srq, 0, sizeof(o->srq));
	o->srq.ibsrq.device = &o->mock->dev->ib_dev;
	o->srq.ibsrq.pd = &o->pd.ibpd;
	o->srq.ibsrq.srq_type = IB_SRQT_XRC;
	o->srq.ibsrq.ext.cq = &o->cq.ibcq;
	o->srq.ibsrq.ext.xrc.xrcd = &o->xrcd.ibxrcd;
	return mlx5_ib_create_srq(&o->srq.ibsrq, &init,
				  call(o, &ucmd, sizeof(ucmd),
				       sizeof(struct mlx5_ib_create_srq_resp)));
}

static int create_one_qp(struct objects *o, struct mlx5_ib_qp *qp)
{
	struct mlx5_ib_create_qp ucmd = {
		.buf_addr = o->qp_buf, .db_addr = o->qp_db, .sq_wqe_count = 16,
		.rq_wqe_count = 64, .rq_wqe_shift = 4, .uidx = 5,
	};
	struct ib_qp_init_attr init = {
		.qp_type = o->qp_type, .send_cq = &o->cq.ibcq, .recv_cq = &o->cq.ibcq,
		.cap = {
			.max_send_wr = 16, .max_recv_wr = 64, .max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	memset(qp, 0, sizeof(*qp));
	qp->ibqp.device = &o->mock->dev->ib_dev;
	qp->ibqp.pd = &o->pd.ibpd;
	qp->ibqp.qp_type = o->qp_type;
	qp->ibqp.send_cq = &o->cq.ibcq;
	qp->ibqp.recv_cq = &o->cq.ibcq;
	return mlx5_ib_create_qp(&qp->ibqp, &init,
				 call(o, &ucmd, sizeof(ucmd),
				      sizeof(struct mlx5_ib_create_qp_resp)));
}

static int create_qp(struct objects *o)
{
	return create_one_qp(o, &o->qp);
}

static int create_srq_qp(struct objects *o)
{
	struct mlx5_ib_create_qp ucmd = {
		.buf_addr = o->qp_buf, .db_addr = o->qp_db, .sq_wqe_count = 16, .uidx = 5,
	};
	struct ib_qp_init_attr init = {
		.qp_type = o->qp_type, .send_cq = &o->cq.ibcq, .recv_cq = &o->cq.ibcq,
		.srq = &o->srq.ibsrq, .cap = { .max_send_wr = 16, .max_recv_wr = 7 },
	};
	int err;

	memset(&o->qp, 0, sizeof(o->qp));
	o->qp.ibqp.device = &o->mock->dev->ib_dev;
	o->qp.ibqp.pd = &o->pd.ibpd;
	err = mlx5_ib_create_qp(&o->qp.ibqp, &init,
				call(o, &ucmd, sizeof(ucmd),
				     sizeof(struct mlx5_ib_create_qp_resp)));
	if (!err)
		KUNIT_EXPECT_EQ(o->mock->test, init.cap.max_recv_wr, 0);
	return err;
}

static int create_ini(struct objects *o)
{
	struct mlx5_ib_create_qp ucmd = {
		.buf_addr = o->qp_buf, .db_addr = o->qp_db, .sq_wqe_count = 16, .uidx = 5,
	};
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_XRC_INI, .send_cq = &o->cq.ibcq, .cap = { .max_send_wr = 16 },
	};

	memset(&o->qp, 0, sizeof(o->qp));
	o->qp.ibqp.device = &o->mock->dev->ib_dev;
	o->qp.ibqp.pd = &o->pd.ibpd;
	o->qp.ibqp.qp_type = IB_QPT_XRC_INI;
	return mlx5_ib_create_qp(&o->qp.ibqp, &init,
				 call(o, &ucmd, sizeof(ucmd),
				      sizeof(struct mlx5_ib_create_qp_resp)));
}

/* As ib_core does it: for no process, with capacities that it has no queues for. */
static int create_tgt(struct objects *o)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_XRC_TGT, .xrcd = &o->xrcd.ibxrcd,
		.cap = { .max_send_wr = 16, .max_recv_wr = 7 },
	};
	int err;

	memset(&o->qp, 0, sizeof(o->qp));
	o->qp.ibqp.device = &o->mock->dev->ib_dev;
	o->qp.ibqp.qp_type = IB_QPT_XRC_TGT;
	err = mlx5_ib_create_qp(&o->qp.ibqp, &init, NULL);
	if (!err) {
		KUNIT_EXPECT_EQ(o->mock->test, init.cap.max_send_wr, 0);
		KUNIT_EXPECT_EQ(o->mock->test, init.cap.max_recv_wr, 0);
	}
	return err;
}

static int destroy_tgt(struct objects *o)
{
	return mlx5_ib_destroy_qp(&o->qp.ibqp, NULL);
}

static int destroy_qp(struct objects *o)
{
	return mlx5_ib_destroy_qp(&o->qp.ibqp, &o->mock->attrs->driver_udata);
}

static int create_mr(struct objects *o)
{
	struct ib_mr *mr;

	mr = mlx5_ib_reg_user_mr(&o->pd.ibpd, o->mr_start, MR_PAGES * PAGE_SIZE, o->mr_start,
				 IB_ACCESS_LOCAL_WRITE, NULL, call(o, NULL, 0, 0));
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	/* As ib_core does. */
	mr->device = &o->mock->dev->ib_dev;
	mr->pd = &o->pd.ibpd;
	o->mr = mr;
	return 0;
}

static int destroy_mr(struct objects *o)
{
	return mlx5_ib_dereg_mr(o->mr, &o->mock->attrs->driver_udata);
}

/* What must be there before a path, and is not its business. */
static int need_nothing(struct objects *o)
{
	return 0;
}

static int need_context(struct objects *o)
{
	return create_context(o);
}

static int need_pd(struct objects *o)
{
	return create_context(o) ?: create_pd(o);
}

static int need_cq(struct objects *o)
{
	return need_pd(o) ?: create_cq(o);
}

static int need_srq(struct objects *o)
{
	return need_cq(o) ?: create_srq(o);
}

static int need_own(struct objects *o)
{
	return create_context(o) ?: create_own(o);
}

static int need_own_and_cq(struct objects *o)
{
	return need_cq(o) ?: create_own(o);
}

static int need_xrcd(struct objects *o)
{
	return need_own_and_cq(o) ?: create_xrcd(o);
}

static int drop_nothing(struct objects *o)
{
	return 0;
}

static int drop_pd(struct objects *o)
{
	return destroy_pd(o) ?: destroy_context(o);
}

static int drop_cq(struct objects *o)
{
	return destroy_cq(o) ?: drop_pd(o);
}

static int drop_srq(struct objects *o)
{
	return destroy_srq(o) ?: drop_cq(o);
}

static int drop_own(struct objects *o)
{
	return destroy_own(o) ?: destroy_context(o);
}

static int drop_own_and_cq(struct objects *o)
{
	return destroy_own(o) ?: drop_cq(o);
}

static int drop_xrcd(struct objects *o)
{
	return destroy_xrcd(o) ?: drop_own_and_cq(o);
}

static const struct path_case {
	const char *name;
	int (*need)(struct objects *o);
	int (*create)(struct objects *o);
	int (*destroy)(struct objects *o);
	int (*drop)(struct objects *o);
	/* Commands that it takes, and objects that it makes. */
	unsigned int commands;
	unsigned int made;
	enum ib_qp_type qp_type;
	u32 num_bfregs;
	bool answers;
	bool destroy_may_fail;
} path_cases[] = {
	{
		"context of 16 bfregs", need_nothing, create_context, destroy_context,
		drop_nothing, 8, 8, .num_bfregs = 16, .answers = true,
	},
	{
		"context of 16 bfregs, request version 0", need_nothing, create_old_context,
		destroy_context, drop_nothing, 8, 8, .num_bfregs = 16, .answers = true,
	},
	{
		"context with a user id", need_nothing, create_devx_context, destroy_context,
		drop_nothing, 9, 9, .num_bfregs = 16, .answers = true,
	},
	{
		"context of 512 bfregs", need_nothing, create_context, destroy_context,
		drop_nothing, 256, 256, .num_bfregs = 512, .answers = true,
	},
	{
		"PD", need_context, create_pd, destroy_pd, destroy_context, 1, 1,
		.num_bfregs = 16, .answers = true, .destroy_may_fail = true,
	},
	{
		"MR", need_pd, create_mr, destroy_mr, drop_pd, 1, 1,
		.num_bfregs = 16, .destroy_may_fail = true,
	},
	{
		"CQ", need_pd, create_cq, destroy_cq, drop_pd, 1, 1,
		.num_bfregs = 16, .answers = true, .destroy_may_fail = true,
	},
	{
		"RC QP", need_cq, create_qp, destroy_qp, drop_cq, 1, 1, .qp_type = IB_QPT_RC,
		.num_bfregs = 16, .answers = true, .destroy_may_fail = true,
	},
	{
		"UC QP", need_cq, create_qp, destroy_qp, drop_cq, 1, 1, .qp_type = IB_QPT_UC,
		.num_bfregs = 16, .answers = true, .destroy_may_fail = true,
	},
	{
		"UD QP", need_cq, create_qp, destroy_qp, drop_cq, 1, 1, .qp_type = IB_QPT_UD,
		.num_bfregs = 16, .answers = true, .destroy_may_fail = true,
	},
	{
		"SRQ", need_pd, create_srq, destroy_srq, drop_pd, 1, 1,
		.num_bfregs = 16, .answers = true, .destroy_may_fail = true,
	},
	{
		"RC QP with an SRQ", need_srq, create_srq_qp, destroy_qp, drop_srq, 1, 1,
		.qp_type = IB_QPT_RC, .num_bfregs = 16, .answers = true, .destroy_may_fail = true,
	},
	{
		"the driver's own objects for XRC", need_context, create_own, destroy_own,
		destroy_context, 5, 5, .num_bfregs = 16,
	},
	{
		"XRC domain", need_own, create_xrcd, destroy_xrcd, drop_own, 1, 1,
		.num_bfregs = 16,
	},
	{
		"XRC SRQ", need_xrcd, create_xrc_srq, destroy_srq, drop_xrcd, 1, 1,
		.num_bfregs = 16, .answers = true, .destroy_may_fail = true,
	},
	{
		"XRC initiator", need_own_and_cq, create_ini, destroy_qp, drop_own_and_cq, 1, 1,
		.num_bfregs = 16, .answers = true, .destroy_may_fail = true,
	},
	{
		"XRC target", need_xrcd, create_tgt, destroy_tgt, drop_xrcd, 1, 1,
		.num_bfregs = 16,
	},
};

KUNIT_ARRAY_PARAM_DESC(path, path_cases, name);

static struct objects *make_objects(struct kunit *test)
{
	struct objects *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	struct mock *mock = mock_create(test);

	KUNIT_ASSERT_NOT_NULL(test, o);
	o->mock = mock;
	o->num_bfregs = 16;
	o->qp_type = IB_QPT_RC;
	o->cq_buf = mock_buffer(mock, CQ_BUF);
	o->cq_db = mock_buffer(mock, RECORDS);
	o->srq_buf = mock_buffer(mock, SRQ_BUF);
	o->srq_db = mock_buffer(mock, RECORDS) + 128;
	o->qp_buf = mock_buffer(mock, QP_BUF);
	o->qp_db = mock_buffer(mock, RECORDS) + 64;
	o->mr_start = mock_buffer(mock, MR_START);
	return o;
}

/* Everything that a path can leave behind. */
struct footprint {
	unsigned int live;
	long pinned;
	unsigned int bfregs;
	bool db_pages;
	bool rscs;
	unsigned int queue_mems;
};

static void take_footprint(struct mock *mock, struct footprint *fp)
{
	struct mlx5_bfreg_info *bfregi = &mock->context->bfregi;
	u32 i;

	memset(fp, 0, sizeof(*fp));
	fp->live = mock_num_live(mock);
	fp->pinned = mock_num_pinned();
	fp->rscs = !xa_empty(&mock->dev->rsc_table.rscs);
	fp->queue_mems = mock->num_queue_mems;
	if (!bfregi->count)
		return;
	fp->db_pages = !RB_EMPTY_ROOT(&mock->context->db_pages);
	for (i = 0; i < bfregi->layout.num_static_bfregs; i++)
		fp->bfregs += bfregi->count[i];
}

static void expect_footprint(struct kunit *test, struct mock *mock, const struct footprint *want,
			     const char *after, unsigned int n)
{
	struct footprint now;

	take_footprint(mock, &now);
	KUNIT_EXPECT_EQ_MSG(test, now.live, want->live, "firmware objects after %s %u", after, n);
	KUNIT_EXPECT_EQ_MSG(test, now.pinned, want->pinned, "pinned pages after %s %u", after, n);
	KUNIT_EXPECT_EQ_MSG(test, now.bfregs, want->bfregs, "bfregs taken after %s %u", after, n);
	KUNIT_EXPECT_EQ_MSG(test, now.db_pages, want->db_pages, "records after %s %u", after, n);
	KUNIT_EXPECT_EQ_MSG(test, now.rscs, want->rscs, "QPs or SRQs after %s %u", after, n);
	KUNIT_EXPECT_EQ_MSG(test, now.queue_mems, want->queue_mems, "own queues after %s %u", after,
			    n);
}

static struct objects *prepare(struct kunit *test, struct footprint *fp)
{
	const struct path_case *c = test->param_value;
	struct objects *o = make_objects(test);

	o->num_bfregs = c->num_bfregs;
	if (c->qp_type)
		o->qp_type = c->qp_type;
	KUNIT_ASSERT_EQ(test, c->need(o), 0);
	take_footprint(o->mock, fp);
	return o;
}

static void finish(struct kunit *test, struct objects *o)
{
	const struct path_case *c = test->param_value;

	o->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, c->drop(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(o->mock), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

static void refusal_of_any_command_leaves_nothing(struct kunit *test)
{
	const struct path_case *c = test->param_value;
	struct footprint before;
	struct objects *o = prepare(test, &before);
	struct mock *mock = o->mock;
	unsigned int n;
	int err;

	for (n = 1; n <= c->commands + 1; n++) {
		mock->num_commands = 0;
		mock->refuse = n;
		err = c->create(o);
		if (!err)
			break;
		KUNIT_EXPECT_EQ_MSG(test, err, mock->refuse_err, "refusal %u", n);
		expect_footprint(test, mock, &before, "refusal", n);
	}
	/* The first that passes is the one after the last command. */
	KUNIT_ASSERT_EQ(test, n, c->commands + 1);
	KUNIT_EXPECT_EQ(test, mock->num_commands, c->commands);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), before.live + c->made);

	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, c->destroy(o), 0);
	if (c->drop != drop_nothing)
		expect_footprint(test, mock, &before, "destruction", 0);
	finish(test, o);
}

static void undelivered_response_leaves_nothing(struct kunit *test)
{
	const struct path_case *c = test->param_value;
	struct footprint before;
	struct objects *o = prepare(test, &before);
	int idx, err;

	if (c->answers) {
		o->break_answer = true;
		idx = mock_enter(o->mock);
		err = c->create(o);
		mock_leave(o->mock, idx);
		KUNIT_EXPECT_EQ(test, err, -EFAULT);
		expect_footprint(test, o->mock, &before, "a lost answer", 0);
		o->break_answer = false;
	}
	KUNIT_ASSERT_EQ(test, c->create(o), 0);
	KUNIT_EXPECT_EQ(test, c->destroy(o), 0);
	finish(test, o);
}

/* Firmware has refused to destroy an object that nobody owns: the device may use its memory. */
static void expect_orphan(struct kunit *test, struct mock *mock, const struct footprint *before)
{
	const struct path_case *c = test->param_value;
	bool has_memory = c->create != create_pd;
	struct footprint want = *before;

	want.live += c->made;
	want.pinned = mock_num_pinned();
	want.db_pages |= has_memory && !before->db_pages;
	if (has_memory)
		KUNIT_EXPECT_GT(test, want.pinned, before->pinned);
	expect_footprint(test, mock, &want, "a lost answer", 0);
	/* The context is closed. */
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	want.db_pages = false;
	expect_footprint(test, mock, &want, "the context", 0);
}

static void memory_stays_pinned_while_firmware_keeps_the_object(struct kunit *test)
{
	const struct path_case *c = test->param_value;
	struct footprint before;
	struct objects *o;
	int idx;

	if (!c->answers || !c->destroy_may_fail)
		return;
	o = prepare(test, &before);
	o->break_answer = true;
	o->mock->refuse_destroy = true;
	idx = mock_enter(o->mock);
	KUNIT_EXPECT_EQ(test, c->create(o), -EFAULT);
	mock_leave(o->mock, idx);
	o->break_answer = false;
	if (c->need == need_pd || c->need == need_context)
		expect_orphan(test, o->mock, &before);
	o->mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(o->mock->dev);
	expect_footprint(test, o->mock, &before, "unbinding", 0);
	finish(test, o);
}

/* An orphan may refer to any of these objects, which firmware would then refuse to destroy. */
static void orphans_are_destroyed_before_what_they_refer_to(struct kunit *test)
{
	const struct path_case *c = test->param_value;
	struct footprint before;
	struct objects *o;
	u32 num;

	if (c->destroy != destroy_cq && c->destroy != destroy_srq && c->destroy != destroy_pd &&
	    c->destroy != destroy_xrcd)
		return;
	o = prepare(test, &before);
	KUNIT_ASSERT_EQ(test, c->create(o), 0);
	KUNIT_ASSERT_EQ(test, 0, mlx5_fw_alloc_object(o->mock->dev, 0, MLX5_CMD_OP_ALLOC_UAR,
						      &num));
	mlx5_ib_orphan_adopt(o->mock->dev, 0, MLX5_CMD_OP_DEALLOC_UAR, num, "UAR", NULL, -EBUSY);
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, c->destroy(o), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 2);
	expect_footprint(test, o->mock, &before, "destruction", 0);
	finish(test, o);
}

/* Those for XRC, and the UMR queue pair. */
static void refused_internal_objects_keep_their_memory(struct kunit *test)
{
	struct objects *o = make_objects(test);
	struct mock *mock = o->mock;
	unsigned int live, queues;

	KUNIT_ASSERT_EQ(test, create_own(o), 0);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_umr(mock->dev), 0);
	live = mock_num_live(mock);
	queues = mock->num_queue_mems;
	KUNIT_EXPECT_EQ(test, queues, 4);
	mock->refuse_destroy = true;
	mlx5_ib_cleanup_umr(mock->dev);
	KUNIT_EXPECT_EQ(test, destroy_own(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), live);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, queues);
	mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 0);
}

static void refused_destruction_changes_nothing(struct kunit *test)
{
	const struct path_case *c = test->param_value;
	struct footprint before, made;
	struct objects *o = prepare(test, &before);

	KUNIT_ASSERT_EQ(test, c->create(o), 0);
	take_footprint(o->mock, &made);
	if (c->destroy_may_fail) {
		o->mock->refuse_destroy = true;
		KUNIT_EXPECT_EQ(test, c->destroy(o), o->mock->refuse_err);
		expect_footprint(test, o->mock, &made, "a refused destruction", 0);
		o->mock->refuse_destroy = false;
	}
	KUNIT_EXPECT_EQ(test, c->destroy(o), 0);
	finish(test, o);
}

static const struct memory_case {
	const char *name;
	size_t field;
	enum { UNMAPPED, READ_ONLY, MISALIGNED_4, MISALIGNED_32, HALF, KERNEL, WRAPS } what;
	int (*need)(struct objects *o);
	int (*create)(struct objects *o);
	int (*drop)(struct objects *o);
	int want;
} memory_cases[] = {
	{ "CQ buffer that is not mapped", offsetof(struct objects, cq_buf), UNMAPPED,
	  need_pd, create_cq, drop_pd, -EFAULT },
	{ "CQ buffer that is read-only", offsetof(struct objects, cq_buf), READ_ONLY,
	  need_pd, create_cq, drop_pd, -EFAULT },
	{ "CQ buffer 32 bytes off a cache line", offsetof(struct objects, cq_buf), MISALIGNED_32,
	  need_pd, create_cq, drop_pd, -EINVAL },
	{ "CQ buffer of the kernel", offsetof(struct objects, cq_buf), KERNEL,
	  need_pd, create_cq, drop_pd, -EFAULT },
	{ "CQ buffer at the end of the address space", offsetof(struct objects, cq_buf), WRAPS,
	  need_pd, create_cq, drop_pd, -EINVAL },
	{ "CQ record that is not mapped", offsetof(struct objects, cq_db), UNMAPPED,
	  need_pd, create_cq, drop_pd, -EFAULT },
	{ "CQ record 4 bytes off", offsetof(struct objects, cq_db), MISALIGNED_4,
	  need_pd, create_cq, drop_pd, -EINVAL },
	{ "CQ record of the kernel", offsetof(struct objects, cq_db), KERNEL,
	  need_pd, create_cq, drop_pd, -EFAULT },
	{ "SRQ buffer that is not mapped", offsetof(struct objects, srq_buf), UNMAPPED,
	  need_pd, create_srq, drop_pd, -EFAULT },
	{ "SRQ buffer 32 bytes off a cache line", offsetof(struct objects, srq_buf), MISALIGNED_32,
	  need_pd, create_srq, drop_pd, -EINVAL },
	{ "SRQ buffer in the second half of its page", offsetof(struct objects, srq_buf), HALF,
	  need_pd, create_small_srq, drop_pd, -EINVAL },
	{ "SRQ buffer of the kernel", offsetof(struct objects, srq_buf), KERNEL,
	  need_pd, create_srq, drop_pd, -EFAULT },
	{ "SRQ buffer at the end of the address space", offsetof(struct objects, srq_buf), WRAPS,
	  need_pd, create_srq, drop_pd, -EINVAL },
	{ "XRC SRQ buffer that is not mapped", offsetof(struct objects, srq_buf), UNMAPPED,
	  need_xrcd, create_xrc_srq, drop_xrcd, -EFAULT },
	{ "XRC SRQ buffer 32 bytes off a cache line", offsetof(struct objects, srq_buf),
	  MISALIGNED_32, need_xrcd, create_xrc_srq, drop_xrcd, -EINVAL },
	{ "XRC SRQ record that is not mapped", offsetof(struct objects, srq_db), UNMAPPED,
	  need_xrcd, create_xrc_srq, drop_xrcd, -EFAULT },
	{ "buffer of an XRC initiator that is not mapped", offsetof(struct objects, qp_buf),
	  UNMAPPED, need_own_and_cq, create_ini, drop_own_and_cq, -EFAULT },
	{ "SRQ record that is not mapped", offsetof(struct objects, srq_db), UNMAPPED,
	  need_pd, create_srq, drop_pd, -EFAULT },
	{ "SRQ record 4 bytes off", offsetof(struct objects, srq_db), MISALIGNED_4,
	  need_pd, create_srq, drop_pd, -EINVAL },
	{ "QP buffer that is not mapped", offsetof(struct objects, qp_buf), UNMAPPED,
	  need_cq, create_qp, drop_cq, -EFAULT },
	{ "QP buffer 32 bytes off a cache line", offsetof(struct objects, qp_buf), MISALIGNED_32,
	  need_cq, create_qp, drop_cq, -EINVAL },
	{ "QP buffer of the kernel", offsetof(struct objects, qp_buf), KERNEL,
	  need_cq, create_qp, drop_cq, -EFAULT },
	{ "QP buffer at the end of the address space", offsetof(struct objects, qp_buf), WRAPS,
	  need_cq, create_qp, drop_cq, -EINVAL },
	{ "QP record that is not mapped", offsetof(struct objects, qp_db), UNMAPPED,
	  need_cq, create_qp, drop_cq, -EFAULT },
	{ "QP record 4 bytes off", offsetof(struct objects, qp_db), MISALIGNED_4,
	  need_cq, create_qp, drop_cq, -EINVAL },
	{ "MR that is not mapped", offsetof(struct objects, mr_start), UNMAPPED,
	  need_pd, create_mr, drop_pd, -EFAULT },
	{ "MR to write that is read-only", offsetof(struct objects, mr_start), READ_ONLY,
	  need_pd, create_mr, drop_pd, -EFAULT },
	{ "MR of the kernel", offsetof(struct objects, mr_start), KERNEL,
	  need_pd, create_mr, drop_pd, -EFAULT },
	{ "MR at the end of the address space", offsetof(struct objects, mr_start), WRAPS,
	  need_pd, create_mr, drop_pd, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(memory, memory_cases, name);

static unsigned long bad_address(struct kunit *test, struct objects *o, int what)
{
	/* Pages that no object uses otherwise. */
	unsigned long page = mock_buffer(o->mock, 9);

	switch (what) {
	case UNMAPPED:
		KUNIT_ASSERT_EQ(test, vm_munmap(page, PAGE_SIZE), 0);
		return page;
	case READ_ONLY:
		KUNIT_ASSERT_EQ(test, vm_mmap(NULL, page, 4 * PAGE_SIZE, PROT_READ,
					      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0), page);
		return page;
	case MISALIGNED_4:
		return page + 4;
	case MISALIGNED_32:
		return page + 32;
	case HALF:
		return page + PAGE_SIZE / 2;
	case KERNEL:
		return (unsigned long)o & PAGE_MASK;
	default:
		return -1024UL;
	}
}

static void memory_the_process_may_not_use_is_refused(struct kunit *test)
{
	const struct memory_case *c = test->param_value;
	struct objects *o = make_objects(test);
	unsigned long *field = (void *)o + c->field;
	unsigned long good = *field;
	struct footprint before;

	KUNIT_ASSERT_EQ(test, c->need(o), 0);
	take_footprint(o->mock, &before);
	*field = bad_address(test, o, c->what);
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, c->create(o), c->want);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	expect_footprint(test, o->mock, &before, "bad memory", 0);
	*field = good;
	KUNIT_EXPECT_EQ(test, c->drop(o), 0);
}

static void refused_pin_leaves_nothing(struct kunit *test)
{
	struct objects *o = make_objects(test);
	struct footprint before;

	KUNIT_ASSERT_EQ(test, need_pd(o), 0);
	take_footprint(o->mock, &before);
	o->mock->refuse_pin = true;
	KUNIT_EXPECT_EQ(test, create_cq(o), -ENOMEM);
	expect_footprint(test, o->mock, &before, "a refused pin", 0);
	KUNIT_EXPECT_EQ(test, create_mr(o), -ENOMEM);
	expect_footprint(test, o->mock, &before, "a refused pin", 1);
	o->mock->refuse_pin = false;
	KUNIT_ASSERT_EQ(test, create_cq(o), 0);
	take_footprint(o->mock, &before);
	o->mock->refuse_pin = true;
	KUNIT_EXPECT_EQ(test, create_qp(o), -ENOMEM);
	expect_footprint(test, o->mock, &before, "a refused pin", 2);
	KUNIT_EXPECT_EQ(test, drop_cq(o), 0);
}

static u32 dword(struct mock *mock, size_t offset)
{
	return be32_to_cpu(((__be32 *)mock->in)[offset / 4]);
}

/* 17 QPs on 16 registers, seen from the library and from the firmware. */
static void library_and_firmware_are_told_the_same_uar(struct kunit *test)
{
	static const u8 bfregs[] = {
		12, 13, 14, 15, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2,
	};
	struct mlx5_ib_create_qp_resp resp;
	struct objects *o = make_objects(test);
	struct mlx5_ib_qp *qps;
	int i;

	qps = kunit_kcalloc(test, ARRAY_SIZE(bfregs), sizeof(*qps), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, qps);
	KUNIT_ASSERT_EQ(test, need_cq(o), 0);
	for (i = 0; i < ARRAY_SIZE(bfregs); i++) {
		KUNIT_ASSERT_EQ(test, create_one_qp(o, &qps[i]), 0);
		mock_read_answer(o->mock, &resp, sizeof(resp));
		/* Two of a UAR's four registers are used. */
		KUNIT_EXPECT_EQ_MSG(test, resp.bfreg_index, bfregs[i] / 2 * 4 + bfregs[i] % 2,
				    "QP %d", i + 1);
		/* qpc.uar_page; the context's UARs are 0x100 to 0x107. */
		KUNIT_EXPECT_EQ_MSG(test, dword(o->mock, 0x18 + 0x0c), 0x100 + bfregs[i] / 2,
				    "QP %d", i + 1);
	}
	for (i = 0; i < ARRAY_SIZE(bfregs); i++)
		KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&qps[i].ibqp,
							 &o->mock->attrs->driver_udata), 0);
	for (i = 0; i < 16; i++)
		KUNIT_EXPECT_EQ_MSG(test, o->mock->context->bfregi.count[i], 0, "bfreg %d", i);
	KUNIT_EXPECT_EQ(test, drop_cq(o), 0);
}

static void qp_context_names_its_own_objects(struct kunit *test)
{
	struct objects *o = make_objects(test);
	const struct mlx5_ib_queue_mem *mem = &o->qp.mem;

	o->qp_type = IB_QPT_RC;
	KUNIT_ASSERT_EQ(test, need_cq(o) ?: create_qp(o), 0);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18), 0x00001800);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x04), o->pd.pdn);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x10), 5);
	/* Pages of the buffer, and its offset into the first of them. */
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x14), (mem->buf.geo.page_shift - 12) << 24);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x90), mem->buf.geo.page_offset << 6);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x7c), o->cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x9c), o->cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0xa0), upper_32_bits(mem->db.dma));
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0xa4), lower_32_bits(mem->db.dma));
	KUNIT_EXPECT_EQ(test, destroy_qp(o) ?: drop_cq(o), 0);
}

static void cq_context_names_its_size_uar_and_eq(struct kunit *test)
{
	struct mlx5_ib_create_cq_resp resp;
	struct objects *o = make_objects(test);

	KUNIT_ASSERT_EQ(test, need_cq(o), 0);
	mock_read_answer(o->mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.cqn, o->cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, o->cq.ibcq.cqe, 15);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x00), 0x04000000);
	/* cqc: log_cq_size 4 and the context's first UAR, the vector's EQ. */
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x10 + 0x0c), 0x04000100);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x10 + 0x14), 13);
	KUNIT_EXPECT_EQ(test, drop_cq(o), 0);
}

static void srq_limit_is_armed_and_queried_and_bad_changes_are_refused(struct kunit *test)
{
	struct ib_srq_attr attr = { .srq_limit = 127 };
	struct mlx5_ib_create_srq_resp resp;
	struct objects *o = make_objects(test);
	struct mock *mock = o->mock;

	KUNIT_ASSERT_EQ(test, need_pd(o) ?: create_srq(o), 0);
	mock_read_answer(mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.srqn, o->srq.rsc.num);

	/* MODIFY_RMP: ready, the number, the bit for the limit, the limit. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_srq(&o->srq.ibsrq, &attr, IB_SRQ_LIMIT,
						 call(o, NULL, 0, 0)), 0);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x00), 0x090d0000);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x08), 0x10000000 | o->srq.rsc.num);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x14), 1);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x20), 0x00100000);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x20 + 0x30 + 0x04), 127);

	mock->num_commands = 0;
	attr.srq_limit = 128;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_srq(&o->srq.ibsrq, &attr, IB_SRQ_LIMIT,
						 call(o, NULL, 0, 0)), -EINVAL);
	attr.srq_limit = 0x10001;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_srq(&o->srq.ibsrq, &attr, IB_SRQ_LIMIT,
						 call(o, NULL, 0, 0)), -EINVAL);
	attr.srq_limit = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_srq(&o->srq.ibsrq, &attr,
						 IB_SRQ_LIMIT | IB_SRQ_MAX_WR,
						 call(o, NULL, 0, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_srq(&o->srq.ibsrq, &attr, 1 << 2,
						 call(o, NULL, 0, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_srq(&o->srq.ibsrq, &attr, 0, call(o, NULL, 0, 0)), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);

	KUNIT_EXPECT_EQ(test, mlx5_ib_query_srq(&o->srq.ibsrq, &attr), 0);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x00), 0x090f0000);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x08), o->srq.rsc.num);
	KUNIT_EXPECT_EQ(test, attr.max_wr, 127);
	KUNIT_EXPECT_EQ(test, attr.max_sge, 1);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 0);

	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_srq(&o->srq.ibsrq, &attr), mock->refuse_err);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_srq(&o->srq.ibsrq, &attr, IB_SRQ_LIMIT,
						 call(o, NULL, 0, 0)), mock->refuse_err);
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, destroy_srq(o) ?: drop_pd(o), 0);
}

static void xrc_srq_of_a_kernel_consumer_is_refused(struct kunit *test)
{
	struct ib_srq_init_attr init = { .srq_type = IB_SRQT_XRC, .attr = { .max_wr = 1 } };
	struct objects *o = make_objects(test);

	KUNIT_ASSERT_EQ(test, need_pd(o), 0);
	o->mock->num_commands = 0;
	o->srq.ibsrq.device = &o->mock->dev->ib_dev;
	o->srq.ibsrq.pd = &o->pd.ibpd;
	o->srq.ibsrq.srq_type = IB_SRQT_XRC;
	KUNIT_EXPECT_EQ(test, mlx5_ib_create_srq(&o->srq.ibsrq, &init, NULL), -EOPNOTSUPP);
	mock_set_issi(o->mock, 0);
	KUNIT_EXPECT_EQ(test, create_srq(o), -EOPNOTSUPP);
	mock_set_issi(o->mock, 1);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, drop_pd(o), 0);
}

/*
 * 32 WQEs of 32 bytes from the middle of a page: an XRC SRQ's context has the bit
 * for it that an RMP's lacks.
 */
static void xrc_srq_is_created_armed_and_queried(struct kunit *test)
{
	struct ib_srq_attr attr = { .srq_limit = 31 };
	struct mlx5_ib_create_srq_resp resp;
	struct objects *o = make_objects(test);
	struct mock *mock = o->mock;

	o->srq_buf += PAGE_SIZE / 2;
	KUNIT_ASSERT_EQ(test, need_xrcd(o) ?: create_xrc_srq(o), 0);
	mock_read_answer(mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.srqn, o->srq.rsc.num);
	KUNIT_EXPECT_EQ(test, o->srq.ibsrq.ext.xrc.srq_num, o->srq.rsc.num);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x00), 0x07050000);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x10), 0x05000000);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x10 + 0x04), 0x01000000 | o->xrcd.xrcdn);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x10 + 0x08), 0x80000000 | o->cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x10 + 0x10), 9);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x10 + 0x18), o->pd.pdn);

	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_srq(&o->srq.ibsrq, &attr, IB_SRQ_LIMIT,
						 call(o, NULL, 0, 0)), 0);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x00), 0x07080000);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x04), 1);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x08), o->srq.rsc.num);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x0c), 31);

	KUNIT_EXPECT_EQ(test, mlx5_ib_query_srq(&o->srq.ibsrq, &attr), 0);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x00), 0x07070000);
	KUNIT_EXPECT_EQ(test, dword(mock, 0x08), o->srq.rsc.num);
	KUNIT_EXPECT_EQ(test, attr.max_wr, 31);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 0);

	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_srq(&o->srq.ibsrq, &attr), mock->refuse_err);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_srq(&o->srq.ibsrq, &attr, IB_SRQ_LIMIT,
						 call(o, NULL, 0, 0)), mock->refuse_err);
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, destroy_srq(o) ?: drop_xrcd(o), 0);
}

/* A context without user indices, and one with: the index that each takes. */
static void user_index_of_an_xrc_srq_fits_the_cqe_version(struct kunit *test)
{
	static const struct {
		u8 cqe_version;
		u32 uidx;
		int want;
	} cases[] = {
		{ 1, 0xfffffe, 0 }, { 1, 0xffffff, -EINVAL }, { 0, 0xffffff, 0 }, { 0, 9, -EINVAL },
	};
	struct mlx5_ib_create_srq ucmd = {};
	struct ib_srq_init_attr init = { .srq_type = IB_SRQT_XRC, .attr = { .max_wr = 1 } };
	struct objects *o = make_objects(test);
	int i;

	KUNIT_ASSERT_EQ(test, need_xrcd(o) ?: create_xrc_srq(o) ?: destroy_srq(o), 0);
	ucmd.buf_addr = o->srq_buf;
	ucmd.db_addr = o->srq_db;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		o->mock->context->cqe_version = cases[i].cqe_version;
		ucmd.uidx = cases[i].uidx;
		o->mock->num_commands = 0;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_create_srq(&o->srq.ibsrq, &init,
							     call(o, &ucmd, sizeof(ucmd), 8)),
				    cases[i].want, "case %d", i);
		KUNIT_EXPECT_EQ(test, o->mock->num_commands, !cases[i].want);
		if (cases[i].want)
			continue;
		KUNIT_EXPECT_EQ(test, dword(o->mock, 0x10 + 0x10), cases[i].uidx);
		KUNIT_EXPECT_EQ(test, destroy_srq(o), 0);
	}
	KUNIT_EXPECT_EQ(test, drop_xrcd(o), 0);
}

/* What verbs do not give: the driver's SRQ and CQ, and its PD or its empty domain. */
static void xrc_queue_pair_contexts_name_internal_objects(struct kunit *test)
{
	struct objects *o = make_objects(test);
	u32 own_cqn, own_srqn, own_pdn;

	KUNIT_ASSERT_EQ(test, need_xrcd(o) ?: create_tgt(o), 0);
	/* The mock's numbers are consecutive: a PD, a CQ, two XRCDs and an SRQ at first. */
	own_pdn = o->pd.pdn + 1;
	own_cqn = o->cq.mcq.cqn + 1;
	own_srqn = 0x100;
	KUNIT_EXPECT_EQ(test, o->xrcd.xrcdn, 0x102);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18), 0x00031800);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x04), own_pdn);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x7c), own_cqn);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x98), 0x102);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x9c), own_cqn);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0xac), 0x01000000 | own_srqn);
	KUNIT_EXPECT_EQ(test, destroy_tgt(o), 0);

	KUNIT_ASSERT_EQ(test, create_ini(o), 0);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18), 0x00031800);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x04), o->pd.pdn);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x7c), o->cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x98), 0x101);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0x9c), own_cqn);
	KUNIT_EXPECT_EQ(test, dword(o->mock, 0x18 + 0xac), 0x01000000 | own_srqn);
	KUNIT_EXPECT_EQ(test, destroy_qp(o) ?: drop_xrcd(o), 0);
}

/* ib_core forgets them all the same, so the driver asks again: six times in all. */
static void refused_xrc_destruction_is_repeated_and_succeeds(struct kunit *test)
{
	struct objects *o = make_objects(test);
	struct mock *mock = o->mock;

	KUNIT_ASSERT_EQ(test, need_xrcd(o) ?: create_tgt(o), 0);
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, destroy_tgt(o), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_QP], 0);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, destroy_xrcd(o), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_XRCD], 2);

	mock->refuse = 0;
	KUNIT_ASSERT_EQ(test, create_xrcd(o) ?: create_tgt(o), 0);
	mock->refuse_destroy = true;
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, destroy_tgt(o), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 6);
	KUNIT_EXPECT_TRUE(test, xa_empty(&mock->dev->rsc_table.rscs));
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, destroy_xrcd(o), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 6);
	mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, drop_own_and_cq(o), 0);
}

static void device_without_xrc_gets_no_xrc_command(struct kunit *test)
{
	struct objects *o = make_objects(test);
	struct mlx5_ib_caps *caps = &o->mock->dev->caps;
	int err;

	KUNIT_ASSERT_EQ(test, need_xrcd(o) ?: destroy_xrcd(o) ?: destroy_own(o), 0);
	MOCK_SET_CAP(caps, xrc, 0);
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, create_own(o), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, create_xrcd(o), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, create_xrc_srq(o), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, create_ini(o), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, create_tgt(o), -EOPNOTSUPP);
	/* An old device has SRQs of another kind, and no XRC on top of them. */
	MOCK_SET_CAP(caps, xrc, 1);
	mock_set_issi(o->mock, 0);
	err = create_own(o);
	mock_set_issi(o->mock, 1);
	KUNIT_EXPECT_EQ(test, err, -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, drop_cq(o), 0);
}

/* Whatever needs the driver's own objects first creates them, or fails and leaves nothing. */
static void first_use_of_xrc_creates_all_or_nothing(struct kunit *test)
{
	struct objects *o = make_objects(test);
	struct mock *mock = o->mock;
	unsigned int n, live;

	KUNIT_ASSERT_EQ(test, need_cq(o), 0);
	live = mock_num_live(mock);
	/* PD, CQ, two domains, SRQ; and the domain of the caller. */
	for (n = 1; n <= 6; n++) {
		mock->num_commands = 0;
		mock->refuse = n;
		KUNIT_EXPECT_EQ_MSG(test, create_xrcd(o), mock->refuse_err, "refusal %u", n);
		if (n == 6)
			break;
		KUNIT_EXPECT_NULL(test, mock->dev->xrc);
		KUNIT_EXPECT_EQ_MSG(test, mock_num_live(mock), live, "refusal %u", n);
	}
	/* What was created for a caller that failed later is there for the next one. */
	KUNIT_EXPECT_NOT_NULL(test, mock->dev->xrc);
	mock->refuse = 0;
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, create_xrcd(o), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, destroy_xrcd(o) ?: destroy_own(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), live);

	/* An initiator is in no domain of its process. */
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, create_ini(o), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), live);
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, create_ini(o), 0);
	KUNIT_EXPECT_NOT_NULL(test, mock->dev->xrc);
	KUNIT_EXPECT_EQ(test, destroy_qp(o), 0);
	KUNIT_EXPECT_EQ(test, drop_own_and_cq(o), 0);
}

/* Nobody else would tell those who wait. */
static void umr_of_a_failed_device_takes_no_requests(struct kunit *test)
{
	struct mlx5_ib_dev *dev = make_objects(test)->mock->dev;

	KUNIT_ASSERT_EQ(test, mlx5_ib_init_umr(dev), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_await(dev), 0);
	mlx5_ib_cleanup_umr(dev);
	dev->mdev->state = MLX5_DEVICE_STATE_INTERNAL_ERROR;
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_umr(dev), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_await(dev), -EAGAIN);
	dev->mdev->state = MLX5_DEVICE_STATE_UP;
	mlx5_ib_cleanup_umr(dev);
}

static const struct open_case {
	const char *name;
	struct mlx5_ib_alloc_ucontext_req_v2 req;
	size_t inlen;
	int want;
} open_cases[] = {
	{ "no bfregs", { .total_num_bfregs = 0 }, 0, -EINVAL },
	{ "513 bfregs", { .total_num_bfregs = 513 }, 0, -ENOMEM },
	{ "all of them low latency", { .total_num_bfregs = 16, .num_low_latency_bfregs = 16 }, 0,
	  -EINVAL },
	{ "DEVX and an undefined flag", { .total_num_bfregs = 16, .flags = 3 }, 0, -EOPNOTSUPP },
	{ "an undefined flag", { .total_num_bfregs = 16, .flags = 2 }, 0, -EOPNOTSUPP },
	{ "the highest flag", { .total_num_bfregs = 16, .flags = 1U << 31 }, 0, -EOPNOTSUPP },
	{ "an undefined comp_mask", { .total_num_bfregs = 16, .comp_mask = 1 }, 0, -EOPNOTSUPP },
	{ "reserved0", { .total_num_bfregs = 16, .reserved0 = 1 }, 0, -EOPNOTSUPP },
	{ "reserved1", { .total_num_bfregs = 16, .reserved1 = 1 }, 0, -EOPNOTSUPP },
	{ "reserved2", { .total_num_bfregs = 16, .reserved2 = 1 }, 0, -EOPNOTSUPP },
	{ "an empty request", {}, 1, -EINVAL },
	{ "a request cut short", { .total_num_bfregs = 16 }, 12, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(open, open_cases, name);

static void invalid_context_request_sends_no_command(struct kunit *test)
{
	const struct open_case *c = test->param_value;
	struct mock *mock = mock_create(test);
	struct ib_udata *udata = mock_udata(mock, &c->req, c->inlen ?: sizeof(c->req),
					    sizeof(struct mlx5_ib_alloc_ucontext_resp));
	int idx, err;

	idx = mock_enter(mock);
	err = mlx5_ib_alloc_ucontext(&mock->context->ibucontext, udata);
	mock_leave(mock, idx);
	KUNIT_EXPECT_EQ(test, err, c->want);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_EXPECT_NULL(test, mock->context->bfregi.sys_pages);
	KUNIT_EXPECT_NULL(test, mock->context->bfregi.count);
}

/* Keys of memory and what XRC shares belong to the kernel; the rest, to the context's user id. */
static void objects_carry_the_user_id_of_their_context(struct kunit *test)
{
	static const enum mock_kind users[] = {
		MOCK_UAR, MOCK_PD, MOCK_CQ, MOCK_QP, MOCK_RMP,
	};
	struct objects *o = make_objects(test);
	struct mock *mock = o->mock;
	unsigned long number;
	void *owner;
	int i;

	o->num_bfregs = 16;
	o->qp_type = IB_QPT_RC;
	KUNIT_ASSERT_EQ(test, create_devx_context(o) ?: create_pd(o) ?: create_cq(o) ?:
			      create_qp(o) ?: create_srq(o) ?: create_mr(o), 0);
	KUNIT_EXPECT_NE(test, mock->context->uid, 0);
	for (i = 0; i < ARRAY_SIZE(users); i++)
		xa_for_each(&mock->live[users[i]], number, owner)
			KUNIT_EXPECT_EQ(test, xa_to_value(owner), mock->context->uid);
	xa_for_each(&mock->live[MOCK_UCTX], number, owner)
		KUNIT_EXPECT_EQ(test, xa_to_value(owner), 0);
	xa_for_each(&mock->live[MOCK_MKEY], number, owner)
		KUNIT_EXPECT_EQ(test, xa_to_value(owner), 0);
	KUNIT_EXPECT_EQ(test, destroy_mr(o) ?: destroy_srq(o) ?: destroy_qp(o) ?: drop_cq(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

static void user_id_is_destroyed_for_sure_and_needs_the_device(struct kunit *test)
{
	struct objects *o = make_objects(test);
	struct mock *mock = o->mock;

	o->num_bfregs = 16;
	KUNIT_ASSERT_EQ(test, create_devx_context(o), 0);
	/* DESTROY_UCTX comes after eight DEALLOC_UAR; refused once, it is sent again. */
	mock->num_commands = 0;
	mock->refuse = 9;
	KUNIT_EXPECT_EQ(test, destroy_context(o), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 10);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);

	mock->refuse = 0;
	mock->num_commands = 0;
	MOCK_SET_CAP(&mock->dev->caps, log_max_uctx, 0);
	KUNIT_EXPECT_EQ(test, create_devx_context(o), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
}

static void library_is_told_the_limits_of_the_device(struct kunit *test)
{
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct mock *mock = mock_create(test);

	mock_open(mock);
	mock_read_answer(mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.bf_reg_size, 512);
	KUNIT_EXPECT_EQ(test, resp.tot_bfregs, 16);
	KUNIT_EXPECT_EQ(test, resp.num_dyn_bfregs, 1024);
	KUNIT_EXPECT_EQ(test, resp.num_uars_per_page, 1);
	KUNIT_EXPECT_EQ(test, resp.log_uar_size, 12);
	KUNIT_EXPECT_EQ(test, resp.qp_tab_size, 262144);
	KUNIT_EXPECT_EQ(test, resp.cache_line_size, 64);
	KUNIT_EXPECT_EQ(test, resp.max_sq_desc_sz, 1024);
	KUNIT_EXPECT_EQ(test, resp.max_rq_desc_sz, 512);
	KUNIT_EXPECT_EQ(test, resp.max_send_wqebb, 32768);
	KUNIT_EXPECT_EQ(test, resp.max_recv_wr, 32768);
	KUNIT_EXPECT_EQ(test, resp.max_srq_recv_wr, 32768);
	KUNIT_EXPECT_EQ(test, resp.num_ports, 1);
	KUNIT_EXPECT_EQ(test, resp.flow_action_flags, 0);
	KUNIT_EXPECT_EQ(test, resp.comp_mask, 3);
	KUNIT_EXPECT_EQ(test, resp.response_length, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.cqe_version, 1);
	KUNIT_EXPECT_EQ(test, resp.cmds_supp_uhw, 3);
	KUNIT_EXPECT_EQ(test, resp.dump_fill_mkey, 1792);
	mock_close(mock);
}

static const struct step {
	const char *name;
	enum ib_qp_state from;
	struct ib_qp_attr attr;
	int mask;
} rc_steps[] = {
	{
		"INIT", IB_QPS_RESET, { .qp_state = IB_QPS_INIT, .port_num = 1 },
		IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS,
	},
	{
		"RTR", IB_QPS_INIT,
		{
			.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_1024, .dest_qp_num = 7,
			.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
			.ah_attr = {
				.type = RDMA_AH_ATTR_TYPE_IB, .port_num = 1, .ib = { .dlid = 2 },
			},
		},
		IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
		IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER,
	},
	{
		"RTS", IB_QPS_RTR,
		{ .qp_state = IB_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7 },
		IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
		IB_QP_MAX_QP_RD_ATOMIC,
	},
	{ "ERR", IB_QPS_RTS, { .qp_state = IB_QPS_ERR }, IB_QP_STATE },
	{ "RESET", IB_QPS_ERR, { .qp_state = IB_QPS_RESET }, IB_QP_STATE },
};

static int take_step(struct objects *o, const struct step *step)
{
	struct ib_qp_attr attr = step->attr;

	return mlx5_ib_modify_qp(&o->qp.ibqp, &attr, step->mask, call(o, NULL, 0, 0));
}

static void refused_state_change_keeps_the_state(struct kunit *test)
{
	struct objects *o = make_objects(test);
	int i;

	KUNIT_ASSERT_EQ(test, need_cq(o) ?: create_qp(o), 0);
	/* mlx5_core says how many P_Keys there are only by a capability. */
	MOCK_SET_CAP(&o->mock->dev->caps, pkey_table_size, 0);
	for (i = 0; i < ARRAY_SIZE(rc_steps); i++) {
		const struct step *step = &rc_steps[i];

		o->mock->num_commands = 0;
		o->mock->refuse = 1;
		KUNIT_EXPECT_EQ_MSG(test, take_step(o, step), o->mock->refuse_err, "to %s",
				    step->name);
		KUNIT_EXPECT_EQ_MSG(test, o->qp.state, step->from, "refused %s", step->name);
		o->mock->refuse = 0;
		KUNIT_ASSERT_EQ_MSG(test, take_step(o, step), 0, "to %s", step->name);
		KUNIT_EXPECT_EQ_MSG(test, o->qp.state, step->attr.qp_state, "to %s", step->name);
	}
	KUNIT_EXPECT_EQ(test, destroy_qp(o) ?: drop_cq(o), 0);
}

static void illegal_state_change_sends_no_command(struct kunit *test)
{
	struct ib_qp_attr attr = { .port_num = 1 };
	struct objects *o = make_objects(test);
	int next;

	KUNIT_ASSERT_EQ(test, need_cq(o) ?: create_qp(o), 0);
	o->mock->num_commands = 0;
	for (next = IB_QPS_RTR; next <= IB_QPS_SQE; next++) {
		attr.qp_state = next;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_modify_qp(&o->qp.ibqp, &attr, IB_QP_STATE,
							    call(o, NULL, 0, 0)), -EINVAL,
				    "from RESET to %d", next);
	}
	/* Legal, but with less or more than it takes. */
	attr.qp_state = IB_QPS_INIT;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_qp(&o->qp.ibqp, &attr, IB_QP_STATE | IB_QP_PORT,
						call(o, NULL, 0, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_qp(&o->qp.ibqp, &attr, IB_QP_STATE | IB_QP_PORT |
						IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS | IB_QP_AV,
						call(o, NULL, 0, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, o->qp.state, IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, destroy_qp(o) ?: drop_cq(o), 0);
}

static int resize(struct objects *o, unsigned int cqe)
{
	struct mlx5_ib_resize_cq ucmd = {
		.buf_addr = mock_buffer(o->mock, CQ_BIG_BUF), .cqe_size = 64,
	};

	return mlx5_ib_resize_user_cq(&o->cq.ibcq, cqe, call(o, &ucmd, sizeof(ucmd), 0));
}

static void refused_resize_keeps_the_buffer(struct kunit *test)
{
	struct objects *o = make_objects(test);
	struct footprint before;
	struct ib_umem *umem;

	KUNIT_ASSERT_EQ(test, need_cq(o), 0);
	take_footprint(o->mock, &before);
	umem = o->cq.mem.buf.umem;

	o->mock->num_commands = 0;
	o->mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, resize(o, 127), o->mock->refuse_err);
	expect_footprint(test, o->mock, &before, "a refused resize", 0);
	KUNIT_EXPECT_PTR_EQ(test, o->cq.mem.buf.umem, umem);
	KUNIT_EXPECT_EQ(test, o->cq.ibcq.cqe, 15);

	o->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, resize(o, 127), 0);
	KUNIT_EXPECT_PTR_NE(test, o->cq.mem.buf.umem, umem);
	KUNIT_EXPECT_EQ(test, o->cq.ibcq.cqe, 127);
	/* Two pages in the place of one. */
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), before.pinned + 1);
	KUNIT_EXPECT_EQ(test, drop_cq(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

static const struct rereg_case {
	const char *name;
	int flags;
} rereg_cases[] = {
	{ "access", IB_MR_REREG_ACCESS },
	{ "domain", IB_MR_REREG_PD },
	{ "memory", IB_MR_REREG_TRANS },
	{ "all", IB_MR_REREG_ACCESS | IB_MR_REREG_PD | IB_MR_REREG_TRANS },
};

KUNIT_ARRAY_PARAM_DESC(rereg, rereg_cases, name);

static struct ib_mr *rereg(struct objects *o, const struct rereg_case *c)
{
	unsigned long start = o->mr_start + PAGE_SIZE;

	return mlx5_ib_rereg_user_mr(o->mr, c->flags, start, MR_PAGES * PAGE_SIZE, start,
				     IB_ACCESS_REMOTE_READ, &o->pd.ibpd, call(o, NULL, 0, 0));
}

/* Of the key, the memory and the rights, all that a work request or a caller can see. */
static void expect_unchanged(struct kunit *test, struct objects *o, const struct mlx5_ib_mr *was)
{
	struct mlx5_ib_mr *mr = to_mmr(o->mr);

	KUNIT_EXPECT_EQ(test, mr->ibmr.lkey, was->ibmr.lkey);
	KUNIT_EXPECT_EQ(test, mr->ibmr.rkey, was->ibmr.rkey);
	KUNIT_EXPECT_EQ(test, mr->ibmr.iova, was->ibmr.iova);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, was->ibmr.length);
	KUNIT_EXPECT_EQ(test, mr->access, was->access);
	KUNIT_EXPECT_PTR_EQ(test, mr->umem, was->umem);
	KUNIT_EXPECT_FALSE(test, mr->leak_umem);
	KUNIT_EXPECT_FALSE(test, mr->mkey.destroyed);
	KUNIT_EXPECT_NOT_NULL(test, xa_load(&o->mock->live[MOCK_MKEY],
					    mlx5_mkey_to_idx(was->ibmr.lkey)));
}

static void refused_reregistration_keeps_the_region(struct kunit *test)
{
	const struct rereg_case *c = test->param_value;
	struct objects *o = make_objects(test);
	struct footprint before;
	struct mlx5_ib_mr was;
	struct ib_mr *mr;
	unsigned int n;

	KUNIT_ASSERT_EQ(test, need_pd(o) ?: create_mr(o), 0);
	take_footprint(o->mock, &before);
	was = *to_mmr(o->mr);
	/* The new key is refused; then the old one's destruction, and the new key has to go. */
	for (n = 1; n <= 2; n++) {
		o->mock->num_commands = 0;
		o->mock->refuse = n;
		KUNIT_EXPECT_PTR_EQ_MSG(test, rereg(o, c), ERR_PTR(o->mock->refuse_err),
					"refusal %u", n);
		KUNIT_EXPECT_EQ_MSG(test, o->mock->num_commands, n == 1 ? 1 : 3, "refusal %u", n);
		expect_footprint(test, o->mock, &before, "a refused re-registration", n);
		expect_unchanged(test, o, &was);
	}

	o->mock->refuse = 0;
	mr = rereg(o, c);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	mr->device = &o->mock->dev->ib_dev;
	KUNIT_EXPECT_NE(test, mr->lkey, was.ibmr.lkey);
	/* Nothing is reached by the old key, though ib_core has yet to deregister it. */
	KUNIT_EXPECT_EQ(test, o->mock->num_live[MOCK_MKEY], 1);
	KUNIT_EXPECT_NULL(test, xa_load(&o->mock->live[MOCK_MKEY],
					mlx5_mkey_to_idx(was.ibmr.lkey)));
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, destroy_mr(o), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), before.pinned);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, &o->mock->attrs->driver_udata), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_EQ(test, drop_pd(o), 0);
}

/* Firmware calls the state of a key that has windows bad, and ibv_dereg_mr(3) says EBUSY. */
static void region_with_a_window_is_busy(struct kunit *test)
{
	const struct rereg_case *c = test->param_value;
	struct objects *o = make_objects(test);
	struct footprint before;
	struct mlx5_ib_mr was;

	KUNIT_ASSERT_EQ(test, need_pd(o) ?: create_mr(o), 0);
	take_footprint(o->mock, &before);
	was = *to_mmr(o->mr);
	o->mock->refuse_err = -EINVAL;
	o->mock->num_commands = 0;
	o->mock->refuse = 2;
	KUNIT_EXPECT_PTR_EQ(test, rereg(o, c), ERR_PTR(-EBUSY));
	expect_footprint(test, o->mock, &before, "a refused re-registration", 0);
	expect_unchanged(test, o, &was);
	o->mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, destroy_mr(o), -EBUSY);
	expect_unchanged(test, o, &was);
	o->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, destroy_mr(o) ?: drop_pd(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

static struct kunit_case create_cases[] = {
	KUNIT_CASE_PARAM(refusal_of_any_command_leaves_nothing, path_gen_params),
	KUNIT_CASE_PARAM(undelivered_response_leaves_nothing, path_gen_params),
	KUNIT_CASE_PARAM(memory_stays_pinned_while_firmware_keeps_the_object, path_gen_params),
	KUNIT_CASE_PARAM(orphans_are_destroyed_before_what_they_refer_to, path_gen_params),
	KUNIT_CASE(refused_internal_objects_keep_their_memory),
	KUNIT_CASE_PARAM(refused_destruction_changes_nothing, path_gen_params),
	KUNIT_CASE_PARAM(memory_the_process_may_not_use_is_refused, memory_gen_params),
	KUNIT_CASE(refused_pin_leaves_nothing),
	KUNIT_CASE(library_and_firmware_are_told_the_same_uar),
	KUNIT_CASE(qp_context_names_its_own_objects),
	KUNIT_CASE(cq_context_names_its_size_uar_and_eq),
	KUNIT_CASE(srq_limit_is_armed_and_queried_and_bad_changes_are_refused),
	KUNIT_CASE(xrc_srq_of_a_kernel_consumer_is_refused),
	KUNIT_CASE(xrc_srq_is_created_armed_and_queried),
	KUNIT_CASE(user_index_of_an_xrc_srq_fits_the_cqe_version),
	KUNIT_CASE(xrc_queue_pair_contexts_name_internal_objects),
	KUNIT_CASE(refused_xrc_destruction_is_repeated_and_succeeds),
	KUNIT_CASE(device_without_xrc_gets_no_xrc_command),
	KUNIT_CASE(first_use_of_xrc_creates_all_or_nothing),
	KUNIT_CASE(umr_of_a_failed_device_takes_no_requests),
	KUNIT_CASE_PARAM(invalid_context_request_sends_no_command, open_gen_params),
	KUNIT_CASE(objects_carry_the_user_id_of_their_context),
	KUNIT_CASE(user_id_is_destroyed_for_sure_and_needs_the_device),
	KUNIT_CASE(library_is_told_the_limits_of_the_device),
	KUNIT_CASE(refused_state_change_keeps_the_state),
	KUNIT_CASE(illegal_state_change_sends_no_command),
	KUNIT_CASE(refused_resize_keeps_the_buffer),
	KUNIT_CASE_PARAM(refused_reregistration_keeps_the_region, rereg_gen_params),
	KUNIT_CASE_PARAM(region_with_a_window_is_busy, rereg_gen_params),
	{}
};

static struct kunit_suite create_suite = {
	.name = "bluebell_create",
	.test_cases = create_cases,
};

kunit_test_suite(create_suite);
