// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pair commands: CREATE/QUERY/DESTROY_QP, the state machine with what each
 * transition takes from the context, and the events that a QP raises.
 */
#include <errno.h>
#include <stdlib.h>
#include "check.h"
#include "fabric.h"
#include "qp.h"

#define HCA_FILE_ID FILE_QP

_Static_assert(IFC_SZ(qpc) == QPC_BYTES, "qpc size");

/* Transitions whose opcodes mlx5_ifc.h no longer lists. */
#define OP_RTS2SQD_QP	0x508
#define OP_SQD2RTS_QP	0x509
#define OP_SQD2SQD_QP	0x511

struct qps {			/* hca->qps */
	struct qp *special[2];	/* QP0, QP1 of the port */
};

/**
 * qp_state_name() - a state in words
 * @s: the state
 *
 * Return: its name in the field.
 */
const char *qp_state_name(enum qp_state s)
{
	static const char *const name[QPS_NUM] = {
		"RST", "INIT", "RTR", "RTS", "SQER", "SQD", "ERR", "SQ_DRAINING"
	};

	return s < QPS_NUM ? name[s] : "?";
}

/**
 * qp_type_name() - a service type in words
 * @t: the type
 *
 * Return: its name in the field.
 */
const char *qp_type_name(enum qp_type t)
{
	static const char *const name[] = {
		"RC", "UC", "UD", "XRC", "MLX", "DCI", "DCT", "QP0", "QP1", "", "", "", "REG_UMR",
		"", "SYNC_UMR"
	};

	return t < ARRAY_SIZE(name) ? name[t] : "?";
}

/**
 * qp_find() - find a queue pair
 * @hca: the function
 * @qpn: its number
 *
 * Return: the queue pair or NULL.
 */
struct qp *qp_find(struct hca *hca, uint32_t qpn)
{
	return (struct qp *)obj_find(hca, OBJ_QP, qpn);
}

/**
 * qp_special() - the queue pair that serves the port's QP0 or QP1
 * @hca: the function
 * @n: 0 or 1
 *
 * Return: the queue pair or NULL.
 */
struct qp *qp_special(struct hca *hca, unsigned int n)
{
	struct qps *qps = hca->qps;

	return qps && n < 2 ? qps->special[n] : NULL;
}

/**
 * qp_dbr_read() - read a doorbell record
 * @hca: the function
 * @qp: the queue pair
 * @which: DBR_RCV or DBR_SND
 * @val: the counter
 *
 * Return: false if the record is not mapped any more.
 */
bool qp_dbr_read(struct hca *hca, const struct qp *qp, unsigned int which, uint16_t *val)
{
	uint8_t rec[4];

	if (mem_read(hca, qp->dbr_addr + which, rec, sizeof(rec)))
		return false;
	*val = get_be32(rec);
	return true;
}

/* ---- events and state ------------------------------------------------------- */

/**
 * qp_event() - raise an asynchronous event about a queue pair
 * @hca: the function
 * @qp: the queue pair
 * @event: the event's type
 */
void qp_event(struct hca *hca, struct qp *qp, enum async_event event)
{
	uint8_t data[28] = {};

	put_be32(data + 24, qp->obj.num);	/* type at 20: 0, a QP */
	hca_trace(hca, "qp_event", "\"qpn\":%u,\"event\":%u", qp->obj.num, event);
	eq_post_async(hca, event, 0, data);
}

static void qp_set_state(struct hca *hca, struct qp *qp, enum qp_state now)
{
	enum qp_state old = qp->state;

	qp->state = now;
	hca_trace(hca, "qp_state", "\"qpn\":%u,\"from\":\"%s\",\"to\":\"%s\"", qp->obj.num,
		  qp_state_name(old), qp_state_name(now));
	transport_qp_state(hca, qp, old, now);
	if (now == QPS_ERR && old != QPS_ERR && qp->rq_type == RQ_SRQ && qp->type != QPT_XRC &&
	    !qp->last_wqe_done) {
		/* It took its last WQE from the SRQ. */
		qp->last_wqe_done = true;
		qp_event(hca, qp, EV_SRQ_LAST_WQE);
	}
}

/**
 * qp_to_error() - a queue pair has failed
 * @hca: the function
 * @qp: the queue pair; nothing happens if it is in ERR or RST
 * @event: asynchronous event to raise, 0 for none
 *
 * The transport flushes the work requests from transport_qp_state().
 */
void qp_to_error(struct hca *hca, struct qp *qp, enum async_event event)
{
	if (qp->state == QPS_ERR || qp->state == QPS_RST)
		return;
	qp_set_state(hca, qp, QPS_ERR);
	if (event)
		qp_event(hca, qp, event);
}

/**
 * qp_to_sq_error() - the send queue of an unreliable queue pair has failed
 * @hca: the function
 * @qp: the queue pair, in RTS or draining
 */
void qp_to_sq_error(struct hca *hca, struct qp *qp)
{
	if (qp->state == QPS_RTS || qp->state == QPS_SQD || qp->state == QPS_SQ_DRAINING)
		qp_set_state(hca, qp, QPS_SQER);
}

