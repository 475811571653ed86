// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: its list of work requests, and their completions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "conn.h"
#include "cq.h"
#include "hca.h"
#include "qcounter.h"
#include "qp.h"
#include "req.h"
#include "sched.h"
#include "util.h"
#include "wqe.h"

#define OP_POOL_MAX	256	/* work requests kept for reuse */

/* Work requests are large, so up to OP_POOL_MAX freed work requests are kept for reuse. */
struct req_pool {
	struct send_op_list list;
	unsigned int n;
};

/**
 * req_op_alloc() - allocate a work request
 * @hca: the HCA
 *
 * Return: the work request, zeroed but for its segments and bytes; NULL if memory is short.
 */
struct send_op *req_op_alloc(struct hca *hca)
{
	struct req_pool *pool = hca->req_pool;
	struct send_op *op = TAILQ_FIRST(&pool->list);

	if (op) {
		TAILQ_REMOVE(&pool->list, op, link);
		pool->n--;
	} else {
		op = malloc(sizeof(*op));
	}
	if (op)
		memset(op, 0, offsetof(struct send_op, w.seg));
	return op;
}

/**
 * req_op_free() - free a work request
 * @hca: the HCA
 * @op: the work request
 */
void req_op_free(struct hca *hca, struct send_op *op)
{
	struct req_pool *pool = hca->req_pool;

	if (pool->n >= OP_POOL_MAX) {
		free(op);
		return;
	}
	TAILQ_INSERT_HEAD(&pool->list, op, link);
	pool->n++;
}

/**
 * req_op_remove() - remove a work request from the list and free it
 * @req: the requester
 * @op: the work request
 */
void req_op_remove(struct requester *req, struct send_op *op)
{
	req_tm_drop(req->run.qp, op);
	if (op->started && !op->finished && (op->w.is_read || op->w.is_atomic))
		req->rd_out--;
	if (req->cur == op)
		req->cur = TAILQ_NEXT(op, link);
	if (req->fault_op == op)
		req->fault_op = NULL;
	TAILQ_REMOVE(&req->ops, op, link);
	req->nops--;
	req_op_free(req->hca, op);
}

/**
 * req_oldest_unanswered() - find the oldest work request that waits for the peer
 * @req: the requester
 *
 * Return: the work request, or NULL.
 */
struct send_op *req_oldest_unanswered(const struct requester *req)
{
	struct send_op *op;

	TAILQ_FOREACH(op, &req->ops, link)
		if (op->started && !op->finished && !op->error)
			return op;
	return NULL;
}

/* ---- completions ----------------------------------------------------------------------------- */

/* Answers up to this size go into the CQE if the queue pair asked for it. */
static size_t req_inline_limit(const struct qp *qp)
{
	return qp->cs_req == CS_REQ_64B ? 64 : qp->cs_req == CS_REQ_32B ? 32 : 0;
}

/**
 * req_answer_in_cqe() - tell whether the response goes into the CQE instead of memory
 * @qp: the queue pair
 * @w: the WQE
 */
bool req_answer_in_cqe(const struct qp *qp, const struct send_wqe *w)
{
	return w->cqe && (w->is_read || w->is_atomic) && w->len && w->len <= req_inline_limit(qp);
}

/* ERR_FLUSHED_FIRST counts as an error CQE only, and not as a flushed request. */
static void req_count_error(struct hca *hca, const struct qp *qp, enum cqe_error error)
{
	static const struct { uint8_t synd, id; } map[] = {
		{ SYND_LOCAL_LENGTH, QC_REQ_LOCAL_LEN }, { SYND_LOCAL_PROT, QC_REQ_LOCAL_PROT },
		{ SYND_REMOTE_ACCESS, QC_REQ_REMOTE_ACCESS },
		{ SYND_REMOTE_INVAL_REQ, QC_REQ_REMOTE_INVAL },
		{ SYND_TRANSPORT_RETRY, QC_REQ_RETRIES }, { SYND_RNR_RETRY, QC_REQ_RNR_RETRIES },
	};
	unsigned int i;

	qcounter_add(hca, qp->counter_set, QC_REQ_CQE_ERR);
	if (error == ERR_FLUSHED)
		qcounter_add(hca, qp->counter_set, QC_REQ_FLUSH);
	for (i = 0; i < ARRAY_SIZE(map); i++)
		if (map[i].synd == cqe_error_syndrome(error))
			qcounter_add(hca, qp->counter_set, map[i].id);
}

static void req_tell_error(struct hca *hca, const struct qp *qp, const struct send_op *op,
			   enum cqe_error error)
{
	qp->req->told = true;
	req_count_error(hca, qp, error);
	if (cqe_error_syndrome(error) == SYND_WR_FLUSH)
		return;
	hca_trace(hca, "req_error", "\"qpn\":%u,\"wqe\":%u,\"opcode\":%u,\"syndrome\":%u,"
		  "\"vendor\":%u,\"why\":\"%s\"", qp->obj.num, op->idx, op->w.opcode,
		  cqe_error_syndrome(error), cqe_error_vendor(error), op->w.why ? op->w.why : "");
}

