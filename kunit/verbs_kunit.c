// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the verbs of queue pairs, CQs and memory regions of processes: what the contexts
 * of new objects name, and what a refused change leaves as it was.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "layout/layout_odp.h"
#include "lib/golden.h"
#include "lib/mock.h"
#include "lib/objects.h"
#include "lib/orphan.h"
#include "lib/umem.h"
#include "verbs/cq.h"
#include "verbs/mr.h"
#include "verbs/qp.h"

#define CQ_BIG_BUF	6
/* CQEs that fill two pages. */
#define CQ_BIG_CQES	(2 * PAGE_SIZE / sizeof(struct mlx5_cqe64))

/* ---- what new objects are given --------------------------------------------------------- */

/* Registers of the context, in whole pages. The last of them are low latency. */
#define BFREGS		(MOCK_UAR_PAGES(16) * MOCK_PAGE_UARS * 2)
#define LOW_LATENCY	4

/*
 * The library is told the register of each queue pair, and firmware the UAR of the register. One
 * queue pair is created for each register, and one more: first each low latency register serves a
 * queue pair, then all others but the first register serve one after the other.
 */
static void library_and_firmware_are_told_the_same_uar(struct kunit *test)
{
	const u32 shared = BFREGS - LOW_LATENCY - 1;
	struct mlx5_ib_create_qp_resp resp;
	struct objects *o = objects_make(test);
	struct mlx5_ib_qp *qps;
	u32 i, bfreg;

	qps = kunit_kcalloc(test, BFREGS + 1, sizeof(*qps), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, qps);
	KUNIT_ASSERT_EQ(test, objects_need(o, OBJ_RC_QP), 0);
	for (i = 0; i < BFREGS + 1; i++) {
		KUNIT_ASSERT_EQ(test, objects_create_qp(o, &qps[i], IB_QPT_RC), 0);
		mock_read_answer(o->mock, &resp, sizeof(resp));
		bfreg = i < LOW_LATENCY ? BFREGS - LOW_LATENCY + i :
					  1 + (i - LOW_LATENCY) % shared;
		/* Queues use two of a UAR's four registers. */
		KUNIT_EXPECT_EQ_MSG(test, resp.bfreg_index, bfreg / 2 * 4 + bfreg % 2, "QP %u",
				    i + 1);
		/* qpc.uar_page; the context's UARs are numbered from 0x100 on. */
		KUNIT_EXPECT_EQ_MSG(test, mock_dword(o->mock, 0x18 + 0x0c), 0x100 + bfreg / 2,
				    "QP %u", i + 1);
	}
	for (i = 0; i < BFREGS + 1; i++)
		KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&qps[i].ibqp,
							 &o->mock->attrs->driver_udata), 0);
	for (i = 0; i < BFREGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, o->mock->context->bfregi.count[i], 0, "bfreg %u", i);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void qp_context_names_its_own_objects(struct kunit *test)
{
	struct objects *o = objects_make(test);
	const struct mlx5_ib_queue_mem *mem = &o->qp.mem;
	struct mock *mock = o->mock;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_RC_QP), 0);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18), 0x00001800);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18 + 0x04), o->pd.pdn);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18 + 0x10), 5);
	/* Page size of the buffer, and the offset of the buffer in its first page. */
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18 + 0x14), (mem->buf.geo.page_shift - 12) << 24);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18 + 0x90), mem->buf.geo.page_offset << 6);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18 + 0x7c), o->cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18 + 0x9c), o->cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18 + 0xa0), upper_32_bits(mem->db.dma));
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18 + 0xa4), lower_32_bits(mem->db.dma));
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void cq_context_names_its_size_uar_and_eq(struct kunit *test)
{
	struct mlx5_ib_create_cq_resp resp;
	struct objects *o = objects_make(test);

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_CQ), 0);
	mock_read_answer(o->mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.cqn, o->cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, o->cq.ibcq.cqe, 15);
	KUNIT_EXPECT_EQ(test, mock_dword(o->mock, 0x00), 0x04000000);
	/* cqc: log_cq_size 4 and the context's first UAR; the EQ of the completion vector. */
	KUNIT_EXPECT_EQ(test, mock_dword(o->mock, 0x10 + 0x0c), 0x04000100);
	KUNIT_EXPECT_EQ(test, mock_dword(o->mock, 0x10 + 0x14), 13);
	KUNIT_EXPECT_NE(test, o->cq.mem.db.dma, 0);
	KUNIT_EXPECT_EQ(test, mock_dword(o->mock, 0x10 + 0x38), upper_32_bits(o->cq.mem.db.dma));
	KUNIT_EXPECT_EQ(test, mock_dword(o->mock, 0x10 + 0x3c), lower_32_bits(o->cq.mem.db.dma));
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* A process whose library creates UAR objects as it needs them has no static UAR. */
static void cq_without_a_uar_is_refused(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct mlx5_bfreg_layout *layout;
	u32 num;

	KUNIT_ASSERT_EQ(test, objects_need(o, OBJ_CQ), 0);
	layout = &o->mock->context->bfregi.layout;
	num = layout->num_static_sys_pages;
	layout->num_static_sys_pages = 0;
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, objects_create(o, OBJ_CQ), -EINVAL);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	layout->num_static_sys_pages = num;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* ---- state changes ---------------------------------------------------------------------- */

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

