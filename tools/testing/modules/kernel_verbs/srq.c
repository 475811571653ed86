// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of kernel verbs: shared receive queues. Both queue pairs of the rig receive from the SRQ,
 * and each sends to the other one.
 */

#include <linux/delay.h>

#include "rig.h"

#define SLOT		4096u
#define NUM_SLOTS	8u	/* of a buffer; an SRQ has room for SRQ_WR requests */
#define MOST_REQUESTS	1024	/* more than an SRQ of SRQ_WR requests has room for */
#define SENT		5000	/* wr_id of sends; receives have smaller ones */
#define QUIET_MS	50	/* how long an event that must not come is waited for */

static int post_srq(struct rig *rig, unsigned int off, unsigned int len, u64 wr_id)
{
	struct ib_sge sge = rig_sge(rig, 1, off, len);
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	return ib_post_srq_recv(rig->srq, &wr, NULL);
}

/* Post the request of a slot of the second buffer. The wr_id is the number of the slot. */
static int post_slot(struct rig *rig, unsigned int slot)
{
	return post_srq(rig, slot * SLOT, SLOT, slot);
}

/* The queue pairs send different parts of the first buffer. */
static int send_from(struct rig *rig, int side, unsigned int len, unsigned int seed)
{
	struct ib_sge sge = rig_sge(rig, 0, side * SLOT, len);
	struct ib_send_wr wr = {
		.wr_id = SENT,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
	};

	fill_pattern(rig->buf[0] + side * SLOT, len, seed);
	return ib_post_send(rig->qp[side], &wr, NULL);
}

/* Reap the send and the receive of a queue pair, in either order. @recv gets the receive. */
static int reap_both(struct rig *rig, int side, struct ib_wc *recv)
{
	bool sent = false, received = false;
	struct ib_wc wc;

	while (!sent || !received) {
		TRY(rig_reap(rig, side, &wc));
		EXPECT_EQ(IB_WC_SUCCESS, wc.status);
		EXPECT(wc.qp == rig->qp[side]);
		if (wc.wr_id == SENT) {
			EXPECT(!sent);
			EXPECT_EQ(IB_WC_SEND, wc.opcode);
			sent = true;
		} else {
			EXPECT(!received);
			EXPECT_EQ(IB_WC_RECV, wc.opcode);
			received = true;
			*recv = wc;
		}
	}
	return 0;
}

/* Send from one queue pair to the other one, and reap both completions. */
static int pass(struct rig *rig, int from, unsigned int len, unsigned int seed, struct ib_wc *recv)
{
	struct ib_wc wc;

	TRY(send_from(rig, from, len, seed));
	REAP(rig, from, SENT, &wc);
	TRY(rig_reap(rig, !from, recv));
	EXPECT_EQ(IB_WC_SUCCESS, recv->status);
	EXPECT_EQ(IB_WC_RECV, recv->opcode);
	EXPECT(recv->qp == rig->qp[!from]);
	EXPECT_EQ(len, recv->byte_len);
	return 0;
}

/*
 * A long message and a short one are in flight at a time, so their receives may complete in either
 * order; and the test posts the receives again in either order.
 */
static int test_srq_two_queue_pairs(struct rig *rig)
{
	unsigned int i, side, slot, len[2], used[2];
	unsigned long posted = 0;
	struct ib_wc wc;

	EXPECT(rig->srq_attr.max_wr >= SRQ_WR);
	EXPECT(rig->srq_attr.max_sge >= SRQ_SGE);
	for (slot = 0; slot < NUM_SLOTS; slot++) {
		TRY(post_slot(rig, slot));
		posted |= BIT(slot);
	}
	for (i = 0; i < 300; i++) {
		len[i % 2] = SLOT - i;
		len[!(i % 2)] = 1 + i % 50;
		for (side = 0; side < 2; side++)
			TRY(send_from(rig, side, len[side], i + side));
		for (side = 0; side < 2; side++) {
			TRY(reap_both(rig, side, &wc));
			EXPECT(wc.wr_id < NUM_SLOTS);
			slot = wc.wr_id;
			EXPECT(posted & BIT(slot));
			posted &= ~BIT(slot);
			EXPECT_EQ(len[!side], wc.byte_len);
			EXPECT(has_pattern(rig->buf[1] + slot * SLOT, wc.byte_len, i + !side));
			used[side] = slot;
		}
		for (side = 0; side < 2; side++) {
			slot = used[i % 3 ? side : !side];
			TRY(post_slot(rig, slot));
			posted |= BIT(slot);
		}
	}
	EXPECT(rig_idle(rig));
	return 0;
}

