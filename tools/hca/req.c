// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: send doorbells, taking WQEs from the send queue, turning them into
 * packets, acknowledgements and retries, and requester completions.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include "fault.h"
#include "qcounter.h"
#include "transport.h"

#define ACK_EVERY	32		/* packets of one message between requests for an ACK */
#define MIN_TIMEOUT_NS	10000000ull	/* less would measure the host's scheduler */
#define UD_QKEY_OWN	0x80000000u	/* a Q_Key with this bit stands for the QP's own */
#define QP1_QKEY	0x80010000u

/* RNR timer of the AETH, in units of 10 us (InfiniBand specification, table of RNR NAK timers). */
static const uint16_t rnr_10us[32] = {
	65535, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
	49152,
};

/* Work requests are large; freed ones are kept for the next. */
static struct send_op_list op_pool = TAILQ_HEAD_INITIALIZER(op_pool);
static unsigned int op_pool_n;
#define OP_POOL_MAX	256

static struct send_op *op_alloc(void)
{
	struct send_op *op = TAILQ_FIRST(&op_pool);

	if (op) {
		TAILQ_REMOVE(&op_pool, op, link);
		op_pool_n--;
	} else {
		op = malloc(sizeof(*op));
	}
	if (op)
		memset(op, 0, offsetof(struct send_op, w.seg));
	return op;
}

static void op_free(struct send_op *op)
{
	if (op_pool_n >= OP_POOL_MAX) {
		free(op);
		return;
	}
	TAILQ_INSERT_HEAD(&op_pool, op, link);
	op_pool_n++;
}

/**
 * req_empty_pool() - free the work requests that are kept for reuse
 */
void req_empty_pool(void)
{
	struct send_op *op;

	while ((op = TAILQ_FIRST(&op_pool))) {
		TAILQ_REMOVE(&op_pool, op, link);
		free(op);
	}
	op_pool_n = 0;
}

static void op_remove(struct requester *req, struct send_op *op)
{
	if (op->started && !op->finished && (op->w.is_read || op->w.is_atomic))
		req->rd_out--;
	if (req->cur == op)
		req->cur = TAILQ_NEXT(op, link);
	if (req->fault_op == op)
		req->fault_op = NULL;
	TAILQ_REMOVE(&req->ops, op, link);
	req->nops--;
	op_free(op);
}

static bool is_dgram(const struct qp *qp)
{
	return qp->type == QPT_UD || qp->type == QPT_QP0 || qp->type == QPT_QP1;
}

/* ---- completions ----------------------------------------------------------- */

/* Answers this short go into the CQE if the QP asked for it and there is one. */
static size_t inline_limit(const struct qp *qp)
{
	return qp->cs_req == 0x22 ? 64 : qp->cs_req == 0x11 ? 32 : 0;
}

static bool answer_in_cqe(const struct qp *qp, const struct send_wqe *w)
{
	return w->cqe && (w->is_read || w->is_atomic) && w->len && w->len <= inline_limit(qp);
}

static void count_error(struct hca *hca, const struct qp *qp, enum cqe_syndrome synd)
{
	static const struct { uint8_t synd, id; } map[] = {
		{ SYND_LOCAL_LENGTH, QC_REQ_LOCAL_LEN }, { SYND_LOCAL_PROT, QC_REQ_LOCAL_PROT },
		{ SYND_REMOTE_ACCESS, QC_REQ_REMOTE_ACCESS },
		{ SYND_REMOTE_INVAL_REQ, QC_REQ_REMOTE_INVAL },
		{ SYND_TRANSPORT_RETRY, QC_REQ_RETRIES }, { SYND_RNR_RETRY, QC_RNR_RETRY_ERR },
		{ SYND_WR_FLUSH, QC_REQ_FLUSH },
	};
	unsigned int i;

	for (i = 0; i < sizeof(map) / sizeof(*map); i++)
		if (map[i].synd == synd)
			qcounter_add(hca, qp->counter_set, map[i].id);
}

static void complete(struct hca *hca, const struct qp *qp, const struct send_op *op,
		     enum cqe_syndrome synd)
{
	const struct send_wqe *w = &op->w;
	struct completion c = {
		.opcode = synd ? CQE_REQ_ERR : CQE_REQ, .syndrome = synd, .qpn = qp->obj.num,
		.wqe_counter = op->idx, .s_wqe_opcode = w->opcode, .byte_cnt = w->len,
		.srqn_uidx = qp->user_index, .solicited = synd != SYND_OK,
	};

	if (!synd && !w->cqe)
		return;
	if (!synd && answer_in_cqe(qp, w)) {
		c.inline_data = w->raw;
		c.inline_len = w->len;
	}
	if (synd)
		count_error(hca, qp, synd);
	if (synd && synd != SYND_WR_FLUSH)
		hca_trace(hca, "req_error", "\"qpn\":%u,\"wqe\":%u,\"opcode\":%u,\"syndrome\":%u,"
			  "\"why\":\"%s\"", qp->obj.num, op->idx, w->opcode, synd,
			  w->why ? w->why : "");
	cq_complete(hca, qp->cqn_snd, &c);
}

