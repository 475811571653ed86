// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Traffic over RC, UC, UD and XRC between two queue pairs of one port: all opcodes, sizes around
 * the MTU, fields of the completions, flow control, errors and their syndromes, asynchronous
 * events.
 */

#include <sched.h>

#include "test.h"

#define SIDE 0x200000u		/* of each side's buffer in bytes */

/* For the setup of a fixture; returns false if the test is skipped. */
static bool open_pair(struct __test_metadata *_metadata, struct rdma *r, struct pair *p,
		      const struct qp_cfg *cfg, size_t size)
{
	if (!rdma_has_qp_type(cfg->type))
		SKIP(return false, NO_UC);
	ASSERT_EQ(0, rdma_open(r));
	if (cfg->type == IBV_QPT_XRC_SEND && !rdma_has_xrc(r->ctx))
		SKIP(return false, NO_XRC);
	if (cfg->mtu > r->port.active_mtu)
		SKIP(return false, "the port's MTU is smaller");
	ASSERT_EQ(0, pair_open(p, r, cfg, size));
	return true;
}

FIXTURE(xfer) {
	struct rdma r;
	struct pair p;
};

FIXTURE_VARIANT(xfer) {
	enum ibv_qp_type type;
	enum ibv_mtu mtu;
	uint32_t largest;	/* bytes of the largest message */
};

FIXTURE_VARIANT_ADD(xfer, rc) { .type = IBV_QPT_RC, .mtu = IBV_MTU_1024, .largest = 1 << 20 };

FIXTURE_VARIANT_ADD(xfer, rc_mtu_256) { .type = IBV_QPT_RC, .mtu = IBV_MTU_256, .largest = 70000 };

FIXTURE_VARIANT_ADD(xfer, rc_mtu_4096) { .type = IBV_QPT_RC, .mtu = IBV_MTU_4096,
					 .largest = 1 << 20 };

FIXTURE_VARIANT_ADD(xfer, uc) { .type = IBV_QPT_UC, .mtu = IBV_MTU_1024, .largest = 1 << 20 };

FIXTURE_VARIANT_ADD(xfer, ud) { .type = IBV_QPT_UD, .mtu = IBV_MTU_1024, .largest = 1024 };

FIXTURE_VARIANT_ADD(xfer, xrc) { .type = IBV_QPT_XRC_SEND, .mtu = IBV_MTU_1024,
				 .largest = 1 << 20 };

FIXTURE_SETUP(xfer)
{
	struct qp_cfg cfg = { .type = variant->type, .mtu = variant->mtu, .inline_data = 64 };

	open_pair(_metadata, &self->r, &self->p, &cfg, SIDE);
}

FIXTURE_TEARDOWN(xfer)
{
	pair_close(&self->p);
	rdma_close(&self->r);
}

static uint32_t grh_len(const struct pair *p)
{
	return p->cfg.type == IBV_QPT_UD ? GRH_LEN : 0;
}

static const uint32_t sizes[] = {
	0, 1, 2, 3, 4, 7, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 8192,
		65537, 1 << 20,
};

/* --- Send ------------------------------------------------------------------------------------- */

TEST_F(xfer, send_of_all_sizes)
{
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (sizes[i] > variant->largest)
			break;
		wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .wr_id = 1000 + i };
		fill(self->p.buf[0], sizes[i], i);
		memset(self->p.buf[1], 0xee, grh_len(&self->p) + sizes[i] + 1);
		ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1], grh_len(&self->p) + sizes[i],
				       2000 + i));
		ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], sizes[i]));
		ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc)) TH_LOG("%u bytes", sizes[i]);
		EXPECT_EQ(IBV_WC_SEND, wc.opcode);
		EXPECT_EQ(1000 + i, wc.wr_id);
		EXPECT_EQ(self->p.qp[0]->qp_num, wc.qp_num);
		ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc)) TH_LOG("%u bytes", sizes[i]);
		EXPECT_EQ(IBV_WC_RECV, wc.opcode);
		EXPECT_EQ(2000 + i, wc.wr_id);
		EXPECT_EQ(grh_len(&self->p) + sizes[i], wc.byte_len);
		EXPECT_EQ(self->p.qp[1]->qp_num, wc.qp_num);
		EXPECT_TRUE(check_fill(self->p.buf[1] + grh_len(&self->p), sizes[i], i))
			TH_LOG("%u bytes", sizes[i]);
		EXPECT_EQ(0xee, self->p.buf[1][grh_len(&self->p) + sizes[i]]);
		if (variant->type == IBV_QPT_UD) {
			EXPECT_EQ(self->p.qp[0]->qp_num, wc.src_qp);
			EXPECT_EQ(self->r.port.lid, wc.slid);
		}
	}
}

