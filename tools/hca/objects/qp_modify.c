// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: the transitions between states, and what each takes from the context.
 */
#include <inttypes.h>
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "profile.h"
#include "qp.h"
#include "roce_address.h"
#include "util.h"

/* Transitions whose opcodes mlx5_ifc.h no longer lists. */
#define OP_RTS2SQD_QP	0x508
#define OP_SQD2RTS_QP	0x509
#define OP_SQD2SQD_QP	0x511

static bool qp_type_connected(enum qp_type t)
{
	return t == QPT_RC || t == QPT_UC || t == QPT_XRC;
}

static bool qp_type_reliable(enum qp_type t)
{
	return t == QPT_RC || t == QPT_XRC || t == QPT_DCI;
}

/* qp_optpar bits, as enum mlx5_qp_optpar in linux/mlx5/qp.h. */
enum optpar {
	OPT_ALT = 1 << 0, OPT_RRE = 1 << 1, OPT_RAE = 1 << 2, OPT_RWE = 1 << 3,
	OPT_PKEY = 1 << 4, OPT_QKEY = 1 << 5, OPT_RNR_TIMEOUT = 1 << 6, OPT_PATH = 1 << 7,
	OPT_SRA = 1 << 8, OPT_RRA = 1 << 9, OPT_PM = 1 << 10, OPT_RETRY = 1 << 12,
	OPT_RNR_RETRY = 1 << 13, OPT_TIMEOUT = 1 << 14, OPT_LAG = 1 << 15, OPT_PORT = 1 << 16,
	OPT_COUNTER = 1 << 25,
};

/*
 * RTS2RTS_QP has bits 95 to 32 in a second mask. A program that sets the UDP source port moves a
 * connection to another path of the network. Of the bits from 64 on the HCA has none.
 */
#define OPT_UDP_SPORT	(1ull << 34)
#define OPT_95_64	(1ull << 63)
/* Resets a stream of a DCI, which the extension of the context names. */
#define OPT_STREAM	(1ull << 32)

enum trans {
	T_RST2INIT, T_INIT2INIT, T_INIT2RTR, T_RTR2RTS, T_RTS2RTS, T_SQERR2RTS, T_RTS2SQD,
	T_SQD2RTS, T_SQD2SQD, T_NR
};

enum { PM_MIGRATED = 3 };	/* pm_state */

#define T(t) (1u << (t))
#define OPT_ACCESS (OPT_RRE | OPT_RAE | OPT_RWE)
#define OPT_ANY (OPT_COUNTER | OPT_LAG)
#define OPT_SQD (OPT_ALT | OPT_ACCESS | OPT_PKEY | OPT_QKEY | OPT_RNR_TIMEOUT | OPT_PATH | \
		 OPT_SRA | OPT_RRA | OPT_PM | OPT_RETRY | OPT_RNR_RETRY | OPT_TIMEOUT | OPT_PORT)
/* Parameters that do not apply to queue pairs without a connection, and to UC queue pairs. */
#define OPT_NOT_UD (((uint32_t)(OPT_SQD | OPT_ANY) & \
		     ~(uint32_t)(OPT_PKEY | OPT_QKEY | OPT_PORT | OPT_ANY)) | OPT_UDP_SPORT)
#define OPT_NOT_UC ((uint32_t)(OPT_RRE | OPT_RAE | OPT_RNR_TIMEOUT | OPT_SRA | OPT_RRA | \
			       OPT_RETRY | OPT_RNR_RETRY | OPT_TIMEOUT))

/*
 * Parameters of a responder and of a path, which an initiator of DC does not have. Atomics are
 * taken: UCX, which runs on many devices, sets them for each initiator.
 */
#define OPT_NOT_DCI ((uint32_t)(OPT_RRE | OPT_RWE | OPT_QKEY | OPT_RNR_TIMEOUT | OPT_PATH | \
				OPT_RRA) | OPT_UDP_SPORT)

