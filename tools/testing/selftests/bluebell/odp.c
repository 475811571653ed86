// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: each operation accesses pages that are not mapped for the device, as requester and as
 * responder; pages that the process unmaps are unmapped from the device, also during traffic; an access to
 * memory that does not exist fails and does not hang; ibv_advise_mr() maps pages.
 *
 * ODP_RACE_SECONDS=N lets each race run for N seconds (default 2).
 */

#include <fcntl.h>
#include <pthread.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "removal.h"
#include "kernel_file.h"
#include "klog.h"
#include "test.h"

#define PAGES 32
#define LEN (PAGES * UV_PAGE)
#define HUGE (2ul << 20)
#define NO_ODP "the device has no on-demand paging"
#define NO_IMPLICIT "the device has no implicit regions"
#define NO_XRC_ODP "the device has no on-demand paging for XRC"
#define XRC_ODP (IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | \
		 IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV)

enum kind { SEND, WRITE, READ, ATOMIC };

static const enum ibv_wr_opcode opcodes[] = {
	[SEND] = IBV_WR_SEND, [WRITE] = IBV_WR_RDMA_WRITE, [READ] = IBV_WR_RDMA_READ,
	[ATOMIC] = IBV_WR_ATOMIC_FETCH_AND_ADD,
};

/* Two queue pairs with pinned buffers, and memory with an on-demand-paging region over it. */
struct paged {
	struct rdma r;
	struct pair p;
	uint8_t *mem;
	struct ibv_mr *mr;
};

static bool has_odp_caps(struct ibv_context *ctx, uint64_t caps)
{
	struct ibv_device_attr_ex attr;

	return !ibv_query_device_ex(ctx, NULL, &attr) &&
	       (attr.odp_caps.general_caps & caps) == caps;
}

static bool has_odp(struct ibv_context *ctx)
{
	return has_odp_caps(ctx, IBV_ODP_SUPPORT);
}

static bool has_implicit(struct ibv_context *ctx)
{
	return has_odp_caps(ctx, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
}

static bool has_xrc_odp(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;

	return !ibv_query_device_ex(ctx, NULL, &attr) &&
	       (attr.xrc_odp_caps & XRC_ODP) == XRC_ODP;
}

static uint8_t *map_anon(void *at)
{
	return mmap(at, LEN, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

static struct ibv_mr *reg_paged(struct paged *o, bool implicit)
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
	if (!ret && implicit && !has_implicit(o->r.ctx))
		return 3;
	if (!ret)
		ret = pair_open(&o->p, &o->r, &cfg, LEN);
	if (ret)
		return ret;
	o->mem = map_anon(NULL);
	if (o->mem == MAP_FAILED)
		return -errno;
	o->mr = reg_paged(o, implicit);
	return o->mr ? 0 : -errno;
}

static int paged_open(struct paged *o, bool implicit)
{
	return paged_open_type(o, implicit, IBV_QPT_RC);
}

/* For the setup of a fixture; returns false if the test is skipped. */
static bool paged_setup_type(struct __test_metadata *_metadata, struct paged *o, bool implicit,
			     enum ibv_qp_type type)
{
	int ret = paged_open_type(o, implicit, type);

	if (ret == 1)
		SKIP(return false, NO_ODP);
	if (ret == 2)
		SKIP(return false, NO_XRC_ODP);
	if (ret == 3)
		SKIP(return false, NO_IMPLICIT);
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

/* One operation; returns the requester's status, or, if that is success, the receiver's. */
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

/* The responder accesses the paged region at @off, the requester its pinned buffer. */
static int run_remote(struct paged *o, enum kind op, size_t off, uint32_t len)
{
	return run_op(o, op, o->p.buf[0], o->p.mr->lkey, o->mem + off, o->mr->rkey, len);
}

/* The requester accesses the paged region at @off, the responder its pinned buffer. */
static int run_local(struct paged *o, enum kind op, size_t off, uint32_t len)
{
	return run_op(o, op, o->mem + off, o->mr->lkey, o->p.buf[1], o->p.mr->rkey, len);
}

/* Bluebell creates a table of the whole address space by one command, which entries of 2 GiB are too many for. */
static bool large_entries(void)
{
	return hca_cap("general", "fixed_buffer_size") && hca_cap("general", "hca_cap_2") &&
	       hca_cap("general_2", "max_mkey_log_entity_size_fixed_buffer") > 31;
}

/* If the driver reported no on-demand paging by mistake, all tests below would be skipped. */
TEST(odp_is_reported_as_the_device_has_it)
{
	struct rdma r;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, rdma_open(&r));
	/* Bluebell's keys for implicit regions have more entries than a 16-bit UMR offset can address. */
	EXPECT_EQ(hca_cap("general", "pg") &&
		  (!driver_is("bluebell") || hca_cap("general", "umr_extended_translation_offset")),
		  has_odp(r.ctx));
	EXPECT_EQ(has_odp(r.ctx) && (!driver_is("bluebell") || large_entries()), has_implicit(r.ctx));
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

/* True if the operation writes to the paged memory. */
static bool op_writes(enum kind op, bool local)
{
	return local ? op == READ || op == ATOMIC : op != READ;
}

TEST_F(fault, access_completes_after_a_fault)
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
		/* A page may be mapped in the process already, but not for the device. */
		before = hca_counter("page_faults");
		ASSERT_EQ(0, variant->local ? run_local(o, variant->op, off, len) :
					      run_remote(o, variant->op, off, len));
		after = hca_counter("page_faults");
		/* The old value of an atomic operation is in the completion, so no page is accessed. */
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

TEST_F(lost, unmapped_memory_fails_access_until_mapped_again)
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
	/* New memory at the same address can be accessed. */
	ASSERT_EQ(o->mem, map_anon(o->mem));
	fill(o->p.buf[0], 64, 3);
	ASSERT_EQ(0, run_remote(o, WRITE, 0, 64));
	EXPECT_TRUE(check_fill(o->mem, 64, 3));
}

TEST_F(lost, unmapped_page_fails_access_to_it_only)
{
	struct paged *o = &self->o;

	munmap(o->mem + 8 * UV_PAGE, UV_PAGE);
	EXPECT_EQ(0, run_remote(o, WRITE, 0, 8 * UV_PAGE));
	EXPECT_EQ(0, run_remote(o, WRITE, 9 * UV_PAGE, LEN - 9 * UV_PAGE));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, WRITE, 8 * UV_PAGE - 8, 16));
}

