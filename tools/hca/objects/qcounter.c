// SPDX-License-Identifier: GPL-2.0
/*
 * Q counters: counter sets that queue pairs name, and ALLOC, DEALLOC and QUERY_Q_COUNTER.
 */
#include <string.h>

#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "qcounter.h"

struct qcounter {
	struct obj obj;
	uint32_t val[QC_NR];
};

static const uint16_t qc_byte[QC_NR] = {
#define QC(id, fld) [id] = IFC_BYTE(query_q_counter_out, fld)
	QC(QC_RX_WRITE, rx_write_requests), QC(QC_RX_READ, rx_read_requests),
	QC(QC_RX_ATOMIC, rx_atomic_requests), QC(QC_OUT_OF_BUFFER, out_of_buffer),
	QC(QC_OUT_OF_SEQUENCE, out_of_sequence), QC(QC_DUPLICATE, duplicate_request),
	QC(QC_RNR_RETRY_ERR, rnr_nak_retry_err), QC(QC_PACKET_SEQ_ERR, packet_seq_err),
	QC(QC_ACK_TIMEOUT, local_ack_timeout_err),
	QC(QC_RESP_LOCAL_LEN, resp_local_length_error),
	QC(QC_REQ_LOCAL_LEN, req_local_length_error),
	QC(QC_RESP_LOCAL_PROT, resp_local_protection),
	QC(QC_REQ_LOCAL_PROT, req_local_protection),
	QC(QC_REQ_REMOTE_ACCESS, req_remote_access_errors),
	QC(QC_REQ_REMOTE_INVAL, req_remote_invalid_request),
	QC(QC_REQ_RETRIES, req_transport_retries_exceeded),
	QC(QC_REQ_FLUSH, req_cqe_flush_error), QC(QC_RESP_FLUSH, resp_cqe_flush_error),
	QC(QC_REQ_CQE_ERR, req_cqe_error), QC(QC_RESP_CQE_ERR, resp_cqe_error),
	QC(QC_IMPLIED_NAK, implied_nak_seq_err),
	QC(QC_REQ_RNR_RETRIES, req_rnr_retries_exceeded),
	QC(QC_RX_DCT_CONNECT, rx_dct_connect),
#undef QC
};

/**
 * qcounter_add() - count an event
 * @hca: the HCA
 * @set: counter set that a queue pair names; 0 and unknown sets count nothing
 * @id: which counter
 */
void qcounter_add(struct hca *hca, uint32_t set, enum qcounter_id id)
{
	struct qcounter *qc = (struct qcounter *)obj_find(hca, OBJ_QCOUNTER, set);

	if (qc)
		qc->val[id]++;
}

static uint8_t alloc_q_counter(struct hca *hca, struct cmd *cmd)
{
	struct obj *o = obj_new(hca, OBJ_QCOUNTER, cmd->uid, sizeof(struct qcounter));

	if (!o)
		return cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE,
				"all Q counter numbers are in use");
	IFC_SET(alloc_q_counter_out, cmd->out, counter_set_id, o->num);
	return ST_OK;
}

static uint8_t dealloc_q_counter(struct hca *hca, struct cmd *cmd)
{
	struct obj *o;
	uint8_t st = check_destroy(hca, cmd, OBJ_QCOUNTER,
				   IFC_GET(dealloc_q_counter_in, cmd->in, counter_set_id), &o);

	if (!st)
		obj_free(hca, o);
	return st;
}

static uint8_t query_q_counter(struct hca *hca, struct cmd *cmd)
{
	struct qcounter *qc;
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_QCOUNTER,
			       IFC_GET(query_q_counter_in, cmd->in, counter_set_id), &o);
	unsigned int i;

	if (st)
		return st;
	if (IFC_GET(query_q_counter_in, cmd->in, other_vport) ||
	    IFC_GET(query_q_counter_in, cmd->in, aggregate))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_VPORT_OTHER,
				"other vports and aggregation are not supported");
	qc = (struct qcounter *)o;
	for (i = 0; i < QC_NR; i++)
		if (qc_byte[i])
			put_be32(cmd->out + qc_byte[i], qc->val[i]);
	if (IFC_GET(query_q_counter_in, cmd->in, clear))
		memset(qc->val, 0, sizeof(qc->val));
	return ST_OK;
}

const struct cmd_desc qcounter_cmds[] = {
	CMD(ALLOC_Q_COUNTER, alloc_q_counter, alloc_q_counter, .flags = CMD_SHARE),
	CMD(DEALLOC_Q_COUNTER, dealloc_q_counter, dealloc_q_counter),
	CMD(QUERY_Q_COUNTER, query_q_counter, query_q_counter),
	{}
};

static void qcounter_reset(struct hca *hca)
{
	obj_free_all(hca, OBJ_QCOUNTER);
}

const struct hca_module qcounter_module = { .name = "qcounter", .reset = qcounter_reset };
