// SPDX-License-Identifier: GPL-2.0
/*
 * Internet checksums.
 */
#include <string.h>
#include <zlib.h>

#include "bytes.h"
#include "csum.h"
#include "frame.h"

#define IPV4_CSUM	10		/* offsets of the checksum in its header */
#define TCP_CSUM	16
#define UDP_CSUM	6

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/**
 * csum_sum() - the one's complement sum of some bytes
 * @data: the bytes; one of 0 stands behind an odd number of bytes
 * @len: how many
 * @start: sum of words that belong to it, too
 *
 * The bytes are added as words of 32 bits in the order of this machine, and the sum is brought into
 * network order at the end: RFC 1071 has the reason why that is the same.
 *
 * Return: the sum, not complemented.
 */
uint16_t csum_sum(const void *data, size_t len, uint64_t start)
{
	const uint8_t *p = data;
	uint64_t even = 0, odd = 0;
	uint32_t word[2];
	uint16_t half;

	for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
		memcpy(word, p, sizeof(word));
		even += word[0];
		odd += word[1];
	}
	for (; len; len -= len > 1 ? 2 : 1, p += 2) {
		half = 0;
		memcpy(&half, p, len > 1 ? 2 : 1);
		even += half;
	}
	half = fold(even + odd);
	return fold(start + get_be16(&half));
}

/**
 * csum_packet() - the sum of an IP packet, from its header to its last byte
 * @f: a frame with an IP header
 *
 * Return: the sum, without VLAN tags and without padding.
 */
uint16_t csum_packet(const struct frame *f)
{
	return csum_sum(f->data + f->l3, f->ip_end - f->l3, 0);
}

static uint16_t ip_sum(const struct frame *f)
{
	return csum_sum(f->data + f->l3, f->ihl * 4u, 0);
}

/* The sum of the pseudo header and of the TCP or UDP header and data. */
static uint16_t l4_sum(const struct frame *f)
{
	size_t len = f->l4_end - f->l4;
	/* The length of the pseudo header has 32 bits in IPv6. */
	uint64_t pseudo = f->protocol + (len >> 16) + (len & 0xffff);

	pseudo += csum_sum(f->sip, IP_BYTES, 0);
	pseudo += csum_sum(f->dip, IP_BYTES, 0);
	return csum_sum(f->data + f->l4, len, pseudo);
}

/**
 * csum_ip_ok() - whether the checksum of the IP header is right
 * @f: the frame
 *
 * Return: false also if the frame has no IP header. IPv6 has no checksum.
 */
bool csum_ip_ok(const struct frame *f)
{
	return f->ip_version == 6 || (f->ip_version == 4 && ip_sum(f) == 0xffff);
}

/**
 * csum_l4_ok() - whether the TCP or UDP checksum is right
 * @f: the frame
 *
 * Return: false also if the frame has neither header. A UDP checksum of 0 says that the sender
 * computed none, which IPv4 allows.
 */
bool csum_l4_ok(const struct frame *f)
{
	if (f->l4_type == L4_NONE)
		return false;
	if (f->l4_type == L4_UDP && f->ip_version == 4 && !get_be16(f->data + f->l4 + UDP_CSUM))
		return true;
	return l4_sum(f) == 0xffff;
}

/**
 * csum_fill_ip() - write the checksum of the IPv4 header
 * @data: the bytes of the frame, which @f points to
 * @f: the frame; without IPv4 header nothing is written
 */
void csum_fill_ip(uint8_t *data, const struct frame *f)
{
	uint8_t *field = data + f->l3 + IPV4_CSUM;

	if (f->ip_version != 4)
		return;
	put_be16(field, 0);
	put_be16(field, ~ip_sum(f));
}

/**
 * csum_fill_l4() - write the TCP or UDP checksum, whatever is in its field before
 * @data: the bytes of the frame, which @f points to
 * @f: the frame; without a TCP or UDP header nothing is written
 */
void csum_fill_l4(uint8_t *data, const struct frame *f)
{
	uint8_t *field = data + f->l4 + (f->l4_type == L4_TCP ? TCP_CSUM : UDP_CSUM);
	uint16_t sum;

	if (f->l4_type == L4_NONE)
		return;
	put_be16(field, 0);
	sum = ~l4_sum(f);
	/* In UDP a checksum of 0 says that there is none; its other form of 0 is written. */
	put_be16(field, sum || f->l4_type == L4_TCP ? sum : 0xffff);
}

/**
 * frame_fcs() - compute the frame check sequence that follows a frame on the wire
 * @data: the frame
 * @len: bytes of it
 * @fcs: gets the sequence, in the order of the wire
 */
void frame_fcs(const uint8_t *data, size_t len, uint8_t fcs[FCS_BYTES])
{
	uint32_t crc = crc32(0, data, len);
	unsigned int i;

	for (i = 0; i < FCS_BYTES; i++)
		fcs[i] = crc >> 8 * i;
}
