// SPDX-License-Identifier: GPL-2.0
/*
 * DC targets: CREATE, DRAIN, DESTROY and QUERY_DCT, and ARM_DCT_FOR_KEY_VIOLATION.
 *
 * Theory: a target is ready as soon as it is created. It has no transitions as a queue pair has,
 * and its attributes do not change. DRAIN_DCT stops it:
 *
 *	ACTIVE --DRAIN_DCT--> DRAINING --the last connection is closed--> DRAINED --DESTROY_DCT-->
 *
 * In DRAINING no initiator can connect. The transport closes each connection when its message is
 * complete, and the connection of a peer that does not go on after some time; then the target
 * raises DCT_DRAINED. DESTROY_DCT is refused before that: a message could be in progress.
 */
#include <string.h>

#include "caps.h"
#include "check.h"
#include "clock.h"
#include "cmd.h"
#include "cq.h"
#include "dct.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "profile.h"
#include "qp.h"
#include "roce_address.h"
#include "srq.h"
#include "util.h"

_Static_assert(IFC_SZ(dctc) == DCTC_BYTES, "dctc size");

/**
 * dct_find() - find a DC target
 * @hca: the HCA
 * @dctn: its number
 *
 * Return: the target or NULL.
 */
struct dct *dct_find(struct hca *hca, uint32_t dctn)
{
	return (struct dct *)obj_find(hca, OBJ_DCT, dctn);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void dct_event(struct hca *hca, const struct dct *dct, enum async_event event)
{
	uint8_t data[EQE_DATA_BYTES] = {};

	put_be32(data + 24, dct->obj.num);
	hca_trace(hca, "dct_event", "\"dctn\":%u,\"event\":%u", dct->obj.num, event);
	eq_post_async(hca, event, 0, data);
}

/**
 * dct_violation() - count an initiator that came with a wrong access key
 * @hca: the HCA
 * @dct: the target, which raises DCT_KEY_VIOLATION once after each ARM_DCT_FOR_KEY_VIOLATION
 */
void dct_violation(struct hca *hca, struct dct *dct)
{
	if (dct->violations != UINT32_MAX)
		dct->violations++;
	if (!dct->armed)
		return;
	dct->armed = false;
	dct_event(hca, dct, EV_DCT_KEY_VIOLATION);
}

/**
 * dct_drained() - the transport has closed the last connection of a target
 * @hca: the HCA
 * @dct: the target, in DRAINING
 */
void dct_drained(struct hca *hca, struct dct *dct)
{
	dct->state = DCT_DRAINED;
	dct_event(hca, dct, EV_DCT_DRAINED);
}

/* ---- CREATE_DCT ------------------------------------------------------------------------------ */

/* Fields of features that targets do not have, and the count that only QUERY_DCT shows. */
static const struct ifc_field dctc_not_offered[] = {
	IFC_FIELD(dctc, atomic_like_write_en), IFC_FIELD(dctc, free_ar),
	IFC_FIELD(dctc, dc_access_key_violation_count), IFC_FIELD(dctc, ece),
};

/* Fields of RoCE, which without RoCE are not offered either. */
static const struct ifc_field dctc_roce[] = {
	IFC_FIELD(dctc, dei_cfi), IFC_FIELD(dctc, eth_prio), IFC_FIELD(dctc, ecn),
	IFC_FIELD(dctc, dscp),
};

static uint8_t dct_check_ordering(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	unsigned int order = IFC_GET(dctc, c, dp_ordering_1) << 1 |
			     ifc_get_bits(c, DCTC_DP_ORDERING_0, 1);

	if (order > DP_ORDERING_ALL || (order && !hca_cap_gen(hca, dp_ordering_ooo_all_dc)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_DCT_FIELD_NOT_OFFERED,
				"data out of order (%u) is not supported for DCTs", order);
	if (IFC_GET(dctc, c, dp_ordering_force) &&
	    (!hca_cap_gen(hca, hca_cap_2) || !hca_cap_gen_2(hca, dp_ordering_force)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_DCT_FIELD_NOT_OFFERED,
				"dctc.dp_ordering_force is set, which is not supported");
	return ST_OK;
}

static uint8_t dct_check_features(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	uint8_t st = check_offered(cmd, WHY_DCT_FIELD_NOT_OFFERED, "dctc.", c, dctc_not_offered,
				   ARRAY_SIZE(dctc_not_offered));

	if (!st && !roce_offered(hca))
		st = check_offered(cmd, WHY_DCT_FIELD_NOT_OFFERED, "dctc.", c, dctc_roce,
				   ARRAY_SIZE(dctc_roce));
	if (!st)
		st = dct_check_ordering(hca, cmd, c);
	if (st)
		return st;
	if (cmd->uid && IFC_GET(dctc, c, rlky))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_DCT_PRIVILEGED,
				"DEVX uid %u may not have rlky", cmd->uid);
	if (IFC_GET(dctc, c, user_index) && !hca_cap_gen(hca, cqe_version))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_DCT_USER_INDEX,
				"user_index is 0x%x, but CQEs have version 0",
				IFC_GET(dctc, c, user_index));
	if (IFC_GET(dctc, c, cs_res) &&
	    (IFC_GET(dctc, c, cs_res) != CS_RES_64B || !hca_cap_gen(hca, sctr_data_cqe)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_DCT_SCATTER_TO_CQE,
				"cs_res %u is not supported", IFC_GET(dctc, c, cs_res));
	return ST_OK;
}

static uint8_t dct_check_address(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	unsigned int port = IFC_GET(dctc, c, port), index = IFC_GET(dctc, c, my_addr_index);

	if (!port || port > hca_cap_gen(hca, num_ports))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PORT_UNKNOWN, "port %u does not exist",
				port);
	if (IFC_GET(dctc, c, pkey_index) >= qp_pkeys(hca))
		return cmd_fail(cmd, ST_BAD_INDEX, WHY_PKEY_INDEX,
				"P_Key index %u is beyond the table", IFC_GET(dctc, c, pkey_index));
	if (!hca->profile->eth && index >= hca->profile->gids)
		return cmd_fail(cmd, ST_BAD_INDEX, WHY_GID_INDEX, "there is no GID at index %u",
				index);
	if (roce_offered(hca) && !roce_address_get(hca, index))
		return cmd_fail(cmd, ST_BAD_INDEX, WHY_ROCE_PATH_ADDRESS,
				"there is no address at index %u", index);
	return ST_OK;
}

static uint8_t dct_check_values(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	unsigned int mtu = IFC_GET(dctc, c, mtu), mode = IFC_GET(dctc, c, atomic_mode);

	if (IFC_GET(dctc, c, state) != DCT_ACTIVE)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_DCT_STATE,
				"a DCT must be created in ACTIVE");
	if (mtu < 1 || mtu > 5)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_DCT_MTU, "mtu %u is not valid", mtu);
	if (IFC_GET(dctc, c, rae) && !hca_cap_gen(hca, atomic))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_DCT_ATOMIC_MODE,
				"atomics are not supported (atomic)");
	if (IFC_GET(dctc, c, rae) && (mode < ATOMIC_IB_COMP || mode > ATOMIC_8B))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_DCT_ATOMIC_MODE,
				"atomic_mode %u is not supported", mode);
	return dct_check_address(hca, cmd, c);
}

