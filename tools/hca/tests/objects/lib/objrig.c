// SPDX-License-Identifier: GPL-2.0
/*
 * The rig of the object tests: composes an HCA of the objects alone, and records events and state
 * changes of queue pairs.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd.h"
#include "cq.h"
#include "dct.h"
#include "eq.h"
#include "evrig.h"
#include "hca.h"
#include "ifc.h"
#include "mcast.h"
#include "mem.h"
#include "memic.h"
#include "mkey.h"
#include "object.h"
#include "objrig.h"
#include "pd.h"
#include "profile.h"
#include "qcounter.h"
#include "qp.h"
#include "srq.h"
#include "umem_cmd.h"
#include "xrq.h"

#define EQ_BUF	(RAM_BASE - 0x100000)	/* event queues: away from what the tests use */
#define EQ_MEM	(2 * 4096)
#define MAX_LIST 32

struct rig rig;
struct rig_extra rig_extra;

/* ---- recorders ------------------------------------------------------------------------------- */

static void record_event(struct hca *hca, uint32_t eqn, uint8_t type, uint8_t subtype,
			 const uint8_t *data)
{
	struct rig_event *e = &rig.ev[rig.nev++ % 64];
	bool async = eqn == rig.async->obj.num;

	(void)hca;
	*e = (struct rig_event){ .async = async, .eqn = async ? 0 : eqn, .type = type,
				 .subtype = subtype };
	memcpy(e->data, data, EQE_DATA_BYTES);
}

static void record_state(struct hca *hca, struct qp *qp, enum qp_state old, enum qp_state now)
{
	(void)hca;
	rig.tr[rig.ntr++ % 64] = (struct rig_trans){ qp->obj.num, old, now };
}

static void ignore_qp(struct hca *hca, struct qp *qp)
{
	(void)hca;
	(void)qp;
}

static void record_srq(struct hca *hca, struct srq *srq)
{
	(void)hca;
	rig.srq_gone = srq->obj.num;
}

static void record_drain(struct hca *hca)
{
	(void)hca;
	rig.drains++;
}

/* Of the streams of a DCI number 7 alone has failed. */
static bool has_failed(struct hca *hca, struct qp *qp, uint16_t stream)
{
	(void)hca;
	(void)qp;
	return stream == 7;
}

static const struct qp_ops recorder = {
	.state = record_state, .destroy = ignore_qp, .srq_gone = record_srq,
	.dct_drain = record_drain, .reset_stream = has_failed,
};

/* ---- the HCA --------------------------------------------------------------------------------- */

static const struct hca_module *modules[MAX_LIST] = {
	&umem_module, &eq_module, &pd_module, &qcounter_module, &memic_module, &mkey_module,
	&cq_module, &srq_module, &mcast_module, &qp_module, &dct_module,
};

static const struct cmd_desc *cmds[MAX_LIST] = {
	umem_cmds, eq_cmds, pd_cmds, qcounter_cmds, mkey_cmds, cq_cmds, srq_cmds, xrq_cmds,
	mcast_cmds, qp_cmds, qp_modify_cmds, dct_cmds,
};

static struct board board = {
	.modules = modules, .cmds = cmds, .irq = &evrig_irq_ops, .qp = &recorder,
	.cqe_lost = qp_lost_cqe,
};

static void add_extra(void)
{
	unsigned int m = 0, c = 0, i;

	while (modules[m])
		m++;
	while (cmds[c])
		c++;
	for (i = 0; rig_extra.modules && rig_extra.modules[i]; i++)
		modules[m++] = rig_extra.modules[i];
	for (i = 0; rig_extra.cmds && rig_extra.cmds[i]; i++)
		cmds[c++] = rig_extra.cmds[i];
	if (rig_extra.nic)
		board.nic = rig_extra.nic;
	if (rig_extra.cqe_lost)
		board.cqe_lost = rig_extra.cqe_lost;
	rig_extra.modules = NULL;
	rig_extra.cmds = NULL;
}

