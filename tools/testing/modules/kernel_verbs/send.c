// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of kernel verbs: messages, full and broken queues, queue pairs that are reset and
 * destroyed.
 */

#include <linux/delay.h>

#include "rig.h"

/* ---- tests: sends -------------------------------------------------------------- */

int test_send(struct rig *rig)
{
	struct ib_wc wc;

	fill_pattern(rig->buf[0], 3000, 1);
	memset(rig->buf[1], 0, BUF_SIZE);
	TRY(rig_post_recv(rig, 1, 0, 4096, 10));
	TRY(rig_post_send(rig, IB_WR_SEND, 3000, 20));
	REAP(rig, 0, 20, &wc);
	EXPECT_EQ(IB_WC_SEND, wc.opcode);
	REAP(rig, 1, 10, &wc);
	EXPECT_EQ(IB_WC_RECV, wc.opcode);
	EXPECT_EQ(3000, wc.byte_len);
	EXPECT_EQ(0, wc.wc_flags & IB_WC_WITH_IMM);
	EXPECT(has_pattern(rig->buf[1], 3000, 1));
	EXPECT_EQ(0, rig->buf[1][3000]);
	return 0;
}

static int test_send_imm(struct rig *rig)
{
	struct ib_wc wc;

	fill_pattern(rig->buf[0], 100, 2);
	TRY(rig_post_recv(rig, 1, 0, 4096, 11));
	TRY(rig_post_send(rig, IB_WR_SEND_WITH_IMM, 100, 21));
	REAP(rig, 0, 21, &wc);
	EXPECT_EQ(IB_WC_SEND, wc.opcode);
	REAP(rig, 1, 11, &wc);
	EXPECT_EQ(IB_WC_RECV, wc.opcode);
	EXPECT(wc.wc_flags & IB_WC_WITH_IMM);
	EXPECT_EQ(0x01020304, be32_to_cpu(wc.ex.imm_data));
	EXPECT(has_pattern(rig->buf[1], 100, 2));
	return 0;
}

static int test_empty(struct rig *rig)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED, .wr_id = 5 };
	struct ib_wc wc;

	TRY(rig_post_recv(rig, 1, 0, 4096, 6));
	TRY(ib_post_send(rig->qp[0], &wr, NULL));
	REAP(rig, 0, 5, &wc);
	REAP(rig, 1, 6, &wc);
	EXPECT_EQ(0, wc.byte_len);
	/* The device must not take a segment of length 0 for 2 GiB. */
	TRY(rig_post_recv(rig, 1, 0, 4096, 7));
	TRY(rig_post_send(rig, IB_WR_SEND, 0, 8));
	REAP(rig, 0, 8, &wc);
	REAP(rig, 1, 7, &wc);
	EXPECT_EQ(0, wc.byte_len);
	return 0;
}

static int test_inline(struct rig *rig)
{
	struct ib_sge sge[2];
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_INLINE,
		.sg_list = sge,
		.num_sge = 2,
	};
	unsigned int len;
	struct ib_wc wc;

	for (len = 1; len <= MAX_INLINE; len++) {
		fill_pattern(rig->buf[0], len, len);
		sge[0] = (struct ib_sge){ .addr = (uintptr_t)rig->buf[0], .length = len / 2 };
		sge[1] = (struct ib_sge){ .addr = (uintptr_t)rig->buf[0] + len / 2,
					  .length = len - len / 2 };
		wr.wr_id = len;
		TRY(rig_post_recv(rig, 1, 0, 4096, len));
		TRY(ib_post_send(rig->qp[0], &wr, NULL));
		/* The posted request has a copy of the data. */
		memset(rig->buf[0], 0, len);
		REAP(rig, 0, len, &wc);
		REAP(rig, 1, len, &wc);
		EXPECT_EQ(len, wc.byte_len);
		EXPECT(has_pattern(rig->buf[1], len, len));
	}
	return 0;
}

