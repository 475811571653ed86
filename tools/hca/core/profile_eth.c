// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles of HCAs with an Ethernet port: the default values of the capabilities of the NIC and of
 * flow steering, and the checks that they fit together. mlx5_core builds its chain of flow tables
 * from these values; if the chain does not fit, the whole device fails to probe.
 */
#include <errno.h>
#include <string.h>

#include "hca.h"
#include "ifc.h"
#include "profile.h"
#include "profile_priv.h"
#include "util.h"

#define RX	"flow_table_properties_nic_receive."
#define FIELD	RX "ft_field_support."
#define FIELD_2	"ft_field_support_2_nic_receive."

/* What a profile can offer of the tables of another type; they are not there by default. */
#define OTHER_TABLES(type)						\
	{ PAGE_FLOW_TABLE, type "ft_support", 0 },			\
	{ PAGE_FLOW_TABLE, type "modify_root", 0 },			\
	{ PAGE_FLOW_TABLE, type "flow_table_modify", 0 },		\
	{ PAGE_FLOW_TABLE, type "flow_modify_en", 0 },			\
	{ PAGE_FLOW_TABLE, type "identified_miss_table_mode", 0 },	\
	{ PAGE_FLOW_TABLE, type "flow_counter", 0 },			\
	{ PAGE_FLOW_TABLE, type "log_max_ft_size", 0 },			\
	{ PAGE_FLOW_TABLE, type "max_ft_level", 0 },			\
	{ PAGE_FLOW_TABLE, type "log_max_ft_num", 0 },			\
	{ PAGE_FLOW_TABLE, type "log_max_flow", 0 },			\
	{ PAGE_FLOW_TABLE, type "log_max_destination", 0 },		\
	{ PAGE_FLOW_TABLE, type "log_max_flow_counter", 0 },		\
	{ PAGE_FLOW_TABLE, type "ft_field_support.outer_dmac", 0 },	\
	{ PAGE_FLOW_TABLE, type "ft_field_support.outer_smac", 0 },	\
	{ PAGE_FLOW_TABLE, type "ft_field_support.outer_ether_type", 0 },	\
	{ PAGE_FLOW_TABLE, type "ft_field_support.outer_ip_version", 0 },	\
	{ PAGE_FLOW_TABLE, type "ft_field_support.outer_ip_protocol", 0 },	\
	{ PAGE_FLOW_TABLE, type "ft_field_support.outer_sip", 0 },	\
	{ PAGE_FLOW_TABLE, type "ft_field_support.outer_dip", 0 },	\
	{ PAGE_FLOW_TABLE, type "ft_field_support.outer_udp_sport", 0 },	\
	{ PAGE_FLOW_TABLE, type "ft_field_support.outer_udp_dport", 0 },	\
	{ PAGE_FLOW_TABLE, type "ft_field_support.outer_tcp_sport", 0 },	\
	{ PAGE_FLOW_TABLE, type "ft_field_support.outer_tcp_dport", 0 }

