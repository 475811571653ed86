// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The kernel's trace of the driver's events. An instance of tracefs has a buffer of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel_file.h"
#include "trace.h"

#define INSTANCE "/sys/kernel/tracing/instances/bluebell_selftest"
#define EVENTS INSTANCE "/events/bluebell/enable"
#define TRACE_SIZE 0x100000

static char trace_text[TRACE_SIZE];

/**
 * trace_start - record the driver's events from now on
 *
 * Removes the buffer that a test which failed has left behind.
 *
 * Return: 0 or -errno.
 */
int trace_start(void)
{
	rmdir(INSTANCE);
	return mkdir(INSTANCE, 0700) ? -errno : write_file(EVENTS, "1");
}

/**
 * trace_stop - record no more events, and forget those recorded
 *
 * Return: 0 or -errno.
 */
int trace_stop(void)
{
	return rmdir(INSTANCE) ? -errno : 0;
}

/* Read the events into trace_text. The kernel returns a page of them at a time. */
static void trace_read(void)
{
	int fd = open(INSTANCE "/trace", O_RDONLY);
	size_t len = 0;
	ssize_t n = 0;

	if (fd >= 0) {
		while ((n = read(fd, trace_text + len, TRACE_SIZE - 1 - len)) > 0)
			len += n;
		close(fd);
	}
	trace_text[len] = 0;
}

/**
 * trace_last - find the last event with a text
 * @text: the text
 *
 * Return: the rest of the trace from @text on, which the next call overwrites; NULL if no event has
 * the text.
 */
const char *trace_last(const char *text)
{
	const char *last = NULL, *at = trace_text;

	trace_read();
	while ((at = strstr(at, text)))
		last = at++;
	return last;
}

/**
 * trace_has - find an event
 * @fmt: format of the event's name and of all that the event says
 *
 * Return: true if the trace has the event.
 */
bool trace_has(const char *fmt, ...)
{
	char text[200], event[sizeof(text) + 2];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(event, sizeof(event), " %s\n", text);
	trace_read();
	return strstr(trace_text, event);
}
