// SPDX-License-Identifier: GPL-2.0
/*
 * The sender of the reliable multi-packet transaction protocol, alone: the test takes the packets
 * in place of the fabric.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "gsi.h"
#include "ifc.h"
#include "mad_format.h"
#include "rmpp.h"

enum { DATA = 1, ACK = 2, STOP = 3, ABORT = 4 };

#define HEADER		20	/* bytes of a segment's header that its length counts */
#define SESSIONS	8	/* transfers of a port at a time */
#define WINDOW		256	/* segments for an acknowledgment */
#define NO_LIMIT	(~0u)

static const struct gsi_peer peer = { .lid = 7, .qpn = 1, .sl = 3 };

static struct rmpp *sender;
static struct { struct gsi_peer to; uint8_t mad[MAD_BYTES]; } sent[400];
static unsigned int num_sent;

void gsi_send(struct switch_node *sw, const struct gsi_peer *to, const uint8_t *mad)
{
	(void)sw;
	assert_true(num_sent < sizeof(sent) / sizeof(sent[0]));
	sent[num_sent].to = *to;
	memcpy(sent[num_sent++].mad, mad, MAD_BYTES);
}

static int up(void **state)
{
	(void)state;
	sender = rmpp_new(NULL);
	num_sent = 0;
	return !sender;
}

static int down(void **state)
{
	(void)state;
	rmpp_free(sender);
	return 0;
}

static uint8_t byte_at(uint64_t tid, size_t i)
{
	return tid + i % 251 + 1;
}

/* Begin a transfer of @len bytes by @port. The data are the bytes that byte_at() gives for @tid. */
static void begin(unsigned int port, uint64_t tid, size_t len)
{
	uint8_t *data = malloc(len + 1), header[MAD_BYTES];
	size_t i;

	assert_non_null(data);
	for (i = 0; i < len; i++)
		data[i] = byte_at(tid, i);
	memset(header, 0xa5, sizeof(header));
	put_be64(header + OFF_TID, tid);
	num_sent = 0;
	rmpp_send(sender, port, &peer, header, data, len);
}

/* A packet of @from about a transfer; returns how many segments follow. */
static unsigned int packet(unsigned int port, const struct gsi_peer *from, uint64_t tid,
			   uint8_t type, uint32_t segment, uint32_t last)
{
	uint8_t mad[MAD_BYTES] = {};

	mad[OFF_RMPP_VERSION] = 1;
	mad[OFF_RMPP_TYPE] = type;
	mad[OFF_RMPP_FLAGS] = RMPP_ACTIVE;
	put_be64(mad + OFF_TID, tid);
	put_be32(mad + OFF_RMPP_DATA1, segment);
	put_be32(mad + OFF_RMPP_DATA2, last);
	num_sent = 0;
	rmpp_receive(sender, port, from, mad);
	return num_sent;
}

static unsigned int ack(uint64_t tid, uint32_t segment, uint32_t last)
{
	return packet(1, &peer, tid, ACK, segment, last);
}

/* Packet @i is segment @segment of a transfer; its length field is @length. */
static void expect_segment(unsigned int i, uint64_t tid, uint32_t segment, uint8_t flags,
			   uint32_t length, size_t bytes)
{
	const uint8_t *mad = sent[i].mad;
	size_t at;

	assert_true(i < num_sent);
	assert_memory_equal(&sent[i].to, &peer, sizeof(peer));
	assert_int_equal(get_be64(mad + OFF_TID), tid);
	assert_int_equal(mad[OFF_METHOD], 0xa5);
	assert_int_equal(get_be64(mad + OFF_SM_KEY), 0xa5a5a5a5a5a5a5a5);
	assert_int_equal(get_be64(mad + OFF_COMPONENTS), 0xa5a5a5a5a5a5a5a5);
	assert_int_equal(mad[OFF_RMPP_VERSION], 1);
	assert_int_equal(mad[OFF_RMPP_TYPE], DATA);
	assert_int_equal(mad[OFF_RMPP_FLAGS], 31 << 3 | RMPP_ACTIVE | flags);
	assert_int_equal(get_be32(mad + OFF_RMPP_DATA1), segment);
	assert_int_equal(get_be32(mad + OFF_RMPP_DATA2), length);
	for (at = 0; at < SA_DATA_BYTES; at++)
		assert_int_equal(mad[OFF_SA_DATA + at], at < bytes ?
				 byte_at(tid, (segment - 1) * SA_DATA_BYTES + at) : 0);
}