static int test_gather_and_scatter(struct rig *rig)
{
	struct ib_sge from[MAX_SGE], to[MAX_SGE];
	struct ib_recv_wr rwr = { .wr_id = 2, .sg_list = to, .num_sge = MAX_SGE };
	struct ib_send_wr swr = {
		.wr_id = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = from,
		.num_sge = MAX_SGE,
	};
	struct ib_wc wc;
	int i;

	fill_pattern(rig->buf[0], 4096, 3);
	memset(rig->buf[1], 0, BUF_SIZE);
	for (i = 0; i < MAX_SGE; i++) {
		from[i] = rig_sge(rig, 0, i * 500, 500);
		to[i] = rig_sge(rig, 1, i * 600, 600);
	}
	TRY(ib_post_recv(rig->qp[1], &rwr, NULL));
	TRY(ib_post_send(rig->qp[0], &swr, NULL));
	REAP(rig, 0, 1, &wc);
	REAP(rig, 1, 2, &wc);
	EXPECT_EQ(2000, wc.byte_len);
	EXPECT(has_pattern(rig->buf[1], 2000, 3));
	return 0;
}

/*
 * Requests of one or two basic blocks go round the queue several times, and one in seven is
 * signaled.
 */
static int test_queue_wraps(struct rig *rig)
{
	unsigned int i, len, done = 0;
	struct ib_sge sge;
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ib_wc wc;

	fill_pattern(rig->buf[0], 4096, 4);
	for (i = 0; i < 1000; i++) {
		len = i % 3 ? i % 64 + 1 : 300;
		if (i % 3) {
			sge = (struct ib_sge){ .addr = (uintptr_t)rig->buf[0], .length = len };
			wr.send_flags = IB_SEND_INLINE;
		} else {
			sge = rig_sge(rig, 0, 0, len);
			wr.send_flags = 0;
		}
		if (i % 7 == 6)
			wr.send_flags |= IB_SEND_SIGNALED;
		wr.wr_id = i;
		TRY(rig_post_recv(rig, 1, 0, 4096, i));
		TRY(ib_post_send(rig->qp[0], &wr, NULL));
		REAP(rig, 1, i, &wc);
		EXPECT_EQ(len, wc.byte_len);
		EXPECT(has_pattern(rig->buf[1], len, 4));
		if (i % 7 == 6) {
			REAP(rig, 0, i, &wc);
			done++;
		}
	}
	EXPECT_EQ(1000 / 7, done);
	EXPECT(rig_idle(rig));
	return 0;
}

static int test_chain(struct rig *rig)
{
	struct ib_send_wr swr[8] = {};
	struct ib_recv_wr rwr[8] = {};
	struct ib_sge from[8], to[8];
	struct ib_wc wc;
	int i;

	fill_pattern(rig->buf[0], 4096, 5);
	for (i = 0; i < 8; i++) {
		from[i] = rig_sge(rig, 0, 0, 100 + i);
		to[i] = rig_sge(rig, 1, i * 512, 512);
		swr[i].opcode = IB_WR_SEND;
		swr[i].send_flags = IB_SEND_SIGNALED;
		swr[i].wr_id = i;
		swr[i].sg_list = &from[i];
		swr[i].num_sge = 1;
		swr[i].next = i < 7 ? &swr[i + 1] : NULL;
		rwr[i].wr_id = 100 + i;
		rwr[i].sg_list = &to[i];
		rwr[i].num_sge = 1;
		rwr[i].next = i < 7 ? &rwr[i + 1] : NULL;
	}
	TRY(ib_post_recv(rig->qp[1], rwr, NULL));
	TRY(ib_post_send(rig->qp[0], swr, NULL));
	for (i = 0; i < 8; i++) {
		REAP(rig, 0, i, &wc);
		REAP(rig, 1, 100 + i, &wc);
		EXPECT_EQ(100 + i, wc.byte_len);
		EXPECT(has_pattern(rig->buf[1] + i * 512, 100 + i, 5));
	}
	return 0;
}

/* ---- tests: errors ------------------------------------------------------------- */

