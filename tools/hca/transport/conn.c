// SPDX-License-Identifier: GPL-2.0
/*
 * A queue pair's connection: the memory that it may access, and the headers of its packets.
 */
#include "conn.h"
#include "hca.h"
#include "ifc.h"
#include "link.h"
#include "mkey.h"
#include "packet.h"
#include "qp.h"

/**
 * conn_user() - say on whose behalf the queue pair accesses memory
 * @qp: the queue pair
 * @pdn: protection domain: the queue pair's, or that of its SRQ
 *
 * Return: what mkey_read(), mkey_write() and mkey_check() check a key against.
 */
struct mkey_user conn_user(const struct qp *qp, uint32_t pdn)
{
	return (struct mkey_user){ .pdn = pdn, .qpn = qp->obj.num, .rlky = qp->rlky };
}

static uint8_t conn_service(const struct qp *qp)
{
	switch (qp->type) {
	case QPT_UC:
		return BTH_UC;
	case QPT_XRC:
		return BTH_XRC;
	case QPT_DCI:
	case QPT_DCT:
		return BTH_DC;
	default:
		return BTH_RC;
	}
}

/**
 * conn_packet() - make a packet from a connected queue pair to its peer
 * @hca: the HCA
 * @qp: the queue pair, RC, XRC or UC; of DC, while it is connected
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
	if (qp->type == QPT_DCI) {
		p->sqpn = qp->obj.num;
		p->dc_connection = qp->dc_connection;
	}
	return p;
}
