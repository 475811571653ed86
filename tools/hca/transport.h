/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transport's private state of a queue pair: the requester (req.c), the responder
 * (resp.c), and what runs them (transport.c). qp.h has what the commands see.
 */
#ifndef BLUEBELL_TRANSPORT_H
#define BLUEBELL_TRANSPORT_H

#include <sys/queue.h>
#include "fabric.h"
#include "hca_priv.h"
#include "packet.h"
#include "qp.h"
#include "wqe.h"

/* CQE opcodes, as MLX5_CQE_* of the device interface. */
enum cqe_opcode {
	CQE_REQ = 0, CQE_RESP_WR_IMM = 1, CQE_RESP_SEND = 2, CQE_RESP_SEND_IMM = 3,
	CQE_RESP_SEND_INV = 4, CQE_REQ_ERR = 13, CQE_RESP_ERR = 14,
};

/* Syndromes of error CQEs, as the programmer's manual defines them. */
enum cqe_syndrome {
	SYND_OK = 0, SYND_LOCAL_LENGTH = 0x01, SYND_LOCAL_QP_OP = 0x02, SYND_LOCAL_PROT = 0x04,
	SYND_WR_FLUSH = 0x05, SYND_MW_BIND = 0x06, SYND_BAD_RESP = 0x10, SYND_LOCAL_ACCESS = 0x11,
	SYND_REMOTE_INVAL_REQ = 0x12, SYND_REMOTE_ACCESS = 0x13, SYND_REMOTE_OP = 0x14,
	SYND_TRANSPORT_RETRY = 0x15, SYND_RNR_RETRY = 0x16, SYND_REMOTE_ABORT = 0x22,
	SYND_PAGE_FAULT = 0x100,	/* none that completes: the queue stands still (fault.h) */
};

#define REQ_MAX_OPS	64	/* WQEs taken from one SQ and not yet complete */
#define REQ_WINDOW	256	/* unacknowledged request packets of one QP */
#define RESP_MAX_JOBS	64	/* answers waiting to be sent by one QP */
#define RESP_REPLAY	64	/* atomic results kept; at least max_dest_rd_atomic */
#define RESP_RWQE_MAX	2048	/* greatest stride of a receive queue */
#define BF_MAX		256	/* a BlueFlame buffer */

/* One turn of a QP's requester or responder; returns true if it wants another turn. */
typedef bool (*run_fn)(struct hca *hca, struct qp *qp, unsigned int *budget);

struct run_entry {
	TAILQ_ENTRY(run_entry) link;
	bool queued;
	struct qp *qp;
	run_fn run;
};

/* A WQE taken from the send queue. On requester.ops in order until it has completed. */
struct send_op {
	TAILQ_ENTRY(send_op) link;
	uint16_t idx;		/* WQEBB counter of its first WQEBB */
	bool started;		/* has its PSNs */
	bool finished;		/* sent, and acknowledged or answered if RC */
	uint8_t error;		/* enum cqe_syndrome to complete with once it is the oldest */
	uint32_t psn, npsn;	/* first PSN and number of them; 0 for local operations */
	uint32_t sent;		/* request packets sent, since the last rewind */
	uint64_t done;		/* bytes of a READ response that arrived */
	struct send_wqe w;
};

TAILQ_HEAD(send_op_list, send_op);

struct requester {
	struct run_entry run;
	struct hca *hca;
	struct send_op_list ops;	/* oldest first */
	unsigned int nops;
	unsigned int rd_out;		/* READs and atomics among them that are not finished */
	struct send_op *cur;		/* next to send from; NULL: fetch the next WQE */
	uint16_t posted;		/* WQEBB counter up to which the record lets us go */
	uint32_t una;			/* oldest unacknowledged PSN */
	bool drained;			/* SQD was reported since the move there */
	bool poisoned;			/* an op has failed: nothing after it is begun */
	bool recovering;		/* sent again after a loss, no progress since */
	struct event *timer;		/* retry or RNR; one at a time */
	uint64_t deadline_ns;		/* of the retry timer, 0: not running */
	bool rnr_wait;
	uint32_t fault;			/* token of the page fault for which it stands still, or 0 */
	struct send_op *fault_op;	/* whose memory it is; NULL if it has completed since */
	bool again;			/* once resumed, send again from una */
	uint16_t bf_idx;		/* WQEBB counter of the WQE in bf[], if bf_len */
	uint16_t bf_len;
	uint8_t bf[BF_MAX];
};

/* An answer of the responder that waits for its turn. */
struct resp_job {
	enum { JOB_ACK, JOB_READ, JOB_ATOMIC } kind;
	uint32_t psn, npsn;	/* READ: of the first response packet; ACK: acknowledged */
	uint8_t syndrome;
	uint32_t msn;
	uint32_t sent;		/* READ: packets sent */
	uint64_t va;
	uint32_t pdn, rkey, len;
	uint64_t orig;		/* ATOMIC */
};

