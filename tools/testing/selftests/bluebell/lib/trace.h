/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The kernel's trace of the driver's events, in a buffer that only the test uses.
 */
#ifndef BLUEBELL_TRACE_H
#define BLUEBELL_TRACE_H

#include <stdbool.h>

int trace_start(void);
int trace_stop(void);
const char *trace_last(const char *text);
bool trace_has(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
