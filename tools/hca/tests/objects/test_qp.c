// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: every command in every state, what a transition takes and what
 * it refuses, events, references, and what CREATE_QP has to refuse.
 */
#include <errno.h>
#include <event2/event.h>
#include <string.h>

#include "check.h"
#include "cmd.h"
#include "cq.h"
#include "eq.h"
#include "ifc.h"
#include "mcast.h"
#include "object.h"
#include "objrig.h"
#include "profile.h"
#include "qp.h"
#include "srq.h"
#include "trace.h"
#include "tracerig.h"

#define BUF	(RAM_BASE + 0x10000)
#define DBR	(RAM_BASE + 0x200)
#define SRQ_BUF	(RAM_BASE + 0x20000)
#define SRQ_DBR	(RAM_BASE + 0x300)

#define OP_RTS2SQD	0x508
#define OP_SQD2RTS	0x509
#define OP_SQD2SQD	0x511

static uint32_t pd, uar, eqn, cq1, cq2;

struct qp_params {
	uint8_t st, rq_type, log_sq, log_rq, rq_stride;
	bool no_sq;
	uint32_t pd, uar, cq_snd, cq_rcv, srqn, xrcd;
	uint64_t dbr, buf;
	size_t npas;
	uint16_t uid;
	uint8_t page_offset;
	bool armed;		/* pm_state is that of a path that can migrate */
	const char *tweak;	/* name of a field to set to a wrong value */
	struct ifc_field field;	/* of the context, to set to @value; width 0: none */
	uint32_t value;
};

static struct qp_params good;
static uint32_t new_srq(unsigned int log, unsigned int lwm);

static int setup(void **state)
{
	rig_setup(state);
	pd = rig_pd();
	uar = rig_uar(0);
	eqn = rig_eq();
	cq1 = rig_cq(RAM_BASE + 0x4000, RAM_BASE + 0x100, 4, 64, uar, eqn);
	cq2 = rig_cq(RAM_BASE + 0x5000, RAM_BASE + 0x108, 4, 64, uar, eqn);
	good = (struct qp_params){
		.st = QPT_RC, .log_sq = 4, .log_rq = 4, .rq_stride = 0, .pd = pd, .uar = uar,
		.cq_snd = cq1, .cq_rcv = cq2, .dbr = DBR, .buf = BUF, .npas = 1,
	};
	return 0;
}

static uint8_t create(const struct qp_params *p, uint32_t *qpn)
{
	uint8_t in[IFC_BYTE(create_qp_in, pas) + 64] = {}, out[IFC_SZ(create_qp_out)];
	uint8_t *c = IFC_ADDR(create_qp_in, in, qpc), st;
	size_t i;

	IFC_SET(qpc, c, st, p->st);
	IFC_SET(qpc, c, pm_state, p->armed ? 0 : 3);
	IFC_SET(qpc, c, pd, p->pd);
	IFC_SET(qpc, c, rq_type, p->rq_type);
	IFC_SET(qpc, c, log_sq_size, p->log_sq);
	IFC_SET(qpc, c, log_rq_size, p->log_rq);
	IFC_SET(qpc, c, log_rq_stride, p->rq_stride);
	IFC_SET(qpc, c, no_sq, p->no_sq);
	IFC_SET(qpc, c, uar_page, p->uar);
	IFC_SET(qpc, c, cqn_snd, p->cq_snd);
	IFC_SET(qpc, c, cqn_rcv, p->cq_rcv);
	IFC_SET(qpc, c, srqn_rmpn_xrqn, p->srqn);
	IFC_SET(qpc, c, xrcd, p->xrcd);
	IFC_SET(qpc, c, page_offset, p->page_offset);
	IFC_SET64(qpc, c, dbr_addr, p->dbr);
	if (p->field.width)
		ifc_set_bits(c, p->field.off, p->field.width, p->value);
	for (i = 0; i < p->npas; i++)
		put_be64(IFC_ADDR(create_qp_in, in, pas) + 8 * i, p->buf + 4096 * i);
	if (p->tweak && !strcmp(p->tweak, "reserved"))
		IFC_SET(qpc, c, reserved_at_600, 1);
	if (p->tweak && !strcmp(p->tweak, "state"))
		IFC_SET(qpc, c, state, QPS_INIT);
	if (p->tweak && !strcmp(p->tweak, "umem"))
		IFC_SET(create_qp_in, in, wq_umem_valid, 1);
	if (p->tweak && !strcmp(p->tweak, "qpn"))
		IFC_SET(create_qp_in, in, input_qpn, 99);
	if (p->tweak && !strcmp(p->tweak, "extension"))
		IFC_SET(create_qp_in, in, qpc_ext, 1);
	st = rig_cmd(MLX5_CMD_OP_CREATE_QP, 0, p->uid, in,
		     IFC_BYTE(create_qp_in, pas) + 8 * p->npas, out, sizeof(out));
	*qpn = IFC_GET(create_qp_out, out, qpn);
	return st;
}

/* A context with which all transitions of a valid QP succeed. */
static void full_context(uint8_t *c)
{
	uint8_t *path = IFC_ADDR(qpc, c, primary_address_path);

	IFC_SET(qpc, c, pm_state, 3);
	IFC_SET(qpc, c, mtu, 5);
	IFC_SET(qpc, c, log_msg_max, 30);
	IFC_SET(qpc, c, remote_qpn, 0x1234);
	IFC_SET(qpc, c, next_rcv_psn, 0x111111);
	IFC_SET(qpc, c, next_send_psn, 0x222222);
	IFC_SET(qpc, c, min_rnr_nak, 12);
	IFC_SET(qpc, c, retry_count, 7);
	IFC_SET(qpc, c, rnr_retry, 6);
	IFC_SET(qpc, c, log_sra_max, 2);
	IFC_SET(qpc, c, log_rra_max, 3);
	IFC_SET(qpc, c, q_key, 0x11111111);
	IFC_SET(qpc, c, rwe, 1);
	IFC_SET(ads, path, rlid, 9);
	IFC_SET(ads, path, sl, 3);
	IFC_SET(ads, path, ack_timeout, 14);
	IFC_SET(ads, path, vhca_port_num, 1);
}

static uint8_t modify_with(uint16_t op, uint32_t qpn, uint32_t opt, uint16_t uid,
			   const uint8_t *qpc)
{
	uint8_t in[IFC_SZ(rst2init_qp_in)] = {}, out[IFC_SZ(rst2init_qp_out)];

	IFC_SET(rst2init_qp_in, in, qpn, qpn);
	if (op != MLX5_CMD_OP_2ERR_QP && op != MLX5_CMD_OP_2RST_QP) {
		IFC_SET(rst2init_qp_in, in, opt_param_mask, opt);
		memcpy(IFC_ADDR(rst2init_qp_in, in, qpc), qpc, QPC_BYTES);
	}
	return rig_cmd(op, 0, uid, in, sizeof(in), out, sizeof(out));
}

static uint8_t modify(uint16_t op, uint32_t qpn)
{
	uint8_t c[QPC_BYTES] = {};

	full_context(c);
	return modify_with(op, qpn, 0, 0, c);
}

static struct qp *new_qp(uint8_t st)
{
	struct qp_params p = good;
	uint32_t qpn;

	p.st = st;
	assert_int_equal(create(&p, &qpn), ST_OK);
	return qp_find(rig.hca, qpn);
}

/* Bring a QP to a state by the shortest sequence of transitions. */
static void bring_to(struct qp *qp, enum qp_state s)
{
	uint32_t qpn = qp->obj.num;

	assert_int_equal(modify(MLX5_CMD_OP_2RST_QP, qpn), ST_OK);
	if (s == QPS_RST)
		return;
	assert_int_equal(modify(MLX5_CMD_OP_RST2INIT_QP, qpn), ST_OK);
	if (s == QPS_INIT)
		return;
	assert_int_equal(modify(MLX5_CMD_OP_INIT2RTR_QP, qpn), ST_OK);
	if (s == QPS_RTR)
		return;
	assert_int_equal(modify(MLX5_CMD_OP_RTR2RTS_QP, qpn), ST_OK);
	if (s == QPS_SQER)
		qp_to_sq_error(rig.hca, qp, ERR_WQE_INVALID);
	if (s == QPS_ERR)
		assert_int_equal(modify(MLX5_CMD_OP_2ERR_QP, qpn), ST_OK);
	if (s == QPS_SQD || s == QPS_SQ_DRAINING)
		assert_int_equal(modify(OP_RTS2SQD, qpn), ST_OK);
	if (s == QPS_SQD)
		qp_sq_drained(rig.hca, qp);
	assert_int_equal(qp->state, s);
}

/* The table of transitions: X if the command is refused, else the state of the QP afterwards. */
#define X 0xff
static const struct {
	uint16_t op;
	/* by the state before the command: RST INIT RTR RTS SQER SQD ERR SQ_DRAINING */
	uint8_t after[QPS_NUM];
} machine[] = {
	{ MLX5_CMD_OP_RST2INIT_QP,  { QPS_INIT, X, X, X, X, X, X, X } },
	{ MLX5_CMD_OP_INIT2INIT_QP, { X, QPS_INIT, X, X, X, X, X, X } },
	{ MLX5_CMD_OP_INIT2RTR_QP,  { X, QPS_RTR, X, X, X, X, X, X } },
	{ MLX5_CMD_OP_RTR2RTS_QP,   { X, X, QPS_RTS, X, X, X, X, X } },
	{ MLX5_CMD_OP_RTS2RTS_QP,   { X, X, X, QPS_RTS, X, X, X, X } },
	{ MLX5_CMD_OP_SQERR2RTS_QP, { X, X, X, X, QPS_RTS, X, X, X } },
	{ OP_RTS2SQD,               { X, X, X, QPS_SQ_DRAINING, X, X, X, X } },
	{ OP_SQD2RTS,               { X, X, X, X, X, QPS_RTS, X, X } },
	{ MLX5_CMD_OP_SQD_RTS_QP,   { X, X, X, X, X, QPS_RTS, X, X } },
	{ OP_SQD2SQD,               { X, X, X, X, X, QPS_SQD, X, X } },
	{ MLX5_CMD_OP_2ERR_QP,      { QPS_ERR, QPS_ERR, QPS_ERR, QPS_ERR, QPS_ERR, QPS_ERR, QPS_ERR,
				      QPS_ERR } },
	{ MLX5_CMD_OP_2RST_QP,      { QPS_RST, QPS_RST, QPS_RST, QPS_RST, QPS_RST, QPS_RST,
				      QPS_RST, QPS_RST } },
};

static void machine_of(uint8_t type)
{
	struct qp *qp = new_qp(type);
	unsigned int i, s;

	for (i = 0; i < sizeof(machine) / sizeof(machine[0]); i++)
		for (s = 0; s < QPS_NUM; s++) {
			uint8_t after = machine[i].after[s], st;

			bring_to(qp, s);
			rig_clear();
			st = modify(machine[i].op, qp->obj.num);
			if (st != (after == X ? ST_BAD_QP_STATE : ST_OK) ||
			    (after == X && rig.syndrome != WHY_QP_STATE))
				fail_msg("command 0x%x in %s: status 0x%x", machine[i].op,
					 qp_state_name(s), st);
			assert_int_equal(qp->state, after == X ? s : after);
			/*
			 * If the state changes, the transport is notified; otherwise only 2RST_QP
			 * may notify it.
			 */
			if (after == X || after == s) {
				assert_true(rig.ntr == 0 || machine[i].op == MLX5_CMD_OP_2RST_QP);
			} else {
				assert_int_equal(rig.ntr, 1);
				assert_int_equal(rig.tr[0].old, s);
				assert_int_equal(rig.tr[0].now, after);
			}
		}
}