static const struct trans_desc {
	uint8_t from, to;	/* enum qp_state */
	uint64_t opt;		/* optional parameters that a command may set */
} trans_table[T_NR] = {
	[T_RST2INIT] = { QPS_RST, QPS_INIT,
		OPT_ACCESS | OPT_PKEY | OPT_QKEY | OPT_PORT | OPT_PM | OPT_ANY },
	[T_INIT2INIT] = { QPS_INIT, QPS_INIT,
		OPT_ACCESS | OPT_PKEY | OPT_QKEY | OPT_PORT | OPT_ANY },
	[T_INIT2RTR] = { QPS_INIT, QPS_RTR,
		OPT_ALT | OPT_ACCESS | OPT_PKEY | OPT_QKEY | OPT_ANY },
	[T_RTR2RTS] = { QPS_RTR, QPS_RTS,
		OPT_ALT | OPT_ACCESS | OPT_QKEY | OPT_RNR_TIMEOUT | OPT_PM | OPT_ANY },
	[T_RTS2RTS] = { QPS_RTS, QPS_RTS,
		OPT_ALT | OPT_ACCESS | OPT_QKEY | OPT_RNR_TIMEOUT | OPT_PM | OPT_ANY |
		OPT_UDP_SPORT | OPT_STREAM },
	[T_SQERR2RTS] = { QPS_SQER, QPS_RTS,
		OPT_QKEY | OPT_RWE | OPT_RNR_TIMEOUT | OPT_ANY },
	[T_RTS2SQD] = { QPS_RTS, QPS_SQ_DRAINING, 0 },
	[T_SQD2RTS] = { QPS_SQD, QPS_RTS,
		OPT_ALT | OPT_ACCESS | OPT_QKEY | OPT_RNR_TIMEOUT | OPT_PM | OPT_ANY },
	[T_SQD2SQD] = { QPS_SQD, QPS_SQD, OPT_SQD | OPT_ANY },
};

enum { ON_RELIABLE = 1, ON_CONNECTED = 2, ON_ANY = 4 };

/*
 * A field of the context: the transitions that always set the field, the service types for which
 * they do, and the optional parameter by which other transitions set it.
 */
struct trans_field {
	struct ifc_field f;
	uint32_t always;
	uint8_t on;
	uint64_t opt;
};

#define PATH(fld) { IFC_OFF(qpc, primary_address_path.fld), IFC_BITS(ads, fld), "path." #fld }

