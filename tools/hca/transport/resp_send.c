// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: acknowledgements, and the answers to READs and atomics, which leave in the order
 * of their requests.
 */
#include "conn.h"
#include "fabric.h"
#include "fault.h"
#include "hca.h"
#include "mkey.h"
#include "packet.h"
#include "qp.h"
#include "resp.h"
#include "sched.h"

static struct resp_job *resp_job_at(struct responder *resp, unsigned int i)
{
	return &resp->job[(resp->job_head + i) % RESP_MAX_JOBS];
}

/* Whether an answer is one of the max_dest_rd_atomic that the requester may wait for. */
static bool resp_job_counts(const struct resp_job *job)
{
	return job->kind == JOB_READ && !job->again;
}

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

static bool resp_send_ack(struct hca *hca, const struct qp *qp, const struct resp_job *job)
{
	bool atomic = job->kind == JOB_ATOMIC;
	struct packet *p = conn_packet(hca, qp, atomic ? BTH_ATOMIC_ACK : BTH_ACK, job->psn);

	if (!p)
		return false;
	p->syndrome = job->syndrome;
	p->msn = job->msn;
	p->orig = job->orig;
	fabric_tx(hca, p);
	return true;
}

/**
 * resp_ack() - acknowledge, now or after the answers that wait
 * @hca: the HCA
 * @qp: the queue pair
 * @syndrome: of the AETH
 * @psn: of the packet
 *
 * One plain ACK replaces those before it.
 */
void resp_ack(struct hca *hca, struct qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct responder *resp = qp->resp;
	struct resp_job job = {
		.kind = JOB_ACK, .syndrome = syndrome, .psn = psn, .msn = resp->msn,
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
 * resp_read_packets() - count the packets of a READ's answer
 * @qp: the queue pair
 * @len: bytes
 *
 * Return: their number.
 */
uint32_t resp_read_packets(const struct qp *qp, uint32_t len)
{
	return len ? (len + qp->mtu - 1) / qp->mtu : 1;
}

/**
 * resp_drop_jobs() - drop the answers from a PSN on, which the requester will request again
 * @resp: the responder
 * @psn: the PSN
 *
 * Earlier answers stay, that of a READ in part.
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

/*
 * Stop the answer at @p, which becomes an RNR NAK. The requester will ask again for the answers
 * behind it.
 */
static bool resp_stall_read(struct hca *hca, struct qp *qp, struct resp_job *job, struct packet *p)
{
	struct page_fault f = {
		.type = FAULT_REMOTE_READ, .op = ODP_READ, .packet_len = p->len,
		.rkey = job->rkey, .va = job->va, .op_len = job->len, .done = job->sent * qp->mtu,
	};

	if (!qp->resp->fault && !resp_stall(hca, qp, p->psn, &f))
		return false;
	p->syndrome = AETH_RNR | qp->min_rnr_nak;
	resp_drop_jobs(qp->resp, psn_add(p->psn, 1));
	return true;
}

/* Send the next packet of a READ's answer. Returns false if memory is short. */
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
	p->len = last ? job->len - off : qp->mtu;
	/* The key may have been destroyed since the request was checked. */
	if (p->len)
		res = mkey_read(hca, &user, job->rkey, job->va + off, p->payload, p->len,
				MK_REMOTE_READ);
	if (qp->resp->fault && psn_diff(p->psn, qp->resp->fault_psn) >= 0)
		res = MK_NOT_PRESENT;
	if (res != MK_OK) {
		if (res != MK_NOT_PRESENT || !resp_stall_read(hca, qp, job, p)) {
			p->syndrome = NAK_ACCESS;
			job->sent = job->npsn - 1;
		}
		p->opcode = (p->opcode & BTH_SERVICE_MASK) | BTH_ACK;
		p->len = 0;
	}
	job->sent++;
	fabric_tx(hca, p);
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
		if (!fabric_can_tx(hca, qp->path.rlid, NULL) || !resp_send_job(hca, qp, job))
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
