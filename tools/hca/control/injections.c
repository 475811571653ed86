// SPDX-License-Identifier: GPL-2.0
/*
 * The request "inject": failures of commands, completions and UMR work requests, and false page-fault
 * events.
 */
#include <json-c/json.h>
#include <string.h>
#include <strings.h>

#include "cmd.h"
#include "hca.h"
#include "inject.h"
#include "util.h"
#include "request.h"

#define MAX_DELAY_MS	600000	/* of an answer */

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
 * request_status() - parse a firmware status
 * @s: a name with or without _ERR, or a number
 *
 * Return: the status, 0 if @s is none.
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

static bool inject_opcode(struct hca *hca, const char *s, unsigned long *op)
{
	return request_opcode(hca, s, op) && *op && *op < CMD_OPCODES;
}

static struct json_object *request_inject_cmd_delay(struct hca *hca, unsigned int n, char **w)
{
	unsigned long ms, count = 1, op = 0;

	if (n < 4 || n > 6 || !request_number(w[3], &ms) || !ms || ms > MAX_DELAY_MS ||
	    (n > 4 && (!request_number(w[4], &count) || !count)))
		return answer_fail("inject cmd delay MS [N [OPCODE]]");
	if (n > 5 && !inject_opcode(hca, w[5], &op))
		return answer_fail("no command %s", w[5]);
	inject_set_cmd_delay(hca->inject, op, count, ms);
	return answer_ok();
}

static struct json_object *request_inject_cmd(struct hca *hca, unsigned int n, char **w)
{
	uint8_t status = n == 4 ? request_status(w[3]) : 0;
	unsigned long nth;

	if (n > 2 && !strcmp(w[2], "delay"))
		return request_inject_cmd_delay(hca, n, w);
	if (n == 3 && !strcmp(w[2], "reorder")) {
		inject_set_cmd_reorder(hca->inject);
		return answer_ok();
	}
	if (!status || !request_number(w[2], &nth) || !nth)
		return answer_fail("inject cmd N STATUS | delay MS [N [OPCODE]] | reorder");
	if (!inject_set_nth_cmd(hca->inject, nth, status))
		return answer_fail("more than %d injections", INJECT_MAX_CMDS);
	return answer_ok();
}

static struct json_object *request_inject_op(struct hca *hca, unsigned int n, char **w)
{
	uint8_t status = n >= 4 ? request_status(w[3]) : 0;
	unsigned long op, count = 0;

	if (!status || n > 5 || (n == 5 && (!request_number(w[4], &count) || !count)))
		return answer_fail("inject op OPCODE STATUS [COUNT]");
	if (!inject_opcode(hca, w[2], &op))
		return answer_fail("no command %s", w[2]);
	if (!inject_set_opcode(hca->inject, op, count, status))
		return answer_fail("more than %d injections", INJECT_MAX_CMDS);
	return answer_ok();
}

/* A device that has failed comes back as after power on, and the census compares with that. */
static struct json_object *request_inject_clear(struct hca *hca, unsigned int n, char **w)
{
	struct json_object *o = answer_ok();

	(void)n;
	(void)w;
	answer_add_num(o, "fired", inject_clear(hca->inject));
	hca->hung = false;
	if (hca->fatal) {
		hca_reset(hca);
		memset(hca->control->baseline, 0, sizeof(hca->control->baseline));
	}
	return o;
}

static struct json_object *request_inject_cqes(struct hca *hca, unsigned int n, char **w)
{
	unsigned long ms = 0, count = 1;
	unsigned int at = 3;

	if (n < 3 || (strcmp(w[2], "drop") && strcmp(w[2], "delay")))
		return answer_fail("inject cqe drop [N] | delay MS [N]");
	if (!strcmp(w[2], "delay") && (n < 4 || !request_number(w[at++], &ms) || !ms))
		return answer_fail("inject cqe delay MS [N]");
	if (n > at && (!request_number(w[at], &count) || !count))
		return answer_fail("%s is not a number", w[at]);
	inject_set_cqes(hca->inject, count, ms);
	return answer_ok();
}

static struct json_object *request_inject_umrs(struct hca *hca, unsigned int n, char **w)
{
	unsigned long count = 1, skip = 0;

	if (n == 3 && !strcmp(w[2], "reorder")) {
		inject_set_umr_reorder(hca->inject);
		return answer_ok();
	}
	if (n > 4 || (n > 2 && (!request_number(w[2], &count) || !count)) ||
	    (n > 3 && !request_number(w[3], &skip)))
		return answer_fail("inject umr [N [SKIP]] | inject umr reorder");
	inject_set_umrs(hca->inject, count, skip);
	return answer_ok();
}

static struct json_object *request_inject_faults(struct hca *hca, unsigned int n, char **w)
{
	struct inject_fault fault = { .count = 1 };
	unsigned long subtype = 0;
	unsigned int at = 3;

	if (n < 3 || (strcmp(w[2], "subtype") && strcmp(w[2], "nowrite")))
		return answer_fail("inject fault subtype SUBTYPE [N] | nowrite [N]");
	fault.not_write = !strcmp(w[2], "nowrite");
	if (!fault.not_write && (n < 4 || !request_number(w[at++], &subtype) || subtype > 255))
		return answer_fail("inject fault subtype SUBTYPE [N]");
	if (n > at && (!request_number(w[at], &fault.count) || !fault.count))
		return answer_fail("%s is not a number", w[at]);
	fault.subtype = subtype;
	inject_set_faults(hca->inject, &fault);
	return answer_ok();
}

/* "inject link up" is "link up". */
static struct json_object *request_inject_link(struct hca *hca, unsigned int n, char **w)
{
	return request_link(hca, n - 1, w + 1);
}

static const struct request injections[] = {
	{ "cmd", request_inject_cmd }, { "op", request_inject_op }, { "clear", request_inject_clear },
	{ "cqe", request_inject_cqes }, { "umr", request_inject_umrs }, { "event", request_event },
	{ "fault", request_inject_faults },
	{ "hang", request_hang },
	{ "fatal", request_fatal }, { "link", request_inject_link }, { 0 }
};

/**
 * request_inject() - the request "inject"
 * @hca: the HCA
 * @n: words of the request
 * @w: the words, its name first
 *
 * Return: the answer.
 */
struct json_object *request_inject(struct hca *hca, unsigned int n, char **w)
{
	return n < 2 ? answer_fail("inject WHAT …") : request_run(injections, w[1], hca, n, w);
}
