// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The null region: writes to it are dropped, reads from it return zeros, and peers cannot use its
 * key.
 */
#include "test.h"

#define LEN 3000

FIXTURE(null_mr) {
	struct rdma r;
	struct pair p;
	struct ibv_mr *null;
};

FIXTURE_SETUP(null_mr)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC, .send_sge = 3, .recv_sge = 3 };

	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, 8192));
	self->null = ibv_alloc_null_mr(self->r.pd);
	if (!self->null && errno == ENOTSUP && hca_cap("general", "dump_fill_mkey") <= 0)
		SKIP(return, "the device has no null key");
	ASSERT_NE(NULL, self->null) TH_LOG("errno %d", errno);
}

FIXTURE_TEARDOWN(null_mr)
{
	if (self->null)
		EXPECT_EQ(0, ibv_dereg_mr(self->null));
	pair_close(&self->p);
	rdma_close(&self->r);
}

/* Post a request of up to three pieces on the first queue pair; returns the completion's status. */
static int post_pieces(struct pair *p, enum ibv_wr_opcode opcode, struct ibv_sge *sge, int n,
		       uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.opcode = opcode, .sg_list = sge, .num_sge = n,
		.wr.rdma = { .remote_addr = (uintptr_t)p->buf[1], .rkey = rkey },
	};

	return post_and_reap(p, &wr, 0);
}

TEST_F(null_mr, reads_return_zeros)
{
	struct ibv_sge sge = { .addr = 12345, .length = LEN, .lkey = self->null->lkey };
	size_t i;

	memset(self->p.buf[1], 0xff, LEN + 1);
	EXPECT_EQ(0, post_pieces(&self->p, IBV_WR_RDMA_WRITE, &sge, 1, self->p.mr->rkey));
	for (i = 0; i < LEN; i++)
		ASSERT_EQ(0, self->p.buf[1][i]) TH_LOG("byte %zu", i);
	EXPECT_EQ(0xff, self->p.buf[1][LEN]);
}

/* The null region as the middle one of three pieces: the outer pieces are transferred as usual. */
TEST_F(null_mr, works_as_one_of_several_pieces)
{
	struct ibv_sge sge[] = {
		{ .addr = (uintptr_t)self->p.buf[0], .length = 100, .lkey = self->p.mr->lkey },
		{ .addr = 0, .length = 1000, .lkey = self->null->lkey },
		{ .addr = (uintptr_t)self->p.buf[0] + 1100, .length = 200,
		  .lkey = self->p.mr->lkey },
	};
	uint8_t before[1300];

	/* READ: the bytes for the middle piece are dropped. */
	fill(self->p.buf[1], 1300, 4);
	memset(self->p.buf[0], 0x5a, 1400);
	memset(before, 0x5a, sizeof(before));
	EXPECT_EQ(0, post_pieces(&self->p, IBV_WR_RDMA_READ, sge, 3, self->p.mr->rkey));
	EXPECT_EQ(0, memcmp(self->p.buf[0], self->p.buf[1], 100));
	EXPECT_EQ(0, memcmp(self->p.buf[0] + 100, before, 1000));
	EXPECT_EQ(0, memcmp(self->p.buf[0] + 1100, self->p.buf[1] + 1100, 200));
	/* WRITE: the middle piece is sent as zeros. */
	memset(self->p.buf[0], 0x5a, 1400);
	EXPECT_EQ(0, post_pieces(&self->p, IBV_WR_RDMA_WRITE, sge, 3, self->p.mr->rkey));
	memset(before, 0, 1000);
	EXPECT_EQ(0, memcmp(self->p.buf[1], self->p.buf[0], 100));
	EXPECT_EQ(0, memcmp(self->p.buf[1] + 100, before, 1000));
	EXPECT_EQ(0, memcmp(self->p.buf[1] + 1100, self->p.buf[0] + 1100, 200));
}

TEST_F(null_mr, received_data_is_dropped)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc;

	ASSERT_EQ(0, post_recv(self->p.qp[1], self->null, (void *)~0xfffful, LEN, 7));
	fill(self->p.buf[0], LEN, 1);
	ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], LEN));
	EXPECT_EQ(0, reap(self->p.cq[0], &wc));
	EXPECT_EQ(0, reap(self->p.cq[1], &wc));
	EXPECT_EQ(7, wc.wr_id);
	EXPECT_EQ(LEN, wc.byte_len);
}

TEST_F(null_mr, lkey_is_refused_as_rkey)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)self->p.buf[0], .length = 8, .lkey = self->p.mr->lkey,
	};

	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  post_pieces(&self->p, IBV_WR_RDMA_READ, &sge, 1, self->null->lkey));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  post_pieces(&self->p, IBV_WR_RDMA_WRITE, &sge, 1, self->null->lkey));
}

TEST_HARNESS_MAIN
