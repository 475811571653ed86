// SPDX-License-Identifier: GPL-2.0
/*
 * Subnet management packets: directed and by LID, to the switch and through it, and what they
 * change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "cmd.h"
#include "fabric.h"
#include "forward.h"
#include "ib_packet.h"
#include "ifc.h"
#include "packet.h"
#include "port.h"
#include "profile.h"
#include "sma.h"
#include "subnetrig.h"
#include "switch.h"
#include "util.h"

enum { DOWN = 1, ACTIVE = 4, INIT = 5, LID = 6, PKEY = 7, GUID = 8, REREGISTER = 9 };

static uint8_t mad[MAD_BYTES];
static const uint8_t *const data = net.out + OFF_SMP_DATA;
static uint8_t *const to_set = mad + OFF_SMP_DATA;

static int managed(void **state)
{
	(void)state;
	net_up(true);
	return 0;
}

static int unmanaged(void **state)
{
	(void)state;
	net_up(false);
	return 0;
}

static int down(void **state)
{
	(void)state;
	net_down();
	return 0;
}

/* Send a request from HCA 0 to the switch by a directed route of one hop. Returns the status. */
static uint16_t at_switch(uint8_t method, uint16_t attr, uint32_t mod)
{
	static const uint8_t path[] = { 1 };
	uint8_t keep[SMP_DATA_BYTES];

	memcpy(keep, to_set, sizeof(keep));
	net_smp(mad, method, attr, mod);
	memcpy(to_set, keep, sizeof(keep));
	net_directed(mad, 1, path);
	net_send(0, 0, LID_PERMISSIVE, mad);
	assert_true(net_take(0));
	assert_false(net_take(0));
	assert_int_equal(net.out[OFF_METHOD], METHOD_GET_RESP);
	assert_int_equal(get_be64(net.out + OFF_TID), net.tid);
	assert_true(get_be16(net.out + OFF_STATUS) & MAD_STATUS_DIRECTION);
	return get_be16(net.out + OFF_STATUS) & ~MAD_STATUS_DIRECTION;
}

static uint16_t get_at_switch(uint16_t attr, uint32_t mod)
{
	memset(to_set, 0, SMP_DATA_BYTES);
	return at_switch(METHOD_GET, attr, mod);
}

/*
 * Send a request from HCA 0, by a directed route of two hops, through port 2 of the switch to the
 * firmware of HCA 1. Returns whether an answer arrives.
 */
static bool at_peer(uint8_t method, uint16_t attr, uint32_t mod, const uint8_t *attr_data)
{
	static const uint8_t path[] = { 1, 2 };

	net_smp(mad, method, attr, mod);
	net_directed(mad, 2, path);
	if (attr_data)
		memcpy(to_set, attr_data, SMP_DATA_BYTES);
	net_send(0, 0, LID_PERMISSIVE, mad);
	net_firmware(1);
	return net_take(0);
}

static void directed_route_to_the_switch(void **state)
{
	(void)state;
	assert_int_equal(get_at_switch(SMP_NODE_INFO, 0), 0);
	assert_int_equal(net.out_slid, LID_PERMISSIVE);
	assert_int_equal(net.out_dlid, LID_PERMISSIVE);
	assert_int_equal(net.out[OFF_HOP_POINTER], 1);	/* the host's SMI decrements it */
	assert_int_equal(net.out[OFF_RETURN_PATH + 1], 1);
	assert_int_equal(data[2], 2);
	assert_int_equal(data[3], SWITCH_PORTS);
	assert_true(get_be64(data + 12) == SWITCH_GUID);
	assert_int_equal(data[36], 1);			/* the port of ingress */
}

static void directed_route_through_the_switch(void **state)
{
	(void)state;
	assert_true(at_peer(METHOD_GET, SMP_NODE_INFO, 0, NULL));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION);
	assert_int_equal(net.out[OFF_HOP_POINTER], 1);
	assert_int_equal(net.out[OFF_RETURN_PATH + 1], 1);
	assert_int_equal(net.out[OFF_RETURN_PATH + 2], 1);
	assert_int_equal(get_be32(data), 0x01010101);	/* versions, type, ports */
	assert_true(get_be64(data + 4) == fabric_guid(net.hca[1]));
	assert_true(get_be64(data + 12) == fabric_guid(net.hca[1]));
	assert_true(get_be64(data + 20) == fabric_guid(net.hca[1]));
	assert_int_equal(get_be16(data + 28), 128);		/* P_Keys */
	assert_int_equal(get_be16(data + 30), 4119);
	assert_int_equal(get_be32(data + 32), 0);		/* revision */
	assert_int_equal(get_be32(data + 36), 0x010002c9);	/* port, vendor */
}

/* Both versions have to be those of the agent, at the switch (one hop) and at the host (two). */
static void other_versions_are_refused(void **state)
{
	static const unsigned int at[] = { OFF_VERSION, OFF_CLASS_VERSION };
	static const uint8_t methods[] = { METHOD_GET, METHOD_SET }, path[] = { 1, 2 };
	unsigned int i, hops;

	(void)state;
	for (i = 0; i < 4; i++)
		for (hops = 1; hops <= 2; hops++) {
			net_smp(mad, methods[i / 2], SMP_NODE_INFO, 0);
			mad[at[i % 2]] = 2;
			net_directed(mad, hops, path);
			net_send(0, 0, LID_PERMISSIVE, mad);
			net_firmware(1);
			assert_true(net_take(0));
			assert_int_equal(get_be16(net.out + OFF_STATUS),
					 MAD_STATUS_DIRECTION | MAD_BAD_VERSION);
		}
}

/* A host that has a queue pair 0 takes the request from its port, and sends the answer. */
static void host_answers_a_directed_route(void **state)
{
	static const uint8_t path[] = { 1, 3 };

	(void)state;
	net_smp(mad, METHOD_GET, SMP_NODE_INFO, 0);
	net_directed(mad, 2, path);
	net_send(0, 0, LID_PERMISSIVE, mad);
	assert_true(net_take(2));
	assert_int_equal(net.out[OFF_HOP_POINTER], 2);
	assert_int_equal(net.out[OFF_RETURN_PATH + 1], 1);
	memcpy(mad, net.out, MAD_BYTES);
	mad[OFF_RETURN_PATH + 2] = 1;
	mad[OFF_METHOD] = METHOD_GET_RESP;
	put_be16(mad + OFF_STATUS, MAD_STATUS_DIRECTION);
	net_send(2, 0, LID_PERMISSIVE, mad);
	assert_true(net_take(0));
	assert_int_equal(net.out[OFF_HOP_POINTER], 1);
	assert_false(net_take(1));
	assert_false(net_take(2));
}

