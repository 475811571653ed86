/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive queues with tag matching (XRQ): their commands.
 */
#ifndef BLUEBELL_XRQ_H
#define BLUEBELL_XRQ_H

#include "cmd.h"

extern const struct cmd_desc xrq_cmds[];

#endif
