// SPDX-License-Identifier: GPL-2.0
/*
 * How many bytes the HCA may write to a file.
 */
#include <sys/stat.h>

#include "quota.h"

/**
 * quota_start() - begin to count what is written to a file
 * @q: the quota
 * @file: the file; a named pipe or a terminal keeps nothing, and so has no limit
 * @limit: bytes, 0 for no limit
 */
void quota_start(struct quota *q, FILE *file, uint64_t limit)
{
	struct stat st;

	q->used = 0;
	q->limit = !fstat(fileno(file), &st) && S_ISREG(st.st_mode) ? limit : 0;
}

/**
 * quota_take() - ask to write to the file
 * @q: the quota
 * @n: bytes
 *
 * Return: false if the file would be longer than its limit.
 */
bool quota_take(struct quota *q, size_t n)
{
	if (q->limit && n > q->limit - q->used)
		return false;
	q->used += n;
	return true;
}
