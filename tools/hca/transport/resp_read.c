// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: RDMA READ and atomics, and requests that arrive a second time.
 */
#include <endian.h>

#include "caps.h"
#include "conn.h"
#include "fault.h"
#include "hca.h"
#include "ifc.h"
#include "mkey.h"
#include "packet.h"
#include "qcounter.h"
#include "qp.h"
#include "resp.h"

/* A READ of 0 bytes needs no key. */
static enum mk_result resp_check_read(struct hca *hca, const struct qp *qp, const struct packet *p)
{
	const struct mkey_user user = conn_user(qp, resp_remote_pdn(hca, qp));

	if (!p->dma_len)
		return MK_OK;
	return mkey_check(hca, &user, p->rkey, p->va, p->dma_len, MK_REMOTE_READ);
}

/**
 * resp_read() - process a READ request
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the packet
 * @why: set to the reason if the outcome is REFUSED
 *
 * Return: DONE or REFUSED.
 */
enum outcome resp_read(struct hca *hca, struct qp *qp, const struct packet *p,
		       const struct refusal **why)
{
	struct responder *resp = qp->resp;
	struct resp_job job = {
		.kind = JOB_READ, .psn = p->psn, .va = p->va, .rkey = p->rkey, .len = p->dma_len,
		.npsn = resp_read_packets(qp, p->dma_len), .pdn = resp_remote_pdn(hca, qp),
	};
	enum mk_result res;

	*why = &refuse_right;
	if (!qp->rre)
		return REFUSED;
	*why = &refuse_request;
	if (resp->msg != MSG_NONE || resp->rd_jobs >= qp->max_dest_rd_atomic ||
	    p->dma_len > RESP_MAX_LEN)
		return REFUSED;
	qcounter_add(hca, qp->counter_set, QC_RX_READ);
	res = resp_check_read(hca, qp, p);
	*why = resp_key_refusal(qp, res);
	if (res != MK_OK)
		return REFUSED;
	qp->msn = psn_add(qp->msn, 1);
	job.msn = qp->msn;
	resp_queue_job(hca, qp, &job);
	return DONE;
}

/* Add field by field: a set bit in @bounds is the highest bit of its field and does not carry. */
static uint64_t resp_masked_add(uint64_t a, uint64_t b, uint64_t bounds)
{
	return ((a & ~bounds) + (b & ~bounds)) ^ ((a ^ b) & bounds);
}

static uint64_t resp_atomic_result(uint8_t op, const struct packet *p, uint64_t old)
{
	switch (op) {
	case BTH_CMP_SWAP:
		return old == p->compare ? p->swap_add : old;
	case BTH_MASKED_CMP_SWAP:
		if ((old ^ p->compare) & p->compare_mask)
			return old;
		return (old & ~p->swap_mask) | (p->swap_add & p->swap_mask);
	case BTH_MASKED_FETCH_ADD:
		return resp_masked_add(old, p->swap_add, p->compare);
	default:
		return old + p->swap_add;
	}
}

