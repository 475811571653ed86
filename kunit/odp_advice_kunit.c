// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of advice: which ranges are mapped and in which order, how contexts take turns, and
 * what becomes of advice that fails. Another task serves the advice of a caller who does not wait,
 * and no static stub takes effect in that task, so the region only notes what it is to map.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/hmm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/uverbs_ioctl.h>

#include "lib/mock_hca.h"
#include "lib/share.h"
#include "odp/odp_internal.h"
#include "verbs/mr.h"
#include "verbs/ucontext.h"

/* An address where no process has memory: registering the region maps nothing. */
#define START		SZ_1G
/* How many bytes the driver maps at a time. */
#define STEP		MLX5_IB_ODP_CHUNK_BYTES
#define REGION_BYTES	(4 * STEP)
/* Longer than the turn of a context. */
#define SLOW_MS		30
#define MAX_NOTED	64
/* Pieces of advice that a context can have in its queue. */
#define ROOM		32

/**
 * struct env - a process with two contexts, a paged region, and a workqueue that may be held
 * @mock: the device
 * @pd: protection domains, of which the region has the first
 * @context: contexts of one user
 * @user: the user
 * @mr: the region
 * @hold: blocks the workqueue until @release
 * @release: ends @hold
 * @call: calls ibv_advise_mr(3) in the first context
 * @ret: what that call returned
 * @returned: the call has returned
 */
struct env {
	struct mock *mock;
	struct mlx5_ib_pd pd[2];
	struct mlx5_ib_ucontext context[2];
	struct mlx5_ib_user *user;
	struct ib_mr *mr;
	struct work_struct hold;
	struct completion release;
	struct work_struct call;
	int ret;
	struct completion returned;
};

/* What the regions were asked to map; how long each request takes, and what it returns. */
static struct {
	unsigned int num;
	u64 offset[MAX_NOTED];
	u64 len[MAX_NOTED];
	unsigned long req[MAX_NOTED];
	unsigned int ms;
	u64 bad_offset;
	int ret;
} noted;

static int note_page_in(struct odp_mr *mr, u64 offset, u64 len, unsigned long req)
{
	unsigned int n = noted.num++ % MAX_NOTED;

	noted.offset[n] = offset;
	noted.len[n] = len;
	noted.req[n] = req;
	if (noted.ms)
		msleep(noted.ms);
	return offset == noted.bad_offset ? -EFAULT : noted.ret;
}

static const struct odp_mr_ops noting_ops = { .page_in = note_page_in };
/* The operations of the driver, which a region needs again when it is deregistered. */
static const struct odp_mr_ops *real_ops;

static struct odp_mr *to_odp(struct ib_mr *mr)
{
	return container_of(to_mmr(mr), struct odp_mr, mr);
}

static struct ib_mr *reg(struct kunit *test, struct env *env, unsigned int pd, u32 access)
{
	struct ib_mr *mr = mlx5_ib_odp_reg(&env->pd[pd].ibpd, START, REGION_BYTES, START,
					   IB_ACCESS_ON_DEMAND | access);

	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	real_ops = to_odp(mr)->ops;
	to_odp(mr)->ops = &noting_ops;
	return mr;
}

static void dereg(struct kunit *test, struct ib_mr *mr)
{
	to_odp(mr)->ops = real_ops;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(mr, NULL), 0);
}

/* The range of @len bytes from @offset on. */
static struct ib_sge range(struct env *env, u64 offset, u32 len)
{
	return (struct ib_sge){ .addr = START + offset, .length = len, .lkey = env->mr->lkey };
}

static int advise(struct env *env, unsigned int context, enum ib_uverbs_advise_mr_advice advice,
		  struct ib_sge *sge, unsigned int num)
{
	struct uverbs_attr_bundle attrs = { .context = &env->context[context].ibucontext };

	return mlx5_ib_advise_mr(&env->pd[0].ibpd, advice, 0, sge, num, &attrs);
}

static int advise_one(struct env *env, unsigned int context, u64 offset)
{
	struct ib_sge sge = range(env, offset, 8);

	return advise(env, context, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, &sge, 1);
}

static void hold_advice(struct work_struct *work)
{
	wait_for_completion(&container_of(work, struct env, hold)->release);
}

static void advise_in_first_context(struct work_struct *work)
{
	struct env *env = container_of(work, struct env, call);

	env->ret = advise_one(env, 0, ROOM * PAGE_SIZE);
	complete(&env->returned);
}

