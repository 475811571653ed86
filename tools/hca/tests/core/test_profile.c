// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles: the default one, files that change it, and the refusal of profiles that contradict
 * themselves, with the reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "ifc.h"
#include "object.h"
#include "profile.h"
#include "util.h"

static struct profile p;
static char why[200];

#define CUR(fld) IFC_GET(cmd_hca_cap, p.cap[1][0], fld)
#define MAX(fld) IFC_GET(cmd_hca_cap, p.cap[0][0], fld)

static int load(const char *json)
{
	char path[] = "/tmp/profileXXXXXX";
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, json, strlen(json)), strlen(json));
	close(fd);
	profile_default(&p, false);
	why[0] = 0;
	err = profile_load(&p, path, why, sizeof(why));
	unlink(path);
	return err;
}

static void refused(const char *json, const char *reason)
{
	assert_int_equal(load(json), -22);
	if (!strstr(why, reason))
		fail_msg("%s: %s", json, why);
}

static void default_profile_is_accepted(void **state)
{
	(void)state;
	assert_int_equal(profile_default(&p, false), 0);
	assert_int_equal(profile_check(&p, why, sizeof(why)), 0);
	assert_int_equal(profile_default(&p, true), 0);
	assert_int_equal(profile_check(&p, why, sizeof(why)), 0);
	assert_int_equal(CUR(port_type), 1);
}

#define ETH_CUR(fld) \
	IFC_GET(per_protocol_networking_offload_caps, p.cap[1][CAP_ETH], fld)
#define RX_CUR(fld) IFC_GET(flow_table_nic_cap, p.cap[1][CAP_FLOW_TABLE], \
			    flow_table_properties_nic_receive.fld)

/* mlx5_core makes a netdev and builds its flow tables from these capabilities. */
static void ethernet_port_has_the_expected_capabilities(void **state)
{
	(void)state;
	assert_int_equal(profile_default(&p, true), 0);
	assert_true(p.cap_valid[CAP_ETH] && p.cap_valid[CAP_FLOW_TABLE]);
	assert_true(CUR(eth_net_offloads) && CUR(nic_flow_table));
	assert_int_equal(CUR(vport_group_manager), 0);
	assert_int_equal(CUR(ib_virt), 0);
	assert_int_equal(CUR(roce), 0);
	assert_int_equal(1 << CUR(log_max_rqt_size), 2048);
	assert_true(CUR(disable_local_lb_uc) && CUR(disable_local_lb_mc));
	assert_true(ETH_CUR(csum_cap) && ETH_CUR(vlan_cap) && ETH_CUR(rss_ind_tbl_cap));
	assert_int_equal(1 << ETH_CUR(max_lso_cap), 262144);
	assert_int_equal(ETH_CUR(wqe_inline_mode), 2);
	assert_int_equal(RX_CUR(log_max_ft_size), 22);
	assert_int_equal(RX_CUR(max_ft_level), 128);
	assert_true(RX_CUR(modify_root) && RX_CUR(ft_field_support.outer_dmac));
	assert_true(RX_CUR(flow_modify_en) && RX_CUR(identified_miss_table_mode));
	assert_true(CUR(disable_local_lb_uc) && CUR(disable_local_lb_mc));
	assert_int_equal(p.mtu, PROFILE_ETH_MTU);
	assert_int_equal(p.range[OBJ_FLOW_TABLE].limit, 1024);
	assert_int_equal(p.range[OBJ_FLOW_ENTRY].limit, 1 << 22);
	/* The InfiniBand port has neither page. */
	assert_int_equal(profile_default(&p, false), 0);
	assert_false(p.cap_valid[CAP_ETH] || p.cap_valid[CAP_FLOW_TABLE]);
	assert_true(CUR(vport_group_manager) && CUR(ib_virt) && !CUR(eth_net_offloads));
}

/* A doorbell and a CQE do not say which kind of queue their number is of. */
static void numbers_of_queues_are_apart(void **state)
{
	static const enum obj_kind queues[] = { OBJ_QP, OBJ_SQ, OBJ_RQ };
	unsigned int i, k;

	(void)state;
	assert_int_equal(load("{\"link\":\"eth\",\"caps\":{\"general\":{\"log_max_qp\":23,"
			      "\"log_max_sq\":20,\"log_max_rq\":20}}}"), 0);
	for (i = 0; i < ARRAY_SIZE(queues); i++)
		for (k = 0; k < ARRAY_SIZE(queues); k++)
			assert_true(i == k ||
				    p.range[queues[i]].limit <= p.range[queues[k]].first ||
				    p.range[queues[k]].limit <= p.range[queues[i]].first);
}

struct bad_cap {
	const char *page, *caps, *reason;
};

static void refuses_caps(const struct bad_cap *bad, unsigned int n)
{
	char json[400];
	unsigned int i;

	for (i = 0; i < n; i++) {
		snprintf(json, sizeof(json), "{\"link\":\"eth\",\"caps\":{\"%s\":{%s}}}",
			 bad[i].page, bad[i].caps);
		refused(json, bad[i].reason);
	}
}

static void flow_tables_have_what_the_driver_needs(void **state)
{
	static const struct bad_cap bad[] = {
		{ "flow_table", "\"flow_table_properties_nic_receive.ft_support\":0",
		  "ft_support is 0" },
		{ "flow_table", "\"flow_table_properties_nic_receive.modify_root\":0",
		  "modify_root is 0" },
		{ "flow_table", "\"flow_table_properties_nic_receive.log_max_ft_size\":15",
		  "log_max_ft_size is 15" },
		{ "flow_table", "\"flow_table_properties_nic_receive.max_ft_level\":58",
		  "max_ft_level is 58" },
		{ "flow_table", "\"flow_table_properties_nic_receive.sw_owner\":1",
		  "flow_table: bits" },
		{ "flow_table", "\"flow_table_properties_nic_transmit.sw_owner\":1",
		  "flow_table: bits" },
		{ "flow_table", "\"flow_table_properties_nic_receive.ft_field_support."
		  "inner_dmac\":1", "flow_table: bits" },
		{ "flow_table", "\"flow_table_properties_nic_receive.ft_field_support."
		  "outer_ip_version\":0,\"flow_table_properties_nic_receive."
		  "ft_field_support.outer_ether_type\":0", "tell IPv4 from IPv6" },
	};

	(void)state;
	refuses_caps(bad, ARRAY_SIZE(bad));
}

