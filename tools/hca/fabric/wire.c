// SPDX-License-Identifier: GPL-2.0
/*
 * The bytes of a packet on the wire: its headers, the payload with its pad, and the two CRCs. All
 * fields are big-endian but the CRCs.
 */
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#include "ib_packet.h"
#include "ifc.h"
#include "packet.h"
#include "wire.h"

#define LRH_BYTES	8
#define BTH_BYTES	12
#define VCRC_BYTES	2
#define LNH_BTH		2	/* what follows the LRH */
#define LNH_GRH		3
#define LNH_MASK	3
#define GRH_NEXT_IBA	0x1b
#define BTH_SE		0x80
#define BTH_M		0x40
#define BTH_TVER	0x0f
#define BTH_BECN	(1u << 30)
#define VCRC_POLY	0xd008	/* x^16 + x^12 + x^3 + x + 1, the highest term in bit 0 */

/* Extended headers in their order on the wire. */
enum {
	XRCETH = 1 << 0, DETH = 1 << 1, RETH = 1 << 2, ATOMIC_ETH = 1 << 3, MASKS = 1 << 4,
	AETH = 1 << 5, ATOMIC_ACK_ETH = 1 << 6, IMM_DT = 1 << 7, IETH = IMM_DT,
	DCETH = 1 << 8, DC_KEY = 1 << 9,
};

/*
 * Extended headers of each operation. DETH, XRCETH and DCETH depend on the service, not the
 * operation.
 */
static const uint16_t ext_headers[BTH_OP_MASK + 1] = {
	[BTH_SEND_LAST_IMM] = IMM_DT,
	[BTH_SEND_ONLY_IMM] = IMM_DT,
	[BTH_WRITE_FIRST] = RETH,
	[BTH_WRITE_LAST_IMM] = IMM_DT,
	[BTH_WRITE_ONLY] = RETH,
	[BTH_WRITE_ONLY_IMM] = RETH | IMM_DT,
	[BTH_READ_REQ] = RETH,
	[BTH_READ_FIRST] = AETH,
	[BTH_READ_LAST] = AETH,
	[BTH_READ_ONLY] = AETH,
	[BTH_ACK] = AETH,
	[BTH_ATOMIC_ACK] = AETH | ATOMIC_ACK_ETH,
	[BTH_CMP_SWAP] = ATOMIC_ETH,
	[BTH_FETCH_ADD] = ATOMIC_ETH,
	[BTH_SEND_LAST_INV] = IETH,
	[BTH_SEND_ONLY_INV] = IETH,
	/*
	 * No public document tells how mlx5 devices send masked atomics. Here the field boundaries
	 * of a masked fetch-and-add replace the compare data, and the two masks of a masked
	 * compare-and-swap follow the AtomicETH.
	 */
	[BTH_MASKED_CMP_SWAP] = ATOMIC_ETH | MASKS,
	[BTH_MASKED_FETCH_ADD] = ATOMIC_ETH,
	[BTH_CONNECT] = DC_KEY,
};

static unsigned int wire_ext_headers(const struct packet *p)
{
	uint8_t service = p->opcode & BTH_SERVICE_MASK, op = p->opcode & BTH_OP_MASK;

	if (service == BTH_UD)
		return DETH | ext_headers[op];
	if (service == BTH_XRC && !packet_is_response(p))
		return XRCETH | ext_headers[op];
	if (service == BTH_DC && !packet_is_response(p))
		return DCETH | ext_headers[op];
	return ext_headers[op];
}

static uint8_t *wire_put32(uint8_t *at, uint32_t v)
{
	put_be32(at, v);
	return at + 4;
}

static uint8_t *wire_put64(uint8_t *at, uint64_t v)
{
	put_be64(at, v);
	return at + 8;
}

