// SPDX-License-Identifier: GPL-2.0
/*
 * Loops in threads, and their bells.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

#include "bell.h"
#include "loop.h"
#include "looprig.h"

#define RINGERS	4
#define RINGS	2000	/* of each ringer */
#define SINGLE	1000	/* rings, each of which is answered before the next */
#define PATIENCE 20000	/* looks for an answer, most of them 0.1 ms apart */

static struct bell bell;
static atomic_uint left;		/* units of work for the thread, one for each ring */
static atomic_uint seen;		/* @left when the thread answered last */
static unsigned int answers;
static sem_t all_seen;

static void answer(void *arg)
{
	(void)arg;
	answers++;
	seen = atomic_load(&left);
	if (seen == RINGERS * RINGS)
		sem_post(&all_seen);
	sched_yield();		/* so that ringers leave more work before the answer ends */
}

static void *ringer(void *arg)
{
	unsigned int i;

	(void)arg;
	for (i = 0; i < RINGS; i++) {
		atomic_fetch_add(&left, 1);
		bell_ring(&bell);
	}
	return NULL;
}

/* The thread sees all work that was left before a ring, even if one answer serves several rings. */
static void no_ring_is_missed(void **state)
{
	struct runner r;
	pthread_t thread[RINGERS];
	unsigned int i;

	(void)state;
	sem_init(&all_seen, 0, 0);
	runner_up(&r);
	assert_int_equal(bell_init(&bell, loop_base(r.loop), answer, NULL), 0);
	runner_start(&r, "answers");
	for (i = 0; i < RINGERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, ringer, NULL), 0);
	for (i = 0; i < RINGERS; i++)
		pthread_join(thread[i], NULL);
	while (sem_wait(&all_seen))
		;
	runner_stop(&r);
	assert_int_equal(seen, RINGERS * RINGS);
	assert_in_range(answers, 1, RINGERS * RINGS);
	bell_exit(&bell);
	runner_down(&r);
}

/* A ring that comes as soon as the previous ring was answered is answered, too. */
static void ring_during_an_answer_is_not_missed(void **state)
{
	struct runner r;
	unsigned int i, waited = 0;

	(void)state;
	atomic_store(&left, 0);
	atomic_store(&seen, 0);
	runner_up(&r);
	assert_int_equal(bell_init(&bell, loop_base(r.loop), answer, NULL), 0);
	runner_start(&r, "answers");
	for (i = 1; i <= SINGLE && waited < PATIENCE; i++) {
		atomic_store(&left, i);
		bell_ring(&bell);
		for (waited = 0; waited < PATIENCE && atomic_load(&seen) != i; waited++)
			if (waited > 1000)
				usleep(100);
	}
	runner_stop(&r);
	assert_true(waited < PATIENCE);
	bell_exit(&bell);
	runner_down(&r);
}

static char named[16];

static void note_name(void *arg)
{
	(void)arg;
	pthread_getname_np(pthread_self(), named, sizeof(named));
}

static void thread_has_the_name_that_it_is_given(void **state)
{
	struct runner r;

	(void)state;
	runner_up(&r);
	runner_start(&r, "fifteen letters");
	runner_call(&r, note_name, NULL);
	runner_stop(&r);
	runner_down(&r);
	assert_string_equal(named, "fifteen letters");
}

/* loop_end() may be called at any time, also before loop_start(). */
static void loop_ends_when_it_is_told(void **state)
{
	struct loop *l;
	unsigned int i;

	(void)state;
	for (i = 0; i < 100; i++) {
		l = loop_new();
		assert_non_null(l);
		if (i % 2)
			loop_end(l);
		assert_int_equal(loop_start(l, "ends"), 0);
		if (!(i % 2))
			loop_end(l);
		loop_join(l);
		loop_free(l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_ring_is_missed),
		cmocka_unit_test(ring_during_an_answer_is_not_missed),
		cmocka_unit_test(loop_ends_when_it_is_told),
		cmocka_unit_test(thread_has_the_name_that_it_is_given),
	};

	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