/* Whether a transfer of several segments goes on. */
static bool is_alive(unsigned int port, uint64_t tid)
{
	return packet(port, &peer, tid, ACK, 1, 2);
}

static void table_without_records_is_one_segment(void **state)
{
	(void)state;
	begin(1, 5, 0);
	assert_int_equal(num_sent, 1);
	expect_segment(0, 5, 1, RMPP_FIRST | RMPP_LAST, HEADER, 0);
	assert_int_equal(ack(5, 0, NO_LIMIT), 0);
}

static void full_segment_is_the_only_one(void **state)
{
	(void)state;
	begin(1, 5, SA_DATA_BYTES);
	assert_int_equal(num_sent, 1);
	expect_segment(0, 5, 1, RMPP_FIRST | RMPP_LAST, SA_DATA_BYTES + HEADER, SA_DATA_BYTES);
}

static void first_and_last_segments_have_lengths(void **state)
{
	const size_t len = 2 * SA_DATA_BYTES + 8;

	(void)state;
	begin(1, 5, len);
	assert_int_equal(num_sent, 1);
	expect_segment(0, 5, 1, RMPP_FIRST, len + 3 * HEADER, SA_DATA_BYTES);
	assert_int_equal(ack(5, 1, 3), 2);
	expect_segment(0, 5, 2, 0, 0, SA_DATA_BYTES);
	expect_segment(1, 5, 3, RMPP_LAST, 8 + HEADER, 8);
}

static void segments_follow_to_the_end_of_the_window(void **state)
{
	(void)state;
	begin(1, 5, 10 * SA_DATA_BYTES);
	assert_int_equal(ack(5, 1, 1), 0);
	assert_int_equal(ack(5, 1, 4), 3);
	expect_segment(0, 5, 2, 0, 0, SA_DATA_BYTES);
	/* Segment 3 was lost. */
	assert_int_equal(ack(5, 2, 4), 2);
	expect_segment(0, 5, 3, 0, 0, SA_DATA_BYTES);
	assert_int_equal(ack(5, 4, 10), 6);
	expect_segment(5, 5, 10, RMPP_LAST, SA_DATA_BYTES + HEADER, SA_DATA_BYTES);
}

static void window_is_limited(void **state)
{
	(void)state;
	begin(1, 5, 300 * SA_DATA_BYTES);
	assert_int_equal(ack(5, 1, NO_LIMIT), WINDOW);
	expect_segment(0, 5, 2, 0, 0, SA_DATA_BYTES);
	expect_segment(WINDOW - 1, 5, WINDOW + 1, 0, 0, SA_DATA_BYTES);
	assert_int_equal(ack(5, WINDOW + 1, NO_LIMIT), 300 - WINDOW - 1);
}

static void transfer_ends_with_its_last_segment(void **state)
{
	(void)state;
	begin(1, 5, 3 * SA_DATA_BYTES);
	assert_int_equal(ack(5, 2, 3), 1);
	assert_int_equal(ack(5, 3, NO_LIMIT), 0);
	assert_false(is_alive(1, 5));
	/* An acknowledgment of a segment that was never sent counts as that of the last segment. */
	begin(1, 6, 3 * SA_DATA_BYTES);
	assert_int_equal(ack(6, 4, NO_LIMIT), 0);
	assert_false(is_alive(1, 6));
}

