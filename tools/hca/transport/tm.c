// SPDX-License-Identifier: GPL-2.0
/*
 * Tag matching: completions of queue pairs with an XRQ.
 *
 * Theory: the XRQ is the SRQ of all queue pairs whose messages are matched, and of a queue pair for
 * commands, whose WQEs change the list of tags. The responder of a queue pair looks for the tag of
 * a message when its first packet arrives (resp_tm.c). All completions go to the CQ of the XRQ:
 *
 *	no tag in the header		NO_TAG, in a WQE of the receive queue
 *	no entry matches		UNEXPECTED, in a WQE of the receive queue
 *	an entry matches one packet	CONSUMED_MSG
 *	an entry matches several	CONSUMED, then EXPECTED when all data is there
 *	rendezvous			CONSUMED; the HCA reads the data, then EXPECTED and FIN
 *	rendezvous that software reads	CONSUMED_MSG_SW_RNDV: the headers are in the buffer
 *	the message fails		CANCELED
 *
 * An entry that a message has matched is held until the last completion. Who holds it: the
 * responder while packets of the message follow, the requester while it reads data (req_rndv.c).
 */
#include "hca.h"
#include "srq.h"
#include "tm.h"
#include "tm_list.h"
#include "wqe.h"

/**
 * tm_srq() - find the XRQ of a queue pair
 * @qp: the queue pair
 *
 * Return: the XRQ, or NULL.
 */
struct srq *tm_srq(const struct qp *qp)
{
	return qp->srq && qp->srq->kind == SRQ_XRQ ? qp->srq : NULL;
}

/**
 * tm_segment() - describe a tagged buffer as the only segment of a WQE
 * @buf: the buffer
 */
struct wqe_seg tm_segment(const struct tm_buffer *buf)
{
	return (struct wqe_seg){ .addr = buf->addr, .len = buf->len, .lkey = buf->lkey };
}

/**
 * tm_completion() - begin a completion that no packet brings
 * @op: what it tells
 * @index: the entry that it is about
 */
struct completion tm_completion(enum cqe_tm_op op, uint16_t index)
{
	return (struct completion){
		.opcode = CQE_NO_PACKET, .is_tm = true, .tm = { .op = op, .index = index },
	};
}

/**
 * tm_trace() - record what happens to a tag or to a message
 * @hca: the HCA
 * @qp: the queue pair, which has an XRQ
 * @tm: what happens, as a completion tells it
 */
void tm_trace(struct hca *hca, const struct qp *qp, const struct cqe_tm *tm)
{
	hca_trace(hca, "tm", "\"xrqn\":%u,\"qpn\":%u,\"op\":%u,\"index\":%u,\"sw_phase\":%u,"
		  "\"hw_phase\":%u", qp->srq->obj.num, qp->obj.num, tm->op, tm->index,
		  qp->srq->tm->sw_phase, qp->srq->tm->hw_phase);
}

/**
 * tm_complete() - write a completion to the CQ of the XRQ
 * @hca: the HCA
 * @qp: the queue pair, which has an XRQ
 * @c: the completion; the queue pair's values are filled in
 */
void tm_complete(struct hca *hca, const struct qp *qp, struct completion *c)
{
	const struct srq *srq = qp->srq;

	c->qpn = qp->obj.num;
	c->srqn_uidx = srq->cqe_version1 ? srq->user_index : srq->obj.num;
	c->real_time = qp->real_time;
	tm_trace(hca, qp, &c->tm);
	cq_complete(hca, srq->cqn, c);
}

/**
 * tm_cancel() - a message that has matched will not be complete: return its entry to software
 * @hca: the HCA
 * @qp: the queue pair of the message
 * @index: the entry
 */
void tm_cancel(struct hca *hca, const struct qp *qp, uint16_t index)
{
	struct completion c = tm_completion(TM_CANCELED, index);

	/* libibverbs takes the opcode of this completion for that of a message. */
	c.opcode = CQE_RESP_SEND;
	tm_release(qp->srq->tm, index);
	tm_complete(hca, qp, &c);
}
