// SPDX-License-Identifier: GPL-2.0
/*
 * See shortmem.h.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "shortmem.h"

unsigned int shortmem_left = UINT_MAX;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static bool fails(void)
{
	return shortmem_left != UINT_MAX && !shortmem_left--;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}