static int modify_qp(struct objects *o, const struct ib_qp_attr *to, int mask)
{
	struct ib_qp_attr attr = *to;

	return mlx5_ib_modify_qp(&o->qp.ibqp, &attr, mask, objects_udata(o, NULL, 0, 0));
}

static void refused_state_change_keeps_the_state(struct kunit *test)
{
	struct objects *o = objects_make(test);
	int i;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_RC_QP), 0);
	/* mlx5_core computes the number of P_Keys from this capability: 0 is 128 P_Keys. */
	MOCK_SET_CAP(&o->mock->dev->caps, pkey_table_size, 0);
	for (i = 0; i < ARRAY_SIZE(rc_steps); i++) {
		const struct step *step = &rc_steps[i];

		o->mock->num_commands = 0;
		o->mock->refuse = 1;
		KUNIT_EXPECT_EQ_MSG(test, modify_qp(o, &step->attr, step->mask),
				    o->mock->refuse_err, "to %s", step->name);
		KUNIT_EXPECT_EQ_MSG(test, o->qp.state, step->from, "refused %s", step->name);
		o->mock->refuse = 0;
		KUNIT_ASSERT_EQ_MSG(test, modify_qp(o, &step->attr, step->mask), 0, "to %s",
				    step->name);
		KUNIT_EXPECT_EQ_MSG(test, o->qp.state, step->attr.qp_state, "to %s", step->name);
	}
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void illegal_state_change_sends_no_command(struct kunit *test)
{
	const int init_mask = IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS;
	struct ib_qp_attr attr = { .port_num = 1 };
	struct objects *o = objects_make(test);
	int next;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_RC_QP), 0);
	o->mock->num_commands = 0;
	for (next = IB_QPS_RTR; next <= IB_QPS_SQE; next++) {
		attr.qp_state = next;
		KUNIT_EXPECT_EQ_MSG(test, modify_qp(o, &attr, IB_QP_STATE), -EINVAL,
				    "from RESET to %d", next);
	}
	/* A legal change, but with fewer or more attributes than it takes. */
	attr.qp_state = IB_QPS_INIT;
	KUNIT_EXPECT_EQ(test, modify_qp(o, &attr, IB_QP_STATE | IB_QP_PORT), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify_qp(o, &attr, init_mask | IB_QP_AV), -EINVAL);
	/* A queue pair that is in RESET may be reset. */
	attr.qp_state = IB_QPS_RESET;
	KUNIT_EXPECT_EQ(test, modify_qp(o, &attr, IB_QP_STATE), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, o->qp.state, IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* ---- events of CQs ----------------------------------------------------------------------- */

struct cq_calls {
	unsigned int completions;
	unsigned int errors;
	struct ib_event event;
};

static void count_completion(struct ib_cq *ibcq, void *context)
{
	struct cq_calls *calls = context;

	calls->completions++;
}

static void count_error(struct ib_event *event, void *context)
{
	struct cq_calls *calls = context;

	calls->errors++;
	calls->event = *event;
}

/*
 * mlx5_core calls the driver for every event of a CQ. The CQ of a kernel consumer may have no
 * handler.
 */
static void events_of_a_cq_reach_its_owner(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct cq_calls calls = {};
	struct mlx5_core_cq *mcq = &o->cq.mcq;
	struct ib_cq *ibcq = &o->cq.ibcq;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_CQ), 0);
	ibcq->cq_context = &calls;
	mcq->event(mcq, MLX5_EVENT_TYPE_CQ_ERROR);
	ibcq->event_handler = count_error;
	ibcq->comp_handler = count_completion;
	mcq->event(mcq, MLX5_EVENT_TYPE_CQ_ERROR);
	KUNIT_EXPECT_EQ(test, calls.errors, 1);
	KUNIT_EXPECT_EQ(test, calls.event.event, IB_EVENT_CQ_ERR);
	KUNIT_EXPECT_PTR_EQ(test, calls.event.element.cq, ibcq);
	KUNIT_EXPECT_PTR_EQ(test, calls.event.device, &o->mock->dev->ib_dev);
	mcq->event(mcq, MLX5_EVENT_TYPE_COMP);
	KUNIT_EXPECT_EQ(test, calls.errors, 1);
	KUNIT_EXPECT_EQ(test, calls.completions, 0);
	mcq->tasklet_ctx.comp(mcq, NULL);
	KUNIT_EXPECT_EQ(test, calls.completions, 1);
	KUNIT_EXPECT_EQ(test, calls.errors, 1);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* ---- requests that the driver reads for the paging of regions ----------------------------- */

