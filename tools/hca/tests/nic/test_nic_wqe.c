// SPDX-License-Identifier: GPL-2.0
/*
 * Decoding of the WQEs of send queues.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bytes.h"
#include "nic_wqe.h"
#include "util.h"

static struct nic_wqe n;

/* A SEND with an Ethernet segment. */
static uint8_t *good(unsigned int ds)
{
	memset(&n, 0xee, sizeof(n));
	memset(n.w.raw, 0, sizeof(n.w.raw));
	put_be32(n.w.raw, WQE_SEND);
	put_be32(n.w.raw + 4, ds);
	return n.w.raw + 16;
}

static int parse(void)
{
	assert_int_equal(wqe_parse_ctrl(&n.w), 0);
	return nic_wqe_parse(&n);
}

static void refuses(const char *why)
{
	assert_true(parse() < 0);
	assert_string_equal(n.w.why, why);
}

/* Two bytes of the header are in the Ethernet segment, the others in units of 16 behind it. */
static void data_follows_the_header(void **state)
{
	static const struct { unsigned int header, at; } rows[] = {
		{ 0, 32 }, { 1, 32 }, { 2, 32 }, { 3, 48 }, { 14, 48 }, { 18, 48 }, { 19, 64 },
		{ 66, 96 }, { 82, 112 },
	};
	unsigned int i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t *eth = good(rows[i].at / 16 + 2);

		put_be16(eth + 12, rows[i].header);
		for (k = 0; k < rows[i].header; k++)
			eth[14 + k] = 0x40 + k;
		for (k = 0; k < 2; k++) {
			put_be32(n.w.raw + rows[i].at + 16 * k, 100 + k);
			put_be32(n.w.raw + rows[i].at + 16 * k + 4, 0x500);
			put_be64(n.w.raw + rows[i].at + 16 * k + 8, 0x1000 + k);
		}
		assert_int_equal(parse(), 0);
		assert_int_equal(n.header_len, rows[i].header);
		for (k = 0; k < rows[i].header; k++)
			assert_int_equal(n.header[k], 0x40 + k);
		assert_int_equal(n.w.nseg, 2);
		assert_int_equal(n.w.seg[1].addr, 0x1001);
		assert_int_equal(n.w.len, 201);
		assert_int_equal(n.len, rows[i].header + 201);
	}
}

static void flags_ask_for_checksums(void **state)
{
	uint8_t *eth;

	(void)state;
	eth = good(2);
	eth[4] = 0x40;
	put_be16(eth + 6, 1448);
	assert_int_equal(parse(), 0);
	assert_true(n.ip_csum && !n.l4_csum);
	assert_int_equal(n.mss, 1448);
	good(2)[4] = 0x80;
	assert_int_equal(parse(), 0);
	assert_true(!n.ip_csum && n.l4_csum);
	good(2)[4] = 0;
	assert_int_equal(parse(), 0);
	assert_true(!n.ip_csum && !n.l4_csum);
	assert_int_equal(n.len, 0);
}

static void what_is_not_offered_is_refused(void **state)
{
	static const uint8_t opcodes[] = { 0x01, 0x08, 0x0b, 0x0d, 0x10, 0x25, 0xff };
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		good(2)[4] = 0x10 << i;
		refuses("checksums in tunnels are not offered");
	}
	for (i = 0; i < 6; i++) {
		if (i == 4)
			continue;	/* cs_flags */
		good(2)[i] = 1;
		refuses("software parsing is not offered");
	}
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		good(2);
		n.w.raw[3] = opcodes[i];
		refuses("a send queue does not have this opcode");
	}
}

static uint8_t *several(unsigned int ds)
{
	uint8_t *eth = good(ds);

	n.w.raw[3] = WQE_ENHANCED_MPSW;
	n.w.opcode = WQE_ENHANCED_MPSW;
	return eth;
}

static void several_packets_have_a_data_segment_each(void **state)
{
	uint8_t *eth = several(4);

	(void)state;
	put_be32(eth + 16, 60);
	put_be32(eth + 32, 70);
	assert_int_equal(parse(), 0);
	assert_true(n.several);
	assert_int_equal(n.w.nseg, 2);
	assert_int_equal(n.len, 130);
	several(2);
	refuses("several packets, but there are none");
	put_be16(several(4) + 12, 2);
	refuses("several packets with an inline header, a tag or a mss");
	put_be16(several(4) + 6, 1000);
	refuses("several packets with an inline header, a tag or a mss");
	put_be16(several(4) + 12, 0x8000);
	refuses("several packets with an inline header, a tag or a mss");
	good(4);
	assert_int_equal(parse(), 0);
	assert_false(n.several);
}

/* The tag is in the place of the inline header, so a WQE has only one of both. */
static void tags_take_the_place_of_the_header(void **state)
{
	static const uint16_t headers[] = { 0x8002, 0x8012, 0xc000, 0xfffe };
	uint8_t *eth = good(3);
	unsigned int i;

	(void)state;
	put_be16(eth + 12, 0x8000);
	put_be16(eth + 14, 0x6005);
	put_be32(eth + 16, 60);
	assert_int_equal(parse(), 0);
	assert_true(n.insert_tag);
	assert_int_equal(n.tag.type, ETYPE_CTAG);
	assert_int_equal(n.tag.tci, 0x6005);
	assert_int_equal(n.header_len, 0);
	assert_int_equal(n.len, 60);
	put_be16(good(2) + 12, 0x8001);
	assert_int_equal(parse(), 0);
	assert_int_equal(n.tag.type, ETYPE_STAG);
	good(2);
	assert_int_equal(parse(), 0);
	assert_false(n.insert_tag);
	for (i = 0; i < ARRAY_SIZE(headers); i++) {
		put_be16(good(4) + 12, headers[i]);
		refuses("both an inline header and a VLAN tag to insert");
	}
}

static void segments_stay_within_the_wqe(void **state)
{
	(void)state;
	good(1);
	refuses("no room for an Ethernet segment");
	put_be16(good(2) + 12, 2);
	assert_int_equal(parse(), 0);
	put_be16(good(2) + 12, 3);
	refuses("the inline header is longer than the WQE");
	put_be16(good(63) + 12, 63 * 16 - 30);
	assert_int_equal(parse(), 0);
	put_be16(good(63) + 12, 63 * 16 - 29);
	refuses("the inline header is longer than the WQE");
	put_be16(good(63) + 12, 0x7fff);
	refuses("the inline header is longer than the WQE");
	put_be32(good(3) + 16, 0x80000000u | 13);
	refuses("inline segment beyond the WQE");
	put_be32(good(3) + 16, 0x80000000u | 12);
	assert_int_equal(parse(), 0);
	assert_int_equal(n.len, 12);
}

static void nops_have_no_segments(void **state)
{
	(void)state;
	good(1);
	n.w.raw[3] = WQE_NOP;
	assert_int_equal(parse(), 0);
	assert_int_equal(n.len, 0);
	assert_int_equal(n.w.nseg, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_follows_the_header),
		cmocka_unit_test(flags_ask_for_checksums),
		cmocka_unit_test(what_is_not_offered_is_refused),
		cmocka_unit_test(several_packets_have_a_data_segment_each),
		cmocka_unit_test(tags_take_the_place_of_the_header),
		cmocka_unit_test(segments_stay_within_the_wqe),
		cmocka_unit_test(nops_have_no_segments),
	};

	return cmocka_run_group_tests_name("nic_wqe", tests, NULL, NULL);
}
