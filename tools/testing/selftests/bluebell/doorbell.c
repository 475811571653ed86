// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbell records, whose page is pinned once for all the records in it, and doorbell registers,
 * which ring only queues that were created on their UAR.
 */
#include <infiniband/mlx5dv.h>
#include <sched.h>

#include "test.h"

#define BF_OFFSET 0x800
#define CQ_ARM_OFFSET 0x20
#define MLX5_CQ_ARM_DB 1	/* word of a doorbell record */

FIXTURE(record) {
	struct uv uv;
	uint32_t pd;
	uint8_t *page;
	long pinned;
};

FIXTURE_VARIANT(record) {
	bool qp;	/* the record is of a QP, else of a CQ */
};

FIXTURE_VARIANT_ADD(record, of_cq) { .qp = false };

FIXTURE_VARIANT_ADD(record, of_qp) { .qp = true };

FIXTURE_SETUP(record)
{
	ASSERT_EQ(0, uv_open(&self->uv));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &self->pd, NULL));
	self->page = mmap(NULL, 4 * UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	ASSERT_NE(MAP_FAILED, self->page);
	self->pinned = uv_pinned_pages();
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(record)
{
	uv_close(&self->uv);
}

/* A CQ, or a QP together with the CQ that it needs. */
struct queue {
	struct uv_cq cq;
	struct uv_qp qp;
};

/* Create a CQ or a QP whose doorbell record is at @dbr. */
static int queue_create(int fd, uint32_t pd, bool qp, void *dbr, struct queue *q)
{
	int ret;

	memset(q, 0, sizeof(*q));
	if (!qp)
		return uv_create_cq_dbr(fd, 31, dbr, &q->cq);
	ret = uv_create_cq(fd, 31, &q->cq);
	if (ret)
		return ret;
	ret = uv_create_qp_dbr(fd, pd, q->cq.handle, dbr, &q->qp);
	if (ret)
		uv_destroy_cq(fd, &q->cq);
	return ret;
}

static int queue_destroy(int fd, bool qp, struct queue *q)
{
	int ret = qp ? uv_destroy_qp(fd, &q->qp) : 0;

	return ret ?: uv_destroy_cq(fd, &q->cq);
}

TEST_F(record, page_is_pinned_once_for_all_its_records)
{
	struct queue q[8];
	long cost, i;

	/* Count the pages that a queue pins if no other record is in the page of its record. */
	ASSERT_EQ(0, queue_create(self->uv.fd, self->pd, variant->qp, self->page + UV_PAGE, &q[0]));
	cost = uv_pinned_pages() - self->pinned;
	EXPECT_LT(1, cost);
	ASSERT_EQ(0, queue_destroy(self->uv.fd, variant->qp, &q[0]));
	EXPECT_EQ(self->pinned, uv_pinned_pages());

	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, queue_create(self->uv.fd, self->pd, variant->qp, self->page + 64 * i,
					  &q[i]));
		/* Only the first record pins the page. */
		EXPECT_EQ(self->pinned + (cost - 1) * (i + 1) + 1, uv_pinned_pages())
			TH_LOG("after queue %ld", i);
	}
	/* The page stays pinned until the last record is unmapped, in whatever order. */
	for (i = 7; i >= 1; i--) {
		ASSERT_EQ(0, queue_destroy(self->uv.fd, variant->qp, &q[(i + 3) % 8]));
		EXPECT_EQ(self->pinned + (cost - 1) * i + 1, uv_pinned_pages());
	}
	ASSERT_EQ(0, queue_destroy(self->uv.fd, variant->qp, &q[3]));
	EXPECT_EQ(self->pinned, uv_pinned_pages());
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

TEST_F(record, close_unpins_all_pages)
{
	struct queue q[4];
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, queue_create(self->uv.fd, self->pd, variant->qp, self->page +
					  UV_PAGE * i,
					  &q[i]));
	EXPECT_LE(self->pinned + 8, uv_pinned_pages());
	uv_close(&self->uv);
	EXPECT_EQ(self->pinned, uv_pinned_pages());
}

/*
 * After a fork the same address is another page: the driver must not take the parent's page for the
 * child's.
 */
