// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of paged regions from registration to deregistration, with each firmware command
 * refused and each UMR failing in turn. The mock device walks the translation tables that it has
 * been given.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/netlink.h>
#include <rdma/uverbs_ioctl.h>

#include "layout/layout_odp.h"
#include "lib/fail_alloc.h"
#include "lib/locks.h"
#include "lib/mock_hca.h"
#include "lib/orphan.h"
#include "lib/share.h"
#include "lib/umr.h"
#include "odp/odp_internal.h"
#include "ops.h"
#include "verbs/cq.h"
#include "verbs/mr.h"
#include "verbs/qp.h"
#include "verbs/srq.h"
#include "verbs/ucontext.h"

#define MEM_PAGES	64
/* A leaf and a chunk begin at multiples of this length. */
#define MEM_ALIGN	(MEM_PAGES * PAGE_SIZE)
/* The lowest address that a process can have memory at, as a rule: vm.mmap_min_addr. */
#define LOW_MEM		SZ_64K
#define MAGIC		0x6b6e696600000000ULL
/* More commands or UMRs than any run takes. */
#define MAX_STEPS	200

/*
 * A part of few pages, which one UMR carries inline, and a part of more pages. Neither part begins
 * or ends where a block of translation entries does.
 */
static const struct part {
	unsigned int first;
	unsigned int num;
} parts[] = { { 3, 2 }, { 9, 45 } };

static const struct region_case {
	const char *name;
	bool implicit;
	u32 access;
	/* Length in pages. The process has memory only at the start of the region. */
	u64 pages;
	/* Numbers of commands and UMRs of a run without failures. */
	unsigned int commands;
	unsigned int requests;
	bool by_memory;
} region_cases[] = {
	{ "a short table", false, 0, MEM_PAGES, 1, 4 },
	{ "a table too long for a command", false, 0, 5000, 1, 6 },
	{ "an implicit region", true, 0, 0, 5, 10 },
	{ "an implicit region by the memory scheme", true, 0, 0, 7, 10, true },
};

KUNIT_ARRAY_PARAM_DESC(region, region_cases, name);

/**
 * struct env - a process with memory, and a device
 * @mock: the device
 * @hca: the part of the device that executes UMRs
 * @pd: protection domain
 * @mem: address of MEM_PAGES pages of the process
 * @keys: number of keys while no region is registered
 * @mr: the registered region or NULL
 */
struct env {
	struct mock *mock;
	struct mock_hca *hca;
	struct mlx5_ib_pd pd;
	unsigned long mem;
	unsigned int keys;
	struct ib_mr *mr;
};

/*
 * Map memory that lies in one struct odp_leaf and in one struct odp_chunk, so that ibv_advise_mr(3)
 * maps all of its pages or none.
 */
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

/* ---- steps of the process --------------------------------------------------------------- */

static void write_pages(struct kunit *test, struct env *env, const struct part *part)
{
	unsigned int i;

	for (i = part->first; i < part->first + part->num; i++)
		KUNIT_ASSERT_EQ(test, put_user(MAGIC + i,
					       (u64 __user *)(env->mem + i * PAGE_SIZE)), 0);
}

/* Unmap all memory of the process, and map other memory in its place. */
static void replace_memory(struct kunit *test, struct env *env)
{
	KUNIT_ASSERT_EQ(test, vm_munmap(env->mem, MEM_PAGES * PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_pages(env->hca), 0,
			    "device reaches unmapped pages");
	KUNIT_ASSERT_EQ(test, vm_mmap(NULL, env->mem, MEM_PAGES * PAGE_SIZE,
				      PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0), env->mem);
}

static int reg(struct env *env, const struct region_case *c)
{
	u32 access = IB_ACCESS_ON_DEMAND | IB_ACCESS_LOCAL_WRITE | c->access;
	struct ib_mr *mr;

	env->mock->dev->odp->by_memory = c->by_memory;
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

static int advise(struct env *env, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		  const struct part *part)
{
	struct ib_sge sge = {
		.addr = env->mem + part->first * PAGE_SIZE,
		.length = part->num * PAGE_SIZE,
		.lkey = env->mr->lkey,
	};

	return mlx5_ib_advise_mr(&env->pd.ibpd, advice, flags, &sge, 1, NULL);
}

static int advise_write(struct env *env, const struct part *part)
{
	return advise(env, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
		      IB_UVERBS_ADVISE_MR_FLAG_FLUSH, part);
}

/* ---- state of the device ---------------------------------------------------------------- */

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

/* Expect the state before the region was registered, but for @stuck keys that firmware has kept. */
static void expect_no_region(struct kunit *test, struct env *env, unsigned int stuck,
			     const char *after)
{
	struct mock_hca *hca = env->hca;

	KUNIT_EXPECT_EQ_MSG(test, env->mock->num_live[MOCK_MKEY] - mock_hca_num_free(hca),
			    env->keys + stuck, "keys after %s", after);
	KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_in_use(hca), 0, "keys in use after %s", after);
	KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_pages(hca), 0, "pages after %s", after);
	KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_slots(hca, true), 0, "published after %s", after);
	KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_slots(hca, false),
			    mock_hca_num_free(hca) + hca->stuck + stuck, "slots after %s", after);
	env->keys += stuck;
	hca->stuck += stuck;
}

/* Run the queued reclaims as the workqueue would. Returns the number of leaves that are left. */
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

/* ---- a run: register, map, unmap, map, deregister --------------------------------------- */

/* From now on let no command and no UMR fail. */
static void clear_failure(struct env *env)
{
	env->mock->refuse = 0;
	env->hca->fail = 0;
	env->hca->stopped = false;
}

/* Whether the @n-th command or UMR, which was to fail, has been sent. */
static bool has_failed(struct env *env, unsigned int n, bool command)
{
	return n && n <= (command ? env->mock->num_commands : env->hca->num_requests);
}

/**
 * struct run - what happens to a region in one run
 * @env: process and device
 * @c: kind of the region
 * @n: number of the command or UMR that fails, from 1; 0 for none
 * @command: a command fails, not a UMR
 */
struct run {
	struct env *env;
	const struct region_case *c;
	unsigned int n;
	bool command;
};

static void expect_failure(struct kunit *test, const struct run *run, int err, const char *of)
{
	struct env *env = run->env;

	KUNIT_EXPECT_TRUE_MSG(test, has_failed(env, run->n, run->command),
			      "%s: %d without a failure", of, err);
}

static void page_in_part(struct kunit *test, const struct run *run, const struct part *part)
{
	struct env *env = run->env;
	int err;

	write_pages(test, env, part);
	err = advise_write(env, part);
	if (err) {
		expect_failure(test, run, err, "advice");
		KUNIT_EXPECT_TRUE_MSG(test, err == -EFAULT || err == -ENOMEM, "%d", err);
		KUNIT_EXPECT_EQ_MSG(test, mock_hca_num_pages(env->hca), 0,
				    "pages mapped by failed advice");
		if (odp_of(env)->leaf)
			KUNIT_EXPECT_EQ_MSG(test, odp_of(env)->leaf->npages, 0,
					    "pages mapped for DMA by failed advice");
		reclaim(env);
		clear_failure(env);
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

static void unmap_memory(struct kunit *test, const struct run *run)
{
	struct env *env = run->env;
	struct odp_mr *mr = odp_of(env);

	replace_memory(test, env);
	if (mr->leaf)
		KUNIT_EXPECT_EQ(test, mr->leaf->npages, 0);
	if (reclaim(env)) {
		KUNIT_EXPECT_TRUE(test, has_failed(env, run->n, run->command));
		clear_failure(env);
		KUNIT_EXPECT_EQ_MSG(test, reclaim(env), 0, "leaves without a mapped page");
	}
}

/*
 * How many keys below the root of an implicit region firmware has kept for good because it refused
 * a command. The key of the addresses without a leaf does not count: it becomes an orphan, which
 * the driver tries to destroy again at once.
 */
static unsigned int count_stuck(struct kunit *test, const struct run *run)
{
	unsigned int stuck = run->env->mock->num_live[MOCK_MKEY] -
			     mock_hca_num_free(run->env->hca) - run->env->keys;

	KUNIT_EXPECT_TRUE(test, run->c->implicit);
	KUNIT_EXPECT_GE(test, stuck, run->c->by_memory ? 0 : 1);
	KUNIT_EXPECT_LE(test, stuck, 1);
	return stuck;
}

static void deregister(struct kunit *test, const struct run *run)
{
	struct env *env = run->env;
	unsigned int stuck = 0;
	u32 absent = odp_of(env)->absent.own.key;
	bool before, after;
	struct odp_mr *mr;
	int err;

	before = has_failed(env, run->n, run->command);
	err = dereg(env);
	after = has_failed(env, run->n, run->command);
	if (err) {
		expect_failure(test, run, err, "deregistration");
		KUNIT_EXPECT_EQ(test, err, env->mock->refuse_err);
		mr = mlx5_ib_odp_mr_get(env->mock->dev->odp, env->mr->lkey);
		/* Without its root, an implicit region has no key that a lookup could find. */
		if (odp_of(env)->mr.mkey.destroyed) {
			KUNIT_EXPECT_TRUE(test, run->c->implicit);
			KUNIT_EXPECT_NULL(test, mr);
		} else {
			KUNIT_EXPECT_PTR_EQ(test, mr, odp_of(env));
		}
		if (mr)
			mlx5_ib_mkey_put(&mr->mr.mkey);
		clear_failure(env);
		KUNIT_EXPECT_EQ(test, dereg(env), 0);
	} else if (run->command && after && !before) {
		stuck = count_stuck(test, run);
	}
	KUNIT_EXPECT_NULL(test, xa_load(&env->mock->live[MOCK_MKEY], mlx5_mkey_to_idx(absent)));
	expect_no_region(test, env, stuck, "deregistration");
	/* The MMU notifiers of the region have been removed. */
	replace_memory(test, env);
}

static void run_region(struct kunit *test, const struct run *run)
{
	struct env *env = run->env;
	int err;

	env->mock->num_commands = 0;
	env->hca->num_requests = 0;
	env->mock->refuse = run->command ? run->n : 0;
	env->hca->fail = run->command ? 0 : run->n;
	err = reg(env, run->c);
	if (err) {
		expect_failure(test, run, err, "registration");
		KUNIT_EXPECT_EQ(test, err, run->command ? env->mock->refuse_err : -ENOMEM);
		expect_no_region(test, env, 0, "a refused registration");
	} else {
		page_in_part(test, run, &parts[0]);
		unmap_memory(test, run);
		page_in_part(test, run, &parts[1]);
		deregister(test, run);
	}
	clear_failure(env);
}

/*
 * Let each command or UMR of a run fail in turn, with an empty pool of keys or, if @warm, with the
 * keys of a run before. Returns how many commands or UMRs a run takes.
 */
static unsigned int run_with_failures(struct kunit *test, struct env *env, bool command,
				      bool warm)
{
	struct run run = { .env = env, .c = test->param_value, .command = command };
	unsigned int n;

	for (n = 1; n < MAX_STEPS; n++) {
		mock_hca_empty_pool(env->hca);
		run.n = 0;
		if (warm)
			run_region(test, &run);
		run.n = n;
		run_region(test, &run);
		if (!has_failed(env, n, command))
			break;
	}
	return n - 1;
}

static void refusal_of_any_command_leaves_nothing(struct kunit *test)
{
	const struct region_case *c = test->param_value;
	struct env *env = make_env(test);

	KUNIT_EXPECT_EQ(test, run_with_failures(test, env, true, false), c->commands);
	run_with_failures(test, env, true, true);
}

static void failure_of_any_umr_leaves_no_page_in_reach(struct kunit *test)
{
	const struct region_case *c = test->param_value;
	struct env *env = make_env(test);

	for (env->hca->how = 0; env->hca->how < MOCK_NUM_FAILURES; env->hca->how++) {
		KUNIT_EXPECT_EQ(test, run_with_failures(test, env, false, false), c->requests);
		KUNIT_EXPECT_GE(test, run_with_failures(test, env, false, true), c->requests);
	}
}

/* ---- other cases ------------------------------------------------------------------------ */

/* Let regions count for a user, whose handles have @uobj. Returns the user's counts. */
static atomic_t *count_for_user(struct env *env, struct ib_uobject *uobj)
{
	*uobj = (struct ib_uobject){ .context = &env->mock->context->ibucontext };
	env->pd.ibpd.uobject = uobj;
	return mock_give_user(env->mock);
}

static void count_for_nobody(struct env *env)
{
	env->pd.ibpd.uobject = NULL;
	mock_drop_user(env->mock);
}

/* If CREATE_MKEY is not answered, the key may exist, whose translations cost memory of the host. */
static void region_that_may_exist_counts(struct kunit *test)
{
	static const struct region_case implicit = { .implicit = true };
	struct env *env = make_env(test);
	struct mock *mock = env->mock;
	struct ib_uobject uobj;
	atomic_t *count;
	int num;

	count = &count_for_user(env, &uobj)[MLX5_IB_SHARE_PAGED];
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, reg(env, &region_cases[0]), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 0);
	mock->num_commands = 0;
	mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, reg(env, &region_cases[0]), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, atomic_read(count), DIV_ROUND_UP(MEM_PAGES * PAGE_SIZE, SZ_1M));
	expect_no_region(test, env, 0, "a registration without an answer");
	/* So does the root of an implicit region, as a table of keys. */
	num = atomic_read(count);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, reg(env, &implicit), -ETIMEDOUT);
	KUNIT_EXPECT_GT(test, atomic_read(count), num);
	expect_no_region(test, env, 0, "a registration without an answer");
	count_for_nobody(env);
}