/* Complete what is done, oldest first. A failed one ends the send queue. */
static void reap(struct hca *hca, struct qp *qp)
{
	struct requester *req = qp->req;
	struct send_op *op;

	while ((op = TAILQ_FIRST(&req->ops))) {
		if (op->error) {
			complete(hca, qp, op, op->error);
			op_remove(req, op);
			if (transport_reliable(qp) || qp->type == QPT_REG_UMR)
				qp_to_error(hca, qp, 0);
			else
				qp_to_sq_error(hca, qp);
			return;
		}
		if (!op->finished)
			return;
		complete(hca, qp, op, SYND_OK);
		op_remove(req, op);
	}
}

static void fail(struct hca *hca, struct qp *qp, struct send_op *op, enum cqe_syndrome synd)
{
	qp->req->poisoned = true;
	op->error = synd;
	reap(hca, qp);
}

/* ---- the retry timer ------------------------------------------------------- */

static uint64_t ack_timeout_ns(const struct qp *qp)
{
	uint64_t ns;

	if (!qp->path.ack_timeout)
		return 0;
	ns = 4096ull << qp->path.ack_timeout;
	return ns < MIN_TIMEOUT_NS ? MIN_TIMEOUT_NS : ns;
}

static void timer_fired(evutil_socket_t fd, short what, void *arg);

static void timer_add(struct requester *req, uint64_t ns)
{
	struct timeval tv = { .tv_sec = ns / 1000000000, .tv_usec = ns % 1000000000 / 1000 };

	if (!req->timer)
		req->timer = evtimer_new(req->hca->base, timer_fired, req);
	if (req->timer)
		evtimer_add(req->timer, &tv);
}

/* Starting it anew for every packet would be dear: the deadline moves, the event catches up. */
static void retry_timer_start(struct requester *req)
{
	uint64_t ns = ack_timeout_ns(req->run.qp);

	if (!ns || req->rnr_wait)
		return;
	if (!req->deadline_ns || !req->timer || !evtimer_pending(req->timer, NULL))
		timer_add(req, ns);
	req->deadline_ns = hca_now_ns() + ns;
}

static struct send_op *oldest_unanswered(const struct requester *req)
{
	struct send_op *op;

	TAILQ_FOREACH(op, &req->ops, link)
		if (op->started && !op->finished && !op->error)
			return op;
	return NULL;
}

static void progress(struct requester *req)
{
	struct qp *qp = req->run.qp;

	qp->cur_retry = qp->retry_count;
	qp->cur_rnr_retry = qp->rnr_retry;
	req->recovering = false;
	if (req->deadline_ns)
		req->deadline_ns = hca_now_ns() + ack_timeout_ns(qp);
	transport_kick(req->hca, &req->run);
}

/* Send again from @psn on. Local operations were executed once and for all. */
static void rewind_to(struct requester *req, uint32_t psn)
{
	struct send_op *op;
	bool found = false;
	int32_t ahead;

	TAILQ_FOREACH(op, &req->ops, link) {
		if (op->error)
			break;
		if (!op->started || op->finished || !op->npsn)
			continue;
		ahead = psn_diff(psn, op->psn);
		if (!found && ahead >= (int32_t)op->npsn)
			continue;
		op->sent = !found && ahead > 0 && !op->w.is_read ? ahead : 0;
		if (!found)
			req->cur = op;
		found = true;
	}
	transport_kick(req->hca, &req->run);
}

static void retry(struct requester *req)
{
	struct send_op *op = oldest_unanswered(req);
	struct qp *qp = req->run.qp;

	if (!op)
		return;
	/* The page that is awaited is ours: no fault of the peer's. */
	if (req->fault) {
		req->again = true;
		return;
	}
	hca_trace(req->hca, "retry", "\"qpn\":%u,\"psn\":%u,\"left\":%u", qp->obj.num, req->una,
		  qp->cur_retry);
	if (!qp->cur_retry) {
		fail(req->hca, qp, op, SYND_TRANSPORT_RETRY);
		return;
	}
	qp->cur_retry--;
	req->recovering = true;
	rewind_to(req, req->una);
}

/* Answers after a lost one each show the loss; it is repaired once, the timer sees to the rest. */
static void answer_lost(struct requester *req)
{
	if (!req->recovering)
		retry(req);
}

static void timer_fired(evutil_socket_t fd, short what, void *arg)
{
	struct requester *req = arg;
	uint64_t now = hca_now_ns();

	(void)fd;
	(void)what;
	if (req->rnr_wait) {
		req->rnr_wait = false;
		transport_kick(req->hca, &req->run);
		return;
	}
	if (!req->deadline_ns)
		return;
	if (now < req->deadline_ns) {
		timer_add(req, req->deadline_ns - now);
		return;
	}
	req->deadline_ns = 0;
	if (!oldest_unanswered(req))
		return;
	if (req->fault) {
		retry_timer_start(req);
		return;
	}
	qcounter_add(req->hca, req->run.qp->counter_set, QC_ACK_TIMEOUT);
	retry(req);
}