static void test_state_machine_rc(void **state)
{
	(void)state;
	machine_of(QPT_RC);
}

static void test_state_machine_uc(void **state)
{
	(void)state;
	machine_of(QPT_UC);
}

static void test_state_machine_ud(void **state)
{
	(void)state;
	machine_of(QPT_UD);
}

static uint8_t destroy(uint32_t qpn, uint16_t uid)
{
	uint8_t in[IFC_SZ(destroy_qp_in)] = {}, out[IFC_SZ(destroy_qp_out)];

	IFC_SET(destroy_qp_in, in, qpn, qpn);
	return rig_cmd(MLX5_CMD_OP_DESTROY_QP, 0, uid, in, sizeof(in), out, sizeof(out));
}

/* A program's queue pair is destroyed in the state in which the program left it. */
static void test_qp_is_destroyed_in_any_state(void **state)
{
	unsigned int s;

	(void)state;
	for (s = 0; s < QPS_NUM; s++) {
		struct qp *qp = new_qp(QPT_RC);

		bring_to(qp, s);
		assert_int_equal(destroy(qp->obj.num, 0), ST_OK);
	}
}

static void test_transitions_take_their_fields(void **state)
{
	struct qp *qp = new_qp(QPT_RC);

	(void)state;
	bring_to(qp, QPS_INIT);
	assert_true(qp->rwe);
	assert_false(qp->rre);
	assert_int_equal(qp->path.port, 1);
	assert_int_equal(qp->path.rlid, 0);	/* not changed yet */
	assert_int_equal(modify(MLX5_CMD_OP_INIT2RTR_QP, qp->obj.num), ST_OK);
	assert_int_equal(qp->path.rlid, 9);
	assert_int_equal(qp->path.sl, 3);
	assert_int_equal(qp->path.ack_timeout, 0);
	assert_int_equal(qp->mtu, 4096);
	assert_int_equal(qp->remote_qpn, 0x1234);
	assert_int_equal(qp->next_rcv_psn, 0x111111);
	assert_int_equal(qp->max_dest_rd_atomic, 8);
	assert_int_equal(qp->max_rd_atomic, 1);
	assert_int_equal(modify(MLX5_CMD_OP_RTR2RTS_QP, qp->obj.num), ST_OK);
	assert_int_equal(qp->path.ack_timeout, 14);
	assert_int_equal(qp->next_send_psn, 0x222222);
	assert_int_equal(qp->max_rd_atomic, 4);
	assert_int_equal(qp->retry_count, 7);
	assert_int_equal(qp->rnr_retry, 6);
	/* 2RST_QP drops what the transitions have set. */
	assert_int_equal(modify(MLX5_CMD_OP_2RST_QP, qp->obj.num), ST_OK);
	assert_int_equal(qp->remote_qpn, 0);
	assert_int_equal(qp->path.rlid, 0);
	assert_int_equal(qp->next_send_psn, 0);
	assert_int_equal(qp->sq_cnt, 16);
}

#define PATH(fld) { IFC_OFF(qpc, primary_address_path.fld), IFC_BITS(ads, fld), #fld }

enum { FIRST_INIT, FIRST_RTR, FIRST_RTS };	/* the transition by which a field is taken first */
enum { ON_ANY, ON_CONNECTED, ON_RELIABLE };	/* the service types of which it is taken then */

/* Fields, a valid value, which is not that of full_context(), and when each field is taken. */
static const struct {
	struct ifc_field f;
	uint32_t value;
	uint8_t first, on;
	uint32_t opt;		/* the optional parameter by which SQD2SQD takes it */
} taken[] = {
	{ PATH(pkey_index), 1, FIRST_INIT, ON_ANY, 1 << 4 },
	{ IFC_FIELD(qpc, q_key), 0x5555, FIRST_INIT, ON_ANY, 1 << 5 },
	{ IFC_FIELD(qpc, rre), 1, FIRST_INIT, ON_CONNECTED, 1 << 1 },
	{ IFC_FIELD(qpc, rwe), 1, FIRST_INIT, ON_CONNECTED, 1 << 3 },
	{ IFC_FIELD(qpc, rae), 1, FIRST_INIT, ON_CONNECTED, 1 << 2 },
	{ IFC_FIELD(qpc, atomic_mode), 2, FIRST_INIT, ON_CONNECTED, 1 << 2 },
	{ PATH(grh), 1, FIRST_RTR, ON_CONNECTED, 1 << 7 },
	{ PATH(mlid), 0x55, FIRST_RTR, ON_CONNECTED, 1 << 7 },
	{ PATH(rlid), 0x4321, FIRST_RTR, ON_CONNECTED, 1 << 7 },
	{ PATH(src_addr_index), 1, FIRST_RTR, ON_CONNECTED, 1 << 7 },
	{ PATH(stat_rate), 8, FIRST_RTR, ON_CONNECTED, 1 << 7 },
	{ PATH(hop_limit), 0x66, FIRST_RTR, ON_CONNECTED, 1 << 7 },
	{ PATH(tclass), 0x77, FIRST_RTR, ON_CONNECTED, 1 << 7 },
	{ PATH(flow_label), 0x54321, FIRST_RTR, ON_CONNECTED, 1 << 7 },
	{ { IFC_OFF(qpc, primary_address_path.rgid_rip) + 96, 32, "rgid_rip" }, 0x89abcdef,
	  FIRST_RTR, ON_CONNECTED, 1 << 7 },
	{ PATH(sl), 5, FIRST_RTR, ON_CONNECTED, 1 << 7 },
	{ IFC_FIELD(qpc, mtu), 4, FIRST_RTR, ON_ANY, 0 },
	{ IFC_FIELD(qpc, log_msg_max), 29, FIRST_RTR, ON_ANY, 0 },
	{ IFC_FIELD(qpc, remote_qpn), 0x123456, FIRST_RTR, ON_CONNECTED, 0 },
	{ IFC_FIELD(qpc, next_rcv_psn), 0x654321, FIRST_RTR, ON_ANY, 0 },
	{ IFC_FIELD(qpc, log_rra_max), 2, FIRST_RTR, ON_RELIABLE, 1 << 9 },
	{ IFC_FIELD(qpc, min_rnr_nak), 9, FIRST_RTR, ON_RELIABLE, 1 << 6 },
	{ PATH(ack_timeout), 11, FIRST_RTS, ON_RELIABLE, 1 << 14 },
	{ IFC_FIELD(qpc, next_send_psn), 0x333333, FIRST_RTS, ON_ANY, 0 },
	{ IFC_FIELD(qpc, log_ack_req_freq), 4, FIRST_RTS, ON_RELIABLE, 0 },
	{ IFC_FIELD(qpc, log_sra_max), 1, FIRST_RTS, ON_RELIABLE, 1 << 8 },
	{ IFC_FIELD(qpc, retry_count), 5, FIRST_RTS, ON_RELIABLE, 1 << 12 },
	{ IFC_FIELD(qpc, rnr_retry), 4, FIRST_RTS, ON_RELIABLE, 1 << 13 },
};

static void context_to_take(uint8_t *c)
{
	size_t i;

	full_context(c);
	for (i = 0; i < ARRAY_SIZE(taken); i++)
		ifc_set_bits(c, taken[i].f.off, taken[i].f.width, taken[i].value);
}

static void test_each_field_is_taken_by_its_transition(void **state)
{
	static const uint16_t op[] = {
		MLX5_CMD_OP_RST2INIT_QP, MLX5_CMD_OP_INIT2RTR_QP, MLX5_CMD_OP_RTR2RTS_QP,
	};
	/* The greatest ON_* of the type. */
	static const struct { uint8_t type, on; } t[] = {
		{ QPT_RC, ON_RELIABLE }, { QPT_UC, ON_CONNECTED }, { QPT_UD, ON_ANY },
	};
	uint8_t c[QPC_BYTES] = {};
	unsigned int k, s;
	uint32_t want;
	struct qp *qp;
	size_t i;

	(void)state;
	context_to_take(c);
	for (k = 0; k < ARRAY_SIZE(t); k++) {
		qp = new_qp(t[k].type);
		for (s = 0; s < ARRAY_SIZE(op); s++) {
			assert_int_equal(modify_with(op[s], qp->obj.num, 0, 0, c), ST_OK);
			for (i = 0; i < ARRAY_SIZE(taken); i++) {
				want = s >= taken[i].first && t[k].on >= taken[i].on ?
				       taken[i].value : 0;
				if (ifc_get_bits(qp->qpc, taken[i].f.off, taken[i].f.width) != want)
					fail_msg("%s of type %u after transition %u",
						 taken[i].f.name, t[k].type, s);
			}
		}
	}
}

static void test_each_parameter_brings_its_fields(void **state)
{
	uint8_t c[QPC_BYTES] = {}, before[QPC_BYTES];
	struct qp *qp = new_qp(QPT_RC);
	unsigned int bit;
	size_t i;

	(void)state;
	context_to_take(c);
	IFC_SET(qpc, c, rwe, 0);	/* full_context() sets it */
	for (bit = 1; bit < 15; bit++) {
		if (bit == 10 || bit == 11)	/* path migration, and none */
			continue;
		bring_to(qp, QPS_SQD);
		memcpy(before, qp->qpc, sizeof(before));
		assert_int_equal(modify_with(OP_SQD2SQD, qp->obj.num, 1 << bit, 0, c), ST_OK);
		for (i = 0; i < ARRAY_SIZE(taken); i++) {
			const struct ifc_field *f = &taken[i].f;
			bool own = taken[i].opt & 1 << bit;

			if (ifc_get_bits(qp->qpc, f->off, f->width) !=
			    ifc_get_bits(own ? c : before, f->off, f->width))
				fail_msg("%s, optional parameter %u", f->name, bit);
		}
	}
}

static void test_path_is_decoded(void **state)
{
	struct qp *qp = new_qp(QPT_RC);
	uint8_t c[QPC_BYTES] = {};

	(void)state;
	context_to_take(c);
	assert_int_equal(modify_with(MLX5_CMD_OP_RST2INIT_QP, qp->obj.num, 0, 0, c), ST_OK);
	assert_int_equal(modify_with(MLX5_CMD_OP_INIT2RTR_QP, qp->obj.num, 0, 0, c), ST_OK);
	assert_int_equal(modify_with(MLX5_CMD_OP_RTR2RTS_QP, qp->obj.num, 0, 0, c), ST_OK);
	assert_int_equal(qp->path.pkey_index, 1);
	assert_int_equal(qp->path.rlid, 0x4321);
	assert_int_equal(qp->path.mlid, 0x55);
	assert_int_equal(qp->path.sl, 5);
	assert_true(qp->path.grh);
	assert_int_equal(qp->path.src_gid_index, 1);
	assert_int_equal(qp->path.hop_limit, 0x66);
	assert_int_equal(qp->path.tclass, 0x77);
	assert_int_equal(qp->path.flow_label, 0x54321);
	assert_int_equal(get_be32(qp->path.dgid + 12), 0x89abcdef);
	assert_int_equal(qp->path.ack_timeout, 11);
	assert_int_equal(qp->path.stat_rate, 8);
	assert_int_equal(qp->mtu, 2048);
	assert_int_equal(qp->log_msg_max, 29);
	assert_int_equal(qp->log_ack_req_freq, 4);
	assert_int_equal(qp->qkey, 0x5555);
	assert_int_equal(qp->atomic_mode, 2);
	assert_int_equal(qp->max_rd_atomic, 2);
	assert_int_equal(qp->max_dest_rd_atomic, 4);
	assert_int_equal(qp->min_rnr_nak, 9);
}

#undef PATH

