/* SPDX-License-Identifier: GPL-2.0 */
/*
 * General objects: their four commands, which refuse every type.
 */
#ifndef BLUEBELL_GENERAL_H
#define BLUEBELL_GENERAL_H

#include "cmd.h"

extern const struct cmd_desc general_cmds[];

#endif
