// SPDX-License-Identifier: GPL-2.0
/*
 * DC targets: what their contexts must not contain, what they refer to, their states and events;
 * and what the context of an initiator must not contain.
 */
#include <string.h>

#include "caps.h"
#include "check.h"
#include "dct.h"
#include "ifc.h"
#include "objrig.h"
#include "profile.h"
#include "qp.h"
#include "srq.h"
#include "util.h"

#define SRQ_BUF	(RAM_BASE + 0x8000)
#define SRQ_DBR	(RAM_BASE + 0x200)
#define QP_BUF	(RAM_BASE + 0x10000)
#define QP_DBR	(RAM_BASE + 0x300)
#define UID	7
#define KEY	0x1122334455667788ull
#define FIELD(fld) IFC_FIELD(dctc, fld)

static uint32_t pd, uar, cqn, srqn;
static uint8_t in[IFC_SZ(create_dct_in)];

static uint32_t new_srq(void)
{
	uint8_t cmd[IFC_BYTE(create_srq_in, pas) + 8] = {}, out[IFC_SZ(create_srq_out)];
	uint8_t *c = IFC_ADDR(create_srq_in, cmd, srq_context_entry);

	IFC_SET(srqc, c, log_srq_size, 4);
	IFC_SET(srqc, c, log_rq_stride, 2);
	IFC_SET(srqc, c, pd, pd);
	IFC_SET64(srqc, c, dbr_addr, SRQ_DBR);
	put_be64(IFC_ADDR(create_srq_in, cmd, pas), SRQ_BUF);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_CREATE_SRQ, 0, 0, cmd, sizeof(cmd), out, sizeof(out)),
			 ST_OK);
	return IFC_GET(create_srq_out, out, srqn);
}

/* Fill in[] with a context that is valid. */
static uint8_t *good(void)
{
	uint8_t *c = IFC_ADDR(create_dct_in, in, dct_context_entry);

	memset(in, 0, sizeof(in));
	IFC_SET(dctc, c, pd, pd);
	IFC_SET(dctc, c, cqn, cqn);
	IFC_SET(dctc, c, srqn_xrqn, srqn);
	IFC_SET(dctc, c, mtu, 3);
	IFC_SET(dctc, c, port, 1);
	IFC_SET(dctc, c, user_index, 0x123);
	IFC_SET(dctc, c, cs_res, 2);
	IFC_SET(dctc, c, rwe, 1);
	IFC_SET(dctc, c, rae, 1);
	IFC_SET(dctc, c, atomic_mode, ATOMIC_8B);
	IFC_SET64(dctc, c, dc_access_key, KEY);
	return c;
}

static int setup(void **state)
{
	rig_setup(state);
	pd = rig_pd();
	uar = rig_uar(0);
	cqn = rig_cq(RAM_BASE + 0x4000, RAM_BASE + 0x100, 4, 128, uar, rig_eq());
	srqn = new_srq();
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], cqe_version, 1);
	good();
	rig_clear();
	return 0;
}

static uint8_t create(uint16_t uid, uint32_t *dctn)
{
	uint8_t out[IFC_SZ(create_dct_out)];
	uint8_t st = rig_cmd(MLX5_CMD_OP_CREATE_DCT, 0, uid, in, sizeof(in), out, sizeof(out));

	*dctn = IFC_GET(create_dct_out, out, dctn);
	return st;
}

static uint32_t new_dct(void)
{
	uint32_t dctn;

	good();
	assert_int_equal(create(0, &dctn), ST_OK);
	return dctn;
}

/* A command whose input is a DCT number, which all of them have in the same place. */
static uint8_t about(uint16_t opcode, uint32_t dctn)
{
	uint8_t cmd[IFC_SZ(drain_dct_in)] = {}, out[IFC_SZ(drain_dct_out)];

	IFC_SET(drain_dct_in, cmd, dctn, dctn);
	return rig_cmd(opcode, 0, 0, cmd, sizeof(cmd), out, sizeof(out));
}

