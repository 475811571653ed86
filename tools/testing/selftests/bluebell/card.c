// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cards: on an HCA whose profile plays a card, `ibv_devinfo -v` prints what the public record says
 * of that card, with either driver.
 */
#include <infiniband/verbs.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "klog.h"
#include "test.h"

#define MAX_FIELDS	160

/* MANAGED_FLOW_STEERING and UD_IP_CSUM: the HCA has neither flow steering nor checksums. */
#define FLAGS_ABSENT	0x20040000ull

#define LSPCI		"lspci -vvv -d 15b3:"
/* The serial number and the UUID of the first emulated HCA. */
#define SERIAL		"BB00000001"
#define UUID		"02b1ebe1000000000000000000000001"

struct field {
	const char *name, *value;
};

/*
 * What ibv_devinfo prints for every card. The value of a list is the lines that follow its name.
 */
static const struct field common[] = {
	{ "max_mr_size", "0xffffffffffffffff" }, { "page_size_cap", "0xfffffffffffff000" },
	{ "phys_port_cnt", "1" }, { "vendor_id", "0x02c9" }, { "max_qp_wr", "8192" },
	{ "max_sge", "30" }, { "max_sge_rd", "30" }, { "max_cq", "16777216" },
	{ "max_cqe", "4194303" }, { "max_mr", "16777216" }, { "max_mw", "16777216" },
	{ "max_qp_rd_atom", "16" }, { "max_qp_init_rd_atom", "16" }, { "max_ee_rd_atom", "0" },
	{ "max_ee_init_rd_atom", "0" }, { "max_ee", "0" }, { "max_rdd", "0" },
	{ "max_raw_ipv6_qp", "0" }, { "max_raw_ethy_qp", "0" }, { "max_fmr", "0" },
	{ "atomic_cap", "ATOMIC_HCA (1)" }, { "max_mcast_grp", "2097152" },
	{ "max_mcast_qp_attach", "240" }, { "max_total_mcast_qp_attach", "503316480" },
	{ "max_ah", "2147483647" }, { "max_srq", "8388608" }, { "max_srq_wr", "32767" },
	{ "max_srq_sge", "31" }, { "max_pkeys", "128" }, { "local_ca_ack_delay", "16" },
	{ "general_odp_caps", "ODP_SUPPORT ODP_SUPPORT_IMPLICIT" },
	{ "uc_odp_caps", "NO SUPPORT" }, { "ud_odp_caps", "SUPPORT_SEND" },
	{ "completion timestamp_mask", "0x7fffffffffffffff" },
	{ "max_tso", "0" }, { "max_rwq_indirection_tables", "0" },
	{ "max_rwq_indirection_table_size", "0" }, { "rx_hash_function", "0x0" },
	{ "rx_hash_fields_mask", "0x0" }, { "max_wq_type_rq", "0" },
	{ "qp_rate_limit_min", "0kbps" },
	{ "max_cq_count", "65535" }, { "max_cq_period", "4095 us" },
	{ "maximum available device memory", "131072Bytes" },
	{ "state", "PORT_ACTIVE (4)" }, { "max_mtu", "4096 (5)" }, { "active_mtu", "4096 (5)" },
	{ "link_layer", "InfiniBand" }, { "max_msg_sz", "0x40000000" },
	{ "max_vl_num", "4 (3)" }, { "pkey_tbl_len", "128" }, { "gid_tbl_len", "8" },
	{ "subnet_timeout", "18" }, { "active_width", "4X (2)" }, { "phys_state", "LINK_UP (5)" },
};

#define RC_ODP		"SUPPORT_SEND SUPPORT_RECV SUPPORT_WRITE SUPPORT_READ "
#define XRC_ODP		"SUPPORT_SEND SUPPORT_WRITE SUPPORT_READ "

#define OLD_SIZES							\
	{ "max_qp", "262144" }, { "max_res_rd_atom", "4194304" },	\
	{ "hca_core_clock", "156250kHZ" }
#define NEW_SIZES							\
	{ "max_qp", "131072" }, { "max_res_rd_atom", "2097152" }, { "max_pd", "8388608" }
#define ODP_WITHOUT_ATOMICS { "rc_odp_caps", RC_ODP "SUPPORT_SRQ" }
#define ODP_WITH_ATOMICS						\
	{ "rc_odp_caps", RC_ODP "SUPPORT_ATOMIC SUPPORT_SRQ" },		\
	{ "xrc_odp_caps", XRC_ODP "SUPPORT_ATOMIC SUPPORT_SRQ" }

/*
 * What differs between cards. Bit 26 is left out of the capability masks: it means something else
 * to ib_uverbs.
 */