/*
 * UMR fails to fill a key of the pool for a region, none of whose pages is mapped yet, and firmware
 * does not answer DESTROY_MKEY. The device reaches no memory through the key, so the registration
 * fails with ETIMEDOUT, and not with ENOTRECOVERABLE, which asks for a reset of the device.
 */
static void lost_key_without_pages_is_not_said_to_reach_memory(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mock *mock = env->mock;
	struct ib_uobject uobj;
	atomic_t *count;

	count = count_for_user(env, &uobj);
	KUNIT_ASSERT_EQ(test, reg(env, &region_cases[0]), 0);
	KUNIT_ASSERT_EQ(test, dereg(env), 0);
	KUNIT_ASSERT_EQ(test, mock_hca_num_free(env->hca), 1);
	mock->num_commands = 0;
	mock->lose_destroy = true;
	env->hca->fail = env->hca->num_requests + 1;
	env->hca->how = MOCK_NOT_EXECUTED;
	KUNIT_EXPECT_EQ(test, reg(env, &region_cases[0]), -ETIMEDOUT);
	mock->lose_destroy = false;
	/* The command and its repetition. No key is created, and no UMR names the lost key. */
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, env->hca->num_requests, env->hca->fail);
	/* The key that may exist goes on counting, as a key and as paged memory. */
	KUNIT_EXPECT_EQ(test, atomic_read(&count[MLX5_IB_SHARE_MKEY]), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&count[MLX5_IB_SHARE_PAGED]),
			DIV_ROUND_UP(MEM_PAGES * PAGE_SIZE, SZ_1M));
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&mock->dev->attempts.tree));
	KUNIT_EXPECT_EQ(test, mock_hca_num_in_use(env->hca), 0);
	KUNIT_EXPECT_EQ(test, reg(env, &region_cases[0]), 0);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	count_for_nobody(env);
}

/* Firmware refuses to destroy the key, and no UMR can revoke it: the region gets another key. */
static void refused_key_without_pages_is_replaced(struct kunit *test)
{
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, reg(env, &region_cases[0]), 0);
	KUNIT_ASSERT_EQ(test, dereg(env), 0);
	KUNIT_ASSERT_EQ(test, mock_hca_num_free(env->hca), 1);
	env->mock->refuse_destroy = true;
	env->hca->fail = env->hca->num_requests + 1;
	env->hca->how = MOCK_STOPPED;
	KUNIT_EXPECT_EQ(test, reg(env, &region_cases[0]), 0);
	env->mock->refuse_destroy = false;
	clear_failure(env);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 1, "deregistration");
}

static void region_without_a_fault_queue_is_refused(struct kunit *test)
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
	expect_no_region(test, env, 0, "a refused event queue");
	env->mock->refuse = 0;
	odp->eq = eq;
}

static void failed_advice_maps_no_page(struct kunit *test)
{
	const struct region_case *c = test->param_value;
	struct env *env = make_env(test);
	const struct part part = { 9, 45 };

	KUNIT_ASSERT_EQ(test, reg(env, c), 0);
	KUNIT_ASSERT_EQ(test, vm_munmap(env->mem + 50 * PAGE_SIZE, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, advise_write(env, &part), -EFAULT);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	/* An implicit region does not keep the leaf of the advice that failed. */
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	/* Pages that the process has not touched are skipped without an error. */
	KUNIT_EXPECT_EQ(test, advise(env, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
				     IB_UVERBS_ADVISE_MR_FLAG_FLUSH, &parts[0]), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* The keys of tables and leaves count for the user, as the keys of regions do. */
static void keys_of_an_implicit_region_count_for_its_user(struct kunit *test)
{
	static const struct region_case c = { .implicit = true, .by_memory = true };
	struct env *env = make_env(test);
	struct ib_uobject uobj;
	u32 *limit = &env->mock->dev->users->limit[MLX5_IB_SHARE_MKEY];
	atomic_t *count;

	count = &count_for_user(env, &uobj)[MLX5_IB_SHARE_MKEY];
	/* An implicit region takes two keys: its root, and the key for addresses without a leaf. */
	*limit = 1;
	KUNIT_EXPECT_EQ(test, reg(env, &c), -ENOMEM);
	expect_no_region(test, env, 0, "a refused registration");
	*limit = 2;
	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[0]);
	/* The advice takes two more keys: a directory and a leaf. */
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[0]), -ENOMEM);
	*limit = 3;
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[0]), -ENOMEM);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 3);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	*limit = 4;
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[0]), 0);
	expect_pages(test, env, &parts[0]);
	replace_memory(test, env);
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 3);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 0);
	expect_no_region(test, env, 0, "deregistration");
	count_for_nobody(env);
}

/* The memory that a table or a leaf costs counts as long as the table or the leaf exists. */
static void parts_of_an_implicit_region_count_as_paged_memory(struct kunit *test)
{
	static const struct region_case c = { .implicit = true };
	const unsigned int leaf = BIT(MLX5_IB_ODP_LEAF_SHIFT) / SZ_1M;
	struct env *env = make_env(test);
	struct ib_uobject uobj;
	u32 *limit = &env->mock->dev->users->limit[MLX5_IB_SHARE_PAGED];
	unsigned int root, dir;
	atomic_t *count;

	count = &count_for_user(env, &uobj)[MLX5_IB_SHARE_PAGED];
	dir = MLX5_IB_SHARE_OF_TABLE(BIT(env->mock->dev->odp->dir_shift - MLX5_IB_ODP_LEAF_SHIFT));
	root = MLX5_IB_SHARE_OF_TABLE((((u64)TASK_SIZE - 1) >> env->mock->dev->odp->dir_shift) + 1);
	*limit = root - 1;
	KUNIT_EXPECT_EQ(test, reg(env, &c), -ENOMEM);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 0);
	expect_no_region(test, env, 0, "a refused registration");
	*limit = root + dir - 1;
	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(count), root);
	write_pages(test, env, &parts[0]);
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[0]), -ENOMEM);
	KUNIT_EXPECT_EQ(test, atomic_read(count), root);
	*limit = root + dir + leaf - 1;
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[0]), -ENOMEM);
	KUNIT_EXPECT_EQ(test, atomic_read(count), root + dir);
	*limit = root + dir + leaf;
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[0]), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(count), root + dir + leaf);
	replace_memory(test, env);
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(count), root + dir);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 0);
	expect_no_region(test, env, 0, "deregistration");
	count_for_nobody(env);
}

/* Memory of which the process touches little: it may be longer than the memory of the host. */
static unsigned long map_much(struct kunit *test, size_t pages)
{
	unsigned long mem = kunit_vm_mmap(test, NULL, 0, pages * PAGE_SIZE, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, 0);

	KUNIT_ASSERT_NE(test, mem, 0);
	return mem;
}

/*
 * The first range is longer than the part of it that is mapped at a time, the other ranges are
 * short. Between the ranges are pages that the process has, but that no range has.
 */