/* Write data segment @n of a request, as the library does. */
static void put_segment(struct kunit *test, unsigned long at, unsigned int n)
{
	const struct mlx5_wqe_data_seg seg = {
		.byte_count = cpu_to_be32(n + 1), .lkey = cpu_to_be32(0x200 + n),
		.addr = cpu_to_be64(0x1000 * n),
	};

	KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)at, &seg, sizeof(seg)), 0);
}

static void expect_segments(struct kunit *test, const struct mlx5_ib_odp_sges *sges,
			    unsigned int first, unsigned int num)
{
	unsigned int i;

	KUNIT_ASSERT_EQ(test, sges->num, num);
	for (i = 0; i < num; i++) {
		KUNIT_EXPECT_EQ(test, sges->sge[i].length, first + i + 1);
		KUNIT_EXPECT_EQ(test, sges->sge[i].lkey, 0x200 + first + i);
		KUNIT_EXPECT_EQ(test, sges->sge[i].addr, 0x1000 * (first + i));
	}
}

/*
 * The send queue has 16 blocks behind a receive queue of 64 entries of a segment. A send request of
 * six units begins in the last block and goes on in the first one.
 */
static void request_of_a_queue_pair_is_read_where_the_library_puts_it(struct kunit *test)
{
	const struct mlx5_wqe_ctrl_seg ctrl = {
		.opmod_idx_opcode = cpu_to_be32(MLX5_OPCODE_SEND), .qpn_ds = cpu_to_be32(6),
	};
	void *wqe = kunit_kzalloc(test, MLX5_IB_ODP_MAX_WQE, GFP_KERNEL);
	struct mlx5_ib_odp_sges *sges = kunit_kzalloc(test, sizeof(*sges), GFP_KERNEL);
	struct objects *o = objects_make(test);
	struct mlx5_ib_rsc *rsc = &o->qp.rsc;
	unsigned long sq = o->qp_buf + 64 * 16, last = sq + 15 * 64;
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, wqe && sges);
	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_RC_QP), 0);
	KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)last, &ctrl, sizeof(ctrl)), 0);
	for (i = 0; i < 5; i++)
		put_segment(test, i < 3 ? last + 16 * (i + 1) : sq + 16 * (i - 3), i);
	/* The index counts on when the queue starts over. */
	KUNIT_EXPECT_PTR_EQ(test, mlx5_ib_qp_read_wqe(rsc, true, 16 + 15, wqe, sges), &o->pd.ibpd);
	expect_segments(test, sges, 0, 5);
	put_segment(test, o->qp_buf + 63 * 16, 9);
	KUNIT_EXPECT_PTR_EQ(test, mlx5_ib_qp_read_wqe(rsc, false, 64 + 63, wqe, sges),
			    &o->pd.ibpd);
	expect_segments(test, sges, 9, 1);
	o->qp.ucmd.rq_wqe_count = 0;
	KUNIT_EXPECT_PTR_EQ(test, mlx5_ib_qp_read_wqe(rsc, false, 0, wqe, sges),
			    ERR_PTR(-EINVAL));
	o->qp.ucmd.rq_wqe_count = 64;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* In an SRQ a request begins with the number of the next one. */
static void request_of_an_srq_is_read_behind_its_link(struct kunit *test)
{
	void *wqe = kunit_kzalloc(test, MLX5_IB_ODP_MAX_WQE, GFP_KERNEL);
	struct mlx5_ib_odp_sges *sges = kunit_kzalloc(test, sizeof(*sges), GFP_KERNEL);
	struct objects *o = objects_make(test);

	KUNIT_ASSERT_TRUE(test, wqe && sges);
	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_SRQ), 0);
	KUNIT_ASSERT_EQ(test, o->srq.wq.wqe_shift, 5);
	put_segment(test, o->srq_buf + 3 * 32 + 16, 7);
	KUNIT_EXPECT_PTR_EQ(test, mlx5_ib_srq_read_wqe(&o->srq.rsc, false, 3, wqe, sges),
			    &o->pd.ibpd);
	expect_segments(test, sges, 7, 1);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* ---- resized CQs and re-registered regions ---------------------------------------------- */

