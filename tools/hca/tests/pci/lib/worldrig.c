// SPDX-License-Identifier: GPL-2.0
/*
 * A rig for fuzzers of the whole HCA: an HCA with objects of every kind, made by commands, and for
 * each opcode a command that is valid for the objects that exist.
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "corerig.h"
#include "fabric.h"
#include "fuzzrig.h"
#include "hca.h"
#include "ifc.h"
#include "mkey.h"
#include "qp.h"
#include "srq.h"
#include "uar_page.h"
#include "umem.h"
#include "worldnic.h"
#include "worldrig.h"

#define RECORDS		0x3f0000ull	/* doorbell records, 8 bytes each */
#define BUFFERS		0x600000ull	/* buffers of a page */
#define PLACES		256
#define UMEM		0x700000ull	/* the pages of all umems */
#define UMEM_PAGES	16		/* the last has doorbell records */
#define MEMIC_SIZE	4096u
#define LOG_WQES	4		/* of each queue */
#define KEY_PAGES	(WORLD_DATA_LEN / 4096)

struct world world;

/* ---- objects --------------------------------------------------------------------------------- */

struct chosen {
	uint32_t num[64];
	unsigned int n;
};

static bool choose(struct hca *hca, struct obj *o, void *arg)
{
	struct chosen *c = arg;

	(void)hca;
	if (o->gone)
		return true;
	c->num[c->n++] = o->num;
	return c->n < 64;
}

uint32_t world_live(enum obj_kind kind, uint8_t pick)
{
	struct chosen c = { .n = 0 };

	obj_for_each(core.hca, kind, choose, &c);
	return c.n ? c.num[pick % c.n] : 0;
}

uint32_t world_live_uar(uint8_t pick)
{
	return world_live(OBJ_UAR, pick) + (pick >> 4) % uars_per_page(core.hca);
}

/* The number of an SRQ of form @kind, if there is one; else of another SRQ, or 0. */
static uint32_t live_srq(int kind, uint8_t pick)
{
	unsigned int i;
	uint32_t num = 0;

	for (i = 0; i < 8; i++) {
		num = world_live(OBJ_SRQ, pick + i);
		if (num && (int)srq_find(core.hca, num)->kind == kind)
			break;
	}
	return num;
}

/* A page for a buffer, with all CQEs invalid, as in a new CQ. world_record() moves to the next. */
uint64_t world_buffer(void)
{
	uint64_t at = BUFFERS + world.place % PLACES * 4096ull;

	memset(core.ram + at, 0xff, 4096);
	return at;
}

uint64_t world_record(void)
{
	return RECORDS + world.place++ % PLACES * 8;
}

/* Offsets of a buffer and of a record in a umem. new_umem_record() moves to the next of both. */
static uint64_t new_umem_buffer(void)
{
	uint64_t off = world.place % (UMEM_PAGES - 1) * 4096ull;

	memset(core.ram + UMEM + off, 0xff, 4096);
	return off;
}

static uint64_t new_umem_record(void)
{
	return (UMEM_PAGES - 1) * 4096ull + world.place++ % PLACES * 8;
}

/* For half of the values of @pick the queue is in a umem. */
static bool wants_umem(uint8_t pick)
{
	return pick & 0x80;
}

static void put_umem(uint8_t *in, uint8_t pick)
{
	ifc_set_bits(in, CMD_UMEM_ID, 32, world_live(OBJ_UMEM, pick));
	ifc_set_bits(in, CMD_UMEM_OFFSET, 64, new_umem_buffer());
}

/* ---- commands that take a context ------------------------------------------------------------ */

static void build_create_eq(struct world_cmd *c, uint8_t pick)
{
	uint8_t *e = IFC_ADDR(create_eq_in, c->in, eq_context_entry);

	IFC_SET(eqc, e, log_eq_size, 6);
	IFC_SET(eqc, e, uar_page, world_live_uar(pick));
	IFC_SET(eqc, e, intr, pick % 4);
	put_be64(c->in + IFC_SZ(create_eq_in), world_buffer());
	c->in_len += 8;
	world_record();
}

static uint32_t live_comp_eq(uint8_t pick)
{
	uint32_t num = world_live(OBJ_EQ, pick);

	return num == world.async ? world.eqn : num;
}

static void build_create_cq(struct world_cmd *c, uint8_t pick)
{
	uint8_t *q = IFC_ADDR(create_cq_in, c->in, cq_context);

	IFC_SET(cqc, q, log_cq_size, 6);
	IFC_SET(cqc, q, uar_page, world_live_uar(pick));
	IFC_SET(cqc, q, c_eqn_or_apu_element, live_comp_eq(pick));
	if (wants_umem(pick)) {
		IFC_SET(create_cq_in, c->in, cq_umem_valid, 1);
		put_umem(c->in, pick);
		IFC_SET(cqc, q, dbr_umem_valid, 1);
		ifc_set_bits(q, CQC_DBR_UMEM_ID, 32, world_live(OBJ_UMEM, pick));
		IFC_SET64(cqc, q, dbr_addr, new_umem_record());
		return;
	}
	put_be64(IFC_ADDR(create_cq_in, c->in, pas), world_buffer());
	IFC_SET64(cqc, q, dbr_addr, world_record());
	c->in_len += 8;
}

