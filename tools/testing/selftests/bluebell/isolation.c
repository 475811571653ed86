// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What an unprivileged process can do with the device, and what it cannot do to another process.
 * Except for the victim, all processes run as the user "tester", without capabilities.
 */

#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "devx_cmd.h"
#include "klog.h"
#include "rights.h"
#include "test.h"

#define BF_OFFSET 0x800
#define CQ_ARM_OFFSET 0x20
#define SECRET 0x5ec2e7

/*
 * The victim is another process with a queue pair, a CQ, an MR and a UAR. It publishes their
 * numbers in shared memory, waits, and reports by its exit status whether its memory was changed.
 */
struct victim_info {
	uint32_t qpn, cqn, pd, mr_handle, qp_handle, cq_handle, rkey, uar_page_id;
	uint64_t addr;
	off_t uar_off;
};

FIXTURE(attack) {
	struct uv uv;
	pid_t pid;
	int to[2], from[2];
	struct victim_info *v;
};

static int victim_create_objects(struct victim_info *v)
{
	static struct uv_qp qp;
	static struct uv_cq cq;
	static struct uv uv;
	struct ib_uverbs_reg_mr_resp mr;
	struct uv_uar uar = {};
	uint32_t *page = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
	size_t i;

	for (i = 0; i < UV_PAGE / sizeof(*page); i++)
		page[i] = SECRET;
	v->addr = (uintptr_t)page;
	if (uv_open(&uv) || uv_alloc_pd(uv.fd, &v->pd, NULL) || uv_create_cq(uv.fd, 31, &cq) ||
	    uv_create_qp(uv.fd, v->pd, cq.handle, IBV_QPT_RC, &qp) ||
	    uv_reg_mr(uv.fd, v->pd, page, UV_PAGE, v->addr, ALL_ACCESS, &mr) ||
	    uv_alloc_uar(uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar))
		return -1;
	v->qpn = qp.qpn;
	v->cqn = cq.cqn;
	v->qp_handle = qp.handle;
	v->cq_handle = cq.handle;
	v->mr_handle = mr.mr_handle;
	v->rkey = mr.rkey;
	v->uar_page_id = uar.page_id;
	v->uar_off = uar.mmap_off;
	return 0;
}

static void __noreturn victim_run(struct victim_info *v, int in, int out)
{
	uint32_t *page;
	size_t i;
	char byte;

	if (victim_create_objects(v) || write(out, "", 1) != 1 || read(in, &byte, 1) != 1)
		_exit(2);
	page = (void *)(uintptr_t)v->addr;
	for (i = 0; i < UV_PAGE / sizeof(*page); i++)
		if (page[i] != SECRET)
			_exit(3);
	_exit(0);
}

FIXTURE_SETUP(attack)
{
	char byte;

	self->v = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->v);
	ASSERT_EQ(0, pipe(self->to));
	ASSERT_EQ(0, pipe(self->from));
	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid)
		victim_run(self->v, self->to[0], self->from[1]);
	close(self->from[1]);
	ASSERT_EQ(1, read(self->from[0], &byte, 1)) TH_LOG("the victim cannot create its objects");
	ASSERT_EQ(0, drop_privileges());
	ASSERT_EQ(0, uv_open(&self->uv));
}

/* Whatever the test has tried, the victim's memory must not have changed. */
FIXTURE_TEARDOWN(attack)
{
	int status = -1;

	uv_close(&self->uv);
	if (write(self->to[1], "", 1) == 1)
		waitpid(self->pid, &status, 0);
	EXPECT_EQ(0, status);
}