TEST_F(record, same_address_in_a_child_pins_another_page)
{
	struct queue mine, theirs;
	int status;
	pid_t pid;

	self->page[0] = 1;
	ASSERT_EQ(0, queue_create(self->uv.fd, self->pd, variant->qp, self->page, &mine));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		long pinned, cost;

		self->page[0] = 2;
		/* The child uses the parent's context, by the file it inherited. */
		if (queue_create(self->uv.fd, self->pd, variant->qp, self->page + UV_PAGE, &theirs))
			_exit(2);
		cost = uv_pinned_pages();
		if (queue_create(self->uv.fd, self->pd, variant->qp, self->page, &theirs))
			_exit(3);
		pinned = uv_pinned_pages();
		_exit(pinned == 2 * cost ? 0 : 4);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_EQ(0, queue_destroy(self->uv.fd, variant->qp, &mine));
}

#define KERNEL_ADDRESS ((void *)0xffff888000001000ul)

TEST_F(record, bad_addresses_are_refused)
{
	/*
	 * Unmapped, in the hole above user space, in the kernel, at the end of the
	 * address space.
	 */
	void *bad[] = {
		(void *)0x1000, (void *)0x7ffffffff000ul, (void *)0x800000000000ul, KERNEL_ADDRESS,
		(void *)0xfffffffffffff000ul, (void *)0xfffffffffffffff8ul,
	};
	long pinned = uv_pinned_pages();
	struct queue q;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ret = queue_create(self->uv.fd, self->pd, variant->qp, bad[i], &q);
		EXPECT_TRUE(ret == -EFAULT || ret == -ENOMEM || ret == -EINVAL)
			TH_LOG("address %p: %d", bad[i], ret);
	}
	/* Do not unmap the page: the queue's own memory could be mapped at the address. */
	ASSERT_EQ(0, mprotect(self->page, UV_PAGE, PROT_NONE));
	EXPECT_EQ(-EFAULT, queue_create(self->uv.fd, self->pd, variant->qp, self->page, &q));
	EXPECT_EQ(pinned, uv_pinned_pages());
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

TEST_F(record, misaligned_address_is_refused)
{
	const unsigned int off[] = { 1, 2, 4, 7, 12, UV_PAGE - 4, UV_PAGE - 1 };
	long pinned = uv_pinned_pages();
	struct queue q;
	size_t i;

	if (!driver_is("bluebell"))
		SKIP(return,
		     "only bluebell requires records to be aligned to their eight bytes");
	for (i = 0; i < ARRAY_SIZE(off); i++)
		EXPECT_EQ(-EINVAL, queue_create(self->uv.fd, self->pd, variant->qp,
						self->page + off[i], &q))
							TH_LOG("offset %u", off[i]);
	EXPECT_EQ(pinned, uv_pinned_pages());
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

TEST_F(record, last_record_of_a_page_works)
{
	struct queue q;

	ASSERT_EQ(0, queue_create(self->uv.fd, self->pd, variant->qp, self->page + UV_PAGE - 8,
				  &q));
	EXPECT_EQ(0, queue_destroy(self->uv.fd, variant->qp, &q));
}

/*
 * The HCA only reads a doorbell record, so a driver may accept a record in a read-only page, as
 * Bluebell does, but must not let the page be written to.
 */
TEST_F(record, read_only_page_is_not_written)
{
	struct queue q;
	size_t i;
	int ret;

	memset(self->page, 0x5a, UV_PAGE);
	ASSERT_EQ(0, mprotect(self->page, UV_PAGE, PROT_READ));
	ret = queue_create(self->uv.fd, self->pd, variant->qp, self->page, &q);
	EXPECT_TRUE(!ret || (ret == -EFAULT && !driver_is("bluebell"))) TH_LOG("%d", ret);
	if (!ret)
		EXPECT_EQ(0, queue_destroy(self->uv.fd, variant->qp, &q));
	for (i = 0; i < UV_PAGE; i++)
		ASSERT_EQ(0x5a, self->page[i]);
}

/* --- Registers -------------------------------------------------------------------------------- */

FIXTURE(reg) {
	struct uv uv;
	uint32_t pd;
	struct uv_cq cq;
	struct uv_qp qp;
	uint8_t *uar[8];
};

FIXTURE_SETUP(reg)
{
	unsigned int i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, uv_open(&self->uv));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &self->pd, NULL));
	ASSERT_EQ(0, uv_create_cq(self->uv.fd, 31, &self->cq));
	ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle, IBV_QPT_RC, &self->qp));
	ASSERT_EQ(0, uv_qp_to_rts(self->uv.fd, &self->qp, self->qp.qpn, 1));
	for (i = 0; i < 8; i++) {
		self->uar[i] = uv_map_static_uar(self->uv.fd, i);
		ASSERT_NE(NULL, self->uar[i]);
	}
}

