// SPDX-License-Identifier: GPL-2.0
/*
 * Matching: which criteria the capabilities offer, and the fields of a frame that rules look at. A
 * rule matches a frame if the image of the frame under the mask of the rule's group is the value of
 * the rule.
 */
#include <string.h>

#include "caps.h"
#include "check.h"
#include "frame.h"
#include "hca.h"
#include "ifc.h"
#include "match.h"
#include "profile.h"
#include "util.h"

#define LYR(fld)	IFC_FIELD(fte_match_set_lyr_2_4, fld)
/* Bits of the capabilities of a type of tables; and those that only received frames have. */
#define CAP(fld)	IFC_OFF(flow_table_prop_layout, ft_field_support.fld), 0
#define CAP_2(fld)	0, IFC_OFF(flow_table_nic_cap, ft_field_support_2_nic_receive.fld)

/* l4_type, MLX5_PACKET_L4_TYPE_* in mlx5_ifc.h; ICMP only of l4_type_ext. */
enum match_l4 { MATCH_L4_NONE, MATCH_L4_TCP, MATCH_L4_UDP, MATCH_L4_ICMP };

/* The fields of the outer headers, each with the bit of the capability that offers it. */
static const struct {
	struct ifc_field field;
	uint32_t cap, rx_cap;	/* one of them, the other is 0 */
} fields[] = {
	{ LYR(smac_47_16), CAP(outer_smac) }, { LYR(smac_15_0), CAP(outer_smac) },
	{ LYR(dmac_47_16), CAP(outer_dmac) }, { LYR(dmac_15_0), CAP(outer_dmac) },
	{ LYR(ethertype), CAP(outer_ether_type) },
	{ LYR(first_prio), CAP(outer_first_prio) }, { LYR(first_cfi), CAP(outer_first_cfi) },
	{ LYR(first_vid), CAP(outer_first_vid) },
	/* No capability tells of the kind of a tag: it goes with the tag's VLAN id. */
	{ LYR(cvlan_tag), CAP(outer_first_vid) }, { LYR(svlan_tag), CAP(outer_first_vid) },
	{ LYR(ip_version), CAP(outer_ip_version) }, { LYR(ip_protocol), CAP(outer_ip_protocol) },
	{ LYR(ip_dscp), CAP(outer_ip_dscp) }, { LYR(ip_ecn), CAP(outer_ip_ecn) },
	{ LYR(ttl_hoplimit), CAP(outer_ipv4_ttl) }, { LYR(frag), CAP(outer_frag) },
	{ LYR(src_ipv4_src_ipv6), CAP(outer_sip) }, { LYR(dst_ipv4_dst_ipv6), CAP(outer_dip) },
	{ LYR(tcp_flags), CAP(outer_tcp_flags) },
	{ LYR(tcp_sport), CAP(outer_tcp_sport) }, { LYR(tcp_dport), CAP(outer_tcp_dport) },
	{ LYR(udp_sport), CAP(outer_udp_sport) }, { LYR(udp_dport), CAP(outer_udp_dport) },
	{ LYR(l4_type), CAP_2(outer_l4_type) }, { LYR(l4_type_ext), CAP_2(outer_l4_type_ext) },
};

static bool is_offered(const uint8_t *cap, int page, size_t i)
{
	bool rx = page == IFC_OFF(flow_table_nic_cap, flow_table_properties_nic_receive);

	if (fields[i].rx_cap)
		return rx && ifc_get_bits(cap, fields[i].rx_cap, 1);
	return ifc_get_bits(cap, page + fields[i].cap, 1);
}

/**
 * match_not_offered() - find a criterion that the capabilities do not offer
 * @hca: the HCA
 * @page: the bit at which the capabilities of the type of tables begin, see flow_cap_page()
 * @criteria: a whole struct mlx5_ifc_fte_match_param_bits
 *
 * Return: name of the field, or of the part if the field is in another part than the outer headers;
 * NULL if all criteria are offered.
 */
const char *match_not_offered(const struct hca *hca, int page, const uint8_t *criteria)
{
	const uint8_t *cap = hca->cap[CAP_FLOW_TABLE];
	uint8_t rest[MATCH_PARAM];
	size_t i;

	memcpy(rest, criteria, sizeof(rest));
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct ifc_field *f = &fields[i].field;

		if (!is_offered(cap, page, i) && ifc_first_set(rest, f, 1))
			return f->name;
		ifc_set_bits(rest, f->off, f->width, 0);
	}
	for (i = 0; i < sizeof(rest); i++)
		if (rest[i])
			return i < MATCH_BYTES ? "a field of the outer headers" : "another part";
	return NULL;
}

/**
 * match_first_byte() - find a byte that has bits outside a mask
 * @p: a whole struct mlx5_ifc_fte_match_param_bits
 * @mask: of the outer headers; all other parts have no bits
 *
 * Return: its offset, -1 if there is none.
 */
int match_first_byte(const uint8_t *p, const uint8_t *mask)
{
	size_t i;

	for (i = 0; i < MATCH_PARAM; i++)
		if (p[i] & ~(i < MATCH_BYTES ? mask[i] : 0))
			return i;
	return -1;
}

