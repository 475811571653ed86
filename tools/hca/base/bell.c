// SPDX-License-Identifier: GPL-2.0
/*
 * A bell: an eventfd that is written to once for any number of rings before the loop answers.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bell.h"

/*
 * bell_ring() writes to the eventfd only if @rung was not set. So the loop clears @rung before it
 * calls @answer: a later ring then writes again. Both sides exchange @rung, so @answer sees all
 * that a thread stored before it called bell_ring(), also if that call did not write.
 */
static void bell_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct bell *b = arg;
	eventfd_t n;

	(void)what;
	eventfd_read(fd, &n);
	atomic_exchange(&b->rung, false);
	b->answer(b->arg);
}

/**
 * bell_init() - set up a bell
 * @b: the bell
 * @base: event loop that answers
 * @answer: called by the loop after one or more rings
 * @arg: passed to @answer
 *
 * Return: 0 or -errno; bell_exit() may be called in any case.
 */
int bell_init(struct bell *b, struct event_base *base, void (*answer)(void *arg), void *arg)
{
	b->answer = answer;
	b->arg = arg;
	atomic_init(&b->rung, false);
	b->ev = NULL;
	b->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (b->fd < 0)
		return -errno;
	b->ev = event_new(base, b->fd, EV_READ | EV_PERSIST, bell_on_readable, b);
	return b->ev && !event_add(b->ev, NULL) ? 0 : -ENOMEM;
}

/**
 * bell_exit() - free a bell's event and close its eventfd
 * @b: the bell, after bell_init(); no other thread rings it any more, and the loop does not run
 */
void bell_exit(struct bell *b)
{
	if (b->ev)
		event_free(b->ev);
	if (b->fd >= 0)
		close(b->fd);
}

/**
 * bell_ring() - have the loop call the bell's function soon
 * @b: the bell
 *
 * May be called by any thread. The bell's function sees what the caller stored before the call.
 */
void bell_ring(struct bell *b)
{
	if (!atomic_exchange(&b->rung, true))
		eventfd_write(b->fd, 1);
}
