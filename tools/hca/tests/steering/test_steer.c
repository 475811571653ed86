// SPDX-License-Identifier: GPL-2.0
/*
 * The way of frames through flow tables: which fields of a frame are compared, which rule is taken,
 * and where frames go that no rule matches.
 */
#include <stdio.h>
#include <string.h>

#include "caps.h"
#include "flow.h"
#include "flow_counter.h"
#include "flowrig.h"
#include "frame.h"
#include "nicrig.h"
#include "objrig.h"
#include "profile.h"
#include "steer.h"
#include "util.h"

static const uint8_t own_mac[6] = { 2, 0, 0, 0, 0, 1 }, peer_mac[6] = { 2, 0, 0, 0, 0, 2 };
static const uint8_t group_mac[6] = { 0x33, 0x33, 0, 0, 0, 1 };

/* ---- frames ---------------------------------------------------------------------------------- */

static uint8_t bytes[128];
static size_t len;

static void add(const void *p, size_t n)
{
	memcpy(bytes + len, p, n);
	len += n;
}

static void add16(uint16_t v)
{
	uint8_t b[2];

	put_be16(b, v);
	add(b, 2);
}

static void ethernet(const uint8_t dmac[6])
{
	len = 0;
	add(dmac, 6);
	add(peer_mac, 6);
}

static void tag(uint16_t type, uint16_t tci)
{
	add16(type);
	add16(tci);
}

/* An IPv4 header, 10.0.0.1 to 10.0.0.2, with @n bytes behind it. */
static void ipv4(uint8_t protocol, uint16_t frag, size_t n)
{
	uint8_t h[20] = { 0x45, 0xb9, [8] = 64, 10, 0, 0, 0, 0, 0, 1, 10, 0, 0, 2 };

	add16(ETYPE_IPV4);
	memset(h + 8, 0, 12);
	h[8] = 63;
	h[9] = protocol;
	put_be16(h + 2, 20 + n);
	put_be16(h + 6, frag);
	put_be32(h + 12, 0x0a000001);
	put_be32(h + 16, 0x0a000002);
	add(h, sizeof(h));
}

static void ipv6(uint8_t next, size_t n)
{
	uint8_t h[40] = { 0x60, [6] = next, 64, 0xfd, [23] = 1, 0xfd, [39] = 2 };

	add16(ETYPE_IPV6);
	put_be16(h + 4, n);
	add(h, sizeof(h));
}

static void udp(uint16_t sport, uint16_t dport)
{
	add16(sport);
	add16(dport);
	add16(8);
	add16(0);
}

static void tcp(uint16_t sport, uint16_t dport, uint16_t flags)
{
	uint8_t h[20] = {};

	put_be16(h, sport);
	put_be16(h + 2, dport);
	put_be16(h + 12, 0x5000 | flags);
	add(h, sizeof(h));
}

static struct steer_result steered(void)
{
	struct steer_result r;
	struct frame f;

	assert_true(frame_parse(&f, bytes, len, LENGTHS_OF_FRAME));
	steer(rig.hca, FLOW_NIC_RX, &f, &r);
	return r;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static uint32_t new_table(unsigned int level, uint32_t miss)
{
	flowrig_table(level, miss);
	return flowrig_new(MLX5_CMD_OP_CREATE_FLOW_TABLE);
}

/* A group of indices @start to @end, which looks at @mask. */
static uint32_t new_group(uint32_t table, uint32_t start, uint32_t end, const uint8_t *mask)
{
	memcpy(flowrig_group(table, start, end), mask, MATCH_BYTES);
	return flowrig_new(MLX5_CMD_OP_CREATE_FLOW_GROUP);
}

static void new_rule(uint32_t table, uint32_t group, uint32_t index, const uint8_t *value,
		     enum flow_dest_type type, uint32_t id)
{
	memcpy(flowrig_entry(table, group, index), value, MATCH_BYTES);
	flowrig_dest(type, id);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
}

static void set_root(uint32_t table)
{
	flowrig_root(table);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ROOT);
}

