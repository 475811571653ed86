/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The control channel of the emulated HCA, as seen from inside the guest: census, command counts,
 * doorbell counters and fault injection.
 */
#ifndef BLUEBELL_HCA_CTL_H
#define BLUEBELL_HCA_CTL_H

#include <stdbool.h>
#include <stddef.h>

struct json_object;

bool hca_ctl_present(void);
struct json_object *hca_request(const char *fmt, ...);

typedef void hca_event_fn(struct json_object *event, void *arg);
int hca_trace_for_each(unsigned int last, hca_event_fn *fn, void *arg);
bool hca_event_is(struct json_object *event, const char *key, const char *text);

int hca_do(const char *fmt, ...);

int hca_census_reset(void);
const char *hca_census_delta(void);
const char *hca_census_delta_within(unsigned int ms);
long hca_census_count(const char *kind);
long hca_census_users(const char *kind);

int hca_commands_reset(void);
long hca_commands(const char *name);

long hca_counter(const char *name);
long hca_cap(const char *page, const char *field);
long hca_limit(const char *name);
long hca_objects_left(const char *kind);

int hca_inject_cmd(unsigned int nth, const char *status);
int hca_inject_clear(void);

int hca_expect(const char *fmt, ...);
void hca_expect_begin(void);
const char *hca_expect_end(void);

const char *driver_name(void);
bool driver_is(const char *name);

#endif
