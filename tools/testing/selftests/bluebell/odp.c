// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: every operation meets a page that is not there, on either side; what the
 * process takes away is taken from the device, also in the middle of traffic; memory that is gone
 * is an error and no hang; and advice is followed.
 *
 * ODP_RACE_SECONDS=N lets each race run for N seconds.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "removal.h"
#include "test.h"

#define PAGES 32
#define LEN (PAGES * UV_PAGE)
#define HUGE (2ul << 20)
#define NO_ODP "the device does not page"
#define NO_XRC_ODP "the device does not page for XRC"
#define XRC_ODP (IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | \
		 IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV)

enum kind { SEND, WRITE, READ, ATOMIC };

static const enum ibv_wr_opcode opcodes[] = {
	[SEND] = IBV_WR_SEND, [WRITE] = IBV_WR_RDMA_WRITE, [READ] = IBV_WR_RDMA_READ,
	[ATOMIC] = IBV_WR_ATOMIC_FETCH_AND_ADD,
};

/* Two queue pairs, pinned memory of theirs, and paged memory. */
struct paged {
	struct rdma r;
	struct pair p;
	uint8_t *mem;
	struct ibv_mr *mr;
};

static bool has_odp(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;

	return !ibv_query_device_ex(ctx, NULL, &attr) &&
	       attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT;
}

static bool has_xrc_odp(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;

	return !ibv_query_device_ex(ctx, NULL, &attr) &&
	       (attr.xrc_odp_caps & XRC_ODP) == XRC_ODP;
}

