// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the destruction of objects after a process has closed the device: the driver sends
 * many commands and UMR requests at a time, and each ends as if it had been sent alone.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/mlx5/device.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_std_types.h>

#include "../../../core/uverbs.h"
#include "fw/bluebell.h"
#include "fw/fw.h"
#include "lib/interrupt.h"
#include "lib/mkey.h"
#include "lib/mkey_pool.h"
#include "lib/mock_hca.h"
#include "lib/orphan.h"
#include "lib/rsc.h"
#include "verbs/mr.h"
#include "verbs/qp.h"
#include "verbs/uar.h"
#include "verbs/ucontext.h"
#include "verbs/verbs.h"

/* The number of commands of a batch that may be in flight. */
#define IN_FLIGHT	16
#define MANY		100
#define REGIONS		80
#define NUM		0x123456
/* Keys of the largest class, of which the pool keeps the fewest. */
#define LONG_KEYS	24

/*
 * @status: status with which firmware refuses to destroy the object; 0 if it destroys the object.
 */
struct object {
	struct mlx5_ib_fw_attempt attempt;
	u8 status;
	bool answered;
	unsigned int done;
	int err;
};

/**
 * struct closer - a firmware that answers commands a while later, the last one first
 * @mock: the device
 * @hca: the part of the device that executes UMRs
 * @together: commands are sent by a batch now
 * @most: number of commands that mlx5_core lets a batch have in flight
 * @lock: guards all from @num to @numbers
 * @num: commands in flight
 * @max: the largest value of @num
 * @total: commands of batches so far
 * @flight: the commands in flight
 * @errs: results of the commands in flight
 * @numbers: numbers of the objects that these commands destroy
 * @objects: what a batch destroys: command n is about object n
 * @answer: answers the commands in flight
 */
struct closer {
	struct mock *mock;
	struct mock_hca *hca;
	bool together;
	unsigned int most;
	spinlock_t lock;	/* num to numbers */
	unsigned int num, max, total;
	struct mlx5_ib_fw_async *flight[MANY];
	int errs[MANY];
	unsigned int numbers[MANY];
	struct object objects[MANY];
	struct delayed_work answer;
};

static struct closer *the_closer;

/* Answer the commands in flight, as mlx5_core does in the interrupt of its command queue. */
static void answer_last_first(void *arg)
{
	struct closer *c = arg;
	struct mlx5_ib_fw_async *async;
	int err;

	for (;;) {
		scoped_guard(spinlock_irqsave, &c->lock) {
			if (!c->num)
				return;
			c->num--;
			async = c->flight[c->num];
			err = c->errs[c->num];
			c->objects[c->numbers[c->num] % MANY].answered = true;
		}
		async->done(err, &async->work);
	}
}

static void answer_commands(struct work_struct *work)
{
	call_in_interrupt(answer_last_first,
			  container_of(to_delayed_work(work), struct closer, answer));
}

static int send(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out, int out_size,
		mlx5_ib_fw_send_t send, void *arg)
{
	struct closer *c = the_closer;
	struct mlx5_ib_fw_async *async = arg;
	u8 status;
	int err;

	if (!c->together)
		return mock_hca_fw(dev, uid, in, in_size, out, out_size, send, arg);
	scoped_guard(spinlock_irqsave, &c->lock)
		if (c->num == c->most)
			return -EBUSY;
	err = mock_hca_fw(dev, uid, in, in_size, out, out_size, send, arg);
	status = err == -ENOENT ? MLX5_CMD_STAT_BAD_RES_ERR :
				  c->objects[MLX5_GET(dealloc_pd_in, in, pd) % MANY].status;
	guard(spinlock_irqsave)(&c->lock);
	MLX5_SET(dealloc_pd_out, async->out, status, status);
	c->flight[c->num] = async;
	c->errs[c->num] = err == -ETIMEDOUT ? err : err || status ? -EREMOTEIO : 0;
	c->numbers[c->num] = MLX5_GET(dealloc_pd_in, in, pd);
	c->total++;
	c->num++;
	c->max = max(c->max, c->num);
	queue_delayed_work(system_dfl_wq, &c->answer, HZ / 50);
	return 0;
}

static void stop_answering(void *data)
{
	struct closer *c = data;

	disable_delayed_work_sync(&c->answer);
}

static struct closer *make_closer(struct kunit *test)
{
	struct closer *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->mock = mock_create(test);
	c->hca = mock_hca_create(c->mock);
	mock_hca_start(c->hca);
	c->most = MANY;
	spin_lock_init(&c->lock);
	INIT_DELAYED_WORK(&c->answer, answer_commands);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, stop_answering, c));
	the_closer = c;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, send);
	return c;
}