static int resize(struct objects *o, unsigned int cqe)
{
	struct mlx5_ib_resize_cq ucmd = {
		.buf_addr = mock_buffer(o->mock, CQ_BIG_BUF), .cqe_size = 64,
	};

	return mlx5_ib_resize_user_cq(&o->cq.ibcq, cqe, objects_udata(o, &ucmd, sizeof(ucmd), 0));
}

static void invalid_resize_sends_no_command(struct kunit *test)
{
	static const struct {
		struct mlx5_ib_resize_cq ucmd;
		unsigned int cqe;
		int want;
	} cases[] = {
		{ { .cqe_size = 128 }, 127, -EINVAL },
		{ { .cqe_size = 0 }, 127, -EINVAL },
		{ { .cqe_size = 64, .reserved0 = 1 }, 127, -EINVAL },
		{ { .cqe_size = 64, .reserved1 = 1 }, 127, -EINVAL },
		{ { .cqe_size = 64 }, 0, -EINVAL },
		{ { .cqe_size = 64 }, 1U << 22, -EINVAL },
		/* The CQ already has this size. */
		{ { .cqe_size = 64 }, 15, 0 },
		{ { .cqe_size = 64 }, 8, 0 },
	};
	struct objects *o = objects_make(test);
	struct mlx5_ib_resize_cq ucmd;
	struct ib_umem *umem;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_CQ), 0);
	umem = o->cq.mem.buf.umem;
	o->mock->num_commands = 0;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ucmd = cases[i].ucmd;
		ucmd.buf_addr = mock_buffer(o->mock, CQ_BIG_BUF);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].want,
				    mlx5_ib_resize_user_cq(&o->cq.ibcq, cases[i].cqe,
							   objects_udata(o, &ucmd, sizeof(ucmd),
									 0)), "case %u", i);
	}
	MOCK_SET_CAP(&o->mock->dev->caps, cq_resize, 0);
	KUNIT_EXPECT_EQ(test, resize(o, 127), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_PTR_EQ(test, o->cq.mem.buf.umem, umem);
	KUNIT_EXPECT_EQ(test, o->cq.ibcq.cqe, 15);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* What pin_for_resize() has to know of the CQ that is being resized. */
static struct {
	struct mlx5_ib_cq *cq;
	bool overtake;
} resized;

/* Pins, looks at the lock of the CQ, and lets another resize be faster if the case asks for it. */
static struct ib_umem *pin_for_resize(struct mlx5_ib_dev *dev, u64 addr, u64 size, int access)
{
	KUNIT_EXPECT_FALSE(kunit_get_current_test(), mutex_is_locked(&resized.cq->resize_lock));
	if (resized.overtake)
		resized.cq->ibcq.cqe = CQ_BIG_CQES - 1;
	return ib_umem_get_va(&dev->ib_dev, addr, size, access);
}

/*
 * A page of the new buffer may never come. So the lock, for which an administrator waits who lists
 * the CQs of all processes, is not held while the buffer is pinned.
 */
static void resize_pins_without_the_lock(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct footprint before;
	struct ib_umem *umem;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_CQ), 0);
	footprint_take(o->mock, &before);
	umem = o->cq.mem.buf.umem;
	resized.cq = &o->cq;
	resized.overtake = true;
	kunit_activate_static_stub(test, mlx5_ib_umem_get, pin_for_resize);
	/* Another task has resized the CQ meanwhile: the CQ stays where it is. */
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, resize(o, CQ_BIG_CQES - 1), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_PTR_EQ(test, o->cq.mem.buf.umem, umem);
	footprint_expect(o->mock, &before, "a resize that came too late", 0);

	o->cq.ibcq.cqe = 15;
	resized.overtake = false;
	KUNIT_EXPECT_EQ(test, resize(o, CQ_BIG_CQES - 1), 0);
	KUNIT_EXPECT_PTR_NE(test, o->cq.mem.buf.umem, umem);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

static void refused_resize_keeps_the_buffer(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct footprint before;
	struct ib_umem *umem;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_CQ), 0);
	footprint_take(o->mock, &before);
	umem = o->cq.mem.buf.umem;

	o->mock->num_commands = 0;
	o->mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, resize(o, CQ_BIG_CQES - 1), o->mock->refuse_err);
	footprint_expect(o->mock, &before, "a refused resize", 0);
	KUNIT_EXPECT_PTR_EQ(test, o->cq.mem.buf.umem, umem);
	KUNIT_EXPECT_EQ(test, o->cq.ibcq.cqe, 15);

	o->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, resize(o, CQ_BIG_CQES - 1), 0);
	KUNIT_EXPECT_PTR_NE(test, o->cq.mem.buf.umem, umem);
	KUNIT_EXPECT_EQ(test, o->cq.ibcq.cqe, CQ_BIG_CQES - 1);
	/* The new buffer has two pages, the old one had one. */
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), before.pinned + 1);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