static const struct trans_field trans_fields[] = {
	/*
	 * CREATE_QP sets pm_state. Transitions take it only with OPT_PM, because drivers may leave
	 * it 0 otherwise.
	 */
	{ IFC_FIELD(qpc, pm_state), 0, 0, OPT_PM },
	{ PATH(pkey_index), T(T_RST2INIT), ON_ANY, OPT_PKEY },
	{ PATH(vhca_port_num), T(T_RST2INIT), ON_ANY, OPT_PORT },
	{ IFC_FIELD(qpc, q_key), T(T_RST2INIT), ON_ANY, OPT_QKEY },
	{ IFC_FIELD(qpc, counter_set_id), T(T_RST2INIT), ON_ANY, OPT_COUNTER },
	{ IFC_FIELD(qpc, lag_tx_port_affinity), T(T_RST2INIT), ON_ANY, OPT_LAG },
	{ IFC_FIELD(qpc, dp_ordering_1), T(T_INIT2RTR), ON_ANY, 0 },
	{ { QPC_DP_ORDERING_0, 1, "dp_ordering_0" }, T(T_INIT2RTR), ON_ANY, 0 },
	{ IFC_FIELD(qpc, dp_ordering_force), T(T_INIT2RTR), ON_ANY, 0 },
	{ IFC_FIELD(qpc, rre), T(T_RST2INIT), ON_CONNECTED, OPT_RRE },
	{ IFC_FIELD(qpc, rwe), T(T_RST2INIT), ON_CONNECTED, OPT_RWE },
	{ IFC_FIELD(qpc, rae), T(T_RST2INIT), ON_CONNECTED, OPT_RAE },
	{ IFC_FIELD(qpc, atomic_mode), T(T_RST2INIT), ON_CONNECTED, OPT_RAE },
	{ PATH(grh), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(mlid), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(rlid), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(src_addr_index), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(stat_rate), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(hop_limit), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(tclass), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(flow_label), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(rgid_rip), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(sl), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(fl), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(rmac_47_32), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(rmac_31_0), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(udp_sport), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH | OPT_UDP_SPORT },
	{ PATH(dscp), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(ecn), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(eth_prio), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(dei_cfi), T(T_INIT2RTR), ON_CONNECTED, OPT_PATH },
	{ PATH(ack_timeout), T(T_RTR2RTS), ON_RELIABLE, OPT_TIMEOUT },
	{ IFC_FIELD(qpc, secondary_address_path), 0, 0, OPT_ALT },
	{ IFC_FIELD(qpc, mtu), T(T_INIT2RTR), ON_ANY, 0 },
	{ IFC_FIELD(qpc, log_msg_max), T(T_INIT2RTR), ON_ANY, 0 },
	{ IFC_FIELD(qpc, remote_qpn), T(T_INIT2RTR), ON_CONNECTED, 0 },
	{ IFC_FIELD(qpc, next_rcv_psn), T(T_INIT2RTR), ON_ANY, 0 },
	{ IFC_FIELD(qpc, log_rra_max), T(T_INIT2RTR), ON_RELIABLE, OPT_RRA },
	{ IFC_FIELD(qpc, min_rnr_nak), T(T_INIT2RTR), ON_RELIABLE, OPT_RNR_TIMEOUT },
	{ IFC_FIELD(qpc, next_send_psn), T(T_RTR2RTS), ON_ANY, 0 },
	{ IFC_FIELD(qpc, log_ack_req_freq), T(T_RTR2RTS), ON_RELIABLE, 0 },
	{ IFC_FIELD(qpc, log_sra_max), T(T_RTR2RTS), ON_RELIABLE, OPT_SRA },
	{ IFC_FIELD(qpc, retry_count), T(T_RTR2RTS), ON_RELIABLE, OPT_RETRY },
	{ IFC_FIELD(qpc, rnr_retry), T(T_RTR2RTS), ON_RELIABLE, OPT_RNR_RETRY },
};

static void trans_copy_bits(uint8_t *to, const uint8_t *from, size_t off, size_t width)
{
	for (; width > 32; off += 32, width -= 32)
		ifc_set_bits(to, off, 32, ifc_get_bits(from, off, 32));
	ifc_set_bits(to, off, width, ifc_get_bits(from, off, width));
}

/* Build in @to the context that the queue pair has after a transition with the context @given. */
static void trans_merge(const struct qp *qp, enum trans t, uint64_t opt, const uint8_t *given,
			uint8_t *to)
{
	uint8_t on = ON_ANY | (qp_type_connected(qp->type) ? ON_CONNECTED : 0) |
		     (qp_type_reliable(qp->type) ? ON_RELIABLE : 0);
	size_t i;

	memcpy(to, qp->qpc, QPC_BYTES);
	for (i = 0; i < ARRAY_SIZE(trans_fields); i++) {
		const struct trans_field *f = &trans_fields[i];

		if (((f->always & T(t)) && (f->on & on)) || (f->opt & opt))
			trans_copy_bits(to, given, f->f.off, f->f.width);
	}
}

