/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs: their state, which the commands set and the transport moves on, and the calls
 * between the two.
 */
#ifndef BLUEBELL_QP_H
#define BLUEBELL_QP_H

#include "cmd.h"
#include "cqe_error.h"
#include "eq.h"
#include "object.h"
#include "queue_mem.h"

struct hca_module;
struct requester;		/* defined by the transport */
struct responder;
struct srq;

/* qpc.state, as enum mlx5_qp_state in linux/mlx5/qp.h. */
/* qpc.cs_req and qpc.cs_res, dctc.cs_res: data of up to so many bytes is scattered to the CQE. */
enum qp_cs_req { CS_REQ_32B = 0x11, CS_REQ_64B = 0x22 };
enum qp_cs_res { CS_RES_32B = 1, CS_RES_64B = 2 };

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
	/* RoCE */
	uint8_t rmac[6];
	uint16_t udp_sport;
	uint8_t dscp, ecn;
	uint8_t eth_prio;	/* priority of the VLAN tag */
	bool dei;
	bool loop;		/* the packets never leave the port */

	uint8_t ack_timeout;	/* 4.096 us * 2^n; 0: never */
	uint8_t stat_rate;
	uint8_t port;		/* 1; 0 before RST2INIT */
};

/* The address vector of a WQE of a datagram, or of a DC initiator. */
struct wqe_av {
	uint32_t qkey;
	uint64_t dc_key;	/* DC: in the place of the Q_Key */
	uint32_t dqpn;		/* or the number of a DC target */
	bool compact;		/* the form of 16 bytes */
	struct qp_path path;	/* without what belongs to the queue pair: P_Key, timeout, port */
};

#define USER_INDEX_NONE	0xffffff	/* user_index of a queue whose CQEs have version 0 */
#define QPC_BYTES 232		/* struct mlx5_ifc_qpc_bits; asserted in qp.c */
#define DBR_RCV 0		/* offset of the receive counter in a doorbell record, bytes */
#define DBR_SND 4		/* offset of the send counter */

struct qp {
	struct obj obj;		/* obj.num is the QPN, obj.uid the owner */
	enum qp_state state;
	enum qp_type type;
	uint32_t uar;		/* the only UAR whose doorbells this QP accepts */
	uint32_t pdn;
	uint32_t user_index;	/* for CQE version 1 (srqn_uidx) */
	bool cqe_version1;	/* CQEs carry user_index, which is not USER_INDEX_NONE */
	bool real_time;		/* time stamps of CQEs are seconds and nanoseconds */
	bool block_lb_mc;	/* the QP does not receive its own multicast */
	bool rlky;		/* the reserved lkey may be used by this QP's WQEs */
	bool out_of_order;	/* receive WQEs are consumed in any order (dp_ordering) */

	/* Queues. One buffer: the RQ, then the SQ. */
	struct queue_mem mem;
	struct doorbell_record dbr;	/* be32 receive, be32 send */
	bool has_sq;
	enum qp_rq_type rq_type;
	size_t rq_off;
	uint32_t rq_cnt;	/* WQEs (power of two); 0: none */
	unsigned int rq_shift;	/* log2 of the WQE stride in bytes (4..) */
	size_t sq_off;
	uint32_t sq_cnt;	/* WQEBBs of 64 bytes (power of two) */
	uint32_t cqn_snd, cqn_rcv;
	uint32_t srqn;		/* if rq_type is RQ_SRQ */
	struct srq *srq;
	bool rndv;		/* the HCA reads the data of rendezvous messages (srq.h) */
	uint32_t xrcdn;
	uint8_t counter_set;	/* Q counter, 0: none */
	uint8_t cs_req, cs_res;	/* scatter to CQE: CS_REQ_*, CS_RES_*; 0 for none */

	/* Connection. */
	struct qp_path path, alt_path;
	uint8_t pm_state;	/* 3 migrated, 0 armed, 1 rearm */
	uint32_t remote_qpn;
	uint32_t mtu;		/* bytes: 256 .. 4096 */
	unsigned int log_msg_max;
	uint8_t log_ack_req_freq;
	uint32_t qkey;
	uint32_t deth_sqpn;
	bool rre, rwe, rae;
	uint8_t atomic_mode;
	uint8_t retry_count, rnr_retry;		/* rnr_retry 7: without limit */
	uint8_t min_rnr_nak;			/* encoded IB timer */
	uint32_t max_rd_atomic;			/* outstanding READs and atomics (2^log_sra_max) */
	uint32_t max_dest_rd_atomic;		/* the peer's READs and atomics (2^log_rra_max) */

