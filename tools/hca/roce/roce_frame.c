// SPDX-License-Identifier: GPL-2.0
/*
 * Frames of RoCE (annexes A16 and A17 of the InfiniBand specification). Version 1 is the GRH and
 * what follows it behind an EtherType of its own. In version 2 an IP header and a UDP header take
 * the place of the GRH. There is an invariant CRC in both, and no variant CRC.
 */
#include <string.h>

#include "bytes.h"
#include "csum.h"
#include "frame.h"
#include "icrc.h"
#include "roce_frame.h"
#include "roce_packet.h"
#include "wire.h"

#define UDP_BYTES	8
#define GRH_NEXT_IBA	0x1b
#define V6_LEN		4	/* offsets in GRH and IPv6 header */
#define V6_NEXT		6
#define V4_LEN		2
#define V4_WORDS	5	/* of 32 bits in an IPv4 header without options */

/* ---- which frames ---------------------------------------------------------------------------- */

/*
 * The destination port of UDP counts also if the lengths of the headers contradict each other: such
 * a frame is a wrong frame of RoCE.
 */
static bool is_v2(const struct frame *f)
{
	return f->ip_version && f->protocol == PROTO_UDP && !f->frag &&
	       f->ip_end >= f->l4 + UDP_BYTES && get_be16(f->data + f->l4 + 2) == ROCE_PORT;
}

/**
 * roce_frame_version() - tell of which version of RoCE a frame is
 * @f: the frame
 *
 * Return: ROCE_V1_BIT, ROCE_V2_BIT, or 0 for a frame that is not of RoCE.
 */
unsigned int roce_frame_version(const struct frame *f)
{
	if (f->ethertype == ETYPE_ROCE)
		return ROCE_V1_BIT;
	return is_v2(f) ? ROCE_V2_BIT : 0;
}

/* ---- making a frame -------------------------------------------------------------------------- */

static size_t net_bytes(const struct roce_headers *h)
{
	return h->kind == ROCE_IP4 ? IPV4_BYTES : ROCE_NET_BYTES;
}

static size_t frame_bytes(const struct packet *p)
{
	const struct roce_headers *h = roce_hdr(p);

	return ETH_BYTES + (h->vlan ? TAG_BYTES : 0) + net_bytes(h) +
	       (h->kind == ROCE_GRH ? 0 : UDP_BYTES) + wire_transport_bytes(p);
}

/**
 * roce_frame_len() - length of the frame that carries a packet
 * @p: the packet
 *
 * Return: bytes without the frame check sequence, with padding.
 */
size_t roce_frame_len(const struct packet *p)
{
	size_t len = frame_bytes(p);

	return len < FRAME_MIN ? FRAME_MIN : len;
}

static uint8_t *put_ethernet(const struct roce_headers *h, uint8_t *at)
{
	static const uint16_t type[] = {
		[ROCE_GRH] = ETYPE_ROCE, [ROCE_IP6] = ETYPE_IPV6, [ROCE_IP4] = ETYPE_IPV4,
	};

	memcpy(at, h->dmac, MAC_BYTES);
	memcpy(at + MAC_BYTES, h->smac, MAC_BYTES);
	at += 2 * MAC_BYTES;
	if (h->vlan) {
		put_be16(at, ETYPE_CTAG);
		put_be16(at + 2, h->tci);
		at += TAG_BYTES;
	}
	put_be16(at, type[h->kind]);
	return at + 2;
}

static uint8_t *put_net(const struct packet *p, uint8_t *at)
{
	const struct roce_headers *h = roce_hdr(p);
	unsigned int len = wire_transport_bytes(p);

	memcpy(at, h->net, net_bytes(h));
	if (h->kind == ROCE_GRH)
		put_be16(at + V6_LEN, len);
	else if (h->kind == ROCE_IP6)
		put_be16(at + V6_LEN, UDP_BYTES + len);
	else
		put_be16(at + V4_LEN, IPV4_BYTES + UDP_BYTES + len);
	return at + net_bytes(h);
}

/* The checksum is 0, which says that there is none: the ICRC covers the packet. */
static uint8_t *put_udp(const struct packet *p, uint8_t *at)
{
	put_be16(at, roce_hdr(p)->udp_sport);
	put_be16(at + 2, ROCE_PORT);
	put_be16(at + 4, UDP_BYTES + wire_transport_bytes(p));
	put_be16(at + 6, 0);
	return at + UDP_BYTES;
}

