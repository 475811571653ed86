/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What other core files need of the command interface.
 */
#ifndef BLUEBELL_CMDIF_H
#define BLUEBELL_CMDIF_H

#include "hca.h"

#define CMD_OPCODES	0x1000	/* opcodes are below */

const struct cmd_desc *cmd_desc_find(uint16_t opcode);
const struct cmd_desc *cmd_desc_by_name(const char *name);
/* Commands executed since the last reset of the count, by opcode. */
const uint32_t *cmdif_counts(struct hca *hca);
void cmdif_counts_reset(struct hca *hca);
/* Execute one command given whole mailboxes; returns the firmware status. */
uint8_t cmd_execute(struct hca *hca, const uint8_t *in, size_t in_len, uint8_t *out,
		    size_t out_len, unsigned int slot);

#endif