/* Put the extended headers at @at. Returns the address after the last header. */
static uint8_t *wire_put_ext_headers(const struct packet *p, uint8_t *at)
{
	unsigned int h = wire_ext_headers(p);

	if (h & XRCETH)
		at = wire_put32(at, p->xrc_srqn & 0xffffff);
	if (h & DCETH) {
		at = wire_put32(at, p->sqpn & 0xffffff);
		at = wire_put32(at, p->dc_connection);
	}
	if (h & DC_KEY)
		at = wire_put64(at, p->dc_key);
	if (h & DETH) {
		at = wire_put32(at, p->qkey);
		at = wire_put32(at, p->sqpn & 0xffffff);
	}
	if (h & (RETH | ATOMIC_ETH)) {
		at = wire_put64(at, p->va);
		at = wire_put32(at, p->rkey);
	}
	if (h & RETH)
		at = wire_put32(at, p->dma_len);
	if (h & ATOMIC_ETH) {
		at = wire_put64(at, p->swap_add);
		at = wire_put64(at, p->compare);
	}
	if (h & MASKS) {
		at = wire_put64(at, p->swap_mask);
		at = wire_put64(at, p->compare_mask);
	}
	if (h & AETH)
		at = wire_put32(at, (uint32_t)p->syndrome << 24 | (p->msn & PSN_MASK));
	if (h & ATOMIC_ACK_ETH)
		at = wire_put64(at, p->orig);
	if (h & IMM_DT)
		at = wire_put32(at, p->imm);
	return at;
}

static const uint8_t *wire_get32(const uint8_t *at, uint32_t *v)
{
	*v = get_be32(at);
	return at + 4;
}

static const uint8_t *wire_get64(const uint8_t *at, uint64_t *v)
{
	*v = get_be64(at);
	return at + 8;
}

/* Read the extended headers at @at, which are all there. Returns the address after the last one. */
static const uint8_t *wire_get_ext_headers(struct packet *p, const uint8_t *at)
{
	unsigned int h = wire_ext_headers(p);
	uint32_t aeth;

	if (h & XRCETH)
		at = wire_get32(at, &p->xrc_srqn);
	if (h & DCETH) {
		at = wire_get32(at, &p->sqpn);
		at = wire_get32(at, &p->dc_connection);
	}
	if (h & DC_KEY)
		at = wire_get64(at, &p->dc_key);
	if (h & DETH) {
		at = wire_get32(at, &p->qkey);
		at = wire_get32(at, &p->sqpn);
	}
	if (h & (RETH | ATOMIC_ETH)) {
		at = wire_get64(at, &p->va);
		at = wire_get32(at, &p->rkey);
	}
	if (h & RETH)
		at = wire_get32(at, &p->dma_len);
	if (h & ATOMIC_ETH) {
		at = wire_get64(at, &p->swap_add);
		at = wire_get64(at, &p->compare);
	}
	if (h & MASKS) {
		at = wire_get64(at, &p->swap_mask);
		at = wire_get64(at, &p->compare_mask);
	}
	if (h & AETH) {
		at = wire_get32(at, &aeth);
		p->syndrome = aeth >> 24;
		p->msn = aeth & PSN_MASK;
	}
	if (h & ATOMIC_ACK_ETH)
		at = wire_get64(at, &p->orig);
	if (h & IMM_DT)
		at = wire_get32(at, &p->imm);
	p->xrc_srqn &= 0xffffff;
	p->sqpn &= 0xffffff;
	return at;
}

static unsigned int wire_pad(const struct packet *p)
{
	return -p->head.len & 3;
}

static unsigned int wire_ext_bytes(const struct packet *p)
{
	unsigned int h = wire_ext_headers(p);

	return (h & XRCETH ? 4 : 0) + (h & DCETH ? 8 : 0) + (h & DC_KEY ? 8 : 0) +
	       (h & DETH ? 8 : 0) + (h & RETH ? 16 : 0) +
	       (h & ATOMIC_ETH ? 28 : 0) + (h & MASKS ? 16 : 0) + (h & AETH ? 4 : 0) +
	       (h & ATOMIC_ACK_ETH ? 8 : 0) + (h & IMM_DT ? 4 : 0);
}

/**
 * wire_transport_bytes() - length of the part of a packet that does not belong to the link layer
 * @p: the packet
 *
 * Return: bytes from the BTH to the ICRC.
 */
unsigned int wire_transport_bytes(const struct packet *p)
{
	return BTH_BYTES + wire_ext_bytes(p) + p->head.len + wire_pad(p) + WIRE_ICRC_BYTES;
}

