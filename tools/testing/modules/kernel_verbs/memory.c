// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of kernel verbs: remote memory, atomic operations, and the regions that requests open and
 * invalidate.
 */

#include <linux/scatterlist.h>

#include "rig.h"

/* ---- regions ----------------------------------------------------------------- */

/* Make the region, if there is none, and put a part of the second buffer into its list. */
static int map_region(struct rig *rig, unsigned int off, unsigned int len)
{
	struct scatterlist sg;

	if (!rig->mr)
		rig->mr = ib_alloc_mr(rig->pd, IB_MR_TYPE_MEM_REG, BUF_PAGES);
	TRY(PTR_ERR_OR_ZERO(rig->mr));
	sg_init_table(&sg, 1);
	sg_set_page(&sg, virt_to_page(rig->buf[1]), len, offset_in_page(rig->buf[1]) + off);
	sg_dma_address(&sg) = rig->dma[1] + off;
	sg_dma_len(&sg) = len;
	EXPECT_EQ(1, ib_map_mr_sg(rig->mr, &sg, 1, NULL, PAGE_SIZE));
	ib_update_fast_reg_key(rig->mr, ib_inc_rkey(rig->mr->rkey));
	return 0;
}

/* The queue pair that owns the memory opens the region, and tells when that is done. */
static int open_region(struct rig *rig, int access, u64 wr_id)
{
	struct ib_reg_wr wr = {
		.wr = { .wr_id = wr_id, .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED },
		.mr = rig->mr,
		.key = rig->mr->rkey,
		.access = access,
	};
	struct ib_wc wc;

	TRY(ib_post_send(rig->qp[1], &wr.wr, NULL));
	REAP(rig, 1, wr_id, &wc);
	EXPECT_EQ(IB_WC_REG_MR, wc.opcode);
	return 0;
}

static int make_region(struct rig *rig, unsigned int off, unsigned int len)
{
	TRY(map_region(rig, off, len));
	return open_region(rig, ALL_ACCESS, 999);
}

/* ---- tests: remote memory ------------------------------------------------------ */

static int test_write_and_read(struct rig *rig)
{
	unsigned int off = 100, len = 3 * PAGE_SIZE;
	struct ib_wc wc;

	TRY(make_region(rig, off, len));
	fill_pattern(rig->buf[0], len, 6);
	memset(rig->buf[1], 0, BUF_SIZE);
	TRY(rig_post_rdma(rig, IB_WR_RDMA_WRITE, len, rig->mr->iova, rig->mr->rkey, 30));
	REAP(rig, 0, 30, &wc);
	EXPECT_EQ(IB_WC_RDMA_WRITE, wc.opcode);
	EXPECT(has_pattern(rig->buf[1] + off, len, 6));
	EXPECT_EQ(0, rig->buf[1][off - 1]);
	EXPECT_EQ(0, rig->buf[1][off + len]);
	memset(rig->buf[0], 0, BUF_SIZE);
	TRY(rig_post_rdma(rig, IB_WR_RDMA_READ, len, rig->mr->iova, rig->mr->rkey, 31));
	REAP(rig, 0, 31, &wc);
	EXPECT_EQ(IB_WC_RDMA_READ, wc.opcode);
	EXPECT_EQ(len, wc.byte_len);
	EXPECT(has_pattern(rig->buf[0], len, 6));
	TRY(rig_post_recv(rig, 1, 0, 0, 12));
	TRY(rig_post_rdma(rig, IB_WR_RDMA_WRITE_WITH_IMM, 64, rig->mr->iova, rig->mr->rkey, 32));
	REAP(rig, 0, 32, &wc);
	EXPECT_EQ(IB_WC_RDMA_WRITE, wc.opcode);
	REAP(rig, 1, 12, &wc);
	EXPECT_EQ(IB_WC_RECV_RDMA_WITH_IMM, wc.opcode);
	EXPECT_EQ(64, wc.byte_len);
	EXPECT_EQ(0x01020304, be32_to_cpu(wc.ex.imm_data));
	return 0;
}

static int post_atomic(struct rig *rig, struct ib_atomic_wr wr, u64 wr_id)
{
	struct ib_sge sge = rig_sge(rig, 0, 0, 8);

	wr.wr.wr_id = wr_id;
	wr.wr.send_flags = IB_SEND_SIGNALED;
	wr.wr.sg_list = &sge;
	wr.wr.num_sge = 1;
	wr.remote_addr = rig->mr->iova;
	wr.rkey = rig->mr->rkey;
	return ib_post_send(rig->qp[0], &wr.wr, NULL);
}