/* Called before the workqueue is destroyed, also if the test has failed. */
static void release_advice(void *data)
{
	struct env *env = data;

	mlx5_ib_stop_advice(env->mock->dev);
	complete_all(&env->release);
	cancel_work_sync(&env->call);
}

static struct workqueue_struct *advice_wq(struct env *env)
{
	return env->mock->dev->odp->advice_wq;
}

/* The workqueue runs one work item at a time. If @held, it serves nothing before serve_all(). */
static struct env *make_env(struct kunit *test, bool held)
{
	struct env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);
	struct mlx5_ib_dev *dev;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->mock = mock_create(test);
	dev = env->mock->dev;
	mock_hca_start(mock_hca_create(env->mock));
	init_completion(&env->release);
	init_completion(&env->returned);
	INIT_WORK(&env->hold, hold_advice);
	INIT_WORK(&env->call, advise_in_first_context);
	dev->odp->advice_wq = alloc_ordered_workqueue("bluebell_advice_test", 0);
	KUNIT_ASSERT_NOT_NULL(test, dev->odp->advice_wq);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, release_advice, env));
	env->user = mlx5_ib_user_get(dev, KUIDT_INIT(1000));
	KUNIT_ASSERT_NOT_NULL(test, env->user);
	for (i = 0; i < 2; i++) {
		env->pd[i].ibpd.device = &dev->ib_dev;
		env->pd[i].pdn = 1 + i;
		env->context[i].user = env->user;
	}
	memset(&noted, 0, sizeof(noted));
	noted.bad_offset = U64_MAX;
	env->mr = reg(test, env, 0, IB_ACCESS_LOCAL_WRITE);
	if (held)
		queue_work(advice_wq(env), &env->hold);
	return env;
}

static void serve_all(struct env *env)
{
	complete_all(&env->release);
	drain_workqueue(advice_wq(env));
}

static int num_queues(struct env *env)
{
	return atomic_read(&env->user->count[MLX5_IB_SHARE_ADVICE]);
}

static void free_env(struct kunit *test, struct env *env)
{
	unsigned int i;

	KUNIT_EXPECT_EQ(test, num_queues(env), 0);
	for (i = 0; i < 2; i++)
		mlx5_ib_odp_close_context(&env->context[i]);
	mlx5_ib_user_put(env->user);
	dereg(test, env->mr);
}

static void expect_noted(struct kunit *test, unsigned int i, u64 offset, u64 len)
{
	KUNIT_EXPECT_EQ_MSG(test, noted.offset[i], offset, "step %u", i);
	KUNIT_EXPECT_EQ_MSG(test, noted.len[i], len, "step %u", i);
}

/* ---- ranges ----------------------------------------------------------------------------- */

/*
 * The first range is longer than one step (STEP); the third is exactly one step. Each step takes
 * longer than the turn of a context.
 */
static void ranges_are_mapped_one_after_the_other(struct kunit *test)
{
	struct env *env = make_env(test, false);
	struct ib_sge sge[] = {
		range(env, PAGE_SIZE, STEP + 3 * PAGE_SIZE), range(env, 3 * STEP, 8),
		range(env, 0, STEP), range(env, 2 * STEP + 8, PAGE_SIZE),
	};
	unsigned int i;

	noted.ms = SLOW_MS;
	KUNIT_EXPECT_EQ(test, advise(env, 0, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, sge,
				     ARRAY_SIZE(sge)), 0);
	serve_all(env);
	KUNIT_EXPECT_EQ(test, noted.num, 5);
	expect_noted(test, 0, PAGE_SIZE, STEP);
	expect_noted(test, 1, PAGE_SIZE + STEP, 3 * PAGE_SIZE);
	expect_noted(test, 2, 3 * STEP, 8);
	expect_noted(test, 3, 0, STEP);
	expect_noted(test, 4, 2 * STEP + 8, PAGE_SIZE);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, noted.req[i], HMM_PFN_REQ_FAULT | HMM_PFN_REQ_WRITE);
	/* The last range reaches into a second page. */
	KUNIT_EXPECT_EQ(test, atomic64_read(&to_odp(env->mr)->stat.prefetches),
			2 * STEP / PAGE_SIZE + 3 + 1 + 2);
	free_env(test, env);
}

