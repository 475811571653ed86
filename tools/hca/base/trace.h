/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The trace of one HCA: a ring of events in memory, each a JSON object, and optionally a file
 * that receives the same objects, one a line.
 */
#ifndef BLUEBELL_TRACE_H
#define BLUEBELL_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct trace;

struct trace *trace_new(unsigned int hca_index);
void trace_free(struct trace *t);
int trace_to_file(struct trace *t, const char *path, uint64_t limit);
void trace_ring(struct trace *t, bool on);
bool trace_wanted(const struct trace *t);
char *trace_dump(struct trace *t, unsigned int n);

/* @fmt gives JSON members: "\"qpn\":%u"; it may be empty. */
void trace_event(struct trace *t, const char *type, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * For an event that is printed piece by piece: between the calls the caller prints to the stream.
 */
FILE *trace_begin(struct trace *t, const char *type, uint64_t ns);
void trace_end(struct trace *t);

#endif
