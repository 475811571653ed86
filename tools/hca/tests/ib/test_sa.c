// SPDX-License-Identifier: GPL-2.0
/*
 * Subnet administration: records, multicast groups, notices, and tables of more than one packet.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "fabric.h"
#include "forward.h"
#include "ib_packet.h"
#include "ifc.h"
#include "packet.h"
#include "port.h"
#include "profile.h"
#include "rmpp.h"
#include "sa_record.h"
#include "subnetrig.h"
#include "switch.h"
#include "util.h"

enum { GET = 1, SET = 2, GET_TABLE = 0x12, DELETE = 0x15 };

#define BIT_OF(n)	(1ull << (n))

static uint8_t mad[MAD_BYTES];
static uint8_t *const q = mad + OFF_SA_DATA;
static const uint8_t *const rec = net.out + OFF_SA_DATA;

static int up(void **state)
{
	(void)state;
	memset(mad, 0, sizeof(mad));
	net_up(true);
	return 0;
}

static int down(void **state)
{
	(void)state;
	net_down();
	return 0;
}

/* Ask from HCA @h with the record in q[]. Returns the status of the answer. */
static uint16_t ask(unsigned int h, uint8_t method, uint16_t attr, uint64_t mask)
{
	uint8_t keep[SA_DATA_BYTES], key[8];

	memcpy(keep, q, sizeof(keep));
	memcpy(key, mad + OFF_SM_KEY, sizeof(key));
	net_sa(mad, method, attr, mask);
	memcpy(q, keep, sizeof(keep));
	memcpy(mad + OFF_SM_KEY, key, sizeof(key));
	net_send(h, 1, SWITCH_LID, mad);
	assert_true(net_take(h));
	assert_int_equal(net.out[OFF_METHOD], method | METHOD_RESPONSE);
	assert_int_equal(get_be64(net.out + OFF_TID), net.tid);
	assert_int_equal(get_be16(net.out + OFF_ATTR), attr);
	return get_be16(net.out + OFF_STATUS);
}

/* Receive the table whose first packet is in net.out, to @to. Returns its number of records. */
static unsigned int table(unsigned int h, size_t record, uint8_t *to)
{
	uint8_t ack[MAD_BYTES];
	unsigned int seg = 1, len = 0, n;

	assert_int_equal(net.out[OFF_RMPP_TYPE], 1);
	assert_int_equal(net.out[OFF_RMPP_FLAGS] & 7 & ~RMPP_LAST, RMPP_ACTIVE | RMPP_FIRST);
	assert_int_equal(get_be16(net.out + OFF_ATTR_OFFSET), (record + 7) / 8);
	for (;;) {
		assert_int_equal(get_be32(net.out + OFF_RMPP_DATA1), seg);
		n = net.out[OFF_RMPP_FLAGS] & RMPP_LAST ?
		    get_be32(net.out + OFF_RMPP_DATA2) - 20 : SA_DATA_BYTES;
		if (seg == 1 && net.out[OFF_RMPP_FLAGS] & RMPP_LAST)
			assert_true(n <= SA_DATA_BYTES);
		memcpy(to + len, rec, n);
		len += n;
		if (net.out[OFF_RMPP_FLAGS] & RMPP_LAST)
			break;
		if (!net_take(h)) {		/* the window's end */
			memcpy(ack, net.out, MAD_BYTES);
			ack[OFF_RMPP_TYPE] = 2;
			ack[OFF_RMPP_FLAGS] = RMPP_ACTIVE;
			put_be32(ack + OFF_RMPP_DATA1, seg);
			put_be32(ack + OFF_RMPP_DATA2, seg + 3);
			net_send(h, 1, SWITCH_LID, ack);
			assert_true(net_take(h));
		}
		seg++;
	}
	assert_int_equal(len % ((record + 7) / 8 * 8), 0);
	return len / ((record + 7) / 8 * 8);
}

static uint8_t recs[65536];

/* ---- records --------------------------------------------------------------------------------- */

static void class_and_versions(void **state)
{
	(void)state;
	assert_int_equal(ask(0, GET, SA_CLASS_PORT_INFO, 0), 0);
	assert_int_equal(rec[1], 2);
	assert_int_equal(get_be32(rec + 4) >> 5, 1 << 12);	/* send-only full members */
	assert_int_equal(net.out_slid, SWITCH_LID);
	assert_int_equal(ask(0, GET_TABLE, SA_CLASS_PORT_INFO, 0), MAD_BAD_ATTR);
	assert_int_equal(ask(0, SET, SA_PATH_RECORD, 0), MAD_BAD_ATTR);
	assert_int_equal(ask(0, GET, 0x3f, 0), MAD_BAD_ATTR);
	net_sa(mad, GET, SA_CLASS_PORT_INFO, 0);
	mad[OFF_CLASS_VERSION] = 1;
	net_send(0, 1, SWITCH_LID, mad);
	assert_true(net_take(0));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_BAD_VERSION);
	mad[OFF_CLASS_VERSION] = 2;
	mad[OFF_VERSION] = 2;
	net_send(0, 1, SWITCH_LID, mad);
	assert_true(net_take(0));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_BAD_VERSION);
	net_sa(mad, GET | METHOD_RESPONSE, SA_CLASS_PORT_INFO, 0);
	net_send(0, 1, SWITCH_LID, mad);
	assert_false(net_take(0));
}

static void assert_link(const uint8_t *link, uint16_t from, uint8_t port, uint16_t to,
			uint8_t to_port)
{
	assert_int_equal(get_be16(link), from);
	assert_int_equal(link[2], port);
	assert_int_equal(link[3], to_port);
	assert_int_equal(get_be16(link + 4), to);
}