static void goes_to(const struct steer_result *r, uint32_t tirn)
{
	assert_int_equal(r->verdict, STEER_DELIVER);
	assert_int_equal(r->copies, 1);
	assert_int_equal(r->copy[0].tirn, tirn);
	assert_int_equal(r->copy[0].flow_tag, FLOW_TAG);
}

/* ---- fields ---------------------------------------------------------------------------------- */

#define F(fld) { IFC_OFF(fte_match_set_lyr_2_4, fld), IFC_BITS(fte_match_set_lyr_2_4, fld), #fld }

/* A rule that looks at one field only: whether it matches the frame that was built. */
static bool matches(const struct ifc_field f, uint32_t value)
{
	uint8_t mask[MATCH_BYTES] = {}, v[MATCH_BYTES] = {};
	struct steer_result r;
	uint32_t table, group;
	unsigned int i;

	for (i = 0; i < f.width; i++)
		ifc_set_bits(mask, f.off + i, 1, 1);
	ifc_set_bits(v, f.off, f.width, value);
	table = new_table(1, 0);
	group = new_group(table, 0, 0, mask);
	new_rule(table, group, 0, v, FLOW_TO_TIR, flow_tir[0]);
	set_root(table);
	r = steered();
	flowrig_index(table, 0);
	flowrig_ok(MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY);
	flowrig_in_table(table, group);
	flowrig_ok(MLX5_CMD_OP_DESTROY_FLOW_GROUP);
	flowrig_in_table(table, 0);
	flowrig_ok(MLX5_CMD_OP_DESTROY_FLOW_TABLE);
	return r.verdict == STEER_DELIVER;
}

struct expected {
	struct ifc_field field;
	uint32_t value;
};

/* Each field of the frame has its value, and no other. */
static void has(const struct expected *e, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!matches(e[i].field, e[i].value))
			fail_msg("%s is not 0x%x", e[i].field.name, e[i].value);
		if (matches(e[i].field, e[i].value ^ 1))
			fail_msg("%s is 0x%x, too", e[i].field.name, e[i].value ^ 1);
	}
}

/* Offer also the fields that the default profile does not. */
static void offer_all(void)
{
	uint8_t *cap = rig.hca->cap[CAP_FLOW_TABLE];

	IFC_SET(flow_table_nic_cap, cap,
		flow_table_properties_nic_receive.ft_field_support.outer_ip_dscp, 1);
	IFC_SET(flow_table_nic_cap, cap,
		flow_table_properties_nic_receive.ft_field_support.outer_ip_ecn, 1);
	IFC_SET(flow_table_nic_cap, cap,
		flow_table_properties_nic_receive.ft_field_support.outer_ipv4_ttl, 1);
	IFC_SET(flow_table_nic_cap, cap, ft_field_support_2_nic_receive.outer_l4_type, 1);
	IFC_SET(flow_table_nic_cap, cap, ft_field_support_2_nic_receive.outer_l4_type_ext, 1);
}

static void fields_of_udp_over_ipv4(void **state)
{
	static const struct expected e[] = {
		{ F(dmac_47_16), 0x02000000 }, { F(dmac_15_0), 1 },
		{ F(smac_47_16), 0x02000000 }, { F(smac_15_0), 2 },
		{ F(ethertype), 0x800 }, { F(cvlan_tag), 0 }, { F(svlan_tag), 0 },
		{ F(first_vid), 0 }, { F(first_prio), 0 }, { F(first_cfi), 0 },
		{ F(ip_version), 4 }, { F(ip_protocol), 17 }, { F(frag), 0 },
		{ F(ip_dscp), 0x2e }, { F(ip_ecn), 1 }, { F(ttl_hoplimit), 63 },
		{ F(udp_sport), 0x1234 }, { F(udp_dport), 0x5678 },
		{ F(tcp_sport), 0 }, { F(tcp_dport), 0 }, { F(tcp_flags), 0 },
		{ F(l4_type), 2 }, { F(l4_type_ext), 2 },
		{ { IFC_OFF(fte_match_set_lyr_2_4, src_ipv4_src_ipv6) + 96, 32, "src" },
		  0x0a000001 },
		{ { IFC_OFF(fte_match_set_lyr_2_4, dst_ipv4_dst_ipv6) + 96, 32, "dst" },
		  0x0a000002 },
	};

	(void)state;
	offer_all();
	ethernet(own_mac);
	ipv4(17, 0, 8);
	udp(0x1234, 0x5678);
	has(e, ARRAY_SIZE(e));
}