static uint8_t trans_check_path(struct hca *hca, struct cmd *cmd, const struct qp_path *path)
{
	if (path->pkey_index >= qp_pkeys(hca))
		return cmd_fail(cmd, ST_BAD_INDEX, WHY_PKEY_INDEX,
				"P_Key index %u is beyond the table", path->pkey_index);
	if (path->grh && path->src_gid_index >= hca->profile->gids)
		return cmd_fail(cmd, ST_BAD_INDEX, WHY_GID_INDEX, "there is no GID at index %u",
				path->src_gid_index);
	if (path->stat_rate && !(hca_cap_gen(hca, stat_rate_support) >> path->stat_rate & 1))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_STATIC_RATE,
				"static rate %u is not supported (stat_rate_support)",
				path->stat_rate);
	if (!path->port || path->port > hca_cap_gen(hca, num_ports))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PORT_UNKNOWN, "port %u does not exist",
				path->port);
	return ST_OK;
}

static unsigned int trans_sra_max(struct hca *hca, enum qp_type type)
{
	return type == QPT_DCI ? hca_cap_gen(hca, log_max_ra_req_dc) :
				 hca_cap_gen(hca, log_max_ra_req_qp);
}

/* Refuse values with which the queue pair could not work in the new state. */
static uint8_t trans_check_values(struct hca *hca, struct cmd *cmd, const struct qp *n,
				  enum trans t)
{
	uint8_t mtu = IFC_GET(qpc, n->qpc, mtu);
	uint8_t st = trans_check_path(hca, cmd, &n->path);

	if (st)
		return st;
	if (n->rae && !hca_cap_gen(hca, atomic))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_ATOMICS_NOT_OFFERED,
				"atomics are not supported (atomic)");
	if (n->rae && qp_type_reliable(n->type) && n->type != QPT_DCI &&
	    (n->atomic_mode < ATOMIC_IB_COMP || n->atomic_mode > ATOMIC_8B))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_ATOMIC_MODE,
				"atomic_mode %u is not supported", n->atomic_mode);
	if (n->pm_state != PM_MIGRATED)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_PATH_MIGRATION,
				"pm_state is %u, but the HCA migrates no paths", n->pm_state);
	if (n->counter_set &&
	    !obj_find_shared(hca, OBJ_QCOUNTER, n->counter_set, cmd->uid))
		return cmd_fail(cmd, ST_BAD_RES, WHY_QP_COUNTER_UNKNOWN,
				"counter set %u does not exist", n->counter_set);
	if (t == T_INIT2RTR) {
		if (mtu < 1 || mtu > 5)
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_MTU, "mtu %u is not valid", mtu);
		if (n->log_msg_max > hca_cap_gen(hca, log_max_msg))
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_MESSAGE_SIZE,
					"messages of 2^%u bytes are too long", n->log_msg_max);
		if (n->log_msg_max < mtu + 7u)
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_MESSAGE_SIZE,
					"messages of 2^%u bytes are shorter than the path MTU",
					n->log_msg_max);
	}
	if (IFC_GET(qpc, n->qpc, log_rra_max) > hca_cap_gen(hca, log_max_ra_res_qp))
		return cmd_fail(cmd, ST_LIM, WHY_QP_RRA_MAX, "log_rra_max %u is too large",
				IFC_GET(qpc, n->qpc, log_rra_max));
	if (IFC_GET(qpc, n->qpc, log_sra_max) > trans_sra_max(hca, n->type))
		return cmd_fail(cmd, ST_LIM, WHY_QP_SRA_MAX, "log_sra_max %u is too large",
				IFC_GET(qpc, n->qpc, log_sra_max));
	return ST_OK;
}

/* The optional parameters that a command sets. */
static uint64_t trans_optpar(const struct cmd *cmd, enum trans t)
{
	uint64_t opt = IFC_GET(rst2init_qp_in, cmd->in, opt_param_mask);

	if (t != T_RTS2RTS)
		return opt;
	opt |= (uint64_t)ifc_get_bits(cmd->in, RTS2RTS_QP_OPT_95_32 + 32, 32) << 32;
	return ifc_get_bits(cmd->in, RTS2RTS_QP_OPT_95_32, 32) ? opt | OPT_95_64 : opt;
}

