// SPDX-License-Identifier: GPL-2.0
/*
 * Inboxes of ports and of the switch: what is in them when a link goes down, and which senders wait
 * for room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <event2/event.h>
#include <string.h>

#include "fabric.h"
#include "fabric_priv.h"
#include "forward.h"
#include "ib_packet.h"
#include "packet.h"
#include "port.h"
#include "subnetrig.h"

#define LIMIT	512	/* packets at a port */
#define SWITCH_LIMIT 128	/* packets of a port at the switch */
#define SWITCH_TURN 512		/* packets that the switch answers in a turn of its event loop */

static unsigned int woken[NET_HCAS];

static void wake(struct hca *hca)
{
	woken[hca->index]++;
}

static int up(void **state)
{
	unsigned int h;

	(void)state;
	memset(woken, 0, sizeof(woken));
	net_up(true);
	for (h = 0; h < NET_HCAS; h++)
		fabric_set_wake(net.hca[h], wake);
	return 0;
}

static int down(void **state)
{
	(void)state;
	net_down();
	return 0;
}

/* Send a packet from HCA @h to @dlid, which no agent answers. */
static void put(unsigned int h, uint16_t dlid, unsigned int psn)
{
	struct packet *p = packet_alloc(net.fabric);

	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = fabric_lid(net.hca[h]);
	ib_hdr(p)->dlid = dlid;
	p->sqpn = 5;
	p->dqpn = 6;
	p->psn = psn;
	fabric_tx(net.hca[h], p);
}

/* Take a packet at HCA @h. Returns its PSN, or -1 if there is none. */
static int take(unsigned int h)
{
	struct packet *p = fabric_rx(net.hca[h]);
	int psn = -1;

	if (p) {
		psn = p->psn;
		packet_free(net.fabric, p);
	}
	return psn;
}

static uint16_t lid(unsigned int h)
{
	return fabric_lid(net.hca[h]);
}

/* Packets are pending in the inbox, and after the HCA has taken them from there. */
static void packets_are_pending_until_received(void **state)
{
	(void)state;
	assert_false(fabric_rx_pending(net.hca[1]));
	put(0, lid(1), 0);
	put(0, lid(1), 1);
	assert_true(fabric_rx_pending(net.hca[1]));
	fabric_poll(net.hca[1]);
	assert_true(fabric_rx_pending(net.hca[1]));
	assert_int_equal(take(1), 0);
	assert_true(fabric_rx_pending(net.hca[1]));
	assert_int_equal(take(1), 1);
	assert_false(fabric_rx_pending(net.hca[1]));
}

/* ---- links ----------------------------------------------------------------------------------- */

/*
 * Packets in the inbox and packets that the HCA has taken from it are lost; later packets arrive.
 */
static void link_that_flaps_loses_what_came_before(void **state)
{
	(void)state;
	put(0, lid(1), 0);
	fabric_poll(net.hca[1]);
	put(0, lid(1), 1);
	fabric_set_far_link(net.hca[1], false);
	put(0, 2, 2);				/* to HCA 1's LID, while its link is down */
	fabric_set_far_link(net.hca[1], true);
	put(0, lid(1), 3);
	assert_int_equal(net.events[1], 0);	/* the HCA has not looked yet */
	fabric_poll(net.hca[1]);
	assert_int_equal(take(1), 3);
	assert_int_equal(take(1), -1);
	assert_int_equal(net.hca[1]->count.packets_dropped, 1);
	assert_int_equal(net.events[1], 3);
	assert_int_equal(net.event[1][0], 1);	/* down */
	assert_int_equal(net.event[1][2], 4);	/* active */
}

static void link_event_needs_no_packet(void **state)
{
	(void)state;
	fabric_set_far_link(net.hca[1], false);
	net_turn();
	assert_int_equal(net.events[1], 1);
	fabric_set_far_link(net.hca[1], true);
	fabric_set_far_link(net.hca[1], false);
	net_turn();
	assert_int_equal(net.events[1], 1);	/* the HCA has not seen the link up */
	port_set_link(net.hca[1], true);
	assert_int_equal(net.events[1], 3);
}

static void state_of_a_link_that_is_down_cannot_be_set(void **state)
{
	(void)state;
	fabric_set_far_link(net.hca[1], false);
	assert_false(fabric_set_state(net.hca[1], false, PORT_ACTIVE));
	assert_false(fabric_set_state(net.hca[1], true, PORT_ACTIVE));
	assert_int_equal(fabric_state(net.hca[1], false), PORT_DOWN);
	assert_int_equal(fabric_state(net.hca[1], true), PORT_DOWN);
}

/* An HCA that is reset does not get the packets that came before the reset. */
static void reset_loses_what_came_before(void **state)
{
	(void)state;
	put(0, lid(1), 0);
	fabric_poll(net.hca[1]);
	put(0, lid(1), 1);
	hca_reset(net.hca[1]);
	put(0, lid(1), 2);
	assert_int_equal(take(1), 2);
	assert_int_equal(take(1), -1);
}

/* The switch can have an old entry for a LID that the port does not have any more. */
static void port_drops_packets_to_other_lids(void **state)
{
	(void)state;
	fabric_forward(net.fabric)->port[99] = 2;
	put(0, 99, 0);
	put(0, lid(1), 1);
	assert_int_equal(take(1), 1);
	assert_int_equal(take(1), -1);
	assert_int_equal(net.hca[1]->count.packets_dropped, 1);
}

/* ---- room ------------------------------------------------------------------------------------ */

