// SPDX-License-Identifier: GPL-2.0
/*
 * InfiniBand as the link layer of the transport: a packet has LIDs as its addresses, and GIDs if it
 * has a GRH. The port's tables of GIDs and P_Keys (address.c) say what the port accepts.
 */
#include <string.h>

#include "address.h"
#include "fabric.h"
#include "hca.h"
#include "ib_link.h"
#include "ib_packet.h"
#include "link.h"
#include "packet.h"
#include "qp.h"
#include "sma.h"
#include "wire.h"

/* ---- sending --------------------------------------------------------------------------------- */

static enum cqe_error ib_check_av(struct hca *hca, const struct wqe_av *av, const char **why)
{
	uint8_t gid[16];

	if (!av->path.grh || gid_get(hca, av->path.src_gid_index, gid))
		return ERR_NONE;
	*why = "the source GID does not exist";
	return ERR_SOURCE_GID_UNKNOWN;
}

/* The LID that the port uses on a path. */
static uint16_t ib_own_lid(struct hca *hca, const struct qp_path *path)
{
	return fabric_lid(hca) | fabric_path_bits(hca, path->mlid);
}

static void ib_address(struct hca *hca, const struct qp *qp, const struct qp_path *path,
		       struct packet *p)
{
	ib_hdr(p)->slid = ib_own_lid(hca, path);
	ib_hdr(p)->dlid = path->rlid;
	ib_hdr(p)->sl = path->sl;
	p->pkey = pkey_table_get(hca, qp->path.pkey_index);
	if (!path->grh)
		return;
	ib_hdr(p)->grh = true;
	gid_get(hca, path->src_gid_index, ib_hdr(p)->sgid);
	memcpy(ib_hdr(p)->dgid, path->dgid, sizeof(ib_hdr(p)->dgid));
	ib_hdr(p)->tclass = path->tclass;
	ib_hdr(p)->hop_limit = path->hop_limit;
	ib_hdr(p)->flow_label = path->flow_label;
}

static bool ib_room(struct hca *hca, const struct qp_path *path)
{
	return fabric_can_tx(hca, path->rlid, path->dgid);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static bool ib_full(struct hca *hca)
{
	return fabric_busy(hca->fabric, fabric_port_number(hca));
}

static bool ib_manage(struct hca *hca, const struct packet *p)
{
	if (!packet_is_smp(p))
		return false;
	sma_receive(hca, p);
	return true;
}

/* ---- addresses of a packet that has arrived -------------------------------------------------- */

static const uint8_t *ib_group(const struct packet *p)
{
	return lid_is_mcast(ib_hdr(p)->dlid) ? ib_hdr(p)->dgid : NULL;
}

/*
 * A connected queue pair accepts packets from its peer's LID only, so that a queue pair at another
 * port cannot reach it by guessing its number.
 */
static const char *ib_wrong_source(const struct qp *qp, const struct packet *p)
{
	if (qp->type == QPT_QP0 && !packet_is_smp(p))
		return "virtual lane";
	if ((p->opcode & BTH_SERVICE_MASK) != BTH_UD && ib_hdr(p)->slid != qp->path.rlid)
		return "SLID";
	return NULL;
}

/* A queue pair is a member of one partition. QP1 is a member of all partitions of the port. */
static bool ib_pkey_ok(struct hca *hca, const struct qp *qp, const struct packet *p)
{
	if (qp->type == QPT_QP0)
		return true;
	if (qp->type == QPT_QP1)
		return pkey_find(hca, p->pkey) != PKEY_NONE;
	return pkeys_match(pkey_table_get(hca, qp->path.pkey_index), p->pkey);
}

/*
 * A packet of a connection has to have the GIDs of the connection's path. A datagram may come to
 * any GID of the port.
 */
static bool ib_grh_ok(struct hca *hca, const struct qp *qp, const struct packet *p)
{
	uint8_t own[16];

	if (!ib_hdr(p)->grh || lid_is_mcast(ib_hdr(p)->dlid))
		return true;
	if ((p->opcode & BTH_SERVICE_MASK) == BTH_UD || !qp->path.grh)
		return gid_is_ours(hca, ib_hdr(p)->dgid);
	return gid_get(hca, qp->path.src_gid_index, own) &&
	       !memcmp(ib_hdr(p)->dgid, own, sizeof(own)) &&
	       !memcmp(ib_hdr(p)->sgid, qp->path.dgid, sizeof(ib_hdr(p)->sgid));
}

static bool ib_is_own(struct hca *hca, const struct qp *qp, const struct packet *p)
{
	return ib_hdr(p)->slid >> fabric_lmc(hca) == fabric_lid(hca) >> fabric_lmc(hca) &&
	       p->sqpn == qp->obj.num;
}

static const char *ib_wrong_destination(struct hca *hca, const struct qp *qp,
					const struct packet *p)
{
	if ((p->opcode & BTH_SERVICE_MASK) != BTH_UD && !lid_is_mcast(ib_hdr(p)->dlid) &&
	    ib_hdr(p)->dlid != ib_own_lid(hca, &qp->path))
		return "DLID";
	if (!ib_grh_ok(hca, qp, p))
		return "GID";
	if (qp->block_lb_mc && ib_group(p) && ib_is_own(hca, qp, p))
		return "own multicast";
	if (ib_pkey_ok(hca, qp, p))
		return NULL;
	hca->count.bad_pkeys++;
	return "P_Key";
}

static bool ib_network_header(const struct packet *p, uint8_t header[NETWORK_HEADER_BYTES])
{
	if (ib_hdr(p)->grh)
		wire_grh(p, header);
	return ib_hdr(p)->grh;
}

static void ib_reply(struct hca *hca, const struct packet *p, struct qp_path *path)
{
	const struct ib_headers *h = ib_hdr(p);

	path->rlid = h->slid;
	path->mlid = fabric_path_bits(hca, h->dlid);
	path->sl = h->sl;
	path->grh = h->grh;
	memcpy(path->dgid, h->sgid, sizeof(path->dgid));
}

static void ib_to_cqe(struct hca *hca, const struct packet *p, struct completion *c)
{
	c->ml_path = fabric_path_bits(hca, ib_hdr(p)->dlid);
	c->slid = ib_hdr(p)->slid;
	c->sl = ib_hdr(p)->sl;
	c->grh = ib_hdr(p)->grh;
}

const struct link_ops ib_link = {
	.mtu = fabric_mtu, .check_av = ib_check_av, .address = ib_address, .room = ib_room,
	.send = fabric_tx, .receive = fabric_rx, .pending = fabric_rx_pending, .full = ib_full,
	.set_wake = fabric_set_wake, .manage = ib_manage, .group = ib_group,
	.wrong_source = ib_wrong_source, .wrong_destination = ib_wrong_destination,
	.network_header = ib_network_header, .reply = ib_reply, .to_cqe = ib_to_cqe,
};
