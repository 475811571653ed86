// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles made of a card's capability pages: what the HCA models is taken over as far as it can
 * be, everything else is listed, and the result can be loaded.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "ifc.h"
#include "object.h"
#include "profile.h"

static struct profile card, made;
static char dir[64], why[200], json[8192], report[8192];

#define BOTH(type, strct, fld, v) do { \
	IFC_SET(strct, card.cap[0][type], fld, v); \
	IFC_SET(strct, card.cap[1][type], fld, v); \
} while (0)
#define GEN(fld, v)	BOTH(CAP_GENERAL, cmd_hca_cap, fld, v)
#define CUR(fld)	IFC_GET(cmd_hca_cap, made.cap[1][0], fld)
#define MAX(fld)	IFC_GET(cmd_hca_cap, made.cap[0][0], fld)

static const char *in_dir(const char *name)
{
	static char path[100];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void write_page(unsigned int type, bool cur)
{
	static char text[3 * HCA_CAP_SIZE];
	unsigned int i, n = 0;
	char name[32];

	for (i = 0; i < HCA_CAP_SIZE; i++)
		n += sprintf(text + n, "%02X%s", card.cap[cur][type][i], i % 32 == 31 ? "\n" : "");
	snprintf(name, sizeof(name), "%02x-%s.hex", type, cur ? "cur" : "max");
	write_file(name, text);
}

/* Start with a card that has the capabilities of the default HCA. The tests change them. */
static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/cardXXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(profile_default(&card, false), 0);
	return 0;
}