static uint8_t *map_at(void *at)
{
	return mmap(at, LEN, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

static struct ibv_mr *reg(struct paged *o, bool implicit)
{
	return ibv_reg_mr(o->r.pd, implicit ? NULL : o->mem, implicit ? SIZE_MAX : LEN,
			  ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
}

static int paged_open_type(struct paged *o, bool implicit, enum ibv_qp_type type)
{
	struct qp_cfg cfg = { .type = type };
	int ret;

	memset(o, 0, sizeof(*o));
	ret = rdma_open(&o->r);
	if (!ret && !has_odp(o->r.ctx))
		return 1;
	if (!ret && type == IBV_QPT_XRC_SEND && !has_xrc_odp(o->r.ctx))
		return 2;
	if (!ret)
		ret = pair_open(&o->p, &o->r, &cfg, LEN);
	if (ret)
		return ret;
	o->mem = map_at(NULL);
	if (o->mem == MAP_FAILED)
		return -errno;
	o->mr = reg(o, implicit);
	return o->mr ? 0 : -errno;
}

static int paged_open(struct paged *o, bool implicit)
{
	return paged_open_type(o, implicit, IBV_QPT_RC);
}

/* For a fixture's setup: false if the test is skipped. */
static bool paged_setup_type(struct __test_metadata *_metadata, struct paged *o, bool implicit,
			     enum ibv_qp_type type)
{
	int ret = paged_open_type(o, implicit, type);

	if (ret == 1)
		SKIP(return false, NO_ODP);
	if (ret == 2)
		SKIP(return false, NO_XRC_ODP);
	ASSERT_EQ(0, ret) TH_LOG("errno %d", errno);
	return true;
}

static bool paged_setup(struct __test_metadata *_metadata, struct paged *o, bool implicit)
{
	return paged_setup_type(_metadata, o, implicit, IBV_QPT_RC);
}

static int paged_close(struct paged *o)
{
	int ret = o->mr ? ibv_dereg_mr(o->mr) : 0;

	pair_close(&o->p);
	rdma_close(&o->r);
	if (o->mem)
		munmap(o->mem, LEN);
	return ret;
}

/* One operation; returns the status of the requester, or of the receiver if that went well. */
static int run_op(struct paged *o, enum kind op, void *local, uint32_t lkey, void *remote,
		  uint32_t rkey, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)local, .length = len, .lkey = lkey };
	struct ibv_sge rsge = { .addr = (uintptr_t)remote, .length = len, .lkey = rkey };
	struct ibv_recv_wr rwr = { .sg_list = &rsge, .num_sge = 1 };
	struct ibv_send_wr wr = {
		.opcode = opcodes[op], .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;
	int ret;

	if (op == SEND && pair_post_recv(&o->p, &rwr))
		return -1;
	if (op == ATOMIC) {
		wr.wr.atomic.remote_addr = (uintptr_t)remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 5;
	} else if (op != SEND) {
		wr.wr.rdma.remote_addr = (uintptr_t)remote;
		wr.wr.rdma.rkey = rkey;
	}
	if (post_send(&o->p, &wr, NULL, 0))
		return -1;
	ret = reap(o->p.cq[0], &wc);
	if (!ret && op == SEND)
		ret = reap(o->p.cq[1], &wc);
	if (ret)
		pair_reconnect(&o->p);
	return ret;
}

/* Through the paged region at @off, the pinned buffer on the other side. */
static int run_remote(struct paged *o, enum kind op, size_t off, uint32_t len)
{
	return run_op(o, op, o->p.buf[0], o->p.mr->lkey, o->mem + off, o->mr->rkey, len);
}

static int run_local(struct paged *o, enum kind op, size_t off, uint32_t len)
{
	return run_op(o, op, o->mem + off, o->mr->lkey, o->p.buf[1], o->p.mr->rkey, len);
}

/* Where nobody says that it pages, the tests below are skipped. */
TEST(device_says_whether_it_pages)
{
	struct rdma r;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, rdma_open(&r));
	/* Bluebell's keys for implicit regions are longer than an offset of 16 bits reaches. */
	EXPECT_EQ(hca_cap("general", "pg") &&
		  (!driver_is("bluebell") || hca_cap("general", "umr_extended_translation_offset")),
		  has_odp(r.ctx));
	rdma_close(&r);
}

/* --- Faults ------------------------------------------------------------------------------------ */

FIXTURE(fault) {
	struct paged o;
};

FIXTURE_VARIANT(fault) {
	enum kind op;
	bool local, implicit, xrc;
};

FIXTURE_VARIANT_ADD(fault, send_local) { .op = SEND, .local = true };

FIXTURE_VARIANT_ADD(fault, send_remote) { .op = SEND };

FIXTURE_VARIANT_ADD(fault, write_local) { .op = WRITE, .local = true };

FIXTURE_VARIANT_ADD(fault, write_remote) { .op = WRITE };

FIXTURE_VARIANT_ADD(fault, read_local) { .op = READ, .local = true };

FIXTURE_VARIANT_ADD(fault, read_remote) { .op = READ };

FIXTURE_VARIANT_ADD(fault, atomic_local) { .op = ATOMIC, .local = true };

FIXTURE_VARIANT_ADD(fault, atomic_remote) { .op = ATOMIC };

FIXTURE_VARIANT_ADD(fault, send_local_implicit) { .op = SEND, .local = true, .implicit = true };

FIXTURE_VARIANT_ADD(fault, send_remote_implicit) { .op = SEND, .implicit = true };

FIXTURE_VARIANT_ADD(fault, write_remote_implicit) { .op = WRITE, .implicit = true };

FIXTURE_VARIANT_ADD(fault, read_local_implicit) { .op = READ, .local = true, .implicit = true };

FIXTURE_VARIANT_ADD(fault, read_remote_implicit) { .op = READ, .implicit = true };

FIXTURE_VARIANT_ADD(fault, atomic_remote_implicit) { .op = ATOMIC, .implicit = true };

FIXTURE_VARIANT_ADD(fault, xrc_send_local) { .xrc = true, .op = SEND, .local = true };

FIXTURE_VARIANT_ADD(fault, xrc_send_remote) { .xrc = true, .op = SEND };

FIXTURE_VARIANT_ADD(fault, xrc_write_local) { .xrc = true, .op = WRITE, .local = true };

FIXTURE_VARIANT_ADD(fault, xrc_write_remote) { .xrc = true, .op = WRITE };

FIXTURE_VARIANT_ADD(fault, xrc_read_local) { .xrc = true, .op = READ, .local = true };

FIXTURE_VARIANT_ADD(fault, xrc_read_remote) { .xrc = true, .op = READ };

FIXTURE_VARIANT_ADD(fault, xrc_atomic_local) { .xrc = true, .op = ATOMIC, .local = true };

FIXTURE_VARIANT_ADD(fault, xrc_atomic_remote) { .xrc = true, .op = ATOMIC };

FIXTURE_VARIANT_ADD(fault, xrc_send_local_implicit) {
	.xrc = true, .op = SEND, .local = true, .implicit = true,
};

FIXTURE_VARIANT_ADD(fault, xrc_send_remote_implicit) {
	.xrc = true, .op = SEND, .implicit = true,
};

FIXTURE_VARIANT_ADD(fault, xrc_read_local_implicit) {
	.xrc = true, .op = READ, .local = true, .implicit = true,
};

FIXTURE_SETUP(fault)
{
	if (!paged_setup_type(_metadata, &self->o, variant->implicit,
			      variant->xrc ? IBV_QPT_XRC_SEND : IBV_QPT_RC))
		return;
	if (variant->op == ATOMIC && !rdma_has_atomics(self->o.r.ctx))
		SKIP(return, NO_ATOMICS);
}

FIXTURE_TEARDOWN(fault)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

/* Does the device write to the paged memory? */
static bool op_writes(enum kind op, bool local)
{
	return local ? op == READ || op == ATOMIC : op != READ;
}

TEST_F(fault, is_resolved_and_nothing_notices)
{
	uint32_t len = variant->op == ATOMIC ? 8 : 5 * UV_PAGE;
	bool writes = op_writes(variant->op, variant->local);
	size_t off = variant->op == ATOMIC ? 64 : 100;
	struct paged *o = &self->o;
	uint8_t *pinned = o->p.buf[variant->local];
	long before, after, failed = hca_counter("page_faults_failed");
	unsigned int i;

	for (i = 0; i < 5; i++) {
		madvise(o->mem, LEN, MADV_DONTNEED);
		if (!writes)
			fill(o->mem + off, len, i);
		fill(pinned, len, i + 50);
		/* What is there for the process is not there for the device yet. */
		before = hca_counter("page_faults");
		ASSERT_EQ(0, variant->local ? run_local(o, variant->op, off, len) :
					      run_remote(o, variant->op, off, len));
		after = hca_counter("page_faults");
		/* A short answer comes in the completion, and memory is not touched. */
		if (hca_ctl_present() && !(variant->op == ATOMIC && variant->local))
			EXPECT_LT(before, after);
		if (variant->op == ATOMIC && !variant->local) {
			EXPECT_EQ(5, *(uint64_t *)(o->mem + off));
		} else {
			EXPECT_TRUE(check_fill(writes ? o->mem + off : pinned, len,
					       writes ? i + 50 : i));
		}
	}
	EXPECT_EQ(failed, hca_counter("page_faults_failed"));
}

/* --- Invalidation ------------------------------------------------------------------------------ */

FIXTURE(lost) {
	struct paged o;
};

FIXTURE_VARIANT(lost) {
	bool implicit, xrc;
};

FIXTURE_VARIANT_ADD(lost, explicit) { .implicit = false };

FIXTURE_VARIANT_ADD(lost, implicit) { .implicit = true };

FIXTURE_VARIANT_ADD(lost, xrc) { .xrc = true };

FIXTURE_SETUP(lost)
{
	if (!paged_setup_type(_metadata, &self->o, variant->implicit,
			      variant->xrc ? IBV_QPT_XRC_SEND : IBV_QPT_RC))
		return;
	memset(self->o.mem, 0x11, LEN);
	ASSERT_EQ(0, run_remote(&self->o, WRITE, 0, LEN));
}

FIXTURE_TEARDOWN(lost)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

TEST_F(lost, memory_that_is_unmapped_is_an_error)
{
	struct paged *o = &self->o;

	munmap(o->mem, LEN);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, WRITE, 0, 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, READ, 0, 64));
	if (rdma_has_atomics(o->r.ctx))
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, ATOMIC, 0, 8));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, run_local(o, WRITE, 0, 64));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, run_local(o, READ, 0, 64));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, run_local(o, SEND, 0, 64));
	EXPECT_EQ(IBV_WC_REM_OP_ERR, run_remote(o, SEND, 0, 64));
	/* Something new in the same place is as good as ever. */
	ASSERT_EQ(o->mem, map_at(o->mem));
	fill(o->p.buf[0], 64, 3);
	ASSERT_EQ(0, run_remote(o, WRITE, 0, 64));
	EXPECT_TRUE(check_fill(o->mem, 64, 3));
}

TEST_F(lost, part_that_is_unmapped_leaves_the_rest)
{
	struct paged *o = &self->o;

	munmap(o->mem + 8 * UV_PAGE, UV_PAGE);
	EXPECT_EQ(0, run_remote(o, WRITE, 0, 8 * UV_PAGE));
	EXPECT_EQ(0, run_remote(o, WRITE, 9 * UV_PAGE, LEN - 9 * UV_PAGE));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, WRITE, 8 * UV_PAGE - 8, 16));
}

TEST_F(lost, discarded_pages_are_zero_again)
{
	struct paged *o = &self->o;
	size_t i;

	madvise(o->mem + 3 * UV_PAGE, 2 * UV_PAGE, MADV_DONTNEED);
	ASSERT_EQ(0, run_remote(o, READ, 0, LEN));
	for (i = 0; i < LEN; i += UV_PAGE) {
		bool gone = i / UV_PAGE == 3 || i / UV_PAGE == 4;

		EXPECT_EQ(gone ? 0 : o->mem[i], o->p.buf[0][i]);
	}
}