static void fields_of_tagged_tcp_over_ipv6(void **state)
{
	static const struct expected e[] = {
		{ F(ethertype), 0x86dd }, { F(cvlan_tag), 1 }, { F(first_vid), 0xabc },
		{ F(first_prio), 5 }, { F(first_cfi), 1 },
		{ F(ip_version), 6 }, { F(ip_protocol), 6 }, { F(frag), 0 },
		{ F(tcp_sport), 0x1234 }, { F(tcp_dport), 0x5678 }, { F(tcp_flags), 0x112 },
		{ F(udp_sport), 0 }, { F(udp_dport), 0 }, { F(l4_type), 1 }, { F(l4_type_ext), 1 },
		{ { IFC_OFF(fte_match_set_lyr_2_4, src_ipv4_src_ipv6), 32, "src" }, 0xfd000000 },
		{ { IFC_OFF(fte_match_set_lyr_2_4, src_ipv4_src_ipv6) + 96, 32, "src" }, 1 },
		{ { IFC_OFF(fte_match_set_lyr_2_4, dst_ipv4_dst_ipv6) + 96, 32, "dst" }, 2 },
	};

	(void)state;
	offer_all();
	ethernet(own_mac);
	tag(ETYPE_CTAG, 0xbabc);
	ipv6(6, 20);
	tcp(0x1234, 0x5678, 0x112);
	has(e, ARRAY_SIZE(e));
}

static void fields_of_fragment_and_of_other_frames(void **state)
{
	static const struct expected fragment[] = {
		{ F(ip_version), 4 }, { F(ip_protocol), 17 }, { F(frag), 1 }, { F(udp_dport), 0 },
		{ F(l4_type), 0 }, { F(l4_type_ext), 0 },
	};
	static const struct expected icmp[] = {
		{ F(ip_protocol), 1 }, { F(l4_type), 0 }, { F(l4_type_ext), 3 },
	};
	static const struct expected icmp_fragment[] = {
		{ F(ip_protocol), 1 }, { F(l4_type_ext), 0 },
	};
	static const struct expected icmp6[] = {
		{ F(ip_protocol), 58 }, { F(l4_type), 0 }, { F(l4_type_ext), 3 },
	};
	static const struct expected arp[] = {
		{ F(ethertype), 0x806 }, { F(svlan_tag), 1 }, { F(cvlan_tag), 0 },
		{ F(first_vid), 0x111 }, { F(ip_version), 0 }, { F(ip_protocol), 0 },
	};

	(void)state;
	offer_all();
	ethernet(own_mac);
	ipv4(17, 0x2000, 8);
	udp(0x1234, 0x5678);
	has(fragment, ARRAY_SIZE(fragment));
	ethernet(own_mac);
	ipv4(1, 0, 8);
	udp(0, 0);
	has(icmp, ARRAY_SIZE(icmp));
	ethernet(own_mac);
	ipv4(1, 0x2000, 8);
	udp(0, 0);
	has(icmp_fragment, ARRAY_SIZE(icmp_fragment));
	ethernet(own_mac);
	ipv6(58, 8);
	udp(0, 0);
	has(icmp6, ARRAY_SIZE(icmp6));
	ethernet(own_mac);
	tag(ETYPE_STAG, 0x111);
	add16(ETYPE_ARP);
	add(own_mac, 6);
	/* cvlan_tag 0 means no tag of either kind, see below, so it does not match here. */
	has(arp, 2);
	assert_false(matches(arp[2].field, 0));
	has(arp + 3, ARRAY_SIZE(arp) - 3);
}

