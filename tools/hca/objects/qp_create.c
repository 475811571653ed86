// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: CREATE_QP and its checks, DESTROY_QP and QUERY_QP.
 */
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "cq.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "profile.h"
#include "qp.h"
#include "queue_mem.h"
#include "srq.h"
#include "util.h"

static void qp_take_queues(struct qp *qp)
{
	const uint8_t *c = qp->created;

	qp->type = IFC_GET(qpc, c, st);
	qp->uar = IFC_GET(qpc, c, uar_page);
	qp->pdn = IFC_GET(qpc, c, pd);
	qp->user_index = IFC_GET(qpc, c, user_index);
	qp->block_lb_mc = IFC_GET(qpc, c, block_lb_mc);
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
	qp->max_failed_streams = 1u << IFC_GET(qpc, c, log_num_dci_errored_streams);
	qp->rndv = IFC_GET(qpc, c, offload_type) == MLX5_QPC_OFFLOAD_TYPE_RNDV;
	qp->has_streams = IFC_GET(qpc, c, log_num_dci_stream_channels) ||
			  IFC_GET(qpc, c, log_num_dci_errored_streams);
}

/*
 * The reserved key gives access to all memory, and a UMR queue pair can make a key that does. The
 * packets of QP0 and QP1, or of a queue pair that sends as one of them, speak for the host. So a
 * user id may create none of these queue pairs, whatever its capabilities.
 */
static uint8_t qp_check_user(struct cmd *cmd, const struct qp *qp)
{
	if (!cmd->uid)
		return ST_OK;
	if (qp->rlky || IFC_GET(qpc, qp->created, fre))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_PRIVILEGED,
				"DEVX uid %u may have neither rlky nor fre", cmd->uid);
	if (qp->type == QPT_QP0 || qp->type == QPT_QP1 || qp->type == QPT_REG_UMR)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_PRIVILEGED,
				"DEVX uid %u may have no %s", cmd->uid, qp_type_name(qp->type));
	if (qp->deth_sqpn)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_PRIVILEGED,
				"DEVX uid %u may not send as QP 0x%x", cmd->uid, qp->deth_sqpn);
	return ST_OK;
}

/* Check that the capabilities include the service type. */
static uint8_t qp_check_type(struct hca *hca, struct cmd *cmd, const struct qp *qp)
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
	case QPT_DCI:
		ok = hca_cap_gen(hca, dct);
		break;
	case QPT_QP0:
	case QPT_QP1:
		if (hca->profile->eth && (qp->type == QPT_QP0 || !hca_cap_gen(hca, roce)))
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_SERVICE_TYPE,
					"an Ethernet port has no %s", qp_type_name(qp->type));
		if (qp_special(hca, qp->type - QPT_QP0))
			return cmd_fail(cmd, ST_RES_BUSY, WHY_QP_SPECIAL_EXISTS,
					"the port has a %s already", qp_type_name(qp->type));
		ok = true;
		break;
	case QPT_REG_UMR:
		ok = true;
		break;
	default:
		ok = false;
	}
	return ok ? ST_OK : cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_SERVICE_TYPE,
				     "service type %u is not supported", qp->type);
}

