// SPDX-License-Identifier: GPL-2.0
/*
 * Queues that have failed. WQEs that software posts in ERR must be flushed: a driver that drains a
 * queue waits for their CQEs. Receive WQEs are announced by the doorbell record alone, and
 * cards flush send WQEs that the record announces before their doorbell arrives, or without one.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

#include "hca.h"
#include "watch.h"

#define PERIOD_US	10000	/* how often the records are read */

struct watches {
	struct hca *hca;
	struct event *timer;
	TAILQ_HEAD(, watch) list;
};

static void watch_arm(struct watches *s)
{
	const struct timeval tv = { .tv_usec = PERIOD_US };

	if (!TAILQ_EMPTY(&s->list) && !evtimer_pending(s->timer, NULL))
		evtimer_add(s->timer, &tv);
}

static void watch_fired(evutil_socket_t fd, short what, void *arg)
{
	struct watches *s = arg;
	struct watch *w, *next;

	(void)fd;
	(void)what;
	for (w = TAILQ_FIRST(&s->list); w; w = next) {
		next = TAILQ_NEXT(w, link);
		w->look(s->hca, w->queue);
	}
	watch_arm(s);
}

/**
 * watch_set() - start or stop watching a queue
 * @hca: the HCA
 * @w: the queue; may be watched already
 * @on: true to watch it
 */
void watch_set(struct hca *hca, struct watch *w, bool on)
{
	struct watches *s = hca->watches;

	if (w->on == on)
		return;
	w->on = on;
	if (on)
		TAILQ_INSERT_TAIL(&s->list, w, link);
	else
		TAILQ_REMOVE(&s->list, w, link);
	watch_arm(s);
}

/* ---- module ---------------------------------------------------------------------------------- */

static int watch_init(struct hca *hca)
{
	struct watches *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	TAILQ_INIT(&s->list);
	s->hca = hca;
	s->timer = evtimer_new(hca->base, watch_fired, s);
	if (!s->timer) {
		free(s);
		return -ENOMEM;
	}
	hca->watches = s;
	return 0;
}

static void watch_exit(struct hca *hca)
{
	event_free(hca->watches->timer);
	free(hca->watches);
	hca->watches = NULL;
}

const struct hca_module watch_module = { .name = "watch", .init = watch_init, .exit = watch_exit };
