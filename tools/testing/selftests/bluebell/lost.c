// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands that create or destroy objects of every kind, and that firmware answers late (after the
 * driver has given up), only after the end of the test, in another order, or with a refusal. The
 * objects are destroyed by verbs, at the end of their process, or when the driver is unbound. Each
 * kind of object has a process of its own, and all of these processes run at the same time.
 */
#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "binding.h"
#include "child.h"
#include "consumer.h"
#include "devx_cmd.h"
#include "kernel_file.h"
#include "recovery.h"
#include "test.h"
#include "xrc.h"

#define PATIENT "the driver waits for a minute: use the profile impatient"
/* mlx5_core waits for five seconds more, in case the event that tells of the answer was lost. */
#define GRACE_MS 5000
/* How long after these five seconds a late answer comes. */
#define LATE_MS 1500
/*
 * A lost answer comes after the end of the test. Until then the command occupies one of 31 slots.
 */
#define LOST_MS 20000
/* The driver tries to destroy an object again after 64 seconds at most. */
#define UNPINNED_MS 70000
/* More objects of each kind than a test leaves: some get the numbers of destroyed objects again. */
#define FRESH 40
/* Verbs do not report this status as EIO, an errno that libibverbs takes for success. */
#define REFUSAL "BAD_RES_STATE"
#define MW_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)

/* What a process has that creates objects. */
struct env {
	struct rdma r;
	void *mem;
	uint32_t handle;
	union ibv_gid gid;
	struct ibv_xrcd *xrcd;
};

/*
 * A kind of object. @create returns NULL if it fails; @destroy returns 0 or an errno. @has is NULL
 * for what every device has.
 */
struct kind {
	const char *name;
	const char *create_op, *destroy_op;
	void *(*create)(struct env *e);
	int (*destroy)(struct env *e, void *object);
	bool silent;	/* @destroy returns 0 whatever firmware says */
	bool kept;	/* firmware keeps the object for good if it goes on refusing */
	bool pins;	/* memory of the process */
	unsigned int most;	/* objects of all processes, if the device has few */
	bool (*has)(struct env *e);
};

static void *create_qp(struct env *e, enum ibv_qp_type type)
{
	struct qp_cfg cfg = { .type = type };

	return rdma_qp_create(&e->r, e->r.cq, &cfg);
}

static void *create_rc(struct env *e)
{
	return create_qp(e, IBV_QPT_RC);
}

static void *create_uc(struct env *e)
{
	return create_qp(e, IBV_QPT_UC);
}

static void *create_ud(struct env *e)
{
	return create_qp(e, IBV_QPT_UD);
}

static void *create_initiator(struct env *e)
{
	return create_qp(e, IBV_QPT_XRC_SEND);
}

static int destroy_qp(struct env *e, void *qp)
{
	return ibv_destroy_qp(qp);
}

static bool has_uc(struct env *e)
{
	return rdma_has_qp_type(IBV_QPT_UC);
}

static bool has_xrc(struct env *e)
{
	return rdma_has_xrc(e->r.ctx);
}

static void *create_cq(struct env *e)
{
	return ibv_create_cq(e->r.ctx, 100, NULL, NULL, 0);
}

static int destroy_cq(struct env *e, void *cq)
{
	return ibv_destroy_cq(cq);
}

static void *create_srq(struct env *e)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 10, .max_sge = 1 } };

	return ibv_create_srq(e->r.pd, &init);
}

static int destroy_srq(struct env *e, void *srq)
{
	return ibv_destroy_srq(srq);
}

static void *create_pd(struct env *e)
{
	return ibv_alloc_pd(e->r.ctx);
}

static int destroy_pd(struct env *e, void *pd)
{
	return ibv_dealloc_pd(pd);
}

/* Windows can be bound to the region, so its key is not one of the driver's pool. */
static void *create_mr(struct env *e)
{
	return ibv_reg_mr(e->r.pd, e->mem, UV_PAGE, MW_ACCESS);
}

static int destroy_mr(struct env *e, void *mr)
{
	return ibv_dereg_mr(mr);
}