/**
 * req_complete() - write the CQE of a work request, if it gets one
 * @hca: the HCA
 * @qp: the queue pair
 * @op: the work request
 * @error: how it failed; if ERR_NONE, it gets a CQE only if it asks for one
 *
 * An operation of the HCA itself has no CQE of its own.
 */
void req_complete(struct hca *hca, const struct qp *qp, struct send_op *op, enum cqe_error error)
{
	const struct send_wqe *w = &op->w;
	struct completion c = {
		.opcode = error ? CQE_REQ_ERR : CQE_REQ, .error = error, .qpn = qp->obj.num,
		.wqe_counter = op->idx, .s_wqe_opcode = w->opcode, .byte_cnt = w->len,
		.srqn_uidx = qp->cqe_version1 ? qp->user_index : 0, .solicited = error != ERR_NONE,
		.real_time = qp->real_time,
	};

	if (op->rndv != RNDV_NONE) {
		req_tm_done(hca, qp, op, error);
		return;
	}
	if (!error && !w->cqe)
		return;
	if (!error && req_answer_in_cqe(qp, w)) {
		c.inline_data = w->raw;
		c.inline_len = w->len;
	}
	if (error)
		req_tell_error(hca, qp, op, error);
	cq_complete(hca, qp->cqn_snd, &c);
}

/*
 * A stream of a DC initiator has failed, and the others go on. The target accepts nothing of this
 * connection any more, so what was sent and not answered starts again by the next connection.
 */
static void req_restart(struct requester *req)
{
	struct qp *qp = req->run.qp;
	struct send_op *op, *next;

	req->connected = false;
	req->poisoned = false;
	req->rnr_wait = false;
	req->recovering = false;
	req->deadline_ns = 0;
	req->cur = NULL;
	for (op = TAILQ_FIRST(&req->ops); op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->connect) {
			req_op_remove(req, op);
			continue;
		}
		if (op->finished || op->error)
			continue;
		req->rd_out -= op->started && (op->w.is_read || op->w.is_atomic);
		op->started = false;
		op->sent = 0;
		op->done = 0;
		req->cur = req->cur ? req->cur : op;
	}
	req->una = qp->next_send_psn;
	req->unsent = 0;
	qp->cur_retry = qp->retry_count;
	qp->cur_rnr_retry = qp->rnr_retry;
	sched_kick(req->hca, &req->run);
}

/*
 * Whether a queue pair goes on after an operation of a stream has failed, or was flushed because
 * its stream had failed. The WQE itself was not at fault.
 */
static bool req_goes_on(struct qp *qp, enum cqe_error error, uint16_t stream)
{
	if (!qp->has_streams || error == ERR_WQE_INVALID)
		return false;
	if (error == ERR_FLUSHED)
		return true;
	if (!req_stream_fail(qp, stream))
		return false;
	req_restart(qp->req);
	return true;
}

/**
 * req_reap() - complete the finished work requests, oldest first
 * @hca: the HCA
 * @qp: the queue pair
 *
 * Stops after a work request that failed, which moves the queue pair to ERR or SQER, unless the
 * queue pair has streams.
 */
void req_reap(struct hca *hca, struct qp *qp)
{
	struct requester *req = qp->req;
	enum cqe_error error;
	enum async_event event;
	struct send_op *op;
	uint16_t stream;

	while ((op = TAILQ_FIRST(&req->ops))) {
		error = op->error;
		if (error) {
			stream = op->w.stream;
			/* No CQE tells of a FIN. */
			event = op->rndv == RNDV_FIN ? EV_WQ_CATAS_ERROR : 0;
			req_complete(hca, qp, op, error);
			req_op_remove(req, op);
			if (req_goes_on(qp, error, stream))
				continue;
			if (conn_reliable(qp) || qp->type == QPT_REG_UMR)
				qp_to_error(hca, qp, error, event);
			else
				qp_to_sq_error(hca, qp, error);
			return;
		}
		if (!op->finished)
			return;
		req_complete(hca, qp, op, ERR_NONE);
		req_op_remove(req, op);
	}
}

/**
 * req_fail() - fail a work request, which completes when it is the oldest
 * @hca: the HCA
 * @qp: the queue pair
 * @op: the work request; if it connects a DC initiator, the one that it connects for fails instead
 * @error: what its CQE says
 */
void req_fail(struct hca *hca, struct qp *qp, struct send_op *op, enum cqe_error error)
{
	struct send_op *next = TAILQ_NEXT(op, link);

	qp->req->poisoned = true;
	if (op->connect && next) {
		req_op_remove(qp->req, op);
		op = next;
	}
	op->error = error;
	req_reap(hca, qp);
}

/* ---- module ---------------------------------------------------------------------------------- */

static int req_init(struct hca *hca)
{
	hca->req_pool = calloc(1, sizeof(*hca->req_pool));
	if (!hca->req_pool)
		return -ENOMEM;
	TAILQ_INIT(&hca->req_pool->list);
	return 0;
}

static void req_exit(struct hca *hca)
{
	struct send_op *op;

	while ((op = TAILQ_FIRST(&hca->req_pool->list))) {
		TAILQ_REMOVE(&hca->req_pool->list, op, link);
		free(op);
	}
	free(hca->req_pool);
	hca->req_pool = NULL;
}

const struct hca_module req_module = { .name = "req", .init = req_init, .exit = req_exit };
