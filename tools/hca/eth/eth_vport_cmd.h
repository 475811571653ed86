/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands about the vport of an Ethernet port.
 */
#ifndef BLUEBELL_ETH_VPORT_CMD_H
#define BLUEBELL_ETH_VPORT_CMD_H

#include "cmd.h"

extern const struct cmd_desc eth_vport_cmds[];

#endif