TEST_F(xfer, send_with_immediate_delivers_it)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htobe32(0xdeadbee1) };
	struct ibv_wc wc;

	fill(self->p.buf[0], 100, 1);
	ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1], grh_len(&self->p) + 100, 1));
	ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], 100));
	ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
	ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc));
	EXPECT_EQ(IBV_WC_RECV, wc.opcode);
	EXPECT_NE(0, wc.wc_flags & IBV_WC_WITH_IMM);
	EXPECT_EQ(0xdeadbee1, be32toh(wc.imm_data));
	EXPECT_TRUE(check_fill(self->p.buf[1] + grh_len(&self->p), 100, 1));
}

TEST_F(xfer, inline_data_is_copied_when_posted)
{
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	uint32_t len;

	for (len = 1; len <= 64; len += 9) {
		wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE };
		fill(self->p.buf[0], len, len);
		ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1], grh_len(&self->p) + len, 1));
		ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], len));
		memset(self->p.buf[0], 0, len);
		ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
		ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc));
		EXPECT_TRUE(check_fill(self->p.buf[1] + grh_len(&self->p), len, len))
			TH_LOG("%u bytes", len);
	}
}

TEST_F(xfer, gather_and_scatter_lists_work)
{
	/* Pieces that are not aligned, some larger and some smaller than a packet. */
	uint32_t lens[4] = { 1, 300, 77, variant->type == IBV_QPT_UD ? 600 : 5000 }, total = 0, at,
		i;
	struct ibv_sge from[4], to[4], grh_and_to[4];
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = from, .num_sge = 4 };
	struct ibv_recv_wr rwr = { .sg_list = to, .num_sge = 4 };
	struct ibv_wc wc;

	for (i = 0; i < 4; i++) {
		from[i].addr = (uintptr_t)self->p.buf[0] + i * 8192;
		from[i].length = lens[i];
		from[i].lkey = self->p.mr->lkey;
		total += lens[i];
	}
	for (i = 0, at = 0; i < 4; i++) {
		fill((void *)(uintptr_t)from[i].addr, lens[i], i);
		/* The receiver's pieces have other lengths, so that their borders differ. */
		to[i].addr = (uintptr_t)self->p.buf[1] + i * 8192 + 3;
		to[i].length = i == 3 ? total : lens[3 - i] % 250 + 10;
		to[i].lkey = self->p.mr->lkey;
		at += lens[i];
	}
	memcpy(grh_and_to, to, sizeof(to));
	grh_and_to[0].length += grh_len(&self->p);
	rwr.sg_list = grh_and_to;
	ASSERT_EQ(0, pair_post_recv(&self->p, &rwr));
	ASSERT_EQ(0, post_send(&self->p, &wr, NULL, 0));
	ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
	ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc));
	EXPECT_EQ(total + grh_len(&self->p), wc.byte_len);

	/* Copy the pieces of either side together and compare. */
	for (i = 0, at = 0; i < 4; at += lens[i++])
		memcpy(self->p.buf[0] + SIDE / 2 + at, (void *)(uintptr_t)from[i].addr, lens[i]);
	for (i = 0, at = 0; i < 4 && at < total; at += to[i++].length)
		memcpy(self->p.buf[1] + SIDE / 2 + at,
		       (void *)(uintptr_t)to[i].addr + (i ? 0 : grh_len(&self->p)), to[i].length);
	EXPECT_EQ(0, memcmp(self->p.buf[0] + SIDE / 2, self->p.buf[1] + SIDE / 2, total));
}

TEST_F(xfer, many_messages_arrive_in_order)
{
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	int sent = 0, got = 0, done = 0, n;

	/* 128 messages with 16 in flight wrap both queues four times. */
	for (n = 0; n < 16; n++)
		ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1] + 256 * (n % 16), 256, n));
	while (done < 128) {
		while (sent < 128 && sent - got < 16 && sent - done < 16) {
			wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND_WITH_IMM, .wr_id = sent,
						   .imm_data = htobe32(sent) };
			ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], 16));
			sent++;
		}
		ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
		EXPECT_EQ(done, wc.wr_id);
		done++;
		ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc));
		EXPECT_EQ(got, be32toh(wc.imm_data));
		EXPECT_EQ(got % 16, wc.wr_id % 16);
		ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1], 256, got + 16));
		got++;
	}
	EXPECT_EQ(128, got);
}

