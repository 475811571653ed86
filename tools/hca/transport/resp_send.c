// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: its turns, in which it sends the responses to READs and atomics.
 */
#include "conn.h"
#include "fault.h"
#include "hca.h"
#include "link.h"
#include "mkey.h"
#include "packet.h"
#include "qp.h"
#include "resp.h"

/*
 * Stop the response at @p, which becomes an RNR NAK. The requester will request @p and all that
 * follows again. Returns false if software cannot be asked for the page.
 */
static bool resp_stall_read(struct hca *hca, struct qp *qp, struct resp_job *job, struct packet *p)
{
	struct page_fault f = {
		.type = FAULT_REMOTE_READ, .op = ODP_READ, .packet_len = p->head.len,
		.rkey = job->rkey, .va = job->va, .op_len = job->len, .done = job->sent * qp->mtu,
	};

	if (!qp->resp->fault && !resp_stall(hca, qp, p->psn, &f))
		return false;
	p->syndrome = AETH_RNR | qp->min_rnr_nak;
	resp_drop_jobs(qp->resp, psn_add(p->psn, 1));
	return true;
}

/*
 * End the response with @p, which becomes a NAK. The requester of a READ that came again may have
 * had its response, and software may have freed the key since: the connection does not fail because
 * of such a READ.
 */
static void resp_end_read(struct hca *hca, struct qp *qp, struct resp_job *job, struct packet *p,
			  enum mk_result res)
{
	p->syndrome = NAK_ACCESS;
	if (job->again)
		job->sent = job->npsn - 1;
	else
		resp_refuse_answer(hca, qp, p, res);
}

/* Send the next packet of a READ response. Returns false if memory is short. */
static bool resp_send_read(struct hca *hca, struct qp *qp, struct resp_job *job)
{
	bool first = !job->sent, last = job->sent == resp_read_packets(qp, job->len) - 1;
	uint64_t off = (uint64_t)job->sent * qp->mtu;
	const struct mkey_user user = conn_user(qp, job->pdn);
	enum mk_result res = MK_OK;
	struct packet *p;

	p = conn_packet(hca, qp, last ? first ? BTH_READ_ONLY : BTH_READ_LAST :
			first ? BTH_READ_FIRST : BTH_READ_MIDDLE, job->psn + job->sent);
	if (!p)
		return false;
	p->syndrome = AETH_ACK | AETH_NO_CREDITS;
	p->msn = job->msn;
	p->head.len = last ? job->len - off : qp->mtu;
	/* The key may have been destroyed since the request was checked. */
	if (p->head.len)
		res = mkey_read(hca, &user, job->rkey, job->va + off, p->payload, p->head.len,
				MK_REMOTE_READ);
	if (qp->resp->fault && psn_diff(p->psn, qp->resp->fault_psn) >= 0)
		res = MK_NOT_PRESENT;
	if (res != MK_OK) {
		if (res != MK_NOT_PRESENT || !resp_stall_read(hca, qp, job, p))
			resp_end_read(hca, qp, job, p, res);
		p->opcode = (p->opcode & BTH_SERVICE_MASK) | BTH_ACK;
		p->head.len = 0;
	}
	job->sent++;
	link_of(hca)->send(hca, p);
	return true;
}

static bool resp_send_job(struct hca *hca, struct qp *qp, struct resp_job *job)
{
	if (job->kind != JOB_READ)
		return resp_send_ack(hca, qp, job);
	return resp_send_read(hca, qp, job);
}

/**
 * resp_run() - give a responder a turn: send the answers that wait
 * @hca: the HCA
 * @qp: the queue pair; in ERR, too, it sends the answers that were queued before
 * @budget: packets that it may send, counted down
 *
 * Return: true if more wait.
 */
bool resp_run(struct hca *hca, struct qp *qp, unsigned int *budget)
{
	struct responder *resp = qp->resp;
	struct resp_job *job;

	while (resp->job_n && *budget) {
		job = resp_job_at(resp, 0);
		if (!link_of(hca)->room(hca, &qp->path) || !resp_send_job(hca, qp, job))
			return true;
		--*budget;
		if (job->kind == JOB_READ && job->sent < job->npsn)
			continue;
		resp->rd_jobs -= resp_job_counts(job);
		resp->job_head = (resp->job_head + 1) % RESP_MAX_JOBS;
		resp->job_n--;
	}
	return resp->job_n;
}