TEST_F(lost, discarded_pages_read_as_zero)
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

TEST_F(lost, mremapped_memory_is_not_reached_at_its_old_address)
{
	struct paged *o = &self->o;
	uint8_t *to;

	to = mremap(o->mem, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED,
		    mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	ASSERT_NE(MAP_FAILED, to);
	memset(to, 0x22, LEN);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, WRITE, 0, 64));
	EXPECT_EQ(0x22, to[0]);
	ASSERT_EQ(o->mem, map_anon(o->mem));
	ASSERT_EQ(0, run_remote(o, READ, 0, 64));
	EXPECT_EQ(0, o->p.buf[0][0]);
	munmap(to, LEN);
}

TEST_F(lost, mprotected_memory_cannot_be_written)
{
	struct paged *o = &self->o;

	mprotect(o->mem, LEN, PROT_READ);
	/* mlx5_ib asks for writable pages for reads, too. */
	if (driver_is("bluebell"))
		EXPECT_EQ(0, run_remote(o, READ, 0, 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, WRITE, 0, 64));
	mprotect(o->mem, LEN, PROT_READ | PROT_WRITE);
	EXPECT_EQ(0, run_remote(o, WRITE, 0, 64));
}

/* After a fork the device writes to the parent's pages, and the child keeps the old content. */
TEST_F(lost, write_after_fork_changes_the_parent_only)
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

TEST_F(lost, punched_hole_reads_as_zero)
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
	/* Beyond the end of the file there is no memory. */
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
	struct ibv_cq *cq[2];	/* CQ of each pair's receives; with XRC both are the SRQ's CQ */
};

FIXTURE_VARIANT(shared) {
	bool implicit, xrc;
};

FIXTURE_VARIANT_ADD(shared, explicit) { .implicit = false };

FIXTURE_VARIANT_ADD(shared, implicit) { .implicit = true };

FIXTURE_VARIANT_ADD(shared, xrc) { .xrc = true };

FIXTURE_VARIANT_ADD(shared, xrc_implicit) { .xrc = true, .implicit = true };

/* Reconnect a pair. An XRC pair creates an SRQ of its own when it does that: send to @srq instead. */
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

TEST_F(shared, srq_capability_is_reported)
{
	struct ibv_device_attr_ex attr;

	ASSERT_EQ(0, ibv_query_device_ex(self->o.r.ctx, NULL, &attr));
	if (hca_ctl_present())
		EXPECT_TRUE((variant->xrc ? attr.xrc_odp_caps :
			     attr.odp_caps.per_transport_caps.rc_odp_caps) &
			    IBV_ODP_SUPPORT_SRQ_RECV);
}

/*
 * Two queue pairs receive at once, each message into three pieces, the second of which is pinned. The
 * rounds wrap around the SRQ several times, and its requests complete in any order.
 */
TEST_F(shared, receive_completes_after_a_fault)
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

/* One queue pair fails; the SRQ and the other queue pair keep working. */
TEST_F(shared, unmapped_receive_buffer_fails_one_qp_only)
{
	struct paged *o = &self->o;
	struct ibv_wc wc;

	munmap(o->mem, LEN);
	ASSERT_EQ(0, post_srq_recv(self->srq, o->mr, o->mem, LEN, 1));
	ASSERT_EQ(0, send_to_srq(&self->p[0], 64));
	EXPECT_EQ(IBV_WC_REM_OP_ERR, reap(self->p[0].cq[0], &wc));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, reap(self->cq[0], &wc));
	EXPECT_EQ(1, wc.wr_id);

	ASSERT_EQ(o->mem, map_anon(o->mem));
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
	void (*action)(struct race *r);
};

static void discard_page(struct race *r)
{
	madvise(r->o->mem + rand() % PAGES * UV_PAGE, UV_PAGE, MADV_DONTNEED);
}

static void replace_memory(struct race *r)
{
	map_anon(r->o->mem);
}

static void unmap_and_map(struct race *r)
{
	munmap(r->o->mem, LEN);
	usleep(rand() % 2000);
	map_anon(r->o->mem);
	usleep(rand() % 5000);
}

static void move_away(struct race *r)
{
	uint8_t *to = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mremap(r->o->mem, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	map_anon(r->o->mem);
	munmap(to, LEN);
	usleep(rand() % 5000);
}

static void fork_child(struct race *r)
{
	pid_t pid = fork();

	(void)r;
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void punch_hole(struct race *r)
{
	fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, rand() % PAGES * UV_PAGE,
		  UV_PAGE);
}

/* Compact memory and page out: both invalidate pages as a migration between NUMA nodes does. */
static void migrate_pages(struct race *r)
{
	write_file("/proc/sys/vm/compact_memory", "1");
	madvise(r->o->mem, LEN, MADV_PAGEOUT);
	usleep(1000);
}

static void change_protection(struct race *r)
{
	mprotect(r->o->mem, LEN, PROT_READ);
	mprotect(r->o->mem, LEN, PROT_READ | PROT_WRITE);
	usleep(rand() % 3000);
}

static void *act_until_stopped(void *arg)
{
	struct race *r = arg;

	while (!r->stop) {
		r->action(r);
		r->rounds++;
		/* Otherwise a machine with one CPU runs nothing but this thread. */
		sched_yield();
	}
	return NULL;
}

FIXTURE(race) {
	struct paged o;
};

FIXTURE_VARIANT(race) {
	void (*action)(struct race *r);
	bool implicit, file, xrc;
	bool may_fail;		/* at times the memory is unmapped or read-only */
};

FIXTURE_VARIANT_ADD(race, discard) { .action = discard_page };

FIXTURE_VARIANT_ADD(race, discard_implicit) { .action = discard_page, .implicit = true };

FIXTURE_VARIANT_ADD(race, replace) { .action = replace_memory };

FIXTURE_VARIANT_ADD(race, replace_implicit) { .action = replace_memory, .implicit = true };

FIXTURE_VARIANT_ADD(race, unmap) { .action = unmap_and_map, .may_fail = true };

FIXTURE_VARIANT_ADD(race, unmap_implicit) { .action = unmap_and_map, .implicit = true, .may_fail = true };

FIXTURE_VARIANT_ADD(race, move) { .action = move_away, .may_fail = true };

FIXTURE_VARIANT_ADD(race, move_implicit) { .action = move_away, .implicit = true, .may_fail = true };

FIXTURE_VARIANT_ADD(race, fork_child) { .action = fork_child };

FIXTURE_VARIANT_ADD(race, fork_child_implicit) { .action = fork_child, .implicit = true };

FIXTURE_VARIANT_ADD(race, punch) { .action = punch_hole, .file = true };

FIXTURE_VARIANT_ADD(race, punch_implicit) { .action = punch_hole, .implicit = true, .file = true };

FIXTURE_VARIANT_ADD(race, migrate) { .action = migrate_pages };

FIXTURE_VARIANT_ADD(race, migrate_implicit) { .action = migrate_pages, .implicit = true };

FIXTURE_VARIANT_ADD(race, protect) { .action = change_protection, .may_fail = true };

FIXTURE_VARIANT_ADD(race, protect_implicit) {
	.action = change_protection, .implicit = true, .may_fail = true
};

FIXTURE_VARIANT_ADD(race, discard_xrc) { .action = discard_page, .xrc = true };

FIXTURE_VARIANT_ADD(race, unmap_xrc) { .action = unmap_and_map, .xrc = true, .may_fail = true };

/* On Linux 7.2 the core's own list of mapped pages races with invalidation: see patches.rst. */
FIXTURE_SETUP(race)
{
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	paged_setup_type(_metadata, &self->o, variant->implicit,
			 variant->xrc ? IBV_QPT_XRC_SEND : IBV_QPT_RC);
}

FIXTURE_TEARDOWN(race)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

/* A byte is either as it was written or zero; anything else comes from a wrong page. */
static bool pages_are_pattern_or_zero(const uint8_t *p, size_t len, uint8_t pattern)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] && p[i] != pattern) {
			fprintf(stderr, "# byte %zu is %#x, neither the pattern nor zero\n", i, p[i]);
			return false;
		}
	return true;
}

