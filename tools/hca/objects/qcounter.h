/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Q counters: what the transport counts in the counter set that a queue pair's
 * context names (struct mlx5_ifc_query_q_counter_out_bits).
 */
#ifndef BLUEBELL_QCOUNTER_H
#define BLUEBELL_QCOUNTER_H

#include <stdint.h>

#include "cmd.h"

struct hca;
struct hca_module;

enum qcounter_id {
	QC_RX_WRITE, QC_RX_READ, QC_RX_ATOMIC, QC_OUT_OF_BUFFER, QC_OUT_OF_SEQUENCE, QC_DUPLICATE,
	QC_RNR_RETRY_ERR, QC_PACKET_SEQ_ERR, QC_ACK_TIMEOUT, QC_RESP_LOCAL_LEN, QC_REQ_LOCAL_LEN,
	QC_RESP_LOCAL_PROT, QC_REQ_LOCAL_PROT, QC_REQ_REMOTE_ACCESS,
	QC_REQ_REMOTE_INVAL, QC_REQ_RETRIES, QC_REQ_FLUSH, QC_RESP_FLUSH,
	QC_REQ_CQE_ERR, QC_RESP_CQE_ERR, QC_IMPLIED_NAK, QC_REQ_RNR_RETRIES,
	QC_RX_DCT_CONNECT, QC_NR
};

void qcounter_add(struct hca *hca, uint32_t set, enum qcounter_id id);

extern const struct hca_module qcounter_module;
extern const struct cmd_desc qcounter_cmds[];

#endif