static void roce_is_offered_by_its_profiles(void **state)
{
	static const struct {
		const char *path;
		unsigned int roce, versions, addresses, max_sw_port;
		bool valid;
	} profiles[] = {
		{ "profiles/eth-default.json", 0, 5, 256, 1, false },
		{ "profiles/roce.json", 1, 5, 256, 1, true },
		{ "profiles/roce-v2-only.json", 1, 4, 16, 1, true },
		{ "profiles/roce-off.json", 0, 5, 256, 1, true },
		{ "profiles/roce-slow-retries.json", 1, 5, 256, 1, true },
		{ "profiles/roce-mapped-memory.json", 1, 5, 256, 1, true },
		{ "profiles/src-port-by-device.json", 1, 5, 256, 0, true },
	};
	const uint8_t *cur = p.cap[1][CAP_ROCE];
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(profiles); i++) {
		profile_default(&p, false);
		assert_int_equal(profile_load(&p, profiles[i].path, why, sizeof(why)), 0);
		assert_int_equal(CUR(roce), profiles[i].roce);
		assert_int_equal(p.cap_valid[CAP_ROCE], profiles[i].valid);
		assert_int_equal(IFC_GET(roce_cap, cur, roce_version), profiles[i].versions);
		assert_int_equal(IFC_GET(roce_cap, cur, l3_type), 6);
		assert_int_equal(IFC_GET(roce_cap, cur, roce_address_table_size),
				 profiles[i].addresses);
		assert_int_equal(IFC_GET(roce_cap, cur, sw_r_roce_src_udp_port), 0);
		assert_int_equal(IFC_GET(roce_cap, p.cap[0][CAP_ROCE], sw_r_roce_src_udp_port),
				 profiles[i].max_sw_port);
	}
	/* The InfiniBand port does not have the page. */
	assert_int_equal(profile_default(&p, false), 0);
	assert_false(p.cap_valid[CAP_ROCE]);
}

static void roce_capabilities_fit_together(void **state)
{
	static const char *const bad[][2] = {
		{ "\"roce_version\":0", "roce_version is 0x0" },
		{ "\"roce_version\":2", "roce_version is 0x2" },
		{ "\"l3_type\":0", "l3_type is 0x0" },
		{ "\"l3_type\":1", "l3_type is 0x1" },
		{ "\"roce_address_table_size\":0", "roce_address_table_size is 0" },
		{ "\"roce_address_table_size\":257", "roce_address_table_size is 257" },
		{ "\"r_roce_dest_udp_port\":4792", "r_roce_dest_udp_port is 4792" },
		{ "\"r_roce_min_src_udp_port\":0", "r_roce_min_src_udp_port is 0" },
		{ "\"r_roce_max_src_udp_port\":5", "r_roce_max_src_udp_port 5" },
		{ "\"qp_ts_format\":1", "qp_ts_format is 1" },
		{ "\"roce_apm\":1", "roce: bits 0x80 of byte 0x0" },
		{ "\"qp_ooo_transmit_default\":{\"max\":1,\"cur\":0}", "roce: bits 0x" },
	};
	char json[400];
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(json, sizeof(json), "{\"link\":\"eth\",\"caps\":{"
			 "\"general\":{\"roce\":1},\"roce\":{%s}}}", bad[i][0]);
		refused(json, bad[i][1]);
	}
	refused("{\"link\":\"eth\",\"caps\":{\"general\":{\"roce\":1,\"eth_net_offloads\":0,"
		"\"nic_flow_table\":0}}}", "eth_net_offloads is not");
	refused("{\"link\":\"eth\",\"caps\":{\"general\":{\"rts2rts_qp_udp_sport\":1}}}",
		"rts2rts_qp_udp_sport is set, but roce is not");
	refused("{\"caps\":{\"general\":{\"rts2rts_qp_udp_sport\":1}}}",
		"rts2rts_qp_udp_sport is set, but roce is not");
	/* Without roce the values mean nothing. */
	assert_int_equal(load("{\"link\":\"eth\",\"caps\":{\"roce\":{\"roce_version\":0}}}"), 0);
}

static void nic_capabilities_fit_together(void **state)
{
	static const struct bad_cap bad[] = {
		{ "general", "\"eth_net_offloads\":0", "need each other" },
		{ "general", "\"nic_flow_table\":0", "need each other" },
		{ "general", "\"vport_group_manager\":1", "vport_group_manager is set" },
		{ "general", "\"eswitch_manager\":1", "eswitch_manager is set" },
		{ "general", "\"ib_virt\":1", "ib_virt is set" },
		{ "general", "\"striding_rq\":1", "striding_rq is set" },
		{ "general", "\"cqe_compression\":1", "cqe_compression is set" },
		{ "general", "\"log_max_rq\":0", "log_max_rq is 0" },
		{ "general", "\"log_max_tis\":3", "log_max_tis is 3" },
		{ "general", "\"log_max_tir\":4", "log_max_tir is 4" },
		{ "general", "\"log_max_rqt\":1", "log_max_rqt is 1" },
		{ "general", "\"log_max_rqt_size\":7", "rss_ind_tbl_cap is above" },
		{ "general", "\"max_wqe_sz_sq\":512", "max_wqe_sz_sq is 512" },
		{ "general", "\"vport_counters\":0", "vport_counters is 0" },
		{ "general", "\"max_flow_counter_15_0\":0", "max_flow_counter is 0" },
		{ "flow_table", "\"flow_table_properties_nic_receive.flow_counter\":0",
		  "max_flow_counter is not 0" },
		{ "general", "\"log_max_flow_counter_bulk\":17", "log_max_flow_counter_bulk is 17" },
		{ "ethernet", "\"csum_cap\":0", "csum_cap is 0" },
		{ "ethernet", "\"vlan_cap\":0", "vlan_cap is 0" },
		{ "ethernet", "\"max_lso_cap\":0", "max_lso_cap is 0" },
		{ "ethernet", "\"rss_ind_tbl_cap\":0", "rss_ind_tbl_cap is 0" },
		{ "ethernet", "\"wqe_inline_mode\":3", "wqe_inline_mode is 3" },
		{ "ethernet", "\"lro_cap\":1", "bits 0x20 of byte 0x0" },
		{ "ethernet", "\"swp\":{\"max\":1,\"cur\":0}", "bits 0x80 of byte 0x4" },
	};

	(void)state;
	refuses_caps(bad, ARRAY_SIZE(bad));
	refused("{\"caps\":{\"general\":{\"eth_net_offloads\":1,\"nic_flow_table\":1},"
		"\"ethernet\":{\"csum_cap\":1},\"flow_table\":{"
		"\"flow_table_properties_nic_receive.ft_support\":1}}}", "an InfiniBand port");
	refused("{\"link\":\"eth\",\"min_wqe_inline_mode\":1}", "wqe_inline_mode is not 1");
	refused("{\"min_wqe_inline_mode\":1}", "wqe_inline_mode is not 1");
	refused("{\"link\":\"eth\",\"caps\":{\"ethernet\":{\"wqe_inline_mode\":1}},"
		"\"min_wqe_inline_mode\":4}", "min_wqe_inline_mode is 4");
	refused("{\"link\":\"eth\",\"mtu\":1521}", "mtu is 1521");
	refused("{\"link\":\"eth\",\"mtu\":10241}", "mtu is 10241");
	assert_int_equal(load("{\"link\":\"eth\",\"mtu\":1522}"), 0);
	assert_int_equal(load("{\"link\":\"eth\",\"caps\":{\"general\":{\"eth_net_offloads\":0,"
			      "\"nic_flow_table\":0}}}"), 0);
	assert_false(p.cap_valid[CAP_ETH] || p.cap_valid[CAP_FLOW_TABLE]);
}