static const struct card {
	const char *profile, *description, *gt_per_s;
	unsigned int generation, lanes;		/* of PCI Express */
	bool all_vpd;				/* V2, V3, VA and VU as well */
	bool tag_matching;
	struct field field[12];
} cards[] = {
	{ "connectx-4lx", "MT4117 ConnectX4Lx Mellanox Technologies", "8", 3, 8, false, false,
	  { { "vendor_part_id", "4117" }, { "fw_ver", "14.27.1016" }, OLD_SIZES,
	    { "max_pd", "16777216" }, ODP_WITHOUT_ATOMICS, { "xrc_odp_caps", "NO SUPPORT" },
	    { "active_speed", "14.0 Gbps (16)" }, { "port_cap_flags", "0x2251e848" },
	    { "port_cap_flags2", "0x0000" } } },
	{ "connectx-5", "MT4119 ConnectX5   Mellanox Technologies", "8", 3, 16, true, false,
	  { { "vendor_part_id", "4119" }, { "fw_ver", "16.31.1014" }, OLD_SIZES,
	    { "max_pd", "8388608" }, ODP_WITHOUT_ATOMICS, { "xrc_odp_caps", XRC_ODP "SUPPORT_SRQ" },
	    { "active_speed", "25.0 Gbps (32)" }, { "port_cap_flags", "0x2251e848" },
	    { "port_cap_flags2", "0x0000" } } },
	{ "connectx-6", "MT4123 ConnectX6   Mellanox Technologies", "16", 4, 16, true, true,
	  { { "vendor_part_id", "4123" }, { "fw_ver", "20.37.1700" }, NEW_SIZES,
	    ODP_WITH_ATOMICS, { "hca_core_clock", "156250kHZ" },
	    { "active_speed", "50.0 Gbps (64)" }, { "port_cap_flags", "0xa251e848" },
	    { "port_cap_flags2", "0x0032" } } },
	{ "connectx-6dx", "MT4125 ConnectX6Dx Mellanox Technologies", "16", 4, 16, true, false,
	  { { "vendor_part_id", "4125" }, { "fw_ver", "22.36.1010" }, NEW_SIZES,
	    ODP_WITHOUT_ATOMICS, { "xrc_odp_caps", XRC_ODP "SUPPORT_SRQ" },
	    { "hca_core_clock", "1000000kHZ" }, { "active_speed", "50.0 Gbps (64)" },
	    { "port_cap_flags", "0xa251e848" }, { "port_cap_flags2", "0x0032" } } },
	{ "connectx-7", "MT4129 ConnectX7   Mellanox Technologies", "32", 5, 16, true, true,
	  { { "vendor_part_id", "4129" }, { "fw_ver", "28.39.1002" }, NEW_SIZES,
	    ODP_WITH_ATOMICS, { "hca_core_clock", "1000000kHZ" },
	    { "active_speed", "100.0 Gbps (128)" }, { "port_cap_flags", "0xa351e848" },
	    { "port_cap_flags2", "0x0432" } } },
};

static const struct field tag_matching[] = {
	{ "max_rndv_hdr_size", "64" }, { "max_num_tags", "127" }, { "max_ops", "32768" },
	{ "flags", "IBV_TM_CAP_RC" },
};

FIXTURE(card) {
	const struct card *card;
	unsigned int n;
	char name[MAX_FIELDS][64];
	char value[MAX_FIELDS][512];
};

/* The card that the HCA's profile plays, or NULL. */
static const struct card *find_card(void)
{
	struct json_object *answer = hca_request("profile"), *name;
	const struct card *card = NULL;
	unsigned int i;

	if (answer && json_object_object_get_ex(answer, "name", &name))
		for (i = 0; i < ARRAY_SIZE(cards); i++)
			if (!strcmp(cards[i].profile, json_object_get_string(name)))
				card = &cards[i];
	json_object_put(answer);
	return card;
}

/* Store one line of ibv_devinfo: a field with its value, or a further value of the last field. */
static void take_line(struct _test_data_card *self, char *line)
{
	char *colon = strchr(line, ':'), *value;

	line += strspn(line, " \t");
	line[strcspn(line, "\n")] = 0;
	if (!colon && self->n && *line) {
		value = self->value[self->n - 1];
		snprintf(value + strlen(value), sizeof(self->value[0]) - strlen(value), "%s%s",
			 *value ? " " : "", line);
	}
	if (!colon || self->n == MAX_FIELDS)
		return;
	*colon = 0;
	value = colon + 1;
	value += strspn(value, " \t");
	snprintf(self->name[self->n], sizeof(self->name[0]), "%s", line);
	snprintf(self->value[self->n++], sizeof(self->value[0]), "%s", value);
}

