// SPDX-License-Identifier: GPL-2.0
/*
 * The switch's forwarding tables: their first and last entries, and LIDs without an entry.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric.h"
#include "fabric_priv.h"
#include "forward.h"
#include "ib_packet.h"
#include "packet.h"

static struct forward fw;

static int up(void **state)
{
	(void)state;
	forward_init(&fw);
	return 0;
}

static void new_tables_forward_nothing(void **state)
{
	unsigned int lid;

	(void)state;
	for (lid = 0; lid <= UINT16_MAX; lid++) {
		assert_int_equal(forward_unicast(&fw, lid), FORWARD_DROP);
		assert_int_equal(forward_multicast(&fw, 1, lid), 0);
	}
	forward_open(&fw);
	for (lid = 0; lid <= UINT16_MAX; lid++) {
		assert_int_equal(forward_unicast(&fw, lid), FORWARD_DROP);
		assert_int_equal(forward_multicast(&fw, 1, lid), 0);
	}
}

static void linear_table_ends_at_its_top(void **state)
{
	(void)state;
	fw.port[0] = 1;
	fw.port[1] = 2;
	fw.port[5] = 3;
	fw.port[6] = 4;
	fw.port[FORWARD_LIDS - 1] = 5;
	fw.linear_top = 5;
	assert_int_equal(forward_unicast(&fw, 0), FORWARD_DROP);	/* not a LID */
	assert_int_equal(forward_unicast(&fw, 1), 2);
	assert_int_equal(forward_unicast(&fw, 5), 3);
	assert_int_equal(forward_unicast(&fw, 6), FORWARD_DROP);
	assert_int_equal(forward_unicast(&fw, FORWARD_LIDS - 1), FORWARD_DROP);
	forward_open(&fw);
	assert_int_equal(forward_unicast(&fw, 6), 4);
	assert_int_equal(forward_unicast(&fw, FORWARD_LIDS - 1), 5);
	fw.linear_top = UINT16_MAX;		/* as a subnet manager may write */
	assert_int_equal(forward_unicast(&fw, LID_MCAST_FIRST), FORWARD_DROP);
}

static void multicast_table_ends_at_its_top(void **state)
{
	(void)state;
	fw.members[0] = 2;
	fw.members[4] = 4;
	fw.members[5] = 8;
	fw.members[FORWARD_MLIDS - 1] = 16;
	assert_int_equal(forward_multicast(&fw, 1, LID_MCAST_FIRST), 2);
	assert_int_equal(forward_multicast(&fw, 1, LID_MCAST_FIRST + FORWARD_MLIDS - 1), 16);
	fw.mcast_top = LID_MCAST_FIRST + 4;
	assert_int_equal(forward_multicast(&fw, 1, LID_MCAST_FIRST + 4), 4);
	assert_int_equal(forward_multicast(&fw, 1, LID_MCAST_FIRST + 5), 0);
	assert_int_equal(forward_multicast(&fw, 1, LID_MCAST_FIRST - 1), 0);
	forward_open(&fw);
	assert_int_equal(forward_multicast(&fw, 1, LID_MCAST_FIRST + 5), 8);
	assert_int_equal(forward_multicast(&fw, 1, LID_MCAST_FIRST + FORWARD_MLIDS - 1), 16);
	assert_int_equal(forward_multicast(&fw, 1, LID_MCAST_FIRST + FORWARD_MLIDS), 0);
}

/*
 * A packet to a multicast LID without an entry leaves by the primary port, or by the other default
 * port if it came by the primary port.
 */
static void multicast_without_an_entry_has_a_default_port(void **state)
{
	const uint16_t mlid = LID_MCAST_FIRST + FORWARD_MLIDS;

	(void)state;
	forward_open(&fw);
	fw.mcast_primary = 3;
	fw.mcast_other = 7;
	assert_int_equal(forward_multicast(&fw, 1, mlid), 1 << 3);
	assert_int_equal(forward_multicast(&fw, 7, mlid), 1 << 3);
	assert_int_equal(forward_multicast(&fw, 3, mlid), 1 << 7);
	fw.mcast_primary = SWITCH_PORTS;
	assert_true(forward_multicast(&fw, 1, mlid) == 1ull << SWITCH_PORTS);
	fw.mcast_primary = SWITCH_PORTS + 1;
	assert_true(forward_multicast(&fw, 1, mlid) == 0);
	assert_int_equal(forward_multicast(&fw, 1, LID_PERMISSIVE), 0);
	assert_int_equal(forward_multicast(&fw, 1, LID_MCAST_FIRST), 0);	/* has an entry */
}

/* ---- LIDs of ports --------------------------------------------------------------------------- */

static uint8_t port_of(struct fabric *f, uint16_t lid)
{
	return forward_unicast(fabric_forward(f), lid);
}

/* A port gets all of its new LIDs or none; the entries of its former LIDs are removed. */
static void lids_of_a_port_move_together(void **state)
{
	const struct lids none = { 0, 0 }, one = { 7, 0 }, four = { 8, 2 }, two = { 10, 1 };
	struct fabric *f = fabric_new(&ib_packet_type);
	unsigned int i;

	(void)state;
	assert_true(fabric_managed(f));
	assert_int_equal(port_of(f, SWITCH_LID), 0);
	assert_true(fabric_move_lids(f, 1, &none, &one));
	assert_int_equal(port_of(f, 7), 1);
	assert_true(fabric_move_lids(f, 2, &none, &two));
	assert_false(fabric_move_lids(f, 1, &one, &four));
	assert_int_equal(port_of(f, 7), 1);
	for (i = 8; i < 12; i++)
		assert_int_equal(port_of(f, i), i < 10 ? FORWARD_DROP : 2);
	/* The new LIDs may overlap the former LIDs. */
	assert_true(fabric_move_lids(f, 2, &two, &four));
	for (i = 8; i < 12; i++)
		assert_int_equal(port_of(f, i), 2);
	assert_true(fabric_move_lids(f, 2, &four, &two));
	for (i = 8; i < 12; i++)
		assert_int_equal(port_of(f, i), i < 10 ? FORWARD_DROP : 2);
	assert_int_equal(port_of(f, 12), FORWARD_DROP);
	/* Port 3 had no LIDs (LID 0), so no entry is removed, not even that of LID 0. */
	fabric_forward(f)->port[0] = 9;
	assert_true(fabric_move_lids(f, 3, &none, &(const struct lids){ 20, 0 }));
	assert_int_equal(fabric_forward(f)->port[0], 9);
	fabric_free(f);
}

static void unmanaged_fabric_forwards_nothing(void **state)
{
	struct fabric *f = fabric_new(&ib_packet_type);

	(void)state;
	fabric_leave_unmanaged(f);
	assert_false(fabric_managed(f));
	assert_int_equal(port_of(f, SWITCH_LID), FORWARD_DROP);
	assert_null(fabric_peer(f, 0));
	assert_null(fabric_peer(f, 1));
	assert_null(fabric_peer(f, SWITCH_PORTS + 1));
	fabric_free(f);
}

#define T(fn) cmocka_unit_test_setup(fn, up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(new_tables_forward_nothing), T(linear_table_ends_at_its_top),
		T(multicast_table_ends_at_its_top),
		T(multicast_without_an_entry_has_a_default_port),
		T(lids_of_a_port_move_together), T(unmanaged_fabric_forwards_nothing),
	};

	return cmocka_run_group_tests_name("forward", tests, NULL, NULL);
}
