// SPDX-License-Identifier: GPL-2.0
/*
 * The port of the switch that is a socket: frames in both directions, and peers that come, go, do
 * not read, or send nonsense.
 */
#include "ethrig.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "eth_socket.h"
#include "eth_switch.h"

#define PEER		0x0200deadbeefull	/* address of the peer */
#define PEER_PORT	36			/* of the switch */

static char path[] = "/tmp/test-eth-socket-XXXXXX";
static struct eth_socket *port;
static int peer;

static void turn(void)
{
	unsigned int i;

	for (i = 0; i < 20; i++)
		event_base_loop(lan.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static int attach(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(a.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	turn();
	return fd;
}

static int up(void **state)
{
	lan_up(state);
	strcpy(path + strlen(path) - 6, "XXXXXX");
	close(mkstemp(path));
	unlink(path);
	assert_int_equal(eth_socket_listen(lan.fabric, lan.base, path, &port), 0);
	peer = attach();
	return 0;
}

static int down(void **state)
{
	close(peer);
	eth_socket_free(port);
	assert_int_equal(access(path, F_OK), -1);
	return lan_down(state);
}

static void peer_sends(uint64_t dmac, unsigned int len)
{
	struct eth_frame *fr = lan_frame(dmac, PEER, len);
	uint8_t bytes[4 + 20000];

	put_be32(bytes, len);
	memcpy(bytes + 4, eth_frame_data(fr), len);
	assert_int_equal(write(peer, bytes, 4 + len), 4 + len);
	eth_frame_free(fr);
	turn();
}

/* Read one frame at the peer. Returns its length, or 0 if there is none. */
static uint32_t peer_reads(uint8_t *frame)
{
	uint8_t head[4];

	turn();
	if (read(peer, head, sizeof(head)) != sizeof(head))
		return 0;
	assert_int_equal(read(peer, frame, get_be32(head)), get_be32(head));
	return get_be32(head);
}

static void frames_pass_in_both_directions(void **state)
{
	uint8_t frame[ETH_FRAME_MAX];

	(void)state;
	peer_sends(BROADCAST, 100);
	assert_int_equal(lan_take(0), PEER);
	assert_int_equal(lan_take(2), PEER);
	lan_send(1, PEER, MAC(1), 1514);
	assert_int_equal(peer_reads(frame), 1514);
	assert_true(eth_mac(frame) == PEER && eth_mac(frame + 6) == MAC(1));
	assert_int_equal(frame[1513], 1514 & 0xff);
	/* The peer's address has been learned, and so has that of HCA 1. */
	assert_int_equal(lan_count(2), 0);
	peer_sends(MAC(1), 100);
	assert_int_equal(lan_count(1), 2);
	assert_int_equal(lan.hca[2]->eth->stats.rx_other_address, 0);
}

static void a_frame_may_come_in_parts(void **state)
{
	struct eth_frame *fr = lan_frame(MAC(0), PEER, 100);
	uint8_t bytes[104];
	unsigned int i;

	(void)state;
	put_be32(bytes, 100);
	memcpy(bytes + 4, eth_frame_data(fr), 100);
	eth_frame_free(fr);
	for (i = 0; i < sizeof(bytes); i++) {
		assert_int_equal(lan_count(0), 0);
		assert_int_equal(write(peer, bytes + i, 1), 1);
		turn();
	}
	assert_int_equal(lan_count(0), 1);
}

static void short_frames_are_padded(void **state)
{
	struct eth_frame *fr;

	(void)state;
	peer_sends(MAC(0), 42);
	fr = eth_rx(lan.hca[0]);
	assert_non_null(fr);
	assert_int_equal(fr->head.len, 60);
	assert_int_equal(eth_frame_data(fr)[41], 42);
	assert_int_equal(eth_frame_data(fr)[42], 0);
	assert_int_equal(eth_frame_data(fr)[59], 0);
	eth_frame_free(fr);
}

/* The frame is skipped, and the next one is found behind it. */
static void frames_that_no_port_can_carry_are_skipped(void **state)
{
	(void)state;
	peer_sends(MAC(0), ETH_FRAME_MAX + 1);
	peer_sends(MAC(0), 10240);
	peer_sends(MAC(0), 13 + 1);
	assert_int_equal(eth_socket_dropped(port), 1);
	assert_int_equal(lan.hca[0]->eth->stats.rx_too_long, 0);
	assert_int_equal(lan_count(0), 1);
	assert_int_equal(lan.hca[0]->eth->stats.rx_too_long, 1);
}

static void nonsense_ends_the_connection(void **state)
{
	static const uint32_t bad[] = { 0, 0xffffffff, 70000 };
	uint8_t byte, head[4];
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put_be32(head, bad[i]);
		assert_int_equal(write(peer, head, sizeof(head)), sizeof(head));
		turn();
		assert_int_equal(read(peer, &byte, 1), 0);
		close(peer);
		peer = attach();
	}
	peer_sends(MAC(0), 60);
	assert_int_equal(lan_count(0), 1);
}

static void a_second_peer_is_turned_away(void **state)
{
	int second = attach();
	uint8_t byte;

	(void)state;
	assert_int_equal(read(second, &byte, 1), 0);
	close(second);
	peer_sends(MAC(0), 60);
	assert_int_equal(lan_count(0), 1);
}

static void a_peer_that_goes_is_forgotten(void **state)
{
	(void)state;
	peer_sends(BROADCAST, 60);
	assert_int_equal(eth_switch_learned(lan.fabric, PEER_PORT), 1);
	close(peer);
	turn();
	assert_int_equal(eth_switch_learned(lan.fabric, PEER_PORT), 0);
	lan_send(0, PEER, MAC(0), 60);
	lan_send(0, BROADCAST, MAC(0), 60);
	assert_int_equal(eth_socket_dropped(port), 0);
	peer = attach();
	lan_send(0, BROADCAST, MAC(0), 60);
	assert_int_equal(peer_reads((uint8_t[ETH_FRAME_MAX]){}), 60);
	assert_int_equal(peer_reads((uint8_t[ETH_FRAME_MAX]){}), 0);
}

/* It costs the others nothing: the HCAs' frames pass, and memory has a limit. */
static void a_peer_that_does_not_read_loses_frames(void **state)
{
	unsigned int i, sent = 0;

	(void)state;
	lan.hca[0]->eth->mtu = lan.hca[1]->eth->mtu = 10000;
	for (i = 0; i < 100 && !eth_socket_dropped(port); i++) {
		for (; sent < 20 * (i + 1); sent++)
			lan_send(0, BROADCAST, MAC(0), 9000);
		turn();
		assert_int_equal(lan_count(1), 20);
	}
	assert_true(eth_socket_dropped(port) > 0);
	/* Without a turn of the switch's loop the inbox fills. */
	for (i = 0; i < 600; i++) {
		lan_send(0, BROADCAST, MAC(0), 60);
		assert_int_equal(lan_count(1), 1);
	}
	assert_true(eth_socket_dropped(port) >= 600 - 512);
}

static void a_path_that_is_not_free_is_refused(void **state)
{
	struct eth_socket *other;

	(void)state;
	assert_int_equal(eth_socket_listen(lan.fabric, lan.base, "/tmp", &other), -EEXIST);
	assert_int_equal(eth_socket_listen(lan.fabric, lan.base, "/nonexistent/x", &other),
			 -ENOENT);
}

#define T(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(frames_pass_in_both_directions), T(a_frame_may_come_in_parts),
		T(short_frames_are_padded), T(frames_that_no_port_can_carry_are_skipped),
		T(nonsense_ends_the_connection), T(a_second_peer_is_turned_away),
		T(a_peer_that_goes_is_forgotten), T(a_peer_that_does_not_read_loses_frames),
		T(a_path_that_is_not_free_is_refused),
	};

	return cmocka_run_group_tests_name("eth_socket", tests, NULL, NULL);
}
