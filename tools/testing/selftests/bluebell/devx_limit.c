// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many processes with a user id of the firmware each (DEVX), and a process for which no user id is
 * left.
 */
#include <errno.h>
#include <glob.h>
#include <infiniband/mlx5dv.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "devx_cmd.h"
#include "klog.h"
#include "test.h"

#define MANY 1000
/* Contexts of a process that takes many: a process may have 1,024 files open. */
#define EACH 512
/* What Bluebell logs. The stock driver logs nothing, nor does mlx5_core. */
#define LOG_LIMIT "DEVX uids of the device are in use (log_max_uctx is "
/* The driver logs at most one line in this time. */
#define LOG_SECONDS 10
/* Contexts that are refused one after the other. */
#define REFUSED 20

/* Processes that hold contexts with user ids, until the write end of @hold is closed. */
struct crowd {
	struct ibv_device **list;
	int report[2], hold[2];
	unsigned int processes, contexts;
};

/* Open the first device of @list with a user id; NULL with errno if there is none left. */
static struct ibv_context *open_with_id(struct ibv_device **list)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };

	return mlx5dv_open_device(list[0], &attr);
}

static int create_object(struct ibv_context *ctx)
{
	uint32_t handle;

	return devx_alloc(ctx->cmd_fd, DEVX_ALLOC_PD, &handle);
}

/* Open a context as programs do, and create an object that its id owns. */
static int open_for_object(struct crowd *c)
{
	struct ibv_context *ctx = open_with_id(c->list);

	return !ctx || create_object(ctx);
}

static void __noreturn crowd_member(struct crowd *c, unsigned int contexts,
				    int (*open_one)(struct crowd *c))
{
	char err = 0, byte;

	close(c->hold[1]);
	while (contexts-- && !err)
		err = !!open_one(c);
	if (write(c->report[1], &err, 1) != 1)
		_exit(1);
	_exit(read(c->hold[0], &byte, 1) != 0);
}

/* Start a process that holds @contexts contexts. Returns 0, or -1 if it does not get them. */
static int crowd_join(struct crowd *c, unsigned int contexts, int (*open_one)(struct crowd *c))
{
	pid_t pid = fork();
	char err;

	if (!pid)
		crowd_member(c, contexts, open_one);
	if (pid < 0)
		return -1;
	c->processes++;
	if (read(c->report[0], &err, 1) != 1 || err)
		return -1;
	c->contexts += contexts;
	return 0;
}

/* Open a context with nothing but an id, so that the ids run out before the UARs do. */
static int open_bare(struct crowd *c)
{
	const struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16,
		.num_low_latency_bfregs = 4,
		.max_cqe_version = 1,
		.flags = MLX5_IB_ALLOC_UCTX_DEVX,
		.lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR,
	};
	struct uv uv;

	return uv_open_req(&uv, &req);
}

/* Take @ids user ids, with few processes. Returns 0, or -1 if there are not so many. */
static int crowd_take(struct crowd *c, unsigned int ids)
{
	while (c->contexts < ids)
		if (crowd_join(c, ids - c->contexts < EACH ? ids - c->contexts : EACH, open_bare))
			return -1;
	return 0;
}

/* End the processes. Returns how many did not end well. */
static unsigned int crowd_leave(struct crowd *c)
{
	unsigned int bad = 0;
	int status;

	close(c->hold[1]);
	for (; c->processes; c->processes--)
		bad += wait(&status) < 0 || status;
	return bad;
}

/* Number of contexts with a user id in the driver's report in debugfs. */
static int contexts_in_report(void)
{
	unsigned int uid;
	char line[256];
	glob_t files;
	int n = 0;
	FILE *f;

	if (glob("/sys/kernel/debug/mlx5/*/uars", 0, NULL, &files))
		return -1;
	f = fopen(files.gl_pathv[0], "r");
	globfree(&files);
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		n += sscanf(line, "context pid=%*d uid=%u", &uid) == 1 && uid;
	fclose(f);
	return n;
}

