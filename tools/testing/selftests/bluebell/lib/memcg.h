/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What memory the kernel has left, and what it charges to the memory cgroup of a test.
 */
#ifndef BLUEBELL_MEMCG_H
#define BLUEBELL_MEMCG_H

#include <stddef.h>

#define NO_MEMCG "the kernel has no memory cgroups"

long free_kb(void);

int memcg_make(size_t limit);
int memcg_fill(void);
int memcg_fill_waits(size_t limit);
int memcg_allow_swap(void);
int memcg_throttle(size_t high);
int memcg_enter(void);
long memcg_charge(void);
long memcg_swapped(void);
long memcg_events(const char *name);
long memcg_objects(void);
long memcg_kernel(void);
long memcg_dying(void);
void memcg_remove(void);

#endif
