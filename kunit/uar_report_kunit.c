// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the report of a context's UARs: what the report says of pages, registers, objects,
 * mappings and queues, compared with what the test has made, and what the file in debugfs shows of
 * the report.
 */

#include <kunit/test.h>
#include <linux/mlx5/driver.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "lib/fail_alloc.h"
#include "lib/mock.h"
#include "ops.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/uar.h"
#include "verbs/ucontext.h"
#include "verbs/verbs.h"

#define NUM_QPS		20
#define STATIC_PAGES	MOCK_UAR_PAGES(16)
#define STATIC_UARS	(STATIC_PAGES * MOCK_PAGE_UARS)
#define STATIC_BFREGS	(2 * STATIC_UARS)
#define FIRST_LOW	(STATIC_BFREGS - 4)
#define DYN_PAGE	3
#define DYN_BFREG	(DYN_PAGE * MOCK_PAGE_UARS * 2)
#define DYN_UAR		0x9000
#define PAGE_UARS	4	/* UARs in a page of 16 KiB */
#define PAGE_UAR	0x400	/* the first UAR of such a page */

#define CQ_BUF		0
#define QP_BUF		1
#define RECORDS		2

struct env {
	struct mock *mock;
	struct mlx5_ib_pd pd;
	struct mlx5_ib_cq cq;
	struct mlx5_ib_qp qp[NUM_QPS];
	struct mlx5_ib_uar_report report;
};

static struct env *make_device(struct kunit *test)
{
	struct env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);
	struct mock *mock = mock_create(test);

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->mock = mock;
	env->pd.ibpd.device = &mock->dev->ib_dev;
	mock->dev->ib_dev.ops.mmap_free = mlx5_ib_mmap_free;
	return env;
}

static struct env *make_env(struct kunit *test)
{
	struct env *env = make_device(test);

	mock_open(env->mock);
	return env;
}

/* The context of a library that uses UAR objects only, with pages of PAGE_UARS UARs. */
static struct env *make_env_of_objects(struct kunit *test)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR, .max_cqe_version = 1,
	};
	struct env *env = make_device(test);
	struct mlx5_ib_ucontext *context = env->mock->context;
	struct ib_udata *udata = mock_udata(env->mock, &req, sizeof(req),
					    sizeof(struct mlx5_ib_alloc_ucontext_resp));

	KUNIT_ASSERT_EQ(test, mlx5_ib_alloc_ucontext(&context->ibucontext, udata), 0);
	context->bfregi.layout.uars_per_sys_page = PAGE_UARS;
	return env;
}

static int create_cq_on(struct env *env, u16 flags, u16 uar)
{
	struct mlx5_ib_create_cq ucmd = {
		.buf_addr = mock_buffer(env->mock, CQ_BUF),
		.db_addr = mock_buffer(env->mock, RECORDS), .cqe_size = 64, .flags = flags,
		.uar_page_index = uar,
	};
	struct ib_cq_init_attr attr = { .cqe = 15 };

	env->cq.ibcq.device = &env->mock->dev->ib_dev;
	mock_udata(env->mock, &ucmd, sizeof(ucmd), sizeof(struct mlx5_ib_create_cq_resp));
	return mlx5_ib_create_user_cq(&env->cq.ibcq, &attr, env->mock->attrs);
}

static int create_cq(struct env *env)
{
	return create_cq_on(env, 0, 0);
}

static void destroy_cq(struct env *env)
{
	KUNIT_EXPECT_EQ(env->mock->test, 0,
			mlx5_ib_destroy_cq(&env->cq.ibcq, &env->mock->attrs->driver_udata));
}

