// SPDX-License-Identifier: GPL-2.0
/*
 * The switch: where it sends a frame, what it learns and forgets, full queues, captures and
 * impairments.
 */
#include "ethrig.h"

#include <event2/event.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "clock.h"
#include "eth_fdb.h"
#include "eth_switch.h"
#include "fabric.h"
#include "forward.h"
#include "impair.h"

#define QUEUE	512	/* frames at a port */
#define STRANGER 0x020000000000ull

/* Let all HCAs send once, so that the switch knows where they are. */
static void introduce(void)
{
	unsigned int h;

	for (h = 0; h < LAN_HCAS; h++)
		lan_send(h, BROADCAST, MAC(h), 60);
	for (h = 0; h < LAN_HCAS; h++)
		assert_int_equal(lan_count(h), LAN_HCAS - 1);
}

static void promisc(unsigned int h)
{
	lan.hca[h]->eth->vport.promisc_all = true;
}

static void known_addresses_have_one_receiver(void **state)
{
	(void)state;
	introduce();
	promisc(2);
	lan_send(0, MAC(1), MAC(0), 60);
	assert_int_equal(lan_take(1), MAC(0));
	assert_int_equal(lan_count(2), 0);
	assert_int_equal(lan.hca[2]->eth->stats.rx_other_address, 0);
}

static void unknown_addresses_and_groups_are_flooded(void **state)
{
	(void)state;
	promisc(1);
	promisc(2);
	lan_send(0, MAC(1), MAC(0), 60);
	assert_int_equal(lan_count(0), 0);
	assert_int_equal(lan_count(1), 1);
	assert_int_equal(lan_count(2), 1);
	introduce();
	lan_send(0, GROUP, MAC(0), 60);
	assert_int_equal(lan_count(0), 0);
	assert_int_equal(lan_count(1), 1);
	assert_int_equal(lan_count(2), 1);
}

static void frames_never_return_to_their_port(void **state)
{
	(void)state;
	introduce();
	promisc(0);
	promisc(1);
	/* The switch knows that the receiver is at the port of the sender. */
	lan_send(0, STRANGER, MAC(0), 60);
	lan_send(0, BROADCAST, STRANGER, 60);
	lan_count(0);
	lan_count(1);
	lan_send(0, STRANGER, MAC(0), 60);
	assert_int_equal(lan_count(0), 0);
	assert_int_equal(lan_count(1), 0);
}

static void copies_of_a_flood_share_their_bytes(void **state)
{
	struct eth_frame *fr = lan_frame(BROADCAST, MAC(0), 9000), *a, *b;
	uint8_t *data = eth_frame_data(fr);

	(void)state;
	lan.hca[0]->eth->mtu = lan.hca[1]->eth->mtu = lan.hca[2]->eth->mtu = 10000;
	eth_tx(lan.hca[0], fr);
	a = eth_rx(lan.hca[1]);
	b = eth_rx(lan.hca[2]);
	assert_ptr_equal(eth_frame_data(a), data);
	assert_ptr_equal(eth_frame_data(b), data);
	assert_int_equal(data[8999], 9000 & 0xff);
	eth_frame_free(a);
	eth_frame_free(b);
}

static void an_address_that_moves_is_found_at_its_new_port(void **state)
{
	(void)state;
	introduce();
	promisc(1);
	promisc(2);
	lan_send(1, BROADCAST, STRANGER, 60);
	lan_count(0);
	lan_count(2);
	lan_send(2, BROADCAST, STRANGER, 60);
	lan_count(0);
	lan_count(1);
	lan_send(0, STRANGER, MAC(0), 60);
	assert_int_equal(lan_count(1), 0);
	assert_int_equal(lan_count(2), 1);
}

static void groups_are_not_learned(void **state)
{
	unsigned int before;

	(void)state;
	introduce();
	before = eth_switch_learned(lan.fabric, 1);
	lan_send(0, MAC(1), GROUP, 60);
	assert_int_equal(eth_switch_learned(lan.fabric, 1), before);
}

/* A port that invents addresses does not take away those of other ports. */
static void a_port_has_a_limited_number_of_addresses(void **state)
{
	unsigned int i;

	(void)state;
	introduce();
	for (i = 0; i < 3 * ETH_LEARN_MAX; i++) {
		lan_send(0, MAC(1), STRANGER + i, 60);
		lan_count(1);
	}
	assert_int_equal(eth_switch_learned(lan.fabric, 1), ETH_LEARN_MAX);
	assert_int_equal(eth_switch_learned(lan.fabric, 2), 1);
	/* What was learned stays: frames to the first address are not flooded. */
	promisc(2);
	lan_send(1, STRANGER, MAC(1), 60);
	assert_int_equal(lan_count(2), 0);
	lan_send(1, STRANGER + 2 * ETH_LEARN_MAX, MAC(1), 60);
	assert_int_equal(lan_count(2), 1);
}

