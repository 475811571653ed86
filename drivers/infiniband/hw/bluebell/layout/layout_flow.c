// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow rules: from the specifications of verbs to the match criteria and values of the device. Pure
 * functions only.
 */

/**
 * DOC: Specifications of flow rules
 *
 * The device compares a packet with struct mlx5_ifc_fte_match_param_bits, which has a part for the
 * outer headers, one for the headers inside a tunnel, and parts for tunnels and for rarer fields.
 * The criteria of a rule say which bits are compared, the value says what the bits have to be. Most
 * parts of a header are there in network order and in whole bytes, as they are in a specification
 * of verbs, so that a table says which bytes go where.
 *
 * Each field has a capability. A field of a specification that the table does not have, or that the
 * device does not offer, is refused: a rule that ignored the field would take packets that the
 * process did not ask for.
 */

#include <linux/array_size.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>

#include "layout/layout_flow.h"
#include "layout/refuse.h"

/* Tags have 24 bits in a completion. */
#define MAX_TAG		GENMASK(23, 0)

/* struct mlx5_ifc_fte_match_param_bits consists of parts of equal length. */
#define PART_BYTES	MLX5_ST_SZ_BYTES(fte_match_set_lyr_2_4)
#define MATCH_BYTES	MLX5_ST_SZ_BYTES(fte_match_param)

/* Byte of the criteria and of the value at which a field begins. */
#define TO(fld)		(__mlx5_bit_off(fte_match_param, fld) / 8)
#define OUTER(fld)	TO(outer_headers.fld)
#define INNER_OFFSET	(TO(inner_headers) - TO(outer_headers))
/* The dword with the flow label of IPv6; that of the label inside a tunnel follows it. */
#define MISC_LABEL	(TO(misc_parameters.outer_ipv6_flow_label) & ~3)
#define MISC_LABEL_INNER_OFFSET	sizeof(u32)

/* Bit of the capabilities that offers a field; that of the field inside a tunnel is 32 further. */
#define CAP(fld)	__mlx5_bit_off(flow_table_fields_supported, fld)
#define CAP_INNER_OFFSET	32
#define CAP_NONE	U16_MAX

static_assert(TO(misc_parameters) == PART_BYTES);
static_assert(TO(inner_headers) == 2 * PART_BYTES);
static_assert(TO(misc_parameters_2) == 3 * PART_BYTES);
static_assert(CAP(inner_dmac) == CAP(outer_dmac) + CAP_INNER_OFFSET);
static_assert(CAP(inner_tcp_flags) == CAP(outer_tcp_flags) + CAP_INNER_OFFSET);
static_assert((TO(misc_parameters.inner_ipv6_flow_label) & ~3) ==
	      MISC_LABEL + MISC_LABEL_INNER_OFFSET);

/**
 * struct flow_field - a field of a filter of verbs
 * @name: name of the field, for debug lines
 * @from: byte of the filter at which the field begins
 * @len: bytes of the field
 * @bits: which bits of its first two bytes belong to the field; 0 for all bits of all bytes
 * @to: byte of the criteria and of the value at which the field begins
 * @cap: bit of the capabilities that offers the field, CAP_NONE if there is none
 * @num_caps: that many bits from @cap on offer the field; 0 for one
 */
struct flow_field {
	const char *name;
	u8 from;
	u8 len;
	u16 bits;
	u16 to;
	u16 cap;
	u8 num_caps;
};

/* Name and place of a field, by its struct and member. */
#define MEMBER(...)								\
	.name = #__VA_ARGS__, .from = offsetof(struct __VA_ARGS__),		\
	.len = sizeof_field(struct __VA_ARGS__)

static const struct flow_field eth_fields[] = {
	{ MEMBER(ib_flow_eth_filter, dst_mac), .to = OUTER(dmac_47_16), .cap = CAP(outer_dmac) },
	{ MEMBER(ib_flow_eth_filter, src_mac), .to = OUTER(smac_47_16), .cap = CAP(outer_smac) },
	{ MEMBER(ib_flow_eth_filter, ether_type), .to = OUTER(ethertype),
	  .cap = CAP(outer_ether_type) },
	{ MEMBER(ib_flow_eth_filter, vlan_tag), .bits = 0xe000, .to = OUTER(first_prio),
	  .cap = CAP(outer_first_prio) },
	{ MEMBER(ib_flow_eth_filter, vlan_tag), .bits = 0x1000, .to = OUTER(first_prio),
	  .cap = CAP(outer_first_cfi) },
	{ MEMBER(ib_flow_eth_filter, vlan_tag), .bits = 0x0fff, .to = OUTER(first_prio),
	  .cap = CAP(outer_first_vid) },
};

