/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * For every verb: let its first firmware command fail, then its second, and so on until the verb
 * succeeds because it sends no more commands; on a kernel with fault injection do the same with its
 * memory allocations. After each failure the errno must be right, no firmware object and no pinned
 * page may be left, and the verb must work when tried again.
 *
 * A program includes this once, and adds its verbs as variants of the fixture.
 */
#ifndef BLUEBELL_FAIL_NTH_H
#define BLUEBELL_FAIL_NTH_H

#include <fcntl.h>
#include <sys/syscall.h>

#include "devx_cmd.h"
#include "kernel_file.h"
#include "mover.h"
#include "test.h"
#include "umad.h"

#define BUF_PAGES 4
#define UMEM_PAGES 12	/* so many that the driver allocates the command */
#define MAX_COMMANDS 64
/* How often to repeat a verb that succeeded because a background command was refused instead. */
#define MAX_REPEATS 3
#define MAX_ALLOCATIONS 2000

/*
 * What a verb works on. All of it is created before the call under test, so that this call is a
 * single system call.
 */
struct env {
	struct uv uv;
	uint32_t pd, pd2;
	struct uv_cq cq, cq2;
	struct uv_mem qp_mem, srq_mem;
	struct uv_srq srq;
	uint32_t xrcd, opened;
	struct uv_qp_req qp_req;
	struct uv_qp qp;
	struct ib_uverbs_reg_mr_resp mr;
	struct uv_uar uar;
	struct uv_dm dm;
	uint32_t dm_mr;
	struct ib_uverbs_alloc_mw_resp mw;
	int dmabuf;
	uint32_t dmabuf_mr, dmabuf_lkey;
	uint32_t new_pd, new_ah;
	uint32_t devx_obj, devx_num, devx_pdn;
	int devx_file;
	uint32_t rate;
	struct devx_umem umem;
	uint32_t cqn;
	struct ib_uverbs_create_cq_resp new_cq;
	struct mlx5_ib_create_cq cq_drv;
	uint8_t *buf;
	void *map;
	int fd;
	struct agent agent;
	unsigned int next_wc;
};

struct verb {
	int (*prep)(struct env *e);	/* before each try */
	int (*act)(struct env *e);	/* the system call under test */
	int (*undo)(struct env *e);	/* after an act that succeeded */
	int (*fini)(struct env *e);	/* undoes prep */
	bool lenient;			/* may succeed although a command was refused */
	bool makes_key;			/* creates a memory key by CREATE_MKEY */
	bool answers_last;		/* ib_core copies the answer last: -EFAULT if that fails */
};

static inline int fini_fd(struct env *e)
{
	return close(e->fd) ? -errno : 0;
}

FIXTURE(verb) {
	struct env e;
};

FIXTURE_VARIANT(verb) {
	struct verb v;
	const char *needs;	/* a capability of the device, "qp0" or "blueflame", or NULL */
	bool opens_itself;	/* prep opens the context */
	bool moves;		/* works on memory that moves: needs the module dmabuf_mover */
	bool moved;		/* the memory does move: needs a kernel that does not pin it */
	bool mlx5_ib_cannot;	/* mlx5_ib does not support the verb without on-demand paging */
	bool only_bluebell;	/* promises that a refused command leaves nothing behind */
	bool no_allocations;	/* the test of allocations leaves the verb out */
};

