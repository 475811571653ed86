// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: datagrams.
 */
#include "conn.h"
#include "cq.h"
#include "hca.h"
#include "ifc.h"
#include "link.h"
#include "packet.h"
#include "qp.h"
#include "resp.h"

static void resp_store_ud(struct hca *hca, struct qp *qp, const struct packet *p)
{
	struct responder *resp = qp->resp;
	uint8_t header[NETWORK_HEADER_BYTES];
	enum cqe_error error = ERR_NONE;

	if (p->head.len + NETWORK_HEADER_BYTES > resp->rwqe.len) {
		resp_refuse(hca, qp, p, &refuse_length);
		return;
	}
	if (link_of(hca)->network_header(p, header))
		error = resp_scatter(hca, qp, 0, header, sizeof(header));
	if (!error)
		error = resp_scatter(hca, qp, sizeof(header), p->payload, p->head.len);
	if (error)
		resp_refuse(hca, qp, p, &refuse_store);
	else
		resp_complete(hca, qp, p, p->head.len + sizeof(header), false);
}

/**
 * resp_receive_ud() - process a datagram
 * @hca: the HCA
 * @qp: the queue pair
 * @p: the packet
 *
 * A datagram with another Q_Key, or without a receive WQE for it, is dropped and counted. The
 * sender is not told.
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