/* Rules look at headers whatever the lengths in them say, if only the frame holds the headers. */
static void lengths_in_headers_are_not_compared(void **state)
{
	static const struct expected of_tcp[] = {
		{ F(ip_version), 6 }, { F(ip_protocol), 6 }, { F(tcp_sport), 0x1234 },
		{ F(tcp_dport), 0x5678 },
	};
	static const struct expected of_udp[] = {
		{ F(ip_version), 4 }, { F(ip_protocol), 17 }, { F(udp_dport), 0x5678 },
	};
	static const struct expected of_no_tcp[] = {
		{ F(ip_version), 4 }, { F(ip_protocol), 6 }, { F(tcp_dport), 0 },
	};

	(void)state;
	ethernet(own_mac);
	ipv6(6, 20 + 40);	/* 40 bytes more than there are */
	tcp(0x1234, 0x5678, 0);
	has(of_tcp, ARRAY_SIZE(of_tcp));
	ethernet(own_mac);
	ipv4(17, 0, 3000);
	udp(0x1234, 0x5678);
	has(of_udp, ARRAY_SIZE(of_udp));
	ethernet(own_mac);
	ipv4(6, 0, 8);		/* the frame does not hold a TCP header */
	udp(0x1234, 0x5678);
	has(of_no_tcp, ARRAY_SIZE(of_no_tcp));
}

/* A rule for frames without a C-tag is a rule for frames without a tag. */
static void untagged_means_no_tag_of_either_kind(void **state)
{
	const struct ifc_field cvlan = F(cvlan_tag), svlan = F(svlan_tag);

	(void)state;
	ethernet(own_mac);
	add16(ETYPE_ARP);
	assert_true(matches(cvlan, 0));
	assert_true(matches(svlan, 0));
	ethernet(own_mac);
	tag(ETYPE_CTAG, 5);
	add16(ETYPE_ARP);
	assert_false(matches(cvlan, 0));
	assert_true(matches(cvlan, 1));
	assert_true(matches(svlan, 0));
	ethernet(own_mac);
	tag(ETYPE_STAG, 5);
	add16(ETYPE_ARP);
	assert_false(matches(cvlan, 0));
	assert_false(matches(cvlan, 1));
	assert_true(matches(svlan, 1));
}

/* ---- ways ------------------------------------------------------------------------------------ */

static void without_a_root_all_frames_miss(void **state)
{
	struct steer_result r;

	(void)state;
	ethernet(own_mac);
	add16(ETYPE_ARP);
	r = steered();
	assert_true(r.verdict == STEER_MISS && !r.tables && !r.table && !r.copies);
}

static void a_frame_follows_rules_and_misses(void **state)
{
	uint8_t dmac[MATCH_BYTES] = {}, any[MATCH_BYTES] = {}, value[MATCH_BYTES] = {};
	uint32_t last = new_table(9, 0), mid = new_table(5, last), first = new_table(1, mid), g;
	struct steer_result r;

	(void)state;
	memset(IFC_ADDR(fte_match_set_lyr_2_4, dmac, dmac_47_16), 0xff, 6);
	memcpy(IFC_ADDR(fte_match_set_lyr_2_4, value, dmac_47_16), own_mac, 6);
	g = new_group(mid, 0, 7, dmac);
	new_rule(mid, g, 3, value, FLOW_TO_TABLE, last);
	g = new_group(last, 0, 0, any);
	set_root(first);
	ethernet(own_mac);
	add16(ETYPE_ARP);
	r = steered();			/* it misses in all of them */
	assert_true(r.verdict == STEER_MISS && r.tables == 3 && r.table == last);
	new_rule(last, g, 0, any, FLOW_TO_TIR, flow_tir[1]);
	r = steered();
	goes_to(&r, flow_tir[1]);
	assert_int_equal(r.tables, 3);
	ethernet(peer_mac);		/* it misses in mid, and goes on */
	add16(ETYPE_ARP);
	r = steered();
	goes_to(&r, flow_tir[1]);
	flowrig_index(last, 0);
	flowrig_ok(MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY);
	r = steered();
	assert_int_equal(r.verdict, STEER_MISS);
	set_root(last);
	r = steered();
	assert_true(r.verdict == STEER_MISS && r.tables == 1);
}

