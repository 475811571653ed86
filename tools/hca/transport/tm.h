/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tag matching: what the requester and the responder of a queue pair with an XRQ have in common.
 */
#ifndef BLUEBELL_TM_H
#define BLUEBELL_TM_H

#include "cq.h"
#include "mkey.h"
#include "qp.h"

struct tm_buffer;
struct wqe_seg;

/* Headers of messages, as struct ibv_tmh and struct ibv_rvh of libibverbs; integers big-endian. */
#define TM_RNDV_BYTES	32	/* both headers of a rendezvous message */
#define TM_RNDV_MAX	64	/* bytes of a rendezvous message */
#define TM_TAG		8	/* offset of the tag */
#define TM_RNDV_VA	16	/* offsets of what the HCA reads */
#define TM_RNDV_KEY	24
#define TM_RNDV_LEN	28

enum tm_header_op { TM_HEADER_NO_TAG = 0, TM_HEADER_RNDV = 1, TM_HEADER_FIN = 2,
		    TM_HEADER_EAGER = 3 };

struct srq *tm_srq(const struct qp *qp);
struct wqe_seg tm_segment(const struct tm_buffer *buf);
struct completion tm_completion(enum cqe_tm_op op, uint16_t index);
void tm_trace(struct hca *hca, const struct qp *qp, const struct cqe_tm *tm);
void tm_complete(struct hca *hca, const struct qp *qp, struct completion *c);
void tm_cancel(struct hca *hca, const struct qp *qp, uint16_t index);

#endif