static const uint8_t *query(uint32_t dctn)
{
	static uint8_t out[IFC_BYTE(query_dct_out, reserved_at_280)];
	uint8_t cmd[IFC_SZ(query_dct_in)] = {};

	IFC_SET(query_dct_in, cmd, dctn, dctn);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_DCT, 0, 0, cmd, sizeof(cmd), out, sizeof(out)),
			 ST_OK);
	return IFC_ADDR(query_dct_out, out, dct_context_entry);
}

static void contexts_are_checked(void **state)
{
	static const struct rig_bad bad[] = {
		{ FIELD(state), 1, ST_BAD_PARAM, WHY_DCT_STATE },
		{ FIELD(dp_ordering_1), 1, ST_BAD_PARAM, WHY_DCT_FIELD_NOT_OFFERED },
		{ { DCTC_DP_ORDERING_0, 1, "dp_ordering_0" }, 1, ST_BAD_PARAM,
		  WHY_DCT_FIELD_NOT_OFFERED },
		{ FIELD(dp_ordering_force), 1, ST_BAD_PARAM, WHY_DCT_FIELD_NOT_OFFERED },
		{ FIELD(atomic_like_write_en), 1, ST_BAD_PARAM, WHY_DCT_FIELD_NOT_OFFERED },
		{ FIELD(free_ar), 1, ST_BAD_PARAM, WHY_DCT_FIELD_NOT_OFFERED },
		{ FIELD(dc_access_key_violation_count), 1, ST_BAD_PARAM,
		  WHY_DCT_FIELD_NOT_OFFERED },
		{ FIELD(ece), 1, ST_BAD_PARAM, WHY_DCT_FIELD_NOT_OFFERED },
		{ FIELD(dscp), 1, ST_BAD_PARAM, WHY_DCT_FIELD_NOT_OFFERED },
		{ FIELD(ecn), 1, ST_BAD_PARAM, WHY_DCT_FIELD_NOT_OFFERED },
		{ FIELD(eth_prio), 1, ST_BAD_PARAM, WHY_DCT_FIELD_NOT_OFFERED },
		{ FIELD(dei_cfi), 1, ST_BAD_PARAM, WHY_DCT_FIELD_NOT_OFFERED },
		{ FIELD(cs_res), 1, ST_BAD_PARAM, WHY_DCT_SCATTER_TO_CQE },
		{ FIELD(mtu), 0, ST_BAD_PARAM, WHY_DCT_MTU },
		{ FIELD(mtu), 6, ST_BAD_PARAM, WHY_DCT_MTU },
		{ FIELD(atomic_mode), 0, ST_BAD_PARAM, WHY_DCT_ATOMIC_MODE },
		{ FIELD(atomic_mode), 4, ST_BAD_PARAM, WHY_DCT_ATOMIC_MODE },
		{ FIELD(port), 0, ST_BAD_PARAM, WHY_PORT_UNKNOWN },
		{ FIELD(port), 2, ST_BAD_PARAM, WHY_PORT_UNKNOWN },
		{ FIELD(pkey_index), 128, ST_BAD_INDEX, WHY_PKEY_INDEX },
		{ FIELD(my_addr_index), 2, ST_BAD_INDEX, WHY_GID_INDEX },
		{ FIELD(pd), 0, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ FIELD(cqn), 0, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ FIELD(srqn_xrqn), 0, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ FIELD(counter_set_id), 3, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
	};
	uint32_t short_cqn = rig_cq(RAM_BASE + 0x6000, RAM_BASE + 0x180, 4, 64, uar, rig_eq());
	uint32_t dctn;

	(void)state;
	rig_check_bad(bad, ARRAY_SIZE(bad), good, create);
	IFC_SET(dctc, good(), cqn, short_cqn);
	assert_refused(create(0, &dctn), ST_BAD_PARAM, WHY_DCT_SCATTER_TO_CQE);
	assert_int_equal(obj_count(rig.hca, OBJ_DCT), 0);
	assert_int_equal(obj_find(rig.hca, OBJ_SRQ, srqn)->refs, 0);
}

static void features_need_their_capabilities(void **state)
{
	uint8_t *cap = rig.hca->cap[CAP_GENERAL];
	uint32_t dctn;

	(void)state;
	IFC_SET(cmd_hca_cap, cap, cqe_version, 0);
	assert_refused(create(0, &dctn), ST_BAD_PARAM, WHY_DCT_USER_INDEX);
	IFC_SET(cmd_hca_cap, cap, cqe_version, 1);
	IFC_SET(cmd_hca_cap, cap, sctr_data_cqe, 0);
	assert_refused(create(0, &dctn), ST_BAD_PARAM, WHY_DCT_SCATTER_TO_CQE);
	IFC_SET(cmd_hca_cap, cap, sctr_data_cqe, 1);
	IFC_SET(cmd_hca_cap, cap, atomic, 0);
	assert_refused(create(0, &dctn), ST_BAD_PARAM, WHY_DCT_ATOMIC_MODE);
	IFC_SET(cmd_hca_cap, cap, atomic, 1);
	IFC_SET(dctc, good(), dp_ordering_1, 1);
	IFC_SET(cmd_hca_cap, cap, dp_ordering_ooo_all_dc, 1);
	assert_int_equal(create(0, &dctn), ST_OK);
	/* 2 stands for all operations, 1 for READs and WRITEs; there is no 3. */
	ifc_set_bits(IFC_ADDR(create_dct_in, in, dct_context_entry), DCTC_DP_ORDERING_0, 1, 1);
	assert_refused(create(0, &dctn), ST_BAD_PARAM, WHY_DCT_FIELD_NOT_OFFERED);
	ifc_set_bits(good(), DCTC_DP_ORDERING_0, 1, 1);
	assert_int_equal(create(0, &dctn), ST_OK);
}

static void a_user_may_not_have_the_reserved_key(void **state)
{
	uint32_t dctn;

	(void)state;
	rig_give(OBJ_PD, pd, UID);
	rig_give(OBJ_CQ, cqn, UID);
	rig_give(OBJ_SRQ, srqn, UID);
	IFC_SET(dctc, good(), rlky, 1);
	assert_refused(create(UID, &dctn), ST_BAD_PARAM, WHY_DCT_PRIVILEGED);
	good();
	assert_int_equal(create(UID, &dctn), ST_OK);
}

static void what_a_target_names_has_to_be_its_users(void **state)
{
	static const enum obj_kind kinds[] = { OBJ_PD, OBJ_CQ, OBJ_SRQ };
	const uint32_t nums[] = { pd, cqn, srqn };
	uint32_t dctn;
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (k = 0; k < ARRAY_SIZE(kinds); k++)
			rig_give(kinds[k], nums[k], i == k ? UID + 1 : UID);
		assert_refused(create(UID, &dctn), ST_BAD_RES, WHY_OBJECT_OWNER);
	}
}