TEST_F(lost, moved_memory_is_not_where_it_was)
{
	struct paged *o = &self->o;
	uint8_t *to;

	to = mremap(o->mem, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED,
		    mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	ASSERT_NE(MAP_FAILED, to);
	memset(to, 0x22, LEN);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, WRITE, 0, 64));
	EXPECT_EQ(0x22, to[0]);
	ASSERT_EQ(o->mem, map_at(o->mem));
	ASSERT_EQ(0, run_remote(o, READ, 0, 64));
	EXPECT_EQ(0, o->p.buf[0][0]);
	munmap(to, LEN);
}

TEST_F(lost, read_only_memory_is_read_only_for_the_device)
{
	struct paged *o = &self->o;

	mprotect(o->mem, LEN, PROT_READ);
	/* mlx5_ib asks for writable pages whatever is done to them. */
	if (driver_is("bluebell"))
		EXPECT_EQ(0, run_remote(o, READ, 0, 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, WRITE, 0, 64));
	mprotect(o->mem, LEN, PROT_READ | PROT_WRITE);
	EXPECT_EQ(0, run_remote(o, WRITE, 0, 64));
}

/* The child has what was there when it was made; the device goes on with the parent's pages. */
TEST_F(lost, child_keeps_its_own_pages)
{
	struct paged *o = &self->o;
	int go[2], status;
	char c = 0;
	pid_t pid;

	memset(o->mem, 0x33, LEN);
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		if (read(go[0], &c, 1) != 1)
			_exit(2);
		_exit(o->mem[0] == 0x33 && o->mem[LEN - 1] == 0x33 ? 0 : 1);
	}
	fill(o->p.buf[0], LEN, 9);
	EXPECT_EQ(0, run_remote(o, WRITE, 0, LEN));
	EXPECT_TRUE(check_fill(o->mem, LEN, 9));
	EXPECT_EQ(1, write(go[1], &c, 1));
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	close(go[0]);
	close(go[1]);
}

TEST_F(lost, hole_in_a_file_is_zero)
{
	struct paged *o = &self->o;
	int fd = memfd_create("odp", 0);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, LEN));
	ASSERT_EQ(o->mem, mmap(o->mem, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0));
	fill(o->p.buf[0], LEN, 4);
	ASSERT_EQ(0, run_remote(o, WRITE, 0, LEN));
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4 * UV_PAGE,
			       UV_PAGE));
	ASSERT_EQ(0, run_remote(o, READ, 0, LEN));
	EXPECT_TRUE(check_fill(o->p.buf[0], 4 * UV_PAGE, 4));
	EXPECT_EQ(0, o->p.buf[0][4 * UV_PAGE]);
	EXPECT_EQ(o->mem[5 * UV_PAGE], o->p.buf[0][5 * UV_PAGE]);
	/* Beyond the end of the file there is nothing. */
	ASSERT_EQ(0, ftruncate(fd, LEN / 2));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, WRITE, LEN - UV_PAGE, 64));
	close(fd);
}

/* --- Shared receive queues --------------------------------------------------------------------- */

FIXTURE(shared) {
	struct paged o;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct pair p[2];
	struct ibv_cq *cq[2];	/* where what is sent to them completes: of XRC all in one */
};

FIXTURE_VARIANT(shared) {
	bool implicit, xrc;
};

FIXTURE_VARIANT_ADD(shared, explicit) { .implicit = false };

FIXTURE_VARIANT_ADD(shared, implicit) { .implicit = true };

FIXTURE_VARIANT_ADD(shared, xrc) { .xrc = true };

FIXTURE_VARIANT_ADD(shared, xrc_implicit) { .xrc = true, .implicit = true };

/* A pair of XRC sends to an SRQ of its own, unless it is told of another. */
static int connect_to_shared(struct pair *p, struct ibv_srq *srq)
{
	int ret = pair_reconnect(p);

	if (p->srq)
		p->srqn = rdma_srq_num(srq);
	return ret;
}

FIXTURE_SETUP(shared)
{
	enum ibv_qp_type type = variant->xrc ? IBV_QPT_XRC_SEND : IBV_QPT_RC;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 15, .max_sge = 3 } };
	struct qp_cfg cfg = { .type = type };
	struct rdma *r = &self->o.r;
	int i;

	if (!paged_setup_type(_metadata, &self->o, variant->implicit, type))
		return;
	if (variant->xrc) {
		self->xrcd = rdma_open_xrcd(r->ctx, -1, O_CREAT);
		ASSERT_NE(NULL, self->xrcd);
		self->srq = rdma_create_xrc_srq(r, self->xrcd, r->cq, &init.attr);
	} else {
		self->srq = ibv_create_srq(r->pd, &init);
	}
	ASSERT_NE(NULL, self->srq);
	cfg.srq = self->srq;
	cfg.xrcd = self->xrcd;
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pair_open(&self->p[i], r, &cfg, LEN));
		ASSERT_EQ(0, connect_to_shared(&self->p[i], self->srq));
		self->cq[i] = variant->xrc ? r->cq : self->p[i].cq[1];
	}
}

FIXTURE_TEARDOWN(shared)
{
	int i;

	for (i = 0; i < 2; i++)
		pair_close(&self->p[i]);
	if (self->srq)
		EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	if (self->xrcd)
		EXPECT_EQ(0, ibv_close_xrcd(self->xrcd));
	EXPECT_EQ(0, paged_close(&self->o));
}

static int send_to_srq(struct pair *p, uint32_t len)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };

	return post_send(p, &wr, p->buf[0], len);
}

TEST_F(shared, capability_is_told)
{
	struct ibv_device_attr_ex attr;

	ASSERT_EQ(0, ibv_query_device_ex(self->o.r.ctx, NULL, &attr));
	if (hca_ctl_present())
		EXPECT_TRUE((variant->xrc ? attr.xrc_odp_caps :
			     attr.odp_caps.per_transport_caps.rc_odp_caps) &
			    IBV_ODP_SUPPORT_SRQ_RECV);
}

/*
 * Both queue pairs at once, each message in three pieces of which the second is pinned. The queue
 * is gone around several times, and its requests are taken in any order.
 */
