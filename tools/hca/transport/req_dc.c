// SPDX-License-Identifier: GPL-2.0
/*
 * The requester of a DC initiator: its connections.
 *
 * Theory: each WQE of an initiator (a queue pair of type DCI) has an address vector with the number
 * and the access key of a target. The initiator is connected to one target at a time. When the next
 * operation is for another target, it waits until the peer has answered all operations before it.
 * Then the initiator sends DISCONNECT to the old target, which nobody acknowledges, and puts an
 * operation without a WQE before the next one: CONNECT. CONNECT has a PSN, is acknowledged and
 * retransmitted as other packets are, and the packets after it do not wait for it. A connection has
 * a number, which all requests carry, so that a target tells a packet of an older connection.
 */
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "conn.h"
#include "hca.h"
#include "link.h"
#include "packet.h"
#include "qp.h"
#include "req.h"
#include "wqe.h"

static bool req_connected_to(const struct requester *req, const struct wqe_av *av)
{
	const struct wqe_av *peer = &req->peer;

	return req->connected && peer->dqpn == av->dqpn && peer->dc_key == av->dc_key &&
	       !memcmp(&peer->path, &av->path, sizeof(av->path));
}

static bool req_needs_connection(const struct qp *qp, const struct send_op *op)
{
	return qp->type == QPT_DCI && !op->w.local && !req_connected_to(qp->req, &op->w.av);
}

/**
 * req_may_connect() - tell whether an operation need not wait for a connection
 * @qp: the queue pair
 * @op: the operation, the next to start
 *
 * Return: false if a DC initiator has to change its connection, and the peer has not answered all
 * operations before.
 */
bool req_may_connect(const struct qp *qp, const struct send_op *op)
{
	return !req_needs_connection(qp, op) || !req_oldest_unanswered(qp->req);
}

/*
 * Numbers of connections grow over the life of this process, and from one process to the next,
 * whatever resets the HCA.
 */
static uint32_t req_connection_number(struct hca *hca)
{
	struct timespec now;

	if (!hca->dc_last_connection) {
		clock_gettime(CLOCK_REALTIME, &now);
		hca->dc_last_connection = now.tv_sec << 6;
	}
	return ++hca->dc_last_connection;
}

/**
 * req_connect() - connect a DC initiator for an operation
 * @hca: the HCA
 * @qp: the queue pair, for which req_may_connect() is true
 * @op: the operation, the next to start; if it needs a new connection, the operation that makes it
 *	is put before @op
 *
 * Return: false if memory is short.
 */
bool req_connect(struct hca *hca, struct qp *qp, struct send_op *op)
{
	struct requester *req = qp->req;
	struct send_op *c;

	if (!req_needs_connection(qp, op))
		return true;
	c = req_op_alloc(hca);
	if (!c)
		return false;
	req_disconnect(hca, qp);
	req->peer = op->w.av;
	req->connected = true;
	qp_path_lead(&qp->path, &op->w.av.path);
	qp->remote_qpn = op->w.av.dqpn;
	qp->dc_connection = req_connection_number(hca);
	c->connect = true;
	c->started = true;
	c->idx = op->idx;
	c->psn = qp->next_send_psn;
	c->npsn = 1;
	qp->next_send_psn = psn_add(qp->next_send_psn, 1);
	req->unsent++;
	TAILQ_INSERT_BEFORE(op, c, link);
	req->nops++;
	req->cur = c;
	hca_trace(hca, "dc_connect", "\"qpn\":%u,\"dctn\":%u,\"connection\":%u", qp->obj.num,
		  qp->remote_qpn, qp->dc_connection);
	return true;
}

/**
 * req_connect_packet() - make the packet that connects a DC initiator
 * @hca: the HCA
 * @qp: the queue pair
 * @op: the operation that connects
 *
 * Return: the packet, or NULL if memory is short.
 */
struct packet *req_connect_packet(struct hca *hca, const struct qp *qp, const struct send_op *op)
{
	struct packet *p = conn_packet(hca, qp, BTH_CONNECT, op->psn);

	if (!p)
		return NULL;
	p->dc_key = qp->req->peer.dc_key;
	/* The next operation may fail here: then no other packet asks for an acknowledgement. */
	p->ack_req = true;
	return p;
}

/**
 * req_disconnect() - end the connection of a DC initiator
 * @hca: the HCA
 * @qp: the queue pair; nothing happens if it is not connected
 *
 * The packet can be lost. Then the target keeps the connection until the initiator connects again,
 * until it needs the room, or until it drains.
 */
void req_disconnect(struct hca *hca, struct qp *qp)
{
	struct requester *req = qp->req;
	struct packet *p;

	if (!req->connected)
		return;
	req->connected = false;
	if (hca->life != LIFE_INIT || !link_of(hca)->room(hca, &qp->path))
		return;
	p = conn_packet(hca, qp, BTH_DISCONNECT, qp->next_send_psn);
	if (p)
		link_of(hca)->send(hca, p);
}
