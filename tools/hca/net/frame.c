// SPDX-License-Identifier: GPL-2.0
/*
 * The parser of frames. Formats are those of IEEE 802.3 and 802.1Q, RFC 791, 8200, 4302, 4303,
 * 9293 and 768.
 */
#include <string.h>

#include "bytes.h"
#include "frame.h"

#define IPV4_BYTES	20u
#define IPV6_BYTES	40u
#define AH_SPI		4		/* offset of the SPI in an authentication header */
#define TCP_BYTES	20
#define UDP_BYTES	8
#define IPV4_FRAGMENT	0x3fff		/* more fragments, or an offset */

/* ---- the fourth layer ------------------------------------------------------------------------ */

static void parse_tcp(struct frame *f)
{
	const uint8_t *p = f->data + f->l4;
	size_t room = f->ip_end - f->l4, header;

	if (room < TCP_BYTES)
		return;
	header = (p[12] >> 4) * 4u;
	if (header < TCP_BYTES || header > room)
		return;
	f->l4_type = L4_TCP;
	f->sport = get_be16(p);
	f->dport = get_be16(p + 2);
	f->tcp_seq = get_be32(p + 4);
	f->tcp_flags = get_be16(p + 12) & 0x1ff;
	f->payload = f->l4 + header;
	f->l4_end = f->ip_end;
}

static void parse_udp(struct frame *f, enum frame_lengths lengths)
{
	const uint8_t *p = f->data + f->l4;
	size_t room = f->ip_end - f->l4, len;

	if (room < UDP_BYTES)
		return;
	len = lengths == LENGTHS_OF_FRAME ? get_be16(p + 4) : room;
	if (len < UDP_BYTES || len > room)
		return;
	f->l4_type = L4_UDP;
	f->sport = get_be16(p);
	f->dport = get_be16(p + 2);
	f->payload = f->l4 + UDP_BYTES;
	f->l4_end = f->l4 + len;
}

static void parse_l4(struct frame *f, enum frame_lengths lengths)
{
	size_t room = f->ip_end - f->l4;

	if (f->frag)
		return;
	switch (f->protocol) {
	case PROTO_TCP:
		parse_tcp(f);
		break;
	case PROTO_UDP:
		parse_udp(f, lengths);
		break;
	case PROTO_ESP:
		if (room >= 4)
			f->spi = get_be32(f->data + f->l4);
		break;
	case PROTO_AH:
		if (room >= AH_SPI + 4)
			f->spi = get_be32(f->data + f->l4 + AH_SPI);
		break;
	default:
		break;
	}
}

/* ---- IP -------------------------------------------------------------------------------------- */

static void parse_ipv4(struct frame *f, enum frame_lengths lengths)
{
	const uint8_t *p = f->data + f->l3;
	size_t room = f->len - f->l3, header, total;

	if (room < IPV4_BYTES || p[0] >> 4 != 4)
		return;
	header = (p[0] & 0xf) * 4u;
	total = lengths == LENGTHS_OF_FRAME ? get_be16(p + 2) : room;
	if (header < IPV4_BYTES || header > total || total > room)
		return;
	f->ip_version = 4;
	f->ihl = p[0] & 0xf;
	f->tclass = p[1];
	f->frag = get_be16(p + 6) & IPV4_FRAGMENT;
	f->ttl = p[8];
	f->protocol = p[9];
	memcpy(f->sip + IP_BYTES - 4, p + 12, 4);
	memcpy(f->dip + IP_BYTES - 4, p + 16, 4);
	f->l4 = f->l3 + header;
	f->ip_end = f->l3 + total;
	parse_l4(f, lengths);
}

static bool is_extension(uint8_t protocol)
{
	return protocol == PROTO_HOPS || protocol == PROTO_ROUTING || protocol == PROTO_FRAGMENT ||
	       protocol == PROTO_OPTIONS;
}

/*
 * Step over the extension headers. Behind the header of a fragment other than the first one there
 * is no header, whatever the next-header field says. An authentication header is no extension
 * here, because steering rules name it as the protocol. Returns false for a header that the packet
 * does not hold.
 */
static bool skip_extensions(struct frame *f)
{
	bool first = true;

	while (first && is_extension(f->protocol)) {
		const uint8_t *p = f->data + f->l4;
		size_t room = f->ip_end - f->l4, bytes;

		if (room < 8)
			return false;
		bytes = f->protocol == PROTO_FRAGMENT ? 8 : (p[1] + 1) * 8u;
		if (bytes > room)
			return false;
		if (f->protocol == PROTO_FRAGMENT) {
			f->frag = true;
			first = !(get_be16(p + 2) & 0xfff8);
		}
		f->protocol = p[0];
		f->l4 += bytes;
	}
	return true;
}

static void parse_ipv6(struct frame *f, enum frame_lengths lengths)
{
	const uint8_t *p = f->data + f->l3;
	size_t room = f->len - f->l3, total;

	if (room < IPV6_BYTES || p[0] >> 4 != 6)
		return;
	total = lengths == LENGTHS_OF_FRAME ? IPV6_BYTES + get_be16(p + 4) : room;
	if (total > room)
		return;
	f->protocol = p[6];
	f->l4 = f->l3 + IPV6_BYTES;
	f->ip_end = f->l3 + total;
	if (!skip_extensions(f)) {
		f->protocol = 0;
		f->frag = false;
		f->l4 = 0;
		f->ip_end = 0;
		return;
	}
	f->ip_version = 6;
	f->tclass = get_be16(p) >> 4;
	f->flow_label = get_be32(p) & 0xfffff;
	f->ttl = p[7];
	memcpy(f->sip, p + 8, IP_BYTES);
	memcpy(f->dip, p + 24, IP_BYTES);
	parse_l4(f, lengths);
}

/* ---- Ethernet -------------------------------------------------------------------------------- */

static void parse_tags(struct frame *f)
{
	while (f->tags < FRAME_TAGS && (f->ethertype == ETYPE_CTAG || f->ethertype == ETYPE_STAG) &&
	       f->len >= f->l3 + TAG_BYTES) {
		const uint8_t *p = f->data + f->l3;

		f->tag[f->tags].type = f->ethertype;
		f->tag[f->tags].tci = get_be16(p);
		f->tags++;
		f->ethertype = get_be16(p + 2);
		f->l3 += TAG_BYTES;
	}
}

/**
 * frame_parse() - read the headers of a frame
 * @f: filled; it points into @data
 * @data: the frame, from the destination MAC to the last byte before the FCS
 * @len: bytes of the frame
 * @lengths: what the lengths in its headers mean
 *
 * Return: false if the frame is too short for an Ethernet header. Then only @f->data and @f->len
 * are valid.
 */
bool frame_parse(struct frame *f, const void *data, size_t len, enum frame_lengths lengths)
{
	memset(f, 0, sizeof(*f));
	f->data = data;
	f->len = len;
	if (len < ETH_BYTES)
		return false;
	memcpy(f->dmac, f->data, MAC_BYTES);
	memcpy(f->smac, f->data + MAC_BYTES, MAC_BYTES);
	f->ethertype = get_be16(f->data + 2 * MAC_BYTES);
	f->l3 = ETH_BYTES;
	parse_tags(f);
	if (f->ethertype == ETYPE_IPV4)
		parse_ipv4(f, lengths);
	else if (f->ethertype == ETYPE_IPV6)
		parse_ipv6(f, lengths);
	return true;
}