static void nodes_ports_and_links(void **state)
{
	unsigned int h;

	(void)state;
	assert_int_equal(ask(0, GET_TABLE, SA_NODE_RECORD, 0), 0);
	assert_int_equal(table(0, 108, recs), NET_HCAS + 1);
	assert_int_equal(get_be16(recs), SWITCH_LID);
	assert_int_equal(recs[6], 2);
	assert_int_equal(get_be16(recs + 112), fabric_lid(net.hca[0]));
	assert_memory_equal(recs + 112 + 44, "bluebell-hca 0", 14);
	q[6] = 1;						/* channel adapters */
	assert_int_equal(ask(0, GET_TABLE, SA_NODE_RECORD, BIT_OF(4)), 0);
	assert_int_equal(table(0, 108, recs), NET_HCAS);
	assert_int_equal(ask(0, GET, SA_NODE_RECORD, BIT_OF(4)), SA_TOO_MANY_RECORDS);
	put_be16(q, fabric_lid(net.hca[1]));
	assert_int_equal(ask(0, GET, SA_NODE_RECORD, BIT_OF(0)), 0);
	assert_true(get_be64(rec + 24) == fabric_guid(net.hca[1]));
	put_be16(q, 0x1234);
	assert_int_equal(ask(0, GET, SA_NODE_RECORD, BIT_OF(0)), SA_NO_RECORDS);
	assert_int_equal(ask(0, GET_TABLE, SA_NODE_RECORD, BIT_OF(0)), 0);
	assert_int_equal(table(0, 108, recs), 0);
	assert_int_equal(ask(0, GET_TABLE, SA_PORT_INFO_RECORD, 0), 0);
	assert_int_equal(table(0, 68, recs), NET_HCAS + 1 + SWITCH_PORTS);
	memset(q, 0, SA_DATA_BYTES);
	put_be32(q + 24, 2);					/* ports with a subnet manager */
	net_sa(mad, GET_TABLE, SA_PORT_INFO_RECORD, BIT_OF(7));
	put_be32(mad + OFF_MOD, 0x80000000u);
	put_be32(q + 24, 2);
	net_send(0, 1, SWITCH_LID, mad);
	assert_true(net_take(0));
	assert_int_equal(table(0, 68, recs), 1);
	assert_int_equal(get_be16(recs), SWITCH_LID);
	assert_int_equal(ask(0, GET_TABLE, SA_LINK_RECORD, 0), 0);
	assert_int_equal(table(0, 6, recs), 2 * NET_HCAS);
	for (h = 0; h < NET_HCAS; h++) {
		uint16_t lid = fabric_lid(net.hca[h]);

		assert_link(recs + 16 * h, SWITCH_LID, h + 1, lid, 1);
		assert_link(recs + 16 * h + 8, lid, 1, SWITCH_LID, h + 1);
	}
	assert_int_equal(ask(0, GET, SA_SWITCH_INFO_RECORD, 0), 0);
	assert_int_equal(get_be16(rec), SWITCH_LID);
	assert_int_equal(get_be16(rec + 4), FORWARD_LIDS);
	assert_int_equal(get_be16(rec + 4 + 4), FORWARD_MLIDS);
	assert_int_equal(rec[4 + 16], 8);			/* enhanced port 0 */
	assert_int_equal(ask(0, GET, SA_SM_INFO_RECORD, 0), 0);
	assert_true(get_be64(rec + 4) == SWITCH_GUID);
	assert_true(get_be64(rec + 12) == 0);			/* the SM_Key is not disclosed */
	assert_int_equal(ask(0, GET_TABLE, SA_PKEY_RECORD, 0), SA_DENIED);
	put_be64(mad + OFF_SM_KEY, SWITCH_SM_KEY);
	assert_int_equal(ask(0, GET_TABLE, SA_PKEY_RECORD, 0), 0);
	assert_int_equal(table(0, 72, recs), 1 + 4 * NET_HCAS);
	/* A port whose link is down is not listed. */
	port_set_link(net.hca[2], false);
	assert_int_equal(ask(0, GET_TABLE, SA_NODE_RECORD, 0), 0);
	assert_int_equal(table(0, 108, recs), NET_HCAS);
}

static void nodes_have_their_attributes_only(void **state)
{
	struct switch_node sw = { .fabric = net.fabric };
	uint8_t data[SMP_DATA_BYTES];

	(void)state;
	assert_true(sa_end_attr(&sw, 1, SMP_NODE_INFO, 0, data));
	assert_true(get_be64(data + 12) == fabric_guid(net.hca[0]));
	assert_false(sa_end_attr(&sw, 1, SMP_SWITCH_INFO, 0, data));
	assert_false(sa_end_attr(&sw, NET_HCAS + 1, SMP_NODE_INFO, 0, data));
	assert_false(sa_end_attr(&sw, 0, SMP_GUID_INFO, 1, data));
}

/* An answer has at most 512 kB: 8192 records of 60 bytes, each padded to 64. */
static void answer_has_a_greatest_length(void **state)
{
	struct sa_request rq = { .out.record = 60 };
	uint8_t one[60] = { 0 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 8192; i++)
		sa_add(&rq, one);
	assert_false(rq.out.failed);
	assert_int_equal(rq.out.len, 512 << 10);
	sa_add(&rq, one);
	assert_true(rq.out.failed);
	assert_int_equal(rq.out.len, 512 << 10);
	free(rq.out.bytes);
}

/* A rate whose code is reserved is less than any other. */
static void rates_have_codes_from_2_to_23(void **state)
{
	(void)state;
	assert_int_equal(sa_rank_rate(1), 0);
	assert_int_equal(sa_rank_rate(2), 3);
	assert_int_equal(sa_rank_rate(23), 800);
	assert_int_equal(sa_rank_rate(24), 0);
	assert_int_equal(sa_rank_rate(255), 0);
}

/* ---- paths ----------------------------------------------------------------------------------- */

#define PATH_GIDS	(BIT_OF(2) | BIT_OF(3))
#define PATH_PKEY	BIT_OF(13)

static void gids(unsigned int from, unsigned int to)
{
	memset(q, 0, SA_DATA_BYTES);
	gid_get(net.hca[to], 0, q + 8);
	gid_get(net.hca[from], 0, q + 24);
}

static void path_between_gids(void **state)
{
	(void)state;
	gids(0, 1);
	assert_int_equal(ask(0, GET, SA_PATH_RECORD, PATH_GIDS), 0);
	assert_int_equal(get_be16(rec + 40), fabric_lid(net.hca[1]));
	assert_int_equal(get_be16(rec + 42), fabric_lid(net.hca[0]));
	assert_int_equal(rec[49] & 0x80, 0x80);
	assert_int_equal(get_be16(rec + 50), 0xffff);
	assert_int_equal(rec[54], 2 << 6 | 5);
	assert_int_equal(rec[55], 2 << 6 | 16);
	gid_get(net.hca[1], 1, q + 8);				/* another GID of the port */
	assert_int_equal(ask(0, GET, SA_PATH_RECORD, PATH_GIDS), 0);
	assert_memory_equal(rec + 8, q + 8, 16);
	assert_int_equal(get_be16(rec + 40), fabric_lid(net.hca[1]));
	q[23] ^= 0x40;
	assert_int_equal(ask(0, GET, SA_PATH_RECORD, PATH_GIDS), SA_NO_RECORDS);
	put_be16(q + 40, fabric_lid(net.hca[2]));
	put_be16(q + 42, fabric_lid(net.hca[1]));
	assert_int_equal(ask(0, GET, SA_PATH_RECORD, BIT_OF(4) | BIT_OF(5)), 0);
	assert_memory_equal(rec + 42, q + 42, 2);
	assert_true(get_be64(rec + 16) == fabric_guid(net.hca[2]));
	/* A field whose bit in the mask is 0 is not compared. */
	assert_int_equal(ask(0, GET_TABLE, SA_PATH_RECORD, BIT_OF(5)), 0);
	assert_int_equal(table(0, 64, recs), NET_HCAS + 1);
}

static void path_in_a_partition(void **state)
{
	(void)state;
	gids(0, 1);
	put_be16(q + 50, 0x0001);
	assert_int_equal(ask(0, GET, SA_PATH_RECORD, PATH_GIDS | PATH_PKEY), 0);
	assert_int_equal(get_be16(rec + 50), 1);
	put_be16(q + 50, 0x8005);
	assert_int_equal(ask(0, GET, SA_PATH_RECORD, PATH_GIDS | PATH_PKEY), SA_NO_RECORDS);
	pkey_table_set(net.hca[0], 4, 0x0005);
	pkey_table_set(net.hca[1], 4, 0x0005);
	assert_int_equal(ask(0, GET, SA_PATH_RECORD, PATH_GIDS | PATH_PKEY), SA_NO_RECORDS);
	pkey_table_set(net.hca[1], 4, 0x8005);			/* a full member */
	assert_int_equal(ask(0, GET, SA_PATH_RECORD, PATH_GIDS | PATH_PKEY), 0);
}

static uint16_t path_with(uint64_t mask, uint8_t mtu, uint8_t rate)
{
	q[54] = mtu;
	q[55] = rate;
	return ask(0, GET, SA_PATH_RECORD, PATH_GIDS | mask);
}