static void *create_mw(struct env *e)
{
	return ibv_alloc_mw(e->r.pd, IBV_MW_TYPE_1);
}

static int destroy_mw(struct env *e, void *mw)
{
	return ibv_dealloc_mw(mw);
}

static bool has_windows(struct env *e)
{
	struct ibv_device_attr attr;

	return !ibv_query_device(e->r.ctx, &attr) && attr.max_mw;
}

static void *create_xrcd(struct env *e)
{
	return rdma_open_xrcd(e->r.ctx, -1, O_CREAT);
}

static int destroy_xrcd(struct env *e, void *xrcd)
{
	return ibv_close_xrcd(xrcd);
}

/* The domain of the process's XRC objects, which the end of the process destroys. */
static struct ibv_xrcd *common_xrcd(struct env *e)
{
	if (!e->xrcd)
		e->xrcd = rdma_open_xrcd(e->r.ctx, -1, O_CREAT);
	return e->xrcd;
}

static void *create_xrc_srq(struct env *e)
{
	return common_xrcd(e) ? xrc_create_srq(&e->r, e->xrcd, e->r.cq) : NULL;
}

static void *create_target(struct env *e)
{
	return common_xrcd(e) ? xrc_create_target(&e->r, e->xrcd) : NULL;
}

static void *create_uar(struct env *e)
{
	struct uv_uar *uar = calloc(1, sizeof(*uar));

	return uar && !uv_alloc_uar(e->r.ctx->cmd_fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, uar) ? uar :
											   NULL;
}

static int destroy_uar(struct env *e, void *object)
{
	struct uv_uar *uar = object;

	return -uv_free_uar(e->r.ctx->cmd_fd, uar->handle);
}

static void *create_umem(struct env *e)
{
	struct devx_umem *umem = calloc(1, sizeof(*umem));

	if (!umem)
		return NULL;
	*umem = (struct devx_umem){ .addr = (uintptr_t)e->mem, .len = UV_PAGE, .access = 1 };
	return devx_reg_umem(e->r.ctx->cmd_fd, umem) ? NULL : umem;
}

static int destroy_umem(struct env *e, void *object)
{
	struct devx_umem *umem = object;

	return -devx_dereg_umem(e->r.ctx->cmd_fd, umem->handle);
}

static bool has_umems(struct env *e)
{
	return devx_has_umems();
}

static bool has_user_ids(struct env *e)
{
	return devx_has_user_ids();
}

static void *alloc_by_command(struct env *e, uint16_t opcode)
{
	uint32_t *handle = calloc(1, sizeof(*handle));

	return handle && !devx_alloc(e->r.ctx->cmd_fd, opcode, handle) ? handle : NULL;
}

static void *create_devx_obj(struct env *e)
{
	return alloc_by_command(e, DEVX_ALLOC_PD);
}

static int destroy_devx_obj(struct env *e, void *object)
{
	return -devx_destroy(e->r.ctx->cmd_fd, *(uint32_t *)object);
}

static void *create_counter_set(struct env *e)
{
	return alloc_by_command(e, DEVX_ALLOC_Q_COUNTER);
}

static void *create_dm(struct env *e)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };

	return ibv_alloc_dm(e->r.ctx, &attr);
}

static int destroy_dm(struct env *e, void *dm)
{
	return ibv_free_dm(dm);
}

static bool has_dm(struct env *e)
{
	struct ibv_device_attr_ex attr;

	return !ibv_query_device_ex(e->r.ctx, NULL, &attr) && attr.max_dm_size;
}

/* The membership of a queue pair in a multicast group. */
static void *create_member(struct env *e)
{
	struct ibv_qp *qp = create_ud(e);

	if (!qp)
		return NULL;
	e->gid = (union ibv_gid){ .raw = { 0xff, 0x12, [14] = getpid() >> 8, [15] = getpid() } };
	return ibv_attach_mcast(qp, &e->gid, 0xc000) ? NULL : qp;
}

static int destroy_member(struct env *e, void *qp)
{
	return ibv_detach_mcast(qp, &e->gid, 0xc000);
}

