// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: inbound requests of RC, UC and UD, receive WQEs, remote key checks,
 * atomics, and the acknowledgements and answers that go back.
 */
#include <errno.h>
#include <stdlib.h>
#include "fault.h"
#include "qcounter.h"
#include "transport.h"

#define GRH_BYTES	40
#define GRH_NEXT_IBA	0x1b
#define QP1_QKEY	0x80010000u

/* What is wrong with a request, and what everyone concerned is told. */
struct fault {
	uint8_t nak;			/* AETH syndrome for the requester */
	uint8_t synd;			/* of the receive WQE's completion, if one was taken */
	enum async_event event;		/* if none was */
};

static const struct fault fault_length = { NAK_INVALID_REQ, SYND_LOCAL_LENGTH, EV_WQ_INVAL_REQ };
static const struct fault fault_request = {
	NAK_INVALID_REQ, SYND_REMOTE_INVAL_REQ, EV_WQ_INVAL_REQ
};
static const struct fault fault_access = { NAK_ACCESS, SYND_REMOTE_ACCESS, EV_WQ_ACCESS };
static const struct fault fault_inval = { NAK_ACCESS, SYND_LOCAL_ACCESS, EV_WQ_ACCESS };
static const struct fault fault_prot = { NAK_REMOTE_OP, SYND_LOCAL_PROT, EV_WQ_CATAS_ERROR };
static const struct fault fault_wqe = { NAK_REMOTE_OP, SYND_LOCAL_QP_OP, EV_WQ_CATAS_ERROR };

/* ---- receive WQEs ---------------------------------------------------------- */

/* Where receive WQEs come from, if not from a queue of the QP's own: XRC packets name the SRQ. */
static struct srq *recv_srq(struct hca *hca, const struct qp *qp)
{
	struct srq *srq;

	if (qp->type != QPT_XRC)
		return qp->srq;
	srq = srq_find(hca, qp->resp->xrc_srqn);
	return srq && srq->kind == SRQ_XRC && srq->xrcdn == qp->xrcdn ? srq : NULL;
}

static uint32_t recv_pdn(struct hca *hca, const struct qp *qp)
{
	struct srq *srq = recv_srq(hca, qp);

	return srq ? srq->pdn : qp->pdn;
}

/* Whose keys remote access needs. The target of XRC has no domain but the SRQ's. */
static uint32_t remote_pdn(struct hca *hca, const struct qp *qp)
{
	return qp->type == QPT_XRC ? recv_pdn(hca, qp) : qp->pdn;
}

static int pop_own(struct hca *hca, struct qp *qp, uint16_t *index, uint8_t *buf)
{
	uint32_t at = qp->rq_hw & (qp->rq_cnt - 1);
	size_t stride = (size_t)1 << qp->rq_shift;
	uint16_t val;

	if (!qp->rq_cnt || stride > RESP_RWQE_MAX)
		return -ENOENT;
	if (!qp_dbr_read(hca, qp, DBR_RCV, &val))
		return -EFAULT;
	if (val == qp->rq_hw)
		return -ENOENT;
	if ((uint16_t)(val - qp->rq_hw) > qp->rq_cnt ||
	    qmem_read(hca, &qp->mem, qp->rq_off + at * stride, buf, stride))
		return -EFAULT;
	*index = qp->rq_hw++;
	return stride;
}

/* What the CQE says of the queue: the user's index, in the old layout of CQEs the SRQ's number. */
static uint32_t cqe_owner(const struct qp *qp, const struct srq *srq)
{
	if (!qp->cqe_version1)
		return srq ? srq->obj.num : 0;
	return qp->type == QPT_XRC && srq ? srq->user_index : qp->user_index;
}

/* Take a receive WQE: 0, -ENOENT if none is posted, -EFAULT or -EINVAL. */
static int take_rwqe(struct hca *hca, struct qp *qp)
{
	struct responder *resp = qp->resp;
	uint8_t buf[RESP_RWQE_MAX];
	struct srq *srq = recv_srq(hca, qp);
	size_t skip;
	int n;

	if (resp->have_rwqe)
		return 0;
	resp->rwqe_cqn = qp->type == QPT_XRC && srq ? srq->cqn : qp->cqn_rcv;
	resp->rwqe_owner = cqe_owner(qp, srq);
	if (srq)
		n = srq_pop(hca, srq, &resp->rwqe_idx, buf, sizeof(buf));
	else
		n = pop_own(hca, qp, &resp->rwqe_idx, buf);
	if (n < 0)
		return n;
	hca->count.wqes_rq++;
	resp->have_rwqe = true;
	resp->got = 0;
	skip = srq || qp->wq_signature ? WQE_DS : 0;
	return wqe_parse_recv(&resp->rwqe, buf, n, skip);
}

/* To byte @off of the receive WQE in use. */
static enum cqe_syndrome scatter(struct hca *hca, const struct qp *qp, uint64_t off,
				 const void *buf, size_t len)
{
	const struct recv_wqe *w = &qp->resp->rwqe;

	return sg_scatter(hca, qp, recv_pdn(hca, qp), w->seg, w->nseg, off, buf, len);
}

