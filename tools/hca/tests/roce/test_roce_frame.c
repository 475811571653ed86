// SPDX-License-Identifier: GPL-2.0
/*
 * Frames of RoCE: packets are read from frames that scapy has made, and made again; and what a
 * frame may not be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bytes.h"
#include "csum.h"
#include "frame.h"
#include "framerow.h"
#include "icrc.h"
#include "roce_frame.h"
#include "roce_packet.h"
#include "scapy_roce.h"
#include "util.h"

static struct packet pkt;
static uint8_t bytes[FRAME_MAX];
static size_t len;
static const char *why;

static const struct roce_row *row(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(roce_rows); i++)
		if (!strcmp(roce_rows[i].name, name))
			return &roce_rows[i];
	fail_msg("no frame %s", name);
	return NULL;
}

static void load(const char *name)
{
	const struct roce_row *r = row(name);

	memcpy(bytes, r->bytes, r->len);
	len = r->len;
}

static struct frame parsed(void)
{
	struct frame f;

	assert_true(frame_parse(&f, bytes, len, LENGTHS_OF_FRAME));
	return f;
}

/* Read the frame; first put its checksum and ICRC right if @fill. */
static enum roce_drop read_frame(bool fill)
{
	struct frame f = parsed();

	if (fill) {
		csum_fill_ip(bytes, &f);
		icrc_fill(bytes, &f);
	}
	memset(&pkt, 0, sizeof(pkt));
	why = NULL;
	return roce_frame_read(&f, &pkt, &why);
}

static size_t bth_of(const struct frame *f)
{
	return f->ethertype == ETYPE_ROCE ? f->l3 + 40 : f->payload;
}

/*
 * Of what scapy writes we do not write the FECN of the BTH and a UDP checksum, which the
 * ICRC counts as ones; and we set the bit of a connection that has migrated. That the ICRC itself
 * is scapy's is what net/test_roce.c checks.
 */
static void frames_of_scapy_are_read_and_made_again(void **state)
{
	static const char *const names[] = {
		"v2_ip4", "v2_ip4_empty", "v2_ip6", "v2_ctag", "v2_padded", "v1", "v1_padded",
	};
	static const uint8_t kinds[] = { ROCE_IP4, ROCE_IP4, ROCE_IP6, ROCE_IP6, ROCE_IP4,
					 ROCE_GRH, ROCE_GRH };
	static const uint16_t payloads[] = { 64, 0, 1024, 4, 0, 64, 0 };
	static uint8_t again[FRAME_MAX];
	struct frame f;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		load(names[i]);
		f = parsed();
		assert_int_equal(roce_frame_version(&f),
				 kinds[i] == ROCE_GRH ? ROCE_V1_BIT : ROCE_V2_BIT);
		if (read_frame(false) != ROCE_DROPS)
			fail_msg("%s: not read", names[i]);
		assert_int_equal(roce_hdr(&pkt)->kind, kinds[i]);
		assert_int_equal(pkt.head.len, payloads[i]);
		assert_int_equal(pkt.opcode, 0x04);
		assert_int_equal(pkt.dqpn, 0x123456);
		assert_int_equal(pkt.psn, 0xabcdef);
		assert_true(pkt.ack_req);
		assert_int_equal(pkt.pkey, 0xffff);
		bytes[bth_of(&f) + 1] |= 0x40;
		bytes[bth_of(&f) + 4] &= 0x40;
		if (f.l4_type == L4_UDP)
			put_be16(bytes + f.l4 + 6, 0);
		icrc_fill(bytes, &f);
		len = roce_frame_len(&pkt);
		assert_true(len == row(names[i])->len || strstr(names[i], "padded") ||
			    strstr(names[i], "empty"));
		roce_frame_make(&pkt, again, len);
		/* scapy does not pad a frame. */
		assert_memory_equal(again, bytes, row(names[i])->len < len ?
				    row(names[i])->len : len);
	}
}

static void a_cnp_of_scapy_is_read(void **state)
{
	(void)state;
	load("cnp");
	assert_int_equal(read_frame(false), ROCE_DROPS);
	assert_int_equal(pkt.opcode, CNP_OPCODE);
	assert_int_equal(pkt.dqpn, 0x456);
	assert_int_equal(pkt.head.len, CNP_BYTES);
	assert_true(pkt.becn);
	bytes[42] = 0x80;
	assert_int_equal(read_frame(true), ROCE_DROP_TRANSPORT);
	assert_string_equal(why, "opcode");
}

