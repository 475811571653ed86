// SPDX-License-Identifier: GPL-2.0
/*
 * The Ethernet port: its link and the events, its registers, and what it counts.
 */
#include "ethrig.h"

#include <string.h>

#include "eth_proto.h"
#include "fabric.h"
#include "impair.h"
#include "profile.h"

#define REG_PMLP	0x5002
#define REG_PMTU	0x5003
#define REG_PTYS	0x5004
#define REG_PAOS	0x5006
#define REG_PFCC	0x5007
#define REG_PPCNT	0x5008
#define REG_MCIA	0x9014
#define DOWN		1	/* subtypes of the event */
#define ACTIVE		4

static uint8_t reg[256];

static uint8_t *clean(void)
{
	memset(reg, 0, sizeof(reg));
	reg[1] = 1;		/* the local port */
	return reg;
}

/* ---- link ------------------------------------------------------------------------------------ */

static uint8_t set_admin(unsigned int h, unsigned int status, bool ase)
{
	IFC_SET(paos_reg, clean(), admin_status, status);
	IFC_SET(paos_reg, reg, ase, ase);
	return lan_reg(h, REG_PAOS, true, reg, IFC_SZ(paos_reg));
}

static void expect_paos(unsigned int admin, unsigned int oper)
{
	assert_int_equal(lan_reg(0, REG_PAOS, false, clean(), IFC_SZ(paos_reg)), ST_OK);
	assert_int_equal(IFC_GET(paos_reg, reg, admin_status), admin);
	assert_int_equal(IFC_GET(paos_reg, reg, oper_status), oper);
}

/* The state of the vport has to agree with the event, or the driver's carrier is wrong for good. */
static void expect_vport(bool up)
{
	uint8_t in[IFC_SZ(query_vport_state_in)] = {};

	assert_int_equal(lan_cmd(MLX5_CMD_OP_QUERY_VPORT_STATE, 0, in, sizeof(in),
				 IFC_SZ(query_vport_state_out)), ST_OK);
	assert_int_equal(IFC_GET(query_vport_state_out, lan.out, state), up);
	assert_int_equal(IFC_GET(query_vport_state_out, lan.out, max_tx_speed), 10);
}

static void the_driver_takes_the_port_down_and_up(void **state)
{
	(void)state;
	expect_paos(1, 1);
	expect_vport(true);
	assert_int_equal(set_admin(0, 2, true), ST_OK);
	expect_paos(2, 2);
	expect_vport(false);
	assert_int_equal(lan.events[0], 1);
	assert_int_equal(lan.event[0][0], DOWN);
	assert_int_equal(set_admin(0, 1, true), ST_OK);
	expect_paos(1, 1);
	expect_vport(true);
	assert_int_equal(lan.events[0], 2);
	assert_int_equal(lan.event[0][1], ACTIVE);
	/* No change, no event. */
	assert_int_equal(set_admin(0, 1, true), ST_OK);
	assert_int_equal(lan.events[0], 2);
	/* Without ase the register sets nothing. */
	assert_int_equal(set_admin(0, 2, false), ST_OK);
	expect_paos(1, 1);
}

static void a_link_needs_cable_and_driver(void **state)
{
	(void)state;
	eth_set_link(lan.hca[0], false);
	expect_paos(1, 2);
	expect_vport(false);
	set_admin(0, 2, true);
	eth_set_link(lan.hca[0], true);
	expect_paos(2, 2);
	assert_int_equal(lan.events[0], 1);
	set_admin(0, 1, true);
	expect_paos(1, 1);
	assert_int_equal(lan.events[0], 2);
	assert_int_equal(lan.hca[0]->count.link_downed, 1);
}

static void nothing_passes_a_link_that_is_down(void **state)
{
	(void)state;
	lan_send(0, BROADCAST, MAC(0), 60);
	set_admin(1, 2, true);
	assert_int_equal(lan_count(1), 0);
	lan_send(0, BROADCAST, MAC(0), 60);
	set_admin(1, 1, true);
	assert_int_equal(lan_count(1), 0);
	set_admin(0, 2, true);
	lan_send(0, BROADCAST, MAC(0), 60);
	assert_int_equal(lan.hca[0]->eth->stats.tx_link_down, 1);
	assert_int_equal(lan_count(1), 0);
	assert_int_equal(eth_sum(lan.hca[0]->eth->stats.vport_tx.frames), 2);
}