static int test_srq_chain(struct rig *rig)
{
	struct ib_recv_wr wr[NUM_SLOTS] = {};
	struct ib_sge sge[NUM_SLOTS][SRQ_SGE];
	unsigned int i, k, seen = 0;
	struct ib_wc wc;

	for (i = 0; i < NUM_SLOTS; i++) {
		/* Two segments of 50 bytes, and the rest of the slot. */
		for (k = 0; k < SRQ_SGE; k++)
			sge[i][k] = rig_sge(rig, 1, i * SLOT + 50 * k, k < 2 ? 50 : SLOT - 100);
		wr[i].wr_id = i;
		wr[i].sg_list = sge[i];
		wr[i].num_sge = SRQ_SGE;
		wr[i].next = i < NUM_SLOTS - 1 ? &wr[i + 1] : NULL;
	}
	TRY(ib_post_srq_recv(rig->srq, wr, NULL));
	for (i = 0; i < NUM_SLOTS; i++) {
		TRY(pass(rig, i % 2, 30 + 40 * i, i, &wc));
		EXPECT(wc.wr_id < NUM_SLOTS);
		EXPECT(!(seen & BIT(wc.wr_id)));
		seen |= BIT(wc.wr_id);
		EXPECT(has_pattern(rig->buf[1] + wc.wr_id * SLOT, 30 + 40 * i, i));
	}
	EXPECT(rig_idle(rig));
	return 0;
}

/* ---- full ---------------------------------------------------------------------- */

/* Post until the queue is full. @posted gets how many requests there was room for. */
static int fill_srq(struct rig *rig, unsigned int *posted)
{
	unsigned int n;
	int err = 0;

	for (n = 0; n < MOST_REQUESTS; n++) {
		err = post_srq(rig, 0, 64, n);
		if (err)
			break;
	}
	EXPECT_EQ(-ENOMEM, err);
	*posted = n;
	return 0;
}

static int empty_srq(struct rig *rig, unsigned int posted)
{
	DECLARE_BITMAP(seen, MOST_REQUESTS + 1) = {};
	struct ib_wc wc;
	unsigned int i;

	for (i = 0; i < posted; i++) {
		TRY(pass(rig, i % 2, 8, i, &wc));
		EXPECT(wc.wr_id <= MOST_REQUESTS);
		EXPECT(!__test_and_set_bit(wc.wr_id, seen));
	}
	return 0;
}

static int test_srq_full(struct rig *rig)
{
	struct ib_sge sge = rig_sge(rig, 1, 0, 64);
	struct ib_recv_wr third = { .wr_id = 3, .sg_list = &sge, .num_sge = 1 };
	struct ib_recv_wr second = { .next = &third, .wr_id = 2, .sg_list = &sge, .num_sge = 1 };
	struct ib_recv_wr first = {
		.next = &second, .wr_id = MOST_REQUESTS, .sg_list = &sge, .num_sge = 1,
	};
	const struct ib_recv_wr *bad = NULL;
	unsigned int round, room, again;
	struct ib_wc wc;

	TRY(fill_srq(rig, &room));
	EXPECT(room >= rig->srq_attr.max_wr);
	for (round = 0; round < 3; round++) {
		EXPECT_EQ(-ENOMEM, ib_post_srq_recv(rig->srq, &third, &bad));
		EXPECT(bad == &third);
		/* A message makes room for one request: only the first of three is posted. */
		TRY(pass(rig, round % 2, 8, round, &wc));
		EXPECT(wc.wr_id < room);
		bad = NULL;
		EXPECT_EQ(-ENOMEM, ib_post_srq_recv(rig->srq, &first, &bad));
		EXPECT(bad == &second);
		TRY(empty_srq(rig, room));
		EXPECT(rig_idle(rig));
		TRY(fill_srq(rig, &again));
		EXPECT_EQ(room, again);
	}
	return 0;
}

