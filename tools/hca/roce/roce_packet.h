/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCE's own part of a packet: what @link_headers of struct packet holds.
 */
#ifndef BLUEBELL_ROCE_PACKET_H
#define BLUEBELL_ROCE_PACKET_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

#define ROCE_NET_BYTES	40	/* of GRH and IPv6 header; an IPv4 header has IPV4_BYTES */
#define IPV4_BYTES	20
#define NET_SIP		8	/* offsets of the addresses in GRH and IPv6 header */
#define NET_DIP		24
#define IPV4_SIP	12
#define IPV4_DIP	16

/* Kinds of network header, as in CQEs: MLX5_CQE_ROCE_L3_HEADER_TYPE_* of linux/mlx5/device.h. */
enum roce_kind { ROCE_GRH = 0, ROCE_IP6 = 1, ROCE_IP4 = 2 };

struct roce_headers {
	/*
	 * The network header. Behind an IPv4 header, at NET_DIP, is the destination as a mapped
	 * IPv6 address, so that the GID of a packet's destination is always there.
	 */
	uint8_t net[ROCE_NET_BYTES];
	uint8_t dmac[6], smac[6];
	uint16_t udp_sport;
	uint16_t tci;		/* of the VLAN tag */
	uint8_t kind;		/* enum roce_kind */
	bool vlan;		/* there is a tag */
	bool loop;		/* the packet does not leave the port */
	bool unsendable;	/* its source address does not exist any more */
};

static_assert(sizeof(struct roce_headers) <= PKT_LINK_BYTES, "PKT_LINK_BYTES is too small");

static inline struct roce_headers *roce_hdr(const struct packet *p)
{
	return (struct roce_headers *)p->link_headers;
}

static inline uint16_t roce_vid(const struct roce_headers *h)
{
	return h->vlan ? h->tci & 0xfff : 0;
}

#endif