static void build_modify_cq(struct world_cmd *c, uint8_t pick)
{
	uint8_t *q = IFC_ADDR(modify_cq_in, c->in, cq_context);

	IFC_SET(modify_cq_in, c->in, cqn, world_live(OBJ_CQ, pick));
	if (pick & 0x80 && pick & 0x40) {
		IFC_SET(modify_cq_in, c->in, op_mod, 1);
		put_be32(IFC_ADDR(modify_cq_in, c->in, modify_field_select_resize_field_select), 9);
		IFC_SET(cqc, q, log_cq_size, 5);
		IFC_SET(modify_cq_in, c->in, cq_umem_valid, 1);
		put_umem(c->in, pick);
		new_umem_record();
	} else if (pick & 0x80) {
		IFC_SET(modify_cq_in, c->in, op_mod, 1);
		put_be32(IFC_ADDR(modify_cq_in, c->in, modify_field_select_resize_field_select), 7);
		IFC_SET(cqc, q, log_cq_size, 5);
		put_be64(IFC_ADDR(modify_cq_in, c->in, pas), world_buffer());
		c->in_len += 8;
		world_record();
	} else {
		put_be32(IFC_ADDR(modify_cq_in, c->in, modify_field_select_resize_field_select), 3);
		IFC_SET(cqc, q, cq_max_count, pick);
	}
}

static const uint8_t qp_types[] = {
	QPT_RC, QPT_RC, QPT_UC, QPT_UD, QPT_RC, QPT_XRC, QPT_REG_UMR, QPT_DCI,
};

static void build_create_qp(struct world_cmd *c, uint8_t pick)
{
	uint8_t *q = IFC_ADDR(create_qp_in, c->in, qpc);
	unsigned int form = pick % WORLD_QPS;
	bool own = form < WORLD_SRQ, none = form == WORLD_REG || form == WORLD_DCI;

	IFC_SET(qpc, q, st, qp_types[form]);
	IFC_SET(qpc, q, pm_state, 3);
	IFC_SET(qpc, q, pd, form == WORLD_REG ? 0 : world_live(OBJ_PD, pick));
	IFC_SET(qpc, q, fre, form == WORLD_REG);
	IFC_SET(qpc, q, rq_type, own ? RQ_OWN : none ? RQ_NONE : RQ_SRQ);
	IFC_SET(qpc, q, log_sq_size, LOG_WQES);
	IFC_SET(qpc, q, log_rq_size, own ? LOG_WQES : 0);
	IFC_SET(qpc, q, log_rq_stride, own ? 2 : 0);
	IFC_SET(qpc, q, uar_page, world_live_uar(pick));
	IFC_SET(qpc, q, user_index, pick);
	IFC_SET(qpc, q, cqn_snd, world_live(OBJ_CQ, pick));
	IFC_SET(qpc, q, cqn_rcv, world_live(OBJ_CQ, pick + 1));
	IFC_SET(qpc, q, cs_req, pick & 0x40 ? 0x11 : 0);
	if (form == WORLD_SRQ || form == WORLD_XRC)
		IFC_SET(qpc, q, srqn_rmpn_xrqn,
			live_srq(form == WORLD_XRC ? SRQ_XRC : pick & 0x20 ? SRQ_XRQ : SRQ_RMP,
				 pick));
	if (form == WORLD_SRQ && pick & 0x20 && pick & 0x80) {
		IFC_SET(qpc, q, no_sq, 1);
		IFC_SET(qpc, q, log_sq_size, 0);
		IFC_SET(qpc, q, offload_type, MLX5_QPC_OFFLOAD_TYPE_RNDV);
	}
	if (form == WORLD_XRC)
		IFC_SET(qpc, q, xrcd, world_live(OBJ_XRCD, pick));
	if (wants_umem(pick)) {
		IFC_SET(create_qp_in, c->in, wq_umem_valid, 1);
		IFC_SET(create_qp_in, c->in, wq_umem_id, world_live(OBJ_UMEM, pick));
		IFC_SET64(create_qp_in, c->in, wq_umem_offset, new_umem_buffer());
		IFC_SET(qpc, q, dbr_umem_valid, 1);
		ifc_set_bits(q, QPC_DBR_UMEM_ID, 32, world_live(OBJ_UMEM, pick));
		IFC_SET64(qpc, q, dbr_addr, new_umem_record());
		return;
	}
	put_be64(IFC_ADDR(create_qp_in, c->in, pas), world_buffer());
	IFC_SET64(qpc, q, dbr_addr, world_record());
	c->in_len += 8;
}

static uint32_t peer_of(const struct qp *qp)
{
	if (qp->obj.num == world.qp[WORLD_RC_A])
		return world.qp[WORLD_RC_B];
	return qp->obj.num == world.qp[WORLD_RC_B] ? world.qp[WORLD_RC_A] : qp->obj.num;
}

/*
 * A transition of a queue pair whose state it begins with, if there is such a queue pair. The
 * context suits all transitions.
 */