/**
 * roce_frame_make() - make the frame that carries a packet
 * @p: the packet
 * @data: set to the bytes of the frame
 * @len: roce_frame_len()
 */
void roce_frame_make(const struct packet *p, uint8_t *data, size_t len)
{
	uint8_t *at = put_net(p, put_ethernet(roce_hdr(p), data));
	struct frame f;

	if (roce_hdr(p)->kind != ROCE_GRH)
		at = put_udp(p, at);
	at = wire_transport(p, at);
	memset(at, 0, data + len - at);
	frame_parse(&f, data, len, LENGTHS_OF_FRAME);
	csum_fill_ip(data, &f);
	icrc_fill(data, &f);
}

/* ---- reading a frame ------------------------------------------------------------------------- */

/* Check GRH, IP and UDP header. Sets where the BTH and the ICRC are, as offsets. */
static enum roce_drop check_grh(const struct frame *f, size_t *bth, size_t *icrc)
{
	const uint8_t *grh = f->data + f->l3;
	size_t bytes;

	if (f->len < f->l3 + ROCE_NET_BYTES)
		return ROCE_DROP_LENGTH;
	if (grh[0] >> 4 != 6 || grh[V6_NEXT] != GRH_NEXT_IBA)
		return ROCE_DROP_HEADER;
	bytes = get_be16(grh + V6_LEN);
	*bth = f->l3 + ROCE_NET_BYTES;
	if (bytes < ICRC_BYTES || bytes > f->len - *bth)
		return ROCE_DROP_LENGTH;
	*icrc = *bth + bytes - ICRC_BYTES;
	return ROCE_DROPS;
}

static enum roce_drop check_ip(const struct frame *f, size_t *bth, size_t *icrc)
{
	if (f->ip_version == 4 ? f->ihl != V4_WORDS : f->l4 - f->l3 != ROCE_NET_BYTES)
		return ROCE_DROP_HEADER;
	if (!csum_ip_ok(f))
		return ROCE_DROP_CHECKSUM;
	if (f->l4_type != L4_UDP || f->l4_end != f->ip_end || f->l4_end - f->payload < ICRC_BYTES)
		return ROCE_DROP_LENGTH;
	*bth = f->payload;
	*icrc = f->l4_end - ICRC_BYTES;
	return ROCE_DROPS;
}

static void read_headers(const struct frame *f, struct roce_headers *h)
{
	memcpy(h->dmac, f->dmac, sizeof(h->dmac));
	memcpy(h->smac, f->smac, sizeof(h->smac));
	h->vlan = f->tags;
	h->tci = f->tags ? f->tag[0].tci : 0;
	h->kind = f->ethertype == ETYPE_ROCE ? ROCE_GRH : f->ip_version == 4 ? ROCE_IP4 : ROCE_IP6;
	h->udp_sport = h->kind == ROCE_GRH ? 0 : f->sport;
	memcpy(h->net, f->data + f->l3, net_bytes(h));
	if (h->kind == ROCE_IP4) {
		memset(h->net + NET_DIP, 0, 10);
		memset(h->net + NET_DIP + 10, 0xff, 2);
		memcpy(h->net + NET_DIP + 12, h->net + IPV4_DIP, 4);
	}
}

/**
 * roce_frame_read() - read the packet that a frame carries
 * @f: the frame, of RoCE
 * @p: set to the packet
 * @why: set to the reason in words if it is a ROCE_DROP_TRANSPORT
 *
 * Checks all that does not depend on queue pairs and addresses.
 *
 * Return: ROCE_DROPS, or why the frame is to be dropped.
 */
enum roce_drop roce_frame_read(const struct frame *f, struct packet *p, const char **why)
{
	size_t bth, icrc;
	enum roce_drop drop;

	if (f->tags > 1 || (f->tags && !frame_has_tag(f, ETYPE_CTAG)))
		return ROCE_DROP_VLAN;
	drop = f->ethertype == ETYPE_ROCE ? check_grh(f, &bth, &icrc) : check_ip(f, &bth, &icrc);
	if (drop != ROCE_DROPS)
		return drop;
	if (!icrc_covers(f))
		return ROCE_DROP_LENGTH;
	if (!icrc_ok(f))
		return ROCE_DROP_ICRC;
	*why = wire_parse(p, f->data + bth, icrc - bth);
	if (*why)
		return ROCE_DROP_TRANSPORT;
	read_headers(f, roce_hdr(p));
	return ROCE_DROPS;
}