static void advice_of_several_ranges_maps_these_pages_only(struct kunit *test)
{
	static const struct part ranges[] = {
		{ 1, MLX5_IB_ODP_CHUNK_PAGES + 3 }, { MLX5_IB_ODP_CHUNK_PAGES + 10, 1 },
		{ MLX5_IB_ODP_CHUNK_PAGES + 17, 5 },
	};
	const unsigned int num_pages = MLX5_IB_ODP_CHUNK_PAGES + MEM_PAGES;
	struct region_case c = *(const struct region_case *)test->param_value;
	struct env *env = make_env(test);
	struct ib_sge sge[ARRAY_SIZE(ranges)];
	unsigned int i, page, want = 0;
	bool is_in;

	c.pages = num_pages;
	env->mem = map_much(test, num_pages);
	KUNIT_ASSERT_NE(test, env->mem, 0);
	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		sge[i].addr = env->mem + ranges[i].first * PAGE_SIZE;
		sge[i].length = ranges[i].num * PAGE_SIZE;
		sge[i].lkey = env->mr->lkey;
		want += ranges[i].num;
	}
	/* For reading: all pages are one page of zeros. A chunk of written pages can be 512 MiB. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_advise_mr(&env->pd.ibpd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH,
						IB_UVERBS_ADVISE_MR_FLAG_FLUSH, sge,
						ARRAY_SIZE(sge), NULL), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), want);
	for (page = 0; page < num_pages; page++) {
		for (is_in = false, i = 0; i < ARRAY_SIZE(ranges); i++)
			is_in |= page - ranges[i].first < ranges[i].num;
		KUNIT_EXPECT_EQ_MSG(test, mock_hca_translate(env->hca, env->mr->lkey, env->mem +
							     page * PAGE_SIZE) != 0, is_in,
				    "page %u", page);
	}
	KUNIT_EXPECT_EQ(test, atomic64_read(&odp_of(env)->stat.prefetches), want);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* The key in the device's entry of the leaf that covers an address of an implicit region. */
static u32 entry_key(struct env *env, u64 va)
{
	struct odp_mr *mr = odp_of(env);
	struct odp_key *key = xa_load(&mr->root->children, va >> mr->root->shift);
	struct odp_dir *dir = container_of(key, struct odp_dir, key);

	return mock_hca_entry_key(env->hca, key->mkey->key, (va - key->base) >> dir->shift);
}

/* Reclaim a leaf whose key UMR fails to revoke, and whose destruction firmware does not answer. */
static void lose_leaf(struct kunit *test, struct env *env)
{
	/* The first UMR clears the entry that leads to the leaf. */
	env->hca->fail = env->hca->num_requests + 2;
	env->hca->how = MOCK_STOPPED;
	env->mock->lose_destroy = true;
	KUNIT_EXPECT_EQ(test, reclaim(env), 1);
	env->mock->lose_destroy = false;
	clear_failure(env);
}

/*
 * A leaf has no pages any more. UMR fails to revoke its key, and firmware does not answer that it
 * has destroyed the key. A UMR on this key would stop the UMR queue pair of all users.
 */
static void leaf_whose_key_may_be_gone_is_replaced(struct kunit *test)
{
	static const struct region_case c = { .implicit = true };
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, advise_write(env, &parts[1]), 0);
	replace_memory(test, env);
	lose_leaf(test, env);
	write_pages(test, env, &parts[1]);
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[1]), -EFAULT);
	KUNIT_EXPECT_EQ(test, entry_key(env, env->mem), env->mock->dev->null_mkey);
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[1]), 0);
	expect_pages(test, env, &parts[1]);
	KUNIT_EXPECT_NE(test, entry_key(env, env->mem), env->mock->dev->null_mkey);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/*
 * Firmware does not answer that it has destroyed the root of a region. A late fault on the key of
 * the addresses without a leaf still finds the region.
 */
static void tree_whose_root_may_be_gone_does_not_grow(struct kunit *test)
{
	static const struct region_case c = { .implicit = true, .by_memory = true };
	struct env *env = make_env(test);
	unsigned int commands, requests;

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	env->mock->lose_destroy = true;
	KUNIT_EXPECT_EQ(test, dereg(env), -ETIMEDOUT);
	env->mock->lose_destroy = false;
	commands = env->mock->num_commands;
	requests = env->hca->num_requests;
	KUNIT_EXPECT_EQ(test, mlx5_ib_odp_mr_page_in(odp_of(env), env->mem, PAGE_SIZE,
						     HMM_PFN_REQ_FAULT), -EIO);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, commands);
	KUNIT_EXPECT_EQ(test, env->hca->num_requests, requests);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* Firmware has destroyed the root, and refuses to destroy the directory. */
static void tree_without_a_root_does_not_grow(struct kunit *test)
{
	static const struct region_case c = { .implicit = true, .by_memory = true };
	struct env *env = make_env(test);
	unsigned int requests;

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, advise_write(env, &parts[1]), 0);
	env->mock->num_commands = 0;
	env->mock->refuse = 2;
	KUNIT_EXPECT_EQ(test, dereg(env), env->mock->refuse_err);
	env->mock->refuse = 0;
	requests = env->hca->num_requests;
	KUNIT_EXPECT_EQ(test, mlx5_ib_odp_mr_page_in(odp_of(env), env->mem, PAGE_SIZE,
						     HMM_PFN_REQ_FAULT), -EIO);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, env->hca->num_requests, requests);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

static bool umr_is_stuck(struct mlx5_ib_dev *dev)
{
	return true;
}

/* What mlx5_ib_orphan_keep() was last called with. */
static struct {
	void *buffer;
	mlx5_ib_free_buffer_t free;
} kept;

static void keep_list(struct mlx5_ib_dev *dev, void *buffer, dma_addr_t dma, size_t bytes,
		      mlx5_ib_free_buffer_t free)
{
	dma_unmap_single(dev->dma_device, dma, bytes, DMA_TO_DEVICE);
	kept.buffer = buffer;
	kept.free = free;
}

/*
 * If firmware neither resets nor destroys the UMR queue pair, the device may still read the list of
 * translation entries of a failed page-in, so the list must not be freed.
 */
static void list_that_the_device_may_read_is_kept(struct kunit *test)
{
	static const struct region_case c = { .pages = MEM_PAGES };
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	kept.buffer = NULL;
	kunit_activate_static_stub(test, mlx5_ib_orphan_keep, keep_list);
	kunit_activate_static_stub(test, mlx5_ib_umr_is_stuck, umr_is_stuck);
	env->hca->how = MOCK_NOT_EXECUTED;
	env->hca->fail = env->hca->num_requests + 1;
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[1]), -EFAULT);
	KUNIT_ASSERT_NOT_NULL(test, kept.buffer);
	/* The list is not in a slab cache, whose pages have no references of their own. */
	KUNIT_EXPECT_FALSE(test, PageSlab(virt_to_page(kept.buffer)));
	KUNIT_EXPECT_EQ(test, page_count(virt_to_page(kept.buffer)), 1);
	kept.free(kept.buffer);
	kunit_deactivate_static_stub(test, mlx5_ib_umr_is_stuck);
	clear_failure(env);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* ib_advise_mr() passes no attributes, in which the context would be. */
static void kernel_consumer_may_advise(struct kunit *test)
{
	static const struct region_case c = { .pages = MEM_PAGES };
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	KUNIT_EXPECT_EQ(test, advise(env, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &parts[1]),
			0);
	expect_pages(test, env, &parts[1]);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

static void unknown_advice_is_refused(struct kunit *test)
{
	const enum ib_uverbs_advise_mr_advice read = IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH;
	static const struct region_case c = { .pages = MEM_PAGES };
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	KUNIT_EXPECT_EQ(test, advise(env, read, IB_UVERBS_ADVISE_MR_FLAG_FLUSH << 1, &parts[1]),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, advise(env, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT + 1, 0,
				     &parts[1]), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* A process can prevent for ever that a fault is resolved. */
static void advice_waits_once_for_a_stuck_fault(struct kunit *test)
{
	static const struct region_case c = { .pages = MEM_PAGES };
	struct env *env = make_env(test);
	struct mlx5_ib_odp *odp = env->hca->mock->dev->odp;
	struct ib_sge sge[50];
	unsigned long start;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	for (i = 0; i < ARRAY_SIZE(sge); i++)
		sge[i] = (struct ib_sge){
			.addr = env->mem + parts[1].first * PAGE_SIZE, .length = PAGE_SIZE,
			.lkey = env->mr->lkey,
		};
	atomic_inc(&odp->num_faults);
	start = jiffies;
	KUNIT_EXPECT_EQ(test, mlx5_ib_advise_mr(&env->pd.ibpd,
						IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
						IB_UVERBS_ADVISE_MR_FLAG_FLUSH, sge,
						ARRAY_SIZE(sge), NULL), 0);
	/* The advice waits for 20 ms, once and not for each range. */
	KUNIT_EXPECT_GE(test, jiffies - start, msecs_to_jiffies(20));
	KUNIT_EXPECT_LT(test, jiffies_to_msecs(jiffies - start), 500);
	atomic_dec(&odp->num_faults);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

static void advice_ends_when_the_caller_is_killed(struct kunit *test)
{
	static const struct region_case c = { .pages = MEM_PAGES };
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[1]), -EINTR);
	flush_signals(current);
	disallow_signal(SIGKILL);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* The entries of so long a table take several UMRs. */
static void registration_ends_when_the_caller_is_killed(struct kunit *test)
{
	struct env *env = make_env(test);
	struct ib_mr *other;

	/* With this region the address space has a notifier, which a signal would keep away. */
	KUNIT_ASSERT_EQ(test, reg(env, &region_cases[0]), 0);
	other = env->mr;
	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
	KUNIT_EXPECT_EQ(test, reg(env, &region_cases[1]), -EINTR);
	flush_signals(current);
	disallow_signal(SIGKILL);
	env->mr = other;
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/*
 * The first leaf of an implicit region has the first MMU notifier of the address space, whose
 * insertion a signal interrupts. The kernel then calls the verb again.
 */
static void advice_is_repeated_after_a_signal(struct kunit *test)
{
	static const struct region_case c = { .implicit = true };
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	allow_signal(SIGUSR1);
	send_sig(SIGUSR1, current, 1);
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[1]), -ERESTARTNOINTR);
	flush_signals(current);
	disallow_signal(SIGUSR1);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[1]), 0);
	expect_pages(test, env, &parts[1]);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* The removal of a device waits for the calls that are in progress. */
static void advice_ends_when_the_device_is_removed(struct kunit *test)
{
	static const struct region_case c = { .pages = MEM_PAGES };
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	mlx5_ib_stop_advice(env->hca->mock->dev);
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[1]), -EFAULT);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* ---- advice whose callers do not wait --------------------------------------------------- */

/**
 * struct advisors - two contexts, and a workqueue that serves no advice before @release
 * @env: the process
 * @context: the contexts, each of a user
 * @hold: blocks the workqueue
 * @release: ends @hold
 * @call: calls ibv_advise_mr(3) in the second context
 * @ret: what that call returned
 * @returned: the call has returned
 */
struct advisors {
	struct env *env;
	struct mlx5_ib_ucontext context[2];
	struct work_struct hold;
	struct completion release;
	struct work_struct call;
	int ret;
	struct completion returned;
};

static int advise_later(struct advisors *a, unsigned int context)
{
	struct uverbs_attr_bundle attrs = { .context = &a->context[context].ibucontext };
	struct ib_sge sge = {
		.addr = a->env->mem, .length = PAGE_SIZE, .lkey = a->env->mr->lkey,
	};

	return mlx5_ib_advise_mr(&a->env->pd.ibpd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1,
				 &attrs);
}