/* Uses compare-exchange: guest processors may change the same word at the same time. */
static uint64_t resp_atomic_apply(struct hca *hca, uint64_t *mem, const struct packet *p)
{
	bool host_order = hca_cap_atomic(hca, atomic_req_8B_endianness_mode);
	uint64_t old = __atomic_load_n(mem, __ATOMIC_SEQ_CST), seen, val;

	do {
		seen = host_order ? old : be64toh(old);
		val = resp_atomic_result(p->opcode & BTH_OP_MASK, p, seen);
		if (!host_order)
			val = htobe64(val);
	} while (!__atomic_compare_exchange_n(mem, &old, val, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	return seen;
}

static bool resp_stall_atomic(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct page_fault f = {
		.type = FAULT_REMOTE_WRITE, .op = ODP_ATOMIC, .packet_len = sizeof(uint64_t),
		.rkey = p->rkey, .va = p->va, .op_len = sizeof(uint64_t),
	};

	return resp_stall(hca, qp, p->psn, &f);
}

/*
 * The specification has no masked atomics, so a queue pair in the mode of the specification does
 * not execute them.
 */
static bool resp_atomic_offered(struct hca *hca, const struct qp *qp, uint8_t op)
{
	unsigned int ops = hca_cap_atomic(hca, atomic_operations);

	switch (op) {
	case BTH_CMP_SWAP:
		return ops & ATOMIC_OP_CMP_SWAP;
	case BTH_FETCH_ADD:
		return ops & ATOMIC_OP_FETCH_ADD;
	case BTH_MASKED_CMP_SWAP:
		return ops & ATOMIC_OP_MASKED_CMP_SWAP && qp->atomic_mode > ATOMIC_IB_COMP;
	default:
		return ops & ATOMIC_OP_MASKED_FETCH_ADD && qp->atomic_mode > ATOMIC_IB_COMP;
	}
}

/**
 * resp_atomic() - process an atomic request
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the packet
 * @why: set to the reason if the outcome is REFUSED
 *
 * Return: DONE, REFUSED, or NOT_READY if the page is not present.
 */
enum outcome resp_atomic(struct hca *hca, struct qp *qp, const struct packet *p,
			 const struct refusal **why)
{
	struct responder *resp = qp->resp;
	struct resp_job job = {
		.kind = JOB_ATOMIC, .psn = p->psn, .syndrome = AETH_ACK | AETH_NO_CREDITS,
	};
	const struct mkey_user user = conn_user(qp, resp_remote_pdn(hca, qp));
	enum mk_result res;
	uint64_t *mem;

	*why = &refuse_right;
	if (!qp->rae)
		return REFUSED;
	*why = &refuse_request;
	if (resp->msg != MSG_NONE || p->va % sizeof(*mem) ||
	    resp->rd_jobs >= qp->max_dest_rd_atomic ||
	    !resp_atomic_offered(hca, qp, p->opcode & BTH_OP_MASK))
		return REFUSED;
	mem = mkey_atomic_ptr(hca, &user, p->rkey, p->va, sizeof(*mem), &res);
	*why = resp_key_refusal(qp, res);
	if (res == MK_NOT_PRESENT && resp_stall_atomic(hca, qp, p))
		return NOT_READY;
	qcounter_add(hca, qp->counter_set, QC_RX_ATOMIC);
	if (!mem)
		return REFUSED;
	job.orig = resp_atomic_apply(hca, mem, p);
	qp->msn = psn_add(qp->msn, 1);
	job.msn = qp->msn;
	resp->replay[resp->replay_next].valid = true;
	resp->replay[resp->replay_next].psn = p->psn;
	resp->replay[resp->replay_next].orig = job.orig;
	resp->replay_next = (resp->replay_next + 1) % RESP_REPLAY;
	resp_queue_job(hca, qp, &job);
	return DONE;
}

/**
 * resp_is_atomic() - tell whether an operation is an atomic
 * @op: enum bth_op
 */
bool resp_is_atomic(uint8_t op)
{
	return op == BTH_CMP_SWAP || op == BTH_FETCH_ADD || op == BTH_MASKED_CMP_SWAP ||
	       op == BTH_MASKED_FETCH_ADD;
}

/* ---- requests that were served before -------------------------------------------------------- */

static void resp_replay_atomic(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;
	struct resp_job job = {
		.kind = JOB_ATOMIC, .psn = p->psn, .syndrome = AETH_ACK | AETH_NO_CREDITS,
		.msn = qp->msn, .again = true,
	};
	unsigned int i;

	resp_drop_jobs(resp, p->psn);
	for (i = 0; i < RESP_REPLAY; i++)
		if (resp->replay[i].valid && resp->replay[i].psn == p->psn) {
			job.orig = resp->replay[i].orig;
			resp_queue_job(hca, qp, &job);
			return;
		}
}

/**
 * resp_duplicate() - respond to a request that was served before
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the packet
 *
 * A READ is executed again; the response to an atomic is repeated. A READ or atomic that the fabric
 * duplicated may arrive after its response, when the requester has as many other READs and atomics
 * outstanding as it may. So the response to a duplicate does not count as one of these.
 */
void resp_duplicate(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;
	uint8_t op = p->opcode & BTH_OP_MASK;
	struct resp_job job = {
		.kind = JOB_READ, .psn = p->psn, .va = p->va, .rkey = p->rkey, .len = p->dma_len,
		.msn = qp->msn, .npsn = resp_read_packets(qp, p->dma_len), .again = true,
	};

	qcounter_add(hca, qp->counter_set, QC_DUPLICATE);
	if (op == BTH_READ_REQ) {
		resp_drop_jobs(resp, p->psn);
		if (qp->rre && p->dma_len <= RESP_MAX_LEN &&
		    resp_repeated_pdn(hca, qp, p, &job.pdn))
			resp_queue_job(hca, qp, &job);
	} else if (resp_is_atomic(op)) {
		resp_replay_atomic(hca, qp, p);
	} else if (p->ack_req) {
		resp_ack(hca, qp, AETH_ACK | AETH_NO_CREDITS,
			 psn_add(qp->next_rcv_psn, PSN_MASK));
	}
}