TEST_F_TIMEOUT(race, traffic_continues_while_mappings_change, 300)
{
	struct race r = { .o = &self->o, .action = variant->action, .fd = -1 };
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
	ASSERT_EQ(0, pthread_create(&thread, NULL, act_until_stopped, &r));
	end = seconds() + race_seconds();
	while (seconds() < end || !done) {
		/*
		 * More than 64 bytes: fewer may arrive in the completion, and libmlx5 would copy them
		 * to memory that may be unmapped, so the process would get a signal.
		 */
		size_t off = rand() % (LEN - 8192), len = 65 + rand() % (8192 - 64);
		enum kind op = rand() % 3;

		ret = rand() & 1 ? run_remote(o, op, off, len) : run_local(o, op, off, len);
		if (ret == -ETIMEDOUT)
			break;
		failed += !!ret;
		done += !ret;
		/* Replace the zeros that were read from discarded pages by the pattern. */
		if (!pages_are_pattern_or_zero(o->p.buf[0], LEN, 0x5a) ||
		    !pages_are_pattern_or_zero(o->p.buf[1], LEN, 0x5a)) {
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
	TH_LOG("%lu operations, %lu of them failed, %lu changes of mappings", done + failed, failed,
	       r.rounds);
	if (r.fd >= 0)
		close(r.fd);
	/* After the race everything still works. */
	ASSERT_EQ(o->mem, map_anon(o->mem));
	fill(o->p.buf[0], LEN, 1);
	ASSERT_EQ(0, run_remote(o, WRITE, 0, LEN));
	EXPECT_TRUE(check_fill(o->mem, LEN, 1));
}

/* Prefetch all pages again and again, as the page faults of several queues do. */
static void *prefetch_until_stopped(void *arg)
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
	void (*action)(struct race *r);
	bool implicit;
};

FIXTURE_VARIANT_ADD(crowd, discard) { .action = discard_page };

FIXTURE_VARIANT_ADD(crowd, replace_implicit) { .action = replace_memory, .implicit = true };

FIXTURE_SETUP(crowd)
{
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	paged_setup(_metadata, &self->o, variant->implicit);
}

FIXTURE_TEARDOWN(crowd)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

/*
 * Several threads map the same pages for the device while the process discards them. If a page is used
 * after it was freed, the kernel reports that in its log, and scripts/vm fails the run.
 */
TEST_F_TIMEOUT(crowd, concurrent_prefetch_of_changing_pages_works, 300)
{
	struct race r = { .o = &self->o, .action = variant->action }, prefetchers[3] = {};
	struct paged *o = &self->o;
	pthread_t thread, threads[3];
	unsigned int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, act_until_stopped, &r));
	for (i = 0; i < ARRAY_SIZE(prefetchers); i++) {
		prefetchers[i].o = o;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, prefetch_until_stopped, &prefetchers[i]));
	}
	usleep(race_seconds() * 1e6);
	r.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(0, r.rounds);
	for (i = 0; i < ARRAY_SIZE(prefetchers); i++) {
		prefetchers[i].stop = true;
		pthread_join(threads[i], NULL);
		EXPECT_LT(0, prefetchers[i].rounds);
	}
	ASSERT_EQ(o->mem, map_anon(o->mem));
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

TEST_F(advice, prefetched_pages_do_not_fault)
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

TEST_F(advice, pages_prefetched_for_reading_can_be_read)
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

/* Only pages that are present in the process are mapped, so the second half still faults. */
TEST_F(advice, no_fault_prefetches_present_pages_only)
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

TEST_F(advice, asynchronous_prefetch_works)
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
	/* A prefetch may still be in progress when the region is deregistered. */
	EXPECT_EQ(0, advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, o->mem, LEN, o->mr->lkey));
}