/**
 * qp_sq_drained() - the transport has finished what was under way
 * @hca: the function
 * @qp: the queue pair, in SQ_DRAINING
 */
void qp_sq_drained(struct hca *hca, struct qp *qp)
{
	if (qp->state != QPS_SQ_DRAINING)
		return;
	qp_set_state(hca, qp, QPS_SQD);
	if (qp->drain_event)
		qp_event(hca, qp, EV_SQ_DRAINED);
}

/**
 * qp_comm_est() - a packet came for a queue pair in RTR
 * @hca: the function
 * @qp: the queue pair; told once
 */
void qp_comm_est(struct hca *hca, struct qp *qp)
{
	if (qp->comm_est || qp->state != QPS_RTR)
		return;
	qp->comm_est = true;
	qp_event(hca, qp, EV_COMM_EST);
}

/* ---- decoding a context ------------------------------------------------------- */

static void path_decode(struct qp_path *path, const uint8_t *ads)
{
	path->rlid = IFC_GET(ads, ads, rlid);
	path->pkey_index = IFC_GET(ads, ads, pkey_index);
	path->mlid = IFC_GET(ads, ads, mlid);
	path->sl = IFC_GET(ads, ads, sl);
	path->grh = IFC_GET(ads, ads, grh);
	path->src_gid_index = IFC_GET(ads, ads, src_addr_index);
	path->hop_limit = IFC_GET(ads, ads, hop_limit);
	path->tclass = IFC_GET(ads, ads, tclass);
	path->flow_label = IFC_GET(ads, ads, flow_label);
	path->ack_timeout = IFC_GET(ads, ads, ack_timeout);
	path->stat_rate = IFC_GET(ads, ads, stat_rate);
	path->port = IFC_GET(ads, ads, vhca_port_num);
	memcpy(path->dgid, IFC_ADDR(ads, ads, rgid_rip), sizeof(path->dgid));
}

/* What transitions may change; CREATE_QP's part is in qp_take_queues(). */
static void qp_decode(struct qp *qp)
{
	const uint8_t *c = qp->qpc;

	path_decode(&qp->path, IFC_ADDR(qpc, c, primary_address_path));
	path_decode(&qp->alt_path, IFC_ADDR(qpc, c, secondary_address_path));
	qp->pm_state = IFC_GET(qpc, c, pm_state);
	qp->remote_qpn = IFC_GET(qpc, c, remote_qpn);
	qp->mtu = IFC_GET(qpc, c, mtu) ? 128u << IFC_GET(qpc, c, mtu) : 0;
	qp->log_msg_max = IFC_GET(qpc, c, log_msg_max);
	qp->qkey = IFC_GET(qpc, c, q_key);
	qp->deth_sqpn = IFC_GET(qpc, c, deth_sqpn);
	qp->rre = IFC_GET(qpc, c, rre);
	qp->rwe = IFC_GET(qpc, c, rwe);
	qp->rae = IFC_GET(qpc, c, rae);
	qp->atomic_mode = IFC_GET(qpc, c, atomic_mode);
	qp->retry_count = IFC_GET(qpc, c, retry_count);
	qp->rnr_retry = IFC_GET(qpc, c, rnr_retry);
	qp->min_rnr_nak = IFC_GET(qpc, c, min_rnr_nak);
	qp->max_rd_atomic = 1u << IFC_GET(qpc, c, log_sra_max);
	qp->max_dest_rd_atomic = 1u << IFC_GET(qpc, c, log_rra_max);
	qp->counter_set = IFC_GET(qpc, c, counter_set_id);
}

static void qp_take_queues(struct qp *qp)
{
	const uint8_t *c = qp->created;

	qp->type = IFC_GET(qpc, c, st);
	qp->uar = IFC_GET(qpc, c, uar_page);
	qp->pdn = IFC_GET(qpc, c, pd);
	qp->user_index = IFC_GET(qpc, c, user_index);
	qp->wq_signature = IFC_GET(qpc, c, wq_signature);
	qp->rlky = IFC_GET(qpc, c, rlky);
	qp->has_sq = !IFC_GET(qpc, c, no_sq);
	qp->sq_cnt = qp->has_sq ? 1u << IFC_GET(qpc, c, log_sq_size) : 0;
	qp->rq_type = IFC_GET(qpc, c, rq_type);
	qp->rq_shift = IFC_GET(qpc, c, log_rq_stride) + 4;
	qp->rq_cnt = qp->rq_type == RQ_OWN ? 1u << IFC_GET(qpc, c, log_rq_size) : 0;
	qp->rq_off = 0;
	qp->sq_off = (size_t)qp->rq_cnt << qp->rq_shift;
	qp->cqn_snd = IFC_GET(qpc, c, cqn_snd);
	qp->cqn_rcv = IFC_GET(qpc, c, cqn_rcv);
	qp->srqn = IFC_GET(qpc, c, srqn_rmpn_xrqn);
	qp->xrcdn = IFC_GET(qpc, c, xrcd);
	qp->cs_req = IFC_GET(qpc, c, cs_req);
	qp->cs_res = IFC_GET(qpc, c, cs_res);
	qp->dbr_addr = IFC_GET64(qpc, c, dbr_addr);
}

