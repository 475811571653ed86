/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Send queues that belong to no queue pair.
 */
#ifndef BLUEBELL_SQ_H
#define BLUEBELL_SQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd.h"

struct hca;
struct hca_module;

bool sq_send_doorbell(struct hca *hca, uint32_t num, uint32_t uar, const uint8_t *bf,
		      size_t bf_len);

extern const struct hca_module sq_module;
extern const struct cmd_desc sq_cmds[];

#endif