static const struct flow_field ipv4_fields[] = {
	{ MEMBER(ib_flow_ipv4_filter, src_ip),
	  .to = OUTER(src_ipv4_src_ipv6.ipv4_layout.ipv4), .cap = CAP(outer_sip) },
	{ MEMBER(ib_flow_ipv4_filter, dst_ip),
	  .to = OUTER(dst_ipv4_dst_ipv6.ipv4_layout.ipv4), .cap = CAP(outer_dip) },
	{ MEMBER(ib_flow_ipv4_filter, proto), .to = OUTER(ip_protocol),
	  .cap = CAP(outer_ip_protocol) },
	{ MEMBER(ib_flow_ipv4_filter, tos), .bits = 0xfc00, .to = OUTER(ip_dscp),
	  .cap = CAP(outer_ip_dscp) },
	{ MEMBER(ib_flow_ipv4_filter, tos), .bits = 0x0300, .to = OUTER(ip_dscp),
	  .cap = CAP(outer_ip_ecn) },
	{ MEMBER(ib_flow_ipv4_filter, ttl), .to = OUTER(ttl_hoplimit), .cap = CAP(outer_ipv4_ttl) },
};

static const struct flow_field ipv6_fields[] = {
	{ MEMBER(ib_flow_ipv6_filter, src_ip), .to = OUTER(src_ipv4_src_ipv6),
	  .cap = CAP(outer_sip) },
	{ MEMBER(ib_flow_ipv6_filter, dst_ip), .to = OUTER(dst_ipv4_dst_ipv6),
	  .cap = CAP(outer_dip) },
	{ MEMBER(ib_flow_ipv6_filter, flow_label),
	  .to = MISC_LABEL, .cap = CAP_NONE },
	{ MEMBER(ib_flow_ipv6_filter, next_hdr), .to = OUTER(ip_protocol),
	  .cap = CAP(outer_ip_protocol) },
	{ MEMBER(ib_flow_ipv6_filter, traffic_class), .bits = 0xfc00, .to = OUTER(ip_dscp),
	  .cap = CAP(outer_ip_dscp) },
	{ MEMBER(ib_flow_ipv6_filter, traffic_class), .bits = 0x0300, .to = OUTER(ip_dscp),
	  .cap = CAP(outer_ip_ecn) },
	{ MEMBER(ib_flow_ipv6_filter, hop_limit), .to = OUTER(ttl_hoplimit),
	  .cap = CAP(outer_ipv4_ttl) },
};

static const struct flow_field tcp_fields[] = {
	{ MEMBER(ib_flow_tcp_udp_filter, dst_port), .to = OUTER(tcp_dport),
	  .cap = CAP(outer_tcp_dport) },
	{ MEMBER(ib_flow_tcp_udp_filter, src_port), .to = OUTER(tcp_sport),
	  .cap = CAP(outer_tcp_sport) },
};

static const struct flow_field udp_fields[] = {
	{ MEMBER(ib_flow_tcp_udp_filter, dst_port), .to = OUTER(udp_dport),
	  .cap = CAP(outer_udp_dport) },
	{ MEMBER(ib_flow_tcp_udp_filter, src_port), .to = OUTER(udp_sport),
	  .cap = CAP(outer_udp_sport) },
};

/* The VNI has 24 bits; ib_core has checked that the first byte is 0. */
static const struct flow_field vxlan_fields[] = {
	{ .name = "tunnel_id", .from = 1, .len = 3, .to = TO(misc_parameters.vxlan_vni),
	  .cap = CAP(outer_vxlan_vni) },
};

/* The bits that say whether there are a checksum, a key and a sequence number. */
static const struct flow_field gre_fields[] = {
	{ MEMBER(ib_flow_gre_filter, c_ks_res0_ver), .bits = 0xb000,
	  .to = TO(misc_parameters.gre_c_present), .cap = CAP(outer_gre_protocol) },
	{ MEMBER(ib_flow_gre_filter, protocol), .to = TO(misc_parameters.gre_protocol),
	  .cap = CAP(outer_gre_protocol) },
	{ MEMBER(ib_flow_gre_filter, key), .to = TO(misc_parameters.gre_key),
	  .cap = CAP(outer_gre_key) },
};