static void build_modify_qp(struct world_cmd *c, uint8_t pick)
{
	uint8_t *q = IFC_ADDR(rst2init_qp_in, c->in, qpc);
	uint8_t *path = IFC_ADDR(qpc, q, primary_address_path);
	static const uint8_t from[][2] = {
		{ MLX5_CMD_OP_RST2INIT_QP & 0xff, QPS_RST },
		{ MLX5_CMD_OP_INIT2INIT_QP & 0xff, QPS_INIT },
		{ MLX5_CMD_OP_INIT2RTR_QP & 0xff, QPS_INIT },
		{ MLX5_CMD_OP_RTR2RTS_QP & 0xff, QPS_RTR },
		{ MLX5_CMD_OP_RTS2RTS_QP & 0xff, QPS_RTS },
		{ MLX5_CMD_OP_SQERR2RTS_QP & 0xff, QPS_SQER }, { 0x08, QPS_RTS },
		{ MLX5_CMD_OP_SQD_RTS_QP & 0xff, QPS_SQD }, { 0x11, QPS_SQD },
	};
	struct qp *qp = NULL;
	unsigned int i, k;

	for (i = 0; i < 16; i++) {
		qp = qp_find(core.hca, world_live(OBJ_QP, pick + i));
		for (k = 0; k < sizeof(from) / sizeof(*from); k++)
			if (qp && from[k][0] == (c->op & 0xff) && from[k][1] == qp->state)
				goto found;
	}
found:
	if (!qp)
		return;
	IFC_SET(rst2init_qp_in, c->in, qpn, qp->obj.num);
	IFC_SET(qpc, q, pd, qp->type == QPT_REG_UMR ? world_live(OBJ_PD, pick) : 0);
	IFC_SET(qpc, q, pm_state, 3);
	IFC_SET(qpc, q, mtu, qp->type == QPT_UD ? 5 : 3);
	IFC_SET(qpc, q, log_msg_max, qp->type == QPT_UD ? 12 : 20);
	IFC_SET(qpc, q, remote_qpn, peer_of(qp));
	IFC_SET(qpc, q, next_rcv_psn, 0xfffff0);
	IFC_SET(qpc, q, next_send_psn, 0xfffff0);
	IFC_SET(qpc, q, min_rnr_nak, 1);
	IFC_SET(qpc, q, retry_count, 7);
	IFC_SET(qpc, q, rnr_retry, 6);
	IFC_SET(qpc, q, log_sra_max, 2);
	IFC_SET(qpc, q, log_rra_max, 2);
	IFC_SET(qpc, q, q_key, 0x11111111);
	IFC_SET(qpc, q, rwe, 1);
	IFC_SET(qpc, q, rre, qp->type != QPT_UC);
	IFC_SET(qpc, q, rae, qp->type == QPT_RC);
	IFC_SET(qpc, q, atomic_mode, 1);
	IFC_SET(ads, path, rlid, fabric_lid(core.hca));
	IFC_SET(ads, path, ack_timeout, 1);
	IFC_SET(ads, path, vhca_port_num, 1);
}

static void build_wq(uint8_t *wq, uint8_t pick)
{
	IFC_SET(wq, wq, pd, world_live(OBJ_PD, pick));
	IFC_SET(wq, wq, log_wq_sz, LOG_WQES);
	IFC_SET(wq, wq, log_wq_stride, 6);
	IFC_SET(wq, wq, lwm, pick % 4);
	if (wants_umem(pick)) {
		IFC_SET(wq, wq, wq_umem_valid, 1);
		IFC_SET(wq, wq, wq_umem_id, world_live(OBJ_UMEM, pick));
		IFC_SET64(wq, wq, wq_umem_offset, new_umem_buffer());
		IFC_SET(wq, wq, dbr_umem_valid, 1);
		IFC_SET(wq, wq, dbr_umem_id, world_live(OBJ_UMEM, pick));
		IFC_SET64(wq, wq, dbr_addr, new_umem_record());
		return;
	}
	put_be64(IFC_ADDR(wq, wq, pas), world_buffer());
	IFC_SET64(wq, wq, dbr_addr, world_record());
}

static void build_create_rmp(struct world_cmd *c, uint8_t pick)
{
	IFC_SET(create_rmp_in, c->in, ctx.state, 1);
	build_wq(IFC_ADDR(create_rmp_in, c->in, ctx.wq), pick);
	c->in_len += 8;
}

static void build_create_xrq(struct world_cmd *c, uint8_t pick)
{
	uint8_t *x = IFC_ADDR(create_xrq_in, c->in, xrq_context);

	IFC_SET(xrqc, x, topology, MLX5_XRQC_TOPOLOGY_TAG_MATCHING);
	IFC_SET(xrqc, x, offload, pick & 1);
	IFC_SET(xrqc, x, user_index, pick);
	IFC_SET(xrqc, x, cqn, world_live(OBJ_CQ, pick));
	IFC_SET(xrqc, x, tag_matching_topology_context.log_matching_list_sz, 1 + pick % 4);
	build_wq(IFC_ADDR(xrqc, x, wq), pick);
	c->in_len += 8;
}

static void build_modify_rmp(struct world_cmd *c, uint8_t pick)
{
	IFC_SET(modify_rmp_in, c->in, rmp_state, 1);
	IFC_SET(modify_rmp_in, c->in, rmpn, live_srq(SRQ_RMP, pick));
	IFC_SET(modify_rmp_in, c->in, bitmask.lwm, 1);
	IFC_SET(modify_rmp_in, c->in, ctx.wq.lwm, pick % 8);
}