static void note_result(struct mlx5_ib_dev *dev, void *data, int err)
{
	struct object *object = data;

	/* A command that was not sent is not answered. */
	KUNIT_EXPECT_TRUE_MSG(the_closer->mock->test,
			      object->answered || object->attempt.replaced || err == -EBUSY,
			      "the result is taken before the command is answered");
	object->done++;
	object->err = err;
}

/* The mock firmware keeps no DCTs, and so accepts any number to destroy. */
static void destroy_many(struct kunit *test, struct closer *c)
{
	struct mlx5_ib_fw_batch *batch = mlx5_ib_fw_batch_alloc(c->mock->dev);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, batch);
	c->together = true;
	for (i = 0; i < MANY; i++)
		mlx5_ib_fw_batch_destroy(batch, 0, MLX5_CMD_OP_DESTROY_DCT, i,
					 &c->objects[i].attempt, note_result, &c->objects[i]);
	mlx5_ib_fw_batch_wait(batch);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, c->objects[i].done, 1);
	mlx5_ib_fw_batch_free(batch);
	c->together = false;
}

static void batch_keeps_16_commands_in_flight(struct kunit *test)
{
	struct closer *c = make_closer(test);
	unsigned int i;

	destroy_many(test, c);
	KUNIT_EXPECT_EQ(test, c->max, IN_FLIGHT);
	KUNIT_EXPECT_EQ(test, c->total, MANY);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, c->objects[i].err, 0);
}

static void batch_reports_which_object_was_refused(struct kunit *test)
{
	struct closer *c = make_closer(test);
	unsigned int i;

	c->mock->num_commands = 0;
	c->mock->refuse = 23;
	destroy_many(test, c);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, c->objects[i].err, i == 22 ? -EREMOTEIO : 0);
}

/*
 * An earlier command that was not answered may have destroyed the object, and has if another object
 * has the number now. If the earlier commands were refused, firmware must still know the object.
 */
static void batch_knows_what_earlier_commands_have_destroyed(struct kunit *test)
{
	struct closer *c = make_closer(test);
	struct object *o = c->objects;
	unsigned int i;

	o[3].attempt = (struct mlx5_ib_fw_attempt){ .failed = true, .unanswered = true };
	o[3].status = MLX5_CMD_STAT_BAD_RES_ERR;
	o[4].attempt = (struct mlx5_ib_fw_attempt){ .failed = true };
	o[4].status = MLX5_CMD_STAT_BAD_RES_ERR;
	o[5].attempt = (struct mlx5_ib_fw_attempt){ .failed = true, .unanswered = true };
	o[5].status = MLX5_CMD_STAT_BAD_RES_STATE_ERR;
	o[6].attempt = (struct mlx5_ib_fw_attempt){ .unanswered = true, .replaced = true };
	destroy_many(test, c);
	KUNIT_EXPECT_EQ(test, c->total, MANY - 1);
	KUNIT_EXPECT_FALSE(test, o[6].answered);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ_MSG(test, o[i].err, i == 4 || i == 5 ? -EREMOTEIO : 0,
				    "object %u", i);
	/* An object that the device may have destroyed is noted until its owner gives up. */
	KUNIT_EXPECT_FALSE(test, RB_EMPTY_ROOT(&c->mock->dev->attempts.tree));
	mlx5_ib_fw_attempt_forget(c->mock->dev, &o[5].attempt);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&c->mock->dev->attempts.tree));
}

static void batch_repeats_what_mlx5_core_has_no_room_for(struct kunit *test)
{
	struct closer *c = make_closer(test);
	unsigned int i;

	c->most = 3;
	destroy_many(test, c);
	KUNIT_EXPECT_EQ(test, c->max, 3);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, c->objects[i].err, 0);
}

static void command_that_cannot_be_sent_ends_with_ebusy(struct kunit *test)
{
	struct closer *c = make_closer(test);
	unsigned int i;

	c->most = 0;
	destroy_many(test, c);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, c->objects[i].err, -EBUSY);
}

/* A command that mlx5_core is still calling back for, when its answer has been handled. */
struct late_callback {
	struct delayed_work work;
	struct mlx5_async_ctx *ctx;
	bool returned;
};

static void return_late(struct work_struct *work)
{
	struct late_callback *late = container_of(to_delayed_work(work), struct late_callback,
						  work);

	WRITE_ONCE(late->returned, true);
	if (atomic_dec_and_test(&late->ctx->num_inflight))
		complete(&late->ctx->inflight_done);
}