TEST_F(attack, handles_of_another_file_are_refused)
{
	struct ib_uverbs_dereg_mr dereg = { .mr_handle = self->v->mr_handle };
	struct ib_uverbs_destroy_cq cq = { .cq_handle = self->v->cq_handle };
	struct ib_uverbs_destroy_cq_resp cq_resp;
	struct ib_uverbs_reg_mr_resp mr;
	void *buf = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT_GT(0, uv_dealloc_pd(self->uv.fd, self->v->pd));
	EXPECT_GT(0, uv_destroy_qp_handle(self->uv.fd, self->v->qp_handle));
	EXPECT_GT(0, uv_cmd(self->uv.fd, IB_USER_VERBS_CMD_DEREG_MR, &dereg, sizeof(dereg), NULL, 0,
			    NULL,
			    0, NULL, 0));
	EXPECT_GT(0, uv_cmd(self->uv.fd, IB_USER_VERBS_CMD_DESTROY_CQ, &cq, sizeof(cq), &cq_resp,
			    sizeof(cq_resp), NULL, 0, NULL, 0));
	EXPECT_GT(0, uv_reg_mr(self->uv.fd, self->v->pd, buf, UV_PAGE, (uintptr_t)buf,
			       IBV_ACCESS_LOCAL_WRITE, &mr));
}

TEST_F(attack, uars_of_another_context_cannot_be_mapped)
{
	unsigned long idx;

	EXPECT_EQ(MAP_FAILED, mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, self->uv.fd,
				   self->v->uar_off));
	/* An index beyond the context's own pages maps no UAR either. */
	for (idx = 8; idx < 256; idx++)
		EXPECT_EQ(MAP_FAILED, mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, self->uv.fd,
					   uv_mmap_off(MLX5_IB_MMAP_REGULAR_PAGE, idx)));
}

TEST_F(attack, doorbells_for_another_contexts_queues_are_dropped)
{
	long dropped;
	uint8_t *uar;
	int i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	dropped = hca_counter("wrong_uar");
	ASSERT_EQ(0, hca_expect("drop wrong_uar 16"));
	for (i = 0; i < 8; i++) {
		uar = uv_map_static_uar(self->uv.fd, i);
		ASSERT_NE(NULL, uar);
		ring(uar + BF_OFFSET, htobe64((uint64_t)self->v->qpn << 8 | 1));
		ring(uar + CQ_ARM_OFFSET, htobe64((uint64_t)self->v->cqn));
	}
	EXPECT_EQ(dropped + 16, hca_counter("wrong_uar"));
}

/* Use the victim's key and address as rkey in a loopback connection, and as lkey. */
TEST_F(attack, keys_of_another_process_are_refused)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_sge sge = { .addr = self->v->addr, .length = 64, .lkey = self->v->rkey };
	struct ibv_wc wc;
	struct rdma r;
	struct pair p;

	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, pair_open(&p, &r, &cfg, 4096));
	wr.wr.rdma.remote_addr = self->v->addr;
	wr.wr.rdma.rkey = self->v->rkey;
	ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, reap(p.cq[0], &wc));
	ASSERT_EQ(0, pair_reconnect(&p));

	wr = (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_READ };
	wr.wr.rdma.remote_addr = self->v->addr;
	wr.wr.rdma.rkey = self->v->rkey;
	ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, reap(p.cq[0], &wc));
	EXPECT_NE(SECRET, *(uint32_t *)p.buf[0]);
	ASSERT_EQ(0, pair_reconnect(&p));

	wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	ASSERT_EQ(0, post_recv(p.qp[1], p.mr, p.buf[1], 64, 1));
	ASSERT_EQ(0, post_send(&p, &wr, NULL, 0));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, reap(p.cq[0], &wc));
	EXPECT_NE(SECRET, *(uint32_t *)p.buf[1]);
	pair_close(&p);
	rdma_close(&r);
}

TEST_F(attack, guessed_keys_are_refused)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	uint32_t key, own;
	struct rdma r;
	struct pair p;

	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, pair_open(&p, &r, &cfg, 4096));
	own = p.mr->rkey >> 8;
	for (key = self->v->rkey - 0x300; key <= self->v->rkey + 0x300; key += 0x40) {
		if (key >> 8 == own)
			continue;
		wr = (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_WRITE };
		wr.wr.rdma.remote_addr = self->v->addr;
		wr.wr.rdma.rkey = key;
		ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 8));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, reap(p.cq[0], &wc)) TH_LOG("key %#x", key);
		ASSERT_EQ(0, pair_reconnect(&p));
	}
	pair_close(&p);
	rdma_close(&r);
}

/*
 * The driver looks up the address in the address space of the caller, the attacker, who has no
 * access there. Do not unmap the page: the memory of the CQ could be mapped at the address.
 */
