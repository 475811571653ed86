// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of kernel verbs: events of completion queues, and queues that are drained.
 */

#include <linux/delay.h>
#include <linux/dim.h>

#include "rig.h"

/* Send messages with CQs that ib_core polls when there is an event. */
static int test_events(struct rig *rig)
{
	struct waiter sent, received;
	int i;

	for (i = 0; i < 200; i++) {
		waiter_init(&sent);
		waiter_init(&received);
		fill_pattern(rig->buf[0], 64, i);
		TRY(rig_post_recv(rig, 1, 0, 4096, (uintptr_t)&received.cqe));
		TRY(rig_post_send(rig, IB_WR_SEND, 64, (uintptr_t)&sent.cqe));
		TRY(wait_for(&sent));
		TRY(wait_for(&received));
		EXPECT_EQ(IB_WC_SUCCESS, sent.status);
		EXPECT_EQ(IB_WC_SUCCESS, received.status);
		EXPECT(has_pattern(rig->buf[1], 64, i));
	}
	return 0;
}

static int test_drain(struct rig *rig)
{
	struct waiter received[8];
	int i;

	for (i = 0; i < ARRAY_SIZE(received); i++) {
		waiter_init(&received[i]);
		TRY(rig_post_recv(rig, 1, 0, 4096, (uintptr_t)&received[i].cqe));
	}
	ib_drain_qp(rig->qp[1]);
	for (i = 0; i < ARRAY_SIZE(received); i++) {
		EXPECT(try_wait_for_completion(&received[i].done));
		EXPECT_EQ(IB_WC_WR_FLUSH_ERR, received[i].status);
	}
	return 0;
}

/*
 * Send until a request fails, because the process that runs the test lets the device fail. Then all
 * requests that are posted are flushed; later requests are flushed, too, or refused; and the queues
 * can be drained.
 */
static int test_until_failure(struct rig *rig)
{
	unsigned long end = jiffies + msecs_to_jiffies(TIMEOUT_MS);
	struct waiter received[8], sent;
	unsigned int i, n = 0;
	int err;

	for (i = 0; i < ARRAY_SIZE(received); i++) {
		waiter_init(&received[i]);
		TRY(rig_post_recv(rig, 1, 0, 4096, (uintptr_t)&received[i].cqe));
	}
	do {
		EXPECT(time_before(jiffies, end));
		waiter_init(&sent);
		sent.status = IB_WC_WR_FLUSH_ERR;
		err = rig_post_send(rig, IB_WR_SEND, 64, (uintptr_t)&sent.cqe);
		if (!err)
			TRY(wait_for(&sent));
		if (sent.status)
			break;
		i = n++ % ARRAY_SIZE(received);
		TRY(wait_for(&received[i]));
		waiter_init(&received[i]);
		err = rig_post_recv(rig, 1, 0, 4096, (uintptr_t)&received[i].cqe);
		if (err)
			complete(&received[i].done);
	} while (!err);
	EXPECT(!err || err == -EIO);
	EXPECT_EQ(IB_WC_WR_FLUSH_ERR, sent.status ?: IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < ARRAY_SIZE(received); i++)
		TRY(wait_for(&received[i]));
	waiter_init(&sent);
	err = rig_post_send(rig, IB_WR_SEND, 64, (uintptr_t)&sent.cqe);
	EXPECT(!err || err == -EIO);
	if (!err) {
		TRY(wait_for(&sent));
		EXPECT_EQ(IB_WC_WR_FLUSH_ERR, sent.status);
	}
	ib_drain_qp(rig->qp[0]);
	ib_drain_qp(rig->qp[1]);
	return 0;
}

static void count_event(struct ib_cq *cq, void *context)
{
	complete(context);
}

/* A CQ that is armed for solicited completions raises no event for other completions. */
static int test_solicited(struct rig *rig)
{
	struct ib_cq_init_attr attr = { .cqe = CQ_ENTRIES };
	struct ib_sge sge = rig_sge(rig, 0, 0, 8);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct completion event;
	struct ib_qp *old;
	struct ib_cq *cq;
	struct ib_wc wc;
	int err;

	init_completion(&event);
	cq = ib_create_cq(rig->dev, count_event, NULL, &event, &attr);
	TRY(PTR_ERR_OR_ZERO(cq));
	old = rig->qp[1];
	rig->qp[1] = rig_make_qp(rig, IB_QPT_RC, cq);
	err = PTR_ERR_OR_ZERO(rig->qp[1]) ?: rig_modify(rig->qp[0], (struct ib_qp_attr){
		.qp_state = IB_QPS_RESET }, 0) ?: rig_connect(rig) ?:
		rig_post_recv(rig, 1, 0, 64, 1) ?: rig_post_recv(rig, 1, 0, 64, 2);
	if (!err) {
		ib_req_notify_cq(cq, IB_CQ_SOLICITED);
		err = ib_post_send(rig->qp[0], &wr, NULL);
	}
	if (!err && wait_for_completion_timeout(&event, HZ / 5))
		err = FAILED("events", 1, 0);
	wr.send_flags = IB_SEND_SOLICITED;
	err = err ?: ib_post_send(rig->qp[0], &wr, NULL);
	if (!err && !wait_for_completion_timeout(&event, msecs_to_jiffies(TIMEOUT_MS)))
		err = FAILED("events", 0, 1);
	/* The CQ has completions that were not polled, so arming it raises an event at once. */
	if (!err && ib_req_notify_cq(cq, IB_CQ_NEXT_COMP) < 0)
		err = FAILED("arming", 0, 1);
	if (!err && !wait_for_completion_timeout(&event, msecs_to_jiffies(TIMEOUT_MS)))
		err = FAILED("events", 0, 1);
	if (!err && (ib_poll_cq(cq, 1, &wc) != 1 || ib_poll_cq(cq, 1, &wc) != 1))
		err = FAILED("completions", 0, 2);
	if (!err)
		ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	if (!err && wait_for_completion_timeout(&event, HZ / 5))
		err = FAILED("events", 1, 0);
	if (!IS_ERR_OR_NULL(rig->qp[1]))
		ib_destroy_qp(rig->qp[1]);
	rig->qp[1] = old;
	ib_destroy_cq(cq);
	return err;
}