TEST_F(shared, fault_of_a_receive_is_resolved)
{
	long before, failed = hca_counter("page_faults_failed");
	struct paged *o = &self->o;
	uint8_t whole[3 * UV_PAGE];
	struct ibv_sge sge[3];
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 3 }, *bad;
	struct ibv_wc wc;
	int round, i, n, from;

	for (round = 0; round < 20; round++) {
		madvise(o->mem, LEN, MADV_DONTNEED);
		before = hca_counter("page_faults");
		for (i = 0; i < 4; i++) {
			sge[0] = (struct ibv_sge){
				(uintptr_t)o->mem + 4 * i * UV_PAGE + 96, UV_PAGE, o->mr->lkey,
			};
			sge[1] = (struct ibv_sge){
				(uintptr_t)o->p.buf[0] + i * UV_PAGE, 1000, o->p.mr->lkey,
			};
			sge[2] = (struct ibv_sge){
				(uintptr_t)o->mem + (4 * i + 2) * UV_PAGE + 32, 2 * UV_PAGE - 1000,
				o->mr->lkey,
			};
			wr.wr_id = i;
			ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr, &bad));
		}
		for (i = 0; i < 2; i++)
			fill(self->p[i].buf[0], sizeof(whole), round + i);
		for (i = 0; i < 4; i++)
			ASSERT_EQ(0, send_to_srq(&self->p[i % 2], sizeof(whole)));
		for (i = 0; i < 4; i++) {
			ASSERT_EQ(0, reap_ok(self->cq[i % 2], &wc));
			n = wc.wr_id;
			from = wc.qp_num == self->p[1].qp[1]->qp_num;
			EXPECT_EQ(self->p[from].qp[1]->qp_num, wc.qp_num);
			ASSERT_GT(4, n);
			memcpy(whole, o->mem + 4 * n * UV_PAGE + 96, UV_PAGE);
			memcpy(whole + UV_PAGE, o->p.buf[0] + n * UV_PAGE, 1000);
			memcpy(whole + UV_PAGE + 1000, o->mem + (4 * n + 2) * UV_PAGE + 32,
			       2 * UV_PAGE - 1000);
			EXPECT_TRUE(check_fill(whole, sizeof(whole), round + from));
			ASSERT_EQ(0, reap_ok(self->p[i % 2].cq[0], &wc));
		}
		if (hca_ctl_present())
			EXPECT_LT(before, hca_counter("page_faults"));
	}
	EXPECT_EQ(failed, hca_counter("page_faults_failed"));
}

/* The one queue pair fails; the queue, and the other, go on. */
TEST_F(shared, memory_that_is_gone_is_an_error)
{
	struct paged *o = &self->o;
	struct ibv_wc wc;

	munmap(o->mem, LEN);
	ASSERT_EQ(0, post_srq_recv(self->srq, o->mr, o->mem, LEN, 1));
	ASSERT_EQ(0, send_to_srq(&self->p[0], 64));
	EXPECT_EQ(IBV_WC_REM_OP_ERR, reap(self->p[0].cq[0], &wc));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, reap(self->cq[0], &wc));
	EXPECT_EQ(1, wc.wr_id);

	ASSERT_EQ(o->mem, map_at(o->mem));
	ASSERT_EQ(0, post_srq_recv(self->srq, o->mr, o->mem, LEN, 2));
	fill(self->p[1].buf[0], 64, 2);
	ASSERT_EQ(0, send_to_srq(&self->p[1], 64));
	ASSERT_EQ(0, reap_ok(self->cq[1], &wc));
	EXPECT_EQ(2, wc.wr_id);
	EXPECT_TRUE(check_fill(o->mem, 64, 2));

	ASSERT_EQ(0, connect_to_shared(&self->p[0], self->srq));
	ASSERT_EQ(0, post_srq_recv(self->srq, o->mr, o->mem + UV_PAGE, UV_PAGE, 3));
	fill(self->p[0].buf[0], 64, 3);
	ASSERT_EQ(0, send_to_srq(&self->p[0], 64));
	ASSERT_EQ(0, reap_ok(self->cq[0], &wc));
	EXPECT_TRUE(check_fill(o->mem + UV_PAGE, 64, 3));
}

/* --- Races ------------------------------------------------------------------------------------- */

struct race {
	struct paged *o;
	atomic_bool stop;
	int fd;
	unsigned long rounds;
	void (*disturb)(struct race *r);
};

static void discard(struct race *r)
{
	madvise(r->o->mem + rand() % PAGES * UV_PAGE, UV_PAGE, MADV_DONTNEED);
}

static void replace(struct race *r)
{
	map_at(r->o->mem);
}

static void unmap(struct race *r)
{
	munmap(r->o->mem, LEN);
	usleep(rand() % 2000);
	map_at(r->o->mem);
	usleep(rand() % 5000);
}

static void move(struct race *r)
{
	uint8_t *to = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mremap(r->o->mem, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	map_at(r->o->mem);
	munmap(to, LEN);
	usleep(rand() % 5000);
}

static void make_child(struct race *r)
{
	pid_t pid = fork();

	(void)r;
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void punch(struct race *r)
{
	fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, rand() % PAGES * UV_PAGE,
		  UV_PAGE);
}

/* Pages move in memory as they do between nodes: the same invalidation, whatever the machine. */
static void migrate(struct race *r)
{
	(void)r;
	if (access("/proc/sys/vm/compact_memory", W_OK))
		madvise(r->o->mem, LEN, MADV_PAGEOUT);
	else
		close(open("/proc/sys/vm/compact_memory", O_WRONLY | O_TRUNC));
	madvise(r->o->mem, LEN, MADV_PAGEOUT);
	usleep(1000);
}

static void protect(struct race *r)
{
	mprotect(r->o->mem, LEN, PROT_READ);
	mprotect(r->o->mem, LEN, PROT_READ | PROT_WRITE);
	usleep(rand() % 3000);
}

static void *disturber(void *arg)
{
	struct race *r = arg;

	while (!r->stop) {
		r->disturb(r);
		r->rounds++;
		/* Or the single processor of a small machine does nothing else. */
		sched_yield();
	}
	return NULL;
}

FIXTURE(race) {
	struct paged o;
};

FIXTURE_VARIANT(race) {
	void (*disturb)(struct race *r);
	bool implicit, file, xrc;
	bool may_fail;		/* for a moment there is no memory */
};

FIXTURE_VARIANT_ADD(race, discard) { .disturb = discard };

FIXTURE_VARIANT_ADD(race, discard_implicit) { .disturb = discard, .implicit = true };

FIXTURE_VARIANT_ADD(race, replace) { .disturb = replace };

FIXTURE_VARIANT_ADD(race, replace_implicit) { .disturb = replace, .implicit = true };

FIXTURE_VARIANT_ADD(race, unmap) { .disturb = unmap, .may_fail = true };

FIXTURE_VARIANT_ADD(race, unmap_implicit) { .disturb = unmap, .implicit = true, .may_fail = true };

FIXTURE_VARIANT_ADD(race, move) { .disturb = move, .may_fail = true };

FIXTURE_VARIANT_ADD(race, move_implicit) { .disturb = move, .implicit = true, .may_fail = true };

FIXTURE_VARIANT_ADD(race, make_child) { .disturb = make_child };

FIXTURE_VARIANT_ADD(race, make_child_implicit) { .disturb = make_child, .implicit = true };

FIXTURE_VARIANT_ADD(race, punch) { .disturb = punch, .file = true };

FIXTURE_VARIANT_ADD(race, punch_implicit) { .disturb = punch, .implicit = true, .file = true };

FIXTURE_VARIANT_ADD(race, migrate) { .disturb = migrate };

FIXTURE_VARIANT_ADD(race, migrate_implicit) { .disturb = migrate, .implicit = true };

FIXTURE_VARIANT_ADD(race, protect) { .disturb = protect, .may_fail = true };

FIXTURE_VARIANT_ADD(race, protect_implicit) {
	.disturb = protect, .implicit = true, .may_fail = true
};

FIXTURE_VARIANT_ADD(race, discard_xrc) { .disturb = discard, .xrc = true };

FIXTURE_VARIANT_ADD(race, unmap_xrc) { .disturb = unmap, .xrc = true, .may_fail = true };

FIXTURE_SETUP(race)
{
	paged_setup_type(_metadata, &self->o, variant->implicit,
			 variant->xrc ? IBV_QPT_XRC_SEND : IBV_QPT_RC);
}

FIXTURE_TEARDOWN(race)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

static double race_seconds(void)
{
	const char *s = getenv("ODP_RACE_SECONDS");

	return s ? atof(s) : 2;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* A page is either as it was written or zero: never another's. */
static bool pages_sane(const uint8_t *p, size_t len, uint8_t pattern)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] && p[i] != pattern) {
			fprintf(stderr, "# byte %zu is %#x\n", i, p[i]);
			return false;
		}
	return true;
}