/* The driver builds the alloc_ucontext response from these capabilities. */
static void default_has_the_expected_capabilities(void **state)
{
	(void)state;
	profile_default(&p, false);
	assert_int_equal(1 << CUR(log_max_qp), 262144);
	assert_int_equal(1 << CUR(log_bf_reg_size), 512);
	assert_int_equal(CUR(max_wqe_sz_sq), 1024);
	assert_int_equal(CUR(max_wqe_sz_rq), 512);
	assert_int_equal(1 << CUR(log_max_qp_sz), 32768);
	assert_int_equal(1 << CUR(log_max_srq_sz), 32768);
	assert_int_equal(CUR(num_ports), 1);
	assert_int_equal(CUR(cqe_version), 1);
	assert_int_equal(CUR(cache_line_128byte), 0);
	assert_int_equal(CUR(num_of_uars_per_page), 1);
	assert_int_equal(CUR(uar_4k), 0);
	assert_int_equal(CUR(bf), 1);
	assert_int_equal(CUR(dump_fill_mkey), 1);
}

static void file_changes_the_default(void **state)
{
	(void)state;
	assert_int_equal(load("{\"name\":\"x\",\"vectors\":4,\"caps\":{\"general\":{"
			      "\"log_max_qp\":{\"max\":12,\"cur\":10},\"bf\":0}},"
			      "\"limits\":{\"uar\":10,\"qp\":5}}"), 0);
	assert_string_equal(p.name, "x");
	assert_int_equal(p.vectors, 4);
	assert_int_equal(MAX(log_max_qp), 12);
	assert_int_equal(CUR(log_max_qp), 10);
	assert_int_equal(CUR(bf), 0);
	assert_int_equal(CUR(log_max_cq), 18);
	assert_int_equal(p.pkey[0], 0xffff);
	assert_int_equal(p.gids, 1);
	assert_int_equal(load("{\"pkeys\":[\"0x7fff\",\"0x8123\"],\"gids\":8,\"mtu\":256}"), 0);
	assert_int_equal(p.pkey[0], 0x7fff);
	assert_int_equal(p.pkey[1], 0x8123);
	assert_int_equal(p.gids, 8);
	assert_int_equal(p.mtu, 256);
	assert_int_equal(load("{\"vectors\":4,\"limits\":{\"uar\":10,\"qp\":5}}"), 0);
	assert_int_equal(p.range[OBJ_UAR].limit - p.range[OBJ_UAR].first, 10);
	assert_int_equal(p.range[OBJ_QP].limit - p.range[OBJ_QP].first, 5);
}

static void limits_are_up_to_what_the_capabilities_allow(void **state)
{
	uint32_t first, limit;
	char json[60];

	(void)state;
	assert_int_equal(load("{}"), 0);
	first = p.range[OBJ_UAR].first;
	limit = p.range[OBJ_UAR].limit;
	snprintf(json, sizeof(json), "{\"limits\":{\"uar\":%u}}", limit - first);
	assert_int_equal(load(json), 0);
	assert_int_equal(p.range[OBJ_UAR].limit, limit);
	snprintf(json, sizeof(json), "{\"limits\":{\"uar\":%u}}", limit - first + 1);
	refused(json, "limits.uar");
}

/* Each setting that is a number changes one member, and nothing else. */
static void each_number_has_its_member(void **state)
{
	static const struct { const char *name; size_t at; unsigned int value; } numbers[] = {
#define NUMBER(name, value) { #name, offsetof(struct profile, name), value }
		NUMBER(vectors, 64), NUMBER(boot_pages, 9), NUMBER(init_pages, 121),
		NUMBER(objects_per_page, UINT32_MAX), NUMBER(gids, 8), NUMBER(mtu, 512),
		NUMBER(command_delay_us, 1000000), NUMBER(command_timeout_ms, 0xfffff),
		NUMBER(initializing_ms, 21), NUMBER(log_min_ack_timeout, 31),
		NUMBER(max_translation_mb, 100), NUMBER(virtual_functions, 127),
		NUMBER(vport_speed, 0xffff), NUMBER(part, 4117),
#undef NUMBER
	};
	static struct profile expected;
	char json[80];
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		snprintf(json, sizeof(json), "{\"%s\":%u}", numbers[i].name, numbers[i].value);
		if (load(json))
			fail_msg("%s: %s", json, why);
		profile_default(&expected, false);
		memcpy((char *)&expected + numbers[i].at, &numbers[i].value, sizeof(unsigned int));
		if (memcmp(&p, &expected, sizeof(p)))
			fail_msg("%s changes something else", numbers[i].name);
	}
}

