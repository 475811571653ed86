// SPDX-License-Identifier: GPL-2.0
/*
 * The in-process fabric: a switch with one port for each HCA of the process. It owns LIDs, GUIDs,
 * link states, the packet pool and the ingress queues of the ports.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "fabric.h"
#include "hca.h"
#include "mcast.h"
#include "packet.h"
#include "profile.h"

#define MAX_PORTS	256
#define FIRST_LID	1
#define RX_LIMIT	512	/* packets queued at a port before senders have to wait */
#define GUID_BASE	0x02b1ebe100000100ull	/* locally administered */

struct fabric_port {
	struct hca *hca;
	uint16_t lid;
	bool up;
	struct packet_queue rx;
	unsigned int rx_len;
	unsigned int drop_skip, drop_count;
	void (*wake)(struct hca *hca);
};

struct fabric {
	struct fabric_port *ports[MAX_PORTS];	/* by the index of the HCA */
	struct fabric_port *by_lid[LID_MCAST_FIRST];
	struct packet_queue pool;		/* packets for reuse */
};

/**
 * fabric_new() - make a fabric without ports
 *
 * Return: the fabric, or NULL if memory is short.
 */
struct fabric *fabric_new(void)
{
	struct fabric *f = calloc(1, sizeof(*f));

	if (f)
		STAILQ_INIT(&f->pool);
	return f;
}

/**
 * fabric_free() - free a fabric
 * @f: the fabric, which no HCA uses any more; or NULL
 */
void fabric_free(struct fabric *f)
{
	struct packet *p;

	while (f && (p = STAILQ_FIRST(&f->pool))) {
		STAILQ_REMOVE_HEAD(&f->pool, link);
		free(p);
	}
	free(f);
}

/**
 * packet_alloc() - take a packet from the pool
 * @f: the fabric
 *
 * Return: a packet whose headers are zero and whose payload is not, or NULL.
 */
struct packet *packet_alloc(struct fabric *f)
{
	struct packet *p = STAILQ_FIRST(&f->pool);

	if (p)
		STAILQ_REMOVE_HEAD(&f->pool, link);
	else
		p = malloc(sizeof(*p));
	if (p)
		memset(p, 0, offsetof(struct packet, payload));
	return p;
}

/**
 * packet_free() - give a packet back to the pool
 * @f: the fabric
 * @p: the packet
 */
void packet_free(struct fabric *f, struct packet *p)
{
	STAILQ_INSERT_HEAD(&f->pool, p, link);
}

static struct fabric_port *fabric_port_by_lid(struct fabric *f, uint16_t lid)
{
	return lid < LID_MCAST_FIRST ? f->by_lid[lid] : NULL;
}

static void fabric_port_drain(struct fabric_port *port)
{
	struct packet *p;

	while ((p = STAILQ_FIRST(&port->rx))) {
		STAILQ_REMOVE_HEAD(&port->rx, link);
		packet_free(port->hca->fabric, p);
	}
	port->rx_len = 0;
}

static int fabric_init(struct hca *hca)
{
	struct fabric_port *port;

	if (hca->index >= MAX_PORTS || hca->fabric->ports[hca->index] ||
	    hca->fabric->by_lid[FIRST_LID + hca->index])
		return -ENOSPC;
	port = calloc(1, sizeof(*port));
	if (!port)
		return -ENOMEM;
	port->hca = hca;
	port->lid = FIRST_LID + hca->index;
	port->up = true;
	STAILQ_INIT(&port->rx);
	hca->fabric->ports[hca->index] = port;
	hca->fabric->by_lid[port->lid] = port;
	hca->fabric_port = port;
	return 0;
}

/* The state of the link is kept: it belongs to the cable, not to the driver. */
static void fabric_reset(struct hca *hca)
{
	struct fabric_port *port = hca->fabric_port;

	if (port)
		fabric_port_drain(port);
}

static void fabric_exit(struct hca *hca)
{
	if (!hca->fabric_port)
		return;
	fabric_reset(hca);
	hca->fabric->ports[hca->index] = NULL;
	hca->fabric->by_lid[hca->fabric_port->lid] = NULL;
	free(hca->fabric_port);
	hca->fabric_port = NULL;
}

const struct hca_module fabric_module = {
	.name = "fabric", .init = fabric_init, .reset = fabric_reset, .exit = fabric_exit,
};

/**
 * fabric_lid() - LID of the HCA's port
 * @hca: the HCA
 *
 * Return: the LID, 0 while the link is down.
 */
uint16_t fabric_lid(struct hca *hca)
{
	struct fabric_port *port = hca->fabric_port;

	return port->up ? port->lid : 0;
}

/**
 * fabric_set_lid() - give the port another LID, as a subnet manager does
 * @hca: the HCA
 * @lid: the LID
 *
 * Raises no event; port_set_lid() does.
 *
 * Return: false if the LID is that of another port, or no unicast LID.
 */
bool fabric_set_lid(struct hca *hca, uint16_t lid)
{
	struct fabric *f = hca->fabric;

	if (!lid || lid >= LID_MCAST_FIRST || (f->by_lid[lid] && f->by_lid[lid]->hca != hca))
		return false;
	f->by_lid[hca->fabric_port->lid] = NULL;
	f->by_lid[lid] = hca->fabric_port;
	hca->fabric_port->lid = lid;
	return true;
}

