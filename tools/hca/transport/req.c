// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: the changes of state that concern it.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "cq.h"
#include "fault.h"
#include "hca.h"
#include "packet.h"
#include "qp.h"
#include "req.h"
#include "wqe.h"

static void req_flush_announced(struct hca *hca, void *queue)
{
	struct qp *qp = queue;
	struct requester *req = qp->req;
	uint16_t val;

	if (!qp_dbr_read(hca, qp, DBR_SND, &val) || (uint16_t)(val - qp->sq_hw) > qp->sq_cnt) {
		watch_set(hca, &req->watch, false);
		return;
	}
	if (val == qp->sq_hw)
		return;
	req->posted = val;
	req_flush(hca, qp);
}

/**
 * req_get() - find the requester of a queue pair, and make it at the first call
 * @hca: the HCA
 * @qp: the queue pair
 *
 * Return: the requester, or NULL if memory is short.
 */
struct requester *req_get(struct hca *hca, struct qp *qp)
{
	struct requester *req = qp->req;

	if (req)
		return req;
	req = calloc(1, sizeof(*req));
	if (!req)
		return NULL;
	req->hca = hca;
	req->run.qp = qp;
	req->run.go = req_run;
	req->watch.queue = qp;
	req->watch.look = req_flush_announced;
	req->posted = qp->sq_hw;
	req->rung = qp->sq_hw;
	req->una = qp->next_send_psn;
	TAILQ_INIT(&req->ops);
	qp->req = req;
	return req;
}

static void req_drop_ops(struct requester *req)
{
	struct send_op *op;

	req_disconnect(req->hca, req->run.qp);
	while ((op = TAILQ_FIRST(&req->ops)))
		req_op_remove(req, op);
	req->cur = NULL;
	req->rd_out = 0;
	req->unsent = 0;
	req->bf_len = 0;
	req->rnr_wait = false;
	req->recovering = false;
	req->deadline_ns = 0;
	fault_cancel(req->hca, req->fault);
	req->fault = 0;
	req->again = false;
	req_streams_reset(req->run.qp);
	if (req->timer)
		evtimer_del(req->timer);
}

/**
 * req_start() - start sending
 * @hca: the HCA
 * @qp: the queue pair, just moved to RTS from RTR or SQER
 */
void req_start(struct hca *hca, struct qp *qp)
{
	struct requester *req = req_get(hca, qp);

	if (!req)
		return;
	req_drop_ops(req);
	req->una = qp->next_send_psn;
	req->poisoned = false;
	req->drained = false;
	req->told = false;
	qp->cur_retry = qp->retry_count;
	qp->cur_rnr_retry = qp->rnr_retry;
}

/*
 * If no request has failed before, the first flushed WQE completes with ERR_FLUSHED_FIRST: a
 * command or the responder has moved the queue pair to ERR.
 */
static void req_flush_op(struct hca *hca, const struct qp *qp, struct send_op *op)
{
	req_complete(hca, qp, op, qp->req->told ? ERR_FLUSHED : ERR_FLUSHED_FIRST);
}

/**
 * req_flush() - complete all posted send WQEs with a flush error
 * @hca: the HCA
 * @qp: the queue pair, in ERR or SQER
 *
 * The posted WQEs are the WQEs that were taken, and the WQEs up to the doorbell record's counter at
 * the last doorbell. In ERR the record is watched from then on: WQEs that it announces later are
 * flushed, with or without a doorbell.
 *
 * In ERR next_send_psn becomes the PSN of the packet that the peer has refused (not by an RNR NAK)
 * or, if the peer has refused none, of the first packet that was not sent: QUERY_QP of cards shows
 * this.
 */
void req_flush(struct hca *hca, struct qp *qp)
{
	bool watched = qp->state == QPS_ERR && qp->has_sq;
	struct requester *req = watched ? req_get(hca, qp) : qp->req;
	struct send_op *op;
	int n;

	if (!req)
		return;
	watch_set(hca, &req->watch, watched);
	req->poisoned = true;
	TAILQ_FOREACH(op, &req->ops, link)
		if (!op->connect)
			req_flush_op(hca, qp, op);
	if (qp->state == QPS_ERR)
		qp->next_send_psn = psn_add(qp->next_send_psn, -req->unsent);
	req_drop_ops(req);
	op = req_op_alloc(hca);
	while (op && qp->sq_hw != req->posted) {
		op->idx = qp->sq_hw;
		n = req_load_wqe(hca, qp, op->idx, &op->w);
		if (n < 0)
			break;
		qp->sq_hw += n ? n : 1;
		req_flush_op(hca, qp, op);
	}
	if (op)
		req_op_free(hca, op);
}

/**
 * req_clear() - drop all work without completions
 * @hca: the HCA
 * @qp: the queue pair, moving to RST
 */
void req_clear(struct hca *hca, struct qp *qp)
{
	if (!qp->req)
		return;
	watch_set(hca, &qp->req->watch, false);
	req_drop_ops(qp->req);
	qp->req->posted = 0;
	qp->req->rung = 0;
	qp->req->poisoned = false;
	qp->req->told = false;
	qp->req->drained = false;
}

/**
 * req_free() - free the requester
 * @hca: the HCA
 * @qp: the queue pair, about to be destroyed; it is not queued for a turn
 */
void req_free(struct hca *hca, struct qp *qp)
{
	struct requester *req = qp->req;

	if (!req)
		return;
	watch_set(hca, &req->watch, false);
	req_drop_ops(req);
	if (req->timer)
		event_free(req->timer);
	free(req);
	qp->req = NULL;
}
