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
	refused("{\"part\":4999}", "no ConnectX");
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
	refused("{\"caps\":{\"general\":{\"log_max_qp\":{\"max\":10,\"cur\":12}}}}", "maximum");
	refused("{\"caps\":{\"general\":{\"uar_sz\":6}}}", "uar_sz");
	refused("{\"caps\":{\"general\":{\"uar_sz\":37}}}", "uar_sz");
	refused("{\"log_bar_size\":24}", "uar_sz");
	refused("{\"caps\":{\"atomic\":{\"atomic_operations\":0}}}", "atomic_operations");
	refused("{\"caps\":{\"atomic\":{\"atomic_size_qp\":0}}}", "atomic_size_qp");
	refused("{\"caps\":{\"general\":{\"rc\":0,\"uc\":0,\"ud\":0}}}", "none of rc");
	refused("{\"caps\":{\"general\":{\"port_type\":1}}}", "port_type");
	refused("{\"caps\":{\"general\":{\"roce\":1}}}", "roce");
	refused("{\"caps\":{\"device_memory\":{\"memic\":0}}}",
		"memic, the only kind of it, is not");
	refused("{\"caps\":{\"general\":{\"max_wqe_sz_sq\":1000}}}", "powers of two");
	refused("{\"one_clock\":true,\"caps\":{\"general\":{\"sq_ts_format\":2}}}", "one_clock");
	refused("{\"caps\":{\"general\":{\"log_max_uctx\":0,\"umem_uid_0\":0}}}", "nobody");
	refused("{\"caps\":{\"general\":{\"log_max_umem\":0}}}", "umem_uid_0");
	refused("{\"caps\":{\"general\":{\"general_obj_types\":1}}}", "no general objects");
	refused("{\"caps\":{\"general\":{\"qos\":1}}}", "no qos capabilities are given");
	refused("{\"caps\":{\"general\":{\"qos\":1},\"qos\":{\"nic_sq_scheduling\":1}}}",
		"nic_sq_scheduling is set");
	refused("{\"caps\":{\"general\":{\"qos\":1},\"qos\":{\"packet_pacing\":1,"
		"\"packet_pacing_rate_table_size\":8,\"packet_pacing_min_rate\":2,"
		"\"packet_pacing_max_rate\":1}}}", "the table has no rates");
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
	refused("{", "");
}

static void shipped_profiles_are_accepted(void **state)
{
	static const char *const names[] = {
		"default", "small", "few-uars", "old-firmware", "no-atomics", "no-odp",
		"memory-faults",
		"fixed-keys",
		"several-pkeys", "no-ib-virt", "no-windows", "real-time",
		"no-ksm", "old-entities", "mapped-memory", "busy-uars", "opensm", "slow-retries",
		"group-manager", "vf", "no-klm-umr",
		"connectx-4lx", "connectx-5", "connectx-6", "connectx-6dx", "connectx-7",
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_profile_is_accepted),
		cmocka_unit_test(default_has_the_expected_capabilities),
		cmocka_unit_test(file_changes_the_default),
		cmocka_unit_test(port_and_part_of_a_card),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(events_are_of_an_object_or_of_the_device),
		cmocka_unit_test(device_memory_must_fit_the_bar),
		cmocka_unit_test(values_out_of_bounds_are_refused),
		cmocka_unit_test(malformed_files_are_refused),
		cmocka_unit_test(shipped_profiles_are_accepted),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
