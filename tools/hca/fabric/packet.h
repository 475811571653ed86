/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets of the transport, which an InfiniBand fabric carries as they are: the head; the headers
 * of the link layer, which only the link layer knows; the fields of the transport's headers (BTH
 * and the extended headers) in host order; and the payload. wire.c makes the bytes of a packet on
 * the wire, which only captures have.
 */
#ifndef BLUEBELL_PACKET_H
#define BLUEBELL_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "packet_head.h"

#define PKT_MTU_MAX	4096
#define PKT_LINK_BYTES	64	/* room for the headers of any link layer */
#define PSN_MASK	0xffffffu

/* BTH opcode: service in the top three bits, operation below. */
enum bth_service {
	BTH_RC = 0x00, BTH_UC = 0x20, BTH_UD = 0x60, BTH_CNP = 0x80, BTH_XRC = 0xa0,
	/*
	 * Of the opcodes that the specification leaves to manufacturers. No public document tells
	 * how mlx5 devices send packets of DC.
	 */
	BTH_DC = 0xc0,
	BTH_SERVICE_MASK = 0xe0,
	BTH_OP_MASK = 0x1f,
};

enum bth_op {
	BTH_SEND_FIRST = 0x00, BTH_SEND_MIDDLE = 0x01, BTH_SEND_LAST = 0x02,
	BTH_SEND_LAST_IMM = 0x03, BTH_SEND_ONLY = 0x04, BTH_SEND_ONLY_IMM = 0x05,
	BTH_WRITE_FIRST = 0x06, BTH_WRITE_MIDDLE = 0x07, BTH_WRITE_LAST = 0x08,
	BTH_WRITE_LAST_IMM = 0x09, BTH_WRITE_ONLY = 0x0a, BTH_WRITE_ONLY_IMM = 0x0b,
	BTH_READ_REQ = 0x0c, BTH_READ_FIRST = 0x0d, BTH_READ_MIDDLE = 0x0e, BTH_READ_LAST = 0x0f,
	BTH_READ_ONLY = 0x10, BTH_ACK = 0x11, BTH_ATOMIC_ACK = 0x12, BTH_CMP_SWAP = 0x13,
	BTH_FETCH_ADD = 0x14, BTH_SEND_LAST_INV = 0x16, BTH_SEND_ONLY_INV = 0x17,
	/* Not in the specification: masked atomics of mlx5 devices. */
	BTH_MASKED_CMP_SWAP = 0x1a, BTH_MASKED_FETCH_ADD = 0x1b,
	/* Of DC only. */
	BTH_CONNECT = 0x1c, BTH_DISCONNECT = 0x1d,
};

/* AETH syndrome: kind in bits 6:5, credits, timer or NAK code below. */
enum aeth {
	AETH_ACK = 0x00, AETH_RNR = 0x20, AETH_NAK = 0x60, AETH_KIND_MASK = 0x60,
	AETH_VALUE_MASK = 0x1f, AETH_NO_CREDITS = 0x1f,
	NAK_SEQ = 0x60, NAK_INVALID_REQ = 0x61, NAK_ACCESS = 0x62, NAK_REMOTE_OP = 0x63,
};

#define CNP_OPCODE	(BTH_CNP | 0x01)
#define CNP_BYTES	16	/* reserved, in the place of the payload */

struct packet {
	struct packet_head head;	/* first; its length is that of the payload */
	/* Headers of the link layer: of InfiniBand, struct ib_headers */
	_Alignas(uint64_t) uint8_t link_headers[PKT_LINK_BYTES];
	/* BTH */
	uint8_t opcode;
	bool solicited, ack_req;
	bool becn;			/* of RoCE: the packet tells of congestion */
	uint16_t pkey;
	uint32_t dqpn;
	uint32_t psn;
	/* DETH */
	uint32_t qkey, sqpn;
	/* XRCETH */
	uint32_t xrc_srqn;
	/* DCETH: in requests of DC, sqpn and the number of the connection; the key in CONNECT */
	uint32_t dc_connection;
	uint64_t dc_key;
	/* RETH, AtomicETH */
	uint64_t va;
	uint32_t rkey;
	uint32_t dma_len;
	uint64_t swap_add, compare, swap_mask, compare_mask;
	/* AETH, AtomicAckETH */
	uint8_t syndrome;
	uint32_t msn;
	uint64_t orig;
	/* ImmDt or IETH */
	uint32_t imm;
	uint8_t payload[PKT_MTU_MAX];
};

/* The packet that a head belongs to; NULL if @h is NULL. */
static inline struct packet *packet_of(const struct packet_head *h)
{
	return (struct packet *)h;
}

/* Signed distance of two PSNs on the 24-bit circle: positive if @a is after @b. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & PSN_MASK;
}

/* A packet from a responder to a requester. */
static inline bool packet_is_response(const struct packet *p)
{
	uint8_t service = p->opcode & BTH_SERVICE_MASK, op = p->opcode & BTH_OP_MASK;

	return (service == BTH_RC || service == BTH_XRC || service == BTH_DC) &&
	       op >= BTH_READ_FIRST && op <= BTH_ATOMIC_ACK;
}

struct packet *packet_alloc(struct fabric *f);
struct packet *packet_copy(struct fabric *f, const struct packet *p);
void packet_free(struct fabric *f, struct packet *p);

extern const struct packet_type ib_packet_type;

#endif