/**
 * wire_octets() - length of a packet as the counters of ports count it
 * @p: the packet
 *
 * Return: bytes from the LRH to the ICRC.
 */
unsigned int wire_octets(const struct packet *p)
{
	return LRH_BYTES + (ib_hdr(p)->grh ? GRH_BYTES : 0) + wire_transport_bytes(p);
}

static void wire_put_lrh(const struct packet *p, uint8_t *lrh)
{
	lrh[0] = ib_hdr(p)->vl << 4;
	lrh[1] = ib_hdr(p)->sl << 4 | (ib_hdr(p)->grh ? LNH_GRH : LNH_BTH);
	put_be16(lrh + 2, ib_hdr(p)->dlid);
	put_be16(lrh + 4, wire_octets(p) / 4);
	put_be16(lrh + 6, ib_hdr(p)->slid);
}

/* Path migration is not supported, so a connection is always in the state "migrated". */
static void wire_put_bth(const struct packet *p, uint8_t *bth)
{
	bool connected = (p->opcode & BTH_SERVICE_MASK) != BTH_UD;

	bth[0] = p->opcode;
	bth[1] = (p->solicited ? BTH_SE : 0) | (connected ? BTH_M : 0) | wire_pad(p) << 4;
	put_be16(bth + 2, p->pkey);
	put_be32(bth + 4, (p->becn ? BTH_BECN : 0) | (p->dqpn & 0xffffff));
	put_be32(bth + 8, (uint32_t)p->ack_req << 31 | (p->psn & PSN_MASK));
}

/* Operations of each service; bits of enum bth_op. */
#define OPS_UC		0x00000fffu		/* SEND and RDMA WRITE */
#define OPS_RC		(OPS_UC | 0x0cdff000u)	/* READ, atomics, answers, SEND with IETH */
#define OPS_DC		(OPS_RC | 1u << BTH_CONNECT | 1u << BTH_DISCONNECT)
#define OPS_UD		(1u << BTH_SEND_ONLY | 1u << BTH_SEND_ONLY_IMM)

static bool wire_opcode_ok(uint8_t opcode)
{
	uint8_t op = opcode & BTH_OP_MASK;

	switch (opcode & BTH_SERVICE_MASK) {
	case BTH_RC:
	case BTH_XRC:
		return OPS_RC >> op & 1;
	case BTH_UC:
		return OPS_UC >> op & 1;
	case BTH_UD:
		return OPS_UD >> op & 1;
	case BTH_DC:
		return OPS_DC >> op & 1;
	case BTH_CNP:
		return opcode == CNP_OPCODE;
	default:
		return false;
	}
}

static void wire_get_bth(struct packet *p, const uint8_t *bth)
{
	p->opcode = bth[0];
	p->solicited = bth[1] & BTH_SE;
	p->pkey = get_be16(bth + 2);
	p->becn = get_be32(bth + 4) & BTH_BECN;
	p->dqpn = get_be32(bth + 4) & 0xffffff;
	p->ack_req = bth[8] & 0x80;
	p->psn = get_be32(bth + 8) & PSN_MASK;
}

/**
 * wire_parse() - read the part of a packet that does not belong to the link layer
 * @p: the packet, whose link layer's headers are left alone
 * @buf: bytes from the BTH to the pad, without the ICRC
 * @len: number of these bytes
 *
 * Return: NULL, or why the bytes are no packet.
 */
const char *wire_parse(struct packet *p, const uint8_t *buf, size_t len)
{
	size_t pad, left;

	if (len < BTH_BYTES)
		return "length";
	if (buf[1] & BTH_TVER)
		return "transport version";
	if (!wire_opcode_ok(buf[0]))
		return "opcode";
	wire_get_bth(p, buf);
	pad = buf[1] >> 4 & 3;
	if (len < BTH_BYTES + wire_ext_bytes(p) + pad)
		return "length";
	left = len - BTH_BYTES - wire_ext_bytes(p);
	if (left & 3 || left - pad > PKT_MTU_MAX ||
	    (p->opcode == CNP_OPCODE && left - pad != CNP_BYTES))
		return "length";
	wire_get_ext_headers(p, buf + BTH_BYTES);
	p->head.len = left - pad;
	memcpy(p->payload, buf + len - left, p->head.len);
	return NULL;
}