static int test_bad_requests(struct rig *rig)
{
	struct ib_sge sge[MAX_SGE + 16];
	struct ib_send_wr first = { .opcode = IB_WR_SEND, .wr_id = 1 };
	struct ib_send_wr second = { .opcode = IB_WR_SEND, .wr_id = 2, .sg_list = sge,
				     .num_sge = ARRAY_SIZE(sge) };
	struct ib_recv_wr rwr = { .sg_list = sge, .num_sge = ARRAY_SIZE(sge) };
	const struct ib_send_wr *bad = NULL;
	const struct ib_recv_wr *bad_recv = NULL;
	struct ib_wc wc;
	int i;

	for (i = 0; i < ARRAY_SIZE(sge); i++)
		sge[i] = rig_sge(rig, 0, 0, 8);
	first.send_flags = IB_SEND_SIGNALED;
	first.next = &second;
	TRY(rig_post_recv(rig, 1, 0, 4096, 3));
	EXPECT(ib_post_send(rig->qp[0], &first, &bad) < 0);
	EXPECT(bad == &second);
	/* The request before the bad one has been posted. */
	REAP(rig, 0, 1, &wc);
	REAP(rig, 1, 3, &wc);
	first.next = NULL;
	first.sg_list = sge;
	first.num_sge = ARRAY_SIZE(sge);
	EXPECT(ib_post_send(rig->qp[0], &first, &bad) < 0);
	EXPECT(bad == &first);
	EXPECT(ib_post_recv(rig->qp[0], &rwr, &bad_recv) < 0);
	EXPECT(bad_recv == &rwr);
	EXPECT(rig_idle(rig));
	return test_send(rig);
}

static int test_full_queues(struct rig *rig)
{
	struct ib_qp_attr attr;
	struct ib_qp_init_attr init;
	unsigned int i, sent, most;
	struct ib_wc wc;

	TRY(ib_query_qp(rig->qp[0], &attr, IB_QP_CAP, &init));
	EXPECT(init.cap.max_send_wr >= MAX_WR);
	EXPECT(init.cap.max_recv_wr >= MAX_WR);
	/*
	 * Nothing is received, so the queue fills. These requests take one basic block each, others
	 * more, so there may be room for more than max_send_wr.
	 */
	most = 16 * init.cap.max_send_wr;
	for (sent = 0; sent < most && !rig_post_send(rig, IB_WR_SEND, 4, sent); sent++)
		;
	EXPECT(sent >= init.cap.max_send_wr);
	EXPECT(sent < most);
	for (i = 0; i < init.cap.max_recv_wr; i++)
		TRY(rig_post_recv(rig, 1, 0, 64, i));
	EXPECT_EQ(-ENOMEM, rig_post_recv(rig, 1, 0, 64, i));
	for (i = 0; i < sent; i++) {
		REAP(rig, 1, i % init.cap.max_recv_wr, &wc);
		REAP(rig, 0, i, &wc);
		TRY(rig_post_recv(rig, 1, 0, 64, i % init.cap.max_recv_wr));
	}
	return 0;
}

static int test_local_error(struct rig *rig)
{
	struct ib_sge sge = { .addr = rig->dma[0], .length = 64, .lkey = 0x12345600 };
	struct ib_send_wr wr = {
		.wr_id = 1, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
	};
	struct ib_wc wc;
	int i;

	TRY(rig_post_recv(rig, 1, 0, 4096, 9));
	TRY(ib_post_send(rig->qp[0], &wr, NULL));
	for (i = 0; i < 3; i++)
		TRY(rig_post_send(rig, IB_WR_SEND, 8, 2 + i));
	TRY(rig_reap(rig, 0, &wc));
	EXPECT_EQ(1, wc.wr_id);
	EXPECT_EQ(IB_WC_LOC_PROT_ERR, wc.status);
	for (i = 0; i < 3; i++) {
		TRY(rig_reap(rig, 0, &wc));
		EXPECT_EQ(2 + i, wc.wr_id);
		EXPECT_EQ(IB_WC_WR_FLUSH_ERR, wc.status);
	}
	return 0;
}

#define ENTRY	600	/* bytes of each entry of a list */