static void sender_is_woken_when_half_is_free(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < LIMIT; i++) {
		assert_true(fabric_can_tx(net.hca[0], lid(1), NULL));
		put(0, lid(1), i);
	}
	assert_true(woken[1]);
	assert_false(fabric_can_tx(net.hca[0], lid(1), NULL));
	assert_false(fabric_can_tx(net.hca[2], lid(1), NULL));
	assert_true(fabric_can_tx(net.hca[1], lid(0), NULL));
	for (i = 0; i < LIMIT / 2 - 1; i++)
		assert_int_equal(take(1), i);
	assert_int_equal(woken[0] + woken[2], 0);
	assert_true(fabric_can_tx(net.hca[0], lid(1), NULL));
	assert_int_equal(take(1), i);
	assert_int_equal(woken[0], 1);
	assert_int_equal(woken[2], 1);
	while (take(1) >= 0)
		;
	assert_int_equal(woken[0], 1);		/* once */
}

static void sender_is_woken_when_the_link_goes_down(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < LIMIT; i++)
		put(0, lid(1), i);
	assert_false(fabric_can_tx(net.hca[0], lid(1), NULL));
	port_set_link(net.hca[1], false);
	assert_int_equal(woken[0], 1);
	assert_true(fabric_can_tx(net.hca[0], 2, NULL));
}

/* A reset drops the packets in the inbox, so it must wake the senders that wait for room. */
static void sender_is_woken_when_the_receiver_is_reset(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < LIMIT; i++)
		put(0, lid(1), i);
	assert_false(fabric_can_tx(net.hca[0], lid(1), NULL));
	hca_reset(net.hca[1]);
	assert_int_equal(woken[0], 1);
	assert_true(fabric_can_tx(net.hca[0], lid(1), NULL));
}

/* Senders wait for room at the switch. */
static void switch_has_a_limit(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < SWITCH_LIMIT; i++) {
		assert_true(fabric_can_tx(net.hca[0], SWITCH_LID, NULL));
		put(0, SWITCH_LID, i);
	}
	assert_false(fabric_can_tx(net.hca[0], SWITCH_LID, NULL));
	assert_int_equal(woken[0], 0);
	net_turn();
	assert_int_equal(woken[0], 1);
	assert_true(fabric_can_tx(net.hca[0], SWITCH_LID, NULL));
}

static unsigned int came_by[SWITCH_LIMIT + 2], came;

static void note_port(void *arg, unsigned int port, const struct packet *p)
{
	(void)arg;
	(void)p;
	assert_true(came < SWITCH_LIMIT + 2);
	came_by[came++] = port;
}

/* The other ports wait neither for room at the switch, nor until the flood has been answered. */
static void port_that_floods_the_switch_holds_up_no_other(void **state)
{
	static struct fabric_agent agent;
	unsigned int i;

	(void)state;
	agent = *net.fabric->agent;
	agent.receive = note_port;
	net.fabric->agent = &agent;
	came = 0;
	for (i = 0; i < SWITCH_LIMIT; i++)
		put(0, SWITCH_LID, i);
	assert_false(fabric_can_tx(net.hca[0], SWITCH_LID, NULL));
	for (i = 0; i < 2; i++) {
		assert_true(fabric_can_tx(net.hca[2], SWITCH_LID, NULL));
		put(2, SWITCH_LID, i);
	}
	net_turn();
	assert_int_equal(came, SWITCH_LIMIT + 2);
	for (i = 0; i < came; i++)
		assert_int_equal(came_by[i], i == 1 || i == 3 ? 3 : 1);
	assert_int_equal(woken[0], 1);
	assert_int_equal(woken[2], 0);
}

static void note(void *arg, unsigned int port, const struct packet *p)
{
	(void)arg;
	(void)port;
	(void)p;
	came++;
}

/* What is left after a turn needs no further packet to be answered. */
static void switch_goes_on_after_its_turn(void **state)
{
	static struct fabric_agent agent;
	unsigned int i;

	(void)state;
	agent = *net.fabric->agent;
	agent.receive = note;
	net.fabric->agent = &agent;
	came = 0;
	for (i = 0; i < SWITCH_TURN + 1; i++)
		put(0, SWITCH_LID, i);
	event_base_loop(net.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_int_equal(came, SWITCH_TURN);
	net_turn();
	assert_int_equal(came, SWITCH_TURN + 1);
}

static struct packet *get_node_info(unsigned int h)
{
	struct packet *p = packet_alloc(net.fabric);

	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = lid(h);
	ib_hdr(p)->dlid = SWITCH_LID;
	p->head.len = MAD_BYTES;
	net_smp(p->payload, METHOD_GET, SMP_NODE_INFO, 0);
	return p;
}

/*
 * Subnet management packets do not wait for room at the switch: those that come from a port whose
 * room there is full are lost. Those from another port are not.
 */
static void switch_loses_subnet_management_without_room(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < SWITCH_LIMIT; i++)
		put(2, SWITCH_LID, i);
	fabric_tx(net.hca[2], get_node_info(2));
	fabric_tx(net.hca[0], get_node_info(0));
	assert_false(net_take(2));
	assert_true(net_take(0));
	fabric_tx(net.hca[2], get_node_info(2));
	assert_true(net_take(2));
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(packets_are_pending_until_received),
		T(link_that_flaps_loses_what_came_before), T(link_event_needs_no_packet),
		T(state_of_a_link_that_is_down_cannot_be_set), T(sender_is_woken_when_half_is_free),
		T(reset_loses_what_came_before), T(port_drops_packets_to_other_lids),
		T(sender_is_woken_when_the_link_goes_down),
		T(sender_is_woken_when_the_receiver_is_reset), T(switch_has_a_limit),
		T(port_that_floods_the_switch_holds_up_no_other),
		T(switch_goes_on_after_its_turn),
		T(switch_loses_subnet_management_without_room),
	};

	return cmocka_run_group_tests_name("inbox", tests, NULL, NULL);
}
