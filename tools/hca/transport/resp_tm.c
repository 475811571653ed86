// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: messages to a queue pair with an XRQ, whose tags are matched.
 *
 * The first packet of a message decides where the message is stored: in the buffer of the entry
 * that matches, or in a WQE of the receive queue. The packet can come again, because a receive WQE
 * or a page was missing. Once a WQE was taken, the decision stands; before, the tag is matched
 * again.
 */
#include <string.h>

#include "conn.h"
#include "cq.h"
#include "hca.h"
#include "packet.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "sg.h"
#include "srq.h"
#include "tm.h"
#include "tm_list.h"

/* Whether the message has all of the header that its first byte announces. */
static bool resp_tm_header_ok(const struct bth_desc *d, const struct packet *p)
{
	if (!p->head.len)
		return false;
	switch (p->payload[0]) {
	case TM_HEADER_NO_TAG:
	case TM_HEADER_FIN:
		return true;
	case TM_HEADER_EAGER:
		return p->head.len >= TM_HEADER_BYTES;
	case TM_HEADER_RNDV:
		return d->last && p->head.len >= TM_RNDV_BYTES && p->head.len <= TM_RNDV_MAX;
	default:
		return false;
	}
}

/*
 * Whether the HCA reads the data of a rendezvous message by itself: the XRQ and the queue pair have
 * the offload, and the data fits the buffer. Otherwise the buffer gets the headers, and software
 * reads the data.
 */
static bool resp_tm_reads(const struct qp *qp, const struct tm_entry *e, const struct packet *p)
{
	return p->payload[0] == TM_HEADER_RNDV && qp->srq->rndv && qp->rndv &&
	       get_be32(p->payload + TM_RNDV_LEN) <= e->buf.len;
}

/**
 * resp_tm_begin() - decide where a message is stored
 * @hca: the HCA
 * @qp: the queue pair, which has an XRQ
 * @d: what the opcode of the message's first packet says
 * @p: the packet
 *
 * Sets resp->tm, and of a match the entry, which is held.
 *
 * Return: DONE; REFUSED for a header that is not valid; NOT_READY if the queue pair cannot serve a
 * rendezvous message now.
 */
enum outcome resp_tm_begin(struct hca *hca, struct qp *qp, const struct bth_desc *d,
			   const struct packet *p)
{
	struct responder *resp = qp->resp;
	struct tm_list *l = qp->srq->tm;
	struct tm_entry *e;

	if (!d->first || resp->tm != TM_MSG_NONE)
		return DONE;
	if (!resp_tm_header_ok(d, p))
		return REFUSED;
	resp->tm_counted = false;
	if (p->payload[0] == TM_HEADER_NO_TAG || p->payload[0] == TM_HEADER_FIN) {
		resp->tm = TM_MSG_NO_TAG;
		return DONE;
	}
	e = tm_match(l, get_be64(p->payload + TM_TAG));
	if (!e) {
		resp->tm = TM_MSG_UNEXPECTED;
		return DONE;
	}
	if (resp_tm_reads(qp, e, p) && !req_rndv_ready(hca, qp))
		return NOT_READY;
	resp->tm = p->payload[0] == TM_HEADER_EAGER ? TM_MSG_EAGER :
		   resp_tm_reads(qp, e, p) ? TM_MSG_RNDV : TM_MSG_SW_RNDV;
	resp->tm_index = tm_hold(l, e);
	resp->got = 0;
	return DONE;
}

/**
 * resp_tm_took_wqe() - a WQE of the receive queue was taken for a message, or is missing
 * @qp: the queue pair
 *
 * An unexpected message counts when its WQE was taken: without a WQE the message comes again, and
 * may match by then.
 */
void resp_tm_took_wqe(struct qp *qp)
{
	struct responder *resp = qp->resp;

	if (resp->tm == TM_MSG_NONE)
		return;
	if (!resp->have_rwqe) {
		resp->tm = TM_MSG_NONE;
	} else if (resp->tm == TM_MSG_UNEXPECTED && !resp->tm_counted) {
		resp->tm_counted = true;
		tm_unexpected(qp->srq->tm);
	}
}

static void resp_tm_add_header(struct completion *c, const struct packet *p)
{
	c->tm.has_header = true;
	memcpy(c->tm.header, p->payload, TM_HEADER_BYTES);
}

/* The message has matched, and more will be told: of a rendezvous, or of the last packet. */
static void resp_tm_consumed(struct hca *hca, const struct qp *qp, const struct packet *p)
{
	struct completion c = tm_completion(TM_CONSUMED, qp->resp->tm_index);

	resp_tm_add_header(&c, p);
	tm_complete(hca, qp, &c);
}

