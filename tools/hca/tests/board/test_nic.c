// SPDX-License-Identifier: GPL-2.0
/*
 * The commands that the stock netdev of mlx5_core sends, in their order, through the command queue:
 * when the device is loaded, when the netdev is made, when it is opened, gets other rings, is
 * closed, and when the device is unloaded. At the end the HCA has no object of it.
 */
#include <string.h>

#include "board.h"
#include "corerig.h"
#include "flow.h"
#include "frame.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "rq.h"
#include "steer.h"
#include "tir.h"
#include "util.h"

#define CHANNELS	4
#define TRAFFIC_CLASSES	8
#define INDIRECT_TIRS	10
#define RQT_SIZE	256
#define LYR(p, fld, v)	IFC_SET(fte_match_set_lyr_2_4, p, fld, v)

static const uint8_t own_mac[6] = { 2, 0x15, 0xb3, 0, 0, 1 };

/* The netdev's objects. */
static struct {
	uint32_t uar, eqn, pdn, tdn, key, tis[TRAFFIC_CLASSES], set[2];
	uint32_t drop_cqn, drop_rqn, rqtn, tir[INDIRECT_TIRS];
	uint32_t direct_rqt[CHANNELS], direct_tir[CHANNELS];
	uint32_t anchor, ttc, l2, vlan;	/* flow tables */
	uint32_t group[11];		/* 3 of ttc, 3 of l2, 5 of vlan */
	unsigned int place;		/* of the next ring */
} dev;

/* The queues of a channel. */
struct channel {
	uint32_t cqn[3], icosq, sq, rq;
};

static uint8_t in[4096], out[4096];

/* ---- commands -------------------------------------------------------------------------------- */

static void *start(uint16_t op)
{
	memset(in, 0, sizeof(in));
	IFC_SET(alloc_uar_in, in, opcode, op);
	return in;
}

/* Send what is in in[]; returns the object's number, if the command makes one. */
static uint32_t send(size_t len)
{
	uint8_t st = core_cmd(in, len, out, 128);

	if (st)
		fail_msg("opcode 0x%x: status 0x%x, syndrome 0x%x", get_be16(in), st,
			 get_be32(out + 4));
	return get_be32(out + 8) & 0xffffff;
}

/* A command with nothing but a number, which is at the same place in all of these commands. */
static uint32_t simple(uint16_t op, uint32_t num)
{
	start(op);
	IFC_SET(destroy_rq_in, in, rqn, num);
	return send(16);
}

static uint64_t ring(void)
{
	return CORE_FREE + 0x1000 + 0x1000ull * dev.place++;
}

static uint64_t record(void)
{
	return CORE_FREE + dev.place % 64 * 64;
}

static uint32_t create_cq(unsigned int log)
{
	uint8_t *c = IFC_ADDR(create_cq_in, start(MLX5_CMD_OP_CREATE_CQ), cq_context);

	IFC_SET(cqc, c, log_cq_size, log);
	IFC_SET(cqc, c, uar_page, dev.uar);
	IFC_SET(cqc, c, c_eqn_or_apu_element, dev.eqn);
	IFC_SET64(cqc, c, dbr_addr, record());
	put_be64(IFC_ADDR(create_cq_in, in, pas), ring());
	return send(IFC_BYTE(create_cq_in, pas) + 8);
}

static uint32_t create_rq(uint32_t cqn, unsigned int log, unsigned int stride, uint32_t pdn)
{
	uint8_t *c = IFC_ADDR(create_rq_in, start(MLX5_CMD_OP_CREATE_RQ), ctx);

	IFC_SET(rqc, c, cqn, cqn);
	IFC_SET(rqc, c, wq.wq_type, 1);
	IFC_SET(rqc, c, wq.end_padding_mode, 1);
	IFC_SET(rqc, c, wq.log_wq_stride, stride);
	IFC_SET(rqc, c, wq.log_wq_sz, log);
	IFC_SET(rqc, c, wq.pd, pdn);
	IFC_SET64(rqc, c, wq.dbr_addr, record());
	put_be64(IFC_ADDR(create_rq_in, in, ctx.wq.pas), ring());
	return send(IFC_SZ(create_rq_in) + 8);
}

