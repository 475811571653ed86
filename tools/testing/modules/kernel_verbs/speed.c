// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long the calls of a consumer take, in nanoseconds. Interrupts are off meanwhile, so that the
 * processor does nothing else in this time. In a guest that scripts/vm runs with --icount, whose
 * clock counts instructions, each run measures the same time.
 */

#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/math64.h>

#include "rig.h"

#define BATCHES		40
#define BATCH		16	/* requests */
#define BYTES		64	/* of a message */
#define SETTLE_MS	20	/* enough for the device to complete a batch */
#define WRITES		4000
#define WINDOW		32	/* writes that are not complete */

enum call { POST_RECV, POST_SEND, POLL_SEND, POLL_RECV, MAKE_AH, NUM_CALLS };

/**
 * struct requests - what the calls post, made before the time is taken
 * @sge: data of a message, in the buffer of each side
 * @recv: request that receives the message
 * @send: request that sends the message
 * @address: of the port itself, for address handles
 */
struct requests {
	struct ib_sge sge[NUM_QPS];
	struct ib_recv_wr recv;
	struct ib_send_wr send;
	struct rdma_ah_attr address;
};

static void make_requests(struct rig *rig, struct requests *requests)
{
	int i;

	for (i = 0; i < NUM_QPS; i++)
		requests->sge[i] = rig_sge(rig, i, 0, BYTES);
	requests->recv = (struct ib_recv_wr){
		.wr_id = 1, .sg_list = &requests->sge[1], .num_sge = 1,
	};
	requests->send = (struct ib_send_wr){
		.wr_id = 2, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		.sg_list = &requests->sge[0], .num_sge = 1,
	};
	rig_address(rig, &requests->address);
}

/* Create and destroy an address handle, as a consumer does that must not sleep. */
static int make_ah(struct rig *rig, const struct requests *requests)
{
	struct rdma_ah_attr attr = requests->address;
	struct ib_ah *ah = rdma_create_ah(rig->pd, &attr, 0);

	TRY(PTR_ERR_OR_ZERO(ah));
	rdma_destroy_ah(ah, 0);
	return 0;
}

static int call(struct rig *rig, const struct requests *requests, enum call call,
		struct ib_wc *wc)
{
	switch (call) {
	case POST_RECV:
		return ib_post_recv(rig->qp[1], &requests->recv, NULL);
	case POST_SEND:
		return ib_post_send(rig->qp[0], &requests->send, NULL);
	case POLL_SEND:
		return ib_poll_cq(rig->cq[0], 1, wc) == 1 ? 0 : -EAGAIN;
	case POLL_RECV:
		return ib_poll_cq(rig->cq[1], 1, wc) == 1 ? 0 : -EAGAIN;
	default:
		return make_ah(rig, requests);
	}
}

/* The time of a batch of calls, or a negative errno. */
static s64 time_calls(struct rig *rig, const struct requests *requests, enum call which,
		      struct ib_wc *wc)
{
	unsigned long flags;
	int i, err = 0;
	s64 start, end;

	local_irq_save(flags);
	start = ktime_get_ns();
	for (i = 0; i < BATCH && !err; i++)
		err = call(rig, requests, which, wc);
	end = ktime_get_ns();
	local_irq_restore(flags);
	return err ?: end - start;
}

/* The least time of each call. A batch that was not complete when it was polled is an error. */
static int test_calls(struct rig *rig)
{
	struct requests requests;
	s64 least[NUM_CALLS], t;
	struct ib_wc wc = {};
	int i, which;

	make_requests(rig, &requests);
	for (i = 0; i < BATCHES; i++) {
		for (which = 0; which < NUM_CALLS; which++) {
			if (which == POLL_SEND)
				msleep(SETTLE_MS);
			t = time_calls(rig, &requests, which, &wc);
			if (t < 0)
				return FAILED("a call fails", t, 0);
			EXPECT_EQ(IB_WC_SUCCESS, wc.status);
			least[which] = i ? min(least[which], t) : t;
		}
	}
	snprintf(rig_report, sizeof(rig_report),
		 "post_recv %lld post_send %lld poll_send %lld poll_recv %lld make_ah %lld\n",
		 div_s64(least[POST_RECV], BATCH), div_s64(least[POST_SEND], BATCH),
		 div_s64(least[POLL_SEND], BATCH), div_s64(least[POLL_RECV], BATCH),
		 div_s64(least[MAKE_AH], BATCH));
	return 0;
}

/* The time of a small write, if up to WINDOW writes are in flight. */
static int test_writes(struct rig *rig)
{
	int posted = 0, done = 0;
	struct ib_wc wc;
	s64 start;

	TRY(rig_open_region(rig, 0, PAGE_SIZE));
	start = ktime_get_ns();
	while (done < WRITES) {
		while (posted < WRITES && posted - done < WINDOW) {
			TRY(rig_post_rdma(rig, IB_WR_RDMA_WRITE, BYTES, rig->mr->iova,
					  rig->mr->rkey, posted));
			posted++;
		}
		REAP(rig, 0, done, &wc);
		done++;
	}
	snprintf(rig_report, sizeof(rig_report), "write %lld\n",
		 div_s64(ktime_get_ns() - start, WRITES));
	return 0;
}

/* The time of a message, from the posts to both completions. Other tasks may run meanwhile. */
static int test_messages(struct rig *rig)
{
	s64 start = ktime_get_ns();
	struct ib_wc wc;
	int i;

	for (i = 0; i < BATCH; i++) {
		TRY(rig_post_recv(rig, 1, 0, BYTES, i));
		TRY(rig_post_send(rig, IB_WR_SEND, BYTES, i));
		REAP(rig, 0, i, &wc);
		REAP(rig, 1, i, &wc);
	}
	snprintf(rig_report, sizeof(rig_report), "message %lld\n",
		 div_s64(ktime_get_ns() - start, BATCH));
	return 0;
}

const struct rig_test speed_tests[] = {
	{ "speed_calls", test_calls, IB_QPT_RC, IB_POLL_DIRECT },
	{ "speed_writes", test_writes, IB_QPT_RC, IB_POLL_DIRECT },
	{ "speed_messages", test_messages, IB_QPT_RC, IB_POLL_DIRECT },
	{}
};
