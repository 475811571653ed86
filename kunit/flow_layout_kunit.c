// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the functions that turn specifications of flow rules into match criteria and
 * values: golden bytes for each field, and what is refused.
 */

#include <kunit/test.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include "layout/layout_flow.h"
#include "lib/golden.h"
#include "lib/mock.h"

#define MAX_SPECS	4
#define FULL		0xff

/* A list of specifications, as uverbs passes it. */
struct list {
	struct ib_flow_attr *attr;
	size_t used;
};

static void add(struct list *list, const void *spec)
{
	const union ib_flow_spec *s = spec;

	memcpy((u8 *)(list->attr + 1) + list->used, spec, s->size);
	list->used += s->size;
	list->attr->num_of_specs++;
}

static struct mlx5_core_dev *make_mdev(struct kunit *test, u8 offered)
{
	struct mlx5_core_dev *mdev = mock_caps(test)->mdev;
	void *cap = mdev->caps.hca[MLX5_CAP_FLOW_TABLE]->cur;

	memset(MLX5_ADDR_OF(flow_table_nic_cap, cap,
			    flow_table_properties_nic_receive.ft_field_support), offered,
	       MLX5_ST_SZ_BYTES(flow_table_fields_supported));
	return mdev;
}

static struct mlx5_ib_flow_rule *make_rule(struct kunit *test)
{
	struct mlx5_ib_flow_rule *rule = kunit_kzalloc(test, sizeof(*rule), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rule);
	return rule;
}

static struct list *make_list(struct kunit *test)
{
	struct list *list = kunit_kzalloc(test, sizeof(*list), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, list);
	list->attr = kunit_kzalloc(test, struct_size(list->attr, flows, MAX_SPECS), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, list->attr);
	return list;
}

