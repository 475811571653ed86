/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The compiler reads this file before counters.c of the driver. On a kernel whose ib_core does not
 * allocate what the driver adds to a counter, the driver's struct is not around the counter.
 */

#ifndef BLUEBELL_COMPAT_COUNTERS_H
#define BLUEBELL_COMPAT_COUNTERS_H

#ifndef BB_HAVE_OPS
#include "fw/bluebell.h"
#include "fw/fw.h"
#include "ops.h"
#include "verbs/qp.h"

/* In counters.c itself, all conversions are from a counter to the driver's struct. */
#undef container_of
#define container_of(ptr, type, member) \
	((type *)(bb_counter_double(ptr) - offsetof(type, member)))
#endif

#endif /* BLUEBELL_COMPAT_COUNTERS_H */