enum resp_msg { MSG_NONE, MSG_SEND, MSG_WRITE, MSG_SKIP /* UC: until the next first */ };

struct responder {
	struct run_entry run;
	enum resp_msg msg;		/* message of several packets that is under way */
	bool have_rwqe;
	uint16_t rwqe_idx;		/* for the CQE */
	uint32_t rwqe_cqn, rwqe_owner;	/* where it completes, and as whose */
	uint32_t xrc_srqn;		/* XRC: of the message that is under way */
	struct recv_wqe rwqe;
	uint32_t got;			/* bytes of the message so far */
	uint64_t va;			/* WRITE: where the next packet goes */
	uint32_t rkey, left;
	uint32_t write_len;		/* WRITE: of the whole message, for the CQE */
	bool nak_sent;			/* sequence NAK sent and the gap not closed yet */
	bool in_error;			/* on the list of queues that are flushed by polling */
	TAILQ_ENTRY(responder) error_link;
	uint32_t msn;
	struct resp_job job[RESP_MAX_JOBS];
	unsigned int job_head, job_n;
	unsigned int rd_jobs;		/* READs among them: at most max_dest_rd_atomic */
	struct { bool valid; uint32_t psn; uint64_t orig; } replay[RESP_REPLAY];
	unsigned int replay_next;
	uint32_t fault;			/* token of the page fault for which it stands still, or 0 */
	uint32_t fault_psn;		/* of the packet that met it, which will come again */
	bool fault_recv;		/* it is a receive buffer's */
};

/* ---- transport.c ----------------------------------------------------------- */

struct requester *transport_req(struct hca *hca, struct qp *qp);	/* made at first need */
struct responder *transport_resp(struct hca *hca, struct qp *qp);
void transport_kick(struct hca *hca, struct run_entry *e);		/* give it a turn */
/* Headers of a packet from a connected QP to its peer, payload empty. NULL: no memory. */
/* RC, or XRC: acknowledged, in order, repaired. */
bool transport_reliable(const struct qp *qp);
struct packet *transport_packet(struct hca *hca, const struct qp *qp, uint8_t op, uint32_t psn);
bool transport_can_send(const struct qp *qp);		/* state in which packets leave */
bool transport_can_receive(const struct qp *qp);
/* After ERR: look from time to time for receive WQEs to flush, as no register announces them. */
void transport_poll_errors(struct hca *hca, struct responder *resp, bool on);

/* ---- sg.c: data segments --------------------------------------------------- */

/* Copy @len bytes from/to @off of the list; SYND_OK, _LOCAL_LENGTH, _LOCAL_PROT or _PAGE_FAULT. */
enum cqe_syndrome sg_gather(struct hca *hca, const struct qp *qp, const struct wqe_seg *seg,
			    unsigned int nseg, uint64_t off, void *buf, size_t len);
enum cqe_syndrome sg_scatter(struct hca *hca, const struct qp *qp, uint32_t pdn,
			     const struct wqe_seg *seg, unsigned int nseg, uint64_t off,
			     const void *buf, size_t len);

/* ---- req.c ----------------------------------------------------------------- */

bool req_run(struct hca *hca, struct qp *qp, unsigned int *budget);
/* The page fault is resolved, or (not @ok) will not be. */
void req_resume(struct hca *hca, struct qp *qp, bool ok);
/* An ACK, a NAK or a response. */
void req_receive(struct hca *hca, struct qp *qp, const struct packet *p);
void req_flush(struct hca *hca, struct qp *qp);		/* every posted WQE ends in WR_FLUSH */
void req_start(struct hca *hca, struct qp *qp);
void req_clear(struct hca *hca, struct qp *qp);		/* forget everything, no completions */
void req_free(struct hca *hca, struct qp *qp);
void req_empty_pool(void);

/* ---- resp.c ---------------------------------------------------------------- */

bool resp_run(struct hca *hca, struct qp *qp, unsigned int *budget);
void resp_resume(struct hca *hca, struct qp *qp, bool ok);
void resp_receive(struct hca *hca, struct qp *qp, const struct packet *p);
void resp_flush(struct hca *hca, struct qp *qp);
void resp_clear(struct hca *hca, struct qp *qp);
void resp_forget_srq(struct hca *hca, struct srq *srq);
void resp_free(struct hca *hca, struct qp *qp);

/* ---- umr.c ----------------------------------------------------------------- */

/* Execute a UMR WQE; SYND_OK or the syndrome of the error completion. */
enum cqe_syndrome umr_execute(struct hca *hca, const struct qp *qp, const struct send_wqe *w);
/* SEND with invalidate, at the responder: the key is freed if it may be. */
bool umr_invalidate(struct hca *hca, const struct qp *qp, uint32_t rkey);

#endif