/* mlx5_core uses its part of the batch until the callback has returned. */
static void batch_is_freed_after_its_last_callback(struct kunit *test)
{
	struct late_callback *late = kunit_kzalloc(test, sizeof(*late), GFP_KERNEL);
	struct closer *c = make_closer(test);
	struct mlx5_ib_fw_batch *batch = mlx5_ib_fw_batch_alloc(c->mock->dev);

	KUNIT_ASSERT_NOT_NULL(test, late);
	KUNIT_ASSERT_NOT_NULL(test, batch);
	INIT_DELAYED_WORK(&late->work, return_late);
	c->together = true;
	mlx5_ib_fw_batch_destroy(batch, 0, MLX5_CMD_OP_DESTROY_DCT, 0, &c->objects[0].attempt,
				 note_result, &c->objects[0]);
	late->ctx = c->flight[0]->ctx;
	atomic_inc(&late->ctx->num_inflight);
	queue_delayed_work(system_dfl_wq, &late->work, HZ / 10);
	mlx5_ib_fw_batch_free(batch);
	c->together = false;
	KUNIT_EXPECT_TRUE(test, READ_ONCE(late->returned));
	/* If the driver did not wait, it has freed the context. */
	cancel_delayed_work_sync(&late->work);
}

/* ---- queue pairs ------------------------------------------------------------------------ */

/* The mock firmware destroys a DCT of any number. */
static const struct mlx5_ib_rsc_ops qp_rsc_ops = {
	.type = MLX5_RES_QP, .name = "QP", .destroy_op = MLX5_CMD_OP_DESTROY_DCT,
};

static struct mlx5_ib_qp *make_qp(struct kunit *test, struct closer *c)
{
	struct mlx5_ib_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, qp);
	mutex_init(&qp->mutex);
	qp->ibqp.device = &c->mock->dev->ib_dev;
	qp->ibqp.real_qp = &qp->ibqp;
	qp->ibqp.qp_type = IB_QPT_RC;
	qp->ops = &mlx5_ib_user_qp_ops;
	qp->rsc.dev = c->mock->dev;
	qp->rsc.ops = &qp_rsc_ops;
	qp->rsc.num = NUM;
	KUNIT_ASSERT_EQ(test, mlx5_ib_rsc_add(&qp->rsc), 0);
	c->mock->num_commands = 0;
	return qp;
}

static void destroy_qp_early(struct kunit *test, struct closer *c, struct mlx5_ib_qp *qp)
{
	struct mlx5_ib_fw_batch *batch = mlx5_ib_fw_batch_alloc(c->mock->dev);

	KUNIT_ASSERT_NOT_NULL(test, batch);
	c->together = true;
	mlx5_ib_destroy_qp_early(&qp->ibqp, batch);
	mlx5_ib_fw_batch_free(batch);
	c->together = false;
}

static bool is_found(struct closer *c)
{
	struct mlx5_ib_rsc *rsc = mlx5_ib_rsc_get(c->mock->dev, MLX5_RES_QP, NUM);

	if (rsc)
		mlx5_ib_rsc_put(rsc);
	return rsc;
}

static void closed_process_leaves_no_queue_pair(struct kunit *test)
{
	struct closer *c = make_closer(test);
	struct mlx5_ib_ucontext *context = c->mock->context;
	struct mlx5_ib_qp *qp = make_qp(test, c);
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	mock_open(c->mock);
	qp->mem.context = context;
	mlx5_ib_bell_add(context, &qp->bell);
	destroy_qp_early(test, c, qp);
	KUNIT_EXPECT_EQ(test, c->total, 1);
	/* The report of UARs would show the number of another queue pair. */
	KUNIT_EXPECT_EQ(test, context->bfregi.num_bells, 0);
	mlx5_ib_bell_del(context, &qp->bell);
	KUNIT_EXPECT_FALSE(test, is_found(c));
	/* Another queue pair may have the number by now. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_qp(&qp->ibqp, &attr, 0, &init), -EAGAIN);
	qp->state = IB_QPS_RTS;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_set_counter(qp, 5), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&qp->rsc), 0);
	KUNIT_EXPECT_EQ(test, c->mock->num_commands, 1);
	mlx5_ib_dealloc_ucontext(&context->ibucontext);
}

static void refused_queue_pair_is_destroyed_at_the_second_attempt(struct kunit *test)
{
	struct closer *c = make_closer(test);
	struct mlx5_ib_qp *qp = make_qp(test, c);

	c->mock->refuse = 1;
	destroy_qp_early(test, c, qp);
	KUNIT_EXPECT_TRUE(test, is_found(c));
	/* ib_core starts over, with the early destruction, if it cannot destroy the queue pair. */
	destroy_qp_early(test, c, qp);
	KUNIT_EXPECT_EQ(test, c->total, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&qp->rsc), 0);
	KUNIT_EXPECT_EQ(test, c->mock->num_commands, 2);
	KUNIT_EXPECT_FALSE(test, is_found(c));
}