static void build_create_xrc_srq(struct world_cmd *c, uint8_t pick)
{
	uint8_t *s = IFC_ADDR(create_xrc_srq_in, c->in, xrc_srq_context_entry);
	uint64_t record;

	IFC_SET(xrc_srqc, s, log_xrc_srq_size, LOG_WQES);
	IFC_SET(xrc_srqc, s, log_rq_stride, 2);
	IFC_SET(xrc_srqc, s, pd, world_live(OBJ_PD, pick));
	IFC_SET(xrc_srqc, s, cqn, world_live(OBJ_CQ, pick));
	IFC_SET(xrc_srqc, s, xrcd, world_live(OBJ_XRCD, pick));
	if (wants_umem(pick)) {
		IFC_SET(create_xrc_srq_in, c->in, xrc_srq_umem_valid, 1);
		put_umem(c->in, pick);
		IFC_SET(xrc_srqc, s, dbr_umem_valid, 1);
		ifc_set_bits(s, XRC_SRQC_DBR_UMEM_ID, 32, world_live(OBJ_UMEM, pick));
		record = new_umem_record();
	} else {
		put_be64(IFC_ADDR(create_xrc_srq_in, c->in, pas), world_buffer());
		record = world_record();
		c->in_len += 8;
	}
	IFC_SET(xrc_srqc, s, db_record_addr_h, record >> 32);
	IFC_SET(xrc_srqc, s, db_record_addr_l, record >> 2);
}

static void build_create_dct(struct world_cmd *c, uint8_t pick)
{
	uint8_t *d = IFC_ADDR(create_dct_in, c->in, dct_context_entry);

	IFC_SET(dctc, d, pd, world_live(OBJ_PD, pick));
	IFC_SET(dctc, d, cqn, world_live(OBJ_CQ, pick));
	IFC_SET(dctc, d, srqn_xrqn, live_srq(SRQ_RMP, pick));
	IFC_SET(dctc, d, user_index, pick);
	IFC_SET(dctc, d, rre, 1);
	IFC_SET(dctc, d, rwe, 1);
	IFC_SET(dctc, d, rae, 1);
	IFC_SET(dctc, d, atomic_mode, ATOMIC_8B);
	IFC_SET(dctc, d, mtu, 3);
	IFC_SET(dctc, d, port, 1);
	IFC_SET(dctc, d, cs_res, pick & 0x40 ? 2 : 0);
	IFC_SET64(dctc, d, dc_access_key, WORLD_DC_KEY);
}

static void build_create_srq(struct world_cmd *c, uint8_t pick)
{
	uint8_t *s = IFC_ADDR(create_srq_in, c->in, srq_context_entry);

	IFC_SET(srqc, s, log_srq_size, LOG_WQES);
	IFC_SET(srqc, s, log_rq_stride, 2);
	IFC_SET(srqc, s, pd, world_live(OBJ_PD, pick));
	put_be64(IFC_ADDR(create_srq_in, c->in, pas), world_buffer());
	IFC_SET64(srqc, s, dbr_addr, world_record());
	c->in_len += 8;
}

static void build_mkc(uint8_t *m, uint8_t pick)
{
	IFC_SET(mkc, m, lr, 1);
	IFC_SET(mkc, m, lw, 1);
	IFC_SET(mkc, m, rr, 1);
	IFC_SET(mkc, m, rw, 1);
	IFC_SET(mkc, m, a, 1);
	IFC_SET(mkc, m, umr_en, 1);
	IFC_SET(mkc, m, qpn, MKEY_ANY_QP);
	IFC_SET(mkc, m, mkey_7_0, pick);
	IFC_SET(mkc, m, pd, world_live(OBJ_PD, pick));
	IFC_SET(mkc, m, log_page_size, 12);
	IFC_SET64(mkc, m, start_addr, WORLD_DATA);
	IFC_SET64(mkc, m, len, WORLD_DATA_LEN);
}

static void build_create_umem(struct world_cmd *c, uint8_t pick)
{
	unsigned int i;

	IFC_SET64(create_umem_in, c->in, umem.num_of_mtt, UMEM_PAGES);
	for (i = 0; i < UMEM_PAGES; i++)
		put_be64(IFC_ADDR(create_umem_in, c->in, umem.mtt) + 8 * i,
			 (UMEM + 4096ull * i) | (pick & 0x40 ? UMEM_READ : UMEM_ACCESS));
	c->in_len += UMEM_PAGES * 8;
}

static void build_umem_key(struct world_cmd *c, uint8_t pick)
{
	uint8_t *m = IFC_ADDR(create_mkey_in, c->in, memory_key_mkey_entry);

	build_mkc(m, pick);
	IFC_SET(mkc, m, umr_en, 0);
	IFC_SET(mkc, m, access_mode_1_0, MKM_MTT);
	IFC_SET(mkc, m, translations_octword_size, UMEM_PAGES / 2);
	IFC_SET64(mkc, m, len, UMEM_PAGES * 2048);
	IFC_SET(create_mkey_in, c->in, mkey_umem_valid, 1);
	ifc_set_bits(c->in, CREATE_MKEY_UMEM_ID, 32, world_live(OBJ_UMEM, pick));
	ifc_set_bits(c->in, CREATE_MKEY_UMEM_OFFSET, 64, pick % 8 * 4096);
}

/*
 * A key of a form that @pick chooses: over a umem; or with all pages, with half of them, free, or a
 * list of parts of WORLD_FLAT.
 */
