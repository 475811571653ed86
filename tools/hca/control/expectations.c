// SPDX-License-Identifier: GPL-2.0
/*
 * The requests "expect" and "unexpected": what tests announce that the HCA will refuse or ignore,
 * and what it refused or ignored although no test had announced it.
 */
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "answer.h"
#include "cmd.h"
#include "count.h"
#include "expect.h"
#include "hca.h"
#include "request.h"
#include "words.h"

static const char *const kind_name[INCIDENT_KINDS] = {
	[INCIDENT_REFUSE] = "refuse", [INCIDENT_DROP] = "drop", [INCIDENT_UMR] = "umr",
	[INCIDENT_OVERRUN] = "overrun", [INCIDENT_LEFT] = "left", [INCIDENT_PAGE] = "page",
	[INCIDENT_BUG] = "bug",
};

static bool has_code(enum incident_kind kind)
{
	return kind == INCIDENT_REFUSE || kind == INCIDENT_DROP;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_any(const char *word)
{
	return !strcmp(word, "any");
}

static bool code_by_name(struct hca *hca, enum incident_kind kind, const char *word,
			 unsigned int *code)
{
	unsigned long opcode;
	unsigned int i;

	*code = EXPECT_ANY;
	if (is_any(word))
		return true;
	if (kind == INCIDENT_REFUSE) {
		if (!request_opcode(hca, word, &opcode))
			return false;
		*code = opcode;
		return true;
	}
	for (i = 0; i < DROP_REASONS && strcmp(drop_reason_name(i), word); i++)
		;
	*code = i;
	return i < DROP_REASONS;
}

static void add_name(struct hca *hca, struct json_object *o, enum incident_kind kind,
		     unsigned int code)
{
	const struct cmd_desc *d;
	char name[40];

	if (!has_code(kind))
		return;
	d = kind == INCIDENT_REFUSE && code != EXPECT_ANY ? cmd_desc_find(hca, code) : NULL;
	if (code == EXPECT_ANY)
		snprintf(name, sizeof(name), "any");
	else if (kind == INCIDENT_DROP)
		snprintf(name, sizeof(name), "%s", drop_reason_name(code));
	else if (d)
		snprintf(name, sizeof(name), "%s", d->name);
	else
		snprintf(name, sizeof(name), "0x%x", code);
	json_object_object_add(o, "name", json_object_new_string(name));
}

static void add_status(struct json_object *o, enum incident_kind kind, unsigned int status)
{
	if (kind == INCIDENT_REFUSE)
		json_object_object_add(o, "status",
				       json_object_new_string(status == EXPECT_ANY ? "any" :
							      request_status_name(status)));
}

/* ---- expect ---------------------------------------------------------------------------------- */

/* Parse how many incidents are announced: a number; "any" for 0 or more; no word for 1 or more. */
static bool parse_count(struct expectation *x, const char *word)
{
	x->min = 1;
	x->max = ULONG_MAX;
	if (!word)
		return true;
	if (is_any(word)) {
		x->min = 0;
		return true;
	}
	if (!request_number(word, &x->min) || !x->min)
		return false;
	x->max = x->min;
	return true;
}

static bool parse_expectation(struct hca *hca, unsigned int n, char **w, struct expectation *x)
{
	unsigned int at = 2;

	for (x->kind = 0; x->kind < INCIDENT_BUG && strcmp(kind_name[x->kind], w[1]); x->kind++)
		;
	x->code = EXPECT_ANY;
	x->status = EXPECT_ANY;
	if (x->kind == INCIDENT_BUG)
		return false;
	if (has_code(x->kind) && (n <= at || !code_by_name(hca, x->kind, w[at++], &x->code)))
		return false;
	if (x->kind == INCIDENT_REFUSE && n > at && !is_any(w[at])) {
		x->status = request_status(w[at]);
		if (!x->status)
			return false;
	}
	at += x->kind == INCIDENT_REFUSE;
	return n <= at + 1 && parse_count(x, n > at ? w[at] : NULL);
}

static struct json_object *expect_missing(struct hca *hca)
{
	struct json_object *list = json_object_new_array(), *o;
	const struct expectation *x;
	unsigned int i;

	for (i = 0; (x = expect_get(hca->expect, i)); i++) {
		if (x->seen >= x->min)
			continue;
		o = json_object_new_object();
		json_object_object_add(o, "kind", json_object_new_string(kind_name[x->kind]));
		add_name(hca, o, x->kind, x->code);
		add_status(o, x->kind, x->status);
		answer_add_num(o, "want", x->min);
		answer_add_num(o, "seen", x->seen);
		json_object_array_add(list, o);
	}
	return list;
}

/* Announce any number of incidents of every kind that can be announced. */
static bool expect_everything(struct hca *hca)
{
	struct expectation x = { .code = EXPECT_ANY, .status = EXPECT_ANY, .max = ULONG_MAX };

	for (x.kind = 0; x.kind < INCIDENT_BUG; x.kind++)
		if (!expect_add(hca->expect, &x))
			return false;
	return true;
}

/**
 * request_expect() - the request "expect"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_expect(struct hca *hca, unsigned int n, char **w)
{
	struct expectation x = { 0 };
	struct json_object *o;
	bool all;

	if (n == 2 && !strcmp(w[1], "clear")) {
		o = answer_ok();
		json_object_object_add(o, "missing", expect_missing(hca));
		expect_clear(hca->expect);
		return o;
	}
	all = n == 2 && is_any(w[1]);
	if (!all && (n < 2 || !parse_expectation(hca, n, w, &x)))
		return answer_fail("usage: expect refuse OPCODE|any [STATUS|any [N|any]] | "
				   "expect drop REASON|any [N|any] | "
				   "expect umr|overrun|left|page [N|any] | expect any|clear");
	if (!(all ? expect_everything(hca) : expect_add(hca->expect, &x)))
		return answer_fail("too many expectations");
	return answer_ok();
}

/* ---- unexpected ------------------------------------------------------------------------------ */

static void add_incident(struct hca *hca, struct json_object *list, const struct incident *it,
			 unsigned long count)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "kind", json_object_new_string(kind_name[it->kind]));
	add_name(hca, o, it->kind, it->code);
	add_status(o, it->kind, it->status);
	json_object_object_add(o, "cause", json_object_new_string(it->cause));
	json_object_object_add(o, "why", json_object_new_string(it->why));
	answer_add_num(o, "count", count);
	json_object_array_add(list, o);
}

/**
 * request_unexpected() - the request "unexpected"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_unexpected(struct hca *hca, unsigned int n, char **w)
{
	bool new = n == 2 && !strcmp(w[1], "new");
	struct json_object *o, *list;
	const struct incident *it;
	unsigned int i;

	if (n > 1 && !new)
		return answer_fail("usage: unexpected [new]");
	o = answer_ok();
	list = json_object_new_array();
	for (i = 0; (it = expect_unexpected(hca->expect, i)); i++)
		if (!new || it->count > it->told)
			add_incident(hca, list, it, it->count - (new ? it->told : 0));
	json_object_object_add(o, "list", list);
	answer_add_num(o, "unlisted", expect_unlisted(hca->expect));
	if (new)
		expect_tell(hca->expect);
	return o;
}
