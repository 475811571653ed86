/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets as bytes on the wire (InfiniBand Architecture, volume 1, chapters 5, 7.7 to 9.3).
 */
#ifndef BLUEBELL_WIRE_H
#define BLUEBELL_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "packet.h"

#define GRH_BYTES	40
#define WIRE_ICRC_BYTES	4
/*
 * Extended headers are longest with DETH, AtomicETH and its masks. No requester sends these
 * together, but a broken peer may.
 */
#define EXT_MAX_BYTES	52
/* LRH, GRH, BTH, extended headers, payload, which needs no pad at this length, ICRC and VCRC. */
#define WIRE_MAX	(8 + GRH_BYTES + 12 + EXT_MAX_BYTES + PKT_MTU_MAX + 4 + 2)

unsigned int wire_transport_bytes(const struct packet *p);
uint8_t *wire_transport(const struct packet *p, uint8_t *at);
const char *wire_parse(struct packet *p, const uint8_t *buf, size_t len);
unsigned int wire_octets(const struct packet *p);
void wire_grh(const struct packet *p, uint8_t grh[GRH_BYTES]);
size_t wire_append_crcs(uint8_t *buf, size_t len);
size_t wire_packet(const struct packet *p, uint8_t buf[WIRE_MAX]);

#endif