static void headers_of_scapy_are_found(void **state)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const struct roce_headers *h = roce_hdr(&pkt);
	struct frame f;

	(void)state;
	load("v2_ctag");
	assert_int_equal(read_frame(false), ROCE_DROPS);
	f = parsed();
	assert_true(h->vlan);
	assert_int_equal(roce_vid(h), 3);
	assert_memory_equal(h->dmac, f.dmac, 6);
	assert_memory_equal(h->smac, f.smac, 6);
	assert_memory_equal(h->net + NET_SIP, f.sip, 16);
	assert_memory_equal(h->net + NET_DIP, f.dip, 16);
	assert_int_equal(h->udp_sport, 0xffff);
	load("v2_ip4");
	assert_int_equal(read_frame(false), ROCE_DROPS);
	f = parsed();
	assert_false(h->vlan);
	assert_int_equal(roce_vid(h), 0);
	assert_memory_equal(h->net + IPV4_SIP, f.sip + 12, 4);
	/* The destination is a mapped address, too. */
	assert_memory_equal(h->net + NET_DIP, mapped, sizeof(mapped));
	assert_memory_equal(h->net + NET_DIP + 12, f.dip + 12, 4);
}

/* Every bit of a frame is covered: by the ICRC, the checksum of IP, or a check of its own. */
static void changed_frames_are_dropped(void **state)
{
	static const char *const names[] = { "v2_ip4", "v2_ip6", "v1" };
	struct frame f, now;
	size_t i, at, bit;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		load(names[i]);
		f = parsed();
		for (at = f.l3; at < len; at++)
			for (bit = 0; bit < 8; bit++) {
				size_t ip = at - f.l3;
				bool v4 = f.ip_version == 4;

				/* What may change on the way. */
				if (at == bth_of(&f) + 4 ||
				    (f.l4 && at >= f.l4 + 6 && at < f.payload) ||
				    (!v4 && (ip == 7 || (ip > 0 && ip < 4) || (!ip && bit < 4))))
					continue;
				bytes[at] ^= 1 << bit;
				now = parsed();
				if (roce_frame_version(&now) && read_frame(false) == ROCE_DROPS)
					fail_msg("%s: byte %zu, bit %zu", names[i], at, bit);
				bytes[at] ^= 1 << bit;
			}
	}
}

static void each_fault_has_its_reason(void **state)
{
	(void)state;
	load("v2_ip4");
	bytes[len - 1] ^= 1;
	assert_int_equal(read_frame(false), ROCE_DROP_ICRC);
	load("v2_ip4");
	bytes[14 + 8]--;		/* TTL, without the checksum */
	assert_int_equal(read_frame(false), ROCE_DROP_CHECKSUM);
	assert_int_equal(read_frame(true), ROCE_DROPS);
	load("v2_ip4");
	put_be16(bytes + 34 + 4, get_be16(bytes + 34 + 4) - 4);		/* length of UDP */
	assert_int_equal(read_frame(true), ROCE_DROP_LENGTH);
	load("v2_ip4");
	put_be16(bytes + 34 + 4, 7);
	assert_int_equal(read_frame(true), ROCE_DROP_LENGTH);
	load("v1");
	put_be16(bytes + 14 + 4, get_be16(bytes + 14 + 4) + 4);
	assert_int_equal(read_frame(true), ROCE_DROP_LENGTH);
	load("v1");
	len = 14 + 39;
	assert_int_equal(read_frame(false), ROCE_DROP_LENGTH);
	load("v1");
	put_be16(bytes + 14 + 4, 15);		/* no room for a BTH and the ICRC */
	assert_int_equal(read_frame(true), ROCE_DROP_LENGTH);
	load("v1");
	bytes[14 + 6] = PROTO_UDP;
	assert_int_equal(read_frame(true), ROCE_DROP_HEADER);
	load("v1");
	bytes[14] = 0x40;
	assert_int_equal(read_frame(true), ROCE_DROP_HEADER);
	load("v2_ctag");
	put_be16(bytes + 12, ETYPE_STAG);
	assert_int_equal(read_frame(true), ROCE_DROP_VLAN);
}