static void modify_rq(uint32_t rqn, unsigned int from, unsigned int to, uint32_t set)
{
	start(MLX5_CMD_OP_MODIFY_RQ);
	IFC_SET(modify_rq_in, in, rqn, rqn);
	IFC_SET(modify_rq_in, in, rq_state, from);
	IFC_SET64(modify_rq_in, in, modify_bitmask, set ? 8 : 0);
	IFC_SET(modify_rq_in, in, ctx.state, to);
	IFC_SET(modify_rq_in, in, ctx.counter_set_id, set);
	send(IFC_SZ(modify_rq_in));
}

static uint32_t create_sq(uint32_t cqn, uint32_t tisn)
{
	uint8_t *c = IFC_ADDR(create_sq_in, start(MLX5_CMD_OP_CREATE_SQ), ctx);
	uint32_t sqn;

	IFC_SET(sqc, c, cqn, cqn);
	IFC_SET(sqc, c, tis_lst_sz, !!tisn);
	IFC_SET(sqc, c, tis_num_0, tisn);
	IFC_SET(sqc, c, flush_in_error_en, 1);
	IFC_SET(sqc, c, wq.wq_type, 1);
	IFC_SET(sqc, c, wq.log_wq_stride, 6);
	IFC_SET(sqc, c, wq.log_wq_sz, 6);
	IFC_SET(sqc, c, wq.pd, dev.pdn);
	IFC_SET(sqc, c, wq.uar_page, dev.uar);
	IFC_SET64(sqc, c, wq.dbr_addr, record());
	put_be64(IFC_ADDR(create_sq_in, in, ctx.wq.pas), ring());
	sqn = send(IFC_SZ(create_sq_in) + 8);
	start(MLX5_CMD_OP_MODIFY_SQ);
	IFC_SET(modify_sq_in, in, sqn, sqn);
	IFC_SET(modify_sq_in, in, ctx.state, 1);
	send(IFC_SZ(modify_sq_in));
	return sqn;
}

/* A table of @max entries, at first with the queue that drops all. */
static uint32_t create_rqt(unsigned int max)
{
	uint8_t *c = IFC_ADDR(create_rqt_in, start(MLX5_CMD_OP_CREATE_RQT), rqt_context);

	IFC_SET(rqtc, c, rqt_max_size, max);
	IFC_SET(rqtc, c, rqt_actual_size, 1);
	put_be32(c + IFC_SZ(rqtc), dev.drop_rqn);
	return send(IFC_SZ(create_rqt_in) + 4);
}

/* Fill a table with @n queues in turn, or with the queue that drops all. */
static void modify_rqt(uint32_t rqtn, unsigned int size, const struct channel *ch, unsigned int n)
{
	uint8_t *c = IFC_ADDR(modify_rqt_in, start(MLX5_CMD_OP_MODIFY_RQT), ctx);
	unsigned int i;

	IFC_SET(modify_rqt_in, in, rqtn, rqtn);
	IFC_SET(modify_rqt_in, in, bitmask.rqn_list, 1);
	IFC_SET(rqtc, c, rqt_actual_size, size);
	for (i = 0; i < size; i++)
		put_be32(c + IFC_SZ(rqtc) + 4 * i, n ? ch[i % n].rq : dev.drop_rqn);
	send(IFC_SZ(modify_rqt_in) + 4 * size);
}

static uint32_t create_tir(uint32_t rqtn, unsigned int fn, unsigned int l3, unsigned int l4,
			   unsigned int fields)
{
	uint8_t *c = IFC_ADDR(create_tir_in, start(MLX5_CMD_OP_CREATE_TIR), ctx);

	IFC_SET(tirc, c, transport_domain, dev.tdn);
	IFC_SET(tirc, c, disp_type, 1);
	IFC_SET(tirc, c, indirect_table, rqtn);
	IFC_SET(tirc, c, rx_hash_fn, fn);
	IFC_SET(tirc, c, rx_hash_symmetric, fn == TIR_HASH_TOEPLITZ);
	IFC_SET(tirc, c, rx_hash_field_selector_outer.l3_prot_type, l3);
	IFC_SET(tirc, c, rx_hash_field_selector_outer.l4_prot_type, l4);
	IFC_SET(tirc, c, rx_hash_field_selector_outer.selected_fields, fields);
	return send(IFC_SZ(create_tir_in));
}

