// SPDX-License-Identifier: GPL-2.0
/*
 * The request "inject": failures of commands, completions and UMR work requests, and false
 * page-fault events.
 */
#include <json-c/json.h>
#include <string.h>

#include "answer.h"
#include "cmd.h"
#include "hca.h"
#include "inject.h"
#include "request.h"
#include "words.h"

#define MAX_DELAY_MS	600000	/* of a command or a completion */

static bool inject_opcode(struct hca *hca, const char *s, unsigned long *op)
{
	return request_opcode(hca, s, op) && *op && *op < CMD_OPCODES;
}

/* "delay" and "defer": answer or execute commands late. */
static struct json_object *request_inject_cmd_late(struct hca *hca, unsigned int n, char **w)
{
	bool (*set)(struct inject *inj, uint16_t opcode, unsigned long count, unsigned int ms) =
		strcmp(w[2], "defer") ? inject_set_cmd_delay : inject_set_cmd_deferral;
	unsigned long ms, count = 1, op = 0;

	if (n < 4 || n > 6 || !request_number(w[3], &ms) || !ms || ms > MAX_DELAY_MS ||
	    (n > 4 && (!request_number(w[4], &count) || !count)))
		return answer_fail("usage: inject cmd %s MS [N [OPCODE]]", w[2]);
	if (n > 5 && !inject_opcode(hca, w[5], &op))
		return answer_fail("no command %s", w[5]);
	if (!set(hca->inject, op, count, ms))
		return answer_fail("more than %d delays", INJECT_MAX_DELAYS);
	return answer_ok();
}

static struct json_object *request_inject_cmd(struct hca *hca, unsigned int n, char **w)
{
	uint8_t status = n == 4 ? request_status(w[3]) : 0;
	unsigned long nth;

	if (n > 2 && (!strcmp(w[2], "delay") || !strcmp(w[2], "defer")))
		return request_inject_cmd_late(hca, n, w);
	if (n == 3 && !strcmp(w[2], "reorder")) {
		inject_set_cmd_reorder(hca->inject);
		return answer_ok();
	}
	if (!status || !request_number(w[2], &nth) || !nth)
		return answer_fail("usage: inject cmd N STATUS | "
				   "inject cmd delay|defer MS [N [OPCODE]] | inject cmd reorder");
	if (!inject_set_nth_cmd(hca->inject, nth, status))
		return answer_fail("more than %d injections", INJECT_MAX_CMDS);
	return answer_ok();
}

static struct json_object *request_inject_op(struct hca *hca, unsigned int n, char **w)
{
	uint8_t status = n >= 4 ? request_status(w[3]) : 0;
	unsigned long op, count = 0;

	if (!status || n > 5 || (n == 5 && (!request_number(w[4], &count) || !count)))
		return answer_fail("usage: inject op OPCODE STATUS [COUNT]");
	if (!inject_opcode(hca, w[2], &op))
		return answer_fail("no command %s", w[2]);
	if (!inject_set_opcode(hca->inject, op, count, status))
		return answer_fail("more than %d injections", INJECT_MAX_CMDS);
	return answer_ok();
}

/*
 * End all injections. If the HCA has failed, also reset it, which frees all objects, and set the
 * census's baseline to zero.
 */
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
		return answer_fail("usage: inject cqe drop [N] | inject cqe delay MS [N]");
	if (!strcmp(w[2], "delay") && (n < 4 || !request_number(w[at++], &ms) || !ms ||
				       ms > MAX_DELAY_MS))
		return answer_fail("usage: inject cqe delay MS [N]");
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
		return answer_fail("usage: inject umr [N [SKIP]] | inject umr reorder");
	inject_set_umrs(hca->inject, count, skip);
	return answer_ok();
}

static struct json_object *request_inject_tokens(struct hca *hca, unsigned int n, char **w)
{
	unsigned long count = 1;

	if (n > 4 || (n == 4 && (!request_number(w[3], &count) || !count)))
		return answer_fail("usage: inject fault token [N]");
	inject_set_tokens(hca->inject, count);
	return answer_ok();
}

static struct json_object *request_inject_faults(struct hca *hca, unsigned int n, char **w)
{
	struct inject_fault fault = { .count = 1 };
	unsigned long subtype = 0;
	unsigned int at = 3;

	if (n > 2 && !strcmp(w[2], "token"))
		return request_inject_tokens(hca, n, w);
	if (n < 3 || (strcmp(w[2], "subtype") && strcmp(w[2], "nowrite")))
		return answer_fail("usage: inject fault subtype SUBTYPE [N] | "
				   "inject fault nowrite|token [N]");
	fault.not_write = !strcmp(w[2], "nowrite");
	if (!fault.not_write && (n < 4 || !request_number(w[at++], &subtype) || subtype > 255))
		return answer_fail("usage: inject fault subtype SUBTYPE [N]");
	if (n > at && (!request_number(w[at], &fault.count) || !fault.count))
		return answer_fail("%s is not a number", w[at]);
	fault.subtype = subtype;
	inject_set_faults(hca->inject, &fault);
	return answer_ok();
}

/* The request "inject link up" does the same as "link up". */
static struct json_object *request_inject_link(struct hca *hca, unsigned int n, char **w)
{
	return request_link(hca, n - 1, w + 1);
}

static const struct request injections[] = {
	{ "cmd", request_inject_cmd }, { "op", request_inject_op },
	{ "clear", request_inject_clear }, { "cqe", request_inject_cqes },
	{ "umr", request_inject_umrs }, { "event", request_event },
	{ "fault", request_inject_faults }, { "hang", request_hang },
	{ "fatal", request_fatal }, { "link", request_inject_link },
	{ "frame", request_inject_frame }, { 0 }
};

/**
 * request_inject() - the request "inject"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_inject(struct hca *hca, unsigned int n, char **w)
{
	if (n < 2)
		return answer_fail("usage: inject WHAT …");
	return request_run(injections, w[1], hca, n, w);
}