FIXTURE_TEARDOWN(reg)
{
	if (self->uv.fd > 0)
		uv_close(&self->uv);
}

/* The first eight bytes of a NOP's control segment, which is what a plain doorbell is. */
static uint64_t nop_doorbell(uint32_t qpn)
{
	return htobe64((uint64_t)0 << 32 | qpn << 8 | 1);
}

static unsigned int qp_uar(const struct uv_qp *qp)
{
	return qp->resp.bfreg_index / 4;
}

static unsigned int qp_reg(const struct uv_qp *qp)
{
	return BF_OFFSET + qp->resp.bfreg_index % 4 * 0x200;
}

/* Write a NOP to the send queue, behind the receive queue of 16 entries, and announce it. */
static void put_nop(struct uv_qp *qp)
{
	struct mlx5_wqe_ctrl_seg *ctrl = qp->mem.buf + 16 * 16;

	memset(ctrl, 0, 64);
	*(uint64_t *)ctrl = nop_doorbell(qp->qpn);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	qp->mem.dbr[MLX5_SND_DBR] = htobe32(1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * The HCA executes the WQEs of a doorbell after it has answered the store: wait for at most a
 * second.
 */
static bool wqes_reach(long n)
{
	unsigned int i;

	for (i = 0; i < 1000 && hca_counter("wqes_sq") < n; i++)
		usleep(1000);
	return hca_counter("wqes_sq") == n;
}

TEST_F(reg, doorbell_on_the_queues_uar_is_accepted)
{
	long done = hca_counter("wqes_sq");

	put_nop(&self->qp);
	ring(self->uar[qp_uar(&self->qp)] + qp_reg(&self->qp), nop_doorbell(self->qp.qpn));
	EXPECT_TRUE(wqes_reach(done + 1));
}

/*
 * The HCA drops a doorbell whose WQE no doorbell record announces, or that is not the start of the
 * WQE.
 */
TEST_F(reg, doorbell_unlike_its_wqe_is_dropped)
{
	uint8_t *reg = self->uar[qp_uar(&self->qp)] + qp_reg(&self->qp);
	uint64_t nop = nop_doorbell(self->qp.qpn);
	long done = hca_counter("wqes_sq");

	ASSERT_EQ(0, hca_expect("drop no_wqe 2"));
	ASSERT_EQ(0, hca_expect("drop bad_wqe 2"));
	ring(reg, nop);
	put_nop(&self->qp);
	ring(reg, nop ^ htobe64(1ull << 40));	/* index */
	ring(reg, nop ^ htobe64(0xaull << 32));	/* opcode */
	ring(reg, nop ^ htobe64(3));		/* length */
	EXPECT_EQ(done, hca_counter("wqes_sq"));
	ring(reg, nop);
	EXPECT_TRUE(wqes_reach(done + 1));
}

/* An arm word that is not in the doorbell record does not arm the CQ. */
TEST_F(reg, arm_without_its_record_is_dropped)
{
	uint32_t word = 1 << 28 | 5;
	uint64_t db = htobe64((uint64_t)word << 32 | self->cq.cqn);
	long armed = hca_counter("doorbells_cq"), dropped = hca_counter("arm_record");

	ASSERT_EQ(0, hca_expect("drop arm_record 2"));
	ring(self->uar[0] + CQ_ARM_OFFSET, db);
	self->cq.mem.dbr[MLX5_CQ_ARM_DB] = htobe32(word - 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	ring(self->uar[0] + CQ_ARM_OFFSET, db);
	EXPECT_EQ(dropped + 2, hca_counter("arm_record"));
	EXPECT_EQ(armed, hca_counter("doorbells_cq"));
	self->cq.mem.dbr[MLX5_CQ_ARM_DB] = htobe32(word);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	ring(self->uar[0] + CQ_ARM_OFFSET, db);
	EXPECT_EQ(dropped + 2, hca_counter("arm_record"));
	EXPECT_EQ(armed + 1, hca_counter("doorbells_cq"));
}

TEST_F(reg, doorbell_on_another_uar_is_dropped_and_counted)
{
	long dropped = hca_counter("wrong_uar");
	unsigned int i, rung = 0;

	for (i = 0; i < 8; i++) {
		if (i == qp_uar(&self->qp))
			continue;
		ASSERT_EQ(0, hca_expect("drop wrong_uar 1"));
		ring(self->uar[i] + BF_OFFSET, nop_doorbell(self->qp.qpn));
		EXPECT_EQ(dropped + ++rung, hca_counter("wrong_uar"));
	}
}

TEST_F(reg, doorbell_of_another_context_is_dropped_and_counted)
{
	long dropped = hca_counter("wrong_uar");
	struct uv other;
	uint8_t *uar;

	ASSERT_EQ(0, uv_open(&other));
	ASSERT_EQ(0, hca_expect("drop wrong_uar 2"));
	uar = uv_map_static_uar(other.fd, 0);
	ASSERT_NE(NULL, uar);
	ring(uar + BF_OFFSET, nop_doorbell(self->qp.qpn));
	EXPECT_EQ(dropped + 1, hca_counter("wrong_uar"));
	/* Another context cannot arm the CQ either. */
	ring(uar + CQ_ARM_OFFSET, htobe64((uint64_t)self->cq.cqn));
	EXPECT_EQ(dropped + 2, hca_counter("wrong_uar"));
	uv_close(&other);
}

TEST_F(reg, doorbell_for_an_unknown_queue_is_dropped_and_counted)
{
	long no_qp = hca_counter("no_qp"), no_cq = hca_counter("no_cq");

	ASSERT_EQ(0, hca_expect("drop no_qp 1"));
	ASSERT_EQ(0, hca_expect("drop no_cq 1"));
	ring(self->uar[0] + BF_OFFSET, nop_doorbell(0xfffff0));
	EXPECT_EQ(no_qp + 1, hca_counter("no_qp"));
	ring(self->uar[0] + CQ_ARM_OFFSET, htobe64(0xfffff0ull));
	EXPECT_EQ(no_cq + 1, hca_counter("no_cq"));
}

TEST_F(reg, doorbell_for_a_destroyed_queue_is_dropped)
{
	unsigned int uar = qp_uar(&self->qp), off = qp_reg(&self->qp);
	long no_qp = hca_counter("no_qp");
	uint32_t qpn = self->qp.qpn;

	ASSERT_EQ(0, uv_destroy_qp(self->uv.fd, &self->qp));
	ASSERT_EQ(0, hca_expect("drop no_qp 1"));
	ring(self->uar[uar] + off, nop_doorbell(qpn));
	EXPECT_EQ(no_qp + 1, hca_counter("no_qp"));
}

/* Offsets in the UAR page at which there is no register. */
TEST_F(reg, write_beside_a_register_is_dropped_and_counted)
{
	static const unsigned int off[] = { 0x0, 0x100, 0x7f8 };
	long bad = hca_counter("bad_offset");
	size_t i;

	ASSERT_EQ(0, hca_expect("drop bad_offset %zu", ARRAY_SIZE(off)));
	for (i = 0; i < ARRAY_SIZE(off); i++) {
		ring(self->uar[0] + off[i], nop_doorbell(self->qp.qpn));
		EXPECT_EQ(bad + 1 + (long)i, hca_counter("bad_offset"))
			TH_LOG("offset %#x", off[i]);
	}
}

/* Ringing the doorbell of a WQE again does not execute the WQE again. */
TEST(repeated_doorbell_executes_nothing_twice)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct mlx5dv_qp dv = {};
	struct mlx5dv_obj obj = {};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc;
	struct rdma r;
	struct pair p;
	int i;

	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, pair_open(&p, &r, &cfg, 4096));
	obj.qp.in = p.qp[0];
	obj.qp.out = &dv;
	ASSERT_EQ(0, mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, post_recv(p.qp[1], p.mr, p.buf[1], 64, i));
	ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 64));
	ASSERT_EQ(0, reap_ok(p.cq[0], &wc));
	ASSERT_EQ(0, reap_ok(p.cq[1], &wc));
	/* The start of the first WQE, as it was written to the register at the first ring. */
	for (i = 0; i < 10; i++)
		ring(dv.bf.reg, *(uint64_t *)dv.sq.buf);
	EXPECT_TRUE(cq_stays_empty(p.cq[0], 50));
	EXPECT_TRUE(cq_stays_empty(p.cq[1], 1));
	/* The next WQE is executed as usual. */
	wr.sg_list = NULL;
	ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 64));
	EXPECT_EQ(0, reap_ok(p.cq[0], &wc));
	EXPECT_EQ(0, reap_ok(p.cq[1], &wc));
	pair_close(&p);
	rdma_close(&r);
}

