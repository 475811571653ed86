// SPDX-License-Identifier: GPL-2.0
/*
 * The small objects: protection domains, transport domains, XRC domains,
 * Q counters, and membership in multicast groups.
 */
#include <errno.h>
#include <stdlib.h>
#include "check.h"
#include "fabric.h"
#include "qcounter.h"
#include "qp.h"

#define HCA_FILE_ID FILE_MISC

static uint8_t alloc_simple(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t *num)
{
	struct obj *o = obj_new(hca, kind, cmd->uid, sizeof(*o));

	if (!o)
		return cmd_fail(cmd, ST_LIM, "no free %s", obj_kind_name[kind]);
	*num = o->num;
	return ST_OK;
}

static uint8_t free_simple(struct hca *hca, struct cmd *cmd, enum obj_kind kind, uint32_t num)
{
	struct obj *o;
	uint8_t st = check_destroy(hca, cmd, kind, num, &o);

	if (!st)
		obj_free(hca, o);
	return st;
}

static uint8_t alloc_pd(struct hca *hca, struct cmd *cmd)
{
	uint32_t num = 0;
	uint8_t st = alloc_simple(hca, cmd, OBJ_PD, &num);

	IFC_SET(alloc_pd_out, cmd->out, pd, num);
	return st;
}

static uint8_t dealloc_pd(struct hca *hca, struct cmd *cmd)
{
	return free_simple(hca, cmd, OBJ_PD, IFC_GET(dealloc_pd_in, cmd->in, pd));
}

static uint8_t alloc_td(struct hca *hca, struct cmd *cmd)
{
	uint32_t num = 0;
	uint8_t st = alloc_simple(hca, cmd, OBJ_TD, &num);

	IFC_SET(alloc_transport_domain_out, cmd->out, transport_domain, num);
	return st;
}

static uint8_t dealloc_td(struct hca *hca, struct cmd *cmd)
{
	return free_simple(hca, cmd, OBJ_TD,
			   IFC_GET(dealloc_transport_domain_in, cmd->in, transport_domain));
}

static uint8_t alloc_xrcd(struct hca *hca, struct cmd *cmd)
{
	uint32_t num = 0;
	uint8_t st = alloc_simple(hca, cmd, OBJ_XRCD, &num);

	IFC_SET(alloc_xrcd_out, cmd->out, xrcd, num);
	return st;
}

static uint8_t dealloc_xrcd(struct hca *hca, struct cmd *cmd)
{
	return free_simple(hca, cmd, OBJ_XRCD, IFC_GET(dealloc_xrcd_in, cmd->in, xrcd));
}

/* ---- Q counters -------------------------------------------------------------- */

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
	QC(QC_RESP_REMOTE_ACCESS, resp_remote_access_errors),
	QC(QC_REQ_REMOTE_INVAL, req_remote_invalid_request),
	QC(QC_REQ_RETRIES, req_transport_retries_exceeded),
	QC(QC_REQ_FLUSH, req_cqe_flush_error), QC(QC_RESP_FLUSH, resp_cqe_flush_error),
#undef QC
};

/**
 * qcounter_add() - count
 * @hca: the function
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
		return cmd_fail(cmd, ST_LIM, "no free Q counter");
	IFC_SET(alloc_q_counter_out, cmd->out, counter_set_id, o->num);
	return ST_OK;
}

static uint8_t dealloc_q_counter(struct hca *hca, struct cmd *cmd)
{
	return free_simple(hca, cmd, OBJ_QCOUNTER,
			   IFC_GET(dealloc_q_counter_in, cmd->in, counter_set_id));
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
		return cmd_fail(cmd, ST_BAD_PARAM, "other vports and aggregation are not offered");
	qc = (struct qcounter *)o;
	for (i = 0; i < QC_NR; i++)
		if (qc_byte[i])
			put_be32(cmd->out + qc_byte[i], qc->val[i]);
	if (IFC_GET(query_q_counter_in, cmd->in, clear))
		memset(qc->val, 0, sizeof(qc->val));
	return ST_OK;
}

/* ---- multicast ------------------------------------------------------------------ */