static uint32_t create_table(unsigned int level, unsigned int log_size, uint32_t miss)
{
	uint8_t *c = IFC_ADDR(create_flow_table_in, start(MLX5_CMD_OP_CREATE_FLOW_TABLE),
			      flow_table_context);

	IFC_SET(flow_table_context, c, level, level);
	IFC_SET(flow_table_context, c, log_size, log_size);
	IFC_SET(flow_table_context, c, table_miss_action, !!miss);
	IFC_SET(flow_table_context, c, table_miss_id, miss);
	return send(IFC_SZ(create_flow_table_in));
}

static void set_root(uint32_t table)
{
	start(MLX5_CMD_OP_SET_FLOW_TABLE_ROOT);
	IFC_SET(set_flow_table_root_in, in, table_id, table);
	send(IFC_SZ(set_flow_table_root_in));
}

static void destroy_table(uint32_t table)
{
	start(MLX5_CMD_OP_DESTROY_FLOW_TABLE);
	IFC_SET(destroy_flow_table_in, in, table_id, table);
	send(IFC_SZ(destroy_flow_table_in));
}

static uint32_t create_group(uint32_t table, uint32_t first, uint32_t last, const uint8_t *criteria)
{
	start(MLX5_CMD_OP_CREATE_FLOW_GROUP);
	IFC_SET(create_flow_group_in, in, table_id, table);
	IFC_SET(create_flow_group_in, in, start_flow_index, first);
	IFC_SET(create_flow_group_in, in, end_flow_index, last);
	IFC_SET(create_flow_group_in, in, match_criteria_enable, !!criteria);
	if (criteria)
		memcpy(IFC_ADDR(create_flow_group_in, in, match_criteria), criteria, MATCH_BYTES);
	return send(IFC_SZ(create_flow_group_in));
}

static void destroy_group(uint32_t table, uint32_t group)
{
	start(MLX5_CMD_OP_DESTROY_FLOW_GROUP);
	IFC_SET(destroy_flow_group_in, in, table_id, table);
	IFC_SET(destroy_flow_group_in, in, group_id, group);
	send(IFC_SZ(destroy_flow_group_in));
}

static void add_rule(uint32_t table, uint32_t group, uint32_t index, const uint8_t *value,
		     enum flow_dest_type type, uint32_t to)
{
	uint8_t *c = IFC_ADDR(set_fte_in, start(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY), flow_context);

	IFC_SET(set_fte_in, in, table_id, table);
	IFC_SET(set_fte_in, in, flow_index, index);
	IFC_SET(flow_context, c, group_id, group);
	IFC_SET(flow_context, c, action, FLOW_FWD);
	IFC_SET(flow_context, c, destination_list_size, 1);
	put_be32(c + IFC_SZ(flow_context), (uint32_t)type << 24 | to);
	if (value)
		memcpy(IFC_ADDR(flow_context, c, match_value), value, MATCH_BYTES);
	send(IFC_SZ(set_fte_in) + 8);
}

static void delete_rule(uint32_t table, uint32_t index)
{
	start(MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY);
	IFC_SET(delete_fte_in, in, table_id, table);
	IFC_SET(delete_fte_in, in, flow_index, index);
	send(IFC_SZ(delete_fte_in));
}

/* ---- load, attach ---------------------------------------------------------------------------- */

static void load(void)
{
	memset(&dev, 0, sizeof(dev));
	dev.uar = core_alloc_uar();
	assert_int_equal(core_create_eq(dev.uar, 6, ring(), 0, 0, &dev.eqn), ST_OK);
	dev.anchor = create_table(15, 0, 0);
	set_root(dev.anchor);
}

