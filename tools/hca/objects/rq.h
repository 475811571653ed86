/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive queues that belong to no queue pair: their context, and taking receive WQEs from them.
 * The NIC delivers frames to them.
 */
#ifndef BLUEBELL_RQ_H
#define BLUEBELL_RQ_H

#include "cmd.h"
#include "object.h"
#include "queue_mem.h"

struct hca;
struct hca_module;
struct nic_rq;		/* defined by the NIC */

enum rq_state { RQ_RST = 0, RQ_RDY = 1, RQ_ERR = 3 };

#define RQ_ENTRY_BYTES	16	/* a pointer to a buffer in a receive WQE */
#define RQ_ENTRIES	32	/* the most of a WQE of the greatest stride, see rq_check_ring() */

struct rq {
	struct obj obj;		/* obj.num is the RQN */
	enum rq_state state;
	struct queue_mem mem;
	struct doorbell_record dbr;	/* be32: WQEs that are posted */
	unsigned int log_size;	/* WQEs */
	unsigned int shift;	/* log2 of the WQE stride in bytes */
	uint32_t cqn;		/* a reference */
	uint32_t pdn;		/* a reference; 0: none, see rq_check_pd() */
	uint32_t user_index;
	bool rlky;		/* WQEs may name the reserved lkey */
	bool vsd;		/* VLAN tags are left in the frame */
	bool scatter_fcs;	/* the FCS is stored behind the frame */
	bool flush_in_error;	/* posted WQEs complete with an error in ERR */
	bool real_time;		/* time stamps of CQEs are seconds and nanoseconds */
	uint8_t counter_set;	/* Q counter, 0: none */
	uint16_t hw;		/* WQEs consumed */
	uint8_t rqc[IFC_SZ(rqc)];	/* as given, for QUERY_RQ */
	struct nic_rq *nic;	/* the NIC's; NULL until it makes it */
};

/* A buffer for a part of a frame. */
struct rq_entry {
	uint64_t addr;
	uint32_t len, lkey;
};

/* A receive WQE. */
struct rq_wqe {
	uint16_t index;		/* as posted, for wqe_counter of the CQE */
	unsigned int n;		/* entries */
	uint32_t len;		/* bytes of all buffers */
	struct rq_entry entry[RQ_ENTRIES];
};

struct rq *rq_find(struct hca *hca, uint32_t rqn);
int rq_peek(struct hca *hca, struct rq *rq, struct rq_wqe *w);
void rq_consume(struct rq *rq);
void rq_set_state(struct hca *hca, struct rq *rq, enum rq_state now);
void rq_fail(struct hca *hca, struct rq *rq);

extern const struct hca_module rq_module;
extern const struct cmd_desc rq_cmds[];

#endif