/* --- BlueFlame -------------------------------------------------------------------------------- */

#define WQE_BB 64u
#define UNIT 16u		/* of the length in a WQE */
#define IN_MEMORY 0xaa		/* what a WQE in memory sends */
#define IN_BUFFER 0xbb		/* and its copy in the BlueFlame buffer */
#define ATTEMPTS 50

/*
 * Two connected queue pairs. On the first one the tests post nothing by libibverbs: they write
 * WQEs, doorbell records and registers themselves.
 */
FIXTURE(blueflame) {
	struct rdma r;
	struct pair p;
	struct mlx5dv_qp dv;
	uint16_t pi;		/* WQEBBs posted */
	uint32_t bf_off;	/* offset of the BlueFlame buffer to write next */
};

FIXTURE_SETUP(blueflame)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC, .inline_data = 256 };
	struct mlx5dv_obj obj = {};

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, 4096));
	obj.qp.in = self->p.qp[0];
	obj.qp.out = &self->dv;
	ASSERT_EQ(0, mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP));
	if (hca_cap("general", "bf") && !self->dv.bf.size)
		SKIP(return, NO_BLUEFLAME);
}

FIXTURE_TEARDOWN(blueflame)
{
	if (!self->p.r)
		return;
	pair_close(&self->p);
	rdma_close(&self->r);
}