static void queue_pair_that_others_use_is_kept(struct kunit *test)
{
	struct closer *c = make_closer(test);
	struct mlx5_ib_qp *qp = make_qp(test, c);
	struct ib_qp handle = { .real_qp = &qp->ibqp, .qp_type = IB_QPT_XRC_TGT };

	atomic_set(&qp->ibqp.usecnt, 1);
	destroy_qp_early(test, c, qp);
	KUNIT_EXPECT_EQ(test, c->total, 0);
	atomic_set(&qp->ibqp.usecnt, 0);
	qp->ibqp.real_qp = &handle;
	destroy_qp_early(test, c, qp);
	KUNIT_EXPECT_EQ(test, c->total, 0);
	KUNIT_EXPECT_TRUE(test, is_found(c));
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&qp->rsc), 0);
}

/* ---- memory keys ------------------------------------------------------------------------ */

static void register_many(struct kunit *test, struct closer *c, struct mlx5_ib_pd *pd,
			  struct ib_mr **mr)
{
	unsigned long mem = mock_buffer(c->mock, 0);
	unsigned int i;

	pd->ibpd.device = &c->mock->dev->ib_dev;
	for (i = 0; i < REGIONS; i++) {
		mr[i] = mlx5_ib_reg_user_mr(&pd->ibpd, mem, PAGE_SIZE, mem, IB_ACCESS_LOCAL_WRITE,
					    NULL, mock_udata(c->mock, NULL, 0, 0));
		KUNIT_ASSERT_FALSE(test, IS_ERR(mr[i]));
	}
}

static void destroy_regions(struct kunit *test, struct closer *c, struct ib_mr **mr)
{
	struct mlx5_ib_fw_batch *commands = mlx5_ib_fw_batch_alloc(c->mock->dev);
	struct mlx5_ib_mkey_batch *batch = mlx5_ib_mkey_batch_alloc(c->mock->dev, commands);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, commands);
	KUNIT_ASSERT_NOT_NULL(test, batch);
	c->together = true;
	for (i = 0; i < REGIONS; i++)
		mlx5_ib_destroy_mr_early(mr[i], false, batch);
	mlx5_ib_mkey_batch_wait(batch);
	c->together = false;
	kfree(batch);
	mlx5_ib_fw_batch_free(commands);
}

static void keys_are_revoked_before_memory_is_unpinned(struct kunit *test)
{
	struct closer *c = make_closer(test);
	struct ib_mr *mr[REGIONS];
	struct mlx5_ib_pd pd = {};
	unsigned int i, commands;

	register_many(test, c, &pd, mr);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(c->hca), REGIONS);
	commands = c->mock->num_commands;
	destroy_regions(test, c, mr);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(c->hca), 0);
	/* The memory is still pinned. */
	KUNIT_EXPECT_GT(test, mock_num_pinned(), 0);
	for (i = 0; i < REGIONS; i++)
		KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr[i], NULL), 0);
	KUNIT_EXPECT_EQ(test, c->mock->num_commands, commands);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(c->hca), 0);
}

static void failed_umr_leaves_no_region(struct kunit *test)
{
	enum mock_failure how = (uintptr_t)test->param_value - 1;
	struct closer *c = make_closer(test);
	struct ib_mr *mr[REGIONS];
	struct mlx5_ib_pd pd = {};
	unsigned int i;

	register_many(test, c, &pd, mr);
	c->hca->fail = c->hca->num_requests + REGIONS / 2;
	c->hca->how = how;
	destroy_regions(test, c, mr);
	for (i = 0; i < REGIONS; i++)
		KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr[i], NULL), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(c->hca), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(c->hca), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

static const void *next_failure(struct kunit *test, const void *prev, char *desc)
{
	static const char *const names[MOCK_NUM_FAILURES] = {
		"not posted", "not executed", "executed", "stopped",
	};
	uintptr_t number = (uintptr_t)prev;

	if (number == MOCK_NUM_FAILURES)
		return NULL;
	strscpy(desc, names[number], KUNIT_PARAM_DESC_SIZE);
	return (const void *)(number + 1);
}

static unsigned int num_indices(struct mlx5_ib_dev *dev)
{
	unsigned int num = 0;
	unsigned long index;
	void *entry;

	xa_for_each(&dev->mkeys, index, entry)
		num++;
	return num;
}