static bool type_connected(enum qp_type t)
{
	return t == QPT_RC || t == QPT_UC || t == QPT_XRC;
}

static bool type_reliable(enum qp_type t)
{
	return t == QPT_RC || t == QPT_XRC;
}

/* ---- CREATE_QP ------------------------------------------------------------------- */

static const struct ifc_field qpc_reserved[] = {
	IFC_FIELD(qpc, reserved_at_10), IFC_FIELD(qpc, reserved_at_15),
	IFC_FIELD(qpc, reserved_at_1e), IFC_FIELD(qpc, reserved_at_24),
	IFC_FIELD(qpc, reserved_at_26), IFC_FIELD(qpc, reserved_at_48),
	IFC_FIELD(qpc, reserved_at_55), IFC_FIELD(qpc, reserved_at_5a),
	IFC_FIELD(qpc, reserved_at_80), IFC_FIELD(qpc, reserved_at_a0),
	IFC_FIELD(qpc, reserved_at_384), IFC_FIELD(qpc, reserved_at_38b),
	IFC_FIELD(qpc, reserved_at_393), IFC_FIELD(qpc, reserved_at_39b),
	IFC_FIELD(qpc, reserved_at_3a0), IFC_FIELD(qpc, reserved_at_3c0),
	IFC_FIELD(qpc, reserved_at_3e0), IFC_FIELD(qpc, reserved_at_400),
	IFC_FIELD(qpc, reserved_at_420), IFC_FIELD(qpc, reserved_at_440),
	IFC_FIELD(qpc, reserved_at_460), IFC_FIELD(qpc, reserved_at_480),
	IFC_FIELD(qpc, reserved_at_48b), IFC_FIELD(qpc, reserved_at_493),
	IFC_FIELD(qpc, reserved_at_49a), IFC_FIELD(qpc, reserved_at_4a0),
	IFC_FIELD(qpc, reserved_at_4c0), IFC_FIELD(qpc, reserved_at_4e0),
	IFC_FIELD(qpc, reserved_at_560), IFC_FIELD(qpc, reserved_at_580),
	IFC_FIELD(qpc, reserved_at_600), IFC_FIELD(qpc, reserved_at_620),
	IFC_FIELD(qpc, reserved_at_680), IFC_FIELD(qpc, reserved_at_684),
	IFC_FIELD(qpc, dbr_umem_valid),
};

static uint8_t check_reserved(struct cmd *cmd, const uint8_t *c)
{
	const char *name = ifc_first_set(c, qpc_reserved, ARRAY_SIZE(qpc_reserved));

	return name ? cmd_fail(cmd, ST_BAD_PARAM, "qpc.%s is not zero", name) : ST_OK;
}

/* Service types that this HCA has, by its capabilities. */
static uint8_t check_type(struct hca *hca, struct cmd *cmd, const struct qp *qp)
{
	bool ok;

	switch (qp->type) {
	case QPT_RC:
		ok = hca_cap_gen(hca, rc);
		break;
	case QPT_UC:
		ok = hca_cap_gen(hca, uc);
		break;
	case QPT_UD:
		ok = hca_cap_gen(hca, ud);
		break;
	case QPT_XRC:
		ok = hca_cap_gen(hca, xrc);
		break;
	case QPT_QP0:
	case QPT_QP1:
		if (qp_special(hca, qp->type - QPT_QP0))
			return cmd_fail(cmd, ST_RES_BUSY, "the port has its %s",
					qp_type_name(qp->type));
		ok = true;
		break;
	case QPT_REG_UMR:
		ok = true;
		break;
	default:
		ok = false;
	}
	return ok ? ST_OK : cmd_fail(cmd, ST_BAD_PARAM, "service type %u", qp->type);
}

