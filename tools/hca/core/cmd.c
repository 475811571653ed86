// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware commands: refusal of a command, the registry of handlers and the counts of commands by
 * opcode, and the fields of a command's input that mlx5_ifc.h reserves.
 */
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

/* Fields that commands have, although mlx5_ifc.h reserves them because it has no names for them. */
static const struct {
	const char *strct;
	uint16_t off, width;	/* bits */
} unnamed[] = {
	{ "cqc", CQC_DBR_UMEM_ID, 32 }, { "qpc", QPC_DBR_UMEM_ID, 32 },
	{ "qpc", QPC_DP_ORDERING_0, 1 }, { "dctc", DCTC_DP_ORDERING_0, 1 },
	{ "xrc_srqc", XRC_SRQC_DBR_UMEM_ID, 32 },
	{ "create_cq_in", CMD_UMEM_OFFSET, 64 }, { "create_cq_in", CMD_UMEM_ID, 32 },
	{ "modify_cq_in", CMD_UMEM_OFFSET, 64 }, { "modify_cq_in", CMD_UMEM_ID, 32 },
	{ "create_xrc_srq_in", CMD_UMEM_OFFSET, 64 }, { "create_xrc_srq_in", CMD_UMEM_ID, 32 },
	{ "create_mkey_in", CREATE_MKEY_UMEM_OFFSET, 64 },
	{ "create_mkey_in", CREATE_MKEY_UMEM_ID, 32 },
	{ "rts2rts_qp_in", RTS2RTS_QP_OPT_95_32, 64 }, { "rts2rts_qp_in", RTS2RTS_QP_QPC_EXT, 1 },
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
 * cmd_left() - count the bytes from an address to the end of a command's input
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

static int reserved_init(struct reserved *r, const struct cmd_desc *d)
{
	const struct ifc_struct *s = d->in ? ifc_struct_find(d->in) : NULL;

	if (!s)
		return 0;
	r->mask = calloc(1, s->bits / 8);
	if (!r->mask)
		return -ENOMEM;
	r->len = s->bits / 8;
	reserved_mark(s, 0, r->mask);
	/*
	 * All commands have a user id, also those for which mlx5_ifc.h has no name for the field.
	 */
	memset(r->mask + IFC_BYTE(alloc_pd_in, uid), 0, sizeof(uint16_t));
	return 0;
}

/**
 * cmd_register() - make a module's commands known
 * @hca: the HCA
 * @table: the commands, ended by a NULL name
 *
 * Return: 0; -EEXIST if an opcode has a row already; -ENOMEM.
 */
int cmd_register(struct hca *hca, const struct cmd_desc *table)
{
	const struct cmd_desc *d;
	int err;

	for (d = table; d->name; d++) {
		if (hca->cmds->by_opcode[d->opcode])
			return -EEXIST;
		hca->cmds->by_opcode[d->opcode] = d;
		err = reserved_init(&hca->cmds->reserved[d->opcode], d);
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
 * cmd_check_op_mod() - refuse a command with an op_mod that its opcode does not have
 * @cmd: the command, of an opcode that is registered
 *
 * Return: ST_OK or ST_BAD_OP.
 */
uint8_t cmd_check_op_mod(struct cmd *cmd)
{
	const struct cmd_desc *d = cmd->desc;

	if (cmd->op_mod >= d->op_mod_first && cmd->op_mod <= d->op_mod_last)
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_OP, WHY_OP_MOD, "op_mod %u, the command has %u to %u",
			cmd->op_mod, d->op_mod_first, d->op_mod_last);
}