TEST_F(attack, doorbell_record_is_in_the_callers_memory)
{
	void *addr = (void *)(uintptr_t)self->v->addr;
	struct uv_cq cq;

	ASSERT_EQ(addr, mmap(addr, UV_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			     0));
	EXPECT_EQ(-EFAULT, uv_create_cq_dbr(self->uv.fd, 31, addr, &cq));
}

/* --- Unprivileged users --------------------------------------------------------------------- */

TEST(unprivileged_user_can_work)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_wc wc;
	struct rdma r;
	struct pair p;

	ASSERT_EQ(0, drop_privileges());
	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, pair_open(&p, &r, &cfg, 4096));
	fill(p.buf[0], 4096, 1);
	wr.wr.rdma.remote_addr = (uintptr_t)p.buf[1];
	wr.wr.rdma.rkey = p.mr->rkey;
	ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 4096));
	EXPECT_EQ(0, reap_ok(p.cq[0], &wc));
	EXPECT_TRUE(check_fill(p.buf[1], 4096, 1));
	pair_close(&p);
	rdma_close(&r);
}

TEST(raw_packet_qp_needs_privileges)
{
	struct uv_qp_req req;
	struct uv_cq cq;
	struct uv_qp qp = {};
	struct uv uv;
	uint32_t pd;

	ASSERT_EQ(0, drop_privileges());
	ASSERT_EQ(0, uv_open(&uv));
	ASSERT_EQ(0, uv_alloc_pd(uv.fd, &pd, NULL));
	ASSERT_EQ(0, uv_create_cq(uv.fd, 31, &cq));
	uv_qp_req_init(&req, pd, cq.handle, IBV_QPT_RAW_PACKET);
	ASSERT_EQ(0, uv_mem_alloc(&qp.mem, 1 << 16));
	req.drv.buf_addr = (uintptr_t)qp.mem.buf;
	req.drv.db_addr = (uintptr_t)qp.mem.dbr;
	EXPECT_EQ(-EPERM, uv_create_qp_raw(uv.fd, &req, &qp));
	uv_close(&uv);
}

/* --- The log -------------------------------------------------------------------------------- */

/*
 * Make requests that a driver refuses. Returns how many of them it did not refuse, or a negative
 * errno.
 */
static int make_bad_requests(void)
{
	/* Nothing is mapped at these addresses. */
	struct mlx5_ib_create_cq drv = { .buf_addr = UV_PAGE, .db_addr = UV_PAGE, .cqe_size = 64 };
	struct ib_uverbs_create_cq_resp cq_resp;
	struct ib_uverbs_reg_mr_resp mr;
	struct uv_qp_req req;
	struct uv_uar uar = {};
	struct uv_qp qp = {};
	int taken = 0, ret;
	uint32_t pd, cqn;
	struct uv_cq cq;
	struct uv_dm dm;
	struct uv uv;

	ret = uv_open(&uv) ?: uv_alloc_pd(uv.fd, &pd, NULL) ?: uv_create_cq(uv.fd, 31, &cq);
	if (ret)
		return ret;
	taken += !uv_create_cq_raw(uv.fd, 31, &drv, sizeof(drv), &cq_resp, &cqn);
	drv.cqe_size = 17;
	taken += !uv_create_cq_raw(uv.fd, 31, &drv, sizeof(drv), &cq_resp, &cqn);
	uv_qp_req_init(&req, pd, cq.handle, IBV_QPT_RC);
	req.drv.buf_addr = UV_PAGE;
	req.drv.db_addr = UV_PAGE;
	taken += !uv_create_qp_raw(uv.fd, &req, &qp);
	req.drv.rq_wqe_shift = 31;
	taken += !uv_create_qp_raw(uv.fd, &req, &qp);
	taken += !uv_reg_mr(uv.fd, pd, (void *)UV_PAGE, UV_PAGE, UV_PAGE, ALL_ACCESS, &mr);
	taken += !uv_reg_mr(uv.fd, pd, &uv, sizeof(uv), (uintptr_t)&uv, 1u << 19, &mr);
	taken += !uv_alloc_uar(uv.fd, 77, &uar);
	taken += !uv_alloc_dm(uv.fd, 1ull << 40, 0, &dm);
	taken += mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, uv.fd, 77ull << 20) != MAP_FAILED;
	/* Free a PD that a queue pair uses, and bring a queue pair from RESET to RTS at once. */
	ret = uv_create_qp(uv.fd, pd, cq.handle, IBV_QPT_RC, &qp);
	if (ret)
		return ret;
	taken += !uv_dealloc_pd(uv.fd, pd);
	taken += !uv_modify_qp(uv.fd, &(struct ib_uverbs_modify_qp){
			.qp_handle = qp.handle, .attr_mask = IBV_QP_STATE,
			.qp_state = IBV_QPS_RTS });
	uv_close(&uv);
	return taken;
}

