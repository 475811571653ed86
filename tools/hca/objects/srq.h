/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared receive queues in their three firmware forms: SRQ, RMP and XRC SRQ.
 */
#ifndef BLUEBELL_SRQ_H
#define BLUEBELL_SRQ_H

#include "cmd.h"
#include "object.h"
#include "queue_mem.h"

struct hca_module;

struct srq {
	struct obj obj;		/* obj.num is the SRQN */
	enum srq_kind { SRQ_BASIC, SRQ_RMP, SRQ_XRC } kind;
	bool error;
	bool cyclic;		/* WQEs in ring order, not a linked list */
	struct queue_mem mem;
	struct doorbell_record dbr;
	uint32_t cnt;		/* WQEs, power of two */
	unsigned int shift;	/* log2 of the WQE stride in bytes */
	uint32_t pdn, cqn, xrcdn, user_index;
	bool cqe_version1;	/* CQEs of an XRC SRQ carry user_index */
	uint16_t hw;		/* WQEs consumed */
	uint16_t head;		/* index of the WQE to be consumed next */
	uint16_t lwm;		/* limit, 0: not armed */
	uint8_t ctx[64];	/* srqc, xrc_srqc or wq as given, for QUERY */
};

struct srq *srq_find(struct hca *hca, uint32_t srqn);
int srq_pop(struct hca *hca, struct srq *srq, uint16_t *index, void *wqe, size_t max);

extern const struct hca_module srq_module;
extern const struct cmd_desc srq_cmds[];

#endif