static void test_query_shows_the_running_values(void **state)
{
	uint8_t in[IFC_SZ(query_qp_in)] = {}, out[IFC_SZ(query_qp_out)];
	uint8_t *c = IFC_ADDR(query_qp_out, out, qpc);
	struct qp *qp = new_qp(QPT_RC);

	(void)state;
	bring_to(qp, QPS_RTS);
	IFC_SET(query_qp_in, in, qpn, qp->obj.num);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_QP, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	assert_int_equal(IFC_GET(qpc, c, state), QPS_RTS);
	assert_int_equal(IFC_GET(qpc, c, next_send_psn), 0x222222);
	assert_int_equal(IFC_GET(qpc, c, last_acked_psn), 0x222221);
	assert_int_equal(IFC_GET(qpc, c, next_rcv_psn), 0x111111);
	assert_int_equal(IFC_GET(qpc, c, cur_retry_count), 7);
	assert_int_equal(IFC_GET(qpc, c, cur_rnr_retry), 6);
	/* The transport moves these values on, and software the doorbell record. */
	qp->next_send_psn = 0x444444;
	qp->last_acked_psn = 0x443333;
	qp->next_rcv_psn = 0x555555;
	qp->ssn = 0x666666;
	qp->msn = 0x999999;
	qp->cur_retry = 3;
	qp->cur_rnr_retry = 2;
	qp->sq_hw = 0x7777;
	qp->rq_hw = 0x8888;
	put_be32(ram(DBR + DBR_RCV), 0x8899);
	put_be32(ram(DBR + DBR_SND), 0x7788);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_QP, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	assert_int_equal(IFC_GET(qpc, c, next_send_psn), 0x444444);
	assert_int_equal(IFC_GET(qpc, c, last_acked_psn), 0x443333);
	assert_int_equal(IFC_GET(qpc, c, next_rcv_psn), 0x555555);
	assert_int_equal(IFC_GET(qpc, c, ssn), 0x666666);
	assert_int_equal(IFC_GET(qpc, c, rmsn), 0x999999);
	assert_int_equal(IFC_GET(qpc, c, cur_retry_count), 3);
	assert_int_equal(IFC_GET(qpc, c, cur_rnr_retry), 2);
	assert_int_equal(IFC_GET(qpc, c, hw_sq_wqebb_counter), 0x7777);
	assert_int_equal(IFC_GET(qpc, c, hw_rq_counter), 0x8888);
	assert_int_equal(IFC_GET(qpc, c, sw_sq_wqebb_counter), 0x7788);
	assert_int_equal(IFC_GET(qpc, c, sw_rq_counter), 0x8899);
}

static void test_optional_parameters(void **state)
{
	struct qp *qp = new_qp(QPT_RC), *ud = new_qp(QPT_UD), *uc = new_qp(QPT_UC);
	uint8_t c[QPC_BYTES] = {};

	(void)state;
	bring_to(qp, QPS_RTS);
	IFC_SET(qpc, c, rre, 1);
	IFC_SET(qpc, c, min_rnr_nak, 5);
	/* A field is ignored if its optional parameter is not set. */
	assert_int_equal(modify_with(MLX5_CMD_OP_RTS2RTS_QP, qp->obj.num, 1 << 1, 0, c), ST_OK);
	assert_true(qp->rre);
	assert_true(qp->rwe);
	assert_int_equal(qp->min_rnr_nak, 12);
	assert_int_equal(modify_with(MLX5_CMD_OP_RTS2RTS_QP, qp->obj.num, 1 << 6, 0, c), ST_OK);
	assert_int_equal(qp->min_rnr_nak, 5);
	/*
	 * RTS2RTS cannot set the P_Key index. UD has a Q_Key, but no rights; UC has only a right to
	 * write.
	 */
	assert_refused(modify_with(MLX5_CMD_OP_RTS2RTS_QP, qp->obj.num, 1 << 4, 0, c), ST_BAD_PARAM,
		       WHY_QP_OPT_PARAM);
	assert_refused(modify_with(MLX5_CMD_OP_RTS2RTS_QP, qp->obj.num, 1u << 31, 0, c),
		       ST_BAD_PARAM, WHY_QP_OPT_PARAM);
	bring_to(ud, QPS_RTS);
	IFC_SET(qpc, c, q_key, 0xabcd);
	assert_int_equal(modify_with(MLX5_CMD_OP_RTS2RTS_QP, ud->obj.num, 1 << 5, 0, c), ST_OK);
	assert_int_equal(ud->qkey, 0xabcd);
	assert_refused(modify_with(MLX5_CMD_OP_RTS2RTS_QP, ud->obj.num, 1 << 1, 0, c), ST_BAD_PARAM,
		       WHY_QP_OPT_PARAM);
	bring_to(uc, QPS_RTS);
	assert_refused(modify_with(MLX5_CMD_OP_RTS2RTS_QP, uc->obj.num, 1 << 1, 0, c), ST_BAD_PARAM,
		       WHY_QP_OPT_PARAM);
	assert_int_equal(modify_with(MLX5_CMD_OP_RTS2RTS_QP, uc->obj.num, 1 << 3, 0, c), ST_OK);
}

static void test_invalid_values_are_refused(void **state)
{
	struct qp *qp = new_qp(QPT_RC);
	uint8_t c[QPC_BYTES] = {}, *path = IFC_ADDR(qpc, c, primary_address_path);
	uint32_t n = qp->obj.num;

	(void)state;
	full_context(c);
	IFC_SET(ads, path, pkey_index, 128);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, n, 0, 0, c), ST_BAD_INDEX,
		       WHY_PKEY_INDEX);
	IFC_SET(ads, path, pkey_index, 0);
	IFC_SET(ads, path, vhca_port_num, 2);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, n, 0, 0, c), ST_BAD_PARAM,
		       WHY_PORT_UNKNOWN);
	IFC_SET(ads, path, vhca_port_num, 0);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, n, 0, 0, c), ST_BAD_PARAM,
		       WHY_PORT_UNKNOWN);
	IFC_SET(ads, path, vhca_port_num, 1);
	IFC_SET(qpc, c, pm_state, 0);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, n, 1 << 10, 0, c), ST_BAD_PARAM,
		       WHY_QP_PATH_MIGRATION);
	IFC_SET(qpc, c, pm_state, 3);
	IFC_SET(qpc, c, rae, 1);
	IFC_SET(qpc, c, atomic_mode, 1);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], atomic, 0);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, n, 0, 0, c), ST_BAD_PARAM,
		       WHY_QP_ATOMICS_NOT_OFFERED);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], atomic, 1);
	IFC_SET(qpc, c, atomic_mode, 0);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, n, 0, 0, c), ST_BAD_PARAM,
		       WHY_QP_ATOMIC_MODE);
	IFC_SET(qpc, c, atomic_mode, 4);	/* up to 16 bytes */
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, n, 0, 0, c), ST_BAD_PARAM,
		       WHY_QP_ATOMIC_MODE);
	IFC_SET(qpc, c, atomic_mode, 1);
	IFC_SET(qpc, c, counter_set_id, 77);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, n, 0, 0, c), ST_BAD_RES,
		       WHY_QP_COUNTER_UNKNOWN);
	IFC_SET(qpc, c, counter_set_id, 0);
	IFC_SET(qpc, c, reserved_at_600, 1);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, n, 0, 0, c), ST_BAD_PARAM,
		       WHY_QP_RESERVED_FIELD);
	IFC_SET(qpc, c, reserved_at_600, 0);
	assert_int_equal(modify_with(MLX5_CMD_OP_RST2INIT_QP, n, 0, 0, c), ST_OK);
	assert_refused(modify_with(MLX5_CMD_OP_INIT2RTR_QP, n, 1 << 0, 0, c), ST_BAD_PARAM,
		       WHY_QP_PATH_MIGRATION);
	IFC_SET(ads, path, stat_rate, 9);
	assert_refused(modify_with(MLX5_CMD_OP_INIT2RTR_QP, n, 0, 0, c), ST_BAD_PARAM,
		       WHY_QP_STATIC_RATE);
	IFC_SET(ads, path, stat_rate, 8);
	IFC_SET(qpc, c, mtu, 6);
	assert_refused(modify_with(MLX5_CMD_OP_INIT2RTR_QP, n, 0, 0, c), ST_BAD_PARAM, WHY_QP_MTU);
	IFC_SET(qpc, c, mtu, 0);
	assert_refused(modify_with(MLX5_CMD_OP_INIT2RTR_QP, n, 0, 0, c), ST_BAD_PARAM, WHY_QP_MTU);
	IFC_SET(qpc, c, mtu, 1);
	IFC_SET(qpc, c, log_msg_max, 31);
	assert_refused(modify_with(MLX5_CMD_OP_INIT2RTR_QP, n, 0, 0, c), ST_BAD_PARAM,
		       WHY_QP_MESSAGE_SIZE);
	IFC_SET(qpc, c, log_msg_max, 7);	/* less than the path MTU of 256 */
	assert_refused(modify_with(MLX5_CMD_OP_INIT2RTR_QP, n, 0, 0, c), ST_BAD_PARAM,
		       WHY_QP_MESSAGE_SIZE);
	IFC_SET(qpc, c, log_msg_max, 30);
	IFC_SET(qpc, c, log_rra_max, 5);
	assert_refused(modify_with(MLX5_CMD_OP_INIT2RTR_QP, n, 0, 0, c), ST_LIM, WHY_QP_RRA_MAX);
	IFC_SET(qpc, c, log_rra_max, 4);
	IFC_SET(ads, path, grh, 1);
	IFC_SET(ads, path, src_addr_index, 2);	/* the port has two GIDs */
	assert_refused(modify_with(MLX5_CMD_OP_INIT2RTR_QP, n, 0, 0, c), ST_BAD_INDEX,
		       WHY_GID_INDEX);
	IFC_SET(ads, path, src_addr_index, 1);
	assert_int_equal(modify_with(MLX5_CMD_OP_INIT2RTR_QP, n, 0, 0, c), ST_OK);
	IFC_SET(qpc, c, log_sra_max, 5);
	assert_refused(modify_with(MLX5_CMD_OP_RTR2RTS_QP, n, 0, 0, c), ST_LIM, WHY_QP_SRA_MAX);
	assert_int_equal(qp->state, QPS_RTR);
}

/* DPDK, mlx5_vdpa and the tests of rdma-core say only in CREATE_QP that the path is migrated. */
static void test_path_migration_is_set_when_created(void **state)
{
	struct qp_params p = good;
	uint8_t c[QPC_BYTES] = {};
	uint32_t n;

	(void)state;
	full_context(c);
	IFC_SET(qpc, c, pm_state, 0);
	assert_int_equal(create(&p, &n), ST_OK);
	assert_int_equal(modify_with(MLX5_CMD_OP_RST2INIT_QP, n, 0, 0, c), ST_OK);
	assert_int_equal(modify_with(MLX5_CMD_OP_INIT2RTR_QP, n, 0, 0, c), ST_OK);
	assert_int_equal(modify_with(MLX5_CMD_OP_RTR2RTS_QP, n, 0, 0, c), ST_OK);
	assert_refused(modify_with(MLX5_CMD_OP_RTS2RTS_QP, n, 1 << 10, 0, c), ST_BAD_PARAM,
		       WHY_QP_PATH_MIGRATION);
	/*
	 * If CREATE_QP left pm_state armed, RST2INIT has to set it to migrated, by the optional
	 * parameter.
	 */
	p.armed = true;
	assert_int_equal(create(&p, &n), ST_OK);
	IFC_SET(qpc, c, pm_state, 3);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, n, 0, 0, c), ST_BAD_PARAM,
		       WHY_QP_PATH_MIGRATION);
	assert_int_equal(modify_with(MLX5_CMD_OP_RST2INIT_QP, n, 1 << 10, 0, c), ST_OK);
}