TEST_F(xfer, list_of_requests_works)
{
	struct ibv_sge sge = { .addr = (uintptr_t)self->p.buf[0], .length = 32,
			       .lkey = self->p.mr->lkey };
	struct ibv_send_wr wr[8], *bad;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1], 128, i));
		wr[i] = (struct ibv_send_wr){ .wr_id = i, .opcode = IBV_WR_SEND, .sg_list = &sge,
					      .num_sge = 1, .next = i < 7 ? &wr[i + 1] : NULL };
		if (variant->type == IBV_QPT_UD) {
			wr[i].wr.ud.ah = self->p.ah;
			wr[i].wr.ud.remote_qpn = self->p.qp[1]->qp_num;
			wr[i].wr.ud.remote_qkey = UD_QKEY;
		}
		wr[i].qp_type.xrc.remote_srqn = self->p.srqn;
	}
	ASSERT_EQ(0, ibv_post_send(self->p.qp[0], wr, &bad));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
		EXPECT_EQ(i, wc.wr_id);
		ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc));
		EXPECT_EQ(i, wc.wr_id);
	}
}

TEST_F(xfer, error_state_flushes_requests)
{
	struct ibv_send_wr wr;
	/* An XRC requester has no receive queue. */
	int recvs = variant->type == IBV_QPT_XRC_SEND ? 0 : 5;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < recvs; i++)
		ASSERT_EQ(0, post_recv(self->p.qp[0], self->p.mr, self->p.buf[0], 64, 100 + i));
	ASSERT_EQ(0, rdma_modify_state(self->p.qp[0], IBV_QPS_ERR));
	for (i = 0; i < 5; i++) {
		wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .wr_id = 200 + i };
		ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], 8));
	}
	for (i = 0; i < recvs + 5; i++) {
		ASSERT_EQ(IBV_WC_WR_FLUSH_ERR, reap(self->p.cq[0], &wc)) TH_LOG("completion %d", i);
		EXPECT_TRUE(wc.wr_id / 100 == 1 || wc.wr_id / 100 == 2);
	}
	EXPECT_TRUE(cq_stays_empty(self->p.cq[0], 50));
	/* After a reset the queue pair works again. */
	ASSERT_EQ(0, pair_reconnect(&self->p));
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND };
	ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1], 128, 1));
	ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], 8));
	EXPECT_EQ(0, reap_ok(self->p.cq[0], &wc));
	EXPECT_EQ(0, reap_ok(self->p.cq[1], &wc));
}

/* --- One-sided -------------------------------------------------------------------------------- */

TEST_F(xfer, write_of_all_sizes)
{
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	size_t i;

	if (variant->type == IBV_QPT_UD)
		SKIP(return, "UD has no RDMA");
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (sizes[i] > variant->largest)
			break;
		wr = (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_WRITE };
		wr.wr.rdma.remote_addr = (uintptr_t)self->p.buf[1] + 5;
		wr.wr.rdma.rkey = self->p.mr->rkey;
		fill(self->p.buf[0], sizes[i], i);
		memset(self->p.buf[1], 0xee, sizes[i] + 6);
		ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], sizes[i]));
		ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc)) TH_LOG("%u bytes", sizes[i]);
		EXPECT_EQ(IBV_WC_RDMA_WRITE, wc.opcode);
		/* A request of UC completes when the message is sent, perhaps before it arrives. */
		usleep(variant->type == IBV_QPT_UC ? 20000 : 0);
		EXPECT_TRUE(check_fill(self->p.buf[1] + 5, sizes[i], i))
			TH_LOG("%u bytes", sizes[i]);
		EXPECT_EQ(0xee, self->p.buf[1][4]);
		EXPECT_EQ(0xee, self->p.buf[1][5 + sizes[i]]);
	}
}

TEST_F(xfer, write_with_immediate_consumes_a_receive)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htobe32(77) };
	struct ibv_wc wc;

	if (variant->type == IBV_QPT_UD)
		SKIP(return, "UD has no RDMA");
	wr.wr.rdma.remote_addr = (uintptr_t)self->p.buf[1];
	wr.wr.rdma.rkey = self->p.mr->rkey;
	fill(self->p.buf[0], 3000, 4);
	ASSERT_EQ(0, pair_recv(&self->p, NULL, 0, 55));
	ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], 3000));
	ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
	ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc));
	EXPECT_EQ(IBV_WC_RECV_RDMA_WITH_IMM, wc.opcode);
	EXPECT_EQ(55, wc.wr_id);
	EXPECT_EQ(3000, wc.byte_len);
	EXPECT_EQ(77, be32toh(wc.imm_data));
	EXPECT_TRUE(check_fill(self->p.buf[1], 3000, 4));
}

/* --- RC and XRC ------------------------------------------------------------------------------- */

FIXTURE(rc) {
	struct rdma r;
	struct pair p;
};

FIXTURE_VARIANT(rc) {
	enum ibv_qp_type type;
};

FIXTURE_VARIANT_ADD(rc, rc) { .type = IBV_QPT_RC };

