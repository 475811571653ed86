// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware commands: refusal of a command, the registry of handlers and the counts of commands by
 * opcode, and the fields of a command's input that mlx5_ifc.h reserves.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "fields.h"
#include "hca.h"
#include "ifc.h"
#include "profile.h"
#include "umem.h"
#include "util.h"

/*
 * The op_mods that a command takes. One that is not listed takes 0 alone. Those of capabilities
 * are a type and a bit, which the handlers check.
 */
static const struct {
	uint16_t opcode, first, last;
} op_mods[] = {
	{ MLX5_CMD_OP_QUERY_HCA_CAP, 0, 2 * HCA_CAP_TYPES - 1 },
	{ MLX5_CMD_OP_SET_HCA_CAP, 0, 2 * HCA_CAP_TYPES - 1 },
	{ MLX5_CMD_OP_QUERY_PAGES, MLX5_QUERY_PAGES_IN_OP_MOD_BOOT_PAGES,
	  MLX5_QUERY_PAGES_IN_OP_MOD_REGULAR_PAGES },
	{ MLX5_CMD_OP_MANAGE_PAGES, MLX5_MANAGE_PAGES_IN_OP_MOD_ALLOCATION_FAIL,
	  MLX5_MANAGE_PAGES_IN_OP_MOD_HCA_RETURN_PAGES },
	{ MLX5_CMD_OP_MODIFY_CQ, MLX5_MODIFY_CQ_IN_OP_MOD_MODIFY_CQ,
	  MLX5_MODIFY_CQ_IN_OP_MOD_RESIZE_CQ },
	{ MLX5_CMD_OP_MODIFY_MEMIC, MLX5_MODIFY_MEMIC_OP_MOD_ALLOC,
	  MLX5_MODIFY_MEMIC_OP_MOD_DEALLOC },
	{ MLX5_CMD_OP_ARM_RQ, MLX5_ARM_RQ_IN_OP_MOD_SRQ, MLX5_ARM_RQ_IN_OP_MOD_SRQ },
	{ MLX5_CMD_OP_ARM_XRC_SRQ, MLX5_ARM_XRC_SRQ_IN_OP_MOD_XRC_SRQ,
	  MLX5_ARM_XRC_SRQ_IN_OP_MOD_XRC_SRQ },
	{ MLX5_CMD_OP_ACCESS_REG, MLX5_ACCESS_REGISTER_IN_OP_MOD_WRITE,
	  MLX5_ACCESS_REGISTER_IN_OP_MOD_READ },
	{ MLX5_CMD_OP_MAD_IFC, 0, 3 },		/* bits: ignore the M_Key, the B_Key */
	/* These have the type of the object in its place. */
	{ MLX5_CMD_OP_CREATE_GENERAL_OBJECT, 0, UINT16_MAX },
	{ MLX5_CMD_OP_MODIFY_GENERAL_OBJECT, 0, UINT16_MAX },
	{ MLX5_CMD_OP_QUERY_GENERAL_OBJECT, 0, UINT16_MAX },
	{ MLX5_CMD_OP_DESTROY_GENERAL_OBJECT, 0, UINT16_MAX },
};

/* Fields that mlx5_ifc.h reserves because it has no names for them. */
static const struct {
	const char *strct;
	uint16_t off, width;	/* bits */
} unnamed[] = {
	{ "cqc", CQC_DBR_UMEM_ID, 32 }, { "qpc", QPC_DBR_UMEM_ID, 32 },
	{ "xrc_srqc", XRC_SRQC_DBR_UMEM_ID, 32 },
	{ "create_cq_in", CMD_UMEM_OFFSET, 64 }, { "create_cq_in", CMD_UMEM_ID, 32 },
	{ "modify_cq_in", CMD_UMEM_OFFSET, 64 }, { "modify_cq_in", CMD_UMEM_ID, 32 },
	{ "create_xrc_srq_in", CMD_UMEM_OFFSET, 64 }, { "create_xrc_srq_in", CMD_UMEM_ID, 32 },
	{ "create_mkey_in", CREATE_MKEY_UMEM_OFFSET, 64 },
	{ "create_mkey_in", CREATE_MKEY_UMEM_ID, 32 },
};