static void addresses_grow_old(void **state)
{
	struct eth_fdb *db = eth_fdb_new(2, 2, 100);

	(void)state;
	eth_fdb_learn(db, 0xa, 1, 1000);
	eth_fdb_learn(db, 0xb, 1, 1050);
	assert_int_equal(eth_fdb_find(db, 0xa, 1100), 1);
	assert_int_equal(eth_fdb_find(db, 0xa, 1101), 0);
	/* The port has no room, until its oldest address has grown old. */
	eth_fdb_learn(db, 0xc, 1, 1100);
	assert_int_equal(eth_fdb_find(db, 0xc, 1100), 0);
	eth_fdb_learn(db, 0xc, 1, 1101);
	assert_int_equal(eth_fdb_find(db, 0xc, 1101), 1);
	assert_int_equal(eth_fdb_count(db, 1), 2);
	/* An address that sends stays young. */
	eth_fdb_learn(db, 0xb, 1, 1140);
	assert_int_equal(eth_fdb_find(db, 0xb, 1240), 1);
	eth_fdb_learn(db, 0xd, 1, 1202);
	assert_int_equal(eth_fdb_find(db, 0xd, 1202), 1);
	assert_int_equal(eth_fdb_find(db, 0xb, 1202), 1);
	/* An address that comes from another port to one without room is known at neither. */
	eth_fdb_learn(db, 0xe, 2, 1202);
	assert_int_equal(eth_fdb_find(db, 0xe, 1202), 2);
	eth_fdb_learn(db, 0xe, 1, 1202);
	assert_int_equal(eth_fdb_find(db, 0xe, 1202), 0);
	assert_int_equal(eth_fdb_count(db, 1), 2);
	assert_int_equal(eth_fdb_count(db, 2), 0);
	eth_fdb_free(db);
}

static void a_link_that_goes_down_is_forgotten(void **state)
{
	(void)state;
	introduce();
	eth_set_link(lan.hca[1], false);
	assert_int_equal(eth_switch_learned(lan.fabric, 2), 0);
	promisc(2);
	lan_send(0, MAC(1), MAC(0), 60);
	assert_int_equal(lan_count(2), 1);
	/* The flood does not reach a port whose link is down, and so nothing is dropped there. */
	assert_int_equal(lan.hca[1]->count.packets_dropped, 0);
}

static void a_full_queue_drops_at_its_tail(void **state)
{
	unsigned int i;

	(void)state;
	introduce();
	for (i = 0; i < QUEUE + 100; i++)
		lan_send(0, MAC(1), MAC(0), 60 + (i < QUEUE));
	assert_int_equal(lan.hca[1]->count.packets_dropped, 100);
	assert_int_equal(lan_count(1), QUEUE);
	assert_int_equal(lan.hca[1]->eth->stats.rx_size[0], LAN_HCAS - 1);
	/* Other ports are as free as before. */
	lan_send(0, MAC(2), MAC(0), 60);
	assert_int_equal(lan_count(2), 1);
}

/* ---- captures and impairments ---------------------------------------------------------------- */

/* Who sends to a group does not wait, whose queue may be full. */
static void room_is_that_of_the_receiver(void **state)
{
	const uint8_t to_0[6] = { 0x02, 0xb1, 0xeb, 0xe1, 0, 0 }, to_1[6] = { 0x02, 0xb1, 0xeb,
		0xe1, 0, 1 }, group[6] = { 0x01, 0, 0x5e, 0, 0, 1 };
	unsigned int i;

	(void)state;
	introduce();
	for (i = 0; i < QUEUE; i++)
		lan_send(1, MAC(0), MAC(1), 60);
	assert_false(eth_switch_room(lan.hca[2], to_0));
	assert_true(eth_switch_room(lan.hca[2], to_1));
	assert_true(eth_switch_room(lan.hca[2], group));
	assert_int_equal(lan_count(0), QUEUE);
	assert_true(eth_switch_room(lan.hca[2], to_0));
}

static bool remote_is_up(void *arg)
{
	(void)arg;
	return true;
}

static void remote_gets(void *arg, struct eth_frame *fr)
{
	unsigned int *n = arg;

	++*n;
	eth_frame_free(fr);
}

static void each_remote_has_its_port(void **state)
{
	unsigned int n[2] = {}, i;
	const struct eth_remote remote[] = {
		{ .up = remote_is_up, .send = remote_gets, .arg = &n[0] },
		{ .up = remote_is_up, .send = remote_gets, .arg = &n[1] },
	};

	(void)state;
	for (i = 0; i < 2; i++)
		assert_int_equal(eth_switch_join(lan.fabric, &remote[i]), SWITCH_PORTS - i);
	lan_send(0, BROADCAST, MAC(0), 60);
	for (i = 0; i < 2; i++)
		assert_int_equal(n[i], 1);
}

