// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: receive WQEs and their completions.
 */
#include <errno.h>

#include "conn.h"
#include "cq.h"
#include "hca.h"
#include "link.h"
#include "packet.h"
#include "qcounter.h"
#include "qp.h"
#include "queue_mem.h"
#include "resp.h"
#include "sg.h"
#include "srq.h"
#include "tm.h"
#include "wqe.h"

static struct srq *resp_xrc_srq(struct hca *hca, const struct qp *qp, uint32_t srqn)
{
	struct srq *srq = srq_find(hca, srqn);

	return srq && srq->kind == SRQ_XRC && srq->xrcdn == qp->xrcdn ? srq : NULL;
}

/**
 * resp_srq() - find the SRQ that receive WQEs come from
 * @hca: the HCA
 * @qp: the queue pair
 *
 * XRC packets name the SRQ.
 *
 * Return: the SRQ; NULL if the queue pair has a receive queue of its own, or if no SRQ of its XRC
 * domain has the number that the packet names.
 */
struct srq *resp_srq(struct hca *hca, const struct qp *qp)
{
	return qp->type == QPT_XRC ? resp_xrc_srq(hca, qp, qp->resp->xrc_srqn) : qp->srq;
}

static uint32_t resp_recv_pdn(struct hca *hca, const struct qp *qp)
{
	struct srq *srq = resp_srq(hca, qp);

	return srq ? srq->pdn : qp->pdn;
}

/**
 * resp_remote_pdn() - tell which protection domain the keys of remote accesses must have
 * @hca: the HCA
 * @qp: the queue pair
 *
 * An XRC target uses the domain of the SRQ.
 *
 * Return: its number.
 */
uint32_t resp_remote_pdn(struct hca *hca, const struct qp *qp)
{
	return qp->type == QPT_XRC ? resp_recv_pdn(hca, qp) : qp->pdn;
}

/**
 * resp_repeated_pdn() - tell which protection domain the key of a READ that came again must have
 * @hca: the HCA
 * @qp: the queue pair, whose last request may have named another SRQ
 * @p: the READ request
 * @pdn: set to the number of the domain
 *
 * Return: false if the request names an SRQ that does not exist, or not any more.
 */
bool resp_repeated_pdn(struct hca *hca, const struct qp *qp, const struct packet *p, uint32_t *pdn)
{
	const struct srq *srq;

	*pdn = qp->pdn;
	if (qp->type != QPT_XRC)
		return true;
	srq = resp_xrc_srq(hca, qp, p->xrc_srqn);
	if (srq)
		*pdn = srq->pdn;
	return srq;
}

/**
 * resp_next_own() - tell which WQE of its own queue a responder consumes next
 * @qp: the queue pair
 * @posted: counter of the WQEs that are posted, at least one of which is left
 *
 * If data may arrive out of order, the second of each two WQEs is consumed before the first, as if
 * the messages had overtaken each other.
 *
 * Return: its index.
 */
uint16_t resp_next_own(const struct qp *qp, uint16_t posted)
{
	bool skip = qp->out_of_order && !qp->resp->ahead && (uint16_t)(posted - qp->rq_hw) > 1;

	return qp->rq_hw + skip;
}

/**
 * resp_consume_own() - consume the WQE that resp_next_own() has found
 * @qp: the queue pair
 * @index: of the WQE
 */
void resp_consume_own(struct qp *qp, uint16_t index)
{
	struct responder *resp = qp->resp;

	if (index != qp->rq_hw) {
		resp->ahead = true;
		return;
	}
	qp->rq_hw += resp->ahead ? 2 : 1;
	resp->ahead = false;
}

static int resp_pop_own(struct hca *hca, struct qp *qp, uint16_t *index, uint8_t *buf)
{
	size_t stride = (size_t)1 << qp->rq_shift;
	uint16_t val, left;

	if (!qp->rq_cnt || stride > RESP_RWQE_MAX)
		return -ENOENT;
	if (!qp_dbr_read(hca, qp, DBR_RCV, &val))
		return -EFAULT;
	left = val - qp->rq_hw;
	if (!left)
		return -ENOENT;
	if (left > qp->rq_cnt)
		return -EFAULT;
	*index = resp_next_own(qp, val);
	if (qmem_read(hca, &qp->mem, qp->rq_off + (*index & (qp->rq_cnt - 1)) * stride, buf,
		      stride))
		return -EFAULT;
	resp_consume_own(qp, *index);
	return stride;
}

/**
 * resp_cqe_owner() - tell which user index or SRQ number a CQE has
 * @qp: the queue pair
 * @srq: where the WQE came from, or NULL
 *
 * Return: the user index; in CQE version 0 the number of the SRQ.
 */
uint32_t resp_cqe_owner(const struct qp *qp, const struct srq *srq)
{
	/* A message in the CQ of the SRQ belongs to the owner of the SRQ. */
	if (srq && srq_has_cq(srq))
		return srq->cqe_version1 ? srq->user_index : srq->obj.num;
	if (!qp->cqe_version1)
		return srq ? srq->obj.num : 0;
	return qp->user_index;
}

/**
 * resp_take_wqe() - take a receive WQE for a message
 * @hca: the HCA
 * @qp: the queue pair
 *
 * Return: 0; -ENOENT if none is posted; -EFAULT if the queue cannot be read, or if its doorbell
 * record counts more WQEs than it has; -EINVAL if the WQE is not valid.
 */