static int create_qp(struct env *env, struct mlx5_ib_qp *qp, u32 flags, u32 index)
{
	struct mlx5_ib_create_qp ucmd = {
		.buf_addr = mock_buffer(env->mock, QP_BUF),
		.db_addr = mock_buffer(env->mock, RECORDS), .sq_wqe_count = 16,
		.rq_wqe_count = 16, .rq_wqe_shift = 4, .uidx = 5, .flags = flags,
		.bfreg_index = index,
	};
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC, .send_cq = &env->cq.ibcq, .recv_cq = &env->cq.ibcq,
		.cap = {
			.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	memset(qp, 0, sizeof(*qp));
	qp->ibqp.device = &env->mock->dev->ib_dev;
	qp->ibqp.pd = &env->pd.ibpd;
	qp->ibqp.qp_type = IB_QPT_RC;
	return mlx5_ib_create_qp(&qp->ibqp, &init,
				 mock_udata(env->mock, &ucmd, sizeof(ucmd),
					    sizeof(struct mlx5_ib_create_qp_resp)));
}

static int destroy_qp(struct env *env, struct mlx5_ib_qp *qp)
{
	return mlx5_ib_destroy_qp(&qp->ibqp, &env->mock->attrs->driver_udata);
}

/* Take a new report in place of the one before. */
static struct mlx5_ib_uar_report *ask(struct env *env)
{
	mlx5_ib_uar_report_free(&env->report);
	KUNIT_ASSERT_EQ(env->mock->test, 0,
			mlx5_ib_uar_report_get(env->mock->context, NULL, &env->report));
	return &env->report;
}

static void finish(struct env *env)
{
	mlx5_ib_uar_report_free(&env->report);
	mock_close(env->mock);
}

/* The UAR with @index, or NULL. */
static const struct bluebell_uar *find_uar(const struct mlx5_ib_uar_report *report, u32 index)
{
	u32 i;

	for (i = 0; i < report->num.num_uars; i++)
		if (report->uars[i].index == index)
			return &report->uars[i];
	return NULL;
}

static const struct bluebell_queue *find_queue(const struct mlx5_ib_uar_report *report, u8 type,
					       u32 number)
{
	u32 i;

	for (i = 0; i < report->num.num_queues; i++)
		if (report->queues[i].type == type && report->queues[i].number == number)
			return &report->queues[i];
	return NULL;
}

static void new_context_has_its_static_pages_and_registers(struct kunit *test)
{
	struct env *env = make_env(test);
	const struct mlx5_ib_uar_report *report = ask(env);
	u32 i;

	KUNIT_ASSERT_EQ(test, report->num.num_uars, STATIC_UARS);
	KUNIT_ASSERT_EQ(test, report->num.num_bfregs, STATIC_BFREGS);
	KUNIT_EXPECT_EQ(test, report->num.num_queues, 0);
	for (i = 0; i < STATIC_UARS; i++) {
		KUNIT_EXPECT_EQ(test, report->uars[i].index, mock_static_uar(env->mock, i));
		KUNIT_EXPECT_EQ(test, report->uars[i].origin, BLUEBELL_UAR_STATIC);
		KUNIT_EXPECT_EQ(test, report->uars[i].kind, MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF);
		KUNIT_EXPECT_EQ(test, report->uars[i].flags, 0);
		KUNIT_EXPECT_EQ(test, report->uars[i].mappings, 0);
	}
	for (i = 0; i < STATIC_BFREGS; i++) {
		KUNIT_EXPECT_EQ(test, report->bfregs[i].number, i);
		KUNIT_EXPECT_EQ(test, report->bfregs[i].uar, mock_static_uar(env->mock, i / 2));
		KUNIT_EXPECT_EQ(test, report->bfregs[i].slot, i % 2);
		KUNIT_EXPECT_EQ(test, report->bfregs[i].bfreg_class,
				!i ? BLUEBELL_BFREG_HIGH_LATENCY :
				i < FIRST_LOW ? BLUEBELL_BFREG_MEDIUM_LATENCY :
						BLUEBELL_BFREG_LOW_LATENCY);
	}
	finish(env);
}

static void queue_is_reported_at_its_uar_and_bfreg(struct kunit *test)
{
	struct env *env = make_env(test);
	const struct mlx5_ib_uar_report *report;
	const struct bluebell_queue *queue;
	u32 i, qps = 0;

	KUNIT_ASSERT_EQ(test, create_cq(env), 0);
	for (i = 0; i < NUM_QPS; i++)
		KUNIT_ASSERT_EQ(test, create_qp(env, &env->qp[i], 0, 0), 0);
	report = ask(env);
	KUNIT_ASSERT_EQ(test, report->num.num_queues, NUM_QPS + 1);
	queue = find_queue(report, BLUEBELL_QUEUE_CQ, env->cq.mcq.cqn);
	KUNIT_ASSERT_NOT_NULL(test, queue);
	KUNIT_EXPECT_EQ(test, queue->uar, env->cq.uar_page);
	KUNIT_EXPECT_EQ(test, queue->bfreg, BLUEBELL_NO_BFREG);
	KUNIT_EXPECT_EQ(test, find_uar(report, queue->uar)->num_cqs, 1);
	for (i = 0; i < NUM_QPS; i++) {
		queue = find_queue(report, BLUEBELL_QUEUE_QP, env->qp[i].rsc.num);
		KUNIT_ASSERT_NOT_NULL_MSG(test, queue, "QP %u", i);
		KUNIT_EXPECT_EQ(test, queue->qp_type, IB_QPT_RC);
		KUNIT_EXPECT_EQ(test, queue->bfreg, env->qp[i].bfregn);
		KUNIT_EXPECT_EQ(test, queue->uar, MLX5_GET(qpc, env->qp[i].qpc, uar_page));
		KUNIT_EXPECT_EQ(test, queue->uar, report->bfregs[queue->bfreg].uar);
	}
	for (i = 0; i < STATIC_BFREGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, report->bfregs[i].num_qps,
				    env->mock->context->bfregi.count[i], "bfreg %u", i);
	for (i = 0; i < STATIC_UARS; i++)
		qps += report->uars[i].num_qps;
	KUNIT_EXPECT_EQ(test, qps, NUM_QPS);

	for (i = 0; i < NUM_QPS; i++)
		KUNIT_EXPECT_EQ(test, destroy_qp(env, &env->qp[i]), 0);
	destroy_cq(env);
	KUNIT_EXPECT_EQ(test, ask(env)->num.num_queues, 0);
	finish(env);
}

static void queue_that_could_not_be_created_is_not_reported(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mock *mock = env->mock;

	KUNIT_ASSERT_EQ(test, create_cq(env), 0);
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, create_qp(env, &env->qp[0], 0, 0), mock->refuse_err);
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, ask(env)->num.num_queues, 1);
	destroy_cq(env);
	finish(env);
}

