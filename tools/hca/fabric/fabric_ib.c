// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of InfiniBand at the port of an HCA: which packets pass its link, how it counts them, and
 * their records in captures.
 *
 * The link type of a capture is that of Endace's Extensible Record Format, as in captures of real
 * adapters and analyzers: Wireshark has a dissector of InfiniBand, but does not read
 * LINKTYPE_INFINIBAND.
 */
#include <endian.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

#include "fabric.h"
#include "fabric_priv.h"
#include "hca.h"
#include "ib_packet.h"
#include "ifc.h"
#include "packet.h"
#include "profile.h"
#include "wire.h"

#define NS_PER_S	1000000000ull

/* The ERF header, at the start of the data of each record: its size, offsets and values. */
#define ERF_BYTES	16
#define ERF_TYPE	8
#define ERF_FLAGS	9
#define ERF_RECORD_LEN	10
#define ERF_WIRE_LEN	14
#define ERF_INFINIBAND	21
#define ERF_VARYING_LEN	4

/**
 * fabric_count() - count a packet that an HCA sends or receives
 * @hca: the HCA
 * @p: the packet
 * @tx: true: the packet is sent; false: received
 */
void fabric_count(struct hca *hca, const struct packet *p, bool tx)
{
	bool mcast = lid_is_mcast(ib_hdr(p)->dlid);
	struct counters *c = &hca->count;
	unsigned int octets = wire_octets(p);

	atomic_fetch_add(tx ? &c->packets_tx : &c->packets_rx, 1);
	atomic_fetch_add(tx ? &c->octets_tx : &c->octets_rx, octets);
	if (!mcast)
		return;
	atomic_fetch_add(tx ? &c->mcast_tx : &c->mcast_rx, 1);
	atomic_fetch_add(tx ? &c->mcast_octets_tx : &c->mcast_octets_rx, octets);
}

/**
 * fabric_port_open() - tell whether a packet may pass the link
 * @port: the port
 * @p: the packet
 *
 * Subnet management packets use a virtual lane of their own, which is open in every state.
 */
bool fabric_port_open(const struct fabric_port *port, const struct packet *p)
{
	return port->up && (packet_is_smp(p) || (port->state == PORT_ACTIVE &&
						 port->far_state == PORT_ACTIVE));
}

static bool fabric_port_has_lid(const struct fabric_port *port, uint16_t dlid)
{
	return dlid == LID_PERMISSIVE || lid_is_mcast(dlid) ||
	       dlid >> port->lmc == port->lid >> port->lmc;
}

static bool ib_accepts(struct hca *hca, const struct packet_head *h)
{
	const struct fabric_port *port = hca->fabric_port;
	const struct packet *p = packet_of(h);

	return fabric_port_open(port, p) && fabric_port_has_lid(port, ib_hdr(p)->dlid) &&
	       h->len <= hca->profile->mtu && h->len <= port->far_mtu;
}

static struct packet_head *ib_copy(struct fabric *f, const struct packet_head *h)
{
	struct packet *copy = packet_copy(f, packet_of(h));

	return copy ? &copy->head : NULL;
}

static void ib_free(struct fabric *f, struct packet_head *h)
{
	packet_free(f, packet_of(h));
}

static bool ib_impaired(const struct packet_head *h)
{
	return !packet_is_smp(packet_of(h));
}

static void ib_describe(const struct packet_head *h, char *text, size_t len)
{
	const struct packet *p = packet_of(h);

	snprintf(text, len, "\"qpn\":%u,\"psn\":%u", p->dqpn, p->psn);
}

static size_t ib_capture(const struct packet_head *h, uint8_t *record)
{
	size_t len = wire_packet(packet_of(h), record + ERF_BYTES);

	memset(record, 0, ERF_BYTES);
	record[ERF_TYPE] = ERF_INFINIBAND;
	record[ERF_FLAGS] = ERF_VARYING_LEN;
	put_be16(record + ERF_RECORD_LEN, ERF_BYTES + len);
	put_be16(record + ERF_WIRE_LEN, len);
	return ERF_BYTES + len;
}

/* The time is little-endian and in units of 2^-32 s, all else is big-endian. */
static void ib_stamp(uint8_t *record, uint64_t ns)
{
	uint64_t time = htole64(ns / NS_PER_S << 32 | (ns % NS_PER_S << 32) / NS_PER_S);

	memcpy(record, &time, sizeof(time));
}

const struct packet_type ib_packet_type = {
	.copy = ib_copy, .free = ib_free, .accepts = ib_accepts, .impaired = ib_impaired,
	.describe = ib_describe, .capture_type = DLT_ERF, .capture_max = ERF_BYTES + WIRE_MAX,
	.capture = ib_capture, .stamp = ib_stamp,
};
