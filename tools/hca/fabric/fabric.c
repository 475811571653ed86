// SPDX-License-Identifier: GPL-2.0
/*
 * The in-process fabric: a switch with one port for each HCA of the process. It forwards packets by
 * its tables, to the inboxes of the ports and to that of its own port 0.
 */
#include <stdlib.h>

#include "capture.h"
#include "fabric.h"
#include "fabric_priv.h"
#include "forward.h"
#include "hca.h"
#include "mcast.h"
#include "packet.h"

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
	pthread_mutex_init(&f->pool_lock, NULL);
	pthread_mutex_init(&f->lid_lock, NULL);
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
	struct packet_queue left;
	struct packet *p;
	bool closed;

	if (!f)
		return;
	if (f->agent) {
		f->agent->free(f->agent_arg);
		inbox_take(&f->in, &left, &closed);
		STAILQ_CONCAT(&f->pool, &left);
		inbox_exit(&f->in);
	}
	while ((p = STAILQ_FIRST(&f->pool))) {
		STAILQ_REMOVE_HEAD(&f->pool, link);
		free(p);
	}
	capture_close(f->capture);
	pthread_mutex_destroy(&f->lid_lock);
	pthread_mutex_destroy(&f->pool_lock);
	free(f);
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
 * fabric_move_lid() - let the switch forward packets to another LID to a port
 * @f: the fabric
 * @port: number of the switch's port, 0 for the switch itself
 * @from: the LID that the port had, 0 for none
 * @to: the LID that it gets
 *
 * May be called by any thread.
 *
 * Return: false if that LID is another port's.
 */
bool fabric_move_lid(struct fabric *f, unsigned int port, uint16_t from, uint16_t to)
{
	bool is_free;

	pthread_mutex_lock(&f->lid_lock);
	is_free = f->forward.port[to] == FORWARD_DROP || f->forward.port[to] == port;
	if (is_free && from != to) {
		f->forward.port[to] = port;
		f->forward.port[from] = FORWARD_DROP;
	}
	pthread_mutex_unlock(&f->lid_lock);
	return is_free;
}

/* ---- the switch's port 0 --------------------------------------------------------------------- */

/* Let the agent know of links that changed, in the thread of the switch. */
static void fabric_tell_agent(struct fabric *f)
{
	uint64_t changed = atomic_exchange(&f->changed, 0), down = atomic_exchange(&f->down, 0);
	unsigned int i;

	for (i = 1; i <= SWITCH_PORTS; i++) {
		uint64_t bit = 1ull << i;
		bool up;

		if (!((changed | down) & bit) || !f->ports[i])
			continue;
		up = f->ports[i]->up;
		if ((down & bit || !up) && f->told_up & bit) {
			f->told_up &= ~bit;
			f->agent->port_changed(f->agent_arg, i, false);
		}
		if (up && !(f->told_up & bit)) {
			f->told_up |= bit;
			f->agent->port_changed(f->agent_arg, i, true);
		}
	}
}

static void fabric_agent_answer(void *arg)
{
	struct fabric *f = arg;
	struct packet_queue q;
	struct packet *p;
	bool closed;

	fabric_tell_agent(f);
	inbox_take(&f->in, &q, &closed);
	fabric_wake_waiters(f, &f->in, f->base);
	while ((p = STAILQ_FIRST(&q))) {
		STAILQ_REMOVE_HEAD(&q, link);
		f->agent->receive(f->agent_arg, p->by, p);
		packet_free(f, p);
	}
}

/**
 * fabric_set_agent() - say who receives what is sent to the switch itself
 * @f: the fabric, which no HCA has joined
 * @base: event loop of the switch, in which the agent is called
 * @agent: its functions
 * @arg: passed to them
 *
 * Return: 0, or -errno: there is no agent then.
 */
int fabric_set_agent(struct fabric *f, struct event_base *base, const struct fabric_agent *agent,
		     void *arg)
{
	int err = inbox_init(&f->in, base, fabric_agent_answer, f);

	if (err) {
		inbox_exit(&f->in);
		return err;
	}
	f->base = base;
	f->agent = agent;
	f->agent_arg = arg;
	return 0;
}

/**
 * fabric_port_changed() - tell the switch's agent that a link has changed
 * @f: the fabric
 * @port: number of the switch's port
 * @up: the new state of the link
 *
 * The agent is told in its own thread, by bits: those of @changed are set last and read first.
 */