/* Another process may have the UAR, or the context has it as a static page. */
static void queue_is_on_no_uar_that_is_not_an_object(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mock *mock = env->mock;
	const u32 uars[] = { mock_static_uar(mock, 0), 0x1234 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(uars); i++) {
		KUNIT_EXPECT_EQ(test, create_cq_on(env, MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX,
						   uars[i]), -EINVAL);
		KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	}
	KUNIT_EXPECT_EQ(test, ask(env)->num.num_queues, 0);
	finish(env);
}

/* The process can still ring the doorbell of the queue. */
static void queue_that_firmware_keeps_is_reported(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mock *mock = env->mock;
	const struct mlx5_ib_uar_report *report;

	KUNIT_ASSERT_EQ(test, create_cq(env), 0);
	KUNIT_ASSERT_EQ(test, create_qp(env, &env->qp[0], 0, 0), 0);
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, destroy_qp(env, &env->qp[0]), mock->refuse_err);
	report = ask(env);
	KUNIT_EXPECT_NOT_NULL(test, find_queue(report, BLUEBELL_QUEUE_QP, env->qp[0].rsc.num));
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_cq(&env->cq.ibcq, &mock->attrs->driver_udata),
			mock->refuse_err);
	report = ask(env);
	KUNIT_EXPECT_NOT_NULL(test, find_queue(report, BLUEBELL_QUEUE_CQ, env->cq.mcq.cqn));
	KUNIT_EXPECT_EQ(test, report->num.num_queues, 2);
	mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, destroy_qp(env, &env->qp[0]), 0);
	destroy_cq(env);
	KUNIT_EXPECT_EQ(test, ask(env)->num.num_queues, 0);
	finish(env);
}

/*
 * When a process closes the device, the driver removes a queue from the report before it destroys
 * the queue. The function that destroys the queue then removes it again.
 */