int resp_take_wqe(struct hca *hca, struct qp *qp)
{
	struct responder *resp = qp->resp;
	uint8_t buf[RESP_RWQE_MAX];
	struct srq *srq = resp_srq(hca, qp);
	size_t skip;
	int n;

	if (resp->have_rwqe)
		return 0;
	resp->rwqe_cqn = srq && srq_has_cq(srq) ? srq->cqn : qp->cqn_rcv;
	resp->rwqe_owner = resp_cqe_owner(qp, srq);
	if (srq)
		n = srq_pop(hca, srq, &resp->rwqe_idx, buf, sizeof(buf));
	else
		n = resp_pop_own(hca, qp, &resp->rwqe_idx, buf);
	if (n < 0)
		return n;
	hca->count.wqes_rq++;
	resp->have_rwqe = true;
	resp->got = 0;
	skip = srq ? WQE_DS : 0;
	return wqe_parse_recv(&resp->rwqe, buf, n, skip);
}

/**
 * resp_scatter() - store data in the receive WQE in use
 * @hca: the HCA
 * @qp: the queue pair
 * @off: first byte to write, counted over the whole receive WQE
 * @buf: the data
 * @len: bytes
 *
 * Return: ERR_NONE, ERR_PAGE_FAULT, or another error as sg_scatter().
 */
enum cqe_error resp_scatter(struct hca *hca, const struct qp *qp, uint64_t off,
			    const void *buf, size_t len)
{
	const struct mkey_user user = conn_user(qp, resp_recv_pdn(hca, qp));
	struct responder *resp = qp->resp;
	const struct recv_wqe *w = &resp->rwqe;
	enum cqe_error error;

	error = sg_scatter(hca, &user, w->seg, w->nseg, off, buf, len);
	/* If software does not bring the page, the request is refused. */
	resp->store_error = error == ERR_PAGE_FAULT ? ERR_PAGE_REFUSED : error;
	return error;
}

/* ---- completions ----------------------------------------------------------------------------- */

/*
 * The CQE of a SEND without immediate has the index of the queue pair's P_Key, which identifies the
 * partition; for QP1, which is in all partitions of the port, the P_Key of the packet.
 */
static uint16_t resp_pkey(const struct qp *qp, const struct packet *p)
{
	return qp->type == QPT_QP1 ? p->pkey : qp->path.pkey_index;
}

static uint8_t resp_cqe_opcode(uint8_t bth)
{
	switch (bth & BTH_OP_MASK) {
	case BTH_SEND_LAST_IMM:
	case BTH_SEND_ONLY_IMM:
		return CQE_RESP_SEND_IMM;
	case BTH_SEND_LAST_INV:
	case BTH_SEND_ONLY_INV:
		return CQE_RESP_SEND_INV;
	case BTH_WRITE_LAST_IMM:
	case BTH_WRITE_ONLY_IMM:
		return CQE_RESP_WR_IMM;
	default:
		return CQE_RESP_SEND;
	}
}

/**
 * resp_describe() - fill what the last packet of a message brings to the message's completion
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the packet
 * @c: the completion
 */
void resp_describe(struct hca *hca, const struct qp *qp, const struct packet *p,
		   struct completion *c)
{
	c->opcode = resp_cqe_opcode(p->opcode);
	c->imm_inval_pkey = c->opcode == CQE_RESP_SEND ? resp_pkey(qp, p) : p->imm;
	c->src_qp = (p->opcode & BTH_SERVICE_MASK) == BTH_UD ? p->sqpn : qp->remote_qpn;
	c->solicited = p->solicited;
	link_of(hca)->to_cqe(hca, p, c);
}

static void resp_write_cqe(struct hca *hca, struct qp *qp, struct completion *c)
{
	struct responder *resp = qp->resp;

	c->qpn = qp->obj.num;
	c->wqe_counter = resp->rwqe_idx;
	c->srqn_uidx = resp->rwqe_owner;
	c->real_time = qp->real_time;
	resp->have_rwqe = false;
	resp->got = 0;
	cq_complete(hca, resp->rwqe_cqn, c);
}

/**
 * resp_complete_error() - complete the receive WQE in use with an error
 * @hca: the HCA
 * @qp: the queue pair
 * @error: what the CQE says
 */
void resp_complete_error(struct hca *hca, struct qp *qp, enum cqe_error error)
{
	struct completion c = { .opcode = CQE_RESP_ERR, .error = error, .solicited = true };

	qcounter_add(hca, qp->counter_set, QC_RESP_CQE_ERR);
	if (error == ERR_FLUSHED)
		qcounter_add(hca, qp->counter_set, QC_RESP_FLUSH);
	else
		hca_trace(hca, "resp_error", "\"qpn\":%u,\"wqe\":%u,\"syndrome\":%u,\"vendor\":%u",
			  qp->obj.num, qp->resp->rwqe_idx, cqe_error_syndrome(error),
			  cqe_error_vendor(error));
	resp_write_cqe(hca, qp, &c);
}

/* Tell that no tag was matched, if the queue pair has an XRQ. The message is complete. */
static void resp_label(struct hca *hca, const struct qp *qp, struct completion *c)
{
	struct responder *resp = qp->resp;

	if (resp->tm == TM_MSG_NONE)
		return;
	c->is_tm = true;
	c->tm.op = resp->tm == TM_MSG_NO_TAG ? TM_NO_TAG : TM_UNEXPECTED;
	tm_trace(hca, qp, &c->tm);
	resp->tm = TM_MSG_NONE;
}

/**
 * resp_complete() - complete the receive WQE in use
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the packet
 * @bytes: of the message
 * @in_cqe: the data goes into the CQE
 */
void resp_complete(struct hca *hca, struct qp *qp, const struct packet *p, uint32_t bytes,
		   bool in_cqe)
{
	struct completion c = { .byte_cnt = bytes };

	resp_describe(hca, qp, p, &c);
	resp_label(hca, qp, &c);
	if (in_cqe) {
		c.inline_data = p->payload;
		c.inline_len = p->head.len;
	}
	resp_write_cqe(hca, qp, &c);
}
