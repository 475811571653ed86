/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Allocations that fail: the kernel's fault injection, for the task of the test alone.
 */

#ifndef BLUEBELL_KUNIT_FAIL_ALLOC_H
#define BLUEBELL_KUNIT_FAIL_ALLOC_H

#include <kunit/test.h>
#include <linux/types.h>

struct mock;

/**
 * struct fail_alloc_verb - what fail_alloc_each() does again and again
 * @create: create something; returns 0 or an errno
 * @destroy: destroy what @create has created
 */
struct fail_alloc_verb {
	int (*create)(void *arg);
	void (*destroy)(void *arg);
};

void fail_alloc_init(struct kunit *test);
void fail_alloc_begin(unsigned int nth);
bool fail_alloc_end(void);
void fail_alloc_each(struct mock *mock, const struct fail_alloc_verb *verb, void *arg);

#endif /* BLUEBELL_KUNIT_FAIL_ALLOC_H */
