// SPDX-License-Identifier: GPL-2.0
/*
 * The counters of an Ethernet port, and the groups in which PPCNT shows them.
 */
#include "clock.h"
#include "eth_frame.h"
#include "eth_port.h"
#include "eth_stats.h"
#include "hca.h"
#include "ifc.h"
#include "util.h"

#define ETHERTYPE_AT	12	/* bytes from the start of a frame */
#define ETHERTYPE_VLAN	0x8100
#define NS_PER_MS	1000000

/* The longest frame of each class but the last, with the frame check sequence. */
static const uint16_t size_limit[ETH_SIZES - 1] = {
	64, 127, 255, 511, 1023, 1518, 2047, 4095, 8191,
};

/**
 * eth_cast_of() - tell how many receivers an address stands for
 * @mac: the address
 */
enum eth_cast eth_cast_of(const uint8_t mac[ETH_MAC_BYTES])
{
	static const uint8_t broadcast[ETH_MAC_BYTES] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	if (!(mac[0] & 1))
		return ETH_UNICAST;
	return memcmp(mac, broadcast, sizeof(broadcast)) ? ETH_MULTICAST : ETH_BROADCAST;
}

/**
 * eth_sum() - add up a counter of unicast, multicast and broadcast frames
 * @by_cast: the counter
 */
uint64_t eth_sum(const uint64_t by_cast[ETH_CASTS])
{
	return by_cast[ETH_UNICAST] + by_cast[ETH_MULTICAST] + by_cast[ETH_BROADCAST];
}

static void eth_count(struct eth_flow *flow, const struct eth_frame *fr, unsigned int octets)
{
	enum eth_cast cast = eth_cast_of(eth_frame_data(fr));

	flow->frames[cast]++;
	flow->octets[cast] += octets;
}

static unsigned int eth_priority(const struct eth_frame *fr)
{
	const uint8_t *tag = eth_frame_data(fr) + ETHERTYPE_AT;

	if (fr->head.len < ETH_FRAME_MIN + 2 || get_be16(tag) != ETHERTYPE_VLAN)
		return 0;
	return tag[2] >> 5;
}

static unsigned int eth_size_class(unsigned int octets)
{
	unsigned int i = 0;

	while (i < ARRAY_SIZE(size_limit) && octets > size_limit[i])
		i++;
	return i;
}

/**
 * eth_count_phy() - count a frame that passes the link of the port
 * @s: the counters
 * @fr: the frame
 * @tx: true: it is sent; false: it is received
 */
void eth_count_phy(struct eth_stats *s, const struct eth_frame *fr, bool tx)
{
	unsigned int octets = fr->head.len + ETH_FCS_BYTES, prio = eth_priority(fr);

	eth_count(tx ? &s->phy_tx : &s->phy_rx, fr, octets);
	if (tx) {
		s->prio[prio].tx_frames++;
		s->prio[prio].tx_octets += octets;
	} else {
		s->prio[prio].rx_frames++;
		s->prio[prio].rx_octets += octets;
		s->rx_size[eth_size_class(octets)]++;
	}
}

/**
 * eth_count_roce() - count a frame that a queue pair sends or receives
 * @s: the counters
 * @fr: the frame
 * @tx: true: it is sent; false: it is received
 */
void eth_count_roce(struct eth_stats *s, const struct eth_frame *fr, bool tx)
{
	eth_count(tx ? &s->roce_tx : &s->roce_rx, fr, fr->head.len);
}

/**
 * eth_count_vport() - count a frame that the NIC sends or receives
 * @s: the counters
 * @fr: the frame
 * @tx: true: it is sent; false: it is received
 */
void eth_count_vport(struct eth_stats *s, const struct eth_frame *fr, bool tx)
{
	eth_count(tx ? &s->vport_tx : &s->vport_rx, fr, fr->head.len);
}

/* ---- PPCNT ----------------------------------------------------------------------------------- */

/* Each counter has its upper 32 bits first, so it is a number of 64 bits in network order. */
#define PUT(group, fld, n) put_be64(set + IFC_BYTE(group##_grp_data_layout, fld##_high), n)
#define PUT_802_3(fld, n) PUT(eth_802_3_cntrs, fld, n)
#define PUT_2863(fld, n) PUT(eth_2863_cntrs, fld, n)
#define PUT_2819(fld, n) PUT(eth_2819_cntrs, fld, n)
#define PUT_PRIO(fld, n) PUT(eth_per_prio, fld, n)
#define PUT_PHYS(fld, n) put_be64(set + IFC_BYTE(phys_layer_statistical_cntrs, fld##_high), n)

static void eth_ieee_802_3(struct hca *hca, const struct eth_stats *s, uint8_t *set)
{
	PUT_802_3(a_frames_transmitted_ok, eth_sum(s->phy_tx.frames));
	PUT_802_3(a_frames_received_ok, eth_sum(s->phy_rx.frames));
	PUT_802_3(a_frame_check_sequence_errors, hca->count.packets_corrupted);
	PUT_802_3(a_octets_transmitted_ok, eth_sum(s->phy_tx.octets));
	PUT_802_3(a_octets_received_ok, eth_sum(s->phy_rx.octets));
	PUT_802_3(a_multicast_frames_xmitted_ok, s->phy_tx.frames[ETH_MULTICAST]);
	PUT_802_3(a_broadcast_frames_xmitted_ok, s->phy_tx.frames[ETH_BROADCAST]);
	PUT_802_3(a_multicast_frames_received_ok, s->phy_rx.frames[ETH_MULTICAST]);
	PUT_802_3(a_broadcast_frames_received_ok, s->phy_rx.frames[ETH_BROADCAST]);
	PUT_802_3(a_frame_too_long_errors, s->rx_too_long);
}

