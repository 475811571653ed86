// SPDX-License-Identifier: GPL-2.0
/*
 * The invariant CRC of RoCE packets (annexes A16 and A17 of the InfiniBand specification): as on
 * InfiniBand with a GRH, but with ones for the LRH, which RoCE does not have. Fields that change on
 * the way count as ones.
 */
#include <string.h>
#include <zlib.h>

#include "bytes.h"
#include "icrc.h"

#define LRH_BYTES	8
#define GRH_BYTES	40
#define GRH_PAYLOAD	4		/* offset of the length of what follows, in GRH and IPv6 */
#define IPV4_MAX_BYTES	60
#define UDP_BYTES	8
#define BTH_BYTES	12
#define MASKED_MAX	(LRH_BYTES + IPV4_MAX_BYTES + UDP_BYTES + BTH_BYTES)

/* Where a RoCE packet has its headers; offsets in the frame. */
struct roce {
	size_t bth;
	size_t icrc;
};

/* Version 1: the GRH and what follows, in a frame of a type of its own. */
static bool roce_v1(const struct frame *f, struct roce *r)
{
	size_t bytes;

	if (f->ethertype != ETYPE_ROCE || f->len < f->l3 + GRH_BYTES)
		return false;
	bytes = get_be16(f->data + f->l3 + GRH_PAYLOAD);
	r->bth = f->l3 + GRH_BYTES;
	if (bytes < BTH_BYTES + ICRC_BYTES || bytes > f->len - r->bth)
		return false;
	r->icrc = r->bth + bytes - ICRC_BYTES;
	return true;
}

static bool roce_v2(const struct frame *f, struct roce *r)
{
	if (f->l4_type != L4_UDP || f->dport != ROCE_PORT ||
	    f->l4_end - f->payload < BTH_BYTES + ICRC_BYTES)
		return false;
	/* IPv6 extension headers, which RoCE does not use, could be longer than MASKED_MAX. */
	if (f->ip_version == 6 && f->l4 - f->l3 != GRH_BYTES)
		return false;
	r->bth = f->payload;
	r->icrc = f->l4_end - ICRC_BYTES;
	return true;
}

static bool roce_find(const struct frame *f, struct roce *r)
{
	return roce_v1(f, r) || roce_v2(f, r);
}

/* Traffic class, flow label and hop limit of IPv6 and the GRH; type of service, TTL, checksum. */
static void mask_network(uint8_t *p, bool v4)
{
	if (v4) {
		p[1] = 0xff;
		p[8] = 0xff;
		memset(p + 10, 0xff, 2);
	} else {
		p[0] |= 0x0f;
		memset(p + 1, 0xff, 3);
		p[7] = 0xff;
	}
}

static uint32_t icrc_compute(const struct frame *f, const struct roce *r)
{
	size_t header = r->bth + BTH_BYTES - f->l3;
	uint8_t masked[MASKED_MAX], *p = masked + LRH_BYTES;
	uint32_t crc;

	memset(masked, 0xff, LRH_BYTES);
	memcpy(p, f->data + f->l3, header);
	mask_network(p, f->ip_version == 4);
	if (f->l4_type == L4_UDP)
		memset(p + (f->l4 - f->l3) + 6, 0xff, 2);	/* the UDP checksum */
	p[r->bth - f->l3 + 4] = 0xff;		/* FECN, BECN and a reserved field */
	crc = crc32(0, masked, LRH_BYTES + header);
	return crc32(crc, f->data + r->bth + BTH_BYTES, r->icrc - r->bth - BTH_BYTES);
}

/**
 * icrc_covers() - whether a frame is a RoCE packet with room for an ICRC
 * @f: the frame
 *
 * Return: true if it is one of version 1 or 2.
 */
bool icrc_covers(const struct frame *f)
{
	struct roce r;

	return roce_find(f, &r);
}

/**
 * icrc_ok() - whether the ICRC of a frame is right
 * @f: the frame
 *
 * Return: false also if the frame is no RoCE packet.
 */
bool icrc_ok(const struct frame *f)
{
	struct roce r;
	uint32_t crc;

	if (!roce_find(f, &r))
		return false;
	memcpy(&crc, f->data + r.icrc, sizeof(crc));
	return le32toh(crc) == icrc_compute(f, &r);
}

/**
 * icrc_fill() - write the ICRC of a frame
 * @data: the bytes of the frame, which @f points to
 * @f: the frame; if it is no RoCE packet nothing is written
 */
void icrc_fill(uint8_t *data, const struct frame *f)
{
	struct roce r;
	uint32_t crc;

	if (!roce_find(f, &r))
		return;
	crc = htole32(icrc_compute(f, &r));
	memcpy(data + r.icrc, &crc, sizeof(crc));
}