static void test_numbers_can_be_used_up(void **state)
{
	struct qp_params p = good;
	uint32_t qpn;

	(void)state;
	assert_int_equal(create(&p, &qpn), ST_OK);
	rig.hca->profile->range[OBJ_QP].limit = qpn + 1;
	assert_refused(create(&p, &qpn), ST_LIM, WHY_NUMBERS_IN_USE);
	rig.hca->profile->range[OBJ_QP].limit++;
	assert_int_equal(create(&p, &qpn), ST_OK);
}

static void test_create_refuses_invalid_contexts(void **state)
{
	static const struct { const char *what; uint32_t why; } bad[] = {
		{ "reserved", WHY_QP_RESERVED_FIELD }, { "state", WHY_QP_STATE },
		{ "umem", WHY_UMEM_NOT_OFFERED }, { "qpn", WHY_QP_INPUT_QPN },
		{ "extension", WHY_QP_EXTENSION_NOT_OFFERED },
	};
	struct qp_params p = good;
	uint32_t qpn;
	size_t i;

	(void)state;
	assert_int_equal(create(&p, &qpn), ST_OK);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		p.tweak = bad[i].what;
		assert_refused(create(&p, &qpn), ST_BAD_PARAM, bad[i].why);
	}
	p = good;
	p.pd = pd + 1;
	assert_refused(create(&p, &qpn), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	p = good;
	p.uar = uar + 1;
	assert_refused(create(&p, &qpn), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	p = good;
	p.uar = rig_uar(3);
	p.uid = 4;
	assert_refused(create(&p, &qpn), ST_BAD_RES, WHY_OBJECT_OWNER);
	p = good;
	p.cq_snd = cq2 + 5;
	assert_refused(create(&p, &qpn), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	p = good;
	p.cq_rcv = cq2 + 5;
	assert_refused(create(&p, &qpn), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	p = good;
	p.st = QPT_MLX;
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_SERVICE_TYPE);
	p = good;
	p.dbr = DBR + 4;
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_DBR_MISALIGNED);
	p = good;
	p.dbr = 0;
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_DBR_NOT_MAPPED);
	p = good;
	p.buf = BUF + 0x800;
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QUEUE_PAGE_ADDRESS);
	p = good;
	p.log_sq = 6;		/* 256 bytes RQ + 4096 bytes SQ */
	assert_refused(create(&p, &qpn), ST_BAD_INP_LEN, WHY_QUEUE_PAGES_MISSING);
	p = good;
	p.page_offset = 45;	/* 2880 + 1280 bytes */
	assert_refused(create(&p, &qpn), ST_BAD_INP_LEN, WHY_QUEUE_PAGES_MISSING);
	p = good;
	p.page_offset = 44;
	assert_int_equal(create(&p, &qpn), ST_OK);
	p = good;
	p.log_sq = 13;
	assert_refused(create(&p, &qpn), ST_LIM, WHY_QP_SQ_SIZE);
	p = good;
	p.log_rq = 13;
	assert_refused(create(&p, &qpn), ST_LIM, WHY_QP_RQ_SIZE);
	p = good;
	p.rq_stride = 6;	/* 1024 bytes */
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_RQ_STRIDE);
	p = good;
	p.no_sq = true;	/* but log_sq_size is set */
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_SQ_SIZE);
	p = good;
	p.field = (struct ifc_field)IFC_FIELD(qpc, log_page_size);
	p.value = 20;
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QUEUE_PAGE_SIZE);
	p = good;
	p.rq_type = RQ_CRQ;
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_RQ_TYPE);
	p = good;
	p.rq_type = RQ_NONE;	/* but log_rq_size is set */
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_RQ_SIZE);
	p = good;
	p.rq_type = RQ_SRQ;
	p.log_rq = 0;
	p.srqn = 5;
	assert_refused(create(&p, &qpn), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
}

/* Each service alone is not offered. */
static void test_services_need_their_capabilities(void **state)
{
	static const struct { uint8_t type; struct ifc_field cap; } services[] = {
		{ QPT_RC, IFC_FIELD(cmd_hca_cap, rc) }, { QPT_UC, IFC_FIELD(cmd_hca_cap, uc) },
		{ QPT_UD, IFC_FIELD(cmd_hca_cap, ud) }, { QPT_XRC, IFC_FIELD(cmd_hca_cap, xrc) },
		{ QPT_DCI, IFC_FIELD(cmd_hca_cap, dct) },
	};
	uint8_t *cap = rig.hca->cap[CAP_GENERAL];
	struct qp_params p = good;
	uint32_t qpn;
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(services); i++) {
		ifc_set_bits(cap, services[i].cap.off, 1, 0);
		for (k = 0; k < ARRAY_SIZE(services); k++) {
			p.st = services[k].type;
			create(&p, &qpn);
			assert_int_equal(rig.syndrome == WHY_QP_SERVICE_TYPE, i == k);
		}
		ifc_set_bits(cap, services[i].cap.off, 1, 1);
	}
}

#define PRIMARY(fld) { IFC_OFF(qpc, primary_address_path.fld), IFC_BITS(ads, fld), #fld }
#define SECONDARY(fld) { IFC_OFF(qpc, secondary_address_path.fld), IFC_BITS(ads, fld), #fld }

static void test_what_is_not_offered_is_refused(void **state)
{
	static const struct ifc_field fields[] = {
		IFC_FIELD(qpc, lag_tx_port_affinity), IFC_FIELD(qpc, isolate_vl_tc),
		IFC_FIELD(qpc, req_e2e_credit_mode), IFC_FIELD(qpc, offload_type),
		IFC_FIELD(qpc, end_padding_mode), IFC_FIELD(qpc, atomic_like_write_en),
		IFC_FIELD(qpc, retry_mode),
		IFC_FIELD(qpc, ulp_stateless_offload_mode),
		IFC_FIELD(qpc, packet_pacing_rate_limit_index), IFC_FIELD(qpc, cd_master),
		IFC_FIELD(qpc, cd_slave_send), IFC_FIELD(qpc, cd_slave_receive),
		IFC_FIELD(qpc, cgs), PRIMARY(fl), PRIMARY(dscp), PRIMARY(udp_sport),
		PRIMARY(rmac_31_0), SECONDARY(rlid), SECONDARY(rmac_31_0),
	};
	struct qp *qp = new_qp(QPT_RC);
	struct qp_params p = good;
	uint8_t c[QPC_BYTES];
	uint32_t qpn;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		uint32_t why = fields[i].off < IFC_OFF(qpc, secondary_address_path) ||
			       fields[i].off >= IFC_OFF(qpc, secondary_address_path) +
						IFC_BITS(qpc, secondary_address_path) ?
			       WHY_QP_FIELD_NOT_OFFERED : WHY_QP_PATH_MIGRATION;

		p.field = fields[i];
		p.value = 1;
		if (create(&p, &qpn) != ST_BAD_PARAM || rig.syndrome != why)
			fail_msg("CREATE_QP takes %s", fields[i].name);
		memset(c, 0, sizeof(c));
		full_context(c);
		ifc_set_bits(c, fields[i].off, fields[i].width, 1);
		if (modify_with(MLX5_CMD_OP_RST2INIT_QP, qp->obj.num, 0, 0, c) != ST_BAD_PARAM ||
		    rig.syndrome != why)
			fail_msg("RST2INIT_QP takes %s", fields[i].name);
	}
	p.field = (struct ifc_field)IFC_FIELD(qpc, wq_signature);
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_SIGNATURE_NOT_OFFERED);
	p.field = (struct ifc_field)IFC_FIELD(qpc, block_lb_mc);
	/* An RC queue pair has no loopback of multicast. */
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED);
	p.st = QPT_UD;
	assert_int_equal(create(&p, &qpn), ST_OK);
}

/* The first bit and the last bit of a field, each alone, make CREATE_QP and RST2INIT_QP fail. */
static void field_is_refused(struct qp *qp, const struct ifc_field *f, uint32_t why)
{
	struct ifc_field bit = { f->off, 1, f->name };
	struct qp_params p = good;
	uint8_t c[QPC_BYTES];
	uint32_t qpn;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		bit.off = i ? f->off + f->width - 1 : f->off;
		p.field = bit;
		p.value = 1;
		if (create(&p, &qpn) != ST_BAD_PARAM || rig.syndrome != why)
			fail_msg("CREATE_QP takes %s", f->name);
		memset(c, 0, sizeof(c));
		full_context(c);
		ifc_set_bits(c, bit.off, 1, 1);
		if (modify_with(MLX5_CMD_OP_RST2INIT_QP, qp->obj.num, 0, 0, c) != ST_BAD_PARAM ||
		    rig.syndrome != why)
			fail_msg("RST2INIT_QP takes %s", f->name);
	}
}

static void test_each_reserved_field_is_refused(void **state)
{
	static const struct ifc_field reserved[] = {
		IFC_FIELD(qpc, reserved_at_10), IFC_FIELD(qpc, reserved_at_15),
		IFC_FIELD(qpc, reserved_at_1e), IFC_FIELD(qpc, reserved_at_24),
		IFC_FIELD(qpc, reserved_at_48),
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
		IFC_FIELD(qpc, reserved_at_680),
		{ IFC_OFF(qpc, reserved_at_684), QPC_DBR_UMEM_ID - IFC_OFF(qpc, reserved_at_684),
		  "reserved_at_684" },
	};
	struct qp *qp = new_qp(QPT_RC);
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(reserved); i++)
		field_is_refused(qp, &reserved[i], WHY_QP_RESERVED_FIELD);
	assert_int_equal(qp->state, QPS_RST);
}

/* Fields of Ethernet, of planes and of DC. */
static void test_each_field_of_another_network_is_refused(void **state)
{
	static const struct ifc_field fields[] = {
		IFC_FIELD(qpc, log_num_dci_stream_channels),
		IFC_FIELD(qpc, log_num_dci_errored_streams), IFC_FIELD(qpc, dc_access_key),
		PRIMARY(free_ar), PRIMARY(reserved_at_2), PRIMARY(plane_index),
		PRIMARY(reserved_at_45), PRIMARY(reserved_at_50), PRIMARY(reserved_at_60),
		PRIMARY(reserved_at_100), PRIMARY(f_dscp), PRIMARY(f_ecn), PRIMARY(reserved_at_106),
		PRIMARY(f_eth_prio), PRIMARY(ecn), PRIMARY(dscp), PRIMARY(udp_sport),
		PRIMARY(dei_cfi), PRIMARY(eth_prio), PRIMARY(rmac_47_32), PRIMARY(rmac_31_0),
	};
	struct qp *qp = new_qp(QPT_RC);
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		field_is_refused(qp, &fields[i], WHY_QP_FIELD_NOT_OFFERED);
	assert_int_equal(qp->state, QPS_RST);
}

static void test_padding_needs_a_capability(void **state)
{
	struct qp_params p = good;
	uint32_t qpn;

	(void)state;
	p.field = (struct ifc_field)IFC_FIELD(qpc, end_padding_mode);
	p.value = MLX5_QPC_END_PADDING_MODE_PAD_TO_CACHE_LINE_ALIGNMENT;
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], end_pad, 1);
	assert_int_equal(create(&p, &qpn), ST_OK);
	p.value = 2;
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED);
}

static void test_data_in_cqes_needs_a_capability(void **state)
{
	static const struct ifc_field sides[] = { IFC_FIELD(qpc, cs_req), IFC_FIELD(qpc, cs_res) };
	struct qp_params p = good;
	uint32_t qpn;
	size_t i;

	(void)state;
	p.value = 0x11;
	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		p.field = sides[i];
		assert_int_equal(create(&p, &qpn), ST_OK);
		assert_int_equal(qp_find(rig.hca, qpn)->cs_req, i ? 0 : 0x11);
		assert_int_equal(qp_find(rig.hca, qpn)->cs_res, i ? 0x11 : 0);
		IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], sctr_data_cqe, 0);
		assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_SCATTER_TO_CQE_NOT_OFFERED);
		IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], sctr_data_cqe, 1);
	}
}