static uint8_t check_sizes(struct hca *hca, struct cmd *cmd, const struct qp *qp)
{
	const uint8_t *c = qp->created;
	unsigned int log_max = hca_cap_gen(hca, log_max_qp_sz);

	if (IFC_GET(qpc, c, no_sq) && IFC_GET(qpc, c, log_sq_size))
		return cmd_fail(cmd, ST_BAD_PARAM, "no_sq with a size");
	if (qp->has_sq && IFC_GET(qpc, c, log_sq_size) > log_max)
		return cmd_fail(cmd, ST_LIM, "SQ of 2^%u", IFC_GET(qpc, c, log_sq_size));
	if (qp->rq_type == RQ_CRQ)
		return cmd_fail(cmd, ST_BAD_PARAM, "rq_type %u", qp->rq_type);
	if (qp->rq_type != RQ_OWN &&
	    (IFC_GET(qpc, c, log_rq_size) || IFC_GET(qpc, c, log_rq_stride)))
		return cmd_fail(cmd, ST_BAD_PARAM, "an RQ size without an RQ");
	if (qp->rq_type == RQ_OWN && IFC_GET(qpc, c, log_rq_size) > log_max)
		return cmd_fail(cmd, ST_LIM, "RQ of 2^%u", IFC_GET(qpc, c, log_rq_size));
	if (qp->rq_type == RQ_OWN && 1u << qp->rq_shift > hca_cap_gen(hca, max_wqe_sz_rq))
		return cmd_fail(cmd, ST_BAD_PARAM, "RQ stride 2^%u", qp->rq_shift);
	if (IFC_GET(qpc, c, state) != QPS_RST)
		return cmd_fail(cmd, ST_BAD_PARAM, "a QP is created in RST");
	if (qp->type == QPT_REG_UMR && (!qp->has_sq || qp->rq_type == RQ_OWN))
		return cmd_fail(cmd, ST_BAD_PARAM, "a UMR QP has an SQ and no RQ");
	if (IFC_GET(qpc, c, wq_signature) && !hca_cap_gen(hca, wq_signature))
		return cmd_fail(cmd, ST_BAD_PARAM, "WQE signatures are not offered");
	if ((qp->cs_req || qp->cs_res) && !hca_cap_gen(hca, sctr_data_cqe))
		return cmd_fail(cmd, ST_BAD_PARAM, "scatter to CQE is not offered");
	return ST_OK;
}

/* Objects that a QP refers to; NULL where it has none. */
struct qp_refs {
	struct obj *uar, *pd, *cq_snd, *cq_rcv, *srq, *xrcd;
};

static uint8_t check_refs(struct hca *hca, struct cmd *cmd, const struct qp *qp, struct qp_refs *r)
{
	bool receives = qp->rq_type == RQ_OWN || qp->rq_type == RQ_SRQ;
	uint8_t st;

	*r = (struct qp_refs){};
	/* The stock driver gives its UMR queue a domain no sooner than at RST2INIT. */
	st = qp->type == QPT_REG_UMR && !qp->pdn ? ST_OK :
	     check_obj(hca, cmd, OBJ_PD, qp->pdn, &r->pd);
	if (!st && qp->has_sq)
		st = check_obj(hca, cmd, OBJ_UAR, qp->uar, &r->uar);
	if (!st && (qp->has_sq || qp->cqn_snd))
		st = check_obj(hca, cmd, OBJ_CQ, qp->cqn_snd, &r->cq_snd);
	if (!st && (receives || qp->cqn_rcv))
		st = check_obj(hca, cmd, OBJ_CQ, qp->cqn_rcv, &r->cq_rcv);
	if (!st && qp->rq_type == RQ_SRQ)
		st = check_obj(hca, cmd, OBJ_SRQ, qp->srqn, &r->srq);
	if (!st && qp->type == QPT_XRC)
		st = check_obj(hca, cmd, OBJ_XRCD, qp->xrcdn, &r->xrcd);
	if (!st && (qp->has_sq || qp->rq_type == RQ_OWN))
		st = check_dbr(hca, cmd, qp->dbr_addr, 8);
	return st;
}

static void refs_get(const struct qp_refs *r)
{
	struct obj *const o[] = { r->uar, r->pd, r->cq_snd, r->cq_rcv, r->srq, r->xrcd };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(o); i++)
		if (o[i])
			o[i]->refs++;
}

static void refs_put(struct hca *hca, const struct qp_refs *r)
{
	struct obj *const o[] = { r->uar, r->pd, r->cq_snd, r->cq_rcv, r->srq, r->xrcd };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(o); i++)
		obj_put(hca, o[i]);
}

static uint8_t create_check(struct hca *hca, struct cmd *cmd, struct qp *qp, struct qp_refs *r)
{
	const uint8_t *c = qp->created;
	const uint8_t *pas = IFC_ADDR(create_qp_in, cmd->in, pas);
	unsigned int log_page = IFC_GET(qpc, c, log_page_size) + 12;
	size_t len;
	uint8_t st;

	if (IFC_GET(create_qp_in, cmd->in, wq_umem_valid))
		return cmd_fail(cmd, ST_BAD_PARAM, "umem queues are not offered");
	if (IFC_GET(create_qp_in, cmd->in, input_qpn))
		return cmd_fail(cmd, ST_BAD_PARAM, "the QPN is the HCA's to choose");
	if (IFC_GET(create_qp_in, cmd->in, qpc_ext))
		return cmd_fail(cmd, ST_BAD_PARAM, "QPC extensions are not offered");
	st = check_reserved(cmd, c);
	if (!st)
		st = check_type(hca, cmd, qp);
	if (!st)
		st = check_sizes(hca, cmd, qp);
	if (!st)
		st = check_refs(hca, cmd, qp, r);
	if (st)
		return st;
	len = qp->sq_off + (size_t)qp->sq_cnt * 64;
	return qmem_init(hca, cmd, &qp->mem, pas, cmd_left(cmd, pas), log_page,
			 qmem_offset(IFC_GET(qpc, c, page_offset), log_page), len);
}

