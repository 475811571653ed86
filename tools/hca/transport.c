// SPDX-License-Identifier: GPL-2.0
/*
 * What runs the transport: the pump that receives packets and gives queue pairs their
 * turns, the dispatch of packets to queue pairs, and the reaction to state changes.
 */
#include <event2/event.h>
#include <errno.h>
#include <stdlib.h>
#include "fault.h"
#include "transport.h"

#define RX_BUDGET	256	/* packets received in one round of the pump */
#define TX_BUDGET	256	/* packets sent in one round, all queue pairs together */
#define TX_SLICE	16	/* packets sent in one turn of one queue pair */
#define BLOCKED_US	1000	/* pause when nobody could move */
#define ERROR_POLL_US	10000	/* how often errored receive queues are looked at */

struct transport {
	struct event *pump;
	bool armed;
	TAILQ_HEAD(, run_entry) run;
	struct event *error_timer;
	TAILQ_HEAD(, responder) errors;
	struct qp *special[2];		/* QP0 and QP1 have a number of their own on the wire */
};

static void arm(struct transport *t, unsigned int us)
{
	const struct timeval tv = { .tv_usec = us };

	if (t->armed)
		return;
	t->armed = true;
	evtimer_add(t->pump, &tv);
}

static void wake(struct hca *hca)
{
	arm(hca->transport, 0);
}

/**
 * transport_kick() - give a requester or responder a turn soon
 * @hca: the function
 * @e: its entry; may be queued already
 *
 * Only takes note; the turn comes from the event loop.
 */
void transport_kick(struct hca *hca, struct run_entry *e)
{
	struct transport *t = hca->transport;

	if (!e->queued) {
		e->queued = true;
		TAILQ_INSERT_TAIL(&t->run, e, link);
	}
	arm(t, 0);
}

static void unqueue(struct hca *hca, struct run_entry *e)
{
	struct transport *t = hca->transport;

	if (e->queued)
		TAILQ_REMOVE(&t->run, e, link);
	e->queued = false;
}

/* ---- receiving ------------------------------------------------------------- */

static bool service_matches(const struct qp *qp, uint8_t opcode)
{
	switch (opcode & BTH_SERVICE_MASK) {
	case BTH_RC:
		return qp->type == QPT_RC;
	case BTH_XRC:
		return qp->type == QPT_XRC;
	case BTH_UC:
		return qp->type == QPT_UC;
	case BTH_UD:
		return qp->type == QPT_UD || qp->type == QPT_QP1 || qp->type == QPT_QP0;
	default:
		return false;
	}
}

static bool is_response(uint8_t opcode)
{
	uint8_t service = opcode & BTH_SERVICE_MASK;
	uint8_t op = opcode & BTH_OP_MASK;

	return (service == BTH_RC || service == BTH_XRC) && op >= BTH_READ_FIRST &&
	       op <= BTH_ATOMIC_ACK;
}

/* A connected QP hears its peer only; nobody else can fill its queues by guessing its number. */
static bool from_peer(const struct qp *qp, const struct packet *p)
{
	return (p->opcode & BTH_SERVICE_MASK) == BTH_UD || p->slid == qp->path.rlid;
}

static void deliver(struct hca *hca, struct qp *qp, const struct packet *p)
{
	if (!qp || !service_matches(qp, p->opcode) || !from_peer(qp, p) ||
	    !transport_can_receive(qp)) {
		hca->count.packets_dropped++;
		return;
	}
	if (is_response(p->opcode))
		req_receive(hca, qp, p);
	else
		resp_receive(hca, qp, p);
}

static void deliver_mcast(struct hca *hca, uint32_t qpn, void *arg)
{
	deliver(hca, qp_find(hca, qpn), arg);
}

static void dispatch(struct hca *hca, struct packet *p)
{
	struct transport *t = hca->transport;

	if (p->dlid >= LID_MCAST_FIRST && p->dlid != LID_PERMISSIVE)
		fabric_mcast_each(hca, p->dgid, deliver_mcast, p);
	else
		deliver(hca, p->dqpn < 2 ? t->special[p->dqpn] : qp_find(hca, p->dqpn), p);
}

/* ---- the pump -------------------------------------------------------------- */

static unsigned int receive_some(struct hca *hca)
{
	unsigned int n = 0;
	struct packet *p;

	while (n < RX_BUDGET && (p = fabric_rx(hca))) {
		dispatch(hca, p);
		packet_free(p);
		n++;
	}
	return n;
}

