// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Firmware commands that are answered late, in another order, or after the driver has given up on
 * them; and objects that firmware refuses to destroy: the device may still use their memory.
 */
#include <json-c/json.h>
#include <pthread.h>
#include <sys/mman.h>

#include "binding.h"
#include "test.h"

#define THREADS 4
#define QKEYS 4096	/* of each thread */
#define SECONDS 3
#define BAD_ADDRESS ((void *)8)
#define ROUNDS 50
/* mlx5_core waits for five seconds more, in case the event that tells of the answer was lost. */
#define GRACE_MS 5000
/* How long after these five seconds the answer comes. */
#define LATE_MS 1500
#define BIG (64 * UV_PAGE)	/* too many pages for a UMR request without a list */
#define REGION_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

#define PATIENT "the driver waits for a minute: use the profile impatient"

/* How long the driver waits for an answer, 0 if the HCA does not say. */
static long patience_ms(void)
{
	return hca_ctl_present() ? hca_limit("command_timeout_ms") : 0;
}

/* ---- answers that are late or in another order ----------------------------------------------- */

/* A thread: the first of the Q_Keys that only its queue pairs have, and what it has done. */
struct worker {
	struct rdma *r;
	uint32_t qkey;
	pthread_t thread;
	const volatile bool *stop;
	unsigned int rounds;
	const char *failed;
};

static int init_with_qkey(struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_QKEY);
}

/* Create, query and destroy objects of each kind. Returns what failed, or NULL. */
static const char *work_once(struct rdma *r, void *mem, unsigned int round, uint32_t qkey)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {};
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint32_t qpn;

	pd = ibv_alloc_pd(r->ctx);
	cq = ibv_create_cq(r->ctx, 16 + round % 64, NULL, NULL, 0);
	mr = pd ? ibv_reg_mr(pd, mem, BIG, REGION_ACCESS) : NULL;
	qp = cq ? rdma_qp_create(r, cq, &cfg) : NULL;
	if (!pd || !cq || !mr || !qp)
		return "create";
	qpn = qp->qp_num;
	if (init_with_qkey(qp, qkey) ||
	    ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_QKEY, &init))
		return "modify or query";
	/*
	 * If the driver took the answer to a command of another opcode for the answer to this
	 * query, the state or the port would differ; if it took the answer to the query of another
	 * queue pair, the Q_Key would differ.
	 */
	if (attr.qp_state != IBV_QPS_INIT || attr.port_num != 1 || attr.qkey != qkey ||
	    qp->qp_num != qpn)
		return "answer of another command";
	if (ibv_destroy_qp(qp) || ibv_dereg_mr(mr) || ibv_destroy_cq(cq) || ibv_dealloc_pd(pd))
		return "destroy";
	return NULL;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	void *mem = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (; !*w->stop && !w->failed; w->rounds++)
		w->failed = work_once(w->r, mem, w->rounds, w->qkey + w->rounds % QKEYS);
	munmap(mem, BIG);
	return NULL;
}

/* Run work() in several threads, each of which must do its rounds without a failure. */
static void work_for(struct __test_metadata *_metadata, struct rdma *r, unsigned int seconds)
{
	struct worker workers[THREADS] = {};
	volatile bool stop = false;
	unsigned int i, rounds = 0;

	for (i = 0; i < THREADS; i++) {
		workers[i].r = r;
		workers[i].qkey = 1 + i * QKEYS;
		workers[i].stop = &stop;
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	sleep(seconds);
	stop = true;
	for (i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, pthread_join(workers[i].thread, NULL));
		EXPECT_EQ(NULL, workers[i].failed) TH_LOG("%s", workers[i].failed);
		rounds += workers[i].rounds;
	}
	EXPECT_LT(THREADS, rounds);
	TH_LOG("%u rounds", rounds);
}

FIXTURE(answers) {
	struct rdma r;
};

FIXTURE_VARIANT(answers) {
	const char *inject;
};

FIXTURE_VARIANT_ADD(answers, in_order) { };

FIXTURE_VARIANT_ADD(answers, last_first) { .inject = "inject cmd reorder" };

FIXTURE_VARIANT_ADD(answers, late) { .inject = "inject cmd delay 20 1000000" };

FIXTURE_SETUP(answers)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	census_after_first_use(_metadata, IBV_QPT_RC);
	ASSERT_EQ(0, rdma_open(&self->r));
}

FIXTURE_TEARDOWN(answers)
{
	rdma_close(&self->r);
	EXPECT_CENSUS_UNCHANGED();
}

