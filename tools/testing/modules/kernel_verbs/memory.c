// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of kernel verbs: remote memory, atomic operations, and the regions that requests open and
 * invalidate.
 */

#include <linux/scatterlist.h>

#include "rig.h"

/* ---- regions ----------------------------------------------------------------- */

/*
 * Allocate the region, if there is none, and map a part of the second buffer into its list, in
 * pages of @page_size. The buffer is contiguous, so each page of the list leads to the page that
 * follows the one before.
 */
static int map_pages(struct rig *rig, unsigned int off, unsigned int len, unsigned int page_size)
{
	struct scatterlist sg;

	if (!rig->mr)
		rig->mr = ib_alloc_mr(rig->pd, IB_MR_TYPE_MEM_REG, BUF_PAGES);
	TRY(PTR_ERR_OR_ZERO(rig->mr));
	sg_init_table(&sg, 1);
	sg_set_page(&sg, virt_to_page(rig->buf[1]), len, offset_in_page(rig->buf[1]) + off);
	sg_dma_address(&sg) = rig->dma[1] + off;
	sg_dma_len(&sg) = len;
	EXPECT_EQ(1, ib_map_mr_sg(rig->mr, &sg, 1, NULL, page_size));
	ib_update_fast_reg_key(rig->mr, ib_inc_rkey(rig->mr->rkey));
	return 0;
}

static int map_region(struct rig *rig, unsigned int off, unsigned int len)
{
	return map_pages(rig, off, len, PAGE_SIZE);
}

/* Have the second queue pair, which owns the memory, open the region, and wait until it has. */
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

int rig_open_region(struct rig *rig, unsigned int off, unsigned int len)
{
	TRY(map_region(rig, off, len));
	return open_region(rig, ALL_ACCESS, 999);
}

/* ---- tests: remote memory ------------------------------------------------------ */