/* The device may write to either buffer until the device fails or is reset. The CQ is unchanged. */
static void unanswered_resize_keeps_both_buffers(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct mlx5_core_dev *mdev = o->mock->dev->mdev;
	struct ib_umem *umem;
	long pinned;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_CQ), 0);
	pinned = mock_num_pinned();
	umem = o->cq.mem.buf.umem;
	o->mock->num_commands = 0;
	o->mock->refuse = 1;
	o->mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, resize(o, CQ_BIG_CQES - 1), -ETIMEDOUT);
	o->mock->refuse = 0;
	KUNIT_EXPECT_PTR_EQ(test, o->cq.mem.buf.umem, umem);
	KUNIT_EXPECT_EQ(test, o->cq.ibcq.cqe, 15);
	/* The new buffer has two pages. */
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), pinned + 2);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 2);
	mdev->state = MLX5_DEVICE_STATE_INTERNAL_ERROR;
	mlx5_ib_orphans_retry(o->mock->dev, NULL);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

static int create_wide_cq(struct objects *o, unsigned long buf)
{
	struct mlx5_ib_create_cq ucmd = { .buf_addr = buf, .db_addr = o->cq_db, .cqe_size = 128 };
	const struct ib_cq_init_attr attr = { .cqe = 15 };

	memset(&o->cq, 0, sizeof(o->cq));
	o->cq.ibcq.device = &o->mock->dev->ib_dev;
	objects_udata(o, &ucmd, sizeof(ucmd), sizeof(struct mlx5_ib_create_cq_resp));
	return mlx5_ib_create_user_cq(&o->cq.ibcq, &attr, o->mock->attrs);
}

static int resize_wide(struct objects *o, unsigned long buf)
{
	struct mlx5_ib_resize_cq ucmd = { .buf_addr = buf, .cqe_size = 128 };

	return mlx5_ib_resize_user_cq(&o->cq.ibcq, 40, objects_udata(o, &ucmd, sizeof(ucmd), 0));
}

/* A CQE of 128 bytes must not begin in the middle of 128 bytes, which queues of 64 bytes may do. */
static void buffer_of_wide_cqes_is_aligned_to_them(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct footprint before, created;
	struct mock *mock = o->mock;
	unsigned long big = mock_buffer(mock, CQ_BIG_BUF);

	KUNIT_ASSERT_EQ(test, objects_need(o, OBJ_CQ), 0);
	footprint_take(mock, &before);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, create_wide_cq(o, o->cq_buf + 64), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	footprint_expect(mock, &before, "a misaligned buffer", 0);
	KUNIT_ASSERT_EQ(test, create_wide_cq(o, o->cq_buf + 128), 0);
	footprint_take(mock, &created);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, resize_wide(o, big + 64), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	footprint_expect(mock, &created, "a misaligned buffer", 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_cq(&o->cq.ibcq, &mock->attrs->driver_udata), 0);
	footprint_expect(mock, &before, "destruction", 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void expect_resize_command(struct kunit *test, struct objects *o)
{
	const struct mlx5_ib_buf *buf = &o->cq.mem.buf;
	const u8 shift = buf->geo.page_shift, offset = buf->geo.page_offset;
	const size_t list = MLX5_ST_SZ_BYTES(modify_cq_in);
	const struct golden want[GOLDEN_MAX] = {
		{ 0x00, MLX5_CMD_OP_MODIFY_CQ << 16 }, { 0x04, 1 }, { 0x08, o->cq.mcq.cqn },
		{ 0x0c, 7 }, { 0x10, 0x00200000 }, { 0x18, offset << 6 }, { 0x1c, 6 << 24 },
		{ 0x28, (shift - 12) << 24 },
	};
	u64 page = (u64)mock_dword(o->mock, list) << 32 | mock_dword(o->mock, list + 4);

	expect_golden(test, o->mock->in, list, want);
	KUNIT_EXPECT_NE(test, offset, 0);
	/* The offset in the page has units of a 64th of the page. */
	KUNIT_EXPECT_EQ(test, page + ((u64)offset << (shift - 6)),
			(u64)ib_umem_start_dma_addr(buf->umem));
}

/* 64 CQEs of 128 bytes, the first one 128 bytes behind the start of a page. */
static void resize_is_exact_to_the_bit(struct kunit *test)
{
	struct objects *o = objects_make(test);

	KUNIT_ASSERT_EQ(test, objects_need(o, OBJ_CQ), 0);
	KUNIT_ASSERT_EQ(test, create_wide_cq(o, o->cq_buf), 0);
	KUNIT_ASSERT_EQ(test, resize_wide(o, mock_buffer(o->mock, CQ_BIG_BUF) + 128), 0);
	expect_resize_command(test, o);
	KUNIT_EXPECT_EQ(test, o->cq.ibcq.cqe, 63);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_cq(&o->cq.ibcq, &o->mock->attrs->driver_udata), 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* The request is as a queue pair needs it, but for a flag that the driver does not know. */
static void queue_pair_with_an_unknown_flag_is_refused(struct kunit *test)
{
	struct objects *o = objects_make(test);
	const struct mlx5_ib_create_qp ucmd = {
		.buf_addr = o->qp_buf, .db_addr = o->qp_db, .sq_wqe_count = 16,
		.rq_wqe_count = 64, .rq_wqe_shift = 4, .flags = BIT(31),
	};
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC, .send_cq = &o->cq.ibcq, .recv_cq = &o->cq.ibcq,
		.cap = { .max_send_wr = 16, .max_recv_wr = 64, .max_recv_sge = 1 },
	};

	KUNIT_ASSERT_EQ(test, objects_need(o, OBJ_RC_QP), 0);
	o->qp.ibqp.device = &o->mock->dev->ib_dev;
	o->qp.ibqp.pd = &o->pd.ibpd;
	o->qp.ibqp.qp_type = IB_QPT_RC;
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			mlx5_ib_create_qp(&o->qp.ibqp, &init,
					  objects_udata(o, &ucmd, sizeof(ucmd),
							sizeof(struct mlx5_ib_create_qp_resp))));
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
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
				     IB_ACCESS_REMOTE_READ, &o->pd.ibpd,
				     objects_udata(o, NULL, 0, 0));
}