TEST_F(answers, belong_to_their_commands)
{
	if (variant->inject)
		ASSERT_EQ(0, hca_do("%s", variant->inject));
	work_for(_metadata, &self->r, SECONDS);
	/* The HCA counts the answers that it delays, not those that it reorders. */
	EXPECT_LE(variant->inject && strstr(variant->inject, "delay") ? 1 : 0, hca_inject_clear());
}

/* ---- answers after the driver has given up --------------------------------------------------- */

FIXTURE(late) {
	struct rdma r;
	struct ibv_qp *qp;
	unsigned int late_ms;	/* delay of an answer, longer than the driver waits */
};

FIXTURE_SETUP(late)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	self->late_ms = patience_ms() + GRACE_MS + LATE_MS;
	if (!patience_ms())
		SKIP(return, PATIENT);
	census_after_first_use(_metadata, IBV_QPT_RC);
	ASSERT_EQ(0, rdma_open(&self->r));
	self->qp = rdma_qp_create(&self->r, self->r.cq, &cfg);
	ASSERT_NE(NULL, self->qp);
	ASSERT_EQ(0, rdma_qp_init(self->qp, &cfg));
}

FIXTURE_TEARDOWN(late)
{
	EXPECT_EQ(0, ibv_destroy_qp(self->qp));
	rdma_close(&self->r);
	EXPECT_CENSUS_UNCHANGED();
}

static int query_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int err = ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);

	return err ? -err : attr.qp_state;
}

/*
 * The mailboxes of a command that has timed out are used again while the HCA still owes its answer.
 */
TEST_F(late, answers_do_not_harm_other_commands)
{
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, hca_do("inject cmd delay %u 1 QUERY_QP", self->late_ms));
		EXPECT_EQ(-ETIMEDOUT, query_state(self->qp));
		work_for(_metadata, &self->r, 2);
		EXPECT_EQ(1, hca_inject_clear());
		EXPECT_EQ(IBV_QPS_INIT, query_state(self->qp));
	}
}

/*
 * The CQ is destroyed at once, but two answers to DESTROY_CQ come after the driver has given up.
 * The third DESTROY_CQ is refused as if the CQ were in use, so the driver asks whether it exists.
 */
TEST_F(late, destruction_of_a_cq_is_repeated)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(self->r.ctx);
	long pinned = uv_pinned_pages();
	struct ibv_cq *cq;

	if (!driver_is("bluebell")) {
		ibv_destroy_comp_channel(channel);
		SKIP(return, ONLY_BLUEBELL);
	}
	ASSERT_NE(NULL, channel);
	cq = ibv_create_cq(self->r.ctx, 1000, NULL, channel, 0);
	ASSERT_NE(NULL, cq);
	ASSERT_EQ(0, ibv_req_notify_cq(cq, 0));
	ASSERT_LT(pinned, uv_pinned_pages());
	ASSERT_EQ(0, hca_expect("refuse DESTROY_CQ BAD_RES_STATE_ERR 2"));
	ASSERT_EQ(0, hca_expect("refuse QUERY_CQ BAD_RES_ERR 1"));
	ASSERT_EQ(0, hca_do("inject cmd delay %u 2 DESTROY_CQ", self->late_ms));
	EXPECT_EQ(ETIMEDOUT, ibv_destroy_cq(cq));
	EXPECT_LT(pinned, uv_pinned_pages());
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	EXPECT_EQ(pinned, uv_pinned_pages());
	/* Wait for the late answers to both commands. */
	usleep(2 * LATE_MS * 1000);
	EXPECT_EQ(2, hca_inject_clear());
	EXPECT_EQ(0, ibv_destroy_comp_channel(channel));
}

