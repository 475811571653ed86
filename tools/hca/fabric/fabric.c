// SPDX-License-Identifier: GPL-2.0
/*
 * The in-process fabric: a switch with one port for each HCA of the process. It owns LIDs, GUIDs,
 * the states of the links, the packet pool and the ingress queues of the ports, and forwards
 * packets by the switch's tables.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "capture.h"
#include "fabric.h"
#include "forward.h"
#include "hca.h"
#include "impair.h"
#include "mcast.h"
#include "packet.h"
#include "profile.h"

#define FIRST_LID	1
#define RX_LIMIT	512	/* packets queued at a port before senders have to wait */
#define GUID_BASE	0x02b1ebe100000100ull	/* locally administered */

struct fabric_port {
	struct hca *hca;
	uint16_t lid;
	uint8_t lmc;
	bool up;
	enum port_state state;		/* at the HCA's end of the link */
	enum port_state far_state;	/* at the switch's end */
	struct packet_queue rx;
	unsigned int rx_len;
	unsigned int drop_skip, drop_count;
	struct impair *impair;		/* of the link, in the direction to the HCA */
	void (*wake)(struct hca *hca);
};

struct fabric {
	struct fabric_port *ports[SWITCH_PORTS + 1];	/* by the number of the switch's port */
	struct forward forward;
	bool unmanaged;				/* ports wait for a subnet manager */
	const struct fabric_agent *agent;	/* at the switch's port 0, or NULL */
	void *agent_arg;
	struct capture *capture;		/* of all links, or NULL */
	struct packet_queue pool;		/* packets for reuse */
};

/**
 * fabric_new() - make a fabric without ports
 *
 * The links of its ports become active at once, and the ports have LIDs, as if a subnet manager had
 * configured them.
 *
 * Return: the fabric, or NULL if memory is short.
 */
struct fabric *fabric_new(void)
{
	struct fabric *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	STAILQ_INIT(&f->pool);
	forward_init(&f->forward);
	f->forward.port[SWITCH_LID] = 0;
	return f;
}

/**
 * fabric_leave_unmanaged() - let the ports wait for a subnet manager that comes by packets
 * @f: the fabric, which no HCA has joined
 *
 * Ports have no LID then, and the switch forwards nothing.
 */
void fabric_leave_unmanaged(struct fabric *f)
{
	f->unmanaged = true;
	forward_init(&f->forward);
}

/**
 * fabric_managed() - tell whether the fabric itself has a subnet manager
 * @f: the fabric
 */
bool fabric_managed(const struct fabric *f)
{
	return !f->unmanaged;
}

/**
 * fabric_forward() - the switch's forwarding tables
 * @f: the fabric
 *
 * Return: the tables, which its agents may change.
 */
struct forward *fabric_forward(struct fabric *f)
{
	return &f->forward;
}

/**
 * fabric_set_agent() - say who receives what is sent to the switch itself
 * @f: the fabric
 * @agent: its functions
 * @arg: passed to them
 */
void fabric_set_agent(struct fabric *f, const struct fabric_agent *agent, void *arg)
{
	f->agent = agent;
	f->agent_arg = arg;
}

/**
 * fabric_set_capture() - record every packet from now on
 * @f: the fabric
 * @c: the capture, which the fabric closes at its end
 *
 * A packet is recorded once, as the port of its sender transmits it on its link.
 */
void fabric_set_capture(struct fabric *f, struct capture *c)
{
	f->capture = c;
}

/**
 * fabric_capture() - the capture of the fabric
 * @f: the fabric
 *
 * Return: the capture, or NULL.
 */
struct capture *fabric_capture(const struct fabric *f)
{
	return f->capture;
}

/**
 * fabric_free() - free a fabric
 * @f: the fabric, which no HCA uses any more; or NULL
 */