static void advice_that_fails_does_not_stop_the_next(struct kunit *test)
{
	static const unsigned int offsets[] = { 0, 1, 2, 4, 5 };
	struct env *env = make_env(test, true);
	struct ib_sge sge[2];
	unsigned int i;

	noted.bad_offset = 2 * PAGE_SIZE;
	for (i = 0; i < 6; i++) {
		sge[i % 2] = range(env, i * PAGE_SIZE, 8);
		if (i % 2)
			KUNIT_EXPECT_EQ(test, advise(env, 0, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH,
						     sge, 2), 0);
	}
	KUNIT_EXPECT_EQ(test, num_queues(env), 1);
	serve_all(env);
	/* The second range of the advice that failed was not tried. */
	KUNIT_EXPECT_EQ(test, noted.num, ARRAY_SIZE(offsets));
	for (i = 0; i < ARRAY_SIZE(offsets); i++)
		expect_noted(test, i, offsets[i] * PAGE_SIZE, 8);
	free_env(test, env);
}

static const struct errno_case {
	int ret;
	int want;
} errno_cases[] = {
	{ 0, 0 }, { 1, 0 }, { -EPERM, -EPERM }, { -ENOMEM, -ENOMEM }, { -EINTR, -EINTR },
	{ -EFAULT, -EFAULT }, { -ERESTART, -EFAULT }, { -EIO, -EFAULT }, { -EBUSY, -EFAULT },
	{ -ECANCELED, -EFAULT }, { -ERESTARTNOINTR, -ERESTARTNOINTR }, { -ERESTARTSYS, -EINTR },
};

static int advise_and_wait(struct env *env, struct ib_sge *sge)
{
	return mlx5_ib_advise_mr(&env->pd[0].ibpd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH,
				 IB_UVERBS_ADVISE_MR_FLAG_FLUSH, sge, 2, NULL);
}

/*
 * The caller gets an errno of ibv_advise_mr(3), whatever has prevented the mapping. No process sees
 * -ERESTARTNOINTR: the kernel calls the verb again.
 */
static void waiting_caller_gets_few_errnos(struct kunit *test)
{
	struct env *env = make_env(test, false);
	struct ib_sge sge[] = { range(env, 0, 8), range(env, PAGE_SIZE, 8) };
	const struct errno_case *c;

	for (c = errno_cases; c < errno_cases + ARRAY_SIZE(errno_cases); c++) {
		noted.num = 0;
		noted.ret = c->ret;
		KUNIT_EXPECT_EQ_MSG(test, advise_and_wait(env, sge), c->want, "%d", c->ret);
		KUNIT_EXPECT_EQ_MSG(test, noted.num, c->want ? 1 : 2, "%d", c->ret);
	}
	free_env(test, env);
}

/* For -ERESTARTSYS the kernel repeats the system call or returns EINTR, as SA_RESTART says. */
static void signal_that_an_exporter_notices_is_no_fault(struct kunit *test)
{
	struct env *env = make_env(test, false);
	struct ib_sge sge[] = { range(env, 0, 8), range(env, PAGE_SIZE, 8) };
	int err;

	noted.ret = -ERESTARTSYS;
	allow_signal(SIGUSR1);
	send_sig(SIGUSR1, current, 1);
	err = advise_and_wait(env, sge);
	flush_signals(current);
	disallow_signal(SIGUSR1);
	KUNIT_EXPECT_EQ(test, err, -ERESTARTSYS);
	KUNIT_EXPECT_EQ(test, noted.num, 1);
	free_env(test, env);
}

/* A caller who does not wait gets an error for a bad key, and learns of no later failure. */
static void all_keys_are_checked_before_advice_is_queued(struct kunit *test)
{
	const enum ib_uverbs_advise_mr_advice read = IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH;
	const enum ib_uverbs_advise_mr_advice write = IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	struct env *env = make_env(test, false);
	struct ib_mr *others = reg(test, env, 1, IB_ACCESS_LOCAL_WRITE);
	struct ib_mr *constant = reg(test, env, 0, 0);
	const u32 bad[] = { 0xabcd00, env->mr->lkey ^ 1, others->lkey };
	struct ib_sge sge[] = {
		range(env, 0, 8), range(env, PAGE_SIZE, 8), range(env, 2 * PAGE_SIZE, 8),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		sge[2].lkey = bad[i];
		KUNIT_EXPECT_EQ_MSG(test, advise(env, 0, read, sge, 3), -EFAULT, "key %u", i);
	}
	sge[2].lkey = constant->lkey;
	KUNIT_EXPECT_EQ(test, advise(env, 0, write, sge, 3), -EFAULT);
	drain_workqueue(advice_wq(env));
	KUNIT_EXPECT_EQ(test, noted.num, 0);
	KUNIT_EXPECT_EQ(test, advise(env, 0, read, sge, 3), 0);
	serve_all(env);
	KUNIT_EXPECT_EQ(test, noted.num, 3);
	dereg(test, constant);
	dereg(test, others);
	free_env(test, env);
}

