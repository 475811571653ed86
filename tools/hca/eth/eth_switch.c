// SPDX-License-Identifier: GPL-2.0
/*
 * The learning switch: it forwards a frame to the port by which it has seen the destination, and
 * floods frames to groups and to unknown destinations. It takes no notice of VLAN tags. It runs in
 * the thread of the sender, and no sender waits: a port whose queue is full drops frames.
 */
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "eth_fdb.h"
#include "eth_frame.h"
#include "eth_stats.h"
#include "eth_switch.h"
#include "eth_vport.h"
#include "fabric.h"
#include "forward.h"
#include "hca.h"

#define NS_PER_S	1000000000ull

struct eth_switch {
	struct eth_fdb *db;
	/* By port; NULL: the port leads to an HCA or to nothing. Set before the loops run. */
	const struct eth_remote *remote[SWITCH_PORTS + 1];
	unsigned int remotes;
};

/* ---- the type of packets --------------------------------------------------------------------- */

static struct packet_head *eth_copy(struct fabric *f, const struct packet_head *h)
{
	struct eth_frame *copy = eth_frame_copy(eth_frame_of(h));

	(void)f;
	return copy ? &copy->head : NULL;
}

static void eth_free(struct fabric *f, struct packet_head *h)
{
	(void)f;
	eth_frame_free(eth_frame_of(h));
}

static bool eth_accepts(struct hca *hca, const struct packet_head *h)
{
	(void)h;
	return fabric_link(hca);
}

static bool eth_impaired(const struct packet_head *h)
{
	(void)h;
	return true;
}

static void eth_describe(const struct packet_head *h, char *text, size_t len)
{
	const uint8_t *mac = eth_frame_data(eth_frame_of(h));

	snprintf(text, len, "\"dmac\":\"%02x:%02x:%02x:%02x:%02x:%02x\",\"len\":%u", mac[0], mac[1],
		 mac[2], mac[3], mac[4], mac[5], h->len);
}

static size_t eth_capture(const struct packet_head *h, uint8_t *record)
{
	memcpy(record, eth_frame_data(eth_frame_of(h)), h->len);
	return h->len;
}

const struct packet_type eth_packet_type = {
	.copy = eth_copy, .free = eth_free, .accepts = eth_accepts, .impaired = eth_impaired,
	.describe = eth_describe, .capture_type = DLT_EN10MB, .capture_max = ETH_FRAME_MAX,
	.capture = eth_capture,
};

/* ---- forwarding ------------------------------------------------------------------------------ */

/* Whether the switch can send by a port: frames to other ports would only be lost. */
static bool eth_switch_up(struct fabric *f, const struct eth_switch *sw, unsigned int port)
{
	const struct eth_remote *r = sw->remote[port];
	struct hca *peer;

	if (r)
		return r->up(r->arg);
	peer = fabric_peer(f, port);
	return peer && fabric_link(peer);
}

static void eth_switch_send(struct fabric *f, unsigned int from, unsigned int to,
			    struct eth_frame *fr)
{
	const struct eth_switch *sw = fabric_switch(f);

	if (sw->remote[to])
		sw->remote[to]->send(sw->remote[to]->arg, fr);
	else
		fabric_put(f, from, to, &fr->head, fr->waited);
}

/* Copies share the bytes of the frame, so a flood takes no more memory than its queue entries. */
static void eth_switch_flood(struct fabric *f, const struct eth_switch *sw, unsigned int from,
			     struct eth_frame *fr)
{
	struct eth_frame *copy;
	unsigned int i;

	for (i = 1; i <= SWITCH_PORTS; i++) {
		if (i == from || !eth_switch_up(f, sw, i))
			continue;
		copy = eth_frame_copy(fr);
		if (!copy)
			break;
		eth_switch_send(f, from, i, copy);
	}
	eth_frame_free(fr);
}

