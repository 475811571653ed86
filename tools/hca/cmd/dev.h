/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands about the HCA as a whole: its life from ENABLE_HCA to DISABLE_HCA, interface versions,
 * special keys.
 */
#ifndef BLUEBELL_DEV_H
#define BLUEBELL_DEV_H

#include "cmd.h"

extern const struct cmd_desc dev_cmds[];

#endif
