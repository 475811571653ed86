// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: datagrams.
 */
#include <string.h>

#include "conn.h"
#include "cq.h"
#include "hca.h"
#include "ifc.h"
#include "packet.h"
#include "qp.h"
#include "resp.h"

#define GRH_BYTES	40
#define GRH_NEXT_IBA	0x1b
#define QP1_QKEY	0x80010000u

/* Build struct ib_grh as it would have arrived over the wire. */
static void resp_make_grh(uint8_t grh[GRH_BYTES], const struct packet *p)
{
	const unsigned int headers = 12 + 8 + 4;	/* BTH, DETH, ICRC */
	unsigned int imm = (p->opcode & BTH_OP_MASK) == BTH_SEND_ONLY_IMM ? 4 : 0;

	memset(grh, 0, GRH_BYTES);
	put_be32(grh, 6u << 28 | (uint32_t)p->tclass << 20 | p->flow_label);
	put_be16(grh + 4, headers + imm + (p->len + 3) / 4 * 4);
	grh[6] = GRH_NEXT_IBA;
	grh[7] = p->hop_limit;
	memcpy(grh + 8, p->sgid, 16);
	memcpy(grh + 24, p->dgid, 16);
}

static void resp_store_ud(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;
	uint8_t grh[GRH_BYTES];
	enum cqe_syndrome synd = SYND_OK;

	if (p->len + GRH_BYTES > resp->rwqe.len) {
		resp_refuse(hca, qp, p, &refuse_length);
		return;
	}
	if (p->grh) {
		resp_make_grh(grh, p);
		synd = resp_scatter(hca, qp, 0, grh, sizeof(grh));
	}
	if (!synd)
		synd = resp_scatter(hca, qp, GRH_BYTES, p->payload, p->len);
	if (synd)
		resp_refuse(hca, qp, p, &refuse_prot);
	else
		resp_complete(hca, qp, p, p->len + GRH_BYTES, false);
}

/**
 * resp_receive_ud() - process a datagram
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the packet
 *
 * Datagrams that do not match are dropped silently: the sender expects no answer.
 */
void resp_receive_ud(struct hca *hca, struct qp *qp, const struct packet *p)
{
	uint32_t qkey = qp->type == QPT_QP1 ? QP1_QKEY : qp->qkey;
	int err;

	if (qp->type != QPT_QP0 && p->qkey != qkey) {
		hca->count.packets_dropped++;
		hca->count.bad_qkeys++;
		hca_trace(hca, "packet_drop", "\"qpn\":%u,\"why\":\"Q_Key\",\"qkey\":%u",
			  qp->obj.num, p->qkey);
		return;
	}
	err = resp_take_wqe(hca, qp);
	if (!err)
		resp_store_ud(hca, qp, p);
	else if (resp_wqe_refusal(err))
		resp_refuse(hca, qp, p, resp_wqe_refusal(err));
	else
		hca->count.packets_dropped++;
}
