// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: SEND and RDMA WRITE.
 */
#include <errno.h>

#include "conn.h"
#include "cq.h"
#include "fault.h"
#include "hca.h"
#include "mkey.h"
#include "packet.h"
#include "qcounter.h"
#include "qp.h"
#include "resp.h"
#include "srq.h"
#include "tm.h"

static const struct bth_desc bth_table[BTH_OP_MASK + 1] = {
	[BTH_SEND_FIRST] = { MSG_SEND, .first = true },
	[BTH_SEND_MIDDLE] = { .msg = MSG_SEND },
	[BTH_SEND_LAST] = { MSG_SEND, .last = true },
	[BTH_SEND_LAST_IMM] = { MSG_SEND, .last = true, .imm = true },
	[BTH_SEND_LAST_INV] = { MSG_SEND, .last = true, .inval = true },
	[BTH_SEND_ONLY] = { MSG_SEND, .first = true, .last = true },
	[BTH_SEND_ONLY_IMM] = { MSG_SEND, .first = true, .last = true, .imm = true },
	[BTH_SEND_ONLY_INV] = { MSG_SEND, .first = true, .last = true, .inval = true },
	[BTH_WRITE_FIRST] = { MSG_WRITE, .first = true },
	[BTH_WRITE_MIDDLE] = { .msg = MSG_WRITE },
	[BTH_WRITE_LAST] = { MSG_WRITE, .last = true },
	[BTH_WRITE_LAST_IMM] = { MSG_WRITE, .last = true, .imm = true },
	[BTH_WRITE_ONLY] = { MSG_WRITE, .first = true, .last = true },
	[BTH_WRITE_ONLY_IMM] = { MSG_WRITE, .first = true, .last = true, .imm = true },
};

/**
 * resp_bth_desc() - look up an opcode
 * @opcode: BTH opcode
 *
 * Return: what it says about a SEND or an RDMA WRITE; its msg is MSG_NONE for other opcodes.
 */
const struct bth_desc *resp_bth_desc(uint8_t opcode)
{
	return &bth_table[opcode & BTH_OP_MASK];
}

static bool resp_length_ok(const struct qp *qp, const struct bth_desc *d, const struct packet *p)
{
	if (!d->last)
		return p->head.len == qp->mtu;
	return p->head.len <= qp->mtu && (d->first || p->head.len);
}

/* Take a receive WQE for the message. NOT_READY if none is posted. */
static enum outcome resp_need_wqe(struct hca *hca, struct qp *qp, const struct refusal **why)
{
	int err = resp_take_wqe(hca, qp);

	if (!err)
		return DONE;
	if (err == -ENOENT)
		qcounter_add(hca, qp->counter_set, QC_OUT_OF_BUFFER);
	*why = resp_wqe_refusal(err);
	return *why ? REFUSED : NOT_READY;
}

/*
 * A message of one packet that is short enough goes into the CQE alone, if the queue pair is of RC,
 * or a DC target, and its cs_res asks for that.
 */
static bool resp_fits_cqe(const struct qp *qp, const struct bth_desc *d, const struct packet *p)
{
	uint32_t limit = qp->cs_res == CS_RES_64B ? 64 : qp->cs_res == CS_RES_32B ? 32 : 0;

	return d->first && d->last && p->head.len && p->head.len <= limit &&
	       (qp->type == QPT_RC || qp->type == QPT_DCT);
}

/* Wait for a page of the receive WQE in use. */
static bool resp_stall_recv(struct hca *hca, struct qp *qp, const struct packet *p)
{
	const struct responder *resp = qp->resp;
	const struct srq *srq = resp_srq(hca, qp);
	struct page_fault f = {
		.type = srq ? FAULT_SRQ : FAULT_RECV, .op = srq ? ODP_SRQ_RECEIVE : ODP_RECEIVE,
		.wq = srq ? srq->obj.num : qp->obj.num, .wqe_index = resp->rwqe_idx,
		.done = resp->got, .packet_len = p->head.len,
	};

	return resp_stall(hca, qp, p->psn, &f);
}

static enum outcome resp_send(struct hca *hca, struct qp *qp, const struct bth_desc *d,
			      const struct packet *p, const struct refusal **why)
{
	struct responder *resp = qp->resp;
	bool in_cqe = resp_fits_cqe(qp, d, p);
	enum outcome o = resp_need_wqe(hca, qp, why);
	enum cqe_error error = ERR_NONE;

	resp_tm_took_wqe(qp);
	if (o != DONE)
		return o;
	if (d->first)
		resp->got = 0;
	if (p->head.len > resp->rwqe.len - resp->got) {
		*why = &refuse_length;
		return REFUSED;
	}
	if (!in_cqe)
		error = resp_scatter(hca, qp, resp->got, p->payload, p->head.len);
	if (error == ERR_PAGE_FAULT && resp_stall_recv(hca, qp, p))
		return NOT_READY;
	if (error) {
		*why = &refuse_store;
		return REFUSED;
	}
	resp->got += p->head.len;
	if (!resp_invalidate(hca, qp, d, p, why))
		return REFUSED;
	if (d->last)
		resp_complete(hca, qp, p, resp->got, in_cqe);
	return DONE;
}

