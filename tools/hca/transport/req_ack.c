// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: acknowledgements, NAKs, and the responses to READs and atomics.
 */
#include <endian.h>
#include <string.h>
#include <sys/queue.h>

#include "caps.h"
#include "conn.h"
#include "cq.h"
#include "hca.h"
#include "ifc.h"
#include "packet.h"
#include "qcounter.h"
#include "qp.h"
#include "req.h"
#include "sg.h"
#include "srq.h"
#include "util.h"

/*
 * Responses that arrive after a lost response reveal the loss. Repair it once; the timer repairs
 * later losses.
 */
static void req_answer_lost(struct requester *req)
{
	if (!req->recovering)
		req_retry(req);
}

/*
 * Acknowledge everything up to @psn. Stops at a READ or atomic whose response has not arrived, and
 * returns false: the response was lost.
 */
static bool req_acknowledge(struct requester *req, uint32_t psn)
{
	struct qp *qp = req->run.qp;
	struct send_op *op;
	bool moved = false, whole = true;
	int32_t n;

	TAILQ_FOREACH(op, &req->ops, link) {
		if (op->error == ERR_FLUSHED)
			continue;
		if (!op->started || op->error)
			break;
		if (op->finished || !op->npsn)
			continue;
		n = psn_diff(psn, op->psn) + 1;
		if (n <= 0)
			break;
		if (op->w.is_read && n <= (int32_t)(op->done / qp->mtu))
			break;
		if (op->w.is_read || op->w.is_atomic) {
			whole = false;
			break;
		}
		if (n < (int32_t)op->npsn) {
			if (psn_diff(psn_add(psn, 1), req->una) > 0) {
				req->una = psn_add(psn, 1);
				moved = true;
			}
			if (op->sent < (uint32_t)n)
				op->sent = n;
			break;
		}
		op->finished = true;
		op->sent = op->npsn;
		req->una = psn_add(op->psn, op->npsn);
		moved = true;
	}
	qp->last_acked_psn = psn_add(req->una, PSN_MASK);
	if (moved)
		req_progress(req);
	return whole;
}

static struct send_op *req_op_by_psn(struct requester *req, uint32_t psn)
{
	struct send_op *op;

	TAILQ_FOREACH(op, &req->ops, link) {
		int32_t n = psn_diff(psn, op->psn);

		if (op->started && op->npsn && n >= 0 && n < (int32_t)op->npsn)
			return op;
	}
	return NULL;
}

static void req_nak(struct hca *hca, struct qp *qp, const struct packet *p)
{
	static const enum cqe_error error[] = {
		[NAK_INVALID_REQ - AETH_NAK] = ERR_NAK_INVALID_REQUEST,
		[NAK_ACCESS - AETH_NAK] = ERR_NAK_ACCESS,
		[NAK_REMOTE_OP - AETH_NAK] = ERR_NAK_OPERATION,
	};
	struct requester *req = qp->req;
	unsigned int code = p->syndrome & AETH_VALUE_MASK;
	struct send_op *op = req_op_by_psn(req, p->psn);

	if (p->syndrome == NAK_SEQ) {
		qcounter_add(hca, qp->counter_set, QC_PACKET_SEQ_ERR);
		req_retry(req);
		return;
	}
	if (!op || op->finished || op->error)
		return;
	req->unsent = psn_diff(qp->next_send_psn, p->psn);
	req_fail(hca, qp, op, code < ARRAY_SIZE(error) ? error[code] : ERR_RESPONSE_INVALID);
}

static void req_acknowledged(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct requester *req = qp->req;
	bool ack = (p->syndrome & AETH_KIND_MASK) == AETH_ACK;

	/* A NAK acknowledges the packets before its PSN. */
	if (!req_acknowledge(req, ack ? p->psn : psn_add(p->psn, PSN_MASK))) {
		qcounter_add(hca, qp->counter_set, QC_IMPLIED_NAK);
		req_answer_lost(req);
	} else if ((p->syndrome & AETH_KIND_MASK) == AETH_RNR) {
		req_rnr(req, p->psn, p->syndrome & AETH_VALUE_MASK);
	} else if (!ack) {
		req_nak(hca, qp, p);
	}
	req_reap(hca, qp);
}

/* ---- responses ------------------------------------------------------------------------------- */

