// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of objects by type and number: which object an event is delivered
 * to, until the driver stops listening, and that an object is not destroyed while a task has a
 * reference to it.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/mlx5/device.h>
#include <linux/workqueue.h>

#include "lib/interrupt.h"
#include "lib/locks.h"
#include "lib/mock.h"
#include "lib/rsc.h"

#define NUM	0x123456

/* An object of a test, and what has become of it. */
struct object {
	struct mlx5_ib_rsc rsc;
	struct delayed_work release;
	bool released;
	unsigned int events;
	unsigned int told[IB_EVENT_WQ_FATAL + 1];
	enum ib_event_type last;
};

struct rsc_env {
	struct mock *mock;
	struct object qp;
	struct object srq;
	struct workqueue_struct *held_wq;
};

/* A work item that blocks an ordered workqueue until @go is completed. */
struct rsc_hold {
	struct work_struct work;
	struct completion go;
};

static void count_event(struct mlx5_ib_rsc *rsc, enum ib_event_type event)
{
	struct object *o = container_of(rsc, struct object, rsc);

	o->events++;
	o->told[event]++;
	o->last = event;
}

/* The mock firmware keeps no DCTs or PSVs, and so accepts any number to destroy. */
static const struct mlx5_ib_rsc_ops qp_ops = {
	.type = MLX5_RES_QP, .name = "QP", .destroy_op = MLX5_CMD_OP_DESTROY_DCT,
	.event = count_event,
};

static const struct mlx5_ib_rsc_ops srq_ops = {
	.type = MLX5_RES_SRQ, .name = "SRQ", .destroy_op = MLX5_CMD_OP_DESTROY_PSV,
	.event = count_event,
};

static void free_workqueue(void *wq)
{
	destroy_workqueue(wq);
}

static void add_object(struct kunit *test, struct rsc_env *env, struct object *o,
		       const struct mlx5_ib_rsc_ops *ops)
{
	o->rsc.dev = env->mock->dev;
	o->rsc.ops = ops;
	o->rsc.num = NUM;
	KUNIT_ASSERT_EQ(test, mlx5_ib_rsc_add(&o->rsc), 0);
}

/* A QP and an SRQ of the same number. */
static struct rsc_env *make_env(struct kunit *test)
{
	struct rsc_env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);
	struct mlx5_ib_rsc_table *table;

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->mock = mock_create(test);
	table = &env->mock->dev->rsc_table;
	table->wq = alloc_workqueue("bluebell_rsc_test", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, table->wq);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_workqueue, table->wq), 0);
	add_object(test, env, &env->qp, &qp_ops);
	add_object(test, env, &env->srq, &srq_ops);
	return env;
}

/**
 * struct report - an event that mlx5_core reports
 * @table: table of the objects
 * @type: MLX5_EVENT_TYPE_*
 * @eqe: the event
 * @ret: what the notifier has returned
 */
struct report {
	struct mlx5_ib_rsc_table *table;
	u8 type;
	struct mlx5_eqe *eqe;
	int ret;
};

/* Without the lock the object could be freed before the lookup has its reference. */
static void lookup_takes_the_lock_of_the_table(struct kunit *test)
{
	struct rsc_env *env = make_env(test);
	struct mlx5_ib_dev *dev = env->mock->dev;

	EXPECT_TAKES_LOCK(test, &dev->rsc_table.rscs.xa_lock,
			  mlx5_ib_rsc_get(dev, MLX5_RES_QP, NUM));
	mlx5_ib_rsc_put(&env->qp.rsc);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->qp.rsc), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->srq.rsc), 0);
}

static void report_event(void *arg)
{
	struct report *report = arg;

	report->ret = mlx5_ib_rsc_event(&report->table->nb, report->type, report->eqe);
}

/* Report an event as the interrupt of the asynchronous event queue does. */
static int report_in_interrupt(struct mlx5_ib_rsc_table *table, u8 type, struct mlx5_eqe *eqe)
{
	struct report report = { .table = table, .type = type, .eqe = eqe };

	call_in_interrupt(report_event, &report);
	return report.ret;
}

static int raise_event(struct rsc_env *env, u8 type, u8 queue_type, u32 num)
{
	struct mlx5_ib_rsc_table *table = &env->mock->dev->rsc_table;
	struct mlx5_eqe eqe = {};
	int ret;

	eqe.data.qp_srq.type = queue_type;
	/* The number has 24 bits; the upper byte is reserved. */
	eqe.data.qp_srq.qp_srq_n = cpu_to_be32(0xff000000 | num);
	ret = report_in_interrupt(table, type, &eqe);
	flush_workqueue(table->wq);
	return ret;
}

