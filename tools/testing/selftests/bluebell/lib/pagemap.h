/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where the kernel has the pages of this process.
 */
#ifndef BLUEBELL_PAGEMAP_H
#define BLUEBELL_PAGEMAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_SOFT_OFFLINE	/* asm-generic/mman-common.h */
#define MADV_SOFT_OFFLINE 101
#endif
#ifndef MADV_COLLAPSE	/* glibc 2.36 */
#define MADV_COLLAPSE 25
#endif

#define NO_PAGE_FRAMES "only root can see where pages are"

uint64_t page_frame(const void *addr);
size_t pages_present(const void *addr, size_t len);
size_t pages_swapped(const void *addr, size_t len);

#endif
