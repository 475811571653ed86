/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The files of procfs, sysfs, debugfs and cgroups, by which the kernel takes settings and requests.
 */
#ifndef BLUEBELL_KERNEL_FILE_H
#define BLUEBELL_KERNEL_FILE_H

#include <stdbool.h>

/* What empty_caches() frees. */
enum {
	DROP_PAGE_CACHE = 1,
	DROP_SLAB = 2,		/* what shrinkers free */
};

int write_file(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int empty_caches(int what);
bool kernel_has_symbol(const char *name);
int load_test_module(const char *name, const char *device);

#endif