FIXTURE_VARIANT_ADD(rc, xrc) { .type = IBV_QPT_XRC_SEND };

FIXTURE_SETUP(rc)
{
	struct qp_cfg cfg = { .type = variant->type };

	open_pair(_metadata, &self->r, &self->p, &cfg, SIDE);
}

FIXTURE_TEARDOWN(rc)
{
	pair_close(&self->p);
	rdma_close(&self->r);
}

TEST_F(rc, read_of_all_sizes)
{
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		wr = (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_READ };
		wr.wr.rdma.remote_addr = (uintptr_t)self->p.buf[1] + 3;
		wr.wr.rdma.rkey = self->p.mr->rkey;
		fill(self->p.buf[1] + 3, sizes[i], i);
		memset(self->p.buf[0], 0xee, sizes[i] + 1);
		ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], sizes[i]));
		ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc)) TH_LOG("%u bytes", sizes[i]);
		EXPECT_EQ(IBV_WC_RDMA_READ, wc.opcode);
		EXPECT_EQ(sizes[i], wc.byte_len);
		EXPECT_TRUE(check_fill(self->p.buf[0], sizes[i], i)) TH_LOG("%u bytes", sizes[i]);
		EXPECT_EQ(0xee, self->p.buf[0][sizes[i]]);
	}
}

TEST_F(rc, atomics_return_the_old_value)
{
	uint64_t *there = (void *)self->p.buf[1], *here = (void *)self->p.buf[0];
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	int i;

	if (!rdma_has_atomics(self->r.ctx))
		SKIP(return, NO_ATOMICS);
	*there = 1000;
	for (i = 0; i < 5; i++) {
		wr = (struct ibv_send_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };
		wr.wr.atomic.remote_addr = (uintptr_t)there;
		wr.wr.atomic.rkey = self->p.mr->rkey;
		wr.wr.atomic.compare_add = 0x100000001ull;
		ASSERT_EQ(0, post_send(&self->p, &wr, (void *)here, 8));
		ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
		EXPECT_EQ(IBV_WC_FETCH_ADD, wc.opcode);
		EXPECT_EQ(1000 + i * 0x100000001ull, *here);
	}
	EXPECT_EQ(1000 + 5 * 0x100000001ull, *there);

	/* The first swap compares equal, the second does not. */
	for (i = 0; i < 2; i++) {
		wr = (struct ibv_send_wr){ .opcode = IBV_WR_ATOMIC_CMP_AND_SWP };
		wr.wr.atomic.remote_addr = (uintptr_t)there;
		wr.wr.atomic.rkey = self->p.mr->rkey;
		wr.wr.atomic.compare_add = 1000 + 5 * 0x100000001ull;
		wr.wr.atomic.swap = 42;
		ASSERT_EQ(0, post_send(&self->p, &wr, (void *)here, 8));
		ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
		EXPECT_EQ(IBV_WC_COMP_SWAP, wc.opcode);
		EXPECT_EQ(i ? 42 : 1000 + 5 * 0x100000001ull, *here);
		EXPECT_EQ(42, *there);
	}
}

TEST_F(rc, reads_and_atomics_beyond_the_limit_wait)
{
	/* Without atomics each request is a read, else every other one. */
	const int stride = rdma_has_atomics(self->r.ctx) ? 2 : 1;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	int i;

	/* At most four requests can be outstanding; the HCA executes the others later. */
	*(uint64_t *)self->p.buf[1] = stride == 2 ? 0 : 7;
	for (i = 0; i < 24; i++) {
		wr = (struct ibv_send_wr){ .opcode = stride == 1 || i % 2 ? IBV_WR_RDMA_READ :
					   IBV_WR_ATOMIC_FETCH_AND_ADD,
					   .wr_id = i };
		if (wr.opcode == IBV_WR_RDMA_READ) {
			wr.wr.rdma.remote_addr = (uintptr_t)self->p.buf[1];
			wr.wr.rdma.rkey = self->p.mr->rkey;
		} else {
			wr.wr.atomic.remote_addr = (uintptr_t)self->p.buf[1];
			wr.wr.atomic.rkey = self->p.mr->rkey;
			wr.wr.atomic.compare_add = 1;
		}
		ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0] + 8 * i, 8));
	}
	for (i = 0; i < 24; i++) {
		ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
		EXPECT_EQ(i, wc.wr_id);
	}
	EXPECT_EQ(stride == 2 ? 12 : 7, *(uint64_t *)self->p.buf[1]);
	for (i = 0; i < 24; i += stride)
		EXPECT_EQ(stride == 2 ? i / 2 : 7, *(uint64_t *)(self->p.buf[0] + 8 * i));
}

