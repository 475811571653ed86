/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an Ethernet port counts. The groups of the register PPCNT, the counters of the vport and its
 * diagnostic counters are all derived from these and from struct counters. The port counts octets
 * with the frame check sequence, the vport without.
 */
#ifndef BLUEBELL_ETH_STATS_H
#define BLUEBELL_ETH_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "eth_frame.h"

struct hca;

#define ETH_MAC_BYTES	6
#define ETH_PRIOS	8
#define ETH_SIZES	10	/* classes of lengths of frames, as in RFC 2819 */

enum eth_cast { ETH_UNICAST, ETH_MULTICAST, ETH_BROADCAST, ETH_CASTS };

struct eth_flow {
	uint64_t frames[ETH_CASTS], octets[ETH_CASTS];
};

/* Only the HCA's thread uses these. */
struct eth_stats {
	struct eth_flow phy_rx, phy_tx;		/* passed the link, and were not damaged */
	struct eth_flow vport_rx, vport_tx;	/* of the NIC */
	struct eth_flow roce_rx, roce_tx;	/* of queue pairs */
	struct {
		uint64_t rx_frames, rx_octets, tx_frames, tx_octets;
	} prio[ETH_PRIOS];			/* of phy_rx and phy_tx, by the VLAN tag */
	uint64_t rx_size[ETH_SIZES];		/* of phy_rx */
	uint64_t loopback_frames, loopback_octets;	/* of *_tx that *_rx has, too */
	/* Each frame that is dropped has one reason. */
	uint64_t rx_too_long;			/* longer than the MTU of the port */
	uint64_t rx_other_address;		/* for the address of another vport */
	uint64_t loopback_full;			/* own frame that found its queue full */
	uint64_t nic_full;			/* frame for the NIC, which has too many */
	uint64_t tx_too_long;
	uint64_t tx_link_down;
	uint64_t tx_no_memory;			/* the NIC could not make it */
};

enum eth_cast eth_cast_of(const uint8_t mac[ETH_MAC_BYTES]);
uint64_t eth_sum(const uint64_t by_cast[ETH_CASTS]);
void eth_count_phy(struct eth_stats *s, const struct eth_frame *fr, bool tx);
void eth_count_vport(struct eth_stats *s, const struct eth_frame *fr, bool tx);
void eth_count_roce(struct eth_stats *s, const struct eth_frame *fr, bool tx);

/* Groups of counters that PPCNT can read, MLX5_*_COUNTERS_GROUP of linux/mlx5/device.h. */
enum ppcnt_group {
	PPCNT_IEEE_802_3 = 0x00, PPCNT_RFC_2863 = 0x01, PPCNT_RFC_2819 = 0x02,
	PPCNT_PER_PRIORITY = 0x10, PPCNT_PHYSICAL = 0x12, PPCNT_INFINIBAND = 0x20,
};

bool eth_ppcnt(struct hca *hca, unsigned int group, unsigned int prio, uint8_t *set);

#endif