/* Objects that a target refers to. */
struct dct_refs {
	struct obj *pd, *cq, *srq;
};

/* Counter set 0 stands for none. A target takes no reference, as a queue pair takes none. */
static uint8_t dct_check_refs(struct hca *hca, struct cmd *cmd, const uint8_t *c,
			      struct dct_refs *r)
{
	uint32_t set = IFC_GET(dctc, c, counter_set_id);
	struct obj *counter;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_PD, IFC_GET(dctc, c, pd), &r->pd);
	if (!st)
		st = check_obj(hca, cmd, OBJ_CQ, IFC_GET(dctc, c, cqn), &r->cq);
	if (!st)
		st = check_obj(hca, cmd, OBJ_SRQ, IFC_GET(dctc, c, srqn_xrqn), &r->srq);
	if (!st && set)
		st = check_shared(hca, cmd, OBJ_QCOUNTER, set, &counter);
	if (st)
		return st;
	if (IFC_GET(dctc, c, cs_res) && !cq_holds_64((const struct cq *)r->cq))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_DCT_SCATTER_TO_CQE,
				"64 bytes do not fit the CQEs of CQ 0x%x", r->cq->num);
	if (srq_has_cq((const struct srq *)r->srq))
		return cmd_fail(cmd, ST_BAD_RES, WHY_SRQ_FORM,
				"a DCT can use neither an XRC SRQ nor an XRQ");
	return ST_OK;
}

