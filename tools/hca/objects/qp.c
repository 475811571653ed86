// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: finding them, their state and the events that it raises, decoding the context, and
 * freeing them.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "mcast.h"
#include "mem.h"
#include "object.h"
#include "qp.h"
#include "queue_mem.h"
#include "srq.h"
#include "uar_page.h"
#include "util.h"

_Static_assert(IFC_SZ(qpc) == QPC_BYTES, "qpc size");

struct qps {
	struct qp *special[2];	/* QP0 and QP1 of the port */
	struct event *lost;	/* fails the queue pairs that lost a completion */
};

/**
 * qp_find() - find a queue pair
 * @hca: the HCA
 * @qpn: its number
 *
 * Return: the queue pair or NULL.
 */
struct qp *qp_find(struct hca *hca, uint32_t qpn)
{
	return (struct qp *)obj_find(hca, OBJ_QP, qpn);
}

/**
 * qp_special() - find the queue pair that serves the port's QP0 or QP1
 * @hca: the HCA
 * @n: 0 or 1
 *
 * Return: the queue pair or NULL.
 */
struct qp *qp_special(struct hca *hca, unsigned int n)
{
	struct qps *qps = hca->qps;

	return qps && n < 2 ? qps->special[n] : NULL;
}

/**
 * qp_set_special() - let a queue pair serve the port's QP0 or QP1, or no longer
 * @hca: the HCA
 * @qp: the queue pair; nothing happens if it is of another type
 * @on: true to let it serve
 */
void qp_set_special(struct hca *hca, struct qp *qp, bool on)
{
	if (qp->type == QPT_QP0 || qp->type == QPT_QP1)
		hca->qps->special[qp->type - QPT_QP0] = on ? qp : NULL;
}

/**
 * qp_dbr_read() - read a doorbell record
 * @hca: the HCA
 * @qp: the queue pair
 * @which: DBR_RCV or DBR_SND
 * @val: set to the counter
 *
 * Return: false if the record is not mapped any more.
 */
bool qp_dbr_read(struct hca *hca, const struct qp *qp, unsigned int which, uint16_t *val)
{
	uint8_t rec[4];

	if (mem_read(hca, qp->dbr.addr + which, rec, sizeof(rec)))
		return false;
	*val = get_be32(rec);
	return true;
}

/* ---- events and states ----------------------------------------------------------------------- */

/**
 * qp_event() - raise an asynchronous event about a queue pair
 * @hca: the HCA
 * @qp: the queue pair
 * @event: the event's type
 */
void qp_event(struct hca *hca, struct qp *qp, enum async_event event)
{
	uint8_t data[28] = {};

	put_be32(data + 24, qp->obj.num);	/* byte 20, the type, is 0: a QP */
	hca_trace(hca, "qp_event", "\"qpn\":%u,\"event\":%u", qp->obj.num, event);
	eq_post_async(hca, event, 0, data);
}

/**
 * qp_set_state() - change the state of a queue pair
 * @hca: the HCA
 * @qp: the queue pair
 * @now: the new state
 *
 * Notifies the transport. In states other than SQER and ERR a queue pair has no error. A queue pair
 * with an SRQ, other than XRC and DCI, takes no more WQEs from the SRQ when it enters ERR, and
 * raises SRQ_LAST_WQE once.
 */
void qp_set_state(struct hca *hca, struct qp *qp, enum qp_state now)
{
	enum qp_state old = qp->state;

	qp->state = now;
	if (now != QPS_SQER && now != QPS_ERR)
		qp->error = ERR_NONE;
	hca_trace(hca, "qp_state", "\"qpn\":%u,\"from\":\"%s\",\"to\":\"%s\"", qp->obj.num,
		  qp_state_name(old), qp_state_name(now));
	hca->board->qp->state(hca, qp, old, now);
	if (now == QPS_ERR && old != QPS_ERR && qp->rq_type == RQ_SRQ && qp->type != QPT_XRC &&
	    qp->type != QPT_DCI && !qp->last_wqe_done) {
		qp->last_wqe_done = true;
		qp_event(hca, qp, EV_SRQ_LAST_WQE);
	}
}

/**
 * qp_to_error() - move a queue pair that failed to ERR
 * @hca: the HCA
 * @qp: the queue pair; nothing happens if it is in ERR or RST
 * @error: why it failed, for QUERY_QP
 * @event: asynchronous event to raise, 0 for none
 *
 * The transport flushes the work requests when qp_set_state() notifies the transport.
 */