/* Convert an 8-byte result to the byte order that the atomic capabilities select. */
static uint64_t req_atomic_order(struct hca *hca, uint64_t v)
{
	return hca_cap_atomic(hca, atomic_req_8B_endianness_mode) ? v : htobe64(v);
}

static enum cqe_error req_store_answer(struct hca *hca, struct qp *qp, struct send_op *op,
				       const void *buf, size_t len)
{
	/* A tagged buffer belongs to the XRQ. */
	const struct mkey_user user = conn_user(qp, op->rndv ? qp->srq->pdn : qp->pdn);

	if (req_answer_in_cqe(qp, &op->w)) {
		memcpy(op->w.raw + op->done, buf, len);
		return ERR_NONE;
	}
	return sg_scatter(hca, &user, op->w.seg, op->w.nseg, op->done, buf, len);
}

static void req_answered(struct requester *req, struct send_op *op)
{
	op->finished = true;
	req->rd_out--;
	if (req->cur == op)
		req->cur = TAILQ_NEXT(op, link);
}

static void req_atomic_response(struct hca *hca, struct qp *qp, struct send_op *op,
				const struct packet *p)
{
	uint64_t orig = req_atomic_order(hca, p->orig);
	enum cqe_error error;

	if (!op->w.is_atomic) {
		req_fail(hca, qp, op, ERR_RESPONSE_INVALID);
		return;
	}
	error = req_store_answer(hca, qp, op, &orig, sizeof(orig));
	if (req_held_up(hca, qp, op, error, 0, sizeof(orig)))
		return;
	qp->req->una = psn_add(p->psn, 1);
	req_answered(qp->req, op);
	req_progress(qp->req);
}

static bool req_read_response_sane(const struct qp *qp, const struct send_op *op,
				   const struct packet *p)
{
	uint8_t o = p->opcode & BTH_OP_MASK;
	uint64_t left = op->w.len - op->done;
	bool last = o == BTH_READ_LAST || o == BTH_READ_ONLY;

	return op->w.is_read && p->head.len == (left < qp->mtu ? left : qp->mtu) &&
	       last == (left <= qp->mtu);
}

static void req_read_response(struct hca *hca, struct qp *qp, struct send_op *op,
			      const struct packet *p)
{
	uint32_t expect = psn_add(op->psn, op->done / qp->mtu);
	enum cqe_error error;

	if (psn_diff(p->psn, expect) < 0)
		return;
	if (p->psn != expect) {
		req_answer_lost(qp->req);
		return;
	}
	error = req_read_response_sane(qp, op, p) ?
	       req_store_answer(hca, qp, op, p->payload, p->head.len) : ERR_RESPONSE_INVALID;
	if (req_held_up(hca, qp, op, error, op->done, p->head.len))
		return;
	op->done += p->head.len;
	qp->req->una = psn_add(p->psn, 1);
	if (op->done == op->w.len)
		req_answered(qp->req, op);
	req_progress(qp->req);
}

static void req_response(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct requester *req = qp->req;
	struct send_op *op = req_op_by_psn(req, p->psn);

	if (!op || op->finished || op->error)
		return;
	/* A response also acknowledges all requests before its own. */
	if (!req_acknowledge(req, psn_add(op->psn, PSN_MASK))) {
		req_answer_lost(req);
		return;
	}
	if ((p->opcode & BTH_OP_MASK) == BTH_ATOMIC_ACK)
		req_atomic_response(hca, qp, op, p);
	else
		req_read_response(hca, qp, op, p);
	req_reap(hca, qp);
}

/**
 * req_receive() - process an acknowledgement or an answer
 * @hca: the HCA
 * @qp: the queue pair, RC or XRC
 * @p: the packet, ACK, NAK, READ response or atomic response
 *
 * Packets outside the window of unacknowledged PSNs are old, and are ignored.
 */
void req_receive(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct requester *req = qp->req;

	if (!req || qp->state == QPS_RTR || qp->state == QPS_SQER ||
	    psn_diff(p->psn, req->una) < 0 || psn_diff(p->psn, qp->next_send_psn) >= 0)
		return;
	if ((p->opcode & BTH_OP_MASK) == BTH_ACK)
		req_acknowledged(hca, qp, p);
	else
		req_response(hca, qp, p);
}