/*
 * Post requests that end in errors, and overrun a CQ. Returns 0, the number of the first step that
 * does not end as it should, or -1 if the queue pairs cannot be created.
 */
static int post_bad_requests(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_sge sge = { .length = 8 };
	struct ibv_cq *small;
	struct ibv_wc wc;
	struct rdma r;
	struct pair p;
	int i;

	if (rdma_open(&r) || pair_open(&p, &r, &cfg, 4096))
		return -1;
	/* A key that differs from the region's in one bit: at the receiver, then at the sender. */
	wr.wr.rdma.remote_addr = (uintptr_t)p.buf[1];
	wr.wr.rdma.rkey = p.mr->rkey ^ 1;
	if (post_send(&p, &wr, p.buf[0], 8) || reap(p.cq[0], &wc) != IBV_WC_REM_ACCESS_ERR ||
	    pair_reconnect(&p))
		return 1;
	sge.addr = (uintptr_t)p.buf[0];
	sge.lkey = p.mr->lkey ^ 1;
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	if (post_send(&p, &wr, NULL, 0) || reap(p.cq[0], &wc) != IBV_WC_LOC_PROT_ERR ||
	    pair_reconnect(&p))
		return 2;
	small = ibv_create_cq(r.ctx, 7, NULL, NULL, 0);
	if (!small || ibv_destroy_qp(p.qp[0]))
		return 3;
	p.qp[0] = rdma_qp_create(&r, small, &cfg);
	if (!p.qp[0] || pair_reconnect(&p))
		return 4;
	for (i = 0; i < 20; i++) {
		wr = (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_WRITE };
		wr.wr.rdma.remote_addr = (uintptr_t)p.buf[1];
		wr.wr.rdma.rkey = p.mr->rkey;
		if (post_send(&p, &wr, p.buf[0], 8))
			return 5;
	}
	return wait_object_event(r.ctx, small, IBV_EVENT_CQ_ERR, 5000) ? 0 : 6;
}

/*
 * Errnos, completions and events tell a process of its mistakes. The mistakes must not fill the
 * kernel's log, where messages about the RDMA device have its name.
 */
TEST(mistakes_are_not_logged)
{
	int status, logged = klog_count(" mlx5_0: ");
	pid_t pid;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (drop_privileges())
			_exit(100);
		status = make_bad_requests();
		_exit(status ? 50 + status : post_bad_requests());
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status) && !WEXITSTATUS(status)) TH_LOG("status %#x", status);
	EXPECT_EQ(logged, klog_count(" mlx5_0: "));
}

/* --- Locked memory ---------------------------------------------------------------------------- */

FIXTURE(memlock) {
	struct uv uv;
	uint32_t pd;
	void *mem;
};

#define LIMIT_PAGES 64

FIXTURE_SETUP(memlock)
{
	struct rlimit lim = { LIMIT_PAGES * UV_PAGE, LIMIT_PAGES * UV_PAGE };

	self->mem = mmap(NULL, 4 * LIMIT_PAGES * UV_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &lim));
	ASSERT_EQ(0, drop_privileges());
	ASSERT_EQ(0, uv_open(&self->uv));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &self->pd, NULL));
}

FIXTURE_TEARDOWN(memlock)
{
	uv_close(&self->uv);
}