static void rnr(struct requester *req, uint32_t psn, unsigned int timer)
{
	struct qp *qp = req->run.qp;
	struct send_op *op = oldest_unanswered(req);

	if (!op || req->rnr_wait)
		return;
	if (qp->rnr_retry != 7) {
		if (!qp->cur_rnr_retry) {
			fail(req->hca, qp, op, SYND_RNR_RETRY);
			return;
		}
		qp->cur_rnr_retry--;
	}
	rewind_to(req, psn);
	req->deadline_ns = 0;
	req->rnr_wait = true;
	timer_add(req, rnr_10us[timer] * 10000ull);
}

/* ---- page faults ----------------------------------------------------------- */

/*
 * A page of @op's memory isn't there, @done bytes into its message. The send queue stands still until
 * software has brought it; false if it will not. What a READ's answer could not be written to is
 * asked for again, and so is all that comes meanwhile.
 */
static bool stall(struct hca *hca, struct qp *qp, struct send_op *op, uint64_t done, uint32_t len)
{
	struct requester *req = qp->req;
	bool answer = op->w.is_read || op->w.is_atomic;
	struct page_fault f = {
		.type = answer ? FAULT_READ : FAULT_SEND, .done = done, .packet_len = len,
		.wq = qp->obj.num, .wqe_index = op->idx,
		.op = op->w.is_read ? ODP_READ : op->w.is_atomic ? ODP_ATOMIC :
		      op->w.opcode == WQE_RDMA_WRITE || op->w.opcode == WQE_RDMA_WRITE_IMM ?
		      ODP_WRITE : ODP_SEND,
	};

	if (!req->fault) {
		req->fault = fault_raise(hca, qp, &f);
		req->fault_op = op;
		req->again = false;
	}
	req->again |= answer;
	return req->fault;
}

/*
 * What came of @op's memory was @synd; @done and @len say where, as for stall(). True if the send
 * queue goes no further for now, or for good.
 */
static bool held_up(struct hca *hca, struct qp *qp, struct send_op *op, enum cqe_syndrome synd,
		    uint64_t done, uint32_t len)
{
	if (synd == SYND_PAGE_FAULT) {
		if (stall(hca, qp, op, done, len))
			return true;
		synd = SYND_LOCAL_PROT;
	}
	if (synd)
		fail(hca, qp, op, synd);
	return synd;
}

/**
 * req_resume() - go on after a page fault
 * @hca: the function
 * @qp: the queue pair
 * @ok: the page is there; otherwise the work ends with a protection error
 */
void req_resume(struct hca *hca, struct qp *qp, bool ok)
{
	struct requester *req = qp->req;
	struct send_op *op = req->fault_op;

	req->fault = 0;
	req->fault_op = NULL;
	if (!ok && op) {
		fail(hca, qp, op, SYND_LOCAL_PROT);
		return;
	}
	/* The time that it took is not the peer's. */
	if (req->deadline_ns)
		req->deadline_ns = hca_now_ns() + ack_timeout_ns(qp);
	if (req->again)
		rewind_to(req, req->una);
	req->again = false;
	transport_kick(hca, &req->run);
}

/* ---- taking WQEs ----------------------------------------------------------- */

/* Copy @n WQEBBs from the ring, wrap-around undone. */
static int read_wqebbs(struct hca *hca, const struct qp *qp, uint16_t idx, unsigned int n,
		       uint8_t *to)
{
	uint32_t at = idx & (qp->sq_cnt - 1);
	uint32_t first = qp->sq_cnt - at < n ? qp->sq_cnt - at : n;
	int err;

	err = qmem_read(hca, &qp->mem, qp->sq_off + (size_t)at * WQE_BB, to,
			(size_t)first * WQE_BB);
	if (err || first == n)
		return err;
	return qmem_read(hca, &qp->mem, qp->sq_off, to + (size_t)first * WQE_BB,
			 (size_t)(n - first) * WQE_BB);
}

/*
 * Bring WQE @idx into w->raw, from the BlueFlame buffer if it came that way. Returns its WQEBBs,
 * 0 with w->why if the control segment makes no sense, or -EFAULT.
 */
