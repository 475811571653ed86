// SPDX-License-Identifier: GPL-2.0
/*
 * The parser and the checksums, compared with what scapy says of the same frames.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bytes.h"
#include "csum.h"
#include "frame.h"
#include "framerow.h"
#include "scapy_frames.h"
#include "util.h"

#define MEMBER(m) { #m, offsetof(struct frame, m), sizeof(((struct frame *)0)->m) }

static const struct { const char *name; size_t off, size; } members[] = {
	MEMBER(dmac), MEMBER(smac), MEMBER(tags), MEMBER(tag), MEMBER(ethertype), MEMBER(l3),
	MEMBER(ip_version), MEMBER(ihl), MEMBER(tclass), MEMBER(ttl), MEMBER(flow_label),
	MEMBER(protocol), MEMBER(frag), MEMBER(sip), MEMBER(dip), MEMBER(l4), MEMBER(ip_end),
	MEMBER(l4_type), MEMBER(sport), MEMBER(dport), MEMBER(tcp_flags), MEMBER(tcp_seq),
	MEMBER(spi), MEMBER(payload), MEMBER(l4_end),
};

/* A copy with the exact size, so that the sanitizer sees a read beyond the end. */
static uint8_t *copy(const void *bytes, size_t len)
{
	uint8_t *p = malloc(len + !len);

	assert_non_null(p);
	memcpy(p, bytes, len);
	return p;
}

static const struct frame_row *row_named(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(frame_rows); i++)
		if (!strcmp(frame_rows[i].name, name))
			return &frame_rows[i];
	fail_msg("no frame %s", name);
	return NULL;
}

/* ---- parser ---------------------------------------------------------------------------------- */

static void fields_are_those_that_scapy_reads(void **state)
{
	unsigned int bad = 0;
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(frame_rows); i++) {
		const struct frame_row *r = &frame_rows[i];
		uint8_t *bytes = copy(r->bytes, r->len);
		struct frame f;

		assert_true(frame_parse(&f, bytes, r->len, LENGTHS_OF_FRAME));
		assert_ptr_equal(f.data, bytes);
		assert_int_equal(f.len, r->len);
		for (k = 0; k < ARRAY_SIZE(members); k++) {
			if (!memcmp((uint8_t *)&f + members[k].off,
				    (const uint8_t *)&r->f + members[k].off, members[k].size))
				continue;
			print_error("%s: %s differs\n", r->name, members[k].name);
			bad++;
		}
		free(bytes);
	}
	assert_int_equal(bad, 0);
	assert_true(i > 40);
}

static void shorter_than_its_header_is_no_frame(void **state)
{
	uint8_t *bytes = copy(frame_rows[0].bytes, ETH_BYTES - 1);
	struct frame f;

	(void)state;
	assert_false(frame_parse(&f, bytes, ETH_BYTES - 1, LENGTHS_OF_FRAME));
	free(bytes);
}

/* Every beginning of every frame: nothing beyond it is read, and offsets stay within it. */
static void frames_may_end_anywhere(void **state)
{
	size_t i, len;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(frame_rows); i++) {
		for (len = ETH_BYTES; len < frame_rows[i].len && len < 200; len++) {
			uint8_t *bytes = copy(frame_rows[i].bytes, len);
			struct frame f;

			assert_true(frame_parse(&f, bytes, len, LENGTHS_OF_FRAME));
			assert_true(f.l3 <= len && f.l4 <= f.ip_end && f.ip_end <= len);
			assert_true(f.payload <= f.l4_end && f.l4_end <= f.ip_end);
			assert_true(!f.l4_type || f.ip_version);
			free(bytes);
		}
	}
}

static void templates_may_have_any_length_fields(void **state)
{
	static const char *const names[] = { "tcp4_empty", "tcp4_options", "tcp6", "udp6" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const struct frame_row *r = row_named(names[i]);
		size_t len = r->f.payload;
		uint8_t *bytes = copy(r->bytes, len);
		struct frame f;

		put_be16(bytes + r->f.l3 + (r->f.ip_version == 4 ? 2 : 4), 0);
		if (r->f.l4_type == L4_UDP)
			put_be16(bytes + r->f.l4 + 4, 0);
		assert_true(frame_parse(&f, bytes, len, LENGTHS_OF_TEMPLATE));
		assert_int_equal(f.l4_type, r->f.l4_type);
		assert_int_equal(f.payload, len);
		assert_int_equal(f.ip_end, len);
		assert_int_equal(f.l4_end, len);
		assert_true(frame_parse(&f, bytes, len, LENGTHS_OF_FRAME));
		assert_int_equal(f.l4_type, L4_NONE);
		free(bytes);
	}
}

