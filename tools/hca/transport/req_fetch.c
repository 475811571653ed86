// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: send doorbells, and taking WQEs from the send queue.
 */
#include <errno.h>
#include <string.h>
#include <sys/queue.h>

#include "caps.h"
#include "count.h"
#include "cq.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "qp.h"
#include "queue_mem.h"
#include "req.h"
#include "sched.h"
#include "wqe.h"

/* Copy @n WQEBBs from the ring into one piece. */
static int req_read_wqebbs(struct hca *hca, const struct qp *qp, uint16_t idx, unsigned int n,
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

/**
 * req_load_wqe() - load a WQE, from the BlueFlame buffer if it arrived there
 * @hca: the HCA
 * @qp: the queue pair
 * @idx: its WQEBB counter
 * @w: the WQE is put into @w->raw
 *
 * Return: its WQEBBs; 0, with @w->why, if the control segment is not valid; or -EFAULT.
 */
int req_load_wqe(struct hca *hca, const struct qp *qp, uint16_t idx, struct send_wqe *w)
{
	const struct requester *req = qp->req;
	bool bf = req->bf_len && req->bf_idx == idx;
	uint16_t room = req->posted - idx;
	unsigned int n;
	int err = 0;

	if (bf)
		memcpy(w->raw, req->bf, req->bf_len);
	else
		err = req_read_wqebbs(hca, qp, idx, 1, w->raw);
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
	/* The first WQEBB is not read again: the guest may have changed its ds meanwhile. */
	if (!bf && n > 1)
		err = req_read_wqebbs(hca, qp, idx + 1, n - 1, w->raw + WQE_BB);
	return err ? -EFAULT : (int)n;
}

/* An opcode of atomics that the HCA does not offer is as any unknown one. */
static bool req_atomic_offered(struct hca *hca, struct send_wqe *w)
{
	static const uint8_t ops[] = {
		[WQE_ATOMIC_CS] = ATOMIC_OP_CMP_SWAP,
		[WQE_ATOMIC_FA] = ATOMIC_OP_FETCH_ADD,
		[WQE_MASKED_CS] = ATOMIC_OP_MASKED_CMP_SWAP,
		[WQE_MASKED_FA] = ATOMIC_OP_MASKED_FETCH_ADD,
	};

	if (!w->is_atomic || (hca_cap_gen(hca, atomic) &&
			      hca_cap_atomic(hca, atomic_operations) & ops[w->opcode]))
		return true;
	w->why = "the HCA does not offer this atomic operation";
	return false;
}

/**
 * req_fetch() - take the next WQE from the send queue
 * @hca: the HCA
 * @qp: the queue pair
 *
 * Return: its work request, at the end of the list; NULL if there is none or the list is full.
 */
struct send_op *req_fetch(struct hca *hca, struct qp *qp)
{
	struct requester *req = qp->req;
	struct send_op *op;
	int n;

	if (qp->sq_hw == req->posted || req->nops >= REQ_MAX_OPS || req->poisoned)
		return NULL;
	op = req_op_alloc(hca);
	if (!op)
		return NULL;
	op->idx = qp->sq_hw;
	n = req_load_wqe(hca, qp, op->idx, &op->w);
	hca->count.wqes_bf += req->bf_len && req->bf_idx == op->idx;
	req->bf_len = 0;	/* was for this WQE; the counter comes to this value again */
	if (n < 0) {
		req_op_free(hca, op);
		qp_to_error(hca, qp, EV_WQ_CATAS_ERROR);
		return NULL;
	}
	hca->count.wqes_sq++;
	qp->sq_hw += n ? n : 1;
	TAILQ_INSERT_TAIL(&req->ops, op, link);
	req->nops++;
	if (!n || op->w.qpn != qp->obj.num || wqe_parse_send(&op->w, qp->type) ||
	    !req_atomic_offered(hca, &op->w)) {
		if (n && op->w.qpn != qp->obj.num)
			op->w.why = "QP number is not the queue's";
		req_fail(hca, qp, op, SYND_LOCAL_QP_OP);
		return NULL;
	}
	return op;
}

/**
 * req_put_back() - return the next WQE to the send queue if it was not started
 * @qp: the queue pair
 *
 * The send queue is in a state in which it must not start more.
 */
void req_put_back(struct qp *qp)
{
	struct requester *req = qp->req;
	struct send_op *op = req->cur;

	if (!op || op->started)
		return;
	qp->sq_hw = op->idx;
	req_op_remove(req, op);
}

/* ---- doorbells ------------------------------------------------------------------------------- */

static struct qp *req_doorbell_qp(struct hca *hca, uint32_t uar, uint32_t qpn)
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

/*
 * Keep the WQE that came whole with the doorbell if it is the next one. Otherwise it is read from
 * memory.
 */
static void req_keep_blueflame(struct requester *req, const uint8_t *bf, size_t len)
{
	struct qp *qp = req->run.qp;
	uint16_t idx = get_be32(bf) >> 8;

	req->bf_len = 0;
	if (len > BF_MAX || len != (get_be32(bf + 4) & 0x3f) * WQE_DS || idx != qp->sq_hw)
		return;
	memcpy(req->bf, bf, len);
	req->bf_len = len;
	req->bf_idx = idx;
}

/* Whether counter @idx is in [from, to), which is shorter than half the range of the counters. */
static bool req_in_range(uint16_t idx, uint16_t from, uint16_t to)
{
	uint16_t len = to - from;

	return len < 0x8000 && (uint16_t)(idx - from) < len;
}

/*
 * A doorbell can arrive after its WQE has been executed: doorbells are posted, and an earlier one had
 * the HCA read a record that announced this WQE, too. Meanwhile software may have put another WQE in
 * its place, so there is nothing to compare the doorbell with. A WQE has one doorbell, and doorbells
 * arrive in order.
 */
static bool req_doorbell_is_late(const struct requester *req, uint16_t idx)
{
	return req_in_range(idx, req->rung, req->run.qp->sq_hw);
}

/**
 * qp_send_doorbell() - a send doorbell register or BlueFlame buffer was written
 * @hca: the HCA
 * @uar: number of the UAR that it was written to
 * @bf: what was written: the first 8 bytes of a WQE's control segment, or a whole WQE
 * @bf_len: 8, or the bytes of the BlueFlame buffer
 *
 * The register tells that there is work; the doorbell record tells how much. WQEs up to the
 * record's counter will be executed from the event loop; a doorbell that comes after its WQE has been
 * executed tells nothing but that there may be more. Doorbells for a queue pair that does not exist,
 * belongs to another UAR, or is not ready to send, and those that are not the start of a WQE that the
 * record announces, are dropped, counted and traced.
 */
void qp_send_doorbell(struct hca *hca, uint32_t uar, const uint8_t *bf, size_t bf_len)
{
	struct requester *req;
	enum drop_reason why;
	uint16_t val, idx;
	struct qp *qp;

	if (bf_len < 8) {
		doorbell_drop(hca, DROP_BAD_SIZE, uar, 0);
		return;
	}
	qp = req_doorbell_qp(hca, uar, get_be32(bf + 4) >> 8);
	if (!qp)
		return;
	if (bf_len > 8)
		hca->count.db_bf++;
	else
		hca->count.db_send++;
	req = req_get(hca, qp);
	if (!req)
		return;
	if (!qp_dbr_read(hca, qp, DBR_SND, &val) || (uint16_t)(val - qp->sq_hw) > qp->sq_cnt) {
		qp_to_error(hca, qp, EV_WQ_CATAS_ERROR);
		return;
	}
	idx = get_be32(bf) >> 8;
	why = req_doorbell_is_late(req, idx) ? DROP_REASONS :
	      qmem_check_doorbell(hca, &qp->mem, qp->sq_off, qp->sq_cnt, val, bf);
	if (why != DROP_REASONS) {
		doorbell_drop(hca, why, uar, qp->obj.num);
		return;
	}
	if (req_in_range(idx, req->rung, val))
		req->rung = idx + 1;
	req->posted = val;
	if (bf_len > 8 && val != qp->sq_hw)
		req_keep_blueflame(req, bf, bf_len);
	if (qp->state == QPS_ERR || qp->state == QPS_SQER)
		req_flush(hca, qp);
	else
		sched_kick(hca, &req->run);
}
