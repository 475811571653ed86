// SPDX-License-Identifier: GPL-2.0
/*
 * The bytes of packets: each combination of headers, lengths and pad, and the CRCs, which the tests
 * compute by another algorithm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "ib_packet.h"
#include "packet.h"
#include "wire.h"

#define CRCS	6	/* bytes of ICRC and VCRC */

static uint8_t bytes[WIRE_MAX], want[WIRE_MAX];

/* ---- the CRCs, bit by bit in the order of transmission --------------------------------------- */

/* Append the complement of the remainder of @len bytes divided by x^@degree + @poly. */
static void append_remainder(uint8_t *data, size_t len, uint32_t poly, unsigned int degree)
{
	uint32_t top = 1u << (degree - 1), rest = top | (top - 1), carry;
	size_t i;

	for (i = 0; i < 8 * len; i++) {
		carry = !(rest & top) != !(data[i / 8] >> i % 8 & 1);
		rest = (rest << 1) ^ (carry ? poly : 0);
	}
	memset(data + len, 0, degree / 8);
	for (i = 0; i < degree; i++)
		data[len + i / 8] |= (rest & top >> i ? 0 : 1) << i % 8;
}

/* Check the CRCs that follow the first @len bytes of bytes[]. */
static void expect_crcs(size_t len)
{
	uint8_t data[WIRE_MAX];

	memcpy(data, bytes, len);
	if ((bytes[1] & 3) == 3) {
		memset(data, 0xff, 8);
		data[8] |= 0xf;
		memset(data + 9, 0xff, 3);
		data[15] = data[52] = 0xff;
	} else {
		data[0] |= 0xf0;
		data[12] = 0xff;
	}
	append_remainder(data, len, 0x04c11db7, 32);
	assert_memory_equal(bytes + len, data + len, 4);
	memcpy(data, bytes, len + 4);
	append_remainder(data, len + 4, 0x100b, 16);
	assert_memory_equal(bytes + len + 4, data + len + 4, 2);
}

/* ---- whole packets --------------------------------------------------------------------------- */

static size_t unhex(uint8_t *out, const char *hex)
{
	unsigned int v;
	size_t n = 0;
	int used;

	while (sscanf(hex, " %2x%n", &v, &used) == 1) {
		out[n++] = v;
		hex += used;
	}
	return n;
}

static void expect(const struct packet *p, const char *hex)
{
	size_t len = wire_packet(p, bytes), n = unhex(want, hex);

	assert_int_equal(len, n + CRCS);
	assert_memory_equal(bytes, want, n);
	expect_crcs(n);
}

/* A packet whose fields all have different values. */
static struct packet packet(uint8_t opcode, uint32_t len)
{
	struct packet p = {
		.opcode = opcode, .pkey = 0x8765, .dqpn = 0x123456,
		.psn = 0xfedcba, .qkey = 0x51525354, .sqpn = 0x616263, .xrc_srqn = 0x717273,
		.dc_connection = 0xc1c2c3c4, .dc_key = 0xd1d2d3d4d5d6d7d8,
		.va = 0x0102030405060708, .rkey = 0x11121314, .dma_len = 0x21222324,
		.swap_add = 0x3132333435363738, .compare = 0x4142434445464748,
		.swap_mask = 0x5152535455565758, .compare_mask = 0x6162636465666768,
		.syndrome = 0x81, .msn = 0x828384, .orig = 0x9192939495969798, .imm = 0xb1b2b3b4,
		.head.len = len,
	};
	uint32_t i;

	*ib_hdr(&p) = (struct ib_headers){
		.slid = 0x1122, .dlid = 0x3344, .sl = 6, .vl = 2, .tclass = 0xa1, .hop_limit = 0xa2,
		.flow_label = 0x9b9c9,
	};
	for (i = 0; i < 4; i++) {
		memset(ib_hdr(&p)->sgid + 4 * i, 0xc0 + i, 4);
		memset(ib_hdr(&p)->dgid + 4 * i, 0xd0 + i, 4);
	}
	for (i = 0; i < len; i++)
		p.payload[i] = 0xe1 + i;
	return p;
}

static void base_headers(void **state)
{
	struct packet p = packet(BTH_RC | BTH_SEND_ONLY, 0);

	(void)state;
	expect(&p, "20 62 3344 0006 1122  04 40 8765 00 123456 00 fedcba");
	p.ack_req = true;
	expect(&p, "20 62 3344 0006 1122  04 40 8765 00 123456 80 fedcba");
	p.solicited = true;
	ib_hdr(&p)->sl = 15;
	ib_hdr(&p)->vl = 9;
	p.psn = 0x1000000;	/* only 24 bits of it are sent */
	expect(&p, "90 f2 3344 0006 1122  04 c0 8765 00 123456 80 000000");
}