static void hold_advice(struct work_struct *work)
{
	wait_for_completion(&container_of(work, struct advisors, hold)->release);
}

static void call_in_second_context(struct work_struct *work)
{
	struct advisors *a = container_of(work, struct advisors, call);

	a->ret = advise_later(a, 1);
	complete(&a->returned);
}

/*
 * From here on a test that fails must go on, with KUNIT_EXPECT: the workqueue cannot be destroyed
 * before @release.
 */
static struct advisors *make_advisors(struct kunit *test, kuid_t first, kuid_t second)
{
	static const struct region_case c = { .pages = MEM_PAGES };
	struct advisors *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	struct mlx5_ib_odp *odp;

	KUNIT_ASSERT_NOT_NULL(test, a);
	a->env = make_env(test);
	odp = a->env->hca->mock->dev->odp;
	KUNIT_ASSERT_EQ(test, reg(a->env, &c), 0);
	a->context[0].user = mlx5_ib_user_get(odp->dev, first);
	a->context[1].user = mlx5_ib_user_get(odp->dev, second);
	KUNIT_ASSERT_NOT_NULL(test, a->context[0].user);
	KUNIT_ASSERT_NOT_NULL(test, a->context[1].user);
	init_completion(&a->release);
	init_completion(&a->returned);
	INIT_WORK(&a->hold, hold_advice);
	INIT_WORK(&a->call, call_in_second_context);
	odp->advice_wq = alloc_ordered_workqueue("bluebell_advice_test", 0);
	KUNIT_ASSERT_NOT_NULL(test, odp->advice_wq);
	queue_work(odp->advice_wq, &a->hold);
	return a;
}

static void free_advisors(struct kunit *test, struct advisors *a)
{
	unsigned int i;

	complete(&a->release);
	for (i = 0; i < ARRAY_SIZE(a->context); i++) {
		mlx5_ib_odp_close_context(&a->context[i]);
		mlx5_ib_user_put(a->context[i].user);
	}
	KUNIT_EXPECT_EQ(test, dereg(a->env), 0);
	expect_no_region(test, a->env, 0, "deregistration");
}

/*
 * As many contexts of the user as are allowed have advice in their queues, the first context among
 * them. A call in the second context waits until the first context, whose advice is not served, is
 * closed.
 */
static void closed_context_makes_room_for_advice(struct kunit *test)
{
	const kuid_t uid = KUIDT_INIT(1000);
	struct advisors *a = make_advisors(test, uid, uid);
	struct mlx5_ib_odp *odp = a->env->hca->mock->dev->odp;
	atomic_t *contexts = &a->context[0].user->count[MLX5_IB_SHARE_ADVICE];
	struct wait_queue_head *room = &a->context[0].user->advice_room;
	unsigned int i, limit = odp->max_slots / 2;

	atomic_set(contexts, limit - 1);
	KUNIT_EXPECT_EQ(test, advise_later(a, 0), 0);
	queue_work(system_dfl_wq, &a->call);
	for (i = 0; i < 1000 && !wq_has_sleeper(room); i++)
		msleep(20);
	KUNIT_EXPECT_TRUE(test, wq_has_sleeper(room));
	KUNIT_EXPECT_FALSE(test, completion_done(&a->returned));

	mlx5_ib_odp_close_context(&a->context[0]);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&a->returned, 10 * HZ), 0);
	mlx5_ib_stop_advice(odp->dev);
	flush_work(&a->call);
	KUNIT_EXPECT_EQ(test, a->ret, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(contexts), limit);
	atomic_sub(limit - 1, contexts);
	free_advisors(test, a);
}

/**
 * struct sleeper - a task that waits for room
 * @entry: entry of the task in the wait queue
 * @num_wakes: how often the task has been woken
 */
struct sleeper {
	struct wait_queue_entry entry;
	unsigned int num_wakes;
};

static int count_wakes(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	container_of(entry, struct sleeper, entry)->num_wakes++;
	return 0;
}

static void advice_of_a_user_wakes_no_other_user(struct kunit *test)
{
	struct advisors *a = make_advisors(test, KUIDT_INIT(1000), KUIDT_INIT(1001));
	struct mlx5_ib_odp *odp = a->env->hca->mock->dev->odp;
	struct sleeper sleeper[2] = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sleeper); i++) {
		init_waitqueue_func_entry(&sleeper[i].entry, count_wakes);
		add_wait_queue(&a->context[i].user->advice_room, &sleeper[i].entry);
	}
	KUNIT_EXPECT_EQ(test, advise_later(a, 1), 0);
	/* From now on the work item of the advice maps nothing. */
	WRITE_ONCE(odp->stopping, true);
	complete(&a->release);
	flush_workqueue(odp->advice_wq);
	KUNIT_EXPECT_EQ(test, sleeper[0].num_wakes, 0);
	KUNIT_EXPECT_EQ(test, sleeper[1].num_wakes, 1);

	mlx5_ib_stop_advice(odp->dev);
	for (i = 0; i < ARRAY_SIZE(sleeper); i++) {
		KUNIT_EXPECT_EQ(test, sleeper[i].num_wakes, i + 1);
		remove_wait_queue(&a->context[i].user->advice_room, &sleeper[i].entry);
	}
	free_advisors(test, a);
}

/* The kernel must not drop what the device may have written to a page. */
static void page_that_the_device_may_write_becomes_dirty(struct kunit *test)
{
	static const struct part page = { 3, 1 };
	struct env *env = make_env(test);
	struct page *written;

	KUNIT_ASSERT_EQ(test, reg(env, &region_cases[0]), 0);
	write_pages(test, env, &page);
	KUNIT_ASSERT_EQ(test, advise_write(env, &page), 0);
	written = pfn_to_page(PHYS_PFN(mock_hca_translate(env->hca, env->mr->lkey,
							  env->mem + 3 * PAGE_SIZE)));
	get_page(written);
	ClearPageDirty(written);
	KUNIT_EXPECT_EQ(test, vm_munmap(env->mem + 3 * PAGE_SIZE, PAGE_SIZE), 0);
	KUNIT_EXPECT_TRUE(test, PageDirty(written));
	put_page(written);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

static void partial_unmap_clears_its_own_pages(struct kunit *test)
{
	const struct region_case *c = test->param_value;
	const struct part gap = { 20, 7 };
	struct env *env = make_env(test);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, reg(env, c), 0);
	write_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, advise_write(env, &parts[1]), 0);
	expect_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, vm_munmap(env->mem + gap.first * PAGE_SIZE, gap.num * PAGE_SIZE),
			0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), parts[1].num - gap.num);
	KUNIT_EXPECT_EQ(test, atomic64_read(&odp_of(env)->stat.invalidations), gap.num);
	for (i = parts[1].first; i < parts[1].first + parts[1].num; i++)
		KUNIT_EXPECT_EQ_MSG(test, !mock_hca_translate(env->hca, env->mr->lkey,
							      env->mem + i * PAGE_SIZE),
				    i >= gap.first && i < gap.first + gap.num, "page %u", i);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/*
 * UMR could not clear the entries of two pages, so firmware has destroyed the key, whose number may
 * be another region's by now. Unmapping more pages, first 7 that fill no block of entries, then 16
 * that fill whole blocks, costs no UMR.
 */
static void dead_leaf_gets_no_more_requests(struct kunit *test)
{
	static const struct region_case c = { .pages = MEM_PAGES };
	static const struct part gaps[] = { { 20, 7 }, { 32, 16 } };
	struct env *env = make_env(test);
	struct mock_hca *hca = env->hca;
	unsigned int i, num_requests;

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, advise_write(env, &parts[1]), 0);
	hca->how = MOCK_NOT_EXECUTED;
	hca->fail = hca->num_requests + 1;
	KUNIT_ASSERT_EQ(test, vm_munmap(env->mem + 10 * PAGE_SIZE, 2 * PAGE_SIZE), 0);
	KUNIT_EXPECT_TRUE(test, odp_of(env)->leaf->dead);
	clear_failure(env);
	num_requests = hca->num_requests;
	for (i = 0; i < ARRAY_SIZE(gaps); i++) {
		KUNIT_ASSERT_EQ(test, vm_munmap(env->mem + gaps[i].first * PAGE_SIZE,
						gaps[i].num * PAGE_SIZE), 0);
		KUNIT_EXPECT_EQ(test, hca->num_requests, num_requests);
	}
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* A dead leaf cannot map pages: the next page needs another leaf, although pages are left. */
static void dead_leaf_of_an_implicit_region_is_replaced(struct kunit *test)
{
	static const struct region_case c = { .implicit = true };
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, advise_write(env, &parts[1]), 0);
	env->hca->how = MOCK_NOT_EXECUTED;
	env->hca->fail = env->hca->num_requests + 1;
	KUNIT_ASSERT_EQ(test, vm_munmap(env->mem + 10 * PAGE_SIZE, 2 * PAGE_SIZE), 0);
	clear_failure(env);
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	write_pages(test, env, &parts[0]);
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[0]), 0);
	KUNIT_EXPECT_NE(test, 0, mock_hca_translate(env->hca, env->mr->lkey,
						    env->mem + parts[0].first * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/*
 * UMR can neither map more pages nor clear their entries, so firmware destroys the key of the leaf.
 * No MMU notifier tells of this.
 */
static void leaf_that_dies_while_pages_are_mapped_is_replaced(struct kunit *test)
{
	static const struct region_case c = { .implicit = true };
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, advise_write(env, &parts[1]), 0);
	write_pages(test, env, &parts[0]);
	env->hca->how = MOCK_STOPPED;
	env->hca->fail = env->hca->num_requests + 1;
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[0]), -EFAULT);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	clear_failure(env);
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[0]), 0);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* ---- parts of a region ------------------------------------------------------------------ */

#define WINDOW		64
#define WIDE_PAGES	(2 * MLX5_IB_ODP_CHUNK_PAGES + WINDOW)

/* More memory: two chunks of a leaf and a part of a third. */
static struct env *make_wide_env(struct kunit *test)
{
	struct env *env = make_env(test);

	env->mem = map_much(test, WIDE_PAGES);
	return env;
}

/*
 * WINDOW pages with a boundary between two chunks in their middle, which in an implicit region may
 * be a boundary between two leaves, too. The first chunk of a leaf begins where the leaf does.
 */
static struct part window_over_chunks(struct env *env, bool implicit)
{
	size_t first = MLX5_IB_ODP_CHUNK_PAGES;

	if (implicit)
		first = (ALIGN(env->mem + WINDOW * PAGE_SIZE, MLX5_IB_ODP_CHUNK_BYTES) -
			 env->mem) >> PAGE_SHIFT;
	return (struct part){ first - WINDOW / 2, WINDOW };
}