static uint8_t create_qp(struct hca *hca, struct cmd *cmd)
{
	struct qps *qps = hca->qps;
	struct qp tmp = {}, *qp;
	struct qp_refs refs;
	uint8_t st;

	memcpy(tmp.created, IFC_ADDR(create_qp_in, cmd->in, qpc), QPC_BYTES);
	memcpy(tmp.qpc, tmp.created, QPC_BYTES);
	qp_take_queues(&tmp);
	qp_decode(&tmp);
	st = create_check(hca, cmd, &tmp, &refs);
	if (st)
		return st;
	qp = (struct qp *)obj_new(hca, OBJ_QP, cmd->uid, sizeof(*qp));
	if (!qp) {
		qmem_free(&tmp.mem);
		return cmd_fail(cmd, ST_LIM, "no free QP");
	}
	tmp.obj = qp->obj;
	*qp = tmp;
	qp->srq = (struct srq *)refs.srq;
	qp->cqe_version1 = hca_cap_gen(hca, cqe_version);
	refs_get(&refs);
	if (qp->type == QPT_QP0 || qp->type == QPT_QP1)
		qps->special[qp->type - QPT_QP0] = qp;
	transport_qp_state(hca, qp, QPS_RST, QPS_RST);
	IFC_SET(create_qp_out, cmd->out, qpn, qp->obj.num);
	return ST_OK;
}

static void qp_release(struct hca *hca, struct qp *qp)
{
	bool receives = qp->rq_type == RQ_OWN || qp->rq_type == RQ_SRQ;
	struct qps *qps = hca->qps;
	struct qp_refs r = {
		.pd = obj_find(hca, OBJ_PD, qp->pdn),
		.uar = qp->has_sq ? obj_find(hca, OBJ_UAR, qp->uar) : NULL,
		.cq_snd = qp->has_sq || qp->cqn_snd ? obj_find(hca, OBJ_CQ, qp->cqn_snd) : NULL,
		.cq_rcv = receives || qp->cqn_rcv ? obj_find(hca, OBJ_CQ, qp->cqn_rcv) : NULL,
		.srq = qp->srq ? &qp->srq->obj : NULL,
		.xrcd = qp->type == QPT_XRC ? obj_find(hca, OBJ_XRCD, qp->xrcdn) : NULL,
	};

	transport_qp_destroy(hca, qp);
	fabric_mcast_forget(hca, qp->obj.num);
	refs_put(hca, &r);
	if (qp_special(hca, 0) == qp || qp_special(hca, 1) == qp)
		qps->special[qp->type - QPT_QP0] = NULL;
	qmem_free(&qp->mem);
	obj_free(hca, &qp->obj);
}

static uint8_t destroy_qp(struct hca *hca, struct cmd *cmd)
{
	struct obj *o;
	uint8_t st = check_destroy(hca, cmd, OBJ_QP, IFC_GET(destroy_qp_in, cmd->in, qpn), &o);

	if (!st)
		qp_release(hca, (struct qp *)o);
	return st;
}

static uint8_t query_qp(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_qp_out, cmd->out, qpc);
	struct qp *qp;
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_QP, IFC_GET(query_qp_in, cmd->in, qpn), &o);
	uint16_t posted;

	if (st)
		return st;
	qp = (struct qp *)o;
	memcpy(c, qp->qpc, QPC_BYTES);
	IFC_SET(qpc, c, state, qp->state);
	IFC_SET(qpc, c, next_send_psn, qp->next_send_psn);
	IFC_SET(qpc, c, last_acked_psn, qp->last_acked_psn);
	IFC_SET(qpc, c, next_rcv_psn, qp->next_rcv_psn);
	IFC_SET(qpc, c, ssn, qp->ssn);
	IFC_SET(qpc, c, cur_retry_count, qp->cur_retry);
	IFC_SET(qpc, c, cur_rnr_retry, qp->cur_rnr_retry);
	IFC_SET(qpc, c, hw_sq_wqebb_counter, qp->sq_hw);
	IFC_SET(qpc, c, hw_rq_counter, qp->rq_hw);
	if (qp->has_sq && qp_dbr_read(hca, qp, DBR_SND, &posted))
		IFC_SET(qpc, c, sw_sq_wqebb_counter, posted);
	if (qp->rq_type == RQ_OWN && qp_dbr_read(hca, qp, DBR_RCV, &posted))
		IFC_SET(qpc, c, sw_rq_counter, posted);
	return ST_OK;
}

/* ---- transitions --------------------------------------------------------------------- */

