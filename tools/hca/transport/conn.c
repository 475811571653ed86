// SPDX-License-Identifier: GPL-2.0
/*
 * A queue pair's connection: its service, what its state allows, and the headers of its packets.
 */
#include "conn.h"
#include "hca.h"
#include "ifc.h"
#include "link.h"
#include "mkey.h"
#include "packet.h"
#include "qp.h"

/**
 * conn_can_send() - tell whether the send queue may start new work
 * @qp: the queue pair
 */
bool conn_can_send(const struct qp *qp)
{
	return qp->state == QPS_RTS;
}

/**
 * conn_can_receive() - tell whether the queue pair accepts packets
 * @qp: the queue pair
 */
bool conn_can_receive(const struct qp *qp)
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
 * conn_reliable() - tell whether the service acknowledges packets and repairs losses
 * @qp: the queue pair
 */
bool conn_reliable(const struct qp *qp)
{
	return qp->type == QPT_RC || qp->type == QPT_XRC;
}

/**
 * conn_datagram() - tell whether each packet has an address of its own
 * @qp: the queue pair
 */
bool conn_datagram(const struct qp *qp)
{
	return qp->type == QPT_UD || qp->type == QPT_QP0 || qp->type == QPT_QP1;
}

/**
 * conn_user() - say on whose behalf the queue pair accesses memory
 * @qp: the queue pair
 * @pdn: protection domain: the queue pair's, or that of its SRQ
 *
 * Return: for mkey_read() and its like.
 */
struct mkey_user conn_user(const struct qp *qp, uint32_t pdn)
{
	return (struct mkey_user){ .pdn = pdn, .qpn = qp->obj.num, .rlky = qp->rlky };
}

static uint8_t conn_service(const struct qp *qp)
{
	return qp->type == QPT_UC ? BTH_UC : qp->type == QPT_XRC ? BTH_XRC : BTH_RC;
}

/**
 * conn_packet() - make a packet from a connected queue pair to its peer
 * @hca: the HCA
 * @qp: the queue pair, RC, XRC or UC
 * @op: operation, enum bth_op
 * @psn: packet sequence number
 *
 * Return: the packet without payload, or NULL if memory is short.
 */
struct packet *conn_packet(struct hca *hca, const struct qp *qp, uint8_t op, uint32_t psn)
{
	struct packet *p = packet_alloc(hca->fabric);

	if (!p)
		return NULL;
	link_of(hca)->address(hca, qp, &qp->path, p);
	p->opcode = op | conn_service(qp);
	p->dqpn = qp->remote_qpn;
	p->psn = psn & PSN_MASK;
	return p;
}