static int reg_pages(struct uv *uv, uint32_t pd, void *mem, size_t pages, uint32_t *handle)
{
	struct ib_uverbs_reg_mr_resp resp;
	int ret = uv_reg_mr(uv->fd, pd, mem, pages * UV_PAGE, (uintptr_t)mem,
			    IBV_ACCESS_LOCAL_WRITE,
			    &resp);

	*handle = resp.mr_handle;
	return ret;
}

TEST_F(memlock, regions_beyond_the_limit_are_refused)
{
	uint32_t handle, more;

	ASSERT_EQ(0, reg_pages(&self->uv, self->pd, self->mem, LIMIT_PAGES, &handle));
	EXPECT_EQ(LIMIT_PAGES, uv_pinned_pages());
	EXPECT_EQ(-ENOMEM, reg_pages(&self->uv, self->pd, self->mem + LIMIT_PAGES * UV_PAGE, 1,
				     &more));
	EXPECT_EQ(LIMIT_PAGES, uv_pinned_pages());
	ASSERT_EQ(0, uv_dereg_mr(self->uv.fd, handle));
	EXPECT_EQ(0, uv_pinned_pages());
	EXPECT_EQ(-ENOMEM, reg_pages(&self->uv, self->pd, self->mem, LIMIT_PAGES + 1, &more));
	EXPECT_EQ(0, uv_pinned_pages());
	EXPECT_EQ(0, reg_pages(&self->uv, self->pd, self->mem, LIMIT_PAGES, &handle));
}

/* The same page counts once for each region that pins it. */
TEST_F(memlock, page_pinned_twice_counts_twice)
{
	uint32_t handle;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, reg_pages(&self->uv, self->pd, self->mem, LIMIT_PAGES / 4, &handle));
	EXPECT_EQ(-ENOMEM, reg_pages(&self->uv, self->pd, self->mem, 1, &handle));
}

TEST_F(memlock, queues_count_against_the_limit)
{
	struct uv_cq cq, another;
	struct uv_qp qp;
	uint32_t handle;
	long pinned;

	ASSERT_EQ(0, uv_create_cq(self->uv.fd, 63, &cq));
	pinned = uv_pinned_pages();
	EXPECT_EQ(2, pinned);	/* the CQ's buffer and its doorbell record */
	ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, cq.handle, IBV_QPT_RC, &qp));
	EXPECT_LT(pinned, uv_pinned_pages());
	pinned = uv_pinned_pages();
	ASSERT_EQ(0, reg_pages(&self->uv, self->pd, self->mem, LIMIT_PAGES - pinned, &handle));
	/* The limit is reached: no queue can be created, and the attempts leave nothing pinned. */
	EXPECT_EQ(-ENOMEM, uv_create_cq(self->uv.fd, 63, &another));
	EXPECT_EQ(-ENOMEM, uv_create_qp(self->uv.fd, self->pd, cq.handle, IBV_QPT_RC, &qp));
	EXPECT_EQ(LIMIT_PAGES, uv_pinned_pages());
	ASSERT_EQ(0, uv_dereg_mr(self->uv.fd, handle));
	EXPECT_EQ(0, uv_create_cq(self->uv.fd, 63, &another));
}

static int create_and_destroy_srq(struct uv *uv, uint32_t pd, const struct uv_mem *mem,
				  uint32_t type, uint32_t cq)
{
	struct mlx5_ib_create_srq drv = {
		.buf_addr = (uintptr_t)mem->buf, .db_addr = (uintptr_t)mem->dbr,
		.uidx = uv_uidx(),
	};
	struct uv_srq srq = { .type = type, .cq = cq, .max_wr = 127, .max_sge = 1 };
	int ret = 0;

	if (type == IB_UVERBS_SRQT_XRC)
		ret = uv_open_xrcd(uv->fd, -1, O_CREAT, &srq.xrcd);
	if (ret)
		return ret;
	ret = uv_create_xsrq(uv->fd, pd, &drv, sizeof(drv), &srq);
	if (!ret)
		ret = uv_destroy_srq(uv->fd, srq.handle);
	if (type == IB_UVERBS_SRQT_XRC && uv_close_xrcd(uv->fd, srq.xrcd))
		return -EBUSY;
	return ret;
}