void qp_to_error(struct hca *hca, struct qp *qp, enum cqe_error error, enum async_event event)
{
	if (qp->state == QPS_ERR || qp->state == QPS_RST)
		return;
	qp->error = error;
	qp_set_state(hca, qp, QPS_ERR);
	if (event)
		qp_event(hca, qp, event);
}

/**
 * qp_to_sq_error() - move an unreliable queue pair whose send queue failed to SQER
 * @hca: the HCA
 * @qp: the queue pair; nothing happens if it is not in RTS, draining or drained
 * @error: why it failed, for QUERY_QP
 */
void qp_to_sq_error(struct hca *hca, struct qp *qp, enum cqe_error error)
{
	if (qp->state != QPS_RTS && qp->state != QPS_SQD && qp->state != QPS_SQ_DRAINING)
		return;
	qp->error = error;
	qp_set_state(hca, qp, QPS_SQER);
}

/**
 * qp_sq_drained() - the transport has completed the send WQEs that were in progress
 * @hca: the HCA
 * @qp: the queue pair; nothing happens if it is not in SQ_DRAINING
 */
void qp_sq_drained(struct hca *hca, struct qp *qp)
{
	if (qp->state != QPS_SQ_DRAINING)
		return;
	qp_set_state(hca, qp, QPS_SQD);
	if (qp->drain_event)
		qp_event(hca, qp, EV_SQ_DRAINED);
}

/**
 * qp_comm_est() - a packet arrived for a queue pair in RTR
 * @hca: the HCA
 * @qp: the queue pair, which raises COMM_EST once
 */
void qp_comm_est(struct hca *hca, struct qp *qp)
{
	if (qp->comm_est || qp->state != QPS_RTR)
		return;
	qp->comm_est = true;
	qp_event(hca, qp, EV_COMM_EST);
}

static bool qp_fail_if_lost(struct hca *hca, struct obj *o, void *arg)
{
	struct qp *qp = (struct qp *)o;

	(void)arg;
	if (qp->cq_dead)
		qp_to_error(hca, qp, ERR_CQ_FAILED, EV_WQ_CATAS_ERROR);
	qp->cq_dead = false;
	return true;
}

static void qp_fail_lost(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	obj_for_each(arg, OBJ_QP, qp_fail_if_lost, NULL);
}

/**
 * qp_lost_cqe() - fail a queue pair one of whose CQEs could not be written
 * @hca: the HCA
 * @qpn: the queue pair
 *
 * The caller is still working on the queue pair, so the event loop moves it to ERR later.
 */
void qp_lost_cqe(struct hca *hca, uint32_t qpn)
{
	struct qp *qp = qp_find(hca, qpn);

	if (!qp || qp->state == QPS_ERR || qp->state == QPS_RST)
		return;
	qp->cq_dead = true;
	if (hca->qps->lost)
		event_active(hca->qps->lost, EV_TIMEOUT, 0);
}

/* ---- decoding a context ---------------------------------------------------------------------- */

static void qp_path_decode(struct qp_path *path, const uint8_t *ads)
{
	path->rlid = IFC_GET(ads, ads, rlid);
	path->pkey_index = IFC_GET(ads, ads, pkey_index);
	path->mlid = IFC_GET(ads, ads, mlid);
	path->sl = IFC_GET(ads, ads, sl);
	path->grh = IFC_GET(ads, ads, grh);
	path->src_gid_index = IFC_GET(ads, ads, src_addr_index);
	path->hop_limit = IFC_GET(ads, ads, hop_limit);
	path->tclass = IFC_GET(ads, ads, tclass);
	path->flow_label = IFC_GET(ads, ads, flow_label);
	path->ack_timeout = IFC_GET(ads, ads, ack_timeout);
	path->stat_rate = IFC_GET(ads, ads, stat_rate);
	path->port = IFC_GET(ads, ads, vhca_port_num);
	memcpy(path->dgid, IFC_ADDR(ads, ads, rgid_rip), sizeof(path->dgid));
	memcpy(path->rmac, IFC_ADDR(ads, ads, rmac_47_32), sizeof(path->rmac));
	path->udp_sport = IFC_GET(ads, ads, udp_sport);
	path->dscp = IFC_GET(ads, ads, dscp);
	path->ecn = IFC_GET(ads, ads, ecn);
	path->eth_prio = IFC_GET(ads, ads, eth_prio);
	path->dei = IFC_GET(ads, ads, dei_cfi);
	path->loop = IFC_GET(ads, ads, fl);
}

/**
 * qp_path_lead() - let the path of a queue pair lead to another address
 * @path: the path, which keeps what belongs to the queue pair: P_Key, timeout and port
 * @to: the address
 */