/* A response whose return path ends at the switch goes on by LID, to the sender of the request. */
static void response_goes_on_by_lid_behind_its_return_path(void **state)
{
	static const uint8_t path[] = { 1 };

	(void)state;
	net_smp(mad, METHOD_GET_RESP, SMP_NODE_INFO, 0);
	net_directed(mad, 1, path);
	put_be16(mad + OFF_STATUS, MAD_STATUS_DIRECTION);
	put_be16(mad + OFF_DR_SLID, fabric_lid(net.hca[2]));
	net_send(0, 0, LID_PERMISSIVE, mad);
	assert_true(net_take(2));
	assert_int_equal(net.out_dlid, fabric_lid(net.hca[2]));
	assert_int_equal(net.out[OFF_HOP_POINTER], 0);
	assert_int_equal(get_be64(net.out + OFF_TID), net.tid);
}

/* Traps are for a subnet manager, which no HCA has. */
static void trap_to_an_hca_is_not_answered(void **state)
{
	(void)state;
	net_smp(mad, METHOD_TRAP, SMP_NOTICE, 0);
	net_send(0, 0, fabric_lid(net.hca[1]), mad);
	net_firmware(1);
	assert_false(net_take(0));
}

/* The port of HCA 2 is busy. Its number is the LID of HCA 0, which an answer is for. */
static void answer_by_lid_does_not_wait_for_the_port_of_this_number(void **state)
{
	struct packet *p;
	unsigned int i;

	(void)state;
	assert_true(fabric_set_lids(net.hca[2], 99, 0));
	assert_true(fabric_set_lids(net.hca[0], 3, 0));
	for (i = 0; i < 600; i++) {
		p = packet_alloc(net.fabric);
		p->opcode = BTH_UD | BTH_SEND_ONLY;
		ib_hdr(p)->dlid = 99;
		p->dqpn = 5;
		p->head.len = 0;
		fabric_tx(net.hca[1], p);
	}
	net_smp(mad, METHOD_GET, SMP_NODE_INFO, 0);
	net_send(0, 0, SWITCH_LID, mad);
	assert_true(net_take(0));
	assert_int_equal(net.out_dlid, 3);
}

static void wrong_routes_are_dropped(void **state)
{
	static const uint8_t paths[][3] = {
		{ 1, 0 }, { 1, 37 }, { 1, 255 }, { 1, 9 }, { 1, 2, 1 },
	};
	unsigned int i, h;

	(void)state;
	for (i = 0; i < 5; i++) {
		net_smp(mad, METHOD_GET, SMP_NODE_INFO, 0);
		net_directed(mad, i == 4 ? 3 : 2, paths[i]);
		net_send(0, 0, LID_PERMISSIVE, mad);
		net_firmware(1);	/* an HCA forwards nothing */
		for (h = 0; h < NET_HCAS; h++)
			assert_false(net_take(h));
	}
	for (i = 0; i < 256; i++) {	/* long paths, and pointers beyond the path's end */
		net_smp(mad, METHOD_SET, SMP_LINEAR_TABLE, 2);
		net_directed(mad, 2, paths[4]);
		mad[OFF_HOP_POINTER] = i;
		mad[OFF_HOP_COUNT] = i < 128 ? 64 + i : 2;
		mad[OFF_STATUS] = i % 2 ? 0x80 : 0;
		net_send(0, 0, LID_PERMISSIVE, mad);
		for (h = 0; h < NET_HCAS; h++)
			assert_false(net_take(h));
	}
	assert_int_equal(fabric_forward(net.fabric)->port[128], FORWARD_DROP);
	net_smp(mad, METHOD_GET, SMP_NODE_INFO, 0);
	net_send(0, 0, LID_PERMISSIVE, mad);	/* routed by LID, but no port has the LID */
	assert_false(net_take(0));
}

static void routes_by_lid(void **state)
{
	(void)state;
	net_smp(mad, METHOD_GET, SMP_NODE_INFO, 0);
	net_send(0, 0, SWITCH_LID, mad);
	assert_true(net_take(0));
	assert_int_equal(net.out_slid, SWITCH_LID);
	assert_int_equal(net.out_dlid, fabric_lid(net.hca[0]));
	assert_int_equal(get_be16(net.out + OFF_STATUS), 0);
	assert_int_equal(data[2], 2);
	net_send(0, 0, fabric_lid(net.hca[1]), mad);
	net_firmware(1);
	assert_true(net_take(0));
	assert_int_equal(net.out_slid, fabric_lid(net.hca[1]));
	assert_true(get_be64(data + 12) == fabric_guid(net.hca[1]));
	net_send(0, 0, 0x1234, mad);
	assert_false(net_take(0));
}

static void get_of_each_attribute_of_the_switch(void **state)
{
	(void)state;
	assert_int_equal(get_at_switch(SMP_NODE_DESC, 0), 0);
	assert_string_equal((const char *)data, "bluebell-hca switch");
	assert_int_equal(get_at_switch(SMP_SWITCH_INFO, 0), 0);
	assert_int_equal(get_be16(data), FORWARD_LIDS);
	assert_int_equal(get_be16(data + 4), FORWARD_MLIDS);
	assert_int_equal(get_at_switch(SMP_GUID_INFO, 0), 0);
	assert_true(get_be64(data) == SWITCH_GUID);
	assert_int_equal(get_at_switch(SMP_GUID_INFO, 1), MAD_BAD_VALUE);
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 0), 0);
	assert_int_equal(get_be16(data + 16), SWITCH_LID);
	assert_int_equal(get_be16(data + 18), SWITCH_LID);
	assert_int_equal(get_be32(data + 20) & 2, 2);	/* a subnet manager is here */
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 1), 0);
	assert_int_equal(data[32] & 15, PORT_ACTIVE);
	assert_int_equal(get_at_switch(SMP_PORT_INFO, SWITCH_PORTS), 0);
	assert_int_equal(data[32] & 15, PORT_DOWN);
	assert_int_equal(data[33] >> 4, 2);
	assert_int_equal(get_at_switch(SMP_PORT_INFO, SWITCH_PORTS + 1), MAD_BAD_VALUE);
	assert_int_equal(get_at_switch(SMP_PORT_INFO, SMP_MOD_EXT_SPEEDS | 1), 0);
	assert_int_equal(get_at_switch(SMP_PKEY_TABLE, 0), 0);
	assert_int_equal(get_be16(data), 0xffff);
	assert_int_equal(get_at_switch(SMP_PKEY_TABLE, 1), MAD_BAD_VALUE);
	assert_int_equal(get_at_switch(SMP_SL_TO_VL, 0x0102), 0);
	assert_int_equal(data[0], 0x01);
	assert_int_equal(get_at_switch(SMP_SL_TO_VL, 0x01ff), MAD_BAD_VALUE);
	assert_int_equal(get_at_switch(SMP_LINEAR_TABLE, 0), 0);
	assert_int_equal(data[1], 1);
	assert_int_equal(data[3], 3);
	assert_int_equal(data[4], FORWARD_DROP);
	assert_int_equal(get_at_switch(SMP_LINEAR_TABLE, 1), 0);
	assert_int_equal(data[0], 0);			/* SWITCH_LID */
	assert_int_equal(get_at_switch(SMP_LINEAR_TABLE, FORWARD_LIDS / 64 - 1), 0);
	assert_int_equal(get_at_switch(SMP_LINEAR_TABLE, FORWARD_LIDS / 64), MAD_BAD_VALUE);
	assert_int_equal(get_at_switch(SMP_LINEAR_TABLE, ~0u), MAD_BAD_VALUE);
	assert_int_equal(get_at_switch(SMP_MCAST_TABLE, 31 | 2u << 28), 0);
	assert_int_equal(get_at_switch(SMP_MCAST_TABLE, 32), MAD_BAD_VALUE);
	assert_int_equal(get_at_switch(SMP_MCAST_TABLE, 3u << 28), MAD_BAD_VALUE);
	assert_int_equal(get_at_switch(SMP_SM_INFO, 0), 0);
	assert_true(get_be64(data) == SWITCH_GUID);
	assert_true(get_be64(data + 8) == 1);
	assert_int_equal(data[20], 15 << 4 | 3);
	assert_int_equal(get_at_switch(0x1a, 0), MAD_BAD_ATTR);
	assert_int_equal(at_switch(METHOD_SET, SMP_NODE_DESC, 0), MAD_BAD_ATTR);
}

