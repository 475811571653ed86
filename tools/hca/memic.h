/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Device memory (MEMIC): memory of the HCA's own, a window of BAR0, that the host
 * and the transport both reach.
 */
#ifndef BLUEBELL_MEMIC_H
#define BLUEBELL_MEMIC_H

#include "hca.h"

/* Operations that a window of their own does to the memory; bits of memic_operations. */
enum memic_op { MEMIC_INCREMENT = 0, MEMIC_TEST_AND_SET = 1, MEMIC_OPS };

#define MEMIC_UNIT	64	/* alignment 0 of ALLOC_MEMIC, and what objects are numbered by */

/* Does the function have device memory? */
bool memic_on(struct hca *hca);
/* The allocation that all of [addr, addr + len) lies in if it is @uid's, or NULL. */
struct obj *memic_find(struct hca *hca, uint64_t addr, uint64_t len, uint16_t uid);
/* Where the host finds [addr, addr + len); NULL if it is not all device memory. */
void *memic_ptr(struct hca *hca, uint64_t addr, uint64_t len);

/* Accesses to BAR0; false: not to device memory. */
bool memic_bar_read(struct hca *hca, uint64_t off, uint8_t *buf, uint32_t len);
bool memic_bar_write(struct hca *hca, uint64_t off, const uint8_t *buf, uint32_t len);
/*
 * The part of BAR0 that a client can map, and the file to map it from, in which it has the same
 * offset as in the BAR; -1: none.
 */
int memic_region(struct hca *hca, uint64_t *off, uint64_t *len);

#endif