static const struct event_case {
	const char *name;
	u8 type;
	bool of_srq;
	enum ib_event_type want;
} event_cases[] = {
	{ "path migrated", 0x01, false, IB_EVENT_PATH_MIG },
	{ "communication established", 0x02, false, IB_EVENT_COMM_EST },
	{ "send queue drained", 0x03, false, IB_EVENT_SQ_DRAINED },
	{ "last WQE of an SRQ", 0x13, false, IB_EVENT_QP_LAST_WQE_REACHED },
	{ "catastrophic error", 0x05, false, IB_EVENT_QP_FATAL },
	{ "path migration failed", 0x07, false, IB_EVENT_PATH_MIG_ERR },
	{ "invalid request", 0x10, false, IB_EVENT_QP_REQ_ERR },
	{ "access error", 0x11, false, IB_EVENT_QP_ACCESS_ERR },
	{ "SRQ limit", 0x14, true, IB_EVENT_SRQ_LIMIT_REACHED },
	{ "SRQ error", 0x12, true, IB_EVENT_SRQ_ERR },
};

KUNIT_ARRAY_PARAM_DESC(event, event_cases, name);

static void event_is_delivered_to_its_object(struct kunit *test)
{
	const struct event_case *c = test->param_value;
	struct rsc_env *env = make_env(test);
	struct object *about = c->of_srq ? &env->srq : &env->qp;
	struct object *other = c->of_srq ? &env->qp : &env->srq;

	KUNIT_EXPECT_EQ(test, raise_event(env, c->type, 0, NUM), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, about->events, 1);
	KUNIT_EXPECT_EQ(test, about->last, c->want);
	KUNIT_EXPECT_EQ(test, other->events, 0);
	KUNIT_EXPECT_EQ(test, raise_event(env, c->type, 0, NUM + 1), NOTIFY_DONE);
	KUNIT_EXPECT_EQ(test, about->events, 1);

	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->qp.rsc), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->srq.rsc), 0);
	KUNIT_EXPECT_EQ(test, raise_event(env, c->type, 0, NUM), NOTIFY_DONE);
	KUNIT_EXPECT_EQ(test, about->events, 1);
}

/*
 * RQs and SQs have numbers of their own. An event of an SRQ does not use the field for the type of
 * queue.
 */
static void event_of_another_kind_of_queue_is_ignored(struct kunit *test)
{
	struct rsc_env *env = make_env(test);

	KUNIT_EXPECT_EQ(test, raise_event(env, 0x05, MLX5_EVENT_QUEUE_TYPE_RQ, NUM), NOTIFY_DONE);
	KUNIT_EXPECT_EQ(test, raise_event(env, 0x05, MLX5_EVENT_QUEUE_TYPE_SQ, NUM), NOTIFY_DONE);
	/* A type that no event of a QP can have, but with which the table has a queue. */
	KUNIT_EXPECT_EQ(test, raise_event(env, 0x05, MLX5_RES_SRQ, NUM), NOTIFY_DONE);
	KUNIT_EXPECT_EQ(test, env->qp.events, 0);
	KUNIT_EXPECT_EQ(test, env->srq.events, 0);
	KUNIT_EXPECT_EQ(test, raise_event(env, 0x14, MLX5_EVENT_QUEUE_TYPE_RQ, NUM), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, env->srq.events, 1);
	/* A port event, which is not about a queue. */
	KUNIT_EXPECT_EQ(test, raise_event(env, 0x09, 0, NUM), NOTIFY_DONE);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->qp.rsc), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->srq.rsc), 0);
}

static void hold_work(struct work_struct *work)
{
	struct rsc_hold *hold = container_of(work, struct rsc_hold, work);

	wait_for_completion(&hold->go);
}

/* Three events of one queue before the first is delivered: two kinds, of which one twice. */
static void pending_events_are_delivered_once_each(struct kunit *test)
{
	struct rsc_env *env = make_env(test);
	struct mlx5_ib_rsc_table *table = &env->mock->dev->rsc_table;
	struct mlx5_eqe eqe = {};
	struct rsc_hold hold;

	/*
	 * No work item that is queued runs before the work item that blocks the workqueue has
	 * ended.
	 */
	env->held_wq = alloc_ordered_workqueue("bluebell_rsc_test_held", 0);
	KUNIT_ASSERT_NOT_NULL(test, env->held_wq);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_workqueue, env->held_wq), 0);
	table->wq = env->held_wq;
	init_completion(&hold.go);
	INIT_WORK_ONSTACK(&hold.work, hold_work);
	queue_work(table->wq, &hold.work);
	eqe.data.qp_srq.qp_srq_n = cpu_to_be32(NUM);
	KUNIT_EXPECT_EQ(test, report_in_interrupt(table, 0x02, &eqe), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, report_in_interrupt(table, 0x03, &eqe), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, report_in_interrupt(table, 0x02, &eqe), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, env->qp.events, 0);
	complete(&hold.go);
	flush_workqueue(table->wq);
	destroy_work_on_stack(&hold.work);
	KUNIT_EXPECT_EQ(test, env->qp.told[IB_EVENT_COMM_EST], 1);
	KUNIT_EXPECT_EQ(test, env->qp.told[IB_EVENT_SQ_DRAINED], 1);
	KUNIT_EXPECT_EQ(test, env->qp.events, 2);

	/* The next event is delivered without the events from before. */
	KUNIT_EXPECT_EQ(test, raise_event(env, 0x05, 0, NUM), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, env->qp.told[IB_EVENT_QP_FATAL], 1);
	KUNIT_EXPECT_EQ(test, env->qp.events, 3);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->qp.rsc), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->srq.rsc), 0);
}