static uint8_t trans_check_optpar(struct hca *hca, struct cmd *cmd, const struct qp *qp,
				  const struct trans_desc *d, uint64_t opt)
{
	uint64_t bad = opt & ~d->opt;

	if (opt & OPT_ALT)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_PATH_MIGRATION,
				"the HCA has no alternate paths");
	if (!qp->has_streams)
		bad |= opt & OPT_STREAM;
	if (qp->type == QPT_DCI)
		bad |= opt & OPT_NOT_DCI;
	else if (!qp_type_connected(qp->type))
		bad |= opt & OPT_NOT_UD;
	else if (qp->type == QPT_UC)
		bad |= opt & OPT_NOT_UC;
	if (!ifc_get_bits(hca->cap[CAP_GENERAL], CAP_RTS2RTS_QP_UDP_SPORT, 1))
		bad |= opt & OPT_UDP_SPORT;
	if (bad)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_OPT_PARAM,
				"%s of a %s QP must not set opt_param 0x%" PRIx64, cmd->desc->name,
				qp_type_name(qp->type), bad);
	return ST_OK;
}

/* Reset the stream that the command names, if it names one. */
static uint8_t trans_reset_stream(struct hca *hca, struct cmd *cmd, struct qp *qp, uint64_t opt)
{
	unsigned int stream;

	if (!(opt & OPT_STREAM))
		return ST_OK;
	if (!ifc_get_bits(cmd->in, RTS2RTS_QP_QPC_EXT, 1) || !hca_cap_gen(hca, qpc_extension))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_EXTENSION_NOT_OFFERED,
				"a stream is to be reset, but qpc_ext is 0 or not supported");
	if (cmd->in_len < RTS2RTS_QP_EXT_BYTES)
		return cmd_fail(cmd, ST_BAD_INP_LEN, WHY_INPUT_LENGTH,
				"%zu bytes of input, with the QPC extension %u are needed",
				cmd->in_len, RTS2RTS_QP_EXT_BYTES);
	stream = ifc_get_bits(cmd->in, RTS2RTS_QP_STREAM, 16);
	if (!hca->board->qp->reset_stream(hca, qp, stream))
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_QP_STREAM_NOT_FAILED,
				"stream %u of QP 0x%x has not failed", stream, qp->obj.num);
	return ST_OK;
}

/* Refuse a umem for the doorbell record: only CREATE_QP can set where the record is. */
static uint8_t trans_check_dbr(struct cmd *cmd, const uint8_t *given)
{
	uint32_t id = ifc_get_bits(given, QPC_DBR_UMEM_ID, 32);

	if (!id && !IFC_GET(qpc, given, dbr_umem_valid))
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_PARAM, WHY_UMEM_FIELDS,
			"umem %u for the doorbell record, which only CREATE_QP can name", id);
}

/* RST2INIT may name another protection domain than CREATE_QP; the reference moves with it. */
static uint8_t trans_take_pd(struct hca *hca, struct cmd *cmd, struct qp *qp, struct qp *next)
{
	uint32_t pdn = IFC_GET(rst2init_qp_in, cmd->in, qpc.pd);
	struct obj *old = obj_find(hca, OBJ_PD, qp->pdn), *pd;
	uint8_t st;

	if (pdn == qp->pdn || (!pdn && old))
		return ST_OK;
	st = check_obj(hca, cmd, OBJ_PD, pdn, &pd);
	if (st)
		return st;
	if (old)
		old->refs--;
	pd->refs++;
	next->pdn = pdn;
	IFC_SET(qpc, next->qpc, pd, pdn);
	IFC_SET(qpc, next->created, pd, pdn);
	return ST_OK;
}