TEST_F_TIMEOUT(race, traffic_goes_on, 300)
{
	struct race r = { .o = &self->o, .disturb = variant->disturb, .fd = -1 };
	struct paged *o = &self->o;
	unsigned long done = 0, failed = 0;
	pthread_t thread;
	double end;
	int ret;

	if (variant->file) {
		r.fd = memfd_create("odp", 0);
		ASSERT_EQ(0, ftruncate(r.fd, LEN));
		ASSERT_EQ(o->mem, mmap(o->mem, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				       r.fd, 0));
	}
	memset(o->p.buf[0], 0x5a, LEN);
	memset(o->p.buf[1], 0x5a, LEN);
	ASSERT_EQ(0, pthread_create(&thread, NULL, disturber, &r));
	end = seconds() + race_seconds();
	while (seconds() < end || !done) {
		/*
		 * What fits a completion would be copied by libmlx5, and by the process itself,
		 * to memory that may be gone.
		 */
		size_t off = rand() % (LEN - 8192), len = 65 + rand() % (8192 - 64);
		enum kind op = rand() % 3;

		ret = rand() & 1 ? run_remote(o, op, off, len) : run_local(o, op, off, len);
		if (ret == -ETIMEDOUT)
			break;
		failed += !!ret;
		done += !ret;
		/* What zeros came back are made good again. */
		if (!pages_sane(o->p.buf[0], LEN, 0x5a) || !pages_sane(o->p.buf[1], LEN, 0x5a)) {
			ret = -1;
			break;
		}
		memset(o->p.buf[0], 0x5a, LEN);
		memset(o->p.buf[1], 0x5a, LEN);
		if (failed && !variant->may_fail)
			break;
	}
	r.stop = true;
	pthread_join(thread, NULL);
	EXPECT_NE(-ETIMEDOUT, ret);
	EXPECT_NE(-1, ret);
	EXPECT_LT(0, done);
	EXPECT_LT(0, r.rounds);
	if (!variant->may_fail)
		EXPECT_EQ(0, failed);
	TH_LOG("%lu operations, %lu of them failed, %lu disturbances", done + failed, failed,
	       r.rounds);
	if (r.fd >= 0)
		close(r.fd);
	/* And afterwards all is well. */
	ASSERT_EQ(o->mem, map_at(o->mem));
	fill(o->p.buf[0], LEN, 1);
	ASSERT_EQ(0, run_remote(o, WRITE, 0, LEN));
	EXPECT_TRUE(check_fill(o->mem, LEN, 1));
}

/* Asks for all pages, again and again, as the faults of several queues do. */
static void *ask(void *arg)
{
	struct race *r = arg;
	struct ibv_sge sge = {
		.addr = (uintptr_t)r->o->mem, .length = LEN, .lkey = r->o->mr->lkey,
	};

	while (!r->stop) {
		ibv_advise_mr(r->o->r.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			      IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
		r->rounds++;
	}
	return NULL;
}

FIXTURE(crowd) {
	struct paged o;
};

FIXTURE_VARIANT(crowd) {
	void (*disturb)(struct race *r);
	bool implicit;
};

FIXTURE_VARIANT_ADD(crowd, discard) { .disturb = discard };

FIXTURE_VARIANT_ADD(crowd, replace_implicit) { .disturb = replace, .implicit = true };

FIXTURE_SETUP(crowd)
{
	paged_setup(_metadata, &self->o, variant->implicit);
}

FIXTURE_TEARDOWN(crowd)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

/*
 * Several threads bring in the same pages, which go meanwhile. The kernel's log tells of a page that
 * was handled as the process's after it had gone.
 */
TEST_F_TIMEOUT(crowd, races_for_pages_that_go, 300)
{
	struct race r = { .o = &self->o, .disturb = variant->disturb }, asks[3] = {};
	struct paged *o = &self->o;
	pthread_t thread, threads[3];
	unsigned int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, disturber, &r));
	for (i = 0; i < ARRAY_SIZE(asks); i++) {
		asks[i].o = o;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, ask, &asks[i]));
	}
	usleep(race_seconds() * 1e6);
	r.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(0, r.rounds);
	for (i = 0; i < ARRAY_SIZE(asks); i++) {
		asks[i].stop = true;
		pthread_join(threads[i], NULL);
		EXPECT_LT(0, asks[i].rounds);
	}
	ASSERT_EQ(o->mem, map_at(o->mem));
	fill(o->p.buf[0], LEN, 1);
	ASSERT_EQ(0, run_remote(o, WRITE, 0, LEN));
	EXPECT_TRUE(check_fill(o->mem, LEN, 1));
}

/* --- Advice ------------------------------------------------------------------------------------ */

FIXTURE(advice) {
	struct paged o;
};

FIXTURE_VARIANT(advice) {
	bool implicit;
};

FIXTURE_VARIANT_ADD(advice, explicit) { .implicit = false };

FIXTURE_VARIANT_ADD(advice, implicit) { .implicit = true };

FIXTURE_SETUP(advice)
{
	paged_setup(_metadata, &self->o, variant->implicit);
}

FIXTURE_TEARDOWN(advice)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

static int advise(struct paged *o, enum ibv_advise_mr_advice advice, uint32_t flags, void *addr,
		  uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)addr, .length = len, .lkey = lkey };

	return ibv_advise_mr(o->r.pd, advice, flags, &sge, 1);
}

TEST_F(advice, pages_that_were_asked_for_do_not_fault)
{
	struct paged *o = &self->o;
	long faults;

	ASSERT_EQ(0, advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
			    o->mem, LEN, o->mr->lkey));
	faults = hca_counter("page_faults");
	fill(o->p.buf[0], LEN, 6);
	ASSERT_EQ(0, run_remote(o, WRITE, 0, LEN));
	EXPECT_TRUE(check_fill(o->mem, LEN, 6));
	EXPECT_EQ(faults, hca_counter("page_faults"));
	ASSERT_EQ(0, run_local(o, WRITE, 0, LEN));
	EXPECT_EQ(faults, hca_counter("page_faults"));
}