static uint8_t qp_check_sizes(struct hca *hca, struct cmd *cmd, const struct qp *qp)
{
	const uint8_t *c = qp->created;
	unsigned int log_max = hca_cap_gen(hca, log_max_qp_sz);

	if (IFC_GET(qpc, c, no_sq) && IFC_GET(qpc, c, log_sq_size))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_SQ_SIZE, "no_sq is set with an SQ size");
	if (qp->has_sq && IFC_GET(qpc, c, log_sq_size) > log_max)
		return cmd_fail(cmd, ST_LIM, WHY_QP_SQ_SIZE, "an SQ of 2^%u WQEBBs is too large",
				IFC_GET(qpc, c, log_sq_size));
	if (qp->rq_type == RQ_CRQ)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_RQ_TYPE, "rq_type %u is not supported",
				qp->rq_type);
	/* The stock driver gives a DCI an SRQ: that of the program, or one of its own. */
	if (qp->type == QPT_DCI && (!qp->has_sq || qp->rq_type == RQ_OWN))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_DCI_QUEUES,
				"a DCI must have an SQ and no RQ");
	if (qp->rq_type != RQ_OWN &&
	    (IFC_GET(qpc, c, log_rq_size) || IFC_GET(qpc, c, log_rq_stride)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_RQ_SIZE,
				"an RQ size is given without an RQ");
	if (qp->rq_type == RQ_OWN && IFC_GET(qpc, c, log_rq_size) > log_max)
		return cmd_fail(cmd, ST_LIM, WHY_QP_RQ_SIZE, "an RQ of 2^%u WQEs is too large",
				IFC_GET(qpc, c, log_rq_size));
	if (qp->rq_type == RQ_OWN && 1u << qp->rq_shift > hca_cap_gen(hca, max_wqe_sz_rq))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_RQ_STRIDE,
				"an RQ stride of 2^%u is too large", qp->rq_shift);
	if (IFC_GET(qpc, c, state) != QPS_RST)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_STATE, "a QP must be created in RST");
	if (qp->type == QPT_REG_UMR && (!qp->has_sq || qp->rq_type == RQ_OWN))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_UMR_QUEUES,
				"a UMR QP must have an SQ and no RQ");
	if (qp->type == QPT_REG_UMR && qp->pdn)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_UMR_PD,
				"a UMR QP gets its PD by RST2INIT_QP, not here");
	return qp_check_features(hca, cmd, qp);
}

/* Objects that a queue pair refers to; NULL where it refers to none. */
struct qp_refs {
	struct obj *uar, *pd, *cq_snd, *cq_rcv, *srq, *xrcd;
};

/*
 * Only XRC packets name an SRQ of an XRC domain, so other queue pairs cannot take its WQEs. Tags
 * are matched with the messages of RC alone.
 */
static uint8_t qp_check_srq(struct hca *hca, struct cmd *cmd, const struct qp *qp,
			    struct obj **srq)
{
	uint8_t st = check_obj(hca, cmd, OBJ_SRQ, qp->srqn, srq);
	enum srq_kind kind;

	if (st)
		return st;
	kind = ((const struct srq *)*srq)->kind;
	if (qp->type != QPT_XRC && kind == SRQ_XRC)
		return cmd_fail(cmd, ST_BAD_RES, WHY_SRQ_FORM, "a %s QP cannot use an XRC SRQ",
				qp_type_name(qp->type));
	if (qp->type != QPT_RC && kind == SRQ_XRQ)
		return cmd_fail(cmd, ST_BAD_RES, WHY_SRQ_FORM, "a %s QP cannot use an XRQ",
				qp_type_name(qp->type));
	if (qp->rndv && kind != SRQ_XRQ)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_RENDEZVOUS,
				"the HCA reads rendezvous data for QPs with an XRQ");
	return ST_OK;
}

