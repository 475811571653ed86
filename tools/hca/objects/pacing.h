/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of rates to which the packets of send queues can be limited.
 */
#ifndef BLUEBELL_PACING_H
#define BLUEBELL_PACING_H

#include "cmd.h"

struct hca_module;

extern const struct hca_module pacing_module;
extern const struct cmd_desc pacing_cmds[];

#endif