static uint8_t mcg(struct hca *hca, struct cmd *cmd, bool attach)
{
	const uint8_t *gid = IFC_ADDR(attach_to_mcg_in, cmd->in, multicast_gid);
	uint32_t qpn = IFC_GET(attach_to_mcg_in, cmd->in, qpn);
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_QP, qpn, &o);
	int ret;

	if (st)
		return st;
	if (gid[0] != 0xff)
		return cmd_fail(cmd, ST_BAD_PARAM, "not a multicast GID");
	ret = attach ? fabric_mcast_attach(hca, gid, qpn) : fabric_mcast_detach(hca, gid, qpn);
	if (ret)
		return cmd_fail(cmd, ret == -ENOMEM ? ST_NO_RES : ST_BAD_RES_STATE,
				"QP 0x%x: %s", qpn, attach ? "attached already" : "not attached");
	return ST_OK;
}

static uint8_t attach_mcg(struct hca *hca, struct cmd *cmd)
{
	return mcg(hca, cmd, true);
}

static uint8_t detach_mcg(struct hca *hca, struct cmd *cmd)
{
	return mcg(hca, cmd, false);
}

const struct cmd_desc misc_cmds[] = {
	{ MLX5_CMD_OP_ALLOC_PD, "ALLOC_PD", IFC_SZ(alloc_pd_in), IFC_SZ(alloc_pd_out), alloc_pd },
	{ MLX5_CMD_OP_DEALLOC_PD, "DEALLOC_PD", IFC_SZ(dealloc_pd_in), IFC_SZ(dealloc_pd_out),
	  dealloc_pd },
	{ MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, "ALLOC_TRANSPORT_DOMAIN",
	  IFC_SZ(alloc_transport_domain_in), IFC_SZ(alloc_transport_domain_out), alloc_td },
	{ MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN, "DEALLOC_TRANSPORT_DOMAIN",
	  IFC_SZ(dealloc_transport_domain_in), IFC_SZ(dealloc_transport_domain_out), dealloc_td },
	{ MLX5_CMD_OP_ALLOC_XRCD, "ALLOC_XRCD", IFC_SZ(alloc_xrcd_in), IFC_SZ(alloc_xrcd_out),
	  alloc_xrcd },
	{ MLX5_CMD_OP_DEALLOC_XRCD, "DEALLOC_XRCD", IFC_SZ(dealloc_xrcd_in),
	  IFC_SZ(dealloc_xrcd_out), dealloc_xrcd },
	{ MLX5_CMD_OP_ALLOC_Q_COUNTER, "ALLOC_Q_COUNTER", IFC_SZ(alloc_q_counter_in),
	  IFC_SZ(alloc_q_counter_out), alloc_q_counter },
	{ MLX5_CMD_OP_DEALLOC_Q_COUNTER, "DEALLOC_Q_COUNTER", IFC_SZ(dealloc_q_counter_in),
	  IFC_SZ(dealloc_q_counter_out), dealloc_q_counter },
	{ MLX5_CMD_OP_QUERY_Q_COUNTER, "QUERY_Q_COUNTER", IFC_SZ(query_q_counter_in),
	  IFC_SZ(query_q_counter_out), query_q_counter },
	{ MLX5_CMD_OP_ATTACH_TO_MCG, "ATTACH_TO_MCG", IFC_SZ(attach_to_mcg_in),
	  IFC_SZ(attach_to_mcg_out), attach_mcg },
	{ MLX5_CMD_OP_DETACH_FROM_MCG, "DETACH_FROM_MCG", IFC_SZ(detach_from_mcg_in),
	  IFC_SZ(detach_from_mcg_out), detach_mcg },
	{}
};

static bool drop_one(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	obj_free(hca, o);
	return true;
}

static void misc_reset(struct hca *hca)
{
	static const enum obj_kind kinds[] = { OBJ_QCOUNTER, OBJ_XRCD, OBJ_TD, OBJ_PD };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		obj_for_each(hca, kinds[i], drop_one, NULL);
}

const struct hca_module misc_module = { .name = "misc", .reset = misc_reset };