static void test_data_of_64_bytes_needs_long_cqes(void **state)
{
	uint32_t wide = rig_cq(RAM_BASE + 0x40000, RAM_BASE + 0x400, 4, 128, uar, rig_eq());
	struct qp_params p = good;
	uint32_t qpn;

	(void)state;
	p.field = (struct ifc_field)IFC_FIELD(qpc, cs_req);
	p.value = 0x22;
	p.cq_rcv = wide;
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_SCATTER_TO_CQE_SIZE);
	p.cq_rcv = cq2;
	p.cq_snd = wide;
	assert_int_equal(create(&p, &qpn), ST_OK);
	p.field = (struct ifc_field)IFC_FIELD(qpc, cs_res);
	p.value = 2;
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_SCATTER_TO_CQE_SIZE);
	p.cq_rcv = wide;
	p.cq_snd = cq1;
	assert_int_equal(create(&p, &qpn), ST_OK);
}

/* A UD queue pair can send with another source QPN (deth_sqpn), if the HCA offers that. */
static void test_source_of_packets_needs_a_capability(void **state)
{
	static const uint8_t types[] = { QPT_UD, QPT_RC, QPT_UC };
	struct qp_params p = good;
	uint32_t qpn;
	size_t i;

	(void)state;
	p.field = (struct ifc_field)IFC_FIELD(qpc, deth_sqpn);
	p.value = 1;
	for (i = 0; i < sizeof(types); i++) {
		p.st = types[i];
		assert_int_equal(create(&p, &qpn), i ? ST_BAD_PARAM : ST_OK);
	}
	assert_int_equal(rig.syndrome, WHY_QP_FIELD_NOT_OFFERED);
	p.st = QPT_UD;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], set_deth_sqpn, 0);
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED);
}

/* Data may be out of order if the HCA has the capability for the service type. */
static void test_order_of_data_needs_a_capability(void **state)
{
	static const struct { uint8_t type; struct ifc_field cap; } types[] = {
		{ QPT_RC, IFC_FIELD(cmd_hca_cap, dp_ordering_ooo_all_rc) },
		{ QPT_UC, IFC_FIELD(cmd_hca_cap, dp_ordering_ooo_all_uc) },
		{ QPT_UD, IFC_FIELD(cmd_hca_cap, dp_ordering_ooo_all_ud) },
	};
	struct qp *qp;
	uint8_t c[QPC_BYTES];
	size_t i;
	int on;

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], hca_cap_2, 1);
	for (i = 0; i < 2 * sizeof(types) / sizeof(*types); i++) {
		on = i & 1;
		ifc_set_bits(rig.hca->cap[CAP_GENERAL], types[i / 2].cap.off, 1, on);
		IFC_SET(cmd_hca_cap_2, rig.hca->cap[CAP_GENERAL_2], dp_ordering_force, 1);
		qp = new_qp(types[i / 2].type);
		memset(c, 0, sizeof(c));
		full_context(c);
		assert_int_equal(modify_with(MLX5_CMD_OP_RST2INIT_QP, qp->obj.num, 0, 0, c), ST_OK);
		IFC_SET(qpc, c, dp_ordering_1, 1);
		IFC_SET(qpc, c, dp_ordering_force, 1);
		assert_int_equal(modify_with(MLX5_CMD_OP_INIT2RTR_QP, qp->obj.num, 0, 0, c),
				 on ? ST_OK : ST_BAD_PARAM);
		assert_int_equal(qp->out_of_order, on);
		assert_int_equal(IFC_GET(qpc, qp->qpc, dp_ordering_force), on);
		qp = new_qp(types[i / 2].type);
		IFC_SET(cmd_hca_cap_2, rig.hca->cap[CAP_GENERAL_2], dp_ordering_force, 0);
		assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, qp->obj.num, 0, 0, c),
			       ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED);
	}
}

/* For READs and WRITEs alone (1), for all operations (2); there is no 3. */
static void test_order_of_data_is_a_number(void **state)
{
	uint8_t c[QPC_BYTES] = {};
	unsigned int order;
	struct qp *qp;

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], dp_ordering_ooo_all_rc, 1);
	full_context(c);
	for (order = 0; order < 4; order++) {
		qp = new_qp(QPT_RC);
		ifc_set_bits(c, QPC_DP_ORDERING_0, 1, 0);
		IFC_SET(qpc, c, dp_ordering_1, 0);
		assert_int_equal(modify_with(MLX5_CMD_OP_RST2INIT_QP, qp->obj.num, 0, 0, c), ST_OK);
		ifc_set_bits(c, QPC_DP_ORDERING_0, 1, order & 1);
		IFC_SET(qpc, c, dp_ordering_1, order >> 1);
		assert_int_equal(modify_with(MLX5_CMD_OP_INIT2RTR_QP, qp->obj.num, 0, 0, c),
				 order < 3 ? ST_OK : ST_BAD_PARAM);
		assert_int_equal(qp->out_of_order, order == 2);
		assert_int_equal(ifc_get_bits(qp->qpc, QPC_DP_ORDERING_0, 1), order == 1);
	}
	assert_int_equal(rig.syndrome, WHY_QP_FIELD_NOT_OFFERED);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], dp_ordering_ooo_all_rc, 0);
	qp = new_qp(QPT_RC);
	ifc_set_bits(c, QPC_DP_ORDERING_0, 1, 1);
	IFC_SET(qpc, c, dp_ordering_1, 0);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, qp->obj.num, 0, 0, c), ST_BAD_PARAM,
		       WHY_QP_FIELD_NOT_OFFERED);
}

static void test_timestamp_formats(void **state)
{
	/* By sq_ts_format (free-running, real time, both) and ts_format (free-running, default, …). */
	static const bool ok[3][3] = {
		{ true, true, false }, { false, true, true }, { true, true, true },
	};
	struct qp_params p = good;
	unsigned int cap, format;
	uint32_t qpn;

	(void)state;
	p.field = (struct ifc_field)IFC_FIELD(qpc, ts_format);
	for (cap = 0; cap < 3; cap++)
		for (format = 0; format < 3; format++) {
			IFC_SET(cmd_hca_cap, rig.hca->cap[0], sq_ts_format, cap);
			p.value = format;
			if (create(&p, &qpn) != (ok[cap][format] ? ST_OK : ST_BAD_PARAM))
				fail_msg("capability %u, format %u", cap, format);
			if (ok[cap][format])
				assert_int_equal(qp_find(rig.hca, qpn)->real_time, cap && format);
		}
	p.value = 3;
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_TIMESTAMP_FORMAT);
}

/* Firmware that knows one clock only has no field ts_format. */
static void test_reserved_timestamp_format(void **state)
{
	struct qp_params p = good;
	uint32_t qpn;

	(void)state;
	rig.profile->one_clock = true;
	p.field = (struct ifc_field)IFC_FIELD(qpc, ts_format);
	for (p.value = 0; p.value < 4; p.value++)
		assert_int_equal(create(&p, &qpn), p.value ? ST_BAD_PARAM : ST_OK);
}

static void test_user_index_selects_the_cqe_version(void **state)
{
	struct qp_params p = good;
	uint32_t qpn;

	(void)state;
	p.field = (struct ifc_field)IFC_FIELD(qpc, user_index);
	p.value = 0xfffffe;
	assert_int_equal(create(&p, &qpn), ST_OK);
	assert_true(qp_find(rig.hca, qpn)->cqe_version1);
	p.value = 0xffffff;
	assert_int_equal(create(&p, &qpn), ST_OK);
	assert_false(qp_find(rig.hca, qpn)->cqe_version1);
	IFC_SET(cmd_hca_cap, rig.hca->cap[0], cqe_version, 0);
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_USER_INDEX);
	p.value = 0;
	assert_int_equal(create(&p, &qpn), ST_OK);
	assert_false(qp_find(rig.hca, qpn)->cqe_version1);
}

static void test_xrc_srq_is_for_xrc_only(void **state)
{
	struct qp_params p = good;
	uint32_t qpn, srqn = new_srq(3, 0);

	(void)state;
	srq_find(rig.hca, srqn)->kind = SRQ_XRC;
	p.rq_type = RQ_SRQ, p.log_rq = 0, p.srqn = srqn;
	assert_refused(create(&p, &qpn), ST_BAD_RES, WHY_SRQ_FORM);
	srq_find(rig.hca, srqn)->kind = SRQ_RMP;
	assert_int_equal(create(&p, &qpn), ST_OK);
}

static void test_only_ud_joins_a_multicast_group(void **state)
{
	uint8_t in[IFC_SZ(attach_to_mcg_in)] = {}, out[IFC_SZ(attach_to_mcg_out)];

	(void)state;
	IFC_ADDR(attach_to_mcg_in, in, multicast_gid)[0] = 0xff;
	IFC_SET(attach_to_mcg_in, in, qpn, new_qp(QPT_RC)->obj.num);
	assert_refused(rig_cmd(MLX5_CMD_OP_ATTACH_TO_MCG, 0, 0, in, sizeof(in), out, sizeof(out)),
		       ST_BAD_PARAM, WHY_MCAST_SERVICE_TYPE);
	IFC_SET(attach_to_mcg_in, in, qpn, new_qp(QPT_UD)->obj.num);
	IFC_ADDR(attach_to_mcg_in, in, multicast_gid)[0] = 0xfe;
	assert_refused(rig_cmd(MLX5_CMD_OP_ATTACH_TO_MCG, 0, 0, in, sizeof(in), out, sizeof(out)),
		       ST_BAD_PARAM, WHY_MCAST_GID);
	IFC_ADDR(attach_to_mcg_in, in, multicast_gid)[0] = 0xff;
	assert_int_equal(rig_cmd(MLX5_CMD_OP_ATTACH_TO_MCG, 0, 0, in, sizeof(in), out,
				 sizeof(out)), ST_OK);
}

/* ATTACH_TO_MCG, or DETACH_FROM_MCG, which has the same layout, for group @n. */
static uint8_t mcast(uint16_t op, unsigned int n, const struct qp *qp)
{
	uint8_t in[IFC_SZ(attach_to_mcg_in)] = {}, out[IFC_SZ(attach_to_mcg_out)];

	IFC_ADDR(attach_to_mcg_in, in, multicast_gid)[0] = 0xff;
	put_be32(IFC_ADDR(attach_to_mcg_in, in, multicast_gid) + 12, n);
	IFC_SET(attach_to_mcg_in, in, qpn, qp->obj.num);
	return rig_cmd(op, 0, 0, in, sizeof(in), out, sizeof(out));
}

static void count_member(struct hca *hca, uint32_t qpn, void *arg)
{
	(void)hca;
	(void)qpn;
	++*(unsigned int *)arg;
}