static const struct kind kinds[] = {
	{ "RC", "CREATE_QP", "DESTROY_QP", create_rc, destroy_qp, .pins = true },
	{ "UC", "CREATE_QP", "DESTROY_QP", create_uc, destroy_qp, .pins = true, .has = has_uc },
	{ "UD", "CREATE_QP", "DESTROY_QP", create_ud, destroy_qp, .pins = true },
	{ "XRC initiator", "CREATE_QP", "DESTROY_QP", create_initiator, destroy_qp, .pins = true,
	  .has = has_xrc },
	{ "CQ", "CREATE_CQ", "DESTROY_CQ", create_cq, destroy_cq, .pins = true },
	{ "SRQ", "CREATE_RMP", "DESTROY_RMP", create_srq, destroy_srq, .pins = true },
	{ "PD", "ALLOC_PD", "DEALLOC_PD", create_pd, destroy_pd },
	{ "MR", "CREATE_MKEY", "DESTROY_MKEY", create_mr, destroy_mr, .pins = true },
	{ "MW", "CREATE_MKEY", "DESTROY_MKEY", create_mw, destroy_mw, .has = has_windows },
	{ "XRCD", "ALLOC_XRCD", "DEALLOC_XRCD", create_xrcd, destroy_xrcd, .silent = true,
	  .has = has_xrc },
	/*
	 * While either of the next two exists, firmware refuses to destroy the process's XRC
	 * domain.
	 */
	{ "XRC SRQ", "CREATE_XRC_SRQ", "DESTROY_XRC_SRQ", create_xrc_srq, destroy_srq,
	  .pins = true, .has = has_xrc },
	{ "XRC target", "CREATE_QP", "DESTROY_QP", create_target, destroy_qp, .silent = true,
	  .has = has_xrc },
	{ "UAR", "ALLOC_UAR", "DEALLOC_UAR", create_uar, destroy_uar, .silent = true,
	  .kept = true },
	{ "umem", "CREATE_UMEM", "DESTROY_UMEM", create_umem, destroy_umem, .pins = true,
	  .has = has_umems },
	/*
	 * A PD, because no @silent kind is destroyed by DEALLOC_PD. If a @silent kind had the same
	 * command, the driver would repeat it by itself when it is refused, and the repetitions
	 * would use up refusals that are injected for this kind.
	 */
	{ "DEVX object", "ALLOC_PD", "DEALLOC_PD", create_devx_obj, destroy_devx_obj,
	  .has = has_user_ids },
	{ "group member", "ATTACH_TO_MCG", "DETACH_FROM_MCG", create_member, destroy_member,
	  .silent = true },
	{ "counter set", "ALLOC_Q_COUNTER", "DEALLOC_Q_COUNTER", create_counter_set,
	  destroy_devx_obj, .has = has_user_ids },
	/* An allocation takes a page of device memory. */
	{ "DM", "ALLOC_MEMIC", "DEALLOC_MEMIC", create_dm, destroy_dm, .silent = true,
	  .most = 16, .has = has_dm },
};

#define NUM_KINDS ARRAY_SIZE(kinds)

/* What the parent and the processes share. */
struct shared {
	volatile bool go, end;
	struct {
		volatile bool absent, done;
		volatile int first, second;	/* what the first and the second attempt return */
		volatile long pinned;		/* pages of the process at the end */
	} of[NUM_KINDS];
};

static struct shared *shared;

static int env_open(struct env *e)
{
	e->mem = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return e->mem == MAP_FAILED ? -1 : rdma_open(&e->r);
}

static void wait_for(const volatile bool *flag)
{
	while (!*flag)
		usleep(1000);
}

