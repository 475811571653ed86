/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The vport of an Ethernet port: the addresses at which it receives, and what the driver has set
 * with MODIFY_NIC_VPORT_CONTEXT.
 */
#ifndef BLUEBELL_ETH_VPORT_H
#define BLUEBELL_ETH_VPORT_H

#include <stdbool.h>
#include <stdint.h>

struct hca;
struct profile;

/* allowed_list_type of nic_vport_context, MLX5_NVPRT_LIST_TYPE_* of linux/mlx5/device.h */
enum eth_list_type { ETH_LIST_UC, ETH_LIST_MC, ETH_LIST_VLAN, ETH_LISTS };

/* A list of MAC addresses or of VLAN ids, as numbers. */
struct eth_list {
	uint64_t *entry;
	unsigned int n;
};

struct eth_vport {
	uint64_t mac;			/* the permanent address */
	struct eth_list list[ETH_LISTS];
	bool promisc_uc, promisc_mc, promisc_all;
	bool roce;
	bool no_uc_loopback, no_mc_loopback;
	uint8_t min_inline;
	uint16_t mtu;
	uint32_t change_events;		/* the word of nic_vport_context with these bits */
};

int eth_vport_init(struct eth_vport *v, uint64_t mac, const struct profile *p);
void eth_vport_exit(struct eth_vport *v);
bool eth_list_set(struct eth_list *list, const uint64_t *entry, unsigned int n);
bool eth_list_has(const struct eth_list *list, uint64_t value);
bool eth_vport_accepts(const struct eth_vport *v, const uint8_t *dmac);
bool eth_vport_loops(struct hca *hca, const uint8_t *dmac);
uint64_t eth_mac(const uint8_t *mac);

#endif
