// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: starting operations, making their packets, and its turns.
 */
#include <sys/queue.h>

#include "caps.h"
#include "clock.h"
#include "conn.h"
#include "cq.h"
#include "hca.h"
#include "ifc.h"
#include "inject.h"
#include "link.h"
#include "mkey.h"
#include "packet.h"
#include "qp.h"
#include "req.h"
#include "sg.h"
#include "umr.h"
#include "wqe.h"

#define LOG_ACK_EVERY	5		/* one in 2^5 packets, at least, requests an ACK */
#define UMR_WAIT_NS	2000000	/* how long a UMR waits for a later UMR */
#define UD_QKEY_OWN	0x80000000u	/* bit of a WQE's Q_Key: send the queue pair's Q_Key */

static uint32_t req_packets_of(const struct qp *qp, uint64_t len)
{
	return len ? (len + qp->mtu - 1) / qp->mtu : 1;
}

/*
 * Check fences and the limit of outstanding reads. The queue gets another turn when the work that
 * it waits for is done.
 */
static bool req_may_start(const struct qp *qp, const struct send_op *op)
{
	const struct requester *req = qp->req;

	switch (op->w.fence) {
	case FENCE_ALL:
		if (TAILQ_FIRST(&req->ops) != op)
			return false;
		break;
	case FENCE_READS:
	case FENCE_SMALL_READS:
		if (req->rd_out)
			return false;
		break;
	default:
		break;
	}
	return !(op->w.is_read || op->w.is_atomic) || req->rd_out < qp->max_rd_atomic;
}

/* A datagram has to fit a packet of the port and the queue pair. */
static enum cqe_error req_check_datagram(struct hca *hca, const struct qp *qp, struct send_wqe *w)
{
	const struct link_ops *link = link_of(hca);

	if (w->len > link->mtu(hca) || w->len > qp->mtu)
		return ERR_MESSAGE_TOO_LONG;
	return link->check_av(hca, &w->av, &w->why);
}

static enum cqe_error req_check_length(const struct qp *qp, const struct send_wqe *w)
{
	if (w->len > 1ull << (qp->log_msg_max ? qp->log_msg_max : 30))
		return ERR_MESSAGE_TOO_LONG;
	return ERR_NONE;
}

static enum cqe_error req_check_op(struct hca *hca, const struct qp *qp, struct send_wqe *w)
{
	enum cqe_error error;

	if (conn_datagram(qp))
		return req_check_datagram(hca, qp, w);
	error = req_check_length(qp, w);
	if (!error && qp->type == QPT_DCI && !w->local)
		error = link_of(hca)->check_av(hca, &w->av, &w->why);
	return error;
}

/* Give the operation its PSNs. */
static void req_start_op(struct qp *qp, struct send_op *op)
{
	struct requester *req = qp->req;

	op->started = true;
	op->psn = qp->next_send_psn;
	if (op->w.local)
		op->npsn = 0;
	else if (conn_datagram(qp) || op->w.is_atomic)
		op->npsn = 1;
	else
		op->npsn = req_packets_of(qp, op->w.len);
	if (op->w.is_read || op->w.is_atomic)
		req->rd_out++;
	qp->next_send_psn = psn_add(qp->next_send_psn, op->npsn);
	req->unsent += op->npsn;
}

/* ---- packets --------------------------------------------------------------------------------- */

static uint8_t req_bth_opcode(const struct send_wqe *w, bool first, bool last)
{
	static const uint8_t only[] = {
		[0] = BTH_SEND_ONLY, [1] = BTH_SEND_ONLY_IMM, [2] = BTH_SEND_ONLY_INV,
		[3] = BTH_WRITE_ONLY, [4] = BTH_WRITE_ONLY_IMM,
	};
	static const uint8_t end[] = {
		[0] = BTH_SEND_LAST, [1] = BTH_SEND_LAST_IMM, [2] = BTH_SEND_LAST_INV,
		[3] = BTH_WRITE_LAST, [4] = BTH_WRITE_LAST_IMM,
	};
	bool write = w->opcode == WQE_RDMA_WRITE || w->opcode == WQE_RDMA_WRITE_IMM;
	static const uint8_t kinds[] = {
		[WQE_SEND] = 0, [WQE_SEND_IMM] = 1, [WQE_SEND_INVAL] = 2, [WQE_RDMA_WRITE] = 3,
		[WQE_RDMA_WRITE_IMM] = 4,
	};
	unsigned int kind = kinds[w->opcode];

	if (last)
		return first ? only[kind] : end[kind];
	if (write)
		return first ? BTH_WRITE_FIRST : BTH_WRITE_MIDDLE;
	return first ? BTH_SEND_FIRST : BTH_SEND_MIDDLE;
}