static void complete(struct hca *hca, struct qp *qp, const struct packet *p, struct completion *c)
{
	struct responder *resp = qp->resp;

	c->qpn = qp->obj.num;
	c->wqe_counter = resp->rwqe_idx;
	c->srqn_uidx = resp->rwqe_owner;
	if (p) {
		c->imm_inval_pkey = c->opcode == CQE_RESP_SEND ? 0 : p->imm;
		c->src_qp = (p->opcode & BTH_SERVICE_MASK) == BTH_UD ? p->sqpn : qp->remote_qpn;
		c->slid = p->slid;
		c->sl = p->sl;
		c->grh = p->grh;
		c->solicited = p->solicited || c->syndrome;
	}
	resp->have_rwqe = false;
	resp->got = 0;
	cq_complete(hca, resp->rwqe_cqn, c);
}

static void complete_error(struct hca *hca, struct qp *qp, enum cqe_syndrome synd)
{
	struct completion c = { .opcode = CQE_RESP_ERR, .syndrome = synd, .solicited = true };

	if (synd == SYND_WR_FLUSH)
		qcounter_add(hca, qp->counter_set, QC_RESP_FLUSH);
	else
		hca_trace(hca, "resp_error", "\"qpn\":%u,\"wqe\":%u,\"syndrome\":%u", qp->obj.num,
			  qp->resp->rwqe_idx, synd);
	complete(hca, qp, NULL, &c);
}

static uint8_t recv_opcode(uint8_t bth)
{
	switch (bth & BTH_OP_MASK) {
	case BTH_SEND_LAST_IMM:
	case BTH_SEND_ONLY_IMM:
		return CQE_RESP_SEND_IMM;
	case BTH_SEND_LAST_INV:
	case BTH_SEND_ONLY_INV:
		return CQE_RESP_SEND_INV;
	case BTH_WRITE_LAST_IMM:
	case BTH_WRITE_ONLY_IMM:
		return CQE_RESP_WR_IMM;
	default:
		return CQE_RESP_SEND;
	}
}

static void complete_ok(struct hca *hca, struct qp *qp, const struct packet *p, uint32_t bytes,
			bool in_cqe)
{
	struct completion c = { .opcode = recv_opcode(p->opcode), .byte_cnt = bytes };

	if (in_cqe) {
		c.inline_data = p->payload;
		c.inline_len = p->len;
	}
	complete(hca, qp, p, &c);
}

/* ---- answers --------------------------------------------------------------- */

static struct resp_job *job_at(struct responder *resp, unsigned int i)
{
	return &resp->job[(resp->job_head + i) % RESP_MAX_JOBS];
}

/* Answers leave in the order of their requests; the caller made sure that there is room. */
static void queue_job(struct hca *hca, struct qp *qp, const struct resp_job *job)
{
	struct responder *resp = qp->resp;

	if (resp->job_n >= RESP_MAX_JOBS)
		return;
	*job_at(resp, resp->job_n++) = *job;
	if (job->kind == JOB_READ)
		resp->rd_jobs++;
	transport_kick(hca, &resp->run);
}

static bool send_ack(struct hca *hca, const struct qp *qp, const struct resp_job *job)
{
	bool atomic = job->kind == JOB_ATOMIC;
	struct packet *p = transport_packet(hca, qp, atomic ? BTH_ATOMIC_ACK : BTH_ACK, job->psn);

	if (!p)
		return false;
	p->syndrome = job->syndrome;
	p->msn = job->msn;
	p->orig = job->orig;
	fabric_tx(hca, p);
	return true;
}

/* Acknowledge now, or behind the answers that wait; one plain ACK covers those before it. */
static void acknowledge(struct hca *hca, struct qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct responder *resp = qp->resp;
	struct resp_job job = {
		.kind = JOB_ACK, .syndrome = syndrome, .psn = psn, .msn = resp->msn,
	};
	struct resp_job *last;

	if (!resp->job_n) {
		send_ack(hca, qp, &job);
		return;
	}
	last = job_at(resp, resp->job_n - 1);
	if (last->kind == JOB_ACK && last->syndrome == syndrome && syndrome < AETH_RNR)
		*last = job;
	else
		queue_job(hca, qp, &job);
}

static void ack_request(struct hca *hca, struct qp *qp, const struct packet *p)
{
	if (p->ack_req)
		acknowledge(hca, qp, AETH_ACK | AETH_NO_CREDITS, p->psn);
}

static uint32_t read_packets(const struct qp *qp, uint32_t len)
{
	return len ? (len + qp->mtu - 1) / qp->mtu : 1;
}

/*
 * A page isn't there. The requester is told to come again with the packet of @psn, and until software
 * has brought the page nothing else of it is looked at. False if the page will not be brought.
 */