/**
 * fabric_guid() - GUID of the HCA: node, system image and port
 * @hca: the HCA
 *
 * Return: an EUI-64 that is the same in every run.
 */
uint64_t fabric_guid(struct hca *hca)
{
	return GUID_BASE + hca->index;
}

/**
 * fabric_link() - tell whether the port's link is up
 * @hca: the HCA
 */
bool fabric_link(struct hca *hca)
{
	return hca->fabric_port->up;
}

/**
 * fabric_set_link() - change the state of the link
 * @hca: the HCA
 * @up: new state; packets that are queued when the link goes down are lost
 *
 * Raises no event; port_set_link() does.
 */
void fabric_set_link(struct hca *hca, bool up)
{
	struct fabric_port *port = hca->fabric_port;

	port->up = up;
	if (!up)
		fabric_port_drain(port);
}

/**
 * fabric_inject_drop() - drop packets that arrive at the port
 * @hca: the receiving HCA
 * @skip: packets that still pass
 * @count: packets that are dropped after those
 */
void fabric_inject_drop(struct hca *hca, unsigned int skip, unsigned int count)
{
	struct fabric_port *port = hca->fabric_port;

	port->drop_skip = skip;
	port->drop_count = count;
}

/**
 * fabric_set_wake() - say whom to tell when packets arrive at a port
 * @hca: the receiving HCA
 * @wake: called on each arrival, from within fabric_tx(); may only schedule work
 */
void fabric_set_wake(struct hca *hca, void (*wake)(struct hca *hca))
{
	hca->fabric_port->wake = wake;
}

static bool fabric_port_drops(struct fabric_port *port)
{
	if (!port->drop_count)
		return false;
	if (port->drop_skip) {
		port->drop_skip--;
		return false;
	}
	port->drop_count--;
	return true;
}

static void fabric_deliver(struct fabric *f, struct fabric_port *port, struct packet *p)
{
	if (!port || !port->up || p->len > port->hca->profile->mtu || fabric_port_drops(port)) {
		if (port)
			port->hca->count.packets_dropped++;
		packet_free(f, p);
		return;
	}
	STAILQ_INSERT_TAIL(&port->rx, p, link);
	port->rx_len++;
	if (port->wake)
		port->wake(port->hca);
}

/* Give a copy to each port with a member, also to the sender's. */
static void fabric_multicast(struct fabric *f, struct packet *p)
{
	struct packet *copy;
	unsigned int i;

	for (i = 0; i < MAX_PORTS; i++) {
		if (!f->ports[i] || !mcast_has_group(f->ports[i]->hca, p->dgid))
			continue;
		copy = packet_alloc(f);
		if (!copy)
			break;
		memcpy(copy, p, offsetof(struct packet, payload) + p->len);
		fabric_deliver(f, f->ports[i], copy);
	}
	packet_free(f, p);
}

/**
 * fabric_tx() - send a packet
 * @hca: the sending HCA
 * @p: the packet, which the fabric owns from here; routed by its DLID
 *
 * Packets to an unknown LID, over a link that is down, longer than the MTU of the destination's
 * port, or selected by an injection are dropped silently, as on a real fabric. Nothing is received before this returns.
 */
void fabric_tx(struct hca *hca, struct packet *p)
{
	struct fabric_port *port = hca->fabric_port;

	hca->count.packets_tx++;
	if (!port->up) {
		hca->count.packets_dropped++;
		packet_free(hca->fabric, p);
	} else if (lid_is_mcast(p->dlid)) {
		fabric_multicast(hca->fabric, p);
	} else {
		fabric_deliver(hca->fabric, fabric_port_by_lid(hca->fabric, p->dlid), p);
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
	struct fabric_port *port = hca->fabric_port;
	struct packet *p = STAILQ_FIRST(&port->rx);

	if (!p)
		return NULL;
	STAILQ_REMOVE_HEAD(&port->rx, link);
	port->rx_len--;
	hca->count.packets_rx++;
	return p;
}

/**
 * fabric_rx_pending() - tell whether packets are queued at the port
 * @hca: the receiving HCA
 */
bool fabric_rx_pending(struct hca *hca)
{
	return !STAILQ_EMPTY(&hca->fabric_port->rx);
}

static bool fabric_members_can_rx(const struct fabric *f, const uint8_t *dgid)
{
	unsigned int i;

	for (i = 0; i < MAX_PORTS; i++)
		if (f->ports[i] && f->ports[i]->rx_len >= RX_LIMIT &&
		    mcast_has_group(f->ports[i]->hca, dgid))
			return false;
	return true;
}

/**
 * fabric_can_tx() - link-level flow control
 * @hca: the sending HCA
 * @dlid: destination
 * @dgid: multicast group, if the destination is a multicast LID
 *
 * InfiniBand links are lossless, because a sender without credits waits. A sender that is refused
 * here tries again in its next turn.
 *
 * Return: false while the queue of the destination, or of a member of the group, is full.
 */
bool fabric_can_tx(struct hca *hca, uint16_t dlid, const uint8_t *dgid)
{
	const struct fabric_port *port;

	if (lid_is_mcast(dlid))
		return fabric_members_can_rx(hca->fabric, dgid);
	port = fabric_port_by_lid(hca->fabric, dlid);
	return !port || port->rx_len < RX_LIMIT;
}
