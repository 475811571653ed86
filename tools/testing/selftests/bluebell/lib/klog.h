/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The kernel's log.
 */
#ifndef BLUEBELL_KLOG_H
#define BLUEBELL_KLOG_H

#include <stddef.h>

int klog_count(const char *text);
char *klog_since(size_t *pos);

#endif
