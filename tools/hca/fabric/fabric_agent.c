// SPDX-License-Identifier: GPL-2.0
/*
 * The switch's port 0: gives the agent of the switch the packets that are for the switch,
 * one packet of each port in turn, and tells the agent when a link goes up or down.
 */
#include "fabric.h"
#include "fabric_priv.h"
#include "packet.h"

#define AGENT_BUDGET	512	/* packets after which the event loop looks for other events */

/*
 * Tell the agent which links changed, in the thread of the switch. Pairs with
 * fabric_port_changed(): read @changed before @down.
 */
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

/* Sort the packets that have arrived by the ports that they came by. */
static void fabric_agent_take(struct fabric *f)
{
	struct packet_queue q;
	struct packet_head *h;
	bool closed;

	inbox_take(&f->in, &q, &closed);
	while ((h = STAILQ_FIRST(&q))) {
		STAILQ_REMOVE_HEAD(&q, link);
		STAILQ_INSERT_TAIL(&f->taken[h->by], h, link);
	}
}

/* Give the agent the oldest packet of each port. Returns the number of packets. */
static unsigned int fabric_agent_round(struct fabric *f)
{
	unsigned int i, n = 0;
	struct packet *p;

	for (i = 1; i <= SWITCH_PORTS; i++) {
		p = packet_of(STAILQ_FIRST(&f->taken[i]));
		if (!p)
			continue;
		STAILQ_REMOVE_HEAD(&f->taken[i], link);
		f->agent->receive(f->agent_arg, i, p);
		packet_free(f, p);
		fabric_agent_received(f, i);
		n++;
	}
	return n;
}

static void fabric_agent_answer(void *arg)
{
	unsigned int n, sum = 0;
	struct fabric *f = arg;

	fabric_tell_agent(f);
	do {
		fabric_agent_take(f);
		n = fabric_agent_round(f);
		sum += n;
	} while (n && sum < AGENT_BUDGET);
	if (n)
		bell_ring(&f->in.bell);
}

/**
 * fabric_set_agent() - set the agent that receives packets addressed to the switch
 * @f: the fabric, which no HCA has joined
 * @base: event loop of the switch, in which the agent is called
 * @agent: its functions
 * @arg: passed to the functions of @agent
 *
 * Return: 0, or -errno: there is no agent then.
 */
int fabric_set_agent(struct fabric *f, struct event_base *base, const struct fabric_agent *agent,
		     void *arg)
{
	int err = inbox_init(&f->in, base, fabric_agent_answer, f);
	unsigned int i;

	for (i = 0; i <= SWITCH_PORTS; i++)
		STAILQ_INIT(&f->taken[i]);
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
 * Sets bits, which the agent's thread reads. Pairs with fabric_tell_agent(): this function sets the
 * bit in @down before the bit in @changed, and fabric_tell_agent() reads @changed before @down.
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