static void queue_is_removed_from_the_report_once(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mlx5_ib_ucontext *context = env->mock->context;

	KUNIT_ASSERT_EQ(test, create_cq(env), 0);
	KUNIT_ASSERT_EQ(test, create_qp(env, &env->qp[0], 0, 0), 0);
	KUNIT_EXPECT_EQ(test, context->bfregi.num_bells, 2);
	mlx5_ib_bell_del(context, &env->qp[0].bell);
	KUNIT_EXPECT_EQ(test, context->bfregi.num_bells, 1);
	mlx5_ib_bell_del(context, &env->qp[0].bell);
	KUNIT_EXPECT_EQ(test, context->bfregi.num_bells, 1);
	KUNIT_EXPECT_EQ(test, ask(env)->num.num_queues, 1);
	KUNIT_EXPECT_EQ(test, destroy_qp(env, &env->qp[0]), 0);
	KUNIT_EXPECT_EQ(test, context->bfregi.num_bells, 1);
	destroy_cq(env);
	KUNIT_EXPECT_EQ(test, context->bfregi.num_bells, 0);
	finish(env);
}

/* A page that a process has mapped twice. */
static void dynamic_page_is_reported(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mlx5_ib_ucontext *context = env->mock->context;
	u32 *page = &context->bfregi.sys_pages[STATIC_PAGES + DYN_PAGE];
	struct mlx5_user_mmap_entry place = {};
	const struct mlx5_ib_uar_report *report;
	const struct bluebell_queue *queue;
	const struct bluebell_uar *uar;

	*page = DYN_UAR;
	KUNIT_ASSERT_EQ(test, 0, rdma_user_mmap_entry_insert_exact(&context->ibucontext,
								   &place.rdma_entry, PAGE_SIZE,
								   0x600 + DYN_PAGE));
	kref_get(&place.rdma_entry.ref);
	KUNIT_ASSERT_EQ(test, create_cq(env), 0);
	KUNIT_ASSERT_EQ(test, create_qp(env, &env->qp[0], MLX5_QP_FLAG_BFREG_INDEX,
					DYN_BFREG + 1), 0);
	report = ask(env);
	KUNIT_ASSERT_EQ(test, report->num.num_uars, STATIC_UARS + MOCK_PAGE_UARS);
	KUNIT_ASSERT_EQ(test, report->num.num_bfregs, STATIC_BFREGS + 2 * MOCK_PAGE_UARS);
	uar = find_uar(report, DYN_UAR);
	KUNIT_ASSERT_NOT_NULL(test, uar);
	KUNIT_EXPECT_EQ(test, uar->origin, BLUEBELL_UAR_DYNAMIC);
	KUNIT_EXPECT_EQ(test, uar->mappings, 2);
	KUNIT_EXPECT_EQ(test, uar->num_qps, 1);
	KUNIT_EXPECT_EQ(test, report->bfregs[STATIC_BFREGS + 1].number,
			STATIC_BFREGS + DYN_BFREG + 1);
	KUNIT_EXPECT_EQ(test, report->bfregs[STATIC_BFREGS + 1].bfreg_class,
			BLUEBELL_BFREG_DYNAMIC);
	KUNIT_EXPECT_EQ(test, report->bfregs[STATIC_BFREGS + 1].num_qps, 1);
	KUNIT_EXPECT_EQ(test, report->bfregs[STATIC_BFREGS].num_qps, 0);
	queue = find_queue(report, BLUEBELL_QUEUE_QP, env->qp[0].rsc.num);
	KUNIT_ASSERT_NOT_NULL(test, queue);
	KUNIT_EXPECT_EQ(test, queue->bfreg, STATIC_BFREGS + DYN_BFREG + 1);

	KUNIT_EXPECT_EQ(test, destroy_qp(env, &env->qp[0]), 0);
	destroy_cq(env);
	xa_erase(&context->ibucontext.mmap_xa, 0x600 + DYN_PAGE);
	*page = MLX5_IB_INVALID_UAR_INDEX;
	finish(env);
}

