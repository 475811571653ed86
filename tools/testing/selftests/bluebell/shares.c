// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user without privileges has seven eighths at most of the objects of which the device has a
 * fixed number, so that another user always gets some. For devices with few objects: the profiles
 * small and few-users.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "child.h"
#include "devx_cmd.h"
#include "klog.h"
#include "rights.h"
#include "test.h"

/* What Bluebell logs. */
#define LOG_LIMIT "7/8 of those of "
/* The driver logs at most one line in this time. */
#define LOG_SECONDS 10
#define REFUSED 20
/* With more objects a test would take too long, and need more files than a process may have. */
#define FEW 600
/* Keys are quick, and need no files. */
#define FEW_KEYS 1024

/* A process that takes objects. */
struct taker {
	struct uv uv;
	uint32_t pd, pdn;
	struct uv_cq cq;
	struct uv_mem srq_mem;
	struct uv_qp qp;
	unsigned int taken;
};

static int open_bare(struct uv *uv)
{
	const struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4, .max_cqe_version = 1,
		.flags = MLX5_IB_ALLOC_UCTX_DEVX,
		.lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR,
	};

	return uv_open_req(uv, &req);
}

static int take_context(struct taker *t)
{
	struct uv uv;

	return open_bare(&uv);
}

static int take_uar(struct taker *t)
{
	struct uv_uar uar;

	return uv_alloc_uar(t->uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar);
}

/* Allocate PDs by verbs and by DEVX commands in turn. */
static int take_pd(struct taker *t)
{
	uint32_t pd, pdn;

	if (t->taken % 2)
		return uv_alloc_pd(t->uv.fd, &pd, &pdn);
	return devx_alloc(t->uv.fd, DEVX_ALLOC_PD, &pd);
}

static int take_cq(struct taker *t)
{
	struct uv_cq cq;

	return uv_create_cq(t->uv.fd, 31, &cq);
}

static int take_qp(struct taker *t)
{
	struct uv_qp qp;

	return uv_create_qp(t->uv.fd, t->pd, t->cq.handle, IBV_QPT_RC, &qp);
}

static int take_srq(struct taker *t)
{
	struct mlx5_ib_create_srq drv = {
		.uidx = uv_uidx(), .buf_addr = (uintptr_t)t->srq_mem.buf,
		.db_addr = (uintptr_t)t->srq_mem.dbr,
	};
	struct uv_srq srq = { .max_wr = 15, .max_sge = 1 };

	return uv_create_srq(t->uv.fd, t->pd, &drv, sizeof(drv), &srq);
}

static int take_xrcd(struct taker *t)
{
	uint32_t xrcd;

	if (t->taken % 2)
		return uv_open_xrcd(t->uv.fd, -1, O_CREAT, &xrcd);
	return devx_alloc(t->uv.fd, DEVX_ALLOC_XRCD, &xrcd);
}

static int take_counter_set(struct taker *t)
{
	uint32_t set;

	return devx_alloc(t->uv.fd, DEVX_ALLOC_Q_COUNTER, &set);
}

static int take_dm(struct taker *t)
{
	struct uv_dm dm;

	return uv_alloc_dm(t->uv.fd, UV_PAGE, 0, &dm);
}

/* Regions, windows, and keys that the process creates by commands of its own. */
static int take_key(struct taker *t)
{
	struct ib_uverbs_alloc_mw req = { .pd_handle = t->pd, .mw_type = IBV_MW_TYPE_2 };
	struct ib_uverbs_alloc_mw_resp mw;
	struct ib_uverbs_reg_mr_resp mr;
	struct devx_cmd cmd;
	uint32_t handle;

	switch (t->taken % 3) {
	case 0:
		return uv_reg_mr(t->uv.fd, t->pd, t->srq_mem.buf, 64, (uintptr_t)t->srq_mem.buf,
				 IBV_ACCESS_LOCAL_WRITE, &mr);
	case 1:
		return uv_cmd(t->uv.fd, IB_USER_VERBS_CMD_ALLOC_MW, &req, sizeof(req), &mw,
			      sizeof(mw), NULL, 0, NULL, 0);
	default:
		devx_start_klm_mkey(&cmd, t->pdn);
		return devx_create(t->uv.fd, &cmd, &handle);
	}
}

static int take_umem(struct taker *t)
{
	struct devx_umem umem = { .addr = (uintptr_t)t->srq_mem.buf, .len = 64 };

	return devx_reg_umem(t->uv.fd, &umem);
}

/* Attach a new queue pair to the group to which the other process attaches its queue pairs. */
static int attach_to_group(struct taker *t)
{
	struct uv_qp qp;

	return uv_create_qp(t->uv.fd, t->pd, t->cq.handle, IBV_QPT_UD, &qp) ?:
	       uv_change_mcast(t->uv.fd, IB_USER_VERBS_CMD_ATTACH_MCAST, qp.handle, 0);
}