static int load_wqe(struct hca *hca, const struct qp *qp, uint16_t idx, struct send_wqe *w)
{
	const struct requester *req = qp->req;
	bool bf = req->bf_len && req->bf_idx == idx;
	uint16_t room = req->posted - idx;
	unsigned int n;
	int err = 0;

	if (bf)
		memcpy(w->raw, req->bf, WQE_BB);
	else
		err = read_wqebbs(hca, qp, idx, 1, w->raw);
	if (err)
		return -EFAULT;
	if (wqe_parse_ctrl(w))
		return 0;
	n = wqe_bbs(w->ds);
	if (n > room || n > qp->sq_cnt) {
		w->why = "longer than what was posted";
		return 0;
	}
	if (w->idx != idx) {
		w->why = "WQE index is not the queue's";
		return 0;
	}
	if (bf && w->ds * WQE_DS <= req->bf_len)
		memcpy(w->raw, req->bf, w->ds * WQE_DS);
	else if (n > 1 || bf)
		err = read_wqebbs(hca, qp, idx, n, w->raw);
	return err ? -EFAULT : (int)n;
}

/* Next WQE, in order, on the list; NULL if there is none or there are enough. */
static struct send_op *fetch(struct hca *hca, struct qp *qp)
{
	struct requester *req = qp->req;
	struct send_op *op;
	int n;

	if (qp->sq_hw == req->posted || req->nops >= REQ_MAX_OPS || req->poisoned)
		return NULL;
	op = op_alloc();
	if (!op)
		return NULL;
	op->idx = qp->sq_hw;
	n = load_wqe(hca, qp, op->idx, &op->w);
	req->bf_len = 0;	/* was for this one; the counter comes to the same value again */
	if (n < 0) {
		op_free(op);
		qp_to_error(hca, qp, EV_WQ_CATAS_ERROR);
		return NULL;
	}
	hca->count.wqes_sq++;
	qp->sq_hw += n ? n : 1;
	TAILQ_INSERT_TAIL(&req->ops, op, link);
	req->nops++;
	if (!n || op->w.qpn != qp->obj.num || wqe_parse_send(&op->w, qp->type)) {
		if (n && op->w.qpn != qp->obj.num)
			op->w.why = "QP number is not the queue's";
		fail(hca, qp, op, SYND_LOCAL_QP_OP);
		return NULL;
	}
	return op;
}

/* A WQE that was taken and not begun goes back when the queue must not start more. */
static void put_back(struct qp *qp)
{
	struct requester *req = qp->req;
	struct send_op *op = req->cur;

	if (!op || op->started)
		return;
	qp->sq_hw = op->idx;
	op_remove(req, op);
}

static uint32_t packets_of(const struct qp *qp, uint64_t len)
{
	return len ? (len + qp->mtu - 1) / qp->mtu : 1;
}

/* Fences and the limit of outstanding reads. What they wait for kicks the queue when it is done. */
static bool may_start(const struct qp *qp, const struct send_op *op)
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

static enum cqe_syndrome check_length(const struct qp *qp, const struct send_wqe *w)
{
	if (is_dgram(qp))
		return w->len > PKT_MTU_MAX ? SYND_LOCAL_LENGTH : SYND_OK;
	if (w->len > 1ull << (qp->log_msg_max ? qp->log_msg_max : 30))
		return SYND_LOCAL_LENGTH;
	return SYND_OK;
}

/* Give the operation its PSNs. */
static enum cqe_syndrome start(struct qp *qp, struct send_op *op)
{
	struct requester *req = qp->req;
	enum cqe_syndrome synd = check_length(qp, &op->w);

	if (synd)
		return synd;
	op->started = true;
	op->psn = qp->next_send_psn;
	if (op->w.local)
		op->npsn = 0;
	else if (is_dgram(qp) || op->w.is_atomic)
		op->npsn = 1;
	else
		op->npsn = packets_of(qp, op->w.len);
	if (op->w.is_read || op->w.is_atomic)
		req->rd_out++;
	qp->next_send_psn = psn_add(qp->next_send_psn, op->npsn);
	return SYND_OK;
}

/* ---- packets --------------------------------------------------------------- */

static uint8_t send_bth_op(const struct send_wqe *w, bool first, bool last)
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

/* The next packet of a SEND or RDMA WRITE. */
static enum cqe_syndrome message_packet(struct hca *hca, const struct qp *qp, struct send_op *op,
					struct packet **out)
{
	const struct send_wqe *w = &op->w;
	bool first = !op->sent, last = op->sent == op->npsn - 1;
	uint64_t off = (uint64_t)op->sent * qp->mtu;
	enum cqe_syndrome synd;
	struct packet *p;

	p = transport_packet(hca, qp, send_bth_op(w, first, last), op->psn + op->sent);
	if (!p)
		return SYND_OK;
	p->len = last ? w->len - off : qp->mtu;
	synd = sg_gather(hca, qp, w->seg, w->nseg, off, p->payload, p->len);
	if (synd) {
		packet_free(p);
		return synd;
	}
	p->solicited = last && w->solicited;
	p->ack_req = last || op->sent % ACK_EVERY == ACK_EVERY - 1;
	p->imm = w->imm;
	p->xrc_srqn = w->xrc_srqn;
	if (first) {
		p->va = w->raddr;
		p->rkey = w->rkey;
		p->dma_len = w->len;
	}
	*out = p;
	return SYND_OK;
}

