// SPDX-License-Identifier: GPL-2.0
/*
 * A rig for tests with threads: an event loop in a thread, in which a test lets functions run.
 */
#include <stdlib.h>

#include "looprig.h"

#define must(x)	do { if (!(x)) abort(); } while (0)

static void runner_answer(void *arg)
{
	struct runner *r = arg;

	r->fn(r->arg);
	sem_post(&r->done);
}

void runner_up(struct runner *r)
{
	r->loop = loop_new();
	must(r->loop && !sem_init(&r->done, 0, 0));
	must(!bell_init(&r->bell, loop_base(r->loop), runner_answer, r));
}

void runner_start(struct runner *r, const char *name)
{
	must(!loop_start(r->loop, name));
}

void runner_stop(struct runner *r)
{
	loop_end(r->loop);
	loop_join(r->loop);
}

void runner_down(struct runner *r)
{
	bell_exit(&r->bell);
	loop_free(r->loop);
	sem_destroy(&r->done);
	r->loop = NULL;
}

void runner_begin(struct runner *r, void (*fn)(void *arg), void *arg)
{
	r->fn = fn;
	r->arg = arg;
	bell_ring(&r->bell);
}

void runner_wait(struct runner *r)
{
	while (sem_wait(&r->done))
		;
}

void runner_call(struct runner *r, void (*fn)(void *arg), void *arg)
{
	runner_begin(r, fn, arg);
	runner_wait(r);
}
