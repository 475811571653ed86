// SPDX-License-Identifier: GPL-2.0
/*
 * The port of an HCA at the fabric: its end of the link, its address, and its ingress queue. A
 * packet that another thread sends waits in the inbox. The HCA's thread takes the packet from
 * there, lets it travel over the link with its impairments, checks it, and puts it into the ingress
 * queue.
 */
#include <errno.h>
#include <stdlib.h>

#include "fabric.h"
#include "fabric_priv.h"
#include "hca.h"
#include "ib_packet.h"
#include "impair.h"
#include "profile.h"

#define FIRST_LID	1
#define GUID_BASE	0x02b1ebe100000100ull	/* locally administered */

/* ---- identity -------------------------------------------------------------------------------- */

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
 * fabric_set_lids() - give the port other LIDs, as a subnet manager does
 * @hca: the HCA
 * @lid: the first LID, whose low @lmc bits are 0
 * @lmc: log2 of the number of LIDs, 0 to 7
 *
 * Without a subnet manager in the fabric, only the port changes: the switch forwards by the tables
 * that another subnet manager writes. Raises no event; port_set_lids() does.
 *
 * Return: false if a LID is that of another port, or no unicast LID.
 */
bool fabric_set_lids(struct hca *hca, uint16_t lid, uint8_t lmc)
{
	struct fabric *f = hca->fabric;
	struct fabric_port *port = hca->fabric_port;
	const struct lids from = { port->lid, port->lmc }, to = { lid, lmc };
	unsigned int n = fabric_port_number(hca);

	if (!lid || lid >= LID_MCAST_FIRST || lid & ((1u << lmc) - 1))
		return false;
	if (!f->unmanaged && !fabric_move_lids(f, n, &from, &to))
		return false;
	port->lid = lid;
	port->lmc = lmc;
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
 * fabric_path_bits() - the low bits of a LID, as many as the LMC says
 * @hca: the HCA
 * @bits: a LID, or the path bits of an address
 *
 * Return: the bits; 0 for a multicast or permissive LID.
 */
uint8_t fabric_path_bits(struct hca *hca, uint16_t bits)
{
	return bits >= LID_MCAST_FIRST ? 0 : bits & ((1u << fabric_lmc(hca)) - 1);
}

/**
 * fabric_mtu() - the MTU that the port uses
 * @hca: the HCA
 *
 * Return: bytes.
 */
uint16_t fabric_mtu(struct hca *hca)
{
	return hca->fabric_port->mtu;
}

/**
 * fabric_link_mtu() - the MTU of packets that the link carries in both directions
 * @hca: the HCA whose port is at one end
 *
 * Return: bytes.
 */
uint16_t fabric_link_mtu(struct hca *hca)
{
	struct fabric_port *port = hca->fabric_port;
	uint16_t mtu = port->mtu, far = port->far_mtu;

	return mtu < far ? mtu : far;
}

/**
 * fabric_set_mtu() - set the MTU that a port uses, as a subnet manager does
 * @hca: the HCA
 * @far: true: the port at the switch's end of the link; false: at the HCA's end
 * @mtu: bytes; the port discards longer packets that it would have to send
 *
 * The threads of the HCA and of the switch call this.
 */
void fabric_set_mtu(struct hca *hca, bool far, uint16_t mtu)
{
	*(far ? &hca->fabric_port->far_mtu : &hca->fabric_port->mtu) = mtu;
}

/**
 * fabric_set_lanes() - set the virtual lanes that a port uses, as a subnet manager does
 * @hca: the HCA
 * @far: true: the port at the switch's end of the link; false: at the HCA's end
 * @sl_to_vl: as SL_TO_VL_DEFAULT; the port drops packets of service levels without a lane
 *
 * The threads of the HCA and of the switch call this.
 */
void fabric_set_lanes(struct hca *hca, bool far, uint64_t sl_to_vl)
{
	*(far ? &hca->fabric_port->far_sl_to_vl : &hca->fabric_port->sl_to_vl) = sl_to_vl;
}

/* ---- packets that arrive --------------------------------------------------------------------- */

/*
 * Publish how many packets wait for the HCA, then look for the bits of waiting senders. Pairs with
 * fabric_waits(), where a sender sets its bit in @waiters and then reads the numbers again: either
 * the sender sees the new number, or this function sees the sender's bit.
 */
static void fabric_port_publish(struct fabric_port *port)
{
	unsigned int load = port->taken + port->rx_len + impair_held(port->impair);

	atomic_store(&port->load, load);
	if (atomic_load(&port->in.waiters) && load + atomic_load(&port->in.n) <= RX_LIMIT / 2)
		fabric_wake_waiters(port->hca->fabric, &port->in, port->hca->base);
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

/* Check a packet now that it arrives: the port may have changed since the packet was sent. */
static void fabric_arrive(struct hca *hca, struct packet_head *h)
{
	struct fabric_port *port = hca->fabric_port;
	struct fabric *f = hca->fabric;

	if (!f->type->accepts(hca, h) || fabric_port_drops(port)) {
		hca->count.packets_dropped++;
		f->type->free(f, h);
	} else {
		STAILQ_INSERT_TAIL(&port->rx, h, link);
		port->rx_len++;
		fabric_wake(port);
	}
	fabric_port_publish(port);
}

static void fabric_port_drain(struct fabric_port *port)
{
	impair_drain(port->impair);
	fabric_free_packets(port->hca->fabric, &port->rx);
	port->rx_len = 0;
}

/* A link that went down and came up again since the last call is reported as both. */
static void fabric_port_tell(struct fabric_port *port, bool went_down)
{
	bool up = port->up;

	if (went_down && port->told_up) {
		port->told_up = false;
		if (port->told)
			port->told(port->hca, false);
	}
	if (up == port->told_up)
		return;
	port->told_up = up;
	if (port->told)
		port->told(port->hca, up);
}

/**
 * fabric_poll() - take the packets from the port's inbox, and report a change of its link
 * @hca: the HCA
 *
 * Called by the event loop after another loop has rung the inbox's bell, and before each use of the
 * port or its impairments.
 */
void fabric_poll(struct hca *hca)
{
	struct fabric_port *port = hca->fabric_port;
	struct packet_queue q;
	struct packet_head *h;
	bool went_down;

	port->taken = inbox_take(&port->in, &q, &went_down);
	if (went_down)
		fabric_port_drain(port);
	fabric_port_publish(port);
	fabric_port_tell(port, went_down);
	while ((h = STAILQ_FIRST(&q))) {
		STAILQ_REMOVE_HEAD(&q, link);
		port->taken--;
		impair_packet(port->impair, h);
	}
	fabric_port_publish(port);
}

static void fabric_port_answer(void *arg)
{
	struct fabric_port *port = arg;

	fabric_poll(port->hca);
	fabric_wake(port);
}

/**
 * fabric_set_wake() - set the function to call when packets arrive at a port
 * @hca: the receiving HCA
 * @wake: called by the HCA's thread when packets arrive, also from within fabric_tx(), and when
 *	there is room again for packets that it could not send; may only schedule work. Or NULL.
 */
void fabric_set_wake(struct hca *hca, void (*wake)(struct hca *hca))
{
	hca->fabric_port->wake = wake;
}

/**
 * fabric_set_link_told() - set the function to call when the link of a port has gone up or down
 * @hca: the HCA
 * @told: called by the HCA's thread; may not send or receive packets. Or NULL.
 */
void fabric_set_link_told(struct hca *hca, void (*told)(struct hca *hca, bool up))
{
	hca->fabric_port->told = told;
}

/**
 * fabric_inject_drop() - drop packets that arrive at the port
 * @hca: the receiving HCA
 * @skip: packets that still pass
 * @count: packets that are dropped next
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
 *
 * Takes the packets from the inbox first, so that the settings up to now apply to these packets.
 */
struct impair *fabric_impair(struct hca *hca)
{
	fabric_poll(hca);
	return hca->fabric_port->impair;
}

/**
 * fabric_take() - take the oldest packet from the port's ingress queue
 * @hca: the receiving HCA
 *
 * Return: the packet, which the caller frees, or NULL.
 */
struct packet_head *fabric_take(struct hca *hca)
{
	struct fabric_port *port = hca->fabric_port;
	struct packet_head *h;

	if (STAILQ_EMPTY(&port->rx))
		fabric_poll(hca);
	h = STAILQ_FIRST(&port->rx);
	if (!h)
		return NULL;
	STAILQ_REMOVE_HEAD(&port->rx, link);
	port->rx_len--;
	fabric_port_publish(port);
	return h;
}

/**
 * fabric_rx_pending() - tell whether packets are queued at the port
 * @hca: the receiving HCA
 */
bool fabric_rx_pending(struct hca *hca)
{
	return !STAILQ_EMPTY(&hca->fabric_port->rx) || atomic_load(&hca->fabric_port->in.n);
}

/* ---- packets to the port --------------------------------------------------------------------- */

/**
 * fabric_deliver() - send a packet over the switch's link with a port
 * @f: the fabric
 * @from: number of the switch's port that the packet came by, 0 for a packet that the switch sends
 * @port: the port, which drops the packet if its link is down
 * @h: the packet, which the fabric owns from here
 */
void fabric_deliver(struct fabric *f, unsigned int from, struct fabric_port *port,
		    struct packet_head *h)
{
	if (!inbox_put(&port->in, h)) {
		port->hca->count.packets_dropped++;
		f->type->free(f, h);
	} else {
		fabric_port_notify(port, f->ports[from] ? f->ports[from]->hca->base : f->base);
	}
}

/**
 * fabric_put() - send a packet to a port that drops packets when its queue is full
 * @f: the fabric
 * @from: number of the switch's port that the packet came by
 * @to: number of the switch's port that leads to the receiver
 * @h: the packet, which the fabric owns from here
 * @waited: the sender has waited for room, so that the packet is not dropped
 *
 * The receiver counts the packets that it drops. May be called by any thread.
 *
 * Return: false if there is no such port, or its queue is full.
 */
bool fabric_put(struct fabric *f, unsigned int from, unsigned int to, struct packet_head *h,
		bool waited)
{
	struct fabric_port *port = fabric_port_at(f, to);

	if (!port || (!waited && fabric_busy(f, to))) {
		if (port)
			port->hca->count.packets_dropped++;
		f->type->free(f, h);
		return false;
	}
	fabric_deliver(f, from, port, h);
	return true;
}

/* ---- the link -------------------------------------------------------------------------------- */

/*
 * Both ends of a link that comes up are active at once if the fabric has a subnet manager;
 * otherwise they wait in INIT for a subnet manager on a host.
 */
static void fabric_port_train(struct fabric *f, struct fabric_port *port)
{
	enum port_state s = !port->up ? PORT_DOWN : f->unmanaged ? PORT_INIT : PORT_ACTIVE;

	port->state = s;
	port->far_state = s;
}

/* Change the state of the link, from either of its ends. */
static void fabric_port_set_link(struct fabric_port *port, bool up)
{
	struct hca *hca = port->hca;
	struct packet_queue lost = STAILQ_HEAD_INITIALIZER(lost);

	pthread_mutex_lock(&port->link_lock);
	port->up = up;
	fabric_port_train(hca->fabric, port);
	if (up)
		inbox_open(&port->in);
	else
		inbox_close(&port->in, &lost);
	pthread_mutex_unlock(&port->link_lock);
	fabric_free_packets(hca->fabric, &lost);
	fabric_port_changed(hca->fabric, fabric_port_number(hca), up);
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
 * fabric_set_link() - change the state of the link, at the HCA's end
 * @hca: the HCA
 * @up: new state; packets that are queued or held back when the link goes down are lost
 */
void fabric_set_link(struct hca *hca, bool up)
{
	fabric_port_set_link(hca->fabric_port, up);
	fabric_poll(hca);
}

/**
 * fabric_set_far_link() - change the state of the link, at the switch's end
 * @hca: the HCA at the other end, which is told in its own thread
 * @up: new state
 */
void fabric_set_far_link(struct hca *hca, bool up)
{
	fabric_port_set_link(hca->fabric_port, up);
	bell_ring(&hca->fabric_port->in.bell);
}

/**
 * fabric_state() - state of the port
 * @hca: the HCA
 * @far: true: the port at the switch's end of the link; false: at the HCA's end
 */
enum port_state fabric_state(struct hca *hca, bool far)
{
	return far ? hca->fabric_port->far_state : hca->fabric_port->state;
}

/**
 * fabric_set_state() - change the state of a port whose link is up, as a subnet manager does
 * @hca: the HCA
 * @far: true: the port at the switch's end of the link; false: at the HCA's end
 * @state: the new state, not PORT_DOWN
 *
 * Raises no event; port_set_state() does. The threads of the HCA and of the switch call this.
 *
 * Return: false if the link has gone down.
 */
bool fabric_set_state(struct hca *hca, bool far, enum port_state state)
{
	struct fabric_port *port = hca->fabric_port;
	bool up;

	pthread_mutex_lock(&port->link_lock);
	up = port->up;
	if (up)
		*(far ? &port->far_state : &port->state) = state;
	pthread_mutex_unlock(&port->link_lock);
	return up;
}

/* ---- module ---------------------------------------------------------------------------------- */

static void fabric_port_free(struct fabric_port *port)
{
	if (port->impair)
		impair_free(port->impair);
	inbox_exit(&port->in);
	pthread_mutex_destroy(&port->link_lock);
	free(port);
}

static int fabric_init(struct hca *hca)
{
	struct fabric *f = hca->fabric;
	unsigned int n = fabric_port_number(hca);
	struct fabric_port *port;
	int err;

	if (n > SWITCH_PORTS || f->ports[n] ||
	    (!f->unmanaged && f->forward.port[FIRST_LID + hca->index] != FORWARD_DROP))
		return -ENOSPC;
	port = calloc(1, sizeof(*port));
	if (!port)
		return -ENOMEM;
	port->hca = hca;
	port->up = true;
	port->told_up = true;
	port->mtu = hca->profile->mtu;
	port->far_mtu = PKT_MTU_MAX;
	port->sl_to_vl = SL_TO_VL_DEFAULT;
	port->far_sl_to_vl = SL_TO_VL_DEFAULT;
	STAILQ_INIT(&port->rx);
	pthread_mutex_init(&port->link_lock, NULL);
	err = inbox_init(&port->in, hca->base, fabric_port_answer, port);
	port->impair = impair_new(hca, f->type, fabric_arrive);
	if (err || !port->impair) {
		fabric_port_free(port);
		return err ? err : -ENOMEM;
	}
	fabric_port_train(f, port);
	f->ports[n] = port;
	f->told_up |= 1ull << n;
	hca->fabric_port = port;
	if (!f->unmanaged)
		fabric_set_lids(hca, FIRST_LID + hca->index, 0);
	return 0;
}

/* A reset of the HCA does not change the state of the link, which belongs to the cable. */
static void fabric_reset(struct hca *hca)
{
	struct fabric_port *port = hca->fabric_port;
	struct packet_queue q;
	bool went_down;

	if (!port)
		return;
	inbox_take(&port->in, &q, &went_down);
	fabric_free_packets(hca->fabric, &q);
	fabric_port_drain(port);
	fabric_port_tell(port, went_down);
	fabric_port_publish(port);
}

static void fabric_exit(struct hca *hca)
{
	if (!hca->fabric_port)
		return;
	fabric_reset(hca);
	if (!hca->fabric->unmanaged)
		hca->fabric->forward.port[hca->fabric_port->lid] = FORWARD_DROP;
	hca->fabric->ports[fabric_port_number(hca)] = NULL;
	fabric_port_free(hca->fabric_port);
	hca->fabric_port = NULL;
}

const struct hca_module fabric_module = {
	.name = "fabric", .init = fabric_init, .reset = fabric_reset, .exit = fabric_exit,
};