static void each_switch_and_each_text_has_its_member(void **state)
{
	static const struct { const char *name; size_t at; } switches[] = {
#define SWITCH(name) { #name, offsetof(struct profile, name) }
		SWITCH(map_memic), SWITCH(refuse_busy_uars), SWITCH(no_write_combining),
		SWITCH(one_clock), SWITCH(cycle_numbers), SWITCH(highest_numbers),
		SWITCH(no_performance_agent), SWITCH(one_bar), SWITCH(subnet_manager),
		SWITCH(pack_memic_ops),
#undef SWITCH
	};
	static struct profile expected;
	bool *at;
	char json[80];
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(switches); i++) {
		profile_default(&expected, false);
		at = (bool *)((char *)&expected + switches[i].at);
		*at = !*at;		/* only subnet_manager is set by default */
		snprintf(json, sizeof(json), "{\"%s\":%s}", switches[i].name,
			 *at ? "true" : "false");
		if (load(json))
			fail_msg("%s: %s", json, why);
		if (memcmp(&p, &expected, sizeof(p)))
			fail_msg("%s changes something else", switches[i].name);
	}
	assert_int_equal(load("{\"name\":\"n\",\"psid\":\"p\",\"fw_version\":\"16.1.2\","
			      "\"node_description\":\"MT4119   d\"}"), 0);
	assert_string_equal(p.name, "n");
	assert_string_equal(p.psid, "p");
	assert_string_equal(p.fw_version, "16.1.2");
	assert_string_equal(p.node_description, "MT4119   d");
}

static void each_speed_and_each_part_has_its_number(void **state)
{
	static const struct { const char *name; unsigned int speed; } speeds[] = {
		{ "fdr", 1 }, { "edr", 2 }, { "hdr", 4 }, { "ndr", 8 },
	};
	static const struct { unsigned int part, hw_id, generation, lanes; } parts[] = {
		{ 4115, 0x209, 3, 16 }, { 4117, 0x20b, 3, 8 }, { 4119, 0x20d, 3, 16 },
		{ 4121, 0x20d, 4, 16 }, { 4123, 0x20f, 4, 16 }, { 4125, 0x212, 4, 16 },
		{ 4127, 0x216, 4, 8 }, { 4129, 0x218, 5, 16 },
	};
	char json[80];
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(speeds); i++) {
		snprintf(json, sizeof(json), "{\"link_speed\":\"%s\"}", speeds[i].name);
		assert_int_equal(load(json), 0);
		assert_int_equal(p.link_speed, speeds[i].speed);
	}
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		snprintf(json, sizeof(json), "{\"part\":%u}", parts[i].part);
		assert_int_equal(load(json), 0);
		assert_int_equal(profile_hw_id(&p), parts[i].hw_id);
		assert_int_equal(profile_pcie_link(&p).generation, parts[i].generation);
		assert_int_equal(profile_pcie_link(&p).lanes, parts[i].lanes);
	}
}

static void port_and_part_of_a_card(void **state)
{
	(void)state;
	assert_int_equal(load("{\"part\":4123,\"link_speed\":\"hdr\",\"port_caps\":\"0xa651e848\","
			      "\"port_caps_2\":\"0x0032\",\"highest_numbers\":true}"), 0);
	assert_int_equal(profile_hw_id(&p), 0x20f);
	assert_int_equal(p.link_speed, SPEED_HDR);
	assert_int_equal(p.port_caps, 0xa651e848);
	assert_int_equal(p.port_caps_2, 0x32);
	assert_true(p.highest_numbers);
	refused("{\"part\":4999}", "must be the PCI device ID of a ConnectX");
	refused("{\"link_speed\":\"qdr\"}", "fdr, edr, hdr or ndr");
	refused("{\"link_speed\":null}", "fdr, edr, hdr or ndr");
	refused("{\"port_caps\":\"0x1a651e848\"}", "mask of 32 bits");
	refused("{\"port_caps\":5}", "mask of 32 bits");
	refused("{\"port_caps_2\":\"0x10000\"}", "mask of 16 bits");
	refused("{\"port_caps_3\":\"0x1\"}", "no such setting");
	refused("{\"port_caps\":\"0x0\",\"port_caps_2\":\"0x2\"}", "bit 15");
	refused("{\"cycle_numbers\":true,\"highest_numbers\":true}", "cycle_numbers");
}

static void contradictions_are_refused(void **state)
{
	(void)state;
	refused("{\"caps\":{\"general\":{\"uar_4k\":1,\"num_of_uars_per_page\":0}}}",
		"num_of_uars_per_page");
	refused("{\"caps\":{\"general\":{\"uar_4k\":{\"max\":1,\"cur\":0},"
		"\"num_of_uars_per_page\":0}}}", "uar_4k without num_of_uars_per_page");
	refused("{\"caps\":{\"general\":{\"log_uar_page_sz\":{\"max\":9,\"cur\":0}}}}",
		"the maximum of log_uar_page_sz is 9, must be at most 8");
	assert_int_equal(load("{\"caps\":{\"general\":{\"log_uar_page_sz\":{\"max\":8,"
			      "\"cur\":8}}}}"), 0);
	refused("{\"caps\":{\"general\":{\"log_max_qp\":{\"max\":10,\"cur\":12}}}}", "maximum");
	refused("{\"caps\":{\"general\":{\"uar_sz\":6}}}", "uar_sz");
	refused("{\"caps\":{\"general\":{\"uar_sz\":37}}}", "uar_sz");
	refused("{\"log_bar_size\":24}", "uar_sz");
	refused("{\"caps\":{\"atomic\":{\"atomic_operations\":0}}}", "atomic_operations");
	refused("{\"caps\":{\"atomic\":{\"atomic_size_qp\":0}}}", "atomic_size_qp");
	refused("{\"caps\":{\"general\":{\"rc\":0,\"uc\":0,\"ud\":0}}}", "none of rc");
	refused("{\"caps\":{\"general\":{\"tag_matching\":1}}}", "log_tag_matching_list_sz is 0");
	refused("{\"caps\":{\"general\":{\"tag_matching\":1,\"log_tag_matching_list_sz\":7,"
		"\"rc\":0}}}", "tag_matching is set");
	refused("{\"caps\":{\"general\":{\"port_type\":1}}}", "port_type");
	refused("{\"caps\":{\"general\":{\"roce\":1}}}", "roce");
	refused("{\"caps\":{\"device_memory\":{\"memic\":0}}}",
		"memic, the only kind of it, is not");
	refused("{\"caps\":{\"general\":{\"max_wqe_sz_sq\":1000}}}", "powers of two");
	refused("{\"one_clock\":true,\"caps\":{\"general\":{\"sq_ts_format\":2}}}", "one_clock");
	refused("{\"caps\":{\"general\":{\"log_max_uctx\":0,\"umem_uid_0\":0}}}",
		"neither a user context nor the kernel");
	refused("{\"caps\":{\"general\":{\"log_max_umem\":0}}}", "umem_uid_0");
	refused("{\"caps\":{\"general\":{\"general_obj_types\":1}}}", "no general objects");
	refused("{\"caps\":{\"general\":{\"qos\":1}}}", "no qos capabilities are given");
	refused("{\"caps\":{\"general\":{\"qos\":1},\"qos\":{\"nic_sq_scheduling\":1}}}",
		"nic_sq_scheduling is set");
	refused("{\"caps\":{\"general\":{\"qos\":1},\"qos\":{\"packet_pacing\":1,"
		"\"packet_pacing_rate_table_size\":8,\"packet_pacing_min_rate\":2,"
		"\"packet_pacing_max_rate\":1}}}", "packet_pacing_min_rate is 0");
	refused("{\"caps\":{\"general_2\":{\"general_obj_types_127_64\":1}}}",
		"no general objects");
}