/* What the default profile of an Ethernet port adds to the default profile, or changes. */
static const struct {
	unsigned int page;
	const char *field;
	uint32_t value;
} values[] = {
	{ PAGE_GENERAL, "port_type", 1 },
	{ PAGE_GENERAL, "eth_net_offloads", 1 },
	{ PAGE_GENERAL, "nic_flow_table", 1 },
	{ PAGE_GENERAL, "roce", 0 },
	{ PAGE_GENERAL, "cc_query_allowed", 0 },
	{ PAGE_GENERAL, "rts2rts_qp_udp_sport", 0 },
	{ PAGE_GENERAL, "roce_rw_supported", 0 },	/* the driver may set roce */
	{ PAGE_GENERAL, "log_max_rq", 12 },
	{ PAGE_GENERAL, "log_max_sq", 12 },
	{ PAGE_GENERAL, "log_max_tis", 8 },
	{ PAGE_GENERAL, "log_max_tis_per_sq", 1 },
	{ PAGE_GENERAL, "log_max_tir", 10 },
	{ PAGE_GENERAL, "log_max_rqt", 10 },
	/* Also limits the channels of the netdev. */
	{ PAGE_GENERAL, "log_max_rqt_size", 11 },
	{ PAGE_GENERAL, "log_max_current_uc_list", 7 },
	{ PAGE_GENERAL, "log_max_current_mc_list", 9 },
	{ PAGE_GENERAL, "log_max_vlan_list", 12 },
	/* The driver disables local loopback, and enables it for its self-test. */
	{ PAGE_GENERAL, "disable_local_lb_uc", 1 },
	{ PAGE_GENERAL, "disable_local_lb_mc", 1 },
	/* Counters: the netdev asks for the first whatever this says. */
	{ PAGE_GENERAL, "vport_counters", 1 },
	{ PAGE_GENERAL, "vport_counter_local_loopback", 1 },
	{ PAGE_GENERAL, "nic_receive_steering_discard", 1 },
	{ PAGE_GENERAL, "transmit_discard_vport_down", 1 },
	{ PAGE_GENERAL, "eth_wqe_too_small", 1 },
	/* Optional registers of the port. */
	{ PAGE_GENERAL, "mcam_reg", 0 },
	{ PAGE_GENERAL, "port_module_event", 0 },
	{ PAGE_ETH, "csum_cap", 1 },
	{ PAGE_ETH, "vlan_cap", 1 },
	{ PAGE_ETH, "self_lb_en_modifiable", 1 },
	/* The netdev sends several packets in a WQE if it can. */
	{ PAGE_ETH, "enhanced_multi_pkt_send_wqe", 0 },
	{ PAGE_ETH, "scatter_fcs", 0 },
	{ PAGE_ETH, "max_lso_cap", 18 },
	{ PAGE_ETH, "wqe_inline_mode", 2 },		/* no headers have to be in the WQE */
	{ PAGE_ETH, "wqe_vlan_insert", 0 },
	{ PAGE_ETH, "rss_ind_tbl_cap", 8 },
	{ PAGE_FLOW_TABLE, RX "ft_support", 1 },
	/*
	 * With these four the driver has tables for rules of ethtool, of accelerated RFS, of tc and
	 * of verbs in front of its own tables.
	 */
	{ PAGE_FLOW_TABLE, RX "modify_root", 1 },
	{ PAGE_FLOW_TABLE, RX "flow_table_modify", 1 },
	{ PAGE_FLOW_TABLE, RX "flow_modify_en", 1 },
	{ PAGE_FLOW_TABLE, RX "identified_miss_table_mode", 1 },
	/* A rule may send a frame to a TIR, and on to the next table. */
	{ PAGE_FLOW_TABLE, "nic_rx_multi_path_tirs", 1 },
	{ PAGE_FLOW_TABLE, RX "log_max_ft_size", 22 },
	{ PAGE_FLOW_TABLE, RX "max_ft_level", 128 },
	{ PAGE_FLOW_TABLE, RX "log_max_ft_num", 10 },
	{ PAGE_FLOW_TABLE, RX "log_max_flow", 22 },
	{ PAGE_FLOW_TABLE, RX "log_max_destination", 6 },
	{ PAGE_FLOW_TABLE, RX "log_max_flow_counter", 3 },
	{ PAGE_FLOW_TABLE, RX "flow_counter", 1 },
	{ PAGE_GENERAL, "max_flow_counter_15_0", 0x8000 },
	{ PAGE_GENERAL, "max_flow_counter_31_16", 0 },
	{ PAGE_GENERAL, "flow_counter_bulk_alloc", 0x7 },	/* 128, 256 or 512 at a time */
	{ PAGE_GENERAL, "log_max_flow_counter_bulk", 10 },	/* in a query */
	/*
	 * Tables for sent frames, for sniffers and for RoCE are a profile's to offer: with them
	 * mlx5_core has further namespaces.
	 */
	OTHER_TABLES("flow_table_properties_nic_transmit."),
	OTHER_TABLES("flow_table_properties_nic_receive_sniffer."),
	OTHER_TABLES("flow_table_properties_nic_transmit_sniffer."),
	OTHER_TABLES("flow_table_properties_nic_receive_rdma."),
	OTHER_TABLES("flow_table_properties_nic_transmit_rdma."),
	{ PAGE_FLOW_TABLE, "allow_sniffer_and_nic_rx_shared_tir", 0 },
	{ PAGE_FLOW_TABLE, FIELD "outer_dmac", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_smac", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_ether_type", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_ip_version", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_first_prio", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_first_cfi", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_first_vid", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_sip", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_dip", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_frag", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_ip_protocol", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_udp_sport", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_udp_dport", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_tcp_sport", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_tcp_dport", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_tcp_flags", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_ip_dscp", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_ip_ecn", 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_ipv4_ttl", 1 },
	/* The driver tells TCP and UDP by the type of the fourth layer if both are set. */
	{ PAGE_GENERAL_2, "pcc_ifa2", 0 },
	{ PAGE_FLOW_TABLE, FIELD_2 "outer_l4_type", 0 },
	{ PAGE_FLOW_TABLE, FIELD_2 "outer_l4_type_ext", 0 },
};