/* Initialize the running values (PSNs, SSN, retry counts, flags) that the transition restarts. */
static void trans_start(struct qp *qp, enum trans t)
{
	const uint8_t *c = qp->qpc;

	if (t == T_INIT2RTR) {
		qp->next_rcv_psn = IFC_GET(qpc, c, next_rcv_psn);
		qp->comm_est = false;
	} else if (t == T_RTR2RTS) {
		qp->next_send_psn = IFC_GET(qpc, c, next_send_psn);
		qp->last_acked_psn = (qp->next_send_psn - 1) & 0xffffff;
		qp->ssn = 0;
	} else if (t == T_RTS2SQD) {
		qp->drain_event = true;
	}
	qp->cur_retry = qp->retry_count;
	qp->cur_rnr_retry = qp->rnr_retry;
}

static void trans_trace_path(struct hca *hca, const struct qp *qp)
{
	const struct qp_path *p = &qp->path;

	if (roce_offered(hca)) {
		hca_trace(hca, "qp_path", "\"qpn\":%u,\"sgid_index\":%u,\"udp_sport\":%u,"
			  "\"dscp\":%u,\"tclass\":%u,\"flow_label\":%u,\"hop_limit\":%u,"
			  "\"eth_prio\":%u", qp->obj.num, p->src_gid_index, p->udp_sport, p->dscp,
			  p->tclass, p->flow_label, p->hop_limit, p->eth_prio);
		return;
	}
	hca_trace(hca, "qp_path", "\"qpn\":%u,\"pkey_index\":%u,\"rlid\":%u,\"sl\":%u,"
		  "\"stat_rate\":%u,\"grh\":%u,\"sgid_index\":%u,\"hop_limit\":%u,\"tclass\":%u,"
		  "\"flow_label\":%u", qp->obj.num, p->pkey_index, p->rlid, p->sl, p->stat_rate,
		  p->grh, p->src_gid_index, p->hop_limit, p->tclass, p->flow_label);
}

static uint8_t qp_transition(struct hca *hca, struct cmd *cmd, enum trans t)
{
	const struct trans_desc *d = &trans_table[t];
	const uint8_t *given = IFC_ADDR(rst2init_qp_in, cmd->in, qpc);
	uint64_t opt = trans_optpar(cmd, t);
	struct qp *qp, next;
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_QP, IFC_GET(rst2init_qp_in, cmd->in, qpn), &o);

	if (st)
		return st;
	qp = (struct qp *)o;
	if (qp->state != d->from)
		return cmd_fail(cmd, ST_BAD_QP_STATE, WHY_QP_STATE,
				"%s is not allowed: QP 0x%x is in %s", cmd->desc->name,
				qp->obj.num, qp_state_name(qp->state));
	st = qp_check_context(hca, cmd, given);
	if (!st)
		st = qp_check_ordering(hca, cmd, qp->type, given);
	if (!st)
		st = trans_check_dbr(cmd, given);
	if (!st)
		st = trans_check_optpar(hca, cmd, qp, d, opt);
	if (st)
		return st;
	next = *qp;
	trans_merge(qp, t, opt, given, next.qpc);
	qp_decode(&next);
	st = trans_check_values(hca, cmd, &next, t);
	if (!st && (t == T_INIT2RTR || opt & (OPT_PATH | OPT_UDP_SPORT)) &&
	    qp_type_connected(qp->type) && roce_offered(hca))
		st = qp_check_roce_path(hca, cmd, &next);
	if (!st && t == T_RST2INIT)
		st = trans_take_pd(hca, cmd, qp, &next);
	if (!st && t == T_RTS2RTS)
		st = trans_reset_stream(hca, cmd, qp, opt);
	if (st)
		return st;
	if (memcmp(&qp->path, &next.path, sizeof(next.path)))
		trans_trace_path(hca, &next);
	*qp = next;
	trans_start(qp, t);
	if (d->to != d->from)
		qp_set_state(hca, qp, d->to);
	return ST_OK;
}

#define TRANSITION(fn, t) \
	static uint8_t fn(struct hca *hca, struct cmd *cmd) { return qp_transition(hca, cmd, t); }