static void events_are_of_an_object_or_of_the_device(void **state)
{
	(void)state;
	/* Bits of COMM_EST (an event of queue pairs), commands, page requests and completions. */
	refused("{\"caps\":{\"device_event\":{\"user_unaffiliated_events\":516}}}",
		"both affiliated");
	refused("{\"caps\":{\"device_event\":{\"user_unaffiliated_events\":1024}}}",
		"not for users");
	refused("{\"caps\":{\"device_event\":{\"user_affiliated_events\":2048}}}", "not for users");
	refused("{\"caps\":{\"device_event\":{\"user_affiliated_events\":1}}}", "not for users");
	refused("{\"caps\":{\"general\":{\"log_max_uctx\":0,\"log_max_umem\":0,\"umem_uid_0\":0}}}",
		"there are no users");
	/* Without event_cap the bits mean nothing. */
	assert_int_equal(load("{\"caps\":{\"general\":{\"event_cap\":0},\"device_event\":{"
			      "\"user_affiliated_events\":1}}}"), 0);
}

static void device_memory_must_fit_the_bar(void **state)
{
	const char *const bad[][2] = {
		{ "\"memic_bar_start_addr\":33161216,\"memic_bar_size\":135168", "end at" },
		{ "\"memic_bar_start_addr\":33161217", "whole pages" },
		{ "\"memic_bar_start_addr\":16384", "no object of kind uar is possible" },
		{ "\"memic_bar_start_addr\":18446744073709547520", "" },
		{ "\"memic_bar_size\":0", "whole pages" },
		{ "\"memic_bar_size\":4096", "max_memic_size" },
		{ "\"max_memic_size\":0", "max_memic_size" },
		{ "\"log_min_memic_alloc_size\":5", "log_min_memic_alloc_size" },
		{ "\"log_min_memic_alloc_size\":18", "log_min_memic_alloc_size" },
		{ "\"log_max_memic_addr_alignment\":12", "log_max_memic_addr_alignment" },
		{ "\"log_max_memic_addr_alignment\":60", "log_max_memic_addr_alignment" },
		{ "\"memic_operations\":4", "memic_operations" },
	};
	char json[200];
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(json, sizeof(json), "{\"caps\":{\"device_memory\":{%s}}}", bad[i][0]);
		refused(json, bad[i][1]);
	}
	assert_int_equal(load("{\"caps\":{\"device_memory\":{\"memic_bar_start_addr\":65536,"
			      "\"memic_bar_size\":8192,\"max_memic_size\":4096,"
			      "\"log_min_memic_alloc_size\":12,"
			      "\"memic_operations\":2}}}"), 0);
	assert_int_equal(p.range[OBJ_UAR].limit, 16);
	/* The access widths of the operations. */
	assert_int_equal(p.cap[1][0x0f][4], 0);
	assert_int_equal(p.cap[1][0x0f][6], 1);
	/* Without device memory these fields mean nothing, and all of the BAR has UARs. */
	assert_int_equal(load("{\"caps\":{\"general\":{\"device_memory\":0},\"device_memory\":{"
			      "\"memic_bar_size\":1}}}"), 0);
	assert_int_equal(p.range[OBJ_UAR].limit, 8192);
}

static void values_out_of_bounds_are_refused(void **state)
{
	(void)state;
	refused("{\"caps\":{\"general\":{\"num_ports\":2}}}", "num_ports");
	refused("{\"caps\":{\"general\":{\"log_max_qp\":2}}}", "log_max_qp");
	refused("{\"caps\":{\"general\":{\"log_bf_reg_size\":8}}}", "log_bf_reg_size");
	refused("{\"caps\":{\"general\":{\"cqe_version\":2}}}", "cqe_version");
	refused("{\"caps\":{\"general\":{\"log_max_eq_sz\":4}}}", "log_max_eq_sz");
	refused("{\"caps\":{\"general\":{\"device_frequency_khz\":0}}}", "device_frequency_khz");
	refused("{\"caps\":{\"general\":{\"log_max_uctx\":16}}}", "log_max_uctx");
	refused("{\"caps\":{\"general\":{\"log_max_umem\":25}}}", "log_max_umem");
	refused("{\"vectors\":0}", "vectors");
	refused("{\"vectors\":65}", "vectors");
	refused("{\"log_bar_size\":40}", "log_bar_size");
	refused("{\"limits\":{\"uar\":100000}}", "limits.uar");
	refused("{\"limits\":{\"uar\":0}}", "uar");
}

