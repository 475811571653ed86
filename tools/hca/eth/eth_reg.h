/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registers of an Ethernet port.
 */
#ifndef BLUEBELL_ETH_REG_H
#define BLUEBELL_ETH_REG_H

#include "cmd.h"

extern const struct cmd_desc eth_reg_cmds[];

#endif