/* Data of more than 32 bytes needs CQEs of 128 bytes. An XRC SRQ's CQ is not known yet. */
static uint8_t qp_check_scatter(struct hca *hca, struct cmd *cmd, const struct qp *qp,
				const struct qp_refs *r)
{
	const struct srq *srq = (const struct srq *)r->srq;
	const struct cq *snd = (const struct cq *)r->cq_snd, *rcv = (const struct cq *)r->cq_rcv;

	if (srq && srq_has_cq(srq))
		rcv = cq_find(hca, srq->cqn);
	if ((qp->cs_req == CS_REQ_64B && snd && !cq_holds_64(snd)) ||
	    (qp->cs_res == CS_RES_64B && rcv && qp->type != QPT_XRC && !cq_holds_64(rcv)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_SCATTER_TO_CQE_SIZE,
				"64 bytes do not fit the CQEs of the QP's CQs");
	return ST_OK;
}

static uint8_t qp_check_refs(struct hca *hca, struct cmd *cmd, const struct qp *qp,
			     struct qp_refs *r)
{
	bool receives = qp->rq_type == RQ_OWN || qp->rq_type == RQ_SRQ;
	uint8_t st;

	*r = (struct qp_refs){};
	/* A UMR queue pair has no domain before RST2INIT. */
	st = qp->type == QPT_REG_UMR ? ST_OK : check_obj(hca, cmd, OBJ_PD, qp->pdn, &r->pd);
	if (!st && qp->has_sq)
		st = check_uar(hca, cmd, qp->uar, &r->uar);
	if (!st && (qp->has_sq || qp->cqn_snd))
		st = check_obj(hca, cmd, OBJ_CQ, qp->cqn_snd, &r->cq_snd);
	if (!st && (receives || qp->cqn_rcv))
		st = check_obj(hca, cmd, OBJ_CQ, qp->cqn_rcv, &r->cq_rcv);
	/* A DCI never receives: the SRQ that its context names is of no interest. */
	if (!st && qp->rq_type == RQ_SRQ && qp->type != QPT_DCI)
		st = qp_check_srq(hca, cmd, qp, &r->srq);
	if (!st && qp->type == QPT_XRC)
		st = check_obj(hca, cmd, OBJ_XRCD, qp->xrcdn, &r->xrcd);
	return st;
}

static void qp_refs_get(const struct qp_refs *r)
{
	struct obj *const o[] = { r->uar, r->pd, r->cq_snd, r->cq_rcv, r->srq, r->xrcd };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(o); i++)
		if (o[i])
			o[i]->refs++;
}

/*
 * Take over the memory of the queues and the doorbell record. A queue pair without queues needs no
 * record.
 */
static uint8_t qp_take_memory(struct hca *hca, struct cmd *cmd, struct qp *qp)
{
	const uint8_t *c = qp->created;
	const struct dbr_source dbr = {
		.addr = IFC_GET64(qpc, c, dbr_addr),
		.in_umem = IFC_GET(qpc, c, dbr_umem_valid),
		.umem_id = ifc_get_bits(c, QPC_DBR_UMEM_ID, 32),
	};
	const struct qmem_source mem = {
		.pas = IFC_ADDR(create_qp_in, cmd->in, pas),
		.log_page = IFC_GET(qpc, c, log_page_size) + 12,
		.page_offset = IFC_GET(qpc, c, page_offset),
		.in_umem = IFC_GET(create_qp_in, cmd->in, wq_umem_valid),
		.umem.id = IFC_GET(create_qp_in, cmd->in, wq_umem_id),
		.umem.offset = IFC_GET64(create_qp_in, cmd->in, wq_umem_offset),
	};
	uint8_t st = ST_OK;

	if (qp->has_sq || qp->rq_type == RQ_OWN || dbr.in_umem)
		st = dbr_init(hca, cmd, &qp->dbr, &dbr, 8);
	if (!st)
		st = qmem_init(hca, cmd, &qp->mem, &mem, qp->sq_off + (size_t)qp->sq_cnt * 64, 64,
			       UMEM_READ);
	return st;
}

static uint8_t qp_create_check(struct hca *hca, struct cmd *cmd, struct qp *qp, struct qp_refs *r)
{
	uint8_t st;

	if (IFC_GET(create_qp_in, cmd->in, input_qpn))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_INPUT_QPN,
				"the HCA chooses the QPN: input_qpn must be 0");
	if (IFC_GET(create_qp_in, cmd->in, qpc_ext))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_EXTENSION_NOT_OFFERED,
				"QPC extensions are not supported");
	st = qp_check_context(hca, cmd, qp->created);
	if (!st)
		st = qp_check_user(cmd, qp);
	if (!st)
		st = qp_check_type(hca, cmd, qp);
	if (!st)
		st = qp_check_ordering(hca, cmd, qp->type, qp->created);
	if (!st)
		st = qp_check_sizes(hca, cmd, qp);
	if (!st)
		st = qp_check_refs(hca, cmd, qp, r);
	if (!st)
		st = qp_check_scatter(hca, cmd, qp, r);
	return st ? st : qp_take_memory(hca, cmd, qp);
}