TEST_F(advice, invalid_advice_is_refused)
{
	const uint32_t flush = IBV_ADVISE_MR_FLAG_FLUSH;
	const enum ibv_advise_mr_advice pf = IBV_ADVISE_MR_ADVICE_PREFETCH;
	struct paged *o = &self->o;
	struct ibv_pd *pd = ibv_alloc_pd(o->r.ctx);
	struct ibv_sge sge = { .addr = (uintptr_t)o->mem, .length = 8, .lkey = o->mr->lkey };

	ASSERT_NE(NULL, pd);
	EXPECT_EQ(EOPNOTSUPP, advise(o, 77, flush, o->mem, 8, o->mr->lkey));
	EXPECT_EQ(EINVAL, advise(o, pf, 0x80, o->mem, 8, o->mr->lkey));
	/* An unused key, the key of pinned memory, a region of another PD. */
	EXPECT_NE(0, advise(o, pf, flush, o->mem, 8, 0xffff00));
	EXPECT_NE(0, advise(o, pf, flush, o->p.buf[0], 8, o->p.mr->lkey));
	EXPECT_NE(0, ibv_advise_mr(pd, pf, flush, &sge, 1));
	/* Addresses beyond the region, and unmapped memory. */
	if (!variant->implicit)
		EXPECT_EQ(EFAULT, advise(o, pf, flush, o->mem + LEN - 8, 16, o->mr->lkey));
	munmap(o->mem, LEN);
	EXPECT_EQ(EFAULT, advise(o, pf, flush, o->mem, 8, o->mr->lkey));
	ASSERT_EQ(o->mem, map_anon(o->mem));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/* The memory behind the region exists, but the region's tables do not reach there. */
TEST_F(advice, beyond_the_end_of_the_region_is_refused)
{
	const uint32_t flush = IBV_ADVISE_MR_FLAG_FLUSH;
	struct paged *o = &self->o;
	struct ibv_mr *part;
	unsigned int i;

	if (variant->implicit)
		SKIP(return, "an implicit region has no end");
	fill(o->mem, LEN, 1);
	part = ibv_reg_mr(o->r.pd, o->mem + UV_PAGE, 3 * UV_PAGE + 100,
			  ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, part);
	for (i = 0; i <= IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT; i++) {
		/* mlx5_ib goes as far as the end of the page. */
		if (driver_is("bluebell"))
			EXPECT_EQ(EFAULT, advise(o, i, flush, o->mem + UV_PAGE, 3 * UV_PAGE + 101,
						 part->lkey));
		EXPECT_EQ(EFAULT, advise(o, i, flush, o->mem + 4 * UV_PAGE, LEN - 4 * UV_PAGE,
					 part->lkey));
		EXPECT_EQ(EFAULT, advise(o, i, flush, o->mem + 6 * UV_PAGE, UV_PAGE, part->lkey));
		EXPECT_EQ(EFAULT, advise(o, i, flush, o->mem, UV_PAGE, part->lkey));
		EXPECT_EQ(EFAULT, advise(o, i, flush, o->mem + UV_PAGE, 0xfffff000, part->lkey));
		EXPECT_EQ(0, advise(o, i, flush, o->mem + UV_PAGE, 3 * UV_PAGE + 100, part->lkey));
	}
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey,
						o->mem + 5 * UV_PAGE, part->rkey, 8));
	EXPECT_EQ(0, ibv_dereg_mr(part));
}

/* --- Messages that are not present as a whole --------------------------------------------------- */

#define LONG_LEN (6ul << 20)
/* With the data of the middle pages elsewhere, a WQE of this many pieces takes three basic blocks. */
#define MANY_SGES 9

FIXTURE(message) {
	struct paged o;
	struct paged big;	/* its pair has longer buffers; the region is over LONG_LEN bytes */
};

FIXTURE_VARIANT(message) {
	enum kind op;
	bool local;
};

FIXTURE_VARIANT_ADD(message, send_local) { .op = SEND, .local = true };

FIXTURE_VARIANT_ADD(message, send_remote) { .op = SEND };

FIXTURE_VARIANT_ADD(message, write_local) { .op = WRITE, .local = true };

FIXTURE_VARIANT_ADD(message, write_remote) { .op = WRITE };

FIXTURE_VARIANT_ADD(message, read_local) { .op = READ, .local = true };

FIXTURE_VARIANT_ADD(message, read_remote) { .op = READ };

FIXTURE_SETUP(message)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct paged *big = &self->big;

	if (!paged_setup(_metadata, &self->o, false))
		return;
	big->r = self->o.r;
	ASSERT_EQ(0, pair_open(&big->p, &big->r, &cfg, LONG_LEN));
	big->mem = mmap(NULL, LONG_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, big->mem);
	big->mr = ibv_reg_mr(big->r.pd, big->mem, LONG_LEN, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, big->mr);
}

FIXTURE_TEARDOWN(message)
{
	if (self->big.mr)
		EXPECT_EQ(0, ibv_dereg_mr(self->big.mr));
	pair_close(&self->big.p);
	EXPECT_EQ(0, paged_close(&self->o));
}

/* The first half is mapped for the device, so that the fault is in the middle of the message. */
TEST_F(message, fault_in_the_middle_of_a_long_message_is_resolved)
{
	bool writes = op_writes(variant->op, variant->local);
	struct paged *o = &self->big;
	uint8_t *pinned = o->p.buf[variant->local];
	long midway;

	madvise(o->mem, LONG_LEN, MADV_DONTNEED);
	if (!writes)
		fill(o->mem, LONG_LEN, 3);
	fill(pinned, LONG_LEN, 4);
	ASSERT_EQ(0, advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
			    o->mem, LONG_LEN / 2, o->mr->lkey));
	midway = hca_counter("page_faults_midway");
	ASSERT_EQ(0, variant->local ? run_local(o, variant->op, 0, LONG_LEN) :
				      run_remote(o, variant->op, 0, LONG_LEN));
	if (hca_ctl_present())
		EXPECT_LT(midway, hca_counter("page_faults_midway"));
	EXPECT_TRUE(check_fill(writes ? o->mem : pinned, LONG_LEN, writes ? 4 : 3));
}

/* What is present is transferred, perhaps; but the operation fails, and does not hang. */
TEST_F(message, operation_that_runs_into_a_hole_fails)
{
	bool writes = op_writes(variant->op, variant->local);
	const size_t hole = 16 * UV_PAGE;
	struct paged *o = &self->o;
	int want = variant->local ? IBV_WC_LOC_PROT_ERR :
		   variant->op == SEND ? IBV_WC_REM_OP_ERR : IBV_WC_REM_ACCESS_ERR;
	uint8_t *pinned = o->p.buf[variant->local];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		fill(o->mem, hole, 1);
		fill(pinned, LEN, 2);
		munmap(o->mem + hole, LEN - hole);
		/* In the second round the present part has been mapped for the device. */
		if (i)
			ASSERT_EQ(0, advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
					    IBV_ADVISE_MR_FLAG_FLUSH, o->mem, hole, o->mr->lkey));
		EXPECT_EQ(want, variant->local ? run_local(o, variant->op, 0, LEN) :
						 run_remote(o, variant->op, 0, LEN));
		ASSERT_EQ(o->mem, map_anon(o->mem));
		fill(pinned, LEN, 5);
		fill(o->mem, LEN, 6);
		ASSERT_EQ(0, variant->local ? run_local(o, variant->op, 0, LEN) :
					      run_remote(o, variant->op, 0, LEN));
		EXPECT_TRUE(check_fill(writes ? o->mem : pinned, LEN, writes ? 5 : 6));
	}
}