/* Round robin, a slice each; returns how many packets left. */
static unsigned int send_some(struct hca *hca)
{
	struct transport *t = hca->transport;
	unsigned int left = TX_BUDGET, moved = 0, slice, used;
	struct run_entry *e;

	while (left && (e = TAILQ_FIRST(&t->run))) {
		slice = left < TX_SLICE ? left : TX_SLICE;
		used = slice;
		unqueue(hca, e);
		if (e->run(hca, e->qp, &slice) && !e->queued) {
			e->queued = true;
			TAILQ_INSERT_TAIL(&t->run, e, link);
		}
		used -= slice;
		moved += used;
		left -= used ? used : 1;
	}
	return moved;
}

static void pump(evutil_socket_t fd, short what, void *arg)
{
	struct hca *hca = arg;
	struct transport *t = hca->transport;
	unsigned int moved = 0;

	(void)fd;
	(void)what;
	t->armed = false;
	if (!hca->hung && !hca->fatal)
		moved = receive_some(hca) + send_some(hca);
	if (fabric_rx_pending(hca) || !TAILQ_EMPTY(&t->run))
		arm(t, moved ? 0 : BLOCKED_US);
}

/* ---- errored receive queues ------------------------------------------------ */

static void arm_error_timer(struct transport *t)
{
	const struct timeval tv = { .tv_usec = ERROR_POLL_US };

	if (!TAILQ_EMPTY(&t->errors) && !evtimer_pending(t->error_timer, NULL))
		evtimer_add(t->error_timer, &tv);
}

static void error_poll(evutil_socket_t fd, short what, void *arg)
{
	struct hca *hca = arg;
	struct transport *t = hca->transport;
	struct responder *r, *next;

	(void)fd;
	(void)what;
	for (r = TAILQ_FIRST(&t->errors); r; r = next) {
		next = TAILQ_NEXT(r, error_link);
		resp_flush(hca, r->run.qp);
	}
	arm_error_timer(t);
}

/**
 * transport_poll_errors() - watch the receive queue of a QP in the error state, or stop that
 * @hca: the function
 * @resp: its responder
 * @on: true to watch
 *
 * Receive WQEs are announced by the doorbell record alone, and those posted to a QP in error must
 * be flushed too; software that drains a queue waits for that.
 */
void transport_poll_errors(struct hca *hca, struct responder *resp, bool on)
{
	struct transport *t = hca->transport;

	if (resp->in_error == on)
		return;
	resp->in_error = on;
	if (on)
		TAILQ_INSERT_TAIL(&t->errors, resp, error_link);
	else
		TAILQ_REMOVE(&t->errors, resp, error_link);
	arm_error_timer(t);
}

/* ---- shared by requester and responder ------------------------------------- */

/**
 * transport_can_send() - whether new work of the send queue may start
 * @qp: the queue pair
 */
bool transport_can_send(const struct qp *qp)
{
	return qp->state == QPS_RTS;
}

/**
 * transport_can_receive() - whether packets for the queue pair are looked at
 * @qp: the queue pair
 */
bool transport_can_receive(const struct qp *qp)
{
	switch (qp->state) {
	case QPS_RTR:
	case QPS_RTS:
	case QPS_SQER:
	case QPS_SQD:
	case QPS_SQ_DRAINING:
		return true;
	default:
		return false;
	}
}

/**
 * transport_reliable() - whether a service acknowledges and repairs
 * @qp: the queue pair
 */
bool transport_reliable(const struct qp *qp)
{
	return qp->type == QPT_RC || qp->type == QPT_XRC;
}

static uint8_t service_of(const struct qp *qp)
{
	return qp->type == QPT_UC ? BTH_UC : qp->type == QPT_XRC ? BTH_XRC : BTH_RC;
}

/**
 * transport_packet() - a packet from a connected queue pair to its peer
 * @hca: the function
 * @qp: the queue pair, RC, XRC or UC
 * @op: operation, enum bth_op
 * @psn: packet sequence number
 *
 * Return: the packet without payload, or NULL.
 */
struct packet *transport_packet(struct hca *hca, const struct qp *qp, uint8_t op, uint32_t psn)
{
	const struct qp_path *path = &qp->path;
	struct packet *p = packet_alloc();

	if (!p)
		return NULL;
	p->slid = fabric_lid(hca);
	p->dlid = path->rlid;
	p->sl = path->sl;
	p->opcode = op | service_of(qp);
	p->pkey = 0xffff;
	p->dqpn = qp->remote_qpn;
	p->psn = psn & PSN_MASK;
	if (path->grh) {
		p->grh = true;
		fabric_gid(hca, p->sgid);
		memcpy(p->dgid, path->dgid, sizeof(p->dgid));
		p->tclass = path->tclass;
		p->hop_limit = path->hop_limit;
		p->flow_label = path->flow_label;
	}
	return p;
}

