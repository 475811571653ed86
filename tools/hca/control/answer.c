// SPDX-License-Identifier: GPL-2.0
/*
 * Answers to requests: making an answer, and finding the function that answers a request.
 */
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "answer.h"

/**
 * answer_ok() - make an answer that says success
 *
 * Return: the answer, to which the caller may add members.
 */
struct json_object *answer_ok(void)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "ok", json_object_new_boolean(1));
	return o;
}

/**
 * answer_fail() - make an answer that says failure
 * @fmt: the reason
 *
 * Return: the answer.
 */
struct json_object *answer_fail(const char *fmt, ...)
{
	struct json_object *o = json_object_new_object();
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_object_object_add(o, "ok", json_object_new_boolean(0));
	json_object_object_add(o, "error", json_object_new_string(text));
	return o;
}

/**
 * answer_add_num() - add a number to an answer
 * @o: the answer
 * @key: name of the member
 * @v: the number
 */
void answer_add_num(struct json_object *o, const char *key, int64_t v)
{
	json_object_object_add(o, key, json_object_new_int64(v));
}

/**
 * request_run() - find a request by its name and answer it
 * @r: table of requests, ended by a NULL name
 * @name: of the request
 * @hca: the HCA
 * @n: number of words
 * @w: the words
 *
 * Return: the answer.
 */
struct json_object *request_run(const struct request *r, const char *name, struct hca *hca,
				unsigned int n, char **w)
{
	for (; r->name; r++)
		if (!strcmp(r->name, name))
			return r->fn(hca, n, w);
	return answer_fail("no request %s", name);
}