/* No driver data and no DMA handle is defined for a region. */
static void registration_with_driver_data_is_refused(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct mock *mock = o->mock;
	const u32 data = 1;
	struct ib_dmah dmah = {};
	struct ib_mr *mr;
	int idx;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_MR), 0);
	mock->num_commands = 0;
	mr = mlx5_ib_reg_user_mr(&o->pd.ibpd, o->mr_start, PAGE_SIZE, o->mr_start, 0, &dmah,
				 objects_udata(o, NULL, 0, 0));
	KUNIT_EXPECT_PTR_EQ(test, mr, ERR_PTR(-EOPNOTSUPP));
	idx = mock_enter(mock);
	mr = mlx5_ib_reg_user_mr(&o->pd.ibpd, o->mr_start, PAGE_SIZE, o->mr_start, 0, NULL,
				 objects_udata(o, &data, sizeof(data), 0));
	KUNIT_EXPECT_TRUE(test, IS_ERR(mr));
	mr = mlx5_ib_rereg_user_mr(o->mr, IB_MR_REREG_ACCESS, 0, 0, 0, IB_ACCESS_REMOTE_READ,
				   &o->pd.ibpd, objects_udata(o, &data, sizeof(data), 0));
	KUNIT_EXPECT_TRUE(test, IS_ERR(mr));
	mock_leave(mock, idx);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, to_mmr(o->mr)->access, IB_ACCESS_LOCAL_WRITE);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* Administrators see the number in the file reg_pages of sysfs. */
static void pages_of_regions_are_counted(struct kunit *test)
{
	struct objects *o = objects_make(test);
	atomic_t *pages = &o->mock->dev->mdev->priv.reg_pages;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_MR), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(pages), MR_PAGES);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(pages), 0);
}

/*
 * For a list that is too long for a command, mlx5_core returns an errno that verbs do not define.
 */
static void region_too_long_for_a_command_is_out_of_memory(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct footprint before;

	KUNIT_ASSERT_EQ(test, objects_need(o, OBJ_MR), 0);
	footprint_take(o->mock, &before);
	o->mock->num_commands = 0;
	o->mock->refuse = 1;
	o->mock->refuse_err = -ENOMSG;
	KUNIT_EXPECT_EQ(test, objects_create(o, OBJ_MR), -ENOMEM);
	footprint_expect(o->mock, &before, "a list that is too long", 0);
	o->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/*
 * A region that becomes writable is pinned again if its pages are read-only. In another process the
 * addresses mean nothing, so nothing is pinned.
 */
static void memory_of_another_process_is_not_pinned_again(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct mm_struct *owner;
	struct ib_umem *umem;
	unsigned int pins;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_MR), 0);
	umem = to_mmr(o->mr)->umem;
	owner = umem->owning_mm;
	umem->writable = 0;
	umem->owning_mm = NULL;
	pins = o->mock->num_pins;
	o->mock->num_commands = 0;
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-EINVAL),
			    mlx5_ib_rereg_user_mr(o->mr, IB_MR_REREG_ACCESS, 0, 0, 0,
						  IB_ACCESS_LOCAL_WRITE, &o->pd.ibpd,
						  objects_udata(o, NULL, 0, 0)));
	KUNIT_EXPECT_EQ(test, o->mock->num_pins, pins);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	umem->owning_mm = owner;
	umem->writable = 1;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* Expect no change of the key, memory and rights that a work request or a caller can see. */
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
	struct objects *o = objects_make(test);
	struct footprint before;
	struct mlx5_ib_mr was;
	unsigned int n;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_MR), 0);
	footprint_take(o->mock, &before);
	was = *to_mmr(o->mr);
	/*
	 * First firmware refuses to create the new key. Then it refuses to destroy the old key, so
	 * the driver destroys the new one.
	 */
	for (n = 1; n <= 2; n++) {
		o->mock->num_commands = 0;
		o->mock->refuse = n;
		KUNIT_EXPECT_PTR_EQ_MSG(test, rereg(o, c), ERR_PTR(o->mock->refuse_err),
					"refusal %u", n);
		KUNIT_EXPECT_EQ_MSG(test, o->mock->num_commands, n == 1 ? 1 : 3, "refusal %u", n);
		footprint_expect(o->mock, &before, "a refused re-registration", n);
		expect_unchanged(test, o, &was);
	}
	o->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