static int test_srq_bad_requests(struct rig *rig)
{
	struct ib_sge sge[32];
	struct ib_recv_wr second = { .wr_id = 2, .sg_list = sge };
	struct ib_recv_wr first = { .next = &second, .wr_id = 1, .sg_list = sge, .num_sge = 1 };
	const struct ib_recv_wr *bad = NULL;
	struct ib_wc wc;
	unsigned int i;

	EXPECT(rig->srq_attr.max_sge < ARRAY_SIZE(sge));
	for (i = 0; i < ARRAY_SIZE(sge); i++)
		sge[i] = rig_sge(rig, 1, 64 * i, 64);
	second.num_sge = rig->srq_attr.max_sge + 1;
	EXPECT_EQ(-EINVAL, ib_post_srq_recv(rig->srq, &second, &bad));
	EXPECT(bad == &second);
	bad = NULL;
	EXPECT_EQ(-EINVAL, ib_post_srq_recv(rig->srq, &first, &bad));
	EXPECT(bad == &second);
	/*
	 * The request before the bad one has been posted, and a request with max_sge segments is
	 * accepted.
	 */
	second.num_sge = rig->srq_attr.max_sge;
	TRY(ib_post_srq_recv(rig->srq, &second, NULL));
	TRY(pass(rig, 0, 8, 1, &wc));
	EXPECT_EQ(1, wc.wr_id);
	TRY(pass(rig, 1, 64 * second.num_sge, 2, &wc));
	EXPECT_EQ(2, wc.wr_id);
	EXPECT(has_pattern(rig->buf[1], 64 * second.num_sge, 2));
	EXPECT(rig_idle(rig));
	return 0;
}

/* ---- the object ---------------------------------------------------------------- */

static int try_srq(struct rig *rig, u32 max_wr, u32 max_sge)
{
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_BASIC,
		.attr = { .max_wr = max_wr, .max_sge = max_sge },
	};
	struct ib_srq *srq = ib_create_srq(rig->pd, &init);

	if (IS_ERR(srq))
		return PTR_ERR(srq);
	ib_destroy_srq(srq);
	EXPECT(init.attr.max_wr >= max_wr);
	EXPECT(init.attr.max_sge >= max_sge);
	return 0;
}

static int test_srq_sizes(struct rig *rig)
{
	const struct ib_device_attr *attrs = &rig->dev->attrs;

	TRY(try_srq(rig, 1, 1));
	TRY(try_srq(rig, 100, 2));
	TRY(try_srq(rig, attrs->max_srq_wr, 1));
	TRY(try_srq(rig, 1, attrs->max_srq_sge));
	EXPECT_EQ(-EINVAL, try_srq(rig, attrs->max_srq_wr + 1, 1));
	/* The queue pairs of the rig use its SRQ. */
	EXPECT_EQ(-EBUSY, ib_destroy_srq_user(rig->srq, NULL));
	return 0;
}

/* ---- the limit ----------------------------------------------------------------- */

static int set_limit(struct rig *rig, u32 limit)
{
	struct ib_srq_attr attr = { .srq_limit = limit };

	return ib_modify_srq(rig->srq, &attr, IB_SRQ_LIMIT);
}

static int expect_limit(struct rig *rig, u32 limit)
{
	struct ib_srq_attr attr = {};

	TRY(ib_query_srq(rig->srq, &attr));
	EXPECT_EQ(limit, attr.srq_limit);
	EXPECT(attr.max_wr >= SRQ_WR);
	EXPECT(attr.max_sge >= SRQ_SGE);
	return 0;
}

static int expect_no_limit_event(struct rig *rig)
{
	msleep(QUIET_MS);
	EXPECT(!try_wait_for_completion(&rig->limit));
	return 0;
}