/*
 * General capabilities that an HCA with an Ethernet port cannot have: the manager of an e-switch or
 * of the vports of other functions, InfiniBand's vport commands, and features of send and receive
 * queues. Each makes a driver send commands or build queues that the HCA does not model.
 */
static const char *const lacks[] = {
	"vport_group_manager", "eswitch_manager", "eth_virt", "ib_virt", "lag_master",
	"tis_tir_td_order", "silent_mode_query", "silent_mode_set", "striding_rq", "shampo",
	"cqe_compression", "mini_cqe_resp_stride_index", "ts_cqe_to_dest_cqn", "hairpin", "tls_tx",
	"tls_rx", "rq_delay_drop", "ets", "dcbx",
};

/**
 * profile_eth_cap() - list the capabilities that the default profile of an Ethernet port names
 * @i: 0, 1 and so on
 * @page: set to PAGE_*
 *
 * Return: name of the field, NULL if there are no more.
 */
const char *profile_eth_cap(unsigned int i, unsigned int *page)
{
	if (i >= ARRAY_SIZE(values))
		return profile_roce_cap(i - ARRAY_SIZE(values), page);
	*page = values[i].page;
	return values[i].field;
}

/**
 * profile_eth_lacks() - tell whether an HCA with an Ethernet port cannot have a capability
 * @page: PAGE_*
 * @field: name of the field
 */
bool profile_eth_lacks(unsigned int page, const char *field)
{
	unsigned int i;

	for (i = 0; page == PAGE_GENERAL && i < ARRAY_SIZE(lacks); i++)
		if (!strcmp(lacks[i], field))
			return true;
	return false;
}

static bool put(struct profile *p, unsigned int page, const char *field, uint64_t v)
{
	return cap_put(p, false, &cap_pages[page], field, v) &&
	       cap_put(p, true, &cap_pages[page], field, v);
}

/**
 * profile_eth_set() - change the default profile to that of an Ethernet port
 * @p: the profile
 *
 * Return: false if the headers lack a field that the HCA needs.
 */
bool profile_eth_set(struct profile *p)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lacks); i++)
		put(p, PAGE_GENERAL, lacks[i], 0);	/* older headers have fewer */
	for (i = 0; i < ARRAY_SIZE(values); i++)
		if (!put(p, values[i].page, values[i].field, values[i].value))
			return false;
	p->mtu = PROFILE_ETH_MTU;
	return profile_roce_set(p);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/*
 * Capabilities without which mlx5_core makes no netdev, or fails to probe, and their least value.
 */
static const struct {
	unsigned int page;
	const char *field;
	uint32_t min, max;
} needs[] = {
	{ PAGE_GENERAL, "log_max_rq", 1, 20 },
	{ PAGE_GENERAL, "log_max_sq", 1, 20 },
	{ PAGE_GENERAL, "log_max_tis", 4, 20 },
	{ PAGE_GENERAL, "log_max_tir", 5, 20 },
	{ PAGE_GENERAL, "log_max_rqt", 2, 20 },
	{ PAGE_GENERAL, "log_max_current_uc_list", 0, 12 },
	{ PAGE_GENERAL, "log_max_current_mc_list", 0, 12 },
	{ PAGE_GENERAL, "log_max_vlan_list", 0, 12 },
	{ PAGE_GENERAL, "max_wqe_sz_sq", 768, 1024 },
	{ PAGE_GENERAL, "vport_counters", 1, 1 },
	{ PAGE_ETH, "csum_cap", 1, 1 },
	{ PAGE_ETH, "vlan_cap", 1, 1 },
	{ PAGE_ETH, "max_lso_cap", 1, 31 },
	{ PAGE_ETH, "rss_ind_tbl_cap", 1, 15 },
	{ PAGE_ETH, "wqe_inline_mode", 0, 2 },
	{ PAGE_FLOW_TABLE, RX "ft_support", 1, 1 },
	{ PAGE_FLOW_TABLE, RX "modify_root", 1, 1 },
	/* Tables of 32,770 entries are made of 64 Ki. */
	{ PAGE_FLOW_TABLE, RX "log_max_ft_size", 16, 24 },
	{ PAGE_FLOW_TABLE, RX "max_ft_level", 59, 255 },
	{ PAGE_FLOW_TABLE, RX "log_max_ft_num", 4, 20 },
	{ PAGE_FLOW_TABLE, RX "log_max_flow", 10, 24 },
	{ PAGE_FLOW_TABLE, RX "log_max_destination", 0, 8 },
	{ PAGE_FLOW_TABLE, FIELD "outer_dmac", 1, 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_ip_protocol", 1, 1 },
	{ PAGE_FLOW_TABLE, FIELD "outer_first_vid", 1, 1 },
};

static int check_needs(const struct profile *p, char *why, size_t len)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(needs); i++) {
		uint64_t v = cap_get(p, true, needs[i].page, needs[i].field);

		if (v < needs[i].min || v > needs[i].max)
			return profile_refuse(why, len,
					      "%s is %llu, an Ethernet port needs from %u to %u",
					      needs[i].field, (unsigned long long)v, needs[i].min,
					      needs[i].max);
	}
	if (cap_get(p, true, PAGE_ETH, "rss_ind_tbl_cap") > cap_gen(p, "log_max_rqt_size"))
		return profile_refuse(why, len, "rss_ind_tbl_cap is above log_max_rqt_size");
	if (!cap_get(p, true, PAGE_FLOW_TABLE, FIELD "outer_ip_version") &&
	    !cap_get(p, true, PAGE_FLOW_TABLE, FIELD "outer_ether_type"))
		return profile_refuse(why, len,
				      "neither outer_ip_version nor outer_ether_type is set: no "
				      "table could tell IPv4 from IPv6");
	return 0;
}