/* Expect that all pages of @window but those of @gap are mapped. */
static void expect_gap(struct kunit *test, struct env *env, const struct part *window,
		       const struct part *gap)
{
	unsigned int i;

	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), window->num - gap->num);
	for (i = window->first; i < window->first + window->num; i++)
		KUNIT_EXPECT_EQ_MSG(test, !mock_hca_translate(env->hca, env->mr->lkey,
							      env->mem + i * PAGE_SIZE),
				    i - gap->first < gap->num, "page %u, gap of %u at %u", i,
				    gap->num, gap->first);
}

/* The part lies in a block of translation entries, or in several, or over the end of a chunk. */
static void any_part_can_be_unmapped_alone(struct kunit *test)
{
	static const unsigned int firsts[] = { 0, 1, 7, 8, 12, 27, 32, 57 };
	static const unsigned int nums[] = { 1, 2, 3, 7, 8, 9, 16 };
	struct region_case c = *(const struct region_case *)test->param_value;
	struct env *env = make_wide_env(test);
	struct part window = window_over_chunks(env, c.implicit), gap;
	unsigned long at;
	unsigned int i, k;

	c.pages = WIDE_PAGES;
	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	for (i = 0; i < ARRAY_SIZE(firsts); i++) {
		for (k = 0; k < ARRAY_SIZE(nums); k++) {
			gap.first = window.first + firsts[i];
			gap.num = min(nums[k], WINDOW - firsts[i]);
			at = env->mem + gap.first * PAGE_SIZE;
			KUNIT_ASSERT_EQ(test, advise_write(env, &window), 0);
			KUNIT_ASSERT_EQ(test, vm_munmap(at, gap.num * PAGE_SIZE), 0);
			expect_gap(test, env, &window, &gap);
			KUNIT_ASSERT_EQ(test, vm_mmap(NULL, at, gap.num * PAGE_SIZE,
						      PROT_READ | PROT_WRITE,
						      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0),
					at);
		}
	}
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* The first page of the second chunk, and that of the third. */
#define SECOND		MLX5_IB_ODP_CHUNK_PAGES
#define THIRD		(2 * MLX5_IB_ODP_CHUNK_PAGES)
/* Three pages that the process of the next case has unmapped before the registration. */
#define HOLE		(SECOND - 7)
#define READ_PAGE	(SECOND + 188)
/* The region begins and ends inside a page. */
#define FIRST_PAGE	2
#define LAST_PAGE	(THIRD + 26)

/* Pages, by number, that the process touches before it registers them. */
static bool is_touched(unsigned int page)
{
	return page < 4 || (page >= SECOND - 12 && page < SECOND + 18) || page == READ_PAGE ||
	       page == LAST_PAGE + 10;
}

static bool is_hole(unsigned int page)
{
	return page >= HOLE && page < HOLE + 3;
}

/*
 * The device does not fault on pages that are mapped at registration. A chunk ends between two
 * pages that the process has.
 */
static void new_region_has_the_pages_that_its_process_has(struct kunit *test)
{
	const u32 access = IB_ACCESS_ON_DEMAND | IB_ACCESS_LOCAL_WRITE;
	struct env *env = make_wide_env(test);
	unsigned int page, num = 0;
	unsigned long at;
	u64 entry, value;
	bool want;

	for (page = 0; page < WIDE_PAGES; page++) {
		at = env->mem + page * PAGE_SIZE;
		if (page == READ_PAGE)
			KUNIT_ASSERT_EQ(test, copy_from_user(&value, (void __user *)at, 8), 0);
		else if (is_touched(page))
			KUNIT_ASSERT_EQ(test, put_user(MAGIC, (u64 __user *)at), 0);
	}
	KUNIT_ASSERT_EQ(test, vm_munmap(env->mem + HOLE * PAGE_SIZE, 3 * PAGE_SIZE), 0);
	at = env->mem + FIRST_PAGE * PAGE_SIZE + 8;
	env->mr = mlx5_ib_odp_reg(&env->pd.ibpd, at, (LAST_PAGE - FIRST_PAGE) * PAGE_SIZE + 16, at,
				  access);
	KUNIT_ASSERT_FALSE(test, IS_ERR(env->mr));
	for (page = FIRST_PAGE; page <= LAST_PAGE; page++) {
		entry = mock_hca_translate(env->hca, env->mr->lkey,
					   max_t(u64, env->mem + page * PAGE_SIZE,
						 env->mr->iova));
		want = is_touched(page) && !is_hole(page);
		num += want;
		KUNIT_EXPECT_EQ_MSG(test, !!entry, want, "page %u", page);
		/* A page that the process has only read is shared, and so mapped for reading. */
		if (want)
			KUNIT_EXPECT_EQ_MSG(test, entry & (MLX5_EN_RD | MLX5_EN_WR),
					    page == READ_PAGE ? MLX5_EN_RD :
								MLX5_EN_RD | MLX5_EN_WR,
					    "page %u", page);
	}
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), num);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/*
 * If a page were written to the key now, the request would fail, and the driver would destroy the
 * key. Regions over a table that is too long for a command need UMR at once.
 */
static void region_that_is_created_while_umr_is_stopped_is_mapped_later(struct kunit *test)
{
	struct env *env = make_env(test);

	write_pages(test, env, &parts[1]);
	env->hca->stopped = true;
	KUNIT_ASSERT_EQ(test, reg(env, &region_cases[0]), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[1]), -EFAULT);
	KUNIT_EXPECT_FALSE(test, to_mmr(env->mr)->mkey.destroyed);
	env->hca->stopped = false;
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[1]), 0);
	expect_pages(test, env, &parts[1]);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

#define PDN	0x777
#define UID	0x55

/*
 * The device checks the rights and the domain of each key on the way to a page. The keys belong to
 * the driver, which destroys them after the process has closed its context.
 */
static void every_key_of_a_region_has_its_rights_and_domain(struct kunit *test)
{
	const struct region_case *c = test->param_value;
	struct env *env = make_env(test);
	struct region_case readable = *c;
	struct ib_uobject uobj;
	unsigned int num = 0;
	unsigned long index;
	const void *mkc;
	void *owner;

	readable.access = IB_ACCESS_REMOTE_READ;
	env->pd.pdn = PDN;
	count_for_user(env, &uobj);
	env->mock->context->uid = UID;
	KUNIT_ASSERT_EQ(test, reg(env, &readable), 0);
	write_pages(test, env, &parts[0]);
	KUNIT_ASSERT_EQ(test, advise_write(env, &parts[0]), 0);
	xa_for_each(&env->mock->live[MOCK_MKEY], index, owner) {
		mkc = mock_hca_mkc(env->hca, index);
		if (!mkc || MLX5_GET(mkc, mkc, access_mode_1_0) == MLX5_MKC_ACCESS_MODE_PA)
			continue;
		num++;
		KUNIT_EXPECT_PTR_EQ(test, owner, xa_mk_value(MLX5_IB_KERNEL_UID));
		KUNIT_EXPECT_EQ(test, MLX5_GET(mkc, mkc, pd), PDN);
		KUNIT_EXPECT_EQ(test, MLX5_GET(mkc, mkc, qpn), 0xffffff);
		KUNIT_EXPECT_EQ(test, MLX5_GET(mkc, mkc, lr), 1);
		KUNIT_EXPECT_EQ(test, MLX5_GET(mkc, mkc, lw), 1);
		KUNIT_EXPECT_EQ(test, MLX5_GET(mkc, mkc, rr), 1);
		KUNIT_EXPECT_EQ(test, MLX5_GET(mkc, mkc, rw), 0);
	}
	/* Root, directory and leaf, and by the memory scheme the key of the other addresses. */
	KUNIT_EXPECT_EQ(test, num, c->implicit ? 3 + c->by_memory : 1);
	env->mock->context->uid = 0;
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	count_for_nobody(env);
	expect_no_region(test, env, 0, "deregistration");
}

