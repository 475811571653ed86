/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Small helpers that every folder uses.
 */
#ifndef BLUEBELL_UTIL_H
#define BLUEBELL_UTIL_H

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