/* Attach a queue pair to a group to which the other process has attached none. */
static int take_group(struct taker *t)
{
	return (t->qp.handle ? 0 :
		uv_create_qp(t->uv.fd, t->pd, t->cq.handle, IBV_QPT_UD, &t->qp)) ?:
	       uv_change_mcast(t->uv.fd, IB_USER_VERBS_CMD_ATTACH_MCAST, t->qp.handle,
			       getpid() << 8 | t->taken);
}

FIXTURE(share) {
	struct taker mine;
	unsigned int num;		/* objects of the kind that the device has */
	unsigned int *taken;		/* objects that the other process has */
	pid_t pid;
};

/*
 * @log_max is the capability that has the number of objects; without one, @num returns the number.
 * @before: objects of the kind that a process has taken before it starts. The driver assumes that
 * firmware keeps one object in @of_firmware for itself; 0: none. The driver itself has @of_driver,
 * which no user may take. @most: more objects are too many for the test; 0 for FEW.
 */
FIXTURE_VARIANT(share) {
	const char *log_max;
	unsigned int (*num)(void);
	int (*take)(struct taker *t);
	unsigned int before;
	unsigned int of_firmware;
	unsigned int of_driver;
	unsigned int most;
};

/* How many pages of the host, for UARs, BAR 0 has room for; 0 if its size cannot be read. */
static unsigned int num_uar_pages(void)
{
	unsigned long long start = 0, end = 0;
	char text[4096];

	if (!rdma_read_sysfs("device/resource", text, sizeof(text)) ||
	    sscanf(text, "%llx %llx", &start, &end) != 2)
		return 0;
	return (end - start + 1) / UV_PAGE;
}

static unsigned int num_counter_sets(void)
{
	return hca_cap("general", "max_qp_cnt");
}

/* Queue pairs of a multicast group; 0 if the test would run out of queue pairs first. */
static unsigned int num_qps_in_group(void)
{
	unsigned int qps = 1u << hca_cap("general", "log_max_qp");

	return qps > 2u * hca_cap("general", "max_qp_mcg") ? hca_cap("general", "max_qp_mcg") : 0;
}

static unsigned int num_dm_pages(void)
{
	return hca_cap("general", "device_memory") > 0 ?
		hca_cap("device_memory", "memic_bar_size") / UV_PAGE : 0;
}

FIXTURE_VARIANT_ADD(share, contexts) {
	.log_max = "log_max_uctx", .take = take_context, .before = 1,
};

FIXTURE_VARIANT_ADD(share, uars) { .num = num_uar_pages, .take = take_uar, };

FIXTURE_VARIANT_ADD(share, pds) { .log_max = "log_max_pd", .take = take_pd, .before = 1, };

FIXTURE_VARIANT_ADD(share, cqs) { .log_max = "log_max_cq", .take = take_cq, .before = 1, };

FIXTURE_VARIANT_ADD(share, qps) { .log_max = "log_max_qp", .take = take_qp, .of_firmware = 4, };

FIXTURE_VARIANT_ADD(share, srqs) { .log_max = "log_max_srq", .take = take_srq, };

FIXTURE_VARIANT_ADD(share, xrcds) { .log_max = "log_max_xrcd", .take = take_xrcd, };

FIXTURE_VARIANT_ADD(share, counter_sets) {
	.num = num_counter_sets, .take = take_counter_set, .of_driver = 1,
};

FIXTURE_VARIANT_ADD(share, mkeys) {
	.log_max = "log_max_mkey", .take = take_key, .of_firmware = 4, .most = FEW_KEYS,
};

FIXTURE_VARIANT_ADD(share, umems) { .log_max = "log_max_umem", .take = take_umem, };

FIXTURE_VARIANT_ADD(share, places_in_a_group) {
	.num = num_qps_in_group, .take = attach_to_group,
};

FIXTURE_VARIANT_ADD(share, groups) { .log_max = "log_max_mcg", .take = take_group, };

FIXTURE_VARIANT_ADD(share, dm_pages) { .num = num_dm_pages, .take = take_dm, };

static int taker_open(struct taker *t)
{
	return open_bare(&t->uv) ?: uv_alloc_pd(t->uv.fd, &t->pd, &t->pdn) ?:
	       uv_mem_alloc(&t->srq_mem, 64 * 32);
}

/* The doorbells of queues are in a UAR, and a bare context has no UAR. */
static int taker_open_with_uars(struct taker *t)
{
	return uv_open_devx(&t->uv) ?: uv_alloc_pd(t->uv.fd, &t->pd, &t->pdn) ?:
	       uv_mem_alloc(&t->srq_mem, 64 * 32) ?: uv_create_cq(t->uv.fd, 31, &t->cq);
}