static void uar_object_is_reported_until_its_last_user(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mlx5_ib_ucontext *context = env->mock->context;
	struct mlx5_user_mmap_entry *bf = mlx5_ib_create_uar_object(context, true);
	struct mlx5_user_mmap_entry *nc = mlx5_ib_create_uar_object(context, false);
	const struct bluebell_uar *uar;
	u32 index;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, bf);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, nc);
	index = bf->page_id;
	KUNIT_ASSERT_EQ(test, create_cq(env), 0);
	KUNIT_ASSERT_EQ(test, create_qp(env, &env->qp[0], MLX5_QP_FLAG_UAR_PAGE_INDEX, index), 0);

	KUNIT_EXPECT_EQ(test, ask(env)->num.num_uars, STATIC_UARS + 2 * MOCK_PAGE_UARS);
	KUNIT_EXPECT_EQ(test, env->report.num.num_bfregs, STATIC_BFREGS);
	uar = find_uar(&env->report, index);
	KUNIT_ASSERT_NOT_NULL(test, uar);
	KUNIT_EXPECT_EQ(test, uar->origin, BLUEBELL_UAR_OBJECT);
	KUNIT_EXPECT_EQ(test, uar->kind, MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF);
	KUNIT_EXPECT_EQ(test, uar->mappings, 0);
	KUNIT_EXPECT_EQ(test, uar->num_qps, 1);
	KUNIT_EXPECT_EQ(test, find_queue(&env->report, BLUEBELL_QUEUE_QP,
					 env->qp[0].rsc.num)->bfreg, BLUEBELL_NO_BFREG);
	uar = find_uar(&env->report, nc->page_id);
	KUNIT_ASSERT_NOT_NULL(test, uar);
	KUNIT_EXPECT_EQ(test, uar->kind, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC);
	KUNIT_EXPECT_EQ(test, uar->num_qps, 0);

	/* Two mappings, then the object is freed: mappings and the queue keep the UAR. */
	kref_get(&bf->rdma_entry.ref);
	kref_get(&bf->rdma_entry.ref);
	rdma_user_mmap_entry_remove(&bf->rdma_entry);
	uar = find_uar(ask(env), index);
	KUNIT_ASSERT_NOT_NULL(test, uar);
	KUNIT_EXPECT_EQ(test, uar->flags, BLUEBELL_UAR_FREED);
	KUNIT_EXPECT_EQ(test, uar->mappings, 2);
	KUNIT_EXPECT_EQ(test, uar->num_qps, 1);

	rdma_user_mmap_entry_put(&bf->rdma_entry);
	rdma_user_mmap_entry_put(&bf->rdma_entry);
	KUNIT_EXPECT_NOT_NULL(test, find_uar(ask(env), index));
	KUNIT_EXPECT_EQ(test, destroy_qp(env, &env->qp[0]), 0);
	KUNIT_EXPECT_NULL(test, find_uar(ask(env), index));
	rdma_user_mmap_entry_remove(&nc->rdma_entry);
	KUNIT_EXPECT_EQ(test, ask(env)->num.num_uars, STATIC_UARS);
	destroy_cq(env);
	finish(env);
}

static void expect_uars_of_the_object(struct env *env, u32 mappings)
{
	struct kunit *test = env->mock->test;
	const struct bluebell_uar *uar;
	u32 i;

	KUNIT_ASSERT_EQ(test, ask(env)->num.num_uars, PAGE_UARS);
	for (i = 0; i < PAGE_UARS; i++) {
		uar = find_uar(&env->report, PAGE_UAR + i);
		KUNIT_ASSERT_NOT_NULL(test, uar);
		KUNIT_EXPECT_EQ(test, uar->origin, BLUEBELL_UAR_OBJECT);
		KUNIT_EXPECT_EQ(test, uar->mappings, mappings);
		KUNIT_EXPECT_EQ(test, uar->num_qps, 1);
		KUNIT_EXPECT_EQ(test, uar->num_cqs, i == PAGE_UARS - 1);
	}
}