static const struct flow_field esp_fields[] = {
	{ MEMBER(ib_flow_esp_filter, spi), .to = TO(misc_parameters.outer_esp_spi),
	  .cap = CAP(outer_esp_spi) },
};

#define MPLS(...) {								\
	.name = #__VA_ARGS__, .len = sizeof_field(struct ib_flow_mpls_filter, tag), \
	.to = TO(misc_parameters_2.__VA_ARGS__), .cap = CAP(__VA_ARGS__), .num_caps = 4 }

static const struct flow_field mpls_fields[] = { MPLS(outer_first_mpls) };
static const struct flow_field mpls_inner_fields[] = { MPLS(inner_first_mpls) };
static const struct flow_field mpls_over_udp_fields[] = { MPLS(outer_first_mpls_over_udp) };
static const struct flow_field mpls_over_gre_fields[] = { MPLS(outer_first_mpls_over_gre) };

/**
 * struct flow_header - a kind of specification that names fields of a header
 * @name: name of the header, for debug lines
 * @type: enum ib_flow_spec_type, without IB_FLOW_SPEC_INNER
 * @val: byte of the specification at which the values begin
 * @mask: byte of the specification at which the masks begin
 * @len: bytes of the values, and of the masks
 * @fields: the fields
 * @num: number of fields
 * @ip_version: the packets are IP packets of this version; 0 if the header does not tell
 * @protocol: the packets have this protocol in the IP header; 0 if the header does not tell
 */
struct flow_header {
	const char *name;
	u32 type;
	u8 val;
	u8 mask;
	u8 len;
	const struct flow_field *fields;
	u8 num;
	u8 ip_version;
	u8 protocol;
};