static void build_create_mkey(struct world_cmd *c, uint8_t pick)
{
	uint8_t *m = IFC_ADDR(create_mkey_in, c->in, memory_key_mkey_entry);
	uint8_t *xlt = IFC_ADDR(create_mkey_in, c->in, klm_pas_mtt);
	unsigned int form = pick % WORLD_KEYS, i;

	if (wants_umem(pick)) {
		build_umem_key(c, pick);
		return;
	}
	build_mkc(m, pick);
	IFC_SET(mkc, m, access_mode_1_0, form >= WORLD_WINDOW ? MKM_KLM : MKM_MTT);
	IFC_SET(mkc, m, free, form == WORLD_UMR || form == WORLD_WINDOW);
	IFC_SET(mkc, m, en_rinval, form == WORLD_WINDOW);
	IFC_SET(mkc, m, translations_octword_size, KEY_PAGES / 2);
	IFC_SET(create_mkey_in, c->in, pg_access, form == WORLD_PAGED);
	if (form == WORLD_UMR || form == WORLD_WINDOW)
		return;
	c->in_len += KEY_PAGES * 8;
	IFC_SET(create_mkey_in, c->in, translations_octword_actual_size, KEY_PAGES / 2);
	for (i = 0; i < KEY_PAGES && form != WORLD_LIST; i++)
		put_be64(xlt + 8 * i, (WORLD_DATA + 4096ull * i) |
				      (form == WORLD_PAGED && i % 2 ? 0 : MTT_ACCESS));
	for (i = 0; i < KEY_PAGES / 2 && form == WORLD_LIST; i++) {
		put_be32(xlt + 16 * i, WORLD_DATA_LEN / (KEY_PAGES / 2));
		put_be32(xlt + 16 * i + 4, world.key[WORLD_FLAT]);
		put_be64(xlt + 16 * i + 8, WORLD_DATA + i * (WORLD_DATA_LEN / (KEY_PAGES / 2)));
	}
}

static void build_create_sq(struct world_cmd *c, uint8_t pick)
{
	uint8_t *s = IFC_ADDR(create_sq_in, c->in, ctx), *wq = IFC_ADDR(sqc, s, wq);

	IFC_SET(sqc, s, cqn, world_live(OBJ_CQ, pick));
	IFC_SET(wq, wq, wq_type, 1);
	IFC_SET(wq, wq, log_wq_stride, 6);
	IFC_SET(wq, wq, log_wq_sz, LOG_WQES);
	IFC_SET(wq, wq, pd, world_live(OBJ_PD, pick));
	IFC_SET(wq, wq, uar_page, world_live_uar(pick));
	put_be64(IFC_ADDR(wq, wq, pas), world_buffer());
	IFC_SET64(wq, wq, dbr_addr, world_record());
	c->in_len += 8;
}

static void build_modify_sq(struct world_cmd *c, uint8_t pick)
{
	IFC_SET(modify_sq_in, c->in, sqn, world_live(OBJ_SQ, pick));
	IFC_SET(modify_sq_in, c->in, sq_state, pick & 1);
	IFC_SET(modify_sq_in, c->in, ctx.state, 1);
}

/* ---- commands of other kinds ----------------------------------------------------------------- */

static void build_pages(struct world_cmd *c, uint8_t pick)
{
	IFC_SET(manage_pages_in, c->in, op_mod, 1);
	IFC_SET(manage_pages_in, c->in, input_num_entries, 1);
	put_be64(c->in + IFC_SZ(manage_pages_in), 0x300000 + pick * 4096ull);
	c->in_len += 8;
}

static void build_query_pages(struct world_cmd *c, uint8_t pick)
{
	IFC_SET(query_pages_in, c->in, op_mod, 1 + pick % 3);
}

static void build_group(struct world_cmd *c, uint8_t pick)
{
	static const uint8_t mgid[16] = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 7 };

	(void)pick;
	IFC_SET(attach_to_mcg_in, c->in, qpn, world.qp[WORLD_UD]);
	memcpy(IFC_ADDR(attach_to_mcg_in, c->in, multicast_gid), mgid, 16);
}

static void build_alloc_memic(struct world_cmd *c, uint8_t pick)
{
	const uint8_t *cap = core.hca->cap[CAP_DEV_MEM];

	IFC_SET64(alloc_memic_in, c->in, range_start_addr,
		  IFC_GET64(device_mem_cap, cap, memic_bar_start_addr));
	IFC_SET(alloc_memic_in, c->in, range_size, 0x10000);
	IFC_SET(alloc_memic_in, c->in, memic_size, MEMIC_SIZE);
	IFC_SET(alloc_memic_in, c->in, log_memic_addr_alignment, pick % 4);
}

/* The number of an allocation is its distance from the start of the memory, in units. */
static void build_dealloc_memic(struct world_cmd *c, uint8_t pick)
{
	const uint8_t *cap = core.hca->cap[CAP_DEV_MEM];

	IFC_SET64(dealloc_memic_in, c->in, memic_start_addr,
		  IFC_GET64(device_mem_cap, cap, memic_bar_start_addr) +
		  (uint64_t)world_live(OBJ_MEMIC, pick) * MEMIC_UNIT);
	IFC_SET(dealloc_memic_in, c->in, memic_size, MEMIC_SIZE);
}