/* A child: create an object, destroy the object if told so, and then close the context. */
static int own(void *arg, int ready)
{
	const struct kind *kind = arg;
	unsigned int i = kind - kinds;
	void *object = NULL;
	struct env e = {};
	long pinned;

	if (env_open(&e))
		return 1;
	pinned = uv_pinned_pages();
	shared->of[i].absent = kind->has && !kind->has(&e);
	if (!shared->of[i].absent) {
		object = kind->create(&e);
		if (!object)
			return 2;
	}
	if (child_ready(ready))
		return 3;
	wait_for(&shared->go);
	if (object && !shared->end) {
		shared->of[i].first = kind->destroy(&e, object);
		shared->of[i].done = true;
		wait_for(&shared->end);
		if (shared->of[i].first)
			shared->of[i].second = kind->destroy(&e, object);
		shared->of[i].pinned = kind->pins ? uv_pinned_pages() - pinned : 0;
	}
	/* The kernel destroys what is left when this process exits. */
	return 0;
}

/* Creates many objects of each kind, and destroys them. */
static int create_fresh(void *arg, int ready)
{
	void *objects[FRESH];
	struct env e = {};
	unsigned int i, k;

	if (env_open(&e))
		return 1;
	for (k = 0; k < NUM_KINDS; k++) {
		if (kinds[k].has && !kinds[k].has(&e))
			continue;
		for (i = 0; i < (kinds[k].most ?: FRESH); i++) {
			objects[i] = kinds[k].create(&e);
			if (!objects[i])
				return 10 + k;
		}
		while (i--)
			if (kinds[k].destroy(&e, objects[i]))
				return 100 + k;
	}
	rdma_close(&e.r);
	return child_ready(ready);
}

enum way { BY_USER, BY_EXIT, BY_UNBIND };

FIXTURE(destroy) {
	struct binding binding;
	pid_t pid[NUM_KINDS];
	long pinned;	/* pages, of all processes */
};

FIXTURE_VARIANT(destroy) {
	enum way way;
	unsigned int late_ms;	/* after the driver has given up; 0: answers are not late */
	const char *status;	/* with which firmware refuses the commands, or NULL */
	bool always;
	bool reorder;
};

FIXTURE_VARIANT_ADD(destroy, by_user_late) { .way = BY_USER, .late_ms = LATE_MS };

FIXTURE_VARIANT_ADD(destroy, by_exit_late) { .way = BY_EXIT, .late_ms = LATE_MS };

FIXTURE_VARIANT_ADD(destroy, by_unbind_late) { .way = BY_UNBIND, .late_ms = LATE_MS };

FIXTURE_VARIANT_ADD(destroy, by_user_lost) { .way = BY_USER, .late_ms = LOST_MS };

FIXTURE_VARIANT_ADD(destroy, by_exit_lost) { .way = BY_EXIT, .late_ms = LOST_MS };

FIXTURE_VARIANT_ADD(destroy, by_unbind_lost) { .way = BY_UNBIND, .late_ms = LOST_MS };

FIXTURE_VARIANT_ADD(destroy, by_user_refused_once) { .way = BY_USER, .status = REFUSAL };

FIXTURE_VARIANT_ADD(destroy, by_exit_refused_once) { .way = BY_EXIT, .status = REFUSAL };

FIXTURE_VARIANT_ADD(destroy, by_unbind_refused_once) { .way = BY_UNBIND, .status = REFUSAL };

FIXTURE_VARIANT_ADD(destroy, by_user_refused_always) {
	.way = BY_USER, .status = REFUSAL, .always = true
};

FIXTURE_VARIANT_ADD(destroy, by_exit_refused_always) {
	.way = BY_EXIT, .status = REFUSAL, .always = true
};

FIXTURE_VARIANT_ADD(destroy, by_unbind_refused_always) {
	.way = BY_UNBIND, .status = REFUSAL, .always = true
};

FIXTURE_VARIANT_ADD(destroy, by_user_reordered) { .way = BY_USER, .reorder = true };

FIXTURE_VARIANT_ADD(destroy, by_exit_reordered) { .way = BY_EXIT, .reorder = true };

FIXTURE_VARIANT_ADD(destroy, by_unbind_reordered) { .way = BY_UNBIND, .reorder = true };

