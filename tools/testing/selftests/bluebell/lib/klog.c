// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The kernel's log. A process that is not privileged cannot read it.
 */
#include <string.h>
#include <sys/klog.h>

#include "klog.h"

#define READ_ALL 3
#define LOG_SIZE 0x100000

static char log_text[LOG_SIZE];

/* Read the log into log_text; returns its length, 0 if it cannot be read. */
static size_t klog_read(void)
{
	int n = klogctl(READ_ALL, log_text, LOG_SIZE - 1);

	if (n < 0)
		n = 0;
	log_text[n] = 0;
	return n;
}

/**
 * klog_count - count how often the log has a text
 * @text: the text
 *
 * Return: the number of its occurrences.
 */
int klog_count(const char *text)
{
	const char *at = log_text;
	int found = 0;

	klog_read();
	while ((at = strstr(at, text))) {
		at++;
		found++;
	}
	return found;
}

/**
 * klog_since - read what has been logged
 * @pos: position in the log to read from, 0 for its start; set to the end of the log
 *
 * Return: the log from @pos on. The caller may change it; the next call overwrites it.
 */
char *klog_since(size_t *pos)
{
	size_t n = klog_read(), from = *pos <= n ? *pos : 0;

	*pos = n;
	return log_text + from;
}
