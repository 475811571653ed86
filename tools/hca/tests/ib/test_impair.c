// SPDX-License-Identifier: GPL-2.0
/*
 * Impairments of a link: what each does to packets, that a seed repeats a run, that nothing is held
 * for ever, and how settings are written.
 */
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "clock.h"
#include "fabric.h"
#include "hca.h"
#include "ib_packet.h"
#include "ifc.h"
#include "impair.h"
#include "packet.h"
#include "sma.h"
#include "subnetrig.h"
#include "trace.h"
#include "tracerig.h"
#include "util.h"

#define PACKETS	1000
#define LEN	100

static struct impair *im;	/* of the link to HCA 1 */

/* The PSNs that arrived, in order. */
struct run {
	unsigned int psn[2 * PACKETS];
	unsigned int n;
};

static int up(void **state)
{
	(void)state;
	net_up(true);
	im = fabric_impair(net.hca[1]);
	return 0;
}

static int down(void **state)
{
	(void)state;
	net_down();
	return 0;
}

static void impair(const char *text)
{
	struct impair_settings s;
	char why[100] = "";

	assert_true(impair_parse(text, &s, why, sizeof(why)));
	assert_int_equal(impair_start(im, &s), 0);
}

static void put_packet(unsigned int psn)
{
	struct packet *p = packet_alloc(net.fabric);

	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = fabric_lid(net.hca[0]);
	ib_hdr(p)->dlid = fabric_lid(net.hca[1]);
	p->sqpn = 5;
	p->dqpn = 6;
	p->psn = psn;
	p->head.len = LEN;
	memset(p->payload, psn, LEN);
	fabric_tx(net.hca[0], p);
}

static void send_packet(unsigned int psn)
{
	put_packet(psn);
	fabric_poll(net.hca[1]);
}

static void take(struct run *run)
{
	struct packet *p;
	unsigned int i;

	while ((p = fabric_rx(net.hca[1]))) {
		assert_int_equal(p->head.len, LEN);
		for (i = 0; i < LEN; i++)
			assert_int_equal(p->payload[i], p->psn & 0xff);
		assert_true(run->n < ARRAY_SIZE(run->psn));
		run->psn[run->n++] = p->psn;
		packet_free(net.fabric, p);
	}
}