static void rig_caps(struct profile *p)
{
	uint8_t *c = p->cap[1][CAP_GENERAL];

	p->pkey[0] = 0xffff;
	p->gids = 2;
	p->mtu = 4096;
	p->cap_valid[CAP_GENERAL] = true;
	IFC_SET(cmd_hca_cap, c, log_max_cq_sz, 16);
	IFC_SET(cmd_hca_cap, c, log_max_qp_sz, 12);
	IFC_SET(cmd_hca_cap, c, log_max_srq_sz, 12);
	IFC_SET(cmd_hca_cap, c, log_max_sq, 10);
	IFC_SET(cmd_hca_cap, c, max_wqe_sz_rq, 512);
	IFC_SET(cmd_hca_cap, c, log_max_msg, 30);
	IFC_SET(cmd_hca_cap, c, log_max_ra_req_qp, 4);
	IFC_SET(cmd_hca_cap, c, log_max_ra_res_qp, 4);
	IFC_SET(cmd_hca_cap, c, num_ports, 1);
	IFC_SET(cmd_hca_cap, c, rc, 1);
	IFC_SET(cmd_hca_cap, c, uc, 1);
	IFC_SET(cmd_hca_cap, c, ud, 1);
	IFC_SET(cmd_hca_cap, c, xrc, 1);
	IFC_SET(cmd_hca_cap, c, dct, 1);
	IFC_SET(cmd_hca_cap, c, log_max_ra_req_dc, 3);
	IFC_SET(cmd_hca_cap, c, log_max_ra_res_dc, 3);
	IFC_SET(cmd_hca_cap, c, log_max_dci_stream_channels, 3);
	IFC_SET(cmd_hca_cap, c, log_max_dci_errored_streams, 2);
	IFC_SET(cmd_hca_cap, c, qpc_extension, 1);
	IFC_SET(cmd_hca_cap, c, atomic, 1);
	IFC_SET(cmd_hca_cap, c, null_mkey, 1);
	IFC_SET(cmd_hca_cap, c, fixed_buffer_size, 1);
	IFC_SET(cmd_hca_cap, c, log_max_klm_list_size, 16);
	p->max_translation_mb = 32;
	IFC_SET(cmd_hca_cap, c, cq_moderation, 1);
	IFC_SET(cmd_hca_cap, c, cq_resize, 1);
	IFC_SET(cmd_hca_cap, c, cq_oi, 1);
	IFC_SET(cmd_hca_cap, c, sctr_data_cqe, 1);
	IFC_SET(cmd_hca_cap, c, cqe_version, 1);
	IFC_SET(cmd_hca_cap, c, block_lb_mc, 1);
	IFC_SET(cmd_hca_cap, c, set_deth_sqpn, 1);
	IFC_SET(cmd_hca_cap, c, log_max_mcg, 10);
	IFC_SET(cmd_hca_cap, c, max_qp_mcg, 240);
	IFC_SET(cmd_hca_cap, c, stat_rate_support, 1 << 8);
}

int rig_setup(void **state)
{
	size_t i;

	(void)state;
	add_extra();
	rig = (struct rig){ .fd = memfd_create("ram", MFD_CLOEXEC), .base = event_base_new() };
	rig.profile = calloc(1, sizeof(*rig.profile));
	for (i = 0; i < OBJ_KINDS; i++)
		rig.profile->range[i] = (struct obj_range){ 0x10, 0x10000 };
	rig_caps(rig.profile);
	rig.profile->link_speed = SPEED_EDR;
	rig.profile->port_caps = 0x2651e848;
	rig.hca = hca_create(&board, rig.base, rig_extra.fabric, rig.profile, 0);
	assert_non_null(rig.hca);
	assert_int_equal(ftruncate(rig.fd, RAM_SIZE + EQ_MEM), 0);
	assert_int_equal(mem_map_fd(rig.hca, RAM_BASE, RAM_SIZE, rig.fd, 0, true, true), 0);
	assert_int_equal(mem_map_fd(rig.hca, EQ_BUF, EQ_MEM, rig.fd, RAM_SIZE, true, true), 0);
	rig.ram = mem_ptr(rig.hca, RAM_BASE, RAM_SIZE, true);
	evrig_set_handler(record_event);
	rig.async = evrig_eq(rig.hca, EQ_BUF, ~1ull);
	return 0;
}

int rig_teardown(void **state)
{
	struct hca *hca = rig.hca;
	size_t i;

	(void)state;
	hca_free_objects(hca);
	obj_free_all(hca, OBJ_UAR);
	for (i = 0; i < OBJ_KINDS; i++)
		assert_int_equal(obj_count(hca, i), 0);
	hca_destroy(hca);
	event_base_free(rig.base);
	free(rig.profile);
	close(rig.fd);
	return 0;
}

