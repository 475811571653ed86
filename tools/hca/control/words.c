// SPDX-License-Identifier: GPL-2.0
/*
 * The words of requests on the control socket: numbers, firmware statuses and opcodes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd.h"
#include "util.h"
#include "words.h"

static const struct {
	const char *name;
	uint8_t status;
} status_names[] = {
	{ "INT_ERR", ST_INTERNAL }, { "BAD_OP_ERR", ST_BAD_OP }, { "BAD_PARAM_ERR", ST_BAD_PARAM },
	{ "BAD_SYS_STATE_ERR", ST_BAD_SYS_STATE }, { "BAD_RES_ERR", ST_BAD_RES },
	{ "RES_BUSY", ST_RES_BUSY }, { "LIM_ERR", ST_LIM },
	{ "BAD_RES_STATE_ERR", ST_BAD_RES_STATE }, { "IX_ERR", ST_BAD_INDEX },
	{ "BAD_INDEX_ERR", ST_BAD_INDEX }, { "NO_RES_ERR", ST_NO_RES },
	{ "BAD_INP_LEN_ERR", ST_BAD_INP_LEN }, { "BAD_OUTP_LEN_ERR", ST_BAD_OUTP_LEN },
	{ "BAD_QP_STATE_ERR", ST_BAD_QP_STATE }, { "BAD_PKT_ERR", ST_BAD_PKT },
	{ "BAD_SIZE_OUTS_CQES_ERR", ST_BAD_SIZE_OUTS_CQES },
};

/**
 * request_number() - parse a number
 * @s: decimal digits, octal digits after 0, or hexadecimal digits after 0x
 * @v: set to the number
 *
 * strtoul() skips white space and takes a sign, so the first character is checked here.
 *
 * Return: false if @s is something else, or a number of more than 64 bits.
 */
bool request_number(const char *s, unsigned long *v)
{
	char *end;

	errno = 0;
	*v = strtoul(s, &end, 0);
	return *s >= '0' && *s <= '9' && !*end && !errno;
}

/**
 * request_status() - parse a firmware status
 * @s: a name with or without _ERR, or a number
 *
 * Return: the status, 0 if @s is no status.
 */
uint8_t request_status(const char *s)
{
	unsigned long v;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(status_names); i++) {
		const char *name = status_names[i].name;
		size_t n = strlen(name);

		if (!strcasecmp(s, name))
			return status_names[i].status;
		if (n > 4 && !strcmp(name + n - 4, "_ERR") && strlen(s) == n - 4 &&
		    !strncasecmp(s, name, n - 4))
			return status_names[i].status;
	}
	return request_number(s, &v) && v < 256 ? v : 0;
}

/**
 * request_status_name() - name a firmware status
 * @status: the status
 *
 * Return: the name that requests use.
 */
const char *request_status_name(uint8_t status)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(status_names); i++)
		if (status_names[i].status == status)
			return status_names[i].name;
	return "unknown";
}

/**
 * request_opcode() - parse an opcode
 * @hca: the HCA
 * @s: name of a command, or a number
 * @op: the opcode
 *
 * Return: false if @s is neither.
 */
bool request_opcode(struct hca *hca, const char *s, unsigned long *op)
{
	const struct cmd_desc *d = cmd_desc_by_name(hca, s);

	if (!d)
		return request_number(s, op);
	*op = d->opcode;
	return true;
}