static int test_atomics(struct rig *rig)
{
	u64 *here = (u64 *)rig->buf[0], *there = (u64 *)rig->buf[1];
	struct ib_wc wc;

	TRY(make_region(rig, 0, PAGE_SIZE));
	*there = 40;
	TRY(post_atomic(rig, (struct ib_atomic_wr){
		.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD, .compare_add = 2,
	}, 1));
	REAP(rig, 0, 1, &wc);
	EXPECT_EQ(IB_WC_FETCH_ADD, wc.opcode);
	EXPECT_EQ(8, wc.byte_len);
	EXPECT_EQ(40, *here);
	EXPECT_EQ(42, *there);
	TRY(post_atomic(rig, (struct ib_atomic_wr){
		.wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP, .compare_add = 42, .swap = 77,
	}, 2));
	REAP(rig, 0, 2, &wc);
	EXPECT_EQ(IB_WC_COMP_SWAP, wc.opcode);
	EXPECT_EQ(42, *here);
	EXPECT_EQ(77, *there);
	TRY(post_atomic(rig, (struct ib_atomic_wr){
		.wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP, .compare_add = 42, .swap = 88,
	}, 3));
	REAP(rig, 0, 3, &wc);
	EXPECT_EQ(77, *here);
	EXPECT_EQ(77, *there);
	return 0;
}

/* Requests that do not wait open a region, use it, invalidate it and open it over other memory. */
static int test_region_without_waiting(struct rig *rig)
{
	struct ib_send_wr inv = { .opcode = IB_WR_LOCAL_INV };
	struct ib_sge sge = rig_sge(rig, 1, 0, 64);
	struct ib_reg_wr reg = { .wr = { .opcode = IB_WR_REG_MR } };
	struct ib_send_wr send = {
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
	};
	struct ib_wc wc;
	u32 old;
	int i;

	TRY(make_region(rig, 0, PAGE_SIZE));
	for (i = 0; i < 100; i++) {
		old = rig->mr->rkey;
		TRY(map_region(rig, (i % 4) * PAGE_SIZE + 8 * i, PAGE_SIZE));
		inv.ex.invalidate_rkey = old;
		inv.next = &reg.wr;
		reg.mr = rig->mr;
		reg.key = rig->mr->rkey;
		reg.access = ALL_ACCESS;
		reg.wr.next = &send;
		/* The data is sent from the region. */
		sge = (struct ib_sge){ .addr = rig->mr->iova, .length = 64, .lkey = reg.key };
		send.wr_id = i;
		fill_pattern(rig->buf[1] + (i % 4) * PAGE_SIZE + 8 * i, 64, i);
		TRY(rig_post_recv(rig, 0, 0, 4096, 1000 + i));
		TRY(ib_post_send(rig->qp[1], &inv, NULL));
		REAP(rig, 1, i, &wc);
		REAP(rig, 0, 1000 + i, &wc);
		EXPECT(has_pattern(rig->buf[0], 64, i));
	}
	EXPECT(rig_idle(rig));
	return 0;
}

static int expect_no_access(struct rig *rig, u32 rkey)
{
	struct ib_wc wc;

	TRY(rig_post_rdma(rig, IB_WR_RDMA_WRITE, 64, rig->mr->iova, rkey, 50));
	TRY(rig_reap(rig, 0, &wc));
	EXPECT_EQ(50, wc.wr_id);
	EXPECT_EQ(IB_WC_REM_ACCESS_ERR, wc.status);
	return 0;
}

static int test_local_invalidate(struct rig *rig)
{
	struct ib_send_wr wr = {
		.wr_id = 40, .opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_SIGNALED,
	};
	struct ib_wc wc;

	TRY(make_region(rig, 0, PAGE_SIZE));
	wr.ex.invalidate_rkey = rig->mr->rkey;
	TRY(ib_post_send(rig->qp[1], &wr, NULL));
	REAP(rig, 1, 40, &wc);
	EXPECT_EQ(IB_WC_LOCAL_INV, wc.opcode);
	return expect_no_access(rig, rig->mr->rkey);
}

static int test_remote_invalidate(struct rig *rig)
{
	struct ib_sge sge = rig_sge(rig, 0, 0, 16);
	struct ib_send_wr wr = {
		.wr_id = 41, .opcode = IB_WR_SEND_WITH_INV, .send_flags = IB_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
	};
	struct ib_wc wc;

	TRY(make_region(rig, 0, PAGE_SIZE));
	TRY(rig_post_recv(rig, 1, PAGE_SIZE, 4096, 42));
	wr.ex.invalidate_rkey = rig->mr->rkey;
	TRY(ib_post_send(rig->qp[0], &wr, NULL));
	REAP(rig, 0, 41, &wc);
	REAP(rig, 1, 42, &wc);
	EXPECT(wc.wc_flags & IB_WC_WITH_INVALIDATE);
	EXPECT_EQ(rig->mr->rkey, wc.ex.invalidate_rkey);
	return expect_no_access(rig, rig->mr->rkey);
}

static int test_rights(struct rig *rig)
{
	TRY(map_region(rig, 0, PAGE_SIZE));
	TRY(open_region(rig, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ, 1));
	return expect_no_access(rig, rig->mr->rkey);
}

const struct rig_test memory_tests[] = {
	{ "rc_write_and_read", test_write_and_read, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_atomics", test_atomics, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_region_without_waiting", test_region_without_waiting, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_local_invalidate", test_local_invalidate, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_remote_invalidate", test_remote_invalidate, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_rights", test_rights, IB_QPT_RC, IB_POLL_DIRECT },
	{}
};