/* --- WQEs that the driver has to read ------------------------------------------------------------ */

FIXTURE(wqe) {
	struct paged o;
	struct pair p;
};

FIXTURE_SETUP(wqe)
{
	paged_setup(_metadata, &self->o, false);
}

FIXTURE_TEARDOWN(wqe)
{
	pair_close(&self->p);
	EXPECT_EQ(0, paged_close(&self->o));
}

/* Send one message from paged pieces into paged pieces, none of which is mapped for the device. */
static void send_pieces(struct __test_metadata *_metadata, struct paged *o, struct pair *p,
			unsigned int seed)
{
	struct ibv_sge from[MANY_SGES], to[MANY_SGES];
	struct ibv_recv_wr rwr = { .sg_list = to, .num_sge = MANY_SGES };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .sg_list = from, .num_sge = MANY_SGES,
		.send_flags = IBV_SEND_SIGNALED,
	};
	uint8_t *dst = o->mem + 10 * UV_PAGE;
	struct ibv_wc wc;
	unsigned int i;

	madvise(o->mem, LEN, MADV_DONTNEED);
	for (i = 0; i < MANY_SGES; i++) {
		fill(o->mem + i * UV_PAGE + 40, 300, seed + i);
		from[i] = (struct ibv_sge){
			(uintptr_t)o->mem + i * UV_PAGE + 40, 300, o->mr->lkey,
		};
		to[i] = (struct ibv_sge){ (uintptr_t)dst + i * UV_PAGE + 8, 300, o->mr->lkey };
	}
	ASSERT_EQ(0, pair_post_recv(p, &rwr));
	ASSERT_EQ(0, post_send(p, &wr, NULL, 0));
	ASSERT_EQ(0, reap_ok(p->cq[0], &wc));
	ASSERT_EQ(0, reap_ok(p->cq[1], &wc));
	for (i = 0; i < MANY_SGES; i++)
		EXPECT_TRUE(check_fill(dst + i * UV_PAGE + 8, 300, seed + i));
}

/* The send queue has a power of two of basic blocks, and each WQE takes three. */
TEST_F(wqe, that_wraps_at_the_end_of_its_queue_is_read_whole)
{
	struct qp_cfg cfg = {
		.type = IBV_QPT_RC, .send_sge = MANY_SGES, .recv_sge = MANY_SGES, .send_wr = 4,
		.recv_wr = 2,
	};
	unsigned int round;

	ASSERT_EQ(0, pair_open(&self->p, &self->o.r, &cfg, LEN));
	for (round = 0; round < 40; round++)
		send_pieces(_metadata, &self->o, &self->p, round);
}

/* WQEs of a receive queue with signatures have another segment before those of the data. */
TEST_F(wqe, of_a_queue_with_signatures_is_read_right)
{
	struct qp_cfg cfg = {
		.type = IBV_QPT_RC, .send_sge = MANY_SGES, .recv_sge = MANY_SGES,
	};
	unsigned int round;
	int ret;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	/* libmlx5 creates such queue pairs if it is asked so. */
	setenv("MLX5_QP_SIGNATURE", "1", 1);
	ret = pair_open(&self->p, &self->o.r, &cfg, LEN);
	unsetenv("MLX5_QP_SIGNATURE");
	if (ret)
		SKIP(return, "no queue pair with signatures (%d)", ret);
	for (round = 0; round < 4; round++)
		send_pieces(_metadata, &self->o, &self->p, round);
}

/* --- Events that say less than they should ------------------------------------------------------- */

FIXTURE(event) {
	struct paged o;
};

FIXTURE_SETUP(event)
{
	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs an HCA that reports false events, and a driver that answers them");
	paged_setup(_metadata, &self->o, false);
}

FIXTURE_TEARDOWN(event)
{
	if (hca_ctl_present())
		hca_inject_clear();
	EXPECT_EQ(0, paged_close(&self->o));
}

TEST_F(event, fault_of_unknown_subtype_fails_the_access)
{
	struct paged *o = &self->o;

	ASSERT_EQ(0, hca_do("inject fault subtype 7"));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, WRITE, 0, 64));
	ASSERT_EQ(0, hca_do("inject fault subtype 200"));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, run_local(o, SEND, 0, 64));
	EXPECT_EQ(0, run_remote(o, WRITE, 0, 64));
}

/* The page is mapped for reading at first, and for writing when the same fault comes again. */
TEST_F(event, write_that_is_reported_as_read_is_resolved)
{
	struct paged *o = &self->o;

	fill(o->p.buf[0], 64, 3);
	ASSERT_EQ(0, hca_do("inject fault nowrite 1000"));
	EXPECT_EQ(0, run_remote(o, WRITE, 0, 64));
	EXPECT_TRUE(check_fill(o->mem, 64, 3));
	EXPECT_GE(4, hca_inject_clear());
	/* A page that the process may only read is never mapped for writing. */
	mprotect(o->mem, LEN, PROT_READ);
	ASSERT_EQ(0, hca_do("inject fault nowrite 1000"));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, WRITE, 0, 64));
	hca_inject_clear();
	mprotect(o->mem, LEN, PROT_READ | PROT_WRITE);
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

FIXTURE(implicit) {
	struct paged o;
};

