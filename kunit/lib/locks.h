/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Whether a function takes a lock. One task cannot show that a missing lock does harm, but lockdep
 * notes in a lock that the lock has been taken.
 */

#ifndef BLUEBELL_KUNIT_LOCKS_H
#define BLUEBELL_KUNIT_LOCKS_H

#include <kunit/test.h>
#include <linux/debug_locks.h>
#include <linux/lockdep.h>

#ifdef CONFIG_LOCKDEP

/* Have lockdep forget that the lock was ever taken. Nobody holds the lock. */
#define watch_lock(lock) do {								\
	static struct lock_class_key _key;						\
											\
	lockdep_set_class(lock, &_key);							\
} while (0)

/* Whether the lock has been taken since watch_lock(). After a report lockdep notes nothing more. */
#define lock_was_taken(lock) \
	(!debug_locks || READ_ONCE((lock)->dep_map.class_cache[0]))

#else

#define watch_lock(lock)	((void)(lock))
#define lock_was_taken(lock)	((void)(lock), true)

#endif /* CONFIG_LOCKDEP */

/*
 * Make a call, and expect that it takes the lock, a mutex or a spinlock that outlives the call. For
 * calls that take the lock once: of several sections only one need have the lock.
 */
#define EXPECT_TAKES_LOCK(test, lock, call) do {					\
	typeof(lock) _lock = (lock);							\
											\
	watch_lock(_lock);								\
	call;										\
	KUNIT_EXPECT_TRUE_MSG(test, lock_was_taken(_lock), "%s without the lock", #call);	\
} while (0)

#endif /* BLUEBELL_KUNIT_LOCKS_H */
