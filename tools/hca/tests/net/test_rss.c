// SPDX-License-Identifier: GPL-2.0
/*
 * The hashes of receive side scaling: the values of the verification suite that comes with the
 * definition of RSS, and which fields of which frames are hashed.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "frame.h"
#include "rss.h"
#include "util.h"

#define IPS	(RSS_SIP | RSS_DIP)
#define PORTS	(RSS_SPORT | RSS_DPORT)

static const uint8_t suite_key[RSS_KEY_BYTES] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static const struct {
	const char *src;
	uint16_t sport;
	const char *dst;
	uint16_t dport;
	uint32_t ips, all;
} suite[] = {
	{ "66.9.149.187", 2794, "161.142.100.80", 1766, 0x323e8fc2, 0x51ccc178 },
	{ "199.92.111.2", 14230, "65.69.140.83", 4739, 0xd718262a, 0xc626b0ea },
	{ "24.19.198.95", 12898, "12.22.207.184", 38024, 0xd2d0a5de, 0x5c2b394a },
	{ "38.27.205.30", 48228, "209.142.163.6", 2217, 0x82989176, 0xafc7327f },
	{ "153.39.163.191", 44251, "202.188.127.2", 1303, 0x5d1809c5, 0x10e828a2 },
	{ "3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766, 0x2cc18cd5, 0x40207d3d },
	{ "3ffe:501:8::260:97ff:fe40:efab", 14230, "ff02::1", 4739, 0x0f0c461c, 0xdde51bbf },
	{ "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, "fe80::200:f8ff:fe21:67cf", 38024,
	  0x4b61e985, 0x02d1feef },
};

static void set_address(const char *text, uint8_t to[IP_BYTES])
{
	if (strchr(text, ':'))
		assert_int_equal(inet_pton(AF_INET6, text, to), 1);
	else
		assert_int_equal(inet_pton(AF_INET, text, to + IP_BYTES - 4), 1);
}

static struct frame frame_of(const char *src, uint16_t sport, const char *dst, uint16_t dport)
{
	struct frame f = { .ip_version = strchr(src, ':') ? 6 : 4, .protocol = PROTO_TCP,
			   .l4_type = L4_TCP, .sport = sport, .dport = dport };

	set_address(src, f.sip);
	set_address(dst, f.dip);
	return f;
}

static struct rss rss_of(enum rss_fn fn, unsigned int fields)
{
	struct rss rss = { .fn = fn, .fields = fields };

	memcpy(rss.key, suite_key, sizeof(rss.key));
	return rss;
}

static uint32_t hash_of(const struct rss *rss, const struct frame *f)
{
	return rss_hash_frame(rss, f).value;
}

static void hashes_are_those_of_the_suite(void **state)
{
	struct rss ips = rss_of(RSS_TOEPLITZ, IPS), all = rss_of(RSS_TOEPLITZ, IPS | PORTS);
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(suite); i++) {
		struct frame f = frame_of(suite[i].src, suite[i].sport, suite[i].dst,
					  suite[i].dport);

		assert_int_equal(hash_of(&ips, &f), suite[i].ips);
		assert_int_equal(hash_of(&all, &f), suite[i].all);
		assert_int_equal(rss_hash_frame(&ips, &f).fields, IPS);
		assert_int_equal(rss_hash_frame(&all, &f).fields, IPS | PORTS);
		f.l4_type = L4_UDP;
		assert_int_equal(hash_of(&all, &f), suite[i].all);
	}
}

/* The whole key is used, and no byte behind it. */
static void longest_input_ends_with_the_key(void **state)
{
	uint8_t input[RSS_INPUT_MAX] = { 0 };

	(void)state;
	input[RSS_INPUT_MAX - 1] = 1;
	/* The window at the last bit: the last 33 bits of the key without the last one. */
	assert_int_equal(rss_toeplitz(suite_key, input, sizeof(input)),
			 (uint32_t)(0x3bbeac01faull >> 1));
	assert_int_equal(rss_toeplitz(suite_key, input, 0), 0);
}

static void both_directions_hash_alike_if_symmetric(void **state)
{
	struct rss rss = rss_of(RSS_TOEPLITZ, IPS | PORTS);
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(suite); i++) {
		struct frame there = frame_of(suite[i].src, suite[i].sport, suite[i].dst,
					      suite[i].dport);
		struct frame back = frame_of(suite[i].dst, suite[i].dport, suite[i].src,
					     suite[i].sport);

		rss.symmetric = false;
		assert_int_not_equal(hash_of(&rss, &there), hash_of(&rss, &back));
		rss.symmetric = true;
		assert_int_equal(hash_of(&rss, &there), hash_of(&rss, &back));
		assert_int_not_equal(hash_of(&rss, &there), suite[i].all);
		/* The XOR alone would not tell these two flows apart. */
		there.sport ^= 0x8000;
		there.dport ^= 0x8000;
		if ((there.sport | there.dport) != (back.sport | back.dport))
			assert_int_not_equal(hash_of(&rss, &there), hash_of(&rss, &back));
	}
}