/* How many pages are pinned, of all processes, also of those that have ended. */
static long all_pinned_pages(void)
{
	long n, acquired = 0, released = 0;
	int refresh = open("/proc/sys/vm/stat_refresh", O_RDONLY);
	char line[128];
	FILE *f;

	/* The processors add what they have counted when this file is read. */
	if (read(refresh, line, sizeof(line)) < 0)
		return -1;
	close(refresh);
	f = fopen("/proc/vmstat", "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "nr_foll_pin_acquired %ld", &n) == 1)
			acquired = n;
		if (sscanf(line, "nr_foll_pin_released %ld", &n) == 1)
			released = n;
	}
	if (f)
		fclose(f);
	return acquired - released;
}

/* Wait until as few pages are pinned: the driver tries again from time to time. */
static long wait_for_pinned_pages(long want)
{
	double end = ms_now() + UNPINNED_MS;
	long n;

	while ((n = all_pinned_pages()) > want && ms_now() < end)
		usleep(100000);
	return n;
}

/* How long the driver waits for an answer, 0 if the HCA does not say. */
static long patience_ms(void)
{
	return hca_limit("command_timeout_ms");
}

/*
 * True if the test leaves out this kind: firmware refuses every command that destroys it, and may
 * keep the object for ever.
 */
static bool left_out(const struct _fixture_variant_destroy *v, const struct kind *kind)
{
	return v->always && kind->kept;
}

/* Whether the guest looks for memory that the driver has not freed (slab_debug=U,...). */
static bool unfreed_memory_is_a_failure(void)
{
	char line[4096] = "";
	FILE *f = fopen("/proc/cmdline", "r");

	if (f) {
		if (!fgets(line, sizeof(line), f))
			line[0] = 0;
		fclose(f);
	}
	return strstr(line, "slab_debug=");
}

FIXTURE_SETUP(destroy)
{
	unsigned int i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (variant->late_ms && !patience_ms())
		SKIP(return, PATIENT);
	if (variant->way == BY_UNBIND && variant->always && unfreed_memory_is_a_failure())
		SKIP(return, "the driver never frees this memory, which this guest looks for");
	ASSERT_EQ(0, binding_find(&self->binding));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	ASSERT_NE(MAP_FAILED, shared);
	/* Let the driver create the objects that it keeps from their first use on. */
	census_after_first_use(_metadata, IBV_QPT_RC);
	census_after_first_use(_metadata, IBV_QPT_XRC_SEND);
	self->pinned = all_pinned_pages();
	for (i = 0; i < NUM_KINDS; i++) {
		if (left_out(variant, &kinds[i]))
			continue;
		self->pid[i] = child_start(own, (void *)&kinds[i]);
		ASSERT_LT(0, self->pid[i]) TH_LOG("%s", kinds[i].name);
	}
}

FIXTURE_TEARDOWN(destroy)
{
	/* Wait for the lost answers, because the next test needs the command slots. */
	if (variant->late_ms == LOST_MS)
		usleep(LOST_MS * 1000);
	munmap(shared, sizeof(*shared));
}

/* Whether objects of kind @i take part, and are destroyed by the same command as kind @k. */
static bool is_alike(const struct _fixture_variant_destroy *v, unsigned int i, unsigned int k)
{
	return !left_out(v, &kinds[i]) && !shared->of[i].absent &&
	       !strcmp(kinds[i].destroy_op, kinds[k].destroy_op);
}

/*
 * Number of objects that are destroyed by the command of kind @k; 0 if an earlier kind has the same
 * command.
 */
static unsigned int num_alike(const struct _fixture_variant_destroy *v, unsigned int k)
{
	unsigned int i, n = 0;

	for (i = 0; i < NUM_KINDS; i++) {
		if (!is_alike(v, i, k))
			continue;
		if (i < k)
			return 0;
		n++;
	}
	return n;
}

/*
 * Have firmware answer a command late or refuse it, as often as @times says; 0: refuse it always.
 * Does nothing without a delay or a status.
 */