/* Set a general capability, and tell whether its value is refused as out of bounds. */
static bool out_of_bounds(const char *field, uint32_t value)
{
	char json[100], reason[80];

	snprintf(json, sizeof(json), "{\"caps\":{\"general\":{\"%s\":%u}}}", field, value);
	snprintf(reason, sizeof(reason), "%s is %u, must be from", field, value);
	return load(json) && strstr(why, reason);
}

/* The values that are refused are those below the least and above the greatest. */
static void each_capability_has_its_bounds(void **state)
{
	static const struct { const char *field; uint32_t min, max; } bounds[] = {
		{ "num_ports", 1, 1 }, { "port_type", 0, 1 }, { "log_max_qp", 7, 23 },
		{ "log_max_sq", 0, 20 }, { "log_max_rq", 0, 20 }, { "log_max_tis", 0, 20 },
		{ "log_max_tis_per_sq", 0, 1 }, { "log_max_tir", 0, 20 },
		{ "log_max_rqt", 0, 20 }, { "log_max_rqt_size", 0, 15 },
		{ "log_max_cq", 2, 24 }, { "log_max_eq", 2, 8 },
		{ "log_max_srq", 0, 24 }, { "log_max_mkey", 6, 24 }, { "log_max_pd", 1, 24 },
		{ "log_max_qp_sz", 1, 15 }, { "log_max_srq_sz", 1, 16 },
		{ "log_max_cq_sz", 1, 22 }, { "log_max_eq_sz", 8, 22 }, { "log_max_wq_sz", 0, 15 },
		{ "log_max_msg", 1, 30 },
		{ "cqe_version", 0, 1 }, { "log_bf_reg_size", 9, 9 },
		{ "max_wqe_sz_sq", 64, 1024 }, { "max_wqe_sz_rq", 16, 512 },
		{ "log_max_ra_req_qp", 0, 7 }, { "log_max_ra_res_qp", 0, 7 },
		{ "device_frequency_khz", 1000, 4000000 }, { "gid_table_size", 0, 4 },
		{ "pkey_table_size", 0, 5 }, { "log_max_klm_list_size", 2, 26 },
		{ "log_max_transport_domain", 1, 24 }, { "log_max_xrcd", 1, 24 },
		{ "log_tag_matching_list_sz", 0, 15 },
		{ "sq_ts_format", 0, 2 }, { "log_max_uctx", 0, 15 }, { "log_max_umem", 0, 24 },
		{ "wq_signature", 0, 0 }, { "cd", 0, 0 }, { "qp_packet_based", 0, 0 },
		{ "rndv_offload_dc", 0, 0 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bounds); i++) {
		if (out_of_bounds(bounds[i].field, bounds[i].min) ||
		    out_of_bounds(bounds[i].field, bounds[i].max))
			fail_msg("%s", why);
		if (bounds[i].min && !out_of_bounds(bounds[i].field, bounds[i].min - 1))
			fail_msg("%s may be %u", bounds[i].field, bounds[i].min - 1);
		if (!out_of_bounds(bounds[i].field, bounds[i].max + 1))
			fail_msg("%s may be %u", bounds[i].field, bounds[i].max + 1);
	}
}

static void each_setting_has_its_bounds(void **state)
{
	static const char *const qos[] = {
		"esw_scheduling", "esw_bw_share", "esw_rate_limit", "nic_sq_scheduling",
		"nic_bw_share", "nic_rate_limit", "packet_pacing_req_ud", "packet_pacing_req_uc",
	};
	static const char *const pacing[] = {
		"\"packet_pacing_rate_table_size\":1,\"packet_pacing_min_rate\":1",
		"\"packet_pacing_rate_table_size\":2,\"packet_pacing_min_rate\":0",
	};
	char json[200];
	unsigned int i;

	(void)state;
	refused("{\"virtual_functions\":128}", "at most 127");
	refused("{\"virtual_functions\":1,\"caps\":{\"general\":{\"vport_group_manager\":0}}}",
		"vport_group_manager is 0");
	refused("{\"vport_speed\":65536}", "the field has 16 bits");
	refused("{\"command_delay_us\":1000001}", "at most a second");
	refused("{\"command_timeout_ms\":1048576}", "the register has 20 bits");
	refused("{\"mtu\":128}", "mtu is 128");
	refused("{\"log_bar_size\":19}", "from 20 to 32");
	refused("{\"log_bar_size\":33,\"caps\":{\"general\":{\"uar_sz\":13}}}", "from 20 to 32");
	refused("{\"one_clock\":true,\"caps\":{\"general\":{\"rq_ts_format\":1}}}", "one_clock");
	refused("{\"caps\":{\"general\":{\"max_wqe_sz_rq\":48}}}", "powers of two");
	for (i = 0; i < ARRAY_SIZE(qos); i++) {
		snprintf(json, sizeof(json), "{\"caps\":{\"general\":{\"qos\":1},\"qos\":{"
			 "\"%s\":1}}}", qos[i]);
		refused(json, qos[i]);
	}
	for (i = 0; i < ARRAY_SIZE(pacing); i++) {
		snprintf(json, sizeof(json), "{\"caps\":{\"general\":{\"qos\":1},\"qos\":{"
			 "\"packet_pacing\":1,\"packet_pacing_max_rate\":9,%s}}}", pacing[i]);
		refused(json, "packet_pacing_min_rate is 0");
	}
	assert_int_equal(load("{\"caps\":{\"general\":{\"qos\":1},\"qos\":{"
			      "\"packet_pacing\":1,\"packet_pacing_max_rate\":9,"
			      "\"packet_pacing_min_rate\":9,"
			      "\"packet_pacing_rate_table_size\":2}}}"), 0);
}

/* A profile that was not loaded from a file is checked, too. */
static void profile_without_a_file_is_checked(void **state)
{
	(void)state;
	assert_int_equal(profile_default(&p, false), 0);
	p.log_bar_size = 19;
	assert_int_equal(profile_check(&p, why, sizeof(why)), -22);
	assert_non_null(strstr(why, "log_bar_size is 19, must be from 20 to 32"));
	p.log_bar_size = 33;
	assert_int_equal(profile_check(&p, why, sizeof(why)), -22);
	assert_non_null(strstr(why, "log_bar_size is 33, must be from 20 to 32"));
}

