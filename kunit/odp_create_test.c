// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of paged regions from registration to deregistration, with each of
 * their firmware commands refused and each of their work requests failing in
 * turn, on a device that goes through the tables that it has been given.
 */

#include <kunit/test.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "../cq.h"
#include "../mr.h"
#include "../odp_internal.h"
#include "../qp.h"
#include "../srq.h"
#include "../ucontext.h"
#include "../umr_qp.h"
#include "mock_hca.h"

#define MEM_PAGES	64
#define MEM_ALIGN	SZ_2M
#define MAGIC		0x6b6e696600000000ULL
/* More than any life takes. */
#define MAX_STEPS	200

/* A page that a request carries, and too many for one; no block's boundary in sight. */
static const struct part {
	unsigned int first;
	unsigned int num;
} parts[] = { { 3, 2 }, { 9, 45 } };

static const struct region_case {
	const char *name;
	bool implicit;
	u32 access;
	/* Of the region: no more than what it begins with is mapped. */
	u64 pages;
	/* What a life takes. */
	unsigned int commands;
	unsigned int requests;
} region_cases[] = {
	{ "a short table", false, 0, MEM_PAGES, 1, 4 },
	{ "a short table of a key for windows", false, IB_ACCESS_MW_BIND, MEM_PAGES, 2, 4 },
	{ "a table too long for a command", false, 0, 5000, 1, 6 },
	{ "a long table of a key for windows", false, IB_ACCESS_MW_BIND, 5000, 2, 6 },
	{ "an implicit region", true, 0, 0, 5, 10 },
	{ "an implicit region with windows", true, IB_ACCESS_MW_BIND, 0, 8, 8 },
};

KUNIT_ARRAY_PARAM_DESC(region, region_cases, name);

/**
 * struct env - a process with memory, and its device
 * @mock: the device
 * @hca: what it has that executes work requests
 * @pd: protection domain
 * @mem: address of MEM_PAGES pages
 * @keys: keys at the start
 * @mr: the region; NULL if there is none
 */
struct env {
	struct mock *mock;
	struct mock_hca *hca;
	struct mlx5_ib_pd pd;
	unsigned long mem;
	unsigned int keys;
	struct ib_mr *mr;
};

/* All in one leaf, and in what one list holds, so that advice is followed in one piece. */
static void map_memory(struct kunit *test, struct env *env)
{
	unsigned long room = vm_mmap(NULL, 0, 2 * MEM_ALIGN, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS, 0);

	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(room));
	env->mem = ALIGN(room, MEM_ALIGN);
	KUNIT_ASSERT_EQ(test, vm_munmap(room, 2 * MEM_ALIGN), 0);
	KUNIT_ASSERT_EQ(test, vm_mmap(NULL, env->mem, MEM_PAGES * PAGE_SIZE,
				      PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0), env->mem);
}

static struct env *make_env(struct kunit *test)
{
	struct env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->mock = mock_create(test);
	env->hca = mock_hca_create(env->mock);
	env->pd.ibpd.device = &env->mock->dev->ib_dev;
	map_memory(test, env);
	mock_hca_start(env->hca);
	env->keys = env->mock->num_live[MOCK_MKEY];
	return env;
}

static struct odp_mr *odp_of(struct env *env)
{
	return container_of(to_mmr(env->mr), struct odp_mr, mr);
}

/* ---- what the process does ----------------------------------------------------------- */

static void write_pages(struct kunit *test, struct env *env, const struct part *part)
{
	unsigned int i;

	for (i = part->first; i < part->first + part->num; i++)
		KUNIT_ASSERT_EQ(test, put_user(MAGIC + i,
					       (u64 __user *)(env->mem + i * PAGE_SIZE)), 0);
}