static void drop_and_allow(void **state)
{
	uint8_t any[MATCH_BYTES] = {};
	uint32_t last = new_table(9, 0), first = new_table(1, last), g;
	struct steer_result r;

	(void)state;
	g = new_group(last, 0, 0, any);
	new_rule(last, g, 0, any, FLOW_TO_TIR, flow_tir[1]);
	g = new_group(first, 0, 0, any);
	flowrig_entry(first, g, 0);
	IFC_SET(set_fte_in, nic.in, flow_context.action, FLOW_DROP);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	set_root(first);
	ethernet(own_mac);
	add16(ETYPE_ARP);
	r = steered();
	assert_true(r.verdict == STEER_DROP && r.tables == 1 && !r.copies);
	flowrig_index(first, 0);
	flowrig_ok(MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY);
	flowrig_entry(first, g, 0);
	IFC_SET(set_fte_in, nic.in, flow_context.action, FLOW_ALLOW);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	r = steered();			/* the way ends there, and no TIR was named */
	assert_true(r.verdict == STEER_MISS && r.tables == 1);
}

/* Each counter counts the frames of the rules that name it, with the bytes of the whole frame. */
static void counters_count_the_frames_of_their_rules(void **state)
{
	uint8_t any[MATCH_BYTES] = {}, *c = IFC_ADDR(set_fte_in, nic.in, flow_context);
	uint32_t last = new_table(9, 0), first = new_table(1, last), g;
	struct flow_counter *one, *both;

	(void)state;
	one = (struct flow_counter *)obj_new_at(rig.hca, OBJ_FLOW_COUNTER, 1, 0, sizeof(*one));
	both = (struct flow_counter *)obj_new_at(rig.hca, OBJ_FLOW_COUNTER, 2, 0, sizeof(*both));
	g = new_group(first, 0, 0, any);
	flowrig_entry(first, g, 0);
	flowrig_dest(FLOW_TO_TABLE, last);
	IFC_SET(flow_context, c, action, FLOW_FWD | FLOW_COUNT);
	IFC_SET(flow_context, c, flow_counter_list_size, 2);
	put_be32(c + IFC_SZ(flow_context) + 8, 1);
	put_be32(c + IFC_SZ(flow_context) + 16, 2);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	g = new_group(last, 0, 0, any);
	flowrig_entry(last, g, 0);
	IFC_SET(flow_context, c, action, FLOW_DROP | FLOW_COUNT);
	IFC_SET(flow_context, c, flow_counter_list_size, 1);
	put_be32(c + IFC_SZ(flow_context), 2);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	set_root(first);
	ethernet(own_mac);
	ipv4(17, 0, 8);
	udp(0x1234, 0x5678);
	assert_int_equal(steered().verdict, STEER_DROP);
	assert_true(one->packets == 1 && one->octets == len);
	assert_true(both->packets == 2 && both->octets == 2 * len);
	set_root(last);
	assert_int_equal(steered().verdict, STEER_DROP);
	assert_true(one->packets == 1 && both->packets == 3);
}