static int test_write_and_read(struct rig *rig)
{
	unsigned int off = 100, len = 3 * PAGE_SIZE;
	struct ib_wc wc;

	TRY(rig_open_region(rig, off, len));
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

	if (rig->dev->attrs.atomic_cap == IB_ATOMIC_NONE)
		LACKS("the device has no atomic operations");
	TRY(rig_open_region(rig, 0, PAGE_SIZE));
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

static int test_masked_atomics(struct rig *rig)
{
	u64 *here = (u64 *)rig->buf[0], *there = (u64 *)rig->buf[1];
	struct ib_wc wc;

	if (rig->dev->attrs.masked_atomic_cap == IB_ATOMIC_NONE)
		LACKS("the device has no masked atomic operations");
	TRY(rig_open_region(rig, 0, PAGE_SIZE));
	/* The lowest 16 bits are compared, and the highest 8 bits are swapped. */
	*there = 0x1122334455667788;
	TRY(post_atomic(rig, (struct ib_atomic_wr){
		.wr.opcode = IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
		.compare_add = 0x7788, .compare_add_mask = 0xffff,
		.swap = 0xabababababababab, .swap_mask = 0xffull << 56,
	}, 1));
	REAP(rig, 0, 1, &wc);
	EXPECT_EQ(IB_WC_MASKED_COMP_SWAP, wc.opcode);
	EXPECT_EQ(0x1122334455667788, *here);
	EXPECT_EQ(0xab22334455667788, *there);
	TRY(post_atomic(rig, (struct ib_atomic_wr){
		.wr.opcode = IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
		.compare_add = 0x7789, .compare_add_mask = 0xffff,
		.swap = 0, .swap_mask = ~0ull,
	}, 2));
	REAP(rig, 0, 2, &wc);
	EXPECT_EQ(0xab22334455667788, *here);
	EXPECT_EQ(0xab22334455667788, *there);
	/* The addition carries nothing from bit 15 to bit 16. */
	*there = 0x112233445566ffff;
	TRY(post_atomic(rig, (struct ib_atomic_wr){
		.wr.opcode = IB_WR_MASKED_ATOMIC_FETCH_AND_ADD,
		.compare_add = 3, .compare_add_mask = BIT(15),
	}, 3));
	REAP(rig, 0, 3, &wc);
	EXPECT_EQ(IB_WC_MASKED_FETCH_ADD, wc.opcode);
	EXPECT_EQ(0x112233445566ffff, *here);
	EXPECT_EQ(0x1122334455660002, *there);
	return 0;
}

/* A chain of requests invalidates a region, opens it over other memory, and sends from it. */
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

	TRY(rig_open_region(rig, 0, PAGE_SIZE));
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

static int invalidate_region(struct rig *rig)
{
	struct ib_send_wr wr = {
		.wr_id = 40, .opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = rig->mr->rkey,
	};
	struct ib_wc wc;

	TRY(ib_post_send(rig->qp[1], &wr, NULL));
	REAP(rig, 1, 40, &wc);
	EXPECT_EQ(IB_WC_LOCAL_INV, wc.opcode);
	return 0;
}

static int test_local_invalidate(struct rig *rig)
{
	TRY(rig_open_region(rig, 0, PAGE_SIZE));
	TRY(invalidate_region(rig));
	return expect_no_access(rig, rig->mr->rkey);
}

/*
 * One region after the other has pages of another size. The part of the buffer begins and ends
 * inside of pages, and there are several of the smaller ones.
 */
static int test_page_sizes(struct rig *rig)
{
	static const unsigned int sizes[] = { 2 * PAGE_SIZE, PAGE_SIZE, 4 * PAGE_SIZE };
	const unsigned int off = PAGE_SIZE + 100, len = 5 * PAGE_SIZE + 200;
	struct ib_wc wc;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		TRY(map_pages(rig, off, len, sizes[i]));
		TRY(open_region(rig, ALL_ACCESS, 999));
		fill_pattern(rig->buf[0], len, 20 + i);
		memset(rig->buf[1], 0, BUF_SIZE);
		TRY(rig_post_rdma(rig, IB_WR_RDMA_WRITE, len, rig->mr->iova, rig->mr->rkey, 70));
		REAP(rig, 0, 70, &wc);
		EXPECT(has_pattern(rig->buf[1] + off, len, 20 + i));
		EXPECT_EQ(0, rig->buf[1][off - 1]);
		EXPECT_EQ(0, rig->buf[1][off + len]);
		memset(rig->buf[0], 0, BUF_SIZE);
		TRY(rig_post_rdma(rig, IB_WR_RDMA_READ, len, rig->mr->iova, rig->mr->rkey, 71));
		REAP(rig, 0, 71, &wc);
		EXPECT(has_pattern(rig->buf[0], len, 20 + i));
		TRY(invalidate_region(rig));
	}
	return 0;
}