/* The events of a CQ arrive while the command that destroys the CQ runs into its time-out. */
TEST_F(late, destruction_of_a_cq_meets_its_events)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct ibv_comp_channel *channel;
	struct ibv_cq *own;
	struct pair p;
	int i, err;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_EQ(0, pair_open(&p, &self->r, &cfg, UV_PAGE));
	channel = ibv_create_comp_channel(self->r.ctx);
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, hca_expect("refuse DESTROY_CQ BAD_RES_STATE_ERR any"));
	ASSERT_EQ(0, hca_expect("refuse QUERY_CQ BAD_RES_ERR any"));
	for (i = 0; i < 3; i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
		struct ibv_qp *qp;
		struct ibv_wc wc;

		own = ibv_create_cq(self->r.ctx, 64, NULL, channel, 0);
		ASSERT_NE(NULL, own);
		ASSERT_EQ(0, ibv_req_notify_cq(own, 0));
		qp = rdma_qp_create(&self->r, own, &cfg);
		ASSERT_NE(NULL, qp);
		ASSERT_EQ(0, rdma_qp_init(qp, &cfg));
		/* Receives that are flushed: each completion raises an event once. */
		ASSERT_EQ(0, post_recv(qp, p.mr, p.buf[0], 64, i));
		ASSERT_EQ(0, hca_do("inject cmd delay %u 2 DESTROY_CQ", self->late_ms));
		ASSERT_EQ(0, rdma_modify_state(qp, IBV_QPS_ERR));
		ASSERT_EQ(0, ibv_destroy_qp(qp));
		err = ibv_destroy_cq(own);
		EXPECT_EQ(ETIMEDOUT, err);
		EXPECT_EQ(0, ibv_destroy_cq(own));
		EXPECT_EQ(2, hca_inject_clear());
		/* Other CQs of the same vector still get their events. */
		ASSERT_EQ(0, pair_recv(&p, p.buf[1], 64, 1));
		ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 64));
		EXPECT_EQ(0, reap_ok(p.cq[0], &wc));
		EXPECT_EQ(0, reap_ok(p.cq[1], &wc));
	}
	ibv_destroy_comp_channel(channel);
	pair_close(&p);
}

/* ---- objects that firmware refuses to destroy ------------------------------------------------ */

FIXTURE(kept) {
	struct uv uv;
	uint32_t pd;
	struct uv_cq cq;
	struct uv_mem mem;
	long pinned;
};

FIXTURE_VARIANT(kept) {
	const char *destroy;
	int (*create)(struct uv *uv, uint32_t pd, const struct uv_cq *cq, struct uv_mem *mem);
};

static int create_kept_cq(struct uv *uv, uint32_t pd, const struct uv_cq *other, struct uv_mem *mem)
{
	struct ib_uverbs_create_cq req = { .cqe = 63, .comp_channel = -1 };
	struct mlx5_ib_create_cq drv = {
		.buf_addr = (uintptr_t)mem->buf, .db_addr = (uintptr_t)mem->dbr, .cqe_size = 64,
	};
	struct ib_uverbs_create_cq_resp resp;

	return uv_cmd(uv->fd, IB_USER_VERBS_CMD_CREATE_CQ, &req, sizeof(req), &resp, sizeof(resp),
		      &drv, sizeof(drv), BAD_ADDRESS, sizeof(struct mlx5_ib_create_cq_resp));
}

static int create_kept_qp(struct uv *uv, uint32_t pd, const struct uv_cq *cq, struct uv_mem *mem)
{
	struct ib_uverbs_create_qp_resp resp;
	struct uv_qp_req req;

	uv_qp_req_init(&req, pd, cq->handle, IB_UVERBS_QPT_RC);
	req.drv.buf_addr = (uintptr_t)mem->buf;
	req.drv.db_addr = (uintptr_t)mem->dbr;
	return uv_cmd(uv->fd, IB_USER_VERBS_CMD_CREATE_QP, &req.core, sizeof(req.core), &resp,
		      sizeof(resp), &req.drv, req.drv_len, BAD_ADDRESS,
		      sizeof(struct mlx5_ib_create_qp_resp));
}

static int create_kept_srq(struct uv *uv, uint32_t pd, const struct uv_cq *cq, struct uv_mem *mem)
{
	struct ib_uverbs_create_srq req = { .pd_handle = pd, .max_wr = 10, .max_sge = 1 };
	struct mlx5_ib_create_srq drv = {
		.buf_addr = (uintptr_t)mem->buf, .db_addr = (uintptr_t)mem->dbr, .uidx = uv_uidx(),
	};
	struct ib_uverbs_create_srq_resp resp;

	return uv_cmd(uv->fd, IB_USER_VERBS_CMD_CREATE_SRQ, &req, sizeof(req), &resp, sizeof(resp),
		      &drv, sizeof(drv), BAD_ADDRESS, sizeof(struct mlx5_ib_create_srq_resp));
}

FIXTURE_VARIANT_ADD(kept, cq) { .destroy = "DESTROY_CQ", .create = create_kept_cq };

FIXTURE_VARIANT_ADD(kept, qp) { .destroy = "DESTROY_QP", .create = create_kept_qp };

FIXTURE_VARIANT_ADD(kept, srq) { .destroy = "DESTROY_RMP", .create = create_kept_srq };

