// SPDX-License-Identifier: GPL-2.0
/*
 * The rig of the NIC's tests.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "caps.h"
#include "cq.h"
#include "eth_port.h"
#include "eth_switch.h"
#include "fabric.h"
#include "flow.h"
#include "flow_cmd.h"
#include "flow_counter.h"
#include "mkey.h"
#include "nic.h"
#include "nic_ops.h"
#include "rq.h"
#include "rqt.h"
#include "rss.h"
#include "sq.h"
#include "tir.h"
#include "tis.h"
#include "watch.h"
#include "wirerig.h"
#include "wqe.h"

#define PAGE	4096

struct wire wire;
static struct fabric *fabric;
static uint8_t out[4096];

/* ---- the peer -------------------------------------------------------------------------------- */

static bool peer_up(void *arg)
{
	(void)arg;
	return true;
}

static void peer_get(void *arg, struct eth_frame *fr)
{
	(void)arg;
	if (wire.frames < WIRE_FRAMES) {
		wire.frame[wire.frames].len = fr->head.len;
		memcpy(wire.frame[wire.frames].bytes, eth_frame_data(fr), fr->head.len);
	}
	wire.frames++;
	eth_frame_free(fr);
}

static const struct eth_remote peer = { .up = peer_up, .send = peer_get };

void wire_send(const uint8_t *bytes, size_t len)
{
	struct eth_frame *fr = eth_frame_alloc(len);

	assert_non_null(fr);
	memcpy(eth_frame_data(fr), bytes, len);
	eth_switch_forward(fabric, wire.port, fr);
	wire_settle();
}

/* ---- the HCA --------------------------------------------------------------------------------- */

static const struct hca_module *const modules[] = {
	&tis_module, &sq_module, &rq_module, &rqt_module, &tir_module, &flow_module,
	&fabric_module, &eth_port_module, &watch_module, &nic_module, NULL
};

static const struct cmd_desc *const cmds[] = {
	tis_cmds, sq_cmds, rq_cmds, rqt_cmds, tir_cmds,
	flow_table_cmds, flow_group_cmds, flow_entry_cmds, flow_counter_cmds, NULL
};

static void cqe_lost(struct hca *hca, uint32_t num)
{
	assert_true(nic_lost_cqe(hca, num));
}

static uint64_t alloc(size_t len)
{
	uint64_t at = wire.brk;

	wire.brk += (len + PAGE - 1) / PAGE * PAGE;
	assert_true(wire.brk <= RAM_BASE + RAM_SIZE);
	memset(ram(at), 0, len);
	return at;
}

static uint8_t run(uint16_t opcode, void *in, size_t len)
{
	return rig_cmd(opcode, 0, 0, in, len, out, sizeof(out));
}

/* The number is at the same place in the output of all commands that create an object. */
static uint32_t create(uint16_t opcode, void *in, size_t len)
{
	if (run(opcode, in, len))
		fail_msg("command 0x%x: %s", opcode, rig.why);
	return IFC_GET(create_rq_out, out, rqn);
}

static void set_caps(void)
{
	uint8_t *c = rig.hca->cap[CAP_GENERAL];

	IFC_SET(cmd_hca_cap, c, eth_net_offloads, 1);
	IFC_SET(cmd_hca_cap, c, nic_flow_table, 1);
	IFC_SET(cmd_hca_cap, c, log_max_wq_sz, 10);
	IFC_SET(cmd_hca_cap, c, log_max_rqt_size, 4);
	IFC_SET(cmd_hca_cap, c, max_wqe_sz_sq, 1024);
	IFC_SET(cmd_hca_cap, c, disable_local_lb_uc, 1);
	IFC_SET(cmd_hca_cap, c, disable_local_lb_mc, 1);
	wire_cap(wqe_inline_mode, 2);
	wire_cap(max_lso_cap, 18);
	wire_cap(csum_cap, 1);
	wire_cap(self_lb_en_modifiable, 1);
	c = rig.hca->cap[CAP_FLOW_TABLE];
	IFC_SET(flow_table_nic_cap, c, flow_table_properties_nic_receive.ft_support, 1);
	IFC_SET(flow_table_nic_cap, c, flow_table_properties_nic_receive.modify_root, 1);
	IFC_SET(flow_table_nic_cap, c, flow_table_properties_nic_receive.log_max_ft_size, 10);
	IFC_SET(flow_table_nic_cap, c, flow_table_properties_nic_receive.max_ft_level, 64);
	IFC_SET(flow_table_nic_cap, c, flow_table_properties_nic_receive.log_max_ft_num, 4);
	IFC_SET(flow_table_nic_cap, c, flow_table_properties_nic_receive.log_max_flow, 10);
}

