/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Answers to the control socket's requests, and tables of the functions that make them.
 */
#ifndef BLUEBELL_ANSWER_H
#define BLUEBELL_ANSWER_H

#include <json-c/json.h>
#include <stdint.h>

struct hca;

/* Answers a request of @n words, the request's name first. */
typedef struct json_object *(*request_fn)(struct hca *hca, unsigned int n, char **w);

struct request {
	const char *name;
	request_fn fn;
};

struct json_object *answer_ok(void);
struct json_object *answer_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void answer_add_num(struct json_object *o, const char *key, int64_t v);
struct json_object *request_run(const struct request *r, const char *name, struct hca *hca,
				unsigned int n, char **w);

#endif