static void dct_fill_path(struct qp_path *path, const uint8_t *c)
{
	path->pkey_index = IFC_GET(dctc, c, pkey_index);
	path->port = IFC_GET(dctc, c, port);
	path->src_gid_index = IFC_GET(dctc, c, my_addr_index);
	path->hop_limit = IFC_GET(dctc, c, hop_limit);
	path->tclass = IFC_GET(dctc, c, tclass);
	path->flow_label = IFC_GET(dctc, c, flow_label);
	path->dscp = IFC_GET(dctc, c, dscp);
	path->ecn = IFC_GET(dctc, c, ecn);
	path->eth_prio = IFC_GET(dctc, c, eth_prio);
	path->dei = IFC_GET(dctc, c, dei_cfi);
}

static void dct_fill_model(struct hca *hca, struct dct *dct, const struct dct_refs *r)
{
	struct qp *qp = &dct->model;
	const uint8_t *c = dct->dctc;

	qp->obj = dct->obj;
	qp->type = QPT_DCT;
	qp->state = QPS_RTS;
	qp->pdn = r->pd->num;
	qp->user_index = IFC_GET(dctc, c, user_index);
	qp->cqe_version1 = hca_cap_gen(hca, cqe_version) && qp->user_index != USER_INDEX_NONE;
	qp->rlky = IFC_GET(dctc, c, rlky);
	qp->rq_type = RQ_NONE;
	qp->cqn_rcv = r->cq->num;
	qp->srqn = r->srq->num;
	qp->srq = (struct srq *)r->srq;
	qp->counter_set = IFC_GET(dctc, c, counter_set_id);
	qp->cs_res = IFC_GET(dctc, c, cs_res);
	qp->mtu = 128u << IFC_GET(dctc, c, mtu);
	qp->rre = IFC_GET(dctc, c, rre);
	qp->rwe = IFC_GET(dctc, c, rwe);
	qp->rae = IFC_GET(dctc, c, rae);
	qp->atomic_mode = IFC_GET(dctc, c, atomic_mode);
	qp->min_rnr_nak = IFC_GET(dctc, c, min_rnr_nak);
	qp->max_dest_rd_atomic = 1u << hca_cap_gen(hca, log_max_ra_res_dc);
	dct_fill_path(&qp->path, c);
}

static uint8_t create_dct(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(create_dct_in, cmd->in, dct_context_entry);
	struct dct_refs r = {};
	struct dct *dct;
	uint8_t st;

	st = dct_check_features(hca, cmd, c);
	if (!st)
		st = dct_check_values(hca, cmd, c);
	if (!st)
		st = dct_check_refs(hca, cmd, c, &r);
	if (st)
		return st;
	dct = (struct dct *)obj_new(hca, OBJ_DCT, cmd->uid, sizeof(*dct));
	if (!dct)
		return cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE, "all DCT numbers are in use");
	memcpy(dct->dctc, c, DCTC_BYTES);
	dct->access_key = IFC_GET64(dctc, c, dc_access_key);
	dct_fill_model(hca, dct, &r);
	r.pd->refs++;
	r.cq->refs++;
	r.srq->refs++;
	IFC_SET(create_dct_out, cmd->out, dctn, dct->obj.num);
	return ST_OK;
}