void rig_clear(void)
{
	rig.nev = 0;
	rig.ntr = 0;
	memset(rig.hca->count.db_drop, 0, sizeof(rig.hca->count.db_drop));
}

/* ---- commands -------------------------------------------------------------------------------- */

uint8_t rig_cmd(uint16_t opcode, uint16_t op_mod, uint16_t uid, void *in, size_t in_len, void *out,
		size_t out_len)
{
	struct cmd cmd = { .opcode = opcode, .op_mod = op_mod, .uid = uid, .in = in,
			   .in_len = in_len, .out = out, .out_len = out_len };
	uint8_t st;

	put_be16(in, opcode);
	put_be16((uint8_t *)in + 2, uid);
	put_be16((uint8_t *)in + 6, op_mod);
	memset(out, 0, out_len);
	cmd.desc = cmd_desc_find(rig.hca, opcode);
	assert_non_null(cmd.desc);
	assert_true(in_len >= cmd.desc->in_min && out_len >= cmd.desc->out_min);
	st = cmd_check_op_mod(&cmd);
	if (!st)
		st = cmd.desc->handler(rig.hca, &cmd);
	memcpy(rig.why, cmd.why, sizeof(rig.why));
	rig.syndrome = cmd.syndrome;
	/* A command that was refused has the syndrome of a check, and no other command has one. */
	assert_true(!st == !cmd.syndrome);
	return st;
}

void rig_check_bad(const struct rig_bad *bad, size_t n, uint8_t *(*good)(void),
		   uint8_t (*create)(uint16_t uid, uint32_t *num))
{
	uint32_t num;

	for (; n--; bad++) {
		ifc_set_bits(good(), bad->f.off, bad->f.width, bad->value);
		if (create(0, &num) != bad->status || rig.syndrome != bad->why)
			fail_msg("%s = %u: %s", bad->f.name, bad->value, rig.why);
	}
}

uint32_t rig_pd(void)
{
	uint8_t in[IFC_SZ(alloc_pd_in)] = {}, out[IFC_SZ(alloc_pd_out)];

	assert_int_equal(rig_cmd(MLX5_CMD_OP_ALLOC_PD, 0, 0, in, sizeof(in), out, sizeof(out)), 0);
	return IFC_GET(alloc_pd_out, out, pd);
}

uint32_t rig_uar(uint16_t uid)
{
	return obj_new(rig.hca, OBJ_UAR, uid, sizeof(struct obj))->num;
}

void rig_give(enum obj_kind kind, uint32_t num, uint16_t uid)
{
	obj_find(rig.hca, kind, num)->uid = uid;
}

uint32_t rig_eq(void)
{
	return evrig_eq(rig.hca, EQ_BUF + 4096, 0)->obj.num;
}

uint32_t rig_cq(uint64_t buf, uint64_t dbr, unsigned int log, unsigned int cqe_sz, uint32_t uar,
		uint32_t eqn)
{
	size_t len = (size_t)cqe_sz << log, n = (len + 4095) / 4096, i;
	size_t in_len = IFC_BYTE(create_cq_in, pas) + 8 * n;
	uint8_t *in = calloc(1, in_len), out[IFC_SZ(create_cq_out)];
	uint8_t *c = IFC_ADDR(create_cq_in, in, cq_context);

	/* libmlx5 initializes CQEs so: invalid, and owned by the HCA. */
	for (i = 0; i < len; i += cqe_sz)
		ram(buf)[i + cqe_sz - 1] = 0xf1;
	memset(ram(dbr), 0, 8);
	IFC_SET(cqc, c, log_cq_size, log);
	IFC_SET(cqc, c, cqe_sz, cqe_sz == 128);
	IFC_SET(cqc, c, uar_page, uar);
	IFC_SET(cqc, c, c_eqn_or_apu_element, eqn);
	IFC_SET64(cqc, c, dbr_addr, dbr);
	for (i = 0; i < n; i++)
		put_be64(IFC_ADDR(create_cq_in, in, pas) + 8 * i, buf + 4096 * i);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_CREATE_CQ, 0, 0, in, in_len, out, sizeof(out)), 0);
	free(in);
	return IFC_GET(create_cq_out, out, cqn);
}
