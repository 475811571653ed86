// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: requests that wait for a page, and requests that are refused.
 */
#include <errno.h>

#include "conn.h"
#include "fault.h"
#include "hca.h"
#include "packet.h"
#include "qcounter.h"
#include "qp.h"
#include "resp.h"

/**
 * resp_refuse() - refuse a request
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the packet
 * @why: the reason
 *
 * NAKs it, completes the receive WQE that was taken with an error, and moves the queue pair to ERR.
 */
void resp_refuse(struct hca *hca, struct qp *qp, const struct packet *p, const struct refusal *why)
{
	struct responder *resp = qp->resp;
	bool told = resp->have_rwqe;

	if (why == &refuse_length)
		qcounter_add(hca, qp->counter_set, QC_RESP_LOCAL_LEN);
	else if (why == &refuse_access)
		qcounter_add(hca, qp->counter_set, QC_RESP_REMOTE_ACCESS);
	else if (why == &refuse_prot)
		qcounter_add(hca, qp->counter_set, QC_RESP_LOCAL_PROT);
	hca_trace(hca, "refuse", "\"qpn\":%u,\"psn\":%u,\"opcode\":%u,\"nak\":%u,\"syndrome\":%u",
		  qp->obj.num, p->psn, p->opcode, why->nak, why->synd);
	if (conn_reliable(qp))
		resp_ack(hca, qp, why->nak, p->psn);
	if (told)
		resp_complete_error(hca, qp, why->synd);
	resp->msg = MSG_NONE;
	qp_to_error(hca, qp, told ? 0 : why->event);
}

/**
 * resp_wqe_refusal() - tell why a request is refused whose receive WQE could not be taken
 * @err: result of resp_take_wqe()
 *
 * Return: the reason; NULL if none was posted, for which it is not refused.
 */
const struct refusal *resp_wqe_refusal(int err)
{
	return err == -EINVAL || err == -EFAULT ? &refuse_wqe : NULL;
}

/* ---- page faults ----------------------------------------------------------------------------- */

/**
 * resp_resume() - continue after a page fault
 * @hca: the HCA
 * @qp: the queue pair
 * @ok: the page is present, and the requester sends the packet again; otherwise it is refused
 */
static void resp_resume(struct hca *hca, struct qp *qp, bool ok)
{
	struct responder *resp = qp->resp;
	struct packet *p;

	resp->fault = 0;
	if (ok)
		return;
	p = packet_alloc(hca->fabric);
	if (!p)
		return;
	p->psn = resp->fault_psn;
	resp_refuse(hca, qp, p, resp->fault_recv ? &refuse_prot : &refuse_access);
	packet_free(hca->fabric, p);
}

/**
 * resp_stall() - wait for a page
 * @hca: the HCA
 * @qp: the queue pair
 * @psn: of the packet that met the page fault
 * @f: the page fault
 *
 * The requester is told to send the packet again. Its later packets are ignored until software has
 * brought the page.
 *
 * Return: false if the page will not be brought.
 */
bool resp_stall(struct hca *hca, struct qp *qp, uint32_t psn, struct page_fault *f)
{
	struct responder *resp = qp->resp;

	if (!conn_reliable(qp) || !conn_can_receive(qp))
		return false;
	f->resume = resp_resume;
	resp->fault = fault_raise(hca, qp, f);
	resp->fault_psn = psn;
	resp->fault_recv = f->type == FAULT_RECV || f->type == FAULT_SRQ;
	return resp->fault;
}

/**
 * resp_cancel_fault() - do not wait for a page any more
 * @hca: the HCA
 * @resp: the responder
 */
void resp_cancel_fault(struct hca *hca, struct responder *resp)
{
	fault_cancel(hca, resp->fault);
	resp->fault = 0;
}
