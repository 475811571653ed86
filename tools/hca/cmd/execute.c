// SPDX-License-Identifier: GPL-2.0
/*
 * The execution of one command: what is refused before its handler runs, and its trace.
 */
#include <stdio.h>
#include <string.h>

#include "caps.h"
#include "clock.h"
#include "cmd.h"
#include "cmdif.h"
#include "decode.h"
#include "expect.h"
#include "fields.h"
#include "hca.h"
#include "ifc.h"
#include "inject.h"
#include "pages.h"
#include "trace.h"
#include "uctx.h"

/* Whether the capabilities offer the command. */
static bool cmd_offered(const struct hca *hca, const struct cmd_desc *d)
{
	return !(d->flags & CMD_ETH && !hca_cap_gen(hca, eth_net_offloads)) &&
	       !(d->flags & CMD_STEERING && !hca_cap_gen(hca, nic_flow_table)) &&
	       !(d->flags & CMD_DC && !hca_cap_gen(hca, dct)) &&
	       !(d->flags & CMD_TM && !hca_cap_gen(hca, tag_matching));
}

static bool cmd_allowed_now(const struct hca *hca, const struct cmd_desc *d)
{
	switch (hca->life) {
	case LIFE_RESET:
		return d->flags & CMD_FIRST;
	case LIFE_ENABLED:
		return d->flags & CMD_EARLY;
	default:
		return !(d->flags & CMD_FIRST);
	}
}

static uint8_t cmd_dispatch(struct hca *hca, struct cmd *cmd)
{
	const struct cmd_desc *d = cmd->desc;
	uint8_t inj = inject_cmd(hca->inject, cmd->opcode), st;

	if (inj)
		return cmd_fail(cmd, inj, WHY_INJECTED, "injected");
	if (!d || !cmd_offered(hca, d))
		return cmd_fail(cmd, ST_BAD_OP, WHY_OPCODE_UNKNOWN, "no command 0x%x",
				cmd->opcode);
	if (!cmd_allowed_now(hca, d))
		return cmd_fail(cmd, ST_BAD_SYS_STATE, WHY_HCA_STATE,
				"the command is not allowed in this state of the HCA");
	if (hca->issi && d->flags & CMD_LEGACY)
		return cmd_fail(cmd, ST_BAD_OP, WHY_ISSI_LEGACY,
				"the command does not exist in version %u of the interface",
				hca->issi);
	st = uctx_admit(hca, cmd);
	if (!st)
		st = cmd_check_op_mod(cmd);
	if (st)
		return st;
	if (cmd->in_len < d->in_min)
		return cmd_fail(cmd, ST_BAD_INP_LEN, WHY_INPUT_LENGTH,
				"%zu bytes of input, at least %u needed", cmd->in_len, d->in_min);
	if (cmd->out_len < d->out_min)
		return cmd_fail(cmd, ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH,
				"%zu bytes of output, at least %u needed", cmd->out_len,
				d->out_min);
	st = cmd_check_reserved(hca, cmd);
	return st ? st : d->handler(hca, cmd);
}

/*
 * Two refusals are no incidents: one that a test has injected; and the refusal of a MAD for
 * performance management, because a driver has to send such a MAD to learn whether firmware has an
 * agent for it.
 */
static bool refusal_is_expected(const struct cmd *cmd)
{
	return cmd->syndrome == WHY_INJECTED || cmd->syndrome == WHY_MAD_NO_PERFORMANCE_AGENT;
}

static void trace_cmd_half(FILE *f, const char *half, const char *strct, const uint8_t *p,
			   size_t len)
{
	const struct ifc_struct *s = strct ? ifc_struct_find(strct) : NULL;

	fprintf(f, ",\"%s\":{", half);
	if (s)
		decode_struct(f, s, p, len);
	fputc('}', f);
}

static void trace_cmd(struct hca *hca, const struct cmd *cmd, unsigned int slot, uint64_t start_ns)
{
	static const struct cmd_desc unknown = { .name = "UNKNOWN" };
	const struct cmd_desc *d = cmd->desc ? cmd->desc : &unknown;
	uint8_t status = cmd->out_len ? cmd->out[0] : 0;
	FILE *f = trace_begin(hca->trace, "cmd", start_ns);

	if (!f)
		return;
	fprintf(f, ",\"op\":\"%s\",\"opcode\":\"0x%x\",\"op_mod\":%u,\"uid\":%u,\"slot\":%u,"
		"\"ns\":%llu,\"status\":%u", d->name, cmd->opcode, cmd->op_mod, cmd->uid, slot,
		(unsigned long long)(clock_now_ns() - start_ns), status);
	if (status) {
		fprintf(f, ",\"syndrome\":\"0x%04x\",\"refusal\":\"%s\",\"why\":",
			cmd->syndrome, refusal_name(cmd->syndrome));
		decode_string(f, cmd->why);
	}
	trace_cmd_half(f, "in", d->in, cmd->in, cmd->in_len);
	trace_cmd_half(f, "out", d->out, cmd->out, cmd->out_len);
	trace_end(hca->trace);
}

/**
 * cmd_execute() - execute one command
 * @hca: the HCA
 * @in: input, mailboxes joined, at least 16 bytes
 * @in_len: bytes
 * @out: output, zeroed, at least 8 bytes
 * @out_len: bytes
 * @slot: index of the command's entry in the command queue, for the trace
 *
 * Return: the firmware status, which is also in @out with the syndrome.
 */
uint8_t cmd_execute(struct hca *hca, const uint8_t *in, size_t in_len, uint8_t *out,
		    size_t out_len, unsigned int slot)
{
	struct cmd cmd = {
		.opcode = IFC_GET(alloc_uar_in, in, opcode), .uid = IFC_GET(alloc_uar_in, in, uid),
		.op_mod = IFC_GET(alloc_uar_in, in, op_mod),
		.in = in, .in_len = in_len, .out = out, .out_len = out_len,
	};
	uint64_t start = clock_now_ns();
	uint8_t status;

	cmd.desc = cmd_desc_find(hca, cmd.opcode);
	status = cmd_dispatch(hca, &cmd);
	hca->count.cmds++;
	cmd_count(hca, cmd.opcode);
	if (status) {
		hca->count.cmds_failed++;
		if (!refusal_is_expected(&cmd))
			expect_incident(hca->expect, INCIDENT_REFUSE, cmd.opcode, status,
					refusal_name(cmd.syndrome), cmd.why);
		memset(out, 0, out_len);
		IFC_SET(alloc_uar_out, out, status, status);
		IFC_SET(alloc_uar_out, out, syndrome, cmd.syndrome);
	}
	trace_cmd(hca, &cmd, slot, start);
	pages_balance(hca);
	return status;
}