/* The pool does not need all keys. Firmware refuses one command that destroys a surplus key. */
static void surplus_key_has_exactly_one_owner(struct kunit *test)
{
	const int class = MLX5_IB_POOL_SIZES - 1;
	u32 nmtts = mlx5_ib_mkey_pool_class_mtts(class);
	struct closer *c = make_closer(test);
	struct mlx5_ib_dev *dev = c->mock->dev;
	struct mlx5_ib_mkey_class *mc = &dev->mkey_pool->classes[class];
	struct mlx5_ib_fw_batch *commands = mlx5_ib_fw_batch_alloc(dev);
	struct mlx5_ib_mkey_batch *batch = mlx5_ib_mkey_batch_alloc(dev, commands);
	struct mlx5_ib_mkey *keys = kunit_kcalloc(test, LONG_KEYS, sizeof(*keys), GFP_KERNEL);
	unsigned int i, destroyed = 0, others = num_indices(dev);

	KUNIT_ASSERT_NOT_NULL(test, keys);
	KUNIT_ASSERT_NOT_NULL(test, commands);
	KUNIT_ASSERT_NOT_NULL(test, batch);
	for (i = 0; i < LONG_KEYS; i++) {
		keys[i].class = class;
		KUNIT_ASSERT_FALSE(test, mlx5_ib_mkey_pool_alloc(dev, class, &keys[i].key));
		KUNIT_ASSERT_EQ(test, 0, mlx5_ib_mkey_pool_create(dev, nmtts, 0, &keys[i].key));
	}
	c->mock->refuse = c->mock->num_commands + 2;
	c->together = true;
	for (i = 0; i < LONG_KEYS; i++)
		mlx5_ib_mkey_destroy_early(batch, &keys[i]);
	mlx5_ib_mkey_batch_wait(batch);
	c->together = false;
	KUNIT_EXPECT_GT(test, c->total, 1);
	for (i = 0; i < LONG_KEYS; i++)
		destroyed += keys[i].destroyed;
	KUNIT_EXPECT_EQ(test, destroyed, LONG_KEYS - 1);
	KUNIT_EXPECT_EQ(test, mc->use.free, LONG_KEYS - c->total);
	KUNIT_EXPECT_EQ(test, mc->use.in_use, 1);
	/* The table of keys has the key that firmware keeps, and the keys in the pool. */
	KUNIT_EXPECT_EQ(test, num_indices(dev) - others, mc->use.free + 1);
	for (i = 0; i < LONG_KEYS; i++)
		KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, &keys[i]), 0);
	KUNIT_EXPECT_EQ(test, num_indices(dev) - others, mc->use.free);
	KUNIT_EXPECT_EQ(test, mc->use.in_use, 0);
	KUNIT_EXPECT_EQ(test, mc->use.free, LONG_KEYS - c->total);
	kfree(batch);
	mlx5_ib_fw_batch_free(commands);
}

static const struct lost_case {
	const char *name;
	bool revoked;	/* UMR has revoked the key before the command was sent */
	bool executed;	/* the command that was not answered has destroyed the key */
	bool reused;	/* a new key has the index of the key */
} lost_cases[] = {
	{ "a surplus key that still exists", false, false },
	{ "a surplus key that is gone", false, true },
	{ "a surplus key whose index is reused", false, true, true },
	{ "a revoked key that still exists", true, false },
	{ "a revoked key that is gone", true, true },
	{ "a revoked key whose index is reused", true, true, true },
};

KUNIT_ARRAY_PARAM_DESC(lost, lost_cases, name);

/* Two keys of the largest class: the pool has the first one, a region has the second. */
static void take_two_keys(struct kunit *test, struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkeys)
{
	const int class = MLX5_IB_POOL_SIZES - 1;
	u32 nmtts = mlx5_ib_mkey_pool_class_mtts(class);
	unsigned int i;

	for (i = 0; i < 2; i++) {
		mkeys[i] = (struct mlx5_ib_mkey){ .class = class };
		KUNIT_ASSERT_FALSE(test, mlx5_ib_mkey_pool_alloc(dev, class, &mkeys[i].key));
		KUNIT_ASSERT_EQ(test, 0, mlx5_ib_mkey_pool_create(dev, nmtts, 0, &mkeys[i].key));
	}
	KUNIT_ASSERT_EQ(test, mlx5_ib_mkey_destroy(dev, &mkeys[0]), 0);
	KUNIT_ASSERT_EQ(test, dev->mkey_pool->classes[class].use.free, 1);
}

/*
 * Have a batch destroy a key. With @wanted the pool wants the key when the batch starts, but not
 * when the batch waits.
 */