/* The message is complete, and its data in the buffer, or after the CQE if @in_cqe. */
static void resp_tm_done(struct hca *hca, struct qp *qp, const struct bth_desc *d,
			 const struct packet *p, bool in_cqe)
{
	struct responder *resp = qp->resp;
	struct completion c = tm_completion(TM_EXPECTED, resp->tm_index);

	resp_describe(hca, qp, p, &c);
	c.byte_cnt = resp->got;
	if (d->first) {
		c.tm.op = resp->tm == TM_MSG_EAGER ? TM_CONSUMED_MSG : TM_CONSUMED_MSG_SW_RNDV;
		resp_tm_add_header(&c, p);
	}
	if (in_cqe) {
		c.inline_data = p->payload + TM_HEADER_BYTES;
		c.inline_len = resp->got;
	}
	tm_release(qp->srq->tm, resp->tm_index);
	resp->tm = TM_MSG_NONE;
	tm_complete(hca, qp, &c);
}

/* The header of a match is in the first half of its CQE, so only the other half can have data. */
static bool resp_tm_fits_cqe(const struct qp *qp, const struct bth_desc *d, uint32_t len)
{
	return qp->cs_res == CS_RES_64B && qp->resp->tm == TM_MSG_EAGER && d->first && d->last && len &&
	       len <= 64;
}

static enum outcome resp_tm_eager(struct hca *hca, struct qp *qp, const struct bth_desc *d,
				  const struct packet *p, const struct refusal **why)
{
	struct responder *resp = qp->resp;
	const struct mkey_user user = conn_user(qp, qp->srq->pdn);
	const struct tm_buffer *buf = &qp->srq->tm->entry[resp->tm_index].buf;
	const struct wqe_seg seg = tm_segment(buf);
	uint32_t skip = d->first && resp->tm == TM_MSG_EAGER ? TM_HEADER_BYTES : 0;
	/* What a rendezvous message has after its headers is for the HCA's peer, not for software. */
	uint32_t len = resp->tm == TM_MSG_SW_RNDV ? TM_RNDV_BYTES : p->head.len - skip;
	bool in_cqe = resp_tm_fits_cqe(qp, d, len);

	*why = &refuse_length;
	if (resp->got + (uint64_t)len > buf->len)
		return REFUSED;
	*why = &refuse_store;
	if (len && !in_cqe)
		resp->store_error = sg_scatter(hca, &user, &seg, 1, resp->got, p->payload + skip,
					       len);
	else
		resp->store_error = ERR_NONE;
	/* Software finds an absent page by the WQE, which tagged buffers do not have. */
	if (resp->store_error == ERR_PAGE_FAULT)
		resp->store_error = ERR_PAGE_REFUSED;
	if (resp->store_error)
		return REFUSED;
	if (!resp_invalidate(hca, qp, d, p, why))
		return REFUSED;
	resp->got += len;
	if (d->last)
		resp_tm_done(hca, qp, d, p, in_cqe);
	else if (d->first)
		resp_tm_consumed(hca, qp, p);
	return DONE;
}

/**
 * resp_tm_send() - process a packet of a message that has matched
 * @hca: the HCA
 * @qp: the queue pair
 * @d: what the packet's opcode says
 * @p: the packet
 * @why: set to the reason if the outcome is REFUSED
 *
 * Return: DONE, REFUSED or NOT_READY.
 */
enum outcome resp_tm_send(struct hca *hca, struct qp *qp, const struct bth_desc *d,
			  const struct packet *p, const struct refusal **why)
{
	struct responder *resp = qp->resp;

	if (resp->tm != TM_MSG_RNDV)
		return resp_tm_eager(hca, qp, d, p, why);
	if (!req_rndv_ready(hca, qp) || !req_rndv_start(hca, qp, resp->tm_index, p))
		return NOT_READY;
	/* The READ holds the entry from now on. */
	resp->tm = TM_MSG_NONE;
	if (!resp_invalidate(hca, qp, d, p, why))
		return REFUSED;
	resp_tm_consumed(hca, qp, p);
	return DONE;
}

/**
 * resp_tm_end() - end the message in progress, because its queue pair fails or is reset
 * @hca: the HCA
 * @qp: the queue pair
 * @tell: if the message has matched, write a completion
 */
void resp_tm_end(struct hca *hca, struct qp *qp, bool tell)
{
	struct responder *resp = qp->resp;
	enum resp_tm tm = resp->tm;

	resp->tm = TM_MSG_NONE;
	if (tm == TM_MSG_UNEXPECTED && resp->tm_counted)
		tm_unexpected_lost(qp->srq->tm);
	if (tm < TM_MSG_EAGER)
		return;
	if (tell)
		tm_cancel(hca, qp, resp->tm_index);
	else
		tm_release(qp->srq->tm, resp->tm_index);
}