TEST_F(advice, pages_for_reading_can_be_read)
{
	struct paged *o = &self->o;
	long faults;

	fill(o->mem, LEN, 7);
	ASSERT_EQ(0, advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, o->mem, LEN,
			    o->mr->lkey));
	faults = hca_counter("page_faults");
	ASSERT_EQ(0, run_remote(o, READ, 0, LEN));
	EXPECT_TRUE(check_fill(o->p.buf[0], LEN, 7));
	EXPECT_EQ(faults, hca_counter("page_faults"));
}

/* Only what the process has itself: the second half will fault. */
TEST_F(advice, no_fault_brings_in_what_is_there)
{
	struct paged *o = &self->o;
	long faults;

	fill(o->mem, LEN / 2, 8);
	ASSERT_EQ(0, advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, IBV_ADVISE_MR_FLAG_FLUSH,
			    o->mem, LEN, o->mr->lkey));
	faults = hca_counter("page_faults");
	ASSERT_EQ(0, run_remote(o, READ, 0, LEN / 2));
	EXPECT_TRUE(check_fill(o->p.buf[0], LEN / 2, 8));
	EXPECT_EQ(faults, hca_counter("page_faults"));
	ASSERT_EQ(0, run_remote(o, READ, LEN / 2, LEN / 2));
	if (hca_ctl_present())
		EXPECT_LT(faults, hca_counter("page_faults"));
}

TEST_F(advice, advice_for_later_is_followed)
{
	struct paged *o = &self->o;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		madvise(o->mem, LEN, MADV_DONTNEED);
		ASSERT_EQ(0, advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, o->mem, LEN,
				    o->mr->lkey));
		fill(o->p.buf[0], LEN, i);
		ASSERT_EQ(0, run_remote(o, WRITE, 0, LEN));
		EXPECT_TRUE(check_fill(o->mem, LEN, i));
	}
	/* And some that is still on its way when the region goes. */
	EXPECT_EQ(0, advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, o->mem, LEN, o->mr->lkey));
}

TEST_F(advice, bad_advice_is_refused)
{
	const uint32_t flush = IBV_ADVISE_MR_FLAG_FLUSH;
	const enum ibv_advise_mr_advice pf = IBV_ADVISE_MR_ADVICE_PREFETCH;
	struct paged *o = &self->o;
	struct ibv_pd *pd = ibv_alloc_pd(o->r.ctx);
	struct ibv_sge sge = { .addr = (uintptr_t)o->mem, .length = 8, .lkey = o->mr->lkey };

	ASSERT_NE(NULL, pd);
	EXPECT_EQ(EOPNOTSUPP, advise(o, 77, flush, o->mem, 8, o->mr->lkey));
	EXPECT_EQ(EINVAL, advise(o, pf, 0x80, o->mem, 8, o->mr->lkey));
	/* The key of nothing, of pinned memory, of another domain. */
	EXPECT_NE(0, advise(o, pf, flush, o->mem, 8, 0xffff00));
	EXPECT_NE(0, advise(o, pf, flush, o->p.buf[0], 8, o->p.mr->lkey));
	EXPECT_NE(0, ibv_advise_mr(pd, pf, flush, &sge, 1));
	/* Beyond the region, and where there is no memory. */
	if (!variant->implicit)
		EXPECT_EQ(EFAULT, advise(o, pf, flush, o->mem + LEN - 8, 16, o->mr->lkey));
	munmap(o->mem, LEN);
	EXPECT_EQ(EFAULT, advise(o, pf, flush, o->mem, 8, o->mr->lkey));
	ASSERT_EQ(o->mem, map_at(o->mem));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/* --- Regions ----------------------------------------------------------------------------------- */

FIXTURE(region) {
	struct paged o;
};

FIXTURE_SETUP(region)
{
	if (!paged_setup(_metadata, &self->o, false))
		return;
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(region)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

static long pinned_kb(void)
{
	long kb = -1;
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

TEST_F(region, pins_nothing)
{
	struct paged *o = &self->o;
	long before = pinned_kb();
	struct ibv_mr *mr;

	ASSERT_LE(0, before);
	mr = reg(o, false);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, run_remote(o, WRITE, 0, LEN));
	EXPECT_EQ(before, pinned_kb());
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(region, has_bounds_and_rights)
{
	struct paged *o = &self->o;
	struct ibv_mr *ro;

	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, WRITE, LEN - 8, 16));
	ro = ibv_reg_mr(o->r.pd, o->mem, LEN, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, ro);
	EXPECT_EQ(0, run_op(o, READ, o->p.buf[0], o->p.mr->lkey, o->mem, ro->rkey, 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, ro->rkey, 64));
	EXPECT_EQ(0, ibv_dereg_mr(ro));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  run_op(o, READ, o->p.buf[0], o->p.mr->lkey, o->mem, ro->rkey, 64));
}

TEST_F(region, address_of_its_own)
{
	struct paged *o = &self->o;
	struct ibv_mr *mr;

	mr = ibv_reg_mr_iova(o->r.pd, o->mem + 100, LEN - 200, 0x7000000 + 100,
			     ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, mr);
	fill(o->p.buf[0], 9000, 2);
	ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, (void *)(0x7000000ul + 5000),
			    mr->rkey, 9000));
	EXPECT_TRUE(check_fill(o->mem + 5000, 9000, 2));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* Larger than what one command carries, and hardly any of it ever touched. */
TEST_F(region, can_be_large)
{
	const size_t len = 1ul << 30;
	struct paged *o = &self->o;
	struct ibv_mr *mr;
	uint8_t *mem;

	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	mr = ibv_reg_mr(o->r.pd, mem, len, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
	fill(o->p.buf[0], 8192, 2);
	ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, mem + len - 8192, mr->rkey,
			    8192));
	EXPECT_TRUE(check_fill(mem + len - 8192, 8192, 2));
	ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, mem + len / 2 - 100, mr->rkey,
			    200));
	EXPECT_TRUE(check_fill(mem + len / 2 - 100, 200, 2));
	munmap(mem, len);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(region, huge_pages)
{
	/* With mlx5_ib the device writes to other pages from the second huge page on. */
	const int num = driver_is("bluebell") ? 3 : 1;
	const size_t len = num * HUGE;
	struct paged *o = &self->o;
	struct ibv_mr *mr;
	uint8_t *mem;
	int i;

	reserve_huge_pages(4);
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB,
		   -1, 0);
	if (mem == MAP_FAILED)
		SKIP(return, "no huge pages to be had");
	mr = ibv_reg_mr(o->r.pd, mem, len,
			ALL_ACCESS | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB);
	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
	for (i = 0; i < num; i++) {
		fill(o->p.buf[0], 9000, i);
		ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, mem + i * HUGE + 5000,
				    mr->rkey, 9000));
		EXPECT_TRUE(check_fill(mem + i * HUGE + 5000, 9000, i));
	}
	madvise(mem, HUGE, MADV_DONTNEED);
	ASSERT_EQ(0, run_op(o, READ, o->p.buf[0], o->p.mr->lkey, mem + 5000, mr->rkey, 64));
	EXPECT_EQ(0, o->p.buf[0][0]);
	for (i = 1; i < num; i++) {
		ASSERT_EQ(0, run_op(o, READ, o->p.buf[0], o->p.mr->lkey, mem + i * HUGE + 5000,
				    mr->rkey, 64));
		EXPECT_TRUE(check_fill(o->p.buf[0], 64, i));
	}
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	munmap(mem, len);
}

