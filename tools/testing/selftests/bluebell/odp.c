// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: each operation accesses pages that are not mapped for the device, as requester
 * and as responder; pages that the process unmaps are unmapped from the device; an access to memory
 * that does not exist fails and does not hang. More: odp_advice.c, odp_limits.c, odp_race.c,
 * odp_region.c.
 */

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "paged_setup.h"

/* If the driver reported no on-demand paging by mistake, all tests below would be skipped. */
TEST(odp_is_reported_as_the_device_has_it)
{
	struct rdma r;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, rdma_open(&r));
	/*
	 * Bluebell offers ODP only with UMR offsets of more than 16 bits, because its keys for
	 * implicit regions have more entries than 16 bits can address.
	 */
	EXPECT_EQ(hca_cap("general", "pg") &&
		  (!driver_is("bluebell") || hca_cap("general", "umr_extended_translation_offset")),
		  rdma_has_odp(r.ctx));
	/*
	 * Bluebell offers implicit regions only with "fixed_buffer_size", because the entries of
	 * their keys are of one size, and each refers to another key; and only if UMR can change
	 * such keys.
	 */
	EXPECT_EQ(rdma_has_odp(r.ctx) &&
		  (!driver_is("bluebell") ||
		   (hca_cap("general", "fixed_buffer_size") &&
		    !hca_cap("general", "umr_indirect_mkey_disabled"))),
		  paged_has_implicit(r.ctx));
	rdma_close(&r);
}

/* --- Faults --------------------------------------------------------------------------------- */

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
	if (variant->op == ATOMIC && !rdma_has_paged_atomics(self->o.r.ctx, variant->xrc))
		SKIP(return, "the device has no atomic operations on paged memory");
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
		/*
		 * With page faults of the memory scheme, mlx5_ib fails an access to a part of an
		 * implicit region while it destroys the part's key: wait until it has.
		 */
		if (variant->implicit && driver_is("mlx5_ib") && hca_cap("odp", "mem_page_fault"))
			usleep(100000);
		if (!writes)
			fill(o->mem + off, len, i);
		fill(pinned, len, i + 50);
		/* A page may be mapped in the process already, but not for the device. */
		before = hca_counter("page_faults");
		ASSERT_EQ(0, variant->local ? paged_local(o, variant->op, off, len) :
			  paged_remote(o, variant->op, off, len));
		after = hca_counter("page_faults");
		/*
		 * The old value of an atomic operation is in the completion, so no page is
		 * accessed.
		 */
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

/* --- Invalidation --------------------------------------------------------------------------- */

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
	ASSERT_EQ(0, paged_remote(&self->o, WRITE, 0, LEN));
}

FIXTURE_TEARDOWN(lost)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

TEST_F(lost, unmapped_memory_fails_access_until_mapped_again)
{
	struct paged *o = &self->o;

	munmap(o->mem, LEN);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, paged_remote(o, WRITE, 0, 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, paged_remote(o, READ, 0, 64));
	if (rdma_has_paged_atomics(o->r.ctx, false))
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, paged_remote(o, ATOMIC, 0, 8));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, paged_local(o, WRITE, 0, 64));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, paged_local(o, READ, 0, 64));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, paged_local(o, SEND, 0, 64));
	EXPECT_EQ(IBV_WC_REM_OP_ERR, paged_remote(o, SEND, 0, 64));
	/* New memory at the same address can be accessed. */
	ASSERT_EQ(o->mem, paged_map(o->mem));
	fill(o->p.buf[0], 64, 3);
	ASSERT_EQ(0, paged_remote(o, WRITE, 0, 64));
	EXPECT_TRUE(check_fill(o->mem, 64, 3));
}

TEST_F(lost, unmapped_page_fails_access_to_it_only)
{
	struct paged *o = &self->o;

	munmap(o->mem + 8 * UV_PAGE, UV_PAGE);
	EXPECT_EQ(0, paged_remote(o, WRITE, 0, 8 * UV_PAGE));
	EXPECT_EQ(0, paged_remote(o, WRITE, 9 * UV_PAGE, LEN - 9 * UV_PAGE));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, paged_remote(o, WRITE, 8 * UV_PAGE - 8, 16));
}

TEST_F(lost, discarded_pages_read_as_zero)
{
	struct paged *o = &self->o;
	size_t i;

	madvise(o->mem + 3 * UV_PAGE, 2 * UV_PAGE, MADV_DONTNEED);
	ASSERT_EQ(0, paged_remote(o, READ, 0, LEN));
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
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, paged_remote(o, WRITE, 0, 64));
	EXPECT_EQ(0x22, to[0]);
	ASSERT_EQ(o->mem, paged_map(o->mem));
	ASSERT_EQ(0, paged_remote(o, READ, 0, 64));
	EXPECT_EQ(0, o->p.buf[0][0]);
	munmap(to, LEN);
}

TEST_F(lost, mprotected_memory_cannot_be_written)
{
	struct paged *o = &self->o;

	mprotect(o->mem, LEN, PROT_READ);
	/* mlx5_ib asks for writable pages for reads, too. */
	if (driver_is("bluebell"))
		EXPECT_EQ(0, paged_remote(o, READ, 0, 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, paged_remote(o, WRITE, 0, 64));
	mprotect(o->mem, LEN, PROT_READ | PROT_WRITE);
	EXPECT_EQ(0, paged_remote(o, WRITE, 0, 64));
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
	EXPECT_EQ(0, paged_remote(o, WRITE, 0, LEN));
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
	ASSERT_EQ(0, paged_remote(o, WRITE, 0, LEN));
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4 * UV_PAGE,
			       UV_PAGE));
	ASSERT_EQ(0, paged_remote(o, READ, 0, LEN));
	EXPECT_TRUE(check_fill(o->p.buf[0], 4 * UV_PAGE, 4));
	EXPECT_EQ(0, o->p.buf[0][4 * UV_PAGE]);
	EXPECT_EQ(o->mem[5 * UV_PAGE], o->p.buf[0][5 * UV_PAGE]);
	/* Beyond the end of the file there is no memory. */
	ASSERT_EQ(0, ftruncate(fd, LEN / 2));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, paged_remote(o, WRITE, LEN - UV_PAGE, 64));
	close(fd);
}

