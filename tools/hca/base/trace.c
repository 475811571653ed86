// SPDX-License-Identifier: GPL-2.0
/*
 * The trace: a ring of JSON objects in memory, and a file that receives them as lines.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "quota.h"
#include "trace.h"

#define RING	16384

struct trace {
	unsigned int hca_index;
	bool on;		/* events go to the ring */
	FILE *file;		/* events go here too; NULL: no file */
	char *path;		/* of the file */
	struct quota quota;
	char *ev[RING];
	uint64_t n;		/* events so far */
	FILE *open;		/* the event between trace_begin() and trace_end() */
	char *line;
	size_t len;
};

/**
 * trace_new() - make the trace of an HCA
 * @hca_index: number of the HCA in this process, which every event shows
 *
 * Return: a trace that records nothing yet, or NULL if memory is short.
 */
struct trace *trace_new(unsigned int hca_index)
{
	struct trace *t = calloc(1, sizeof(*t));

	if (t)
		t->hca_index = hca_index;
	return t;
}

/**
 * trace_free() - free a trace and close its file
 * @t: the trace, or NULL
 */
void trace_free(struct trace *t)
{
	unsigned int i;

	if (!t)
		return;
	for (i = 0; i < RING && i < t->n; i++)
		free(t->ev[i]);
	if (t->file)
		fclose(t->file);
	free(t->path);
	free(t);
}

/**
 * trace_to_file() - write every event from now on to a file
 * @t: the trace
 * @path: of the file, which is truncated
 * @limit: bytes after which the file gets no more events, 0 for no limit
 *
 * Return: 0, -ENOMEM, or -errno if the file cannot be opened.
 */
int trace_to_file(struct trace *t, const char *path, uint64_t limit)
{
	t->path = strdup(path);
	if (!t->path)
		return -ENOMEM;
	t->file = fopen(path, "we");
	if (!t->file)
		return -errno;
	setvbuf(t->file, NULL, _IOLBF, 0);
	quota_start(&t->quota, t->file, limit);
	return 0;
}

/* Write a whole event as a line. When a write fails, close the file: it gets no more events. */
static void trace_write(struct trace *t, const char *line)
{
	const char *why = NULL;

	errno = 0;
	if (!quota_take(&t->quota, t->len + 1))
		why = QUOTA_USED_UP;
	else if (fprintf(t->file, "%s\n", line) < 0 || ferror(t->file))
		why = strerror(errno ? errno : EIO);
	if (!why)
		return;
	fprintf(stderr, "bluebell-hca: cannot write to %s: %s; the trace ends here\n", t->path,
		why);
	fclose(t->file);
	t->file = NULL;
}

/**
 * trace_ring() - start or stop recording events in the ring
 * @t: the trace
 * @on: record them
 */
void trace_ring(struct trace *t, bool on)
{
	t->on = on;
}

/**
 * trace_wanted() - tell whether events are recorded anywhere
 * @t: the trace, or NULL
 */
bool trace_wanted(const struct trace *t)
{
	return t && (t->on || t->file);
}

/**
 * trace_begin() - begin an event
 * @t: the trace, or NULL
 * @type: of the event
 * @ns: time of the event, from clock_now_ns()
 *
 * The caller prints further members, each after a comma, and calls trace_end().
 *
 * Return: the stream to print to; NULL if no event is recorded, and then trace_end() must not be
 * called.
 */
FILE *trace_begin(struct trace *t, const char *type, uint64_t ns)
{
	if (!trace_wanted(t))
		return NULL;
	t->open = open_memstream(&t->line, &t->len);
	if (!t->open)
		return NULL;
	fprintf(t->open, "{\"t\":%llu.%06llu,\"hca\":%u,\"type\":\"%s\"",
		(unsigned long long)(ns / 1000000000), (unsigned long long)(ns / 1000 % 1000000),
		t->hca_index, type);
	return t->open;
}

/**
 * trace_end() - record the event that trace_begin() began
 * @t: the trace
 */
void trace_end(struct trace *t)
{
	char *line;

	fputc('}', t->open);
	fclose(t->open);
	line = t->line;
	if (t->file)
		trace_write(t, line);
	if (!t->on) {
		free(line);
		return;
	}
	free(t->ev[t->n % RING]);
	t->ev[t->n++ % RING] = line;
}

/**
 * trace_event() - record an event
 * @t: the trace, or NULL
 * @type: of the event: "doorbell", "cqe", …
 * @fmt: JSON members, as "\"qpn\":%u"; may be empty
 */
void trace_event(struct trace *t, const char *type, const char *fmt, ...)
{
	va_list ap;
	FILE *f;

	if (!trace_wanted(t))
		return;
	f = trace_begin(t, type, clock_now_ns());
	if (!f)
		return;
	if (*fmt)
		fputc(',', f);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	trace_end(t);
}

/**
 * trace_dump() - read the last events of the ring
 * @t: the trace
 * @n: how many, at most
 *
 * Return: a JSON array, oldest event first, which the caller frees; NULL if memory is short.
 */
char *trace_dump(struct trace *t, unsigned int n)
{
	char *out = NULL;
	size_t len;
	uint64_t i;
	FILE *f = open_memstream(&out, &len);

	if (!f)
		return NULL;
	if (n > RING || n > t->n)
		n = t->n < RING ? t->n : RING;
	fputc('[', f);
	for (i = t->n - n; i < t->n; i++)
		fprintf(f, "%s%s", i == t->n - n ? "" : ",", t->ev[i % RING]);
	fputc(']', f);
	fclose(f);
	return out;
}
