/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ethernet frames: where the headers of a frame begin, and the fields that flow steering, receive
 * side scaling and checksums look at. Nothing here accesses the HCA or guest memory.
 */
#ifndef BLUEBELL_FRAME_H
#define BLUEBELL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAC_BYTES	6
#define ETH_BYTES	14		/* of the Ethernet header */
#define TAG_BYTES	4		/* of a VLAN tag */
#define FCS_BYTES	4		/* behind a frame on the wire, in no buffer of ours */
#define FRAME_MIN	60		/* shorter frames are padded by the sender */
#define FRAME_MAX	10240		/* of all ports, without FCS */
#define FRAME_TAGS	2		/* VLAN tags that the parser looks behind */
#define IP_BYTES	16		/* of an address; IPv4 addresses are in the last four */

enum frame_ethertype {
	ETYPE_IPV4 = 0x0800, ETYPE_ARP = 0x0806, ETYPE_CTAG = 0x8100, ETYPE_IPV6 = 0x86dd,
	ETYPE_STAG = 0x88a8, ETYPE_ROCE = 0x8915,
};

enum frame_protocol {
	PROTO_HOPS = 0, PROTO_ICMP = 1, PROTO_TCP = 6, PROTO_UDP = 17, PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44, PROTO_ESP = 50, PROTO_AH = 51, PROTO_ICMPV6 = 58, PROTO_NONE = 59,
	PROTO_OPTIONS = 60,
};

enum tcp_flag {
	TCP_FIN = 0x001, TCP_SYN = 0x002, TCP_RST = 0x004, TCP_PSH = 0x008, TCP_ACK = 0x010,
	TCP_URG = 0x020, TCP_ECE = 0x040, TCP_CWR = 0x080, TCP_NS = 0x100,
};

/* The header of the fourth layer, if the frame has all of it. A fragment never has any. */
enum frame_l4 { L4_NONE, L4_TCP, L4_UDP };

struct frame_tag {
	uint16_t type;		/* ETYPE_CTAG or ETYPE_STAG */
	uint16_t tci;		/* priority, DEI and VLAN id */
};

/*
 * A frame as frame_parse() reads it. Offsets are from the first byte of the destination MAC.
 *
 * Fields of headers that the frame does not have are 0. A header of which bytes are missing, or
 * whose lengths contradict the frame or each other, counts as not there, and so do all behind it:
 * with a broken IP header ethertype says IP, and ip_version is 0.
 */
struct frame {
	const uint8_t *data;
	size_t len;

	uint8_t dmac[MAC_BYTES], smac[MAC_BYTES];
	unsigned int tags;
	struct frame_tag tag[FRAME_TAGS];	/* the outermost first */
	uint16_t ethertype;	/* behind the tags; below 0x600: the length of an 802.3 frame */
	size_t l3;		/* offset of what is behind the tags */

	uint8_t ip_version;	/* 4, 6; or 0: no IP, or a broken header */
	uint8_t ihl;		/* of IPv4: words of 32 bits in the header */
	uint8_t tclass;		/* DSCP in the upper six bits, ECN in the lower two */
	uint8_t ttl;		/* or hop limit */
	uint32_t flow_label;
	uint8_t protocol;	/* of IPv6: of what is behind the extension headers */
	bool frag;		/* a fragment, also the first one of a packet */
	uint8_t sip[IP_BYTES], dip[IP_BYTES];
	size_t l4;		/* offset of what is behind the IP header and its extensions */
	size_t ip_end;		/* offset of the first byte behind the IP packet: of the padding */

	enum frame_l4 l4_type;
	uint16_t sport, dport;
	uint16_t tcp_flags;
	uint32_t tcp_seq;
	uint32_t spi;		/* of AH and ESP */
	size_t payload;		/* offset of what is behind the TCP or UDP header; or 0 */
	size_t l4_end;		/* offset of the first byte behind the TCP or UDP data */
};

/* What the lengths in the IP and UDP headers mean. */
enum frame_lengths {
	LENGTHS_OF_FRAME,	/* as on the wire: they must agree with the frame */
	/*
	 * They are not looked at: the data is the headers of a large send, whose lengths the sender
	 * of the segments writes, or it is compared with steering rules.
	 */
	LENGTHS_OF_TEMPLATE,
};

bool frame_parse(struct frame *f, const void *data, size_t len, enum frame_lengths lengths);

/* The outermost tag has this type. */
static inline bool frame_has_tag(const struct frame *f, enum frame_ethertype type)
{
	return f->tags && f->tag[0].type == type;
}

static inline uint16_t frame_tag_vid(const struct frame_tag *t)
{
	return t->tci & 0xfff;
}

static inline uint8_t frame_tag_priority(const struct frame_tag *t)
{
	return t->tci >> 13;
}

/* The bit of a group address: multicast or broadcast. */
static inline bool mac_is_multicast(const uint8_t mac[MAC_BYTES])
{
	return mac[0] & 1;
}

static inline bool mac_is_broadcast(const uint8_t mac[MAC_BYTES])
{
	return (mac[0] & mac[1] & mac[2] & mac[3] & mac[4] & mac[5]) == 0xff;
}

#endif