/* Make the next packet of a SEND or RDMA WRITE. */
static enum cqe_error req_message_packet(struct hca *hca, const struct qp *qp,
					 struct send_op *op,
					 struct packet **out)
{
	const struct send_wqe *w = &op->w;
	const struct mkey_user user = conn_user(qp, qp->pdn);
	bool first = !op->sent, last = op->sent == op->npsn - 1;
	uint64_t off = (uint64_t)op->sent * qp->mtu;
	uint32_t ack_every = 1u << (qp->log_ack_req_freq < LOG_ACK_EVERY ? qp->log_ack_req_freq :
									   LOG_ACK_EVERY);
	enum cqe_error error;
	struct packet *p;

	p = conn_packet(hca, qp, req_bth_opcode(w, first, last), op->psn + op->sent);
	if (!p)
		return ERR_NONE;
	p->head.len = last ? w->len - off : qp->mtu;
	error = sg_gather(hca, &user, w->seg, w->nseg, off, p->payload, p->head.len);
	if (error) {
		packet_free(hca->fabric, p);
		return error;
	}
	p->solicited = last && w->solicited;
	p->ack_req = last || op->sent % ack_every == ack_every - 1;
	p->imm = w->imm;
	p->xrc_srqn = w->xrc_srqn;
	if (first) {
		p->va = w->raddr;
		p->rkey = w->rkey;
		p->dma_len = w->len;
	}
	*out = p;
	return ERR_NONE;
}

static struct packet *req_read_packet(struct hca *hca, const struct qp *qp,
				      const struct send_op *op)
{
	uint32_t got = op->done / qp->mtu;
	struct packet *p = conn_packet(hca, qp, BTH_READ_REQ, op->psn + got);

	if (!p)
		return NULL;
	p->xrc_srqn = op->w.xrc_srqn;
	p->va = op->w.raddr + op->done;
	p->rkey = op->w.rkey;
	p->dma_len = op->w.len - op->done;
	p->ack_req = true;
	return p;
}

static struct packet *req_atomic_packet(struct hca *hca, const struct qp *qp,
					const struct send_op *op)
{
	const struct send_wqe *w = &op->w;
	uint8_t bth = w->opcode == WQE_ATOMIC_CS ? BTH_CMP_SWAP :
		      w->opcode == WQE_ATOMIC_FA ? BTH_FETCH_ADD :
		      w->opcode == WQE_MASKED_CS ? BTH_MASKED_CMP_SWAP : BTH_MASKED_FETCH_ADD;
	struct packet *p = conn_packet(hca, qp, bth, op->psn);

	if (!p)
		return NULL;
	p->xrc_srqn = w->xrc_srqn;
	p->va = w->raddr;
	p->rkey = w->rkey;
	p->swap_add = w->swap_add;
	p->compare = w->compare;
	p->swap_mask = w->swap_mask;
	p->compare_mask = w->compare_mask;
	p->ack_req = true;
	return p;
}

static uint32_t req_source_qpn(const struct qp *qp)
{
	if (qp->type == QPT_QP0)
		return 0;
	if (qp->type == QPT_QP1)
		return 1;
	return qp->deth_sqpn ? qp->deth_sqpn : qp->obj.num;
}

static void req_ud_address(struct hca *hca, const struct qp *qp, const struct wqe_av *av,
			   struct packet *p)
{
	link_of(hca)->address(hca, qp, &av->path, p);
	p->dqpn = av->dqpn;
	p->sqpn = req_source_qpn(qp);
	p->qkey = !(av->qkey & UD_QKEY_OWN) ? av->qkey :
		  p->sqpn == 1 ? QP1_QKEY : qp->qkey;
}

static void req_trace_datagram(struct hca *hca, const struct qp *qp, const struct qp_path *path,
			       const struct packet *p)
{
	hca_trace(hca, "datagram", "\"qpn\":%u,\"dlid\":%u,\"dqpn\":%u,\"pkey\":%u,\"sl\":%u,"
		  "\"stat_rate\":%u,\"grh\":%u,\"sgid_index\":%u,\"hop_limit\":%u,\"tclass\":%u,"
		  "\"flow_label\":%u", qp->obj.num, path->rlid, p->dqpn, p->pkey, path->sl,
		  path->stat_rate, path->grh, path->src_gid_index, path->grh ? path->hop_limit : 0,
		  path->grh ? path->tclass : 0, path->grh ? path->flow_label : 0);
}