static int test_srq_limit(struct rig *rig)
{
	struct ib_srq_attr size = { .max_wr = 2 * SRQ_WR };
	unsigned int i, round;
	struct ib_wc wc;

	TRY(expect_limit(rig, 0));
	EXPECT_EQ(-EINVAL, set_limit(rig, 0x10001));
	EXPECT_EQ(-EINVAL, ib_modify_srq(rig->srq, &size, IB_SRQ_MAX_WR));
	for (round = 0; round < 2; round++) {
		for (i = 0; i < NUM_SLOTS; i++)
			TRY(post_slot(rig, i));
		TRY(set_limit(rig, 5));
		TRY(expect_limit(rig, 5));
		for (i = NUM_SLOTS; i > 5; i--)
			TRY(pass(rig, i % 2, 8, i, &wc));
		TRY(expect_no_limit_event(rig));
		TRY(pass(rig, 0, 8, 0, &wc));
		EXPECT(wait_for_completion_timeout(&rig->limit, msecs_to_jiffies(TIMEOUT_MS)));
		TRY(expect_limit(rig, 0));
		/*
		 * A limit raises one event: further messages raise none until the limit is set
		 * again.
		 */
		for (i = 4; i > 0; i--)
			TRY(pass(rig, i % 2, 8, i, &wc));
		TRY(expect_no_limit_event(rig));
	}
	return 0;
}

/* ---- queue pairs that end ------------------------------------------------------ */

/* Destroy or reset the second queue pair, whose completions have not been polled. */
static int end_queue_pair(struct rig *rig, bool destroy)
{
	if (!destroy)
		return rig_modify(rig->qp[1], (struct ib_qp_attr){ .qp_state = IB_QPS_RESET }, 0);
	TRY(ib_destroy_qp(rig->qp[1]));
	rig->qp[1] = NULL;
	return 0;
}

static int renew_queue_pair(struct rig *rig)
{
	if (!rig->qp[1])
		rig->qp[1] = rig_make_qp(rig, IB_QPT_RC, rig->cq[1]);
	TRY(PTR_ERR_OR_ZERO(rig->qp[1]));
	TRY(rig_modify(rig->qp[0], (struct ib_qp_attr){ .qp_state = IB_QPS_RESET }, 0));
	return rig_connect(rig);
}

/*
 * No poll reports the completions of the queue pair, and the SRQ has room for their requests again.
 */
static int test_srq_unpolled(struct rig *rig)
{
	const unsigned int received = 4;
	unsigned int round, room, i;
	struct ib_wc wc;

	TRY(fill_srq(rig, &room));
	for (round = 0; round < 20; round++) {
		for (i = 0; i < received; i++) {
			TRY(send_from(rig, 0, 8, i));
			REAP(rig, 0, SENT, &wc);
		}
		EXPECT_EQ(-ENOMEM, post_srq(rig, 0, 64, 1));
		TRY(end_queue_pair(rig, round % 2));
		EXPECT(rig_idle(rig));
		for (i = 0; i < received; i++)
			TRY(post_srq(rig, 0, 64, round));
		EXPECT_EQ(-ENOMEM, post_srq(rig, 0, 64, 1));
		TRY(renew_queue_pair(rig));
		TRY(pass(rig, round % 2, 8, round, &wc));
		TRY(post_srq(rig, 0, 64, round));
	}
	return 0;
}

/*
 * A queue pair in the error state raises LAST_WQE_REACHED. The other queue pair of the SRQ goes on,
 * and raises the event when ib_drain_qp() drains it.
 */
static int test_srq_last_wqe(struct rig *rig)
{
	unsigned long patience = msecs_to_jiffies(TIMEOUT_MS);
	struct waiter received[6], sent[2];
	unsigned int i, n = 0;
	unsigned long start;

	for (i = 0; i < ARRAY_SIZE(received); i++) {
		waiter_init(&received[i]);
		TRY(post_srq(rig, i * SLOT, SLOT, (uintptr_t)&received[i].cqe));
	}
	TRY(rig_modify(rig->qp[1], (struct ib_qp_attr){ .qp_state = IB_QPS_ERR }, 0));
	EXPECT(wait_for_completion_timeout(&rig->last_wqe[1], patience));
	msleep(QUIET_MS);
	EXPECT(!completion_done(&rig->last_wqe[0]));
	/* ib_drain_qp() waits for the event of the queue pair, a minute at most. */
	start = jiffies;
	ib_drain_qp(rig->qp[1]);
	TRY(rig_modify(rig->qp[1], (struct ib_qp_attr){ .qp_state = IB_QPS_RESET }, 0));
	TRY(rig_modify(rig->qp[0], (struct ib_qp_attr){ .qp_state = IB_QPS_RESET }, 0));
	TRY(rig_connect(rig));
	for (i = 0; i < ARRAY_SIZE(sent); i++) {
		waiter_init(&sent[i]);
		TRY(rig_post_send(rig, IB_WR_SEND, 64, (uintptr_t)&sent[i].cqe));
	}
	for (i = 0; i < ARRAY_SIZE(sent); i++) {
		TRY(wait_for(&sent[i]));
		EXPECT_EQ(IB_WC_SUCCESS, sent[i].status);
	}
	ib_drain_qp(rig->qp[0]);
	EXPECT(try_wait_for_completion(&rig->last_wqe[0]));
	EXPECT(time_before(jiffies, start + patience));
	/*
	 * Only the requests that have received a message have completed. The others are still in
	 * the SRQ.
	 */
	msleep(QUIET_MS);
	for (i = 0; i < ARRAY_SIZE(received); i++)
		n += completion_done(&received[i].done);
	EXPECT_EQ(ARRAY_SIZE(sent), n);
	return 0;
}

