/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The learning switch that joins the Ethernet ports of this process.
 */
#ifndef BLUEBELL_ETH_SWITCH_H
#define BLUEBELL_ETH_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "eth_frame.h"

struct eth_switch;
struct fabric;
struct hca;

#define ETH_LEARN_MAX	1024	/* addresses that the switch learns at a port */
#define ETH_AGE_S	300	/* seconds after which an address that sends nothing is forgotten */

/*
 * A port of the switch that leads to no HCA. @send is called by any thread, and may not wait. It
 * owns the frame. @up tells whether frames may be sent.
 */
struct eth_remote {
	bool (*up)(void *arg);
	void (*send)(void *arg, struct eth_frame *fr);
	void *arg;
};

int eth_switch_start(struct fabric *f);
unsigned int eth_switch_join(struct fabric *f, const struct eth_remote *remote);
void eth_switch_forward(struct fabric *f, unsigned int from, struct eth_frame *fr);
bool eth_switch_room(struct hca *hca, const uint8_t *dmac);
void eth_switch_forget(struct fabric *f, unsigned int port);
unsigned int eth_switch_learned(struct fabric *f, unsigned int port);

extern const struct packet_type eth_packet_type;

#endif