TEST_F(region, changes_its_rights)
{
	struct paged *o = &self->o;

	ASSERT_EQ(0, ibv_rereg_mr(o->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(0, run_remote(o, READ, 0, 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, WRITE, 0, 64));
}

/* Memory that came after the region, and addresses that never had any. */
TEST_F(region, implicit_covers_what_comes_later)
{
	struct paged *o = &self->o;
	struct ibv_mr *all = reg(o, true);
	uint8_t *later;

	ASSERT_NE(NULL, all) TH_LOG("errno %d", errno);
	later = map_at(NULL);
	fill(o->p.buf[0], LEN, 3);
	ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, later, all->rkey, LEN));
	EXPECT_TRUE(check_fill(later, LEN, 3));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, (void *)0x10000, all->rkey, 8));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, (void *)(1ul << 62), all->rkey, 8));
	munmap(later, LEN);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, later, all->rkey, 8));
	EXPECT_EQ(0, ibv_dereg_mr(all));
	if (hca_ctl_present() && driver_is("bluebell"))
		EXPECT_CENSUS_UNCHANGED();
}

/* What lies across the border between two parts of the tree. */
TEST_F(region, implicit_has_no_seams)
{
	const size_t seam = 1ul << 30;
	struct paged *o = &self->o;
	struct ibv_mr *all = reg(o, true);
	uint8_t *mem, *at;

	ASSERT_NE(NULL, all);
	mem = mmap(NULL, 2 * seam, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	at = (uint8_t *)(((uintptr_t)mem + seam - 1) & ~(seam - 1)) - 5000;
	if (at < mem)
		at += seam;
	fill(o->p.buf[0], 10000, 3);
	ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, at, all->rkey, 10000));
	EXPECT_TRUE(check_fill(at, 10000, 3));
	ASSERT_EQ(0, run_op(o, SEND, at, all->lkey, o->p.buf[1], o->p.mr->lkey, 10000));
	EXPECT_TRUE(check_fill(o->p.buf[1], 10000, 3));
	munmap(mem, 2 * seam);
	EXPECT_EQ(0, ibv_dereg_mr(all));
}

/* Keys that have lost their last page do not stay. */
TEST_F(region, implicit_gives_back_what_is_not_used)
{
	struct paged *o = &self->o;
	struct ibv_mr *all = reg(o, true);
	long with, without;
	unsigned int i;
	uint8_t *mem;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(ibv_dereg_mr(all); return, "a promise of bluebell's, seen in the HCA's census");
	ASSERT_NE(NULL, all);
	mem = mmap(NULL, 64ul << 20, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey,
				    mem + i * (16ul << 20), all->rkey, 64));
	with = hca_census_count("mkey");
	munmap(mem, 64ul << 20);
	for (i = 0; i < 100; i++) {
		without = hca_census_count("mkey");
		if (without <= with - 3)
			break;
		usleep(20000);
	}
	EXPECT_LE(without, with - 3);
	EXPECT_EQ(0, ibv_dereg_mr(all));
}

/* Whatever command of it firmware refuses, paging in fails whole and can be tried again. */
TEST_F(region, implicit_survives_refusals)
{
	struct paged *o = &self->o;
	unsigned int nth;
	int ret, fired;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs the HCA to refuse, and a driver that bears it");
	for (nth = 1; nth < 20; nth++) {
		struct ibv_mr *all = reg(o, true);

		ASSERT_NE(NULL, all);
		ASSERT_EQ(0, hca_inject_cmd(nth, "LIM_ERR"));
		ret = advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
			     o->mem, LEN, all->lkey);
		fired = hca_inject_clear();
		EXPECT_EQ(fired ? ENOMEM : 0, ret) TH_LOG("command %u", nth);
		EXPECT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, all->rkey, LEN));
		EXPECT_EQ(0, ibv_dereg_mr(all));
		EXPECT_CENSUS_UNCHANGED() TH_LOG("command %u", nth);
		if (!fired)
			break;
	}
	EXPECT_LT(1, nth);
}

/* Deregister while the nth command fails, and with @umr also what the driver's queue pair does. */
static int dereg_with_refusal(struct ibv_mr *mr, unsigned int nth, bool umr)
{
	int ret;

	if (hca_inject_cmd(nth, "LIM_ERR") || (umr && hca_do("inject umr 3")))
		return -1;
	ret = ibv_dereg_mr(mr);
	hca_inject_clear();
	return ret;
}

/* Whatever firmware refuses, an implicit region goes if it is asked to again, and with it all its keys. */
TEST_F(region, implicit_goes_after_refusals)
{
	struct paged *o = &self->o;
	unsigned int refused = 0, i;
	int ret;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs the HCA to refuse, and a driver that bears it");
	for (i = 0; i < 24; i++) {
		struct ibv_mr *all = reg(o, true);

		ASSERT_NE(NULL, all);
		ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, all->rkey, LEN));
		ret = dereg_with_refusal(all, 1 + i / 2, i & 1);
		if (ret) {
			EXPECT_EQ(ENOMEM, ret);
			refused++;
			EXPECT_EQ(0, ibv_dereg_mr(all));
		}
		EXPECT_CENSUS_UNCHANGED() TH_LOG("command %u, umr %u", 1 + i / 2, i & 1);
	}
	EXPECT_LT(2, refused);
}

/* Neither UMR nor firmware takes the key: it is not forgotten, and goes with the region. */
TEST_F(region, key_that_is_refused_twice_goes_in_the_end)
{
	struct paged *o = &self->o;
	struct ibv_mr *mr;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs the HCA to refuse, and a driver that bears it");
	/* When the process loses a page. */
	mr = reg(o, false);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN));
	ASSERT_EQ(0, hca_do("inject umr"));
	ASSERT_EQ(0, hca_do("inject op DESTROY_MKEY LIM_ERR 1"));
	madvise(o->mem, LEN, MADV_DONTNEED);
	EXPECT_EQ(2, hca_inject_clear());
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_CENSUS_UNCHANGED();

	/* When it is deregistered: revoking, taking the pages and destroying fail. */
	mr = reg(o, false);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN));
	ASSERT_EQ(0, hca_do("inject umr 3"));
	ASSERT_EQ(0, hca_do("inject op DESTROY_MKEY LIM_ERR 2"));
	EXPECT_EQ(ENOMEM, ibv_dereg_mr(mr));
	hca_inject_clear();
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_CENSUS_UNCHANGED();
}