/* The process loses all of its memory, and gets other memory in its place. */
static void lose_pages(struct kunit *test, struct env *env)
{
	KUNIT_ASSERT_EQ(test, vm_munmap(env->mem, MEM_PAGES * PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_pages(env->hca), 0,
			    "pages that the process has lost");
	KUNIT_ASSERT_EQ(test, vm_mmap(NULL, env->mem, MEM_PAGES * PAGE_SIZE,
				      PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0), env->mem);
}

static int reg(struct env *env, const struct region_case *c)
{
	u32 access = IB_ACCESS_ON_DEMAND | IB_ACCESS_LOCAL_WRITE | c->access;
	struct ib_mr *mr;

	if (c->implicit)
		mr = mlx5_ib_odp_reg(&env->pd.ibpd, 0, U64_MAX, 0, access);
	else
		mr = mlx5_ib_odp_reg(&env->pd.ibpd, env->mem, c->pages * PAGE_SIZE, env->mem,
				     access);
	env->mr = IS_ERR(mr) ? NULL : mr;
	return PTR_ERR_OR_ZERO(mr);
}

static int dereg(struct env *env)
{
	int err = mlx5_ib_dereg_mr(env->mr, NULL);

	if (!err)
		env->mr = NULL;
	return err;
}

static int advise(struct env *env, enum ib_uverbs_advise_mr_advice advice,
		  const struct part *part)
{
	struct ib_sge sge = {
		.addr = env->mem + part->first * PAGE_SIZE,
		.length = part->num * PAGE_SIZE,
		.lkey = env->mr->lkey,
	};

	return mlx5_ib_advise_mr(&env->pd.ibpd, advice, IB_UVERBS_ADVISE_MR_FLAG_FLUSH, &sge, 1,
				 NULL);
}

static int advise_write(struct env *env, const struct part *part)
{
	return advise(env, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, part);
}

/* ---- what the device must find -------------------------------------------------------- */

static void expect_pages(struct kunit *test, struct env *env, const struct part *part)
{
	unsigned int i;
	u64 entry;

	for (i = part->first; i < part->first + part->num; i++) {
		entry = mock_hca_translate(env->hca, env->mr->lkey, env->mem + i * PAGE_SIZE);
		KUNIT_ASSERT_EQ_MSG(test, entry & (MLX5_EN_RD | MLX5_EN_WR),
				    MLX5_EN_RD | MLX5_EN_WR, "page %u", i);
		KUNIT_EXPECT_EQ_MSG(test, *(u64 *)phys_to_virt(entry & PAGE_MASK), MAGIC + i,
				    "page %u", i);
	}
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), part->num);
}

/* As before the region was registered, but for @stuck keys that firmware has kept. */
static void expect_nothing(struct kunit *test, struct env *env, unsigned int stuck,
			   const char *after)
{
	struct mock_hca *hca = env->hca;

	KUNIT_EXPECT_EQ_MSG(test, env->mock->num_live[MOCK_MKEY] - mock_hca_num_free(hca),
			    env->keys + stuck, "keys after %s", after);
	KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_in_use(hca), 0, "keys in use after %s", after);
	KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_pages(hca), 0, "pages after %s", after);
	KUNIT_EXPECT_TRUE_MSG(test, xa_empty(&env->mock->dev->odp->mrs), "after %s", after);
	env->keys += stuck;
	hca->stuck += stuck;
}

/* Do what the workqueue would do; the leaves that are left. */
static unsigned int reclaim(struct env *env)
{
	struct odp_mr *mr = odp_of(env);
	struct odp_key *dir_key, *leaf_key;
	struct odp_leaf *leaf;
	unsigned long i, j;
	unsigned int num = 0;
	struct odp_dir *dir;

	if (mr->leaf)
		return 0;
	xa_for_each(&mr->root->children, i, dir_key) {
		dir = container_of(dir_key, struct odp_dir, key);
		xa_for_each(&dir->children, j, leaf_key) {
			leaf = container_of(leaf_key, struct odp_leaf, key);
			if (cancel_delayed_work(&leaf->reclaim))
				leaf->reclaim.work.func(&leaf->reclaim.work);
		}
		xa_for_each(&dir->children, j, leaf_key)
			num++;
	}
	return num;
}

/* ---- a life ------------------------------------------------------------------------------ */

/* The failure is over. */
static void heal(struct env *env)
{
	env->mock->refuse = 0;
	env->hca->fail = 0;
	env->hca->stopped = false;
}

/* Whether what was to fail has done so. */
static bool has_failed(struct env *env, unsigned int n, bool command)
{
	return n && n <= (command ? env->mock->num_commands : env->hca->num_requests);
}

struct life {
	struct env *env;
	const struct region_case *c;
	unsigned int n;
	bool command;
};

static void expect_failure(struct kunit *test, const struct life *life, int err, const char *of)
{
	struct env *env = life->env;

	KUNIT_EXPECT_TRUE_MSG(test, has_failed(env, life->n, life->command),
			      "%s: %d for no reason", of, err);
}

