/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory that the driver allocates in a test and that nobody frees.
 */

#ifndef BLUEBELL_KUNIT_MEMORY_H
#define BLUEBELL_KUNIT_MEMORY_H

#include <kunit/test.h>

struct mutex;

void memory_watch(struct kunit *test);
unsigned int memory_mark(void);
void memory_expect_charged(struct kunit *test, unsigned int mark);
void memory_expect_any(struct kunit *test, unsigned int mark);
void memory_watch_lock(struct kunit *test, const struct mutex *lock);
unsigned int memory_under_lock(void);

#endif /* BLUEBELL_KUNIT_MEMORY_H */