static void destroy_key_early(struct kunit *test, struct closer *c, struct mlx5_ib_mkey *mkey,
			      bool wanted)
{
	struct mlx5_ib_dev *dev = c->mock->dev;
	struct mlx5_ib_mkey_pool_use *use = &dev->mkey_pool->classes[mkey->class].use;
	struct mlx5_ib_fw_batch *commands = mlx5_ib_fw_batch_alloc(dev);
	struct mlx5_ib_mkey_batch *batch = mlx5_ib_mkey_batch_alloc(dev, commands);

	KUNIT_ASSERT_NOT_NULL(test, commands);
	KUNIT_ASSERT_NOT_NULL(test, batch);
	c->together = true;
	if (!wanted)
		use->peak = use->in_use;
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_pool_wants(dev, mkey->class), wanted);
	mlx5_ib_mkey_destroy_early(batch, mkey);
	use->peak = use->in_use;
	mlx5_ib_mkey_batch_wait(batch);
	c->together = false;
	kfree(batch);
	mlx5_ib_fw_batch_free(commands);
}

/* The owner of a key that is destroyed may be freed: the tree does not point into it. */
static void expect_no_attempt(struct kunit *test, struct mlx5_ib_dev *dev,
			      struct mlx5_ib_mkey *mkey)
{
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&dev->attempts.tree));
	/* If the test has failed, do not crash. */
	mlx5_ib_fw_attempt_forget(dev, &mkey->attempt);
}

/*
 * Firmware does not answer the DESTROY_MKEY of a batch. A UMR on a key that is gone would stop the
 * UMR queue pair of all users, and the pool would hand the key out.
 */
static void key_without_an_answer_leaves_by_command(struct kunit *test)
{
	const struct lost_case *lost = test->param_value;
	struct closer *c = make_closer(test);
	struct mlx5_ib_dev *dev = c->mock->dev;
	struct mlx5_ib_mkey mkeys[2], *mkey = &mkeys[1];
	unsigned int requests, commands;
	struct mlx5_ib_mkey_class *mc;
	u32 next = 0;

	take_two_keys(test, dev, mkeys);
	mc = &dev->mkey_pool->classes[mkey->class];
	c->mock->lose_destroy = lost->executed;
	c->mock->refuse = lost->executed ? 0 : c->mock->num_commands + 1;
	c->mock->refuse_err = -ETIMEDOUT;
	destroy_key_early(test, c, mkey, lost->revoked);
	c->mock->lose_destroy = false;
	KUNIT_EXPECT_EQ(test, c->total, 1);
	KUNIT_EXPECT_EQ(test, mkey->revoked, lost->revoked);
	KUNIT_ASSERT_FALSE(test, mkey->destroyed);
	KUNIT_EXPECT_FALSE(test, RB_EMPTY_ROOT(&dev->attempts.tree));
	if (lost->reused) {
		KUNIT_ASSERT_EQ(test, 0, mlx5_ib_mkey_pool_create(dev, 8, 0, &next));
		KUNIT_ASSERT_EQ(test, mlx5_mkey_to_idx(next), mlx5_mkey_to_idx(mkey->key));
	}

	requests = c->hca->num_requests;
	commands = c->mock->num_commands;
	KUNIT_EXPECT_EQ(test, mlx5_ib_mkey_destroy(dev, mkey), 0);
	KUNIT_EXPECT_EQ(test, c->hca->num_requests, requests);
	KUNIT_EXPECT_EQ(test, c->mock->num_commands - commands, lost->reused ? 0 : 1);
	KUNIT_EXPECT_TRUE(test, mkey->destroyed);
	expect_no_attempt(test, dev, mkey);
	KUNIT_EXPECT_EQ(test, mc->use.free, 1);
	KUNIT_EXPECT_EQ(test, mc->use.in_use, 0);
	KUNIT_EXPECT_EQ(test, !!next, !!xa_load(&c->mock->live[MOCK_MKEY],
						mlx5_mkey_to_idx(mkey->key)));
	if (next)
		mlx5_ib_mkey_table_discard(dev, 0, next);
}

/* A process exits after firmware has not answered the deregistration of one of its regions. */
static void batch_revokes_no_key_that_may_be_gone(struct kunit *test)
{
	struct closer *c = make_closer(test);
	struct mlx5_ib_dev *dev = c->mock->dev;
	struct mlx5_ib_mkey mkeys[2], *mkey = &mkeys[1];
	unsigned int requests;

	take_two_keys(test, dev, mkeys);
	c->mock->lose_destroy = true;
	mlx5_ib_mkey_kill(dev, mkey);
	c->mock->lose_destroy = false;
	KUNIT_ASSERT_FALSE(test, mkey->destroyed);
	requests = c->hca->num_requests;
	destroy_key_early(test, c, mkey, true);
	KUNIT_EXPECT_EQ(test, c->hca->num_requests, requests);
	KUNIT_EXPECT_EQ(test, c->total, 1);
	KUNIT_EXPECT_TRUE(test, mkey->destroyed);
	expect_no_attempt(test, dev, mkey);
}

