/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Protection domains, transport domains and XRC domains.
 */
#ifndef BLUEBELL_PD_H
#define BLUEBELL_PD_H

#include "cmd.h"

struct hca_module;

extern const struct hca_module pd_module;
extern const struct cmd_desc pd_cmds[];

#endif