static void an_xrc_srq_is_none_for_a_target(void **state)
{
	uint32_t dctn;

	(void)state;
	srq_find(rig.hca, srqn)->kind = SRQ_XRC;
	assert_refused(create(0, &dctn), ST_BAD_RES, WHY_SRQ_FORM);
	srq_find(rig.hca, srqn)->kind = SRQ_XRQ;
	assert_refused(create(0, &dctn), ST_BAD_RES, WHY_SRQ_FORM);
	srq_find(rig.hca, srqn)->kind = SRQ_BASIC;
}

static void a_target_keeps_what_it_names(void **state)
{
	uint32_t dctn = new_dct();

	(void)state;
	assert_int_equal(obj_find(rig.hca, OBJ_SRQ, srqn)->refs, 1);
	assert_int_equal(obj_find(rig.hca, OBJ_CQ, cqn)->refs, 1);
	about(MLX5_CMD_OP_DRAIN_DCT, dctn);
	dct_drained(rig.hca, dct_find(rig.hca, dctn));
	assert_int_equal(about(MLX5_CMD_OP_DESTROY_DCT, dctn), ST_OK);
	assert_int_equal(obj_find(rig.hca, OBJ_SRQ, srqn)->refs, 0);
	assert_int_equal(obj_find(rig.hca, OBJ_CQ, cqn)->refs, 0);
	assert_null(dct_find(rig.hca, dctn));
}