static void build_cap(struct world_cmd *c, uint8_t pick)
{
	static const uint16_t types[] = { 0, 1, 2 << 1, 3 << 1, 0xf << 1, 0x20 << 1 };

	IFC_SET(query_hca_cap_in, c->in, op_mod, types[pick % 6]);
	c->out_len = 16 + 4096;
	if (c->op == MLX5_CMD_OP_SET_HCA_CAP)
		IFC_SET(query_hca_cap_in, c->in, op_mod, 0);
}

static void build_vport(struct world_cmd *c, uint8_t pick)
{
	(void)pick;
	IFC_SET(query_hca_vport_context_in, c->in, port_num, 1);
	c->out_len = 2048;
}

static void build_register(struct world_cmd *c, uint8_t pick)
{
	/* PCAP, PMLP, PMTU, PTYS, PAOS, PPCNT, PVLC, PLIB, NODE_DESC, HOST_ENDIANNESS */
	static const uint16_t regs[] = {
		0x5001, 0x5002, 0x5003, 0x5004, 0x5006, 0x5008, 0x500f, 0x500a, 0x6001, 0x7004,
	};

	IFC_SET(access_register_in, c->in, op_mod, 1);
	IFC_SET(access_register_in, c->in, register_id, regs[pick % 10]);
	c->in[IFC_SZ(access_register_in) + 1] = 1;	/* where most registers have the port */
	c->in_len += 256;
	c->out_len += 256;
}

static void build_mad(struct world_cmd *c, uint8_t pick)
{
	uint8_t *mad = IFC_ADDR(mad_ifc_in, c->in, mad);
	static const uint16_t attrs[] = { 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17 };

	IFC_SET(mad_ifc_in, c->in, op_mod, 3);
	IFC_SET(mad_ifc_in, c->in, port, 1);
	mad[0] = 1;
	mad[1] = 1;
	mad[2] = 1;
	mad[3] = 1;
	put_be16(mad + 16, attrs[pick % 7]);
}

static void build_resume(struct world_cmd *c, uint8_t pick)
{
	uint8_t *info = IFC_ADDR(page_fault_resume_in, c->in, page_fault_info);

	IFC_SET(trans_page_fault_info, info, wq_number, world_live(OBJ_QP, pick));
	IFC_SET(trans_page_fault_info, info, page_fault_type, 1);
	IFC_SET(trans_page_fault_info, info, fault_token, pick % 4 + 1);
}

static void build_uctx(struct world_cmd *c, uint8_t pick)
{
	IFC_SET(create_uctx_in, c->in, uctx.cap, pick % 4);
}

#define HCA(op) MLX5_CMD_OP_##op

static const struct {
	uint16_t op;
	void (*build)(struct world_cmd *c, uint8_t pick);
} builders[] = {
	{ HCA(CREATE_EQ), build_create_eq }, { HCA(CREATE_CQ), build_create_cq },
	{ HCA(MODIFY_CQ), build_modify_cq }, { HCA(CREATE_QP), build_create_qp },
	{ HCA(RST2INIT_QP), build_modify_qp }, { HCA(INIT2INIT_QP), build_modify_qp },
	{ HCA(INIT2RTR_QP), build_modify_qp }, { HCA(RTR2RTS_QP), build_modify_qp },
	{ HCA(RTS2RTS_QP), build_modify_qp }, { HCA(SQERR2RTS_QP), build_modify_qp },
	{ HCA(SQD_RTS_QP), build_modify_qp }, { 0x508, build_modify_qp },
	{ 0x511, build_modify_qp },
	{ HCA(CREATE_RMP), build_create_rmp }, { HCA(MODIFY_RMP), build_modify_rmp },
	{ HCA(CREATE_XRC_SRQ), build_create_xrc_srq }, { HCA(CREATE_SRQ), build_create_srq },
	{ HCA(CREATE_MKEY), build_create_mkey }, { HCA(CREATE_SQ), build_create_sq },
	{ HCA(MODIFY_SQ), build_modify_sq }, { HCA(MANAGE_PAGES), build_pages },
	{ HCA(QUERY_PAGES), build_query_pages }, { HCA(ATTACH_TO_MCG), build_group },
	{ HCA(DETACH_FROM_MCG), build_group }, { HCA(ALLOC_MEMIC), build_alloc_memic },
	{ HCA(DEALLOC_MEMIC), build_dealloc_memic },
	{ HCA(QUERY_HCA_CAP), build_cap }, { HCA(SET_HCA_CAP), build_cap },
	{ HCA(QUERY_HCA_VPORT_CONTEXT), build_vport }, { HCA(QUERY_HCA_VPORT_GID), build_vport },
	{ HCA(QUERY_HCA_VPORT_PKEY), build_vport }, { HCA(QUERY_VPORT_COUNTER), build_vport },
	{ HCA(MODIFY_HCA_VPORT_CONTEXT), build_vport },
	{ HCA(ACCESS_REG), build_register }, { HCA(MAD_IFC), build_mad },
	{ HCA(PAGE_FAULT_RESUME), build_resume }, { HCA(CREATE_UCTX), build_uctx },
	{ HCA(CREATE_UMEM), build_create_umem }, { HCA(CREATE_DCT), build_create_dct },
	{ HCA(CREATE_XRQ), build_create_xrq },
};

