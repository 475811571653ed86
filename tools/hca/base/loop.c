// SPDX-License-Identifier: GPL-2.0
/*
 * An event loop, and the thread that runs it.
 *
 * libevent is used without its locks: only the thread that runs a loop adds and deletes events of
 * its base. Before this thread is started and after it has been joined, the thread that made the
 * loop does so. Other threads may only ring a bell.
 */
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "bell.h"
#include "loop.h"

struct loop {
	struct event_base *base;
	struct bell end;
	pthread_t thread;
	bool started;
};

static void loop_on_end(void *arg)
{
	event_base_loopbreak(arg);
}

/**
 * loop_new() - make an event loop that does not run yet
 *
 * Return: the loop, or NULL if memory or file descriptors are short.
 */
struct loop *loop_new(void)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->base = event_base_new();
	if (!l->base) {
		free(l);
		return NULL;
	}
	if (bell_init(&l->end, l->base, loop_on_end, l->base)) {
		loop_free(l);
		return NULL;
	}
	return l;
}

/**
 * loop_free() - free an event loop
 * @l: the loop, which does not run, and all events of which have been freed; or NULL
 */
void loop_free(struct loop *l)
{
	if (!l)
		return;
	bell_exit(&l->end);
	event_base_free(l->base);
	free(l);
}

/**
 * loop_base() - the base for events of the loop
 * @l: the loop
 */
struct event_base *loop_base(struct loop *l)
{
	return l->base;
}

/**
 * loop_run() - run the loop in the calling thread, until loop_end()
 * @l: the loop
 */
void loop_run(struct loop *l)
{
	event_base_dispatch(l->base);
}

static void *loop_thread(void *arg)
{
	loop_run(arg);
	return NULL;
}

/**
 * loop_start() - run the loop in a thread of its own, until loop_end()
 * @l: the loop
 * @name: of the thread, at most 15 characters
 *
 * Return: 0 or -errno.
 */
int loop_start(struct loop *l, const char *name)
{
	int err = pthread_create(&l->thread, NULL, loop_thread, l);

	if (err)
		return -err;
	l->started = true;
	pthread_setname_np(l->thread, name);
	return 0;
}

/**
 * loop_end() - end the loop after the event that it processes
 * @l: the loop
 *
 * May be called by any thread, also before the loop runs. Does not wait; loop_join() does.
 */
void loop_end(struct loop *l)
{
	bell_ring(&l->end);
}

/**
 * loop_join() - wait for the end of the loop's thread
 * @l: the loop, for which loop_end() was called or will be; returns at once if it has no thread
 */
void loop_join(struct loop *l)
{
	if (l->started)
		pthread_join(l->thread, NULL);
	l->started = false;
}