/* A rule can send copies to TIRs, and the frame on to a table. */
static void copies_are_delivered(void **state)
{
	uint8_t any[MATCH_BYTES] = {};
	uint32_t last = new_table(9, 0), first = new_table(1, 0), g;
	struct steer_result r;

	(void)state;
	g = new_group(last, 0, 0, any);
	new_rule(last, g, 0, any, FLOW_TO_TIR, flow_tir[1]);
	g = new_group(first, 0, 0, any);
	flowrig_entry(first, g, 0);
	IFC_SET(set_fte_in, nic.in, flow_context.flow_tag, 5);
	flowrig_dest(FLOW_TO_TIR, flow_tir[0]);
	flowrig_dest(FLOW_TO_TABLE, last);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	set_root(first);
	ethernet(own_mac);
	add16(ETYPE_ARP);
	r = steered();
	assert_true(r.verdict == STEER_DELIVER && r.copies == 2);
	assert_true(r.copy[0].tirn == flow_tir[0] && r.copy[0].flow_tag == 5);
	assert_true(r.copy[1].tirn == flow_tir[1] && r.copy[1].flow_tag == FLOW_TAG);
}

/* Of all rules that match, the one with the lowest index is taken, in whatever order they came. */
/* Frames that are sent, and those of RoCE, go on unless a rule drops them. */
static void rules_drop_frames_that_go_on(void **state)
{
	uint8_t *cap = rig.hca->cap[CAP_FLOW_TABLE];
	uint32_t table, g;

	(void)state;
	memcpy(cap + flow_cap_page(FLOW_RDMA_TX) / 8, cap + flow_cap_page(FLOW_NIC_RX) / 8,
	       IFC_SZ(flow_table_prop_layout));
	ethernet(own_mac);
	add16(ETYPE_ARP);
	assert_false(steer_drops(rig.hca, FLOW_RDMA_TX, bytes, len));
	flowrig_table(1, 0);
	IFC_SET(create_flow_table_in, nic.in, table_type, FLOW_RDMA_TX);
	table = flowrig_new(MLX5_CMD_OP_CREATE_FLOW_TABLE);
	flowrig_root(table);
	IFC_SET(set_flow_table_root_in, nic.in, table_type, FLOW_RDMA_TX);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ROOT);
	assert_false(steer_drops(rig.hca, FLOW_RDMA_TX, bytes, len));
	flowrig_group(table, 0, 0);
	IFC_SET(create_flow_group_in, nic.in, table_type, FLOW_RDMA_TX);
	g = flowrig_new(MLX5_CMD_OP_CREATE_FLOW_GROUP);
	flowrig_entry(table, g, 0);
	IFC_SET(set_fte_in, nic.in, table_type, FLOW_RDMA_TX);
	IFC_SET(set_fte_in, nic.in, flow_context.action, FLOW_DROP);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	assert_true(steer_drops(rig.hca, FLOW_RDMA_TX, bytes, len));
	assert_false(steer_drops(rig.hca, FLOW_RDMA_RX, bytes, len));
}

static void the_lowest_index_is_taken(void **state)
{
	uint8_t any[MATCH_BYTES] = {}, type[MATCH_BYTES] = {}, value[MATCH_BYTES] = {};
	uint32_t last = new_table(9, 0), t = new_table(1, 0), wide, narrow, catch;
	struct steer_result r;

	(void)state;
	LYR_SET(type, ethertype, 0xffff);
	LYR_SET(value, ethertype, ETYPE_ARP);
	wide = new_group(t, 100, 107, any);
	narrow = new_group(t, 8, 15, type);
	new_rule(t, wide, 101, any, FLOW_TO_TIR, flow_tir[1]);
	set_root(t);
	ethernet(own_mac);
	add16(ETYPE_ARP);
	r = steered();
	goes_to(&r, flow_tir[1]);
	new_rule(t, narrow, 9, value, FLOW_TO_TIR, flow_tir[0]);
	r = steered();
	goes_to(&r, flow_tir[0]);
	new_rule(t, narrow, 12, value, FLOW_TO_TIR, flow_tir[1]);	/* the same value again */
	r = steered();
	goes_to(&r, flow_tir[0]);
	new_rule(t, narrow, 8, value, FLOW_TO_TIR, flow_tir[1]);
	r = steered();
	goes_to(&r, flow_tir[1]);
	catch = new_group(t, 0, 0, any);	/* a group before the others */
	new_rule(t, catch, 0, any, FLOW_TO_TABLE, last);
	r = steered();
	assert_true(r.verdict == STEER_MISS && r.table == last);
	ethernet(own_mac);
	add16(0x88cc);
	r = steered();
	assert_int_equal(r.table, last);
}