static void path_of_an_mtu_and_a_rate(void **state)
{
	const uint64_t mtu = BIT_OF(16) | BIT_OF(17), rate = BIT_OF(18) | BIT_OF(19);

	(void)state;
	gids(0, 1);
	assert_int_equal(path_with(mtu, 0 << 6 | 4, 0), 0);	/* more than 2048 */
	assert_int_equal(rec[54] & 63, 5);
	assert_int_equal(path_with(mtu, 0 << 6 | 5, 0), SA_NO_RECORDS);
	assert_int_equal(path_with(mtu, 1 << 6 | 3, 0), 0);	/* less than 1024 */
	assert_int_equal(rec[54] & 63, 2);
	assert_int_equal(path_with(mtu, 1 << 6 | 1, 0), SA_NO_RECORDS);
	assert_int_equal(path_with(mtu, 2 << 6 | 3, 0), 0);
	assert_int_equal(rec[54] & 63, 3);
	assert_int_equal(path_with(mtu, 2 << 6 | 6, 0), SA_NO_RECORDS);
	assert_int_equal(path_with(BIT_OF(16), 3 << 6, 0), 0);
	assert_int_equal(rec[54] & 63, 5);
	assert_int_equal(path_with(rate, 0, 0 << 6 | 7), 0);	/* more than 40 Gb/s */
	assert_int_equal(rec[55] & 63, 16);
	assert_int_equal(path_with(rate, 0, 0 << 6 | 10), SA_NO_RECORDS);
	assert_int_equal(path_with(rate, 0, 1 << 6 | 7), 0);
	assert_int_equal(rec[55] & 63, 4);			/* 30 Gb/s */
	assert_int_equal(path_with(rate, 0, 2 << 6 | 3), 0);
	assert_int_equal(rec[55] & 63, 3);
	assert_int_equal(path_with(rate, 0, 2 << 6 | 1), SA_NO_RECORDS);
	assert_int_equal(path_with(rate, 0, 2 << 6 | 17), SA_NO_RECORDS);
}

/* A path is used in both directions, so the lowest MTU of all ends of its links counts. */
static void path_over_links_of_other_mtus(void **state)
{
	(void)state;
	gids(0, 1);
	fabric_set_mtu(net.hca[1], true, 1024);
	assert_int_equal(path_with(0, 0, 0), 0);
	assert_int_equal(rec[54] & 63, 3);
	fabric_set_mtu(net.hca[0], false, 512);
	assert_int_equal(path_with(0, 0, 0), 0);
	assert_int_equal(rec[54] & 63, 2);
	assert_int_equal(path_with(BIT_OF(16) | BIT_OF(17), 2 << 6 | 3, 0), SA_NO_RECORDS);
}

static void path_has_the_rate_of_its_links(void **state)
{
	static struct profile fast;

	(void)state;
	fast = *net.hca[1]->profile;
	fast.link_speed = SPEED_NDR;
	net.hca[1]->profile = &fast;
	gids(0, 1);
	assert_int_equal(path_with(0, 0, 0), 0);
	assert_int_equal(rec[55] & 63, 16);			/* 100 Gb/s */
	gids(1, 1);
	assert_int_equal(path_with(0, 0, 0), 0);
	assert_int_equal(rec[55] & 63, 21);			/* 400 Gb/s */
	fast.link_speed = SPEED_FDR;
	assert_int_equal(path_with(0, 0, 0), 0);
	assert_int_equal(rec[55] & 63, 12);			/* 56 Gb/s */
}

/* All paths have the same packet life time. */
static void path_has_a_life_time(void **state)
{
	static const struct { uint8_t asked; uint16_t status; } t[] = {
		{ 0 << 6 | 13, 0 }, { 0 << 6 | 14, SA_NO_RECORDS },	/* greater than */
		{ 1 << 6 | 15, 0 }, { 1 << 6 | 14, SA_NO_RECORDS },	/* less than */
		{ 2 << 6 | 14, 0 }, { 2 << 6 | 13, SA_NO_RECORDS }, { 3 << 6 | 1, 0 },
	};
	unsigned int i;

	(void)state;
	gids(0, 1);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		q[56] = t[i].asked;
		assert_int_equal(ask(0, GET, SA_PATH_RECORD, PATH_GIDS | BIT_OF(20) | BIT_OF(21)),
				 t[i].status);
		if (!t[i].status)
			assert_int_equal(rec[56], 2 << 6 | 14);
	}
	q[56] = 2 << 6 | 13;
	assert_int_equal(ask(0, GET, SA_PATH_RECORD, PATH_GIDS | BIT_OF(21)), 0);
}

static void path_repeats_what_it_leaves_to_the_host(void **state)
{
	(void)state;
	gids(0, 1);
	put_be64(q, 0x1122334455667788);		/* service */
	put_be32(q + 44, 0xf1234567);			/* reserved, flow label, hop limit */
	q[48] = 0x42;					/* traffic class */
	q[53] = 0x35;					/* the lower half is the SL */
	assert_int_equal(ask(0, GET, SA_PATH_RECORD, PATH_GIDS), 0);
	assert_true(get_be64(rec) == 0x1122334455667788);
	assert_int_equal(get_be32(rec + 44), 0x01234567);
	assert_int_equal(rec[48], 0x42);
	assert_int_equal(rec[53], 5);
	assert_int_equal(ask(0, GET, SA_PATH_RECORD, PATH_GIDS | BIT_OF(6)), SA_INVALID);
	q[44] = 0;					/* not for raw packets */
	assert_int_equal(ask(0, GET, SA_PATH_RECORD, PATH_GIDS | BIT_OF(6)), 0);
}

/* The answer has the service level of the request, and a GRH if the request has one. */
static void answer_goes_the_way_of_the_request(void **state)
{
	struct packet *p = packet_alloc(net.fabric), *r;
	uint8_t gid[16];

	(void)state;
	gid_get(net.hca[0], 1, gid);
	net_sa(mad, GET, SA_CLASS_PORT_INFO, 0);
	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = fabric_lid(net.hca[0]);
	ib_hdr(p)->dlid = SWITCH_LID;
	ib_hdr(p)->sl = 3;
	ib_hdr(p)->grh = true;
	memcpy(ib_hdr(p)->sgid, gid, sizeof(gid));
	p->qkey = 0x80010000u;
	p->pkey = 0xffff;
	p->dqpn = 1;
	p->sqpn = 0x123456;
	p->head.len = MAD_BYTES;
	memcpy(p->payload, mad, MAD_BYTES);
	fabric_tx(net.hca[0], p);
	net_turn();
	r = fabric_rx(net.hca[0]);
	assert_non_null(r);
	assert_int_equal(ib_hdr(r)->sl, 3);
	assert_int_equal(r->dqpn, 0x123456);
	assert_int_equal(r->sqpn, 1);
	assert_int_equal(r->qkey, 0x80010000u);
	assert_true(ib_hdr(r)->grh);
	assert_memory_equal(ib_hdr(r)->dgid, gid, sizeof(gid));
	assert_true(get_be64(ib_hdr(r)->sgid + 8) == SWITCH_GUID);
	packet_free(net.fabric, r);
}