TRANSITION(rst2init, T_RST2INIT)
TRANSITION(init2init, T_INIT2INIT)
TRANSITION(init2rtr, T_INIT2RTR)
TRANSITION(rtr2rts, T_RTR2RTS)
TRANSITION(rts2rts, T_RTS2RTS)
TRANSITION(sqerr2rts, T_SQERR2RTS)
TRANSITION(rts2sqd, T_RTS2SQD)
TRANSITION(sqd2rts, T_SQD2RTS)
TRANSITION(sqd2sqd, T_SQD2SQD)

/* Cards refuse an unknown number in 2ERR_QP and 2RST_QP with BAD_RES_STATE. */
static uint8_t qp_to_stop(struct hca *hca, struct cmd *cmd, uint32_t qpn, struct qp **qp)
{
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_QP, qpn, &o);

	*qp = (struct qp *)o;
	return st ? ST_BAD_RES_STATE : ST_OK;
}

static uint8_t qp_2err(struct hca *hca, struct cmd *cmd)
{
	struct qp *qp;
	uint8_t st = qp_to_stop(hca, cmd, IFC_GET(qp_2err_in, cmd->in, qpn), &qp);

	if (st)
		return st;
	/* 2ERR_QP moves a queue pair from RST to ERR, too; qp_to_error() would leave it in RST. */
	if (qp->state != QPS_ERR)
		qp_set_state(hca, qp, QPS_ERR);
	return ST_OK;
}

static uint8_t qp_2rst(struct hca *hca, struct cmd *cmd)
{
	struct qp *qp;
	uint8_t st = qp_to_stop(hca, cmd, IFC_GET(qp_2rst_in, cmd->in, qpn), &qp);

	if (st)
		return st;
	memcpy(qp->qpc, qp->created, QPC_BYTES);
	qp_decode(qp);
	qp_set_state(hca, qp, QPS_RST);
	qp->sq_hw = 0;
	qp->rq_hw = 0;
	qp->next_send_psn = 0;
	qp->next_rcv_psn = 0;
	qp->last_acked_psn = 0;
	qp->ssn = 0;
	qp->comm_est = false;
	qp->drain_event = false;
	qp->last_wqe_done = false;
	qp->cq_dead = false;
	return ST_OK;
}

/* Commands whose opcode mlx5_ifc.h lacks, or for which it has no structure of the opcode's name. */
#define UNLISTED(op, nm, fn, ...)							\
	{ .opcode = op, .name = nm, .in_min = IFC_SZ(sqd2rts_qp_in),		\
	  .out_min = IFC_SZ(sqd2rts_qp_out), .handler = fn, __VA_ARGS__ }

const struct cmd_desc qp_modify_cmds[] = {
	CMD(RST2INIT_QP, rst2init_qp, rst2init),
	CMD(INIT2INIT_QP, init2init_qp, init2init),
	CMD(INIT2RTR_QP, init2rtr_qp, init2rtr),
	CMD(RTR2RTS_QP, rtr2rts_qp, rtr2rts),
	CMD(RTS2RTS_QP, rts2rts_qp, rts2rts),
	CMD(SQERR2RTS_QP, sqerr2rts_qp, sqerr2rts),
	UNLISTED(OP_RTS2SQD_QP, "RTS2SQD_QP", rts2sqd),
	UNLISTED(OP_SQD2RTS_QP, "SQD2RTS_QP", sqd2rts, .in = "sqd2rts_qp_in",
		 .out = "sqd2rts_qp_out"),
	UNLISTED(MLX5_CMD_OP_SQD_RTS_QP, "SQD_RTS_QP", sqd2rts),
	UNLISTED(OP_SQD2SQD_QP, "SQD2SQD_QP", sqd2sqd),
	CMD(2ERR_QP, qp_2err, qp_2err),
	CMD(2RST_QP, qp_2rst, qp_2rst),
	{}
};