/* Libraries use each UAR of an object's page, and each queue holds the object. */
static void object_has_the_uars_of_its_page(struct kunit *test)
{
	struct env *env = make_env_of_objects(test);
	struct mlx5_user_mmap_entry *uar;
	struct mlx5_ib_qp other;
	u32 i;

	env->mock->first_number = PAGE_UAR;
	uar = mlx5_ib_create_uar_object(env->mock->context, true);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, uar);
	KUNIT_ASSERT_EQ(test, uar->page_id, PAGE_UAR);
	KUNIT_ASSERT_EQ(test, 0, create_cq_on(env, MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX,
					      PAGE_UAR + PAGE_UARS - 1));
	for (i = 0; i < PAGE_UARS; i++)
		KUNIT_ASSERT_EQ(test, 0, create_qp(env, &env->qp[i], MLX5_QP_FLAG_UAR_PAGE_INDEX,
						   PAGE_UAR + i));
	KUNIT_EXPECT_EQ(test, kref_read(&uar->rdma_entry.ref), 1 + 1 + PAGE_UARS);
	KUNIT_EXPECT_EQ(test, -EINVAL, create_qp(env, &other, MLX5_QP_FLAG_UAR_PAGE_INDEX,
						 PAGE_UAR + PAGE_UARS));
	KUNIT_EXPECT_EQ(test, -EINVAL, create_qp(env, &other, MLX5_QP_FLAG_UAR_PAGE_INDEX,
						 PAGE_UAR - 1));
	expect_uars_of_the_object(env, 0);
	kref_get(&uar->rdma_entry.ref);
	expect_uars_of_the_object(env, 1);
	rdma_user_mmap_entry_put(&uar->rdma_entry);

	rdma_user_mmap_entry_remove(&uar->rdma_entry);
	for (i = 0; i < PAGE_UARS; i++)
		KUNIT_EXPECT_EQ(test, destroy_qp(env, &env->qp[i]), 0);
	KUNIT_EXPECT_EQ(test, ask(env)->num.num_uars, PAGE_UARS);
	destroy_cq(env);
	KUNIT_EXPECT_EQ(test, ask(env)->num.num_uars, 0);
	finish(env);
}

/* Device memory has mmap offsets, too. */
static void other_mmap_entries_are_not_reported(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mlx5_ib_ucontext *context = env->mock->context;
	struct mlx5_user_mmap_entry place = { .page_id = 5 };

	KUNIT_ASSERT_EQ(test, 0, rdma_user_mmap_entry_insert_exact(&context->ibucontext,
								   &place.rdma_entry, PAGE_SIZE,
								   MLX5_IB_MMAP_OFFSET_START + 5));
	KUNIT_EXPECT_EQ(test, ask(env)->num.num_uars, STATIC_UARS);
	xa_erase(&context->ibucontext.mmap_xa, MLX5_IB_MMAP_OFFSET_START + 5);
	finish(env);
}

#define ROOM(uars, bfregs, queues) \
	{ .max_uars = (uars), .max_bfregs = (bfregs), .max_queues = (queues) }

static const struct room_case {
	const char *name;
	struct bluebell_uar_report_req room;
	int want;
} room_cases[] = {
	{ "none", {}, -ENOSPC },
	{ "exactly enough", ROOM(STATIC_UARS, STATIC_BFREGS, 1), 0 },
	{ "a UAR short", ROOM(STATIC_UARS - 1, STATIC_BFREGS, 1), -ENOSPC },
	{ "a bfreg short", ROOM(STATIC_UARS, STATIC_BFREGS - 1, 1), -ENOSPC },
	{ "a queue short", ROOM(STATIC_UARS, STATIC_BFREGS, 0), -ENOSPC },
	{ "more than enough", ROOM(~0, ~0, ~0), 0 },
};

KUNIT_ARRAY_PARAM_DESC(room, room_cases, name);

static void lists_are_filled_only_if_there_is_room(struct kunit *test)
{
	const struct room_case *c = test->param_value;
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, create_cq(env), 0);
	KUNIT_EXPECT_EQ(test, c->want, mlx5_ib_uar_report_get(env->mock->context, &c->room,
							      &env->report));
	/* The numbers are right even without room, and there are lists only if all of them fit. */
	KUNIT_EXPECT_EQ(test, env->report.num.num_uars, STATIC_UARS);
	KUNIT_EXPECT_EQ(test, env->report.num.num_bfregs, STATIC_BFREGS);
	KUNIT_EXPECT_EQ(test, env->report.num.num_queues, 1);
	KUNIT_EXPECT_EQ(test, !env->report.uars, !!c->want);
	destroy_cq(env);
	finish(env);
}

static int get_report(void *arg)
{
	struct env *env = arg;
	int err = mlx5_ib_uar_report_get(env->mock->context, NULL, &env->report);

	if (err)
		mlx5_ib_uar_report_free(&env->report);
	return err;
}