/*
 * Neither UMR nor firmware revokes the key of a region, so the key and its memory become an orphan.
 * The pool does not count the key any more, and the table of keys has no slot for it.
 */
static void key_of_an_orphan_is_not_of_the_pool(struct kunit *test)
{
	struct closer *c = make_closer(test);
	struct mock *mock = c->mock;
	struct ib_udata *udata = mock_udata(mock, NULL, 0, 0);
	struct mlx5_ib_pd pd = { .ibpd.device = &mock->dev->ib_dev };
	unsigned int slots = num_indices(mock->dev);
	unsigned long mem = mock_buffer(mock, 0);
	struct ib_mr *mr;

	mr = mlx5_ib_reg_user_mr(&pd.ibpd, mem, PAGE_SIZE, mem, IB_ACCESS_LOCAL_WRITE, NULL, udata);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(c->hca), 1);
	mock->refuse_destroy = true;
	c->hca->stopped = true;
	/* The process still has the region, and tries again. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, udata), mock->refuse_err);
	/* Windows are bound to no key of the pool, so this refusal does not mean that one is. */
	mock->refuse_err = -EINVAL;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, udata), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(c->hca), 1);
	KUNIT_EXPECT_EQ(test, num_indices(mock->dev), slots + 1);
	mock->context->closing = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, udata), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(c->hca), 0);
	KUNIT_EXPECT_EQ(test, num_indices(mock->dev), slots);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(c->hca), 1);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
	mock->refuse_destroy = false;
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(c->hca), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_free(c->hca), 0);
	c->hca->stopped = false;
}

/* ---- all objects of a process ------------------------------------------------------------ */

#define MAX_HANDLES	4

/**
 * struct process - a process that has closed the device
 * @c: firmware
 * @pd: protection domain of its regions and windows
 * @uobj: its handles
 * @api: kinds of the handles
 * @num: number of handles
 * @ufile: what ib_core passes to the driver
 */
struct process {
	struct closer *c;
	struct mlx5_ib_pd pd;
	struct ib_uobject uobj[MAX_HANDLES];
	struct uverbs_api_object api[MAX_HANDLES];
	unsigned int num;
	struct ib_uverbs_file *ufile;
};

static struct process *make_process(struct kunit *test)
{
	struct process *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->c = make_closer(test);
	p->pd.ibpd.device = &p->c->mock->dev->ib_dev;
	p->ufile = p->c->mock->attrs->ufile;
	p->ufile->ucontext = &p->c->mock->context->ibucontext;
	INIT_LIST_HEAD(&p->ufile->uobjects);
	return p;
}

static void add_handle(struct process *p, u16 kind, void *object)
{
	struct ib_uobject *uobj = &p->uobj[p->num];

	p->api[p->num].id = kind;
	uobj->uapi_object = &p->api[p->num++];
	uobj->object = object;
	/* ib_core puts a new handle before all older ones. */
	list_add(&uobj->list, &p->ufile->uobjects);
}

static struct mlx5_ib_mr *add_region(struct process *p, int access)
{
	unsigned long mem = mock_buffer(p->c->mock, 0);
	struct ib_mr *mr;

	mr = mlx5_ib_reg_user_mr(&p->pd.ibpd, mem, PAGE_SIZE, mem, access, NULL,
				 mock_udata(p->c->mock, NULL, 0, 0));
	KUNIT_ASSERT_FALSE(p->c->mock->test, IS_ERR(mr));
	add_handle(p, UVERBS_OBJECT_MR, mr);
	return to_mmr(mr);
}

static struct mlx5_ib_mw *add_window(struct process *p)
{
	struct kunit *test = p->c->mock->test;
	struct mlx5_ib_mw *mw = kunit_kzalloc(test, sizeof(*mw), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mw);
	mw->ibmw.device = p->pd.ibpd.device;
	mw->ibmw.pd = &p->pd.ibpd;
	mw->ibmw.type = IB_MW_TYPE_2;
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_alloc_mw(&mw->ibmw, mock_udata(p->c->mock, NULL, 0, 0)));
	add_handle(p, UVERBS_OBJECT_MW, mw);
	return mw;
}