void fabric_port_changed(struct fabric *f, unsigned int port, bool up)
{
	if (!f->agent)
		return;
	if (!up)
		atomic_fetch_or(&f->down, 1ull << port);
	atomic_fetch_or(&f->changed, 1ull << port);
	bell_ring(&f->in.bell);
}

/* ---- forwarding ------------------------------------------------------------------------------ */

static void fabric_record(struct fabric *f, const struct packet *p)
{
	if (f->capture)
		capture_packet(f->capture, p);
}

/* Send a packet, which came by port @from of the switch, to @port. */
static void fabric_deliver(struct fabric *f, unsigned int from, struct fabric_port *port,
			   struct packet *p)
{
	if (!port) {
		packet_free(f, p);
	} else if (!inbox_put(&port->in, p)) {
		port->hca->count.packets_dropped++;
		packet_free(f, p);
	} else {
		fabric_port_notify(port, from ? f->ports[from]->hca->base : f->base);
	}
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
		fabric_deliver(f, from, f->ports[i], copy);
	}
	packet_free(f, p);
}

/*
 * What is sent to the switch is for its agents. The virtual lane of subnet management has no flow
 * control, so its packets are lost when there are too many. Senders of others ask fabric_can_tx().
 */
static void fabric_to_agent(struct fabric *f, unsigned int from, struct packet *p)
{
	p->by = from;
	if (!f->agent || (packet_is_smp(p) && fabric_busy(f, 0)) || !inbox_put(&f->in, p))
		packet_free(f, p);
	else
		bell_ring(&f->in.bell);
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
		fabric_deliver(f, from, fabric_port_at(f, to), p);
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
	fabric_deliver(f, 0, to, p);
}

/**
 * fabric_tx() - send a packet
 * @hca: the sending HCA
 * @p: the packet, which the fabric owns from here; routed by its DLID
 *
 * Packets to an unknown LID, over a link that is not active, longer than the MTU of a port by which
 * they leave or arrive, or selected by an injection are dropped silently, as on a real fabric. The
 * impairments of the destination's link apply to the others.
 * Nothing is received before this returns. The receiver processes the packet in its own thread.
 */
void fabric_tx(struct hca *hca, struct packet *p)
{
	struct fabric_port *port = hca->fabric_port;

	hca->count.packets_tx++;
	if (!fabric_port_open(port, p) || p->len > port->mtu) {
		hca->count.packets_dropped++;
		packet_free(hca->fabric, p);
	} else {
		fabric_record(hca->fabric, p);
		fabric_route(hca->fabric, fabric_port_number(hca), p);
	}
}

/* ---- waiting for room ------------------------------------------------------------------------ */

/**
 * fabric_busy() - tell whether a port's queue is so full that senders have to wait
 * @f: the fabric
 * @port: number of the switch's port
 *
 * May be called by any thread.
 */
bool fabric_busy(struct fabric *f, unsigned int port)
{
	struct fabric_port *to = fabric_port_at(f, port);

	if (!port)
		return f->agent && atomic_load(&f->in.n) >= RX_LIMIT;
	return to && atomic_load(&to->load) + atomic_load(&to->in.n) >= RX_LIMIT;
}

/*
 * Does HCA @hca have to wait until there is room at @port? Then it is woken. The port is looked at
 * again after the HCA has left its bit there, see fabric_port_publish().
 */
static bool fabric_waits(struct hca *hca, unsigned int port)
{
	struct fabric *f = hca->fabric;
	struct inbox *in;

	if (!fabric_busy(f, port))
		return false;
	in = port ? &f->ports[port]->in : &f->in;
	atomic_fetch_or(&in->waiters, 1ull << fabric_port_number(hca));
	return fabric_busy(f, port);
}

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
 * InfiniBand links are lossless, because a sender without credits waits. A sender that is refused
 * here is woken when half of the queue is free, and tries again.
 *
 * Return: false while the queue of the destination, or of a member of the group, is full; or if the
 * destination is the switch, while that of the switch or of the sender is.
 */
bool fabric_can_tx(struct hca *hca, uint16_t dlid, const uint8_t *dgid)
{
	unsigned int from = fabric_port_number(hca);
	struct fabric *f = hca->fabric;
	uint8_t to;

	if (lid_is_mcast(dlid))
		return fabric_members_can_rx(hca, fabric_members(f, dlid, dgid, from));
	to = forward_unicast(&f->forward, dlid);
	/* The switch's answers come back to the sender. */
	return !fabric_waits(hca, to) && (to || !fabric_waits(hca, from));
}