/* The symmetric input of 1.2.3.4:1 -> 5.6.7.8:2 is OR and XOR of addresses, then of ports. */
static void symmetric_input_is_or_and_xor(void **state)
{
	static const uint8_t input[] = { 5, 6, 7, 12, 4, 4, 4, 12, 0, 3, 0, 3 };
	struct frame f = frame_of("1.2.3.4", 1, "5.6.7.8", 2);
	struct rss rss = rss_of(RSS_TOEPLITZ, IPS | PORTS);

	(void)state;
	rss.symmetric = true;
	assert_int_equal(hash_of(&rss, &f), rss_toeplitz(suite_key, input, sizeof(input)));
}

static void only_selected_fields_are_hashed(void **state)
{
	static const uint8_t input[] = { 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 0, 2 };
	static const struct { unsigned int fields; size_t at, len; } rows[] = {
		{ RSS_SIP, 0, 4 }, { RSS_DIP, 4, 4 }, { RSS_SPORT, 8, 2 }, { RSS_DPORT, 10, 2 },
		{ RSS_DIP | RSS_SPORT, 4, 6 }, { IPS | RSS_SPORT, 0, 10 }, { PORTS, 8, 4 },
	};
	struct frame f = frame_of("1.2.3.4", 1, "5.6.7.8", 2);
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rss rss = rss_of(RSS_TOEPLITZ, rows[i].fields);
		uint32_t want = rss_toeplitz(suite_key, input + rows[i].at, rows[i].len);

		assert_int_equal(hash_of(&rss, &f), want);
		/* One of a pair cannot be made symmetric. */
		rss.symmetric = true;
		if (rows[i].len == 2 || (rows[i].len == 4 && rows[i].at < 8))
			assert_int_equal(hash_of(&rss, &f), want);
	}
}

static void missing_fields_are_left_out(void **state)
{
	struct rss rss = rss_of(RSS_TOEPLITZ, IPS | PORTS), ports = rss_of(RSS_TOEPLITZ, PORTS);
	struct frame f = frame_of(suite[0].src, 0, suite[0].dst, 0);

	(void)state;
	f.l4_type = L4_NONE;
	assert_int_equal(hash_of(&rss, &f), suite[0].ips);
	assert_int_equal(rss_hash_frame(&rss, &f).fields, IPS);
	assert_int_equal(hash_of(&ports, &f), 0);
	assert_int_equal(rss_hash_frame(&ports, &f).fields, 0);
	f.ip_version = 0;
	assert_int_equal(hash_of(&rss, &f), 0);
	assert_int_equal(rss_hash_frame(&rss, &f).fields, 0);
}

static void spi_is_hashed_behind_the_addresses(void **state)
{
	static const uint8_t input[] = { 1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x22, 0x33, 0x44 };
	static const uint8_t protocols[] = { PROTO_ESP, PROTO_AH };
	struct rss rss = rss_of(RSS_TOEPLITZ, IPS | PORTS | RSS_SPI);
	struct frame f = frame_of("1.2.3.4", 0, "5.6.7.8", 0);
	size_t i;

	(void)state;
	f.l4_type = L4_NONE;
	f.spi = 0x11223344;
	for (i = 0; i < ARRAY_SIZE(protocols); i++) {
		f.protocol = protocols[i];
		assert_int_equal(hash_of(&rss, &f), rss_toeplitz(suite_key, input, 12));
		assert_int_equal(rss_hash_frame(&rss, &f).fields, IPS | RSS_SPI);
	}
	rss.fields = IPS | PORTS;
	assert_int_equal(hash_of(&rss, &f), rss_toeplitz(suite_key, input, 8));
	rss.fields = IPS | RSS_SPI;
	f.frag = true;
	assert_int_equal(hash_of(&rss, &f), rss_toeplitz(suite_key, input, 8));
}

static void xor8_has_its_bits_in_reverse(void **state)
{
	struct rss rss = rss_of(RSS_XOR8, IPS | PORTS), none = rss_of(RSS_NONE, IPS | PORTS);
	struct frame f = frame_of("1.2.3.4", 0x100, "5.6.7.16", 0x20);

	(void)state;
	assert_int_equal(1 ^ 2 ^ 3 ^ 4 ^ 5 ^ 6 ^ 7 ^ 16 ^ 1 ^ 0x20, 0x31);
	assert_int_equal(hash_of(&rss, &f), 0x8c);
	assert_int_equal(hash_of(&none, &f), 0);
	assert_int_equal(rss_hash_frame(&none, &f).fields, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_are_those_of_the_suite),
		cmocka_unit_test(longest_input_ends_with_the_key),
		cmocka_unit_test(both_directions_hash_alike_if_symmetric),
		cmocka_unit_test(symmetric_input_is_or_and_xor),
		cmocka_unit_test(only_selected_fields_are_hashed),
		cmocka_unit_test(missing_fields_are_left_out),
		cmocka_unit_test(spi_is_hashed_behind_the_addresses),
		cmocka_unit_test(xor8_has_its_bits_in_reverse),
	};

	return cmocka_run_group_tests_name("rss", tests, NULL, NULL);
}