/* Post a receive with @num entries, which lie one after the other in the second buffer. */
static int post_list(struct rig *rig, int num, u64 wr_id)
{
	struct ib_sge to[MAX_SGE];
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = to, .num_sge = num };
	int i;

	for (i = 0; i < num; i++)
		to[i] = rig_sge(rig, 1, i * ENTRY, ENTRY);
	return ib_post_recv(rig->qp[1], &wr, NULL);
}

/*
 * In the first lap each receive has a list of MAX_SGE entries, in the next one a list of one entry,
 * in the same place. A message that is longer than this entry must not get into the memory that the
 * longer list named.
 */
static int test_longer_than_list(struct rig *rig)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	struct ib_wc wc;
	int i, lap;

	TRY(ib_query_qp(rig->qp[1], &attr, IB_QP_CAP, &init));
	fill_pattern(rig->buf[0], MAX_SGE * ENTRY, 6);
	for (lap = 0; lap < 2; lap++) {
		memset(rig->buf[1], 0, BUF_SIZE);
		for (i = 0; i < init.cap.max_recv_wr; i++)
			TRY(post_list(rig, lap ? 1 : MAX_SGE, i));
		/* In the last lap the last receive is left. */
		for (i = 0; i < init.cap.max_recv_wr - lap; i++) {
			TRY(rig_post_send(rig, IB_WR_SEND, (lap ? 1 : MAX_SGE) * ENTRY, i));
			REAP(rig, 0, i, &wc);
			REAP(rig, 1, i, &wc);
		}
		EXPECT(has_pattern(rig->buf[1], (lap ? 1 : MAX_SGE) * ENTRY, 6));
	}
	TRY(rig_post_send(rig, IB_WR_SEND, ENTRY + 1, i));
	TRY(rig_reap(rig, 0, &wc));
	EXPECT_EQ(IB_WC_REM_INV_REQ_ERR, wc.status);
	TRY(rig_reap(rig, 1, &wc));
	EXPECT_EQ(IB_WC_LOC_LEN_ERR, wc.status);
	EXPECT_EQ(0, rig->buf[1][ENTRY]);
	return 0;
}

static int test_reset(struct rig *rig)
{
	struct ib_qp_attr reset = { .qp_state = IB_QPS_RESET };
	int i;

	TRY(test_send(rig));
	/* Leave completions that have not been polled, and requests that have not completed. */
	for (i = 0; i < 5; i++)
		TRY(rig_post_recv(rig, 1, 0, 4096, i));
	for (i = 0; i < 3; i++)
		TRY(rig_post_send(rig, IB_WR_SEND, 64, i));
	msleep(50);
	for (i = 0; i < NUM_QPS; i++)
		TRY(ib_modify_qp(rig->qp[i], &reset, IB_QP_STATE));
	EXPECT(rig_idle(rig));
	TRY(rig_connect(rig));
	return test_send(rig);
}

/* Queue pairs that are destroyed leave no completions to queue pairs that get their numbers. */
static int test_destroy(struct rig *rig)
{
	int i, round;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < 5; i++)
			TRY(rig_post_recv(rig, 1, 0, 4096, i));
		for (i = 0; i < 5; i++)
			TRY(rig_post_send(rig, IB_WR_SEND, 64, i));
		if (round % 2)
			msleep(20);
		for (i = 0; i < NUM_QPS; i++) {
			TRY(ib_destroy_qp(rig->qp[i]));
			rig->qp[i] = NULL;
		}
		EXPECT(rig_idle(rig));
		for (i = 0; i < NUM_QPS; i++) {
			rig->qp[i] = rig_make_qp(rig, IB_QPT_RC, rig->cq[i]);
			TRY(PTR_ERR_OR_ZERO(rig->qp[i]));
		}
		TRY(rig_connect(rig));
		TRY(test_send(rig));
	}
	return 0;
}

/* ---- numbers that are used again ------------------------------------------------- */

#define OTHER	100	/* wr_id of requests on the second pair, from here on */