/* ---- several contexts ------------------------------------------------------------------- */

/* The second context does not wait until all of the first one's advice has been served. */
static void contexts_take_turns(struct kunit *test)
{
	static const unsigned int offsets[] = { 0, 3, 1, 2 };
	struct env *env = make_env(test, true);
	struct ib_sge sge[] = {
		range(env, 0, 8), range(env, PAGE_SIZE, 8), range(env, 2 * PAGE_SIZE, 8),
	};
	unsigned int i;

	noted.ms = SLOW_MS;
	KUNIT_EXPECT_EQ(test, advise(env, 0, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, sge, 3), 0);
	KUNIT_EXPECT_EQ(test, advise_one(env, 1, 3 * PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, num_queues(env), 2);
	serve_all(env);
	KUNIT_EXPECT_EQ(test, noted.num, ARRAY_SIZE(offsets));
	for (i = 0; i < ARRAY_SIZE(offsets); i++)
		expect_noted(test, i, offsets[i] * PAGE_SIZE, 8);
	free_env(test, env);
}

/*
 * Another call waits until there is room. The context counts once for its user, however much advice
 * it has.
 */
static void context_has_32_pieces_of_advice_at_most(struct kunit *test)
{
	struct env *env = make_env(test, true);
	unsigned int i;

	for (i = 0; i < ROOM; i++)
		KUNIT_EXPECT_EQ(test, advise_one(env, 0, i * PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, num_queues(env), 1);
	queue_work(system_dfl_wq, &env->call);
	for (i = 0; i < 1000 && !wq_has_sleeper(&env->user->advice_room); i++)
		msleep(20);
	KUNIT_EXPECT_TRUE(test, wq_has_sleeper(&env->user->advice_room));
	KUNIT_EXPECT_FALSE(test, completion_done(&env->returned));
	/* A queue of another context has room. */
	KUNIT_EXPECT_EQ(test, advise_one(env, 1, (ROOM + 1) * PAGE_SIZE), 0);
	complete_all(&env->release);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&env->returned, 10 * HZ), 0);
	KUNIT_EXPECT_EQ(test, env->ret, 0);
	drain_workqueue(advice_wq(env));
	KUNIT_EXPECT_EQ(test, noted.num, ROOM + 2);
	free_env(test, env);
}

/* The pages of queued advice are not mapped any more, and the context counts no longer. */
static void device_that_is_being_removed_serves_no_advice(struct kunit *test)
{
	struct env *env = make_env(test, true);
	struct ib_sge sge[] = { range(env, 0, 8), range(env, PAGE_SIZE, 8) };
	unsigned int i;

	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, advise_one(env, 0, i * PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, num_queues(env), 1);
	mlx5_ib_stop_advice(env->mock->dev);
	KUNIT_EXPECT_EQ(test, advise_one(env, 0, 0), -EIO);
	KUNIT_EXPECT_EQ(test, advise_one(env, 1, 0), -EIO);
	KUNIT_EXPECT_EQ(test, advise_and_wait(env, sge), -EFAULT);
	serve_all(env);
	KUNIT_EXPECT_EQ(test, noted.num, 0);
	free_env(test, env);
}

static struct kunit_case odp_advice_cases[] = {
	KUNIT_CASE(ranges_are_mapped_one_after_the_other),
	KUNIT_CASE(advice_that_fails_does_not_stop_the_next),
	KUNIT_CASE(waiting_caller_gets_few_errnos),
	KUNIT_CASE(signal_that_an_exporter_notices_is_no_fault),
	KUNIT_CASE(all_keys_are_checked_before_advice_is_queued),
	KUNIT_CASE(contexts_take_turns),
	KUNIT_CASE(context_has_32_pieces_of_advice_at_most),
	KUNIT_CASE(device_that_is_being_removed_serves_no_advice),
	{}
};

static struct kunit_suite odp_advice_suite = {
	.name = "bluebell_odp_advice",
	.test_cases = odp_advice_cases,
};

kunit_test_suite(odp_advice_suite);