static void malformed_files_are_refused(void **state)
{
	(void)state;
	refused("[]", "not a JSON object");
	refused("{\"frob\":1}", "no such setting");
	refused("{\"caps\":{\"frob\":{}}}", "no such page");
	refused("{\"caps\":{\"general\":{\"frob\":1}}}", "no such capability");
	refused("{\"caps\":{\"general\":{\"reserved_at_0\":1}}}", "no such capability");
	refused("{\"caps\":{\"general\":{\"log_max_qp\":99}}}", "does not fit");
	refused("{\"caps\":{\"general\":{\"log_max_qp\":\"x\"}}}", "not a number");
	refused("{\"caps\":{\"general\":{\"log_max_qp\":{\"max\":3}}}}", "needs max and cur");
	refused("{\"limits\":{\"frob\":1}}", "no such kind");
	refused("{\"limits\":5}", "limits is not an object");
	refused("{\"caps\":5}", "caps is not an object");
	refused("{\"log_bar_size\":19}", "must be from 20 to 32");
	refused("{\"log_bar_size\":99}", "must be from 20 to 32");
	refused("{\"link\":\"token-ring\"}", "link");
	refused("{\"pkeys\":5}", "not a list");
	refused("{\"pkeys\":[]}", "from 1 to");
	refused("{\"pkeys\":[\"0xffff\",\"0x10000\"]}", "0x10000 is not a P_Key");
	refused("{\"pkeys\":[\"0xffff\",\"red\"]}", "red is not a P_Key");
	refused("{\"pkeys\":[\"0x8001\"]}", "pkeys[0]");
	/* strtoul() would accept a sign or white space. */
	refused("{\"pkeys\":[\"0xffff\",\"-18446744073709518847\"]}", "is not a P_Key");
	refused("{\"pkeys\":[\"0xffff\",\"+0x8001\"]}", "+0x8001 is not a P_Key");
	refused("{\"pkeys\":[\"0xffff\",\" 0x8001\"]}", " 0x8001 is not a P_Key");
	refused("{\"pkeys\":[\"0xffff\",\"\"]}", "is not a P_Key");
	refused("{\"port_caps\":\"-ffffffff00000001\"}", "is no mask of 32 bits");
	refused("{\"port_caps\":\"+1\"}", "\"+1\" is no mask of 32 bits");
	refused("{\"port_caps_2\":\" 1\"}", "\" 1\" is no mask of 16 bits");
	refused("{\"port_caps_2\":\"\"}", "is no mask of 16 bits");
	refused("{\"port_caps\":\"0x1g\"}", "is no mask of 32 bits");
	refused("{\"port_caps\":\"0x100000000\"}", "is no mask of 32 bits");
	refused("{\"port_caps_2\":\"0x10000\"}", "is no mask of 16 bits");
	/* Numbers are not cut to 32 bits, and are not negative. */
	refused("{\"vectors\":4294967300}", "vectors is 4294967300, has at most 32 bits");
	refused("{\"vectors\":-4294967292}", "vectors is not a number");
	refused("{\"map_memic\":1}", "not true or false");
	refused("{\"gids\":9}", "gids");
	refused("{\"gids\":0}", "gids");
	refused("{\"mtu\":1500}", "mtu");
	refused("{\"mtu\":8192}", "mtu");
	refused("{\"log_min_ack_timeout\":32}", "log_min_ack_timeout");
	profile_default(&p, false);
	assert_int_equal(profile_load(&p, "/nonexistent", why, sizeof(why)), -22);
	assert_non_null(strstr(why, "/nonexistent"));
	refused("{", "");
}

static void shipped_profiles_are_accepted(void **state)
{
	static const char *const names[] = {
		"default", "small", "few-uars", "old-firmware", "no-atomics", "no-odp",
		"memory-faults",
		"fixed-keys",
		"several-pkeys", "no-ib-virt", "no-windows", "real-time", "tag-matching",
		"no-ksm", "old-entities", "mapped-memory", "packed-operations", "busy-uars",
		"opensm", "slow-retries", "group-manager", "vf", "no-klm-umr", "eth-default",
		"eth-small", "eth-inline", "eth-inline-l4", "eth-device-vlan", "eth-l4type",
		"eth-moderation", "roce", "roce-v2-only", "roce-off", "src-port-by-device",
		"roce-slow-retries", "roce-mapped-memory", "roce-raw", "steering",
		"connectx-4lx", "connectx-5", "connectx-6", "connectx-6dx", "connectx-7",
		"connectx-4lx-eth", "connectx-5-eth", "connectx-6dx-eth",
	};
	static struct profile built_in;
	unsigned int i;
	char path[64];

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "profiles/%s.json", names[i]);
		profile_default(&p, false);
		if (profile_load(&p, path, why, sizeof(why)))
			fail_msg("%s: %s", path, why);
		assert_string_equal(p.name, names[i]);
		if (i)
			continue;
		profile_default(&built_in, false);
		assert_memory_equal(&p, &built_in, sizeof(p));
	}
}

/* Each differs from the default in what it is named after. */
static void ethernet_profiles_offer_what_they_are_for(void **state)
{
	static struct profile built_in;
	static const struct { const char *path; unsigned int mode, min, vlan, l4; } rows[] = {
		{ "profiles/eth-default.json", 2, 0, 0, 0 },
		{ "profiles/eth-inline.json", 0, 0, 0, 0 },
		{ "profiles/eth-inline-l4.json", 1, 3, 0, 0 },
		{ "profiles/eth-device-vlan.json", 2, 0, 1, 0 },
		{ "profiles/eth-l4type.json", 2, 0, 0, 1 },
	};
	unsigned int i;

	(void)state;
	profile_default(&built_in, true);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		profile_default(&p, false);
		assert_int_equal(profile_load(&p, rows[i].path, why, sizeof(why)), 0);
		assert_true(p.eth);
		assert_int_equal(ETH_CUR(wqe_inline_mode), rows[i].mode);
		assert_int_equal(p.min_wqe_inline_mode, rows[i].min);
		assert_int_equal(ETH_CUR(wqe_vlan_insert), rows[i].vlan);
		assert_int_equal(IFC_GET(cmd_hca_cap_2, p.cap[1][CAP_GENERAL_2], pcc_ifa2),
				 rows[i].l4);
		assert_int_equal(IFC_GET(flow_table_nic_cap, p.cap[1][CAP_FLOW_TABLE],
					 ft_field_support_2_nic_receive.outer_l4_type),
				 rows[i].l4);
		assert_memory_equal(p.cap[1][CAP_GENERAL], built_in.cap[1][CAP_GENERAL],
				    HCA_CAP_SIZE);
	}
}

