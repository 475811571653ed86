/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Whether a call takes a lock. The suites run in one task, to which a missing lock does no harm,
 * but lockdep keeps the class of a lock in it when the lock is taken for the first time.
 */

#ifndef BLUEBELL_KUNIT_LOCKS_H
#define BLUEBELL_KUNIT_LOCKS_H

#include <kunit/test.h>
#include <linux/lockdep.h>

/*
 * Evaluate @call, and expect that it takes @lock, a mutex or a spinlock that outlives the call. For
 * calls that take the lock once: if one of several sections had no lock, nothing would be noticed.
 */
#ifdef CONFIG_DEBUG_LOCK_ALLOC
#define EXPECT_TAKES_LOCK(test, lock, call) do {					\
	struct lockdep_map *_map = &(lock)->dep_map;					\
											\
	WRITE_ONCE(_map->class_cache[0], NULL);						\
	call;										\
	KUNIT_EXPECT_NOT_NULL_MSG(test, _map->class_cache[0], "no lock: %s", #call);	\
} while (0)
#else
#define EXPECT_TAKES_LOCK(test, lock, call) do {					\
	KUNIT_EXPECT_NOT_NULL(test, lock);						\
	call;										\
} while (0)
#endif

#endif /* BLUEBELL_KUNIT_LOCKS_H */
