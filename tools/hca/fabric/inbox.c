// SPDX-License-Identifier: GPL-2.0
/*
 * The inbox of a port. The lock is held for a few instructions only, and no other lock is taken
 * while it is held.
 */
#include "inbox.h"

/**
 * inbox_init() - make an open inbox without packets
 * @in: the inbox
 * @base: event loop of its owner
 * @answer: called by that loop after the bell was rung
 * @arg: passed to @answer
 *
 * Return: 0 or -errno; inbox_exit() may be called in any case.
 */
int inbox_init(struct inbox *in, struct event_base *base, void (*answer)(void *arg), void *arg)
{
	pthread_mutex_init(&in->lock, NULL);
	STAILQ_INIT(&in->packets);
	in->open = true;
	in->closed = false;
	atomic_init(&in->n, 0);
	atomic_init(&in->waiters, 0);
	return bell_init(&in->bell, base, answer, arg);
}

/**
 * inbox_exit() - end an inbox
 * @in: the inbox, which is empty, and to which no other thread sends any more
 */
void inbox_exit(struct inbox *in)
{
	bell_exit(&in->bell);
	pthread_mutex_destroy(&in->lock);
}

/**
 * inbox_put() - add a packet
 * @in: the inbox
 * @h: the packet, which belongs to the inbox from here, unless the inbox is closed
 *
 * Does not ring the bell.
 *
 * Return: false if the inbox is closed.
 */
bool inbox_put(struct inbox *in, struct packet_head *h)
{
	bool open;

	pthread_mutex_lock(&in->lock);
	open = in->open;
	if (open) {
		STAILQ_INSERT_TAIL(&in->packets, h, link);
		atomic_fetch_add(&in->n, 1);
	}
	pthread_mutex_unlock(&in->lock);
	return open;
}

/* Move all packets to @q. The caller holds the lock. */
static unsigned int inbox_empty(struct inbox *in, struct packet_queue *q)
{
	STAILQ_INIT(q);
	STAILQ_CONCAT(q, &in->packets);
	return atomic_exchange(&in->n, 0);
}

/**
 * inbox_take() - take all packets
 * @in: the inbox
 * @q: set to the packets, oldest first
 * @closed: set to whether the inbox was closed since the last call. If it was, the packets in @q
 *	came after that; packets that were taken by earlier calls came before.
 *
 * Return: number of packets.
 */
unsigned int inbox_take(struct inbox *in, struct packet_queue *q, bool *closed)
{
	unsigned int n;

	pthread_mutex_lock(&in->lock);
	n = inbox_empty(in, q);
	*closed = in->closed;
	in->closed = false;
	pthread_mutex_unlock(&in->lock);
	return n;
}

/**
 * inbox_close() - refuse packets
 * @in: the inbox
 * @lost: set to the packets that are in it
 */
void inbox_close(struct inbox *in, struct packet_queue *lost)
{
	pthread_mutex_lock(&in->lock);
	inbox_empty(in, lost);
	in->open = false;
	in->closed = true;
	pthread_mutex_unlock(&in->lock);
}

/**
 * inbox_open() - accept packets again
 * @in: the inbox
 */
void inbox_open(struct inbox *in)
{
	pthread_mutex_lock(&in->lock);
	in->open = true;
	pthread_mutex_unlock(&in->lock);
}