static void free_report(void *arg)
{
	struct env *env = arg;

	mlx5_ib_uar_report_free(&env->report);
}

static void failure_of_any_allocation_leaves_no_report(struct kunit *test)
{
	static const struct fail_alloc_verb verb = { get_report, free_report };
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, create_cq(env), 0);
	fail_alloc_each(env->mock, &verb, env);
	destroy_cq(env);
	mock_close(env->mock);
}

/*
 * Each page has the offset at which the library maps the page, and no two pages have the same
 * offset.
 */
static void each_page_has_the_mmap_offset_of_the_library(struct kunit *test)
{
	static const struct mlx5_bfreg_layout layout = {
		.uars_per_sys_page = 1, .num_static_bfregs = 512, .num_dyn_bfregs = 1024,
		.num_static_sys_pages = 256, .num_sys_pages = 768,
	};
	u32 page, index;
	int command;

	for (page = 0; page < layout.num_sys_pages; page++) {
		command = mlx5_ib_decode_mmap_offset(mlx5_ib_uar_page_pgoff(&layout, page),
						     &layout, &index);
		KUNIT_EXPECT_EQ_MSG(test, command, page < 256 ? MLX5_IB_MMAP_REGULAR_PAGE :
								MLX5_IB_MMAP_ALLOC_WC,
				    "page %u", page);
		KUNIT_EXPECT_EQ(test, index, page < 256 ? page : page - 256);
	}
}

static void closed_context_is_not_listed(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mlx5_ib_dev *dev = env->mock->dev;

	KUNIT_EXPECT_TRUE(test, list_is_singular(&dev->contexts));
	KUNIT_EXPECT_PTR_EQ(test, env->mock->context->pid, task_tgid(current));
	finish(env);
	KUNIT_EXPECT_TRUE(test, list_empty(&dev->contexts));
}

/* ---- the file in debugfs ----------------------------------------------------------------- */

#define FILE_BYTES	SZ_16K

/* The text of the whole file. */
static const char *read_file(struct env *env)
{
	const struct seq_operations *op = &mlx5_ib_uars_sops;
	struct kunit *test = env->mock->test;
	struct seq_file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	loff_t pos = 0;
	void *entry;

	KUNIT_ASSERT_NOT_NULL(test, file);
	file->private = env->mock->dev;
	file->size = FILE_BYTES;
	file->buf = kunit_kzalloc(test, FILE_BYTES + 1, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, file->buf);
	for (entry = op->start(file, &pos); entry; entry = op->next(file, entry, &pos))
		KUNIT_EXPECT_EQ(test, op->show(file, entry), 0);
	op->stop(file, entry);
	KUNIT_ASSERT_FALSE(test, seq_has_overflowed(file));
	return file->buf;
}

static __printf(2, 3) bool has_line(const char *text, const char *fmt, ...)
{
	char line[128];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	return strstr(text, line);
}

static bool has_uar(const char *text, u32 index, const char *origin, const char *kind, u32 qps,
		    u32 cqs)
{
	return has_line(text,
			"uar index=%u origin=%s kind=%s freed=0 mappings=0 qps=%u cqs=%u\n",
			index, origin, kind, qps, cqs);
}