/* A reset of the device is that of the driver's settings: the cable stays as it is. */
static void a_reset_brings_the_defaults_back(void **state)
{
	struct eth_port *port = lan.hca[0]->eth;

	(void)state;
	set_admin(0, 2, true);
	port->mtu = 9000;
	port->pause_rx = true;
	port->vport.promisc_all = true;
	port->vport.list[ETH_LIST_UC].n = 0;
	port->vport.min_inline = 3;
	lan.profile->min_wqe_inline_mode = 2;
	hca_reset(lan.hca[0]);
	assert_int_equal(port->vport.min_inline, 2);
	expect_paos(1, 1);
	assert_int_equal(port->mtu, ETH_MTU_DEFAULT);
	assert_false(port->pause_rx);
	assert_false(port->vport.promisc_all);
	assert_true(eth_list_has(&port->vport.list[ETH_LIST_UC], MAC(0)));
	eth_set_link(lan.hca[0], false);
	hca_reset(lan.hca[0]);
	expect_paos(1, 2);
}

/* ---- registers ------------------------------------------------------------------------------- */

static void mtu_limits_frames_in_both_directions(void **state)
{
	(void)state;
	assert_int_equal(lan_reg(0, REG_PMTU, false, clean(), IFC_SZ(pmtu_reg)), ST_OK);
	assert_int_equal(IFC_GET(pmtu_reg, reg, max_mtu), 10000);
	assert_int_equal(IFC_GET(pmtu_reg, reg, admin_mtu), 1522);
	assert_int_equal(IFC_GET(pmtu_reg, reg, oper_mtu), 1522);
	lan_send(0, BROADCAST, MAC(0), 1518);
	lan_send(0, BROADCAST, MAC(0), 1519);
	assert_int_equal(lan_count(1), 1);
	assert_int_equal(lan.hca[0]->eth->stats.tx_too_long, 1);
	IFC_SET(pmtu_reg, clean(), admin_mtu, 9022);
	assert_int_equal(lan_reg(0, REG_PMTU, true, reg, IFC_SZ(pmtu_reg)), ST_OK);
	assert_int_equal(IFC_GET(pmtu_reg, reg, oper_mtu), 9022);
	lan_send(0, BROADCAST, MAC(0), 9018);
	assert_int_equal(lan_count(1), 0);
	assert_int_equal(lan.hca[1]->eth->stats.rx_too_long, 1);
	lan.hca[1]->eth->mtu = 9022;
	lan_send(0, BROADCAST, MAC(0), 9018);
	assert_int_equal(lan_count(1), 1);
}

static void mtu_out_of_range_is_refused(void **state)
{
	(void)state;
	IFC_SET(pmtu_reg, clean(), admin_mtu, 10001);
	assert_refused(lan_reg(0, REG_PMTU, true, reg, IFC_SZ(pmtu_reg)), ST_BAD_PARAM,
		       WHY_REG_VALUE);
	IFC_SET(pmtu_reg, clean(), admin_mtu, 63);
	assert_refused(lan_reg(0, REG_PMTU, true, reg, IFC_SZ(pmtu_reg)), ST_BAD_PARAM,
		       WHY_REG_VALUE);
	assert_int_equal(lan.hca[0]->eth->mtu, 1522);
	IFC_SET(pmtu_reg, clean(), admin_mtu, 10000);
	assert_int_equal(lan_reg(0, REG_PMTU, true, reg, IFC_SZ(pmtu_reg)), ST_OK);
}

static uint8_t ptys(bool write, uint32_t admin)
{
	IFC_SET(ptys_reg, clean(), proto_mask, 4);
	IFC_SET(ptys_reg, reg, eth_proto_admin, admin);
	return lan_reg(0, REG_PTYS, write, reg, IFC_SZ(ptys_reg));
}

static void a_new_speed_is_used_when_the_link_comes_up(void **state)
{
	(void)state;
	assert_int_equal(ptys(false, 0), ST_OK);
	assert_int_equal(IFC_GET(ptys_reg, reg, eth_proto_capability), ETH_PROTO_CAPS);
	assert_int_equal(IFC_GET(ptys_reg, reg, ext_eth_proto_capability), 0);
	assert_int_equal(IFC_GET(ptys_reg, reg, eth_proto_oper), ETH_100G_CR4);
	assert_int_equal(IFC_GET(ptys_reg, reg, eth_proto_lp_advertise), ETH_PROTO_CAPS);
	assert_int_equal(ptys(true, ETH_25G), ST_OK);
	assert_int_equal(IFC_GET(ptys_reg, reg, eth_proto_admin), ETH_25G);
	assert_int_equal(IFC_GET(ptys_reg, reg, eth_proto_oper), ETH_100G_CR4);
	set_admin(0, 2, true);
	ptys(false, 0);
	assert_int_equal(IFC_GET(ptys_reg, reg, eth_proto_oper), 0);
	assert_int_equal(IFC_GET(ptys_reg, reg, eth_proto_lp_advertise), 0);
	set_admin(0, 1, true);
	ptys(false, 0);
	assert_int_equal(IFC_GET(ptys_reg, reg, eth_proto_oper), ETH_25G_CR);
}

