// SPDX-License-Identifier: GPL-2.0
/*
 * The in-process fabric: a switch with one port for each HCA of the process. It owns
 * LIDs, GUIDs, link state, multicast groups, the packet pool and the ingress queues.
 */
#include <errno.h>
#include <stdlib.h>
#include "fabric.h"
#include "hca_priv.h"

#define MAX_PORTS	256
#define FIRST_LID	1
#define RX_LIMIT	512	/* packets queued at a port before senders hold back */
#define GUID_BASE	0x02b1ebe100000100ull	/* locally administered */

struct mcast {
	LIST_ENTRY(mcast) link;
	uint8_t gid[16];
	uint32_t qpn;
};

struct fabric_port {
	struct hca *hca;
	uint16_t lid;
	bool up;
	struct packet_queue rx;
	unsigned int rx_len;
	unsigned int drop_skip, drop_count;
	void (*wake)(struct hca *hca);
	LIST_HEAD(, mcast) mcast;
};

static struct fabric_port *ports[MAX_PORTS];
static struct packet_queue pool = STAILQ_HEAD_INITIALIZER(pool);
static unsigned int ports_attached;

/**
 * packet_alloc() - take a packet from the pool
 *
 * Return: a packet whose headers are zero and whose payload is not, or NULL.
 */
struct packet *packet_alloc(void)
{
	struct packet *p = STAILQ_FIRST(&pool);

	if (p)
		STAILQ_REMOVE_HEAD(&pool, link);
	else
		p = malloc(sizeof(*p));
	if (p)
		memset(p, 0, offsetof(struct packet, payload));
	return p;
}

/**
 * packet_free() - give a packet back to the pool
 * @p: the packet
 */
void packet_free(struct packet *p)
{
	STAILQ_INSERT_HEAD(&pool, p, link);
}

static void pool_empty(void)
{
	struct packet *p;

	while ((p = STAILQ_FIRST(&pool))) {
		STAILQ_REMOVE_HEAD(&pool, link);
		free(p);
	}
}

static struct fabric_port *port_by_lid(uint16_t lid)
{
	if (lid < FIRST_LID || lid >= FIRST_LID + MAX_PORTS)
		return NULL;
	return ports[lid - FIRST_LID];
}

static void port_drain(struct fabric_port *port)
{
	struct packet *p;

	while ((p = STAILQ_FIRST(&port->rx))) {
		STAILQ_REMOVE_HEAD(&port->rx, link);
		packet_free(p);
	}
	port->rx_len = 0;
}

static int fabric_init(struct hca *hca)
{
	struct fabric_port *port;

	if (hca->index >= MAX_PORTS || ports[hca->index])
		return -ENOSPC;
	port = calloc(1, sizeof(*port));
	if (!port)
		return -ENOMEM;
	port->hca = hca;
	port->lid = FIRST_LID + hca->index;
	port->up = true;
	STAILQ_INIT(&port->rx);
	LIST_INIT(&port->mcast);
	ports[hca->index] = port;
	ports_attached++;
	hca->fabric_port = port;
	return 0;
}

/* The link stays as it is: it belongs to the cable, not to the driver. */
static void fabric_reset(struct hca *hca)
{
	struct fabric_port *port = hca->fabric_port;
	struct mcast *m;

	if (!port)
		return;
	port_drain(port);
	while ((m = LIST_FIRST(&port->mcast))) {
		LIST_REMOVE(m, link);
		free(m);
	}
}

static void fabric_exit(struct hca *hca)
{
	if (!hca->fabric_port)
		return;
	fabric_reset(hca);
	ports[hca->index] = NULL;
	free(hca->fabric_port);
	hca->fabric_port = NULL;
	if (!--ports_attached)
		pool_empty();
}

const struct hca_module fabric_module = {
	.name = "fabric", .init = fabric_init, .reset = fabric_reset, .exit = fabric_exit,
};

/**
 * fabric_lid() - LID of the function's port
 * @hca: the function
 *
 * Return: the LID, 0 while the link is down.
 */
uint16_t fabric_lid(struct hca *hca)
{
	struct fabric_port *port = hca->fabric_port;

	return port->up ? port->lid : 0;
}

/**
 * fabric_guid() - the function's GUID: node, system image and port
 * @hca: the function
 *
 * Return: an EUI-64 that is the same in every run.
 */
uint64_t fabric_guid(struct hca *hca)
{
	return GUID_BASE + hca->index;
}

/**
 * fabric_gid() - GID 0 of the port
 * @hca: the function
 * @gid: the default subnet prefix and the port GUID, in network order
 */
void fabric_gid(struct hca *hca, uint8_t gid[16])
{
	put_be64(gid, 0xfe80000000000000ull);
	put_be64(gid + 8, fabric_guid(hca));
}

/**
 * fabric_link() - whether the port's link is up
 * @hca: the function
 */
bool fabric_link(struct hca *hca)
{
	return ((struct fabric_port *)hca->fabric_port)->up;
}

/**
 * fabric_set_link() - plug or pull the cable
 * @hca: the function
 * @up: new state; packets that are queued when the link goes down are lost
 *
 * Raises no event: port.c, which calls this, does.
 */
void fabric_set_link(struct hca *hca, bool up)
{
	struct fabric_port *port = hca->fabric_port;

	port->up = up;
	if (!up)
		port_drain(port);
}

/**
 * fabric_inject_drop() - lose packets on the way into the port
 * @hca: the receiving function
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
 * @hca: the receiving function
 * @wake: called on every arrival, from within fabric_tx(); must only take note
 */
void fabric_set_wake(struct hca *hca, void (*wake)(struct hca *hca))
{
	((struct fabric_port *)hca->fabric_port)->wake = wake;
}