/* --- Shared receive queues ------------------------------------------------------------------ */

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

/*
 * Reconnect a pair. An XRC pair creates an SRQ of its own when it does that: send to
 * @srq instead.
 */
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
 * Two queue pairs receive at once, each message into three pieces, the second of which is pinned.
 * The rounds wrap around the SRQ several times, and its requests complete in any order.
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

	ASSERT_EQ(o->mem, paged_map(o->mem));
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

/* --- Messages that are not present as a whole ----------------------------------------------- */

#define LONG_LEN (6ul << 20)
/* A WQE of this many pieces takes three basic blocks of 64 bytes. */
#define MANY_SGES 9

FIXTURE(message) {
	struct paged o;
	struct paged big;	/* with longer pinned buffers; its region has LONG_LEN bytes */
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
	ASSERT_EQ(0, paged_advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
				  o->mem, LONG_LEN / 2, o->mr->lkey));
	midway = hca_counter("page_faults_midway");
	ASSERT_EQ(0, variant->local ? paged_local(o, variant->op, 0, LONG_LEN) :
		  paged_remote(o, variant->op, 0, LONG_LEN));
	if (hca_ctl_present())
		EXPECT_LT(midway, hca_counter("page_faults_midway"));
	EXPECT_TRUE(check_fill(writes ? o->mem : pinned, LONG_LEN, writes ? 4 : 3));
}

/*
 * The device may transfer the pages that are present, but the operation must fail, and must not
 * hang.
 */
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
			ASSERT_EQ(0, paged_advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
						  IBV_ADVISE_MR_FLAG_FLUSH, o->mem, hole,
						  o->mr->lkey));
		EXPECT_EQ(want, variant->local ? paged_local(o, variant->op, 0, LEN) :
			  paged_remote(o, variant->op, 0, LEN));
		ASSERT_EQ(o->mem, paged_map(o->mem));
		fill(pinned, LEN, 5);
		fill(o->mem, LEN, 6);
		ASSERT_EQ(0, variant->local ? paged_local(o, variant->op, 0, LEN) :
			  paged_remote(o, variant->op, 0, LEN));
		EXPECT_TRUE(check_fill(writes ? o->mem : pinned, LEN, writes ? 5 : 6));
	}
}

/* --- WQEs that the driver has to read ------------------------------------------------------- */

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

/*
 * The number of basic blocks in the send queue is a power of two, and each WQE takes three blocks,
 * so some WQEs begin at the end of the queue and continue at its start.
 */
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

/* WQEs of a receive queue with signatures have one more segment before the data segments. */
TEST_F(wqe, of_a_queue_with_signatures_is_read_right)
{
	struct qp_cfg cfg = {
		.type = IBV_QPT_RC, .send_sge = MANY_SGES, .recv_sge = MANY_SGES,
	};
	unsigned int round;
	int ret;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	/* libmlx5 creates queue pairs with signatures if this variable is set. */
	setenv("MLX5_QP_SIGNATURE", "1", 1);
	ret = pair_open(&self->p, &self->o.r, &cfg, LEN);
	unsetenv("MLX5_QP_SIGNATURE");
	if (ret)
		SKIP(return, "no queue pair with signatures (%d)", ret);
	for (round = 0; round < 4; round++)
		send_pieces(_metadata, &self->o, &self->p, round);
}

/* --- Events that say less than they should -------------------------------------------------- */

FIXTURE(event) {
	struct paged o;
};

FIXTURE_SETUP(event)
{
	if (!hca_ctl_present() || !driver_is("bluebell"))
		SKIP(return, NEEDS_FAILURES);
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
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, paged_remote(o, WRITE, 0, 64));
	ASSERT_EQ(0, hca_do("inject fault subtype 200"));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, paged_local(o, SEND, 0, 64));
	EXPECT_EQ(0, paged_remote(o, WRITE, 0, 64));
}

/* The page is mapped for reading at first, and for writing when the same fault comes again. */
TEST_F(event, write_that_is_reported_as_read_is_resolved)
{
	struct paged *o = &self->o;

	fill(o->p.buf[0], 64, 3);
	ASSERT_EQ(0, hca_do("inject fault nowrite 1000"));
	EXPECT_EQ(0, paged_remote(o, WRITE, 0, 64));
	EXPECT_TRUE(check_fill(o->mem, 64, 3));
	EXPECT_GE(4, hca_inject_clear());
	/* A page that the process may only read is never mapped for writing. */
	mprotect(o->mem, LEN, PROT_READ);
	ASSERT_EQ(0, hca_do("inject fault nowrite 1000"));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, paged_remote(o, WRITE, 0, 64));
	hca_inject_clear();
	mprotect(o->mem, LEN, PROT_READ | PROT_WRITE);
}

/* --- UD ------------------------------------------------------------------------------------- */

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
	if (!rdma_has_odp(r.ctx)) {
		rdma_close(&r);
		SKIP(return, NO_ODP);
	}
	ASSERT_EQ(0, pair_open(&p, &r, &cfg, 8192));
	mem = paged_map(NULL);
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
