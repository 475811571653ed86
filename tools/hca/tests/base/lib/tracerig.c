// SPDX-License-Identifier: GPL-2.0
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"
#include "tracerig.h"

void expect_traced(struct trace *t, const char *type, const char *fmt, ...)
{
	char *dump = trace_dump(t, UINT_MAX), *at = dump, *last = "";
	char key[60], got[1000], want[1000];
	va_list ap;

	snprintf(key, sizeof(key), "\"type\":\"%s\",", type);
	while ((at = strstr(at, key))) {
		at += strlen(key);
		last = at;
	}
	snprintf(got, sizeof(got), "%.*s", (int)strcspn(last, "}"), last);
	free(dump);
	va_start(ap, fmt);
	vsnprintf(want, sizeof(want), fmt, ap);
	va_end(ap);
	assert_string_equal(got, want);
}