#define LIST(...)	.fields = __VA_ARGS__, .num = ARRAY_SIZE(__VA_ARGS__)
#define HEADER(header, spec_type, spec, ...) {				\
	.name = header, .type = spec_type,					\
	.val = offsetof(struct ib_flow_spec_##spec, val),			\
	.mask = offsetof(struct ib_flow_spec_##spec, mask),			\
	.len = sizeof_field(struct ib_flow_spec_##spec, val),			\
	__VA_ARGS__ }

static const struct flow_header headers[] = {
	HEADER("Ethernet", IB_FLOW_SPEC_ETH, eth, LIST(eth_fields)),
	HEADER("IPv4", IB_FLOW_SPEC_IPV4, ipv4, LIST(ipv4_fields), .ip_version = 4),
	HEADER("IPv6", IB_FLOW_SPEC_IPV6, ipv6, LIST(ipv6_fields), .ip_version = 6),
	HEADER("TCP", IB_FLOW_SPEC_TCP, tcp_udp, LIST(tcp_fields), .protocol = IPPROTO_TCP),
	HEADER("UDP", IB_FLOW_SPEC_UDP, tcp_udp, LIST(udp_fields), .protocol = IPPROTO_UDP),
	HEADER("VXLAN", IB_FLOW_SPEC_VXLAN_TUNNEL, tunnel, LIST(vxlan_fields)),
	HEADER("GRE", IB_FLOW_SPEC_GRE, gre, LIST(gre_fields), .protocol = IPPROTO_GRE),
	HEADER("ESP", IB_FLOW_SPEC_ESP, esp, LIST(esp_fields), .protocol = IPPROTO_ESP),
	HEADER("MPLS", IB_FLOW_SPEC_MPLS, mpls, LIST(mpls_fields)),
};

/* Where an MPLS label is depends on what is before it. */
static const struct flow_header mpls_inner =
	HEADER("MPLS", IB_FLOW_SPEC_MPLS, mpls, LIST(mpls_inner_fields));
static const struct flow_header mpls_over_udp =
	HEADER("MPLS over UDP", IB_FLOW_SPEC_MPLS, mpls, LIST(mpls_over_udp_fields));
static const struct flow_header mpls_over_gre =
	HEADER("MPLS over GRE", IB_FLOW_SPEC_MPLS, mpls, LIST(mpls_over_gre_fields));

/* A list of specifications that is being read. */
struct flow_reader {
	struct mlx5_core_dev *mdev;
	struct mlx5_ib_flow_rule *rule;
	u32 before;	/* type of the specification before */
	bool inner;	/* the specification is of a header inside a tunnel */
};

static bool flow_has_cap(struct mlx5_core_dev *mdev, u16 cap)
{
	const __be32 *offered = MLX5_ADDR_OF(flow_table_nic_cap,
					     mdev->caps.hca[MLX5_CAP_FLOW_TABLE]->cur,
					     flow_table_properties_nic_receive.ft_field_support);

	return cap == CAP_NONE || be32_to_cpu(offered[cap / 32]) & BIT(31 - cap % 32);
}

/* The capability of a field. Only the fields of the outer headers have a second one. */
static u16 flow_cap(const struct flow_reader *r, const struct flow_field *f)
{
	return r->inner && f->cap < CAP_INNER_OFFSET ? f->cap + CAP_INNER_OFFSET : f->cap;
}

static bool flow_offers(const struct flow_reader *r, const struct flow_field *f)
{
	unsigned int i, num = f->num_caps ?: 1;

	for (i = 0; i < num; i++)
		if (!flow_has_cap(r->mdev, f->cap == CAP_NONE ? CAP_NONE : flow_cap(r, f) + i))
			return false;
	return true;
}

/* Byte of the criteria for a field of the outer headers, or for the same field inside a tunnel. */
static u16 flow_to(const struct flow_reader *r, const struct flow_field *f)
{
	if (!r->inner)
		return f->to;
	if (f->to < PART_BYTES)
		return f->to + INNER_OFFSET;
	return f->to == MISC_LABEL ? f->to + MISC_LABEL_INNER_OFFSET :
							     f->to;
}

/*
 * Add bytes to the criteria and the value. Two specifications may name the same field, but not with
 * different values, because no packet could match.
 */
static int flow_put(const struct flow_reader *r, u16 to, const u8 *val, const u8 *mask, u8 len)
{
	u8 *criteria = (u8 *)r->rule->spec.match_criteria + to;
	u8 *value = (u8 *)r->rule->spec.match_value + to;
	unsigned int i;

	for (i = 0; i < len; i++) {
		if ((val[i] ^ value[i]) & mask[i] & criteria[i])
			return refuse(r->mdev, -EINVAL,
				      "flow rule that no packet matches: specifications contradict each other");
		criteria[i] |= mask[i];
		value[i] |= val[i] & mask[i];
	}
	return 0;
}

/* Copy the bits of the mask that belong to a field, and clear them in @rest. */
static bool flow_take_mask(const struct flow_field *f, u8 *rest, u8 *mask)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < f->len; i++) {
		u8 bits = f->bits ? (f->bits >> (i ? 0 : 8)) & 0xff : 0xff;

		mask[i] = rest[f->from + i] & bits;
		rest[f->from + i] &= ~bits;
		any |= mask[i];
	}
	return any;
}

static int flow_read_fields(struct flow_reader *r, const struct flow_header *h, const u8 *spec)
{
	u8 rest[sizeof(struct ib_flow_ipv6_filter)], mask[sizeof(struct in6_addr)];
	const struct flow_field *f;
	int err = 0;

	memcpy(rest, spec + h->mask, h->len);
	for (f = h->fields; f < h->fields + h->num && !err; f++) {
		if (!flow_take_mask(f, rest, mask))
			continue;
		if (!flow_offers(r, f))
			return refuse(r->mdev, -EOPNOTSUPP,
				      "flow rule by %s (%s)%s, which the device does not offer",
				      h->name, f->name, r->inner ? " inside a tunnel" : "");
		err = flow_put(r, flow_to(r, f), spec + h->val + f->from, mask, f->len);
	}
	if (!err && memchr_inv(rest, 0, h->len))
		return refuse(r->mdev, -EOPNOTSUPP,
			      "flow rule by a field of the %s header that devices do not compare",
			      h->name);
	return err;
}

/* Part of the criteria for outer headers, or for headers inside a tunnel. */
static void *flow_lyr(const struct flow_reader *r, void *match)
{
	return match + (r->inner ? INNER_OFFSET : 0);
}

/* The rule is for packets with a tag of 802.1Q only, whatever the tag is. */
static void flow_put_tagged(struct flow_reader *r, const union ib_flow_spec *spec)
{
	if (!spec->eth.mask.vlan_tag)
		return;
	MLX5_SET(fte_match_set_lyr_2_4, flow_lyr(r, r->rule->spec.match_criteria), cvlan_tag, 1);
	MLX5_SET(fte_match_set_lyr_2_4, flow_lyr(r, r->rule->spec.match_value), cvlan_tag, 1);
}

