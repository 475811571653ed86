// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduler of the transport: an event that receives packets, and gives turns to requesters and
 * responders, round robin.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "hca.h"
#include "link.h"
#include "packet.h"
#include "req.h"
#include "sched.h"

#define RX_BUDGET	256	/* packets received before some are sent */
#define DISCARD_BUDGET	1024	/* packets discarded in one round */
#define TX_BUDGET	256	/* packets that all queue pairs send before some are received */
#define ROUND_BUDGET	256	/* packets after which the event loop looks for other events */
#define TX_SLICE	16	/* packets sent in one turn of one queue pair */
#define BLOCKED_US	1000	/* pause when no queue pair could send; a wake-up ends the pause */

struct sched {
	struct event *pump;
	bool armed;		/* the pump will run */
	bool pausing;		/* armed, but the pump will run only after a pause */
	bool pumping;		/* the pump runs, and looks for more work at its end */
	TAILQ_HEAD(, run) runs;
	void (*receive)(struct hca *hca, struct packet *p);
};

static void sched_arm(struct sched *s, unsigned int us)
{
	const struct timeval tv = { .tv_usec = us };

	if (s->armed && (us || !s->pausing))
		return;
	s->armed = true;
	s->pausing = us;
	evtimer_add(s->pump, &tv);
}

static void sched_wake(struct hca *hca)
{
	if (!hca->sched->pumping)
		sched_arm(hca->sched, 0);
}

/**
 * sched_kick() - give a requester or responder a turn soon
 * @hca: the HCA
 * @r: its entry; may be queued already
 *
 * The turn is given from the event loop.
 */
void sched_kick(struct hca *hca, struct run *r)
{
	struct sched *s = hca->sched;

	if (!r->queued) {
		r->queued = true;
		TAILQ_INSERT_TAIL(&s->runs, r, link);
	}
	if (!s->pumping)
		sched_arm(s, 0);
}

/**
 * sched_cancel() - take a requester or responder from the queue for turns
 * @hca: the HCA
 * @r: its entry; may not be queued
 */
void sched_cancel(struct hca *hca, struct run *r)
{
	struct sched *s = hca->sched;

	if (r->queued)
		TAILQ_REMOVE(&s->runs, r, link);
	r->queued = false;
}

/**
 * sched_set_receive() - set the function that processes packets
 * @hca: the HCA
 * @receive: called for each packet, which the scheduler frees after the call
 */
void sched_set_receive(struct hca *hca, void (*receive)(struct hca *hca, struct packet *p))
{
	hca->sched->receive = receive;
}

/* ---- the pump -------------------------------------------------------------------------------- */

static unsigned int sched_receive(struct hca *hca)
{
	const struct link_ops *link = link_of(hca);
	unsigned int n = 0;
	struct packet *p;

	while (n < RX_BUDGET && (p = link->receive(hca))) {
		hca->sched->receive(hca, p);
		packet_free(hca->fabric, p);
		n++;
	}
	return n;
}

/* Give turns, round robin, a slice each. Returns the number of packets sent. */
static unsigned int sched_send(struct hca *hca)
{
	struct sched *s = hca->sched;
	unsigned int left = TX_BUDGET, moved = 0, slice, used;
	struct run *r;

	while (left && (r = TAILQ_FIRST(&s->runs))) {
		slice = left < TX_SLICE ? left : TX_SLICE;
		used = slice;
		sched_cancel(hca, r);
		if (r->go(hca, r->qp, &slice) && !r->queued) {
			r->queued = true;
			TAILQ_INSERT_TAIL(&s->runs, r, link);
		}
		used -= slice;
		moved += used;
		left -= used ? used : 1;
	}
	return moved;
}

/*
 * An HCA that hangs processes no packets. A real switch discards packets that have waited too long
 * for a port, so that the port does not block its senders. Here the packets are discarded when the
 * queue of the port is full.
 */
static void sched_discard(struct hca *hca)
{
	const struct link_ops *link = link_of(hca);
	struct packet *p;
	unsigned int n;

	if (!link->full(hca))
		return;
	for (n = 0; n < DISCARD_BUDGET && (p = link->receive(hca)); n++) {
		hca->count.packets_dropped++;
		packet_free(hca->fabric, p);
	}
}

static bool sched_has_work(struct hca *hca)
{
	return link_of(hca)->pending(hca) || !TAILQ_EMPTY(&hca->sched->runs);
}

/* Receive and send until no work or no budget is left. Returns false if all senders wait. */
static bool sched_round(struct hca *hca)
{
	unsigned int moved, sum = 0;

	do {
		moved = sched_receive(hca) + sched_send(hca);
		sum += moved;
	} while (moved && sum < ROUND_BUDGET && sched_has_work(hca) && !hca->hung && !hca->fatal);
	return moved;
}

static void sched_pump(struct hca *hca)
{
	struct sched *s = hca->sched;
	bool moved = false;

	s->armed = false;
	s->pumping = true;
	if (hca->hung || hca->fatal)
		sched_discard(hca);
	else
		moved = sched_round(hca);
	s->pumping = false;
	if (sched_has_work(hca))
		sched_arm(s, moved ? 0 : BLOCKED_US);
}

static void sched_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	sched_pump(arg);
}

/**
 * sched_run() - receive and send now, not at the next turn of the event loop
 * @hca: the HCA
 *
 * For a caller that runs in the event loop.
 */
void sched_run(struct hca *hca)
{
	struct sched *s = hca->sched;

	if (!s->armed || s->pausing || s->pumping)
		return;
	evtimer_del(s->pump);
	sched_pump(hca);
}

/* ---- module ---------------------------------------------------------------------------------- */

static int sched_init(struct hca *hca)
{
	struct sched *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	TAILQ_INIT(&s->runs);
	s->pump = evtimer_new(hca->base, sched_on_timer, hca);
	if (!s->pump) {
		free(s);
		return -ENOMEM;
	}
	hca->sched = s;
	link_of(hca)->set_wake(hca, sched_wake);
	return 0;
}

static void sched_exit(struct hca *hca)
{
	link_of(hca)->set_wake(hca, NULL);
	event_free(hca->sched->pump);
	free(hca->sched);
	hca->sched = NULL;
}

const struct hca_module sched_module = {
	.name = "sched", .init = sched_init, .exit = sched_exit,
};