static void bring_in(struct kunit *test, const struct life *life, const struct part *part)
{
	struct env *env = life->env;
	int err;

	write_pages(test, env, part);
	err = advise_write(env, part);
	if (err) {
		expect_failure(test, life, err, "advice");
		KUNIT_EXPECT_TRUE_MSG(test, err == -EFAULT || err == -ENOMEM, "%d", err);
		KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_pages(env->hca), 0,
				    "pages of failed advice");
		reclaim(env);
		heal(env);
		reclaim(env);
		err = advise_write(env, part);
		if (odp_of(env)->leaf && odp_of(env)->leaf->dead)
			KUNIT_EXPECT_EQ(test, err, -EFAULT);
		else
			KUNIT_EXPECT_EQ(test, err, 0);
	}
	if (!err)
		expect_pages(test, env, part);
}

static void take_away(struct kunit *test, const struct life *life)
{
	struct env *env = life->env;
	struct odp_mr *mr = odp_of(env);

	lose_pages(test, env);
	if (mr->leaf)
		KUNIT_EXPECT_EQ(test, mr->leaf->umem->npages, 0);
	if (reclaim(env)) {
		KUNIT_EXPECT_TRUE(test, has_failed(env, life->n, life->command));
		heal(env);
		KUNIT_EXPECT_EQ_MSG(test, reclaim(env), 0, "leaves without a page");
	}
}

static void end(struct kunit *test, const struct life *life)
{
	struct env *env = life->env;
	unsigned int stuck = 0;
	bool before, after;
	struct odp_mr *mr;
	int err;

	before = has_failed(env, life->n, life->command);
	err = dereg(env);
	after = has_failed(env, life->n, life->command);
	if (err) {
		expect_failure(test, life, err, "deregistration");
		KUNIT_EXPECT_EQ(test, err, env->mock->refuse_err);
		mr = mlx5_ib_odp_mr_get(env->mock->dev->odp, env->mr->lkey);
		KUNIT_EXPECT_PTR_EQ(test, mr, odp_of(env));
		if (mr)
			mlx5_ib_odp_mr_put(mr);
		heal(env);
		KUNIT_EXPECT_EQ(test, dereg(env), 0);
	} else if (life->command && after && !before) {
		/* What is below the root of an implicit region goes with it, or stays for good. */
		KUNIT_EXPECT_TRUE(test, life->c->implicit);
		stuck = 1;
	}
	expect_nothing(test, env, stuck, "deregistration");
	/* Nobody hears of it any more. */
	lose_pages(test, env);
}

static void live(struct kunit *test, const struct life *life)
{
	struct env *env = life->env;
	int err;

	env->mock->num_commands = 0;
	env->hca->num_requests = 0;
	env->mock->refuse = life->command ? life->n : 0;
	env->hca->fail = life->command ? 0 : life->n;
	err = reg(env, life->c);
	if (err) {
		expect_failure(test, life, err, "registration");
		KUNIT_EXPECT_EQ(test, err, life->command ? env->mock->refuse_err : -ENOMEM);
		expect_nothing(test, env, 0, "a refused registration");
	} else {
		bring_in(test, life, &parts[0]);
		take_away(test, life);
		bring_in(test, life, &parts[1]);
		end(test, life);
	}
	heal(env);
}

/* With a key that is made for it, or one that waits. The failures that there were. */
static unsigned int live_with_failures(struct kunit *test, struct env *env, bool command,
				       bool warm)
{
	struct life life = { .env = env, .c = test->param_value, .command = command };
	unsigned int n;

	for (n = 1; n < MAX_STEPS; n++) {
		mock_hca_empty_cache(env->hca);
		life.n = 0;
		if (warm)
			live(test, &life);
		life.n = n;
		live(test, &life);
		if (!has_failed(env, n, command))
			break;
	}
	return n - 1;
}

static void refusal_of_the_nth_command_leaks(struct kunit *test)
{
	const struct region_case *c = test->param_value;
	struct env *env = make_env(test);

	KUNIT_EXPECT_EQ(test, live_with_failures(test, env, true, false), c->commands);
	live_with_failures(test, env, true, true);
}

