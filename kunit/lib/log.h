/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the kernel's log gets in a test.
 */

#ifndef BLUEBELL_KUNIT_LOG_H
#define BLUEBELL_KUNIT_LOG_H

#include <kunit/test.h>

void log_watch(struct kunit *test);
unsigned int log_count(const char *text);

#endif /* BLUEBELL_KUNIT_LOG_H */
