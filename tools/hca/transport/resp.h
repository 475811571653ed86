/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The responder of a queue pair: executes the requests that arrive, and acknowledges or answers
 * them.
 */
#ifndef BLUEBELL_RESP_H
#define BLUEBELL_RESP_H

#include "cq.h"
#include "fault.h"
#include "mkey.h"
#include "qp.h"
#include "sched.h"
#include "watch.h"
#include "wqe.h"

struct packet;
struct srq;

#define RESP_MAX_JOBS	64	/* responses waiting to be sent by one QP */
#define RESP_REPLAY	64	/* atomic results kept; at least max_dest_rd_atomic */
#define RESP_RWQE_MAX	2048	/* greatest stride of a receive queue, bytes */
#define RESP_MAX_LEN	0x80000000u	/* bytes of a message, InfiniBand's limit */

/* A response that waits to be sent. */
struct resp_job {
	enum { JOB_ACK, JOB_READ, JOB_ATOMIC } kind;
	/* READ: PSN of the first response packet, and number of packets; ACK: acknowledged PSN */
	uint32_t psn, npsn;
	uint8_t syndrome;
	uint32_t msn;
	uint32_t sent;		/* READ: packets sent */
	uint64_t va;
	uint32_t pdn, rkey, len;
	uint64_t orig;		/* ATOMIC */
	bool again;		/* READ, ATOMIC: the request arrived a second time */
};

/* The message in progress. MSG_SKIP: UC drops packets until the first packet of a message. */
enum resp_msg { MSG_NONE, MSG_SEND, MSG_WRITE, MSG_SKIP };

/* How the tag of the message in progress was matched; from TM_MSG_EAGER on, an entry is held. */
enum resp_tm { TM_MSG_NONE, TM_MSG_NO_TAG, TM_MSG_UNEXPECTED, TM_MSG_EAGER, TM_MSG_SW_RNDV,
	       TM_MSG_RNDV };

struct responder {
	struct run run;
	enum resp_msg msg;		/* message in progress, if more packets of it follow */
	enum resp_tm tm;		/* of a queue pair with an XRQ */
	bool tm_counted;		/* the unexpected message has been counted */
	uint16_t tm_index;		/* entry of the list of tags that is held */
	bool have_rwqe;
	bool ahead;			/* WQE rq_hw + 1 was consumed before WQE rq_hw */
	uint16_t rwqe_idx;		/* index of the receive WQE, for its CQE */
	uint32_t rwqe_cqn, rwqe_owner;	/* of its CQE: the CQ, and the user index or SRQN */
	uint32_t xrc_srqn;		/* XRC: SRQ number of the message in progress */
	struct recv_wqe rwqe;
	uint32_t got;			/* bytes of the message so far */
	enum cqe_error store_error;	/* why the receive WQE could not take its data */
	uint64_t va;			/* WRITE: address of the next packet's data */
	uint32_t rkey, left;
	uint32_t write_len;		/* WRITE: bytes of the whole message, for the CQE */
	bool nak_sent;			/* sequence NAK sent, the expected packet has not arrived */
	struct watch watch;		/* of the receive queue, in ERR */
	struct resp_job job[RESP_MAX_JOBS];
	unsigned int job_head, job_n;
	/* The number of jobs for which resp_job_counts() is true; at most max_dest_rd_atomic. */
	unsigned int rd_jobs;
	struct { bool valid; uint32_t psn; uint64_t orig; } replay[RESP_REPLAY];
	unsigned int replay_next;
	uint32_t fault;			/* token of the fault that holds the responder up, or 0 */
	uint32_t fault_psn;		/* PSN of the packet that met the fault and comes again */
	bool fault_recv;		/* the absent page is of a receive buffer */
};

/* The response that is sent after @i other responses. */
static inline struct resp_job *resp_job_at(struct responder *resp, unsigned int i)
{
	return &resp->job[(resp->job_head + i) % RESP_MAX_JOBS];
}

/* Whether a response counts against max_dest_rd_atomic: the requester may be waiting for it. */
static inline bool resp_job_counts(const struct resp_job *job)
{
	return job->kind != JOB_ACK && !job->again;
}

/* The number of packets of a READ response of @len bytes, at most RESP_MAX_LEN. */
static inline uint32_t resp_read_packets(const struct qp *qp, uint32_t len)
{
	return len ? (len + qp->mtu - 1) / qp->mtu : 1;
}

/* Why a request is refused, and what the requester and the software of this HCA are told. */
struct refusal {
	uint8_t nak;			/* AETH syndrome for the requester */
	enum cqe_error error;		/* of the receive WQE's completion, if one was taken */
	enum async_event event;		/* raised if no receive WQE was taken */
};

/* resp_refuse.c */
extern const struct refusal refuse_length, refuse_request, refuse_right, refuse_access,
	refuse_key, refuse_inval, refuse_store;

