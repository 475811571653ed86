// SPDX-License-Identifier: GPL-2.0
/*
 * Tag matching: a profile can offer it, so that drivers report the same features as with a real
 * card, but the HCA does not model it. CREATE_XRQ is refused, so that there is no object that the
 * other commands of tag matching could name.
 */
#include "absent.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"

static uint8_t absent(struct hca *hca, struct cmd *cmd)
{
	(void)hca;
	return cmd_fail(cmd, ST_BAD_OP, WHY_NOT_MODELLED, "the HCA does not model %s",
			cmd->desc->name);
}

#define ABSENT(op, strct)						\
	{ .opcode = MLX5_CMD_OP_##op, .name = #op,			\
	  .in = #strct "_in", .out = #strct "_out",			\
	  .in_min = 16, .out_min = 16,					\
	  .handler = absent, OP_MODS(0, UINT16_MAX) }

const struct cmd_desc absent_cmds[] = {
	ABSENT(CREATE_XRQ, create_xrq),
	{}
};
