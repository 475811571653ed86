// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: the connected services, RC, XRC and UC.
 */
#include "hca.h"
#include "packet.h"
#include "qcounter.h"
#include "qp.h"
#include "resp.h"

static void resp_gap(struct hca *hca, struct qp *qp)
{
	struct responder *resp = qp->resp;

	if (resp->nak_sent)
		return;
	qcounter_add(hca, qp->counter_set, QC_OUT_OF_SEQUENCE);
	resp->nak_sent = true;
	resp_ack(hca, qp, NAK_SEQ, qp->next_rcv_psn);
}

static void resp_not_ready(struct hca *hca, struct qp *qp, const struct packet *p)
{
	/* The packets that follow are out of sequence, and retransmitted later: do not NAK them. */
	qp->resp->nak_sent = true;
	resp_ack(hca, qp, AETH_RNR | qp->min_rnr_nak, p->psn);
}

/* All packets of an XRC message name the same SRQ, which is of the queue pair's XRC domain. */
static bool resp_xrc_ok(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;

	if (qp->type != QPT_XRC)
		return true;
	if (resp->msg != MSG_NONE && resp->xrc_srqn != p->xrc_srqn)
		return false;
	resp->xrc_srqn = p->xrc_srqn;
	return resp_srq(hca, qp);
}

/**
 * resp_receive_rc() - process a request of RC or XRC
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the packet
 */
void resp_receive_rc(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;
	uint8_t op = p->opcode & BTH_OP_MASK;
	const struct bth_desc *d = resp_bth_desc(op);
	const struct refusal *why = &refuse_request;
	int32_t diff = psn_diff(p->psn, qp->next_rcv_psn);
	enum outcome o = REFUSED;

	/* Without room for a response drop the packet: the requester's timer repairs the loss. */
	if (resp->job_n >= RESP_MAX_JOBS - 2)
		return;
	if (resp->fault && psn_diff(p->psn, resp->fault_psn) > 0)
		return;
	if (resp->fault && p->psn == resp->fault_psn) {
		resp_ack(hca, qp, AETH_RNR | qp->min_rnr_nak, p->psn);
		return;
	}
	if (diff < 0) {
		resp_duplicate(hca, qp, p);
		return;
	}
	if (diff > 0) {
		resp_gap(hca, qp);
		return;
	}
	resp->nak_sent = false;
	if (!resp_xrc_ok(hca, qp, p))
		o = REFUSED;
	else if (op == BTH_READ_REQ)
		o = resp_read(hca, qp, p, &why);
	else if (resp_is_atomic(op))
		o = resp_atomic(hca, qp, p, &why);
	else if (d->msg != MSG_NONE)
		o = resp_message(hca, qp, d, p, &why);

	if (o == REFUSED) {
		resp_refuse(hca, qp, p, why);
	} else if (o == NOT_READY) {
		resp_not_ready(hca, qp, p);
	} else {
		qp->next_rcv_psn = psn_add(p->psn, op == BTH_READ_REQ ?
					   resp_read_packets(qp, p->dma_len) : 1);
		if (d->msg != MSG_NONE)
			resp_ack_request(hca, qp, p);
	}
}

/* ---- UC -------------------------------------------------------------------------------------- */

/* Whether UC skips a refused message: a wrong key or wrong rights do not fail the QP. */
static bool resp_uc_skips(const struct refusal *why)
{
	return why == &refuse_access || why == &refuse_key || why == &refuse_right;
}

/**
 * resp_receive_uc() - process a request of UC
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the packet
 *
 * UC does not repair losses: if a packet is lost, the rest of its message is skipped, and the next
 * message gets its receive WQE.
 */
void resp_receive_uc(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;
	const struct bth_desc *d = resp_bth_desc(p->opcode);
	const struct refusal *why = &refuse_request;
	enum outcome o;

	if (d->msg == MSG_NONE)
		return;
	if (p->psn != qp->next_rcv_psn && resp->msg != MSG_NONE)
		resp->msg = MSG_SKIP;
	qp->next_rcv_psn = psn_add(p->psn, 1);
	if (d->first)
		resp->msg = MSG_NONE;
	else if (resp->msg != d->msg)
		return;
	o = resp_message(hca, qp, d, p, &why);
	if (o == NOT_READY)
		resp->msg = d->last ? MSG_NONE : MSG_SKIP;
	else if (o == REFUSED && resp_uc_skips(why))
		resp->msg = MSG_SKIP;
	else if (o == REFUSED)
		resp_refuse(hca, qp, p, why);
}
