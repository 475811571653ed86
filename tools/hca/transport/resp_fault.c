// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: requests that wait for a page.
 */
#include "conn.h"
#include "fault.h"
#include "hca.h"
#include "packet.h"
#include "qp.h"
#include "resp.h"

/**
 * resp_resume() - continue after a page fault
 * @hca: the HCA
 * @qp: the queue pair
 * @ok: the page is present, and the requester retransmits the packet; otherwise the request is
 *	refused
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
	resp_refuse(hca, qp, p, resp->fault_recv ? &refuse_store : &refuse_access);
	packet_free(hca->fabric, p);
}

/**
 * resp_stall() - wait for a page
 * @hca: the HCA
 * @qp: the queue pair
 * @psn: of the packet that met the page fault
 * @f: the page fault
 *
 * The requester is told to retransmit the packet. Its later packets are ignored until software has
 * brought the page.
 *
 * Return: false if software cannot be asked for the page, or the requester cannot be told to send
 * again.
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