static void payload_is_padded(void **state)
{
	struct packet p = packet(BTH_UC | BTH_SEND_MIDDLE, 1);

	(void)state;
	expect(&p, "20 62 3344 0007 1122  21 70 8765 00 123456 00 fedcba  e1 000000");
	p.head.len = 2;
	expect(&p, "20 62 3344 0007 1122  21 60 8765 00 123456 00 fedcba  e1 00 0000");
	p = packet(BTH_UC | BTH_SEND_MIDDLE, 3);
	expect(&p, "20 62 3344 0007 1122  21 50 8765 00 123456 00 fedcba  e1e2e3 00");
	p = packet(BTH_UC | BTH_SEND_MIDDLE, 4);
	expect(&p, "20 62 3344 0007 1122  21 40 8765 00 123456 00 fedcba  e1e2e3e4");
	p = packet(BTH_UC | BTH_SEND_MIDDLE, 5);
	expect(&p, "20 62 3344 0008 1122  21 70 8765 00 123456 00 fedcba  e1e2e3e4 e5 000000");
}

static void global_header(void **state)
{
	struct packet p = packet(BTH_UD | BTH_SEND_ONLY_IMM, 3);
	static const char grh[] =
		"6a19b9c9 001c 1b a2  c0c0c0c0 c1c1c1c1 c2c2c2c2 c3c3c3c3"
		"                     d0d0d0d0 d1d1d1d1 d2d2d2d2 d3d3d3d3";

	(void)state;
	ib_hdr(&p)->grh = true;
	expect(&p, "20 63 3344 0014 1122"
	       "6a19b9c9 0020 1b a2  c0c0c0c0 c1c1c1c1 c2c2c2c2 c3c3c3c3"
	       "                     d0d0d0d0 d1d1d1d1 d2d2d2d2 d3d3d3d3"
	       "65 10 8765 00 123456 00 fedcba  51525354 00 616263  b1b2b3b4  e1e2e3 00");
	p.opcode = BTH_UD | BTH_SEND_ONLY;
	wire_grh(&p, bytes);
	assert_int_equal(unhex(want, grh), GRH_BYTES);
	assert_memory_equal(bytes, want, GRH_BYTES);
}

/*
 * Subnet management packets use lane 15, other packets the data lane that the table has for their
 * SL.
 */
static void lanes(void **state)
{
	struct packet p = packet(BTH_UD | BTH_SEND_ONLY, 0);

	(void)state;
	p.sqpn = 0;
	p.dqpn = 0;
	assert_true(packet_choose_lane(&p, ~0ull));
	expect(&p, "f0 62 3344 0008 1122  64 00 8765 00 000000 00 fedcba  51525354 00 000000");
	p.dqpn = 1;
	assert_true(packet_choose_lane(&p, 0xffffff3fffffffffull));
	expect(&p, "30 62 3344 0008 1122  64 00 8765 00 000001 00 fedcba  51525354 00 000000");
	assert_true(packet_choose_lane(&p, SL_TO_VL_DEFAULT));
	assert_int_equal(ib_hdr(&p)->vl, 2);
	assert_false(packet_choose_lane(&p, 0x0000004000000000ull));
	assert_false(packet_choose_lane(&p, 0x000000f000000000ull));
	ib_hdr(&p)->sl = 15;
	assert_true(packet_choose_lane(&p, 0xfffffffffffffff1ull));
	assert_int_equal(ib_hdr(&p)->vl, 1);
}

static void longest_packet(void **state)
{
	struct packet p = packet(BTH_UD | BTH_MASKED_CMP_SWAP, PKT_MTU_MAX);

	(void)state;
	ib_hdr(&p)->grh = true;
	assert_int_equal(wire_packet(&p, bytes), WIRE_MAX);
	assert_int_equal(bytes[4] << 8 | bytes[5], (WIRE_MAX - 2) / 4);
	assert_int_equal(bytes[12] << 8 | bytes[13], WIRE_MAX - 2 - 8 - GRH_BYTES);
	expect_crcs(WIRE_MAX - CRCS);
}