/* Commands that name one object, and the field that has its number. */
#define NUM(name, field) { IFC_OFF(name##_in, field), IFC_BITS(name##_in, field) }

static const struct {
	uint16_t op;
	enum obj_kind kind;
	int srq;			/* kind of SRQ, or -1 */
	struct { size_t off, width; } at;
} numbers[] = {
	{ HCA(DEALLOC_UAR), OBJ_UAR, -1, NUM(dealloc_uar, uar) },
	{ HCA(DEALLOC_PD), OBJ_PD, -1, NUM(dealloc_pd, pd) },
	{ HCA(DEALLOC_TRANSPORT_DOMAIN), OBJ_TD, -1,
	  NUM(dealloc_transport_domain, transport_domain) },
	{ HCA(DEALLOC_XRCD), OBJ_XRCD, -1, NUM(dealloc_xrcd, xrcd) },
	{ HCA(DEALLOC_Q_COUNTER), OBJ_QCOUNTER, -1, NUM(dealloc_q_counter, counter_set_id) },
	{ HCA(QUERY_Q_COUNTER), OBJ_QCOUNTER, -1, NUM(query_q_counter, counter_set_id) },
	{ HCA(DESTROY_EQ), OBJ_EQ, -1, NUM(destroy_eq, eq_number) },
	{ HCA(QUERY_EQ), OBJ_EQ, -1, NUM(query_eq, eq_number) },
	{ HCA(DESTROY_CQ), OBJ_CQ, -1, NUM(destroy_cq, cqn) },
	{ HCA(QUERY_CQ), OBJ_CQ, -1, NUM(query_cq, cqn) },
	{ HCA(DESTROY_QP), OBJ_QP, -1, NUM(destroy_qp, qpn) },
	{ HCA(QUERY_QP), OBJ_QP, -1, NUM(query_qp, qpn) },
	{ HCA(2ERR_QP), OBJ_QP, -1, NUM(qp_2err, qpn) },
	{ HCA(2RST_QP), OBJ_QP, -1, NUM(qp_2rst, qpn) },
	{ HCA(DESTROY_MKEY), OBJ_MKEY, -1, NUM(destroy_mkey, mkey_index) },
	{ HCA(QUERY_MKEY), OBJ_MKEY, -1, NUM(query_mkey, mkey_index) },
	{ HCA(DESTROY_RMP), OBJ_SRQ, SRQ_RMP, NUM(destroy_rmp, rmpn) },
	{ HCA(QUERY_RMP), OBJ_SRQ, SRQ_RMP, NUM(query_rmp, rmpn) },
	{ HCA(DESTROY_XRC_SRQ), OBJ_SRQ, SRQ_XRC, NUM(destroy_xrc_srq, xrc_srqn) },
	{ HCA(QUERY_XRC_SRQ), OBJ_SRQ, SRQ_XRC, NUM(query_xrc_srq, xrc_srqn) },
	{ HCA(ARM_XRC_SRQ), OBJ_SRQ, SRQ_XRC, NUM(arm_xrc_srq, xrc_srqn) },
	{ HCA(DESTROY_SRQ), OBJ_SRQ, SRQ_BASIC, NUM(destroy_srq, srqn) },
	{ HCA(QUERY_SRQ), OBJ_SRQ, SRQ_BASIC, NUM(query_srq, srqn) },
	{ HCA(ARM_RQ), OBJ_SRQ, SRQ_BASIC, NUM(arm_rq, srq_number) },
	{ HCA(DRAIN_DCT), OBJ_DCT, -1, NUM(drain_dct, dctn) },
	{ HCA(DESTROY_DCT), OBJ_DCT, -1, NUM(destroy_dct, dctn) },
	{ HCA(QUERY_DCT), OBJ_DCT, -1, NUM(query_dct, dctn) },
	{ HCA(ARM_DCT_FOR_KEY_VIOLATION), OBJ_DCT, -1, NUM(arm_dct, dct_number) },
	{ HCA(DESTROY_SQ), OBJ_SQ, -1, NUM(destroy_sq, sqn) },
	{ HCA(QUERY_SQ), OBJ_SQ, -1, NUM(query_sq, sqn) },
	{ HCA(DESTROY_UCTX), OBJ_UCTX, -1, NUM(destroy_uctx, uid) },
	{ HCA(DESTROY_UMEM), OBJ_UMEM, -1, NUM(destroy_umem, umem_id) },
	{ HCA(DESTROY_XRQ), OBJ_SRQ, SRQ_XRQ, NUM(destroy_xrq, xrqn) },
	{ HCA(QUERY_XRQ), OBJ_SRQ, SRQ_XRQ, NUM(query_xrq, xrqn) },
	{ HCA(ARM_XRQ), OBJ_SRQ, SRQ_XRQ, NUM(arm_xrq, xrqn) },
};

bool world_build(struct world_cmd *c, uint16_t op, uint8_t pick)
{
	const struct cmd_desc *d = cmd_desc_find(core.hca, op);
	size_t i;

	if (!d)
		return false;
	memset(c->in, 0, sizeof(c->in));
	c->op = op;
	c->in_len = d->in_min < 16 ? 16 : d->in_min;
	c->out_len = d->out_min < 16 ? 16 : d->out_min;
	if (op == MLX5_CMD_OP_ARM_RQ || op == MLX5_CMD_OP_ARM_XRC_SRQ)
		IFC_SET(arm_rq_in, c->in, op_mod, 1);
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i].op == op)
			ifc_set_bits(c->in, numbers[i].at.off, numbers[i].at.width,
				     numbers[i].srq < 0 ? world_live(numbers[i].kind, pick) :
				     live_srq(numbers[i].srq, pick));
	for (i = 0; i < sizeof(builders) / sizeof(*builders); i++)
		if (builders[i].op == op)
			builders[i].build(c, pick);
	worldnic_build(c, pick);
	put_be16(c->in, op);
	return true;
}