static void switch_tells_what_it_is(void **state)
{
	uint32_t count;

	(void)state;
	assert_int_equal(get_at_switch(SMP_NODE_INFO, 0), 0);
	assert_int_equal(data[0], 1);
	assert_int_equal(data[1], 1);
	assert_true(get_be64(data + 4) == SWITCH_GUID);
	assert_true(get_be64(data + 20) == SWITCH_GUID);
	assert_int_equal(get_be16(data + 28), SWITCH_PKEYS);
	assert_int_equal(get_be16(data + 30), 0xb1eb);
	assert_int_equal(get_be32(data + 36), 0x0102b1eb);	/* port, vendor */
	assert_int_equal(get_at_switch(SMP_SWITCH_INFO, 0), 0);
	assert_int_equal(data[16], 8);				/* enhanced port 0 */
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 1), 0);
	assert_int_equal(get_be16(data + 16), SWITCH_LID);
	assert_int_equal(data[28], 1);				/* the port of ingress */
	assert_int_equal(get_be32(data + 20), 0);
	assert_int_equal(get_at_switch(SMP_SM_INFO, 0), 0);
	count = get_be32(data + 16);
	assert_int_equal(get_at_switch(SMP_SM_INFO, 0), 0);
	assert_int_equal(get_be32(data + 16), count + 1);	/* the subnet manager lives */
}

static void switch_keeps_its_pkeys(void **state)
{
	unsigned int i;

	(void)state;
	memset(to_set, 0, SMP_DATA_BYTES);
	for (i = 0; i < SWITCH_PKEYS; i++)
		put_be16(to_set + 2 * i, 0x8000 | (i + 1));
	assert_int_equal(at_switch(METHOD_SET, SMP_PKEY_TABLE, 1), MAD_BAD_VALUE);
	assert_int_equal(at_switch(METHOD_SET, SMP_PKEY_TABLE, 0), 0);
	assert_int_equal(get_at_switch(SMP_PKEY_TABLE, 0), 0);
	for (i = 0; i < SWITCH_PKEYS; i++)
		assert_int_equal(get_be16(data + 2 * i), 0x8000 | (i + 1));
}

static void tables_of_the_switch_are_set(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 64; i++)
		to_set[i] = i;
	assert_int_equal(at_switch(METHOD_SET, SMP_LINEAR_TABLE, 2), 0);
	assert_int_equal(fabric_forward(net.fabric)->port[128 + 7], 7);
	assert_int_equal(at_switch(METHOD_SET, SMP_LINEAR_TABLE, FORWARD_LIDS / 64), MAD_BAD_VALUE);
	memset(to_set, 0xff, 64);
	assert_int_equal(at_switch(METHOD_SET, SMP_MCAST_TABLE, 1 | 2u << 28), 0);
	assert_true(fabric_forward(net.fabric)->members[32] == 0x1f00000000ull);
	assert_int_equal(get_be16(data), 0x1f);
	memset(to_set, 0, 64);
	put_be16(to_set, 0x0006);
	assert_int_equal(at_switch(METHOD_SET, SMP_MCAST_TABLE, 1), 0);
	assert_true(fabric_forward(net.fabric)->members[32] == 0x1f00000006ull);
	put_be16(to_set, 0x0008);
	assert_int_equal(at_switch(METHOD_SET, SMP_MCAST_TABLE, 1), 0);
	assert_true(fabric_forward(net.fabric)->members[32] == 0x1f00000008ull);
	memset(to_set, 0, 64);
	to_set[11] = 9 << 3 | 4;
	assert_int_equal(at_switch(METHOD_SET, SMP_SWITCH_INFO, 0), 0);
	assert_int_equal(data[11], 9 << 3);
}

/* Change the tops and the default ports in SwitchInfo. */
static uint16_t set_switch_info(uint16_t linear_top, uint16_t mcast_top, uint8_t primary,
				uint8_t other)
{
	memset(to_set, 0, SMP_DATA_BYTES);
	put_be16(to_set + 6, linear_top);
	to_set[8] = 3;			/* of a random table: without effect */
	to_set[9] = primary;
	to_set[10] = other;
	put_be16(to_set + 18, mcast_top);
	return at_switch(METHOD_SET, SMP_SWITCH_INFO, 0);
}

/* Send a packet from HCA @from to @dlid. Returns a bit for each HCA that receives it. */
static unsigned int receivers(unsigned int from, uint16_t dlid)
{
	unsigned int h, got = 0;

	net_sa(mad, METHOD_GET, 1, 0);
	net_send(from, 1, dlid, mad);
	for (h = 0; h < NET_HCAS; h++)
		got |= net_take(h) << h;
	return got;
}