static void attach_sending(void)
{
	uint8_t *m;
	unsigned int i;

	dev.pdn = simple(MLX5_CMD_OP_ALLOC_PD, 0);
	dev.tdn = simple(MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, 0);
	m = IFC_ADDR(create_mkey_in, start(MLX5_CMD_OP_CREATE_MKEY), memory_key_mkey_entry);
	IFC_SET(mkc, m, lw, 1);
	IFC_SET(mkc, m, lr, 1);
	IFC_SET(mkc, m, length64, 1);
	IFC_SET(mkc, m, qpn, 0xffffff);
	IFC_SET(mkc, m, pd, dev.pdn);
	dev.key = send(IFC_SZ(create_mkey_in));
	for (i = 0; i < TRAFFIC_CLASSES; i++) {
		start(MLX5_CMD_OP_CREATE_TIS);
		IFC_SET(create_tis_in, in, ctx.prio, 2 * i);
		IFC_SET(create_tis_in, in, ctx.transport_domain, dev.tdn);
		dev.tis[i] = send(IFC_SZ(create_tis_in));
	}
}

static void attach_receiving(void)
{
	static const struct { uint8_t l3, l4, fields; } hash[INDIRECT_TIRS] = {
		{ 0, 0, 15 }, { 1, 0, 15 }, { 0, 1, 15 }, { 1, 1, 15 }, { 0, 0, 19 }, { 1, 0, 19 },
		{ 0, 0, 19 }, { 1, 0, 19 }, { 0, 0, 3 }, { 1, 0, 3 },
	};
	unsigned int i;

	for (i = 0; i < 2; i++)
		dev.set[i] = simple(MLX5_CMD_OP_ALLOC_Q_COUNTER, 0) & 0xff;
	dev.drop_cqn = create_cq(0);
	dev.drop_rqn = create_rq(dev.drop_cqn, 0, 4, 0);
	modify_rq(dev.drop_rqn, 0, 1, dev.set[1]);
	dev.rqtn = create_rqt(RQT_SIZE);
	for (i = 0; i < INDIRECT_TIRS; i++)
		dev.tir[i] = create_tir(dev.rqtn, TIR_HASH_TOEPLITZ, hash[i].l3, hash[i].l4,
					hash[i].fields);
	for (i = 0; i < CHANNELS; i++) {
		dev.direct_rqt[i] = create_rqt(1);
		dev.direct_tir[i] = create_tir(dev.direct_rqt[i], TIR_HASH_XOR8, 0, 0, 0);
	}
}

/* Each traffic type to its TIR; the last rule takes what is no IP. */
static void attach_ttc(void)
{
	static const struct { uint8_t version, protocol; } type[INDIRECT_TIRS] = {
		{ 4, 6 }, { 6, 6 }, { 4, 17 }, { 6, 17 }, { 4, 51 }, { 6, 51 }, { 4, 50 },
		{ 6, 50 }, { 4, 0 }, { 6, 0 },
	};
	uint8_t m[MATCH_BYTES] = {};
	unsigned int i;

	dev.ttc = create_table(6, 7, dev.anchor);
	set_root(dev.ttc);
	LYR(m, ip_version, 15);
	LYR(m, ip_protocol, 255);
	dev.group[0] = create_group(dev.ttc, 0, 13, m);
	LYR(m, ip_protocol, 0);
	dev.group[1] = create_group(dev.ttc, 14, 15, m);
	dev.group[2] = create_group(dev.ttc, 16, 16, NULL);
	for (i = 0; i < INDIRECT_TIRS; i++) {
		uint8_t v[MATCH_BYTES] = {};

		LYR(v, ip_version, type[i].version);
		LYR(v, ip_protocol, type[i].protocol);
		add_rule(dev.ttc, dev.group[i >= 8], i < 8 ? i : i + 6, v, FLOW_TO_TIR, dev.tir[i]);
	}
	add_rule(dev.ttc, dev.group[2], 16, NULL, FLOW_TO_TIR, dev.direct_tir[0]);
}