static void file_shows_each_uar_bfreg_and_queue(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mock *mock = env->mock;
	u32 cq_uar = mock_static_uar(env->mock, 0), qp_uar;
	struct mlx5_ib_qp *qp = &env->qp[0];
	struct mlx5_user_mmap_entry *nc;
	const char *text;

	mock->dev->mdev->pdev = kunit_kzalloc(test, sizeof(*mock->dev->mdev->pdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mock->dev->mdev->pdev);
	mock->dev->mdev->pdev->resource[0] = DEFINE_RES_MEM(SZ_1G, SZ_4M);
	/* Queues have other numbers than UARs. */
	mock->first_number = 0x300;
	nc = mlx5_ib_create_uar_object(mock->context, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, nc);
	KUNIT_ASSERT_EQ(test, create_cq(env), 0);
	mock->first_number = 0x400;
	KUNIT_ASSERT_EQ(test, create_qp(env, qp, 0, 0), 0);
	qp_uar = mock_static_uar(env->mock, qp->bfregn / 2);
	text = read_file(env);
	KUNIT_EXPECT_TRUE(test, has_line(text, "device name="));
	KUNIT_EXPECT_TRUE(test, has_line(text, " bus=%s max_uars=1024 max_uids=1024\n",
					 dev_name(mock->dev->mdev->device)));
	KUNIT_EXPECT_TRUE(test, has_line(text, "context pid=%d uid=0 comm=",
					 pid_vnr(mock->context->pid)));
	KUNIT_EXPECT_TRUE(test, has_uar(text, cq_uar, "static", "bf", 0, 1));
	KUNIT_EXPECT_TRUE(test, has_uar(text, qp_uar, "static", "bf", 1, 0));
	KUNIT_EXPECT_TRUE(test, has_uar(text, nc->page_id, "object", "nc", 0, 0));
	KUNIT_EXPECT_TRUE(test, has_line(text, "bfreg number=0 uar=%u slot=0 class=high qps=0\n",
					 cq_uar));
	KUNIT_EXPECT_TRUE(test, has_line(text, "bfreg number=1 uar=%u slot=1 class=medium qps=0\n",
					 cq_uar));
	KUNIT_EXPECT_TRUE(test, has_line(text, "bfreg number=%d uar=%u slot=%d class=low qps=1\n",
					 qp->bfregn, qp_uar, qp->bfregn % 2));
	KUNIT_EXPECT_TRUE(test, has_line(text, "cq number=%u uar=%u\n", env->cq.mcq.cqn,
					 cq_uar));
	KUNIT_EXPECT_TRUE(test, has_line(text, "qp number=%u type=rc uar=%u bfreg=%d\n",
					 qp->rsc.num, qp_uar, qp->bfregn));
	KUNIT_EXPECT_EQ(test, destroy_qp(env, qp), 0);
	destroy_cq(env);
	rdma_user_mmap_entry_remove(&nc->rdma_entry);
	KUNIT_EXPECT_FALSE(test, has_line(read_file(env), "\ncq number="));
	finish(env);
	KUNIT_EXPECT_FALSE(test, has_line(read_file(env), "context pid="));
}

/* The driver does not know the BAR of a subfunction. */
static void file_leaves_out_what_is_not_known(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mlx5_core_dev *mdev = env->mock->dev->mdev;

	mdev->coredev_type = MLX5_COREDEV_SF;
	KUNIT_EXPECT_TRUE(test, has_line(read_file(env), " bus=%s max_uids=1024\n",
					 dev_name(mdev->device)));
	MOCK_SET_CAP(&env->mock->dev->caps, log_max_uctx, 0);
	KUNIT_EXPECT_TRUE(test, has_line(read_file(env), " bus=%s\n", dev_name(mdev->device)));
	mdev->coredev_type = MLX5_COREDEV_PF;
	finish(env);
}

static struct kunit_case report_cases[] = {
	KUNIT_CASE(new_context_has_its_static_pages_and_registers),
	KUNIT_CASE(queue_is_reported_at_its_uar_and_bfreg),
	KUNIT_CASE(queue_that_could_not_be_created_is_not_reported),
	KUNIT_CASE(queue_is_on_no_uar_that_is_not_an_object),
	KUNIT_CASE(queue_that_firmware_keeps_is_reported),
	KUNIT_CASE(queue_is_removed_from_the_report_once),
	KUNIT_CASE(dynamic_page_is_reported),
	KUNIT_CASE(uar_object_is_reported_until_its_last_user),
	KUNIT_CASE(object_has_the_uars_of_its_page),
	KUNIT_CASE(other_mmap_entries_are_not_reported),
	KUNIT_CASE_PARAM(lists_are_filled_only_if_there_is_room, room_gen_params),
	KUNIT_CASE(failure_of_any_allocation_leaves_no_report),
	KUNIT_CASE(each_page_has_the_mmap_offset_of_the_library),
	KUNIT_CASE(closed_context_is_not_listed),
	KUNIT_CASE(file_shows_each_uar_bfreg_and_queue),
	KUNIT_CASE(file_leaves_out_what_is_not_known),
	{}
};

static struct kunit_suite report_suite = {
	.name = "bluebell_uar_report",
	.test_cases = report_cases,
};

kunit_test_suite(report_suite);