static int open_for(const struct _fixture_variant_share *v, struct taker *t)
{
	return v->take == take_cq || v->take == take_qp || v->take == take_srq ||
		       v->take == attach_to_group || v->take == take_group ?
		taker_open_with_uars(t) : taker_open(t);
}

/* Why the limits of a user cannot be tested; NULL if they can. */
static const char *why_no_limits(void)
{
	if (!driver_is("bluebell"))
		return ONLY_BLUEBELL;
	if (!hca_ctl_present())
		return NO_HCA_CTL;
	return devx_has_user_ids() ? NULL : NO_USER_IDS;
}

FIXTURE_SETUP(share)
{
	if (why_no_limits())
		SKIP(return, "%s", why_no_limits());
	self->num = variant->log_max ? 1u << hca_cap("general", variant->log_max) : variant->num();
	if (!self->num)
		SKIP(return, "the device has none");
	if (self->num > (variant->most ? variant->most : FEW))
		SKIP(return, "the device has %u, which are too many", self->num);
	if (variant->of_firmware)
		self->num -= self->num / variant->of_firmware;
	self->taken = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			   0);
	ASSERT_NE(MAP_FAILED, self->taken);
	ASSERT_EQ(0, open_for(variant, &self->mine));
	ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(share)
{
	if (self->pid > 0)
		child_kill(self->pid);
	if (!self->taken)
		return;
	uv_close(&self->mine.uv);
	munmap(self->taken, UV_PAGE);
}

struct order {
	const struct _fixture_variant_share *variant;
	unsigned int *taken;
};

/* Take all objects that the process gets, and keep them. */
static int take_all(void *arg, int ready)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	const struct order *order = arg;
	struct taker t = {};
	int i, ret = 0;

	if (setrlimit(RLIMIT_MEMLOCK, &unlimited) || drop_privileges() ||
	    open_for(order->variant, &t))
		return 2;
	for (; !ret && t.taken < 2 * FEW; t.taken += !ret)
		ret = order->variant->take(&t);
	for (i = 0; i < REFUSED; i++)
		if (order->variant->take(&t) != -ENOMEM)
			return 3;
	*order->taken = t.taken + order->variant->before;
	return child_hold(ready);
}

TEST_F_TIMEOUT(share, user_leaves_an_eighth_to_others, 300)
{
	struct order order = { variant, self->taken };
	int logged, round;

	/*
	 * Firmware refuses keys until the driver has destroyed the free keys that earlier tests
	 * have left.
	 */
	if (variant->take == take_key)
		ASSERT_EQ(0, hca_expect("refuse CREATE_MKEY LIM_ERR any"));
	for (round = 0; round < 2; round++) {
		/* The first round must cause a line, which a recent line would suppress. */
		logged = klog_count(LOG_LIMIT);
		if (logged && !round)
			sleep(LOG_SECONDS + 1);
		self->pid = child_start(take_all, &order);
		ASSERT_LT(0, self->pid);
		EXPECT_EQ(self->num - self->num / 8 - variant->of_driver, *self->taken);
		if (!round)
			EXPECT_LE(logged + 1, klog_count(LOG_LIMIT));
		EXPECT_GE(logged + 3, klog_count(LOG_LIMIT));
		EXPECT_EQ(0, variant->take(&self->mine));
		/* When the process has ended, the next one gets as many objects. */
		child_kill(self->pid);
		self->pid = 0;
	}
}

/* ---- two users who need pages of UARs -------------------------------------------------------- */

FIXTURE(uar_users) {
	unsigned int *pages;		/* that the first user has */
	pid_t pid;
};

FIXTURE_SETUP(uar_users)
{
	if (why_no_limits())
		SKIP(return, "%s", why_no_limits());
	if (!num_uar_pages() || num_uar_pages() > FEW)
		SKIP(return, "the device has %u pages of UARs, which are too many",
		     num_uar_pages());
	self->pages = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			   0);
	ASSERT_NE(MAP_FAILED, self->pages);
}

FIXTURE_TEARDOWN(uar_users)
{
	if (self->pid > 0)
		child_kill(self->pid);
	if (self->pages)
		munmap(self->pages, UV_PAGE);
}

/*
 * Take pages of UARs in one of the three ways that a library has: static pages of another context,
 * a dynamic page of this one, and a UAR object. Returns how many pages, or a negative errno.
 */
static int take_uar_pages(struct uv *uv, unsigned int n)
{
	struct uv_uar uar;
	struct uv more;

	switch (n % 3) {
	case 0:
		return uv_open(&more) ?: UV_STATIC_PAGES(16);
	case 1:
		return mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, uv->fd,
			    uv_mmap_off(MLX5_IB_MMAP_ALLOC_WC, n / 3)) == MAP_FAILED ? -errno : 1;
	default:
		return uv_alloc_uar(uv->fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar) ?: 1;
	}
}

