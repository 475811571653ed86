/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The inbox of a port: packets that other threads have sent to it, for the thread that owns the
 * port. While the link is down, the inbox is closed.
 */
#ifndef BLUEBELL_INBOX_H
#define BLUEBELL_INBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bell.h"
#include "packet_head.h"

struct inbox {
	pthread_mutex_t lock;		/* guards the members up to @closed */
	struct packet_queue packets;
	bool open;
	bool closed;			/* was closed since the owner took packets last */
	atomic_uint n;			/* number of packets; changed with the lock, read without */
	_Atomic uint64_t waiters;	/* bits of ports whose HCAs wait until there is room */
	struct bell bell;		/* rung for the owner */
};

int inbox_init(struct inbox *in, struct event_base *base, void (*answer)(void *arg), void *arg);
void inbox_exit(struct inbox *in);
bool inbox_put(struct inbox *in, struct packet_head *h);
unsigned int inbox_take(struct inbox *in, struct packet_queue *q, bool *closed);
void inbox_close(struct inbox *in, struct packet_queue *lost);
void inbox_open(struct inbox *in);

#endif