/* A fault looks at the pages of a leaf while the process may be losing them. */
static void pages_of_a_leaf_are_read_under_its_lock(struct kunit *test)
{
	const struct mmu_notifier_range range = {
		.mm = current->mm, .start = 0, .end = ULONG_MAX,
		.flags = MMU_NOTIFIER_RANGE_BLOCKABLE,
	};
	struct env *env = make_env(test);
	struct odp_leaf *leaf;

	KUNIT_ASSERT_EQ(test, reg(env, &region_cases[0]), 0);
	leaf = odp_of(env)->leaf;
	EXPECT_TAKES_LOCK(test, &leaf->lock, mlx5_ib_odp_has_pages(leaf, 0, 1, 0));
	EXPECT_TAKES_LOCK(test, &leaf->lock,
			  leaf->notifier.ops->invalidate(&leaf->notifier, &range,
							 leaf->notifier.invalidate_seq));
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* UMR sleeps, and the OOM reaper must not sleep: it leaves the memory of the region alone. */
static void notifier_that_must_not_sleep_refuses(struct kunit *test)
{
	static const struct region_case c = { .pages = MEM_PAGES };
	struct env *env = make_env(test);
	struct mmu_notifier_range range = {
		.mm = current->mm, .start = env->mem, .end = env->mem + MEM_PAGES * PAGE_SIZE,
		.event = MMU_NOTIFY_UNMAP,
	};
	struct mmu_interval_notifier *notifier;

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, advise_write(env, &parts[1]), 0);
	notifier = &odp_of(env)->leaf->notifier;
	KUNIT_EXPECT_FALSE(test, notifier->ops->invalidate(notifier, &range,
							   notifier->invalidate_seq));
	expect_pages(test, env, &parts[1]);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* ---- implicit regions ------------------------------------------------------------------- */

#define LEAF_BYTES	BIT(MLX5_IB_ODP_LEAF_SHIFT)
#define LEAF_PAGES	(LEAF_BYTES >> PAGE_SHIFT)
#define LEAVES		5

/* A process with a page in each of LEAVES leaves that follow each other. */
static struct env *make_env_with_leaves(struct kunit *test)
{
	struct env *env = make_env(test);
	unsigned long room = kunit_vm_mmap(test, NULL, 0, (LEAVES + 1) * LEAF_BYTES, PROT_NONE,
					   MAP_PRIVATE | MAP_ANONYMOUS, 0);
	unsigned int i;

	KUNIT_ASSERT_NE(test, room, 0);
	env->mem = ALIGN(room, LEAF_BYTES);
	for (i = 0; i < LEAVES; i++) {
		room = env->mem + i * LEAF_BYTES;
		KUNIT_ASSERT_EQ(test, vm_mmap(NULL, room, PAGE_SIZE, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0), room);
	}
	return env;
}

/* Returns a mask; bit n is set if the device reaches the page of leaf n. */
static unsigned int reached_leaves(struct env *env)
{
	unsigned int i, reached = 0;

	for (i = 0; i < LEAVES; i++)
		if (mock_hca_translate(env->hca, env->mr->lkey, env->mem + i * LEAF_BYTES))
			reached |= BIT(i);
	return reached;
}

/* UMR writes the entries of four leaves at a time. */
static void leaves_come_and_go_without_their_neighbours(struct kunit *test)
{
	static const struct region_case c = { .implicit = true };
	static const unsigned int order[LEAVES] = { 2, 0, 4, 1, 3 };
	struct env *env = make_env_with_leaves(test);
	unsigned int i, want = 0;
	struct part page = { 0, 1 };

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	for (i = 0; i < LEAVES; i++) {
		page.first = order[i] * LEAF_PAGES;
		KUNIT_ASSERT_EQ(test, advise_write(env, &page), 0);
		want |= BIT(order[i]);
		KUNIT_EXPECT_EQ(test, reached_leaves(env), want);
	}
	for (i = 0; i < LEAVES; i++) {
		KUNIT_ASSERT_EQ(test, vm_munmap(env->mem + order[i] * LEAF_BYTES, PAGE_SIZE), 0);
		want &= ~BIT(order[i]);
		KUNIT_EXPECT_EQ(test, reached_leaves(env), want);
		KUNIT_EXPECT_EQ(test, reclaim(env), LEAVES - 1 - i);
		KUNIT_EXPECT_EQ(test, reached_leaves(env), want);
	}
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/*
 * UMR fails to revoke the key of a leaf without pages, and firmware does not answer that it has
 * destroyed the key. A UMR writes the entries of the leaf and of the next leaf together.
 */
static void neighbour_of_a_leaf_that_may_be_gone_is_linked_alone(struct kunit *test)
{
	static const struct region_case c = { .implicit = true };
	struct env *env = make_env_with_leaves(test);
	unsigned int block = MLX5_IB_ODP_BLOCK_KSMS * LEAF_BYTES;
	/* The first two leaves that are in one block. */
	unsigned int gone = (env->mem & (block - 1)) == block - LEAF_BYTES;
	const struct part pages[] = { { gone * LEAF_PAGES, 1 }, { (gone + 1) * LEAF_PAGES, 1 } };
	u64 va = env->mem + gone * LEAF_BYTES;

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	KUNIT_ASSERT_EQ(test, advise_write(env, &pages[0]), 0);
	KUNIT_EXPECT_NE(test, entry_key(env, va), env->mock->dev->null_mkey);
	KUNIT_ASSERT_EQ(test, vm_munmap(va, PAGE_SIZE), 0);
	lose_leaf(test, env);
	KUNIT_ASSERT_EQ(test, advise_write(env, &pages[1]), 0);
	KUNIT_EXPECT_EQ(test, reached_leaves(env), BIT(gone + 1));
	KUNIT_EXPECT_EQ(test, entry_key(env, va), env->mock->dev->null_mkey);
	KUNIT_EXPECT_NE(test, entry_key(env, va + LEAF_BYTES), env->mock->dev->null_mkey);
	KUNIT_EXPECT_EQ(test, reclaim(env), 1);
	KUNIT_EXPECT_EQ(test, reached_leaves(env), BIT(gone + 1));
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/*
 * The entry that leads to a leaf could not be cleared, so the leaf stays in the tree, and pages are
 * mapped through the leaf again. The MMU notifier clears these pages as those of any leaf.
 */
static void leaf_that_could_not_be_removed_loses_its_pages(struct kunit *test)
{
	static const struct region_case c = { .implicit = true };
	static const struct part page = { 0, 1 };
	struct env *env = make_env(test);
	struct mock_hca *hca = env->hca;

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &page);
	KUNIT_ASSERT_EQ(test, advise_write(env, &page), 0);
	replace_memory(test, env);
	hca->how = MOCK_NOT_EXECUTED;
	hca->fail = hca->num_requests + 1;
	KUNIT_EXPECT_EQ(test, reclaim(env), 1);
	KUNIT_EXPECT_EQ(test, hca->num_requests, hca->fail);
	clear_failure(env);
	write_pages(test, env, &page);
	KUNIT_ASSERT_EQ(test, advise_write(env, &page), 0);
	expect_pages(test, env, &page);
	/* replace_memory() expects that the device reaches no page any more. */
	replace_memory(test, env);
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* Pages are mapped through a leaf without pages before its reclaim runs. */
static void leaf_that_has_pages_again_is_reclaimed_later(struct kunit *test)
{
	static const struct region_case c = { .implicit = true };
	static const struct part page = { 0, 1 };
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &page);
	KUNIT_ASSERT_EQ(test, advise_write(env, &page), 0);
	replace_memory(test, env);
	write_pages(test, env, &page);
	KUNIT_ASSERT_EQ(test, advise_write(env, &page), 0);
	KUNIT_EXPECT_EQ(test, reclaim(env), 1);
	expect_pages(test, env, &page);
	replace_memory(test, env);
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* The range has the last page of a leaf and the first page of the next leaf. */
static void range_over_two_leaves_is_mapped_in_both(struct kunit *test)
{
	static const struct region_case c = { .implicit = true };
	const struct part part = { LEAF_PAGES - 1, 2 };
	struct env *env = make_env_with_leaves(test);
	unsigned long at = env->mem + LEAF_BYTES - PAGE_SIZE;

	KUNIT_ASSERT_EQ(test, vm_mmap(NULL, at, PAGE_SIZE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0), at);
	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &part);
	KUNIT_EXPECT_EQ(test, advise_write(env, &part), 0);
	expect_pages(test, env, &part);
	KUNIT_EXPECT_EQ(test, atomic64_read(&odp_of(env)->stat.prefetches), 2);
	/* Each leaf is freed after its page has been unmapped. */
	KUNIT_ASSERT_EQ(test, vm_munmap(at, 2 * PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

static void implicit_region_ends_with_the_address_space(struct kunit *test)
{
	static const struct region_case c = { .implicit = true };
	struct env *env = make_env(test);
	const u64 end = current->mm->task_size;
	const u64 starts[] = { end - PAGE_SIZE, end, U64_MAX - 3 * PAGE_SIZE };
	struct ib_sge sge = { .length = 2 * PAGE_SIZE };
	unsigned int i;

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	env->mock->num_commands = 0;
	sge.lkey = env->mr->lkey;
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		sge.addr = starts[i];
		KUNIT_EXPECT_EQ(test, mlx5_ib_advise_mr(&env->pd.ibpd,
							IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH,
							IB_UVERBS_ADVISE_MR_FLAG_FLUSH, &sge, 1,
							NULL), -EFAULT);
	}
	/* No table has been created for the addresses. */
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	/* The last page of the address space is in the region. */
	sge.addr = vm_mmap(NULL, end - PAGE_SIZE, PAGE_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0);
	sge.length = PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, sge.addr, end - PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, mlx5_ib_advise_mr(&env->pd.ibpd,
						IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
						IB_UVERBS_ADVISE_MR_FLAG_FLUSH, &sge, 1, NULL), 0);
	KUNIT_ASSERT_EQ(test, vm_munmap(sge.addr, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* ---- what is refused -------------------------------------------------------------------- */

static int try_reg(struct env *env, u64 start, u64 length, u64 iova, u32 access)
{
	struct ib_mr *mr = mlx5_ib_odp_reg(&env->pd.ibpd, start, length, iova,
					   IB_ACCESS_ON_DEMAND | IB_ACCESS_LOCAL_WRITE | access);

	return PTR_ERR_OR_ZERO(mr);
}

static void region_that_cannot_be_is_refused_at_once(struct kunit *test)
{
	static const struct region_case explicit = { .pages = MEM_PAGES };
	struct env *env = make_env(test);
	struct ib_odp_caps *caps = &env->mock->dev->odp->caps;

	env->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, try_reg(env, 0, U64_MAX, PAGE_SIZE, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, try_reg(env, 0, U64_MAX, 0, IB_ACCESS_HUGETLB), -EINVAL);
	/* 2^24 pages are too many. */
	KUNIT_EXPECT_EQ(test, try_reg(env, SZ_4K, BIT_ULL(24) << PAGE_SHIFT, SZ_4K, 0), -ENOMEM);
	KUNIT_EXPECT_EQ(test, try_reg(env, SZ_4K, 0, SZ_4K, 0), -EINVAL);
	caps->general_caps &= ~IB_ODP_SUPPORT_IMPLICIT;
	KUNIT_EXPECT_EQ(test, try_reg(env, 0, U64_MAX, 0, 0), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	expect_no_region(test, env, 0, "refused registrations");
	KUNIT_ASSERT_EQ(test, reg(env, &explicit), 0);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* ---- a process that has closed the device ----------------------------------------------- */

/*
 * ib_core would warn of a region that is left. Firmware keeps the key of an explicit region, or the
 * keys of the tables of an implicit region, which translate to no page. The key of the leaf goes to
 * the pool.
 */
static void region_of_a_closed_context_is_freed_in_any_case(struct kunit *test)
{
	const struct region_case *c = test->param_value;
	struct env *env = make_env(test);
	struct mock *mock = env->mock;
	struct ib_udata *udata = &mock->attrs->driver_udata;

	KUNIT_ASSERT_EQ(test, reg(env, c), 0);
	if (c->implicit) {
		write_pages(test, env, &parts[1]);
		KUNIT_ASSERT_EQ(test, advise_write(env, &parts[1]), 0);
	}
	mock->refuse_destroy = true;
	/* Without UMR the key of an explicit region cannot return to the pool. */
	env->hca->stopped = !c->implicit;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(env->mr, udata), mock->refuse_err);
	KUNIT_EXPECT_PTR_EQ(test, mlx5_ib_odp_mr_get(mock->dev->odp, env->mr->lkey), odp_of(env));
	mlx5_ib_mkey_put(&odp_of(env)->mr.mkey);
	mock->context->closing = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(env->mr, udata), 0);
	mock->context->closing = false;
	mock->refuse_destroy = false;
	env->hca->stopped = false;
	mlx5_ib_cleanup_orphans(mock->dev);
	expect_no_region(test, env, c->implicit ? 2 : 1, "the end of the context");
	/* The MMU notifiers have been removed. */
	replace_memory(test, env);
}

/*
 * Neither UMR nor firmware can take the leaf's key from the device. No lookup may find the key, as
 * the leaf is freed.
 */
static void key_of_a_closed_context_is_not_found(struct kunit *test)
{
	static const struct region_case c = { .implicit = true, .by_memory = true };
	struct env *env = make_env(test);
	struct mock *mock = env->mock;

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, advise_write(env, &parts[1]), 0);
	mock->refuse_destroy = true;
	env->hca->stopped = true;
	mock->context->closing = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(env->mr, &mock->attrs->driver_udata), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_slots(env->hca, true), 0);
	mock->context->closing = false;
	mock->refuse_destroy = false;
	env->hca->stopped = false;
	mlx5_ib_cleanup_orphans(mock->dev);
	/* The keys of the root, of the directory and of the leaf. */
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_MKEY], env->keys + 3);
	env->hca->stuck += 3;
}

static const struct region_case low_cases[] = {
	{ .name = "an explicit region", .pages = LOW_MEM / PAGE_SIZE + MEM_PAGES },
	{ .name = "an implicit region", .implicit = true },
};

KUNIT_ARRAY_PARAM_DESC(low, low_cases, name);

/* The leaf of a region that begins at address 0. */
static struct odp_leaf *first_leaf(struct odp_mr *mr)
{
	struct odp_key *key;

	if (mr->leaf)
		return mr->leaf;
	key = xa_load(&mr->root->children, 0);
	key = xa_load(&container_of(key, struct odp_dir, key)->children, 0);
	return container_of(key, struct odp_leaf, key);
}

/* The address space of a process that exits is invalidated by one call, from 0 to ULONG_MAX. */
static void exit_of_a_process_clears_its_low_memory(struct kunit *test)
{
	const struct mmu_notifier_range range = {
		.mm = current->mm, .start = 0, .end = ULONG_MAX,
		.flags = MMU_NOTIFIER_RANGE_BLOCKABLE, .event = MMU_NOTIFY_RELEASE,
	};
	const struct region_case *c = test->param_value;
	struct env *env = make_env(test);
	struct mmu_interval_notifier *notifier;
	u32 access = IB_ACCESS_ON_DEMAND | IB_ACCESS_LOCAL_WRITE;

	env->mem = vm_mmap(NULL, LOW_MEM, MEM_PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, 0);
	KUNIT_ASSERT_EQ(test, env->mem, LOW_MEM);
	env->mr = mlx5_ib_odp_reg(&env->pd.ibpd, 0,
				  c->implicit ? U64_MAX : c->pages * PAGE_SIZE, 0, access);
	KUNIT_ASSERT_FALSE(test, IS_ERR(env->mr));
	write_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, advise_write(env, &parts[1]), 0);
	expect_pages(test, env, &parts[1]);
	notifier = &first_leaf(odp_of(env))->notifier;
	KUNIT_EXPECT_TRUE(test, notifier->ops->invalidate(notifier, &range,
							  notifier->invalidate_seq));
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	KUNIT_EXPECT_EQ(test, reclaim(env), 0);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* A chunk of a region has a table as long as pages of the chunk are mapped. */
static void chunk_exists_only_while_it_has_pages(struct kunit *test)
{
	static const struct region_case c = { .pages = 3 * MLX5_IB_ODP_CHUNK_PAGES };
	struct env *env = make_env(test);
	struct odp_leaf *leaf;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	leaf = odp_of(env)->leaf;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_NULL(test, leaf->chunks[i]);
	write_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, advise_write(env, &parts[1]), 0);
	KUNIT_EXPECT_NOT_NULL(test, leaf->chunks[0]);
	KUNIT_EXPECT_EQ(test, leaf->chunks[0]->npages, parts[1].num);
	KUNIT_EXPECT_NULL(test, leaf->chunks[1]);
	/* Advice on pages that are mapped writes nothing. */
	env->hca->num_requests = 0;
	KUNIT_EXPECT_EQ(test, advise_write(env, &parts[1]), 0);
	KUNIT_EXPECT_EQ(test, env->hca->num_requests, 0);
	replace_memory(test, env);
	KUNIT_EXPECT_NULL(test, leaf->chunks[0]);
	/* Advice on pages that the process does not have leaves no table behind. */
	KUNIT_EXPECT_EQ(test, advise(env, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
				     IB_UVERBS_ADVISE_MR_FLAG_FLUSH, &parts[0]), 0);
	KUNIT_EXPECT_NULL(test, leaf->chunks[0]);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

static void paged_region_for_windows_is_refused(struct kunit *test)
{
	const struct region_case *c = test->param_value;
	struct env *env = make_env(test);
	struct region_case windows = *c;

	windows.access |= IB_ACCESS_MW_BIND;
	KUNIT_EXPECT_EQ(test, reg(env, &windows), -EOPNOTSUPP);
	expect_no_region(test, env, 0, "a refused registration");
}

/* The offset of an address in its page is not translated. */
static void iova_has_the_page_offset_of_the_address(struct kunit *test)
{
	const u32 access = IB_ACCESS_ON_DEMAND | IB_ACCESS_LOCAL_WRITE;
	struct env *env = make_env(test);

	env->mr = mlx5_ib_odp_reg(&env->pd.ibpd, env->mem + 8, PAGE_SIZE, 0, access);
	KUNIT_EXPECT_EQ(test, PTR_ERR(env->mr), -EINVAL);
	env->mr = mlx5_ib_odp_reg(&env->pd.ibpd, env->mem + 8, PAGE_SIZE, 8, access);
	KUNIT_ASSERT_FALSE(test, IS_ERR(env->mr));
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* The driver does not show a destroyed key, because another region may have got its number. */
static void destroyed_key_is_not_shown(struct kunit *test)
{
	static const struct region_case c = { .pages = MEM_PAGES };
	struct sk_buff *msg = nlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	struct env *env = make_env(test);

	KUNIT_ASSERT_NOT_NULL(test, msg);
	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	write_pages(test, env, &parts[1]);
	KUNIT_ASSERT_EQ(test, advise_write(env, &parts[1]), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_res_mr_entry_raw(msg, env->mr), 0);
	env->hca->how = MOCK_NOT_EXECUTED;
	env->hca->fail = env->hca->num_requests + 1;
	replace_memory(test, env);
	KUNIT_EXPECT_TRUE(test, to_mmr(env->mr)->mkey.destroyed);
	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_res_mr_entry_raw(msg, env->mr), -EAGAIN);
	nlmsg_free(msg);
	clear_failure(env);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

/* Firmware could create a key, but none of its pages could ever be mapped. */
static void region_without_umr_is_refused(struct kunit *test)
{
	struct env *env = make_env(test);

	mlx5_ib_abort_umr(env->mock->dev);
	env->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, reg(env, test->param_value), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	expect_no_region(test, env, 0, "a refused registration");
}

/* Another process that has the device file must not learn or use the address. */
static void range_of_a_region_is_told_to_its_process_only(struct kunit *test)
{
	static const struct region_case c = { .pages = MEM_PAGES };
	struct env *env = make_env(test);
	struct mlx5_ib_mr *mr;
	u64 start, length;

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	mr = to_mmr(env->mr);
	KUNIT_EXPECT_EQ(test, mr->ops->range(mr, &start, &length), 0);
	KUNIT_EXPECT_EQ(test, start, env->mem);
	KUNIT_EXPECT_EQ(test, length, MEM_PAGES * PAGE_SIZE);
	odp_of(env)->mm = NULL;
	KUNIT_EXPECT_EQ(test, mr->ops->range(mr, &start, &length), -EINVAL);
	odp_of(env)->mm = current->mm;
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	expect_no_region(test, env, 0, "deregistration");
}

static void implicit_region_holds_the_address_space(struct kunit *test)
{
	static const struct region_case c = { .implicit = true };
	struct env *env = make_env(test);
	int count = atomic_read(&current->mm->mm_count);

	KUNIT_ASSERT_EQ(test, reg(env, &c), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&current->mm->mm_count), count + 1);
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&current->mm->mm_count), count);
}

