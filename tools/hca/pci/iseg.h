/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The initialization segment: the first pages of BAR0, with the command queue's registers, the
 * health buffer and the internal timer.
 */
#ifndef BLUEBELL_ISEG_H
#define BLUEBELL_ISEG_H

#include <stdint.h>

struct hca;
struct hca_module;

#define ISEG_SIZE	0x3000	/* three pages of BAR0 that are not UARs */

void iseg_latch(struct hca *hca);
uint32_t iseg_read(struct hca *hca, uint32_t off);
void iseg_write(struct hca *hca, uint32_t off, uint32_t val);
void iseg_set_fatal(struct hca *hca, uint8_t synd, uint16_t ext_synd);

extern const struct hca_module iseg_module;

#endif