static void lids_above_the_top_have_no_entry(void **state)
{
	(void)state;
	assert_int_equal(receivers(0, 3), 1 << 2);
	assert_int_equal(set_switch_info(2, 0, FORWARD_DROP, FORWARD_DROP), 0);
	assert_int_equal(get_be16(data + 6), 2);
	assert_int_equal(data[8], 3);
	assert_int_equal(receivers(0, 2), 1 << 1);
	assert_int_equal(receivers(0, 3), 0);
	assert_int_equal(set_switch_info(3, 0, FORWARD_DROP, FORWARD_DROP), 0);
	assert_int_equal(receivers(0, 3), 1 << 2);
}

static void multicast_without_an_entry_takes_the_default_ports(void **state)
{
	const uint16_t last = 0xc000 + FORWARD_MLIDS - 1;

	(void)state;
	fabric_forward(net.fabric)->members[0x123] = 1 << 3 | 1ull << 30;	/* 30: no link */
	assert_int_equal(get_at_switch(SMP_SWITCH_INFO, 0), 0);
	assert_int_equal(data[9], FORWARD_DROP);
	assert_int_equal(data[10], FORWARD_DROP);
	assert_int_equal(get_be16(data + 18), last);
	assert_int_equal(set_switch_info(3, 0xc122, 2, 3), 0);
	assert_int_equal(get_be16(data + 18), 0xc122);
	assert_int_equal(receivers(0, 0xc123), 1 << 1);
	assert_int_equal(receivers(1, 0xc123), 1 << 2);	/* came by the primary port */
	assert_int_equal(receivers(0, 0xc122), 0);	/* has an entry, without members */
	assert_int_equal(set_switch_info(3, 0xc123, 2, 3), 0);
	assert_int_equal(receivers(0, 0xc123), 1 << 2);
	assert_int_equal(set_switch_info(3, 0xbfff, 2, 3), 0);
	assert_int_equal(receivers(0, 0xc000), 1 << 1);
	assert_int_equal(set_switch_info(3, 0, 2, 3), 0);	/* 0: the whole table is used */
	assert_int_equal(receivers(0, 0xc123), 1 << 2);
	assert_int_equal(receivers(0, last + 1), 1 << 1);
	assert_int_equal(set_switch_info(3, 0, FORWARD_DROP, SWITCH_PORTS + 1), 0);
	assert_int_equal(receivers(0, last + 1), 0);
	assert_int_equal(set_switch_info(3, 0, 1, SWITCH_PORTS + 1), 0);
	assert_int_equal(receivers(0, last + 1), 0);
}

static void tops_beyond_the_tables_are_refused(void **state)
{
	static const uint16_t bad[][2] = {
		{ FORWARD_LIDS, 0 }, { 0xffff, 0 }, { 3, 1 }, { 3, 0xbffe },
		{ 3, 0xc000 + FORWARD_MLIDS },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(set_switch_info(bad[i][0], bad[i][1], 2, 3), MAD_BAD_VALUE);
	assert_int_equal(get_at_switch(SMP_SWITCH_INFO, 0), 0);
	assert_int_equal(get_be16(data + 6), FORWARD_LIDS - 1);
	assert_int_equal(get_be16(data + 18), 0xc000 + FORWARD_MLIDS - 1);
	assert_int_equal(data[9], FORWARD_DROP);
}

/* Each of the two priorities has 8 entries, in the first of its two blocks. */
static void ports_keep_vl_arbitration(void **state)
{
	static const uint8_t power_on[16] = { 0, 32, 1, 32, 2, 32, 3, 32 };
	uint8_t table[64], zero[48] = { 0 };
	struct port_attrs before;
	unsigned int i;

	(void)state;
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 2), 0);
	assert_int_equal(data[39], 8);
	assert_int_equal(data[40], 8);
	assert_int_equal(get_at_switch(SMP_VL_ARBITRATION, 1 << 16 | 2), 0);
	assert_memory_equal(data, power_on, sizeof(power_on));
	for (i = 0; i < sizeof(table); i++)
		table[i] = 0x10 + i;
	memcpy(to_set, table, sizeof(table));
	assert_int_equal(at_switch(METHOD_SET, SMP_VL_ARBITRATION, 3 << 16 | 2), 0);
	for (i = 0; i < sizeof(table); i += 2)
		table[i] &= 0xf;		/* the other bits are reserved */
	assert_memory_equal(data, table, 16);
	assert_memory_equal(data + 16, zero, sizeof(zero));
	assert_int_equal(get_at_switch(SMP_VL_ARBITRATION, 1 << 16 | 2), 0);
	assert_memory_equal(data, power_on, sizeof(power_on));
	assert_int_equal(get_at_switch(SMP_VL_ARBITRATION, 3 << 16 | 3), 0);
	assert_memory_equal(data, zero, sizeof(zero));
	for (i = 0; i < 6; i++)
		assert_int_equal(get_at_switch(SMP_VL_ARBITRATION, i << 16),
				 i == 1 || i == 3 ? 0 : MAD_BAD_VALUE);
	assert_int_equal(get_at_switch(SMP_VL_ARBITRATION, 1 << 16 | (SWITCH_PORTS + 1)),
			 MAD_BAD_VALUE);
	assert_int_equal(at_switch(METHOD_SET, SMP_VL_ARBITRATION, 2 << 16), MAD_BAD_VALUE);
	assert_true(at_peer(METHOD_SET, SMP_VL_ARBITRATION, 1 << 16, table));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION);
	assert_memory_equal(data, table, 16);
	assert_memory_equal(data + 16, zero, sizeof(zero));
	memcpy(&before, &net.hca[1]->port->attrs, sizeof(before));
	assert_true(at_peer(METHOD_SET, SMP_VL_ARBITRATION, 4 << 16, table));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION | MAD_BAD_VALUE);
	assert_memory_equal(&net.hca[1]->port->attrs, &before, sizeof(before));
	hca_reset(net.hca[1]);
	assert_true(at_peer(METHOD_GET, SMP_VL_ARBITRATION, 1 << 16, NULL));
	assert_memory_equal(data, power_on, sizeof(power_on));
}

/* Put into @info the PortInfo of the second HCA, such that a Set of it changes nothing. */
static void peer_info(uint8_t info[64])
{
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	memcpy(info, data, 64);
	info[32] = 0;
	info[33] = 0;
}