static enum cqe_error req_ud_packet(struct hca *hca, const struct qp *qp, struct send_op *op,
				    struct packet **out)
{
	const struct mkey_user user = conn_user(qp, qp->pdn);
	const struct send_wqe *w = &op->w;
	enum cqe_error error;
	struct packet *p = packet_alloc(hca->fabric);

	if (!p)
		return ERR_NONE;
	p->opcode = BTH_UD | (w->opcode == WQE_SEND_IMM ? BTH_SEND_ONLY_IMM : BTH_SEND_ONLY);
	p->psn = op->psn;
	p->solicited = w->solicited;
	p->imm = w->imm;
	p->head.len = w->len;
	req_ud_address(hca, qp, &w->av, p);
	req_trace_datagram(hca, qp, &w->av.path, p);
	error = sg_gather(hca, &user, w->seg, w->nseg, 0, p->payload, p->head.len);
	if (error) {
		packet_free(hca->fabric, p);
		return error;
	}
	*out = p;
	return ERR_NONE;
}

/* Make the next packet of @op. *out stays NULL if memory is short; the caller tries again later. */
static enum cqe_error req_make_packet(struct hca *hca, const struct qp *qp, struct send_op *op,
				      struct packet **out)
{
	*out = NULL;
	if (conn_datagram(qp))
		return req_ud_packet(hca, qp, op, out);
	if (op->connect)
		*out = req_connect_packet(hca, qp, op);
	else if (op->w.is_read)
		*out = req_read_packet(hca, qp, op);
	else if (op->w.is_atomic)
		*out = req_atomic_packet(hca, qp, op);
	else
		return req_message_packet(hca, qp, op, out);
	return ERR_NONE;
}

static void req_sent_packet(struct qp *qp, struct send_op *op)
{
	struct requester *req = qp->req;
	uint32_t left;
	bool all;

	op->sent++;
	all = op->w.is_read || op->sent >= op->npsn;
	left = psn_diff(qp->next_send_psn, op->psn + (all ? op->npsn : op->sent));
	if (left < req->unsent)
		req->unsent = left;
	if (conn_reliable(qp))
		req_timer_start(req);
	if (!all)
		return;
	req->cur = TAILQ_NEXT(op, link);
	if (!conn_reliable(qp))
		op->finished = true;
}

/* ---- turns ----------------------------------------------------------------------------------- */

enum step { STEP_SENT, STEP_LOCAL, STEP_IDLE, STEP_BLOCKED };

/* Whether a UMR that carries this fence waits for the UMRs before it. */
static bool req_umr_fenced(struct hca *hca, enum wqe_fence fence)
{
	switch (hca_cap_gen(hca, umr_fence)) {
	case MLX5_CAP_UMR_FENCE_STRONG:
		return fence == FENCE_ALL;
	case MLX5_CAP_UMR_FENCE_SMALL:
		return fence == FENCE_SMALL || fence == FENCE_SMALL_READS || fence == FENCE_ALL;
	default:
		return true;
	}
}

/* The UMR that follows @op, if it changes the same key and nothing orders the two; else NULL. */
static struct send_op *req_unordered_umr(struct hca *hca, struct qp *qp, struct send_op *op)
{
	struct send_op *next = TAILQ_NEXT(op, link);

	if (!next)
		next = req_fetch(hca, qp);
	if (!next || next->finished || next->error || next->w.opcode != WQE_UMR ||
	    mkey_index(next->w.imm) != mkey_index(op->w.imm) ||
	    req_umr_fenced(hca, next->w.fence))
		return NULL;
	return next;
}

/*
 * A test asked for reordering: execute the UMR after @op first, if no fence orders the two. If no
 * WQE is posted after @op yet, wait a little. Returns false if @op is not to be executed now.
 */
static bool req_reorder_umr(struct hca *hca, struct qp *qp, struct send_op *op)
{
	uint64_t now = clock_now_ns();
	struct send_op *next;

	next = req_unordered_umr(hca, qp, op);
	if (!conn_can_send(qp))		/* the queue's memory is gone, and @op is freed */
		return false;
	if (!next && !TAILQ_NEXT(op, link)) {
		if (!qp->req->umr_since_ns)
			qp->req->umr_since_ns = now;
		if (now - qp->req->umr_since_ns < UMR_WAIT_NS)
			return false;
	}
	qp->req->umr_since_ns = 0;
	if (!next)
		return true;
	next->started = true;
	next->error = umr_execute(hca, qp, &next->w);
	next->finished = !next->error;
	qp->req->poisoned |= next->error;
	hca->count.umr_reordered++;
	return true;
}

static enum step req_run_local(struct hca *hca, struct qp *qp, struct send_op *op)
{
	enum cqe_error error = ERR_NONE;

