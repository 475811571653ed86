/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared receive queues in their four firmware forms: SRQ, RMP, XRC SRQ, and XRQ, which has tag
 * matching.
 */
#ifndef BLUEBELL_SRQ_H
#define BLUEBELL_SRQ_H

#include "cmd.h"
#include "object.h"
#include "queue_mem.h"

struct hca_module;
struct tm_list;

struct srq {
	struct obj obj;		/* obj.num is the SRQN */
	enum srq_kind { SRQ_BASIC, SRQ_RMP, SRQ_XRC, SRQ_XRQ } kind;
	bool error;
	bool cyclic;		/* WQEs in ring order, not a linked list */
	struct queue_mem mem;
	struct doorbell_record dbr;
	uint32_t cnt;		/* WQEs, power of two */
	unsigned int shift;	/* log2 of the WQE stride in bytes */
	uint32_t pdn, cqn, xrcdn, user_index;
	bool cqe_version1;	/* CQEs of an XRC SRQ or XRQ carry user_index */
	uint16_t hw;		/* WQEs consumed */
	uint16_t head;		/* index of the WQE to be consumed next */
	uint16_t lwm;		/* limit, 0: not armed */
	uint8_t ctx[64];	/* srqc, xrc_srqc or wq as given, for QUERY */
	struct tm_list *tm;	/* XRQ: the tagged buffers */
	bool rndv;		/* XRQ: the HCA reads the data of rendezvous messages */
};

struct srq *srq_find(struct hca *hca, uint32_t srqn);
int srq_pop(struct hca *hca, struct srq *srq, uint16_t *index, void *wqe, size_t max);

extern const struct hca_module srq_module;
extern const struct cmd_desc srq_cmds[];

/* ---- for xrq.c ------------------------------------------------------------------------------- */

/* The fields that the contexts of all forms have in common. */
struct srq_params {
	unsigned int log_cnt, shift;
	uint32_t pdn, cqn, xrcdn;
	bool has_cq, has_xrcd, wq_signature;
	struct qmem_source mem;
	struct dbr_source dbr;
};

/* Whether CQEs go to a CQ of the queue's own, and not to the CQ of the queue pair. */
static inline bool srq_has_cq(const struct srq *srq)
{
	return srq->kind == SRQ_XRC || srq->kind == SRQ_XRQ;
}

uint8_t srq_params_wq(struct cmd *cmd, const uint8_t *wq, struct srq_params *p);
uint8_t srq_new(struct hca *hca, struct cmd *cmd, const struct srq_params *p, struct srq **out);
uint8_t srq_get(struct hca *hca, struct cmd *cmd, uint32_t num, enum srq_kind kind,
		struct srq **srq);
uint8_t srq_arm(struct hca *hca, struct cmd *cmd, struct srq *srq, uint16_t lwm);
uint8_t srq_destroy(struct hca *hca, struct cmd *cmd, uint32_t num, enum srq_kind kind);

#endif