static void set_port_info_changes_the_port_and_raises_events(void **state)
{
	uint8_t info[64], gid[16];

	(void)state;
	peer_info(info);
	assert_int_equal(get_be16(info + 16), fabric_lid(net.hca[1]));
	/* The same values, from a subnet manager that knows extended speeds. */
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, SMP_MOD_EXT_SPEEDS | 1, info));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION);
	assert_int_equal(net.events[1], 0);
	put_be16(info + 16, 0x77);
	put_be16(info + 18, 0x33);
	put_be64(info + 8, 0xfec0ull << 48);
	info[51] = 0x80 | 17;
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION);
	assert_int_equal(get_be16(data + 16), 0x77);
	assert_int_equal(data[51], 17);
	assert_int_equal(net.events[1], 3);
	assert_int_equal(net.event[1][0], LID);
	assert_int_equal(net.event[1][1], GUID);
	assert_int_equal(net.event[1][2], REREGISTER);
	assert_int_equal(fabric_lid(net.hca[1]), 0x77);
	assert_int_equal(net.hca[1]->port->attrs.sm_lid, 0x33);
	assert_int_equal(fabric_forward(net.fabric)->port[0x77], 2);
	assert_int_equal(net.events[0] + net.events[2], 0);
	put_be16(info + 16, 0x78);
	info[34] |= 1;
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(data[34] & 7, 1);
	assert_int_equal(fabric_lmc(net.hca[1]), 1);
	hca_reset(net.hca[1]);
	gid_get(net.hca[1], 0, gid);
	assert_true(get_be64(gid) == 0xfe80ull << 48);
}

/* Set each value that a subnet manager sets in PortInfo, and then values that change none. */
static void port_info_is_kept_as_it_was_set(void **state)
{
	uint8_t info[64], want[64];

	(void)state;
	peer_info(info);
	memcpy(want, data, sizeof(want));
	put_be64(info + 8, 0xfec0ull << 48);	/* subnet prefix */
	put_be16(info + 18, 0x33);		/* subnet manager */
	put_be16(info + 26, 77);		/* lease of the M_Key */
	info[29] = 1;				/* widths */
	info[33] = 1;				/* the state after down */
	info[34] = 1 << 6;			/* protection by the M_Key */
	info[35] = 3;				/* speeds */
	info[36] = 4 << 4 | 9;			/* MTU, SL of the subnet manager */
	info[38] = 0x21;			/* limit of high priority */
	info[42] = 0x13;			/* lifetime at the head of a queue */
	info[43] = 2 << 4;			/* virtual lanes */
	info[51] = 1 << 5 | 19;			/* no traps of multicast P_Keys, subnet time-out */
	info[53] = 0x45;			/* error thresholds */
	info[63] = 1;				/* extended speeds */
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION);
	memcpy(want + 8, info + 8, 8);
	memcpy(want + 18, info + 18, 2);
	memcpy(want + 26, info + 26, 2);
	want[29] = 1;
	want[33] = 5 << 4 | 1;			/* the link is up */
	want[34] = 1 << 6;
	want[35] = 4 << 4 | 3;			/* QDR is active */
	want[36] = 4 << 4 | 9;
	want[38] = 0x21;
	want[42] = 0x13;
	want[43] = 2 << 4;
	want[51] = 1 << 5 | 19;
	want[53] = 0x45;
	want[63] = 1;
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	assert_memory_equal(data, want, sizeof(want));
	memcpy(info, want, sizeof(info));
	info[29] = 255;
	info[32] = 0;
	info[33] = 0;
	info[35] = 15;
	info[36] = 9;
	info[43] = 0;
	info[63] = 31;
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION);
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	assert_memory_equal(data, want, sizeof(want));
}

/* A port announces with bit 29 of its capability mask that it can suppress these traps. */
static void traps_of_multicast_pkeys_are_suppressed_where_announced(void **state)
{
	uint8_t info[64];

	(void)state;
	peer_info(info);
	info[51] = 2 << 5 | 18;
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION);
	assert_int_equal(data[51], 2 << 5 | 18);
	info[51] = 18;
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(data[51], 18);
	net.hca[1]->port->cap_mask1 &= ~(1u << 29);
	info[51] = 2 << 5 | 18;
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION);
	assert_int_equal(data[51], 18);
}

/* Send a packet of @len bytes with service level @sl. Returns whether it arrives. */
static bool arrives_by(unsigned int from, unsigned int to, unsigned int len, uint8_t sl)
{
	struct packet *p = packet_alloc(net.fabric);

	assert_non_null(p);
	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = fabric_lid(net.hca[from]);
	ib_hdr(p)->dlid = fabric_lid(net.hca[to]);
	ib_hdr(p)->sl = sl;
	p->pkey = 0xffff;
	p->dqpn = 1;
	p->head.len = len;
	fabric_tx(net.hca[from], p);
	return net_take(to);
}

static bool arrives(unsigned int from, unsigned int to, unsigned int len)
{
	return arrives_by(from, to, len, 0);
}

/* Each end of a link drops a packet whose SL its table maps to a lane that the link lacks. */
static void service_level_without_a_lane_is_dropped(void **state)
{
	uint64_t sent = net.hca[1]->count.packets_dropped, got = net.hca[0]->count.packets_dropped;
	uint8_t table[64] = { 0x01, 0x23, 0x0f, 0x43 };		/* SL 5: lane 15, SL 6: lane 4 */

	(void)state;
	assert_true(arrives_by(1, 0, 8, 5));
	assert_true(at_peer(METHOD_SET, SMP_SL_TO_VL, 0, table));
	assert_memory_equal(data, table, 8);
	assert_false(arrives_by(1, 0, 8, 5));
	assert_false(arrives_by(1, 0, 8, 6));
	assert_int_equal(net.hca[1]->count.packets_dropped, sent + 2);
	assert_true(arrives_by(1, 0, 8, 7));
	assert_true(arrives_by(0, 1, 8, 5));
	assert_int_equal(net.hca[0]->count.packets_dropped, got);
	memset(to_set, 0x11, SMP_DATA_BYTES);
	to_set[3] = 0x1f;					/* SL 7 */
	assert_int_equal(at_switch(METHOD_SET, SMP_SL_TO_VL, 0x0201), 0);
	assert_int_equal(data[3], 0x1f);
	assert_false(arrives_by(1, 0, 8, 7));
	assert_int_equal(net.hca[0]->count.packets_dropped, got + 1);
	assert_true(arrives_by(1, 2, 8, 7));
	hca_reset(net.hca[1]);
	assert_true(arrives_by(1, 0, 8, 5));
}

static uint16_t port_mtu_register(struct hca *hca)
{
	uint8_t in[IFC_SZ(pmtu_reg)] = { [1] = 1 }, out[IFC_SZ(pmtu_reg)] = { 0 };
	struct cmd cmd = { 0 };

	assert_int_equal(port_access_reg(hca, &cmd, 0x5003, false, in, out, sizeof(in)), ST_OK);
	assert_int_equal(IFC_GET(pmtu_reg, out, max_mtu), 4096);
	return IFC_GET(pmtu_reg, out, oper_mtu);
}