static void speeds_of_another_port_are_refused(void **state)
{
	(void)state;
	assert_refused(ptys(true, 0), ST_BAD_PARAM, WHY_REG_VALUE);
	assert_refused(ptys(true, ETH_25G | 1u << 23), ST_BAD_PARAM, WHY_REG_VALUE);
	IFC_SET(ptys_reg, clean(), proto_mask, 1);
	assert_refused(lan_reg(0, REG_PTYS, false, reg, IFC_SZ(ptys_reg)), ST_BAD_PARAM,
		       WHY_REG_VALUE);
	ptys(false, 0);
	assert_int_equal(IFC_GET(ptys_reg, reg, eth_proto_admin), ETH_PROTO_CAPS);
}

static void flow_control_is_kept_for_the_driver(void **state)
{
	(void)state;
	assert_int_equal(lan_reg(0, REG_PFCC, false, clean(), IFC_SZ(pfcc_reg)), ST_OK);
	assert_int_equal(IFC_GET(pfcc_reg, reg, pptx), 0);
	IFC_SET(pfcc_reg, clean(), pptx, 1);
	IFC_SET(pfcc_reg, reg, pfcrx, 0x81);
	IFC_SET(pfcc_reg, reg, prio_mask_rx, 0xff);
	assert_int_equal(lan_reg(0, REG_PFCC, true, reg, IFC_SZ(pfcc_reg)), ST_OK);
	assert_int_equal(lan_reg(0, REG_PFCC, false, clean(), IFC_SZ(pfcc_reg)), ST_OK);
	assert_int_equal(IFC_GET(pfcc_reg, reg, pptx), 1);
	assert_int_equal(IFC_GET(pfcc_reg, reg, pprx), 0);
	assert_int_equal(IFC_GET(pfcc_reg, reg, pfctx), 0);
	assert_int_equal(IFC_GET(pfcc_reg, reg, pfcrx), 0x81);
	/* The driver writes pause without priorities, and priorities with a mask. */
	IFC_SET(pfcc_reg, clean(), pprx, 1);
	assert_int_equal(lan_reg(0, REG_PFCC, true, reg, IFC_SZ(pfcc_reg)), ST_OK);
	assert_int_equal(IFC_GET(pfcc_reg, reg, pfcrx), 0x81);
	IFC_SET(pfcc_reg, clean(), pfcrx, 0xf0);
	IFC_SET(pfcc_reg, reg, prio_mask_rx, 0x30);
	IFC_SET(pfcc_reg, reg, pfctx, 0xf);
	IFC_SET(pfcc_reg, reg, prio_mask_tx, 0x5);
	IFC_SET(pfcc_reg, reg, ppan_mask_n, 1);
	assert_int_equal(lan_reg(0, REG_PFCC, true, reg, IFC_SZ(pfcc_reg)), ST_OK);
	assert_int_equal(IFC_GET(pfcc_reg, reg, pfcrx), 0xb1);
	assert_int_equal(IFC_GET(pfcc_reg, reg, pfctx), 0x5);
	assert_true(!IFC_GET(pfcc_reg, reg, pptx) && IFC_GET(pfcc_reg, reg, pprx));
}

/* MCIA has the module in the place of the port. */
static uint8_t *clean_mcia(void)
{
	return memset(reg, 0, sizeof(reg));
}

/* Read @n bytes of the module from @at on; returns the status of the access. */
static unsigned int module(unsigned int page, unsigned int at, unsigned int n)
{
	IFC_SET(mcia_reg, clean_mcia(), i2c_device_address, 0x50);
	IFC_SET(mcia_reg, reg, page_number, page);
	IFC_SET(mcia_reg, reg, device_address, at);
	IFC_SET(mcia_reg, reg, size, n);
	assert_int_equal(lan_reg(0, REG_MCIA, false, reg, 64), ST_OK);
	return IFC_GET(mcia_reg, reg, status);
}

