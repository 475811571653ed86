/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scheduler of the transport: takes packets from the link layer, and gives requesters and
 * responders their turns, from the event loop.
 */
#ifndef BLUEBELL_SCHED_H
#define BLUEBELL_SCHED_H

#include <stdbool.h>
#include <sys/queue.h>

struct hca;
struct hca_module;
struct packet;
struct qp;

/* A requester or a responder that takes turns. */
struct run {
	TAILQ_ENTRY(run) link;
	bool queued;
	struct qp *qp;
	/* Sends up to *@budget packets and counts it down; returns true to get another turn. */
	bool (*go)(struct hca *hca, struct qp *qp, unsigned int *budget);
};

void sched_kick(struct hca *hca, struct run *r);
void sched_cancel(struct hca *hca, struct run *r);
void sched_run(struct hca *hca);
/* @receive is called for each packet; the scheduler frees the packet afterwards. */
void sched_set_receive(struct hca *hca, void (*receive)(struct hca *hca, struct packet *p));

extern const struct hca_module sched_module;

#endif