static uint8_t create_qp(struct hca *hca, struct cmd *cmd)
{
	struct qp tmp = {}, *qp;
	struct qp_refs refs;
	uint8_t st;

	memcpy(tmp.created, IFC_ADDR(create_qp_in, cmd->in, qpc), QPC_BYTES);
	memcpy(tmp.qpc, tmp.created, QPC_BYTES);
	qp_take_queues(&tmp);
	qp_decode(&tmp);
	st = qp_create_check(hca, cmd, &tmp, &refs);
	qp = st ? NULL : (struct qp *)obj_new(hca, OBJ_QP, cmd->uid, sizeof(*qp));
	if (!qp) {
		qmem_free(hca, &tmp.mem);
		dbr_free(hca, &tmp.dbr);
		return st ? st : cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE,
					  "all QP numbers are in use");
	}
	tmp.obj = qp->obj;
	*qp = tmp;
	qp->srq = (struct srq *)refs.srq;
	qp->real_time = qp_has_real_time(hca, qp);
	qp->cqe_version1 = hca_cap_gen(hca, cqe_version) && qp->user_index != USER_INDEX_NONE;
	qp_refs_get(&refs);
	qp_set_special(hca, qp, true);
	hca->board->qp->state(hca, qp, QPS_RST, QPS_RST);
	IFC_SET(create_qp_out, cmd->out, qpn, qp->obj.num);
	return ST_OK;
}

static uint8_t destroy_qp(struct hca *hca, struct cmd *cmd)
{
	struct obj *o;
	uint8_t st = check_destroy(hca, cmd, OBJ_QP, IFC_GET(destroy_qp_in, cmd->in, qpn), &o);

	if (!st)
		qp_release(hca, (struct qp *)o);
	return st;
}

#define QPC_EXT		qp_pas_or_qpc_ext_and_pas.qpc_ext_and_pas_list.qpc_data_extension
#define QPC_EXT_END	(IFC_BYTE(query_qp_out, QPC_EXT) + IFC_SZ(qp_context_extension))

/* The extension of the context says why the queue pair is in SQER or ERR. */
static uint8_t query_qp_ext(struct hca *hca, struct cmd *cmd, const struct qp *qp)
{
	if (!IFC_GET(query_qp_in, cmd->in, qpc_ext))
		return ST_OK;
	if (!hca_cap_gen(hca, qp_error_syndrome))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED,
				"qpc_ext is set, which needs qp_error_syndrome");
	if (cmd->out_len < QPC_EXT_END)
		return cmd_fail(cmd, ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH,
				"output of %zu bytes, with the QPC extension %u are needed",
				cmd->out_len, (unsigned int)QPC_EXT_END);
	cqe_error_put(cmd->out + IFC_BYTE(query_qp_out, QPC_EXT.error_syndrome), qp->error);
	return ST_OK;
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
	IFC_SET(qpc, c, rmsn, qp->msn);
	IFC_SET(qpc, c, ssn, qp->ssn);
	IFC_SET(qpc, c, cur_retry_count, qp->cur_retry);
	IFC_SET(qpc, c, cur_rnr_retry, qp->cur_rnr_retry);
	IFC_SET(qpc, c, hw_sq_wqebb_counter, qp->sq_hw);
	IFC_SET(qpc, c, hw_rq_counter, qp->rq_hw);
	if (qp->has_sq && qp_dbr_read(hca, qp, DBR_SND, &posted))
		IFC_SET(qpc, c, sw_sq_wqebb_counter, posted);
	if (qp->rq_type == RQ_OWN && qp_dbr_read(hca, qp, DBR_RCV, &posted))
		IFC_SET(qpc, c, sw_rq_counter, posted);
	return query_qp_ext(hca, cmd, qp);
}

const struct cmd_desc qp_cmds[] = {
	CMD_MIN(CREATE_QP, create_qp, IFC_BYTE(create_qp_in, pas), IFC_SZ(create_qp_out),
		create_qp),
	CMD(DESTROY_QP, destroy_qp, destroy_qp),
	CMD_MIN(QUERY_QP, query_qp, IFC_SZ(query_qp_in), IFC_BYTE(query_qp_out, reserved_at_800),
		query_qp),
	{}
};