FIXTURE_SETUP(implicit)
{
	if (!paged_setup(_metadata, &self->o, false))
		return;
	if (!has_implicit(self->o.r.ctx))
		SKIP(return, NO_IMPLICIT);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(implicit)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

TEST_F(region, pins_nothing)
{
	struct paged *o = &self->o;
	long before = uv_pinned_pages();
	struct ibv_mr *mr;

	ASSERT_LE(0, before);
	mr = reg_paged(o, false);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, run_remote(o, WRITE, 0, LEN));
	EXPECT_EQ(before, uv_pinned_pages());
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(region, bounds_and_rights_are_checked)
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

#define READERS 6

/* All read the first page of the memory at the same time; returns the first status that is not 0. */
static int read_together(struct paged *o, struct pair *readers, uint32_t rkey)
{
	struct ibv_wc wc;
	int i, ret = 0, status;

	for (i = 0; i < READERS; i++) {
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { .remote_addr = (uintptr_t)o->mem, .rkey = rkey },
		};

		if (post_send(&readers[i], &wr, readers[i].buf[0], 64))
			return -1;
	}
	for (i = 0; i < READERS; i++) {
		status = reap(readers[i].cq[0], &wc);
		ret = ret ?: status;
	}
	return ret;
}

/* The faults look alike, but none of them is one that is reported again. */
TEST_F(region, many_readers_of_a_page_that_is_for_reading_succeed)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct pair readers[READERS];
	struct paged *o = &self->o;
	struct ibv_mr *ro;
	int i;

	ro = ibv_reg_mr(o->r.pd, o->mem, LEN, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, ro);
	for (i = 0; i < READERS; i++)
		ASSERT_EQ(0, pair_open(&readers[i], &o->r, &cfg, UV_PAGE));
	for (i = 0; i < 20; i++) {
		madvise(o->mem, LEN, MADV_DONTNEED);
		ASSERT_EQ(0, read_together(o, readers, ro->rkey)) TH_LOG("round %d", i);
	}
	/* The region allows writing, but the process does not. mlx5_ib wants to map for writing then. */
	ASSERT_EQ(0, mprotect(o->mem, LEN, PROT_READ));
	for (i = 0; i < 20 && driver_is("bluebell"); i++) {
		madvise(o->mem, LEN, MADV_DONTNEED);
		ASSERT_EQ(0, read_together(o, readers, o->mr->rkey)) TH_LOG("round %d", i);
	}
	ASSERT_EQ(0, mprotect(o->mem, LEN, PROT_READ | PROT_WRITE));
	for (i = 0; i < READERS; i++)
		pair_close(&readers[i]);
	EXPECT_EQ(0, ibv_dereg_mr(ro));
}

TEST_F(region, iova_may_differ_from_the_address)
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

