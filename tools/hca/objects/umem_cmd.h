/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Umems: the commands that make and destroy them.
 */
#ifndef BLUEBELL_UMEM_CMD_H
#define BLUEBELL_UMEM_CMD_H

#include "cmd.h"

struct hca_module;

extern const struct hca_module umem_module;
extern const struct cmd_desc umem_cmds[];

#endif