static const struct flow_field ip_version_field = {
	.name = "version", .to = OUTER(cvlan_tag), .len = 2, .cap = CAP(outer_ip_version),
};

static const struct flow_field ethertype_field = {
	.name = "EtherType", .to = OUTER(ethertype), .len = 2, .cap = CAP(outer_ether_type),
};

static const struct flow_field protocol_field = {
	.name = "protocol", .to = OUTER(ip_protocol), .len = 1, .cap = CAP(outer_ip_protocol),
};

/* ip_version is in bits 12:9 of its two bytes. */
#define IP_VERSION_SHIFT	9

static int flow_put_word(struct flow_reader *r, const struct flow_field *f, u16 val, u16 mask)
{
	const u8 v[] = { val >> 8, val }, m[] = { mask >> 8, mask };

	if (flow_offers(r, f))
		return flow_put(r, flow_to(r, f), v + 2 - f->len, m + 2 - f->len, f->len);
	return refuse(r->mdev, -EOPNOTSUPP, "flow rule by the %s, which the device does not offer",
		      f->name);
}

/* The rule is for packets of the header's kind only. */
static int flow_put_kind(struct flow_reader *r, const struct flow_header *h)
{
	if (h->ip_version && flow_offers(r, &ip_version_field))
		return flow_put_word(r, &ip_version_field, h->ip_version << IP_VERSION_SHIFT,
				     0xf << IP_VERSION_SHIFT);
	if (h->ip_version)
		return flow_put_word(r, &ethertype_field,
				     h->ip_version == 4 ? ETH_P_IP : ETH_P_IPV6, U16_MAX);
	return h->protocol ? flow_put_word(r, &protocol_field, h->protocol, U8_MAX) : 0;
}

static const struct flow_header *flow_find_mpls(const struct flow_reader *r)
{
	if (r->before == IB_FLOW_SPEC_UDP)
		return &mpls_over_udp;
	if (r->before == IB_FLOW_SPEC_GRE)
		return &mpls_over_gre;
	return r->inner ? &mpls_inner : NULL;
}

static const struct flow_header *flow_find_header(const struct flow_reader *r, u32 type)
{
	const struct flow_header *h = type == IB_FLOW_SPEC_MPLS ? flow_find_mpls(r) : NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(headers) && !h; i++)
		if (headers[i].type == type)
			h = &headers[i];
	return h;
}

static int flow_read_header(struct flow_reader *r, const union ib_flow_spec *spec)
{
	const struct flow_header *h;
	u32 type = spec->type & ~IB_FLOW_SPEC_INNER;
	int err;

	r->inner = spec->type & IB_FLOW_SPEC_INNER;
	h = flow_find_header(r, type);
	if (!h)
		return refuse(r->mdev, -EOPNOTSUPP, "flow rule with a specification of type 0x%x",
			      spec->type);
	err = flow_put_kind(r, h) ?: flow_read_fields(r, h, (const u8 *)spec);
	if (!err && type == IB_FLOW_SPEC_ETH)
		flow_put_tagged(r, spec);
	r->before = type;
	return err;
}

static int flow_read_count(struct flow_reader *r, struct ib_counters *counters)
{
	if (r->rule->counters)
		return refuse(r->mdev, -EINVAL, "flow rule with two counters objects");
	r->rule->counters = counters;
	return 0;
}

static int flow_read_spec(struct flow_reader *r, const union ib_flow_spec *spec)
{
	switch (spec->type) {
	case IB_FLOW_SPEC_ACTION_TAG:
		return mlx5_ib_flow_set_tag(&r->rule->spec, spec->flow_tag.tag_id);
	case IB_FLOW_SPEC_ACTION_DROP:
		r->rule->drop = true;
		return 0;
	case IB_FLOW_SPEC_ACTION_COUNT:
		return flow_read_count(r, spec->flow_count.counters);
	case IB_FLOW_SPEC_ACTION_HANDLE:
		return refuse(r->mdev, -EOPNOTSUPP,
			      "flow rule with an action object: only mlx5dv_create_flow() has them");
	default:
		return flow_read_header(r, spec);
	}
}

