/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A process of a test, which says when it is at work.
 */
#ifndef BLUEBELL_CHILD_H
#define BLUEBELL_CHILD_H

#include <sys/types.h>

/**
 * child_fn - what the process does
 * @arg: of child_start()
 * @ready: for child_ready()
 *
 * Return: the exit status of the process.
 */
typedef int child_fn(void *arg, int ready);

pid_t child_start(child_fn *work, void *arg);
int child_ready(int ready);
int child_hold(int ready);
int child_kill(pid_t pid);

#endif