static void test_multicast_is_limited_by_capabilities(void **state)
{
	struct qp *qp[3] = { new_qp(QPT_UD), new_qp(QPT_UD), new_qp(QPT_UD) };
	uint8_t *cap = rig.hca->cap[CAP_GENERAL], gid[16] = { 0xff };
	unsigned int i, members = 0;

	(void)state;
	IFC_SET(cmd_hca_cap, cap, log_max_mcg, 9);
	IFC_SET(cmd_hca_cap, cap, max_qp_mcg, 2);
	for (i = 0; i < 512; i++)
		assert_int_equal(mcast(MLX5_CMD_OP_ATTACH_TO_MCG, i, qp[0]), ST_OK);
	assert_refused(mcast(MLX5_CMD_OP_ATTACH_TO_MCG, i, qp[0]), ST_LIM, WHY_MCAST_GROUPS);
	assert_refused(mcast(MLX5_CMD_OP_ATTACH_TO_MCG, 0, qp[0]), ST_BAD_RES_STATE,
		       WHY_MCAST_ATTACHED);
	assert_int_equal(mcast(MLX5_CMD_OP_ATTACH_TO_MCG, 0, qp[1]), ST_OK);
	assert_refused(mcast(MLX5_CMD_OP_ATTACH_TO_MCG, 0, qp[2]), ST_LIM, WHY_MCAST_MEMBERS);
	mcast_each(rig.hca, gid, count_member, &members);
	assert_int_equal(members, 2);
	assert_int_equal(mcast(MLX5_CMD_OP_DETACH_FROM_MCG, 1, qp[0]), ST_OK);
	assert_refused(mcast(MLX5_CMD_OP_DETACH_FROM_MCG, 1, qp[0]), ST_BAD_RES_STATE,
		       WHY_MCAST_ATTACHED);
	assert_int_equal(mcast(MLX5_CMD_OP_ATTACH_TO_MCG, i, qp[2]), ST_OK);
	mcast_forget(rig.hca, qp[0]->obj.num);
	assert_true(mcast_has_group(rig.hca, gid));	/* with qp[1] */
	for (i = 1; i < 512; i++)
		assert_int_equal(mcast(MLX5_CMD_OP_ATTACH_TO_MCG, i + 1000, qp[0]),
				 i < 511 ? ST_OK : ST_LIM);
}

/* The table of groups grows with their number. */
static void test_many_multicast_groups_are_found(void **state)
{
	struct qp *qp = new_qp(QPT_UD);
	uint8_t gid[16] = { 0xff };
	unsigned int i;

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], log_max_mcg, 21);
	for (i = 0; i < 20000; i++)
		assert_int_equal(mcast(MLX5_CMD_OP_ATTACH_TO_MCG, i, qp), ST_OK);
	for (i = 0; i < 20000; i++) {
		put_be32(gid + 12, i);
		assert_true(mcast_has_group(rig.hca, gid));
	}
	assert_int_equal(mcast(MLX5_CMD_OP_DETACH_FROM_MCG, 7, qp), ST_OK);
	put_be32(gid + 12, 7);
	assert_false(mcast_has_group(rig.hca, gid));
	mcast_forget(rig.hca, qp->obj.num);
	put_be32(gid + 12, 8);
	assert_false(mcast_has_group(rig.hca, gid));
}

static void test_multicast_ends_with_the_qp(void **state)
{
	struct qp *qp[2] = { new_qp(QPT_UD), new_qp(QPT_UD) };
	uint8_t gid[16] = { 0xff };
	unsigned int i;

	(void)state;
	put_be32(gid + 12, 1);
	for (i = 0; i < 2; i++)
		assert_int_equal(mcast(MLX5_CMD_OP_ATTACH_TO_MCG, 1, qp[i]), ST_OK);
	for (i = 0; i < 2; i++) {
		unsigned int members = 0;

		assert_int_equal(destroy(qp[i]->obj.num, 0), ST_OK);
		mcast_each(rig.hca, gid, count_member, &members);
		assert_int_equal(members, 1 - i);
	}
	assert_false(mcast_has_group(rig.hca, gid));
}

/* The fields that no transition changes, of which one of three differs at a time. */
static void test_creation_takes_its_fields(void **state)
{
	static const struct ifc_field fields[] = {
		IFC_FIELD(qpc, rlky), IFC_FIELD(qpc, block_lb_mc), IFC_FIELD(qpc, user_index),
	};
	struct qp_params p = good;
	const struct qp *qp;
	uint32_t qpn;
	size_t i;

	(void)state;
	p.st = QPT_UD;
	p.log_sq = 3;
	p.value = 1;
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		p.field = fields[i];
		assert_int_equal(create(&p, &qpn), ST_OK);
		qp = qp_find(rig.hca, qpn);
		assert_int_equal(qp->rlky, i == 0);
		assert_int_equal(qp->block_lb_mc, i == 1);
		assert_int_equal(qp->user_index, i == 2);
	}
	assert_int_equal(qp->type, QPT_UD);
	assert_int_equal(qp->pdn, pd);
	assert_int_equal(qp->uar, uar);
	assert_int_equal(qp->cqn_snd, cq1);
	assert_int_equal(qp->cqn_rcv, cq2);
	assert_int_equal(qp->rq_type, RQ_OWN);
	assert_true(qp->has_sq);
	assert_int_equal(qp->sq_cnt, 8);
	p.no_sq = true;
	p.log_sq = 0;
	assert_int_equal(create(&p, &qpn), ST_OK);
	assert_false(qp_find(rig.hca, qpn)->has_sq);
	assert_int_equal(qp_find(rig.hca, qpn)->sq_cnt, 0);
}

static void test_queue_layout(void **state)
{
	struct qp_params p = good;
	struct qp *qp;
	uint32_t qpn;

	(void)state;
	p.rq_stride = 2;		/* 64 bytes */
	p.npas = 1;
	assert_int_equal(create(&p, &qpn), ST_OK);
	qp = qp_find(rig.hca, qpn);
	assert_int_equal(qp->rq_cnt, 16);
	assert_int_equal(qp->rq_shift, 6);
	assert_int_equal(qp->sq_off, 1024);
	assert_int_equal(qp->mem.len, 2048);
}

static void test_port_has_one_qp0_and_one_qp1(void **state)
{
	struct qp *gsi = new_qp(QPT_QP1);
	struct qp_params p = good;
	uint32_t qpn;

	(void)state;
	assert_ptr_equal(qp_special(rig.hca, 1), gsi);
	assert_null(qp_special(rig.hca, 0));
	p.st = QPT_QP1;
	assert_refused(create(&p, &qpn), ST_RES_BUSY, WHY_QP_SPECIAL_EXISTS);
	assert_int_equal(destroy(gsi->obj.num, 0), ST_OK);
	assert_null(qp_special(rig.hca, 1));
	assert_int_equal(create(&p, &qpn), ST_OK);
}

static void test_qp_of_another_user_is_not_found(void **state)
{
	uint8_t c[QPC_BYTES] = {};
	uint32_t qpn;

	(void)state;
	full_context(c);
	assert_int_equal(create(&good, &qpn), ST_OK);
	rig_give(OBJ_QP, qpn, 3);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, qpn, 0, 4, c), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	assert_int_equal(modify_with(MLX5_CMD_OP_RST2INIT_QP, qpn, 0, 3, c), ST_OK);
	assert_int_equal(modify_with(MLX5_CMD_OP_2ERR_QP, qpn, 0, 0, c), ST_OK);
}

/* The commands that end a queue pair's work refuse an unknown number with another status. */
static void test_unknown_qp_is_in_no_state_to_be_stopped(void **state)
{
	uint8_t c[QPC_BYTES] = {};
	uint32_t qpn = new_qp(QPT_RC)->obj.num + 1;

	(void)state;
	full_context(c);
	assert_refused(modify_with(MLX5_CMD_OP_2ERR_QP, qpn, 0, 0, c), ST_BAD_RES_STATE,
		       WHY_OBJECT_UNKNOWN);
	assert_refused(modify_with(MLX5_CMD_OP_2RST_QP, qpn, 0, 0, c), ST_BAD_RES_STATE,
		       WHY_OBJECT_UNKNOWN);
	assert_refused(destroy(qpn, 0), ST_BAD_RES_STATE, WHY_OBJECT_UNKNOWN);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, qpn, 0, 0, c), ST_BAD_RES,
		       WHY_OBJECT_UNKNOWN);
}

/* CREATE_QP is refused if one of the objects that it names is the kernel's or another user's. */
static void test_qp_of_a_user_names_objects_of_the_user(void **state)
{
	const struct { enum obj_kind kind; uint32_t num; } named[] = {
		{ OBJ_PD, pd }, { OBJ_UAR, uar }, { OBJ_CQ, cq1 }, { OBJ_CQ, cq2 },
	};
	struct qp_params p = good;
	uint32_t qpn;
	size_t i;

	(void)state;
	p.uid = 3;
	assert_refused(create(&p, &qpn), ST_BAD_RES, WHY_OBJECT_OWNER);
	for (i = 0; i < ARRAY_SIZE(named); i++)
		rig_give(named[i].kind, named[i].num, 3);
	assert_int_equal(create(&p, &qpn), ST_OK);
	p.uid = 0;
	assert_int_equal(create(&p, &qpn), ST_OK);
	p.uid = 3;
	for (i = 0; i < ARRAY_SIZE(named); i++) {
		rig_give(named[i].kind, named[i].num, 0);
		assert_refused(create(&p, &qpn), ST_BAD_RES, WHY_OBJECT_OWNER);
		rig_give(named[i].kind, named[i].num, 4);
		assert_refused(create(&p, &qpn), ST_BAD_RES, WHY_OBJECT_OWNER);
		rig_give(named[i].kind, named[i].num, 3);
	}
}

/* The state machine, queries and DESTROY_QP are for the owner and the kernel. */
static void test_qp_of_the_kernel_is_not_a_users(void **state)
{
	uint8_t in[IFC_SZ(query_qp_in)] = {}, out[IFC_SZ(query_qp_out)], c[QPC_BYTES] = {};
	uint32_t qpn;

	(void)state;
	full_context(c);
	assert_int_equal(create(&good, &qpn), ST_OK);
	IFC_SET(query_qp_in, in, qpn, qpn);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, qpn, 0, 3, c), ST_BAD_RES,
		       WHY_OBJECT_OWNER);
	assert_refused(modify_with(MLX5_CMD_OP_2RST_QP, qpn, 0, 3, c), ST_BAD_RES_STATE,
		       WHY_OBJECT_OWNER);
	assert_refused(rig_cmd(MLX5_CMD_OP_QUERY_QP, 0, 3, in, sizeof(in), out, sizeof(out)),
		       ST_BAD_RES, WHY_OBJECT_OWNER);
	assert_refused(destroy(qpn, 3), ST_BAD_RES_STATE, WHY_OBJECT_OWNER);
	assert_int_equal(destroy(qpn, 0), ST_OK);
}

