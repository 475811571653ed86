// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: send doorbells.
 */
#include <string.h>

#include "count.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "qp.h"
#include "queue_mem.h"
#include "req.h"
#include "sched.h"
#include "wqe.h"

static struct qp *req_doorbell_qp(struct hca *hca, uint32_t uar, uint32_t qpn)
{
	struct qp *qp = qp_find(hca, qpn);
	enum drop_reason why;

	if (!qp || !qp->has_sq)
		why = DROP_NO_QP;
	else if (qp->uar != uar)
		why = DROP_WRONG_UAR;
	else if (qp->state == QPS_RST || qp->state == QPS_INIT || qp->state == QPS_RTR)
		why = DROP_BAD_STATE;
	else
		return qp;
	doorbell_drop(hca, why, uar, qpn);
	return NULL;
}

/*
 * Keep the WQE that came whole with the doorbell if it is the next WQE to take. Other WQEs are read
 * from memory.
 */
static void req_keep_blueflame(struct requester *req, const uint8_t *bf, size_t len)
{
	struct qp *qp = req->run.qp;
	uint16_t idx = get_be32(bf) >> 8;

	req->bf_len = 0;
	if (len > BF_MAX || len != (get_be32(bf + 4) & 0x3f) * WQE_DS || idx != qp->sq_hw)
		return;
	memcpy(req->bf, bf, len);
	req->bf_len = len;
	req->bf_idx = idx;
}

/* Whether counter @idx is in [from, to), which is shorter than half the range of the counters. */
static bool req_in_range(uint16_t idx, uint16_t from, uint16_t to)
{
	uint16_t len = to - from;

	return len < 0x8000 && (uint16_t)(idx - from) < len;
}

/*
 * A doorbell can arrive after its WQE has been executed: register writes are posted, and the record
 * that the HCA read at an earlier doorbell may have announced this WQE, too. Meanwhile software may
 * have written another WQE to the same slot, so the doorbell cannot be compared with its WQE. A WQE
 * has at most one doorbell, and doorbells arrive in order, so a doorbell can be late only for a WQE
 * behind the last one that a doorbell has named.
 */
static bool req_doorbell_is_late(const struct requester *req, uint16_t idx)
{
	return req_in_range(idx, req->rung, req->run.qp->sq_hw);
}

/**
 * qp_send_doorbell() - a send doorbell register or BlueFlame buffer was written
 * @hca: the HCA
 * @uar: number of the UAR that it was written to
 * @bf: what was written: the first 8 bytes of a WQE's control segment, or a whole WQE
 * @bf_len: 8, or the bytes of the BlueFlame buffer
 *
 * The register says that there is work; the doorbell record says how much. WQEs up to the record's
 * counter are executed from the event loop; in ERR and SQER they are flushed. If the WQE of a
 * doorbell has been executed before, the HCA only reads the record. A doorbell is dropped, counted
 * and traced if its queue pair does not exist, belongs to another UAR, or is in RST, INIT or RTR,
 * or if it is not the start of a WQE that the record announces. A record that cannot be read, or
 * that announces more than the queue holds, moves the queue pair to ERR.
 */
void qp_send_doorbell(struct hca *hca, uint32_t uar, const uint8_t *bf, size_t bf_len)
{
	struct requester *req;
	enum drop_reason why;
	uint16_t val, idx;
	struct qp *qp;

	if (bf_len < 8) {
		doorbell_drop(hca, DROP_BAD_SIZE, uar, 0);
		return;
	}
	qp = req_doorbell_qp(hca, uar, get_be32(bf + 4) >> 8);
	if (!qp)
		return;
	if (bf_len > 8)
		hca->count.db_bf++;
	else
		hca->count.db_send++;
	req = req_get(hca, qp);
	if (!req)
		return;
	if (!qp_dbr_read(hca, qp, DBR_SND, &val) || (uint16_t)(val - qp->sq_hw) > qp->sq_cnt) {
		qp_to_error(hca, qp, ERR_QUEUE_GONE, EV_WQ_CATAS_ERROR);
		return;
	}
	idx = get_be32(bf) >> 8;
	why = req_doorbell_is_late(req, idx) ? DROP_REASONS :
	      qmem_check_doorbell(hca, &qp->mem, qp->sq_off, qp->sq_cnt, val, bf);
	if (why != DROP_REASONS) {
		doorbell_drop(hca, why, uar, qp->obj.num);
		return;
	}
	if (req_in_range(idx, req->rung, val))
		req->rung = idx + 1;
	req->posted = val;
	if (bf_len > 8 && val != qp->sq_hw)
		req_keep_blueflame(req, bf, bf_len);
	if (qp->state == QPS_ERR || qp->state == QPS_SQER)
		req_flush(hca, qp);
	else
		sched_kick(hca, &req->run);
}