static int exchange_on_both(struct rig *rig, struct ib_qp *const other[NUM_QPS])
{
	struct ib_sge from = rig_sge(rig, 0, 0, 64), to = rig_sge(rig, 1, 0, 4096);
	struct ib_recv_wr rwr = { .sg_list = &to, .num_sge = 1 };
	struct ib_send_wr swr = {
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = &from,
		.num_sge = 1,
	};
	int i;

	for (i = 0; i < 4; i++) {
		TRY(rig_post_recv(rig, 1, 0, 4096, i));
		rwr.wr_id = OTHER + i;
		TRY(ib_post_recv(other[1], &rwr, NULL));
	}
	for (i = 0; i < 4; i++) {
		TRY(rig_post_send(rig, IB_WR_SEND, 64, i));
		swr.wr_id = OTHER + i;
		TRY(ib_post_send(other[0], &swr, NULL));
	}
	return 0;
}

/* Returns how many of the new queue pairs have a number of an old one, or a negative errno. */
static int replace_pair(struct rig *rig)
{
	u32 old[NUM_QPS] = { rig->qp[0]->qp_num, rig->qp[1]->qp_num };
	int i, again = 0;

	for (i = 0; i < NUM_QPS; i++) {
		TRY(ib_destroy_qp(rig->qp[i]));
		rig->qp[i] = NULL;
	}
	for (i = 0; i < NUM_QPS; i++) {
		rig->qp[i] = rig_make_qp(rig, IB_QPT_RC, rig->cq[i]);
		TRY(PTR_ERR_OR_ZERO(rig->qp[i]));
		again += rig->qp[i]->qp_num == old[0] || rig->qp[i]->qp_num == old[1];
	}
	return again;
}

/* The CQs have completions of the pair that is destroyed, between completions of another pair. */
static int reuse_numbers(struct rig *rig, struct ib_qp *const other[NUM_QPS])
{
	int round, i, k, ret, again = 0;
	struct ib_wc wc;

	TRY(rig_connect_pair(rig, other));
	for (round = 0; round < 10; round++) {
		TRY(exchange_on_both(rig, other));
		msleep(20);
		ret = replace_pair(rig);
		if (ret < 0)
			return ret;
		again += ret;
		TRY(rig_connect(rig));
		for (i = 0; i < NUM_QPS; i++) {
			for (k = 0; k < 4; k++) {
				TRY(rig_reap(rig, i, &wc));
				EXPECT_EQ(IB_WC_SUCCESS, wc.status);
				EXPECT(wc.qp == other[i]);
				EXPECT_EQ(OTHER + k, wc.wr_id);
			}
		}
		EXPECT(rig_idle(rig));
		TRY(test_send(rig));
	}
	if (!again)
		LACKS("the HCA does not use the numbers of queue pairs again soon");
	return 0;
}

static int test_numbers_used_again(struct rig *rig)
{
	struct ib_qp *other[NUM_QPS];
	int err;

	other[0] = rig_make_qp(rig, IB_QPT_RC, rig->cq[0]);
	TRY(PTR_ERR_OR_ZERO(other[0]));
	other[1] = rig_make_qp(rig, IB_QPT_RC, rig->cq[1]);
	err = PTR_ERR_OR_ZERO(other[1]) ?: reuse_numbers(rig, other);
	if (!IS_ERR(other[1]))
		ib_destroy_qp(other[1]);
	ib_destroy_qp(other[0]);
	return err;
}

/*
 * A consumer that destroys a queue pair need not poll its completions first. The destruction makes
 * room in the CQ for the completions of the next queue pairs: all these queue pairs together have
 * more completions than the CQ has entries.
 */
static int destroy_unpolled(struct rig *rig)
{
	struct ib_sge sge = rig_sge(rig, 0, 0, 8);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
	};
	struct ib_qp_attr init = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };
	struct ib_qp *qp = rig_make_qp(rig, IB_QPT_RC, rig->cq[0]);
	int i, err;

	TRY(PTR_ERR_OR_ZERO(qp));
	err = rig_modify(qp, init, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS) ?:
	      rig_modify(qp, error, 0);
	for (i = 0; i < MAX_WR && !err; i++)
		err = ib_post_send(qp, &wr, NULL);
	/* The device flushes the requests meanwhile. */
	msleep(20);
	return ib_destroy_qp(qp) ?: err;
}