/**
 * wire_grh() - make the global route header of a packet
 * @p: a packet with a GRH
 * @grh: set to the header
 */
void wire_grh(const struct packet *p, uint8_t grh[GRH_BYTES])
{
	put_be32(grh, 6u << 28 | (uint32_t)ib_hdr(p)->tclass << 20 | ib_hdr(p)->flow_label);
	put_be16(grh + 4, wire_transport_bytes(p));
	grh[6] = GRH_NEXT_IBA;
	grh[7] = ib_hdr(p)->hop_limit;
	memcpy(grh + 8, ib_hdr(p)->sgid, sizeof(ib_hdr(p)->sgid));
	memcpy(grh + 24, ib_hdr(p)->dgid, sizeof(ib_hdr(p)->dgid));
}

/* The invariant CRC (7.8.1): bits that switches and routers may change count as ones. */
static uint32_t wire_icrc(const uint8_t *buf, size_t len)
{
	bool grh = (buf[1] & LNH_MASK) == LNH_GRH;
	unsigned int bth = LRH_BYTES + (grh ? GRH_BYTES : 0);
	uint8_t invariant[LRH_BYTES + GRH_BYTES + BTH_BYTES];
	unsigned int headers = bth + BTH_BYTES;

	memcpy(invariant, buf, headers);
	if (grh) {
		memset(invariant, 0xff, LRH_BYTES);
		invariant[8] |= 0x0f;			/* traffic class and flow label */
		memset(invariant + 9, 0xff, 3);
		invariant[15] = 0xff;			/* hop limit */
	} else {
		invariant[0] |= 0xf0;			/* virtual lane */
	}
	invariant[bth + 4] = 0xff;			/* reserved */
	return crc32(crc32(0, invariant, headers), buf + headers, len - headers);
}

/* The variant CRC (7.8.2), of the whole packet. */
static uint16_t wire_vcrc(const uint8_t *buf, size_t len)
{
	uint16_t crc = 0xffff;
	unsigned int bit;

	for (; len; len--) {
		crc ^= *buf++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? VCRC_POLY : 0);
	}
	return ~crc;
}

/**
 * wire_append_crcs() - append ICRC and VCRC to a packet
 * @buf: the bytes of the packet before the CRCs, with room for six more
 * @len: number of these bytes
 *
 * The term of the highest power is in bit 0 of each CRC, and is sent first.
 *
 * Return: the number of bytes of the whole packet.
 */
size_t wire_append_crcs(uint8_t *buf, size_t len)
{
	uint32_t icrc = htole32(wire_icrc(buf, len));
	uint16_t vcrc;

	memcpy(buf + len, &icrc, WIRE_ICRC_BYTES);
	len += WIRE_ICRC_BYTES;
	vcrc = htole16(wire_vcrc(buf, len));
	memcpy(buf + len, &vcrc, VCRC_BYTES);
	return len + VCRC_BYTES;
}

/**
 * wire_transport() - make the bytes of a packet that do not belong to the link layer
 * @p: the packet
 * @at: set to the bytes from the BTH to the pad, WIRE_ICRC_BYTES less than wire_transport_bytes()
 *
 * Return: the address behind them.
 */
uint8_t *wire_transport(const struct packet *p, uint8_t *at)
{
	wire_put_bth(p, at);
	at = wire_put_ext_headers(p, at + BTH_BYTES);
	memcpy(at, p->payload, p->head.len);
	at += p->head.len;
	memset(at, 0, wire_pad(p));
	return at + wire_pad(p);
}

/**
 * wire_packet() - make the bytes of a packet
 * @p: the packet
 * @buf: set to the bytes
 *
 * Return: the number of bytes.
 */
size_t wire_packet(const struct packet *p, uint8_t buf[WIRE_MAX])
{
	uint8_t *at = buf + LRH_BYTES;

	wire_put_lrh(p, buf);
	if (ib_hdr(p)->grh) {
		wire_grh(p, at);
		at += GRH_BYTES;
	}
	return wire_append_crcs(buf, wire_transport(p, at) - buf);
}