static struct packet *read_packet(struct hca *hca, const struct qp *qp, const struct send_op *op)
{
	uint32_t got = op->done / qp->mtu;
	struct packet *p = transport_packet(hca, qp, BTH_READ_REQ, op->psn + got);

	if (!p)
		return NULL;
	p->xrc_srqn = op->w.xrc_srqn;
	p->va = op->w.raddr + op->done;
	p->rkey = op->w.rkey;
	p->dma_len = op->w.len - op->done;
	p->ack_req = true;
	return p;
}

static struct packet *atomic_packet(struct hca *hca, const struct qp *qp, const struct send_op *op)
{
	const struct send_wqe *w = &op->w;
	uint8_t bth = w->opcode == WQE_ATOMIC_CS ? BTH_CMP_SWAP :
		      w->opcode == WQE_ATOMIC_FA ? BTH_FETCH_ADD :
		      w->opcode == WQE_MASKED_CS ? BTH_MASKED_CMP_SWAP : BTH_MASKED_FETCH_ADD;
	struct packet *p = transport_packet(hca, qp, bth, op->psn);

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

static uint32_t source_qpn(const struct qp *qp)
{
	if (qp->type == QPT_QP0)
		return 0;
	if (qp->type == QPT_QP1)
		return 1;
	return qp->deth_sqpn ? qp->deth_sqpn : qp->obj.num;
}

static void ud_address(struct hca *hca, const struct qp *qp, const struct wqe_av *av,
		       struct packet *p)
{
	p->slid = fabric_lid(hca);
	p->dlid = av->rlid;
	p->sl = av->sl;
	p->dqpn = av->dqpn;
	p->sqpn = source_qpn(qp);
	p->qkey = !(av->qkey & UD_QKEY_OWN) ? av->qkey :
		  p->sqpn == 1 ? QP1_QKEY : qp->qkey;
	if (!av->grh)
		return;
	p->grh = true;
	fabric_gid(hca, p->sgid);
	memcpy(p->dgid, av->dgid, sizeof(p->dgid));
	p->tclass = av->tclass;
	p->hop_limit = av->hop_limit;
	p->flow_label = av->flow_label;
}

static enum cqe_syndrome ud_packet(struct hca *hca, const struct qp *qp, struct send_op *op,
				   struct packet **out)
{
	const struct send_wqe *w = &op->w;
	enum cqe_syndrome synd;
	struct packet *p = packet_alloc();

	if (!p)
		return SYND_OK;
	p->opcode = BTH_UD | (w->opcode == WQE_SEND_IMM ? BTH_SEND_ONLY_IMM : BTH_SEND_ONLY);
	p->pkey = 0xffff;
	p->psn = op->psn;
	p->solicited = w->solicited;
	p->imm = w->imm;
	p->len = w->len;
	ud_address(hca, qp, &w->av, p);
	synd = sg_gather(hca, qp, w->seg, w->nseg, 0, p->payload, p->len);
	if (synd) {
		packet_free(p);
		return synd;
	}
	*out = p;
	return SYND_OK;
}

/* Make the next packet of @op; *out stays NULL if memory is short, which is tried again. */
static enum cqe_syndrome make_packet(struct hca *hca, const struct qp *qp, struct send_op *op,
				     struct packet **out)
{
	*out = NULL;
	if (is_dgram(qp))
		return ud_packet(hca, qp, op, out);
	if (op->w.is_read)
		*out = read_packet(hca, qp, op);
	else if (op->w.is_atomic)
		*out = atomic_packet(hca, qp, op);
	else
		return message_packet(hca, qp, op, out);
	return SYND_OK;
}

static void sent_packet(struct qp *qp, struct send_op *op)
{
	struct requester *req = qp->req;
	bool all;

	op->sent++;
	all = op->w.is_read || op->sent >= op->npsn;
	if (transport_reliable(qp))
		retry_timer_start(req);
	if (!all)
		return;
	req->cur = TAILQ_NEXT(op, link);
	if (!transport_reliable(qp))
		op->finished = true;
}

/* ---- running --------------------------------------------------------------- */

enum step { STEP_SENT, STEP_LOCAL, STEP_IDLE, STEP_BLOCKED };

static enum step run_local(struct hca *hca, struct qp *qp, struct send_op *op)
{
	enum cqe_syndrome synd = SYND_OK;

	if (op->w.opcode == WQE_UMR)
		synd = umr_execute(hca, qp, &op->w);
	qp->req->cur = TAILQ_NEXT(op, link);
	if (synd) {
		fail(hca, qp, op, synd);
		return STEP_IDLE;
	}
	op->finished = true;
	reap(hca, qp);
	return STEP_LOCAL;
}

static enum step send_one(struct hca *hca, struct qp *qp, struct send_op *op)
{
	struct requester *req = qp->req;
	enum cqe_syndrome synd;
	uint64_t done, left;
	struct packet *p;