	if (op->w.opcode == WQE_UMR && inject_umr_reorder(hca->inject) &&
	    !req_reorder_umr(hca, qp, op))
		return conn_can_send(qp) ? STEP_BLOCKED : STEP_IDLE;
	if (op->w.opcode == WQE_UMR && qp->type != QPT_REG_UMR && !hca_cap_gen(hca, imaicl)) {
		op->w.why = "memory windows are not supported (imaicl)";
		error = ERR_WQE_INVALID;
	} else if (op->w.opcode == WQE_UMR) {
		error = umr_execute(hca, qp, &op->w);
	} else if (op->w.opcode == WQE_TAG_MATCHING) {
		error = req_tm_execute(hca, qp, &op->w);
	}
	qp->req->cur = TAILQ_NEXT(op, link);
	if (error) {
		req_fail(hca, qp, op, error);
		return STEP_IDLE;
	}
	op->finished = true;
	req_reap(hca, qp);
	return STEP_LOCAL;
}

static enum step req_send_packet(struct hca *hca, struct qp *qp, struct send_op *op)
{
	struct requester *req = qp->req;
	enum cqe_error error;
	uint64_t done, left;
	struct packet *p;

	if (conn_reliable(qp) && psn_diff(op->psn + op->sent, req->una) >= REQ_WINDOW)
		return STEP_IDLE;
	if (!link_of(hca)->room(hca, conn_datagram(qp) ? &op->w.av.path : &qp->path))
		return STEP_BLOCKED;
	error = req_make_packet(hca, qp, op, &p);
	done = (uint64_t)op->sent * qp->mtu;
	left = op->w.len - done;
	if (req_held_up(hca, qp, op, error, done, conn_datagram(qp) ||
			left < qp->mtu ? left : qp->mtu))
		return STEP_IDLE;
	if (!p)
		return STEP_BLOCKED;
	req_sent_packet(qp, op);
	link_of(hca)->send(hca, p);
	if (op->finished)
		req_reap(hca, qp);
	return STEP_SENT;
}

static enum step req_step(struct hca *hca, struct qp *qp)
{
	struct requester *req = qp->req;
	struct send_op *op = req->cur;
	enum cqe_error error;

	while (op && (op->finished || op->error == ERR_FLUSHED))
		op = TAILQ_NEXT(op, link);
	req->cur = op;
	if (!conn_can_send(qp))
		req_put_back(qp);
	op = req->cur;
	if (!op && conn_can_send(qp))
		req->cur = req_fetch(hca, qp);
	op = req->cur;
	if (!op)	/* there was no memory for a work request if there still is a WQE */
		return conn_can_send(qp) && req_can_fetch(qp) ? STEP_BLOCKED : STEP_IDLE;
	if (op->error)
		return STEP_IDLE;
	if (!op->started && req_stream_failed(qp, op->w.stream)) {
		req->cur = TAILQ_NEXT(op, link);
		op->error = ERR_FLUSHED;
		req_reap(hca, qp);
		return STEP_LOCAL;
	}
	if (!op->started) {
		if (!req_may_start(qp, op) || !req_may_connect(qp, op))
			return STEP_IDLE;
		error = req_check_op(hca, qp, &op->w);
		if (error) {
			req_fail(hca, qp, op, error);
			return STEP_IDLE;
		}
		if (!req_connect(hca, qp, op))
			return STEP_BLOCKED;
		req_start_op(qp, op);
		op = req->cur;
	}
	return op->w.local ? req_run_local(hca, qp, op) : req_send_packet(hca, qp, op);
}

static bool req_sq_stopping(const struct qp *qp)
{
	return qp->state == QPS_SQD || qp->state == QPS_SQ_DRAINING;
}

/**
 * req_run() - give a requester a turn
 * @hca: the HCA
 * @qp: the queue pair
 * @budget: packets that it may send, counted down
 *
 * Return: true if it needs another turn, because it has more to send, or waits for room for a
 * packet, for memory or for a later UMR.
 */
bool req_run(struct hca *hca, struct qp *qp, unsigned int *budget)
{
	struct requester *req = qp->req;
	enum step s = STEP_IDLE;

	if (!conn_can_send(qp) && !req_sq_stopping(qp))
		return false;
	while (*budget && !req->rnr_wait && !req->fault) {
		s = req_step(hca, qp);
		if (s == STEP_IDLE || s == STEP_BLOCKED)
			break;
		--*budget;
	}
	if (req_sq_stopping(qp) && TAILQ_EMPTY(&req->ops) && !req->drained) {
		req->drained = true;
		qp_sq_drained(hca, qp);
	}
	return s == STEP_BLOCKED || (!*budget && s != STEP_IDLE);
}