static bool stall(struct hca *hca, struct qp *qp, uint32_t psn, const struct page_fault *f)
{
	struct responder *resp = qp->resp;

	if (!transport_reliable(qp) || !transport_can_receive(qp))
		return false;
	resp->fault = fault_raise(hca, qp, f);
	resp->fault_psn = psn;
	resp->fault_recv = f->type == FAULT_RECV || f->type == FAULT_SRQ;
	return resp->fault;
}

static void forget_jobs_from(struct responder *resp, uint32_t psn);

/* The answer stops at @p, which becomes an RNR NAK; what waits behind it will be asked for again. */
static bool stall_read(struct hca *hca, struct qp *qp, struct resp_job *job, struct packet *p)
{
	struct page_fault f = {
		.type = FAULT_REMOTE_READ, .op = ODP_READ, .packet_len = p->len,
		.rkey = job->rkey, .va = job->va, .op_len = job->len, .done = job->sent * qp->mtu,
	};

	if (!qp->resp->fault && !stall(hca, qp, p->psn, &f))
		return false;
	p->syndrome = AETH_RNR | qp->min_rnr_nak;
	forget_jobs_from(qp->resp, psn_add(p->psn, 1));
	return true;
}

/* The next packet of a READ's answer; false if it has to wait. */
static bool send_read_packet(struct hca *hca, struct qp *qp, struct resp_job *job)
{
	bool first = !job->sent, last = job->sent == read_packets(qp, job->len) - 1;
	uint64_t off = (uint64_t)job->sent * qp->mtu;
	enum mk_result res = MK_OK;
	struct packet *p;

	p = transport_packet(hca, qp, last ? first ? BTH_READ_ONLY : BTH_READ_LAST :
			     first ? BTH_READ_FIRST : BTH_READ_MIDDLE, job->psn + job->sent);
	if (!p)
		return false;
	p->syndrome = AETH_ACK | AETH_NO_CREDITS;
	p->msn = job->msn;
	p->len = last ? job->len - off : qp->mtu;
	/* The key can have gone since the request was checked. */
	if (p->len)
		res = mkey_read(hca, job->rkey, job->pdn, qp->obj.num, job->va + off, p->payload,
				p->len, MK_REMOTE_READ);
	if (qp->resp->fault && psn_diff(p->psn, qp->resp->fault_psn) >= 0)
		res = MK_NOT_PRESENT;
	if (res != MK_OK) {
		if (res != MK_NOT_PRESENT || !stall_read(hca, qp, job, p)) {
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

static bool send_job(struct hca *hca, struct qp *qp, struct resp_job *job)
{
	if (job->kind != JOB_READ)
		return send_ack(hca, qp, job);
	return send_read_packet(hca, qp, job);
}

/**
 * resp_run() - one turn of a responder: answers that wait are sent
 * @hca: the function
 * @qp: the queue pair; one in error still sends what it owed
 * @budget: packets that it may send, counted down
 *
 * Return: true if more wait.
 */
bool resp_run(struct hca *hca, struct qp *qp, unsigned int *budget)
{
	struct responder *resp = qp->resp;
	struct resp_job *job;

	while (resp->job_n && *budget) {
		job = job_at(resp, 0);
		if (!fabric_can_tx(hca, qp->path.rlid) || !send_job(hca, qp, job))
			return true;
		--*budget;
		if (job->kind == JOB_READ && job->sent < job->npsn)
			continue;
		if (job->kind == JOB_READ)
			resp->rd_jobs--;
		resp->job_head = (resp->job_head + 1) % RESP_MAX_JOBS;
		resp->job_n--;
	}
	return resp->job_n;
}

/* ---- faults ---------------------------------------------------------------- */

/* The request cannot be served: say so to both sides; the queue pair goes to error. */
static void refuse(struct hca *hca, struct qp *qp, const struct packet *p, const struct fault *f)
{
	struct responder *resp = qp->resp;
	bool told = resp->have_rwqe;

	if (f == &fault_length)
		qcounter_add(hca, qp->counter_set, QC_RESP_LOCAL_LEN);
	else if (f == &fault_access)
		qcounter_add(hca, qp->counter_set, QC_RESP_REMOTE_ACCESS);
	else if (f == &fault_prot)
		qcounter_add(hca, qp->counter_set, QC_RESP_LOCAL_PROT);
	hca_trace(hca, "refuse", "\"qpn\":%u,\"psn\":%u,\"opcode\":%u,\"nak\":%u,\"syndrome\":%u",
		  qp->obj.num, p->psn, p->opcode, f->nak, f->synd);
	if (transport_reliable(qp))
		acknowledge(hca, qp, f->nak, p->psn);
	if (told)
		complete_error(hca, qp, f->synd);
	resp->msg = MSG_NONE;
	qp_to_error(hca, qp, told ? 0 : f->event);
}

/**
 * resp_resume() - go on after a page fault
 * @hca: the function
 * @qp: the queue pair
 * @ok: the page is there, and the requester comes again; otherwise it is refused
 */
void resp_resume(struct hca *hca, struct qp *qp, bool ok)
{
	struct responder *resp = qp->resp;
	struct packet *p;

	resp->fault = 0;
	if (ok)
		return;
	p = packet_alloc();
	if (!p)
		return;
	p->psn = resp->fault_psn;
	refuse(hca, qp, p, resp->fault_recv ? &fault_prot : &fault_access);
	packet_free(p);
}

static const struct fault *rwqe_fault(int err)
{
	return err == -EINVAL || err == -EFAULT ? &fault_wqe : NULL;
}

/* ---- SEND and RDMA WRITE --------------------------------------------------- */

struct bth_desc {
	enum resp_msg msg;
	bool first, last, imm, inval;
};

static const struct bth_desc bth_table[BTH_OP_MASK + 1] = {
	[BTH_SEND_FIRST] = { MSG_SEND, .first = true },
	[BTH_SEND_MIDDLE] = { .msg = MSG_SEND },
	[BTH_SEND_LAST] = { MSG_SEND, .last = true },
	[BTH_SEND_LAST_IMM] = { MSG_SEND, .last = true, .imm = true },
	[BTH_SEND_LAST_INV] = { MSG_SEND, .last = true, .inval = true },
	[BTH_SEND_ONLY] = { MSG_SEND, .first = true, .last = true },
	[BTH_SEND_ONLY_IMM] = { MSG_SEND, .first = true, .last = true, .imm = true },
	[BTH_SEND_ONLY_INV] = { MSG_SEND, .first = true, .last = true, .inval = true },
	[BTH_WRITE_FIRST] = { MSG_WRITE, .first = true },
	[BTH_WRITE_MIDDLE] = { .msg = MSG_WRITE },
	[BTH_WRITE_LAST] = { MSG_WRITE, .last = true },
	[BTH_WRITE_LAST_IMM] = { MSG_WRITE, .last = true, .imm = true },
	[BTH_WRITE_ONLY] = { MSG_WRITE, .first = true, .last = true },
	[BTH_WRITE_ONLY_IMM] = { MSG_WRITE, .first = true, .last = true, .imm = true },
};

enum outcome { DONE, FAULT, NOT_READY };

static bool length_ok(const struct qp *qp, const struct bth_desc *d, const struct packet *p)
{
	if (!d->last)
		return p->len == qp->mtu;
	return p->len <= qp->mtu && (d->first || p->len);
}

/* A receive WQE for the message; NOT_READY if none is posted. */
static enum outcome need_rwqe(struct hca *hca, struct qp *qp, const struct fault **why)
{
	int err = take_rwqe(hca, qp);

	if (!err)
		return DONE;
	if (err == -ENOENT)
		qcounter_add(hca, qp->counter_set, QC_OUT_OF_BUFFER);
	*why = rwqe_fault(err);
	return *why ? FAULT : NOT_READY;
}

/* Messages of one packet that fit go into the CQE alone, if the QP asked for that. */
static bool goes_in_cqe(const struct qp *qp, const struct bth_desc *d, const struct packet *p)
{
	uint32_t limit = qp->cs_res == 2 ? 64 : qp->cs_res == 1 ? 32 : 0;

	return d->first && d->last && p->len && p->len <= limit && qp->type == QPT_RC;
}

/* Stand still for a page of the receive WQE in use. */
static bool stall_recv(struct hca *hca, struct qp *qp, const struct packet *p)
{
	const struct responder *resp = qp->resp;
	const struct srq *srq = recv_srq(hca, qp);
	struct page_fault f = {
		.type = srq ? FAULT_SRQ : FAULT_RECV, .op = srq ? ODP_SRQ_RECEIVE : ODP_RECEIVE,
		.wq = srq ? srq->obj.num : qp->obj.num, .wqe_index = resp->rwqe_idx,
		.done = resp->got, .packet_len = p->len,
	};

	return stall(hca, qp, p->psn, &f);
}

static enum outcome do_send(struct hca *hca, struct qp *qp, const struct bth_desc *d,
			    const struct packet *p, const struct fault **why)
{
	struct responder *resp = qp->resp;
	bool in_cqe = goes_in_cqe(qp, d, p);
	enum outcome o = need_rwqe(hca, qp, why);
	enum cqe_syndrome synd = SYND_OK;

	if (o != DONE)
		return o;
	if (d->first)
		resp->got = 0;
	if (p->len > resp->rwqe.len - resp->got) {
		*why = &fault_length;
		return FAULT;
	}
	if (!in_cqe)
		synd = scatter(hca, qp, resp->got, p->payload, p->len);
	if (synd == SYND_PAGE_FAULT && stall_recv(hca, qp, p))
		return NOT_READY;
	if (synd) {
		*why = &fault_prot;
		return FAULT;
	}
	resp->got += p->len;
	if (d->inval && !umr_invalidate(hca, qp, p->imm)) {
		*why = &fault_inval;
		return FAULT;
	}
	if (d->last)
		complete_ok(hca, qp, p, resp->got, in_cqe);
	return DONE;
}

/* Does the key that the request brought allow all of it? */
static bool remote_ok(struct hca *hca, const struct qp *qp, const struct packet *p,
		      unsigned int access)
{
	return !p->dma_len || mkey_check(hca, p->rkey, remote_pdn(hca, qp), qp->obj.num, p->va,
					 p->dma_len, access) == MK_OK;
}

static enum outcome begin_write(struct hca *hca, struct qp *qp, const struct packet *p,
				const struct fault **why)
{
	struct responder *resp = qp->resp;

	*why = &fault_access;
	if (!qp->rwe)
		return FAULT;
	if (!remote_ok(hca, qp, p, MK_REMOTE_WRITE))
		return FAULT;
	qcounter_add(hca, qp->counter_set, QC_RX_WRITE);
	resp->va = p->va;
	resp->rkey = p->rkey;
	resp->left = p->dma_len;
	resp->write_len = p->dma_len;
	return DONE;
}

static bool stall_write(struct hca *hca, struct qp *qp, const struct packet *p)
{
	const struct responder *resp = qp->resp;
	uint32_t done = resp->write_len - resp->left;
	struct page_fault f = {
		.type = FAULT_REMOTE_WRITE, .op = ODP_WRITE, .packet_len = p->len,
		.rkey = resp->rkey, .va = resp->va - done, .op_len = resp->write_len, .done = done,
	};

	return stall(hca, qp, p->psn, &f);
}

static enum outcome do_write(struct hca *hca, struct qp *qp, const struct bth_desc *d,
			     const struct packet *p, const struct fault **why)
{
	struct responder *resp = qp->resp;
	enum mk_result res = MK_OK;
	enum outcome o;

	if (d->first && begin_write(hca, qp, p, why) != DONE)
		return FAULT;
	*why = &fault_request;
	if (p->len > resp->left || (d->last && p->len != resp->left))
		return FAULT;
	if (d->imm) {
		o = need_rwqe(hca, qp, why);
		if (o != DONE)
			return o;
	}
	*why = &fault_access;
	if (p->len)
		res = mkey_write(hca, resp->rkey, remote_pdn(hca, qp), qp->obj.num, resp->va,
				 p->payload, p->len, MK_REMOTE_WRITE);
	if (res == MK_NOT_PRESENT && stall_write(hca, qp, p))
		return NOT_READY;
	if (res != MK_OK)
		return FAULT;
	resp->va += p->len;
	resp->left -= p->len;
	if (d->imm)
		complete_ok(hca, qp, p, resp->write_len, false);
	return DONE;
}

/* A packet that carries a piece of a message, in its right place in the sequence. */
static enum outcome do_message(struct hca *hca, struct qp *qp, const struct bth_desc *d,
			       const struct packet *p, const struct fault **why)
{
	struct responder *resp = qp->resp;
	enum outcome o;

	*why = &fault_request;
	if (d->first != (resp->msg == MSG_NONE) || (!d->first && d->msg != resp->msg) ||
	    !length_ok(qp, d, p))
		return FAULT;
	if (d->msg == MSG_SEND)
		o = do_send(hca, qp, d, p, why);
	else
		o = do_write(hca, qp, d, p, why);
	if (o != DONE)
		return o;
	resp->msg = d->last ? MSG_NONE : d->msg;
	if (d->last)
		resp->msn = psn_add(resp->msn, 1);
	return DONE;
}

/* ---- READ and atomics ------------------------------------------------------ */

static enum outcome do_read(struct hca *hca, struct qp *qp, const struct packet *p,
			    const struct fault **why)
{
	struct responder *resp = qp->resp;
	struct resp_job job = {
		.kind = JOB_READ, .psn = p->psn, .va = p->va, .rkey = p->rkey, .len = p->dma_len,
		.npsn = read_packets(qp, p->dma_len), .pdn = remote_pdn(hca, qp),
	};

	*why = &fault_request;
	if (resp->msg != MSG_NONE || resp->rd_jobs >= qp->max_dest_rd_atomic)
		return FAULT;
	*why = &fault_access;
	if (!qp->rre)
		return FAULT;
	if (!remote_ok(hca, qp, p, MK_REMOTE_READ))
		return FAULT;
	qcounter_add(hca, qp->counter_set, QC_RX_READ);
	resp->msn = psn_add(resp->msn, 1);
	job.msn = resp->msn;
	queue_job(hca, qp, &job);
	return DONE;
}

/* Add field by field: a set bit in @bounds is the highest of its field and passes on no carry. */
static uint64_t masked_add(uint64_t a, uint64_t b, uint64_t bounds)
{
	return ((a & ~bounds) + (b & ~bounds)) ^ ((a ^ b) & bounds);
}

static uint64_t atomic_result(uint8_t op, const struct packet *p, uint64_t old)
{
	switch (op) {
	case BTH_CMP_SWAP:
		return old == p->compare ? p->swap_add : old;
	case BTH_MASKED_CMP_SWAP:
		if ((old ^ p->compare) & p->compare_mask)
			return old;
		return (old & ~p->swap_mask) | (p->swap_add & p->swap_mask);
	case BTH_MASKED_FETCH_ADD:
		return masked_add(old, p->swap_add, p->compare_mask);
	default:
		return old + p->swap_add;
	}
}

/* The guest's processors may use atomics on the same word at the same time. */
static uint64_t atomic_apply(struct hca *hca, uint64_t *mem, const struct packet *p)
{
	bool host_order = hca_cap_atomic(hca, atomic_req_8B_endianness_mode);
	uint64_t old = __atomic_load_n(mem, __ATOMIC_SEQ_CST), seen, val;

	do {
		seen = host_order ? old : be64toh(old);
		val = atomic_result(p->opcode & BTH_OP_MASK, p, seen);
		if (!host_order)
			val = htobe64(val);
	} while (!__atomic_compare_exchange_n(mem, &old, val, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	return seen;
}

static bool stall_atomic(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct page_fault f = {
		.type = FAULT_REMOTE_WRITE, .op = ODP_ATOMIC, .packet_len = sizeof(uint64_t),
		.rkey = p->rkey, .va = p->va, .op_len = sizeof(uint64_t),
	};

	return stall(hca, qp, p->psn, &f);
}

static enum outcome do_atomic(struct hca *hca, struct qp *qp, const struct packet *p,
			      const struct fault **why)
{
	struct responder *resp = qp->resp;
	struct resp_job job = {
		.kind = JOB_ATOMIC, .psn = p->psn, .syndrome = AETH_ACK | AETH_NO_CREDITS,
	};
	enum mk_result res;
	uint64_t *mem;

	*why = &fault_request;
	if (resp->msg != MSG_NONE || p->va % sizeof(*mem))
		return FAULT;
	*why = &fault_access;
	if (!qp->rae)
		return FAULT;
	mem = mkey_atomic_ptr(hca, p->rkey, remote_pdn(hca, qp), qp->obj.num, p->va, sizeof(*mem),
			      &res);
	if (res == MK_NOT_PRESENT && stall_atomic(hca, qp, p))
		return NOT_READY;
	if (!mem)
		return FAULT;
	qcounter_add(hca, qp->counter_set, QC_RX_ATOMIC);
	job.orig = atomic_apply(hca, mem, p);
	resp->msn = psn_add(resp->msn, 1);
	job.msn = resp->msn;
	resp->replay[resp->replay_next].valid = true;
	resp->replay[resp->replay_next].psn = p->psn;
	resp->replay[resp->replay_next].orig = job.orig;
	resp->replay_next = (resp->replay_next + 1) % RESP_REPLAY;
	queue_job(hca, qp, &job);
	return DONE;
}

static bool is_atomic(uint8_t op)
{
	return op == BTH_CMP_SWAP || op == BTH_FETCH_ADD || op == BTH_MASKED_CMP_SWAP ||
	       op == BTH_MASKED_FETCH_ADD;
}

/* ---- RC -------------------------------------------------------------------- */

/*
 * The requester starts over at @psn, so what waits to be sent from there on will be asked for
 * again. What comes before stays, a READ's answer in part.
 */
static void forget_jobs_from(struct responder *resp, uint32_t psn)
{
	struct resp_job *job;
	int32_t keep;

	while (resp->job_n) {
		job = job_at(resp, resp->job_n - 1);
		keep = psn_diff(psn, job->psn);
		if (job->kind == JOB_READ && keep > (int32_t)job->sent) {
			if (keep < (int32_t)job->npsn)
				job->npsn = keep;
			return;
		}
		if (job->kind != JOB_READ && keep > 0)
			return;
		if (job->kind == JOB_READ)
			resp->rd_jobs--;
		resp->job_n--;
	}
}

static void replay_atomic(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;
	struct resp_job job = {
		.kind = JOB_ATOMIC, .psn = p->psn, .syndrome = AETH_ACK | AETH_NO_CREDITS,
		.msn = resp->msn,
	};
	unsigned int i;

	forget_jobs_from(resp, p->psn);
	for (i = 0; i < RESP_REPLAY; i++)
		if (resp->replay[i].valid && resp->replay[i].psn == p->psn) {
			job.orig = resp->replay[i].orig;
			queue_job(hca, qp, &job);
			return;
		}
}

/* A request that was served before: answered again, executed again only if that is harmless. */
static void rc_duplicate(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;
	uint8_t op = p->opcode & BTH_OP_MASK;
	struct resp_job job = {
		.kind = JOB_READ, .psn = p->psn, .va = p->va, .rkey = p->rkey, .len = p->dma_len,
		.msn = resp->msn, .npsn = read_packets(qp, p->dma_len), .pdn = remote_pdn(hca, qp),
	};

	qcounter_add(hca, qp->counter_set, QC_DUPLICATE);
	if (op == BTH_READ_REQ) {
		forget_jobs_from(resp, p->psn);
		if (qp->rre)
			queue_job(hca, qp, &job);
	} else if (is_atomic(op)) {
		replay_atomic(hca, qp, p);
	} else if (p->ack_req) {
		acknowledge(hca, qp, AETH_ACK | AETH_NO_CREDITS,
			    psn_add(qp->next_rcv_psn, PSN_MASK));
	}
}

static void rc_gap(struct hca *hca, struct qp *qp)
{
	struct responder *resp = qp->resp;

	if (resp->nak_sent)
		return;
	qcounter_add(hca, qp->counter_set, QC_OUT_OF_SEQUENCE);
	resp->nak_sent = true;
	acknowledge(hca, qp, NAK_SEQ, qp->next_rcv_psn);
}

static void rc_not_ready(struct hca *hca, struct qp *qp, const struct packet *p)
{
	/* What follows comes out of sequence and will be sent again: no NAK for it. */
	qp->resp->nak_sent = true;
	acknowledge(hca, qp, AETH_RNR | qp->min_rnr_nak, p->psn);
}

/* An XRC packet names an SRQ of the queue pair's domain, the same in all of a message. */
static bool xrc_ok(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;

	if (qp->type != QPT_XRC)
		return true;
	if (resp->msg != MSG_NONE && resp->xrc_srqn != p->xrc_srqn)
		return false;
	resp->xrc_srqn = p->xrc_srqn;
	return recv_srq(hca, qp);
}

static void rc_receive(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;
	uint8_t op = p->opcode & BTH_OP_MASK;
	const struct bth_desc *d = &bth_table[op];
	const struct fault *why = &fault_request;
	int32_t diff = psn_diff(p->psn, qp->next_rcv_psn);
	enum outcome o = FAULT;

	/* No room to answer: as if it had been lost, which the requester's timer finds out. */
	if (resp->job_n >= RESP_MAX_JOBS - 2)
		return;
	if (resp->fault && psn_diff(p->psn, resp->fault_psn) > 0)
		return;
	if (resp->fault && p->psn == resp->fault_psn) {
		acknowledge(hca, qp, AETH_RNR | qp->min_rnr_nak, p->psn);
		return;
	}
	if (diff < 0) {
		rc_duplicate(hca, qp, p);
		return;
	}
	if (diff > 0) {
		rc_gap(hca, qp);
		return;
	}
	resp->nak_sent = false;
	if (!xrc_ok(hca, qp, p))
		o = FAULT;
	else if (op == BTH_READ_REQ)
		o = do_read(hca, qp, p, &why);
	else if (is_atomic(op))
		o = do_atomic(hca, qp, p, &why);
	else if (d->msg != MSG_NONE)
		o = do_message(hca, qp, d, p, &why);

	if (o == FAULT) {
		refuse(hca, qp, p, why);
	} else if (o == NOT_READY) {
		rc_not_ready(hca, qp, p);
	} else {
		qp->next_rcv_psn = psn_add(p->psn, op == BTH_READ_REQ ?
					   read_packets(qp, p->dma_len) : 1);
		if (d->msg != MSG_NONE)
			ack_request(hca, qp, p);
	}
}

/* ---- UC -------------------------------------------------------------------- */

/* Loss is not repaired: the rest of the message is skipped, its receive WQE serves the next. */
static void uc_receive(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;
	const struct bth_desc *d = &bth_table[p->opcode & BTH_OP_MASK];
	const struct fault *why = &fault_request;
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
	o = do_message(hca, qp, d, p, &why);
	if (o == NOT_READY)
		resp->msg = d->last ? MSG_NONE : MSG_SKIP;
	else if (o == FAULT && why == &fault_access)
		resp->msg = MSG_SKIP;
	else if (o == FAULT)
		refuse(hca, qp, p, why);
}

/* ---- UD -------------------------------------------------------------------- */

/* struct ib_grh, as it would have come over the wire. */
static void make_grh(uint8_t grh[GRH_BYTES], const struct packet *p)
{
	const unsigned int headers = 12 + 8 + 4;	/* BTH, DETH, ICRC */
	unsigned int imm = (p->opcode & BTH_OP_MASK) == BTH_SEND_ONLY_IMM ? 4 : 0;

	memset(grh, 0, GRH_BYTES);
	put_be32(grh, 6u << 28 | (uint32_t)p->tclass << 20 | p->flow_label);
	put_be16(grh + 4, headers + imm + (p->len + 3) / 4 * 4);
	grh[6] = GRH_NEXT_IBA;
	grh[7] = p->hop_limit;
	memcpy(grh + 8, p->sgid, 16);
	memcpy(grh + 24, p->dgid, 16);
}

static void ud_store(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;
	uint8_t grh[GRH_BYTES];
	enum cqe_syndrome synd = SYND_OK;

	if (p->len + GRH_BYTES > resp->rwqe.len) {
		refuse(hca, qp, p, &fault_length);
		return;
	}
	if (p->grh) {
		make_grh(grh, p);
		synd = scatter(hca, qp, 0, grh, sizeof(grh));
	}
	if (!synd)
		synd = scatter(hca, qp, GRH_BYTES, p->payload, p->len);
	if (synd)
		refuse(hca, qp, p, &fault_prot);
	else
		complete_ok(hca, qp, p, p->len + GRH_BYTES, false);
}

static bool grh_is_ours(struct hca *hca, const struct packet *p)
{
	uint8_t gid[16];

	fabric_gid(hca, gid);
	return !p->grh || p->dlid >= LID_MCAST_FIRST || !memcmp(gid, p->dgid, sizeof(gid));
}

/* What a datagram is not for is dropped in silence: nobody waits for an answer. */
static void ud_receive(struct hca *hca, struct qp *qp, const struct packet *p)
{
	uint32_t qkey = qp->type == QPT_QP1 ? QP1_QKEY : qp->qkey;
	int err;

	if ((qp->type != QPT_QP0 && p->qkey != qkey) || !grh_is_ours(hca, p)) {
		hca->count.packets_dropped++;
		hca_trace(hca, "ud_drop", "\"qpn\":%u,\"qkey\":%u", qp->obj.num, p->qkey);
		return;
	}
	err = take_rwqe(hca, qp);
	if (!err)
		ud_store(hca, qp, p);
	else if (rwqe_fault(err))
		refuse(hca, qp, p, rwqe_fault(err));
	else
		hca->count.packets_dropped++;
}

/**
 * resp_receive() - a request for a responder
 * @hca: the function
 * @qp: the queue pair, in a state that receives
 * @p: the packet
 */
void resp_receive(struct hca *hca, struct qp *qp, const struct packet *p)
{
	if (!transport_resp(hca, qp))
		return;
	if (qp->state == QPS_RTR && !qp->comm_est)
		qp_comm_est(hca, qp);
	if (transport_reliable(qp))
		rc_receive(hca, qp, p);
	else if (qp->type == QPT_UC)
		uc_receive(hca, qp, p);
	else
		ud_receive(hca, qp, p);
}

/* ---- state changes --------------------------------------------------------- */

static void forget_fault(struct hca *hca, struct responder *resp)
{
	fault_cancel(hca, resp->fault);
	resp->fault = 0;
}

/**
 * resp_flush() - end every posted receive WQE with a flush error
 * @hca: the function
 * @qp: the queue pair, in ERR; WQEs of an SRQ stay there but the one in use
 *
 * Watches the queue from then on, for WQEs that are posted later.
 */
void resp_flush(struct hca *hca, struct qp *qp)
{
	struct responder *resp;
	bool own = qp->rq_cnt && !qp->srq;
	uint16_t val, n;

	resp = own ? transport_resp(hca, qp) : qp->resp;
	if (!resp)
		return;
	resp->msg = MSG_NONE;
	forget_fault(hca, resp);
	if (resp->have_rwqe)
		complete_error(hca, qp, SYND_WR_FLUSH);
	if (!own)
		return;
	if (!qp_dbr_read(hca, qp, DBR_RCV, &val)) {
		transport_poll_errors(hca, resp, false);
		return;
	}
	for (n = val - qp->rq_hw; n && n <= qp->rq_cnt; n--) {
		resp->rwqe_idx = qp->rq_hw++;
		resp->rwqe_cqn = qp->cqn_rcv;
		resp->rwqe_owner = cqe_owner(qp, NULL);
		complete_error(hca, qp, SYND_WR_FLUSH);
	}
	transport_poll_errors(hca, resp, true);
}

/**
 * resp_clear() - forget everything about requests received so far
 * @hca: the function
 * @qp: the queue pair, moving to RST or RTR
 */
void resp_clear(struct hca *hca, struct qp *qp)
{
	struct responder *resp = qp->resp;

	if (!resp)
		return;
	transport_poll_errors(hca, resp, false);
	resp->job_n = 0;
	resp->rd_jobs = 0;
	memset(resp->replay, 0, sizeof(resp->replay));
	resp->msg = MSG_NONE;
	resp->have_rwqe = false;
	resp->nak_sent = false;
	resp->msn = 0;
	forget_fault(hca, resp);
}

static bool forget_srq(struct hca *hca, struct obj *o, void *arg)
{
	struct qp *qp = (struct qp *)o;
	struct responder *resp = qp->resp;
	const struct srq *srq = arg;

	if (qp->type != QPT_XRC || !resp || recv_srq(hca, qp) != srq)
		return true;
	resp->msg = MSG_NONE;
	resp->have_rwqe = false;
	resp->got = 0;
	forget_fault(hca, resp);
	return true;
}

/**
 * resp_forget_srq() - what was taken from an XRC SRQ will not complete
 * @hca: the function
 * @srq: the queue, about to be freed
 *
 * Nothing holds it, and its CQ may be gone or another's next. The rest of a message that is on its way
 * to it is refused, as is all else that names it.
 */
void resp_forget_srq(struct hca *hca, struct srq *srq)
{
	obj_for_each(hca, OBJ_QP, forget_srq, srq);
}

/**
 * resp_free() - free the responder
 * @hca: the function
 * @qp: the queue pair, about to be destroyed; no turn of it is queued
 */
void resp_free(struct hca *hca, struct qp *qp)
{
	(void)hca;
	free(qp->resp);
	qp->resp = NULL;
}