int wire_up(void **state)
{
	uint8_t td[16] = {}, tis[IFC_SZ(create_tis_in)] = {};
	static bool added;

	fabric = fabric_new(&eth_packet_type);
	assert_int_equal(eth_switch_start(fabric), 0);
	if (!added) {
		rig_extra.modules = modules;
		rig_extra.cmds = cmds;
		rig_extra.nic = &nic_ops;
		rig_extra.cqe_lost = cqe_lost;
		added = true;
	}
	rig_extra.fabric = fabric;
	rig_setup(state);
	memset(&wire, 0, offsetof(struct wire, frame));
	wire.brk = RAM_BASE;
	wire.port = eth_switch_join(fabric, &peer);
	assert_true(wire.port);
	wire.mac = rig.hca->eth->vport.mac;
	rig.hca->eth->mtu = FRAME_MAX + FCS_BYTES;
	set_caps();
	wire.pdn = rig_pd();
	wire.uar = rig_uar(0);
	wire.eqn = rig_eq();
	wire.tdn = create(MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, td, sizeof(td));
	IFC_SET(create_tis_in, tis, ctx.transport_domain, wire.tdn);
	wire.tisn = create(MLX5_CMD_OP_CREATE_TIS, tis, sizeof(tis));
	rig_clear();
	return 0;
}

int wire_down(void **state)
{
	rig_teardown(state);
	fabric_free(fabric);
	return 0;
}