/* qp_optpar bits, as enum mlx5_qp_optpar in linux/mlx5/qp.h. */
enum optpar {
	OPT_ALT = 1 << 0, OPT_RRE = 1 << 1, OPT_RAE = 1 << 2, OPT_RWE = 1 << 3,
	OPT_PKEY = 1 << 4, OPT_QKEY = 1 << 5, OPT_RNR_TIMEOUT = 1 << 6, OPT_PATH = 1 << 7,
	OPT_SRA = 1 << 8, OPT_RRA = 1 << 9, OPT_PM = 1 << 10, OPT_RETRY = 1 << 12,
	OPT_RNR_RETRY = 1 << 13, OPT_TIMEOUT = 1 << 14, OPT_LAG = 1 << 15, OPT_PORT = 1 << 16,
	OPT_COUNTER = 1 << 25,
};

enum trans {
	T_RST2INIT, T_INIT2INIT, T_INIT2RTR, T_RTR2RTS, T_RTS2RTS, T_SQERR2RTS, T_RTS2SQD,
	T_SQD2RTS, T_SQD2SQD, T_NR
};

#define T(t) (1u << (t))
#define OPT_ACCESS (OPT_RRE | OPT_RAE | OPT_RWE)
#define OPT_ANY (OPT_COUNTER | OPT_LAG)
#define OPT_SQD (OPT_ALT | OPT_ACCESS | OPT_PKEY | OPT_QKEY | OPT_RNR_TIMEOUT | OPT_PATH | \
		 OPT_SRA | OPT_RRA | OPT_PM | OPT_RETRY | OPT_RNR_RETRY | OPT_TIMEOUT | OPT_PORT)
/* What an unconnected, or a connected unreliable QP has no use for. */
#define OPT_NOT_UD ((uint32_t)(OPT_SQD | OPT_ANY) & \
		    ~(uint32_t)(OPT_PKEY | OPT_QKEY | OPT_PORT | OPT_ANY))
#define OPT_NOT_UC ((uint32_t)(OPT_RRE | OPT_RAE | OPT_RNR_TIMEOUT | OPT_SRA | OPT_RRA | \
			       OPT_RETRY | OPT_RNR_RETRY | OPT_TIMEOUT))

static const struct trans_desc {
	uint16_t opcode;
	const char *name;
	uint8_t from, to;	/* enum qp_state */
	uint32_t opt;		/* optional parameters that it takes */
} trans_table[T_NR] = {
	[T_RST2INIT] = { MLX5_CMD_OP_RST2INIT_QP, "RST2INIT_QP", QPS_RST, QPS_INIT,
		OPT_ACCESS | OPT_PKEY | OPT_QKEY | OPT_PORT | OPT_PM | OPT_ANY },
	[T_INIT2INIT] = { MLX5_CMD_OP_INIT2INIT_QP, "INIT2INIT_QP", QPS_INIT, QPS_INIT,
		OPT_ACCESS | OPT_PKEY | OPT_QKEY | OPT_PORT | OPT_ANY },
	[T_INIT2RTR] = { MLX5_CMD_OP_INIT2RTR_QP, "INIT2RTR_QP", QPS_INIT, QPS_RTR,
		OPT_ALT | OPT_ACCESS | OPT_PKEY | OPT_QKEY | OPT_ANY },
	[T_RTR2RTS] = { MLX5_CMD_OP_RTR2RTS_QP, "RTR2RTS_QP", QPS_RTR, QPS_RTS,
		OPT_ALT | OPT_ACCESS | OPT_QKEY | OPT_RNR_TIMEOUT | OPT_PM | OPT_ANY },
	[T_RTS2RTS] = { MLX5_CMD_OP_RTS2RTS_QP, "RTS2RTS_QP", QPS_RTS, QPS_RTS,
		OPT_ALT | OPT_ACCESS | OPT_QKEY | OPT_RNR_TIMEOUT | OPT_PM | OPT_ANY },
	[T_SQERR2RTS] = { MLX5_CMD_OP_SQERR2RTS_QP, "SQERR2RTS_QP", QPS_SQER, QPS_RTS,
		OPT_QKEY | OPT_RWE | OPT_RNR_TIMEOUT | OPT_ANY },
	[T_RTS2SQD] = { OP_RTS2SQD_QP, "RTS2SQD_QP", QPS_RTS, QPS_SQ_DRAINING, 0 },
	[T_SQD2RTS] = { MLX5_CMD_OP_SQD_RTS_QP, "SQD_RTS_QP", QPS_SQD, QPS_RTS,
		OPT_ALT | OPT_ACCESS | OPT_QKEY | OPT_RNR_TIMEOUT | OPT_PM | OPT_ANY },
	[T_SQD2SQD] = { OP_SQD2SQD_QP, "SQD2SQD_QP", QPS_SQD, QPS_SQD, OPT_SQD | OPT_ANY },
};

enum { ON_RELIABLE = 1, ON_CONNECTED = 2, ON_ANY = 4 };

/*
 * A field of the context: the transitions that always take it, the service types that this
 * holds for, and the optional parameter by which others take it.
 */
struct trans_field {
	struct ifc_field f;
	uint32_t always;
	uint8_t on;
	uint32_t opt;
};

#define PATH(fld) { IFC_OFF(qpc, primary_address_path.fld), IFC_BITS(ads, fld), "path." #fld }