/* What ethtool -m prints of: identifiers, checksums over the two parts, text. */
static void the_module_is_a_cable(void **state)
{
	static const unsigned int status[] = { 0, 3, 9 };
	uint8_t mem[256], sum[2] = { 0, 0 };
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(mem); i += 32) {
		assert_int_equal(module(0, i, 32), status[0]);
		memcpy(mem + i, reg + 16, 32);
		assert_int_equal(reg[16 + 32], 0);
	}
	assert_true(mem[0] == 0x11 && mem[128] == 0x11 && mem[2] == 4);
	assert_int_equal(mem[130], 0x23);	/* the cable is part of the module */
	assert_memory_equal(mem + 148, "Bluebell        ", 16);
	for (i = 128; i < 191; i++)
		sum[0] += mem[i];
	for (i = 192; i < 223; i++)
		sum[1] += mem[i];
	assert_true(sum[0] == mem[191] && sum[1] == mem[223]);
	assert_int_equal(module(0, 240, 17), status[2]);
	assert_int_equal(module(3, 128, 16), status[2]);
	IFC_SET(mcia_reg, clean_mcia(), size, 1);
	assert_int_equal(lan_reg(0, REG_MCIA, false, reg, 64), ST_OK);
	assert_int_equal(IFC_GET(mcia_reg, reg, status), status[2]);
	IFC_SET(mcia_reg, clean_mcia(), size, 49);
	assert_refused(lan_reg(0, REG_MCIA, false, reg, 64), ST_BAD_PARAM, WHY_REG_VALUE);
	assert_refused(lan_reg(0, REG_MCIA, false, clean_mcia(), 64), ST_BAD_PARAM, WHY_REG_VALUE);
	IFC_SET(mcia_reg, clean_mcia(), module, 1);
	assert_refused(lan_reg(0, REG_MCIA, false, reg, 64), ST_BAD_PARAM, WHY_REG_INDEX);
	eth_set_link(lan.hca[0], false);
	assert_int_equal(module(0, 0, 1), status[1]);
	assert_int_equal(reg[16], 0);
}

static void admin_states_of_other_devices_are_refused(void **state)
{
	(void)state;
	assert_refused(set_admin(0, 3, true), ST_BAD_PARAM, WHY_REG_VALUE);
	expect_paos(1, 1);
}

static void unknown_registers_and_ports_are_refused(void **state)
{
	(void)state;
	/* PVLC and PLIB are InfiniBand's. */
	assert_refused(lan_reg(0, 0x500f, false, clean(), 64), ST_BAD_PARAM, WHY_REG_UNKNOWN);
	assert_refused(lan_reg(0, 0x500a, false, clean(), 64), ST_BAD_PARAM, WHY_REG_UNKNOWN);
	assert_refused(lan_reg(0, REG_PTYS, false, clean(), 8), ST_BAD_PARAM, WHY_REG_LENGTH);
	assert_refused(lan_reg(0, REG_PMLP, true, clean(), IFC_SZ(pmlp_reg)), ST_BAD_PARAM,
		       WHY_REG_READ_ONLY);
	clean()[1] = 2;
	assert_refused(lan_reg(0, REG_PMTU, false, reg, IFC_SZ(pmtu_reg)), ST_BAD_PARAM,
		       WHY_PORT_UNKNOWN);
}

/* ---- counters -------------------------------------------------------------------------------- */

static uint64_t counter(unsigned int h, unsigned int group, unsigned int prio, size_t byte)
{
	IFC_SET(ppcnt_reg, clean(), grp, group);
	IFC_SET(ppcnt_reg, reg, prio_tc, prio);
	assert_int_equal(lan_reg(h, REG_PPCNT, false, reg, IFC_SZ(ppcnt_reg)), ST_OK);
	return get_be64(IFC_ADDR(ppcnt_reg, reg, counter_set) + byte);
}

