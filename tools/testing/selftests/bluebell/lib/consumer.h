/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The module kernel_verbs, a consumer of verbs in the kernel, and its tests.
 */
#ifndef BLUEBELL_CONSUMER_H
#define BLUEBELL_CONSUMER_H

#define CONSUMER_REPORT 256	/* bytes of a report, with the 0 at its end */

int consumer_open(void);
int consumer_run(int fd, const char *test, char report[CONSUMER_REPORT]);

#endif