static bool drop_here(struct fabric_port *port)
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

static void deliver(struct fabric_port *port, struct packet *p)
{
	if (!port || !port->up || drop_here(port)) {
		if (port)
			port->hca->count.packets_dropped++;
		packet_free(p);
		return;
	}
	STAILQ_INSERT_TAIL(&port->rx, p, link);
	port->rx_len++;
	if (port->wake)
		port->wake(port->hca);
}

static bool has_group(const struct fabric_port *port, const uint8_t gid[16])
{
	const struct mcast *m;

	LIST_FOREACH(m, &port->mcast, link)
		if (!memcmp(m->gid, gid, sizeof(m->gid)))
			return true;
	return false;
}

/* Every port with a member gets a copy, the sender's too. */
static void multicast(struct packet *p)
{
	struct packet *copy;
	unsigned int i;

	for (i = 0; i < MAX_PORTS; i++) {
		if (!ports[i] || !has_group(ports[i], p->dgid))
			continue;
		copy = packet_alloc();
		if (!copy)
			break;
		memcpy(copy, p, offsetof(struct packet, payload) + p->len);
		deliver(ports[i], copy);
	}
	packet_free(p);
}

/**
 * fabric_tx() - send a packet
 * @hca: the sending function
 * @p: the packet, which the fabric owns from here; routed by its DLID
 *
 * Packets to a LID that nobody has, over a link that is down, or chosen by an injection are lost
 * without a word, as on a real fabric. Nothing is received before this returns.
 */
void fabric_tx(struct hca *hca, struct packet *p)
{
	struct fabric_port *port = hca->fabric_port;

	hca->count.packets_tx++;
	if (!port->up) {
		hca->count.packets_dropped++;
		packet_free(p);
	} else if (p->dlid >= LID_MCAST_FIRST && p->dlid != LID_PERMISSIVE) {
		multicast(p);
	} else {
		deliver(port_by_lid(p->dlid), p);
	}
}

/**
 * fabric_rx() - take the oldest packet from the port's ingress queue
 * @hca: the receiving function
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
 * fabric_rx_pending() - whether packets wait at the port
 * @hca: the receiving function
 */
bool fabric_rx_pending(struct hca *hca)
{
	return !STAILQ_EMPTY(&((struct fabric_port *)hca->fabric_port)->rx);
}

/**
 * fabric_can_tx() - link-level flow control
 * @hca: the sending function
 * @dlid: destination
 *
 * InfiniBand links are lossless because a sender without credits waits; so do ours. A sender that
 * is refused tries again in its next turn.
 *
 * Return: false while the destination's queue is full.
 */
bool fabric_can_tx(struct hca *hca, uint16_t dlid)
{
	const struct fabric_port *port = port_by_lid(dlid);

	(void)hca;
	return !port || port->rx_len < RX_LIMIT;
}

/**
 * fabric_mcast_attach() - join a queue pair to a multicast group
 * @hca: the function
 * @gid: the group
 * @qpn: the queue pair
 *
 * Implements what ATTACH_TO_MCG asks of the port.
 *
 * Return: 0, -EEXIST or -ENOMEM.
 */
int fabric_mcast_attach(struct hca *hca, const uint8_t gid[16], uint32_t qpn)
{
	struct fabric_port *port = hca->fabric_port;
	struct mcast *m;

	LIST_FOREACH(m, &port->mcast, link)
		if (m->qpn == qpn && !memcmp(m->gid, gid, sizeof(m->gid)))
			return -EEXIST;
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	memcpy(m->gid, gid, sizeof(m->gid));
	m->qpn = qpn;
	LIST_INSERT_HEAD(&port->mcast, m, link);
	return 0;
}

/**
 * fabric_mcast_detach() - take a queue pair out of a multicast group
 * @hca: the function
 * @gid: the group
 * @qpn: the queue pair
 *
 * Return: 0, or -ENOENT if it was not in it.
 */
int fabric_mcast_detach(struct hca *hca, const uint8_t gid[16], uint32_t qpn)
{
	struct fabric_port *port = hca->fabric_port;
	struct mcast *m;

	LIST_FOREACH(m, &port->mcast, link)
		if (m->qpn == qpn && !memcmp(m->gid, gid, sizeof(m->gid))) {
			LIST_REMOVE(m, link);
			free(m);
			return 0;
		}
	return -ENOENT;
}

/**
 * fabric_mcast_forget() - take a queue pair out of every group
 * @hca: the function
 * @qpn: the queue pair, which is about to be destroyed
 */
void fabric_mcast_forget(struct hca *hca, uint32_t qpn)
{
	struct fabric_port *port = hca->fabric_port;
	struct mcast *m, *next;

	for (m = LIST_FIRST(&port->mcast); m; m = next) {
		next = LIST_NEXT(m, link);
		if (m->qpn != qpn)
			continue;
		LIST_REMOVE(m, link);
		free(m);
	}
}

/**
 * fabric_mcast_each() - call a function for every member of a group at this port
 * @hca: the function
 * @gid: the group
 * @fn: called with the number of each queue pair; may not change the group
 * @arg: passed on
 */
void fabric_mcast_each(struct hca *hca, const uint8_t gid[16],
		       void (*fn)(struct hca *hca, uint32_t qpn, void *arg), void *arg)
{
	struct fabric_port *port = hca->fabric_port;
	struct mcast *m, *next;

	for (m = LIST_FIRST(&port->mcast); m; m = next) {
		next = LIST_NEXT(m, link);
		if (!memcmp(m->gid, gid, sizeof(m->gid)))
			fn(hca, m->qpn, arg);
	}
}
