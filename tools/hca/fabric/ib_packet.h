/* SPDX-License-Identifier: GPL-2.0 */
/*
 * InfiniBand's own part of a packet: the fields of LRH and GRH in host order. They are what
 * @link_headers of struct packet holds.
 */
#ifndef BLUEBELL_IB_PACKET_H
#define BLUEBELL_IB_PACKET_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

#define LID_PERMISSIVE	0xffff
#define LID_MCAST_FIRST	0xc000
#define DATA_VLS	4	/* virtual lanes of data: 0 to 3 */
#define VL_MANAGEMENT	15
/*
 * An SLtoVLMappingTable is kept as a number with 4 bits for each SL, SL 0 in the highest bits. This
 * is the table after power on.
 */
#define SL_TO_VL_DEFAULT 0x0123012301230123ull

struct ib_headers {
	/* LRH */
	uint16_t slid, dlid;
	uint8_t sl;
	uint8_t vl;			/* set by the port that transmits the packet */
	/* GRH */
	bool grh;
	uint8_t tclass, hop_limit;
	uint32_t flow_label;
	uint8_t sgid[16], dgid[16];
};

static_assert(sizeof(struct ib_headers) <= PKT_LINK_BYTES, "PKT_LINK_BYTES is too small");

static inline struct ib_headers *ib_hdr(const struct packet *p)
{
	return (struct ib_headers *)p->link_headers;
}

static inline bool lid_is_mcast(uint16_t lid)
{
	return lid >= LID_MCAST_FIRST && lid != LID_PERMISSIVE;
}

/* A subnet management packet: from one queue pair 0 to another. */
static inline bool packet_is_smp(const struct packet *p)
{
	return (p->opcode & BTH_SERVICE_MASK) == BTH_UD && !p->dqpn && !p->sqpn;
}

/*
 * Choose the virtual lane by which a port transmits a packet. Returns false for a service level
 * whose lane the port does not have: the port drops the packet.
 */
static inline bool packet_choose_lane(struct packet *p, uint64_t sl_to_vl)
{
	struct ib_headers *h = ib_hdr(p);

	h->vl = packet_is_smp(p) ? VL_MANAGEMENT : sl_to_vl >> (60 - 4 * h->sl) & 0xf;
	return packet_is_smp(p) || h->vl < DATA_VLS;
}

#endif