	/* Running values: the commands set them, the transport moves them, QUERY_QP shows them. */
	uint32_t next_send_psn, last_acked_psn, next_rcv_psn, ssn;
	uint32_t msn;		/* messages that the responder has executed */
	uint16_t sq_hw;		/* WQEBB counter: next to execute */
	uint16_t rq_hw;		/* next receive WQE to consume */
	uint8_t cur_retry, cur_rnr_retry;
	bool comm_est;		/* COMM_EST was raised in this RTR */
	bool drain_event;	/* raise SQ_DRAINED when the SQ has drained (sqd_event) */
	bool last_wqe_done;	/* SRQ_LAST_WQE was raised since ERR was entered */
	enum cqe_error error;	/* why the queue pair entered SQER or ERR */
	uint64_t cnp_ns;	/* when the last CNP was sent to the peer */
	uint32_t dc_connection;	/* DC: number of the connection */
	bool has_streams;	/* DCI: WQEs belong to streams, which fail alone */
	unsigned int max_failed_streams;	/* so many fail the queue pair */
	bool cq_dead;		/* a completion was lost; ERR is entered from the event loop */

	uint8_t qpc[QPC_BYTES];	/* as the commands built it, for QUERY_QP */
	uint8_t created[QPC_BYTES];	/* as CREATE_QP gave it; 2RST returns to it */

	struct requester *req;	/* req and resp: the transport's; NULL until it makes them */
	struct responder *resp;
};

/* What the transport does for queue pairs; the board names an instance. */
struct qp_ops {
	/*
	 * The state changed from @old to @now; called for RST -> RST at CREATE_QP, too. At RTR the
	 * responder may start, at RTS the requester; at SQD the send queue drains and
	 * qp_sq_drained() is called; at ERR all WQEs are flushed, also those that are posted later;
	 * at RST all state is dropped and the counters sq_hw and rq_hw are 0.
	 */
	void (*state)(struct hca *hca, struct qp *qp, enum qp_state old, enum qp_state now);
	/* The queue pair is about to be freed: drop every pointer to it, free req and resp. */
	void (*destroy)(struct hca *hca, struct qp *qp);
	/* An XRC SRQ is about to be freed: drop the receive WQEs that were taken from it. */
	void (*srq_gone)(struct hca *hca, struct srq *srq);
	/*
	 * A DC target is in DRAINING. The transport closes its connections from the event loop, and
	 * calls dct_drained().
	 */
	void (*dct_drain)(struct hca *hca);
	/* Let a stream of a DCI work again. Returns false if the stream has not failed. */
	bool (*reset_stream)(struct hca *hca, struct qp *qp, uint16_t stream);
};

/* ---- qp_name.c ------------------------------------------------------------------------------- */

const char *qp_state_name(enum qp_state s);
const char *qp_type_name(enum qp_type t);

/* ---- qp.c: finding queue pairs, states, events, the end -------------------------------------- */

struct qp *qp_find(struct hca *hca, uint32_t qpn);
struct qp *qp_special(struct hca *hca, unsigned int n);
void qp_set_special(struct hca *hca, struct qp *qp, bool on);
void qp_set_state(struct hca *hca, struct qp *qp, enum qp_state now);
void qp_to_error(struct hca *hca, struct qp *qp, enum cqe_error error, enum async_event event);
void qp_to_sq_error(struct hca *hca, struct qp *qp, enum cqe_error error);
void qp_sq_drained(struct hca *hca, struct qp *qp);
void qp_comm_est(struct hca *hca, struct qp *qp);
void qp_event(struct hca *hca, struct qp *qp, enum async_event event);
void qp_lost_cqe(struct hca *hca, uint32_t qpn);
bool qp_dbr_read(struct hca *hca, const struct qp *qp, unsigned int which, uint16_t *val);
void qp_decode(struct qp *qp);
void qp_path_lead(struct qp_path *path, const struct qp_path *to);
void qp_release(struct hca *hca, struct qp *qp);

extern const struct hca_module qp_module;

/* ---- qp_check.c: what a context must not contain --------------------------------------------- */

uint8_t qp_check_context(struct hca *hca, struct cmd *cmd, const uint8_t *c);
uint8_t qp_check_features(struct hca *hca, struct cmd *cmd, const struct qp *qp);
uint8_t qp_check_ordering(struct hca *hca, struct cmd *cmd, enum qp_type type, const uint8_t *c);
bool qp_has_real_time(struct hca *hca, const struct qp *qp);
unsigned int qp_pkeys(struct hca *hca);

/* ---- qp_roce.c: paths of an Ethernet port ---------------------------------------------------- */

uint8_t qp_check_roce_context(struct hca *hca, struct cmd *cmd, const uint8_t *c);
uint8_t qp_check_roce_path(struct hca *hca, struct cmd *cmd, const struct qp *qp);

/* ---- qp_create.c: CREATE, DESTROY and QUERY_QP; qp_modify.c: transitions --------------------- */

extern const struct cmd_desc qp_cmds[], qp_modify_cmds[];

#endif