/* Each end of a link discards, instead of sending, packets longer than its NeighborMTU. */
static void packets_longer_than_the_neighbour_mtu_are_discarded(void **state)
{
	uint64_t dropped = net.hca[1]->count.packets_dropped;
	uint8_t info[64];

	(void)state;
	assert_true(arrives(1, 0, 4096));
	peer_info(info);
	info[36] = 4 << 4;		/* 2048 bytes */
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION);
	assert_int_equal(port_mtu_register(net.hca[1]), 2048);
	assert_int_equal(port_mtu_register(net.hca[0]), 4096);
	assert_true(arrives(1, 0, 2048));
	assert_false(arrives(1, 0, 2049));
	assert_int_equal(net.hca[1]->count.packets_dropped, dropped + 1);
	assert_true(arrives(0, 1, 4096));
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 2), 0);
	memcpy(to_set, data, SMP_DATA_BYTES);
	to_set[32] = 0;
	to_set[33] = 0;
	to_set[36] = 3 << 4;		/* 1024 bytes */
	assert_int_equal(at_switch(METHOD_SET, SMP_PORT_INFO, 2), 0);
	assert_true(arrives(0, 1, 1024));
	assert_false(arrives(0, 1, 1025));
	assert_true(arrives(0, 2, 4096));
	assert_true(arrives(1, 0, 2048));
	hca_reset(net.hca[1]);
	assert_int_equal(port_mtu_register(net.hca[1]), 4096);
}

static void invalid_port_info_changes_nothing(void **state)
{
	static const struct { uint8_t at, val; } bad[] = {
		{ 16, 0xc0 }, { 18, 0xff }, { 17, 1 }, { 33, 0x40 }, { 36, 0x60 }, { 43, 0x50 },
		{ 29, 4 }, { 35, 8 }, { 63, 8 }, { 32, 5 },
	};
	uint8_t info[64], now[64], before[64];
	unsigned int i;

	(void)state;
	peer_info(info);
	memcpy(before, data, sizeof(before));
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		memcpy(now, info, sizeof(now));
		now[bad[i].at] = bad[i].val;
		now[51] = 3;
		assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, now));
		assert_int_equal(get_be16(net.out + OFF_STATUS),
				 MAD_STATUS_DIRECTION | MAD_BAD_VALUE);
		assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
		assert_memory_equal(data, before, sizeof(before));
	}
	info[51] = 3;
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 2, info));	/* it has one port */
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION | MAD_BAD_VALUE);
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	assert_memory_equal(data, before, sizeof(before));
	assert_int_equal(net.events[1], 0);
}

static void port_that_is_set_down_trains_again(void **state)
{
	(void)state;
	port_set_state(net.hca[1], PORT_DOWN);
	assert_int_equal(fabric_state(net.hca[1], false), PORT_ACTIVE);
	assert_int_equal(net.events[1], 3);
	assert_int_equal(net.event[1][0], DOWN);
	assert_int_equal(net.event[1][1], LID);
	assert_int_equal(net.event[1][2], ACTIVE);
}

/* Let the link to the second HCA have another speed. */
static void peer_has_speed(enum link_speed speed)
{
	static struct profile other;

	other = *net.hca[0]->profile;
	other.link_speed = speed;
	net.hca[1]->profile = &other;
}

static void speeds_that_a_port_lacks_cannot_be_enabled(void **state)
{
	static const struct { enum link_speed speed; uint8_t has, lacks; } t[] = {
		{ SPEED_EDR, 6, 8 }, { SPEED_HDR, 5, 2 }, { SPEED_NDR, 1, 4 },
	};
	uint8_t info[64];
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		peer_has_speed(t[i].speed);
		peer_info(info);
		info[35] = t[i].has;
		assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
		assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION);
		assert_int_equal(data[35] & 15, t[i].has);
		info[35] = t[i].lacks;
		assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
		assert_int_equal(get_be16(net.out + OFF_STATUS),
				 MAD_STATUS_DIRECTION | MAD_BAD_VALUE);
	}
}

/* The switch's end of an NDR link can have QDR, unlike the other end. */
static void ports_of_the_switch_have_the_speeds_of_a_switch(void **state)
{
	(void)state;
	peer_has_speed(SPEED_NDR);
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 2), 0);
	assert_int_equal(data[32] >> 4, 5);
	assert_int_equal(data[35], 4 << 4 | 5);
	assert_int_equal(data[62], SPEED_NDR << 4 | 15);
	peer_has_speed(SPEED_HDR);
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 2), 0);
	assert_int_equal(data[35], 4 << 4 | 5);
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 1), 0);		/* EDR */
	assert_int_equal(data[32] >> 4, 7);
	assert_int_equal(data[35], 4 << 4 | 7);
}

static void tables_of_an_hca_are_set(void **state)
{
	uint8_t table[64] = { 0xff, 0xff, 0x80, 0x09 }, gid[16];

	(void)state;
	assert_true(at_peer(METHOD_SET, SMP_PKEY_TABLE, 0, table));
	assert_int_equal(pkey_table_get(net.hca[1], 1), 0x8009);
	assert_int_equal(net.events[1], 1);
	assert_int_equal(net.event[1][0], PKEY);
	assert_true(at_peer(METHOD_SET, SMP_PKEY_TABLE, 0, table));
	assert_int_equal(net.events[1], 1);
	assert_true(at_peer(METHOD_SET, SMP_PKEY_TABLE, 4, table));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION | MAD_BAD_VALUE);
	memset(table, 0, sizeof(table));
	put_be64(table + 16, 0x1111);
	assert_true(at_peer(METHOD_SET, SMP_GUID_INFO, 0, table));
	assert_int_equal(net.event[1][1], GUID);
	assert_int_equal(net.events[1], 2);
	assert_true(gid_get(net.hca[1], 0, gid));		/* GID 0 stays */
	assert_false(gid_get(net.hca[1], 1, gid));
	assert_true(gid_get(net.hca[1], 2, gid));
	assert_true(gid_is_ours(net.hca[1], gid));
	gid[0] ^= 1;					/* another subnet prefix */
	assert_false(gid_is_ours(net.hca[1], gid));
	gid[0] ^= 1;
	put_be64(gid + 8, 0);				/* as in the entries that are not used */
	assert_false(gid_is_ours(net.hca[1], gid));
	assert_true(at_peer(METHOD_GET, SMP_GUID_INFO, 0, NULL));
	assert_true(get_be64(data) == fabric_guid(net.hca[1]));
	assert_true(get_be64(data + 16) == 0x1111);
	assert_true(at_peer(METHOD_SET, SMP_GUID_INFO, 1, table));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION | MAD_BAD_VALUE);
	assert_true(at_peer(METHOD_SET, SMP_NODE_DESC, 0, table));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION | MAD_BAD_ATTR);
}

