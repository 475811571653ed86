// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: changes of the list of tags, which the WQEs of a queue pair for commands ask for,
 * and the end of operations by which the HCA itself serves rendezvous messages.
 */
#include "hca.h"
#include "qp.h"
#include "req.h"
#include "srq.h"
#include "tm.h"
#include "tm_list.h"
#include "wqe.h"

static const char *req_tm_append(struct tm_list *l, const struct send_wqe *w)
{
	struct tm_buffer buf = {};

	if (w->nseg)
		buf = (struct tm_buffer){
			.addr = w->seg[0].addr, .len = w->seg[0].len, .lkey = w->seg[0].lkey,
		};
	switch (tm_append(l, w->tm.index, w->tm.tag, w->tm.mask, &buf)) {
	case TM_BAD_INDEX:
		return "the list has no such entry for the next tag";
	case TM_IN_USE:
		return "the entry for the tag is in use";
	default:
		return NULL;
	}
}

/**
 * req_tm_execute() - change the list of tags of a queue pair's XRQ
 * @hca: the HCA
 * @qp: the queue pair, whose SRQ is the XRQ
 * @w: the WQE
 *
 * Return: ERR_NONE; or ERR_WQE_INVALID, with @w->why, or ERR_QUEUE_GONE if the XRQ is in error.
 */
enum cqe_error req_tm_execute(struct hca *hca, struct qp *qp, struct send_wqe *w)
{
	static const enum cqe_tm_op ops[] = {
		[WQE_TM_NOP] = TM_NOOP, [WQE_TM_APPEND] = TM_APPEND, [WQE_TM_REMOVE] = TM_REMOVE,
	};
	struct srq *srq = tm_srq(qp);
	struct completion c = tm_completion(ops[w->tm.op], w->tm.index);

	if (!srq)
		w->why = "the queue pair has no XRQ";
	else if (w->tm.op == WQE_TM_REMOVE && w->tm.index >= srq->tm->cnt)
		w->why = "the list has no such entry to remove";
	if (w->why)
		return ERR_WQE_INVALID;
	if (srq->error)
		return ERR_QUEUE_GONE;
	if (w->tm.sync)
		tm_sync(srq->tm, w->tm.sw_phase);
	c.tm.success = true;
	if (w->tm.op == WQE_TM_APPEND) {
		c.tm.index = srq->tm->append;
		w->why = req_tm_append(srq->tm, w);
	} else if (w->tm.op == WQE_TM_REMOVE) {
		c.tm.success = tm_remove(srq->tm, w->tm.index);
	}
	if (w->why)
		return ERR_WQE_INVALID;
	c.tm.hw_phase = srq->tm->hw_phase;
	c.wqe_counter = w->idx;
	c.s_wqe_opcode = w->opcode;
	if (w->tm.cqe)
		tm_complete(hca, qp, &c);
	else
		tm_trace(hca, qp, &c.tm);
	return ERR_NONE;
}

/**
 * req_tm_done() - an operation of the HCA itself has ended
 * @hca: the HCA
 * @qp: the queue pair
 * @op: the READ or the FIN of a rendezvous message
 * @error: how it failed, or ERR_NONE
 */
void req_tm_done(struct hca *hca, const struct qp *qp, struct send_op *op, enum cqe_error error)
{
	struct completion c = tm_completion(TM_EXPECTED, op->tm_index);

	if (op->rndv == RNDV_READ && error) {
		tm_cancel(hca, qp, op->tm_index);
	} else if (op->rndv == RNDV_READ) {
		tm_release(qp->srq->tm, op->tm_index);
		c.opcode = CQE_RESP_SEND;
		c.byte_cnt = op->w.len;
		c.solicited = op->w.solicited;
		tm_complete(hca, qp, &c);
	}
	op->rndv = RNDV_DONE;
}

/**
 * req_tm_drop() - an operation of the HCA itself is dropped without a completion
 * @qp: the queue pair
 * @op: the operation
 */
void req_tm_drop(const struct qp *qp, const struct send_op *op)
{
	if (op->rndv == RNDV_READ)
		tm_release(qp->srq->tm, op->tm_index);
}