/* A message to a queue pair with an XRQ. */
static enum outcome resp_send_tagged(struct hca *hca, struct qp *qp, const struct bth_desc *d,
				     const struct packet *p, const struct refusal **why)
{
	enum outcome o = resp_tm_begin(hca, qp, d, p);

	if (o != DONE)
		return o;
	return qp->resp->tm >= TM_MSG_EAGER ? resp_tm_send(hca, qp, d, p, why) :
					      resp_send(hca, qp, d, p, why);
}

static enum outcome resp_begin_write(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;

	if (p->dma_len > RESP_MAX_LEN)
		return REFUSED;
	qcounter_add(hca, qp->counter_set, QC_RX_WRITE);
	resp->va = p->va;
	resp->rkey = p->rkey;
	resp->left = p->dma_len;
	resp->write_len = p->dma_len;
	return DONE;
}

static bool resp_stall_write(struct hca *hca, struct qp *qp, const struct packet *p)
{
	const struct responder *resp = qp->resp;
	uint32_t done = resp->write_len - resp->left;
	struct page_fault f = {
		.type = FAULT_REMOTE_WRITE, .op = ODP_WRITE, .packet_len = p->head.len,
		.rkey = resp->rkey, .va = resp->va - done, .op_len = resp->write_len, .done = done,
	};

	return resp_stall(hca, qp, p->psn, &f);
}

/*
 * Check the key for all bytes of a packet before any of them is stored and before a receive WQE is
 * taken: the entries of an indirect key may allow only the first of the bytes. The packets before
 * stay stored if the key does not allow this one, as on cards. A packet without bytes needs no key.
 */
static enum mk_result resp_check_write(struct hca *hca, const struct qp *qp,
				       const struct packet *p)
{
	const struct mkey_user user = conn_user(qp, resp_remote_pdn(hca, qp));
	const struct responder *resp = qp->resp;

	if (!p->head.len)
		return MK_OK;
	return mkey_check(hca, &user, resp->rkey, resp->va, p->head.len, MK_REMOTE_WRITE);
}

static enum mk_result resp_store_write(struct hca *hca, const struct qp *qp,
				       const struct packet *p)
{
	const struct mkey_user user = conn_user(qp, resp_remote_pdn(hca, qp));
	const struct responder *resp = qp->resp;

	if (!p->head.len)
		return MK_OK;
	return mkey_write(hca, &user, resp->rkey, resp->va, p->payload, p->head.len, MK_REMOTE_WRITE);
}

static enum outcome resp_write(struct hca *hca, struct qp *qp, const struct bth_desc *d,
			       const struct packet *p, const struct refusal **why)
{
	struct responder *resp = qp->resp;
	enum mk_result res;
	enum outcome o;

	*why = &refuse_right;
	if (!qp->rwe)
		return REFUSED;
	*why = &refuse_request;
	if (d->first && resp_begin_write(hca, qp, p) != DONE)
		return REFUSED;
	if (p->head.len > resp->left || (d->last && p->head.len != resp->left))
		return REFUSED;
	res = resp_check_write(hca, qp, p);
	*why = resp_key_refusal(qp, res);
	if (res != MK_OK)
		return REFUSED;
	if (d->imm) {
		o = resp_need_wqe(hca, qp, why);
		if (o != DONE)
			return o;
	}
	res = resp_store_write(hca, qp, p);
	*why = resp_key_refusal(qp, res);
	if (res == MK_NOT_PRESENT && resp_stall_write(hca, qp, p))
		return NOT_READY;
	if (res != MK_OK)
		return REFUSED;
	resp->va += p->head.len;
	resp->left -= p->head.len;
	if (d->imm)
		resp_complete(hca, qp, p, resp->write_len, false);
	return DONE;
}

/**
 * resp_message() - process a packet of a SEND or RDMA WRITE that arrived in sequence
 * @hca: the HCA
 * @qp: the queue pair
 * @d: what its opcode says
 * @p: the packet
 * @why: set to the reason if the outcome is REFUSED
 *
 * Return: DONE, REFUSED, or NOT_READY if there is no receive WQE, or a page is not present.
 */
enum outcome resp_message(struct hca *hca, struct qp *qp, const struct bth_desc *d,
			  const struct packet *p, const struct refusal **why)
{
	struct responder *resp = qp->resp;
	enum outcome o;

	*why = &refuse_request;
	if (d->first != (resp->msg == MSG_NONE) || (!d->first && d->msg != resp->msg) ||
	    !resp_length_ok(qp, d, p))
		return REFUSED;
	if (d->msg == MSG_SEND && tm_srq(qp))
		o = resp_send_tagged(hca, qp, d, p, why);
	else if (d->msg == MSG_SEND)
		o = resp_send(hca, qp, d, p, why);
	else
		o = resp_write(hca, qp, d, p, why);
	if (o != DONE)
		return o;
	resp->msg = d->last ? MSG_NONE : d->msg;
	if (d->last)
		qp->msn = psn_add(qp->msn, 1);
	return DONE;
}