static int inject_failure(const char *op, unsigned int late_ms, const char *status,
			  unsigned int times)
{
	if (late_ms)
		return hca_do("inject cmd delay %lu %u %s", patience_ms() + GRACE_MS + late_ms,
			      times, op);
	if (status && times)
		return hca_do("inject op %s %s %u", op, status, times);
	return status ? hca_do("inject op %s %s", op, status) : 0;
}

static void set_failures(struct __test_metadata *_metadata,
			 const struct _fixture_variant_destroy *v)
{
	unsigned int i;

	if (v->reorder)
		ASSERT_EQ(0, hca_do("inject cmd reorder"));
	for (i = 0; i < NUM_KINDS; i++) {
		unsigned int n = num_alike(v, i);

		if (!n || v->reorder)
			continue;
		ASSERT_EQ(0, inject_failure(kinds[i].destroy_op, v->late_ms, v->status,
					    v->always ? 0 : n));
	}
}

static void end_processes(struct __test_metadata *_metadata, struct _test_data_destroy *self)
{
	int status, i;

	for (i = 0; i < NUM_KINDS; i++) {
		if (!self->pid[i])
			continue;
		ASSERT_EQ(self->pid[i], waitpid(self->pid[i], &status, 0));
		EXPECT_EQ(0, status) TH_LOG("%s: %d", kinds[i].name, WEXITSTATUS(status));
	}
}

/*
 * Whether the first attempt to destroy an object of kind @k may succeed, although firmware is to
 * refuse each object's first command. If a @silent kind has the same command, the driver repeats a
 * refused command, so one object of that kind may use up refusals that were meant for others.
 */
static bool may_be_spared(const struct _fixture_variant_destroy *v, unsigned int k)
{
	unsigned int i;

	for (i = 0; i < NUM_KINDS; i++)
		if (kinds[i].silent && is_alike(v, i, k))
			return !v->always;
	return false;
}

static void expect_results(struct __test_metadata *_metadata, struct _test_data_destroy *self,
			   const struct _fixture_variant_destroy *v)
{
	unsigned int i;

	for (i = 0; i < NUM_KINDS; i++)
		if (self->pid[i] && !shared->of[i].absent)
			wait_for(&shared->of[i].done);
	for (i = 0; i < NUM_KINDS; i++) {
		if (!self->pid[i] || shared->of[i].absent)
			continue;
		if (!shared->of[i].first && may_be_spared(v, i))
			continue;
		EXPECT_EQ(v->status && !kinds[i].silent, !!shared->of[i].first)
			TH_LOG("%s: %d", kinds[i].name, shared->of[i].first);
	}
}

/*
 * The driver was unbound while firmware refused to destroy any object. The device may use the
 * memory of the objects until it is reset. A driver that has been unbound does not learn of the
 * reset, so it never frees this memory.
 */
static void expect_objects_until_reset(struct __test_metadata *_metadata,
				       struct _test_data_destroy *self)
{
	unsigned int i, pins = 0;

	for (i = 0; i < NUM_KINDS; i++)
		pins += self->pid[i] && !shared->of[i].absent && kinds[i].pins;
	EXPECT_LE(self->pinned + pins, all_pinned_pages());
	EXPECT_LE(1, hca_census_count("qp"));
	ASSERT_EQ(0, allow_failures(&self->binding));
	ASSERT_EQ(0, binding_reset_function(&self->binding));
	EXPECT_TRUE(device_recovers());
	EXPECT_STREQ("", objects_of_before());
}

/*
 * Whatever firmware answers, and whichever process or task destroys the objects: in the end they
 * are destroyed, their memory is not pinned any more, and their numbers can be used again. Only if
 * firmware refuses until the driver is unbound, the objects stay until the device is reset.
 */
