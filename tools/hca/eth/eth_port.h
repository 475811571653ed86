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

/*
 * RoCE as the port sees it: it gets the frames that are for queue pairs before the NIC gets any.
 * The functions are called while the vport has RoCE switched on.
 */
struct eth_roce {
	/* Take a frame if it is for RoCE; then RoCE owns the frame. */
	bool (*take)(struct hca *hca, struct eth_frame *fr);
	/* Take a frame that it has sent to itself. */
	void (*loop)(struct hca *hca, struct eth_frame *fr);
	/* Whether so many frames wait that no more should be taken. */
	bool (*full)(struct hca *hca);
	/* Frames have arrived, or there is room again at a receiver. May only schedule work. */
	void (*wake)(struct hca *hca);
};

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
	struct packet_queue nic;	/* frames for the NIC that RoCE came across */
	unsigned int nic_len;
	void (*wake)(struct hca *hca);
	const struct eth_roce *roce;	/* or NULL */
	/* Shown all frames that the port sends and receives. Or NULL. */
	void (*sniffer)(struct hca *hca, const struct eth_frame *fr, bool sent);
};

void eth_set_link(struct hca *hca, bool up);
void eth_set_admin(struct hca *hca, bool up);

void eth_tx(struct hca *hca, struct eth_frame *fr);
struct eth_frame *eth_rx(struct hca *hca);
int eth_inject(struct hca *hca, const uint8_t *data, size_t len);
bool eth_rx_pending(struct hca *hca);
void eth_set_wake(struct hca *hca, void (*wake)(struct hca *hca));

void eth_set_sniffer(struct hca *hca, void (*sniffer)(struct hca *hca, const struct eth_frame *fr,
						       bool sent));
void eth_set_roce(struct hca *hca, const struct eth_roce *roce);
void eth_tx_roce(struct hca *hca, struct eth_frame *fr, bool loop);
void eth_sort(struct hca *hca);

extern const struct hca_module eth_port_module;
extern const struct port_ops eth_port_ops;

#endif