/* A queue that waits for its page is told again that it is there. */
TEST_F(region, answer_that_is_refused_is_repeated)
{
	struct paged *o = &self->o;

	/* mlx5_ib answers once, and the queue stands still for good. */
	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs the HCA to refuse, and a driver that repeats itself");
	ASSERT_EQ(0, hca_do("inject op PAGE_FAULT_RESUME LIM_ERR 3"));
	EXPECT_EQ(0, run_remote(o, WRITE, 0, 64));
	EXPECT_EQ(3, hca_inject_clear());
	madvise(o->mem, LEN, MADV_DONTNEED);
	ASSERT_EQ(0, hca_do("inject op PAGE_FAULT_RESUME INT_ERR 3"));
	EXPECT_EQ(0, run_local(o, SEND, 0, 64));
	EXPECT_EQ(3, hca_inject_clear());
}

/* A shared file in place of the paged memory; returns another view of it. */
static uint8_t *map_file(struct paged *o)
{
	int fd = memfd_create("odp", 0);
	uint8_t *view;

	if (fd < 0 || ftruncate(fd, LEN))
		return MAP_FAILED;
	view = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mmap(o->mem, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != o->mem)
		view = MAP_FAILED;
	close(fd);
	return view;
}

/* When UMR fails as the process loses pages, the device loses the key. */
static void lose_pages_without_umr(struct __test_metadata *_metadata, struct paged *o,
				   struct ibv_mr *mr)
{
	uint8_t *file = map_file(o);

	ASSERT_NE(MAP_FAILED, file);
	ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN));
	fill(file, LEN, 1);
	ASSERT_EQ(0, hca_do("inject umr"));
	ASSERT_EQ(o->mem, map_at(o->mem));
	EXPECT_EQ(1, hca_inject_clear());
	/* Whatever comes of it: the file has the pages, and would show it. */
	fill(o->p.buf[0], LEN, 2);
	run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN);
	EXPECT_TRUE(check_fill(file, LEN, 1));
	munmap(file, LEN);
}

TEST_F(region, pages_that_cannot_be_taken_back_are_out_of_reach)
{
	struct paged *o = &self->o;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs the HCA to fail, and a driver that bears it");
	lose_pages_without_umr(_metadata, o, o->mr);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, READ, 0, 64));
	EXPECT_EQ(0, ibv_dereg_mr(o->mr));
	o->mr = reg(o, false);
	ASSERT_NE(NULL, o->mr);
	EXPECT_EQ(0, run_remote(o, WRITE, 0, LEN));
	EXPECT_CENSUS_UNCHANGED();
}

/* A part of an implicit region comes back, once UMR does. */
TEST_F(region, implicit_gets_over_what_it_lost)
{
	struct paged *o = &self->o;
	struct ibv_mr *all;
	unsigned int i;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs the HCA to fail, and a driver that bears it");
	all = reg(o, true);
	ASSERT_NE(NULL, all);
	lose_pages_without_umr(_metadata, o, all);
	for (i = 0; i < 50; i++) {
		if (!run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, all->rkey, LEN))
			break;
		usleep(20000);
	}
	EXPECT_GT(50, i);
	EXPECT_TRUE(check_fill(o->mem, LEN, 2));
	EXPECT_EQ(0, ibv_dereg_mr(all));
	EXPECT_CENSUS_UNCHANGED();
}

static void *hammer(void *arg)
{
	struct race *r = arg;
	struct ibv_mr *mr = r->o->mr;
	uint32_t rkey = mr->rkey;
	struct paged *o = r->o;

	while (!r->stop) {
		madvise(o->mem, LEN, MADV_DONTNEED);
		run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, rkey, 8192);
		r->rounds++;
	}
	return NULL;
}

TEST_F(region, goes_while_it_faults)
{
	struct paged *o = &self->o;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		struct race r = { .o = o };
		pthread_t thread;

		ASSERT_EQ(0, pthread_create(&thread, NULL, hammer, &r));
		usleep(rand() % 30000);
		EXPECT_EQ(0, ibv_dereg_mr(o->mr));
		r.stop = true;
		pthread_join(thread, NULL);
		pair_reconnect(&o->p);
		o->mr = reg(o, i & 1);
		ASSERT_NE(NULL, o->mr);
		EXPECT_EQ(0, run_remote(o, WRITE, 0, 64));
	}
}

/* Killed in the middle of faults, a process leaves nothing behind. */
TEST_F(region, dies_while_it_faults)
{
	unsigned int i;
	int status;
	pid_t pid;

	for (i = 0; i < 4; i++) {
		pid = fork();
		if (!pid) {
			struct paged o;
			struct race r = { .o = &o };

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (paged_open(&o, i & 1))
				_exit(1);
			hammer(&r);
			_exit(0);
		}
		usleep(300000 + rand() % 200000);
		EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		EXPECT_TRUE(WIFSIGNALED(status));
	}
	if (hca_ctl_present() && driver_is("bluebell"))
		EXPECT_CENSUS_UNCHANGED();
}

static void page_in_for_ever(unsigned int round)
{
	struct paged o;
	struct race r = { .o = &o };

	if (!paged_open(&o, round & 1))
		hammer(&r);
}

/* The device goes in the middle of faults: nothing of its pages and keys stays. */
TEST(device_goes_while_it_faults)
{
	if (!device_has(_metadata, has_odp))
		SKIP(return, NO_ODP);
	remove_device_during(_metadata, page_in_for_ever);
}

/* --- UD ----------------------------------------------------------------------------------------- */

TEST(ud_send_faults)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mr *mr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct rdma r;
	struct pair p;
	uint8_t *mem;

	ASSERT_EQ(0, rdma_open(&r));
	if (!has_odp(r.ctx)) {
		rdma_close(&r);
		SKIP(return, NO_ODP);
	}
	ASSERT_EQ(0, pair_open(&p, &r, &cfg, 8192));
	mem = map_at(NULL);
	mr = ibv_reg_mr(r.pd, mem, LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, mr);
	fill(mem + 4000, 1000, 5);
	ASSERT_EQ(0, post_recv(p.qp[1], p.mr, p.buf[1], 8192, 0));
	sge = (struct ibv_sge){ .addr = (uintptr_t)mem + 4000, .length = 1000, .lkey = mr->lkey };
	wr.sg_list = &sge;
	wr.num_sge = 1;
	ASSERT_EQ(0, post_send(&p, &wr, NULL, 0));
	EXPECT_EQ(0, reap_ok(p.cq[0], &wc));
	EXPECT_EQ(0, reap_ok(p.cq[1], &wc));
	EXPECT_TRUE(check_fill(p.buf[1] + GRH_LEN, 1000, 5));
	/* Where there is nothing, the send ends. */
	munmap(mem, LEN);
	ASSERT_EQ(0, post_send(&p, &wr, NULL, 0));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, reap(p.cq[0], &wc));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	pair_close(&p);
	rdma_close(&r);
}

TEST_HARNESS_MAIN