static int test_destroyed_leave_room(struct rig *rig)
{
	unsigned int i;

	for (i = 0; i < 4 * CQ_ENTRIES / MAX_WR; i++)
		TRY(destroy_unpolled(rig));
	EXPECT(rig_idle(rig));
	return test_send(rig);
}

/* ---- tests: a CQ for each work queue ------------------------------------------- */

/* Send a message from a queue pair to the other one, and look for both completions. */
static int exchange_on_two_cqs(struct rig *rig, int from)
{
	struct ib_sge source = rig_sge(rig, from, 0, 64);
	struct ib_send_wr wr = {
		.wr_id = 30 + from,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = &source,
		.num_sge = 1,
	};
	struct ib_wc wc;

	TRY(rig_post_recv(rig, !from, 0, 4096, 40 + from));
	TRY(ib_post_send(rig->qp[from], &wr, NULL));
	TRY(rig_reap(rig, 0, &wc));
	EXPECT_EQ(IB_WC_SUCCESS, wc.status);
	EXPECT_EQ(IB_WC_SEND, wc.opcode);
	EXPECT_EQ(30 + from, wc.wr_id);
	EXPECT(wc.qp == rig->qp[from]);
	TRY(rig_reap(rig, 1, &wc));
	EXPECT_EQ(IB_WC_SUCCESS, wc.status);
	EXPECT_EQ(IB_WC_RECV, wc.opcode);
	EXPECT_EQ(40 + from, wc.wr_id);
	EXPECT(wc.qp == rig->qp[!from]);
	return 0;
}

/*
 * The first CQ gets the completions of both send queues, the second CQ those of both receive
 * queues.
 */
static int make_pair_on_two_cqs(struct rig *rig)
{
	int i;

	for (i = 0; i < NUM_QPS; i++) {
		TRY(ib_destroy_qp(rig->qp[i]));
		rig->qp[i] = NULL;
	}
	EXPECT(rig_idle(rig));
	for (i = 0; i < NUM_QPS; i++) {
		rig->qp[i] = rig_make_qp_on(rig, IB_QPT_RC, rig->cq[0], rig->cq[1]);
		TRY(PTR_ERR_OR_ZERO(rig->qp[i]));
	}
	return rig_connect(rig);
}

/* The second and third pair replace queue pairs with completions that have not been polled. */
static int test_two_cqs(struct rig *rig)
{
	int round, i;

	for (round = 0; round < 3; round++) {
		TRY(make_pair_on_two_cqs(rig));
		for (i = 0; i < NUM_QPS; i++)
			TRY(exchange_on_two_cqs(rig, i));
		EXPECT(rig_idle(rig));
		TRY(rig_post_recv(rig, 1, 0, 4096, 1));
		TRY(rig_post_send(rig, IB_WR_SEND, 64, 2));
		msleep(20);
	}
	return make_pair_on_two_cqs(rig);
}

const struct rig_test send_tests[] = {
	{ "rc_send", test_send, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_send_imm", test_send_imm, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_empty", test_empty, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_inline", test_inline, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_gather_and_scatter", test_gather_and_scatter, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_queue_wraps", test_queue_wraps, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_chain", test_chain, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_bad_requests", test_bad_requests, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_full_queues", test_full_queues, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_local_error", test_local_error, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_longer_than_list", test_longer_than_list, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_reset", test_reset, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_destroy", test_destroy, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_destroyed_leave_room", test_destroyed_leave_room, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_numbers_used_again", test_numbers_used_again, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_two_cqs", test_two_cqs, IB_QPT_RC, IB_POLL_DIRECT },
	{ "uc_send", test_send, IB_QPT_UC, IB_POLL_DIRECT },
	{ "uc_send_imm", test_send_imm, IB_QPT_UC, IB_POLL_DIRECT },
	{ "uc_inline", test_inline, IB_QPT_UC, IB_POLL_DIRECT },
	{}
};