FIXTURE_SETUP(kept)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	census_after_first_use(_metadata, IBV_QPT_RC);
	ASSERT_EQ(0, uv_open(&self->uv));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &self->pd, NULL));
	ASSERT_EQ(0, uv_create_cq(self->uv.fd, 100, &self->cq));
	ASSERT_EQ(0, uv_mem_alloc(&self->mem, 4 * UV_PAGE));
	self->pinned = uv_pinned_pages();
}

FIXTURE_TEARDOWN(kept)
{
	uv_mem_free(&self->mem);
}

/*
 * ib_core cannot copy the response to the process, so it destroys the new object, and firmware
 * refuses the command.
 */
TEST_F(kept, memory_is_pinned_until_firmware_destroys_the_object)
{
	ASSERT_EQ(0, hca_do("inject op %s INT_ERR 1", variant->destroy));
	EXPECT_EQ(-EFAULT, variant->create(&self->uv, self->pd, &self->cq, &self->mem));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_LT(self->pinned, uv_pinned_pages());
	uv_close(&self->uv);
	EXPECT_EQ(0, uv_pinned_pages());
	EXPECT_CENSUS_UNCHANGED();
}

/* Firmware refuses to destroy the CQ, also when the process closes the device. */
TEST(memory_of_a_cq_is_pinned_until_the_driver_is_unbound)
{
	struct uv_mem mem;
	struct binding b;
	struct uv uv;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	/* Firmware refuses to destroy the CQ's user id while the CQ exists. */
	ASSERT_EQ(0, hca_expect("refuse DESTROY_UCTX any any"));
	ASSERT_EQ(0, binding_find(&b));
	ASSERT_EQ(0, uv_open(&uv));
	ASSERT_EQ(0, uv_mem_alloc(&mem, UV_PAGE));
	ASSERT_EQ(0, hca_do("inject op DESTROY_CQ INT_ERR"));
	EXPECT_EQ(-EFAULT, create_kept_cq(&uv, 0, NULL, &mem));
	uv_close(&uv);
	EXPECT_EQ(2, hca_inject_clear());
	EXPECT_EQ(2, uv_pinned_pages());
	ASSERT_EQ(0, binding_do(&b, "unbind"));
	EXPECT_EQ(0, uv_pinned_pages());
	EXPECT_EQ(0, hca_census_count("qp"));
	EXPECT_EQ(0, hca_census_count("uctx"));
	ASSERT_EQ(0, binding_do(&b, "bind"));
	ASSERT_TRUE(binding_wait_device());
	uv_mem_free(&mem);
}

/* ---- the UMR queue pair that firmware does not stop ------------------------------------------ */

FIXTURE(umr) {
	struct rdma r;
	void *mem;
};

FIXTURE_SETUP(umr)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_EQ(0, rdma_open(&self->r));
	self->mem = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
}

FIXTURE_TEARDOWN(umr)
{
	if (self->r.ctx)
		rdma_close(&self->r);
	munmap(self->mem, BIG);
}

/* Register and deregister. Returns the number of keys that firmware had to create. */
static long register_once(struct __test_metadata *_metadata, struct _test_data_umr *self)
{
	long before = hca_commands("CREATE_MKEY");
	struct ibv_mr *mr = ibv_reg_mr(self->r.pd, self->mem, BIG, REGION_ACCESS);

	EXPECT_NE(NULL, mr);
	if (mr)
		EXPECT_EQ(0, ibv_dereg_mr(mr));
	return hca_commands("CREATE_MKEY") - before;
}

static bool wait_for_umr(struct __test_metadata *_metadata, struct _test_data_umr *self)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (!register_once(_metadata, self))
			return true;
		usleep(100000);
	}
	return false;
}

TEST_F(umr, queue_pair_that_is_not_reset_is_created_again)
{
	long created;

	ASSERT_TRUE(wait_for_umr(_metadata, self));
	created = hca_commands("CREATE_QP");
	ASSERT_EQ(0, hca_do("inject umr"));
	ASSERT_EQ(0, hca_do("inject op 2RST_QP INT_ERR 1"));
	EXPECT_LT(0, register_once(_metadata, self));
	EXPECT_EQ(2, hca_inject_clear());
	EXPECT_TRUE(wait_for_umr(_metadata, self));
	EXPECT_EQ(created + 1, hca_commands("CREATE_QP"));
}

/*
 * After CREATE_QP without an answer the queue pair may exist and use its send queue, so the driver
 * must create the next queue pair with another send queue.
 */