TEST_F(rc, fence_orders_a_send_after_a_read)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ };
	struct ibv_wc wc;

	fill(self->p.buf[1], 100000, 8);
	wr.wr.rdma.remote_addr = (uintptr_t)self->p.buf[1];
	wr.wr.rdma.rkey = self->p.mr->rkey;
	ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1] + SIDE / 2, 100000, 1));
	ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], 100000));
	/* Send the bytes that the read delivers. */
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_FENCE };
	ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], 100000));
	ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
	ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
	ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc));
	EXPECT_TRUE(check_fill(self->p.buf[1] + SIDE / 2, 100000, 8));
}

TEST_F(rc, only_signalled_requests_complete)
{
	struct qp_cfg cfg = { .type = variant->type, .selective = true };
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	struct pair p;
	int i;

	ASSERT_EQ(0, pair_open(&p, &self->r, &cfg, 4096));
	for (i = 0; i < 16; i++) {
		wr = (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_WRITE, .wr_id = i,
					   .send_flags = i % 8 == 7 ? IBV_SEND_SIGNALED : 0 };
		wr.wr.rdma.remote_addr = (uintptr_t)p.buf[1];
		wr.wr.rdma.rkey = p.mr->rkey;
		ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 8));
	}
	ASSERT_EQ(0, reap_ok(p.cq[0], &wc));
	EXPECT_EQ(7, wc.wr_id);
	ASSERT_EQ(0, reap_ok(p.cq[0], &wc));
	EXPECT_EQ(15, wc.wr_id);
	EXPECT_TRUE(cq_stays_empty(p.cq[0], 20));
	pair_close(&p);
}

/* --- Receiver not ready ----------------------------------------------------------------------- */

TEST_F(rc, rnr_is_retried_until_a_receive_is_posted)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc;

	fill(self->p.buf[0], 5000, 2);
	ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], 5000));
	EXPECT_TRUE(cq_stays_empty(self->p.cq[0], 50));
	ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1], 5000, 1));
	ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
	ASSERT_EQ(0, reap_ok(self->p.cq[1], &wc));
	EXPECT_TRUE(check_fill(self->p.buf[1], 5000, 2));
}

TEST_F(rc, exhausted_rnr_retries_are_an_error)
{
	struct qp_cfg cfg = { .type = variant->type, .rnr_retry = 2 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .wr_id = 9 };
	struct ibv_wc wc;
	struct pair p;

	ASSERT_EQ(0, pair_open(&p, &self->r, &cfg, 4096));
	ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 8));
	EXPECT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, reap(p.cq[0], &wc));
	EXPECT_EQ(9, wc.wr_id);
	EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(p.qp[0]));
	pair_close(&p);
}

TEST_F(rc, missing_answer_exhausts_the_retries)
{
	struct qp_cfg cfg = { .type = variant->type, .timeout = 8, .retry = 1 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc;
	struct pair p;

	ASSERT_EQ(0, pair_open(&p, &self->r, &cfg, 4096));
	ASSERT_EQ(0, rdma_modify_state(p.qp[1], IBV_QPS_RESET));
	ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 8));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, reap(p.cq[0], &wc));
	EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(p.qp[0]));
	pair_close(&p);
}

/* --- Errors and their syndromes --------------------------------------------------------------- */

/* After a failed request: the next one is flushed, and the queue pair is in the error state. */
static bool is_flushed_and_in_error(struct pair *p)
{
	struct ibv_wc wc;

	return reap(p->cq[0], &wc) == IBV_WC_WR_FLUSH_ERR && rdma_qp_state(p->qp[0]) == IBV_QPS_ERR;
}

/* An invalid request: what is wrong with it, and the status that the requester gets. */
struct remote_error {
	enum ibv_wr_opcode opcode;
	enum {
		BAD_KEY, BAD_VARIANT, BEFORE, BEHIND, ACROSS, NO_ACCESS, MISALIGNED, TOO_LONG,
	} what;
	int status;
};

FIXTURE(remote_error) {
	struct rdma r;
	struct pair p;
	struct qp_cfg cfg;
};

FIXTURE_VARIANT(remote_error) {
	struct remote_error e;
};

FIXTURE_VARIANT_ADD(remote_error, write_bad_key) {
	.e = { IBV_WR_RDMA_WRITE, BAD_KEY, IBV_WC_REM_ACCESS_ERR },
};

FIXTURE_VARIANT_ADD(remote_error, write_old_variant) {
	.e = { IBV_WR_RDMA_WRITE, BAD_VARIANT, IBV_WC_REM_ACCESS_ERR },
};

FIXTURE_VARIANT_ADD(remote_error, write_before) {
	.e = { IBV_WR_RDMA_WRITE, BEFORE, IBV_WC_REM_ACCESS_ERR },
};

