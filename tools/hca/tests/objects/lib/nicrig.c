// SPDX-License-Identifier: GPL-2.0
/*
 * The rig of the tests of the NIC's objects.
 */
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "nic_ops.h"
#include "nicrig.h"
#include "objrig.h"
#include "profile.h"
#include "rq.h"
#include "rqt.h"
#include "sq.h"
#include "tir.h"
#include "tis.h"

#define CQ_BUF	(RAM_BASE + 0x20000)

struct nicrig nic;

/* ---- the recorder ---------------------------------------------------------------------------- */

static void record(uint32_t num, int old, int now)
{
	nic.told = num;
	nic.old = old;
	nic.now = now;
	nic.states++;
}

static void record_sq(struct hca *hca, struct sq *sq, enum sq_state old, enum sq_state now)
{
	(void)hca;
	record(sq->obj.num, old, now);
}

static void record_rq(struct hca *hca, struct rq *rq, enum rq_state old, enum rq_state now)
{
	(void)hca;
	record(rq->obj.num, old, now);
}

static void sq_is_gone(struct hca *hca, struct sq *sq)
{
	(void)hca;
	nic.told = sq->obj.num;
	nic.gone++;
}

static void rq_is_gone(struct hca *hca, struct rq *rq)
{
	(void)hca;
	nic.told = rq->obj.num;
	nic.gone++;
}

static const struct nic_ops recorder = {
	.sq_state = record_sq, .rq_state = record_rq, .sq_gone = sq_is_gone, .rq_gone = rq_is_gone,
};

/* ---- the HCA --------------------------------------------------------------------------------- */

static const struct hca_module *modules[16] = {
	&tis_module, &sq_module, &rq_module, &rqt_module, &tir_module,
};
static const struct cmd_desc *cmds[16] = { tis_cmds, sq_cmds, rq_cmds, rqt_cmds, tir_cmds };

const struct hca_module *const *nicrig_extra_modules;
const struct cmd_desc *const *nicrig_extra_cmds;

/* Give objrig what all tests of the NIC need, and what the test adds. */
static void add_extra(void)
{
	unsigned int i;

	for (i = 0; nicrig_extra_modules && nicrig_extra_modules[i]; i++)
		modules[5 + i] = nicrig_extra_modules[i];
	for (i = 0; nicrig_extra_cmds && nicrig_extra_cmds[i]; i++)
		cmds[5 + i] = nicrig_extra_cmds[i];
	rig_extra.modules = modules;
	rig_extra.cmds = cmds;
	rig_extra.nic = &recorder;
}

static uint32_t new_td(void)
{
	uint8_t in[16] = {}, out[16];

	assert_int_equal(rig_cmd(MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, 0, NIC_UID, in, sizeof(in),
				 out, sizeof(out)), ST_OK);
	return IFC_GET(alloc_transport_domain_out, out, transport_domain);
}

int nicrig_setup(void **state)
{
	static bool added;
	uint8_t *cap;

	if (!added) {
		add_extra();
		added = true;
	}
	rig_setup(state);
	nic = (struct nicrig){ .old = -1, .now = -1 };
	cap = rig.hca->cap[CAP_GENERAL];
	IFC_SET(cmd_hca_cap, cap, eth_net_offloads, 1);
	IFC_SET(cmd_hca_cap, cap, log_max_wq_sz, 10);
	IFC_SET(cmd_hca_cap, cap, log_max_rqt_size, 4);
	cap = rig.hca->cap[CAP_ETH];
	IFC_SET(per_protocol_networking_offload_caps, cap, self_lb_en_modifiable, 1);
	IFC_SET(per_protocol_networking_offload_caps, cap, wqe_inline_mode, 2);
	nic.pdn = rig_pd();
	nic.uar = rig_uar(NIC_UID);
	nic.cqn = rig_cq(CQ_BUF, NIC_DBR + 64, 4, 64, rig_uar(0), rig_eq());
	rig_give(OBJ_CQ, nic.cqn, NIC_UID);
	rig_give(OBJ_PD, nic.pdn, NIC_UID);
	nic.tdn = new_td();
	rig_clear();
	return 0;
}

/* ---- commands -------------------------------------------------------------------------------- */

uint8_t *nicrig_tis(void)
{
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(create_tis_in, nic.in, ctx.transport_domain, nic.tdn);
	IFC_SET(create_tis_in, nic.in, ctx.prio, 6);
	return IFC_ADDR(create_tis_in, nic.in, ctx);
}

uint8_t *nicrig_rq(void)
{
	uint8_t *c = IFC_ADDR(create_rq_in, nic.in, ctx), *wq = IFC_ADDR(rqc, c, wq);

	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(rqc, c, cqn, nic.cqn);
	IFC_SET(wq, wq, wq_type, 1);
	IFC_SET(wq, wq, end_padding_mode, 1);
	IFC_SET(wq, wq, log_wq_stride, NIC_LOG_STRIDE);
	IFC_SET(wq, wq, log_wq_sz, NIC_LOG_SIZE);
	IFC_SET(wq, wq, pd, nic.pdn);
	IFC_SET64(wq, wq, dbr_addr, NIC_DBR);
	put_be64(IFC_ADDR(wq, wq, pas), NIC_RING);
	return c;
}

uint8_t *nicrig_rqt(const uint32_t *rqn, unsigned int n)
{
	uint8_t *c = IFC_ADDR(create_rqt_in, nic.in, rqt_context);
	unsigned int i;

	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(rqtc, c, rqt_max_size, 8);
	IFC_SET(rqtc, c, rqt_actual_size, n);
	for (i = 0; i < n; i++)
		put_be32(c + IFC_SZ(rqtc) + 4 * i, rqn[i]);
	return c;
}

uint8_t *nicrig_tir(void)
{
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(create_tir_in, nic.in, ctx.transport_domain, nic.tdn);
	return IFC_ADDR(create_tir_in, nic.in, ctx);
}

uint8_t nicrig_run(uint16_t op, uint16_t uid)
{
	return rig_cmd(op, 0, uid, nic.in, sizeof(nic.in), nic.out, sizeof(nic.out));
}

uint8_t nicrig_num(uint16_t op, uint16_t uid, uint32_t num)
{
	memset(nic.in, 0, 16);
	IFC_SET(destroy_rq_in, nic.in, rqn, num);
	return rig_cmd(op, 0, uid, nic.in, 16, nic.out, sizeof(nic.out));
}

/* The number is at the same place in the output of all commands that create an object. */
uint32_t nicrig_new(uint16_t op)
{
	assert_int_equal(nicrig_run(op, NIC_UID), ST_OK);
	return IFC_GET(create_rq_out, nic.out, rqn);
}

void nicrig_refuses(uint16_t op, uint8_t *(*good)(void), const struct nicrig_bad *bad, size_t n)
{
	unsigned int before = obj_total(rig.hca);
	size_t i;

	for (i = 0; i < n; i++) {
		uint8_t st;

		ifc_set_bits(good(), bad[i].field.off, bad[i].field.width, bad[i].value);
		st = nicrig_run(op, NIC_UID);
		if (st != bad[i].status || rig.syndrome != bad[i].why)
			fail_msg("%s: status 0x%x, syndrome 0x%x (%s)", bad[i].field.name, st,
				 rig.syndrome, rig.why);
		assert_int_equal(obj_total(rig.hca), before);
	}
}