static void reregistration_moves_the_region_to_a_new_key(struct kunit *test)
{
	const struct rereg_case *c = test->param_value;
	struct objects *o = objects_make(test);
	struct ib_mr *mr;
	long pinned;
	u32 lkey;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_MR), 0);
	pinned = mock_num_pinned();
	lkey = o->mr->lkey;
	mr = rereg(o, c);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	mr->device = &o->mock->dev->ib_dev;
	KUNIT_EXPECT_NE(test, mr->lkey, lkey);
	KUNIT_EXPECT_EQ(test, to_mmr(mr)->access,
			c->flags & IB_MR_REREG_ACCESS ? IB_ACCESS_REMOTE_READ :
							IB_ACCESS_LOCAL_WRITE);
	/* The old key is destroyed, although ib_core has not deregistered the old region yet. */
	KUNIT_EXPECT_EQ(test, o->mock->num_live[MOCK_MKEY], 1);
	KUNIT_EXPECT_NULL(test, xa_load(&o->mock->live[MOCK_MKEY], mlx5_mkey_to_idx(lkey)));
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, OBJ_MR), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), pinned);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, &o->mock->attrs->driver_udata), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* Returns the region of the only key in the driver's table of keys. */
static struct mlx5_ib_mr *find_only_region(struct kunit *test, struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_mr *mr = NULL;
	unsigned int num = 0;
	unsigned long index;
	void *entry;

	xa_for_each(&dev->mkeys, index, entry) {
		KUNIT_ASSERT_FALSE(test, xa_is_value(entry));
		mr = container_of(entry, struct mlx5_ib_mr, mkey);
		num++;
	}
	KUNIT_ASSERT_EQ(test, num, 1);
	return mr;
}

/*
 * Firmware creates the key that is to replace the key of the region, and then destroys neither key.
 * The device reaches the memory through the new key even after the process has deregistered the
 * region, so the memory stays pinned.
 */
static void memory_of_two_kept_keys_stays_pinned(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct ib_umem *umem;
	long pinned;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_MR), 0);
	umem = to_mmr(o->mr)->umem;
	pinned = mock_num_pinned();
	o->mock->refuse_destroy = true;
	KUNIT_EXPECT_PTR_EQ(test, rereg(o, &rereg_cases[0]), ERR_PTR(o->mock->refuse_err));
	o->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, o->mock->num_live[MOCK_MKEY], 2);
	KUNIT_EXPECT_EQ(test, objects_destroy(o, OBJ_MR), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_live[MOCK_MKEY], 1);
	KUNIT_ASSERT_EQ(test, mock_num_pinned(), pinned);
	/* The driver has given both up. */
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_dereg_mr(&find_only_region(test, o->mock->dev)->ibmr,
						  NULL));
	KUNIT_ASSERT_EQ(test, mock_num_pinned(), pinned);
	ib_umem_release(umem);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* The memory that the running test has pinned last. */
static struct ib_umem *last_umem;

/* Stub of mlx5_ib_umem_get(). */
static struct ib_umem *note_umem(struct mlx5_ib_dev *dev, u64 addr, u64 size, int access)
{
	last_umem = ib_umem_get_va(&dev->ib_dev, addr, size, access);
	return last_umem;
}

/*
 * The driver does not know whether firmware has created the key, of a new region or in place of
 * the key of an old one. If it has, the device reaches the memory until it is reset.
 */
