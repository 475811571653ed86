// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: requests that are refused.
 */
#include <errno.h>

#include "conn.h"
#include "cq.h"
#include "eq.h"
#include "hca.h"
#include "mkey.h"
#include "packet.h"
#include "qcounter.h"
#include "qp.h"
#include "resp.h"
#include "umr.h"

const struct refusal refuse_length = { NAK_INVALID_REQ, ERR_RECEIVE_TOO_SHORT, EV_WQ_INVAL_REQ };
const struct refusal refuse_request = { NAK_INVALID_REQ, ERR_REQUEST_INVALID, EV_WQ_INVAL_REQ };
/* The queue pair does not allow the operation. */
const struct refusal refuse_right = { NAK_INVALID_REQ, ERR_REQUEST_INVALID, EV_WQ_INVAL_REQ };
const struct refusal refuse_access = { NAK_ACCESS, ERR_RKEY_REFUSED, EV_WQ_ACCESS };
const struct refusal refuse_key = { NAK_ACCESS, ERR_RKEY_UNKNOWN, EV_WQ_ACCESS };
const struct refusal refuse_inval = { NAK_ACCESS, ERR_INVALIDATION_REFUSED, EV_WQ_ACCESS };
/* resp_refuse() takes the error from resp_scatter(). */
const struct refusal refuse_store = { NAK_REMOTE_OP, ERR_NONE, EV_WQ_CATAS_ERROR };
static const struct refusal refuse_wqe = { NAK_REMOTE_OP, ERR_RECEIVE_INVALID, EV_WQ_CATAS_ERROR };
static const struct refusal refuse_queue = { NAK_REMOTE_OP, ERR_QUEUE_GONE, EV_WQ_CATAS_ERROR };

static void resp_trace_refusal(struct hca *hca, const struct qp *qp, const struct packet *p,
			       const struct refusal *why, enum cqe_error error)
{
	hca_trace(hca, "refuse", "\"qpn\":%u,\"psn\":%u,\"opcode\":%u,\"nak\":%u,\"syndrome\":%u",
		  qp->obj.num, p->psn, p->opcode, why->nak, cqe_error_syndrome(error));
}

/*
 * A queue pair that has refused a request fails. Of a DC target only the connection fails: it
 * accepts no packets any more, and the target stays as it is for others.
 */
static void resp_fail(struct hca *hca, struct qp *qp, enum cqe_error error, enum async_event event)
{
	if (qp->type != QPT_DCT) {
		qp_to_error(hca, qp, error, event);
		return;
	}
	qp->state = QPS_ERR;
	qp->resp->msg = MSG_NONE;
	if (qp->resp->have_rwqe)
		resp_complete_error(hca, qp, ERR_FLUSHED);
}

/**
 * resp_refuse() - refuse a request
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the packet
 * @why: the reason
 *
 * NAKs the request if the service is reliable, completes the receive WQE in use with an error, and
 * moves the queue pair, or the connection of a DC target, to ERR.
 */
void resp_refuse(struct hca *hca, struct qp *qp, const struct packet *p, const struct refusal *why)
{
	struct responder *resp = qp->resp;
	enum cqe_error error = why == &refuse_store ? resp->store_error : why->error;
	bool told = resp->have_rwqe;

	if (why == &refuse_length)
		qcounter_add(hca, qp->counter_set, QC_RESP_LOCAL_LEN);
	else if (why == &refuse_store)
		qcounter_add(hca, qp->counter_set, QC_RESP_LOCAL_PROT);
	resp_trace_refusal(hca, qp, p, why, error);
	if (conn_reliable(qp))
		resp_ack(hca, qp, why->nak, p->psn);
	if (told)
		resp_complete_error(hca, qp, error);
	resp->msg = MSG_NONE;
	resp_fail(hca, qp, error, told ? 0 : why->event);
}

/**
 * resp_refuse_answer() - the rest of the response to a READ cannot be sent
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the NAK, which the caller sends in place of the response's next packet
 * @res: what the check of the key has found
 *
 * Drops the responses after the NAK, and moves the queue pair to ERR, like a READ that is refused
 * when it arrives. A receive WQE in use belongs to another message, and is flushed.
 */
void resp_refuse_answer(struct hca *hca, struct qp *qp, const struct packet *p, enum mk_result res)
{
	const struct refusal *why = res == MK_BAD_KEY ? &refuse_key : &refuse_access;

	resp_trace_refusal(hca, qp, p, why, why->error);
	resp_drop_jobs(qp->resp, psn_add(p->psn, 1));
	resp_fail(hca, qp, why->error, why->event);
}

/**
 * resp_wqe_refusal() - tell why a request without a valid receive WQE is refused
 * @err: result of resp_take_wqe()
 *
 * Return: the reason; NULL if no WQE was posted: then the request is not refused.
 */
const struct refusal *resp_wqe_refusal(int err)
{
	if (err == -EFAULT)
		return &refuse_queue;
	return err == -EINVAL ? &refuse_wqe : NULL;
}

/**
 * resp_key_refusal() - tell why a request is refused because of its remote key
 * @qp: the queue pair
 * @res: what the check of the key has found
 */
const struct refusal *resp_key_refusal(const struct qp *qp, enum mk_result res)
{
	return res == MK_BAD_KEY && !qp->resp->have_rwqe ? &refuse_key : &refuse_access;
}

/**
 * resp_invalidate() - invalidate the key that a message names, if it names one
 * @hca: the HCA
 * @qp: the queue pair
 * @d: what the packet's opcode says
 * @p: the packet
 * @why: set to the reason of a refusal
 *
 * Return: false if the key cannot be invalidated: the message is refused.
 */
bool resp_invalidate(struct hca *hca, struct qp *qp, const struct bth_desc *d,
		     const struct packet *p, const struct refusal **why)
{
	*why = &refuse_inval;
	if (d->inval && !umr_invalidate(hca, qp, p->imm))
		return false;
	hca->count.remote_inval += d->inval;
	return true;
}
