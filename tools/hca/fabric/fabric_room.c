// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for room in the queue of a port: a sender that finds the queue full sets its bit in the
 * port's inbox, and is woken when half of the queue is free. At the switch each port has a queue of
 * its own, so that a port that sends much to the switch holds up no other port.
 */
#include "fabric.h"
#include "fabric_priv.h"
#include "hca.h"

/**
 * fabric_port_notify() - have an HCA look at its inbox soon
 * @port: the port of the HCA
 * @base: event loop that the caller runs in
 *
 * If the HCA runs in the caller's loop, no bell is rung, which saves a system call.
 */
void fabric_port_notify(struct fabric_port *port, const struct event_base *base)
{
	if (port->hca->base == base)
		fabric_wake(port);
	else
		bell_ring(&port->in.bell);
}

/**
 * fabric_wake_waiters() - wake the senders that wait for room
 * @f: the fabric
 * @in: the inbox in which there is room
 * @base: event loop of the owner of the inbox, in which the caller runs
 */
void fabric_wake_waiters(struct fabric *f, struct inbox *in, const struct event_base *base)
{
	uint64_t waiters = atomic_exchange(&in->waiters, 0);
	unsigned int i;

	for (i = 1; waiters && i <= SWITCH_PORTS; i++)
		if ((waiters >> i & 1) && f->ports[i])
			fabric_port_notify(f->ports[i], base);
}

/**
 * fabric_busy() - tell whether a port's queue is so full that senders have to wait
 * @f: the fabric
 * @port: number of the switch's port, not 0
 *
 * May be called by any thread.
 */
bool fabric_busy(struct fabric *f, unsigned int port)
{
	struct fabric_port *to = fabric_port_at(f, port);

	return to && atomic_load(&to->load) + atomic_load(&to->in.n) >= RX_LIMIT;
}

/**
 * fabric_agent_full() - tell whether a port has as many packets at the switch as it may
 * @f: the fabric
 * @from: number of the switch's port that the packets came by
 *
 * May be called by any thread.
 */
bool fabric_agent_full(struct fabric *f, unsigned int from)
{
	return f->agent && atomic_load(&f->for_agent[from]) >= AGENT_LIMIT;
}

/**
 * fabric_agent_received() - the switch's agent has received a packet
 * @f: the fabric
 * @from: number of the switch's port that the packet came by; the HCA at that port is woken if it
 *	waits and half of its queue at the switch is free
 *
 * Pairs with fabric_waits(): the number of packets changes before the bit in @waiters is read.
 */
void fabric_agent_received(struct fabric *f, unsigned int from)
{
	uint64_t bit = 1ull << from;

	if (atomic_fetch_sub(&f->for_agent[from], 1) != AGENT_LIMIT / 2 + 1)
		return;
	if (atomic_fetch_and(&f->in.waiters, ~bit) & bit && f->ports[from])
		fabric_port_notify(f->ports[from], f->base);
}

static bool fabric_has_no_room(struct fabric *f, unsigned int from, unsigned int port)
{
	return port ? fabric_busy(f, port) : fabric_agent_full(f, from);
}

/**
 * fabric_waits() - tell whether an HCA has to wait until there is room at a port
 * @hca: the HCA; if it has to wait, it is woken when there is room
 * @port: number of the switch's port
 *
 * Pairs with fabric_port_publish() and fabric_agent_received(): the HCA sets its bit in @waiters of
 * the port's inbox before it reads the numbers of packets again.
 */
bool fabric_waits(struct hca *hca, unsigned int port)
{
	unsigned int from = fabric_port_number(hca);
	struct fabric *f = hca->fabric;
	struct inbox *in;

	if (!fabric_has_no_room(f, from, port))
		return false;
	in = port ? &f->ports[port]->in : &f->in;
	atomic_fetch_or(&in->waiters, 1ull << from);
	return fabric_has_no_room(f, from, port);
}
