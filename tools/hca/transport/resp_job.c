// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: the answers that wait to be sent, in the order of their requests, and
 * acknowledgements, which are sent at once if no answer waits.
 */
#include "conn.h"
#include "hca.h"
#include "link.h"
#include "packet.h"
#include "qp.h"
#include "resp.h"
#include "sched.h"

/**
 * resp_queue_job() - queue an answer
 * @hca: the HCA
 * @qp: the queue pair
 * @job: the answer
 *
 * Answers leave in the order of their requests. The caller has made sure that there is room.
 */
void resp_queue_job(struct hca *hca, struct qp *qp, const struct resp_job *job)
{
	struct responder *resp = qp->resp;

	if (resp->job_n >= RESP_MAX_JOBS)
		return;
	*resp_job_at(resp, resp->job_n++) = *job;
	resp->rd_jobs += resp_job_counts(job);
	sched_kick(hca, &resp->run);
}

/**
 * resp_send_ack() - send an acknowledgement, or the response to an atomic
 * @hca: the HCA
 * @qp: the queue pair
 * @job: the response, not to a READ
 *
 * Return: false if memory is short.
 */
bool resp_send_ack(struct hca *hca, const struct qp *qp, const struct resp_job *job)
{
	bool atomic = job->kind == JOB_ATOMIC;
	struct packet *p = conn_packet(hca, qp, atomic ? BTH_ATOMIC_ACK : BTH_ACK, job->psn);

	if (!p)
		return false;
	p->syndrome = job->syndrome;
	p->msn = job->msn;
	p->orig = job->orig;
	link_of(hca)->send(hca, p);
	return true;
}

/**
 * resp_ack() - acknowledge, now or after the answers that wait
 * @hca: the HCA
 * @qp: the queue pair
 * @syndrome: of the AETH
 * @psn: of the packet
 *
 * A plain ACK replaces the last answer that waits if this is a plain ACK, too.
 */
void resp_ack(struct hca *hca, struct qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct responder *resp = qp->resp;
	struct resp_job job = {
		.kind = JOB_ACK, .syndrome = syndrome, .psn = psn, .msn = qp->msn,
	};
	struct resp_job *last;

	if (!resp->job_n) {
		resp_send_ack(hca, qp, &job);
		return;
	}
	last = resp_job_at(resp, resp->job_n - 1);
	if (last->kind == JOB_ACK && last->syndrome == syndrome && syndrome < AETH_RNR)
		*last = job;
	else
		resp_queue_job(hca, qp, &job);
}

/**
 * resp_ack_request() - acknowledge a packet if it asks for that
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the packet
 */
void resp_ack_request(struct hca *hca, struct qp *qp, const struct packet *p)
{
	if (p->ack_req)
		resp_ack(hca, qp, AETH_ACK | AETH_NO_CREDITS, p->psn);
}

/**
 * resp_drop_jobs() - drop the responses from a PSN on, which the requester will request again
 * @resp: the responder
 * @psn: the PSN
 *
 * Earlier responses stay. The response to a READ in which @psn lies is cut off there.
 */
void resp_drop_jobs(struct responder *resp, uint32_t psn)
{
	struct resp_job *job;
	int32_t keep;

	while (resp->job_n) {
		job = resp_job_at(resp, resp->job_n - 1);
		keep = psn_diff(psn, job->psn);
		if (job->kind == JOB_READ && keep > (int32_t)job->sent) {
			if (keep < (int32_t)job->npsn)
				job->npsn = keep;
			return;
		}
		if (job->kind != JOB_READ && keep > 0)
			return;
		resp->rd_jobs -= resp_job_counts(job);
		resp->job_n--;
	}
}