static int test_remote_invalidate(struct rig *rig)
{
	struct ib_sge sge = rig_sge(rig, 0, 0, 16);
	struct ib_send_wr wr = {
		.wr_id = 41, .opcode = IB_WR_SEND_WITH_INV, .send_flags = IB_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
	};
	struct ib_wc wc;

	TRY(rig_open_region(rig, 0, PAGE_SIZE));
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

/* ---- regions over memory with gaps ------------------------------------------------ */

#define MOST_PIECES	8
#define GAP		0xee	/* value of the bytes between the pieces */

/*
 * Parts of the second buffer: in a page, across pages, a whole page, and two without a gap between
 * them.
 */
static const struct piece {
	unsigned int off, len;
} pieces[] = {
	{ 100, 1000 },
	{ PAGE_SIZE + 7, 777 },
	{ 2 * PAGE_SIZE + 2048, 2048 },
	{ 4 * PAGE_SIZE, PAGE_SIZE },
	{ 6 * PAGE_SIZE - 5, 10 },
	{ 7 * PAGE_SIZE + 1, 1 },
	{ 7 * PAGE_SIZE + 2, 700 },
};

static unsigned int pieces_bytes(unsigned int first, unsigned int n)
{
	unsigned int i, len = 0;

	for (i = first; i < first + n; i++)
		len += pieces[i].len;
	return len;
}

/* Concatenate the pieces into the contiguous buffer @row. */
static void gather_pieces(struct rig *rig, unsigned int first, unsigned int n, u8 *row)
{
	unsigned int i;

	for (i = first; i < first + n; row += pieces[i++].len)
		memcpy(row, rig->buf[1] + pieces[i].off, pieces[i].len);
}

static void scatter_pieces(struct rig *rig, unsigned int first, unsigned int n, const u8 *row)
{
	unsigned int i;

	for (i = first; i < first + n; row += pieces[i++].len)
		memcpy(rig->buf[1] + pieces[i].off, row, pieces[i].len);
}

/* Whether nothing but the pieces has been written to since the buffer was filled with GAP. */
static bool gaps_untouched(struct rig *rig, unsigned int first, unsigned int n)
{
	unsigned int i;

	for (i = first; i < first + n; i++)
		memset(rig->buf[1] + pieces[i].off, GAP, pieces[i].len);
	return !memchr_inv(rig->buf[1], GAP, BUF_SIZE);
}

/* Put pieces into the region's list. Returns how many there was room for, or a negative errno. */
static int map_pieces(struct rig *rig, unsigned int first, unsigned int n, unsigned int *offset)
{
	struct scatterlist sg[ARRAY_SIZE(pieces)];
	unsigned int i;
	u8 *start;
	int ret;

	sg_init_table(sg, n);
	for (i = 0; i < n; i++) {
		start = rig->buf[1] + pieces[first + i].off;
		sg_set_page(&sg[i], virt_to_page(start), pieces[first + i].len,
			    offset_in_page(start));
		sg_dma_address(&sg[i]) = rig->dma[1] + pieces[first + i].off;
		sg_dma_len(&sg[i]) = pieces[first + i].len;
	}
	ret = ib_map_mr_sg(rig->mr, sg, n, offset, PAGE_SIZE);
	ib_update_fast_reg_key(rig->mr, ib_inc_rkey(rig->mr->rkey));
	return ret;
}

static int make_gaps_region(struct rig *rig, unsigned int most)
{
	if (!(rig->dev->attrs.kernel_cap_flags & IBK_SG_GAPS_REG))
		LACKS("the device has no regions over memory with gaps");
	rig->mr = ib_alloc_mr(rig->pd, IB_MR_TYPE_SG_GAPS, most);
	return PTR_ERR_OR_ZERO(rig->mr);
}

static int open_pieces(struct rig *rig, unsigned int first, unsigned int n)
{
	EXPECT_EQ(n, map_pieces(rig, first, n, NULL));
	EXPECT_EQ(pieces_bytes(first, n), rig->mr->length);
	return open_region(rig, ALL_ACCESS, 900);
}

/* As the peer, write @len bytes to the open region, from offset @from on, and read them back. */
static int access_pieces(struct rig *rig, unsigned int first, unsigned int n, unsigned int from,
			 unsigned int len, unsigned int seed)
{
	u64 at = rig->mr->iova + from;
	struct ib_wc wc;

	fill_pattern(rig->buf[0], len, seed);
	memset(rig->buf[1], GAP, BUF_SIZE);
	TRY(rig_post_rdma(rig, IB_WR_RDMA_WRITE, len, at, rig->mr->rkey, 1));
	REAP(rig, 0, 1, &wc);
	memset(rig->buf[0], 0, BUF_SIZE);
	TRY(rig_post_rdma(rig, IB_WR_RDMA_READ, len, at, rig->mr->rkey, 2));
	REAP(rig, 0, 2, &wc);
	EXPECT(has_pattern(rig->buf[0], len, seed));
	gather_pieces(rig, first, n, rig->buf[0]);
	EXPECT(!memchr_inv(rig->buf[0], GAP, from));
	EXPECT(has_pattern(rig->buf[0] + from, len, seed));
	EXPECT(!memchr_inv(rig->buf[0] + from + len, GAP, pieces_bytes(first, n) - from - len));
	EXPECT(gaps_untouched(rig, first, n));
	return 0;
}

/* Without IBK_SG_GAPS_REG the driver must not create a region that no work request can open. */
static int test_gaps_refused(struct rig *rig)
{
	if (rig->dev->attrs.kernel_cap_flags & IBK_SG_GAPS_REG)
		LACKS("the device has regions over memory with gaps");
	rig->mr = ib_alloc_mr(rig->pd, IB_MR_TYPE_SG_GAPS, MOST_PIECES);
	EXPECT_EQ(-EOPNOTSUPP, PTR_ERR_OR_ZERO(rig->mr));
	rig->mr = NULL;
	return 0;
}

static int test_gaps(struct rig *rig)
{
	unsigned int n = ARRAY_SIZE(pieces), len = pieces_bytes(0, n);

	TRY(make_gaps_region(rig, MOST_PIECES));
	TRY(open_pieces(rig, 0, n));
	TRY(access_pieces(rig, 0, n, 0, len, 1));
	/* Across one gap; across all gaps, without the first and the last byte; across no gap. */
	TRY(access_pieces(rig, 0, n, 990, 20, 2));
	TRY(access_pieces(rig, 0, n, 1, len - 2, 3));
	TRY(access_pieces(rig, 0, n, 1500, 77, 4));
	TRY(access_pieces(rig, 0, n, len - 1, 1, 5));
	return 0;
}

/* The queue pair that owns the region sends from it, receives into it, and reads into it. */
static int test_gaps_local(struct rig *rig)
{
	unsigned int n = ARRAY_SIZE(pieces), from = 500, len = 5000, all = pieces_bytes(0, n);
	struct ib_sge sge;
	struct ib_recv_wr rwr = { .wr_id = 3, .sg_list = &sge, .num_sge = 1 };
	struct ib_send_wr swr = {
		.wr_id = 1, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
	};
	struct ib_wc wc;

	TRY(make_gaps_region(rig, MOST_PIECES));
	TRY(open_pieces(rig, 0, n));
	sge = (struct ib_sge){
		.addr = rig->mr->iova + from, .length = len, .lkey = rig->mr->lkey,
	};
	memset(rig->buf[1], GAP, BUF_SIZE);
	fill_pattern(rig->buf[0], all, 1);
	scatter_pieces(rig, 0, n, rig->buf[0]);
	memcpy(rig->buf[0] + BUF_SIZE / 2, rig->buf[0] + from, len);
	memset(rig->buf[0], 0, BUF_SIZE / 2);
	TRY(rig_post_recv(rig, 0, 0, BUF_SIZE / 2, 2));
	TRY(ib_post_send(rig->qp[1], &swr, NULL));
	REAP(rig, 1, 1, &wc);
	REAP(rig, 0, 2, &wc);
	EXPECT_EQ(len, wc.byte_len);
	EXPECT(!memcmp(rig->buf[0], rig->buf[0] + BUF_SIZE / 2, len));

	memset(rig->buf[1], GAP, BUF_SIZE);
	fill_pattern(rig->buf[0], len, 4);
	TRY(ib_post_recv(rig->qp[1], &rwr, NULL));
	TRY(rig_post_send(rig, IB_WR_SEND, len, 5));
	REAP(rig, 0, 5, &wc);
	REAP(rig, 1, 3, &wc);
	gather_pieces(rig, 0, n, rig->buf[0]);
	EXPECT(!memchr_inv(rig->buf[0], GAP, from));
	EXPECT(has_pattern(rig->buf[0] + from, len, 4));
	EXPECT(!memchr_inv(rig->buf[0] + from + len, GAP, all - from - len));
	EXPECT(gaps_untouched(rig, 0, n));
	return 0;
}

/* ib_map_mr_sg() maps as many entries as the region has room for, and starts at *sg_offset. */
static int test_gaps_limits(struct rig *rig)
{
	unsigned int most = 4, offset = 300;
	struct ib_wc wc;

	TRY(make_gaps_region(rig, most));
	EXPECT_EQ(most, map_pieces(rig, 0, ARRAY_SIZE(pieces), NULL));
	EXPECT_EQ(pieces_bytes(0, most), rig->mr->length);
	TRY(open_region(rig, ALL_ACCESS, 1));
	TRY(access_pieces(rig, 0, most, 0, rig->mr->length, 1));
	TRY(invalidate_region(rig));
	EXPECT_EQ(2, map_pieces(rig, 0, 2, &offset));
	EXPECT_EQ(0, offset);
	EXPECT_EQ(pieces_bytes(0, 2) - 300, rig->mr->length);
	TRY(open_region(rig, ALL_ACCESS, 2));
	memset(rig->buf[1], GAP, BUF_SIZE);
	fill_pattern(rig->buf[0], rig->mr->length, 2);
	TRY(rig_post_rdma(rig, IB_WR_RDMA_WRITE, rig->mr->length, rig->mr->iova, rig->mr->rkey, 3));
	REAP(rig, 0, 3, &wc);
	gather_pieces(rig, 0, 2, rig->buf[0]);
	EXPECT(!memchr_inv(rig->buf[0], GAP, 300));
	EXPECT(has_pattern(rig->buf[0] + 300, rig->mr->length, 2));
	EXPECT(gaps_untouched(rig, 0, 2));
	/* What follows the list is not a part of the region. */
	rig->mr->iova += rig->mr->length;
	return expect_no_access(rig, rig->mr->rkey);
}

/* The same region is opened over different lists, one after another. */
static int test_gaps_again(struct rig *rig)
{
	unsigned int i, first, n, len;
	u32 old = 0;

	TRY(make_gaps_region(rig, MOST_PIECES));
	for (i = 0; i < 60; i++) {
		first = i % ARRAY_SIZE(pieces);
		n = 1 + i % (ARRAY_SIZE(pieces) - first);
		len = pieces_bytes(first, n);
		if (i)
			TRY(invalidate_region(rig));
		old = rig->mr->rkey;
		TRY(open_pieces(rig, first, n));
		TRY(access_pieces(rig, first, n, len / 3, len - len / 3, i));
	}
	return expect_no_access(rig, old);
}

static int test_gaps_invalidated(struct rig *rig)
{
	TRY(make_gaps_region(rig, MOST_PIECES));
	TRY(open_pieces(rig, 0, 2));
	TRY(invalidate_region(rig));
	return expect_no_access(rig, rig->mr->rkey);
}

static int test_gaps_rights(struct rig *rig)
{
	TRY(make_gaps_region(rig, MOST_PIECES));
	EXPECT_EQ(2, map_pieces(rig, 0, 2, NULL));
	TRY(open_region(rig, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ, 1));
	return expect_no_access(rig, rig->mr->rkey);
}

const struct rig_test memory_tests[] = {
	{ "rc_write_and_read", test_write_and_read, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_atomics", test_atomics, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_masked_atomics", test_masked_atomics, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_region_without_waiting", test_region_without_waiting, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_page_sizes", test_page_sizes, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_local_invalidate", test_local_invalidate, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_remote_invalidate", test_remote_invalidate, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_rights", test_rights, IB_QPT_RC, IB_POLL_DIRECT },
	{ "gaps_refused", test_gaps_refused, IB_QPT_RC, IB_POLL_DIRECT },
	{ "gaps_write_and_read", test_gaps, IB_QPT_RC, IB_POLL_DIRECT },
	{ "gaps_local", test_gaps_local, IB_QPT_RC, IB_POLL_DIRECT },
	{ "gaps_limits", test_gaps_limits, IB_QPT_RC, IB_POLL_DIRECT },
	{ "gaps_again", test_gaps_again, IB_QPT_RC, IB_POLL_DIRECT },
	{ "gaps_invalidated", test_gaps_invalidated, IB_QPT_RC, IB_POLL_DIRECT },
	{ "gaps_rights", test_gaps_rights, IB_QPT_RC, IB_POLL_DIRECT },
	{}
};
