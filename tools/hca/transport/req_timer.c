// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: the timer for retries and RNR, and retransmission from a PSN on.
 */
#include <event2/event.h>
#include <sys/queue.h>

#include "clock.h"
#include "cq.h"
#include "hca.h"
#include "packet.h"
#include "profile.h"
#include "qcounter.h"
#include "qp.h"
#include "req.h"
#include "sched.h"

/* A shorter timer could expire only because the host schedules a thread late. */
#define MIN_TIMEOUT_NS	10000000ull

/* RNR timer of the AETH, in units of 10 us (InfiniBand specification, table of RNR NAK timers). */
static const uint16_t rnr_10us[32] = {
	65535, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
	49152,
};

/*
 * The retry timers of real cards run for twice the time that InfiniBand defines (4.096 us * 2^n),
 * and for at least half a second. If the profile has a lower bound, the timers here also run for
 * twice the time, and at least for the bound.
 */
static uint64_t req_ack_timeout_ns(const struct requester *req)
{
	unsigned int log = req->run.qp->path.ack_timeout;
	unsigned int bound = req->hca->profile->log_min_ack_timeout;
	uint64_t ns;

	if (!log)
		return 0;
	if (bound)
		log = log + 1 < bound ? bound : log + 1;
	ns = 4096ull << log;
	return ns < MIN_TIMEOUT_NS ? MIN_TIMEOUT_NS : ns;
}

static void req_timer_fired(evutil_socket_t fd, short what, void *arg);

static void req_timer_add(struct requester *req, uint64_t ns)
{
	struct timeval tv = { .tv_sec = ns / 1000000000, .tv_usec = ns % 1000000000 / 1000 };

	if (!req->timer)
		req->timer = evtimer_new(req->hca->base, req_timer_fired, req);
	if (req->timer)
		evtimer_add(req->timer, &tv);
}

/**
 * req_timer_start() - start the retry timer
 * @req: the requester
 *
 * Adding the event again for each packet would cost too much. So only the deadline moves, and an
 * event that fires before the deadline is added again.
 */
void req_timer_start(struct requester *req)
{
	uint64_t ns = req_ack_timeout_ns(req);

	if (!ns || req->rnr_wait)
		return;
	if (!req->deadline_ns || !req->timer || !evtimer_pending(req->timer, NULL))
		req_timer_add(req, ns);
	req->deadline_ns = clock_now_ns() + ns;
}

/**
 * req_timer_extend() - let a running retry timer start over
 * @req: the requester
 */
void req_timer_extend(struct requester *req)
{
	if (req->deadline_ns)
		req->deadline_ns = clock_now_ns() + req_ack_timeout_ns(req);
}

/**
 * req_progress() - restore retries and timer, because the peer has acknowledged a packet
 * @req: the requester
 */
void req_progress(struct requester *req)
{
	struct qp *qp = req->run.qp;

	qp->cur_retry = qp->retry_count;
	qp->cur_rnr_retry = qp->rnr_retry;
	req->recovering = false;
	req_timer_extend(req);
	sched_kick(req->hca, &req->run);
}

/**
 * req_rewind() - retransmit from a PSN on
 * @req: the requester
 * @psn: the PSN
 *
 * Local operations are not executed again.
 */
void req_rewind(struct requester *req, uint32_t psn)
{
	struct send_op *op;
	bool found = false;
	int32_t ahead;

	TAILQ_FOREACH(op, &req->ops, link) {
		if (op->error == ERR_FLUSHED)
			continue;
		if (op->error)
			break;
		if (!op->started || op->finished || !op->npsn)
			continue;
		ahead = psn_diff(psn, op->psn);
		if (!found && ahead >= (int32_t)op->npsn)
			continue;
		op->sent = !found && ahead > 0 && !op->w.is_read ? ahead : 0;
		if (!found)
			req->cur = op;
		found = true;
	}
	sched_kick(req->hca, &req->run);
}

/**
 * req_retry() - retransmit what was not acknowledged, or fail if no retries are left
 * @req: the requester
 */
void req_retry(struct requester *req)
{
	struct send_op *op = req_oldest_unanswered(req);
	struct qp *qp = req->run.qp;

	if (!op)
		return;
	/* The requester itself waits for a page: the peer is not to blame. */
	if (req->fault) {
		req->again = true;
		return;
	}
	hca_trace(req->hca, "retry", "\"qpn\":%u,\"psn\":%u,\"left\":%u", qp->obj.num, req->una,
		  qp->cur_retry);
	if (!qp->cur_retry) {
		req_fail(req->hca, qp, op, ERR_NO_ANSWER);
		return;
	}
	qp->cur_retry--;
	req->recovering = true;
	req_rewind(req, req->una);
}

static void req_timer_fired(evutil_socket_t fd, short what, void *arg)
{
	struct requester *req = arg;
	uint64_t now = clock_now_ns();

	(void)fd;
	(void)what;
	if (req->rnr_wait) {
		req->rnr_wait = false;
		sched_kick(req->hca, &req->run);
		return;
	}
	if (!req->deadline_ns)
		return;
	if (now < req->deadline_ns) {
		req_timer_add(req, req->deadline_ns - now);
		return;
	}
	req->deadline_ns = 0;
	if (!req_oldest_unanswered(req))
		return;
	if (req->fault) {
		req_timer_start(req);
		return;
	}
	qcounter_add(req->hca, req->run.qp->counter_set, QC_ACK_TIMEOUT);
	req_retry(req);
}

/**
 * req_rnr() - wait for a receiver that is not ready, then retransmit
 * @req: the requester
 * @psn: of the packet that the receiver refused
 * @timer: RNR timer code of the AETH
 */
void req_rnr(struct requester *req, uint32_t psn, unsigned int timer)
{
	struct qp *qp = req->run.qp;
	struct send_op *op = req_oldest_unanswered(req);

	if (!op || req->rnr_wait)
		return;
	qcounter_add(req->hca, qp->counter_set, QC_RNR_RETRY_ERR);
	if (qp->rnr_retry != 7) {
		if (!qp->cur_rnr_retry) {
			req_fail(req->hca, qp, op, ERR_NO_RECEIVE);
			return;
		}
		qp->cur_rnr_retry--;
	}
	req_rewind(req, psn);
	req->deadline_ns = 0;
	req->rnr_wait = true;
	req_timer_add(req, rnr_10us[timer] * 10000ull);
}
