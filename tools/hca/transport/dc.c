// SPDX-License-Identifier: GPL-2.0
/*
 * The targets of the DC service: their connections.
 *
 * Theory: a connection belongs to a target, and to an initiator, which the address and the number
 * of its queue pair identify. CONNECT makes it, if the access key is that of the target; DISCONNECT
 * ends it. In between the connection is a queue pair of RC to the responder, made from the model of
 * the target, which no table has. A request that is refused fails the connection, and not the
 * target. An HCA has at most DC_CONNECTIONS of them: then a new one takes the place of the
 * connection that was silent for the longest time.
 *
 * A packet that no connection is for is dropped, as a packet to an unknown queue pair is: CONNECT
 * with a wrong key, or to a target that drains; and what follows such a CONNECT. The initiator then
 * runs out of retries.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "clock.h"
#include "conn.h"
#include "cq.h"
#include "dc.h"
#include "dct.h"
#include "hca.h"
#include "link.h"
#include "object.h"
#include "packet.h"
#include "qcounter.h"
#include "qp.h"
#include "resp.h"
#include "sched.h"

#define DC_BUCKETS	1024		/* a power of two */
#define DC_CONNECTIONS	65536
#define DRAIN_LOOK_US	5000		/* how often a target that drains is looked at */
#define DRAIN_NS	2000000000ull	/* how long it waits for the rest of a message */

struct dc_conn {
	LIST_ENTRY(dc_conn) by_peer;
	TAILQ_ENTRY(dc_conn) by_age;
	struct dct *dct;
	struct qp qp;			/* obj.num is the DCTN, remote_qpn the initiator */
};

struct dcs {
	LIST_HEAD(, dc_conn) bucket[DC_BUCKETS];
	TAILQ_HEAD(, dc_conn) by_age;	/* silent for the longest time first */
	unsigned int n;
	struct event *drain;
};

static unsigned int dc_bucket(uint32_t dctn, uint32_t initiator)
{
	return (dctn * 31 + initiator) & (DC_BUCKETS - 1);
}

static struct dc_conn *dc_find(struct hca *hca, const struct dct *dct, const struct packet *p)
{
	struct dc_conn *conn;

	LIST_FOREACH(conn, &hca->dcs->bucket[dc_bucket(dct->obj.num, p->sqpn)], by_peer)
		if (conn->dct == dct && conn->qp.remote_qpn == p->sqpn &&
		    !link_of(hca)->wrong_source(&conn->qp, p))
			return conn;
	return NULL;
}

static void dc_free(struct hca *hca, struct dc_conn *conn)
{
	struct dcs *dcs = hca->dcs;

	if (conn->qp.resp)
		sched_cancel(hca, &conn->qp.resp->run);
	resp_free(hca, &conn->qp);
	LIST_REMOVE(conn, by_peer);
	TAILQ_REMOVE(&dcs->by_age, conn, by_age);
	dcs->n--;
	conn->dct->connections--;
	free(conn);
}

/* End a connection. A receive WQE that a message in progress has taken is flushed. */
static void dc_close(struct hca *hca, struct dc_conn *conn)
{
	resp_flush(hca, &conn->qp);
	dc_free(hca, conn);
}

