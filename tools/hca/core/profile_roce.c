// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles of HCAs with RoCE: the default values of its capabilities, which count only if the
 * profile sets the general capability roce, and the checks that they fit together.
 */
#include <errno.h>
#include <string.h>

#include "hca.h"
#include "ifc.h"
#include "profile.h"
#include "profile_priv.h"
#include "util.h"

#define ROCE_VERSIONS	(1u << 0 | 1u << 2)	/* roce_version: version 1, version 2 */
#define ROCE_L3_TYPES	(1u << 1 | 1u << 2)	/* l3_type: IPv4, IPv6 */
#define ROCE_ADDRESSES	256			/* src_addr_index has 8 bits */
#define ROCE_UDP_PORT	4791

static const struct {
	const char *field;
	uint32_t max, cur;
} values[] = {
	{ "roce_version", ROCE_VERSIONS, ROCE_VERSIONS },
	{ "l3_type", ROCE_L3_TYPES, ROCE_L3_TYPES },
	{ "roce_address_table_size", 256, 256 },
	{ "r_roce_dest_udp_port", ROCE_UDP_PORT, ROCE_UDP_PORT },
	{ "r_roce_min_src_udp_port", 0xc000, 0xc000 },
	{ "r_roce_max_src_udp_port", 0xffff, 0xffff },
	/* Off until the driver sets it by SET_HCA_CAP. */
	{ "sw_r_roce_src_udp_port", 1, 0 },
	{ "fl_rc_qp_when_roce_enabled", 1, 1 },
	{ "qp_ts_format", 0, 0 },
};

/**
 * profile_roce_cap() - list the capabilities of RoCE that the default profile names
 * @i: 0, 1 and so on
 * @page: set to PAGE_ROCE
 *
 * Return: name of the field, NULL if there are no more.
 */
const char *profile_roce_cap(unsigned int i, unsigned int *page)
{
	*page = PAGE_ROCE;
	return i < ARRAY_SIZE(values) ? values[i].field : NULL;
}

/**
 * profile_roce_set() - add the capabilities of RoCE to a profile
 * @p: the profile
 *
 * Return: false if the headers lack a field that the HCA needs.
 */
bool profile_roce_set(struct profile *p)
{
	const struct cap_page *pg = &cap_pages[PAGE_ROCE];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		if (!cap_put(p, false, pg, values[i].field, values[i].max) ||
		    !cap_put(p, true, pg, values[i].field, values[i].cur))
			return false;
	return true;
}

static uint32_t cap_roce(const struct profile *p, const char *field)
{
	return cap_get(p, true, PAGE_ROCE, field);
}

static int check_masks(const struct profile *p, char *why, size_t len)
{
	uint32_t versions = cap_roce(p, "roce_version"), types = cap_roce(p, "l3_type");

	if (!versions || versions & ~ROCE_VERSIONS)
		return profile_refuse(why, len,
				      "roce_version is 0x%x, the bits of versions are 0x%x",
				      versions, ROCE_VERSIONS);
	if (!types || types & ~ROCE_L3_TYPES)
		return profile_refuse(why, len, "l3_type is 0x%x, the bits of types are 0x%x",
				      types, ROCE_L3_TYPES);
	return 0;
}

/**
 * profile_check_roce() - check that the capabilities of RoCE fit together
 * @p: the profile
 * @why: set to the reason if they do not
 * @len: bytes of @why
 *
 * Return: 0 or -EINVAL.
 */
int profile_check_roce(const struct profile *p, char *why, size_t len)
{
	uint32_t min = cap_roce(p, "r_roce_min_src_udp_port");
	uint32_t max = cap_roce(p, "r_roce_max_src_udp_port");
	uint32_t n = cap_roce(p, "roce_address_table_size");

	if (!p->eth || !cap_get(p, false, PAGE_GENERAL, "roce")) {
		if (cap_gen(p, "rts2rts_qp_udp_sport"))
			return profile_refuse(why, len,
					      "rts2rts_qp_udp_sport is set, but roce is not");
		return 0;
	}
	if (!cap_gen(p, "eth_net_offloads"))
		return profile_refuse(why, len,
				      "roce is set, but eth_net_offloads is not: the driver "
				      "switches RoCE on in the context of the NIC's vport");
	if (profile_check_page(p, PAGE_ROCE, profile_roce_cap, why, len) ||
	    check_masks(p, why, len))
		return -EINVAL;
	if (!n || n > ROCE_ADDRESSES)
		return profile_refuse(why, len,
				      "roce_address_table_size is %u, must be from 1 to %u", n,
				      ROCE_ADDRESSES);
	if (cap_roce(p, "r_roce_dest_udp_port") != ROCE_UDP_PORT)
		return profile_refuse(why, len, "r_roce_dest_udp_port is %u, must be %u",
				      cap_roce(p, "r_roce_dest_udp_port"), ROCE_UDP_PORT);
	if (!min || min > max)
		return profile_refuse(why, len,
				      "r_roce_min_src_udp_port is %u, r_roce_max_src_udp_port %u",
				      min, max);
	if (cap_roce(p, "qp_ts_format") != cap_gen(p, "sq_ts_format"))
		return profile_refuse(why, len,
				      "qp_ts_format is %u, but sq_ts_format is %u: queue pairs "
				      "have one set of clocks", cap_roce(p, "qp_ts_format"),
				      cap_gen(p, "sq_ts_format"));
	return 0;
}
