// SPDX-License-Identifier: GPL-2.0
/*
 * The event of the NIC, and the queue of send queues that have work.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

#include "hca.h"
#include "nic_turn.h"

#define WAIT_US	1000	/* until an HCA that hangs is looked at again */

static void nic_arm(struct nic *nic, unsigned int us)
{
	const struct timeval tv = { .tv_usec = us };

	if (nic->armed || nic->turning)
		return;
	nic->armed = true;
	evtimer_add(nic->turn, &tv);
}

/**
 * nic_wake() - take a turn soon, from the event loop
 * @hca: the HCA
 */
void nic_wake(struct hca *hca)
{
	nic_arm(hca->nic, 0);
}

/**
 * nic_wait() - take a turn in a while, because there is work that cannot be done now
 * @hca: the HCA
 */
void nic_wait(struct hca *hca)
{
	nic_arm(hca->nic, WAIT_US);
}

/**
 * nic_queue() - give a send queue a turn soon
 * @hca: the HCA
 * @n: the queue; may wait for its turn already
 */
void nic_queue(struct hca *hca, struct nic_sq *n)
{
	if (!n->queued)
		TAILQ_INSERT_TAIL(&hca->nic->work, n, link);
	n->queued = true;
	nic_wake(hca);
}

/**
 * nic_unqueue() - let a send queue wait for no turn
 * @hca: the HCA
 * @n: the queue; may not wait
 */
void nic_unqueue(struct hca *hca, struct nic_sq *n)
{
	if (n->queued)
		TAILQ_REMOVE(&hca->nic->work, n, link);
	n->queued = false;
}

/**
 * nic_turn_init() - make the event
 * @hca: the HCA
 * @turn: called at each turn, with the HCA
 *
 * Return: 0 or -ENOMEM.
 */
int nic_turn_init(struct hca *hca, void (*turn)(int fd, short what, void *arg))
{
	struct nic *nic = calloc(1, sizeof(*nic));

	if (!nic)
		return -ENOMEM;
	TAILQ_INIT(&nic->work);
	nic->turn = evtimer_new(hca->base, turn, hca);
	if (!nic->turn) {
		free(nic);
		return -ENOMEM;
	}
	hca->nic = nic;
	return 0;
}

/**
 * nic_turn_exit() - free the event
 * @hca: the HCA
 */
void nic_turn_exit(struct hca *hca)
{
	event_free(hca->nic->turn);
	free(hca->nic);
	hca->nic = NULL;
}
