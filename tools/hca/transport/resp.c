// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: requests of all services, and the changes of state that concern it.
 */
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "cq.h"
#include "eq.h"
#include "hca.h"
#include "object.h"
#include "packet.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "srq.h"
#include "watch.h"

/**
 * resp_receive() - process a request
 * @hca: the HCA
 * @qp: the queue pair, in a state that receives
 * @p: the packet
 */
void resp_receive(struct hca *hca, struct qp *qp, const struct packet *p)
{
	if (!resp_get(hca, qp))
		return;
	if (qp->state == QPS_RTR && !qp->comm_est)
		qp_comm_est(hca, qp);
	if (conn_reliable(qp))
		resp_receive_rc(hca, qp, p);
	else if (qp->type == QPT_UC)
		resp_receive_uc(hca, qp, p);
	else
		resp_receive_ud(hca, qp, p);
}

/* ---- state changes --------------------------------------------------------------------------- */

static void resp_flush_announced(struct hca *hca, void *queue)
{
	resp_flush(hca, queue);
}

/**
 * resp_get() - find the responder of a queue pair, and make it at the first call
 * @hca: the HCA
 * @qp: the queue pair
 *
 * Return: the responder, or NULL if memory is short.
 */
struct responder *resp_get(struct hca *hca, struct qp *qp)
{
	struct responder *resp = qp->resp;

	(void)hca;
	if (resp)
		return resp;
	resp = calloc(1, sizeof(*resp));
	if (!resp)
		return NULL;
	resp->run.qp = qp;
	resp->run.go = resp_run;
	resp->watch.queue = qp;
	resp->watch.look = resp_flush_announced;
	qp->resp = resp;
	return resp;
}

/**
 * resp_flush() - complete all posted receive WQEs with a flush error
 * @hca: the HCA
 * @qp: the queue pair, in ERR; if it has an SRQ, only the WQE in use is flushed
 *
 * From then on the queue is watched for WQEs that are posted later.
 */
void resp_flush(struct hca *hca, struct qp *qp)
{
	struct responder *resp;
	bool own = qp->rq_cnt && !qp->srq;
	uint16_t val;

	resp = own ? resp_get(hca, qp) : qp->resp;
	if (!resp)
		return;
	resp->msg = MSG_NONE;
	resp_tm_end(hca, qp, true);
	resp_cancel_fault(hca, resp);
	if (resp->have_rwqe)
		resp_complete_error(hca, qp, ERR_FLUSHED);
	if (!own)
		return;
	if (!qp_dbr_read(hca, qp, DBR_RCV, &val)) {
		watch_set(hca, &resp->watch, false);
		return;
	}
	while (qp->rq_hw != val && (uint16_t)(val - qp->rq_hw) <= qp->rq_cnt) {
		resp->rwqe_idx = resp_next_own(qp, val);
		resp_consume_own(qp, resp->rwqe_idx);
		resp->rwqe_cqn = qp->cqn_rcv;
		resp->rwqe_owner = resp_cqe_owner(qp, NULL);
		resp_complete_error(hca, qp, ERR_FLUSHED);
	}
	watch_set(hca, &resp->watch, true);
}

/**
 * resp_clear() - drop all state of the requests received so far
 * @hca: the HCA
 * @qp: the queue pair, moving to RST or RTR
 */
void resp_clear(struct hca *hca, struct qp *qp)
{
	struct responder *resp = qp->resp;

	qp->msn = 0;
	if (!resp)
		return;
	watch_set(hca, &resp->watch, false);
	resp->job_n = 0;
	resp->rd_jobs = 0;
	memset(resp->replay, 0, sizeof(resp->replay));
	resp->msg = MSG_NONE;
	resp_tm_end(hca, qp, false);
	resp->have_rwqe = false;
	resp->ahead = false;
	resp->nak_sent = false;
	resp_cancel_fault(hca, resp);
}

static bool resp_drop_srq(struct hca *hca, struct obj *o, void *arg)
{
	struct qp *qp = (struct qp *)o;
	struct responder *resp = qp->resp;
	const struct srq *srq = arg;

	if (qp->type != QPT_XRC || !resp || resp_srq(hca, qp) != srq)
		return true;
	resp->msg = MSG_NONE;
	resp->have_rwqe = false;
	resp->got = 0;
	resp_cancel_fault(hca, resp);
	return true;
}

/**
 * resp_forget_srq() - drop the receive WQEs that were taken from an XRC SRQ
 * @hca: the HCA
 * @srq: the queue, about to be freed
 *
 * Queue pairs hold no reference on the SRQ, and its CQ may be destroyed next, so these WQEs do not
 * complete. The rest of a message to the SRQ that is in transit is refused.
 */
void resp_forget_srq(struct hca *hca, struct srq *srq)
{
	obj_for_each(hca, OBJ_QP, resp_drop_srq, srq);
}

/**
 * resp_free() - free the responder
 * @hca: the HCA
 * @qp: the queue pair, about to be destroyed; it is not queued for a turn
 */
void resp_free(struct hca *hca, struct qp *qp)
{
	if (qp->resp) {
		watch_set(hca, &qp->resp->watch, false);
		resp_tm_end(hca, qp, false);
	}
	free(qp->resp);
	qp->resp = NULL;
}
