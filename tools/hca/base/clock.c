// SPDX-License-Identifier: GPL-2.0
/*
 * The host's monotonic clock.
 */
#include <time.h>

#include "clock.h"

/**
 * clock_now_ns() - read the monotonic clock
 *
 * Return: nanoseconds since an arbitrary point in the past.
 */
uint64_t clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}
