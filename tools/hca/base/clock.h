/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host's monotonic clock.
 */
#ifndef BLUEBELL_CLOCK_H
#define BLUEBELL_CLOCK_H

#include <stdint.h>

uint64_t clock_now_ns(void);

#endif