static void receiver_can_end_a_transfer(void **state)
{
	static const uint8_t type[] = { STOP, ABORT };
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		begin(1, 5, 3 * SA_DATA_BYTES);
		assert_int_equal(packet(1, &peer, 5, DATA, 1, 3), 0);
		assert_int_equal(packet(1, &peer, 5, 0, 1, 3), 0);
		assert_true(is_alive(1, 5));
		assert_int_equal(packet(1, &peer, 5, type[i], 1, 3), 0);
		assert_false(is_alive(1, 5));
	}
}

static void only_the_requester_acknowledges(void **state)
{
	struct gsi_peer other = peer;

	(void)state;
	begin(1, 5, 3 * SA_DATA_BYTES);
	other.lid++;
	assert_int_equal(packet(1, &other, 5, ACK, 1, 3), 0);
	other = peer;
	other.qpn++;
	assert_int_equal(packet(1, &other, 5, ACK, 1, 3), 0);
	assert_int_equal(packet(2, &peer, 5, ACK, 1, 3), 0);
	assert_int_equal(packet(1, &peer, 6, ACK, 1, 3), 0);
	assert_int_equal(packet(1, &peer, 5ull << 56, ACK, 1, 3), 0);
	/* The service level of the acknowledgment does not matter. */
	other = peer;
	other.sl++;
	assert_int_equal(packet(1, &other, 5, ACK, 1, 3), 2);
}

static void repeated_request_begins_anew(void **state)
{
	uint64_t tid;

	(void)state;
	for (tid = 0; tid < SESSIONS; tid++)
		begin(1, tid, 3 * SA_DATA_BYTES);
	begin(1, 4, 2 * SA_DATA_BYTES + 1);
	assert_int_equal(num_sent, 1);
	expect_segment(0, 4, 1, RMPP_FIRST, 2 * SA_DATA_BYTES + 1 + 3 * HEADER, SA_DATA_BYTES);
	assert_int_equal(ack(4, 1, 3), 2);
	expect_segment(1, 4, 3, RMPP_LAST, 1 + HEADER, 1);
	for (tid = 0; tid < SESSIONS; tid++)
		assert_true(is_alive(1, tid));
}

static void transfer_ends_the_oldest_of_its_port(void **state)
{
	uint64_t tid;

	(void)state;
	begin(2, 100, 3 * SA_DATA_BYTES);
	for (tid = 0; tid < SESSIONS; tid++)
		begin(1, tid, 3 * SA_DATA_BYTES);
	begin(1, 0, 3 * SA_DATA_BYTES);				/* now the youngest */
	begin(1, SESSIONS, 3 * SA_DATA_BYTES);
	for (tid = 0; tid <= SESSIONS; tid++)
		assert_int_equal(is_alive(1, tid), tid != 1);
	assert_true(is_alive(2, 100));
	expect_segment(0, 100, 2, 0, 0, SA_DATA_BYTES);
	/* A transfer that has ended leaves room. */
	assert_int_equal(ack(4, 3, 3), 0);
	begin(1, 200, 3 * SA_DATA_BYTES);
	for (tid = 0; tid <= SESSIONS; tid++)
		assert_int_equal(is_alive(1, tid), tid != 1 && tid != 4);
	assert_true(is_alive(1, 200));
}

#define T(name)	cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(table_without_records_is_one_segment), T(full_segment_is_the_only_one),
		T(first_and_last_segments_have_lengths),
		T(segments_follow_to_the_end_of_the_window), T(window_is_limited),
		T(transfer_ends_with_its_last_segment), T(receiver_can_end_a_transfer),
		T(only_the_requester_acknowledges), T(repeated_request_begins_anew),
		T(transfer_ends_the_oldest_of_its_port),
	};

	return cmocka_run_group_tests_name("rmpp", tests, NULL, NULL);
}