static void failure_of_the_nth_request_leaves_a_lost_page_in_reach(struct kunit *test)
{
	const struct region_case *c = test->param_value;
	struct env *env = make_env(test);

	for (env->hca->how = 0; env->hca->how < MOCK_NUM_FAILURES; env->hca->how++) {
		KUNIT_EXPECT_EQ(test, live_with_failures(test, env, false, false), c->requests);
		KUNIT_EXPECT_GE(test, live_with_failures(test, env, false, true), c->requests);
	}
}

/* ---- beyond failures ------------------------------------------------------------------ */

static void region_is_made_that_no_fault_is_heard_of(struct kunit *test)
{
	const struct region_case *c = test->param_value;
	struct env *env = make_env(test);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	struct mlx5_eq *eq = odp->eq;

	odp->eq = NULL;
	env->mock->num_commands = 0;
	env->mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, reg(env, c), env->mock->refuse_err);
	KUNIT_EXPECT_EQ(test, env->mock->opcode, MLX5_CMD_OP_CREATE_EQ);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 1);
	KUNIT_EXPECT_NULL(test, odp->eq);
	expect_nothing(test, env, 0, "a refused event queue");
	env->mock->refuse = 0;
	odp->eq = eq;
}

static void advice_on_memory_that_is_not_there_maps_its_neighbours(struct kunit *test)
{
	const struct region_case *c = test->param_value;
	struct env *env = make_env(test);
	const struct part part = { 9, 45 };

	KUNIT_ASSERT_EQ(test, reg(env, c), 0);
	KUNIT_ASSERT_EQ(test, vm_munmap(env->mem + 50 * PAGE_SIZE, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, advise_write(env, &part), -EFAULT);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	/* An implicit region does not keep the key for it either. */
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	/* What the process has not touched is no error, but nor is it mapped. */
	KUNIT_EXPECT_EQ(test, advise(env, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, &parts[0]),
			0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_nothing(test, env, 0, "deregistration");
}

static void part_that_is_lost_takes_the_rest_with_it(struct kunit *test)
{
	const struct region_case *c = test->param_value;
	const struct part lost = { 20, 7 };
	struct env *env = make_env(test);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, reg(env, c), 0);
	write_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, advise_write(env, &parts[1]), 0);
	expect_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, vm_munmap(env->mem + lost.first * PAGE_SIZE, lost.num * PAGE_SIZE),
			0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), parts[1].num - lost.num);
	for (i = parts[1].first; i < parts[1].first + parts[1].num; i++)
		KUNIT_EXPECT_EQ_MSG(test, !mock_hca_translate(env->hca, env->mr->lkey,
							      env->mem + i * PAGE_SIZE),
				    i >= lost.first && i < lost.first + lost.num, "page %u", i);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_nothing(test, env, 0, "deregistration");
}

static void refused_start_leaks(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_dev *dev = mock->dev;
	unsigned int n;
	int err;

	mock_hca_create(mock);
	for (n = 1; n < MAX_STEPS; n++) {
		mock->num_commands = 0;
		mock->refuse = n;
		err = mlx5_ib_init_umr(dev);
		if (!err)
			break;
		KUNIT_EXPECT_EQ_MSG(test, err, mock->refuse_err, "refusal %u", n);
		KUNIT_EXPECT_EQ_MSG(test, mock_num_live(mock), 0, "refusal %u", n);
		KUNIT_EXPECT_NULL(test, dev->umr);
	}
	/* PD, key, UAR, CQ, QP and its three states. */
	KUNIT_EXPECT_EQ(test, n, 9);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 5);

	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_odp(dev), mock->refuse_err);
	KUNIT_EXPECT_NULL(test, dev->odp);
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_odp(dev), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 5);
}

static struct kunit_case odp_create_cases[] = {
	KUNIT_CASE_PARAM(refusal_of_the_nth_command_leaks, region_gen_params),
	KUNIT_CASE_PARAM(failure_of_the_nth_request_leaves_a_lost_page_in_reach,
			 region_gen_params),
	KUNIT_CASE_PARAM(region_is_made_that_no_fault_is_heard_of, region_gen_params),
	KUNIT_CASE_PARAM(advice_on_memory_that_is_not_there_maps_its_neighbours,
			 region_gen_params),
	KUNIT_CASE_PARAM(part_that_is_lost_takes_the_rest_with_it, region_gen_params),
	KUNIT_CASE(refused_start_leaks),
	{}
};

static struct kunit_suite odp_create_suite = {
	.name = "bluebell-odp-create",
	.test_cases = odp_create_cases,
};

kunit_test_suite(odp_create_suite);