#define SPEC(spec_type, spec, ...) {						\
	.spec = { .type = spec_type, .size = sizeof(struct ib_flow_spec_##spec), __VA_ARGS__ } }
#define ACTION(spec_type, member, name, ...) {					\
	.member = {								\
		.type = spec_type, .size = sizeof(struct ib_flow_spec_action_##name), \
		__VA_ARGS__ } }

static const struct spec_case {
	const char *name;
	union ib_flow_spec specs[3];
	u8 enable;
	struct golden criteria[GOLDEN_MAX];
	struct golden value[GOLDEN_MAX];
} spec_cases[] = {
	{ "none" },
	{ "Ethernet", {
		SPEC(IB_FLOW_SPEC_ETH, eth,
		     .val = { { 2, 0x11, 0x22, 0x33, 0x44, 0x55 }, { 2, 0xaa, 0xbb, 0xcc, 1, 2 },
			      cpu_to_be16(0x806), cpu_to_be16(0xb123) },
		     .mask = { { FULL, FULL, FULL, FULL, FULL, FULL }, { FULL, FULL, FULL },
			       cpu_to_be16(0xffff), cpu_to_be16(0xffff) }),
	  }, 1,
	  { { 0x00, 0xffffff00 }, { 0x04, 0x0000ffff }, { 0x08, 0xffffffff }, { 0x0c, 0xffffffff },
	    { 0x10, 0x00008000 } },
	  { { 0x00, 0x02aabb00 }, { 0x04, 0x00000806 }, { 0x08, 0x02112233 }, { 0x0c, 0x4455b123 },
	    { 0x10, 0x00008000 } } },
	{ "IPv4", {
		SPEC(IB_FLOW_SPEC_IPV4, ipv4,
		     .val = { cpu_to_be32(0x0a000001), cpu_to_be32(0x0a000002), 17, 0xba, 64 },
		     .mask = { cpu_to_be32(0xffffff00), cpu_to_be32(0xffffffff), FULL, 0xfc,
			       FULL }),
	  }, 1,
	  { { 0x10, 0xfffc1e00 }, { 0x18, 0x000000ff }, { 0x2c, 0xffffff00 },
	    { 0x3c, 0xffffffff } },
	  { { 0x10, 0x11b80800 }, { 0x18, 0x00000040 }, { 0x2c, 0x0a000000 },
	    { 0x3c, 0x0a000002 } } },
	{ "IPv6 and TCP", {
		SPEC(IB_FLOW_SPEC_IPV6, ipv6,
		     .val = { .src_ip = { 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 },
			      .dst_ip = { 0xfd, 2 }, .flow_label = cpu_to_be32(0x12345),
			      .traffic_class = 0xff, .hop_limit = 9 },
		     .mask = { .src_ip = { FULL, FULL, FULL, FULL, FULL, FULL, FULL, FULL, FULL,
					   FULL, FULL, FULL, FULL, FULL, FULL, FULL },
			       .dst_ip = { FULL, FULL }, .flow_label = cpu_to_be32(0xfffff),
			       .traffic_class = 0x03, .hop_limit = FULL }),
		SPEC(IB_FLOW_SPEC_TCP, tcp_udp, .val = { .dst_port = cpu_to_be16(0x1234) },
		     .mask = { .dst_port = cpu_to_be16(0xffff) }),
	  }, 3,
	  { { 0x10, 0xff031e00 }, { 0x14, 0x0000ffff }, { 0x18, 0x000000ff },
	    { 0x20, 0xffffffff }, { 0x24, 0xffffffff }, { 0x28, 0xffffffff },
	    { 0x2c, 0xffffffff }, { 0x30, 0xffff0000 }, { 0x5c, 0x000fffff } },
	  { { 0x10, 0x06030c00 }, { 0x14, 0x00001234 }, { 0x18, 0x00000009 },
	    { 0x20, 0xfd000000 }, { 0x2c, 0x00000001 }, { 0x30, 0xfd020000 },
	    { 0x5c, 0x00012345 } } },
	{ "UDP", {
		SPEC(IB_FLOW_SPEC_UDP, tcp_udp, .val = { .src_port = cpu_to_be16(0x1234) },
		     .mask = { .src_port = cpu_to_be16(0xfff0) }),
	  }, 1,
	  { { 0x10, 0xff000000 }, { 0x1c, 0xfff00000 } },
	  { { 0x10, 0x11000000 }, { 0x1c, 0x12300000 } } },
	{ "a tunnel", {
		SPEC(IB_FLOW_SPEC_VXLAN_TUNNEL, tunnel, .val = { cpu_to_be32(0xabcdef) },
		     .mask = { cpu_to_be32(0xffffff) }),
		SPEC(IB_FLOW_SPEC_INNER | IB_FLOW_SPEC_ETH, eth, .val = { { 0x33, 1 } },
		     .mask = { { FULL } }),
		SPEC(IB_FLOW_SPEC_INNER | IB_FLOW_SPEC_IPV6, ipv6,
		     .val = { .flow_label = cpu_to_be32(1), .next_hdr = 58 },
		     .mask = { .flow_label = cpu_to_be32(0xfffff), .next_hdr = FULL }),
	  }, 6,
	  { { 0x54, 0xffffff00 }, { 0x60, 0x000fffff }, { 0x88, 0xff000000 },
	    { 0x90, 0xff001e00 } },
	  { { 0x54, 0xabcdef00 }, { 0x60, 0x00000001 }, { 0x88, 0x33000000 },
	    { 0x90, 0x3a000c00 } } },
	{ "GRE", {
		SPEC(IB_FLOW_SPEC_GRE, gre,
		     .val = { cpu_to_be16(0x2000), cpu_to_be16(0x800), cpu_to_be32(0x11223344) },
		     .mask = { cpu_to_be16(0xb000), cpu_to_be16(0xffff),
			       cpu_to_be32(0xffffffff) }),
	  }, 3,
	  { { 0x10, 0xff000000 }, { 0x40, 0xb0000000 }, { 0x4c, 0x0000ffff },
	    { 0x50, 0xffffffff } },
	  { { 0x10, 0x2f000000 }, { 0x40, 0x20000000 }, { 0x4c, 0x00000800 },
	    { 0x50, 0x11223344 } } },
	{ "MPLS over GRE", {
		SPEC(IB_FLOW_SPEC_GRE, gre, .mask = {}),
		SPEC(IB_FLOW_SPEC_MPLS, mpls, .val = { cpu_to_be32(0x12345678) },
		     .mask = { cpu_to_be32(0xfffff000) }),
	  }, 9,
	  { { 0x10, 0xff000000 }, { 0xc8, 0xfffff000 } },
	  { { 0x10, 0x2f000000 }, { 0xc8, 0x12345000 } } },
	{ "MPLS over UDP", {
		SPEC(IB_FLOW_SPEC_UDP, tcp_udp, .mask = {}),
		SPEC(IB_FLOW_SPEC_MPLS, mpls, .val = { cpu_to_be32(0x12345678) },
		     .mask = { cpu_to_be32(0xfffff000) }),
	  }, 9,
	  { { 0x10, 0xff000000 }, { 0xcc, 0xfffff000 } },
	  { { 0x10, 0x11000000 }, { 0xcc, 0x12345000 } } },
	{ "MPLS", {
		SPEC(IB_FLOW_SPEC_MPLS, mpls, .val = { cpu_to_be32(1) },
		     .mask = { cpu_to_be32(0xff) }),
		SPEC(IB_FLOW_SPEC_INNER | IB_FLOW_SPEC_MPLS, mpls, .val = { cpu_to_be32(2) },
		     .mask = { cpu_to_be32(0xff) }),
	  }, 8,
	  { { 0xc0, 0x000000ff }, { 0xc4, 0x000000ff } },
	  { { 0xc0, 0x00000001 }, { 0xc4, 0x00000002 } } },
	{ "ESP", {
		SPEC(IB_FLOW_SPEC_ESP, esp, .val = { .spi = cpu_to_be32(0x55667788) },
		     .mask = { .spi = cpu_to_be32(0xffffffff) }),
	  }, 3,
	  { { 0x10, 0xff000000 }, { 0x70, 0xffffffff } },
	  { { 0x10, 0x32000000 }, { 0x70, 0x55667788 } } },
};

KUNIT_ARRAY_PARAM_DESC(spec, spec_cases, name);

static struct list *list_of(struct kunit *test, const union ib_flow_spec *specs, unsigned int num)
{
	struct list *list = make_list(test);
	unsigned int i;

	for (i = 0; i < num && specs[i].size; i++)
		add(list, &specs[i]);
	return list;
}

static void specs_become_criteria(struct kunit *test)
{
	const struct spec_case *c = test->param_value;
	struct list *list = list_of(test, c->specs, ARRAY_SIZE(c->specs));
	struct mlx5_ib_flow_rule *rule = make_rule(test);

	KUNIT_ASSERT_EQ(test, 0,
			mlx5_ib_flow_read_specs(list->attr, make_mdev(test, FULL), rule));
	KUNIT_EXPECT_EQ(test, rule->spec.match_criteria_enable, c->enable);
	expect_golden(test, rule->spec.match_criteria, sizeof(rule->spec.match_criteria),
		      c->criteria);
	expect_golden(test, rule->spec.match_value, sizeof(rule->spec.match_value), c->value);
	KUNIT_EXPECT_EQ(test, rule->spec.flow_context.flags, 0);
	KUNIT_EXPECT_FALSE(test, rule->drop);
	KUNIT_EXPECT_NULL(test, rule->counters);
}

/* What the device does not offer is refused, and not left out of the criteria. */
static void fields_need_their_capability(struct kunit *test)
{
	const struct spec_case *c = test->param_value;
	struct list *list = list_of(test, c->specs, ARRAY_SIZE(c->specs));
	int want = c->specs[0].size ? -EOPNOTSUPP : 0;

	KUNIT_EXPECT_EQ(test, want, mlx5_ib_flow_read_specs(list->attr, make_mdev(test, 0),
							    make_rule(test)));
}

/* Each bit of an MPLS label has a capability of its own: the device has to offer all of them. */
static void each_field_has_a_capability_of_its_own(struct kunit *test)
{
	static const struct {
		union ib_flow_spec spec;
		u16 cap;	/* bit of the capabilities without which the rule is refused */
	} cases[] = {
#define CAP(fld) __mlx5_bit_off(flow_table_fields_supported, fld)
		{ SPEC(IB_FLOW_SPEC_ETH, eth, .mask = { .dst_mac = { 1 } }), CAP(outer_dmac) },
		{ SPEC(IB_FLOW_SPEC_ETH, eth, .mask = { .src_mac = { 1 } }), CAP(outer_smac) },
		{ SPEC(IB_FLOW_SPEC_ETH, eth, .mask = { .ether_type = cpu_to_be16(1) }),
		  CAP(outer_ether_type) },
		{ SPEC(IB_FLOW_SPEC_ETH, eth, .mask = { .vlan_tag = cpu_to_be16(0x2000) }),
		  CAP(outer_first_prio) },
		{ SPEC(IB_FLOW_SPEC_ETH, eth, .mask = { .vlan_tag = cpu_to_be16(0x1000) }),
		  CAP(outer_first_cfi) },
		{ SPEC(IB_FLOW_SPEC_ETH, eth, .mask = { .vlan_tag = cpu_to_be16(1) }),
		  CAP(outer_first_vid) },
		{ SPEC(IB_FLOW_SPEC_IPV4, ipv4, .mask = { .src_ip = cpu_to_be32(1) }),
		  CAP(outer_sip) },
		{ SPEC(IB_FLOW_SPEC_IPV4, ipv4, .mask = { .dst_ip = cpu_to_be32(1) }),
		  CAP(outer_dip) },
		{ SPEC(IB_FLOW_SPEC_IPV4, ipv4, .mask = { .proto = 1 }), CAP(outer_ip_protocol) },
		{ SPEC(IB_FLOW_SPEC_IPV4, ipv4, .mask = { .tos = 4 }), CAP(outer_ip_dscp) },
		{ SPEC(IB_FLOW_SPEC_IPV4, ipv4, .mask = { .tos = 1 }), CAP(outer_ip_ecn) },
		{ SPEC(IB_FLOW_SPEC_IPV6, ipv6, .mask = { .hop_limit = 1 }), CAP(outer_ipv4_ttl) },
		{ SPEC(IB_FLOW_SPEC_TCP, tcp_udp, .mask = { .dst_port = cpu_to_be16(1) }),
		  CAP(outer_tcp_dport) },
		{ SPEC(IB_FLOW_SPEC_TCP, tcp_udp, .mask = { .src_port = cpu_to_be16(1) }),
		  CAP(outer_tcp_sport) },
		{ SPEC(IB_FLOW_SPEC_UDP, tcp_udp, .mask = { .dst_port = cpu_to_be16(1) }),
		  CAP(outer_udp_dport) },
		{ SPEC(IB_FLOW_SPEC_UDP, tcp_udp, .mask = { .src_port = cpu_to_be16(1) }),
		  CAP(outer_udp_sport) },
		{ SPEC(IB_FLOW_SPEC_UDP, tcp_udp, .mask = {}), CAP(outer_ip_protocol) },
		{ SPEC(IB_FLOW_SPEC_VXLAN_TUNNEL, tunnel, .mask = { cpu_to_be32(1) }),
		  CAP(outer_vxlan_vni) },
		{ SPEC(IB_FLOW_SPEC_GRE, gre, .mask = { .key = cpu_to_be32(1) }),
		  CAP(outer_gre_key) },
		{ SPEC(IB_FLOW_SPEC_GRE, gre, .mask = { .protocol = cpu_to_be16(1) }),
		  CAP(outer_gre_protocol) },
		{ SPEC(IB_FLOW_SPEC_ESP, esp, .mask = { .spi = cpu_to_be32(1) }),
		  CAP(outer_esp_spi) },
		{ SPEC(IB_FLOW_SPEC_MPLS, mpls, .mask = { cpu_to_be32(1) }),
		  CAP(outer_first_mpls) + 3 },
		{ SPEC(IB_FLOW_SPEC_INNER | IB_FLOW_SPEC_ETH, eth, .mask = { .dst_mac = { 1 } }),
		  CAP(inner_dmac) },
		{ SPEC(IB_FLOW_SPEC_INNER | IB_FLOW_SPEC_TCP, tcp_udp,
		       .mask = { .src_port = cpu_to_be16(1) }), CAP(inner_tcp_sport) },
	};
	struct mlx5_core_dev *mdev = make_mdev(test, FULL);
	__be32 *offered = MLX5_ADDR_OF(flow_table_nic_cap,
				       mdev->caps.hca[MLX5_CAP_FLOW_TABLE]->cur,
				       flow_table_properties_nic_receive.ft_field_support);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct list *list = list_of(test, &cases[i].spec, 1);
		__be32 bit = cpu_to_be32(BIT(31 - cases[i].cap % 32));

		KUNIT_EXPECT_EQ_MSG(test, 0, mlx5_ib_flow_read_specs(list->attr, mdev,
								     make_rule(test)),
				    "case %u", i);
		offered[cases[i].cap / 32] &= ~bit;
		KUNIT_EXPECT_EQ_MSG(test, -EOPNOTSUPP,
				    mlx5_ib_flow_read_specs(list->attr, mdev, make_rule(test)),
				    "case %u", i);
		offered[cases[i].cap / 32] |= bit;
	}
}

/* A device that does not compare the version of IP compares the EtherType. */
static void ip_is_told_by_ethertype(struct kunit *test)
{
	static const union ib_flow_spec v4 = SPEC(IB_FLOW_SPEC_IPV4, ipv4, .mask = {});
	static const struct golden criteria[GOLDEN_MAX] = { { 0x04, 0xffff } };
	static const struct golden value[GOLDEN_MAX] = { { 0x04, 0x0800 } };
	struct mlx5_core_dev *mdev = make_mdev(test, FULL);
	struct mlx5_ib_flow_rule *rule = make_rule(test);
	struct list *list = list_of(test, &v4, 1);

	MLX5_SET(flow_table_nic_cap, mdev->caps.hca[MLX5_CAP_FLOW_TABLE]->cur,
		 flow_table_properties_nic_receive.ft_field_support.outer_ip_version, 0);
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_flow_read_specs(list->attr, mdev, rule));
	expect_golden(test, rule->spec.match_criteria, sizeof(rule->spec.match_criteria),
		      criteria);
	expect_golden(test, rule->spec.match_value, sizeof(rule->spec.match_value), value);
}

