/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the NIC does for send queues and receive queues that belong to no queue pair. The board
 * names an instance; without a NIC the pointer in the board is NULL.
 */
#ifndef BLUEBELL_NIC_OPS_H
#define BLUEBELL_NIC_OPS_H

#include "rq.h"
#include "sq.h"

struct hca;

struct nic_ops {
	/*
	 * The state changed from @old to @now, by a command or because the queue failed. In RDY the
	 * queue works. In ERR it executes nothing; with flush_in_error its WQEs are flushed. At RST
	 * the NIC drops what it has of the queue: after the call it writes neither a CQE of the
	 * queue nor the buffers of a WQE, and the counter hw is 0.
	 */
	void (*sq_state)(struct hca *hca, struct sq *sq, enum sq_state old, enum sq_state now);
	void (*rq_state)(struct hca *hca, struct rq *rq, enum rq_state old, enum rq_state now);
	/* The queue is about to be freed: drop every pointer to it. */
	void (*sq_gone)(struct hca *hca, struct sq *sq);
	void (*rq_gone)(struct hca *hca, struct rq *rq);
};

#endif
