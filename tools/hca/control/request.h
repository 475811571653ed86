/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control socket of an HCA: its state, and its requests by the file that answers them.
 */
#ifndef BLUEBELL_REQUEST_H
#define BLUEBELL_REQUEST_H

#include <json-c/json.h>
#include <stdbool.h>

#include "object.h"

struct hca;

/*
 * What the census counts: objects by kind, and separately the free memory keys, which drivers keep
 * for later registrations.
 */
enum { COUNT_MKEY_FREE = OBJ_KINDS, COUNTS };

/* State of an HCA's control socket: socket.c has the connections, census.c the baseline. */
struct control {
	struct control_socket *socket;
	bool have_baseline;
	unsigned int baseline[COUNTS];
};

/* The requests, by the file that answers them. */

/* census.c */
struct json_object *request_census(struct hca *hca, unsigned int n, char **w);

/* counters.c */
struct json_object *request_commands(struct hca *hca, unsigned int n, char **w);
struct json_object *request_counters(struct hca *hca, unsigned int n, char **w);

/* limits.c */
struct json_object *request_cap(struct hca *hca, unsigned int n, char **w);
struct json_object *request_profile(struct hca *hca, unsigned int n, char **w);
struct json_object *request_limit(struct hca *hca, unsigned int n, char **w);

/* rates.c */
struct json_object *request_rates(struct hca *hca, unsigned int n, char **w);

/* addresses.c */
struct json_object *request_addresses(struct hca *hca, unsigned int n, char **w);

/* steering.c */
struct json_object *request_steering(struct hca *hca, unsigned int n, char **w);

/* injections.c */
struct json_object *request_inject(struct hca *hca, unsigned int n, char **w);

/* impairments.c */
struct json_object *request_impair(struct hca *hca, unsigned int n, char **w);
struct json_object *request_ecn(struct hca *hca, unsigned int n, char **w);

/* expectations.c */
struct json_object *request_expect(struct hca *hca, unsigned int n, char **w);
struct json_object *request_unexpected(struct hca *hca, unsigned int n, char **w);

/* device.c */
struct json_object *request_link(struct hca *hca, unsigned int n, char **w);
struct json_object *request_port(struct hca *hca, unsigned int n, char **w);
struct json_object *request_unplug(struct hca *hca, unsigned int n, char **w);
struct json_object *request_plug(struct hca *hca, unsigned int n, char **w);
struct json_object *request_hang(struct hca *hca, unsigned int n, char **w);
struct json_object *request_fatal(struct hca *hca, unsigned int n, char **w);

/* event.c */
struct json_object *request_event(struct hca *hca, unsigned int n, char **w);

/* frame.c */
struct json_object *request_inject_frame(struct hca *hca, unsigned int n, char **w);

/* request.c */
struct json_object *request_trace(struct hca *hca, unsigned int n, char **w);
struct json_object *request_capture(struct hca *hca, unsigned int n, char **w);

#endif
