/* SPDX-License-Identifier: GPL-2.0 */
/*
 * General objects, of which the HCA has no type.
 */
#ifndef BLUEBELL_GENERAL_H
#define BLUEBELL_GENERAL_H

#include "cmd.h"

extern const struct cmd_desc general_cmds[];

#endif
