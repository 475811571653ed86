/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rig for tests of the subnet: HCAs on one fabric, without a transport. The tests send packets
 * for them and take what arrives at their ports. After net_up() one event loop serves the HCAs and
 * the switch; after net_up_threads() each of them has a loop and a thread.
 */
#ifndef BLUEBELL_SUBNETRIG_H
#define BLUEBELL_SUBNETRIG_H

#include <stdbool.h>
#include <stdint.h>

#include "hca.h"
#include "looprig.h"
#include "mad_format.h"

#define NET_HCAS	3

extern struct net {
	struct event_base *base;
	struct runner runner[NET_HCAS + 1];	/* of each HCA, and of the switch */
	struct fabric *fabric;
	struct hca *hca[NET_HCAS];
	uint8_t event[NET_HCAS][32];	/* subtypes of the port events of each HCA */
	unsigned int events[NET_HCAS];
	uint64_t tid;
	uint8_t out[MAD_BYTES];		/* the answer */
	uint16_t out_slid, out_dlid;
} net;

void net_up(bool manager);
/*
 * In the place of net_up(): the HCAs and the switch have threads, which the test starts and stops.
 * In the threads it uses fabric_tx() and fabric_rx(); it calls the functions below only after it
 * has stopped the threads.
 */
void net_up_threads(bool manager);
void net_down(void);

/* Let all HCAs and the switch process their packets. The next three functions do so, too. */
void net_turn(void);
/* Send a packet of @mad from queue pair 0 or 1 of HCA @h. */
void net_send(unsigned int h, unsigned int qpn, uint16_t dlid, const uint8_t *mad);
/* Take the oldest packet at the port of HCA @h to net.out; false if there is none. */
bool net_take(unsigned int h);
/* Let the firmware of HCA @h process all packets at its port. */
void net_firmware(unsigned int h);

/*
 * net_smp() prepares a subnet management packet. net_directed() then gives it a directed route of
 * @hops, at the first hop.
 */
void net_smp(uint8_t *mad, uint8_t method, uint16_t attr, uint32_t mod);
void net_directed(uint8_t *mad, unsigned int hops, const uint8_t *path);
/* Prepare a request of subnet administration. */
void net_sa(uint8_t *mad, uint8_t method, uint16_t attr, uint64_t mask);

#endif
