// SPDX-License-Identifier: GPL-2.0
/*
 * What the object tests stand on: a function without a bus, flat guest memory,
 * and recorders in place of event queues, transport and fabric.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <event2/event.h>
#include "cq.h"
#include "fabric.h"
#include "object.h"
#include "qp.h"
#include "objrig.h"

struct rig rig;

/* ---- what lies below and beside the objects ------------------------------- */

void *mem_ptr(struct hca *hca, uint64_t iova, size_t len, bool write)
{
	(void)hca;
	(void)write;
	if (iova < RAM_BASE || len > RAM_SIZE || iova - RAM_BASE > RAM_SIZE - len)
		return NULL;
	return ram(iova);
}

int mem_read(struct hca *hca, uint64_t iova, void *buf, size_t len)
{
	void *p = mem_ptr(hca, iova, len, false);

	if (!p)
		return -EFAULT;
	memcpy(buf, p, len);
	return 0;
}

int mem_write(struct hca *hca, uint64_t iova, const void *buf, size_t len)
{
	void *p = mem_ptr(hca, iova, len, true);

	if (!p)
		return -EFAULT;
	memcpy(p, buf, len);
	return 0;
}

static void record(bool async, uint32_t eqn, uint8_t type, uint8_t subtype, const void *data28)
{
	struct rig_event *e = &rig.ev[rig.nev++ % 64];

	*e = (struct rig_event){ .async = async, .eqn = eqn, .type = type, .subtype = subtype };
	memcpy(e->data, data28, 28);
}

void eq_post(struct hca *hca, uint32_t eqn, uint8_t type, uint8_t subtype, const void *data28)
{
	(void)hca;
	record(false, eqn, type, subtype, data28);
}

void eq_post_async(struct hca *hca, uint8_t type, uint8_t subtype, const void *data28)
{
	(void)hca;
	record(true, 0, type, subtype, data28);
}

void hca_trace(struct hca *hca, const char *type, const char *fmt, ...)
{
	(void)hca;
	(void)type;
	(void)fmt;
}

uint64_t hca_now_ns(void)
{
	return 0;
}

uint64_t hca_clock(struct hca *hca)
{
	(void)hca;
	return 0x1122334455667788;
}

void doorbell_drop(struct hca *hca, enum drop_reason why, uint32_t uar, uint32_t num)
{
	(void)hca;
	(void)uar;
	(void)num;
	rig.drops[why]++;
}

bool inject_cqe(struct hca *hca, uint32_t cqn, const struct completion *c)
{
	(void)hca;
	(void)cqn;
	(void)c;
	return false;
}

uint8_t cmd_fail_at(struct cmd *cmd, uint8_t status, uint32_t syndrome, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd->why, sizeof(cmd->why), fmt, ap);
	va_end(ap);
	cmd->syndrome = syndrome;
	return status;
}

void transport_qp_state(struct hca *hca, struct qp *qp, enum qp_state old, enum qp_state now)
{
	(void)hca;
	rig.tr[rig.ntr++ % 64] = (struct rig_trans){ qp->obj.num, old, now };
}

void transport_qp_destroy(struct hca *hca, struct qp *qp)
{
	(void)hca;
	(void)qp;
}

int fabric_mcast_attach(struct hca *hca, const uint8_t gid[16], uint32_t qpn)
{
	(void)hca;
	(void)gid;
	(void)qpn;
	return 0;
}

int fabric_mcast_detach(struct hca *hca, const uint8_t gid[16], uint32_t qpn)
{
	(void)hca;
	(void)gid;
	(void)qpn;
	return 0;
}

void fabric_mcast_forget(struct hca *hca, uint32_t qpn)
{
	(void)hca;
	(void)qpn;
}

uint64_t fabric_guid(struct hca *hca)
{
	(void)hca;
	return 0x0102030405060708;
}

uint16_t fabric_lid(struct hca *hca)
{
	(void)hca;
	return rig.link ? 0x21 : 0;
}

void fabric_gid(struct hca *hca, uint8_t gid[16])
{
	put_be64(gid, 0xfe80ull << 48);
	put_be64(gid + 8, fabric_guid(hca));
}

bool fabric_link(struct hca *hca)
{
	(void)hca;
	return rig.link;
}

void fabric_set_link(struct hca *hca, bool up)
{
	(void)hca;
	rig.link = up;
}

/* ---- the function ------------------------------------------------------------ */

static const struct hca_module *const modules[] = {
	&misc_module, &memic_module, &mkey_module, &cq_module, &srq_module, &qp_module,
	&port_module,
};

#define NR_MODULES (sizeof(modules) / sizeof(modules[0]))

