/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rig for tests with threads: an event loop in a thread, in which a test lets functions run.
 */
#ifndef BLUEBELL_LOOPRIG_H
#define BLUEBELL_LOOPRIG_H

#include <semaphore.h>

#include "bell.h"
#include "loop.h"

struct runner {
	struct loop *loop;
	struct bell bell;
	void (*fn)(void *arg);
	void *arg;
	sem_t done;
};

/* The loop exists from runner_up() to runner_down(), and runs from runner_start() to _stop(). */
void runner_up(struct runner *r);
void runner_start(struct runner *r, const char *name);
void runner_stop(struct runner *r);
void runner_down(struct runner *r);

/*
 * runner_begin() lets @fn run in the thread, runner_wait() waits until @fn has returned, and
 * runner_call() does both. One function at a time.
 */
void runner_begin(struct runner *r, void (*fn)(void *arg), void *arg);
void runner_wait(struct runner *r);
void runner_call(struct runner *r, void (*fn)(void *arg), void *arg);

#endif
