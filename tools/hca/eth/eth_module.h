/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module in the cage of an Ethernet port, and the register by which its memory is read.
 */
#ifndef BLUEBELL_ETH_MODULE_H
#define BLUEBELL_ETH_MODULE_H

#include <stdbool.h>
#include <stdint.h>

struct cmd;
struct hca;

/* Bytes of MCIA in all kernels. Newer headers have room for 128 bytes of data, if offered. */
#define MCIA_DATA	16	/* offset of the data */
#define MCIA_DATA_BYTES	48
#define MCIA_BYTES	(MCIA_DATA + MCIA_DATA_BYTES)

uint8_t eth_check_mcia(struct hca *hca, struct cmd *cmd, const uint8_t *in, bool write);
void eth_read_mcia(struct hca *hca, uint8_t *out);

#endif
