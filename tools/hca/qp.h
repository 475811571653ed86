/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs and shared receive queues: what the commands (qp.c, srq.c) keep
 * and what the transport (req.c, resp.c) reads, and the calls between the two.
 */
#ifndef BLUEBELL_QP_H
#define BLUEBELL_QP_H

#include "hca.h"

/* qpc.state, as enum mlx5_qp_state in linux/mlx5/qp.h. */
enum qp_state {
	QPS_RST = 0, QPS_INIT = 1, QPS_RTR = 2, QPS_RTS = 3, QPS_SQER = 4, QPS_SQD = 5,
	QPS_ERR = 6, QPS_SQ_DRAINING = 7, QPS_NUM
};

/* qpc.st, the service type, as MLX5_QP_ST_*. */
enum qp_type {
	QPT_RC = 0x0, QPT_UC = 0x1, QPT_UD = 0x2, QPT_XRC = 0x3, QPT_MLX = 0x4, QPT_DCI = 0x5,
	QPT_DCT = 0x6, QPT_QP0 = 0x7, QPT_QP1 = 0x8, QPT_REG_UMR = 0xc, QPT_SYNC_UMR = 0xe,
};

/* qpc.rq_type */
enum qp_rq_type { RQ_OWN = 0, RQ_SRQ = 1, RQ_CRQ = 2, RQ_NONE = 3 };

/* qpc.atomic_mode, as linux/mlx5/driver.h: 0 none, 1 IB compliant, 2 as CX, 3 up to 8 bytes, … */
enum qp_atomic_mode { ATOMIC_NONE = 0, ATOMIC_IB_COMP = 1, ATOMIC_CX = 2, ATOMIC_8B = 3 };

/* Asynchronous events, as MLX5_EVENT_TYPE_* in linux/mlx5/device.h. */
enum async_event {
	EV_PATH_MIG = 0x01, EV_COMM_EST = 0x02, EV_SQ_DRAINED = 0x03, EV_CQ_ERROR = 0x04,
	EV_WQ_CATAS_ERROR = 0x05, EV_PATH_MIG_FAILED = 0x07, EV_INTERNAL_ERROR = 0x08,
	EV_PORT_CHANGE = 0x09, EV_PAGE_FAULT = 0x0c, EV_WQ_INVAL_REQ = 0x10, EV_WQ_ACCESS = 0x11,
	EV_SRQ_CATAS_ERROR = 0x12, EV_SRQ_LAST_WQE = 0x13, EV_SRQ_RQ_LIMIT = 0x14,
};

/* An address path, decoded from struct mlx5_ifc_ads_bits. */
struct qp_path {
	uint16_t rlid;
	uint16_t pkey_index;
	uint8_t mlid;		/* source path bits */
	uint8_t sl;
	bool grh;
	uint8_t src_gid_index;
	uint8_t hop_limit;
	uint8_t tclass;
	uint32_t flow_label;
	uint8_t dgid[16];
	uint8_t ack_timeout;	/* 4.096 us * 2^n; 0: never */
	uint8_t stat_rate;
	uint8_t port;		/* 1, or 0 as given */
};

struct requester;		/* transport.h */
struct responder;

struct srq;

#define QPC_BYTES 232		/* struct mlx5_ifc_qpc_bits; asserted in qp.c */
#define DBR_RCV 0		/* offset of the receive counter in a doorbell record, bytes */
#define DBR_SND 4		/* and of the send counter */

struct qp {
	struct obj obj;		/* obj.num is the QPN, obj.uid the owner */
	enum qp_state state;
	enum qp_type type;
	uint32_t uar;		/* the only UAR whose doorbells this QP heeds */
	uint32_t pdn;
	uint32_t user_index;	/* for CQE version 1 (srqn_uidx) */
	bool cqe_version1;	/* CQEs carry user_index instead of nothing/srqn */
	bool sig_all;		/* unused by the hardware; WQEs carry ce */
	bool wq_signature;
	bool rlky;		/* the reserved lkey may be used by this QP's WQEs */

	/* Queues. One buffer: the RQ, then the SQ. */
	struct queue_mem mem;
	uint64_t dbr_addr;	/* guest address of the record: be32 receive, be32 send */
	bool has_sq;
	enum qp_rq_type rq_type;
	size_t rq_off;
	uint32_t rq_cnt;	/* WQEs (power of two); 0: none */
	unsigned int rq_shift;	/* log2 of the WQE stride in bytes (4..) */
	size_t sq_off;
	uint32_t sq_cnt;	/* WQEBBs of 64 bytes (power of two) */
	uint32_t cqn_snd, cqn_rcv;
	uint32_t srqn;		/* RQ_SRQ */
	struct srq *srq;
	uint32_t xrcdn;
	uint8_t counter_set;	/* Q counter, 0: none */
	/* scatter to CQE: struct mlx5_ifc_qpc_bits cs_req 0x11 (32), 0x22 (64), cs_res 1, 2 */
	uint8_t cs_req, cs_res;

