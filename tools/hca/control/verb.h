/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the control socket's verbs share: tables of verbs, and how an answer is made.
 */
#ifndef BLUEBELL_VERB_H
#define BLUEBELL_VERB_H

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

/* A verb gets its request as @n words, its own name first. */
typedef struct json_object *(*verb_fn)(struct hca *hca, unsigned int n, char **w);

struct verb {
	const char *name;
	verb_fn fn;
};

/* request.c */
struct json_object *verb_run(const struct verb *v, const char *name, struct hca *hca,
			     unsigned int n, char **w);
struct json_object *verb_ok(void);
struct json_object *verb_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void verb_add_num(struct json_object *o, const char *key, int64_t v);
bool verb_number(const char *s, unsigned long *v);

/* The verbs, by subject. */
struct json_object *verb_census(struct hca *hca, unsigned int n, char **w);	/* census.c */
struct json_object *verb_commands(struct hca *hca, unsigned int n, char **w);	/* counters.c */
struct json_object *verb_counters(struct hca *hca, unsigned int n, char **w);
struct json_object *verb_cap(struct hca *hca, unsigned int n, char **w);	/* limits.c */
struct json_object *verb_limit(struct hca *hca, unsigned int n, char **w);
struct json_object *verb_inject(struct hca *hca, unsigned int n, char **w);	/* injections.c */
struct json_object *verb_link(struct hca *hca, unsigned int n, char **w);	/* device.c */
struct json_object *verb_unplug(struct hca *hca, unsigned int n, char **w);
struct json_object *verb_hang(struct hca *hca, unsigned int n, char **w);
struct json_object *verb_fatal(struct hca *hca, unsigned int n, char **w);
struct json_object *verb_event(struct hca *hca, unsigned int n, char **w);	/* event.c */
struct json_object *verb_trace(struct hca *hca, unsigned int n, char **w);	/* request.c */

/* socket.c */
void control_socket_close(struct hca *hca);

#endif