static struct dc_conn *dc_open(struct hca *hca, struct dct *dct, const struct packet *p)
{
	struct dcs *dcs = hca->dcs;
	struct dc_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->dct = dct;
	conn->qp = dct->model;
	conn->qp.remote_qpn = p->sqpn;
	conn->qp.dc_connection = p->dc_connection;
	conn->qp.next_rcv_psn = psn_add(p->psn, 1);
	link_of(hca)->reply(hca, p, &conn->qp.path);
	LIST_INSERT_HEAD(&dcs->bucket[dc_bucket(dct->obj.num, p->sqpn)], conn, by_peer);
	TAILQ_INSERT_TAIL(&dcs->by_age, conn, by_age);
	dcs->n++;
	dct->connections++;
	return conn;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void dc_drop(struct hca *hca, const struct packet *p, const char *why)
{
	hca->count.packets_dropped++;
	hca_trace(hca, "packet_drop", "\"qpn\":%u,\"why\":\"%s\",\"pkey\":%u", p->dqpn, why,
		  p->pkey);
}

/* Whether the CQ of a target is in error: no message could complete. */
static bool dc_cq_failed(struct hca *hca, const struct qp *qp)
{
	const struct cq *cq = cq_find(hca, qp->cqn_rcv);

	return cq && cq->status != CQ_STATUS_OK;
}

/* Why a packet of a connection is not accepted, or NULL. */
static const char *dc_why_drop(struct hca *hca, const struct dc_conn *conn, const struct packet *p)
{
	if (conn->qp.dc_connection != p->dc_connection)
		return "connection";
	if (!conn_can_receive(&conn->qp))
		return "state";
	if (dc_cq_failed(hca, &conn->qp))
		return "cq";
	return link_of(hca)->wrong_destination(hca, &conn->qp, p);
}

/* Return why an initiator may not connect, or NULL. */
static const char *dc_why_not(struct hca *hca, struct dct *dct, const struct packet *p)
{
	struct qp probe = dct->model;

	if (dct->state != DCT_ACTIVE)
		return "draining";
	qcounter_add(hca, dct->model.counter_set, QC_RX_DCT_CONNECT);
	if (p->dc_key != dct->access_key) {
		dct_violation(hca, dct);
		return "access key";
	}
	link_of(hca)->reply(hca, p, &probe.path);
	return link_of(hca)->wrong_destination(hca, &probe, p);
}

/* Acknowledge CONNECT, unless the connection has failed since. */
static void dc_acknowledge(struct hca *hca, struct dc_conn *conn, const struct packet *p)
{
	if (conn_can_receive(&conn->qp) && resp_get(hca, &conn->qp))
		resp_ack_request(hca, &conn->qp, p);
}

/*
 * CONNECT. The CONNECT of the connection that exists was sent twice. The CONNECT of an older
 * connection is late.
 */
static void dc_connect(struct hca *hca, struct dct *dct, struct dc_conn *conn,
		       const struct packet *p)
{
	struct dcs *dcs = hca->dcs;
	const char *why = NULL;

	if (conn && conn->qp.dc_connection == p->dc_connection)
		dc_acknowledge(hca, conn, p);
	if (conn && (int32_t)(p->dc_connection - conn->qp.dc_connection) <= 0)
		return;
	why = dc_why_not(hca, dct, p);
	if (why) {
		dc_drop(hca, p, why);
		return;
	}
	if (conn)
		dc_close(hca, conn);
	if (dcs->n >= DC_CONNECTIONS)
		dc_close(hca, TAILQ_FIRST(&dcs->by_age));
	conn = dc_open(hca, dct, p);
	if (conn)
		dc_acknowledge(hca, conn, p);
	else
		dc_drop(hca, p, "memory");
}

static void dc_request(struct hca *hca, struct dc_conn *conn, const struct packet *p)
{
	struct dcs *dcs = hca->dcs;
	const char *why = conn ? dc_why_drop(hca, conn, p) : "no connection";

	if (why) {
		dc_drop(hca, p, why);
		return;
	}
	TAILQ_REMOVE(&dcs->by_age, conn, by_age);
	TAILQ_INSERT_TAIL(&dcs->by_age, conn, by_age);
	resp_receive(hca, &conn->qp, p);
}

/**
 * dc_receive() - process a request to a DC target
 * @hca: the HCA
 * @p: the packet
 */
void dc_receive(struct hca *hca, const struct packet *p)
{
	struct dct *dct = dct_find(hca, p->dqpn);
	struct dc_conn *conn = dct ? dc_find(hca, dct, p) : NULL;

	if (!dct) {
		dc_drop(hca, p, "no DCT");
		return;
	}
	switch (p->opcode & BTH_OP_MASK) {
	case BTH_CONNECT:
		dc_connect(hca, dct, conn, p);
		break;
	case BTH_DISCONNECT:
		if (conn && conn->qp.dc_connection == p->dc_connection)
			dc_close(hca, conn);
		break;
	default:
		dc_request(hca, conn, p);
	}
}

/* ---- draining -------------------------------------------------------------------------------- */

static bool dc_idle(const struct dc_conn *conn)
{
	const struct responder *resp = conn->qp.resp;

	return !resp || (resp->msg == MSG_NONE && !resp->have_rwqe && !resp->job_n);
}

/* Close what can be closed of the targets that drain. Returns whether connections are left. */
static bool dc_close_draining(struct hca *hca)
{
	struct dc_conn *conn, *next;
	bool left = false;

	for (conn = TAILQ_FIRST(&hca->dcs->by_age); conn; conn = next) {
		next = TAILQ_NEXT(conn, by_age);
		if (conn->dct->state == DCT_ACTIVE)
			continue;
		if (dc_idle(conn) || clock_now_ns() - conn->dct->drain_ns >= DRAIN_NS)
			dc_close(hca, conn);
		else
			left = true;
	}
	return left;
}

static bool dc_report_drained(struct hca *hca, struct obj *o, void *arg)
{
	struct dct *dct = (struct dct *)o;

	(void)arg;
	if (dct->state == DCT_DRAINING && !dct->connections)
		dct_drained(hca, dct);
	return true;
}

static void dc_look(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval soon = { .tv_usec = DRAIN_LOOK_US };
	struct hca *hca = arg;

	(void)fd;
	(void)what;
	if (dc_close_draining(hca))
		evtimer_add(hca->dcs->drain, &soon);
	obj_for_each(hca, OBJ_DCT, dc_report_drained, NULL);
}

/**
 * dc_drain() - a target has begun to drain
 * @hca: the HCA
 *
 * Its connections are closed from the event loop.
 */
void dc_drain(struct hca *hca)
{
	event_active(hca->dcs->drain, EV_TIMEOUT, 0);
}

/* ---- module ---------------------------------------------------------------------------------- */

static int dc_init(struct hca *hca)
{
	struct dcs *dcs = calloc(1, sizeof(*dcs));

	if (!dcs)
		return -ENOMEM;
	TAILQ_INIT(&dcs->by_age);
	dcs->drain = evtimer_new(hca->base, dc_look, hca);
	if (!dcs->drain) {
		free(dcs);
		return -ENOMEM;
	}
	hca->dcs = dcs;
	return 0;
}

/* The memory of the CQs may belong to another kernel by now, so nothing is flushed. */
static void dc_reset(struct hca *hca)
{
	struct dc_conn *conn;

	while ((conn = TAILQ_FIRST(&hca->dcs->by_age)))
		dc_free(hca, conn);
	evtimer_del(hca->dcs->drain);
}

static void dc_exit(struct hca *hca)
{
	event_free(hca->dcs->drain);
	free(hca->dcs);
	hca->dcs = NULL;
}

const struct hca_module dc_module = {
	.name = "dc", .init = dc_init, .reset = dc_reset, .exit = dc_exit,
};