	/* Connection. */
	struct qp_path path, alt_path;
	uint8_t pm_state;	/* 3 migrated, 0 armed, 1 rearm */
	uint32_t remote_qpn;
	uint32_t mtu;		/* bytes: 256 .. 4096 */
	unsigned int log_msg_max;
	uint32_t qkey;
	uint32_t deth_sqpn;
	bool rre, rwe, rae;
	uint8_t atomic_mode;
	uint8_t retry_count, rnr_retry;		/* rnr_retry 7: for ever */
	uint8_t min_rnr_nak;			/* encoded IB timer */
	uint32_t max_rd_atomic;			/* outstanding as initiator (1 << log_sra_max) */
	uint32_t max_dest_rd_atomic;		/* resources as responder (1 << log_rra_max) */

	/* Running values: the commands set them, the transport moves them, QUERY_QP shows them. */
	uint32_t next_send_psn, last_acked_psn, next_rcv_psn, ssn;
	uint16_t sq_hw;		/* WQEBB counter: next to execute */
	uint16_t rq_hw;		/* next receive WQE to consume */
	uint8_t cur_retry, cur_rnr_retry;
	bool comm_est;		/* COMM_EST was raised in this RTR */
	bool drain_event;	/* raise SQ_DRAINED when the SQ has drained (sqd_event) */
	bool last_wqe_done;	/* SRQ_LAST_WQE was raised since the move to ERR */
	bool cq_dead;		/* a completion was lost; the move to ERR is under way */

	uint8_t qpc[QPC_BYTES];	/* as the commands built it, for QUERY_QP */
	uint8_t created[QPC_BYTES];	/* as CREATE_QP gave it: what 2RST goes back to */

	struct requester *req;	/* the transport's; NULL until it wants them */
	struct responder *resp;
};

/* ---- given by the transport (HCA: req.c, resp.c) -------------------------- */

/*
 * After every state change (also RST -> RST on create, where @old == @new). At RTR the responder
 * may start, at RTS the requester; at SQD it drains and calls qp_sq_drained(); at ERR every WQE
 * that was posted is flushed (also those posted later); at RST all state goes and the counters
 * sq_hw, rq_hw are 0.
 */
void transport_qp_state(struct hca *hca, struct qp *qp, enum qp_state old, enum qp_state now);
/* Before the QP is freed: drop every pointer to it, free req and resp. */
void transport_qp_destroy(struct hca *hca, struct qp *qp);
/* A CREATE/DESTROY of an SRQ needs nothing; an SRQ QP in RTR asks srq_pop() when a packet comes. */

/* ---- given by qp.c ------------------------------------------------------------ */

struct qp *qp_find(struct hca *hca, uint32_t qpn);
/* The QP that serves the port's QP0 or QP1 (types QPT_QP0, QPT_QP1; @n 0 or 1), or NULL. */
struct qp *qp_special(struct hca *hca, unsigned int n);
/*
 * The transport found a fatal error: state ERR, WQEs flushed through transport_qp_state(), the
 * asynchronous @event raised (0: none), LAST_WQE for SRQ QPs. Harmless when already in ERR.
 */
void qp_to_error(struct hca *hca, struct qp *qp, enum async_event event);
/* UC/UD send error: the SQ alone stops (SQER) and is flushed; receiving goes on. */
void qp_to_sq_error(struct hca *hca, struct qp *qp);
/* The SQ is empty of work in progress: SQ_DRAINING -> SQD, event if it was asked for. */
void qp_sq_drained(struct hca *hca, struct qp *qp);
/* First packet in RTR: COMM_EST, once. */
void qp_comm_est(struct hca *hca, struct qp *qp);
/* Raise an asynchronous event about a QP. */
void qp_event(struct hca *hca, struct qp *qp, enum async_event event);
const char *qp_state_name(enum qp_state s);
const char *qp_type_name(enum qp_type t);

/* Doorbell record counters, as the driver last wrote them. False if it isn't mapped any more. */
bool qp_dbr_read(struct hca *hca, const struct qp *qp, unsigned int which, uint16_t *val);

/* ---- SRQs: srq.c ------------------------------------------------------------------ */

struct srq {
	struct obj obj;		/* obj.num is the SRQN */
	enum { SRQ_BASIC, SRQ_RMP, SRQ_XRC } kind;
	bool error;
	bool cyclic;		/* WQEs in ring order, not a linked list (basic_cyclic_rcv_wqe) */
	bool wq_signature;
	struct queue_mem mem;
	uint64_t dbr_addr;
	uint32_t cnt;		/* WQEs (power of two) */
	unsigned int shift;	/* log2 stride, bytes */
	uint32_t pdn, cqn, xrcdn, user_index;
	uint16_t hw;		/* WQEs consumed */
	uint16_t head;		/* index of the WQE to be consumed next */
	uint16_t lwm;		/* limit, 0: not armed */
	uint8_t ctx[64];	/* srqc / xrc_srqc as given, for QUERY */
};

struct srq *srq_find(struct hca *hca, uint32_t srqn);
/*
 * Take the next WQE: its index (for the CQE's wqe_counter) and bytes up to @max (one stride; the
 * 16-byte next segment is first, the data segments follow). Returns bytes, -ENOENT when the
 * doorbell record shows no more, -EFAULT when the queue cannot be read (SRQ goes to error).
 * Raises SRQ_RQ_LIMIT when armed and the number left falls under the limit.
 */
int srq_pop(struct hca *hca, struct srq *srq, uint16_t *index, void *wqe, size_t max);

#endif
