/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the fabric share: packet.c, the pool of InfiniBand packets; fabric.c, the ports
 * by number; fabric_room.c, waiting for room; fabric_agent.c, the port 0 of InfiniBand's switch;
 * fabric_port.c, the HCA's end of a link; fabric_ib.c, packets of InfiniBand at such a port; and
 * fabric_route.c, InfiniBand's switch.
 *
 * A sender puts a packet into the inbox of the port that the switch's tables name, and rings the
 * bell of its HCA. The thread of that HCA takes the packet, lets it travel over the link, and
 * checks the packet. Packets to the switch itself have an inbox, too, so that the switch's agents
 * run in the thread of the switch and not inside a sender. So no thread waits while it holds a lock
 * of the fabric. Within a port's link_lock the lock of the port's inbox may be taken; within
 * lid_lock and pool_lock no other lock is taken.
 */
#ifndef BLUEBELL_FABRIC_PRIV_H
#define BLUEBELL_FABRIC_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric.h"
#include "forward.h"
#include "inbox.h"
#include "packet_head.h"

#define RX_LIMIT	512	/* packets queued at a port before senders have to wait */
#define AGENT_LIMIT	128	/* packets of a port for the switch before the port has to wait */

struct fabric_port {
	struct hca *hca;
	_Atomic uint16_t lid;		/* set by the HCA's thread */
	_Atomic uint8_t lmc;
	_Atomic uint16_t mtu;		/* bytes, of packets that the HCA sends */
	_Atomic uint16_t far_mtu;	/* bytes, of packets that the switch sends to the HCA */
	/* SL-to-VL mapping of packets that the HCA sends, and that the switch sends to the HCA */
	_Atomic uint64_t sl_to_vl, far_sl_to_vl;
	pthread_mutex_t link_lock;	/* to change the next three, and to open and close @in */
	atomic_bool up;
	_Atomic(enum port_state) state;		/* at the HCA's end of the link */
	_Atomic(enum port_state) far_state;	/* at the switch's end */
	struct inbox in;
	atomic_uint load;		/* packets from @in that fabric_rx() has not returned */

	/* Used by the HCA's thread only. */
	bool told_up;			/* what the HCA has been told of the link */
	unsigned int taken;		/* packets from @in that have not reached the port yet */
	struct packet_queue rx;
	unsigned int rx_len;
	unsigned int drop_skip, drop_count;
	struct impair *impair;		/* of the link, in the direction to the HCA */
	void (*wake)(struct hca *hca);
	void (*told)(struct hca *hca, bool up);
};

#define POOL_MAX	4096	/* packets that are kept for reuse: less than 20 MiB */

struct fabric {
	const struct packet_type *type;		/* of all packets */
	void *sw;				/* the switch, if it is not InfiniBand's */
	void (*release)(void *sw);
	/* By the number of the switch's port. They change only while no HCA's loop runs. */
	struct fabric_port *ports[SWITCH_PORTS + 1];
	struct forward forward;
	pthread_mutex_t lid_lock;		/* for giving a LID to a port */
	bool unmanaged;				/* ports wait for a subnet manager */
	const struct fabric_agent *agent;	/* at the switch's port 0, or NULL */
	void *agent_arg;
	struct event_base *base;		/* event loop of the agent */
	struct inbox in;			/* of port 0, if there is an agent */
	/* For each port: how many packets that came by it the agent has yet to receive. */
	atomic_uint for_agent[SWITCH_PORTS + 1];
	/*
	 * For each port: packets that came by it, taken from @in and not processed by the agent
	 * yet.
	 */
	struct packet_queue taken[SWITCH_PORTS + 1];
	/*
	 * Bits of ports, set for the agent: in @down, the link went down; in @changed, down or up.
	 */
	_Atomic uint64_t down;
	_Atomic uint64_t changed;
	uint64_t told_up;			/* bits of ports: agent was told that link is up */
	struct capture *capture;		/* of all links, or NULL */
	pthread_mutex_t pool_lock;
	struct packet_queue pool;		/* packets for reuse */
	unsigned int pooled;			/* packets in @pool, at most POOL_MAX */
};

/* The HCA's port that is linked with this port of the switch, or NULL. */
static inline struct fabric_port *fabric_port_at(struct fabric *f, unsigned int port)
{
	return port <= SWITCH_PORTS ? f->ports[port] : NULL;
}

/* Have the HCA look for packets at its port soon. The caller runs in the HCA's thread. */
static inline void fabric_wake(struct fabric_port *port)
{
	if (port->wake)
		port->wake(port->hca);
}

/* ---- Each file calls only files that are before it here. packet.c ---------------------------- */

void fabric_free_packets(struct fabric *f, struct packet_queue *q);

/* ---- fabric_room.c --------------------------------------------------------------------------- */

void fabric_port_notify(struct fabric_port *port, const struct event_base *base);
void fabric_wake_waiters(struct fabric *f, struct inbox *in, const struct event_base *base);
bool fabric_agent_full(struct fabric *f, unsigned int from);
void fabric_agent_received(struct fabric *f, unsigned int from);

/* ---- fabric_agent.c -------------------------------------------------------------------------- */

void fabric_port_changed(struct fabric *f, unsigned int port, bool up);

/* ---- fabric_port.c --------------------------------------------------------------------------- */

void fabric_deliver(struct fabric *f, unsigned int from, struct fabric_port *port,
		    struct packet_head *h);

/* ---- fabric_ib.c ----------------------------------------------------------------------------- */

void fabric_count(struct hca *hca, const struct packet *p, bool tx);
bool fabric_port_open(const struct fabric_port *port, const struct packet *p);

#endif
