/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Turns: the send queues that have work, and the event by which the NIC sends and receives from the
 * event loop.
 */
#ifndef BLUEBELL_NIC_TURN_H
#define BLUEBELL_NIC_TURN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "nic_wqe.h"
#include "segment.h"
#include "watch.h"

struct event;
struct hca;
struct rq;
struct sq;

/*
 * What the NIC has of a send queue. The bytes of a WQE are copied when its turn comes; a large send
 * keeps them until its last segment is sent.
 */
struct nic_sq {
	TAILQ_ENTRY(nic_sq) link;
	bool queued;		/* waits for its turn */
	struct sq *sq;
	uint16_t posted;	/* WQEBB counter up to which WQEs may be executed */
	bool lost;		/* a CQE could not be written: the queue has to fail */
	bool failed;		/* a WQE has completed with an error since RST */
	struct nic_wqe cur;	/* the WQE that is executed */
	bool sending;		/* @cur is a large send of which segments are left */
	struct segmenter seg;	/* its segments */
};

/* What the NIC has of a receive queue. */
struct nic_rq {
	struct rq *rq;
	struct watch watch;	/* in ERR: what is posted is flushed */
	bool lost;		/* a CQE could not be written: the queue has to fail */
	bool failed;		/* a WQE has completed with an error since RST */
};

struct nic {
	struct event *turn;
	bool armed;		/* the event will come */
	bool turning;		/* it has come, and looks for more work at its end */
	TAILQ_HEAD(, nic_sq) work;
	bool lost;		/* queues have lost CQEs */
};

int nic_turn_init(struct hca *hca, void (*turn)(int fd, short what, void *arg));
void nic_turn_exit(struct hca *hca);
void nic_wake(struct hca *hca);
void nic_wait(struct hca *hca);
void nic_queue(struct hca *hca, struct nic_sq *n);
void nic_unqueue(struct hca *hca, struct nic_sq *n);

#endif