static void attach_l2_and_vlan(void)
{
	uint8_t m[MATCH_BYTES] = {};

	dev.l2 = create_table(5, 16, dev.anchor);
	set_root(dev.l2);
	memset(IFC_ADDR(fte_match_set_lyr_2_4, m, dmac_47_16), 0xff, 6);
	dev.group[3] = create_group(dev.l2, 0, 32767, m);
	memset(m, 0, sizeof(m));
	LYR(m, dmac_47_16, 1 << 24);
	dev.group[4] = create_group(dev.l2, 32768, 32768, m);
	dev.group[5] = create_group(dev.l2, 32769, 32769, NULL);
	dev.vlan = create_table(4, 16, dev.anchor);
	set_root(dev.vlan);
	memset(m, 0, sizeof(m));
	LYR(m, first_vid, 0xfff);
	LYR(m, cvlan_tag, 1);
	dev.group[6] = create_group(dev.vlan, 0, 4095, m);
	LYR(m, cvlan_tag, 0);
	LYR(m, svlan_tag, 1);
	dev.group[7] = create_group(dev.vlan, 4096, 8191, m);
	memset(m, 0, sizeof(m));
	LYR(m, cvlan_tag, 1);
	dev.group[8] = create_group(dev.vlan, 8192, 8193, m);
	memset(m, 0, sizeof(m));
	LYR(m, svlan_tag, 1);
	dev.group[9] = create_group(dev.vlan, 8194, 8194, m);
	dev.group[10] = create_group(dev.vlan, 8195, 8195, NULL);
	add_rule(dev.vlan, dev.group[8], 8192, NULL, FLOW_TO_TABLE, dev.l2);	/* untagged */
}

static void attach(void)
{
	attach_sending();
	attach_receiving();
	attach_ttc();
	attach_l2_and_vlan();
}

static void detach(void)
{
	unsigned int i;

	delete_rule(dev.vlan, 8192);
	for (i = 11; i-- > 6;)
		destroy_group(dev.vlan, dev.group[i]);
	set_root(dev.l2);
	destroy_table(dev.vlan);
	for (i = 6; i-- > 3;)
		destroy_group(dev.l2, dev.group[i]);
	set_root(dev.ttc);
	destroy_table(dev.l2);
	for (i = 0; i < INDIRECT_TIRS; i++)
		delete_rule(dev.ttc, i < 8 ? i : i + 6);
	delete_rule(dev.ttc, 16);
	for (i = 3; i--;)
		destroy_group(dev.ttc, dev.group[i]);
	set_root(dev.anchor);
	destroy_table(dev.ttc);
	for (i = 0; i < CHANNELS; i++) {
		simple(MLX5_CMD_OP_DESTROY_TIR, dev.direct_tir[i]);
		simple(MLX5_CMD_OP_DESTROY_RQT, dev.direct_rqt[i]);
	}
	for (i = 0; i < INDIRECT_TIRS; i++)
		simple(MLX5_CMD_OP_DESTROY_TIR, dev.tir[i]);
	simple(MLX5_CMD_OP_DESTROY_RQT, dev.rqtn);
	simple(MLX5_CMD_OP_DESTROY_RQ, dev.drop_rqn);
	simple(MLX5_CMD_OP_DESTROY_CQ, dev.drop_cqn);
	for (i = 0; i < 2; i++) {
		start(MLX5_CMD_OP_DEALLOC_Q_COUNTER);
		IFC_SET(dealloc_q_counter_in, in, counter_set_id, dev.set[i]);
		send(16);
	}
	for (i = 0; i < TRAFFIC_CLASSES; i++)
		simple(MLX5_CMD_OP_DESTROY_TIS, dev.tis[i]);
	simple(MLX5_CMD_OP_DESTROY_MKEY, dev.key);
	simple(MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN, dev.tdn);
	simple(MLX5_CMD_OP_DEALLOC_PD, dev.pdn);
}

