/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What requester and responder ask about a queue pair's connection: its service, what its state
 * allows, and the headers of its packets.
 */
#ifndef BLUEBELL_CONN_H
#define BLUEBELL_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "mkey.h"
#include "qp.h"

struct packet;

#define QP1_QKEY	0x80010000u

/* Whether the service acknowledges packets and repairs losses. */
static inline bool conn_reliable(const struct qp *qp)
{
	return qp->type == QPT_RC || qp->type == QPT_XRC || qp->type == QPT_DCI ||
	       qp->type == QPT_DCT;
}

/* Whether each packet has an address of its own. */
static inline bool conn_datagram(const struct qp *qp)
{
	return qp->type == QPT_UD || qp->type == QPT_QP0 || qp->type == QPT_QP1;
}

/* Whether the send queue may start new work. */
static inline bool conn_can_send(const struct qp *qp)
{
	return qp->state == QPS_RTS;
}

/* Whether the queue pair accepts packets. */
static inline bool conn_can_receive(const struct qp *qp)
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

struct mkey_user conn_user(const struct qp *qp, uint32_t pdn);
struct packet *conn_packet(struct hca *hca, const struct qp *qp, uint8_t op, uint32_t psn);

#endif