TEST_F_TIMEOUT(destroy, ends_in_the_end, 180)
{
	unsigned int i;
	int status;
	pid_t pid;

	/*
	 * Firmware may refuse to destroy objects to which others refer, and commands that are
	 * repeated.
	 */
	ASSERT_EQ(0, hca_expect("any"));
	set_failures(_metadata, variant);
	shared->end = variant->way == BY_EXIT;
	if (variant->way == BY_UNBIND)
		ASSERT_EQ(0, binding_do(&self->binding, "unbind"));
	shared->go |= variant->way != BY_UNBIND;
	if (variant->way == BY_USER)
		expect_results(_metadata, self, variant);
	if (variant->way == BY_EXIT)
		end_processes(_metadata, self);
	EXPECT_LE(variant->reorder ? 0 : 1, hca_inject_clear());
	if (variant->way == BY_UNBIND) {
		/*
		 * Check this before create_fresh() frees device memory, which the driver then keeps
		 * for a moment.
		 */
		EXPECT_EQ(variant->always, !!hca_census_count("memic"));
		ASSERT_EQ(0, binding_do(&self->binding, "bind"));
		ASSERT_TRUE(binding_wait_device());
	}
	shared->end = true;
	shared->go = true;
	if (variant->way != BY_EXIT)
		end_processes(_metadata, self);
	for (i = 0; i < NUM_KINDS; i++) {
		EXPECT_EQ(0, shared->of[i].second) TH_LOG("%s", kinds[i].name);
		/* libmlx5 may keep a page of doorbell records, which stays pinned. */
		EXPECT_GE(1, shared->of[i].pinned) TH_LOG("%s", kinds[i].name);
	}

	pid = child_start(create_fresh, NULL);
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) TH_LOG("%d", WEXITSTATUS(status));
	if (variant->way == BY_UNBIND && variant->always) {
		expect_objects_until_reset(_metadata, self);
		return;
	}
	/*
	 * What the driver keeps for itself may differ after it was bound again, so count only
	 * contexts and umems, of which it keeps none.
	 */
	if (variant->way == BY_UNBIND) {
		EXPECT_EQ(0, hca_census_count("uctx"));
		EXPECT_EQ(0, hca_census_count("umem"));
	} else {
		EXPECT_STREQ("", hca_census_delta_within(3000));
	}
	EXPECT_GE(self->pinned, wait_for_pinned_pages(self->pinned));
}

/* ---- commands that create objects ------------------------------------------------------------ */

/*
 * A child: its verb fails because the answer is lost, but the device may have created the object
 * and use its memory.
 */
static int own_lost(void *arg, int ready)
{
	const struct kind *kind = arg;
	unsigned int i = kind - kinds;
	struct env e = {};
	long pinned;

	if (env_open(&e))
		return 1;
	shared->of[i].absent = kind->has && !kind->has(&e);
	pinned = uv_pinned_pages();
	if (child_ready(ready))
		return 2;
	wait_for(&shared->go);
	if (shared->of[i].absent)
		return 0;
	if (kind->create(&e))
		return 3;
	shared->of[i].pinned = uv_pinned_pages() - pinned;
	return 0;
}

/* The HCA creates objects and answers too late; a reset destroys them. */
FIXTURE(create) { };

FIXTURE_SETUP(create)
{
}

FIXTURE_TEARDOWN(create)
{
}

