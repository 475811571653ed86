// SPDX-License-Identifier: GPL-2.0
/*
 * The forwarding tables of the switch (InfiniBand Architecture, volume 1, 18.2.4.3).
 */
#include "forward.h"
#include "ib_packet.h"
#include "packet.h"

/**
 * forward_init() - make tables that forward nothing
 * @fw: the tables
 */
void forward_init(struct forward *fw)
{
	unsigned int i;

	for (i = 0; i < FORWARD_LIDS; i++)
		atomic_init(&fw->port[i], FORWARD_DROP);
	for (i = 0; i < FORWARD_MLIDS; i++)
		atomic_init(&fw->members[i], 0);
}

/**
 * forward_unicast() - look up a LID in the linear forwarding table
 * @fw: the tables
 * @lid: the LID
 *
 * Return: the number of a port, which may not exist; FORWARD_DROP for a LID that has no entry.
 */
uint8_t forward_unicast(const struct forward *fw, uint16_t lid)
{
	return lid && lid < FORWARD_LIDS ? fw->port[lid] : FORWARD_DROP;
}

/**
 * forward_multicast() - look up a LID in the multicast forwarding table
 * @fw: the tables
 * @mlid: the multicast LID
 *
 * Return: bits of the ports that are members; 0 for a LID that has no entry.
 */
uint64_t forward_multicast(const struct forward *fw, uint16_t mlid)
{
	unsigned int i = mlid - LID_MCAST_FIRST;

	return lid_is_mcast(mlid) && i < FORWARD_MLIDS ? fw->members[i] : 0;
}
