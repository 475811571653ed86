// SPDX-License-Identifier: GPL-2.0
/*
 * Receive WQEs that complete with an error. A queue that was made so flushes in ERR what is posted,
 * and what software posts later: receive queues have no doorbells, so their records are watched.
 */
#include "cq.h"
#include "hca.h"
#include "mem.h"
#include "nic_rq.h"
#include "nic_turn.h"
#include "rq.h"

/**
 * nic_rq_refuse() - complete a receive WQE with an error
 * @hca: the HCA
 * @rq: the queue, for which the NIC has a struct nic_rq
 * @index: of the WQE
 * @error: why
 */
void nic_rq_refuse(struct hca *hca, struct rq *rq, uint16_t index, enum cqe_error error)
{
	const struct completion c = {
		.opcode = CQE_RESP_ERR, .error = error, .qpn = rq->obj.num, .wqe_counter = index,
		.srqn_uidx = rq->user_index,
	};

	rq->nic->failed = true;
	cq_complete(hca, rq->cqn, &c);
}

/* Read how many WQEs are posted. Returns false if the record is not mapped, or makes no sense. */
static bool nic_posted(struct hca *hca, const struct rq *rq, uint16_t *posted)
{
	uint8_t rec[4];

	if (mem_read(hca, rq->dbr.addr + DBR_RCV, rec, sizeof(rec)))
		return false;
	*posted = get_be32(rec);
	return (uint16_t)(*posted - rq->hw) <= 1u << rq->log_size;
}

/**
 * nic_rq_flush() - complete all posted WQEs with a flush error
 * @hca: the HCA
 * @n: the queue, in ERR
 *
 * From then on the queue is watched for WQEs that are posted later.
 */
void nic_rq_flush(struct hca *hca, struct nic_rq *n)
{
	struct rq *rq = n->rq;
	uint16_t posted;

	if (!nic_posted(hca, rq, &posted)) {
		watch_set(hca, &n->watch, false);
		return;
	}
	while (rq->hw != posted) {
		nic_rq_refuse(hca, rq, rq->hw, n->failed ? ERR_FLUSHED : ERR_FLUSHED_FIRST);
		rq_consume(rq);
	}
	watch_set(hca, &n->watch, true);
}
