/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A bell, by which any thread makes an event loop call a function.
 */
#ifndef BLUEBELL_BELL_H
#define BLUEBELL_BELL_H

#include <stdatomic.h>

struct event;
struct event_base;

struct bell {
	int fd;
	struct event *ev;
	atomic_bool rung;		/* a ring came, and the loop has not answered it yet */
	void (*answer)(void *arg);
	void *arg;
};

int bell_init(struct bell *b, struct event_base *base, void (*answer)(void *arg), void *arg);
void bell_exit(struct bell *b);
void bell_ring(struct bell *b);

#endif