/* Build a WQE of @ds units: a SEND of inline data, which is @byte throughout. */
static void build_send(uint8_t *wqe, uint32_t qpn, uint16_t idx, unsigned int ds, uint8_t byte)
{
	uint32_t *w = (uint32_t *)wqe, len = (ds - 1) * UNIT - 4;

	memset(wqe, 0, 2 * UNIT);
	w[0] = htobe32(idx << 8 | MLX5_OPCODE_SEND);
	w[1] = htobe32(qpn << 8 | ds);
	w[2] = htobe32(MLX5_WQE_CTRL_CQ_UPDATE);
	w[4] = htobe32(MLX5_INLINE_SEG | len);
	memset(w + 5, byte, len);
}

/*
 * Write @wqe to the next WQEBBs of the send queue, and the count of posted WQEBBs to the doorbell
 * record.
 */
static void put_wqe(struct _test_data_blueflame *self, const uint8_t *wqe, unsigned int ds)
{
	unsigned int bbs = (ds * UNIT + WQE_BB - 1) / WQE_BB, i;

	for (i = 0; i < bbs; i++)
		memcpy(self->dv.sq.buf + (self->pi + i) % self->dv.sq.wqe_cnt * WQE_BB,
		       wqe + i * WQE_BB, WQE_BB);
	self->pi += bbs;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	self->dv.dbrec[MLX5_SND_DBR] = htobe32(self->pi);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Write @len bytes to the BlueFlame buffer whose turn it is. */
static void write_buffer(struct _test_data_blueflame *self, const uint8_t *wqe, size_t len)
{
	volatile uint64_t *to = self->dv.bf.reg + self->bf_off;
	size_t i;

	for (i = 0; i < len / 8; i++)
		to[i] = ((const uint64_t *)wqe)[i];
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	self->bf_off ^= self->dv.bf.size;
}

/*
 * Post a WQE of @ds units of which the first @written bytes are written to the register. Returns
 * the byte that the peer received, or -1.
 */
static int post_through_buffer(struct _test_data_blueflame *self, unsigned int ds, size_t written)
{
	uint32_t len = (ds - 1) * UNIT - 4;
	uint64_t wqe[64] = {};
	struct ibv_wc wc;

	self->p.buf[1][len - 1] = 0;
	if (post_recv(self->p.qp[1], self->p.mr, self->p.buf[1], 1024, 0))
		return -1;
	build_send((uint8_t *)wqe, self->p.qp[0]->qp_num, self->pi, ds, IN_MEMORY);
	put_wqe(self, (uint8_t *)wqe, ds);
	build_send((uint8_t *)wqe, self->p.qp[0]->qp_num, self->pi - (ds + 3) / 4, ds, IN_BUFFER);
	write_buffer(self, (uint8_t *)wqe, written);
	if (reap_ok(self->p.cq[0], &wc) || reap_ok(self->p.cq[1], &wc) || wc.byte_len != len)
		return -1;
	return self->p.buf[1][len - 1];
}

/*
 * A WQE that comes whole through a BlueFlame buffer is executed from there. If the stores are
 * interrupted, the HCA takes the incomplete write for a plain doorbell, so several attempts are
 * made.
 */
TEST_F(blueflame, wqe_is_executed_from_the_buffer)
{
	static const unsigned int units[] = { 2, 3, 4, 5, 8, 11, 12, 16 };
	long from_buffer, same = hca_counter("blueflame_same_buffer");
	int i, n, got;

	if (!self->dv.bf.size)
		SKIP(return, NO_BLUEFLAME);
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		got = 0;
		for (n = 0; n < ATTEMPTS && got != IN_BUFFER; n++) {
			from_buffer = hca_counter("wqes_blueflame");
			got = post_through_buffer(self, units[i], (units[i] + 3) / 4 * WQE_BB);
			ASSERT_TRUE(got == IN_MEMORY || got == IN_BUFFER)
				TH_LOG("%u units: received %#x", units[i], got);
			EXPECT_EQ(from_buffer + (got == IN_BUFFER), hca_counter("wqes_blueflame"));
		}
		EXPECT_EQ(IN_BUFFER, got) TH_LOG("%u units", units[i]);
	}
	EXPECT_EQ(same, hca_counter("blueflame_same_buffer"));
}