FIXTURE_VARIANT_ADD(remote_error, write_behind) {
	.e = { IBV_WR_RDMA_WRITE, BEHIND, IBV_WC_REM_ACCESS_ERR },
};

FIXTURE_VARIANT_ADD(remote_error, write_across_the_end) {
	.e = { IBV_WR_RDMA_WRITE, ACROSS, IBV_WC_REM_ACCESS_ERR },
};

FIXTURE_VARIANT_ADD(remote_error, write_not_allowed) {
	.e = { IBV_WR_RDMA_WRITE, NO_ACCESS, IBV_WC_REM_INV_REQ_ERR },
};

FIXTURE_VARIANT_ADD(remote_error, read_bad_key) {
	.e = { IBV_WR_RDMA_READ, BAD_KEY, IBV_WC_REM_ACCESS_ERR },
};

FIXTURE_VARIANT_ADD(remote_error, read_across_the_end) {
	.e = { IBV_WR_RDMA_READ, ACROSS, IBV_WC_REM_ACCESS_ERR },
};

FIXTURE_VARIANT_ADD(remote_error, read_not_allowed) {
	.e = { IBV_WR_RDMA_READ, NO_ACCESS, IBV_WC_REM_INV_REQ_ERR },
};

FIXTURE_VARIANT_ADD(remote_error, atomic_bad_key) {
	.e = { IBV_WR_ATOMIC_FETCH_AND_ADD, BAD_KEY, IBV_WC_REM_ACCESS_ERR },
};

FIXTURE_VARIANT_ADD(remote_error, atomic_misaligned) {
	.e = { IBV_WR_ATOMIC_FETCH_AND_ADD, MISALIGNED, IBV_WC_REM_INV_REQ_ERR },
};

FIXTURE_VARIANT_ADD(remote_error, atomic_not_allowed) {
	.e = { IBV_WR_ATOMIC_FETCH_AND_ADD, NO_ACCESS, IBV_WC_REM_INV_REQ_ERR },
};

FIXTURE_VARIANT_ADD(remote_error, send_longer_than_receive) {
	.e = { IBV_WR_SEND, TOO_LONG, IBV_WC_REM_INV_REQ_ERR },
};

FIXTURE_SETUP(remote_error)
{
	/* With NO_ACCESS it is the queue pair that forbids the operation; the key allows it. */
	self->cfg.access = variant->e.what == NO_ACCESS ? -1 : 0;
}

FIXTURE_TEARDOWN(remote_error)
{
	pair_close(&self->p);
	rdma_close(&self->r);
}

static void expect_error(struct __test_metadata *_metadata, struct pair *p,
			 const struct remote_error *e)
{
	struct ibv_send_wr wr = { .opcode = e->opcode, .wr_id = 5 };
	uint64_t va = (uintptr_t)p->buf[1];
	uint32_t rkey = p->mr->rkey;
	struct ibv_wc wc;
	int i;

	switch (e->what) {
	case BAD_KEY:
		rkey ^= 0x40000000;
		break;
	case BAD_VARIANT:
		rkey ^= 1;
		break;
	case BEFORE:
		va = (uintptr_t)p->mr->addr - 64;
		break;
	case BEHIND:
		va = (uintptr_t)p->mr->addr + p->mr->length;
		break;
	case ACROSS:
		va = (uintptr_t)p->mr->addr + p->mr->length - 4;
		break;
	case MISALIGNED:
		va += 4;
		break;
	case TOO_LONG:
		ASSERT_EQ(0, pair_recv(p, p->buf[1], 4, 70));
		break;
	case NO_ACCESS:
		break;
	}
	if (e->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = va;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = va;
		wr.wr.rdma.rkey = rkey;
	}
	memset(p->buf[0], 0xdd, 64);
	memset(p->buf[1], 0, 8192);
	ASSERT_EQ(0, post_send(p, &wr, p->buf[0], 8));
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND };
	ASSERT_EQ(0, post_send(p, &wr, p->buf[0], 8));

	EXPECT_EQ(e->status, reap(p->cq[0], &wc)) TH_LOG("%s", ibv_wc_status_str(wc.status));
	EXPECT_EQ(5, wc.wr_id);
	EXPECT_EQ(p->qp[0]->qp_num, wc.qp_num);
	EXPECT_TRUE(is_flushed_and_in_error(p));
	if (e->what == TOO_LONG) {
		EXPECT_EQ(IBV_WC_LOC_LEN_ERR, reap(p->cq[1], &wc));
		EXPECT_EQ(70, wc.wr_id);
	}
	for (i = 4; i < 8192; i++)
		ASSERT_EQ(0, p->buf[1][i]) TH_LOG("byte %d was written", i);
	EXPECT_EQ(e->opcode == IBV_WR_RDMA_READ ? 0xdd : p->buf[0][0],
		  p->buf[0][0]);
}