static void test_qp_holds_its_references(void **state)
{
	struct qp *qp = new_qp(QPT_RC);
	uint8_t in[32] = {}, out[32];
	uint32_t qpn = qp->obj.num;

	(void)state;
	IFC_SET(destroy_cq_in, in, cqn, cq1);
	assert_refused(rig_cmd(MLX5_CMD_OP_DESTROY_CQ, 0, 0, in, sizeof(in), out, sizeof(out)),
		       ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
	IFC_SET(dealloc_pd_in, in, pd, pd);
	assert_refused(rig_cmd(MLX5_CMD_OP_DEALLOC_PD, 0, 0, in, sizeof(in), out, sizeof(out)),
		       ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
	assert_int_equal(obj_find(rig.hca, OBJ_UAR, uar)->refs, 3);
	assert_int_equal(destroy(qpn, 0), ST_OK);
	assert_refused(destroy(qpn, 0), ST_BAD_RES_STATE, WHY_OBJECT_UNKNOWN);
	IFC_SET(destroy_cq_in, in, cqn, cq1);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_DESTROY_CQ, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	assert_int_equal(obj_find(rig.hca, OBJ_UAR, uar)->refs, 1);
}

/* The receive CQ, the SRQ and the XRC domain, of a queue pair of XRC. */
static void test_xrc_qp_holds_its_references(void **state)
{
	uint8_t in[32] = {}, out[32];
	uint32_t srqn = new_srq(3, 0), xrcdn, qpn;
	struct qp_params p = good;
	const struct obj *held[3];
	uint8_t c[QPC_BYTES] = {};
	unsigned int i;
	struct qp *qp;

	(void)state;
	assert_int_equal(rig_cmd(MLX5_CMD_OP_ALLOC_XRCD, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	xrcdn = IFC_GET(alloc_xrcd_out, out, xrcd);
	held[0] = obj_find(rig.hca, OBJ_CQ, cq2);
	held[1] = obj_find(rig.hca, OBJ_SRQ, srqn);
	held[2] = obj_find(rig.hca, OBJ_XRCD, xrcdn);
	p.st = QPT_XRC;
	p.rq_type = RQ_SRQ;
	p.log_rq = 0;
	p.srqn = srqn;
	p.xrcd = xrcdn + 1;
	assert_refused(create(&p, &qpn), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	p.xrcd = xrcdn;
	assert_int_equal(create(&p, &qpn), ST_OK);
	for (i = 0; i < ARRAY_SIZE(held); i++)
		assert_int_equal(held[i]->refs, 1);
	qp = qp_find(rig.hca, qpn);
	bring_to(qp, QPS_RTS);			/* it is a connection: it has rights */
	assert_int_equal(modify_with(MLX5_CMD_OP_RTS2RTS_QP, qpn, 1 << 1, 0, c), ST_OK);
	assert_int_equal(qp->retry_count, 7);	/* it is reliable */
	assert_int_equal(qp->path.ack_timeout, 14);
	assert_int_equal(destroy(qpn, 0), ST_OK);
	for (i = 0; i < ARRAY_SIZE(held); i++)
		assert_int_equal(held[i]->refs, 0);
}

/* Each of the references that come before the SRQ is wrong alone. */
static void test_reference_before_an_srq_is_checked(void **state)
{
	struct qp_params p = good;
	uint32_t *const num[] = { &p.pd, &p.uar, &p.cq_snd, &p.cq_rcv }, qpn;
	unsigned int i;

	(void)state;
	p.rq_type = RQ_SRQ;
	p.log_rq = 0;
	p.srqn = new_srq(3, 0);
	for (i = 0; i < ARRAY_SIZE(num); i++) {
		*num[i] += 9;
		assert_refused(create(&p, &qpn), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
		*num[i] -= 9;
	}
	assert_int_equal(create(&p, &qpn), ST_OK);
}

static void test_umr_qp_gets_its_pd_at_rst2init(void **state)
{
	struct qp_params p = good;
	uint8_t c[QPC_BYTES] = {};
	struct qp *qp;
	uint32_t qpn;

	(void)state;
	p.st = QPT_REG_UMR;
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_UMR_QUEUES);	/* with an RQ */
	p.rq_type = RQ_NONE;
	p.log_rq = 0;
	assert_refused(create(&p, &qpn), ST_BAD_PARAM, WHY_QP_UMR_PD);
	p.pd = 0;
	assert_int_equal(create(&p, &qpn), ST_OK);
	qp = qp_find(rig.hca, qpn);
	full_context(c);
	IFC_SET(qpc, c, pd, pd + 3);
	assert_refused(modify_with(MLX5_CMD_OP_RST2INIT_QP, qpn, 0, 0, c), ST_BAD_RES,
		       WHY_OBJECT_UNKNOWN);
	assert_int_equal(qp->state, QPS_RST);
	IFC_SET(qpc, c, pd, pd);
	assert_int_equal(modify_with(MLX5_CMD_OP_RST2INIT_QP, qpn, 0, 0, c), ST_OK);
	assert_int_equal(qp->pdn, pd);
	assert_int_equal(obj_find(rig.hca, OBJ_PD, pd)->refs, 1);
	IFC_SET(qpc, c, mtu, 0);
	assert_refused(modify_with(MLX5_CMD_OP_INIT2RTR_QP, qpn, 0, 0, c), ST_BAD_PARAM,
		       WHY_QP_MTU);
	IFC_SET(qpc, c, mtu, 5);
	IFC_SET(qpc, c, log_msg_max, 0);
	assert_refused(modify_with(MLX5_CMD_OP_INIT2RTR_QP, qpn, 0, 0, c), ST_BAD_PARAM,
		       WHY_QP_MESSAGE_SIZE);
	IFC_SET(qpc, c, log_msg_max, 12);
	assert_int_equal(modify_with(MLX5_CMD_OP_INIT2RTR_QP, qpn, 0, 0, c), ST_OK);
}

static void test_pd_moves_at_rst2init_only(void **state)
{
	struct qp *qp = new_qp(QPT_RC);
	uint8_t c[QPC_BYTES] = {};
	uint32_t other = rig_pd();

	(void)state;
	full_context(c);
	assert_int_equal(modify_with(MLX5_CMD_OP_RST2INIT_QP, qp->obj.num, 0, 0, c), ST_OK);
	IFC_SET(qpc, c, pd, other);
	assert_int_equal(modify_with(MLX5_CMD_OP_INIT2RTR_QP, qp->obj.num, 0, 0, c), ST_OK);
	assert_int_equal(qp->pdn, pd);
	assert_int_equal(obj_find(rig.hca, OBJ_PD, other)->refs, 0);
}

/* Queue pairs of special types have no order of their own, whatever the capabilities are. */
static void test_management_keeps_the_order_of_data(void **state)
{
	struct qp *qp = new_qp(QPT_QP1);
	uint8_t c[QPC_BYTES] = {};

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], dp_ordering_ooo_all_ud, 1);
	full_context(c);
	assert_int_equal(modify_with(MLX5_CMD_OP_RST2INIT_QP, qp->obj.num, 0, 0, c), ST_OK);
	IFC_SET(qpc, c, dp_ordering_1, 1);
	assert_refused(modify_with(MLX5_CMD_OP_INIT2RTR_QP, qp->obj.num, 0, 0, c), ST_BAD_PARAM,
		       WHY_QP_FIELD_NOT_OFFERED);
}

/* A program's queue pair counts in a counter set of the program, or in a shared one. */
static void test_counter_set_is_the_users(void **state)
{
	uint8_t in[IFC_SZ(alloc_q_counter_in)] = {}, out[IFC_SZ(alloc_q_counter_out)];
	static const struct { uint16_t owner, status; } row[] = {
		{ 4, ST_BAD_RES }, { 0, ST_BAD_RES }, { 3, ST_OK }, { SHARED_UID, ST_OK },
	};
	uint32_t qpn = new_qp(QPT_RC)->obj.num, set;
	uint8_t c[QPC_BYTES] = {};
	size_t i;

	(void)state;
	assert_int_equal(rig_cmd(MLX5_CMD_OP_ALLOC_Q_COUNTER, 0, 0, in, sizeof(in), out,
				 sizeof(out)), ST_OK);
	set = IFC_GET(alloc_q_counter_out, out, counter_set_id);
	full_context(c);
	IFC_SET(qpc, c, counter_set_id, set);
	rig_give(OBJ_QP, qpn, 3);
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		rig_give(OBJ_QCOUNTER, set, row[i].owner);
		assert_int_equal(modify_with(MLX5_CMD_OP_RST2INIT_QP, qpn, 0, 3, c),
				 row[i].status);
		assert_int_equal(modify(MLX5_CMD_OP_2RST_QP, qpn), ST_OK);
	}
}

/* ---- events ---------------------------------------------------------------------------------- */

static void expect_event(unsigned int i, uint8_t type, uint32_t num)
{
	assert_true(i < rig.nev);
	assert_true(rig.ev[i].async);
	assert_int_equal(rig.ev[i].type, type);
	assert_int_equal(rig.ev[i].data[20], 0);
	assert_int_equal(get_be32(rig.ev[i].data + 24), num);
}

static void test_fatal_error_raises_one_event(void **state)
{
	static const uint8_t kinds[] = { EV_WQ_CATAS_ERROR, EV_WQ_ACCESS, EV_WQ_INVAL_REQ };
	struct qp *qp = new_qp(QPT_RC);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(kinds); i++) {
		bring_to(qp, QPS_RTS);
		rig_clear();
		qp_to_error(rig.hca, qp, ERR_WQE_INVALID, kinds[i]);
		assert_int_equal(qp->state, QPS_ERR);
		expect_event(0, kinds[i], qp->obj.num);
		qp_to_error(rig.hca, qp, ERR_WQE_INVALID, kinds[i]);
		assert_int_equal(rig.nev, 1);
		assert_int_equal(rig.ntr, 1);
	}
}

static uint8_t query_ext(uint32_t qpn, uint8_t *out, size_t len)
{
	uint8_t in[IFC_SZ(query_qp_in)] = {};

	IFC_SET(query_qp_in, in, qpc_ext, 1);
	IFC_SET(query_qp_in, in, qpn, qpn);
	return rig_cmd(MLX5_CMD_OP_QUERY_QP, 0, 0, in, sizeof(in), out, len);
}

#define EXT_ERROR IFC_BYTE(query_qp_out, qp_pas_or_qpc_ext_and_pas.qpc_ext_and_pas_list. \
				       qpc_data_extension.error_syndrome)

/* The extension of the context has the syndromes of the error until the QP is reset. */
static void test_query_says_why_a_qp_failed(void **state)
{
	static const uint8_t why[] = { 147, 0, 0x52, SYND_LOCAL_PROT }, none[4];
	uint8_t out[IFC_SZ(query_qp_out)];
	struct qp *qp = new_qp(QPT_RC), *new = new_qp(QPT_RC);
	uint32_t qpn = qp->obj.num;

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], qp_error_syndrome, 1);
	bring_to(qp, QPS_RTS);
	qp_to_error(rig.hca, new, ERR_GATHER_KEY_UNKNOWN, 0);
	assert_int_equal(new->state, QPS_RST);
	qp_to_error(rig.hca, qp, ERR_GATHER_KEY_UNKNOWN, 0);
	qp_to_error(rig.hca, qp, ERR_FLUSHED, 0);	/* the first error counts */
	assert_int_equal(query_ext(qpn, out, sizeof(out)), ST_OK);
	assert_memory_equal(out + EXT_ERROR, why, sizeof(why));
	assert_int_equal(modify(MLX5_CMD_OP_2RST_QP, qpn), ST_OK);
	assert_int_equal(query_ext(qpn, out, sizeof(out)), ST_OK);
	assert_memory_equal(out + EXT_ERROR, none, sizeof(none));
	/* A queue pair that software has moved to ERR has not failed. */
	bring_to(qp, QPS_RTS);
	assert_int_equal(modify(MLX5_CMD_OP_2ERR_QP, qpn), ST_OK);
	assert_int_equal(query_ext(qpn, out, sizeof(out)), ST_OK);
	assert_memory_equal(out + EXT_ERROR, none, sizeof(none));
}

static void test_extended_query_needs_capability_and_room(void **state)
{
	uint8_t out[IFC_SZ(query_qp_out)];
	uint32_t qpn = new_qp(QPT_RC)->obj.num;

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], qp_error_syndrome, 0);
	assert_refused(query_ext(qpn, out, sizeof(out)), ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], qp_error_syndrome, 1);
	assert_refused(query_ext(qpn, out, sizeof(out) - 1), ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH);
	assert_int_equal(query_ext(qpn, out, sizeof(out)), ST_OK);
}

static void test_2err_command_raises_no_event(void **state)
{
	struct qp *qp = new_qp(QPT_RC);

	(void)state;
	bring_to(qp, QPS_RTS);
	rig_clear();
	assert_int_equal(modify(MLX5_CMD_OP_2ERR_QP, qp->obj.num), ST_OK);
	assert_int_equal(rig.nev, 0);
}