/**
 * eth_switch_forward() - forward a frame that came to the switch
 * @f: the fabric
 * @from: number of the switch's port by which it came
 * @fr: the frame, which the switch owns from here
 *
 * May be called by any thread.
 */
void eth_switch_forward(struct fabric *f, unsigned int from, struct eth_frame *fr)
{
	struct eth_switch *sw = fabric_switch(f);
	const uint8_t *dmac = eth_frame_data(fr), *smac = dmac + ETH_MAC_BYTES;
	uint64_t now = clock_now_ns();
	unsigned int to = 0;

	fabric_record(f, &fr->head);
	if (eth_cast_of(smac) == ETH_UNICAST)
		eth_fdb_learn(sw->db, eth_mac(smac), from, now);
	if (eth_cast_of(dmac) == ETH_UNICAST)
		to = eth_fdb_find(sw->db, eth_mac(dmac), now);
	if (!to)
		eth_switch_flood(f, sw, from, fr);
	else if (to == from)
		eth_frame_free(fr);
	else
		eth_switch_send(f, from, to, fr);
}

/**
 * eth_switch_room() - tell whether there is room for a frame at its receiver
 * @hca: the sender; if there is no room, it is woken when there is
 * @dmac: destination address of the frame
 *
 * This stands for flow control by priority, which RoCE uses: the frames of queue pairs are not lost
 * because a receiver is slow. It ends at a port that leads to no HCA.
 */
bool eth_switch_room(struct hca *hca, const uint8_t *dmac)
{
	struct eth_switch *sw = fabric_switch(hca->fabric);
	unsigned int to = 0;

	if (eth_cast_of(dmac) == ETH_UNICAST)
		to = eth_fdb_find(sw->db, eth_mac(dmac), clock_now_ns());
	return !to || sw->remote[to] || !fabric_peer(hca->fabric, to) || !fabric_waits(hca, to);
}

/**
 * eth_switch_forget() - forget the addresses of a port, because its link went down
 * @f: the fabric
 * @port: number of the port
 */
void eth_switch_forget(struct fabric *f, unsigned int port)
{
	struct eth_switch *sw = fabric_switch(f);

	eth_fdb_forget(sw->db, port);
}

/**
 * eth_switch_learned() - count the addresses that the switch has learned at a port
 * @f: the fabric
 * @port: number of the port
 */
unsigned int eth_switch_learned(struct fabric *f, unsigned int port)
{
	struct eth_switch *sw = fabric_switch(f);

	return eth_fdb_count(sw->db, port);
}

/* ---- life cycle ------------------------------------------------------------------------------ */

/**
 * eth_switch_join() - add a port that leads to no HCA
 * @f: the fabric, while no loop runs
 * @remote: its functions, which outlive the fabric's last frame
 *
 * Return: the number of the port, the highest that is free; or 0 if there is none.
 */
unsigned int eth_switch_join(struct fabric *f, const struct eth_remote *remote)
{
	struct eth_switch *sw = fabric_switch(f);
	unsigned int port = SWITCH_PORTS - sw->remotes;

	if (!port || fabric_peer(f, port))
		return 0;
	sw->remote[port] = remote;
	sw->remotes++;
	return port;
}

static void eth_switch_release(void *arg)
{
	struct eth_switch *sw = arg;

	eth_fdb_free(sw->db);
	free(sw);
}

/**
 * eth_switch_start() - make the switch of an Ethernet fabric
 * @f: the fabric, which no HCA has joined, and which frees the switch at its end
 *
 * Return: 0 or -ENOMEM.
 */
int eth_switch_start(struct fabric *f)
{
	struct eth_switch *sw = calloc(1, sizeof(*sw));

	if (!sw)
		return -ENOMEM;
	sw->db = eth_fdb_new(SWITCH_PORTS, ETH_LEARN_MAX, ETH_AGE_S * NS_PER_S);
	if (!sw->db) {
		free(sw);
		return -ENOMEM;
	}
	fabric_set_switch(f, sw, eth_switch_release);
	return 0;
}
