// SPDX-License-Identifier: GPL-2.0
/*
 * The invariant CRC, compared with the one that scapy computes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bytes.h"
#include "frame.h"
#include "framerow.h"
#include "icrc.h"
#include "scapy_roce.h"
#include "util.h"

static uint8_t *copy(const struct roce_row *r, struct frame *f)
{
	uint8_t *p = malloc(r->len);

	assert_non_null(p);
	memcpy(p, r->bytes, r->len);
	assert_true(frame_parse(f, p, r->len, LENGTHS_OF_FRAME));
	return p;
}

/* Where the ICRC is: frames of two rows have padding behind it. */
static size_t icrc_at(const struct roce_row *r, const struct frame *f)
{
	if (f->l4_type == L4_UDP)
		return f->l4_end - ICRC_BYTES;
	return r->len - ICRC_BYTES - (strstr(r->name, "padded") ? 4 : 0);
}

static void icrcs_are_those_of_scapy(void **state)
{
	struct frame f;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(roce_rows); i++) {
		const struct roce_row *r = &roce_rows[i];
		uint8_t *bytes = copy(r, &f);

		assert_true(icrc_covers(&f));
		if (!icrc_ok(&f))
			fail_msg("%s: wrong", r->name);
		memset(bytes + icrc_at(r, &f), 0x5a, ICRC_BYTES);
		assert_false(icrc_ok(&f));
		icrc_fill(bytes, &f);
		assert_memory_equal(bytes, r->bytes, r->len);
		free(bytes);
	}
}

/* Byte @at of the frame may change on the way. */
static bool varies(const struct frame *f, size_t at)
{
	size_t bth = f->l4_type == L4_UDP ? f->payload : f->l3 + 40, ip = at - f->l3;

	if (at < f->l3 || at == bth + 4)
		return true;
	if (f->l4_type == L4_UDP && at - f->l4 >= 6 && at < f->payload && at >= f->l4)
		return true;
	if (f->ip_version == 4)
		return ip == 1 || ip == 8 || ip == 10 || ip == 11;
	return (ip > 0 && ip < 4) || ip == 7;
}

/* The lower bits of a byte: those that vary of the first byte of IPv6 and of the GRH. */
static void changed_bytes_are_found(void **state)
{
	struct frame f;
	size_t i, at;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(roce_rows); i++) {
		const struct roce_row *r = &roce_rows[i];
		uint8_t *bytes = copy(r, &f);

		for (at = 0; at < icrc_at(r, &f) + ICRC_BYTES; at++) {
			uint8_t bit = f.ip_version != 4 && at == f.l3 ? 0x10 : 0x01;

			bytes[at] ^= bit;
			if (icrc_ok(&f) != varies(&f, at) && at != f.l3 + 4 && at != f.l3 + 5)
				fail_msg("%s: byte %zu %s", r->name, at,
					 varies(&f, at) ? "may change" : "is not covered");
			bytes[at] ^= bit;
		}
		if (f.ip_version != 4) {
			bytes[f.l3] ^= 0x0f;
			assert_true(icrc_ok(&f));
		}
		free(bytes);
	}
}

/* No beginning of a packet is one with an ICRC; nothing beyond it is read. */
static void packets_may_end_anywhere(void **state)
{
	struct frame f;
	size_t i, len;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(roce_rows); i++) {
		const struct roce_row *r = &roce_rows[i];
		uint8_t *whole = copy(r, &f);
		size_t end = icrc_at(r, &f) + ICRC_BYTES;

		free(whole);
		for (len = ETH_BYTES; len < end; len++) {
			uint8_t *bytes = malloc(len);

			assert_non_null(bytes);
			memcpy(bytes, r->bytes, len);
			frame_parse(&f, bytes, len, LENGTHS_OF_FRAME);
			assert_false(icrc_covers(&f));
			assert_false(icrc_ok(&f));
			icrc_fill(bytes, &f);
			assert_memory_equal(bytes, r->bytes, len);
			free(bytes);
		}
	}
}

static void short_packets_have_no_icrc(void **state)
{
	const struct roce_row *v1 = &roce_rows[ARRAY_SIZE(roce_rows) - 1];
	struct frame f;
	uint8_t *bytes = copy(v1, &f);

	(void)state;
	put_be16(bytes + f.l3 + 4, 15);
	assert_false(icrc_covers(&f));
	put_be16(bytes + f.l3 + 4, 16);
	assert_true(icrc_covers(&f));
	free(bytes);
	bytes = copy(&roce_rows[0], &f);
	put_be16(bytes + f.l4 + 4, 8 + 15);
	frame_parse(&f, bytes, f.len, LENGTHS_OF_FRAME);
	assert_int_equal(f.l4_type, L4_UDP);
	assert_false(icrc_covers(&f));
	put_be16(bytes + f.l4 + 4, 8 + 16);
	put_be16(bytes + f.l4 + 2, ROCE_PORT - 1);
	frame_parse(&f, bytes, f.len, LENGTHS_OF_FRAME);
	assert_false(icrc_covers(&f));
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(icrcs_are_those_of_scapy),
		cmocka_unit_test(changed_bytes_are_found),
		cmocka_unit_test(packets_may_end_anywhere),
		cmocka_unit_test(short_packets_have_no_icrc),
	};

	return cmocka_run_group_tests_name("roce", tests, NULL, NULL);
}