/* A fault through a window names the window, and the driver does not know what that is bound to. */
TEST_F(region, no_windows_over_paged_memory)
{
	const int access = ALL_ACCESS | IBV_ACCESS_MW_BIND;
	struct paged *o = &self->o;
	struct ibv_mr *mr;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	EXPECT_EQ(NULL, ibv_reg_mr(o->r.pd, o->mem, LEN, access | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(NULL, ibv_reg_mr(o->r.pd, NULL, SIZE_MAX, access | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(EOPNOTSUPP, errno);
	/* Nor can a region become one by a change, and it keeps working. */
	EXPECT_NE(0, ibv_rereg_mr(o->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  access | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(0, run_remote(o, WRITE, 0, 64));
	mr = ibv_reg_mr(o->r.pd, o->mem, LEN, access);
	ASSERT_NE(NULL, mr);
	EXPECT_NE(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  access | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(implicit, has_no_other_iova)
{
	struct paged *o = &self->o;
	struct ibv_mr *mr;

	/* libmlx5 passes on what it is given, and the driver has no way to shift the address space. */
	mr = ibv_reg_mr_iova(o->r.pd, NULL, SIZE_MAX, 0x100000, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	EXPECT_EQ(NULL, mr);
	EXPECT_EQ(EINVAL, errno);
	mr = ibv_reg_mr_iova(o->r.pd, NULL, SIZE_MAX, 0, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* A region with more translation entries than one command carries, of which few are ever used. */
TEST_F(region, large_sparse_region_works)
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

static void use_huge_pages(struct __test_metadata *_metadata, struct paged *o, int num, int access)
{
	const size_t len = num * HUGE;
	struct ibv_mr *mr;
	uint8_t *mem;
	int i;

	reserve_huge_pages(4);
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB,
		   -1, 0);
	if (mem == MAP_FAILED)
		SKIP(return, "the kernel has no huge pages to spare");
	mr = ibv_reg_mr(o->r.pd, mem, len, ALL_ACCESS | IBV_ACCESS_ON_DEMAND | access);
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

TEST_F(region, huge_pages_work)
{
	use_huge_pages(_metadata, &self->o, 1, IBV_ACCESS_HUGETLB);
	use_huge_pages(_metadata, &self->o, 3, 0);
}

TEST_F(region, rereg_changes_the_rights)
{
	struct paged *o = &self->o;

	ASSERT_EQ(0, ibv_rereg_mr(o->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(0, run_remote(o, READ, 0, 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, WRITE, 0, 64));
}

/* An implicit region covers memory mapped after the registration; unmapped addresses are refused. */
TEST_F(implicit, covers_memory_mapped_later)
{
	struct paged *o = &self->o;
	struct ibv_mr *all = reg_paged(o, true);
	uint8_t *later;

	ASSERT_NE(NULL, all) TH_LOG("errno %d", errno);
	later = map_anon(NULL);
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

/* An access across the border between two leaves of the tree of keys. */
TEST_F(implicit, works_across_leaves)
{
	const size_t seam = 1ul << 30;
	struct paged *o = &self->o;
	struct ibv_mr *all = reg_paged(o, true);
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

/* A leaf is freed when its last page has been unmapped. */
TEST_F(implicit, frees_keys_without_pages)
{
	struct paged *o = &self->o;
	struct ibv_mr *all = reg_paged(o, true);
	long with, without;
	unsigned int i;
	uint8_t *mem;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(ibv_dereg_mr(all); return, "only bluebell promises this; needs the HCA's census");
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

/*
 * If firmware refuses any command of a prefetch, the prefetch fails, and a later access works. The
 * command that is refused may be another one, which the driver sends meanwhile to fill its pool of
 * keys: then the prefetch is tried again.
 */
TEST_F(implicit, prefetch_works_after_refused_commands)
{
	struct paged *o = &self->o;
	unsigned int nth, others = 0;
	int ret, fired;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs an HCA that refuses on request, and a driver that handles that");
	for (nth = 1; nth < 20; nth++) {
		struct ibv_mr *all = reg_paged(o, true);

		ASSERT_NE(NULL, all);
		ASSERT_EQ(0, hca_inject_cmd(nth, "LIM_ERR"));
		ret = advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
			     o->mem, LEN, all->lkey);
		fired = hca_inject_clear();
		if (fired && !ret && others++ < 5)
			nth--;
		else
			EXPECT_EQ(fired ? ENOMEM : 0, ret) TH_LOG("command %u", nth);
		EXPECT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, all->rkey, LEN));
		EXPECT_EQ(0, ibv_dereg_mr(all));
		EXPECT_CENSUS_UNCHANGED() TH_LOG("command %u", nth);
		if (!fired)
			break;
	}
	EXPECT_LT(1, nth);
}

/* Deregister while the nth command from now fails, and, if @umr is set, three UMR requests as well. */
static int dereg_with_failures(struct ibv_mr *mr, unsigned int nth, bool umr)
{
	int ret;

	if (hca_inject_cmd(nth, "LIM_ERR") || (umr && hca_do("inject umr 3")))
		return -1;
	ret = ibv_dereg_mr(mr);
	hca_inject_clear();
	return ret;
}

/* If deregistration of an implicit region is refused, a second one destroys the region and all its keys. */
TEST_F(implicit, dereg_works_after_refused_commands)
{
	struct paged *o = &self->o;
	unsigned int refused = 0, i;
	int ret;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs an HCA that refuses on request, and a driver that handles that");
	for (i = 0; i < 24; i++) {
		struct ibv_mr *all = reg_paged(o, true);

		ASSERT_NE(NULL, all);
		ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, all->rkey, LEN));
		ret = dereg_with_failures(all, 1 + i / 2, i & 1);
		if (ret) {
			EXPECT_EQ(ENOMEM, ret);
			refused++;
			EXPECT_EQ(0, ibv_dereg_mr(all));
		}
		/* If 2RST_QP was refused, the driver creates its UMR queue pair again soon. */
		EXPECT_STREQ("", hca_census_delta_within(5000)) TH_LOG("command %u, umr %u", 1 + i / 2, i & 1);
	}
	EXPECT_LT(2, refused);
}

/* If neither UMR nor DESTROY_MKEY can revoke a key, the driver destroys the key with the region. */
TEST_F(region, key_that_cannot_be_revoked_is_destroyed_later)
{
	struct paged *o = &self->o;
	struct ibv_mr *mr;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs an HCA that refuses on request, and a driver that handles that");
	/* When the process discards its pages. */
	mr = reg_paged(o, false);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN));
	ASSERT_EQ(0, hca_do("inject umr"));
	ASSERT_EQ(0, hca_do("inject op DESTROY_MKEY LIM_ERR 1"));
	madvise(o->mem, LEN, MADV_DONTNEED);
	EXPECT_EQ(2, hca_inject_clear());
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_CENSUS_UNCHANGED();

	/* When the region is deregistered: revoking, clearing the entries and destroying the key fail. */
	mr = reg_paged(o, false);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN));
	ASSERT_EQ(0, hca_do("inject umr 3"));
	ASSERT_EQ(0, hca_do("inject op DESTROY_MKEY LIM_ERR 2"));
	EXPECT_EQ(ENOMEM, ibv_dereg_mr(mr));
	hca_inject_clear();
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_CENSUS_UNCHANGED();
}

/* If firmware refuses PAGE_FAULT_RESUME, the driver repeats it, because the queue waits for it. */
TEST_F(region, refused_resume_is_repeated)
{
	struct paged *o = &self->o;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs an HCA that refuses on request, and a driver that repeats PAGE_FAULT_RESUME");
	ASSERT_EQ(0, hca_do("inject op PAGE_FAULT_RESUME LIM_ERR 3"));
	EXPECT_EQ(0, run_remote(o, WRITE, 0, 64));
	EXPECT_EQ(3, hca_inject_clear());
	madvise(o->mem, LEN, MADV_DONTNEED);
	ASSERT_EQ(0, hca_do("inject op PAGE_FAULT_RESUME INT_ERR 3"));
	EXPECT_EQ(0, run_local(o, SEND, 0, 64));
	EXPECT_EQ(3, hca_inject_clear());
}

/* A descriptor by which this process resolves faults on @mem itself; negative if it may not. */
static int hold_faults(uint8_t *mem, size_t len)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (uintptr_t)mem, len }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))
		return -1;
	return fd;
}

/* A process can destroy its queue pairs whenever it likes: that must not fill the log. */
TEST_F(region, queue_that_is_destroyed_during_a_fault_is_not_logged)
{
	struct paged *o = &self->o;
	struct ibv_sge sge = { (uintptr_t)o->p.buf[0], 64, o->p.mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)o->mem, .rkey = o->mr->rkey },
	};
	struct uffdio_zeropage zero = { .range = { (uintptr_t)o->mem, LEN } };
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	int logged = klog_count("PAGE_FAULT_RESUME");
	struct pollfd pfd = { .events = POLLIN };

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	pfd.fd = hold_faults(o->mem, LEN);
	if (pfd.fd < 0)
		SKIP(return, "no userfaultfd");
	/* The driver may find that out by the device's refusal. */
	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME BAD_RES_ERR any"));
	ASSERT_EQ(0, post_send(&o->p, &wr, NULL, 0));
	ASSERT_EQ(1, poll(&pfd, 1, 10000));
	/* The fault names the key and not the queue, so the queue does not wait for its end. */
	pair_close(&o->p);
	EXPECT_EQ(0, ioctl(pfd.fd, UFFDIO_ZEROPAGE, &zero));
	close(pfd.fd);
	/* Waits until the fault has been answered. */
	EXPECT_EQ(0, ibv_dereg_mr(o->mr));
	o->mr = NULL;
	usleep(200000);
	EXPECT_EQ(logged, klog_count("PAGE_FAULT_RESUME"));
	ASSERT_EQ(0, pair_open(&o->p, &o->r, &cfg, LEN));
}

/* Map a shared file in place of the paged memory; returns another mapping of the file. */
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

/* Let UMR fail while the process replaces its pages: the driver must destroy the key instead. */
static void lose_pages_without_umr(struct __test_metadata *_metadata, struct paged *o,
				   struct ibv_mr *mr)
{
	uint8_t *file = map_file(o);

	ASSERT_NE(MAP_FAILED, file);
	ASSERT_EQ(0, run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN));
	fill(file, LEN, 1);
	ASSERT_EQ(0, hca_do("inject umr"));
	ASSERT_EQ(o->mem, map_anon(o->mem));
	EXPECT_EQ(1, hca_inject_clear());
	/* Whether or not this write succeeds, it must not reach the pages of the file. */
	fill(o->p.buf[0], LEN, 2);
	run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, o->mem, mr->rkey, LEN);
	EXPECT_TRUE(check_fill(file, LEN, 1));
	munmap(file, LEN);
}