/* The rule for all multicast looks at one bit of the address. */
static void a_part_of_a_field_can_be_compared(void **state)
{
	uint8_t bit[MATCH_BYTES] = {};
	uint32_t t = new_table(1, 0), g;
	struct steer_result r;

	(void)state;
	LYR_SET(bit, dmac_47_16, 0x01000000);
	g = new_group(t, 0, 0, bit);
	new_rule(t, g, 0, bit, FLOW_TO_TIR, flow_tir[0]);
	set_root(t);
	ethernet(group_mac);
	add16(ETYPE_ARP);
	r = steered();
	goes_to(&r, flow_tir[0]);
	ethernet(own_mac);
	add16(ETYPE_ARP);
	r = steered();
	assert_int_equal(r.verdict, STEER_MISS);
}

/* A table of addresses and VLANs has thousands of entries. */
static void thousands_of_entries_are_found(void **state)
{
	uint8_t mask[MATCH_BYTES] = {}, value[MATCH_BYTES] = {};
	uint32_t t, g, i, vid;
	struct steer_result r;

	(void)state;
	flowrig_table(1, 0);
	IFC_SET(create_flow_table_in, nic.in, flow_table_context.log_size, 22);
	t = flowrig_new(MLX5_CMD_OP_CREATE_FLOW_TABLE);
	LYR_SET(mask, cvlan_tag, 1);
	LYR_SET(mask, first_vid, 0xfff);
	LYR_SET(value, cvlan_tag, 1);
	g = new_group(t, 0x100000, 0x100fff, mask);
	for (i = 0; i < 4096; i++) {
		LYR_SET(value, first_vid, i);
		new_rule(t, g, 0x100000 + (i * 77 & 0xfff), value, FLOW_TO_TIR, flow_tir[i & 1]);
	}
	set_root(t);
	for (vid = 0; vid < 4096; vid++) {
		ethernet(own_mac);
		tag(ETYPE_CTAG, 0xe000 | vid);
		add16(ETYPE_ARP);
		r = steered();
		goes_to(&r, flow_tir[vid & 1]);
	}
	for (i = 0; i < 4096; i += 2) {
		flowrig_index(t, 0x100000 + (i * 77 & 0xfff));
		flowrig_ok(MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY);
	}
	for (vid = 0; vid < 4096; vid++) {
		ethernet(own_mac);
		tag(ETYPE_CTAG, vid);
		add16(ETYPE_ARP);
		assert_int_equal(steered().verdict, vid & 1 ? STEER_DELIVER : STEER_MISS);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, flowrig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(fields_of_udp_over_ipv4), T(fields_of_tagged_tcp_over_ipv6),
		T(fields_of_fragment_and_of_other_frames), T(lengths_in_headers_are_not_compared),
		T(untagged_means_no_tag_of_either_kind),
		T(without_a_root_all_frames_miss), T(a_frame_follows_rules_and_misses),
		T(drop_and_allow), T(counters_count_the_frames_of_their_rules),
		T(copies_are_delivered), T(rules_drop_frames_that_go_on),
		T(the_lowest_index_is_taken),
		T(a_part_of_a_field_can_be_compared), T(thousands_of_entries_are_found),
	};

	return cmocka_run_group_tests_name("steer", tests, NULL, NULL);
}