/* Bits of a command's input that are reserved and must be zero. */
struct reserved {
	uint8_t *mask;		/* NULL: mlx5_ifc.h does not describe the command */
	size_t len;
};

struct cmds {
	const struct cmd_desc *by_opcode[CMD_OPCODES];
	struct reserved reserved[CMD_OPCODES];
	uint32_t counts[CMD_OPCODES];	/* commands executed since the last reset of the counts */
};

/**
 * cmd_fail() - refuse a command
 * @cmd: the command, whose syndrome and reason are set
 * @status: firmware status
 * @why: which check failed
 * @fmt: the reason in words
 *
 * A handler writes: return cmd_fail(cmd, ST_LIM, WHY_CQ_SIZE, "2^%u CQEs", n);
 *
 * Return: @status.
 */
uint8_t cmd_fail(struct cmd *cmd, uint8_t status, enum cmd_refusal why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd->why, sizeof(cmd->why), fmt, ap);
	va_end(ap);
	cmd->syndrome = why;
	return status;
}

/**
 * cmd_left() - measure how much of a command's input lies behind a point
 * @cmd: the command
 * @p: address in its input, or beyond
 *
 * Return: bytes, 0 if @p is beyond the end.
 */
size_t cmd_left(const struct cmd *cmd, const uint8_t *p)
{
	const uint8_t *end = cmd->in + cmd->in_len;

	return p < end ? end - p : 0;
}

/* ---- the registry ---------------------------------------------------------------------------- */

/**
 * cmds_init() - make an empty registry
 * @hca: the HCA
 *
 * Return: 0 or -ENOMEM.
 */
int cmds_init(struct hca *hca)
{
	hca->cmds = calloc(1, sizeof(*hca->cmds));
	return hca->cmds ? 0 : -ENOMEM;
}

/**
 * cmds_exit() - free the registry
 * @hca: the HCA
 */
void cmds_exit(struct hca *hca)
{
	unsigned int i;

	if (!hca->cmds)
		return;
	for (i = 0; i < CMD_OPCODES; i++)
		if (hca->cmds->by_opcode[i])
			free(hca->cmds->reserved[i].mask);
	free(hca->cmds);
	hca->cmds = NULL;
}

static void reserved_mark(const struct ifc_struct *s, uint64_t base, uint8_t *mask)
{
	const struct ifc_member *m;
	unsigned int i;
	uint64_t bit;

	for (m = s->field; m->name; m++) {
		for (i = 0; m->sub && i < m->count; i++)
			reserved_mark(m->sub, base + m->off + (uint64_t)i * m->width, mask);
		for (bit = 0; m->reserved && bit < (uint64_t)m->width * m->count; bit++)
			ifc_set_bits(mask, base + m->off + bit, 1, 1);
	}
	for (i = 0; i < ARRAY_SIZE(unnamed); i++)
		if (!strcmp(unnamed[i].strct, s->name))
			ifc_set_bits(mask, base + unnamed[i].off, unnamed[i].width, 0);
}

static int reserved_init(struct reserved *r, const char *cmd_name)
{
	const struct ifc_struct *s = cmd_struct(cmd_name, "in");

	if (!s || r->mask)
		return 0;
	r->mask = calloc(1, s->bits / 8);
	if (!r->mask)
		return -ENOMEM;
	r->len = s->bits / 8;
	reserved_mark(s, 0, r->mask);
	/* All commands have a user id, also those for which mlx5_ifc.h has no name for the field. */
	memset(r->mask + IFC_BYTE(alloc_pd_in, uid), 0, sizeof(uint16_t));
	return 0;
}

/**
 * cmd_register() - make a module's commands known
 * @hca: the HCA
 * @table: the commands, ended by a NULL name
 *
 * Return: 0 or -ENOMEM.
 */
int cmd_register(struct hca *hca, const struct cmd_desc *table)
{
	const struct cmd_desc *d;
	int err;

	for (d = table; d->name; d++) {
		hca->cmds->by_opcode[d->opcode] = d;
		err = reserved_init(&hca->cmds->reserved[d->opcode], d->name);
		if (err)
			return err;
	}
	return 0;
}

/**
 * cmd_desc_find() - find a command by its opcode
 * @hca: the HCA
 * @opcode: the opcode
 *
 * Return: the command, NULL if the HCA does not have it.
 */
