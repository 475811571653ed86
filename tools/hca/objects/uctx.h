/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User contexts: the ids under which commands are sent for processes, and what each may do.
 */
#ifndef BLUEBELL_UCTX_H
#define BLUEBELL_UCTX_H

#include <stdint.h>

#include "cmd.h"
#include "hca.h"

uint8_t uctx_admit(struct hca *hca, struct cmd *cmd);

extern const struct cmd_desc uctx_cmds[];
extern const struct hca_module uctx_module;

#endif
