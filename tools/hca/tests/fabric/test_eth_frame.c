// SPDX-License-Identifier: GPL-2.0
/*
 * Ethernet frames: copies share their bytes, and the bytes live as long as a copy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "eth_frame.h"

static void copies_share_their_bytes(void **state)
{
	struct eth_frame *fr = eth_frame_alloc(ETH_FRAME_MAX), *a, *b;
	uint8_t *data = eth_frame_data(fr);

	(void)state;
	memset(data, 0x5a, ETH_FRAME_MAX);
	a = eth_frame_copy(fr);
	b = eth_frame_copy(a);
	assert_ptr_equal(eth_frame_data(a), data);
	assert_ptr_equal(eth_frame_data(b), data);
	assert_int_equal(b->head.len, ETH_FRAME_MAX);
	/* Each copy is in a queue of its own. */
	assert_ptr_not_equal(a, fr);
	assert_ptr_not_equal(a, b);
	eth_frame_free(a);
	eth_frame_free(b);
	eth_frame_free(fr);
}

/* The address sanitizer sees a use after free, and the leak sanitizer bytes that are never freed. */
static void bytes_live_as_long_as_a_copy(void **state)
{
	struct eth_frame *fr = eth_frame_alloc(ETH_FRAME_MIN), *copy;

	(void)state;
	memset(eth_frame_data(fr), 0xa5, ETH_FRAME_MIN);
	copy = eth_frame_copy(fr);
	eth_frame_free(fr);
	assert_int_equal(eth_frame_data(copy)[ETH_FRAME_MIN - 1], 0xa5);
	eth_frame_free(copy);
}

static void a_head_is_that_of_its_frame(void **state)
{
	struct eth_frame *fr = eth_frame_alloc(100);

	(void)state;
	assert_ptr_equal(eth_frame_of(&fr->head), fr);
	assert_null(eth_frame_of(NULL));
	assert_int_equal(fr->head.len, 100);
	eth_frame_free(fr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_share_their_bytes),
		cmocka_unit_test(bytes_live_as_long_as_a_copy),
		cmocka_unit_test(a_head_is_that_of_its_frame),
	};

	return cmocka_run_group_tests_name("eth_frame", tests, NULL, NULL);
}