static void table_of_more_than_one_packet(void **state)
{
	(void)state;
	memset(q, 0, SA_DATA_BYTES);
	assert_int_equal(ask(1, GET_TABLE, SA_PATH_RECORD, 0), 0);
	assert_int_equal(get_be32(net.out + OFF_RMPP_DATA2), 16 * 64 + 6 * 20);
	assert_int_equal(table(1, 64, recs), 16);
	assert_int_equal(get_be16(recs + 15 * 64 + 40), fabric_lid(net.hca[2]));
	assert_int_equal(get_be16(recs + 15 * 64 + 42), fabric_lid(net.hca[2]));
	assert_false(net_take(1));
}

static void rmpp_from_others_does_nothing(void **state)
{
	uint8_t ack[MAD_BYTES];
	unsigned int i;

	(void)state;
	memset(q, 0, SA_DATA_BYTES);
	assert_int_equal(ask(1, GET_TABLE, SA_PATH_RECORD, 0), 0);
	memcpy(ack, net.out, MAD_BYTES);
	ack[OFF_RMPP_TYPE] = 2;
	put_be32(ack + OFF_RMPP_DATA1, 1);
	put_be32(ack + OFF_RMPP_DATA2, ~0u);
	net_send(0, 1, SWITCH_LID, ack);			/* another port */
	assert_false(net_take(0));
	assert_false(net_take(1));
	ack[OFF_TID] ^= 1;					/* another transaction */
	net_send(1, 1, SWITCH_LID, ack);
	assert_false(net_take(1));
	ack[OFF_TID] ^= 1;
	net_send(1, 1, SWITCH_LID, ack);
	for (i = 0; net_take(1); i++)
		;
	assert_int_equal(i, 5);
	ack[OFF_RMPP_TYPE] = 4;					/* abort */
	net_send(1, 1, SWITCH_LID, ack);
	ack[OFF_RMPP_TYPE] = 2;
	net_send(1, 1, SWITCH_LID, ack);
	assert_false(net_take(1));
}

/* Begin a table of several packets from HCA @h, and make the acknowledgment of its first packet. */
static void begin_table(unsigned int h, uint8_t *ack)
{
	memset(q, 0, SA_DATA_BYTES);
	assert_int_equal(ask(h, GET_TABLE, SA_PATH_RECORD, 0), 0);
	memcpy(ack, net.out, MAD_BYTES);
	ack[OFF_RMPP_TYPE] = 2;
	put_be32(ack + OFF_RMPP_DATA1, 1);
	put_be32(ack + OFF_RMPP_DATA2, ~0u);
}

/* Acknowledge a packet from HCA @h; returns the number of packets that follow. */
static unsigned int acknowledge(unsigned int h, const uint8_t *ack)
{
	unsigned int n = 0;

	net_send(h, 1, SWITCH_LID, ack);
	while (net_take(h))
		n++;
	return n;
}

static void transfers_of_a_port_end_no_others(void **state)
{
	uint8_t ack[MAD_BYTES], own[9][MAD_BYTES];
	unsigned int i;

	(void)state;
	begin_table(1, ack);
	for (i = 0; i < 9; i++)
		begin_table(0, own[i]);
	assert_int_equal(acknowledge(0, own[0]), 0);		/* HCA 0's oldest has ended */
	assert_int_equal(acknowledge(0, own[1]), 5);
	assert_int_equal(acknowledge(0, own[8]), 5);
	assert_int_equal(acknowledge(1, ack), 5);
	assert_int_equal(acknowledge(0, ack), 0);		/* a transfer of HCA 1 */
}

/* ---- multicast ------------------------------------------------------------------------------- */

#define JOIN_MASK	(BIT_OF(0) | BIT_OF(1) | BIT_OF(16))
#define CREATE_MASK	(JOIN_MASK | BIT_OF(2) | BIT_OF(6) | BIT_OF(7) | BIT_OF(12) | BIT_OF(13))

static const uint8_t broadcast[16] = {
	0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [12] = 0xff, 0xff, 0xff, 0xff,
};
static const uint8_t group[16] = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1 };

static void member(unsigned int h, const uint8_t *mgid, uint8_t state)
{
	memset(q, 0, SA_DATA_BYTES);
	memcpy(q, mgid, 16);
	gid_get(net.hca[h], 0, q + 16);
	q[48] = state;
}

/* The Q_Key and the P_Key, which a host has to give when it creates a group. */
static void of_group(void)
{
	put_be32(q + 32, 0x0b1b);
	put_be16(q + 40, 0xffff);
}

static uint64_t forwarded(uint16_t mlid)
{
	net_turn();
	return forward_multicast(fabric_forward(net.fabric), 0, mlid);
}

static void broadcast_group_exists(void **state)
{
	(void)state;
	member(1, broadcast, 1);
	assert_int_equal(ask(1, SET, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
	assert_int_equal(get_be16(rec + 36), 0xc000);
	assert_int_equal(get_be32(rec + 32), 0x0b1b);
	assert_int_equal(rec[38], 2 << 6 | 4);
	assert_int_equal(get_be16(rec + 40), 0xffff);
	assert_int_equal(rec[48], 2 << 4 | 1);			/* scope: the link */
	assert_true(forwarded(0xc000) == 1 << 2);
	assert_int_equal(ask(1, SET, SA_MCMEMBER_RECORD, JOIN_MASK), 0);	/* joins again */
	assert_true(forwarded(0xc000) == 1 << 2);
	assert_int_equal(ask(1, DELETE, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
	assert_int_equal(rec[48] & 15, 0);
	assert_true(forwarded(0xc000) == 0);
	assert_int_equal(ask(1, DELETE, SA_MCMEMBER_RECORD, JOIN_MASK), SA_INVALID);
	member(0, broadcast, 1);
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK), 0);	/* group exists */
}

static void groups_are_made_and_end(void **state)
{
	uint16_t mlid;

	(void)state;
	member(0, group, 1);
	of_group();
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, CREATE_MASK & ~BIT_OF(2)),
			 SA_INSUFFICIENT);
	q[48] = 4;						/* send only, and no such group */
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, CREATE_MASK), SA_INVALID);
	q[48] = 1;
	q[42] = 3;						/* a rate that is not asked for */
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, CREATE_MASK), 0);
	assert_int_equal(rec[42], SA_EXACTLY << 6 | 16);
	assert_int_equal(rec[43], SA_EXACTLY << 6 | 14);
	mlid = get_be16(rec + 36);
	assert_int_equal(mlid, 0xc001);
	assert_int_equal(rec[48], 2 << 4 | 1);
	member(1, group, 4);
	assert_int_equal(ask(1, SET, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
	assert_int_equal(get_be16(rec + 36), mlid);
	assert_true(forwarded(mlid) == 1 << 1);			/* HCA 1 only sends */
	q[48] = 2;
	assert_int_equal(ask(1, SET, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
	assert_int_equal(rec[48] & 15, 6);
	assert_true(forwarded(mlid) == (1 << 1 | 1 << 2));
	member(0, group, 1);
	assert_int_equal(ask(0, DELETE, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
	assert_true(forwarded(mlid) == 0);			/* no full member, no group */
	member(1, group, 2);
	assert_int_equal(ask(1, DELETE, SA_MCMEMBER_RECORD, JOIN_MASK), SA_INVALID);
	memset(q, 0, 16);					/* the switch chooses a GID */
	q[48] = 1;
	of_group();
	assert_int_equal(ask(1, SET, SA_MCMEMBER_RECORD, CREATE_MASK), 0);
	assert_int_equal(rec[0], 0xff);
}

static void joins_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	member(0, broadcast, 1);
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK & ~BIT_OF(1)),
			 SA_INSUFFICIENT);
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, BIT_OF(0)), SA_INSUFFICIENT);
	put_be32(q + 32, 1);					/* Q_Key */
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK | BIT_OF(2)), SA_INVALID);
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK), 0);	/* no Q_Key bit */
	put_be16(q + 40, 0x8001);
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK | BIT_OF(7)), SA_INVALID);
	q[38] = 2 << 6 | 5;
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK | BIT_OF(4) | BIT_OF(5)),
			 SA_INVALID);
	q[42] = 0 << 6 | 3;
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK | BIT_OF(8) | BIT_OF(9)),
			 SA_INVALID);
	q[48] = 0;
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK), SA_INVALID);
	member(1, broadcast, 1);				/* HCA 0 asks for HCA 1 */
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK), SA_INVALID);
	assert_true(forwarded(0xc000) == 1 << 1);
	member(0, group, 1);
	of_group();
	q[0] = 0xfe;						/* not a multicast GID */
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, CREATE_MASK), SA_INVALID);
	q[0] = 0xff;
	put_be16(q + 40, 0x8007);				/* not a partition of the port */
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, CREATE_MASK), SA_INVALID);
}