/* The numbers that users of Ethernet cards have published, and the port. */
static void ethernet_cards_have_the_published_numbers(void **state)
{
	static const struct {
		const char *path, *fw;
		unsigned int part, qps, pds, tables, khz;
	} cards[] = {
		{ "profiles/connectx-4lx-eth.json", "14.27.1016", 4117, 262144, 16777216, 1024,
		  156250 },
		{ "profiles/connectx-5-eth.json", "16.31.1014", 4119, 262144, 8388608, 1048576,
		  156250 },
		{ "profiles/connectx-6dx-eth.json", "22.36.1010", 4125, 131072, 8388608, 524288,
		  1000000 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cards); i++) {
		profile_default(&p, false);
		assert_int_equal(profile_load(&p, cards[i].path, why, sizeof(why)), 0);
		assert_true(p.eth && p.one_bar && p.highest_numbers);
		assert_int_equal(CUR(port_type), 1);
		assert_int_equal(p.part, cards[i].part);
		assert_string_equal(p.fw_version, cards[i].fw);
		assert_int_equal(1 << CUR(log_max_qp), cards[i].qps);
		assert_int_equal(1 << CUR(log_max_pd), cards[i].pds);
		assert_true(CUR(roce));
		assert_int_equal(1 << CUR(log_max_rqt), cards[i].tables);
		assert_int_equal(1 << ETH_CUR(max_lso_cap), 262144);
		assert_int_equal(p.core_clock_khz, cards[i].khz);
	}
}

/* The name is padded to the longest one, which leaves one blank. */
static void cards_describe_themselves_by_part_and_name(void **state)
{
	static const struct { const char *profile, *description; } cards[] = {
		{ "connectx-4lx", "MT4117 ConnectX4Lx Mellanox Technologies" },
		{ "connectx-5", "MT4119 ConnectX5   Mellanox Technologies" },
		{ "connectx-6", "MT4123 ConnectX6   Mellanox Technologies" },
		{ "connectx-6dx", "MT4125 ConnectX6Dx Mellanox Technologies" },
		{ "connectx-7", "MT4129 ConnectX7   Mellanox Technologies" },
		{ "connectx-4lx-eth", "MT4117 ConnectX4Lx Mellanox Technologies" },
		{ "connectx-5-eth", "MT4119 ConnectX5   Mellanox Technologies" },
		{ "connectx-6dx-eth", "MT4125 ConnectX6Dx Mellanox Technologies" },
	};
	unsigned int i;
	char path[64];

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cards); i++) {
		snprintf(path, sizeof(path), "profiles/%s.json", cards[i].profile);
		profile_default(&p, false);
		assert_string_equal(p.node_description, "");
		assert_int_equal(profile_load(&p, path, why, sizeof(why)), 0);
		assert_string_equal(p.node_description, cards[i].description);
	}
}

static void cards_place_data_out_of_order_as_published(void **state)
{
	static const struct { const char *path; bool rc, uc, ud, xrc; } cards[] = {
		{ "profiles/default.json", true, true, true, true },
		{ "profiles/connectx-4lx.json", false, false, false, false },
		{ "profiles/connectx-5.json", true, false, false, true },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cards); i++) {
		profile_default(&p, false);
		assert_int_equal(profile_load(&p, cards[i].path, why, sizeof(why)), 0);
		assert_int_equal(CUR(dp_ordering_ooo_all_rc), cards[i].rc);
		assert_int_equal(CUR(dp_ordering_ooo_all_uc), cards[i].uc);
		assert_int_equal(CUR(dp_ordering_ooo_all_ud), cards[i].ud);
		assert_int_equal(CUR(dp_ordering_ooo_all_xrc), cards[i].xrc);
	}
}

/* Bit 10 of the capability mask is IsSMdisabled. Apart from this bit the mask is the default. */
static void virtual_function_has_its_subnet_manager_disabled(void **state)
{
	uint32_t mask;

	(void)state;
	profile_default(&p, false);
	mask = p.port_caps;
	assert_int_equal(profile_load(&p, "profiles/vf.json", why, sizeof(why)), 0);
	assert_int_equal(p.port_caps, mask | 1 << 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_profile_is_accepted),
		cmocka_unit_test(ethernet_port_has_the_expected_capabilities),
		cmocka_unit_test(numbers_of_queues_are_apart),
		cmocka_unit_test(nic_capabilities_fit_together),
		cmocka_unit_test(ethernet_profiles_offer_what_they_are_for),
		cmocka_unit_test(ethernet_cards_have_the_published_numbers),
		cmocka_unit_test(roce_is_offered_by_its_profiles),
		cmocka_unit_test(roce_capabilities_fit_together),
		cmocka_unit_test(flow_tables_have_what_the_driver_needs),
		cmocka_unit_test(default_has_the_expected_capabilities),
		cmocka_unit_test(file_changes_the_default),
		cmocka_unit_test(limits_are_up_to_what_the_capabilities_allow),
		cmocka_unit_test(each_number_has_its_member),
		cmocka_unit_test(each_switch_and_each_text_has_its_member),
		cmocka_unit_test(each_speed_and_each_part_has_its_number),
		cmocka_unit_test(port_and_part_of_a_card),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(events_are_of_an_object_or_of_the_device),
		cmocka_unit_test(device_memory_must_fit_the_bar),
		cmocka_unit_test(values_out_of_bounds_are_refused),
		cmocka_unit_test(each_capability_has_its_bounds),
		cmocka_unit_test(each_setting_has_its_bounds),
		cmocka_unit_test(profile_without_a_file_is_checked),
		cmocka_unit_test(malformed_files_are_refused),
		cmocka_unit_test(shipped_profiles_are_accepted),
		cmocka_unit_test(cards_describe_themselves_by_part_and_name),
		cmocka_unit_test(cards_place_data_out_of_order_as_published),
		cmocka_unit_test(virtual_function_has_its_subnet_manager_disabled),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
