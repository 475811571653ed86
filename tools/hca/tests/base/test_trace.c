// SPDX-License-Identifier: GPL-2.0
/*
 * The trace: its ring, and its file, which has a limit and may be on a disk that is full.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quota.h"
#include "trace.h"

static char path[] = "/tmp/test-trace-XXXXXX";
static char said[400], text[4096];
static struct trace *trace;

static int up(void **state)
{
	(void)state;
	strcpy(path + strlen(path) - 6, "XXXXXX");
	close(mkstemp(path));
	trace = trace_new(0);
	return trace ? 0 : -1;
}

static int down(void **state)
{
	(void)state;
	trace_free(trace);
	unlink(path);
	return 0;
}

/* Record @n events, and read into said[] what is written to standard error meanwhile. */
static void record(unsigned int n)
{
	FILE *file = tmpfile();
	int keep = dup(2);

	assert_non_null(file);
	dup2(fileno(file), 2);
	while (n--)
		trace_event(trace, "test", "\"n\":%u", n);
	dup2(keep, 2);
	close(keep);
	rewind(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = 0;
	fclose(file);
}

/* Count the lines of the file, and check that each is complete. */
static unsigned int lines(void)
{
	FILE *file = fopen(path, "r");
	unsigned int n = 0;
	char *line;

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	for (line = text; *line; line = strchr(line, '\n') + 1) {
		assert_non_null(strstr(line, "}\n"));
		n++;
	}
	return n;
}

/* After the file has reached its limit, the ring still records. */
static void file_has_a_limit(void **state)
{
	char *dump;

	(void)state;
	assert_int_equal(trace_to_file(trace, path, 200), 0);
	trace_ring(trace, true);
	record(9);
	assert_in_range(lines(), 2, 8);
	assert_in_range(strlen(text), 100, 200);
	assert_non_null(strstr(said, path));
	assert_non_null(strstr(said, "--file-limit"));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);	/* one line only */
	dump = trace_dump(trace, 1);
	assert_non_null(strstr(dump, "\"n\":0}"));
	free(dump);
}

static void limit_can_be_reached_to_the_byte(void **state)
{
	FILE *file = tmpfile();
	struct quota q;

	(void)state;
	assert_non_null(file);
	quota_start(&q, file, 10);
	assert_true(quota_take(&q, 4));
	assert_false(quota_take(&q, 7));
	assert_true(quota_take(&q, 6));
	assert_false(quota_take(&q, 1));
	fclose(file);
}

static void file_without_a_limit(void **state)
{
	(void)state;
	assert_int_equal(trace_to_file(trace, path, 0), 0);
	record(50);
	assert_int_equal(lines(), 50);
	assert_string_equal(said, "");
}

static void disk_that_is_full(void **state)
{
	(void)state;
	assert_int_equal(trace_to_file(trace, "/dev/full", 0), 0);
	record(2);
	assert_non_null(strstr(said, strerror(ENOSPC)));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	assert_false(trace_wanted(trace));
}

static void file_that_cannot_be_opened(void **state)
{
	(void)state;
	assert_int_equal(trace_to_file(trace, "/nonexistent/file", 0), -ENOENT);
	assert_false(trace_wanted(trace));
}

static void event_has_its_time_and_its_hca(void **state)
{
	struct trace *t = trace_new(3);
	char *dump;

	(void)state;
	trace_ring(t, true);
	assert_non_null(trace_begin(t, "test", 12003456789ull));
	trace_end(t);
	trace_event(NULL, "test", "\"n\":1");	/* an HCA without a trace */
	dump = trace_dump(t, 1);
	assert_string_equal(dump, "[{\"t\":12.003456,\"hca\":3,\"type\":\"test\"}]");
	free(dump);
	trace_free(t);
}

/* The ring has room for 16384 events. Events that are for the file alone do not displace them. */
static void ring_keeps_the_last_events(void **state)
{
	unsigned int i;
	char *dump;

	(void)state;
	assert_int_equal(trace_to_file(trace, path, 0), 0);
	trace_ring(trace, true);
	for (i = 0; i < 16384 + 5; i++)
		trace_event(trace, "test", "\"n\":%u", i);
	dump = trace_dump(trace, 20000);
	assert_null(strstr(dump, "\"n\":4}"));
	assert_non_null(strstr(dump, "\"n\":5}"));
	assert_non_null(strstr(dump, "\"n\":16388}]"));
	free(dump);
	dump = trace_dump(trace, 2);
	assert_null(strstr(dump, "\"n\":16386}"));
	assert_non_null(strstr(strstr(dump, "\"n\":16387}"), "\"n\":16388}]"));
	free(dump);
	trace_ring(trace, false);
	trace_event(trace, "test", "\"n\":%u", i);
	dump = trace_dump(trace, 1);
	assert_non_null(strstr(dump, "\"n\":16388}]"));
	free(dump);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(file_has_a_limit), T(limit_can_be_reached_to_the_byte), T(file_without_a_limit),
		T(disk_that_is_full),
		T(file_that_cannot_be_opened), T(event_has_its_time_and_its_hca),
		T(ring_keeps_the_last_events),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
