/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of worldrig.h that an HCA with an Ethernet port has, too: queues, TIRs, flow tables.
 */
#ifndef BLUEBELL_TESTS_WORLDNIC_H
#define BLUEBELL_TESTS_WORLDNIC_H

#include <stdbool.h>
#include <stdint.h>

struct world_cmd;

#define WORLD_TABLES	3	/* of levels 1, 2 and 3; the first is the root */

/* Complete a command, if it is one of a NIC. */
void worldnic_build(struct world_cmd *c, uint8_t pick);
/* Tell whether worldnic_build() completes commands of this opcode. */
bool worldnic_has(uint16_t op);
/* Make a chain of flow tables, with a rule in each, that ends at TIRs. */
void worldnic_up(void);

#endif