/* Say which parts of the criteria are compared. */
static void flow_set_enable(struct mlx5_flow_spec *spec)
{
	const void *criteria = spec->match_criteria;
	unsigned int i;

	spec->match_criteria_enable = 0;
	for (i = 0; i < MATCH_BYTES / PART_BYTES; i++)
		if (memchr_inv(criteria + i * PART_BYTES, 0, PART_BYTES))
			spec->match_criteria_enable |= BIT(i);
}

/**
 * mlx5_ib_flow_read_specs - compute what a list of specifications of verbs asks for
 * @attr: the list, of which ib_core has checked the lengths
 * @mdev: the device, for its capabilities
 * @rule: zeroed; filled in
 *
 * Return: 0; -EOPNOTSUPP for a field or action that the device does not offer or that devices do
 * not have; or -EINVAL for specifications that contradict each other, for two counters objects, or
 * for a tag of more than 24 bits.
 */
int mlx5_ib_flow_read_specs(const struct ib_flow_attr *attr, struct mlx5_core_dev *mdev,
			    struct mlx5_ib_flow_rule *rule)
{
	struct flow_reader r = { .mdev = mdev, .rule = rule };
	const void *spec = attr + 1;
	unsigned int i;
	int err;

	for (i = 0; i < attr->num_of_specs; i++) {
		err = flow_read_spec(&r, spec);
		if (err)
			return err;
		spec += ((const union ib_flow_spec *)spec)->size;
	}
	flow_set_enable(&rule->spec);
	return 0;
}

/**
 * mlx5_ib_flow_fill_default - fill in a rule for all unicast or all multicast packets
 * @spec: zeroed; filled in
 * @cast: which packets
 *
 * A queue pair that wants all packets gets two rules: its rule for multicast packets is then the
 * same as that of a queue pair that wants multicast packets only, so that both get a copy.
 */
void mlx5_ib_flow_fill_default(struct mlx5_flow_spec *spec, enum mlx5_ib_flow_cast cast)
{
	u8 *criteria = (u8 *)spec->match_criteria, *value = (u8 *)spec->match_value;
	const u8 group = 0x01;	/* of the first byte of a MAC address */

	criteria[OUTER(dmac_47_16)] = group;
	value[OUTER(dmac_47_16)] = cast == MLX5_IB_FLOW_MULTICAST ? group : 0;
	flow_set_enable(spec);
}

/**
 * mlx5_ib_flow_set_tag - have the completions of a rule's packets carry a tag
 * @spec: the rule
 * @tag: the tag
 *
 * Return: 0, or -EINVAL for a tag of more than 24 bits.
 */
int mlx5_ib_flow_set_tag(struct mlx5_flow_spec *spec, u32 tag)
{
	if (tag > MAX_TAG)
		return refuse(NULL, -EINVAL, "flow rule with tag 0x%x, at most 0x%lx", tag,
			      MAX_TAG);
	spec->flow_context.flags |= FLOW_CONTEXT_HAS_TAG;
	spec->flow_context.flow_tag = tag;
	return 0;
}

static int flow_copy(u32 *match, const void *from, size_t len, const char *what)
{
	if (len > MATCH_BYTES && memchr_inv(from + MATCH_BYTES, 0, len - MATCH_BYTES))
		return refuse(NULL, -EOPNOTSUPP, "flow %s with bits beyond byte %zu", what,
			      MATCH_BYTES);
	memcpy(match, from, min(len, MATCH_BYTES));
	return 0;
}

/**
 * mlx5_ib_flow_fill_mask - take the criteria of a matcher as a process has built them
 * @spec: zeroed; filled in
 * @enable: which parts of the criteria are compared, a mask
 * @mask: struct mlx5_ifc_fte_match_param_bits, or its beginning
 * @len: bytes of @mask
 *
 * Return: 0; -EOPNOTSUPP for criteria that are longer than those of the device; or -EINVAL for
 * criteria in a part that @enable does not name, or for a part that the struct does not have.
 */
int mlx5_ib_flow_fill_mask(struct mlx5_flow_spec *spec, u8 enable, const void *mask, size_t len)
{
	int err = flow_copy(spec->match_criteria, mask, len, "matcher");

	if (err)
		return err;
	flow_set_enable(spec);
	if (spec->match_criteria_enable & ~enable || enable >= BIT(MATCH_BYTES / PART_BYTES - 1))
		return refuse(NULL, -EINVAL,
			      "flow matcher with match_criteria_enable 0x%x, criteria in 0x%x",
			      enable, spec->match_criteria_enable);
	spec->match_criteria_enable = enable;
	return 0;
}

