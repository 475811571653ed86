// SPDX-License-Identifier: GPL-2.0
/*
 * The pool of packets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric.h"
#include "fabric_priv.h"
#include "packet.h"

#define MANY	(POOL_MAX + 100)

static void pool_keeps_a_limited_number(void **state)
{
	static struct packet *p[MANY];
	struct fabric *f = fabric_new(&ib_packet_type);
	unsigned int i;

	(void)state;
	for (i = 0; i < MANY; i++)
		p[i] = packet_alloc(f);
	for (i = 0; i < MANY; i++)
		packet_free(f, p[i]);
	assert_int_equal(f->pooled, POOL_MAX);
	p[0] = packet_alloc(f);
	assert_int_equal(f->pooled, POOL_MAX - 1);
	packet_free(f, p[0]);
	assert_int_equal(f->pooled, POOL_MAX);
	fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pool_keeps_a_limited_number),
	};

	return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