static void test_comm_est_is_raised_once(void **state)
{
	struct qp *qp = new_qp(QPT_RC);

	(void)state;
	bring_to(qp, QPS_RTR);
	rig_clear();
	qp_comm_est(rig.hca, qp);
	qp_comm_est(rig.hca, qp);
	assert_int_equal(rig.nev, 1);
	expect_event(0, EV_COMM_EST, qp->obj.num);
	bring_to(qp, QPS_RTS);
	rig_clear();
	qp_comm_est(rig.hca, qp);
	assert_int_equal(rig.nev, 0);
}

static void test_drained_queue_enters_sqd(void **state)
{
	struct qp *qp = new_qp(QPT_RC);

	(void)state;
	bring_to(qp, QPS_SQ_DRAINING);
	rig_clear();
	qp_sq_drained(rig.hca, qp);
	assert_int_equal(qp->state, QPS_SQD);
	expect_event(0, EV_SQ_DRAINED, qp->obj.num);
	qp_sq_drained(rig.hca, qp);
	assert_int_equal(rig.nev, 1);
}

static void test_lost_completion_is_fatal(void **state)
{
	struct qp *qp = new_qp(QPT_RC), *other = new_qp(QPT_RC);
	struct completion c = { .qpn = qp->obj.num };
	unsigned int i;

	(void)state;
	bring_to(qp, QPS_RTS);
	bring_to(other, QPS_RTS);
	rig_clear();
	for (i = 0; i < 16; i++)
		cq_complete_now(rig.hca, cq1, &c);
	event_base_loop(rig.hca->base, EVLOOP_NONBLOCK);
	assert_int_equal(rig.nev, 0);
	cq_complete_now(rig.hca, cq1, &c);
	assert_int_equal(qp->state, QPS_RTS);	/* ERR comes from the event loop */
	event_base_loop(rig.hca->base, EVLOOP_NONBLOCK);
	assert_int_equal(qp->state, QPS_ERR);
	assert_int_equal(other->state, QPS_RTS);
	assert_int_equal(rig.ev[0].type, EV_CQ_ERROR);
	expect_event(1, EV_WQ_CATAS_ERROR, qp->obj.num);
	assert_int_equal(rig.nev, 2);
}

static uint32_t new_srq(unsigned int log, unsigned int lwm)
{
	uint8_t in[IFC_BYTE(create_rmp_in, ctx.wq.pas) + 8] = {}, out[IFC_SZ(create_rmp_out)];
	uint8_t *wq = IFC_ADDR(create_rmp_in, in, ctx.wq);

	IFC_SET(create_rmp_in, in, ctx.state, 1);
	IFC_SET(wq, wq, pd, pd);
	IFC_SET(wq, wq, log_wq_sz, log);
	IFC_SET(wq, wq, log_wq_stride, 6);
	IFC_SET(wq, wq, lwm, lwm);
	IFC_SET64(wq, wq, dbr_addr, SRQ_DBR);
	put_be64(IFC_ADDR(create_rmp_in, in, ctx.wq.pas), SRQ_BUF);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_CREATE_RMP, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	return IFC_GET(create_rmp_out, out, rmpn);
}

/* Whatever a queue pair has done and met, it begins anew after 2RST_QP. */
static void test_reset_begins_anew(void **state)
{
	struct qp *qp = new_qp(QPT_RC);
	uint8_t before[QPC_BYTES];

	(void)state;
	memcpy(before, qp->qpc, sizeof(before));
	bring_to(qp, QPS_RTS);
	qp->sq_hw = 5;
	qp->rq_hw = 6;
	qp->ssn = 7;
	qp->comm_est = true;
	qp->drain_event = true;
	qp->last_wqe_done = true;
	qp->cq_dead = true;
	assert_int_equal(modify(MLX5_CMD_OP_2RST_QP, qp->obj.num), ST_OK);
	assert_memory_equal(qp->qpc, before, sizeof(before));
	assert_int_equal(qp->remote_qpn, 0);
	assert_int_equal(qp->sq_hw | qp->rq_hw | qp->ssn, 0);
	assert_int_equal(qp->next_send_psn | qp->next_rcv_psn | qp->last_acked_psn, 0);
	assert_false(qp->comm_est || qp->drain_event || qp->last_wqe_done || qp->cq_dead);
}

static void test_last_wqe_of_an_srq_qp(void **state)
{
	struct qp_params p = good;
	struct qp *qp;
	uint32_t qpn;

	(void)state;
	p.rq_type = RQ_SRQ, p.log_rq = 0, p.srqn = new_srq(3, 0);
	assert_int_equal(create(&p, &qpn), ST_OK);
	qp = qp_find(rig.hca, qpn);
	bring_to(qp, QPS_RTS);
	rig_clear();
	qp_to_error(rig.hca, qp, ERR_RKEY_REFUSED, EV_WQ_ACCESS);
	expect_event(0, EV_SRQ_LAST_WQE, qpn);
	expect_event(1, EV_WQ_ACCESS, qpn);
	assert_int_equal(rig.nev, 2);
}

/* ---- shared receive queues ------------------------------------------------------------------- */

static void link_wqe(unsigned int idx, unsigned int next)
{
	put_be16(ram(SRQ_BUF + 64 * idx + 2), next);
	put_be32(ram(SRQ_BUF + 64 * idx + 16), 0x1000 + idx);
}

static void test_srq_follows_the_linked_list(void **state)
{
	struct srq *srq = srq_find(rig.hca, new_srq(2, 0));
	static const unsigned int order[] = { 0, 2, 1, 3 };
	uint8_t wqe[64];
	uint16_t idx;
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++)
		link_wqe(order[i], order[(i + 1) % 4]);
	assert_true(srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe)) < 0);
	put_be32(ram(SRQ_DBR), 3);
	for (i = 0; i < 3; i++) {
		assert_int_equal(srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe)), 64);
		assert_int_equal(idx, order[i]);
		assert_int_equal(get_be32(wqe + 16), 0x1000 + order[i]);
	}
	assert_true(srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe)) < 0);
}

static void test_srq_limit_event_is_raised_once(void **state)
{
	struct srq *srq = srq_find(rig.hca, new_srq(2, 2));
	uint8_t wqe[64];
	uint16_t idx;
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++)
		link_wqe(i, (i + 1) % 4);
	put_be32(ram(SRQ_DBR), 4);
	srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe));
	srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe));
	assert_int_equal(rig.nev, 0);		/* two WQEs are left */
	srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe));
	expect_event(0, EV_SRQ_RQ_LIMIT, srq->obj.num);
	srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe));
	assert_int_equal(rig.nev, 1);
}

/*
 * An SRQ of four WQEs enters the error state if its first WQE links to @next and @posted are
 * posted.
 */
static void srq_breaks(uint16_t next, uint32_t posted)
{
	struct srq *srq = srq_find(rig.hca, new_srq(2, 0));
	uint8_t wqe[64];
	uint16_t idx;

	link_wqe(0, next);
	put_be32(ram(SRQ_DBR), posted);
	assert_int_equal(srq_pop(rig.hca, srq, &idx, wqe, sizeof(wqe)), -EFAULT);
	assert_true(srq->error);
	expect_event(0, EV_SRQ_CATAS_ERROR, srq->obj.num);
	assert_int_equal(srq->hw, 0);
}

static void test_srq_cannot_hold_more_wqes_than_it_has(void **state)
{
	(void)state;
	srq_breaks(1, 5);
}

static void test_srq_link_leads_to_a_wqe_of_the_queue(void **state)
{
	(void)state;
	srq_breaks(4, 1);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, rig_teardown)

static void test_trace_of_states_and_paths(void **state)
{
	struct qp *qp = new_qp(QPT_RC);
	struct trace *t = rig.hca->trace;
	uint8_t c[QPC_BYTES] = {};

	(void)state;
	trace_ring(t, true);
	context_to_take(c);
	assert_int_equal(modify_with(MLX5_CMD_OP_RST2INIT_QP, qp->obj.num, 0, 0, c), ST_OK);
	assert_int_equal(modify_with(MLX5_CMD_OP_INIT2RTR_QP, qp->obj.num, 0, 0, c), ST_OK);
	expect_traced(t, "qp_state", "\"qpn\":%u,\"from\":\"INIT\",\"to\":\"RTR\"", qp->obj.num);
	expect_traced(t, "qp_path", "\"qpn\":%u,\"pkey_index\":1,\"rlid\":%u,\"sl\":5,"
		      "\"stat_rate\":8,\"grh\":1,\"sgid_index\":1,\"hop_limit\":%u,\"tclass\":%u,"
		      "\"flow_label\":%u", qp->obj.num, 0x4321, 0x66, 0x77, 0x54321);
	qp_to_error(rig.hca, qp, ERR_WQE_INVALID, EV_WQ_ACCESS);
	expect_traced(t, "qp_event", "\"qpn\":%u,\"event\":%u", qp->obj.num, EV_WQ_ACCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_state_machine_rc), T(test_state_machine_uc), T(test_state_machine_ud),
		T(test_qp_is_destroyed_in_any_state),
		T(test_transitions_take_their_fields), T(test_optional_parameters),
		T(test_each_field_is_taken_by_its_transition),
		T(test_each_parameter_brings_its_fields), T(test_path_is_decoded),
		T(test_query_shows_the_running_values), T(test_xrc_qp_holds_its_references),
		T(test_reference_before_an_srq_is_checked),
		T(test_path_migration_is_set_when_created),
		T(test_invalid_values_are_refused), T(test_create_refuses_invalid_contexts),
		T(test_numbers_can_be_used_up),
		T(test_services_need_their_capabilities),
		T(test_creation_takes_its_fields), T(test_queue_layout),
		T(test_port_has_one_qp0_and_one_qp1),
		T(test_qp_of_another_user_is_not_found),
		T(test_unknown_qp_is_in_no_state_to_be_stopped),
		T(test_qp_of_a_user_names_objects_of_the_user),
		T(test_qp_of_the_kernel_is_not_a_users), T(test_qp_holds_its_references),
		T(test_pd_moves_at_rst2init_only), T(test_management_keeps_the_order_of_data),
		T(test_umr_qp_gets_its_pd_at_rst2init), T(test_counter_set_is_the_users),
		T(test_fatal_error_raises_one_event),
		T(test_query_says_why_a_qp_failed),
		T(test_extended_query_needs_capability_and_room),
		T(test_2err_command_raises_no_event), T(test_comm_est_is_raised_once),
		T(test_reset_begins_anew), T(test_drained_queue_enters_sqd),
		T(test_lost_completion_is_fatal),
		T(test_last_wqe_of_an_srq_qp), T(test_srq_follows_the_linked_list),
		T(test_srq_limit_event_is_raised_once),
		T(test_what_is_not_offered_is_refused), T(test_each_reserved_field_is_refused),
		T(test_each_field_of_another_network_is_refused),
		T(test_order_of_data_needs_a_capability), T(test_order_of_data_is_a_number),
		T(test_padding_needs_a_capability),
		T(test_data_in_cqes_needs_a_capability), T(test_data_of_64_bytes_needs_long_cqes),
		T(test_source_of_packets_needs_a_capability), T(test_timestamp_formats),
		T(test_reserved_timestamp_format),
		T(test_user_index_selects_the_cqe_version), T(test_xrc_srq_is_for_xrc_only),
		T(test_only_ud_joins_a_multicast_group),
		T(test_multicast_is_limited_by_capabilities),
		T(test_many_multicast_groups_are_found), T(test_multicast_ends_with_the_qp),
		T(test_srq_cannot_hold_more_wqes_than_it_has),
		T(test_srq_link_leads_to_a_wqe_of_the_queue), T(test_trace_of_states_and_paths),
	};

	return cmocka_run_group_tests_name("qp", tests, NULL, NULL);
}