TEST_F(region, failed_umr_at_invalidation_destroys_the_key)
{
	struct paged *o = &self->o;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs an HCA that fails on request, and a driver that handles that");
	lose_pages_without_umr(_metadata, o, o->mr);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, run_remote(o, READ, 0, 64));
	EXPECT_EQ(0, ibv_dereg_mr(o->mr));
	o->mr = reg_paged(o, false);
	ASSERT_NE(NULL, o->mr);
	EXPECT_EQ(0, run_remote(o, WRITE, 0, LEN));
	EXPECT_CENSUS_UNCHANGED();
}

/* The leaf of an implicit region whose key was destroyed is created again once UMR works. */
TEST_F(implicit, recovers_after_failed_umr)
{
	struct paged *o = &self->o;
	struct ibv_mr *all;
	unsigned int i;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs an HCA that fails on request, and a driver that handles that");
	all = reg_paged(o, true);
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

static void *fail_umr_until_stopped(void *arg)
{
	struct race *r = arg;

	while (!r->stop) {
		hca_do("inject umr 1 %d", rand() % 4);
		usleep(rand() % 50000);
		r->rounds++;
	}
	return NULL;
}

/*
 * Leaves lose their pages, lose their keys, are created again and are given up, while their region is
 * deregistered. Nothing is left behind, and nothing is reached that is gone.
 */
TEST_F_TIMEOUT(implicit, leaves_come_and_go_while_umr_fails, 300)
{
	const size_t leaf = 16ul << 20;
	struct paged *o = &self->o;
	struct race failures = { .o = o };
	double end = seconds() + race_seconds();
	unsigned int rounds = 0, i;
	pthread_t thread;
	uint8_t *mem;

	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, "needs an HCA that fails on request, and a driver that handles that");
	mem = mmap(NULL, 4 * leaf, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, pthread_create(&thread, NULL, fail_umr_until_stopped, &failures));
	for (; seconds() < end || rounds < 3; rounds++) {
		struct ibv_mr *all = reg_paged(o, true);

		ASSERT_NE(NULL, all);
		for (i = 0; i < 12; i++) {
			run_op(o, WRITE, o->p.buf[0], o->p.mr->lkey, mem + rand() % 4 * leaf,
			       all->rkey, 64);
			advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
			       mem + rand() % 4 * leaf, 2 * UV_PAGE, all->lkey);
			madvise(mem + rand() % 4 * leaf, leaf, MADV_DONTNEED);
		}
		EXPECT_EQ(0, ibv_dereg_mr(all));
	}
	failures.stop = true;
	pthread_join(thread, NULL);
	hca_inject_clear();
	EXPECT_LT(0, failures.rounds);
	/* UMR restarts within a second. */
	for (i = 0; i < 100 && run_remote(o, WRITE, 0, 64); i++)
		usleep(20000);
	EXPECT_GT(100, i);
	EXPECT_CENSUS_UNCHANGED();
	munmap(mem, 4 * leaf);
}

static void *write_until_stopped(void *arg)
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

TEST_F(region, dereg_during_faults)
{
	struct paged *o = &self->o;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		struct race r = { .o = o };
		pthread_t thread;

		ASSERT_EQ(0, pthread_create(&thread, NULL, write_until_stopped, &r));
		usleep(rand() % 30000);
		EXPECT_EQ(0, ibv_dereg_mr(o->mr));
		r.stop = true;
		pthread_join(thread, NULL);
		pair_reconnect(&o->p);
		o->mr = reg_paged(o, i & 1 && has_implicit(o->r.ctx));
		ASSERT_NE(NULL, o->mr);
		EXPECT_EQ(0, run_remote(o, WRITE, 0, 64));
	}
}

/* A process killed during page faults leaves nothing behind. */
TEST_F(region, killed_during_faults)
{
	bool implicit = has_implicit(self->o.r.ctx);
	unsigned int i;
	int status;
	pid_t pid;

	/* The queue pair of a fault may be destroyed before the driver resumes it. */
	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME BAD_RES_ERR any"));
	for (i = 0; i < 4; i++) {
		pid = fork();
		if (!pid) {
			struct paged o;
			struct race r = { .o = &o };

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (paged_open(&o, implicit && i & 1))
				_exit(1);
			write_until_stopped(&r);
			_exit(0);
		}
		usleep(300000 + rand() % 200000);
		EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		EXPECT_TRUE(WIFSIGNALED(status));
	}
	/* A fault that is being resolved holds the memory of the process, whose mappings hold its file. */
	if (hca_ctl_present() && driver_is("bluebell"))
		EXPECT_STREQ("", hca_census_delta_within(5000));
}

static void fault_until_killed(unsigned int round)
{
	struct paged o;
	struct race r = { .o = &o };

	int ret = paged_open(&o, round & 1);

	if (ret == 3)
		ret = paged_open(&o, false);
	if (!ret)
		write_until_stopped(&r);
}

/* When the device is removed during page faults, no pages and no keys are left. */
TEST(device_removal_during_faults)
{
	if (!device_has(_metadata, has_odp))
		SKIP(return, NO_ODP);
	/* The queue pair of a fault may be destroyed before the driver resumes it. */
	ASSERT_EQ(0, hca_expect("refuse PAGE_FAULT_RESUME BAD_RES_ERR any"));
	remove_device_during(_metadata, fault_until_killed);
}

/* --- UD ----------------------------------------------------------------------------------------- */

TEST(ud_send_completes_after_a_fault)
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
	mem = map_anon(NULL);
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
	/* A send from unmapped memory fails. */
	munmap(mem, LEN);
	ASSERT_EQ(0, post_send(&p, &wr, NULL, 0));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, reap(p.cq[0], &wc));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	pair_close(&p);
	rdma_close(&r);
}

TEST_HARNESS_MAIN