/* A peer may send any opcode, also one that no service has. */
static void length_of_every_opcode(void **state)
{
	struct packet p = packet(0, PKT_MTU_MAX);
	unsigned int op;

	(void)state;
	ib_hdr(&p)->grh = true;
	for (op = 0; op <= 0xff; op++) {
		p.opcode = op;
		assert_true(wire_packet(&p, bytes) <= WIRE_MAX);
		assert_int_equal(wire_packet(&p, bytes), wire_octets(&p) + 2);
	}
}

/* ---- extended headers ------------------------------------------------------------------------ */

#define RETH	"0102030405060708 11121314 21222324"
#define ATOMIC	"0102030405060708 11121314 3132333435363738 4142434445464748"
#define MASKS	"5152535455565758 6162636465666768"
#define AETH	"81 828384"
#define ORIG	"9192939495969798"
#define IMM	"b1b2b3b4"
#define XRC	"00 717273"
#define DC	"00 616263 c1c2c3c4"
#define DC_KEY	"d1d2d3d4d5d6d7d8"
#define DETH	"51525354 00 616263"

static const struct { uint8_t opcode; const char *ext; } kinds[] = {
	{ BTH_RC | BTH_SEND_FIRST, "" },
	{ BTH_RC | BTH_SEND_MIDDLE, "" },
	{ BTH_RC | BTH_SEND_LAST, "" },
	{ BTH_RC | BTH_SEND_LAST_IMM, IMM },
	{ BTH_RC | BTH_SEND_ONLY, "" },
	{ BTH_RC | BTH_SEND_ONLY_IMM, IMM },
	{ BTH_RC | BTH_WRITE_FIRST, RETH },
	{ BTH_RC | BTH_WRITE_MIDDLE, "" },
	{ BTH_RC | BTH_WRITE_LAST, "" },
	{ BTH_RC | BTH_WRITE_LAST_IMM, IMM },
	{ BTH_RC | BTH_WRITE_ONLY, RETH },
	{ BTH_RC | BTH_WRITE_ONLY_IMM, RETH IMM },
	{ BTH_RC | BTH_READ_REQ, RETH },
	{ BTH_RC | BTH_READ_FIRST, AETH },
	{ BTH_RC | BTH_READ_MIDDLE, "" },
	{ BTH_RC | BTH_READ_LAST, AETH },
	{ BTH_RC | BTH_READ_ONLY, AETH },
	{ BTH_RC | BTH_ACK, AETH },
	{ BTH_RC | BTH_ATOMIC_ACK, AETH ORIG },
	{ BTH_RC | BTH_CMP_SWAP, ATOMIC },
	{ BTH_RC | BTH_FETCH_ADD, ATOMIC },
	{ BTH_RC | BTH_SEND_LAST_INV, IMM },
	{ BTH_RC | BTH_SEND_ONLY_INV, IMM },
	{ BTH_RC | BTH_MASKED_CMP_SWAP, ATOMIC MASKS },
	{ BTH_RC | BTH_MASKED_FETCH_ADD, ATOMIC },
	{ BTH_UC | BTH_SEND_ONLY_IMM, IMM },
	{ BTH_UC | BTH_WRITE_ONLY_IMM, RETH IMM },
	{ BTH_UD | BTH_SEND_ONLY, DETH },
	{ BTH_UD | BTH_SEND_ONLY_IMM, DETH IMM },
	{ BTH_XRC | BTH_SEND_FIRST, XRC },
	{ BTH_XRC | BTH_SEND_LAST_IMM, XRC IMM },
	{ BTH_XRC | BTH_SEND_ONLY_INV, XRC IMM },
	{ BTH_XRC | BTH_WRITE_ONLY_IMM, XRC RETH IMM },
	{ BTH_XRC | BTH_READ_REQ, XRC RETH },
	{ BTH_XRC | BTH_READ_FIRST, AETH },
	{ BTH_XRC | BTH_READ_MIDDLE, "" },
	{ BTH_XRC | BTH_ACK, AETH },
	{ BTH_XRC | BTH_ATOMIC_ACK, AETH ORIG },
	{ BTH_XRC | BTH_FETCH_ADD, XRC ATOMIC },
	{ BTH_XRC | BTH_MASKED_CMP_SWAP, XRC ATOMIC MASKS },
	{ BTH_DC | BTH_CONNECT, DC DC_KEY },
	{ BTH_DC | BTH_DISCONNECT, DC },
	{ BTH_DC | BTH_SEND_LAST_IMM, DC IMM },
	{ BTH_DC | BTH_WRITE_ONLY_IMM, DC RETH IMM },
	{ BTH_DC | BTH_MASKED_CMP_SWAP, DC ATOMIC MASKS },
	{ BTH_DC | BTH_READ_FIRST, AETH },
	{ BTH_DC | BTH_ACK, AETH },
	{ BTH_DC | BTH_ATOMIC_ACK, AETH ORIG },
};

