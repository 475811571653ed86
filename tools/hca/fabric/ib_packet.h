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

struct ib_headers {
	/* LRH */
	uint16_t slid, dlid;
	uint8_t sl;
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

/* The virtual lane of a service level, by the tables that ports have after power on. */
static inline uint8_t port_data_vl(uint8_t sl)
{
	return sl % 4;
}

#endif
