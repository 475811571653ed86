// SPDX-License-Identifier: GPL-2.0
/*
 * The Ethernet port: its link, with the events that tell the driver of a change, and the way of a
 * frame from the vport to the switch and back.
 *
 * The link is up if the cable is plugged in and the driver wants the port to be up. No sender
 * waits: a frame that finds the queue of a receiver full is dropped, and counted by the receiver.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eq.h"
#include "eth_port.h"
#include "eth_proto.h"
#include "eth_stats.h"
#include "eth_switch.h"
#include "eth_vport.h"
#include "fabric.h"
#include "hca.h"

#define ETH_MAC_BASE	0x02b1ebe10000ull	/* locally administered */
#define LOOP_LIMIT	512	/* own frames that wait for the vport */
#define NIC_LIMIT	512	/* frames that wait for the NIC because RoCE came across them */
#define RX_BUDGET	512	/* frames that eth_rx() looks at before it returns */

/* MLX5_PORT_CHANGE_SUBTYPE_* */
enum { CHANGE_DOWN = 1, CHANGE_ACTIVE = 4 };

/* ---- link ------------------------------------------------------------------------------------ */

/* The link went up or down. */
static void eth_link_told(struct hca *hca, bool up)
{
	uint8_t data[28] = { [8] = 1 << 4 };

	hca_trace(hca, "link", "\"up\":%s", up ? "true" : "false");
	hca->count.link_downed += !up;
	hca->eth->proto_oper = up ? eth_proto_best(hca->eth->proto_admin) : 0;
	if (!up)
		eth_switch_forget(hca->fabric, fabric_port_number(hca));
	eq_post_async(hca, EV_PORT_CHANGE, up ? CHANGE_ACTIVE : CHANGE_DOWN, data);
}

static void eth_update_link(struct hca *hca)
{
	bool up = hca->eth->cable && hca->eth->admin_up;

	if (fabric_link(hca) != up)
		fabric_set_link(hca, up);
}

/**
 * eth_set_link() - plug the cable in, or pull it
 * @hca: the HCA
 * @up: plug it in; the link comes up if the driver wants the port to be up
 *
 * Raises the port's asynchronous event if the link changes.
 */
void eth_set_link(struct hca *hca, bool up)
{
	hca->eth->cable = up;
	eth_update_link(hca);
}

/**
 * eth_set_admin() - take the port up or down, as the driver wants
 * @hca: the HCA
 * @up: the link comes up if the cable is plugged in
 *
 * Raises the port's asynchronous event if the link changes.
 */