/* A WQE of 8 WQEBBs is longer than a buffer, and only its start is written to the register. */
TEST_F(blueflame, wqe_longer_than_the_buffer_is_read_from_memory)
{
	long from_buffer = hca_counter("wqes_blueflame");

	EXPECT_EQ(IN_MEMORY, post_through_buffer(self, 32, 8));
	EXPECT_EQ(from_buffer, hca_counter("wqes_blueflame"));
}

TEST_F(blueflame, incomplete_burst_is_a_doorbell)
{
	long from_buffer = hca_counter("wqes_blueflame");

	if (!self->dv.bf.size)
		SKIP(return, NO_BLUEFLAME);
	EXPECT_EQ(IN_MEMORY, post_through_buffer(self, 8, 64));
	EXPECT_EQ(from_buffer, hca_counter("wqes_blueflame"));
}

/* libmlx5 writes to the two buffers in turn. The HCA counts writes to the same buffer again. */
TEST_F(blueflame, same_buffer_twice_is_counted)
{
	long same = hca_counter("blueflame_same_buffer");
	int n;

	if (!self->dv.bf.size)
		SKIP(return, NO_BLUEFLAME);
	for (n = 0; n < ATTEMPTS && same == hca_counter("blueflame_same_buffer"); n++) {
		self->bf_off = 0;
		ASSERT_LE(0, post_through_buffer(self, 4, 64));
	}
	EXPECT_LT(same, hca_counter("blueflame_same_buffer"));
}

TEST_F(blueflame, library_posts_through_the_buffers_in_turn)
{
	long from_buffer = hca_counter("wqes_blueflame");
	long same = hca_counter("blueflame_same_buffer");
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc;
	int n;

	if (!self->dv.bf.size)
		SKIP(return, NO_BLUEFLAME);
	for (n = 0; n < ATTEMPTS; n++) {
		ASSERT_EQ(0, post_recv(self->p.qp[1], self->p.mr, self->p.buf[1], 64, n));
		wr.sg_list = NULL;
		ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], 64));
		ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
		ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc));
	}
	EXPECT_LT(from_buffer, hca_counter("wqes_blueflame"));
	EXPECT_EQ(same, hca_counter("blueflame_same_buffer"));
}

TEST_F(blueflame, device_without_blueflame_takes_doorbells_only)
{
	if (hca_cap("general", "bf"))
		SKIP(return, "the device has BlueFlame");
	EXPECT_EQ(0, self->dv.bf.size);
	EXPECT_EQ(IN_MEMORY, post_through_buffer(self, 2, 8));
	ASSERT_EQ(0, hca_expect("drop no_blueflame"));
	EXPECT_EQ(IN_MEMORY, post_through_buffer(self, 2, 32));
	ring(self->dv.bf.reg + 8, 0);
}

TEST_HARNESS_MAIN
