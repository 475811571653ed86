/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Ethernet port of an HCA: its link, its settings, its vport, its counters, and the frames that
 * it sends and receives.
 */
#ifndef BLUEBELL_ETH_PORT_H
#define BLUEBELL_ETH_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd.h"
#include "eth_frame.h"
#include "eth_stats.h"
#include "eth_vport.h"

struct hca;
struct hca_module;
struct port_ops;

/*
 * The MTU of a port: bytes of a frame with its frame check sequence. By default, of an Ethernet
 * header, a VLAN tag, 1500 bytes and the sequence. The profile has the greatest MTU.
 */
#define ETH_MTU_DEFAULT	1522

/* Only the HCA's thread uses this. */
struct eth_port {
	bool cable;		/* the cable is plugged in, as the control socket says */
	bool admin_up;		/* the driver wants the port to be up (PAOS) */
	uint16_t mtu;		/* PMTU */
	uint32_t proto_admin;	/* PTYS: speeds that the driver allows */
	uint32_t proto_oper;	/* speed of the link since it came up; 0: the link is down */
	bool an_disable;
	bool pause_tx, pause_rx;	/* PFCC: kept for the driver; no port sends pause frames */
	uint8_t pfc_tx, pfc_rx;
	struct eth_vport vport;
	struct eth_stats stats;
	struct packet_queue loop;	/* own frames that the vport receives */
	unsigned int loop_len;
	void (*wake)(struct hca *hca);
};

void eth_set_link(struct hca *hca, bool up);
void eth_set_admin(struct hca *hca, bool up);

void eth_tx(struct hca *hca, struct eth_frame *fr);
struct eth_frame *eth_rx(struct hca *hca);
int eth_inject(struct hca *hca, const uint8_t *data, size_t len);
bool eth_rx_pending(struct hca *hca);
void eth_set_wake(struct hca *hca, void (*wake)(struct hca *hca));

extern const struct hca_module eth_port_module;
extern const struct port_ops eth_port_ops;

#endif