TEST_F_TIMEOUT(create, lost_object_keeps_its_memory_until_the_device_is_reset, 300)
{
	pid_t pid[NUM_KINDS] = {};
	struct binding b;
	unsigned int i, j, n;
	int status;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (!patience_ms())
		SKIP(return, PATIENT);
	ASSERT_EQ(0, binding_find(&b));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	ASSERT_NE(MAP_FAILED, shared);
	census_after_first_use(_metadata, IBV_QPT_RC);
	census_after_first_use(_metadata, IBV_QPT_XRC_SEND);
	/* User ids and domains that lost objects belong to cannot be destroyed. */
	ASSERT_EQ(0, hca_expect("any"));
	for (i = 0; i < NUM_KINDS; i++) {
		if (!kinds[i].pins)
			continue;
		pid[i] = child_start(own_lost, (void *)&kinds[i]);
		ASSERT_LT(0, pid[i]) TH_LOG("%s", kinds[i].name);
	}
	for (i = 0; i < NUM_KINDS; i++) {
		for (n = 0, j = 0; j < NUM_KINDS; j++)
			n += kinds[j].pins && !strcmp(kinds[i].create_op, kinds[j].create_op);
		if (kinds[i].pins)
			ASSERT_EQ(0, inject_failure(kinds[i].create_op, LATE_MS, NULL, n));
	}
	shared->go = true;
	for (i = 0; i < NUM_KINDS; i++) {
		if (!pid[i])
			continue;
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, status) TH_LOG("%s: %d", kinds[i].name, WEXITSTATUS(status));
		EXPECT_TRUE(shared->of[i].absent || shared->of[i].pinned > 0)
			TH_LOG("%s", kinds[i].name);
	}
	EXPECT_LE(1, hca_inject_clear());
	pid[0] = child_start(create_fresh, NULL);
	ASSERT_LT(0, pid[0]);
	ASSERT_EQ(pid[0], waitpid(pid[0], &status, 0));
	EXPECT_EQ(0, status) TH_LOG("%d", WEXITSTATUS(status));
	/*
	 * Wait for the late answers: the test must not reset the function while mlx5_core has
	 * unanswered commands.
	 */
	usleep(2 * LATE_MS * 1000);
	ASSERT_EQ(0, allow_failures(&b));
	ASSERT_EQ(0, binding_reset_function(&b));
	EXPECT_TRUE(device_recovers());
	EXPECT_STREQ("", objects_of_before());
	munmap(shared, sizeof(*shared));
}

/* ---- kernel consumers ------------------------------------------------------------------------ */

/* What a kernel consumer destroys, each once or twice, in this order. */
static const char *const kernel_ops[] = {
	"DESTROY_MKEY", "DESTROY_QP", "DESTROY_RMP", "DESTROY_CQ", "DEALLOC_PD",
};

FIXTURE(kernel) {
	int fd;
};

FIXTURE_VARIANT(kernel) {
	unsigned int late_ms;	/* after the driver has given up; 0: answers are not late */
	const char *status;	/* with which firmware refuses the commands, or NULL */
	unsigned int times;	/* how often each command is answered so; 0: always */
};

FIXTURE_VARIANT_ADD(kernel, late) { .late_ms = LATE_MS, .times = 1 };

FIXTURE_VARIANT_ADD(kernel, lost) { .late_ms = LOST_MS, .times = 1 };

FIXTURE_VARIANT_ADD(kernel, refused_once) { .status = REFUSAL, .times = 1 };

FIXTURE_VARIANT_ADD(kernel, refused_always) { .status = REFUSAL };

FIXTURE_VARIANT_ADD(kernel, reordered) { };

FIXTURE_SETUP(kernel)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (variant->late_ms && !patience_ms())
		SKIP(return, PATIENT);
	self->fd = consumer_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(kernel)
{
	if (variant->late_ms == LOST_MS)
		usleep(LOST_MS * 1000);
	close(self->fd);
}

static void run_consumer(struct __test_metadata *_metadata, int fd)
{
	char report[CONSUMER_REPORT];

	ASSERT_EQ(0, consumer_run(fd, "objects_all", report)) TH_LOG("%s", report);
}

/*
 * A kernel consumer destroys its objects once and forgets them, so the driver must destroy each in
 * the end, whatever firmware answers.
 */
TEST_F_TIMEOUT(kernel, consumer_leaves_nothing, 180)
{
	unsigned int i;

	run_consumer(_metadata, self->fd);
	ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, hca_expect("any"));
	if (!variant->late_ms && !variant->status)
		ASSERT_EQ(0, hca_do("inject cmd reorder"));
	for (i = 0; i < ARRAY_SIZE(kernel_ops); i++)
		ASSERT_EQ(0, inject_failure(kernel_ops[i], variant->late_ms, variant->status,
					    variant->times));
	run_consumer(_metadata, self->fd);
	EXPECT_LE(variant->late_ms || variant->status ? 1 : 0, hca_inject_clear());
	for (i = 0; i < FRESH; i++)
		run_consumer(_metadata, self->fd);
	EXPECT_STREQ("", hca_census_delta_within(3000));
}

TEST_HARNESS_MAIN