static const struct refused_case {
	const char *name;
	union ib_flow_spec specs[3];
	int err;
} refused_cases[] = {
	{ "flags of IPv4", { SPEC(IB_FLOW_SPEC_IPV4, ipv4, .mask = { .flags = 2 }) },
	  -EOPNOTSUPP },
	{ "sequence number of ESP",
	  { SPEC(IB_FLOW_SPEC_ESP, esp, .mask = { .seq = cpu_to_be32(1) }) }, -EOPNOTSUPP },
	{ "version of GRE",
	  { SPEC(IB_FLOW_SPEC_GRE, gre, .mask = { .c_ks_res0_ver = cpu_to_be16(1) }) },
	  -EOPNOTSUPP },
	{ "an InfiniBand header", { SPEC(IB_FLOW_SPEC_IB, ib, .mask = {}) }, -EOPNOTSUPP },
	{ "an action object", { ACTION(IB_FLOW_SPEC_ACTION_HANDLE, action, handle) }, -EOPNOTSUPP },
	{ "two versions of IP",
	  { SPEC(IB_FLOW_SPEC_IPV4, ipv4, .mask = {}), SPEC(IB_FLOW_SPEC_IPV6, ipv6, .mask = {}) },
	  -EINVAL },
	{ "two protocols",
	  { SPEC(IB_FLOW_SPEC_IPV4, ipv4, .val = { .proto = 6 }, .mask = { .proto = FULL }),
	    SPEC(IB_FLOW_SPEC_UDP, tcp_udp, .mask = {}) }, -EINVAL },
	{ "a tag of 25 bits", { ACTION(IB_FLOW_SPEC_ACTION_TAG, flow_tag, tag, .tag_id = BIT(24)) },
	  -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(refused, refused_cases, name);

static void specs_are_refused(struct kunit *test)
{
	const struct refused_case *c = test->param_value;
	struct list *list = list_of(test, c->specs, ARRAY_SIZE(c->specs));

	KUNIT_EXPECT_EQ(test, c->err,
			mlx5_ib_flow_read_specs(list->attr, make_mdev(test, FULL),
						make_rule(test)));
}

static void actions_are_read(struct kunit *test)
{
	struct ib_counters counters = {};
	const union ib_flow_spec specs[] = {
		ACTION(IB_FLOW_SPEC_ACTION_TAG, flow_tag, tag, .tag_id = 0xabcdef),
		ACTION(IB_FLOW_SPEC_ACTION_DROP, drop, drop),
		ACTION(IB_FLOW_SPEC_ACTION_COUNT, flow_count, count, .counters = &counters),
		ACTION(IB_FLOW_SPEC_ACTION_COUNT, flow_count, count, .counters = &counters),
	};
	struct list *list = list_of(test, specs, 3);
	struct mlx5_ib_flow_rule *rule = make_rule(test);

	KUNIT_ASSERT_EQ(test, 0,
			mlx5_ib_flow_read_specs(list->attr, make_mdev(test, 0), rule));
	KUNIT_EXPECT_EQ(test, rule->spec.flow_context.flags, (u32)FLOW_CONTEXT_HAS_TAG);
	KUNIT_EXPECT_EQ(test, rule->spec.flow_context.flow_tag, 0xabcdef);
	KUNIT_EXPECT_TRUE(test, rule->drop);
	KUNIT_EXPECT_PTR_EQ(test, rule->counters, &counters);
	list = list_of(test, specs, 4);
	KUNIT_EXPECT_EQ(test, -EINVAL, mlx5_ib_flow_read_specs(list->attr, make_mdev(test, 0),
							       make_rule(test)));
}

static void default_rules_tell_unicast_from_multicast(struct kunit *test)
{
	static const struct golden bit[GOLDEN_MAX] = { { 0x08, 0x01000000 } };
	static const struct golden none[GOLDEN_MAX] = {};
	struct mlx5_flow_spec *spec = &make_rule(test)->spec;

	mlx5_ib_flow_fill_default(spec, MLX5_IB_FLOW_MULTICAST);
	KUNIT_EXPECT_EQ(test, spec->match_criteria_enable, 1);
	expect_golden(test, spec->match_criteria, sizeof(spec->match_criteria), bit);
	expect_golden(test, spec->match_value, sizeof(spec->match_value), bit);
	mlx5_ib_flow_fill_default(spec, MLX5_IB_FLOW_UNICAST);
	expect_golden(test, spec->match_criteria, sizeof(spec->match_criteria), bit);
	expect_golden(test, spec->match_value, sizeof(spec->match_value), none);
}

#define MATCH_BYTES	MLX5_ST_SZ_BYTES(fte_match_param)

/* What a process has built is taken as it is, up to the length of the device's criteria. */
static void masks_and_values_of_processes(struct kunit *test)
{
	u8 *match = kunit_kzalloc(test, MATCH_BYTES + 4, GFP_KERNEL);
	struct mlx5_flow_spec *spec = &make_rule(test)->spec;

	KUNIT_ASSERT_NOT_NULL(test, match);
	match[0] = 0xf0;	/* of the outer headers */
	match[64] = 0x80;	/* of the other fields */
	KUNIT_EXPECT_EQ(test, -EINVAL, mlx5_ib_flow_fill_mask(spec, 1, match, MATCH_BYTES));
	KUNIT_EXPECT_EQ(test, -EINVAL, mlx5_ib_flow_fill_mask(spec, 0x83, match, MATCH_BYTES));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_flow_fill_mask(spec, 7, match, MATCH_BYTES + 4));
	KUNIT_EXPECT_EQ(test, spec->match_criteria_enable, 7);
	KUNIT_EXPECT_MEMEQ(test, spec->match_criteria, match, MATCH_BYTES);
	match[0] = 0x30;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_flow_fill_value(spec, match, 1));
	KUNIT_EXPECT_EQ(test, *(u8 *)spec->match_value, 0x30);
	match[0] = 0x38;
	KUNIT_EXPECT_EQ(test, -EINVAL, mlx5_ib_flow_fill_value(spec, match, 1));
	match[0] = 0;
	match[MATCH_BYTES] = 1;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, mlx5_ib_flow_fill_value(spec, match, MATCH_BYTES + 4));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			mlx5_ib_flow_fill_mask(spec, 0, match, MATCH_BYTES + 4));
}

