/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rig for tests that read the trace of an HCA, after trace_ring().
 */
#ifndef BLUEBELL_TRACERIG_H
#define BLUEBELL_TRACERIG_H

struct trace;

/*
 * Check that the last event of @type in the ring has these members. They are compared from behind
 * the type up to the first bracket that closes.
 */
void expect_traced(struct trace *t, const char *type, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