/* The group of broadcasts has an MTU of 2048, whose code is 4, and 10 Gb/s, whose code is 3. */
static void joins_choose_by_mtu_and_rate(void **state)
{
	static const struct { uint8_t mtu, rate; uint16_t status; } t[] = {
		{ 0 << 6 | 3, 0, 0 }, { 0 << 6 | 4, 0, SA_INVALID },	/* greater than */
		{ 1 << 6 | 5, 0, 0 }, { 1 << 6 | 4, 0, SA_INVALID },	/* less than */
		{ 2 << 6 | 4, 0, 0 }, { 2 << 6 | 3, 0, SA_INVALID }, { 3 << 6, 0, 0 },
		{ 0, 0 << 6 | 5, 0 }, { 0, 0 << 6 | 3, SA_INVALID },	/* 5 Gb/s */
		{ 0, 1 << 6 | 6, 0 }, { 0, 1 << 6 | 5, SA_INVALID },	/* 20 Gb/s */
		{ 0, 2 << 6 | 3, 0 }, { 0, 2 << 6 | 2, SA_INVALID }, { 0, 3 << 6, 0 },
	};
	uint64_t mask;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		member(0, broadcast, 1);
		q[38] = t[i].mtu;
		q[42] = t[i].rate;
		mask = i < 7 ? BIT_OF(4) | BIT_OF(5) : BIT_OF(8) | BIT_OF(9);
		if (ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK | mask) != t[i].status)
			fail_msg("MTU 0x%x, rate 0x%x", t[i].mtu, t[i].rate);
	}
	/* A selector or a value alone chooses nothing. */
	member(0, broadcast, 1);
	q[38] = 2 << 6 | 3;
	q[42] = 2 << 6 | 2;
	for (i = 4; i < 10; i += 1 + 2 * (i == 5))
		assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK | BIT_OF(i)), 0);
}