/* ---- the other commands ---------------------------------------------------------------------- */

static uint8_t dct_check_state(struct cmd *cmd, const struct dct *dct, enum dct_state want)
{
	static const char *const name[] = { "ACTIVE", "DRAINING", "DRAINED" };

	if (dct->state == want)
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_DCT_STATE, "DCT 0x%x is in %s, not in %s",
			dct->obj.num, name[dct->state], name[want]);
}

static uint8_t drain_dct(struct hca *hca, struct cmd *cmd)
{
	struct dct *dct;
	struct obj *o;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_DCT, IFC_GET(drain_dct_in, cmd->in, dctn), &o);
	dct = (struct dct *)o;
	if (!st)
		st = dct_check_state(cmd, dct, DCT_ACTIVE);
	if (st)
		return st;
	dct->state = DCT_DRAINING;
	dct->drain_ns = clock_now_ns();
	hca->board->qp->dct_drain(hca);
	return ST_OK;
}

static void dct_release(struct hca *hca, struct dct *dct)
{
	const struct qp *model = &dct->model;

	obj_put(hca, &model->srq->obj);
	obj_put(hca, obj_find(hca, OBJ_CQ, model->cqn_rcv));
	obj_put(hca, obj_find(hca, OBJ_PD, model->pdn));
	obj_free(hca, &dct->obj);
}

static uint8_t destroy_dct(struct hca *hca, struct cmd *cmd)
{
	struct obj *o;
	uint8_t st;

	st = check_destroy(hca, cmd, OBJ_DCT, IFC_GET(destroy_dct_in, cmd->in, dctn), &o);
	if (!st)
		st = dct_check_state(cmd, (struct dct *)o, DCT_DRAINED);
	if (!st)
		dct_release(hca, (struct dct *)o);
	return st;
}

static uint8_t query_dct(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_dct_out, cmd->out, dct_context_entry);
	const struct dct *dct;
	struct obj *o;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_DCT, IFC_GET(query_dct_in, cmd->in, dctn), &o);
	if (st)
		return st;
	dct = (struct dct *)o;
	memcpy(c, dct->dctc, DCTC_BYTES);
	IFC_SET(dctc, c, state, dct->state);
	IFC_SET(dctc, c, dc_access_key_violation_count, dct->violations);
	return ST_OK;
}

static uint8_t arm_dct(struct hca *hca, struct cmd *cmd)
{
	struct dct *dct;
	struct obj *o;
	uint8_t st;

	st = check_obj(hca, cmd, OBJ_DCT, IFC_GET(arm_dct_in, cmd->in, dct_number), &o);
	dct = (struct dct *)o;
	if (!st)
		st = dct_check_state(cmd, dct, DCT_ACTIVE);
	if (!st)
		dct->armed = true;
	return st;
}

const struct cmd_desc dct_cmds[] = {
	CMD(CREATE_DCT, create_dct, create_dct, .flags = CMD_DC),
	CMD(DRAIN_DCT, drain_dct, drain_dct, .flags = CMD_DC),
	CMD(DESTROY_DCT, destroy_dct, destroy_dct, .flags = CMD_DC),
	CMD_MIN(QUERY_DCT, query_dct, IFC_SZ(query_dct_in),
		IFC_BYTE(query_dct_out, reserved_at_280), query_dct, .flags = CMD_DC),
	CMD(ARM_DCT_FOR_KEY_VIOLATION, arm_dct, arm_dct, .flags = CMD_DC),
	{}
};

static bool dct_drop(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	dct_release(hca, (struct dct *)o);
	return true;
}

static void dct_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_DCT, dct_drop, NULL);
}

const struct hca_module dct_module = { .name = "dct", .reset = dct_reset };