static const struct trans_field trans_fields[] = {
	{ IFC_FIELD(qpc, pm_state), T(T_RST2INIT), ON_ANY, OPT_PM },
	{ PATH(pkey_index), T(T_RST2INIT), ON_ANY, OPT_PKEY },
	{ PATH(vhca_port_num), T(T_RST2INIT), ON_ANY, OPT_PORT },
	{ IFC_FIELD(qpc, q_key), T(T_RST2INIT), ON_ANY, OPT_QKEY },
	{ IFC_FIELD(qpc, counter_set_id), T(T_RST2INIT), ON_ANY, OPT_COUNTER },
	{ IFC_FIELD(qpc, lag_tx_port_affinity), T(T_RST2INIT), ON_ANY, OPT_LAG },
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

static void copy_bits(uint8_t *to, const uint8_t *from, size_t off, size_t width)
{
	for (; width > 32; off += 32, width -= 32)
		ifc_set_bits(to, off, 32, ifc_get_bits(from, off, 32));
	ifc_set_bits(to, off, width, ifc_get_bits(from, off, width));
}

/* Build in @to what the transition makes of the QP's context with @given. */
static void trans_merge(const struct qp *qp, enum trans t, uint32_t opt, const uint8_t *given,
			uint8_t *to)
{
	uint8_t on = ON_ANY | (type_connected(qp->type) ? ON_CONNECTED : 0) |
		     (type_reliable(qp->type) ? ON_RELIABLE : 0);
	size_t i;

	memcpy(to, qp->qpc, QPC_BYTES);
	for (i = 0; i < ARRAY_SIZE(trans_fields); i++) {
		const struct trans_field *f = &trans_fields[i];

		if (((f->always & T(t)) && (f->on & on)) || (f->opt & opt))
			copy_bits(to, given, f->f.off, f->f.width);
	}
}

static uint8_t check_path(struct hca *hca, struct cmd *cmd, const struct qp_path *path)
{
	if (path->pkey_index >= 128u << hca_cap_gen(hca, pkey_table_size))
		return cmd_fail(cmd, ST_BAD_INDEX, "P_Key index %u", path->pkey_index);
	if (path->grh && path->src_gid_index >= 8u << hca_cap_gen(hca, gid_table_size))
		return cmd_fail(cmd, ST_BAD_INDEX, "GID index %u", path->src_gid_index);
	if (path->port > hca_cap_gen(hca, num_ports))
		return cmd_fail(cmd, ST_BAD_PARAM, "port %u", path->port);
	return ST_OK;
}

/* Values that the state to be entered cannot work with. */
static uint8_t check_values(struct hca *hca, struct cmd *cmd, const struct qp *n, enum trans t)
{
	uint8_t mtu = IFC_GET(qpc, n->qpc, mtu);
	uint8_t st = check_path(hca, cmd, &n->path);

	if (st)
		return st;
	if (n->rae && !hca_cap_gen(hca, atomic))
		return cmd_fail(cmd, ST_BAD_PARAM, "atomics are not offered");
	if (n->counter_set && !obj_find(hca, OBJ_QCOUNTER, n->counter_set))
		return cmd_fail(cmd, ST_BAD_RES, "no counter set %u", n->counter_set);
	if (t == T_INIT2RTR && n->type != QPT_REG_UMR) {
		if (mtu < 1 || mtu > 5)
			return cmd_fail(cmd, ST_BAD_PARAM, "mtu %u", mtu);
		if (n->log_msg_max > hca_cap_gen(hca, log_max_msg))
			return cmd_fail(cmd, ST_BAD_PARAM, "messages of 2^%u", n->log_msg_max);
	}
	if (IFC_GET(qpc, n->qpc, log_rra_max) > hca_cap_gen(hca, log_max_ra_res_qp))
		return cmd_fail(cmd, ST_LIM, "log_rra_max %u", IFC_GET(qpc, n->qpc, log_rra_max));
	if (IFC_GET(qpc, n->qpc, log_sra_max) > hca_cap_gen(hca, log_max_ra_req_qp))
		return cmd_fail(cmd, ST_LIM, "log_sra_max %u", IFC_GET(qpc, n->qpc, log_sra_max));
	return ST_OK;
}

static uint8_t check_optpar(struct cmd *cmd, const struct qp *qp, const struct trans_desc *d,
			    uint32_t opt)
{
	uint32_t bad = opt & ~d->opt;

	if (!type_connected(qp->type))
		bad |= opt & OPT_NOT_UD;
	else if (qp->type == QPT_UC)
		bad |= opt & OPT_NOT_UC;
	if (bad)
		return cmd_fail(cmd, ST_BAD_PARAM, "%s of a %s QP takes no opt_param 0x%x", d->name,
				qp_type_name(qp->type), bad);
	return ST_OK;
}

/* RST2INIT may give another protection domain than CREATE_QP did; the reference moves along. */
static uint8_t take_pd(struct hca *hca, struct cmd *cmd, struct qp *qp, struct qp *next)
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

/* Running values that a transition sets anew. */
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

static uint8_t qp_transition(struct hca *hca, struct cmd *cmd, enum trans t)
{
	const struct trans_desc *d = &trans_table[t];
	const uint8_t *given = IFC_ADDR(rst2init_qp_in, cmd->in, qpc);
	uint32_t opt = IFC_GET(rst2init_qp_in, cmd->in, opt_param_mask);
	struct qp *qp, next;
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_QP, IFC_GET(rst2init_qp_in, cmd->in, qpn), &o);

	if (st)
		return st;
	qp = (struct qp *)o;
	if (qp->state != d->from)
		return cmd_fail(cmd, ST_BAD_QP_STATE, "%s of QP 0x%x in %s", d->name, qp->obj.num,
				qp_state_name(qp->state));
	st = check_reserved(cmd, given);
	if (!st)
		st = check_optpar(cmd, qp, d, opt);
	if (st)
		return st;
	next = *qp;
	trans_merge(qp, t, opt, given, next.qpc);
	qp_decode(&next);
	st = check_values(hca, cmd, &next, t);
	if (!st && t == T_RST2INIT)
		st = take_pd(hca, cmd, qp, &next);
	if (st)
		return st;
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

static uint8_t qp_2err(struct hca *hca, struct cmd *cmd)
{
	struct qp *qp;
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_QP, IFC_GET(qp_2err_in, cmd->in, qpn), &o);

	if (st)
		return st;
	qp = (struct qp *)o;
	if (qp->state == QPS_RST)
		return cmd_fail(cmd, ST_BAD_QP_STATE, "2ERR of QP 0x%x in RST", qp->obj.num);
	qp_to_error(hca, qp, 0);
	return ST_OK;
}