static void capture_has_each_frame_once(void **state)
{
	char path[] = "/tmp/test-eth-capture-XXXXXX", err[PCAP_ERRBUF_SIZE];
	struct eth_frame *fr = lan_frame(BROADCAST, MAC(0), 1514);
	struct pcap_pkthdr *header;
	uint64_t start, ns;
	const uint8_t *data;
	struct capture *c;
	uint8_t sent[1514];
	pcap_t *file;

	(void)state;
	close(mkstemp(path));
	assert_int_equal(capture_open(path, 0, &eth_packet_type, &c), 0);
	fabric_set_capture(lan.fabric, c);
	memcpy(sent, eth_frame_data(fr), sizeof(sent));
	start = clock_now_ns();
	eth_tx(lan.hca[0], fr);
	file = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, err);
	assert_non_null(file);
	assert_int_equal(pcap_datalink(file), DLT_EN10MB);
	assert_int_equal(pcap_next_ex(file, &header, &data), 1);
	assert_int_equal(header->len, sizeof(sent));		/* no frame check sequence */
	assert_memory_equal(data, sent, sizeof(sent));
	ns = header->ts.tv_sec * 1000000000ull + header->ts.tv_usec;
	assert_in_range(ns, start, clock_now_ns());
	assert_int_equal(pcap_next_ex(file, &header, &data), PCAP_ERROR_BREAK);
	pcap_close(file);
	unlink(path);
}

static void impair(unsigned int h, const char *text)
{
	struct impair_settings s;
	char why[100];

	assert_true(impair_parse(text, &s, why, sizeof(why)));
	assert_int_equal(impair_start(fabric_impair(lan.hca[h]), &s), 0);
}

static void lost_and_corrupted_frames_do_not_arrive(void **state)
{
	unsigned int i;

	(void)state;
	introduce();
	impair(1, "loss=100");
	lan_send(0, MAC(1), MAC(0), 60);
	assert_int_equal(lan_count(1), 0);
	assert_int_equal(impair_counts(fabric_impair(lan.hca[1])).n[IMPAIR_LOSS], 1);
	assert_int_equal(lan.hca[1]->count.packets_corrupted, 0);
	impair(1, "corrupt=100");
	for (i = 0; i < 3; i++)
		lan_send(0, MAC(1), MAC(0), 60);
	assert_int_equal(lan_count(1), 0);
	assert_int_equal(lan.hca[1]->count.packets_corrupted, 3);
}

static void duplicates_share_their_bytes(void **state)
{
	struct eth_frame *a, *b;

	(void)state;
	introduce();
	impair(1, "dup=100");
	lan_send(0, MAC(1), MAC(0), 100);
	a = eth_rx(lan.hca[1]);
	b = eth_rx(lan.hca[1]);
	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_equal(eth_frame_data(a), eth_frame_data(b));
	assert_int_equal(b->head.len, 100);
	eth_frame_free(a);
	eth_frame_free(b);
}

static void delayed_frames_arrive_later(void **state)
{
	uint64_t end = clock_now_ns() + 60000000000ull;

	(void)state;
	introduce();
	impair(1, "delay=100,delay_ms=5");
	lan_send(0, MAC(1), MAC(0), 100);
	assert_int_equal(lan_count(1), 0);
	assert_int_equal(impair_held(fabric_impair(lan.hca[1])), 1);
	while (!lan_take(1)) {
		assert_true(clock_now_ns() < end);
		event_base_loop(lan.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	}
	assert_int_equal(impair_held(fabric_impair(lan.hca[1])), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, lan_up, lan_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(known_addresses_have_one_receiver), T(unknown_addresses_and_groups_are_flooded),
		T(frames_never_return_to_their_port), T(copies_of_a_flood_share_their_bytes),
		T(an_address_that_moves_is_found_at_its_new_port), T(groups_are_not_learned),
		T(a_port_has_a_limited_number_of_addresses), T(a_link_that_goes_down_is_forgotten),
		T(a_full_queue_drops_at_its_tail), T(room_is_that_of_the_receiver),
		T(each_remote_has_its_port), T(capture_has_each_frame_once),
		T(lost_and_corrupted_frames_do_not_arrive), T(duplicates_share_their_bytes),
		T(delayed_frames_arrive_later), cmocka_unit_test(addresses_grow_old),
	};

	return cmocka_run_group_tests_name("eth_switch", tests, NULL, NULL);
}