static void close_process(struct process *p)
{
	p->c->together = true;
	mlx5_ib_ufile_hw_cleanup(p->ufile);
	p->c->together = false;
	KUNIT_EXPECT_TRUE(p->c->mock->test, p->c->mock->context->closing);
}

static void process_with_many_objects_leaves_none(struct kunit *test)
{
	struct process *p = make_process(test);
	struct mlx5_ib_mr *mr = add_region(p, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_MW_BIND);
	struct mlx5_ib_mw *mw = add_window(p);

	add_handle(p, UVERBS_OBJECT_QP, &make_qp(test, p->c)->ibqp);
	/* A batch has nothing to do for other objects. */
	add_handle(p, UVERBS_OBJECT_PD, &p->pd);
	close_process(p);
	KUNIT_EXPECT_FALSE(test, is_found(p->c));
	KUNIT_EXPECT_TRUE(test, mw->mkey.destroyed);
	KUNIT_EXPECT_TRUE(test, mr->mkey.destroyed);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dealloc_mw(&mw->ibmw), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(&mr->ibmr, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

/* A batch of one command saves no time. */
static void single_object_of_a_process_is_left_to_ib_core(struct kunit *test)
{
	struct process *p = make_process(test);
	struct mlx5_ib_mr *mr = add_region(p, IB_ACCESS_LOCAL_WRITE);

	add_handle(p, UVERBS_OBJECT_PD, &p->pd);
	add_handle(p, UVERBS_OBJECT_CQ, &p->pd);
	close_process(p);
	KUNIT_EXPECT_EQ(test, p->c->total, 0);
	KUNIT_EXPECT_FALSE(test, mr->mkey.destroyed);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(&mr->ibmr, NULL), 0);
}

/* Firmware refuses to destroy the key of a region to which a window may be bound. */
static void region_waits_for_a_window_that_firmware_keeps(struct kunit *test)
{
	struct process *p = make_process(test);
	struct mock *mock = p->c->mock;
	struct mlx5_ib_mr *plain = add_region(p, IB_ACCESS_LOCAL_WRITE);
	struct mlx5_ib_mr *bound = add_region(p, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_MW_BIND);
	struct mlx5_ib_mw *mw[2];

	mw[0] = add_window(p);
	mw[1] = add_window(p);
	/* The first command is about the window that the process has allocated last. */
	mock->refuse = mock->num_commands + 1;
	close_process(p);
	KUNIT_EXPECT_FALSE(test, mw[1]->mkey.destroyed);
	KUNIT_EXPECT_TRUE(test, mw[0]->mkey.destroyed);
	KUNIT_EXPECT_FALSE(test, bound->mkey.destroyed);
	KUNIT_EXPECT_TRUE(test, plain->mkey.destroyed);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dealloc_mw(&mw[1]->ibmw), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dealloc_mw(&mw[0]->ibmw), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(&bound->ibmr, NULL), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(&plain->ibmr, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

static struct kunit_case close_cases[] = {
	KUNIT_CASE(batch_keeps_16_commands_in_flight),
	KUNIT_CASE(batch_reports_which_object_was_refused),
	KUNIT_CASE(batch_knows_what_earlier_commands_have_destroyed),
	KUNIT_CASE(batch_repeats_what_mlx5_core_has_no_room_for),
	KUNIT_CASE(command_that_cannot_be_sent_ends_with_ebusy),
	KUNIT_CASE(batch_is_freed_after_its_last_callback),
	KUNIT_CASE(closed_process_leaves_no_queue_pair),
	KUNIT_CASE(refused_queue_pair_is_destroyed_at_the_second_attempt),
	KUNIT_CASE(queue_pair_that_others_use_is_kept),
	KUNIT_CASE(keys_are_revoked_before_memory_is_unpinned),
	KUNIT_CASE_PARAM(failed_umr_leaves_no_region, next_failure),
	KUNIT_CASE(surplus_key_has_exactly_one_owner),
	KUNIT_CASE_PARAM(key_without_an_answer_leaves_by_command, lost_gen_params),
	KUNIT_CASE(batch_revokes_no_key_that_may_be_gone),
	KUNIT_CASE(key_of_an_orphan_is_not_of_the_pool),
	KUNIT_CASE(process_with_many_objects_leaves_none),
	KUNIT_CASE(single_object_of_a_process_is_left_to_ib_core),
	KUNIT_CASE(region_waits_for_a_window_that_firmware_keeps),
	{}
};

static struct kunit_suite close_suite = {
	.name = "bluebell_ufile_cleanup",
	.test_cases = close_cases,
};

kunit_test_suite(close_suite);
