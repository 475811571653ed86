/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command interface: the queue in guest memory by which the driver issues commands, and the
 * execution of one command.
 */
#ifndef BLUEBELL_CMDIF_H
#define BLUEBELL_CMDIF_H

#include <stddef.h>
#include <stdint.h>

struct cmd;
struct hca;
struct hca_module;

#define HCA_CMD_SLOTS	32

/* ---- cmdif.c: the queue's registers ---------------------------------------------------------- */

void cmdif_set_queue(struct hca *hca, uint64_t addr);
void cmdif_doorbell(struct hca *hca, uint32_t slots);
unsigned int cmdif_log_size(void);
unsigned int cmdif_log_stride(void);

/* ---- execute.c ------------------------------------------------------------------------------- */

uint8_t cmd_execute(struct hca *hca, const uint8_t *in, size_t in_len, uint8_t *out,
		    size_t out_len, unsigned int slot);

extern const struct hca_module cmdif_module;

#endif