/* Run the event loop until no packet is held, at most for @ms. */
static void wait_for_held(unsigned int ms)
{
	uint64_t end = clock_now_ns() + ms * 1000000ull;

	while (impair_held(im) && clock_now_ns() < end) {
		event_base_loop(net.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		usleep(50);
	}
}

static void run(struct run *r, const char *text)
{
	unsigned int i;

	memset(r, 0, sizeof(*r));
	impair(text);
	for (i = 0; i < PACKETS; i++)
		send_packet(i);
	wait_for_held(3000);
	assert_int_equal(impair_held(im), 0);
	take(r);
	assert_int_equal(impair_counts(im).packets, PACKETS);
}

static unsigned int times(const struct run *r, unsigned int psn)
{
	unsigned int i, n = 0;

	for (i = 0; i < r->n; i++)
		n += r->psn[i] == psn;
	return n;
}

static bool in_order(const struct run *r)
{
	unsigned int i;

	for (i = 1; i < r->n; i++)
		if (r->psn[i] < r->psn[i - 1])
			return false;
	return true;
}

static uint64_t counted(enum impairment which)
{
	return impair_counts(im).n[which];
}

/* Check that of all impairments only @which took place, about as often as it should. */
static void assert_only(enum impairment which, unsigned int percent)
{
	unsigned int i;

	for (i = 0; i < IMPAIRMENTS; i++)
		if (i != which)
			assert_int_equal(counted(i), 0);
	assert_in_range(counted(which), PACKETS * percent / 100 * 2 / 3,
			PACKETS * percent / 100 * 4 / 3);
}

/* ---- each impairment by itself --------------------------------------------------------------- */

static void perfect_link_changes_nothing(void **state)
{
	struct run r = { 0 };
	unsigned int i;

	(void)state;
	for (i = 0; i < PACKETS; i++)
		send_packet(i);
	take(&r);
	assert_int_equal(r.n, PACKETS);
	assert_true(in_order(&r));
	assert_int_equal(impair_counts(im).packets, 0);
}

static void loss_alone(void **state)
{
	struct run r;
	unsigned int i;

	(void)state;
	run(&r, "loss=10");
	assert_only(IMPAIR_LOSS, 10);
	assert_int_equal(r.n, PACKETS - counted(IMPAIR_LOSS));
	assert_true(in_order(&r));
	for (i = 0; i < PACKETS; i++)
		assert_true(times(&r, i) <= 1);
	assert_int_equal(net.hca[1]->count.packets_dropped, 0);
	run(&r, "loss=100");
	assert_int_equal(r.n, 0);
}

static void duplication_alone(void **state)
{
	struct run r;
	unsigned int i;

	(void)state;
	run(&r, "dup=10%");
	assert_only(IMPAIR_DUP, 10);
	assert_int_equal(r.n, PACKETS + counted(IMPAIR_DUP));
	assert_true(in_order(&r));
	for (i = 0; i < PACKETS; i++)
		assert_in_range(times(&r, i), 1, 2);
}

static void reordering_alone(void **state)
{
	unsigned int i, before, j, moved = 0;
	struct run r;

	(void)state;
	run(&r, "reorder=10");
	assert_only(IMPAIR_REORDER, 10);
	assert_int_equal(r.n, PACKETS);
	assert_false(in_order(&r));
	for (i = 0; i < r.n; i++) {
		assert_int_equal(times(&r, i), 1);
		/* No packet is overtaken by more than IMPAIR_OVERTAKE others. */
		for (before = 0, j = 0; j < i; j++)
			before += r.psn[j] > r.psn[i];
		assert_true(before <= IMPAIR_OVERTAKE);
		moved += before != 0;
	}
	assert_in_range(moved, counted(IMPAIR_REORDER) / 2, counted(IMPAIR_REORDER));
}

/* The port counts packets that arrive with a wrong CRC as its errors. */
static void corruption_alone(void **state)
{
	uint8_t mad[MAD_BYTES], out[MAD_BYTES];
	struct run r;

	(void)state;
	run(&r, "corrupt=10");
	assert_only(IMPAIR_CORRUPT, 10);
	assert_int_equal(r.n, PACKETS - counted(IMPAIR_CORRUPT));
	assert_true(in_order(&r));
	assert_int_equal(net.hca[1]->count.packets_corrupted, counted(IMPAIR_CORRUPT));
	assert_int_equal(net.hca[1]->count.packets_dropped, 0);
	net_smp(mad, METHOD_GET, 0x12, 0);		/* PortCounters */
	mad[OFF_CLASS] = CLASS_PERF;
	mad[OFF_PMA_DATA + 1] = 1;
	assert_int_equal(sma_answer(net.hca[1], mad, out, false), SMA_REPLY);
	assert_int_equal(get_be16(out + OFF_PMA_DATA + 8), counted(IMPAIR_CORRUPT));
}

static void delay_alone(void **state)
{
	uint64_t begin;
	struct run r;

	(void)state;
	run(&r, "delay=10,delay_ms=5");
	assert_only(IMPAIR_DELAY, 10);
	assert_int_equal(r.n, PACKETS);
	assert_true(in_order(&r));

	memset(&r, 0, sizeof(r));
	impair("delay=100,delay_ms=1000,seed=3");
	begin = clock_now_ns();
	send_packet(0);
	wait_for_held(5);
	take(&r);
	assert_int_equal(r.n, 0);
	wait_for_held(2000);
	take(&r);
	assert_int_equal(r.n, 1);
	assert_in_range(clock_now_ns() - begin, 5000000, 1900000000);
}

static void all_at_once(void **state)
{
	struct run r;

	(void)state;
	run(&r, "loss=5,dup=5,reorder=5,corrupt=5,delay=5,delay_ms=3");
	assert_int_equal(r.n, PACKETS - counted(IMPAIR_LOSS) - counted(IMPAIR_CORRUPT) +
			 counted(IMPAIR_DUP));
}

/* ---- seeds ----------------------------------------------------------------------------------- */

static bool lost_the_same(const struct run *a, const struct run *b)
{
	unsigned int i;

	for (i = 0; i < PACKETS; i++)
		if (!times(a, i) != !times(b, i))
			return false;
	return true;
}

static void same_seed_same_run(void **state)
{
	struct run first, again;

	(void)state;
	run(&first, "loss=5,dup=5,reorder=5,seed=7");
	run(&again, "loss=5,dup=5,reorder=5,seed=7");
	assert_int_equal(first.n, again.n);
	assert_memory_equal(first.psn, again.psn, first.n * sizeof(first.psn[0]));
	run(&again, "loss=5,dup=5,reorder=5,seed=8");
	assert_false(lost_the_same(&first, &again));
}

static void other_probability_changes_nothing_else(void **state)
{
	struct run first, again;

	(void)state;
	run(&first, "loss=5,seed=7");
	run(&again, "loss=5,dup=20,reorder=20,seed=7");
	assert_true(lost_the_same(&first, &again));
}

static void ports_do_not_lose_alike(void **state)
{
	struct impair *other = fabric_impair(net.hca[2]);
	struct impair_settings s = { .delay_ms = 1, .seed = 7 };
	unsigned int i, both = 0;

	(void)state;
	s.ppm[IMPAIR_LOSS] = IMPAIR_ALWAYS / 2;
	assert_int_equal(impair_start(im, &s), 0);
	assert_int_equal(impair_start(other, &s), 0);
	for (i = 0; i < PACKETS; i++) {
		uint64_t lost[2] = { counted(IMPAIR_LOSS), impair_counts(other).n[IMPAIR_LOSS] };
		struct packet *p = packet_alloc(net.fabric);

		ib_hdr(p)->dlid = fabric_lid(net.hca[2]);
		p->dqpn = 6;
		fabric_tx(net.hca[0], p);
		fabric_poll(net.hca[2]);
		send_packet(i);
		both += counted(IMPAIR_LOSS) > lost[0] &&
			impair_counts(other).n[IMPAIR_LOSS] > lost[1];
	}
	assert_in_range(both, PACKETS / 8, PACKETS * 3 / 8);	/* the losses are independent */
}

/* ---- held packets ---------------------------------------------------------------------------- */

static void nothing_is_held_for_ever(void **state)
{
	struct run r = { 0 };

	(void)state;
	impair("reorder=100");
	send_packet(0);			/* no later packet, which could overtake this one */
	take(&r);
	assert_int_equal(r.n, 0);
	assert_int_equal(impair_held(im), 1);
	wait_for_held(1000);
	take(&r);
	assert_int_equal(r.n, 1);
}

static void held_packets_arrive_when_it_ends(void **state)
{
	struct run r = { 0 };
	unsigned int i;

	(void)state;
	impair("delay=100,delay_ms=1000");
	for (i = 0; i < 10; i++)
		send_packet(i);
	assert_int_equal(impair_held(im), 10);
	impair_stop(im);
	assert_int_equal(impair_held(im), 0);
	take(&r);
	assert_int_equal(r.n, 10);
	assert_true(in_order(&r));
	send_packet(10);
	take(&r);
	assert_int_equal(r.n, 11);
	assert_int_equal(counted(IMPAIR_DELAY), 10);
}

/* The next settings are for the next packets only, also if they make the link perfect. */
static void held_packets_arrive_at_the_next_settings(void **state)
{
	struct run r = { 0 };

	(void)state;
	impair("delay=100,delay_ms=1000");
	send_packet(0);
	assert_int_equal(impair_held(im), 1);
	impair("loss=100");
	assert_int_equal(impair_held(im), 0);
	take(&r);
	assert_int_equal(r.n, 1);
	impair("loss=0");
	send_packet(1);
	take(&r);
	assert_int_equal(r.n, 2);
	assert_int_equal(impair_counts(im).packets, 0);
}

/* A packet does not wait for packets that have arrived, or were lost, before their time. */
static void delays_are_forgotten_with_their_packets(void **state)
{
	struct run r = { 0 };
	unsigned int i;

	(void)state;
	impair("delay=100,delay_ms=1000");
	for (i = 0; i < 20; i++)
		send_packet(i);
	impair("delay=100,delay_ms=1");
	send_packet(20);
	wait_for_held(500);
	take(&r);
	assert_int_equal(r.n, 21);
	impair("delay=100,delay_ms=1000");
	for (i = 0; i < 20; i++)
		send_packet(i);
	fabric_set_link(net.hca[1], false);
	fabric_set_link(net.hca[1], true);
	impair("delay=100,delay_ms=1");
	send_packet(21);
	wait_for_held(500);
	take(&r);
	assert_int_equal(r.n, 22);
}

static void packets_on_their_way_meet_the_settings_from_before(void **state)
{
	struct run r = { 0 };

	(void)state;
	impair("loss=100");
	put_packet(0);
	impair_stop(fabric_impair(net.hca[1]));
	take(&r);
	assert_int_equal(r.n, 0);
	assert_int_equal(counted(IMPAIR_LOSS), 1);
	assert_int_equal(impair_settings(im)->ppm[IMPAIR_LOSS], 0);
}

static void link_down_drops_held_packets(void **state)
{
	struct run r = { 0 };

	(void)state;
	impair("delay=50,reorder=50,delay_ms=20,seed=2");
	send_packet(0);
	send_packet(1);
	send_packet(2);
	send_packet(3);
	send_packet(4);
	assert_true(impair_held(im));
	fabric_set_link(net.hca[1], false);
	assert_int_equal(impair_held(im), 0);
	send_packet(5);
	assert_int_equal(impair_held(im), 0);
	fabric_set_link(net.hca[1], true);
	usleep(30000);
	event_base_loop(net.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	take(&r);
	assert_int_equal(r.n, 0);
}

/* Whether the port accepts a held packet is decided when the packet arrives. */
static void held_packet_meets_another_port(void **state)
{
	struct run r = { 0 };

	(void)state;
	impair("delay=100,delay_ms=20");
	send_packet(0);
	assert_true(fabric_set_lids(net.hca[1], 0x77, 0));
	wait_for_held(1000);
	send_packet(1);
	fabric_set_state(net.hca[1], true, PORT_ARMED);
	wait_for_held(1000);
	take(&r);
	assert_int_equal(r.n, 0);
	assert_int_equal(net.hca[1]->count.packets_dropped, 2);
}

static void senders_wait_while_much_is_held(void **state)
{
	unsigned int i;

	(void)state;
	impair("delay=100,delay_ms=1000");
	for (i = 0; i < 511; i++)
		send_packet(i);
	assert_true(fabric_can_tx(net.hca[0], fabric_lid(net.hca[1]), NULL));
	send_packet(i);
	assert_false(fabric_can_tx(net.hca[0], fabric_lid(net.hca[1]), NULL));
	impair_stop(im);
	assert_int_equal(impair_held(im), 0);
}

/* The fabric is freed while packets are held: the sanitizer would see a leak. */
static void held_packets_are_freed(void **state)
{
	(void)state;
	impair("delay=100,reorder=50,delay_ms=1000");
	send_packet(0);
	send_packet(1);
	assert_true(impair_held(im));
}

static void subnet_management_is_not_impaired(void **state)
{
	uint8_t mad[MAD_BYTES];

	(void)state;
	impair("loss=100");
	net_smp(mad, METHOD_GET, 0x11, 0);
	net_send(0, 0, fabric_lid(net.hca[1]), mad);
	assert_true(net_take(1));
	net_send(0, 1, fabric_lid(net.hca[1]), mad);
	assert_false(net_take(1));
	assert_int_equal(counted(IMPAIR_LOSS), 1);
}

/* ---- settings -------------------------------------------------------------------------------- */

static void settings_are_parsed(void **state)
{
	struct impair_settings s;
	char why[200];

	(void)state;
	assert_true(impair_parse("loss=1%,dup=0.5,reorder=100,corrupt=0.0001,delay=2.25%,"
				 "delay_ms=1000,seed=0x10", &s, why, sizeof(why)));
	assert_int_equal(s.ppm[IMPAIR_LOSS], 10000);
	assert_int_equal(s.ppm[IMPAIR_DUP], 5000);
	assert_int_equal(s.ppm[IMPAIR_REORDER], IMPAIR_ALWAYS);
	assert_int_equal(s.ppm[IMPAIR_CORRUPT], 1);
	assert_int_equal(s.ppm[IMPAIR_DELAY], 22500);
	assert_int_equal(s.delay_ms, 1000);
	assert_int_equal(s.seed, 16);
	assert_true(impair_parse("loss=0", &s, why, sizeof(why)));
	assert_int_equal(s.ppm[IMPAIR_LOSS], 0);
	assert_int_equal(s.ppm[IMPAIR_DUP], 0);
	assert_int_equal(s.delay_ms, 2);
	assert_int_equal(s.seed, 1);
}

static void wrong_settings_are_refused(void **state)
{
	static const struct { const char *text, *why; } wrong[] = {
		{ "", "KEY=VALUE" }, { "loss", "a percentage" }, { "loss=", "a percentage" },
		{ "loss=-1", "not \"-1\"" }, { "loss=101", "0.0001 to 100" },
		{ "loss=nan", "a percentage" }, { "loss=inf", "a percentage" },
		{ "loss=1e1", "a percentage" }, { "loss=0x1", "a percentage" },
		{ "loss=1%%", "a percentage" }, { "loss=.", "a percentage" },
		{ "loss=1.2.3", "a percentage" }, { "loss=0.00001", "a percentage" },
		{ "dup=1,los=1", "no setting los" }, { "seed=-1", "seed has to be a number" },
		{ "seed=", "a number" }, { "seed=99999999999999999999", "a number" },
		{ "delay_ms=0", "1 to 1000" }, { "delay_ms=1001", "1 to 1000" },
		{ "delay_ms=5x", "1 to 1000" },
	};
	char why[200], *long_text = malloc(1000);
	struct impair_settings s;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_false(impair_parse(wrong[i].text, &s, why, sizeof(why)));
		if (!strstr(why, wrong[i].why))
			fail_msg("%s: %s", wrong[i].text, why);
	}
	memset(long_text, '1', 999);
	long_text[999] = 0;
	assert_false(impair_parse(long_text, &s, why, sizeof(why)));
	free(long_text);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)

static void trace_tells_of_each_impairment(void **state)
{
	struct trace *t = net.hca[1]->trace;
	char text[30];
	unsigned int i;

	(void)state;
	trace_ring(t, true);
	for (i = 0; i < IMPAIRMENTS; i++) {
		snprintf(text, sizeof(text), "%s=100", impair_names[i]);
		impair(text);
		send_packet(i);
		expect_traced(t, "impair", "\"what\":\"%s\",\"qpn\":6,\"psn\":%u", impair_names[i],
			      i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(perfect_link_changes_nothing), T(loss_alone), T(duplication_alone),
		T(reordering_alone), T(corruption_alone), T(delay_alone), T(all_at_once),
		T(same_seed_same_run), T(other_probability_changes_nothing_else),
		T(ports_do_not_lose_alike), T(nothing_is_held_for_ever),
		T(held_packets_arrive_when_it_ends),
		T(held_packets_arrive_at_the_next_settings),
		T(delays_are_forgotten_with_their_packets),
		T(packets_on_their_way_meet_the_settings_from_before),
		T(link_down_drops_held_packets),
		T(held_packet_meets_another_port), T(senders_wait_while_much_is_held),
		T(held_packets_are_freed), T(subnet_management_is_not_impaired),
		T(trace_tells_of_each_impairment),
		cmocka_unit_test(settings_are_parsed), cmocka_unit_test(wrong_settings_are_refused),
	};

	return cmocka_run_group_tests_name("impair", tests, NULL, NULL);
}