static void open_and_expect_error(struct __test_metadata *_metadata, struct rdma *r, struct pair *p,
				  const struct qp_cfg *cfg, const struct remote_error *e)
{
	if (!open_pair(_metadata, r, p, cfg, 8192))
		return;
	if (e->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD && !rdma_has_atomics(r->ctx))
		SKIP(return, NO_ATOMICS);
	expect_error(_metadata, p, e);
}

TEST_F(remote_error, error_is_reported_and_memory_unchanged)
{
	self->cfg.type = IBV_QPT_RC;
	open_and_expect_error(_metadata, &self->r, &self->p, &self->cfg, &variant->e);
}

TEST_F(remote_error, error_is_reported_and_memory_unchanged_xrc)
{
	self->cfg.type = IBV_QPT_XRC_SEND;
	open_and_expect_error(_metadata, &self->r, &self->p, &self->cfg, &variant->e);
}

TEST_F(rc, local_key_error_is_the_requesters)
{
	struct ibv_sge sge = { .addr = (uintptr_t)self->p.buf[0], .length = 8 };
	struct {
		uint32_t lkey;
		uint64_t addr;
	} bad[] = {
		{ self->p.mr->lkey ^ 0x40000000, (uintptr_t)self->p.buf[0] },
		{ self->p.mr->lkey ^ 1, (uintptr_t)self->p.buf[0] },
		{ self->p.mr->lkey, (uintptr_t)self->p.mr->addr - 8 },
		{ self->p.mr->lkey, (uintptr_t)self->p.mr->addr + self->p.mr->length - 4 },
	};
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		sge.lkey = bad[i].lkey;
		sge.addr = bad[i].addr;
		wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
					   .wr_id = i };
		ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1], 64, 1));
		ASSERT_EQ(0, post_send(&self->p, &wr, NULL, 0));
		EXPECT_EQ(IBV_WC_LOC_PROT_ERR, reap(self->p.cq[0], &wc)) TH_LOG("case %zu", i);
		EXPECT_EQ(i, wc.wr_id);
		EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(self->p.qp[0]));
		ASSERT_EQ(0, pair_reconnect(&self->p));
	}
}

TEST_F(rc, receive_key_error_is_the_responders)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	/* A shorter message may arrive in the completion, and then no key is checked. */
	struct ibv_sge sge = { .addr = (uintptr_t)self->p.buf[1], .length = 512,
			       .lkey = self->p.mr->lkey ^ 0x40000000 };
	struct ibv_recv_wr rwr = { .wr_id = 3, .sg_list = &sge, .num_sge = 1 };
	struct ibv_wc wc;

	ASSERT_EQ(0, pair_post_recv(&self->p, &rwr));
	ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], 512));
	EXPECT_EQ(IBV_WC_REM_OP_ERR, reap(self->p.cq[0], &wc));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, reap(self->p.cq[1], &wc));
	EXPECT_EQ(3, wc.wr_id);
	EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(self->p.qp[1]));
}

/* --- Datagrams -------------------------------------------------------------------------------- */

TEST(ud_with_a_wrong_qkey_or_qpn_is_dropped)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc;
	struct rdma r;
	struct pair p;

	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, pair_open(&p, &r, &cfg, 4096));
	ASSERT_EQ(0, post_recv(p.qp[1], p.mr, p.buf[1], 128, 1));
	wr.wr.ud.ah = p.ah;
	wr.wr.ud.remote_qpn = p.qp[1]->qp_num;
	wr.wr.ud.remote_qkey = UD_QKEY + 1;
	ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 8));
	EXPECT_EQ(0, reap_ok(p.cq[0], &wc));
	EXPECT_TRUE(cq_stays_empty(p.cq[1], 50));
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND };
	wr.wr.ud.ah = p.ah;
	wr.wr.ud.remote_qpn = 0xfffff0;
	wr.wr.ud.remote_qkey = UD_QKEY;
	ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 8));
	EXPECT_EQ(0, reap_ok(p.cq[0], &wc));
	EXPECT_TRUE(cq_stays_empty(p.cq[1], 50));
	/* A correct datagram arrives in the receive that is still posted. */
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND };
	ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 8));
	EXPECT_EQ(0, reap_ok(p.cq[0], &wc));
	EXPECT_EQ(0, reap_ok(p.cq[1], &wc));
	pair_close(&p);
	rdma_close(&r);
}