	if (transport_reliable(qp) && psn_diff(op->psn + op->sent, req->una) >= REQ_WINDOW)
		return STEP_IDLE;
	if (!fabric_can_tx(hca, is_dgram(qp) ? op->w.av.rlid : qp->path.rlid))
		return STEP_BLOCKED;
	synd = make_packet(hca, qp, op, &p);
	done = (uint64_t)op->sent * qp->mtu;
	left = op->w.len - done;
	if (held_up(hca, qp, op, synd, done, is_dgram(qp) || left < qp->mtu ? left : qp->mtu))
		return STEP_IDLE;
	if (!p)
		return STEP_BLOCKED;
	sent_packet(qp, op);
	fabric_tx(hca, p);
	if (op->finished)
		reap(hca, qp);
	return STEP_SENT;
}

static enum step step(struct hca *hca, struct qp *qp)
{
	struct requester *req = qp->req;
	struct send_op *op = req->cur;
	enum cqe_syndrome synd;

	while (op && op->finished)
		op = TAILQ_NEXT(op, link);
	req->cur = op;
	if (!transport_can_send(qp))
		put_back(qp);
	op = req->cur;
	if (!op && transport_can_send(qp))
		req->cur = fetch(hca, qp);
	op = req->cur;
	if (!op || op->error)
		return STEP_IDLE;
	if (!op->started) {
		if (!may_start(qp, op))
			return STEP_IDLE;
		synd = start(qp, op);
		if (synd) {
			fail(hca, qp, op, synd);
			return STEP_IDLE;
		}
	}
	return op->w.local ? run_local(hca, qp, op) : send_one(hca, qp, op);
}

static bool sq_stopping(const struct qp *qp)
{
	return qp->state == QPS_SQD || qp->state == QPS_SQ_DRAINING;
}

/**
 * req_run() - one turn of a requester
 * @hca: the function
 * @qp: the queue pair
 * @budget: packets that it may send, counted down
 *
 * Return: true if there is more to do and nothing to wait for.
 */
bool req_run(struct hca *hca, struct qp *qp, unsigned int *budget)
{
	struct requester *req = qp->req;
	enum step s = STEP_IDLE;

	if (!transport_can_send(qp) && !sq_stopping(qp))
		return false;
	while (*budget && !req->rnr_wait && !req->fault) {
		s = step(hca, qp);
		if (s == STEP_IDLE || s == STEP_BLOCKED)
			break;
		--*budget;
	}
	if (sq_stopping(qp) && TAILQ_EMPTY(&req->ops) && !req->drained) {
		req->drained = true;
		qp_sq_drained(hca, qp);
	}
	return s == STEP_BLOCKED || (!*budget && s != STEP_IDLE);
}

/* ---- answers --------------------------------------------------------------- */

/*
 * Everything up to @psn was received. An unanswered READ or atomic before it means that its answer
 * was lost: returns false and stops there.
 */
static bool acknowledge(struct requester *req, uint32_t psn)
{
	struct qp *qp = req->run.qp;
	struct send_op *op;
	bool moved = false, whole = true;
	int32_t n;

	TAILQ_FOREACH(op, &req->ops, link) {
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
		progress(req);
	return whole;
}

static struct send_op *op_by_psn(struct requester *req, uint32_t psn)
{
	struct send_op *op;

	TAILQ_FOREACH(op, &req->ops, link) {
		int32_t n = psn_diff(psn, op->psn);

		if (op->started && op->npsn && n >= 0 && n < (int32_t)op->npsn)
			return op;
	}
	return NULL;
}

static void nak(struct hca *hca, struct qp *qp, const struct packet *p)
{
	static const uint8_t synd[] = {
		[NAK_INVALID_REQ - AETH_NAK] = SYND_REMOTE_INVAL_REQ,
		[NAK_ACCESS - AETH_NAK] = SYND_REMOTE_ACCESS,
		[NAK_REMOTE_OP - AETH_NAK] = SYND_REMOTE_OP,
	};
	struct requester *req = qp->req;
	unsigned int code = p->syndrome & AETH_VALUE_MASK;
	struct send_op *op = op_by_psn(req, p->psn);

	if (p->syndrome == NAK_SEQ) {
		qcounter_add(hca, qp->counter_set, QC_PACKET_SEQ_ERR);
		retry(req);
		return;
	}
	if (op && !op->finished && !op->error)
		fail(hca, qp, op, code < sizeof(synd) ? synd[code] : SYND_BAD_RESP);
}

static void acknowledged(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct requester *req = qp->req;
	bool ack = (p->syndrome & AETH_KIND_MASK) == AETH_ACK;

	/* A NAK acknowledges what came before its PSN. */
	if (!acknowledge(req, ack ? p->psn : psn_add(p->psn, PSN_MASK))) {
		answer_lost(req);
	} else if ((p->syndrome & AETH_KIND_MASK) == AETH_RNR) {
		rnr(req, p->psn, p->syndrome & AETH_VALUE_MASK);
	} else if (!ack) {
		nak(hca, qp, p);
	}
	reap(hca, qp);
}

/* 8-byte results are in the byte order that the atomic capabilities speak of. */
static uint64_t atomic_order(struct hca *hca, uint64_t v)
{
	return hca_cap_atomic(hca, atomic_req_8B_endianness_mode) ? v : htobe64(v);
}

static enum cqe_syndrome store_answer(struct hca *hca, struct qp *qp, struct send_op *op,
				      const void *buf, size_t len)
{
	if (answer_in_cqe(qp, &op->w)) {
		memcpy(op->w.raw + op->done, buf, len);
		return SYND_OK;
	}
	return sg_scatter(hca, qp, qp->pdn, op->w.seg, op->w.nseg, op->done, buf, len);
}

static void answered(struct requester *req, struct send_op *op)
{
	op->finished = true;
	req->rd_out--;
	if (req->cur == op)
		req->cur = TAILQ_NEXT(op, link);
}

static void atomic_response(struct hca *hca, struct qp *qp, struct send_op *op,
			    const struct packet *p)
{
	uint64_t orig = atomic_order(hca, p->orig);
	enum cqe_syndrome synd;

	if (!op->w.is_atomic) {
		fail(hca, qp, op, SYND_BAD_RESP);
		return;
	}
	synd = store_answer(hca, qp, op, &orig, sizeof(orig));
	if (held_up(hca, qp, op, synd, 0, sizeof(orig)))
		return;
	qp->req->una = psn_add(p->psn, 1);
	answered(qp->req, op);
	progress(qp->req);
}

static bool read_response_sane(const struct qp *qp, const struct send_op *op,
			       const struct packet *p)
{
	uint8_t o = p->opcode & BTH_OP_MASK;
	uint64_t left = op->w.len - op->done;
	bool last = o == BTH_READ_LAST || o == BTH_READ_ONLY;

	return op->w.is_read && p->len == (left < qp->mtu ? left : qp->mtu) &&
	       last == (left <= qp->mtu);
}

static void read_response(struct hca *hca, struct qp *qp, struct send_op *op,
			  const struct packet *p)
{
	uint32_t expect = psn_add(op->psn, op->done / qp->mtu);
	enum cqe_syndrome synd;

	if (psn_diff(p->psn, expect) < 0)
		return;
	if (p->psn != expect) {
		answer_lost(qp->req);
		return;
	}
	synd = read_response_sane(qp, op, p) ?
	       store_answer(hca, qp, op, p->payload, p->len) : SYND_BAD_RESP;
	if (held_up(hca, qp, op, synd, op->done, p->len))
		return;
	op->done += p->len;
	qp->req->una = psn_add(p->psn, 1);
	if (op->done == op->w.len)
		answered(qp->req, op);
	progress(qp->req);
}

static void response(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct requester *req = qp->req;
	struct send_op *op = op_by_psn(req, p->psn);

	if (!op || op->finished || op->error)
		return;
	/* The answer stands for all requests before it, too. */
	if (!acknowledge(req, psn_add(op->psn, PSN_MASK))) {
		answer_lost(req);
		return;
	}
	if ((p->opcode & BTH_OP_MASK) == BTH_ATOMIC_ACK)
		atomic_response(hca, qp, op, p);
	else
		read_response(hca, qp, op, p);
	reap(hca, qp);
}

/**
 * req_receive() - an acknowledgement or an answer for a requester
 * @hca: the function
 * @qp: the queue pair, RC
 * @p: the packet, ACK, NAK, READ response or atomic response
 *
 * Packets outside the window of unacknowledged PSNs are old and ignored.
 */
void req_receive(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct requester *req = qp->req;

	if (!req || qp->state == QPS_RTR || qp->state == QPS_SQER ||
	    psn_diff(p->psn, req->una) < 0 || psn_diff(p->psn, qp->next_send_psn) >= 0)
		return;
	if ((p->opcode & BTH_OP_MASK) == BTH_ACK)
		acknowledged(hca, qp, p);
	else
		response(hca, qp, p);
}

/* ---- state changes --------------------------------------------------------- */

static void drop_ops(struct requester *req)
{
	struct send_op *op;

	while ((op = TAILQ_FIRST(&req->ops)))
		op_remove(req, op);
	req->cur = NULL;
	req->rd_out = 0;
	req->bf_len = 0;
	req->rnr_wait = false;
	req->recovering = false;
	req->deadline_ns = 0;
	fault_cancel(req->hca, req->fault);
	req->fault = 0;
	req->again = false;
	if (req->timer)
		evtimer_del(req->timer);
}

/**
 * req_start() - the queue pair may send from now on
 * @hca: the function
 * @qp: the queue pair, just moved to RTS from RTR or SQER
 */
void req_start(struct hca *hca, struct qp *qp)
{
	struct requester *req = transport_req(hca, qp);

	if (!req)
		return;
	drop_ops(req);
	req->una = qp->next_send_psn;
	req->poisoned = false;
	req->drained = false;
	qp->cur_retry = qp->retry_count;
	qp->cur_rnr_retry = qp->rnr_retry;
}

/**
 * req_flush() - end every posted send WQE with a flush error
 * @hca: the function
 * @qp: the queue pair, in ERR or SQER
 *
 * Those already taken and those up to the doorbell record that came with the last doorbell.
 */
void req_flush(struct hca *hca, struct qp *qp)
{
	struct requester *req = qp->req;
	struct send_op *op;
	int n;

	if (!req)
		return;
	req->poisoned = true;
	TAILQ_FOREACH(op, &req->ops, link)
		complete(hca, qp, op, SYND_WR_FLUSH);
	drop_ops(req);
	op = op_alloc();
	while (op && qp->sq_hw != req->posted) {
		op->idx = qp->sq_hw;
		n = load_wqe(hca, qp, op->idx, &op->w);
		if (n < 0)
			break;
		qp->sq_hw += n ? n : 1;
		complete(hca, qp, op, SYND_WR_FLUSH);
	}
	if (op)
		op_free(op);
}

/**
 * req_clear() - forget all work, without completions
 * @hca: the function
 * @qp: the queue pair, moving to RST
 */
void req_clear(struct hca *hca, struct qp *qp)
{
	(void)hca;
	if (!qp->req)
		return;
	drop_ops(qp->req);
	qp->req->posted = 0;
	qp->req->poisoned = false;
	qp->req->drained = false;
}

/**
 * req_free() - free the requester
 * @hca: the function
 * @qp: the queue pair, about to be destroyed; no turn of it is queued
 */
void req_free(struct hca *hca, struct qp *qp)
{
	struct requester *req = qp->req;

	(void)hca;
	if (!req)
		return;
	drop_ops(req);
	if (req->timer)
		event_free(req->timer);
	free(req);
	qp->req = NULL;
}

/* ---- doorbells ------------------------------------------------------------- */

static struct qp *doorbell_qp(struct hca *hca, uint32_t uar, uint32_t qpn)
{
	struct qp *qp = qp_find(hca, qpn);
	enum drop_reason why;

	if (!qp || !qp->has_sq)
		why = DROP_NO_QP;
	else if (qp->uar != uar)
		why = DROP_WRONG_UAR;
	else if (qp->state == QPS_RST || qp->state == QPS_INIT || qp->state == QPS_RTR)
		why = DROP_BAD_STATE;
	else
		return qp;
	doorbell_drop(hca, why, uar, qpn);
	return NULL;
}

/* Keep the WQE that came along if it is the very next one; otherwise memory has it anyway. */
static void keep_blueflame(struct requester *req, const uint8_t *bf, size_t len)
{
	struct qp *qp = req->run.qp;
	uint16_t idx = get_be32(bf) >> 8;

	req->bf_len = 0;
	if (len < WQE_BB || len > BF_MAX || idx != qp->sq_hw)
		return;
	memcpy(req->bf, bf, len);
	req->bf_len = len;
	req->bf_idx = idx;
}

/**
 * qp_send_doorbell() - a send doorbell or BlueFlame buffer was written
 * @hca: the function
 * @uar: number of the UAR that it was written to
 * @bf: what was written: the first 8 bytes of a WQE's control segment, or a whole WQE
 * @bf_len: 8, or the bytes of the BlueFlame buffer
 *
 * The register says that there is work, the doorbell record says how much: WQEs up to the record's
 * counter are executed, and ringing again for work already taken does nothing. Runs no work itself.
 * Doorbells for a QP that is not there, not on this UAR or not ready to send are dropped, counted
 * and traced.
 */
void qp_send_doorbell(struct hca *hca, uint32_t uar, const uint8_t *bf, size_t bf_len)
{
	struct requester *req;
	struct qp *qp;
	uint16_t val;

	if (bf_len < 8) {
		doorbell_drop(hca, DROP_BAD_SIZE, uar, 0);
		return;
	}
	qp = doorbell_qp(hca, uar, get_be32(bf + 4) >> 8);
	if (!qp)
		return;
	if (bf_len > 8)
		hca->count.db_bf++;
	else
		hca->count.db_send++;
	req = transport_req(hca, qp);
	if (!req)
		return;
	if (!qp_dbr_read(hca, qp, DBR_SND, &val) || (uint16_t)(val - qp->sq_hw) > qp->sq_cnt) {
		qp_to_error(hca, qp, EV_WQ_CATAS_ERROR);
		return;
	}
	req->posted = val;
	if (bf_len > 8 && val != qp->sq_hw)
		keep_blueflame(req, bf, bf_len);
	if (qp->state == QPS_ERR || qp->state == QPS_SQER)
		req_flush(hca, qp);
	else
		transport_kick(hca, &req->run);
}