FIXTURE_SETUP(card)
{
	char line[256];
	FILE *f;

	self->card = find_card();
	if (!self->card)
		SKIP(return, "the HCA's profile plays no card");
	f = popen("ibv_devinfo -v", "r");
	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f))
		take_line(self, line);
	ASSERT_EQ(0, pclose(f));
}

FIXTURE_TEARDOWN(card)
{
}

static const char *printed(const struct _test_data_card *self, const char *name)
{
	unsigned int i;

	for (i = 0; i < self->n; i++)
		if (!strcmp(self->name[i], name))
			return self->value[i];
	return NULL;
}

/* The number of @fields that are not printed as they should be. */
static unsigned int differ(struct __test_metadata *_metadata, const struct _test_data_card *self,
			   const struct field *fields, unsigned int max)
{
	unsigned int i, bad = 0;

	for (i = 0; i < max && fields[i].name; i++) {
		const char *value = printed(self, fields[i].name);

		if (value && !strcmp(value, fields[i].value))
			continue;
		TH_LOG("%s is %s, on the card %s", fields[i].name, value ?: "not printed",
		       fields[i].value);
		bad++;
	}
	return bad;
}

TEST_F(card, prints_what_all_cards_print)
{
	EXPECT_EQ(0, differ(_metadata, self, common, ARRAY_SIZE(common)));
}

TEST_F(card, prints_what_the_card_prints)
{
	EXPECT_EQ(0, differ(_metadata, self, self->card->field, ARRAY_SIZE(self->card->field)));
}

TEST_F(card, flags_are_those_of_a_card)
{
	const char *low = printed(self, "device_cap_flags");
	const char *all = printed(self, "device_cap_flags_ex");

	ASSERT_NE(NULL, low);
	ASSERT_NE(NULL, all);
	EXPECT_EQ(0x21361c36 & ~FLAGS_ABSENT, strtoull(low, NULL, 16));
	EXPECT_EQ(0x1021361c36 & ~FLAGS_ABSENT, strtoull(all, NULL, 16));
}

TEST_F(card, node_is_described_as_the_card)
{
	char text[128];

	ASSERT_TRUE(rdma_read_sysfs("node_desc", text, sizeof(text)));
	EXPECT_STREQ(self->card->description, text);
}

/* How many lines that a command prints end with a text. */
static unsigned int num_lines(const char *cmd, const char *text)
{
	size_t len = strlen(text), n;
	unsigned int found = 0;
	char line[512];
	FILE *f = popen(cmd, "r");

	while (f && fgets(line, sizeof(line), f)) {
		n = strcspn(line, "\n");
		line[n] = 0;
		found += n >= len && !strcmp(line + n - len, text);
	}
	return f && !pclose(f) ? found : 0;
}

static const char *recorded(const struct card *card, const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(card->field) && card->field[i].name; i++)
		if (!strcmp(card->field[i].name, name))
			return card->field[i].value;
	return "not in the record";
}

/* Whether the card's vital product data, as the PCI core reads it, has a text. */
static bool vpd_has(const char *text)
{
	char path[256], vpd[4096];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/vpd", rdma_device_name());
	fd = open(path, O_RDONLY);
	len = fd < 0 ? -1 : read(fd, vpd, sizeof(vpd));
	close(fd);
	return len > 0 && memmem(vpd, len, text, strlen(text));
}

/* devlink prints the running firmware version and the stored one, each under two names. */
TEST_F(card, devlink_tells_version_and_serial_number)
{
	static const char info[] = "devlink dev info";
	const char *version = recorded(self->card, "fw_ver");
	char line[64];

	snprintf(line, sizeof(line), "fw.version %s", version);
	EXPECT_EQ(2, num_lines(info, line));
	snprintf(line, sizeof(line), "fw %s", version);
	EXPECT_EQ(2, num_lines(info, line));
	EXPECT_EQ(1, num_lines(info, "fw.psid BBL0000000001"));
	if (!num_lines(info, "board.serial_number " SERIAL) && vpd_has(SERIAL))
		SKIP(return, "mlx5_core of this kernel does not report serial numbers");
	EXPECT_EQ(self->card->all_vpd, num_lines(info, "serial_number " UUID));
	EXPECT_EQ(1, num_lines(info, "board.serial_number " SERIAL));
}

/* mlx5_core reads some parameters from the device, which answers as firmware without them. */
TEST_F(card, devlink_reads_each_parameter)
{
	static const char params[] = "devlink dev param show";

	EXPECT_EQ(1, num_lines(params, "name enable_rdma type generic"));
	EXPECT_EQ(1, num_lines(params, "name io_eq_size type generic"));
	EXPECT_EQ(1, num_lines(params, "name event_eq_size type generic"));
	EXPECT_EQ(0, num_lines(params, "failed"));
}