static void eth_rfc_2863(struct hca *hca, const struct eth_stats *s, uint8_t *set)
{
	PUT_2863(if_in_octets, eth_sum(s->phy_rx.octets));
	PUT_2863(if_in_ucast_pkts, s->phy_rx.frames[ETH_UNICAST]);
	PUT_2863(if_in_discards, hca->count.packets_dropped);
	PUT_2863(if_in_errors, hca->count.packets_corrupted + s->rx_too_long);
	PUT_2863(if_out_octets, eth_sum(s->phy_tx.octets));
	PUT_2863(if_out_ucast_pkts, s->phy_tx.frames[ETH_UNICAST]);
	PUT_2863(if_out_discards, s->tx_link_down + s->tx_no_memory);
	PUT_2863(if_out_errors, s->tx_too_long);
	PUT_2863(if_in_multicast_pkts, s->phy_rx.frames[ETH_MULTICAST]);
	PUT_2863(if_in_broadcast_pkts, s->phy_rx.frames[ETH_BROADCAST]);
	PUT_2863(if_out_multicast_pkts, s->phy_tx.frames[ETH_MULTICAST]);
	PUT_2863(if_out_broadcast_pkts, s->phy_tx.frames[ETH_BROADCAST]);
}

static void eth_rfc_2819(struct hca *hca, const struct eth_stats *s, uint8_t *set)
{
	uint8_t *size = set + IFC_BYTE(eth_2819_cntrs_grp_data_layout,
				       ether_stats_pkts64octets_high);
	unsigned int i;

	PUT_2819(ether_stats_drop_events, hca->count.packets_dropped);
	PUT_2819(ether_stats_octets, eth_sum(s->phy_rx.octets));
	PUT_2819(ether_stats_pkts, eth_sum(s->phy_rx.frames));
	PUT_2819(ether_stats_broadcast_pkts, s->phy_rx.frames[ETH_BROADCAST]);
	PUT_2819(ether_stats_multicast_pkts, s->phy_rx.frames[ETH_MULTICAST]);
	PUT_2819(ether_stats_crc_align_errors, hca->count.packets_corrupted);
	PUT_2819(ether_stats_oversize_pkts, s->rx_too_long);
	for (i = 0; i < ETH_SIZES; i++)
		put_be64(size + 8 * i, s->rx_size[i]);
}

static void eth_per_priority(const struct eth_stats *s, unsigned int prio, uint8_t *set)
{
	PUT_PRIO(rx_octets, s->prio[prio].rx_octets);
	PUT_PRIO(rx_frames, s->prio[prio].rx_frames);
	PUT_PRIO(tx_octets, s->prio[prio].tx_octets);
	PUT_PRIO(tx_frames, s->prio[prio].tx_frames);
}

/* The links of the fabric damage whole frames only, so no bit is ever corrected. */
static void eth_physical(struct hca *hca, const struct eth_stats *s, uint8_t *set)
{
	PUT_PHYS(time_since_last_clear, (clock_now_ns() - hca->start_ns) / NS_PER_MS);
	PUT_PHYS(phy_received_bits, 8 * eth_sum(s->phy_rx.octets));
}

static unsigned int at_most(uint64_t n, unsigned int max)
{
	return n > max ? max : n;
}

/* InfiniBand's counters of errors, which the stock driver asks for at an Ethernet port, too. */
static void eth_infiniband(struct hca *hca, const struct eth_stats *s, uint8_t *set)
{
	IFC_SET(ib_port_cntrs_grp_data_layout, set, link_downed_counter,
		at_most(hca->count.link_downed, UINT8_MAX));
	IFC_SET(ib_port_cntrs_grp_data_layout, set, port_rcv_errors,
		at_most(count_rx_errors(&hca->count) + s->rx_too_long, UINT16_MAX));
	IFC_SET(ib_port_cntrs_grp_data_layout, set, port_xmit_discards,
		at_most(s->tx_too_long + s->tx_link_down + s->tx_no_memory, UINT16_MAX));
}

/**
 * eth_ppcnt() - read a group of counters
 * @hca: the HCA
 * @group: enum ppcnt_group
 * @prio: for PPCNT_PER_PRIORITY: below ETH_PRIOS
 * @set: counter_set of the register, zeroed
 *
 * Return: false if the port does not have the group.
 */
bool eth_ppcnt(struct hca *hca, unsigned int group, unsigned int prio, uint8_t *set)
{
	const struct eth_stats *s = &hca->eth->stats;

	switch (group) {
	case PPCNT_IEEE_802_3:
		eth_ieee_802_3(hca, s, set);
		return true;
	case PPCNT_RFC_2863:
		eth_rfc_2863(hca, s, set);
		return true;
	case PPCNT_RFC_2819:
		eth_rfc_2819(hca, s, set);
		return true;
	case PPCNT_PER_PRIORITY:
		eth_per_priority(s, prio, set);
		return true;
	case PPCNT_PHYSICAL:
		eth_physical(hca, s, set);
		return true;
	case PPCNT_INFINIBAND:
		eth_infiniband(hca, s, set);
		return true;
	default:
		return false;
	}
}
