// SPDX-License-Identifier: GPL-2.0
/*
 * How the trace shows the fields of a structure: numbers, texts, lists, and what is left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "fields.h"
#include "ifc.h"
#include "util.h"

#define TEXT_LEN 16

static const struct ifc_member inner_fields[] = {
	{ .name = "a", .off = 0, .width = 8, .count = 1 },
	{ .name = "b", .off = 8, .width = 8, .count = 1 },
	{}
};

static const struct ifc_struct inner = { .name = "inner", .bits = 16, .field = inner_fields };

static const struct ifc_member fields[] = {
	{ .name = "low", .off = 0, .width = 16, .count = 1 },
	{ .name = "reserved_at_10", .off = 16, .width = 16, .count = 1, .reserved = true },
	{ .name = "word", .off = 32, .width = 32, .count = 1 },
	{ .name = "odd", .off = 64, .width = 33, .count = 1 },
	{ .name = "rest", .off = 97, .width = 31, .count = 1 },
	{ .name = "long", .off = 128, .width = 64, .count = 1 },
	{ .name = "wide", .off = 192, .width = 128, .count = 1 },
	{ .name = "inner", .off = 320, .width = 16, .count = 1, .sub = &inner },
	{ .name = "list", .off = 336, .width = 16, .count = 3 },
	{ .name = "text", .off = 384, .width = 8, .count = TEXT_LEN },
	{ .name = "tail", .off = 512, .width = 16, .count = 0, .sub = &inner },
	{}
};

static const struct ifc_struct whole = { .name = "whole", .bits = 512, .field = fields };

static uint8_t p[256];
static char *shown;

static int up(void **state)
{
	(void)state;
	memset(p, 0, sizeof(p));
	return 0;
}

static int down(void **state)
{
	(void)state;
	free(shown);
	shown = NULL;
	return 0;
}

/* What is shown of the first @len bytes of @p; valid until the next call. */
static const char *decoded(size_t len)
{
	size_t n;
	FILE *f;

	free(shown);
	f = open_memstream(&shown, &n);
	assert_non_null(f);
	decode_struct(f, &whole, p, len);
	fclose(f);
	return shown;
}

static void numbers_of_more_than_32_bits_are_in_hexadecimal(void **state)
{
	unsigned int i;

	(void)state;
	assert_string_equal(decoded(64), "");
	put_be32(p, 0x1234ffff);		/* the low half is reserved */
	put_be32(p + 4, 0xffffffff);
	put_be64(p + 8, 0x8000000100000003);
	assert_string_equal(decoded(64), "\"low\":4660,\"word\":4294967295,\"odd\":\"0x100000002\","
			    "\"rest\":3");
	memset(p, 0, 16);
	put_be64(p + 16, 0xfedcba9876543210);
	for (i = 0; i < 16; i++)
		p[24 + i] = i;
	assert_string_equal(decoded(64), "\"long\":\"0xfedcba9876543210\","
			    "\"wide\":\"000102030405060708090a0b0c0d0e0f\"");
}

static void inner_structures_and_lists_have_brackets(void **state)
{
	(void)state;
	p[41] = 7;
	put_be16(p + 42, 1);
	put_be16(p + 46, 3);
	assert_string_equal(decoded(64), "\"inner\":{\"b\":7},\"list\":[1,0,3]");
}

/* A list without a length goes to the end of the buffer, but only its first 16 are shown. */
static void list_at_the_end_is_as_long_as_the_buffer(void **state)
{
	char want[16 * 10 + 40] = "\"tail\":[";
	unsigned int i;

	(void)state;
	for (i = 0; i < 16; i++) {
		p[64 + 2 * i] = 5;
		strcat(want, i ? ",{\"a\":5}" : "{\"a\":5}");
	}
	assert_string_equal(decoded(64 + 4), "\"tail\":[{\"a\":5},{\"a\":5}]");
	assert_string_equal(decoded(64 + 2 * 16), strcat(want, "]"));
	want[strlen(want) - 1] = 0;
	assert_string_equal(decoded(64 + 2 * 18), strcat(want, ",\"and 2 more\"]"));
}

static void fields_beyond_the_end_are_left_out(void **state)
{
	(void)state;
	put_be32(p + 4, 1);
	put_be32(p + 12, 1);
	assert_string_equal(decoded(16), "\"word\":1,\"rest\":1");
	assert_string_equal(decoded(15), "\"word\":1");
	assert_string_equal(decoded(8), "\"word\":1");
	assert_string_equal(decoded(7), "");
}

/* Bytes that are no text, and bytes behind the end of a text, are shown in hexadecimal. */
static void bytes_are_shown_as_text_or_in_hexadecimal(void **state)
{
	static const struct { unsigned int at; char c; } odd[] = {
		{ 0, 1 }, { 0, '"' }, { 3, '\\' }, { 4, 0x7f }, { 5, '\n' }, { 7, 'z' },
		{ TEXT_LEN - 1, 'z' },
	};
	char *text = (char *)p + 48, want[20 + 2 * TEXT_LEN];
	unsigned int i, k;

	(void)state;
	memcpy(text, " text~", 6);
	assert_string_equal(decoded(64), "\"text\":\" text~\"");
	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		char was = text[odd[i].at];
		size_t n = sprintf(want, "\"text\":\"");

		text[odd[i].at] = odd[i].c;
		for (k = 0; k < TEXT_LEN; k++)
			n += sprintf(want + n, "%02x", text[k]);
		strcpy(want + n, "\"");
		assert_string_equal(decoded(64), want);
		text[odd[i].at] = was;
	}
	memset(text, 'x', TEXT_LEN);
	assert_string_equal(decoded(64), "\"text\":\"xxxxxxxxxxxxxxxx\"");
}

static void quotes_of_a_string_are_escaped(void **state)
{
	size_t n;
	FILE *f;

	(void)state;
	f = open_memstream(&shown, &n);
	assert_non_null(f);
	decode_string(f, "\"no\" is a\\b");
	fclose(f);
	assert_string_equal(shown, "\"\\\"no\\\" is a\\\\b\"");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(numbers_of_more_than_32_bits_are_in_hexadecimal),
		T(inner_structures_and_lists_have_brackets),
		T(list_at_the_end_is_as_long_as_the_buffer), T(fields_beyond_the_end_are_left_out),
		T(bytes_are_shown_as_text_or_in_hexadecimal), T(quotes_of_a_string_are_escaped),
	};

	return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