TEST_F(card, vital_product_data_tell_part_and_serial_number)
{
	const struct { const char *line; bool printed; } lines[] = {
		{ "[EC] Engineering changes: A1", true }, { "[SN] Serial number: " SERIAL, true },
		{ "[V3] Vendor specific: " UUID, self->card->all_vpd },
		{ "[VU] Vendor specific: " SERIAL "MLNXS0D0F0", self->card->all_vpd },
		{ "[VA] Vendor specific: BBL:MODL=HCA:MN=Bluebell", self->card->all_vpd },
		{ "[RV] Reserved: checksum good, 0 byte(s) reserved", true },
	};
	const char *part = recorded(self->card, "vendor_part_id");
	char line[96];
	unsigned int i, bad = 0;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		if (num_lines(LSPCI, lines[i].line) == lines[i].printed)
			continue;
		TH_LOG("not %d lines %s", lines[i].printed, lines[i].line);
		bad++;
	}
	EXPECT_EQ(0, bad);
	snprintf(line, sizeof(line), "Product Name: Bluebell emulated HCA, %s",
		 self->card->profile);
	EXPECT_EQ(1, num_lines(LSPCI, line));
	snprintf(line, sizeof(line), "[V0] Vendor specific: PCIeGen%u x%u",
		 self->card->generation, self->card->lanes);
	EXPECT_EQ(1, num_lines(LSPCI, line));
	snprintf(line, sizeof(line), "[PN] Part number: BBL%s", part);
	EXPECT_EQ(1, num_lines(LSPCI, line));
	snprintf(line, sizeof(line), "[V2] Vendor specific: BBL%s", part);
	EXPECT_EQ(self->card->all_vpd, num_lines(LSPCI, line));
}

/* lspci reports the card's own speed and width: the slot is no slower and no narrower. */
TEST_F(card, link_is_that_of_the_card)
{
	const struct card *card = self->card;
	char line[96];

	snprintf(line, sizeof(line), "Speed %sGT/s, Width x%u, ASPM not supported", card->gt_per_s,
		 card->lanes);
	EXPECT_EQ(1, num_lines(LSPCI, line));
	snprintf(line, sizeof(line), "available PCIe bandwidth (%s.0 GT/s PCIe x%u link)",
		 card->gt_per_s, card->lanes);
	EXPECT_LE(1, klog_count(line));
	EXPECT_EQ(1, num_lines(LSPCI, "AuxCurrent=375mA PME(D0-,D1-,D2-,D3hot-,D3cold+)"));
	EXPECT_EQ(1, num_lines(LSPCI, "PhantFunc 0, Latency L0s unlimited, L1 unlimited"));
	EXPECT_EQ(1, num_lines(LSPCI, "[100 v1] Advanced Error Reporting"));
	EXPECT_EQ(1, num_lines(LSPCI, "[1c0 v1] Secondary PCI Express"));
	EXPECT_EQ(card->generation >= 4, num_lines(LSPCI " | grep -c '\\[420 v1\\]'", "1"));
}

/* The MSI-X table and the pending bits are in the BAR that has the registers. */
TEST_F(card, function_has_one_bar)
{
	EXPECT_EQ(1, num_lines(LSPCI, "(64-bit, prefetchable) [size=32M]"));
	EXPECT_EQ(1, num_lines(LSPCI " | grep -c 'Region [0-5]:'", "1"));
	EXPECT_EQ(1, num_lines(LSPCI, "[9c] MSI-X: Enable+ Count=64 Masked-"));
	EXPECT_EQ(1, num_lines(LSPCI, "Vector table: BAR=0 offset=00002000"));
	EXPECT_EQ(1, num_lines(LSPCI, "PBA: BAR=0 offset=00003000"));
}

TEST_F(card, kernel_log_is_that_of_a_healthy_card)
{
	EXPECT_LE(1, klog_count("Port module event: module 0, Cable plugged"));
	EXPECT_LE(1, klog_count("PCIe slot advertised sufficient power (75W)"));
	EXPECT_EQ(0, klog_count("fw query isn't supported by the FW"));
}

TEST_F(card, tag_matching_is_offered)
{
	if (!self->card->tag_matching) {
		EXPECT_EQ(NULL, printed(self, "max_num_tags"));
		return;
	}
	EXPECT_EQ(0, differ(_metadata, self, tag_matching, ARRAY_SIZE(tag_matching)));
}

TEST_HARNESS_MAIN