/* An SRQ needs two pages. It cannot be created with room for none or one of them. */
TEST_F(memlock, srqs_count_against_the_limit)
{
	static const uint32_t types[] = { IB_UVERBS_SRQT_BASIC, IB_UVERBS_SRQT_XRC };
	struct uv_mem mem;
	uint32_t handle;
	struct uv_cq cq;
	size_t i, room;
	long pinned;
	int ret;

	ASSERT_EQ(0, uv_mem_alloc(&mem, UV_PAGE));
	ASSERT_EQ(0, uv_create_cq(self->uv.fd, 15, &cq));
	pinned = uv_pinned_pages();
	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (room = 0; room <= 2; room++) {
			ASSERT_EQ(0, reg_pages(&self->uv, self->pd, self->mem,
					       LIMIT_PAGES - pinned - room, &handle));
			ret = create_and_destroy_srq(&self->uv, self->pd, &mem, types[i],
						     cq.handle);
			if (ret != -EOPNOTSUPP)
				EXPECT_EQ(room < 2 ? -ENOMEM : 0, ret)
					TH_LOG("type %u, room for %zu", types[i], room);
			EXPECT_EQ(LIMIT_PAGES - room, uv_pinned_pages());
			ASSERT_EQ(0, uv_dereg_mr(self->uv.fd, handle));
		}
}

TEST_F(memlock, doorbell_record_counts_against_the_limit)
{
	struct uv_cq cq;
	uint32_t handle;

	ASSERT_EQ(0, reg_pages(&self->uv, self->pd, self->mem, LIMIT_PAGES - 1, &handle));
	EXPECT_EQ(-ENOMEM, uv_create_cq(self->uv.fd, 63, &cq));
	EXPECT_EQ(LIMIT_PAGES - 1, uv_pinned_pages());
}

/* --- Limits of locked memory, and what counts ------------------------------------------------- */

#define MANY_PAGES 128
#define SOME_PAGES 16
#define BIG_CQE (64 * (unsigned int)UV_PAGE / 64 - 1)	/* in 64 pages */
#define CQE_OF_SOME_PAGES (SOME_PAGES * (unsigned int)UV_PAGE / 64 - 1)

/* A context of a process without privileges, and the objects that the verbs of a test use. */
struct limited {
	struct uv uv;
	uint32_t pd, mr;
	struct uv_cq cq, more;
	struct uv_qp qp;
	struct uv_mem mem;
	struct devx_umem umem;
};

static int prepare_cq(struct limited *l)
{
	return uv_create_cq(l->uv.fd, 63, &l->cq);
}

static int finish_cq(struct limited *l)
{
	return uv_destroy_cq(l->uv.fd, &l->cq);
}

static int call_cq(struct limited *l)
{
	return uv_create_cq(l->uv.fd, 63, &l->more);
}

static int call_big_cq(struct limited *l)
{
	return uv_create_cq(l->uv.fd, BIG_CQE, &l->more);
}

static int call_cq_on_a_pinned_record(struct limited *l)
{
	return uv_create_cq_dbr(l->uv.fd, 63, l->cq.mem.dbr + 16, &l->more);
}

static int undo_cq(struct limited *l)
{
	return uv_destroy_cq(l->uv.fd, &l->more);
}

/* The old buffer is pinned until the CQ has been resized. */
static int call_resize(struct limited *l)
{
	const struct mlx5_ib_resize_cq drv = {
		.buf_addr = (uintptr_t)l->mem.buf, .cqe_size = 64,
	};

	if (!hca_cap("general", "cq_resize"))
		return -EOPNOTSUPP;
	return uv_resize_cq(l->uv.fd, l->cq.handle, CQE_OF_SOME_PAGES, &drv, sizeof(drv));
}

static int call_qp(struct limited *l)
{
	struct uv_qp_req req;

	/* Two pages: the receive queue, and a send queue of a page. */
	uv_qp_req_init(&req, l->pd, l->cq.handle, IBV_QPT_RC);
	req.drv.sq_wqe_count = UV_PAGE / 64;
	return uv_create_qp_req(l->uv.fd, &req, NULL, &l->qp);
}