FIXTURE(limit) {
	struct crowd crowd;
	unsigned int ids;	/* user ids that the device still has at the start */
};

FIXTURE_SETUP(limit)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	self->ids = hca_objects_left("uctx");
	self->crowd.list = ibv_get_device_list(NULL);
	ASSERT_TRUE(self->crowd.list && self->crowd.list[0]);
	ASSERT_EQ(0, pipe(self->crowd.report));
	ASSERT_EQ(0, pipe(self->crowd.hold));
	ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(limit)
{
	if (!self->crowd.list)
		return;
	EXPECT_EQ(0, crowd_leave(&self->crowd));
	EXPECT_CENSUS_UNCHANGED();
	ibv_free_device_list(self->crowd.list);
}

TEST_F_TIMEOUT(limit, a_thousand_processes_hold_a_context_each, 900)
{
	long contexts = hca_census_count("uctx"), domains = hca_census_users("pd");

	if (self->ids < MANY)
		SKIP(return, "the device has fewer than %d user ids", MANY);
	while (self->crowd.contexts < MANY)
		ASSERT_EQ(0, crowd_join(&self->crowd, 1, open_for_object))
			TH_LOG("process %u", self->crowd.processes);
	EXPECT_EQ(contexts + MANY, hca_census_count("uctx"));
	EXPECT_EQ(domains + MANY, hca_census_users("pd"));
	if (driver_is("bluebell"))
		EXPECT_EQ(MANY, contexts_in_report());
}

/* The log names the limit, but not for each refusal: any user can cause many. */
TEST_F_TIMEOUT(limit, one_context_too_many_is_refused_by_name, 900)
{
	int logged = klog_count(LOG_LIMIT), i;
	struct ibv_context *ctx;
	struct uv uv;

	ASSERT_EQ(0, crowd_take(&self->crowd, self->ids))
		TH_LOG("after %u contexts", self->crowd.contexts);
	/* After a line of an earlier test the driver is silent for LOG_SECONDS. */
	if (logged && driver_is("bluebell"))
		sleep(LOG_SECONDS + 1);
	/* libmlx5 repeats a request that was refused, so the HCA may refuse any number of times. */
	ASSERT_EQ(0, hca_expect("refuse CREATE_UCTX LIM_ERR"));
	for (i = 0; i < REFUSED; i++)
		EXPECT_EQ(-ENOMEM, uv_open_devx(&uv));
	EXPECT_EQ(NULL, open_with_id(self->crowd.list));
	EXPECT_EQ(ENOMEM, errno);
	if (driver_is("bluebell")) {
		EXPECT_LT(logged, klog_count(LOG_LIMIT));
		EXPECT_GT(logged + REFUSED / 2, klog_count(LOG_LIMIT));
	}
	/* The library opens the device without an id for a program that did not ask for one. */
	ctx = ibv_open_device(self->crowd.list[0]);
	ASSERT_NE(NULL, ctx);
	EXPECT_EQ(0, ibv_close_device(ctx));
}

TEST_F_TIMEOUT(limit, an_id_that_is_given_back_is_for_the_next, 900)
{
	struct ibv_context *mine, *next;

	/* Fork the processes before @mine is opened: they must not inherit it. */
	ASSERT_EQ(0, crowd_take(&self->crowd, self->ids - 1))
		TH_LOG("after %u contexts", self->crowd.contexts);
	mine = open_with_id(self->crowd.list);
	ASSERT_NE(NULL, mine);
	ASSERT_EQ(0, hca_expect("refuse CREATE_UCTX LIM_ERR"));
	EXPECT_EQ(NULL, open_with_id(self->crowd.list));
	EXPECT_EQ(0, ibv_close_device(mine));
	next = open_with_id(self->crowd.list);
	ASSERT_NE(NULL, next);
	EXPECT_EQ(0, create_object(next));
	EXPECT_EQ(0, ibv_close_device(next));
}

TEST_HARNESS_MAIN