uint8_t world_run(struct world_cmd *c, uint8_t *out)
{
	return core_cmd(c->in, c->in_len, out, c->out_len);
}

/* ---- up and down ----------------------------------------------------------------------------- */

/*
 * Run the valid command @op, which has to succeed. Returns the new object's number, which is at the
 * same offset in the outputs of all commands that create.
 */
uint32_t world_create(uint16_t op, uint8_t pick)
{
	static struct world_cmd c;
	static uint8_t out[8192];
	uint8_t st;

	must(world_build(&c, op, pick));
	st = world_run(&c, out);
	if (st)
		fprintf(stderr, "command 0x%x: status %u, syndrome 0x%x\n", op, st,
			get_be32(out + 4));
	must(!st);
	return get_be32(out + 8) & 0xffffff;
}

static uint32_t create_async_eq(void)
{
	static const uint64_t all = ~1ull;
	uint32_t eqn;

	must(!core_create_eq(world.uar, 6, world_buffer(), all, 0, &eqn));
	world_record();
	return eqn;
}

void world_connect(unsigned int i)
{
	static const uint16_t ops[] = {
		MLX5_CMD_OP_RST2INIT_QP, MLX5_CMD_OP_INIT2RTR_QP, MLX5_CMD_OP_RTR2RTS_QP,
	};
	static struct world_cmd c;
	uint8_t out[64];
	unsigned int k, pick = 0;

	while (world_live(OBJ_QP, pick) != world.qp[i])
		must(pick++ < 64);
	for (k = 0; k < 3; k++) {
		must(world_build(&c, ops[k], pick));
		must(!world_run(&c, out));
	}
}

/* The profile of the rig has no tag matching. */
static void offer_tag_matching(void)
{
	uint8_t *cap = core.hca->cap[CAP_GENERAL];

	IFC_SET(cmd_hca_cap, cap, tag_matching, 1);
	IFC_SET(cmd_hca_cap, cap, rndv_offload_rc, 1);
	IFC_SET(cmd_hca_cap, cap, log_tag_matching_list_sz, 4);
}

static void make_queues(void)
{
	unsigned int i;

	world.cq[0] = world_create(MLX5_CMD_OP_CREATE_CQ, 0);
	world.cq[1] = world_create(MLX5_CMD_OP_CREATE_CQ, 0);
	world.srq_ring = world_buffer();
	world.srq_record = RECORDS + world.place % PLACES * 8;
	world.rmp = world_create(MLX5_CMD_OP_CREATE_RMP, 0);
	world.xrc_srq = world_create(MLX5_CMD_OP_CREATE_XRC_SRQ, 0);
	world.dct = world_create(MLX5_CMD_OP_CREATE_DCT, 0);
	for (i = 0; i < WORLD_QPS; i++) {
		world.ring[i] = world_buffer();
		world.record[i] = RECORDS + world.place % PLACES * 8;
		world.qp[i] = world_create(MLX5_CMD_OP_CREATE_QP, i);
	}
	for (i = 0; i < WORLD_QPS; i++)
		world_connect(i);
}

void world_up(void)
{
	world_up_pages(0, false);
}

void world_up_pages(unsigned int log, bool uar_4k)
{
	static bool up;
	uint8_t out[16];
	unsigned int i;

	if (!up)
		must(!core_up(NULL));
	if (!up && getenv("RIG_TRACE"))
		must(!trace_to_file(core.hca->trace, "/dev/stderr", 0));
	up = true;
	memset(&world, 0, sizeof(world));
	memset(core.ram + RECORDS, 0, PLACES * 8);
	memset(core.ram + WORLD_DATA, 0, WORLD_DATA_LEN);
	core_reg_write(0x10, 0);
	core_reg_write(0x14, CORE_QUEUE);
	must(!core_init_pages(log, uar_4k));
	offer_tag_matching();
	world.uar = core_alloc_uar();
	world.async = create_async_eq();
	world.eqn = world_create(MLX5_CMD_OP_CREATE_EQ, 1) & 0xff;
	world.pd = world_create(MLX5_CMD_OP_ALLOC_PD, 0);
	world.xrcd = world_create(MLX5_CMD_OP_ALLOC_XRCD, 0);
	core_simple(MLX5_CMD_OP_ALLOC_Q_COUNTER, 0, out);
	core_simple(MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, 0, out);
	world_create(MLX5_CMD_OP_CREATE_UMEM, 0);
	for (i = 0; i < WORLD_KEYS; i++)
		world.key[i] = world_create(MLX5_CMD_OP_CREATE_MKEY, i) << 8 | i;
	make_queues();
	if (core_eth)
		worldnic_up();
}

void world_down(void)
{
	hca_reset(core.hca);
}

void world_pass(unsigned int passes)
{
	while (passes--)
		event_base_loop(core.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}