/* Behind the header of a later fragment is data, even if it would pass for an extension header. */
static void later_fragments_have_no_headers(void **state)
{
	const struct frame_row *r = row_named("last_fragment6");
	uint8_t *bytes = copy(r->bytes, r->len);
	struct frame f;

	(void)state;
	bytes[r->f.l3 + 40] = PROTO_OPTIONS;
	assert_true(frame_parse(&f, bytes, r->len, LENGTHS_OF_FRAME));
	assert_int_equal(f.ip_version, 6);
	assert_int_equal(f.protocol, PROTO_OPTIONS);
	assert_int_equal(f.l4, r->f.l4);
	free(bytes);
}

static void tags_have_parts(void **state)
{
	struct frame f;

	(void)state;
	frame_parse(&f, row_named("ctag")->bytes, row_named("ctag")->len, LENGTHS_OF_FRAME);
	assert_int_equal(frame_tag_vid(&f.tag[0]), 5);
	assert_int_equal(frame_tag_priority(&f.tag[0]), 3);
	assert_true(frame_has_tag(&f, ETYPE_CTAG));
	assert_false(frame_has_tag(&f, ETYPE_STAG));
	frame_parse(&f, row_named("stag_ctag")->bytes, row_named("stag_ctag")->len,
		    LENGTHS_OF_FRAME);
	assert_true(frame_has_tag(&f, ETYPE_STAG));
	assert_false(frame_has_tag(&f, ETYPE_CTAG));
	frame_parse(&f, row_named("tcp4")->bytes, row_named("tcp4")->len, LENGTHS_OF_FRAME);
	assert_false(frame_has_tag(&f, ETYPE_STAG) || frame_has_tag(&f, ETYPE_CTAG));
}

static void group_addresses_are_told_apart(void **state)
{
	static const uint8_t unicast[] = { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const uint8_t multicast[] = { 0x01, 0, 0x5e, 0, 0, 1 };
	static const uint8_t broadcast[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	(void)state;
	assert_false(mac_is_multicast(unicast) || mac_is_broadcast(unicast));
	assert_true(mac_is_multicast(multicast) && !mac_is_broadcast(multicast));
	assert_true(mac_is_multicast(broadcast) && mac_is_broadcast(broadcast));
}

/* ---- checksums ------------------------------------------------------------------------------- */

static void sums_are_those_of_scapy(void **state)
{
	unsigned int seen = 0;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(frame_rows); i++) {
		const struct frame_row *r = &frame_rows[i];
		struct frame f;

		frame_parse(&f, r->bytes, r->len, LENGTHS_OF_FRAME);
		if (!f.ip_version)
			continue;
		seen++;
		if (csum_packet(&f) != r->sum)
			fail_msg("%s: 0x%x, not 0x%x", r->name, csum_packet(&f), r->sum);
	}
	assert_true(seen > 30);
}

static void right_checksums_are_accepted(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(frame_rows); i++) {
		const struct frame_row *r = &frame_rows[i];
		struct frame f;

		frame_parse(&f, r->bytes, r->len, LENGTHS_OF_FRAME);
		if (csum_ip_ok(&f) != !!f.ip_version || csum_l4_ok(&f) != !!f.l4_type)
			fail_msg("%s: IP %d, L4 %d", r->name, csum_ip_ok(&f), csum_l4_ok(&f));
	}
}

/* Any byte of the IP header, and any byte that the TCP or UDP checksum covers. */
static void wrong_bytes_are_found(void **state)
{
	static const char *const names[] = { "tcp4_odd", "tcp4_options", "udp4", "tcp6", "udp6" };
	size_t i, at;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const struct frame_row *r = row_named(names[i]);
		uint8_t *bytes = copy(r->bytes, r->len);
		struct frame f;

		frame_parse(&f, bytes, r->len, LENGTHS_OF_FRAME);
		for (at = f.l3 + 12; at < f.l4_end; at++) {
			bytes[at] ^= 0x10;
			if (f.ip_version == 4 && at < f.l4)
				assert_false(csum_ip_ok(&f));
			else if (f.ip_version == 4)
				assert_true(csum_ip_ok(&f));
			if (at >= f.l4 && csum_l4_ok(&f))
				fail_msg("%s: byte %zu is not covered", names[i], at);
			bytes[at] ^= 0x10;
		}
		memset(f.sip, 1, sizeof(f.sip));
		assert_false(csum_l4_ok(&f));
		free(bytes);
	}
}