static void unload(void)
{
	destroy_table(dev.anchor);
	start(MLX5_CMD_OP_DESTROY_EQ);
	IFC_SET(destroy_eq_in, in, eq_number, dev.eqn);
	send(16);
	simple(MLX5_CMD_OP_DEALLOC_UAR, dev.uar);
}

/* ---- open, close ----------------------------------------------------------------------------- */

static void open_queues(struct channel *ch, unsigned int n)
{
	unsigned int i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < 3; k++)
			ch[i].cqn[k] = create_cq(6);
		ch[i].icosq = create_sq(ch[i].cqn[0], 0);
		ch[i].sq = create_sq(ch[i].cqn[1], dev.tis[0]);
		ch[i].rq = create_rq(ch[i].cqn[2], 6, 6, dev.pdn);
		modify_rq(ch[i].rq, 0, 1, dev.set[0]);
	}
}

static void close_queues(const struct channel *ch, unsigned int n)
{
	unsigned int i, k;

	for (i = 0; i < n; i++) {
		modify_rq(ch[i].rq, 1, 3, 0);
		simple(MLX5_CMD_OP_DESTROY_RQ, ch[i].rq);
		simple(MLX5_CMD_OP_DESTROY_SQ, ch[i].sq);
		simple(MLX5_CMD_OP_DESTROY_SQ, ch[i].icosq);
		for (k = 0; k < 3; k++)
			simple(MLX5_CMD_OP_DESTROY_CQ, ch[i].cqn[k]);
	}
}

/* Let the tables lead to the channels, and set the loopback of every TIR. */
static void enable_queues(const struct channel *ch, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < INDIRECT_TIRS + CHANNELS; i++) {
		start(MLX5_CMD_OP_MODIFY_TIR);
		IFC_SET(modify_tir_in, in, tirn,
			i < INDIRECT_TIRS ? dev.tir[i] : dev.direct_tir[i - INDIRECT_TIRS]);
		IFC_SET(modify_tir_in, in, bitmask.self_lb_en, 1);
		send(IFC_SZ(modify_tir_in));
	}
	modify_rqt(dev.rqtn, RQT_SIZE, ch, n);
	for (i = 0; i < CHANNELS; i++)
		modify_rqt(dev.direct_rqt[i], 1, ch + i, i < n);
}

static void disable_queues(void)
{
	unsigned int i;

	modify_rqt(dev.rqtn, 1, NULL, 0);
	for (i = 0; i < CHANNELS; i++)
		modify_rqt(dev.direct_rqt[i], 1, NULL, 0);
}