static int teardown(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static void write_pages(void)
{
	unsigned int type, cur;

	for (type = 0; type < HCA_CAP_TYPES; type++)
		for (cur = 0; cur < 2 && card.cap_valid[type]; cur++)
			write_page(type, cur);
}

/* Make the profile of the pages in the directory. */
static int make(const char *settings)
{
	char from[100];
	FILE *out, *to;
	int err;

	memset(json, 0, sizeof(json));
	memset(report, 0, sizeof(report));
	out = fmemopen(json, sizeof(json) - 1, "w");
	to = fmemopen(report, sizeof(report) - 1, "w");
	write_file("settings.json", settings);
	snprintf(from, sizeof(from), "%s", in_dir("settings.json"));
	err = profile_from_card(from, dir, out, to, why, sizeof(why));
	fclose(out);
	fclose(to);
	return err;
}

static unsigned int open_files(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Make the profile, and load it: an HCA accepts what was made. */
static void make_and_load(const char *settings)
{
	unsigned int files = open_files();

	write_pages();
	if (make(settings))
		fail_msg("%s", why);
	assert_int_equal(open_files(), files);
	write_file("made.json", json);
	profile_default(&made, false);
	if (profile_load(&made, in_dir("made.json"), why, sizeof(why)))
		fail_msg("%s\n%s", why, json);
}

static void reports(const char *line)
{
	if (!strstr(report, line))
		fail_msg("no \"%s\" in:\n%s", line, report);
}

static void own_capabilities_change_nothing(void **state)
{
	static struct profile built_in;

	(void)state;
	make_and_load("{\"name\":\"default\"}");
	assert_string_equal(report, "");
	profile_default(&built_in, false);
	assert_memory_equal(&made, &built_in, sizeof(made));
}

static void modelled_values_are_taken(void **state)
{
	(void)state;
	GEN(log_max_pd, 12);
	GEN(sq_ts_format, 2);
	GEN(log_max_cq_sz, 20);
	IFC_SET(cmd_hca_cap, card.cap[1][0], log_max_cq_sz, 19);
	IFC_SET(cmd_hca_cap, card.cap[1][0], log_max_srq_sz, 14);
	BOTH(CAP_ODP, odp_cap, transport_page_fault_scheme_cap.ud_odp_caps.send, 0);
	make_and_load("{\"vectors\":20,\"fw_version\":\"16.31.1014\",\"mtu\":2048}");
	assert_int_equal(CUR(log_max_pd), 12);
	assert_int_equal(CUR(sq_ts_format), 2);
	assert_int_equal(MAX(log_max_cq_sz), 20);
	assert_int_equal(CUR(log_max_cq_sz), 19);
	assert_int_equal(MAX(log_max_srq_sz), 15);
	assert_int_equal(CUR(log_max_srq_sz), 14);
	assert_int_equal(IFC_GET(odp_cap, made.cap[1][CAP_ODP],
				 transport_page_fault_scheme_cap.ud_odp_caps.send), 0);
	assert_int_equal(made.vectors, 20);
	assert_int_equal(made.mtu, 2048);
	assert_string_equal(made.fw_version, "16.31.1014");
	assert_string_equal(report, "");
}

/*
 * The card's pages were read after mlx5_core had turned the memory scheme on. The profile only
 * offers the scheme, so that mlx5_core turns it on at the HCA, too.
 */
static void memory_scheme_is_taken(void **state)
{
	(void)state;
	BOTH(CAP_ODP, odp_cap, mem_page_fault, 1);
	BOTH(CAP_ODP, odp_cap, memory_page_fault_scheme_cap.page_prefetch, 1);
	BOTH(CAP_ODP, odp_cap, memory_page_fault_scheme_cap.rc_odp_caps.send, 1);
	BOTH(CAP_ODP, odp_cap, memory_page_fault_scheme_cap.xrc_odp_caps.srq_receive, 1);
	make_and_load("{}");
	assert_int_equal(IFC_GET(odp_cap, made.cap[0][CAP_ODP], mem_page_fault), 1);
	assert_int_equal(IFC_GET(odp_cap, made.cap[1][CAP_ODP], mem_page_fault), 0);
	assert_int_equal(IFC_GET(odp_cap, made.cap[1][CAP_ODP],
				 memory_page_fault_scheme_cap.page_prefetch), 1);
	assert_int_equal(IFC_GET(odp_cap, made.cap[1][CAP_ODP],
				 memory_page_fault_scheme_cap.rc_odp_caps.send), 1);
	assert_int_equal(IFC_GET(odp_cap, made.cap[1][CAP_ODP],
				 memory_page_fault_scheme_cap.xrc_odp_caps.srq_receive), 1);
	assert_string_equal(report, "");
}

static void unknown_part_is_not_taken(void **state)
{
	(void)state;
	make_and_load("{\"part\":4129}");
	assert_int_equal(made.part, 4129);
	assert_string_equal(report, "");
	make_and_load("{\"part\":4118}");
	assert_int_equal(made.part, 4119);
	reports("part: the card has 4118, the profile 4119\n");
}

static void page_that_only_the_card_has_is_taken(void **state)
{
	(void)state;
	GEN(qos, 1);
	card.cap_valid[CAP_QOS] = true;
	BOTH(CAP_QOS, qos_cap, packet_pacing, 1);
	BOTH(CAP_QOS, qos_cap, packet_pacing_min_rate, 1);
	BOTH(CAP_QOS, qos_cap, packet_pacing_max_rate, 25000000);
	BOTH(CAP_QOS, qos_cap, packet_pacing_rate_table_size, 128);
	BOTH(CAP_QOS, qos_cap, nic_sq_scheduling, 1);
	make_and_load("{}");
	assert_int_equal(IFC_GET(qos_cap, made.cap[1][CAP_QOS], packet_pacing_max_rate), 25000000);
	reports("qos.nic_sq_scheduling: the card has 1, the profile 0, as the HCA does not model");
}

static void what_is_not_modelled_is_counted(void **state)
{
	(void)state;
	GEN(wq_signature, 1);
	GEN(eswitch_manager, 1);
	GEN(general_obj_types, 0x80);
	card.cap_valid[8] = true;
	make_and_load("{\"comment\":\"A card.\"}");
	assert_int_equal(CUR(eswitch_manager), 0);
	reports("general.wq_signature: the card has 1, the profile 0, as the HCA does not model");
	reports("general.eswitch_manager: ");
	reports("general.general_obj_types: the card has 128");
	reports("page 08: ");
	assert_non_null(strstr(json, "A card. The card also has 4 capabilities that the HCA does"));
	assert_non_null(strstr(json, "; 0 others have"));
}

/* The value that is reported is the maximum, unless only the current value is another one. */
static void maximum_is_reported(void **state)
{
	(void)state;
	IFC_SET(cmd_hca_cap, card.cap[0][0], wq_signature, 1);
	make_and_load("{}");
	reports("general.wq_signature: the card has 1, the profile 0, as the HCA does not model");
}

static void values_out_of_bounds_are_adapted(void **state)
{
	(void)state;
	GEN(log_max_eq, 12);
	GEN(uctx_cap, 0xf);
	GEN(max_indirection, 5);
	GEN(native_port_num, 2);
	BOTH(CAP_ATOMIC, atomic_caps, atomic_size_qp, 0x1f8);
	BOTH(CAP_DEV_EVENT, device_event_cap, user_unaffiliated_events[0], 0xffff);
	make_and_load("{\"vectors\":1000,\"gids\":200,\"init_pages\":100000}");
	assert_int_equal(CUR(log_max_eq), 8);
	assert_int_equal(CUR(uctx_cap), 0x3);
	assert_int_equal(CUR(max_indirection), 4);
	assert_int_equal(CUR(native_port_num), 1);
	assert_int_equal(made.vectors, 64);
	assert_int_equal(made.gids, 8);
	assert_int_equal(made.init_pages, 4096);
	reports("general.log_max_eq: the card has 12, the profile 8\n");
	reports("atomic.atomic_size_qp: the card has 504, the profile 8\n");
	reports("device_event.user_unaffiliated_events: the card has 65535, the profile 512\n");
	reports("vectors: the card has 1000, the profile 64\n");
	assert_non_null(strstr(json, "; 9 others have"));
}

/* The card's driver has set uar_4k from 0 to 1. The profile has the value before that, 0. */
static void current_value_is_the_one_before_the_driver(void **state)
{
	(void)state;
	IFC_SET(cmd_hca_cap, card.cap[1][0], uar_4k, 1);
	GEN(log_max_qp, 17);
	make_and_load("{}");
	assert_int_equal(MAX(uar_4k), 1);
	assert_int_equal(CUR(uar_4k), 0);
	assert_int_equal(MAX(log_max_qp), 17);
	assert_int_equal(CUR(log_max_qp), 17);
	assert_string_equal(report, "");
}

static void page_that_firmware_refuses_is_not_announced(void **state)
{
	(void)state;
	card.cap_valid[CAP_ODP] = false;
	card.cap_valid[CAP_GENERAL_2] = false;
	make_and_load("{}");
	assert_int_equal(CUR(pg), 0);
	assert_int_equal(MAX(hca_cap_2), 0);
	reports("general.pg: the card has 1, the profile 0\n");
}

/* A capability of a card without what the capability is about: events of users, and atomics. */
static void capability_without_its_object_is_not_taken(void **state)
{
	(void)state;
	GEN(log_max_uctx, 0);
	BOTH(CAP_ATOMIC, atomic_caps, atomic_operations, 0);
	make_and_load("{}");
	assert_int_equal(MAX(event_cap), 0);
	assert_int_equal(CUR(event_cap), 0);
	assert_int_equal(MAX(atomic), 0);
	assert_int_equal(CUR(atomic), 0);
	reports("general.event_cap: the card has 1, the profile 0\n");
	reports("general.atomic: the card has 1, the profile 0\n");
}

static void bar_decides_uars_and_device_memory(void **state)
{
	(void)state;
	BOTH(CAP_DEV_MEM, device_mem_cap, memic_operations, 1);
	make_and_load("{\"log_bar_size\":23}");
	assert_int_equal(CUR(uar_sz), 3);
	assert_int_equal(IFC_GET(device_mem_cap, made.cap[0][CAP_DEV_MEM], memic_operations), 1);
	assert_int_equal(IFC_GET(device_mem_cap, made.cap[1][CAP_DEV_MEM], memic_operations), 1);
	assert_int_equal(IFC_GET64(device_mem_cap, made.cap[1][CAP_DEV_MEM], memic_bar_start_addr),
			 0x800000 - 3 * 0x20000);
	reports("device_memory: the HCA cannot have the card's");
	reports("general.uar_sz: the card has 5, the profile 3\n");
	teardown(NULL);
	setup(NULL);
	make_and_load("{\"log_bar_size\":40}");
	assert_int_equal(made.log_bar_size, 32);
	assert_int_equal(CUR(uar_sz), 12);
}

static void memory_that_the_card_does_not_have_does_not_matter(void **state)
{
	(void)state;
	GEN(device_memory, 0);
	BOTH(CAP_DEV_MEM, device_mem_cap, memic_bar_start_addr, UINT64_MAX);
	make_and_load("{}");
	assert_int_equal(CUR(device_memory), 0);
	assert_int_equal(made.range[OBJ_UAR].limit, 1 << (25 - 12));
}

static void port_is_that_of_the_settings(void **state)
{
	(void)state;
	GEN(port_type, 1);
	make_and_load("{\"link\":\"ib\"}");
	assert_int_equal(CUR(port_type), 0);
	reports("general.port_type: the card has 1, the profile 0\n");
}

static void malformed_archives_are_refused(void **state)
{
	(void)state;
	assert_int_equal(make("{}"), -22);
	assert_non_null(strstr(why, "no 00-max.hex"));
	write_pages();
	assert_int_equal(make("{"), -22);
	assert_int_equal(make("[]"), -22);
	assert_int_equal(make("{\"nonsense\":1}"), -22);
	assert_non_null(strstr(why, "no such setting"));
	unlink(in_dir("03-cur.hex"));
	assert_int_equal(make("{}"), -22);
	assert_non_null(strstr(why, "only one of 03-max.hex and 03-cur.hex"));
	write_file("03-cur.hex", "0011 2");
	assert_int_equal(make("{}"), -22);
	assert_non_null(strstr(why, "03-cur.hex is not a page"));
	write_file("03-cur.hex", "no");
	assert_int_equal(make("{}"), -22);
	write_file("03-cur.hex", "");
	assert_int_equal(make("{}"), -22);
	write_page(CAP_ATOMIC, true);
	assert_int_equal(make("{}"), 0);
}

static void too_long_page_is_refused(void **state)
{
	static char text[2 * HCA_CAP_SIZE + 3];

	(void)state;
	write_pages();
	memset(text, '0', sizeof(text) - 1);
	write_file("03-cur.hex", text);
	assert_int_equal(make("{}"), -22);
	text[2 * HCA_CAP_SIZE] = 0;
	write_file("03-cur.hex", text);
	assert_int_equal(make("{}"), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(own_capabilities_change_nothing),
		CASE(modelled_values_are_taken),
		CASE(memory_scheme_is_taken),
		CASE(unknown_part_is_not_taken),
		CASE(page_that_only_the_card_has_is_taken),
		CASE(what_is_not_modelled_is_counted), CASE(maximum_is_reported),
		CASE(values_out_of_bounds_are_adapted),
		CASE(current_value_is_the_one_before_the_driver),
		CASE(page_that_firmware_refuses_is_not_announced),
		CASE(capability_without_its_object_is_not_taken),
		CASE(bar_decides_uars_and_device_memory),
		CASE(memory_that_the_card_does_not_have_does_not_matter),
		CASE(port_is_that_of_the_settings),
		CASE(malformed_archives_are_refused),
		CASE(too_long_page_is_refused),
	};

	return cmocka_run_group_tests_name("profile_card", tests, NULL, NULL);
}