static void numbers_are_not_those_of_queue_pairs(void **state)
{
	struct profile *p = rig.profile;

	(void)state;
	new_dct();
	profile_default(p, false);
	assert_true(p->range[OBJ_DCT].first >= 1u << 23);
	assert_true(p->range[OBJ_DCT].limit <= p->range[OBJ_RQ].first);
	assert_true(p->range[OBJ_DCT].first >= p->range[OBJ_SQ].limit);
}

static void numbers_run_out(void **state)
{
	uint32_t dctn;

	(void)state;
	rig.profile->range[OBJ_DCT].limit = rig.profile->range[OBJ_DCT].first + 1;
	new_dct();
	assert_refused(create(0, &dctn), ST_LIM, WHY_NUMBERS_IN_USE);
}

static void a_target_is_destroyed_only_when_it_has_drained(void **state)
{
	uint32_t dctn = new_dct();

	(void)state;
	assert_refused(about(MLX5_CMD_OP_DESTROY_DCT, dctn), ST_BAD_RES_STATE, WHY_DCT_STATE);
	assert_int_equal(about(MLX5_CMD_OP_DRAIN_DCT, dctn), ST_OK);
	assert_int_equal(rig.drains, 1);
	assert_int_equal(IFC_GET(dctc, query(dctn), state), DCT_DRAINING);
	assert_refused(about(MLX5_CMD_OP_DRAIN_DCT, dctn), ST_BAD_RES_STATE, WHY_DCT_STATE);
	assert_refused(about(MLX5_CMD_OP_DESTROY_DCT, dctn), ST_BAD_RES_STATE, WHY_DCT_STATE);
	assert_refused(about(MLX5_CMD_OP_ARM_DCT_FOR_KEY_VIOLATION, dctn), ST_BAD_RES_STATE,
		       WHY_DCT_STATE);
	rig_clear();
	dct_drained(rig.hca, dct_find(rig.hca, dctn));
	assert_int_equal(rig.nev, 1);
	assert_int_equal(rig.ev[0].type, EV_DCT_DRAINED);
	assert_int_equal(get_be32(rig.ev[0].data + 24), dctn);
	assert_int_equal(IFC_GET(dctc, query(dctn), state), DCT_DRAINED);
	assert_int_equal(about(MLX5_CMD_OP_DESTROY_DCT, dctn), ST_OK);
	assert_refused(about(MLX5_CMD_OP_DRAIN_DCT, dctn), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_refused(about(MLX5_CMD_OP_DESTROY_DCT, dctn), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_refused(about(MLX5_CMD_OP_ARM_DCT_FOR_KEY_VIOLATION, dctn), ST_BAD_RES,
		       WHY_OBJECT_UNKNOWN);
}

static void a_wrong_key_raises_an_event_once_it_is_armed(void **state)
{
	uint32_t dctn = new_dct();
	struct dct *dct = dct_find(rig.hca, dctn);

	(void)state;
	dct_violation(rig.hca, dct);
	assert_int_equal(rig.nev, 0);
	assert_int_equal(about(MLX5_CMD_OP_ARM_DCT_FOR_KEY_VIOLATION, dctn), ST_OK);
	rig_clear();
	dct_violation(rig.hca, dct);
	dct_violation(rig.hca, dct);
	assert_int_equal(rig.nev, 1);
	assert_int_equal(rig.ev[0].type, EV_DCT_KEY_VIOLATION);
	assert_int_equal(get_be32(rig.ev[0].data + 24), dctn);
	assert_int_equal(IFC_GET(dctc, query(dctn), dc_access_key_violation_count), 3);
}

static void query_shows_the_context(void **state)
{
	const uint8_t *c = query(new_dct());

	(void)state;
	assert_memory_equal(c, IFC_ADDR(create_dct_in, in, dct_context_entry), DCTC_BYTES);
	assert_true(IFC_GET64(dctc, c, dc_access_key) == KEY);
}

static void the_model_has_what_the_context_says(void **state)
{
	const struct qp *qp = &dct_find(rig.hca, new_dct())->model;

	(void)state;
	assert_int_equal(qp->type, QPT_DCT);
	assert_int_equal(qp->mtu, 1024);
	assert_int_equal(qp->user_index, 0x123);
	assert_true(qp->cqe_version1);
	assert_int_equal(qp->max_dest_rd_atomic, 8);
	assert_true(qp->rwe && qp->rae && !qp->rre);
	assert_ptr_equal(qp->srq, srq_find(rig.hca, srqn));
}

/* ---- the initiator --------------------------------------------------------------------------- */

static uint8_t create_dci(uint8_t rq_type, bool no_sq, struct ifc_field f, uint32_t value,
			  uint32_t *qpn)
{
	uint8_t cmd[IFC_BYTE(create_qp_in, pas) + 8] = {}, out[IFC_SZ(create_qp_out)], st;
	uint8_t *c = IFC_ADDR(create_qp_in, cmd, qpc);

	IFC_SET(qpc, c, st, QPT_DCI);
	IFC_SET(qpc, c, pm_state, 3);
	IFC_SET(qpc, c, pd, pd);
	IFC_SET(qpc, c, rq_type, rq_type);
	IFC_SET(qpc, c, log_sq_size, no_sq ? 0 : 4);
	IFC_SET(qpc, c, no_sq, no_sq);
	IFC_SET(qpc, c, uar_page, uar);
	IFC_SET(qpc, c, cqn_snd, cqn);
	IFC_SET(qpc, c, cqn_rcv, cqn);
	/* An SRQ that does not exist: nobody looks. */
	IFC_SET(qpc, c, srqn_rmpn_xrqn, rq_type == RQ_SRQ ? srqn + 1 : 0);
	IFC_SET64(qpc, c, dbr_addr, QP_DBR);
	put_be64(IFC_ADDR(create_qp_in, cmd, pas), QP_BUF);
	if (f.width)
		ifc_set_bits(c, f.off, f.width, value);
	st = rig_cmd(MLX5_CMD_OP_CREATE_QP, 0, 0, cmd, sizeof(cmd), out, sizeof(out));
	*qpn = IFC_GET(create_qp_out, out, qpn);
	return st;
}

static const struct ifc_field nothing;

static void an_initiator_has_a_send_queue_and_no_receive_queue(void **state)
{
	uint32_t qpn;

	(void)state;
	assert_refused(create_dci(RQ_OWN, false, nothing, 0, &qpn), ST_BAD_PARAM,
		       WHY_QP_DCI_QUEUES);
	assert_refused(create_dci(RQ_NONE, true, nothing, 0, &qpn), ST_BAD_PARAM,
		       WHY_QP_DCI_QUEUES);
	assert_int_equal(create_dci(RQ_NONE, false, nothing, 0, &qpn), ST_OK);
	assert_int_equal(create_dci(RQ_SRQ, false, nothing, 0, &qpn), ST_OK);
	rig_clear();
	qp_set_state(rig.hca, qp_find(rig.hca, qpn), QPS_ERR);
	assert_int_equal(rig.nev, 0);
}

static void an_initiator_needs_its_capabilities(void **state)
{
	uint8_t *cap = rig.hca->cap[CAP_GENERAL];
	uint32_t qpn;

	(void)state;
	assert_refused(create_dci(RQ_NONE, false, (struct ifc_field)IFC_FIELD(qpc, cs_req), 0x22,
				  &qpn), ST_BAD_PARAM, WHY_QP_SCATTER_TO_CQE_NOT_OFFERED);
	assert_refused(create_dci(RQ_NONE, false, (struct ifc_field)IFC_FIELD(qpc, dc_access_key),
				  1, &qpn), ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED);
	IFC_SET(cmd_hca_cap, cap, dct, 0);
	assert_refused(create_dci(RQ_NONE, false, nothing, 0, &qpn), ST_BAD_PARAM,
		       WHY_QP_SERVICE_TYPE);
}

static void streams_have_limits(void **state)
{
	static const struct ifc_field channels = IFC_FIELD(qpc, log_num_dci_stream_channels);
	static const struct ifc_field failed = IFC_FIELD(qpc, log_num_dci_errored_streams);
	uint32_t qpn;

	(void)state;
	assert_refused(create_dci(RQ_NONE, false, channels, 4, &qpn), ST_BAD_PARAM,
		       WHY_QP_STREAMS);
	assert_refused(create_dci(RQ_NONE, false, failed, 3, &qpn), ST_BAD_PARAM, WHY_QP_STREAMS);
	assert_int_equal(create_dci(RQ_NONE, false, channels, 3, &qpn), ST_OK);
	assert_int_equal(create_dci(RQ_NONE, false, failed, 2, &qpn), ST_OK);
	assert_int_equal(qp_find(rig.hca, qpn)->max_failed_streams, 4);
}

static uint8_t modify(uint16_t opcode, uint32_t qpn, uint32_t opt, uint8_t log_sra_max)
{
	uint8_t cmd[IFC_SZ(rst2init_qp_in)] = {}, out[IFC_SZ(rst2init_qp_out)];
	uint8_t *c = IFC_ADDR(rst2init_qp_in, cmd, qpc);

	IFC_SET(rst2init_qp_in, cmd, qpn, qpn);
	IFC_SET(rst2init_qp_in, cmd, opt_param_mask, opt);
	IFC_SET(qpc, c, primary_address_path.vhca_port_num, 1);
	IFC_SET(qpc, c, primary_address_path.ack_timeout, 14);
	IFC_SET(qpc, c, mtu, 3);
	IFC_SET(qpc, c, log_msg_max, 30);
	IFC_SET(qpc, c, log_sra_max, log_sra_max);
	IFC_SET(qpc, c, retry_count, 5);
	IFC_SET(qpc, c, rnr_retry, 6);
	IFC_SET(qpc, c, remote_qpn, 0x123);
	IFC_SET(qpc, c, primary_address_path.rlid, 4);
	return rig_cmd(opcode, 0, 0, cmd, sizeof(cmd), out, sizeof(out));
}

static void an_initiator_takes_what_a_requester_needs(void **state)
{
	const struct qp *qp;
	uint32_t qpn;

	(void)state;
	assert_int_equal(create_dci(RQ_NONE, false, nothing, 0, &qpn), ST_OK);
	assert_int_equal(modify(MLX5_CMD_OP_RST2INIT_QP, qpn, 0, 0), ST_OK);
	/* RAE, as UCX does. */
	assert_int_equal(modify(MLX5_CMD_OP_INIT2RTR_QP, qpn, 1u << 2, 0), ST_OK);
	assert_refused(modify(MLX5_CMD_OP_RTR2RTS_QP, qpn, 0, 4), ST_LIM, WHY_QP_SRA_MAX);
	assert_int_equal(modify(MLX5_CMD_OP_RTR2RTS_QP, qpn, 0, 3), ST_OK);
	qp = qp_find(rig.hca, qpn);
	assert_int_equal(qp->retry_count, 5);
	assert_int_equal(qp->rnr_retry, 6);
	assert_int_equal(qp->max_rd_atomic, 8);
	assert_int_equal(qp->path.ack_timeout, 14);
	assert_int_equal(qp->path.rlid, 0);
	assert_int_equal(qp->remote_qpn, 0);
}

static uint32_t new_dci(const struct ifc_field *f, uint32_t value)
{
	uint32_t qpn;

	assert_int_equal(create_dci(RQ_NONE, false, *f, value, &qpn), ST_OK);
	assert_int_equal(modify(MLX5_CMD_OP_RST2INIT_QP, qpn, 0, 0), ST_OK);
	assert_int_equal(modify(MLX5_CMD_OP_INIT2RTR_QP, qpn, 0, 0), ST_OK);
	assert_int_equal(modify(MLX5_CMD_OP_RTR2RTS_QP, qpn, 0, 0), ST_OK);
	return qpn;
}

static uint8_t reset_stream(uint32_t qpn, uint16_t stream, bool ext, size_t len)
{
	uint8_t cmd[RTS2RTS_QP_EXT_BYTES] = {}, out[IFC_SZ(rts2rts_qp_out)];

	IFC_SET(rts2rts_qp_in, cmd, qpn, qpn);
	ifc_set_bits(cmd, RTS2RTS_QP_QPC_EXT, 1, ext);
	ifc_set_bits(cmd, RTS2RTS_QP_OPT_95_32 + 32, 32, 1);
	ifc_set_bits(cmd, RTS2RTS_QP_STREAM, 16, stream);
	return rig_cmd(MLX5_CMD_OP_RTS2RTS_QP, 0, 0, cmd, len, out, sizeof(out));
}

static void a_failed_stream_can_be_reset(void **state)
{
	static const struct ifc_field failed = IFC_FIELD(qpc, log_num_dci_errored_streams);
	uint32_t with = new_dci(&failed, 2), without = new_dci(&nothing, 0);

	(void)state;
	assert_int_equal(reset_stream(with, 7, true, RTS2RTS_QP_EXT_BYTES), ST_OK);
	assert_refused(reset_stream(with, 8, true, RTS2RTS_QP_EXT_BYTES), ST_BAD_RES_STATE,
		       WHY_QP_STREAM_NOT_FAILED);
	assert_refused(reset_stream(with, 7, false, RTS2RTS_QP_EXT_BYTES), ST_BAD_PARAM,
		       WHY_QP_EXTENSION_NOT_OFFERED);
	assert_refused(reset_stream(with, 7, true, IFC_SZ(rts2rts_qp_in)), ST_BAD_INP_LEN,
		       WHY_INPUT_LENGTH);
	assert_refused(reset_stream(without, 7, true, RTS2RTS_QP_EXT_BYTES), ST_BAD_PARAM,
		       WHY_QP_OPT_PARAM);
}

static void an_initiator_has_no_parameters_of_a_responder(void **state)
{
	static const unsigned int bits[] = { 1, 3, 5, 6 };	/* RRE, RWE, Q_Key, RNR */
	uint32_t qpn;
	size_t i;

	(void)state;
	assert_int_equal(create_dci(RQ_NONE, false, nothing, 0, &qpn), ST_OK);
	for (i = 0; i < ARRAY_SIZE(bits); i++)
		assert_refused(modify(MLX5_CMD_OP_RST2INIT_QP, qpn, 1u << bits[i], 0),
			       ST_BAD_PARAM, WHY_QP_OPT_PARAM);
}

#define TEST(f)	cmocka_unit_test_setup_teardown(f, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(contexts_are_checked),
		TEST(features_need_their_capabilities),
		TEST(a_user_may_not_have_the_reserved_key),
		TEST(what_a_target_names_has_to_be_its_users),
		TEST(an_xrc_srq_is_none_for_a_target),
		TEST(a_target_keeps_what_it_names),
		TEST(numbers_are_not_those_of_queue_pairs),
		TEST(numbers_run_out),
		TEST(a_target_is_destroyed_only_when_it_has_drained),
		TEST(a_wrong_key_raises_an_event_once_it_is_armed),
		TEST(query_shows_the_context),
		TEST(the_model_has_what_the_context_says),
		TEST(an_initiator_has_a_send_queue_and_no_receive_queue),
		TEST(an_initiator_needs_its_capabilities),
		TEST(streams_have_limits),
		TEST(a_failed_stream_can_be_reset),
		TEST(an_initiator_takes_what_a_requester_needs),
		TEST(an_initiator_has_no_parameters_of_a_responder),
	};

	return cmocka_run_group_tests_name("dct", tests, NULL, NULL);
}