static int undo_qp(struct limited *l)
{
	return uv_destroy_qp(l->uv.fd, &l->qp);
}

static int call_srq(struct limited *l)
{
	return create_and_destroy_srq(&l->uv, l->pd, &l->mem, IB_UVERBS_SRQT_BASIC, l->cq.handle);
}

static int call_xrc_srq(struct limited *l)
{
	return create_and_destroy_srq(&l->uv, l->pd, &l->mem, IB_UVERBS_SRQT_XRC, l->cq.handle);
}

static int call_region(struct limited *l)
{
	return reg_pages(&l->uv, l->pd, l->mem.buf, SOME_PAGES, &l->mr);
}

static int call_big_region(struct limited *l)
{
	return reg_pages(&l->uv, l->pd, l->mem.buf, MANY_PAGES, &l->mr);
}

static int call_paged_region(struct limited *l)
{
	struct ib_uverbs_reg_mr_resp resp;
	int ret = uv_reg_mr(l->uv.fd, l->pd, l->mem.buf, MANY_PAGES * UV_PAGE,
			    (uintptr_t)l->mem.buf, IBV_ACCESS_ON_DEMAND, &resp);

	l->mr = resp.mr_handle;
	return ret;
}

static int undo_region(struct limited *l)
{
	return uv_dereg_mr(l->uv.fd, l->mr);
}

static int prepare_region(struct limited *l)
{
	return reg_pages(&l->uv, l->pd, l->mem.buf, 1, &l->mr);
}

/* The old memory stays pinned until the region covers the new memory. */
static int call_rereg(struct limited *l)
{
	const struct ib_uverbs_rereg_mr req = {
		.mr_handle = l->mr, .flags = IBV_REREG_MR_CHANGE_TRANSLATION,
		.start = (uintptr_t)l->mem.buf, .hca_va = (uintptr_t)l->mem.buf,
		.length = SOME_PAGES * UV_PAGE,
	};
	struct ib_uverbs_rereg_mr_resp resp;

	return uv_cmd(l->uv.fd, IB_USER_VERBS_CMD_REREG_MR, &req, sizeof(req), &resp, sizeof(resp),
		      NULL, 0, NULL, 0);
}

static int call_umem(struct limited *l)
{
	if (!devx_has_umems())
		return -EOPNOTSUPP;
	l->umem = (struct devx_umem){
		.addr = (uintptr_t)l->mem.buf, .len = SOME_PAGES * UV_PAGE,
		.access = IBV_ACCESS_LOCAL_WRITE,
	};
	return devx_reg_umem(l->uv.fd, &l->umem);
}

static int undo_umem(struct limited *l)
{
	return devx_dereg_umem(l->uv.fd, l->umem.handle);
}

FIXTURE(limit) {
	struct limited l;
};

FIXTURE_VARIANT(limit) {
	int (*prepare)(struct limited *l);	/* is called before the limit is set */
	int (*call)(struct limited *l);
	int (*undo)(struct limited *l);		/* undoes a call that has succeeded */
	int (*finish)(struct limited *l);
	unsigned int pages;	/* that the call pins before it unpins any */
};

FIXTURE_VARIANT_ADD(limit, cq) { .call = call_cq, .undo = undo_cq, .pages = 2 };

FIXTURE_VARIANT_ADD(limit, big_cq) { .call = call_big_cq, .undo = undo_cq, .pages = 65 };

FIXTURE_VARIANT_ADD(limit, cq_on_a_pinned_record) {
	.prepare = prepare_cq, .call = call_cq_on_a_pinned_record, .undo = undo_cq,
	.finish = finish_cq, .pages = 1,
};

FIXTURE_VARIANT_ADD(limit, resized_cq) {
	.prepare = prepare_cq, .call = call_resize, .finish = finish_cq, .pages = SOME_PAGES,
};

FIXTURE_VARIANT_ADD(limit, qp) {
	.prepare = prepare_cq, .call = call_qp, .undo = undo_qp, .finish = finish_cq, .pages = 3,
};

FIXTURE_VARIANT_ADD(limit, srq) {
	.prepare = prepare_cq, .call = call_srq, .finish = finish_cq, .pages = 2,
};

