// SPDX-License-Identifier: GPL-2.0
/*
 * The switch: it forwards packets by its tables, to the inboxes of the HCAs' ports and of its own
 * port 0.
 */
#include "fabric.h"
#include "fabric_priv.h"
#include "forward.h"
#include "hca.h"
#include "ib_packet.h"
#include "mcast.h"
#include "packet.h"

/*
 * Send a packet that came by port @from of the switch over the switch's link with @port, or drop it
 * if @port is NULL.
 */
static void fabric_forward_to(struct fabric *f, unsigned int from, struct fabric_port *port,
			      struct packet *p)
{
	if (!port) {
		packet_free(f, p);
	} else if (!packet_choose_lane(p, port->far_sl_to_vl)) {
		port->hca->count.packets_dropped++;
		packet_free(f, p);
	} else {
		fabric_deliver(f, from, port, &p->head);
	}
}

/*
 * The ports that receive a multicast packet: the members in the table, and the port of the sender
 * if queue pairs of the sender are attached to the group.
 */
static uint64_t fabric_members(const struct fabric *f, uint16_t mlid, const uint8_t *dgid,
			       unsigned int from)
{
	uint64_t own = 1ull << from;
	uint64_t members = forward_multicast(&f->forward, from, mlid) & ~own & ~1ull;

	return members | (from && mcast_has_group(f->ports[from]->hca, dgid) ? own : 0);
}

static void fabric_multicast(struct fabric *f, unsigned int from, struct packet *p)
{
	uint64_t members = fabric_members(f, ib_hdr(p)->dlid, ib_hdr(p)->dgid, from);
	struct packet *copy;
	unsigned int i;

	if (!from && members)
		fabric_record(f, &p->head);
	for (i = 1; i <= SWITCH_PORTS; i++) {
		if (!(members >> i & 1) || !f->ports[i])
			continue;
		copy = packet_copy(f, p);
		if (!copy)
			break;
		fabric_forward_to(f, from, f->ports[i], copy);
	}
	packet_free(f, p);
}

/*
 * A packet to the switch is for the switch's agents. Subnet management packets have a virtual lane
 * without flow control, so they are lost when the queue of the sender's port is full. Senders of
 * other packets have asked fabric_can_tx().
 */
static void fabric_to_agent(struct fabric *f, unsigned int from, struct packet *p)
{
	if (!f->agent || (packet_is_smp(p) && fabric_agent_full(f, from))) {
		packet_free(f, p);
		return;
	}
	p->head.by = from;
	atomic_fetch_add(&f->for_agent[from], 1);
	inbox_put(&f->in, &p->head);		/* this inbox is never closed */
	bell_ring(&f->in.bell);
}

/**
 * fabric_route() - forward a packet by the switch's tables
 * @f: the fabric
 * @from: port of the switch by which the packet came, 0 for a packet that the switch sends
 * @p: the packet, which the fabric owns from here
 */
void fabric_route(struct fabric *f, unsigned int from, struct packet *p)
{
	uint8_t to = forward_unicast(&f->forward, ib_hdr(p)->dlid);

	if (lid_is_mcast(ib_hdr(p)->dlid))
		fabric_multicast(f, from, p);
	else if (!from)
		fabric_send(f, to, p);
	else if (!to || ib_hdr(p)->dlid == LID_PERMISSIVE)
		fabric_to_agent(f, from, p);
	else
		fabric_forward_to(f, from, fabric_port_at(f, to), p);
}

/**
 * fabric_send() - send a packet by a port of the switch, without the tables
 * @f: the fabric
 * @port: number of the port
 * @p: the packet, which the fabric owns from here
 */
void fabric_send(struct fabric *f, unsigned int port, struct packet *p)
{
	struct fabric_port *to = fabric_port_at(f, port);

	if (to && fabric_port_open(to, p) && packet_choose_lane(p, to->far_sl_to_vl))
		fabric_record(f, &p->head);
	fabric_forward_to(f, 0, to, p);
}

/**
 * fabric_tx() - send a packet
 * @hca: the sending HCA
 * @p: the packet, which the fabric owns from here; routed by its DLID
 *
 * A packet is dropped silently, as on a real fabric, if its LID is unknown, a link is not active,
 * the packet is longer than the MTU of a port by which it leaves or arrives, its service level has
 * no virtual lane at a port by which it leaves, or an injection selects it. Otherwise it meets the
 * impairments of the destination's link.
 * No packet is received before this returns. The receiver processes the packet in its own thread.
 */
void fabric_tx(struct hca *hca, struct packet *p)
{
	struct fabric_port *port = hca->fabric_port;

	fabric_count(hca, p, true);
	if (!fabric_port_open(port, p) || p->head.len > port->mtu ||
	    !packet_choose_lane(p, port->sl_to_vl)) {
		hca->count.packets_dropped++;
		packet_free(hca->fabric, p);
	} else {
		fabric_record(hca->fabric, &p->head);
		fabric_route(hca->fabric, fabric_port_number(hca), p);
	}
}

/**
 * fabric_rx() - take the oldest packet from the port's ingress queue
 * @hca: the receiving HCA
 *
 * Return: the packet, which the caller frees, or NULL.
 */
struct packet *fabric_rx(struct hca *hca)
{
	struct packet *p = packet_of(fabric_take(hca));

	if (p)
		fabric_count(hca, p, false);
	return p;
}

/* ---- flow control ---------------------------------------------------------------------------- */

static bool fabric_members_can_rx(struct hca *hca, uint64_t members)
{
	unsigned int i;

	for (i = 1; i <= SWITCH_PORTS; i++)
		if ((members >> i & 1) && fabric_waits(hca, i))
			return false;
	return true;
}

/**
 * fabric_can_tx() - link-level flow control
 * @hca: the sending HCA
 * @dlid: destination
 * @dgid: multicast group, if the destination is a multicast LID
 *
 * InfiniBand links are lossless, because a sender without credits waits. A sender to which this
 * returns false is woken when half of the queue is free, and asks again.
 *
 * Return: false while the queue of the destination, or of a member of the group, is full; if the
 * destination is the switch, while the sender's queue at the switch or the ingress queue of the
 * sender's own port is full.
 */
bool fabric_can_tx(struct hca *hca, uint16_t dlid, const uint8_t *dgid)
{
	unsigned int from = fabric_port_number(hca);
	struct fabric *f = hca->fabric;
	uint8_t to;

	if (lid_is_mcast(dlid))
		return fabric_members_can_rx(hca, fabric_members(f, dlid, dgid, from));
	to = forward_unicast(&f->forward, dlid);
	/* The switch will answer, so the sender's own port needs room, too. */
	return !fabric_waits(hca, to) && (to || !fabric_waits(hca, from));
}