/* A member could not receive the packets of a group with a higher MTU, or in another partition. */
static void member_can_receive_what_the_group_sends(void **state)
{
	(void)state;
	member(0, group, 1);
	of_group();
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, CREATE_MASK), 0);
	member(1, group, 1);
	fabric_set_mtu(net.hca[1], false, 1024);
	assert_int_equal(ask(1, SET, SA_MCMEMBER_RECORD, JOIN_MASK), SA_INVALID);
	fabric_set_mtu(net.hca[1], false, 4096);
	assert_int_equal(ask(1, SET, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
	pkey_table_set(net.hca[0], 4, 0x8005);
	member(0, group, 1);
	q[15] = 2;
	of_group();
	put_be16(q + 40, 0x8005);
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, CREATE_MASK), 0);
	member(1, group, 1);
	q[15] = 2;
	assert_int_equal(ask(1, SET, SA_MCMEMBER_RECORD, JOIN_MASK), SA_INVALID);
	pkey_table_set(net.hca[1], 4, 0x8005);
	assert_int_equal(ask(1, SET, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
}

static void groups_and_members_are_listed(void **state)
{
	(void)state;
	member(0, broadcast, 1);
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
	member(1, broadcast, 1);
	assert_int_equal(ask(1, SET, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
	assert_int_equal(ask(1, GET, SA_MCMEMBER_RECORD, BIT_OF(0)), 0);
	assert_int_equal(rec[48] & 15, 0);			/* the group, not its members */
	assert_int_equal(ask(1, GET_TABLE, SA_MCMEMBER_RECORD, BIT_OF(0)), 0);
	assert_int_equal(table(1, 52, recs), 1);
	assert_int_equal(ask(1, GET, SA_MCMEMBER_RECORD, BIT_OF(0) | BIT_OF(1)), 0);
	assert_int_equal(rec[48] & 15, 1);
	put_be64(mad + OFF_SM_KEY, SWITCH_SM_KEY);
	assert_int_equal(ask(1, GET_TABLE, SA_MCMEMBER_RECORD, BIT_OF(0)), 0);
	assert_int_equal(table(1, 52, recs), 2);
	port_set_link(net.hca[0], false);			/* HCA 0's memberships end */
	assert_true(forwarded(0xc000) == 1 << 2);
}

/* Create group number @i from HCA @h; returns the status. */
static uint16_t make_group(unsigned int h, uint32_t i)
{
	member(h, group, 1);
	of_group();
	put_be32(q + 8, i + 1);
	return ask(h, SET, SA_MCMEMBER_RECORD, CREATE_MASK);
}

static void a_guest_cannot_make_groups_without_end(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 60; i++)
		assert_int_equal(make_group(0, i), 0);
	assert_int_equal(make_group(0, 60), SA_NO_RESOURCES);
	assert_int_equal(make_group(1, 60), 0);
	member(0, group, 1);					/* HCA 0 joins HCA 1's group */
	put_be32(q + 8, 61);
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
	assert_int_equal(ask(0, DELETE, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
	put_be32(q + 8, 1);
	assert_int_equal(ask(0, DELETE, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
	assert_int_equal(make_group(0, 61), 0);
	assert_int_equal(ask(0, GET_TABLE, SA_MCMEMBER_RECORD, 0), 0);
	assert_int_equal(table(0, 52, recs), 62);
	/* The answers to a flood of requests take no more than the room at a port. */
	memset(q, 0, SA_DATA_BYTES);
	for (i = 0; i < 5000; i++)
		net_send(0, 1, SWITCH_LID, mad);
	for (i = 0; net_take(0); i++)
		;
	assert_true(i <= 512);
}

/* ---- notices and services -------------------------------------------------------------------- */

#define RESPONSE_TIME	19

static void inform_info(uint16_t trap, uint8_t on)
{
	memset(q, 0, SA_DATA_BYTES);
	put_be16(q + 16, 0xffff);
	q[22] = 1;
	q[23] = on;
	put_be16(q + 24, 0xffff);
	put_be16(q + 26, trap);
	put_be32(q + 28, 0x12345600 | RESPONSE_TIME);		/* the subnet manager sets the QPN */
	put_be32(q + 32, 0xffffff);
}

static void subscribe(unsigned int h, uint16_t trap, uint8_t on, uint16_t status)
{
	inform_info(trap, on);
	assert_int_equal(ask(h, SET, SA_INFORM_INFO, 0), status);
}

static uint16_t reported(unsigned int h)
{
	if (!net_take(h))
		return 0;
	assert_int_equal(net.out[OFF_METHOD], METHOD_REPORT);
	assert_int_equal(get_be16(net.out + OFF_ATTR), SA_NOTICE);
	return get_be16(rec + 4);
}

static void notices_are_reported_to_subscribers(void **state)
{
	uint8_t gid[16];
	unsigned int i;

	(void)state;
	subscribe(0, 66, 1, 0);
	subscribe(0, 66, 1, 0);					/* the same subscription */
	subscribe(1, 0xffff, 1, 0);
	subscribe(2, 66, 0, SA_INVALID);			/* has no subscription */
	inform_info(66, 0);
	put_be16(q + 18, 9);					/* has one by other LIDs */
	assert_int_equal(ask(0, SET, SA_INFORM_INFO, 0), SA_INVALID);
	inform_info(66, 0);
	q[15] = 1;						/* has one without a GID */
	assert_int_equal(ask(0, SET, SA_INFORM_INFO, 0), SA_INVALID);
	member(2, group, 1);
	of_group();
	assert_int_equal(ask(2, SET, SA_MCMEMBER_RECORD, CREATE_MASK), 0);
	assert_int_equal(reported(0), 66);
	assert_memory_equal(rec + 16, group, 16);
	assert_int_equal(reported(0), 0);
	assert_int_equal(reported(1), 66);
	member(2, group, 1);
	assert_int_equal(ask(2, DELETE, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
	assert_int_equal(reported(0), 0);
	assert_int_equal(reported(1), 67);
	port_set_link(net.hca[2], false);
	assert_int_equal(reported(1), 65);
	assert_true(get_be64(rec + 24) == fabric_guid(net.hca[2]));
	port_set_link(net.hca[2], true);
	assert_int_equal(reported(1), 64);
	fabric_set_link(net.hca[2], true);			/* it is up already */
	assert_int_equal(reported(1), 0);
	memset(q, 0, SA_DATA_BYTES);
	assert_int_equal(ask(0, GET_TABLE, SA_INFORM_INFO_RECORD, 0), 0);
	assert_int_equal(table(0, 60, recs), 2);
	for (i = 0; i < 2; i++) {
		gid_get(net.hca[i], 0, gid);
		assert_memory_equal(recs + 64 * i, gid, sizeof(gid));
		assert_int_equal(get_be16(recs + 64 * i + 16), i);
		assert_int_equal(get_be16(recs + 64 * i + 24 + 26), i ? 0xffff : 66);
		assert_int_equal(get_be32(recs + 64 * i + 24 + 28), 1 << 8 | RESPONSE_TIME);
	}
	fabric_set_state(net.hca[1], false, PORT_INIT);		/* not an end port any more */
	assert_int_equal(ask(0, GET_TABLE, SA_INFORM_INFO_RECORD, 0), 0);
	assert_int_equal(table(0, 60, recs), 1);
	fabric_set_state(net.hca[1], false, PORT_ACTIVE);
	subscribe(1, 0xffff, 0, 0);
	port_set_link(net.hca[2], false);
	assert_int_equal(reported(1), 0);
}

/* Subscribe HCA 0 by the record in q[], and end that. Returns whether it is told of group @n. */
static bool is_told_of(uint32_t n)
{
	uint8_t info[36];
	bool told;

	memcpy(info, q, sizeof(info));
	assert_int_equal(ask(0, SET, SA_INFORM_INFO, 0), 0);
	assert_int_equal(make_group(2, n), 0);
	told = reported(0) == 66;
	assert_int_equal(reported(0), 0);
	memset(q, 0, SA_DATA_BYTES);
	memcpy(q, info, sizeof(info));
	q[23] = 0;
	assert_int_equal(ask(0, SET, SA_INFORM_INFO, 0), 0);
	return told;
}

/* Trap 66 is of type 3 and by a class manager, whose code is 4, at the switch. */
static void notices_go_to_those_who_ask_for_them(void **state)
{
	static const struct { uint8_t at, bytes; uint32_t val; bool told; } t[] = {
		{ 22, 1, 1, true }, { 22, 1, 0, false },	/* generic */
		{ 24, 2, 3, true }, { 24, 2, 4, false },	/* type */
		{ 26, 2, 66, true }, { 26, 2, 67, false }, { 26, 2, 0xffff, true },
		{ 32, 4, 4, true }, { 32, 4, 2, false },	/* producer */
		{ 15, 1, 1, false },				/* the last byte of the GID */
		/* First and last LID; a last LID of 0 is as the first. */
		{ 16, 4, SWITCH_LID << 16, true }, { 16, 4, (SWITCH_LID + 1) << 16, false },
		{ 16, 4, 1 << 16 | SWITCH_LID, true },
		{ 16, 4, 1 << 16 | (SWITCH_LID - 1), false },
		{ 16, 4, (SWITCH_LID + 1) << 16 | (SWITCH_LID + 9), false },
	};
	unsigned int i, b;

	(void)state;
	for (i = 0; i <= ARRAY_SIZE(t); i++) {
		memset(q, 0, SA_DATA_BYTES);
		put_be16(q + 16, 0xffff);
		q[22] = 1;
		q[23] = 1;
		put_be16(q + 24, 0xffff);
		put_be16(q + 26, 66);
		put_be32(q + 32, 0xffffff);
		if (i == ARRAY_SIZE(t)) {	/* the GID of the switch */
			put_be64(q, 0xfe80ull << 48);
			put_be64(q + 8, SWITCH_GUID);
			assert_true(is_told_of(i));
			break;
		}
		for (b = 0; b < t[i].bytes; b++)
			q[t[i].at + b] = t[i].val >> 8 * (t[i].bytes - 1 - b);
		if (is_told_of(i) != t[i].told)
			fail_msg("0x%x in byte %u", t[i].val, t[i].at);
	}
}

static void subscriptions_of_a_port_are_limited(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 16; i++)
		subscribe(0, 100 + i, 1, 0);
	subscribe(0, 66, 1, SA_NO_RESOURCES);
	subscribe(0, 115, 1, 0);				/* exists already */
	subscribe(1, 66, 1, 0);
	subscribe(0, 100, 0, 0);
	subscribe(0, 66, 1, 0);
	port_set_link(net.hca[0], false);
	net_turn();
	port_set_link(net.hca[0], true);
	net_turn();
	while (net_take(0))
		;
	subscribe(0, 66, 1, 0);
}

static void services_are_registered(void **state)
{
	const uint64_t mask = BIT_OF(0) | BIT_OF(1) | BIT_OF(2);

	(void)state;
	memset(q, 0, SA_DATA_BYTES);
	put_be64(q, 0x1234);
	gid_get(net.hca[0], 0, q + 8);
	put_be16(q + 24, 0xffff);
	q[32] = 7;						/* service key */
	strcpy((char *)q + 48, "storage");
	assert_int_equal(ask(0, SET, SA_SERVICE_RECORD, BIT_OF(0)), SA_INSUFFICIENT);
	assert_int_equal(ask(0, SET, SA_SERVICE_RECORD, mask), 0);
	assert_int_equal(ask(0, SET, SA_SERVICE_RECORD, BIT_OF(1)), SA_INSUFFICIENT);
	assert_int_equal(ask(1, SET, SA_SERVICE_RECORD, mask), SA_INVALID_GID);
	assert_int_equal(ask(1, DELETE, SA_SERVICE_RECORD, mask), SA_INVALID_GID);
	assert_int_equal(ask(0, DELETE, SA_SERVICE_RECORD, BIT_OF(0)), SA_INSUFFICIENT);
	/* A record with other data, but the same ID, GID and P_Key, replaces the old record. */
	q[100] = 9;
	assert_int_equal(ask(0, SET, SA_SERVICE_RECORD, mask), 0);
	assert_int_equal(ask(1, GET, SA_SERVICE_RECORD, BIT_OF(6)), 0);
	assert_true(get_be64(rec) == 0x1234);
	assert_int_equal(rec[32], 0);
	assert_int_equal(ask(0, DELETE, SA_SERVICE_RECORD, mask), 0);
	assert_int_equal(ask(0, DELETE, SA_SERVICE_RECORD, mask), SA_NO_RECORDS);
	assert_int_equal(ask(1, GET, SA_SERVICE_RECORD, BIT_OF(6)), SA_NO_RECORDS);
}

/* Register service @id of HCA @h; returns the status. */
static uint16_t serve(unsigned int h, uint64_t id)
{
	memset(q, 0, SA_DATA_BYTES);
	put_be64(q, id);
	gid_get(net.hca[h], 0, q + 8);
	put_be16(q + 24, 0xffff);
	strcpy((char *)q + 48, "storage");
	return ask(h, SET, SA_SERVICE_RECORD, BIT_OF(0) | BIT_OF(1) | BIT_OF(2));
}

static void services_of_a_port_are_limited_and_end_with_it(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 16; i++)
		assert_int_equal(serve(0, i), 0);
	assert_int_equal(serve(0, 16), SA_NO_RESOURCES);
	assert_int_equal(serve(0, 15), 0);
	assert_int_equal(serve(1, 16), 0);
	port_set_link(net.hca[0], false);
	net_turn();
	assert_int_equal(ask(1, GET, SA_SERVICE_RECORD, BIT_OF(6)), 0);
	assert_true(get_be64(rec) == 16);
	port_set_link(net.hca[0], true);
	net_turn();
	assert_int_equal(serve(0, 16), 0);
}

/* ---- the component mask ---------------------------------------------------------------------- */

/* A component of a record: its bit in the mask, its offset and its width in bits. */
struct component {
	uint8_t bit;
	uint16_t off, width;
};

#define BYTES(bit, off, n)	{ bit, 8 * (off), 8 * (n) }

/* Volume 1, 15.2.5. */
static const struct {
	uint16_t attr, record;
	struct component c[16];		/* ended by a width of 0 */
} components[] = {
	{ SA_NODE_RECORD, 108, {
		BYTES(0, 0, 2), BYTES(2, 4, 1), BYTES(3, 5, 1), BYTES(4, 6, 1), BYTES(5, 7, 1),
		BYTES(6, 8, 8), BYTES(7, 16, 8), BYTES(8, 24, 8), BYTES(9, 32, 2),
		BYTES(10, 34, 2), BYTES(11, 36, 4), BYTES(12, 40, 1), BYTES(13, 41, 3),
		BYTES(14, 44, 64) } },
	{ SA_PORT_INFO_RECORD, 68, {
		BYTES(0, 0, 2), BYTES(1, 2, 1), BYTES(4, 12, 8), BYTES(5, 20, 2), BYTES(6, 22, 2),
		BYTES(7, 24, 4), BYTES(10, 32, 1), { 15, 8 * 36 + 4, 4 } } },
	{ SA_SWITCH_INFO_RECORD, 24, { BYTES(0, 0, 2) } },
	{ SA_SM_INFO_RECORD, 28, { BYTES(0, 0, 2), BYTES(2, 4, 8) } },
	{ SA_LINK_RECORD, 6, {
		BYTES(0, 0, 2), BYTES(1, 2, 1), BYTES(2, 3, 1), BYTES(3, 4, 2) } },
	{ SA_PKEY_RECORD, 72, { BYTES(0, 0, 2), BYTES(1, 2, 2), BYTES(2, 4, 1) } },
	{ SA_MCMEMBER_RECORD, 52, {
		BYTES(0, 0, 16), BYTES(1, 16, 16), BYTES(2, 32, 4), BYTES(3, 36, 2),
		BYTES(6, 39, 1), BYTES(7, 40, 2), { 12, 8 * 44, 4 }, { 13, 8 * 44 + 4, 20 },
		BYTES(14, 47, 1), { 15, 8 * 48, 4 } } },
	{ SA_SERVICE_RECORD, 176, {
		BYTES(0, 0, 8), BYTES(1, 8, 16), BYTES(2, 24, 2), BYTES(5, 32, 16),
		BYTES(6, 48, 64) } },
	{ SA_INFORM_INFO_RECORD, 60, { BYTES(0, 0, 16), BYTES(1, 16, 2) } },
};

static bool bits_equal(const uint8_t *a, const uint8_t *b, const struct component *c)
{
	unsigned int i;

	for (i = c->off; i < c->off + c->width; i++)
		if ((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1)
			return false;
	return true;
}

/* Ask for records like the one in q[] by one component, and compare with the whole table. */
static void ask_for(unsigned int i, const struct component *c, const uint8_t *all, unsigned int n)
{
	unsigned int k, padded = (components[i].record + 7) / 8 * 8, want = 0;

	for (k = 0; k < n; k++)
		want += bits_equal(q, all + k * padded, c);
	assert_int_equal(ask(0, GET_TABLE, components[i].attr, BIT_OF(c->bit)), 0);
	if (table(0, components[i].record, recs) != want)
		fail_msg("component %u of attribute 0x%x: not %u records", c->bit,
			 components[i].attr, want);
}

/* Make records that differ from each other, of the attributes of which there are few. */
static void make_records(void)
{
	member(0, broadcast, 1);
	assert_int_equal(ask(0, SET, SA_MCMEMBER_RECORD, JOIN_MASK), 0);
	member(1, group, 1);
	of_group();
	q[39] = 0x11;					/* traffic class */
	put_be32(q + 44, 3u << 28 | 0x12345 << 8 | 7);	/* SL, flow label, hop limit */
	assert_int_equal(ask(1, SET, SA_MCMEMBER_RECORD, CREATE_MASK), 0);
	assert_int_equal(serve(0, 0x1234), 0);
	assert_int_equal(serve(1, 0x1235), 0);
	subscribe(0, 100, 1, 0);
	subscribe(1, 100, 1, 0);
}

static void each_component_selects_its_records(void **state)
{
	static uint8_t all[65536];
	const struct component *c;
	unsigned int i, n, last, padded;

	(void)state;
	make_records();
	put_be64(mad + OFF_SM_KEY, SWITCH_SM_KEY);
	for (i = 0; i < ARRAY_SIZE(components); i++) {
		memset(q, 0, SA_DATA_BYTES);
		assert_int_equal(ask(0, GET_TABLE, components[i].attr, 0), 0);
		n = table(0, components[i].record, all);
		assert_true(n);
		padded = (components[i].record + 7) / 8 * 8;
		for (c = components[i].c; c->width; c++) {
			memset(q, 0, SA_DATA_BYTES);
			memcpy(q, all + (n - 1) * padded, components[i].record);
			ask_for(i, c, all, n);
			last = c->off + c->width - 1;
			q[last / 8] ^= 1 << (7 - last % 8);
			ask_for(i, c, all, n);
		}
	}
}

static void performance_of_the_switch(void **state)
{
	(void)state;
	net_smp(mad, METHOD_GET, 0x12, 0);
	mad[OFF_CLASS] = CLASS_PERF;
	mad[OFF_PMA_DATA + 1] = 1;
	net_send(0, 1, SWITCH_LID, mad);
	assert_true(net_take(0));
	assert_int_equal(get_be16(net.out + OFF_STATUS), 0);
	assert_int_equal(get_be32(net.out + OFF_PMA_DATA + 36), 1);	/* received from the HCA */
	mad[OFF_PMA_DATA + 1] = SWITCH_PORTS + 1;
	net_send(0, 1, SWITCH_LID, mad);
	assert_true(net_take(0));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_BAD_VALUE);
}

/* What an HCA has sent, the port of the switch at the other end of the link has received. */
static void ports_of_the_switch_count_the_other_way(void **state)
{
	static const struct { unsigned int at; uint64_t value; } want[] = {
		{ 8, 2000 }, { 16, 1000 }, { 24, 20 }, { 32, 10 }, { 40, 16 }, { 48, 7 }, { 56, 4 },
		{ 64, 3 },
	};
	struct counters *c = &net.hca[1]->count;
	unsigned int i;

	(void)state;
	c->packets_tx = 10;
	c->packets_rx = 20;
	c->octets_tx = 4000;
	c->octets_rx = 8000;
	c->mcast_tx = 3;
	c->mcast_rx = 4;
	net_smp(mad, METHOD_GET, 0x1d, 0);
	mad[OFF_CLASS] = CLASS_PERF;
	mad[OFF_PMA_DATA + 1] = 2;
	net_send(0, 1, SWITCH_LID, mad);
	assert_true(net_take(0));
	for (i = 0; i < ARRAY_SIZE(want); i++)
		assert_true(get_be64(net.out + OFF_PMA_DATA + want[i].at) == want[i].value);
}

/* ---- garbage --------------------------------------------------------------------------------- */

static void short_or_foreign_packets_are_dropped(void **state)
{
	static const struct { uint32_t qkey; uint16_t pkey; uint32_t qpn, len; } bad[] = {
		{ 0x80010000u, 0xffff, 1, 255 }, { 0x80010000u, 0xffff, 1, 0 },
		{ 0x80010000u, 0xffff, 1, 257 }, { 0x80010000u, 0xffff, 0, 256 },
		{ 0x80010000u, 0xffff, 2, 256 }, { 0x1111, 0xffff, 1, 256 },
		{ 0x80010000u, 0x8001, 1, 256 },
	};
	unsigned int i;

	(void)state;
	net_sa(mad, GET, SA_CLASS_PORT_INFO, 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct packet *p = packet_alloc(net.fabric);

		p->opcode = BTH_UD | BTH_SEND_ONLY;
		ib_hdr(p)->slid = fabric_lid(net.hca[0]);
		ib_hdr(p)->dlid = SWITCH_LID;
		p->qkey = bad[i].qkey;
		p->pkey = bad[i].pkey;
		p->dqpn = bad[i].qpn;
		p->sqpn = 1;
		p->head.len = bad[i].len;
		memcpy(p->payload, mad, MAD_BYTES);
		fabric_tx(net.hca[0], p);
		assert_false(net_take(0));
	}
}

static void garbage_is_survived(void **state)
{
	static const uint16_t attrs[] = {
		SA_CLASS_PORT_INFO, SA_INFORM_INFO, SA_NODE_RECORD, SA_PORT_INFO_RECORD,
		SA_LINK_RECORD, SA_SERVICE_RECORD, SA_PKEY_RECORD, SA_PATH_RECORD,
		SA_MCMEMBER_RECORD, SA_INFORM_INFO_RECORD, SA_SM_INFO_RECORD,
	};
	static const uint8_t methods[] = { GET, SET, GET_TABLE, DELETE, 6, 0x14, 0x86 };
	unsigned int i, n;

	(void)state;
	srand(2);
	for (n = 0; n < 4000; n++) {
		net_sa(mad, methods[rand() % 7], attrs[rand() % 11], 0);
		for (i = OFF_RMPP_VERSION; i < MAD_BYTES; i++)
			mad[i] = rand() % 4 ? 0 : rand();
		if (rand() % 8)
			mad[OFF_RMPP_FLAGS] = 0;
		gid_get(net.hca[n % NET_HCAS], 0, q + 16);
		net_send(n % NET_HCAS, 1, SWITCH_LID, mad);
		for (i = 0; i < NET_HCAS; i++)
			while (net_take(i))
				;
	}
}

static void send_to_the_switch(unsigned int n)
{
	struct packet *p;

	while (n--) {
		p = packet_alloc(net.fabric);
		p->opcode = BTH_UD | BTH_SEND_ONLY;
		ib_hdr(p)->slid = fabric_lid(net.hca[0]);
		ib_hdr(p)->dlid = SWITCH_LID;
		p->dqpn = 2;
		p->sqpn = 1;
		p->head.len = 0;
		fabric_tx(net.hca[0], p);
	}
}

/* The leak detector looks on. */
static void packet_on_its_way_to_the_switch_is_freed(void **state)
{
	(void)state;
	send_to_the_switch(1);
}

/* More packets than the switch takes in a turn of the event loop. */
static void packets_that_wait_for_the_switch_are_freed(void **state)
{
	(void)state;
	send_to_the_switch(600);
	event_base_loop(net.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/* The link goes down, and the HCA is gone before the switch looks. */
static void switch_does_not_look_for_an_hca_that_is_gone(void **state)
{
	(void)state;
	fabric_set_link(net.hca[2], false);
	hca_free_objects(net.hca[2]);
	hca_destroy(net.hca[2]);
	net.hca[2] = NULL;
	net_turn();
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(class_and_versions), T(nodes_ports_and_links), T(nodes_have_their_attributes_only),
		T(answer_has_a_greatest_length), T(rates_have_codes_from_2_to_23),
		T(path_between_gids),
		T(path_in_a_partition), T(path_of_an_mtu_and_a_rate),
		T(path_has_the_rate_of_its_links),
		T(path_over_links_of_other_mtus), T(path_has_a_life_time),
		T(path_repeats_what_it_leaves_to_the_host), T(answer_goes_the_way_of_the_request),
		T(joins_choose_by_mtu_and_rate), T(notices_go_to_those_who_ask_for_them),
		T(each_component_selects_its_records),
		T(table_of_more_than_one_packet), T(rmpp_from_others_does_nothing),
		T(transfers_of_a_port_end_no_others),
		T(broadcast_group_exists), T(groups_are_made_and_end),
		T(joins_that_do_not_fit_are_refused),
		T(member_can_receive_what_the_group_sends), T(groups_and_members_are_listed),
		T(a_guest_cannot_make_groups_without_end), T(notices_are_reported_to_subscribers),
		T(subscriptions_of_a_port_are_limited),
		T(services_are_registered), T(services_of_a_port_are_limited_and_end_with_it),
		T(performance_of_the_switch), T(ports_of_the_switch_count_the_other_way),
		T(short_or_foreign_packets_are_dropped), T(garbage_is_survived),
		T(packet_on_its_way_to_the_switch_is_freed),
		T(packets_that_wait_for_the_switch_are_freed),
		T(switch_does_not_look_for_an_hca_that_is_gone),
	};

	return cmocka_run_group_tests_name("sa", tests, NULL, NULL);
}
