// SPDX-License-Identifier: GPL-2.0
/*
 * Packets to queue pairs, and the reaction of the transport to state changes of a queue pair.
 */
#include <errno.h>
#include <stdlib.h>

#include "conn.h"
#include "dc.h"
#include "dispatch.h"
#include "fault.h"
#include "hca.h"
#include "link.h"
#include "mcast.h"
#include "packet.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "sched.h"

struct specials {
	struct qp *qp[2];	/* receive the packets to QPN 0 and QPN 1 */
};

/* ---- receiving ------------------------------------------------------------------------------- */

static bool packet_service_matches(const struct qp *qp, const struct packet *p)
{
	switch (p->opcode & BTH_SERVICE_MASK) {
	case BTH_RC:
		return qp->type == QPT_RC;
	case BTH_XRC:
		return qp->type == QPT_XRC;
	case BTH_DC:
		return qp->type == QPT_DCI && packet_is_response(p);
	case BTH_UC:
		return qp->type == QPT_UC;
	case BTH_UD:
		return qp->type == QPT_UD || qp->type == QPT_QP1 || qp->type == QPT_QP0;
	default:
		return false;
	}
}

/* Returns why a packet is dropped without a response, or NULL. */
static const char *packet_why_drop(struct hca *hca, const struct qp *qp, const struct packet *p)
{
	const char *why;

	if (!qp)
		return "no QP";
	if (!packet_service_matches(qp, p))
		return "service";
	why = link_of(hca)->wrong_source(qp, p);
	if (why)
		return why;
	return conn_can_receive(qp) ? link_of(hca)->wrong_destination(hca, qp, p) : "state";
}

static void dispatch_to_qp(struct hca *hca, struct qp *qp, const struct packet *p)
{
	const char *why = packet_why_drop(hca, qp, p);

	if (why) {
		hca->count.packets_dropped++;
		hca_trace(hca, "packet_drop", "\"qpn\":%u,\"why\":\"%s\",\"pkey\":%u", p->dqpn,
			  why, p->pkey);
		return;
	}
	if (packet_is_response(p))
		req_receive(hca, qp, p);
	else
		resp_receive(hca, qp, p);
}

static void dispatch_to_member(struct hca *hca, uint32_t qpn, void *arg)
{
	dispatch_to_qp(hca, qp_find(hca, qpn), arg);
}

static bool has_qp0(const struct qp *qp0)
{
	return qp0 && conn_can_receive(qp0);
}

static void dispatch_packet(struct hca *hca, struct packet *p)
{
	struct qp *const *special = hca->specials->qp;
	const uint8_t *group = link_of(hca)->group(p);

	if (group)
		mcast_each(hca, group, dispatch_to_member, p);
	else if (dc_is_request(p))
		dc_receive(hca, p);
	else if (p->dqpn > 1)
		dispatch_to_qp(hca, qp_find(hca, p->dqpn), p);
	else if (p->dqpn == 1 || has_qp0(special[0]) || !link_of(hca)->manage(hca, p))
		dispatch_to_qp(hca, special[p->dqpn], p);
}

/* ---- state changes --------------------------------------------------------------------------- */

static void specials_set(struct hca *hca, struct qp *qp)
{
	struct specials *s = hca->specials;

	if (qp->type == QPT_QP0 || qp->type == QPT_QP1)
		s->qp[qp->type == QPT_QP1] = qp;
}

static void specials_clear(struct hca *hca, struct qp *qp)
{
	struct specials *s = hca->specials;
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (s->qp[i] == qp)
			s->qp[i] = NULL;
}

static void transport_qp_reset(struct hca *hca, struct qp *qp)
{
	req_clear(hca, qp);
	resp_clear(hca, qp);
	specials_clear(hca, qp);
	qp->sq_hw = 0;
	qp->rq_hw = 0;
}

/**
 * transport_qp_state() - react to a state change of a queue pair
 * @hca: the HCA
 * @qp: the queue pair, already in state @now
 * @old: the state it was in
 * @now: the state it is in
 *
 * Flushes WQEs at ERR and SQER, and drops all state at RST, before it returns. All other work is
 * done from the event loop.
 */
static void transport_qp_state(struct hca *hca, struct qp *qp, enum qp_state old, enum qp_state now)
{
	switch (now) {
	case QPS_RST:
		transport_qp_reset(hca, qp);
		break;
	case QPS_RTR:
		specials_set(hca, qp);
		resp_clear(hca, qp);
		break;
	case QPS_RTS:
		if (old == QPS_RTR || old == QPS_SQER)
			req_start(hca, qp);
		if (qp->req)
			sched_kick(hca, &qp->req->run);
		break;
	case QPS_SQD:
	case QPS_SQ_DRAINING:
		if (old != now && req_get(hca, qp)) {
			qp->req->drained = false;
			sched_kick(hca, &qp->req->run);
		}
		break;
	case QPS_SQER:
		req_flush(hca, qp);
		break;
	case QPS_ERR:
		req_flush(hca, qp);
		resp_flush(hca, qp);
		break;
	default:
		break;
	}
}

/**
 * transport_qp_destroy() - drop all references to a queue pair that is about to be freed
 * @hca: the HCA
 * @qp: the queue pair
 */
static void transport_qp_destroy(struct hca *hca, struct qp *qp)
{
	specials_clear(hca, qp);
	if (qp->req)
		sched_cancel(hca, &qp->req->run);
	if (qp->resp)
		sched_cancel(hca, &qp->resp->run);
	req_free(hca, qp);
	resp_free(hca, qp);
	fault_forget_qp(hca, qp);
}

const struct qp_ops transport_qp_ops = {
	.state = transport_qp_state, .destroy = transport_qp_destroy, .srq_gone = resp_forget_srq,
	.dct_drain = dc_drain, .reset_stream = req_reset_stream,
};

/* ---- module ---------------------------------------------------------------------------------- */

static int dispatch_init(struct hca *hca)
{
	hca->specials = calloc(1, sizeof(*hca->specials));
	if (!hca->specials)
		return -ENOMEM;
	sched_set_receive(hca, dispatch_packet);
	return 0;
}

static void dispatch_exit(struct hca *hca)
{
	free(hca->specials);
	hca->specials = NULL;
}

const struct hca_module dispatch_module = {
	.name = "dispatch", .init = dispatch_init, .exit = dispatch_exit,
};