/**
 * match_set_mask() - find out which bits of a frame's image a group looks at
 * @mask: the mask
 * @criteria: of the group's outer headers
 *
 * With cvlan_tag among the criteria, a rule whose value of it is 0 means frames without a tag of
 * either kind. So such a group looks at svlan_tag, too, which is 0 in all of its values.
 */
void match_set_mask(uint8_t mask[MATCH_BYTES], const uint8_t *criteria)
{
	memcpy(mask, criteria, MATCH_BYTES);
	if (IFC_GET(fte_match_set_lyr_2_4, criteria, cvlan_tag))
		IFC_SET(fte_match_set_lyr_2_4, mask, svlan_tag, 1);
}

/* As in CQEs, a fragment has no header of the fourth layer, whatever its protocol is. */
static enum match_l4 l4_type_ext(const struct frame *f)
{
	if (f->l4_type != L4_NONE)
		return f->l4_type == L4_TCP ? MATCH_L4_TCP : MATCH_L4_UDP;
	if (f->frag)
		return MATCH_L4_NONE;
	if (f->ip_version == 4 && f->protocol == PROTO_ICMP)
		return MATCH_L4_ICMP;
	return f->ip_version == 6 && f->protocol == PROTO_ICMPV6 ? MATCH_L4_ICMP : MATCH_L4_NONE;
}

static void put_l4(const struct frame *f, uint8_t *image)
{
	enum match_l4 type = l4_type_ext(f);

	IFC_SET(fte_match_set_lyr_2_4, image, l4_type_ext, type);
	IFC_SET(fte_match_set_lyr_2_4, image, l4_type,
		type == MATCH_L4_ICMP ? MATCH_L4_NONE : type);
	if (f->l4_type == L4_TCP) {
		IFC_SET(fte_match_set_lyr_2_4, image, tcp_sport, f->sport);
		IFC_SET(fte_match_set_lyr_2_4, image, tcp_dport, f->dport);
		IFC_SET(fte_match_set_lyr_2_4, image, tcp_flags, f->tcp_flags);
	} else if (f->l4_type == L4_UDP) {
		IFC_SET(fte_match_set_lyr_2_4, image, udp_sport, f->sport);
		IFC_SET(fte_match_set_lyr_2_4, image, udp_dport, f->dport);
	}
}

static void put_ip(const struct frame *f, uint8_t *image)
{
	IFC_SET(fte_match_set_lyr_2_4, image, ip_version, f->ip_version);
	IFC_SET(fte_match_set_lyr_2_4, image, ip_protocol, f->protocol);
	IFC_SET(fte_match_set_lyr_2_4, image, ip_dscp, f->tclass >> 2);
	IFC_SET(fte_match_set_lyr_2_4, image, ip_ecn, f->tclass & 3);
	IFC_SET(fte_match_set_lyr_2_4, image, ttl_hoplimit, f->ttl);
	IFC_SET(fte_match_set_lyr_2_4, image, frag, f->frag);
	memcpy(IFC_ADDR(fte_match_set_lyr_2_4, image, src_ipv4_src_ipv6), f->sip, IP_BYTES);
	memcpy(IFC_ADDR(fte_match_set_lyr_2_4, image, dst_ipv4_dst_ipv6), f->dip, IP_BYTES);
}

/**
 * match_image() - write down the fields of a frame
 * @f: the frame, parsed
 * @image: the fields, as in a rule that names all of them; those that the frame lacks are 0
 */
void match_image(const struct frame *f, uint8_t image[MATCH_BYTES])
{
	memset(image, 0, MATCH_BYTES);
	memcpy(IFC_ADDR(fte_match_set_lyr_2_4, image, smac_47_16), f->smac, MAC_BYTES);
	memcpy(IFC_ADDR(fte_match_set_lyr_2_4, image, dmac_47_16), f->dmac, MAC_BYTES);
	IFC_SET(fte_match_set_lyr_2_4, image, ethertype, f->ethertype);
	IFC_SET(fte_match_set_lyr_2_4, image, cvlan_tag, frame_has_tag(f, ETYPE_CTAG));
	IFC_SET(fte_match_set_lyr_2_4, image, svlan_tag, frame_has_tag(f, ETYPE_STAG));
	if (f->tags) {
		IFC_SET(fte_match_set_lyr_2_4, image, first_prio, frame_tag_priority(&f->tag[0]));
		IFC_SET(fte_match_set_lyr_2_4, image, first_cfi, f->tag[0].tci >> 12 & 1);
		IFC_SET(fte_match_set_lyr_2_4, image, first_vid, frame_tag_vid(&f->tag[0]));
	}
	put_ip(f, image);
	put_l4(f, image);
}

/**
 * match_apply() - keep what a group looks at
 * @key: the result
 * @image: of a frame
 * @mask: of the group
 */
void match_apply(uint8_t key[MATCH_BYTES], const uint8_t image[MATCH_BYTES],
		 const uint8_t mask[MATCH_BYTES])
{
	size_t i;

	for (i = 0; i < MATCH_BYTES; i++)
		key[i] = image[i] & mask[i];
}

/**
 * match_hash() - compute where in a hash table a key is
 * @key: under the mask of its group
 *
 * Return: the hash.
 */
uint32_t match_hash(const uint8_t key[MATCH_BYTES])
{
	uint64_t hash = 0, word;
	size_t i;

	for (i = 0; i < MATCH_BYTES; i += sizeof(word)) {
		memcpy(&word, key + i, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return hash;
}
