// SPDX-License-Identifier: GPL-2.0
/*
 * User contexts: CREATE_UCTX and DESTROY_UCTX, and which commands a user id may send.
 */
#include <stdbool.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "uctx.h"

/* The number of the object is the user id. */
struct uctx {
	struct obj obj;
	uint32_t cap;		/* MLX5_UCTX_CAP_* */
};

static uint8_t create_uctx(struct hca *hca, struct cmd *cmd)
{
	uint32_t cap = IFC_GET(create_uctx_in, cmd->in, uctx.cap);
	struct uctx *u;

	if (!hca_cap_gen(hca, log_max_uctx))
		return cmd_fail(cmd, ST_BAD_OP, WHY_UCTX_NOT_OFFERED,
				"user contexts are not supported (log_max_uctx)");
	if (cap & ~hca_cap_gen(hca, uctx_cap))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UCTX_CAPS,
				"capabilities 0x%x are not in uctx_cap",
				cap & ~hca_cap_gen(hca, uctx_cap));
	u = (struct uctx *)obj_new(hca, OBJ_UCTX, 0, sizeof(*u));
	if (!u)
		return cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE, "all DEVX uids are in use");
	u->cap = cap;
	IFC_SET(create_uctx_out, cmd->out, uid, u->obj.num);
	return ST_OK;
}

static uint8_t destroy_uctx(struct hca *hca, struct cmd *cmd)
{
	uint16_t uid = IFC_GET(destroy_uctx_in, cmd->in, uid);
	struct obj *o;
	uint8_t st;

	st = check_destroy(hca, cmd, OBJ_UCTX, uid, &o);
	if (st)
		return st;
	/* Only the kernel could destroy an object whose user id no longer exists. */
	if (obj_count_uid(hca, uid))
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_UCTX_OWNS_OBJECTS,
				"DEVX uid %u still owns %u objects", uid, obj_count_uid(hca, uid));
	obj_free(hca, o);
	return ST_OK;
}

/**
 * uctx_admit() - check that a command may be sent under its user id
 * @hca: the HCA
 * @cmd: the command, of an opcode that is registered
 *
 * Return: ST_OK; ST_BAD_RES if the user id does not exist; ST_BAD_PARAM if it exists, and may not
 * send this command.
 */
uint8_t uctx_admit(struct hca *hca, struct cmd *cmd)
{
	unsigned int flags = cmd->desc->flags;
	struct uctx *u;

	if (!cmd->uid)
		return ST_OK;
	if (cmd->uid == SHARED_UID && hca_cap_gen(hca, log_max_uctx) && flags & CMD_SHARE)
		return ST_OK;
	u = (struct uctx *)obj_find(hca, OBJ_UCTX, cmd->uid);
	if (!u)
		return cmd_fail(cmd, ST_BAD_RES, WHY_UID_UNKNOWN, "DEVX uid %u does not exist",
				cmd->uid);
	if (flags & CMD_KERNEL)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UCTX_KERNEL_COMMAND,
				"a DEVX uid may not send this command");
	if (flags & CMD_RAW_TX && !(u->cap & MLX5_UCTX_CAP_RAW_TX))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_UCTX_NO_RAW_TX,
				"DEVX uid %u has no capability to send raw packets", cmd->uid);
	return ST_OK;
}

const struct cmd_desc uctx_cmds[] = {
	CMD(CREATE_UCTX, create_uctx, create_uctx, .flags = CMD_KERNEL),
	CMD(DESTROY_UCTX, destroy_uctx, destroy_uctx, .flags = CMD_KERNEL),
	{}
};

static void uctx_reset(struct hca *hca)
{
	obj_free_all(hca, OBJ_UCTX);
}

const struct hca_module uctx_module = { .name = "uctx", .reset = uctx_reset };
