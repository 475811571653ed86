// SPDX-License-Identifier: GPL-2.0
/*
 * The addresses of packets that have arrived: whether they are those of a queue pair, and what the
 * completion of a datagram says of them.
 */
#include <string.h>

#include "cq.h"
#include "hca.h"
#include "link.h"
#include "packet.h"
#include "qp.h"
#include "roce.h"
#include "roce_address.h"
#include "roce_packet.h"

#define PARTITION	0x7fff	/* the P_Key 0xffff without the bit of full members */

/**
 * roce_group() - the group that a packet was sent to
 * @p: the packet
 *
 * Return: its GID, or NULL.
 */
const uint8_t *roce_group(const struct packet *p)
{
	const struct roce_headers *h = roce_hdr(p);
	bool group = h->kind == ROCE_IP4 ? h->net[IPV4_DIP] >> 4 == 0xe : h->net[NET_DIP] == 0xff;

	return group ? h->net + NET_DIP : NULL;
}

static bool is_datagram(const struct packet *p)
{
	return (p->opcode & BTH_SERVICE_MASK) == BTH_UD;
}

/**
 * roce_wrong_source() - tell why a queue pair does not accept packets from this sender
 * @qp: the queue pair
 * @p: the packet
 *
 * A connected queue pair accepts packets from its peer's address only, so that a queue pair at
 * another port cannot reach it by guessing its number.
 *
 * Return: the reason, or NULL.
 */
const char *roce_wrong_source(const struct qp *qp, const struct packet *p)
{
	const struct roce_headers *h = roce_hdr(p);
	bool ok;

	if (is_datagram(p))
		return NULL;
	if (h->kind == ROCE_IP4)
		ok = !memcmp(h->net + IPV4_SIP, qp->path.dgid + 12, 4);
	else
		ok = !memcmp(h->net + NET_SIP, qp->path.dgid, sizeof(qp->path.dgid));
	return ok ? NULL : "SGID";
}

/* The address of the port that a packet was sent to, but for its MAC. */
static struct roce_address roce_destination(const struct packet *p)
{
	const struct roce_headers *h = roce_hdr(p);
	struct roce_address a = {
		.version = h->kind == ROCE_GRH ? ROCE_V1 : ROCE_V2,
		.l3 = h->kind == ROCE_IP4 ? ROCE_IPV4 : ROCE_IPV6, .vid = roce_vid(h),
	};

	memcpy(a.gid, h->net + NET_DIP, sizeof(a.gid));
	return a;
}

/* A packet of a connection has to come to the address of the connection's path. */
static const char *wrong_address(struct hca *hca, const struct qp *qp, const struct packet *p)
{
	const struct roce_address *own = roce_address_get(hca, qp->path.src_gid_index);
	struct roce_address to = roce_destination(p);

	if (is_datagram(p))
		return roce_group(p) || roce_address_find(hca, &to) ? NULL : "GID";
	if (!own || memcmp(own->gid, to.gid, sizeof(to.gid)))
		return "GID";
	if (own->version != to.version || (own->version == ROCE_V2 && own->l3 != to.l3))
		return "RoCE version";
	return own->vid == to.vid ? NULL : "VLAN";
}

static bool is_own(struct hca *hca, const struct qp *qp, const struct packet *p)
{
	return roce_address_has_mac(hca, roce_hdr(p)->smac) && p->sqpn == qp->obj.num;
}

/**
 * roce_wrong_destination() - tell why a packet is not for a queue pair
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the packet
 *
 * Return: the reason, or NULL.
 */
const char *roce_wrong_destination(struct hca *hca, const struct qp *qp, const struct packet *p)
{
	const char *why = wrong_address(hca, qp, p);

	if (why)
		return why;
	if (qp->block_lb_mc && roce_group(p) && is_own(hca, qp, p))
		return "own multicast";
	if ((p->pkey & PARTITION) == PARTITION)
		return NULL;
	hca->count.bad_pkeys++;
	return "P_Key";
}

/**
 * roce_network_header() - make the network header for a datagram's receive buffer
 * @p: the packet
 * @header: set to the header; an IPv4 header is at its end
 *
 * Return: true.
 */
bool roce_network_header(const struct packet *p, uint8_t header[NETWORK_HEADER_BYTES])
{
	const struct roce_headers *h = roce_hdr(p);

	if (h->kind == ROCE_IP4) {
		memset(header, 0, NETWORK_HEADER_BYTES - IPV4_BYTES);
		memcpy(header + NETWORK_HEADER_BYTES - IPV4_BYTES, h->net, IPV4_BYTES);
	} else {
		memcpy(header, h->net, NETWORK_HEADER_BYTES);
	}
	return true;
}

/**
 * roce_reply() - set the address of a path to where a packet came from
 * @hca: the HCA
 * @p: the packet
 * @path: the path
 */
void roce_reply(struct hca *hca, const struct packet *p, struct qp_path *path)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const struct roce_headers *h = roce_hdr(p);

	(void)hca;
	memcpy(path->rmac, h->smac, sizeof(path->rmac));
	if (h->kind != ROCE_IP4) {
		memcpy(path->dgid, h->net + NET_SIP, sizeof(path->dgid));
		return;
	}
	memcpy(path->dgid, mapped, sizeof(mapped));
	memcpy(path->dgid + sizeof(mapped), h->net + IPV4_SIP, 4);
}

/**
 * roce_to_cqe() - set the fields of a CQE that show the addresses
 * @hca: the HCA
 * @p: the packet
 * @c: the completion; the place of the SL has the kind of network header
 */
void roce_to_cqe(struct hca *hca, const struct packet *p, struct completion *c)
{
	const struct roce_headers *h = roce_hdr(p);

	(void)hca;
	c->grh = true;
	c->sl = h->kind;
	c->vlan = h->vlan;
	c->tci = h->tci;
}