/**
 * mlx5_ib_flow_fill_value - take the value of a rule as a process has built it
 * @spec: the rule, with the criteria of its matcher
 * @value: struct mlx5_ifc_fte_match_param_bits, or its beginning
 * @len: bytes of @value
 *
 * Return: 0; -EOPNOTSUPP for a value that is longer than that of the device; or -EINVAL for a bit
 * that is not in the criteria.
 */
int mlx5_ib_flow_fill_value(struct mlx5_flow_spec *spec, const void *value, size_t len)
{
	int err = flow_copy(spec->match_value, value, len, "rule");
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(spec->match_value) && !err; i++)
		if (spec->match_value[i] & ~spec->match_criteria[i])
			return refuse(NULL, -EINVAL,
				      "flow rule with bits outside the matcher's criteria, in dword %u",
				      i);
	return err;
}

/**
 * mlx5_ib_flow_prio - find the place of a priority among those of mlx5_core
 * @priority: priority of the rule, less than MLX5_IB_FLOW_PRIORITIES
 * @dont_trap: the packets go on to later rules, too
 *
 * Each priority has two tables: a packet passes the rules that do not trap it before the rules that
 * do.
 *
 * Return: the priority in the namespace of mlx5_core.
 */
u32 mlx5_ib_flow_prio(u16 priority, bool dont_trap)
{
	return 2 * priority + !dont_trap;
}

/**
 * mlx5_ib_fill_anchor_table - build the command that creates the table of a steering anchor
 * @in: zeroed struct mlx5_ifc_create_flow_table_in_bits
 * @table_type: MLX5_FLOW_TABLE_TYPE_NIC_RX or MLX5_FLOW_TABLE_TYPE_NIC_TX
 *
 * The table has one entry, and no place in the order of tables.
 */
void mlx5_ib_fill_anchor_table(void *in, u8 table_type)
{
	MLX5_SET(create_flow_table_in, in, opcode, MLX5_CMD_OP_CREATE_FLOW_TABLE);
	MLX5_SET(create_flow_table_in, in, table_type, table_type);
}

/**
 * mlx5_ib_fill_anchor_group - build the command that creates the only group of such a table
 * @in: zeroed struct mlx5_ifc_create_flow_group_in_bits
 * @table_type: as for mlx5_ib_fill_anchor_table()
 * @table: number of the table
 *
 * The group compares nothing.
 */
void mlx5_ib_fill_anchor_group(void *in, u8 table_type, u32 table)
{
	MLX5_SET(create_flow_group_in, in, opcode, MLX5_CMD_OP_CREATE_FLOW_GROUP);
	MLX5_SET(create_flow_group_in, in, table_type, table_type);
	MLX5_SET(create_flow_group_in, in, table_id, table);
}

/**
 * mlx5_ib_fill_anchor_entry - build the command that adds the only entry of such a table
 * @in: zeroed; MLX5_IB_ANCHOR_ENTRY_BYTES
 * @table_type: as for mlx5_ib_fill_anchor_table()
 * @table: number of the table
 * @group: number of the group
 * @next: number of the table to which the entry sends all packets; it may come earlier in the order
 */
void mlx5_ib_fill_anchor_entry(void *in, u8 table_type, u32 table, u32 group, u32 next)
{
	void *flow = MLX5_ADDR_OF(set_fte_in, in, flow_context);
	void *dest = MLX5_ADDR_OF(flow_context, flow, destination);

	MLX5_SET(set_fte_in, in, opcode, MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	MLX5_SET(set_fte_in, in, table_type, table_type);
	MLX5_SET(set_fte_in, in, table_id, table);
	MLX5_SET(set_fte_in, in, ignore_flow_level, 1);
	MLX5_SET(flow_context, flow, group_id, group);
	MLX5_SET(flow_context, flow, action, MLX5_FLOW_CONTEXT_ACTION_FWD_DEST);
	MLX5_SET(flow_context, flow, destination_list_size, 1);
	MLX5_SET(dest_format_struct, dest, destination_type,
		 MLX5_IFC_FLOW_DESTINATION_TYPE_FLOW_TABLE);
	MLX5_SET(dest_format_struct, dest, destination_id, next);
}