/*
 * A region refers to its process by the process's number. A registration that firmware refuses
 * does not.
 */
static void region_releases_its_process(struct kunit *test)
{
	const struct region_case *c = test->param_value;
	struct env *env = make_env(test);
	struct pid *pid = task_tgid(current);
	unsigned int refs = refcount_read(&pid->count);

	env->mock->refuse = env->mock->num_commands + 1;
	KUNIT_EXPECT_EQ(test, reg(env, c), env->mock->refuse_err);
	env->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, refcount_read(&pid->count), refs);
	KUNIT_ASSERT_EQ(test, reg(env, c), 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&pid->count), refs + 1);
	KUNIT_EXPECT_FALSE(test, hash_empty(env->mock->dev->odp->processes));
	KUNIT_EXPECT_EQ(test, dereg(env), 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&pid->count), refs);
	KUNIT_EXPECT_TRUE(test, hash_empty(env->mock->dev->odp->processes));
}

static void refused_setup_of_umr_leaves_nothing(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_dev *dev = mock->dev;
	unsigned int n;
	int err;

	mock_hca_create(mock);
	for (n = 1; n < MAX_STEPS; n++) {
		mock->num_commands = 0;
		mock->refuse = n;
		err = mock_init_umr(dev);
		if (!err)
			break;
		KUNIT_EXPECT_EQ_MSG(test, err, mock->refuse_err, "refusal %u", n);
		KUNIT_EXPECT_EQ_MSG(test, mock_num_live(mock), 0, "refusal %u", n);
		KUNIT_EXPECT_NULL(test, dev->umr);
	}
	/* Seven commands: for PD, CQ, key and QP, and for three changes of the QP's state. */
	KUNIT_EXPECT_EQ(test, n, 8);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 4);
	mock->refuse = 0;
	mlx5_ib_cleanup_umr(dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* Without UMR no page can be mapped, so nothing else is set up, until UMR can be. */
static void paging_whose_umr_is_refused_is_not_set_up(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_dev *dev = mock->dev;

	mock_hca_create(mock);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_odp(dev), 0);
	KUNIT_ASSERT_NOT_NULL(test, dev->odp);
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_odp_start(dev->odp), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	KUNIT_EXPECT_NULL(test, dev->umr);
	KUNIT_EXPECT_NULL(test, dev->odp->fault_wq);
	KUNIT_EXPECT_NULL(test, dev->umr_zeros);
	mock->refuse = 0;
}

static void device_without_umr_has_no_paging(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_dev *dev = mock->dev;

	mock_hca_create(mock);
	MOCK_SET_CAP(&dev->caps, umr_modify_entity_size_disabled, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_odp(dev), 0);
	KUNIT_EXPECT_NULL(test, dev->odp);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
}

static void expect_paging(struct kunit *test, struct mlx5_ib_dev *dev, bool paging, bool implicit,
			  const char *without)
{
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_odp(dev), 0);
	KUNIT_EXPECT_EQ_MSG(test, !!dev->odp, paging, "without %s", without);
	if (!dev->odp)
		return;
	KUNIT_EXPECT_EQ_MSG(test, dev->odp->caps.general_caps,
			    IB_ODP_SUPPORT | (implicit ? IB_ODP_SUPPORT_IMPLICIT : 0),
			    "without %s", without);
	mlx5_ib_cleanup_odp(dev);
}

