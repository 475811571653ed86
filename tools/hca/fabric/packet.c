// SPDX-License-Identifier: GPL-2.0
/*
 * The pool of InfiniBand packets of a fabric, which all threads share.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_priv.h"
#include "packet.h"

/**
 * packet_alloc() - take a packet from the pool
 * @f: the fabric
 *
 * May be called by any thread.
 *
 * Return: a packet whose headers are zero and whose payload is not, or NULL.
 */
struct packet *packet_alloc(struct fabric *f)
{
	struct packet *p;

	pthread_mutex_lock(&f->pool_lock);
	p = packet_of(STAILQ_FIRST(&f->pool));
	if (p) {
		STAILQ_REMOVE_HEAD(&f->pool, link);
		f->pooled--;
	}
	pthread_mutex_unlock(&f->pool_lock);
	if (!p)
		p = malloc(sizeof(*p));
	if (p)
		memset(p, 0, offsetof(struct packet, payload));
	return p;
}

/**
 * packet_copy() - copy a packet
 * @f: the fabric
 * @p: the packet
 *
 * Return: the copy, or NULL.
 */
struct packet *packet_copy(struct fabric *f, const struct packet *p)
{
	struct packet *copy = packet_alloc(f);

	if (copy)
		memcpy(copy, p, offsetof(struct packet, payload) + p->head.len);
	return copy;
}

/**
 * packet_free() - give a packet back to the pool
 * @f: the fabric
 * @p: the packet, which is freed if the pool is full
 *
 * May be called by any thread.
 */
void packet_free(struct fabric *f, struct packet *p)
{
	bool keep;

	pthread_mutex_lock(&f->pool_lock);
	keep = f->pooled < POOL_MAX;
	if (keep) {
		STAILQ_INSERT_HEAD(&f->pool, &p->head, link);
		f->pooled++;
	}
	pthread_mutex_unlock(&f->pool_lock);
	if (!keep)
		free(p);
}

/**
 * fabric_free_packets() - free packets of the fabric's type
 * @f: the fabric
 * @q: the packets; empty then
 */
void fabric_free_packets(struct fabric *f, struct packet_queue *q)
{
	struct packet_head *h;

	while ((h = STAILQ_FIRST(q))) {
		STAILQ_REMOVE_HEAD(q, link);
		f->type->free(f, h);
	}
}
