// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the kernel's log gets in a test. A tracepoint of printk() tells of each line, whoever writes
 * it. A tracepoint cannot be unregistered when a module is being removed, so the log is watched
 * only if the driver is built in.
 */

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "log.h"

#if !defined(MODULE) && IS_ENABLED(CONFIG_TRACEPOINTS)

#include <trace/events/printk.h>

/* guards the log. printk() may be called in any context. */
static DEFINE_RAW_SPINLOCK(log_lock);
/* The lines since log_watch(); the lines that do not fit are lost. */
static char lines[SZ_8K];
static size_t num_bytes;

static void add_line(void *data, const char *text, size_t len)
{
	guard(raw_spinlock_irqsave)(&log_lock);
	len = min(len, sizeof(lines) - 1 - num_bytes);
	memcpy(lines + num_bytes, text, len);
	num_bytes += len;
	lines[num_bytes] = '\0';
}

/**
 * log_watch - keep the lines that the log gets from now on, and forget earlier ones
 * @test: the running test, which is skipped if the log cannot be watched
 *
 * A line with a limited rate may be missing if other tests have caused it shortly before.
 */
void log_watch(struct kunit *test)
{
	static bool done;

	if (!done)
		KUNIT_ASSERT_EQ(test, register_trace_console(add_line, NULL), 0);
	done = true;
	guard(raw_spinlock_irqsave)(&log_lock);
	num_bytes = 0;
	lines[0] = '\0';
}

/**
 * log_count - how often a text has been logged since log_watch()
 * @text: a part of a line
 *
 * Return: the number.
 */
unsigned int log_count(const char *text)
{
	unsigned int num = 0;
	const char *at;

	guard(raw_spinlock_irqsave)(&log_lock);
	for (at = strstr(lines, text); at; at = strstr(at + 1, text))
		num++;
	return num;
}

#else

void log_watch(struct kunit *test)
{
	bool can_watch = false;

	/* objtool wants a function that can never return to be declared so. */
	OPTIMIZER_HIDE_VAR(can_watch);
	if (!can_watch)
		kunit_skip(test, "the log cannot be watched");
}

unsigned int log_count(const char *text)
{
	return 0;
}

#endif
