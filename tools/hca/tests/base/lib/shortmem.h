/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations that fail, for a test whose calls of malloc() and calloc() the linker replaces (see the
 * Makefile).
 */
#ifndef BLUEBELL_TESTS_SHORTMEM_H
#define BLUEBELL_TESTS_SHORTMEM_H

#include <limits.h>

/* Allocations until one fails; UINT_MAX: none will, which is so again after one has failed. */
extern unsigned int shortmem_left;

#endif