/* The device lacks one capability at a time. */
static void paging_needs_each_of_its_capabilities(struct kunit *test)
{
	struct mlx5_ib_dev *dev = mock_create(test)->dev;
	struct mlx5_ib_caps *caps = &dev->caps;

	mock_hca_create(test->priv);
	expect_paging(test, dev, true, true, "nothing");
	MOCK_SET_CAP(caps, pg, 0);
	expect_paging(test, dev, false, false, "pg");
	MOCK_SET_CAP(caps, pg, 1);
	MOCK_SET_CAP(caps, umr_extended_translation_offset, 0);
	expect_paging(test, dev, false, false, "umr_extended_translation_offset");
	MOCK_SET_CAP(caps, umr_extended_translation_offset, 1);
	MOCK_SET_CAP(caps, null_mkey, 0);
	expect_paging(test, dev, true, false, "null_mkey");
	MOCK_SET_CAP(caps, null_mkey, 1);
	MOCK_SET_CAP(caps, umr_indirect_mkey_disabled, 1);
	expect_paging(test, dev, true, false, "UMR of tables of keys");
	MOCK_SET_CAP(caps, umr_indirect_mkey_disabled, 0);
	MOCK_SET_CAP(caps, fixed_buffer_size, 0);
	expect_paging(test, dev, true, false, "fixed_buffer_size");
	MOCK_SET_CAP(caps, fixed_buffer_size, 1);
	/* Root and directory are two levels. */
	MOCK_SET_CAP(caps, max_indirection, 1);
	expect_paging(test, dev, true, false, "two levels");
	MOCK_SET_CAP(caps, max_indirection, 2);
	expect_paging(test, dev, true, true, "a third level");
	MOCK_SET_CAP_OF(caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2, log_min_mkey_entity_size,
			PAGE_SHIFT + 1);
	expect_paging(test, dev, false, false, "pages as small as the host's");
}

#define SET_ODP_CAP(field, value) \
	MOCK_SET_CAP_OF(&mock->dev->caps, MLX5_CAP_ODP, odp_cap, field, value)

static void expect_services(struct kunit *test, struct mlx5_ib_dev *dev, u32 rc, u32 ud, u32 xrc)
{
	struct ib_device_attr props = {};

	KUNIT_ASSERT_EQ(test, mlx5_ib_init_odp(dev), 0);
	mlx5_ib_fill_odp_attr(dev, &props);
	KUNIT_EXPECT_EQ(test, props.odp_caps.per_transport_caps.rc_odp_caps, rc);
	KUNIT_EXPECT_EQ(test, props.odp_caps.per_transport_caps.ud_odp_caps, ud);
	KUNIT_EXPECT_EQ(test, props.odp_caps.per_transport_caps.xrc_odp_caps, xrc);
	KUNIT_EXPECT_TRUE(test, props.kernel_cap_flags & IBK_ON_DEMAND_PAGING);
	mlx5_ib_cleanup_odp(dev);
}

/*
 * The device reports separately for the memory scheme and for the transport scheme which operations
 * may fault. The driver offers the operations of the scheme that the device uses.
 */
static void services_are_those_of_the_scheme_of_the_device(struct kunit *test)
{
	struct mock *mock = mock_create(test);

	mock_hca_create(mock);
	SET_ODP_CAP(transport_page_fault_scheme_cap.rc_odp_caps.send, 1);
	SET_ODP_CAP(transport_page_fault_scheme_cap.ud_odp_caps.receive, 1);
	SET_ODP_CAP(transport_page_fault_scheme_cap.xrc_odp_caps.write, 1);
	SET_ODP_CAP(transport_page_fault_scheme_cap.uc_odp_caps.atomic, 1);
	SET_ODP_CAP(memory_page_fault_scheme_cap.rc_odp_caps.read, 1);
	SET_ODP_CAP(memory_page_fault_scheme_cap.ud_odp_caps.atomic, 1);
	SET_ODP_CAP(memory_page_fault_scheme_cap.xrc_odp_caps.srq_receive, 1);
	SET_ODP_CAP(memory_page_fault_scheme_cap.uc_odp_caps.send, 1);
	expect_services(test, mock->dev, IB_ODP_SUPPORT_SEND, IB_ODP_SUPPORT_RECV,
			IB_ODP_SUPPORT_WRITE);
	SET_ODP_CAP(mem_page_fault, 1);
	expect_services(test, mock->dev, IB_ODP_SUPPORT_READ, IB_ODP_SUPPORT_ATOMIC,
			IB_ODP_SUPPORT_SRQ_RECV);
}

/* Advice to map the pages afterwards creates, in an implicit region, the keys of a leaf. */
static void failure_of_any_allocation_leaves_no_region(struct kunit *test)
{
	static const struct part all = { 0, MEM_PAGES };
	const struct region_case *c = test->param_value;
	struct env *env = make_env(test);
	unsigned int n, num_failed = 0;
	bool failed = true;
	int err = 0;

	fail_alloc_init(test);
	for (n = 1; failed; n++) {
		fail_alloc_begin(n);
		err = reg(env, c) ?: advise_write(env, &all);
		failed = fail_alloc_end();
		if (err)
			KUNIT_EXPECT_TRUE_MSG(test, err == -ENOMEM || err == -EFAULT,
					      "failure %u: %d", n, err);
		num_failed += !!err;
		if (env->mr) {
			/* A leaf in which nothing could be mapped is reclaimed. */
			reclaim(env);
			KUNIT_ASSERT_EQ(test, dereg(env), 0);
		}
		expect_no_region(test, env, 0, "a failed allocation");
	}
	KUNIT_EXPECT_EQ(test, err, 0);
	KUNIT_EXPECT_GT(test, num_failed, 0);
}

static struct kunit_case odp_create_cases[] = {
	KUNIT_CASE_PARAM(refusal_of_any_command_leaves_nothing, region_gen_params),
	KUNIT_CASE_PARAM(failure_of_any_umr_leaves_no_page_in_reach,
			 region_gen_params),
	KUNIT_CASE(region_that_may_exist_counts),
	KUNIT_CASE(lost_key_without_pages_is_not_said_to_reach_memory),
	KUNIT_CASE(refused_key_without_pages_is_replaced),
	KUNIT_CASE_PARAM(region_without_a_fault_queue_is_refused, region_gen_params),
	KUNIT_CASE_PARAM(failed_advice_maps_no_page,
			 region_gen_params),
	KUNIT_CASE(keys_of_an_implicit_region_count_for_its_user),
	KUNIT_CASE(parts_of_an_implicit_region_count_as_paged_memory),
	KUNIT_CASE_PARAM(advice_of_several_ranges_maps_these_pages_only, region_gen_params),
	KUNIT_CASE(leaf_whose_key_may_be_gone_is_replaced),
	KUNIT_CASE(tree_whose_root_may_be_gone_does_not_grow),
	KUNIT_CASE(tree_without_a_root_does_not_grow),
	KUNIT_CASE(list_that_the_device_may_read_is_kept),
	KUNIT_CASE(kernel_consumer_may_advise),
	KUNIT_CASE(unknown_advice_is_refused),
	KUNIT_CASE(advice_waits_once_for_a_stuck_fault),
	KUNIT_CASE(advice_ends_when_the_caller_is_killed),
	KUNIT_CASE(registration_ends_when_the_caller_is_killed),
	KUNIT_CASE(advice_is_repeated_after_a_signal),
	KUNIT_CASE(advice_ends_when_the_device_is_removed),
	KUNIT_CASE(closed_context_makes_room_for_advice),
	KUNIT_CASE(advice_of_a_user_wakes_no_other_user),
	KUNIT_CASE(page_that_the_device_may_write_becomes_dirty),
	KUNIT_CASE_PARAM(partial_unmap_clears_its_own_pages, region_gen_params),
	KUNIT_CASE(dead_leaf_gets_no_more_requests),
	KUNIT_CASE(dead_leaf_of_an_implicit_region_is_replaced),
	KUNIT_CASE(leaf_that_dies_while_pages_are_mapped_is_replaced),
	KUNIT_CASE_PARAM(any_part_can_be_unmapped_alone, region_gen_params),
	KUNIT_CASE(new_region_has_the_pages_that_its_process_has),
	KUNIT_CASE(region_that_is_created_while_umr_is_stopped_is_mapped_later),
	KUNIT_CASE_PARAM(every_key_of_a_region_has_its_rights_and_domain, region_gen_params),
	KUNIT_CASE(pages_of_a_leaf_are_read_under_its_lock),
	KUNIT_CASE(notifier_that_must_not_sleep_refuses),
	KUNIT_CASE(leaves_come_and_go_without_their_neighbours),
	KUNIT_CASE(neighbour_of_a_leaf_that_may_be_gone_is_linked_alone),
	KUNIT_CASE(leaf_that_could_not_be_removed_loses_its_pages),
	KUNIT_CASE(leaf_that_has_pages_again_is_reclaimed_later),
	KUNIT_CASE(range_over_two_leaves_is_mapped_in_both),
	KUNIT_CASE(implicit_region_ends_with_the_address_space),
	KUNIT_CASE(region_that_cannot_be_is_refused_at_once),
	KUNIT_CASE_PARAM(region_of_a_closed_context_is_freed_in_any_case, region_gen_params),
	KUNIT_CASE(key_of_a_closed_context_is_not_found),
	KUNIT_CASE_PARAM(exit_of_a_process_clears_its_low_memory, low_gen_params),
	KUNIT_CASE(chunk_exists_only_while_it_has_pages),
	KUNIT_CASE_PARAM(paged_region_for_windows_is_refused, region_gen_params),
	KUNIT_CASE(iova_has_the_page_offset_of_the_address),
	KUNIT_CASE(destroyed_key_is_not_shown),
	KUNIT_CASE_PARAM(region_without_umr_is_refused, region_gen_params),
	KUNIT_CASE(range_of_a_region_is_told_to_its_process_only),
	KUNIT_CASE(implicit_region_holds_the_address_space),
	KUNIT_CASE_PARAM(region_releases_its_process, region_gen_params),
	KUNIT_CASE(refused_setup_of_umr_leaves_nothing),
	KUNIT_CASE(paging_whose_umr_is_refused_is_not_set_up),
	KUNIT_CASE(device_without_umr_has_no_paging),
	KUNIT_CASE(paging_needs_each_of_its_capabilities),
	KUNIT_CASE(services_are_those_of_the_scheme_of_the_device),
	KUNIT_CASE_PARAM(failure_of_any_allocation_leaves_no_region, region_gen_params),
	{}
};

static struct kunit_suite odp_create_suite = {
	.name = "bluebell_odp_create",
	.test_cases = odp_create_cases,
};

kunit_test_suite(odp_create_suite);
