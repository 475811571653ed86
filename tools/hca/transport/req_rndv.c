// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: rendezvous messages. The HCA reads the data into the tagged buffer and then tells
 * the sender, by a message with the headers of the request, that the READ is done (FIN).
 */
#include <string.h>
#include <sys/queue.h>

#include "conn.h"
#include "hca.h"
#include "packet.h"
#include "qp.h"
#include "req.h"
#include "sched.h"
#include "srq.h"
#include "tm.h"
#include "tm_list.h"
#include "wqe.h"

/**
 * req_rndv_ready() - tell whether a queue pair can serve a rendezvous message now
 * @hca: the HCA
 * @qp: the queue pair, without a send queue for software
 *
 * Return: false if it may not send yet, if too many messages are being served, or if memory is
 * short: the sender has to send the message again.
 */
bool req_rndv_ready(struct hca *hca, struct qp *qp)
{
	const struct requester *req = conn_can_send(qp) ? req_get(hca, qp) : NULL;

	return req && !req->poisoned && req->nops + 2 <= REQ_MAX_OPS;
}

static void req_rndv_read(const struct tm_buffer *buf, const uint8_t *header, struct send_wqe *w)
{
	w->opcode = WQE_RDMA_READ;
	w->is_read = true;
	w->raddr = get_be64(header + TM_RNDV_VA);
	w->rkey = get_be32(header + TM_RNDV_KEY);
	w->len = get_be32(header + TM_RNDV_LEN);
	w->nseg = 1;
	w->seg[0] = tm_segment(buf);
}

/* FIN has the headers of the message with another opcode, and waits until the READ is done. */
static void req_rndv_fin(const uint8_t *header, struct send_wqe *w)
{
	w->opcode = WQE_SEND;
	w->fence = FENCE_READS;
	w->len = TM_RNDV_BYTES;
	memcpy(w->raw, header, TM_RNDV_BYTES);
	w->raw[0] = TM_HEADER_FIN;
	w->nseg = 1;
	w->seg[0] = (struct wqe_seg){ .len = TM_RNDV_BYTES, .inl = w->raw };
}

static void req_rndv_queue(struct requester *req, struct send_op *op, enum op_rndv kind,
			   uint16_t index)
{
	op->rndv = kind;
	op->tm_index = index;
	TAILQ_INSERT_TAIL(&req->ops, op, link);
	req->nops++;
	if (!req->cur)
		req->cur = op;
}

/**
 * req_rndv_start() - read the data of a rendezvous message, and acknowledge it by FIN
 * @hca: the HCA
 * @qp: the queue pair, for which req_rndv_ready() is true
 * @index: the entry with the buffer, which is held until the data is there
 * @p: the message, which has all headers
 *
 * Return: false if memory is short; then the caller still holds the entry.
 */
bool req_rndv_start(struct hca *hca, struct qp *qp, uint16_t index, const struct packet *p)
{
	struct send_op *read = req_op_alloc(hca), *fin = req_op_alloc(hca);
	struct requester *req = qp->req;

	if (!read || !fin) {
		if (read)
			req_op_free(hca, read);
		if (fin)
			req_op_free(hca, fin);
		return false;
	}
	req_rndv_read(&qp->srq->tm->entry[index].buf, p->payload, &read->w);
	req_rndv_fin(p->payload, &fin->w);
	/* A program that sleeps until a solicited message comes is woken at both ends. */
	read->w.solicited = fin->w.solicited = p->solicited;
	req_rndv_queue(req, read, RNDV_READ, index);
	req_rndv_queue(req, fin, RNDV_FIN, index);
	sched_kick(hca, &req->run);
	return true;
}