#define C(h, group, layout, fld) \
	counter(h, group, 0, IFC_BYTE(eth_##layout##_cntrs_grp_data_layout, fld##_high))
#define INFINIBAND(fld)	\
	IFC_GET(ib_port_cntrs_grp_data_layout, IFC_ADDR(ppcnt_reg, reg, counter_set), fld)
#define IEEE(h, fld) C(h, 0, 802_3, fld)
#define IF(h, fld) C(h, 1, 2863, fld)
#define STATS(h, fld) C(h, 2, 2819, ether_stats_##fld)
#define PRIO(h, prio, fld) \
	counter(h, 0x10, prio, IFC_BYTE(eth_per_prio_grp_data_layout, fld##_high))

/* Send frames of each kind from HCA 0 to HCA 1. */
static void traffic(void)
{
	struct eth_frame *tagged = lan_frame(MAC(1), MAC(0), 1518);
	uint8_t *data = eth_frame_data(tagged);

	put_be16(data + 12, 0x8100);
	put_be16(data + 14, 5 << 13 | 7);
	lan_send(0, MAC(1), MAC(0), 60);
	lan_send(0, MAC(1), MAC(0), 1000);
	eth_tx(lan.hca[0], tagged);
	lan_send(0, GROUP, MAC(0), 124);
	lan_send(0, BROADCAST, MAC(0), 60);
	lan_send(0, BROADCAST, MAC(0), 61);
	assert_int_equal(lan_count(1), 6);
}

#define OCTETS	(60 + 1000 + 1518 + 124 + 60 + 61)	/* of these, without check sequences */

static void both_ends_count_the_same(void **state)
{
	(void)state;
	traffic();
	assert_int_equal(IEEE(0, a_frames_transmitted_ok), 6);
	assert_int_equal(IEEE(1, a_frames_received_ok), 6);
	assert_int_equal(IEEE(0, a_octets_transmitted_ok), OCTETS + 6 * 4);
	assert_int_equal(IEEE(1, a_octets_received_ok), OCTETS + 6 * 4);
	assert_int_equal(IEEE(0, a_multicast_frames_xmitted_ok), 1);
	assert_int_equal(IEEE(1, a_multicast_frames_received_ok), 1);
	assert_int_equal(IEEE(0, a_broadcast_frames_xmitted_ok), 2);
	assert_int_equal(IEEE(1, a_broadcast_frames_received_ok), 2);
	assert_int_equal(IF(0, if_out_ucast_pkts), 3);
	assert_int_equal(IF(1, if_in_ucast_pkts), 3);
	assert_int_equal(IF(0, if_out_multicast_pkts), 1);
	assert_int_equal(IF(1, if_in_multicast_pkts), 1);
	assert_int_equal(IF(0, if_out_broadcast_pkts), 2);
	assert_int_equal(IF(1, if_in_broadcast_pkts), 2);
	assert_int_equal(IF(0, if_out_octets), OCTETS + 6 * 4);
	assert_int_equal(IF(1, if_in_octets), OCTETS + 6 * 4);
	assert_int_equal(lan.hca[1]->count.packets_rx, 6);
	assert_int_equal(lan.hca[1]->count.mcast_rx, 3);
	assert_int_equal(IF(0, if_in_octets), 0);
	assert_int_equal(IF(1, if_out_octets), 0);
}

static void frames_are_counted_by_size_and_priority(void **state)
{
	(void)state;
	traffic();
	assert_int_equal(STATS(1, pkts), 6);
	assert_int_equal(STATS(1, octets), OCTETS + 6 * 4);
	assert_int_equal(STATS(1, pkts64octets), 2);
	assert_int_equal(STATS(1, pkts65to127octets), 1);
	assert_int_equal(STATS(1, pkts128to255octets), 1);
	assert_int_equal(STATS(1, pkts256to511octets), 0);
	assert_int_equal(STATS(1, pkts512to1023octets), 1);
	assert_int_equal(STATS(1, pkts1024to1518octets), 0);
	assert_int_equal(STATS(1, pkts1519to2047octets), 1);
	assert_int_equal(STATS(1, broadcast_pkts), 2);
	assert_int_equal(STATS(1, multicast_pkts), 1);
	assert_int_equal(PRIO(0, 0, tx_frames), 5);
	assert_int_equal(PRIO(0, 5, tx_frames), 1);
	assert_int_equal(PRIO(0, 5, tx_octets), 1522);
	assert_int_equal(PRIO(1, 0, rx_frames), 5);
	assert_int_equal(PRIO(1, 5, rx_frames), 1);
	assert_int_equal(PRIO(1, 5, rx_octets), 1522);
	assert_int_equal(counter(1, 0x12, 0, IFC_BYTE(phys_layer_statistical_cntrs,
						      phy_received_bits_high)),
			 8 * (OCTETS + 6 * 4));
}

/* Each frame that is dropped has one reason. */
static void drops_are_counted_once(void **state)
{
	struct impair_settings s;
	char why[100];
	unsigned int i;

	(void)state;
	lan_send(0, MAC(2), MAC(0), 60);		/* flooded: not for HCA 1 */
	lan_send(0, BROADCAST, MAC(0), 1519);		/* too long */
	assert_int_equal(lan_count(1), 0);
	assert_true(impair_parse("corrupt=100", &s, why, sizeof(why)));
	assert_int_equal(impair_start(fabric_impair(lan.hca[1]), &s), 0);
	lan_send(0, BROADCAST, MAC(0), 60);
	fabric_poll(lan.hca[1]);
	impair_stop(fabric_impair(lan.hca[1]));
	fabric_inject_drop(lan.hca[1], 0, 1);
	lan_send(0, BROADCAST, MAC(0), 60);
	fabric_poll(lan.hca[1]);
	for (i = 0; i < 513; i++)
		lan_send(0, BROADCAST, MAC(0), 60);
	assert_int_equal(lan_count(1), 512);
	assert_int_equal(IF(0, if_out_errors), 1);
	assert_int_equal(IEEE(1, a_frame_check_sequence_errors), 1);
	assert_int_equal(STATS(1, crc_align_errors), 1);
	assert_int_equal(IF(1, if_in_errors), 1);
	assert_int_equal(IF(1, if_in_discards), 2);
	assert_int_equal(STATS(1, drop_events), 2);
	assert_int_equal(lan.hca[1]->eth->stats.rx_other_address, 1);
	assert_int_equal(IEEE(1, a_frames_received_ok), 513);
	/* InfiniBand's counters of errors; the fields are shorter. */
	IFC_SET(ppcnt_reg, clean(), grp, 0x20);
	assert_int_equal(lan_reg(1, REG_PPCNT, false, reg, IFC_SZ(ppcnt_reg)), ST_OK);
	assert_int_equal(INFINIBAND(port_rcv_errors), 3);
	lan.hca[1]->count.link_downed = 300;
	IFC_SET(ppcnt_reg, clean(), grp, 0x20);
	assert_int_equal(lan_reg(1, REG_PPCNT, false, reg, IFC_SZ(ppcnt_reg)), ST_OK);
	assert_int_equal(INFINIBAND(link_downed_counter), 255);
	IFC_SET(ppcnt_reg, clean(), grp, 0x20);
	assert_int_equal(lan_reg(0, REG_PPCNT, false, reg, IFC_SZ(ppcnt_reg)), ST_OK);
	assert_int_equal(INFINIBAND(port_xmit_discards), 1);
}

static void unknown_groups_and_priorities_are_refused(void **state)
{
	(void)state;
	IFC_SET(ppcnt_reg, clean(), grp, 0x21);		/* InfiniBand's */
	assert_refused(lan_reg(0, REG_PPCNT, false, reg, IFC_SZ(ppcnt_reg)), ST_BAD_PARAM,
		       WHY_REG_INDEX);
	IFC_SET(ppcnt_reg, clean(), grp, 0x10);
	IFC_SET(ppcnt_reg, reg, prio_tc, 8);
	assert_refused(lan_reg(0, REG_PPCNT, false, reg, IFC_SZ(ppcnt_reg)), ST_BAD_PARAM,
		       WHY_REG_INDEX);
	IFC_SET(ppcnt_reg, clean(), clr, 1);
	assert_refused(lan_reg(0, REG_PPCNT, false, reg, IFC_SZ(ppcnt_reg)), ST_BAD_PARAM,
		       WHY_REG_VALUE);
}

#define T(name) cmocka_unit_test_setup_teardown(name, lan_up, lan_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_driver_takes_the_port_down_and_up), T(a_link_needs_cable_and_driver),
		T(nothing_passes_a_link_that_is_down), T(a_reset_brings_the_defaults_back),
		T(mtu_limits_frames_in_both_directions), T(mtu_out_of_range_is_refused),
		T(a_new_speed_is_used_when_the_link_comes_up),
		T(speeds_of_another_port_are_refused), T(flow_control_is_kept_for_the_driver),
		T(the_module_is_a_cable),
		T(admin_states_of_other_devices_are_refused),
		T(unknown_registers_and_ports_are_refused), T(both_ends_count_the_same),
		T(frames_are_counted_by_size_and_priority), T(drops_are_counted_once),
		T(unknown_groups_and_priorities_are_refused),
	};

	return cmocka_run_group_tests_name("eth_port", tests, NULL, NULL);
}