static void priorities_have_two_tables(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mlx5_ib_flow_prio(0, true), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_flow_prio(0, false), 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_flow_prio(MLX5_IB_FLOW_PRIORITIES - 1, true), 30);
	KUNIT_EXPECT_EQ(test, mlx5_ib_flow_prio(MLX5_IB_FLOW_PRIORITIES - 1, false), 31);
	KUNIT_EXPECT_LT(test, 31, MLX5_BY_PASS_NUM_PRIOS);
}

static struct kunit_case flow_layout_cases[] = {
	KUNIT_CASE_PARAM(specs_become_criteria, spec_gen_params),
	KUNIT_CASE_PARAM(fields_need_their_capability, spec_gen_params),
	KUNIT_CASE(each_field_has_a_capability_of_its_own),
	KUNIT_CASE(ip_is_told_by_ethertype),
	KUNIT_CASE_PARAM(specs_are_refused, refused_gen_params),
	KUNIT_CASE(actions_are_read),
	KUNIT_CASE(default_rules_tell_unicast_from_multicast),
	KUNIT_CASE(masks_and_values_of_processes),
	KUNIT_CASE(priorities_have_two_tables),
	{}
};

static struct kunit_suite flow_layout_suite = {
	.name = "bluebell_flow_layout",
	.test_cases = flow_layout_cases,
};

kunit_test_suite(flow_layout_suite);
