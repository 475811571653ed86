/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The forwarding tables of the switch: by which of its ports it forwards a packet.
 */
#ifndef BLUEBELL_FORWARD_H
#define BLUEBELL_FORWARD_H

#include <stdatomic.h>
#include <stdint.h>

#define SWITCH_PORTS	36	/* external ports; port 0 is the switch's own */
#define FORWARD_LIDS	0xc000	/* entries of the linear table: all unicast LIDs */
#define FORWARD_MLIDS	1024	/* entries of the multicast table, from LID 0xc000 */
#define FORWARD_DROP	0xff	/* instead of a port's number: packets are dropped */

/* Every thread that sends looks up an entry while another thread may change it. */
struct forward {
	_Atomic uint8_t port[FORWARD_LIDS];		/* by unicast LID */
	_Atomic uint64_t members[FORWARD_MLIDS];	/* by multicast LID: bits of ports */
	/* SwitchInfo: the highest LIDs that have an entry; mcast_top of 0 sets no bound */
	_Atomic uint16_t linear_top, mcast_top;
	/* Port for multicast packets without an entry; if they came by that port, the other port */
	_Atomic uint8_t mcast_primary, mcast_other;
};

void forward_init(struct forward *fw);
void forward_open(struct forward *fw);
uint8_t forward_unicast(const struct forward *fw, uint16_t lid);
uint64_t forward_multicast(const struct forward *fw, unsigned int from, uint16_t mlid);

#endif