static void add_address(unsigned int index, const uint8_t mac[6])
{
	uint8_t v[MATCH_BYTES] = {};

	memcpy(IFC_ADDR(fte_match_set_lyr_2_4, v, dmac_47_16), mac, 6);
	add_rule(dev.l2, dev.group[3], index, v, FLOW_TO_TABLE, dev.ttc);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Which TIR receives a frame of this EtherType to the own address; 0: none. */
static uint32_t receiver(uint16_t ethertype, uint16_t vlan)
{
	uint8_t bytes[60] = { 2, 0x15, 0xb3, 0, 0, 1, 2, 9, 9, 9, 9, 9 };
	unsigned int off = 12;
	struct steer_result r;
	struct frame f;

	if (vlan) {
		put_be16(bytes + off, ETYPE_CTAG);
		put_be16(bytes + off + 2, vlan);
		off += 4;
	}
	put_be16(bytes + off, ethertype);
	if (ethertype == ETYPE_IPV4) {
		bytes[off + 2] = 0x45;
		put_be16(bytes + off + 4, 20);
		bytes[off + 11] = PROTO_ICMP;
	}
	assert_true(frame_parse(&f, bytes, sizeof(bytes), LENGTHS_OF_FRAME));
	steer(core.hca, FLOW_NIC_RX, &f, &r);
	return r.verdict == STEER_DELIVER ? r.copy[0].tirn : 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void netdev_comes_and_goes(void **state)
{
	struct channel first[CHANNELS], second[CHANNELS];
	unsigned int before;

	(void)state;
	before = obj_total(core.hca);
	load();
	attach();
	assert_int_equal(receiver(ETYPE_ARP, 0), 0);
	open_queues(first, CHANNELS);
	enable_queues(first, CHANNELS);
	add_address(0, own_mac);
	assert_int_equal(receiver(ETYPE_ARP, 0), dev.direct_tir[0]);
	assert_int_equal(receiver(ETYPE_IPV4, 0), dev.tir[8]);
	assert_int_equal(receiver(ETYPE_IPV4, 7), 0);
	assert_int_equal(tir_rq(core.hca, tir_find(core.hca, dev.tir[8]), 0x102)->obj.num,
			 first[2].rq);
	/* Other rings: the new queues exist beside the old ones, and take over. */
	open_queues(second, 2);
	enable_queues(second, 2);
	assert_int_equal(tir_rq(core.hca, tir_find(core.hca, dev.tir[8]), 0x103)->obj.num,
			 second[1].rq);
	close_queues(first, CHANNELS);
	delete_rule(dev.l2, 0);
	disable_queues();
	close_queues(second, 2);
	detach();
	unload();
	assert_int_equal(obj_total(core.hca), before);
}

static void a_hundred_times(void **state)
{
	struct channel ch[CHANNELS];
	unsigned int before, i;

	(void)state;
	before = obj_total(core.hca);
	for (i = 0; i < 100; i++) {
		load();
		attach();
		open_queues(ch, CHANNELS);
		enable_queues(ch, CHANNELS);
		disable_queues();
		close_queues(ch, CHANNELS);
		detach();
		unload();
		assert_int_equal(obj_total(core.hca), before);
	}
}

/* Queues that a table still names cannot be destroyed: the driver has to move the table first. */
static void the_order_of_closing_matters(void **state)
{
	struct channel ch[1];

	(void)state;
	load();
	attach();
	open_queues(ch, 1);
	enable_queues(ch, 1);
	start(MLX5_CMD_OP_DESTROY_RQ);
	IFC_SET(destroy_rq_in, in, rqn, ch[0].rq);
	assert_int_equal(core_cmd(in, 16, out, 16), ST_BAD_RES_STATE);
	start(MLX5_CMD_OP_DESTROY_RQT);
	IFC_SET(destroy_rqt_in, in, rqtn, dev.rqtn);
	assert_int_equal(core_cmd(in, 16, out, 16), ST_BAD_RES_STATE);
	start(MLX5_CMD_OP_DESTROY_TIR);
	IFC_SET(destroy_tir_in, in, tirn, dev.tir[0]);
	assert_int_equal(core_cmd(in, 16, out, 16), ST_BAD_RES_STATE);
	start(MLX5_CMD_OP_DESTROY_TIS);
	IFC_SET(destroy_tis_in, in, tisn, dev.tis[0]);
	assert_int_equal(core_cmd(in, 16, out, 16), ST_BAD_RES_STATE);
	start(MLX5_CMD_OP_DESTROY_CQ);
	IFC_SET(destroy_cq_in, in, cqn, ch[0].cqn[2]);
	assert_int_equal(core_cmd(in, 16, out, 16), ST_BAD_RES_STATE);
	start(MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN);
	IFC_SET(dealloc_transport_domain_in, in, transport_domain, dev.tdn);
	assert_int_equal(core_cmd(in, 16, out, 16), ST_BAD_RES_STATE);
	start(MLX5_CMD_OP_DESTROY_FLOW_TABLE);
	IFC_SET(destroy_flow_table_in, in, table_id, dev.ttc);
	assert_int_equal(core_cmd(in, IFC_SZ(destroy_flow_table_in), out, 16), ST_BAD_RES_STATE);
}

static int setup(void **state)
{
	core_board = &hca_eth_board;
	core_eth = true;
	return core_up_init(state);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, core_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(netdev_comes_and_goes), T(a_hundred_times), T(the_order_of_closing_matters),
	};

	return cmocka_run_group_tests_name("nic", tests, NULL, NULL);
}