void qp_path_lead(struct qp_path *path, const struct qp_path *to)
{
	struct qp_path own = *path;

	*path = *to;
	path->pkey_index = own.pkey_index;
	path->ack_timeout = own.ack_timeout;
	path->port = own.port;
}

/**
 * qp_decode() - decode the fields of the context that transitions may change
 * @qp: the queue pair, whose qpc[] is new
 *
 * The address of a DC initiator's path is that of its connection, and not from the context.
 */
void qp_decode(struct qp *qp)
{
	const uint8_t *c = qp->qpc;
	struct qp_path connected = qp->path;

	qp_path_decode(&qp->path, IFC_ADDR(qpc, c, primary_address_path));
	if (qp->type == QPT_DCI)
		qp_path_lead(&qp->path, &connected);
	qp_path_decode(&qp->alt_path, IFC_ADDR(qpc, c, secondary_address_path));
	qp->pm_state = IFC_GET(qpc, c, pm_state);
	if (qp->type != QPT_DCI)
		qp->remote_qpn = IFC_GET(qpc, c, remote_qpn);
	qp->mtu = IFC_GET(qpc, c, mtu) ? 128u << IFC_GET(qpc, c, mtu) : 0;
	qp->log_msg_max = IFC_GET(qpc, c, log_msg_max);
	qp->log_ack_req_freq = IFC_GET(qpc, c, log_ack_req_freq);
	qp->qkey = IFC_GET(qpc, c, q_key);
	qp->deth_sqpn = IFC_GET(qpc, c, deth_sqpn);
	qp->out_of_order = IFC_GET(qpc, c, dp_ordering_1);
	qp->rre = IFC_GET(qpc, c, rre);
	qp->rwe = IFC_GET(qpc, c, rwe);
	qp->rae = IFC_GET(qpc, c, rae);
	qp->atomic_mode = IFC_GET(qpc, c, atomic_mode);
	qp->retry_count = IFC_GET(qpc, c, retry_count);
	qp->rnr_retry = IFC_GET(qpc, c, rnr_retry);
	qp->min_rnr_nak = IFC_GET(qpc, c, min_rnr_nak);
	qp->max_rd_atomic = 1u << IFC_GET(qpc, c, log_sra_max);
	qp->max_dest_rd_atomic = 1u << IFC_GET(qpc, c, log_rra_max);
	qp->counter_set = IFC_GET(qpc, c, counter_set_id);
}

/* ---- freeing a queue pair -------------------------------------------------------------------- */

/**
 * qp_release() - free a queue pair
 * @hca: the HCA
 * @qp: the queue pair, to which no references are left
 */
void qp_release(struct hca *hca, struct qp *qp)
{
	bool receives = qp->rq_type == RQ_OWN || qp->rq_type == RQ_SRQ;
	struct obj *const refs[] = {
		obj_find(hca, OBJ_PD, qp->pdn),
		qp->has_sq ? uar_find(hca, qp->uar) : NULL,
		qp->has_sq || qp->cqn_snd ? obj_find(hca, OBJ_CQ, qp->cqn_snd) : NULL,
		receives || qp->cqn_rcv ? obj_find(hca, OBJ_CQ, qp->cqn_rcv) : NULL,
		qp->srq ? &qp->srq->obj : NULL,
		qp->type == QPT_XRC ? obj_find(hca, OBJ_XRCD, qp->xrcdn) : NULL,
	};
	size_t i;

	hca->board->qp->destroy(hca, qp);
	mcast_forget(hca, qp->obj.num);
	for (i = 0; i < ARRAY_SIZE(refs); i++)
		obj_put(hca, refs[i]);
	if (qp_special(hca, 0) == qp || qp_special(hca, 1) == qp)
		qp_set_special(hca, qp, false);
	qmem_free(hca, &qp->mem);
	dbr_free(hca, &qp->dbr);
	obj_free(hca, &qp->obj);
}

/* ---- module ---------------------------------------------------------------------------------- */

static bool qp_drop(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	qp_release(hca, (struct qp *)o);
	return true;
}

static int qp_init(struct hca *hca)
{
	hca->qps = calloc(1, sizeof(struct qps));
	if (!hca->qps)
		return -ENOMEM;
	hca->qps->lost = evtimer_new(hca->base, qp_fail_lost, hca);
	if (hca->qps->lost)
		return 0;
	free(hca->qps);
	hca->qps = NULL;
	return -ENOMEM;
}

static void qp_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_QP, qp_drop, NULL);
}

static void qp_exit(struct hca *hca)
{
	event_free(hca->qps->lost);
	free(hca->qps);
	hca->qps = NULL;
}

const struct hca_module qp_module = {
	.name = "qp", .init = qp_init, .reset = qp_reset, .exit = qp_exit,
};