TEST_F(umr, queue_pair_whose_creation_is_not_answered_is_created_again)
{
	struct binding b;

	if (!hca_limit("command_timeout_ms"))
		SKIP(return, "the driver waits for a minute: use the profile impatient");
	ASSERT_EQ(0, binding_find(&b));
	ASSERT_TRUE(wait_for_umr(_metadata, self));
	ASSERT_EQ(0, hca_do("inject umr"));
	ASSERT_EQ(0, hca_do("inject op 2RST_QP INT_ERR 1"));
	/* The driver waits for the answer for a second, then gives up. */
	ASSERT_EQ(0, hca_do("inject cmd delay 3000 1 CREATE_QP"));
	EXPECT_LT(0, register_once(_metadata, self));
	sleep(4);
	EXPECT_EQ(3, hca_inject_clear());
	EXPECT_TRUE(wait_for_umr(_metadata, self));
	rdma_close(&self->r);
	self->r.ctx = NULL;
	/* A reset destroys the queue pair of the late answer, which the driver does not know. */
	ASSERT_EQ(0, hca_expect("any"));
	ASSERT_EQ(0, binding_reset_function(&b));
	ASSERT_TRUE(binding_wait_device());
}

TEST_F(umr, queue_pair_that_is_not_stopped_is_not_used_again)
{
	struct binding b;

	ASSERT_EQ(0, binding_find(&b));
	ASSERT_TRUE(wait_for_umr(_metadata, self));
	ASSERT_EQ(0, hca_do("inject umr"));
	ASSERT_EQ(0, hca_do("inject op 2RST_QP INT_ERR 1"));
	ASSERT_EQ(0, hca_do("inject op DESTROY_QP INT_ERR 1"));
	EXPECT_LT(0, register_once(_metadata, self));
	EXPECT_EQ(3, hca_inject_clear());
	sleep(1);
	EXPECT_LT(0, register_once(_metadata, self));
	rdma_close(&self->r);
	self->r.ctx = NULL;
	ASSERT_EQ(0, binding_do(&b, "unbind"));
	EXPECT_EQ(0, hca_census_count("qp"));
	ASSERT_EQ(0, binding_do(&b, "bind"));
	ASSERT_TRUE(binding_wait_device());
	ASSERT_EQ(0, rdma_open(&self->r));
	EXPECT_TRUE(wait_for_umr(_metadata, self));
}

/* The driver creates queues of its own when they are first used. */
static void use_drivers_objects(struct __test_metadata *_metadata)
{
	static char mem[UV_PAGE_MAX];
	struct ibv_mr *mr;
	struct rdma r;

	ASSERT_EQ(0, rdma_open(&r));
	mr = ibv_reg_mr(r.pd, mem, sizeof(mem), REGION_ACCESS);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	use_xrc(&r);
	rdma_close(&r);
}

/* The driver's own queues: when the driver is unbound firmware refuses to destroy each once. */
TEST(refused_destruction_of_the_drivers_own_objects_is_repeated)
{
	static const char *const ops[] = {
		"DESTROY_QP", "DESTROY_CQ", "DESTROY_XRC_SRQ", "DEALLOC_PD", "DEALLOC_XRCD",
	};
	struct binding b;
	unsigned int i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	/* While an object stays, firmware keeps the objects to which it refers. */
	ASSERT_EQ(0, hca_expect("refuse DESTROY_CQ BAD_RES_STATE_ERR any"));
	ASSERT_EQ(0, hca_expect("refuse DEALLOC_PD BAD_RES_STATE_ERR any"));
	ASSERT_EQ(0, hca_expect("refuse DEALLOC_XRCD BAD_RES_STATE_ERR any"));
	ASSERT_EQ(0, binding_find(&b));
	ASSERT_EQ(0, binding_do(&b, "unbind"));
	ASSERT_EQ(0, hca_census_reset());
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		ASSERT_EQ(0, binding_do(&b, "bind"));
		ASSERT_TRUE(binding_wait_device());
		use_drivers_objects(_metadata);
		ASSERT_EQ(0, hca_do("inject op %s INT_ERR 1", ops[i]));
		ASSERT_EQ(0, binding_do(&b, "unbind"));
		EXPECT_GE(1, hca_inject_clear());
		EXPECT_CENSUS_UNCHANGED() TH_LOG("%s", ops[i]);
	}
	ASSERT_EQ(0, binding_do(&b, "bind"));
	ASSERT_TRUE(binding_wait_device());
}

TEST_HARNESS_MAIN