/* Flow counters exist as objects, and entries can name them. */
static int check_counters(const struct profile *p, char *why, size_t len)
{
	bool named = cap_get(p, true, PAGE_FLOW_TABLE, RX "flow_counter");
	bool any = cap_gen(p, "max_flow_counter_15_0") || cap_gen(p, "max_flow_counter_31_16");

	if (named != any)
		return profile_refuse(why, len,
				      "flow_counter is %u, but max_flow_counter is %s0", named,
				      any ? "not " : "");
	if (cap_gen(p, "log_max_flow_counter_bulk") > 16)
		return profile_refuse(why, len, "log_max_flow_counter_bulk is %u, at most 16",
				      cap_gen(p, "log_max_flow_counter_bulk"));
	return 0;
}

#define INLINE_MODES	4	/* of a vport: none, L2, IP, TCP and UDP */
#define MODE_OF_VPORT	1	/* wqe_inline_mode: the vport says which headers are in the WQE */

static int check_inline(const struct profile *p, char *why, size_t len)
{
	if (p->min_wqe_inline_mode >= INLINE_MODES)
		return profile_refuse(why, len, "min_wqe_inline_mode is %u, must be at most %u",
				      p->min_wqe_inline_mode, INLINE_MODES - 1);
	if (p->min_wqe_inline_mode &&
	    cap_get(p, true, PAGE_ETH, "wqe_inline_mode") != MODE_OF_VPORT)
		return profile_refuse(why, len,
				      "min_wqe_inline_mode is set, but wqe_inline_mode is not 1");
	return 0;
}

static int check_lacks(const struct profile *p, char *why, size_t len)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lacks); i++)
		if (cap_get(p, false, PAGE_GENERAL, lacks[i]))
			return profile_refuse(why, len,
					      "%s is set, which an HCA with an Ethernet port does "
					      "not model", lacks[i]);
	if (p->mtu < PROFILE_ETH_MTU_MIN || p->mtu > PROFILE_ETH_MTU)
		return profile_refuse(why, len, "mtu is %u, must be from %u to %u", p->mtu,
				      PROFILE_ETH_MTU_MIN, PROFILE_ETH_MTU);
	return 0;
}

/**
 * profile_check_eth() - check the capabilities of the NIC and of flow steering
 * @p: the profile
 * @why: set to the reason if they do not fit together
 * @len: bytes of @why
 *
 * Return: 0 or -EINVAL.
 */
int profile_check_eth(const struct profile *p, char *why, size_t len)
{
	bool nic = cap_gen(p, "eth_net_offloads"), steering = cap_gen(p, "nic_flow_table");

	if ((nic || steering) && !p->eth)
		return profile_refuse(why, len, "%s is set, but the port is an InfiniBand port",
				      nic ? "eth_net_offloads" : "nic_flow_table");
	if (nic != steering)
		return profile_refuse(why, len,
				      "eth_net_offloads and nic_flow_table need each other: frames "
				      "reach a receive queue through flow tables alone");
	if ((p->eth && check_lacks(p, why, len)) || check_inline(p, why, len))
		return -EINVAL;
	if (!nic)
		return 0;
	if (check_needs(p, why, len) || check_counters(p, why, len) ||
	    profile_check_page(p, PAGE_ETH, profile_eth_cap, why, len) ||
	    profile_check_page(p, PAGE_FLOW_TABLE, profile_eth_cap, why, len))
		return -EINVAL;
	return 0;
}