/* ---- datagrams ----------------------------------------------------------------- */

static int exchange_datagrams(struct rig *rig, struct ib_ah *ah)
{
	unsigned int i, slot, seen = 0;
	struct ib_wc wc;
	int to;

	for (slot = 0; slot < NUM_SLOTS; slot++)
		TRY(post_slot(rig, slot));
	for (i = 0; i < NUM_SLOTS; i++) {
		to = i % 3 == 0;
		fill_pattern(rig->buf[0], 100 + i, i);
		TRY(rig_post_datagram(rig, !to, ah, rig->qp[to]->qp_num, 100 + i, SENT));
		REAP(rig, !to, SENT, &wc);
		TRY(rig_reap(rig, to, &wc));
		EXPECT_EQ(IB_WC_SUCCESS, wc.status);
		EXPECT(wc.qp == rig->qp[to]);
		EXPECT_EQ(100 + i + GRH_BYTES, wc.byte_len);
		EXPECT_EQ(rig->qp[!to]->qp_num, wc.src_qp);
		EXPECT(wc.wr_id < NUM_SLOTS);
		EXPECT(!(seen & BIT(wc.wr_id)));
		seen |= BIT(wc.wr_id);
		EXPECT(has_pattern(rig->buf[1] + wc.wr_id * SLOT + GRH_BYTES, 100 + i, i));
	}
	EXPECT(rig_idle(rig));
	return 0;
}

static int test_srq_datagrams(struct rig *rig)
{
	struct ib_ah *ah = rig_make_ah(rig);
	int err;

	TRY(PTR_ERR_OR_ZERO(ah));
	err = exchange_datagrams(rig, ah);
	rdma_destroy_ah(ah, 0);
	return err;
}

const struct rig_test srq_tests[] = {
	{ "srq_two_queue_pairs", test_srq_two_queue_pairs, IB_QPT_RC, IB_POLL_DIRECT, .srq = true },
	{ "srq_chain", test_srq_chain, IB_QPT_RC, IB_POLL_DIRECT, .srq = true },
	{ "srq_full", test_srq_full, IB_QPT_RC, IB_POLL_DIRECT, .srq = true },
	{ "srq_bad_requests", test_srq_bad_requests, IB_QPT_RC, IB_POLL_DIRECT, .srq = true },
	{ "srq_sizes", test_srq_sizes, IB_QPT_RC, IB_POLL_DIRECT, .srq = true },
	{ "srq_limit", test_srq_limit, IB_QPT_RC, IB_POLL_DIRECT, .srq = true },
	{ "srq_unpolled", test_srq_unpolled, IB_QPT_RC, IB_POLL_DIRECT, .srq = true },
	{ "srq_last_wqe_softirq", test_srq_last_wqe, IB_QPT_RC, IB_POLL_SOFTIRQ, .srq = true },
	{ "srq_last_wqe_workqueue", test_srq_last_wqe, IB_QPT_RC, IB_POLL_WORKQUEUE, .srq = true },
	{ "srq_datagrams", test_srq_datagrams, IB_QPT_UD, IB_POLL_DIRECT, .srq = true },
	{}
};
