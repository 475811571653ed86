// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: taking WQEs from the send queue.
 */
#include <errno.h>
#include <string.h>
#include <sys/queue.h>

#include "caps.h"
#include "conn.h"
#include "cq.h"
#include "eq.h"
#include "hca.h"
#include "qp.h"
#include "queue_mem.h"
#include "req.h"
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
 * Return: its number of WQEBBs; 0, with @w->why, if the control segment is not valid; or -EFAULT.
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
	if (w->ds * WQE_DS > hca_cap_gen(hca, max_wqe_sz_sq)) {
		w->why = "the WQE is longer than max_wqe_sz_sq";
		return 0;
	}
	if (qp->type == QPT_DCI && w->ds * WQE_DS > hca_cap_gen(hca, max_wqe_sz_sq_dc)) {
		w->why = "the WQE is longer than max_wqe_sz_sq_dc";
		return 0;
	}
	if (n > room || n > qp->sq_cnt) {
		w->why = "the WQE is longer than what was posted";
		return 0;
	}
	if (w->idx != idx) {
		w->why = "the WQE has another index than the queue";
		return 0;
	}
	/* The first WQEBB is not read again: the guest may have changed its ds meanwhile. */
	if (!bf && n > 1)
		err = req_read_wqebbs(hca, qp, idx + 1, n - 1, w->raw + WQE_BB);
	return err ? -EFAULT : (int)n;
}

/* Treat an atomic opcode that the HCA does not offer as an unknown opcode. */
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

/*
 * Check the address vector of a datagram or of a DC initiator; other WQEs have none. It may have any
 * static rate:
 * libmlx5 writes the rate of the path, and does not ask for stat_rate_support.
 */
static bool req_address_offered(struct hca *hca, const struct qp *qp, struct send_wqe *w)
{
	if (w->local || (!conn_datagram(qp) && qp->type != QPT_DCI))
		return true;
	if (!w->av.compact || hca_cap_gen(hca, compact_address_vector))
		return true;
	w->why = "the HCA does not offer address vectors of 16 bytes";
	return false;
}

/**
 * req_can_fetch() - tell whether req_fetch() has a WQE to take, and room for its work request
 * @qp: the queue pair, which has a requester
 */
bool req_can_fetch(const struct qp *qp)
{
	const struct requester *req = qp->req;

	return qp->sq_hw != req->posted && req->nops < REQ_MAX_OPS && !req->poisoned;
}

/**
 * req_fetch() - take the next WQE from the send queue
 * @hca: the HCA
 * @qp: the queue pair
 *
 * A WQE that is not valid fails. If the queue cannot be read, the queue pair moves to ERR.
 *
 * Return: its work request, at the end of the list; NULL if there is none to execute, if the list
 * is full, or if memory is short.
 */
struct send_op *req_fetch(struct hca *hca, struct qp *qp)
{
	struct requester *req = qp->req;
	struct send_op *op;
	int n;

	if (!req_can_fetch(qp))
		return NULL;
	op = req_op_alloc(hca);
	if (!op)
		return NULL;
	op->idx = qp->sq_hw;
	n = req_load_wqe(hca, qp, op->idx, &op->w);
	hca->count.wqes_bf += req->bf_len && req->bf_idx == op->idx;
	req->bf_len = 0;	/* bf[] was for this WQE; a later WQE will have the same counter */
	if (n < 0) {
		req_op_free(hca, op);
		qp_to_error(hca, qp, ERR_QUEUE_GONE, EV_WQ_CATAS_ERROR);
		return NULL;
	}
	hca->count.wqes_sq++;
	qp->sq_hw += n ? n : 1;
	TAILQ_INSERT_TAIL(&req->ops, op, link);
	req->nops++;
	if (!n || op->w.qpn != qp->obj.num || wqe_parse_send(&op->w, qp->type) ||
	    !req_atomic_offered(hca, &op->w) || !req_address_offered(hca, qp, &op->w)) {
		if (n && op->w.qpn != qp->obj.num)
			op->w.why = "the WQE has another QP number";
		req_fail(hca, qp, op, ERR_WQE_INVALID);
		return NULL;
	}
	return op;
}

/**
 * req_put_back() - return the next WQE to the send queue if it was not started
 * @qp: the queue pair
 *
 * To be called when the state of the queue pair no longer allows it to start WQEs.
 */
void req_put_back(struct qp *qp)
{
	struct requester *req = qp->req;
	struct send_op *op = req->cur;

	/* The HCA's own operations belong to no queue, and go on. */
	if (!op || op->started || op->rndv != RNDV_NONE)
		return;
	qp->sq_hw = op->idx;
	req_op_remove(req, op);
}
