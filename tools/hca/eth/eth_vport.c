// SPDX-License-Identifier: GPL-2.0
/*
 * The vport of an Ethernet port: its lists of addresses, and which frames it receives.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "caps.h"
#include "eth_port.h"
#include "eth_stats.h"
#include "eth_vport.h"
#include "hca.h"
#include "profile.h"
#include "ifc.h"

/**
 * eth_mac() - an address as a number
 * @mac: its bytes
 */
uint64_t eth_mac(const uint8_t *mac)
{
	return (uint64_t)get_be16(mac) << 32 | get_be32(mac + 2);
}

/**
 * eth_list_set() - replace the entries of a list
 * @list: the list
 * @entry: the new entries
 * @n: number of entries
 *
 * Return: false if memory is short: the list is as before.
 */
bool eth_list_set(struct eth_list *list, const uint64_t *entry, unsigned int n)
{
	uint64_t *copy = calloc(n ? n : 1, sizeof(*copy));

	if (!copy)
		return false;
	memcpy(copy, entry, n * sizeof(*copy));
	free(list->entry);
	list->entry = copy;
	list->n = n;
	return true;
}

/**
 * eth_list_has() - tell whether a list has an entry
 * @list: the list
 * @value: the entry
 */
bool eth_list_has(const struct eth_list *list, uint64_t value)
{
	unsigned int i;

	for (i = 0; i < list->n; i++)
		if (list->entry[i] == value)
			return true;
	return false;
}

/**
 * eth_vport_init() - make a vport as after power on
 * @v: the vport, zeroed
 * @mac: its permanent address, at which it receives until the driver writes a list
 * @p: the profile of the HCA
 *
 * Return: 0 or -ENOMEM.
 */
int eth_vport_init(struct eth_vport *v, uint64_t mac, const struct profile *p)
{
	v->mac = mac;
	v->mtu = ETH_MTU_DEFAULT;
	v->min_inline = p->min_wqe_inline_mode;
	return eth_list_set(&v->list[ETH_LIST_UC], &mac, 1) ? 0 : -ENOMEM;
}

/**
 * eth_vport_exit() - free the lists of a vport
 * @v: the vport
 */
void eth_vport_exit(struct eth_vport *v)
{
	unsigned int i;

	for (i = 0; i < ETH_LISTS; i++)
		free(v->list[i].entry);
	memset(v, 0, sizeof(*v));
}

/**
 * eth_vport_accepts() - tell whether a frame from the link is for the vport
 * @v: the vport
 * @dmac: destination address of the frame
 *
 * All frames to groups are: the steering rules of the driver choose among the groups.
 */
bool eth_vport_accepts(const struct eth_vport *v, const uint8_t *dmac)
{
	if (eth_cast_of(dmac) != ETH_UNICAST)
		return true;
	return v->promisc_uc || v->promisc_all ||
	       eth_list_has(&v->list[ETH_LIST_UC], eth_mac(dmac));
}

/**
 * eth_vport_loops() - tell whether the vport receives a frame that it sends
 * @hca: the HCA
 * @dmac: destination address of the frame
 *
 * A device that cannot disable local loopback does not have it.
 */
bool eth_vport_loops(struct hca *hca, const uint8_t *dmac)
{
	const struct eth_vport *v = &hca->eth->vport;

	if (eth_cast_of(dmac) != ETH_UNICAST)
		return hca_cap_gen(hca, disable_local_lb_mc) && !v->no_mc_loopback;
	return hca_cap_gen(hca, disable_local_lb_uc) && !v->no_uc_loopback &&
	       eth_list_has(&v->list[ETH_LIST_UC], eth_mac(dmac));
}
