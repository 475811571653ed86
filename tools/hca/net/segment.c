// SPDX-License-Identifier: GPL-2.0
/*
 * Segmentation.
 */
#include <string.h>

#include "bytes.h"
#include "csum.h"
#include "segment.h"

#define IPV4_TOTAL	2		/* offsets in the headers */
#define IPV4_ID		4
#define IPV6_PAYLOAD	4
#define IPV6_BYTES	40
#define TCP_SEQ		4
#define TCP_FLAGS	13
#define UDP_LENGTH	4

/**
 * segment_start() - begin to segment a payload
 * @s: filled; points into @header
 * @header: the template, which must stay until the last segment is made
 * @len: bytes of the template
 * @payload: bytes of the payload
 * @mss: bytes of payload in each segment
 *
 * The lengths in the template's IP and UDP headers do not matter.
 *
 * Return: NULL; or why the payload cannot be segmented.
 */
const char *segment_start(struct segmenter *s, const void *header, size_t len, size_t payload,
			  size_t mss)
{
	memset(s, 0, sizeof(*s));
	if (!mss)
		return "the segments have no payload (mss)";
	if (!payload)
		return "there is no payload";
	if (!frame_parse(&s->f, header, len, LENGTHS_OF_TEMPLATE) || s->f.l4_type == L4_NONE)
		return "the template has no TCP or UDP header";
	if (s->f.payload != len)
		return "the template does not end with its TCP or UDP header";
	s->mss = mss;
	s->payload = payload;
	if (len + (mss < payload ? mss : payload) > FRAME_MAX)
		return "the segments are longer than a frame";
	return NULL;
}

static void write_lengths(const struct segmenter *s, uint8_t *frame, size_t n)
{
	const struct frame *f = &s->f;
	uint8_t *ip = frame + f->l3;
	size_t end = f->payload + n;

	if (f->ip_version == 4) {
		put_be16(ip + IPV4_TOTAL, end - f->l3);
		put_be16(ip + IPV4_ID, get_be16(ip + IPV4_ID) + s->segments);
	} else {
		put_be16(ip + IPV6_PAYLOAD, end - f->l3 - IPV6_BYTES);
	}
	if (f->l4_type == L4_UDP)
		put_be16(frame + f->l4 + UDP_LENGTH, end - f->l4);
}

/* Only the first segment says that the window was reduced, only the last pushes and finishes. */
static void write_tcp(const struct segmenter *s, uint8_t *frame, bool last)
{
	uint8_t *tcp = frame + s->f.l4;

	put_be32(tcp + TCP_SEQ, s->f.tcp_seq + s->done);
	if (s->segments)
		tcp[TCP_FLAGS] &= ~TCP_CWR;
	if (!last)
		tcp[TCP_FLAGS] &= ~(TCP_FIN | TCP_PSH);
}

/**
 * segment_len() - the length of the next segment
 * @s: the state
 *
 * Return: bytes of its payload; 0 if there are no more segments.
 */
size_t segment_len(const struct segmenter *s)
{
	size_t left = s->payload - s->done;

	return left < s->mss ? left : s->mss;
}

/**
 * segment_next() - write the header of the next segment
 * @s: the state
 * @frame: where the segment begins; room for the template and @s->mss bytes
 *
 * The payload of the segment is the bytes from @s->done, before the call, on. Its place is behind
 * the header, @s->f.payload bytes from @frame.
 *
 * Return: bytes of the segment's payload; 0 if there are no more segments.
 */
size_t segment_next(struct segmenter *s, uint8_t *frame)
{
	size_t n = segment_len(s);

	if (!n)
		return 0;
	memcpy(frame, s->f.data, s->f.payload);
	write_lengths(s, frame, n);
	if (s->f.l4_type == L4_TCP)
		write_tcp(s, frame, s->done + n == s->payload);
	s->done += n;
	s->segments++;
	return n;
}

/**
 * segment_seal() - write the checksums of a segment whose payload is in place
 * @s: the state
 * @frame: the segment
 * @len: bytes of it
 * @ip: write the checksum of the IPv4 header
 * @l4: write the TCP or UDP checksum
 */
void segment_seal(const struct segmenter *s, uint8_t *frame, size_t len, bool ip, bool l4)
{
	struct frame f = s->f;

	f.data = frame;
	f.len = len;
	f.ip_end = len;
	f.l4_end = len;
	if (ip)
		csum_fill_ip(frame, &f);
	if (l4)
		csum_fill_l4(frame, &f);
}