static void udp_without_checksum_is_right_in_ipv4_only(void **state)
{
	const struct frame_row *r4 = row_named("udp4"), *r6 = row_named("udp6");
	uint8_t *v4 = copy(r4->bytes, r4->len), *v6 = copy(r6->bytes, r6->len);
	struct frame f;

	(void)state;
	put_be16(v4 + r4->f.l4 + 6, 0);
	put_be16(v6 + r6->f.l4 + 6, 0);
	frame_parse(&f, v4, r4->len, LENGTHS_OF_FRAME);
	assert_true(csum_l4_ok(&f));
	frame_parse(&f, v6, r6->len, LENGTHS_OF_FRAME);
	assert_false(csum_l4_ok(&f));
	free(v4);
	free(v6);
}

/* Whatever the fields held before, they get what scapy wrote. */
static void checksums_are_written_as_scapy_does(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(frame_rows); i++) {
		const struct frame_row *r = &frame_rows[i];
		uint8_t *bytes = copy(r->bytes, r->len);
		struct frame f;

		if (!strcmp(r->name, "udp4_no_checksum")) {
			free(bytes);
			continue;
		}
		frame_parse(&f, bytes, r->len, LENGTHS_OF_FRAME);
		if (f.ip_version == 4)
			put_be16(bytes + f.l3 + 10, 0xbeef);
		if (f.l4_type)
			put_be16(bytes + f.l4 + (f.l4_type == L4_TCP ? 16 : 6), 0xbeef);
		csum_fill_ip(bytes, &f);
		csum_fill_l4(bytes, &f);
		if (memcmp(bytes, r->bytes, r->len))
			fail_msg("%s differs", r->name);
		free(bytes);
	}
}

/* The definition, a word at a time. */
static uint16_t plain_sum(const uint8_t *p, size_t len, uint64_t sum)
{
	size_t i;

	for (i = 0; i < len; i++)
		sum += i % 2 ? p[i] : p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void sum_is_that_of_words(void **state)
{
	uint8_t bytes[64];
	size_t i, at, len;

	(void)state;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0xf1 * i + 0x8d;
	for (at = 0; at < 9; at++) {
		for (len = 0; len < sizeof(bytes) - 9; len++) {
			assert_int_equal(csum_sum(bytes + at, len, 0),
					 plain_sum(bytes + at, len, 0));
			assert_int_equal(csum_sum(bytes + at, len, 0x123456789ull),
					 plain_sum(bytes + at, len, 0x123456789ull));
		}
	}
}

static void sum_of_many_bytes_carries(void **state)
{
	static uint8_t ones[1 << 20];

	(void)state;
	memset(ones, 0xff, sizeof(ones));
	assert_int_equal(csum_sum(ones, sizeof(ones), 0), 0xffff);
	assert_int_equal(csum_sum(ones, 1, 0), 0xff00);
	assert_int_equal(csum_sum(ones, 0, 0x123456789), 0x2345 + 0x6789 + 1);
	assert_int_equal(csum_sum(ones, 2, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_those_that_scapy_reads),
		cmocka_unit_test(shorter_than_its_header_is_no_frame),
		cmocka_unit_test(frames_may_end_anywhere),
		cmocka_unit_test(templates_may_have_any_length_fields),
		cmocka_unit_test(later_fragments_have_no_headers),
		cmocka_unit_test(tags_have_parts),
		cmocka_unit_test(group_addresses_are_told_apart),
		cmocka_unit_test(sums_are_those_of_scapy),
		cmocka_unit_test(right_checksums_are_accepted),
		cmocka_unit_test(wrong_bytes_are_found),
		cmocka_unit_test(udp_without_checksum_is_right_in_ipv4_only),
		cmocka_unit_test(checksums_are_written_as_scapy_does),
		cmocka_unit_test(sum_is_that_of_words),
		cmocka_unit_test(sum_of_many_bytes_carries),
	};

	return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}