TEST(ud_with_a_grh_delivers_it)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_ah_attr attr;
	struct ibv_grh *hdr;
	struct ibv_ah *back;
	struct ibv_wc wc;
	struct rdma r;
	struct pair p;

	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, pair_open(&p, &r, &cfg, 4096));
	port_address(&attr, r.port.lid);
	attr.is_global = 1;
	attr.grh.hop_limit = 1;
	ASSERT_EQ(0, ibv_query_gid(r.ctx, 1, attr.grh.sgid_index, &attr.grh.dgid));
	ASSERT_EQ(0, pair_set_address(&p, &attr));
	fill(p.buf[0], 200, 5);
	ASSERT_EQ(0, pair_send_one(&p, 200, GRH_LEN + 200, &wc));
	EXPECT_NE(0, wc.wc_flags & IBV_WC_GRH);
	EXPECT_EQ(GRH_LEN + 200, wc.byte_len);
	EXPECT_TRUE(check_fill(p.buf[1] + GRH_LEN, 200, 5));
	hdr = (struct ibv_grh *)p.buf[1];
	EXPECT_EQ(0, memcmp(&hdr->dgid, &attr.grh.dgid, 16));
	EXPECT_EQ(0, memcmp(&hdr->sgid, &attr.grh.dgid, 16));
	/* An address handle for the answer can be made from the completion. */
	back = ibv_create_ah_from_wc(r.pd, &wc, hdr, 1);
	EXPECT_NE(NULL, back);
	if (back)
		ibv_destroy_ah(back);
	pair_close(&p);
	rdma_close(&r);
}

TEST(ud_longer_than_the_receive_is_an_error)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc;
	struct rdma r;
	struct pair p;

	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, pair_open(&p, &r, &cfg, 4096));
	memset(p.buf[1], 0xee, 4096);
	ASSERT_EQ(0, post_recv(p.qp[1], p.mr, p.buf[1], GRH_LEN + 10, 1));
	ASSERT_EQ(0, post_send(&p, &wr, p.buf[0], 100));
	EXPECT_EQ(0, reap_ok(p.cq[0], &wc));
	EXPECT_EQ(IBV_WC_LOC_LEN_ERR, reap(p.cq[1], &wc));
	EXPECT_EQ(0xee, p.buf[1][GRH_LEN + 10]);
	pair_close(&p);
	rdma_close(&r);
}

/* --- Asynchronous events ---------------------------------------------------------------------- */

TEST_F(rc, first_message_in_rtr_raises_comm_est)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_async_event ev = {};
	struct ibv_wc wc;

	/* The second queue pair is in RTR when the first message arrives. */
	ASSERT_EQ(0, rdma_modify_state(self->p.qp[1], IBV_QPS_RESET));
	ASSERT_EQ(0, rdma_qp_init(self->p.qp[1], &self->p.cfg));
	ASSERT_EQ(0, rdma_qp_rtr(self->p.qp[1], &self->p.cfg, self->p.qp[0]->qp_num,
				 self->r.port.lid));
	ASSERT_EQ(0, pair_recv(&self->p, self->p.buf[1], 64, 1));
	ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], 8));
	ASSERT_EQ(0, reap_ok(self->p.cq[0], &wc));
	ASSERT_EQ(0, next_async_event(self->r.ctx, &ev, 5000));
	EXPECT_EQ(IBV_EVENT_COMM_EST, ev.event_type);
	EXPECT_EQ(self->p.qp[1], ev.element.qp);
}

TEST_F(rc, responder_error_raises_an_event)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_async_event ev = {};
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = 8;
	wr.wr.rdma.rkey = self->p.mr->rkey;
	ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], 8));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, reap(self->p.cq[0], &wc));
	ASSERT_EQ(0, next_async_event(self->r.ctx, &ev, 5000));
	EXPECT_EQ(IBV_EVENT_QP_ACCESS_ERR, ev.event_type);
	EXPECT_EQ(self->p.qp[1], ev.element.qp);
}

TEST_F(rc, port_events_follow_the_link)
{
	struct ibv_port_attr port;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, hca_do("inject link down"));
	/* Newer kernels also raise an event for the speed. */
	EXPECT_TRUE(wait_port_event(self->r.ctx, IBV_EVENT_PORT_ERR, 5000));
	EXPECT_EQ(0, ibv_query_port(self->r.ctx, 1, &port));
	EXPECT_NE(IBV_PORT_ACTIVE, port.state);
	ASSERT_EQ(0, hca_do("inject link up"));
	EXPECT_TRUE(wait_port_event(self->r.ctx, IBV_EVENT_PORT_ACTIVE, 5000));
	EXPECT_EQ(0, ibv_query_port(self->r.ctx, 1, &port));
	EXPECT_EQ(IBV_PORT_ACTIVE, port.state);
}

TEST_HARNESS_MAIN