static void m_key_protects_a_port(void **state)
{
	struct port_attrs *a = &net.hca[1]->port->attrs;
	uint64_t expiry;
	uint8_t info[64];

	(void)state;
	peer_info(info);
	put_be64(info, 0x5ec2e7);
	put_be16(info + 26, 1);				/* a lease of a second */
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	assert_true(get_be64(data) == 0x5ec2e7);	/* no protection: it can be read */
	assert_false(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(a->m_key_violations, 1);
	expiry = a->m_key_expiry_ns;
	assert_true(expiry);
	a->m_key_protect = 1;
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	assert_true(get_be64(data) == 0);
	a->m_key_protect = 2;
	assert_false(at_peer(METHOD_GET, SMP_NODE_INFO, 0, NULL));
	assert_int_equal(a->m_key_violations, 2);
	assert_true(a->m_key_expiry_ns == expiry);
	a->m_key_expiry_ns = 1;				/* long ago */
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	assert_true(get_be64(data) == 0x5ec2e7);
	assert_int_equal(a->m_key_protect, 0);
	net_smp(mad, METHOD_SET, SMP_PORT_INFO, 1);
	put_be64(mad + OFF_M_KEY, 0x5ec2e7);
	put_be64(info, 0);
	memcpy(to_set, info, sizeof(info));
	net_send(0, 0, fabric_lid(net.hca[1]), mad);
	net_firmware(1);
	assert_true(net_take(0));
	assert_true(a->m_key == 0);
	assert_int_equal(a->m_key_violations, 0);	/* as the request sets it */
}

static void switch_disables_and_bounces_a_link(void **state)
{
	uint8_t info[64];

	(void)state;
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 2), 0);
	memcpy(info, data, sizeof(info));
	memcpy(to_set, info, sizeof(info));
	to_set[33] = 3 << 4 | 2;
	assert_int_equal(at_switch(METHOD_SET, SMP_PORT_INFO, 2), 0);
	assert_int_equal(data[32] & 15, PORT_DOWN);
	assert_int_equal(data[33] >> 4, 3);
	assert_false(fabric_link(net.hca[1]));
	assert_int_equal(net.event[1][0], DOWN);
	assert_int_equal(get_at_switch(SMP_SWITCH_INFO, 0), 0);
	assert_int_equal(data[11] & 4, 4);
	memcpy(to_set, info, sizeof(info));
	to_set[33] = 2 << 4 | 2;
	to_set[32] &= 0xf0;
	assert_int_equal(at_switch(METHOD_SET, SMP_PORT_INFO, 2), 0);
	assert_true(fabric_link(net.hca[1]));
	net.events[1] = 0;
	memcpy(to_set, info, sizeof(info));
	to_set[33] = 2;
	to_set[32] = PORT_DOWN;
	assert_int_equal(at_switch(METHOD_SET, SMP_PORT_INFO, 2), 0);
	assert_int_equal(net.events[1], 3);
	assert_int_equal(net.event[1][0], DOWN);
	assert_int_equal(net.event[1][2], ACTIVE);
}

/* The subnet manager of a managed subnet is at the switch, which has no host's LID. */
static void switch_has_a_lid_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 0), 0);
	memcpy(to_set, data, 64);
	to_set[32] = to_set[33] = 0;
	put_be16(to_set + 16, fabric_lid(net.hca[1]));
	assert_int_equal(at_switch(METHOD_SET, SMP_PORT_INFO, 0), MAD_BAD_VALUE);
	put_be16(to_set + 16, 77);
	assert_int_equal(at_switch(METHOD_SET, SMP_PORT_INFO, 0), 0);
	assert_int_equal(get_be16(data + 16), 77);
	net_smp(mad, METHOD_GET, SMP_NODE_INFO, 0);
	net_send(0, 0, 77, mad);
	assert_true(net_take(0));
	assert_int_equal(net.out_slid, 77);
}

/* The external ports of a switch have no use for the subnet time-out. */
static void subnet_manager_has_set_the_subnet_timeout(void **state)
{
	(void)state;
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	assert_int_equal(data[51], 18);
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 0), 0);
	assert_int_equal(data[51], 18);
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 1), 0);
	assert_int_equal(data[51], 0);
	hca_reset(net.hca[1]);
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	assert_int_equal(data[51], 18);
}

/* The values are those of opensm. Port 0 of the switch has no link. */
static void subnet_manager_has_set_the_thresholds_of_errors(void **state)
{
	(void)state;
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	assert_int_equal(data[53], 0x88);
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 1), 0);
	assert_int_equal(data[53], 0x88);
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 0), 0);
	assert_int_equal(data[53], 0);
	hca_reset(net.hca[1]);
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	assert_int_equal(data[53], 0x88);
}

static void thresholds_of_errors_are_0_until_a_subnet_manager_sets_them(void **state)
{
	uint8_t info[64];

	(void)state;
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	assert_int_equal(data[53], 0);
	memcpy(info, data, sizeof(info));
	put_be16(info + 16, 12);
	put_be16(info + 18, 11);
	info[32] = info[33] = 0;
	info[53] = 0x77;
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(data[53], 0x77);
}

static void subnet_timeout_is_0_until_a_subnet_manager_sets_it(void **state)
{
	uint8_t info[64];

	(void)state;
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 0), 0);
	assert_int_equal(data[51], 0);
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	assert_int_equal(data[51], 0);
	memcpy(info, data, sizeof(info));
	put_be16(info + 16, 12);
	put_be16(info + 18, 11);
	info[32] = info[33] = 0;
	info[51] = 17;
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(data[51], 17);
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	assert_int_equal(data[51], 17);
}

