/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files with the control socket's requests share: tables of requests, and how an answer
 * is made.
 */
#ifndef BLUEBELL_REQUEST_H
#define BLUEBELL_REQUEST_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "object.h"

struct hca;

/*
 * What the census counts: the kinds of objects, and apart from them the memory keys that are free,
 * of which drivers keep some for the next registration.
 */
enum { COUNT_MKEY_FREE = OBJ_KINDS, COUNTS };

/* State of an HCA's control socket: socket.c has the connections, census.c the baseline. */
struct control {
	struct control_socket *socket;
	bool have_baseline;
	unsigned int baseline[COUNTS];
};

/* Answers a request of @n words, the request's name first. */
typedef struct json_object *(*request_fn)(struct hca *hca, unsigned int n, char **w);

struct request {
	const char *name;
	request_fn fn;
};

/* request.c */
struct json_object *request_run(const struct request *r, const char *name, struct hca *hca,
				unsigned int n, char **w);
struct json_object *answer_ok(void);
struct json_object *answer_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void answer_add_num(struct json_object *o, const char *key, int64_t v);
bool request_number(const char *s, unsigned long *v);

/* injections.c */
uint8_t request_status(const char *s);
const char *request_status_name(uint8_t status);
bool request_opcode(struct hca *hca, const char *s, unsigned long *op);

/* The requests, by subject. */
struct json_object *request_census(struct hca *hca, unsigned int n, char **w);	/* census.c */
struct json_object *request_commands(struct hca *hca, unsigned int n, char **w);	/* counters.c */
struct json_object *request_counters(struct hca *hca, unsigned int n, char **w);
struct json_object *request_cap(struct hca *hca, unsigned int n, char **w);	/* limits.c */
struct json_object *request_limit(struct hca *hca, unsigned int n, char **w);
struct json_object *request_inject(struct hca *hca, unsigned int n, char **w);	/* injections.c */
struct json_object *request_impair(struct hca *hca, unsigned int n, char **w);	/* impairments.c */
struct json_object *request_expect(struct hca *hca, unsigned int n, char **w);	/* expectations.c */
struct json_object *request_unexpected(struct hca *hca, unsigned int n, char **w);
struct json_object *request_link(struct hca *hca, unsigned int n, char **w);	/* device.c */
struct json_object *request_port(struct hca *hca, unsigned int n, char **w);
struct json_object *request_unplug(struct hca *hca, unsigned int n, char **w);
struct json_object *request_plug(struct hca *hca, unsigned int n, char **w);
struct json_object *request_hang(struct hca *hca, unsigned int n, char **w);
struct json_object *request_fatal(struct hca *hca, unsigned int n, char **w);
struct json_object *request_event(struct hca *hca, unsigned int n, char **w);	/* event.c */
struct json_object *request_trace(struct hca *hca, unsigned int n, char **w);	/* request.c */
struct json_object *request_capture(struct hca *hca, unsigned int n, char **w);

/* socket.c */
void control_socket_close(struct hca *hca);

#endif