/**
 * transport_req() - the requester of a queue pair, made at first need
 * @hca: the function
 * @qp: the queue pair
 *
 * Return: the requester, or NULL if memory is short.
 */
struct requester *transport_req(struct hca *hca, struct qp *qp)
{
	struct requester *req = qp->req;

	if (req)
		return req;
	req = calloc(1, sizeof(*req));
	if (!req)
		return NULL;
	req->hca = hca;
	req->run.qp = qp;
	req->run.run = req_run;
	req->posted = qp->sq_hw;
	req->una = qp->next_send_psn;
	TAILQ_INIT(&req->ops);
	qp->req = req;
	return req;
}

/**
 * transport_resp() - the responder of a queue pair, made at first need
 * @hca: the function
 * @qp: the queue pair
 *
 * Return: the responder, or NULL if memory is short.
 */
struct responder *transport_resp(struct hca *hca, struct qp *qp)
{
	struct responder *resp = qp->resp;

	(void)hca;
	if (resp)
		return resp;
	resp = calloc(1, sizeof(*resp));
	if (!resp)
		return NULL;
	resp->run.qp = qp;
	resp->run.run = resp_run;
	qp->resp = resp;
	return resp;
}

/* ---- state changes --------------------------------------------------------- */

static void set_special(struct hca *hca, struct qp *qp)
{
	struct transport *t = hca->transport;

	if (qp->type == QPT_QP0 || qp->type == QPT_QP1)
		t->special[qp->type == QPT_QP1] = qp;
}

static void clear_special(struct hca *hca, struct qp *qp)
{
	struct transport *t = hca->transport;
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (t->special[i] == qp)
			t->special[i] = NULL;
}

static void to_reset(struct hca *hca, struct qp *qp)
{
	req_clear(hca, qp);
	resp_clear(hca, qp);
	clear_special(hca, qp);
	qp->sq_hw = 0;
	qp->rq_hw = 0;
}

/**
 * transport_qp_state() - react to a state change of a queue pair
 * @hca: the function
 * @qp: the queue pair, already in state @now
 * @old: the state it was in
 * @now: the state it is in
 *
 * Flushes at ERR and SQER and forgets at RST before it returns; whatever else follows comes from
 * the event loop.
 */
void transport_qp_state(struct hca *hca, struct qp *qp, enum qp_state old, enum qp_state now)
{
	switch (now) {
	case QPS_RST:
		to_reset(hca, qp);
		break;
	case QPS_RTR:
		set_special(hca, qp);
		resp_clear(hca, qp);
		break;
	case QPS_RTS:
		if (old == QPS_RTR || old == QPS_SQER)
			req_start(hca, qp);
		if (qp->req)
			transport_kick(hca, &qp->req->run);
		break;
	case QPS_SQD:
	case QPS_SQ_DRAINING:
		if (old != now && transport_req(hca, qp)) {
			qp->req->drained = false;
			transport_kick(hca, &qp->req->run);
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
 * transport_qp_destroy() - forget a queue pair that is about to be freed
 * @hca: the function
 * @qp: the queue pair
 */
void transport_qp_destroy(struct hca *hca, struct qp *qp)
{
	clear_special(hca, qp);
	fabric_mcast_forget(hca, qp->obj.num);
	if (qp->req)
		unqueue(hca, &qp->req->run);
	if (qp->resp) {
		unqueue(hca, &qp->resp->run);
		transport_poll_errors(hca, qp->resp, false);
	}
	req_free(hca, qp);
	resp_free(hca, qp);
	fault_forget_qp(hca, qp);
}

/* ---- module ---------------------------------------------------------------- */

static int transport_init(struct hca *hca)
{
	struct transport *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	TAILQ_INIT(&t->run);
	TAILQ_INIT(&t->errors);
	t->pump = evtimer_new(hca->base, pump, hca);
	t->error_timer = evtimer_new(hca->base, error_poll, hca);
	hca->transport = t;
	if (!t->pump || !t->error_timer)
		return -ENOMEM;
	if (hca->fabric_port)
		fabric_set_wake(hca, wake);
	return 0;
}

static void transport_exit(struct hca *hca)
{
	struct transport *t = hca->transport;

	if (!t)
		return;
	if (hca->fabric_port)
		fabric_set_wake(hca, NULL);
	if (t->pump)
		event_free(t->pump);
	if (t->error_timer)
		event_free(t->error_timer);
	free(t);
	hca->transport = NULL;
	req_empty_pool();
}

const struct hca_module transport_module = {
	.name = "transport", .init = transport_init, .exit = transport_exit,
};