static void unmanaged_ports_wait_for_a_subnet_manager(void **state)
{
	uint8_t info[64];
	unsigned int port;

	(void)state;
	/* A port has one HCA, even if it has no LID yet. */
	assert_null(hca_create(net.hca[1]->board, net.base, net.fabric, net.hca[1]->profile, 1));
	assert_int_equal(fabric_lid(net.hca[1]), 0);
	assert_int_equal(fabric_state(net.hca[1], false), PORT_INIT);
	assert_int_equal(get_at_switch(SMP_SM_INFO, 0), MAD_BAD_ATTR);
	assert_int_equal(get_at_switch(SMP_PORT_INFO, 0), 0);
	memcpy(to_set, data, 64);
	put_be16(to_set + 16, 9);
	put_be16(to_set + 18, 11);
	to_set[32] = to_set[33] = 0;
	assert_int_equal(at_switch(METHOD_SET, SMP_PORT_INFO, 0), 0);
	assert_int_equal(data[32] & 15, PORT_INIT);
	for (port = PORT_ARMED; port <= PORT_ACTIVE; port++) {
		to_set[32] = port;
		assert_int_equal(at_switch(METHOD_SET, SMP_PORT_INFO, 0), 0);
		assert_int_equal(data[32] & 15, port);
	}
	assert_true(at_peer(METHOD_GET, SMP_PORT_INFO, 1, NULL));
	memcpy(info, data, sizeof(info));
	put_be16(info + 16, 12);
	put_be16(info + 18, 11);
	info[33] = 0;
	info[32] = PORT_ACTIVE;
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION | MAD_BAD_VALUE);
	info[32] = PORT_ARMED;
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	info[32] = PORT_ACTIVE;
	assert_true(at_peer(METHOD_SET, SMP_PORT_INFO, 1, info));
	assert_int_equal(get_be16(net.out + OFF_STATUS), MAD_STATUS_DIRECTION);
	assert_int_equal(net.events[1], 2);
	assert_int_equal(net.event[1][0], LID);
	assert_int_equal(net.event[1][1], ACTIVE);
	assert_int_equal(fabric_forward(net.fabric)->port[12], FORWARD_DROP);	/* not set yet */
	memset(to_set, 0xff, 64);
	to_set[9] = 0;
	to_set[11] = 1;
	to_set[12] = 2;
	assert_int_equal(at_switch(METHOD_SET, SMP_LINEAR_TABLE, 0), 0);
	assert_int_equal(set_switch_info(12, 0, FORWARD_DROP, FORWARD_DROP), 0);
	/* The switch's end of the link is not active yet: only subnet management packets pass. */
	fabric_set_lids(net.hca[0], 11, 0);
	fabric_set_state(net.hca[0], false, PORT_ACTIVE);
	fabric_set_state(net.hca[0], true, PORT_ACTIVE);
	net_sa(mad, 1, 1, 0);
	net_send(0, 1, 12, mad);
	assert_false(net_take(1));
	for (port = PORT_ARMED; port <= PORT_ACTIVE; port++) {
		memset(to_set, 0, 64);
		to_set[32] = port;
		assert_int_equal(at_switch(METHOD_SET, SMP_PORT_INFO, 2), 0);
	}
	net_send(0, 1, 12, mad);
	assert_true(net_take(1));
	/* One trap tells the subnet manager that a link went down, another that it is up. */
	port_set_link(net.hca[1], false);
	assert_true(net_take(0));
	assert_int_equal(net.out[OFF_METHOD], METHOD_TRAP);
	assert_int_equal(get_be16(data + 4), 128);
	assert_int_equal(get_be16(data + 6), 9);
	assert_false(net_take(0));
	port_set_link(net.hca[1], true);
	assert_true(net_take(0));
	assert_int_equal(net.out[OFF_METHOD], METHOD_TRAP);
	assert_false(net_take(0));
	assert_int_equal(fabric_state(net.hca[1], false), PORT_INIT);
	assert_int_equal(net.event[1][net.events[1] - 1], INIT);
}

static void firmware_answers_no_garbage(void **state)
{
	unsigned int i, n;

	(void)state;
	srand(1);
	for (n = 0; n < 20000; n++) {
		for (i = 0; i < MAD_BYTES; i++)
			mad[i] = rand();
		if (n % 4)
			net_smp(mad, mad[3] & 7, mad[17] & 0x3f, rand() % 3 ? rand() % 40 : rand());
		if (n % 2) {
			mad[OFF_CLASS] = CLASS_SM_DIRECTED;
			mad[OFF_HOP_POINTER] = rand() % 4;
			mad[OFF_HOP_COUNT] = rand() % 4;
			put_be32(mad + OFF_DR_SLID, rand() % 2 ? ~0u : (uint32_t)rand());
			mad[OFF_INITIAL_PATH + 1] = rand() % 40;
			mad[OFF_INITIAL_PATH + 2] = rand() % 5;
			mad[OFF_RETURN_PATH + 1] = rand() % 40;
		}
		for (i = OFF_SMP_DATA; i < OFF_SMP_DATA + 64; i++)
			mad[i] = rand() % 8 ? 0 : rand();
		net_send(n % NET_HCAS, 0, n % 2 ? LID_PERMISSIVE : SWITCH_LID, mad);
		for (i = 0; i < NET_HCAS; i++)
			net_firmware(i);
	}
}

#define M(fn) cmocka_unit_test_setup_teardown(fn, managed, down)
#define U(fn) cmocka_unit_test_setup_teardown(fn, unmanaged, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		M(directed_route_to_the_switch), M(directed_route_through_the_switch),
		M(host_answers_a_directed_route), M(other_versions_are_refused),
		M(response_goes_on_by_lid_behind_its_return_path),
		M(trap_to_an_hca_is_not_answered),
		M(answer_by_lid_does_not_wait_for_the_port_of_this_number),
		M(wrong_routes_are_dropped), M(routes_by_lid),
		M(get_of_each_attribute_of_the_switch), M(tables_of_the_switch_are_set),
		M(switch_tells_what_it_is), M(switch_keeps_its_pkeys),
		M(lids_above_the_top_have_no_entry),
		M(multicast_without_an_entry_takes_the_default_ports),
		M(tops_beyond_the_tables_are_refused), M(ports_keep_vl_arbitration),
		M(set_port_info_changes_the_port_and_raises_events),
		M(port_info_is_kept_as_it_was_set),
		M(traps_of_multicast_pkeys_are_suppressed_where_announced),
		M(packets_longer_than_the_neighbour_mtu_are_discarded),
		M(service_level_without_a_lane_is_dropped),
		M(invalid_port_info_changes_nothing), M(port_that_is_set_down_trains_again),
		M(tables_of_an_hca_are_set),
		M(speeds_that_a_port_lacks_cannot_be_enabled),
		M(ports_of_the_switch_have_the_speeds_of_a_switch),
		M(m_key_protects_a_port), M(switch_disables_and_bounces_a_link),
		M(switch_has_a_lid_of_its_own),
		M(subnet_manager_has_set_the_subnet_timeout),
		U(subnet_timeout_is_0_until_a_subnet_manager_sets_it),
		M(subnet_manager_has_set_the_thresholds_of_errors),
		U(thresholds_of_errors_are_0_until_a_subnet_manager_sets_them),
		U(unmanaged_ports_wait_for_a_subnet_manager), M(firmware_answers_no_garbage),
	};

	return cmocka_run_group_tests_name("smp", tests, NULL, NULL);
}
