/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The requester of a queue pair: takes WQEs from the send queue, sends their packets, and completes
 * them when they are acknowledged, or when the response arrives.
 */
#ifndef BLUEBELL_REQ_H
#define BLUEBELL_REQ_H

#include <sys/queue.h>

#include "cq.h"
#include "qp.h"
#include "sched.h"
#include "watch.h"
#include "wqe.h"

struct event;
struct hca_module;
struct packet;

#define REQ_MAX_OPS	64	/* WQEs taken from one SQ and not yet complete */
#define REQ_WINDOW	256	/* unacknowledged request packets of one QP */
#define BF_MAX		256	/* bytes of a BlueFlame buffer */

/* Operations without a WQE, by which the HCA serves rendezvous messages (tm.c). */
enum op_rndv { RNDV_NONE, RNDV_READ, RNDV_FIN, RNDV_DONE };

/* A WQE taken from the send queue. It stays on requester.ops, in order, until it has completed. */
struct send_op {
	TAILQ_ENTRY(send_op) link;
	uint16_t idx;		/* WQEBB counter of its first WQEBB */
	bool started;		/* has been given its PSNs */
	bool connect;		/* no WQE: connects a DC initiator for the next operation */
	enum op_rndv rndv;
	uint16_t tm_index;	/* RNDV_READ: the entry of the list of tags that is held */
	/* executed; or sent and, if RC or XRC, acknowledged or responded to */
	bool finished;
	/* To complete with when it is the oldest. ERR_FLUSHED: its stream failed before. */
	enum cqe_error error;
	uint32_t psn, npsn;	/* first PSN, number of PSNs; 0 for local operations */
	uint32_t sent;		/* request packets sent since the last rewind */
	uint64_t done;		/* bytes of a READ response that arrived */
	struct send_wqe w;
};

TAILQ_HEAD(send_op_list, send_op);

struct requester {
	struct run run;
	struct watch watch;		/* of the send queue, in ERR */
	struct hca *hca;
	struct send_op_list ops;	/* oldest first */
	unsigned int nops;
	unsigned int rd_out;		/* READs and atomics in ops that are not finished */
	struct send_op *cur;		/* next to send from; NULL: fetch the next WQE */
	uint16_t posted;		/* WQEBB counter of the record when it was read last */
	uint16_t rung;			/* WQEBB counter after the last WQE that a doorbell named */
	uint32_t una;			/* oldest unacknowledged PSN */
	uint32_t unsent;		/* PSNs before next_send_psn that no packet has had yet */
	bool drained;			/* the drained state was reported since it was entered */
	bool poisoned;			/* an operation has failed: no later operation is started */
	bool told;			/* a CQE has told of an error since the queue was started */
	struct wqe_av peer;		/* of a DC initiator: what it is connected to */
	bool connected;
	uint16_t *failed_stream;	/* streams of a DCI that have failed */
	unsigned int failed_streams;
	uint64_t umr_since_ns;		/* when a UMR began to wait for a later UMR; or 0 */
	bool recovering;		/* packets were retransmitted, none acknowledged since */
	struct event *timer;		/* for retry or RNR, one at a time */
	uint64_t deadline_ns;		/* of the retry timer, 0: not running */
	bool rnr_wait;
	uint32_t fault;			/* token of the fault that holds the requester up, or 0 */
	struct send_op *fault_op;	/* operation with the fault; NULL if it has completed */
	bool again;			/* when resumed, retransmit from una */
	uint16_t bf_idx;		/* WQEBB counter of the WQE in bf[], if bf_len */
	uint16_t bf_len;
	uint8_t bf[BF_MAX];
};

/* ---- for the rest of the transport ----------------------------------------------------------- */

/* req.c: changes of state */
struct requester *req_get(struct hca *hca, struct qp *qp);
void req_start(struct hca *hca, struct qp *qp);
void req_flush(struct hca *hca, struct qp *qp);
void req_clear(struct hca *hca, struct qp *qp);
void req_free(struct hca *hca, struct qp *qp);

/* req_ack.c: what the peer sends */
void req_receive(struct hca *hca, struct qp *qp, const struct packet *p);

/* req_doorbell.c */
void qp_send_doorbell(struct hca *hca, uint32_t uar, const uint8_t *bf, size_t bf_len);

/* ---- between the requester's files; each calls only files that are before it here ------------ */

/* req_stream.c: streams of DC initiators */
bool req_stream_failed(const struct qp *qp, uint16_t stream);
bool req_stream_fail(struct qp *qp, uint16_t stream);
void req_streams_reset(struct qp *qp);
bool req_reset_stream(struct hca *hca, struct qp *qp, uint16_t stream);

/* req_tm.c: changes of lists of tags, and the end of rendezvous operations */
enum cqe_error req_tm_execute(struct hca *hca, struct qp *qp, struct send_wqe *w);
void req_tm_done(struct hca *hca, const struct qp *qp, struct send_op *op, enum cqe_error error);
void req_tm_drop(const struct qp *qp, const struct send_op *op);

/* req_op.c: work requests and their completions */
struct send_op *req_op_alloc(struct hca *hca);
void req_op_free(struct hca *hca, struct send_op *op);
void req_op_remove(struct requester *req, struct send_op *op);
struct send_op *req_oldest_unanswered(const struct requester *req);
bool req_answer_in_cqe(const struct qp *qp, const struct send_wqe *w);
void req_complete(struct hca *hca, const struct qp *qp, struct send_op *op, enum cqe_error error);
void req_reap(struct hca *hca, struct qp *qp);
void req_fail(struct hca *hca, struct qp *qp, struct send_op *op, enum cqe_error error);

extern const struct hca_module req_module;

/* req_rndv.c: rendezvous messages; for the responder */
bool req_rndv_ready(struct hca *hca, struct qp *qp);
bool req_rndv_start(struct hca *hca, struct qp *qp, uint16_t index, const struct packet *p);

/* req_fetch.c: taking WQEs from the send queue */
int req_load_wqe(struct hca *hca, const struct qp *qp, uint16_t idx, struct send_wqe *w);
bool req_can_fetch(const struct qp *qp);
struct send_op *req_fetch(struct hca *hca, struct qp *qp);
void req_put_back(struct qp *qp);

/* req_timer.c: retry and RNR timer, retransmission */
void req_timer_start(struct requester *req);
void req_timer_extend(struct requester *req);
void req_progress(struct requester *req);
void req_rewind(struct requester *req, uint32_t psn);
void req_retry(struct requester *req);
void req_rnr(struct requester *req, uint32_t psn, unsigned int timer);

/* req_dc.c: connections of DC initiators */
bool req_may_connect(const struct qp *qp, const struct send_op *op);
bool req_connect(struct hca *hca, struct qp *qp, struct send_op *op);
void req_disconnect(struct hca *hca, struct qp *qp);
struct packet *req_connect_packet(struct hca *hca, const struct qp *qp, const struct send_op *op);

/* req_fault.c: page faults of local memory */
bool req_held_up(struct hca *hca, struct qp *qp, struct send_op *op, enum cqe_error error,
		 uint64_t done, uint32_t len);

/* req_send.c: packets */
bool req_run(struct hca *hca, struct qp *qp, unsigned int *budget);

#endif