static void release_work(struct work_struct *work)
{
	struct object *o = container_of(to_delayed_work(work), struct object, release);

	/* While the object is being destroyed, lookups do not find it. */
	WRITE_ONCE(o->released, !mlx5_ib_rsc_get(o->rsc.dev, MLX5_RES_QP, NUM));
	mlx5_ib_rsc_put(&o->rsc);
}

static void destruction_waits_for_references(struct kunit *test)
{
	struct rsc_env *env = make_env(test);
	struct mlx5_ib_dev *dev = env->mock->dev;
	struct mlx5_ib_rsc *rsc = mlx5_ib_rsc_get(dev, MLX5_RES_QP, NUM);

	KUNIT_ASSERT_PTR_EQ(test, rsc, &env->qp.rsc);
	INIT_DELAYED_WORK(&env->qp.release, release_work);
	queue_delayed_work(dev->rsc_table.wq, &env->qp.release, HZ / 20);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->qp.rsc), 0);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(env->qp.released));
	flush_delayed_work(&env->qp.release);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->srq.rsc), 0);
}

static void object_that_firmware_keeps_gets_events(struct kunit *test)
{
	struct rsc_env *env = make_env(test);

	env->mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->qp.rsc), env->mock->refuse_err);
	KUNIT_EXPECT_EQ(test, MLX5_GET(destroy_dct_in, env->mock->in, dctn), NUM);
	KUNIT_EXPECT_EQ(test, raise_event(env, 0x05, 0, NUM), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, env->qp.events, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->qp.rsc), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->srq.rsc), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&env->mock->dev->rsc_table.rscs));
}

/* The device has given the number to another object, so the first one is gone. */
static void new_object_takes_the_number_over(struct kunit *test)
{
	struct rsc_env *env = make_env(test);
	struct object *second = kunit_kzalloc(test, sizeof(*second), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, second);
	second->rsc = (struct mlx5_ib_rsc){
		.dev = env->qp.rsc.dev, .ops = env->qp.rsc.ops, .num = NUM,
	};
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_add(&second->rsc), 0);
	KUNIT_EXPECT_EQ(test, raise_event(env, 0x05, 0, NUM), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, second->events, 1);
	KUNIT_EXPECT_EQ(test, env->qp.events, 0);
	/* A command to destroy the first object would destroy the second one, so none is sent. */
	env->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->qp.rsc), 0);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&second->rsc), 0);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&env->srq.rsc), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&env->mock->dev->rsc_table.rscs));
}

/* The queue of an object that firmware keeps fails while the driver is being unbound. */
static void fail_late(struct mlx5_ib_dev *dev, bool on)
{
	struct mlx5_eqe eqe = {};

	eqe.data.qp_srq.qp_srq_n = cpu_to_be32(NUM);
	if (!on)
		KUNIT_EXPECT_EQ(kunit_get_current_test(), NOTIFY_OK,
				report_in_interrupt(&dev->rsc_table, 0x05, &eqe));
}

static void last_event_before_unbinding_is_delivered(struct kunit *test)
{
	struct rsc_env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);
	struct mlx5_ib_dev *dev;

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->mock = mock_create(test);
	dev = env->mock->dev;
	kunit_activate_static_stub(test, mlx5_ib_rsc_watch, fail_late);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_rsc_table(dev), 0);
	add_object(test, env, &env->qp, &qp_ops);
	dev->kept = true;
	mlx5_ib_cleanup_rsc_table(dev);
	KUNIT_EXPECT_EQ(test, env->qp.events, 1);
	KUNIT_EXPECT_EQ(test, env->qp.last, IB_EVENT_QP_FATAL);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->rsc_table.rscs));
}

static struct kunit_case rsc_cases[] = {
	KUNIT_CASE_PARAM(event_is_delivered_to_its_object, event_gen_params),
	KUNIT_CASE(lookup_takes_the_lock_of_the_table),
	KUNIT_CASE(event_of_another_kind_of_queue_is_ignored),
	KUNIT_CASE(pending_events_are_delivered_once_each),
	KUNIT_CASE(destruction_waits_for_references),
	KUNIT_CASE(object_that_firmware_keeps_gets_events),
	KUNIT_CASE(new_object_takes_the_number_over),
	KUNIT_CASE(last_event_before_unbinding_is_delivered),
	{}
};

static struct kunit_suite rsc_suite = {
	.name = "bluebell_rsc",
	.test_cases = rsc_cases,
};

kunit_test_suite(rsc_suite);