/*
 * How the processing of a request has ended. NOT_READY: an RC requester has to send the request
 * again, and UC loses the message.
 */
enum outcome { DONE, REFUSED, NOT_READY };

/* What a BTH opcode of a SEND or RDMA WRITE says about its packet. */
struct bth_desc {
	enum resp_msg msg;
	bool first, last, imm, inval;
};

/* ---- for the rest of the transport: resp.c --------------------------------------------------- */

struct responder *resp_get(struct hca *hca, struct qp *qp);
void resp_receive(struct hca *hca, struct qp *qp, const struct packet *p);
void resp_flush(struct hca *hca, struct qp *qp);
void resp_clear(struct hca *hca, struct qp *qp);
void resp_forget_srq(struct hca *hca, struct srq *srq);
void resp_free(struct hca *hca, struct qp *qp);

/* ---- between the responder's files; each calls only files that are before it here ------------ */

/* resp_wqe.c: receive WQEs and their completions */
struct srq *resp_srq(struct hca *hca, const struct qp *qp);
uint32_t resp_remote_pdn(struct hca *hca, const struct qp *qp);
bool resp_repeated_pdn(struct hca *hca, const struct qp *qp, const struct packet *p, uint32_t *pdn);
uint32_t resp_cqe_owner(const struct qp *qp, const struct srq *srq);
int resp_take_wqe(struct hca *hca, struct qp *qp);
uint16_t resp_next_own(const struct qp *qp, uint16_t posted);
void resp_consume_own(struct qp *qp, uint16_t index);
enum cqe_error resp_scatter(struct hca *hca, const struct qp *qp, uint64_t off, const void *buf,
			    size_t len);
void resp_describe(struct hca *hca, const struct qp *qp, const struct packet *p,
		   struct completion *c);
void resp_complete(struct hca *hca, struct qp *qp, const struct packet *p, uint32_t bytes,
		   bool in_cqe);
void resp_complete_error(struct hca *hca, struct qp *qp, enum cqe_error error);

/* resp_job.c: answers that wait, and acknowledgements */
bool resp_send_ack(struct hca *hca, const struct qp *qp, const struct resp_job *job);
void resp_queue_job(struct hca *hca, struct qp *qp, const struct resp_job *job);
void resp_drop_jobs(struct responder *resp, uint32_t psn);
void resp_ack(struct hca *hca, struct qp *qp, uint8_t syndrome, uint32_t psn);
void resp_ack_request(struct hca *hca, struct qp *qp, const struct packet *p);

/* resp_refuse.c: requests that are refused */
void resp_refuse(struct hca *hca, struct qp *qp, const struct packet *p, const struct refusal *why);
void resp_refuse_answer(struct hca *hca, struct qp *qp, const struct packet *p, enum mk_result res);
const struct refusal *resp_wqe_refusal(int err);
const struct refusal *resp_key_refusal(const struct qp *qp, enum mk_result res);
bool resp_invalidate(struct hca *hca, struct qp *qp, const struct bth_desc *d,
		     const struct packet *p, const struct refusal **why);

/* resp_tm.c: messages with tags */
enum outcome resp_tm_begin(struct hca *hca, struct qp *qp, const struct bth_desc *d,
			   const struct packet *p);
void resp_tm_took_wqe(struct qp *qp);
enum outcome resp_tm_send(struct hca *hca, struct qp *qp, const struct bth_desc *d,
			  const struct packet *p, const struct refusal **why);
void resp_tm_end(struct hca *hca, struct qp *qp, bool tell);

/* resp_fault.c: page faults */
bool resp_stall(struct hca *hca, struct qp *qp, uint32_t psn, struct page_fault *f);
void resp_cancel_fault(struct hca *hca, struct responder *resp);

/* resp_read.c: RDMA READ and atomics */
bool resp_is_atomic(uint8_t op);
enum outcome resp_read(struct hca *hca, struct qp *qp, const struct packet *p,
		       const struct refusal **why);
enum outcome resp_atomic(struct hca *hca, struct qp *qp, const struct packet *p,
			 const struct refusal **why);
void resp_duplicate(struct hca *hca, struct qp *qp, const struct packet *p);

/* resp_message.c: SEND and RDMA WRITE */
const struct bth_desc *resp_bth_desc(uint8_t opcode);
enum outcome resp_message(struct hca *hca, struct qp *qp, const struct bth_desc *d,
			  const struct packet *p, const struct refusal **why);

/* resp_rc.c, resp_ud.c: the services */
void resp_receive_rc(struct hca *hca, struct qp *qp, const struct packet *p);
void resp_receive_uc(struct hca *hca, struct qp *qp, const struct packet *p);
void resp_receive_ud(struct hca *hca, struct qp *qp, const struct packet *p);

/* resp_send.c: turns */
bool resp_run(struct hca *hca, struct qp *qp, unsigned int *budget);

#endif