void eth_set_admin(struct hca *hca, bool up)
{
	hca->eth->admin_up = up;
	eth_update_link(hca);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void eth_count_total(struct hca *hca, const struct eth_frame *fr, bool tx)
{
	bool group = eth_cast_of(eth_frame_data(fr)) != ETH_UNICAST;
	unsigned int octets = fr->head.len + ETH_FCS_BYTES;
	struct counters *c = &hca->count;

	*(tx ? &c->packets_tx : &c->packets_rx) += 1;
	*(tx ? &c->octets_tx : &c->octets_rx) += octets;
	*(tx ? &c->mcast_tx : &c->mcast_rx) += group;
	*(tx ? &c->mcast_octets_tx : &c->mcast_octets_rx) += group ? octets : 0;
	eth_count_phy(&hca->eth->stats, fr, tx);
}

static bool eth_too_long(const struct eth_port *port, const struct eth_frame *fr)
{
	return fr->head.len + ETH_FCS_BYTES > port->mtu;
}

static void eth_sniff(struct hca *hca, const struct eth_frame *fr, bool sent)
{
	if (hca->eth->sniffer)
		hca->eth->sniffer(hca, fr, sent);
}

/* Let the vport receive a frame of its own. */
static void eth_loop(struct hca *hca, struct eth_frame *fr)
{
	struct eth_port *port = hca->eth;

	if (port->loop_len >= LOOP_LIMIT) {
		port->stats.loopback_full++;
		eth_frame_free(fr);
		return;
	}
	STAILQ_INSERT_TAIL(&port->loop, &fr->head, link);
	port->loop_len++;
	if (port->wake)
		port->wake(hca);
}

/* Send a frame over the link, and let the vport receive it if it is for the vport, too. */
static void eth_send(struct hca *hca, struct eth_frame *fr)
{
	const uint8_t *dmac = eth_frame_data(fr);
	bool loops = eth_vport_loops(hca, dmac);
	struct eth_frame *copy = fr;

	if (loops && eth_cast_of(dmac) == ETH_UNICAST) {
		eth_loop(hca, fr);
		return;
	}
	if (loops)
		copy = eth_frame_copy(fr);
	eth_count_total(hca, fr, true);
	if (loops && copy)
		eth_loop(hca, copy);
	eth_switch_forward(hca->fabric, fabric_port_number(hca), fr);
}

/**
 * eth_tx() - send a frame
 * @hca: the sending HCA
 * @fr: the frame, which the port owns from here
 *
 * Drops and counts a frame if the link is down, or if the frame is longer than the MTU of the port.
 * The sender has padded the frame. No frame is received before this returns.
 */
void eth_tx(struct hca *hca, struct eth_frame *fr)
{
	struct eth_port *port = hca->eth;

	if (eth_too_long(port, fr)) {
		port->stats.tx_too_long++;
		eth_frame_free(fr);
	} else if (!fabric_link(hca)) {
		port->stats.tx_link_down++;
		eth_frame_free(fr);
	} else {
		eth_count_vport(&port->stats, fr, true);
		eth_sniff(hca, fr, true);
		eth_send(hca, fr);
	}
}

/* The functions of RoCE while it is switched on, else NULL. */
static const struct eth_roce *eth_roce(const struct eth_port *port)
{
	return port->vport.roce ? port->roce : NULL;
}

/* Let RoCE have a frame, if it is for RoCE. */
static bool eth_divert(struct hca *hca, struct eth_frame *fr)
{
	const struct eth_roce *roce = eth_roce(hca->eth);

	return roce && roce->take(hca, fr);
}

static void eth_count_loop(struct eth_port *port, const struct eth_frame *fr)
{
	port->stats.loopback_frames++;
	port->stats.loopback_octets += fr->head.len;
}

/* Let RoCE receive a frame of its own. */
static void eth_loop_roce(struct hca *hca, struct eth_frame *fr)
{
	eth_count_loop(hca->eth, fr);
	eth_sniff(hca, fr, false);
	hca->eth->roce->loop(hca, fr);
}

/**
 * eth_tx_roce() - send a frame of a queue pair
 * @hca: the sending HCA
 * @fr: the frame, which the port owns from here
 * @loop: the frame does not leave the port: queue pairs of the HCA itself receive it
 *
 * As eth_tx(). A frame to a group is received by the HCA's own queue pairs, too, unless the driver
 * has switched the loopback of groups off.
 */
void eth_tx_roce(struct hca *hca, struct eth_frame *fr, bool loop)
{
	bool group = eth_cast_of(eth_frame_data(fr)) != ETH_UNICAST;
	struct eth_port *port = hca->eth;
	struct eth_frame *copy;

	if (eth_too_long(port, fr)) {
		port->stats.tx_too_long++;
		eth_frame_free(fr);
		return;
	}
	if (!loop && !fabric_link(hca)) {
		port->stats.tx_link_down++;
		eth_frame_free(fr);
		return;
	}
	eth_count_roce(&port->stats, fr, true);
	eth_sniff(hca, fr, true);
	if (loop) {
		eth_loop_roce(hca, fr);
		return;
	}
	copy = group && !port->vport.no_mc_loopback ? eth_frame_copy(fr) : NULL;
	if (copy)
		eth_loop_roce(hca, copy);
	fr->waited = !group;
	eth_count_total(hca, fr, true);
	eth_switch_forward(hca->fabric, fabric_port_number(hca), fr);
}

static struct eth_frame *eth_take_loop(struct eth_port *port)
{
	struct eth_frame *fr = eth_frame_of(STAILQ_FIRST(&port->loop));

	if (!fr)
		return NULL;
	STAILQ_REMOVE_HEAD(&port->loop, link);
	port->loop_len--;
	eth_count_loop(port, fr);
	return fr;
}

/* Whether the vport receives a frame that came over the link. Counts the frame. */
static bool eth_receives(struct hca *hca, const struct eth_frame *fr)
{
	struct eth_port *port = hca->eth;

	if (eth_too_long(port, fr)) {
		port->stats.rx_too_long++;
		return false;
	}
	eth_count_total(hca, fr, false);
	if (eth_vport_accepts(&port->vport, eth_frame_data(fr)))
		return true;
	port->stats.rx_other_address++;
	return false;
}

/* Take the oldest frame from the link that is for the vport; look at *@n frames at most. */
static struct eth_frame *eth_take_link(struct hca *hca, unsigned int *n)
{
	struct eth_frame *fr;

	for (; *n; --*n) {
		fr = eth_frame_of(fabric_take(hca));
		if (!fr)
			return NULL;
		if (eth_receives(hca, fr))
			return fr;
		eth_frame_free(fr);
	}
	return NULL;
}

static struct eth_frame *eth_take_sorted(struct eth_port *port)
{
	struct eth_frame *fr = eth_frame_of(STAILQ_FIRST(&port->nic));

	if (!fr)
		return NULL;
	STAILQ_REMOVE_HEAD(&port->nic, link);
	port->nic_len--;
	return fr;
}

/* Take the oldest frame for the NIC; RoCE gets the frames before it that are for RoCE. */
static struct eth_frame *eth_take(struct hca *hca)
{
	const struct eth_roce *roce = eth_roce(hca->eth);
	struct eth_frame *fr = eth_take_sorted(hca->eth);
	unsigned int n = RX_BUDGET;

	if (fr)
		return fr;
	while (n && !(roce && roce->full(hca))) {
		fr = eth_take_loop(hca->eth);
		if (!fr)
			fr = eth_take_link(hca, &n);
		if (fr)
			eth_sniff(hca, fr, false);
		if (!fr || !eth_divert(hca, fr))
			return fr;
		n -= n != 0;
	}
	return NULL;
}

/**
 * eth_rx() - take the oldest frame that has arrived for the NIC
 * @hca: the receiving HCA
 *
 * Return: the frame, which the caller frees. NULL if there is none, or if so many frames were not
 * for the NIC that the event loop should look for other events; then eth_rx_pending() is true.
 */
struct eth_frame *eth_rx(struct hca *hca)
{
	struct eth_frame *fr = eth_take(hca);

	if (fr)
		eth_count_vport(&hca->eth->stats, fr, false);
	return fr;
}

/**
 * eth_inject() - let a frame arrive over the link, as if the switch had sent it
 * @hca: the receiving HCA
 * @data: the frame, without frame check sequence
 * @len: bytes of it, ETH_FRAME_MIN to ETH_FRAME_MAX; it is padded as a sender would pad it
 *
 * The frame is in the capture, and the impairments of the link apply to it.
 *
 * Return: 0; -ENETDOWN, -ENOMEM.
 */
int eth_inject(struct hca *hca, const uint8_t *data, size_t len)
{
	size_t padded = len < ETH_FRAME_PADDED ? ETH_FRAME_PADDED : len;
	unsigned int port = fabric_port_number(hca);
	struct eth_frame *fr;

	if (!fabric_link(hca))
		return -ENETDOWN;
	fr = eth_frame_alloc(padded);
	if (!fr)
		return -ENOMEM;
	memcpy(eth_frame_data(fr), data, len);
	memset(eth_frame_data(fr) + len, 0, padded - len);
	fabric_record(hca->fabric, &fr->head);
	fabric_put(hca->fabric, port, port, &fr->head, false);
	return 0;
}

/**
 * eth_sort() - let RoCE have the frames that have arrived for it
 * @hca: the receiving HCA
 *
 * The frames for the NIC wait for eth_rx(). If they are too many, all others wait for eth_rx(),
 * which lets RoCE have its frames. The NIC of an HCA that hangs takes none, so that they are dropped
 * then. Does nothing while RoCE is switched off.
 */
void eth_sort(struct hca *hca)
{
	struct eth_port *port = hca->eth;
	unsigned int n = RX_BUDGET, old = port->nic_len;
	const struct eth_roce *roce = eth_roce(port);
	bool stopped = hca->hung || hca->fatal;
	struct eth_frame *fr;

	while (n && roce && !roce->full(hca) && (stopped || port->nic_len < NIC_LIMIT) &&
	       (fr = eth_take_link(hca, &n))) {
		n -= n != 0;
		if (eth_divert(hca, fr))
			continue;
		if (port->nic_len >= NIC_LIMIT) {
			port->stats.nic_full++;
			eth_frame_free(fr);
			continue;
		}
		STAILQ_INSERT_TAIL(&port->nic, &fr->head, link);
		port->nic_len++;
	}
	if (port->nic_len != old && port->wake)
		port->wake(hca);
}

/**
 * eth_rx_pending() - tell whether frames wait, perhaps for the NIC
 * @hca: the HCA
 */
bool eth_rx_pending(struct hca *hca)
{
	return hca->eth->loop_len || hca->eth->nic_len || fabric_rx_pending(hca);
}

static void eth_woken(struct hca *hca)
{
	const struct eth_roce *roce = eth_roce(hca->eth);

	if (roce)
		roce->wake(hca);
	else if (hca->eth->wake)
		hca->eth->wake(hca);
}

/**
 * eth_set_wake() - set the function to call when frames for the NIC arrive
 * @hca: the HCA
 * @wake: called by the HCA's thread, also from within eth_tx(); may only schedule work. Or NULL.
 */
void eth_set_wake(struct hca *hca, void (*wake)(struct hca *hca))
{
	hca->eth->wake = wake;
}

/**
 * eth_set_roce() - set the functions of RoCE
 * @hca: the HCA
 * @roce: the functions, or NULL
 */
void eth_set_roce(struct hca *hca, const struct eth_roce *roce)
{
	hca->eth->roce = roce;
}

/**
 * eth_set_sniffer() - have all frames of the port shown
 * @hca: the HCA
 * @sniffer: called with each frame that the port is about to send, and with each that it has
 *	received, before the NIC or RoCE has it; may not change it. Or NULL
 */
void eth_set_sniffer(struct hca *hca, void (*sniffer)(struct hca *hca, const struct eth_frame *fr,
						       bool sent))
{
	hca->eth->sniffer = sniffer;
}

/* ---- module ---------------------------------------------------------------------------------- */

static int eth_port_init(struct hca *hca)
{
	struct eth_port *port = calloc(1, sizeof(*port));

	if (!port)
		return -ENOMEM;
	STAILQ_INIT(&port->loop);
	STAILQ_INIT(&port->nic);
	port->cable = true;
	port->admin_up = true;
	port->mtu = ETH_MTU_DEFAULT;
	port->proto_admin = ETH_PROTO_CAPS;
	port->proto_oper = eth_proto_best(port->proto_admin);
	if (eth_vport_init(&port->vport, ETH_MAC_BASE + hca->index, hca->profile)) {
		free(port);
		return -ENOMEM;
	}
	hca->eth = port;
	fabric_set_link_told(hca, eth_link_told);
	fabric_set_wake(hca, eth_woken);
	return 0;
}

static void eth_empty(struct packet_queue *q)
{
	struct packet_head *h;

	while ((h = STAILQ_FIRST(q))) {
		STAILQ_REMOVE_HEAD(q, link);
		eth_frame_free(eth_frame_of(h));
	}
}

/* Frames that wait are lost with the objects of the driver. */
static void eth_port_reset(struct hca *hca)
{
	eth_empty(&hca->eth->loop);
	eth_empty(&hca->eth->nic);
	hca->eth->loop_len = 0;
	hca->eth->nic_len = 0;
}

/* Reset what the driver has set. The cable and the counters stay as they are. */
static void eth_port_restart(struct hca *hca)
{
	struct eth_port *port = hca->eth;
	uint64_t mac = port->vport.mac;

	port->mtu = ETH_MTU_DEFAULT;
	port->proto_admin = ETH_PROTO_CAPS;
	port->an_disable = false;
	port->pause_tx = false;
	port->pause_rx = false;
	port->pfc_tx = 0;
	port->pfc_rx = 0;
	eth_vport_exit(&port->vport);
	/* If memory is short, the vport has no address until the driver writes its list. */
	eth_vport_init(&port->vport, mac, hca->profile);
	eth_set_admin(hca, true);
}

static void eth_port_exit(struct hca *hca)
{
	fabric_set_link_told(hca, NULL);
	fabric_set_wake(hca, NULL);
	eth_port_reset(hca);
	eth_vport_exit(&hca->eth->vport);
	free(hca->eth);
	hca->eth = NULL;
}

const struct port_ops eth_port_ops = { .set_link = eth_set_link };

const struct hca_module eth_port_module = {
	.name = "eth_port", .init = eth_port_init, .reset = eth_port_reset,
	.restart = eth_port_restart, .exit = eth_port_exit,
};