const struct cmd_desc *cmd_desc_find(struct hca *hca, uint16_t opcode)
{
	return opcode < CMD_OPCODES ? hca->cmds->by_opcode[opcode] : NULL;
}

/**
 * cmd_desc_by_name() - find a command by its name
 * @hca: the HCA
 * @name: as "CREATE_QP"
 *
 * Return: the command, NULL if the HCA does not have it.
 */
const struct cmd_desc *cmd_desc_by_name(struct hca *hca, const char *name)
{
	unsigned int i;

	for (i = 0; i < CMD_OPCODES; i++) {
		const struct cmd_desc *d = hca->cmds->by_opcode[i];

		if (d && !strcmp(d->name, name))
			return d;
	}
	return NULL;
}

/**
 * cmd_count() - count a command that was executed
 * @hca: the HCA
 * @opcode: of the command; an opcode that no command can have is not counted
 */
void cmd_count(struct hca *hca, uint16_t opcode)
{
	if (opcode < CMD_OPCODES)
		hca->cmds->counts[opcode]++;
}

/**
 * cmd_counts() - commands executed since the last cmd_counts_reset()
 * @hca: the HCA
 *
 * Return: CMD_OPCODES numbers, by opcode.
 */
const uint32_t *cmd_counts(struct hca *hca)
{
	return hca->cmds->counts;
}

/**
 * cmd_counts_reset() - set the counts of all commands to 0
 * @hca: the HCA
 */
void cmd_counts_reset(struct hca *hca)
{
	memset(hca->cmds->counts, 0, sizeof(hca->cmds->counts));
}

/**
 * cmd_check_reserved() - refuse a command whose input has a reserved bit set
 * @hca: the HCA
 * @cmd: the command, of an opcode that is registered
 *
 * Return: ST_OK or ST_BAD_PARAM.
 */
uint8_t cmd_check_reserved(struct hca *hca, struct cmd *cmd)
{
	const struct reserved *r = &hca->cmds->reserved[cmd->opcode];
	size_t i;

	for (i = 0; i < r->len && i < cmd->in_len; i++)
		if (cmd->in[i] & r->mask[i])
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_RESERVED_BITS,
					"reserved bits 0x%02x of byte 0x%zx are set",
					cmd->in[i] & r->mask[i], i);
	return ST_OK;
}

/**
 * cmd_check_op_mod() - refuse a command with an op_mod that its opcode does not take
 * @cmd: the command
 *
 * Return: ST_OK or ST_BAD_OP.
 */
uint8_t cmd_check_op_mod(struct cmd *cmd)
{
	uint16_t first = 0, last = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(op_mods); i++) {
		if (op_mods[i].opcode != cmd->opcode)
			continue;
		first = op_mods[i].first;
		last = op_mods[i].last;
	}
	if (cmd->op_mod >= first && cmd->op_mod <= last)
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_OP, WHY_OP_MOD, "op_mod %u, the command takes %u to %u",
			cmd->op_mod, first, last);
}

/* Commands whose structures are not named like the command in lower case. */
static const char *struct_base(const char *cmd_name)
{
	static const char *const alias[][2] = {
		{ "ACCESS_REG", "access_register" }, { "2RST_QP", "qp_2rst" },
		{ "2ERR_QP", "qp_2err" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(alias); i++)
		if (!strcmp(alias[i][0], cmd_name))
			return alias[i][1];
	return cmd_name;
}

/**
 * cmd_struct() - find the structure of a command's input or output
 * @cmd_name: as "CREATE_QP"
 * @half: "in" or "out"
 *
 * Return: the structure, NULL if mlx5_ifc.h has none.
 */
const struct ifc_struct *cmd_struct(const char *cmd_name, const char *half)
{
	char name[80];
	unsigned int i;

	/* What follows the header depends on the type of the object. */
	if (strstr(cmd_name, "_GENERAL_OBJECT")) {
		snprintf(name, sizeof(name), "general_obj_%s_cmd_hdr", half);
		return ifc_struct_find(name);
	}
	cmd_name = struct_base(cmd_name);
	for (i = 0; cmd_name[i] && i < sizeof(name) - 8; i++)
		name[i] = tolower((unsigned char)cmd_name[i]);
	snprintf(name + i, sizeof(name) - i, "_%s", half);
	return ifc_struct_find(name);
}
