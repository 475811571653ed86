/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completion queues: their state, for the commands, the doorbell and the
 * tests. Others complete through cq_complete() of hca.h.
 */
#ifndef BLUEBELL_CQ_H
#define BLUEBELL_CQ_H

#include "hca.h"

struct event;

/* cqc.status and cqc.st, as the firmware interface has them. */
enum cq_status { CQ_STATUS_OK = 0x0, CQ_STATUS_OVERFLOW = 0x9, CQ_STATUS_WRITE_FAIL = 0xa };
enum cq_state { CQ_ST_SOLICITED_ARMED = 0x6, CQ_ST_ARMED = 0x9, CQ_ST_FIRED = 0xa };

/* Commands in a CQ doorbell (linux/mlx5/cq.h): next event, or next solicited event. */
#define CQ_DB_NOT_SOL	(1u << 24)

#define CQ_INDEX_MASK	0xffffffu	/* counters of the doorbell record are 24 bits */

#define CQC_BYTES	64

struct cq {
	struct obj obj;
	struct hca *hca;	/* for the timer */
	uint32_t uar, eqn;
	struct queue_mem mem;
	uint64_t dbr_addr;	/* be32 consumer index, be32 arm word */
	uint32_t cnt;		/* CQEs, power of two */
	unsigned int cqe_sz;	/* bytes: 64 or 128 */
	bool overrun_ok;	/* cqc.oi: no overrun check */
	bool collapsed;		/* cqc.cc: every CQE into slot 0 */
	bool sol_breaks_mod;	/* cqc.scqe_break_moderation_en */
	enum cq_status status;

	uint32_t pi;		/* CQEs written, 24 bits */
	uint32_t ci;		/* as last read from the doorbell record */

	/* Notification: one event for each arming. */
	bool armed, armed_sol;
	uint8_t arm_sn;		/* sequence number of the arming */
	bool fired_once;
	uint8_t fired_sn;	/* a doorbell that repeats it is stale */
	uint32_t sol_pi;	/* pi after the last solicited CQE; valid if sol_seen */
	bool sol_seen;
	uint32_t notified;	/* pi at the last event */

	/* Moderation: the event waits for max_count CQEs or period. */
	uint16_t period_us, max_count;
	unsigned int held;	/* CQEs since the first that would have fired */
	struct event *timer;
	struct event *lost;	/* completions were lost: their QPs fail, from the event loop */

	uint8_t cqc[CQC_BYTES];	/* as given, for QUERY_CQ */
};

struct cq *cq_find(struct hca *hca, uint32_t cqn);

#endif
