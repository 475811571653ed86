// SPDX-License-Identifier: GPL-2.0
/*
 * General objects: four commands for objects of all types that have no commands of their own. The
 * capabilities general_obj_types and general_obj_types_127_64 say which types there are. The HCA
 * has no type: the types that mlx5_ifc.h names belong to flow steering, crypto, virtio and
 * congestion events.
 */
#include "cmd.h"
#include "general.h"
#include "hca.h"
#include "ifc.h"

static uint8_t general_object(struct hca *hca, struct cmd *cmd)
{
	(void)hca;
	return cmd_fail(cmd, ST_BAD_PARAM, WHY_GENERAL_TYPE, "no general object of type 0x%x",
			IFC_GET(general_obj_in_cmd_hdr, cmd->in, obj_type));
}

/* The field of the op_mod holds the type of the object, so every op_mod reaches the handler. */
#define GENERAL(op)							\
	{ .opcode = MLX5_CMD_OP_##op, .name = #op,			\
	  .in = "general_obj_in_cmd_hdr", .out = "general_obj_out_cmd_hdr",	\
	  .in_min = IFC_SZ(general_obj_in_cmd_hdr),			\
	  .out_min = IFC_SZ(general_obj_out_cmd_hdr),			\
	  .handler = general_object, OP_MODS(0, UINT16_MAX) }

const struct cmd_desc general_cmds[] = {
	GENERAL(CREATE_GENERAL_OBJECT), GENERAL(MODIFY_GENERAL_OBJECT),
	GENERAL(QUERY_GENERAL_OBJECT), GENERAL(DESTROY_GENERAL_OBJECT),
	{}
};