/* ---- moderation ------------------------------------------------------------------ */

#define MAX_BURST	54	/* requests that are posted at once */
#define BURSTS		(2 * DIM_NEVENTS)
#define ADAPT_MS	13000

struct burst {
	struct ib_cqe cqe;
	struct completion done;
	unsigned int left;
	bool failed;
};

static void burst_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct burst *burst = container_of(wc->wr_cqe, struct burst, cqe);

	burst->failed |= wc->status != IB_WC_SUCCESS;
	if (!--burst->left)
		complete(&burst->done);
}

/* Post @num empty RDMA WRITEs at once, which need no memory, wait for them, and then pause. */
static int send_burst(struct rig *rig, unsigned int num, unsigned int pause_us)
{
	static struct ib_rdma_wr wr[MAX_BURST];	/* only one test runs at a time */
	struct burst burst = { .cqe.done = burst_done, .left = num };
	unsigned int i;

	init_completion(&burst.done);
	for (i = 0; i < num; i++)
		wr[i].wr = (struct ib_send_wr){
			.wr_cqe = &burst.cqe,
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
			.next = i + 1 < num ? &wr[i + 1].wr : NULL,
		};
	TRY(ib_post_send(rig->qp[0], &wr[0].wr, NULL));
	EXPECT(wait_for_completion_timeout(&burst.done, msecs_to_jiffies(TIMEOUT_MS)));
	EXPECT(!burst.failed);
	if (pause_us)
		usleep_range(pause_us, pause_us * 2);
	return 0;
}

static int send_bursts(struct rig *rig, unsigned int num, unsigned int pause_us)
{
	unsigned int i;

	for (i = 0; i < BURSTS; i++)
		TRY(send_burst(rig, num, pause_us));
	return 0;
}

/*
 * ib_core compares the numbers of completions per millisecond, and per event, with the numbers of
 * the time before. If they grow, ib_core makes an event wait for several completions. If single
 * completions come some time apart, each of them raises an event again.
 */
static int test_moderation(struct rig *rig)
{
	unsigned long end = jiffies + msecs_to_jiffies(ADAPT_MS);
	struct dim *dim = rig->cq[0]->dim;
	unsigned int num;

	EXPECT(dim);
	EXPECT_EQ(RDMA_DIM_START_PROFILE, READ_ONCE(dim->profile_ix));
	while (READ_ONCE(dim->profile_ix) < 2) {
		EXPECT(time_before(jiffies, end));
		TRY(send_bursts(rig, 1, 1000));
		for (num = 2; num <= MAX_BURST && READ_ONCE(dim->profile_ix) < 2; num *= 3)
			TRY(send_bursts(rig, num, 0));
	}
	end = jiffies + msecs_to_jiffies(ADAPT_MS);
	while (READ_ONCE(dim->profile_ix) >= 2) {
		EXPECT(time_before(jiffies, end));
		TRY(send_bursts(rig, 1, 1000));
	}
	/* Wait until the newest setting has been sent to the device. */
	flush_work(&dim->work);
	return 0;
}

const struct rig_test event_tests[] = {
	{ "rc_events_softirq", test_events, IB_QPT_RC, IB_POLL_SOFTIRQ },
	{ "rc_events_workqueue", test_events, IB_QPT_RC, IB_POLL_WORKQUEUE },
	{ "rc_drain_softirq", test_drain, IB_QPT_RC, IB_POLL_SOFTIRQ },
	{ "rc_drain_workqueue", test_drain, IB_QPT_RC, IB_POLL_WORKQUEUE },
	{ "rc_until_failure_softirq", test_until_failure, IB_QPT_RC, IB_POLL_SOFTIRQ },
	{ "rc_until_failure_workqueue", test_until_failure, IB_QPT_RC, IB_POLL_WORKQUEUE },
	{ "rc_solicited", test_solicited, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_moderation", test_moderation, IB_QPT_RC, IB_POLL_SOFTIRQ },
	{}
};