static void memory_of_a_key_without_an_answer_stays_pinned(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct mock *mock = o->mock;
	long pinned;

	KUNIT_ASSERT_EQ(test, objects_need(o, OBJ_MR), 0);
	kunit_activate_static_stub(test, mlx5_ib_umem_get, note_umem);
	mock->num_commands = 0;
	mock->refuse = 1;
	mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, objects_create(o, OBJ_MR), -ENOTRECOVERABLE);
	KUNIT_ASSERT_EQ(test, mock_num_pinned(), MR_PAGES);
	ib_umem_release(last_umem);

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_MR), 0);
	pinned = mock_num_pinned();
	mock->num_commands = 0;
	KUNIT_EXPECT_PTR_EQ(test, rereg(o, &rereg_cases[0]), ERR_PTR(-ENOTRECOVERABLE));
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, OBJ_MR), 0);
	KUNIT_ASSERT_EQ(test, mock_num_pinned(), pinned);
	ib_umem_release(last_umem);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/*
 * ib_core leaves the uobject of the replaced region in a region that has replaced another one, and
 * frees that uobject. Here the region has a uobject of a context that is closing: if the driver
 * used the uobject, a refused deregistration would succeed.
 */
static void deregistration_does_not_use_the_uobject(struct kunit *test)
{
	struct mlx5_ib_ucontext *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	struct ib_uobject uobj = { .context = &other->ibucontext };
	struct objects *o = objects_make(test);

	KUNIT_ASSERT_NOT_NULL(test, other);
	other->closing = true;
	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_MR), 0);
	o->mr->uobject = &uobj;
	o->mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, OBJ_MR), o->mock->refuse_err);
	o->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* Firmware answers BAD_RES_STATE for a key that has windows; ibv_dereg_mr(3) says EBUSY. */
static void region_with_a_window_is_busy(struct kunit *test)
{
	const struct rereg_case *c = test->param_value;
	struct objects *o = objects_make(test);
	struct footprint before;
	struct mlx5_ib_mr was;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_MR), 0);
	footprint_take(o->mock, &before);
	was = *to_mmr(o->mr);
	o->mock->refuse_err = -EINVAL;
	o->mock->num_commands = 0;
	o->mock->refuse = 2;
	KUNIT_EXPECT_PTR_EQ(test, rereg(o, c), ERR_PTR(-EBUSY));
	footprint_expect(o->mock, &before, "a refused re-registration", 0);
	expect_unchanged(test, o, &was);
	o->mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, OBJ_MR), -EBUSY);
	expect_unchanged(test, o, &was);
	o->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

static struct kunit_case verbs_cases[] = {
	KUNIT_CASE(library_and_firmware_are_told_the_same_uar),
	KUNIT_CASE(qp_context_names_its_own_objects),
	KUNIT_CASE(cq_context_names_its_size_uar_and_eq),
	KUNIT_CASE(cq_without_a_uar_is_refused),
	KUNIT_CASE(refused_state_change_keeps_the_state),
	KUNIT_CASE(illegal_state_change_sends_no_command),
	KUNIT_CASE(events_of_a_cq_reach_its_owner),
	KUNIT_CASE(request_of_a_queue_pair_is_read_where_the_library_puts_it),
	KUNIT_CASE(request_of_an_srq_is_read_behind_its_link),
	KUNIT_CASE(invalid_resize_sends_no_command),
	KUNIT_CASE(resize_pins_without_the_lock),
	KUNIT_CASE(refused_resize_keeps_the_buffer),
	KUNIT_CASE(unanswered_resize_keeps_both_buffers),
	KUNIT_CASE(buffer_of_wide_cqes_is_aligned_to_them),
	KUNIT_CASE(resize_is_exact_to_the_bit),
	KUNIT_CASE(queue_pair_with_an_unknown_flag_is_refused),
	KUNIT_CASE(registration_with_driver_data_is_refused),
	KUNIT_CASE(pages_of_regions_are_counted),
	KUNIT_CASE(region_too_long_for_a_command_is_out_of_memory),
	KUNIT_CASE(memory_of_another_process_is_not_pinned_again),
	KUNIT_CASE_PARAM(refused_reregistration_keeps_the_region, rereg_gen_params),
	KUNIT_CASE_PARAM(reregistration_moves_the_region_to_a_new_key, rereg_gen_params),
	KUNIT_CASE(memory_of_two_kept_keys_stays_pinned),
	KUNIT_CASE(memory_of_a_key_without_an_answer_stays_pinned),
	KUNIT_CASE(deregistration_does_not_use_the_uobject),
	KUNIT_CASE_PARAM(region_with_a_window_is_busy, rereg_gen_params),
	{}
};

static struct kunit_suite verbs_suite = {
	.name = "bluebell_verbs",
	.test_cases = verbs_cases,
};

kunit_test_suite(verbs_suite);