void wire_settle(void)
{
	unsigned int i;

	for (i = 0; i < 64; i++)
		event_base_loop(rig.base, EVLOOP_NONBLOCK);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static struct wire_queue new_queue(size_t ring)
{
	struct wire_queue q = { .ring = alloc(ring), .cq = alloc(64u << WIRE_LOG_CQ),
				.dbr = alloc(PAGE) };

	q.cqn = rig_cq(q.cq, q.dbr + 64, WIRE_LOG_CQ, 64, wire.uar, wire.eqn);
	return q;
}

static void put_wq(uint8_t *wq, const struct wire_queue *q, unsigned int log_size,
		   unsigned int log_stride)
{
	size_t len = (size_t)1 << (log_size + log_stride), i;

	IFC_SET(wq, wq, wq_type, 1);
	IFC_SET(wq, wq, log_wq_stride, log_stride);
	IFC_SET(wq, wq, log_wq_sz, log_size);
	IFC_SET(wq, wq, pd, wire.pdn);
	IFC_SET64(wq, wq, dbr_addr, q->dbr);
	for (i = 0; i < len; i += PAGE)
		put_be64(IFC_ADDR(wq, wq, pas) + i / PAGE * 8, q->ring + i);
}

struct wire_queue wire_sq(unsigned int flags, unsigned int mode)
{
	struct wire_queue q = new_queue((size_t)WQE_BB << WIRE_LOG_SQ);
	uint8_t in[IFC_SZ(create_sq_in) + 16] = {}, *c = IFC_ADDR(create_sq_in, in, ctx);

	IFC_SET(sqc, c, cqn, q.cqn);
	IFC_SET(sqc, c, user_index, WIRE_INDEX);
	IFC_SET(sqc, c, rlky, !(flags & SQ_NO_RLKY));
	IFC_SET(sqc, c, allow_multi_pkt_send_wqe, !!(flags & SQ_SEVERAL));
	IFC_SET(sqc, c, flush_in_error_en, !!(flags & SQ_FLUSH));
	IFC_SET(sqc, c, min_wqe_inline_mode, mode);
	IFC_SET(sqc, c, tis_lst_sz, !(flags & SQ_NO_TIS));
	IFC_SET(sqc, c, tis_num_0, flags & SQ_NO_TIS ? 0 : wire.tisn);
	put_wq(IFC_ADDR(sqc, c, wq), &q, WIRE_LOG_SQ, 6);
	IFC_SET(sqc, c, wq.uar_page, wire.uar);
	q.num = create(MLX5_CMD_OP_CREATE_SQ, in, sizeof(in));
	assert_int_equal(wire_move_sq(&q, SQ_RST, SQ_RDY), ST_OK);
	return q;
}

struct wire_queue wire_rq(unsigned int flags, uint32_t set)
{
	struct wire_queue q = new_queue((size_t)WIRE_STRIDE << WIRE_LOG_RQ);
	uint8_t in[IFC_SZ(create_rq_in) + 16] = {}, *c = IFC_ADDR(create_rq_in, in, ctx);

	IFC_SET(rqc, c, cqn, q.cqn);
	IFC_SET(rqc, c, user_index, WIRE_INDEX);
	IFC_SET(rqc, c, rlky, !(flags & RQ_NO_RLKY));
	IFC_SET(rqc, c, flush_in_error_en, !!(flags & RQ_FLUSH));
	IFC_SET(rqc, c, vsd, !!(flags & RQ_VSD));
	IFC_SET(rqc, c, scatter_fcs, !!(flags & RQ_FCS));
	IFC_SET(rqc, c, counter_set_id, set);
	put_wq(IFC_ADDR(rqc, c, wq), &q, WIRE_LOG_RQ, 6);
	q.num = create(MLX5_CMD_OP_CREATE_RQ, in, sizeof(in));
	assert_int_equal(wire_move_rq(&q, RQ_RST, RQ_RDY), ST_OK);
	return q;
}

uint8_t wire_move_sq(const struct wire_queue *q, unsigned int from, unsigned int to)
{
	uint8_t in[IFC_SZ(modify_sq_in)] = {};

	IFC_SET(modify_sq_in, in, sqn, q->num);
	IFC_SET(modify_sq_in, in, sq_state, from);
	IFC_SET(modify_sq_in, in, ctx.state, to);
	return run(MLX5_CMD_OP_MODIFY_SQ, in, sizeof(in));
}

uint8_t wire_move_rq(const struct wire_queue *q, unsigned int from, unsigned int to)
{
	uint8_t in[IFC_SZ(modify_rq_in)] = {};

	IFC_SET(modify_rq_in, in, rqn, q->num);
	IFC_SET(modify_rq_in, in, rq_state, from);
	IFC_SET(modify_rq_in, in, ctx.state, to);
	return run(MLX5_CMD_OP_MODIFY_RQ, in, sizeof(in));
}

void wire_destroy_sq(const struct wire_queue *q)
{
	uint8_t in[IFC_SZ(destroy_sq_in)] = {};

	IFC_SET(destroy_sq_in, in, sqn, q->num);
	assert_int_equal(run(MLX5_CMD_OP_DESTROY_SQ, in, sizeof(in)), ST_OK);
}

void wire_destroy_rq(const struct wire_queue *q)
{
	uint8_t in[IFC_SZ(destroy_rq_in)] = {};

	IFC_SET(destroy_rq_in, in, rqn, q->num);
	assert_int_equal(run(MLX5_CMD_OP_DESTROY_RQ, in, sizeof(in)), ST_OK);
}

unsigned int wire_sq_state(const struct wire_queue *q)
{
	uint8_t in[IFC_SZ(query_sq_in)] = {};

	IFC_SET(query_sq_in, in, sqn, q->num);
	assert_int_equal(run(MLX5_CMD_OP_QUERY_SQ, in, sizeof(in)), ST_OK);
	return IFC_GET(query_sq_out, out, sq_context.state);
}

unsigned int wire_rq_state(const struct wire_queue *q)
{
	uint8_t in[IFC_SZ(query_rq_in)] = {};

	IFC_SET(query_rq_in, in, rqn, q->num);
	assert_int_equal(run(MLX5_CMD_OP_QUERY_RQ, in, sizeof(in)), ST_OK);
	return IFC_GET(query_rq_out, out, rq_context.state);
}

/* ---- completions ----------------------------------------------------------------------------- */

const uint8_t *wire_cqe(struct wire_queue *q)
{
	const uint8_t *cqe = ram(q->cq) + 64 * (q->seen % (1u << WIRE_LOG_CQ));
	unsigned int owner = q->seen >> WIRE_LOG_CQ & 1;

	if (cqe[63] >> 4 == 0xf || (cqe[63] & 1) != owner)
		return NULL;
	q->seen++;
	put_be32(ram(q->dbr + 64), q->seen);
	return cqe;
}

const uint8_t *wire_expect(struct wire_queue *q, uint8_t opcode, uint16_t index, uint32_t error)
{
	const uint8_t *cqe = wire_cqe(q);

	assert_non_null(cqe);
	if (cqe[63] >> 4 != opcode)
		fail_msg("opcode %u of the CQE is not %u, syndrome 0x%x", cqe[63] >> 4, opcode,
			 cqe[55]);
	assert_int_equal(get_be16(cqe + 60), index);
	assert_int_equal(get_be32(cqe + 32), WIRE_INDEX);
	if (error) {
		assert_int_equal(cqe[CQE_ERROR_OFF + 3], cqe_error_syndrome(error));
		assert_int_equal(cqe[CQE_ERROR_OFF + 2], cqe_error_vendor(error));
	}
	return cqe;
}

/* ---- send WQEs ------------------------------------------------------------------------------- */

void wire_ctrl(struct wire_wqe *w, uint8_t opcode, bool signaled)
{
	memset(w, 0, sizeof(*w));
	put_be32(w->b, opcode);
	w->b[11] = signaled ? 8 : 0;
	w->ds = 1;
}

void wire_eth(struct wire_wqe *w, uint8_t flags, uint16_t mss, const void *header, size_t len)
{
	uint8_t *eth = w->b + 16 * w->ds;

	eth[4] = flags;
	put_be16(eth + 6, mss);
	put_be16(eth + 12, len);
	if (len)
		memcpy(eth + 14, header, len);
	w->ds += 1 + (len > 2 ? (len - 2 + 15) / 16 : 0);
}

void wire_seg(struct wire_wqe *w, uint64_t addr, uint32_t len, uint32_t lkey)
{
	uint8_t *seg = w->b + 16 * w->ds;

	put_be32(seg, len);
	put_be32(seg + 4, lkey);
	put_be64(seg + 8, addr);
	w->ds++;
}

void wire_data(struct wire_wqe *w, const void *bytes, size_t len)
{
	uint64_t addr = alloc(len);

	memcpy(ram(addr), bytes, len);
	wire_seg(w, addr, len, MKEY_RESD_LKEY);
}

bool wire_ring(struct wire_queue *q)
{
	const uint8_t *wqe = ram(q->ring) + q->last % (1u << WIRE_LOG_SQ) * WQE_BB;

	put_be32(ram(q->dbr) + 4, q->tail);
	return nic_send_doorbell(rig.hca, wire.uar, wqe, 8);
}

void wire_put(struct wire_queue *q, struct wire_wqe *w)
{
	unsigned int i, bbs = (w->ds * 16 + WQE_BB - 1) / WQE_BB;
	uint32_t size = 1u << WIRE_LOG_SQ;

	if (!get_be32(w->b + 4)) {
		put_be32(w->b, get_be32(w->b) | (uint32_t)q->tail << 8);
		put_be32(w->b + 4, q->num << 8 | w->ds);
	}
	for (i = 0; i < bbs; i++)
		memcpy(ram(q->ring) + (q->tail + i) % size * WQE_BB, w->b + i * WQE_BB, WQE_BB);
	q->last = q->tail;
	q->tail += bbs;
}

void wire_post(struct wire_queue *q, struct wire_wqe *w)
{
	wire_put(q, w);
	assert_true(wire_ring(q));
}

void wire_post_frame(struct wire_queue *q, uint8_t flags, const void *bytes, size_t len,
		     size_t header)
{
	struct wire_wqe w;

	wire_ctrl(&w, WQE_SEND, true);
	wire_eth(&w, flags, 0, bytes, header);
	if (len > header)
		wire_data(&w, (const uint8_t *)bytes + header, len - header);
	wire_post(q, &w);
}

/* ---- receive WQEs ---------------------------------------------------------------------------- */

uint64_t wire_recv(struct wire_queue *q, const uint32_t *len, unsigned int n)
{
	uint8_t *wqe = ram(q->ring) + q->tail % (1u << WIRE_LOG_RQ) * WIRE_STRIDE;
	uint32_t total = 0;
	uint64_t addr;
	unsigned int i;

	for (i = 0; i < n; i++)
		total += len[i];
	addr = alloc(total);
	memset(wqe, 0, WIRE_STRIDE);
	for (i = 0, total = 0; i < n; total += len[i], i++) {
		/* The highest bit asks for padding in front, as the stock driver does. */
		put_be32(wqe + 16 * i, len[i] | 0x80000000u);
		put_be32(wqe + 16 * i + 4, MKEY_RESD_LKEY);
		put_be64(wqe + 16 * i + 8, addr + total);
	}
	if (16 * n < WIRE_STRIDE)
		put_be32(wqe + 16 * n + 4, MKEY_TERM_SCATTER);
	q->last = q->tail++;
	put_be32(ram(q->dbr), q->tail);
	return addr;
}

/* ---- steering -------------------------------------------------------------------------------- */

uint32_t wire_tir(const struct wire_queue *q)
{
	uint8_t in[IFC_SZ(create_tir_in)] = {};

	IFC_SET(create_tir_in, in, ctx.transport_domain, wire.tdn);
	IFC_SET(create_tir_in, in, ctx.inline_rqn, q->num);
	return create(MLX5_CMD_OP_CREATE_TIR, in, sizeof(in));
}

uint32_t wire_rss(const struct wire_queue *q, unsigned int n, unsigned int fields, bool udp,
		  bool v6, bool symmetric)
{
	uint8_t in[IFC_SZ(create_rqt_in) + 4 * 16] = {}, tir[IFC_SZ(create_tir_in)] = {};
	uint8_t *c = IFC_ADDR(create_tir_in, tir, ctx);
	unsigned int i;

	IFC_SET(create_rqt_in, in, rqt_context.rqt_max_size, 16);
	IFC_SET(create_rqt_in, in, rqt_context.rqt_actual_size, n);
	for (i = 0; i < n; i++)
		put_be32(in + IFC_SZ(create_rqt_in) + 4 * i, q[i].num);
	IFC_SET(tirc, c, disp_type, 1);
	IFC_SET(tirc, c, indirect_table, create(MLX5_CMD_OP_CREATE_RQT, in, sizeof(in)));
	IFC_SET(tirc, c, transport_domain, wire.tdn);
	IFC_SET(tirc, c, rx_hash_fn, RSS_TOEPLITZ);
	IFC_SET(tirc, c, rx_hash_symmetric, symmetric);
	IFC_SET(tirc, c, rx_hash_field_selector_outer.l3_prot_type, v6);
	IFC_SET(tirc, c, rx_hash_field_selector_outer.l4_prot_type, udp);
	IFC_SET(tirc, c, rx_hash_field_selector_outer.selected_fields, fields);
	for (i = 0; i < RSS_KEY_BYTES; i++)
		IFC_ADDR(tirc, c, rx_hash_toeplitz_key)[i] = 7 * i + 1;
	return create(MLX5_CMD_OP_CREATE_TIR, tir, sizeof(tir));
}

/* Offer tables of another type as those of received frames are offered. */
static void offer_tables(enum flow_type type)
{
	uint8_t *cap = rig.hca->cap[CAP_FLOW_TABLE];

	memmove(cap + flow_cap_page(type) / 8, cap + flow_cap_page(FLOW_NIC_RX) / 8,
		IFC_SZ(flow_table_prop_layout));
}

void wire_rule_of(enum flow_type type, unsigned int action, uint32_t tirn, uint32_t flow_tag)
{
	uint8_t table[IFC_SZ(create_flow_table_in)] = {}, group[IFC_SZ(create_flow_group_in)] = {};
	uint8_t root[IFC_SZ(set_flow_table_root_in)] = {};
	uint8_t rule[IFC_SZ(set_fte_in) + 8] = {}, *c = IFC_ADDR(set_fte_in, rule, flow_context);
	uint32_t id;

	offer_tables(type);
	IFC_SET(create_flow_table_in, table, table_type, type);
	IFC_SET(create_flow_group_in, group, table_type, type);
	IFC_SET(set_flow_table_root_in, root, table_type, type);
	IFC_SET(set_fte_in, rule, table_type, type);
	id = create(MLX5_CMD_OP_CREATE_FLOW_TABLE, table, sizeof(table));
	IFC_SET(create_flow_group_in, group, table_id, id);
	IFC_SET(set_flow_table_root_in, root, table_id, id);
	assert_int_equal(run(MLX5_CMD_OP_SET_FLOW_TABLE_ROOT, root, sizeof(root)), ST_OK);
	IFC_SET(set_fte_in, rule, table_id, id);
	IFC_SET(flow_context, c, group_id,
		create(MLX5_CMD_OP_CREATE_FLOW_GROUP, group, sizeof(group)));
	IFC_SET(flow_context, c, flow_tag, flow_tag);
	IFC_SET(flow_context, c, action, action);
	if (tirn) {
		IFC_SET(flow_context, c, destination_list_size, 1);
		put_be32(rule + IFC_SZ(set_fte_in), FLOW_TO_TIR << 24 | tirn);
	}
	if (run(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, rule, sizeof(rule)))
		fail_msg("rule: %s", rig.why);
}

void wire_rule(unsigned int action, uint32_t tirn, uint32_t flow_tag)
{
	wire_rule_of(FLOW_NIC_RX, action, tirn, flow_tag);
}