FIXTURE_VARIANT_ADD(limit, xrc_srq) {
	.prepare = prepare_cq, .call = call_xrc_srq, .finish = finish_cq, .pages = 2,
};

FIXTURE_VARIANT_ADD(limit, region) {
	.call = call_region, .undo = undo_region, .pages = SOME_PAGES,
};

FIXTURE_VARIANT_ADD(limit, big_region) {
	.call = call_big_region, .undo = undo_region, .pages = MANY_PAGES,
};

FIXTURE_VARIANT_ADD(limit, paged_region) {
	.call = call_paged_region, .undo = undo_region,
};

FIXTURE_VARIANT_ADD(limit, moved_region) {
	.prepare = prepare_region, .call = call_rereg, .finish = undo_region, .pages = SOME_PAGES,
};

FIXTURE_VARIANT_ADD(limit, umem) {
	.call = call_umem, .undo = undo_umem, .pages = SOME_PAGES,
};

/* Set this process's soft limit of locked memory. */
static int limit_pages(unsigned long pages)
{
	struct rlimit lim = { pages * UV_PAGE, RLIM_INFINITY };

	return setrlimit(RLIMIT_MEMLOCK, &lim) ? -errno : 0;
}

FIXTURE_SETUP(limit)
{
	struct limited *l = &self->l;

	ASSERT_EQ(0, limit_pages(1000));
	ASSERT_EQ(0, drop_privileges());
	ASSERT_EQ(0, devx_has_user_ids() ? uv_open_devx(&l->uv) : uv_open(&l->uv));
	ASSERT_EQ(0, uv_alloc_pd(l->uv.fd, &l->pd, NULL));
	ASSERT_EQ(0, uv_mem_alloc(&l->mem, MANY_PAGES * UV_PAGE));
}

FIXTURE_TEARDOWN(limit)
{
	uv_close(&self->l.uv);
}

/*
 * Make the call under a limit. Under the limit 0 a process may not lock memory at all, and the
 * errno is EPERM. Returns what the call returns, -EOPNOTSUPP if the device does not have the verb.
 */
static int call_under_limit(struct __test_metadata *_metadata,
			    const FIXTURE_VARIANT(limit) * variant, struct limited *l,
			    unsigned long limit)
{
	long before, want;
	int ret;

	ASSERT_EQ(0, limit_pages(1000));
	ASSERT_EQ(0, variant->prepare ? variant->prepare(l) : 0);
	before = uv_pinned_pages();
	want = !variant->pages || before + variant->pages <= limit ? 0 : limit ? -ENOMEM : -EPERM;
	ASSERT_EQ(0, limit_pages(limit));
	ret = variant->call(l);
	if (ret == -EOPNOTSUPP)
		return ret;
	EXPECT_EQ(want, ret) TH_LOG("limit of %lu pages, %ld are pinned", limit, before);
	EXPECT_EQ(0, !ret && variant->undo ? variant->undo(l) : 0);
	/* A call that cannot be undone has changed which pages are pinned. */
	if (ret || variant->undo)
		EXPECT_EQ(before, uv_pinned_pages());
	EXPECT_EQ(0, variant->finish ? variant->finish(l) : 0);
	EXPECT_EQ(0, uv_pinned_pages());
	return ret;
}

/* Limits of 0 to 128 pages; one page too few for the call, and exactly enough. */
TEST_F(limit, call_succeeds_if_its_pages_fit)
{
	struct limited *l = &self->l;
	unsigned long limits[] = { 0, 2, 16, 128, 0, 0 };
	size_t i;

	ASSERT_EQ(0, variant->prepare ? variant->prepare(l) : 0);
	limits[5] = uv_pinned_pages() + variant->pages;
	limits[4] = limits[5] ? limits[5] - 1 : 0;
	ASSERT_EQ(0, variant->finish ? variant->finish(l) : 0);
	for (i = 0; i < ARRAY_SIZE(limits); i++)
		if (call_under_limit(_metadata, variant, l, limits[i]) == -EOPNOTSUPP)
			SKIP(return, "the device does not have this");
}

TEST_HARNESS_MAIN
