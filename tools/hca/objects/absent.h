/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands of features that the HCA can offer, but does not model.
 */
#ifndef BLUEBELL_ABSENT_H
#define BLUEBELL_ABSENT_H

#include "cmd.h"

extern const struct cmd_desc absent_cmds[];

#endif