FIXTURE_SETUP(verb)
{
	struct env *e = &self->e;

	e->uv.fd = -1;
	e->buf = mmap(NULL, UMEM_PAGES * UV_PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(MAP_FAILED, e->buf);
	if (variant->opens_itself)
		return;
	ASSERT_EQ(0, uv_open(&e->uv));
	ASSERT_EQ(0, uv_alloc_pd(e->uv.fd, &e->pd, NULL));
	ASSERT_EQ(0, uv_alloc_pd(e->uv.fd, &e->pd2, NULL));
	ASSERT_EQ(0, uv_create_cq(e->uv.fd, 63, &e->cq));
}

static bool driver_offers_blueflame(void)
{
	struct uv uv;
	bool has;

	if (uv_open(&uv))
		return false;
	has = has_blueflame(&uv);
	uv_close(&uv);
	return has;
}

/*
 * Whether a general capability can be used. For paging, XRC and BlueFlame the driver is asked,
 * because it may not offer what the device has; for other capabilities the emulated HCA is asked.
 */
static bool device_can(const char *cap)
{
	struct ibv_context *ctx;
	bool has;

	if (!strcmp(cap, "qp0"))
		return !port_is_ethernet() && umad_is_there();
	if (!strcmp(cap, "blueflame"))
		return driver_offers_blueflame();
	if (strcmp(cap, "pg") && strcmp(cap, "xrc"))
		return hca_cap("general", cap);
	ctx = rdma_open_device();
	has = ctx && (*cap == 'x' ? rdma_has_xrc(ctx) : rdma_has_odp(ctx));
	if (ctx)
		ibv_close_device(ctx);
	return has;
}

/*
 * Why a capability is missing, as the reason to skip a verb that needs it, or NULL if
 * it is there.
 */
static const char *why_missing(const char *needs)
{
	const char *const reasons[][2] = {
		{ "pg", "the device has no on-demand paging" },
		{ "uc", NO_UC },
		{ "xrc", NO_XRC },
		{ "device_memory", "the device has no device memory" },
		{ "cq_resize", "the device does not resize CQs" },
		{ "log_max_uctx", NO_USER_IDS },
		{ "qp0", port_is_ethernet() ? NO_QP0 : NO_UMAD },
		{ "blueflame", NO_BLUEFLAME },
		{ "log_max_umem", NO_UMEMS },
		{ "qos", "the device has no rates" },
	};
	size_t i;

	if (!needs || device_can(needs))
		return NULL;
	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (!strcmp(reasons[i][0], needs))
			return reasons[i][1];
	return needs;
}

FIXTURE_TEARDOWN(verb)
{
	uv_close(&self->e.uv);
}

/* Prepare, call, undo and clean up once, without injecting a failure. */
static int run_verb_once(const struct verb *v, struct env *e)
{
	int ret = v->prep ? v->prep(e) : 0;

	ret = ret ?: v->act(e);
	if (!ret && v->undo)
		ret = v->undo(e);
	return ret ?: v->fini ? v->fini(e) : 0;
}

/* --- Every firmware command ------------------------------------------------------------------- */

/*
 * Firmware may have refused a command of background work, such as the refill of the key pool, in
 * place of the command under test. The next call of the verb starts the work again, and the next
 * injection would hit it again. So call the verb once without an injection, and wait until the work
 * has succeeded: until the HCA has executed no command for a while.
 */
static int let_background_end(const struct verb *v, struct env *e)
{
	int ret = run_verb_once(v, e);
	long before;

	do {
		before = hca_commands(NULL);
		usleep(20000);
	} while (hca_commands(NULL) != before);
	return ret;
}

static const struct {
	const char *name;
	int err;
} statuses[] = {
	{ "LIM_ERR", -ENOMEM },
	{ "BAD_PARAM_ERR", -EINVAL },
	{ "INT_ERR", -EIO },
};

/*
 * When the device has reached its limit of keys, Bluebell destroys a free key, if its pool has one,
 * and sends CREATE_MKEY again.
 */
static bool may_succeed(const struct verb *v, unsigned int status)
{
	return v->lenient ||
	       (v->makes_key && statuses[status].err == -ENOMEM && driver_is("bluebell"));
}

TEST_F(verb, each_refused_command_leaves_nothing)
{
	const struct verb *v = &variant->v;
	struct env *e = &self->e;
	unsigned int nth, s, repeats;
	bool in_background;
	long pinned;
	int ret, fired;

	if (why_missing(variant->needs))
		SKIP(return, "%s", why_missing(variant->needs));
	if (variant->mlx5_ib_cannot && driver_is("mlx5_ib") && run_verb_once(v, e) == -EOPNOTSUPP)
		SKIP(return, "mlx5_ib needs on-demand paging for this verb");
	if (variant->moves && mover_load() == -ENOENT)
		SKIP(return, NO_MOVER);
	if (variant->moved && mover_missing())
		SKIP(return, "%s", mover_missing());
	if (variant->only_bluebell && !driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	/* The driver keeps some objects that it creates at first use: let it create them now. */
	ASSERT_EQ(0, run_verb_once(v, e));
	for (s = 0; s < ARRAY_SIZE(statuses); s++) {
		for (nth = 1, repeats = 0; nth < MAX_COMMANDS; nth++) {
			ASSERT_EQ(0, v->prep ? v->prep(e) : 0);
			ASSERT_EQ(0, hca_census_reset());
			pinned = uv_pinned_pages();
			ASSERT_EQ(0, hca_inject_cmd(nth, statuses[s].name));
			ret = v->act(e);
			fired = hca_inject_clear();
			ASSERT_LE(0, fired);
			in_background = fired && !ret && !may_succeed(v, s) &&
					repeats++ < MAX_REPEATS;
			if (in_background)
				nth--;
			else if (fired && !v->lenient && (ret || !may_succeed(v, s)))
				EXPECT_EQ(statuses[s].err, ret)
					TH_LOG("command %u refused with %s", nth, statuses[s].name);
			if (!fired)
				EXPECT_EQ(0, ret);
			if (!ret && v->undo)
				ASSERT_EQ(0, v->undo(e));
			if (ret || v->undo) {
				EXPECT_CENSUS_UNCHANGED() TH_LOG("command %u refused with %s", nth,
								 statuses[s].name);
				EXPECT_EQ(pinned, uv_pinned_pages());
			}
			ASSERT_EQ(0, v->fini ? v->fini(e) : 0);
			if (in_background)
				ASSERT_EQ(0, let_background_end(v, e));
			if (!fired)
				break;
		}
		ASSERT_GT(MAX_COMMANDS, nth);
	}
}

/* --- Every allocation ------------------------------------------------------------------------- */

static const char *const fault_dirs[] = { "failslab", "fail_page_alloc", "fail_usercopy" };

static void write_knob(const char *dir, const char *name, const char *val)
{
	char path[128];
	int ret;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", dir, name);
	ret = write_file(path, "%s", val);
	if (ret && ret != -ENOENT)
		fprintf(stderr, "# cannot write %s to %s: %s\n", val, path, strerror(-ret));
}

/*
 * Let any kind of allocation fail, without a message; false if the kernel has no fault
 * injection.
 */
static bool open_fail_nth(int *fd)
{
	char path[64];
	size_t i;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/fail-nth", syscall(SYS_gettid));
	*fd = open(path, O_RDWR);
	if (*fd < 0)
		return false;
	for (i = 0; i < ARRAY_SIZE(fault_dirs); i++) {
		write_knob(fault_dirs[i], "ignore-gfp-wait", "N");
		write_knob(fault_dirs[i], "ignore-gfp-highmem", "N");
		write_knob(fault_dirs[i], "verbose", "0");
	}
	return true;
}

static void fail_nth_set(int fd, unsigned int nth)
{
	char buf[16];
	int len = snprintf(buf, sizeof(buf), "%u", nth);

	/*
	 * The write itself may be the call whose allocation fails. That ends the injection, so the
	 * second attempt succeeds.
	 */
	if (pwrite(fd, buf, len, 0) != len && pwrite(fd, buf, len, 0) != len)
		fprintf(stderr, "# fail-nth: cannot write: %m\n");
}

/* Whether the n-th allocation was reached, and failed. */
static bool fail_nth_hit(int fd)
{
	char buf[16] = "";

	if (pread(fd, buf, sizeof(buf) - 1, 0) < 0)
		return false;
	return atoi(buf) == 0;
}

/*
 * Repeat a call that returned -EFAULT, either because its request could not be read, or because its
 * answer could not be written after the work was done. In the second case a destroy finds no
 * object.
 */
static int repeat_act(const struct verb *v, struct env *e)
{
	int ret = v->act(e);

	return ret == -ENOENT ? 0 : ret;
}

TEST_F_TIMEOUT(verb, each_failed_allocation_leaves_nothing, 600)
{
	const struct verb *v = &variant->v;
	struct env *e = &self->e;
	unsigned int nth;
	long pinned;
	int ret, fd;
	bool hit;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (variant->no_allocations)
		SKIP(return, "ib_core does not survive the failure of its own allocations");
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (why_missing(variant->needs))
		SKIP(return, "%s", why_missing(variant->needs));
	if (variant->moves && mover_load() == -ENOENT)
		SKIP(return, NO_MOVER);
	if (variant->moved && mover_missing())
		SKIP(return, "%s", mover_missing());
	if (!open_fail_nth(&fd))
		SKIP(return, "the kernel has no fault injection");
	ASSERT_EQ(0, run_verb_once(v, e));
	for (nth = 1; nth < MAX_ALLOCATIONS; nth++) {
		ASSERT_EQ(0, v->prep ? v->prep(e) : 0);
		ASSERT_EQ(0, hca_census_reset());
		pinned = uv_pinned_pages();
		fail_nth_set(fd, nth);
		ret = v->act(e);
		hit = fail_nth_hit(fd);
		fail_nth_set(fd, 0);
		/*
		 * A verb may succeed without the allocation, but must not fail for any other
		 * reason.
		 */
		EXPECT_TRUE(!ret || hit) TH_LOG("allocation %u: %d", nth, ret);
		if (v->answers_last && ret == -EFAULT) {
			ret = repeat_act(v, e);
			ASSERT_EQ(0, ret) TH_LOG("after allocation %u", nth);
		}
		if (!ret && v->undo)
			ASSERT_EQ(0, v->undo(e));
		if (ret || v->undo) {
			EXPECT_CENSUS_UNCHANGED() TH_LOG("allocation %u failed", nth);
			EXPECT_EQ(pinned, uv_pinned_pages()) TH_LOG("allocation %u failed", nth);
		}
		ASSERT_EQ(0, v->fini ? v->fini(e) : 0);
		if (!hit)
			break;
	}
	close(fd);
	ASSERT_GT(MAX_ALLOCATIONS, nth);
}

#endif
