// SPDX-License-Identifier: GPL-2.0
/*
 * Requests to the control socket: their table, how a line is split into words, and the requests
 * "trace" and "capture".
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "capture.h"
#include "control.h"
#include "fabric.h"
#include "hca.h"
#include "request.h"
#include "trace.h"
#include "words.h"

#define MAX_WORDS	8	/* of a request; further words are ignored */

/* ---- trace and capture ----------------------------------------------------------------------- */

/**
 * request_trace() - the request "trace"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_trace(struct hca *hca, unsigned int n, char **w)
{
	unsigned long last = ~0u;
	struct json_object *o;
	char *events;

	if (n == 2 && (!strcmp(w[1], "on") || !strcmp(w[1], "off"))) {
		trace_ring(hca->trace, !strcmp(w[1], "on"));
		return answer_ok();
	}
	if (n < 2 || n > 3 || strcmp(w[1], "dump") || (n == 3 && !request_number(w[2], &last)))
		return answer_fail("usage: trace on|off|dump [N]");
	events = trace_dump(hca->trace, last < ~0u ? last : ~0u);
	if (!events)
		return answer_fail("no memory for the events");
	o = answer_ok();
	json_object_object_add(o, "events", json_tokener_parse(events));
	free(events);
	return o;
}

/**
 * request_capture() - the request "capture": stop or resume recording to the file of --capture
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * The request cannot name another file, because a guest may send requests.
 *
 * Return: the answer.
 */
struct json_object *request_capture(struct hca *hca, unsigned int n, char **w)
{
	struct capture *c = fabric_capture(hca->fabric);

	if (n != 2 || (strcmp(w[1], "on") && strcmp(w[1], "off")))
		return answer_fail("usage: capture on|off");
	if (!c)
		return answer_fail("there is no capture: --capture was not given, or its file "
				   "cannot be written");
	if (capture_error(c))
		return answer_fail("the capture has ended: %s", strerror(-capture_error(c)));
	capture_pause(c, !strcmp(w[1], "off"));
	return answer_ok();
}

/* ---- the requests --------------------------------------------------------------------------- */

static const struct request requests[] = {
	{ "census", request_census }, { "counters", request_counters },
	{ "commands", request_commands }, { "cap", request_cap }, { "limit", request_limit },
	{ "rates", request_rates }, { "addresses", request_addresses },
	{ "steering", request_steering }, { "profile", request_profile },
	{ "trace", request_trace }, { "capture", request_capture },
	{ "inject", request_inject }, { "impair", request_impair },
	{ "ecn", request_ecn }, { "expect", request_expect },
	{ "unexpected", request_unexpected },
	{ "link", request_link }, { "port", request_port }, { "unplug", request_unplug },
	{ "plug", request_plug }, { 0 }
};

/**
 * control_request() - answer a request
 * @hca: the HCA
 * @line: words with spaces between them
 *
 * Return: the answer, one line of JSON without the newline; the caller frees it.
 */
char *control_request(struct hca *hca, const char *line)
{
	char *copy = strdup(line), *save = NULL, *w[MAX_WORDS], *word, *text;
	struct json_object *o;
	unsigned int n = 0;

	for (word = strtok_r(copy, " \t\r\n", &save); word && n < MAX_WORDS;
	     word = strtok_r(NULL, " \t\r\n", &save))
		w[n++] = word;
	o = n ? request_run(requests, w[0], hca, n, w) : answer_fail("no request");
	text = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	free(copy);
	return text;
}
