// SPDX-License-Identifier: GPL-2.0
/*
 * VLAN tags.
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
#include "scapy_tags.h"
#include "util.h"
#include "vlan.h"

static void tags_are_inserted(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(tag_rows); i++) {
		const struct tag_row *r = &tag_rows[i];
		uint8_t *bytes = malloc(r->tagged_len);

		assert_non_null(bytes);
		memcpy(bytes, r->plain, r->plain_len);
		assert_int_equal(vlan_insert(bytes, r->plain_len, &r->tag), r->tagged_len);
		assert_memory_equal(bytes, r->tagged, r->tagged_len);
		free(bytes);
	}
}

static void tags_are_stripped(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(tag_rows); i++) {
		const struct tag_row *r = &tag_rows[i];
		uint8_t *bytes = malloc(r->tagged_len), *plain;

		assert_non_null(bytes);
		memcpy(bytes, r->tagged, r->tagged_len);
		plain = vlan_strip(bytes);
		assert_ptr_equal(plain, bytes + r->tagged_len - r->plain_len);
		assert_memory_equal(plain, r->plain, r->plain_len);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tags_are_inserted),
		cmocka_unit_test(tags_are_stripped),
	};

	return cmocka_run_group_tests_name("tags", tests, NULL, NULL);
}