void fabric_free(struct fabric *f)
{
	struct packet *p;

	if (f && f->agent)
		f->agent->free(f->agent_arg);
	while (f && (p = STAILQ_FIRST(&f->pool))) {
		STAILQ_REMOVE_HEAD(&f->pool, link);
		free(p);
	}
	if (f)
		capture_close(f->capture);
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
 * packet_copy() - copy a packet
 * @f: the fabric
 * @p: the packet
 *
 * Return: the copy, or NULL.
 */
struct packet *packet_copy(struct fabric *f, const struct packet *p)
{
	struct packet *copy = packet_alloc(f);

	if (copy)
		memcpy(copy, p, offsetof(struct packet, payload) + p->len);
	return copy;
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

static void fabric_port_drain(struct fabric_port *port)
{
	struct packet *p;

	impair_drain(port->impair);
	while ((p = STAILQ_FIRST(&port->rx))) {
		STAILQ_REMOVE_HEAD(&port->rx, link);
		packet_free(port->hca->fabric, p);
	}
	port->rx_len = 0;
}

static void fabric_port_changed(struct fabric *f, unsigned int port)
{
	if (f->agent)
		f->agent->port_changed(f->agent_arg, port);
}

/* Both ends of a link that is up are initialized. A subnet manager then makes them active. */
static void fabric_port_train(struct fabric *f, struct fabric_port *port)
{
	enum port_state s = !port->up ? PORT_DOWN : f->unmanaged ? PORT_INIT : PORT_ACTIVE;

	port->state = s;
	port->far_state = s;
}

static void fabric_arrive(struct hca *hca, struct packet *p);

static int fabric_init(struct hca *hca)
{
	struct fabric *f = hca->fabric;
	unsigned int n = fabric_port_number(hca);
	struct fabric_port *port;

	if (n > SWITCH_PORTS || f->ports[n] ||
	    (!f->unmanaged && f->forward.port[FIRST_LID + hca->index] != FORWARD_DROP))
		return -ENOSPC;
	port = calloc(1, sizeof(*port));
	if (!port)
		return -ENOMEM;
	port->impair = impair_new(hca, fabric_arrive);
	if (!port->impair) {
		free(port);
		return -ENOMEM;
	}
	port->hca = hca;
	port->up = true;
	STAILQ_INIT(&port->rx);
	fabric_port_train(f, port);
	f->ports[n] = port;
	hca->fabric_port = port;
	if (!f->unmanaged)
		fabric_set_lid(hca, FIRST_LID + hca->index);
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
	if (!hca->fabric->unmanaged)
		hca->fabric->forward.port[hca->fabric_port->lid] = FORWARD_DROP;
	hca->fabric->ports[fabric_port_number(hca)] = NULL;
	impair_free(hca->fabric_port->impair);
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
 * Without a subnet manager in the fabric, only the port changes: the switch forwards by the tables
 * that another subnet manager writes. Raises no event; port_set_lid() does.
 *
 * Return: false if the LID is that of another port, or no unicast LID.
 */
bool fabric_set_lid(struct hca *hca, uint16_t lid)
{
	struct fabric *f = hca->fabric;
	struct fabric_port *port = hca->fabric_port;
	unsigned int n = fabric_port_number(hca);

	if (!lid || lid >= LID_MCAST_FIRST)
		return false;
	if (!f->unmanaged && f->forward.port[lid] != FORWARD_DROP && f->forward.port[lid] != n)
		return false;
	if (!f->unmanaged) {
		f->forward.port[port->lid] = FORWARD_DROP;
		f->forward.port[lid] = n;
	}
	port->lid = lid;
	return true;
}

/**
 * fabric_lmc() - how many low bits of a LID the port ignores
 * @hca: the HCA
 */
uint8_t fabric_lmc(struct hca *hca)
{
	return hca->fabric_port->lmc;
}

/**
 * fabric_set_lmc() - set how many low bits of a LID the port ignores
 * @hca: the HCA
 * @lmc: 0 to 7
 */
void fabric_set_lmc(struct hca *hca, uint8_t lmc)
{
	hca->fabric_port->lmc = lmc;
}

/**
 * fabric_port_number() - number of the switch's port that the HCA's port is linked with
 * @hca: the HCA
 */
unsigned int fabric_port_number(const struct hca *hca)
{
	return hca->index + 1;
}

/**
 * fabric_peer() - the HCA at the other end of a link of the switch
 * @f: the fabric
 * @port: number of the switch's port
 *
 * Return: the HCA, or NULL if there is none.
 */
struct hca *fabric_peer(const struct fabric *f, unsigned int port)
{
	return port && port <= SWITCH_PORTS && f->ports[port] ? f->ports[port]->hca : NULL;
}

/**
 * fabric_state() - state of the port
 * @hca: the HCA
 * @far: of the switch's port that it is linked with
 */
enum port_state fabric_state(struct hca *hca, bool far)
{
	return far ? hca->fabric_port->far_state : hca->fabric_port->state;
}

/**
 * fabric_set_state() - change the state of a port whose link is up, as a subnet manager does
 * @hca: the HCA
 * @far: that of the switch's port that it is linked with
 * @state: the new state, not PORT_DOWN
 *
 * Raises no event; port_set_state() does.
 */
void fabric_set_state(struct hca *hca, bool far, enum port_state state)
{
	*(far ? &hca->fabric_port->far_state : &hca->fabric_port->state) = state;
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
 * @up: new state; packets that are queued or held back when the link goes down are lost
 *
 * Raises no event; port_set_link() does.
 */
void fabric_set_link(struct hca *hca, bool up)
{
	struct fabric_port *port = hca->fabric_port;

	port->up = up;
	fabric_port_train(hca->fabric, port);
	if (!up)
		fabric_port_drain(port);
	fabric_port_changed(hca->fabric, fabric_port_number(hca));
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
 * fabric_impair() - the impairments of the link, in the direction to the HCA
 * @hca: the HCA
 */
struct impair *fabric_impair(struct hca *hca)
{
	return hca->fabric_port->impair;
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

/* Subnet management packets use a virtual lane of their own, which is open in every state. */
static bool fabric_port_open(const struct fabric_port *port, const struct packet *p)
{
	return port->up && (packet_is_smp(p) || (port->state == PORT_ACTIVE &&
						 port->far_state == PORT_ACTIVE));
}

static bool fabric_port_has_lid(const struct fabric_port *port, uint16_t dlid)
{
	return dlid == LID_PERMISSIVE || lid_is_mcast(dlid) ||
	       dlid >> port->lmc == port->lid >> port->lmc;
}

static void fabric_record(struct fabric *f, const struct packet *p)
{
	if (f->capture)
		capture_packet(f->capture, p);
}

/* The port checks a packet when it arrives, which may be later than it was sent. */
static void fabric_arrive(struct hca *hca, struct packet *p)
{
	struct fabric_port *port = hca->fabric_port;

	if (!fabric_port_open(port, p) || !fabric_port_has_lid(port, p->dlid) ||
	    p->len > hca->profile->mtu || fabric_port_drops(port)) {
		hca->count.packets_dropped++;
		packet_free(hca->fabric, p);
		return;
	}
	STAILQ_INSERT_TAIL(&port->rx, p, link);
	port->rx_len++;
	if (port->wake)
		port->wake(hca);
}

static void fabric_deliver(struct fabric *f, struct fabric_port *port, struct packet *p)
{
	if (!port)
		packet_free(f, p);
	else if (!port->up)
		fabric_arrive(port->hca, p);	/* where it is dropped */
	else
		impair_packet(port->impair, p);
}

/* The ports that receive a multicast packet: those of the table, and the sender's own members. */
static uint64_t fabric_members(const struct fabric *f, uint16_t mlid, const uint8_t *dgid,
			       unsigned int from)
{
	uint64_t own = 1ull << from;
	uint64_t members = forward_multicast(&f->forward, mlid) & ~own & ~1ull;

	return members | (from && mcast_has_group(f->ports[from]->hca, dgid) ? own : 0);
}

static void fabric_multicast(struct fabric *f, unsigned int from, struct packet *p)
{
	uint64_t members = fabric_members(f, p->dlid, p->dgid, from);
	struct packet *copy;
	unsigned int i;

	if (!from && members)
		fabric_record(f, p);
	for (i = 1; i <= SWITCH_PORTS; i++) {
		if (!(members >> i & 1) || !f->ports[i])
			continue;
		copy = packet_copy(f, p);
		if (!copy)
			break;
		fabric_deliver(f, f->ports[i], copy);
	}
	packet_free(f, p);
}

/* What is sent to the switch is for its agents, who copy what they keep. */
static void fabric_to_agent(struct fabric *f, unsigned int from, struct packet *p)
{
	if (f->agent)
		f->agent->receive(f->agent_arg, from, p);
	packet_free(f, p);
}

static struct fabric_port *fabric_port_at(struct fabric *f, unsigned int port)
{
	return port <= SWITCH_PORTS ? f->ports[port] : NULL;
}

/**
 * fabric_route() - forward a packet by the switch's tables
 * @f: the fabric
 * @from: port of the switch that it came by, 0 for one that the switch sends
 * @p: the packet, which the fabric owns from here
 */
void fabric_route(struct fabric *f, unsigned int from, struct packet *p)
{
	uint8_t to = forward_unicast(&f->forward, p->dlid);

	if (lid_is_mcast(p->dlid))
		fabric_multicast(f, from, p);
	else if (!from)
		fabric_send(f, to, p);
	else if (!to || p->dlid == LID_PERMISSIVE)
		fabric_to_agent(f, from, p);
	else
		fabric_deliver(f, fabric_port_at(f, to), p);
}

/**
 * fabric_send() - send a packet by a port of the switch, whatever its tables are
 * @f: the fabric
 * @port: number of the port
 * @p: the packet, which the fabric owns from here
 */
void fabric_send(struct fabric *f, unsigned int port, struct packet *p)
{
	struct fabric_port *to = fabric_port_at(f, port);

	if (to && fabric_port_open(to, p))
		fabric_record(f, p);
	fabric_deliver(f, to, p);
}

/**
 * fabric_busy() - tell whether a port's queue is so full that senders have to wait
 * @f: the fabric
 * @port: number of the switch's port
 */
bool fabric_busy(struct fabric *f, unsigned int port)
{
	struct fabric_port *to = fabric_port_at(f, port);

	return to && to->rx_len + impair_held(to->impair) >= RX_LIMIT;
}

/**
 * fabric_tx() - send a packet
 * @hca: the sending HCA
 * @p: the packet, which the fabric owns from here; routed by its DLID
 *
 * Packets to an unknown LID, over a link that is not active, longer than the MTU of the
 * destination's port, or selected by an injection are dropped silently, as on a real fabric. The
 * impairments of the destination's link apply to the others.
 * Nothing is received before this returns.
 */
void fabric_tx(struct hca *hca, struct packet *p)
{
	struct fabric_port *port = hca->fabric_port;

	hca->count.packets_tx++;
	if (!fabric_port_open(port, p)) {
		hca->count.packets_dropped++;
		packet_free(hca->fabric, p);
	} else {
		fabric_record(hca->fabric, p);
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

static bool fabric_members_can_rx(struct fabric *f, uint64_t members)
{
	unsigned int i;

	for (i = 1; i <= SWITCH_PORTS; i++)
		if ((members >> i & 1) && fabric_busy(f, i))
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
 * Return: false while the queue of the destination, or of a member of the group, is full, or that
 * of the sender if the destination is the switch.
 */
bool fabric_can_tx(struct hca *hca, uint16_t dlid, const uint8_t *dgid)
{
	unsigned int from = fabric_port_number(hca);
	struct fabric *f = hca->fabric;
	uint8_t to;

	if (lid_is_mcast(dlid))
		return fabric_members_can_rx(f, fabric_members(f, dlid, dgid, from));
	/* The switch's answers come back to the sender. */
	to = forward_unicast(&f->forward, dlid);
	return !fabric_busy(f, to ? to : from);
}
