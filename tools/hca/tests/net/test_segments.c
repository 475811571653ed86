// SPDX-License-Identifier: GPL-2.0
/*
 * Segmentation, compared with packets that scapy has built for each part of the payload.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "frame.h"
#include "framerow.h"
#include "scapy_segments.h"
#include "segment.h"
#include "util.h"

/* As data() in gen-frames.py. */
static void put_payload(uint8_t *to, size_t at, size_t n)
{
	for (; n; n--, at++)
		*to++ = 7 * at + 3;
}

static void segments_are_those_of_scapy(void **state)
{
	size_t i, at, n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(segment_rows); i++) {
		const struct segment_row *r = &segment_rows[i];
		size_t room = r->template_len + r->mss;
		uint8_t *frame = malloc(room);
		struct segmenter s;

		assert_non_null(frame);
		assert_null(segment_start(&s, r->template, r->template_len, r->payload, r->mss));
		for (at = 0; (n = segment_next(&s, frame)); at += n) {
			unsigned int k = s.segments - 1;

			put_payload(frame + r->template_len, at, n);
			segment_seal(&s, frame, r->template_len + n, true, true);
			assert_true(k < r->segments);
			assert_int_equal(r->template_len + n, r->segment[k].len);
			if (memcmp(frame, r->segment[k].bytes, r->segment[k].len))
				fail_msg("%s: segment %u differs", r->name, k);
			assert_int_equal(segment_done(&s), k == r->segments - 1);
		}
		assert_int_equal(s.segments, r->segments);
		assert_int_equal(at, r->payload);
		assert_int_equal(segment_next(&s, frame), 0);
		free(frame);
	}
}

static const struct segment_row *row_named(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(segment_rows); i++)
		if (!strcmp(segment_rows[i].name, name))
			return &segment_rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

/* Without a request for checksums the fields stay as the template has them. */
static void checksums_are_written_on_request(void **state)
{
	const struct segment_row *r = row_named("tcp4_one");
	uint8_t frame[400], *ip = frame + 14 + 10, *l4 = frame + 34 + 16;
	const uint8_t *want = r->segment[0].bytes;
	struct segmenter s;
	size_t n;

	(void)state;
	segment_start(&s, r->template, r->template_len, r->payload, r->mss);
	n = segment_next(&s, frame);
	put_payload(frame + r->template_len, 0, n);
	segment_seal(&s, frame, r->template_len + n, false, false);
	assert_memory_equal(ip, "\xde\xad", 2);
	assert_memory_equal(l4, "\xbe\xef", 2);
	segment_seal(&s, frame, r->template_len + n, true, false);
	assert_memory_equal(ip, want + 14 + 10, 2);
	assert_memory_equal(l4, "\xbe\xef", 2);
	segment_seal(&s, frame, r->template_len + n, false, true);
	assert_memory_equal(l4, want + 34 + 16, 2);
}

static void refuses(const struct segment_row *r, size_t len, size_t payload, size_t mss,
		    const char *why)
{
	uint8_t *template = malloc(len + 8);
	struct segmenter s;

	assert_non_null(template);
	memset(template + r->template_len, 0, len + 8 - r->template_len);
	memcpy(template, r->template, r->template_len);
	assert_string_equal(segment_start(&s, template, len, payload, mss), why);
	free(template);
}

static void contradictory_sends_are_refused(void **state)
{
	const struct segment_row *r = row_named("udp4");
	size_t len = r->template_len;
	uint8_t other[100] = { 0 };
	struct segmenter s;

	(void)state;
	refuses(r, len, 100, 0, "the segments have no payload (mss)");
	refuses(r, len, 0, 100, "there is no payload");
	refuses(r, len + 1, 100, 10, "the template does not end with its TCP or UDP header");
	refuses(r, len, FRAME_MAX, FRAME_MAX - len + 1,
		"the segments are longer than a frame");
	assert_null(segment_start(&s, r->template, len, FRAME_MAX, FRAME_MAX - len));
	assert_null(segment_start(&s, r->template, len, 100, FRAME_MAX));
	assert_string_equal(segment_start(&s, other, sizeof(other), 100, 10),
			    "the template has no TCP or UDP header");
	assert_string_equal(segment_start(&s, r->template, len - 1, 100, 10),
			    "the template has no TCP or UDP header");
	assert_string_equal(segment_start(&s, r->template, 13, 100, 10),
			    "the template has no TCP or UDP header");
}

/* 512 KiB, as BIG TCP sends: the id of IPv4 wraps, and no segment is lost. */
static void large_payloads_are_segmented(void **state)
{
	const struct segment_row *r = row_named("tcp4");
	size_t total = 0, n;
	uint8_t frame[2000];
	struct segmenter s;

	(void)state;
	assert_null(segment_start(&s, r->template, r->template_len, 512 * 1024, 1448));
	while ((n = segment_next(&s, frame)))
		total += n;
	assert_int_equal(total, 512 * 1024);
	assert_int_equal(s.segments, 363);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_are_those_of_scapy),
		cmocka_unit_test(checksums_are_written_on_request),
		cmocka_unit_test(contradictory_sends_are_refused),
		cmocka_unit_test(large_payloads_are_segmented),
	};

	return cmocka_run_group_tests_name("segments", tests, NULL, NULL);
}