/* Every kind of packet, without payload and with 5 bytes, with a GRH and without. */
static void extended_headers(void **state)
{
	unsigned int i, k;

	(void)state;
	for (i = 0; i < 4 * sizeof(kinds) / sizeof(kinds[0]); i++) {
		bool grh = i & 1, payload = i & 2;
		unsigned int base = 8 + (grh ? GRH_BYTES : 0) + 12;
		struct packet p = packet(kinds[i / 4].opcode, payload ? 5 : 0);
		size_t len, n = unhex(want, kinds[i / 4].ext);

		ib_hdr(&p)->grh = grh;
		len = wire_packet(&p, bytes);
		if (len != base + n + (payload ? 8 : 0) + CRCS ||
		    memcmp(bytes + base, want, n) || bytes[base - 12] != kinds[i / 4].opcode)
			fail_msg("opcode 0x%x: %zu bytes", kinds[i / 4].opcode, len);
		for (k = 0; payload && k < 8; k++)
			assert_int_equal(bytes[base + n + k], k < 5 ? 0xe1 + k : 0);
		assert_int_equal(bytes[4] << 8 | bytes[5], (len - 2) / 4);
		if (grh)
			assert_int_equal(bytes[12] << 8 | bytes[13], len - 2 - 8 - GRH_BYTES);
		expect_crcs(len - CRCS);
	}
}

/* ---- CRCs ------------------------------------------------------------------------------------ */

/* A sample packet of the InfiniBand specification: volume 1, 7.8.3. */
static void crc_of_the_specification(void **state)
{
	size_t n = unhex(bytes, "70 12 375c 000e 17d2  0a 20 2487 00 87b1b3 00 0dec2a"
			 "01710a1c015d4002 38f27a05 0000000e  bb884d85fd5cfba4728bc0690ed4 0000");

	(void)state;
	assert_int_equal(n, 52);
	assert_int_equal(wire_append_crcs(bytes, n), 58);
	assert_int_equal(unhex(want, "9625b75a"), 4);
	assert_memory_equal(bytes + n, want, 4);
	expect_crcs(n);
}

/* The ICRC does not cover the bits that switches and routers change, and covers all others. */
static void icrc_covers_what_is_invariant(void **state)
{
	static const struct { unsigned int at; uint8_t bits; } variant[][8] = {
		{ { 0, 0xf0 }, { 12, 0xff } },
		{ { 0, 0xff }, { 8, 0x0f }, { 9, 0xff }, { 10, 0xff }, { 11, 0xff }, { 15, 0xff },
		  { 52, 0xff } },
	};
	unsigned int grh, i, k, len;

	(void)state;
	for (grh = 0; grh < 2; grh++) {
		struct packet p = packet(BTH_RC | BTH_WRITE_ONLY, 4);
		uint8_t icrc[4];

		ib_hdr(&p)->grh = grh;
		len = wire_packet(&p, bytes) - CRCS;
		memcpy(icrc, bytes + len, 4);
		for (i = 0; i < 8 * len; i++) {
			bool varies = grh && i / 8 < 8;

			if (i / 8 == 1 && i % 8 < 2)
				continue;	/* would be a packet with other headers */
			for (k = 0; k < 8 && variant[grh][k].bits; k++)
				varies |= variant[grh][k].at == i / 8 &&
					  variant[grh][k].bits >> i % 8 & 1;
			bytes[i / 8] ^= 1 << i % 8;
			wire_append_crcs(bytes, len);
			if (varies != !memcmp(icrc, bytes + len, 4))
				fail_msg("grh %u: bit %u of byte %u", grh, i % 8, i / 8);
			bytes[i / 8] ^= 1 << i % 8;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base_headers), cmocka_unit_test(payload_is_padded),
		cmocka_unit_test(global_header), cmocka_unit_test(lanes),
		cmocka_unit_test(longest_packet),
		cmocka_unit_test(length_of_every_opcode), cmocka_unit_test(extended_headers),
		cmocka_unit_test(crc_of_the_specification),
		cmocka_unit_test(icrc_covers_what_is_invariant),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