static uint8_t qp_2rst(struct hca *hca, struct cmd *cmd)
{
	struct qp *qp;
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_QP, IFC_GET(qp_2rst_in, cmd->in, qpn), &o);

	if (st)
		return st;
	qp = (struct qp *)o;
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

#define MODIFY(op, name, fn) { op, name, IFC_SZ(rst2init_qp_in), IFC_SZ(rst2init_qp_out), fn }

const struct cmd_desc qp_cmds[] = {
	{ MLX5_CMD_OP_CREATE_QP, "CREATE_QP", IFC_BYTE(create_qp_in, pas), IFC_SZ(create_qp_out),
	  create_qp },
	{ MLX5_CMD_OP_DESTROY_QP, "DESTROY_QP", IFC_SZ(destroy_qp_in), IFC_SZ(destroy_qp_out),
	  destroy_qp },
	{ MLX5_CMD_OP_QUERY_QP, "QUERY_QP", IFC_SZ(query_qp_in),
	  IFC_BYTE(query_qp_out, reserved_at_800), query_qp },
	MODIFY(MLX5_CMD_OP_RST2INIT_QP, "RST2INIT_QP", rst2init),
	MODIFY(MLX5_CMD_OP_INIT2INIT_QP, "INIT2INIT_QP", init2init),
	MODIFY(MLX5_CMD_OP_INIT2RTR_QP, "INIT2RTR_QP", init2rtr),
	MODIFY(MLX5_CMD_OP_RTR2RTS_QP, "RTR2RTS_QP", rtr2rts),
	MODIFY(MLX5_CMD_OP_RTS2RTS_QP, "RTS2RTS_QP", rts2rts),
	MODIFY(MLX5_CMD_OP_SQERR2RTS_QP, "SQERR2RTS_QP", sqerr2rts),
	MODIFY(OP_RTS2SQD_QP, "RTS2SQD_QP", rts2sqd),
	MODIFY(OP_SQD2RTS_QP, "SQD2RTS_QP", sqd2rts),
	MODIFY(MLX5_CMD_OP_SQD_RTS_QP, "SQD_RTS_QP", sqd2rts),
	MODIFY(OP_SQD2SQD_QP, "SQD2SQD_QP", sqd2sqd),
	{ MLX5_CMD_OP_2ERR_QP, "2ERR_QP", IFC_SZ(qp_2err_in), IFC_SZ(qp_2err_out), qp_2err },
	{ MLX5_CMD_OP_2RST_QP, "2RST_QP", IFC_SZ(qp_2rst_in), IFC_SZ(qp_2rst_out), qp_2rst },
	{}
};

/* ---- module ------------------------------------------------------------------------------ */

static bool drop_one(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	qp_release(hca, (struct qp *)o);
	return true;
}

static int qp_init(struct hca *hca)
{
	hca->qps = calloc(1, sizeof(struct qps));
	return hca->qps ? 0 : -ENOMEM;
}

static void qp_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_QP, drop_one, NULL);
}

static void qp_exit(struct hca *hca)
{
	free(hca->qps);
	hca->qps = NULL;
}

const struct hca_module qp_module = {
	.name = "qp", .init = qp_init, .reset = qp_reset, .exit = qp_exit,
};
