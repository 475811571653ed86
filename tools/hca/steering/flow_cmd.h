/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands of steering, and the checks that they share.
 */
#ifndef BLUEBELL_FLOW_CMD_H
#define BLUEBELL_FLOW_CMD_H

#include "cmd.h"
#include "flow.h"

struct hca;

uint8_t flow_check_type(struct hca *hca, struct cmd *cmd, uint32_t type);
uint8_t flow_check_place(struct hca *hca, struct cmd *cmd);
uint8_t flow_check_table(struct hca *hca, struct cmd *cmd, struct flow_table **t);
uint8_t flow_check_next(struct hca *hca, struct cmd *cmd, const struct flow_table *from,
			uint32_t id);

/* Flags of the commands of steering: no process may send them. */
#define FLOW_FLAGS	.flags = CMD_KERNEL | CMD_STEERING

extern const struct cmd_desc flow_table_cmds[], flow_group_cmds[], flow_entry_cmds[];

#endif