static void no_frame_has_two_tags_or_options(void **state)
{
	(void)state;
	load("v2_ip4");
	memmove(bytes + 12 + 8, bytes + 12, len - 12);
	put_be32(bytes + 12, 0x81000001);
	put_be32(bytes + 16, 0x81000002);
	len += 8;
	assert_int_equal(read_frame(true), ROCE_DROP_VLAN);
	load("v2_ip4");
	memmove(bytes + 34 + 4, bytes + 34, len - 34);
	memset(bytes + 34, 1, 4);		/* NOPs */
	len += 4;
	bytes[14] = 0x46;
	put_be16(bytes + 16, get_be16(bytes + 16) + 4);
	assert_int_equal(read_frame(true), ROCE_DROP_HEADER);
}

static void the_transport_is_checked(void **state)
{
	static const struct { size_t at; uint8_t value; const char *reason; } bad[] = {
		{ 0, 0x15, "opcode" }, { 0, 0x18, "opcode" }, { 0, 0x1f, "opcode" },
		{ 0, 0x2c, "opcode" }, { 0, 0x44, "opcode" }, { 0, 0x60, "opcode" },
		{ 0, 0x66, "opcode" }, { 0, 0x82, "opcode" }, { 0, 0xb8, "opcode" },
		{ 0, 0xe4, "opcode" }, { 1, 0x41, "transport version" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		load("v2_ip4");
		bytes[42 + bad[i].at] = bad[i].value;
		assert_int_equal(read_frame(true), ROCE_DROP_TRANSPORT);
		assert_string_equal(why, bad[i].reason);
	}
	/* A datagram without DETH, an RDMA WRITE without RETH; more padding than bytes. */
	for (i = 0; i < 3; i++) {
		load("v2_ip4_empty");
		bytes[42 + (i == 2)] = i == 2 ? 0x70 : i ? 0x0a : 0x64;
		assert_int_equal(read_frame(true), ROCE_DROP_TRANSPORT);
		assert_string_equal(why, "length");
	}
	load("v2_ip4");
	bytes[42] = 0x64;
	assert_int_equal(read_frame(true), ROCE_DROPS);
	assert_int_equal(pkt.head.len, 56);
	bytes[43] = 0x30;		/* the payload is padded by 3 bytes */
	assert_int_equal(read_frame(true), ROCE_DROPS);
	assert_int_equal(pkt.head.len, 53);
}

/* 4096 bytes of payload are the most. */
static void payloads_have_a_limit(void **state)
{
	size_t extra;

	(void)state;
	for (extra = 0; extra < 8; extra += 4) {
		load("v2_ip4");
		memset(bytes + len, 0x11, 4096 - 64 + extra);
		len += 4096 - 64 + extra;
		put_be16(bytes + 16, len - 14);
		put_be16(bytes + 34 + 4, len - 34);
		assert_int_equal(read_frame(true), extra ? ROCE_DROP_TRANSPORT : ROCE_DROPS);
	}
	assert_string_equal(why, "length");
}

/* A frame with another port or type, or a fragment, is not for RoCE. */
static void other_frames_are_not_of_roce(void **state)
{
	struct frame f;

	(void)state;
	load("v2_ip4");
	put_be16(bytes + 34 + 2, ROCE_PORT + 1);
	f = parsed();
	assert_int_equal(roce_frame_version(&f), 0);
	load("v2_ip4");
	put_be16(bytes + 14 + 6, 0x2000);
	f = parsed();
	assert_int_equal(roce_frame_version(&f), 0);
	load("v2_ip4");
	bytes[14 + 9] = PROTO_TCP;
	f = parsed();
	assert_int_equal(roce_frame_version(&f), 0);
	load("v1");
	put_be16(bytes + 12, ETYPE_ARP);
	f = parsed();
	assert_int_equal(roce_frame_version(&f), 0);
	/* A wrong length does not make it a frame of the NIC. */
	load("v2_ip4");
	put_be16(bytes + 34 + 4, 0xffff);
	f = parsed();
	assert_int_equal(roce_frame_version(&f), ROCE_V2_BIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_scapy_are_read_and_made_again),
		cmocka_unit_test(a_cnp_of_scapy_is_read),
		cmocka_unit_test(headers_of_scapy_are_found),
		cmocka_unit_test(changed_frames_are_dropped),
		cmocka_unit_test(each_fault_has_its_reason),
		cmocka_unit_test(no_frame_has_two_tags_or_options),
		cmocka_unit_test(the_transport_is_checked),
		cmocka_unit_test(payloads_have_a_limit),
		cmocka_unit_test(other_frames_are_not_of_roce),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
