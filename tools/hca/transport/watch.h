/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues of failed queue pairs, whose doorbell records are read by a timer.
 */
#ifndef BLUEBELL_WATCH_H
#define BLUEBELL_WATCH_H

#include <stdbool.h>
#include <sys/queue.h>

struct hca;
struct hca_module;

/* A send or receive queue, of a queue pair or of its own. */
struct watch {
	TAILQ_ENTRY(watch) link;
	bool on;
	void *queue;
	/* Completes what the record announces; may stop watching its own queue. */
	void (*look)(struct hca *hca, void *queue);
};

void watch_set(struct hca *hca, struct watch *w, bool on);

extern const struct hca_module watch_module;

#endif
