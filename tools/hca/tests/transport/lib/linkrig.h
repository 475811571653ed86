/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A second link layer, for tests: the HCAs are stations with a number as their address, and one
 * medium joins them. It knows no LID, no GID table and no P_Key, and no module of the fabric or of
 * InfiniBand is in its HCAs. A test can make it lose packets, have no room, or have another MTU.
 *
 * A path names the station that it leads to by the last four bytes of its GID, and, by its source
 * index, one of the two names of the sending station.
 */
#ifndef BLUEBELL_LINKRIG_H
#define BLUEBELL_LINKRIG_H

#include <stdbool.h>
#include <stdint.h>

#include "hca.h"
#include "packet.h"
#include "pairrig.h"

#define STATION_0	0x0a000001u	/* number of HCA 0; HCA 1 has the next */
#define STATION_GROUP	0xe0000005u	/* all stations receive what is sent to it */
#define STATION_TAG	0x7e57		/* P_Key of each packet of this link layer */

struct medium {
	uint16_t mtu;
	unsigned int space;		/* packets that there still is room for */
	unsigned int skip, lose;	/* packets that still pass, then packets to lose */
	unsigned int sent;		/* packets that were given to the medium, lost ones too */
	unsigned int refused;		/* times that a sender was told to wait */
	unsigned int managed;		/* packets that agents of ports have received */
	struct hca *station[2];
	struct packet_queue queue[2];
	unsigned int len[2];
	void (*wake[2])(struct hca *hca);
};

extern struct medium medium;

/* In the place of InfiniBand, for rig_up_on(). */
extern const struct rig_net station_net;

/* Make room again for any number of packets, and wake the senders that wait for room. */
void medium_clear(void);
/* Put @p, made by the test, into the queue of HCA @h, as sent by station @from to station @to. */
void medium_put(unsigned int h, struct packet *p, uint32_t from, uint32_t to);

#endif