/* Take all pages of UARs that the process gets, and keep them. */
static int take_all_uar_pages(void *arg, int ready)
{
	unsigned int n, refused = 0, *pages = arg;
	struct uv uv;
	int got;

	if (drop_privileges() || uv_open(&uv))
		return 2;
	*pages = UV_STATIC_PAGES(16);
	for (n = 0; refused < 3; n++) {
		got = take_uar_pages(&uv, n);
		if (got < 0 && got != -ENOMEM)
			return 3;
		refused = got < 0 ? refused + 1 : 0;
		*pages += got < 0 ? 0 : got;
	}
	return child_hold(ready);
}

/* Open the device by the library, as another user, and use two queue pairs. */
static int write_by_library(void *arg, int ready)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct rdma r;
	struct pair p;

	if (setrlimit(RLIMIT_MEMLOCK, &unlimited) || become_user("nobody"))
		return 2;
	if (rdma_open(&r) || pair_open(&p, &r, &cfg, UV_PAGE))
		return 3;
	fill(p.buf[0], 64, 1);
	if (rdma_access(&p, IBV_WR_RDMA_WRITE, p.mr->rkey, (uintptr_t)p.buf[1], 64) ||
	    !check_fill(p.buf[1], 64, 1))
		return 4;
	return child_hold(ready);
}

/* ALLOC_UAR allocates a page of the host, so a user's limit has to count such pages. */
TEST_F_TIMEOUT(uar_users, user_can_work_when_another_has_all_that_a_user_gets, 300)
{
	unsigned int num = num_uar_pages();
	pid_t pid;

	self->pid = child_start(take_all_uar_pages, self->pages);
	ASSERT_LT(0, self->pid);
	EXPECT_EQ(num - num / 8, *self->pages);
	pid = child_start(write_by_library, NULL);
	EXPECT_LT(0, pid);
	if (pid > 0)
		child_kill(pid);
}

/* ---- memory keys that no region has ---------------------------------------------------------- */

/* How many regions the other user registers, and how many numbers of keys this user leaves. */
#define REGIONS 600
#define LEFT 16
/* Numbers that the HCA gives to no key. */
#define RESERVED 16

FIXTURE(free_keys) {
	struct taker mine;
	pid_t pid;
};

FIXTURE_SETUP(free_keys)
{
	if (why_no_limits())
		SKIP(return, "%s", why_no_limits());
	if (1u << hca_cap("general", "log_max_mkey") > FEW_KEYS)
		SKIP(return, "the device has more than %d keys", FEW_KEYS);
	ASSERT_EQ(0, taker_open(&self->mine));
}

FIXTURE_TEARDOWN(free_keys)
{
	if (self->pid > 0)
		child_kill(self->pid);
	if (self->mine.uv.fd > 0)
		uv_close(&self->mine.uv);
}

/* Register many regions and deregister them, so that the pool has many free keys. */
static int leave_free_keys(void *arg, int ready)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	static struct ib_uverbs_reg_mr_resp mr[REGIONS];
	struct taker t = {};
	unsigned int i;

	if (setrlimit(RLIMIT_MEMLOCK, &unlimited) || drop_privileges() || taker_open(&t))
		return 2;
	for (i = 0; i < REGIONS; i++)
		if (uv_reg_mr(t.uv.fd, t.pd, t.srq_mem.buf, 64, (uintptr_t)t.srq_mem.buf,
			      IBV_ACCESS_LOCAL_WRITE, &mr[i]))
			return 3;
	for (i = 0; i < REGIONS; i++)
		if (uv_dereg_mr(t.uv.fd, mr[i].mr_handle))
			return 4;
	return child_hold(ready);
}

/*
 * The pool keeps the other user's keys as free keys, which windows cannot use. The driver has to
 * destroy them so that this user gets their numbers.
 */
TEST_F_TIMEOUT(free_keys, free_keys_of_another_user_make_way, 300)
{
	unsigned int num = (1u << hca_cap("general", "log_max_mkey")) - RESERVED - LEFT, i;

	self->pid = child_start(leave_free_keys, NULL);
	ASSERT_LT(0, self->pid);
	num -= hca_census_count("mkey");
	ASSERT_EQ(0, hca_expect("refuse CREATE_MKEY LIM_ERR"));
	for (i = 0; i < num; i++) {
		self->mine.taken = 1;		/* a window each time */
		ASSERT_EQ(0, take_key(&self->mine)) TH_LOG("window %u of %u", i, num);
	}
}

TEST_HARNESS_MAIN
