/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completion queues: their state, and the call by which work requests complete.
 */
#ifndef BLUEBELL_CQ_H
#define BLUEBELL_CQ_H

#include "cmd.h"
#include "cqe_error.h"
#include "object.h"
#include "queue_mem.h"

struct event;
struct hca_module;

/* cqc.status and cqc.st */
enum cq_status { CQ_STATUS_OK = 0x0, CQ_STATUS_OVERFLOW = 0x9, CQ_STATUS_WRITE_FAIL = 0xa };
enum cq_state { CQ_ST_SOLICITED_ARMED = 0x6, CQ_ST_ARMED = 0x9, CQ_ST_FIRED = 0xa };

/* CQE opcodes, as MLX5_CQE_* in linux/mlx5/device.h. */
enum cqe_opcode {
	CQE_REQ = 0, CQE_RESP_WR_IMM = 1, CQE_RESP_SEND = 2, CQE_RESP_SEND_IMM = 3,
	CQE_RESP_SEND_INV = 4, CQE_RESIZE = 5, CQE_NO_PACKET = 6, CQE_REQ_ERR = 13,
	CQE_RESP_ERR = 14,
};

#define DBR_ARM		4	/* offset of the arm word in a doorbell record, bytes */
/* Bit of a CQ doorbell (linux/mlx5/cq.h): next solicited event instead of next event. */
#define CQ_DB_NOT_SOL	(1u << 24)

#define CQ_INDEX_MASK	0xffffffu	/* counters of the doorbell record are 24 bits */
#define CQE_BYTES	64
#define CQE_ERROR_OFF	52	/* offset of the syndromes in an error CQE, bytes */
#define CQC_BYTES	64

/* What the CQE of a received Ethernet frame says of it, as struct mlx5_cqe64 names the fields. */
struct cqe_frame {
	uint32_t rss_hash_result;
	uint8_t rss_hash_type;
	uint16_t check_sum;	/* of the IP packet */
	uint8_t hds_ip_ext;	/* enum cqe_frame_ok */
	uint8_t l4_l3_hdr_type;
	uint16_t vlan_info;	/* the tag that was stripped */
	uint32_t flow_tag;	/* of the steering rule, 24 bits */
};

enum cqe_frame_ok { CQE_L2_OK = 1, CQE_L3_OK = 2, CQE_L4_OK = 4 };

/* What the CQE of a queue with tag matching says of a message or of a change of the list. */
enum cqe_tm_op {
	TM_CONSUMED = 0x1, TM_EXPECTED = 0x2, TM_UNEXPECTED = 0x3, TM_NO_TAG = 0x4,
	TM_APPEND = 0x5, TM_REMOVE = 0x6, TM_NOOP = 0x7, TM_CONSUMED_MSG = 0xa,
	TM_CONSUMED_MSG_SW_RNDV = 0xb, TM_CANCELED = 0xc,
};

#define TM_HEADER_BYTES	16	/* of the header of a message, struct ibv_tmh of libibverbs */

struct cqe_tm {
	enum cqe_tm_op op;	/* app_op */
	uint16_t index;		/* app_info: the entry of the list */
	bool has_header;	/* a match: header[] is the header of the message */
	uint8_t header[TM_HEADER_BYTES];
	bool success;		/* changes of the list */
	uint16_t hw_phase;	/* changes of the list: unexpected messages so far */
};

/* What a completion says; cq.c builds the CQE of 64 or 128 bytes from it. */
struct completion {
	uint8_t opcode;		/* enum cqe_opcode */
	enum cqe_error error;	/* error CQEs */
	uint32_t qpn;
	uint16_t wqe_counter;
	uint8_t s_wqe_opcode;	/* requester: opcode of the WQE */
	uint32_t byte_cnt;
	uint32_t imm_inval_pkey; /* host order */
	uint32_t srqn_uidx;	/* 24 bits: srqn or user index */
	uint32_t src_qp;	/* UD */
	uint16_t slid;
	uint8_t sl, ml_path;
	bool grh;		/* a GRH, or the header of RoCE, is in the buffer */
	bool vlan;		/* UD: the packet had a VLAN tag */
	uint16_t tci;		/* priority and VLAN id of this tag */
	bool is_frame;		/* the completion of a received frame */
	struct cqe_frame frame;
	bool is_tm;		/* the completion of a queue with tag matching */
	struct cqe_tm tm;
	bool real_time;		/* the time stamp has seconds and nanoseconds, not cycles */
	bool solicited;		/* responder: also fires a CQ armed for solicited CQEs */
	const uint8_t *inline_data;	/* scatter to CQE: up to 32 or 64 bytes */
	uint8_t inline_len;
};

struct cq {
	struct obj obj;
	struct hca *hca;	/* for cq_timeout(), which gets the queue alone */
	uint32_t uar, eqn;
	struct queue_mem mem;
	struct doorbell_record dbr;	/* be32 consumer index, be32 arm word */
	uint32_t cnt;		/* CQEs, power of two */
	unsigned int cqe_sz;	/* bytes: 64 or 128 */
	bool padded;		/* all 128 bytes are written, also if the first 64 hold no data */
	bool overrun_ok;	/* cqc.oi: no overrun check */
	bool collapsed;		/* cqc.cc: every CQE goes to slot 0 */
	bool sol_breaks_mod;	/* cqc.scqe_break_moderation_en */
	enum cq_status status;

	uint32_t pi;		/* CQEs written, 24 bits */
	uint32_t ci;		/* consumer index, as last read from the doorbell record */

	/* Notification: one event for each arming. */
	bool armed, armed_sol;
	uint8_t arm_sn;		/* sequence number of the arming */
	bool fired_once;
	uint8_t fired_sn;	/* arm_sn of the last event; a doorbell that repeats it is stale */
	uint32_t sol_pi;	/* pi after the last solicited CQE; valid if sol_seen */
	bool sol_seen;
	uint32_t notified;	/* pi at the last event */

	/* Moderation: the event waits for max_count CQEs or for the period. */
	uint16_t period_us, max_count;
	bool from_cqe;		/* cqc.cq_period_mode: each CQE starts the period again */
	unsigned int held;	/* CQEs for which moderation has delayed the event */
	struct event *timer;

	uint8_t cqc[CQC_BYTES];	/* context as given, for QUERY_CQ */
};

/* Whether a CQE has room for 64 bytes of data before the CQE's own 64 bytes. */
static inline bool cq_holds_64(const struct cq *cq)
{
	return cq->cqe_sz == 128;
}

struct cq *cq_find(struct hca *hca, uint32_t cqn);
void cq_complete(struct hca *hca, uint32_t cqn, const struct completion *c);
void cq_complete_now(struct hca *hca, uint32_t cqn, const struct completion *c);
void cq_arm_doorbell(struct hca *hca, uint32_t uar, uint64_t val);

extern const struct hca_module cq_module;
extern const struct cmd_desc cq_cmds[];

/* ---- between cq.c and cq_cmd.c --------------------------------------------------------------- */

void cq_timeout(int fd, short what, void *arg);
void cq_fire(struct cq *cq);
bool cq_moderated(const struct cq *cq);
uint32_t cq_ahead(uint32_t a, uint32_t b);
bool cq_write_resize(struct hca *hca, struct cq *cq);
void cq_release(struct hca *hca, struct cq *cq);

#endif
