/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internet checksums (RFC 1071). A sum is that of the bytes as big-endian words of 16 bits; written
 * by put_be16() it has the same bytes as the sum that a little-endian host computes in memory.
 */
#ifndef BLUEBELL_CSUM_H
#define BLUEBELL_CSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame;

uint16_t csum_sum(const void *data, size_t len, uint64_t start);
uint16_t csum_packet(const struct frame *f);
bool csum_ip_ok(const struct frame *f);
bool csum_l4_ok(const struct frame *f);
void csum_fill_ip(uint8_t *data, const struct frame *f);
void csum_fill_l4(uint8_t *data, const struct frame *f);

#define FCS_BYTES	4

void frame_fcs(const uint8_t *data, size_t len, uint8_t fcs[FCS_BYTES]);

#endif