static void rig_caps(struct hca *hca)
{
	uint8_t *c = hca->cap[0];

	IFC_SET(cmd_hca_cap, c, log_max_cq_sz, 16);
	IFC_SET(cmd_hca_cap, c, log_max_qp_sz, 12);
	IFC_SET(cmd_hca_cap, c, log_max_srq_sz, 12);
	IFC_SET(cmd_hca_cap, c, max_wqe_sz_rq, 512);
	IFC_SET(cmd_hca_cap, c, log_max_msg, 30);
	IFC_SET(cmd_hca_cap, c, log_max_ra_req_qp, 4);
	IFC_SET(cmd_hca_cap, c, log_max_ra_res_qp, 4);
	IFC_SET(cmd_hca_cap, c, num_ports, 1);
	IFC_SET(cmd_hca_cap, c, rc, 1);
	IFC_SET(cmd_hca_cap, c, uc, 1);
	IFC_SET(cmd_hca_cap, c, ud, 1);
	IFC_SET(cmd_hca_cap, c, xrc, 1);
	IFC_SET(cmd_hca_cap, c, atomic, 1);
	IFC_SET(cmd_hca_cap, c, null_mkey, 1);
	IFC_SET(cmd_hca_cap, c, cq_moderation, 1);
	IFC_SET(cmd_hca_cap, c, cq_resize, 1);
	IFC_SET(cmd_hca_cap, c, cq_oi, 1);
	IFC_SET(cmd_hca_cap, c, sctr_data_cqe, 1);
}

int rig_setup(void **state)
{
	struct hca *hca = calloc(1, sizeof(*hca));
	size_t i;

	(void)state;
	memset(&rig, 0, sizeof(rig));
	rig.hca = hca;
	rig.link = true;
	rig.ram = calloc(1, RAM_SIZE);
	hca->profile = calloc(1, sizeof(*hca->profile));
	hca->cap = calloc(HCA_CAP_TYPES, sizeof(*hca->cap));
	hca->base = event_base_new();
	for (i = 0; i < OBJ_KINDS; i++)
		hca->profile->range[i] = (struct obj_range){ 0x10, 0x10000 };
	rig_caps(hca);
	assert_int_equal(objs_init(hca), 0);
	for (i = 0; i < NR_MODULES; i++)
		if (modules[i]->init)
			assert_int_equal(modules[i]->init(hca), 0);
	return 0;
}

static bool drop_plain(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	obj_free(hca, o);
	return true;
}

int rig_teardown(void **state)
{
	struct hca *hca = rig.hca;
	size_t i;

	(void)state;
	for (i = NR_MODULES; i-- > 0;)
		if (modules[i]->reset)
			modules[i]->reset(hca);
	obj_for_each(hca, OBJ_UAR, drop_plain, NULL);
	obj_for_each(hca, OBJ_EQ, drop_plain, NULL);
	for (i = 0; i < OBJ_KINDS; i++)
		assert_int_equal(obj_count(hca, i), 0);
	for (i = 0; i < NR_MODULES; i++)
		if (modules[i]->exit)
			modules[i]->exit(hca);
	objs_exit(hca);
	event_base_free(hca->base);
	free(hca->cap);
	free(hca->profile);
	free(hca);
	free(rig.ram);
	return 0;
}

void rig_clear(void)
{
	rig.nev = 0;
	rig.ntr = 0;
	memset(rig.drops, 0, sizeof(rig.drops));
}

/* ---- commands ------------------------------------------------------------------- */

uint8_t rig_cmd(uint16_t opcode, uint16_t op_mod, uint16_t uid, void *in, size_t in_len, void *out,
		size_t out_len)
{
	static const struct cmd_desc *const tables[] = {
		misc_cmds, mkey_cmds, cq_cmds, srq_cmds, qp_cmds, port_cmds,
	};
	struct cmd cmd = { .opcode = opcode, .op_mod = op_mod, .uid = uid, .in = in,
			   .in_len = in_len, .out = out, .out_len = out_len };
	const struct cmd_desc *d;
	uint8_t st;
	size_t i;

	put_be16(in, opcode);
	put_be16((uint8_t *)in + 2, uid);
	put_be16((uint8_t *)in + 6, op_mod);
	memset(out, 0, out_len);
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (d = tables[i]; d->name; d++)
			if (d->opcode == opcode) {
				assert_true(in_len >= d->in_min && out_len >= d->out_min);
				st = d->handler(rig.hca, &cmd);
				memcpy(rig.why, cmd.why, sizeof(rig.why));
				/* A refusal says which check it was. */
				assert_true(!st == !cmd.syndrome);
				return st;
			}
	fail_msg("no command 0x%x", opcode);
	return ST_BAD_OP;
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

uint32_t rig_eq(void)
{
	return obj_new(rig.hca, OBJ_EQ, 0, sizeof(struct obj))->num;
}

uint32_t rig_cq(uint64_t buf, uint64_t dbr, unsigned int log, unsigned int cqe_sz, uint32_t uar,
		uint32_t eqn)
{
	size_t len = (size_t)cqe_sz << log, n = (len + 4095) / 4096, i;
	size_t in_len = IFC_BYTE(create_cq_in, pas) + 8 * n;
	uint8_t *in = calloc(1, in_len), out[IFC_SZ(create_cq_out)];
	uint8_t *c = IFC_ADDR(create_cq_in, in, cq_context);

	for (i = 0; i < len; i += cqe_sz)	/* as the library: invalid, hardware's */
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
